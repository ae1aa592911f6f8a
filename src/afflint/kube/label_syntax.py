"""The syntax of label keys, label values and DNS names. Valid texts are cached because labels repeat."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_ODD_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")
_good_keys: set[str] = set()
_good_values: set[str] = {""}
_REMEMBERED = 50_000


def is_key(text: str) -> bool:
    """Return whether `text` is a label key.

    That is an optional DNS subdomain and a slash, then 1 to 63 characters from ``A-Za-z0-9_.-`` with alphanumeric ends.
    """
    if text in _good_keys:
        return True
    prefix, slash, name = text.rpartition("/")
    good = _NAME.fullmatch(name) is not None and (not slash or is_subdomain(prefix))
    if good and len(_good_keys) < _REMEMBERED:
        _good_keys.add(text)
    return good


def is_value(text: str) -> bool:
    """Return whether `text` is a label value: empty, or at most 63 characters from ``A-Za-z0-9_.-`` with alphanumeric ends."""
    if text in _good_values:
        return True
    good = _NAME.fullmatch(text) is not None
    if good and len(_good_values) < _REMEMBERED:
        _good_values.add(text)
    return good


def is_subdomain(text: str) -> bool:
    """Return whether `text` is a DNS-1123 subdomain of at most 253 characters."""
    return len(text) <= 253 and _DNS_SUBDOMAIN.fullmatch(text) is not None


def is_dns_label(text: str) -> bool:
    """Return whether `text` is a DNS-1123 label of 1 to 63 characters."""
    return _DNS_LABEL.fullmatch(text) is not None


def key_fault(text: str) -> str:
    """Return why ``text`` is not a valid label key; call it only for invalid keys."""
    if not text:
        return "it is empty"
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return "it contains more than one `/`"
    if slash and not prefix:
        return "the prefix before the `/` is empty"
    if slash and not is_subdomain(prefix):
        if prefix.lower() != prefix and is_subdomain(prefix.lower()):
            return f"the prefix before the `/` must be lower case: `{prefix.lower()}`"
        return f"the prefix `{prefix}` is not a DNS name (lower-case letters, digits, `-` and `.`, at most 253 characters)"
    if not name:
        return "the name after the `/` is empty"
    return value_fault(name)


def value_fault(text: str) -> str:
    """Return why ``text`` is not a valid label value, or no name in a label key; call it only for invalid ones."""
    odd = _ODD_CHARACTER.search(text)
    if odd:
        return f"it contains {_CHARACTER_NAMES.get(odd[0], f'`{odd[0]}`')}; only letters, digits, `-`, `_` and `.` are allowed"
    if len(text) > 63:
        return f"it has {len(text)} characters, but at most 63 are allowed"
    return "it must start and end with a letter or a digit"


_CHARACTER_NAMES = {" ": "a space", "\n": "a line break", "\t": "a tab"}
