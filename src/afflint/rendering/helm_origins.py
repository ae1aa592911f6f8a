"""The source positions of the output of Helm: the line of a template, found by marks, and the key of a values file, found by trial.

To find the key for a leaf, the chart is rendered again with other values: the key whose new value appears at the leaf is its source.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.paths import Path
from afflint.kube.helm_values import embedded_constraints
from afflint.rendering.kustomize_origins import RenderedIdentity, identity_of
from afflint.rendering.line_marks import Mark, add_marks, marks_in, read_template, templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import (
    SourcePlace,
    SourceText,
    SourceTexts,
    counterpart,
    documents_of,
    is_leaf,
    leaves,
    same,
    value_at,
)
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.sources import VALUES
from afflint.yaml.document import Document
from afflint.yaml.documents import read, split

_MOST_ROUNDS = 5
_MOST_TRIALS = 24
"""The highest number of times that a chart is rendered to find keys of values."""
_MOST_CANDIDATES = 12
_MOST_ABOVE, _MOST_LEAVES, _MOST_BESIDE = 4, 64, 4
"""How many maps around a value are searched, how many values in each of them, and how many of these are tried in its place."""
_MOST_AT_ONCE = 32
_EVERYWHERE: tuple[Any, ...] = (True, "", 0, 1, "true", "false")
"""Common values: for them, only keys with the name of the rendered field are tried."""
_FILE = re.compile(r"[\w.\-]+/[^\s:()\"]+")
_SOURCE = re.compile(rb"(?m)^# Source: (\S+)")

Rendering = Callable[[str, Mapping[str, str], Mapping[int, Any]], bytes]
"""Renders the copy of a chart in a folder, with replacements for values files by path, and for inline values by number.

