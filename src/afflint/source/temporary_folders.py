"""Temporary folders that do not outlive their run: they are removed at its end, and those of killed runs at the next start."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from afflint.source.termination import clean_up_when_terminated

_PREFIX = "afflint-run-"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
"""The names that ``tempfile`` gives to folders with this prefix."""
_MODE = 0o700
"""The mode that it gives them. A clone of a repository with such a name has another one."""
_NEW = 60.0
"""Seconds in which a folder may not be locked yet."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)

_searched: set[str] = set()
"""The folders in which this process has removed what earlier runs left behind."""


class TemporaryFolder:
    """An empty folder that only this user can enter. ``path`` has its links resolved."""

    def __init__(self, parent: str | None = None) -> None:
        """Create the folder in ``parent``, or else where the system has temporary files. Raises OSError."""
        clean_up_when_terminated()
        above = os.path.realpath(parent or tempfile.gettempdir())
        if above not in _searched:
            _searched.add(above)
            _remove_leftovers(above)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
        self._lock = _lock(self.path)

    def remove(self) -> None:
        """Remove the folder and all that is in it, as far as the system allows it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def temporary_folder(parent: str | None = None) -> Iterator[str]:
    """Create a temporary folder as ``TemporaryFolder`` does, give its path, and remove it at the end of the context."""
    folder = TemporaryFolder(parent)
    try:
        yield folder.path
    finally:
        folder.remove()


def _lock(folder: str) -> int | None:
    """Return a descriptor that locks a folder as long as a process has it; None if it cannot be locked."""
    try:
        import fcntl
    except ImportError:  # Windows.
        return None
    try:
        number = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # Another process has it, or the file system has no locks.
        os.close(number)
        return None
    return number


def _remove_leftovers(above: str) -> None:
    """Remove the temporary folders of this user whose process has ended: no process has their lock."""
    if not hasattr(os, "geteuid"):
        return
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                _remove_leftover(entry.path)


def _remove_leftover(folder: str) -> None:
    with suppress(OSError):
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or time.time() - status.st_ctime < _NEW:
            return
        if stat.S_IMODE(status.st_mode) != _MODE or os.path.lexists(os.path.join(folder, ".git")):
            return
        lock = _lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
