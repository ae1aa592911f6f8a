"""Compares two states of a repository: their findings, and the placement of their workloads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from afflint.changes.evidence import evidence_of
from afflint.changes.sides import Rendering, Side, Sides, finding_changes, shared_mapper
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.node_files import NodeFileError, bytes_of
from afflint.inventory.node_files import has_nodes as declares_nodes
from afflint.pipeline.definitions import may_have_nodes
from afflint.pipeline.options import Options
from afflint.report.changes.model import REMOVED, ChangeReport, NotCompared, PlacementChanges, PlacementEffect, WorkloadChange
from afflint.simulation.inputs import Cluster, PlaceInputs, PlaceRequest, SeveralClustersError
from afflint.source.sources import Source, is_template, relative


class DiffRequest(NamedTuple):
    """What is compared besides the manifests, and how charts are rendered."""

    pods: Sequence[str] = ()
    network: bool = False
    offline: bool = False
    placement: bool = True
    place: PlaceRequest = PlaceRequest()


def compare_sides(sides: Sides, options: Options, request: DiffRequest) -> ChangeReport:
    """Return what differs between two sides. Raises UserError if one of them cannot be read."""
    mapper = shared_mapper((sides.base, sides.head), options, placing=request.placement)
    options = options._replace(mapper=mapper, reader=mapper.reader)
    with sides.head.entered():
        changed = sides.changed.read() if sides.changed is not None else []
    renders = any(side.session.config.render for side in (sides.base, sides.head))
    paths, competing = [each.path for each in changed], renders and request.placement and _have_nodes(sides)
    sides = sides.rendered(options, Rendering(request.network, request.offline, paths, only_touched=not competing))
    outcome, changes = finding_changes(sides, options, mapper)
    placement = PlacementChanges((), 0, "")
    if request.placement:
        placement = _placement(sides, options._replace(baseline=None), request)
        evidence = evidence_of(changed, sides.base, sides.head)
        not_compared = (*_read_by_one(sides), *sides.not_rendered, *placement.not_compared, *evidence.not_compared)
        placement = placement._replace(values=evidence.values, not_compared=not_compared)
        if not_compared:
            placement = placement._replace(workloads=tuple(map(_perhaps_removed, placement.workloads)))
    return ChangeReport(
        sides.base.name,
        sides.head.name,
        changes.new,
        changes.fixed,
        changes.moved,
        changes.silenced,
        placement,
        sides.notes,
        outcome.text,
    )


def _read_by_one(sides: Sides) -> list[NotCompared]:
    """Return the files that both sides have, and that only one of them reads because the configuration has changed."""
    base, head = sides.base.session.config, sides.head.session.config
    if (base.exclude, base.include) == (head.exclude, head.include):
        return []
    names = {}
    for side in (sides.base, sides.head):
        with side.entered():
            names[side] = {relative(each.path) for each in side.sources()}
    found = []
    for side, other in ((sides.base, sides.head), (sides.head, sides.base)):
        only = sorted(name for name in names[side] - names[other] if os.path.isfile(os.path.join(other.folder, name)))
        found += [NotCompared(name, f"only {side.name} reads it, by its configuration") for name in only]
    return found


def _perhaps_removed(change: WorkloadChange) -> WorkloadChange:
    """Return the change of a workload without the claim that it is gone: what is not compared may create it."""
    if change.effects != (REMOVED,):
        return change
    return change._replace(effects=(PlacementEffect("gone from what is compared; what is not compared may create it", "neutral"),))


def _have_nodes(sides: Sides) -> bool:
    """Return whether nodes or pools are known: then all workloads count, because they compete for the nodes."""
    for side in (sides.base, sides.head):
        with side.entered() as session:
            if session.node_files() or any(_declares_nodes(each) for each in side.sources()):
                return True
    return False


def _declares_nodes(source: Source) -> bool:
    try:
        data = bytes_of(source)
        return not is_template(source.name) and may_have_nodes(data) and declares_nodes(source.name, data)
    except NodeFileError:
        return False


def _placement(sides: Sides, options: Options, request: DiffRequest) -> PlacementChanges:
    """Return how placement differs, in each cluster if the files are for several."""
    try:
        return _in_one_cluster(sides, options, request)
    except (SeveralClustersError, NodeFileError) as error:
        clusters = _clusters(sides, options, request)
        if not clusters:
            if any(side.session.config.nodes for side in (sides.base, sides.head)):
                raise
            return _without_nodes(sides, options, request, str(error))
    found = {}
    for cluster in clusters:
        own = request._replace(place=request.place._replace(cluster=cluster))
        found[cluster.name] = _in_one_cluster(sides, options, own)
    return _merged(found)


def _in_one_cluster(sides: Sides, options: Options, request: DiffRequest) -> PlacementChanges:
    from afflint.changes.placement import placement_changes

    base, head, notes = _inputs(sides, options, request)
    return placement_changes(base, head, notes, options.workers)


def _without_nodes(sides: Sides, options: Options, request: DiffRequest, problem: str) -> PlacementChanges:
    """Return how placement differs by the manifests alone: the nodes in them cannot be used."""
    from afflint.changes.placement import placement_changes

    read = []
    for side in (sides.base, sides.head):
        with side.entered():
            read.append(side.place(options, (), request.pods, request.place))
    return placement_changes(read[0], read[1], (f"the nodes are not used: {problem}",), options.workers)


def _clusters(sides: Sides, options: Options, request: DiffRequest) -> list[Cluster]:
    """Return the clusters of both sides, if one side has several."""
    found: dict[str, Cluster] = {}
    for side in (sides.head, sides.base):
        with side.entered():
            try:
                side.place(options, None, request.pods, request.place)
            except NodeFileError:
                continue  # The folders of the other side may show whose nodes these are.
            except SeveralClustersError as error:
                for each in error.clusters:
                    known = found.get(each.name)
                    found[each.name] = each if known is None else known.merged(each)  # type: ignore[arg-type]
    return [found[name] for name in sorted(found)]


def _merged(found: Mapping[str, PlacementChanges]) -> PlacementChanges:
    """Return the changes of several clusters, by their names, with the cluster in front of each workload; "" is for no cluster."""

    def titled(cluster: str, what: str) -> str:
        return f"{cluster}: {what}" if cluster else what

    workloads = [change._replace(workload=titled(name, change.workload)) for name, changes in found.items() for change in changes.workloads]
    not_compared = [each._replace(name=titled(name, each.name)) for name, changes in found.items() for each in changes.not_compared]
    listed = [f"{name} ({changes.basis.partition(' of ')[0]})" for name, changes in found.items() if name]
    return PlacementChanges(
        tuple(sorted(workloads, key=lambda each: each.direction != "worse")),
        sum(changes.compared for changes in found.values()),
        f"{len(listed)} clusters: {', '.join(listed)}",
        tuple(dict.fromkeys(titled(name, note) for name, changes in found.items() for note in changes.notes)),
        not_compared=tuple(not_compared),
    )


def _inputs(sides: Sides, options: Options, request: DiffRequest) -> tuple[PlaceInputs, PlaceInputs, list[str]]:
    """Return the input of the simulations of both sides, with notes. If only one side has nodes, they count for both."""

    def read(side: Side, node_files: Sequence[Source] | None = None) -> PlaceInputs:
        with side.entered():
            return side.place(options, node_files, request.pods, request.place)

    head, base = read(sides.head), read(sides.base)
    if has_nodes(head) == has_nodes(base):
        return base, head, []
    with_nodes, without = (sides.head, sides.base) if has_nodes(head) else (sides.base, sides.head)
    note = f"{without.name} has no nodes, so its workloads run on those of {with_nodes.name}"
    if has_nodes(head):
        return read(sides.base, _node_files(sides.head, head)), head, [note]
    return base, read(sides.head, _node_files(sides.base, base)), [note]


def has_nodes(inputs: PlaceInputs) -> bool:
    """Return whether nodes or node pools are known."""
    return bool(inputs.simulation_input.nodes or inputs.classes)


def _node_files(side: Side, inputs: PlaceInputs) -> list[Source]:
    """Return the files with the nodes and node pools of a side."""
    numbers = {each.site.file for each in inputs.simulation_input.nodes}
    numbers |= {each.known.pool.site.file for each in inputs.classes if each.known is not None}
    names = sorted(inputs.names[number] for number in numbers if number >= 0)
    return [Source(name, os.path.join(side.folder, name)) for name in names]
