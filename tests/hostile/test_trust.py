"""Over a hostile repository each command does what docs/security-effects.md says, and nothing else, as `strace` sees it."""

import asyncio
import json
import multiprocessing
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML
from traced import Effects, can_trace, effects, traced, tracer

from checkout import ROOT, clean_environment
from git_history import History
from hostile_modules import write_modules
from lsp_client import Client
from rendering.real_tools import tool

pytestmark = pytest.mark.skipif(not can_trace(), reason="strace is not installed, or may not trace here")

PAGE = (ROOT / "docs" / "security-effects.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`(?:kubectl )?afflint[^|]*|action\.yml[^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
COMMANDS = {row[0].strip("`"): row[1:] for row in ROWS if row[0].startswith("`")}
STEPS: dict[str, dict[str, Any]] = {
    step["name"]: step for step in YAML(typ="safe", pure=True).load(ROOT / "action.yml")["runs"]["steps"] if "run" in step
}
FILES = 400

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disktype: 1}
  containers: [{name: web, image: "nginx:1.27"}]
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: one, labels: {kubernetes.io/hostname: one}}\n"
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
TEMPLATE = 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: {{ .Files.Get "passwd" | quote }}}\n'
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: "--post-renderer=./run-me"}
spec: {source: {path: chart, helm: {valueFiles: ['../../outside.yaml']}}}
"""
EXAMPLE = "# Example\n\n```yaml bad\nkind: Pod\n```\n"
PLUGIN = """\
apiVersion: a/v1
kind: A
metadata: {name: a, annotations: {config.kubernetes.io/function: 'exec: {path: ./run-me}'}}
"""
RUN_ME = "#!/bin/sh\ntouch pwned\n"


class Place(NamedTuple):
    """Where a command runs, and where it may write beside that."""

    repository: Path
    cache: Path
    temporary: Path
    trace: Path
    environment: dict[str, str]

    def known(self, seen: Effects) -> tuple[set[str], set[str], set[str]]:
        """What was done, in the words of the table."""
        written = {self._name(path) for path in seen.written}
        started = {re.sub(r"^python[\d.]*$", "python", name) for name in seen.started}
        return written - {""}, {*seen.connected}, started

    def _name(self, path: str) -> str:
        path = os.path.join(self.repository, path)
        for folder, name in ((self.cache, "the cache"), (self.temporary, "temporary files")):
            if path == str(folder) or path.startswith(f"{folder}/"):
                return name
        top = f"{self.repository}/"
        # A file is written under another name, and renamed.
        return re.sub(r"(?:\.[0-9a-f]+\.tmp)+$", "", path.removeprefix(top)) if path.startswith(top) else path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A repository of an attacker who wants to write, to connect, or to run a program."""
    repository = tmp_path / "repository"
    for name in ("repository", "cache", "temporary", "home"):
        (tmp_path / name).mkdir()
    files = {
        "web.yaml": POD,
        "nodes.yaml": NODE,
        "policies.yaml": "extends: ['afflint:strict']\n",
        "history/2026-11-26.json": '{"version": 1, "findings": [], "summary": {}}',
        "examples/example.md": EXAMPLE,
        "application.yaml": APPLICATION,
        "chart/Chart.yaml": CHART,
        "chart/templates/a.yaml": TEMPLATE,
        "kustomization.yaml": "resources: ['http://127.0.0.1:9/a']\n",
        "local/kustomization.yaml": "resources: [web.yaml]\n",
        "local/web.yaml": POD.replace("disktype: 1", "disktype: ssd"),
        "remote/kustomization.yaml": "resources: ['ssh://git@localhost/a.git//b']\ngenerators: [made.yaml]\n",
        "remote/made.yaml": PLUGIN,
        "remote/run-me": RUN_ME,
        ".git/HEAD": "",
        ".tool-versions": "helm 0.0.1\nkustomize 0.0.1\n",
    }
    for name in ("run-me", "kustomize", "kubectl", "helm", "git", "python", "python3", "afflint-run", "unshare", "setpriv", "true"):
        files[name] = RUN_ME
    for name, text in files.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text, encoding="utf-8")
        (repository / name).chmod(0o755)
    (tmp_path / "outside.yaml").write_text("a: b\n", encoding="utf-8")
    (repository / "passwd").symlink_to("/etc/passwd")
    (repository / "lib").symlink_to(tmp_path)
    write_modules(repository, tmp_path / "code-of-the-tree-ran")
    environment = clean_environment(
        PYTHONDONTWRITEBYTECODE="1",
        HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        TMPDIR=str(tmp_path / "temporary"),
        PATH=os.pathsep.join([*dict.fromkeys(os.path.dirname(tool(name)) for name in ("helm", "kustomize")), "/usr/bin", "/bin"]),
    )
    del environment["AFFLINT_NO_CACHE"]
    return Place(repository, tmp_path / "cache", tmp_path / "temporary", tmp_path / "trace", environment)


