"""Manifests of every kind, spoilt at random: whatever comes out is a report, and every place in it exists.

AFFLINT_FUZZ=1000 tries a thousand of each instead of a few.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_maker import MANIFESTS, changed, changes, manifest, spoils, spoilt, written

from afflint.checks.match import Target
from afflint.checks.registry import rules
from afflint.findings.finding import SEVERITIES, Finding, Span
from afflint.kube.kinds import KINDS
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.report import FORMATS, Report, render
from afflint.source.sources import Source
from afflint.yaml.documents import to_utf8
from linting import settings_of

EXAMPLES = int(os.environ.get("AFFLINT_FUZZ", "0"))
fuzzed = settings(
    deadline=None,
    max_examples=EXAMPLES or 120,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
EVERYTHING = settings_of(rules(), target=Target(admission_plugins=frozenset(["LimitPodHardAntiAffinityTopology"]), complete=True))
NODES = Source(
    "nodes.yaml",
    "nodes.yaml",
    b"""nodes:
- {name: node-1, labels: {disk: ssd, topology.kubernetes.io/zone: a, cpu: "16"}, taints: ["dedicated=web:NoSchedule"]}
- {name: node-2, labels: {disk: ssd, topology.kubernetes.io/zone: b, gpu: ""}}
- {name: node-3, labels: {topology.kubernetes.io/zone: b}, unschedulable: true}
""",
)
LINE_BREAK = re.compile(r"\r\n|\n|\r")


@cache
def validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = Path(__file__).parents[2] / "schemas" / "report.schema.json"
    return Draft202012Validator(json.loads(schema.read_text()))


def check(files: dict[str, bytes], *, nodes: bool = False, form: str = "json") -> Outcome:
    """Runs all rules over files, and holds what comes out to what a report is."""
    sources = [Source(name, name, data) for name, data in files.items()]
    outcome = run(sources, EVERYTHING, Options(), node_files=[NODES] if nodes else [])
    texts = {name: LINE_BREAK.split(_text(data)) for name, data in {**files, "nodes.yaml": NODES.data or b""}.items()}
    for finding in outcome.findings:
        _hold(finding, texts)
    assert outcome.summary.errors + outcome.summary.warnings + outcome.summary.info == len(outcome.findings)
    shown = _report(outcome, "json")
    validator().validate(json.loads(shown))
    again = run(sources, EVERYTHING, Options(), node_files=[NODES] if nodes else [])
    assert _report(again, "json") == shown
    other = _report(outcome, form)
    assert all(character.isprintable() or character == "\n" for character in other)
    return outcome


def _text(data: bytes) -> str:
    try:
        return to_utf8(data).decode("utf-8", "replace")
    except UnicodeDecodeError:
        return ""


def _report(outcome: Outcome, form: str) -> str:
    report = Report(outcome.findings, outcome.summary, list, outcome.text, "0", True, False)
    return "".join(render(form, report))


def _hold(finding: Finding, texts: dict[str, list[str]]) -> None:
    assert finding.rule in rules()
    assert finding.severity in SEVERITIES
    assert finding.message
    assert finding.help
    _inside(finding.span, texts[finding.file])
    for related in finding.related:
        _inside(related.span, texts[related.file])
    for edit in finding.fix.edits if finding.fix else ():
        _inside(edit.span, texts[finding.file])


def _inside(span: Span, lines: list[str]) -> None:
    assert 1 <= span.line <= span.end_line <= len(lines) + 1
    assert (span.line, span.column) <= (span.end_line, span.end_column)
    for line, column in ((span.line, span.column), (span.end_line, span.end_column)):
        assert 1 <= column <= (len(lines[line - 1]) if line <= len(lines) else 0) + 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.group or 'core'}/{kind.name}")
def test_what_the_others_spoil_is_valid(kind: Any) -> None:
    source = Source("a.yaml", "a.yaml", written(manifest(kind)).encode())
    findings = run([source], default_settings()).findings
    assert [each for each in findings if each.category in ("admission", "afflint")] == []


@fuzzed
@given(
    st.lists(st.tuples(st.sampled_from(MANIFESTS), st.lists(changes, min_size=1, max_size=4)), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(FORMATS),
)
def test_values_and_keys_that_are_changed(
    manifests: list[tuple[Any, list[tuple[str, int, int]]]], apart: bool, nodes: bool, form: str
) -> None:
    texts = []
    for whole, its_changes in manifests:
        for change in its_changes:
            whole = changed(whole, change)
        texts.append(written(whole).encode() + b"\n")
    if apart:
        check({f"{number}.yaml": text for number, text in enumerate(texts)}, nodes=nodes, form=form)
    else:
        check({"a.yaml": b"---\n".join(texts)}, nodes=nodes, form=form)


@fuzzed
@given(st.sampled_from(MANIFESTS), st.lists(changes, max_size=3), st.lists(spoils, min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_texts_that_are_changed(
    whole: Any, its_changes: list[tuple[str, int, int]], its_spoils: list[tuple[str, int, int]], form: str
) -> None:
    for change in its_changes:
        whole = changed(whole, change)
    data = written(whole).encode() + b"\n"
    for spoil in its_spoils:
        data = spoilt(data, spoil)
    check({"a.yaml": data}, form=form)


@fuzzed
@given(
    st.lists(st.tuples(st.sampled_from(MANIFESTS), st.lists(changes, max_size=2)), min_size=1, max_size=3),
    st.sampled_from(["List", "PodList", "DeploymentList", "VirtualMachineList"]),
    st.sampled_from([None, 1, 4]),
    st.lists(spoils, max_size=2),
)
def test_lists_in_json(
    manifests: list[tuple[Any, list[tuple[str, int, int]]]], kind: str, indent: int | None, its_spoils: list[tuple[str, int, int]]
) -> None:
    items = []
    for whole, its_changes in manifests:
        for change in its_changes:
            whole = changed(whole, change)
        items.append(whole)
    data = json.dumps({"apiVersion": "v1", "kind": kind, "items": items}, indent=indent).encode()
    for spoil in its_spoils:
        data = spoilt(data, spoil)
    check({"a.json": data})


@fuzzed
@given(st.binary(max_size=200), st.sampled_from(["kind: Pod\n", "", "kind: List\nitems:\n", '{"kind": "Pod", ']), st.sampled_from(FORMATS))
def test_any_bytes_at_all(data: bytes, start: str, form: str) -> None:
    check({"a.yaml": start.encode() + data}, form=form)
    check({"a.yaml": (start + data.decode("latin-1")).encode("utf-16")}, form=form)
