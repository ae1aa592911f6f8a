"""What the server asks the client for once it knows more than at the start: files to watch, news of settings, pulls for all files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Registrations:
    """What is registered with the client, each under a name of ours. ``ask`` sends a request."""

    def __init__(self, ask: Callable[[str, Any], None]) -> None:
        self._ask = ask
        self._made: dict[str, tuple[str, Any]] = {}
        self._number = 0

    def hold(self, name: str, method: str, options: dict[str, Any] | None) -> None:
        """Have a method registered with these options, in place of those before; not at all for None."""
        identity, before = self._made.pop(name, ("", None))
        if before is not None and options == before:
            self._made[name] = identity, before
            return
        if options is not None:
            self._number += 1
            made = f"afflint-{name}-{self._number}"
            self._made[name] = made, options
            self._ask("client/registerCapability", {"registrations": [{"id": made, "method": method, "registerOptions": options}]})
        if before is not None:  # After the other, so that nothing is missed between; the protocol spells it like that.
            self._ask("client/unregisterCapability", {"unregisterations": [{"id": identity, "method": method}]})
