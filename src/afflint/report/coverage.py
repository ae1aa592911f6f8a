"""The lines of a report about what was rendered, and which sources of workloads were not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.coverage import NEEDS_NETWORK, REMOTE_RESOURCE, Coverage, WorkloadSource, not_in_repository
from afflint.findings.grouping import grouped
from afflint.findings.phrases import join_words, pluralize, visible
from afflint.report.model import RenderSummary

_MAX_FAILED = 10


def rendered_lines(renders: RenderSummary, verbose: bool) -> Iterator[str]:
    """Yield what was rendered, and what was not and why."""
    failed = [tool for tool, _, _ in renders.failed]
    parts = [
        f"{done} of {pluralize(done + failed.count(tool), noun)}"
        for done, tool, noun in ((renders.kustomizations, "kustomize", "kustomization"), (renders.charts, "helm", "chart"))
        if done or tool in failed
    ]
    yield f"Rendered {' and '.join(parts)}." if parts else "No kustomization or chart found to render."
    yield from _failed_lines([(f"{name} ({tool})", reason) for tool, name, reason in renders.failed], verbose)
    yield from _partial_lines(renders, verbose)


def _partial_lines(renders: RenderSummary, verbose: bool) -> Iterator[str]:
    for name, reason in renders.unread if verbose else renders.unread[:_MAX_FAILED]:
        yield f"Cannot determine what {visible(name)} renders: {visible(reason)}"
    if not verbose and len(renders.unread) > _MAX_FAILED:
        yield f"Cannot determine what {len(renders.unread) - _MAX_FAILED} more render; `-v` lists them."
    if renders.without:
        yield missing_dependencies_line(renders.without)


def _failed_lines(failed: Sequence[tuple[str, str]], verbose: bool) -> Iterator[str]:
    """Yield what was not rendered and why, from names and reasons. Those with one reason share a line, unless ``verbose``."""
    alike = grouped(((name, reason) if verbose else reason, f"{visible(name)}: {visible(reason)}") for name, reason in failed)
    shown = list(alike.values()) if verbose else list(alike.values())[:_MAX_FAILED]
    for first, *others in shown:
        yield f"Not rendered: {first}{f' (and {len(others)} more)' if others else ''}"
    remaining = len(failed) - sum(map(len, shown))
    if remaining:
        yield f"Not rendered: {remaining} more; `-v` lists them."


def missing_dependencies_line(missing: Iterable[tuple[str, str]]) -> str:
    """Return the line about charts that were rendered without a dependency, from their names and those of the dependencies."""
    charts = ", ".join(f"{visible(dependency)} (for {visible(name)})" for name, dependency in missing)
    return f"Rendered without charts that are not in the repository: {charts}; `helm dependency build` fetches them."


def coverage_lines(
    renders: RenderSummary | None, coverage: Coverage, verbose: bool, reads: str = "checks", missing_tools: Sequence[str] = ()
) -> Iterator[str]:
    """Yield what was rendered, and which sources of workloads were not seen, with the option that changes this.

    ``reads`` is what the command does with manifests; ``missing_tools`` have to be installed first.
    """
    if renders is not None:
        yield from rendered_lines(renders, verbose)
        yield from _missing_lines(coverage, verbose)
    elif coverage.not_seen:
        needs = ""
        if missing_tools:
            are = "it is" if len(missing_tools) == 1 else "they are"
            needs = f" (install {join_words([f'`{each}`' for each in missing_tools])} first: {are} not on PATH)"
        yield f"Not rendered: {_counted_kinds(coverage.not_seen)}; `--render` {reads} what they create{needs}."


def _missing_lines(coverage: Coverage, verbose: bool) -> Iterator[str]:
    missing = [each for each in coverage.not_seen if each.missing]
    elsewhere = [] if verbose else [each for each in missing if each.reason == not_in_repository(each.missing)]
    if elsewhere:
        counts = sorted(Counter(each.missing for each in elsewhere).items(), key=lambda each: (-each[1], each[0]))
        shown = [f"{visible(what)}{f' ({count})' if count > 1 else ''}" for what, count in counts[:_MAX_MISSING]]
        more = [f"{len(counts) - _MAX_MISSING} more (`-v` lists them)"] if len(counts) > _MAX_MISSING else []
        # The option is for charts in a chart repository; a path is in a Git repository.
        fetched = any(each.missing.startswith("chart ") and "/" not in each.missing for each in elsewhere)
        hint = " `--render-network` fetches charts." if fetched else ""
        yield f"Not rendered: {_counted_kinds(elsewhere)}. Not in the repository: {', '.join([*shown, *more])}.{hint}"
    remaining = [(f"{each.kind} {each.name}", each.reason) for each in missing if verbose or each.reason != not_in_repository(each.missing)]
    yield from _failed_lines(remaining, verbose)
    reasons = dict.fromkeys(each.reason for each in coverage.not_seen if each.kind == "chart" and each.reason.startswith("the chart "))
    yield from (f"Left out: {visible(reason)}" for reason in list(reasons)[: None if verbose else _MAX_MISSING])
    remote = [each for each in coverage.not_seen if each.kind == REMOTE_RESOURCE]
    if remote:
        names = list(dict.fromkeys(each.name for each in remote))
        resources = f"{pluralize(len(names), REMOTE_RESOURCE)}, such as" if len(names) > 1 else REMOTE_RESOURCE
        kustomizations = pluralize(len({each.file for each in remote}), "kustomization")
        hint = f"; `--render-network` loads {'it' if len(names) == 1 else 'them'}" if remote[0].reason == NEEDS_NETWORK else ""
        yield f"Left out of {kustomizations}: {resources} {visible(names[0])}{hint}."
        tried = dict.fromkeys(each.reason for each in remote if each.reason != NEEDS_NETWORK)
        yield from (f"Left out: {visible(reason)}" for reason in list(tried)[: None if verbose else _MAX_MISSING])


_MAX_MISSING = 4


def _counted_kinds(sources: Iterable[WorkloadSource]) -> str:
    """Return ``64 HelmReleases and 2 charts``, the most frequent kind first."""
    counts = sorted(Counter(each.kind for each in sources).items(), key=lambda each: (-each[1], each[0]))
    return join_words([pluralize(count, _SHOWN.get(kind, kind)) for kind, count in counts])


_SHOWN = {"Kustomization": "Flux Kustomization"}
"""Kinds whose names differ from other kinds only in case."""
