"""Gatekeeper's ConstraintTemplates in CEL (``K8sNativeValidation``) and their constraints, read from manifests.

A constraint with its template is a policy, with the name of the constraint. Templates in Rego are not read. Semantics:
pkg/drivers/k8scel and pkg/mutation/match of Gatekeeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.finding import Severity
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.policies.admission_manifests import EVERYTHING, AdmissionPolicy, Binding, Expression, GatekeeperScope, PolicyReader, is_of
from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at
from afflint.yaml.object_fields import api_version_of, kind_of

KIND, GROUP, _CONSTRAINT_GROUP = "ConstraintTemplate", "templates.gatekeeper.sh", "constraints.gatekeeper.sh"
ENGINE = "K8sNativeValidation"
_SEVERITIES: Mapping[str, Severity] = {"deny": "error", "warn": "warning", "dryrun": "info"}
_GIVEN = {"anyObject": "object", "params": "!has(params.spec) ? null : !has(params.spec.parameters) ? null : params.spec.parameters"}
"""The variables that Gatekeeper defines."""


def is_template(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a ConstraintTemplate."""
    return kind_of(data) == KIND and is_of(data, GROUP)


def policies_of(readers: Sequence[PolicyReader]) -> Iterator[AdmissionPolicy]:
    """Yield the policies of constraints, with the templates among the same objects."""
    constraints = [each for each in readers if is_of(each.data, _CONSTRAINT_GROUP)]
    templates = {text_at(each.data, "spec", "crd", "spec", "names", "kind"): each for each in readers if is_template(each.data)}
    used = {kind_of(each.data) for each in constraints}
    for kind, template in templates.items():
        if _source(template.data) is None:
            message = f"the template of {quoted(kind)} is in Rego; afflint evaluates only CEL, the engine `{ENGINE}`"
            template.add_foreign(("metadata", "name"), message)
        elif kind not in used:
            template.add_problem(("metadata", "name"), f"no constraint of the kind {quoted(kind)} applies this template")
    for each in constraints:
        name = kind_of(each.data)
        if not each.origin.policy:
            each.add_problem(("metadata",), "the constraint has no name")
        elif name not in templates:
            each.add_problem(("kind",), f"the template of {quoted(name)} is not among the files of `policies`")
        elif _source(templates[name].data) is not None:
            yield _policy(templates[name], each)


def _source(template: Mapping[str, Any]) -> Path | None:
    """Return the path of the source in CEL."""
    for index, target in enumerate(maps_at(template, "spec", "targets")):
        for number, code in enumerate(maps_at(target, "code")):
            if code.get("engine") == ENGINE:
                return ("spec", "targets", index, "code", number, "source")
    return None


def _policy(template: PolicyReader, constraint: PolicyReader) -> AdmissionPolicy:
    path = _source(template.data)
    assert path is not None
    given = [Expression(text, template.origin.place(path), name=name, path=path) for name, text in _GIVEN.items()]
    name, kind = constraint.origin.policy, kind_of(constraint.data)
    schema = map_at(template.data, "spec", "crd", "spec", "validation", "openAPIV3Schema")
    parameters = _with_defaults(schema, map_at(constraint.data, "spec").get("parameters"))
    data = {**constraint.data, "spec": {**map_at(constraint.data, "spec"), **({} if parameters is None else {"parameters": parameters})}}
    return AdmissionPolicy(
        name,
        template.origin._replace(policy=name),
        EVERYTHING,
        tuple(template.expressions(*path, "matchCondition")),
        (*given, *template.expressions(*path, "variables")),
        tuple(template.expressions(*path, "validations")),
        param_kind=(api_version_of(constraint.data), kind),
        fails_closed=text_at(template.data, *path, "failurePolicy") != "Ignore",
        dialect="gatekeeper",
        rule=kind,
        own_binding=Binding(name, name, _severity(map_at(constraint.data, "spec")), EVERYTHING, scope=_scope(constraint), given=data),
    )


def _with_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value with the defaults of its schema. After structural defaulting in apiextensions-apiserver."""
    if isinstance(value, list):
        return [_with_defaults(map_at(schema, "items"), each) for each in value]
    properties = map_at(schema, "properties")
    if isinstance(value, dict) and properties:
        missing = {key: each["default"] for key, each in properties.items() if isinstance(each, dict) and "default" in each}
        filled = {**missing, **value}
        return {key: _with_defaults(map_at(properties, key), each) for key, each in filled.items()}
    return value


def _severity(spec: Mapping[str, Any]) -> Severity:
    """Return the severity of the strictest enforcement action."""
    action = text_at(spec, "enforcementAction") or "deny"
    actions = [text_at(each, "action") for each in list_at(spec, "scopedEnforcementActions")] if action == "scoped" else [action]
    return next((_SEVERITIES[each] for each in _SEVERITIES if each in actions), "info")


def _scope(constraint: PolicyReader) -> GatekeeperScope:
    match = map_at(constraint.data, "spec", "match")
    path: Path = ("spec", "match")
    return GatekeeperScope(
        tuple((tuple(texts_at(each, "apiGroups")), tuple(texts_at(each, "kinds"))) for each in maps_at(match, "kinds")),
        tuple(texts_at(match, "namespaces")),
        tuple(texts_at(match, "excludedNamespaces")),
        constraint.selector(match, "labelSelector", path),
        constraint.selector(match, "namespaceSelector", path),
        text_at(match, "scope"),
        text_at(match, "name"),
    )
