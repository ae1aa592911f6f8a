"""Comments and annotations that silence findings: ``# afflint: ignore[rule] -- why`` in its four forms, and ``afflint.dev/ignore``."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.findings.finding import Edit, Finding, Span
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import nearest, quoted
from afflint.manifests.manifest import Manifest
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import annotations_of

if TYPE_CHECKING:
    from afflint.index.facts import Facts

ANNOTATION = "afflint.dev/ignore"
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*afflint:[ \t]*")
_DIRECTIVE = re.compile(r"(ignore-file|ignore-document|ignore)\b[ \t]*(?:\[([^\]]*)\])?[ \t]*(?:--[ \t]*(.*))?$")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_FORMS = ("ignore", "ignore-document", "ignore-file")
_LAST_LINE = 10**9
_ANYWHERE = -1
# Finding the nearest rule name takes time, so only the first mistakes in a file get a suggestion.
_MOST_HINTS = 100

Position = tuple[int, int]
"""A line and a column, both from 1."""


class Suppression(NamedTuple):
    """A comment or annotation that silences findings of ``rules`` (all if empty) from ``start`` up to, but not including, ``end``.

    ``span`` is the position of the comment or annotation. ``removal`` is the text to delete if it silences nothing; None if users must
    delete it by hand. ``idle`` are the policies among its rules that all workloads there meet, whatever other manifests contain.
    """

    rules: tuple[str, ...]
    start: Position
    end: Position
    document: int
    span: Span
    removal: Span | None
    idle: tuple[str, ...] = ()

    def covers(self, place: Position) -> bool:
        """Return whether a position is in the range of the suppression."""
        return self.start <= place < self.end


class InvalidSuppression(NamedTuple):
    """A comment that begins like a suppression but is not valid, with message and help."""

    document: int
    span: Span
    message: str
    remedy: str


def suppressions_in(
    document: Document, manifests: Sequence[Manifest], known: Iterable[str], categories: Iterable[str]
) -> Iterator[Suppression | InvalidSuppression]:
    """Yield the suppressions of one document; ``known`` are the names of all rules."""
    reader = _SuppressionReader(document, (*known, *categories, "all"))
    yield from reader.comments()
    for manifest in manifests:
        yield from reader.annotation(manifest)


def with_idle(suppressions: Iterable[Suppression], policies: Collection[str], facts: "Facts") -> Iterator[Suppression]:
    """Return the suppressions of a file, each with the ``policies`` of the run that it names and that all pods of the file meet.

    Pods that may violate a policy are candidates in the facts (``PolicyEvaluator``): other manifests may clear them, but never add to
    them. If the pods are in a patch, or if there are none, the findings may be in another file.
    """
    whole: dict[int, bool] = {}  # by document, and for all of them
    suspected: set[tuple[int, str]] = set()
    for pods in facts.pods:
        for place in (pods.site.document, _ANYWHERE):
            whole[place] = whole.get(place, True) and not pods.partial
    for policy_candidate in facts.policy_candidates:
        suspected.update((place, name) for place in (policy_candidate.site.document, _ANYWHERE) for name in policy_candidate.policies)
    for each in suppressions:
        place = _ANYWHERE if each.end[0] >= _LAST_LINE else each.document
        if whole.get(place):
            yield each._replace(idle=tuple([name for name in each.rules if name in policies and (place, name) not in suspected]))
        else:
            yield each


class _SuppressionReader:
    """Finds the suppressions of one document."""

    def __init__(self, document: Document, words: tuple[str, ...]) -> None:
        self._document = document
        self._words = words
        self._hints: dict[str, str | None] = {}
        self._lines = _LINE_BREAK.split(document.text())
        self._scalars: list[Span] | None = None
        self._nodes: list[tuple[int, int, int]] | None = None

    def comments(self) -> Iterator[Suppression | InvalidSuppression]:
        for offset, text in enumerate(self._lines):
            if "afflint:" not in text:
                continue
            line = self._document.line + offset + 1
            for match in _COMMENT.finditer(text):
                if not self._in_scalar(line, match.start() + 1):
                    yield from self._directive(line, text, match)
                    break  # A comment goes on to the end of its line.

    def _in_scalar(self, line: int, column: int) -> bool:
        """Return whether a position is in a quoted or block scalar, in which ``#`` is text."""
        if self._scalars is None:
            self._scalars = sorted(self._document.scalar_spans())
        number = bisect_right(self._scalars, (line, column, _LAST_LINE, 0)) - 1
        if number < 0:
            return False
        scalar = self._scalars[number]
        return (line, column) < (scalar.end_line, scalar.end_column)

    def _directive(self, line: int, text: str, comment: re.Match[str]) -> Iterator[Suppression | InvalidSuppression]:
        document = self._document.index
        span = Span(line, comment.start() + 1, line, len(text.rstrip()) + 1)
        content = text[comment.end() :].strip()
        match = _DIRECTIVE.fullmatch(content)
        if match is None:
            yield _invalid_comment(document, span, content)
            return
        form, listed = match[1], match[2]
        rules = tuple(name.strip() for name in listed.split(",") if name.strip()) if listed is not None else ()
        if listed is not None and not rules:
            message = "an empty list of rules silences nothing"
            yield InvalidSuppression(document, span, message, "Name the rules, or remove the brackets.")
            return
        yield from self._unknown(rules, span)
        before = text[: comment.start()]
        own_line = not before.strip() or before.lstrip().startswith("#")
        first, last = self._scope(form, own_line, line)
        # Comments cover whole lines.
        yield Suppression(rules, (first, 1), (last + 1, 1), document, span, self._removal(line, text, before))

    def _removal(self, line: int, text: str, before: str) -> Span:
        if before.strip():
            return Span(line, len(before.rstrip()) + 1, line, len(text) + 1)
        if line - self._document.line == len(self._lines):  # Nothing follows, not even a line break.
            return Span(line, 1, line, len(text) + 1)
        # A comment on a line of its own is deleted with its line break, which ends at the first column of the next line.
        return Span(line, 1, line + 1, 1)

    def _unknown(self, rules: tuple[str, ...], span: Span) -> Iterator[InvalidSuppression]:
        for name in rules:
            if name in self._words:
                continue
            if name not in self._hints:
                self._hints[name] = nearest(name, self._words) if len(self._hints) < _MOST_HINTS else None
            close = self._hints[name]
            hint = f"; did you mean {quoted(close)}?" if close else ""
            remedy = f"Write {quoted(close)}." if close else "`afflint rule` lists the rules."
            yield InvalidSuppression(self._document.index, span, f"unknown rule {quoted(name)}{hint}", remedy)

    def _scope(self, form: str, own_line: bool, line: int) -> tuple[int, int]:
        """Return the first and the last line that a comment covers."""
        if form == "ignore-file":
            return 1, _LAST_LINE
        if form == "ignore-document":
            return self._document_lines()
        return self._next_node(line) if own_line else (line, line)

    def _document_lines(self) -> tuple[int, int]:
        return self._document.line + 1, self._document.line + len(self._lines)

    def _next_node(self, line: int) -> tuple[int, int]:
        """Return the lines of the first node below a comment: a key with its value, or a list item."""
        if self._nodes is None:
            # Of several nodes that begin on one line, the outermost comes first: the leftmost, and of these the longest.
            self._nodes = sorted(self._document.node_lines(), key=lambda node: (node[0], node[1], -node[2]))
        number = bisect_left(self._nodes, (line + 1, 0, 0))
        return (self._nodes[number][0], self._nodes[number][2]) if number < len(self._nodes) else (line, line)

    def annotation(self, manifest: Manifest) -> Iterator[Suppression | InvalidSuppression]:
        """Read the annotation, one ``rule: why`` or ``rule, rule: why`` per line. It is for generated manifests, which lose comments."""
        text = annotations_of(manifest.data).get(ANNOTATION)
        if text is None:
            return
        document = self._document
        path: Path = (*manifest.base, "metadata", "annotations", ANNOTATION)
        span = document.locate(path)
        start, end = self._object(manifest.base)
        for entry in filter(str.strip, text.split("\n")):
            rules = tuple(name.strip() for name in entry.partition(":")[0].split(",") if name.strip())
            yield from self._unknown(rules, span)
            if rules:
                yield Suppression(rules, start, end, document.index, span, None)

    def _object(self, base: Path) -> tuple[Position, Position]:
        """Return the start and the end of an object: several items of a List may be on one line."""
        if base:
            extent = self._document.extent(base)
            return (extent.line, extent.column), (extent.end_line, extent.end_column)
        first, last = self._document_lines()
        return (first, 1), (last + 1, 1)


