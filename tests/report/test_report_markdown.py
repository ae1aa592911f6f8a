"""Markdown for job summaries and comments: nothing of a manifest is Markdown or HTML there, and it is never too long."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_sample import FINDINGS, NOTHING, finding, rendered, report

from afflint.findings.finding import Edit, Fix, ObjectRef, Related, Span

OURS = re.compile(r"</?code>|<br>|</?sub>|\*(?:Help:|Note:|Fixed by)\*|\*\*error\*\*|&#\d+;")
SYNTAX = set("\\`*_{}[]<>()#+!|~&$^\"'=")


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| ") and line != "| | Where | What | Rule |"]


def cells(row: str) -> list[str]:
    return row.removeprefix("| ").removesuffix(" |").split(" | ")


def test_without_findings_there_is_a_heading_and_the_summary() -> None:
    assert rendered("markdown", report(summary=NOTHING)) == "### afflint: no findings\n\nNo findings. Read 3 documents in 2 files.\n"


def test_quiet_is_without_the_summary() -> None:
    assert rendered("markdown", report(finding(), quiet=True)).endswith("<code>empty-topology-key</code> |\n\n")


def test_errors_come_first_and_each_finding_is_one_row() -> None:
    severities = [cells(row)[0] for row in rows(rendered("markdown", report(*FINDINGS)))]
    assert severities == ["**error**", "**error**", "warning", "warning", "info"]


def test_where_it_is_rendered_is_reported_up_to_a_few_places() -> None:
    text = rendered("markdown", report(finding()._replace(rendered=("a", "b", "c", "<d>", "e"))))
    assert "*Rendered in:* <code>a</code>, <code>b</code>, <code>c</code> and 2 more" in text


def test_what_is_in_backticks_is_code() -> None:
    (row,) = rows(rendered("markdown", report(finding("the value of `ssd` must be a string", help='Quote it: `"true"`.'))))
    assert cells(row)[2] == "the value of <code>ssd</code> must be a string<br>*Help:* Quote it: <code>&#34;true&#34;</code>."


def test_a_backtick_without_its_twin_is_a_backtick() -> None:
    (row,) = rows(rendered("markdown", report(finding("a ` b"))))
    assert cells(row)[2] == "a &#96; b"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a | b", "a &#124; b"),
        ("<img src=x onerror=alert(1)>", "&#60;img src&#61;x onerror&#61;alert&#40;1&#41;&#62;"),
        ("[click](http://evil.example)", "&#91;click&#93;&#40;http:&#8203;//evil.example&#41;"),
        ("www.evil.example", "www&#8203;.evil.example"),
        ("@everyone, look", "@&#8203;everyone, look"),
        ("closes #1", "closes &#35;&#8203;1"),
        ("*bold* _it_ ~~gone~~", "&#42;bold&#42; &#95;it&#95; &#126;&#126;&#8203;gone&#126;&#126;"),
        ("&lt;b&gt;", "&#38;&#8203;lt;b&#38;&#8203;gt;"),
        ("$x$", "&#36;&#8203;x&#36;"),
        ("two\nlines", "two&#92;nlines"),
    ],
)
def test_nothing_calls_links_or_formats(text: str, shown: str) -> None:
    (row,) = rows(rendered("markdown", report(finding(text))))
    assert cells(row)[2] == shown


@settings(max_examples=60)
@given(st.text(st.one_of(st.sampled_from("|<>`*_[]()@#&\n\r\u202e\u2028"), st.characters())))
def test_whatever_a_manifest_says_a_row_stays_one_row_of_four_cells(text: str) -> None:
    ref = ObjectRef(text, text, text, text)
    hostile = finding(
        text, rule=f"rule{text}", help=text, file=f"f{text}", ref=ref, field=text, related=(Related(text, Span(1, 1, 1, 2), text),)
    )
    hostile = hostile._replace(fix=Fix(True, (Edit(Span(1, 1, 1, 2), text),)))
    output = rendered("markdown", report(hostile))
    (row,) = rows(output)
    assert len(cells(row)) == 4
    assert not SYNTAX.intersection(OURS.sub("", "".join(cells(row))))
    assert row.count("<code>") == row.count("</code>")
    assert output.encode()


def test_a_value_that_ends_its_backticks_is_still_no_markdown() -> None:
    (row,) = rows(rendered("markdown", report(finding("the value `a` <b>`x` @team | y"))))
    assert "<b>" not in row
    assert "@&#8203;team &#124; y" in row


def test_it_is_never_longer_than_a_comment_may_be_and_says_how_many_there_are_besides() -> None:
    many = [finding(f"number {number}" + "ü|" * 400, file=f"{number}.yaml") for number in range(5_000)]
    many += [finding("worth a word", file="z.yaml")._replace(severity="info")] * 3
    output = rendered("markdown", report(*many))
    assert 50_000 < len(output.encode()) < 65_536
    shown = len(rows(output))
    assert f"\n**And {5_003 - shown} more: {5_000 - shown} errors, 3 info.**\n" in output
    assert "2 Go-templated files skipped;" in output


def test_a_long_word_is_cut() -> None:
    (row,) = rows(rendered("markdown", report(finding("x" * 5_000))))
    assert cells(row)[2] == "x" * 599 + "…"
