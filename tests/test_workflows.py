"""The workflows: the gate runs on the systems and with the Pythons that afflint is for, and nothing has more rights than it needs.

What is expected is the workflow syntax that GitHub documents.
"""

import os
import re
import shutil
import subprocess
from typing import Any

import pytest
from ruamel.yaml import YAML

from checkout import ROOT, clean_environment

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS: dict[str, dict[str, Any]] = {path.stem: YAML(typ="safe", pure=True).load(path) for path in sorted(FOLDER.glob("*.yml"))}
STEPS: list[dict[str, Any]] = [step for each in WORKFLOWS.values() for job in each["jobs"].values() for step in job["steps"]]
JOB_KEYS = {"name", "runs-on", "timeout-minutes", "strategy", "defaults", "steps", "needs", "if", "env", "permissions", "environment"}

each_workflow = pytest.mark.parametrize("name", WORKFLOWS)


@each_workflow
def test_it_has_the_keys_that_github_knows(name: str) -> None:
    workflow = WORKFLOWS[name]
    assert workflow.keys() <= {"name", "on", "permissions", "concurrency", "jobs", "env", "defaults", "run-name"}
    assert workflow["on"].keys() <= {"push", "pull_request", "workflow_dispatch", "schedule"}
    for job in workflow["jobs"].values():
        assert job.keys() <= JOB_KEYS
        assert job["timeout-minutes"] <= 60
        assert {*job.get("needs", [])} <= workflow["jobs"].keys()


def test_a_step_has_the_keys_that_github_knows() -> None:
    for step in STEPS:
        assert step.keys() <= {"name", "id", "if", "uses", "with", "run", "env", "shell", "continue-on-error", "working-directory"}
        assert ("run" in step) is ("uses" not in step)


def test_what_strangers_can_start_may_read_and_nothing_else() -> None:
    assert WORKFLOWS["ci"]["permissions"] == {"contents": "read"}
    assert not [job for job in WORKFLOWS["ci"]["jobs"].values() if "permissions" in job]
    started = {name for name, each in WORKFLOWS.items() if "pull_request" in each["on"]}
    assert started == {"ci"}


def test_no_workflow_keeps_a_token_or_has_an_expression_in_a_program() -> None:
    assert all(step["with"] == {"persist-credentials": False} for step in STEPS if step.get("uses", "").startswith("actions/checkout@"))
    assert not [step for step in STEPS if "${{" in step.get("run", "")], "an expression in a program is a program"
    assert "secrets." not in "".join(path.read_text(encoding="utf-8") for path in FOLDER.iterdir())


def test_a_release_is_built_once_and_published_by_jobs_that_hold_no_source() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert WORKFLOWS["release"]["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items() if name in ("build", "pypi", "release")} == {
        "build": {"contents": "read"},
        "pypi": {"id-token": "write"},
        "release": {"contents": "write"},
    }
    assert jobs["pypi"]["environment"] == "pypi"
    uses = {name: [step.get("uses", "").partition("@")[0] for step in job["steps"]] for name, job in jobs.items()}
    assert uses["pypi"] == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert [name for name, used in uses.items() if "actions/attest-build-provenance" in used] == ["provenance", "image"]
    assert not [step for name in ("provenance", "pypi") for step in jobs[name]["steps"] if "run" in step]
    first, gate, *_ = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert first.startswith('python .ci/release.py "$GITHUB_REF_NAME"')
    assert gate == ".ci/run"


def test_the_gate_runs_everywhere() -> None:
    gate = WORKFLOWS["ci"]["jobs"]["gate"]
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
