"""Fields nobody knows and values of the wrong type: what strict decoding refuses, named by the mistake behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from afflint.checks.match import Match, Target
from afflint.checks.wording import listing, nearest, quoted, type_name
from afflint.findings import Path, field_of
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.kinds import CUSTOM_PLACEMENT
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.types import Mismatch, Struct

# Where a placement field belongs, below the pod spec. Fields of terms are told apart by the struct that they ended up in.
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
_POD_TERM_FIELDS = frozenset(("labelSelector", "namespaceSelector", "namespaces", "topologyKey", "matchLabelKeys", "mismatchLabelKeys"))
_NODE_TERM_FIELDS = frozenset(("matchExpressions", "matchFields"))
_SELECTOR_FIELDS = frozenset(("matchLabels", "matchExpressions"))
_EXPRESSION_FIELDS = frozenset(("key", "operator", "values"))

_NEVER_EXISTED = {
    "nodeAntiAffinity": (
        "Kubernetes has no nodeAntiAffinity",
        "Use nodeAffinity with the operator NotIn or DoesNotExist.",
    ),
    "requiredDuringSchedulingRequiredDuringExecution": (
        "requiredDuringSchedulingRequiredDuringExecution was planned but never implemented",
        f"Use {REQUIRED}; running pods are not moved when labels change.",
    ),
    "preferredDuringSchedulingRequiredDuringExecution": (
        "preferredDuringSchedulingRequiredDuringExecution never existed",
        f"Use {PREFERRED}.",
    ),
}


class Fault(NamedTuple):
    """A field fault under the rule that names it best."""

    rule: str
    match: Match


def unknown_field(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Fields that no version of the API knows at this place, misspelt ones above all."""
    return _of_rule("unknown-field", manifest)


