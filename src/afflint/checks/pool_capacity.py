"""Separated replicas compared with the most nodes and zones that pools can have: limits that no label of a cloud can raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice

from afflint.checks.match import CrossManifestMatch, RelatedPlace, Target
from afflint.checks.pool_view import PoolRequirements, PoolView
from afflint.checks.pools import pools_for, pools_open_to
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import MOST_NAMED, pluralize, quoted, summarize_names
from afflint.index.facts import Pods
from afflint.inventory.node_files import NodeFact
from afflint.kube.node_labels import CONTROL_PLANE, DEPRECATED, HOSTNAME, MASTER, ZONE
from afflint.kube.taints import Taint, first_untolerated
from afflint.pools.matching import PoolLabels
from afflint.pools.pool import Pool
from afflint.scheduler.nodes import ITSELF
from afflint.scheduler.pods import parsed_terms


class _Limit(NamedTuple):
    """An upper limit of the domains of one kind, with its description and the places that declare it."""

    most: int
    statements: str
    related: tuple[RelatedPlace, ...]


class _Limits(NamedTuple):
    """The most nodes and zones that some pods can have; None if unknown."""

    nodes: _Limit | None
    zones: _Limit | None

    def over(self, key: str) -> _Limit | None:
        """Return the domains of a topology key, ITSELF included."""
        key = DEPRECATED.get(key, key)
        return self.nodes if key in (HOSTNAME, ITSELF) else self.zones if key == ZONE else None


def too_few_domains(view: PoolView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report more replicas than nodes, or zones, that the pools can have, if each accepts one and the pools are complete."""
    if not target.complete_nodes or any(pool.has_other_nodes for pool in view.pools):
        return
    crowded = list(_separated_workloads(view))
    if not crowded:
        return
    from afflint.checks.placement import few_domains, few_domains_at_most
    from afflint.placement.proofs import TooFewDomains

    survey = view.survey([requirements.pod_source for requirements, _ in crowded if requirements.pod_source is not None])
    for index, (requirements, rooms) in enumerate(crowded):
        pod_source = survey.pod_sources[index]
        bounds = [(room, key, path) for key, path in survey.kept_apart(index).items() if (room := rooms.over(key)) is not None]
        if not bounds:
            continue
        room, key, path = min(bounds, key=lambda bound: (bound[0].most, bound[1] == ITSELF))
        pods = requirements.pods
        assert isinstance(pods, Pods), "values of charts are not separated workloads"
        port = survey.members(index)[0].pod.ports[0] if key == ITSELF else None
        found = TooFewDomains(pod_source, pod_source.replicas, room.most, (key,), (), None, "", (*pod_source.pod_path, *path), port)
        most = pod_source.scale.most
        if room.most < pod_source.replicas:
            yield few_domains(pods, found, f"{pod_source.replicas} replicas, {room.statements}", room.related)
        elif most is not None and room.most < most:
            yield few_domains_at_most(pods, found._replace(replicas=most), f"{most} replicas, {room.statements}", room.related)


def _separated_workloads(view: PoolView) -> Iterator[tuple[PoolRequirements, _Limits]]:
    """Yield the workloads whose replicas are separated, or share a port, and which may have more replicas than nodes or zones."""
    opened, rooms_of = pools_open_to(view), _limits_of_pools(view)
    for requirements in view.demands:
        pod_source, pod = requirements.pod_source, requirements.pod
        if pod_source is None or pod is None or requirements.daemon or not (parsed_terms(pod.anti_affinity) or pod.ports):
            continue
        most = max(pod_source.replicas, pod_source.scale.most or 0)
        if most < 2 or _may_run_elsewhere(requirements, view):
            continue
        rooms = rooms_of(pools_for(requirements, view.index) & opened(requirements.tolerations), requirements)
        if any(room is not None and room.most < most for room in rooms):
            yield requirements, rooms


