"""Comments and annotations that silence findings: ``# afflint: ignore[rule] -- why`` in its four forms, and ``afflint.dev/ignore``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afflint.checks.wording import nearest, quoted
from afflint.findings import Edit, Finding, Fix, Path, Span
from afflint.kube.manifests import Manifest
from afflint.reading.documents import Document

ANNOTATION = "afflint.dev/ignore"
MARKER = b"afflint"
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*afflint:[ \t]*(.*)$")
_DIRECTIVE = re.compile(r"(ignore-file|ignore-document|ignore)\b[ \t]*(?:\[([^\]]*)\])?[ \t]*(?:--[ \t]*(.*))?$")
_FORMS = ("ignore", "ignore-document", "ignore-file")
_LAST_LINE = 10**9


class Suppression(NamedTuple):
    """What silences the findings of ``rules`` (all when empty) that begin on lines ``first`` to ``last``.

    ``span`` is the comment's or annotation's own place, ``removal`` the stretch to delete when nothing is silenced (None: by hand).
    """

    rules: tuple[str, ...]
    first: int
    last: int
    document: int
    span: Span
    removal: Span | None
    written: str


class Misunderstood(NamedTuple):
    """A comment that begins like a suppression and is none."""

    document: int
    span: Span
    message: str
    remedy: str


def suppressions_in(
    document: Document, manifests: Sequence[Manifest], known: Iterable[str], categories: Iterable[str]
) -> Iterator[Suppression | Misunderstood]:
    """The suppressions of one document; ``known`` are the names of the rules there are."""
    words = (*known, *categories, "all")
    yield from _comments(document, words)
    for manifest in manifests:
        yield from _annotation(document, manifest, words)


def _comments(document: Document, words: tuple[str, ...]) -> Iterator[Suppression | Misunderstood]:
    lines = re.split(r"\r\n|\n|\r", document.text())
    quoted_text: list[Span] | None = None
    for offset, text in enumerate(lines):
        if "afflint:" not in text:
            continue
        match = _COMMENT.search(text)
        if match is None:
            continue
        line = document.line + offset + 1
        span = Span(line, match.start() + 1, line, len(text.rstrip()) + 1)
        quoted_text = list(document.scalar_spans()) if quoted_text is None else quoted_text
        if any(_inside(span, scalar) for scalar in quoted_text):
            continue
        yield from _directive(match[1].strip(), text, span, document, words)


def _inside(span: Span, scalar: Span) -> bool:
    return (scalar.line, scalar.column) <= (span.line, span.column) < (scalar.end_line, scalar.end_column)


def _directive(text: str, whole: str, span: Span, document: Document, words: tuple[str, ...]) -> Iterator[Suppression | Misunderstood]:
    match = _DIRECTIVE.fullmatch(text)
    if match is None:
        word = re.split(r"[\[ ]", text, maxsplit=1)[0]
        close = nearest(word, _FORMS) or "ignore"
        message = f"{quoted(text)} is no instruction to afflint; did you mean {quoted(close + '[rule] -- why')}?"
        yield Misunderstood(document.index, span, message, "Write `# afflint: ignore[rule] -- why`.")
        return
    form, listed = match[1], match[2]
    rules = tuple(name.strip() for name in listed.split(",") if name.strip()) if listed is not None else ()
    if listed is not None and not rules:
        yield Misunderstood(document.index, span, "an empty list of rules silences nothing", "Name the rules, or leave the brackets out.")
        return
    yield from _unknown(rules, words, document.index, span)
    own_line = not whole[: span.column - 1].strip()
    first, last = _scope(form, own_line, span.line, document)
    start = 1 if own_line else len(whole[: span.column - 1].rstrip()) + 1
    # A line of its own goes with its line break; the first column of the next line is where that ends.
    removal = Span(span.line, 1, span.line + 1, 1) if own_line else Span(span.line, start, span.line, len(whole) + 1)
    yield Suppression(rules, first, last, document.index, span, removal, f"ignore[{', '.join(rules)}]" if rules else form)


def _unknown(rules: tuple[str, ...], words: tuple[str, ...], document: int, span: Span) -> Iterator[Misunderstood]:
    for name in rules:
        if name not in words:
            close = nearest(name, words)
            hint = f"; did you mean {quoted(close)}?" if close else ""
            remedy = f"Write {quoted(close)}." if close else "`afflint rule` lists the rules."
            yield Misunderstood(document, span, f"there is no rule {quoted(name)}{hint}", remedy)


def _scope(form: str, own_line: bool, line: int, document: Document) -> tuple[int, int]:
    if form == "ignore-file":
        return 1, _LAST_LINE
    if form == "ignore-document":
        return document.line + 1, document.line + document.text().count("\n") + 1
    return _next_node(document, line) if own_line else (line, line)


def _next_node(document: Document, line: int) -> tuple[int, int]:
    """The lines of the first node below a comment: a key with its value, or a list item."""
    best: tuple[int, int, int] | None = None
    for start, column, end in document.node_lines():
        if start > line and (best is None or (start, column, -end) < (best[0], best[1], -best[2])):
            best = start, column, end
    return (best[0], best[2]) if best else (line, line)


def _annotation(document: Document, manifest: Manifest, words: tuple[str, ...]) -> Iterator[Suppression | Misunderstood]:
    """``rule: why`` or ``rule, rule: why``, one to a line: for generated manifests, whose comments are lost."""
    metadata: Any = manifest.data.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    text = annotations.get(ANNOTATION) if type(annotations) is dict else None
    if type(text) is not str:
        return
    path: Path = (*manifest.base, "metadata", "annotations", ANNOTATION)
    span = document.locate(path)
    extent = document.extent(manifest.base)
    for entry in filter(str.strip, text.split("\n")):
        rules = tuple(name.strip() for name in entry.partition(":")[0].split(",") if name.strip())
        yield from _unknown(rules, words, document.index, span)
        if rules:
            last = extent.end_line if manifest.base else document.line + document.text().count("\n") + 1
            first = extent.line if manifest.base else document.line + 1
            yield Suppression(rules, first, last, document.index, span, None, f"{ANNOTATION}: {entry.strip()}")


def apply(
    findings: Sequence[Finding], suppressions: Sequence[Suppression], category_of: Callable[[str], str]
) -> tuple[list[Finding], int, list[tuple[Suppression, tuple[str, ...]]]]:
    """The findings of one file that remain, how many were silenced, and the suppressions (with their rules) that silenced nothing."""
    used: set[tuple[int, str]] = set()
    kept: list[Finding] = []
    for finding in findings:
        hits = list(_silencing(finding, suppressions, category_of))
        used.update(hits)
        if not hits:
            kept.append(finding)
    unused = [(each, idle) for number, each in enumerate(suppressions) if (idle := _idle(number, each, used))]
    return kept, len(findings) - len(kept), unused


def _silencing(finding: Finding, suppressions: Sequence[Suppression], category_of: Callable[[str], str]) -> Iterator[tuple[int, str]]:
    for number, each in enumerate(suppressions):
        if not each.first <= finding.span.line <= each.last:
            continue
        if not each.rules:
            yield number, ""
        for name in each.rules:
            if name in (finding.rule, "all", category_of(finding.rule)):
                yield number, name


def _idle(number: int, suppression: Suppression, used: set[tuple[int, str]]) -> tuple[str, ...]:
    names = suppression.rules or ("",)
    return tuple(name for name in names if (number, name) not in used)


def removal_fix(suppression: Suppression) -> Fix | None:
    """The edit that deletes a comment that silences nothing."""
    return Fix(True, (Edit(suppression.removal, ""),)) if suppression.removal else None
