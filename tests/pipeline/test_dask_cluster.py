"""The map step on a Dask cluster: a real scheduler and real workers on this machine, and what becomes of a run when they fail."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from afflint import __version__
from afflint.distribution import extra_needed
from afflint.workers import ClusterError, address
from checkout import clean_environment

distributed = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import distributed"], capture_output=True, check=False).returncode != 0,
    reason="the extra `dask` is not installed",
)

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
  nodeSelector: {disk: 5}
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: MEANT}}}
"""
SLOW = """\
import os, pathlib, time
from afflint.pipeline.map_step import Checker
def slow(self, name, data, kept=None, check=Checker.check):
    pathlib.Path(f"begun-{os.getpid()}").touch()
    time.sleep(0.02)
    return check(self, name, data)
if Checker.check.__name__ == "check":  # Dask loads this twice.
    Checker.check = slow
"""
DEADLY = "import os\nfrom afflint.pipeline.map_step import Checker\nChecker.check = lambda *_: os._exit(9)\n"
OTHER_VERSION = "from afflint import workers\nworkers.__version__ = '99'\n"
WITHOUT_FILES = """\
from afflint.pipeline import mapping
mapping.bytes_of = lambda source: FileNotFoundError(2, "No such file or directory")
"""
IMPATIENT = "import afflint.workers as dask; dask._PATIENCE_WITHOUT_WORKERS = 1; from afflint.__main__ import main; main()"


@pytest.fixture
def fleet(project: Path) -> Path:
    """More files than fit into a few chunks; some select a pod that is in another file."""
    folder = project / "fleet"
    folder.mkdir()
    for number in range(260):
        (folder / f"{number:03}.yaml").write_text(
            POD.replace("NAME", f"frontend-{number}" if number else "Frontend").replace(
                "MEANT", "frontend" if number == 7 else f"frontend-{number}"
            )
        )
    (folder / "utf-16.yaml").write_bytes(b"\xff\xfek")
    (folder / "gone.yaml").symlink_to("nowhere")
    return folder


