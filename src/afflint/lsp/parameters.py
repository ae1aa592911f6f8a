"""Whether the parameters of a message have what its handler reads."""

from __future__ import annotations

from typing import Any

from afflint.lsp.transport import INVALID_PARAMS, ResponseError
from afflint.yaml.document import value_at_path

_WITH_POSITION = ("hover", "definition", "references", "completion")
_WITH_RANGE = ("codeAction", "inlayHint")
_DOCUMENT_URI: dict[tuple[str, ...], type] = {("textDocument", "uri"): str}
_REQUIRED: dict[str, dict[tuple[str, ...], type]] = {
    "textDocument/didOpen": {**_DOCUMENT_URI, ("textDocument", "version"): int, ("textDocument", "text"): str},
    "textDocument/didChange": {**_DOCUMENT_URI, ("contentChanges",): list},
    "textDocument/didSave": _DOCUMENT_URI,
    "textDocument/didClose": _DOCUMENT_URI,
    "workspace/didChangeWatchedFiles": {("changes",): list},
    "workspace/didChangeWorkspaceFolders": {("event", "added"): list, ("event", "removed"): list},
}
"""The parameters of notifications, by their steps, and their types."""


def request_parameters(method: str, params: Any) -> dict[str, Any]:
    """Return the parameters of a request. One about a document has a document and valid positions. Raises ResponseError."""
    if type(params) is not dict:
        raise ResponseError(INVALID_PARAMS, "the parameters are not an object")
    area, _, name = method.partition("/")
    if area != "textDocument":
        return params
    document = params.get("textDocument")
    if not isinstance(document, dict) or not isinstance(document.get("uri"), str):
        raise ResponseError(INVALID_PARAMS, "`textDocument` has no `uri`")
    for place in _positions(name, params):
        numbers = [place.get("line"), place.get("character")] if isinstance(place, dict) else []
        if not numbers or any(type(each) is not int or each < 0 for each in numbers):
            raise ResponseError(INVALID_PARAMS, "`line` and `character` of a position must be integers from 0")
    return params


def _positions(name: str, params: dict[str, Any]) -> list[Any]:
    if name in _WITH_POSITION:
        return [params.get("position")]
    if name in _WITH_RANGE:
        span = params.get("range")
        return [span.get("start"), span.get("end")] if isinstance(span, dict) else [None]
    return []


def notification_parameters(method: str, params: Any) -> dict[str, Any] | None:
    """Return the parameters of a notification; None if one is missing that the protocol requires. It is skipped, as it has no response."""
    params = params or {}
    is_valid = type(params) is dict and all(
        type(value_at_path(params, *steps)) is kind for steps, kind in _REQUIRED.get(method, {}).items()
    )
    return params if is_valid else None
