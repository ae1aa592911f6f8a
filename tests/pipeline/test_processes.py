"""Several processes and what can befall them: real ones, killed and interrupted. Time limits only turn a hang into a failure."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from afflint.workers import WorkerDiedError, Workers
from checkout import clean_environment

METHODS = multiprocessing.get_all_start_methods()
JOBS = 3
LONG = 120

posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with enough files for several processes."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(600):
        (folder / f"{number}.yaml").write_text(f"kind: Pod\napiVersion: v1\nmetadata: {{name: p{number}}}\n", encoding="utf-8")
    return folder


class Running:
    """afflint at work in several processes. ``workers`` are those that it started."""

    def __init__(self, method: str, folder: Path) -> None:
        script = Path(__file__).with_name("slow_afflint.py")
        command = [sys.executable, str(script), method, "check", "--no-config", "--jobs", str(JOBS), str(folder)]
        # A run of the tests that outlives its terminal (nohup) ignores this signal, and children inherit that.
        ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, start_new_session=True, env=clean_environment()
            )
        finally:
            signal.signal(signal.SIGHUP, ours)
        assert self.process.stdout is not None
        self.workers: set[int] = set()
        while len(self.workers) < JOBS - 1:
            line = self.process.stdout.readline()
            assert line, self.process.communicate(timeout=LONG)[1]
            self.workers |= {int(line)} - {self.process.pid}

    def end(self) -> tuple[int, str]:
        """Exit code and standard error, once everybody is gone: each process holds our pipes, which end with the last of them."""
        _, errors = self.process.communicate(timeout=LONG)
        return self.process.returncode, errors.decode()


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    """Shells start background processes with interrupts ignored, and child processes inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start(many: Path) -> Iterator[Callable[[str], Running]]:
    started: list[Running] = []

    def start(method: str) -> Running:
        started.append(Running(method, many))
        return started[-1]

    yield start
    for running in started:
        for pid in (running.process.pid, *running.workers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.process.communicate()


@posix
@pytest.mark.parametrize(
    ("method", "name"), [*((method, "SIGKILL") for method in METHODS), (METHODS[0], "SIGSEGV"), (METHODS[0], "SIGTERM")]
)
def test_a_killed_worker_ends_the_run_with_a_word(method: str, name: str, start: Callable[[str], Running]) -> None:
    running = start(method)
    os.kill(min(running.workers), signal.Signals[name])
    code, errors = running.end()
    assert errors == "afflint: a worker process was killed; it may have run out of memory: use fewer processes (`--jobs`)\n"
    assert "Traceback" not in errors
    assert code == 3


@posix
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("to_all", [True, False], ids=["the whole group", "the main process"])
def test_an_interrupt_ends_everything_at_once(method: str, to_all: bool, start: Callable[[str], Running]) -> None:
    running = start(method)
    (os.killpg if to_all else os.kill)(running.process.pid, signal.SIGINT)
    code, errors = running.end()
    assert (code, errors.strip()) == (130, "")


@posix
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_no_worker_outlives_the_main_process(method: str, name: str, start: Callable[[str], Running]) -> None:
    running = start(method)
    running.process.send_signal(signal.Signals[name])
    assert running.end() == (-signal.Signals[name], "")


@posix
def test_a_run_in_several_processes_finds_what_one_finds(many: Path) -> None:
    def found(jobs: int) -> bytes:
        command = [sys.executable, "-m", "afflint", "check", "--no-config", "--select", "all", "--format", "json", "--jobs", str(jobs)]
        return subprocess.run([*command, str(many)], capture_output=True, check=False, env=clean_environment(), timeout=LONG).stdout

    assert found(4) == found(1) != b""


# The function itself.


def square(number: int, fails_at: int | None = None, dies_at: int | None = None) -> int:
    """Multiply, but fail at one number, or end the process there if that is a worker."""
    if number == fails_at:
        raise LookupError(f"no square of {number}")
    if number == dies_at and multiprocessing.parent_process() is not None:
        os._exit(7)
    return number * number


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("jobs", [1, 2, 4, 100])
def test_results_come_in_the_order_of_the_items(count: int, jobs: int) -> None:
    assert list(Workers(jobs).map(square, range(count))) == [number * number for number in range(count)]


def test_all_processes_take_part() -> None:
    used = set(Workers(2).map(_process, range(50)))
    assert os.getpid() in used
    assert len(used) == 2


def _process(_number: int) -> int:
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.parametrize("place", [0, 99], ids=["in a worker", "in this process"])
def test_an_error_comes_out_wherever_it_arose(place: int) -> None:
    with pytest.raises(LookupError, match=f"no square of {place}"):
        list(Workers(2).map(partial(square, fails_at=place), range(100)))


def test_a_worker_that_exits_is_missed() -> None:
    with pytest.raises(WorkerDiedError, match="a worker process was killed"):
        list(Workers(2).map(partial(square, dies_at=0), range(100)))


def test_without_further_processes_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_process: multiprocessing.Process) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.Process, "start", refused)
    assert list(Workers(4).map(square, range(100))) == [number * number for number in range(100)]


def test_without_semaphores_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise NotImplementedError("system provides too few semaphores")

    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", refused)
    assert list(Workers(4).map(square, range(100))) == [number * number for number in range(100)]
