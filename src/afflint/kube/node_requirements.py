"""The requirements of pods on their nodes, and whether they imply a label, however they are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import DEPRECATED, MASTER
from afflint.kube.selector_algebra import conflict, find_difference, sample_values
from afflint.kube.selectors import AnyOf, Requirement, Selector, parse_int64
from afflint.yaml.placeholders import is_placeholder


class Counterexample(NamedTuple):
    """A node without the wanted label on which pods can be scheduled, and the alternative that allows it.

    ``value`` is the value of the label on the node, None if the node does not have it. ``any_other``: it represents all values that no
    requirement lists.
    """

    alternative: int
    value: str | None
    any_other: bool = False


def counterexample(alternatives: Sequence[Sequence[Requirement]], wanted: Requirement) -> Counterexample | None:
    """Return a node without ``wanted`` on which the pods can be scheduled; None if their constraints imply ``wanted``.

    A node must meet all requirements of one of the ``alternatives`` (``required_nodes``). Pods without constraints have one alternative
    without requirements. Requirements that no node meets imply everything, and so may those with placeholders. A deprecated label counts as
    the label that replaced it, which has the same values.
    """
    asked = _with_current_key(wanted)
    return _counterexample(tuple(map(tuple, alternatives)), asked)


@lru_cache(maxsize=4096)
def _counterexample(alternatives: tuple[tuple[Requirement, ...], ...], asked: Requirement) -> Counterexample | None:
    known = [(number, known) for number, each in enumerate(alternatives) if (known := _without_placeholders(each, asked.key)) is not None]
    witness = find_difference(AnyOf(tuple([each for _, each in known])), Selector((asked,)))
    if witness is None:
        return None
    number, selector = known[witness.selector]
    value = witness.labels.get((asked.key, asked.field))
    listed = {text for each in (*selector.requirements, asked) if each.key == asked.key for text in each.values}
    return Counterexample(number, value, value is not None and value not in listed and parse_int64(value) is None)


def with_added_labels(alternatives: Sequence[Sequence[Requirement]], given: Mapping[str, str]) -> list[tuple[Requirement, ...]]:
    """Return the constraints with labels that another component adds to the nodeSelector of the pods."""
    added = [Requirement(key, "In", (value,)) for key, value in given.items()]
    return [(*added, *each) for each in alternatives]


def possible_values(alternatives: Sequence[Sequence[Requirement]], keys: Collection[str]) -> frozenset[str] | None:
    """Return the values that one label, with any of these keys, can have on the nodes of some pods; None if any value is possible."""
    found: set[str] = set()
    for each in alternatives:
        if conflict(each):
            continue
        mine = [requirement for requirement in each if requirement.key in keys and not requirement.field]
        asking = [requirement for requirement in mine if requirement.operator == "In"]
        if not asking or any(_has_placeholder(requirement) for requirement in mine):
            return None
        found.update(value for value in sample_values([requirement._replace(key="") for requirement in mine]) if value is not None)
    return frozenset(found)


def _without_placeholders(alternative: Sequence[Requirement], key: str) -> Selector | None:
    """Return an alternative without its placeholders, or None if a placeholder may be the requirement on ``key``."""
    known = []
    for each in map(_with_current_key, alternative):
        if not _has_placeholder(each):
            known.append(each)
        elif each.key == key or is_placeholder(each.key):
            return None
    return Selector(tuple(known))


def _has_placeholder(requirement: Requirement) -> bool:
    return any(map(is_placeholder, _texts(requirement)))


def _texts(requirement: Requirement) -> Iterator[str]:
    yield requirement.key
    yield from requirement.values


def _with_current_key(requirement: Requirement) -> Requirement:
    new = DEPRECATED.get(requirement.key)
    return requirement if new is None or requirement.field or requirement.key == MASTER else requirement._replace(key=new)


@lru_cache(maxsize=256)
def equivalent_keys(key: str) -> frozenset[str]:
    """Return the keys of a label: the current one and the deprecated ones with the same values."""
    today = DEPRECATED.get(key, key) if key != MASTER else key
    return frozenset((today, *[old for old, new in DEPRECATED.items() if new == today and old != MASTER]))
