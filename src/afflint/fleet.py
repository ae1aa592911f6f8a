"""All manifests of a run taken together: which pods a selector reaches, by an index over labels instead of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from afflint.facts import Facts, Pods, Reach
from afflint.kube.manifests import Labels
from afflint.kube.selectors import Selector, matches


class Fleet:
    """The facts of a run, indexed. Selecting costs what it finds, not what there is."""

    def __init__(self, facts: Iterable[Facts]) -> None:
        self.pods: list[Pods] = []
        self.reaches: list[Reach] = []
        for each in facts:
            self.pods += each.pods
            self.reaches += each.reaches
        self._by_template = _Index(self.pods, lambda pods: pods.template_labels)
        self._by_merged = _Index([pods for pods in self.pods if pods.has_own_template and pods.labels], lambda pods: pods.merged_labels)

    def selected(self, reach: Reach) -> Iterator[Pods]:
        """The objects whose pods the selector matches, in namespaces that it covers."""
        return (pods for pods in self._by_template.candidates(reach.selector) if covers(reach, pods.namespace))

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
        for each in pods:
            for key, value in labels_of(each).items():
                self._by_label.setdefault((key, value), []).append(each)
                self._by_key.setdefault(key, []).append(each)

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
