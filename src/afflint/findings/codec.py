"""Encodes values of afflint's types as JSON and decodes them again: for data that is stored or sent and cannot be trusted.

The types consist of named tuples, dataclasses, tuples, maps, literals and scalars. A decoded value has exactly the expected type, or
decoding fails. No name of a class or a module is read from the text, and nothing in it is executed: a manipulated text can at worst
be a wrong value, never one of another shape.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar

from afflint.findings.namedtuples import NamedTuple

Value = TypeVar("Value")
_Coding = Callable[[Any], Any]


class PlainError(ValueError):
    """A value that cannot be encoded, or a text that cannot be decoded to the expected type."""


class Codec(Generic[Value]):
    """Encodes and decodes values of a type or a union; ``elsewhere`` maps types that are imported only for the type checker to modules."""

    def __init__(self, of: type[Value] | UnionType, elsewhere: Mapping[str, str] | None = None) -> None:
        self._coder = _Types(elsewhere or {}).coder(of, sys.modules[of.__module__])

    def encode(self, value: Value) -> bytes:
        """Encode a value as JSON. Raises PlainError for one that JSON cannot represent."""
        try:
            return json.dumps(self._coder.encode(value), separators=(",", ":"), check_circular=False).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise PlainError(str(error)) from None

    def decode(self, text: bytes) -> Value:
        """Decode the JSON of a value. Raises PlainError for anything else."""
        try:
            return self._coder.decode(json.loads(text))  # type: ignore[no-any-return]
        except (TypeError, ValueError, RecursionError) as error:
            raise PlainError(str(error)) from None


class _Coder(NamedTuple):
    """How values of one type become JSON data, and back. Both functions raise TypeError or ValueError for anything else."""

    encode: _Coding
    decode: _Coding
    types: tuple[type, ...] = ()
    """The types of scalars that JSON represents directly."""


class _Types:
    """The coders of types, each created on first use: most runs need few of them, and need not import the others."""

    def __init__(self, elsewhere: Mapping[str, str]) -> None:
        self._elsewhere = elsewhere
        self.coder: Callable[[Any, Any], _Coder] = cache(self._coder)

    def _coder(self, annotation: Any, module: Any) -> _Coder:
        if isinstance(annotation, str | typing.ForwardRef):
            return self._later(annotation if isinstance(annotation, str) else annotation.__forward_arg__, module)
        origin, of = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation in _SCALARS:
            return _scalar(annotation)
        if annotation is Any or annotation is object:
            return _Coder(_checked, _same)
        if origin is Literal:
            return _Coder(_same, _one_of(of))
        if origin is tuple:
            return self._tuple(of, module)
        if origin in (dict, Mapping):
            return self._map(of, module)
        if origin in (UnionType, typing.Union):
            return self._union(of, module)
        if _is_named_tuple(annotation):
            defaults: dict[str, Any] = annotation._field_defaults
            return self._record(
                annotation, annotation.__annotations__, [defaults.get(name, _MISSING) for name in annotation.__annotations__]
            )
        if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            fields = dataclasses.fields(annotation)
            return self._record(annotation, {each.name: each.type for each in fields}, list(map(_default, fields)))
        raise TypeError(f"no coder for {annotation!r}")

    def _later(self, name: str, module: Any) -> _Coder:
        """Return the coder of a type that is known by name, which is resolved when the first value comes."""

        @cache
        def coder() -> _Coder:
            return self.coder(self._named(name, module), module)

        return _Coder(lambda value: coder().encode(value), lambda data: coder().decode(data))

    def _named(self, name: str, module: Any) -> Any:
        return eval(name, vars(module), _Names(self._elsewhere))  # An annotation in our own source, not in what is read.

    def _tuple(self, of: tuple[Any, ...], module: Any) -> _Coder:
        if len(of) == 2 and of[1] is Ellipsis:
            return _many(self.coder(of[0], module))
        all_of = [self.coder(each, module) for each in of]

        def fixed(data: Any) -> Any:
            return tuple([coder.decode(each) for coder, each in zip(all_of, _list(data), strict=True)])

        return _Coder(lambda value: [coder.encode(each) for coder, each in zip(all_of, value, strict=True)], fixed)

    def _map(self, of: tuple[Any, ...], module: Any) -> _Coder:
        if of[0] is not str:
            raise TypeError("only maps with text for keys can be written")
        encode, decode, types = self.coder(of[1], module)

        def written(value: Any) -> Any:
            return {_key(key): encode(each) for key, each in value.items()}

        def read(data: Any) -> Any:
            if type(data) is not dict:
                raise TypeError("not a map")
            return _all_of(types, data, data.values()) if types else {key: decode(each) for key, each in data.items()}

        return _Coder(written, read)

    def _union(self, of: tuple[Any, ...], module: Any) -> _Coder:
        if all(each in _SCALARS for each in of):
            return _scalar(*of)
        others = [each for each in of if each is not NoneType]
        if len(others) == 1:
            encode, decode, _ = self.coder(others[0], module)
            return _Coder(
                lambda value: None if value is None else encode(value),
                lambda data: None if data is None else decode(data),
            )
        return self._alternatives(others, module)

    def _alternatives(self, of: Sequence[Any], module: Any) -> _Coder:
        """Return the coder of a union of types with fields: the number of the type, and the value."""
        if not all(isinstance(each, type) for each in of):
            raise TypeError("only a union of scalars, of types with fields, or of one type with None can be written")
        numbers = {each: number for number, each in enumerate(of)}
        coders = [self.coder(each, module) for each in of]

        def written(value: Any) -> Any:
            if type(value) not in numbers:
                raise TypeError("of none of these types")
            number = numbers[type(value)]
            return [number, coders[number].encode(value)]

        def read(data: Any) -> Any:
            number, value = _list(data)
            if type(number) is not int or not 0 <= number < len(coders):
                raise TypeError("of none of these types")
            return coders[number].decode(value)

        return _Coder(written, read)

    def _record(self, of: Any, annotations: Mapping[str, Any], defaults: Sequence[Any]) -> _Coder:
        """Return the coder of a type with named fields: a list of their values, without defaults at its end."""
        module = sys.modules[of.__module__]
        coders = [self.coder(annotation, module) for annotation in annotations.values()]
        values = attrgetter(*annotations)
        field_count = len(coders)
        last = defaults[-1]

        def written(value: Any) -> Any:
            if type(value) is not of:
                raise TypeError(f"not a {of.__name__}")
            given = values(value) if field_count > 1 else (values(value),)
            count = field_count
            if given[-1] == last:
                while count and defaults[count - 1] == given[count - 1]:
                    count -= 1
            return [coder.encode(each) for coder, each in zip(coders, given[:count], strict=False)]

        def known(data: Any) -> Any:
            if type(data) is not list or len(data) > field_count:
                raise TypeError(f"not a {of.__name__}")
            return of(*[coder.decode(each) for coder, each in zip(coders, data, strict=False)])

        return _Coder(written, known)


class _Names(dict[str, Any]):
    """Resolves the types that a module uses without importing them."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        super().__init__()
        self._modules = modules

    def __missing__(self, name: str) -> Any:
        return getattr(import_module(self._modules[name]), name)


