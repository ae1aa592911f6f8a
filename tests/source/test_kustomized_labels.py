"""Controllers whose selector and labels no kustomization completes: what their manifests lack is certain."""

from pathlib import Path

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import discover

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: operator
spec:
  selector:
    matchLabels: {app: operator, tier: control}
  template:
    metadata:
      labels: {name: operator, tier: control}
    spec:
      containers:
        - {name: operator, image: operator}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    write(tmp_path / "repo" / ".git", "gitdir: elsewhere")
    write(tmp_path / "repo" / "manager" / "manager.yaml", DEPLOYMENT)
    return tmp_path / "repo"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found_in(repo: Path) -> list[tuple[str, int, int]]:
    findings = run(discover([str(repo)]), default_settings()).findings
    return [(each.rule, each.span.line, each.span.column) for each in findings]


CERTAIN = [("selector-template-mismatch", 7, 24)]
PLAIN = "resources: [manager.yaml]\nnamePrefix: my-\nnamespace: system\nlabels: [{pairs: {team: a}}]\n"


@pytest.mark.parametrize(
    "overlay",
    [
        "resources: [../manager]",
        "resources: [../manager]\nlabels: [{pairs: {app: operator}}]",
        "resources: [../manager]\npatches: [{path: replicas.yaml}]",
        "resources: [../manager]\npatchesStrategicMerge: [replicas.yaml]",
        "resources: [../manager]\npatches: [{target: {kind: Service}, patch: '[{op: add, path: /spec/selector/app, value: x}]'}]",
    ],
)
def test_a_selector_is_compared_if_no_kustomization_can_change_labels(overlay: str, repo: Path) -> None:
    write(repo / "manager" / "kustomization.yaml", PLAIN)
    write(repo / "default" / "kustomization.yaml", overlay)
    write(repo / "default" / "replicas.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator}\nspec: {replicas: 2}\n")
    assert found_in(repo) == CERTAIN


@pytest.mark.parametrize(
    "overlay",
    [
        "commonLabels: {app: operator}",
        "labels: [{pairs: {app: operator}, includeSelectors: true}]",
        "labels: [{pairs: {app: operator}, includeTemplates: true}]",
        "labels: [{pairs: {app: operator}, fields: [{path: spec/template/metadata/labels}]}]",
        "transformers: [labels.yaml]",
        "components: [../labelled]",
        "replacements: [{path: names.yaml}]",
        "patches: [{path: missing.yaml}]",
        "patches: [{path: ../outside.yaml}]",
        "patches: [{path: labels.yaml}]",
        "patchesStrategicMerge: [labels.yaml]",
        "patchesStrategicMerge:\n- |\n  kind: Deployment\n  metadata: {name: operator}\n  $patch: delete",
        "patches: [{target: {kind: Deployment}, patch: '[{op: add, path: /spec/template/metadata/labels/app, value: x}]'}]",
        "patches: [{target: {kind: Deploy.*}, path: labels.yaml}]",
        "{{ if .x }}",
    ],
)
@pytest.mark.parametrize("folder", ["manager", "default"])
def test_it_is_not_if_one_of_them_may(overlay: str, folder: str, repo: Path) -> None:
    for each, listed in (("manager", "manager.yaml"), ("default", "../manager")):
        write(repo / each / "kustomization.yaml", f"resources: [{listed}]\n" + (overlay if each == folder else ""))
    write(repo / folder / "labels.yaml", "kind: Deployment\nmetadata: {name: operator}\nspec: {template: {metadata: {labels: {app: x}}}}\n")
    write(repo / "outside.yaml", "kind: Deployment\nmetadata: {name: operator}\nspec: {replicas: 2}\n")
    assert found_in(repo) == []


def test_a_missing_selector_is_certain_as_well(repo: Path) -> None:
    selector = "  selector:\n    matchLabels: {app: operator, tier: control}\n"
    write(repo / "manager" / "manager.yaml", DEPLOYMENT.replace(selector, ""))
    write(repo / "manager" / "kustomization.yaml", PLAIN)
    assert found_in(repo) == [("selector-missing", 5, 1)]
    write(repo / "default" / "kustomization.yaml", "resources: [../manager]\ncommonLabels: {app: operator}\n")
    assert found_in(repo) == []


def test_a_file_that_is_only_a_patch_may_be_completed(repo: Path) -> None:
    write(repo / "manager" / "kustomization.yaml", "patches: [{path: manager.yaml}]")
    assert found_in(repo) == []


def test_a_kustomization_may_add_the_selector_of_a_plan(repo: Path) -> None:
    plan = "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata: {name: os}\nspec: {upgrade: {image: a}}\n"
    write(repo / "manager" / "manager.yaml", plan)
    write(repo / "manager" / "kustomization.yaml", PLAIN)
    assert found_in(repo) == [("selector-matches-nothing", 4, 1)]
    write(repo / "manager" / "nodes.yaml", "kind: Plan\nmetadata: {name: os}\nspec: {nodeSelector: {matchExpressions: []}}\n")
    write(repo / "manager" / "kustomization.yaml", PLAIN + "patches: [{path: nodes.yaml}]\n")
    assert found_in(repo) == []
