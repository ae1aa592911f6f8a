"""Rendering in the language server: findings of rendered output appear at their origins, after the folder is opened and after each save."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deployment_text import deployment
from lsp_client import PATIENCE, Client
from rendering.real_tools import on_path
from rendering.rendered_trees import write

DEPLOYMENT = deployment("containers: [{name: web, image: nginx}]")
CHART = {
    ".git/HEAD": "",
    "chart/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "chart/values.yaml": "operator: Equals\n",
    "chart/templates/web.yaml": DEPLOYMENT
    + """\
      tolerations:
      - key: arch
        operator: {{ .Values.operator }}
        value: arm64
      {{- if .Values.operator }}
      nodeSelector: {disktype: "a b"}
      {{- end }}
""",
}
OVERLAY = {
    ".git/HEAD": "",
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "base/web.yaml": DEPLOYMENT,
    "overlay/kustomization.yaml": "resources: [../base]\npatches:\n- path: patch.yaml\n",
    "overlay/patch.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {tolerations: [{key: arch, operator: Equal, value: arm64}]}}}
""",
}
VALUES = "chart/values.yaml"
FOUND = "0:10 unknown-operator"


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def logged(client: Client) -> list[str]:
    return [each["params"]["message"] for each in client.notifications if each["method"] == "window/logMessage"]


def shown(client: Client) -> list[str]:
    return [each["params"]["message"] for each in client.notifications if each["method"] == "window/showMessage"]


@pytest.mark.usefixtures("tools")
class TestRendering:
    def test_a_finding_is_shown_at_the_value_that_causes_it(self, folder: Path) -> None:
        write(CHART, folder)
        with Client(folder, "--render") as client:
            client.open(VALUES)
            client.wait_for(VALUES, FOUND)
            (diagnostic,) = client.published[VALUES]
            assert diagnostic["message"] == "a toleration does not support the operator `Equals`; did you mean `Equal`?"
            (related,) = diagnostic["relatedInformation"]
            assert related["location"]["uri"] == client.uri("chart/templates/web.yaml")
            assert related["message"] == "the template uses the value here"
            assert logged(client) == ["afflint: Rendered 1 of 1 chart."]

    def test_the_initialization_option_turns_it_on(self, folder: Path) -> None:
        write(CHART, folder)
        with Client(folder, options={"render": True}) as client:
            client.open(VALUES)
            client.wait_for(VALUES, FOUND)

    def test_a_configuration_that_the_user_names_turns_it_on(self, folder: Path, tmp_path: Path) -> None:
        write(CHART, folder)
        write({"render.yaml": "render: [helm]\n"}, tmp_path)
        with Client(folder, "--config", str(tmp_path / "render.yaml")) as client:
            client.open(VALUES)
            client.wait_for(VALUES, FOUND)

    def test_a_template_of_a_chart_shows_its_findings(self, folder: Path) -> None:
        """Also with the language of templates, which are not checked without rendering."""
        write(CHART, folder)
        with Client(folder, "--render") as client:
            client.open("chart/templates/web.yaml", language="helm")
            client.wait_for("chart/templates/web.yaml", "14:32 invalid-label-value")
            client.change("chart/templates/web.yaml", (0, 0, 0, 0, "# web\n"))
            client.wait_for("chart/templates/web.yaml", "15:32 invalid-label-value")

    def test_the_folder_is_rendered_again_after_a_save(self, folder: Path) -> None:
        """Unsaved text is not rendered. A finding in text that changes is dropped, and the others move with the text."""
        write(CHART, folder)
        with Client(folder, "--render") as client:
            client.open(VALUES)
            client.wait_for(VALUES, FOUND)
            client.change(VALUES, (0, 0, 0, 0, "# values\n"))
            client.wait_for(VALUES, "1:10 unknown-operator")
            client.change(VALUES, (1, 10, 1, 16, "Equal"))
            client.wait_for(VALUES)
            (folder / VALUES).write_text("# values\noperator: Equal\n")
            client.save(VALUES)
            client.change(VALUES, (1, 10, 1, 15, "Exist"))
            (folder / VALUES).write_text("# values\noperator: Exist\n")
            client.save(VALUES)
            client.wait_for(VALUES, "1:10 unknown-operator")

    def test_a_patch_of_an_overlay_and_what_it_repairs(self, folder: Path) -> None:
        """A finding in a base that no overlay has is not shown, as `check --render` does not report it."""
        broken = DEPLOYMENT.replace(
            "      containers", "      tolerations: [{key: arch, operator: Equals, value: arm64}]\n      containers"
        )
        write({**OVERLAY, "base/web.yaml": broken}, folder)
        with Client(folder) as client:
            client.open("base/web.yaml")
            client.wait_for("base/web.yaml", "8:42 unknown-operator")
        with Client(folder, "--render") as client:
            client.open("base/web.yaml")
            client.wait_for("base/web.yaml", "8:42 unknown-operator")
            client.wait_for("base/web.yaml")
            (folder / "overlay/patch.yaml").write_text(OVERLAY["overlay/patch.yaml"].replace("Equal", "Equals"))
            client.open("overlay/patch.yaml")
            client.save("overlay/patch.yaml")
            client.wait_for("overlay/patch.yaml", "3:61 unknown-operator")

    def test_files_that_are_not_open(self, folder: Path) -> None:
        write(CHART, folder)
        with Client(folder, options={"render": True, "diagnostics": "workspace"}) as client:
            client.wait_for(VALUES, FOUND)
            client.wait_for("chart/templates/web.yaml", "14:32 invalid-label-value")

    def test_what_cannot_be_rendered_is_logged_once(self, folder: Path) -> None:
        write({**CHART, VALUES: "operator: Equal\n", "chart/templates/broken.yaml": "{{ fail `no value` }}\n"}, folder)
        with Client(folder, "--render") as client:
            client.open(VALUES)
            client.until(lambda: logged(client))
            (message,) = logged(client)
            assert message.startswith("afflint: Rendered 0 of 1 chart.\nNot rendered: chart (helm): ")
            client.save(VALUES)
            client.settle()
            client.until(lambda: True)
            assert logged(client) == [message]

    def test_a_kustomization_that_cannot_be_rendered_keeps_the_findings_without_rendering(self, folder: Path) -> None:
        broken = DEPLOYMENT.replace(
            "      containers", "      tolerations: [{key: arch, operator: Equals, value: arm64}]\n      containers"
        )
        write({**OVERLAY, "base/web.yaml": broken, "overlay/patch.yaml": "]"}, folder)
        with Client(folder, "--render") as client:
            client.open("base/web.yaml")
            client.until(lambda: logged(client))
            assert client.rules("base/web.yaml") == ["8:42 unknown-operator"]

    def test_later_settings_cannot_turn_it_on(self, folder: Path) -> None:
        """Editors read them from files of the folder, too."""
        write(CHART, folder)
        with Client(folder) as client:
            client.open(VALUES)
            client.notify("workspace/didChangeConfiguration", {"settings": {"afflint": {"render": True}}})
            client.until(lambda: shown(client))
            assert shown(client) == [
                "afflint: the setting `render` has no effect here: start `afflint lsp --render`, or set it as an initialization option"
            ]
            client.save(VALUES)
            client.settle()
            assert client.rules(VALUES) == []


