"""Compiled expressions as trees: read out of, and written to, the CheckedExpr that the library for CEL serializes.

Field numbers are those of cel/expr/syntax.proto and checked.proto, in the wire format of protocol buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from afflint.findings.namedtuples import NamedTuple

# Kinds of expressions, by their field in Expr.
CONSTANT, IDENTIFIER, SELECTION, CALL, LIST, MAP, LOOP = 3, 4, 5, 6, 7, 8, 9
_ID = 2
_ANY_VALUE = 2
_REFERENCES, _TYPES, _EXPRESSION, _SOURCE = 2, 3, 4, 5
_KEY, _VALUE = 1, 2
_NAME, _OVERLOAD = 1, 3
_TARGET, _FUNCTION, _ARGUMENTS = 1, 2, 3
_OPERAND, _SELECTED = 1, 2
_ELEMENTS, _OPTIONAL_ELEMENTS = 1, 2
_ENTRIES, _ENTRY_KEY, _ENTRY_VALUE, _OPTIONAL_ENTRY = 2, 3, 4, 5
_LOOP_PARTS = (2, 4, 5, 6, 7)
_ITEM, _GATHERED, _SECOND_ITEM = 1, 3, 8
_LINES, _POSITIONS = 3, 4
_TEXT, _BYTES_VALUE = 6, 7
_INSIDE: Mapping[int, tuple[int, ...]] = {
    SELECTION: (_OPERAND,), CALL: (_TARGET, _ARGUMENTS), LIST: (_ELEMENTS,), LOOP: _LOOP_PARTS, MAP: (),
}  # fmt: skip
"""The fields of an expression of a kind that are expressions."""


class SyntaxNode(NamedTuple):
    """An expression. ``name`` is that of an identifier, a selected field or a function, or the text of a literal one.

    ``parts`` are the expressions within: of a call the target first, of a map keys and values in turns, of a loop its range, start,
    condition, step and result. ``optional`` says which of them are ``?`` elements or values; ``items``: the variables of a loop, and
    what it gathers last. ``raw`` is the expression as it is serialized.
    """

    id: int
    kind: int
    name: str = ""
    parts: tuple[SyntaxNode, ...] = ()
    optional: frozenset[int] = frozenset()
    items: tuple[str, ...] = ()
    raw: bytes = b""

    def walk(self) -> Iterator[SyntaxNode]:
        """Yield the expression and all its parts, from left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.parts)

    @property
    def text(self) -> str | None:
        """The text that this is a literal of; None for anything else."""
        literal = next((each for each in _fields(next(each.data for each in _fields(self.raw) if each.number == CONSTANT))), None)
        return literal.data.decode() if literal is not None and literal.number == _TEXT else None


