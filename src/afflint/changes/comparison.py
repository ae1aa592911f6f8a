"""Compares two states of a repository: their findings, and the placement of their workloads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from afflint.changes.evidence import evidence_of
from afflint.changes.sides import Rendering, Side, Sides, finding_changes, shared_mapper
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.node_files import NodeFileError, bytes_of
from afflint.inventory.node_files import has_nodes as declares_nodes
from afflint.pipeline.definitions import may_have_nodes
from afflint.report.changes.model import REMOVED, ChangeReport, PlacementChanges, PlacementEffect, WorkloadChange
from afflint.simulation.inputs import PlaceRequest, SeveralClustersError
from afflint.source.sources import Source, is_template

if TYPE_CHECKING:
    from afflint.pipeline.options import Options
    from afflint.simulation.inputs import PlaceInputs


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
    paths, competing = [each.path for each in changed], request.placement and _have_nodes(sides)
    sides = sides.rendered(options, Rendering(request.network, request.offline, paths, only_touched=not competing))
    outcome, changes = finding_changes(sides, options, mapper)
    placement = PlacementChanges((), 0, "")
    if request.placement:
        placement = _placement(sides, options._replace(baseline=None), request)
        evidence = evidence_of(changed, sides.base, sides.head)
        not_compared = (*sides.not_rendered, *placement.not_compared, *evidence.not_compared)
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


def _perhaps_removed(change: WorkloadChange) -> WorkloadChange:
    """Return the change of a workload without the claim that it is gone: what is not compared may create it."""
    if change.effects != (REMOVED,):
        return change
    return change._replace(effects=(PlacementEffect("its manifest is removed; what is not compared may create it", "neutral"),))


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
    from afflint.changes.placement import placement_changes

    try:
        base, head, notes = _inputs(sides, options, request)
    except SeveralClustersError as error:
        return PlacementChanges((), 0, "", (f"placement is not compared: {error}",))
    return placement_changes(base, head, notes, options.workers)


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
