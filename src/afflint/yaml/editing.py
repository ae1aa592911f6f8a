"""Converts symbolic edits to edits of the text that leave everything else as it is written, or to none at all.

An edit changes the text as its author would have done, in the style of the surrounding text. The result is then read again: its data
must be exactly that of ``edits.applied``, and it must have all comments. Otherwise there is no edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode

from afflint.findings.edits import (
    MISSING,
    EditError,
    Insert,
    Move,
    Remove,
    Rename,
    Replace,
    Single,
    SymbolicEdit,
    changed,
    find,
    insertion_point,
    is_same,
    position_in,
    pruned,
    steps_of,
    value_at,
)
from afflint.findings.finding import Edit, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.composer import nodes_below
from afflint.yaml.documents import Document, read
from afflint.yaml.emitter import UnwritableError, Verbatim, block, entry, flow, key, scalar
from afflint.yaml.layout import LayoutEntry, TextLayout, UnclearError, colon_at, quote_at
from afflint.yaml.list_reader import ListDocument, item_from, item_of
from afflint.yaml.scalars import PLAIN_KEYS, resolve_plain

# An anchor or a tag is directly before its node, and its name is shorter than this.
_NEAR = 200
_ANCHOR_OR_TAG = re.compile(r"(?:^|[\s\[{,?:-])[&!][^\s,\[\]{}]*\s+$")


def resolve(document: Document, edits: Sequence[SymbolicEdit]) -> tuple[Edit, ...] | None:
    """Convert symbolic edits to edits of the file's text with exactly that effect on its data; None if that is impossible."""
    if len(edits) == 1 and _changes_one_word(document, edits[0]):
        return _one_word_edit(document, edits[0])
    if document.duplicates or document.problem is not None:
        return None
    try:
        return _EditSequence(document, edits).resolve()
    except (UnclearError, EditError, UnwritableError):
        return None


class _TextChange(NamedTuple):
    """Replace the text between two indexes with ``text``."""

    start: int
    end: int
    text: str


class _EditSequence:
    """Edits that are applied in order, each to the text that the previous ones left."""

    def __init__(self, document: Document, edits: Sequence[SymbolicEdit]) -> None:
        number = _item_number(edits)
        item = item_of(document, number) if number is not None else None
        if item is None and isinstance(document, ListDocument):
            raise UnclearError
        self._is_item = item is not None
        self._document = item or document
        self._edits = [_in_item(edit) for edit in edits] if item else edits
        self._page = TextLayout(self._document)
        self._patch = _Patch(self._page.text)

    def resolve(self) -> tuple[Edit, ...]:
        """Return the edits of the original text. Raises UnclearError or EditError."""
        for edit in self._edits:
            self._make(edit)
        position = self._document.position
        return tuple(Edit(Span(*position(start), *position(end)), text) for start, end, text in self._patch.changes())

    def _make(self, edit: SymbolicEdit) -> None:
        before = self._page.comments()
        for step in steps_of(self._page.document.data, edit):
            self._change(step, edit)
        after = self._page.comments()
        # Comments are removed only together with what they belong to.
        if after != before and not (isinstance(edit, Remove) and after <= before):
            raise UnclearError

    def _change(self, step: Single, edit: SymbolicEdit) -> None:
        intended = changed(self._page.document.data, step)
        written = _verbatim(self._page, edit, step) if isinstance(edit, Move) and isinstance(step, Insert) else step
        text = self._patch.change(_changes(self._page, written, is_item=self._is_item))
        document = self._read(text)
        if document is None or document.problem is not None or document.duplicates or not is_same(document.data, intended):
            raise UnclearError
        self._page = TextLayout(document)

    def _read(self, text: str) -> Document | None:
        if any("\ud800" <= char <= "\udfff" for char in text):
            return None
        if self._is_item:
            return item_from(text, 0, 0, 0)
        document = read(text.encode(), 0, 0)
        return document if type(document) is Document else None


