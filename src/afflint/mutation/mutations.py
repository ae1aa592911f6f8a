"""The objects of a run as the cluster stores them: changed by mutating policies, with what each rule changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.created_pods import created_pod
from afflint.kube.kinds import KINDS, identify
from afflint.kube.manifests import maps_at_steps, reference
from afflint.mutation.kyverno import namespace_labels
from afflint.mutation.undecided import UndecidedError
from afflint.yaml.document import map_at

_POD = "Pod"


class ObjectRule(Protocol):
    """A rule that changes objects.

    ``only_first``: no further rule of the policy applies to an object that this rule changes. ``reinvoked``: the rule applies again after
    later rules have changed the object.
    """

    @property
    def policy(self) -> str:
        """The name of the policy."""

    @property
    def only_first(self) -> bool: ...

    @property
    def reinvoked(self) -> bool: ...

    def kinds(self) -> frozenset[str]:
        """Return the names of the kinds that the rule may apply to, ``*`` for any."""

    def changed(self, data: dict[str, Any], namespace_labels: Mapping[str, str] | None, namespace: str | None, /) -> dict[str, Any]:
        """Return an object as the rule changes it; the same object if the rule does not apply. Raises UndecidedError."""


class PlacementRule(ObjectRule, Protocol):
    """The rule of a policy: its name, and the path in the policy to what it changes."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def touches_placement(self) -> bool:
        """Whether it may change a field that decides where pods run."""

    @property
    def touches_constraints(self) -> bool:
        """Whether it may change more than labels and replicas, which affect placement only through other objects."""


class Change(NamedTuple):
    """What one rule changes in an object: the number of the rule, and the paths of the values that differ."""

    rule: int
    paths: tuple[Path, ...]


class Mutation(NamedTuple):
    """An object after all rules, with their changes in their order, and the rules that are undecided for it, with reasons.

    ``data`` has the changes of its pods in its templates, ``stored`` has them not.
    """

    data: dict[str, Any]
    stored: dict[str, Any]
    changes: tuple[Change, ...] = ()
    undecided: tuple[tuple[int, str], ...] = ()


class Mutator:
    """Applies rules to objects, each with its number. ``namespaces`` are the Namespace objects by name."""

    def __init__(self, rules: Iterable[tuple[int, ObjectRule]], namespaces: Mapping[str, dict[str, Any]]) -> None:
        self._rules = list(rules)
        self._namespaces = namespaces
        self._kinds = {number: rule.kinds() for number, rule in self._rules}

    def may_change(self, kind: str) -> bool:
        """Return whether a rule may apply to objects of a kind, or to pods that they create."""
        return any(not kinds.isdisjoint((kind, "*")) for kinds in self._kinds.values()) or (
            any(not kinds.isdisjoint((_POD, "*")) for kinds in self._kinds.values()) and bool(_template_paths(kind))
        )

    def mutation(self, data: dict[str, Any]) -> Mutation:
        """Return an object as the cluster stores it, with the pods of its templates as the cluster stores those."""
        ref = reference(data)
        labels = namespace_labels(self._namespaces, ref.namespace)
        changes: list[Change] = []
        undecided: dict[int, str] = {}
        result = stored = self._changed(data, labels, ref.namespace, (), changes, undecided)
        for path in _template_paths_of(result):
            for template, at in list(maps_at_steps(result, (), path)):
                pod = created_pod(ref, template)
                after = self._changed(pod, labels, ref.namespace, at, changes, undecided)
                if after is not pod:
                    result = replaced(result, at, _template_with(template, after))
        return Mutation(result, stored, tuple(changes), tuple(undecided.items()))

    def _changed(
        self,
        data: dict[str, Any],
        labels: Mapping[str, str] | None,
        namespace: str | None,
        base: Path,
        changes: list[Change],
        undecided: dict[int, str],
    ) -> dict[str, Any]:
        done: set[str] = set()
        known: dict[int, dict[str, Any]] = {}  # The objects that the rules have returned.
        for number, rule in [*self._rules, *(each for each in self._rules if each[1].reinvoked)]:
            if known.get(number) is data or rule.policy in done or self._kinds[number].isdisjoint((str(data.get("kind")), "*")):
                continue
            try:
                after = rule.changed(data, labels, namespace)
            except UndecidedError as error:
                undecided.setdefault(number, str(error))
                continue
            paths = tuple([(*base, *path) for path in _differences(data, after)])
            if paths:
                changes.append(Change(number, paths))
                data = after
                if rule.only_first:
                    done.add(rule.policy)
            known[number] = data
        return data


def _template_paths(kind: str) -> Iterable[Path]:
    return [template.path for each in KINDS if each.name == kind and not each.kubevirt for template in each.templates if template.path]


def _template_paths_of(data: dict[str, Any]) -> Iterable[Path]:
    kind = identify(data.get("apiVersion"), data.get("kind"), None).kind
    return () if kind is None or kind.kubevirt else [template.path for template in kind.templates if template.path]


def _template_with(template: dict[str, Any], pod: dict[str, Any]) -> dict[str, Any]:
    """Return a pod template with the labels, the annotations and the spec of a changed pod."""
    metadata = dict(template["metadata"]) if isinstance(template.get("metadata"), dict) else {}
    own = map_at(pod, "metadata")
    metadata |= {field: own[field] for field in ("labels", "annotations") if field in own}
    return {**template, **({"metadata": metadata} if metadata else {}), "spec": map_at(pod, "spec")}


def replaced(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of ``data`` with another value at a path."""
    if not path:
        return value
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


def transferred(data: Any, before: Any, after: Any) -> Any:
    """Return ``data`` with the differences between two objects; ``before`` is ``data`` with further fields."""
    for path in _differences(before, after):
        data = _with_value(data, path, after)
    return data


def _with_value(data: Any, path: Path, after: Any) -> Any:
    """Return a copy of ``data`` with the value that ``after`` has at a path, or without a value if it has none."""
    if not path:
        return after
    copy: Any = list(data) if isinstance(data, list) else dict(data) if isinstance(data, dict) else {}
    step: Any = path[0]
    if isinstance(after, dict) and step not in after:
        copy.pop(step, None)
    else:
        copy[step] = _with_value(copy.get(step) if isinstance(copy, dict) else copy[step], path[1:], after[step])
    return copy


def _differences(one: Any, other: Any) -> Iterator[Path]:
    """Yield the paths of the values that differ, or that only one side has."""
    if one is other:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key not in one or key not in other:
                yield (key,)
            else:
                yield from ((key, *path) for path in _differences(one[key], other[key]))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from ((index, *path) for path in _differences(left, right))
    elif one != other or type(one) is not type(other):
        yield ()
