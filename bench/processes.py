"""Runs a command as its own process and says what it took: wall time, processor time, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

# The peak resident size is in KiB, but on macOS in bytes.
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


class Usage(NamedTuple):
    """What one process took, in seconds and bytes.

    ``cpu`` is user and system time of the process and of the children it has waited for. ``peak`` is the largest resident
    size of any one of them, so that it is the whole only for a command that stays one process. It never comes out smaller than
    this benchmark itself, which the kernel counts up to the moment at which the command takes its place.
    """

    wall: float
    cpu: float
    peak: int


class Command(NamedTuple):
    """What to run, the exit codes that mean that it did its work, and after how many seconds it is given up."""

    arguments: tuple[str, ...]
    accepted: tuple[int, ...] = (0,)
    toleration_seconds: float = 3600


class BenchError(Exception):
    """What cannot be measured: a command that did not do its work, a tree that is not what it should be."""


def run(command: Command) -> Usage:
    """Run a command to its end. Raises BenchError for an exit code that is not accepted."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command.arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment())
        impatience = threading.Timer(command.toleration_seconds, process.kill)
        impatience.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        impatience.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.accepted:
            output.seek(0)
            raise BenchError(_explained(command, process.returncode, output.read().decode("utf-8", "replace")))
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _PEAK_UNIT)


def output_of(command: Command) -> tuple[str, str]:
    """What a command prints on standard output and on standard error. Raises BenchError like ``run``."""
    done = subprocess.run(command.arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode not in command.accepted:
        raise BenchError(_explained(command, done.returncode, done.stdout + done.stderr))
    return done.stdout, done.stderr


def in_turns(commands: Mapping[str, Command], rounds: int) -> dict[str, list[Usage]]:
    """Each command once, then each again, so that a busy stretch of the machine falls on all of them."""
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            usages[name].append(run(command))
    return usages


def _environment() -> dict[str, str]:
    """This environment without settings of the interpreter: compiled modules must be kept from one run to the next."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}


def _explained(command: Command, code: int, output: str) -> str:
    shown = "\n".join(f"  {line}" for line in output.splitlines()[-8:])
    return f"{' '.join(command.arguments)}: exit code {code}\n{shown}"


# What is run.


def interpreter(*arguments: str) -> Command:
    """Python as it runs this benchmark."""
    return Command((sys.executable, *arguments))


def afflint(*paths: str, jobs: int = 1, options: Sequence[str] = (), cache: str | None = None, configuration: str | None = None) -> Command:
    """``afflint check``; any finding at all, even an information, is a failure.

    ``cache`` is the folder where results are kept from one run to the next; None for neither using nor keeping any. ``configuration`` is
    the file that holds, None for none.
    """
    kept = ("--no-cache",) if cache is None else ("--cache-dir", cache)
    configured = ("--no-config",) if configuration is None else ("--config", configuration)
    return interpreter("-m", "afflint", "check", *paths, *configured, "--jobs", str(jobs), "--fail-on", "info", *kept, *options)


def after_a_change(file: str, command: Command) -> Command:
    """The command, just after a line was added to a file."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "changing.py")
    return command._replace(arguments=(sys.executable, script, file, *command.arguments))


def afflint_place(manifests: str, nodes: str) -> Command:
    """``afflint place`` as JSON, all verdicts among it."""
    return interpreter("-m", "afflint", "place", manifests, "--nodes", nodes, "--no-config", "--format", "json")


_BINDINGS = {"ruamel.yaml": "_ruamel_yaml", "PyYAML": "yaml._yaml"}


def references(folder: str) -> dict[str, Command]:
    """The bare composition of the same bytes, by each package with a binding of libyaml that is installed. The first is R."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.py")
    found = {package: module for package, module in _BINDINGS.items() if _is_installed(module)}
    return {f"libyaml of {package}": interpreter(script, module, folder) for package, module in found.items()}


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
