"""Running pods without manifests: the workload of each, how its controller replaces it, and what a disruption does to it."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from afflint.controllers import replicas
from afflint.controllers.observed_workloads import observed_workloads, owner_of
from afflint.controllers.pod_replacement import AT_ONCE, BY_NODE, GUARD, NEVER, PodReplacement
from afflint.controllers.pod_source import PodSource
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.schedule import build_schedule
from cluster_objects import HOST, ZONE, Object, zoned
from workload_objects import apart_by, inventory, pod_source

NODES = ("w1", "w2", "w3")


def pod(name: str, owner: str = "", *, node: str = "w1", phase: str = "Running", **metadata: Any) -> Object:
    """A pod as a cluster stores it. ``owner`` is ``KIND/NAME`` of its controller, ``GROUP/VERSION/KIND/NAME`` outside apps/v1."""
    found: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": "0", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata},
        "spec": {"containers": [], **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }
    if owner:
        version, _, (kind, of) = "apps/v1", "", owner.rsplit("/", 2)[-2:]
        version = owner[: -len(f"/{kind}/{of}")] or version
        found["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": of, "controller": True}]
    return found


def observed(*pods: Object, known: Sequence[PodSource] = ()) -> dict[str, PodSource]:
    return {each.key: each for each in observed_workloads(known, pods, NODES)}


HASH = {"app": "web", "pod-template-hash": "5d8f7"}


def test_pods_of_a_deployment_are_its_replicas_whatever_their_revision() -> None:
    pods = [
        pod("web-5d8f7-aaaaa", "ReplicaSet/web-5d8f7", labels=HASH),
        pod("web-77777-bbbbb", "ReplicaSet/web-77777", labels={**HASH, "pod-template-hash": "77777"}, node="w2"),
        pod("web-5d8f7-ccccc", "ReplicaSet/web-5d8f7", labels=HASH, node="", phase="Pending"),
    ]
    [web] = observed(*pods).values()
    assert (web.key, web.replicas, web.observed, web.pod_replacement) == ("Deployment shop/web", 3, (0, 1, 2), AT_ONCE)


@pytest.mark.parametrize(
    ("owner", "key", "replacement"),
    [
        ("", "Pod shop/x-0", NEVER),
        ("ReplicaSet/x", "ReplicaSet shop/x", AT_ONCE),
        ("StatefulSet/x", "StatefulSet shop/x", PodReplacement("gone", ordered=True, ordinals=True)),
        ("DaemonSet/x", "DaemonSet shop/x", BY_NODE),
        ("batch/v1/Job/x", "Job shop/x", PodReplacement(scaled=False)),
        ("v1/ReplicationController/x", "ReplicationController shop/x", AT_ONCE),
        ("core.strimzi.io/v1beta2/StrimziPodSet/x", "StrimziPodSet shop/x", PodReplacement("gone", ordinals=True)),
    ],
    ids=["no controller", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "a custom controller"],
)
def test_each_is_replaced_as_its_controller_does(owner: str, key: str, replacement: PodReplacement) -> None:
    [found] = observed(pod("x-0", owner)).values()
    assert (found.key, found.pod_replacement) == (key, replacement)
    assert bool(found.notes) == (found.kind == "StrimziPodSet")


def test_what_is_assumed_of_a_custom_controller_is_reported() -> None:
    [stable] = observed(pod("kafka-0", "core.strimzi.io/v1beta2/StrimziPodSet/kafka")).values()
    [note] = stable.notes
    assert note == (
        "afflint does not know how a StrimziPodSet replaces its pods; the simulation assumes that it creates a new pod with the same name, "
        "once the old one is gone"
    )
    [random] = observed(pod("job-x7k2p", "example.com/v1/Runner/job")).values()
    assert random.notes[0].endswith("assumes that it creates a new pod as a ReplicaSet does")


@pytest.mark.parametrize(
    "other",
    [
        pod("etcd-w1", "v1/Node/w1"),
        pod("virt-launcher-db-x", "kubevirt.io/v1/VirtualMachineInstance/db"),
        pod("done-x", "batch/v1/Job/done", phase="Succeeded"),
        pod("far-0", "StatefulSet/far", node="elsewhere"),
        pod("web-x", "ReplicaSet/web", deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=["a static pod", "a machine without its VirtualMachineInstance", "finished", "on an unknown node", "replaced already"],
)
def test_other_pods_do_not_count_as_replicas(other: Object) -> None:
    assert observed(other) == {}


def test_a_pod_of_a_manifest_is_not_observed() -> None:
    assert observed(pod("db-0", "StatefulSet/db"), known=[pod_source("db", "StatefulSet", namespace="shop")]) == {}


def test_the_node_that_the_scheduler_chose_is_not_a_constraint() -> None:
    [web] = observed(pod("web", node="w2")).values()
    assert (web.node_name, web.pod) == ("", {})
    assert pod("web", node="w2")["spec"]["nodeName"] == "w2"


def test_a_pod_of_a_set_in_deletion_holds_its_ordinal() -> None:
    pods = [pod("db-0", "StatefulSet/db", deletionTimestamp="2026-01-01T00:00:00Z"), pod("db-1", "StatefulSet/db", node="w2")]
    made = make_plan(inventory(zoned(w1="a", w2="b", w3="b"), pods=pods), observed_workloads([], pods, NODES))
    [db] = made.workloads
    assert [(replica.pod, replica.node) for replica in db.replicas] == [("db-0", None), ("db-1", "w2")]
    assert db.replicas[0].why == "db-0 is still being deleted on w1: it is not replaced before it is gone"


def test_the_revision_of_a_rollout_is_that_of_argo() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc", "controller": True}
    assert owner_of({"labels": {"rollouts-pod-template-hash": "abc"}, "ownerReferences": [owner]}) == ("Rollout", "argoproj.io", "web")


def test_a_controller_without_a_name_spreads_nothing() -> None:
    odd = pod("web-1", "ReplicaSet/", labels={"app": "web"})
    assert [each.replicas for each in make_plan(inventory(zoned(w1="a"), pods=[odd]), observed_workloads([], [odd], NODES)).workloads] == [
        (("web-1", "w1", ""),)
    ]


def test_a_pod_on_a_node_that_the_dump_lacks_is_left_out_and_counted() -> None:
    nodes, pods = zoned(w1="a", w2="b", w3="b"), [pod("web-1", "ReplicaSet/web"), pod("web-2", "ReplicaSet/web", node="elsewhere")]
    found = observed_workloads([], pods, NODES)
    made = make_plan(inventory(nodes, pods=pods), found)
    assert [[replica.pod for replica in each.replicas] for each in made.workloads] == [["web-1"]]
    assert "1 running pod is left out: the node is not among the nodes of this run" in made.notes
    assert not [note for note in make_plan(inventory(nodes, pods=pods[:1]), found).notes if "left out:" in note]


# The same answers as with manifests.

CONSTRAINTS: tuple[dict[str, Any], ...] = (
    {},
    {"affinity": apart_by(HOST, "NAME")},
    {"affinity": apart_by(ZONE, "NAME")},
    {"nodeSelector": {ZONE: "a"}},
    {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "NAME"}}}
        ]
    },
)


def named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [named(each, name) for each in value]
    return name if value == "NAME" else value


def cluster(random: Random) -> tuple[list[Object], list[PodSource], list[Object]]:
    """Random nodes and workloads, and the pods of the workloads as the scheduler places them."""
    nodes = zoned(**{f"n{number}": random.choice("abc") for number in range(random.randint(3, 7))})
    kinds = ("Deployment", "StatefulSet", "ReplicaSet", "Job", "Pod")
    sources = []
    for number in range(random.randint(1, 5)):
        name, kind = f"app{number}", random.choice(kinds)
        count = 1 if kind == "Pod" else random.randint(1, 4)
        sources.append(pod_source(name, kind, count, **named(random.choice(CONSTRAINTS), name)))
    schedule = build_schedule(inventory(nodes), sources)
    pods = []
    for placed in schedule.workloads:
        for index, each in enumerate(placed.pods):
            made = replicas.template_pod(placed.pod_source, schedule.before, each.name, index=index)
            node = placed.nodes.get(each.key)
            pods.append({**made, "spec": {**made["spec"], **({"nodeName": node} if node else {})}, "status": {}})
    return nodes, sources, pods


def effects(plan: Plan) -> list[object]:
    return [
        (loss.what, loss.action, loss.moves, loss.outcomes, [each._replace(why="") for each in loss.blocked], loss.unevaluated)
        for loss in (*plan.losses, *(loss.removed for loss in plan.losses if loss.removed))
    ]


@pytest.mark.parametrize("seed", range(60))
def test_a_dump_alone_has_the_same_moves_and_outcomes_as_with_manifests(seed: int) -> None:
    nodes, sources, pods = cluster(Random(seed))
    asked = DisruptionRequest(*[["each:node", "each:zone"]] * 3)
    found = observed_workloads([], pods, [node["metadata"]["name"] for node in nodes])
    assert [each.key for each in found] == [each.key for each in sources]
    with_manifests = make_plan(inventory(nodes, pods=pods), sources, asked=asked)
    alone = make_plan(inventory(nodes, pods=pods), found, asked=asked)
    assert [each.replicas for each in alone.workloads] == [each.replicas for each in with_manifests.workloads]
    assert effects(alone) == effects(with_manifests)
    replanned = make_plan(inventory(nodes, pods=pods)._replace(replan=True), [replace(each) for each in found])
    assert [len(each.replicas) for each in replanned.workloads] == [len(each.replicas) for each in with_manifests.workloads]


def guard(node: str, **metadata: Any) -> Object:
    """A guard pod of etcd, as the operator of OpenShift creates it: without an owner, with the name of its node."""
    named = {"namespace": "openshift-etcd", "labels": {"app": "guard"}, **metadata}
    return pod(f"etcd-guard-{node}", node=node, **named)


class TestGuardPods:
    def test_those_of_one_operator_are_one_workload(self) -> None:
        [guards] = observed(guard("w1"), guard("w2")).values()
        assert (guards.key, guards.replicas, guards.pod_replacement, guards.bare) == ("Pod openshift-etcd/etcd-guard", 2, GUARD, False)

    @pytest.mark.parametrize("other", [{"namespace": "shop"}, {"labels": {"app": "guards"}}])
    def test_others_are_bare_pods(self, other: Object) -> None:
        [bare] = observed(guard("w1", **other)).values()
        assert bare.bare
        assert bare.pod_replacement == NEVER
