"""All manifests of a run taken together: which pods a selector reaches, by an index over labels instead of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from afflint.controllers.pod_labels import PodLabels
from afflint.findings.finding import Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.similarity import Slips
from afflint.findings.similarity import is_likely_typo as is_likely_typo
from afflint.index.facts import Facts, Pods, PodsKey, SelectorRef
from afflint.kube.manifests import Labels
from afflint.kube.selectors import EVERYTHING, NAMESPACE_NAME, Requirement, Selector, holds, matches

if TYPE_CHECKING:
    from afflint.admission.pod_admission import PodAdmission
    from afflint.controllers.budgets import Budget
    from afflint.index.cluster_objects import KubeVirtObject
    from afflint.index.policy_candidates import PolicyCandidate
    from afflint.scheduler.namespaces import Namespace, Service

Scope = tuple[str, ...] | None

# Labels by which people name an application or a machine: one is easily written where another stands.
IDENTITY = ("app", "name", "k8s-app", "app.kubernetes.io/name", "kubevirt.io/domain", "kubevirt.io/vm")
# Of pods that share a label so many are looked at, in the order of their files, where any that is near would do.
_LOOKED_AT = 100


class NearMiss(NamedTuple):
    """A label that was probably meant by a selector that matches nothing: it asks for ``asked``, these pods have ``key: value``.

    ``in_template`` is False when the label stands only on the object itself.
    """

    asked: Requirement
    pods: Pods
    key: str
    value: str
    in_template: bool


class ManifestIndex:
    """The facts of a run, indexed. Selecting costs what it finds, not what there is.

    Facts are kept in the order of their files, so that answers do not depend on which files were named first. With ``complete``
    all namespaces that matter are there, so that a namespaceSelector can be held against them. ``plugins`` are the admission plugins
    that are known to be on.
    """

    def __init__(
        self, facts: Iterable[Facts], *, complete: bool = False, plugins: Collection[str] = (), whole: ManifestIndex | None = None
    ) -> None:
        each_file = list(facts)
        self.whole = whole
        """All manifests of the run, where these are only those of one cluster."""
        self.pods: list[Pods] = sorted((pods for each in each_file for pods in each.pods), key=lambda pods: pods.site)
        scalers = [scaler for each in each_file for scaler in each.scalers]
        if scalers:
            from afflint.index.autoscaling import scaled

            self.pods = scaled(self.pods, scalers)
        self.reaches: list[SelectorRef] = sorted((reach for each in each_file for reach in each.reaches), key=lambda reach: reach.site)
        self.services: list[Service] = [service for each in each_file for service in each.services]
        self.budgets: list[Budget] = [budget for each in each_file for budget in each.budgets]
        self.kubevirt: list[KubeVirtObject] = [each for facts in each_file for each in facts.kubevirt]
        self.policy_candidates: list[PolicyCandidate] = sorted(
            (each for facts in each_file for each in facts.policy_candidates), key=lambda each: each[:2]
        )
        """The pods that policies may have to refuse."""
        self.namespaces: dict[str, Namespace] = {}
        """By name. Of several objects the first counts."""
        self.ambiguous = {
            each.name for facts in each_file for each in facts.namespaces if self.namespaces.setdefault(each.name, each) != each
        }
        self._about_pods = [each for facts in each_file for each in facts.about_pods]
        self._namespace_objects = Counter(each.name for facts in each_file for each in facts.namespaces) if self._about_pods else Counter()
        self._admissions: dict[str, PodAdmission | None] = {}
        self._plugins = plugins
        if complete and self.namespaces:
            names = dict.fromkeys([*self.namespaces, *(pods.namespace for pods in self.pods if pods.namespace is not None)])
            chosen: dict[Selector, tuple[str, ...] | None] = {}
            self.reaches = [self._resolved(reach, names, chosen) for reach in self.reaches]
        self._by_key: dict[PodsKey, Pods] = {pods.key: pods for pods in self.pods}
        self._by_template = _Index(self.pods, lambda pods: pods.template_labels)
        self._merged: _Index | None = None
        self._added_keys = {
            label.key for labels in {id(pods.added.labels): pods.added.labels for pods in self.pods}.values() for label in labels
        }
        self._by_added: _AddedIndex | None = None
        self._selected: dict[tuple[Selector, Scope], bool] = {}
        self._unique: dict[Selector, bool] = {}
        self._near_misses: dict[tuple[object, ...], NearMiss | None] = {}
        self._nearly_selected: dict[tuple[object, ...], bool] = {}
        self._reaches_of: dict[PodsKey, list[SelectorRef]] | None = None
        self._access_modes: dict[str, dict[str, tuple[str, ...]]] | None = None

    @property
    def _by_merged(self) -> _Index:
        """Objects by the labels that their pods would have with those of the object: for what matches nothing as it is."""
        if self._merged is None:
            # What its template has anyway, is found as it is.
            own = [pods for pods in self.pods if pods.has_own_template and not pods.labels.keys() <= pods.template_labels.keys()]
            self._merged = _Index(own, lambda pods: pods.merged_labels)
        return self._merged

    def with_scale(self, pods: Pods) -> Pods:
        """Pods of a file of the run, with what an autoscaler makes of their number."""
        return self._by_key.get(pods.key, pods)

    def pods_at(self, key: PodsKey) -> Pods | None:
        """The pods of the template at a place."""
        return self._by_key.get(key)

    # KubeVirt.

    @property
    def kubevirt_resource(self) -> Mapping[str, Any]:
        """The KubeVirt resource, of which a cluster has one; empty where there is none."""
        return next((each.data for each in self.kubevirt if each.kind == "KubeVirt"), {})

    def access_modes(self, namespace: str | None) -> Mapping[str, tuple[str, ...]]:
        """Those of the claims of a namespace by their names, as far as they are known."""
        if self._access_modes is None:
            from afflint.controllers.claims import CLAIM, VOLUME, access_modes

            self._access_modes = {}
            for each in self.kubevirt:
                if each.kind in (CLAIM, VOLUME):
                    claims = self._access_modes.setdefault(each.namespace or "default", {})
                    # A claim and the DataVolume that makes it have one name; where both tell, the claim does.
                    if each.kind == CLAIM or each.name not in claims:
                        claims[each.name] = access_modes(each.kind, each.data)
        return self._access_modes.get(namespace or "default", {})

    # Namespaces.

    def matches_namespace(self, selector: Selector, name: str | None) -> bool | None:
        """Whether a namespaceSelector covers a namespace; None when the labels of that one are not known, or not which one it is."""
        if name is None:
            return None
        if name in self.namespaces and name not in self.ambiguous:
            return matches(selector, self.namespaces[name].labels)
        others = False
        for requirement in selector.requirements:
            if requirement.key != NAMESPACE_NAME:
                others = True
            elif not holds(requirement, name):
                return False
        return None if others else True

    @property
    def says_about_pods(self) -> bool:
        """Whether any object says anything about the pods of a namespace."""
        return bool(self._about_pods)

    def admission(self, namespace: str) -> PodAdmission | None:
        """What is said about the pods of a namespace; None where nothing is, or where objects contradict each other."""
        if not self._about_pods:
            return None
        if namespace not in self._admissions:
            self._admissions[namespace] = self._admission(namespace)
        return self._admissions[namespace]

    def _admission(self, namespace: str) -> PodAdmission | None:
        from afflint.admission.pod_admission import combined

        objects = self._namespace_objects[namespace]
        own = [each.sayings for each in self._about_pods if each.namespace == namespace]
        if len(own) not in (0, objects) or len({tuple([said[1:] for said in each]) for each in own}) > 1:
            return None
        general = [each.sayings[0] for each in self._about_pods if each.namespace is None]
        default = general[0] if len({said.text for said in general}) == 1 else None
        return combined(namespace, own[0] if own else (), default, self._plugins, known=objects > 0)

    def _resolved(self, reach: SelectorRef, names: Iterable[str], known: dict[Selector, tuple[str, ...] | None]) -> SelectorRef:
        """The same with the namespaces that its selector chooses by name, if these are known and there are some.

        ``names`` are those of all namespaces of the run, ``known`` what has been found for a selector already.
        """
        selector = reach.namespace_selector
        if selector is None or selector == EVERYTHING:
            return reach
        if selector not in known:
            chosen = {name: self.matches_namespace(selector, name) for name in names}
            known[selector] = None if None in chosen.values() else tuple([name for name, is_chosen in chosen.items() if is_chosen])
        found = known[selector]
        if not found:
            return reach
        return reach._replace(namespaces=tuple(dict.fromkeys((*reach.namespaces, *found))), everywhere=False)

    # What a selector reaches.

    def selected(self, reach: SelectorRef) -> Iterator[Pods]:
        """The objects of which the selector matches a pod, in namespaces that it covers."""
        return self._candidates(reach.selector, reach.scope)

    def _candidates(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        if not self._asks_for_added(selector):
            return self._by_template.candidates(selector, scope)
        if self._by_added is None:
            self._by_added = _AddedIndex(self.pods)
        return self._by_template.candidates_with(self._by_added, selector, scope)

    def _asks_for_added(self, selector: Selector) -> bool:
        """Whether it asks for labels that controllers add: few do, and only for these the added labels are looked at."""
        return any(each.key in self._added_keys for each in selector.requirements)

    def is_selected(self, reach: SelectorRef) -> bool:
        """Whether the selector matches any pods in namespaces that it covers. Remembered: many workloads ask for the same."""
        key = reach.selector, reach.scope
        if key not in self._selected:
            self._selected[key] = next(self.selected(reach), None) is not None
        return self._selected[key]

    def may_be_operated(self, reach: SelectorRef) -> bool:
        """Whether pods of an operator may be meant, whose labels the manifests tell only in part."""
        return any(_may_match(pods, reach.selector) and covers(reach, pods.namespace) for pods in self.pods if pods.operated)

    def selected_by_all(self, reaches: Sequence[SelectorRef]) -> Iterator[Pods]:
        """The objects of which one pod meets every one of the terms."""
        rest = reaches[1:]
        together = Selector(tuple([each for reach in reaches for each in reach.selector.requirements]))
        for pods in self.selected(reaches[0]):
            if all(covers(each, pods.namespace) for each in rest) and (not rest or pods.pod_labels.some(together)):
                yield pods

    def selected_anywhere(self, reach: SelectorRef) -> Iterator[Pods]:
        """The objects whose pods the selector matches in whatever namespace."""
        return self._candidates(reach.selector, None)

    def nearly_selected(self, reach: SelectorRef) -> Iterator[Pods]:
        """The objects with labels of their own that their template lacks, whose pods would be matched if these stood there as well."""
        return self._nearly(reach.selector, reach.scope)

    def _nearly(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        if not self._asks_for_added(selector):
            return self._by_merged.candidates(selector, scope)
        # What is added is so whatever stands on the object: it is found by the rest.
        own = Selector(tuple([each for each in selector.requirements if each.key not in self._added_keys]))
        candidates = self._by_merged.candidates(own if own.requirements else selector, scope)
        return (pods for pods in candidates if PodLabels(pods.merged_labels, pods.added).some(selector))

    def is_nearly_selected(self, reach: SelectorRef) -> bool:
        """Whether there are such objects that belong together with the selector. Remembered, too."""
        key = _standing(reach)
        if key not in self._nearly_selected:
            nearly = islice(self.nearly_selected(reach), _LOOKED_AT)
            self._nearly_selected[key] = any(self.related(reach, pods) for pods in nearly)
        return self._nearly_selected[key]

    # Who asks.

    def owner(self, reach: SelectorRef) -> Pods | None:
        """The object whose pods carry this term; None for what makes no pods itself."""
        return None if reach.template_path is None else self._by_key.get((reach.site, reach.template_path))

    def reaches_of(self, pods: Pods) -> list[SelectorRef]:
        """The terms and spread constraints that these pods carry."""
        if self._reaches_of is None:
            self._reaches_of = {}
            for reach in self.reaches:
                if reach.template_path is not None:
                    self._reaches_of.setdefault((reach.site, reach.template_path), []).append(reach)
        return self._reaches_of.get(pods.key, [])

    # What was probably meant.

    def near_miss(self, reach: SelectorRef) -> NearMiss | None:
        """The label that a selector which matches nothing was probably meant to ask for, on pods that belong together with it."""
        key = _standing(reach)
        if key not in self._near_misses:
            self._near_misses[key] = self._near_miss(reach)
        return self._near_misses[key]

    def _near_miss(self, reach: SelectorRef) -> NearMiss | None:
        for in_template, index in ((True, self._by_template), (False, self._by_merged)):
            for requirement in reach.selector.requirements:
                if requirement.operator != "In":
                    continue
                rest = Selector(tuple([each for each in reach.selector.requirements if each is not requirement]))
                for key, value in index.alike(requirement):
                    for pods in islice(index.with_label(key, value, reach.scope), _LOOKED_AT):
                        if close(reach, pods) and PodLabels(index.labels_of(pods), pods.added).some(rest):
                            return NearMiss(requirement, pods, key, value, in_template)
        return None

    def related(self, reach: SelectorRef, pods: Pods) -> bool:
        """Whether a selector and the pods that it matches, or nearly, belong together.

        A large repository holds many applications with the same few labels, and most do not name their namespace. So their files lie
        close together, or in neighbouring folders with a label that nobody else has.
        """
        if close(reach, pods):
            return True
        return _beside(reach, pods) and self._is_unique(reach.selector)

    def _is_unique(self, selector: Selector) -> bool:
        if selector not in self._unique:
            found = {pods.key for index in (self._candidates, self._nearly) for pods in islice(index(selector, None), 2)}
            self._unique[selector] = len(found) < 2
        return self._unique[selector]


def _may_match(pods: Pods, selector: Selector) -> bool:
    """Whether a selector may match some pods, if the labels that nobody tells are as it asks."""
    labels = pods.pod_labels
    told = [each for each in selector.requirements if each.key in labels.template or each.key in labels.added]
    return labels.some(Selector(tuple(told)))


def own_near_miss(reach: SelectorRef, pods: Pods) -> NearMiss | None:
    """The label of the pods themselves that a selector on them was probably meant to ask for; None when it misses them otherwise.

    It misses them by one requirement: by a slip, by another key for the same name, or by a key akin to one that they have.
    """
    labels, all_labels = pods.template_labels, pods.pod_labels
    missed = [each for each in reach.selector.requirements if not all_labels.some(Selector((each,)))]
    if len(missed) != 1 or missed[0].operator != "In":
        return None
    asked = missed[0]
    own = labels.get(asked.key)
    if own is not None and any(is_likely_typo(each, own) for each in asked.values):
        return NearMiss(asked, pods, asked.key, own, True)
    akin = [key for key in labels if _akin(key, asked.key)]
    for key, value in labels.items():
        if value in asked.values and (key in akin or (key in IDENTITY and (akin or asked.key in IDENTITY))):
            return NearMiss(asked, pods, key, value, True)
    return None


def _akin(one: str, other: str) -> bool:
    """Whether two keys are written alike: one with another prefix, one with a part more in front, or a slip."""
    if one == other:
        return False
    return _name(one) == _name(other) or one.endswith(f".{other}") or other.endswith(f".{one}") or is_likely_typo(one, other)


def _name(key: str) -> str:
    return key.rpartition("/")[2].lower()


def covers(reach: SelectorRef, namespace: str | None) -> bool:
    """Whether pods of a namespace are in reach. A manifest that leaves its namespace open may land in any."""
    scope = reach.scope
    return scope is None or namespace is None or namespace in scope


def close(reach: SelectorRef, pods: Pods) -> bool:
    """Whether a selector and some pods stand close together: the same object, namespace or folder, or one application in two folders.

    A folder counts as the same as those up to two levels below it.
    """
    if reach.site == pods.site or (reach.namespace is not None and reach.namespace == pods.namespace != "default"):
        return True
    up, down = apart(reach.site, pods.site)
    if up == 0 and down <= 2:
        return True
    return reach.application is not None and reach.application == pods.application and down <= 2


def _standing(reach: SelectorRef) -> tuple[object, ...]:
    """What a selector asks for and where it stands: all that bears on which pods it was meant for."""
    return reach.selector, reach.scope, reach.namespace, reach.application, reach.site.folder


def may_mean(reach: SelectorRef, pods: Pods) -> bool:
    """Whether pods that a selector matches are near enough to be what it is there for; not an application at the other end of the tree."""
    return (reach.namespace is not None and reach.namespace == pods.namespace) or apart(reach.site, pods.site)[1] <= 2


def _beside(reach: SelectorRef, pods: Pods) -> bool:
    """Whether two objects stand in folders side by side, as the parts of one application do, but also two applications."""
    up, down = apart(reach.site, pods.site)
    return up <= 1 and down <= 2


def apart(first: Site, second: Site) -> tuple[int, int]:
    """How many folders each of two files lies below the nearest folder that holds both, the smaller number first."""
    one, other = first.folder, second.folder
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    up, down = sorted((len(one) - shared, len(other) - shared))
    return up, down


class _Shelf:
    """Objects in the order of their files: all of them, and by the namespace that they state once somebody asks for those of some."""

    __slots__ = ("_by_namespace", "all")

    def __init__(self, pods: Iterable[Pods] = ()) -> None:
        self.all = [*pods]
        self._by_namespace: dict[str | None, list[Pods]] | None = None

    def within(self, scope: Scope) -> list[list[Pods]]:
        """The lists of those that are, or may be, in the given namespaces."""
        if scope is None:
            return [self.all]
        if self._by_namespace is None:
            self._by_namespace = {}
            for pods in self.all:
                self._by_namespace.setdefault(pods.namespace, []).append(pods)
        return [self._by_namespace[name] for name in (*dict.fromkeys(scope), None) if name in self._by_namespace]


_EMPTY_SHELF = _Shelf()


class _Index:
    """Objects by each of their (key, value) labels and by key; a selector is looked up by its rarest requirement."""

    def __init__(self, pods: list[Pods], labels_of: Callable[[Pods], Labels]) -> None:
        self.labels_of = labels_of
        self._all = _Shelf(pods)
        self._by_label: dict[tuple[str, str], list[Pods]] = {}
        self._by_key: dict[str, _Shelf] = {}
        self._shelves: dict[tuple[str, str], _Shelf] = {}
        self._places: dict[int, int] | None = None
        self._values: dict[str, dict[str, None]] = {}
        self._slips: dict[str, Slips] = {}
        self._keys_named: dict[str, dict[str, None]] = {}
        for each in pods:
            for label in labels_of(each).items():
                found = self._by_label.get(label)
                if found is not None:
                    found.append(each)
                else:
                    self._by_label[label] = [each]
                    self._values.setdefault(label[0], {})[label[1]] = None
        for key in self._values:
            self._keys_named.setdefault(_name(key), {})[key] = None

    def alike(self, requirement: Requirement) -> Iterator[tuple[str, str]]:
        """Labels that somebody has and that are easily mistaken for one that is asked for: a slip, or another key for the same name."""
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
        """The objects with a label that are, or may be, in the given namespaces."""
        return chain.from_iterable(self._labelled(key, value).within(scope))

    def candidates(self, selector: Selector, scope: Scope) -> Iterator[Pods]:
        """The objects that a selector matches in the given namespaces."""
        rarest = self._rarest([(each, self._shelves_for(each)) for each in selector.requirements], scope)
        return (each for each in chain.from_iterable(rarest) if matches(selector, self.labels_of(each)))

    def candidates_with(self, added: _AddedIndex, selector: Selector, scope: Scope) -> Iterator[Pods]:
        """The same with the labels that controllers add, of which it is known what they may be."""
        rarest = self._rarest([(each, [*self._shelves_for(each), *added.shelves(each)]) for each in selector.requirements], scope)
        unique = {each.key: each for each in chain.from_iterable(rarest)}
        return (each for each in unique.values() if each.pod_labels.some(selector))

    def _shelves_for(self, requirement: Requirement) -> list[_Shelf]:
        if requirement.operator == "In":
            return [self._labelled(requirement.key, value) for value in dict.fromkeys(requirement.values)]
        return [self._keyed(requirement.key)]

    def _labelled(self, key: str, value: str) -> _Shelf:
        """The objects with a label. Most labels are never asked for."""
        label = key, value
        if label not in self._shelves:
            self._shelves[label] = _Shelf(self._by_label[label]) if label in self._by_label else _EMPTY_SHELF
        return self._shelves[label]

    def _keyed(self, key: str) -> _Shelf:
        """The objects that have a label with a key, whatever its value."""
        if key not in self._by_key:
            if self._places is None:
                self._places = {id(each): place for place, each in enumerate(self._all.all)}
            places = self._places
            found = [each for value in self._values.get(key, ()) for each in self._by_label[key, value]]
            self._by_key[key] = _Shelf(sorted(found, key=lambda each: places[id(each)]))
        return self._by_key[key]

    def _rarest(self, shelves: Iterable[tuple[Requirement, list[_Shelf]]], scope: Scope) -> list[list[Pods]]:
        """The lists on the shelves of the requirement that has the fewest; all objects where none asks for a label."""
        best, fewest = self._all.within(scope), -1
        for requirement, found in shelves:
            if requirement.operator in _ASKING:
                lists = [each for shelf in found for each in shelf.within(scope)]
                count = sum(map(len, lists))
                if fewest < 0 or count < fewest:
                    best, fewest = lists, count
        return best


# The operators that ask for a label to be there.
_ASKING = ("In", "Exists")


class _AddedIndex:
    """Objects by the labels that controllers add to their pods: by key, and by the parts up to a dash that the values begin with."""

    def __init__(self, pods: list[Pods]) -> None:
        self._by_key: dict[str, _Shelf] = {}
        self._by_start: dict[tuple[str, str], _Shelf] = {}
        for each in pods:
            for key, values in each.pod_labels.added.items():
                start = values.prefix[: values.prefix.rfind("-") + 1] if values.rest else values.prefix
                self._by_key.setdefault(key, _Shelf()).all.append(each)
                self._by_start.setdefault((key, start), _Shelf()).all.append(each)

    def shelves(self, requirement: Requirement) -> list[_Shelf]:
        """Where those stand that may meet a requirement that asks for a label, and possibly others."""
        if requirement.operator != "In":
            return [self._by_key.get(requirement.key, _EMPTY_SHELF)]
        if requirement.key not in self._by_key:
            return []
        starts = dict.fromkeys(start for value in requirement.values for start in _starts(value))
        return [self._by_start.get((requirement.key, start), _EMPTY_SHELF) for start in starts]


def _starts(value: str) -> Iterator[str]:
    yield ""
    yield value
    for index, letter in enumerate(value):
        if letter == "-":
            yield value[: index + 1]
