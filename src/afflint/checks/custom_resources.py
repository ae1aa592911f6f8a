"""The rules for pods that operators create for custom resources, and who rejects a mistake, depending on the source of the constraint."""

from __future__ import annotations

from afflint.checks.match import Match
from afflint.checks.verified_places import VerifiedPlaces
from afflint.findings.similarity import is_likely_typo
from afflint.kube.custom_resources import CustomWorkload, value_at
from afflint.kube.manifests import Workload
from afflint.kube.shapes import AFFINITY_FIELDS, misspelt_rule

# These apply whatever the operator does.
_LABEL_RULES = frozenset(("invalid-label-key", "invalid-label-value", "deprecated-node-label"))
_SHAPE_RULES = _LABEL_RULES | {
    "unknown-operator", "operator-values-mismatch", "weight-out-of-range", "empty-topology-key", "invalid-match-field",
    "invalid-toleration", "invalid-spread-constraint", "invalid-namespace-name",
    "contradictory-selector", "contradictory-requirements", "never-matching-comparison", "unparsable-preference",
    "unlikely-topology-key", "wrong-type", "unknown-field", "misplaced-constraint", "missing-term-wrapper", "empty-node-selector-terms",
    "negated-pod-affinity", "ignored-chart-value", "spread-misses-itself", "anti-affinity-misses-itself", "affinity-target-missing",
}  # fmt: skip
_SCHEMA_RULES = _SHAPE_RULES | {
    "duplicate-spread-constraint", "label-keys-conflict", "empty-term", "redundant-term", "unknown-node-label",
    "legacy-control-plane-toleration", "shadowed-toleration", "untolerated-control-plane",
    "selector-matches-nothing",
    "lost-template-label", "invalid-operator-setting", "ignored-operator-setting",
}  # fmt: skip

# These judge a whole constraint. In the values of a chart they apply where the chart writes the constraint into pods as it is.
_VERIFIED_RULES = frozenset(
    (
        "duplicate-spread-constraint", "empty-term", "redundant-term", "unknown-node-label",
        "legacy-control-plane-toleration", "shadowed-toleration",
    )
)  # fmt: skip
# A chart may set a selector that is missing or empty, unless it is known to add nothing to a constraint.
_UNCHANGED_RULES = frozenset(("selector-matches-nothing", "selector-matches-everything", "label-keys-conflict"))

_ADMISSION = frozenset(
    (
        "invalid-label-key", "invalid-label-value", "unknown-operator", "operator-values-mismatch", "weight-out-of-range",
        "empty-topology-key", "invalid-match-field", "invalid-toleration", "invalid-spread-constraint", "invalid-namespace-name",
        "wrong-type", "unknown-field", "misplaced-constraint", "missing-term-wrapper", "empty-node-selector-terms",
        "duplicate-spread-constraint", "label-keys-conflict",
    )
)  # fmt: skip
_FIELD_RULES = frozenset(("unknown-field", "misplaced-constraint", "missing-term-wrapper"))
_DECODING_RULES = _FIELD_RULES | {"wrong-type"}

# Where a kind selects nodes or clusters for something other than pods.
_SELECTION_RULES = _LABEL_RULES | _DECODING_RULES | {
    "unknown-operator", "operator-values-mismatch", "invalid-toleration", "contradictory-selector",
}  # fmt: skip

STORED = " (stored, but the operator's pods are rejected)"
DROPPED = " (kubectl rejects it, other clients drop it)"
UNREAD = " (stored, but the operator cannot read it, or its pods are rejected)"
IGNORED = " (stored, but the operator ignores it)"
IF_IT_REACHES = " (if this reaches a pod, the pod is rejected)"
IF_THE_FIELD_REACHES = " (if this reaches a pod, kubectl rejects it, other clients drop it)"


def applicable_rules(workload: Workload, verified: VerifiedPlaces | None) -> frozenset[str]:
    """Return the rules that apply to the pods of an operator or a chart."""
    assert isinstance(workload, CustomWorkload)
    if workload.place is not None and not workload.place.pods:
        return _SELECTION_RULES
    if workload.known != "shape":
        return _SCHEMA_RULES
    if verified is None:
        return _SHAPE_RULES
    return _SHAPE_RULES | _VERIFIED_RULES | (_UNCHANGED_RULES if verified.unchanged else frozenset())


def applies_to_custom(rule: str, match: Match, workload: Workload, verified: VerifiedPlaces | None) -> bool:
    """Return whether a match applies to these pods: not to generated values, nor to fields that only the kind of the resource has."""
    assert isinstance(workload, CustomWorkload)
    if workload.known == "shape" and rule not in _SHAPE_RULES:
        return (
            verified is not None
            and verified.cover(match.path)
            and not (rule == "legacy-control-plane-toleration" and verified.is_extended(match.path))
        )
    if rule in ("invalid-label-key", "invalid-label-value"):
        return "$" not in match.message  # The character is invalid, so that a template must replace it, such as `$mcp`.
    if rule == "selector-matches-nothing":
        # Some operators add them; for a kind known only from its CustomResourceDefinition that is unknown.
        return workload.custom is not None and workload.custom.known_by == "catalogue" and not workload.custom.fills_selectors
    if rule == "empty-topology-key" and "nodeAffinity" in match.path:
        return False  # Another rule reports a pod term among the node terms.
    if rule == "wrong-type":
        value, part = value_at(workload, match.path), workload.part_around(match.path)
        if workload.known == "shape" and part is not None and part.shape == "affinity" and type(value) is str:
            return len(match.path) - len(part.path) > 1  # A word of the chart: `podAntiAffinity: soft`.
        return not _is_attribute(value)
    if rule in _FIELD_RULES and workload.has_field(match.path):
        return False
    if rule == "unknown-field":
        if match.path[-1] in _FIELDS_OF_OPERATORS:
            return False
        # An affinity of the kind may have more fields than the affinity of a pod.
        part, name = workload.part_around(match.path), str(match.path[-1])
        depth = 0 if part is None else len(match.path) - len(part.path)
        if part is not None and part.shape == "affinity" and depth == 1:
            return any(is_likely_typo(name, each) for each in AFFINITY_FIELDS)
        if part is not None and workload.known != "schema" and depth == _DEPTHS_OF_RULES.get(part.shape):
            return misspelt_rule(name) is not None
        if part is not None and workload.known == "shape" and part.shape in AFFINITY_FIELDS:
            return depth == 0 or str(part.path[-1]).lower().endswith(
                part.shape.lower()
            )  # Others, such as `clusterAffinity`, may select something else.
    return True


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
    if rule not in _ADMISSION or (workload.place is not None and not workload.place.pods):
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
