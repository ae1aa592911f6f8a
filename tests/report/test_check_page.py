"""The page of findings: one file, complete without a script, in which text from manifests stays text."""

import base64
import hashlib
import re

import pytest
from html_page import Page
from report_sample import FINDINGS, NOTHING, finding, rendered, report

from afflint.findings.finding import Edit, Finding, Fix, ObjectRef, Related, Span
from afflint.report import Report
from afflint.report.html_page import PageMetadata

EVIL = (
    "</script><script>alert(1)</script>",
    "\"onload='x' <b>",
    "\u202e\x1b[2J",
    "</style><img src=x>",
    "$title ${style} &amp;",
    "#rule=x",
)


def page(given: Report) -> str:
    return rendered("html", given)


def changed(text: str, *edits: Edit, safe: bool = True) -> str:
    """What the page shows of a fix: a line for each line, without the numbers."""
    found = finding(file="a.yaml", span=edits[0].span)._replace(fix=Fix(safe, edits))
    blocks = re.findall(r'<pre class="source diff">(.*?)</pre>', page(report(found, sources={"a.yaml": text})), re.DOTALL)
    lines = re.findall(r'<span class="line[^"]*"><i>\d*</i>(.*?)</span>', "|".join(blocks))
    return "\n".join(lines)


def hostile(text: str) -> Report:
    ref = ObjectRef(text, text, text, text)
    related = (Related(f"r{text}", Span(1, 1, 1, 3), text),)
    found = finding(text, rule=f"rule{text}", help=text, file=f"f{text}", span=Span(1, 1, 1, 4), ref=ref, field=text, related=related)
    found = found._replace(fix=Fix(True, (Edit(Span(1, 1, 1, 2), text),)))
    sources = {f"f{text}": f"key: {text}\n", f"r{text}": f"{text}{text}\n"}
    return report(found, sources=sources)._replace(made=PageMetadata("2026-11-22 02:40 UTC", f"afflint check '{text}'"))


def test_the_page_is_whole_and_links_lead_somewhere() -> None:
    found = Page(page(report(*FINDINGS)))
    ids = found.having("id")
    assert len(ids) == len(set(ids))
    assert {link for link in found.having("href") if link.removeprefix("#") not in ids} == set()


def test_the_page_needs_nothing_but_itself() -> None:
    text = page(report(*FINDINGS))
    found = Page(text)
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "form", "base", "svg"}
    assert [attributes for tag, attributes in found.tags if tag == "script"] == [{}]
    assert not found.having("src") + found.having("style") + found.having("action")
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    assert not re.search(r"url\(|@import|https?://", text)


def test_the_policy_lets_in_the_one_style_and_the_one_script_and_nothing_else() -> None:
    text = page(report(*FINDINGS))
    style, script = (
        base64.b64encode(hashlib.sha256(re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0].encode()).digest()).decode()
        for tag in ("style", "script")
    )
    policy = next(attributes["content"] for _, attributes in Page(text).tags if "http-equiv" in attributes)
    assert policy == f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize("text", EVIL)
def test_nothing_of_a_manifest_gets_out_of_its_place(text: str) -> None:
    """The tags are those of a report with harmless words, and what the words say is there to be read."""
    evil, harmless = page(hostile(text)), page(hostile("harmless"))
    assert [(tag, sorted(attributes)) for tag, attributes in Page(evil).tags] == [
        (tag, sorted(attributes)) for tag, attributes in Page(harmless).tags
    ]
    assert re.findall("<style>.*</style>", evil, re.DOTALL) == re.findall("<style>.*</style>", harmless, re.DOTALL)
    assert all(char == "\n" or char.isprintable() for char in evil)
    assert evil.encode()


def test_a_hostile_word_is_shown_as_it_is_written() -> None:
    assert EVIL[0] in Page(page(hostile(EVIL[0]))).text
    assert EVIL[4] in Page(page(hostile(EVIL[4]))).text
    assert r"\u202e\x1b[2J" in Page(page(hostile(EVIL[2]))).text


def test_it_says_what_a_finding_is_where_and_what_to_do() -> None:
    text = Page(page(report(*FINDINGS))).text
    assert 'error topologyKey is empty: "" names no node label line 15' in text
    assert "Deployment web in namespace shop · spec.template.spec.affinity.podAntiAffinity" in text
    assert "Name the node label that distinguishes the domains, such as kubernetes.io/hostname." in text
    assert "Service web selects it: deploy/service.yaml:5" in text


def test_what_was_found_is_marked_in_its_source_with_two_lines_around() -> None:
    source = "a: 1\nb: 2\nc:\n  d: here\ne: 3\nf: 4\ng: 5\n"
    text = page(report(finding(file="a.yaml", span=Span(4, 6, 4, 10)), sources={"a.yaml": source}))
    (shown,) = re.findall(r'<pre class="source">(.*?)</pre>', text, re.DOTALL)
    assert re.findall(r"<i>(\d*)</i>(.*?)</span>", shown) == [
        ("2", "b: 2"),
        ("3", "c:"),
        ("4", "  d: <mark>here</mark>"),
        ("5", "e: 3"),
        ("6", "f: 4"),
    ]


def test_of_a_wide_line_what_is_around_the_finding_is_shown() -> None:
    line = f'{{"padding": "{"x" * 5000}", "here": 1, "more": "{"y" * 5000}"}}'
    start = line.index('"here"') + 1
    text = page(report(finding(file="a.json", span=Span(1, start, 1, start + 6)), sources={"a.json": line}))
    (shown,) = re.findall(r'<pre class="source">(.*?)</pre>', text, re.DOTALL)
    assert "<mark>&quot;here&quot;</mark>" in shown
    assert len(Page(f"<pre>{shown}</pre>").text) < 200


