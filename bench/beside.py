"""A comparison of afflint with other linters as a Markdown table, with their versions and the machine, for docs/comparison.md."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Iterator

from afflint import __version__
from bench import trees
from bench.figures import over_rounds, wall
from bench.peers import NAMES, peers
from bench.processes import Command, Usage, afflint, in_turns, run
from bench.trees import Tree

_MEGABYTE = 1_000_000


def comparison(data: str, files: int, rounds: int, schemas: str | None) -> str:
    """Return the table of median wall times over the rounds for each tree. Raises BenchError."""
    workers = os.cpu_count() or 1
    single = trees.path_of_single(trees.single(data))
    measured: dict[str, dict[str, float]] = {}
    versions = {"afflint": f"{__version__}, Python {platform.python_version()}"}
    for heading, path in _trees(data, files, single):
        found = peers(path, single, os.path.join(data, "schemas"), workers=workers, schemas=schemas)
        versions |= found.versions
        commands: dict[str, Command] = {"afflint": afflint(path, jobs=workers)} | found.commands
        for command in commands.values():
            run(command)
        measured[heading] = {name: _median(taken) for name, taken in in_turns(commands, rounds).items()}
    return "".join(_lines(measured, versions, workers, rounds))


def _trees(data: str, files: int, single: str) -> Iterator[tuple[str, str]]:
    for name, tree in (("workloads", trees.fleet(data, files)), ("a mixed tree", trees.mixed(data, files))):
        yield f"{name}: {_size(tree)}", tree.folder
    yield f"one file of {os.path.getsize(single):,} bytes", single


def _size(tree: Tree) -> str:
    return f"{tree.files:,} files, {tree.size / _MEGABYTE:.0f} MB"


def _median(taken: list[Usage]) -> float:
    return over_rounds(map(wall, taken)).median


def _lines(measured: dict[str, dict[str, float]], versions: dict[str, str], workers: int, rounds: int) -> Iterator[str]:
    headings = [*measured]
    yield f"| | {' | '.join(headings)} |\n|---{'|---' * len(headings)}|\n"
    for name in ("afflint", *NAMES):
        if name in versions:
            figures = (measured[heading][name] for heading in headings)
            shown = (f"{each:.2f} s" if each >= 1 else f"{1000 * each:.0f} ms" for each in figures)
            yield f"| {name} {versions[name]} | {' | '.join(shown)} |\n"
    absent = [name for name in NAMES if name not in versions]
    others = f" Not installed: {', '.join(absent)}." if absent else ""
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    yield f"\nMedian wall time of {rounds} rounds, {workers} workers each, on {_processor()}, {platform.system()}, {today}.{others}\n"


def _processor() -> str:
    """Return the number and model of the processor cores."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            named = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    except OSError:
        named = None
    return f"{os.cpu_count()} cores of {named[1] if named else platform.processor() or platform.machine()}"
