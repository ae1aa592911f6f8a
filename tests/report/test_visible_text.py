"""Nothing out of a manifest reaches a terminal or a report unescaped."""

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_sample import finding, rendered, report

from afflint.findings.finding import Edit, Fix, ObjectRef, Related, Span
from afflint.findings.phrases import visible
from afflint.report import FORMATS, Report

CONTROLS = ["\x1b[2J", "\r", "\n", "\t", "\x85", "\x00"]
INVISIBLE = ["\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\u2028", "\ud800", "\udfff", "\ufffe"]
HOSTILE = [*CONTROLS, *INVISIBLE, "]]>"]
anything = st.lists(st.one_of(st.characters(), st.sampled_from(HOSTILE))).map("".join)
quick = settings(max_examples=60)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("web", "web"),
        ("Müller 日本 e\u0301 😀", "Müller 日本 e\u0301 😀"),
        ("C:\\manifests", "C:\\manifests"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x00\x1b[31m\x7f\x9b", r"\x00\x1b[31m\x7f\x9b"),
        ("\u202a\u202e\u2066\u2069\u200e\u200f\u061c", r"\u202a\u202e\u2066\u2069\u200e\u200f\u061c"),
        ("\u200b\u200d\ufeff\u2060\xad", r"\u200b\u200d\ufeff\u2060\xad"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("a\xa0b\u3000c", r"a\xa0b\u3000c"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_is_not_plainly_printable_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@quick
@given(anything)
def test_what_is_shown_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert shown == visible(shown)
    assert len(shown.splitlines()) <= 1
    assert shown.encode("utf-8").decode("utf-8") == shown


def hostile_report(text: str) -> Report:
    """One finding that holds ``text`` wherever text can be, in a file that holds it as well."""
    span = Span(1, 1, 1, len(text) + 2)
    related = (Related(text, span, text),)
    ref = ObjectRef(text, text, text, text)
    hostile = finding(text, rule=f"rule{text}", help=text, file=f"f{text}", span=span, ref=ref, field=text, related=related)
    hostile = hostile._replace(fix=Fix(True, (Edit(span, text),)))
    return report(hostile, sources={f"f{text}": f"k{text}", text: text}, verbose=True)


@pytest.mark.parametrize("name", FORMATS)
@quick
@given(text=anything)
def test_every_format_can_be_encoded_whatever_the_manifest_holds(name: str, text: str) -> None:
    output = rendered(name, hostile_report(text))
    assert output.encode("utf-8").decode("utf-8") == output
    assert output.endswith("\n")
    assert all(line.isprintable() for line in output.split("\n"))


@quick
@given(anything)
def test_a_finding_is_one_line_of_the_concise_and_github_formats(text: str) -> None:
    for name in ("concise", "github"):
        assert len(rendered(name, hostile_report(text)).splitlines()) == 1


@quick
@given(anything)
def test_text_has_as_many_lines_for_a_hostile_finding_as_for_a_harmless_one(text: str) -> None:
    unbroken = text.replace("\n", "\\n").replace("\r", "\\r")  # in the source, these two do end a line
    harmless = rendered("text", hostile_report("x"))
    assert len(rendered("text", hostile_report("x" + unbroken)).splitlines()) == len(harmless.splitlines())


@quick
@given(anything)
def test_json_keeps_every_string_exactly(text: str) -> None:
    output = rendered("json", hostile_report(text))
    assert output.isascii()
    (read,) = json.loads(output)["findings"]
    # JSON writes one character beyond U+FFFF as two halves, so that two halves in a row come back as one character.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert read["message"] == read["help"] == read["field"] == joined
    assert read["fix"]["edits"][0]["text"] == joined


@quick
@given(anything)
def test_xml_can_be_parsed_and_says_what_the_message_says(text: str) -> None:
    root = ElementTree.fromstring(rendered("junit", hostile_report(text)))
    assert [failure.get("message") for failure in root.iter("failure")] == [visible(text)]
