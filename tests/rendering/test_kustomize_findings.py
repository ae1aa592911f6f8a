"""Findings in a built kustomization are reported at their source, a base, a patch or a label, once for all overlays."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        disktype: true
      containers: [{name: web, image: "nginx:1.27"}]
"""
GOOD = BASE.replace("disktype: true", "disktype: ssd")


@pytest.fixture(autouse=True)
def kustomize(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize")


def base(text: str = GOOD) -> None:
    write({"base/web.yaml": text, "base/kustomization.yaml": "resources: [web.yaml]\n"})


def overlay(name: str, more: str = "", **patches: str) -> None:
    files = {f"overlays/{name}/{patch}.yaml": text for patch, text in patches.items()}
    write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\nnamePrefix: {name}-\n{more}", **files})


def test_a_mistake_in_a_base_is_one_finding_that_lists_the_overlays(checking: Checking) -> None:
    base(BASE)
    for name in "abcdefg":
        overlay(name)
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["rule"]) == ("base/web.yaml", 12, 19, "wrong-type")
    assert finding["object"]["name"] == "web", "as the file calls it, not as an overlay does"
    assert finding["rendered_in"] == [f"overlays/{name}" for name in "abcdefg"]
    assert finding["fix"] is None
    assert "= rendered: in 7 places: overlays/a, overlays/b, overlays/c and 4 more" in checking("--render", code=1)


@pytest.mark.parametrize("word", ["yes", '"yes"', "off", "n"])
def test_a_word_in_a_patch_that_is_a_boolean_only_in_older_yaml(checking: Checking, word: str) -> None:
    base()
    container = f"{{name: web, nodeSelector: {{worker: {word}}}}}"
    patch = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    overlay("prod", "patches: [{path: worker.yaml}]\n", worker=patch)
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["rule"]) == ("overlays/prod/worker.yaml", 4, "misplaced-constraint")


def test_a_patch_in_a_file(checking: Checking) -> None:
    base()
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeSelector: {zone: 1}}}}\n"
    overlay("prod", "patches: [{path: zone.yaml}]\n", zone=patch)
    overlay("test")
    assert checking.messages() == ["overlays/prod/zone.yaml:4:47 wrong-type spec.template.spec.nodeSelector.zone ['overlays/prod']"]


def test_an_inline_patch_and_an_operation(checking: Checking) -> None:
    base()
    overlay(
        "prod",
        "patches:\n"
        "  - target: {kind: Deployment}\n"
        "    patch: |-\n"
        "      - op: add\n"
        "        path: /spec/template/spec/tolerations\n"
        "        value:\n"
        "          - {key: gpu, operator: Exist}\n"
        "  - patch: |-\n"
        "      kind: Deployment\n"
        "      apiVersion: apps/v1\n"
        "      metadata: {name: web}\n"
        "      spec:\n"
        "        template:\n"
        "          spec:\n"
        "            nodeSelector: {zone: 1}\n",
    )
    assert checking.messages() == [
        "overlays/prod/kustomization.yaml:9:34 unknown-operator spec.template.spec.tolerations[0].operator ['overlays/prod']",
        "overlays/prod/kustomization.yaml:17:34 wrong-type spec.template.spec.nodeSelector.zone ['overlays/prod']",
    ]


def test_a_label_of_an_overlay(checking: Checking) -> None:
    base()
    overlay("prod", 'labels:\n  - includeTemplates: true\n    pairs:\n      team: "a b"\n')
    assert checking.messages() == ["overlays/prod/kustomization.yaml:6:13 invalid-label-value metadata.labels ['overlays/prod']"]


def test_a_missing_field_is_reported_at_the_object(checking: Checking) -> None:
    base(GOOD.replace("  selector: {matchLabels: {app: web}}\n", ""))
    overlay("prod")
    (found,) = checking.messages()
    assert found.startswith("base/web.yaml:5:1 selector-missing")


def test_a_field_that_an_overlay_adds_is_not_reported_as_missing(checking: Checking) -> None:
    base(GOOD.replace("apiVersion: apps/v1", "apiVersion: extensions/v1beta1"))
    operation = '[{\\"op\\": \\"replace\\", \\"path\\": \\"/apiVersion\\", \\"value\\": \\"apps/v1\\"}]'
    overlay("prod", f'patches: [{{target: {{kind: Deployment}}, patch: "{operation}"}}]\n')
    assert checking.messages() == []
    assert "unserved-api-version" in checking(code=1), "without the patch it is one"


