"""Fields that exist, but at another level, or without the object that wraps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.checks.admission.spelling import (
    EXPRESSION,
    LABEL_SELECTOR,
    NODE_SELECTOR,
    NODE_TERM,
    POD_TERM,
    WEIGHTED_NODE_TERM,
    WEIGHTED_POD_TERM,
    meant_in,
)
from afflint.checks.match import Match, moving, unwrapping
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import join_words, quoted, summarize_names
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.kinds import METADATA, POD_SPEC, VMI_SPEC
from afflint.kube.types import Mismatch
from afflint.manifests.manifest import Manifest, Workload

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit


class _MisplacedField(NamedTuple):
    """The message and help for a misplaced field, and the edits that move it if the intent is certain."""

    message: str
    help: str
    edits: tuple[SymbolicEdit, ...] = ()


# Where a placement field belongs, below the pod spec. The struct that contains a field of a term decides where it belongs.
_HOMES: dict[str, tuple[Path, ...]] = {
    "affinity": ((),),
    "tolerations": ((),),
    "nodeSelector": ((),),
    "topologySpreadConstraints": ((),),
    "schedulerName": ((),),
    "nodeName": ((),),
    "nodeAffinity": (("affinity",),),
    "podAffinity": (("affinity",),),
    "podAntiAffinity": (("affinity",),),
    "nodeSelectorTerms": (("affinity", "nodeAffinity", REQUIRED),),
    REQUIRED: (("affinity", "nodeAffinity"), ("affinity", "podAffinity"), ("affinity", "podAntiAffinity")),
    PREFERRED: (("affinity", "nodeAffinity"), ("affinity", "podAffinity"), ("affinity", "podAntiAffinity")),
}


# Terms without their wrapper, or with one too many.


def wrapper_fault(mismatch: Mismatch, siblings: Sequence[str], holder: Mapping[str, Any]) -> Match | None:
    """Return the match for an unknown field of an affinity term with a missing or an unneeded wrapper.

    ``siblings`` are all unknown fields of the same map, which is ``holder``. Fields without the same wrapper share one match at the first.
    """
    name, path, struct = str(mismatch.path[-1]), mismatch.path, mismatch.struct
    if struct is not None and struct.name == WEIGHTED_POD_TERM.name and name in POD_TERM.fields:
        unwrapped = [each for each in siblings if each in POD_TERM.fields]
        named = sorted(unwrapped)  # The order of keys does not matter.
        message = f"{_are_set(named)} set directly in a preferred term; {_they_belong(named)} under podAffinityTerm"
        edits = tuple(edit for each in unwrapped for edit in moving((*path[:-1], each), (*path[:-1], "podAffinityTerm")))
        return Match((*path[:-1], unwrapped[0]), message, _WRAP, key=True, edits=edits, field=(*path[:-1], named[0]))
    in_struct = _IN_STRUCT.get(struct.name) if struct else None
    found = in_struct(name, path, holder) if in_struct else None
    return _at(path, found) if found else None


def _at(path: Path, fault: _MisplacedField) -> Match:
    return Match(path, fault.message, fault.help, key=True, edits=fault.edits)


def _in_pod_term(name: str, path: Path, holder: Mapping[str, Any]) -> _MisplacedField | None:
    wrapped = path[-2] == "podAffinityTerm"
    if name == "podAffinityTerm" and not wrapped:
        message = "a required term must not have the wrapper podAffinityTerm; only preferred terms have it"
        # With a weight, the term may be meant as a preference.
        edits = () if "weight" in holder else unwrapping(path, holder[name])
        return _MisplacedField(message, "Move its fields up into the list item and remove `podAffinityTerm:`.", edits)
    if name == "weight" and wrapped:
        return _MisplacedField(
            "weight is inside podAffinityTerm; it belongs next to it",
            "Move weight one level up, next to podAffinityTerm.",
            moving(path, path[:-2]),
        )
    if name == "weight":
        return _MisplacedField(
            "a required term has no weight; only preferred terms have one", f"Remove weight, or move the term to {PREFERRED}."
        )
    return None


def _in_weighted_pod_term(name: str, _path: Path, _holder: Mapping[str, Any]) -> _MisplacedField | None:
    field = meant_in(name, POD_TERM, WEIGHTED_POD_TERM)
    if field is None:
        return None
    message = f"{_shown(name)} is set directly in a preferred term; it belongs under podAffinityTerm{_as(field, name)}"
    return _MisplacedField(message, _WRAP)


_WRAP = "Indent labelSelector and topologyKey under `podAffinityTerm:`, next to weight."


def _are_set(names: Sequence[str]) -> str:
    return f"{join_words(names)} {'is' if len(names) == 1 else 'are'}"


def _they_belong(names: Sequence[str]) -> str:
    return "it belongs" if len(names) == 1 else "they belong"


def _in_weighted_node_term(name: str, path: Path, _holder: Mapping[str, Any]) -> _MisplacedField | None:
    field = meant_in(name, NODE_TERM, WEIGHTED_NODE_TERM)
    if field is None:
        return None
    message = f"{_shown(name)} is set next to weight; it belongs under preference{_as(field, name)}"
    edits = moving(path, (*path[:-1], "preference")) if field == name else ()
    return _MisplacedField(message, f"Put {field} under `preference:`, next to weight.", edits)


def _in_node_selector(name: str, path: Path, holder: Mapping[str, Any]) -> _MisplacedField | None:
    field = meant_in(name, NODE_TERM, NODE_SELECTOR)
    if field is None:
        return None
    message = f"{_shown(name)} is set directly under {REQUIRED}; a required node affinity is a list of nodeSelectorTerms"
    edits = moving(path, (*path[:-1], "nodeSelectorTerms", 0)) if field == name and len(holder) == 1 else ()
    return _MisplacedField(message, f"Put it into a list item of nodeSelectorTerms: `nodeSelectorTerms: [{{{field}: …}}]`.", edits)


def _in_node_term(name: str, path: Path, _holder: Mapping[str, Any]) -> _MisplacedField | None:
    preferred = PREFERRED in path
    if name == "nodeSelectorTerms":
        message = (
            "a preference is one term and has no nodeSelectorTerms" if preferred else "nodeSelectorTerms is set inside a node selector term"
        )
        return _MisplacedField(message, "Put matchExpressions directly here; write several preferences as several list items.")
    if name not in ("preference", "weight"):
        return None
    if preferred:
        edits = moving(path, path[:-2]) if name == "weight" else ()
        return _MisplacedField(
            f"{name} is inside preference; it belongs next to it", f"Move {name} one level up, into the list item.", edits
        )
    return _MisplacedField(
        f"a required node term has no {name}; only preferred terms have one", f"Remove {name}, or move the term to {PREFERRED}."
    )


def _shown(name: str) -> str:
    """Return the name of a field for messages; only a misspelt name may need quotes."""
    return name if name.isalnum() and name.isascii() else quoted(name)


def _as(field: str, name: str) -> str:
    return "" if field == name else f", as {quoted(field)}"


_IN_STRUCT = {
    POD_TERM.name: _in_pod_term,
    WEIGHTED_POD_TERM.name: _in_weighted_pod_term,
    WEIGHTED_NODE_TERM.name: _in_weighted_node_term,
    NODE_SELECTOR.name: _in_node_selector,
    NODE_TERM.name: _in_node_term,
}


# Fields at a level where they do not exist.


def misplaced_fault(mismatch: Mismatch, manifest: Manifest, siblings: Sequence[str]) -> Match | None:
    """Return the match for a placement field, or labels, that exists at another level; ``siblings`` as for ``wrapper_fault``."""
    name, path = str(mismatch.path[-1]), mismatch.path
    holder = mismatch.struct.name if mismatch.struct else ""
    if holder == LABEL_SELECTOR.name and name in POD_TERM.fields:
        swallowed = [each for each in siblings if each in POD_TERM.fields]
        help_ = f"Align {join_words(swallowed)} with labelSelector."
        edits = tuple(edit for each in swallowed for edit in moving((*path[:-1], each), path[:-2]))
        return Match(
            (*path[:-1], swallowed[0]),
            f"{_are_set(swallowed)} inside the {holder}; {_they_belong(swallowed)} next to it",
            help_,
            key=True,
            edits=edits,
        )
    found = _known_in_pod_spec(path, holder, manifest) or _known_beside_term(path, holder)
    if found is None and name in ("labels", "label", "annotations"):
        found = _labels_outside_metadata(path, holder, manifest)
    return _at(path, found) if found else None


def home_in_pod_spec(name: str, manifest: Manifest) -> Path | None:
    """Return the path where a placement field belongs; None for other fields, and if several paths are possible."""
    homes = _homes(name, (), manifest)
    return homes[0] if len(homes) == 1 else None


def _homes(name: str, path: Path, manifest: Manifest) -> list[Path]:
    if name not in _HOMES or not isinstance(manifest, Workload) or (name == "nodeName" and manifest.kind.kubevirt):
        return []
    if not manifest.follows_pod_api(path):
        return []
    return [(*manifest.pod_path[len(manifest.base) :], *home) for home in _HOMES[name]]


def moved_home(path: Path, home: Path, manifest: Manifest) -> tuple[SymbolicEdit, ...]:
    """Return the edits that move a field to the path ``home`` of the object; none if the object has no pod spec.

    The edits merge it with an existing map if the two do not conflict.
    """
    if not isinstance(manifest, Workload) or not manifest.pod:
        return ()
    return moving(path, (*manifest.base, *home), merge=True)


def _known_in_pod_spec(path: Path, holder: str, manifest: Manifest) -> _MisplacedField | None:
    name = str(path[-1])
    paths = _homes(name, path, manifest)
    if not paths:
        return None
    homes = [field_of(each) or "the top level" for each in paths]
    where = "at the top level" if paths == [()] else f"in {join_words(homes, 'or')}"
    message = f"{name} is not a field of the {holder}; it belongs {where}"
    edits = moved_home(path, paths[0], manifest) if len(paths) == 1 else ()
    return _MisplacedField(message, f"Move {name} to {homes[0] if len(homes) == 1 else 'one of them'}.", edits)


def _known_beside_term(path: Path, holder: str) -> _MisplacedField | None:
    name = str(path[-1])
    is_term_field = name in POD_TERM.fields
    if is_term_field and holder == EXPRESSION.name:
        edits = moving(path, path[:-4]) if path[-4:-2] == ("labelSelector", "matchExpressions") else ()
        return _MisplacedField(
            f"{name} is inside the {holder}; it belongs next to labelSelector", f"Align {name} with labelSelector.", edits
        )
    if name in LABEL_SELECTOR.fields and holder in (POD_TERM.name, WEIGHTED_POD_TERM.name, "topology spread constraint"):
        edits = moving(path, (*path[:-1], "labelSelector")) if holder != WEIGHTED_POD_TERM.name else ()
        return _MisplacedField(
            f"{name} is set directly in the {holder}; it belongs under labelSelector", f"Put {name} under `labelSelector:`.", edits
        )
    if name in EXPRESSION.fields and holder in (LABEL_SELECTOR.name, NODE_TERM.name, POD_TERM.name):
        return _MisplacedField(
            f"{name} is set next to the match expressions, not in one of them", f"Indent {name} into its item of matchExpressions."
        )
    if holder in (NODE_TERM.name, WEIGHTED_NODE_TERM.name) and (is_term_field or name in ("matchLabels", "podAffinityTerm")):
        message = f"{name} is set in a {holder}; it belongs in a pod affinity term"
        return _MisplacedField(message, "Write matchExpressions for node labels here, or move the term to podAffinity or podAntiAffinity.")
    if holder in (POD_TERM.name, WEIGHTED_POD_TERM.name) and name in ("preference", "nodeSelectorTerms", "matchFields"):
        message = f"{name} is set in a {holder}; it belongs in a node selector term"
        return _MisplacedField(message, "Write labelSelector and topologyKey here, or move the term to nodeAffinity.")
    return None


def _labels_outside_metadata(path: Path, holder: str, manifest: Manifest) -> _MisplacedField | None:
    if not isinstance(manifest, Workload) or holder.endswith("metadata") or (manifest.operated and not manifest.template):
        return None  # "label" next to "labels" is misspelt, not misplaced.
    name = str(path[-1])
    plural = "annotations" if name == "annotations" else "labels"
    home = field_of((*manifest.template_path[len(manifest.base) :], "metadata", plural))
    message = f"{name} is not a field of the {holder}; pods get their {plural} from {home}"
    # Next to the metadata of the template, the intent is certain.
    is_next_to_metadata = name == plural and path[:-1] == manifest.template_path
    edits = moving(path, (*manifest.template_path, "metadata"), merge=True, before="spec") if is_next_to_metadata else ()
    return _MisplacedField(message, f"Move it to {home}.", edits)


# Fields that are indented into a map of strings, which accepts any key.


def swallowed_fault(mismatch: Mismatch, manifest: Manifest, together: Sequence[Mismatch]) -> Match | None:
    """Return the match for a field that is indented into ``nodeSelector``, ``matchLabels``, labels or annotations.

    ``together``, from ``swallowed_together``, are the fields that one indentation moved there: they share one match at the first.
    """
    path = mismatch.path
    if not _may_be_swallowed(mismatch):
        return None
    name, holder = str(path[-1]), str(path[-2])
    home = _home_of_swallowed(name, holder, path, manifest)
    if len(together) > 1:
        names = [str(each.path[-1]) for each in together]
        where = field_of(home or ())
        message = f"{summarize_names(names)} are in the {holder}, where they are read as keys; they belong in {where}"
        edits = tuple(edit for each in together for edit in moving(each.path, (*manifest.base, *(home or ())), merge=True, prune=True))
        return Match(together[0].path, message, f"Move them to {where}.", key=True, edits=edits)
    if holder == "nodeSelector":
        found = _in_node_selector_map(path, mismatch.value)
    elif holder == "matchLabels":
        found = _in_match_labels(path)
    else:
        found = None
    if found is None and home:
        where = field_of(home)
        message = f"{name} is in the {holder}, where it is read as a key; it belongs in {where}"
        found = _MisplacedField(message, f"Move {name} to {where}.", moving(path, (*manifest.base, *home), merge=True, prune=True))
    return _at(path, found) if found else None


def swallowed_together(mismatches: Sequence[Mismatch], manifest: Manifest) -> dict[Path, list[Mismatch]]:
    """Group the fields that are indented into a map of strings by the place where they belong; return the group of each path."""
    found: dict[tuple[Path, Path], list[Mismatch]] = {}
    for mismatch in mismatches:
        if mismatch.struct is None and _may_be_swallowed(mismatch):
            name, holder = str(mismatch.path[-1]), str(mismatch.path[-2])
            home = (
                None
                if holder == "nodeSelector" and _in_node_selector_map(mismatch.path, mismatch.value)
                else _home_of_swallowed(name, holder, mismatch.path, manifest)
            )
            if home:
                found.setdefault((mismatch.path[:-1], home), []).append(mismatch)
    return {each.path: together for together in found.values() for each in together}


def _may_be_swallowed(mismatch: Mismatch) -> bool:
    """Return whether a value in a map of strings is probably a field: a list, a map, or a valid value of the field of that name."""
    path = mismatch.path
    if mismatch.expected != "a string" or len(path) < 3 or path[-2] not in ("nodeSelector", "matchLabels", "labels", "annotations"):
        return False
    if isinstance(mismatch.value, (dict, list)):
        return True
    field = POD_SPEC.fields.get(str(path[-1])) if path[-2] == "nodeSelector" else None
    return field is not None and mismatch.value is not None and field.fits(mismatch.value)


def _in_node_selector_map(path: Path, value: object) -> _MisplacedField | None:
    name = str(path[-1])
    if name == "matchLabels":
        message = "matchLabels is in the nodeSelector, which is itself a map of labels"
        return _MisplacedField(message, "Put the labels directly under nodeSelector.", unwrapping(path, value))
    if name in NODE_TERM.fields:
        message = f"{name} is in the nodeSelector, which is a plain map of labels"
        return _MisplacedField(message, f"Put it into a term of nodeAffinity: `nodeSelectorTerms: [{{{name}: …}}]`.")
    return None


def _in_match_labels(path: Path) -> _MisplacedField | None:
    name = str(path[-1])
    if name == "matchExpressions":
        message = "matchExpressions is in matchLabels, where it is read as a label"
        return _MisplacedField(message, "Align it with matchLabels.", moving(path, path[:-2]))
    if name in POD_TERM.fields:
        edits = moving(path, path[:-3]) if path[-3] == "labelSelector" else ()
        return _MisplacedField(f"{name} is in matchLabels, where it is read as a label", f"Align {name} with labelSelector.", edits)
    return None


def _home_of_swallowed(name: str, holder: str, path: Path, manifest: Manifest) -> Path | None:
    """Return where a field belongs that is indented into nodeSelector, labels or annotations."""
    depth = len(manifest.base)
    if isinstance(manifest, Workload) and name in _HOMES and len(_HOMES[name]) == 1:
        return (*manifest.pod_path[depth:], *_HOMES[name][0])
    if holder == "nodeSelector":
        return path[depth:-2] if name in (VMI_SPEC if manifest.kind.kubevirt else POD_SPEC).fields else None
    return path[depth:-2] if holder in ("labels", "annotations") and name in METADATA.fields else None