def _invalid_comment(document: int, span: Span, content: str) -> InvalidSuppression:
    word = re.split(r"[\[ ]", content, maxsplit=1)[0]
    close = nearest(word, _FORMS) or "ignore"
    message = f"{quoted(content)} is not a valid afflint comment; did you mean {quoted(close + '[rule] -- why')}?"
    return InvalidSuppression(document, span, message, "Write `# afflint: ignore[rule] -- why`.")


# Suppressed findings.


def apply(
    findings: Sequence[Finding], suppressions: Sequence[Suppression], mandatory: Collection[str] = ()
) -> tuple[list[Finding], int, list[tuple[Suppression, tuple[str, ...]]]]:
    """Return the remaining findings of one file, the number of silenced ones, and the unused suppressions with their unused rules.

    For an unused suppression without rules, the only name is "". No suppression silences the ``mandatory`` rules.
    """
    places = grouped((word, _place(finding)) for finding in findings for word in (() if finding.rule in mandatory else _words(finding)))
    for each in places.values():
        each.sort()
    covered = _SuppressedRanges(suppressions)
    kept = [
        finding for finding in findings if finding.rule in mandatory or not any(covered(word, _place(finding)) for word in _words(finding))
    ]
    unused = [(each, idle) for each in suppressions if (idle := _idle(each, places))]
    return kept, len(findings) - len(kept), unused


