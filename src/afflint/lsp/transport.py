"""JSON-RPC messages over two byte streams, as the Language Server Protocol frames them: headers with a Content-Length, then JSON.

What comes in is not trusted: a message that is too long is skipped, one that is no JSON is answered with an error, and a header that is
none is passed over.
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
"""Seconds between two looks at whether the editor still runs."""

Message = dict[str, Any]


class InvalidMessage(NamedTuple):
    """What came in place of a message. ``code`` is that of the answer; the message cannot be told, so it has no id."""

    code: int
    reason: str


class ResponseError(Exception):
    """A request that cannot be answered; code and text go to the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class MessageReader:
    """Takes messages off a stream. ``read`` gives up to so many bytes of it as soon as there are some, and none at its end.

    It is no file object: at the end of the process nobody has to wait for one in which another thread is reading.
    """

    def __init__(self, read: Callable[[int], bytes], longest: int = LONGEST_MESSAGE) -> None:
        self._read = read
        self._longest = longest
        self._ahead = bytearray()

    def read(self) -> Message | InvalidMessage | None:
        """The next message, or what is wrong with it; None at the end of the stream."""
        length = self._length()
        if length is None:
            return None
        if length > self._longest:
            return (
                InvalidMessage(INVALID_REQUEST, f"the message has {length} bytes; the limit is {self._longest}")
                if self._skip(length)
                else None
            )
        while len(self._ahead) < length:
            if not self._more():
                return None
        body = bytes(self._ahead[:length])
        del self._ahead[:length]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return InvalidMessage(PARSE_ERROR, "the message is not JSON")
        if not isinstance(message, dict):
            return InvalidMessage(INVALID_REQUEST, "the message is not an object")
        return message

    def _length(self) -> int | None:
        """What the headers of the next message say of its length; None at the end. What is no header is passed over."""
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
        """The next line, of one that is too long a part; None at the end."""
        while (end := self._ahead.find(b"\n", 0, _LONGEST_HEADER) + 1) == 0 and len(self._ahead) < _LONGEST_HEADER:
            if not self._more():
                return None
        line = bytes(self._ahead[: end or _LONGEST_HEADER])
        del self._ahead[: len(line)]
        return line

    def _skip(self, length: int) -> bool:
        """Read past a message; False at the end of the stream."""
        while len(self._ahead) < length:
            length -= len(self._ahead)
            self._ahead.clear()
            if not self._more():
                return False
        del self._ahead[:length]
        return True

    def _more(self) -> bool:
        block = self._read(_BLOCK)
        self._ahead += block
        return bool(block)


class MessageWriter:
    """Puts messages on a stream, from any thread. A reader that has gone is told to ``lost``, once."""

    def __init__(self, stream: BinaryIO, lost: Callable[[], None]) -> None:
        self._stream = stream
        self._lost = lost
        self._lock = threading.Lock()
        self._is_lost = False

    def write(self, message: Message) -> None:
        # Unpaired surrogates can be written in no other way than escaped, so all that is not ASCII is.
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode("ascii")
        try:
            with self._lock:
                self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._stream.flush()
        except (OSError, ValueError):
            if not self._is_lost:
                self._is_lost = True
                self._lost()


def end_with(process: int, end: Callable[[], None]) -> None:
    """Call ``end`` when the process that started this one is gone, as the protocol asks for. Its pipes usually tell earlier.

    On Windows nothing is done: there the pipes are all that tells, and asking after a process could end it.
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
                return  # No process has such a number.
            except OSError:
                pass  # It is there, and somebody else's.
            time.sleep(_BETWEEN_LOOKS)

    threading.Thread(target=watch, name="parent", daemon=True).start()
