"""What a report about a change has to show: the findings that differ, and the workloads whose placement does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from afflint.findings.finding import FileId, Finding
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.placement.plan import Plan
    from afflint.report.html_page import PageMetadata

Direction = Literal["worse", "better", "neutral"]
"""Whether a change restricts where a workload can run or what it survives, relaxes that, or does neither."""


class PlacementEffect(NamedTuple):
    """One change of the placement of a workload, in words: ``zones: 3 → 1 (a)``."""

    text: str
    direction: Direction


class WorkloadChange(NamedTuple):
    """How the placement of a workload differs. ``before`` and ``after`` have what is known of each side as plain data; None without it."""

    workload: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    effects: tuple[PlacementEffect, ...]

    @property
    def direction(self) -> Direction:
        """The worst direction of its effects."""
        found = {each.direction for each in self.effects}
        return "worse" if "worse" in found else "better" if "better" in found else "neutral"


class PlacementChanges(NamedTuple):
    """The workloads whose placement differs, worst first.

    ``basis`` says what the comparison is based on: ``6 nodes`` or the manifests alone; empty if placement is not compared.
    """

    workloads: tuple[WorkloadChange, ...]
    compared: int
    basis: str
    notes: tuple[str, ...] = ()
    plans: Callable[[], tuple[Plan, Plan]] | None = None
    """Returns the example schedules of both sides; None without nodes."""

    @property
    def worse(self) -> bool:
        """Whether the placement of a workload got worse."""
        return any(each.direction == "worse" for each in self.workloads)


class ChangeReport(NamedTuple):
    """Everything that a format may print. ``source`` returns the text of a file of the head by its number."""

    base: str
    head: str
    new: Sequence[Finding]
    fixed: Sequence[Finding]
    moved: Sequence[tuple[Finding, Finding]]
    silenced: Sequence[Finding]
    placement: PlacementChanges
    notes: tuple[str, ...]
    source: Callable[[FileId], str | None]
    made: PageMetadata | None = None
    not_rendered: int = 0
    """How many kustomizations and charts are not compared because they cannot be rendered on both sides; notes name them."""