class Checked:
    """An expression with the types that the library found in it. ``types``: by the ids of its nodes, as CEL writes them."""

    def __init__(self, serialized: bytes) -> None:
        self._any = list(_fields(serialized))
        self._parts = list(_fields(_data(self._any, _ANY_VALUE)))
        self.root = _node(_data(self._parts, _EXPRESSION))
        self._types = {entry[_KEY].value: entry[_VALUE].data for entry in self._maps(_TYPES) if _VALUE in entry}

    def type_of(self, node: SyntaxNode) -> str:
        """Return the type of an expression, such as ``list(string)``; ``dyn`` if it is unknown."""
        return _type(self._types.get(node.id, b""))

    def place_of(self, node: SyntaxNode, text: str) -> tuple[int, int]:
        """Return the line and the column of an expression in its text, both from 1."""
        source = list(_fields(_data(self._parts, _SOURCE)))
        entries = [{each.number: each.value for each in _fields(entry.data)} for entry in source if entry.number == _POSITIONS]
        offset = next((entry.get(_VALUE, 0) for entry in entries if entry.get(_KEY) == node.id), 0)
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)

    def rewritten(
        self,
        names: Mapping[str, str],
        wrap: Callable[[SyntaxNode], str],
        unresolved: tuple[str, ...],
        path: Callable[[str], list[str]],
        only_part: Callable[[SyntaxNode], bool],
    ) -> bytes:
        """Serialize the expression with other names of functions, and with calls wrapped in the functions that ``wrap`` names ("": none).

        Names of variables that begin with one of ``unresolved`` become selections of fields again: ``path`` splits them into parts.
        Calls for which ``only_part`` returns True are replaced by their first part.
        """
        last = max((node.id for node in self.root.walk()), default=0)

        def made(kind: int, *fields: tuple[int, bytes]) -> bytes:
            nonlocal last
            last += 1
            inner = _encoded([_Field(number, 0, data, _LENGTH) for number, data in fields])
            return _encoded([_Field(_ID, last, b"", _VARINT), _Field(kind, 0, inner, _LENGTH)])

        def written(node: SyntaxNode) -> bytes:
            if node.kind == IDENTIFIER and node.name.startswith(unresolved):
                root, *fields = path(node.name)
                raw = made(IDENTIFIER, (_NAME, root.encode()))
                for field in fields:
                    raw = made(SELECTION, (_OPERAND, raw), (_SELECTED, field.encode()))
                return raw
            if node.kind == CALL and only_part(node):
                return written(node.parts[0])
            raw = _replaced(node, names.get(node.name, ""), iter([written(each) for each in node.parts]))
            wrapper = wrap(node) if node.kind == CALL else ""
            return made(CALL, (_FUNCTION, wrapper.encode()), (_ARGUMENTS, raw)) if wrapper else raw

        parts = []
        for each in self._parts:
            if each.number == _EXPRESSION:
                parts.append(each._replace(data=written(self.root)))
            elif each.number != _REFERENCES:
                parts.append(each)
            # The name of the variable or function in an entry of the references.
            elif not (name := _data(_fields(_data(_fields(each.data), _VALUE)), _NAME).decode()).startswith(unresolved):
                parts.append(each if name not in names else each._replace(data=_renamed(each.data, names[name])))
        return self._with(parts)

    def part(self, node: SyntaxNode) -> bytes:
        """Serialize a part of the expression."""
        return self._with([each._replace(data=node.raw) if each.number == _EXPRESSION else each for each in self._parts])

    def _with(self, parts: Iterable[_Field]) -> bytes:
        return _encoded([each._replace(data=_encoded(parts)) if each.number == _ANY_VALUE else each for each in self._any])

    def _maps(self, number: int) -> Iterator[dict[int, _Field]]:
        for field in self._parts:
            if field.number == number:
                yield {each.number: each for each in _fields(field.data)}


def _renamed(entry: bytes, name: str) -> bytes:
    reference = _encoded([_Field(number, 0, name.encode(), _LENGTH) for number in (_NAME, _OVERLOAD)])
    return _encoded([each._replace(data=reference) if each.number == _VALUE else each for each in _fields(entry)])


# Expressions.


def _node(raw: bytes) -> SyntaxNode:
    fields = list(_fields(raw))
    number = next((each.value for each in fields if each.number == _ID), 0)
    kind, _, data, _ = next((each for each in fields if CONSTANT <= each.number <= LOOP), _Field(CONSTANT, 0, b"", _LENGTH))
    below = list(_fields(data)) if kind != CONSTANT else []
    if kind == MAP:
        return _map(number, raw, below)
    parts = tuple(_node(each.data) for field in _INSIDE.get(kind, ()) for each in below if each.number == field)
    name = {IDENTIFIER: _NAME, SELECTION: _SELECTED, CALL: _FUNCTION}.get(kind)
    return SyntaxNode(
        number,
        kind,
        _data(below, name).decode() if name is not None else "",
        parts,
        frozenset(index for each in below if kind == LIST and each.number == _OPTIONAL_ELEMENTS for index in _indexes(each)),
        tuple(_data(below, each).decode() for each in (_ITEM, _SECOND_ITEM, _GATHERED) if _data(below, each)) if kind == LOOP else (),
        raw,
    )


def _map(number: int, raw: bytes, below: list[_Field]) -> SyntaxNode:
    entries = [list(_fields(each.data)) for each in below if each.number == _ENTRIES]
    parts = [_node(_data(entry, each)) for entry in entries for each in (_ENTRY_KEY, _ENTRY_VALUE)]
    optional = [
        2 * index + 1 for index, entry in enumerate(entries) if any(each.number == _OPTIONAL_ENTRY and each.value for each in entry)
    ]
    return SyntaxNode(number, MAP, parts=tuple(parts), optional=frozenset(optional), raw=raw)


