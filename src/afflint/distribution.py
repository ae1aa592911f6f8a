"""Where afflint can be installed from, for messages about parts that are not installed."""

from __future__ import annotations

ORIGIN = "from its Git repository; there is no release yet"
"""The only place that says where a release is. Documentation: docs/install.md."""


def extra_needed(feature: str, extra: str) -> str:
    """Return the message that a feature needs an extra of the package: what to install, and from where."""
    return f"{feature} needs the extra `{extra}`: install `afflint[{extra}]` {ORIGIN}"
