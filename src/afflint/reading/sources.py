"""Which files are read, and their bytes: the only module that looks at the file system of the user.

Files that are named are read whatever they are called. Folders give their .yaml, .yml and .json files, without those that
git ignores, without version control's own folders, and without following links to folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
_SKIPPED_FOLDERS = frozenset((".git", ".hg", ".svn", ".tox", ".nox", ".venv", "node_modules", "__pycache__", ".terraform"))


class SourceError(Exception):
    """A path on the command line that cannot be used; the message is for its user."""


class Source(NamedTuple):
    """A file to read. ``name`` is how reports call it, ``path`` what is opened ("-" is standard input), unless ``data`` is there."""

    name: str
    path: str
    data: bytes | None = None


def discover(
    paths: Sequence[str], excluded: Callable[[str], bool] = lambda _: False, included: Callable[[str], bool] | None = None
) -> Iterator[Source]:
    """The files that ``paths`` stand for, each once, folders in sorted order. Raises SourceError for a path that is not there.

    ``excluded`` and ``included`` are asked about absolute paths below folders, folders ending in a slash. A named file is never excluded.
    """
    seen: set[str] = set()
    for path in paths:
        for source in _expand(path, excluded, included):
            identity = source.path if source.path == STDIN else os.path.abspath(source.path)
            if identity not in seen:
                seen.add(identity)
                yield source


def _expand(path: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    if path == STDIN:
        yield Source("<stdin>", STDIN)
    elif os.path.isdir(path):
        yield from _walk(path, excluded, included)
    elif os.path.lexists(path):
        yield _named(path)
    elif any(character in path for character in "*?["):
        import glob

        matched = sorted(glob.glob(path, recursive=True))
        if not matched:
            raise SourceError(f"no file matches {path!r}")
        for each in matched:
            if os.path.isfile(each) and (each.lower().endswith(SUFFIXES) or not path.endswith("*")):
                yield _named(each)
    else:
        raise SourceError(f"no such file or folder: {path!r}{_similar(path)}")


def _similar(path: str) -> str:
    import difflib

    folder, name = os.path.split(path)
    try:
        close = difflib.get_close_matches(name, os.listdir(folder or "."), n=1)
    except OSError:
        return ""
    return f"; did you mean {os.path.join(folder, close[0])!r}?" if close else ""


def _named(path: str) -> Source:
    return Source(os.path.normpath(path), path)


def _walk(top: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    ignored = _GitIgnored(os.path.abspath(top))
    stack = [os.path.normpath(top)]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            # Reading it as a file says why it cannot be read.
            yield Source(folder, folder)
            continue
        absolute = os.path.abspath(folder)
        ignored.enter(absolute, any(entry.name == ".gitignore" for entry in found))
        folders: list[str] = []
        for entry in found:
            path = entry.name if folder == "." else os.path.join(folder, entry.name)
            whole = os.path.join(absolute, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS and not excluded(whole + "/") and not ignored(whole, folder=True):
                    folders.append(path)
            elif _is_manifest(entry, whole, included) and not excluded(whole) and not ignored(whole, folder=False):
                yield Source(path, path)
        stack.extend(reversed(folders))


def _is_manifest(entry: os.DirEntry[str], path: str, included: Callable[[str], bool] | None) -> bool:
    if included is None:
        wanted = entry.name.lower().endswith(SUFFIXES)
    else:
        wanted = included(path)
    try:
        # A link to a file is read, a link to nowhere is not, and a pipe in a folder would hang.
        return wanted and entry.is_file()
    except OSError:
        return False


class _GitIgnored:
    """What git ignores below a folder: its .gitignore files and those of its parents up to the repository's top."""

    def __init__(self, top: str) -> None:
        self._specs: dict[str, Any] = {}
        self._top = top
        for parent in _parents_in_repository(top):
            self._load(parent)

    def enter(self, folder: str, has_file: bool) -> None:
        if has_file:
            self._load(folder)

    def __call__(self, path: str, *, folder: bool) -> bool:
        if not self._specs:
            return False
        # The deepest file that says anything about a path decides.
        parent = os.path.dirname(path)
        while True:
            spec = self._specs.get(parent)
            if spec is not None:
                relative = path[len(parent.rstrip(os.sep)) + 1 :].replace(os.sep, "/") + ("/" if folder else "")
                verdict = spec.check_file(relative).include
                if verdict is not None:
                    return bool(verdict)
            above = os.path.dirname(parent)
            if above == parent:
                return False
            parent = above

    def _load(self, folder: str) -> None:
        try:
            with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
        except OSError:
            return
        from pathspec import GitIgnoreSpec

        self._specs[folder] = GitIgnoreSpec.from_lines(lines)


def _parents_in_repository(top: str) -> list[str]:
    """The folders above ``top`` up to the one with .git; none when there is none."""
    parents: list[str] = []
    folder = top
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return []
        parents.append(above)
        folder = above
    return parents


def read_bytes(source: Source) -> bytes:
    """The bytes of a file. Standard input is kept, so that it can be asked for again. Raises OSError."""
    if source.data is not None:
        return source.data
    if source.path == STDIN:
        return _standard_input()
    with open(source.path, "rb", buffering=0) as file:
        return file.read()


@lru_cache(maxsize=1)
def _standard_input() -> bytes:
    import sys

    return sys.stdin.buffer.read()
