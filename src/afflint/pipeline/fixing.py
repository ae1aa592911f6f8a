"""Applies the fixes of findings to the bytes of a file, and verifies that the result means what the fixes intend and nothing else.

There is no I/O: bytes and findings in, bytes out. A fix is offered, and applied, only if the new text parses as exactly the old data with
the symbolic edits of the fix, all other documents are the same byte for byte, the finding is gone, and the cluster would not reject
anything that it accepted before.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from afflint.checks.registry import rules
from afflint.findings.edits import EditError, Insert, Move, Remove, Rename, Replace, SymbolicEdit, applied, find, insertion_point, is_same
from afflint.findings.finding import Edit, Finding, Fix, Found, Identity, Span, identity_of
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.documents import Document, encoding_of, read, split
from afflint.yaml.editing import resolve

_SEPARATOR = "missing-separator"
"""The one rule whose fix splits a document into several; the content of the first one was overridden before."""
_REPETITION = "duplicate-key"
"""The rule whose fix changes no data, and leaves fewer duplicate keys."""
_MOST_TRIALS = 64
"""How many times a file is parsed again in one round to find a harmful fix among many; remaining fixes wait for the next round."""


Matches = Callable[[bytes], "list[Found]"]
"""Returns what is found in a text."""


class _CheckedFile(Protocol):
    """The result of the map step for one file."""

    @property
    def found(self) -> tuple[Found, ...]: ...


class FileChecker(Protocol):
    """Checks the bytes of a file: ``Checker`` of the map step."""

    def check(self, name: str, data: bytes) -> _CheckedFile: ...


class FixResult(NamedTuple):
    """The bytes of a file with the fixes of the ``made`` findings; the fixes of the ``refused`` ones have unintended effects."""

    data: bytes
    made: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()


def apply_fixes(name: str, data: bytes, findings: Sequence[Finding], checker: FileChecker) -> FixResult:
    """Apply as many fixes of these findings as do not conflict; the remaining ones can be tried on the result."""
    written = _EncodedText.decode(data)
    if written is None:
        return FixResult(data, refused=tuple(findings))
    trial = _TrialFix(data, written, lambda text: list(checker.check(name, text).found))
    offers = [each for each in _fix_offers(findings, trial) if not trial.deletes_an_error(each)]
    divided = [each for each in offers if each.splits_document]
    chosen = trial.best(_compatible(divided or offers, trial))
    return FixResult(trial.result(chosen), tuple([one for each in chosen for one in each.findings]), tuple(trial.refused))


def without_harmful_fixes(
    document: Document, found: Sequence[Found], matches: Matches, before: Sequence[Found] | None = None
) -> tuple[Found, ...]:
    """Return what was found in a document, with the edits of only those fixes that can be applied.

    ``matches`` checks a new text, and the old one unless ``before`` is what it finds there.
    """
    trial = _TrialFix(document.raw_bytes, _EncodedText(document.raw_bytes.decode(), b"", "utf-8"), matches, document.line)
    trial.start_from(document, before)
    applicable = _applicable([_finding(each) for each in found if each.edits], trial)
    return tuple([each if not each.edits or next(applicable) else each._replace(edits=(), meant=()) for each in found])


def applicable_fixes(name: str, data: bytes, findings: Sequence[Finding], checker: FileChecker) -> Iterator[bool]:
    """Yield for each finding whether its fix can be applied to the file."""
    written = _EncodedText.decode(data)
    if written is None:
        return iter([False] * len(findings))
    return _applicable(findings, _TrialFix(data, written, lambda text: list(checker.check(name, text).found)))


def _applicable(findings: Sequence[Finding], trial: _TrialFix) -> Iterator[bool]:
    """Yield for each finding whether its fix can be applied, alone or with others. A fix that was not tried in time cannot."""
    offers = [each for each in _fix_offers(findings, trial) if not trial.deletes_an_error(each)]
    good: set[int] = set()
    while offers and not trial.is_exhausted:
        chosen = _compatible([each for each in offers if each.splits_document] or offers, trial)
        made = trial.best(chosen)
        refused = {id(each) for each in trial.refused}
        tried = made if trial.is_exhausted else chosen
        good.update(id(one) for each in tried for one in each.findings if id(one) not in refused)
        offers = [each for each in offers if each not in chosen] if chosen else []
    return (id(each) in good for each in findings)


def _finding(found: Found) -> Finding:
    """Return what was found as a finding of a rule with its own severity."""
    rule = rules()[found.rule]
    fix, severity = Fix(rule.fix == "safe", found.edits, found.meant), found.severity or rule.severity
    return Finding(
        rule.name, rule.category, severity, found.message, "", "", found.document, found.span, found.object, found.field, (), fix
    )


def text_of(data: bytes) -> str | None:
    """Return the text of a file without its byte order mark; None if it cannot be decoded."""
    written = _EncodedText.decode(data)
    return written.text if written else None


class _EncodedText(NamedTuple):
    """The text of a file, with its byte order mark and encoding."""

    text: str
    mark: bytes
    encoding: str

    @classmethod
    def decode(cls, data: bytes) -> _EncodedText | None:
        """Decode a file; return None if encoding the text again does not give the same bytes."""
        mark, encoding = encoding_of(data)
        try:
            text = data[len(mark) :].decode(encoding)
        except UnicodeDecodeError:
            return None
        written = cls(text, mark, encoding)
        return written if written.as_bytes(text) == data else None

    def as_bytes(self, text: str) -> bytes:
        return self.mark + text.encode(self.encoding)


class _Offer(NamedTuple):
    """A fix that can be applied as a whole: of one finding, or of several that add keys to one map."""

    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]
    meant: tuple[SymbolicEdit, ...]

    @property
    def safe(self) -> bool:
        return all(finding.fix is not None and finding.fix.safe for finding in self.findings)

    @property
    def fixes_error(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def replaces(self) -> bool:
        """Whether it only writes other values."""
        return all(isinstance(edit, Replace) for edit in self.meant)

    @property
    def splits_document(self) -> bool:
        """Whether it splits a document into several."""
        return self.findings[0].rule == _SEPARATOR


def _fix_offers(findings: Sequence[Finding], trial: _TrialFix) -> Iterator[_Offer]:
    """Yield the fixes of findings; those that add keys to one map are joined, because each alone would create the same map."""
    adding: dict[tuple[int, Path], list[Finding]] = {}
    for finding in findings:
        if finding.fix is None:
            continue
        meant = finding.fix.meant
        if len(meant) == 1 and isinstance(meant[0], Insert) and type(meant[0].at) is str:
            adding.setdefault((finding.document, meant[0].path), []).append(finding)
        else:
            yield _Offer((finding,), finding.fix.edits, meant)
    for together in adding.values():
        joint = _join(together, trial) if len(together) > 1 else None
        if joint is not None:
            yield joint
        else:
            yield from (_Offer((each,), each.fix.edits, each.fix.meant) for each in together if each.fix is not None)


def _join(findings: Sequence[Finding], trial: _TrialFix) -> _Offer | None:
    meant = tuple(edit for finding in findings if finding.fix is not None for edit in finding.fix.meant)
    first = findings[0].fix
    document = trial.document_at(first.edits[0].span) if first is not None else None
    edits = resolve(document, meant) if document is not None else None
    return None if edits is None else _Offer(tuple(findings), edits, meant)


# Which fixes can be applied together.


def _compatible(offers: Iterable[_Offer], trial: _TrialFix) -> list[_Offer]:
    """Return the offers that change neither the same text nor the same data, in the order of the text.

    If two of them conflict, the fix of an error wins, then the first one in the text.
    """
    chosen: list[_Offer] = []
    spans = _Spans()
    data: dict[int, _TakenPaths] = {}
    for offer in sorted(offers, key=lambda each: (not each.fixes_error, each.edits[0])):
        piece = trial.piece_index(offer)
        touched = data.setdefault(piece, _TakenPaths())
        try:
            paths = [path for edit in offer.meant for path in _paths(edit, trial.document(piece).data)]
        except EditError:
            continue  # It may be applicable after the others.
        if spans.is_free(offer.edits) and touched.is_free(paths):
            spans.add(offer.edits)
            touched.add(paths)
            chosen.append(offer)
    return sorted(chosen, key=lambda each: each.edits[0])


class _Spans:
    """Spans of a text that do not touch, in order."""

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []
        self._ends: list[tuple[int, int]] = []

    def is_free(self, edits: Iterable[Edit]) -> bool:
        """Return whether the edits touch none of the spans."""
        for edit in edits:
            start, end = edit.span[:2], edit.span[2:]
            number = bisect_right(self._starts, end)
            if number and self._ends[number - 1] >= start:
                return False
        return True

    def add(self, edits: Iterable[Edit]) -> None:
        """Add the spans of the edits."""
        for edit in edits:
            number = bisect_left(self._starts, edit.span[:2])
            self._starts.insert(number, edit.span[:2])
            self._ends.insert(number, edit.span[2:])


class _TakenPaths:
    """Paths that changes have taken; no path leads through another."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._above: set[Path] = set()

    def is_free(self, paths: Iterable[Path]) -> bool:
        """Return whether none of ``paths`` is a taken one, or an ancestor or descendant of a taken one."""
        return not any(path in self._above or any(path[:length] in self._paths for length in range(len(path) + 1)) for path in paths)

    def add(self, paths: Iterable[Path]) -> None:
        """Add the paths."""
        for path in paths:
            self._paths.add(path)
            self._above.update(path[:length] for length in range(len(path)))


