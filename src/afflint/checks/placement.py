"""Where replicas can be scheduled on the known nodes: limits for any order of scheduling, and effects of failures, updates and drains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from afflint.admission.pod_admission import given_labels
from afflint.checks import cross_manifest
from afflint.checks.cluster_view import AS_ORDERED, ClusterView, FailureDomain, is_open, keeps_apart
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target, inserting
from afflint.controllers.evictions import eviction_of, has_assumed_strategy
from afflint.controllers.pod_source import PRIORITY_FIELDS, PodSource
from afflint.findings.finding import Severity
from afflint.findings.paths import Path
from afflint.findings.phrases import MOST_NAMED, join_words, pluralize, quoted, summarize_names
from afflint.index.facts import BUDGET_SELECTOR, REQUIRED_ANTI_AFFINITY, Pods, SelectorRef
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE, domain_word
from afflint.placement import order_search, proofs
from afflint.placement.disruption_budgets import BudgetStatus
from afflint.placement.node_lifecycle import SUSPENDED
from afflint.placement.proofs import FailedReplica, TooFewDomains
from afflint.placement.rejections import port_words
from afflint.scheduler.nodes import ITSELF

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit

# Their pods complete, and others can be scheduled then.
_FINITE = ("Job", "CronJob", "JobSet")


def unschedulable(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report workloads that have no replica that can be scheduled, in any order of scheduling."""
    for found in proofs.unschedulable(view.survey):
        if view.may_get_labels(view.pods_of(found.pod_source)):
            continue
        # Other pods could make it possible; only a complete context proves that they do not exist.
        unsure = found.assumes_complete and not target.complete
        message = f"{_fits_nowhere(found.pod_source.replicas, found.nodes)}: {found.excluded}"
        if unsure:
            message += ", and no pod of these manifests would change that"
        yield _match(
            view.pods_of(found.pod_source),
            found.pod_source,
            found.path,
            message,
            severity="warning" if unsure else None,
            related=_namespace_places(view, found.pod_source),
            edits=() if found.assumes_complete else _smallest_edits(view, found.pod_source, target),
        )


def _smallest_edits(view: ClusterView, pod_source: PodSource, target: Target) -> tuple[SymbolicEdit, ...]:
    """Return the edits of the one smallest change of the manifest with which all replicas run, if there is one."""
    from afflint.checks.admission.pod_specs import rejections

    change = view.smallest_edit(pod_source, partial(rejections, target=target))
    if change is None:
        return ()
    return tuple([each._replace(path=(*pod_source.pod_path, *each.path)) for each in change.edits])


def _namespace_places(view: ClusterView, pod_source: PodSource) -> tuple[RelatedPlace, ...]:
    """Return the places where a namespace adds labels to the nodeSelector of its pods."""
    admission = view.manifest_index.admission(pod_source.namespace)
    rule = admission.selector if admission is not None else None
    if admission is None or rule is None:
        return ()
    own = (view.pods_of(pod_source).spec or {}).get("nodeSelector") or {}
    added = [f"{key}={value}" for key, value in given_labels(admission).items() if key not in own]
    where = f"{rule.title} adds {quoted(','.join(added))} to the nodeSelector"
    return (RelatedPlace(rule.site.file, rule.site.document, rule.path, False, where),) if added else ()


def _fits_nowhere(replicas: int, nodes: int) -> str:
    if replicas == 1:
        return f"the pod fits none of the {nodes} nodes" if nodes > 1 else "the pod does not fit the only node"
    return f"none of the {replicas} replicas fits {f'any of the {nodes} nodes' if nodes > 1 else 'the only node'}"


