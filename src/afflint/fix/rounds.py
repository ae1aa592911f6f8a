"""Applies fixes in rounds: each round fixes what a check of all files finds after the previous one, until nothing is left to fix.

Nothing is written here: the result is the new bytes of files, and the remaining findings.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from afflint.findings.finding import FileId, Finding, identity_of, paired
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.definitions import DefinitionReader
from afflint.pipeline.fixing import apply_fixes
from afflint.pipeline.map_step import Checker, FileResult, MapSettings, fix_checker
from afflint.pipeline.mapping import map_files
from afflint.pipeline.options import Options
from afflint.pipeline.reduced_run import summary_of
from afflint.pipeline.run import Outcome
from afflint.source.sources import STDIN, Source, read_bytes

if TYPE_CHECKING:
    from afflint.pipeline.session import Session

_MOST_ROUNDS = 50


class FileChange(NamedTuple):
    """A file with its old and new bytes."""

    source: Source
    before: bytes
    after: bytes


class FixOutcome(NamedTuple):
    """The outcome after fixing, the changed files, and the skipped files with fixes: their names and the reasons."""

    outcome: Outcome
    changes: tuple[FileChange, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    before: tuple[Finding, ...] = ()
    """The findings before fixing."""

    @property
    def number(self) -> int:
        """The number of fixed findings."""
        return len(self.compared(self.outcome)[0])

    def compared(self, after: Outcome) -> tuple[list[Finding], list[Finding]]:
        """Return the findings that are fixed in an outcome of the changed files, and those that errors had hidden."""
        gone, new = list(self.before), after.findings
        for key in (_key, lambda each: _key(each._replace(item=""))):
            _, gone, new = paired(gone, new, key)
        return gone, new


def fix_files(session: Session, sources: Sequence[Source], options: Options, *, unsafe: bool, tops: Iterable[str] = ()) -> FixOutcome:
    """Fix findings in ``sources``, with ``unsafe`` also by fixes that may change the meaning of a manifest.

    ``tops`` are the paths that the user named; links that lead out of them are skipped.
    """
    wanted = (lambda _: True) if unsafe else is_safe
    return _Rounds(session, sources, options, wanted, _Reachable(tops), fix_checker(session.settings())).run()


def fix_text(source: Source, check: Callable[[Source], Iterable[Finding]], wanted: Callable[[Finding], bool], checker: Checker) -> bytes:
    """Return the bytes of a single text with the fixes of the ``wanted`` findings.

    ``check`` returns the findings of the text in its current state; ``checker`` verifies fixes, see ``fix_checker``.
    """
    done = _Rounds(_SingleTextChecker(source, check), (source,), Options(), wanted, _Reachable(()), checker).run()
    return done.changes[0].after if done.changes else read_bytes(source)


def is_safe(finding: Finding) -> bool:
    """Return whether a finding has a safe fix."""
    return finding.fix is not None and finding.fix.safe


class _FindingsSource(Protocol):
    """A source of findings: a session, or a single text."""

    stdin: Source | None

    def check(self, sources: Sequence[Source], options: Options | None = None) -> Outcome: ...


class _SingleTextChecker:
    """A findings source for one text, instead of a session."""

    def __init__(self, source: Source, check: Callable[[Source], Iterable[Finding]]) -> None:
        self.stdin: Source | None = source
        self._check = check

    def check(self, sources: Sequence[Source], _options: Options | None = None) -> Outcome:
        """Check the text."""
        findings = [each._replace(source=0) for each in self._check(sources[0])]
        return Outcome(findings, summary_of((), findings, 0), tuple(sources))


class _FileDraft:
    """A file that is being fixed: its original bytes, and its bytes after the rounds so far."""

    def __init__(self, source: Source, before: bytes) -> None:
        self.source = source
        self.before = self.after = before


class _RoundChange(NamedTuple):
    """The change of a file in one round: the bytes before it, and the findings that it fixed."""

    before: bytes
    findings: tuple[Finding, ...]


class _Rounds:
    """The files of a run after the rounds so far, identified by their real paths."""

    def __init__(
        self,
        session: _FindingsSource,
        sources: Sequence[Source],
        options: Options,
        wanted: Callable[[Finding], bool],
        reachable: _Reachable,
        checker: Checker,
    ) -> None:
        self._session, self._wanted, self._checker = session, wanted, checker
        # All rounds see a file on disk as the first one did.
        self._options = options._replace(mapper=_CachingMapper(options), reader=DefinitionReader(lambda source: source.data or b""))
        self._reachable = reachable
        self._sources = list(sources)
        self._by_path = {source.path: source for source in sources}
        self._numbers = _numbers(sources)
        self._drafts: dict[str, _FileDraft] = {}
        self._refused: set[tuple[object, ...]] = set()
        self._skipped: dict[str, str] = {}

    def run(self) -> FixOutcome:
        """Fix in rounds until nothing changes."""
        outcome = first = self._check()
        for _ in range(_MOST_ROUNDS):
            changes = self._round(outcome)
            if not changes:
                break
            known = Counter(map(_key, outcome.findings))
            after = self._check()
            outcome = self._check() if self._undo_ineffective(changes, known, after) else after
        outcome = outcome._replace(findings=[each._replace(fix=None) if _key(each) in self._refused else each for each in outcome.findings])
        drafts = sorted((each for each in self._drafts.values() if each.after != each.before), key=lambda each: each.source.name)
        files = tuple([FileChange(each.source, each.before, each.after) for each in drafts])
        return FixOutcome(outcome, files, tuple(sorted(self._skipped.items())), tuple(first.findings))

    def _check(self) -> Outcome:
        return self._session.check(self._sources, self._options)

    def _round(self, outcome: Outcome) -> dict[str, _RoundChange]:
        """Apply the fixes that can be applied together, and return the changes by the real paths of the files."""
        changes: dict[str, _RoundChange] = {}
        for file, findings in self._fixable(outcome.findings).items():
            source = outcome.sources[file]
            real_path = self._real_path(source)
            if real_path is None or real_path in changes:
                continue  # A file that several links lead to is fixed once.
            try:
                data = read_bytes(source)
            except OSError:
                continue  # It was deleted meanwhile.
            result = apply_fixes(source.known_as, data, findings, self._checker)
            self._refused.update(map(_key, result.refused))
            if result.made:
                changes[real_path] = _RoundChange(data, result.made)
                self._drafts.setdefault(real_path, _FileDraft(self._by_path[source.path], data))
                self._set_data(real_path, source.path, result.data)
        return changes

    def _fixable(self, findings: Iterable[Finding]) -> dict[FileId, list[Finding]]:
        return grouped(
            (finding.source, finding)
            for finding in findings
            if finding.fix is not None and self._wanted(finding) and _key(finding) not in self._refused
        )

    def _real_path(self, source: Source) -> str | None:
        """Return the real path of a file; None if the file must not be changed."""
        original = self._by_path.get(source.path)
        if original is None:
            return None
        stdin = self._session.stdin
        if original.data is not None or original.path == STDIN:
            return STDIN if stdin is not None and stdin.path == original.path else None
        real_path, reason = self._reachable(original.path)
        if reason:
            self._skipped[source.name] = reason
        return None if reason else real_path

    def _set_data(self, real_path: str, path: str, data: bytes) -> None:
        """Replace the bytes of a file for the next rounds."""
        self._drafts[real_path].after = data
        for number in self._numbers.get(real_path) or self._numbers[path]:
            self._sources[number] = self._sources[number]._replace(data=data)

    def _undo_ineffective(self, changes: dict[str, _RoundChange], known: Counter[tuple[object, ...]], outcome: Outcome) -> bool:
        """Undo the changes of files whose findings a rule across manifests still reports; return whether there were any."""
        left = Counter(map(_key, outcome.findings))
        undone = False
        for real_path, change in changes.items():
            counts = Counter(map(_key, change.findings))
            ineffective = {key for key, count in counts.items() if left[key] > known[key] - count}
            if ineffective:
                undone = True
                self._refused |= ineffective
                self._set_data(real_path, self._drafts[real_path].source.path, change.before)
        return undone


class _CachingMapper:
    """The map step of all rounds, which checks only changed files again, so that all rounds see the same state of the other files."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[tuple[object, ...], FileResult] = {}

    def __call__(self, sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
        # Only these settings differ between the calls of one run.
        variant = (bool(settings.rules), settings.inventory, settings.learnt, settings.target)
        keys = [(source.path, source.data, *variant) for source in sources]
        new = {key: source for key, source in zip(keys, sources, strict=True) if key not in self._known}
        options = self._options
        self._known.update(zip(new, map_files(new.values(), settings, options.workers, options.progress, options.cache), strict=True))
        return (self._known[key] for key in keys)


def _numbers(sources: Sequence[Source]) -> dict[str, list[int]]:
    """Return the indexes of the sources by path; if there are links, by real path as well, so that all names of a file are known."""
    numbers = grouped((source.path, number) for number, source in enumerate(sources))
    files = [(number, source.path) for number, source in enumerate(sources) if source.data is None and source.path != STDIN]
    if any(os.path.islink(path) for _, path in files):
        by_real_path = grouped((os.path.realpath(path), number) for number, path in files)
        numbers.update(by_real_path)
    return numbers


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.source, *identity_of(finding))


class _Reachable:
    """The files that may be changed: named files, and files below named folders, but not the targets of links that lead out of these."""

    def __init__(self, tops: Iterable[str]) -> None:
        named = list(tops)
        self._folders = [os.path.join(os.path.realpath(top), "") for top in named if os.path.isdir(top)]
        self._files = {os.path.normpath(top) for top in named if not os.path.isdir(top)}

    def __call__(self, path: str) -> tuple[str, str]:
        """Return the real path, and the reason why the file must not be changed; "" if it may be."""
        real_path = os.path.realpath(path)
        is_named = not os.path.islink(path) or os.path.normpath(path) in self._files
        inside = any(real_path.startswith(folder) for folder in self._folders)
        return real_path, "" if is_named or inside else "it is a symbolic link that leads out of the named folders"
