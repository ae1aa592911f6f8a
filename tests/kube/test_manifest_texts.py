"""Manifests in the text of other objects: they are checked where they are written, each alone."""

import textwrap

import pytest

from afflint.pipeline.map_step import Checker
from deployment_text import deployment
from linting import findings_of, lint, settings_of

DEPLOYMENT = deployment("tolerations:", "- {key: a, operator: Is}", "containers: [{name: csi, image: csi}]", name="csi")


def held(before: str, text: str, indentation: int) -> str:
    return before + textwrap.indent(text, " " * indentation)


def places(text: str) -> list[str]:
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.object.name} {each.field}" for each in lint(text)]


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: csi-manifests}\ndata:\n  data: |\n"
RESOURCE_SET_SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: csi-manifests}
stringData:
  data: |-
    apiVersion: v1
    kind: Namespace
    metadata: {name: csi}
    ---
"""
TALOS = """\
version: v1alpha1
cluster:
  inlineManifests:
  - name: csi
    contents: |
"""
KUBEADM = """\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    files:
    - path: /etc/kubernetes/manifests/csi.yaml
      content: |
"""


@pytest.mark.parametrize(
    ("before", "indentation", "line", "column"),
    [
        pytest.param(CONFIG_MAP, 4, 15, 32, id="ConfigMap of a ClusterResourceSet"),
        pytest.param(RESOURCE_SET_SECRET, 4, 19, 32, id="second object of a Secret"),
        pytest.param(TALOS, 6, 15, 34, id="inline manifest of Talos"),
        pytest.param(KUBEADM, 8, 18, 36, id="file of kubeadm"),
        pytest.param("# A comment.\n---\n" + CONFIG_MAP, 4, 17, 32, id="second document"),
    ],
)
def test_the_text_is_checked_and_its_positions_are_those_of_the_file(before: str, indentation: int, line: int, column: int) -> None:
    text = held(before, DEPLOYMENT, indentation)
    assert text.splitlines()[line - 1][column - 1 :].startswith("Is}")
    assert places(text) == [f"{line}:{column} unknown-operator csi spec.template.spec.tolerations[0].operator"]


def test_objects_in_a_list_contain_texts_too() -> None:
    text = held("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    a.yaml: |\n", DEPLOYMENT, 6)
    assert places(text) == ["17:34 unknown-operator csi spec.template.spec.tolerations[0].operator"]


def test_separators_divide_the_text() -> None:
    text = held(CONFIG_MAP, f"# First.\n---\n{DEPLOYMENT}--- # Second.\n{DEPLOYMENT.replace('csi', 'cpi')}", 4)
    assert [each.split()[0] + " " + each.split()[2] for each in places(text)] == ["17:32 csi", "29:32 cpi"]


def test_placeholders_in_the_text_are_unknown_values() -> None:
    text = held(CONFIG_MAP, DEPLOYMENT.replace("key: a, operator: Is", "key: ${KEY}, operator: ${OPERATOR}"), 4)
    assert places(text) == []


def test_text_with_actions_is_read_like_a_template() -> None:
    actions = DEPLOYMENT.replace("template:\n", "{{- if .x }}\n  replicas: 2\n  {{- end }}\n  template:\n")
    assert places(held(CONFIG_MAP, actions, 4)) == ["18:32 unknown-operator csi spec.template.spec.tolerations[0].operator"]
    assert places(held(CONFIG_MAP, actions.replace("Is}", "Is}\n      {{- end }}"), 4)) == [], "an end too many"


@pytest.mark.parametrize(
    "text",
    [
        held(CONFIG_MAP.replace("data: |", "data: >"), DEPLOYMENT, 4),
        held(CONFIG_MAP, "kind: [\n" + DEPLOYMENT, 4),
        held(CONFIG_MAP, "- " + textwrap.indent(DEPLOYMENT, "  ").lstrip(), 4),
        held(CONFIG_MAP.replace("\ndata:", "\nannotations:"), DEPLOYMENT, 4),
        held(CONFIG_MAP.replace("ConfigMap", "Secret"), DEPLOYMENT, 4),
        held(CONFIG_MAP, DEPLOYMENT.replace("apiVersion: apps/v1\nkind: Deployment\n", "# apiVersion: kind:\n"), 4),
        held(KUBEADM.replace("content:", "owner:"), DEPLOYMENT, 8),
    ],
    ids=["folded", "not YAML", "a list", "another field", "encoded data", "no manifest", "a field that is not a file"],
)
def test_silent(text: str) -> None:
    assert places(text) == []


def test_text_has_no_fix() -> None:
    text = held(CONFIG_MAP, DEPLOYMENT.replace("operator: Is", "operator: exists"), 4)
    [found] = lint(text)
    assert (found.rule, found.fix) == ("unknown-operator", None)


def test_manifests_in_text_are_not_facts_about_the_cluster_of_the_others() -> None:
    checker = Checker(settings_of())
    assert checker.check("a.yaml", DEPLOYMENT.encode()).facts.pods
    result = checker.check("a.yaml", held(CONFIG_MAP, DEPLOYMENT, 4).encode())
    assert (result.facts.pods, result.documents, result.passed) == ((), 1, ())


def test_a_comment_in_the_text_silences_its_findings() -> None:
    text = held(CONFIG_MAP, DEPLOYMENT.replace("Is}", "Is}  # afflint: ignore[unknown-operator]"), 4)
    assert findings_of({"a.yaml": text.encode()}, settings_of(), inline=True) == []
