"""Tolerations that the cluster rejects. KubeVirt validates only operator and effect: most mistakes of a VM fail when its pod is created."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.admission.spelling import TOLERATION, is_missing, misspelt_value
from afflint.checks.match import Match, Target
from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.kube.constraints import ConstraintItem
from afflint.kube.kinds import Kind
from afflint.kube.label_syntax import is_value, value_fault
from afflint.kube.selectors import parse_int64
from afflint.kube.taints import COMPARISONS, EFFECTS, compares_values
from afflint.manifests.manifest import Workload
from afflint.yaml.placeholders import is_placeholder

WORDS = ("Equal", "Exists")
_DECIMAL = r"0|-?[1-9][0-9]*"


def operators(target: Target, kind: Kind | None = None) -> tuple[str, ...]:
    """Return the valid operators of a toleration: those of the API server, or of KubeVirt's webhook, which has no schema for pools."""
    if kind is not None and kind.kubevirt and kind.name != "VirtualMachinePool":
        return WORDS
    return (*WORDS, *COMPARISONS) if compares_values(target.version, target.feature_gates) else WORDS


def invalid_toleration(workload: Workload, target: Target) -> Iterator[Match]:
    """Report tolerations whose key, operator, value, effect and seconds do not fit together (`ValidateTolerations`)."""
    kubevirt, is_pool = workload.kind.kubevirt, workload.kind.name == "VirtualMachinePool"
    known = operators(target, workload.kind)
    for toleration in workload.constraints.tolerations:
        effect, path = toleration.data.get("effect"), (*toleration.path, "effect")
        if _is_wrong_effect(effect):
            yield with_rejection_note(
                misspelt_value(path, f"{quoted(effect)} is not a valid toleration effect", str(effect), EFFECTS), is_pool
            )
        elif effect == "" and kubevirt and not is_pool:
            yield Match(path, "the effect is empty, which KubeVirt rejects", "Remove effect to tolerate every effect.")
            continue
        for match in _clashes(toleration, known):
            yield with_rejection_note(match, kubevirt)
        for field, match in _omissions(toleration, known):
            if toleration.data.get(field) == "" or is_missing(workload, toleration, field, TOLERATION):
                yield with_rejection_note(match, kubevirt)


def toleration_faults(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[Match]:
    """Yield the mistakes that the API server finds in a toleration, except the syntax of its key and unknown operators."""
    effect = toleration.data.get("effect")
    if _is_wrong_effect(effect):
        yield Match(
            (*toleration.path, "effect"), f"{quoted(effect)} is not a valid toleration effect", f"Write {join_words(EFFECTS, 'or')}."
        )
    yield from _clashes(toleration, known)
    for _, match in _omissions(toleration, known):
        yield match


def _is_wrong_effect(effect: object) -> bool:
    return type(effect) is str and effect != "" and effect not in EFFECTS and not is_placeholder(effect)


def _clashes(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[Match]:
    """Yield the mistakes in fields that are set but do not fit together."""
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
    """Return why the API server rejects the value of Gt or Lt: it must be a 64-bit integer in canonical form."""
    if not re.fullmatch(_DECIMAL, value):
        return "is not an integer in plain form: digits without a plus sign or leading zeros"
    return None if parse_int64(value) is not None else "is not a 64-bit integer"


def _omissions(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[tuple[str, Match]]:
    """Yield each missing or empty field that other fields require, with its match."""
    data = toleration.data
    operator = data.get("operator")
    # `unknown-operator` reports operators that do not exist.
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
