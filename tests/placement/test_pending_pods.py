"""Pending pods of a dump: judged as they are where their controller keeps them, otherwise replaced by pods from the template."""

import dataclasses
from typing import Any

import pytest

from afflint.controllers.pod_replacement import PodReplacement
from afflint.controllers.pod_source import PodSource
from afflint.inventory.inventory import Inventory
from afflint.inventory.priorities import priorities_of
from afflint.placement.changes import PlanInput
from afflint.placement.plan import Plan
from afflint.placement.planner import make_plan
from afflint.placement.remedies import find_remedies
from cluster_objects import HOST, Object, node, pod
from workload_objects import inventory, pod_source

PREEMPTED = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
GATED = "its schedulingGate example.com/quota is not removed yet: the scheduler does not consider it"


def sized(name: str, cpu: int = 4) -> Object:
    return {**node(name, {HOST: name}), "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}}}


def containers(cpu: int) -> list[Object]:
    return [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]


def workload(name: str = "db", kind: str = "StatefulSet", replicas: int = 2, *, cpu: int = 1, **more: Any) -> PodSource:
    return pod_source(name, kind, replicas, containers=containers(cpu), **more)


def stored(name: str, cpu: int = 1, *, kind: str = "StatefulSet", on: str = "", status: Object | None = None, **spec: Any) -> Object:
    """A pod of a dump; its workload is the first word of its name. Without a node it is Pending."""
    owner = name.partition("-")[0]
    made = pod(name, {"app": owner}, on=on, namespace="default", containers=containers(cpu), **spec)
    made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "controller": True}]
    made["status"] = {"phase": "Running" if on else "Pending", **(status or {})}
    return made