Raises RenderError.
"""


@dataclass(frozen=True, slots=True)
class ChartFiles:
    """The inputs of a rendered chart."""

    copy: Callable[[str], Callable[[str], str]]
    """Copy the chart into a folder, and return a function that maps a file of the copy to its original."""
    render: Rendering
    values: tuple[str, ...]
    """The values files that are passed to Helm; the last one takes precedence."""
    inline: tuple[tuple[SourceText, Path] | None, ...] = ()
    """The documents and paths, if known, of inline values, which override the values files; the last ones take precedence."""


class ChartSourceMap:
    """The source map of one chart.

    ``own_lines``: what its own templates include from libraries beside it is at the line that includes it.
    """

    def __init__(self, output: bytes, root_file: str, files: ChartFiles, texts: SourceTexts, *, own_lines: bool = False) -> None:
        self._own_lines = own_lines
        self._files = files
        self._texts = texts
        self._root_file = root_file
        self._sources: list[str] = []
        self._own_values: list[str] = []
        self._plain = documents_of(output)
        self._template_files = _source_files(output)
        self._marked_documents: dict[int, Document] = self._with_marks()
        self._trials = 0
        self._embedded: dict[str, list[SourceText]] = {}
        self._all_keys: dict[tuple[int, Path], tuple[SourceText, Path] | None] = {}

    def place(self, document: int, _identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the key of a values file that sets the value at a path, if there is one, and the lines of templates that put it there."""
        word = self._literal_text(document, path, key=key)
        marks = self.marks(document, path, key=key)
        if self._own_lines:
            marks = self._own_marks(document, path, marks)
        lines = [line_place(self._sources[mark.file], mark.line, word) for mark in marks]
        found = self._by_values(document, path)
        if found is not None:
            text, where = found
            return (text.place(where, "value", key=key, exact=True), *lines[:1])
        return (*lines[:1], *(each for each in lines[1:2] if each != lines[0])) or (self._of_document(document),)

    def template_place(self, document: int, path: Path, *, key: bool = False) -> SourcePlace | None:
        """Return the innermost line of a template that produced the value at a path; None if it is unknown."""
        marks = self.marks(document, path, key=key)
        return line_place(self._sources[marks[0].file], marks[0].line) if marks else None

    def line(self, document: int, path: Path) -> tuple[str, int] | None:
        """Return the template and the innermost line that produced the value at a path; None if it is unknown."""
        marks = self.marks(document, path)
        return (self._sources[marks[0].file], marks[0].line) if marks else None

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity: a template does not show another one."""
        return identity

    def data(self, document: int) -> Any:
        """Return the data of a rendered document; None without such a document."""
        plain = self._plain.get(document)
        return None if plain is None else plain.data

    # Templates.

    def marks(self, document: int, path: Path, *, key: bool = False) -> list[Mark]:
        """Return the lines of templates that produced the value at a path, the innermost first; an empty list if they are unknown."""
        parsed, plain = self._marked_documents.get(document), self._plain.get(document)
        if parsed is None or plain is None or not _same_at(plain.data, parsed.data, path):
            return []
        is_item = bool(path) and type(path[-1]) is int
        span = parsed.locate(path, key=key or not is_item)
        lines = parsed.text().split("\n")
        row = span.line - parsed.line - 1
        own = marks_in(lines[row]) if row < len(lines) else []
        if own:
            return own
        for below in lines[row + 1 :]:
            following = marks_in(below)
            if following:
                # A line without a mark was produced by a line that produced several.
                several = [number for number, mark in enumerate(following) if mark.is_multiline]
                return following[several[0] :] if several else []
        return []

    def _own_marks(self, document: int, path: Path, marks: list[Mark]) -> list[Mark]:
        """Return the marks of the chart's own templates among some, or that of the own line that included a template of a library."""

        def own(among: Iterable[Mark]) -> list[Mark]:
            return [each for each in among if is_inside(self._sources[each.file], os.path.dirname(self._root_file))]

        parsed = self._marked_documents.get(document)
        if not marks or own(marks) or parsed is None:
            return own(marks) or marks
        below = parsed.text().split("\n")[parsed.locate(path, key=True).line - parsed.line - 1 :]
        including = next((inside for line in below if (inside := own(marks_in(line)))), [])
        return including if including and including[0].is_multiline else marks

    def _literal_text(self, document: int, path: Path, *, key: bool) -> str:
        """Return the text of a template line that has the value at a path literally; "" if the value is not a string or an integer."""
        plain = self._plain.get(document)
        try:
            value = path[-1] if key and path else value_at(plain.data, path) if plain is not None else None
        except (LookupError, TypeError):
            return ""
        return str(value) if type(value) in (str, int) else ""

    def _with_marks(self) -> dict[int, Document]:
        """Return the documents with marks. Rendering is repeated without the marks that changed the output."""
        skipped: dict[str, set[int]] = {}
        dropped: set[str] = set()
        for _ in range(_MOST_ROUNDS):
            with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
                top = os.path.join(os.path.realpath(folder), "chart")
                origin = self._files.copy(top)
                templates = [each for each in templates_of(top) if os.path.relpath(each, top) not in dropped]
                names = [os.path.relpath(each, top) for each in templates]
                self._sources = [origin(each) for each in templates]
                self._own_values = [origin(each) for each in _values_in(top)]
                for number, path in enumerate(templates):
                    text = read_template(path)
                    if text is not None:
                        with open(path, "w", encoding="utf-8", newline="") as file:
                            file.write(add_marks(text, number, skipped.get(names[number], ())))
                try:
                    output = self._files.render(top, {}, {})
                except RenderError as error:
                    blamed = {name for name in names for file in _FILE.findall(error.reason) if file.endswith(f"/{name}") or file == name}
                    if not blamed:
                        return {}
                    dropped |= blamed
                    continue
            documents = documents_of(output)
            wrong = {mark for each in documents.values() for mark in self._changed(each)}
            if not wrong:
                break
            for mark in wrong:
                skipped.setdefault(names[mark.file], set()).add(mark.line)
        else:
            return {}
        return {number: each for number, each in documents.items() if self._is_same(number, each)}

    def _is_same(self, number: int, document: Document) -> bool:
        plain = self._plain.get(number)
        if plain is None or type(plain.data) is not dict or type(document.data) is not dict:
            return False
        return identity_of(plain.data) == identity_of(document.data)

    @staticmethod
    def _changed(document: Document) -> Iterator[Mark]:
        """Yield the marks that have become part of values."""
        if document.problem is not None or "#@@" not in document.text():
            return
        for _, value in leaves(document.data):
            if type(value) is str and "#@@" in value:
                yield from marks_in(value)
        for key in _all_keys(document.data):
            if "#@@" in key:
                yield from marks_in(key)

    def _of_document(self, document: int) -> SourcePlace:
        """Return the file that a document was rendered from, according to the comment that Helm adds to it."""
        name = self._template_files.get(document)
        if name is not None:
            # The comment begins with the name of the chart instead of its folder.
            below = os.path.join(*name.split("/")[1:]) if "/" in name else name
            path = os.path.join(os.path.dirname(self._root_file), below)
            if os.path.isfile(path):
                return line_place(path, 1)
        return line_place(self._root_file, 1)

    # Values.

    def _by_values(self, document: int, path: Path) -> tuple[SourceText, Path] | None:
        """Return the key of a values file that sets the value at a path; for a map or list, the parent of the key of its first leaf."""
        parsed = self._plain.get(document)
        if parsed is None:
            return None
        try:
            value = value_at(parsed.data, path)
        except (LookupError, TypeError):
            return None
        below, leaf = next(iter(leaves(value)))
        found = self._key_of(document, (*path, *below), leaf)
        if found is None and (below or leaf is None or leaf is False):
            return self._beside(document, parsed.data, path, value)
        if found is None or not below:
            return found
        text, where = found
        if len(where) <= len(below) or where[-len(below) :] != below:
            return None
        return text, where[: -len(below)]

    def _beside(self, document: int, data: Any, path: Path, value: Any) -> tuple[SourceText, Path] | None:
        """Return the key of a value that cannot be tried itself: it is where the values around it are copied from, at the same path."""
        trials = 0
        for length in range(len(path) - 1, max(len(path) - 1 - _MOST_ABOVE, 0), -1):
            above, rest = path[:length], path[length:]
            around = value_at(data, above)
            for below, leaf in islice(leaves(around), _MOST_LEAVES):
                if not below or not any(where[-len(below) :] == below for _, where in self._candidates(leaf)):
                    continue
                trials += 1
                found = self._key_of(document, (*above, *below), leaf)
                if found is not None and found[1][-len(below) :] == below:
                    return _counterpart_of(found[0], found[1][: -len(below)], around, rest, value)
                if trials >= _MOST_BESIDE:
                    return None
        return None

    def _key_of(self, document: int, path: Path, value: Any) -> tuple[SourceText, Path] | None:
        known = (document, path)
        if known not in self._all_keys:
            self._all_keys[known] = self._find_key(document, path, value)
        return self._all_keys[known]

    def _find_key(self, document: int, path: Path, value: Any) -> tuple[SourceText, Path] | None:
        if value is None or value is False or isinstance(value, (dict, list)):
            return None  # Templates often leave such a value out, so that no other value appears in its place.
        step = next((each for each in reversed(path) if type(each) is str), "")
        candidates = self._candidates(value)
        near = [each for each in candidates if step in each[1]]
        far = [each for each in candidates if step not in each[1]]
        trials = [near, *([each] for each in near)] if len(near) > 1 else [near]
        if value not in _EVERYWHERE and len(far) <= _MOST_CANDIDATES:
            trials.append(far)
        found = (self._appearing(document, path, value, candidates) for candidates in trials if candidates)
        return next((each for each in found if each is not None), None)

    def _candidates(self, value: Any) -> list[tuple[SourceText, Path]]:
        """Return the leaves of values files that have this value."""
        found = []
        for text, base in (each for each in reversed(self._files.inline) if each is not None):
            found += [(text, (*base, *path)) for path, leaf in leaves(value_at(text.data, base)) if path and same(leaf, value)]
        for file in self._value_files():
            for text in (*self._texts.of(file), *self._constraints_as_text(file)):
                found += [(text, path) for path, leaf in leaves(text.data) if path and same(leaf, value)]
        return found

    def _constraints_as_text(self, file: str) -> list[SourceText]:
        """Return the constraints that a values file contains as text, for templates that call ``tpl``."""
        if file not in self._embedded:
            self._embedded[file] = [
                SourceText(file, inner.document, text.index)
                for text in self._texts.of(file)
                if b": |" in text.document.raw_bytes
                for _, inner in embedded_constraints(text.document)
            ]
        return self._embedded[file]

    def _value_files(self) -> list[str]:
        """Return the values files that are passed to Helm, and those of the chart and its subcharts."""
        return [*map(os.path.realpath, reversed(self._files.values)), *self._own_values]

    def _appearing(
        self, document: int, path: Path, value: Any, candidates: Sequence[tuple[SourceText, Path]]
    ) -> tuple[SourceText, Path] | None:
        """Return the leaf of the values files that appears at a path if each of the candidates gets another unique value."""
        candidates = candidates[:_MOST_AT_ONCE]
        if self._trials >= _MOST_TRIALS:
            return None
        self._trials += 1
        tokens = [_unique_value(value, number) for number in range(len(candidates))]
        try:
            output = self._with_values(candidates, tokens)
        except (RenderError, OSError):
            return None
        parsed = documents_of(output).get(document)
        try:
            shown = None if parsed is None else value_at(parsed.data, path)
        except (LookupError, TypeError):
            return None
        return next((each for each, token in zip(candidates, tokens, strict=True) if same(token, shown)), None)

    def _with_values(self, candidates: Sequence[tuple[SourceText, Path]], tokens: Sequence[Any]) -> bytes:
        """Render the chart with tokens in place of some leaves of values files. Raises RenderError."""
        by_file: dict[str, list[tuple[Span, str]]] = {}
        inline: dict[int, Any] = {}
        for (text, path), token in zip(candidates, tokens, strict=True):
            number = next((number for number, each in enumerate(self._files.inline) if each is not None and each[0] is text), None)
            known = None if number is None else self._files.inline[number]
            if number is not None and known is not None:
                base = known[1]
                inline[number] = _replace_value(inline.get(number, value_at(text.data, base)), path[len(base) :], token)
            else:
                by_file.setdefault(text.file, []).append((text.place(path, "").span, str(token)))
        with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
            top = os.path.join(os.path.realpath(folder), "chart")
            origin = self._files.copy(top)
            replacements: dict[str, str] = {}
            for number, (file, changes) in enumerate(by_file.items()):
                changed = replace_spans(read_regular(file, 1 << 24).decode("utf-8"), changes)
                if file in map(os.path.realpath, self._files.values):
                    copy = os.path.join(folder, f"values-{number}.yaml")
                    replacements[file] = copy
                else:
                    copy = next((each for each in _values_in(top) if origin(each) == file), "")
                    if not copy:
                        continue
                with open(copy, "w", encoding="utf-8", newline="") as replacement:
                    replacement.write(changed)
            return self._files.render(top, replacements, inline)


