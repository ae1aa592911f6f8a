"""What a check of a policy looks at: the pods of one template, alone or with what all manifests together tell of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.admission.pod_admission import given_labels, given_tolerations
from afflint.checks.match import CrossManifestMatch, Match
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import NodeRequirement, Pods, asked_of_nodes, migration_of
from afflint.index.policy_candidates import PolicyCandidate
from afflint.kube.constraints import Constraints, constraints_of
from afflint.kube.manifests import Labels, Workload
from afflint.kube.selectors import Selector, conflict, from_labels, matches, parse_label_selector, parse_node_term, requirement_paths
from afflint.yaml.document import maps_at

if TYPE_CHECKING:
    from afflint.admission.pod_admission import PodAdmission
    from afflint.index.facts import Migration
    from afflint.index.manifest_index import ManifestIndex
    from afflint.inventory.topology import KnownTopology
    from afflint.scheduler.namespaces import Namespace

POD_FIELDS = ("nodeName", "schedulerName", "evictionStrategy", "hostNetwork", "architecture")
"""The fields of a pod spec, besides its constraints, that decide where pods may be."""


class Alternative(NamedTuple):
    """Requirements on a node that hold together: the nodeSelector with one of the required terms, or a preference alone."""

    asked: Sequence[NodeRequirement]
    required: bool


def _alternatives(constraints: Constraints) -> Iterator[Alternative]:
    for asked in asked_of_nodes(constraints):
        if not conflict([each.requirement for each in asked]):
            yield Alternative(asked, True)
    for term in constraints.node_terms:
        parsed = None if term.required else parse_node_term(term.data)
        if isinstance(parsed, Selector) and not conflict(parsed.requirements):
            paths = [(*term.path, *path) for path in requirement_paths(term.data)]
            yield Alternative([NodeRequirement(each, path) for each, path in zip(parsed.requirements, paths, strict=True)], False)


class UnevaluatedError(Exception):
    """A check cannot be evaluated for a workload or on these nodes; the message says why. Raised only if ``manifest_index`` is set."""


class PolicySubject:
    """The pods of one template.

    ``manifest_index`` is None in the map step, where only the object itself is known; then ``admission`` is None, too, and ``pods.scale``
    is what the object says, without its autoscaler.
    """

    __slots__ = (
        "_alternatives",
        "_constraints",
        "_node_keys",
        "_operator",
        "_suspect",
        "_workload",
        "admission",
        "kept",
        "known_topology",
        "manifest_index",
        "pods",
    )  # fmt: skip

    def __init__(
        self,
        pods: Pods,
        workload: Workload | None = None,
        policy_candidate: PolicyCandidate | None = None,
        manifest_index: ManifestIndex | None = None,
        known_topology: KnownTopology | None = None,
    ) -> None:
        self.pods = pods
        """What the manifests tell of the pods: their object (``ref``, ``title``, ``site``), labels, number, and more."""
        self.manifest_index = manifest_index
        """All manifests of the run together."""
        self.admission: PodAdmission | None = (
            manifest_index.admission(pods.namespace) if manifest_index is not None and pods.namespace is not None else None
        )
        """What the namespace says about its pods, ``admission.unsure`` where that may not hold; None for nothing."""
        self.known_topology = known_topology
        """The nodes and pools of the run, if it has any."""
        self.kept: dict[str, Any] = {}
        """What checks have worked out, for those that are asked after them."""
        self._workload = workload
        self._suspect = policy_candidate
        self._constraints: Constraints | None = (
            workload.constraints if workload is not None else policy_candidate and policy_candidate.constraints
        )
        self._alternatives: list[Alternative] | None = None
        self._node_keys: frozenset[object] | None = None
        self._operator: Constraints | type[PolicySubject] | None = PolicySubject  # not asked yet

    @property
    def constraints(self) -> Constraints:
        """The constraints of the pods as the manifest has them, with their paths in the document."""
        if self._constraints is None:
            # Of pods that no policy suspects there are those that runs with nodes keep.
            self._constraints = constraints_of(self.pods.spec or {}, self.pod_path)
        return self._constraints

    @property
    def node_keys(self) -> frozenset[object]:
        """The keys of labels, and of fields, that the constraints on nodes mention: most policies about others can stop here."""
        if self._node_keys is None:
            selector = self.constraints.node_selector
            keys: set[object] = set(selector.data) if selector is not None else set()
            for term in self.constraints.node_terms:
                for field in ("matchExpressions", "matchFields"):
                    keys.update(each["key"] for each in maps_at(term.data, field) if type(each.get("key")) is str)
            self._node_keys = frozenset(keys)
        return self._node_keys

    @property
    def node_alternatives(self) -> list[Alternative]:
        """What is asked of a node, for each way to meet it; without what no node can meet, or nobody can read."""
        if self._alternatives is None:
            self._alternatives = list(_alternatives(self.constraints))
        return self._alternatives

    @property
    def operator(self) -> Constraints | None:
        """The constraints with those that an operator adds by itself, whose paths lead nowhere.

        None where nobody knows what it adds. Of pods that no operator makes they are just the constraints.
        """
        if not self.pods.operated:
            return self.constraints
        if self._operator is PolicySubject:
            self._operator = self._suspect.operator if self._suspect is not None else self._with_defaults()
        assert not isinstance(self._operator, type)
        return self._operator

    def _with_defaults(self) -> Constraints | None:
        pod_source = self.pods.pod_source
        if pod_source is None and self._workload is not None:
            from afflint.controllers.operators import operator_pods

            pod_source = operator_pods(self._workload, self.pods.site)
        return None if pod_source is None else constraints_of(dict(pod_source.pod), pod_source.pod_path)

    @property
    def whole(self) -> bool:
        """Whether the manifest has all that its pods have: no patch, no fragment, and no custom resource that nobody knows."""
        if self._suspect is not None:
            return self._suspect.whole and (self.pods.operated or not self.pods.partial)
        return self.pods.operated or not self.pods.partial

    @property
    def pod(self) -> Mapping[str, Any]:
        """The fields of the pod spec in POD_FIELDS, as far as they are there."""
        if self._suspect is not None:
            return self._suspect.pod
        return self._workload.pod if self._workload is not None else self.pods.spec or {}

    @property
    def pod_path(self) -> tuple[str | int, ...]:
        """Where the pod spec stands in the document; of a custom resource, what holds the constraints."""
        if self._suspect is not None:
            return self._suspect.pod_path
        return self._workload.pod_path if self._workload is not None else (*self.pods.template_path, "spec")

    @property
    def object(self) -> dict[str, Any] | None:
        """The whole object, for checks that ask for it in the registry."""
        return self._suspect.object if self._suspect is not None else self._workload.data if self._workload is not None else None

    @property
    def migration(self) -> Migration | None:
        """What keeps a VM from migrating, whatever its eviction strategy; None for what is no VM."""
        if self._suspect is not None:
            return self._suspect.migration
        if self.pods.migration is None and self._workload is not None and self.pods.kubevirt:
            return migration_of(self._workload)
        return self.pods.migration

    @property
    def told_apart(self) -> bool:
        """Whether it is certain which pods of an operator the constraints are about: the catalogue knows the labels of just these.

        Known in the map step only, as is ``beside``.
        """
        from afflint.kube.custom_resources import CustomWorkload

        workload = self._workload
        return isinstance(workload, CustomWorkload) and workload.place is not None and workload.place.labelled

    @property
    def beside(self) -> list[Constraints]:
        """The constraints that stand elsewhere in the same custom resource."""
        from afflint.kube.custom_resources import custom_workloads

        workload = self._workload
        if workload is None or not self.pods.operated:
            return []
        every = custom_workloads(workload.document, workload.data, workload.base, {}, [])
        return [each.constraints for each in every if each.pod_path != workload.pod_path]

    @property
    def own_labels(self) -> Labels | None:
        """The labels by which their controller selects the pods and no others, where it says so as plainly as that, and they have them.

        Known in the map step only.
        """
        if self._workload is None or self._workload.kind.selector is None:
            return None
        said = self._workload.spec.get("selector")
        if self._workload.kind.selector != "map":
            said = said["matchLabels"] if type(said) is dict and said.keys() == {"matchLabels"} else None
        labels = self._workload.template_labels
        return said if type(said) is dict and all(labels.get(key) == value for key, value in said.items()) else None

    @property
    def selector(self) -> Selector | None:
        """By which their controller selects the pods; None where it does not say."""
        if self._suspect is not None:
            return self._suspect.selector
        if self._workload is None or self._workload.kind.selector is None:
            return None
        data = self._workload.spec.get("selector")
        parsed = from_labels(data) if self._workload.kind.selector == "map" else parse_label_selector(data)
        return parsed if isinstance(parsed, Selector) else None

    # What it is called, and what it carries.

    @property
    def kind(self) -> str:
        return self.pods.ref.kind or ""

    @property
    def group(self) -> str:
        return (self.pods.ref.api_version or "").rpartition("/")[0]

    @property
    def title(self) -> str:
        """``Deployment web``."""
        return self.pods.title

    @property
    def labels(self) -> Labels:
        """The labels of the object with those that all of its pods have on top."""
        return {**self.pods.labels, **self.pods.pod_labels.certain}

    def is_labelled(self, selector: Selector) -> bool:
        """Whether these labels are matched."""
        pods = self.pods
        for label in pods.added.labels:
            for each in selector.requirements:
                if each.key == label.key:
                    return matches(selector, self.labels)
        return matches(selector, {**pods.labels, **pods.template_labels})

    @property
    def from_cluster(self) -> bool:
        """Whether a cluster gave the object out, with what it added."""
        if self._suspect is not None:
            return self._suspect.from_cluster
        return self._workload is not None and self._workload.from_cluster

    @property
    def labels_added(self) -> tuple[str, ...]:
        """The keys of labels that kustomizations put on the pods, whatever the manifest says."""
        return self._suspect.labels_added if self._suspect is not None else ()

    @property
    def namespace(self) -> Namespace | None:
        """The namespace with its labels, as its manifest has them; None where there is none, or several that differ."""
        name = self.pods.namespace
        if self.manifest_index is None or name is None or name in self.manifest_index.ambiguous:
            return None
        return self.manifest_index.namespaces.get(name)

    @property
    def given_labels(self) -> dict[str, str]:
        """The labels that the namespace surely adds to the nodeSelector of its pods."""
        return {} if self.admission is None or self.admission.unsure else given_labels(self.admission)

    @property
    def given_tolerations(self) -> list[dict[str, Any]]:
        """The tolerations that the namespace surely gives to its pods."""
        return [] if self.admission is None or self.admission.unsure else given_tolerations(self.admission)

    # What comes of it.

    def at(self, match: Match) -> CrossManifestMatch:
        """A match in the object, for checks that are about all workloads together."""
        return CrossManifestMatch(self.pods.site, self.pods.ref, match)

    def suspected_by(self, policies: tuple[str, ...], *, with_object: bool) -> PolicyCandidate:
        """What goes on to the reduce step."""
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
        )
