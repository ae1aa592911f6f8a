"""Bounds of the answers of tools: an agent pays for each character with its context, and the author of a tree chooses many of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

MOST_CHARACTERS = 20_000
"""The longest answer of a tool."""
_LONGEST_TEXT = 400
"""The longest text in a list or map."""
_MOST_ITEMS = (20, 10, 5, 2, 0)
"""How many items of each list or map are shown besides the findings: as many as fit."""
_BESIDES = 6_000
"""The most characters of everything but the findings."""


def bounded(text: str, narrower: str, notes: Sequence[str] = ()) -> str:
    """Return the lines of a text that fit into an answer, and notes below it. ``narrower`` says how to ask for less."""
    below = "".join(f"{shortened(line)}\n" for line in notes[: _MOST_ITEMS[0]])
    most = MOST_CHARACTERS - len(below)
    if len(text) > most:
        end = text.rfind("\n", 0, most) + 1 or most
        lines, characters = text.count("\n", end), len(text) - end
        left = f"{lines} more lines are" if lines else f"{characters} more characters are"
        text = f"{text[:end]}[{left} left out. {narrower}]\n"
    return text + below


def bounded_findings(findings: Sequence[dict[str, Any]], limit: int, besides: dict[str, Any], narrower: str) -> dict[str, Any]:
    """Return an answer with the first findings, at most ``limit``, as many as fit, and with ``besides``.

    ``omitted`` counts the other findings. If something was cut, ``cut`` says how to ask for the rest.
    """
    others, is_cut = _fitting(besides)
    shown: list[dict[str, Any]] = []
    left = MOST_CHARACTERS - _size(others)
    for finding in findings[:limit]:
        brief = shortened(finding)
        left -= _size(brief)
        if left < 0:
            break
        is_cut = is_cut or brief != finding
        shown.append(brief)
    omitted = len(findings) - len(shown)
    cut = {"cut": f"Findings or parts of texts and lists are left out. {narrower}"} if is_cut or omitted else {}
    return {"findings": shown, "omitted": omitted, **others, **cut}


def shortened(value: Any, most: int = _MOST_ITEMS[0]) -> Any:
    """Return a value of JSON with no text longer than an answer can take, and no list or map with more than ``most`` items."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value) - _LONGEST_TEXT} more characters)"
    if isinstance(value, dict):
        return {shortened(key): shortened(each, most) for key, each in [*value.items()][: max(most, _MOST_ITEMS[0])]}
    if isinstance(value, list):
        return [shortened(each, most) for each in value[:most]]
    return value


def _fitting(value: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a value of JSON shortened so that it fits beside the findings, and whether something was cut."""
    short = value
    for most in _MOST_ITEMS:
        short = {key: shortened(each, most) for key, each in value.items()}
        if _size(short) <= _BESIDES:
            break
    return short, short != value


def _size(value: Any) -> int:
    """Return how many characters a value takes, as the server writes it, in a list or map of an answer."""
    return sum(len(line) + 5 for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"))
