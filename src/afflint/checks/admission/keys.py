"""What is wrong with the keys of labels and annotations, in words."""

from __future__ import annotations

from afflint.findings.phrases import quoted, visible
from afflint.kube.label_syntax import key_fault

_LONGEST_PREFIX = 253


def invalid_key_message(what: str, key: str) -> str:
    """What is wrong with a text that is no label key, or no annotation key."""
    if not key:
        return f"the {what} is empty"
    prefix = key.rpartition("/")[0]
    if len(prefix) > _LONGEST_PREFIX:
        why = f"the prefix before the `/` has {len(prefix)} characters, but at most {_LONGEST_PREFIX} are allowed"
    else:
        why = visible(key_fault(lowercase_first(key) if what == "annotation key" else key))
    return f"{quoted(key)} is not a valid {what}: {why}"


def lowercase_first(key: str) -> str:
    """A key in lower case as Go has it: one character for each. Python makes two of İ."""
    return key.replace("\u0130", "i").lower()
