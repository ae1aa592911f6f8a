"""ValidatingAdmissionPolicies and their bindings, as manifests have them: what the API server reads in them, with where it stands.

Group admissionregistration.k8s.io, versions v1, v1beta1 and v1alpha1, which are alike as far as this goes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afflint.admission.api_resources import CLUSTER_SCOPED, equivalents
from afflint.findings.finding import ObjectRef, Path, Severity, Span, field_of
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifests import objects_in, reference
from afflint.kube.selectors import Malformed, Selector, matches, parse_label_selector
from afflint.policies.admission_validation import binding_faults, policy_faults
from afflint.policies.params import TEXTS, param
from afflint.source.files import read_regular
from afflint.yaml.document import Document, list_at, map_at, text_at
from afflint.yaml.documents import read, split, to_utf8

GROUP, POLICY, BINDING = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_LARGEST = 8 << 20
_CREATE = "CREATE"
_SEVERITIES: Mapping[str, Severity] = {"Deny": "error", "Warn": "warning", "Audit": "info"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionManifests:
    """The files that the policy, its bindings and its parameters are among."""

    manifests: tuple[str, ...] = param(TEXTS, "Files with the policy, its bindings and its parameters.")


class Expression(NamedTuple):
    """An expression with where it stands; what is said where it does not hold, or the expression that says it.

    ``path`` is the path of what holds the expression and its message, below the policy.
    """

    text: str
    place: str
    message: str | None = None
    message_text: str | None = None
    name: str = ""
    path: Path = ()


class Fault(NamedTuple):
    """Something for which the API server refuses a policy or a binding: of which policy, where, and what."""

    policy: str
    file: str
    document: int
    span: Span
    object: ObjectRef
    field: str
    message: str


class PolicyOrigin(NamedTuple):
    """Where a policy or a binding was read."""

    policy: str
    file: str
    document: Document
    data: dict[str, Any]
    base: Path

    def place(self, path: Path) -> str:
        """Where something of the object stands: file, line and column."""
        span = self.document.locate((*self.base, *path))
        return f"{self.file.replace(os.sep, '/')}:{span.line}:{span.column}"

    def fault(self, path: Path, message: str) -> Fault:
        """A fault at a path below the object."""
        span = self.document.locate((*self.base, *path))
        return Fault(self.policy, self.file, self.document.index, span, reference(self.data), field_of(path), message)


class ResourceRule(NamedTuple):
    """Resources that a policy is about."""

    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    names: tuple[str, ...]
    scope: str

    def covers(self, asked: Resource, *, equivalent: bool) -> bool:
        """Whether an object is of such a resource; ``equivalent``: also under another group or version."""
        if self.names and asked.name not in self.names:
            return False
        if "*" not in self.operations and _CREATE not in self.operations:
            return False
        if self.scope != "*" and (self.scope == "Cluster") != asked.is_cluster_scoped:
            return False
        if not self.names_resource(asked.resource):
            return False
        own = (asked.group, asked.version)
        served = equivalents(*own, asked.resource) if equivalent else (own,)
        return any(
            ("*" in self.groups or group in self.groups) and ("*" in self.versions or not version or version in self.versions)
            for group, version in served
        )

    def names_resource(self, resource: str) -> bool:
        """Whether it names a resource itself: ``deployments/*`` are its subresources and the resource."""
        return any(each in ("*", "*/*", resource, f"{resource}/*") for each in self.resources)


class Resource(NamedTuple):
    """What an object is to the API server."""

    group: str
    version: str
    kind: str
    resource: str
    name: str | None
    namespace: str | None

    @property
    def is_cluster_scoped(self) -> bool:
        return self.kind in CLUSTER_SCOPED and self.namespace is None


class MatchConstraints(NamedTuple):
    """Which objects a policy or a binding is about; without rules all."""

    rules: tuple[ResourceRule, ...] | None = None
    excluded: tuple[ResourceRule, ...] = ()
    namespaces: Selector | None = None
    objects: Selector | None = None
    equivalent: bool = True

    def covers(self, asked: Resource, labels: Mapping[str, str]) -> bool:
        """Whether an object is meant, apart from its namespace."""
        if any(each.covers(asked, equivalent=self.equivalent) for each in self.excluded):
            return False
        if self.rules is not None and not any(each.covers(asked, equivalent=self.equivalent) for each in self.rules):
            return False
        return self.objects is None or matches(self.objects, labels)


EVERYTHING = MatchConstraints()


class AdmissionPolicy(NamedTuple):
    """A ValidatingAdmissionPolicy. ``param_kind`` are the apiVersion and the kind of its parameters."""

    name: str
    origin: PolicyOrigin
    constraints: MatchConstraints
    conditions: tuple[Expression, ...] = ()
    variables: tuple[Expression, ...] = ()
    validations: tuple[Expression, ...] = ()
    annotations: tuple[Expression, ...] = ()
    param_kind: tuple[str, str] | None = None
    fails_closed: bool = True
    """Whether an error of an expression denies a request: ``failurePolicy``."""
    faults: tuple[Fault, ...] = ()
    """What the API server refuses in it, apart from its expressions."""

    @property
    def place(self) -> str:
        """Where its name stands."""
        return self.origin.place(("metadata", "name"))


class Params(NamedTuple):
    """Which objects are the parameters of a binding: one by its name, or those with some labels. ``namespace``: None for the object's."""

    name: str | None
    namespace: str | None
    labels: Selector | None


class Binding(NamedTuple):
    """A ValidatingAdmissionPolicyBinding. ``severity`` is what its actions come to."""

    name: str
    policy: str
    severity: Severity
    constraints: MatchConstraints
    params: Params | None = None
    faults: tuple[Fault, ...] = ()


class Admission(NamedTuple):
    """What files hold of admission: policies, bindings, and all other objects, which may be parameters or namespaces."""

    policies: tuple[AdmissionPolicy, ...]
    bindings: tuple[Binding, ...]
    objects: tuple[dict[str, Any], ...]
    problems: tuple[str, ...] = ()
    """What of it cannot be used, with its place."""


def looks_like_manifest(raw: bytes) -> bool:
    """Whether a file that ``policies`` names holds objects for a cluster: a configuration says no apiVersion."""
    return re.search(rb"""(?m)^[ \t]*(?:- )?[{]?[ \t]*["']?apiVersion["']?[ \t]*:""", raw) is not None


def read_admission(paths: Iterable[str]) -> Admission:
    """What is in files. Raises OSError for one that cannot be read."""
    policies: list[AdmissionPolicy] = []
    bindings: list[Binding] = []
    objects: list[dict[str, Any]] = []
    problems: list[str] = []
    for path in paths:
        try:
            data = to_utf8(read_regular(path, _LARGEST))
        except UnicodeDecodeError:
            problems.append(f"{path}:1:1: it cannot be decoded")
            continue
        for index, (piece, line, _) in enumerate(split(data)):
            document = read(piece, index, line)
            if document.problem is not None:
                span = document.problem.span
                problems.append(f"{path}:{span.line}:{span.column}: {document.problem.message}")
            for each, base in objects_in(document):
                reader = _PolicyReader(path, document, each, base)
                if _is(each, POLICY):
                    policies += reader.policy()
                elif _is(each, BINDING):
                    bindings += reader.binding()
                else:
                    objects.append(each)
                problems += reader.problems
    return Admission(tuple(policies), tuple(bindings), tuple(objects), tuple(problems))


def policies_in(path: str) -> list[str]:
    """The names of the policies in a file, each once."""
    return list(dict.fromkeys(policy.name for policy in read_admission([path]).policies))


def _is(data: Mapping[str, Any], kind: str) -> bool:
    version = data.get("apiVersion")
    return data.get("kind") == kind and type(version) is str and version.startswith(f"{GROUP}/")


class _PolicyReader:
    """Reads one object, and notes what of it cannot be used."""

    def __init__(self, file: str, document: Document, data: dict[str, Any], base: Path) -> None:
        name = text_at(data, "spec", "policyName") if _is(data, BINDING) else text_at(data, "metadata", "name")
        self._data, self._origin = data, PolicyOrigin(name, file, document, data, base)
        self.problems: list[str] = []

    def policy(self) -> Iterator[AdmissionPolicy]:
        spec, name = map_at(self._data, "spec"), text_at(self._data, "metadata", "name")
        if not name:
            self._refuse(("metadata",), "a policy without a name")
            return
        kind = map_at(spec, "paramKind")
        named = (str(kind.get("apiVersion", "")), str(kind.get("kind", ""))) if kind else None
        yield AdmissionPolicy(
            name,
            self._origin,
            self._constraints(spec, "matchConstraints"),
            tuple(self._expressions(spec, "matchConditions")),
            tuple(self._expressions(spec, "variables")),
            tuple(self._expressions(spec, "validations")),
            tuple(self._expressions(spec, "auditAnnotations", "valueExpression")),
            named,
            spec.get("failurePolicy") != "Ignore",
            tuple(self._origin.fault(*fault) for fault in policy_faults(self._data)),
        )

    def binding(self) -> Iterator[Binding]:
        spec, name = map_at(self._data, "spec"), text_at(self._data, "metadata", "name")
        policy = text_at(spec, "policyName")
        actions = [each for each in list_at(spec, "validationActions") if type(each) is str and each in _SEVERITIES]
        if not policy:
            self._refuse(("spec",), "a binding needs `policyName`")
            return
        referred = map_at(spec, "paramRef")
        params = None
        if referred:
            selector = self._selector(referred, "selector", ("spec", "paramRef"))
            params = Params(text_at(referred, "name") or None, text_at(referred, "namespace") or None, selector)
        severity: Severity = next((_SEVERITIES[each] for each in _SEVERITIES if each in actions), "error")
        faults = tuple(self._origin.fault(*fault) for fault in binding_faults(self._data))
        yield Binding(name, policy, severity, self._constraints(spec, "matchResources"), params, faults)

    def _refuse(self, path: Path, message: str) -> None:
        self.problems.append(f"{self._origin.place(path)}: {message}")

    def _expressions(self, spec: Mapping[str, Any], field: str, key: str = "expression") -> Iterator[Expression]:
        for index, each in enumerate(list_at(spec, field)):
            path: Path = ("spec", field, index)
            text = text_at(each, key)
            if text.strip():
                message, made = (text_at(each, key).strip() or None for key in ("message", "messageExpression"))
                yield Expression(text, self._origin.place((*path, key)), message, made, text_at(each, "name"), path)

    def _constraints(self, spec: Mapping[str, Any], field: str) -> MatchConstraints:
        said = spec.get(field)
        if type(said) is not dict:
            return EVERYTHING if field == "matchResources" else MatchConstraints(())
        rules = tuple(map(_rule, list_at(said, "resourceRules")))
        return MatchConstraints(
            rules if rules or field == "matchConstraints" else None,
            tuple(map(_rule, list_at(said, "excludeResourceRules"))),
            self._selector(said, "namespaceSelector", ("spec", field)),
            self._selector(said, "objectSelector", ("spec", field)),
            said.get("matchPolicy") != "Exact",
        )

    def _selector(self, data: Mapping[str, Any], field: str, path: Path) -> Selector | None:
        if data.get(field) is None:
            return None
        parsed = parse_label_selector(data[field])
        if isinstance(parsed, Malformed):
            self._refuse((*path, field, *parsed.path), f"this {parsed.problem}")
        return parsed if isinstance(parsed, Selector) else None


def _rule(data: Any) -> ResourceRule:
    fields = ("apiGroups", "apiVersions", "resources", "operations", "resourceNames")
    groups, versions, resources, operations, names = (tuple(str(each) for each in list_at(data, field)) for field in fields)
    return ResourceRule(groups, versions, resources, operations, names, text_at(data, "scope") or "*")
