"""What is asked to fail, and what the removal of nodes does: pods come up elsewhere, or do not. What else may happen: test_scenarios."""

import pytest

from afflint.controllers.pod_replacement import PodReplacement
from afflint.controllers.pod_source import PodSource
from afflint.placement.failures import UnknownLossError, failures
from afflint.placement.plan import DisruptionEffect
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.schedule_index import NOT_RECREATED
from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, app, node, pod, term, together, zoned
from workload_objects import apart_by, inventory, makers_in, pod_source, three_tiers, three_zones


def losses(nodes: list[Object], pod_sources: list[PodSource], *asked: str, pods: list[Object] | None = None) -> list[DisruptionEffect]:
    return list(make_plan(inventory(nodes, pods=pods or []), pod_sources, asked=DisruptionRequest(remove=asked)).losses)


def moves(loss: DisruptionEffect) -> list[tuple[str, str, str | None]]:
    return [(move.workload.rpartition("/")[2], move.source, move.target) for move in loss.moves]


def outcomes(loss: DisruptionEffect) -> dict[str, str]:
    return {key.rpartition("/")[2]: outcome for key, outcome in loss.outcomes.items()}


# --- the scenario ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "target"), [("worker-1", "worker-2"), ("worker-3", "worker-4"), ("worker-5", "worker-6")])
def test_losing_a_normal_node_moves_cache_and_appliance_to_the_fast_node_of_the_zone(lost: str, target: str) -> None:
    (loss,) = losses(three_zones(), three_tiers(), lost)
    assert loss.what == f"node {lost}"
    assert moves(loss) == [("proxy", lost, target), ("appliance", lost, target)]
    assert outcomes(loss) == {"proxy": "survives", "appliance": "survives"}


@pytest.mark.parametrize("lost", ["worker-2", "worker-4", "worker-6"])
def test_losing_a_fast_node_leaves_one_database_without_a_place(lost: str) -> None:
    (loss,) = losses(three_zones(), three_tiers(), lost)
    assert moves(loss) == [("ledger", lost, None)]
    assert outcomes(loss) == {"ledger": "degraded"}
    assert loss.moves[0].why == (
        "3 nodes lack performance=high, 2 share their zone with a replica of ledger, "
        "1 has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
    )


def test_losing_a_zone_leaves_each_tier_with_two_of_three() -> None:
    (loss,) = losses(three_zones(), three_tiers(), "zone=b")
    assert loss.nodes == ("worker-3", "worker-4")
    assert outcomes(loss) == {"ledger": "degraded", "proxy": "degraded", "appliance": "degraded"}


# --- what is asked -----------------------------------------------------------------------------------------------------


def test_how_failures_are_named() -> None:
    cluster = Cluster(three_zones())
    assert [failure.what for failure in failures(cluster, "each:node")][:2] == ["node control-plane", "node worker-1"]
    assert [failure.what for failure in failures(cluster, "each:zone")] == ["zone=a", "zone=b", "zone=c"]
    assert failures(cluster, f"{ZONE}=a")[0].nodes == failures(cluster, "zone=a")[0].nodes == ("worker-1", "worker-2")
    assert failures(cluster, "each:performance")[0].nodes == ("worker-2", "worker-4", "worker-6")


def test_a_label_of_the_very_name_comes_before_the_well_known_key() -> None:
    cluster = Cluster([node("n1", {"zone": "east", ZONE: "a"})])
    assert [failure.what for failure in failures(cluster, "each:zone")] == ["zone=east"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("worker-9", "no node is named 'worker-9'; did you mean 'worker-6'?"),
        ("zone=z", "no node has zone=z; the values of zone are a, b, c"),
        ("rack=r", "no node has the label rack"),
        ("each:rack", "no node has the label rack"),
    ],
)
def test_what_is_not_there_cannot_be_lost(asked: str, message: str) -> None:
    with pytest.raises(UnknownLossError) as raised:
        failures(Cluster(three_zones()), asked)
    assert str(raised.value) == message


# --- who comes back ----------------------------------------------------------------------------------------------------


def test_pods_of_a_daemon_set_vanish_with_their_node() -> None:
    (loss,) = losses(zoned(n1="", n2=""), [pod_source("agent", "DaemonSet")], "n1")
    assert (loss.moves, loss.outcomes) == ((), {})


