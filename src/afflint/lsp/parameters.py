"""Whether the parameters of a message have what its handler reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afflint.lsp.transport import INVALID_PARAMS, ResponseError

_Shape = Any
"""A type; a function that tests a value; a list with the shape of its items; or a map with the shapes of its values.

A key that ends with a question mark may be missing or null.
"""


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


_POSITION: _Shape = {"line": _is_count, "character": _is_count}
_RANGE: _Shape = {"start": _POSITION, "end": _POSITION}
_DOCUMENT: _Shape = {"textDocument": {"uri": str}}
_VERSIONED: _Shape = {"uri": str, "version": int}
_NOTIFICATIONS: dict[str, _Shape] = {
    "textDocument/didOpen": {"textDocument": {**_VERSIONED, "text": str, "languageId?": str}},
    "textDocument/didChange": {"textDocument": _VERSIONED, "contentChanges": [{"text": str, "range?": _RANGE}]},
    "textDocument/didSave": _DOCUMENT,
    "textDocument/didClose": _DOCUMENT,
    "workspace/didChangeWatchedFiles": {"changes": list},
    "workspace/didChangeWorkspaceFolders": {"event": {"added": list, "removed": list}},
}
_REQUESTS: dict[str, _Shape] = {
    "textDocument/codeAction": {"context?": {"only?": [str]}},
    "codeAction/resolve": {"data?": {"uri": str, "rule?": str}},
    "workspace/diagnostic": {"previousResultIds?": [{"uri": str, "value": str}]},
}
_WITH_POSITION = ("hover", "definition", "references", "completion")
_WITH_RANGE = ("codeAction", "inlayHint")


def request_parameters(method: str, params: Any) -> dict[str, Any]:
    """Return the parameters of a request. One about a document has a document and valid positions. Raises ResponseError."""
    if type(params) is not dict:
        raise ResponseError(INVALID_PARAMS, "the parameters are not an object")
    area, _, name = method.partition("/")
    if not _fits(params, _REQUESTS.get(method, {})):
        raise ResponseError(INVALID_PARAMS, f"the parameters are not those of `{method}`")
    if area != "textDocument":
        return params
    if not _fits(params, _DOCUMENT):
        raise ResponseError(INVALID_PARAMS, "`textDocument` has no `uri`")
    shape = {"position": _POSITION} if name in _WITH_POSITION else {"range": _RANGE} if name in _WITH_RANGE else {}
    if not _fits(params, shape):
        raise ResponseError(INVALID_PARAMS, "`line` and `character` of a position must be integers from 0")
    return params


def notification_parameters(method: str, params: Any) -> dict[str, Any] | None:
    """Return the parameters of a notification; None if they are not what the protocol requires."""
    params = params or {}
    return params if type(params) is dict and _fits(params, _NOTIFICATIONS.get(method, {})) else None


def _fits(value: Any, shape: _Shape) -> bool:
    """Whether a value of JSON has a shape."""
    if isinstance(shape, dict):
        return type(value) is dict and all(_has(value, key, each) for key, each in shape.items())
    if isinstance(shape, list):
        return type(value) is list and all(_fits(each, shape[0]) for each in value)
    if isinstance(shape, type):
        return type(value) is shape
    test: Callable[[Any], bool] = shape
    return test(value)


def _has(value: dict[str, Any], key: str, shape: _Shape) -> bool:
    name = key.removesuffix("?")
    return (name != key and value.get(name) is None) or (name in value and _fits(value[name], shape))
