"""Resolves YAML scalars like the API server: YAML 1.1 through go-yaml v2, which differs from every Python library.

A scalar becomes ``None``, ``bool``, ``int``, ``float`` or ``str``. Sexagesimal numbers are not supported, and a date stays a string.
"""

from __future__ import annotations

import re
from typing import Any

Scalar = bool | int | float | str | None

_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"):
    _WORDS[_word] = True
for _word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"):
    _WORDS[_word] = False
BOOLEAN_WORDS = frozenset(word for word, value in _WORDS.items() if value is not None and word.lower() not in ("true", "false"))
"""The booleans of YAML 1.1 that are text in YAML 1.2."""
# Go writes them like this as keys; as values, JSON cannot represent them.
_NOT_IN_JSON = {sign + word: sign.strip("+") + ".inf" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")}
_NOT_IN_JSON |= dict.fromkeys((".nan", ".NaN", ".NAN"), ".nan")

# Only these can begin a number; other scalars are words or strings.
_NUMBER_START = frozenset("+-.0123456789")
# Only the most frequent of these patterns is compiled on import.
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
# Other code in Go reads a scalar that begins with a point, and it checks the positions of underscores.
_POINT_FLOAT = r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?"
_DIGITS = {
    "0x": (16, r"[0-9a-fA-F]+"),
    "0o": (8, r"[0-7]+"),
    "0b": (2, r"[01]+"),
}
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_OCTAL = r"0[0-7]+"
_INFINITE = float("inf"), float("-inf")
_LOWEST, _HIGHEST, _HIGHEST_KEY = -(2**63), 2**64 - 1, 2**63 - 1


def resolve_plain(text: str) -> Scalar:
    """Resolve an unquoted, untagged scalar. Raises ValueError for infinities and NaN, which JSON cannot represent."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if text in _NOT_IN_JSON:
        raise ValueError("is infinity or not a number, which JSON cannot represent")
    if text[0] == ".":
        return _float(text) if re.fullmatch(_POINT_FLOAT, text) else text
    digits = text.replace("_", "") if "_" in text else text
    number = _integer(digits)
    if number is not None:
        return number
    value = _float(digits) if re.fullmatch(_FLOAT, digits) else digits
    return text if value is digits else value


def _float(text: str) -> Scalar:
    value = float(text)
    # A number beyond the range of a float is an error in Go, so it stays a string.
    return text if value in _INFINITE else value


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Resolve a scalar with an explicit tag; with a tag that is not YAML's own (``!foo``) it is its text.

    Raises ValueError if the text is not valid for the tag.
    """
    kind = tag.removeprefix("tag:yaml.org,2002:")
    if kind == tag or kind not in ("int", "float", "bool", "null", "timestamp", "binary"):
        return text
    if kind == "binary":
        import base64

        try:
            return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True).decode("utf-8", "replace")
        except ValueError:
            raise ValueError("is not valid base64, which !!binary requires") from None
    if kind == "timestamp":
        if re.fullmatch(_DATE, text) is None:  # Only the form is checked, so that a 31st of February is accepted.
            raise ValueError("cannot be read as !!timestamp")
        return text
    value = resolve_plain(text)
    if kind == "float" and type(value) is int:
        return float(value)
    if type(value) is not {"int": int, "float": float, "bool": bool, "null": type(None)}[kind]:
        raise ValueError(f"cannot be read as !!{kind}")
    return value


def plain_key(text: str) -> str | None:
    """Convert an unquoted, untagged mapping key to the string that it becomes in JSON; None for the null key, which is rejected.

    Raises ValueError for a number that cannot be a key.
    """
    if text in _NOT_IN_JSON:
        return _NOT_IN_JSON[text]
    return key_text(resolve_plain(text))


def key_text(value: Scalar) -> str | None:
    """Convert a mapping key to the string that it becomes in JSON; None for the null key. Raises ValueError beyond 63 bits."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value > _HIGHEST_KEY:
            raise ValueError("is too large for a numeric key")
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return None


def _float_text(value: float) -> str:
    """Write a float key as Go does: the shortest text that gives the same 32-bit float, with an exponent from 1e+06 on."""
    single = _at_32_bits(value)
    if single in _INFINITE:
        return "-.inf" if value < 0 else ".inf"
    digits = next(digits for digits in range(1, 10) if _at_32_bits(float(f"{single:.{digits}g}")) == single)
    mantissa, _, exponent = f"{single:.{digits - 1}e}".partition("e")
    if -4 <= int(exponent) < 6:
        return f"{single:.{max(digits - 1 - int(exponent), 0)}f}"
    return f"{mantissa}e{exponent}"


def _at_32_bits(value: float) -> float:
    import struct

    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return _INFINITE[value < 0]
    return single


_DATE = (
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
    r"| +[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?)?"
)


def _integer(digits: str) -> int | None:
    sign, body = (digits[0], digits[1:]) if digits[:1] in ("+", "-") else ("", digits)
    base, pattern = _DIGITS.get(body[:2].lower(), (0, ""))
    if base:
        body = body[2:]
        number = int(body, base) if re.fullmatch(pattern, body) else None
    elif body[:1] == "0" and re.fullmatch(_OCTAL, body):
        number = int(body, 8)
    else:
        # A longer decimal does not fit, and Python refuses to convert a very long one.
        number = int(body) if _DECIMAL.fullmatch(body) else None
    if number is None:
        return None
    number = -number if sign == "-" else number
    return number if _LOWEST <= number <= _HIGHEST else None


_REMEMBERED, _SHORT = 20_000, 100


class _PlainValues(dict[str, Scalar]):
    """Caches the values of plain scalars, because manifests repeat the same words."""

    def __missing__(self, text: str) -> Scalar:
        value = resolve_plain(text)
        if len(self) < _REMEMBERED and len(text) < _SHORT:
            self[text] = value
        return value


class _PlainKeys(dict[str, Any]):
    """Caches mapping keys, which always become strings; None for the null key."""

    def __missing__(self, text: str) -> str | None:
        key = plain_key(text)
        if len(self) < _REMEMBERED and len(text) < _SHORT:
            self[text] = key
        return key


PLAIN_VALUES = _PlainValues()
PLAIN_KEYS = _PlainKeys()