def _item_number(edits: Sequence[SymbolicEdit]) -> int | None:
    """Return the index of the List item that all edits are in; None if they are not all in the same one."""
    starts = {_start(edit) for edit in edits}
    start = starts.pop() if len(starts) == 1 else ()
    return start[1] if len(start) == 2 and start[0] == "items" and type(start[1]) is int else None


def _start(edit: SymbolicEdit) -> Path:
    """Return the first two steps of the path that an edit changes below; () if it changes the value at that path itself."""
    paths = {edit.path[:2]} if isinstance(edit, Insert) or len(edit.path) > 2 else set()
    if isinstance(edit, Move):
        paths.add(edit.to[:2])
    return paths.pop() if len(paths) == 1 else ()


def _in_item(edit: SymbolicEdit) -> SymbolicEdit:
    """Return the same edit for a document that is a list of only this item."""
    edit = edit._replace(path=(0, *edit.path[2:]))
    return edit._replace(to=(0, *edit.to[2:])) if isinstance(edit, Move) else edit


class _Patch:
    """A text with changes, as a list of ranges of the original text and of new text."""

    def __init__(self, text: str) -> None:
        self._original = text
        self._pieces: list[tuple[int, int] | str] = [(0, len(text))]

    def change(self, changes: Sequence[_TextChange]) -> str:
        """Apply changes to the current text, and return the result."""
        pieces: list[tuple[int, int] | str] = []
        position = 0
        for start, end, text in sorted(changes):
            if start < position:
                raise UnclearError
            pieces += [*self._between(position, start), text]
            position = end
        pieces += self._between(position, None)
        self._pieces = pieces
        return "".join(each if isinstance(each, str) else self._original[each[0] : each[1]] for each in self._pieces)

    def _between(self, start: int, end: int | None) -> Iterator[tuple[int, int] | str]:
        at = 0
        for piece in self._pieces:
            length = len(piece) if isinstance(piece, str) else piece[1] - piece[0]
            first, last = max(start - at, 0), length if end is None else min(end - at, length)
            at += length
            if first < last:
                yield piece[first:last] if isinstance(piece, str) else (piece[0] + first, piece[0] + last)

    def changes(self) -> Iterator[_TextChange]:
        """Yield the changes from the original text to the current one."""
        position, text = 0, ""
        for piece in [*self._pieces, (len(self._original), len(self._original))]:
            if isinstance(piece, str):
                text += piece
                continue
            if text or piece[0] > position:
                yield _TextChange(position, piece[0], text)
            position, text = piece[1], ""


def _changes(page: TextLayout, step: Single, *, is_item: bool) -> list[_TextChange]:
    """Return the changes of a page for one edit of one place."""
    data = page.document.data
    if isinstance(step, Replace):
        return _replaced(page, step.path, step.value)
    if isinstance(step, Rename):
        return [_renamed(page, step)]
    if isinstance(step, Insert):
        path, at, value = insertion_point(data, step)
        return _inserted(page, path, step._replace(path=path, at=at, value=value))
    path = pruned(data, step)
    if len(path) < 1 + is_item:
        raise UnclearError
    return _without_entry(page, path, page.node(path[:-1]), _entries(page, path[:-1]), _position(page, path))


# Replacing values.


def _replaced(page: TextLayout, path: Path, value: Any) -> list[_TextChange]:
    """Replace a value that is missing, empty or one word, or a list or map without comments."""
    node = page.node(path)
    start, end = node.start_mark.index, node.end_mark.index
    if type(node) is ScalarNode and start < end and page.text[start:end] not in (node.value, f"'{node.value}'", f'"{node.value}"'):
        raise UnclearError
    parent = page.node(path[:-1]) if path else None
    if parent is None or parent.flow_style:
        before = page.text[page.line_start(start) : start]
        if start == end and not before.rstrip(" ").endswith(":"):
            raise UnclearError
        return [_TextChange(start, end, " " * before.endswith(":") + _flow(page, path, value))]
    return _replaced_in_block(page, _entry_at(page, path), value)


