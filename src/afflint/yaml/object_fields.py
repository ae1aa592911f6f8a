"""The fields that every object of the API has, as they are read from parsed data of any shape: a value of another type counts as absent."""

from __future__ import annotations

from typing import Any

from afflint.yaml.document import list_at, map_at, maps_at, text_at


def api_version_of(data: object) -> str:
    """Return the ``apiVersion`` of an object or of a reference to one; "" without one."""
    return text_at(data, "apiVersion")


def group_of(data: object) -> str:
    """Return the API group of an object or of a reference to one; "" for the core group, and without an ``apiVersion``."""
    return text_at(data, "apiVersion").rpartition("/")[0]


def kind_of(data: object) -> str:
    """Return the ``kind`` of an object or of a reference to one; "" without one."""
    return text_at(data, "kind")


def metadata_of(data: object) -> dict[str, Any]:
    """Return the ``metadata`` of an object; an empty map without any."""
    return map_at(data, "metadata")


def name_of(data: object) -> str:
    """Return the ``metadata.name`` of an object; "" without one."""
    return text_at(data, "metadata", "name")


def namespace_of(data: object) -> str:
    """Return the ``metadata.namespace`` of an object; "" without one."""
    return text_at(data, "metadata", "namespace")


def annotations_of(data: object) -> dict[str, str]:
    """Return the ``metadata.annotations`` of an object that are strings; null is the empty string, as in the API server."""
    return {key: value or "" for key, value in map_at(data, "metadata", "annotations").items() if type(value) is str or value is None}


def items_of(data: object) -> list[Any]:
    """Return the ``items`` of a list of objects; none without any."""
    return list_at(data, "items")


def condition_of(data: object, name: str) -> dict[str, Any] | None:
    """Return the condition of a type in the ``status`` of an object; None without any."""
    return next((each for each in maps_at(data, "status", "conditions") if each.get("type") == name), None)
