"""Changes to a document's data by path: what a rule wants mended, without a word about how the document is written.

A path leads from the root of the document. Edits are made one after the other, so that the paths of each are those that the ones
before it left. ``applied`` says what each of them means; ``yaml.editing`` turns them into edits of the text.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.finding import Path, Step
from afflint.findings.namedtuples import NamedTuple


class Replace(NamedTuple):
    """Put ``value`` in the place of what stands at ``path``."""

    path: Path
    value: Any


class Rename(NamedTuple):
    """Give the entry at ``path`` of a map another key, in the same place. The map must not have that key."""

    path: Path
    key: str


class Insert(NamedTuple):
    """Add ``value`` to the map at ``path`` under the key ``at``, or to the list there, before the item that has the index ``at``.

    The map must not have the key. An index as great as the list is long appends. What is missing or null at ``path`` or above it is
    made. A new key comes last, or where the map that gets it has one of these keys, before that of ``before`` or after that of ``after``.
    """

    path: Path
    at: Step
    value: Any
    before: str | None = None
    after: str | None = None


class Remove(NamedTuple):
    """Take the entry or the item at ``path`` away; with ``prune`` also each map and list above that this leaves empty.

    Otherwise a map that is left empty stays as ``{}``, a list as ``[]``: with null in its place many objects would be refused.
    """

    path: Path
    prune: bool = False


class Move(NamedTuple):
    """Take the entry at ``path`` away and add it to the map at ``to``, under its own key or ``key``. Makes what is missing at ``to``.

    The map must not have that key, unless ``merge``: then both values are maps, and the one gets the entries of the other, except for
    those that it has already and that are the same. ``prune`` as in Remove; ``before`` as in Insert.
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
    """An edit that makes no sense for the data that it is to change."""


def applied(data: Any, edits: Iterable[SymbolicEdit]) -> Any:
    """The data that these edits make of ``data``, which stays as it is. Raises EditError where one makes no sense."""
    for edit in edits:
        for step in steps_of(data, edit):
            data = changed(data, step)
    return data


def steps_of(data: Any, edit: SymbolicEdit) -> Sequence[Single]:
    """The same as edits that change one place each. Raises EditError for a move that makes no sense."""
    if not isinstance(edit, Move):
        return (edit,)
    path, to = edit.path, edit.to
    if not path or not isinstance(path[-1], str) or to[: len(path)] == path:
        raise EditError("only an entry of a map can be moved, and not into itself")
    key, value = edit.key if edit.key is not None else path[-1], value_at(data, path)
    removal = Remove(path, edit.prune)
    there = find(data, (*to, key))
    if there is MISSING or (there is None and edit.merge):
        added = Insert(to, key, value, edit.before) if there is MISSING else Replace((*to, key), value)
        return (added, removal)
    if not edit.merge or type(value) is not dict or type(there) is not dict:
        raise EditError("there is something already where this is to be moved")
    if any(each in there and not same(there[each], below) for each, below in value.items()):
        raise EditError("the two that are to be merged contradict each other")
    return (*(Insert((*to, key), each, below) for each, below in value.items() if each not in there), removal)


MISSING: Any = object()
"""What ``find`` gives where nothing is."""


def find(data: Any, path: Path) -> Any:
    """What stands at ``path``, or MISSING."""
    for step in path:
        if type(step) is int:
            if type(data) is not list or not 0 <= step < len(data):
                return MISSING
        elif type(data) is not dict or step not in data:
            return MISSING
        data = data[step]
    return data


def value_at(data: Any, path: Path) -> Any:
    """What stands at ``path``. Raises EditError where nothing is."""
    found = find(data, path)
    if found is MISSING:
        raise EditError("nothing stands where this edit is to be made")
    return found


def same(one: Any, other: Any) -> bool:
    """Whether data is the same, and of the same types: 1 is neither true nor 1.0."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def changed(data: Any, edit: Single) -> Any:
    """The data that one edit of one place makes of ``data``. Raises EditError."""
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
    above = value_at(data, edit.path[:-1])
    if not edit.path or type(above) is not dict or edit.key in above:
        raise EditError("only an entry of a map can be renamed, to a key that the map does not have")
    return _with(data, edit.path[:-1], {edit.key if key == edit.path[-1] else key: value for key, value in above.items()})


def _inserted(data: Any, edit: Insert) -> Any:
    path, at, value = whole(data, edit)
    holder = find(data, path)
    if holder is MISSING or holder is None:
        if at not in (0, "") and type(at) is int:
            raise EditError("a new list has no such index")
        return _with(data, path, [value] if type(at) is int else {at: value})
    if type(at) is int:
        if type(holder) is not list or not 0 <= at <= len(holder):
            raise EditError("there is no such index in a list here")
        return _with(data, path, [*holder[:at], value, *holder[at:]])
    if type(holder) is not dict or at in holder:
        raise EditError("there is no map here, or one that has the key already")
    position = position_in(holder, edit)
    entries = list(holder.items())
    return _with(data, path, dict([*entries[:position], (at, value), *entries[position:]]))


def whole(data: Any, edit: Insert) -> tuple[Path, Step, Any]:
    """Where an insertion begins: the nearest that is there to hold it (or null), the key or index in it, and all that goes there.

    Raises EditError where something else is in the way.
    """
    path, at, value = edit.path, edit.at, edit.value
    while path and find(data, path) is MISSING:
        value = [value] if type(at) is int else {at: value}
        if type(value) is list and at != 0:
            raise EditError("a new list has no such index")
        path, at = path[:-1], path[-1]
        if find(data, path) is not MISSING and type(at) is int:
            raise EditError("nothing stands where this edit is to be made")
    return path, at, value


def position_in(holder: dict[str, Any], edit: Insert) -> int:
    """Where a new key goes among those of a map."""
    keys = list(holder)
    if edit.before in holder:
        return keys.index(edit.before)
    return keys.index(edit.after) + 1 if edit.after in holder else len(keys)


def _removed(data: Any, edit: Remove) -> Any:
    value_at(data, edit.path)
    path = pruned(data, edit)
    if not path:
        raise EditError("a document cannot be removed from itself")
    above = value_at(data, path[:-1])
    if type(above) is list:
        return _with(data, path[:-1], [*above[: int(path[-1])], *above[int(path[-1]) + 1 :]])
    return _with(data, path[:-1], {key: value for key, value in above.items() if key != path[-1]})


def pruned(data: Any, edit: Remove) -> Path:
    """What a removal takes away: what stands at its path, or the outermost that holds nothing else."""
    path = edit.path
    while edit.prune and len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return path


def _with(data: Any, path: Path, value: Any) -> Any:
    """A copy of ``data`` with ``value`` at ``path``; what is not on the way is the same."""
    if not path:
        return value
    step = path[0]
    if type(data) is list:
        copied = list(data)
        copied[int(step)] = _with(data[int(step)], path[1:], value)
        return copied
    return {**data, step: _with(data[step], path[1:], value)}
