"""What a template computes when its values are not known: values by their path, text with gaps, and alternatives with their conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted
from afflint.kube.kinds import EACH
from afflint.yaml.document import value_at_path

_LARGEST_CONDITION = 32
_MOST_ALTERNATIVES = 24
_BIRTHS = count(1)


@dataclass(frozen=True, slots=True)
class Ref:
    """The value at a path of the values; EACH is an item of a list, or the value of any key."""

    path: Path


@dataclass(frozen=True, slots=True)
class KeyOf:
    """A key of the map, or an index of the list, at a path of the values."""

    path: Path


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written in a template: text, a number, a boolean or None.

    ``is_absent``: it is in place of a key that a map does not have, whatever the values are.
    """

    value: Any
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """Something that is computed from the values at some paths, in a way that is not known."""

    paths: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean that a condition decides."""

    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """Text that a template has written."""

    pieces: tuple[OutputPiece, ...]


@dataclass(eq=False, slots=True)
class MapSymbol:
    """A map with known keys; ``rest`` are maps whose keys it has, too. Functions of templates change maps in place.

    ``name`` identifies the root of a chart. ``is_changed``: it may lack keys, or have others. ``is_fresh``: no variable has the map.
    ``born`` is larger for later maps.
    """

    entries: dict[str, Symbol] = field(default_factory=dict)
    rest: list[Atom] = field(default_factory=list)
    name: str = ""
    is_changed: bool = False
    is_fresh: bool = False
    born: int = field(default_factory=lambda: next(_BIRTHS))


@dataclass(frozen=True, slots=True, eq=False)
class ListSymbol:
    """A list with known items."""

    items: tuple[Symbol, ...]


Atom = Ref | KeyOf | Literal | Derived | Truth | Output | MapSymbol | ListSymbol

Condition = tuple[Any, ...]
"""``("true",)``, ``("set", path)``, ``("key", path)``, ``("eq", path, value)``, ``("not", condition)``, ``("and"|"or", *conditions)``, and
``("?",)`` for one that is not known."""
TRUE, FALSE, UNKNOWN = ("true",), ("not", ("true",)), ("?",)

Symbol = tuple[tuple[Condition, Atom], ...]
"""Alternatives, each with its condition."""


# The text that templates write. Texts are compared by identity: one that is included many times in others is as long as all of these.


@dataclass(frozen=True, slots=True)
class PlainPiece:
    """Literal text of a file that begins on a line."""

    text: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in the text for a value that is not known. ``form``: ``text``, ``yaml``, ``json``, ``quoted``, or ``words`` made of it."""

    value: Atom
    form: str
    file: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """Texts, each with its condition."""

    branches: tuple[tuple[Condition, tuple[OutputPiece, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Indented:
    """Text whose lines are indented further. ``on_new_line``: it begins on a line of its own."""

    width: int
    pieces: tuple[OutputPiece, ...]
    on_new_line: bool


OutputPiece = PlainPiece | Hole | Alternatives | Indented


def holes_in(pieces: tuple[OutputPiece, ...]) -> Iterator[Hole]:
    """Yield the holes in a text, those of a text that is in it several times once."""
    waiting, seen = [pieces], set[int]()
    while waiting:
        body = waiting.pop()
        if id(body) in seen:
            continue
        seen.add(id(body))
        for each in body:
            if isinstance(each, Hole):
                yield each
            elif isinstance(each, Alternatives):
                waiting += [inner for _, inner in each.branches]
            elif isinstance(each, Indented):
                waiting.append(each.pieces)


def literal_text(pieces: Iterable[OutputPiece]) -> str | None:
    """Return a text without holes and alternatives; None for any other."""
    found = [each.text if isinstance(each, PlainPiece) else None for each in pieces]
    return None if None in found else "".join(each or "" for each in found)


# Symbols.


def symbol(*atoms: Atom) -> Symbol:
    """Return a symbol that is one of some atoms, whatever the conditions are."""
    condition = TRUE if len(atoms) < 2 else UNKNOWN
    return tuple([(condition, each) for each in atoms])


NOTHING: Symbol = ((TRUE, Literal(None)),)


def one_of(*alternatives: tuple[Condition, Symbol]) -> Symbol:
    """Return the symbol that is one of several, each under its condition."""
    found: dict[tuple[Condition, Any], Atom] = {}
    for condition, each in alternatives:
        for own, atom in each:
            both = both_of(condition, own)
            if both != FALSE:
                found.setdefault((both, id(atom) if isinstance(atom, MapSymbol) else atom), atom)
    if len(found) > _MOST_ALTERNATIVES:
        kept = dict.fromkeys(atom for atom in found.values() if isinstance(atom, MapSymbol))
        return symbol(*kept, Derived(frozenset(path for atom in found.values() for path in paths_of(atom))))
    return tuple([(condition, atom) for (condition, _), atom in found.items()])


def copied(atom: Atom, kept: dict[int, MapSymbol] | None = None, *, root: bool = False) -> Atom:
    """Return a copy of a map that later changes of the map do not change; any other atom as it is. ``kept``: the copies made so far.

    ``root``: the root of a chart is copied, too.
    """
    if not isinstance(atom, MapSymbol) or (atom.name and not root):
        return atom
    copies = {} if kept is None else kept
    if id(atom) not in copies:
        made = copies[id(atom)] = MapSymbol(is_changed=atom.is_changed)
        made.entries.update((key, tuple([(each, copied(inner, copies)) for each, inner in value])) for key, value in atom.entries.items())
        made.rest += [copied(each, copies) for each in atom.rest]
    return copies[id(atom)]


def inside(atom: Atom) -> Iterator[Atom | OutputPiece]:
    """Yield an atom and everything in it: maps, lists, and the pieces of texts. What several of these share is yielded once."""
    waiting: list[Any] = [atom]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, tuple):
            waiting += each[::-1]
            continue
        yield each
        if isinstance(each, (Output, Indented)):
            waiting.append(each.pieces)
        elif isinstance(each, Alternatives):
            waiting += [pieces for _, pieces in each.branches][::-1]
        elif isinstance(each, Hole):
            waiting.append(each.value)
        elif isinstance(each, (MapSymbol, ListSymbol)):
            inner = [*each.entries.values(), symbol(*each.rest)] if isinstance(each, MapSymbol) else each.items
            waiting += [below for value in inner for _, below in value][::-1]


def paths_of(atom: Atom) -> Iterator[Path]:
    """Yield the paths of the values that an atom depends on."""
    for each in inside(atom) if isinstance(atom, (Output, MapSymbol, ListSymbol)) else (atom,):
        if isinstance(each, (Ref, KeyOf)):
            yield each.path
        elif isinstance(each, Derived):
            yield from each.paths
        elif isinstance(each, Truth):
            yield from paths_in(each.condition)


# Conditions.


def both_of(first: Condition, second: Condition) -> Condition:
    """Return the condition that two conditions are true."""
    if FALSE in (first, second) or (first in (("not", second), negated(second)) and _is_exact(first)):
        return FALSE
    if first in (TRUE, second):
        return second
    return first if second == TRUE else _limited(("and", first, second))


def _is_exact(condition: Condition) -> bool:
    """Return whether a condition means the same each time: it does not ask for an item of a list, which may be another one."""
    return not is_unknown(condition) and not any(EACH in path for path in paths_in(condition))


def any_of(conditions: Iterable[Condition]) -> Condition:
    """Return the condition that one of some conditions is true."""
    found = [*dict.fromkeys(each for each in conditions if each != FALSE)]
    if TRUE in found:
        return TRUE
    return FALSE if not found else found[0] if len(found) == 1 else _limited(("or", *found))


def negated(condition: Condition) -> Condition:
    """Return the condition that a condition is not true."""
    return condition[1] if condition[0] == "not" else UNKNOWN if condition == UNKNOWN else ("not", condition)


def _limited(condition: Condition) -> Condition:
    return condition if _size(condition) <= _LARGEST_CONDITION else UNKNOWN


def _size(condition: Condition) -> int:
    return 1 + sum(_size(each) for each in condition[1:] if type(each) is tuple and each and type(each[0]) is str)


def truth_of(value: Symbol) -> Condition:
    """Return the condition under which a symbol counts as true: it is not empty."""
    return any_of(both_of(condition, _truth(atom)) for condition, atom in value)


def _truth(atom: Atom) -> Condition:
    if isinstance(atom, Ref):
        return ("set", atom.path)
    if isinstance(atom, Literal):
        return TRUE if atom.value else FALSE
    if isinstance(atom, Truth):
        return atom.condition
    if isinstance(atom, MapSymbol):
        return TRUE if atom.entries and not atom.is_changed else UNKNOWN
    if isinstance(atom, ListSymbol):
        return TRUE if atom.items else FALSE
    if isinstance(atom, Output) and literal_text(atom.pieces):
        return TRUE
    return UNKNOWN


def paths_in(condition: Condition) -> Iterator[Path]:
    """Yield the paths of the values that a condition asks for."""
    if condition[0] in ("set", "key", "eq"):
        yield condition[1]
    elif condition[0] in ("not", "and", "or"):
        for each in condition[1:]:
            yield from paths_in(each)


def described(condition: Condition) -> str:
    """Return a condition in words, such as "`api.enabled` is set"."""
    kind, *parts = condition
    if kind == "not":
        inner = parts[0]
        return f"not ({described(inner)})" if inner[0] in ("and", "or", "not") else described(inner).replace(" is ", " is not ", 1)
    if kind in ("and", "or"):
        return f" {kind} ".join(described(each) if each[0] not in ("and", "or") else f"({described(each)})" for each in parts)
    if kind == "eq":
        shown = str(parts[1]).lower() if type(parts[1]) is bool else str(parts[1])
        return f"{quoted(field_of(parts[0]))} is {quoted(shown)}"
    return f"{quoted(field_of(parts[0]))} is set" if kind in ("set", "key") else "something else is true"


def is_unknown(condition: Condition) -> bool:
    """Return whether a part of a condition is not known."""
    return condition == UNKNOWN or (condition[0] in ("not", "and", "or") and any(map(is_unknown, condition[1:])))


def holds(condition: Condition, values: Mapping[str, Any]) -> bool | None:
    """Return whether a condition is true for the whole values of a chart; None if that is not known."""
    kind = condition[0]
    if kind == "true":
        return True
    if kind in ("set", "key", "eq"):
        return _is_met(condition, values)
    if kind == "not":
        inner = holds(condition[1], values)
        return None if inner is None else not inner
    if kind in ("and", "or"):
        found = [holds(each, values) for each in condition[1:]]
        decisive = kind == "or"
        return decisive if decisive in found else None if None in found else not decisive
    return None


def _is_met(condition: Condition, values: Mapping[str, Any]) -> bool | None:
    kind, path, *compared = condition
    if EACH in path:
        return None
    if kind == "key":
        above = value_at_path(values, *path[:-1])
        if type(above) is dict and path[-1] in above and above[path[-1]] is None:
            return None  # Helm removes it from some files.
        return type(above) is dict and path[-1] in above
    found = value_at_path(values, *path)
    if type(found) is str and "{{" in found:
        return None
    if kind == "eq" and (type(found) is not type(compared[0]) or (type(found) is str and found != found.strip("-._ \t\r\n"))):
        return None if found is not None else False  # A function may have made one of the other, or have cut it.
    return bool(found) if kind == "set" else found == compared[0]
