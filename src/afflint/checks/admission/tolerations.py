"""Tolerations that the cluster refuses. KubeVirt looks at two words only: for a VM most of these fail when its pod is created."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import Match, Target
from afflint.checks.wording import nearest, quoted
from afflint.kube.constraints import Item
from afflint.kube.label_syntax import is_value, value_fault
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POD_REFUSED = " (the object is stored, but every pod made from it is refused)"


def invalid_toleration(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Keys, values, effects and seconds of tolerations that do not go together."""
    if not isinstance(manifest, Workload):
        return
    kubevirt = manifest.kind.kubevirt
    checks_words = kubevirt and manifest.kind.name != "VirtualMachinePool"
    for toleration in manifest.constraints.tolerations:
        if checks_words and toleration.data.get("effect") == "":
            yield Match(
                (*toleration.path, "effect"), "an empty effect, which KubeVirt refuses", "Leave effect out to tolerate every effect."
            )
        for fault in toleration_faults(toleration):
            late = kubevirt and not (checks_words and fault.path[-1] == "effect" and "cannot be" in fault.message)
            yield fault._replace(message=fault.message + _POD_REFUSED) if late else fault


def toleration_faults(toleration: Item) -> Iterator[Match]:
    """What the API server's own validation says of one toleration, but for its key's syntax and unknown operators."""
    data, path = toleration.data, toleration.path
    key, operator, value, effect = ((data.get(name) or "") for name in ("key", "operator", "value", "effect"))
    if any(type(each) is not str for each in (key, operator, value, effect)):
        return
    if not key and operator != "Exists":
        yield Match(
            (*path, "operator"),
            "a toleration without a key tolerates every taint, and only with the operator Exists",
            "Add the key of the taint, or write `operator: Exists` if every taint is meant.",
        )
    if operator == "Exists" and value:
        yield Match(
            (*path, "value"),
            "a toleration with the operator Exists has no value",
            "Remove value, or write `operator: Equal`.",
            field=(*path, "operator"),
        )
    elif operator in ("", "Equal") and not is_value(value) and not is_placeholder(value):
        yield Match(
            (*path, "value"),
            f"{quoted(value)} is no label value: {value_fault(value)}",
            "Write the value of the taint as it stands on the node.",
            field=(*path, "operator"),
        )
    if data.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield Match(
            (*path, "effect") if effect else (*path, "tolerationSeconds"),
            "tolerationSeconds works only with the effect NoExecute",
            "Write `effect: NoExecute`, or remove tolerationSeconds.",
            field=(*path, "effect"),
        )
    if effect and effect not in _EFFECTS and not is_placeholder(effect):
        close = nearest(effect, _EFFECTS)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        yield Match((*path, "effect"), f"the effect cannot be {quoted(effect)}{hint}", f"Write {', '.join(_EFFECTS)}.", replacement=close)
