"""The lines of a finding, and the carets under it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_sample import finding, rendered, report

from afflint.findings.finding import Span
from afflint.report.phrases import columns
from afflint.report.snippet import WIDTH, Sources, snippet


def shown(source: str, span: Span) -> str:
    """The snippet as the text report draws it, without the lines around it."""
    output = rendered("text", report(finding(span=span), sources={"a.yaml": source}, quiet=True))
    return "\n".join(output.split("\n")[3:-1])


def test_carets_are_under_the_span() -> None:
    assert shown("kind: Pod\nspec: {}\n", Span(2, 7, 2, 9)) == (
        "2 | spec: {}\n"
        "  |       ^^"
    )  # fmt: skip


def test_an_empty_span_has_one_caret_even_at_the_end_of_the_line() -> None:
    assert shown("key:", Span(1, 5, 1, 5)) == (
        "1 | key:\n"
        "  |     ^"
    )  # fmt: skip


def test_a_tab_is_four_columns_wide() -> None:
    assert shown("a:\tb\t", Span(1, 4, 1, 5)) == (
        "1 | a:    b\n"
        "  |       ^"
    )  # fmt: skip


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert shown("日本: e\u0301x", Span(1, 5, 1, 8)) == (
        "1 | 日本: e\u0301x\n"
        "  |       ^^"
    )  # fmt: skip


def test_carets_count_the_escapes_of_what_cannot_be_shown() -> None:
    assert shown("k: \u202ex\x1b", Span(1, 4, 1, 6)) == (
        "1 | k: \\u202ex\\x1b\n"
        "  |    ^^^^^^^"
    )  # fmt: skip


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_line_break_of_editors_counts(line_break: str) -> None:
    assert shown(line_break.join(["one", "tw\x0co", "three"]), Span(3, 1, 3, 6)).startswith("3 | three\n")


def test_a_block_has_a_rail_beside_it() -> None:
    source = "spec:\n  affinity:\n    a: 1\n    b: 2\n  next: 1\n"
    assert shown(source, Span(2, 3, 4, 9)) == (
        "2 | /   affinity:\n"
        "3 | |     a: 1\n"
        "4 | |     b: 2\n"
        "  | |________^"
    )  # fmt: skip


def test_the_rail_starts_under_the_key_when_something_is_before_the_block() -> None:
    assert shown("a: {b: 1,\n    c: 2}\n", Span(1, 4, 2, 10)) == (
        "1 |   a: {b: 1,\n"
        "  |  ____^\n"
        "2 | |     c: 2}\n"
        "  | |_________^"
    )  # fmt: skip


def test_a_block_that_ends_where_the_next_token_starts_is_shown_to_its_own_end() -> None:
    source = "spec:\n  affinity:\n    a: 1\n\n  next: 1\n"
    assert shown(source, Span(2, 3, 5, 3)) == (
        "2 | /   affinity:\n"
        "3 | |     a: 1\n"
        "  | |________^"
    )  # fmt: skip


def test_the_middle_of_a_tall_block_is_left_out() -> None:
    source = "".join(f"k{number}: 1\n" for number in range(20))
    assert shown(source, Span(9, 1, 15, 7)) == (
        " 9 | / k8: 1\n"
        "10 | | k9: 1\n"
        "11 | | k10: 1\n"
        "   | | ...\n"
        "15 | | k14: 1\n"
        "   | |______^"
    )  # fmt: skip


def test_a_long_line_is_cut_around_the_caret() -> None:
    (source, marks) = shown("x" * 5000 + "HERE" + "y" * 5000, Span(1, 5001, 1, 5005)).split("\n")
    assert source == "1 | ..." + "x" * 50 + "HERE" + "y" * 46 + "..."
    assert source[marks.index("^") : marks.rindex("^") + 1] == "HERE"


def test_a_line_that_fits_is_not_cut_wherever_the_caret_is() -> None:
    line = "a" * (WIDTH - 1) + "b"
    for column in (1, 40, 60, WIDTH):
        assert shown(line, Span(1, column, 1, column + 1)).split("\n")[0] == f"1 | {line}"


def test_a_file_that_has_shrunk_or_gone_gives_no_snippet() -> None:
    for sources in ({"a.yaml": "only\n"}, {"a.yaml": ""}, {}):
        output = rendered("text", report(finding(span=Span(7, 3, 7, 5)), sources=sources, quiet=True))
        assert output == "error[empty-topology-key]: topologyKey is empty\n --> a.yaml:7:3\n"


position = st.integers(1, 12)


@settings(max_examples=200)
@given(st.lists(st.text(st.sampled_from("ab \t日\u0301\u202e\ud800")), max_size=9), position, position, position, position)
def test_any_span_over_any_lines_gives_rows_that_fit(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> None:
    start, end = sorted([(line, column), (end_line, end_column)])
    rows = snippet(lines, Span(*start, *end))
    assert bool(rows) == (line_of_start_exists := start[0] <= len(lines))
    assert sum("^" in row.marks for row in rows) in ((1, 2) if line_of_start_exists else (0,))
    assert all(columns(row.marks + row.text) <= WIDTH + 10 for row in rows)
    assert all((row.marks + row.text).isprintable() for row in rows)


@settings(max_examples=100)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=300), st.data())
def test_the_carets_are_under_what_the_span_covers(line: str, data: st.DataObject) -> None:
    column = data.draw(st.integers(1, len(line)))
    end = data.draw(st.integers(column + 1, min(len(line), column + 40) + 1))
    source, marks = snippet([line], Span(1, column, 1, end))
    assert source.text[marks.marks.index("^") : len(marks.marks)] == line[column - 1 : end - 1]


def test_files_are_read_once_while_their_findings_pass_and_let_go_later() -> None:
    reads: list[int] = []

    def read(file: int) -> str:
        reads.append(file)
        return "x" * 3_000_000

    sources = Sources(read)
    for file in (1, 2, 1, 2, 3, 2, 3, 1):
        assert len(sources.lines(file)) == 1
    assert reads == [1, 2, 3, 1]
