"""The GitHub action, run as the runner does it as far as that goes without GitHub: its steps in bash, with the files and the context that
a runner provides. What is expected of ``action.yml`` is the metadata syntax that GitHub documents for composite actions.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from checkout import ROOT, clean_environment, copy_to
from git_history import History
from hostile_modules import write_modules

run_by_bash = pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="`bash` is missing, or may be that of WSL")

ACTION: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / "action.yml")
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

GITHUB = {
    "github.action_path": str(ROOT),
    "github.base_ref": "main",
    "github.event.pull_request.number": "7",
    "github.repository": "owner/shop",
    "github.token": "token",
}
ON_PULL_REQUESTS = "inputs.comment == 'true' && github.event_name == 'pull_request'"

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - {name: web, image: "nginx:1.27"}
  nodeSelector:
    disktype: 1
"""


# The shape of the file.


def test_it_has_the_keys_that_github_knows() -> None:
    assert ACTION.keys() <= {"name", "author", "description", "branding", "inputs", "outputs", "runs"}
    assert {"name", "description", "runs"} <= ACTION.keys()
    assert ACTION["runs"].keys() == {"using", "steps"}
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["branding"].keys() == {"icon", "color"}
    assert len(ACTION["description"]) <= 125, "the marketplace takes no more"
    for given in ACTION["inputs"].values():
        assert given.keys() <= {"description", "required", "default", "deprecationMessage"}
        assert given["description"].endswith(".")
        assert isinstance(given["default"], str), "inputs are strings"
    for output in ACTION["outputs"].values():
        assert output.keys() == {"description", "value"}


def test_each_step_either_runs_a_shell_or_uses_an_action() -> None:
    for step in STEPS:
        assert step.keys() <= {"name", "id", "if", "env", "working-directory", "shell", "run", "uses", "with", "continue-on-error"}
        assert ("run" in step) is ("shell" in step) is ("uses" not in step)
        assert ("with" in step) <= ("uses" in step)


def test_expressions_name_what_exists_and_are_never_in_a_program() -> None:
    outputs = {step["id"]: set(re.findall(r'echo "([a-z-]+)=', step.get("run", ""))) for step in STEPS if "id" in step}
    known = {*GITHUB, "runner.temp", *(f"inputs.{name}" for name in ACTION["inputs"])}
    known |= {f"steps.{step}.outputs.{name}" for step, names in outputs.items() for name in names}
    used = {
        each
        for step in STEPS
        for value in (*step.get("env", {}).values(), *step.get("with", {}).values())
        for each in EXPRESSION.findall(value)
    }
    used |= {each for output in ACTION["outputs"].values() for each in EXPRESSION.findall(output["value"])}
    assert used <= known
    assert {name for name in known if name.startswith("inputs.")} <= used | {"inputs.upload-sarif", "inputs.comment"}
    assert not [step for step in STEPS if EXPRESSION.search(step.get("run", ""))]


def test_the_readers_of_the_manual_find_every_input() -> None:
    manual = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert not [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in manual]


# What it does.


class Ended(NamedTuple):
    """The exit code of the job, its log, its summary, and what the step called ``check`` put out."""

    code: int
    log: str
    summary: str
    outputs: dict[str, str]
    uploaded: dict[str, str] | None


