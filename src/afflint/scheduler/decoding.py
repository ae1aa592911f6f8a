"""Reading the objects of an inventory: anything that is not what it claims to be is an error that names the object and the field."""

from __future__ import annotations

from typing import Any, NoReturn

from afflint.findings.errors import UserError


class InventoryError(UserError, ValueError):
    """An object handed to a cluster cannot be what it stands for. The message names the object and the field."""


def refuse(what: str, problem: str) -> NoReturn:
    """Give up on the object or field called ``what``. Fields are named by their path; ``about`` puts the object's name before it."""
    raise InventoryError(f"{what} {problem}")


def about(kind: str, name: str, error: InventoryError) -> InventoryError:
    """The error with the name of the object it is about: readers of fields need not know whose fields they read."""
    return InventoryError(f"{kind} {name!r}: {error}")


def mapping(value: object, what: str) -> dict[str, Any]:
    """A map, where null and absence are the empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        refuse(what, f"is {_kind(value)}, not a map")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """A list, where null and absence are the empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        refuse(what, f"is {_kind(value)}, not a list")
    return value


def string(value: object, what: str) -> str:
    """A string, where null and absence are the empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        refuse(what, f"is {_kind(value)}, not a string")
    return value


def strings(value: object, what: str) -> tuple[str, ...]:
    """A list of strings."""
    return tuple([string(item, f"{what}[{index}]") for index, item in enumerate(sequence(value, what))])


def string_map(value: object, what: str) -> dict[str, str]:
    """A map of strings, such as labels; null values are empty strings, as the API server reads them."""
    read = mapping(value, what)
    for key, item in read.items():
        if type(item) is not str or type(key) is not str:
            return {_key(key, what): string(item, f"{what}[{key!r}]") for key, item in read.items()}
    return read


def integer(value: object, what: str, default: int) -> int:
    """A whole number, also one that is spelled as ``3.0``."""
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(what, f"is {_kind(value)}, not a whole number")
    return value


def flag(value: object, what: str) -> bool:
    """True or false, where null and absence are false."""
    if value is None:
        return False
    if not isinstance(value, bool):
        refuse(what, f"is {_kind(value)}, not true or false")
    return value


def metadata(data: object, kind: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """An object's name, its metadata and the whole of it. Objects without a name are refused."""
    if not isinstance(data, dict):
        refuse(f"an entry of the {kind} list", f"is {_kind(data)}, not an object")
    found = data.get("metadata")
    if not isinstance(found, dict):
        refuse(f"a {kind}", "has no metadata" if found is None else f"has metadata that is {_kind(found)}, not a map")
    name = found.get("name")
    if not isinstance(name, str) or not name:
        refuse(f"a {kind}", "has no name" if name is None or name == "" else f"has a name that is {_kind(name)}, not a string")
    return name, found, data


def _key(key: object, what: str) -> str:
    if not isinstance(key, str):
        refuse(what, f"has a key that is {_kind(key)}, not a string")
    return key


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    return {"str": "a string", "list": "a list", "dict": "a map"}.get(type(value).__name__, "something else")
