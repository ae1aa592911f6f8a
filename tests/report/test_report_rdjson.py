"""The format of reviewdog: columns in bytes, severities, and suggestions that can be applied alone."""

from __future__ import annotations

import json
from typing import Any

from report_sample import finding, rendered, report

from afflint.findings.finding import Edit, Fix, Span

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
