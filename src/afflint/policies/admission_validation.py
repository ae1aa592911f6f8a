"""Validation of ValidatingAdmissionPolicies and their bindings as in the API server, apart from their expressions.

After pkg/apis/admissionregistration/validation/validation.go in k8s.io/kubernetes. A fault is a path below the object and a message.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.kube.label_syntax import is_key, is_subdomain
from afflint.yaml.document import list_at, map_at, text_at
from afflint.yaml.object_fields import name_of

Faults = Iterator[tuple[Path, str]]

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")
_ACTIONS = ("Audit", "Deny", "Warn")
_MAX_CONDITIONS, _MAX_ANNOTATIONS = 64, 20
_MAX_ANNOTATION_BYTES = 5 * 1024
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    ("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace", "null",
     "package", "return", "true", "var", "void", "while")
)  # fmt: skip


def policy_faults(data: Mapping[str, Any]) -> Faults:
    """Yield the faults for which the API server rejects a policy."""
    spec, name = map_at(data, "spec"), name_of(data)
    if not is_subdomain(name):
        yield ("metadata", "name"), f"{quoted(name)} is not a valid name: lower-case letters, digits, `-` and `.`"
    yield from _supported(spec, ("spec",), "failurePolicy", ("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        yield from _required(map_at(spec, "paramKind"), ("spec", "paramKind"), "apiVersion", "kind")
    if not map_at(spec, "matchConstraints"):
        yield ("spec",), "`matchConstraints` is required"
    else:
        yield from _match_faults(spec, "matchConstraints")
        if not list_at(spec, "matchConstraints", "resourceRules"):
            yield ("spec", "matchConstraints"), "`matchConstraints` needs at least one of `resourceRules`"
    yield from _condition_faults(list_at(spec, "matchConditions"))
    for index, each in enumerate(list_at(spec, "variables")):
        yield from _variable_faults(each, ("spec", "variables", index))
    if not list_at(spec, "validations") and not list_at(spec, "auditAnnotations"):
        yield ("spec",), "`validations` or `auditAnnotations` must have at least one item"
    for index, each in enumerate(list_at(spec, "validations")):
        yield from _validation_faults(each, ("spec", "validations", index))
    yield from _annotation_faults(list_at(spec, "auditAnnotations"), name)


def binding_faults(data: Mapping[str, Any]) -> Faults:
    """Yield the faults for which the API server rejects a binding."""
    spec = map_at(data, "spec")
    yield from _required(spec, ("spec",), "policyName")
    if spec.get("matchResources") is not None:
        yield from _match_faults(spec, "matchResources")
    actions, path = list_at(spec, "validationActions"), ("spec", "validationActions")
    if not actions:
        yield ("spec",), "`validationActions` needs at least one action"
    for index, each in enumerate(actions):
        if each not in _ACTIONS:
            yield (*path, index), f"{quoted(each)} is not one of {join_words(map(quoted, _ACTIONS))}"
        elif each in actions[:index]:
            yield (*path, index), f"{quoted(each)} is a duplicate"
    if "Deny" in actions and "Warn" in actions:
        yield path, "`validationActions` must not contain both `Deny` and `Warn`"
    if spec.get("paramRef") is not None:
        param_ref, at = map_at(spec, "paramRef"), ("spec", "paramRef")
        if bool(text_at(param_ref, "name")) == (param_ref.get("selector") is not None):
            yield at, "`paramRef` must have either `name` or `selector`"
        yield from _required(param_ref, at, "parameterNotFoundAction")
        yield from _supported(param_ref, at, "parameterNotFoundAction", ("Allow", "Deny"))


def _required(data: Mapping[str, Any], path: Path, *fields: str) -> Faults:
    for field in fields:
        if not text_at(data, field).strip():
            yield (*path, field) if field in data else path, f"`{field}` is required"


def _supported(data: Mapping[str, Any], path: Path, field: str, values: Collection[str]) -> Faults:
    value = data.get(field)
    if value is not None and value not in values:
        yield (*path, field), f"`{field}` must be {join_words(map(quoted, values), 'or')}, not {quoted(value)}"


def _match_faults(spec: Mapping[str, Any], field: str) -> Faults:
    path = ("spec", field)
    yield from _supported(map_at(spec, field), path, "matchPolicy", ("Equivalent", "Exact"))
    for rules in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(list_at(spec, field, rules)):
            yield from _rule_faults(rule, (*path, rules, index))


def _rule_faults(rule: Any, path: Path) -> Faults:
    for field in ("apiGroups", "apiVersions", "operations", "resources"):
        values = list_at(rule, field)
        if not values:
            yield path, f"`{field}` is required"
        elif "*" in values and len(values) > 1 and field != "resources":
            yield (*path, field), f"if `*` is in `{field}`, it must be the only value"
        elif "" in values and field != "apiGroups":
            yield (*path, field), f"`{field}` must not contain an empty value"
    for index, each in enumerate(list_at(rule, "operations")):
        if each not in _OPERATIONS:
            yield (*path, "operations", index), f"{quoted(each)} is not one of {join_words(map(quoted, _OPERATIONS))}"
    yield from _resource_faults(list_at(rule, "resources"), (*path, "resources"))
    yield from _supported(map_at({"rule": rule}, "rule"), path, "scope", ("Cluster", "Namespaced", "*"))


def _resource_faults(resources: list[Any], path: Path) -> Faults:
    """Yield resources that a wildcard in the same list already covers."""
    texts = [each for each in resources if isinstance(each, str)]
    if "*/*" in texts and len(texts) > 1:
        yield path, "if `*/*` is in `resources`, it must be the only value"
        return
    for index, each in enumerate(texts):
        name, slash, below = each.partition("/")
        wider = [other for other in (f"{name}/*", f"*/{below}") if slash and other in texts[:index]]
        if wider:
            yield (*path, index), f"{quoted(each)} must not be listed with {quoted(wider[0])}"
        elif not slash and name != "*" and "*" in texts:
            yield (*path, index), f"{quoted(each)} must not be listed with `*`"


def _condition_faults(conditions: list[Any]) -> Faults:
    path = ("spec", "matchConditions")
    if len(conditions) > _MAX_CONDITIONS:
        yield path, f"there must be at most {_MAX_CONDITIONS} `matchConditions`"
    for index, each in enumerate(conditions):
        name = text_at(each, "name")
        yield from _required(map_at(each), (*path, index), "name", "expression")
        if name and not is_key(name):
            yield (*path, index, "name"), f"{quoted(name)} is not a valid name: it must be like the key of a label"
        elif name and any(text_at(other, "name") == name for other in conditions[:index]):
            yield (*path, index, "name"), f"{quoted(name)} is a duplicate"


def _variable_faults(variable: Any, path: Path) -> Faults:
    name = text_at(variable, "name")
    yield from _required(map_at(variable), path, "name", "expression")
    if name.strip() and (not _IDENTIFIER.fullmatch(name) or name in _RESERVED):
        yield (*path, "name"), f"{quoted(name)} is not a valid CEL identifier"


def _validation_faults(validation: Any, path: Path) -> Faults:
    data = map_at(validation)
    yield from _required(data, path, "expression")
    for field in ("message", "messageExpression"):
        value = data.get(field)
        if isinstance(value, str) and value and not value.strip():
            yield (*path, field), f"`{field}` must not be empty"
    if re.search(r"[\r\n]", text_at(data, "message").strip()):
        yield (*path, "message"), "`message` must not contain line breaks"
    yield from _supported(data, path, "reason", _REASONS)


def _annotation_faults(annotations: list[Any], policy: str) -> Faults:
    path = ("spec", "auditAnnotations")
    if len(annotations) > _MAX_ANNOTATIONS:
        yield path, f"there must be at most {_MAX_ANNOTATIONS} `auditAnnotations`"
    for index, each in enumerate(annotations):
        key = text_at(each, "key")
        yield from _required(map_at(each), (*path, index), "valueExpression")
        if not is_key(f"{policy}/{key}"):
            yield (*path, index), f"{quoted(key)} is not a valid `key`: with the policy's name it must be like the key of a label"
        elif any(text_at(other, "key") == key for other in annotations[:index]):
            yield (*path, index, "key"), f"{quoted(key)} is a duplicate"
        if len(text_at(each, "valueExpression").strip().encode()) > _MAX_ANNOTATION_BYTES:
            yield (*path, index, "valueExpression"), f"`valueExpression` must be at most {_MAX_ANNOTATION_BYTES} bytes long"