_SCALARS = (str, int, bool, float, NoneType)
_MISSING = object()


def _is_named_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _MISSING if field.default is dataclasses.MISSING else field.default


def _many(one: _Coder) -> _Coder:
    """Return the coder of a tuple with any number of values of one type."""
    encode, decode, types = one

    def read(data: Any) -> Any:
        if type(data) is not list:
            raise TypeError("not a list")
        if types:
            return tuple(_all_of(types, data, data))
        return tuple([decode(each) for each in data]) if data else ()

    return _Coder(lambda value: [encode(each) for each in value], read)


def _all_of(types: tuple[type, ...], data: Any, values: Iterable[Any]) -> Any:
    """Return the data if all its values are scalars of these types. Raises TypeError."""
    for value in values:
        if type(value) not in types:
            raise TypeError("of none of these types")
    return data


def _scalar(*types: type) -> _Coder:
    def some(value: Any) -> Any:
        if type(value) not in types:
            raise TypeError("of none of these types")
        return value

    return _Coder(some, some, types)


def _one_of(values: tuple[Any, ...]) -> _Coding:
    def checked(data: Any) -> Any:
        if data not in values:
            raise ValueError("none of these values")
        return data

    return checked


def _same(value: Any) -> Any:
    return value


def _checked(value: Any) -> Any:
    """Return data of a manifest if JSON preserves it. Raises TypeError."""
    pending = [value]
    while pending:
        each = pending.pop()
        if type(each) is dict:
            for key, below in each.items():
                _key(key)
                pending.append(below)
        elif type(each) is list:
            pending += each
        elif type(each) not in _SCALARS:
            raise TypeError(f"a {type(each).__name__} among the data")
    return value


def _key(key: Any) -> str:
    if type(key) is not str:
        raise TypeError("a key that is not a string")
    return key


def _list(data: Any) -> list[Any]:
    if type(data) is not list:
        raise TypeError("not a list")
    return data
