"""Whether the object itself is rejected or only the pods created from it, and how messages say so."""

from __future__ import annotations

from afflint.checks.match import Match, Target
from afflint.manifests.manifest import Workload

_STATEFUL_SETS_READ = (1, 34)
_LATE = " (the object is accepted, but every {} created from it is rejected)"


def with_rejection_note(match: Match, stored: bool = True, made: str = "pod") -> Match:
    """Add to a match that the object is accepted (``stored``) and what is created from it (``made``) is rejected."""
    return match._replace(message=match.message + _LATE.format(made)) if stored and not is_rejected_later(match.message) else match


def is_rejected_later(message: str) -> bool:
    """Return whether a message says that the object itself is accepted."""
    before, after = _LATE.split("{}")
    return message.endswith(after) and before in message


def accepts_invalid_pods(workload: Workload, target: Target) -> bool:
    """Return whether the API server accepts the object without validating its pod spec, other than labels and annotations."""
    return target.version < _STATEFUL_SETS_READ and workload.kind.name == "StatefulSet" and workload.kind.group == "apps"


def with_note_in_pod_spec(match: Match, workload: Workload) -> Match:
    """Add the note to a match in the pod spec of an accepted object."""
    return with_rejection_note(match, match.path[: len(workload.pod_path)] == workload.pod_path)
