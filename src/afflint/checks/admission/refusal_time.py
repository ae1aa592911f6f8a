"""Whether the object itself is rejected or only the pods created from it, and how messages say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

from afflint.checks.match import Match, Target, takes_target
from afflint.kube.manifests import Manifest, Workload

_STATEFUL_SETS_READ = (1, 34)
_LATE = " (the object is accepted, but every {} created from it is rejected)"

ManifestCheck = Callable[[Manifest, Target], Iterator[Match]]
WorkloadCheck = Callable[[Workload], Iterator[Match]] | Callable[[Workload, Target], Iterator[Match]]


def with_rejection_note(match: Match, stored: bool = True, made: str = "pod") -> Match:
    """Add to a match that the object is accepted (``stored``) and what is created from it (``made``) is rejected."""
    return match._replace(message=match.message + _LATE.format(made)) if stored and not is_rejected_later(match.message) else match


def is_rejected_later(message: str) -> bool:
    """Return whether a message says that the object itself is accepted."""
    before, after = _LATE.split("{}")
    return message.endswith(after) and before in message


def of_workloads(check: WorkloadCheck) -> Callable[[Workload, Target], Iterator[Match]]:
    """Wrap a check of workloads so that matches in a pod spec that the API server does not validate mention the later rejection."""
    function: Callable[..., Iterator[Match]] = check
    with_target = takes_target(check)

    @wraps(check)
    def checked(workload: Workload, target: Target) -> Iterator[Match]:
        found = function(workload, target) if with_target else function(workload)
        # Before 1.34 the API server validated only labels and annotations in the pod template of a StatefulSet.
        if target.version < _STATEFUL_SETS_READ and workload.kind.name == "StatefulSet" and workload.kind.group == "apps":
            return _late_in_pod_spec(found, workload)
        return found

    return checked


def _late_in_pod_spec(found: Iterator[Match], workload: Workload) -> Iterator[Match]:
    depth = len(workload.pod_path)
    for match in found:
        yield with_rejection_note(match, match.path[:depth] == workload.pod_path)
