"""Where the workloads of a run stand with its policies: values for the formats of ``afflint report``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from afflint.findings.finding import NO_OBJECT, ObjectRef, Severity
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.report.html_page import PageMetadata

State = Literal["met", "unmet", "excepted", "undecided"]
"""What a workload makes of a policy; ``undecided`` where the policy came to no result for it.

``excepted``: it does not meet it, and a comment, an annotation or the configuration lets it be.
"""


class EvaluatedWorkload(NamedTuple):
    """An object that makes pods, or another one that a policy is about. ``owner`` and ``namespace`` are "" where nothing says them."""

    object: ObjectRef
    title: str
    namespace: str
    owner: str
    file: str


class Breach(NamedTuple):
    """What keeps a workload from meeting a policy, and where that stands.

    ``since`` is the day from which on a baseline knows it, "" where the baseline does not say, None for what is in no baseline.
    """

    message: str
    file: str
    line: int
    since: str | None = None


class ComplianceVerdict(NamedTuple):
    """A workload under a policy."""

    workload: EvaluatedWorkload
    state: State
    breaches: tuple[Breach, ...] = ()
    reason: str = ""
    """Why it is undecided, where it is."""

    @property
    def since(self) -> str | None:
        """The day of the oldest breach that a baseline knows."""
        return oldest(each.since for each in self.breaches)


class PolicyCompliance(NamedTuple):
    """A policy, how the configuration says it, and what each workload that it is about makes of it.

    ``unasked`` says why it came to no result for anybody, where that is so.
    """

    name: str
    severity: Severity
    demand: str
    message: str | None
    said: str
    mandatory: bool
    verdicts: tuple[ComplianceVerdict, ...]
    unasked: str = ""
    only_unmet: bool = False
    """Whether only those are known that do not meet it: nobody asks for the others."""

    def number(self, state: State) -> int:
        """How many workloads there are in a state."""
        return sum(each.state == state for each in self.verdicts)

    @property
    def is_met(self) -> bool:
        """Whether all whom it is about are known to meet it, or are excepted."""
        return not (self.unasked or self.number("unmet") or self.number("undecided"))

    @property
    def is_undecided(self) -> bool:
        """Whether nobody is known not to meet it, and not all could be asked."""
        return not (self.is_met or self.number("unmet"))

    def undecided(self) -> list[ComplianceVerdict]:
        """The workloads that it came to no result for."""
        return [each for each in self.verdicts if each.state == "undecided"]

    def unmet(self) -> list[ComplianceVerdict]:
        """The workloads that do not meet it."""
        return [each for each in self.verdicts if each.state == "unmet"]


class Compliance(NamedTuple):
    """All policies of a configuration, in its order. ``owner_key`` is the label that names owners, "" where none does.

    ``workloads`` counts those of the run, ``outside`` those that no policy is about. ``baseline`` is its file.
    """

    policies: tuple[PolicyCompliance, ...]
    workloads: int
    outside: int
    owner_key: str
    baseline: str | None
    version: str
    made: PageMetadata | None = None

    @property
    def leaves_some_undecided(self) -> bool:
        """Whether a policy came to no result for some workload."""
        return any(each.undecided() for each in self.policies)

    @property
    def asked(self) -> list[PolicyCompliance]:
        """The policies that are about anything here, as far as that is known."""
        return [each for each in self.policies if each.verdicts or each.only_unmet or each.unasked]


class WorkloadGroup(NamedTuple):
    """The workloads of a namespace or an owner, as far as policies are about them."""

    name: str
    workloads: int
    content: int
    """Those that meet all policies which are about them, or are excepted."""
    unmet: int
    """How often one of them does not meet one."""
    since: str | None
    policies: tuple[str, ...]
    """The policies that are not met, the most frequent first."""


def grouped(standing: Compliance, by: Literal["namespace", "owner"]) -> list[WorkloadGroup]:
    """The workloads by namespace or by owner, those with most to do first."""
    found: dict[str, dict[EvaluatedWorkload, list[tuple[str, ComplianceVerdict]]]] = {}
    for policy in standing.policies:
        for verdict in policy.verdicts:
            workload = verdict.workload
            name = workload.namespace if by == "namespace" else workload.owner
            found.setdefault(name, {}).setdefault(workload, []).append((policy.name, verdict))
    groups = [_group(name, inside) for name, inside in found.items()]
    return sorted(groups, key=lambda group: (-group.unmet, group.name == "", group.name))


def _group(name: str, inside: dict[EvaluatedWorkload, list[tuple[str, ComplianceVerdict]]]) -> WorkloadGroup:
    unmet = [(policy, verdict) for verdicts in inside.values() for policy, verdict in verdicts if verdict.state == "unmet"]
    counts: dict[str, int] = {}
    for policy, _ in unmet:
        counts[policy] = counts.get(policy, 0) + 1
    content = sum(all(verdict.state in ("met", "excepted") for _, verdict in verdicts) for verdicts in inside.values())
    names = tuple(sorted(counts, key=lambda policy: (-counts[policy], policy)))
    return WorkloadGroup(name, len(inside), content, len(unmet), oldest(verdict.since for _, verdict in unmet), names)


def oldest(days: Iterable[str | None]) -> str | None:
    """The first of some days; "" if all that a baseline knows has none, None if it knows nothing."""
    known = [day for day in days if day is not None]
    return min((day for day in known if day), default="" if known else None)


def number_new(verdicts: Sequence[ComplianceVerdict]) -> int:
    """How many workloads no baseline knows."""
    return sum(verdict.since is None for verdict in verdicts)


def other(ref: ObjectRef, file: str) -> EvaluatedWorkload:
    """An object that is none of the workloads."""
    if ref == NO_OBJECT:
        return EvaluatedWorkload(ref, file, "", "", file)
    return EvaluatedWorkload(ref, f"{ref.kind or 'object'} {ref.name or '(without a name)'}", ref.namespace or "", "", file)
