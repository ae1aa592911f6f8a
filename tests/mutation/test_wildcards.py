"""Kyverno's wildcards, also in texts that are made to take long."""

from __future__ import annotations

import pytest

from afflint.mutation.undecided import UndecidedError
from afflint.mutation.wildcards import is_match


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("", "", True),
        ("*", "", True),
        ("?", "", False),
        ("?*", "a", True),
        ("a*c", "abbc", True),
        ("a*c", "abbd", False),
        ("*a*b", "xaxbxb", True),
        ("a?c", "abc", True),
        ("[a]*", "ab", False),
        ("*a" * 200 + "b", "a" * 5000, False),
    ],
)
def test_a_pattern(pattern: str, text: str, expected: bool) -> None:
    assert is_match(pattern, text) == expected


def test_very_long_texts_are_undecided() -> None:
    with pytest.raises(UndecidedError):
        is_match("*a" * 5000, "a" * 5000)
