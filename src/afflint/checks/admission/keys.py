"""Messages about invalid keys of labels and annotations."""

from __future__ import annotations

from afflint.findings.phrases import quoted, visible
from afflint.kube.label_syntax import key_fault

_LONGEST_PREFIX = 253


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


def lowercase_first(key: str) -> str:
    """Return a key in lower case as Go's `strings.ToLower` does: İ becomes one character, where Python makes two."""
    return key.replace("\u0130", "i").lower()
