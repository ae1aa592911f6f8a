"""Pods that operators keep in their own ways while nodes are drained: guard pods of OpenShift, the primary of CloudNativePG."""

from typing import Any

from afflint.controllers.budgets import read_budget
from afflint.controllers.observed_workloads import observed_workloads
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.upgrade_pools import UpgradeRequest
from cluster_objects import Object, app, budget, pod, zoned
from workload_objects import inventory

NODES = zoned(m0="a", m1="b", m2="c")
NAMES = ("m0", "m1", "m2")
READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
UNREADY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}


def guard(node: str) -> Object:
    return pod(f"etcd-guard-{node}", {"app": "guard"}, on=node, namespace="openshift-etcd") | READY


def planned(pods: list[Object], budgets: list[Object], **asked: Any) -> Plan:
    sources = observed_workloads([], pods, NAMES)
    return make_plan(
        inventory(NODES, pods=pods), sources, asked=DisruptionRequest(**asked), budgets=[read_budget(each) for each in budgets]
    )


PRIMARY = {"matchLabels": {"cnpg.io/cluster": "pg", "cnpg.io/instanceRole": "primary"}}


class TestGuardPods:
    """Three guard pods with a budget that lets one go."""

    PODS = (guard("m0"), guard("m1"), guard("m2"))
    BUDGET = budget("etcd-guard-pdb", selector=app("guard"), minAvailable=2) | {
        "metadata": {"name": "etcd-guard-pdb", "namespace": "openshift-etcd"}
    }

    def test_they_come_back_with_their_nodes_during_an_upgrade(self) -> None:
        (upgrade,) = planned([*self.PODS], [self.BUDGET], upgrade=UpgradeRequest(["each"])).upgrades
        assert upgrade.completes
        assert {each.pod: each.target for each in upgrade.replicas} == {f"etcd-guard-{name}": name for name in NAMES}

    def test_an_upgrade_waits_for_one_that_is_not_ready(self) -> None:
        (upgrade,) = planned([*self.PODS[:2], guard("m2") | UNREADY], [self.BUDGET], upgrade=UpgradeRequest(["each"])).upgrades
        assert not upgrade.completes

    def test_kubectl_drain_needs_force(self) -> None:
        (drain,) = planned([*self.PODS], [self.BUDGET], drain=["m0"]).losses
        why = "it has no controller: kubectl drain fails without --force; its operator creates it again once the node is uncordoned"
        assert [(each.pod, each.why) for each in drain.blocked] == [("etcd-guard-m0", why)]

    def test_the_failure_or_removal_of_a_node_harms_nothing(self) -> None:
        for loss in planned([*self.PODS], [self.BUDGET], lose=["m0"], remove=["m0"]).losses:
            assert (loss.moves, loss.outcomes) == ((), {})


class TestPrimaries:
    """Cluster pg with its budget for the primary, pg-1 on m0."""

    BUDGET = budget("pg-primary", selector=PRIMARY, minAvailable=1)

    def instance(self, number: int, role: str, node: str, status: Object = READY) -> Object:
        made = pod(f"pg-{number}", {"cnpg.io/cluster": "pg", "cnpg.io/instanceRole": role}, on=node, namespace="default")
        owner = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": "pg", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
        return made | status

    def drain(self, *pods: Object) -> tuple[bool, list[str]]:
        """Whether the drain of m0 completes, and the notes about it."""
        (drain,) = planned([*pods], [self.BUDGET], drain=["m0"]).losses
        return not drain.blocked, list(drain.notes)

    def test_another_instance_becomes_the_primary(self) -> None:
        note = "the operator of CloudNativePG makes another instance of pg the primary before pg-1 is evicted"
        assert self.drain(self.instance(1, "primary", "m0"), self.instance(2, "replica", "m1")) == (True, [note])

    def test_not_one_that_is_not_ready(self) -> None:
        assert self.drain(self.instance(1, "primary", "m0"), self.instance(2, "replica", "m1", UNREADY)) == (False, [])

    def test_one_on_the_same_node_moves_first(self) -> None:
        completes, _ = self.drain(self.instance(1, "primary", "m0"), self.instance(2, "replica", "m0"))
        assert completes

    def test_a_single_instance_blocks_the_drain(self) -> None:
        assert self.drain(self.instance(1, "primary", "m0")) == (False, [])


class TestEmptyDirs:
    """`kubectl drain` refuses pods with emptyDir volumes unless a flag allows their loss."""

    NOTE = (
        "1 drained node has pods with emptyDir volumes: `kubectl drain` fails there without --delete-emptydir-data, "
        "which the simulation assumes"
    )

    def notes(self, owner: str, drain: str = "m0", **volume: Any) -> list[str]:
        made = pod("x-1", {"app": "x"}, on="m0", namespace="default", volumes=[{"name": "v", **volume}]) | READY
        made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": "x", "controller": True}]
        return [each for each in planned([made], [], drain=[drain]).notes if "kubectl" in each]

    def test_a_note_says_once_which_flag_is_assumed(self) -> None:
        assert self.notes("ReplicaSet", emptyDir={}) == [self.NOTE]

    def test_pods_of_daemon_sets_other_nodes_and_other_volumes_need_none(self) -> None:
        assert self.notes("DaemonSet", emptyDir={}) == self.notes("ReplicaSet", "m1", emptyDir={}) == []
        assert self.notes("ReplicaSet", projected={}) == []
