"""A policy and a rule that report the same field are one finding with both names."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from afflint.cli.click_app import cli
from afflint.findings.finding import Finding, ObjectRef, Span
from afflint.findings.repetitions import without_repetitions

TERM = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: WEIGHT
        podAffinityTerm: {topologyKey: KEY, labelSelector: {matchLabels: {app: web}}}
  containers: [{name: web, image: web}]
"""
POLICIES = """\
policies:
- {name: weight, check: maximum-weight, params: {weight: 50}, severity: info}
- {name: keys, check: allowed-topology-keys, params: {keys: [topology.kubernetes.io/zone]}}
"""


def report(folder: Path, monkeypatch: pytest.MonkeyPatch, *, weight: str = "10", key: str = "topology.kubernetes.io/zone") -> Any:
    monkeypatch.chdir(folder)
    (folder / ".afflint.yaml").write_text(POLICIES, encoding="utf-8")
    (folder / "a.yaml").write_text(TERM.replace("WEIGHT", weight).replace("KEY", key), encoding="utf-8")
    return json.loads(CliRunner().invoke(cli, ["check", "--format", "json", "a.yaml"], standalone_mode=False).output)


def shown(found: Any) -> list[tuple[str, str, list[str]]]:
    return [(each["rule"], each["severity"], [one["message"] for one in each["related"]]) for each in found["findings"]]


def test_the_finding_with_the_higher_severity_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(tmp_path, monkeypatch, weight="200")
    other = "the policy `weight` also reports this: a preference of Pod web has a weight of 200; the policy allows at most 50"
    assert shown(found) == [("weight-out-of-range", "error", [other])]
    assert (found["summary"]["errors"], found["summary"]["info"]) == (1, 0)
    assert found["findings"][0]["fix"] is not None


def test_of_equal_severities_that_of_the_policy_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(tmp_path, monkeypatch, key="failure-domain.beta.kubernetes.io/zone")
    ((rule, severity, related),) = shown(found)
    assert (rule, severity) == ("keys", "warning")
    assert related[0].startswith("the rule `deprecated-node-label` also reports this: ")


def test_findings_at_other_places_remain_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(tmp_path, monkeypatch, weight="60", key="failure-domain.beta.kubernetes.io/zone")
    assert [each[0] for each in shown(found)] == ["weight", "keys"]


def test_findings_about_a_whole_object_and_those_of_rules_remain_apart() -> None:
    place = ("a.yaml", 0, Span(1, 2, 1, 3), ObjectRef("v1", "Pod", None, "web"))
    ours = Finding("mine", "policy", "info", "policy says", "", *place, "spec.nodeName")
    rule = Finding("theirs", "labels", "warning", "rule says", "", *place, "spec.nodeName")
    assert [(each.rule, each.severity) for each in without_repetitions([ours, rule])] == [("theirs", "warning")]
    whole = [each._replace(field="metadata.name") for each in (ours, rule)]
    assert without_repetitions(whole) == whole
    assert without_repetitions([rule, rule]) == [rule, rule]
