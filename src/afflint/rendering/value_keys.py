"""The key of a value that sets something in the output of a chart, found by trial.

To find the key for a leaf, the chart is rendered again with other values: the key whose new value appears at the leaf is its source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from afflint.charts.values import embedded_constraints
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.given_values import VALUE, Inline, Setting
from afflint.rendering.helm import ChartRendering, Replacements
from afflint.rendering.programs import RenderError
from afflint.rendering.set_templates import has_placeholder, literal_pieces, without_actions
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
from afflint.source.sources import SCHEMA, VALUES
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.document import Document, value_at_path

_MOST_TRIALS = 24
"""The highest number of times that a chart is rendered to find keys of values."""
_MOST_CANDIDATES = 12
_MOST_ABOVE, _MOST_LEAVES, _MOST_BESIDE = 4, 64, 4
"""How many maps around a value are searched, how many values in each of them, and how many of these are tried in its place."""
_MOST_AT_ONCE = 32
_EVERYWHERE: tuple[Any, ...] = (True, "", 0, 1, "true", "false")
"""Common values: for them, only keys with the name of the rendered field are tried."""


class InlineText(NamedTuple):
    """YAML in a text among inline values, for templates that call ``tpl``, and the path of the text."""

    inline: Inline
    path: Path
    inner: SourceText

    @property
    def data(self) -> Any:
        """The data in the text."""
        return self.inner.data


class ValueKey(NamedTuple):
    """A key of a value: the document, the values of an object or the option that has it, and its path there."""

    origin: SourceText | Inline | InlineText | Setting
    path: Path

    def places(self, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the place of the value, or of its key, and that of a parameter that it contains."""
        if isinstance(self.origin, (Inline, Setting)):
            return self.origin.places(self.path, key=key)
        text = self.origin.inner if isinstance(self.origin, InlineText) else self.origin
        return (text.place(self.path, VALUE, key=key, exact=True),)

    def above(self, below: Path) -> ValueKey | None:
        """Return the key of a map or list around the value, which has the value at the path ``below``; None without one."""
        if self.path[-len(below) :] != below:
            return None
        return ValueKey(self.origin, self.path[: -len(below)])


