"""What the server sends to the client: responses, requests, notifications, messages to the user, and progress."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, Final

from afflint.lsp import transport
from afflint.lsp.transport import InvalidMessage, Message, MessageWriter, ResponseError

ERROR, WARNING, INFO = 1, 2, 3
"""The types of messages to the user and of lines in the log."""


class _Later:
    """The type of LATER."""


LATER: Final = _Later()
"""The result of a request whose response follows later."""


class ClientConnection:
    """Writes to the client. ``on_closed`` is called once when the client has closed the stream."""

    def __init__(self, outgoing: BinaryIO, on_closed: Callable[[], None]) -> None:
        self._writer = MessageWriter(outgoing, on_closed)
        self._cancelled: set[Any] = set()
        self._callbacks: dict[str, Callable[[Any], None]] = {}
        self._messages_shown: set[str] = set()
        self._requests = 0

    # Requests of the client.

    def cancel(self, identity: Any) -> None:
        """Take note that the client no longer waits for the response to a request. Another thread may call this."""
        self._cancelled.add(identity)

    def reject(self, invalid: InvalidMessage) -> None:
        """Respond to a message that is not valid."""
        self._fail(None, invalid.code, invalid.reason)

    def respond(self, identity: Any, make: Callable[[], Any]) -> None:
        """Respond to a request with the result of ``make``, with the error that it raises, or, if the result is LATER, not yet."""
        if identity in self._cancelled:
            self._cancelled.discard(identity)
            self._fail(identity, transport.REQUEST_CANCELLED, "cancelled")
            return
        try:
            result = make()
        except ResponseError as error:
            self._fail(identity, error.code, str(error))
        except Exception as error:
            self.report_error(traceback.format_exc())
            self._fail(identity, transport.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        else:
            if result is not LATER:
                self._writer.write({"id": identity, "result": result})

    def _fail(self, identity: Any, code: int, message: str) -> None:
        self._writer.write({"id": identity, "error": {"code": code, "message": message}})

    # Requests and notifications of the server.

    def request(self, method: str, params: Any, then: Callable[[Any], None] = lambda _: None) -> None:
        """Send a request; ``then`` is called with the result of its response."""
        self._requests += 1
        identity = f"afflint-{self._requests}"
        self._callbacks[identity] = then
        self._writer.write({"id": identity, "method": method, "params": params})

    def on_response(self, message: Message) -> None:
        """Handle the response to a request of the server."""
        then = self._callbacks.pop(str(message.get("id")), None)
        if then is not None:
            then(message.get("result"))

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._writer.write({"method": method, "params": params})

    # Messages to the user.

    def show_message(self, text: str, kind: int = WARNING) -> None:
        """Show a message to the user, each text only once."""
        if text not in self._messages_shown:
            self._messages_shown.add(text)
            self.notify("window/showMessage", {"type": kind, "message": f"afflint: {text}"})

    def log(self, lines: Iterable[str], kind: int = INFO) -> None:
        """Write one message to the log of the client."""
        text = "\n".join(lines)
        if text:
            self.notify("window/logMessage", {"type": kind, "message": f"afflint: {text}"})

    def report_error(self, text: str) -> None:
        """Report an error of afflint itself: the traceback on standard error, its last line in the log of the client."""
        print(f"afflint: internal error:\n{text}", file=sys.stderr, flush=True)
        self.log([f"internal error: {text.strip().splitlines()[-1]}"], ERROR)


class Progress:
    """The progress of a run, for a client that shows it."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self._runs = 0
        self._token: str | None = None

    def show(self, done: int, total: int) -> None:
        """Show how many files of a run have been read."""
        value: dict[str, Any] = {"percentage": 100 * done // max(total, 1), "message": f"{done} of {total} files"}
        if self._token is None:
            self._runs += 1
            self._token = f"afflint-progress-{self._runs}"
            self._client.request("window/workDoneProgress/create", {"token": self._token})
            value = {"kind": "begin", "title": "Reading manifests", "cancellable": False, **value}
        else:
            value = {"kind": "report", **value}
        self._client.notify("$/progress", {"token": self._token, "value": value})

    def end(self) -> None:
        """Remove the progress of the run."""
        if self._token is not None:
            self._client.notify("$/progress", {"token": self._token, "value": {"kind": "end"}})
            self._token = None


class Registrations:
    """The capabilities that are registered with the client after the start, by a name of our own: watched files, changes of settings.

    ``send_request`` sends a request to the client.
    """

    def __init__(self, send_request: Callable[[str, Any], None]) -> None:
        self._send_request = send_request
        self._registered: dict[str, tuple[str, Any]] = {}
        self._number = 0

    def register(self, name: str, method: str, options: dict[str, Any] | None) -> None:
        """Register a method with these options instead of the previous ones; unregister it for None."""
        identity, before = self._registered.pop(name, ("", None))
        if before is not None and options == before:
            self._registered[name] = identity, before
            return
        if options is not None:
            self._number += 1
            new_identity = f"afflint-{name}-{self._number}"
            self._registered[name] = new_identity, options
            self._send_request(
                "client/registerCapability", {"registrations": [{"id": new_identity, "method": method, "registerOptions": options}]}
            )
        # After the new registration, so that no event is missed. "unregisterations" is the spelling of the protocol.
        if before is not None:
            self._send_request("client/unregisterCapability", {"unregisterations": [{"id": identity, "method": method}]})
