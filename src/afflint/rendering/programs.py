"""The user's own kustomize, kubectl and helm: no shell, no network unless it is asked for, a time limit for each and one for all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from afflint.findings.errors import UserError
from afflint.rendering.sandbox import MOST_MEMORY, NO_PROXY, environment, limit_memory, program, ran_out_of_memory, without_network
from afflint.source.sources import LARGEST, Source

Item = TypeVar("Item")
Result = TypeVar("Result")

TIME_LIMIT = 120.0
"""For one that the user names."""
EACH_LIMIT = 30.0
"""For each that is found; kustomize alone would wait 27 seconds for a repository that does not answer."""
ALL_LIMIT = 600.0
_MOST_WRITTEN = LARGEST
_MOST_SAID = 1 << 20
_BLOCK = 1 << 16
_LONGEST_REASON = 300
_BEGINNING = 80


class RenderError(UserError):
    """A folder that could not be rendered; the message is for the user. ``reason`` is what the program said of it."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


def kustomize(folder: str, time_limit: float = TIME_LIMIT) -> Source:
    """The output of ``kustomize build``, or of ``kubectl kustomize`` where only that is installed. Raises RenderError."""
    if not os.path.isdir(folder):
        raise RenderError(f"--kustomize takes a folder with a kustomization, and {folder!r} is none")
    command = kustomize_command()
    if command is None:
        raise RenderError("--kustomize needs `kustomize` or `kubectl` on PATH; or pipe in what it makes elsewhere: `afflint check -`")
    return _rendered(f"<kustomize {os.path.normpath(folder)}>", [*command, as_path(folder)], time_limit)


def helm(chart: str, values: Sequence[str] = (), time_limit: float = TIME_LIMIT) -> Source:
    """The output of ``helm template`` for a chart in a folder or archive. Raises RenderError."""
    if not os.path.exists(chart):
        raise RenderError(f"--helm takes a chart, and there is none at {chart!r}")
    command = helm_command()
    if command is None:
        raise RenderError("--helm needs `helm` on PATH; or pipe in what it makes elsewhere: `afflint check -`")
    options = [option for file in values for option in ("--values", as_path(file) if os.path.lexists(file) else file)]
    return _rendered(f"<helm {os.path.normpath(chart)}>", [*command, "release", as_path(chart), *options], time_limit)


def kustomize_command() -> list[str] | None:
    """The program that builds kustomizations, with the word that tells it to; None where neither is installed."""
    if found := program("kustomize"):
        return [found, "build"]
    if found := program("kubectl"):
        return [found, "kustomize"]
    return None


def helm_command() -> list[str] | None:
    """The program that renders charts, with the word that tells it to; None where it is not installed."""
    found = program("helm")
    return [found, "template"] if found else None


def as_path(path: str) -> str:
    """The path so that no program takes it for an option."""
    return path if os.path.isabs(path) else os.path.join(os.curdir, path)


def _rendered(name: str, command: list[str], time_limit: float) -> Source:
    crew = ProgramRunner(network=True, each=time_limit)
    [output] = crew.each(lambda each: crew.output(each, name), [command])
    return Source(name, name, output)


