"""Tolerations that the cluster refuses. KubeVirt looks at two words only: for a VM most of these fail when its pod is created."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.checks.admission.refusal_time import of_workloads, stored_refusal_note
from afflint.checks.admission.spelling import TOLERATION, is_missing, misspelt_value
from afflint.checks.match import Match, Target
from afflint.findings.finding import Path
from afflint.findings.phrases import join_words, quoted
from afflint.kube.constraints import ConstraintItem
from afflint.kube.kinds import Kind
from afflint.kube.label_syntax import is_value, value_fault
from afflint.kube.manifests import Workload
from afflint.kube.selectors import parse_int64
from afflint.kube.taints import COMPARISONS, compares_values
from afflint.yaml.placeholders import is_placeholder

WORDS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DECIMAL = r"0|-?[1-9][0-9]*"


def operators(target: Target, kind: Kind | None = None) -> tuple[str, ...]:
    """The operators that a toleration may have: the API server's, or those of KubeVirt's webhook, which has no schema for pools."""
    if kind is not None and kind.kubevirt and kind.name != "VirtualMachinePool":
        return WORDS
    return (*WORDS, *COMPARISONS) if compares_values(target.version, target.feature_gates) else WORDS


@of_workloads
def invalid_toleration(workload: Workload, target: Target) -> Iterator[Match]:
    """Keys, values, effects and seconds of tolerations that do not go together."""
    kubevirt, is_pool = workload.kind.kubevirt, workload.kind.name == "VirtualMachinePool"
    known = operators(target, workload.kind)
    for toleration in workload.constraints.tolerations:
        effect, path = toleration.data.get("effect"), (*toleration.path, "effect")
        if _is_wrong_effect(effect):
            yield stored_refusal_note(
                misspelt_value(path, f"{quoted(effect)} is not a valid toleration effect", str(effect), _EFFECTS), is_pool
            )
        elif effect == "" and kubevirt and not is_pool:
            yield Match(path, "the effect is empty, which KubeVirt rejects", "Remove effect to tolerate every effect.")
            continue
        for match in _clashes(toleration, known):
            yield stored_refusal_note(match, kubevirt)
        for field, match in _omissions(toleration, known):
            if toleration.data.get(field) == "" or is_missing(workload, toleration, field, TOLERATION):
                yield stored_refusal_note(match, kubevirt)


def toleration_faults(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[Match]:
    """What the API server's own validation says of one toleration, but for its key's syntax and operators that are not ``known``."""
    effect = toleration.data.get("effect")
    if _is_wrong_effect(effect):
        yield Match(
            (*toleration.path, "effect"), f"{quoted(effect)} is not a valid toleration effect", f"Write {join_words(_EFFECTS, 'or')}."
        )
    yield from _clashes(toleration, known)
    for _, match in _omissions(toleration, known):
        yield match


def _is_wrong_effect(effect: object) -> bool:
    return type(effect) is str and effect != "" and effect not in _EFFECTS and not is_placeholder(effect)


def _clashes(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[Match]:
    """Fields that are there and do not go together."""
    path = toleration.path
    operator, value, effect = (toleration.data.get(name) or "" for name in ("operator", "value", "effect"))
    if operator == "Exists" and value and type(value) is str:
        message = "a toleration with the operator Exists must not have a value"
        yield Match((*path, "value"), message, "Remove value, or write `operator: Equal`.", field=(*path, "operator"))
    elif operator in ("", "Equal") and type(value) is str and not is_value(value) and not is_placeholder(value):
        message, remedy = (
            f"{quoted(value)} is not a valid label value: {value_fault(value)}",
            "Write the value of the taint exactly as it is on the node.",
        )
        yield Match((*path, "value"), message, remedy, field=(*path, "operator"))
    elif operator in COMPARISONS and operator in known and value and type(value) is str and not is_placeholder(value):
        fault = _comparison_fault(value)
        if fault:
            message = f"the operator {operator} compares integers, but {quoted(value)} {fault}"
            yield Match((*path, "value"), message, _NUMBER_HELP)
    if effect in ("NoSchedule", "PreferNoSchedule") and toleration.data.get("tolerationSeconds") is not None:
        yield _seconds_without_no_execute((*path, "effect"), toleration)


_NUMBER_HELP = 'Write an integer in quotes, such as "100".'


def _comparison_fault(value: str) -> str | None:
    """Why the API server does not take a text as the number of a comparison: it wants the one way to write it, in 64 bits."""
    if not re.fullmatch(_DECIMAL, value):
        return "is not an integer in plain form: digits without a plus sign or leading zeros"
    return None if parse_int64(value) is not None else "is not a 64-bit integer"


def _omissions(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[tuple[str, Match]]:
    """Fields that are not there, or empty, and that others need: the field and the match."""
    data = toleration.data
    operator = data.get("operator")
    # An operator that nobody knows is reported as that.
    if not data.get("key") and operator != "Exists" and (not operator or operator in known):
        message = "a toleration without a key must have `operator: Exists`, which tolerates every taint"
        remedy = "Add the key of the taint, or write `operator: Exists` if every taint is meant."
        yield "key", Match((*toleration.path, "operator"), message, remedy)
    if not data.get("value") and operator in COMPARISONS and operator in known:
        message = f"the operator {operator} compares integers, but the toleration has no value"
        yield "value", Match((*toleration.path, "value"), message, _NUMBER_HELP)
    if not data.get("effect") and data.get("tolerationSeconds") is not None:
        yield "effect", _seconds_without_no_execute((*toleration.path, "tolerationSeconds"), toleration)


def _seconds_without_no_execute(path: Path, toleration: ConstraintItem) -> Match:
    message = "tolerationSeconds is allowed only with the effect NoExecute"
    return Match(path, message, "Write `effect: NoExecute`, or remove tolerationSeconds.", field=(*toleration.path, "effect"))
