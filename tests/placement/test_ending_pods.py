"""Running pods that are being deleted: whether another is made meanwhile, and what the ones that end still take from the others."""

from typing import Any

from afflint.controllers.pod_replacement import PodReplacement
from afflint.controllers.pod_source import PodSource
from afflint.placement.plan import DisruptionEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import HOST, Object, node, pod, zoned
from workload_objects import apart_by, inventory, pod_source

THREE = zoned(n1="", n2="", n3="")
SILENT = [node("n1", {HOST: "n1"}, taints=[f"node.kubernetes.io/unreachable:{each}" for each in ("NoSchedule", "NoExecute")]), *THREE[1:]]
HELD = "db-0 is still being deleted on n1: it is not replaced before it is gone"
BEHIND = "created only after db-0 is ready"


def running(name: str, on: str, owner: str, *, ending: bool = False, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    found = pod(name, labels or {"app": "db"}, on=on, namespace="default", **spec)
    kind, _, of = owner.partition("/")
    found["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": kind, "name": of, "controller": True}]
    if ending:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


def ordered(**more: Any) -> PodSource:
    return pod_source("db", "StatefulSet", replicas=3, **more)


def db(number: int, *, ending: bool = False) -> Object:
    return running(f"db-{number}", f"n{number + 1}", "StatefulSet/db", ending=ending)


def plan(nodes: list[Object], pod_sources: list[PodSource], pods: list[Object], **asked: list[str]) -> Plan:
    return make_plan(inventory(nodes, pods=pods), pod_sources, asked=DisruptionRequest(**asked))


def places(made: Plan) -> list[tuple[str, str | None, str]]:
    return [tuple(replica) for replica in made.workloads[0].replicas]


def moves(loss: DisruptionEffect) -> list[str]:
    return [f"{move.pod}: {move.fate}{f' on {move.target}' if move.target else ''}" for move in loss.moves]


def test_a_pod_of_a_stateful_set_holds_its_name_until_it_is_gone() -> None:
    made = plan(SILENT, [ordered()], [db(0, ending=True), db(1), db(2)])
    assert places(made) == [("db-0", None, HELD), ("db-1", "n2", ""), ("db-2", "n3", "")]
    assert "1 pod of these workloads is being deleted and occupies resources until it is gone" in made.notes


def test_and_those_behind_it_are_not_made() -> None:
    made = plan(SILENT, [ordered()], [db(0, ending=True), db(1)])
    assert places(made) == [("db-0", None, HELD), ("db-1", "n2", ""), ("db-2", None, BEHIND)]


def test_unless_the_set_keeps_no_order() -> None:
    parallel = ordered(pod_replacement=PodReplacement("gone", ordinals=True))
    made = plan(SILENT, [parallel], [db(0, ending=True), db(1)])
    assert places(made)[0] == ("db-0", None, HELD)
    assert places(made)[2][1] in ("n2", "n3")


def test_a_number_beyond_the_replicas_that_are_asked_for_holds_nothing() -> None:
    made = plan(THREE, [pod_source("db", "StatefulSet", replicas=1)], [db(0), db(1, ending=True)])
    assert places(made) == [("db-0", "n1", "")]


def test_what_is_evicted_behind_a_stuck_pod_is_not_made_again() -> None:
    """The node of db-0 has failed, and db-2 is drained: StatefulSets wait for db-0 first."""
    pods = [db(0, ending=True), db(1), db(2)]
    (loss,) = plan(SILENT, [ordered()], pods, drain=["n3"]).losses
    assert (loss.result, moves(loss), loss.moves[0].why) == ("ends", ["db-2: waits"], BEHIND)
    assert loss.outcomes == {"StatefulSet default/db": "degraded"}
    (loss,) = plan(SILENT, [ordered(pod_replacement=PodReplacement("gone", ordinals=True))], pods, drain=["n3"]).losses
    assert moves(loss) == ["db-2: recreated on n2"]


def test_the_removal_of_its_node_lets_the_set_go_on() -> None:
    (loss,) = plan(SILENT, [ordered()], [db(0, ending=True), db(1)], remove=["n1"]).losses
    assert (moves(loss), loss.outcomes) == (["db-0: recreated on n3"], {"StatefulSet default/db": "survives"})


