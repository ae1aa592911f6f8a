"""The compliance of the workloads of a run with its policies, for the formats of ``afflint report``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from afflint.findings.finding import NO_OBJECT, ObjectRef, Severity
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.report.html_page import PageMetadata
    from afflint.report.trends.model import Trend

State = Literal["met", "unmet", "excepted", "undecided"]
"""The compliance of a workload with a policy; ``undecided`` means not evaluated.

``excepted``: the workload violates the policy, but a comment, an annotation or the configuration exempts it.
"""


class EvaluatedWorkload(NamedTuple):
    """A workload, or another object that a policy applies to. ``owner`` and ``namespace`` are "" if unknown."""

    object: ObjectRef
    title: str
    namespace: str
    owner: str
    file: str


class Breach(NamedTuple):
    """A violation of a policy, with its position.

    ``since`` is the day on which it was added to the baseline, "" if the baseline has no day, None if it is not in the baseline.
    """

    message: str
    file: str
    line: int
    since: str | None = None


class ComplianceVerdict(NamedTuple):
    """The compliance of one workload with one policy."""

    workload: EvaluatedWorkload
    state: State
    breaches: tuple[Breach, ...] = ()
    reason: str = ""
    """Why it is not evaluated."""

    @property
    def since(self) -> str | None:
        """Return the day of the oldest violation in the baseline."""
        return oldest(each.since for each in self.breaches)


class PolicyCompliance(NamedTuple):
    """A policy, its ``configuration`` as text, and the compliance of each workload that it applies to.

    ``unasked`` is the reason if it is not evaluated for any workload.
    """

    name: str
    severity: Severity
    demand: str
    message: str | None
    configuration: str
    mandatory: bool
    verdicts: tuple[ComplianceVerdict, ...]
    unasked: str = ""
    only_unmet: bool = False
    """Whether only the violating workloads are known."""

    def number(self, state: State) -> int:
        """Return the number of workloads in a state."""
        return sum(each.state == state for each in self.verdicts)

    @property
    def is_met(self) -> bool:
        """Return whether all workloads comply or are exempt."""
        return not (self.unasked or self.number("unmet") or self.number("undecided"))

    @property
    def is_undecided(self) -> bool:
        """Return whether no violation is known, but not all workloads could be evaluated."""
        return not (self.is_met or self.number("unmet"))

    def undecided(self) -> list[ComplianceVerdict]:
        """Return the workloads that could not be evaluated."""
        return [each for each in self.verdicts if each.state == "undecided"]

    def unmet(self) -> list[ComplianceVerdict]:
        """Return the workloads that violate the policy."""
        return [each for each in self.verdicts if each.state == "unmet"]


class Compliance(NamedTuple):
    """All policies of a configuration, in its order. ``owner_key`` is the label that names owners, or "".

    ``workloads`` is the number of workloads, ``outside`` of those that no policy applies to. ``baseline`` is the file of the baseline.
    """

    policies: tuple[PolicyCompliance, ...]
    workloads: int
    outside: int
    owner_key: str
    baseline: str | None
    version: str
    made: PageMetadata | None = None
    trends: tuple[Trend, ...] = ()
    """How the findings and the violations of earlier reports changed, if the user names a history."""
    evaluated: tuple[EvaluatedWorkload, ...] = ()
    """All workloads of the run, also those that no policy applies to."""

    @property
    def has_undecided(self) -> bool:
        """Return whether a policy could not be evaluated for a workload."""
        return any(each.undecided() for each in self.policies)

    @property
    def applicable(self) -> list[PolicyCompliance]:
        """Return the policies that apply to a workload, or may apply to one."""
        return [each for each in self.policies if each.verdicts or each.only_unmet or each.unasked]


class WorkloadGroup(NamedTuple):
    """The workloads of a namespace or an owner that policies apply to."""

    name: str
    workloads: int
    content: int
    """Workloads that comply with all their policies or are exempt."""
    unmet: int
    """The number of violated policies, summed over the workloads."""
    since: str | None
    policies: tuple[str, ...]
    """The violated policies, the most frequent first."""


def grouped(compliance: Compliance, by: Literal["namespace", "owner"]) -> list[WorkloadGroup]:
    """Group the workloads by namespace or owner, most violations first."""
    found: dict[str, dict[EvaluatedWorkload, list[tuple[str, ComplianceVerdict]]]] = {}
    for policy in compliance.policies:
        for verdict in policy.verdicts:
            workload = verdict.workload
            name = workload.namespace if by == "namespace" else workload.owner
            found.setdefault(name, {}).setdefault(workload, []).append((policy.name, verdict))
    groups = [_group(name, inside) for name, inside in found.items()]
    return sorted(groups, key=lambda group: (-group.unmet, group.name == "", group.name))


def _group(name: str, inside: dict[EvaluatedWorkload, list[tuple[str, ComplianceVerdict]]]) -> WorkloadGroup:
    unmet = [(policy, verdict) for verdicts in inside.values() for policy, verdict in verdicts if verdict.state == "unmet"]
    counts = Counter(policy for policy, _ in unmet)
    content = sum(all(verdict.state in ("met", "excepted") for _, verdict in verdicts) for verdicts in inside.values())
    names = tuple(sorted(counts, key=lambda policy: (-counts[policy], policy)))
    return WorkloadGroup(name, len(inside), content, len(unmet), oldest(verdict.since for _, verdict in unmet), names)


def oldest(days: Iterable[str | None]) -> str | None:
    """Return the earliest day; "" if no day is known, None if nothing is in the baseline."""
    known = [day for day in days if day is not None]
    return min((day for day in known if day), default="" if known else None)


def number_new(verdicts: Sequence[ComplianceVerdict]) -> int:
    """Return how many of the workloads are not in the baseline."""
    return sum(verdict.since is None for verdict in verdicts)


def other(ref: ObjectRef, file: str) -> EvaluatedWorkload:
    """Return an object that is not one of the workloads."""
    if ref == NO_OBJECT:
        return EvaluatedWorkload(ref, file, "", "", file)
    return EvaluatedWorkload(ref, f"{ref.kind or 'object'} {ref.name or '(without a name)'}", ref.namespace or "", "", file)
