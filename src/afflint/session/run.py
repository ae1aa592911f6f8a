"""A run over many files: sources, map (in this process or in several), reduce, suppressions, summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from afflint.engine import Checker, FileResult, Settings
from afflint.findings import Finding, sort_key
from afflint.reading.sources import STDIN, Source, read_bytes
from afflint.report import Summary

if TYPE_CHECKING:
    from afflint.baseline import Entry
    from afflint.inventory.node_files import NodeFact

_CHUNK = 64
# Starting processes costs about as much as checking this many files.
_WORTH_PROCESSES = 300


class Outcome(NamedTuple):
    """The findings of a run, sorted, and its numbers."""

    findings: list[Finding]
    summary: Summary
    gone: int = 0
    """Baseline entries that no longer occur."""


class Options(NamedTuple):
    """How to run: processes, whether inline suppressions hold, and what is ignored in which file (names for ``covers``).

    ``baseline`` holds old findings that stay silent.
    """

    jobs: int = 1
    inline: bool = True
    ignored_in: Callable[[str], frozenset[str]] | None = None
    progress: Callable[[int], None] | None = None
    baseline: Counter[Entry] | None = None


_DEFAULT = Options()


def run(
    sources: Sequence[Source],
    settings: Settings,
    options: Options = _DEFAULT,
    context: Sequence[Source] = (),
    node_files: Sequence[Source] = (),
) -> Outcome:
    """Check ``sources``; ``context`` are further files that cross-manifest rules may look at, ``node_files`` hold the nodes.

    Which of all these files are checked makes no difference to what is found in one of them. Raises NodeFileError for a file of
    nodes that cannot be used.
    """
    nodes = _nodes_of(node_files)
    settings = settings._replace(with_nodes=bool(nodes))
    checker = Checker(settings)
    checked = list(mapped(sources, settings, options))
    facts_only = settings._replace(selected=frozenset())
    results = sorted((*checked, *mapped(context, facts_only, options)), key=lambda result: result.name)
    paths = {source.name: source for source in (*node_files, *context, *sources)}
    names = {result.name for result in checked}
    checked += [FileResult(source.name) for source in node_files if source.name not in names]
    findings: dict[str, list[Finding]] = {result.name: list(result.findings) for result in checked}

    def read(name: str) -> bytes:
        return read_bytes(paths[name])

    for finding in checker.check_fleet((result.facts for result in results), read, findings.__contains__, nodes):
        findings[finding.file].append(finding)
    kept, suppressed = _silenced(checker, checked, findings, paths, options)
    kept.sort(key=sort_key)
    gone = 0
    if options.baseline is not None:
        from afflint.baseline import apply

        kept, silenced, entries = apply(kept, options.baseline)
        suppressed, gone = suppressed + silenced, len(entries)
    return Outcome(kept, _summary(checked, kept, suppressed), gone)


def _nodes_of(node_files: Sequence[Source]) -> list[NodeFact]:
    if not node_files:
        return []
    from afflint.inventory.node_files import nodes_of

    return nodes_of(node_files)


def _silenced(
    checker: Checker,
    results: Iterable[FileResult],
    findings: dict[str, list[Finding]],
    paths: dict[str, Source],
    options: Options,
) -> tuple[list[Finding], int]:
    from afflint.config import covers

    kept: list[Finding] = []
    suppressed = 0
    for result in results:
        remaining = _without_lacks(findings[result.name], paths[result.name])
        if options.ignored_in is not None and remaining:
            names = options.ignored_in(result.name)
            remaining = [finding for finding in remaining if not covers(names, finding.rule, finding.category)] if names else remaining
        if options.inline:
            remaining, count = checker.silence(result, remaining)
            suppressed += count
        kept += remaining
    return kept, suppressed


# What a kustomization beside the manifest may add to it.
_LACKS = frozenset(("selector-missing", "selector-template-mismatch"))


def _without_lacks(findings: list[Finding], source: Source) -> list[Finding]:
    if source.path == STDIN or source.data is not None or not any(finding.rule in _LACKS for finding in findings):
        return findings
    from afflint.reading.kustomizations import made_whole

    return [finding for finding in findings if finding.rule not in _LACKS] if made_whole(source.path) else findings


def _summary(results: Sequence[FileResult], findings: Sequence[Finding], suppressed: int) -> Summary:
    severities = [finding.severity for finding in findings]
    return Summary(
        files=len(results),
        documents=sum(result.documents for result in results),
        errors=severities.count("error"),
        warnings=severities.count("warning"),
        info=severities.count("info"),
        suppressed=suppressed,
        templated=sum(result.templated for result in results),
        unread=sum(result.unread for result in results),
    )


def mapped(sources: Sequence[Source], settings: Settings, options: Options = _DEFAULT) -> Iterator[FileResult]:
    """The results of the map step in the order of the sources, whatever the number of processes."""
    if options.jobs > 1 and len(sources) >= _WORTH_PROCESSES and all(source.path != STDIN for source in sources):
        yield from _in_processes(sources, settings, options)
        return
    checker = Checker(settings)
    for done, source in enumerate(sources):
        yield _check_source(checker, source)
        if options.progress is not None and done % _CHUNK == 0:
            options.progress(done)


def _check_source(checker: Checker, source: Source) -> FileResult:
    try:
        data: bytes | None = read_bytes(source)
    except OSError as error:
        return checker.unreadable(source.name, f"cannot be read: {error.strerror or error}")
    except MemoryError:
        data = None
    if data is not None:
        with suppress(MemoryError):
            return checker.check(source.name, data)
    return checker.unreadable(source.name, "reading it takes more memory than there is")


def _in_processes(sources: Sequence[Source], settings: Settings, options: Options) -> Iterator[FileResult]:
    """The same in several processes, this one among them."""
    from functools import partial

    from afflint.session.processes import mapped

    yield from mapped(partial(_source_checker, settings), sources, options.jobs, options.progress)


def _source_checker(settings: Settings) -> Callable[[Source], FileResult]:
    checker = Checker(settings)
    return lambda source: _check_source(checker, source)
