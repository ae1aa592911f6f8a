"""Typos: whether one label was probably meant to be another, and how to find such pairs without comparing all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from afflint.findings.grouping import grouped

_DIGITS = r"\d+"
_SEPARATORS = r"[-_./]"
_WITHOUT_SEPARATORS = str.maketrans(dict.fromkeys("-_./"))
# Hashes and identifiers, which are not written by hand.
_DIGITS_INSIDE = r"[a-z]\d+[a-z]|\d[a-z]+\d"
_LONGEST_LABEL = 63
# Shorter words that differ in a single letter are often different words (cart, chart); longer ones hardly ever.
_SHORTEST_SWAP, _SHORTEST_EDIT = 4, 5


def is_likely_typo(asked: str, value: str) -> bool:
    """Whether two texts differ by a typo: case, separators, a plural, or a letter wrong, missing, doubled or out of place.

    Names with different numbers or short parts are not typos: ``web-1`` and ``web-2``, ``zone-a`` and ``zone-b`` are different things.
    """
    if asked == value or not asked or not value:
        return False
    one, other = asked.lower(), value.lower()
    if one == other:
        return True
    if re.findall(_DIGITS, one) != re.findall(_DIGITS, other):
        return False
    if _folded(one) == _folded(other):
        return len(_folded(one)) >= _SHORTEST_SWAP
    pairs = list(zip(re.split(_SEPARATORS, one), re.split(_SEPARATORS, other), strict=False))
    if len(re.findall(_SEPARATORS, one)) != len(re.findall(_SEPARATORS, other)):
        return False
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    return len(differing) == 1 and _is_slip_in_word(*differing[0])


def _is_slip_in_word(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST_SWAP or len(long) - len(short) > 1 or one[0] != other[0]:
        return False
    if re.search(_DIGITS_INSIDE, one) or re.search(_DIGITS_INSIDE, other):
        return False
    start = next((index for index, (left, right) in enumerate(zip(short, long, strict=False)) if left != right), len(short))
    if len(short) == len(long):
        if short[start + 2 :] == long[start + 2 :] and short[start : start + 2] == long[start : start + 2][::-1]:
            return True
        return len(short) >= _SHORTEST_EDIT and short[start + 1 :] == long[start + 1 :]
    if short[start:] != long[start + 1 :]:
        return False
    plural = start == len(short) and long[-1] == "s"
    doubled = start > 0 and long[start] == long[start - 1]
    return plural or doubled or len(short) >= _SHORTEST_EDIT


def is_joined(value: str, own: Collection[str]) -> bool:
    """Return whether a value is two of the given ones, joined by a dash, a dot or an underscore."""
    ends = [match.start() for match in re.finditer(r"[-._]", value)] if len(value) <= _LONGEST_LABEL else ()
    return any(value[:end] in own and value[end + 1 :] in own and is_name(value[:end]) and is_name(value[end + 1 :]) for end in ends)


def is_name(value: str) -> bool:
    """Return whether a value of a label can name something: words such as `true` and numbers have many meanings."""
    return len(value) > 1 and value not in ("true", "false", "enabled", "disabled") and re.search("[a-z]{2}", value) is not None


class Slips:
    """An index of words that finds those which differ from a word by a typo. A lookup takes time by the similar words, not by all words."""

    def __init__(self, words: Iterable[str]) -> None:
        # Two words a slip apart are equal once at most one letter of each is left out.
        self._near = grouped((variant, word) for word in words for variant in _variants(word))

    def of(self, asked: str) -> list[str]:
        """Return the words that differ from ``asked`` by a typo, sorted."""
        found = {word for variant in _variants(asked) for word in self._near.get(variant, ())}
        return sorted(word for word in found if is_likely_typo(asked, word))


def _variants(word: str) -> Iterator[str]:
    folded = _folded(word.lower())
    yield folded
    yield from {folded[:index] + folded[index + 1 :] for index in range(len(folded))} - {folded}


def _folded(word: str) -> str:
    return word.translate(_WITHOUT_SEPARATORS)