class ValueKeys:
    """The keys of values for the output of one chart. ``own_files`` are the values files of the chart and its subcharts."""

    def __init__(self, documents: Mapping[int, Document], rendering: ChartRendering, texts: SourceTexts, own_files: Sequence[str]) -> None:
        self._documents = documents
        self._rendering = rendering
        self._chart = rendering.chart
        self._texts = texts
        self._own_files = own_files
        self._trials = 0
        self._embedded: dict[str, list[SourceText]] = {}
        self._known: dict[tuple[int, Path], ValueKey | None] = {}

    def find(self, document: int, path: Path) -> ValueKey | None:
        """Return the key that sets the value at a path; for a map or list, the parent of the key of its first leaf."""
        parsed = self._documents.get(document)
        if parsed is None:
            return None
        try:
            value = value_at(parsed.data, path)
        except (LookupError, TypeError):
            return None
        below, leaf = next(iter(leaves(value)))
        found = self._key_of(document, (*path, *below), leaf)
        if found is None and (below or (is_leaf(leaf) and not leaf)):
            return self._beside(document, parsed.data, path, value)
        return found if found is None or not below else found.above(below)

    def _beside(self, document: int, data: Any, path: Path, value: Any) -> ValueKey | None:
        """Return the key of a value that cannot be tried itself: it is where the values around it are copied from, at the same path."""
        trials = 0
        for length in range(len(path) - 1, max(len(path) - 1 - _MOST_ABOVE, 0), -1):
            above, rest = path[:length], path[length:]
            around = value_at(data, above)
            for below, leaf in islice(leaves(around), _MOST_LEAVES):
                if not below or all(each.above(below) is None for each in self._candidates(leaf)):
                    continue
                trials += 1
                found = self._key_of(document, (*above, *below), leaf)
                whole = None if found is None else found.above(below)
                if whole is not None:
                    return _counterpart_of(whole, around, rest, value)
                if trials >= _MOST_BESIDE:
                    return None
        return None

    def _key_of(self, document: int, path: Path, value: Any) -> ValueKey | None:
        known = (document, path)
        if known not in self._known:
            self._known[known] = self._find_key(document, path, value)
        return self._known[known]

    def _find_key(self, document: int, path: Path, value: Any) -> ValueKey | None:
        if value is None or value is False or isinstance(value, (dict, list)):
            return None  # Templates often leave such a value out, so that no other value appears in its place.
        step = next((each for each in reversed(path) if type(each) is str), "")
        candidates = self._candidates(value)
        near = [each for each in candidates if step in each.path]
        far = [each for each in candidates if step not in each.path]
        trials = [near, *([each] for each in near)] if len(near) > 1 else [near]
        if value not in _EVERYWHERE and len(far) <= _MOST_CANDIDATES:
            trials.append(far)
        trials += [] if candidates else [self._candidates(value, _may_become)]
        found = (self._appearing(document, path, value, candidates) for candidates in trials if candidates)
        return next((each for each in found if each is not None), None)

    def _candidates(self, value: Any, is_like: Callable[[Any, Any], bool] = same) -> list[ValueKey]:
        """Return the keys that have this value."""
        settings = [each for each in reversed(self._chart.settings) if each.written is not None and is_like(each.value, value)]
        found = [ValueKey(each, each.path) for each in settings]
        for inline in reversed(self._chart.inline):
            found += [each for each in _keys_in(inline, value, is_like) if inline.is_at(each.path)]
            found += [key for each in _texts_in(inline) for key in _keys_in(each, value, is_like)]
        for file in (*map(os.path.realpath, reversed(self._chart.values)), *self._own_files):
            for text in (*self._texts.of(file), *self._inside(file)):
                found += _keys_in(text, value, is_like)
        return found

    def _inside(self, file: str) -> list[SourceText]:
        """Return the YAML that a values file contains as text, for templates that call ``tpl``."""
        if file not in self._embedded:
            self._embedded[file] = [each for text in self._texts.of(file) for each in _yaml_in(text)]
        return self._embedded[file]

    def _appearing(self, document: int, path: Path, value: Any, candidates: Sequence[ValueKey]) -> ValueKey | None:
        """Return the key that appears at a path if the value of each of the candidates is replaced by another unique value."""
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
        shown = None if parsed is None else value_at_path(parsed.data, *path)
        shown = shown.casefold() if type(shown) is str else shown
        return next((each for each, token in zip(candidates, tokens, strict=True) if same(token, shown)), None)

    def _with_values(self, candidates: Sequence[ValueKey], tokens: Sequence[Any]) -> bytes:
        """Render the chart with tokens in place of some values. A schema of values does not apply. Raises RenderError and OSError."""
        by_file: dict[str, list[tuple[Span, str]]] = {}
        inline: dict[int, Any] = {}
        settings: dict[int, str] = {}
        in_texts: dict[tuple[int, Path], list[tuple[Span, str]]] = {}
        for each, token in zip(candidates, tokens, strict=True):
            origin = each.origin
            if isinstance(origin, SourceText):
                by_file.setdefault(origin.file, []).append((origin.place(each.path, "").span, str(token)))
            elif isinstance(origin, Inline):
                number = _number_of(origin, self._chart.inline)
                inline[number] = _replace_value(inline.get(number, origin.values), each.path, token)
            elif isinstance(origin, InlineText):
                span = origin.inner.document.locate(each.path)
                in_texts.setdefault((_number_of(origin.inline, self._chart.inline), origin.path), []).append((span, str(token)))
            else:
                settings[_number_of(origin, self._chart.settings)] = str(token)
        for (number, path), changes in in_texts.items():
            values = inline.get(number, self._chart.inline[number].values)
            inline[number] = _replace_value(values, path, replace_spans(value_at(values, path), changes))
        with temporary_folder() as folder:
            top = os.path.join(folder, "chart")
            origin_of = self._rendering.copy(top)
            _remove_schemas(top)
            replaced: dict[str, str] = {}
            for number, (file, changes) in enumerate(by_file.items()):
                changed = replace_spans(read_regular(file, 1 << 24).decode("utf-8"), changes)
                if file in map(os.path.realpath, self._chart.values):
                    copy = os.path.join(folder, f"values-{number}.yaml")
                    replaced[file] = copy
                else:
                    copy = next((each for each in values_in(top) if origin_of(each) == file), "")
                    if not copy:
                        continue
                with open(copy, "w", encoding="utf-8", newline="") as written:
                    written.write(changed)
            return self._rendering.render(top, Replacements(replaced, inline, settings))


