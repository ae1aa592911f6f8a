"""No process that afflint starts imports a module of the tree that is linted: not in a worker, not in the editor's second process."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from afflint import workers
from checkout import clean_environment
from hostile_modules import write_modules

FILES = 400
SCRIPT = Path(__file__).with_name("started_by.py")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with enough manifests for several processes, and with a module for each name that afflint may import."""
    folder = tmp_path / "repository"
    folder.mkdir()
    write_modules(folder, tmp_path / "trace")
    for number in range(FILES):
        (folder / f"{number}.yaml").write_text(f"kind: Pod\napiVersion: v1\nmetadata: {{name: p{number}}}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_import_nothing_of_the_current_folder(method: str, hostile: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), method, "check", "--jobs", "2", "."]
    done = subprocess.run(command, cwd=hostile, env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert not (tmp_path / "trace").exists(), (tmp_path / "trace").read_text()
    assert (done.returncode, done.stderr) == (0, "")


def test_without_isolation_no_worker_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.10 does not read PYTHONSAFEPATH, nor does Python with -E: there one process does all the work, unless workers are forked."""
    assert workers._can_isolate("fork")
    monkeypatch.setattr(sys, "version_info", (3, 10))
    assert [workers._can_isolate(method) for method in ("fork", "spawn", "forkserver")] == [True, False, False]
