"""The text of a document follows changes, and positions are converted between the units of the editor and afflint."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.findings.finding import Span
from afflint.lsp.text import EditorText, Shift, shifted
from afflint.lsp.uris import to_path, to_uri

ALPHABET = st.text(st.sampled_from("aé€🦊\n\r \u2028\ufeff"), max_size=12)
ENCODED = {"utf-8": lambda text: len(text.encode()), "utf-16": lambda text: len(text.encode("utf-16-le")) // 2, "utf-32": len}


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)


@given(ALPHABET, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), ALPHABET), max_size=5), st.sampled_from([*ENCODED]))
def test_changes_have_the_same_effect_as_on_a_string(start: str, changes: list[tuple[int, int, str]], encoding: str) -> None:
    expected, text = start, EditorText(start, encoding)
    for one, other, new in changes:
        first, last = (min(each, len(expected)) for each in sorted((one, other)))
        # An editor has no place between the two characters of a line break.
        first, last = (each - (expected[max(each - 1, 0) : each + 1] == "\r\n") for each in (first, last))
        text.change([{"range": {"start": to_lsp(expected, first, encoding), "end": to_lsp(expected, last, encoding)}, "text": new}])
        expected = expected[:first] + new + expected[last:]
        assert str(text) == expected
        assert [text.line(number) for number in range(text.line_count)] == lines_of(expected)


def to_lsp(text: str, index: int, encoding: str) -> dict[str, int]:
    lines = lines_of(text[:index])
    return {"line": len(lines) - 1, "character": ENCODED[encoding](lines[-1])}


@given(ALPHABET, st.integers(0, 40), st.sampled_from([*ENCODED]))
def test_a_place_survives_a_round_trip(written: str, index: int, encoding: str) -> None:
    index = min(index, len(written))
    index -= written[max(index - 1, 0) : index + 1] == "\r\n"
    text, asked = EditorText(written, encoding), to_lsp(written, index, encoding)
    place = text.from_lsp(asked)
    assert place == (asked["line"], len(lines_of(written[:index])[-1]))
    assert text.to_lsp(place) == asked


def test_a_position_after_the_end_is_the_end() -> None:
    text = EditorText("one\ntwo\n", "utf-16")
    assert text.from_lsp({"line": 0, "character": 99}) == (0, 3)
    assert text.from_lsp({"line": 9, "character": 9}) == (2, 0)
    with pytest.raises(ValueError, match="must be integers"):
        text.from_lsp({"line": -1, "character": 0})


@pytest.mark.parametrize(
    "change, expected",
    [
        (((0, 0), (0, 0), "new\n"), Span(4, 3, 4, 6)),  # a line above
        (((2, 0), (2, 0), "xx"), Span(3, 5, 3, 8)),  # before it on its line
        (((2, 4), (2, 4), "xx"), Span(3, 3, 3, 8)),  # inside it
        (((3, 0), (3, 0), "new\n"), Span(3, 3, 3, 6)),  # below
        (((1, 0), (2, 0), ""), Span(2, 3, 2, 6)),  # the line above goes
        (((0, 0), (4, 0), ""), Span(1, 1, 1, 1)),  # all of it goes
    ],
)
def test_a_finding_moves_with_its_text(change: tuple[tuple[int, int], tuple[int, int], str], expected: Span) -> None:
    text = EditorText("one\ntwo\n  bad\nfour\n", "utf-16")
    assert shifted(Span(3, 3, 3, 6), [text.replace(*change)], text) == expected


def test_a_place_in_replaced_text_moves_to_its_start() -> None:
    assert Shift((1, 2), (3, 4), (1, 5)).move((2, 0)) == (1, 2)
    assert Shift((1, 2), (3, 4), (1, 5)).move((3, 6)) == (1, 7)


@pytest.mark.parametrize("path", ["/srv/a b/ü.yaml", "/srv/100%/#.yaml", "/srv/a+b/c?.yaml", "/srv/🦊.yaml"])
def test_a_file_and_its_name_in_the_protocol(path: str) -> None:
    assert to_path(to_uri(path)) == path
    assert to_uri(path).isascii()


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "git:/a/b", "http://example.com/a", "file:", "file://[", ""])
def test_other_uris_have_no_path(uri: str) -> None:
    assert to_path(uri) is None
