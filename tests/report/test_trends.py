"""Trends in reports: the chart has its numbers next to it, names from reports stay text, and nothing is counted that is not known."""

import re

import pytest
from html_page import Page
from standing_sample import STANDING, TRENDS, point, rendered

from afflint.report.policies import markdown, page, text
from afflint.report.trends.model import Trend, heads, rows, summary, tables
from afflint.report.trends.page import line_chart

FINDINGS, VIOLATIONS = TRENDS
ALONE = STANDING._replace(policies=(), workloads=0, trends=(FINDINGS,))
EVIL = ("</svg><script>alert(1)</script>", "\"onload='x' <b>", "\u202e\x1b[2J", "| a | b |\n", "@someone ![x](http://x)")


def test_a_sentence_says_what_the_last_report_changed() -> None:
    assert summary(FINDINGS) == "3 findings on 2026-11-20 01:30: 1 new and 7 fixed since 2026-10-01; 8 on 2026-09-01."
    assert summary(VIOLATIONS) == "2 violations on 2026-11-22."


def test_the_chart_has_a_title_a_description_and_a_table_with_its_numbers() -> None:
    text = rendered("trends.html")
    assert '<svg class="chart" viewBox="0 0 360 180" role="img" aria-labelledby="ft fd">' in text
    assert '<title id="ft">Findings over time</title>' in text
    assert '<desc id="fd">8 on 2026-09-01, 3 on 2026-11-20 01:30; at most 9, on 2026-10-01.</desc>' in text
    table = [re.findall(r">([^<>]+)</t[hd]>", row) for row in re.findall(r"<tr><th scope=\"row\" title=.*?</tr>", text)]
    assert table[:3] == [
        ["2026-11-20 01:30", "3", "2", "1", "1", "7", "40", "0"],
        ["2026-10-01", "9", "7", "2", "3", "2", "40", "3"],
        ["2026-09-01", "8", "8", "0", "-", "-", "40", "0"],
    ]


def test_points_are_as_far_apart_as_their_days_and_as_high_as_their_numbers() -> None:
    chart = "".join(line_chart("f", "t", "d", ["2026-01-01", "2026-01-02", "2026-01-11"], {"total": [0, 10, 5]}))
    assert 'points="34,158 65.8,8 352,83"' in chart
    # Reports of one minute are apart.
    assert 'points="34,158 352,8"' in "".join(line_chart("f", "t", "d", ["2026-01-01"] * 2, {"total": [0, 1]}))


def test_a_single_report_has_no_line() -> None:
    text = "".join(page.render(ALONE._replace(trends=(VIOLATIONS,))))
    assert "Policy violations over time" in text
    assert "<svg" not in text


def test_lines_differ_by_more_than_their_colour() -> None:
    text = rendered("trends.html")
    styles = dict(re.findall(r"^\.line\.(\w+) \{ (.*) \}$", text, re.MULTILINE))
    assert len({re.sub(r"stroke: [^;]*;", "", style) for style in styles.values()}) == 3
    assert re.findall(r'<svg class="sample".*?</svg> ([\w ]+)</span>', text) == ["all findings", "errors", "warnings"]


def test_what_was_not_checked_has_a_column_only_where_there_is_any() -> None:
    assert heads(FINDINGS)[-1] == "not checked"
    assert heads(VIOLATIONS) == ["date", "violations", "new", "fixed", "workloads"]


def test_groups_are_sorted_by_their_last_number_and_need_another_one() -> None:
    assert [(row.name, row.numbers, row.change) for row in rows(FINDINGS, "owner")] == [
        ("storefront", (5, 8, 3), -5),
        ("ledger", (2, 0, 0), 0),
        ("", (1, 1, 0), -1),
    ]
    assert rows(VIOLATIONS, "rule") == []


def test_a_group_has_its_first_previous_and_last_number_and_the_change() -> None:
    def table(reports: int) -> list[list[str]]:
        shorter = FINDINGS._replace(points=FINDINGS.points[-reports:])
        (_, _, (heads, rows, _)) = tables(shorter)
        return [heads, rows[0]]

    assert table(3) == [["owner", "2026-09-01", "2026-10-01", "2026-11-20 01:30", "change"], ["storefront", "5", "8", "3", "-5"]]
    assert table(2) == [["owner", "2026-10-01", "2026-11-20 01:30", "change"], ["storefront", "8", "3", "-5"]]


def test_of_groups_with_one_last_number_that_with_the_highest_earlier_one_comes_first() -> None:
    days = [point(f"2026-01-0{day}", counts, {}, errors=0) for day, counts in ((1, {"a": 1, "b": 9}), (2, {"a": 4, "b": 1}), (3, {}))]
    assert [row.name for row in rows(Trend("findings", tuple(days)), "rule")] == ["b", "a"]


def test_without_policies_the_report_is_about_trends_only() -> None:
    assert "".join(text.render(ALONE)).startswith("Findings over time: 3 findings on 2026-11-20 01:30")
    whole = Page("".join(page.render(ALONE)))
    assert whole.text.startswith("afflint: 3 findings on 2026-11-20 01:30 Skip to the results 3 findings on 2026-11-20 01:30")
    assert [attributes for tag, attributes in whole.tags if tag == "section" and "hidden" in attributes] == [
        {"aria-labelledby": "policies", "hidden": None},
        {"aria-labelledby": "todo", "hidden": None},
    ]


def test_a_long_history_shows_the_newest_reports() -> None:
    many = Trend("findings", tuple(point(f"2026-01-{day:02}", {"a": day, "b": 1}, {}, errors=1) for day in range(1, 29)))
    rendered_text = "".join(text.render(ALONE._replace(trends=(many,))))
    assert "2026-01-28" in rendered_text
    assert "2026-01-16 " not in rendered_text.partition("rule")[0]
    assert "  and 16 earlier (`-v` shows all)\n" in rendered_text
    assert "2026-01-16 " in "".join(text.render(ALONE._replace(trends=(many,)), verbose=True))


@pytest.mark.parametrize("word", EVIL)
def test_names_from_reports_stay_text(word: str) -> None:
    def trend(name: str) -> Trend:
        changed = FINDINGS.new[0]._replace(rule=name, message=name, file=name)
        points = tuple(each._replace(file=name, counts={"rule": {name: 1, "b": 1}, "owner": {name: 1, "c": 1}}) for each in FINDINGS.points)
        return FINDINGS._replace(points=points, new=(changed,), fixed=(changed,))

    evil, harmless = (ALONE._replace(trends=(trend(name),)) for name in (word, "harmless"))
    tags = [[(tag, sorted(attributes)) for tag, attributes in Page("".join(page.render(each))).tags] for each in (evil, harmless)]
    assert tags[0] == tags[1]
    rendered_text = "".join(text.render(evil))
    assert all(char == "\n" or char.isprintable() for char in rendered_text)
    assert rendered_text.count("\n") == "".join(text.render(harmless)).count("\n")
    marked = "".join(markdown.render(evil))
    assert marked.count("\n") == "".join(markdown.render(harmless)).count("\n")
    assert not re.search(r"<script|!\[|^[^<]*@", marked)
