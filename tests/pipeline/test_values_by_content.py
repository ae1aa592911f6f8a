"""Which files without a kind are values of a chart by their content: those with a whole constraint, under any name."""

from pathlib import Path

import pytest

from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import discover
from linting import settings_of

TOLERATIONS = "tolerations: [{key: a, operator: Is}]\n"
WRONG = f"server:\n  {TOLERATIONS}"

AFFINITY = (
    "affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n    - labelSelector: {matchLabels: {app: a}}\n"
)
SPREAD = "topologySpreadConstraints:\n- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Maybe}\n"
KIND = "controller:\n  kind: DaemonSet\n  tolerations: [{key: a, operator: Is}]\n"


def checked(name: str, text: str) -> Outcome:
    """Return the outcome of a run over one file."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return run(discover(["."]), settings_of(), Options(inline=True))


def messages(outcome: Outcome) -> list[str]:
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.rule}" for each in outcome.findings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WRONG, "2:36 unknown-operator"),
        (f"jupyterhub:\n  hub:\n    {TOLERATIONS}", "3:38 unknown-operator"),
        (AFFINITY, "4:7 empty-topology-key"),
        (SPREAD, "2:54 invalid-spread-constraint"),
        ("hub:\n  nodeSelector: {kubernetes.io/os: a b}\n", "2:36 invalid-label-value"),
        ("jupyterhub:\n  hub: {a: b}\n  proxy:\n    nodeSelector: {pool: core}\n", "4:5 ignored-chart-value"),
        (KIND, "3:36 unknown-operator"),
        ("kind: DaemonSet\ntolerations: [{key: a, operator: Is}]\n", "2:34 unknown-operator"),
        (
            f"presubmits:\n  org/repo:\n  - spec:\n      containers: [{{name: a}}]\n      {TOLERATIONS}",
            "5:40 unknown-operator",
        ),
        ("jobs:\n- spec:\n    containers: [{name: a}]\n    nodeSelector: {pool: a b}\n", "4:26 invalid-label-value"),
        (f"# afflint: ignore[no-matching-pool]\n{WRONG}", "3:36 unknown-operator"),
    ],
)
@pytest.mark.parametrize("name", ["prod.yaml", "deployments/a/config/common.yaml"])
def test_a_file_with_a_whole_constraint(name: str, text: str, expected: str) -> None:
    assert messages(checked(name, text)) == [f"{name}:{expected}"]


def test_a_value_of_the_name_kind_hides_no_values() -> None:
    """`kind: DaemonSet` is a value of many charts. The report counts the file as read."""
    outcome = checked("values.yaml", KIND)
    assert messages(outcome) == ["values.yaml:3:36 unknown-operator"]
    assert (outcome.summary.documents, outcome.summary.passed, outcome.summary.overlooked) == (1, (), ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("openapi.yaml", f"openapi: 3.0.0\nexample:\n  {TOLERATIONS}"),
        ("crds/doc-ru.yaml", "spec:\n  versions:\n  - schema: {openAPIV3Schema: {properties: {nodeSelector: {a/b: c d}}}}\n"),
        ("tests/case.yaml", f"input: a\nexpected:\n  {TOLERATIONS}"),
        ("patches/patch.yaml", f"spec:\n  template:\n    spec:\n      {TOLERATIONS}"),
        ("patches/json.yaml", "- op: add\n  path: /spec/template/spec/tolerations\n  value: [{key: a, operator: Is}]\n"),
        ("playbook.yml", f"- hosts: all\n  vars:\n    {TOLERATIONS}"),
        ("settings.yaml", "server:\n  nodeSelector: {type: object, description: a b}\n"),
        ("task.json", '{"server": {"tolerations": [{"key": "a", "operator": "Is"}]}}'),
        ("templates/part.yaml", WRONG),
        ("pkg/testdata/input.yaml", WRONG),
    ],
)
def test_other_files_are_not_values(name: str, text: str) -> None:
    assert messages(checked(name, text)) == []


def test_they_are_not_compared_with_the_pools_of_the_run() -> None:
    """Nothing shows that the file is for the cluster of these pools."""
    spec = "template: {metadata: {labels: {a/disk: ssd}}, spec: {requirements: []}}"
    Path("pool.yaml").write_text(f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{{spec}}}\n")
    text = "server:\n  nodeSelector: {a/disk: hdd}\n"
    assert messages(checked("prod.yaml", text)) == []
    assert messages(checked("values.yaml", text)) == ["values.yaml:2:26 no-matching-pool"]
