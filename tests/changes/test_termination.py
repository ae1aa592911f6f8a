"""A run that is terminated leaves neither a copy of the repository nor a program behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from afflint.source import temporary_folders
from afflint.source.temporary_folders import TemporaryFolder, temporary_folder
from git_history import History

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")


def started(folder: Path, temporary: Path, program: str) -> subprocess.Popen[bytes]:
    """Start `afflint diff HEAD` with a Git that does not answer once it lists the contents of files, and wait for that."""
    tools = folder / "tools"
    tools.mkdir()
    git = tools / "git"
    hang = f'case "$*" in *"--batch"*) echo $$ > {folder}/running; {program};; esac'
    git.write_text(f'#!/bin/sh\n{hang}\nPATH="{os.environ["PATH"]}" exec git "$@"\n')
    git.chmod(0o755)
    history = History(folder / "repository")
    history.commit({f"{number}.yaml": f"a: {number}\n" for number in range(3)})
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(temporary)}
    # With nohup, the tests ignore SIGHUP, and so would the program that they start.
    run = subprocess.Popen(
        [sys.executable, "-m", "afflint", "diff", "HEAD"],
        cwd=history.root,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    while not (folder / "running").exists() or not (folder / "running").read_text().strip():
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    return run


def is_running(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(process: int) -> bool:
    """Whether a process that was killed ends; that takes a moment."""
    for _ in range(5_000):
        if not is_running(process):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_removes_the_files_of_the_commit_and_ends_git(tmp_path: Path, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = started(tmp_path, temporary, "exec sleep 1000")
    assert list(temporary.iterdir())
    run.send_signal(number)
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 128 + number
    assert (output, errors.strip()) == (b"", b"")
    assert not list(temporary.iterdir())
    assert ends(int((tmp_path / "running").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a program with the one that has started it")
def test_git_ends_even_if_afflint_is_killed_and_the_next_run_removes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = started(tmp_path, temporary, "exec sleep 1000")
    run.kill()
    run.communicate()
    assert ends(int((tmp_path / "running").read_text()))
    left = list(temporary.iterdir())
    assert left
    monkeypatch.setattr(temporary_folders, "_NEW", -1)
    with temporary_folder(str(temporary)) as folder:
        assert [each.name for each in temporary.iterdir()] == [os.path.basename(folder)]


def test_the_folder_of_a_run_that_lives_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_folders, "_NEW", -1)
    (tmp_path / "afflint-run-link").symlink_to(tmp_path.parent)
    other = TemporaryFolder(str(tmp_path))
    temporary_folders._searched.discard(str(tmp_path))
    with temporary_folder(str(tmp_path)):
        assert os.path.isdir(other.path)
    other.remove()
    assert not os.path.exists(other.path)
    assert tmp_path.parent.is_dir()


def test_a_new_folder_is_not_removed_before_it_is_locked(tmp_path: Path) -> None:
    (tmp_path / "afflint-run-new").mkdir()
    with temporary_folder(str(tmp_path)):
        assert (tmp_path / "afflint-run-new").is_dir()


def test_a_clone_with_the_name_of_a_temporary_folder_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The author of a repository chooses the name that `git clone` gives to its folder."""
    monkeypatch.setattr(temporary_folders, "_NEW", -1)
    left = tmp_path / "afflint-run-abcdefgh"
    left.mkdir(0o700)
    kept = [tmp_path / name for name in ("afflint-run-abcdefg1", "afflint-run-abcdefg2", "afflint-run-tests")]
    kept[0].mkdir(0o755)
    for folder in kept[1:]:
        folder.mkdir(0o700)
    (kept[1] / ".git").mkdir()
    with temporary_folder(str(tmp_path)):
        assert not left.exists()
        assert all(folder.is_dir() for folder in kept)
