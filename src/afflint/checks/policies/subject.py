"""The input of a policy's check: the pods of one template, alone or with the facts from all manifests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from afflint.admission.pod_admission import given_labels, given_tolerations
from afflint.checks.match import CrossManifestMatch, Match
from afflint.constraints.nodes import Alternative, NodeConstraints, parse_node_constraints
from afflint.controllers.rollouts import revision_label
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Pods, PolicyCandidate, migration_of
from afflint.kube.constraints import Constraints, constraints_of
from afflint.kube.selector_algebra import conflict
from afflint.kube.selectors import Selector, from_labels, matches, parse_label_selector
from afflint.manifests.manifest import Labels, Workload
from afflint.yaml.document import map_at

if TYPE_CHECKING:
    from afflint.admission.pod_admission import PodAdmission
    from afflint.checks.topology import KnownTopology
    from afflint.index.facts import Migration
    from afflint.index.manifest_index import ManifestIndex
    from afflint.scheduler.namespaces import Namespace

POD_FIELDS = ("nodeName", "schedulerName", "evictionStrategy", "hostNetwork", "architecture", "priorityClassName")
"""The fields of a pod spec that affect placement, besides its constraints."""


class NodeChoice(NamedTuple):
    """Requirements on a node that must be met together: those of a required alternative, or of a preference alone."""

    asked: Alternative
    required: bool


class UnevaluatedError(Exception):
    """Raised if a check cannot be evaluated for a workload or on these nodes; the message is the reason.

    Raised only if ``manifest_index`` is set.
    """


class PolicySubject:
    """The pods of one template.

    ``manifest_index`` is None in the map step, where only the object itself is known; then ``admission`` is None, too, and ``pods.scale``
    is the scale of the object without its autoscaler.
    """

    def __init__(
        self,
        pods: Pods,
        workload: Workload | None = None,
        policy_candidate: PolicyCandidate | None = None,
        manifest_index: ManifestIndex | None = None,
        known_topology: KnownTopology | None = None,
    ) -> None:
        self.pods = pods
        """The facts about the pods: their object (``ref``, ``title``, ``site``), labels, number, and more."""
        self.manifest_index = manifest_index
        """The index of all manifests of the run."""
        self.admission: PodAdmission | None = (
            manifest_index.admission(pods.namespace) if manifest_index is not None and pods.namespace is not None else None
        )
        """The settings of the namespace for its pods, ``admission.uncertainty`` if they may not apply; None without any."""
        self.known_topology = known_topology
        """The nodes and pools of the run, if it has any."""
        self.cache: dict[str, Any] = {}
        """Results of checks, cached for other checks of the same pods."""
        self._workload = workload
        self._candidate = policy_candidate

    @cached_property
    def constraints(self) -> Constraints:
        """The constraints of the pods in the manifest, with their paths in the document."""
        if self._workload is not None:
            return self._workload.constraints
        if self._candidate is not None:
            return self._candidate.constraints
        # For pods that are not a policy candidate, a run with nodes stores the spec.
        return constraints_of(self.pods.spec or {}, self.pod_path)

    @cached_property
    def nodes(self) -> NodeConstraints:
        """The parsed node constraints of the pods in the manifest."""
        return parse_node_constraints(self.constraints)

    @cached_property
    def node_alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives of the required node constraints in the manifest."""
        return self.nodes.alternatives

    @cached_property
    def node_keys(self) -> frozenset[str]:
        """The keys of the labels and fields that node constraints use: policies about other keys need not look further."""
        terms = (*self.node_alternatives, *[term.requirements for term in self.nodes.preferences])
        return frozenset([each.requirement.key for term in terms for each in term])

    @cached_property
    def node_choices(self) -> list[NodeChoice]:
        """The alternatives and preferences for nodes, without those that no node can meet or that cannot be parsed."""
        choices = [NodeChoice(each, True) for each in self.node_alternatives]
        choices += [NodeChoice(term.requirements, False) for term in self.nodes.preferences]
        return [each for each in choices if not conflict([asked.requirement for asked in each.asked])]

    @cached_property
    def operator(self) -> Constraints | None:
        """The constraints with those that the operator adds by itself, whose paths do not exist in the document.

        None if it is unknown what the operator adds. Without an operator they are the constraints of the manifest.
        """
        if not self.pods.operated:
            return self.constraints
        if self._candidate is not None:
            return self._candidate.operator
        pod_source = self.pods.pod_source
        if pod_source is None and self._workload is not None:
            from afflint.controllers.operators import operator_pods

            pod_source = operator_pods(self._workload, self.pods.site)
        return None if pod_source is None else constraints_of(dict(pod_source.pod), pod_source.pod_path)

    @property
    def whole(self) -> bool:
        """Whether the manifest has all fields of its pods: not a patch, a fragment, or a custom resource of an unknown kind."""
        if self._candidate is not None:
            return self._candidate.whole and (self.pods.operated or not self.pods.partial)
        return self.pods.operated or not self.pods.partial

    @property
    def pod(self) -> Mapping[str, Any]:
        """The fields of the pod spec in POD_FIELDS that are set."""
        if self._candidate is not None:
            return self._candidate.pod
        return self._workload.pod if self._workload is not None else self.pods.spec or {}

    @property
    def pod_path(self) -> tuple[str | int, ...]:
        """The path of the pod spec in the document; for a custom resource, of the map that contains the constraints."""
        if self._candidate is not None:
            return self._candidate.pod_path
        return self._workload.pod_path if self._workload is not None else (*self.pods.template_path, "spec")

    @property
    def object(self) -> dict[str, Any] | None:
        """The complete object, for checks whose registry entry requests it."""
        return self._candidate.object if self._candidate is not None else self._workload.data if self._workload is not None else None

    @property
    def sets_replicas(self) -> bool:
        """Whether the manifest sets ``spec.replicas``; known only in the reduce step."""
        return self._candidate is not None and self._candidate.sets_replicas

    @property
    def migration(self) -> Migration | None:
        """The obstacles to the migration of a VM, whatever its eviction strategy; None for other objects."""
        if self._candidate is not None:
            return self._candidate.migration
        if self.pods.migration is None and self._workload is not None and self.pods.kubevirt:
            return migration_of(self._workload)
        return self.pods.migration

    @property
    def has_certain_pods(self) -> bool:
        """Whether it is certain which pods of an operator the constraints apply to: the catalogue has the labels of exactly these.

        Known only in the map step, like ``constraints_elsewhere``.
        """
        from afflint.manifests.custom_resources import CustomWorkload

        workload = self._workload
        return isinstance(workload, CustomWorkload) and workload.place is not None and workload.place.labelled

    @property
    def constraints_elsewhere(self) -> list[Constraints]:
        """The constraints elsewhere in the same custom resource."""
        from afflint.manifests.custom_resources import custom_workloads

        workload = self._workload
        if workload is None or not self.pods.operated:
            return []
        every = custom_workloads(workload.document, workload.data, workload.base, {}, [], [])
        return [each.constraints for each in every if each.pod_path != workload.pod_path]

    @property
    def own_labels(self) -> Labels | None:
        """The labels by which their controller selects the pods, if the selector has nothing else and the pods have these labels.

        Known only in the map step.
        """
        if self._workload is None or self._workload.kind.selector is None:
            return None
        selector = self._workload.spec.get("selector")
        if self._workload.kind.selector != "map":
            selector = selector["matchLabels"] if type(selector) is dict and selector.keys() == {"matchLabels"} else None
        labels = self._workload.template_labels
        return selector if type(selector) is dict and all(labels.get(key) == value for key, value in selector.items()) else None

    @property
    def selector(self) -> Selector | None:
        """The selector by which their controller selects the pods, or None if it does not have one."""
        if self._candidate is not None:
            return self._candidate.selector
        if self._workload is None or self._workload.kind.selector is None:
            return None
        data = self._workload.spec.get("selector")
        parsed = from_labels(data) if self._workload.kind.selector == "map" else parse_label_selector(data)
        return parsed if isinstance(parsed, Selector) else None

    # The names and labels of the object.

    @property
    def kind(self) -> str:
        return self.pods.ref.kind or ""

    @property
    def group(self) -> str:
        return (self.pods.ref.api_version or "").rpartition("/")[0]

    @property
    def title(self) -> str:
        """The name of the object in messages, such as ``Deployment web``."""
        return self.pods.title

    @property
    def labels(self) -> Labels:
        """The labels of the object, overridden by those that all of its pods have."""
        return {**self.pods.labels, **self.pods.pod_labels.certain}

    def is_labelled(self, selector: Selector) -> bool:
        """Return whether the selector matches the labels of the object or its pods."""
        pods = self.pods
        for label in pods.added.labels:
            for each in selector.requirements:
                if each.key == label.key:
                    return matches(selector, self.labels)
        return matches(selector, {**pods.labels, **pods.template_labels})

    @property
    def from_cluster(self) -> bool:
        """Whether the object was exported from a cluster."""
        if self._candidate is not None:
            return self._candidate.from_cluster
        return self._workload is not None and self._workload.from_cluster

    @property
    def labels_added(self) -> tuple[str, ...]:
        """The keys of labels that kustomizations add to the pods."""
        return self._candidate.labels_added if self._candidate is not None else ()

    @property
    def namespace(self) -> Namespace | None:
        """The namespace with its labels from its manifest; None if it has no manifest, or several that differ."""
        name = self.pods.namespace
        if self.manifest_index is None or name is None or name in self.manifest_index.ambiguous:
            return None
        return self.manifest_index.namespaces.get(name)

    @property
    def revision_label(self) -> str:
        """The label that distinguishes the pods of two revisions that a rollout runs at the same time; empty if it runs one at a time."""
        if self._candidate is not None:
            return self._candidate.revision_label
        if self._workload is not None:
            return revision_label(self._workload.kind.name, map_at(self._workload.spec, "strategy"))
        pod_source = self.pods.pod_source
        return revision_label(pod_source.kind, pod_source.strategy) if pod_source is not None else ""

    @property
    def given_labels(self) -> dict[str, str]:
        """The labels that the namespace certainly adds to the nodeSelector of its pods."""
        return {} if self.admission is None or self.admission.uncertainty else given_labels(self.admission)

    @property
    def given_tolerations(self) -> list[dict[str, Any]]:
        """The tolerations that the namespace certainly adds to its pods."""
        return [] if self.admission is None or self.admission.uncertainty else given_tolerations(self.admission)

    def at(self, match: Match) -> CrossManifestMatch:
        """Return a match in the object as the result of a check of all workloads together."""
        return CrossManifestMatch(self.pods.site, self.pods.ref, match)

    def candidate_for(self, policies: tuple[str, ...], *, with_object: bool) -> PolicyCandidate:
        """Return the data that the reduce step needs to decide these policies."""
        workload = self._workload
        assert workload is not None
        return PolicyCandidate(
            self.pods.site,
            self.pods.template_path,
            workload.pod_path,
            policies,
            self.whole,
            self.constraints,
            self.operator,
            {field: workload.pod[field] for field in POD_FIELDS if field in workload.pod},
            self.migration,
            workload.data if with_object else None,
            self.selector,
            self.from_cluster,
            sets_replicas=workload.spec.get("replicas") is not None,
            revision_label=self.revision_label,
        )
