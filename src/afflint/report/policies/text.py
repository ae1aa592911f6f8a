"""Where workloads stand with policies, for a terminal: a line for each policy, then what is to be done, policy by policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from afflint.findings.phrases import pluralize, visible
from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped, number_new, oldest

_MOST = 12
"""So many workloads of a policy are told one by one, and as many namespaces and owners; with ``verbose`` all."""


def render(standing: Compliance, *, verbose: bool = False) -> Iterator[str]:
    """The report in lines."""
    most = None if verbose else _MOST
    yield from _policies(standing)
    for policy in standing.policies:
        unmet = policy.unmet()
        if policy.unasked:
            yield f"\n{visible(policy.name)}: {visible(policy.unasked)}\n"
        elif unmet:
            yield f"\n{visible(policy.name)}: {visible(policy.demand)}\n"
            yield from _unmet(unmet, most)
        yield from _undecided(policy)
    for by, groups in (("namespace", grouped(standing, "namespace")), (standing.owner_key, grouped(standing, "owner"))):
        if by and groups:
            yield "\n"
            columns = 5 if standing.baseline else 4
            heads = (by if by == "namespace" else f"label {by}", "workloads", "content", "unmet", "since")[:columns]
            yield from _table(heads, [_group(each)[:columns] for each in groups[:most]])
            if most is not None and len(groups) > most:
                yield f"  and {len(groups) - most} more (-v shows all)\n"
    yield f"\n{_summary(standing)}\n"


def _policies(standing: Compliance) -> Iterator[str]:
    """The table of all policies. Who is undecided is told where anybody is, what is new where a baseline knows that."""
    known = standing.baseline is not None
    kept = (True, True, True, True, True, standing.leaves_some_undecided, known, known)
    heads = ("policy", "met", "of", "unmet", "excepted", "undecided", "new", "since")
    yield from _table([*compress(heads, kept)], [[*compress(_row(each), kept)] for each in standing.policies])


def _row(policy: PolicyCompliance) -> tuple[str, ...]:
    if policy.unasked:
        return (policy.name, "-", "-", "-", "-", "-", "-", "")
    unmet, excepted, undecided = policy.unmet(), policy.number("excepted"), policy.number("undecided")
    counts = [str(number) for number in (policy.number("met"), len(policy.verdicts), len(unmet), excepted, undecided, number_new(unmet))]
    if policy.only_unmet:
        counts[:2] = "-", "-"
    return (policy.name, *counts, _day(oldest(each.since for each in unmet)))


def _group(group: WorkloadGroup) -> tuple[str, ...]:
    return (group.name or "(none)", str(group.workloads), str(group.content), str(group.unmet), _day(group.since))


def _day(day: str | None) -> str:
    """Since when something is known; what no baseline knows is new, and nothing is said of it."""
    return day if day else "" if day is None else "undated"


def _unmet(verdicts: Sequence[ComplianceVerdict], most: int | None) -> Iterator[str]:
    for verdict in verdicts[:most]:
        since = f" (since {verdict.since})" if verdict.since else "" if verdict.since is None else " (in the baseline)"
        space = f" in {verdict.workload.namespace}" if verdict.workload.namespace else ""
        owner = f", {verdict.workload.owner}" if verdict.workload.owner else ""
        where = f"{verdict.breaches[0].file}:{verdict.breaches[0].line}"
        yield f"  {visible(where)}  {visible(verdict.workload.title + space + owner)}{since}\n"
        yield from (f"    {visible(each.message)}\n" for each in verdict.breaches)
    if most is not None and len(verdicts) > most:
        yield f"  and {len(verdicts) - most} more (-v shows all)\n"


def _undecided(policy: PolicyCompliance) -> Iterator[str]:
    undecided = policy.undecided()
    if undecided:
        first, more = undecided[0], f" and {len(undecided) - 1} more" if len(undecided) > 1 else ""
        yield f"\n{visible(policy.name)}: undecided for {visible(first.workload.title)} in {visible(first.workload.file)}{more}\n"
        yield from (f"    {visible(reason)}\n" for reason in dict.fromkeys(each.reason for each in undecided))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    table = [[visible(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(heads))]
    for row in table:
        first, *others = row
        cells = [f"{first:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip() + "\n"


def _summary(standing: Compliance) -> str:
    asked = standing.asked
    kept = sum(policy.is_met for policy in asked)
    undecided = sum(policy.is_undecided for policy in asked)
    outside = f", {standing.outside} of them under no policy" if standing.outside else ""
    unknown = f", {undecided} undecided" if undecided else ""
    return f"{kept} of {pluralize(len(asked), 'policy')} met by all{unknown}; {pluralize(standing.workloads, 'workload')}{outside}."
