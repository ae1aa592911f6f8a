"""From what Helm made back to where it is written: the line of the template, by marks, and the key of a values file, by trial.

Which key of which values file a leaf comes from is found out by rendering once more with another value there: it must turn up at the leaf.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from afflint.findings.finding import Path, Span
from afflint.rendering.kustomize_origins import RenderedIdentity, identity_of
from afflint.rendering.line_marks import Mark, marked, marks_in, read_template, templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace, SourceText, SourceTexts, documents_of, is_leaf, leaves, same, value_at
from afflint.source.files import read_regular
from afflint.source.sources import VALUES
from afflint.yaml.document import Document
from afflint.yaml.documents import read, split

_MOST_ROUNDS = 5
_MOST_TRIALS = 24
"""So often a chart is rendered at most to find keys of values."""
_MOST_CANDIDATES = 12
_EVERYWHERE: tuple[Any, ...] = (True, "", 0, 1, "true", "false")
"""What values files say in many places: of these only the ones under a key of the same name are tried."""
_FILE = re.compile(r"[\w.\-]+/[^\s:()\"]+")
_SOURCE = re.compile(rb"(?m)^# Source: (\S+)")

Rendering = Callable[[str, Mapping[str, str], Mapping[str, Any] | None], bytes]
"""Renders the copy of a chart in a folder, with other files in place of values files that are told to Helm, and others in place of the
values that win over those, if any. Raises RenderError."""


@dataclass(frozen=True, slots=True)
class ChartFiles:
    """A chart as it is rendered: a copy of it can be made, which tells where each of its files comes from."""

    copied: Callable[[str], Callable[[str], str]]
    """Copies the chart into a folder, and gives what tells for a file of the copy which file it was."""
    render: Rendering
    values: tuple[str, ...]
    """The values files that are told to Helm, the last of which wins."""
    inline: tuple[SourceText, Path] | None = None
    """Where the values stand that win over those."""


class Templates:
    """The way back for one chart."""

    def __init__(self, output: bytes, root_file: str, files: ChartFiles, texts: SourceTexts) -> None:
        self._files = files
        self._texts = texts
        self._root_file = root_file
        self._sources: list[str] = []
        self._own_values: list[str] = []
        self._plain = documents_of(output)
        self._named = _source_files(output)
        self._marked: dict[int, Document] = self._with_marks()
        self._trials = 0
        self._keys: dict[tuple[int, Path], tuple[SourceText, Path] | None] = {}

    def place(self, document: int, _identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """The key of a values file that says what stands at a path, if one does, and the lines of templates that put it there."""
        word = self._word(document, path, key=key)
        lines = [_line_place(self._sources[mark.file], mark.line, word) for mark in self.marks(document, path, key=key)]
        found = self._by_values(document, path)
        if found is not None:
            text, where = found
            return (text.place(where, "value", key=key, exact=True), *lines[:1])
        return (*lines[:1], *(each for each in lines[1:2] if each != lines[0])) or (self._of_document(document),)

    def line(self, document: int, path: Path) -> tuple[str, int] | None:
        """The innermost line that made what stands at a path, with the template that it stands in; None where it is not known."""
        marks = self.marks(document, path)
        return (self._sources[marks[0].file], marks[0].line) if marks else None

    def written(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """What the object is called, which a template does not say."""
        return identity

    # Templates.

    def marks(self, document: int, path: Path, *, key: bool = False) -> list[Mark]:
        """The lines of templates that made what stands at a path, the innermost first; none where that is not known."""
        parsed, plain = self._marked.get(document), self._plain.get(document)
        if parsed is None or plain is None or not _agree(plain.data, parsed.data, path):
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
                # What has no mark of its own was made by a line that made several.
                several = [number for number, mark in enumerate(following) if mark.several]
                return following[several[0] :] if several else []
        return []

    def _word(self, document: int, path: Path, *, key: bool) -> str:
        """What a line of a template would say where it says by itself what stands at a path; "" where that is no single word."""
        plain = self._plain.get(document)
        try:
            value = path[-1] if key and path else value_at(plain.data, path) if plain is not None else None
        except (LookupError, TypeError):
            return ""
        return str(value) if type(value) in (str, int) else ""

    def _with_marks(self) -> dict[int, Document]:
        """The documents with marks. In rounds: what marks change is rendered again without those that do."""
        without: dict[str, set[int]] = {}
        dropped: set[str] = set()
        for _ in range(_MOST_ROUNDS):
            with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
                top = os.path.join(os.path.realpath(folder), "chart")
                origin = self._files.copied(top)
                templates = [each for each in templates_of(top) if os.path.relpath(each, top) not in dropped]
                names = [os.path.relpath(each, top) for each in templates]
                self._sources = [origin(each) for each in templates]
                self._own_values = [origin(each) for each in _values_in(top)]
                for number, path in enumerate(templates):
                    text = read_template(path)
                    if text is not None:
                        with open(path, "w", encoding="utf-8", newline="") as file:
                            file.write(marked(text, number, without.get(names[number], ())))
                try:
                    output = self._files.render(top, {}, None)
                except RenderError as error:
                    blamed = {name for name in names for said in _FILE.findall(error.reason) if said.endswith(f"/{name}") or said == name}
                    if not blamed:
                        return {}
                    dropped |= blamed
                    continue
            documents = documents_of(output)
            wrong = {mark for each in documents.values() for mark in self._changed(each)}
            if not wrong:
                break
            for mark in wrong:
                without.setdefault(names[mark.file], set()).add(mark.line)
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
        """The marks that have become part of values."""
        if document.problem is not None or "#@@" not in document.text():
            return
        for _, value in leaves(document.data):
            if type(value) is str and "#@@" in value:
                yield from marks_in(value)
        for key in _keys(document.data):
            if "#@@" in key:
                yield from marks_in(key)

    def _of_document(self, document: int) -> SourcePlace:
        """The file that a document was made of, by the comment that Helm puts before it."""
        name = self._named.get(document)
        if name is not None:
            # Charts are called by their names there, and files lie in folders.
            below = os.path.join(*name.split("/")[1:]) if "/" in name else name
            path = os.path.join(os.path.dirname(self._root_file), below)
            if os.path.isfile(path):
                return _line_place(path, 1)
        return _line_place(self._root_file, 1)

    # Values.

    def _by_values(self, document: int, path: Path) -> tuple[SourceText, Path] | None:
        """The key of a values file that says what stands at a path: of a map or list, that of which its first leaf comes from."""
        parsed = self._plain.get(document)
        if parsed is None:
            return None
        try:
            value = value_at(parsed.data, path)
        except (LookupError, TypeError):
            return None
        below, leaf = next(iter(leaves(value)))
        found = self._key_of(document, (*path, *below), leaf)
        if found is None or not below:
            return found
        text, where = found
        if len(where) <= len(below) or where[-len(below) :] != below:
            return None
        return text, where[: -len(below)]

    def _key_of(self, document: int, path: Path, value: Any) -> tuple[SourceText, Path] | None:
        known = (document, path)
        if known not in self._keys:
            self._keys[known] = self._tried(document, path, value)
        return self._keys[known]

    def _tried(self, document: int, path: Path, value: Any) -> tuple[SourceText, Path] | None:
        if value is None or value is False or isinstance(value, (dict, list)):
            return None  # What is left out where it is false is not there to be found.
        step = next((each for each in reversed(path) if type(each) is str), "")
        candidates = self._candidates(value)
        near = [each for each in candidates if step in each[1]]
        far = [each for each in candidates if step not in each[1]]
        trials = [near, *([each] for each in near)] if len(near) > 1 else [near]
        if value not in _EVERYWHERE and len(far) <= _MOST_CANDIDATES:
            trials.append(far)
        found = (self._turning_up(document, path, value, tried) for tried in trials if tried)
        return next((each for each in found if each is not None), None)

    def _candidates(self, value: Any) -> list[tuple[SourceText, Path]]:
        """The leaves of values that say the same."""
        found = []
        if self._files.inline is not None:
            text, base = self._files.inline
            found += [(text, (*base, *path)) for path, leaf in leaves(value_at(text.data, base)) if path and same(leaf, value)]
        for file in self._value_files():
            for text in self._texts.of(file):
                found += [(text, path) for path, leaf in leaves(text.data) if path and same(leaf, value)]
        return found

    def _value_files(self) -> list[str]:
        """All values files: those that are told to Helm, and those of the chart and the charts in it."""
        return [*map(os.path.realpath, reversed(self._files.values)), *self._own_values]

    def _turning_up(
        self, document: int, path: Path, value: Any, tried: Sequence[tuple[SourceText, Path]]
    ) -> tuple[SourceText, Path] | None:
        """Which of some leaves of values files turns up at a path when all of them say something else, each its own."""
        tried = tried[:_MOST_CANDIDATES]
        if self._trials >= _MOST_TRIALS:
            return None
        self._trials += 1
        tokens = [_token(value, number) for number in range(len(tried))]
        try:
            output = self._with_values(tried, tokens)
        except (RenderError, OSError):
            return None
        parsed = documents_of(output).get(document)
        try:
            shown = None if parsed is None else value_at(parsed.data, path)
        except (LookupError, TypeError):
            return None
        return next((each for each, token in zip(tried, tokens, strict=True) if same(token, shown)), None)

    def _with_values(self, tried: Sequence[tuple[SourceText, Path]], tokens: Sequence[Any]) -> bytes:
        """What is rendered with tokens in place of some leaves of values files. Raises RenderError."""
        by_file: dict[str, list[tuple[Span, str]]] = {}
        said: Any = None
        for (text, path), token in zip(tried, tokens, strict=True):
            if self._files.inline is not None and text is self._files.inline[0]:
                base = self._files.inline[1]
                said = _with_value(value_at(text.data, base) if said is None else said, path[len(base) :], token)
            else:
                by_file.setdefault(text.file, []).append((text.place(path, "").span, str(token)))
        with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
            top = os.path.join(os.path.realpath(folder), "chart")
            origin = self._files.copied(top)
            instead: dict[str, str] = {}
            for number, (file, changes) in enumerate(by_file.items()):
                changed = with_changes(read_regular(file, 1 << 24).decode("utf-8"), changes)
                if file in map(os.path.realpath, self._files.values):
                    copy = os.path.join(folder, f"values-{number}.yaml")
                    instead[file] = copy
                else:
                    copy = next((each for each in _values_in(top) if origin(each) == file), "")
                    if not copy:
                        continue
                with open(copy, "w", encoding="utf-8", newline="") as written:
                    written.write(changed)
            return self._files.render(top, instead, said)


def _with_value(data: Any, path: Path, value: Any) -> Any:
    """Some data with another value at a path."""
    if not path:
        return value
    changed: Any = dict(data) if type(data) is dict else list(data)
    changed[path[0]] = _with_value(data[path[0]], path[1:], value)
    return changed


def with_changes(text: str, changes: Sequence[tuple[Span, str]]) -> str:
    """A text with other words at some places, each on one line."""
    lines = text.split("\n")
    for span, word in sorted(changes, reverse=True):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[: span.column - 1] + word + line[span.end_column - 1 :]
    return "\n".join(lines)


def _values_in(chart: str) -> Iterator[str]:
    for folder, _, names in os.walk(chart):
        if VALUES in names:
            yield os.path.join(folder, VALUES)


def _token(value: Any, number: int) -> Any:
    """What no chart says by itself: a number where a number stands, a word else."""
    if type(value) is int:
        return 71_003 + number * 17
    return f"afflint{number}token"


def _agree(plain: Any, other: Any, path: Path) -> bool:
    """Whether the same stands at a path of both, as far as there is anything."""
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


def _keys(value: Any) -> Iterator[str]:
    if type(value) is dict:
        for key, below in value.items():
            yield str(key)
            yield from _keys(below)
    elif type(value) is list:
        for below in value:
            yield from _keys(below)


def _source_files(output: bytes) -> dict[int, str]:
    """By the numbers of the documents the files that Helm says they were made of."""
    found: dict[int, str] = {}
    index = 0
    for piece, line, _ in split(output):
        named = _SOURCE.search(piece)
        if not read(piece, index, line).empty:
            if named is not None:
                found[index] = named[1].decode("utf-8", "replace")
            index += 1
    return found


def _line_place(file: str, number: int, word: str = "") -> SourcePlace:
    """A line of a template, from its first character to its last; the word in it if it stands there once and is no part of an action."""
    text = (read_template(file) or "").split("\n")
    line = text[number - 1] if number <= len(text) else ""
    said = list(re.finditer(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])", line)) if word and "{{" not in line else []
    if len(said) == 1:
        return SourcePlace(file, 0, Span(number, said[0].start() + 1, number, said[0].end() + 1), "template", exact=True)
    start = len(line) - len(line.lstrip())
    return SourcePlace(file, 0, Span(number, start + 1, number, max(len(line.rstrip()), start + 1) + 1), "template", exact=True)
