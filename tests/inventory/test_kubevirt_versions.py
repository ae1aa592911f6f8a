"""The labels that virtual machines require of nodes depend on the version of KubeVirt: from the configuration, a status, or the nodes."""

import pytest

from afflint.checks.match import Target
from afflint.controllers.launcher_pod import required_labels
from afflint.pipeline.map_step import default_settings
from afflint.placement.planner import make_plan
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from linting import findings_of, settings_of

PINNED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec:
  runStrategy: Always
  template: {spec: {domain: {cpu: {cores: 2, dedicatedCpuPlacement: true}, devices: {}}}}
"""
OLD = """\
nodes:
- {name: n1, labels: {cpumanager: "true", kubevirt.io/schedulable: "true"}}
- {name: n2, labels: {cpumanager: "false", kubevirt.io/schedulable: "true"}}
"""
BOTH = """\
nodes:
- {name: n1, labels: {cpumanager: "false", kubevirt.io/cpumanager: "true"}}
- {name: n2, labels: {cpumanager: "true", kubevirt.io/cpumanager: "false"}}
"""
STATUS = """\
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {}
status: {observedKubeVirtVersion: %s}
"""


def placed(nodes: str, manifests: str = PINNED, version: tuple[int, int] | None = None) -> dict[str, str]:
    """What each node is to the VM, ``yes`` where it fits."""
    settings = default_settings()
    settings = settings._replace(target=settings.target._replace(kubevirt_version=version))
    given = [Source("a.yaml", "a.yaml", manifests.encode())], [Source("n", "n", nodes.encode())], []
    simulation_input = read_place_inputs(*given, settings).simulation_input
    (workload,) = make_plan(simulation_input.inventory, simulation_input.pod_sources).workloads
    return {each.node: "yes" if each.feasible else each.why for each in workload.verdicts}


def test_nodes_with_only_the_old_label_are_those_of_an_old_kubevirt() -> None:
    assert placed(OLD) == {"n1": "yes", "n2": "has cpumanager=false, not true (required by KubeVirt)"}


@pytest.mark.parametrize(
    ("version", "status", "fits"),
    [(None, "", "n1"), ((1, 7), "", "n2"), ((1, 8), "", "n1"), (None, STATUS % "v1.7.4", "n2"), (None, STATUS % "v1.8.0-rc.0", "n1"),
     ((1, 8), STATUS % "v1.7.4", "n1")],
    ids=["unknown", "1.7", "1.8", "status 1.7.4", "status 1.8.0-rc.0", "configuration before status"],
)  # fmt: skip
def test_the_version_decides_which_label_counts(version: tuple[int, int] | None, status: str, fits: str) -> None:
    assert [node for node, verdict in placed(BOTH, PINNED + status, version).items() if verdict == "yes"] == [fits]


def test_a_version_alone_does_not_count_as_a_kubevirt_resource() -> None:
    settings = default_settings()
    settings = settings._replace(target=settings.target._replace(kubevirt_version=(1, 7)))
    given = [Source("a.yaml", "a.yaml", PINNED.encode())], [Source("n", "n", OLD.encode())], []
    (vm,) = read_place_inputs(*given, settings).simulation_input.pod_sources
    from afflint.controllers.evictions import unknown_strategy_note

    assert "no KubeVirt resource" in unknown_strategy_note([vm])


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((1, 5), {"kubevirt.io/sev"}),
        ((1, 6), {"kubevirt.io/sev", "machine-type.node.kubevirt.io/q35"}),
        ((1, 7), {"kubevirt.io/sev", "kubevirt.io/sev-snp", "machine-type.node.kubevirt.io/q35"}),
        (None, {"kubevirt.io/sev", "kubevirt.io/sev-snp", "machine-type.node.kubevirt.io/q35"}),
    ],
    ids=["1.5", "1.6", "1.7", "unknown"],
)
def test_labels_came_with_versions(version: tuple[int, int] | None, expected: set[str]) -> None:
    assert required_labels({"domain": {"machine": {"type": "q35"}, "launchSecurity": {"snp": {}}}}, version) == expected


def test_check_compares_with_the_label_of_the_version() -> None:
    selecting = PINNED.replace("{spec: {domain", '{spec: {nodeSelector: {cpumanager: "false", kubevirt.io/cpumanager: "false"}, domain')

    def overwritten(version: tuple[int, int] | None) -> list[str]:
        found = findings_of({"a.yaml": selecting.encode()}, settings_of(target=Target(kubevirt_version=version)))
        return [each.message.split("`")[1] for each in found if each.rule == "overwritten-node-selector"]

    assert overwritten(None) == ["kubevirt.io/cpumanager"]
    assert overwritten((1, 7)) == ["cpumanager"]
