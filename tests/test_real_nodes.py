"""`place` and `check --nodes` on nodes as real clusters label them: every action ends with a report, and no action fails inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cluster_objects import Object
from node_dumps import DUMPS, dumped
from on_nodes import POOL, apart, workload

if TYPE_CHECKING:
    from command_line import Afflint, Done

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db, namespace: shop}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {app: db}}
    spec:
      evictionStrategy: LiveMigrate
      domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
"""
MANIFESTS = "---\n".join(
    [
        workload(apart("kubernetes.io/hostname"), replicas=2),
        workload(kind="StatefulSet", name="store", replicas=1, more="serviceName: store\n"),
        workload(kind="DaemonSet", name="logs", replicas=None),
        VM,
    ]
)


def running(node: str) -> list[Object]:
    """Pods that run on a node: one of a manifest, one of a DaemonSet, the launcher of the VM."""

    def pod(name: str, app: str, kind: str, owner: str, group: str = "apps/v1", **labels: str) -> Object:
        owners = [{"apiVersion": group, "kind": kind, "name": owner, "controller": True, "uid": "0"}]
        metadata = {"name": name, "namespace": "shop", "labels": {"app": app, **labels}, "ownerReferences": owners}
        spec = {"nodeName": node, "containers": [{"name": app, "image": app}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}

    return [
        pod("store-0", "store", "StatefulSet", "store"),
        pod("logs-5x2kp", "logs", "DaemonSet", "logs"),
        pod("virt-launcher-db-x7k2p", "db", "VirtualMachineInstance", "db", "kubevirt.io/v1", **{"kubevirt.io": "virt-launcher"}),
    ]


@pytest.fixture(params=DUMPS)
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Dump:
    return Dump(DUMPS[request.param](), tmp_path)


class Dump:
    """A cluster's nodes and what runs on the last of them, as files beside the manifests."""

    def __init__(self, nodes: list[Object], folder: Path) -> None:
        self.nodes = nodes
        self.last = nodes[-1]["metadata"]["name"]
        files = {
            "manifests.yaml": MANIFESTS,
            "nodes.json": dumped(nodes),
            "pods.json": dumped(running(self.last)),
            "pool.yaml": POOL,
        }
        self.files = {name: str(folder / name) for name in files}
        for name, text in files.items():
            (folder / name).write_text(text)

    def place(self, afflint: Afflint, *arguments: str) -> Done:
        files = [self.files.get(each, each) for each in arguments]
        return afflint("place", "--no-config", self.files["manifests.yaml"], "--nodes", self.files["nodes.json"], *files)

    def plan(self, afflint: Afflint, *arguments: str) -> Any:
        done = self.place(afflint, *arguments, "--format", "json")
        assert done.code in (0, 1), done.err
        assert done.err == ""
        return json.loads(done.out)


ACTIONS: dict[str, tuple[str, ...]] = {
    "fits": (),
    "lose": ("--lose", "each:node"),
    "drain": ("--drain", "each:node"),
    "remove": ("--remove", "each:node"),
    "pods": ("--pods", "pods.json"),
    "drain with pods": ("--pods", "pods.json", "--drain", "each:node"),
    "lose with pods": ("--pods", "pods.json", "--lose", "each:node"),
    "replan": ("--pods", "pods.json", "--replan"),
    "count": ("--nodes", "pool.yaml", "--count", "fast=2"),
    "drain with count": ("--nodes", "pool.yaml", "--count", "fast=2", "--drain", "each:node"),
    "resources": ("--resources", "--pods", "pods.json", "--drain", "each:node", "--lose", "each:node", "--remove", "each:node"),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_ends_with_a_plan_of_all_nodes(dump: Dump, afflint: Afflint, action: str) -> None:
    plan = dump.plan(afflint, *ACTIONS[action])
    assert len(plan["nodes"]) == len(dump.nodes) + (2 if "count" in action else 0)
    assert [each["replicas"][0]["node"] for each in plan["workloads"] if each["kind"] == "StatefulSet"] != [None]
    asked = len([word for word in ACTIONS[action] if word == "each:node"])
    assert len(plan["losses"]) == asked * len(plan["nodes"])


@pytest.mark.parametrize("form", ["text", "html"])
def test_every_format_shows_all_of_it(dump: Dump, afflint: Afflint, form: str) -> None:
    every = ("--lose", "each:node", "--drain", "each:node", "--remove", "each:node", "--pods", "pods.json")
    done = dump.place(afflint, *every, "--format", form)
    assert (done.code in (0, 1), done.err) == (True, "")
    assert dump.last.partition(".")[0] in done.out


def test_check_holds_the_manifests_to_the_nodes(dump: Dump, afflint: Afflint) -> None:
    done = afflint("check", "--no-config", "--no-cache", dump.files["manifests.yaml"], "--nodes", dump.files["nodes.json"])
    assert (done.code in (0, 1), done.err) == (True, "")


@pytest.mark.parametrize(("cluster", "target"), [("kubeadm and KubeVirt", "kvm-0"), ("OpenShift", "ocp-w00.lab.example.com")])
def test_a_drain_migrates_a_vm_to_a_node_with_the_same_cpu(tmp_path: Path, afflint: Afflint, cluster: str, target: str) -> None:
    dump = Dump(DUMPS[cluster](), tmp_path)
    plan = dump.plan(afflint, "--pods", "pods.json", "--drain", dump.last)
    [move] = [each for each in plan["losses"][0]["moves"] if each["workload"] == "VirtualMachine shop/db"]
    assert (move["fate"], move["source"], move["target"]) == ("migrated", dump.last, target)
