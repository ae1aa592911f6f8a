"""What a misspelt name or word was meant to be, and whether a field is missing or only misspelt: one slip, one finding."""

from __future__ import annotations

from typing import Any

from afflint.checks.match import Match, replacing
from afflint.findings.finding import Path
from afflint.findings.phrases import did_you_mean, join_words, nearest
from afflint.kube.constraints import PREFERRED, REQUIRED, ConstraintItem, PodTerm
from afflint.kube.kinds import POD_SPEC
from afflint.kube.manifests import Workload
from afflint.kube.types import ListOf, Struct, Type


def _struct_at(*steps: str) -> Struct:
    """The struct at a path below the pod spec, lists stepped through."""
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

# What people write who know the field by another name.
_OTHER_NAMES = {
    "op": "operator",
    "selector": "labelSelector",
    "requiredDuringScheduling": REQUIRED,
    "preferredDuringScheduling": PREFERRED,
}
# Fields of other places that look like slips here, and mean something else or the opposite.
_NO_SLIPS = frozenset(("mismatchLabelKeys", "matchFields", "matchNames", "terminationGracePeriodSeconds"))


def suggested_name(name: str, struct: Struct) -> str | None:
    """The field of ``struct`` that an unknown ``name`` was probably meant to be."""
    if name in _NO_SLIPS:
        return None
    other = _OTHER_NAMES.get(name)
    return other if other in struct.fields else nearest(name, struct.fields)


def meant_in(name: str, term: Struct, own: Struct) -> str | None:
    """The field of ``term`` that a name is, or was meant to be, which stands in ``own`` and is no slip for a field of that."""
    if name in term.fields:
        return name
    return None if name in _TERM_NAMES or suggested_name(name, own) else suggested_name(name, term)


def is_missing(workload: Workload, item: ConstraintItem | PodTerm, field: str, struct: Struct) -> bool:
    """True when a map has no such field, and no other finding tells why: it is not misspelt, nor indented too little or too much."""
    data = item.data
    if data.get(field) is not None or not workload.requires:
        return False
    if any(name not in struct.fields and _stands_for(name, field, struct) for name in data):
        return False
    if any(isinstance(value, dict) and field in value for value in data.values()):
        return False
    return not _is_outside(workload, item, field)


def _stands_for(name: str, field: str, struct: Struct) -> bool:
    """True for a misspelling of the field, and for what belongs inside it."""
    type_ = struct.fields[field]
    return suggested_name(name, struct) == field or (isinstance(type_, Struct) and name in type_.fields)


def _is_outside(workload: Workload, item: ConstraintItem | PodTerm, field: str) -> bool:
    """True when the field stands one or two levels too far out, or the item is null, which KubeVirt refuses for its type."""
    above = _data_along(workload, item.path)
    if above[-1] is None and workload.kind.kubevirt:
        return True
    return any(isinstance(holder, dict) and field in holder for holder in above[-3:-1])


def _data_along(workload: Workload, path: Path) -> list[Any]:
    """The document, and what stands in it at each step of a path."""
    data = [workload.document.data]
    for step in path:
        data.append(data[-1][step])
    return data


def stands_in_match_labels(workload: Workload, selector: ConstraintItem) -> bool:
    """True when the topologyKey among the labels of a selector is the one that the term lacks: indented too far, and reported as that."""
    term = _data_along(workload, selector.path)[-2]
    return selector.path[-1] == "labelSelector" and isinstance(term, dict) and term.get("topologyKey") is None


def has_unknown(item: ConstraintItem, struct: Struct) -> bool:
    """True when a map has a field that its type does not know, which is reported for itself."""
    return not item.data.keys() <= struct.fields.keys()


def misspelt_value(path: Path, message: str, word: str, known: tuple[str, ...], close: str | None = None) -> Match:
    """The match for a word that its field does not know: what may stand there, and as edit the word that was probably meant."""
    close = close or nearest(word, known)
    edits = replacing(path, close) if close else ()
    return Match(path, message + did_you_mean(close), f"Write {join_words(known, 'or')}.", edits=edits)
