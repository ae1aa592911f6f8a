"""Messages about invalid keys of labels and annotations, and about invalid values of labels."""

from __future__ import annotations

from afflint.findings.phrases import quoted, visible
from afflint.kube.label_syntax import key_fault, value_fault

_LONGEST_PREFIX = 253
KEY_HELP = "Use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; a DNS name and `/` may come first."
VALUE_HELP = "Use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends, or an empty value."


def invalid_key_message(what: str, key: str) -> str:
    """Return the message for an invalid key; `what` is "label key" or "annotation key"."""
    if not key:
        return f"the {what} is empty"
    prefix = key.rpartition("/")[0]
    if len(prefix) > _LONGEST_PREFIX:
        why = f"the prefix before the `/` has {len(prefix)} characters, but at most {_LONGEST_PREFIX} are allowed"
    else:
        why = visible(key_fault(lowercase_first(key) if what == "annotation key" else key))
    return f"{quoted(key)} is not a valid {what}: {why}"


def invalid_value_message(value: str) -> str:
    """Return the message for an invalid value of a label."""
    return f"{quoted(value)} is not a valid label value: {visible(value_fault(value))}"


def lowercase_first(key: str) -> str:
    """Return a key in lower case as Go's `strings.ToLower` does: İ becomes one character, where Python makes two."""
    return key.replace("\u0130", "i").lower()
