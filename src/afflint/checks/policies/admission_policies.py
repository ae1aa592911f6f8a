"""The result of ValidatingAdmissionPolicies for an object that is to be created, as far as it is known without a cluster.

After k8s.io/apiserver/pkg/admission/plugin/policy/validating: constraints, conditions, then each validation for each binding and each of
its parameters. The user who creates the object is unknown, there is no old object, and authorization cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from afflint.admission.api_resources import CLUSTER_SCOPED, EXEMPT, resource_of
from afflint.admission.cel import EvaluationError, EvaluationInput, Program
from afflint.admission.cel_checks import reads_only_metadata
from afflint.admission.defaults import are_known, with_defaults
from afflint.checks.policies.accessed_fields import accessed_path, denial_message, depends_on, undecided_placeholder
from afflint.checks.policies.known_cluster import KnownCluster, Object, resource, unknown_namespace
from afflint.checks.policies.policy_compiler import ANNOTATION, EVALUATED_BY, TRUTH, CompiledExpression, PolicyCompiler, Unknown
from afflint.findings.finding import SEVERITIES, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.selectors import Selector, matches
from afflint.manifests.manifest import labels_at, reference
from afflint.policies.admission_manifests import GROUP, AdmissionPolicy, Binding, Expression, Fault, GatekeeperScope, KyvernoScope, Resource
from afflint.policies.kyverno_matching import (
    OWN_NAMESPACES,
    Candidate,
    UndecidedError,
    applies,
    holds_all,
    holds_any,
    kinds_of,
    may_match,
    selects_unknown_namespace,
)
from afflint.policies.kyverno_policies import EXCEPTION, PolicyException, excepted_policies, policy_exceptions
from afflint.policies.policy_files import Admission
from afflint.yaml.document import list_at, map_at, text_at, texts_at
from afflint.yaml.object_fields import kind_of, name_of


class PolicyDenial(NamedTuple):
    """A denial of an object by a policy: the path in the object, and the message."""

    policy: str
    severity: Severity
    path: Path
    message: str
    place: str
    """The position of the expression that evaluated to false."""
    rule: str = ""
    """The rule of a ClusterPolicy, or the kind of a constraint."""


class _CompiledExemption(NamedTuple):
    """An exception of Kyverno from a policy in CEL. Images and values are what expressions may allow; without any, objects are exempt."""

    conditions: tuple[CompiledExpression, ...]
    images: tuple[str, ...]
    values: tuple[str, ...]


class _CompiledPolicy(NamedTuple):
    """A policy with its compiled expressions."""

    policy: AdmissionPolicy
    bindings: tuple[Binding, ...]
    conditions: tuple[CompiledExpression, ...]
    variables: Mapping[str, Program | None]
    validations: tuple[CompiledExpression, ...]
    exemptions: tuple[PolicyException | _CompiledExemption, ...] = ()
    reads_spec: bool = True
    """Whether an expression may read more of the object than its metadata."""


class AdmissionEvaluator:
    """Evaluates policies with their bindings for objects. ``unknown`` lists what cannot be evaluated in the policies themselves.

    ``faults`` are the mistakes for which the API server would reject a policy or a binding; those are not applied.
    """

    def __init__(self, admission: Admission, names: Iterable[str], objects: Iterable[Object] = (), *, is_complete: bool = False) -> None:
        """Compile the policies named ``names``.

        ``objects``: further objects, which may be namespaces, parameters, exceptions, or what functions of Kyverno ask for.
        ``is_complete``: these are all objects of the cluster.
        """
        self.unknown: list[Unknown] = []
        known = [*admission.objects, *objects]
        self._cluster = KnownCluster(known, is_complete=is_complete)
        self._objects = [each for each in known if kind_of(each) == EXCEPTION]
        wanted = frozenset(names)
        first = {(each.name, each.dialect, each.rule): each for each in reversed(admission.policies) if each.name in wanted}
        self.faults: list[Fault] = []
        self._policies: list[_CompiledPolicy] = []
        for key in sorted(first):
            policy = first[key]
            own = policy.own_binding
            bindings = [own] if own is not None else [each for each in admission.bindings if each.policy == policy.name]
            if (compiled := self._compiled(policy, bindings)) is not None:
                self._policies.append(compiled)
        self._of_kind: dict[str, list[_CompiledPolicy]] = {}

    def may_apply_to(self, kind: str) -> bool:
        """Return whether a policy may apply to objects of a kind."""
        return kind not in EXEMPT and bool(self._about(kind))

    def _about(self, kind: str) -> list[_CompiledPolicy]:
        """Return the policies that may apply to objects of a kind."""
        if kind not in self._of_kind:
            self._of_kind[kind] = [each for each in self._policies if _may_apply_to(each.policy, kind)]
        return self._of_kind[kind]

    def evaluate(self, data: Object) -> Iterator[PolicyDenial | Unknown]:
        """Yield the denials of an object, each once with its greatest severity, and the parts that are not evaluated."""
        asked = resource(data)
        if asked is None or (asked.group == GROUP and asked.kind in EXEMPT):
            return
        seen: set[PolicyDenial | Unknown] = set()
        labels = labels_at(data)
        about = [each for each in self._about(asked.kind) if each.policy.constraints.covers(asked, labels)]
        if not about:
            return
        stored = with_defaults(data, spec=any(each.reads_spec for each in about))
        for each in about:
            for result in sorted(self._of_policy(each, asked, labels, stored), key=_rank):
                key = result._replace(severity="error") if isinstance(result, PolicyDenial) else result
                if key not in seen:
                    seen.add(key)
                    yield result

    # The evaluation of one policy.

    def _compiled(self, policy: AdmissionPolicy, bindings: Sequence[Binding]) -> _CompiledPolicy | None:
        """Compile the expressions of a policy; None if the API server rejects the policy."""
        if not bindings:
            self.unknown.append(Unknown(policy.name, policy.place, "no binding refers to it, so it is never applied"))
        known = len(self.faults)
        self.faults += policy.faults
        compiler = PolicyCompiler(policy, self.faults, self.unknown)
        for each in policy.variables:
            compiler.add_variable(each)
        with_variables = policy.dialect in ("kyverno-rule", "gatekeeper")
        conditions = tuple(compiler.compiled(policy.conditions, TRUTH, with_variables=with_variables))
        validations = tuple(compiler.compiled(policy.validations, TRUTH))
        # Annotations are not evaluated: nothing depends on them.
        list(compiler.compiled(policy.annotations, ANNOTATION))
        if len(self.faults) > known:
            self.unknown.append(Unknown(policy.name, policy.place, f"{EVALUATED_BY[policy.dialect]} rejects it, so it is not applied"))
            return None
        exemptions: list[PolicyException | _CompiledExemption] = [*self._classic_exemptions(policy), *self._exemptions(policy, compiler)]
        self.faults += [fault for each in bindings for fault in each.faults]
        sound = tuple(each for each in bindings if not each.faults)
        # If a condition cannot be evaluated, it is unknown which objects the policy applies to.
        applied = validations if len(conditions) == len(policy.conditions) else ()
        compiled = _CompiledPolicy(policy, sound, conditions, compiler.variables, applied, tuple(exemptions))
        return compiled._replace(reads_spec=_reads_spec(compiled))

    def _classic_exemptions(self, policy: AdmissionPolicy) -> Iterator[PolicyException]:
        scope = policy.own_binding.scope if policy.own_binding is not None else None
        if policy.dialect == "kyverno-rule" and isinstance(scope, KyvernoScope):
            name = name_of(policy.origin.data)
            full = name if scope.namespace is None else f"{scope.namespace}/{name}"
            for each in self._objects:
                yield from (one for one in policy_exceptions(each) if one.names(full, policy.rule))

    def _exemptions(self, policy: AdmissionPolicy, compiler: PolicyCompiler) -> Iterator[_CompiledExemption]:
        if policy.dialect != "kyverno":
            return
        name = name_of(policy.origin.data)
        for each in self._objects:
            if name in excepted_policies(each):
                spec = map_at(each, "spec")
                expressions = [Expression(text_at(one, "expression"), policy.place) for one in list_at(spec, "matchConditions")]
                conditions = tuple(compiler.compiled(expressions, TRUTH, with_variables=False))
                if len(conditions) == len(expressions):
                    yield _CompiledExemption(conditions, tuple(texts_at(spec, "images")), tuple(texts_at(spec, "allowedValues")))

    def _of_policy(
        self, each: _CompiledPolicy, asked: Resource, labels: Mapping[str, str], stored: Object
    ) -> Iterator[PolicyDenial | Unknown]:
        policy = each.policy
        bindings = [binding for binding in each.bindings if binding.constraints.covers(asked, labels)]
        meant = []
        for binding in bindings:
            inside = self._cluster.is_inside((policy.constraints, binding.constraints), asked, labels)
            if inside is None:
                yield Unknown(policy.name, policy.place, unknown_namespace(asked))
            elif inside:
                meant.append(binding)
        try:
            candidate = self._cluster.candidate(stored, asked.namespace)
            meant = [_with_severity(binding, candidate) for binding in meant if binding.scope is None or selects(binding.scope, candidate)]
            if meant and holds_any([partial(one.exempts, candidate) for one in each.exemptions if isinstance(one, PolicyException)]):
                return
        except UndecidedError as error:
            yield Unknown(policy.name, policy.place, str(error))
            return
        for binding in meant:
            found = self._cluster.params_of(policy, binding.params, asked)
            if found is None:
                yield Unknown(policy.name, policy.place, f"the parameters that `{binding.name}` refers to are not among the manifests")
                continue
            for params in found:
                yield from self._validated(each, binding.severity, self._given(each, asked, stored, params))

    def _validated(
        self, each: _CompiledPolicy, severity: Severity, given: EvaluationInput | Unknown | None
    ) -> Iterator[PolicyDenial | Unknown]:
        if given is None:
            return
        if isinstance(given, Unknown):
            yield given
            return
        answers = [self._answer(each, severity, condition, given) for condition in each.conditions]
        if False in answers:
            return
        errors = [answer for answer in answers if not isinstance(answer, bool)]
        if errors:
            yield errors[0]
            return
        for validation in each.validations:
            answer = self._answer(each, severity, validation, given)
            if answer is False:
                message = denial_message(validation.expression, validation.message, given)
                answer = self._denial(each, severity, validation, given, message)
            if not isinstance(answer, bool):
                yield answer

    def _given(self, each: _CompiledPolicy, asked: Resource, stored: Object, params: Object | None) -> EvaluationInput | Unknown | None:
        """Return the inputs of the expressions; None if an exception in CEL exempts the object."""
        exemptions = [one for one in each.exemptions if isinstance(one, _CompiledExemption)]
        try:
            given = self._cluster.inputs(each.variables, asked, stored, params, _NOTHING_ALLOWED)
            found = [one for one in exemptions if all(condition.program.evaluate(given) is True for condition in one.conditions)]
            if any(not (one.images or one.values) for one in found):
                return None
            if found:
                images = [name for one in found for name in one.images]
                values = [value for one in found for value in one.values]
                given = self._cluster.inputs(each.variables, asked, stored, params, _allowed(images, values))
            return given
        except EvaluationError as error:
            return Unknown(each.policy.name, each.policy.place, str(error))

    def _denial(
        self, each: _CompiledPolicy, severity: Severity, compiled: CompiledExpression, given: EvaluationInput, message: str
    ) -> PolicyDenial | Unknown:
        """Return the denial by an expression, or that it depends on a placeholder."""
        path = accessed_path(compiled.program, each.variables, given.values.get("object"))
        text = undecided_placeholder(compiled.program, each.variables, given, path)
        if text is not None:
            return Unknown(each.policy.name, compiled.expression.place, depends_on(text))
        return PolicyDenial(each.policy.name, severity, path, message, compiled.expression.place, each.policy.rule)

    def _answer(
        self, each: _CompiledPolicy, severity: Severity, compiled: CompiledExpression, given: EvaluationInput
    ) -> bool | PolicyDenial | Unknown:
        """Return the value of an expression. An error in it denies the object, or leaves the result in the cluster unknown."""
        try:
            answer = compiled.program.evaluate(given)
        except EvaluationError as failed:
            of_variable = given.failure(compiled.program)
            error = of_variable or failed
            if each.policy.fails_closed and _fails_in_every_cluster(error, compiled.program, given):
                reason = f"no such key: {error.word}" if error.is_missing_key and of_variable is None else str(error)
                message = f"expression '{compiled.expression.text.strip()}' resulted in error: {reason}"
                return self._denial(each, severity, compiled, given, message)
            may_be_set = error.is_missing_key and error.word in _ADDED_TO_PODS | _ADDED_ANYWHERE
            return Unknown(each.policy.name, compiled.expression.place, f"{error}{', but the cluster may set it' if may_be_set else ''}")
        if isinstance(answer, bool):
            return answer
        return Unknown(each.policy.name, compiled.expression.place, "it evaluates to neither true nor false")


def _reads_spec(compiled: _CompiledPolicy) -> bool:
    expressions = [*compiled.conditions, *compiled.validations]
    expressions += [each for one in compiled.exemptions if isinstance(one, _CompiledExemption) for each in one.conditions]
    programs = [program for each in expressions for program in (each.program, each.message)]
    aliases = {name: each.alias for name, each in compiled.variables.items() if each is not None and each.alias}
    programs += [each for name, each in compiled.variables.items() if name not in aliases]
    return not all(reads_only_metadata(each.reads, aliases) for each in programs if each is not None)


def _rank(result: PolicyDenial | Unknown) -> int:
    return SEVERITIES.index(result.severity) if isinstance(result, PolicyDenial) else len(SEVERITIES)


def _may_apply_to(policy: AdmissionPolicy, kind: str) -> bool:
    name, rules = resource_of(kind), policy.constraints.rules
    if rules is not None and not any(rule.names_resource(name) for rule in rules):
        return False
    return policy.own_binding is None or may_select_kind(policy.own_binding.scope, kind)


def _allowed(images: Sequence[str], values: Sequence[str]) -> Mapping[str, Any]:
    """Return the value of ``exceptions`` in expressions of Kyverno."""
    return {"exceptions": {"allowedImages": [*images], "allowedValues": [*values]}}


_NOTHING_ALLOWED = _allowed((), ())


def _with_severity(binding: Binding, candidate: Candidate) -> Binding:
    severity = severity_of(binding.scope, binding.severity, candidate)
    return binding if severity == binding.severity else binding._replace(severity=severity)


_ADDED_TO_PODS = frozenset(
    ("annotations", "imagePullSecrets", "labels", "limits", "managedFields", "name", "namespace", "nodeSelector", "overhead",
     "preemptionPolicy", "priority", "requests", "runtimeClassName", "tolerations", "userInfo", "volumeMounts", "volumes")
)  # fmt: skip
"""Fields that other components of a cluster, mainly admission plugins, may add to pods or requests before policies are evaluated."""
_ADDED_ANYWHERE = frozenset(("ingressClassName", "managedFields", "name", "namespace", "serviceName", "userInfo"))
"""Fields that any object may get; `serviceName` exists in some versions even when it is empty."""


def _fails_in_every_cluster(error: EvaluationError, program: Program, given: EvaluationInput) -> bool:
    """Return whether an expression fails for an object in every cluster: all fields that it reads are known."""
    data: Any = given.values.get("object")
    open_to_more = kind_of(data) == "Pod" or error.word in _ADDED_ANYWHERE
    if not error.certain or (open_to_more and error.word in _ADDED_TO_PODS | _ADDED_ANYWHERE):
        return False
    needed = (program, *(each for name in program.needs or () if (each := given.variables.get(name)) is not None))
    return are_known(data) and not any("namespaceObject" in each.text for each in needed)


# Which objects policies of Kyverno and constraints of Gatekeeper apply to.
# Kyverno: pkg/engine/utils/match.go, in ``policies.kyverno_matching``. Gatekeeper: pkg/mutation/match/match.go and pkg/wildcard.


Scope = KyvernoScope | GatekeeperScope


def selects(scope: Scope, candidate: Candidate) -> bool:
    """Return whether a policy applies to an object. Raises UndecidedError."""
    if isinstance(scope, GatekeeperScope):
        return _selects_for_gatekeeper(scope, candidate)
    if candidate.namespace in OWN_NAMESPACES:
        return False
    if scope.namespace is not None and candidate.namespace is not None and scope.namespace != candidate.namespace:
        return False
    if scope.match is not None and not applies(scope.match, scope.exclude, candidate):
        return False
    if scope.namespace is not None and candidate.namespace is None:
        raise _unknown_namespace()
    return True


def severity_of(scope: Scope | None, severity: Severity, candidate: Candidate) -> Severity:
    """Return the severity for an object, which depends on its namespace if the policy has overrides. Raises UndecidedError."""
    for other, block in scope.overrides if isinstance(scope, KyvernoScope) else ():
        condition = {"kinds": ["*"], **{key: block[key] for key in ("namespaces", "namespaceSelector") if key in block}}
        if applies({"resources": condition}, None, candidate):
            return other
    return severity


def may_select_kind(scope: Scope | None, kind: str) -> bool:
    """Return whether a policy may apply to objects of a kind."""
    if isinstance(scope, GatekeeperScope):
        return not scope.kinds or any(_is_any(kinds, kind) for _, kinds in scope.kinds)
    if scope is None or scope.match is None:
        return True
    named = [each.rpartition("/")[2].partition(".")[0] for each in kinds_of(scope.match)]
    return not named or any(may_match(each, kind) for each in named)


def _unknown_namespace() -> UndecidedError:
    return UndecidedError("it depends on the namespace, which the object does not set")


def _selects_for_gatekeeper(scope: GatekeeperScope, candidate: Candidate) -> bool:
    is_namespaced = candidate.namespace is not None or kind_of(candidate.data) not in CLUSTER_SCOPED
    ref = reference(candidate.data)
    group, kind = (ref.api_version or "").rpartition("/")[0], ref.kind or ""
    if scope.kinds and not any(_is_any(groups, group) and _is_any(kinds, kind) for groups, kinds in scope.kinds):
        return False
    is_namespace = kind == "Namespace" and not group
    if scope.scope in ("Cluster", "Namespaced") and (scope.scope == "Cluster") != (is_namespace or not is_namespaced):
        return False
    if scope.labels is not None and not matches(scope.labels, labels_at(candidate.data)):
        return False
    if scope.name and not _globbed(scope.name, candidate.name):
        return False
    conditions: list[Callable[[], bool]] = []
    if not (is_namespace or is_namespaced):
        return True
    if scope.namespaces:
        conditions.append(partial(_in_namespaces, scope.namespaces, candidate, wanted=True))
    if scope.excluded_namespaces:
        conditions.append(partial(_in_namespaces, scope.excluded_namespaces, candidate, wanted=False))
    if scope.namespace_labels is not None:
        conditions.append(partial(_in_labelled_namespace, scope.namespace_labels, candidate))
    return holds_all(conditions)


def _is_any(values: Iterable[str], value: str) -> bool:
    values = tuple(values)
    return not values or "*" in values or value in values


def _globbed(glob: str, text: str) -> bool:
    """Return whether a text matches a glob with ``*`` at its ends; elsewhere it has no meaning."""
    inner = glob.removeprefix("*").removesuffix("*")
    if glob.startswith("*") and glob.endswith("*"):
        return inner in text
    if glob.startswith("*"):
        return text.endswith(inner)
    return text.startswith(inner) if glob.endswith("*") else text == glob


def _in_namespaces(globs: tuple[str, ...], candidate: Candidate, *, wanted: bool) -> bool:
    """Return whether the namespace of an object matches a glob, or matches none if not ``wanted``."""
    namespace = candidate.name if kind_of(candidate.data) == "Namespace" else candidate.namespace
    if namespace is None:
        raise _unknown_namespace()
    return any(_globbed(each, namespace) for each in globs) == wanted


def _in_labelled_namespace(selector: Selector, candidate: Candidate) -> bool:
    if kind_of(candidate.data) == "Namespace":
        return matches(selector, labels_at(candidate.data))
    if candidate.namespace_labels is not None:
        return matches(selector, candidate.namespace_labels)
    return selects_unknown_namespace(selector, candidate.namespace)
