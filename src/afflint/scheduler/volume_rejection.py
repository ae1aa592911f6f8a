"""Why a plugin for volumes rejects a pod: for one node, or as a whole."""

from __future__ import annotations

from afflint.findings.namedtuples import NamedTuple


class VolumeRejection(NamedTuple):
    """The plugin that rejects a pod, its messages, and whether the eviction of other pods cannot help (``unresolvable``)."""

    plugin: str
    messages: tuple[str, ...]
    unresolvable: bool