@pytest.mark.parametrize(("action", "expected"), [("lose", "dead"), ("remove", "dead"), ("drain", None)])
def test_a_daemon_set_is_dead_when_its_last_node_is(action: str, expected: str | None) -> None:
    nodes = [node("n1", {"pool": "gpu"}), node("n2")]
    sources = [pod_source("agent", "DaemonSet", nodeSelector={"pool": "gpu"})]
    (loss,) = make_plan(inventory(nodes), sources, asked=DisruptionRequest(**{action: ["n1"]})).losses
    removed = loss.removed or loss
    assert [outcomes(each).get("agent") for each in (loss, removed)] == [expected] * 2
    assert (removed is not loss) == (action == "lose")
    ended = [[(each.pod, each.source, each.target, each.fate) for each in effect.moves] for effect in (loss, removed)]
    fates = {"lose": ["stays", "gone"], "remove": ["gone", "gone"], "drain": []}[action]
    assert ended == ([[("agent-n1", "n1", None, fate)] for fate in fates] or [[], []])


@pytest.mark.parametrize("action", ["lose", "remove"])
def test_a_failure_has_no_order(action: str) -> None:
    """The same pods are recreated on the same nodes, whatever the order in which the failed nodes are listed."""
    nodes, sources = zoned(n1="", n2="", n3="", n4=""), [pod_source("web", replicas=8), pod_source("api", replicas=4)]
    asked = ["n1,n2,n3", "n3,n2,n1", "n2,n1,n3"]
    found = make_plan(inventory(nodes), sources, asked=DisruptionRequest(**{action: asked})).losses
    first = found[0]
    assert len(first.moves) == 9
    for each in found[1:]:
        assert (each.moves, each.outcomes, each.events) == (first.moves, first.outcomes, first.events)
        assert (each.removed and each.removed.moves) == (first.removed and first.removed.moves)


def test_failures_that_happen_together_are_one_failure() -> None:
    """With one node as with two; the effects of the removal of the nodes are those of the list of these nodes, too."""
    nodes, sources = zoned(n1="", n2="", n3=""), [pod_source("web", replicas=6)]
    for alone, several in ((["n1"], ["n1"]), (["n1,n2"], ["n1", "n2"]), (["n1,n2"], ["n2", "n1"])):
        (one,) = make_plan(inventory(nodes), sources, asked=DisruptionRequest(alone)).losses
        (other,) = make_plan(inventory(nodes), sources, asked=DisruptionRequest(several, together=True)).losses
        assert one.moves
        assert (one.moves, one.outcomes, one.events) == (other.moves, other.outcomes, other.events)
        assert one.removed is not None
        assert other.removed is not None
        assert one.removed.moves == other.removed.moves


def test_a_pod_without_a_controller_is_not_recreated() -> None:
    (loss,) = losses(zoned(n1="", n2=""), [pod_source("solo", "Pod")], "n1")
    assert (moves(loss), loss.moves[0].why, outcomes(loss)) == ([("solo", "n1", None)], NOT_RECREATED, {"solo": "dead"})


def test_replicas_that_name_their_node_die_with_it() -> None:
    (loss,) = losses(zoned(n1="", n2=""), [pod_source("pinned", replicas=2, nodeName="n1")], "n1")
    assert [move.why for move in loss.moves] == ["its spec.nodeName is n1"] * 2
    assert outcomes(loss) == {"pinned": "dead"}


def test_a_replica_that_was_pending_may_take_the_place_that_becomes_free() -> None:
    # Three replicas for two zones. When zone a goes, the lost replica cannot be scheduled: b is taken, and no pod moves.
    web = pod_source("web", replicas=3, affinity=apart_by(ZONE, "web"))
    (loss,) = losses(zoned(a1="a", b1="b"), [web], "zone=a")
    assert moves(loss) == [("web", "a1", None)]
    assert outcomes(loss) == {"web": "degraded"}