def _replaced_in_block(page: TextLayout, place: LayoutEntry, value: Any) -> list[_TextChange]:
    comment = page.comment_after(place.end)
    is_one_line = page.line_end(place.after) >= place.end
    if comment and not is_one_line:
        raise UnclearError
    if not isinstance(value, (dict, list)) or not value:
        start = place.value.start_mark.index if is_one_line and place.after < place.end else place.after
        return [_TextChange(start, place.end, " " * (start == place.after) + entry("", value, page.style())[0][1:])]
    lead = "-" if place.key is None else ":"
    first, *rest = entry(lead, value, page.style())
    eol, indent = page.line_break(place.after), " " * page.column(place.start)
    below = "".join(eol + indent + line if line else eol for line in rest)
    if comment:
        return [_TextChange(place.after, place.end, first[1:]), _TextChange(page.line_end(place.end), page.line_end(place.end), below)]
    return [_TextChange(place.after, place.end, first[1:] + below)]


def _flow(page: TextLayout, path: Path, value: Any) -> str:
    quote, colon = quote_at(page.document, path), colon_at(page.document, path)
    return flow(value, quote, colon=colon, comma="," if colon == ":" else ", ")


def _renamed(page: TextLayout, edit: Rename) -> _TextChange:
    name, quote = str(edit.path[-1]), ""
    found = _entry_at(page, edit.path)
    start, end = found.key.start_mark.index, found.key.end_mark.index
    written = page.text[start:end]
    if not _is_key(written, name):
        raise UnclearError
    if written[0] in ("'", '"'):
        quote = written[0]
    text = key(edit.key, quote, flow=bool(page.node(edit.path[:-1]).flow_style))
    if text is None:
        raise UnclearError
    return _TextChange(start, end, text)


def _entry_at(page: TextLayout, path: Path) -> LayoutEntry:
    return _entries(page, path[:-1])[_position(page, path)]


def _entries(page: TextLayout, path: Path) -> list[LayoutEntry]:
    """Return the entries of the map or list at ``path``. Raises UnclearError if some of them are merged into it."""
    entries = page.entries(page.node(path))
    if len(entries) != len(value_at(page.document.data, path)):
        raise UnclearError
    return entries


def _position(page: TextLayout, path: Path) -> int:
    if type(path[-1]) is int:
        return path[-1]
    return list(value_at(page.document.data, path[:-1])).index(path[-1])


# Inserting entries.


def _inserted(page: TextLayout, path: Path, edit: Insert) -> list[_TextChange]:
    holder = value_at(page.document.data, path)
    added = [edit.value] if type(edit.at) is int else {str(edit.at): edit.value}
    if not holder:
        return _replaced(page, path, added)
    node = page.node(path)
    position = edit.at if type(edit.at) is int else position_in(holder, edit)
    if node.flow_style:
        return [_into_flow(page, path, _entries(page, path), position, added)]
    return [_into_block(page, path, _entries(page, path), position, block(added, page.style()))]


def _into_block(page: TextLayout, path: Path, entries: list[LayoutEntry], position: int, lines: list[str]) -> _TextChange:
    indent = " " * page.column(entries[0].start)
    indented = [indent + line if line else "" for line in lines]
    if position:
        before = entries[position - 1]
        page.comment_after(before.end)
        at, eol = page.next_line(before.end), page.line_break(before.end)
        if page.line_end(before.end) == len(page.text):
            return _TextChange(at, at, "".join(eol + line for line in indented))
        return _TextChange(at, at, "".join(line + eol for line in indented))
    first, eol = entries[0], page.line_break(entries[0].start)
    if page.is_first(first.start):
        # A comment above the first line of an object belongs to the whole object.
        at = page.with_comments_above(first, 0) if path else page.line_start(first.start)
        return _TextChange(at, at, "".join(line + eol for line in indented))
    # After a dash: the entry that was first moves to the next line.
    return _TextChange(first.start, first.start, eol.join(indented)[len(indent) :] + eol + indent)


