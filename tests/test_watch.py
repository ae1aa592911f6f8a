"""``afflint check --watch``: a real process that checks again after real edits."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from afflint.distribution import extra_needed
from checkout import clean_environment

pytest.importorskip("watchfiles", reason="watchfiles is not installed: install the extra `watch`")

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
  nodeSelector: {disk: ssd}
"""
WRONG = POD.replace("ssd", "5")
NODES = "nodes:\n- {name: one, labels: {disk: LABEL}}\n"


class Watching:
    """A process that watches, with its report in a file: its standard error shows when a run has ended."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "afflint", "check", "--watch", "--format", "concise", "--output", "report.out", *words]
        self._err = Path("err.txt")
        with self._err.open("w") as err:
            self.process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=err)
        self.read = 0

    def output(self) -> list[str]:
        """What it says next, up to the end of a run; times are left out."""
        for _ in range(600):
            text = self._err.read_text()[self.read :]
            if "watching for changes" in text:
                end = text.index("\n", text.index("watching for changes")) + 1
                self.read += end
                return re.sub(r"\[\d\d:\d\d:\d\d\] ", "", text[:end]).splitlines()
            assert self.process.poll() is None, text
            time.sleep(0.05)
        raise AssertionError("it says nothing for half a minute")

    def says(self, *lines: str) -> None:
        """Wait until it has said this at the end of a run."""
        wanted = [*lines[:-1], f"{lines[-1]}; watching for changes, press Ctrl-C to stop"]
        assert self.output() == wanted

    def says_nothing(self) -> None:
        time.sleep(1)
        assert self._err.read_text()[self.read :] == ""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "deploy").mkdir(parents=True)
    (folder / "deploy" / "web.yaml").write_text(POD)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def watch() -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(*words: str) -> Watching:
        started.append(Watching(*words))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def test_files_that_change_come_and_go(watch: Callable[..., Watching]) -> None:
    watching = watch("deploy")
    watching.says("no findings in 1 file")
    Path("deploy/web.yaml").write_text(WRONG)
    watching.says("1 error in 1 file")
    assert Path("report.out").read_text().startswith("deploy/web.yaml:6:24: error".replace("/", os.sep))
    Path("deploy/more").mkdir()
    Path("deploy/more/db.yaml").write_text(WRONG)
    watching.says("2 errors in 2 files")
    Path("deploy/more").rename("elsewhere")
    watching.says("1 error in 1 file")
    Path("new.yaml").write_text(POD)
    os.replace("new.yaml", "deploy/web.yaml")
    watching.says("no findings in 1 file")
    assert Path("report.out").read_text() == ""


def test_what_cannot_matter_is_not_a_change(watch: Callable[..., Watching]) -> None:
    """Nor is the report that it writes itself, wherever that lies."""
    watching = watch("--output", "deploy/report.json", "--format", "json")
    watching.says("no findings in 1 file")
    Path("deploy/notes.txt").write_text("x")
    (Path("deploy") / ".git").mkdir()
    Path("deploy/.git/x.yaml").write_text("x")
    watching.says_nothing()


def test_whatever_a_chart_is_made_of_is_watched_where_charts_are_rendered(watch: Callable[..., Watching]) -> None:
    watching = watch("--render", "deploy")
    watching.says("no findings in 1 file")
    Path("deploy/labels.txt").write_text("x")
    watching.says("no findings in 1 file")


def test_the_configuration_and_what_it_names(watch: Callable[..., Watching], project: Path) -> None:
    """A mistake in it is shown, and the next change is waited for."""
    (project.parent / ".git").mkdir()  # A configuration that was found reads only its repository.
    (project.parent / "nodes.yaml").write_text(NODES.replace("LABEL", "ssd"))
    watching = watch("deploy/web.yaml")
    watching.says("no findings in 1 file")
    Path(".afflint.yaml").write_text("ignroe: []\n")
    watching.says("afflint: .afflint.yaml:1:1: unknown key `ignroe`; did you mean `ignore`?", "nothing was checked")
    Path(".afflint.yaml").write_text("nodes: [../nodes.yaml]\n")
    watching.says("no findings in 2 files")
    (project.parent / "nodes.yaml").write_text(NODES.replace("LABEL", "hdd"))
    output = watching.output()
    assert output[-1].startswith("1 error"), output
    Path(".afflint.yaml").unlink()
    watching.says("no findings in 1 file")


def test_context_is_watched_as_well(watch: Callable[..., Watching]) -> None:
    Path(".afflint.yaml").write_text("context: ['deploy/other.yaml']\n")
    affine = """\
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: frontend}}}
"""
    Path("deploy/web.yaml").write_text(POD + affine)
    Path("deploy/other.yaml").write_text(POD.replace("{name: web}", "{name: other, labels: {app: Frontend}}"))
    watching = watch("deploy/web.yaml")
    output = watching.output()
    assert not output[-1].startswith("no findings"), output
    Path("deploy/other.yaml").write_text(POD.replace("{name: web}", "{name: other, labels: {app: frontend}}"))
    watching.says("no findings in 1 file")


def test_a_baseline_is_watched_as_well(watch: Callable[..., Watching]) -> None:
    Path("deploy/web.yaml").write_text(WRONG)
    command = [sys.executable, "-m", "afflint", "check", "deploy", "--write-baseline"]
    subprocess.run(command, env=clean_environment(), check=True, capture_output=True)
    watching = watch("deploy", "--baseline", ".afflint-baseline.json")
    watching.says("no findings in 1 file")
    Path(".afflint-baseline.json").write_text("{")
    assert watching.output()[-1].startswith("nothing was checked")


def test_a_folder_that_goes_and_comes_back(watch: Callable[..., Watching]) -> None:
    watching = watch("deploy")
    watching.says("no findings in 1 file")
    Path("deploy").rename("away")
    watching.says("afflint: no such file or folder: 'deploy'", "nothing was checked")
    shutil.copytree("away", "deploy")
    watching.says("no findings in 1 file")
    Path("deploy/web.yaml").write_text(WRONG)
    watching.says("1 error in 1 file")


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no interrupt to one process")
def test_an_interrupt_ends_it(watch: Callable[..., Watching]) -> None:
    watching = watch("deploy")
    watching.says("no findings in 1 file")
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(20) == 130
    watching.read = 0
    assert watching.output()[1:] == []
    assert "Traceback" not in Path("err.txt").read_text()


@pytest.mark.skipif(os.name == "nt", reason="terminals are those of POSIX")
def test_a_terminal_is_cleared_before_each_run() -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "afflint", "check", "--watch", "deploy"]
    process = subprocess.Popen(command, env=clean_environment(TERM="xterm"), stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    try:
        seen = b""
        while b"No findings" not in seen:
            seen += os.read(ours, 1000)
        assert seen.startswith(b"\x1b[2J\x1b[3J\x1b[H\x1b[1;32mNo findings")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix"], "--watch cannot be used with --fix"),
        (["--diff"], "--watch cannot be used with --diff"),
        (["--write-baseline"], "--watch cannot be used with --write-baseline"),
        (["-"], "--watch checks files, not standard input"),
        (["nowhere"], "no such file or folder: 'nowhere'"),
        (["--select", "nothing"], "--select: unknown value 'nothing'; `afflint rule` lists all rules and categories"),
    ],
)
def test_what_does_not_go_with_it(words: list[str], message: str) -> None:
    command = [sys.executable, "-m", "afflint", "check", "--watch", *words]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"afflint: {message}\n")


def test_without_watchfiles_it_says_what_to_install() -> None:
    without = "import sys; sys.modules['watchfiles'] = None; from afflint.__main__ import main; main()"
    command = [sys.executable, "-c", without, "check", "--watch"]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"afflint: {extra_needed('--watch', 'watch')}\n"
