"""How far a repository extends: nothing outside it is read to render it, whatever paths GitOps objects name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.phrases import quoted
from afflint.rendering.set_templates import has_placeholder
from afflint.source.repositories import boundary_of, is_inside, is_root
from afflint.yaml.document import texts_at

_MOST_ENTRIES = 100_000
_DEEPEST = 200


class Boundary:
    """The repositories of the files of a run.

    A folder without ``.git`` or the like above it belongs to the working directory, or else to the folder that holds all files of the run.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths
        self._shared_folder: str | None = None

    def top(self, folder: str) -> str:
        """Return the top of the repository that a folder belongs to. The folder has its links resolved, and so has the top."""
        return boundary_of(folder) or self._common_folder(folder)

    def _common_folder(self, folder: str) -> str:
        """Return the folder that holds all files of the run, if ``folder`` is in it; else ``folder``."""
        if self._shared_folder is None:
            folders = {os.path.dirname(os.path.realpath(each)) for each in self._paths}
            try:
                self._shared_folder = os.path.commonpath(folders) if folders else folder
            except ValueError:  # On several drives.
                self._shared_folder = folder
        return self._shared_folder if is_inside(folder, self._shared_folder) else folder

    def folders_above(self, file: str) -> Iterator[str]:
        """Yield the folders above a file, the nearest first, up to the top of its repository."""
        here = os.path.dirname(os.path.realpath(file))
        top = self.top(here)
        yield here
        while here != top:
            here = os.path.dirname(here)
            yield here


def link_outside(folder: str, top: str) -> str | None:
    """Return a link in a folder, or in a folder that it links to, that leads out of ``top``; None if there is no such link.

    Raises OSError if there are more files, or deeper folders, than in any real chart.
    """
    start = os.path.realpath(folder)
    waiting, seen, count = [(folder, start, 0)], {start}, 0
    while waiting:
        here, real_here, depth = waiting.pop()
        if depth > _DEEPEST:
            raise OSError(f"its folders are more than {_DEEPEST} deep")
        with os.scandir(here) as entries:
            for entry in entries:
                count += 1
                if count > _MOST_ENTRIES:
                    raise OSError(f"it holds more than {_MOST_ENTRIES} files")
                if entry.is_symlink():
                    real = os.path.realpath(entry.path)
                    if not is_inside(real, top):
                        return entry.path
                elif entry.is_dir(follow_symlinks=False):
                    real = os.path.join(real_here, entry.name)  # realpath would look at each folder above, for each folder.
                else:
                    continue
                if real not in seen and os.path.isdir(real):
                    seen.add(real)
                    waiting.append((entry.path, real, depth + 1))
    return None


class OutsideError(Exception):
    """A path that is outside the repository."""


def in_repository(tops: Sequence[str], path: str, is_wanted: Callable[[str], bool] = os.path.isdir) -> str | None:
    """Return the real path of a path in the repository; None if it does not exist.

    ``is_wanted`` accepts folders unless set otherwise. Raises OutsideError for a link to a path outside the repository.
    """
    if not path or has_placeholder(path) or "\0" in path:
        return None
    below = os.path.normpath(path.lstrip("/"))
    if below.split(os.sep)[0] == os.pardir:
        return None
    for here in tops:
        if below == os.curdir:
            if is_root(here) and is_wanted(here):
                return os.path.realpath(here)
        elif is_wanted(os.path.join(here, below)):
            return inside(tops, os.path.realpath(os.path.join(here, below)), path)
    return None


def inside(tops: Sequence[str], path: str, name: str) -> str:
    """Return the path if it is in the repository. Raises OutsideError."""
    if not is_inside(path, tops[-1]):
        raise OutsideError(f"{quoted(name)} is outside the repository")
    return path


def value_file(tops: Sequence[str], folder: str | None, name: str) -> str | None:
    """Return the path of a values file, relative to the chart, or to the repository for names that begin with `/` or `$ref/`.

    Raises OutsideError for files outside the repository, which Argo CD rejects, too.
    """
    if "://" in name:
        return None
    if name.startswith(("$", "/")):
        return in_repository(tops, name.partition("/")[2], os.path.isfile)
    if folder is None or has_placeholder(name):
        return None
    path = inside(tops, os.path.realpath(os.path.join(folder, name)), name)
    return path if os.path.isfile(path) else None


def usable_texts(data: Mapping[str, Any], *steps: str) -> list[str]:
    """Return the texts at a path that can be used as file names or command arguments."""
    return [each for each in texts_at(data, *steps) if "\0" not in each]