def afflint() -> str:
    """The command as it is installed. `python -m afflint` imports from the current folder before any line of afflint runs."""
    found = shutil.which("afflint", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("afflint is not installed as a command")
    return found


def allowed(cell: str) -> set[str]:
    return {*cell.split(", ")} - {"nothing"}


def expect(place: Place, seen: Effects, row: tuple[str, ...]) -> None:
    written, connected, started = place.known(seen)
    assert written <= allowed(row[0])
    assert started <= allowed(row[2])
    assert not connected or row[1] != "nothing", connected
    assert not (place.repository.parent / "code-of-the-tree-ran").exists()
    assert not [*place.repository.rglob("pwned")]


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each.startswith("afflint ") and not each.startswith(("afflint lsp", "afflint mcp"))]
)
def test_a_command_does_what_the_table_says(command: str, place: Place) -> None:
    name, *words = shlex.split(command)
    assert name == "afflint"
    if "--jobs" in words:
        for number in range(FILES):
            (place.repository / f"{number}.yaml").write_text(POD, encoding="utf-8")
    if {"HEAD", "--index"} & {*words}:
        commit_with_hostile_configuration(place.repository)
    code, printed, seen = traced([afflint(), *words], place.repository, place.environment, place.trace)
    assert code in (0, 1), printed
    expect(place, seen, COMMANDS[command])


KUBECTL = """\
#!/bin/sh
echo "$*" >&2
case "$*" in
  *api-resources*) echo nodes; echo pods;;
  *) echo '{"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}';;
esac
"""


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("kubectl ")])
def test_the_plugin_of_kubectl_does_what_the_table_says(command: str, place: Place) -> None:
    """It starts the kubectl of the user, even where the current folder has one, and the folder is hostile."""
    own = place.repository.parent / "own"
    own.mkdir()
    objects = (json.dumps(YAML(typ="safe", pure=True).load(text)) for text in (NODE, POD))
    text = KUBECTL
    for name, data in zip(("NODE", "POD"), objects, strict=True):
        text = text.replace(name, data)
    (own / "kubectl").write_text(text, encoding="utf-8")
    (own / "kubectl").chmod(0o755)
    (place.repository / ".afflint.yaml").write_text("render: true\n", encoding="utf-8")
    environment = {**place.environment, "PATH": f"{own}{os.pathsep}{place.environment['PATH']}"}
    words = shlex.split(command)
    program = [str(Path(afflint()).with_name("kubectl-afflint")), *words[2:]]
    code, printed, seen = traced(program, place.repository, environment, place.trace)
    assert code in (0, 1), printed
    assert "kubectl" in seen.started
    expect(place, seen, COMMANDS[command])


def commit_with_hostile_configuration(repository: Path) -> None:
    """Make it a repository of Git whose configuration names a program wherever Git might start one, and change a manifest."""
    shutil.rmtree(repository / ".git")
    history = History(repository)
    history.commit({".gitattributes": "* filter=evil diff=evil\n"})
    run_me = str(repository / "run-me")
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "filter.evil.clean", "filter.evil.smudge"):
        history.git("config", key, run_me)
    for key in ("filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external", "gpg.program", "alias.rev-parse"):
        history.git("config", key, run_me)
    history.git("config", "core.hooksPath", str(repository))
    (repository / "web.yaml").write_text(POD.replace("disktype: 1", "disktype: ssd"), encoding="utf-8")


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_do_nothing_more_however_they_are_started(method: str, place: Place) -> None:
    for number in range(FILES):
        (place.repository / f"{number}.yaml").write_text(POD, encoding="utf-8")
    script = Path(__file__).with_name("started_by.py")
    command = [sys.executable, script, method, "check", "--jobs", "2"]
    code, printed, seen = traced(command, place.repository, place.environment, place.trace)
    assert code == 1, printed[-300:]
    expect(place, seen, ("the cache, temporary files", "nothing", "nothing" if method == "fork" else "python"))


