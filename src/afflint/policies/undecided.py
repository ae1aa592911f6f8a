"""The answer of a policy that cannot be known from manifests alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class UndecidedError(Exception):
    """The manifests do not decide what a policy does to an object; the message says what is missing."""


def holds_any(conditions: Iterable[Callable[[], bool]]) -> bool:
    """Return whether a condition holds. Raises UndecidedError if none does for certain, and one may."""
    doubts: list[UndecidedError] = []
    if any(_holds(each, doubts) for each in conditions):
        return True
    if doubts:
        raise doubts[0]
    return False


def _holds(condition: Callable[[], bool], doubts: list[UndecidedError]) -> bool:
    """Return whether a condition holds; one that is undecided is added to ``doubts``."""
    try:
        return condition()
    except UndecidedError as error:
        doubts.append(error)
        return False


def holds_all(conditions: Iterable[Callable[[], bool]]) -> bool:
    """Return whether all conditions hold. Raises UndecidedError if none fails for certain, and one may."""
    return not holds_any([_negated(each) for each in conditions])


def _negated(condition: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: not condition()
