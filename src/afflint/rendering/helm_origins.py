"""The source positions of the output of Helm: the line of a template, found by marks, and the key of a value, found by trial."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.paths import Path
from afflint.rendering.helm import ChartRendering
from afflint.rendering.kustomize_origins import RenderedIdentity, SourceMap, identity_of
from afflint.rendering.line_marks import Mark, add_marks, marks_in, read_template, templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace, SourceTexts, documents_of, is_leaf, leaves, value_at
from afflint.rendering.value_keys import ValueKeys, values_in
from afflint.source.repositories import is_inside
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.document import Document, value_at_path
from afflint.yaml.documents import read, split

TEMPLATE = "template"
"""The kind of a place in a template."""
_MOST_ROUNDS = 5
_FILE = re.compile(r"[\w.\-]+/[^\s:()\"]+")
_SOURCE = re.compile(rb"(?m)^# Source: (\S+)")


class ChartSourceMap(SourceMap):
    """The source map of one chart.

    ``own_lines``: what its own templates include from libraries beside it is at the line that includes it.
    """

    def __init__(self, output: bytes, rendering: ChartRendering, texts: SourceTexts, *, own_lines: bool = False) -> None:
        self._own_lines = own_lines
        self._rendering = rendering
        self._root_file = rendering.chart.root_file
        self._sources: list[str] = []
        self._own_values: list[str] = []
        self._lacking: set[tuple[str, int]] = set()
        self._plain = documents_of(output)
        self._template_files = template_files(output)
        self._marked_documents: dict[int, Document] = self._with_marks()
        self._keys = ValueKeys(self._plain, rendering, texts, self._own_values)

    def place(self, document: int, _identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the key of a values file that sets the value at a path, if there is one, and the lines of templates that put it there."""
        word = self._literal_text(document, path, key=key)
        marks = self.marks(document, path, key=key)
        if self._own_lines:
            marks = self._own_marks(document, path, marks)
        lines = [line_place(self._sources[mark.file], mark.line, word) for mark in marks]
        found = self._keys.find(document, path)
        if found is not None:
            return (*found.places(key=key), *lines[:1])
        return (*lines[:1], *(each for each in lines[1:2] if each != lines[0])) or (self._of_document(document),)

    def template_place(self, document: int, path: Path, *, key: bool = False) -> SourcePlace | None:
        """Return the innermost line of a template that produced the value at a path; None if it is unknown."""
        marks = self.marks(document, path, key=key)
        return line_place(self._sources[marks[0].file], marks[0].line) if marks else None

    def line(self, document: int, path: Path) -> tuple[str, int] | None:
        """Return the template and the innermost line that produced the value at a path; None if it is unknown."""
        marks = self.marks(document, path)
        return (self._sources[marks[0].file], marks[0].line) if marks else None

    def lacks(self, file: str, line: int) -> bool:
        """Return whether a line of a template, links resolved, is certainly not in the output: it has a mark, which is not there."""
        return (file, line) in self._lacking

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
        return self._marks_at(parsed, span.line - parsed.line - 1)

    def place_of_row(self, document: int, row: int) -> SourcePlace | None:
        """Return the innermost line of a template that produced a line of a document, counted from 0; None if it is unknown."""
        parsed, plain = self._marked_documents.get(document), self._plain.get(document)
        if parsed is None or plain is None or parsed.text().count("\n") != plain.text().count("\n"):
            return None
        marks = self._marks_at(parsed, row)
        return line_place(self._sources[marks[0].file], marks[0].line) if marks else None

    @staticmethod
    def _marks_at(parsed: Document, row: int) -> list[Mark]:
        lines = parsed.text().split("\n")
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
        value = path[-1] if key and path else value_at_path(self.data(document), *path)
        return str(value) if type(value) in (str, int) else ""

    def _with_marks(self) -> dict[int, Document]:
        """Return the documents with marks. Rendering is repeated without the marks that changed the output."""
        skipped: dict[str, set[int]] = {}
        dropped: set[str] = set()
        for _ in range(_MOST_ROUNDS):
            with temporary_folder() as folder:
                top = os.path.join(folder, "chart")
                origin = self._rendering.copy(top)
                # Those of packed subcharts are in no file.
                own = [each for each in templates_of(top) if os.path.isfile(origin(each))]
                templates = [each for each in own if os.path.relpath(each, top) not in dropped]
                names = [os.path.relpath(each, top) for each in templates]
                self._sources = [origin(each) for each in templates]
                self._own_values = [written for each in values_in(top) if os.path.isfile(written := origin(each))]
                given: set[Mark] = set()
                for number, path in enumerate(templates):
                    text = read_template(path)
                    if text is not None:
                        marked = add_marks(text, number, skipped.get(names[number], ()))
                        given.update(marks_in(marked))
                        with open(path, "w", encoding="utf-8", newline="") as file:
                            file.write(marked)
                try:
                    output = self._rendering.render(top)
                except RenderError as error:
                    blamed = {name for name in names for file in _FILE.findall(error.reason) if file.endswith(f"/{name}") or file == name}
                    if not blamed:
                        return {}
                    dropped |= blamed
                    continue
            documents = documents_of(output)
            wrong = {mark for each in documents.values() for mark in self._changed(each)}
            if not wrong:
                lacking = given.difference(marks_in(output.decode("utf-8", "replace")))
                self._lacking = {(os.path.realpath(self._sources[each.file]), each.line) for each in lacking}
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


