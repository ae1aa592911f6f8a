"""Compares two states of a repository: their findings, and the placement of their workloads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.changes.states import State, States, finding_changes
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.place_inputs import SeveralClustersError
from afflint.report import Summary
from afflint.report.changes.model import ChangeReport, PlacementChanges
from afflint.report.coverage import not_seen_lines
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.pipeline.options import Options
    from afflint.pipeline.place_inputs import PlaceInputs

_NO_COUNTS: Mapping[str, int] = {}


class DiffRequest(NamedTuple):
    """What is compared besides the manifests: running pods, sizes of pools, and how charts are rendered."""

    pods: Sequence[str] = ()
    counts: Mapping[str, int] = _NO_COUNTS
    network: bool = False
    offline: bool = False
    placement: bool = True
    resources: bool = True
    only_running: bool = False


def compare_states(states: States, options: Options, request: DiffRequest) -> ChangeReport:
    """Return what differs between two states. Raises UserError if one of them cannot be read."""
    mapper = states.mapper(options, placing=request.placement)
    options = options._replace(mapper=mapper, reader=mapper.reader)
    states = states.rendered(options, network=request.network, offline=request.offline)
    outcome, changes = finding_changes(states, options, mapper)
    placement = PlacementChanges((), 0, "")
    if request.placement:
        placement = _placement(states, options._replace(baseline=None), request)
    return ChangeReport(
        states.base_name,
        states.head_name,
        changes.new,
        changes.fixed,
        [(each.before, each.after) for each in changes.moved],
        changes.silenced,
        placement,
        (*states.notes, *_not_seen(outcome.summary)),
        outcome.text,
        not_rendered=states.not_rendered,
    )


def _not_seen(summary: Summary) -> Iterator[str]:
    """Yield notes about the sources of workloads that were not seen. Roots that cannot be rendered have notes of their own."""
    lines = not_seen_lines(summary.renders, summary.coverage, "compares", summary.missing_tools)
    yield from (f"{line[0].lower()}{line[1:].removesuffix('.')}" for line in lines)


def _placement(states: States, options: Options, request: DiffRequest) -> PlacementChanges:
    from afflint.changes.placement import placement_changes

    try:
        base, head, notes = _inputs(states, options, request)
    except SeveralClustersError as error:
        return PlacementChanges((), 0, "", (f"placement is not compared: {error}",))
    return placement_changes(base, head, notes, options.workers)


def _inputs(states: States, options: Options, request: DiffRequest) -> tuple[PlaceInputs, PlaceInputs, list[str]]:
    """Return the input of the simulations of both states, with notes. If only one state has nodes, they count for both."""

    def read(state: State, node_files: Sequence[Source] | None) -> PlaceInputs:
        more = {"resources": request.resources, "only_running": request.only_running, "counts": request.counts}
        with state.entered():
            return state.place(options, node_files, request.pods, **more)

    def read_base(node_files: Sequence[Source] | None = None) -> PlaceInputs:
        try:
            return read(states.base, node_files)
        except SeveralClustersError:
            raise
        except UserError as error:
            raise UserError(f"in the base ({states.base_name}): {error}") from None

    head, base = read(states.head, None), read_base()
    if has_nodes(head) == has_nodes(base):
        return base, head, []
    if has_nodes(head):
        return (
            read_base(_node_files(states.head, head)),
            head,
            [f"{states.base_name} has no nodes, so its workloads run on those of {states.head_name}"],
        )
    return (
        base,
        read(states.head, _node_files(states.base, base)),
        [f"{states.head_name} has no nodes, so its workloads run on those of {states.base_name}"],
    )


def has_nodes(inputs: PlaceInputs) -> bool:
    """Return whether nodes or node pools are known."""
    return bool(inputs.simulation_input.nodes or inputs.classes)


def _node_files(state: State, inputs: PlaceInputs) -> list[Source]:
    """Return the files with the nodes and node pools of a state."""
    numbers = {each.site.file for each in inputs.simulation_input.nodes}
    numbers |= {each.known.pool.site.file for each in inputs.classes if each.known is not None}
    names = sorted(inputs.names[number] for number in numbers if number >= 0)
    return [Source(name, os.path.join(state.folder, name)) for name in names]
