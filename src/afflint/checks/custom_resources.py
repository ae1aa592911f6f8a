"""The rules for pods that operators create for custom resources, and who rejects a mistake, depending on the source of the constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from afflint.checks.match import Match
from afflint.checks.verified_places import VerifiedPlaces, is_in
from afflint.findings.similarity import is_likely_typo
from afflint.kube.shapes import AFFINITY_FIELDS, misspelt_rule
from afflint.manifests.custom_resources import CustomWorkload, value_at
from afflint.manifests.manifest import Workload

_DECODING_RULES = frozenset(("unknown-field", "misplaced-constraint", "missing-term-wrapper", "wrong-type"))

STORED = " (stored, but the operator's pods are rejected)"
DROPPED = " (kubectl rejects it, other clients drop it)"
UNREAD = " (stored, but the operator cannot read it, or its pods are rejected)"
IGNORED = " (stored, but the operator ignores it)"
IF_IT_REACHES = " (if this reaches a pod, the pod is rejected)"
IF_THE_FIELD_REACHES = " (if this reaches a pod, kubectl rejects it, other clients drop it)"


_OF_KNOWN_KINDS = frozenset(("any", "shape", "operator", "known", "unchanged"))
_OF_CHARTS = frozenset(("unchanged", "only unchanged"))


def scopes_of(workload: Workload, verified: VerifiedPlaces | None) -> frozenset[str]:
    """Return the scopes of the checks that are run for the pods of an operator or a chart, as ``checks.registry`` names them."""
    assert isinstance(workload, CustomWorkload)
    if workload.place is not None and not workload.place.pods:
        return frozenset(("any",))
    if workload.known != "shape":
        return _OF_KNOWN_KINDS
    return frozenset(("any", "shape", *(_OF_CHARTS if verified is not None and verified.unchanged else ())))


def applies_to_custom(scope: str, condition: str, match: Match, workload: Workload, verified: VerifiedPlaces | None) -> bool:
    """Return whether a match of a check with this scope applies to these pods. ``condition``: the name of a condition; "" without one."""
    assert isinstance(workload, CustomWorkload)
    if workload.known == "shape" and scope in _OF_CHARTS and not (verified is not None and verified.cover(match.path)):
        return False
    return not condition or _CONDITIONS[condition](match, workload, verified)


def _is_literal(match: Match, workload: CustomWorkload, _: VerifiedPlaces | None) -> bool:
    """Return whether no template has to replace an invalid key or value: ``$`` is an invalid character, as in ``$mcp``."""
    return "$" not in str(match.path[-1] if match.key else value_at(workload, match.path))


def _is_not_filled(_: Match, workload: CustomWorkload, verified: VerifiedPlaces | None) -> bool:
    """Return whether no operator adds a selector. For a kind known only from its CustomResourceDefinition that is unknown."""
    custom = workload.custom
    return verified is not None or (custom is not None and custom.known_by == "catalogue" and not custom.fills_selectors)


def _is_in_pod_term(match: Match, _: CustomWorkload, __: VerifiedPlaces | None) -> bool:
    """Return whether a term is in a pod affinity. Another rule reports a pod term among the node terms."""
    return "nodeAffinity" not in match.path


def _has_wrong_type(match: Match, workload: CustomWorkload, _: VerifiedPlaces | None) -> bool:
    value, part = value_at(workload, match.path), workload.part_around(match.path)
    if workload.known == "shape" and part is not None and part.shape == "affinity" and type(value) is str and part.value != value:
        return len(match.path) - len(part.path) > 1  # A word of the chart: `podAntiAffinity: soft`.
    return not _is_attribute(value)


def _is_not_of_kind(match: Match, workload: CustomWorkload, _: VerifiedPlaces | None) -> bool:
    return not workload.has_field(match.path)


def _is_unknown(match: Match, workload: CustomWorkload, _: VerifiedPlaces | None) -> bool:
    if workload.has_field(match.path) or match.path[-1] in _FIELDS_OF_OPERATORS:
        return False
    # An affinity of the kind may have more fields than the affinity of a pod.
    part, name = workload.part_around(match.path), str(match.path[-1])
    if part is None:
        return True
    depth = len(match.path) - len(part.path)
    if part.shape == "affinity" and depth == 1:
        return any(is_likely_typo(name, each) for each in AFFINITY_FIELDS)
    if workload.known != "schema" and depth == _DEPTHS_OF_RULES.get(part.shape):
        return misspelt_rule(name) is not None
    if workload.known == "shape" and part.shape in AFFINITY_FIELDS:
        # Others, such as `clusterAffinity`, may select something else.
        return depth == 0 or str(part.path[-1]).lower().endswith(part.shape.lower())
    return True


def _is_not_extended(match: Match, _: CustomWorkload, verified: VerifiedPlaces | None) -> bool:
    return verified is None or not is_in(match.path, verified.extended)


_CONDITIONS: Mapping[str, Callable[[Match, CustomWorkload, VerifiedPlaces | None], bool]] = {
    "is_literal": _is_literal,
    "is_not_filled": _is_not_filled,
    "is_in_pod_term": _is_in_pod_term,
    "has_wrong_type": _has_wrong_type,
    "is_not_of_kind": _is_not_of_kind,
    "is_unknown": _is_unknown,
    "is_not_extended": _is_not_extended,
}
"""By name: whether a finding in a custom resource applies."""

_FIELDS_OF_OPERATORS = ("additionalLabelSelectors",)
"""Fields of a spread constraint in the resources of the Prometheus operator (pkg/apis/monitoring/v1 TopologySpreadConstraint)."""

_DEPTHS_OF_RULES = {"affinity": 2, "nodeAffinity": 1, "podAffinity": 1, "podAntiAffinity": 1}
"""How many levels below an affinity its required and preferred rules are, by the shape of the affinity."""


def _is_attribute(value: object) -> bool:
    """Return whether a value is an attribute of AsciiDoc, ``{name}``, which YAML reads as a map."""
    return isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]


def with_custom_wording(rule: str, match: Match, workload: Workload, verified: VerifiedPlaces | None) -> Match:
    """Return the match with a note on who rejects it: the API server, kubectl, a webhook, or only the creation of the pods.

    A constraint that a chart certainly writes into pods needs no note: it is judged like one in the pods. A chart may set a field
    that is missing, unless it is known to add nothing.
    """
    assert isinstance(workload, CustomWorkload)
    if verified is not None and verified.cover(match.path) and (verified.unchanged or value_at(workload, match.path) is not None):
        return match
    if workload.place is not None and not workload.place.pods:
        return match
    if workload.known == "shape" and match.severity is not None:
        return match  # The check itself knows what happens.
    if workload.known == "shape":
        part = workload.part_around(match.path)
        note = IF_THE_FIELD_REACHES if rule in _DECODING_RULES and rule != "wrong-type" else IF_IT_REACHES
        note = DROPPED if part is not None and part.shape == "labelSelector" else note
        return match._replace(message=match.message + note, severity="warning")
    if workload.is_opened(match.path):
        if rule in ("unknown-field", "misplaced-constraint"):
            return match._replace(message=match.message + IGNORED, severity="warning")
        return match._replace(message=match.message + (UNREAD if rule in _DECODING_RULES else STORED))
    if rule in _DECODING_RULES:
        return match._replace(message=match.message + DROPPED) if rule != "wrong-type" else match
    if not workload.lenient and value_at(workload, match.path) is None:
        return match  # The schema requires the field, so the API server itself rejects the resource.
    looks = workload.webhook(match.path)
    return match._replace(message=f"{match.message} (the webhook of {looks} rejects it)" if looks else match.message + STORED)
