"""Suggestions for misspelt fields and values, and whether a field is missing or only misspelt: one mistake, one finding."""

from __future__ import annotations

from typing import Any

from afflint.checks.match import Match, replacing
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, join_words, nearest
from afflint.kube.constraints import PREFERRED, REQUIRED, ConstraintItem, PodTerm
from afflint.kube.kinds import POD_SPEC, VMI_SPEC
from afflint.kube.types import ListOf, Struct, Type
from afflint.manifests.manifest import Workload


def _struct_at(*steps: str) -> Struct:
    """Return the struct at a path below the pod spec; lists need no step."""
    type_: Type = POD_SPEC
    for step in steps:
        assert isinstance(type_, Struct)
        field = type_.fields[step]
        type_ = field.item if isinstance(field, ListOf) else field
    assert isinstance(type_, Struct)
    return type_


TOLERATION = _struct_at("tolerations")
GATE = _struct_at("schedulingGates")
SPREAD = _struct_at("topologySpreadConstraints")
LABEL_SELECTOR = _struct_at("topologySpreadConstraints", "labelSelector")
EXPRESSION = _struct_at("topologySpreadConstraints", "labelSelector", "matchExpressions")
POD_TERM = _struct_at("affinity", "podAffinity", REQUIRED)
WEIGHTED_POD_TERM = _struct_at("affinity", "podAffinity", PREFERRED)
NODE_SELECTOR = _struct_at("affinity", "nodeAffinity", REQUIRED)
NODE_TERM = _struct_at("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
WEIGHTED_NODE_TERM = _struct_at("affinity", "nodeAffinity", PREFERRED)
_STRUCTS = (TOLERATION, SPREAD, LABEL_SELECTOR, EXPRESSION, POD_TERM, WEIGHTED_POD_TERM, NODE_SELECTOR, NODE_TERM, WEIGHTED_NODE_TERM)
_TERM_NAMES = frozenset(name for struct in _STRUCTS for name in struct.fields)

# Other names that are common for a field.
_OTHER_NAMES = {
    "op": "operator",
    "selector": "labelSelector",
    "requiredDuringScheduling": REQUIRED,
    "preferredDuringScheduling": PREFERRED,
}
# Fields of other structs that look like misspellings here, but mean something else or the opposite: a name that is right elsewhere in the
# object is at the wrong level, not misspelt.
_NO_SLIPS = frozenset(("mismatchLabelKeys", "matchFields", "matchNames", *POD_SPEC.fields, *VMI_SPEC.fields))


def suggested_name(name: str, struct: Struct) -> str | None:
    """Return the field of ``struct`` that an unknown ``name`` probably means."""
    if name in _NO_SLIPS:
        return None
    other = _OTHER_NAMES.get(name)
    return other if other in struct.fields else nearest(name, struct.fields)


def meant_in(name: str, term: Struct, own: Struct) -> str | None:
    """Return the field of ``term`` that a name in ``own`` is or probably means, unless it is a misspelt field of ``own``."""
    if name in term.fields:
        return name
    return None if name in _TERM_NAMES or suggested_name(name, own) else suggested_name(name, term)


def is_missing(workload: Workload, item: ConstraintItem | PodTerm, field: str, struct: Struct) -> bool:
    """Return whether a map lacks a field and no other finding explains it: a misspelt field, or a wrong indentation."""
    data = item.data
    if data.get(field) is not None or not workload.requires_fields:
        return False
    if any(name not in struct.fields and _is_meant_for(name, field, struct) for name in data):
        return False
    if any(isinstance(value, dict) and field in value for value in data.values()):
        return False
    return not _is_outside(workload, item, field)


def _is_meant_for(name: str, field: str, struct: Struct) -> bool:
    """Return whether `name` is a misspelling of the field, or belongs inside it."""
    type_ = struct.fields[field]
    return suggested_name(name, struct) == field or (isinstance(type_, Struct) and name in type_.fields)


def _is_outside(workload: Workload, item: ConstraintItem | PodTerm, field: str) -> bool:
    """Return whether the field is one or two levels too far out, or the item is null, which KubeVirt rejects for its type."""
    above = _data_along(workload, item.path)
    if above[-1] is None and workload.kind.kubevirt:
        return True
    return any(isinstance(holder, dict) and field in holder for holder in above[-3:-1])


def _data_along(workload: Workload, path: Path) -> list[Any]:
    """Return the document and the value at each step of a path."""
    data = [workload.document.data]
    for step in path:
        data.append(data[-1][step])
    return data


def is_in_match_labels(workload: Workload, selector: ConstraintItem) -> bool:
    """Return whether the topologyKey in matchLabels is the missing one of the term, which another rule reports as indented too far."""
    term = _data_along(workload, selector.path)[-2]
    return selector.path[-1] == "labelSelector" and isinstance(term, dict) and term.get("topologyKey") is None


def has_unknown(item: ConstraintItem, struct: Struct) -> bool:
    """Return whether a map has an unknown field, which another rule reports."""
    return not item.data.keys() <= struct.fields.keys()


def misspelt_value(path: Path, message: str, word: str, known: tuple[str, ...], close: str | None = None) -> Match:
    """Return the match for an invalid value: the help lists the valid ones, the edit writes the one that was probably meant."""
    close = close or nearest(word, known)
    edits = replacing(path, close) if close else ()
    return Match(path, message + did_you_mean(close), f"Write {join_words(known, 'or')}.", edits=edits)
