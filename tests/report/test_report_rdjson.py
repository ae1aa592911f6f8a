"""The format of reviewdog: columns in bytes, severities, and suggestions that can be applied alone."""

import json
import subprocess
from typing import Any

from report_sample import FINDINGS, finding, rendered, report

from afflint.findings.finding import Edit, Fix, Related, Span
from rendering.real_tools import tool

ZONE = 'zone: "Z\u00fcrich \U0001f3d4": bad\n'


def diagnostics(*findings: Any, text: str = "") -> list[dict[str, Any]]:
    result = json.loads(rendered("rdjson", report(*findings, sources={"a.yaml": text})))
    assert result["source"] == {"name": "afflint"}
    listed: list[dict[str, Any]] = result["diagnostics"]
    return listed


def test_columns_count_bytes_and_the_end_is_exclusive() -> None:
    (found,) = diagnostics(finding(span=Span(1, 7, 1, 17)), text=ZONE)
    text = ZONE.encode()
    start, end = found["location"]["range"]["start"], found["location"]["range"]["end"]
    assert (start["line"], end["line"]) == (1, 1)
    assert text[start["column"] - 1 : end["column"] - 1].decode() == '"Z\u00fcrich \U0001f3d4"'


def test_a_diagnostic_has_the_message_with_its_help_the_rule_and_the_severity() -> None:
    (found,) = diagnostics(finding("topologyKey is empty", help="Name a label."))
    assert found["message"] == "topologyKey is empty\nName a label."
    assert found["code"] == {"value": "empty-topology-key"}
    assert found["severity"] == "ERROR"
    assert found["location"]["path"] == "a.yaml"


def test_a_safe_fix_of_one_edit_is_a_suggestion() -> None:
    quote = Edit(Span(1, 7, 1, 17), '"Zurich"')
    (safe,) = diagnostics(finding()._replace(fix=Fix(True, (quote,))), text=ZONE)
    assert safe["suggestions"] == [{"range": {"start": {"line": 1, "column": 7}, "end": {"line": 1, "column": 21}}, "text": '"Zurich"'}]
    for fix in (None, Fix(False, (quote,)), Fix(True, (quote, quote))):
        (other,) = diagnostics(finding()._replace(fix=fix), text=ZONE)
        assert "suggestions" not in other


def test_names_from_manifests_can_not_break_the_report() -> None:
    (found,) = diagnostics(finding("\x1b[31m \udc80", file="a.yaml"))
    assert "\x1b" not in found["message"]


def test_related_places_are_where_they_are_in_their_own_file() -> None:
    related = (Related("b.yaml", Span(1, 7, 1, 17), "selects it"),)
    result = json.loads(rendered("rdjson", report(finding(related=related), sources={"a.yaml": "a\n", "b.yaml": ZONE})))
    (other,) = result["diagnostics"][0]["related_locations"]
    assert (other["message"], other["location"]["path"]) == ("selects it", "b.yaml")
    assert other["location"]["range"]["end"] == {"line": 1, "column": 21}


def test_reviewdog_reads_all_of_it() -> None:
    """A real reviewdog writes what it has read in the same format, with the source at each diagnostic."""
    text = rendered("rdjson", report(*FINDINGS))
    command = [tool("reviewdog"), "-f=rdjson", "-name=afflint", "-reporter=rdjson", "-filter-mode=nofilter", "-fail-level=error"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1, "it fails for the errors"
    assert json.loads(done.stdout)["diagnostics"] == [
        {**each, "source": {"name": "afflint"}} for each in json.loads(text)["diagnostics"]
    ], done.stderr
