"""Policies with expressions in CEL that the user writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.admission import cel
from afflint.admission.defaults import with_defaults
from afflint.checks.match import Match
from afflint.checks.policies.admission_policies import accessed_path, denial_message, is_open
from afflint.checks.policies.known_cluster import request, resource
from afflint.checks.policies.subject import PolicySubject, UnevaluatedError
from afflint.findings.phrases import quoted
from afflint.kube.selectors import NAMESPACE_NAME
from afflint.policies.admission_manifests import Expression
from afflint.policies.expression_params import Validation


def expression(case: PolicySubject, params: Validation) -> Iterator[Match]:
    """Report objects for which an expression is false, evaluated as in the API server when the object is created."""
    program = cel.compiled(params.expression)
    variables: dict[str, cel.Program | None] = {each.name: cel.compiled(each.expression) for each in params.variables}
    try:
        given = cel.EvaluationInput(_expression_values(case, params), variables)
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
    if is_open(case.object, pointed_at):
        return
    path = params.at or pointed_at or ("metadata", "name")
    plain = params.message or f"{case.title} does not meet {quoted(' '.join(params.expression.split()))}"
    message = params.messageExpression and cel.compiled(params.messageExpression)
    yield Match((*case.pods.site.base, *path), denial_message(Expression(params.expression, "", plain), message or None, given))


def _expression_values(case: PolicySubject, params: Validation) -> dict[str, Any]:
    """Return the values that the expression may read: no user, and the namespace only if it is among the manifests."""
    data = case.object or {}
    values: dict[str, Any] = {"object": with_defaults(data), "oldObject": None, "params": params.params}
    asked = resource(data)
    if asked is not None:
        values["request"] = request(asked)
    namespace = case.namespace
    if namespace is not None:
        labels = {**namespace.labels, NAMESPACE_NAME: namespace.name}
        values["namespaceObject"] = {"metadata": {"name": namespace.name, "labels": labels}}
    return values