def misplaced_constraint(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Fields of placement, or labels, at a level where they are unknown."""
    return _of_rule("misplaced-constraint", manifest)


def missing_term_wrapper(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Terms without the object that wraps them in a preferred list, or with one in a required list."""
    yield from _of_rule("missing-term-wrapper", manifest)
    if isinstance(manifest, Workload):
        for weighted in manifest.constraints.pod_preferred:
            data = weighted.data
            if data.get("podAffinityTerm") is None and _POD_TERM_FIELDS.isdisjoint(data):
                yield Match(
                    (*weighted.path, "podAffinityTerm"),
                    "a preferred pod term without podAffinityTerm: it says how much it weighs, not what it is about",
                    "Put labelSelector and topologyKey under podAffinityTerm, beside weight.",
                )


def wrong_type(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Numbers, booleans, lists or maps where something else is wanted."""
    return _of_rule("wrong-type", manifest)


def annotation_not_string(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Annotations whose unquoted value is a number or a boolean."""
    return _of_rule("annotation-not-string", manifest)


def _of_rule(rule: str, manifest: Manifest) -> Iterator[Match]:
    if manifest.kind.root is not None:
        # The fast question first: nearly every manifest fits.
        if manifest.mismatches is None:
            fits = manifest.kind.root.fits(manifest.data)
            manifest.mismatches = () if fits else tuple(manifest.kind.root.mismatches(manifest.data, manifest.base))
    elif manifest.mismatches is None:
        manifest.mismatches = tuple(_custom_mismatches(manifest))
    for mismatch in manifest.mismatches:
        fault = _unknown(mismatch, manifest) if mismatch.what == "unknown" else _mistyped(mismatch, manifest)
        if fault is not None and fault.rule == rule:
            yield fault.match


def _custom_mismatches(manifest: Manifest) -> Iterator[Mismatch]:
    """A custom resource's own fields are its own affair; the placement fields of its pod template are core's."""
    if isinstance(manifest, Workload):
        for name, type_ in CUSTOM_PLACEMENT.items():
            if name in manifest.pod:
                yield from type_.mismatches(manifest.pod[name], (*manifest.pod_path, name))


def _unknown(mismatch: Mismatch, manifest: Manifest) -> Fault | None:
    name, struct = str(mismatch.path[-1]), mismatch.struct
    assert struct is not None
    if name.startswith("$"):
        return None  # A directive of a strategic merge patch; no cluster ever sees it.
    if name in _NEVER_EXISTED:
        message, remedy = _NEVER_EXISTED[name]
        return Fault("unknown-field", Match(mismatch.path, message, remedy, key=True))
    wrapper = _wrapper_fault(name, struct, mismatch.path)
    if wrapper is not None:
        return Fault("missing-term-wrapper", wrapper)
    misplaced = _misplaced_fault(name, mismatch, manifest)
    if misplaced is not None:
        return Fault("misplaced-constraint", misplaced)
    return Fault("unknown-field", _misspelt(name, mismatch, struct))


def _misspelt(name: str, mismatch: Mismatch, struct: Struct) -> Match:
    close = nearest(name, struct.fields)
    where = f"unknown field {quoted(name)} in this {struct.name}"
    if close is None:
        known = (
            f"Known here: {listing(sorted(struct.fields))}."
            if 0 < len(struct.fields) <= 12
            else "Remove it, or move it to where it belongs."
        )
        return Match(mismatch.path, where, known, key=True)
    return Match(mismatch.path, f"{where}; did you mean {quoted(close)}?", f"Write `{close}`.", key=True, replacement=close)


def _wrapper_fault(name: str, struct: Struct, path: Path) -> Match | None:
    if struct.name == "pod affinity term":
        if path[-2] != "podAffinityTerm" and name == "podAffinityTerm":
            return Match(
                path,
                "a required term has no podAffinityTerm wrapper; only preferred terms do",
                "Move its fields up into the list item and remove `podAffinityTerm:`.",
                key=True,
            )
        if name == "weight":
            if path[-2] == "podAffinityTerm":
                return Match(path, "weight stands inside podAffinityTerm", "Move weight one level up, beside podAffinityTerm.", key=True)
            return Match(
                path,
                "a required term has no weight; only preferred terms do",
                f"Remove weight, or move the term to {PREFERRED}.",
                key=True,
            )
    if struct.name == "weighted pod affinity term" and name in _POD_TERM_FIELDS:
        return Match(
            path,
            f"{name} stands directly in a preferred term; it belongs under podAffinityTerm",
            "Indent labelSelector and topologyKey under `podAffinityTerm:`, beside weight.",
            key=True,
        )
    if struct.name == "preferred scheduling term" and name in _NODE_TERM_FIELDS:
        return Match(
            path, f"{name} stands beside weight; it belongs under preference", f"Put {name} under `preference:`, beside weight.", key=True
        )
    if struct.name == "node selector" and name in _NODE_TERM_FIELDS:
        return Match(
            path,
            f"{name} stands directly under {REQUIRED}; a required node affinity is a list of nodeSelectorTerms",
            f"Put it into a list item of nodeSelectorTerms: `nodeSelectorTerms: [{{{name}: …}}]`.",
            key=True,
        )
    if struct.name == "node selector term" and name in ("nodeSelectorTerms", "preference", "weight"):
        return _node_wrapper_fault(name, path)
    return None


def _node_wrapper_fault(name: str, path: Path) -> Match:
    preferred = PREFERRED in path
    if name == "nodeSelectorTerms":
        message = "a preference is one term and has no nodeSelectorTerms" if preferred else "nodeSelectorTerms inside a term"
        return Match(path, message, "Put matchExpressions directly here; write several preferences as several list items.", key=True)
    if preferred:
        return Match(path, f"{name} stands inside preference", f"Move {name} one level up, into the list item.", key=True)
    return Match(
        path, f"a required node term has no {name}; only preferred terms do", f"Remove {name}, or move the term to {PREFERRED}.", key=True
    )


def _misplaced_fault(name: str, mismatch: Mismatch, manifest: Manifest) -> Match | None:
    path, struct = mismatch.path, mismatch.struct
    assert struct is not None
    if isinstance(manifest, Workload) and name in _HOMES:
        if name == "nodeName" and manifest.kind.kubevirt:
            return None
        homes = [field_of((*manifest.pod_path[len(manifest.base) :], *home)) for home in _HOMES[name]]
        message = f"{name} stands in the {struct.name}, where it is unknown; it belongs in {listing(homes, 'or')}"
        return Match(path, message, f"Move {name} to {homes[0] if len(homes) == 1 else 'one of them'}.", key=True)
    if name in ("labels", "label", "annotations") and isinstance(manifest, Workload):
        return _misplaced_labels(name, path, struct, manifest)
    if struct.name in ("label selector", "match expression") and name in _POD_TERM_FIELDS:
        return Match(path, f"{name} stands inside the {struct.name}", f"Dedent {name} to stand beside labelSelector.", key=True)
    if struct.name in ("pod affinity term", "topology spread constraint") and name in _SELECTOR_FIELDS:
        return Match(path, f"{name} stands directly in the {struct.name}", f"Put {name} under `labelSelector:`.", key=True)
    if struct.name in ("label selector", "node selector term", "pod affinity term") and name in _EXPRESSION_FIELDS:
        return Match(
            path, f"{name} stands beside the match expressions, not in one", f"Indent {name} into its item of matchExpressions.", key=True
        )
    if struct.name == "node selector term" and name in ("matchLabels", "labelSelector", "topologyKey"):
        return Match(
            path,
            f"{name} in a node selector term: nodes are selected by matchExpressions, pods by labelSelector",
            "Write matchExpressions here, or move the term to podAffinity or podAntiAffinity.",
            key=True,
        )
    return None


def _misplaced_labels(name: str, path: Path, struct: Struct, manifest: Workload) -> Match | None:
    if struct.name.endswith("metadata"):
        return None  # "label" beside "labels" is a slip of the pen, not of the level.
    plural = "annotations" if name == "annotations" else "labels"
    home = field_of((*manifest.template_path[len(manifest.base) :], "metadata", plural))
    return Match(
        path, f"{name} stands in the {struct.name}, where it is unknown; the pods get theirs from {home}", f"Move it to {home}.", key=True
    )


def _mistyped(mismatch: Mismatch, manifest: Manifest) -> Fault:
    path, value = mismatch.path, mismatch.value
    is_scalar = isinstance(value, (bool, int, float))
    rule = "annotation-not-string" if "annotations" in path[:-1] and is_scalar else "wrong-type"
    name = quoted(str(path[-1])) if isinstance(path[-1], str) else f"item {path[-1]} of {quoted(str(path[-2]))}"
    if mismatch.expected == "a string" and is_scalar:
        raw = manifest.document.raw(path) or str(value)
        reading = "" if raw == str(value) else f" ({'true' if value is True else 'false' if value is False else value})"
        message = f"the value of {name} must be a string, and unquoted {quoted(raw)} is {type_name(value)}{reading}"
        return Fault(rule, Match(path, message, f'Quote it: `"{raw}"`.', replacement=f'"{raw}"'))
    if value is None:
        return Fault(rule, Match(path, f"{name} is null here, and KubeVirt wants {mismatch.expected}", "Give it a value, or remove it."))
    message = f"{name} must be {mismatch.expected}, not {type_name(value)}"
    if manifest.kind.kubevirt and {"labels", "annotations"}.isdisjoint(path):
        # KubeVirt's schemas prune before they look at types, so the server complains of the first key in the wrong map or list.
        return Fault(rule, Match(path, message, _type_remedy(mismatch), field=_first_key(path, value)))
    if isinstance(value, str) and mismatch.expected.startswith("a whole number"):
        message = f'{name} must be {mismatch.expected}, and `"{value[:40]}"` is a string'
        if value.lstrip("+-").isdigit() and len(value) < 10:
            return Fault(rule, Match(path, message, "Remove the quotes.", replacement=value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and mismatch.expected.startswith("a whole number"):
        message = f"{name} must be {mismatch.expected}, and {quoted(value)} is none"
    return Fault(rule, Match(path, message, _type_remedy(mismatch)))


def _first_key(path: Path, value: object) -> Path:
    if isinstance(value, dict) and value:
        return (*path, next(iter(value)))
    return _first_key((*path, 0), value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else path


def _type_remedy(mismatch: Mismatch) -> str:
    if mismatch.expected == "a list" and isinstance(mismatch.value, dict):
        return "Put `- ` before the first key and indent the others to match."
    if mismatch.expected in ("an object", "a map") and isinstance(mismatch.value, list):
        return "Remove the `- `: this is one object, not a list."
    return f"Write {mismatch.expected} here."
