"""The placement of KubeVirt itself: virt-handler has to run somewhere, or no virtual machine starts."""

import pytest

from afflint.findings.finding import Finding
from linting import findings_of, settings_of

NODES = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {performance: high, kubernetes.io/os: linux}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {performance: low, kubernetes.io/os: linux}}}
"""
V1BETA1 = """\
apiVersion: hco.kubevirt.io/v1beta1
kind: HyperConverged
metadata: {name: kubevirt-hyperconverged}
spec:
  %s:
    nodePlacement: {%s}
"""
V1 = """\
apiVersion: hco.kubevirt.io/v1
kind: HyperConverged
metadata: {name: kubevirt-hyperconverged}
spec: {deployment: {nodePlacements: {%s: {%s}}}}
"""
KUBEVIRT = V1BETA1.replace("hco.kubevirt.io/v1beta1", "kubevirt.io/v1").replace("HyperConverged", "KubeVirt")
ELSEWHERE = "nodeSelector: {performance: hgh}"


def found(manifest: str, nodes: str = NODES) -> list[Finding]:
    files = {"a.yaml": manifest.encode(), "nodes.yaml": nodes.encode()}
    return [each for each in findings_of(files, settings_of(), nodes=["nodes.yaml"]) if each.rule == "unschedulable"]


@pytest.mark.parametrize(
    ("manifest", "line", "column"),
    [
        (V1BETA1 % ("workloads", ELSEWHERE), 6, 49),
        (V1 % ("workload", ELSEWHERE), 4, 77),
        (KUBEVIRT % ("workloads", ELSEWHERE), 6, 49),
    ],
    ids=["v1beta1", "v1", "KubeVirt"],
)
def test_virt_handler_runs_nowhere(manifest: str, line: int, column: int) -> None:
    (each,) = found(manifest)
    assert (each.span.line, each.span.column, each.severity) == (line, column, "error")
    assert each.message == (
        "none of the 2 nodes matches `performance=hgh`, so virt-handler runs on no node, and no virtual machine starts"
        "; did you mean `high`?"
    )


def test_the_control_plane_of_kubevirt_stays_pending() -> None:
    (each,) = found(V1BETA1 % ("infra", 'nodeSelector: {node-role.kubernetes.io/infra: ""}'))
    assert each.message == "none of the 2 nodes matches `node-role.kubernetes.io/infra`, so the pods of KubeVirt stay Pending"


def test_requirements_that_nodes_meet_only_one_by_one() -> None:
    both = "{matchExpressions: [{key: performance, operator: In, values: [high]}, {key: performance, operator: In, values: [low]}]}"
    affinity = f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{both}]}}}}}}"
    (each,) = found(KUBEVIRT % ("workloads", affinity))
    assert "matches `all of these requirements`" not in each.message
    assert "none of the 2 nodes matches all of these requirements" in each.message


@pytest.mark.parametrize(
    ("placement", "nodes"),
    [
        ("nodeSelector: {performance: low}", NODES),
        ("nodeSelector: {performance: '${TIER}'}", NODES),
        ("tolerations: [{key: a, operator: Exists}]", NODES),
        (ELSEWHERE, "nodes: [{name: n1, labels: {performance: high}}]"),
    ],
    ids=["a node matches", "placeholder", "no requirement", "a list written by hand"],
)
def test_it_is_silent(placement: str, nodes: str) -> None:
    assert found(V1BETA1 % ("workloads", placement), nodes) == []