def test_of_a_tall_stretch_the_first_lines_are_shown() -> None:
    source = "".join(f"- {number}\n" for number in range(100))
    text = page(report(finding(file="a.yaml", span=Span(2, 1, 90, 1)), sources={"a.yaml": source}))
    assert "and 76 more lines" in text
    assert "<mark>- 12</mark>" in text
    assert "<mark>- 13</mark>" not in text


def test_a_file_that_has_changed_meanwhile_has_no_source_to_show() -> None:
    found = finding(file="a.yaml", span=Span(40, 1, 40, 5))._replace(fix=Fix(True, (Edit(Span(40, 1, 40, 5), "x"),)))
    assert '<pre class="source' not in page(report(found, sources={"a.yaml": "a: 1\n"}))


def test_a_fix_is_a_diff() -> None:
    text = "a: 1\nb: 2\nssd: true\nd: 4\ne: 5\nf: 6\n"
    assert changed(text, Edit(Span(3, 6, 3, 10), '"true"')) == ("  a: 1\n  b: 2\n- ssd: true\n+ ssd: &quot;true&quot;\n  d: 4\n  e: 5")


def test_a_fix_in_two_places_that_are_far_apart_is_two_changes() -> None:
    text = "".join(f"{letter}: 1\n" for letter in "abcdefghijkl")
    assert changed(text, Edit(Span(11, 4, 11, 5), "2"), Edit(Span(1, 4, 1, 5), "2")) == (
        "- a: 1\n+ a: 2\n  b: 1\n  c: 1\n  i: 1\n  j: 1\n- k: 1\n+ k: 2\n  l: 1\n  "
    )


def test_a_fix_that_moves_lines_shows_where_they_go() -> None:
    text = "spec:\n  affinity: {}\n  template:\n    spec:\n      x: 1\n"
    moved = (Edit(Span(2, 1, 3, 1), ""), Edit(Span(5, 1, 5, 1), "      affinity: {}\r\n"))
    assert changed(text, *moved) == "  spec:\n-   affinity: {}\n    template:\n      spec:\n+       affinity: {}\n        x: 1\n  "


def test_of_a_wide_line_that_is_fixed_what_changes_is_shown() -> None:
    line = f'{{"padding": "{"x" * 5000}", "ssd": true, "more": "{"y" * 5000}"}}'
    start = line.index("true") + 1
    shown = changed(line, Edit(Span(1, start, 1, start + 4), '"true"'))
    gone, come = shown.splitlines()
    assert "&quot;ssd&quot;: true, " in gone
    assert "&quot;ssd&quot;: &quot;true&quot;, " in come
    assert len(shown) < 900


def test_an_unsafe_fix_says_so() -> None:
    found = finding(file="a.yaml")._replace(fix=Fix(False, (Edit(Span(1, 1, 1, 2), "b"),)))
    assert (
        "--fix --unsafe-fixes fixes it and may change the meaning of the manifest"
        in Page(page(report(found, sources={"a.yaml": "a"}))).text
    )


def test_findings_are_listed_by_rule_and_counted_by_folder() -> None:
    warning = finding(rule="label-not-on-template", file="b/c/z.yaml")._replace(severity="warning")
    found = [finding(file="b/x.yaml"), finding(file="top.yaml"), warning]
    text = page(report(*found))
    rules = re.findall(r'<details class="rule" data-rule="([^"]*)".*?<span class="number">(\d+)</span>', text, re.DOTALL)
    assert rules == [("empty-topology-key", "2"), ("label-not-on-template", "1")]
    folders = re.findall(r'<tr><th scope="row"><a href="[^"]*"><code>([^<]*)</code></a></th>(.*?)</tr>', text)
    assert folders == [
        (".", "<td>1</td><td></td><td></td>"),
        ("b", "<td>1</td><td></td><td></td>"),
        ("b/c", "<td></td><td>1</td><td></td>"),
    ]


def test_folders_are_named_by_what_they_do_not_have_in_common() -> None:
    text = page(report(finding(file="/srv/apps/a/x.yaml"), finding(file="/srv/apps/b/c/x.yaml"), finding(file="/srv/apps/x.yaml")))
    assert re.findall(r'<tr><th scope="row"><a href="[^"]*"><code>([^<]*)</code>', text) == ["/srv/apps", "a", "b/c"]


def many(number: int) -> list[Finding]:
    """Errors in some folders; warnings and hints in others, which are left out where there are very many."""
    severities = ("info", "warning", "error")
    files = [f"{each % 50 if each % 3 == 2 else 50 + each % 90}/a.yaml" for each in range(number)]
    return [finding(f"number {each}", file=file)._replace(severity=severities[each % 3]) for each, file in enumerate(files)]


def test_of_very_many_findings_the_errors_have_their_source_and_the_page_stays_small() -> None:
    text = page(report(*sorted(many(20_000), key=lambda each: each.file), sources={f"{each}/a.yaml": "a" * 5_000 for each in range(50)}))
    full = re.findall(r'<details class="finding" [^>]*data-severity="(\w+)"', text)
    assert (len(full), set(full)) == (1_000, {"error"})
    assert len(re.findall(r'<div class="finding"', text)) == 4_000
    assert "1000 of 20000 findings are shown with their source, 4000 as a line, the others are left out;" in text
    assert len(text.encode()) < 4_000_000
    found = Page(text)
    targets = {f"#{each}" for each in found.having("id")}
    assert set(found.having("href")) <= targets


def test_without_findings_it_says_so() -> None:
    text = page(report(summary=NOTHING))
    assert "no findings" in Page(text).text
    assert "<div hidden>" in text
