"""JSON-RPC messages over two byte streams, framed as in the Language Server Protocol: headers with a Content-Length, then JSON.

Input is not trusted: a message that is too long is skipped, a message that is not JSON is answered with an error, and an invalid header
is skipped.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from afflint.findings.namedtuples import NamedTuple

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
NOT_INITIALIZED, REQUEST_CANCELLED = -32002, -32800

LONGEST_MESSAGE = 128 << 20
_LONGEST_HEADER = 8 << 10
_BLOCK = 1 << 20
_BETWEEN_LOOKS = 2.0
"""Seconds between two checks whether the editor is still running."""

Message = dict[str, Any]


class InvalidMessage(NamedTuple):
    """Input that is not a valid message. ``code`` is the code of the response, which has no id because the id is unknown."""

    code: int
    reason: str


class ResponseError(Exception):
    """A request that cannot be answered; the client receives the code and the text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class MessageReader:
    """Reads messages from a stream.

    ``read`` returns at most the given number of bytes as soon as some are available, and no bytes at the end of the stream. It is not a
    file object, because the interpreter waits at exit for the lock of a file object that another thread reads.
    """

    def __init__(self, read: Callable[[int], bytes], longest: int = LONGEST_MESSAGE) -> None:
        self._read = read
        self._longest = longest
        self._buffer = bytearray()

    def read(self) -> Message | InvalidMessage | None:
        """Return the next message, or the reason why it is invalid; None at the end of the stream."""
        length = self._length()
        if length is None:
            return None
        if length > self._longest:
            return (
                InvalidMessage(INVALID_REQUEST, f"the message has {length} bytes; the limit is {self._longest}")
                if self._skip(length)
                else None
            )
        while len(self._buffer) < length:
            if not self._read_more():
                return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return InvalidMessage(PARSE_ERROR, "the message is not JSON")
        if not isinstance(message, dict):
            return InvalidMessage(INVALID_REQUEST, "the message is not an object")
        return message

    def _length(self) -> int | None:
        """Return the length in the headers of the next message; None at the end of the stream. Invalid headers are skipped."""
        length: int | None = None
        while True:
            line = self._line()
            if line is None:
                return None
            name, colon, value = line.partition(b":")
            value = value.strip()
            if colon and name.strip().lower() == b"content-length" and value.isdigit() and len(value) < 19:
                length = int(value)
            elif not line.strip() and length is not None:
                return length

    def _line(self) -> bytes | None:
        """Return the next line, or the first part of a line that is too long; None at the end of the stream."""
        while (end := self._buffer.find(b"\n", 0, _LONGEST_HEADER) + 1) == 0 and len(self._buffer) < _LONGEST_HEADER:
            if not self._read_more():
                return None
        line = bytes(self._buffer[: end or _LONGEST_HEADER])
        del self._buffer[: len(line)]
        return line

    def _skip(self, length: int) -> bool:
        """Skip a message. Return False at the end of the stream."""
        while len(self._buffer) < length:
            length -= len(self._buffer)
            self._buffer.clear()
            if not self._read_more():
                return False
        del self._buffer[:length]
        return True

    def _read_more(self) -> bool:
        block = self._read(_BLOCK)
        self._buffer += block
        return bool(block)


class MessageWriter:
    """Writes messages to a stream, from any thread. ``on_closed`` is called once when the reader has closed the stream."""

    def __init__(self, stream: BinaryIO, on_closed: Callable[[], None]) -> None:
        self._stream = stream
        self._on_closed = on_closed
        self._lock = threading.Lock()
        self._is_closed = False

    def write(self, message: Message) -> None:
        """Write a message; after the stream was closed it is dropped."""
        # Unpaired surrogates can only be written escaped, so everything outside ASCII is escaped.
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode("ascii")
        try:
            with self._lock:
                self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._stream.flush()
        except (OSError, ValueError):
            if not self._is_closed:
                self._is_closed = True
                self._on_closed()


def end_with(process: int, end: Callable[[], None]) -> None:
    """Call ``end`` when the process that started the server has ended, as the protocol requires. Usually its pipes close earlier.

    On Windows this does nothing: there ``os.kill`` would end the process instead of looking for it.
    """
    if os.name != "posix" or process <= 0:
        return

    def watch() -> None:
        while True:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                end()
                return
            except OverflowError:
                return  # A process ID is never this large.
            except OSError:
                pass  # The process exists, and belongs to another user.
            time.sleep(_BETWEEN_LOOKS)

    threading.Thread(target=watch, name="parent", daemon=True).start()


# Whether the parameters of a message have what its handler reads.

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
