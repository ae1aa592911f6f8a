"""Fixes made in rounds: what all files together say after one is what the next mends, until there is nothing left to mend.

Nothing is written here: what comes out are the bytes that files would have, and what would still be found in them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from afflint.checks.registry import bind_rules, rules
from afflint.findings.finding import FileId, Finding, identity_of
from afflint.findings.namedtuples import NamedTuple
from afflint.fix.fixing import apply_fixes
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import map_files
from afflint.pipeline.run import Options, Outcome, summary_of
from afflint.source.sources import STDIN, Source, read_bytes

if TYPE_CHECKING:
    from afflint.pipeline.session import Session

_MOST_ROUNDS = 50


class FileChange(NamedTuple):
    """A file with the bytes that were read and those that it is to have. ``mended``: how many findings that mends."""

    source: Source
    before: bytes
    after: bytes
    mended: int


class FixOutcome(NamedTuple):
    """What was mended, what is left, and why a file with fixes was left alone: its name and the reason."""

    outcome: Outcome
    changes: tuple[FileChange, ...]
    left_alone: tuple[tuple[str, str], ...] = ()

    @property
    def number(self) -> int:
        """How many findings were mended."""
        return sum(change.mended for change in self.changes)


def fix_files(
    session: Session, sources: Sequence[Source], options: Options, *, unsafe: bool, tops: Iterable[str] = (), only: Collection[str] = ()
) -> FixOutcome:
    """Mend what can be mended in ``sources``, also what may change the meaning of a manifest with ``unsafe``.

    ``tops`` are the paths that were named, out of which no link may lead. With ``only`` nothing but the files at these paths is mended.
    """
    wanted = _any if unsafe else is_safe
    return _Rounds(session, sources, options, wanted, _Reachable(tops), only, fix_writer(session.settings())).fixed()


def fix_text(source: Source, check: Callable[[Source], Iterable[Finding]], wanted: Callable[[Finding], bool], checker: Checker) -> bytes:
    """The bytes of a text, which nobody else looks at meanwhile, with the fixes that are wanted.

    ``check`` says what is found in it as it is by then, ``checker`` is what fixes are tried with: see ``mender``.
    """
    done = _Rounds(_SingleTextChecker(source, check), (source,), Options(), wanted, _Reachable(()), (), checker).fixed()
    return done.changes[0].after if done.changes else read_bytes(source)


def fix_writer(settings: MapSettings) -> Checker:
    """What fixes are tried with: what the cluster refuses counts, whichever rules are asked for."""
    besides = {name for name, rule in rules().items() if rule.category == "admission"}.difference(each.name for each in settings.rules)
    return Checker(settings._replace(rules=(*settings.rules, *bind_rules(besides))))


def is_safe(finding: Finding) -> bool:
    """Whether the fix of a finding can be made without asking."""
    return finding.fix is not None and finding.fix.safe


def _any(_finding: Finding) -> bool:
    return True


class _FindingsSource(Protocol):
    """What says what is found in some files: a session as a rule."""

    stdin: Source | None

    def check(self, sources: Sequence[Source], options: Options | None = None) -> Outcome: ...


class _SingleTextChecker:
    """In place of a session: one text."""

    def __init__(self, source: Source, check: Callable[[Source], Iterable[Finding]]) -> None:
        self.stdin: Source | None = source
        self._check = check

    def check(self, sources: Sequence[Source], _options: Options | None = None) -> Outcome:
        found = [each._replace(source=0) for each in self._check(sources[0])]
        return Outcome(found, summary_of((), found, 0), tuple(sources))


class _FileDraft:
    """A file that is mended: the bytes that were read and those that it is to have by now."""

    def __init__(self, source: Source, before: bytes) -> None:
        self.source = source
        self.before = self.after = before
        self.count = 0


class _RoundChange(NamedTuple):
    """What one round did to a file: the bytes before it, and the findings that it mended."""

    before: bytes
    findings: tuple[Finding, ...]


class _Rounds:
    """The files of a run, as they are after the rounds so far. Each is known by its place, links resolved."""

    def __init__(
        self,
        session: _FindingsSource,
        sources: Sequence[Source],
        options: Options,
        wanted: Callable[[Finding], bool],
        reachable: _Reachable,
        only: Collection[str],
        checker: Checker,
    ) -> None:
        self._session, self._wanted, self._checker = session, wanted, checker
        self._options = options._replace(mapper=_CachingMapper(options))
        self._reachable, self._only = reachable, only
        self._sources = list(sources)
        self._given = {source.path: source for source in sources}
        self._numbers = _numbers(sources)
        self._drafts: dict[str, _FileDraft] = {}
        self._refused: set[tuple[object, ...]] = set()
        self._left_alone: dict[str, str] = {}

    def fixed(self) -> FixOutcome:
        outcome = self._check()
        for _ in range(_MOST_ROUNDS):
            made = self._round(outcome)
            if not made:
                break
            known = Counter(map(_key, outcome.findings))
            after = self._check()
            outcome = self._check() if self._undone(made, known, after) else after
        outcome = outcome._replace(findings=[each._replace(fix=None) if _key(each) in self._refused else each for each in outcome.findings])
        drafts = sorted((each for each in self._drafts.values() if each.after != each.before), key=lambda each: each.source.name)
        changes = tuple([FileChange(each.source, each.before, each.after, each.count) for each in drafts])
        return FixOutcome(outcome, changes, tuple(sorted(self._left_alone.items())))

    def _check(self) -> Outcome:
        return self._session.check(self._sources, self._options)

    def _round(self, outcome: Outcome) -> dict[str, _RoundChange]:
        """Mend what can be mended at once, by the places of the files that this changes."""
        made: dict[str, _RoundChange] = {}
        for file, findings in self._fixable(outcome.findings).items():
            source = outcome.sources[file]
            place = self._place(source)
            if place is None or place in made:
                continue  # What a link leads to is one file, under whichever name.
            try:
                data = read_bytes(source)
            except OSError:
                continue  # It has gone meanwhile.
            result = apply_fixes(source.known_as, data, findings, self._checker)
            self._refused.update(map(_key, result.refused))
            if result.made:
                made[place] = _RoundChange(data, result.made)
                draft = self._drafts.setdefault(place, _FileDraft(self._given[source.path], data))
                draft.count += len(result.made)
                self._put(place, source.path, result.data)
        return made

    def _fixable(self, findings: Iterable[Finding]) -> dict[FileId, list[Finding]]:
        found: dict[FileId, list[Finding]] = {}
        for finding in findings:
            if finding.fix is not None and self._wanted(finding) and _key(finding) not in self._refused:
                found.setdefault(finding.source, []).append(finding)
        return found

    def _place(self, source: Source) -> str | None:
        """Where the bytes of a file are; None for one that is not to be changed."""
        given = self._given.get(source.path)
        if given is None or (self._only and source.path not in self._only):
            return None
        stdin = self._session.stdin
        if given.data is not None or given.path == STDIN:
            return STDIN if stdin is not None and stdin.path == given.path else None
        place, reason = self._reachable(given.path)
        if reason:
            self._left_alone[source.name] = reason
        return None if reason else place

    def _put(self, place: str, path: str, data: bytes) -> None:
        """From now on the file at this place has these bytes."""
        self._drafts[place].after = data
        for number in self._numbers.get(place) or self._numbers[path]:
            self._sources[number] = self._sources[number]._replace(data=data)

    def _undone(self, made: dict[str, _RoundChange], known: Counter[tuple[object, ...]], outcome: Outcome) -> bool:
        """Undo the fixes after which what they were to mend is found all the same, as rules across manifests see it."""
        left = Counter(map(_key, outcome.findings))
        undone = False
        for place, mending in made.items():
            counts = Counter(map(_key, mending.findings))
            vain = {key for key, count in counts.items() if left[key] > known[key] - count}
            if vain:
                undone = True
                self._refused |= vain
                draft = self._drafts[place]
                draft.count -= len(mending.findings)
                self._put(place, draft.source.path, mending.before)
        return undone


class _CachingMapper:
    """The map step of all rounds: only what has changed is read again, so that all of them see a file as it was at first."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[tuple[object, ...], FileResult] = {}

    def __call__(self, sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
        # These settings differ between the calls of one run; the others do not.
        variant = (bool(settings.rules), settings.with_nodes, settings.learnt, settings.defining, settings.target.known_labels)
        keys = [(source.path, source.data, *variant) for source in sources]
        new = {key: source for key, source in zip(keys, sources, strict=True) if key not in self._known}
        asked = self._options
        self._known.update(zip(new, map_files(new.values(), settings, asked.jobs, asked.progress, asked.cache), strict=True))
        return (self._known[key] for key in keys)


def _numbers(sources: Sequence[Source]) -> dict[str, list[int]]:
    """The sources by their paths; and where there are links by the places of their files, so that each is known under all its names."""
    found: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        found.setdefault(source.path, []).append(number)
    files = [(number, source.path) for number, source in enumerate(sources) if source.data is None and source.path != STDIN]
    if any(os.path.islink(path) for _, path in files):
        places: dict[str, list[int]] = {}
        for number, path in files:
            places.setdefault(os.path.realpath(path), []).append(number)
        found.update(places)
    return found


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.source, *identity_of(finding))


class _Reachable:
    """Which files may be changed: those that were named, and those below folders that were; not what links in these lead to elsewhere."""

    def __init__(self, tops: Iterable[str]) -> None:
        named = list(tops)
        self._folders = [os.path.join(os.path.realpath(top), "") for top in named if os.path.isdir(top)]
        self._files = {os.path.normpath(top) for top in named if not os.path.isdir(top)}

    def __call__(self, path: str) -> tuple[str, str]:
        """The file itself, links resolved, and why it is not to be changed; "" if it may be."""
        place = os.path.realpath(path)
        is_named = not os.path.islink(path) or os.path.normpath(path) in self._files
        inside = any(place.startswith(folder) for folder in self._folders)
        return place, "" if is_named or inside else "it is a link that leads out of the folders that were named"
