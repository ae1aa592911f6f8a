"""How far a repository extends: nothing outside it is read to render it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from afflint.source.repositories import is_inside, root_of

_MOST_ENTRIES = 100_000


class Boundary:
    """The repositories of the files of a run.

    A folder without ``.git`` or the like above it belongs to the working directory, or else to the folder that holds all files of the run.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths
        self._rest: str | None = None

    def top(self, folder: str) -> str:
        """The top of the repository that a folder belongs to. The folder has its links resolved, and so has the top."""
        return root_of(folder) or self._without_repository(folder)

    def _without_repository(self, folder: str) -> str:
        here = os.path.realpath(os.curdir)
        if is_inside(folder, here):
            return here
        if self._rest is None:
            folders = {os.path.dirname(os.path.realpath(each)) for each in self._paths}
            try:
                self._rest = os.path.commonpath(folders) if folders else folder
            except ValueError:  # On several drives.
                self._rest = folder
        return self._rest if is_inside(folder, self._rest) else folder

    def folders_above(self, file: str) -> Iterator[str]:
        """The folders above a file, the nearest first, up to the top of its repository."""
        here = os.path.dirname(os.path.realpath(file))
        top = self.top(here)
        yield here
        while here != top:
            here = os.path.dirname(here)
            yield here


def link_outside(folder: str, top: str) -> str | None:
    """A link in a folder, or in a folder that it links to, which leads out of the top; None without one.

    Raises OSError if there are more files than any chart has.
    """
    waiting, seen, count = [folder], {os.path.realpath(folder)}, 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                if count > _MOST_ENTRIES:
                    raise OSError(f"it holds more than {_MOST_ENTRIES} files")
                if entry.is_symlink():
                    real = os.path.realpath(entry.path)
                    if not is_inside(real, top):
                        return entry.path
                elif entry.is_dir(follow_symlinks=False):
                    real = os.path.realpath(entry.path)
                else:
                    continue
                if real not in seen and os.path.isdir(real):
                    seen.add(real)
                    waiting.append(real)
    return None
