"""What is proved to be impossible is so in every order; where a proof claims to be exact, what is not proved can be done."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import compile_pods
from afflint.kube.constraints import REQUIRED
from afflint.placement import proofs
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.failures import failures
from afflint.placement.order_search import contending_workloads, coupled, decide
from afflint.placement.schedule import Schedule, build_schedule
from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, apart, app, node, node_terms, pod, rather, spread, term, together, zoned
from workload_objects import apart_by, inventory, pod_source, three_tiers, three_zones

SOFT = "ScheduleAnyway"


def survey_of(nodes: list[Object], *pod_sources: PodSource, pods: list[Object] | None = None) -> tuple[ScheduleBounds, Schedule]:
    schedule = build_schedule(inventory(nodes, pods=pods or []), pod_sources)
    return ScheduleBounds(schedule.before, pod_sources), schedule


# --- unschedulable -----------------------------------------------------------------------------------------------------


def test_a_replica_that_no_node_takes_says_how_many_nodes_each_constraint_excludes() -> None:
    nodes = [
        node("a1", {"disk": "hdd"}),
        node("a2", {"disk": "hdd"}),
        node("b1", {"disk": "ssd"}, taints=["dedicated=db:NoSchedule"]),
        node("b2", {"disk": "ssd"}, cordoned=True),
    ]
    survey, _ = survey_of(nodes, pod_source("web", replicas=3, nodeSelector={"disk": "ssd"}))
    (found,) = proofs.unschedulable(survey)
    assert found.excluded == "2 nodes lack disk=ssd, 1 has the untolerated taint dedicated=db:NoSchedule, 1 is cordoned"
    assert found.nodes == 4
    assert found.path == ("spec", "template", "spec", "nodeSelector")
    assert not found.assumes_complete


def test_affinity_over_a_key_that_no_node_has_never_schedules() -> None:
    survey, _ = survey_of(three_zones(), *three_tiers("topology.kubernetes.io/hostname"))
    (found,) = proofs.unschedulable(survey)
    assert found.pod_source.name == "appliance"
    assert "6 nodes lack the topology key topology.kubernetes.io/hostname" in found.excluded
    assert found.path[3:5] == ("affinity", "podAffinity")
    assert not found.assumes_complete


def test_affinity_to_pods_that_no_workload_creates_is_impossible_as_far_as_the_manifests_go() -> None:
    survey, _ = survey_of(zoned(n1="a"), pod_source("web", affinity=together(term(ZONE, app("cache")))))
    (found,) = proofs.unschedulable(survey)
    assert found.assumes_complete
    assert found.excluded == "1 node has no pod with app=cache in its zone"


def test_affinity_to_pods_that_can_only_be_elsewhere_is_impossible() -> None:
    nodes = [node("n1", {ZONE: "a", "pool": "web"}), node("n2", {ZONE: "b", "pool": "cache"})]
    cache = pod_source("cache", nodeSelector={"pool": "cache"})
    web = pod_source("web", nodeSelector={"pool": "web"}, affinity=together(term(ZONE, app("cache"))))
    survey, _ = survey_of(nodes, cache, web)
    assert [found.pod_source.name for found in proofs.unschedulable(survey)] == ["web"]
    survey, _ = survey_of([nodes[0], node("n2", {ZONE: "a", "pool": "cache"})], web, cache)
    assert list(proofs.unschedulable(survey)) == []


def test_two_workloads_that_wait_for_each_other_are_both_impossible_but_one_that_means_itself_is_not() -> None:
    hen = pod_source("hen", affinity=together(term(ZONE, app("egg"))))
    egg = pod_source("egg", affinity=together(term(ZONE, app("hen"))))
    herd = pod_source("herd", affinity=together(term(ZONE, app("herd"))))
    survey, _ = survey_of(zoned(n1="a"), hen, egg, herd)
    assert [found.pod_source.name for found in proofs.unschedulable(survey)] == ["hen", "egg"]


# --- too few domains ---------------------------------------------------------------------------------------------------


def test_more_replicas_than_zones_under_anti_affinity() -> None:
    nodes = [
        *zoned(a1="a", b1="b"),
        node("c1", {HOST: "c1", ZONE: "c", "gpu": ""}, cordoned=True),
    ]
    survey, _ = survey_of(nodes, pod_source("web", replicas=3, affinity=apart_by(ZONE, "web")))
    (found,) = proofs.too_few_domains(survey)
    assert (found.replicas, found.most, found.keys, found.domains) == (3, 2, (ZONE,), ("a", "b"))
    assert proofs.domain_count(found) == "3 replicas, 2 zones: 1 node is cordoned"
    assert found.path[-3:] == ("podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (ZONE, "2 replicas, 1 zone"),
        ("node.cluster.x-k8s.io/esxi-host", "2 replicas, 1 physical host"),
        ("rack", "2 replicas, 1 rack"),
        ("example.com/rack", "2 replicas, 1 value of example.com/rack"),
    ],
)
def test_domains_are_counted_in_words(key: str, message: str) -> None:
    survey, _ = survey_of([node("n1", {key: "r1"}), node("n2", {key: "r1"})], pod_source("web", replicas=2, affinity=apart_by(key, "web")))
    assert [proofs.domain_count(found) for found in proofs.too_few_domains(survey)] == [message]


def test_the_term_is_named_by_which_the_replicas_keep_apart_from_each_other() -> None:
    web = pod_source("web", replicas=3, affinity=apart(term(ZONE, app("db")), term(ZONE, app("web"))))
    survey, _ = survey_of(zoned(a1="a", b1="b"), web)
    (found,) = proofs.too_few_domains(survey)
    assert found.path[-3:] == ("podAntiAffinity", REQUIRED, 1)


def test_a_hard_spread_constraint_is_named_by_its_place_among_all_of_them() -> None:
    soft = spread(HOST, app("web"), when=SOFT)
    survey, _ = survey_of(
        zoned(a1="a", b1="b"), pod_source("web", topologySpreadConstraints=[soft, spread(ZONE, app("web"), minDomains=3)])
    )
    (found,) = proofs.min_domains_unreachable(survey)
    assert found.path[-2:] == ("topologySpreadConstraints", 1)


def test_the_port_that_is_named_is_the_one_that_is_pointed_at() -> None:
    sidecar = {"name": "log", "restartPolicy": "Always", "ports": [{"hostPort": 24224}]}
    starter = {"name": "init", "ports": [{"hostPort": 9}]}
    web = pod_source("web", replicas=3, initContainers=[starter, sidecar], containers=[{"name": "c", "ports": [{"hostPort": 80}]}])
    survey, _ = survey_of(zoned(a1="a", b1="b"), web)
    (found,) = proofs.too_few_domains(survey)
    assert found.port == ("0.0.0.0", "TCP", 24224)
    assert found.path[-5:] == ("initContainers", 1, "ports", 0, "hostPort")


def test_preferred_affinity_is_not_blamed_beside_required_anti_affinity() -> None:
    affinity = {**rather("podAffinity", (1, term(ZONE, app("cache")))), **apart(term(ZONE, app("db")))}
    web = pod_source("web", affinity=affinity)
    survey, _ = survey_of(zoned(a1="a"), web, pods=[pod("db", {"app": "db"}, on="a1")])
    (found,) = proofs.unschedulable(survey)
    assert found.path[-3:] == ("affinity", "podAntiAffinity", REQUIRED)


def test_nodes_without_the_key_take_any_number() -> None:
    survey, _ = survey_of(zoned(a1="a", b1=""), pod_source("web", replicas=5, affinity=apart_by(ZONE, "web")))
    assert list(proofs.too_few_domains(survey)) == []


def test_two_keys_are_matched_with_each_other() -> None:
    # Three racks and three zones, yet racks 1 and 2 are in zone a only: one of them stays empty.
    places = {"n1": ("1", "a"), "n2": ("2", "a"), "n3": ("3", "b"), "n4": ("3", "c")}
    nodes = [node(name, {"rack": rack, ZONE: zone}) for name, (rack, zone) in places.items()]
    both = apart(term("rack", app("web")), term(ZONE, app("web")))
    survey, _ = survey_of(nodes, pod_source("web", replicas=3, affinity=both))
    (found,) = proofs.too_few_domains(survey)
    assert found.most == 2


def test_a_small_zone_holds_the_others_down_under_a_hard_spread() -> None:
    # Zone a has one node and replicas keep apart by host: with maxSkew 1 the other zones take two each at most.
    nodes = zoned(a1="a", b1="b", b2="b", b3="b", c1="c", c2="c", c3="c")
    web = pod_source("web", replicas=6, affinity=apart_by(HOST, "web"), topologySpreadConstraints=[spread(ZONE, app("web"))])
    survey, _ = survey_of(nodes, web)
    (found,) = proofs.too_few_domains(survey)
    assert (found.most, found.keys) == (5, (ZONE,))
    assert found.path == ("spec", "template", "spec", "topologySpreadConstraints", 0)
    assert list(proofs.too_few_domains(survey_of(nodes, replace(web, replicas=5))[0])) == []


def test_one_pod_per_physical_host() -> None:
    host = "node.cluster.x-k8s.io/esxi-host"
    nodes = [node(f"vm-{number}", {HOST: f"vm-{number}", host: f"esxi-{number % 2}"}) for number in range(4)]
    web = pod_source("web", replicas=2, topologySpreadConstraints=[spread(host, app("web"))])
    _, schedule = survey_of(nodes, web)
    labels = Cluster(nodes).label(host)
    assert sorted(labels[where] for where in schedule.workloads[0].nodes.values()) == ["esxi-0", "esxi-1"]


def test_a_dump_of_running_pods_takes_its_places() -> None:
    running = pod("old", {"app": "web"}, on="a1")
    survey, _ = survey_of(zoned(a1="a", b1="b"), pod_source("web", replicas=2, affinity=apart_by(ZONE, "web")), pods=[running])
    (found,) = proofs.too_few_domains(survey)
    assert (found.most, found.domains) == (1, ("b",))
    leaving = {**running, "metadata": {**running["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}}
    survey, _ = survey_of(zoned(a1="a", b1="b"), pod_source("web", replicas=2, affinity=apart_by(ZONE, "web")), pods=[leaving])
    assert list(proofs.too_few_domains(survey)) == []


def test_pods_of_another_workload_may_fill_the_domain_that_holds_the_others_down() -> None:
    # The constraint counts both workloads. Only the tolerant one enters zone b; once it is there, zone a may take two.
    nodes = [*zoned(a1="a"), node("b1", {HOST: "b1", ZONE: "b"}, taints=["gpu:NoSchedule"])]
    labels = {"tier": "web"}
    shared = [spread(ZONE, {"matchLabels": labels})]
    plain = pod_source("plain", replicas=2, labels=labels, topologySpreadConstraints=shared)
    tolerant = pod_source("tolerant", labels=labels, nodeSelector={ZONE: "b"}, tolerations=[{"operator": "Exists"}])
    survey, schedule = survey_of(nodes, tolerant, plain)
    assert list(proofs.too_few_domains(survey)) == []
    assert list(schedule.workloads[1].nodes.values()) == ["a1", "a1"]
    (found,) = proofs.too_few_domains(survey_of(nodes, plain)[0])
    assert found.most == 1


# --- failures ----------------------------------------------------------------------------------------------------------


def test_losing_a_fast_node_leaves_a_database_without_a_place_whatever_the_placement() -> None:
    survey, schedule = survey_of(three_zones(), *three_tiers())
    found, *others = proofs.not_failure_tolerant(survey, schedule, failures(schedule.before, "each:node"))
    assert found.pod_source.name == "ledger"
    assert all(failed.passing for each in others for failed in each.failures), "the others wait for a pod that is being deleted"
    assert [each[:3] for each in found.failures] == [(f"node worker-{number}", 2, 2) for number in (2, 4, 6)]


RACKS = [
    node("n0", {ZONE: "b", "rack": "s"}),
    node("n1", {ZONE: "b"}),
    node("n2", {ZONE: "c", "rack": "s"}),
    node("n3", {ZONE: "a", "rack": "r"}),
]
BY_RACK_AND_ZONE = apart(term("rack", app("web")), term(ZONE, app("web")))


def test_another_placement_may_run_more_replicas_after_a_failure_than_this_one() -> None:
    # The first replica on n0 excludes n1 (its zone) and n2 (its rack); without it, both run one.
    survey, schedule = survey_of(RACKS, pod_source("web", replicas=4, affinity=BY_RACK_AND_ZONE))
    assert sorted(schedule.workloads[0].nodes.values()) == ["n0", "n3"]
    (found,) = proofs.not_failure_tolerant(survey, schedule, [failures(schedule.before, "each:node")[3]])
    assert [each[:3] for each in found.failures] == [("node n3", 1, 2)]


# --- rolling updates ---------------------------------------------------------------------------------------------------


def test_a_surge_pod_finds_no_zone_when_every_zone_has_a_replica() -> None:
    web = pod_source("web", replicas=3, affinity=apart_by(ZONE, "web"))
    nodes = zoned(a1="a", b1="b", c1="c")
    (found,) = proofs.rollout_deadlock(*survey_of(nodes, web))
    assert (found.max_surge, found.max_unavailable, found.proved) == (1, 0, True)
    assert found.excluded == "3 nodes share their zone with a replica of web"
    assert list(proofs.rollout_deadlock(*survey_of([*nodes, *zoned(d1="d")], web))) == []
    removing = replace(web, strategy={"rollingUpdate": {"maxUnavailable": 1}})
    assert list(proofs.rollout_deadlock(*survey_of(nodes, removing))) == []
    assert list(proofs.rollout_deadlock(*survey_of(nodes, replace(web, strategy={"type": "Recreate"})))) == []
    assert list(proofs.rollout_deadlock(*survey_of(nodes, replace(web, kind="StatefulSet")))) == []


def test_pods_of_another_revision_do_not_matter_when_the_hash_is_a_match_label_key() -> None:
    per_revision = apart(term(ZONE, app("web"), matchLabelKeys=["pod-template-hash"]))
    assert list(proofs.rollout_deadlock(*survey_of(zoned(a1="a", b1="b"), pod_source("web", replicas=2, affinity=per_revision)))) == []


# --- migration ---------------------------------------------------------------------------------------------------------


def test_a_vm_pinned_to_one_host_cannot_migrate() -> None:
    pinned = pod_source("vm", "VirtualMachine", nodeSelector={HOST: "n1"}, evictionStrategy="LiveMigrate")
    (found,) = proofs.migration_blocked(*survey_of(zoned(n1="a", n2="a"), pinned))
    assert (found.placed, found.blocked, found.proved, found.pod_source.eviction_strategy) == (1, 1, True, "LiveMigrate")
    assert found.excluded == "1 node already has a replica of vm, 1 lacks kubernetes.io/hostname=n1"


def test_as_many_vms_as_hosts_that_keep_apart_cannot_migrate_one_fewer_can() -> None:
    vms = pod_source("vm", "VirtualMachineInstanceReplicaSet", 2, affinity=apart_by(HOST, "vm"))
    (found,) = proofs.migration_blocked(*survey_of(zoned(n1="a", n2="a"), vms))
    assert (found.blocked, found.proved) == (2, True)
    assert list(proofs.migration_blocked(*survey_of(zoned(n1="a", n2="a", n3="a"), vms))) == []


def test_a_vm_that_its_own_zone_keeps_from_migrating_is_distinguished_from_one_without_another_host() -> None:
    own = "the VM itself runs in its zone until the migration ends, so its required anti-affinity rejects the target pod there; "
    vm = pod_source("vm", "VirtualMachine", affinity=apart_by(ZONE, "vm"))
    (found,) = proofs.migration_blocked(*survey_of(zoned(a1="a", a2="a"), vm))
    assert own in found.excluded
    (found,) = proofs.migration_blocked(*survey_of(zoned(a1="a"), vm))
    assert own not in found.excluded
    pinned = pod_source("vm", "VirtualMachine", nodeSelector={HOST: "a1"}, affinity=apart_by(ZONE, "vm"))
    (found,) = proofs.migration_blocked(*survey_of(zoned(a1="a", a2="a"), pinned))
    assert own not in found.excluded


# --- domains -----------------------------------------------------------------------------------------------------------


def test_all_replicas_may_land_in_one_zone_unless_a_hard_constraint_forbids_it() -> None:
    nodes = zoned(a1="a", a2="a", b1="b")
    soft = pod_source("soft", replicas=2, topologySpreadConstraints=[spread(ZONE, app("soft"), when=SOFT)])
    hard = pod_source("hard", replicas=2, topologySpreadConstraints=[spread(ZONE, app("hard"))])
    (found,) = proofs.single_domain_possible(*survey_of(nodes, soft, hard))
    assert (found.pod_source.name, found.domain, found.placement) == ("soft", "a", (("soft-0", "a1"), ("soft-1", "a1")))


def test_min_domains_beyond_what_there_is() -> None:
    web = pod_source("web", replicas=4, topologySpreadConstraints=[spread(ZONE, app("web"), minDomains=3)])
    survey, _ = survey_of(zoned(a1="a", b1="b"), web)
    (found,) = proofs.min_domains_unreachable(survey)
    assert (found.min_domains, found.domains, found.max_skew) == (3, ("a", "b"), 1)
    (few,) = proofs.too_few_domains(survey)
    assert few.most == 2


def test_min_domains_limit_only_the_pods_that_the_constraint_selects() -> None:
    other = [spread(ZONE, app("other"), minDomains=3), spread(ZONE, app("web"), minDomains=3)]
    survey, schedule = survey_of(zoned(a1="a", b1="b"), pod_source("web", replicas=4, topologySpreadConstraints=other[:1]))
    assert [each.own for each in proofs.min_domains_unreachable(survey)] == [False]
    assert len(schedule.workloads[0].nodes) == 4
    survey, _ = survey_of(zoned(a1="a", b1="b"), pod_source("web", replicas=4, topologySpreadConstraints=other))
    assert [each.own for each in proofs.min_domains_unreachable(survey)] == [False, True]


def test_a_tainted_zone_counts_as_empty_and_holds_the_others_down() -> None:
    nodes = [*zoned(a1="a", b1="b"), node("c1", {HOST: "c1", ZONE: "c"}, taints=["gpu:NoSchedule"])]
    web = pod_source("web", replicas=3, topologySpreadConstraints=[spread(ZONE, app("web"))])
    survey, _ = survey_of(nodes, web)
    (found,) = proofs.spread_blocked_by_taints(survey)
    assert (found.blocked, found.most, found.helps) == (("c",), 2, True)
    honoring = replace(web, pod={"topologySpreadConstraints": [spread(ZONE, app("web"), nodeTaintsPolicy="Honor")]})
    survey, _ = survey_of(nodes, honoring)
    assert list(proofs.spread_blocked_by_taints(survey)) == []
    assert list(proofs.too_few_domains(survey)) == []


# --- several workloads -------------------------------------------------------------------------------------------------


def shy(name: str, other: str, replicas: int) -> PodSource:
    """Keeps apart from its own and from another app, by host."""
    return pod_source(name, replicas=replicas, affinity=apart(term(HOST, app(name)), term(HOST, app(other))))


def test_two_workloads_that_exclude_each_other_share_the_nodes() -> None:
    nodes = zoned(n1="a", n2="a", n3="a")
    survey, schedule = survey_of(nodes, shy("one", "two", 2), shy("two", "one", 2), pod_source("three"))
    assert coupled(survey) == [[0, 1], [2]]
    (found,) = contending_workloads(survey, schedule)
    assert (found.decision.answer, len(found.decision.placement), found.pending) == ("impossible", 3, ("two-1",))
    assert not found.until_moved, "anti-affinity separates pods whenever they are scheduled"
    assert decide(survey, [0, 1], steps=1).answer == "not decided"


def test_replicas_that_follow_each_other_may_all_run_once_one_has_moved() -> None:
    # The second replica needs the zone of the first and another node. Only in zone a are two; a rollout moves both there.
    nodes = [*zoned(a1="a", b1="b"), *zoned(a2="a")]
    leader = pod_source("leader", nodeSelector={ZONE: "b"})
    follower = pod_source("follower", replicas=2, affinity={**together(term(ZONE, app("leader"))), **apart_by(ZONE, "follower")})
    survey, schedule = survey_of(nodes, replace(leader, pod={}), follower)
    (found,) = contending_workloads(survey, schedule)
    assert (found.decision.answer, found.until_moved) == ("impossible", True)


def test_the_order_decides_and_a_good_one_is_named() -> None:
    # The follower may only use n1, the leader prefers it: first come, first served.
    leader = pod_source("leader", affinity=apart(term(HOST, app("follower"))))
    follower = pod_source("follower", nodeSelector={HOST: "n1"})
    survey, schedule = survey_of(zoned(n1="a", n2="a"), leader, follower)
    assert schedule.workloads[1].nodes == {}
    (found,) = contending_workloads(survey, schedule)
    assert found.decision.answer == "placed"
    assert dict(found.decision.placement) == {"follower-0": "n1", "leader-0": "n2"}


def test_nodes_that_are_alike_are_distinguished_once_they_have_different_pods() -> None:
    def away(name: str, *others: str) -> PodSource:
        return pod_source(name, affinity=apart(*[term(HOST, app(other)) for other in others]))

    # One and two part; four may only join one, so three must join two.
    survey, _ = survey_of(zoned(n1="a", n2="a"), away("one", "two"), away("two", "one"), away("three", "four"), away("four", "two"))
    decision = decide(survey, range(4))
    assert decision.answer == "placed"
    where = dict(decision.placement)
    assert where["four-0"] == where["one-0"] != where["two-0"] == where["three-0"]


def test_a_search_over_many_nodes_that_are_alike_ends_soon() -> None:
    nodes = zoned(**{f"n{number:02}": "a" for number in range(40)})
    survey, _ = survey_of(nodes, shy("one", "two", 21), shy("two", "one", 20))
    decision = decide(survey, [0, 1])
    assert (decision.answer, len(decision.placement)) == ("impossible", 40)


# --- against every order -----------------------------------------------------------------------------------------------

KEYS = (HOST, ZONE, "rack")


@st.composite
def tiny_nodes(draw: st.DrawFn) -> list[Object]:
    nodes = []
    for number in range(draw(st.integers(1, 4))):
        labels = {HOST: f"n{number}"} if draw(st.integers(0, 5)) else {}
        for key, values in ((ZONE, "ab"), ("rack", "rs"), ("disk", "fs")):
            if draw(st.integers(0, 4)):
                labels[key] = draw(st.sampled_from(values))
        taints = ["t:NoSchedule"] if draw(st.integers(0, 5)) == 0 else None
        nodes.append(node(f"n{number}", labels, taints=taints, cordoned=draw(st.integers(0, 9)) == 0))
    return nodes


@st.composite
def tiny_workload(draw: st.DrawFn, name: str, replicas: int) -> PodSource:
    targets = st.sampled_from(["x", "y"])
    spec: dict[str, Any] = {}
    affinity: Object = {}
    if draw(st.integers(0, 2)) == 0:
        affinity |= node_terms("disk In " + draw(st.sampled_from("fs")))
    if draw(st.integers(0, 2)) > 0:
        affinity |= apart(*[term(draw(st.sampled_from(KEYS)), app(draw(targets))) for _ in range(draw(st.integers(1, 2)))])
    if draw(st.integers(0, 2)) == 0:
        affinity |= together(term(draw(st.sampled_from(KEYS)), app(draw(targets))))
    if draw(st.integers(0, 2)) == 0:
        more: dict[str, Any] = {"minDomains": 2} if draw(st.booleans()) else {}
        if draw(st.booleans()):
            more["nodeTaintsPolicy"] = "Honor"
        spec["topologySpreadConstraints"] = [spread(draw(st.sampled_from(KEYS)), app(draw(targets)), draw(st.integers(1, 2)), **more)]
    return pod_source(name, replicas=replicas, affinity=affinity, **spec)


@st.composite
def tiny_clusters(draw: st.DrawFn) -> tuple[list[Object], list[Object], list[PodSource]]:
    nodes = draw(tiny_nodes())
    pods = [pod("old", {"app": draw(st.sampled_from("xy"))}, on="n0")] if draw(st.integers(0, 3)) == 0 else []
    first = draw(st.integers(1, 3))
    pod_sources = [draw(tiny_workload("x", first))]
    if draw(st.booleans()):
        pod_sources.append(draw(tiny_workload("y", draw(st.integers(1, 4 - first)))))
    return nodes, pods, pod_sources


class EveryOrder:
    """How many pods of each workload, and of all together, any order and any choice of nodes places: all of them are tried."""

    def __init__(self, cluster: Cluster, pod_sources: list[PodSource]) -> None:
        self.pods = [list(compile_pods(each, cluster).pods) for each in pod_sources]
        self.most = [0] * len(pod_sources)
        self.together = 0
        self.seen: set[object] = set()
        self.visit(cluster, ())

    def visit(self, cluster: Cluster, placed: tuple[tuple[int, str], ...]) -> None:
        if placed in self.seen:
            return
        self.seen.add(placed)
        counts = [sum(which == workload for which, _ in placed) for workload in range(len(self.pods))]
        self.most = [max(pair) for pair in zip(self.most, counts, strict=True)]
        self.together = max(self.together, len(placed))
        for workload, pods in enumerate(self.pods):
            if counts[workload] == len(pods):
                continue
            following = pods[counts[workload]]
            for name in cluster.feasible_nodes(following):
                changed = cluster.copy()
                changed.bind(following, name)
                self.visit(changed, tuple(sorted((*placed, (workload, name)))))


@settings(max_examples=250)
@given(tiny_clusters())
def test_what_is_proved_no_order_does_and_the_search_is_exact(drawn: tuple[list[Object], list[Object], list[PodSource]]) -> None:
    nodes, pods, pod_sources = drawn
    survey, schedule = survey_of(nodes, *pod_sources, pods=pods)
    truth = EveryOrder(schedule.before, pod_sources)
    for found in proofs.unschedulable(survey):
        assert truth.most[pod_sources.index(found.pod_source)] == 0
    for few in proofs.too_few_domains(survey):
        assert truth.most[pod_sources.index(few.pod_source)] <= few.most < few.replicas
    decision = decide(survey, range(len(pod_sources)), steps=100_000)
    wanted = sum(each.replicas for each in pod_sources)
    assert decision.answer == ("placed" if truth.together == wanted else "impossible")
    if decision.answer == "placed":
        assert len(decision.placement) == wanted


@settings(max_examples=150)
@given(tiny_nodes(), st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True), st.integers(1, 4))
def test_anti_affinity_over_one_or_two_keys_is_counted_exactly(nodes: list[Object], keys: list[str], replicas: int) -> None:
    web = pod_source("x", replicas=replicas, affinity=apart(*[term(key, app("x")) for key in keys]))
    survey, schedule = survey_of(nodes, web)
    truth = EveryOrder(schedule.before, [web])
    limit = survey.limit(0, survey.nodes_of(0))
    assert truth.most[0] == min(replicas, limit.most if limit is not None else replicas) * bool(survey.nodes_of(0))


@settings(max_examples=150)
@given(tiny_nodes(), st.sampled_from(KEYS), st.booleans(), st.integers(1, 2), st.integers(1, 4), st.integers(1, 3))
def test_one_hard_spread_with_replicas_apart_by_host_is_counted_exactly(
    nodes: list[Object], key: str, by_host: bool, skew: int, replicas: int, min_domains: int
) -> None:
    affinity = apart(term(HOST, app("x"))) if by_host else {}
    constraint = spread(key, app("x"), skew, minDomains=min_domains)
    web = pod_source("x", replicas=replicas, affinity=affinity, topologySpreadConstraints=[constraint])
    survey, schedule = survey_of(nodes, web)
    truth = EveryOrder(schedule.before, [web])
    limit = survey.limit(0, survey.nodes_of(0))
    assert truth.most[0] == min(replicas, limit.most if limit is not None else replicas) * bool(survey.nodes_of(0))


def test_a_workload_that_no_node_takes_has_no_domains_to_count() -> None:
    """One proof is enough: that it is unschedulable."""
    survey, _ = survey_of(
        zoned(n1="a", n2="b"), pod_source("web", replicas=3, affinity=apart_by(ZONE, "web"), nodeSelector={"disk": "ssd"})
    )
    assert [found.pod_source.name for found in proofs.unschedulable(survey)] == ["web"]
    assert list(proofs.too_few_domains(survey)) == []
