"""What a finding, a policy or a plan says never or always happens is so in 100 random orders.

Findings are checked with pods on any node that accepts them, and with rollouts, evictions and failures after that. What `place` says about
a rollout is checked with pods on any of the best nodes.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from afflint.controllers.pod_source import PodSource
from afflint.placement import proofs
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.evictions import migration_target
from afflint.placement.failures import Disruption, failures
from afflint.placement.order_search import contending_workloads
from afflint.placement.plan import RolloutEffect
from afflint.placement.proofs import MinDomainsUnreachable
from afflint.placement.rollouts import Rollouts
from afflint.placement.schedule import Schedule, build_schedule
from afflint.scheduler.cluster import Cluster
from cluster_objects import ZONE, Object
from policing import findings_of, policy
from random_orders import RandomOrder, drawn_cluster, manifest
from workload_objects import inventory

ORDERS = 100


class Group(NamedTuple):
    """Workloads that no order places completely; with ``until_moved``, a rollout or an eviction may."""

    workloads: tuple[int, ...]
    until_moved: bool


class Failure(NamedTuple):
    """A failure after which at most this number of replicas of a workload run."""

    workload: int
    disruption: Disruption
    most: int


class Claims:
    """What the rules claim about the workloads of a cluster, by the numbers of these."""

    def __init__(self, nodes: Sequence[Object], pod_sources: Sequence[PodSource]) -> None:
        self.schedule: Schedule = build_schedule(inventory(list(nodes)), pod_sources)
        self.pod_sources = pod_sources
        survey, schedule = ScheduleBounds(self.schedule.before, pod_sources), self.schedule
        numbers = {id(each): number for number, each in enumerate(pod_sources)}
        self.never = [numbers[id(each.pod_source)] for each in proofs.unschedulable(survey)]
        self.most = [(numbers[id(each.pod_source)], each.most) for each in proofs.too_few_domains(survey)]
        blocked = proofs.spread_blocked_by_taints(survey)
        self.most += [(numbers[id(each.pod_source)], each.most) for each in blocked if each.most is not None]
        self.few_domains = [(numbers[id(each.pod_source)], each) for each in proofs.min_domains_unreachable(survey) if each.own]
        self.deadlocks = [numbers[id(each.pod_source)] for each in proofs.rollout_deadlock(survey, schedule) if each.proved]
        self.stuck_machines = [numbers[id(each.pod_source)] for each in proofs.migration_blocked(survey, schedule) if each.proved]
        self.groups = [
            Group(tuple([numbers[id(member)] for member in each.pod_sources]), each.until_moved)
            for each in contending_workloads(survey, schedule)
            if each.decision.answer == "impossible"
        ]
        self.failures = [
            Failure(numbers[id(found.pod_source)], disruption, failed.most)
            for disruption in single_failures(self.schedule.before)
            for found in proofs.not_failure_tolerant(survey, schedule, [disruption])
            for failed in found.failures
            if failed.most is not None
        ]

    def __bool__(self) -> bool:
        bounds = (self.never, self.most, self.few_domains, self.deadlocks, self.stuck_machines, self.groups, self.failures)
        return any(bounds)

    # --- checked against the pods of an order ----------------------------------------------------------------------------

    def check_always(self, order: RandomOrder) -> None:
        """Check what holds while pods are scheduled and replaced. A revision at a time: the bounds are for one manifest."""
        for workload in self.never:
            assert order.placed(workload) == [], "a pod of an unschedulable workload runs"
        revisions = {each.revision for each in order.replicas}
        for workload, most in self.most:
            assert all(len(order.placed(workload, revision)) <= most for revision in revisions), "more replicas run than the bound"
        for workload, found in self.few_domains:
            for revision in revisions:
                self._check_domains(order, found, [each.node or "" for each in order.placed(workload, revision)])

    @staticmethod
    def _check_domains(order: RandomOrder, found: MinDomainsUnreachable, nodes: Sequence[str]) -> None:
        column = dict(zip(order.cluster.table.names, order.cluster.table.column(found.key), strict=True))
        counts = Counter(column[each] for each in nodes)
        assert max(counts.values(), default=0) <= found.max_skew, "a domain has more pods than maxSkew"

    def check_settled(self, order: RandomOrder, *, moved: bool) -> None:
        """Check what holds when no Pending pod can be scheduled. With ``moved``, pods were replaced before."""
        for workload in self.stuck_machines:
            for each in order.placed(workload):
                target = migration_target(each.pod, order.cluster, each.node or "")
                assert order.cluster.feasible_nodes(target) == [], "a VM can migrate"
        for group in self.groups:
            if not (moved and group.until_moved):
                assert not all(self._is_complete(order, each) for each in group.workloads), "all replicas of the group run"
        for workload in self.deadlocks:
            if self._is_complete(order, workload):
                new = order.template(workload, order.revisions[workload] + 1)
                assert order.cluster.feasible_nodes(new) == [], "the new pod of a rollout can be scheduled"

    def _is_complete(self, order: RandomOrder, workload: int) -> bool:
        """Whether all replicas of the current revision run, and no others."""
        runs = len(order.placed(workload, order.revisions[workload]))
        return runs == len(order.placed(workload)) == self.pod_sources[workload].replicas

    def check_failure(self, order: RandomOrder, random: Random) -> None:
        """Check a failure after the pods were scheduled."""
        failure = random.choice(self.failures)
        order.fail(failure.disruption.nodes)
        for _ in order.schedule():
            pass
        assert len(order.placed(failure.workload)) <= failure.most, "more replicas run after the failure"


def single_failures(cluster: Cluster) -> Iterator[Disruption]:
    """The failures of each node, and of each zone if nodes are in zones."""
    yield from failures(cluster, "each:node")
    if any(cluster.table.column(ZONE)):
        yield from failures(cluster, "each:zone")


def follow(claims: Claims, seed: str) -> None:
    """Check the claims in one random order, and in what happens after it."""
    random = Random(seed)
    order = RandomOrder(claims.schedule.before, list(claims.pod_sources), random)
    for _ in order.schedule():
        claims.check_always(order)
    claims.check_settled(order, moved=False)
    if claims.failures and random.random() < 0.3:
        claims.check_failure(order, random)
        return
    for _ in range(3):
        if random.random() < 0.6:
            for _ in order.roll(random.randrange(len(claims.pod_sources))):
                claims.check_always(order)
        else:
            for _ in range(random.randint(1, 3)):
                order.evict()
            for _ in order.schedule():
                claims.check_always(order)
        claims.check_settled(order, moved=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
@example(1297)  # A replica follows another by pod affinity: once a rollout has moved it, both run.
@example(1565)  # One workload moves away from pods that its first place let run.
@example(20)  # minDomains of a constraint that does not select its own pods.
@example(16)  # After a failure more replicas run in another placement.
def test_no_order_refutes_what_the_rules_say(seed: int) -> None:
    claims = Claims(*drawn_cluster(Random(seed)))
    for number in range(ORDERS if claims else 0):
        follow(claims, f"{seed}/{number}")


# --- rollouts in `place` -----------------------------------------------------------------------------------------------


def ends(order: RandomOrder, workload: int) -> dict[str, int]:
    """How many pods of the new revision are in each zone."""
    column = dict(zip(order.cluster.table.names, order.cluster.table.column(ZONE), strict=True))
    return dict(Counter(column[each.node or ""] or "" for each in order.placed(workload, 1)))


def check_rollout(effect: RolloutEffect, order: RandomOrder, workload: int) -> None:
    """Roll a workload out in a random order, and compare what happens with what `place` says."""
    for _ in order.roll(workload):
        pass
    own = order.pod_sources[workload]
    alive = [each for each in order.replicas if each.workload == workload]
    complete = len(alive) == len(order.placed(workload, 1)) == own.replicas
    assert not (complete and effect.result == "blocked"), "a rollout that never completes completes"
    if effect.exhaustive:
        assert complete or effect.result != "completes", "a rollout that completes in every order does not"
        # Default spread constraints count by the ReplicaSet of the new revision, which the orders of this test do not have.
        if complete and own.pod.get("topologySpreadConstraints"):
            assert ends(order, workload) in [*effect.outcomes, *effect.rare], "the replicas end in other zones"


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9))
@example(8)  # A Pending pod of another workload takes the node of the pod that is replaced.
def test_no_order_refutes_what_place_says_about_a_rollout(seed: int) -> None:
    nodes, pod_sources = drawn_cluster(Random(seed))
    schedule = build_schedule(inventory(nodes), pod_sources)
    for workload, placed in enumerate(schedule.workloads):
        if placed.pod_source.kind not in ("Deployment", "StatefulSet") or not placed.nodes:
            continue
        effect = Rollouts(schedule, ZONE, most=600).roll(placed)
        for number in range(ORDERS):
            order = RandomOrder(schedule.before, pod_sources, Random(f"{seed}/{workload}/{number}"), best=True)
            order.adopt(schedule)
            check_rollout(effect, order, workload)


# --- required-spread ---------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_no_order_brings_replicas_together_that_a_required_spread_separates(seed: int, tmp_path: Path) -> None:
    nodes, pod_sources = drawn_cluster(Random(seed))
    texts = {"nodes.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})}
    texts |= {f"{each.name}.json": json.dumps(manifest(each)) for each in pod_sources}
    found = findings_of(tmp_path, policy("required-spread", f"{{topology-key: {ZONE}, mode: hard, min-replicas: 2}}"), texts)
    reported = {each.file.partition(".")[0] for each in found if each.rule == "ours"}
    before = build_schedule(inventory(nodes), pod_sources).before
    survey = ScheduleBounds(before, pod_sources)
    # A workload that reaches only one zone cannot be spread over more.
    spread = [
        number
        for number, each in enumerate(pod_sources)
        if each.replicas > 1 and each.name not in reported and len(survey.values(ZONE, survey.nodes_of(number))) > 1
    ]
    if not spread:
        return
    for number in range(ORDERS):
        random = Random(f"{seed}/{number}")
        order = RandomOrder(before, pod_sources, random)
        for _ in order.schedule():
            pass
        for workload in spread:
            for _ in order.roll(workload):
                pass
            zones = ends(order, workload)
            assert len(zones) != 1 or "" in zones or sum(zones.values()) < pod_sources[workload].replicas, "all replicas are in one zone"
