"""JSON Patch (RFC 6902), as the libraries of Kyverno and Kubernetes apply it (github.com/evanphx/json-patch)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from afflint.mutation.undecided import InapplicableError, UndecidedError

_INDEX = re.compile(r"-?[0-9]{1,6}")
_MOST_ADDED = 1000
"""A patch that fills a list with more items than this is not applied."""


class FailedTestError(InapplicableError):
    """A ``test`` of a patch fails."""


def with_json_patch(data: Any, operations: Sequence[Any], *, strict: bool = False) -> Any:
    """Return a copy of ``data`` with a patch, applied with the options of Kyverno, or ``strict`` with those of the API server.

    Both allow negative indexes. Kyverno creates the lists and maps above an added value, and ignores the removal of what does not exist.
    Raises InapplicableError if an operation fails, and UndecidedError for an operation that is not supported.
    """
    whole = {"": deepcopy(data)}
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise InapplicableError("an operation has no path")
        try:
            _apply(whole, operation, strict=strict)
        except InapplicableError as error:
            raise type(error)(f"`{operation.get('op')}` of `{operation['path']}` fails") from None
    return whole[""]


def steps_of(pointer: str) -> list[str]:
    """Return the steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _apply(whole: dict[str, Any], operation: dict[str, Any], *, strict: bool) -> None:
    name, steps = operation.get("op"), ["", *steps_of(operation["path"])]
    if name == "add":
        _add(_holder(whole, steps, create=not strict), steps[-1], deepcopy(operation.get("value")))
    elif name == "replace":
        holder = _holder(whole, steps)
        _get(holder, steps[-1])
        holder[_key(holder, steps[-1])] = deepcopy(operation.get("value"))
    elif name == "remove":
        try:
            holder = _holder(whole, steps)
            _get(holder, steps[-1])
        except InapplicableError:
            if strict:
                raise
            return
        del holder[_key(holder, steps[-1])]
    elif name == "move" and isinstance(operation.get("from"), str):
        source = ["", *steps_of(operation["from"])]
        holder = _holder(whole, source)
        value = _get(holder, source[-1])
        del holder[_key(holder, source[-1])]
        _add(_holder(whole, steps, create=not strict), steps[-1], value)
    elif name == "test":
        if _get(_holder(whole, steps), steps[-1]) != operation.get("value"):
            raise FailedTestError
    else:
        raise UndecidedError(f"it has a JSON patch with the operation `{str(name)[:40]}`")


def _holder(whole: dict[str, Any], steps: list[str], *, create: bool = False) -> Any:
    """Return the list or map that contains the value at some steps; ``create``: with the missing ones above it."""
    value: Any = whole
    for step, following in itertools.pairwise(steps):
        try:
            below = _get(value, step)
        except InapplicableError:
            below = None
        if below is None:
            if not create:
                raise InapplicableError
            below = _new(following)
            _pad(value, step)
            _add(value, step, below)
        value = below
    return value


def _new(step: str) -> Any:
    """Return an empty list or map for a step into it; a list is filled up to the index."""
    if step != "-" and not _INDEX.fullmatch(step):
        return {}
    index = 0 if step == "-" else int(step)
    if not -1 <= index < _MOST_ADDED:
        raise InapplicableError
    return [None] * max(index, 0)


def _pad(holder: Any, step: str) -> None:
    if isinstance(holder, list) and _INDEX.fullmatch(step):
        missing = int(step) - len(holder)
        if missing > _MOST_ADDED:
            raise InapplicableError
        holder += [None] * missing


def _get(holder: Any, step: str) -> Any:
    key = _key(holder, step)
    try:
        return holder[key]
    except LookupError:
        raise InapplicableError from None


def _key(holder: Any, step: str) -> Any:
    if isinstance(holder, dict):
        return step
    if isinstance(holder, list) and _INDEX.fullmatch(step):
        return int(step)
    raise InapplicableError


def _add(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, list) and step == "-":
        holder.append(value)
        return
    key = _key(holder, step)
    if isinstance(holder, dict):
        holder[key] = value
        return
    index = key + len(holder) + 1 if key < 0 else key
    if not 0 <= index <= len(holder):
        raise InapplicableError
    holder.insert(index, value)
