"""Policies with expressions in CEL that the user writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from afflint.admission import cel
from afflint.admission.cel_checks import reads_only_metadata
from afflint.admission.defaults import with_defaults
from afflint.checks.match import Match
from afflint.checks.policies.accessed_fields import accessed_path, denial_message, depends_on, undecided_placeholder
from afflint.checks.policies.known_cluster import namespace_object, request, resource
from afflint.checks.policies.subject import PolicySubject, UnevaluatedError
from afflint.findings.phrases import quoted
from afflint.policies.admission_manifests import Expression
from afflint.policies.check_params import Validation


def expression(case: PolicySubject, params: Validation) -> Iterator[Match]:
    """Report objects for which an expression is false, evaluated as in the API server when the object is created."""
    program = cel.compiled(params.expression)
    variables: dict[str, cel.Program | None] = {each.name: cel.compiled(each.expression) for each in params.variables}
    try:
        given = _inputs(case, params, variables)
        answer = program.evaluate(given)
        if not isinstance(answer, bool):
            raise cel.EvaluationError("it evaluates to neither true nor false")
    except cel.EvaluationError as error:
        if case.manifest_index is None:
            # The facts from all manifests may decide it.
            yield Match(case.pods.site.base, "")
            return
        raise UnevaluatedError(str(error)) from None
    if answer:
        return
    pointed_at = accessed_path(program, variables, case.object)
    placeholder = undecided_placeholder(program, variables, given, pointed_at)
    if placeholder is not None:
        if case.manifest_index is None:
            yield Match(case.pods.site.base, "")
            return
        raise UnevaluatedError(depends_on(placeholder))
    path = params.at or pointed_at or ("metadata", "name")
    plain = params.message or f"{case.title} does not meet {quoted(' '.join(params.expression.split()))}"
    message = params.messageExpression and cel.compiled(params.messageExpression)
    yield Match((*case.pods.site.base, *path), denial_message(Expression(params.expression, "", plain), message or None, given))


def _inputs(case: PolicySubject, params: Validation, variables: Mapping[str, cel.Program | None]) -> cel.EvaluationInput:
    """Return what the expression may read: no user, and of a namespace without a manifest only its name."""
    data = case.object or {}
    spec = not _reads_only_metadata(params.expression, params.messageExpression, tuple([each.expression for each in params.variables]))
    values: dict[str, Any] = {"object": with_defaults(data, spec=spec), "oldObject": None, "params": params.params}
    asked = resource(data)
    if asked is not None:
        values["request"] = request(asked)
    namespace = case.namespace
    if case.pods.namespace is not None:
        known = None if namespace is None else {"metadata": {"labels": dict(namespace.labels)}}
        values["namespaceObject"] = namespace_object(case.pods.namespace, known)
    return cel.EvaluationInput(values, variables, only_names_namespace=namespace is None)


@lru_cache
def _reads_only_metadata(expression: str, message: str | None, variables: tuple[str, ...]) -> bool:
    programs = [cel.compiled(each) for each in (expression, *variables, *((message,) if message else ()))]
    # Variables that are other names for the object read all of it here, which is never too little.
    return all(reads_only_metadata(each.reads, {}) for each in programs)
