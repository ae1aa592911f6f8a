"""The pods that run, from the output of `kubectl get pods` and `kubectl get vmi`: on which nodes they are, and whose they are."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from afflint.inventory.node_files import NodeFileError
from afflint.inventory.pod_files import RunningPods
from afflint.inventory.pod_files import running_pods as read_running_pods
from afflint.source.sources import Source

Object = dict[str, Any]
MACHINE, REPLICAS = "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"


def source(*items: Object, kind: str = "List") -> Source:
    return Source("pods.json", "pods.json", json.dumps({"apiVersion": "v1", "kind": kind, "items": list(items)}).encode())


def running_pods(sources: Sequence[Source], *, resources: bool = False) -> RunningPods:
    return read_running_pods(dict(enumerate(sources)), resources=resources)


def owner(kind: str, name: str, *, controller: bool = True) -> Object:
    return {"apiVersion": "kubevirt.io/v1", "kind": kind, "name": name, "controller": controller}


def machine(name: str = "db", *, status: Object | None = None, **metadata: Any) -> Object:
    """A VirtualMachineInstance of a replica set, which runs on the node w1."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": MACHINE,
        "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owner(REPLICAS, "ledger")], **metadata},
        "spec": {"domain": {"devices": {}}},
        "status": {"nodeName": "w1", "phase": "Running"} if status is None else status,
    }


def pod(name: str, *owners: Object, namespace: str = "shop") -> Object:
    metadata = {"name": name, "ownerReferences": list(owners), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "w2"}}


def where(*sources: Source) -> dict[str, str]:
    """The node of each pod by namespace and name."""
    return {
        f"{each['metadata'].get('namespace')}/{each['metadata']['name']}": each["spec"]["nodeName"] for each in running_pods(sources).pods
    }


def test_a_machine_runs_in_a_pod_on_its_node_even_if_the_dump_has_only_the_machine() -> None:
    assert where(source(machine())) == {"shop/virt-launcher-db": "w1"}
    assert where(source(machine(namespace=""))) == {"default/virt-launcher-db": "w1"}
    [found] = running_pods([source(machine())]).pods
    assert found["metadata"]["ownerReferences"] == [owner(MACHINE, "db"), owner(REPLICAS, "ledger", controller=False)]


@pytest.mark.parametrize(
    "stopped",
    [
        machine(status={}),
        machine(status={"phase": "Scheduling"}),
        machine(status={"nodeName": "w1", "phase": "Succeeded"}),
        machine(status={"nodeName": "w1", "phase": "Failed"}),
        machine(deletionTimestamp="2026-11-20T08:00:00Z"),
    ],
    ids=["new", "without a node", "succeeded", "failed", "being deleted"],
)
def test_a_machine_that_does_not_run_has_no_pod(stopped: Object) -> None:
    assert where(source(stopped, machine("cache"))) == {"shop/virt-launcher-cache": "w1"}


def test_the_pod_of_a_machine_in_a_dump_counts_instead_with_the_owners_of_the_machine() -> None:
    """During a migration the pods know the node better; whose the machine is, only the machine says."""
    launcher = pod("virt-launcher-db-x7k2p", owner(MACHINE, "db"))
    for sources in ([source(launcher), source(machine())], [source(machine()), source(launcher)], [source(machine(), launcher)]):
        found = running_pods(sources)
        assert where(*sources) == {"shop/virt-launcher-db-x7k2p": "w2"}
        assert [each["name"] for each in found.pods[0]["metadata"]["ownerReferences"]] == ["db", "ledger"]
        assert list(found.machines) == [("shop", "virt-launcher-db-x7k2p")]


def test_a_pod_without_a_namespace_is_in_the_default_namespace() -> None:
    launcher = pod("virt-launcher-db-x7k2p", owner(MACHINE, "db"), namespace="")
    found = running_pods([source(launcher, machine(namespace="default"))])
    assert [each["metadata"]["name"] for each in found.pods] == ["virt-launcher-db-x7k2p"]


@pytest.mark.parametrize(
    "other",
    [
        pod("virt-launcher-cache-1", owner(MACHINE, "cache")),
        pod("virt-launcher-db-1", owner(MACHINE, "db"), namespace="office"),
        pod("virt-launcher-db-2", owner(MACHINE, "db"), namespace=""),
        pod("web-1", owner("ReplicaSet", "db")),
        pod("db"),
        pod("odd", owner(MACHINE, "")),
    ],
    ids=["another machine", "another namespace", "the default namespace", "another kind", "no owner", "no name"],
)
def test_a_pod_of_something_else_is_another_pod(other: Object) -> None:
    found = running_pods([source(other, machine())])
    assert [each["metadata"]["name"] for each in found.pods] == [other["metadata"]["name"], "virt-launcher-db"]
    assert list(found.machines) == [("shop", "virt-launcher-db")]


@pytest.mark.parametrize("kind", ["List", "PodList", f"{MACHINE}List"])
def test_a_cluster_may_have_no_pods(kind: str) -> None:
    assert running_pods([source(kind=kind)]) == ([], {}, set())


@pytest.mark.parametrize("text", ["kind: ConfigMap\napiVersion: v1\n", "[]\n", "kind: ServiceList\nitems: []\n"])
def test_a_file_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(NodeFileError, match=r"^pods\.yaml:1:1: no pods in this file: expected the output of"):
        running_pods([Source("pods.yaml", "pods.yaml", text.encode())])


def test_the_pod_of_a_machine_requests_what_its_domain_needs() -> None:
    vm = machine()
    vm["spec"]["domain"]["resources"] = {"requests": {"memory": "4Gi"}}
    assert "containers" not in running_pods([source(vm)]).pods[0]["spec"]
    [found] = running_pods([source(vm)], resources=True).pods
    assert "memory" in found["spec"]["containers"][0]["resources"]["requests"]


def test_a_machine_without_a_domain_has_no_workload() -> None:
    found = running_pods([source({**machine(), "spec": {}})])
    assert [each.pod_source for each in found.machines.values()] == [None]
    assert [each.pod_source is None for each in running_pods([source(machine())]).machines.values()] == [False]
