"""Phrases of messages: values in backticks on one line, suggestions, lists of words."""

from typing import Any

import pytest

from afflint.findings.phrases import did_you_mean, join_words, nearest, quoted, summarize_names


@pytest.mark.parametrize(
    "value, text",
    [
        ("web", "`web`"),
        ("", '`""`'),
        (None, "`null`"),
        (True, "`true`"),
        (7, "`7`"),
        (1000.0, "`1000`"),
        (0.5, "`0.5`"),
        (1e300, "`1e+300`"),
        ("a\nb", r"`a\nb`"),
        ("\x1b[31m", r"`\x1b[31m`"),
        ("node\u00a0Selector", r"`node\xa0Selector`"),
        ("grün", "`grün`"),
        ("x" * 60, f"`{'x' * 60}`"),
        ("x" * 61, f"`{'x' * 59}…`"),
    ],
)
def test_a_value_is_shown_on_one_line(value: Any, text: str) -> None:
    assert quoted(value) == text


@pytest.mark.parametrize(
    "word, meant",
    [
        ("nodeselector", "nodeSelector"),
        ("node_selector", "nodeSelector"),
        ("nodeSelectors", "nodeSelector"),
        ("kye", "key"),
        ("operater", "operator"),
        ("Opertor", "operator"),
        ("tolerations", None),
        ("", None),
    ],
)
def test_the_known_word_that_was_probably_meant(word: str, meant: str | None) -> None:
    assert nearest(word, ("key", "operator", "nodeSelector")) == meant


def test_questions_and_lists() -> None:
    assert did_you_mean("key") == "; did you mean `key`?"
    assert did_you_mean(None) == ""
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b", "c"], "or") == "a, b or c"


@pytest.mark.parametrize(
    "number, text",
    [(1, "a"), (2, "a and b"), (3, "a, b and c"), (4, "a, b, c and 1 more"), (6, "a, b, c and 3 more")],
)
def test_only_the_first_of_many_names_are_listed(number: int, text: str) -> None:
    assert summarize_names("abcdef"[:number], most=3) == text
