"""Admission policies in CEL and their bindings, read from manifests with their positions.

ValidatingAdmissionPolicies and MutatingAdmissionPolicies of the group admissionregistration.k8s.io, versions v1, v1beta1 and v1alpha1,
which have the same fields for what is read here, and Kyverno's MutatingPolicies (policies.kyverno.io), which have these fields as well.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from afflint.admission.api_resources import CLUSTER_SCOPED, equivalents
from afflint.findings.finding import ObjectRef, Severity, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step, field_of
from afflint.kube.selectors import Malformed, Selector, matches, parse_label_selector
from afflint.manifests.manifest import reference
from afflint.policies.admission_validation import binding_faults, policy_faults
from afflint.yaml.document import Document, list_at, map_at, text_at
from afflint.yaml.object_fields import api_version_of, kind_of, name_of

GROUP, POLICY, BINDING = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
CREATE = "CREATE"
"""The operation of the requests that are judged: objects are created."""
_SEVERITIES: Mapping[str, Severity] = {"Deny": "error", "Warn": "warning", "Audit": "info"}


class Expression(NamedTuple):
    """A CEL expression with its position, and the message if it is false, or the expression that returns the message.

    ``path`` is the path, below the policy, of the map that contains the expression and its message.
    """

    text: str
    place: str
    message: str | None = None
    message_text: str | None = None
    name: str = ""
    path: Path = ()


class Fault(NamedTuple):
    """A reason why the API server rejects a policy or a binding, with its position."""

    policy: str
    file: str
    document: int
    span: Span
    object: ObjectRef
    field: str
    message: str


class PolicyOrigin(NamedTuple):
    """The document that a policy or a binding was read from."""

    policy: str
    file: str
    document: Document
    data: dict[str, Any]
    base: Path

    def place(self, path: Path) -> str:
        """Return the position of a path below the object, as ``file:line:column``."""
        span = self.document.locate((*self.base, *path))
        return f"{self.file.replace(os.sep, '/')}:{span.line}:{span.column}"

    def fault(self, path: Path, message: str) -> Fault:
        """Return a fault at a path below the object."""
        span = self.document.locate((*self.base, *path))
        return Fault(self.policy, self.file, self.document.index, span, reference(self.data), field_of(path), message)


class ResourceRule(NamedTuple):
    """Resources that a policy applies to: one item of ``resourceRules``."""

    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    names: tuple[str, ...]
    scope: str

    def covers(self, target: Resource, *, equivalent: bool) -> bool:
        """Return whether an object is of such a resource; ``equivalent``: also under another group or version."""
        if self.names and target.name not in self.names:
            return False
        if "*" not in self.operations and CREATE not in self.operations:
            return False
        if self.scope != "*" and (self.scope == "Cluster") != target.is_cluster_scoped:
            return False
        if not self.names_resource(target.resource):
            return False
        own = (target.group, target.version)
        served = equivalents(*own, target.resource) if equivalent else (own,)
        return any(
            ("*" in self.groups or group in self.groups) and ("*" in self.versions or not version or version in self.versions)
            for group, version in served
        )

    def names_resource(self, resource: str) -> bool:
        """Return whether the rule includes a resource itself: ``deployments/*`` includes the resource and its subresources."""
        return any(each in ("*", "*/*", resource, f"{resource}/*") for each in self.resources)


class Resource(NamedTuple):
    """The resource of an object, as the API server sees it."""

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
    """The objects that a policy or a binding applies to; all of them if ``rules`` is None."""

    rules: tuple[ResourceRule, ...] | None = None
    excluded: tuple[ResourceRule, ...] = ()
    namespaces: Selector | None = None
    objects: Selector | None = None
    equivalent: bool = True

    def covers(self, target: Resource, labels: Mapping[str, str]) -> bool:
        """Return whether the rules and the object selector select an object; the namespace selector is not evaluated."""
        if any(each.covers(target, equivalent=self.equivalent) for each in self.excluded):
            return False
        if self.rules is not None and not any(each.covers(target, equivalent=self.equivalent) for each in self.rules):
            return False
        return self.objects is None or matches(self.objects, labels)


EVERYTHING = MatchConstraints()


class KyvernoScope(NamedTuple):
    """The objects that a policy of Kyverno applies to, apart from the constraints that it shares with policies of the API server."""

    match: Any = None
    """The ``match`` and ``exclude`` of a rule of a ClusterPolicy; None for a ValidatingPolicy."""
    exclude: Any = None
    namespace: str | None = None
    """The only namespace in which a namespaced policy applies."""
    overrides: tuple[tuple[Severity, Mapping[str, Any]], ...] = ()
    """Other severities for some namespaces: those of a ``match`` block with ``namespaces`` and ``namespaceSelector``."""


class GatekeeperScope(NamedTuple):
    """The objects that a constraint of Gatekeeper applies to: its ``match``."""

    kinds: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """The API groups and kinds of each item."""
    namespaces: tuple[str, ...] = ()
    excluded_namespaces: tuple[str, ...] = ()
    labels: Selector | None = None
    namespace_labels: Selector | None = None
    scope: str = ""
    name: str = ""


class Params(NamedTuple):
    """The parameter objects of a binding, selected by name or labels. ``namespace`` is None for the namespace of the checked object."""

    name: str | None
    namespace: str | None
    labels: Selector | None


class Binding(NamedTuple):
    """The binding of a policy. ``severity`` is that of the strictest of its actions, if it validates."""

    name: str
    policy: str
    severity: Severity
    constraints: MatchConstraints
    params: Params | None = None
    faults: tuple[Fault, ...] = ()
    scope: KyvernoScope | GatekeeperScope | None = None
    """Further conditions, for policies of Kyverno and Gatekeeper."""
    given: dict[str, Any] | None = None
    """The parameters, if the binding contains them: a constraint of Gatekeeper."""


Dialect = Literal["kubernetes", "kyverno", "kyverno-rule", "gatekeeper"]
"""Who evaluates a policy: the API server, Kyverno (a ValidatingPolicy, or a rule with ``validate.cel``), or Gatekeeper."""


class AdmissionPolicy(NamedTuple):
    """A policy in CEL. ``param_kind`` is the apiVersion and the kind of its parameters."""

    name: str
    origin: PolicyOrigin
    constraints: MatchConstraints
    conditions: tuple[Expression, ...] = ()
    variables: tuple[Expression, ...] = ()
    validations: tuple[Expression, ...] = ()
    annotations: tuple[Expression, ...] = ()
    param_kind: tuple[str, str] | None = None
    fails_closed: bool = True
    """Whether an error in an expression denies the request: ``failurePolicy: Fail``."""
    faults: tuple[Fault, ...] = ()
    """Why the API server rejects the policy, apart from its expressions."""
    dialect: Dialect = "kubernetes"
    rule: str = ""
    """The name of the rule of a ClusterPolicy."""
    own_binding: Binding | None = None
    """Where the policy applies, if it needs no object for that."""

    @property
    def place(self) -> str:
        """The position of the policy's name."""
        return self.origin.place(("metadata", "name"))


def is_kind(data: Mapping[str, Any], kind: str) -> bool:
    """Return whether an object is of a kind of the group admissionregistration.k8s.io."""
    return is_of(data, GROUP) and kind_of(data) == kind


def is_of(data: Mapping[str, Any], group: str) -> bool:
    """Return whether an object is of an API group."""
    return api_version_of(data).startswith(f"{group}/")


class PolicyReader:
    """Reads one object, and lists what of it cannot be used in ``problems``."""

    def __init__(self, file: str, document: Document, data: dict[str, Any], base: Path, reserved: Collection[str] = ()) -> None:
        """``reserved``: names that a policy cannot have in findings, where it then gets a prefix."""
        name = text_at(data, "spec", "policyName") if kind_of(data) == BINDING else name_of(data)
        if name in reserved:
            group = api_version_of(data).partition("/")[0]
            name = f"{'vap' if group == GROUP else 'gatekeeper' if group.endswith('.gatekeeper.sh') else 'kyverno'}/{name}"
        self.data, self.origin = data, PolicyOrigin(name, file, document, data, base)
        self.problems: list[str] = []
        self.foreign: list[str] = []
        """Messages about what is in another language than CEL."""

    def policy(self) -> Iterator[AdmissionPolicy]:
        spec, name = map_at(self.data, "spec"), self.origin.policy
        if not name:
            self.add_problem(("metadata",), "the policy has no name")
            return
        kind = map_at(spec, "paramKind")
        param_kind = (api_version_of(kind), kind_of(kind)) if kind else None
        yield AdmissionPolicy(
            name,
            self.origin,
            self.constraints("matchConstraints"),
            tuple(self.expressions("spec", "matchConditions")),
            tuple(self.expressions("spec", "variables")),
            tuple(self.expressions("spec", "validations")),
            tuple(self.expressions("spec", "auditAnnotations", key="valueExpression")),
            param_kind,
            spec.get("failurePolicy") != "Ignore",
            tuple(self.origin.fault(*fault) for fault in policy_faults(self.data)),
        )

    def binding(self) -> Iterator[Binding]:
        spec, name = map_at(self.data, "spec"), name_of(self.data)
        policy = self.origin.policy
        actions = [each for each in list_at(spec, "validationActions") if type(each) is str and each in _SEVERITIES]
        if not policy:
            self.add_problem(("spec",), "the binding has no `policyName`")
            return
        severity: Severity = next((_SEVERITIES[each] for each in _SEVERITIES if each in actions), "error")
        faults = tuple(self.origin.fault(*fault) for fault in binding_faults(self.data)) if is_kind(self.data, BINDING) else ()
        yield Binding(name, policy, severity, self.constraints("matchResources"), self.params("spec", "paramRef"), faults)

    def params(self, *steps: Step) -> Params | None:
        """Return the reference to parameters that ``steps`` lead to, if there is one."""
        data = map_at(self.data, *steps)
        if not data:
            return None
        return Params(text_at(data, "name") or None, text_at(data, "namespace") or None, self.selector(data, "selector", steps))

    def add_problem(self, path: Path, message: str) -> None:
        """Add a message about a path below the object to ``problems``."""
        self.problems.append(f"{self.origin.place(path)}: {message}")

    def add_foreign(self, path: Path, message: str) -> None:
        """Add a message about a path below the object to ``foreign``."""
        self.foreign.append(f"{self.origin.place(path)}: {message}")

    def expressions(self, *steps: Step, key: str = "expression") -> Iterator[Expression]:
        """Yield the expressions of a list, which ``steps`` lead to."""
        for index, each in enumerate(list_at(self.data, *steps)):
            path: Path = (*steps, index)
            text = text_at(each, key)
            if text.strip():
                message, message_expression = (text_at(each, key).strip() or None for key in ("message", "messageExpression"))
                yield Expression(text, self.origin.place((*path, key)), message, message_expression, text_at(each, "name"), path)

    def constraints(self, field: str) -> MatchConstraints:
        """Return the constraints in a field of the ``spec``."""
        data = map_at(self.data, "spec").get(field)
        if type(data) is not dict:
            return EVERYTHING if field == "matchResources" else MatchConstraints(())
        rules = tuple(map(_rule, list_at(data, "resourceRules")))
        return MatchConstraints(
            rules if rules or field == "matchConstraints" else None,
            tuple(map(_rule, list_at(data, "excludeResourceRules"))),
            self.selector(data, "namespaceSelector", ("spec", field)),
            self.selector(data, "objectSelector", ("spec", field)),
            data.get("matchPolicy") != "Exact",
        )

    def selector(self, data: Mapping[str, Any], field: str, path: Path) -> Selector | None:
        """Return the label selector in a field of a map at a path; None without a valid one."""
        if data.get(field) is None:
            return None
        parsed = parse_label_selector(data[field])
        if isinstance(parsed, Malformed):
            self.add_problem((*path, field, *parsed.path), f"this {parsed.problem}")
        return parsed if isinstance(parsed, Selector) else None


def _rule(data: Any) -> ResourceRule:
    fields = ("apiGroups", "apiVersions", "resources", "operations", "resourceNames")
    groups, versions, resources, operations, names = (tuple(str(each) for each in list_at(data, field)) for field in fields)
    return ResourceRule(groups, versions, resources, operations, names, text_at(data, "scope") or "*")