def template_files(output: bytes) -> dict[int, str]:
    """Return the template of each document, as far as Helm names it in a comment: the path in the chart, below the name of the chart."""
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
        return SourcePlace(file, 0, Span(number, occurrences[0].start() + 1, number, occurrences[0].end() + 1), TEMPLATE, exact=True)
    start = len(line) - len(line.lstrip())
    return SourcePlace(file, 0, Span(number, start + 1, number, max(len(line.rstrip()), start + 1) + 1), TEMPLATE, exact=True)


UNCHANGED = "unchanged"
"""The kind of a place of a value that a downloaded chart has whatever the user sets."""


class ChartDefaults:
    """What a downloaded chart renders with its default values, which ``render`` returns."""

    def __init__(self, render: Callable[[], bytes]) -> None:
        self._render = render
        self._known: dict[tuple[str, str, str], Any] | None = None

    def marked(self, place: SourcePlace, identity: RenderedIdentity, path: Path, data: Any) -> SourcePlace:
        """Return a place for the value at a path of an object: of the kind UNCHANGED if the chart has that value by default."""
        try:
            is_default = bool(value_at(data, path) == value_at(self._objects()[_without_namespace(identity)], path))
        except (LookupError, TypeError):
            return place
        return replace(place, kind=UNCHANGED) if is_default else place

    def _objects(self) -> dict[tuple[str, str, str], Any]:
        if self._known is None:
            try:
                found = [each.data for each in documents_of(self._render()).values() if type(each.data) is dict]
            except (OSError, RenderError):
                found = []
            self._known = {_without_namespace(identity_of(data)): data for data in found}
        return self._known


@dataclass(frozen=True, slots=True)
class DownloadedSourceMap(SourceMap):
    """The source map of a chart that was downloaded, or that depends on such a chart.

    ``folder`` holds the downloaded charts. What comes from there is at ``elsewhere``; ``defaults`` are those of a downloaded chart.
    """

    inner: ChartSourceMap
    folder: str
    elsewhere: SourcePlace
    defaults: ChartDefaults | None

    def lacks(self, file: str, line: int) -> bool:
        """Return whether a line of a template is certainly not in the output of the chart."""
        return self.inner.lacks(file, line)

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the source positions of a rendered value, or of its key, that are in files of the user."""
        found = [each for each in self.inner.place(document, identity, path, key=key) if not is_inside(each.file, self.folder)]
        if found or self.defaults is None:
            return tuple(found) or (self.elsewhere,)
        return (self.defaults.marked(self.elsewhere, identity, path, self.inner.data(document)),)


def _without_namespace(identity: RenderedIdentity) -> tuple[str, str, str]:
    """Return what identifies an object in a chart, to whose objects Argo CD and Flux add a namespace."""
    return identity.api_version, identity.kind, identity.name
