"""Operator settings in custom resources that do not have the intended effect, and template labels that never reach the pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.match import Match, moving, removing, replacing
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.kube.shapes import POD_FIELDS, shape_of
from afflint.manifests.custom_resources import CustomWorkload, value_at
from afflint.manifests.manifest import Workload, labels_at
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder


def lost_template_label(workload: Workload) -> Iterator[Match]:
    """Report labels on a pod template whose metadata the schema of the kind drops."""
    if isinstance(workload, CustomWorkload) and workload.place is not None and workload.place.pruned:
        path = (*workload.template_path, "metadata", "labels")
        for key in labels_at(workload.template):
            message = (
                f"the label {quoted(key)} never reaches the pods: the schema of {workload.kind.name} drops the metadata of this template"
            )
            yield Match((*path, key), message, key=True)


def beside_pod_spec(workload: Workload) -> Iterator[Match]:
    """Report constraints next to the spec of a pod template, where the kind does not read them."""
    if not isinstance(workload, CustomWorkload) or workload.place is None or workload.custom is None or workload.known != "schema":
        return
    place = workload.place
    if place.form == "template" and not workload.copies_template and sum(each.path == place.path for each in workload.custom.places) == 1:
        path, home = workload.template_path, workload.pod_path
        where = field_of(home[len(workload.base) :])
        for name in POD_FIELDS:
            if shape_of(name, workload.template.get(name)) == name:
                around = field_of(path[len(workload.base) :])
                message = f"{name} is set in {around}, where {workload.kind.name} ignores it; it belongs in {where}"
                yield Match((*path, name), message, f"Move {name} to {where}.", key=True, edits=moving((*path, name), home, merge=True))


def invalid_operator_setting(workload: Workload) -> Iterator[Match]:
    """Report placement settings of an operator that its webhook rejects."""
    setting, path = _setting(workload, "postgresql.cnpg.io/Cluster", ("spec", "affinity"))
    kind = setting.get("podAntiAffinityType")
    if type(kind) is str and kind and kind not in _STRENGTHS and not is_placeholder(kind):
        close = nearest(kind.lower(), _STRENGTHS)
        message = f"the webhook of CloudNativePG rejects the podAntiAffinityType {quoted(kind)}{did_you_mean(close)}"
        at = (*path, "podAntiAffinityType")
        yield Match(at, message, "Write preferred or required.", edits=replacing(at, close) if close else ())


_STRENGTHS = ("preferred", "required")


def ignored_operator_setting(workload: Workload) -> Iterator[Match]:
    """Report placement settings of an operator that another setting disables."""
    setting, path = _setting(workload, "postgresql.cnpg.io/Cluster", ("spec", "affinity"))
    if setting.get("enablePodAntiAffinity") is False:
        for name in ("podAntiAffinityType", "topologyKey"):
            if setting.get(name):
                message = f"{name} has no effect: `enablePodAntiAffinity: false` disables pod anti-affinity"
                yield Match((*path, name), message, key=True)
    yield from _ignored_by_advanced(workload)


def _ignored_by_advanced(workload: Workload) -> Iterator[Match]:
    """Report Percona's ``antiAffinityTopologyKey`` next to ``advanced``: the operator uses it only without ``advanced``."""
    if not workload.kind.group.endswith(".percona.com"):
        return
    for part in workload.parts if isinstance(workload, CustomWorkload) else ():
        siblings = map_at(value_at(workload, part.path[:-1]))
        key = siblings.get("antiAffinityTopologyKey")
        if part.path[-1] == "advanced" and part.value and type(key) is str and key not in ("", "none"):
            message = "antiAffinityTopologyKey has no effect: the operator uses `advanced` instead"
            at = (*part.path[:-1], "antiAffinityTopologyKey")
            yield Match(at, message, key=True, edits=removing(at))


def _setting(workload: Workload, kind: str, path: Path) -> tuple[dict[str, Any], Path]:
    """Return the map at a path of the object if the workload represents the whole object; an empty one for other kinds."""
    if not isinstance(workload, CustomWorkload) or f"{workload.kind.group}/{workload.kind.name}" != kind:
        return {}, ()
    return map_at(workload.data, *path), (*workload.base, *path)
