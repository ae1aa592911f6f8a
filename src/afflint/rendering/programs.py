"""Runs the user's kustomize, kubectl and helm: without a shell, without the network by default, and with time limits."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from afflint.findings.errors import UserError
from afflint.findings.phrases import join_words
from afflint.programs.helm import isolated_helm
from afflint.programs.lookup import find_program
from afflint.programs.processes import GuardedProcess, OutputLimitError, TimeLimitError
from afflint.programs.sandbox import MOST_MEMORY, NO_PROXY, environment, ran_out_of_memory
from afflint.source.sources import LARGEST, Source
from afflint.source.termination import clean_up_when_terminated

Item = TypeVar("Item")
Result = TypeVar("Result")

TIME_LIMIT = 120.0
"""Seconds for a program that renders a folder named on the command line."""
EACH_LIMIT = 30.0
"""Seconds for each render root of `--render`; kustomize waits up to 27 seconds for a git server that does not answer."""
ALL_LIMIT = 600.0
"""Seconds for all render roots together."""
_MAX_OUTPUT = LARGEST
_MAX_REASON = 300
_REASON_START = 80
_NO_VARIABLES: Mapping[str, str] = {}


class RenderError(UserError):
    """A folder that could not be rendered. ``reason`` is the message without the name of the folder.

    ``needs_network``: it can be rendered with the network.
    """

    def __init__(self, message: str, reason: str = "", *, needs_network: bool = False) -> None:
        super().__init__(without_credentials(message))
        self.reason = without_credentials(reason or message)
        self.needs_network = needs_network


_WORD = re.compile(r"\S+")
_USER = re.compile(r"[\w.-]{1,64}")
_QUERY = re.compile(r"\?[^\s'\"`<>]*")
_SHOWN_PARAMETERS = ("ref", "version", "submodules", "timeout", "depth")


def without_credentials(text: str) -> str:
    """Return a text without the credentials in its URLs: what is before the last `@`, except the user of SSH, and unknown parameters.

    A password may have `@` and `/`, so what is before an `@` of a path is left out as well.
    """
    return _WORD.sub(lambda match: _without_credentials(match[0]), text) if "://" in text else text


def _without_credentials(word: str) -> str:
    scheme, found, rest = word.partition("://")
    if not found:
        return word
    before, at, address = rest.rpartition("@")
    user = "" if scheme.lower().endswith(("http", "https")) else before.partition(":")[0]
    return f"{scheme}{found}{f'{user}{at}' if _USER.fullmatch(user) else ''}{_QUERY.sub(_known_parameters, address)}"


def _known_parameters(query: re.Match[str]) -> str:
    kept = [each for each in query[0][1:].split("&") if each.partition("=")[0] in _SHOWN_PARAMETERS]
    return f"?{'&'.join(kept)}" if kept else ""


def kustomize(folder: str, time_limit: float = TIME_LIMIT) -> Source:
    """Return the output of ``kustomize build``, or of ``kubectl kustomize`` if only kubectl is installed. Raises RenderError."""
    if not os.path.isdir(folder):
        raise RenderError(f"--kustomize requires a folder with a kustomization: {folder!r} is not a folder")
    command = kustomize_command()
    if command is None:
        raise RenderError("--kustomize needs `kustomize` or `kubectl` on PATH; or pipe its output into `afflint check -`")
    return _rendered(f"<kustomize {os.path.normpath(folder)}>", [*command, as_path(folder)], time_limit)


def helm(chart: str, values: Sequence[str] = (), time_limit: float = TIME_LIMIT, copy: str = "") -> Source:
    """Return the output of ``helm template`` for a chart in a folder or archive, or for its ``copy``. Raises RenderError."""
    if not os.path.exists(chart):
        raise RenderError(f"--helm requires a chart: {chart!r} does not exist")
    command = helm_command()
    if command is None:
        raise RenderError("--helm needs `helm` on PATH; or pipe its output into `afflint check -`")
    options = [option for file in values for option in ("--values", as_path(file) if os.path.lexists(file) else file)]
    return _rendered(f"<helm {os.path.normpath(chart)}>", [*command, "release", as_path(copy or chart), *options], time_limit)


def kustomize_command() -> list[str] | None:
    """Return the command that builds kustomizations, without the folder; None if neither kustomize nor kubectl is installed."""
    if executable := find_program("kustomize"):
        return [executable, "build"]
    if executable := find_program("kubectl"):
        return [executable, "kustomize"]
    return None


def helm_command() -> list[str] | None:
    """Return the command that renders charts, without the chart; None if Helm is not installed."""
    executable = find_program("helm")
    return [executable, "template"] if executable else None


def as_path(path: str) -> str:
    """Return the path in a form that a program in another folder understands, and does not mistake for an option."""
    return os.path.join(os.getcwd(), path)


def _rendered(name: str, command: list[str], time_limit: float) -> Source:
    runner = ProgramRunner(network=True, each=time_limit)
    [output] = runner.each(lambda each: runner.output(each, name), [command])
    return Source(name, name, output)


class ProgramRunner:
    """Runs programs, ``jobs`` at a time, and ends them all when afflint is interrupted.

    Without ``network``, they run in a network namespace of their own if the system allows it, and with environment variables that disable
    the network. With ``fetching``, those that fetch something have the network.
    """

    def __init__(
        self, *, network: bool, each: float = EACH_LIMIT, all_together: float | None = None, jobs: int = 1, fetching: bool = False
    ) -> None:
        self._network = network
        self._fetching = network or fetching
        self._each = each
        self._end = None if all_together is None else time.monotonic() + all_together
        self._jobs = jobs
        self._running: set[GuardedProcess] = set()
        self._working: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def output(self, command: Sequence[str], about: str, variables: Mapping[str, str] = _NO_VARIABLES, *, fetches: bool = False) -> bytes:
        """Run a program and return its standard output. Raises RenderError, whose message contains ``about``.

        ``variables`` are added to its environment. ``fetches``: it is a program that fetches something.
        """
        network = self._fetching if fetches else self._network
        tool = os.path.basename(command[0])
        limit = self._each if self._end is None else min(self._each, self._end - time.monotonic())
        if limit <= 0:
            raise RenderError(
                f"{about} was not rendered: the time limit for all render roots was reached",
                "the time limit for all render roots was reached",
            )
        with self._start(command, about, variables, network=network, seconds=limit) as process:
            try:
                output, code = process.output(_MAX_OUTPUT), process.wait()
            except (OutputLimitError, TimeLimitError) as error:
                reason = f"{tool} {str(error).removeprefix('it ')}"
                raise RenderError(f"{reason}: {about}", reason) from None
            finally:
                with self._lock:
                    self._running.discard(process)
        if code != 0:
            stderr = bytes(process.complaint)
            remote = None if network else _blocked_url(stderr)
            reason = _reason(stderr) or "it printed no error message"
            if remote is not None:
                reason = network_reason((remote,))
            elif ran_out_of_memory(stderr):
                reason = f"{tool} needed more than {MOST_MEMORY >> 20} MB of memory"
            message = f"{tool} failed with exit code {code} for {about}: {reason}"
            raise RenderError(message, reason, needs_network=remote is not None)
        return output

    def _start(self, command: Sequence[str], about: str, variables: Mapping[str, str], *, network: bool, seconds: float) -> GuardedProcess:
        """Start a program and register it, so that an interrupt ends it. Raises RenderError."""
        with self._lock:
            if self._stopped:
                raise RenderError(f"{about} was not rendered", "afflint was interrupted")
            try:
                isolated = {} if network else isolated_helm()
                environment_of_program = {**environment(network=network), **isolated, **variables}
                process = GuardedProcess(command, environment_of_program, seconds=seconds, network=network)
            except OSError as error:
                raise RenderError(f"{os.path.basename(command[0])} could not be started: {error.strerror}") from None
            self._running.add(process)
            return process

    def each(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call a function that runs programs for each item, ``jobs`` at a time, and return the results in order.

        Programs are started in other threads even one at a time: an interrupt only reaches the main thread, so it cannot come between the
        start of a program and its registration, which would leave the program running.
        """
        waiting = list(items)
        if not waiting:
            return []
        clean_up_when_terminated()
        from concurrent.futures import ThreadPoolExecutor

        def work(item: Item) -> Result:
            thread = threading.get_ident()
            self._working.add(thread)
            try:
                return function(item)
            finally:
                self._working.discard(thread)

        with ThreadPoolExecutor(max(self._jobs, 1)) as pool:
            try:
                return list(pool.map(work, waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop()
                raise

    def _stop(self) -> None:
        import ctypes

        self._stopped = True
        with self._lock:  # No program is being started.
            running = list(self._running)
            for thread in list(self._working):  # It may compute for a long time, without a program.
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
        for process in running:
            process.end()


def network_reason(remotes: Iterable[str]) -> str:
    """Return the reason why what needs these addresses or charts is not rendered; the same whichever of them is met first."""
    names = sorted({*remotes})
    more = [f"{len(names) - _MOST_REMOTES} more"] if len(names) > _MOST_REMOTES else []
    listed = join_words([*names[:_MOST_REMOTES], *more])
    return f"rendering requires the network for {listed}; `--render-network` allows it"


_MOST_REMOTES = 5


def _reason(stderr: bytes) -> str:
    """Return the error message of a program, without log output around it."""
    text = stderr.decode("utf-8", "replace")
    logged = re.search(r"\berr=\"((?:[^\"\\]|\\.)*)", text)
    if logged:
        text = re.sub(r"\\(.)", r"\1", logged[1])
    else:
        start = re.search(r"(?m)^Error\b", text)
        text = text[start.start() :] if start else text
    reason = " ".join(text.split())
    if len(reason) <= _MAX_REASON:
        return reason
    # kustomize prints the path to the error first, and the error at the end.
    first = reason[: _REASON_START + 1].rpartition(" ")[0] or reason[:_REASON_START]
    last = reason[_REASON_START - _MAX_REASON - 1 :]
    return f"{first} … {last.partition(' ')[2] or last[1:]}"


def _blocked_url(stderr: bytes) -> str | None:
    """Return the URL that a program could not reach because the network is disabled; None if it failed for another reason."""
    text = stderr.decode("utf-8", "replace")
    if NO_PROXY.removeprefix("http://") not in text and not re.search(r"transport '\w+' not allowed|(?i:network is unreachable)", text):
        return None
    urls = re.findall(r"(?:https?|ssh|git|oci)://[^\s'\"]+[^\s'\":.,)]|git@[^\s'\"]+", text)
    return next((each for each in reversed(urls) if not each.startswith(NO_PROXY)), "an unknown URL")
