"""The facts of one manifest that others may depend on: pods with their labels, and selectors with their scope.

Facts are collected in the map step, are sent between processes, and are all that the checks across manifests see.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from afflint.constraints.nodes import Alternative, node_constraints
from afflint.constraints.pods import PodAffinityTerm, TopologySpreadConstraint, pod_constraints
from afflint.controllers.pod_labels import NOTHING, ControllerContext, PodLabels, controller_context, pod_labels
from afflint.controllers.replica_counts import ReplicaRange, pod_count
from afflint.findings.finding import NO_FILE, FileId, Folder, ObjectRef, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.added_labels import OF_ANY_POD, FormerLabel, is_one_of
from afflint.kube.constraints import REQUIRED, Constraints
from afflint.kube.kinds import MIGRATION_POLICY, NODE_MAINTENANCE
from afflint.kube.selectors import EVERYTHING, NAMESPACE_NAME, Malformed, Parsed, Selector, parse_label_selector
from afflint.kube.single_host import pinned_host
from afflint.kube.taints import Toleration, readable_tolerations
from afflint.manifests.manifest import LABELLED, Labels, Manifest, Workload
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import kind_of
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.controllers.budgets import Budget
    from afflint.controllers.migratability import Obstacle
    from afflint.controllers.pod_source import PodSource
    from afflint.index.cluster_objects import KubeVirtObject, MaintenanceObject, NamespaceAnnotations, Scaler, Unusable
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.index.scheduler_configurations import SchedulerConfiguration
    from afflint.index.storage import StorageObject, VolumeUser
    from afflint.pools.pool import Pool, PoolPart
    from afflint.scheduler.namespaces import Namespace, Service

REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY = "required podAntiAffinity", "preferred podAntiAffinity"
REQUIRED_AFFINITY, PREFERRED_AFFINITY = "required podAffinity", "preferred podAffinity"
SPREAD = "topologySpreadConstraint"
BUDGET_SELECTOR = "PodDisruptionBudget selector"


PodsKey = tuple[Site, Path]
"""The site of an object and the path of one of its templates."""


class Migration(NamedTuple):
    """The live migration of a virtual machine when its node is drained. ``pin``: the one host that it is required to run on, if any.

    ``obstacles`` prevent migration unless the KubeVirt resource or its claims allow it. ``strategy`` is the eviction strategy, None for
    the default of the cluster. ``instancetype`` is the kind and the name of the instance type that the virtual machine refers to.
    """

    pin: tuple[Path, str] | None
    obstacles: "tuple[Obstacle, ...]" = ()
    strategy: str | None = None
    instancetype: tuple[str, str] | None = None


class MachineSpec(NamedTuple):
    """What a virtual machine sets of what its instance type or the KubeVirt resource may contradict; ``spec`` has the form of its pod spec.

    ``instancetype`` is the kind and the name of the instance type, None without one.
    """

    instancetype: tuple[str, str] | None
    spec: dict[str, Any]


class Pods(NamedTuple):
    """The pods of one template of a workload. ``namespace`` is None if the manifest does not set it.

    ``labels`` are those of the object, ``template_labels`` those that the pods certainly get. ``labels_known`` is False if they may get
    other labels: the manifest is partial, or contains placeholders.
    """

    site: Site
    ref: ObjectRef
    title: str
    kubevirt: bool
    namespace: str | None
    labels: Labels
    template_labels: Labels
    template_path: Path
    has_own_template: bool
    partial: bool
    scale: ReplicaRange
    """The number of pods: the replicas of the manifest, and in the index the range of an autoscaler."""
    labels_known: bool = True
    application: str | None = None
    """The application in the labels of the object."""
    migration: Migration | None = None
    added: ControllerContext = NOTHING
    """The values from which controllers derive labels of the pods."""
    spec: dict[str, Any] | None = None
    """The placement fields of the pod spec; in runs without nodes only those that a namespace may contradict, None without any."""
    operated: bool = False
    """Whether an operator creates the pods, with labels that the manifest does not contain."""
    other_labels: tuple[str, ...] | None = None
    """The keys of the labels that the pods of an operator may have besides the known ones; None if they may have any."""
    former_labels: tuple[FormerLabel, ...] = ()
    """The labels that only older versions of the operator set on the pods."""
    pod_source: "PodSource | None" = None
    """The workload for scheduling; only in runs that have nodes, and None for an object that does not create pods by itself."""
    machine: MachineSpec | None = None
    """For a virtual machine with an instance type or host devices."""
    asks: tuple[Alternative, ...] = ()
    """For pods of operators, the requirements of each alternative of the node constraints; only in runs that have nodes."""

    def never_have(self, key: str) -> bool:
        """Return whether an operator creates the pods, and certainly without a label with this key."""
        if self.other_labels is None or key in self.template_labels or any(key == label.key for label in self.added.labels):
            return False
        return not any(is_one_of(key, keys) for keys in (self.other_labels, OF_ANY_POD))

    @property
    def pod_labels(self) -> PodLabels:
        """All labels of the pods, which selectors are matched with."""
        return PodLabels(self.template_labels, self.added)

    @property
    def merged_labels(self) -> Labels:
        """The labels that the pods would have if the template had those of the object as well."""
        return {**self.labels, **self.template_labels}

    def with_site(self, site: Site) -> "Pods":
        """Return the same pods at another site."""
        moved = Pods(site, *self[1:])
        return moved if self.pod_source is None else moved._replace(pod_source=self.pod_source.with_site(site))

    @property
    def key(self) -> PodsKey:
        """The identity of these pods: an object may have several templates."""
        return self.site, self.template_path


class SelectorRef(NamedTuple):
    """A selector of pods. ``namespaces``: the names of its namespaces, () for that of the object; ``everywhere``: others as well.

    ``namespace_selector`` selects these others: all of them if it is empty.
    """

    site: Site
    ref: ObjectRef
    title: str
    what: str
    path: Path
    namespace: str | None
    namespaces: tuple[str, ...]
    everywhere: bool
    selector: Selector
    topology_key: str | None
    template_path: Path | None = None
    """The template that contains the term; None for the selectors of objects without pods."""
    application: str | None = None
    max_skew: int | None = None
    """Only for a required spread constraint."""
    namespace_selector: Selector | None = None

    @property
    def is_required(self) -> bool:
        """Whether it has no effect, or blocks pods, if it selects no pods; preferences, NetworkPolicies and soft spreads do not."""
        return self.what in _REQUIRED or (self.what == SPREAD and self.max_skew is not None)

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The namespaces that it covers; None if the manifest does not show them, so that it may cover any."""
        if self.everywhere:
            return None
        if self.namespaces:
            return self.namespaces
        return None if self.namespace is None else (self.namespace,)


