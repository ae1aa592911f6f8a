"""The events of a disruption in words: ``web-0 stops on n1: n1 fails``."""

from __future__ import annotations

from afflint.placement.plan import ClusterEvent

_NODE_WORDS = {
    "unreachable": "becomes unreachable",
    "cordoned": "is cordoned",
    "ready": "takes pods again",
    "added": "is added",
    "removed": "is removed",
}
_POD_WORDS = {"stopped": "stops on", "scheduled": "is scheduled on", "migrated": "is live-migrated to"}


def event_words(event: ClusterEvent) -> str:
    """Return what an event says in a line."""
    if event.pod is None:
        return f"{event.node} {_NODE_WORDS[event.what]}"
    return f"{event.pod[1]} {_POD_WORDS[event.what]} {event.node}" + (f": {event.cause}" if event.cause else "")
