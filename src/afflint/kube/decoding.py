"""Decoding of the objects of an inventory: a value of the wrong type is an error that names the object and the field."""

from __future__ import annotations

from typing import Any, NoReturn

from afflint.findings.errors import UserError
from afflint.findings.phrases import kind_of_value


class InventoryError(UserError, ValueError):
    """An object of an inventory is malformed. The message names the object and the field."""


def fail(what: str, problem: str) -> NoReturn:
    """Raise InventoryError for an object or field; ``about`` adds the name of the object to the path of a field."""
    raise InventoryError(f"{what} {problem}")


def error_in(kind: str, name: str, error: InventoryError) -> InventoryError:
    """Return the error with the kind and name of its object in front: readers of fields do not know their object."""
    return InventoryError(f"{kind} {name!r}: {error}")


def mapping(value: object, what: str) -> dict[str, Any]:
    """Return a map; null and absence are the empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        fail(what, f"is {kind_of_value(value)}, not a map")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """Return a list; null and absence are the empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        fail(what, f"is {kind_of_value(value)}, not a list")
    return value


def string(value: object, what: str) -> str:
    """Return a string; null and absence are the empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        fail(what, f"is {kind_of_value(value)}, not a string")
    return value


def strings(value: object, what: str) -> tuple[str, ...]:
    """Return a list of strings."""
    return tuple([string(item, f"{what}[{index}]") for index, item in enumerate(sequence(value, what))])


def string_map(value: object, what: str) -> dict[str, str]:
    """Return a map of strings, such as labels; null values are empty strings, as for the API server."""
    read = mapping(value, what)
    for key, item in read.items():
        if type(item) is not str or type(key) is not str:
            return {_key(key, what): string(item, f"{what}[{key!r}]") for key, item in read.items()}
    return read


def integer(value: object, what: str, default: int) -> int:
    """Return an integer, which may be written as ``3.0``."""
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        fail(what, f"is {kind_of_value(value)}, not an integer")
    return value


def flag(value: object, what: str) -> bool:
    """Return a boolean; null and absence are false."""
    if value is None:
        return False
    if not isinstance(value, bool):
        fail(what, f"is {kind_of_value(value)}, not true or false")
    return value


def metadata(data: object, kind: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return an object's name, its metadata and the object. Raises InventoryError if it has no name."""
    if not isinstance(data, dict):
        fail(f"an entry of the {kind} list", f"is {kind_of_value(data)}, not an object")
    meta = data.get("metadata")
    if not isinstance(meta, dict):
        fail(f"a {kind}", "has no metadata" if meta is None else f"has metadata that is {kind_of_value(meta)}, not a map")
    name = meta.get("name")
    if not isinstance(name, str) or not name:
        fail(f"a {kind}", "has no name" if name is None or name == "" else f"has a name that is {kind_of_value(name)}, not a string")
    return name, meta, data


def _key(key: object, what: str) -> str:
    if not isinstance(key, str):
        fail(what, f"has a key that is {kind_of_value(key)}, not a string")
    return key