SLOW = """\
#!{python}
import os, sys, time
open({log!r}, "a").write("started %d\\n" % os.getpid())
time.sleep(0 if os.path.exists({go!r}) else 60)
"""


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that is the only one on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_without_the_tools_one_message_says_so(folder: Path, fakes: Path) -> None:
    assert fakes.is_dir()
    write({**CHART, "web.yaml": DEPLOYMENT}, folder)
    with Client(folder, "--render") as client:
        client.open("web.yaml")
        client.until(lambda: shown(client))
        client.save("web.yaml")
        client.settle()
        assert shown(client) == ["afflint: `helm` is not on PATH, so charts are not rendered"]


@pytest.mark.parametrize("config", [{".afflint.yaml": "render: true\n"}, {"pyproject.toml": "[tool.afflint]\nrender = true\n"}])
def test_a_configuration_that_was_found_starts_nothing(folder: Path, fakes: Path, config: dict[str, str]) -> None:
    """As with `check`: the author of the folder may be unknown."""
    for name in ("helm", "kustomize", "kubectl", "unshare", "true"):
        program(fakes, name, f"#!/bin/sh\necho {name} >> {fakes}/log\n")
    write({**CHART, **OVERLAY, **config}, folder)
    with Client(folder) as client:
        client.open(VALUES)
        client.settle()
        client.save(VALUES)
        client.save(next(iter(config)))
        client.settle()
        (note,) = logged(client)
        assert note.endswith("`render` needs --render on the command line, or --config with this file")
    assert not (fakes / "log").exists()


@pytest.mark.skipif(os.name == "nt", reason="the programs are scripts")
def test_a_save_cancels_the_render_that_runs(folder: Path, fakes: Path, tmp_path: Path) -> None:
    """With the programs that it has started. Meanwhile the server answers and shows what needs no rendering."""
    log, go = tmp_path / "log", tmp_path / "go"
    program(fakes, "helm", SLOW.format(python=sys.executable, log=str(log), go=str(go)))
    pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {nodeSelector: {disktype: 1}, containers: [{name: a, image: a}]}\n"
    write({**CHART, "pod.yaml": pod}, folder)
    with Client(folder, "--render") as client:
        client.open("pod.yaml")
        client.wait_for("pod.yaml", "3:32 wrong-type")
        poll(client, log.exists)
        client.save("pod.yaml")
        poll(client, lambda: len(log.read_text().split()) == 4)
        first, second = (int(line.split()[1]) for line in log.read_text().splitlines())
        assert not _is_running(first)
        assert client.request("textDocument/hover", client.at("pod.yaml", 3, 32)) is not None
    assert not _is_running(second)


def poll(client: Client, condition: Callable[[], bool]) -> None:
    """Handle messages until a condition is true that no message announces."""
    end = time.monotonic() + PATIENCE
    while not condition():
        client._next(0.1)
        assert time.monotonic() < end


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{number}/status").read_text() if Path("/proc/self/status").exists() else True


def test_an_interrupt_at_any_time_prints_nothing() -> None:
    """Python prints an interrupt that arrives in a finalizer or after the end of `main`."""
    program = """\
import signal, threading, time
from afflint.lsp.indexer.renderer import _interrupt_at_end
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=_interrupt_at_end, args=(iter(()),), daemon=True).start()
while True: time.sleep(1)
"""
    ended = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
    assert ended.returncode != 0
    assert ended.stderr == b""
