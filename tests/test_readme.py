"""The commands of the README are run, and its snippets are tried."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afflint.checks.registry import rules
from checkout import ROOT, clean_environment, copy_to, run
from git_history import History

README = ROOT / "README.md"
AFFLINT = (sys.executable, "-m", "afflint")


PAGES = tuple(sorted((ROOT / "docs").glob("*.md")))
"""Documentation besides the README. Commands in ```` ```console ```` fences are generated."""


def text() -> str:
    return README.read_text(encoding="utf-8")


def all_text() -> str:
    return "\n".join([text(), *(page.read_text(encoding="utf-8") for page in PAGES if page.name != "security-effects.md")])


def blocks(language: str) -> list[str]:
    """The fenced blocks in a language, of the README and the pages for users."""
    return re.findall(rf"^```{language}\n(.*?)^```$", all_text(), re.MULTILINE | re.DOTALL)


def block(language: str, beginning: str) -> str:
    """The first fenced block in a language with this beginning, in the README or else in the pages."""
    return next(each for each in blocks(language) if each.startswith(beginning))


def test_every_category_that_has_rules_is_listed() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", text(), re.MULTILINE)
    assert sorted(listed) == sorted({rule.category for rule in rules().values()})


# Commands.


def commands() -> Iterator[str]:
    """Each command line of afflint in the README, without what is piped into it and without comments."""
    for line in "".join(blocks("sh")).splitlines():
        command = line.split("|")[-1].split("&&")[-1].split("  #")[0].strip()
        if command.startswith("afflint "):
            yield command
    jobs = "".join(blocks("yaml"))
    yield from re.findall(r"^ +- (?:run: )?(afflint check .*)$", jobs, re.MULTILINE)
    yield str(task()["command"])
    named = (
        all_text().replace("`afflint why`", "`afflint why NAME`").replace("afflint why NAME", "afflint why web deploy --nodes nodes.yaml")
    )
    named = named.replace("NAME", "wrong-type")
    named = named.replace("`afflint test`", "`afflint test tests/policies`")
    named = named.replace("`afflint mcp FOLDER`", "`afflint mcp .`")
    # A run with --watch ends only when it is interrupted.
    yield from (each for each in re.findall(r"`(afflint [a-z]+(?: [^`]*)?)`", named) if "--watch" not in each)


def task() -> dict[str, Any]:
    """The task of Visual Studio Code."""
    (tasks,) = [settings["tasks"] for settings in map(json.loads, blocks("json")) if "tasks" in settings]
    return dict(tasks[0])


DESCHEDULER = b"""
---
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles: [{name: all, pluginConfig: [{name: DefaultEvictor}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that has all that the README's commands name, and programs that render."""
    folder = tmp_path_factory.mktemp("readme") / "project"
    for name in ("deploy", "apps/shop", "overlays/production", "governed", "out"):
        shutil.copytree(ROOT / "examples" / "fixed", folder / name)
    (folder / "governed" / ".afflint.yaml").write_text('extends: ["afflint:strict"]\n', encoding="utf-8")
    for name in ("shop", "customapp", "policies"):
        shutil.copytree(ROOT / "examples" / name, folder / "examples" / name)
    (folder / "chart").mkdir()
    (folder / "production.yaml").write_text("replicas: 3\n", encoding="utf-8")
    (folder / "overlays" / "production" / "kustomization.yaml").write_text("resources: [web.yaml]\n", encoding="utf-8")
    nodes = "nodes:\n- {name: elsewhere, labels: {node-role.kubernetes.io/worker: ''}}\n"
    (folder / "nodes.yaml").write_text(nodes, encoding="utf-8")
    (folder / "new-nodes.yaml").write_text("nodes:\n- {name: new}\n", encoding="utf-8")
    pool = "apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: ocp-high}\n"
    (folder / "machineset.yaml").write_text(f"{pool}spec: {{replicas: 1, template: {{spec: {{}}}}}}\n", encoding="utf-8")
    (folder / "pods.yaml").write_text("{apiVersion: v1, kind: List, items: []}\n", encoding="utf-8")
    (folder / "tests" / "policies").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "fixed" / "web.yaml", folder / "tests" / "policies" / "wrong-type.good.yaml")
    programs = folder / "bin"
    programs.mkdir()
    for name in ("helm", "kustomize"):
        (programs / name).write_text(f"#!/bin/sh\ncat {shlex.quote(str(folder / 'deploy' / 'web.yaml'))}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    run((*AFFLINT, "check", "--write-baseline"), folder)
    for place in (folder, folder / "governed"):
        (place / "history").mkdir()
    run((*AFFLINT, "check", "deploy", "--format", "json", "--output", "governed/history/2026-11-26.json"), folder)
    history = History(folder)
    commit = history.commit()
    for ref in ("heads/A", "heads/B", "heads/REF", "remotes/origin/main"):
        history.git("update-ref", f"refs/{ref}", commit)
    return folder


@pytest.mark.skipif(os.name == "nt", reason="the programs that render are shell scripts")
@pytest.mark.parametrize("command", sorted({*commands()}))
def test_a_command_is_correct_usage(project: Path, command: str) -> None:
    environment = clean_environment(PATH=f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}")
    manifest = (project / "deploy" / "web.yaml").read_bytes()
    words = shlex.split(command.replace("worker-1", "elsewhere"))[1:]
    if "--nodes -" in command:
        # A dump of a cluster.
        manifest += b"\n---\n" + (project / "nodes.yaml").read_bytes() + DESCHEDULER
    # A report about policies takes some.
    folder = project / "governed" if words[0] == "report" else project
    done = subprocess.run([*AFFLINT, *words], cwd=folder, env=environment, input=manifest, capture_output=True, check=False)
    if b" needs the extra " in done.stderr:
        pytest.skip("an extra is not installed")
    assert done.returncode in (0, 1), done.stderr.decode()
    if words[0] == "init":
        (project / ".afflint.yaml").unlink()  # The others do without.
    if "--diff" in words:
        assert done.stderr.startswith(b"Would fix "), "beside the diff"
        return
    # Placing the whole folder reports what could not be read: the mistakes of examples/shop.
    messages = done.stderr.decode().splitlines() if words == ["place"] else []
    assert all(line.startswith("afflint: examples/shop/") for line in messages)
    assert messages or done.stderr == b""


def test_the_exit_code_that_it_promises() -> None:
    assert "It exits with 1, because\nit finds mistakes" in text()
    run((*AFFLINT, "check", "examples/shop"), ROOT, expect=1)
    run((*AFFLINT, "check", "examples/fixed"), ROOT, expect=0)


def test_ci_runs_the_commands_of_the_readme() -> None:
    lines = [line for line in "".join(blocks("sh")).splitlines() if line.startswith("python3 -m venv")]
    for_use, for_work = (line.split(" && ") for line in dict.fromkeys(lines))
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert for_use[:3] == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install -q ."]
    assert for_work[:2] == for_use[:2]
    assert not {*for_work[2:]} - {*gate}
    assert gate[-1] == for_work[-1], "and the closing line of pytest is the last of the gate"


# Snippets.


def test_the_hooks_are_those_of_the_hook_file() -> None:
    offered = re.findall(r"^- id: (\S+)", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    assert offered == ["afflint", "afflint-all", "afflint-fix"]
    assert re.findall(r"- id: (\S+)", block("yaml", "repos:")) == offered[:1], "both together report everything twice"
    assert all(f"`{name}`" in text() for name in offered[1:])


def test_the_configuration_is_one(tmp_path: Path) -> None:
    below = tmp_path / "repository"
    below.mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "placement-rules.yaml").write_text("complete: true\n", encoding="utf-8")
    [shown] = re.findall(r"^```yaml\n(# \.afflint\.yaml\n.*?)^```$", text(), re.MULTILINE | re.DOTALL)
    (below / ".afflint.yaml").write_text(shown, encoding="utf-8")
    messages = [line.split() for line in run((*AFFLINT, "config"), below).splitlines()]
    assert ["complete", "false", ".afflint.yaml:5:1"] in messages
    assert ["severity.label-not-on-template", "error", ".afflint.yaml:8:3"] in messages


def test_the_suppressions_silence_and_are_all_needed(tmp_path: Path) -> None:
    (tmp_path / "importer.yaml").write_text(block("yaml", "# afflint: ignore-file"), encoding="utf-8")
    silent = run((*AFFLINT, "check", "--fail-on", "info"), tmp_path)
    assert silent == "No findings. Read 1 document in 1 file. 5 findings suppressed.\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of examples/shop to edit in."""
    return Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))


def test_the_problem_matcher_reads_every_line(shop: Path) -> None:
    pattern = task()["problemMatcher"]["pattern"]
    lines = run((*AFFLINT, "check", "--format", "concise"), shop, expect=1).splitlines()
    matches = [re.match(pattern["regexp"], line) for line in lines]
    assert all(matches)
    read = [[match[pattern[part]] for part in ("file", "line", "column", "severity", "code")] for match in matches if match]
    assert ["cart.yaml", "19", "14", "error", "wrong-type"] in read


def editor_environment(shop: Path) -> dict[str, str]:
    """Editors start afflint by its name."""
    scripts = shop.parent / "bin"
    scripts.mkdir()
    (scripts / "afflint").write_text(f'#!/bin/sh\nexec {shlex.join(AFFLINT)} "$@"\n', encoding="utf-8")
    (scripts / "afflint").chmod(0o755)
    return clean_environment(PATH=f"{scripts}{os.pathsep}{os.environ['PATH']}", HOME=str(shop.parent), TERM="dumb")


@pytest.mark.skipif(shutil.which("vim") is None, reason="Vim is not installed")
def test_vim_jumps_to_what_a_save_finds(shop: Path) -> None:
    (shop.parent / "vimrc").write_text("filetype plugin on\n" + blocks("vim")[0], encoding="utf-8")
    shown = "call writefile(map(getqflist(), 'bufname(v:val.bufnr) . \":\" . v:val.lnum . \":\" . v:val.col . v:val.type'), 'quickfix')"
    command = ["vim", "-N", "-es", "-u", "../vimrc", "-c", "edit cart.yaml", "-c", "write", "-c", shown, "-c", "qall!"]
    run(command, shop, environment=editor_environment(shop), expect=None)
    assert (shop / "quickfix").read_text(encoding="utf-8") == "cart.yaml:7:5w\ncart.yaml:19:14e\n"


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_emacs_jumps_to_what_a_save_finds(shop: Path) -> None:
    (shop.parent / "init.el").write_text(blocks("elisp")[0], encoding="utf-8")
    script = """(progn
      (load-file "../init.el")
      (find-file "cart.yaml") (set-buffer-modified-p t) (save-buffer)
      (while (get-buffer-process "*compilation*") (accept-process-output nil 0.1))
      (next-error) (next-error)
      (set-buffer (window-buffer))
      (princ (format "%s:%d:%d" (buffer-name) (line-number-at-pos) (1+ (current-column)))))"""
    shown = run(["emacs", "--batch", "--quick", "--eval", script], shop, environment=editor_environment(shop))
    assert shown.endswith("cart.yaml:19:14")


def test_a_copy_of_the_tree_has_all_that_the_readme_names(tmp_path: Path) -> None:
    tree = copy_to(tmp_path / "tree")
    for name in re.findall(r"`((?:examples|schemas|rules)/[^`]*)`|^(CONTRIBUTING\.md)", text(), re.MULTILINE):
        assert (tree / (name[0] or name[1])).exists(), name
