"""The compliance report for a terminal: a line per policy, then the violations by policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from afflint.findings.phrases import pluralize, visible
from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped, number_new, oldest
from afflint.report.trends.model import MOST, Trend, tables
from afflint.report.trends.model import summary as trend_summary


def render(compliance: Compliance, *, verbose: bool = False) -> Iterator[str]:
    """Yield the report in chunks: the compliance, if there are policies, then the trends. With ``verbose``, nothing is left out."""
    if compliance.policies:
        yield from _compliance(compliance, None if verbose else MOST)
    for number, trend in enumerate(compliance.trends):
        yield "\n" * bool(number or compliance.policies)
        yield from _trend(trend, verbose=verbose)


def _compliance(compliance: Compliance, most: int | None) -> Iterator[str]:
    heads, *rows = policy_rows(compliance)
    yield from _aligned(heads, rows)
    for policy in compliance.policies:
        unmet = policy.unmet()
        if policy.unasked:
            yield f"\n{visible(policy.name)}: {visible(policy.unasked)}\n"
        elif unmet:
            yield f"\n{visible(policy.name)}: {visible(policy.demand)}\n"
            yield from _unmet(unmet, most)
        yield from _undecided(policy)
    for by, groups in (("namespace", grouped(compliance, "namespace")), (compliance.owner_key, grouped(compliance, "owner"))):
        if by and groups:
            yield "\n"
            heads = group_heads(compliance, by if by == "namespace" else f"label {by}")
            yield from _aligned(heads, [group_cells(compliance, each) for each in groups[:most]])
            if most is not None and len(groups) > most:
                yield f"  and {len(groups) - most} more (`-v` shows all)\n"
    yield f"\n{summary(compliance)}\n"


def policy_rows(compliance: Compliance) -> Iterator[list[str]]:
    """Yield the heads of the table of policies, then its rows; `not evaluated` is one if it occurs, `new` and `since` with a baseline."""
    known = compliance.baseline is not None
    kept = (True, True, True, True, True, compliance.has_undecided, known, known)
    yield [*compress(("policy", "compliant", "of", "violating", "exempt", "not evaluated", "new", "since"), kept)]
    yield from ([*compress(_row(each), kept)] for each in compliance.policies)


def _row(policy: PolicyCompliance) -> tuple[str, ...]:
    if policy.unasked:
        return (policy.name, "-", "-", "-", "-", "-", "-", "")
    unmet, excepted, undecided = policy.unmet(), policy.number("excepted"), policy.number("undecided")
    counts = [str(number) for number in (policy.number("met"), len(policy.verdicts), len(unmet), excepted, undecided, number_new(unmet))]
    if policy.only_unmet:
        counts[:2] = "-", "-"
    return (policy.name, *counts, day_words(oldest(each.since for each in unmet)))


def group_heads(compliance: Compliance, name: str) -> list[str]:
    """Return the heads of a table of namespaces or owners; ``name`` is the first."""
    return [name, "workloads", "compliant", "violations", *(["since"] if compliance.baseline else [])]


def group_cells(compliance: Compliance, group: WorkloadGroup) -> list[str]:
    """Return the row of a group, in the columns of ``group_heads``."""
    since = [day_words(group.since)] if compliance.baseline else []
    return [group.name or "(none)", str(group.workloads), str(group.content), str(group.unmet), *since]


def day_words(day: str | None) -> str:
    """Return the day since which the baseline has a violation; nothing for a new one."""
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
        yield f"  and {len(verdicts) - most} more (`-v` shows all)\n"


def _undecided(policy: PolicyCompliance) -> Iterator[str]:
    undecided = policy.undecided()
    if undecided:
        first, more = undecided[0], f" and {len(undecided) - 1} more" if len(undecided) > 1 else ""
        yield f"\n{visible(policy.name)}: not evaluated for {visible(first.workload.title)} in {visible(first.workload.file)}{more}\n"
        yield from (f"    {visible(reason)}\n" for reason in dict.fromkeys(each.reason for each in undecided))


def summary(compliance: Compliance) -> str:
    """Return how many policies all workloads meet, and how many workloads there are."""
    policies = compliance.applicable
    if not compliance.workloads:
        return f"No workload found; {pluralize(len(compliance.policies), 'policy')}."
    kept = sum(policy.is_met for policy in policies)
    undecided = sum(policy.is_undecided for policy in policies)
    outside = f", {compliance.outside} without a policy" if compliance.outside else ""
    unknown = f", {undecided} not evaluated" if undecided else ""
    workloads = f"{pluralize(compliance.workloads, 'workload')}{outside}"
    return f"{kept} of {pluralize(len(policies), 'policy')} met by all workloads{unknown}; {workloads}."


def _trend(trend: Trend, *, verbose: bool) -> Iterator[str]:
    """Yield a sentence, a table of the reports, a table per group, and what the last report added and fixed."""
    most = None if verbose else MOST
    yield f"{trend.title}: {trend_summary(trend)}\n"
    for number, (heads, rows, rest) in enumerate(tables(trend, most)):
        yield "\n"
        yield from _aligned(heads, rows)
        if rest:
            yield f"  and {rest} {'earlier' if not number else 'more'} (`-v` shows all)\n"
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield f"\n{title} since {trend.points[-2].date}:\n"
            for each in found[:most]:
                yield visible(f"  {each.file}:{each.span.line}  {each.severity}  {each.message} [{each.rule}]") + "\n"
            if most is not None and len(found) > most:
                yield f"  and {len(found) - most} more (`-v` shows all)\n"


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right."""
    table = [[visible(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(heads))]
    for row in table:
        first, *others = row
        cells = [f"{first:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip() + "\n"
