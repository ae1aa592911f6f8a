"""What the manifests show of a cluster, for policies in CEL: namespaces, parameters, and the request that creates an object.

After k8s.io/apiserver/pkg/admission/plugin/policy: matching, generic and the inputs of expressions in plugin/cel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.admission.api_resources import resource_of
from afflint.admission.cel import EvaluationInput, Program
from afflint.admission.cel_kyverno import NotKnownError
from afflint.kube.selectors import NAMESPACE_NAME, Selector, matches
from afflint.manifests.manifest import labels_at, reference
from afflint.policies.admission_manifests import CREATE, AdmissionPolicy, MatchConstraints, Params, Resource
from afflint.policies.kyverno_matching import Candidate, UndecidedError, selects_unknown_namespace
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import api_version_of, kind_of

Object = dict[str, Any]


class KnownCluster:
    """The objects of a cluster among the manifests, which may be namespaces or parameters."""

    def __init__(self, objects: Iterable[Object], *, is_complete: bool = False) -> None:
        """``is_complete``: the manifests contain all objects of the cluster."""
        self._objects = [*objects]
        self._is_complete = is_complete
        self._namespaces = {ref.name: each for each in self._objects if (ref := reference(each)).kind == "Namespace" and ref.name}
        self._params: dict[tuple[str, str], list[Object]] = {}

    def is_inside(self, constraints: Iterable[MatchConstraints], asked: Resource, labels: Mapping[str, str]) -> bool | None:
        """Whether the namespace of an object has the required labels; None if its labels are unknown."""
        answers: list[bool | None] = []
        for each in constraints:
            if each.namespaces is None or not each.namespaces.requirements:
                continue
            if asked.kind == "Namespace":
                answers.append(matches(each.namespaces, {**labels, NAMESPACE_NAME: asked.name or ""}))
            elif not asked.is_cluster_scoped:
                answers.append(self._labelled(each.namespaces, asked.namespace))
        return False if False in answers else None if None in answers else True

    def _labelled(self, selector: Selector, namespace: str | None) -> bool | None:
        known = self._namespaces.get(namespace or "")
        if known is not None:
            return matches(selector, {**labels_at(known), NAMESPACE_NAME: namespace or ""})
        try:
            return selects_unknown_namespace(selector, namespace)
        except UndecidedError:
            return None

    def params_of(self, policy: AdmissionPolicy, params: Params | None, asked: Resource) -> list[Object | None] | None:
        """Return the parameters for an object, [None] if the binding has none; None if they are not among the manifests."""
        if policy.own_binding is not None and policy.own_binding.given is not None:
            return [policy.own_binding.given]
        if policy.param_kind is None or params is None:
            return [None]
        if policy.param_kind not in self._params:
            self._params[policy.param_kind] = [each for each in self._objects if (api_version_of(each), kind_of(each)) == policy.param_kind]
        inside = params.namespace or asked.namespace
        found: list[Object | None] = []
        for each in self._params[policy.param_kind]:
            _, _, own, name = reference(each)
            named = params.name is None or name == params.name
            if named and (own is None or own == inside) and (params.labels is None or matches(params.labels, labels_at(each))):
                found.append(each)
        return found or None

    def candidate(self, data: Object, namespace: str | None) -> Candidate:
        """Return an object with the labels of its namespace, for policies of Kyverno and Gatekeeper."""
        known = self._namespaces.get(namespace or "")
        labels = None if known is None else {**labels_at(known), NAMESPACE_NAME: namespace or ""}
        return Candidate(data, namespace, labels)

    def get(self, api_version: str, resource: str, namespace: str, name: str) -> Object:
        """Return an object, as ``resource.Get`` does. Raises NotKnownError, and ValueError if it certainly does not exist."""
        found = next((each for each in self._resources(api_version, resource, namespace) if reference(each).name == name), None)
        if found is not None:
            return found
        where = f" in namespace `{namespace}`" if namespace else ""
        if self._is_complete:
            raise ValueError(f"{resource} `{name}` does not exist{where}")
        raise NotKnownError(f"the manifests do not contain `{name}` of `{resource}`{where}")

    def list(self, api_version: str, resource: str, namespace: str, labels: Mapping[str, str]) -> Object:
        """Return the objects of a resource, as ``resource.List`` does. Raises NotKnownError."""
        if not self._is_complete:
            raise NotKnownError(f"it needs all `{resource}`, and the manifests may not be all; set `complete: true` if they are")
        found = [each for each in self._resources(api_version, resource, namespace) if labels.items() <= labels_at(each).items()]
        return {"apiVersion": api_version, "kind": "List", "items": found}

    def _resources(self, api_version: str, resource: str, namespace: str) -> Iterator[Object]:
        group = api_version.rpartition("/")[0]
        for each in self._objects:
            ref = reference(each)
            own = (ref.api_version or "").rpartition("/")[0]
            if own == group and resource_of(ref.kind or "") == resource and namespace in ("", ref.namespace):
                yield each

    def inputs(
        self,
        variables: Mapping[str, Program | None],
        asked: Resource,
        stored: Object,
        params: Object | None,
        more: Mapping[str, Any] | None = None,
    ) -> EvaluationInput:
        """Return the inputs of expressions for an object that is created; ``more`` are values of further names.

        Raises EvaluationError if the object is too large.
        """
        values: dict[str, Any] = {"object": stored, "oldObject": None, "params": params, "request": request(asked), **(more or {})}
        known = self._namespaces.get(asked.namespace or "")
        if asked.is_cluster_scoped or asked.kind == "Namespace":
            values["namespaceObject"] = None
        elif asked.namespace is not None:
            values["namespaceObject"] = namespace_object(asked.namespace, known)
        return EvaluationInput(values, variables, only_names_namespace=known is None, lookup=self)


def namespace_object(name: str, known: Object | None) -> Object:
    """Return a namespace with the label that the API server adds; without its manifest, only its name and this label."""
    labels = {**labels_at(known or {}), NAMESPACE_NAME: name}
    return {**(known or {}), "metadata": {**map_at(known or {}, "metadata"), "name": name, "labels": labels}}


def unknown_namespace(asked: Resource) -> str:
    """Return the reason why the labels of an object's namespace are unknown."""
    name = f"`{asked.namespace}`" if asked.namespace else "the object"
    lacks = "is not among the manifests" if asked.namespace else "does not set a namespace"
    return f"it depends on the labels of the namespace, but {name} {lacks}"


def resource(data: Object) -> Resource | None:
    """Return the resource of an object that is created, or None if it has no apiVersion or kind."""
    ref = reference(data)
    if ref.api_version is None or ref.kind is None:
        return None
    group, _, number = ref.api_version.rpartition("/")
    return Resource(group, number, ref.kind, resource_of(ref.kind), ref.name, ref.namespace)


def request(asked: Resource) -> Object:
    """Return the request that creates an object, without what only the cluster knows, such as the user."""
    kind = {"group": asked.group, "version": asked.version, "kind": asked.kind}
    resource = {"group": asked.group, "version": asked.version, "resource": asked.resource}
    named = {"name": asked.name or "", **({"namespace": asked.namespace} if asked.namespace is not None else {})}
    more = {"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource}
    return {**more, "operation": CREATE, "dryRun": False, "options": {}, **named}
