"""Taints of nodes, tolerations of pods, and which tolerations match which taints."""

from collections.abc import Collection, Iterable, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Malformed, parse_int64

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")
"""The effects that prevent scheduling on a node; PreferNoSchedule only lowers the node's score."""
COMPARISONS = ("Gt", "Lt")
"""The operators of tolerations that compare numbers."""
COMPARISON_GATE = "TaintTolerationComparisonOperators"
"""The feature gate of these operators. It exists since 1.35 and is off by default."""


class Taint(NamedTuple):
    """A taint of a node; the value is empty where the manifest has none."""

    key: str
    value: str = ""
    effect: str = ""


class Toleration(NamedTuple):
    """A toleration of a pod. Omitted fields are empty: no operator means Equal, no key or effect means any."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that a pod must tolerate to be scheduled on a node with ``spec.unschedulable``."""


UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
"""The taint that evicts pods from a node whose kubelet no longer responds."""
UNREACHABLE_NO_SCHEDULE = UNREACHABLE._replace(effect="NoSchedule")
"""The taint that an unreachable node gets first, which prevents new pods from being scheduled on it."""
NOT_READY = "node.kubernetes.io/not-ready"
_REMOVED_SOON = "the autoscaler is about to remove it"
_CONDITIONS = {
    "kubevirt.io/drain": "it takes pods again when the maintenance ends",
    "ToBeDeletedByClusterAutoscaler": _REMOVED_SOON,
    "DeletionCandidateOfClusterAutoscaler": _REMOVED_SOON,
    "karpenter.sh/disrupted": _REMOVED_SOON,
    "karpenter.sh/disruption": _REMOVED_SOON,
    "medik8s.io/remediation": "it takes pods again when the remediation ends",
    "node.kubernetes.io/unschedulable": "it takes pods again when it is uncordoned",
    "node.kubernetes.io/out-of-service": "it takes pods again when an administrator removes the taint",
    "node.cloudprovider.kubernetes.io/shutdown": "it takes pods again when its machine runs",
}
"""The taints that say what is wrong with a node, with when it takes pods again.

Autoscalers: cluster-autoscaler `taints.go`, karpenter `taints.go`; medik8s.io: self-node-remediation; KubeVirt: `node-drainer`.
"""
_CONDITION_GROUPS = {
    "node.kubernetes.io/": "it takes pods again when this condition ends",
    "node.cloudprovider.kubernetes.io/": "it takes pods again when the cloud controller has initialized it",
}
_AGENT_NOT_READY = "/agent-not-ready"


def condition_end(key: str) -> str:
    """Return when a node with a taint that says what is wrong with it takes pods again; empty for other taints.

    A toleration would not make such a node work.
    """
    if key.endswith(_AGENT_NOT_READY):
        return "it takes pods again when its agent is ready"
    return _CONDITIONS.get(key) or next((words for start, words in _CONDITION_GROUPS.items() if key.startswith(start)), "")


def compares_values(version: tuple[int, int], feature_gates: Collection[str]) -> bool:
    """Return whether a cluster of this version with these feature gates supports ``Gt`` and ``Lt`` in tolerations."""
    return version >= (1, 35) and COMPARISON_GATE in feature_gates


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether this toleration matches this taint (`Toleration.ToleratesTaint`). An unknown operator matches no taint.

    ``Gt`` matches a taint whose value is greater than the toleration's, ``Lt`` one whose value is less. Neither matches if one of the
    values is not a 64-bit integer. Clusters without the feature gate ignore both: see ``supported``.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator in COMPARISONS:
        limit, value = parse_int64(toleration.value), parse_int64(taint.value)
        return limit is not None and value is not None and (value > limit if toleration.operator == "Gt" else value < limit)
    return toleration.operator == "Exists"


def supported(tolerations: tuple[Toleration, ...], *, comparisons: bool) -> tuple[Toleration, ...]:
    """Return the tolerations that can match a taint; without ``comparisons`` the scheduler ignores those with ``Gt`` and ``Lt``."""
    return tolerations if comparisons else tuple([each for each in tolerations if each.operator not in COMPARISONS])


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether any of the tolerations matches the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint of the node that prevents a pod with these tolerations from being scheduled on it, or None."""
    for taint in taints:
        if taint.effect in BLOCKING_EFFECTS and not tolerated(taint, tolerations):
            return taint
    return None


def near_miss(taint: Taint, tolerations: Sequence[Toleration], unused: Iterable[Toleration] = ()) -> Toleration | None:
    """Return the first toleration that would match the taint without a typo in its key or value, or None.

    Of ``unused`` tolerations, see there, one of the same key is near enough: it has another value or effect.
    """
    typo = next((each for each in tolerations if is_misspelt(each, taint)), None)
    if typo is not None or condition_end(taint.key):
        return typo
    return next((each for each in unused if each.key == taint.key and each.operator not in COMPARISONS), None)


def is_misspelt(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration would match the taint without a typo in its key or value."""
    from afflint.findings.similarity import is_likely_typo

    for corrected in (toleration._replace(key=taint.key), toleration._replace(value=taint.value)):
        differs = (toleration.key, corrected.key) if toleration.key != corrected.key else (toleration.value, corrected.value)
        if is_likely_typo(*differs) and tolerates(corrected, taint):
            return True
    return False


