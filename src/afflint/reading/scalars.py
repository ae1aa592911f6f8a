"""How the API server reads a plain YAML scalar: YAML 1.1 through go-yaml v2, which differs from every Python library.

A scalar becomes ``None``, ``bool``, ``int``, ``float`` or ``str``. There are no sexagesimals, and a date stays a string.
"""

from __future__ import annotations

import re

Scalar = bool | int | float | str | None

_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"):
    _WORDS[_word] = True
for _word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"):
    _WORDS[_word] = False
_NOT_IN_JSON = frozenset(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")) | {".nan", ".NaN", ".NAN"}

# Only these can begin a number; all else is a word or a string.
_NUMBER_START = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIGITS = {
    "0x": (16, re.compile(r"[0-9a-fA-F]+")),
    "0o": (8, re.compile(r"[0-7]+")),
    "0b": (2, re.compile(r"[01]+")),
}
_DECIMAL = re.compile(r"[0-9]+")
_OCTAL = re.compile(r"0[0-7]+")
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
# No float is written with more digits than this on purpose, and Python refuses to convert very long ones.
_LONGEST_NUMBER = 400


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted, untagged scalar. Raises ValueError for infinities and NaN, which have no JSON."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > _LONGEST_NUMBER:
        return text
    if text in _NOT_IN_JSON:
        raise ValueError("is an infinity or not a number, which JSON cannot carry")
    if text[0] == ".":
        return _float(text)
    digits = text.replace("_", "")
    number = _integer(digits)
    if number is not None:
        return number
    value = _float(digits)
    return text if value is digits else value


def _float(text: str) -> Scalar:
    # A number beyond the range of a float is an error in Go, so it stays a string.
    if not _FLOAT.fullmatch(text):
        return text
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag; local tags such as ``!foo`` mean nothing to the API server.

    Raises ValueError when the text cannot be read as the tag says.
    """
    kind = tag.removeprefix("tag:yaml.org,2002:")
    if kind == tag:
        return text if tag == "!" else resolve_plain(text)
    if kind in ("str", "timestamp"):
        return text
    if kind == "binary":
        import base64

        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    value = resolve_plain(text)
    if kind == "float" and type(value) is int:
        return float(value)
    expected = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(kind)
    if expected is not None and type(value) is not expected:
        raise ValueError(f"cannot be read as !!{kind}")
    return value


def key_text(value: Scalar) -> str | None:
    """A mapping key as the string it becomes in JSON; None for the null key, which is refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return None


def _float_text(value: float) -> str:
    # Go prints float keys at 32 bits: 1.5, 1e+20.
    return f"{value:.8g}"


def _integer(digits: str) -> int | None:
    sign, body = (digits[0], digits[1:]) if digits[:1] in ("+", "-") else ("", digits)
    base, pattern = _DIGITS.get(body[:2].lower(), (0, _DECIMAL))
    if base:
        body = body[2:]
        number = int(body, base) if pattern.fullmatch(body) else None
    elif _OCTAL.fullmatch(body):
        number = int(body, 8)
    elif _DECIMAL.fullmatch(body) and (body[0] != "0" or body == "0"):
        number = int(body)
    else:
        return None
    if number is None:
        return None
    number = -number if sign == "-" else number
    return number if _LOWEST <= number <= _HIGHEST else None
