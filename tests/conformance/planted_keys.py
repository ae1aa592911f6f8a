"""Plants mistakes in the keys of constraints: misspelt, too deep, not indented, null, of another type, unknown."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED

Planting = tuple[str, Callable[[dict[str, Any], str], bool]]
"""The name of a mistake, and what plants it in the map with a constraint under a key; False if the constraint has no place for it."""
_NAMES = {
    "affinity": "affinty",
    "nodeSelector": "nodeSelctor",
    "tolerations": "tolerationns",
    "topologySpreadConstraints": "topologySpreadConstrants",
}


def planted(data: Any, path: Path, shape: str) -> Iterator[tuple[str, Any]]:
    """Yield copies of a document, each with one mistake in the constraint at ``path``, and the name of the mistake."""
    for name, plant in MISTAKES.get(shape, ()):
        copied = copy.deepcopy(data)
        holder = copied
        for step in path[:-1]:
            holder = holder[step]
        if plant(holder, str(path[-1])):
            yield name, copied


def _renamed(holder: dict[str, Any], old: str, new: str) -> bool:
    if old not in holder:
        return False
    items = [(new if key == old else key, value) for key, value in holder.items()]
    holder.clear()
    holder.update(items)
    return True


def _maps(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _maps(each)
    elif isinstance(value, list):
        for each in value:
            yield from _maps(each)


def _in_first(*keys: str) -> Callable[[Callable[[dict[str, Any]], bool]], Callable[[dict[str, Any], str], bool]]:
    """Plant in the first map of the constraint that has all keys."""

    def decorate(plant: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any], str], bool]:
        def in_first(holder: dict[str, Any], key: str) -> bool:
            for each in _maps(holder[key]):
                if all(name in each for name in keys):
                    return plant(each)
            return False

        return in_first

    return decorate


def _misspelt(old: str, new: str) -> Callable[[dict[str, Any], str], bool]:
    return _in_first(old)(lambda each: _renamed(each, old, new))


def _unknown(beside: str, name: str = "surprise", value: Any = "b") -> Callable[[dict[str, Any], str], bool]:
    def plant(each: dict[str, Any]) -> bool:
        each[name] = value
        return True

    return _in_first(beside)(plant)


def _deeper(name: str, into: str) -> Callable[[dict[str, Any], str], bool]:
    """Indent a field into the one next to it."""

    def plant(each: dict[str, Any]) -> bool:
        if not isinstance(each[into], dict):
            return False
        each[into][name] = each.pop(name)
        return True

    return _in_first(name, into)(plant)


def _dedented(name: str) -> Callable[[dict[str, Any], str], bool]:
    """Leave out the indentation below a field: it is null, and its fields are next to it."""

    def plant(each: dict[str, Any]) -> bool:
        inside = each[name]
        if not isinstance(inside, dict) or not inside or not inside.keys().isdisjoint(each):
            return False
        items = list(each.items())
        each.clear()
        for key, value in items:
            each[key] = None if key == name else value
            if key == name:
                each.update(inside)
        return True

    return _in_first(name)(plant)


def _null(name: str) -> Callable[[dict[str, Any], str], bool]:
    def plant(each: dict[str, Any]) -> bool:
        each[name] = None
        return True

    return _in_first(name)(plant)


def _typed(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any], str], bool]:
    """Write a map in place of a list, or a list in place of a map."""

    def plant(each: dict[str, Any]) -> bool:
        changed = change(each[name])
        if changed is None:
            return False
        each[name] = changed
        return True

    return _in_first(name)(plant)


def _first_item(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) else None


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) and value else None


def _whole(change: Callable[[Any], Any]) -> Callable[[dict[str, Any], str], bool]:
    def plant(holder: dict[str, Any], key: str) -> bool:
        changed = change(holder[key])
        holder[key] = changed if changed is not None else holder[key]
        return changed is not None

    return plant


def _misspelt_name(holder: dict[str, Any], key: str) -> bool:
    return key in _NAMES and _renamed(holder, key, _NAMES[key])


def _dedented_affinity(holder: dict[str, Any], key: str) -> bool:
    inside = holder[key]
    if not isinstance(inside, dict) or not inside.keys().isdisjoint(holder):
        return False
    items = list(holder.items())
    holder.clear()
    for name, value in items:
        holder[name] = None if name == key else value
        if name == key:
            holder.update(inside)
    return True


_TERM = (
    ("misspelt labelSelector", _misspelt("labelSelector", "labelSelctor")),
    ("misspelt topologyKey", _misspelt("topologyKey", "topologykey")),
    ("misspelt matchExpressions", _misspelt("matchExpressions", "matchExpresions")),
    ("misspelt matchLabels", _misspelt("matchLabels", "matchLabel")),
    ("misspelt operator", _misspelt("operator", "operater")),
    ("topologyKey in labelSelector", _deeper("topologyKey", "labelSelector")),
    ("labelSelector not indented", _dedented("labelSelector")),
    ("null topologyKey", _null("topologyKey")),
    ("matchLabels as a list", _typed("matchLabels", _as_list)),
    ("matchExpressions as a map", _typed("matchExpressions", _first_item)),
    ("unknown field in the term", _unknown("topologyKey")),
)
MISTAKES: dict[str, tuple[Planting, ...]] = {
    "affinity": (
        ("misspelt affinity", _misspelt_name),
        ("affinity not indented", _dedented_affinity),
        ("affinity as a list", _whole(_as_list)),
        *((f"misspelt {name}", _misspelt(name, name.replace("ni", "n"))) for name in ("nodeAffinity", "podAffinity", "podAntiAffinity")),
        *((f"misspelt {name[:8]}", _misspelt(name, name.removesuffix("IgnoredDuringExecution"))) for name in (REQUIRED, PREFERRED)),
        ("misspelt nodeSelectorTerms", _misspelt("nodeSelectorTerms", "nodeSelectorTerm")),
        ("misspelt preference", _misspelt("preference", "preferences")),
        ("misspelt podAffinityTerm", _misspelt("podAffinityTerm", "podAffinityTerms")),
        ("weight in podAffinityTerm", _deeper("weight", "podAffinityTerm")),
        ("podAffinityTerm not indented", _dedented("podAffinityTerm")),
        ("nodeSelectorTerms not indented", _dedented(REQUIRED)),
        ("nodeSelectorTerms as a map", _typed("nodeSelectorTerms", _first_item)),
        ("required rules as a map", _typed(REQUIRED, _first_item)),
        ("preferred rules as a map", _typed(PREFERRED, _first_item)),
        ("unknown field next to weight", _unknown("weight")),
        *_TERM,
    ),
    "nodeSelector": (
        ("misspelt nodeSelector", _misspelt_name),
        ("nodeSelector as a list", _whole(_as_list)),
    ),
    "tolerations": (
        ("misspelt tolerations", _misspelt_name),
        ("tolerations as a map", _whole(_first_item)),
        ("misspelt operator", _misspelt("operator", "operater")),
        ("misspelt effect", _misspelt("effect", "efect")),
        ("effect in the plural", _misspelt("effect", "effects")),
        ("unknown field", _unknown("key", "weight", 1)),
    ),
    "topologySpreadConstraints": (
        ("misspelt topologySpreadConstraints", _misspelt_name),
        ("topologySpreadConstraints as a map", _whole(_first_item)),
        ("misspelt whenUnsatisfiable", _misspelt("whenUnsatisfiable", "whenUnsatisfied")),
        ("misspelt maxSkew", _misspelt("maxSkew", "maxskew")),
        ("maxSkew in labelSelector", _deeper("maxSkew", "labelSelector")),
        ("null whenUnsatisfiable", _null("whenUnsatisfiable")),
        ("unknown field", _unknown("topologyKey", "namespaces", ["a"])),
        *_TERM,
    ),
}