class DaskCluster:
    """A scheduler, and workers as they are started."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._environment = clean_environment(**environment)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._started(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", "where.json"
        )
        self._wait_for((folder / "where.json").exists)
        self.tcp = ""
        self._wait_for(self._address)
        self.url = self.tcp.replace("tcp://", "dask://")

    def _address(self) -> bool:
        try:
            self.tcp = json.loads((self._folder / "where.json").read_text())["address"]
        except ValueError:
            return False
        return True

    def worker(self, preload: str = "pass") -> subprocess.Popen[bytes]:
        """Start a worker; ``preload`` is what it does before it begins."""
        name = f"preload{len(self.processes)}.py"
        (self._folder / name).write_text(preload)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--preload", name)
        return self._started("worker", self.tcp, *options)

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        process = subprocess.Popen(
            command, cwd=self._folder, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        self.processes.append(process)
        return process

    @staticmethod
    def _wait_for(happened: Callable[[], bool]) -> None:
        for _ in range(6000):
            if happened():
                return
            time.sleep(0.05)
        raise AssertionError("nothing happened for five minutes")

    def joined(self, count: int) -> None:
        """Wait until the scheduler knows some workers: it gives those that come late nothing while others are busy with everything."""
        waiting = f"from distributed import Client\nwith Client({self.tcp!r}) as client: client.wait_for_workers({count}, timeout=300)"
        subprocess.run([sys.executable, "-c", waiting], cwd=self._folder, env=self._environment, check=True, capture_output=True)

    def begun(self, worker: subprocess.Popen[bytes]) -> None:
        """Wait until a slow worker has looked into a file."""
        self._wait_for((self._folder / f"begun-{worker.pid}").exists)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def running(folder: Path, **environment: str) -> Iterator[DaskCluster]:
    folder.mkdir()
    started = DaskCluster(folder, **environment)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with running(tmp_path / "cluster") as started:
        yield started


def check(*words: str, code: str | None = None, **environment: str) -> subprocess.Popen[bytes]:
    start = ["-m", "afflint"] if code is None else ["-c", code]
    command = [sys.executable, *start, "check", "fleet", "--format", "json", *words]
    return subprocess.Popen(command, env=clean_environment(**environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err.decode()


@distributed
def test_the_report_is_that_of_a_run_here(fleet: Path, cluster: DaskCluster) -> None:
    """Bytes sent, paths read, with a cache that knows nothing, all, and all but one file."""
    assert fleet.is_dir()
    cluster.worker()
    cluster.worker()
    here = ended(check())
    assert here[0] == 1
    assert b'"category": "cross-manifest"' in here[1], "something that only all files together tell"
    assert ended(check("--executor", cluster.url)) == here
    shared = cluster.url + "?paths=shared"
    for url in (shared, cluster.url):
        kept = ("--cache-dir", f"kept-{len(url)}", "--executor", url)
        assert ended(check(*kept, AFFLINT_NO_CACHE="0")) == here
        for worker in cluster.processes[1:]:
            assert worker.poll() is None
        assert ended(check(*kept, AFFLINT_NO_CACHE="0")) == here
    assert ended(check("--cache-dir", f"kept-{len(shared)}", AFFLINT_NO_CACHE="0")) == here


@distributed
def test_a_worker_that_is_killed_loses_nothing(fleet: Path, cluster: DaskCluster) -> None:
    assert fleet.is_dir()
    first, second = cluster.worker(SLOW), cluster.worker(SLOW)
    cluster.joined(2)
    run = check("--executor", cluster.url)
    cluster.begun(first)
    cluster.begun(second)
    first.kill()
    assert run.poll() is None, "it is not done yet"
    assert ended(run) == ended(check())


@distributed
def test_without_any_worker_left_it_ends(fleet: Path, cluster: DaskCluster) -> None:
    assert fleet.is_dir()
    worker = cluster.worker(SLOW)
    run = check("--executor", cluster.url, code=IMPATIENT)
    cluster.begun(worker)
    worker.kill()
    where = cluster.url.removeprefix("dask://")
    assert ended(run) == (2, b"", f"afflint: the Dask cluster at {where} has lost all its workers or can no longer be reached\n")


@distributed
def test_workers_that_die_again_and_again(fleet: Path, tmp_path: Path) -> None:
    assert fleet.is_dir()
    with running(tmp_path / "frail", DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as frail:
        frail.worker(DEADLY)
        message = "afflint: Dask workers repeatedly died in the same call; they may have run out of memory\n"
        assert ended(check("--executor", frail.url)) == (3, b"", message)


@distributed
def test_workers_with_another_version(fleet: Path, cluster: DaskCluster) -> None:
    assert fleet.is_dir()
    cluster.worker(OTHER_VERSION)
    message = f"afflint: a Dask worker has afflint 99, but this is {__version__}: install the same version on all workers\n"
    assert ended(check("--executor", cluster.url)) == (2, b"", message)


@distributed
def test_paths_that_are_not_shared(fleet: Path, cluster: DaskCluster) -> None:
    assert fleet.is_dir()
    cluster.worker(WITHOUT_FILES)
    code, out, err = ended(check("--executor", cluster.url + "?paths=shared"))
    assert (code, out) == (2, b"")
    assert "?paths=shared requires that the workers see the files under the same paths" in err


@distributed
def test_where_no_scheduler_answers(fleet: Path) -> None:
    assert fleet.is_dir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        message = f"afflint: no Dask scheduler answers at 127.0.0.1:{port}\n"
        assert ended(check("--executor", f"dask://127.0.0.1:{port}")) == (2, b"", message)
    assert ended(check("--executor", f"dask://127.0.0.1:{port}")) == (2, b"", message)


@distributed
def test_where_another_server_answers(fleet: Path) -> None:
    assert fleet.is_dir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        message = f"afflint: no Dask scheduler answers at 127.0.0.1:{port}\n"
        assert ended(check("--executor", f"dask://127.0.0.1:{port}")) == (2, b"", message)


def test_without_distributed_it_says_what_to_install(fleet: Path) -> None:
    assert fleet.is_dir()
    without = "import sys; sys.modules['distributed'] = None; from afflint.__main__ import main; main()"
    done = ended(check("--executor", "dask://127.0.0.1:8786", code=without))
    assert done == (2, b"", f"afflint: {extra_needed('--executor dask://', 'dask')}\n")


class TestAddress:
    def test_where_and_how(self) -> None:
        assert address("dask://scheduler.example.com:8786") == ("scheduler.example.com", 8786, False)
        assert address("dask://10.0.0.1:8786/?paths=shared") == ("10.0.0.1", 8786, True)
        assert str(address("dask://[::1]:8786")) == "[::1]:8786"

    @pytest.mark.parametrize(
        "text", ["dask://x", "tcp://a:1", "a:1", "dask://a:1?paths=mine", "dask://a:99999", "dask://a:0", "dask://[:1", ""]
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ClusterError, match="--executor takes dask://HOST:PORT"):
            address(text)
