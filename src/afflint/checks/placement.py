"""Where replicas can go on the nodes at hand: what no order of scheduling can place, and what a failure, update or migration runs into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.checks.match import FleetMatch, Match, Place, Target
from afflint.controllers.pod_maker import PodMaker
from afflint.findings import Path, Severity
from afflint.fleet.facts import REQUIRED_ANTI_AFFINITY, Pods, Reach
from afflint.inventory.cluster_view import MOST_NAMED, ClusterView, few, keeps_apart
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE, domain_word
from afflint.placement import orders, proofs
from afflint.placement.proofs import FailedReplica, TooFewDomains
from afflint.placement.rejections import port_words
from afflint.scheduler.nodes import ITSELF
from afflint.wording import listing, quoted

# Their pods end by themselves, and then others have room.
_FINITE = ("Job", "CronJob", "JobSet")
_AS_ORDERED = "in the placement that the order of the manifests gives"


def unschedulable(view: ClusterView, target: Target) -> Iterator[FleetMatch]:
    """Workloads of which no replica can be placed, whatever is scheduled when."""
    for found in proofs.unschedulable(view.survey):
        # With the right company it could; that nobody is such company is known only of a complete context.
        unsure = found.assumes_complete and not target.complete
        message = f"{_fits_nowhere(found.maker.replicas, found.nodes)}: {found.excluded}"
        if unsure:
            message += ", and no pod of these manifests would change that"
        yield _match(view, found.maker, found.path, message, severity="warning" if unsure else None)


def _fits_nowhere(replicas: int, nodes: int) -> str:
    if replicas == 1:
        return f"the pod fits none of the {nodes} nodes" if nodes > 1 else "the pod does not fit the only node"
    return f"none of the {replicas} replicas fits {f'any of the {nodes} nodes' if nodes > 1 else 'the only node'}"


def too_few_domains(view: ClusterView) -> Iterator[FleetMatch]:
    """More replicas than domains that can hold them."""
    for found in proofs.too_few_domains(view.survey):
        message = f"{proofs.counted(found)}; {_bound(found)} for {found.most}"
        finite = found.maker.kind in _FINITE
        # Pods of a Job wait for each other and run all the same.
        severity: Severity | None = "info" if finite else None
        yield _match(view, found.maker, found.path, f"{message} at a time" if finite else message, severity=severity)


def _bound(found: TooFewDomains) -> str:
    """``the required podAntiAffinity over zones leaves room``."""
    keys = [key for key in found.keys if key != ITSELF]
    means = [f"{'the spread constraint' if found.spread else 'the required podAntiAffinity'} over {_over(keys)}"] if keys else []
    if found.port is not None:
        means.append(port_words(found.port))
    return f"{listing(means)} {'leaves' if len(means) == 1 else 'leave'} room"


def _over(keys: Iterable[str]) -> str:
    return listing(f"{word}s" if (word := domain_word(key)) else quoted(key) for key in keys)


def competing_workloads(view: ClusterView) -> Iterator[FleetMatch]:
    """Workloads that leave each other no room: never, or in some order of scheduling."""
    for found in orders.contentions(view.survey, view.arrangement):
        names = few([maker.key for maker in found.makers])
        pending = f"{few(list(found.pending))} {'stays' if len(found.pending) == 1 else 'stay'} pending"
        severity: Severity
        if found.decision.answer == "placed":
            where = few([f"{pod} on {node}" for pod, node in found.decision.placement])
            message = f"{pending} when pods are placed in the order of the manifests; all have room in another order, such as {where}"
            severity = "warning"
        elif found.decision.answer == "impossible" and not any(maker.kind in _FINITE for maker in found.makers):
            severity, message = "error", f"{names} leave each other too little room: no order of scheduling places all their replicas"
        else:
            message = f"{pending} in the order of the manifests; whether any order has room for all of {names} is not decided"
            severity = "info"
        stuck = _stuck(view, found.makers)
        related = [view.pods_of(maker) for maker in found.makers if maker is not stuck][:MOST_NAMED]
        yield _match(view, stuck, (), message, severity=severity, related=tuple([_name_of(pods) for pods in related]))


def _stuck(view: ClusterView, makers: Sequence[PodMaker]) -> PodMaker:
    """The first of some workloads that has a replica pending."""
    pending = {placed.maker.key for placed in view.arrangement.workloads if placed.pending and not placed.maker.daemon}
    return next((maker for maker in makers if maker.key in pending), makers[0])


def _name_of(pods: Pods) -> Place:
    return Place(pods.site.file, pods.site.document, (*pods.site.base, "metadata", "name"), False, f"{pods.title} takes part")


def not_failure_tolerant(view: ClusterView) -> Iterator[FleetMatch]:
    """Failures after which a replica that ran finds no place again."""
    pending = {placed.maker.key for placed in view.arrangement.workloads if placed.pending}
    for found in proofs.not_failure_tolerant(view.survey, view.arrangement, view.failures):
        maker = found.maker
        # Nothing makes a bare pod anew; a Job is done before long; and what has no place today is reported as such.
        if maker.bare or maker.kind in _FINITE or maker.key in pending:
            continue
        # What asks for one zone, or one node, goes down with it on purpose.
        chosen = view.asks_for(maker)
        failures = [each for each in found.failures if chosen.isdisjoint((view.parts[each.what].key, HOSTNAME))]
        certain = [each for each in failures if each.proved]
        if failures:
            how = "whatever the placement" if certain else _AS_ORDERED
            message = f"after losing {_losses(view, certain or failures)}, {_running(certain or failures, found.replicas)}, {how}"
            yield _match(view, maker, (), message)


def _losses(view: ClusterView, failures: Iterable[FailedReplica]) -> str:
    """``node a, b or c, or zone x``."""
    names: dict[str, list[str]] = {}
    for each in failures:
        part = view.parts[each.what]
        names.setdefault(part.word, []).append(part.name)
    return ", or ".join(f"{word} {few(list(map(_plain, each)), 'or')}" for word, each in names.items())


def _plain(name: str) -> str:
    return quoted(name).strip("`")


def _running(failures: Sequence[FailedReplica], replicas: int) -> str:
    fewest, most = min(each.running for each in failures), max(each.running for each in failures)
    if replicas == 1:
        return "the only replica has no place"
    if most == 0:
        return f"none of the {replicas} replicas has a place"
    return f"only {fewest} of {replicas} replicas run" if fewest == most else f"only {fewest} to {most} of {replicas} replicas run"


def rollout_deadlock(view: ClusterView) -> Iterator[FleetMatch]:
    """Rolling updates that must add a pod first, which no node accepts."""
    for found in proofs.rollout_deadlock(view.survey, view.arrangement):
        before = f"one of the {found.replicas} replicas" if found.replicas > 1 else "the only replica"
        message = f"a rolling update has to add a pod before it may remove {before} (maxUnavailable is 0), and no node takes it"
        message += f"{'' if found.proved else f' {_AS_ORDERED}'}: {found.excluded}"
        yield _match(view, found.maker, found.path, message)


def migration_blocked(view: ClusterView) -> Iterator[FleetMatch]:
    """Virtual machines that have no other node to migrate to."""
    for found in proofs.migration_blocked(view.survey, view.arrangement):
        if found.maker.eviction_strategy not in ("LiveMigrate", "LiveMigrateIfPossible"):
            continue
        some = f"{found.blocked} of the {found.placed} VMs have no node"
        which = (
            "the VM has no node"
            if found.placed == 1
            else some
            if found.blocked < found.placed
            else f"none of the {found.placed} VMs has a node"
        )
        message = f"{which} to migrate to{'' if found.proved else f' {_AS_ORDERED}'}: {found.excluded}"
        yield _match(view, found.maker, found.path, message)


def single_domain_possible(view: ClusterView) -> Iterator[FleetMatch]:
    """Workloads that are required to keep apart over something smaller than a zone, and may all land in one zone."""
    for found in proofs.single_domain_possible(view.survey, view.arrangement):
        if found.maker.kind in _FINITE:
            continue
        pods = view.pods_of(found.maker)
        apart = [reach for reach in view.fleet.reaches_of(pods) if keeps_apart(reach, pods)]
        keys = dict.fromkeys(reach.topology_key for reach in apart if _is_required(reach))
        # Who asks for nothing does not mind, and who names the zone in a preference has weighed it.
        if keys and not any(reach.topology_key in (ZONE, REGION) for reach in apart):
            apart_over = few(list(map(quoted, keys)))
            message = f"all {found.replicas} replicas may land in zone {quoted(found.domain)}: they are kept apart over {apart_over} only"
            yield _match(view, found.maker, (), message)


def _is_required(reach: Reach) -> bool:
    return reach.what == REQUIRED_ANTI_AFFINITY or reach.max_skew is not None


def min_domains_unreachable(view: ClusterView) -> Iterator[FleetMatch]:
    """minDomains beyond the domains that there are."""
    for found in proofs.min_domains_unreachable(view.survey):
        known = f"only {len(found.domains)}: {few(list(map(quoted, found.domains)))}" if found.domains else "none"
        each = f"; until there are more, each takes at most {found.max_skew} pod{'' if found.max_skew == 1 else 's'}"
        message = f"minDomains is {found.min_domains}, and of {quoted(found.key)} the nodes have {known}{each if found.domains else ''}"
        yield _match(view, found.maker, found.path, message)


def spread_blocked_by_taints(view: ClusterView) -> Iterator[FleetMatch]:
    """Domains that count as empty although taints keep the pods out of them."""
    for found in proofs.spread_blocked_by_taints(view.survey):
        names, one = few(list(map(quoted, found.blocked))), len(found.blocked) == 1
        counts = f"{names} of {quoted(found.key)} {'counts as empty domain' if one else 'count as empty domains'}"
        means = "taints or a cordon" if not found.helps else "taints"
        room = "" if found.most is None else f", so that at most {found.most} pod{'' if found.most == 1 else 's'} find room elsewhere"
        message = f"{counts}, and {means} keep the pods out of {'it' if one else 'them'}{room}"
        remedy = "Add `nodeTaintsPolicy: Honor` to the constraint, and such domains no longer count." if found.helps else ""
        yield _match(view, found.maker, found.path, message, remedy=remedy)


def _match(
    view: ClusterView,
    maker: PodMaker,
    path: Path,
    message: str,
    *,
    remedy: str = "",
    severity: Severity | None = None,
    related: tuple[Place, ...] = (),
) -> FleetMatch:
    pods = view.pods_of(maker)
    # No constraint of its own is at fault: then it is the workload as such.
    at = path if path not in ((), maker.pod_path) else (*pods.site.base, "metadata", "name")
    return FleetMatch(pods.site, pods.ref, Match(at, message, remedy, related=related, severity=severity))
