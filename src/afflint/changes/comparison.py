"""Compares two states of a repository: their findings, and the placement of their workloads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from afflint.changes.sides import Side, Sides, finding_changes, shared_mapper
from afflint.findings.namedtuples import NamedTuple
from afflint.report.changes.model import ChangeReport, PlacementChanges
from afflint.report.coverage import not_seen_lines
from afflint.simulation.inputs import PlaceRequest, SeveralClustersError
from afflint.source.sources import Source

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
    sides = sides.rendered(options, network=request.network, offline=request.offline)
    outcome, changes = finding_changes(sides, options, mapper)
    # Roots that cannot be rendered have notes of their own.
    summary = outcome.summary
    not_seen = not_seen_lines(summary.renders, summary.coverage, "compares", summary.missing_tools)
    placement = PlacementChanges((), 0, "")
    if request.placement:
        placement = _placement(sides, options._replace(baseline=None), request)
    return ChangeReport(
        sides.base.name,
        sides.head.name,
        changes.new,
        changes.fixed,
        changes.moved,
        changes.silenced,
        placement,
        (*sides.notes, *(f"{line[0].lower()}{line[1:].removesuffix('.')}" for line in not_seen)),
        outcome.text,
        not_rendered=sides.not_rendered,
    )


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
