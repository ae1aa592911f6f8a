"""Types of manifest fields as the API server decodes them: which values fit, and where the mismatches are.

``fits`` is the fast check; ``mismatches`` locates the values that do not fit.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.label_syntax import is_key


class Mismatch(NamedTuple):
    """An unknown field (``unknown``), or a value of the wrong type (``type``).

    ``struct`` is the type that lacks the unknown field, ``expected`` names the type of the field in messages.
    """

    what: Literal["unknown", "type"]
    path: Path
    struct: "Struct | None"
    expected: str
    value: Any

    @property
    def is_scalar(self) -> bool:
        """Whether both the field and its value are scalars."""
        return self.what == "type" and self.expected not in _COLLECTIONS and type(self.value) not in (dict, list)


_COLLECTIONS = ("an object", "a map", "a list")


class Type:
    """Any value: the type of fields that do not affect placement."""

    expected = "any value"

    def fits(self, _value: Any) -> bool:
        return True

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        """Yield every value at or below ``path`` that does not fit."""
        if not self.fits(value):
            yield Mismatch("type", path, None, self.expected, value)


class TextType(Type):
    expected = "a string"

    def fits(self, value: Any) -> bool:
        return type(value) is str or value is None


class OneOf(Type):
    """One of a few words, which the schema of a custom resource lists; the empty text is absent."""

    def __init__(self, *words: str) -> None:
        self.words = frozenset(words)
        self.expected = f"one of {', '.join(words)}"

    def fits(self, value: Any) -> bool:
        return value is None or (type(value) is str and (not value or value in self.words))


class LabelKey(Type):
    """The key of a label."""

    expected = "the key of a label"

    def fits(self, value: Any) -> bool:
        return value is None or (type(value) is str and is_key(value))


class Flag(Type):
    expected = "true or false"

    def fits(self, value: Any) -> bool:
        return type(value) is bool or value is None


class Integer(Type):
    """An integer from ``least`` to ``most`` in any notation: ``1e1`` and ``3.0`` are integers too."""

    def __init__(self, least: int, most: int, expected: str) -> None:
        self.least = least
        self.most = most
        self.expected = expected

    def fits(self, value: Any) -> bool:
        if type(value) is float:
            return value.is_integer() and self.least <= value <= self.most
        return value is None or (type(value) is int and self.least <= value <= self.most)


class Collection(Type):
    """A collection of ``item``. Null elements are allowed unless ``nulls`` is false."""

    def __init__(self, item: Type, *, nulls: bool = True) -> None:
        self.item = item
        self.nulls = nulls

    def mismatch(self, value: Any, path: Path) -> Iterator[Mismatch]:
        """Yield what is wrong with an element, the value of a key or an item."""
        if value is None and not self.nulls:
            yield Mismatch("type", path, None, self.item.expected, value)
        else:
            yield from self.item.mismatches(value, path)


class MapOf(Collection):
    """A map from any string to ``item``. A null value counts as the empty one unless ``nulls`` is false."""

    expected = "a map"

    def fits(self, value: Any) -> bool:
        if type(value) is not dict:
            return value is None and self.nulls
        fits = self.item.fits
        return all(fits(each) and (each is not None or self.nulls) for each in value.values())

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if type(value) is not dict:
            if value is not None or not self.nulls:
                yield Mismatch("type", path, None, self.expected, value)
            return
        for key, each in value.items():
            yield from self.mismatch(each, (*path, key))


class ListOf(Collection):
    """A list of ``item``. Core kinds read a null element as the empty one; KubeVirt's schemas do not (``nulls``)."""

    expected = "a list"

    def fits(self, value: Any) -> bool:
        if type(value) is not list:
            return value is None
        fits = self.item.fits
        return all(fits(each) and (each is not None or self.nulls) for each in value)

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if value is None:
            return
        if type(value) is not list:
            yield Mismatch("type", path, None, self.expected, value)
            return
        for index, each in enumerate(value):
            yield from self.mismatch(each, (*path, index))


class PrunedMap(MapOf):
    """A map in a custom resource. The API server drops its entries with a null value before validation."""


class Struct(Type):
    """An object with known fields; null counts as absent unless ``nulls`` is false.

    ``lenient``: unknown fields are dropped without an error, as in some schemas of KubeVirt.
    """

    expected = "an object"

    def __init__(self, name: str, fields: Mapping[str, Type], *, lenient: bool = False, nulls: bool = True) -> None:
        self.name = name
        self.fields = dict(fields)
        self.lenient = lenient
        self.nulls = nulls

    def fits(self, value: Any) -> bool:
        if type(value) is not dict:
            return value is None and self.nulls
        known = self.fields
        for key, each in value.items():
            field = known.get(key)
            if field is None:
                if self.lenient:
                    continue
                return False
            if not field.fits(each):
                return False
        return True

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if type(value) is not dict:
            if value is not None or not self.nulls:
                yield Mismatch("type", path, None, self.expected, value)
            return
        for key, each in value.items():
            field = self.fields.get(key)
            if field is not None:
                yield from field.mismatches(each, (*path, key))
            elif not self.lenient:
                yield Mismatch("unknown", (*path, key), self, "", each)


class Guarded(Type):
    """An object with any fields: the types of some are known, and placement fields at this level are misplaced."""

    expected = "an object"

    def __init__(self, name: str, wrong: frozenset[str], fields: Mapping[str, Type] | None = None) -> None:
        self.name = name
        self.wrong = wrong
        self.fields = dict(fields or {})

    def fits(self, value: Any) -> bool:
        if type(value) is not dict:
            return True
        return self.wrong.isdisjoint(value) and all(field.fits(value[name]) for name, field in self.fields.items() if name in value)

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if type(value) is dict:
            for key, each in value.items():
                if key in self.wrong:
                    yield Mismatch("unknown", (*path, key), Struct(self.name, {}), "", each)
                elif key in self.fields:
                    yield from self.fields[key].mismatches(each, (*path, key))


ANYTHING = Type()
TEXT = TextType()
FLAG = Flag()
INT32 = Integer(-(2**31), 2**31 - 1, "a 32-bit integer")
INT64 = Integer(-(2**63), 2**63 - 1, "an integer")
EXACT_FLOAT = Integer(-(2**53) + 1, 2**53 - 1, "an integer below 2^53")
"""An integer in a schema that stores numbers as 64-bit floats, which are exact only up to 2**53."""
TEXTS = MapOf(TEXT)
PRUNED_TEXTS = PrunedMap(TEXT)


def prune_nulls(type_: Type, value: Any) -> None:
    """Drop what the API server drops from a custom resource of this type: entries with a null value in its maps.

    Maps are replaced, not changed: an alias may share one with a field of another type.
    """
    if isinstance(type_, Struct) and type(value) is dict:
        for name, each in value.items():
            field = type_.fields.get(name)
            if isinstance(field, PrunedMap):
                if type(each) is dict and None in each.values():
                    value[name] = {key: item for key, item in each.items() if item is not None}
            elif field is not None and each:
                prune_nulls(field, each)
    elif isinstance(type_, ListOf) and type(value) is list:
        for each in value:
            prune_nulls(type_.item, each)