def too_few_domains(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report workloads with more replicas than domains that accept them."""
    for found in proofs.too_few_domains(view.survey):
        match = few_domains(view.pods_of(found.pod_source), found, proofs.domain_count(found))
        edits = () if found.pod_source.kind in _FINITE else _smallest_edits(view, found.pod_source, target)
        yield match._replace(match=match.match._replace(edits=edits)) if edits else match
    for found in proofs.too_few_domains_at_most(view.survey):
        yield few_domains_at_most(view.pods_of(found.pod_source), found, proofs.domain_count(found))


def few_domains(pods: Pods, found: TooFewDomains, counted: str, related: tuple[RelatedPlace, ...] = ()) -> CrossManifestMatch:
    """Report that not all replicas can be scheduled; ``counted`` is the number of replicas and of domains, in words."""
    finite = found.pod_source.kind in _FINITE
    left = found.replicas - found.most
    # Pods of a Job run one after another.
    then = " at a time" if finite else f", so {left} {'stays' if left == 1 else 'stay'} Pending"
    message = f"{counted}; {_bound(found)} only {found.most}{then}"
    return _match(pods, found.pod_source, found.path, message, severity="info" if finite else None, related=related)


def few_domains_at_most(pods: Pods, found: TooFewDomains, counted: str, related: tuple[RelatedPlace, ...] = ()) -> CrossManifestMatch:
    """Report that not as many replicas can be scheduled as an autoscaler may request."""
    scaler = found.pod_source.scale.scaler
    message = f"{scaler} asks for up to {counted}; {_bound(found)} only {found.most}"
    remedy = f"Provide as many domains as {scaler} may ask for, or lower its maximum number of replicas."
    return _match(pods, found.pod_source, found.path, message, remedy=remedy, severity="info", related=related)


def _bound(found: TooFewDomains) -> str:
    """Describe the limiting constraint, such as ``the required podAntiAffinity over zones allows``."""
    keys = [key for key in found.keys if key != ITSELF]
    means = [f"{'the spread constraint' if found.spread else 'the required podAntiAffinity'} over {_over(keys)}"] if keys else []
    if found.port is not None:
        means.append(port_words(found.port))
    return f"{join_words(means)} {'allows' if len(means) == 1 else 'allow'}"


def _over(keys: Iterable[str]) -> str:
    return join_words(f"{word}s" if (word := domain_word(key)) else quoted(key) for key in keys)


def competing_workloads(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report workloads that compete for the same nodes, so that replicas stay Pending in some or in every order of scheduling."""
    for found in order_search.contending_workloads(view.survey, view.schedule):
        names = summarize_names([pod_source.key for pod_source in found.pod_sources])
        names = f"the replicas of {names}" if len(found.pod_sources) == 1 else names
        stays = f"{summarize_names(list(found.pending))} {'stays' if len(found.pending) == 1 else 'stay'} Pending"
        pending = f"{stays} if pods are scheduled in the order of the manifests"
        ranked = _have_different_priorities(found.pod_sources)
        if ranked:
            pending = f"{names} compete for the same nodes, and their priorities decide which pods stay Pending"
        severity: Severity
        if found.decision.answer == "placed":
            where = summarize_names([f"{pod} on {node}" for pod, node in found.decision.placement])
            message = f"{pending}; all can be scheduled in {'some' if ranked else 'another'} order, such as {where}"
            severity = "info" if ranked else "warning"
        elif found.decision.answer == "impossible" and not any(pod_source.kind in _FINITE for pod_source in found.pod_sources):
            all_of_them = "places all of them" if len(found.pod_sources) == 1 else "places all their replicas"
            moved = ", until a rollout or an eviction moves pods" if found.until_moved else ""
            severity, message = "error", f"{names} compete for the same nodes: no order of scheduling {all_of_them}{moved}"
        else:
            all_of, order = ("all", "some") if ranked else (f"all of {names}", "another")
            message = f"{pending}; it is unknown whether {all_of} can be scheduled in {order} order"
            severity = "info"
        stuck = _first_pending(view, found.pod_sources)
        related = [view.pods_of(pod_source) for pod_source in found.pod_sources if pod_source is not stuck][:MOST_NAMED]
        places = tuple([_name_of(pods, "competes for the same nodes") for pods in related])
        yield _match(view.pods_of(stuck), stuck, (), message, severity=severity, related=places)


def _have_different_priorities(pod_sources: Iterable[PodSource]) -> bool:
    """Return whether some workloads have, or may have, different priorities: then pods of the higher one preempt the others."""
    return len({tuple([str(pod_source.pod.get(field)) for field in PRIORITY_FIELDS]) for pod_source in pod_sources}) > 1


def _first_pending(view: ClusterView, pod_sources: Sequence[PodSource]) -> PodSource:
    """Return the first of some workloads with a Pending replica."""
    pending = {placed.pod_source.key for placed in view.schedule.workloads if placed.pending and not placed.pod_source.daemon}
    return next((pod_source for pod_source in pod_sources if pod_source.key in pending), pod_sources[0])


def _name_of(pods: Pods, does: str) -> RelatedPlace:
    return RelatedPlace(pods.site.file, pods.site.document, (*pods.site.base, "metadata", "name"), False, f"{pods.title} {does}")


def not_failure_tolerant(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report failures that cost a workload more than one of several replicas."""
    pending = {placed.pod_source.key for placed in view.schedule.workloads if placed.pending}
    for found in proofs.not_failure_tolerant(view.survey, view.schedule, view.failures):
        pod_source = found.pod_source
        # A bare pod is never replaced, a Job ends soon, and Pending replicas are reported by other rules.
        if pod_source.bare or pod_source.kind in _FINITE or pod_source.key in pending:
            continue
        # Workloads restricted to one zone or one node fail with it on purpose.
        chosen = view.asks_for(pod_source)
        failures = [each for each in found.failures if chosen.isdisjoint((view.parts[each.what].key, HOSTNAME))]
        grave = [each for each in failures if _is_serious(view, pod_source, each)]
        if grave:
            yield _fewer(view, pod_source, grave, found.replicas)


def _fewer(view: ClusterView, pod_source: PodSource, failures: Sequence[FailedReplica], replicas: int) -> CrossManifestMatch:
    at_most = [each._replace(running=each.most) for each in failures if each.most is not None]
    certain = [each for each in at_most if _is_serious(view, pod_source, each)]
    reported = certain or failures
    how = "whatever the placement" if certain else AS_ORDERED
    until = " until the failed nodes recover or are removed" if all(each.passing for each in reported) else ""
    running = _running(reported, replicas, bound=bool(certain))
    message = f"after a failure of {_describe_failures(view, reported)}, {running}{until}, {how}"
    budget = _budget_over(view, pod_source, reported)
    if budget is not None:
        message += f"; PodDisruptionBudget {quoted(budget.budget.name)} needs {budget.desired}"
    part = view.parts[reported[0].what]
    why = reported[0].explain()
    if why.startswith(SUSPENDED):
        remedy = f"Spread the replicas over several {part.word}s: those of {part.word} {_plain(part.name)} are not replaced ({why})."
    else:
        remedy = f"Provide a node for the replicas of {part.word} {_plain(part.name)}; the other nodes do not accept them: {why}."
    return _match(view.pods_of(pod_source), pod_source, (), message, remedy=remedy if why else "")


def _is_serious(view: ClusterView, pod_source: PodSource, failed: FailedReplica) -> bool:
    """Return whether more is lost than the one replica in the failed domain, which the other replicas can replace."""
    if failed.running == 0 or _budget_over(view, pod_source, (failed,)) is not None:
        return True
    # Voting members need more than half of their replicas; other replicas share the load.
    half = 2 * failed.running - pod_source.replicas
    if half < 0 or (half == 0 and pod_source.kind == "StatefulSet"):
        return True
    part = view.parts[failed.what]
    return part.key == HOSTNAME and not failed.passing and _has_sibling_nodes(view, pod_source, part)


def _budget_over(view: ClusterView, pod_source: PodSource, failures: Iterable[FailedReplica]) -> BudgetStatus | None:
    """Return a PodDisruptionBudget of the workload that too few running pods violate after one of these failures."""
    numbers = view.budgets_over(pod_source)
    fewest = min(each.running for each in failures)
    for covered in [view.disruptions.covered[number] for number in numbers]:
        before = covered.healthy
        if not covered.unscaled and before >= covered.desired > before - (pod_source.replicas - fewest):
            return covered
    return None


def _has_sibling_nodes(view: ClusterView, pod_source: PodSource, part: FailureDomain) -> bool:
    """Return whether the failed domain is a node in a zone, over which the pods are spread too, with other nodes open to pods."""
    nodes = {fact.node.name: fact.node for fact in view.nodes}
    if part.key != HOSTNAME:
        return False
    keys = {
        ref.topology_key for ref in view.manifest_index.selector_refs_of(view.pods_of(pod_source)) if _is_required(ref) and ref.topology_key
    }
    if not keys:
        return True
    failed = nodes[part.name]
    others = [fact.node for fact in view.nodes if fact.node.name != part.name and is_open(fact)]
    return any(key in failed.labels and any(other.labels.get(key) == failed.labels[key] for other in others) for key in keys)


def drain_blocked(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report PodDisruptionBudgets that allow no eviction even when all of their pods are healthy."""
    sites = {(ref.ref.name, ref.namespace or "default"): ref for ref in view.manifest_index.selector_refs if ref.what == BUDGET_SELECTOR}
    for number, covered in enumerate(view.disruptions.covered):
        budget = covered.budget
        owners = [
            pod_source
            for pod_source in view.pod_sources
            if number in view.budgets_over(pod_source) and not pod_source.daemon and pod_source.kind not in _FINITE
        ]
        owners = [pod_source for pod_source in owners if eviction_of(pod_source).what == "allowed"]
        # An autoscaler may request more replicas than the manifest.
        is_known = all(view.pods_of(pod_source).scale.least is not None for pod_source in owners) or bool(covered.unscaled)
        ref = sites.get((budget.name, budget.namespace))
        if owners and is_known and ref is not None and not covered.allowed(covered.expected):
            scaler = _relieving_scaler(covered, owners)
            never = f"as many as {scaler} keeps at least; a drain waits until it scales up" if scaler else _NEVER
            message = f"{covered.arithmetic(covered.expected)}{', ' if scaler else ': '}{never}"
            asked = bool(scaler) or budget.is_full
            field = "maxUnavailable" if budget.max_unavailable is not None else "minAvailable"
            path = (*ref.site.base, "spec", field) if budget.sets_amount else (*ref.site.base, "metadata", "name")
            related = tuple([_name_of(view.pods_of(pod_source), "is covered by it") for pod_source in owners[:MOST_NAMED]])
            remedy = f"Raise the minimum of {scaler} by one replica, or set `maxUnavailable: 1` in the budget." if scaler else ""
            match = Match(path, message, remedy, related=related, severity="info" if asked else None)
            yield CrossManifestMatch(ref.site, ref.ref, match)


_NEVER = "a drain of their nodes never completes"


def _relieving_scaler(covered: BudgetStatus, owners: Iterable[PodSource]) -> str:
    """Return the autoscaler that allows an eviction once it requests more than its minimum of replicas, or an empty string."""
    elastic = [pod_source for pod_source in owners if (pod_source.scale.most or 0) > pod_source.replicas]
    more = covered.expected + sum((pod_source.scale.most or 0) - pod_source.replicas for pod_source in elastic)
    return elastic[0].scale.scaler if elastic and covered._replace(expected=more).allowed(more) else ""


def _describe_failures(view: ClusterView, failures: Iterable[FailedReplica]) -> str:
    """Describe failures, such as ``node a, b or c, or zone x``."""
    names: dict[str, list[str]] = {}
    for each in failures:
        part = view.parts[each.what]
        names.setdefault(part.word, []).append(part.name)
    return ", or ".join(f"{word} {summarize_names(list(map(_plain, each)), 'or')}" for word, each in names.items())


def _plain(name: str) -> str:
    return quoted(name).strip("`")


def _running(failures: Sequence[FailedReplica], replicas: int, *, bound: bool) -> str:
    """Describe how many replicas run, or with ``bound`` how many at most."""
    fewest, most = min(each.running for each in failures), max(each.running for each in failures)
    if replicas == 1:
        return "the only replica cannot be scheduled"
    if most == 0:
        return f"none of the {replicas} replicas can be scheduled"
    if bound:
        return f"at most {most} of {replicas} replicas {'run' if most > 1 else 'runs'}"
    return f"only {fewest} of {replicas} replicas run" if fewest == most else f"only {fewest} to {most} of {replicas} replicas run"


def rollout_deadlock(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report rolling updates that must add a pod first, which no node accepts, not even that of the old pod."""
    for found in proofs.rollout_deadlock(view.survey, view.schedule):
        before = f"one of the {found.replicas} replicas" if found.replicas > 1 else "the only replica"
        message = f"a rolling update must add a pod before it removes {before} (maxUnavailable is 0), but no node accepts the new pod"
        message += f"{'' if found.proved else f' {AS_ORDERED}'}: {found.excluded}"
        yield _match(view.pods_of(found.pod_source), found.pod_source, found.path, message)
    for pod_source, port in proofs.daemon_surge_on_port(view.survey):
        used = f"but both use {port_words(port)}"
        message = f"a rolling update runs the new pod beside the old one on each node (maxSurge is set), {used}: it never completes"
        remedy = "Remove `maxSurge`, so that the old pod is removed first."
        yield _match(view.pods_of(pod_source), pod_source, (*pod_source.pod_path, *port.path), message, remedy=remedy)


def migration_blocked(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report virtual machines that have no other node to migrate to."""
    for found in proofs.migration_blocked(view.survey, view.schedule):
        if has_assumed_strategy(found.pod_source) or eviction_of(found.pod_source).what not in ("migrates", "held"):
            continue
        some = f"{found.blocked} of the {found.placed} VMs have no node"
        which = (
            "the VM has no node"
            if found.placed == 1
            else some
            if found.blocked < found.placed
            else f"none of the {found.placed} VMs has a node"
        )
        message = f"{which} to migrate to{'' if found.proved else f' {AS_ORDERED}'}: {found.excluded}"
        yield _match(view.pods_of(found.pod_source), found.pod_source, found.path, message)


def single_domain_possible(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report workloads that must be separated over something smaller than a zone, and may all be scheduled in one zone."""
    for found in proofs.single_domain_possible(view.survey, view.schedule):
        if found.pod_source.kind in _FINITE:
            continue
        pods = view.pods_of(found.pod_source)
        apart = [ref for ref in view.manifest_index.selector_refs_of(pods) if keeps_apart(ref, pods)]
        keys = dict.fromkeys(ref.topology_key for ref in apart if _is_required(ref))
        # Workloads without constraints have no preference, and those with a preference for the zone have considered it.
        if keys and "" not in keys and not any(ref.topology_key in (ZONE, REGION) for ref in apart):
            apart_over = summarize_names(list(map(quoted, keys)))
            zone = f"zone {quoted(found.domain)}"
            message = f"all {found.replicas} replicas may be scheduled in {zone}: they are separated only over {apart_over}"
            yield _match(view.pods_of(found.pod_source), found.pod_source, (), message)


def _is_required(ref: SelectorRef) -> bool:
    return ref.what == REQUIRED_ANTI_AFFINITY or ref.max_skew is not None


def min_domains_unreachable(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report `minDomains` values above the number of domains."""
    for found in proofs.min_domains_unreachable(view.survey):
        names = summarize_names(list(map(quoted, found.domains)))
        known = f"the nodes have only {pluralize(len(found.domains), 'value')} of {quoted(found.key)}: {names}"
        most = pluralize(found.max_skew, "pod")
        accepted = f"each accepts at most {most}" if found.own else f"none with more than {most} that it selects accepts another"
        message = f"minDomains is {found.min_domains}, but {known}; until more are added, {accepted}"
        yield _match(view.pods_of(found.pod_source), found.pod_source, found.path, message)


def spread_without_effect(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report hard spread constraints for which the node constraints of the pods leave one domain, and those with a large maxSkew."""
    yield from cross_manifest.spread_without_effect(view.manifest_index)
    for found in proofs.one_eligible_domain(view.survey):
        cause = f": node affinity excludes {pluralize(found.others, 'other value')} of the nodes" if found.by_affinity else ""
        message = f"only the value {quoted(found.domain)} of {quoted(found.key)} counts, so the constraint has no effect{cause}"
        remedy = "Let the pods use nodes of other domains, or separate them over a smaller domain."
        at = (*found.path, "topologyKey")
        yield _match(view.pods_of(found.pod_source), found.pod_source, at, message, remedy=remedy)


def spread_blocked_by_taints(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report domains that count as empty although taints keep the pods out of them."""
    for found in proofs.spread_blocked_by_taints(view.survey):
        names, one = summarize_names(list(map(quoted, found.blocked))), len(found.blocked) == 1
        counts = f"{names} of {quoted(found.key)} {'counts as an empty domain' if one else 'count as empty domains'}"
        means = "taints or a cordon" if not found.helps else "taints"
        room = "" if found.most is None else f", so at most {pluralize(found.most, 'pod')} can be scheduled elsewhere"
        message = f"{counts}, but {means} keep the pods out of {'it' if one else 'them'}{room}"
        remedy = "Add `nodeTaintsPolicy: Honor` to the constraint so that such domains no longer count." if found.helps else ""
        match = _match(view.pods_of(found.pod_source), found.pod_source, found.path, message, remedy=remedy)
        if found.helps:
            match = match._replace(match=match.match._replace(edits=inserting(found.path, "nodeTaintsPolicy", "Honor")))
        yield match


def _match(
    pods: Pods,
    pod_source: PodSource,
    path: Path,
    message: str,
    *,
    remedy: str = "",
    severity: Severity | None = None,
    related: tuple[RelatedPlace, ...] = (),
    edits: tuple[SymbolicEdit, ...] = (),
) -> CrossManifestMatch:
    # No constraint of the workload limits it, so the whole workload is reported.
    at = path if path not in ((), pod_source.pod_path) else (*pods.site.base, "metadata", "name")
    return CrossManifestMatch(pods.site, pods.ref, Match(at, message, remedy, edits=edits, related=related, severity=severity))