def unused(tolerations: Iterable[Toleration], taints: Collection[Taint]) -> list[Toleration]:
    """Return the tolerations that match none of the ``taints``, which are all taints of a cluster."""
    return [each for each in tolerations if not any(tolerates(each, taint) for taint in taints)]


def format_taint(taint: Taint) -> str:
    """Format a taint as kubectl does: ``key=value:effect``."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def written(toleration: Toleration, taint: Taint) -> str:
    """Return a toleration as ``key=value``, with the effect if it differs from that of a taint."""
    value = f"={toleration.value}" if toleration.value else ""
    return f"{toleration.key}{value}" + (f":{toleration.effect}" if toleration.effect not in ("", taint.effect) else "")


def toleration_seconds_of(tolerations: Iterable[object], taint: Taint) -> int | None:
    """Return how many seconds a pod with these tolerations stays on a node with this NoExecute taint; None means forever.

    The first match decides, and means forever unless it has ``tolerationSeconds``: GetMatchingTolerations, getMinTolerationTime.
    """
    for each in tolerations:
        if isinstance(each, dict):
            key, operator, value, effect = (each.get(field) or "" for field in ("key", "operator", "value", "effect"))
            if tolerates(Toleration(key, operator, value, effect), taint):
                seconds = each.get("tolerationSeconds")
                return None if seconds is None else max(seconds, 0) if type(seconds) is int else 0
    return 0


def admits_cordoned(tolerations: Iterable[Toleration]) -> bool:
    """Return whether a pod with these tolerations can be scheduled on a cordoned node."""
    return tolerated(CORDON, tolerations)


def count_unpreferred(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> int:
    """Count the PreferNoSchedule taints without a toleration: the raw score of the TaintToleration plugin, where lower is better."""
    return sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, tolerations) for taint in taints)


def implies(first: Toleration, second: Toleration) -> bool:
    """Return whether ``first`` tolerates every taint that ``second`` tolerates, so that ``second`` is redundant."""
    if second.operator not in ("", "Equal", "Exists", *COMPARISONS):
        return True
    if first.effect and first.effect != second.effect:
        return False
    if first.key and first.key != second.key:
        return False
    if first.operator in ("", "Equal"):
        return second.operator in ("", "Equal") and first.value == second.value
    if first.operator in COMPARISONS:
        return _implied_by_comparison(first, second)
    return first.operator == "Exists"


def _implied_by_comparison(first: Toleration, second: Toleration) -> bool:
    if second.operator in ("", "Equal"):
        return tolerates(first, Taint(second.key, second.value, second.effect))
    limit, other = parse_int64(first.value), parse_int64(second.value)
    if second.operator != first.operator or limit is None or other is None:
        return False
    return limit <= other if first.operator == "Gt" else limit >= other


def parse_taints(data: object) -> tuple[Taint, ...] | Malformed:
    """Parse the ``spec.taints`` of a node."""
    entries = _parse_entries(data, ("key", "value", "effect"), "taint")
    return entries if isinstance(entries, Malformed) else tuple(Taint(*entry) for entry in entries)


def parse_tolerations(data: object) -> tuple[Toleration, ...] | Malformed:
    """Parse the ``tolerations`` of a pod, without ``tolerationSeconds``, which does not affect scheduling."""
    entries = _parse_entries(data, ("key", "operator", "value", "effect"), "toleration")
    return entries if isinstance(entries, Malformed) else tuple(Toleration(*entry) for entry in entries)


def readable_tolerations(data: object) -> tuple[Toleration, ...]:
    """Return the tolerations of a list that are not malformed."""
    parsed = [parse_tolerations([each]) for each in data] if isinstance(data, list) else ()
    return tuple([each for entry in parsed if not isinstance(entry, Malformed) for each in entry])


def _parse_entries(data: object, fields: Sequence[str], what: str) -> list[list[str]] | Malformed:
    if data is None:
        return []
    if not isinstance(data, list):
        return Malformed((), f"is not a list of {what}s", mistyped=True)
    entries = []
    for index, item in enumerate(data):
        entry = {} if item is None else item
        if not isinstance(entry, dict):
            return Malformed((index,), f"is not a {what}", mistyped=True)
        for field in fields:
            if not isinstance(entry.get(field, ""), str | None):
                return Malformed((index, field), "is not a string", mistyped=True)
        entries.append([entry.get(field) or "" for field in fields])
    return entries
