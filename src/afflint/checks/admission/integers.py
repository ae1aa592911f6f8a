"""Texts that stand for whole numbers of 32 bits, and why others do not."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[+-]?[0-9]{1,40}")


def is_whole_number(text: str) -> bool:
    """True for a number as YAML and JSON both write it: no plus sign, no leading zero (an octal number in YAML), 32 bits."""
    digits = text.removeprefix("-")
    return _is_int32(text) and (digits == "0" or not digits.startswith("0")) and text[:1] != "+" and text != "-0"


def deletion_cost_fault(text: str) -> str | None:
    """Why the API server does not take a text as the deletion cost of a pod; None when it does."""
    if not _DIGITS.fullmatch(text):
        return "is not an integer"
    if text[0] == "+" or (text[0] == "0" and text != "0"):
        return f"has a {'plus sign' if text[0] == '+' else 'leading zero'}, which the API server rejects"
    return None if _is_int32(text) else "is not a 32-bit integer"


def _is_int32(text: str) -> bool:
    return _DIGITS.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31
