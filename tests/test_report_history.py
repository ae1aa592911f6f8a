"""`afflint report --history`: which files it reads, when they were written, what has changed since, and what it refuses."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afflint.compliance import history as report_history
from command_line import Afflint, Done
from deployment_text import deployment

BROKEN = deployment("nodeSelector: {ssd: true}", namespace="shop", labels="team: storefront")
FIXED = BROKEN.replace("ssd: true", 'ssd: "true"')
pytestmark = pytest.mark.usefixtures("history")
POLICIES = "policies: [{name: has-tier, check: required-template-labels, params: {labels: {tier: '*'}}}]\n"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one wrong manifest, in the working directory. The configuration leaves the history out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795651200")  # 2026-11-26
    Path("web.yaml").write_text(BROKEN, encoding="utf-8")
    Path(".afflint.yaml").write_text("exclude: [history]\n", encoding="utf-8")
    Path("history").mkdir()
    return tmp_path / "history"


def trends(afflint: Afflint, *words: str) -> dict[str, Any]:
    """The trends of a report, by subject."""
    done = afflint("report", "--history", "history", "--format", "json", *words)
    assert (done.code, done.err) == (0, "")
    return {each["subject"]: each for each in json.loads(done.out)["trends"]}


def recorded(afflint: Afflint, name: str, command: str = "check") -> None:
    """Write the report of a command, as JSON."""
    Path("history", name).parent.mkdir(exist_ok=True)
    afflint(command, "--format", "json", "--output", f"history/{name}")


def test_a_finding_is_the_same_after_lines_and_list_items_were_added(afflint: Afflint) -> None:
    term = "            - matchExpressions: [{key: disk, operator: Exist}]\n"
    affinity = (
        "      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n"
        "            nodeSelectorTerms:\n"
    )
    Path("web.yaml").write_text(FIXED.replace("      containers", f"{affinity}{term}      containers"), encoding="utf-8")
    recorded(afflint, "2026-10-01.json")
    above = "            - matchExpressions: [{key: zone, operator: Exists}]\n"
    Path("web.yaml").write_text(f"# new\n{FIXED}".replace("      containers", f"{affinity}{above}{term}      containers"), encoding="utf-8")
    recorded(afflint, "2026-10-02.json")
    points = trends(afflint)["findings"]["points"]
    assert [(each["date"], each["total"], each["new"], each["fixed"]) for each in points] == [
        ("2026-10-01", 1, None, None),
        ("2026-10-02", 1, 0, 0),
    ]


def test_new_and_fixed_findings_are_those_of_the_last_report(afflint: Afflint) -> None:
    recorded(afflint, "2026-10-01.json")
    Path("web.yaml").write_text(FIXED, encoding="utf-8")
    Path("cart.yaml").write_text(BROKEN.replace("web", "cart").replace("storefront", "market"), encoding="utf-8")
    recorded(afflint, "2026-10-08.json")
    trend = trends(afflint)["findings"]
    assert [(each["file"], each["rule"]) for each in trend["new"]] == [("cart.yaml", "wrong-type")]
    assert [(each["file"], each["line"]) for each in trend["fixed"]] == [("web.yaml", 9)]
    assert trend["points"][1]["by"] == {
        "category": {"admission": 1},
        "rule": {"wrong-type": 1},
        "owner": {"market": 1},
        "folder": {"": 1},
    }
    # Without policies, the report is only about the trend.
    done = afflint("report", "--history", "history")
    assert done.out.startswith("Findings over time: 1 finding on 2026-10-08: 1 new and 1 fixed since 2026-10-01.\n")


def test_the_current_run_is_the_last_point_of_violations(afflint: Afflint) -> None:
    Path(".afflint.yaml").write_text(f"exclude: [history]\n{POLICIES}", encoding="utf-8")
    recorded(afflint, "2026-10-01.json", "report")
    Path("web.yaml").write_text(BROKEN.replace("app: web, team", "app: web, tier: front, team"), encoding="utf-8")
    found = trends(afflint)
    assert list(found) == ["violations"]
    assert [(each["date"], each["file"], each["total"], each["new"], each["fixed"]) for each in found["violations"]["points"]] == [
        ("2026-10-01", "history/2026-10-01.json", 1, None, None),
        ("2026-11-26", None, 0, 0, 1),
    ]
    assert found["violations"]["points"][0]["by"]["owner"] == {"storefront": 1}


def test_a_report_that_the_run_replaces_is_not_part_of_the_history(afflint: Afflint, history: Path) -> None:
    Path(".afflint.yaml").write_text(f"exclude: [history]\n{POLICIES}", encoding="utf-8")
    for _ in range(2):
        afflint("report", "--history", "history", "--format", "json", "--output", "history/2026-11-26.json")
    assert len(json.loads((history / "2026-11-26.json").read_bytes())["trends"][0]["points"]) == 1


def test_files_are_dated_by_their_name_their_folder_or_a_key(afflint: Afflint, history: Path) -> None:
    recorded(afflint, "20261003.json")
    recorded(afflint, "2026-10-02/report.json")
    recorded(afflint, "main_2026-10-01T23-59Z.json")
    report = json.loads((history / "20261003.json").read_bytes())
    (history / "latest.json").write_text(json.dumps({**report, "date": "2026-10-04T12:00:00Z"}), encoding="utf-8")
    # The time of a file is that of a checkout or a download.
    os.utime(history / "20261003.json", (0, 0))
    assert [each["date"] for each in trends(afflint)["findings"]["points"]] == [
        "2026-10-01 23:59",
        "2026-10-02",
        "2026-10-03",
        "2026-10-04 12:00",
    ]


def test_files_are_named_one_by_one_too(afflint: Afflint) -> None:
    recorded(afflint, "2026-10-01.json")
    recorded(afflint, "2026-10-02.json")
    done = afflint("report", "--history", "history/2026-10-01.json", "--history", "history/2026-10-02.json")
    assert done.out.startswith("Findings over time: 1 finding on 2026-10-02: 0 new and 0 fixed since 2026-10-01.\n")


def test_reports_of_one_day_are_in_the_order_of_their_names(afflint: Afflint) -> None:
    recorded(afflint, "2026-10-01-a.json")
    Path("web.yaml").write_text(FIXED, encoding="utf-8")
    recorded(afflint, "2026-10-01-b.json")
    done = afflint("report", "--history", "history/2026-10-01-b.json", "--history", "history/2026-10-01-a.json")
    assert done.out.startswith("Findings over time: 0 findings on 2026-10-01: 0 new and 1 fixed since 2026-10-01.\n")


FINDING = {
    "rule": "r",
    "category": "c",
    "severity": "error",
    "message": "m",
    "file": "a.yaml",
    "line": 1,
    "field": "",
    "object": {"apiVersion": None, "kind": None, "namespace": None, "name": None},
}


BASELINE = '{"version": 1, "findings": []}'


def report(*findings: object, **more: object) -> str:
    return json.dumps({"version": 1, "findings": findings, "summary": {"documents": 1}, **more})


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("2026-10-01.json", "{", "not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("2026-10-01.json", "[" * 100_000, "the JSON is nested too deep"),
        ("2026-10-01.json", "\ufeff{}", None),
        ("2026-10-01.json", "[]", "not a report: write the reports with `afflint check --format json` or `afflint report --format json`"),
        ("2026-10-01.json", '{"version": 2}', "not a report of version 1"),
        (
            "2026-10-01.json",
            BASELINE,
            "not a report: write the reports with `afflint check --format json` or `afflint report --format json`",
        ),
        ("2026-10-01.json", report({}), "findings[0].rule is not a string"),
        ("2026-10-01.json", report({**FINDING, "severity": "fatal"}), "findings[0].severity is not one of error, warning, info"),
        ("2026-10-01.json", report({**FINDING, "line": "1"}), "findings[0].line is not a number"),
        ("2026-10-01.json", report(FINDING, 1), "findings[1] is not an object"),
        ("2026-10-01.json", report(FINDING, summary=1), "summary is not an object"),
        ("2026-10-01.json", '{"version": 1, "policies": {}}', "policies is not a list"),
        ("yesterday.json", report(), "no date: name the file or its folder by the day of the report, such as 2026-11-26.json"),
        ("2026-13-01.json", report(), "no date: name the file or its folder by the day of the report, such as 2026-11-26.json"),
    ],
)
def test_what_is_not_a_report_is_one_line_with_the_file(
    afflint: Callable[..., Done], history: Path, name: str, text: str, reason: str | None
) -> None:
    (history / name).write_text(text, encoding="utf-8")
    done = afflint("report", "--history", "history")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"afflint: --history: history/{name}: ")
    assert reason is None or done.err == f"afflint: --history: history/{name}: {reason}\n"


def test_names_and_numbers_of_a_hostile_report_are_only_shown(afflint: Afflint, history: Path) -> None:
    hostile = {**FINDING, "rule": "\x1b[2J", "message": "<script>\u202e\ud800", "file": "/etc/passwd", "line": -(10**30), "item": 3}
    (history / "2026-10-01.json").write_text(report(hostile, summary={"documents": 1e300}), encoding="utf-8")
    for form in ("text", "json", "html", "markdown"):
        done = afflint("report", "--history", "history", "--format", form)
        assert (done.code, done.err) == (0, "")
        assert "\x1b" not in done.out
        assert "<script>\u202e" not in done.out


def test_a_report_of_policies_is_read_with_all_states_of_workloads(afflint: Afflint, history: Path) -> None:
    def workload(name: str, state: str, *messages: str) -> dict[str, Any]:
        ref = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": None, "name": name}
        breaches = [{"message": message, "file": f"{name}.yaml", "line": 7} for message in messages]
        return {"object": ref, "owner": "ledger", "state": state, "breaches": breaches}

    workloads = [workload("a", "met"), workload("b", "undecided"), workload("c", "excepted", "x"), workload("d", "unmet", "y", "z")]
    policies = [
        {"name": "spread", "severity": "warning", "unasked": None, "workloads": workloads},
        {"name": "fits", "severity": "error", "unasked": "no nodes are known", "workloads": []},
    ]
    data = {"version": 1, "policies": policies, "summary": {"workloads": 4}}
    (history / "2026-10-01.json").write_text(json.dumps(data), encoding="utf-8")
    more = [workload("d", "unmet", "y"), workload("e", "unmet", "z")]
    (history / "2026-10-02.json").write_text(
        json.dumps({**data, "policies": [{**policies[0], "workloads": more}], "summary": {"workloads": True}}), encoding="utf-8"
    )
    trend = trends(afflint)["violations"]
    first, second = trend["points"]
    assert (first["total"], first["unknown"], first["scope"], first["by"]["owner"]) == (2, 2, 4, {"ledger": 2})
    assert (second["total"], second["unknown"], second["scope"], second["new"], second["fixed"]) == (2, 0, None, 1, 1)
    assert [(each["rule"], each["file"], each["line"]) for each in trend["new"]] == [("spread", "e.yaml", 7)]


def test_a_file_that_is_too_large_is_not_read(afflint: Callable[..., Done], history: Path) -> None:
    (history / "2026-10-01.json").touch()
    os.truncate(history / "2026-10-01.json", (64 << 20) + 1)
    done = afflint("report", "--history", "history")
    assert (done.code, done.err) == (2, "afflint: --history: history/2026-10-01.json: larger than 64 MB\n")


def test_a_folder_of_something_else_is_not_read_whole(afflint: Callable[..., Done], history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_history, "_MOST_FILES", 1)
    (history / "2026-10-01.json").write_text(report(), encoding="utf-8")
    assert afflint("report", "--history", "history").code == 0
    (history / "2026-10-02.json").write_text(report(), encoding="utf-8")
    assert afflint("report", "--history", "history").err == "afflint: --history: 'history' has 2 JSON files; at most 1 are read\n"


def test_links_in_the_history_are_not_followed(afflint: Afflint, history: Path) -> None:
    recorded(afflint, "2026-10-01.json")
    Path("secret.json").write_text("{", encoding="utf-8")
    os.symlink("../secret.json", history / "2026-10-02.json")
    assert len(trends(afflint)["findings"]["points"]) == 1


def test_a_history_without_reports_is_an_error(afflint: Callable[..., Done]) -> None:
    assert afflint("report", "--history", "history").err == "afflint: --history: no JSON report found\n"
    done = afflint("report", "--history", "nowhere")
    assert (done.code, done.err) == (2, "afflint: --history: no such file or folder: 'nowhere'\n")
