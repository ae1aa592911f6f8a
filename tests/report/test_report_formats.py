"""All formats, and those without a module of tests: concise, json, github, gitlab."""

import json
import os
import re
import subprocess
import sys
from urllib.parse import unquote

import jsonschema
import pytest
from report_sample import FINDINGS, GOLDENS, finding, rendered, report

from afflint.findings.finding import SEVERITIES, Span
from afflint.report import FORMATS, render
from afflint.report.fingerprints import fingerprints
from checkout import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "report.schema.json").read_text("utf-8"))


def test_every_format_has_a_golden() -> None:
    assert {*GOLDENS} == {*FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_findings_give_the_same_bytes(name: str) -> None:
    assert rendered(name, report(*FINDINGS)) == rendered(name, report(*FINDINGS))


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=f"'yaml'; available formats: {', '.join(FORMATS)}$"):
        render("yaml", report())


def test_the_manual_has_a_row_for_every_format() -> None:
    manual = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    table = manual.partition("## Choose a report format\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"(?m)^\| `(\w+)` \|", table)) == sorted(FORMATS)


def test_a_format_imports_no_more_than_it_needs() -> None:
    program = """
import sys
from afflint.findings.finding import NO_OBJECT, Finding, Span
from afflint.report import Report, Summary, render
before = set(sys.modules)
finding = Finding("r", "labels", "error", "m", "h", "f", 0, Span(1, 1, 1, 2), NO_OBJECT, "")
report = Report([finding], Summary(1, 1, 1, 0, 0, 0, 0, 0), lambda: 1 / 0, {"f": "text"}.get, "1", False, False)
"".join(render(sys.argv[1], report))
print(*sorted(module for module in set(sys.modules) - before if "afflint" in module or module in ("json", "unicodedata", "hashlib", "xml")))
"""

    def imported(name: str) -> str:
        command = [sys.executable, "-c", program, name]
        result = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
        return result.stdout.strip().replace("afflint.report.", "")

    assert imported("text") == "afflint.findings.phrases phrases snippet text"
    assert imported("concise") == "afflint.findings.phrases concise"
    assert imported("json") == "json_report json_stream json"


# concise


def test_concise_says_nothing_when_nothing_was_found() -> None:
    assert rendered("concise", report()) == ""


def test_concise_is_file_line_column_severity_message_rule() -> None:
    assert rendered("concise", report(finding("it is\nempty", file="a b.yaml", span=Span(3, 5, 4, 1)))) == (
        "a b.yaml:3:5: error it is\\nempty [empty-topology-key]\n"
    )


# json


@pytest.mark.parametrize("given", [report(), report(*FINDINGS)], ids=["nothing", "findings"])
def test_json_follows_its_schema(given: object) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(rendered("json", given)), SCHEMA, jsonschema.Draft202012Validator)


def test_the_schema_refuses_what_it_does_not_name() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    good = rendered("json", report(*FINDINGS))
    for path in ([], ["findings", 1], ["findings", 1, "object"], ["findings", 1, "related", 0], ["findings", 2, "fix"], ["summary"]):
        instance = node = json.loads(good)
        for step in path:
            node = node[step]
        node["extra"] = 1
        (error,) = validator.iter_errors(instance)
        assert "extra" in error.message or "is not valid under any" in error.message


def test_the_schema_knows_every_severity() -> None:
    assert SCHEMA["$defs"]["finding"]["properties"]["severity"]["enum"] == list(SEVERITIES)


def test_json_has_the_keys_in_the_order_of_the_contract() -> None:
    read = json.loads(rendered("json", report(*FINDINGS)))
    assert list(read) == ["version", "findings", "summary", "coverage"]
    assert list(read["summary"]) == [
        *("files", "documents", "errors", "warnings", "info", "suppressed"),
        *(
            "templated",
            "templates_in_part",
            "placeholders",
            "unread",
            "passed_over",
            "passed_over_kinds",
            "skipped_files",
            "overlooked",
            "clusters",
            "fixed",
            "uncovered",
        ),
    ]
    position = ["line", "column", "end_line", "end_column"]
    head = ["rule", "category", "severity", "message", "help", "file", "document"]
    assert list(read["findings"][2]) == [*head, *position, "object", "field", "related", "fix"]
    assert list(read["findings"][2]["object"]) == ["apiVersion", "kind", "namespace", "name"]
    assert list(read["findings"][1]["related"][0]) == ["file", "line", "column", "message"]
    assert list(read["findings"][2]["fix"]["edits"][0]) == [*position, "text"]


