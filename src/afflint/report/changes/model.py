"""What a report about a change has to show: the findings that differ, and the workloads whose placement does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from afflint.findings.finding import FileId, Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize

if TYPE_CHECKING:
    from afflint.placement.plan import Plan
    from afflint.report.html_page import PageMetadata

Verdict = Literal["unchanged", "changed", "not known", "not compared"]
Direction = Literal["worse", "better", "neutral"]
"""Whether a change restricts where a workload can run or what it survives, relaxes that, or does neither."""


class PlacementEffect(NamedTuple):
    """One change of the placement of a workload, in words: ``zones: 3 → 1 (a)``."""

    text: str
    direction: Direction


REMOVED = PlacementEffect("removed", "worse")


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


class ValueChange(NamedTuple):
    """A placement value that differs in a file whose workloads are not compared.

    ``object`` is that of the API around it, "" for none; ``is_loss``: nothing runs any more.
    """

    file: str
    line: int
    object: str
    field: str
    text: str
    is_loss: bool = False
    others: int = 0
    """How many other fields have the same value from the same line."""

    @property
    def words(self) -> str:
        """Return the change with its field: ```replicaCount`: 1 → 2``."""
        of = f"{self.object}: " if self.object else ""
        more = f" and {pluralize(self.others, 'other field')}" if self.others else ""
        return f"{of}`{self.field}`{more}: {self.text}"


class NotCompared(NamedTuple):
    """A changed file, a kustomization, a chart or a workload that is not compared, and why."""

    name: str
    reason: str


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
    values: tuple[ValueChange, ...] = ()
    """The placement values that differ in files whose workloads are not compared."""
    not_compared: tuple[NotCompared, ...] = ()
    """What the change touches and was not compared."""

    @property
    def worse(self) -> bool:
        """Whether the placement of a workload got worse."""
        return any(each.direction == "worse" for each in self.workloads) or any(each.is_loss for each in self.values)

    @property
    def verdict(self) -> Verdict:
        """What is known. ``unchanged`` only if all that the change touches was compared, or creates no workloads."""
        if not self.basis:
            return "not compared"
        return "changed" if self.workloads or self.values else "not known" if self.not_compared else "unchanged"


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
