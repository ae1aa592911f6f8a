"""Where replicas can go on the nodes at hand: what no order of scheduling can place, and what a failure, update or migration runs into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.checks.cluster_view import ClusterView
from afflint.checks.match import FleetMatch, Match, Target
from afflint.checks.wording import listing, quoted
from afflint.findings import Path, Severity
from afflint.fleet import Fleet
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE
from afflint.placement import orders, proofs
from afflint.placement.proofs import FailedReplica
from afflint.placement.replicas import PodMaker

_MOST_NAMED = 4
_SHORT_NAMES = {HOSTNAME: "hosts", ZONE: "zones", REGION: "regions"}


def unschedulable(_fleet: Fleet, view: ClusterView, target: Target) -> Iterator[FleetMatch]:
    """Workloads of which no replica can be placed, whatever is scheduled when."""
    for found in proofs.unschedulable(view.survey):
        # With the right company it could; that nobody is such company is known only of a complete context.
        unsure = found.assumes_complete and not target.complete
        message = f"no replica can be placed on the {found.nodes} nodes: {found.excluded}"
        if unsure:
            message += ", and no pod among these manifests would change that"
        yield _match(view, found.maker, found.path, message, severity="warning" if unsure else None)


def too_few_domains(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """More replicas than domains that can hold them."""
    for found in proofs.too_few_domains(view.survey):
        over = listing(_SHORT_NAMES.get(key, quoted(key)) for key in found.keys)
        means = "the spread constraint" if found.spread else "the required podAntiAffinity"
        message = f"{proofs.counted(found)}; {means} over {over} leaves room for {found.most}"
        yield _match(view, found.maker, found.path, message)


def competing_workloads(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Workloads that leave each other no room: never, or in some order of scheduling."""
    for found in orders.contentions(view.survey, view.arrangement):
        names = listing(maker.key for maker in found.makers[:_MOST_NAMED])
        pods = listing([*found.pending[:_MOST_NAMED], *(["others"] if len(found.pending) > _MOST_NAMED else [])])
        severity: Severity
        if found.decision.answer == "impossible":
            severity, message = "error", f"{names} leave each other no room: no order of scheduling places all their replicas"
        elif found.decision.answer == "placed":
            first = listing((pod for pod, _ in found.decision.placement[:_MOST_NAMED]), "then")
            severity, message = "warning", f"whether {names} find room depends on the order: {pods} stay pending unless {first} go first"
        else:
            severity, message = "info", f"not decided whether {names} can all be placed: {pods} stay pending in the order of the manifests"
        yield _match(view, found.makers[0], (), message, severity=severity)


def not_failure_tolerant(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Failures after which a replica that ran finds no place again."""
    for found in proofs.not_failure_tolerant(view.survey, view.arrangement, view.failures):
        if found.maker.bare:
            continue  # Nothing makes a bare pod anew, wherever it may go.
        certain = [each for each in found.failures if each.proved]
        shown = certain or list(found.failures)
        how = "whatever the placement" if certain else "in the placement that the manifests' order gives"
        message = f"{_losses(shown)} leaves {_running(shown, found.replicas)} replicas running, {how}"
        yield _match(view, found.maker, (), message)


def _losses(failures: Sequence[FailedReplica]) -> str:
    named = [f"losing {each.what}" for each in failures[:_MOST_NAMED]]
    if len(failures) > _MOST_NAMED:
        named.append(f"{len(failures) - _MOST_NAMED} other failures")
    return listing(named, "or")


def _running(failures: Sequence[FailedReplica], replicas: int) -> str:
    fewest, most = min(each.running for each in failures), max(each.running for each in failures)
    return f"{fewest} of {replicas}" if fewest == most else f"{fewest} to {most} of {replicas}"


def rollout_deadlock(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Rolling updates that must add a pod first, which no node accepts."""
    for found in proofs.rollout_deadlock(view.survey, view.arrangement):
        message = (
            f"a rolling update may remove none of the {found.replicas} replicas (maxUnavailable {found.max_unavailable}) before one more runs,"
            f" and no node takes it: {found.excluded}"
        )
        yield _match(view, found.maker, found.path, message)


def migration_blocked(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Virtual machines that have no other node to migrate to."""
    for found in proofs.migration_blocked(view.survey, view.arrangement):
        if found.maker.eviction_strategy not in ("LiveMigrate", "LiveMigrateIfPossible"):
            continue
        which = "this VM has" if found.placed == 1 else f"{found.blocked} of {found.placed} VMs have"
        message = f"{which} no node to migrate to: {found.excluded}"
        yield _match(view, found.maker, found.path, message)


def single_domain_possible(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Workloads whose replicas may all land in one zone."""
    for found in proofs.single_domain_possible(view.survey, view.arrangement):
        domain = f"{found.key.rpartition('/')[2]} {quoted(found.domain)}"
        message = f"all {found.replicas} replicas may land in {domain}: nothing required keeps them apart"
        yield _match(view, found.maker, (), message)


def min_domains_unreachable(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """minDomains beyond the domains that there are."""
    for found in proofs.min_domains_unreachable(view.survey):
        message = (
            f"minDomains {found.min_domains}, and the pods can use only {len(found.domains)} values of {quoted(found.key)}:"
            f" each takes at most {found.max_skew} replica{'' if found.max_skew == 1 else 's'}"
        )
        yield _match(view, found.maker, found.path, message)


def spread_blocked_by_taints(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Domains that count as empty although taints keep the pods out of them."""
    for found in proofs.spread_blocked_by_taints(view.survey):
        names = listing(map(quoted, found.blocked[:_MOST_NAMED]))
        room = "" if found.most is None else f", so only {found.most} of {found.replicas} replicas find room elsewhere"
        message = f"{names} of {quoted(found.key)} counts in the spread as empty, and taints keep the pods out of it{room}"
        remedy = "Add `nodeTaintsPolicy: Honor` to the constraint." if found.helps else ""
        yield _match(view, found.maker, found.path, message, remedy=remedy)


def _match(
    view: ClusterView, maker: PodMaker, path: Path, message: str, *, remedy: str = "", severity: Severity | None = None
) -> FleetMatch:
    pods = view.pods_of(maker)
    at = path or (*pods.site.base, "metadata", "name")
    return FleetMatch(pods.site, pods.ref, Match(at, message, remedy, severity=severity))