def _paths(edit: SymbolicEdit, data: Any) -> Iterator[Path]:
    """Yield the paths that an edit touches; nothing else may change at or below them at the same time. Raises EditError."""
    if isinstance(edit, Insert):
        path, at, _ = insertion_point(data, edit)
        # In a list, the items after it get another index.
        yield (*path, at) if type(at) is str and find(data, path) is not None else path
    elif isinstance(edit, Move):
        yield edit.path[:-1]
        yield insertion_point(data, Insert(edit.to, edit.path[-1], None))[0]
    elif isinstance(edit, Remove):
        yield edit.path[:-1]  # The parent may become empty.
    else:
        yield edit.path
        if isinstance(edit, Rename):
            yield (*edit.path[:-1], edit.key)


# The file with fixes.


class _TrialFix:
    """One file, or a document that begins at a ``line`` of it, and trials of some of its fixes."""

    def __init__(self, data: bytes, written: _EncodedText, matches: Matches, line: int = 0) -> None:
        self.refused: list[Finding] = []
        self._data, self._matches, self._line = data, matches, line
        self._written = written
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", written.text))]
        self._pieces = [(raw_bytes, line + below) for raw_bytes, below, _ in split(written.text.encode())]
        self._lines = [line for _, line in self._pieces]
        self._documents: dict[int, Document] = {}
        self._before: Sequence[Found] | None = None
        self._trials = 0

    def start_from(self, document: Document, before: Sequence[Found] | None) -> None:
        """Use a document that has been read instead of reading it again, and what was found in it."""
        self._documents[0], self._before = document, before

    # The file as it is.

    def piece_index(self, offer: _Offer) -> int:
        """Return the index of the document that a fix is in, counting empty ones."""
        return self._piece_index_at(offer.edits[0].span)

    def _piece_index_at(self, span: Span) -> int:
        return max(bisect_right(self._lines, span.line - 1) - 1, 0)

    def document_at(self, span: Span) -> Document:
        """Return the document that a span begins in."""
        return self.document(self._piece_index_at(span))

    def document(self, piece: int) -> Document:
        """Return the document with this index."""
        document = self._documents.get(piece)
        if document is None:
            raw_bytes, line = self._pieces[piece]
            document = self._documents[piece] = read(raw_bytes, piece, line)
        return document

    def deletes_an_error(self, offer: _Offer) -> bool:
        """Return whether a fix removes something that contains another error, which has to be fixed first: it shows the intention."""
        if not any(isinstance(edit, Remove) for edit in offer.meant):
            return False
        own = {identity_of(finding) for finding in offer.findings}
        errors = [each.span for each in self._matches_before() if _is_error(each) and identity_of(each) not in own]
        return any(edit.span[:2] <= error[:2] and error[2:] <= edit.span[2:] for edit in offer.edits for error in errors)

    # The file as it would be.

    @property
    def is_exhausted(self) -> bool:
        """Whether the file is not parsed again to try further fixes."""
        return self._trials >= _MOST_TRIALS

    def result(self, offers: Sequence[_Offer]) -> bytes:
        """Return the bytes of the file with these fixes."""
        return self._written.as_bytes(self._text(offers)) if offers else self._data

    def _text(self, offers: Sequence[_Offer]) -> str:
        text, starts, above = self._written.text, self._starts, self._line + 1
        parts, position = [], 0
        for (line, column, end_line, end_column), replacement in sorted(edit for offer in offers for edit in offer.edits):
            start, end = starts[line - above] + column - 1, starts[end_line - above] + end_column - 1
            parts += [text[position:start], replacement]
            position = end
        return "".join([*parts, text[position:]])

    def best(self, offers: Sequence[_Offer]) -> list[_Offer]:
        """Return as many of these as can be applied together; add the findings of those that cannot be applied alone to ``refused``."""
        if not offers or self.is_exhausted:
            return []
        self._trials += 1
        if self._is_correct(offers):
            return list(offers)
        if len(offers) == 1:
            self.refused += offers[0].findings
            return []
        middle = len(offers) // 2
        first, second = self.best(offers[:middle]), self.best(offers[middle:])
        if not first or not second:
            return first or second
        self._trials += 1
        return [*first, *second] if self._is_correct([*first, *second]) else first

    def _is_correct(self, offers: Sequence[_Offer]) -> bool:
        """Return whether these fixes have only their intended effects."""
        text = self._text(offers)
        try:
            is_intended = self._has_intended_data(text, offers)
        except EditError:
            return False
        return is_intended and self._is_better(self._written.as_bytes(text), offers)

    def _has_intended_data(self, text: str, offers: Sequence[_Offer]) -> bool:
        by_piece = grouped((self.piece_index(offer), offer) for offer in offers)
        pieces = list(split(text.encode()))
        position = 0
        for number, (raw_bytes, _) in enumerate(self._pieces):
            inside = by_piece.get(number, [])
            count = 1 + sum(each.splits_document for each in inside)
            after = [piece for piece, _, _ in pieces[position : position + count]]
            position += count
            if len(after) != count or (after != [raw_bytes] if not inside else not self._is_intended(number, after, inside)):
                return False
        return position == len(pieces)

    def _is_intended(self, number: int, pieces: Sequence[bytes], inside: Sequence[_Offer]) -> bool:
        """Return whether a document, or the documents that it is split into, have the data that the fixes intend."""
        before = self.document(number)
        after = [read(raw_bytes, number, 0) for raw_bytes in pieces]
        if before.problem is not None or any(each.problem is not None for each in after):
            return False
        if len(after) > 1:
            # In the unsplit document, the last of several equal keys took effect.
            return all(type(each.data) is dict for each in after) and is_same(
                {key: value for each in after for key, value in each.data.items()}, before.data
            )
        intended = applied(before.data, [edit for offer in inside for edit in offer.meant])
        removed = sum(finding.rule == _REPETITION for offer in inside for finding in offer.findings)
        has_duplicates_left = len(after[0].duplicates) == len(before.duplicates) - removed
        return is_same(after[0].data, intended) and has_duplicates_left and after[0].filled == before.filled

    def _is_better(self, data: bytes, offers: Sequence[_Offer]) -> bool:
        """Return whether the findings are gone, safe fixes cause no new error, and unsafe ones no new rejection by the cluster."""
        before, after = self._matches_before(), self._matches(data)
        known, left = Counter(map(identity_of, before)), Counter(map(identity_of, after))
        fixed = Counter(identity_of(finding) for offer in offers for finding in offer.findings)
        # Findings of rules across manifests are not in `known`.
        if any(left[key] > known[key] - count for key, count in fixed.items() if key in known):
            return False
        if any(offer.splits_document for offer in offers):
            return True
        if any(offer.safe for offer in offers):
            is_harm = _is_error
        elif any(offer.replaces for offer in offers):
            is_harm = _is_rejection
        else:  # The new errors were there before, in a field that was not one.
            return sum(map(_is_rejection, after)) <= sum(map(_is_rejection, before))
        # An edit changes the content of the list item around it, or the places of the items below it.
        known_places, left_places = Counter(map(_place, before)), Counter(map(_place, after))
        new = (each for each in filter(is_harm, after) if left[identity_of(each)] > known[identity_of(each)])
        return not any(left_places[place] > known_places[place] for place in map(_place, new))

    def _matches_before(self) -> Sequence[Found]:
        if self._before is None:
            self._before = self._matches(self._data)
        return self._before


def _place(match: Found) -> Identity:
    """Return the identity of a match with its list items by number."""
    return identity_of(match._replace(item=""))


def _is_rejection(match: Found) -> bool:
    """Return whether the cluster rejects the manifest for a match."""
    return rules()[match.rule].category == "admission"


def _is_error(match: Found) -> bool:
    return (match.severity or rules()[match.rule].severity) == "error"
