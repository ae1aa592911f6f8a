"""What a long run is doing, and how much of it is done, for a terminal that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Takes what is being done, how many of its parts are done, and how many there are; 0 if that is not known."""

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the steps of this process to a listener; without one, ``counted`` and ``begin`` cost nothing."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def begin(doing: str) -> None:
    """Say that a step without parts begins."""
    for listener in _listeners:
        listener(doing, 0, 0)


def counted(doing: str, parts: Sequence[T]) -> Iterable[T]:
    """Return the parts of a step; the listener is called when each is done."""
    return _reported(doing, parts, len(parts)) if _listeners else parts


def counted_results(doing: str, results: Iterable[T], total: int) -> Iterable[T]:
    """Return the results of the parts of a step as they arrive, with the number of all of them."""
    return _reported(doing, results, total) if _listeners else results


def _reported(doing: str, parts: Iterable[T], total: int) -> Iterator[T]:
    # The steps within a part are details.
    listeners, _listeners[:] = list(_listeners), []
    try:
        for listener in listeners:
            listener(doing, 0, total)
        for done, part in enumerate(parts, 1):
            yield part
            for listener in listeners:
                listener(doing, done, total)
    finally:
        _listeners[:] = listeners
