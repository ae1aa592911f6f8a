"""Capabilities that the server registers with the client after the start: watched files, changes of settings, diagnostics of all files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Registrations:
    """The capabilities that are registered with the client, by a name of our own. ``send_request`` sends a request to the client."""

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
