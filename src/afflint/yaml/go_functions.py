"""Functions of Go's templates that make a text of texts. After Sprig, and the package fmt of Go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

LONGEST_VALUE = 1 << 16
"""The most characters and items of a value on its way through functions: each can make it longer."""


def as_text(value: Any) -> str | None:
    """Return the text that Go writes for a value; None if that is unknown."""
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) in (str, int) else None


def as_name(text: str) -> str:
    """Return a text with everything replaced that the name of an object must not have."""
    return re.sub(r"[^a-z0-9.-]", "-", text.lower())


def _formatted(form: str, *texts: str) -> str:
    """Return a text with others in the places of `%s`. Raises ValueError."""
    pieces = re.sub("%[dv]", "%s", form).split("%s")
    if "%" in "".join(pieces):
        raise ValueError
    return "".join(text for pair in zip(pieces, [*texts, ""], strict=True) for text in pair)


def _replaced(old: str, new: str, text: str) -> str:
    """Return a text with a part replaced. Raises ValueError."""
    if len(text) + text.count(old) * len(new) > LONGEST_VALUE:
        raise ValueError
    return text.replace(old, new)


def _cut(length: str, text: str) -> str:
    """Return the beginning of a text. Raises ValueError."""
    if not length.isdecimal() or len(length) > _MOST_DIGITS:
        raise ValueError
    return text[: int(length)]


_MOST_DIGITS = 8


TEXT_FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(),
    "quote": lambda text: f'"{text}"',
    "squote": lambda text: f"'{text}'",
    "toString": lambda text: text,
    "normalize": as_name,
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": _cut,
    "replace": _replaced,
    "printf": _formatted,
}
"""Functions that take texts, or values whose texts are known, and return a text."""
