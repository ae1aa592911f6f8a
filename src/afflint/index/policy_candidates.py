"""What goes from the map step to the reduce step of pods that policies may have to refuse. Only in runs with policies."""

from typing import Any

from afflint.findings.finding import Path, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Migration
from afflint.kube.constraints import Constraints
from afflint.kube.selectors import Selector


class PolicyCandidate(NamedTuple):
    """Pods of one template with which some ``policies``, by their names, may not be content, and what their checks look at.

    ``whole`` is False for a patch or a fragment. ``pod`` are the other fields of the pod spec that place pods. ``operator`` are the
    constraints with those that an operator adds by itself, None if these are unknown; of what no operator makes the same.
    """

    site: Site
    template_path: Path
    pod_path: Path
    policies: tuple[str, ...]
    whole: bool
    constraints: Constraints
    operator: Constraints | None
    pod: dict[str, Any]
    migration: Migration | None = None
    """Of a VM, whatever its eviction strategy."""
    object: dict[str, Any] | None = None
    """The whole object, for checks that ask for it."""
    selector: Selector | None = None
    """By which their controller selects them; None where it does not say."""
    from_cluster: bool = False
    """Whether a cluster gave the object out, with what it added."""
    labels_added: tuple[str, ...] = ()
    """The keys of labels that kustomizations put on the pods."""