def _counterpart_of(text: SourceText, base: Path, around: Any, rest: Path, value: Any) -> tuple[SourceText, Path] | None:
    """Return where a value is in the copy of the values ``around`` it at a path of a document; None if something else is there."""
    source = value_at(text.data, base)
    other = counterpart(source, around, rest)
    if other is None:
        return None
    found = value_at(source, other)
    return (text, (*base, *other)) if type(found) is type(value) and (not is_leaf(value) or same(found, value)) else None


def _replace_value(data: Any, path: Path, value: Any) -> Any:
    """Return data with another value at a path."""
    if not path:
        return value
    changed: Any = dict(data) if type(data) is dict else list(data)
    changed[path[0]] = _replace_value(data[path[0]], path[1:], value)
    return changed


def replace_spans(text: str, changes: Sequence[tuple[Span, str]]) -> str:
    """Return a text with replacements at some spans, each on one line."""
    lines = text.split("\n")
    for span, word in sorted(changes, reverse=True):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[: span.column - 1] + word + line[span.end_column - 1 :]
    return "\n".join(lines)


def _values_in(chart: str) -> Iterator[str]:
    for folder, _, names in os.walk(chart):
        if VALUES in names:
            yield os.path.join(folder, VALUES)


def _unique_value(value: Any, number: int) -> Any:
    """Return a value that no chart contains: a number in place of a number, otherwise a word."""
    if type(value) is int:
        return 71_003 + number * 17
    return f"afflint{number}token"


