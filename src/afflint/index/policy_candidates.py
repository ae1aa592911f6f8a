"""Policy candidates, which the map step passes to the reduce step. Only in runs with policies."""

from typing import Any

from afflint.findings.finding import Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.index.facts import Migration
from afflint.kube.constraints import Constraints
from afflint.kube.selectors import Selector


class PolicyCandidate(NamedTuple):
    """The pods of one template that may violate some ``policies`` (their names), with the data that policy checks read.

    ``whole`` is False for a patch or a fragment. ``pod`` has the other placement fields of the pod spec. ``operator`` has the
    constraints with those that an operator adds, None if these are unknown; without an operator it equals ``constraints``.
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
    """For a virtual machine, with any eviction strategy."""
    object: dict[str, Any] | None = None
    """The complete object, for checks that need it."""
    selector: Selector | None = None
    """The selector of their controller; None if it does not have one."""
    from_cluster: bool = False
    """Whether the object was exported from a cluster, with the fields that the cluster added."""
    labels_added: tuple[str, ...] = ()
    """The keys of the labels that kustomizations add to the pods."""