def _into_flow(page: TextLayout, path: Path, entries: list[LayoutEntry], position: int, added: Any) -> _TextChange:
    neighbour = entries[min(position, len(entries) - 1)]
    line = page.line_start(neighbour.start)
    indent = page.text[line : neighbour.start]
    on_lines = line > 0 and not indent.strip(" ")
    text = _flow(page, path, added)[1:-1]
    comma = "," if colon_at(page.document, path) == ":" else ", "
    if on_lines:
        comma = f",{page.line_break(max(line - 2, 0))}{indent}"
        if quote_at(page.document, path):
            text = _on_lines(page, path, added, neighbour, comma[1:])
    if position == 0:
        return _TextChange(entries[0].start, entries[0].start, text + comma)
    at = entries[position - 1].end
    following = page.text[at:].lstrip()[:1] if position == len(entries) else ""
    if following in (",", "#") or (on_lines and "#" in page.text[at : page.line_end(at)]):
        raise UnclearError
    return _TextChange(at, at, comma + text)


def _on_lines(page: TextLayout, path: Path, added: Any, neighbour: LayoutEntry, line_break: str) -> str:
    """Write an entry or item in JSON, with one line for each nested value."""
    closing = page.node(path).end_mark.index - 1
    step = page.column(neighbour.start) - page.column(closing) if page.is_first(closing) else 0
    ((name, value),) = added.items() if isinstance(added, dict) else [("", added[0])]
    if isinstance(value, Verbatim):
        value = value.data
    if not value or not isinstance(value, (dict, list)) or step < 1:
        return _flow(page, path, added)[1:-1]
    lead = f"{json.dumps(name, ensure_ascii=False)}{colon_at(page.document, path)}" if isinstance(added, dict) else ""
    return lead + json.dumps(value, ensure_ascii=False, indent=step).replace("\n", line_break)


# Removing one of two entries with the same key.


def without_repetition(document: Document, path: Path) -> tuple[Edit, ...]:
    """Return the edits that remove the second of two equal entries with the key at ``path``; () if they differ."""
    if isinstance(document, ListDocument):
        return ()
    try:
        page = TextLayout(document)
        parent = page.node(path[:-1])
        entries = page.entries(parent)
        found = [number for number, entry in enumerate(entries) if entry.key is not None and entry.key.value == path[-1]]
        if len(found) != 2 or not _is_alike(*(entries[number].value for number in found)):
            return ()
        changes = _without_entry(page, path, parent, entries, found[1])
    except UnclearError:
        return ()
    if any("#" in page.text[start:end] for start, end, _ in changes):
        return ()  # The comment may be important.
    return tuple(Edit(Span(*document.position(start), *document.position(end)), text) for start, end, text in changes)


def _is_alike(one: Any, other: Any) -> bool:
    """Whether two nodes have the same content in the same words."""
    if type(one) is not type(other) or one.ctag != other.ctag:
        return False
    if type(one) is ScalarNode:
        return bool(one.value == other.value)
    if len(one.value) != len(other.value):
        return False
    pairs = zip(one.value, other.value, strict=True)
    if type(one) is MappingNode:
        return all(_is_alike(key, other_key) and _is_alike(value, below) for (key, value), (other_key, below) in pairs)
    return all(_is_alike(item, below) for item, below in pairs)


# Removing entries.


def _without_entry(page: TextLayout, path: Path, parent: Any, entries: list[LayoutEntry], position: int) -> list[_TextChange]:
    removed = entries[position]
    if len(entries) == 1:
        return _empty_collection(page, path, parent, removed)
    following = entries[position + 1] if position + 1 < len(entries) else None
    if parent.flow_style:
        start, end = (removed.start, following.start) if following else (entries[position - 1].end, removed.end)
        if "#" in (page.text[removed.end : end] if following else page.text[start : removed.start]):
            raise UnclearError
        return [_TextChange(start, end, "")]
    page.comment_after(removed.end)
    if page.is_first(removed.start):
        return [_lines_of(page, path, removed, entries[position - 1].end if position else 0)]
    if following is None or "#" in page.text[page.line_end(removed.end) : following.start]:
        raise UnclearError
    return [_TextChange(removed.start, following.start, "")]