class Runner:
    """Runs the steps of the action in a workspace. The install step is left out if afflint is already in ``bin``."""

    def __init__(self, folder: Path, bin: str | None = None) -> None:  # noqa: A002 (as the step calls it)
        self.temp, self.workspace = folder / "temp of the runner", folder / "work space"
        self.programs = folder / "programs"
        """Found before all other programs."""
        for each in (self.temp, self.workspace, self.programs):
            each.mkdir()
        self._installed = {"bin": bin} if bin else None
        self.action = ROOT

    def run(self, **inputs: str) -> Ended:
        context = {**GITHUB, "github.action_path": str(self.action), "runner.temp": str(self.temp)}
        context |= {f"inputs.{name}": given["default"] for name, given in ACTION["inputs"].items()}
        context |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        summary, log, code, uploaded, outputs = self.temp / "summary.md", "", 0, None, {}
        for number, step in enumerate(STEPS):
            filled = {key: self._filled(value, context) for key, value in {**step.get("env", {}), **step.get("with", {})}.items()}
            if step.get("id") == "install" and self._installed:
                context |= {f"steps.install.outputs.{key}": value for key, value in self._installed.items()}
                continue
            if step.get("if") == ON_PULL_REQUESTS:
                if context["inputs.comment"] != "true":
                    continue
            elif "uses" in step:
                wanted = context["inputs.upload-sarif"] == "true" and context.get("steps.check.outputs.sarif", "") != ""
                assert step["if"] == "inputs.upload-sarif == 'true' && steps.check.outputs.sarif != ''"
                uploaded = filled if wanted else None
                continue
            target = self.temp / f"output-{number}"
            target.touch()
            script = self.temp / f"step-{number}.sh"
            script.write_text(step["run"], encoding="utf-8", newline="\n")
            path = os.pathsep.join([str(self.programs), os.environ["PATH"]])
            environment = clean_environment(**filled, GITHUB_OUTPUT=str(target), GITHUB_STEP_SUMMARY=str(summary), PATH=path)
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
                cwd=self.workspace,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                check=False,
            )
            log += done.stdout
            outputs = dict(line.split("=", 1) for line in target.read_text(encoding="utf-8").splitlines())
            context |= {f"steps.{step.get('id')}.outputs.{key}": value for key, value in outputs.items()}
            if done.returncode:
                code = done.returncode
                break
        given = {key.removeprefix("steps.check.outputs."): value for key, value in context.items() if key.startswith("steps.check.")}
        return Ended(code, log, summary.read_text(encoding="utf-8") if summary.exists() else "", given, uploaded)

    @staticmethod
    def _filled(value: str, context: dict[str, str]) -> str:
        return EXPRESSION.sub(lambda match: context.get(match[1], ""), value)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    made = Runner(tmp_path, str(Path(sys.executable).parent))
    (made.workspace / "deploy").mkdir()
    (made.workspace / "deploy" / "web.yaml").write_text(POD, encoding="utf-8")
    return made


@run_by_bash
def test_findings_are_annotations_and_a_summary_and_fail_the_job(runner: Runner) -> None:
    ended = runner.run()
    assert ended.code == 1
    assert ended.log.startswith("::error file=deploy/web.yaml,line=9,col=15,")
    assert ended.summary.startswith("### afflint: 1 error\n")
    assert ended.outputs == {"exit-code": "1"}
    assert ended.uploaded is None


@run_by_bash
def test_without_findings_the_job_succeeds_and_the_summary_says_so(runner: Runner) -> None:
    (runner.workspace / "deploy" / "web.yaml").write_text(POD.replace("disktype: 1", "disktype: ssd"), encoding="utf-8")
    ended = runner.run()
    assert (ended.code, ended.log, ended.outputs) == (0, "", {"exit-code": "0"})
    assert ended.summary.startswith("### afflint: no findings\n")


@run_by_bash
def test_a_mistake_in_the_usage_keeps_its_exit_code(runner: Runner) -> None:
    ended = runner.run(args="--select no-such-rule")
    assert (ended.code, ended.outputs) == (2, {"exit-code": "2"})
    assert "afflint: --select: unknown value 'no-such-rule'" in ended.log


@run_by_bash
def test_the_summary_of_an_earlier_step_of_the_job_stays(runner: Runner) -> None:
    (runner.temp / "summary.md").write_text("before\n", encoding="utf-8")
    assert runner.run().summary.startswith("before\n### afflint: 1 error\n")
    assert runner.run(args="--select no-such-rule").summary.count("### afflint") == 1


@run_by_bash
def test_paths_and_options_reach_afflint_as_they_are(runner: Runner) -> None:
    odd = runner.workspace / "a $(touch pwned) b.yaml"
    odd.write_text(POD, encoding="utf-8")
    ended = runner.run(paths=f"{odd.name}\n\n-odd.yaml\n", args="--exit-zero --ignore 'labels, cross-manifest'")
    assert not (runner.workspace / "pwned").exists()
    assert "-odd.yaml" in ended.log
    (runner.workspace / "-odd.yaml").write_text(POD, encoding="utf-8")
    ended = runner.run(paths=f"{odd.name}\n\n-odd.yaml\n", args="--exit-zero --ignore 'labels, cross-manifest'")
    assert [line.partition(",")[0] for line in ended.log.splitlines()] == ["::error file=-odd.yaml", "::error file=a $(touch pwned) b.yaml"]
    assert ended.code == 0


