"""Compiles the expressions of a policy with the types and the names that are known where the policy is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.admission import cel, cel_kyverno
from afflint.admission.cel import ExpressionError, OfflineError, Program
from afflint.admission.cel_messages import type_in_words
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.policies.admission_manifests import AdmissionPolicy, Dialect, Expression, Fault

EVALUATED_BY: Mapping[Dialect, str] = {
    "kubernetes": "the API server",
    "kyverno": "Kyverno",
    "kyverno-rule": "Kyverno",
    "gatekeeper": "Gatekeeper",
}


class Unknown(NamedTuple):
    """A part of a policy that is not evaluated, and the reason; ``place`` is its position, or "" for the policy as a whole."""

    policy: str
    place: str
    reason: str


class CompiledExpression(NamedTuple):
    """An expression with its program, and that of its message."""

    expression: Expression
    program: Program
    message: Program | None


TRUTH, MESSAGE, ANNOTATION = ("bool",), ("string",), ("string", "null_type")
"""The types that the parts of a policy must have."""


class PolicyCompiler:
    """Compiles the expressions of a policy.

    Mistakes are added to ``faults``, expressions that only a cluster can compile to ``unknown``.
    """

    def __init__(self, policy: AdmissionPolicy, faults: list[Fault], unknown: list[Unknown]) -> None:
        self._policy, self._faults, self._unknown = policy, faults, unknown
        self.variables: dict[str, Program | None] = {}
        params = () if policy.param_kind is not None else ("params",)
        self._is_kyverno = policy.dialect == "kyverno"
        self._unwraps_any = policy.dialect.startswith("kyverno")
        names = (*cel.VARIABLES, *cel_kyverno.VARIABLES) if self._is_kyverno else cel.VARIABLES
        self._names = tuple(name for name in names if name not in params)
        self._types: list[tuple[str, str]] = []

    def add_variable(self, variable: Expression) -> None:
        """Compile a variable, so that later expressions may refer to it."""
        program = self._program(variable, variable.text, "expression", ())
        self.variables[variable.name] = program
        if program is not None:
            self._types.append((variable.name, program.type))

    def compiled(
        self, expressions: Iterable[Expression], types: Sequence[str], *, with_variables: bool = True
    ) -> Iterator[CompiledExpression]:
        """Yield the expressions that can be evaluated; each must have one of the types."""
        for each in expressions:
            key = "valueExpression" if types is ANNOTATION else "expression"
            program = self._program(each, each.text, key, types, with_variables=with_variables)
            message = None
            if each.message_text is not None:  # The message of the expression is then used.
                message = self._program(each, each.message_text, "messageExpression", MESSAGE)
            if program is not None:
                yield CompiledExpression(each, program, message)

    def _program(self, expression: Expression, text: str, key: str, types: Sequence[str], *, with_variables: bool = True) -> Program | None:
        names = self._names if with_variables else tuple(name for name in self._names if name != "variables")
        try:
            types_of_variables = tuple(self._types) if with_variables else ()
            program = cel.compiled(text, cel.ExpressionScope(names, types_of_variables, self._is_kyverno, self._unwraps_any))
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
            hint = "; compare it, as in `… == true`" if (program.type, types) == ("dyn", TRUTH) else ""
            if (program.type, types) == ("dyn", MESSAGE):
                hint = "; convert it with `string(…)`"
            self._add_fault(expression, key, f"`{key}` must evaluate to {wanted}, but its type is {quoted(program.type)}{hint}")
            return None
        return program

    def _add_fault(self, expression: Expression, key: str, message: str) -> None:
        self._faults.append(self._policy.origin.fault((*expression.path, key), message))