def _lines_of(page: TextLayout, path: Path, removed: LayoutEntry, previous: int) -> _TextChange:
    """Return the change that removes the lines of an entry with the comments above that belong to it.

    Comments above the first line of an object belong to the whole object.
    """
    start = page.line_start(removed.start) if len(path) == 1 and not previous else page.with_comments_above(removed, previous)
    end = page.next_line(removed.end)
    if page.line_end(removed.end) == len(page.text) and start:
        start, end = page.line_end(page.line_start(start - 1)), len(page.text)
    return _TextChange(start, end, "")


def _empty_collection(page: TextLayout, path: Path, parent: Any, removed: LayoutEntry) -> list[_TextChange]:
    """Remove the only entry of a map or a list, which stays with nothing in it."""
    nothing = "[]" if removed.key is None else "{}"
    if parent.flow_style:
        return [_TextChange(parent.start_mark.index, parent.end_mark.index, nothing)]
    if len(path) < 2:
        raise UnclearError
    page.comment_after(removed.end)
    holder = _entry_at(page, path[:-1])
    if not page.is_first(removed.start) or page.line_start(removed.start) <= holder.after:
        return [_TextChange(removed.start, removed.end, nothing)]
    return [_TextChange(holder.after, holder.after, f" {nothing}"), _lines_of(page, path, removed, holder.after)]


# Moving entries as they are written.


def _verbatim(page: TextLayout, move: Move, step: Insert) -> Insert:
    """Return the same insertion with the original text of the moved entry, including comments, if it can be indented again."""
    source = move.path if not move.merge or step.path == move.to else (*move.path, step.at)
    found, parent = _entry_at(page, source), page.node(source[:-1])
    if parent.flow_style:
        _keep_words(found.value)
        return step
    if _is_in_flow(page, move.to):
        _keep_words(found.value)
    column = page.column(found.start)
    start, previous = found.start, _end_before(page, source)
    first = page.with_comments_above(found, previous) if page.is_first(found.start) and previous else page.line_start(start)
    comments = [line[column:] for line in _BREAKS.split(page.text[first : page.line_start(start)])[:-1]]
    name, *lines = _BREAKS.split(page.text[start : page.line_end(found.end)])
    if any(line.strip() and line[:column].strip(" ") for line in lines):
        return step
    if step.at != source[-1]:
        renamed = key(str(step.at))
        if renamed is None:
            raise UnclearError
        name = f"{renamed}{name[found.key.end_mark.index - start :]}"
    return step._replace(value=Verbatim((*comments, name, *(line[column:] for line in lines)), step.value))


def _is_in_flow(page: TextLayout, path: Path) -> bool:
    """Whether an entry that is inserted into the map at ``path`` is written between braces."""
    while path and page.document.node_at(path) is None:
        path = path[:-1]
    node = page.document.node_at(path)
    return type(node) is not ScalarNode and bool(node.flow_style)


def _keep_words(node: Any) -> None:
    """Raise UnclearError if a word below a node would be written differently: `y` would become `true`."""
    for each in nodes_below(node):
        if type(each) is ScalarNode and each.style not in ("'", '"', "|", ">"):
            value = resolve_plain(each.value)
            if not isinstance(value, str) and scalar(value) != each.value:
                raise UnclearError


def _end_before(page: TextLayout, path: Path) -> int:
    """Return the end of the text before an entry that does not belong to it: of the previous entry, or of the key of its map."""
    position = _position(page, path)
    if position:
        return _entries(page, path[:-1])[position - 1].end
    return _entry_at(page, path[:-1]).after if len(path) > 1 else 0


_BREAKS = re.compile(r"\r\n|\n|\r")


# Replacing one word, as most fixes do. This works whatever else the document contains.


def _changes_one_word(document: Document, edit: SymbolicEdit) -> bool:
    if isinstance(edit, Replace) and not isinstance(edit.value, (dict, list)):
        return not isinstance(find(document.data, edit.path), (dict, list, type(None)))
    return isinstance(edit, Rename)


