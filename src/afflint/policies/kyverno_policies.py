"""Kyverno's policies in CEL, read from manifests: ValidatingPolicies, and rules of ClusterPolicies and Policies with ``validate.cel``.

Kyverno's other rules (patterns, ``deny``, ``foreach``) are not read. Semantics: pkg/cel/policies/vpol and pkg/engine/handlers/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.finding import Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.policies.admission_manifests import EVERYTHING, AdmissionPolicy, Binding, KyvernoScope, PolicyReader, is_of
from afflint.policies.kyverno_matching import Candidate, UndecidedError, applies, is_match
from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at
from afflint.yaml.object_fields import api_version_of, kind_of, namespace_of

CLASSIC_GROUP, GROUP = "kyverno.io", "policies.kyverno.io"
EXCEPTION = "PolicyException"
KINDS = ("ValidatingPolicy", "NamespacedValidatingPolicy")
_CLASSIC_KINDS = ("ClusterPolicy", "Policy")
_SEVERITIES: Mapping[str, Severity] = {"Deny": "error", "Warn": "warning", "Audit": "warning"}


def is_policy(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a policy of Kyverno that validates."""
    return _is_validating(data) or (kind_of(data) in _CLASSIC_KINDS and is_of(data, CLASSIC_GROUP))


def _is_validating(data: Mapping[str, Any]) -> bool:
    return kind_of(data) in KINDS and is_of(data, GROUP)


def policies_of(reader: PolicyReader) -> Iterator[AdmissionPolicy]:
    """Yield the policies in CEL of an object of Kyverno: one for a ValidatingPolicy, one for each such rule of a ClusterPolicy."""
    if not is_policy(reader.data):
        return
    if not reader.origin.policy:
        reader.add_problem(("metadata",), "the policy has no name")
    elif _is_validating(reader.data):
        yield from _validating_policy(reader)
    else:
        yield from _rules(reader)


def _validating_policy(reader: PolicyReader) -> Iterator[AdmissionPolicy]:
    spec, name = map_at(reader.data, "spec"), reader.origin.policy
    if text_at(spec, "evaluation", "mode") == "JSON":
        reader.add_problem(("spec", "evaluation", "mode"), f"policy {quoted(name)} is for JSON payloads, not for objects of the cluster")
        return
    actions = texts_at(spec, "validationActions") or ["Deny"]
    severity: Severity = next((_SEVERITIES[each] for each in _SEVERITIES if each in actions), "error")
    if map_at(spec, "evaluation", "admission").get("enabled") is False:
        severity = "warning"
    constraints = reader.constraints("matchConstraints")
    scope = KyvernoScope(namespace=namespace_of(reader.data) if kind_of(reader.data) == KINDS[1] else None)
    yield AdmissionPolicy(
        name,
        reader.origin,
        constraints._replace(rules=constraints.rules or None),
        tuple(reader.expressions("spec", "matchConditions")),
        tuple(reader.expressions("spec", "variables")),
        tuple(reader.expressions("spec", "validations")),
        fails_closed=spec.get("failurePolicy") != "Ignore",
        dialect="kyverno",
        own_binding=Binding(name, name, severity, EVERYTHING, scope=scope),
    )


def _rules(reader: PolicyReader) -> Iterator[AdmissionPolicy]:
    others: list[tuple[str, str]] = []
    first: Path | None = None
    for index, rule in enumerate(list_at(reader.data, "spec", "rules")):
        language = _language(rule)
        if language == "cel":
            yield _rule(reader, rule, ("spec", "rules", index))
        elif language:
            first = first or ("spec", "rules", index)
            others.append((quoted(text_at(rule, "name")), quoted(language)))
    if first is not None:
        names = join_words(name for name, _ in others)
        used = join_words(dict.fromkeys(language for _, language in others))
        rules = f"the rule {names} uses" if len(others) == 1 else f"the rules {names} use"
        reader.add_foreign(first, f"policy {quoted(reader.origin.policy)}: {rules} {used}; afflint evaluates only `validate.cel`")