def _same_at(plain: Any, other: Any, path: Path) -> bool:
    """Return whether both have the same value at a path, if the first one has a value there."""
    for step in path:
        try:
            plain = plain[step]
        except (LookupError, TypeError):
            return True
        try:
            other = other[step]
        except (LookupError, TypeError):
            return False
    return not is_leaf(plain) or bool(plain == other)


def _all_keys(value: Any) -> Iterator[str]:
    if type(value) is dict:
        for key, below in value.items():
            yield str(key)
            yield from _all_keys(below)
    elif type(value) is list:
        for below in value:
            yield from _all_keys(below)


def _source_files(output: bytes) -> dict[int, str]:
    """Return the template file of each document, as far as Helm names it in a comment."""
    found: dict[int, str] = {}
    index = 0
    for piece, line, _ in split(output):
        named = _SOURCE.search(piece)
        if not read(piece, index, line).empty:
            if named is not None:
                found[index] = named[1].decode("utf-8", "replace")
            index += 1
    return found


def line_place(file: str, number: int, word: str = "") -> SourcePlace:
    """Return a line of a template from its first to its last character, or ``word`` in it if it occurs once and the line has no action."""
    text = (read_template(file) or "").split("\n")
    line = text[number - 1] if number <= len(text) else ""
    occurrences = list(re.finditer(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])", line)) if word and "{{" not in line else []
    if len(occurrences) == 1:
        return SourcePlace(file, 0, Span(number, occurrences[0].start() + 1, number, occurrences[0].end() + 1), "template", exact=True)
    start = len(line) - len(line.lstrip())
    return SourcePlace(file, 0, Span(number, start + 1, number, max(len(line.rstrip()), start + 1) + 1), "template", exact=True)
