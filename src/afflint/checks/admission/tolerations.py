"""Tolerations that the cluster refuses. KubeVirt looks at two words only: for a VM most of these fail when its pod is created."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.admission.late import late, of_workloads
from afflint.checks.admission.spelling import TOLERATION, lacks, wrong_word
from afflint.checks.match import Match, Target
from afflint.findings import Path
from afflint.kube.constraints import Item
from afflint.kube.label_syntax import is_value, value_fault
from afflint.kube.manifests import Workload
from afflint.kube.placeholders import is_placeholder
from afflint.wording import listing, quoted

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@of_workloads
def invalid_toleration(workload: Workload, _target: Target) -> Iterator[Match]:
    """Keys, values, effects and seconds of tolerations that do not go together."""
    kubevirt, is_pool = workload.kind.kubevirt, workload.kind.name == "VirtualMachinePool"
    for toleration in workload.constraints.tolerations:
        effect, path = toleration.data.get("effect"), (*toleration.path, "effect")
        if _is_wrong_effect(effect):
            yield late(wrong_word(path, f"the effect cannot be {quoted(effect)}", str(effect), _EFFECTS), is_pool)
        elif effect == "" and kubevirt and not is_pool:
            yield Match(path, "an empty effect, which KubeVirt refuses", "Leave effect out to tolerate every effect.")
            continue
        for match in _clashes(toleration):
            yield late(match, kubevirt)
        for field, match in _omissions(toleration):
            if toleration.data.get(field) == "" or lacks(workload, toleration, field, TOLERATION):
                yield late(match, kubevirt)


def toleration_faults(toleration: Item) -> Iterator[Match]:
    """What the API server's own validation says of one toleration, but for its key's syntax and unknown operators."""
    effect = toleration.data.get("effect")
    if _is_wrong_effect(effect):
        yield Match((*toleration.path, "effect"), f"the effect cannot be {quoted(effect)}", f"Write {listing(_EFFECTS, 'or')}.")
    yield from _clashes(toleration)
    for _, match in _omissions(toleration):
        yield match


def _is_wrong_effect(effect: object) -> bool:
    return type(effect) is str and effect != "" and effect not in _EFFECTS and not is_placeholder(effect)


def _clashes(toleration: Item) -> Iterator[Match]:
    """Fields that are there and do not go together."""
    path = toleration.path
    operator, value, effect = (toleration.data.get(name) or "" for name in ("operator", "value", "effect"))
    if operator == "Exists" and value and type(value) is str:
        message = "a toleration with the operator Exists has no value"
        yield Match((*path, "value"), message, "Remove value, or write `operator: Equal`.", field=(*path, "operator"))
    elif operator in ("", "Equal") and type(value) is str and not is_value(value) and not is_placeholder(value):
        message, remedy = (
            f"{quoted(value)} is no label value: {value_fault(value)}",
            "Write the value of the taint as it stands on the node.",
        )
        yield Match((*path, "value"), message, remedy, field=(*path, "operator"))
    if effect in ("NoSchedule", "PreferNoSchedule") and toleration.data.get("tolerationSeconds") is not None:
        yield _seconds_without_no_execute((*path, "effect"), toleration)


def _omissions(toleration: Item) -> Iterator[tuple[str, Match]]:
    """Fields that are not there, or empty, and that others need: the field and the match."""
    data = toleration.data
    # An operator that nobody knows is reported as that.
    if not data.get("key") and data.get("operator") in (None, "", "Equal"):
        message = "a toleration without a key needs `operator: Exists`, and then tolerates every taint"
        remedy = "Add the key of the taint, or write `operator: Exists` if every taint is meant."
        yield "key", Match((*toleration.path, "operator"), message, remedy)
    if not data.get("effect") and data.get("tolerationSeconds") is not None:
        yield "effect", _seconds_without_no_execute((*toleration.path, "tolerationSeconds"), toleration)


def _seconds_without_no_execute(path: Path, toleration: Item) -> Match:
    message = "tolerationSeconds works only with the effect NoExecute"
    return Match(path, message, "Write `effect: NoExecute`, or remove tolerationSeconds.", field=(*toleration.path, "effect"))