def test_comments_and_baselines_apply_at_the_source(checking: Checking, project: Path) -> None:
    base(BASE.replace("disktype: true", "disktype: true # afflint: ignore[wrong-type]"))
    overlay("prod")
    report = checking.report()
    assert (report["findings"], report["summary"]["suppressed"]) == ([], 1)
    base(BASE)
    checking("--render", "--write-baseline", code=0)
    entries = json.loads((project / ".afflint-baseline.json").read_text())["findings"]
    assert [(each["file"], each["name"]) for each in entries] == [("base/web.yaml", "web")]
    overlay("another")
    assert "1 finding suppressed" in checking("--render", "--baseline", ".afflint-baseline.json", code=0)


def test_per_file_ignores_and_exclusions_apply_at_the_source(checking: Checking, project: Path) -> None:
    base(BASE)
    overlay("prod")
    (project / ".afflint.yaml").write_text("per-file-ignores: {'base/*': [wrong-type]}\n")
    assert checking.messages() == []
    (project / ".afflint.yaml").write_text("exclude: [base]\n")
    assert checking.messages() == []


def test_a_root_that_fails_is_reported_and_its_files_are_checked_as_written(checking: Checking) -> None:
    base(BASE)
    overlay("prod", "patches: [{path: nowhere.yaml}]\n")
    report = checking.report()
    assert [each["file"] for each in report["findings"]] == ["base/web.yaml"]
    assert report["findings"][0]["fix"] is not None
    (failed,) = report["summary"]["rendered"]["failed"]
    assert (failed["tool"], failed["root"]) == ("kustomize", "overlays/prod")
    assert "nowhere.yaml" in failed["reason"]
    base(GOOD)
    out = checking("--render", code=0)
    assert "Rendered 0 of 1 kustomization.\nNot rendered: overlays/prod (kustomize): " in out
    beside = checking("--render", "--format", "concise", code=0)
    assert "afflint: Rendered 0 of 1 kustomization.\nafflint: Not rendered: overlays/prod (kustomize): " in beside


def test_nothing_is_downloaded_by_default(checking: Checking) -> None:
    write({"kustomization.yaml": "resources: ['https://example.invalid/manifests.yaml']\n"})
    (failed,) = checking.report()["summary"]["rendered"]["failed"]
    assert failed["reason"] == "rendering requires the network for https://example.invalid/manifests.yaml; `--render-network` allows it"


def test_kustomizations_that_include_each_other_are_not_rendered(checking: Checking) -> None:
    base(GOOD)
    write({f"{name}/kustomization.yaml": f"resources: [../{other}, ../base]\n" for name, other in ("ab", "bc", "ca")})
    assert "Rendered 0 of 1 kustomization.\nNot rendered: a (kustomize): includes itself: a -> b -> c -> a\n" in checking("--render", ".")
    write({"x/kustomization.yaml": "resources: [../y]\n", "y/kustomization.yaml": "resources: [../x, ../a]\n"})
    out = checking("--render", ".")
    assert "Rendered 0 of 2 kustomizations.\n" in out
    assert "Not rendered: a (kustomize): includes itself: a -> b -> c -> a\n" in out
    assert "Not rendered: x (kustomize): includes itself: x -> y -> x\n" in out


def test_a_cycle_below_a_root_is_the_failure_of_the_root(checking: Checking) -> None:
    base(GOOD)
    write({f"{name}/kustomization.yaml": f"resources: [../{other}]\n" for name, other in ("ab", "ba", "ra")})
    out = checking("--render", ".")
    assert "Rendered 1 of 2 kustomizations.\nNot rendered: r (kustomize): " in out
    assert "includes itself" not in out


def test_the_tools_can_be_named_and_set_in_the_configuration(checking: Checking, project: Path) -> None:
    base(BASE)
    overlay("prod")
    assert "rendered: in overlays/prod" in checking("--render", "kustomize", "overlays", code=1)
    assert "rendered: in overlays/prod" in checking("--render", "overlays", code=1)
    assert "rendered: in" not in checking("--render", "helm", ".", code=1)
    assert "did you mean 'kustomize'?" in checking("--render=kustomise", code=2)
    (project / ".afflint.yaml").write_text("render: [kustomize]\n")
    assert "rendered: in overlays/prod" in checking("--config", ".afflint.yaml", code=1)
    assert "rendered: in" not in checking(code=1)  # A configuration that was found starts no program.


