"""The pods of a release of a chart in the repository: the labels that its templates give them for some values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from afflint.charts.chart_table import ChartTable
from afflint.charts.pod_labels import OwnLabels
from afflint.charts.symbols import Alternatives, Hole, Indented, MapSymbol, OutputPiece, PlainPiece, Ref, Truth, holds, is_unknown
from afflint.charts.template_layout import ObjectText
from afflint.charts.template_reader import RELEASE_NAME
from afflint.findings.paths import Path, Step
from afflint.kube.kinds import EACH, KINDS
from afflint.kube.shapes import POD_FIELDS
from afflint.yaml.document import value_at_path

_LABELS = ("metadata", "labels")


def labels_reached(table: ChartTable, path: Path, values: Mapping[str, Any], release: str) -> list[OwnLabels]:
    """Return the labels of the pods that a placement value reaches as it is, one for each object; none if they are not known.

    ``values`` are those of the chart with its defaults, ``release`` is the name of the release, "" if it is not known.
    """
    values = {**values, str(RELEASE_NAME[0]): release or None}
    found = []
    for each in table.objects:
        reached = [(landing, _pod_reached(landing.value, landing.field, landing.kinds, path)) for landing in each.landings]
        # Without the object there are no pods that the constraint could miss.
        pods = [pod for landing, pod in reached if pod is not None and holds(landing.condition, values) is not False]
        own = _labels(table, each, pods[0], values, release) if pods else None
        if pods and own is None:
            return []
        found += [own] if own is not None else []
    return found


def reaches_pods_only(table: ChartTable, path: Path) -> bool:
    """Return whether templates write the value at a path as it is into the field of pods with its name, and do nothing else with it."""
    landings = [landing for landing, field in table.at(path) if field is not None]
    whole = [each for each in landings if _pod_reached(each.value, each.field, each.kinds, path) is not None]
    is_plain = all(each.form == "yaml" and not each.is_part and not is_unknown(each.condition) for each in landings)
    return bool(landings) and whole == landings and is_plain and not any(table.below(path))


def hooks_without(table: ChartTable, path: Path) -> list[str]:
    """Return the templates of Jobs that are hooks of Helm and never get the field that the value at a path becomes in other pods.

    Only hooks of the chart itself count, not those of its dependencies, and no tests.
    """
    objects = [each for each in table.objects if each.file in table.chart.parts[0].files]
    others = [each for each in objects if not each.hook]
    if not any(_pod_reached(landing.value, landing.field, landing.kinds, path) is not None for each in others for landing in each.landings):
        return []
    hooks = [each for each in objects if each.kinds == {"Job"} and each.version.startswith("batch/") and _WHEN.fullmatch(each.hook)]
    return [*dict.fromkeys(each.file for each in hooks if not _may_have(each, path[-1]))]


_WHEN = re.compile(r"(?:(?:pre|post)-\w+(?:, *|$))+")
"""When Helm runs a hook, except for tests."""


def _may_have(written: ObjectText, name: Step) -> bool:
    """Return whether the pod of a Job has a field, or may have it by what a template writes around it."""
    around = [_POD[:length] for length in range(len(_POD) + 1)]
    named = {(*_POD, name), (*_POD, "nodeName"), *((*each, EACH) for each in around)}
    return not named.isdisjoint(written.keys) or any(each.field in (None, (*_POD, name), *around) for each in written.landings)


_POD = ("spec", "template", "spec")


def _pod_reached(value: object, field: Path | None, kinds: frozenset[str], path: Path) -> Path | None:
    """Return the path of the pod spec in which a value becomes the field of its name; None if it does not."""
    if field is None or not isinstance(value, Ref) or value.path != path or field[-1] not in POD_FIELDS:
        return None
    return field[:-1] if any(field[:-1] in _POD_PATHS.get(kind, ()) for kind in kinds) else None


_POD_PATHS = {kind.name: frozenset((*template.path, "spec") for template in kind.templates) for kind in KINDS}


def _labels(table: ChartTable, written: ObjectText, pod: Path, values: Mapping[str, Any], release: str) -> OwnLabels | None:
    """Return the labels of the pods of an object; None if it does not have them on lines of their own."""
    home = (*pod[:-1], *_LABELS)
    labels: dict[str, str] = {}
    is_closed = (*home, EACH) not in written.keys
    for label in written.labels:
        is_set = holds(label.condition, values) if label.field == home else False
        if label.field == home and label.key == EACH:
            is_closed = False
        elif is_set is not False:
            text = text_of(label.value, values) if is_set else None
            labels[label.key] = "" if text is None or text[:1] in ("&", "!", ">", "|", "*") or "\\" in text else text
    for landing in written.landings:
        if landing.field == home:
            is_known = isinstance(landing.value, Ref) and EACH not in landing.value.path
            further = value_at_path(values, *landing.value.path) or {} if isinstance(landing.value, Ref) and is_known else None
            if type(further) is dict:
                labels.update((str(key), "" if "{{" in str(each) else str(each)) for key, each in further.items())
            elif isinstance(landing.value, MapSymbol) and not landing.value.rest:
                labels.update(dict.fromkeys(landing.value.entries, ""))
            is_closed = is_closed and type(further) is dict
    if not any(label.field == home for label in written.labels):
        return None
    return OwnLabels(labels, is_closed, frozenset(each for each in (table.name, release) if each))


def text_of(pieces: tuple[OutputPiece, ...], values: Mapping[str, Any]) -> str | None:
    """Return the text of some pieces for the whole values of a chart; None if it is not known."""
    found = [_text_of(each, values) for each in pieces]
    return None if None in found else "".join(each or "" for each in found)


def _text_of(piece: OutputPiece, values: Mapping[str, Any]) -> str | None:
    if isinstance(piece, PlainPiece):
        return piece.text
    if isinstance(piece, Indented):
        return None
    if isinstance(piece, Alternatives):
        for condition, body in piece.branches:
            is_met = holds(condition, values)
            if is_met is not False:
                return text_of(body, values) if is_met else None
        return ""
    return _of_hole(piece, values)


def _of_hole(hole: Hole, values: Mapping[str, Any]) -> str | None:
    if isinstance(hole.value, Truth):
        truth = holds(hole.value.condition, values)
        return None if truth is None else str(truth).lower()
    if not isinstance(hole.value, Ref) or hole.form == "words" or EACH in hole.value.path:
        return None
    value = value_at_path(values, *hole.value.path)
    if type(value) is bool:
        return str(value).lower()
    if value is None:
        return "" if hole.value.path != RELEASE_NAME else None
    # Templates cut long names, and what is at the end of others.
    text = str(value)
    is_kept = type(value) in (str, int) and "{{" not in text and len(text) <= _LONGEST_KEPT and text == text.strip("-._ \n")
    return text if is_kept else None


_LONGEST_KEPT = 40