class ProgramRunner:
    """Runs programs, a few at a time, and ends them all when this one is interrupted.

    Without ``network`` they run in a network namespace of their own where the system allows that, and in an environment that forbids it.
    """

    def __init__(self, *, network: bool, each: float = EACH_LIMIT, all_together: float | None = None, jobs: int = 1) -> None:
        self._network = network
        self._environment = environment(network=network)
        self._each = each
        self._end = None if all_together is None else time.monotonic() + all_together
        self._jobs = jobs
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def output(self, command: Sequence[str], about: str) -> bytes:
        """What a program writes to standard output. Raises RenderError, whose message names what it is ``about``."""
        tool = os.path.basename(command[0])
        limit = self._each if self._end is None else min(self._each, self._end - time.monotonic())
        if limit <= 0:
            raise RenderError(f"no time was left for {about}", "no time was left: all renders together took too long")
        before = () if self._network else without_network(command[0])
        process = self._started([*before, *command], about, tool)
        with process:
            try:
                output, said = _communicated(process, limit)
            except _TooMuchError:
                _end(process)
                said_so = f"{tool} wrote more than {_MOST_WRITTEN >> 20} MB"
                raise RenderError(f"{said_so}: {about}", said_so) from None
            except subprocess.TimeoutExpired:
                _end(process)
                said_so = f"{tool} did not finish within {limit:.0f} seconds"
                raise RenderError(f"{said_so}: {about}", said_so) from None
            except BaseException:
                _end(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)
        if process.returncode != 0:
            remote = None if self._network else _unreachable(said)
            reason = _reason(said) or "it did not say why"
            if remote is not None:
                reason = network_reason(remote)
            elif ran_out_of_memory(said):
                reason = f"{tool} needed more than {MOST_MEMORY >> 20} MB of memory"
            raise RenderError(f"{tool} failed with exit code {process.returncode} for {about}: {reason}", reason)
        return output

    def _started(self, command: Sequence[str], about: str, tool: str) -> subprocess.Popen[bytes]:
        """A program that runs, and is known to whoever may have to end it. Raises RenderError."""
        with self._lock:
            if self._stopped:
                raise RenderError(f"{about} was not rendered", "somebody interrupted")
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    start_new_session=True,  # So that what it starts ends with it.
                )
            except OSError as error:
                raise RenderError(f"{tool} could not be started: {error.strerror}") from None
            self._running.add(process)
            limit_memory(process.pid)
            return process

    def each(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """What a function that runs programs gives for each item, in their order, a few of them at a time.

        Programs are started in other threads, also where there is one at a time: an interrupt only reaches the main thread, so it cannot
        come between the start of a program and the note that it runs, which would leave it behind.
        """
        waiting = list(items)
        if not waiting:
            return []
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max(self._jobs, 1)) as pool:
            try:
                return list(pool.map(function, waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop()
                raise

    def _stop(self) -> None:
        self._stopped = True
        with self._lock:
            running = list(self._running)
        for process in running:
            _end(process)


class _TooMuchError(Exception):
    """A program writes without end."""


def _communicated(process: subprocess.Popen[bytes], limit: float) -> tuple[bytes, bytes]:
    """What a program writes to standard output, and of its complaints the beginning. Raises TimeoutExpired and _TooMuchError."""
    if os.name != "posix":  # There, pipes cannot be waited for.
        return process.communicate(timeout=limit)
    from selectors import EVENT_READ, DefaultSelector

    end = time.monotonic() + limit
    output, said = bytearray(), bytearray()
    with DefaultSelector() as waiting:
        waiting.register(process.stdout, EVENT_READ, output)  # type: ignore[arg-type]
        waiting.register(process.stderr, EVENT_READ, said)  # type: ignore[arg-type]
        while waiting.get_map():
            ready = waiting.select(max(end - time.monotonic(), 0))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, limit)
            for key, _ in ready:
                block = os.read(key.fd, _BLOCK)
                if not block:
                    waiting.unregister(key.fileobj)
                elif key.data is output or len(said) < _MOST_SAID:
                    key.data.extend(block)
            if len(output) > _MOST_WRITTEN:
                raise _TooMuchError
    process.wait(max(end - time.monotonic(), 0.1))
    return bytes(output), bytes(said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program with all that it has started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass  # It has ended by itself.
    process.wait()


def network_reason(remote: str) -> str:
    """Why something is not rendered that needs the network."""
    return f"it takes the network, for {remote}: `--render-network` allows that"


def _reason(said: bytes) -> str:
    """Why a program failed, by its own words, from where it says so, without what its log puts around it."""
    text = said.decode("utf-8", "replace")
    logged = re.search(r"\berr=\"((?:[^\"\\]|\\.)*)", text)
    if logged:
        text = re.sub(r"\\(.)", r"\1", logged[1])
    else:
        start = re.search(r"(?m)^Error\b", text)
        text = text[start.start() :] if start else text
    reason = " ".join(text.split())
    if len(reason) <= _LONGEST_REASON:
        return reason
    # kustomize tells the way to what is wrong, and at its end what that is.
    return f"{reason[:_BEGINNING]}… {reason[_BEGINNING - _LONGEST_REASON :]}"


def _unreachable(said: bytes) -> str | None:
    """What a program asked the network for that it was forbidden; None where that is not why it failed."""
    text = said.decode("utf-8", "replace")
    if NO_PROXY.removeprefix("http://") not in text and not re.search(r"transport '\w+' not allowed|(?i:network is unreachable)", text):
        return None
    asked = re.findall(r"(?:https?|ssh|git|oci)://[^\s'\"]+[^\s'\":.,)]|git@[^\s'\"]+", text)
    return next((each for each in reversed(asked) if not each.startswith(NO_PROXY)), "something there")
