"""The index of all manifests of a run: finds the pods that a selector matches through their labels, without a search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from afflint.controllers.pod_labels import PodLabels
from afflint.findings.finding import Site, folder_distance
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.similarity import Slips, is_joined, is_name
from afflint.findings.similarity import is_likely_typo as is_likely_typo
from afflint.index.facts import BUDGET_SELECTOR, SERVICE_SELECTOR, Facts, Pods, PodsKey, SelectorRef, facts_of_run
from afflint.kube.selectors import EVERYTHING, NAMESPACE_NAME, Requirement, Selector, is_met, matches
from afflint.manifests.manifest import Labels

if TYPE_CHECKING:
    from afflint.admission.pod_admission import PodAdmission
    from afflint.index.storage import ImporterModes, Storage
    from afflint.scheduler.namespaces import Namespace

Scope = tuple[str, ...] | None

_CLUSTER_WIDE = ("KubeVirt", "HyperConverged")

# Labels that name an application or a virtual machine: users easily confuse them.
IDENTITY = ("app", "name", "k8s-app", "app.kubernetes.io/name", "kubevirt.io/domain", "kubevirt.io/vm")
# Labels that name an application, a release of it, or one of its parts.
_NAMING = frozenset(
    (
        *IDENTITY, "application", "run", "component", "instance", "release",
        "app.kubernetes.io/component", "app.kubernetes.io/instance",
    )
)  # fmt: skip
# The most pods with one label that are searched for a near one, in the order of their files.
_LOOKED_AT = 100


class NearMiss(NamedTuple):
    """The label that a selector without matches probably means: it requires ``asked``, these pods have ``key: value``.

    ``in_template`` is False if only the object itself has the label, not its template.
    """

    asked: Requirement
    pods: Pods
    key: str
    value: str
    in_template: bool


class ManifestIndex:
    """The index of the facts of a run. The cost of a selection depends on its result, not on the number of pods.

    Facts are in the order of their files, so that results do not depend on the order of the arguments. With ``complete``, all relevant
    namespaces are known, so that a namespaceSelector can be evaluated. ``plugins`` are the admission plugins that are known to be
    enabled.
    """

    def __init__(
        self,
        facts: Iterable[Facts],
        *,
        complete: bool = False,
        plugins: Collection[str] = (),
        whole: ManifestIndex | None = None,
        node_labels: Sequence[Mapping[str, str]] = (),
        kubevirt_version: tuple[int, int] | None = None,
    ) -> None:
        self.facts = facts_of_run(facts)
        """The facts of all files."""
        self.whole = whole
        """The index of all manifests of the run, if this one has only those of one cluster."""
        self.node_labels: Sequence[Mapping[str, str]] = whole.node_labels if whole is not None else node_labels
        """The labels of the nodes of the run, which decide the defaults of OpenShift Virtualization."""
        self._kubevirt_version: tuple[int, int] | None = whole._kubevirt_version if whole is not None else kubevirt_version
        self.pods: Sequence[Pods] = self.facts.pods
        """The pods, with the ranges of their autoscalers."""
        if self.facts.scalers:
            from afflint.index.autoscaling import apply_autoscalers

            self.pods = apply_autoscalers(self.pods, self.facts.scalers)
        self.selector_refs: Sequence[SelectorRef] = self.facts.selector_refs
        """The selectors of pods, with the namespaces that they select, if these are known."""
        self.namespaces: dict[str, Namespace] = {}
        """By name; the first one of several objects with the same name."""
        for each in self.facts.namespaces:
            self.namespaces.setdefault(each.name, each)
        self.ambiguous = {each.name for each in self.facts.namespaces if each != self.namespaces[each.name]}
        self._admissions: dict[str, PodAdmission | None] = {}
        self._plugins = plugins
        if complete and self.namespaces:
            names = dict.fromkeys([*self.namespaces, *(pods.namespace for pods in self.pods if pods.namespace is not None)])
            chosen: dict[Selector, tuple[str, ...] | None] = {}
            self.selector_refs = [self._resolved(ref, names, chosen) for ref in self.selector_refs]
        self._by_key: dict[PodsKey, Pods] = {pods.key: pods for pods in self.pods}
        self._by_template = _Index(self.pods, lambda pods: pods.template_labels)
        self._added_keys = {label.key for labels in {pods.added.labels for pods in self.pods} for label in labels}
        self._selected: dict[tuple[Selector, Scope], bool] = {}
        self._unique: dict[Selector, bool] = {}
        self._near_misses: dict[tuple[object, ...], NearMiss | None] = {}
        self._nearly_selected: dict[tuple[object, ...], bool] = {}

    @cached_property
    def _by_merged(self) -> _Index:
        """Objects by the labels that their pods would have with those of the object: for selectors without matches."""
        # Labels that the template has as well are in the other index.
        own = [pods for pods in self.pods if pods.has_own_template and not pods.labels.keys() <= pods.template_labels.keys()]
        return _Index(own, lambda pods: pods.merged_labels)

    @cached_property
    def _by_added(self) -> _AddedIndex:
        """Objects by the labels that controllers add."""
        return _AddedIndex(self.pods)

    def with_scale(self, pods: Pods) -> Pods:
        """Return pods of a file of the run with the range of their autoscaler."""
        return self._by_key.get(pods.key, pods)

    def pods_at(self, key: PodsKey) -> Pods | None:
        """Return the pods of a template."""
        return self._by_key.get(key)

    # KubeVirt.

    @cached_property
    def kubevirt_resource(self) -> Mapping[str, Any]:
        """The KubeVirt resource in effect, one for a cluster; empty if the manifests do not show it: see ``hyperconverged``.

        It has a key ``version`` if the configuration sets the version.
        """
        own, hyperconverged = (next((each.data for each in self.facts.kubevirt if each.kind == kind), None) for kind in _CLUSTER_WIDE)
        found = own or {}
        if hyperconverged is not None or (own is None and self.node_labels):
            from afflint.controllers.hyperconverged import kubevirt_in_effect

            found = kubevirt_in_effect(own, hyperconverged, self.node_labels)
        return found if self._kubevirt_version is None else {**found, "version": self._kubevirt_version}

    @cached_property
    def network_resources(self) -> Mapping[tuple[str, str], str]:
        """The resources that NetworkAttachmentDefinitions name, by namespace and name; the first of several definitions counts."""
        networks = [each for each in self.facts.kubevirt if each.kind == "NetworkAttachmentDefinition"]
        return {(each.namespace or "default", each.name): each.data["resource"] for each in reversed(networks)}

    # Volumes.

    @cached_property
    def storage(self) -> Storage:
        """The volumes, claims and StorageClasses of the run, and the workloads that use claims."""
        from afflint.index.storage import Storage

        return Storage(self.facts.storage, self.facts.volume_users)

    @cached_property
    def has_one_kubevirt(self) -> bool:
        """Whether the manifests have one KubeVirt resource, or one that HyperConverged makes, so that it is that of their VMs."""
        found = [each.kind for each in self.facts.kubevirt if each.kind in _CLUSTER_WIDE]
        return bool(found) and len(found) == len(set(found))

    @property
    def holds_storage(self) -> bool:
        """Whether a workload uses claims, or the run has volumes, claims or StorageClasses."""
        return bool(self.facts.storage or self.facts.volume_users)

    def access_modes(self, namespace: str | None) -> Mapping[str, tuple[str, ...]]:
        """Return the known access modes of the claims of a namespace, by the names of the claims."""
        return self.storage.access_modes(namespace or "default") if self.facts.storage else {}

    def template_modes(self, site: Site) -> Mapping[str, ImporterModes]:
        """Return the access modes that the dataVolumeTemplates of a virtual machine get if they name none, by claim."""
        return self.storage.template_modes(site) if self.facts.storage else {}

    # Namespaces.

    def matches_namespace(self, selector: Selector, name: str | None) -> bool | None:
        """Return whether a namespaceSelector matches a namespace; None if the namespace or its labels are not known."""
        if name is None:
            return None
        if name in self.namespaces and name not in self.ambiguous:
            return matches(selector, self.namespaces[name].labels)
        others = False
        for requirement in selector.requirements:
            if requirement.key != NAMESPACE_NAME:
                others = True
            elif not is_met(requirement, name):
                return False
        return None if others else True

    def admission(self, namespace: str) -> PodAdmission | None:
        """Return the admission settings for the pods of a namespace; None without any, or if objects contradict each other."""
        if not self.facts.about_pods:
            return None
        if namespace not in self._admissions:
            self._admissions[namespace] = self._admission(namespace)
        return self._admissions[namespace]

    def _admission(self, namespace: str) -> PodAdmission | None:
        from afflint.admission.pod_admission import combined

        objects = sum(each.name == namespace for each in self.facts.namespaces)
        own = [each.rules for each in self.facts.about_pods if each.namespace == namespace]
        if len(own) not in (0, objects) or len({tuple([rule[1:] for rule in each]) for each in own}) > 1:
            return None
        general = [each.rules[0] for each in self.facts.about_pods if each.namespace is None]
        default = general[0] if len({rule.text for rule in general}) == 1 else None
        return combined(namespace, own[0] if own else (), default, self._plugins, known=objects > 0)

    def _resolved(self, ref: SelectorRef, names: Iterable[str], known: dict[Selector, tuple[str, ...] | None]) -> SelectorRef:
        """Return the selector with the namespaces that its namespaceSelector matches, if these are known and there are any.

        ``names`` are those of all namespaces of the run; ``known`` has the results for selectors so far.
        """
        selector = ref.namespace_selector
        if selector is None or selector == EVERYTHING:
            return ref
        if selector not in known:
            chosen = {name: self.matches_namespace(selector, name) for name in names}
            known[selector] = None if None in chosen.values() else tuple([name for name, is_chosen in chosen.items() if is_chosen])
        matching = known[selector]
        if not matching:
            return ref
        return ref._replace(namespaces=tuple(dict.fromkeys((*ref.namespaces, *matching))), everywhere=False)

    # The pods that a selector matches.

    def selected(self, ref: SelectorRef) -> Iterator[Pods]:
        """Yield the objects with a pod that the selector matches, in namespaces that it covers."""
        return self._candidates(ref.selector, ref.scope)

    def _candidates(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        if not self._asks_for_added(selector):
            return self._by_template.candidates(selector, scope)
        return self._by_template.candidates_with(self._by_added, selector, scope)

    def _asks_for_added(self, selector: Selector) -> bool:
        """Return whether a selector requires labels that controllers add: few do, and only these need the index of added labels."""
        return any(each.key in self._added_keys for each in selector.requirements)

    def is_selected(self, ref: SelectorRef) -> bool:
        """Return whether the selector matches any pods in namespaces that it covers. Cached: many workloads have the same selector."""
        key = ref.selector, ref.scope
        if key not in self._selected:
            self._selected[key] = next(self.selected(ref), None) is not None
        return self._selected[key]

    def may_be_operated(self, ref: SelectorRef) -> bool:
        """Return whether the selector may match pods of an operator, whose labels the manifests show only in part."""
        return any(_may_match(pods, ref.selector) and covers(ref, pods.namespace) for pods in self.pods if pods.operated)

    def selected_by_all(self, selector_refs: Sequence[SelectorRef]) -> Iterator[Pods]:
        """Yield the objects with a pod that all of the selectors match."""
        rest = selector_refs[1:]
        together = Selector(tuple([each for ref in selector_refs for each in ref.selector.requirements]))
        for pods in self.selected(selector_refs[0]):
            if all(covers(each, pods.namespace) for each in rest) and (not rest or pods.pod_labels.some(together)):
                yield pods

    def selected_anywhere(self, ref: SelectorRef) -> Iterator[Pods]:
        """Yield the objects whose pods the selector matches, in any namespace."""
        return self._candidates(ref.selector, None)

    def nearly_selected(self, ref: SelectorRef) -> Iterator[Pods]:
        """Yield the objects whose pods the selector would match if their template had the labels of the object as well."""
        return self._nearly(ref.selector, ref.scope)

    def _nearly(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        if not self._asks_for_added(selector):
            return self._by_merged.candidates(selector, scope)
        # Added labels do not depend on the labels of the object: look up the other requirements.
        own = Selector(tuple([each for each in selector.requirements if each.key not in self._added_keys]))
        candidates = self._by_merged.candidates(own if own.requirements else selector, scope)
        return (pods for pods in candidates if PodLabels(pods.merged_labels, pods.added).some(selector))

    def is_nearly_selected(self, ref: SelectorRef) -> bool:
        """Return whether there are such objects that are related to the selector. Cached, too."""
        key = _relation_key(ref)
        if key not in self._nearly_selected:
            nearly = islice(self.nearly_selected(ref), _LOOKED_AT)
            self._nearly_selected[key] = any(self.related(ref, pods) for pods in nearly)
        return self._nearly_selected[key]

    # The owner of a selector.

    def owner(self, ref: SelectorRef) -> Pods | None:
        """Return the workload whose template contains this selector; None for an object that creates no pods."""
        return None if ref.template_path is None else self._by_key.get((ref.site, ref.template_path))

    def selector_refs_of(self, pods: Pods) -> list[SelectorRef]:
        """Return the selectors of the terms and spread constraints of these pods."""
        return self._reaches_of.get(pods.key, [])

    @cached_property
    def _reaches_of(self) -> dict[PodsKey, list[SelectorRef]]:
        return grouped(((ref.site, ref.template_path), ref) for ref in self.selector_refs if ref.template_path is not None)

    def is_budgeted(self, pods: Pods) -> bool:
        """Return whether a PodDisruptionBudget covers the pods."""
        return pods.key in self._budgeted or (pods.namespace or "default") in self._budgeted_namespaces

    @cached_property
    def exposed(self) -> frozenset[PodsKey]:
        """The pods that a Service selects."""
        return self._selected_by(SERVICE_SELECTOR)

    @cached_property
    def _budgeted(self) -> frozenset[PodsKey]:
        return self._selected_by(BUDGET_SELECTOR)

    def _selected_by(self, what: str) -> frozenset[PodsKey]:
        """Return the pods that a selector of this kind selects."""
        return frozenset(pods.key for ref in self.selector_refs if ref.what == what for pods in self.selected(ref))

    @cached_property
    def _budgeted_namespaces(self) -> frozenset[str]:
        """The namespaces in which a budget covers all pods."""
        return frozenset(each.namespace for each in self.facts.budgets if each.selector is not None and not each.selector.requirements)

    # Suggestions for selectors without matches.

    def near_miss(self, ref: SelectorRef) -> NearMiss | None:
        """Return the label that a selector without matches probably means, on pods that are related to it."""
        key = _relation_key(ref)
        if key not in self._near_misses:
            self._near_misses[key] = self._near_miss(ref)
        return self._near_misses[key]

    def _near_miss(self, ref: SelectorRef) -> NearMiss | None:
        for in_template, index in ((True, self._by_template), (False, self._by_merged)):
            for requirement in ref.selector.requirements:
                if requirement.operator != "In":
                    continue
                rest = Selector(tuple([each for each in ref.selector.requirements if each is not requirement]))
                for key, value in index.alike(requirement):
                    for pods in islice(index.with_label(key, value, ref.scope), _LOOKED_AT):
                        if close(ref, pods) and PodLabels(index.labels_of(pods), pods.added).some(rest):
                            return NearMiss(requirement, pods, key, value, in_template)
        return self._renamed(ref)

    def _renamed(self, ref: SelectorRef) -> NearMiss | None:
        """Return the label of close pods that meet all requirements but one, if they show what it means: see ``own_near_miss``."""
        for requirement in ref.selector.requirements if len(ref.selector.requirements) > 1 else ():
            rest = Selector(tuple([each for each in ref.selector.requirements if each is not requirement]))
            for pods in islice(self._candidates(rest, ref.scope), _LOOKED_AT):
                miss = own_near_miss(ref, pods) if pods.labels_known and close(ref, pods) else None
                if miss is not None:
                    return miss
        return None

    def related(self, ref: SelectorRef, pods: Pods) -> bool:
        """Return whether a selector and the pods that it matches, or nearly matches, belong to one application.

        A large repository contains many applications with the same few labels, and most manifests do not set a namespace. So the files
        of one application are close together, or in neighbouring folders with a label that no other application has.
        """
        if close(ref, pods):
            return True
        return _is_neighbour(ref, pods) and self._is_unique(ref.selector)

    def _is_unique(self, selector: Selector) -> bool:
        if selector not in self._unique:
            keys = {pods.key for select in (self._candidates, self._nearly) for pods in islice(select(selector, None), 2)}
            self._unique[selector] = len(keys) < 2
        return self._unique[selector]


def _may_match(pods: Pods, selector: Selector) -> bool:
    """Return whether a selector may match pods, assuming that their unknown labels meet its requirements."""
    labels = pods.pod_labels
    known = [each for each in selector.requirements if each.key in labels.template or each.key in labels.added]
    return labels.some(Selector(tuple(known)))


def own_near_miss(ref: SelectorRef, pods: Pods) -> NearMiss | None:
    """Return the label of pods that their own selector probably means; None if it differs in another way.

    The pods do not meet one of its requirements: because of a typo, another key for the same name, or a key similar to one of theirs;
    or the value is made of two of theirs, or they meet the others and have the value under any other key.
    """
    labels, all_labels = pods.template_labels, pods.pod_labels
    missed = [each for each in ref.selector.requirements if not all_labels.some(Selector((each,)))]
    if len(missed) != 1 or missed[0].operator != "In":
        return None
    asked = missed[0]
    own = labels.get(asked.key)
    if own is not None and any(is_likely_typo(each, own) for each in asked.values):
        return NearMiss(asked, pods, asked.key, own, True)
    similar = [key for key in labels if _is_similar(key, asked.key)]
    for key, value in labels.items():
        if value in asked.values and (key in similar or (key in IDENTITY and (similar or asked.key in IDENTITY))):
            return NearMiss(asked, pods, key, value, True)
        if value in asked.values and is_name(value) and sum(each.operator == "In" for each in ref.selector.requirements) > 1:
            return NearMiss(asked, pods, key, value, True)
    if own is not None and any(is_joined(each, frozenset(labels.values())) for each in asked.values):
        return NearMiss(asked, pods, asked.key, own, True)
    return None


def under_other_keys(ref: SelectorRef, pods: Pods) -> NearMiss | None:
    """Return the first label of pods that their own selector means, if the pods have all values that they miss under other keys.

    Both keys must be those that usually name an application or a part of it.
    """
    labels, all_labels = pods.template_labels, pods.pod_labels
    missed = [each for each in ref.selector.requirements if not all_labels.some(Selector((each,)))]
    meant = []
    for asked in missed:
        key = next((key for key, value in labels.items() if key in _NAMING and value in asked.values), None)
        if key is None or asked.operator != "In" or asked.key not in _NAMING:
            return None
        meant.append(NearMiss(asked, pods, key, labels[key], True))
    return meant[0] if meant else None


def _is_similar(one: str, other: str) -> bool:
    """Return whether two keys are similar: they differ in the prefix, in one more leading part, or by a typo."""
    if one == other:
        return False
    return _name(one) == _name(other) or one.endswith(f".{other}") or other.endswith(f".{one}") or is_likely_typo(one, other)


def _name(key: str) -> str:
    return key.rpartition("/")[2].lower()


def covers(ref: SelectorRef, namespace: str | None) -> bool:
    """Return whether a selector covers a namespace. A manifest without a namespace may be applied to any."""
    scope = ref.scope
    return scope is None or namespace is None or namespace in scope


def close(ref: SelectorRef, pods: Pods) -> bool:
    """Return whether a selector and pods are in the same object, namespace or folder, or of one application in two folders.

    A folder counts as the same as those up to two levels below it.
    """
    if ref.site == pods.site or (ref.namespace is not None and ref.namespace == pods.namespace != "default"):
        return True
    up, down = folder_distance(ref.site, pods.site)
    if up == 0 and down <= 2:
        return True
    return ref.application is not None and ref.application == pods.application and down <= 2


def _relation_key(ref: SelectorRef) -> tuple[object, ...]:
    """Return the requirements and the position of a selector: everything that decides which pods are related to it."""
    return ref.selector, ref.scope, ref.namespace, ref.application, ref.site.folder


def may_mean(ref: SelectorRef, pods: Pods) -> bool:
    """Return whether pods that a selector matches are near enough to be its intended target: same namespace or nearby folders."""
    return (ref.namespace is not None and ref.namespace == pods.namespace) or folder_distance(ref.site, pods.site)[1] <= 2


def _is_neighbour(ref: SelectorRef, pods: Pods) -> bool:
    """Return whether two objects are in neighbouring folders, like the parts of one application, but also two applications."""
    up, down = folder_distance(ref.site, pods.site)
    return up <= 1 and down <= 2


class _PodsList:
    """Pods in the order of their files: all of them, and by namespace, which is computed on first use."""

    def __init__(self, pods: Iterable[Pods] = ()) -> None:
        self.all = [*pods]
        self._by_namespace: dict[str | None, list[Pods]] | None = None

    def within(self, scope: Scope) -> list[list[Pods]]:
        """Return the lists of pods that are, or may be, in the given namespaces."""
        if scope is None:
            return [self.all]
        if self._by_namespace is None:
            self._by_namespace = grouped((pods.namespace, pods) for pods in self.all)
        return [self._by_namespace[name] for name in (*dict.fromkeys(scope), None) if name in self._by_namespace]


_NO_PODS = _PodsList()


class _Index:
    """Pods by each of their labels and by label key; a selector is looked up by its rarest requirement."""

    def __init__(self, pods: Sequence[Pods], labels_of: Callable[[Pods], Labels]) -> None:
        self.labels_of = labels_of
        self._all = _PodsList(pods)
        self._by_label: dict[tuple[str, str], list[Pods]] = {}
        self._by_key: dict[str, _PodsList] = {}
        self._lists: dict[tuple[str, str], _PodsList] = {}
        self._places: dict[int, int] | None = None
        self._values: dict[str, dict[str, None]] = {}
        self._slips: dict[str, Slips] = {}
        self._keys_named: dict[str, dict[str, None]] = {}
        for each in pods:
            for label in labels_of(each).items():
                labelled = self._by_label.get(label)
                if labelled is not None:
                    labelled.append(each)
                else:
                    self._by_label[label] = [each]
                    self._values.setdefault(label[0], {})[label[1]] = None
        for key in self._values:
            self._keys_named.setdefault(_name(key), {})[key] = None

    def alike(self, requirement: Requirement) -> Iterator[tuple[str, str]]:
        """Yield labels of pods that are easily mistaken for a required one: a typo, or another key for the same name."""
        for asked in requirement.values:
            for value in self._slips_of(requirement.key).of(asked):
                yield requirement.key, value
            keys = dict.fromkeys(IDENTITY) if requirement.key in IDENTITY else {}
            for key in {**keys, **dict.fromkeys(islice(self._keys_named.get(_name(requirement.key), ()), _LOOKED_AT))}:
                if key != requirement.key and (key, asked) in self._by_label:
                    yield key, asked

    def _slips_of(self, key: str) -> Slips:
        if key not in self._slips:
            self._slips[key] = Slips(self._values.get(key, ()))
        return self._slips[key]

    def with_label(self, key: str, value: str, scope: Scope) -> Iterator[Pods]:
        """Return the pods with a label that are, or may be, in the given namespaces."""
        return chain.from_iterable(self._labelled(key, value).within(scope))

    def candidates(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        """Return the pods that a selector matches in the given namespaces."""
        rarest = self._rarest([(each, self._lists_for(each)) for each in selector.requirements], scope)
        return (each for each in chain.from_iterable(rarest) if matches(selector, self.labels_of(each)))

    def candidates_with(self, added: _AddedIndex, selector: Selector, scope: Scope) -> Iterator[Pods]:
        """Return the pods that a selector may match, with the possible values of the labels that controllers add."""
        rarest = self._rarest([(each, [*self._lists_for(each), *added.lists_for(each)]) for each in selector.requirements], scope)
        unique = {each.key: each for each in chain.from_iterable(rarest)}
        return (each for each in unique.values() if each.pod_labels.some(selector))

    def _lists_for(self, requirement: Requirement) -> list[_PodsList]:
        if requirement.operator == "In":
            return [self._labelled(requirement.key, value) for value in dict.fromkeys(requirement.values)]
        return [self._keyed(requirement.key)]

    def _labelled(self, key: str, value: str) -> _PodsList:
        """Return the pods with a label; created on first use, because most labels are never selected."""
        label = key, value
        if label not in self._lists:
            self._lists[label] = _PodsList(self._by_label[label]) if label in self._by_label else _NO_PODS
        return self._lists[label]

    def _keyed(self, key: str) -> _PodsList:
        """Return the pods that have a label with this key."""
        if key not in self._by_key:
            if self._places is None:
                self._places = {id(each): place for place, each in enumerate(self._all.all)}
            places = self._places
            pods = [each for value in self._values.get(key, ()) for each in self._by_label[key, value]]
            self._by_key[key] = _PodsList(sorted(pods, key=lambda each: places[id(each)]))
        return self._by_key[key]

    def _rarest(self, lists_for: Iterable[tuple[Requirement, list[_PodsList]]], scope: Scope) -> list[list[Pods]]:
        """Return the lists for the requirement with the fewest pods; all pods if no requirement needs a label."""
        best, fewest = self._all.within(scope), -1
        for requirement, candidates in lists_for:
            if requirement.operator in _NEEDS_LABEL:
                lists = [each for pods_list in candidates for each in pods_list.within(scope)]
                count = sum(map(len, lists))
                if fewest < 0 or count < fewest:
                    best, fewest = lists, count
        return best


# The operators that match only nodes or pods with the label.
_NEEDS_LABEL = ("In", "Exists")


class _AddedIndex:
    """Pods by the labels that controllers add: by key, and by the start of the value up to a dash."""

    def __init__(self, pods: Iterable[Pods]) -> None:
        self._by_key: dict[str, _PodsList] = {}
        self._by_start: dict[tuple[str, str], _PodsList] = {}
        for each in pods:
            for key, values in each.pod_labels.added.items():
                start = values.prefix[: values.prefix.rfind("-") + 1] if values.rest else values.prefix
                self._by_key.setdefault(key, _PodsList()).all.append(each)
                self._by_start.setdefault((key, start), _PodsList()).all.append(each)

    def lists_for(self, requirement: Requirement) -> list[_PodsList]:
        """Return lists with all pods that may meet a requirement that needs a label, and possibly others."""
        if requirement.operator != "In":
            return [self._by_key.get(requirement.key, _NO_PODS)]
        if requirement.key not in self._by_key:
            return []
        starts = dict.fromkeys(start for value in requirement.values for start in _starts(value))
        return [self._by_start.get((requirement.key, start), _NO_PODS) for start in starts]


def _starts(value: str) -> Iterator[str]:
    yield ""
    yield value
    for index, letter in enumerate(value):
        if letter == "-":
            yield value[: index + 1]