def ending(running: Object, conditions: list[Object]) -> Object:
    metadata = {**running["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**running, "metadata": metadata, "status": {**running["status"], "conditions": conditions}}


def cluster(nodes: list[Object], *pods: Object) -> Inventory:
    return inventory(nodes, pods=pods, resources=True)


def places(made: Plan, number: int = 0) -> list[tuple[str, str | None, str]]:
    return [tuple(replica) for replica in made.workloads[number].replicas]


def remedies(nodes: list[Object], source: PodSource, *pods: Object) -> list[str]:
    plan_input = PlanInput(cluster(nodes, *pods), [source], source.key)
    found = find_remedies(plan_input, plan_input.schedule()).found
    return [" and ".join(change.text for change in each.changes) for each in found if each.solves]


class TestOlderRevisions:
    """A Pending pod requests 9 CPUs; the template meanwhile requests 1."""

    def test_an_ordered_stateful_set_keeps_the_pod(self) -> None:
        made = make_plan(cluster([sized("n1")], stored("db-0", 9)), [workload()])
        assert places(made) == [("db-0", None, "1 node has insufficient CPU"), ("db-1", None, "created only after db-0 is ready")]

    def test_a_note_says_so(self) -> None:
        [shown] = make_plan(cluster([sized("n1")], stored("db-0", 9)), [workload()]).workloads
        note = "db-0 is Pending and differs from the template: the StatefulSet creates pods from the template only after a deletion"
        assert note in shown.notes

    def test_its_deletion_helps(self) -> None:
        assert remedies([sized("n1")], workload(), stored("db-0", 9)) == ["delete the Pending pod db-0"]

    def test_an_edit_helps_together_with_the_deletion(self) -> None:
        source = workload(replicas=1, nodeSelector={"disk": "ssd"})
        waiting = stored("db-0", nodeSelector={"disk": "ssd"})
        assert "remove `disk: ssd` from nodeSelector and delete the Pending pod db-0" in remedies([sized("n1")], source, waiting)

    def test_later_pods_are_created_once_it_runs(self) -> None:
        made = make_plan(cluster([sized("n1")], stored("db-0", 3)), [workload()])
        assert places(made) == [("db-0", "n1", ""), ("db-1", "n1", "")]

    @pytest.mark.parametrize("kind", ["ReplicaSet", "Job"])
    def test_other_controllers_keep_the_pod_too(self, kind: str) -> None:
        made = make_plan(cluster([sized("n1")], stored("db-x", 9, kind=kind)), [workload(kind=kind)])
        assert [node for _, node, _ in places(made)] == [None, "n1"]

    def test_a_parallel_stateful_set_deletes_it(self) -> None:
        parallel = dataclasses.replace(workload(), pod_replacement=PodReplacement("gone", ordinals=True))
        assert [node for _, node, _ in places(make_plan(cluster([sized("n1")], stored("db-0", 9)), [parallel]))] == ["n1", "n1"]

    def test_a_deployment_scales_its_old_replica_set_down(self) -> None:
        waiting = stored("web-5d8f7-x", 9, kind="ReplicaSet")
        waiting["metadata"]["labels"]["pod-template-hash"] = "5d8f7"
        waiting["metadata"]["ownerReferences"][0]["name"] = "web-5d8f7"
        made = make_plan(cluster([sized("n1")], waiting), [workload("web", "Deployment")])
        assert [node for _, node, _ in places(made)] == ["n1", "n1"]

    def test_a_pod_of_the_current_revision_has_its_own_name(self) -> None:
        made = make_plan(cluster([sized("n1")], stored("web-x", kind="ReplicaSet")), [workload("web", "ReplicaSet", replicas=1)])
        assert places(made) == [("web-x", "n1", "")]


class TestGates:
    def test_a_gated_pod_is_not_considered(self) -> None:
        """A webhook has added the gate; the template has none."""
        waiting = stored("db-0", schedulingGates=[{"name": "example.com/quota"}])
        made = make_plan(cluster([sized("n1")], waiting), [workload()])
        assert places(made) == [("db-0", None, GATED), ("db-1", None, "created only after db-0 is ready")]
        assert remedies([sized("n1")], workload(), waiting) == []

    def test_nor_is_one_without_a_manifest(self) -> None:
        waiting = stored("web-x", kind="ReplicaSet", schedulingGates=[{"name": "example.com/quota"}])
        running = stored("web-a", kind="ReplicaSet", on="n1")
        source = dataclasses.replace(workload("web", "ReplicaSet"), observed=(0, 1))
        assert places(make_plan(cluster([sized("n1")], running, waiting), [source])) == [("web-a", "n1", ""), ("web-x", None, GATED)]


class TestNominations:
    """Pod web-x has preempted the victim on n1, which is still being deleted; pod low-a on n2 has started later."""

    NODES = (sized("n1"), sized("n2"))
    VICTIM = ending(stored("old-a", 4, kind="ReplicaSet", on="n1", priority=0, status={"startTime": "2026-01-01T00:00:00Z"}), PREEMPTED)
    LOW = stored("low-a", 4, kind="ReplicaSet", on="n2", priority=0, status={"startTime": "2026-01-02T00:00:00Z"})
    WEB = stored("web-x", 4, kind="ReplicaSet", priority=1000, status={"nominatedNodeName": "n1"})

    def plan(self, *others: tuple[PodSource, Object]) -> dict[str, str | None]:
        """The node of each pod that has one, with more workloads, each with a pod."""
        pods = [self.VICTIM, self.LOW, self.WEB, *[each for _, each in others]]
        names = ("old", 0, ()), ("low", 0, (1,)), ("web", 1000, (2,))
        sources = [
            dataclasses.replace(workload(name, "ReplicaSet", 1, cpu=4), priority=priority, observed=observed)
            for name, priority, observed in names[1:]
        ]
        more = [dataclasses.replace(source, observed=(3 + number,)) for number, (source, _) in enumerate(others)]
        sources = [*more, *sources]
        made = make_plan(cluster([*self.NODES], *pods)._replace(priorities=priorities_of(sources, pods, [])), sources)
        assert not made.preempted or others
        assert not [each for each in made.notes if "being deleted" in each]
        return {replica.pod: replica.node for each in made.workloads for replica in each.replicas}

    def test_it_gets_its_node_and_preempts_no_other_pod(self) -> None:
        assert self.plan() == {"low-a": "n2", "web-x": "n1"}

    def test_its_node_is_reserved_against_a_pod_of_the_same_priority(self) -> None:
        rival = dataclasses.replace(workload("rival", "ReplicaSet", 1, cpu=4), priority=1000, preempts=False)
        assert self.plan((rival, stored("rival-x", 4, kind="ReplicaSet", priority=1000))) == {"rival-x": None, "low-a": "n2", "web-x": "n1"}
