"""``afflint check --watch``: the same run again whenever something changes that it read, or would read."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from afflint.cli import options
from afflint.cli.output import say, shown
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.source.sources import SKIPPED_FOLDERS, STDIN, SUFFIXES

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.pipeline.run import Outcome

Seen = Callable[["Outcome"], None]
Check = Callable[[Seen], int]
_Signature = tuple[tuple[int, int, int] | None, ...]

_NOT_WITH = {
    "fix": "--fix",
    "diff": "--diff",
    "shard": "--shard",
    "write_baseline": "--write-baseline",
    "show_files": "--show-files",
}
_LONGEST_BURST = 1000
"""Milliseconds: what changes at a time, as with a checkout of another branch, is one change."""
_QUIET = 80
"""Milliseconds without a change after which a burst is over."""
_LOOK = 250
"""Milliseconds between looks at single files, which cannot be watched by themselves: editors put new ones in their place."""
_CONFIGURATIONS = (".afflint.yaml", ".afflint.yml", "pyproject.toml", ".gitignore")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


class _WatchedPaths(NamedTuple):
    """What is watched: folders with all below them (those of ``whole`` whatever changes in them), and single files."""

    folders: tuple[str, ...]
    whole: tuple[str, ...]
    files: tuple[str, ...]
    written: tuple[str, ...]
    """What the run writes itself."""
    config: Config | None

    def signature(self) -> _Signature:
        """What changes when a file is written or replaced, or a folder takes the place of another."""
        return tuple(_stamp(path, is_folder=number < len(self.folders)) for number, path in enumerate((*self.folders, *self.files)))


def watched(paths: Sequence[str], given: dict[str, Any], check: Check) -> int:
    """Check, and again after each change, until somebody interrupts. What is wrong with the first run ends it."""
    _see_that_it_goes_with(paths, given)
    try:
        from watchfiles import watch
    except ImportError:
        raise UserError("--watch needs `watchfiles`: pip install 'afflint[watch]'") from None
    plan = _planned(paths, given, None)
    first = True
    while True:
        with closing(_changes(watch, plan)) as changes:
            next(changes)  # From here on, nothing is missed.
            signature = plan.signature()
            while True:
                known = _run(check, first)
                first = False
                while True:
                    changed = next(changes)
                    if plan.signature() != signature or any(_matters(path, plan, known) for _, path in changed):
                        break
                if plan.signature() != signature:
                    break
        plan = _planned(paths, given, plan)


def _see_that_it_goes_with(paths: Sequence[str], given: dict[str, Any]) -> None:
    for name, option in _NOT_WITH.items():
        if given[name]:
            raise UserError(f"--watch goes without {option}")
    if STDIN in paths:
        raise UserError("--watch checks files, not standard input")


def _run(check: Check, first: bool) -> Collection[str]:
    """Check once and say what came of it; the folders that the files lie in."""
    outcomes: list[Outcome] = []
    if sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write(_CLEAR)
        sys.stdout.flush()
    try:
        check(outcomes.append)
    except UserError as error:
        if first:
            raise
        for line in str(error).splitlines():
            say(f"afflint: {shown(line)}")
    gc.collect()  # While it runs, nobody looks for cycles.
    summary = outcomes[0].summary if outcomes else None
    told = f"{summary.found} in {pluralize(summary.files, 'file')}" if summary is not None else "nothing was checked"
    say(f"[{time.strftime('%H:%M:%S')}] {told}; watching for changes, Ctrl-C ends")
    return _real({os.path.dirname(source.path) for outcome in outcomes for source in outcome.sources})


def _changes(watch: Any, plan: _WatchedPaths) -> Generator[Collection[tuple[Any, str]], None, None]:
    """What changes below the folders, in bursts; now and then nothing."""
    there = [folder for folder in plan.folders if os.path.isdir(folder)]
    if there:
        arguments = {"watch_filter": None, "debounce": _LONGEST_BURST, "step": _QUIET, "rust_timeout": _LOOK, "yield_on_timeout": True}
        yield from watch(*there, **arguments, ignore_permission_denied=True)
    while True:
        yield ()
        time.sleep(_LOOK / 1000)


def _matters(path: str, plan: _WatchedPaths, known: Collection[str]) -> bool:
    """Whether a change at a path can change what is found."""
    if not SKIPPED_FOLDERS.isdisjoint(path.split(os.sep)) or path in plan.written:
        return False
    if any(path.startswith(os.path.join(folder, "")) for folder in plan.whole):
        return True
    name = os.path.basename(path)
    if name.lower().endswith(SUFFIXES) or name in (".gitignore", "Kustomization") or os.path.isdir(path):
        return True
    if not os.path.lexists(path) and any(folder == path or folder.startswith(path + os.sep) for folder in known):
        return True  # A folder that has gone, or was called so.
    if plan.config is not None and plan.config.include:
        from afflint.pipeline.session import Session

        return Session(plan.config).covers(path)
    return False


def _planned(paths: Sequence[str], given: dict[str, Any], before: _WatchedPaths | None) -> _WatchedPaths:
    """What is to be watched, under the configuration as it is now; while that is wrong, under the one before."""
    files = list(given["values"])
    try:
        config: Config | None = options.configuration(given)
    except UserError as error:
        if before is None:
            raise
        config = before.config
        files += [problem.file for problem in getattr(error, "problems", ())]
    whole = [*given["kustomizations"], *given["charts"]]
    folders: list[str] = []
    for path in paths or (() if whole else (".",)):
        above = _above_wildcards(path)
        (folders if os.path.isdir(above) or above != path else files).append(above)
    if config is not None:
        from afflint.config.trust import renderers

        # Templates and what else charts and kustomizations are made of have names of all kinds.
        whole += folders if renderers(config) else []
        folders += [config.root] if config.context else []
        files += [*config.nodes, *config.extends, *([config.baseline] if config.baseline else [])]
        files += [origin.file for origin in config.origins.values() if origin.file is not None]
    files += [given["config_file"]] if given["config_file"] else []
    files += [os.path.join(folder, name) for folder in _upward(os.getcwd()) for name in _CONFIGURATIONS]
    written = [os.path.realpath(target) for target in (config.output if config is not None else ()) if target != "-"]
    return _WatchedPaths(_real([*folders, *whole]), _real(whole), _once(map(os.path.abspath, files)), tuple(written), config)


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    return _once(map(os.path.realpath, paths))


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _above_wildcards(path: str) -> str:
    """A path up to where its wildcards begin."""
    if os.path.lexists(path):
        return path
    while any(character in path for character in "*?["):
        path = os.path.dirname(path)
    return path or os.curdir


def _upward(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _stamp(path: str, *, is_folder: bool) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, 0) if is_folder else (status.st_mtime_ns, status.st_size, status.st_ino)
