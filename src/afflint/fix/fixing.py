"""Makes the fixes that findings offer: other bytes for a file, of which it is certain that they say what was meant, and nothing else.

Pure: bytes and findings in, bytes out. Whatever is not certain is left as it was. A fix counts when the text with it reads as exactly the
data with the edits of the data that it stands for, every other document is the same byte for byte, its finding is gone, and the cluster
would refuse nothing that it did not refuse before.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from afflint.checks.registry import rules
from afflint.findings.edits import EditError, Insert, Move, Remove, Rename, SymbolicEdit, applied, find, insertion_point, is_same
from afflint.findings.finding import Edit, Finding, Found, Path, Span, identity_of
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker
from afflint.yaml.documents import Document, encoding_of, read, split
from afflint.yaml.editing import resolve

_SEPARATOR = "missing-separator"
"""The one rule whose fix makes several documents of one; what the first of them said was not read before."""
_REPETITION = "duplicate-key"
"""The rule whose fix changes no data, and leaves fewer keys that come twice."""
_MOST_TRIALS = 64
"""So often a file is read again at a time to find the one fix that does harm among many. What is left then has to wait."""


class FixResult(NamedTuple):
    """The bytes of a file with the fixes of the findings that were ``made``. Those ``refused`` would do something else, too."""

    data: bytes
    made: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()


def apply_fixes(name: str, data: bytes, findings: Sequence[Finding], checker: Checker) -> FixResult:
    """Make as many of the fixes of these findings as do not get in each other's way; what is left can be tried on what comes out."""
    written = _Written.of(data)
    if written is None:
        return FixResult(data, refused=tuple(findings))
    trial = _TrialFix(name, data, written, checker)
    offers = [each for each in _offers(findings, trial) if not trial.deletes_an_error(each)]
    divided = [each for each in offers if each.divides]
    chosen = trial.best(_compatible(divided or offers, trial))
    return FixResult(trial.result(chosen), tuple([one for each in chosen for one in each.findings]), tuple(trial.refused))


def text_of(data: bytes) -> str | None:
    """The text of a file, without its byte order mark; None where it has bytes that are no text."""
    written = _Written.of(data)
    return written.text if written else None


class _Written(NamedTuple):
    """A text, and how it is made of bytes."""

    text: str
    mark: bytes
    encoding: str

    @classmethod
    def of(cls, data: bytes) -> _Written | None:
        """None for what cannot be written again just as it is."""
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
    """A fix as it can be made: of one finding, or of several that add to one map."""

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
    def divides(self) -> bool:
        """Whether it makes several documents of one."""
        return self.findings[0].rule == _SEPARATOR


def _offers(findings: Sequence[Finding], trial: _TrialFix) -> Iterator[_Offer]:
    """The fixes of findings; those that add keys to one map are one, as each of them alone would have to make the same map."""
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
        joint = _joined(together, trial) if len(together) > 1 else None
        if joint is not None:
            yield joint
        else:
            yield from (_Offer((each,), each.fix.edits, each.fix.meant) for each in together if each.fix is not None)


def _joined(findings: Sequence[Finding], trial: _TrialFix) -> _Offer | None:
    meant = tuple(edit for finding in findings if finding.fix is not None for edit in finding.fix.meant)
    first = findings[0].fix
    document = trial.document_at(first.edits[0].span) if first is not None else None
    edits = resolve(document, meant) if document is not None else None
    return None if edits is None else _Offer(tuple(findings), edits, meant)


# Which fixes can be made at once.


def _compatible(offers: Iterable[_Offer], trial: _TrialFix) -> list[_Offer]:
    """The offers that touch neither the same text nor the same data, in the order of the text.

    Of two that do, the fix of an error comes first, then the one that is first in the text.
    """
    chosen: list[_Offer] = []
    stretches = _Stretches()
    data: dict[int, _Touched] = {}
    for offer in sorted(offers, key=lambda each: (not each.fixes_error, each.edits[0])):
        piece = trial.piece_of(offer)
        touched = data.setdefault(piece, _Touched())
        try:
            paths = [path for edit in offer.meant for path in _paths(edit, trial.document(piece).data)]
        except EditError:
            continue  # Made after others it may make sense.
        if stretches.free(offer.edits) and touched.free(paths):
            stretches.take(offer.edits)
            touched.take(paths)
            chosen.append(offer)
    return sorted(chosen, key=lambda each: each.edits[0])