def test_a_drain_waits_until_what_is_being_deleted_is_gone() -> None:
    (loss,) = plan(THREE, [ordered()], [db(0, ending=True), db(1), db(2)], drain=["n1"]).losses
    assert loss.result == "ends"
    assert moves(loss)[0].startswith("db-0: recreated on n")
    # A node that does not answer ends no pod.
    (loss,) = plan(SILENT, [ordered()], [db(0, ending=True), db(1), db(2)], drain=["n1"]).losses
    assert moves(loss) == []


def test_a_machine_is_not_started_while_its_pod_is_there() -> None:
    ending = running("virt-launcher-db-x7k2p", "n1", "VirtualMachineInstance/db", ending=True)
    made = plan(THREE, [pod_source("db", "VirtualMachine")], [ending])
    why = "virt-launcher-db-x7k2p is still being deleted on n1: it is not replaced before it is gone"
    assert places(made) == [("virt-launcher-db", None, why)]
    # The source of a migration, which ends while the machine runs on.
    moved = running("virt-launcher-db-t9z4w", "n2", "VirtualMachineInstance/db")
    assert places(plan(THREE, [pod_source("db", "VirtualMachine")], [ending, moved])) == [("virt-launcher-db-t9z4w", "n2", "")]


def web(name: str, on: str, *, ending: bool = False, **spec: Any) -> Object:
    return running(name, on, "ReplicaSet/web-6d5f8b7c9", ending=ending, labels={"app": "web"}, **spec)


def test_an_ending_pod_of_a_replica_set_does_not_count_as_a_replica_and_still_separates_others() -> None:
    apart = pod_source("web", replicas=3, affinity=apart_by(HOST, "web"))
    made = plan(THREE, [apart], [web("a", "n1", ending=True), web("b", "n2")])
    assert [(pod, node) for pod, node, _ in places(made)] == [("b", "n2"), ("web-1", "n3"), ("web-2", None)]
    assert "1 is blocked by a pod that is being deleted" in places(made)[2][2]


def test_a_spread_does_not_count_what_is_being_deleted() -> None:
    from cluster_objects import spread

    spreading = pod_source("web", replicas=3, topologySpreadConstraints=[spread(HOST, {"matchLabels": {"app": "web"}})])
    made = plan(THREE, [spreading], [web("a", "n1", ending=True), web("b", "n2")])
    assert sorted(str(node) for _, node, _ in places(made)) == ["n1", "n2", "n3"]


def test_a_port_of_the_host_is_taken_until_its_pod_is_gone() -> None:
    ports = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    made = plan(THREE, [pod_source("web", replicas=3, **ports)], [web("a", "n1", ending=True, **ports)])
    assert sorted(str(node) for _, node, _ in places(made)) == ["None", "n2", "n3"]


def test_with_replan_all_running_pods_are_left_out() -> None:
    pods = [db(0, ending=True), db(1), db(2)]
    made = make_plan(inventory(THREE, pods=pods, replan=True), [ordered()])
    assert all(node for _, node, _ in places(made))


def test_a_drain_of_an_unavailable_node_never_completes() -> None:
    """The eviction is accepted, but no kubelet ends the pod, and its StatefulSet creates no other one before it is gone."""
    (loss,) = plan(SILENT, [ordered()], [db(0), db(1), db(2)], drain=["n1"]).losses
    assert (loss.result, moves(loss)) == ("blocked", ["db-0: held"])
    assert [(each.pod, each.why) for each in loss.blocked] == [
        ("db-0", "its node is unavailable, so its deletion does not end before the node recovers or is removed")
    ]


def test_but_deployments_create_their_pods_elsewhere() -> None:
    web = running("web-1", "n1", "ReplicaSet/web-1", labels={"app": "web"})
    (loss,) = plan(SILENT, [pod_source("web", replicas=1)], [web], drain=["n1"]).losses
    assert (loss.result, moves(loss)[0][:20]) == ("blocked", "web-1: recreated on ")
