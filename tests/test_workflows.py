"""The workflow that calls the gate: on the systems and with the Pythons that afflint is for, with no more rights than it needs.

What is expected is the workflow syntax that GitHub documents.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

import pytest
from ruamel.yaml import YAML

from checkout import ROOT, clean_environment

WORKFLOW: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / ".github" / "workflows" / "ci.yml")
STEPS: list[dict[str, Any]] = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_it_has_the_keys_that_github_knows() -> None:
    assert WORKFLOW.keys() <= {"name", "on", "permissions", "concurrency", "jobs", "env", "defaults", "run-name"}
    assert WORKFLOW["on"].keys() <= {"push", "pull_request", "workflow_dispatch", "schedule"}
    for job in WORKFLOW["jobs"].values():
        assert job.keys() <= {"name", "runs-on", "timeout-minutes", "strategy", "defaults", "steps", "needs", "if", "env", "permissions"}
        assert job["timeout-minutes"] <= 60
    for step in STEPS:
        assert step.keys() <= {"name", "id", "if", "uses", "with", "run", "env", "shell", "continue-on-error", "working-directory"}
        assert ("run" in step) is ("uses" not in step)


def test_it_may_read_and_nothing_else_and_keeps_no_token() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert all(step["with"] == {"persist-credentials": False} for step in STEPS if step.get("uses", "").startswith("actions/checkout@"))
    assert not [step for step in STEPS if "${{" in step.get("run", "")], "an expression in a program is a program"


def test_the_gate_runs_everywhere() -> None:
    gate = WORKFLOW["jobs"]["gate"]
    assert gate["strategy"]["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.10", "3.11", "3.12", "3.13", "3.14"],
    }
    assert not gate["strategy"]["fail-fast"]
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert oldest
    assert oldest[1] == gate["strategy"]["matrix"]["python"][0]
    (call,) = [step for step in gate["steps"] if "run" in step]
    assert (call["run"], call["env"], gate["defaults"]["run"]["shell"]) == (".ci/run", {"PYTHON": "python"}, "bash")


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="`bash` is missing, or may be that of WSL")
def test_the_gate_finds_the_programs_of_an_environment_on_every_system(tmp_path: Any) -> None:
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (enter,) = re.findall(r"^enter\(\) \{\n.*?^\}\n", gate, re.MULTILINE | re.DOTALL)
    for system, folder in (("posix", "bin"), ("windows", "Scripts")):
        (tmp_path / system / folder).mkdir(parents=True)
        (tmp_path / system / folder / "activate").write_text(f"echo {system}\n", encoding="utf-8")
        command = ["bash", "-euc", f"{enter}enter '{(tmp_path / system).as_posix()}'"]
        assert subprocess.run(command, capture_output=True, encoding="utf-8", env=clean_environment(), check=True).stdout == f"{system}\n"
    assert "/bin/activate" not in gate.replace(enter, "")


def test_text_has_the_same_line_ends_on_every_system() -> None:
    assert "* text=auto eol=lf" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