class _Stretches:
    """Stretches of a text that do not touch, in order."""

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []
        self._ends: list[tuple[int, int]] = []

    def free(self, edits: Iterable[Edit]) -> bool:
        """Whether these touch none of them."""
        for edit in edits:
            start, end = edit.span[:2], edit.span[2:]
            number = bisect_right(self._starts, end)
            if number and self._ends[number - 1] >= start:
                return False
        return True

    def take(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            number = bisect_left(self._starts, edit.span[:2])
            self._starts.insert(number, edit.span[:2])
            self._ends.insert(number, edit.span[2:])


class _Touched:
    """Paths of which none leads through another."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._above: set[Path] = set()

    def free(self, paths: Iterable[Path]) -> bool:
        """Whether none of these leads to, or through, one of them, nor one of them through one of these."""
        return not any(path in self._above or any(path[:length] in self._paths for length in range(len(path) + 1)) for path in paths)

    def take(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self._paths.add(path)
            self._above.update(path[:length] for length in range(len(path)))


def _paths(edit: SymbolicEdit, data: Any) -> Iterator[Path]:
    """What an edit touches in the data: below these paths nothing else may be changed at the same time. Raises EditError."""
    if isinstance(edit, Insert):
        path, at, _ = insertion_point(data, edit)
        # In a list, what stands behind it gets another index.
        yield (*path, at) if type(at) is str and find(data, path) is not None else path
    elif isinstance(edit, Move):
        yield edit.path[:-1]
        yield insertion_point(data, Insert(edit.to, edit.path[-1], None))[0]
    elif isinstance(edit, Remove):
        yield edit.path[:-1]  # What is left may be nothing.
    else:
        yield edit.path
        if isinstance(edit, Rename):
            yield (*edit.path[:-1], edit.key)


# What they make of a file.


class _TrialFix:
    """One file, and what becomes of it with some of its fixes."""

    def __init__(self, name: str, data: bytes, written: _Written, checker: Checker) -> None:
        self.refused: list[Finding] = []
        self._name, self._data, self._checker = name, data, checker
        self._written = written
        self._starts = _line_starts(written.text)
        self._pieces = list(split(written.text.encode()))
        self._lines = [line for _, line, _ in self._pieces]
        self._documents: dict[int, Document] = {}
        self._before: list[Found] | None = None
        self._trials = 0

    # The file as it is.

    def piece_of(self, offer: _Offer) -> int:
        """The number of the document that a fix is in, empty ones counted."""
        return self._piece_at(offer.edits[0].span)

    def _piece_at(self, span: Span) -> int:
        return max(bisect_right(self._lines, span.line - 1) - 1, 0)

    def document_at(self, span: Span) -> Document:
        """The document that a stretch begins in."""
        return self.document(self._piece_at(span))

    def document(self, piece: int) -> Document:
        found = self._documents.get(piece)
        if found is None:
            raw_bytes, line, _ = self._pieces[piece]
            found = self._documents[piece] = read(raw_bytes, piece, line)
        return found

    def deletes_an_error(self, offer: _Offer) -> bool:
        """Whether a fix removes something with another error in it. That error has to be fixed first: it says what was meant."""
        if not any(isinstance(edit, Remove) for edit in offer.meant):
            return False
        own = {identity_of(finding) for finding in offer.findings}
        errors = [each.span for each in self._found_before() if _is_error(each) and identity_of(each) not in own]
        return any(edit.span[:2] <= error[:2] and error[2:] <= edit.span[2:] for edit in offer.edits for error in errors)

    # The file as it would be.

    def result(self, offers: Sequence[_Offer]) -> bytes:
        """The bytes of the file with these fixes."""
        return self._written.as_bytes(self._text(offers)) if offers else self._data

    def _text(self, offers: Sequence[_Offer]) -> str:
        text, starts = self._written.text, self._starts
        parts, position = [], 0
        for (line, column, end_line, end_column), replacement in sorted(edit for offer in offers for edit in offer.edits):
            start, end = starts[line - 1] + column - 1, starts[end_line - 1] + end_column - 1
            parts += [text[position:start], replacement]
            position = end
        return "".join([*parts, text[position:]])

    def best(self, offers: Sequence[_Offer]) -> list[_Offer]:
        """As many of these as can be made together. Of those that cannot be made alone the findings are ``refused``."""
        if not offers or self._trials >= _MOST_TRIALS:
            return []
        self._trials += 1
        if self._holds(offers):
            return list(offers)
        if len(offers) == 1:
            self.refused += offers[0].findings
            return []
        middle = len(offers) // 2
        one, other = self.best(offers[:middle]), self.best(offers[middle:])
        if not one or not other:
            return one or other
        self._trials += 1
        return [*one, *other] if self._holds([*one, *other]) else one

    def _holds(self, offers: Sequence[_Offer]) -> bool:
        """Whether nothing but what these fixes mean comes of them."""
        text = self._text(offers)
        try:
            is_meant = self._says_what_is_meant(text, offers)
        except EditError:
            return False
        return is_meant and self._is_better(self._written.as_bytes(text), offers)

    def _says_what_is_meant(self, text: str, offers: Sequence[_Offer]) -> bool:
        by_piece: dict[int, list[_Offer]] = {}
        for offer in offers:
            by_piece.setdefault(self.piece_of(offer), []).append(offer)
        pieces = list(split(text.encode()))
        position = 0
        for number, (raw_bytes, _, _) in enumerate(self._pieces):
            inside = by_piece.get(number, [])
            count = 1 + sum(each.divides for each in inside)
            found = [piece for piece, _, _ in pieces[position : position + count]]
            position += count
            if len(found) != count or (found != [raw_bytes] if not inside else not self._is_meant(number, found, inside)):
                return False
        return position == len(pieces)

    def _is_meant(self, number: int, found: Sequence[bytes], inside: Sequence[_Offer]) -> bool:
        """Whether a document is what its fixes make of it."""
        before = self.document(number)
        after = [read(raw_bytes, number, 0) for raw_bytes in found]
        if before.problem is not None or any(each.problem is not None for each in after):
            return False
        if len(after) > 1:
            # Of keys that occur in several of them the last one held.
            return all(type(each.data) is dict for each in after) and is_same(
                {key: value for each in after for key, value in each.data.items()}, before.data
            )
        intended = applied(before.data, [edit for offer in inside for edit in offer.meant])
        gone = sum(finding.rule == _REPETITION for offer in inside for finding in offer.findings)
        as_often = len(after[0].duplicates) == len(before.duplicates) - gone
        return is_same(after[0].data, intended) and as_often and after[0].filled == before.filled

    def _is_better(self, data: bytes, offers: Sequence[_Offer]) -> bool:
        """Whether the findings are gone, and no safe fix brings an error, none more that the cluster would refuse than there were."""
        before, after = self._found_before(), self._found(data)
        known, left = Counter(map(identity_of, before)), Counter(map(identity_of, after))
        gone = Counter(identity_of(finding) for offer in offers for finding in offer.findings)
        # Those of rules across manifests are not among them.
        if any(left[key] > known[key] - count for key, count in gone.items() if key in known):
            return False
        if all(not offer.safe for offer in offers):
            return any(offer.divides for offer in offers) or _refusals(after) <= _refusals(before)
        return not any(left[key] > known[key] for key in map(identity_of, filter(_is_error, after)))

    def _found_before(self) -> list[Found]:
        if self._before is None:
            self._before = self._found(self._data)
        return self._before

    def _found(self, data: bytes) -> list[Found]:
        return list(self._checker.check(self._name, data).found)


def _refusals(found: Iterable[Found]) -> int:
    """How many of these the cluster refuses the manifest for."""
    known = rules()
    return sum(known[each.rule].category == "admission" for each in found)


def _is_error(found: Found) -> bool:
    return (found.severity or rules()[found.rule].severity) == "error"


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
