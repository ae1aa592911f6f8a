"""Messages and fixes for values of the wrong type; quotes fix most of them."""

from __future__ import annotations

from typing import Any

from afflint.checks.admission.integers import is_plain_integer
from afflint.checks.admission.spelling import NODE_TERM
from afflint.checks.match import Match, moving, renaming, replacing
from afflint.findings.paths import Path
from afflint.findings.phrases import plain, quoted, type_name
from afflint.kube.constraints import REQUIRED
from afflint.kube.label_syntax import is_value
from afflint.kube.types import EXACT_FLOAT, INT32, INT64, LabelKey, Mismatch
from afflint.manifests.manifest import Manifest

# How messages describe the range of an integer field.
_RANGES = {
    INT32.expected: "a 32-bit integer",
    INT64.expected: "a 64-bit integer",
    EXACT_FLOAT.expected: "an integer below 2^53 (KubeVirt cannot represent larger ones exactly)",
}
_REMEDIES = {
    "a string": "Write a string; if this key is a field, indent it less.",
    "an object": "Write an object: `name: value` for each of its fields.",
    "a map": "Write a map: `key: value` on each line.",
    "true or false": "Write true or false.",
}
_NEEDED = ("metadata", "spec", "template", "jobTemplate", "virtualMachineTemplate")
_LISTS_OF_TEXTS = ("values", "namespaces", "matchLabelKeys", "mismatchLabelKeys")
_SELECTORS = ("selector", "labelSelector", "namespaceSelector")


def is_annotation(mismatch: Mismatch) -> bool:
    """Return whether the mismatch is a number or a boolean as the value of an annotation."""
    return "annotations" in mismatch.path[:-1] and isinstance(mismatch.value, (bool, int, float))


def wrong_type_message(mismatch: Mismatch, manifest: Manifest) -> Match:
    """Return the match for a value of the wrong type."""
    path, value, wanted = mismatch.path, mismatch.value, mismatch.expected
    if wanted == "a string" and isinstance(value, (bool, int, float)):
        return _unquoted(path, value, manifest)
    if value is None:
        return Match(path, f"{_name(path)} is null, but KubeVirt requires {wanted}", _null_remedy(path, wanted))
    if type(value) is str and (wanted == LabelKey.expected or wanted.startswith("one of ")):
        return Match(path, f"{_name(path)} must be {wanted}, not {quoted(value)}", f"Write {wanted}.")
    match = None
    if wanted in _RANGES:
        match = _integer_mismatch(path, value, _RANGES[wanted])
        wanted = "an integer"
    message = f"{_name(path)} must be {wanted}, not {type_name(value)}"
    if path[-2:] == ("nodeAffinity", REQUIRED) and _are_node_terms(value):
        wrapped = (*path[:-1], "nodeSelectorTerms")
        edits = (*renaming(path, "nodeSelectorTerms"), *moving(wrapped, path))
        return Match(path, message, "Put the list under `nodeSelectorTerms:`.", edits=edits)
    return match or Match(path, message, _remedy(path, value, wanted))


def _are_node_terms(value: Any) -> bool:
    """Return whether a value is a list of node selector terms."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and {*each} <= {*NODE_TERM.fields} for each in value)


def _name(path: Path) -> str:
    """Return the name of a value in messages: its key, or the list that contains it."""
    return quoted(path[-1]) if isinstance(path[-1], str) else f"an item of {quoted(path[-2])}"


def _unquoted(path: Path, value: Any, manifest: Manifest) -> Match:
    raw = manifest.document.raw(path) or plain(value)
    name = f"the value of {quoted(path[-1])}" if isinstance(path[-1], str) else f"a value in {quoted(path[-2])}"
    if not manifest.document.is_plain(path):
        return Match(
            path, f"{name} must be a string, but its tag makes {quoted(raw)} {type_name(value)}", f'Write `"{raw}"` without the tag.'
        )
    reading = "" if raw.lower() in (plain(value), str(value)) else f" ({plain(value)})"
    message = f"{name} must be a string, but unquoted {quoted(raw)} is {type_name(value)}{reading}"
    return Match(path, message, f'Quote it: `"{raw}"`.', edits=replacing(path, raw) if _may_be_quoted(path, raw) else ())


def _may_be_quoted(path: Path, raw: str) -> bool:
    """Return whether the quoted value is valid in its field: a label value cannot begin with a sign, an operator cannot be a number."""
    if path[-1] in _OF_FEW_WORDS:
        return False
    return is_value(raw) or path[-2] not in ("labels", "matchLabels", "nodeSelector", "values")


_OF_FEW_WORDS = frozenset(
    (
        "operator", "effect", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy", "evictionStrategy", "preemptionPolicy",
    )
)  # fmt: skip


def _integer_mismatch(path: Path, value: Any, fitting: str) -> Match | None:
    """Return the match for a string or a number in an integer field; None for other types."""
    if isinstance(value, str):
        shown = f'"{value}"'
        message = f"{_name(path)} must be an integer, but {quoted(shown)} is a string"
        if not is_plain_integer(value):
            return Match(path, message, _number_remedy(path))
        return Match(path, message, "Remove the quotes.", edits=replacing(path, int(value)))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value != int(value):
        return Match(path, f"{_name(path)} must be an integer, but {quoted(value)} is not", _number_remedy(path))
    message = f"{_name(path)} must be {fitting}, but {quoted(value)} is too {'small' if value < 0 else 'large'}"
    return Match(path, message, _number_remedy(path))


def _number_remedy(path: Path) -> str:
    if path[-1] in ("hostPort", "containerPort"):
        return "Write a port number from 1 to 65535."
    return "Write an integer from 1 to 100." if path[-1] == "weight" else "Write an integer of at most 9 digits."


def _remedy(path: Path, value: Any, wanted: str) -> str:
    if isinstance(value, (dict, list)) and not value:
        return f"Write {wanted}." if path[-1] in _NEEDED else f"Write {wanted}, or remove {_name(path)}."
    if wanted == "a list":
        return _list_remedy(path, value)
    if isinstance(value, list):
        return f"Remove the `- ` or the brackets: the field takes one {wanted.split(maxsplit=1)[1]}, not a list."
    if wanted == "an object" and path[-1] in _SELECTORS:
        return "Write an object, such as `{matchLabels: {app: web}}`."
    return _REMEDIES.get(wanted) or _number_remedy(path)


def _list_remedy(path: Path, value: Any) -> str:
    if isinstance(value, dict):
        return "Make it a list: put `- ` before the first key and indent the others to match, or write `[…]` around it."
    if path[-1] in _LISTS_OF_TEXTS and isinstance(value, str):
        return f"Write a list: {quoted(f'[{value}]')}."
    return "Write a list, with `- ` before each item."


def _null_remedy(path: Path, wanted: str) -> str:
    if isinstance(path[-1], int):
        return f"Write {wanted}, or remove the item."
    if path[-2] in ("labels", "annotations"):
        return f'Write "" for an empty value, or remove the {"label" if path[-2] == "labels" else "annotation"}.'
    return f"Write {wanted}, or remove {_name(path)}."
