"""How the fixes of one file are made together: which wait for each other, which do harm, and what cannot be written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afflint import config
from afflint.checks.registry import rules
from afflint.findings.edits import Insert, Remove, Rename
from afflint.findings.finding import NO_OBJECT, Edit, Finding, Fix, Span
from afflint.findings.paths import field_of
from afflint.fix import rounds
from afflint.pipeline.fixing import FixResult, apply_fixes
from afflint.pipeline.map_step import Checker, fix_checker
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from afflint.yaml.documents import read
from linting import findings_of, settings_of
from shared_material import cases

SETTINGS = settings_of([each.name for each in rules().values()])
CHECKER = fix_checker(SETTINGS)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: web}]
"""


def made(text: str, findings: list[Finding] | None = None) -> FixResult:
    data = text.encode()
    offered = findings_of({"a.yaml": data}, SETTINGS) if findings is None else findings
    return apply_fixes("a.yaml", data, [each for each in offered if each.fix is not None], CHECKER)


def offer(edits: tuple[Edit, ...], *meant: Insert | Rename) -> Finding:
    """A finding with a fix."""
    return Finding(
        "label-not-on-template", "labels", "warning", "", "", "a.yaml", 0, edits[0].span, NO_OBJECT, "", fix=Fix(False, edits, meant)
    )


def fixable(text: str, *, nodes: str = "") -> list[tuple[str, bool]]:
    """Each rule that reports something, and whether it offers a fix."""
    files = {"a.yaml": text.encode(), **({"nodes.yaml": nodes.encode()} if nodes else {})}
    found = findings_of(files, settings_of(), nodes=["nodes.yaml"])
    return [(each.rule, each.fix is not None) for each in found]


def test_those_that_do_harm_are_not_offered_and_the_others_made() -> None:
    text = POD + "  nodeSelector: {a: 1, b: 2}\n  tolerations:\n  - {key: a, operator: Exists, value: 5}\n  - {key: 6}\n"
    result = made(text)
    assert result.data.decode() == text.replace("{a: 1, b: 2}", '{a: "1", b: "2"}').replace("key: 6", 'key: "6"')
    assert result.refused == ()
    assert fixable(text)[2] == ("wrong-type", False), "a toleration with Exists must not have the value `5` either"


CONFLICTING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: true}}
    spec:
      containers: [{name: web, image: web}]
"""


@pytest.mark.parametrize("text", [CONFLICTING, f"{POD}---\n{CONFLICTING}", f"# afflint\n---\n{CONFLICTING}---\n{POD}"])
def test_no_fix_is_offered_that_leads_to_another_error(text: str) -> None:
    """The quoted label would be a string that the selector does not match."""
    assert fixable(text) == [("wrong-type", False)]
    assert fixable(text.replace("app: web}", "app: 'true'}")) == [("wrong-type", True)]


def test_an_unsafe_fix_does_not_lead_from_one_rejection_to_another() -> None:
    """Exists takes no values, and two constraints with one topology key differ in whenUnsatisfiable."""
    term = "{key: a, operator: OPERATOR, values: [b]}"
    affinity = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{term}]}}]}}}}"
    text = f"{POD}  affinity: {{nodeAffinity: {affinity}}}\n"
    assert fixable(text.replace("OPERATOR", "in")) == [("unknown-operator", True)]
    assert fixable(text.replace("OPERATOR", "exists")) == [("unknown-operator", False)]
    spread = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: WHEN, labelSelector: {matchLabels: {app: web}}}"
    pod = POD.replace("name: web}\n", "name: web, labels: {app: web}}\n", 1)
    constraints = [spread.replace("WHEN", each) for each in ("doNotSchedule", "DoNotSchedule")]
    assert fixable(f"{pod}  topologySpreadConstraints: [{constraints[0]}]\n") == [("invalid-spread-constraint", True)]
    assert fixable(f"{pod}  topologySpreadConstraints: [{', '.join(constraints)}]\n") == [("invalid-spread-constraint", False)]


def test_another_error_in_the_same_list_item_does_not_prevent_a_fix() -> None:
    """It is the same error afterwards, although a list item is recognised by its content."""
    affinity = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [TERM]}]}}"
    text = POD + "  affinity: {nodeAffinity: " + affinity.replace("TERM", "{key: a, operator: Exists, values: [5]}") + "}\n"
    assert fixable(text) == [("operator-values-mismatch", False), ("wrong-type", True)]
    assert made(text).data.decode() == text.replace("[5]", '["5"]')


def test_no_fix_is_offered_that_removes_another_error() -> None:
    """The invalid value shows which label was meant."""
    nodes = "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {disk: ssd}}\n"
    text = CONFLICTING.replace("app: true", "app: web") + "      nodeSelector:\n        disk: VALUE\n"
    assert fixable(text.replace("VALUE", "hdd"), nodes=nodes) == [("unschedulable", True)]
    assert fixable(text.replace("VALUE", "'ssd '"), nodes=nodes) == [("unschedulable", False), ("invalid-label-value", False)]


def test_of_two_in_one_place_the_second_waits() -> None:
    text = POD + "  tolerationz:\n  - {key: 5}\n"
    rename = offer((Edit(Span(6, 3, 6, 14), "tolerations"),), Rename(("spec", "tolerationz"), "tolerations"))
    again = rename._replace(message="the same once more")
    result = made(text, [rename, again])
    assert (result.made, result.refused) == ((rename,), ())
    assert result.data.decode() == text.replace("tolerationz", "tolerations")


def test_of_two_in_one_place_the_fix_of_an_error_comes_first() -> None:
    text = POD + "  tolerationz:\n  - {key: 5}\n"
    info = offer((Edit(Span(6, 3, 6, 14), "nodeSelector"),), Rename(("spec", "tolerationz"), "nodeSelector"))._replace(severity="info")
    error = offer((Edit(Span(6, 3, 6, 14), "tolerations"),), Rename(("spec", "tolerationz"), "tolerations"))._replace(severity="error")
    assert made(text, [info, error]).made == (error,)


def test_nothing_is_removed_that_has_an_error_in_it() -> None:
    """The error says that something else was meant."""
    text = POD + "  tolerations:\n  - {key: a, operator: Exists}\n  - {key: b, operator: Exist}\n"
    removal = offer((Edit(Span(8, 1, 9, 1), ""),))
    removal = removal._replace(fix=Fix(False, removal.fix.edits if removal.fix else (), (Remove(("spec", "tolerations", 1)),)))
    assert made(text, [removal]) == FixResult(text.encode())
    valid = text.replace("Exist}", "Exists}")
    assert made(valid, [removal]).data.decode() == POD + "  tolerations:\n  - {key: a, operator: Exists}\n"


def test_no_rule_offers_to_remove_what_has_an_error_in_it() -> None:
    """Over recorded manifests with one mistake each, to which a toleration of everything is added."""
    removed = 0
    for case in cases("validation_cases.jsonl.gz"):
        data = read(case["yaml"].encode(), 0, 0).data
        lists = list(lists_of_tolerations(data))
        if not lists:
            continue
        for each in lists:
            each.insert(0, {"operator": "Exists"})
        findings = findings_of({"a.yaml": json.dumps(data).encode()}, SETTINGS)
        errors = [each.field for each in findings if each.severity == "error"]
        for finding in findings:
            for edit in finding.fix.meant if finding.fix else ():
                if isinstance(edit, Remove):
                    removed += 1
                    path = field_of(edit.path)
                    assert not [each for each in errors if each.startswith((f"{path}.", f"{path}["))], (case["id"], finding)
    assert removed > 0


def lists_of_tolerations(data: Any) -> Iterator[list[Any]]:
    """All lists at a key `tolerations`, however deep."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "tolerations" and isinstance(value, list):
                yield value
            yield from lists_of_tolerations(value)
    elif isinstance(data, list):
        for each in data:
            yield from lists_of_tolerations(each)


