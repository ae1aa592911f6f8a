"""Changes to a document's data by path: what a fix changes, independent of how the document is written.

Paths begin at the root of the document. Edits are applied in order, and the paths of each refer to the result of the previous ones.
``applied`` defines what each of them means; ``yaml.editing`` converts them to edits of the text.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step


class Replace(NamedTuple):
    """Replace the value at ``path`` with ``value``."""

    path: Path
    value: Any


class Rename(NamedTuple):
    """Change the key of the entry at ``path`` of a map, in place. The map must not have the new key."""

    path: Path
    key: str


class Insert(NamedTuple):
    """Add ``value`` to the map at ``path`` under the key ``at``, or to the list there, before the item with the index ``at``.

    The map must not have the key. An index equal to the length of the list appends. Missing or null parents are created.
    A new key comes last, unless the map has one of the keys ``before`` and ``after``: then next to that.
    """

    path: Path
    at: Step
    value: Any
    before: str | None = None
    after: str | None = None


class Remove(NamedTuple):
    """Remove the entry or the item at ``path``; with ``prune`` also each map and list above it that becomes empty.

    Without ``prune`` an empty map stays as ``{}`` and an empty list as ``[]``, because the API server rejects null in many places.
    """

    path: Path
    prune: bool = False


class Move(NamedTuple):
    """Move the entry at ``path`` to the map at ``to``, under its own key or ``key``. Missing parents of ``to`` are created.

    The map must not have that key, unless ``merge``: then both values are maps that are merged, and equal entries are kept once.
    ``prune`` as in Remove; ``before`` as in Insert.
    """

    path: Path
    to: Path
    key: str | None = None
    merge: bool = False
    prune: bool = False
    before: str | None = None


Single = Replace | Rename | Insert | Remove
"""An edit that changes one place."""

SymbolicEdit = Single | Move


class EditError(ValueError):
    """An edit that cannot be applied to the data."""


def applied(data: Any, edits: Iterable[SymbolicEdit]) -> Any:
    """Apply edits to a copy of ``data`` and return it. Raises EditError for one that cannot be applied."""
    for edit in edits:
        for step in steps_of(data, edit):
            data = changed(data, step)
    return data


def steps_of(data: Any, edit: SymbolicEdit) -> Sequence[Single]:
    """Split an edit into edits that change one place each. Raises EditError for a move that cannot be applied."""
    if not isinstance(edit, Move):
        return (edit,)
    path, to = edit.path, edit.to
    if not path or not isinstance(path[-1], str) or to[: len(path)] == path:
        raise EditError("only an entry of a map can be moved, and not into itself")
    key, value = edit.key if edit.key is not None else path[-1], value_at(data, path)
    removal = Remove(path, edit.prune)
    target = find(data, (*to, key))
    if target is MISSING or (target is None and edit.merge):
        added = Insert(to, key, value, edit.before) if target is MISSING else Replace((*to, key), value)
        return (added, removal)
    if not edit.merge or type(value) is not dict or type(target) is not dict:
        raise EditError("the destination of this move already exists")
    if any(each in target and not is_same(target[each], nested) for each, nested in value.items()):
        raise EditError("the maps to merge contradict each other")
    return (*(Insert((*to, key), each, nested) for each, nested in value.items() if each not in target), removal)


MISSING: Any = object()
"""The result of ``find`` if the path does not exist."""


def find(data: Any, path: Path) -> Any:
    """Return the value at ``path``, or MISSING."""
    for step in path:
        if type(step) is int:
            if type(data) is not list or not 0 <= step < len(data):
                return MISSING
        elif type(data) is not dict or step not in data:
            return MISSING
        data = data[step]
    return data


def value_at(data: Any, path: Path) -> Any:
    """Return the value at ``path``. Raises EditError if it does not exist."""
    found = find(data, path)
    if found is MISSING:
        raise EditError("the path of this edit does not exist")
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types: 1 is neither true nor 1.0."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def changed(data: Any, edit: Single) -> Any:
    """Apply one edit of one place to a copy of ``data`` and return it. Raises EditError."""
    if isinstance(edit, Replace):
        value_at(data, edit.path)
        return _with(data, edit.path, edit.value)
    if isinstance(edit, Rename):
        return _renamed(data, edit)
    if isinstance(edit, Insert):
        return _inserted(data, edit)
    return _removed(data, edit)


def _renamed(data: Any, edit: Rename) -> Any:
    value_at(data, edit.path)
    parent = value_at(data, edit.path[:-1])
    if not edit.path or type(parent) is not dict or edit.key in parent:
        raise EditError("only an entry of a map can be renamed, to a key that the map does not have")
    return _with(data, edit.path[:-1], {edit.key if key == edit.path[-1] else key: value for key, value in parent.items()})


def _inserted(data: Any, edit: Insert) -> Any:
    path, at, value = insertion_point(data, edit)
    holder = find(data, path)
    if holder is MISSING or holder is None:
        if at not in (0, "") and type(at) is int:
            raise EditError("a new list does not have this index")
        return _with(data, path, [value] if type(at) is int else {at: value})
    if type(at) is int:
        if type(holder) is not list or not 0 <= at <= len(holder):
            raise EditError("the path is not a list with this index")
        return _with(data, path, [*holder[:at], value, *holder[at:]])
    if type(holder) is not dict or at in holder:
        raise EditError("the path is not a map, or the map already has the key")
    position = position_in(holder, edit)
    entries = list(holder.items())
    return _with(data, path, dict([*entries[:position], (at, value), *entries[position:]]))


def insertion_point(data: Any, edit: Insert) -> tuple[Path, Step, Any]:
    """Return the nearest existing parent of an insertion, the key or index in it, and the whole value to insert.

    Raises EditError if a value of another type is in the way.
    """
    path, at, value = edit.path, edit.at, edit.value
    while path and find(data, path) is MISSING:
        value = [value] if type(at) is int else {at: value}
        if type(value) is list and at != 0:
            raise EditError("a new list does not have this index")
        path, at = path[:-1], path[-1]
        if find(data, path) is not MISSING and type(at) is int:
            raise EditError("the path of this edit does not exist")
    return path, at, value


def position_in(holder: dict[str, Any], edit: Insert) -> int:
    """Return the index of a new key among those of a map."""
    keys = list(holder)
    if edit.before in holder:
        return keys.index(edit.before)
    return keys.index(edit.after) + 1 if edit.after in holder else len(keys)


def _removed(data: Any, edit: Remove) -> Any:
    value_at(data, edit.path)
    path = pruned(data, edit)
    if not path:
        raise EditError("a document cannot be removed from itself")
    parent = value_at(data, path[:-1])
    if type(parent) is list:
        return _with(data, path[:-1], [*parent[: int(path[-1])], *parent[int(path[-1]) + 1 :]])
    return _with(data, path[:-1], {key: value for key, value in parent.items() if key != path[-1]})


def pruned(data: Any, edit: Remove) -> Path:
    """Return the path that a removal removes: its own path, or the outermost parent that contains nothing else."""
    path = edit.path
    while edit.prune and len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return path


def _with(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of ``data`` with ``value`` at ``path``; only the parents are copied."""
    if not path:
        return value
    step = path[0]
    if type(data) is list:
        copied = list(data)
        copied[int(step)] = _with(data[int(step)], path[1:], value)
        return copied
    return {**data, step: _with(data[step], path[1:], value)}