@run_by_bash
def test_nothing_is_annotated_or_summarised_unasked(runner: Runner) -> None:
    ended = runner.run(annotations="false", summary="false")
    assert (ended.code, ended.summary) == (1, "")
    assert ended.log.startswith("deploy/web.yaml:9:15: error ")


@run_by_bash
def test_sarif_is_written_and_uploaded_when_asked(runner: Runner) -> None:
    ended = runner.run(sarif="placement.sarif")
    assert (ended.outputs["sarif"], ended.uploaded) == ("placement.sarif", None)
    assert json.loads((runner.workspace / "placement.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"

    ended = runner.run(upload_sarif="true", category="staging")
    assert ended.code == 1
    assert ended.uploaded == {"sarif_file": str(runner.temp / "afflint.sarif"), "category": "staging"}


@run_by_bash
@pytest.mark.parametrize("arguments", ["--fail-on never '", '--config "policies/a"b.yaml"', "--select\\", "--select 'a\n--exit-zero'"])
def test_a_mistake_in_args_ends_the_job(arguments: str, runner: Runner) -> None:
    ended = runner.run(args=arguments)
    assert (ended.code, ended.outputs, ended.summary) == (2, {"exit-code": "2"}, "")
    assert ended.log == "::error title=afflint::`args` cannot be read: a quote is not closed, or an option contains a line break\n"


@run_by_bash
def test_options_on_several_lines_are_options(runner: Runner) -> None:
    assert runner.run(args="--exit-zero\n--ignore 'labels, cross-manifest'\n\n").code == 0


@run_by_bash
def test_a_file_named_as_standard_input_is_a_file(runner: Runner) -> None:
    (runner.workspace / "-").write_text(POD, encoding="utf-8")
    ended = runner.run(paths="-")
    assert (ended.code, ended.log.partition(",")[0]) == (1, "::error file=-")


@run_by_bash
@pytest.mark.parametrize("target", ["../home", "deploy/web.yaml"])
def test_sarif_is_not_written_through_a_link_nor_uploaded(target: str, runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("mine", encoding="utf-8")
    (runner.workspace / "out.sarif").symlink_to(target)
    ended = runner.run(sarif="out.sarif", upload_sarif="true")
    assert (ended.code, ended.outputs, ended.uploaded) == (2, {"exit-code": "2"}, None)
    assert "cannot write 'out.sarif': it is a symbolic link; name the file to write" in ended.log
    assert ((tmp_path / "home").read_text(encoding="utf-8"), (runner.workspace / "deploy" / "web.yaml").read_text()) == ("mine", POD)


@run_by_bash
def test_a_sarif_file_of_the_tree_is_not_uploaded_if_none_was_written(runner: Runner) -> None:
    (runner.workspace / "out.sarif").write_text("{}", encoding="utf-8")
    ended = runner.run(sarif="out.sarif", upload_sarif="true", args="--select no-such-rule")
    assert (ended.outputs, ended.uploaded) == ({"exit-code": "2"}, None)


GH = """\
#!/bin/sh
printf '%s\\n' "$*" >>"$TEMP_FOLDER/gh.log"
case "$*" in *--paginate*) cat "$TEMP_FOLDER/known";; esac
"""


@pytest.fixture
def pull_request(runner: Runner) -> Runner:
    """A workspace with the base branch and a change, and a program `gh` that keeps a log."""
    history = History(runner.workspace)
    base = history.commit({"deploy/web.yaml": POD.replace("disktype: 1", "disktype: ssd")})
    history.git("update-ref", "refs/remotes/origin/main", base)
    history.commit({"deploy/web.yaml": POD})
    (runner.programs / "gh").write_text(GH, encoding="utf-8", newline="\n")
    (runner.programs / "gh").chmod(0o755)
    (runner.temp / "known").write_text("", encoding="utf-8")
    return runner


@run_by_bash
def test_the_first_run_creates_the_comment_and_the_next_replaces_it(pull_request: Runner) -> None:
    ended = pull_request.run(comment="true")
    body = pull_request.temp / "afflint-diff.md"
    assert body.read_text(encoding="utf-8").startswith(
        "<!-- afflint diff -->\n### afflint: placement gets worse for 1 workload; 1 new finding (1 error)\n"
    )
    assert ended.summary.count("### afflint") == 2
    assert ended.code == 1, "the exit code of `afflint check`"
    asked, written = (pull_request.temp / "gh.log").read_text(encoding="utf-8").splitlines()
    assert asked.startswith("api --paginate repos/owner/shop/issues/7/comments --jq ")
    assert 'startswith("<!-- afflint diff -->")' in asked
    assert '.user.type == "Bot"' in asked
    assert written == f"api --silent --method POST repos/owner/shop/issues/7/comments --field body=@{body}"

    (pull_request.temp / "known").write_text("12\n34\n", encoding="utf-8")
    pull_request.run(comment="true")
    written = (pull_request.temp / "gh.log").read_text(encoding="utf-8").splitlines()[-1]
    assert written == f"api --silent --method PATCH repos/owner/shop/issues/comments/12 --field body=@{body}"


@run_by_bash
def test_without_the_permission_to_comment_the_job_goes_on(pull_request: Runner) -> None:
    (pull_request.programs / "gh").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8", newline="\n")
    ended = pull_request.run(comment="true", args="--exit-zero")
    assert ended.code == 0
    assert "::notice title=afflint::The comment could not be written" in ended.log


@run_by_bash
def test_a_clone_without_the_base_fails_the_job_and_says_why(pull_request: Runner) -> None:
    History(pull_request.workspace).git("update-ref", "-d", "refs/remotes/origin/main")
    ended = pull_request.run(comment="true", args="--exit-zero")
    assert ended.code == 2
    assert "Git does not know a commit `origin/main`" in ended.log
    assert not (pull_request.temp / "gh.log").exists()


@run_by_bash
def test_a_mistake_in_the_options_of_the_comparison_ends_the_job(pull_request: Runner) -> None:
    ended = pull_request.run(comment="true", args="--exit-zero", diff_args="--nodes 'nodes.yaml")
    assert ended.code == 2
    assert "`diff-args` cannot be read" in ended.log
    assert not (pull_request.temp / "gh.log").exists()


@run_by_bash
def test_nothing_is_compared_unasked(pull_request: Runner) -> None:
    pull_request.run()
    assert not (pull_request.temp / "gh.log").exists()
    assert not (pull_request.temp / "afflint-diff.md").exists()


@run_by_bash
def test_no_module_of_the_workspace_is_imported(runner: Runner) -> None:
    write_modules(runner.workspace, runner.temp / "trace")
    ended = runner.run(args="--exit-zero")
    assert not (runner.temp / "trace").exists()
    assert (ended.code, ended.log.count("::error ")) == (0, 1)


@run_by_bash
def test_every_python_of_the_action_is_isolated() -> None:
    programs = "\n".join(step["run"] for step in STEPS if "run" in step)
    started = re.findall(r'(?:python|candidate)" -.*', programs)
    assert len(started) >= 4
    assert [each for each in started if not re.match(r'(?:python|candidate)" -I -', each)] == []


@run_by_bash
def test_it_installs_what_its_own_checkout_holds(tmp_path: Path) -> None:
    """Needs the package index, as the tests of the wheel do."""
    runner = Runner(tmp_path)
    runner.action = copy_to(tmp_path / "action at a ref")
    write_modules(runner.workspace, runner.temp / "trace")
    (runner.workspace / "web.yaml").write_text(POD, encoding="utf-8")
    ended = runner.run()
    assert not (runner.temp / "trace").exists()
    assert ended.code == 1, ended.log
    assert "::error file=web.yaml,line=9,col=15," in ended.log
    installed = runner.temp / "afflint" / ("Scripts" if os.name == "nt" else "bin")
    assert (installed / "afflint").exists() or (installed / "afflint.exe").exists()