def _language(rule: Any) -> str:
    """Return the field with what a rule requires of objects; "" for a rule that changes or creates objects."""
    validate = map_at(rule, "validate")
    if "verifyImages" in map_at(rule):
        return "verifyImages"
    return next((each for each in ("cel", *_LANGUAGES) if each in validate), "validate" if validate else "")


_LANGUAGES = ("pattern", "anyPattern", "deny", "foreach", "podSecurity", "manifests", "assert")


def _rule(reader: PolicyReader, rule: dict[str, Any], path: Path) -> AdmissionPolicy:
    spec, name = map_at(reader.data, "spec"), reader.origin.policy
    below: Path = (*path, "validate", "cel")
    validate = map_at(rule, "validate")
    action = text_at(validate, "failureAction") or text_at(spec, "validationFailureAction")
    overrides = list_at(validate, "failureActionOverrides") or list_at(spec, "validationFailureActionOverrides")
    scope = KyvernoScope(
        rule.get("match"),
        rule.get("exclude"),
        namespace_of(reader.data) if kind_of(reader.data) == _CLASSIC_KINDS[1] else None,
        tuple((_severity(text_at(each, "action")), map_at(each)) for each in overrides),
    )
    message = text_at(validate, "message").strip() or None
    kind = map_at(validate, "cel", "paramKind")
    return AdmissionPolicy(
        name,
        reader.origin,
        EVERYTHING,
        tuple(reader.expressions(*path, "celPreconditions")),
        tuple(reader.expressions(*below, "variables")),
        tuple(each._replace(message=each.message or message) for each in reader.expressions(*below, "expressions")),
        param_kind=(api_version_of(kind), kind_of(kind)) if kind else None,
        fails_closed=spec.get("failurePolicy") != "Ignore",
        dialect="kyverno-rule",
        rule=text_at(rule, "name"),
        own_binding=Binding(name, name, _severity(action), EVERYTHING, reader.params(*below, "paramRef"), scope=scope),
    )


def _severity(action: str) -> Severity:
    return "error" if action.lower() in ("enforce", "deny") else "warning"


def excepted_policies(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the policies in CEL that a PolicyException of Kyverno is about."""
    if kind_of(data) == EXCEPTION and is_of(data, GROUP):
        yield from (text_at(each, "name") for each in list_at(map_at(data, "spec"), "policyRefs"))


class PolicyException(NamedTuple):
    """A PolicyException of Kyverno: the objects that are exempt from some rules, by the names of policies."""

    rules: tuple[tuple[str, tuple[str, ...]], ...]
    match: Any
    conditions: Any

    def names(self, policy: str, rule: str) -> bool:
        """Return whether it is about a rule of a policy, or about the rules that Kyverno generates from it."""
        own = (rule, f"autogen-{rule}", f"autogen-cronjob-{rule}")
        return any(name == policy and any(is_match(each, one) for each in rules for one in own) for name, rules in self.rules)

    def exempts(self, candidate: Candidate) -> bool:
        """Return whether an object is exempt. Raises UndecidedError."""
        if not applies(self.match, None, candidate):
            return False
        if self.conditions:
            raise UndecidedError("a PolicyException of Kyverno has conditions, which afflint does not evaluate")
        return True


def policy_exceptions(data: Mapping[str, Any]) -> Iterator[PolicyException]:
    """Yield what a PolicyException of Kyverno says."""
    spec = map_at(data, "spec")
    if kind_of(data) == EXCEPTION and is_of(data, CLASSIC_GROUP):
        rules = [(str(each.get("policyName")), tuple(map(str, list_at(each, "ruleNames")))) for each in maps_at(spec, "exceptions")]
        yield PolicyException(tuple(rules), spec.get("match"), spec.get("conditions"))