def _one_word_edit(document: Document, edit: SymbolicEdit) -> tuple[Edit, ...] | None:
    """Return the edit that replaces a scalar or a key of one word, with its quotes; None for all others."""
    if not isinstance(edit, (Replace, Rename)) or not edit.path or find(document.data, edit.path) is MISSING:
        return None
    is_key = isinstance(edit, Rename)
    if not _is_single_word(document, edit.path, key=is_key):
        return None
    span = document.locate(edit.path, key=is_key)
    written = _context(document, span)[1]
    quote, is_flow = written[:1] if written[:1] in ("'", '"') else "", _is_flow(document, edit.path[:-1])
    if isinstance(edit, Rename):
        # Renaming the last of a repeated key would leave the first one.
        is_free = edit.key not in find(document.data, edit.path[:-1]) and edit.path not in _repeated(document)
        text = key(edit.key, quote, flow=is_flow) if is_free else None
    else:
        if not quote and type(find(document.data, edit.path)) is not str:
            quote = quote_at(document, edit.path[:-1])  # A number, possibly in JSON.
        text = scalar(edit.value, quote, flow=is_flow)
    return None if text is None else (Edit(span, text),)


@lru_cache(maxsize=1)
def _repeated(document: Document) -> frozenset[Path]:
    return frozenset(each.path for each in document.duplicates)


def _is_flow(document: Document, path: Path) -> bool:
    node = document.node_at(path)
    return type(node) is not ScalarNode and bool(node.flow_style)


def _is_single_word(document: Document, path: Path, *, key: bool = False) -> bool:
    """Whether the scalar (or with ``key`` the key) at ``path`` is one word, without anchor, alias and tag, and not shared."""
    value = str(path[-1]) if key else document.raw(path)
    before, written = _context(document, document.locate(path, key=key))
    if key:
        before = before.rpartition("\n")[2]  # The text above a key is the anchor or tag of its map.
    # Other scalars are escaped, folded or a block.
    is_word = _is_key(written, str(value)) if key else written in (value, f"'{value}'", f'"{value}"')
    return is_word and not _ANCHOR_OR_TAG.search(before) and not _is_shared(document, path)


def _is_key(written: str, name: str) -> bool:
    """Return whether a key is written as its own name, in quotes or not, or as a boolean or number that YAML reads as the name."""
    return written in (f"'{name}'", f'"{name}"') or PLAIN_KEYS[written] == name


def _context(document: Document, span: Span) -> tuple[str, str]:
    """Return the text directly before a span, from the last line that is not blank, and its own text with quotes."""
    lines, row = _lines(document), span.line - document.line - 1
    if row >= len(lines):
        return "", ""
    start = span.column - 1
    before, written = lines[row][max(start - _NEAR, 0) : start], lines[row][start : span.end_column - 1]
    while not before.strip() and row > 0:
        row -= 1
        before = f"{lines[row][-_NEAR:]}\n"
    return before, written


@lru_cache(maxsize=1)
def _lines(document: Document) -> list[str]:
    return re.split(r"\r\n|\n|\r", document.text())


def _is_shared(document: Document, path: Path) -> bool:
    """Whether the node at ``path`` is below an alias, or below an anchor that an alias repeats elsewhere."""
    shared = _shared_collections(document)
    if not shared:
        return shared is None
    return any(id(find(document.data, path[:length])) in shared for length in range(len(path) + 1))


@lru_cache(maxsize=1)
def _shared_collections(document: Document) -> frozenset[int] | None:
    """Return the maps and lists that occur several times in a document; an alias and its anchor are one object in its data.

    None if merge keys copy values out of their maps, because then it is unknown.
    """
    if b"&" not in document.raw_bytes:
        return frozenset()
    if document.has_merge_keys:
        return None
    seen: set[int] = set()
    again: set[int] = set()
    stack = [document.data]
    while stack:
        value = stack.pop()
        if not isinstance(value, (dict, list)):
            continue
        if id(value) in seen:
            again.add(id(value))
            continue
        seen.add(id(value))
        stack += value.values() if isinstance(value, dict) else value
    return frozenset(again)
