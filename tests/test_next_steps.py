"""After a first run without findings, a person sees what to run next, and a program does not."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT, clean_environment

CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
TEMPLATE = "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ .Release.Name }}'}\nspec: {containers: [{name: a, image: a}]}\n"


def on_a_terminal(folder: Path, *words: str) -> str:
    """What a terminal shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "afflint", "check", "--color", "never", *words]
    environment = clean_environment(TERM="xterm")
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:  # Linux reports the end of a terminal as an error.
                break
            if not block:
                break
            shown += block
        process.wait()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for path in (ROOT / "examples" / "fixed").glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_the_next_commands_follow_the_summary(shop: Path) -> None:
    assert on_a_terminal(shop).endswith(
        """No findings. Read 6 documents in 5 files.

Next:
  afflint init                      write a configuration for this repository
  afflint place --nodes nodes.yaml  show where replicas run; `kubectl get nodes -o yaml` writes nodes.yaml
"""
    )


def test_charts_that_were_not_rendered_come_first(shop: Path) -> None:
    (shop / "chart" / "templates").mkdir(parents=True)
    (shop / "chart" / "Chart.yaml").write_text(CHART, encoding="utf-8")
    (shop / "chart" / "templates" / "pod.yaml").write_text(TEMPLATE, encoding="utf-8")
    shown = on_a_terminal(shop, ".")
    if "first: it is not on PATH" in shown:
        assert "--render ." not in shown.partition("Next:")[2]
    else:
        assert "Next:\n  afflint check --render .  also check what charts" in shown


@pytest.mark.parametrize("words", [["-q"], ["--format", "concise"], ["missing-folder"]])
def test_not_where_another_output_is_asked_for(shop: Path, words: list[str]) -> None:
    assert "Next:" not in on_a_terminal(shop, *words)


def test_not_in_a_repository_with_a_configuration(shop: Path) -> None:
    (shop / ".afflint.yaml").write_text("fail-on: error\n", encoding="utf-8")
    assert "Next:" not in on_a_terminal(shop)


def test_not_beside_findings(shop: Path) -> None:
    (shop / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {a: 1}}\n", encoding="utf-8")
    assert "Next:" not in on_a_terminal(shop)


def test_not_in_a_pipe(shop: Path) -> None:
    command = [sys.executable, "-m", "afflint", "check"]
    done = subprocess.run(command, cwd=shop, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.stdout + done.stderr == "No findings. Read 6 documents in 5 files.\n"
