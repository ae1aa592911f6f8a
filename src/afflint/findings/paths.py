"""Locations inside a document, and how they are written in reports."""

from typing import Any

Step = str | int
Path = tuple[Step, ...]
"""A location inside a document: keys and list indexes from the root, e.g. ``("spec", "containers", 0)``."""


def field_of(path: Path) -> str:
    """Format a path as the API server does: ``spec.containers[0].name``, ``metadata.labels[a/b]`` for keys with dots or slashes."""
    text = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


# The keys that identify the items of most lists in manifests.
_NAMING_KEYS = ("name", "key", "topologyKey")


def named_field(data: Any, path: Path, skipped: int = 0) -> str:
    """Format a path in ``data`` with list items named by their content instead of their index: ``containers[name=web].image``.

    An item without any of the usual keys is named by a checksum; a missing item keeps its index. The first ``skipped`` steps are omitted.
    """
    text = ""
    for depth, step in enumerate(path):
        try:
            data = data[step]
        except (LookupError, TypeError):
            data = _ABSENT
        name = _item_name(data, step) if isinstance(step, int) else step
        if depth < skipped:
            continue
        if isinstance(step, int) or "." in name or "/" in name:
            text += f"[{name}]"
        else:
            text += f".{name}" if text else name
    return text


_ABSENT = object()


def _item_name(item: object, number: int) -> str:
    if isinstance(item, dict):
        for key in _NAMING_KEYS:
            if type(item.get(key)) is str:
                return f"{key}={item[key]}"
    if isinstance(item, str):
        return item
    if item is None:
        return "null"
    if item is _ABSENT:
        return str(number)
    from zlib import crc32

    return f"#{crc32(repr(item).encode('utf-8', 'surrogatepass')):08x}"
