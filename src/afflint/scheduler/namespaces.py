"""Objects that the scheduler reads besides nodes and pods: namespaces, services and the owners of pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import InventoryError, error_in, fail, mapping, metadata, string, string_map
from afflint.kube.selectors import (
    EVERYTHING,
    NAMESPACE_NAME,
    Malformed,
    Parsed,
    Requirement,
    Selector,
    from_labels,
    intersection,
    matches,
    parse_label_selector,
)
from afflint.scheduler.pods import Pod, Subject, Term
from afflint.scheduler.profile import Profile

_OWNERS = {("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}


class Namespace(NamedTuple):
    """A Namespace: its name and labels, with the name label that the API server adds."""

    name: str
    labels: dict[str, str]


class Service(NamedTuple):
    """A Service, whose selector spreads pods without constraints. ``selector`` is None if it selects no pods."""

    namespace: str
    name: str
    selector: dict[str, str] | None


class Directory:
    """Namespaces by name, services by namespace, and the selectors of ReplicaSets, StatefulSets and ReplicationControllers.

    Namespaces and services may be compiled already; all other objects are given as parsed.
    """

    def __init__(
        self,
        namespaces: Iterable[object] = (),
        services: Iterable[object] = (),
        replica_sets: Iterable[object] = (),
        stateful_sets: Iterable[object] = (),
        replication_controllers: Iterable[object] = (),
        profiles: Mapping[str, Profile] | None = None,
    ) -> None:
        self.profiles = profiles or {}
        """The configured profiles of the scheduler by name; empty if there is no configuration."""
        self.namespaces = dict(each if isinstance(each, Namespace) else read_namespace(each) for each in namespaces)
        self._services: dict[str, list[dict[str, str]]] = {}
        for each in services:
            service = each if isinstance(each, Service) else read_service(each)
            if service.selector is not None:
                self._services.setdefault(service.namespace, []).append(service.selector)
        self._owners: dict[tuple[str, str, str], Parsed] = {}
        for kind, owners, parse in (
            ("ReplicaSet", replica_sets, parse_label_selector),
            ("StatefulSet", stateful_sets, parse_label_selector),
            ("ReplicationController", replication_controllers, from_labels),
        ):
            self._owners.update(_read_owner(owner, kind, parse) for owner in owners)
        self._scopes: dict[tuple[frozenset[str], Selector | None], frozenset[str] | None] = {}
        self._defaults: dict[tuple[Subject, tuple[str, str, str] | None], Selector] = {}

    def scope(self, term: Term) -> frozenset[str] | None:
        """Return the namespaces that a term of an incoming pod covers; None means all, even without a Namespace object."""
        key = (term.namespaces, term.namespace_selector)
        if key not in self._scopes:
            self._scopes[key] = self._resolve(*key)
        return self._scopes[key]

    def _resolve(self, names: frozenset[str], selector: Selector | None) -> frozenset[str] | None:
        if selector is None:
            return names
        if selector == EVERYTHING:
            return None
        return names.union(name for name, labels in self.namespaces.items() if matches(selector, labels))

    def covers(self, term: Term, namespace: str) -> bool:
        """Return whether a term of a running pod covers the namespace of an incoming pod, which without an object has no labels."""
        return namespace in term.namespaces or matches(term.namespace_selector, self.namespaces.get(namespace, {}))

    def default_selector(self, pod: Pod) -> Selector:
        """Return the selector for the default spread of a pod: that of its services and its owner, everything if none.

        Semantics: DefaultSelector (pkg/scheduler/framework/plugins/helper/spread.go).
        """
        key = (pod.subject, pod.controller)
        if key not in self._defaults:
            self._defaults[key] = self._combine(pod)
        return self._defaults[key]

    def _combine(self, pod: Pod) -> Selector:
        merged: dict[str, str] = {}
        for selector in self._services.get(pod.namespace, ()):
            if selector.items() <= pod.labels.items():
                merged.update(selector)
        combined = Selector(tuple([Requirement(key, "In", (value,)) for key, value in merged.items()]))
        if pod.controller is not None and pod.controller[:2] in _OWNERS:
            _, kind, name = pod.controller
            owner = self._owners.get((kind, pod.namespace, name))
            if isinstance(owner, Selector):
                return intersection(combined, owner)
        return combined


def namespace_by_name(name: str) -> Namespace:
    """Return a Namespace with the labels that the API server gives a namespace without any."""
    return Namespace(name, {NAMESPACE_NAME: name})


def read_namespace(data: object) -> Namespace:
    """Read a Namespace object as parsed from YAML or JSON. Raises InventoryError."""
    name, meta, _ = metadata(data, "Namespace")
    try:
        return Namespace(name, {**string_map(meta.get("labels"), "metadata.labels"), NAMESPACE_NAME: name})
    except InventoryError as error:
        raise error_in("Namespace", name, error) from None


def read_service(data: object) -> Service:
    """Read a Service object as parsed from YAML or JSON. Raises InventoryError."""
    name, meta, whole = metadata(data, "Service")
    try:
        selector = mapping(whole.get("spec"), "spec").get("selector")
        return Service(_namespace(meta), name, None if selector is None else string_map(selector, "spec.selector"))
    except InventoryError as error:
        raise error_in("Service", name, error) from None


def _read_owner(data: object, kind: str, parse: Callable[[object], Parsed]) -> tuple[tuple[str, str, str], Parsed]:
    name, meta, whole = metadata(data, kind)
    try:
        selector = parse(mapping(whole.get("spec"), "spec").get("selector"))
        if isinstance(selector, Malformed) and selector.mistyped:
            fail("spec.selector" + "".join(f"[{step!r}]" for step in selector.path), selector.problem)
        return (kind, _namespace(meta), name), selector
    except InventoryError as error:
        raise error_in(kind, name, error) from None


def _namespace(meta: dict[str, Any]) -> str:
    return string(meta.get("namespace"), "metadata.namespace") or "default"
