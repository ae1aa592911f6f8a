"""Completions: operators and effects, topology keys, labels of nodes and of pods.

Unfinished text is seldom valid YAML, so that the position is found by indentation; in flow style by brackets (``flow_context``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.findings.grouping import grouped_sets
from afflint.findings.namedtuples import NamedTuple
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.node_files import NodeFact
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE, domain_word, unlikely_domain
from afflint.kube.selectors import LABEL_OPERATORS, NODE_OPERATORS
from afflint.lsp.flow_context import Flow, flow_at
from afflint.lsp.text import EditorText, Place

if TYPE_CHECKING:
    from afflint.pools.pool import Pool

_MOST = 500
_INDENT = re.compile(r" *(?:- +)*(?:-$)?")
_ENTRY = re.compile(r"(?P<quote>[\"']?)(?P<key>[^\s\"'#:][^\"'#]*?)(?P=quote) *:(?:\s+(?P<value>.*)|$)")
_VALUE, _PROPERTY = 12, 10


class CompletionItem(NamedTuple):
    """A completion: its label, a description, and the inserted text."""

    label: str
    detail: str
    text: str


class _BlockLine(NamedTuple):
    """A line of YAML in block style: the column at which its key or value begins, and both."""

    column: int
    dashed: bool
    key: str
    value: str
    colon: bool


class _CompletionPosition(NamedTuple):
    """The position of a completion: its surroundings, and ``start``, the column at which the typed text begins."""

    keys: tuple[str, ...]
    """The keys of the enclosing maps, the outermost first."""
    key: str | None
    """The key whose value is typed; None for a key or an item of a list."""
    siblings: dict[str, str]
    """The other values in its map, or in the map that contains its list."""
    start: int
    flow: bool = False
    quoted: bool = False
    """Whether a quote was typed before it."""
    json: bool = False


_FIXED: dict[str, tuple[tuple[str, str], ...]] = {
    "whenUnsatisfiable": (("DoNotSchedule", "required: the pod stays Pending"), ("ScheduleAnyway", "preferred: only ranks nodes")),
    "nodeAffinityPolicy": (("Honor", "only nodes that match the node affinity count"), ("Ignore", "all nodes count")),
    "nodeTaintsPolicy": (("Honor", "only nodes with tolerated taints count"), ("Ignore", "all nodes count")),
    "effect": (
        ("NoSchedule", "new pods are not scheduled there"),
        ("PreferNoSchedule", "the scheduler avoids the node if possible"),
        ("NoExecute", "running pods are evicted as well"),
    ),
    "unhealthyPodEvictionPolicy": (("AlwaysAllow", "unready pods may always be evicted"), ("IfHealthyBudget", "the default")),
}
_OPERATOR_DETAILS = {
    "In": "has one of the values",
    "NotIn": "has none of the values, or lacks the label",
    "Exists": "has the label",
    "DoesNotExist": "lacks the label",
    "Gt": "has a number greater than the value",
    "Lt": "has a number less than the value",
}


def completions(
    text: EditorText, place: Place, manifest_index: ManifestIndex | None, nodes: Sequence[NodeFact], pools: Sequence[Pool] = ()
) -> tuple[int, list[tuple[CompletionItem, int]]]:
    """Return the column at which the typed text begins, and the completions with their kinds."""
    position = _find_position(text, place)
    if position is None:
        return place[1], []
    results = dict.fromkeys(_proposals(position, manifest_index, nodes, pools))
    return position.start, [(_with_quotes(item, kind, position), kind) for item, kind in results][:_MOST]


def _with_quotes(item: CompletionItem, kind: int, position: _CompletionPosition) -> CompletionItem:
    """Return a completion as it is written between quotes, or in JSON."""
    if position.quoted:
        return item._replace(text=item.label)
    if position.json:
        return item._replace(text=f'"{item.label}"{": " if kind == _PROPERTY else ""}')
    return item


def _proposals(
    position: _CompletionPosition, manifest_index: ManifestIndex | None, nodes: Sequence[NodeFact], pools: Sequence[Pool]
) -> Iterator[tuple[CompletionItem, int]]:
    key, enclosing = position.key, position.keys
    if key in _FIXED:
        yield from ((CompletionItem(value, detail, value), _VALUE) for value, detail in _FIXED[key])
    elif key == "operator" and "tolerations" in enclosing[-1:]:
        yield from (
            (CompletionItem(value, detail, value), _VALUE)
            for value, detail in (("Equal", "the value must be equal"), ("Exists", "any value matches"))
        )
    elif key == "operator":
        operators = NODE_OPERATORS if _is_about_nodes(enclosing) else LABEL_OPERATORS
        yield from ((CompletionItem(value, _OPERATOR_DETAILS[value], value), _VALUE) for value in operators)
    elif key == "topologyKey":
        yield from _topology_keys(nodes, pools)
    elif "tolerations" in enclosing[-1:]:
        yield from _taints(position, nodes, pools)
    elif _is_about_nodes(enclosing):
        yield from _labels(position, _node_labels(nodes, pools), "nodes")
    elif manifest_index is not None:
        yield from _labels(position, _counted((each.template_labels for each in manifest_index.pods), "pods"), "pods")


def _is_about_nodes(keys: tuple[str, ...]) -> bool:
    """Return whether labels below these keys are node labels."""
    return "nodeSelector" in keys[-1:] or (
        "nodeAffinity" in keys and not {"podAffinity", "podAntiAffinity"} & {*keys[keys.index("nodeAffinity") :]}
    )


def _topology_keys(nodes: Iterable[NodeFact], pools: Iterable[Pool]) -> Iterator[tuple[CompletionItem, int]]:
    counts = grouped_sets((key, value) for node in nodes for key, value in node.labels.items())
    for pool in pools:
        for label in pool.labels:
            counts.setdefault(label.key, set())
    usual = (HOSTNAME, ZONE, REGION)
    for key in (*usual, *sorted(key for key in counts if key not in usual and unlikely_domain(key) is None)):
        number = f", {len(counts[key])} on these nodes" if counts.get(key) else ""
        yield CompletionItem(key, f"{domain_word(key) or 'node label'}{number}", key), _VALUE


def _taints(position: _CompletionPosition, nodes: Iterable[NodeFact], pools: Iterable[Pool]) -> Iterator[tuple[CompletionItem, int]]:
    taints = dict.fromkeys(taint for node in nodes for taint in node.node.taints)
    taints_with_origin = [(taint, "these nodes") for taint in taints] + [(each.taint, pool.title) for pool in pools for each in pool.taints]
    for taint, origin in taints_with_origin:
        if position.key == "key":
            yield CompletionItem(taint.key, f"a taint of {origin}: {taint.effect}", taint.key), _VALUE
        elif position.key == "value" and position.siblings.get("key") == taint.key and taint.value:
            yield CompletionItem(taint.value, f"a taint of {origin}: {taint.effect}", _quoted(taint.value, position)), _VALUE


_MAPS_OF_LABELS = ("matchLabels", "nodeSelector", "labels", "selector")


_Labels = dict[str, dict[str, str]]
"""The values of each label key with their origin, the most frequent first."""


def _labels(position: _CompletionPosition, labels: _Labels, origin: str) -> Iterator[tuple[CompletionItem, int]]:
    enclosing, key = position.keys, position.key
    if "matchExpressions" in enclosing[-1:] and key == "key":
        yield from ((CompletionItem(name, _values(values, origin), name), _VALUE) for name, values in labels.items())
    elif enclosing[-2:] == ("matchExpressions", "values") and key is None:
        yield from _values_of_label(labels.get(position.siblings.get("key", ""), {}), position)
    elif enclosing and enclosing[-1] in _MAPS_OF_LABELS and key is None:
        yield from ((CompletionItem(name, _values(values, origin), f"{name}: "), _PROPERTY) for name, values in labels.items())
    elif enclosing and enclosing[-1] in _MAPS_OF_LABELS:
        yield from _values_of_label(labels.get(key or "", {}), position)


def _values_of_label(values: dict[str, str], position: _CompletionPosition) -> Iterator[tuple[CompletionItem, int]]:
    for value, origin in values.items():
        yield CompletionItem(value, origin, _quoted(value, position)), _VALUE


def _values(values: dict[str, str], origin: str) -> str:
    if not values:
        return f"on {origin}"
    shown = ", ".join(list(values)[:4])
    return f"on {origin}: {shown}{', …' if len(values) > 4 else ''}"


def _node_labels(nodes: Iterable[NodeFact], pools: Iterable[Pool]) -> _Labels:
    results = _counted((each.labels for each in nodes), "nodes")
    for pool in pools:
        for label in pool.labels:
            values = results.setdefault(label.key, {})
            if label.requirement.operator == "In":
                values.update({value: f"of {pool.title}" for value in label.requirement.values if value not in values})
    return dict(sorted(results.items()))


def _counted(labels: Iterable[dict[str, str]], origin: str) -> _Labels:
    """Count the values of each label, in the order of the keys, the most frequent value first."""
    counts: dict[str, dict[str, int]] = {}
    for each in labels:
        for key, value in each.items():
            values = counts.setdefault(key, {})
            values[value] = values.get(value, 0) + 1
    return {
        key: {value: f"{number} of these {origin}" for value, number in sorted(counts[key].items(), key=lambda item: (-item[1], item[0]))}
        for key in sorted(counts)
    }


def _quoted(value: str, position: _CompletionPosition) -> str:
    """Quote a value if YAML would not read it as a string."""
    from afflint.yaml.emitter import scalar

    return scalar(value, "", flow=position.flow) or value


# The position of the completion.


def _line(text: str) -> _BlockLine | None:
    """Parse a line with an entry of a map or an item of a list; None for other lines."""
    if not text.strip() or text.lstrip().startswith("#"):
        return None
    indent = _INDENT.match(text)
    column = indent.end() if indent else 0
    dashed = "-" in text[:column]
    match = _ENTRY.match(text, column)
    if match is None:
        return _BlockLine(column, dashed, "", text[column:].strip(), False)
    return _BlockLine(column, dashed, match["key"], (match["value"] or "").strip(), True)


def _find_position(text: EditorText, place: Place) -> _CompletionPosition | None:
    """Return the position in block or flow style; None in a comment and the like."""
    number, column = place
    flow = flow_at(text, place)
    if flow is not None:
        return _flow_position(text, flow, place)
    typed = text.line(number)[:column]
    if "#" in typed or "{" in typed or "[" in typed:
        return None
    line = _line(typed)
    if line is None:
        line = _BlockLine(len(typed), False, "", "", False)
    start = column - len(line.value) if line.value else column
    quoted = line.value[:1] in ("'", '"')
    keys, siblings = _enclosing_keys(text, number, line)
    return _CompletionPosition(keys, line.key if line.colon else None, siblings, start + quoted, quoted=quoted)


def _flow_position(text: EditorText, flow: Flow, place: Place) -> _CompletionPosition:
    """Return the position in flow style."""
    number, column = place
    dashed = flow.column > len(text.line(flow.line)) - len(text.line(flow.line).lstrip(" "))
    line = _BlockLine(flow.column, dashed, flow.key or "", "", flow.key is not None)
    enclosing, siblings = _enclosing_keys(text, flow.line, line)
    keys = [*enclosing, *(each.key for each in flow.brackets if each.key is not None)]
    inner = flow.brackets[-1]
    # The siblings of a list item are those of the list.
    maps = [each for each in flow.brackets if each.is_map]
    if inner.is_map or (maps and flow.brackets[-2:-1] == maps[-1:]):
        siblings = maps[-1].pairs
    start, text_line = flow.start, text.line(number)
    quoted = text_line[start : start + 1] in ("'", '"') if start < column else False
    return _CompletionPosition(tuple(keys), flow.name if inner.is_map else None, siblings, start + quoted, True, quoted, _is_json(text))


def _is_json(text: EditorText) -> bool:
    return str(text).lstrip("\ufeff \t\r\n").startswith(("{", "["))


def _enclosing_keys(text: EditorText, number: int, line: _BlockLine) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the keys around a line, the outermost first, and the other entries of its innermost map."""
    keys: list[str] = []
    column, in_list = line.column, line.dashed
    for above in range(number - 1, -1, -1):
        text_line = text.line(above)
        if text_line.startswith("---"):
            break
        each = _line(text_line)
        if each is None or not each.colon or each.value:
            if each is not None and each.column < column and each.dashed:
                column = each.column
            continue
        # A list may have the same indentation as its key.
        dash = len(text_line) - len(text_line.lstrip())
        outer = each.column < column - (2 if in_list and not keys else 0) or (in_list and each.column <= column - 2) or each.column < column
        if outer:
            keys.append(each.key)
            column, in_list = dash if each.dashed else each.column, each.dashed
    return tuple(reversed(keys)), _siblings(text, number, line, keys)


def _siblings(text: EditorText, number: int, line: _BlockLine, keys: list[str]) -> dict[str, str]:
    """Return the scalars of the map that contains a line; for a list item, of the map that contains the list."""
    column = line.column
    if line.dashed and not line.colon and keys:
        # Up to the key of the list.
        for above in range(number - 1, -1, -1):
            each = _line(text.line(above))
            if each is not None and each.colon and each.key == keys[0]:
                number, column = above, each.column
                break
    results: dict[str, str] = {}
    for step in (-1, 1):
        at = number
        while 0 <= at < text.line_count:
            each = _line(text.line(at))
            if each is not None and at != number and each.column < column:
                break
            if each is not None and each.column == column and each.colon:
                if step == 1 and each.dashed and at != number:
                    break
                results.setdefault(each.key, each.value.split(" #")[0].strip("\"' "))
                if step == -1 and each.dashed:
                    break
            at += step
    return results
