"""Runs a command as a process and measures wall time, processor time and peak memory."""

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
    """The resources that one process used, in seconds and bytes.

    ``cpu`` is user and system time of the process and of the children it has waited for. ``peak`` is the largest resident size of any one
    of them, so it is the total only for a command with a single process. It is at least the size of this benchmark, which the kernel counts
    until the command replaces it.
    """

    wall: float
    cpu: float
    peak: int


class Command(NamedTuple):
    """A command: its arguments, the exit codes that count as success, its time limit in seconds, and the folder that it runs in."""

    arguments: tuple[str, ...]
    accepted: tuple[int, ...] = (0,)
    time_limit: float = 3600
    folder: str | None = None


class BenchError(Exception):
    """A failed measurement: a command that failed, or a tree that is not as expected."""


def run(command: Command) -> Usage:
    """Run a command to its end and return its usage. Raises BenchError for an exit code that is not accepted."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command.arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment(), cwd=command.folder
        )
        timer = threading.Timer(command.time_limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.accepted:
            output.seek(0)
            raise BenchError(_explained(command, process.returncode, output.read().decode("utf-8", "replace")))
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _PEAK_UNIT)


def output_of(command: Command) -> tuple[str, str]:
    """Return the standard output and standard error of a command. Raises BenchError like ``run``."""
    done = subprocess.run(command.arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode not in command.accepted:
        raise BenchError(_explained(command, done.returncode, done.stdout + done.stderr))
    return done.stdout, done.stderr


def in_turns(commands: Mapping[str, Command], rounds: int) -> dict[str, list[Usage]]:
    """Run all commands once per round, so that other load on the machine affects all of them, and return their usages."""
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            usages[name].append(run(command))
    return usages


def _environment() -> dict[str, str]:
    """Return the environment without settings of the interpreter, because bytecode must be cached from one run to the next."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}


def _explained(command: Command, code: int, output: str) -> str:
    shown = "\n".join(f"  {line}" for line in output.splitlines()[-8:])
    return f"{' '.join(command.arguments)}: exit code {code}\n{shown}"


# The commands.


def interpreter(*arguments: str) -> Command:
    """Return a command of the Python interpreter that runs this benchmark."""
    return Command((sys.executable, *arguments))


def afflint(*paths: str, jobs: int = 1, options: Sequence[str] = (), cache: str | None = None, configuration: str | None = None) -> Command:
    """Return ``afflint check``, which fails for any finding, even an info.

    ``cache`` is the folder of the cache; None disables it. ``configuration`` is the configuration file; None disables it.
    """
    kept = ("--no-cache",) if cache is None else ("--cache-dir", cache)
    configured = ("--no-config",) if configuration is None else ("--config", configuration)
    return interpreter("-m", "afflint", "check", *paths, *configured, "--jobs", str(jobs), "--fail-on", "info", *kept, *options)


def after_a_change(file: str, command: Command) -> Command:
    """Return the command with a line added to a file before it runs."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "changing.py")
    return command._replace(arguments=(sys.executable, script, file, *command.arguments))


def afflint_diff(folder: str, *options: str) -> Command:
    """Return ``afflint diff`` of the last two commits of a repository."""
    arguments = ("diff", "HEAD~..HEAD", "--no-config", "--no-cache", "--jobs", "1", "--exit-zero", *options)
    return interpreter("-m", "afflint", *arguments)._replace(folder=folder)


def afflint_place(manifests: str, nodes: str) -> Command:
    """Return ``afflint place`` with all results as JSON."""
    return interpreter("-m", "afflint", "place", manifests, "--nodes", nodes, "--no-config", "--format", "json")


_BINDINGS = {"ruamel.yaml": "_ruamel_yaml", "PyYAML": "yaml._yaml"}


def references(folder: str) -> dict[str, Command]:
    """Return the reference for each installed package with a binding of libyaml. The first is R."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.py")
    found = {package: module for package, module in _BINDINGS.items() if _is_installed(module)}
    return {f"libyaml of {package}": interpreter(script, module, folder) for package, module in found.items()}


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