def _keys_in(origin: SourceText | Inline | InlineText, value: Any, is_like: Callable[[Any, Any], bool]) -> list[ValueKey]:
    """Return the keys in a document or in inline values that have a value."""
    return [ValueKey(origin, path) for path, leaf in leaves(origin.data) if path and is_like(leaf, value)]


def _may_become(written: Any, rendered: Any) -> bool:
    """Return whether ``tpl``, or functions such as ``trim``, ``trunc`` or ``lower``, may make a text of another one."""
    if type(written) is not str or type(rendered) is not str or len(rendered) < _SHORTEST:
        return False
    if not has_placeholder(written):
        return rendered.casefold() in written.casefold()
    position = 0
    for piece in literal_pieces(written):
        position = rendered.find(piece, position) + len(piece)
        if position < len(piece):
            return False
    return True


_SHORTEST = 2
"""The length of the shortest text that is compared with parts of values."""


def _yaml_in(text: SourceText) -> Iterator[SourceText]:
    """Yield the YAML in the literal blocks of a document. Constraints have the key of the block, too."""
    constraints = embedded_constraints(text.document) if b": |" in text.document.raw_bytes else ()
    found = [(path, inner.document) for path, inner in constraints if type(inner.document.data) is dict]
    yield from (SourceText(text.file, document, text.index) for _, document in found)
    known = {(*path, *document.data) for path, document in found}
    for path, leaf in leaves(text.data):
        if path not in known and type(leaf) is str and "\n" in leaf:
            yield from _yaml_at(text, path, leaf)


def _yaml_at(text: SourceText, path: Path, block: str) -> Iterator[SourceText]:
    """Yield the YAML in the literal block at a path, without the actions of templates in it."""
    for each in text.inside(path, without_actions(block)):
        if each.whole is None and type(each.data) in (dict, list):
            yield replace(each, index=text.index)


def _texts_in(inline: Inline) -> Iterator[InlineText]:
    """Yield the YAML in the texts of inline values."""
    for path, leaf in leaves(inline.values) if not inline.target else ():
        holder = inline.holder(path) if type(leaf) is str and "\n" in leaf else None
        if holder is not None:
            yield from (InlineText(inline, path, each) for each in _yaml_at(holder.text, (*holder.path, *path), leaf))


def _counterpart_of(key: ValueKey, around: Any, rest: Path, value: Any) -> ValueKey | None:
    """Return where a value is in the copy of the values ``around`` it at a path of a document; None if something else is there."""
    source = value_at_path(key.origin.data, *key.path)
    other = counterpart(source, around, rest)
    if other is None:
        return None
    found = value_at(source, other)
    is_same = type(found) is type(value) and (not is_leaf(value) or same(found, value))
    return ValueKey(key.origin, (*key.path, *other)) if is_same else None


def _number_of(item: object, items: Sequence[object]) -> int:
    return next(number for number, each in enumerate(items) if each is item)


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


def values_in(chart: str) -> Iterator[str]:
    """Yield the values files of a chart and its subcharts."""
    for folder, _, names in os.walk(chart):
        if VALUES in names:
            yield os.path.join(folder, VALUES)


def _remove_schemas(chart: str) -> None:
    for folder, _, names in os.walk(chart):
        if SCHEMA in names:
            with suppress(OSError):
                os.remove(os.path.join(folder, SCHEMA))


def _unique_value(value: Any, number: int) -> Any:
    """Return a value that no chart contains: a number in place of a number, otherwise a word."""
    if type(value) is int:
        return 71_003 + number * 17
    return f"afflint{number}token"
