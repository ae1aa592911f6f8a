"""Strings that the API server reads as 32-bit integers."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[+-]?[0-9]{1,40}")


def is_plain_integer(text: str) -> bool:
    """Return whether YAML and JSON both read `text` as a 32-bit integer: no plus sign, no leading zero (octal in YAML)."""
    digits = text.removeprefix("-")
    return _is_int32(text) and (digits == "0" or not digits.startswith("0")) and text[:1] != "+" and text != "-0"


def deletion_cost_fault(text: str) -> str | None:
    """Return why the API server rejects a pod deletion cost, or None if the cost is valid."""
    if not _DIGITS.fullmatch(text):
        return "is not an integer"
    if text[0] == "+" or (text[0] == "0" and text != "0"):
        return f"has a {'plus sign' if text[0] == '+' else 'leading zero'}, which the API server rejects"
    return None if _is_int32(text) else "is not a 32-bit integer"


def _is_int32(text: str) -> bool:
    return _DIGITS.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31
