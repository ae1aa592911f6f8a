"""All manifests of a run taken together: which pods a selector reaches, by an index over labels instead of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from afflint.facts import Facts, Pods, Reach, Site
from afflint.kube.manifests import Labels
from afflint.kube.selectors import Requirement, Selector, holds, matches


class Fleet:
    """The facts of a run, indexed. Selecting costs what it finds, not what there is."""

    def __init__(self, facts: Iterable[Facts]) -> None:
        self.pods: list[Pods] = []
        self.reaches: list[Reach] = []
        for each in facts:
            self.pods += each.pods
            self.reaches += each.reaches
        self._reaches_by_site: dict[Site, list[Reach]] = {}
        self._by_site: dict[Site, list[Pods]] = {}
        for pods in self.pods:
            self._by_site.setdefault(pods.site, []).append(pods)
        self._by_template = _Index(self.pods, lambda pods: pods.template_labels)
        self._by_merged = _Index([pods for pods in self.pods if pods.has_own_template and pods.labels], lambda pods: pods.merged_labels)

    def selected(self, reach: Reach) -> Iterator[Pods]:
        """The objects whose pods the selector matches, in namespaces that it covers."""
        return (pods for pods in self._by_template.candidates(reach.selector) if covers(reach, pods.namespace))

    def selected_by_all(self, reaches: Sequence[Reach]) -> Iterator[Pods]:
        """The objects whose pods meet every one of the terms."""
        rest = reaches[1:]
        for pods in self.selected(reaches[0]):
            if all(covers(each, pods.namespace) and matches(each.selector, pods.template_labels) for each in rest):
                yield pods

    def selected_anywhere(self, reach: Reach, most: int) -> list[Pods]:
        """Up to so many objects whose pods the selector matches in whatever namespace."""
        return list(islice(self._by_template.candidates(reach.selector), most))

    def owner(self, reach: Reach) -> Pods | None:
        """The object whose pods carry this term; None for what makes no pods itself."""
        for pods in self._by_site.get(reach.site, ()):
            if reach.path[: len(pods.template_path)] == pods.template_path:
                return pods
        return None

    def reaches_of(self, pods: Pods) -> list[Reach]:
        """The terms and spread constraints that these pods carry."""
        if not self._reaches_by_site:
            for reach in self.reaches:
                self._reaches_by_site.setdefault(reach.site, []).append(reach)
        return [reach for reach in self._reaches_by_site.get(pods.site, ()) if self.owner(reach) is pods]

    def near_miss(self, reach: Reach) -> tuple[Pods, str, str, bool] | None:
        """A label that was probably meant by a selector that matches nothing: (object, key, value, whether it stands on the template)."""
        for requirement in reach.selector.requirements:
            if requirement.operator != "In":
                continue
            for in_template, index in ((True, self._by_template), (False, self._by_merged)):
                for value in index.values_of(requirement.key):
                    if any(is_slip(asked, value) for asked in requirement.values):
                        for pods in index.with_label(requirement.key, value):
                            if pods.site != reach.site and covers(reach, pods.namespace) and near(reach, pods):
                                return pods, requirement.key, value, in_template
        return None

    @staticmethod
    def slip(selector: Selector, labels: Labels) -> tuple[Requirement, str] | None:
        """The one requirement that labels miss by a slip of the pen, with their value; None when they miss more or otherwise."""
        missed = [each for each in selector.requirements if not holds(each, labels.get(each.key))]
        if len(missed) != 1 or missed[0].operator != "In":
            return None
        value = labels.get(missed[0].key)
        return (missed[0], value) if value is not None and any(is_slip(asked, value) for asked in missed[0].values) else None

    def nearly_selected(self, reach: Reach) -> Iterator[Pods]:
        """The objects whose pods would be matched if the object's own labels stood on the pod template as well."""
        return (pods for pods in self._by_merged.candidates(reach.selector) if covers(reach, pods.namespace))


def covers(reach: Reach, namespace: str | None) -> bool:
    """Whether pods of a namespace are in reach. A manifest that leaves its namespace open may land in any."""
    if reach.everywhere or namespace is None:
        return True
    if reach.namespaces:
        return namespace in reach.namespaces
    return reach.namespace is None or reach.namespace == namespace


def is_slip(asked: str, value: str) -> bool:
    """Whether two values differ by a slip of the pen: case, dashes, or two neighbouring letters or so; not two names that share a part."""
    if asked == value or not asked or not value:
        return False
    if asked.replace("-", "").replace("_", "").lower() == value.replace("-", "").replace("_", "").lower():
        return True
    if min(len(asked), len(value)) < 4 or abs(len(asked) - len(value)) > 1 or asked[0] != value[0]:
        return False
    if any(character.isdigit() for character in (set(asked) ^ set(value))):
        return False  # web-1 and web-2 are two things.
    start = next((index for index, (one, other) in enumerate(zip(asked, value, strict=False)) if one != other), min(len(asked), len(value)))
    end = next((index for index, (one, other) in enumerate(zip(reversed(asked), reversed(value), strict=False)) if one != other), 0)
    differing = max(len(asked), len(value)) - start - end
    one, other = asked[start : len(asked) - end], value[start : len(value) - end]
    return differing <= 1 or (differing == 2 and one == other[::-1])


def near(reach: Reach, pods: Pods) -> bool:
    """Whether a near miss between two objects is one: they name the same namespace, or their files lie close together.

    A large repository holds many applications with the same few labels, and most do not name their namespace.
    """
    if reach.namespace is not None and reach.namespace == pods.namespace:
        return True
    first, second = _folders(reach.site.file), _folders(pods.site.file)
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    apart = sorted((len(first) - shared, len(second) - shared))
    return apart[0] <= 1 and apart[1] <= 2


def _folders(file: str) -> list[str]:
    return file.replace("\\", "/").split("/")[:-1]


class _Index:
    """Objects by each of their (key, value) labels and by key; a selector is looked up by its rarest requirement."""

    def __init__(self, pods: list[Pods], labels_of: Callable[[Pods], Labels]) -> None:
        self._pods = pods
        self._labels_of = labels_of
        self._by_label: dict[tuple[str, str], list[Pods]] = {}
        self._by_key: dict[str, list[Pods]] = {}
        self._values: dict[str, dict[str, None]] = {}
        for each in pods:
            for key, value in labels_of(each).items():
                self._by_label.setdefault((key, value), []).append(each)
                self._by_key.setdefault(key, []).append(each)
                self._values.setdefault(key, {})[value] = None

    def values_of(self, key: str) -> Iterator[str]:
        """The values that a label has anywhere."""
        return iter(self._values.get(key, ()))

    def with_label(self, key: str, value: str) -> list[Pods]:
        return self._by_label.get((key, value), [])

    def candidates(self, selector: Selector) -> Iterator[Pods]:
        best = self._pods
        for requirement in selector.requirements:
            if requirement.operator == "In":
                found = [each for value in dict.fromkeys(requirement.values) for each in self._by_label.get((requirement.key, value), ())]
            elif requirement.operator == "Exists":
                found = self._by_key.get(requirement.key, [])
            else:
                continue
            if len(found) < len(best):
                best = found
        return (each for each in best if matches(selector, self._labels_of(each)))
