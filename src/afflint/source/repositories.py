"""The repository that a folder belongs to: the nearest folder upward that version control marks as its root."""

from __future__ import annotations

import os

MARKS = (".git", ".hg", ".svn", ".jj")
"""The names that version control systems create in the root of a repository."""


def is_root(folder: str) -> bool:
    """Whether a folder is the root of a repository."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in MARKS)


def root_of(folder: str) -> str | None:
    """Return the root of the repository around a folder, None without one. The folder has its links resolved, and so has the root."""
    while not is_root(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


_confined_to: str | None = None


def confine(folder: str) -> None:
    """Let no repository that ``folder`` is in extend beyond it, for the rest of this process: it is all that its user has opened."""
    global _confined_to
    _confined_to = os.path.realpath(folder)


def boundary_of(folder: str) -> str | None:
    """Return the root of the repository around a folder, or else the working directory if the folder is in it. None without either.

    The folder has its links resolved, and so has the result.
    """
    here = os.path.realpath(os.curdir)
    top = root_of(folder) or (here if is_inside(folder, here) else None)
    is_beyond = _confined_to is not None and is_inside(folder, _confined_to) and not (top and is_inside(top, _confined_to))
    return _confined_to if is_beyond else top


def extent_of(path: str) -> str:
    """Return how far links below a folder that the user names may lead: its boundary, or the folder itself. Links are resolved."""
    real = os.path.realpath(path)
    return boundary_of(real) or real


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or below it. Both have their links resolved."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def is_really_inside(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or below it once all links of both are resolved. Neither needs to exist."""
    try:
        return is_inside(os.path.normcase(os.path.realpath(path)), os.path.normcase(os.path.realpath(folder)))
    except (OSError, ValueError):  # The link of a process that has ended; a NUL in the name.
        return False
