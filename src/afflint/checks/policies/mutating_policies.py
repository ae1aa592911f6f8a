"""What mutating policies in CEL change in an object that is to be created, as far as it is known without a cluster.

These are MutatingAdmissionPolicies with their bindings, and Kyverno's MutatingPolicies. After
k8s.io/apiserver/pkg/admission/plugin/policy/mutating and, for Kyverno, pkg/cel/policies/mpol. Kyverno also generates mutations of pod
templates from those of pods. afflint does not need these: it changes the pods that are created from the templates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from afflint.admission.api_resources import EXEMPT, resource_of
from afflint.admission.cel import EvaluationError, EvaluationInput, Program
from afflint.admission.cel_objects import JSON_PATCH, OBJECT, MismatchError, plain, type_of, with_maps
from afflint.admission.defaults import with_defaults
from afflint.checks.policies.known_cluster import KnownCluster, Object, resource, unknown_namespace, unknown_params
from afflint.checks.policies.policy_compiler import PolicyCompiler, Unknown
from afflint.findings.errors import UserError
from afflint.findings.paths import Path
from afflint.kube.kinds import KINDS
from afflint.kube.manifests import labels_at
from afflint.mutation.json_patch import FailedTestError, with_json_patch
from afflint.mutation.kyverno import CONSTRAINTS, OWN_NAMESPACES, PLACEMENT
from afflint.mutation.mutations import transferred
from afflint.mutation.strategic_merge import applied
from afflint.mutation.undecided import InapplicableError, UndecidedError
from afflint.policies.admission_manifests import (
    GROUP,
    MUTATING_BINDING,
    MUTATING_POLICY,
    AdmissionPolicy,
    Binding,
    Expression,
    Fault,
    is_of,
)
from afflint.policies.kyverno_policies import GROUP as KYVERNO_GROUP
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import kind_of, name_of, namespace_of

_KYVERNO_KINDS = ("MutatingPolicy", "NamespacedMutatingPolicy")
BINDING = MUTATING_BINDING
_OTHER_KINDS = ("Pod", "Namespace", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Service", "PersistentVolumeClaim")
_WORD = re.compile(r"[A-Za-z]+")
_TRUTH = ("bool",)


class CelMutateRule:
    """A policy in CEL that changes objects, with its bindings; it implements ``ObjectRule``. ``bindings`` is None for Kyverno's policies.

    ``namespace``: that of a namespaced policy. ``path`` leads to its mutations. ``is_excepted``: an exception of Kyverno names it.
    """

    only_first = False

    def __init__(
        self,
        policy: AdmissionPolicy,
        bindings: Sequence[Binding] | None,
        cluster: KnownCluster,
        namespace: str | None = None,
        *,
        is_excepted: bool = False,
    ) -> None:
        self.policy = self.name = policy.name
        self.namespace = namespace
        self._source, self._bindings, self._cluster, self._is_excepted = policy, bindings, cluster, is_excepted
        self.path: Path = ("spec", "mutations")
        # Kyverno registers its webhooks for another call after other plugins have changed an object.
        self.reinvoked = policy.reinvoked or bindings is None

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for each in (*self._source.mutations, *self._source.variables) for word in _WORD.findall(each.text))

    @property
    def touches_placement(self) -> bool:
        """Whether its expressions name a field that decides where pods run."""
        return not PLACEMENT.isdisjoint(self._words)

    @property
    def touches_constraints(self) -> bool:
        """Whether its expressions name more than labels and replicas, which affect placement only through other objects."""
        return not CONSTRAINTS.isdisjoint(self._words)

    def kinds(self) -> frozenset[str]:
        """Return the names of the kinds that the policy may apply to, ``*`` for any."""
        named = {each.partition("/")[0] for rule in self._source.constraints.rules or () for each in rule.resources}
        known = {resource_of(kind): kind for kind in (*(each.name for each in KINDS), *_OTHER_KINDS)}
        return frozenset(known.get(each, "*") for each in named)

    def changed(self, data: Object, _namespace_labels: Mapping[str, str] | None, namespace: str | None) -> Object:
        """Return an object as the policy changes it; the same object if the policy does not apply. Raises UndecidedError."""
        asked = resource(data)
        if asked is None or asked.kind in EXEMPT or not self._source.constraints.covers(asked, labels_at(data)):
            return data
        if self._bindings is None:
            if namespace in OWN_NAMESPACES or (self.namespace is not None and namespace is not None and self.namespace != namespace):
                return data
            if self.namespace is not None and namespace is None:
                raise UndecidedError("it depends on the namespace, which the object does not set")
        for binding in (None,) if self._bindings is None else self._bindings:
            data = self._invoked(data, binding)
        return data

    def _invoked(self, data: Object, binding: Binding | None) -> Object:
        """Return an object after the policy, for one of its bindings."""
        asked = resource(data)
        constraints = (self._source.constraints, *((binding.constraints,) if binding is not None else ()))
        if asked is None or not all(each.covers(asked, labels_at(data)) for each in constraints):
            return data
        inside = self._cluster.is_inside(constraints, asked, labels_at(data))
        if inside is None:
            raise UndecidedError(unknown_namespace(asked))
        if not inside:
            return data
        if self._is_excepted:
            raise UndecidedError("a PolicyException of Kyverno names it")
        found = [None] if binding is None else self._cluster.params_of(self._source, binding.params, asked)
        if found is None:
            assert binding is not None
            raise UndecidedError(unknown_params(binding))
        for params in found:
            data = self._patched(data, params)
        return data

    def _patched(self, data: Object, params: Object | None) -> Object:
        compiled = self._compiled
        given = self._inputs(data, params)
        for condition in compiled.conditions:
            if self._value(condition, given) is not True:
                return data
        for expression, program in compiled.mutations:
            given = self._inputs(data, params)
            data = self._mutated(data, expression, self._value(program, given))
        return data

    def _inputs(self, data: Object, params: Object | None) -> EvaluationInput:
        asked = resource(data)
        assert asked is not None
        try:
            return self._cluster.inputs(self._compiled.variables, asked, with_defaults(data), params)
        except EvaluationError as error:
            raise UndecidedError(str(error)) from None

    def _value(self, program: Program, given: EvaluationInput) -> Any:
        try:
            return program.evaluate(given)
        except EvaluationError as error:
            raise UndecidedError(str(given.failure(program) or error)) from None

    def _mutated(self, data: Object, expression: Expression, value: Any) -> Object:
        """Return an object with the patch that a mutation evaluates to."""
        before = with_defaults(data)
        try:
            if expression.name == "ApplyConfiguration":
                if type_of(value) != OBJECT:
                    raise InapplicableError("its expression does not evaluate to an `Object`")
                return _object(applied(data, plain(value)))
            if not isinstance(value, list) or any(type_of(each) != JSON_PATCH for each in value):
                raise InapplicableError("its expression does not evaluate to a list of `JSONPatch`")
            operations = [{key: plain(item[key]) for key in ("op", "path", "from", "value") if key in item} for item in value]
            return _object(transferred(data, before, with_json_patch(before, operations, strict=True)))
        except FailedTestError:
            return data
        except (InapplicableError, MismatchError) as error:
            if not self._source.fails_closed:
                return data
            # What Kyverno does then depends on its configuration.
            consequence = "" if self._bindings is None else "the API server rejects the object, because "
            raise UndecidedError(f"{consequence}the policy fails for it: {error}") from None

    @property
    def _compiled(self) -> _CompiledMutations:
        compiled = self._compiled_or_reason
        if isinstance(compiled, str):
            raise UndecidedError(compiled)
        return compiled

    @cached_property
    def _compiled_or_reason(self) -> _CompiledMutations | str:
        try:
            return _CompiledMutations(self._source, is_of_kyverno=self._bindings is None)
        except UndecidedError as error:
            return str(error)


def _object(data: Any) -> Object:
    if not isinstance(data, dict):
        raise InapplicableError("it replaces the object")
    return data


class _CompiledMutations:
    """The compiled expressions of a policy. Raises UndecidedError for expressions that only a cluster can evaluate, or rejects."""

    def __init__(self, policy: AdmissionPolicy, *, is_of_kyverno: bool) -> None:
        faults: list[Fault] = []
        unknown: list[Unknown] = []
        compiler = PolicyCompiler(policy, faults, unknown)
        try:
            for each in policy.variables:
                compiler.add_variable(_with_maps(each))
            conditions = map(_with_maps, policy.conditions)
            self.conditions = [each.program for each in compiler.compiled(conditions, _TRUTH, with_variables=is_of_kyverno)]
            mutations = list(map(_with_maps, policy.mutations))
            self.mutations = [(each.expression, each.program) for each in compiler.compiled(mutations, ())]
        except UserError as error:
            raise UndecidedError(str(error)) from None
        self.variables = compiler.variables
        if faults:
            # afflint does not have the functions that Kyverno adds to the language.
            what = "afflint does not evaluate it" if is_of_kyverno else "the API server rejects it"
            raise UndecidedError(f"{what}: {faults[0].message}")
        if unknown:
            raise UndecidedError(unknown[0].reason)


def _with_maps(expression: Expression) -> Expression:
    return expression._replace(text=with_maps(expression.text))


def is_mutating(data: Object) -> bool:
    """Return whether an object is a policy in CEL that changes objects when they are created."""
    spec = map_at(data, "spec")
    if kind_of(data) == MUTATING_POLICY:
        return is_of(data, GROUP) and bool(name_of(data))
    # With constraints for targets, Kyverno changes these, which exist already, and not the object that is created.
    enabled = map_at(map_at(spec, "evaluation"), "admission").get("enabled") is not False
    return kind_of(data) in _KYVERNO_KINDS and is_of(data, KYVERNO_GROUP) and enabled and not spec.get("targetMatchConstraints")


def cel_rule(
    policy: AdmissionPolicy, data: Object, bindings: Iterable[Binding], cluster: KnownCluster, excepted: Collection[str]
) -> CelMutateRule:
    """Return the rule of a policy; ``data`` is its manifest, ``excepted`` are the names of policies with exceptions."""
    if kind_of(data) == MUTATING_POLICY:
        return CelMutateRule(policy, [each for each in bindings if each.policy == policy.name], cluster)
    namespace = namespace_of(data) if kind_of(data) != _KYVERNO_KINDS[0] else None
    return CelMutateRule(policy, None, cluster, namespace or None, is_excepted=policy.name in excepted)