class NodeDemand(NamedTuple):
    """Node constraints in values of a chart, or in a custom resource that only its shape explains. It is unknown which pods get them."""

    site: Site
    ref: ObjectRef
    title: str
    alternatives: tuple[Alternative, ...]
    tolerations: tuple[Toleration, ...] = ()


class ValueTerm(NamedTuple):
    """An anti-affinity in the values of a release. ``names`` are those that its pods may have.

    ``lone``: it has several pods, and nothing else separates them.
    """

    site: Site
    ref: ObjectRef
    title: str
    what: str
    path: Path
    selector: Selector
    topology_key: str | None
    names: tuple[str, ...]
    lone: bool


class PolicyCandidate(NamedTuple):
    """The pods of one template that may violate some ``policies`` (their names), with the data that policy checks read.

    The map step passes it to the reduce step, only in runs with policies. ``whole`` is False for a patch or a fragment. ``pod`` has the
    other placement fields of the pod spec. ``operator`` has the constraints with those that an operator adds, None if these are unknown;
    without an operator it equals ``constraints``.
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
    sets_replicas: bool = False
    """Whether the manifest sets ``spec.replicas``."""
    revision_label: str = ""
    """The label that distinguishes the pods of two revisions that a rollout runs at the same time; empty if it runs one at a time."""


class Facts(NamedTuple):
    """All facts of one file."""

    pods: tuple[Pods, ...] = ()
    selector_refs: tuple[SelectorRef, ...] = ()
    namespaces: tuple["Namespace", ...] = ()
    kubevirt: tuple["KubeVirtObject", ...] = ()
    """The KubeVirt and HyperConverged resources, instance types and preferences, and the claims of disks."""
    about_pods: tuple["NamespaceAnnotations", ...] = ()
    scalers: tuple["Scaler", ...] = ()
    services: tuple["Service", ...] = ()
    """Only in runs that have nodes."""
    budgets: tuple["Budget", ...] = ()
    unusable: tuple["Unusable", ...] = ()
    holds_nodes: bool = False
    """Whether the file contains nodes, in every run."""
    pools: "tuple[Pool, ...]" = ()
    """The node pools of the file, in every run."""
    pool_parts: "tuple[PoolPart, ...]" = ()
    """Objects that complete node pools of this or other files."""
    policy_candidates: tuple[PolicyCandidate, ...] = ()
    """Only in runs that have policies."""
    demands: tuple[NodeDemand, ...] = ()
    """Only in runs that have nodes."""
    value_terms: tuple[ValueTerm, ...] = ()
    storage: tuple["StorageObject", ...] = ()
    """The PersistentVolumes, claims, DataVolumes and StorageClasses of the file."""
    volume_users: tuple["VolumeUser", ...] = ()
    """The workloads whose pods use claims."""
    maintenance: tuple["MaintenanceObject", ...] = ()
    """The MigrationPolicies and NodeMaintenances of the file."""
    schedulers: tuple["SchedulerConfiguration", ...] = ()
    """The configurations of kube-scheduler in the file."""
    mutating: tuple["MutatingPolicy", ...] = ()
    """The mutating policies of the file, by what their rules may set."""

    def of_file(self, file: FileId, folder: Folder) -> "Facts":
        """Return the same facts with this file in every site."""
        sites: dict[Site, Site] = {}

        def stamped(site: Site) -> Site:
            if site not in sites:
                sites[site] = Site(file, site.document, site.base, folder)
            return sites[site]

        pods = tuple([pods.with_site(stamped(pods.site)) for pods in self.pods])
        selector_refs = tuple([SelectorRef(stamped(ref.site), *ref[1:]) for ref in self.selector_refs])
        if not any(_OTHERS(self)):
            return Facts(pods, selector_refs, *self[2:])  # The common case.
        others = {field: facts for field in _WITH_SITES if (facts := getattr(self, field))}
        moved: dict[str, Any] = {
            field: tuple([each._replace(site=stamped(each.site)) for each in facts]) for field, facts in others.items()
        }
        return self._replace(
            pods=pods, selector_refs=selector_refs, about_pods=tuple([each.with_sites(stamped) for each in self.about_pods]), **moved
        )

    def of_patches(self) -> "Facts":
        """Return the same facts for a file of patches for objects in other files: it creates no pods."""
        return self._replace(
            pods=tuple([each._replace(pod_source=None, partial=True, labels_known=False, other_labels=None) for each in self.pods]),
            budgets=(),
            unusable=(),
            storage=(),
            volume_users=(),
            maintenance=(),
            policy_candidates=tuple([each._replace(whole=False) for each in self.policy_candidates]),
        )


Fact: TypeAlias = (
    "Pods | SelectorRef | NodeDemand | ValueTerm | PolicyCandidate | Namespace | Service | Budget | KubeVirtObject | NamespaceAnnotations"
    " | Scaler | Unusable | StorageObject | VolumeUser | MaintenanceObject | Pool | PoolPart | SchedulerConfiguration | MutatingPolicy"
)

_FIELDS = {
    "Pods": "pods", "SelectorRef": "selector_refs", "Namespace": "namespaces", "KubeVirtObject": "kubevirt",
    "NamespaceAnnotations": "about_pods", "Scaler": "scalers", "Service": "services", "Budget": "budgets",
    "Unusable": "unusable", "Pool": "pools", "PoolPart": "pool_parts",
    "PolicyCandidate": "policy_candidates", "NodeDemand": "demands", "ValueTerm": "value_terms",
    "StorageObject": "storage", "VolumeUser": "volume_users",
    "MaintenanceObject": "maintenance", "SchedulerConfiguration": "schedulers", "MutatingPolicy": "mutating",
}  # fmt: skip
"""The field of ``Facts`` that has the facts of a type, by the name of the type. Most types are imported only where such facts are found."""
_WITH_SITES = (
    "scalers", "pools", "pool_parts", "policy_candidates", "demands", "value_terms", "storage", "volume_users", "maintenance", "schedulers",
    "mutating",
)  # fmt: skip
"""The other fields whose facts have a site."""
_OTHERS = attrgetter("about_pods", *_WITH_SITES)
_ORDERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("pods", "selector_refs", "maintenance", "demands"), attrgetter("site")),
    "policy_candidates": attrgetter("site", "template_path"),
}
"""The order of the facts of a run; all others are in the order of their files."""


def facts_of_file(facts: Iterable[Fact], *, holds_nodes: bool) -> Facts:
    """Return the facts of one file."""
    found: dict[str, list[Any]] = {}
    for each in facts:
        found.setdefault(_FIELDS[type(each).__name__], []).append(each)
    return Facts(holds_nodes=holds_nodes, **{field: tuple(each) for field, each in found.items()})


def facts_of_run(files: Iterable[Facts]) -> Facts:
    """Return the facts of several files together."""
    found = dict(zip(Facts._fields, zip(*files, strict=True), strict=False))  # Without files, it is empty.
    holds_nodes = any(found.pop("holds_nodes", ()))
    kept: dict[str, Iterable[Any]] = {field: chain.from_iterable(facts) for field, facts in found.items()}
    kept |= {field: sorted(kept[field], key=order) for field, order in _ORDERS.items() if field in kept}
    return Facts(holds_nodes=holds_nodes, **{field: tuple(facts) for field, facts in kept.items()})


def facts_of(manifest: Manifest, *, with_spec: bool = False, resources: bool = False, lines: bool = False) -> Iterator[Fact]:
    """Yield the facts of one object.

    They include the placement fields of its pods with ``with_spec``, their requests with ``resources``, and the line of the object with
    ``lines``.
    A malformed selector yields nothing, because admission rules report it. The sites do not have a file yet: see ``Facts.of_file``.
    """
    site = Site(NO_FILE, manifest.document.index, manifest.base)
    if isinstance(manifest, Workload):
        if not manifest.creates_pods:
            if with_spec and manifest.operated:
                yield from demands_of(manifest)
            if manifest.kind.name == "HelmRelease" and manifest.constraints.pod_terms:
                from afflint.charts.releases import names_and_replicas

                names, several = names_and_replicas(manifest)
                yield from _value_terms(manifest, site, names, lone=several and not manifest.constraints.spreads)
            return
        if manifest.pod or manifest.template or manifest.operated:
            pods = _pods(manifest, site)
            if with_spec and manifest.operated:
                from afflint.controllers.operators import operator_pods

                yield pods._replace(pod_source=operator_pods(manifest, site, resources=resources, lines=lines), asks=_asks(manifest))
                yield from [each._replace(alternatives=()) for each in demands_of(manifest) if each.tolerations]
            else:
                yield from _with_spec(pods, manifest, resources=resources, lines=lines) if with_spec else (pods,)
        yield from _workload_reaches(manifest, site)
        if "volumes" in manifest.pod or "volumeClaimTemplates" in manifest.spec:
            from afflint.index.storage import volume_user

            user = volume_user(manifest, site)
            if user is not None:
                yield user
    elif not manifest.kind.templates and not manifest.operated:
        if manifest.kind.name in _EVIDENCE:
            yield from _evidence(manifest, site)
        # Without a name it is a fragment, which another tool completes.
        if manifest.ref.name is not None and (
            manifest.kind.name in ("Namespace", "PodDisruptionBudget") or (with_spec and manifest.kind.name == "Service")
        ):
            from afflint.index.cluster_objects import object_of

            yield object_of(manifest)
        if manifest.ref.name is not None and manifest.kind.name in _ABOUT_PODS:
            from afflint.index.cluster_objects import namespace_annotations

            yield from namespace_annotations(manifest, site)
        elif manifest.ref.name is not None and manifest.kind.name in SCALERS:
            from afflint.index.cluster_objects import scalers

            yield from scalers(manifest, site)
        elif manifest.ref.name is not None and manifest.kind.name in _OF_KUBEVIRT:
            from afflint.index.cluster_objects import kubevirt_object

            yield kubevirt_object(manifest)
        elif manifest.ref.name is not None and manifest.kind.name in (MIGRATION_POLICY, NODE_MAINTENANCE):
            from afflint.index.cluster_objects import maintenance_object

            yield maintenance_object(manifest, site)
        elif manifest.ref.name is not None and manifest.kind.name in _OF_STORAGE:
            from afflint.index.storage import storage_object

            yield storage_object(manifest, site)


def demands_of(workload: Workload) -> Iterator[NodeDemand]:
    """Yield the node constraints of a custom resource or of values, unless a switch ``enabled: false`` above them turns them off."""
    alternatives, tolerations = _asks(workload), readable_tolerations([each.data for each in workload.constraints.tolerations])
    if (alternatives or tolerations) and not _is_disabled(workload):
        site = Site(NO_FILE, workload.document.index, workload.base)
        yield NodeDemand(site, workload.ref, workload.title(), alternatives, tolerations)


def _value_terms(workload: Workload, site: Site, names: tuple[str, ...], *, lone: bool) -> Iterator[ValueTerm]:
    terms = pod_constraints(workload).terms
    for term in terms:
        selector = term.label_selector
        if term.anti and isinstance(selector, Selector) and not (term.namespaces or term.namespace_selector or term.has_label_keys):
            path = (*term.path, "labelSelector")
            is_lone = lone and len(terms) == 1
            yield ValueTerm(site, workload.ref, workload.title(), term.name, path, selector, term.topology_key, names, is_lone)


def _is_disabled(workload: Workload) -> bool:
    data = workload.document.data
    for step in workload.pod_path:
        data = data[step]
        if type(data) is dict and data.get("enabled") is False:
            return True
    return False


def _asks(workload: Workload) -> tuple[Alternative, ...]:
    return tuple([each for each in node_constraints(workload).alternatives if each])


def _with_spec(pods: Pods, workload: Workload, *, resources: bool, lines: bool) -> Iterator[Fact]:
    from afflint.controllers.pod_source import read_pod_source
    from afflint.index.cluster_objects import unusable_pods

    spec = {field: workload.pod[field] for field in _PLACEMENT if field in workload.pod}
    if workload.kind.kubevirt and type(domain := workload.pod.get("domain")) is dict:
        spec["domain"] = {field: domain[field] for field in ("cpu", "machine") if field in domain}
    pod_source = read_pod_source(workload, pods.site, resources=resources, lines=lines)
    yield pods._replace(spec=spec, pod_source=pod_source)
    if pod_source is not None:
        yield from unusable_pods(workload, pod_source)


_PLACEMENT = (
    "affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "nodeName", "schedulerName", "evictionStrategy",
    "architecture",
)  # fmt: skip


def _pods(workload: Workload, site: Site) -> Pods:
    partial, count = workload.partial, pod_count(workload)
    template_labels = workload.template_labels
    labels = {**_selected_labels(workload), **template_labels} if partial or not template_labels else template_labels
    return Pods(
        site,
        workload.ref,
        workload.title(),
        workload.kind.kubevirt,
        workload.ref.namespace,
        workload.labels,
        labels,
        workload.template_path,
        workload.has_own_template,
        partial,
        count.scale,
        labels_known(workload, partial),
        _application(workload),
        _migration(workload),
        added=controller_context(workload, count),
        # Pods of an operator: the paths of the fields depend on the kind.
        spec=_contradicted(workload) if workload.ref.namespace is not None and not workload.operated else None,
        operated=workload.operated,
        other_labels=workload.other_labels,
        former_labels=workload.former_labels,
        machine=_machine(workload) if workload.kind.kubevirt and not partial else None,
    )


def _machine(workload: Workload) -> MachineSpec | None:
    instancetype, domain = _instancetype(workload), map_at(workload.pod, "domain")
    devices = {field: found for field in _HOST_DEVICES if (found := map_at(domain, "devices").get(field))}
    if instancetype is None and not devices:
        return None
    shown = {**{field: domain[field] for field in _OF_INSTANCETYPE if field in domain}, "devices": devices}
    return MachineSpec(instancetype, {**{field: workload.pod[field] for field in _SELECTS if field in workload.pod}, "domain": shown})


_HOST_DEVICES, _SELECTS = ("gpus", "hostDevices"), ("nodeSelector", "schedulerName")
_OF_INSTANCETYPE = ("cpu", "memory", "resources", "launchSecurity")


def _instancetype(workload: Workload) -> tuple[str, str] | None:
    reference = workload.above(1).get("instancetype") if workload.has_own_template else None
    return (kind_of(reference), str(reference.get("name") or "")) if type(reference) is dict else None


def _contradicted(workload: Workload) -> dict[str, Any] | None:
    """Return the fields of the pod spec that a namespace may contradict; usually None."""
    pod = workload.pod
    fields = {field: pod[field] for field in ("nodeSelector", "tolerations") if pod.get(field)}
    affinity = pod.get("affinity")
    node = affinity.get("nodeAffinity") if type(affinity) is dict else None
    if type(node) is dict and node.get(REQUIRED):
        fields["affinity"] = {"nodeAffinity": {REQUIRED: node[REQUIRED]}}
    return fields or None


def labels_known(workload: Workload, partial: bool) -> bool:
    """Return whether the pods have exactly the labels in the manifest: not for a patch or base, and not with placeholders."""
    labels = workload.template_labels
    if partial or (not labels and workload.kind.name in LABELLED):
        return False
    return not any(is_placeholder(key) or is_placeholder(value) for key, value in labels.items())


def _selected_labels(workload: Workload) -> Labels:
    """Return the labels that a controller's selector requires of its pods, so that they must have them even if the manifest does not."""
    selector = workload.spec.get("selector")
    if workload.kind.name not in LABELLED or type(selector) is not dict:
        return {}
    labels = selector if workload.kind.selector == "map" else selector.get("matchLabels")
    return {key: value for key, value in labels.items() if type(value) is str} if type(labels) is dict else {}