def test_fixes_apply_to_manifests_as_written(checking: Checking, project: Path) -> None:
    base(BASE)
    assert "--fix and --diff change source files" in checking("--render", "--fix", code=2)
    (project / ".afflint.yaml").write_text("render: true\n")
    checking("--fix", code=0)
    assert 'disktype: "true"' in (project / "base/web.yaml").read_text()


def test_findings_across_manifests_use_rendered_objects(checking: Checking) -> None:
    """A selector of a Service misses the label that the base lacks, and meets the one that the overlay adds."""
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web, team: a}}\n"
    write({"base/service.yaml": service, "base/web.yaml": GOOD, "base/kustomization.yaml": "resources: [web.yaml, service.yaml]\n"})
    overlay("prod", "labels: [{includeTemplates: true, pairs: {team: a}}]\n")
    assert checking.messages() == []


def test_overlays_with_other_objects_show_one_mistake(checking: Checking) -> None:
    """The message names whatever selects the label; in another overlay that is another object."""
    label = GOOD.replace("  name: web\n", "  name: web\n  labels: {tier: front}\n", 1)
    base(label)
    for name in ("one", "two"):
        service = f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {{tier: front}}}}\n"
        resources = f"resources: [../../base, service.yaml]\nnamespace: {name}\n"
        write({f"overlays/{name}/service.yaml": service, f"overlays/{name}/kustomization.yaml": resources})
    (finding,) = (each for each in checking.report()["findings"] if each["rule"] == "label-not-on-template")
    assert (finding["file"], finding["line"]) == ("base/web.yaml", 5)
    assert finding["rendered_in"] == ["overlays/one", "overlays/two"]


def test_a_budget_that_blocks_a_drain_is_reported_with_the_replicas_of_the_overlay(checking: Checking) -> None:
    write(
        {
            "base/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n"
            "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n"
            '    spec:\n      containers: [{name: web, image: "nginx:1.27"}]\n',
            "base/budget.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
            "spec:\n  minAvailable: 1\n  selector: {matchLabels: {app: web}}\n",
            "base/kustomization.yaml": "resources: [web.yaml, budget.yaml]\n",
            "overlays/prod/kustomization.yaml": "resources: [../../base]\nreplicas: [{name: web, count: 3}]\n",
        }
    )
    words = "--select", "drain-blocked"
    assert "No findings" in checking(*words)  # What overlays make of the numbers is not known.
    assert checking.messages(*words) == []
    write({"overlays/prod/kustomization.yaml": "resources: [../../base]\n"})
    assert [each.partition(" ")[0] for each in checking.messages(*words)] == ["base/budget.yaml:5:17"]


@pytest.mark.parametrize("example", ["shop", "customapp-typo", "customapp"])
def test_a_kustomization_that_only_lists_files_has_the_findings_of_the_files(checking: Checking, example: str) -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / example).glob("*.yaml"))}
    write({**files, "kustomization.yaml": f"resources: [{', '.join(files)}]\n"})
    plain, rendered = json.loads(checking("--format", "json"))["findings"], checking.report()["findings"]
    assert list(map(_at_place, rendered)) == list(map(_at_place, plain))
    assert plain or example == "customapp"


def _at_place(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding without what only one of the two runs has: the roots, and fixes of plain files."""
    return {key: finding[key] for key in ("rule", "severity", "message", "file", "line", "column", "field")}


def test_a_patch_without_target_in_a_kustomization_that_is_rendered(checking: Checking) -> None:
    """The kustomization itself is not a file of the rendered run."""
    patch = "[{op: add, path: /spec/template/spec/nodeSelector, value: {disk: ssd}}]"
    base()
    overlay("prod", f"patches: [{{target: {{kind: StatefulSet}}, patch: '{patch}'}}]\n")
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["rule"]) == ("overlays/prod/kustomization.yaml", 3, "patch-without-target")
    overlay("prod", f"patches: [{{target: {{kind: Deployment}}, patch: '{patch}'}}]\n")
    assert checking.report()["findings"] == []
