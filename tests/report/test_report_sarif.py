"""SARIF: the published schema, and what it does not say."""

import json
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_sample import FINDINGS, RULES, finding, rendered, report

from afflint.findings.finding import Finding, Related, Span
from afflint.report.paths import slashed, uri

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "reference" / "sarif-schema-2.1.0.json"


def run_of(*findings: Finding) -> dict:
    (run,) = json.loads(rendered("sarif", report(*findings)))["runs"]
    return run


def message_of(message: str) -> str:
    return run_of(finding(message))["results"][0]["message"]["text"]


@pytest.fixture(scope="module")
def published() -> jsonschema.protocols.Validator:
    if not PUBLISHED.exists():
        pytest.skip("the published SARIF schema is not beside this checkout")
    return jsonschema.Draft4Validator(json.loads(PUBLISHED.read_text("utf-8")))


@pytest.mark.parametrize("findings", [(), FINDINGS], ids=["nothing", "findings"])
def test_the_report_follows_the_published_schema(findings: tuple, published: jsonschema.protocols.Validator) -> None:
    assert [error.message for error in published.iter_errors(json.loads(rendered("sarif", report(*findings))))] == []


def test_related_places_that_look_the_same_are_given_once(published: jsonschema.protocols.Validator) -> None:
    place = Span(1, 1, 1, 2)
    related = (Related("a", place, "\x1b"), Related("a", place, "\\x1b"), Related("a", place, "other"))
    written = finding(related=related)
    assert [location["message"]["text"] for location in run_of(written)["results"][0]["relatedLocations"]] == ["\\x1b", "other"]
    published.validate(json.loads(rendered("sarif", report(written))))


def test_a_result_points_at_its_rule() -> None:
    run = run_of(*FINDINGS)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.name for rule in RULES]
    known = [result for result in run["results"] if "ruleIndex" in result]
    assert len(known) == 3
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in known)


def test_only_rules_with_findings_are_described() -> None:
    """All pages together are a quarter of a megabyte."""
    assert run_of()["tool"]["driver"]["rules"] == []
    assert [rule["id"] for rule in run_of(finding(rule=RULES[1].name))["tool"]["driver"]["rules"]] == [RULES[1].name]


def test_a_finding_of_a_rule_without_a_page_has_no_index() -> None:
    (result,) = run_of(finding(rule="our-own-policy"))["results"]
    assert result["ruleId"] == "our-own-policy"
    assert "ruleIndex" not in result


def test_a_rule_is_described_by_its_page() -> None:
    (rule,) = run_of(finding(rule=RULES[0].name))["tool"]["driver"]["rules"]
    assert rule["shortDescription"] == {"text": "A term of pod (anti-)affinity has no topology key."}
    assert rule["fullDescription"] == {"text": "The API server refuses it: a term without a key spans nothing."}
    assert rule["help"] == {"text": "Name the node label that distinguishes the domains.", "markdown": RULES[0].page}
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["properties"] == {"category": "admission", "tags": ["kubernetes", "admission"]}


def test_info_is_a_note() -> None:
    assert [result["level"] for result in run_of(*FINDINGS)["results"]] == ["note", "warning", "error", "warning", "error"]


def test_regions_count_code_points_and_end_one_past_the_last() -> None:
    run = run_of(finding(span=Span(2, 3, 4, 5)))
    assert run["columnKind"] == "unicodeCodePoints"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 3, "endLine": 4, "endColumn": 5}


def test_names_out_of_manifests_are_neither_placeholders_nor_links() -> None:
    assert message_of("{0} and {} and {a: 1}") == "{{0}} and {} and {a: 1}"
    assert message_of("containers[0] is [here](https://example.com)") == "containers[0] is [here] (https://example.com)"


def test_a_finding_without_object_and_field_has_no_logical_location() -> None:
    assert "logicalLocations" not in run_of(finding())["results"][0]["locations"][0]


def test_a_lone_surrogate_in_a_fix_or_a_page_cannot_spoil_the_report() -> None:
    hostile = FINDINGS[2]
    edit = hostile.fix.edits[0]._replace(text="\ud800")
    (result,) = run_of(hostile._replace(fix=hostile.fix._replace(edits=(edit,))))["results"]
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": "\\ud800"}


@pytest.mark.parametrize(
    "file, expected",
    [
        ("deploy/web.yaml", "deploy/web.yaml"),
        ("./deploy/web.yaml", "deploy/web.yaml"),
        ("../other/web.yaml", "../other/web.yaml"),
        ("with space.yaml", "with%20space.yaml"),
        ("a#b?c.yaml", "a%23b%3Fc.yaml"),
        ("100%25.yaml", "100%2525.yaml"),
        ("file:x.yaml", "file%3Ax.yaml"),
        ("ü/日.yaml", "%C3%BC/%E6%97%A5.yaml"),
        ("back\\slash.yaml", "back%5Cslash.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("/srv/a b.yaml", "file:///srv/a%20b.yaml"),
        ("\udcff.yaml", "%FF.yaml"),
        ("\ud800.yaml", "%ED%A0%80.yaml"),
    ],
)
def test_uris(file: str, expected: str) -> None:
    assert uri(file, "/") == expected


@pytest.mark.parametrize(
    "file, expected",
    [
        ("deploy\\web.yaml", "deploy/web.yaml"),
        (".\\web.yaml", "web.yaml"),
        ("C:\\a b\\web.yaml", "file:///C:/a%20b/web.yaml"),
        ("\\\\server\\share\\web.yaml", "file://server/share/web.yaml"),
    ],
)
def test_uris_on_windows(file: str, expected: str) -> None:
    assert uri(file, "\\") == expected


def test_only_relative_uris_have_a_base() -> None:
    results = run_of(finding(file="a.yaml"), finding(file="/b.yaml"), finding(file="file:c.yaml"))["results"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in results]
    assert places == [
        {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"},
        {"uri": "file:///b.yaml"},
        {"uri": "file%3Ac.yaml", "uriBaseId": "%SRCROOT%"},
    ]


@settings(max_examples=100)
@given(st.text(st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from("/.:#?% \udcff\udc80")), min_size=1))
def test_a_uri_gives_the_file_name_back(file: str) -> None:
    parts = urlsplit(uri(file, "/"))
    assert (parts.query, parts.fragment, parts.netloc) == ("", "", "")
    assert parts.scheme == ("file" if slashed(file, "/").startswith("/") else "")
    assert unquote_to_bytes(parts.path).lstrip(b"/") == slashed(file, "/").lstrip("/").encode("utf-8", "surrogateescape")
