"""Topology spread constraints that the cluster rejects."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.admission.spelling import SPREAD, is_missing, misspelt_value
from afflint.checks.match import Match
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.constraints import ConstraintItem
from afflint.kube.types import INT32
from afflint.manifests.manifest import Workload
from afflint.yaml.placeholders import is_placeholder

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICY_FIELDS = ("nodeAffinityPolicy", "nodeTaintsPolicy")
_POLICIES = ("Honor", "Ignore")


def fills_in(workload: Workload, spread: ConstraintItem, field: str) -> bool:
    """Return whether the operator replaces the empty value of a field with its default; the API server rejects a missing field first."""
    value = spread.data.get(field)
    return (value == "" or (value == 0 and type(value) is int)) and field in workload.filled_spread_fields


def invalid_spread_constraint(workload: Workload) -> Iterator[Match]:
    """Report invalid values of maxSkew, minDomains, whenUnsatisfiable, nodeAffinityPolicy and nodeTaintsPolicy."""
    for spread in workload.constraints.spreads:
        yield from _max_skew(workload, spread)
        yield from _action(workload, spread)
        # KubeVirt does not validate minDomains, nor the policies of a VirtualMachinePool.
        if "minDomains" in spread.data:
            for match in _min_domains(spread):
                yield with_rejection_note(match, workload.kind.kubevirt)
        for field in _POLICY_FIELDS:
            if field in spread.data:
                for match in _word(spread, field, _POLICIES):
                    yield with_rejection_note(match, workload.kind.name == "VirtualMachinePool")


def duplicate_spread_constraint(workload: Workload) -> Iterator[Match]:
    """Report two spread constraints with the same topologyKey and whenUnsatisfiable."""
    first: dict[tuple[str, str], ConstraintItem] = {}
    for spread in workload.constraints.spreads:
        key, action = spread.data.get("topologyKey") or "", spread.data.get("whenUnsatisfiable") or ""
        if type(key) is not str or type(action) is not str:
            continue
        earlier = first.setdefault((key, action), spread)
        if earlier is not spread:
            # The API server names the earlier one, KubeVirt's schema the later one.
            field: Path = spread.path if workload.kind.kubevirt else (*earlier.path, "{topologyKey, whenUnsatisfiable}")
            doing = quoted(action) if action else "the same whenUnsatisfiable"
            yield Match(
                (*spread.path, "topologyKey") if "topologyKey" in spread.data else spread.path,
                f"duplicate spread constraint for {quoted(key)} with {doing}; only one is allowed",
                "Merge the two; a topology key can have one DoNotSchedule and one ScheduleAnyway constraint.",
                field=field,
            )


def _is_whole(workload: Workload) -> bool:
    """Return whether spread constraints are complete: a patch of a core kind is merged, a patch of a custom resource replaces the list."""
    return workload.operated or not workload.partial


def _max_skew(workload: Workload, spread: ConstraintItem) -> Iterator[Match]:
    skew, path = spread.data.get("maxSkew"), (*spread.path, "maxSkew")
    if skew is None:
        if _is_whole(workload) and is_missing(workload, spread, "maxSkew", SPREAD):
            yield Match(path, "this spread constraint has no maxSkew, which is required", "Add `maxSkew: 1` for the most even spread.")
    elif INT32.fits(skew) and skew < 1 and not fills_in(workload, spread, "maxSkew"):
        yield Match(path, f"maxSkew must be at least 1, not {quoted(skew)}", "Write `maxSkew: 1` for the most even spread.")


def _action(workload: Workload, spread: ConstraintItem) -> Iterator[Match]:
    action = spread.data.get("whenUnsatisfiable")
    if action is not None:
        if not fills_in(workload, spread, "whenUnsatisfiable"):
            yield from _word(spread, "whenUnsatisfiable", _ACTIONS)
    elif _is_whole(workload) and is_missing(workload, spread, "whenUnsatisfiable", SPREAD):
        remedy = "Write DoNotSchedule for a requirement, ScheduleAnyway for a preference."
        yield Match((*spread.path, "whenUnsatisfiable"), "this spread constraint has no whenUnsatisfiable, which is required", remedy)


def _min_domains(spread: ConstraintItem) -> Iterator[Match]:
    domains, path = spread.data.get("minDomains"), (*spread.path, "minDomains")
    if domains is None or not INT32.fits(domains):
        return
    if domains < 1:
        remedy = "Write the minimum number of domains, or remove minDomains."
        yield Match(path, f"minDomains must be at least 1, not {quoted(domains)}", remedy)
    elif spread.data.get("whenUnsatisfiable") == "ScheduleAnyway":
        remedy = "Remove minDomains, or make the constraint required."
        yield Match(path, "minDomains is allowed only with `whenUnsatisfiable: DoNotSchedule`", remedy)


def _word(spread: ConstraintItem, field: str, known: tuple[str, ...]) -> Iterator[Match]:
    word = spread.data.get(field)
    if type(word) is str and word not in known and not is_placeholder(word):
        yield misspelt_value((*spread.path, field), f"{quoted(word)} is not a valid value of {field}", word, known)
