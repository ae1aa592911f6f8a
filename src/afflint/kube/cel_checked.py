"""What a compiled expression is made of: read out of what the library writes down, a CheckedExpr of CEL's protocol buffers.

The library cannot give an optional value to a function that is written in Python: it ends the process. So no expression is evaluated that
might hand one to anything but what is made for optional values. Nor does it count what texts and lists come to that an expression puts
together: `growth` tells beforehand. Field numbers are those of cel/expr/syntax.proto and checked.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.records import NamedTuple

_ENDING = frozenset(("orValue", "hasValue", "value", "_==_", "_!=_", "type"))
_GOING_ON = frozenset(("_?._", "_[?_]", "_[_]", "or", "optional.of", "_?_:_"))
"""Of these an optional value comes again, which the expression has to know."""
# Fields of messages.
_TYPES, _EXPRESSION = 3, 4
_KEY, _VALUE, _ABSTRACT, _NAME = 1, 2, 14, 1
_ID, _CALL, _LIST, _STRUCT = 2, 6, 7, 8
_IDENTIFIER, _SELECT, _COMPREHENSION = 4, 5, 9
_INSIDE = {_SELECT: (1,), _COMPREHENSION: (2, 4, 5, 6, 7)}
"""The fields of selections and comprehensions that are expressions."""
_ITEM, _RANGE, _GATHERED, _START, _CONDITION, _STEP, _SECOND_ITEM = 1, 2, 3, 4, 5, 6, 8
_TARGET, _FUNCTION, _ARGUMENTS = 1, 2, 3
_ELEMENTS, _OPTIONAL_ELEMENTS = 1, 2
_ENTRIES, _ENTRY_KEY, _ENTRY_VALUE, _OPTIONAL_ENTRY = 2, 3, 4, 5


class _Field(NamedTuple):
    number: int
    value: int
    data: bytes


def misused_optional(checked: bytes) -> str | None:
    """What an optional value is handed to in an expression that is no place for one: a function, or a list or map; None for nothing."""
    types: set[int] = set()
    for field in _parts(checked):
        if field.number == _TYPES:
            entry = {each.number: each for each in _fields(field.data)}
            if _VALUE in entry and _KEY in entry and _is_optional(entry[_VALUE].data):
                types.add(entry[_KEY].value)
    return next(_misuses(_expression(checked), types), None) if types else None


def _parts(checked: bytes) -> Iterator[_Field]:
    """The fields of a CheckedExpr, which comes in an Any: the name of its type, and itself."""
    return _fields(next((each.data for each in _fields(checked) if each.number == _VALUE), b""))


def _expression(checked: bytes) -> bytes:
    return next((each.data for each in _parts(checked) if each.number == _EXPRESSION), b"")


def _is_optional(type_: bytes) -> bool:
    abstract = next((each.data for each in _fields(type_) if each.number == _ABSTRACT), b"")
    return any(each.number == _NAME and each.data == b"optional_type" for each in _fields(abstract))


def _misuses(expression: bytes, optionals: set[int]) -> Iterator[str]:
    """What takes an optional value in an expression and below it."""
    waiting = [expression]
    while waiting:
        fields = list(_fields(waiting.pop()))
        own = next((each.value for each in fields if each.number == _ID), 0)
        for number, _, data in fields:
            if number == _CALL:
                parts = list(_fields(data))
                name = next((each.data.decode() for each in parts if each.number == _FUNCTION), "")
                arguments = [each.data for each in parts if each.number == _ARGUMENTS]
                below = [*(each.data for each in parts if each.number == _TARGET), *arguments]
                allowed = name in _ENDING or (name in _GOING_ON and own in optionals)
                taken = arguments if name == "orValue" else () if allowed else below
                if any(_id(each) in optionals for each in taken):
                    yield name
            elif number == _LIST:
                parts = list(_fields(data))
                below = [each.data for each in parts if each.number == _ELEMENTS]
                unwrapped = {index for each in parts if each.number == _OPTIONAL_ELEMENTS for index in _indexes(each)}
                if any(_id(each) in optionals and index not in unwrapped for index, each in enumerate(below)):
                    yield "a list"
            elif number == _STRUCT:
                below = []
                for entry in (list(_fields(each.data)) for each in _fields(data) if each.number == _ENTRIES):
                    values = [each.data for each in entry if each.number in (_ENTRY_KEY, _ENTRY_VALUE)]
                    unwraps = any(each.number == _OPTIONAL_ENTRY and each.value for each in entry)
                    if not unwraps and any(_id(each) in optionals for each in values):
                        yield "a map"
                    below += values
            else:
                below = [each.data for each in _fields(data) if each.number in _INSIDE[number]] if number in _INSIDE else []
            waiting += below


class Growth(NamedTuple):
    """What may become of the longest text or list that an expression is given: so many times as long, in so many loops in one another."""

    factor: float
    loops: int


def growth(checked: bytes) -> Growth:
    """How much longer an expression makes texts and lists at most, each time that it goes through something."""
    return _grown(_expression(checked), {})


def _grown(expression: bytes, known: Mapping[str, float]) -> Growth:
    """``known`` are the variables of the loops around it, with their growth. What is inside counts even where it comes to a number."""
    for number, _, data in _fields(expression):
        if number == _IDENTIFIER:
            return Growth(known.get(_text(_fields(data), _NAME), 1), 0)
        if number == _COMPREHENSION:
            return _looped({each.number: each.data for each in _fields(data)}, known)
        if number in (_CALL, _LIST, _STRUCT, _SELECT):
            parts = list(_fields(data))
            below = [_grown(each, known) for each in _inside(number, parts)]
            loops = max((each.loops for each in below), default=0)
            adds = number in (_LIST, _STRUCT) or (number == _CALL and _text(parts, _FUNCTION) == "_+_")
            factors = [each.factor for each in below]
            return Growth(max(1, sum(factors) if adds else max(factors, default=1)), loops)
    return Growth(1, 0)


def _looped(parts: Mapping[int, bytes], known: Mapping[str, float]) -> Growth:
    """A comprehension. What its rounds gather counts by round: there are never more than so many of them in all."""
    range_ = _grown(parts.get(_RANGE, b""), known)
    items = {parts[each].decode(): range_.factor for each in (_ITEM, _SECOND_ITEM) if each in parts}
    inside = {**known, **items, parts.get(_GATHERED, b"").decode(): 0}
    below = [_grown(parts[each], inside) for each in (_START, _CONDITION, _STEP) if each in parts]
    return Growth(
        max(1, range_.factor, *(each.factor for each in below)),
        max(range_.loops, 1 + max((each.loops for each in below), default=0)),
    )


def _inside(number: int, parts: Sequence[_Field]) -> list[bytes]:
    """The expressions in a selection, a call, a list or a map."""
    if number == _STRUCT:
        entries = [list(_fields(each.data)) for each in parts if each.number == _ENTRIES]
        return [each.data for entry in entries for each in entry if each.number in (_ENTRY_KEY, _ENTRY_VALUE)]
    wanted = {_SELECT: (1,), _CALL: (_TARGET, _ARGUMENTS), _LIST: (_ELEMENTS,)}[number]
    return [each.data for each in parts if each.number in wanted]


def _text(fields: Iterable[_Field], number: int) -> str:
    return next((each.data.decode() for each in fields if each.number == number), "")


def _id(expression: bytes) -> int:
    return next((each.value for each in _fields(expression) if each.number == _ID), 0)


def _indexes(field: _Field) -> Iterator[int]:
    """Numbers that are packed into one field, or stand in one each."""
    if not field.data:
        yield field.value
    position = 0
    while position < len(field.data):
        value, position = _number(field.data, position)
        yield value


_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def _fields(data: bytes) -> Iterator[_Field]:
    """The fields of a message in the wire format of protocol buffers."""
    position = 0
    while position < len(data):
        tag, position = _number(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _number(data, position)
            yield _Field(number, value, b"")
        elif kind == _BYTES:
            size, position = _number(data, position)
            yield _Field(number, 0, data[position : position + size])
            position += size
        else:
            size = {_FIXED_64: 8, _FIXED_32: 4}[kind]
            yield _Field(number, int.from_bytes(data[position : position + size], "little"), b"")
            position += size


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