def _replaced(node: SyntaxNode, name: str, parts: Iterator[bytes]) -> bytes:
    """Serialize an expression with other parts and, for a call, with another name."""
    fields = []
    for field in _fields(node.raw):
        if field.number != node.kind or node.kind in (CONSTANT, IDENTIFIER):
            fields.append(field)
            continue
        below = []
        for each in sorted(_fields(field.data), key=lambda each: each.number) if node.kind == LOOP else _fields(field.data):
            if node.kind == MAP and each.number == _ENTRIES:
                entry = {inner.number: inner for inner in _fields(each.data)}
                for part in (_ENTRY_KEY, _ENTRY_VALUE):
                    entry[part] = _Field(part, 0, next(parts), _LENGTH)
                each = each._replace(data=_encoded(entry.values()))
            elif each.number in _INSIDE[node.kind]:
                each = each._replace(data=next(parts))
            elif node.kind == CALL and each.number == _FUNCTION and name:
                each = each._replace(data=name.encode())
            below.append(each)
        fields.append(field._replace(data=_encoded(below)))
    return _encoded(fields)


# Types: the message Type in checked.proto.

_DYNAMIC, _NULL, _PRIMITIVE, _WRAPPER, _WELL_KNOWN, _LIST_TYPE, _MAP_TYPE, _FUNCTION_TYPE, _MESSAGE, _PARAMETER, _TYPE = range(1, 12)
_ABSTRACT = 14
_PRIMITIVES = ("dyn", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN_TYPES = ("dyn", "dyn", "google.protobuf.Timestamp", "google.protobuf.Duration")


def _type(data: bytes) -> str:
    field = next(_fields(data), None)
    if field is None:
        return "dyn"
    inner = list(_fields(field.data))
    if field.number == _NULL:
        return "null_type"
    if field.number in (_PRIMITIVE, _WELL_KNOWN):
        names = _PRIMITIVES if field.number == _PRIMITIVE else _WELL_KNOWN_TYPES
        return names[field.value] if field.value < len(names) else "dyn"
    if field.number in (_LIST_TYPE, _MAP_TYPE):
        parts = [_type(_data(inner, number)) for number in ((1,) if field.number == _LIST_TYPE else (1, 2))]
        return f"{'list' if field.number == _LIST_TYPE else 'map'}({', '.join(parts)})"
    if field.number == _ABSTRACT:
        parts = [_type(each.data) for each in inner if each.number == 2]
        return _data(inner, 1).decode() + (f"({', '.join(parts)})" if parts else "")
    if field.number == _TYPE:
        return f"type({_type(field.data)})"
    return field.data.decode() if field.number == _MESSAGE else "dyn"


# The wire format.

_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5


class _Field(NamedTuple):
    number: int
    value: int
    data: bytes
    wire: int


def _data(fields: Iterable[_Field], number: int) -> bytes:
    return next((each.data for each in fields if each.number == number), b"")


def _indexes(field: _Field) -> Iterator[int]:
    """Yield numbers that are packed into one field, or have one field each."""
    if not field.data:
        yield field.value
    position = 0
    while position < len(field.data):
        value, position = _number(field.data, position)
        yield value


def _fields(data: bytes) -> Iterator[_Field]:
    """Yield the fields of a message."""
    position = 0
    while position < len(data):
        tag, position = _number(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _number(data, position)
            yield _Field(number, value, b"", wire)
            continue
        size, position = _number(data, position) if wire == _LENGTH else ({_FIXED_64: 8, _FIXED_32: 4}[wire], position)
        yield _Field(number, 0, data[position : position + size], wire)
        position += size


def _number(data: bytes, position: int) -> tuple[int, int]:
    """Read a number of variable length; return it and its end position."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _encoded(fields: Iterable[_Field]) -> bytes:
    written = bytearray()
    for number, value, data, wire in fields:
        written += _encoded_number(number << 3 | wire)
        if wire == _VARINT:
            written += _encoded_number(value)
        else:
            written += (_encoded_number(len(data)) if wire == _LENGTH else b"") + data
    return bytes(written)


def _encoded_number(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