def test_running_pods_of_others_come_up_again_too_and_take_room() -> None:
    # The guard lets no pod of web share its node. Both lose theirs, and the guard, which ran first, takes the only one left.
    guard = pod("guard", {"app": "guard"}, on="a1", affinity=apart_by(HOST, "web"))
    guard["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "guard-1", "controller": True}]
    nodes = zoned(a1="a", a2="a", b1="b")
    (loss,) = losses(nodes, [pod_source("web", nodeSelector={})], "zone=a", pods=[guard])
    assert moves(loss) == [("web", "a2", None)]
    assert loss.moves[0].why == "1 node already has pod guard, whose anti-affinity excludes it"
    del guard["metadata"]["ownerReferences"]
    (loss,) = losses(nodes, [pod_source("web")], "zone=a", pods=[guard])
    assert moves(loss) == [("web", "a2", "b1")]


@pytest.mark.parametrize(
    ("owner", "target"), [("ReplicaSet", "b2"), ("StatefulSet", "b2"), ("DaemonSet", "b1"), ("Node", "b1"), (None, "b1")]
)
def test_daemons_static_pods_and_pods_without_a_controller_go_with_their_node(owner: str | None, target: str) -> None:
    """The guard shares no node with web. Where it comes up again it is the first to choose, and takes b1; what goes leaves b1 free."""
    guard = pod("guard", {"app": "guard"}, on="a1", affinity=apart_by(HOST, "web"))
    guard["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": owner, "name": "guard-1", "controller": True}] if owner else []
    nodes = [*zoned(a1="a", a2="a", b1="b"), node("b2", {HOST: "b2", ZONE: "b"}, taints=["spare:PreferNoSchedule"])]
    (loss,) = losses(nodes, [pod_source("web")], "zone=a", pods=[guard])
    assert moves(loss) == [("web", "a2", target)]


def test_nodes_without_pods_are_not_a_loss() -> None:
    (loss,) = losses([*zoned(n1="a"), node("n2", cordoned=True)], [pod_source("web")], "n2")
    assert (loss.moves, loss.outcomes, [each.what for each in loss.events]) == ((), {}, ["removed"])


# --- node after node ---------------------------------------------------------------------------------------------------


def hard_zones(name: str) -> Object:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": name}}}
    return {"topologySpreadConstraints": [constraint]}


def lost(nodes: list[Object], source: PodSource, *asked: str) -> DisruptionEffect:
    (loss,) = make_plan(inventory(nodes), [source], asked=DisruptionRequest(lose=asked)).losses
    return loss


def test_the_nodes_of_a_failed_zone_are_evicted_one_after_the_other() -> None:
    """While the second pod of the zone still counts, the first may be replaced elsewhere."""
    web = pod_source("web", replicas=3, **hard_zones("web"))
    loss = lost(zoned(a1="a", a2="a", b1="b"), web, "zone=a")
    assert [(move.source, move.target) for move in loss.moves] == [("a1", "b1"), ("a2", None)]
    assert loss.left == {"Deployment default/web": 2}


def test_where_evictions_are_suspended_the_first_node_may_be_an_exception() -> None:
    nodes = zoned(a1="a", a2="a", a3="a", a4="a", a5="a", b1="b")
    for each in nodes[:3]:
        each["metadata"]["labels"]["rack"] = "r1"
    partial = lost(nodes, pod_source("web", replicas=6), "rack=r1")
    assert partial.notes == ("the pods of the first node that fails may still be evicted: evictions are suspended when the others fail",)
    assert lost(nodes, pod_source("web", replicas=6), "zone=a").notes == ()


def test_a_job_without_retries_fails() -> None:
    never = pod_source("once", "Job", pod_replacement=PodReplacement("never", after_shutdown=False, scaled=False))
    (move,) = lost(zoned(a1="a", b1="b"), never, "a1").moves
    assert (move.target, move.fate, move.why) == (None, "gone", "the Job fails: its backoffLimit is 0")


def test_pods_with_affinity_to_themselves_wait_for_a_retry_of_the_scheduler_if_all_are_drained() -> None:
    """Evicted pods still count while they terminate, so that no new one is the first."""
    web = pod_source("web", replicas=2, affinity=together(term(ZONE, app("web"))))
    (loss,) = make_plan(inventory(zoned(a1="a", b1="b")), [web], asked=DisruptionRequest(drain=("a1",))).losses
    assert [(move.source, move.target, move.after) for move in loss.moves] == [("a1", "b1", 300)] * 2
    assert outcomes(loss) == {"web": "interrupted"}
    (loss,) = make_plan(inventory(zoned(a1="a", a2="a")), [web], asked=DisruptionRequest(drain=("a1",))).losses
    assert [move.after for move in loss.moves] == [0]


@pytest.mark.parametrize(
    ("fields", "replaced"),
    [
        ("backoffLimit: 0", "never"),
        ("backoffLimit: 6", "deleted"),
        ("parallelism: 1", "deleted"),
        ("podReplacementPolicy: Failed", "gone"),
        ("backoffLimit: 0, podFailurePolicy: {rules: []}", "gone"),
    ],
)
def test_whether_a_job_replaces_a_deleted_pod(fields: str, replaced: str) -> None:
    template = "{spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}"
    (job,) = makers_in(f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: once}}\nspec: {{{fields}, template: {template}}}\n")
    assert job.pod_replacement.replaced == replaced