@pytest.mark.parametrize("command", ["afflint lsp", "afflint lsp --render"])
def test_the_language_server_does_what_the_table_says(command: str, place: Place) -> None:
    (place.repository / ".afflint.yaml").write_text("render: true\n", encoding="utf-8")
    words = shlex.split(command)[1:]
    variables = [f"{name}={place.environment[name]}" for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "PATH")]
    with Client(place.repository, command=["env", "-u", "AFFLINT_NO_CACHE", *variables, *tracer(place.trace), afflint(), *words]) as client:
        client.open("web.yaml")
        client.settle()
        client.until(lambda: [each for each in client.notifications if each["method"] == "window/logMessage"])
        assert client.rules("web.yaml") == ["4:17 unknown-node-label", "4:27 wrong-type"]
    seen = effects(place.trace)
    assert ("helm" in seen.started) == ("--render" in words)
    expect(place, seen, COMMANDS[command])


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_the_action_does_what_the_table_says(step: str, place: Place) -> None:
    """The first needs the package index, as the tests of the wheel do."""
    (row,) = [row[1:] for row in ROWS if row[0] == f"action.yml, {step}"]
    script = place.temporary / "step.sh"
    script.write_text(STEPS[step]["run"], encoding="utf-8")
    checkout = place.temporary.with_name("afflint-v1")
    checkout.symlink_to(ROOT)  # pip would keep a wheel of a folder with such a name, which looks like a name and a version.
    inputs = {"ACTION": str(checkout), "TEMP_FOLDER": str(place.temporary), "BIN": os.path.dirname(afflint()), "PATHS": ".", "CODE": "0"}
    inputs |= {"ARGS": "--exit-zero", "ANNOTATIONS": "true", "SUMMARY": "true", "SARIF": "", "UPLOAD": "false"}
    inputs |= {"BASE": "main", "DIFF": "1", "REPOSITORY": "a/b", "NUMBER": "1", "GH_TOKEN": ""}
    inputs |= {name: str(place.temporary / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{place.environment['PATH']}"
    environment = {**place.environment, **inputs, "PATH": path}
    # pip compiles what it installs even so; a runner has no folder for that outside the environment.
    environment.pop("PYTHONPYCACHEPREFIX", None)
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script]
    code, printed, seen = traced(command, place.repository, environment, place.trace)
    assert code == 0, printed[-500:]
    expect(place, seen, row)


# What a configuration that is found in the repository may not do.

FOUND = {
    "output": "format: concise\noutput: ../bashrc\n",
    "output through a link": "format: concise\noutput: lib/bashrc\n",
    "baseline": "baseline: ../bashrc\n",
    "render": "render: true\n",
    "extends": "extends: [../outside.yaml]\n",
    "policies": "policies: ['../*.yaml']\n",
}


@pytest.mark.parametrize("key", FOUND)
def test_a_found_configuration_writes_and_starts_nothing(key: str, place: Place) -> None:
    (place.repository / ".afflint.yaml").write_text(FOUND[key], encoding="utf-8")
    (place.repository.parent / "bashrc").write_text("mine", encoding="utf-8")
    for more in ([], ["--write-baseline"]):
        _, _, seen = traced([afflint(), "check", *more], place.repository, place.environment, place.trace)
        expect(place, seen, ("the cache, .afflint-baseline.json" if more else "the cache", "nothing", "nothing"))
    assert (place.repository.parent / "bashrc").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("options", [[], ["--allow-write"]])
def test_the_server_for_agents_does_what_the_table_says(options: list[str], place: Place) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from mcp.client import Client as AgentClient
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def call() -> list[bool]:
        command = ["-u", "AFFLINT_NO_CACHE", *tracer(place.trace), afflint(), "mcp", *options]
        parameters = StdioServerParameters(command="env", args=command, env=place.environment, cwd=place.repository)
        tools = ["check", "fix", *(["apply_fixes"] if options else []), "explain_rule", "place"]
        async with AgentClient(stdio_client(parameters)) as client:
            return [(await client.call_tool(tool, {})).is_error for tool in tools]

    assert not any(asyncio.run(call()))
    expect(place, effects(place.trace), COMMANDS[shlex.join(["afflint", "mcp", *options])])


def test_each_program_of_afflint_has_a_row() -> None:
    assert set(STEPS) == {row[0].removeprefix("action.yml, ") for row in ROWS if row[0].startswith("action")}
    subcommands = {command.split()[1] for command in COMMANDS if command.startswith("afflint ")}
    assert {command.split()[2] for command in COMMANDS if command.startswith("kubectl ")} == {"place", "why", "check", "dump"}
    assert subcommands >= {"check", "config", "diff", "init", "lsp", "mcp", "place", "report", "rule", "test"}
