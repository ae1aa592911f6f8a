"""Which objects policies of Kyverno and constraints of Gatekeeper apply to.

Kyverno: pkg/engine/utils/match.go, in ``policies.kyverno_matching``. Gatekeeper: pkg/mutation/match/match.go and pkg/wildcard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from afflint.admission.api_resources import CLUSTER_SCOPED
from afflint.findings.finding import Severity
from afflint.kube.selectors import Selector, matches
from afflint.manifests.manifest import labels_at, reference
from afflint.policies.admission_manifests import GatekeeperScope, KyvernoScope
from afflint.policies.kyverno_matching import (
    OWN_NAMESPACES,
    Candidate,
    UndecidedError,
    applies,
    holds_all,
    kinds_of,
    may_match,
    selects_unknown_namespace,
)
from afflint.yaml.object_fields import kind_of

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
