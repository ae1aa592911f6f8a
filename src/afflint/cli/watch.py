"""``afflint check --watch``: repeats the run whenever a file changes that it reads."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from afflint.cli import options
from afflint.cli.output import notify
from afflint.distribution import extra_needed
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, visible
from afflint.source.sources import SKIPPED_FOLDERS, STDIN, SUFFIXES

if TYPE_CHECKING:
    from afflint.cli.check_options import CheckOptions
    from afflint.config import Config
    from afflint.pipeline.run import Outcome

OutcomeHandler = Callable[["Outcome"], None]
Check = Callable[[OutcomeHandler], int]
_Signature = tuple[tuple[int, int, int] | None, ...]

_LONGEST_BURST = 1000
"""Milliseconds: changes in this time, such as the checkout of another branch, count as one change."""
_QUIET = 80
"""Milliseconds without a change after which a burst is over."""
_LOOK = 250
"""Milliseconds between checks of single files, which cannot be watched because editors replace them."""
_CONFIGURATIONS = (".afflint.yaml", ".afflint.yml", "pyproject.toml", ".gitignore")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


class _WatchedPaths(NamedTuple):
    """The paths to watch: folders with everything below them, and single files; any change below ``whole`` counts."""

    folders: tuple[str, ...]
    whole: tuple[str, ...]
    files: tuple[str, ...]
    written: tuple[str, ...]
    """The files that the run writes itself."""
    config: Config | None

    def signature(self) -> _Signature:
        """Return a value that changes when a file is written or replaced, or a folder is replaced."""
        return tuple(_stamp(path, is_folder=number < len(self.folders)) for number, path in enumerate((*self.folders, *self.files)))


def watch_and_check(args: CheckOptions, check: Check) -> int:
    """Check, and check again after each change, until the user interrupts. An error in the first run ends it."""
    _check_options(args)
    try:
        from watchfiles import watch
    except ImportError:
        raise UserError(extra_needed("--watch", "watch")) from None
    plan = _paths_to_watch(args, None)
    first = True
    while True:
        with closing(_changes(watch, plan)) as changes:
            next(changes)  # Later changes are not missed.
            signature = plan.signature()
            while True:
                known = _run(check, first)
                first = False
                while True:
                    changed = next(changes)
                    if plan.signature() != signature or any(_is_relevant(path, plan, known) for _, path in changed):
                        break
                if plan.signature() != signature:
                    break
        plan = _paths_to_watch(args, plan)


def _check_options(args: CheckOptions) -> None:
    refused = {
        "--fix": args.fix,
        "--diff": args.diff,
        "--write-baseline": args.write_baseline,
        "--show-files": args.show_files,
        "--index": args.from_index,
    }
    for option, value in refused.items():
        if value:
            raise UserError(f"--watch cannot be used with {option}")
    if STDIN in args.paths:
        raise UserError("--watch checks files, not standard input")


def _run(check: Check, first: bool) -> Collection[str]:
    """Check once and print a summary; return the folders of the checked files."""
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
            notify(f"afflint: {visible(line)}")
    gc.collect()  # Automatic collection is switched off.
    summary = outcomes[0].summary if outcomes else None
    result = f"{summary.found} in {pluralize(summary.files, 'file')}" if summary is not None else "nothing was checked"
    notify(f"[{time.strftime('%H:%M:%S')}] {result}; watching for changes, press Ctrl-C to stop")
    return _real_paths({os.path.dirname(source.path) for outcome in outcomes for source in outcome.sources})


def _changes(watch: Any, plan: _WatchedPaths) -> Generator[Collection[tuple[Any, str]], None, None]:
    """Yield the changes below the folders in bursts, and an empty burst when nothing changes for a while."""
    existing = [folder for folder in plan.folders if os.path.isdir(folder)]
    if existing:
        arguments = {"watch_filter": None, "debounce": _LONGEST_BURST, "step": _QUIET, "rust_timeout": _LOOK, "yield_on_timeout": True}
        yield from watch(*existing, **arguments, ignore_permission_denied=True)
    while True:
        yield ()
        time.sleep(_LOOK / 1000)


def _is_relevant(path: str, plan: _WatchedPaths, known: Collection[str]) -> bool:
    """Return whether a change of a path can change the findings."""
    if not SKIPPED_FOLDERS.isdisjoint(path.split(os.sep)) or path in plan.written:
        return False
    if any(path.startswith(os.path.join(folder, "")) for folder in plan.whole):
        return True
    name = os.path.basename(path)
    if name.lower().endswith(SUFFIXES) or name in (".gitignore", "Kustomization") or os.path.isdir(path):
        return True
    if not os.path.lexists(path) and any(folder == path or folder.startswith(path + os.sep) for folder in known):
        return True  # A folder that was deleted or renamed.
    if plan.config is not None and plan.config.include:
        from afflint.pipeline.session import Session

        return Session(plan.config).covers(path)
    return False


def _paths_to_watch(args: CheckOptions, before: _WatchedPaths | None) -> _WatchedPaths:
    """Return the paths to watch under the current configuration, or under the previous one while the current one has errors."""
    files = list(args.values)
    try:
        config: Config | None = options.configuration(args)
    except UserError as error:
        if before is None:
            raise
        config = before.config
        files += [problem.file for problem in getattr(error, "problems", ())]
    whole = [*args.kustomizations, *args.charts]
    folders: list[str] = []
    for path in args.paths or (() if whole else (".",)):
        above = _above_wildcards(path)
        (folders if os.path.isdir(above) or above != path else files).append(above)
    if config is not None:
        from afflint.config.trust import renderers

        # Templates and other files of charts and kustomizations may have any suffix.
        whole += folders if renderers(config) else []
        folders += [config.root] if config.context else []
        for path in config.nodes:
            (folders if os.path.isdir(path) else files).append(path)
        files += [*config.extends, *([config.baseline] if config.baseline else [])]
        files += [origin.file for origin in config.origins.values() if origin.file is not None]
    files += [args.config_file] if args.config_file else []
    files += [os.path.join(folder, name) for folder in _folder_and_parents(os.getcwd()) for name in _CONFIGURATIONS]
    written = [os.path.realpath(target) for target in (config.output if config is not None else ()) if target != "-"]
    return _WatchedPaths(_real_paths([*folders, *whole]), _real_paths(whole), _unique(map(os.path.abspath, files)), tuple(written), config)


def _real_paths(paths: Iterable[str]) -> tuple[str, ...]:
    return _unique(map(os.path.realpath, paths))


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _above_wildcards(path: str) -> str:
    """Return the part of a path before its first wildcard."""
    if os.path.lexists(path):
        return path
    while any(character in path for character in "*?["):
        path = os.path.dirname(path)
    return path or os.curdir


def _folder_and_parents(folder: str) -> Iterator[str]:
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
