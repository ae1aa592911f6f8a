"""The result of ValidatingAdmissionPolicies for an object that is to be created, as far as it is known without a cluster.

After k8s.io/apiserver/pkg/admission/plugin/policy/validating: constraints, conditions, then each validation for each binding and each of
its parameters. The user who creates the object is unknown, there is no old object, and authorization cannot be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.admission import cel
from afflint.admission.api_resources import EXEMPT, resource_of
from afflint.admission.cel import EvaluationError, EvaluationInput, ExpressionError, OfflineError, Program
from afflint.admission.cel_messages import type_in_words
from afflint.admission.defaults import are_known, with_defaults
from afflint.checks.policies.known_cluster import KnownCluster, Object, resource, unknown_namespace, unknown_params
from afflint.findings.finding import SEVERITIES, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.manifests import labels_at
from afflint.policies.admission_manifests import (
    GROUP,
    Admission,
    AdmissionPolicy,
    Binding,
    Expression,
    Fault,
    MatchConstraints,
    Resource,
)
from afflint.yaml.placeholders import is_placeholder


class PolicyDenial(NamedTuple):
    """A denial of an object by a policy: the path in the object, and the message."""

    policy: str
    severity: Severity
    path: Path
    message: str
    place: str
    """The position of the expression that evaluated to false."""


class Unknown(NamedTuple):
    """A part of a policy that is not evaluated, and the reason; ``place`` is its position, or "" for the policy as a whole."""

    policy: str
    place: str
    reason: str


class _CompiledExpression(NamedTuple):
    expression: Expression
    program: Program
    message: Program | None


class _CompiledPolicy(NamedTuple):
    """A policy with its compiled expressions."""

    policy: AdmissionPolicy
    bindings: tuple[Binding, ...]
    conditions: tuple[_CompiledExpression, ...]
    variables: Mapping[str, Program | None]
    validations: tuple[_CompiledExpression, ...]


class AdmissionEvaluator:
    """Evaluates policies with their bindings for objects. ``unknown`` lists what cannot be evaluated in the policies themselves.

    ``faults`` are the mistakes for which the API server would reject a policy or a binding; those are not applied.
    """

    def __init__(self, admission: Admission, names: Iterable[str], objects: Iterable[Object] = ()) -> None:
        """Compile the policies named ``names``. ``objects``: further objects, which may be namespaces or parameters."""
        self.unknown: list[Unknown] = []
        self._cluster = KnownCluster([*admission.objects, *objects])
        wanted = frozenset(names)
        first = {policy.name: policy for policy in reversed(admission.policies) if policy.name in wanted}
        bound = {name: tuple([each for each in admission.bindings if each.policy == name]) for name in first}
        self.faults: list[Fault] = []
        compiled = (self._compiled(policy, bound[name]) for name, policy in sorted(first.items()))
        self._policies = [each for each in compiled if each is not None]

    def may_apply_to(self, kind: str) -> bool:
        """Return whether a policy may apply to objects of a kind."""
        return kind not in EXEMPT and any(_may_match_kind(each.policy.constraints, kind) for each in self._policies)

    def evaluate(self, data: Object) -> Iterator[PolicyDenial | Unknown]:
        """Yield the denials of an object, each once with its greatest severity, and the parts that are not evaluated."""
        asked = resource(data)
        if asked is None or (asked.group == GROUP and asked.kind in EXEMPT):
            return
        seen: set[PolicyDenial | Unknown] = set()
        stored: Object | None = None
        labels = labels_at(data)
        for each in self._policies:
            if not each.policy.constraints.covers(asked, labels):
                continue
            stored = with_defaults(data) if stored is None else stored
            for result in sorted(self._of_policy(each, asked, labels, stored), key=_rank):
                key = result._replace(severity="error") if isinstance(result, PolicyDenial) else result
                if key not in seen:
                    seen.add(key)
                    yield result

    # The evaluation of one policy.

    def _compiled(self, policy: AdmissionPolicy, bindings: tuple[Binding, ...]) -> _CompiledPolicy | None:
        """Compile the expressions of a policy; None if the API server rejects the policy."""
        if not bindings:
            self.unknown.append(Unknown(policy.name, policy.place, "no binding refers to it, so it is never applied"))
        known = len(self.faults)
        self.faults += policy.faults
        compiler = PolicyCompiler(policy, self.faults, self.unknown)
        for each in policy.variables:
            compiler.add_variable(each)
        conditions = tuple(compiler.compiled(policy.conditions, _TRUTH, with_variables=False))
        validations = tuple(compiler.compiled(policy.validations, _TRUTH))
        # Annotations are not evaluated: nothing depends on them.
        list(compiler.compiled(policy.annotations, _ANNOTATION))
        if len(self.faults) > known:
            self.unknown.append(Unknown(policy.name, policy.place, "the API server rejects it, so it is not applied"))
            return None
        self.faults += [fault for each in bindings for fault in each.faults]
        sound = tuple(each for each in bindings if not each.faults)
        # If a condition cannot be evaluated, it is unknown which objects the policy applies to.
        applied = validations if len(conditions) == len(policy.conditions) else ()
        return _CompiledPolicy(policy, sound, conditions, compiler.variables, applied)

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
        for binding in meant:
            found = self._cluster.params_of(policy, binding.params, asked)
            if found is None:
                yield Unknown(policy.name, policy.place, unknown_params(binding))
                continue
            for params in found:
                yield from self._validated(each, binding.severity, self._given(each, asked, stored, params))

    def _validated(self, each: _CompiledPolicy, severity: Severity, given: EvaluationInput | Unknown) -> Iterator[PolicyDenial | Unknown]:
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

    def _given(self, each: _CompiledPolicy, asked: Resource, stored: Object, params: Object | None) -> EvaluationInput | Unknown:
        try:
            return self._cluster.inputs(each.variables, asked, stored, params)
        except EvaluationError as error:
            return Unknown(each.policy.name, each.policy.place, str(error))

    def _denial(
        self, each: _CompiledPolicy, severity: Severity, compiled: _CompiledExpression, given: EvaluationInput, message: str
    ) -> PolicyDenial | Unknown:
        """Return the denial by an expression, or that it depends on a placeholder."""
        path = accessed_path(compiled.program, each.variables, given.value("object"))
        text = undecided_placeholder(compiled.program, each.variables, given, path)
        if text is not None:
            return Unknown(each.policy.name, compiled.expression.place, depends_on(text))
        return PolicyDenial(each.policy.name, severity, path, message, compiled.expression.place)

    def _answer(
        self, each: _CompiledPolicy, severity: Severity, compiled: _CompiledExpression, given: EvaluationInput
    ) -> bool | PolicyDenial | Unknown:
        """Return the value of an expression. An error in it denies the object, or leaves the result in the cluster unknown."""
        try:
            answer = compiled.program.evaluate(given)
        except EvaluationError as error:
            if each.policy.fails_closed and _fails_in_every_cluster(error, compiled.program, given):
                reason = f"no such key: {error.word}" if error.is_missing_key else str(error)
                message = f"expression '{compiled.expression.text.strip()}' resulted in error: {reason}"
                return self._denial(each, severity, compiled, given, message)
            return Unknown(each.policy.name, compiled.expression.place, given.failure(compiled.program) or str(error))
        if isinstance(answer, bool):
            return answer
        return Unknown(each.policy.name, compiled.expression.place, "it evaluates to neither true nor false")


def _rank(result: PolicyDenial | Unknown) -> int:
    return SEVERITIES.index(result.severity) if isinstance(result, PolicyDenial) else len(SEVERITIES)


def _may_match_kind(constraints: MatchConstraints, kind: str) -> bool:
    name = resource_of(kind)
    return any(rule.names_resource(name) for rule in constraints.rules or ())


_ADDED_TO_PODS = frozenset(
    ("annotations", "imagePullSecrets", "labels", "limits", "managedFields", "name", "namespace", "nodeSelector", "overhead",
     "preemptionPolicy", "priority", "requests", "runtimeClassName", "tolerations", "userInfo", "volumeMounts", "volumes")
)  # fmt: skip
"""Fields that other components of a cluster, mainly admission plugins, may add to pods or requests before policies are evaluated."""
_ADDED_ANYWHERE = frozenset(("managedFields", "name", "namespace", "serviceName", "userInfo"))
"""Fields that any object may get; `serviceName` exists in some versions even when it is empty."""


def _fails_in_every_cluster(error: EvaluationError, program: Program, given: EvaluationInput) -> bool:
    """Return whether an expression fails for an object in every cluster: all fields that it reads are known."""
    data = given.value("object")
    open_to_more = data.get("kind") == "Pod" or error.word in _ADDED_ANYWHERE
    if not error.certain or given.failure(program) or (open_to_more and error.word in _ADDED_TO_PODS | _ADDED_ANYWHERE):
        return False
    return are_known(data) and "namespaceObject" not in program.text


_TRUTH, _MESSAGE, _ANNOTATION = ("bool",), ("string",), ("string", "null_type")


class PolicyCompiler:
    """Compiles the expressions of a policy.

    Mistakes are added to ``faults``, expressions that only a cluster can compile to ``unknown``.
    """

    def __init__(self, policy: AdmissionPolicy, faults: list[Fault], unknown: list[Unknown]) -> None:
        self._policy, self._faults, self._unknown = policy, faults, unknown
        self.variables: dict[str, Program | None] = {}
        params = () if policy.param_kind is not None else ("params",)
        self._names = tuple(name for name in cel.VARIABLES if name not in params)
        self._types: list[tuple[str, str]] = []

    def add_variable(self, variable: Expression) -> None:
        """Compile a variable, so that later expressions may refer to it."""
        program = self._program(variable, variable.text, "expression", ())
        self.variables[variable.name] = program
        if program is not None:
            self._types.append((variable.name, program.type))

    def compiled(
        self, expressions: Iterable[Expression], types: Sequence[str], *, with_variables: bool = True
    ) -> Iterator[_CompiledExpression]:
        """Yield the expressions that can be evaluated; each must have one of the types."""
        for each in expressions:
            key = "valueExpression" if types is _ANNOTATION else "expression"
            program = self._program(each, each.text, key, types, with_variables=with_variables)
            message = None
            if each.message_text is not None:  # The message of the expression is then used.
                message = self._program(each, each.message_text, "messageExpression", _MESSAGE)
            if program is not None:
                yield _CompiledExpression(each, program, message)

    def _program(self, expression: Expression, text: str, key: str, types: Sequence[str], *, with_variables: bool = True) -> Program | None:
        names = self._names if with_variables else tuple(name for name in self._names if name != "variables")
        try:
            program = cel.compiled(text, cel.ExpressionScope(names, tuple(self._types) if with_variables else ()))
        except ExpressionError as error:
            self._add_fault(expression, key, str(error))
            return None
        except OfflineError as error:
            self._unknown.append(Unknown(self._policy.name, expression.place, str(error)))
            return None
        missing = next((name for name in program.needs or () if name not in self.variables), None)
        if missing is not None:
            self._add_fault(expression, key, f"`variables.{missing}` is not defined before it")
            return None
        if types and program.type not in types:
            wanted = " or ".join(map(type_in_words, types))
            hint = "; compare it, as in `… == true`" if (program.type, types) == ("dyn", _TRUTH) else ""
            if (program.type, types) == ("dyn", _MESSAGE):
                hint = "; convert it with `string(…)`"
            self._add_fault(expression, key, f"`{key}` must evaluate to {wanted}, but its type is {quoted(program.type)}{hint}")
            return None
        return program

    def _add_fault(self, expression: Expression, key: str, message: str) -> None:
        self._faults.append(self._policy.origin.fault((*expression.path, key), message))


# Messages and positions.


def depends_on(placeholder: str) -> str:
    """Return the reason why an expression that reads a placeholder has no result."""
    return f"it depends on the value of the placeholder {quoted(placeholder)}"


def denial_message(expression: Expression, message: Program | None, given: EvaluationInput) -> str:
    """Return the message for an expression that evaluated to false, chosen as in the API server."""
    if message is not None:
        try:
            text = message.evaluate(given)
        except EvaluationError:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return expression.message or f"failed expression: {expression.text.strip()}"


def accessed_path(program: Program, variables: Mapping[str, Program | None], data: Any) -> Path:
    """Return the path in an object that an expression reads: the deepest one, of several the last.

    If it reads none itself, those of its variables count. The namespace of the object counts for fields of its namespace.
    """
    path = _deepest([program], variables, data) or _deepest(_needed_variables(program, variables), variables, data)
    return path or (_existing(("metadata", "namespace"), data) if "namespaceObject" in program.text else ())


def _needed_variables(program: Program, variables: Mapping[str, Program | None]) -> list[Program]:
    """Return the variables that an expression refers to, directly or through others."""
    found: dict[Program, None] = {}
    waiting = [program]
    while waiting:
        named = [variables.get(name) for name in waiting.pop().needs or ()]
        new = [each for each in named if each is not None and each not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _deepest(programs: Iterable[Program], variables: Mapping[str, Program | None], data: Any) -> Path:
    found: Path = ()
    for each in programs:
        for chain in cel.chains_in(each.text):
            path = _existing(_in_object(chain, variables), data)
            found = path if len(path) >= len(found) else found
    return found


def _in_object(chain: cel.Chain, variables: Mapping[str, Program | None]) -> Path:
    """Return the path of a chain in the object, following variables that hold one of its fields; empty if it leads elsewhere."""
    for _ in range(len(variables) + 1):
        if chain.root == "object":
            return chain.path
        program = variables.get(str(chain.path[0]))
        whole = None if program is None else cel.chain_of(program.text)
        if whole is None:
            break
        chain = cel.Chain(whole.root, (*whole.path, *chain.path[1:]))
    return ()


def undecided_placeholder(program: Program, variables: Mapping[str, Program | None], given: EvaluationInput, path: Path) -> str | None:
    """Return a placeholder that may make an expression true, which evaluates to false; None if none can.

    Only placeholders below ``path``, which the expression reads, can. They cannot if the expression is also false with a value in their
    place on which no function of strings works, and with each string that the expression or its parameters name.
    """
    data = given.value("object")
    texts = list(_placeholders(_at(data, path)))
    if not texts:
        return None
    needed = _needed_variables(program, variables)
    constants = {text for each in (program, *needed) for text in cel.texts_in(each.text)} | set(_strings(given.value("params")))
    if len(constants) > _MOST_CONSTANTS:
        return texts[0]
    try:
        decided = all(program.evaluate(given.with_object(_replaced(data, each))) is False for each in (True, *sorted(constants)))
    except EvaluationError:
        decided = False
    return None if decided else texts[0]


_MOST_CONSTANTS = 50
_OF_CONTAINERS = frozenset(("args", "command", "env"))
"""In these fields ``$(NAME)`` is a variable of the container, not a placeholder."""


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else data[step] if isinstance(data, list) and type(step) is int else None
    return data


def _placeholders(data: Any) -> Iterator[str]:
    return (each for each in _strings(data) if is_placeholder(each))


def _strings(data: Any) -> Iterator[str]:
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [below for key, below in each.items() if key not in _OF_CONTAINERS]
        elif isinstance(each, list):
            waiting += each


def _replaced(data: Any, value: Any) -> Any:
    """Return the data with a value in place of each placeholder."""
    if isinstance(data, dict):
        return {key: below if key in _OF_CONTAINERS else _replaced(below, value) for key, below in data.items()}
    if isinstance(data, list):
        return [_replaced(each, value) for each in data]
    return value if isinstance(data, str) and is_placeholder(data) else data


def _existing(chain: Path, data: Any) -> Path:
    """Return the longest part of a chain of keys that exists."""
    for length, step in enumerate(chain):
        inside = data.get(step) if isinstance(data, dict) else data[step] if isinstance(data, list) and type(step) is int else None
        if inside is None:
            return chain[:length]
        data = inside
    return chain