def _application(manifest: Manifest) -> str | None:
    labels = manifest.labels
    return labels.get("app.kubernetes.io/part-of") or labels.get("app.kubernetes.io/instance")


def _migration(workload: Workload) -> Migration | None:
    return migration_of(workload) if workload.kind.kubevirt and workload.pod.get("evictionStrategy") in (None, "LiveMigrate") else None


def migration_of(workload: Workload) -> Migration:
    """Return what prevents the live migration of a virtual machine, for any eviction strategy."""
    value = workload.pod.get("evictionStrategy")
    strategy = value if type(value) is str else None
    return Migration(pinned_host(workload.constraints), () if workload.partial else _obstacles(workload), strategy, _instancetype(workload))


def _obstacles(workload: Workload) -> "tuple[Obstacle, ...]":
    from afflint.controllers.claims import template_claims
    from afflint.controllers.migratability import obstacles

    machine = workload.above(1) if workload.has_own_template else {}
    vmi = {"metadata": workload.template.get("metadata"), "spec": workload.pod}
    # A preference may choose the network binding.
    found = [each for each in obstacles(vmi, None, template_claims(workload)) if not (each.by_default and machine.get("preference"))]
    return tuple([each._replace(path=(*workload.pod_path, *each.path)) for each in found if each.certain or each.claim])


