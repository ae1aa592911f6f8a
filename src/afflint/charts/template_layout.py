"""The objects that a template writes: the field that each gap is in, by the indentation of the lines around it, and their labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from afflint.charts.symbols import (
    TRUE,
    Alternatives,
    Atom,
    Condition,
    Hole,
    Indented,
    KeyOf,
    ListSymbol,
    MapSymbol,
    Output,
    OutputPiece,
    PlainPiece,
    Ref,
    any_of,
    both_of,
    holes_in,
    paths_of,
)
from afflint.charts.template_reader import WrittenFile
from afflint.findings.paths import Path
from afflint.kube.kinds import EACH

_GAP = "\ue000"
_KEY = re.compile(rf"(\"[^\"]*\"|'[^']*'|[^\s#:\"'\[\]{{}},&*!|>%@][^#:]*?|[^\s#\"']*{_GAP}[^#\"']*?)\s*:(?=\s|$)")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_HOOK = ("metadata", "annotations", "helm.sh/hook")
_LIST_FIELDS = ("tolerations", "topologySpreadConstraints")


@dataclass(frozen=True, slots=True)
class Landing:
    """A gap in an object: what is written there, under which condition, and where.

    ``field``: the path in the object; None in a place that is not known. ``is_part``: a text around it belongs to the same value.
    ``shift``: by how much further the first line of YAML of several lines is indented than the others. ``kinds`` are the kinds that the
    object may have, empty if they are not known, and ``file`` and ``line`` the action that writes it.
    """

    value: Atom
    form: str
    kinds: frozenset[str]
    field: Path | None
    condition: Condition
    file: str
    line: int
    is_part: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class WrittenLabel:
    """A label in an object: the path of the labels, its key, what is written as its value, and under which condition."""

    field: Path
    key: str
    value: tuple[OutputPiece, ...]
    condition: Condition


@dataclass
class ObjectText:
    """An object of the output: the template, its kinds, empty if they are not known, the gaps in it, and its labels.

    ``keys``: the paths of its keys, with EACH for one that is not known, ``version`` its API version, and ``used`` the condition of its
    kind. ``hook``: when Helm runs it, "" if it is not a hook.
    """

    file: str = ""
    hook: str = ""
    version: str = ""
    used: Condition = TRUE
    kinds: set[str] = field(default_factory=set)
    keys: set[Path] = field(default_factory=set)
    found: dict[Landing, list[Condition]] = field(default_factory=dict)
    labels: list[WrittenLabel] = field(default_factory=list)

    @cached_property
    def landings(self) -> list[Landing]:
        """The gaps in the object, when it is complete."""
        kinds = frozenset(self.kinds) if not any(_GAP in kind for kind in self.kinds) else frozenset()
        return [replace(each, kinds=kinds, condition=any_of(conditions)) for each, conditions in self.found.items()]


@dataclass(frozen=True, slots=True)
class _Gap:
    hole: Hole
    condition: Condition
    column: int
    width: int


@dataclass(frozen=True, slots=True)
class _State:
    """The line that is being written, with its gaps, and the keys and items around it, each with its column.

    ``block``: the column of the key whose block scalar contains the line; -1 outside of one. ``condition`` is that of its end.
    """

    line: str = ""
    gaps: tuple[_Gap, ...] = ()
    stack: tuple[tuple[int, str], ...] = ()
    block: int = -1
    condition: Condition = TRUE


class LayoutTooLargeError(Exception):
    """Templates that write too much."""


_MOST_PIECES, _MOST_AT_A_PLACE = 400_000, 2_000


def objects_in(files: Iterable[WrittenFile]) -> list[ObjectText]:
    """Return the objects of some templates. Raises LayoutTooLargeError."""
    found: list[ObjectText] = []
    left = _MOST_PIECES
    for each in files:
        layout = _Layout(left, each.file)
        layout.write(each.pieces, TRUE, 0)
        layout.end_line()
        found += layout.objects
        left = layout.left
    return found


class _Layout:
    def __init__(self, left: int, file: str) -> None:
        """``left``: the number of pieces that may be written. ``file``: the template."""
        self.left = left
        self._file = file
        self.objects = [ObjectText(file)]
        self._state = _State()
        self._inline: dict[int, bool] = {}

    def write(self, pieces: Iterable[OutputPiece], condition: Condition, width: int) -> None:
        """Write some text. ``width``: by how much the lines after the first are indented."""
        for each in pieces:
            self.left -= 1
            if self.left < 0:
                raise LayoutTooLargeError
            if isinstance(each, Alternatives) and not any(body for _, body in each.branches):
                continue
            if isinstance(each, Alternatives) and self._is_inline(each):
                self._gap(Hole(Output((each,)), "text", "", 0), condition, width)
            elif isinstance(each, Alternatives):
                self._alternatives(each, condition, width)
            elif isinstance(each, Indented):
                if each.on_new_line:
                    self._text("\n", condition, width)
                self._add(" " * each.width)
                self.write(each.pieces, condition, width + each.width)
            elif isinstance(each, Hole):
                self._gap(each, condition, width)
            else:
                self._text(each.text, condition, width)

    def _gap(self, hole: Hole, condition: Condition, width: int) -> None:
        gap = _Gap(hole, condition, len(self._state.line), width)
        self._state = replace(self._state, line=self._state.line + _GAP, gaps=(*self._state.gaps, gap), condition=condition)

    def _is_inline(self, piece: OutputPiece) -> bool:
        """Return whether a text is a part of one line, whatever its values are. A text that is included again is looked at once."""
        if not isinstance(piece, Alternatives):
            return piece.form != "yaml" if isinstance(piece, Hole) else isinstance(piece, PlainPiece) and "\n" not in piece.text
        if id(piece) not in self._inline:
            self._inline[id(piece)] = all(self._is_inline(each) for _, body in piece.branches for each in body)
        return self._inline[id(piece)]

    def _alternatives(self, alternatives: Alternatives, condition: Condition, width: int) -> None:
        """Write each text from the same state on; what follows is written after the first."""
        before = self._state
        for own, pieces in (*alternatives.branches[1:], *alternatives.branches[:1]):
            self._state = before
            self.write(pieces, both_of(condition, own), width)
            if pieces is not alternatives.branches[0][1]:
                self.end_line()

    def _add(self, text: str) -> None:
        self._state = replace(self._state, line=self._state.line + text)

    def _text(self, text: str, condition: Condition, width: int) -> None:
        first, *others = text.split("\n")
        if first:
            self._state = replace(self._state, line=self._state.line + first, condition=condition)
        for each in others:
            self.end_line()
            self._state = replace(self._state, line=" " * width + each, gaps=(), condition=condition)

    def end_line(self) -> None:
        """Read the line that has been written."""
        state = self._state
        line = state.line
        bare = line.strip()
        if not bare or (bare.startswith("#") and not state.gaps):
            return
        column = len(line) - len(line.lstrip(" "))
        if state.block >= 0 and column > state.block:
            self._land(state.gaps, tuple(step for _, step in state.stack), is_part=True)
            return
        if bare.startswith("---"):
            self.objects.append(ObjectText(self._file))
            self._state = replace(state, stack=(), block=-1)
            return
        if bare != _GAP or next(paths_of(state.gaps[0].hole.value), None) is not None:
            self._entry(line, column)
        else:  # It may be empty.
            stack = [*state.stack]
            _leave(stack, column, is_item=False)
            self._open(tuple(step for _, step in stack))

    def _open(self, path: Path) -> None:
        """Note that what is written at a path is not known."""
        self.objects[-1].keys.add((*path, EACH))

    def _entry(self, line: str, column: int) -> None:
        """Read a line with items, a key and a value."""
        state = replace(self._state, block=-1)
        stack, rest = [*state.stack], line[column:]
        # A list may be as deep as its key, also one that is written by an action.
        is_list = rest.strip() == _GAP and stack[-1:] and stack[-1][0] == column and stack[-1][1] in _LIST_FIELDS
        _leave(stack, column, is_item=rest.startswith("- ") or rest == "-" or bool(is_list))
        while rest.startswith("- ") or rest == "-":
            stack.append((column, EACH))
            inner = rest[1:].lstrip(" ")
            column, rest = column + len(rest) - len(inner), inner
        match = _KEY.match(rest)
        if match is not None:
            key = EACH if _GAP in match[1] else match[1].strip("\"'")
            value = _without_comment(rest[match.end() :].strip())
            if column == 0 and key == "kind":
                self.objects[-1].kinds.add(value.strip("\"'"))
                self.objects[-1].used = state.condition
            if column == 0 and key == "apiVersion":
                self.objects[-1].version = value.strip("\"'")
            stack.append((column, key))
            if _BLOCK_SCALAR.search(value):
                state = replace(state, block=column)
        else:
            value = rest
        self._state = replace(state, stack=tuple(stack), line="", gaps=())
        path = tuple(step for _, step in stack)
        self.objects[-1].keys.add(path)
        if value[:1] in ("*", "{", "[", "?") or rest[:1] in ("?", "<"):  # An alias, flow style, a merge key.
            self._open(path[:-1] if rest[:1] == "<" else path)
        if path == _HOOK and state.condition == self.objects[-1].used:
            self.objects[-1].hook = value.strip("\"'")
        if match is not None and path[-2:-1] == ("labels",):
            pieces = _pieces_of(value, [each.hole for each in state.gaps[match[1].count(_GAP) :]])
            self.objects[-1].labels.append(WrittenLabel(path[:-1], str(path[-1]), pieces, state.condition))
        if state.gaps:
            bare = value.strip("\"'")
            self._land(state.gaps, None if value[:1] in ("[", "{") else path, is_part=bare != _GAP and _GAP in bare)

    def _land(self, gaps: Iterable[_Gap], path: Path | None, *, is_part: bool) -> None:
        for each in gaps:
            if path is not None and not isinstance(each.hole.value, Ref) and not is_part:
                self._open(path)
            for own, hole, is_whole in _limited(_holes_of(each.hole, TRUE)):
                shift = each.column - each.width if hole.form == "yaml" and not is_part else 0
                part = is_part or hole.form == "words" or not is_whole
                for condition, atom, place in _limited(_values_in(hole.value, path, 0)):
                    found = Landing(atom, hole.form, frozenset(), place, TRUE, hole.file, hole.line, part, shift)
                    self.objects[-1].found.setdefault(found, []).append(both_of(each.condition, both_of(own, condition)))


_Item = TypeVar("_Item")


def _limited(found: Iterator[_Item]) -> Iterator[_Item]:
    """Yield some items. Raises LayoutTooLargeError if they are too many: texts and maps that share others are followed for each place."""
    for number, each in enumerate(found):
        if number > _MOST_AT_A_PLACE:
            raise LayoutTooLargeError
        yield each


def _holes_of(hole: Hole, condition: Condition) -> Iterator[tuple[Condition, Hole, bool]]:
    """Yield the holes in alternatives on one line, each with its condition, and whether it is the whole text."""
    if not isinstance(hole.value, Output):
        yield condition, hole, True
        return
    for piece in hole.value.pieces:
        for own, body in piece.branches if isinstance(piece, Alternatives) else ():
            written = [each for each in body if not isinstance(each, PlainPiece) or each.text.strip()]
            for each in written if next(holes_in(body), None) is not None else ():
                inner = each if isinstance(each, Hole) else Hole(Output((each,)), "text", "", 0)
                for further, found, is_whole in _holes_of(inner, both_of(condition, own)) if not isinstance(each, PlainPiece) else ():
                    yield further, found, is_whole and len(written) == 1


def _without_comment(value: str) -> str:
    """Return a value without the comment behind it."""
    end = value.find(value[0], 1) + 1 if value[:1] in ("'", '"') else 0
    return (value[:end] + value[end:].partition(" #")[0]).rstrip() if " #" in value else value


def _pieces_of(text: str, holes: list[Hole]) -> tuple[OutputPiece, ...]:
    """Return a text with its gaps as pieces, without the quotes around it."""
    quoted = text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 1
    plain = (text[1:-1] if quoted else text).split(_GAP)
    found: list[OutputPiece] = [PlainPiece(plain[0], "", 0)]
    for hole, each in zip(holes, plain[1:], strict=False):
        found += [*(hole.value.pieces if isinstance(hole.value, Output) else (hole,)), PlainPiece(each, "", 0)]
    return tuple(found)


def _values_in(atom: Atom, path: Path | None, depth: int) -> Iterator[tuple[Condition, Atom, Path | None]]:
    """Yield the values in a map or list that is written at a path of an object, each with its condition and path."""
    if next(paths_of(atom), None) is None:
        return
    if isinstance(atom, MapSymbol) and depth < _DEEPEST:
        for each in atom.rest:
            yield from _values_in(each, path, depth + 1)
        inner = [(key, value) for key, value in atom.entries.items()]
    elif isinstance(atom, ListSymbol) and depth < _DEEPEST:
        inner = [(EACH, value) for value in atom.items]
    else:
        if not isinstance(atom, KeyOf):
            yield TRUE, atom, path
        return
    for key, value in inner:
        for condition, each in value:
            for own, found, below in _values_in(each, None if path is None else (*path, key), depth + 1):
                yield both_of(condition, own), found, below


_DEEPEST = 8


def _leave(stack: list[tuple[int, str]], column: int, *, is_item: bool) -> None:
    """Remove the keys and items that end above a line at a column. The items of a list may be as deep as its key."""
    while stack and (stack[-1][0] > column or (stack[-1][0] == column and not (is_item and stack[-1][1] != EACH))):
        stack.pop()
