"""--kustomize and --helm run the user's program and check its output; scripts on PATH replace the programs here."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.rendering import programs as rendering
from afflint.rendering.builds import RenderOptions, render_roots
from afflint.rendering.programs import RenderError
from checkout import clean_environment

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  nodeSelector: {zone: 1}
  containers: [{name: till, image: "nginx:1.27"}]
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_output_of_kustomize_is_checked_and_named(programs: Path, tmp_path: Path) -> None:
    program(programs, "kustomize", f"""[ "$1" = build ] || exit 9\n/bin/cat <<'END'\n{POD}END""")
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    source = rendering.kustomize(str(overlay))
    found = run([source], default_settings()).findings
    assert [(finding.rule, finding.file, finding.span.line, finding.object.name) for finding in found] == [
        ("wrong-type", f"<kustomize {overlay}>", 5, "till")
    ]


def test_kubectl_replaces_a_missing_kustomize(programs: Path, tmp_path: Path) -> None:
    program(programs, "kubectl", 'echo "kind: $1"')
    assert rendering.kustomize(str(tmp_path)).data == b"kind: kustomize\n"


def test_helm_gets_values_files_as_separate_arguments(programs: Path, tmp_path: Path) -> None:
    program(programs, "helm", 'for each in "$@"; do echo "# $each"; done')
    chart = tmp_path / "a chart; rm -rf x"
    chart.mkdir()
    data = rendering.helm(str(chart), [str(tmp_path / "v 1.yaml")]).data
    assert data is not None
    assert data.decode().splitlines() == ["# template", "# release", f"# {chart}", "# --values", f"# {tmp_path / 'v 1.yaml'}"]


def test_a_path_is_never_taken_for_an_option(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("helm", "kustomize"):
        program(programs, name, 'for each in "$@"; do echo "# $each"; done')
    monkeypatch.chdir(tmp_path)
    for name in ("--post-renderer=x", "-k", "-v.yaml"):
        (tmp_path / name).mkdir()
    chart, folder = rendering.helm("--post-renderer=x", ["-v.yaml"]).data, rendering.kustomize("-k").data
    assert chart == f"# template\n# release\n# {tmp_path}/--post-renderer=x\n# --values\n# {tmp_path}/-v.yaml\n".encode()
    assert folder == f"# build\n# {tmp_path}/-k\n".encode()


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  source: {path: chart, helm: {releaseName: RELEASE}}
"""
RELEASE_OF_FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: RELEASE}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: here}}}
"""


@pytest.mark.parametrize("manifest", [APPLICATION, RELEASE_OF_FLUX])
@pytest.mark.parametrize("name", ["--post-renderer=./run-me", "-fvalues.yaml", "a b"])
def test_the_name_of_a_release_is_never_taken_for_an_option(manifest: str, name: str, programs: Path, tmp_path: Path) -> None:
    program(programs, "helm", 'for each in "$@"; do echo "# $each"; done')
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (tmp_path / "web.yaml").write_text(manifest.replace("RELEASE", json.dumps(name)))
    (build,) = render_roots([str(tmp_path / "web.yaml"), str(tmp_path / "chart" / "Chart.yaml")], RenderOptions(("helm",))).builds
    template, release, copy, option, served = build.output.decode().splitlines()
    assert (template, release, option) == ("# template", "# release", "# --api-versions")
    assert copy.endswith("/chart")
    assert "batch/v1/CronJob" in served


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("render", [rendering.kustomize, rendering.helm])
def test_a_missing_program_is_named_with_an_alternative(render: object, tmp_path: Path) -> None:
    assert callable(render)
    with pytest.raises(RenderError, match=r"on PATH; or pipe its output into `afflint check -`"):
        render(str(tmp_path))


def test_a_failure_shows_the_error_of_the_program(programs: Path, tmp_path: Path) -> None:
    program(programs, "kustomize", "echo 'no such base: ../base' >&2; exit 3")
    with pytest.raises(RenderError, match=r"kustomize failed with exit code 3 .*no such base: \.\./base"):
        rendering.kustomize(str(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="pipes cannot be waited for here")
def test_a_program_with_endless_output_is_stopped(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_MAX_OUTPUT", 3 << 20)
    program(programs, "kustomize", "while :; do echo complaint >&2; /bin/cat /dev/zero; done")
    with pytest.raises(RenderError, match="kustomize wrote more than 3 MB"):
        rendering.kustomize(str(tmp_path))


def test_a_program_that_hangs_is_stopped(programs: Path, tmp_path: Path) -> None:
    program(programs, "kustomize", "exec /bin/sleep 60")
    with pytest.raises(RenderError, match="did not finish within"):
        rendering.kustomize(str(tmp_path), time_limit=0.2)


@pytest.mark.parametrize(("render", "complaint"), [(rendering.kustomize, "requires a folder"), (rendering.helm, "requires a chart")])
def test_a_path_that_does_not_exist(render: object, complaint: str, tmp_path: Path) -> None:
    assert callable(render)
    with pytest.raises(RenderError, match=complaint):
        render(os.path.join(tmp_path, "nowhere"))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ('E1121 19:52:54.083092 17819 run.go:72] "command failed" err="no such \\"base\\": x"', 'no such "base": x'),
        ("warning: old\nError: no such base\n  line 2", "Error: no such base line 2"),
        ("a" * 400 + "b" * 220, "a" * 80 + " … " + "b" * 220),
        ("word " * 100, "word " * 16 + "… " + "word " * 43 + "word"),
        ("words " * 100, "words " * 13 + "… " + "words " * 35 + "words"),
    ],
)
def test_log_output_around_an_error_is_left_out(printed: str, reason: str, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(printed)
    program(programs, "kustomize", f"/bin/cat {tmp_path / 'printed'} >&2; exit 1")
    with pytest.raises(RenderError) as error:
        rendering.kustomize(str(tmp_path))
    assert str(error.value).endswith(f">: {reason}")


def is_there(process: int) -> bool:
    """Whether a process still runs. One that was ended exists until its exit code is read."""
    for _ in range(250):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_while_a_program_starts_ends_it(jobs: int, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a program may run long before its caller has noted that it does."""
    program(programs, "sleeper", "exec /bin/sleep 60")
    start, started = subprocess.Popen, []

    def start_and_interrupt(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = start(*arguments, **options)
        started.append(process.pid)
        os.kill(os.getpid(), signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", start_and_interrupt)
    runner = rendering.ProgramRunner(network=True, jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        runner.each(lambda name: runner.output([str(programs / name)], name), ["sleeper"])
    assert len(started) == 1
    assert not is_there(started[0])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_running_programs(jobs: str, programs: Path, tmp_path: Path) -> None:
    program(programs, "kustomize", f"echo $$ > {tmp_path}/$$.pid; exec /bin/sleep 60")
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("resources: []\n")
    command = [sys.executable, "-m", "afflint", "check", "--render", "--jobs", jobs, "one", "two", "three"]
    environment = clean_environment(PATH=str(programs))
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while len(started := [int(each.stem) for each in tmp_path.glob("*.pid")]) < int(jobs):
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130
    assert not [process for process in started if is_there(process)]
    assert len([*tmp_path.glob("*.pid")]) == int(jobs), "nothing else was started"


def test_an_interrupt_ends_computations() -> None:
    """It may take long to find out what a chart does, without any program."""
    begun, finished = Event(), Event()

    def work(name: str) -> None:
        if name == "interrupted":
            begun.wait()
            raise KeyboardInterrupt
        begun.set()
        for _ in range(10**9):
            pass
        finished.set()

    with pytest.raises(KeyboardInterrupt):
        rendering.ProgramRunner(network=False, jobs=2).each(work, ["interrupted", "computing"])
    assert not finished.is_set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("from https://me:secret@host/x: 404", "from https://host/x: 404"),
        ("HTTPS://secret@host/x", "HTTPS://host/x"),
        ("ssh://git:secret@host/x and git@host:x", "ssh://git@host/x and git@host:x"),
        ("http://host:80/a@b", "http://b"),
        ("'https://me:sec@ret@host/x/y?ref=1'", "'https://host/x/y?ref=1'"),
        ("https://me:sec/ret@host/x//y", "https://host/x//y"),
        ("git::https://me:sec'ret@host/x", "git::https://host/x"),
        ('cannot get "https://host/x?token=secret&ref=v1": 404', 'cannot get "https://host/x?ref=v1": 404'),
        ("no address: me@host and a?b=c", "no address: me@host and a?b=c"),
    ],
)
def test_credentials_in_an_address_are_not_shown(text: str, shown: str) -> None:
    assert RenderError(text).reason == shown