def _workload_reaches(workload: Workload, site: Site) -> Iterator[SelectorRef]:
    if not workload.constraints.selectors:
        return
    terms, spreads = pod_constraints(workload)
    for term in terms:
        selector = pod_selector(term, workload)
        if isinstance(selector, Selector):
            names, others = namespaces_of(term)
            ref = _selector_ref(workload, site, term.name, (*term.path, "labelSelector"), selector)
            yield ref._replace(
                namespaces=names, everywhere=others is not None, topology_key=term.topology_key, namespace_selector=others or None
            )
    for spread in spreads:
        selector = pod_selector(spread, workload)
        if isinstance(selector, Selector):
            ref = _selector_ref(workload, site, SPREAD, (*spread.path, "labelSelector"), selector)
            yield ref._replace(topology_key=spread.topology_key, max_skew=spread.max_skew if spread.hard else None)


def _selector_ref(manifest: Manifest, site: Site, what: str, path: Path, selector: Selector) -> SelectorRef:
    return SelectorRef(
        site,
        manifest.ref,
        manifest.title(),
        what,
        path,
        manifest.ref.namespace,
        (),
        False,
        selector,
        None,
        manifest.template_path if isinstance(manifest, Workload) else None,
        _application(manifest),
    )


def pod_selector(constraint: PodAffinityTerm | TopologySpreadConstraint, workload: Workload) -> Parsed:
    """Return the label selector of a pod term or spread constraint as the API server stores it for the pods of a workload."""
    return constraint.selector(pod_labels(workload).certain) if constraint.has_label_keys else constraint.label_selector