def test_a_fix_whose_text_does_not_say_what_it_means_is_refused() -> None:
    wrong = offer((Edit(Span(3, 17, 3, 20), "wob"),), Rename(("metadata", "name"), "generateName"))
    nothing = offer((Edit(Span(3, 17, 3, 20), "wob"),))
    broken = offer((Edit(Span(3, 17, 3, 20), "}"),))
    nonsense = offer((Edit(Span(3, 17, 3, 20), "wob"),), Rename(("metadata", "labels"), "x"))
    senseless = offer((Edit(Span(3, 17, 3, 20), "wob"),), Insert(("kind",), "x", 1))
    for each in (wrong, nothing, broken, nonsense, senseless):
        assert made(POD, [each]) == FixResult(POD.encode(), (), (each,))


def test_another_document_is_the_same_byte_for_byte() -> None:
    beyond = offer((Edit(Span(3, 17, 3, 20), "web"), Edit(Span(8, 12, 8, 15), "Pad")))
    text = f"{POD}---\nkind: Pod\nmetadata: {{name: b}}\n"
    assert made(text, [beyond]).refused == (beyond,)


@pytest.mark.parametrize("data", [b"\xff\xfea", POD.encode() + b"# \xe9\n", "\ufeff".encode("utf-16-le") + b"\x00\xd8"])
def test_what_cannot_be_written_again_as_it_is_stays(data: bytes) -> None:
    finding = offer((Edit(Span(3, 17, 3, 20), "wob"),))
    assert apply_fixes("a.yaml", data, [finding], CHECKER) == FixResult(data, (), (finding,))


def test_a_fix_that_helps_nothing_across_files_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only all files together show is looked at again with all of them."""
    monkeypatch.chdir(tmp_path)
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {tier: a}}\nspec:\n  selector: {matchLabels: {app: web}}\n"
        "  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: web}]\n      affinity:\n"
        "        podAntiAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n"
        "          - {labelSelector: {matchLabels: {tier: a}}, topologyKey: kubernetes.io/hostname}\n"
    )
    Path("web.yaml").write_text(text, encoding="utf-8")
    calls = []

    def in_vain(name: str, data: bytes, findings: list[Finding], _: Checker) -> FixResult:
        calls.append(name)
        return FixResult(data + b"# mended\n", tuple(findings))

    session = Session(config.default())
    sources = session.sources(["."])
    known = session.check(sources, Options()).findings
    with monkeypatch.context() as patched:
        patched.setattr(rounds, "apply_fixes", in_vain)
        result = rounds.fix_files(session, sources, Options(), unsafe=True, tops=["."])
    assert (calls, result.changes, result.number) == (["web.yaml"], (), 0)
    assert [each.rule for each in known] == ["label-not-on-template"]
    assert [(each.rule, each.fix) for each in result.outcome.findings] == [("label-not-on-template", None)]
    assert rounds.fix_files(session, sources, Options(), unsafe=True, tops=["."]).number == 1
