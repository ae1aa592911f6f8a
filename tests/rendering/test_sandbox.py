"""The limits of programs that `--render` starts: no network, limited memory, and few environment variables."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from afflint.programs import sandbox
from afflint.programs.lookup import find_program
from afflint.rendering.programs import ProgramRunner, RenderError
from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory and the network of a process")


def replaced(folder: Path, script: str) -> str:
    """A program that a test writes."""
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@on_linux
def test_a_template_that_allocates_too_much_memory_is_stopped(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "helm")
    bomb = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ repeat 2000000000 "a" | quote }}}\n'
    write({"chart/Chart.yaml": CHART, "chart/templates/a.yaml": bomb})
    (failed,) = checking.report()["summary"]["rendered"]["failed"]
    assert failed["reason"] == "helm needed more than 1024 MB of memory"


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
@pytest.mark.parametrize(
    "printed",
    [
        "fatal error: runtime: out of memory",
        "fork/exec: cannot allocate memory",
        "runtime/cgo: pthread_create failed: Resource temporarily unavailable",
        "runtime: failed to create new OS thread (have 9 already; errno=11)",
    ],
)
def test_each_message_of_the_go_runtime_at_the_memory_limit_has_one_reason(tmp_path: Path, printed: str) -> None:
    tool = replaced(tmp_path, f"echo '{printed}' >&2; exit 2")
    with pytest.raises(RenderError) as error:
        ProgramRunner(network=False).output([tool], "it")
    assert error.value.reason == "tool needed more than 1024 MB of memory"


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_a_tool_sees_only_the_environment_that_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "HOME": "/home/me", "AWS_SECRET_ACCESS_KEY": "a", "LC_ALL": "C"})
    os.environ.update(
        GIT_DIR=".git",
        GIT_WORK_TREE=".",
        GIT_INDEX_FILE="i",
        GIT_ALLOW_PROTOCOL="ext",
        HELM_CACHE_HOME="/cache",
        HELM_KUBETOKEN="b",
        KUBECONFIG="c",
        GIT_SSH="d",
        SSH_AUTH_SOCK="e",
        NO_PROXY="*",
    )
    tool = replaced(tmp_path, "/usr/bin/env")
    shell = {"PWD", "SHLVL", "_"}

    def seen(*, network: bool) -> dict[str, str]:
        lines = ProgramRunner(network=network).output([tool], "it").decode().splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines) if name not in shell}

    offline = seen(network=False)
    proxies = {name for proxy in ("http_proxy", "https_proxy", "all_proxy") for name in (proxy, proxy.upper())}
    helm = {name for name in offline if name.startswith("HELM_")}
    assert {*offline} == {"PATH", "HOME", "LC_ALL", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL", "GOMEMLIMIT"} | proxies | helm
    assert all(os.path.isabs(offline[name]) and "afflint-run-" in offline[name] for name in helm)
    assert not os.listdir(offline["HELM_PLUGINS"])
    online = seen(network=True)
    assert online["GIT_ALLOW_PROTOCOL"] == "http:https"
    assert {*online} == {
        "PATH", "HOME", "LC_ALL", "HELM_CACHE_HOME", "GIT_ALLOW_PROTOCOL", "GIT_TERMINAL_PROMPT", "GOMEMLIMIT",
        "GIT_SSH", "SSH_AUTH_SOCK", "NO_PROXY",
    }  # fmt: skip


@on_linux
def test_a_tool_has_no_network_interface(tmp_path: Path) -> None:
    tool = replaced(tmp_path, "exec /bin/cat /proc/net/dev")
    if not any("unshare" in each for each in sandbox.prefix(tool, network=False)):
        pytest.skip("this system allows no network namespaces")
    own = Path("/proc/net/dev").read_text(encoding="utf-8")
    shown = ProgramRunner(network=False).output([tool], "it").decode()
    assert [line.split(":")[0].strip() for line in shown.splitlines()[2:]] == ["lo"]
    assert shown.splitlines()[2].split()[1] == "0", "nothing ever came through it"
    assert ProgramRunner(network=True).output([tool], "it").decode().count("\n") == own.count("\n")


@on_linux
def test_a_tool_cannot_reach_a_loopback_address(tmp_path: Path) -> None:
    connect = f"exec {sys.executable} -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))'"
    tool = replaced(tmp_path, connect)
    if not any("unshare" in each for each in sandbox.prefix(tool, network=False)):
        pytest.skip("this system allows no network namespaces")
    with pytest.raises(RenderError) as error:
        ProgramRunner(network=False).output([tool], "it")
    assert error.value.reason == "rendering requires the network for an unknown URL; `--render-network` allows it"


def test_without_namespaces_the_tool_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], 1)

    sandbox._allowed.cache_clear()
    monkeypatch.setattr(sandbox.subprocess, "run", refused)
    try:
        assert sandbox.prefix("/usr/bin/helm", network=False) == ()
    finally:
        sandbox._allowed.cache_clear()


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_a_program_of_the_current_folder_is_never_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows would look there first, and so does any system whose PATH has a relative folder."""
    replaced(tmp_path, "echo ran")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    assert find_program("tool") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("tool") == str(tmp_path / "tool")


@pytest.mark.parametrize(
    "address", ["file://TOP//app", "file://TOP//app?ref=--upload-pack=touch%20TOP/started%3B", "ext::touch TOP/started"]
)
def test_git_reads_no_path_and_starts_no_program_for_a_kustomization(
    address: str, checking: Checking, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, "kustomize", "git")
    top = tmp_path_factory.mktemp("outside")
    write({"app/kustomization.yaml": "resources: [pod.yaml]\n", "app/pod.yaml": POD}, top)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=top, check=True, timeout=300)
    write({".git/HEAD": "", "kustomization.yaml": f"resources: ['{address.replace('TOP', str(top))}']\n"})
    shown = checking("--render", "--render-network")
    assert "Not rendered: . (kustomize): " in shown
    assert "not valid!" not in shown
    assert not (top / "started").exists()


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: 'not valid!'}}\nspec: {containers: [{name: web, image: nginx}]}\n"