@pytest.mark.parametrize("name", ["json", "sarif", "gitlab"])
@pytest.mark.parametrize("findings", [(), FINDINGS[:1], FINDINGS])
def test_what_is_written_piece_by_piece_is_laid_out_as_if_written_at_once(name: str, findings: tuple) -> None:
    output = rendered(name, report(*findings))
    assert output == json.dumps(json.loads(output), indent=2) + "\n"


# github


@pytest.mark.parametrize(
    "severity, command",
    [("error", "::error "), ("warning", "::warning "), ("info", "::notice ")],
)
def test_github_knows_three_severities(severity: str, command: str) -> None:
    assert rendered("github", report(finding()._replace(severity=severity))).startswith(command)


def test_github_has_no_columns_for_a_span_of_several_lines() -> None:
    output = rendered("github", report(finding(span=Span(2, 3, 5, 7))))
    assert output == "::error file=a.yaml,line=2,endLine=5,title=empty-topology-key::topologyKey is empty\n"


def test_github_reads_back_what_was_written() -> None:
    written = finding("100%: a, b::c\r\n%0A", help="Do: this, that.", file="a,b:c%2C.yaml")
    output = rendered("github", report(written))
    _, properties, data = output.rstrip("\n").split("::", 2)
    read = dict(item.split("=", 1) for item in properties.partition(" ")[2].split(","))
    assert unquote(read["file"]) == "a,b:c%2C.yaml"
    assert read["line"] == read["col"] == "1"
    assert unquote(data) == "100%: a, b::c\\r\\n%0A\nDo: this, that."


# gitlab


def test_gitlab_is_an_empty_array_when_nothing_was_found() -> None:
    assert rendered("gitlab", report()) == "[]\n"


def test_gitlab_severities() -> None:
    read = json.loads(rendered("gitlab", report(*(finding()._replace(severity=severity) for severity in SEVERITIES))))
    assert [issue["severity"] for issue in read] == ["major", "minor", "info"]


def test_gitlab_paths_are_exact_and_have_no_leading_dot() -> None:
    files = ["./a/b.yaml", "../c.yaml", "a#% \u202eü.yaml", "\udcff.yaml"]
    read = json.loads(rendered("gitlab", report(*(finding(file=file) for file in files))))
    assert [issue["location"]["path"] for issue in read] == ["a/b.yaml", "../c.yaml", "a#% \u202eü.yaml", "\\udcff.yaml"]


# fingerprints


def test_a_fingerprint_does_not_change_when_lines_move_or_values_change() -> None:
    before = finding('weight 101 of "a" is too large', span=Span(1, 2, 3, 4))
    after = finding('weight 250 of "b" is too large', span=Span(9, 9, 9, 9))
    after = after._replace(document=4, help="Else.", severity="info", message="worded better")
    assert list(fingerprints([before])) == list(fingerprints([after]))


def test_each_thing_that_makes_a_finding_another_one_changes_the_fingerprint() -> None:
    same = finding()
    others = [
        same,
        same._replace(rule="other"),
        same._replace(file="other"),
        same._replace(object=same.object._replace(name="other")),
        same._replace(field="other"),
        same._replace(item="named"),
    ]
    assert len({next(fingerprints([other])) for other in others}) == len(others)


def test_equal_findings_are_counted_so_that_every_fingerprint_is_unique() -> None:
    twins = list(fingerprints([finding(), finding(), finding(rule="other"), finding()]))
    assert len(set(twins)) == 4
    assert twins[:2] == list(fingerprints([finding(), finding()]))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("text", "= rendered: in 4 places: a, b, c and 1 more"),
        ("json", '"rendered_in": [\n        "a",'),
        ("sarif", '"renderedIn": ['),
        ("junit", "rendered: in 4 places: a, b, c, d"),
        ("html", "Rendered in 4 places: a, b, c, d"),
        ("markdown", "*Rendered in:* "),
    ],
)
def test_what_is_seen_as_it_is_rendered_names_the_roots(name: str, words: str) -> None:
    seen = finding()._replace(rendered=("a", "b", "c", "d"))
    assert words in rendered(name, report(seen))
    assert words not in rendered(name, report(finding()))