def namespaces_of(term: PodAffinityTerm) -> tuple[tuple[str, ...], Selector | None]:
    """Return the namespaces that a term names, and its namespaceSelector; one that selects by name only is added to the names."""
    listed, parsed = term.namespaces, term.namespace_selector
    if any(map(is_placeholder, listed)):
        return (), EVERYTHING
    if parsed is None:
        return listed, None
    if isinstance(parsed, Malformed):
        return listed, EVERYTHING
    if len(parsed.requirements) == 1 and parsed.requirements[0][:2] == (NAMESPACE_NAME, "In"):
        return (*listed, *parsed.requirements[0].values), None
    return listed, parsed


_ABOUT_PODS = ("Namespace", "Scheduler")
SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
_OF_KUBEVIRT = frozenset(
    (
        "KubeVirt", "HyperConverged", "VirtualMachineInstancetype", "VirtualMachineClusterInstancetype", "VirtualMachinePreference",
        "VirtualMachineClusterPreference", "NetworkAttachmentDefinition",
    )
)  # fmt: skip
_OF_STORAGE = frozenset(("PersistentVolume", "PersistentVolumeClaim", "DataVolume", "StorageClass", "StorageProfile"))
SERVICE_SELECTOR = "Service selector"
_EVIDENCE = {"Service": SERVICE_SELECTOR, "PodDisruptionBudget": BUDGET_SELECTOR, "NetworkPolicy": "NetworkPolicy podSelector"}
_REQUIRED = (REQUIRED_ANTI_AFFINITY, REQUIRED_AFFINITY, SERVICE_SELECTOR, BUDGET_SELECTOR)


def _evidence(manifest: Manifest, site: Site) -> Iterator[SelectorRef]:
    """Yield the selectors of other objects, which show how pods are labelled; an empty or missing selector shows nothing."""
    spec = manifest.data.get("spec")
    if type(spec) is not dict:
        return
    if manifest.kind.name == "Service":
        if spec.get("type") == "ExternalName":
            return  # An alias for a name: its selector has no effect.
        field, data = "selector", {"matchLabels": spec.get("selector")} if spec.get("selector") else None
    elif manifest.kind.name == "NetworkPolicy":
        field, data = "podSelector", spec.get("podSelector")
    else:
        field, data = "selector", spec.get("selector")
    parsed = parse_label_selector(data)
    if isinstance(parsed, Selector) and parsed.requirements:
        yield _selector_ref(manifest, site, _EVIDENCE[manifest.kind.name], (*manifest.base, "spec", field), parsed)
