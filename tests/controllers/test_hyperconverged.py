"""The HyperConverged resource of OpenShift Virtualization: what virtual machines get from it, and the defaults of its operator."""

import pytest

from afflint.controllers.evictions import eviction_of, unknown_strategy_note
from afflint.controllers.hyperconverged import kubevirt_in_effect
from afflint.controllers.kubevirt_cluster import HYPERV_STRICT_CHECK, KubeVirtCluster
from afflint.controllers.pod_source import PodSource
from afflint.pipeline.map_step import default_settings
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from on_nodes import messages_of

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: erp}
spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}, volumes: [{name: d, persistentVolumeClaim: {claimName: erp}}]}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: erp}
spec: {accessModes: [%s]}
"""
V1BETA1 = """\
---
apiVersion: hco.kubevirt.io/v1beta1
kind: HyperConverged
metadata: {name: kubevirt-hyperconverged, namespace: openshift-cnv}
spec: {%s}
"""
V1 = V1BETA1.replace("v1beta1", "v1").replace("{%s}", "{virtualization: {%s}}")
KUBEVIRT = """\
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt-kubevirt-hyperconverged, namespace: openshift-cnv}
spec: {configuration: {%s}}
"""

OPENSHIFT = "node.openshift.io/os_id: rhcos"
WORKER = 'node-role.kubernetes.io/worker: ""'


def nodes(*labels: str) -> str:
    return "nodes:\n" + "".join(f"- {{name: w{number}, labels: {{{each}}}}}\n" for number, each in enumerate(labels))


def read(text: str, on: str = "nodes: [{name: w0}, {name: w1}]") -> PodSource:
    given = [Source("a.yaml", "a.yaml", text.encode())], [Source("n", "n", on.encode())], []
    simulation_input = read_place_inputs(*given, default_settings()).simulation_input
    return next(pod_source for pod_source in simulation_input.pod_sources if pod_source.kubevirt)


@pytest.mark.parametrize("resource", [V1BETA1, V1], ids=["v1beta1", "v1"])
@pytest.mark.parametrize(
    ("strategy", "expected"), [("LiveMigrate", "held"), ("LiveMigrateIfPossible", "allowed"), ("None", "allowed"), ("External", "external")]
)
def test_its_eviction_strategy_decides_the_drain(resource: str, strategy: str, expected: str) -> None:
    vm = read(VM % "ReadWriteOnce" + resource % f"evictionStrategy: {strategy}")
    assert eviction_of(vm).what == expected


def test_a_shared_disk_migrates() -> None:
    # Without an interface of its own, a VM gets masquerade: the operator sets defaultNetworkInterface.
    assert eviction_of(read(VM % "ReadWriteMany" + V1BETA1 % "evictionStrategy: LiveMigrate")).what == "migrates"


def test_the_message_names_the_resource() -> None:
    eviction = eviction_of(read(VM % "ReadWriteOnce" + V1BETA1 % "evictionStrategy: LiveMigrate"))
    assert eviction.why == (
        "evictionStrategy LiveMigrate of the HyperConverged resource asks for live migration, but the disk erp lacks the access mode "
        "ReadWriteMany"
    )


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (nodes(WORKER, WORKER), "migrates"),
        (nodes(WORKER, "node-role.kubernetes.io/master: ''"), "allowed"),
        (nodes("", ""), "migrates"),
        (nodes(""), "allowed"),
    ],
    ids=["two workers", "one worker", "two nodes without roles", "one node"],
)
def test_without_a_strategy_the_number_of_workers_decides(on: str, expected: str) -> None:
    vm = read(VM % "ReadWriteMany" + V1BETA1 % "", on)
    assert eviction_of(vm).what == expected
    assert not unknown_strategy_note([vm])


def test_what_it_leaves_open_comes_from_the_kubevirt_resource_that_its_operator_writes() -> None:
    both = V1BETA1 % "evictionStrategy: None" + KUBEVIRT % "evictionStrategy: LiveMigrate, cpuModel: Penryn"
    cluster = KubeVirtCluster(read(VM % "ReadWriteMany" + both).virtualization.kubevirt)
    assert (cluster.eviction_strategy, cluster.cpu_model("amd64")) == ("None", "Penryn")
    left_open = V1BETA1 % "" + KUBEVIRT % "evictionStrategy: External"
    assert eviction_of(read(VM % "ReadWriteMany" + left_open)).what == "external"


def test_cpu_model_devices_bindings_and_gates() -> None:
    spec = {
        "defaultCPUModel": "EPYC",
        "permittedHostDevices": {
            "usbHostDevices": [{"resourceName": "a.example/usb"}],
            "mediatedDevices": [{"resourceName": "a.example/vgpu"}],
        },
        "networkBinding": {"fast": {"migration": {}}},
    }
    old = KubeVirtCluster(kubevirt_in_effect(None, {"spec": spec}, ()))
    virtualization = {
        "virtualMachineOptions": {"defaultCPUModel": spec["defaultCPUModel"]},
        "permittedHostDevices": spec["permittedHostDevices"],
    }
    new = KubeVirtCluster(
        kubevirt_in_effect(None, {"spec": {"virtualization": virtualization, "networking": {"networkBinding": spec["networkBinding"]}}}, ())
    )
    for cluster in (old, new):
        assert cluster.cpu_model("amd64") == "EPYC"
        assert cluster.permitted_devices == {
            "pciHostDevices": frozenset(),
            "mediatedDevices": frozenset({"a.example/vgpu"}),
            "usb": frozenset({"a.example/usb"}),
        }
        assert cluster.migrates_binding("fast")
        assert cluster.migrates_binding("l2bridge")
        assert cluster.default_interface == "masquerade"
        assert cluster.has_gate(HYPERV_STRICT_CHECK)
        assert cluster.eviction_strategy == ""  # No nodes: one worker or several.


@pytest.mark.parametrize(
    ("on", "what", "default"),
    [(nodes(OPENSHIFT, OPENSHIFT), "migrates", "LiveMigrate"), (nodes(OPENSHIFT), "allowed", "None")],
    ids=["two nodes", "single node"],
)
def test_on_openshift_without_either_resource_its_default_is_assumed_and_reported(on: str, what: str, default: str) -> None:
    vm = read(VM % "ReadWriteMany", on)
    assert eviction_of(vm).what == what
    assert unknown_strategy_note([vm]) == (
        "1 VM workload sets no evictionStrategy, the manifests contain neither a HyperConverged nor a KubeVirt resource, and the nodes are "
        f"OpenShift's: the simulation assumes evictionStrategy {default}, the default of OpenShift Virtualization on these nodes"
    )


def test_a_kubevirt_resource_on_openshift_counts_as_written() -> None:
    vm = read(VM % "ReadWriteMany" + KUBEVIRT % "", nodes(OPENSHIFT, OPENSHIFT))
    assert eviction_of(vm).what == "allowed"
    assert not unknown_strategy_note([vm])


def test_other_nodes_assume_nothing() -> None:
    vm = read(VM % "ReadWriteMany", nodes(WORKER, WORKER))
    assert eviction_of(vm).what == "allowed"
    assert "no KubeVirt resource" in unknown_strategy_note([vm])


def test_check_reports_what_a_resource_requests_and_nothing_that_is_assumed() -> None:
    on = "".join(f"- {{name: w{number}, labels: {{{OPENSHIFT}}}}}\n" for number in range(2))

    def found(*manifests: str) -> int:
        return len(messages_of("migration-impossible", on, "".join(manifests)))

    assert found(VM % "ReadWriteOnce", V1BETA1 % "") == 1
    assert found(VM % "ReadWriteOnce", V1BETA1 % "evictionStrategy: LiveMigrateIfPossible") == 0
    assert found(VM % "ReadWriteOnce") == 0