def _place(finding: Finding) -> Position:
    return finding.span.line, finding.span.column


def _words(finding: Finding) -> tuple[str, ...]:
    """Return the names that silence a finding; "" is for suppressions without rules."""
    return finding.rule, finding.category, "all", ""


def _idle(suppression: Suppression, places: dict[str, list[Position]]) -> tuple[str, ...]:
    return tuple(name for name in suppression.rules or ("",) if not _between(places.get(name, []), suppression.start, suppression.end))


def _between(places: list[Position], start: Position, end: Position) -> bool:
    """Return whether one of the sorted ``places`` is between two positions."""
    number = bisect_left(places, start)
    return number < len(places) and places[number] < end


class _SuppressedRanges:
    """The ranges that suppressions cover, by rule name: sorted, and without overlaps."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        stretches = grouped((name, (each.start, each.end)) for each in suppressions for name in each.rules or ("",))
        self._starts: dict[str, list[Position]] = {}
        self._ends: dict[str, list[Position]] = {}
        for name, found in stretches.items():
            starts, ends = self._starts.setdefault(name, []), self._ends.setdefault(name, [])
            for start, end in sorted(found):
                if ends and start <= ends[-1]:
                    ends[-1] = max(ends[-1], end)
                else:
                    starts.append(start)
                    ends.append(end)

    def __call__(self, name: str, place: Position) -> bool:
        starts = self._starts.get(name)
        if starts is None:
            return False
        number = bisect_right(starts, place) - 1
        return number >= 0 and place < self._ends[name][number]


def removal(suppression: Suppression) -> tuple[Edit, ...]:
    """Return the edit that deletes a suppression; no edit if users must delete it by hand."""
    return (Edit(suppression.removal, ""),) if suppression.removal else ()