def _may_run_elsewhere(requirements: PoolRequirements, view: PoolView) -> bool:
    """Return whether the pods may run on nodes outside the pools: those of another cluster, or control planes, mostly without a pool."""
    if view.others and pools_for(requirements, view.index_of_others):
        return True
    to_control_planes = any(first_untolerated((Taint(key, "", "NoSchedule"),), requirements.tolerations) is None for key in _CONTROL_PLANES)
    return to_control_planes and not any(view.index.statements(key).pools for key in _CONTROL_PLANES)


_CONTROL_PLANES = (CONTROL_PLANE, MASTER)


def _limits_of_pools(view: PoolView) -> Callable[[int, PoolRequirements], _Limits]:
    """Return a function for the room in a set of pools, including the listed nodes."""

    @cache
    def of_pools(mask: int) -> tuple[list[PoolLabels], int | None, tuple[str, ...]]:
        chosen = list(view.index.chosen(mask))
        return chosen, _most_nodes([labels.pool for labels in chosen]), _zones(chosen)

    def of(mask: int, requirements: PoolRequirements) -> _Limits:
        chosen, most, zones = of_pools(mask)
        # Other rules report workloads that fit no pool, and those whose pools have all nodes listed.
        if not chosen or (view.nodes and all(labels.pool.fixed for labels in chosen)):
            return _Limits(None, None)
        listed = [fact for fact in view.nodes if first_untolerated(fact.node.taints, requirements.tolerations) is None]
        return _Limits(_node_limit(chosen, most, listed), _zone_limit(chosen, zones, listed))

    return of


def _most_nodes(pools: Sequence[Pool]) -> int | None:
    """Return the most nodes that some pools may have, or None if unknown. A pool without a number may be scaled by hand."""
    counts = [pool.most for pool in pools if pool.most is not None and pool.most > 0 and not pool.per_zone]
    return sum(counts) if len(counts) == len(pools) else None


def _zones(pools: Sequence[PoolLabels]) -> tuple[str, ...]:
    """Return the zones in which some pools may have nodes; none if unknown. A cluster may add zones to those of its own pools."""
    found = [() if labels.pool.per_zone else labels.values(ZONE) for labels in pools]
    return tuple(sorted({zone for zones in found for zone in zones})) if all(found) else ()


def _node_limit(pools: Sequence[PoolLabels], most: int | None, listed: Sequence[NodeFact]) -> _Limit | None:
    if most is None or any(HOSTNAME not in fact.labels for fact in listed):
        return None
    bounds = [(labels.pool, "" if labels.pool.fixed else "at most ", labels.pool.most or 0) for labels in pools]
    parts = [f"{pool.title} has {bound}{count}" for pool, bound, count in bounds]
    parts += [f"{len(listed)} {'is' if len(listed) == 1 else 'are'} listed"] if listed else []
    number = most + len(listed)
    exact = "" if all(labels.pool.fixed for labels in pools) else "at most "
    related = _declared((pool, f"has {bound}{pluralize(count, 'node')}") for pool, bound, count in bounds)
    return _Limit(number, f"{exact}{pluralize(number, 'node')} in all ({summarize_names(parts)})", related)


def _zone_limit(pools: Sequence[PoolLabels], zones: Sequence[str], listed: Sequence[NodeFact]) -> _Limit | None:
    if not zones or any(ZONE not in fact.labels for fact in listed):
        return None
    every = sorted({*zones, *[fact.labels[ZONE] for fact in listed]})
    related = _declared((labels.pool, f"is in {summarize_names(list(map(quoted, labels.values(ZONE))))}") for labels in pools)
    return _Limit(len(every), f"{pluralize(len(every), 'zone')} in all ({summarize_names(list(map(quoted, every)))})", related)


def _declared(pools: Iterable[tuple[Pool, str]]) -> tuple[RelatedPlace, ...]:
    """Return the places that declare the first of some pools, each with its role."""
    return tuple(
        [
            RelatedPlace(pool.site.file, pool.site.document, pool.path, False, f"{pool.title} {what}")
            for pool, what in islice(pools, MOST_NAMED)
        ]
    )
