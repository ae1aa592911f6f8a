"""Finds programs on PATH, and only there: the current folder may hold a tree with a `git` or `kubectl` of its own."""

from __future__ import annotations

import os

_WINDOWS = os.name == "nt"


def find_program(name: str) -> str | None:
    """Return the absolute path of a program; None if no absolute folder on PATH has it.

    Other entries of PATH are skipped: an empty one means the current folder, as `.` does. Unlike ``shutil.which``, the search does not
    begin in the current folder on Windows. There, PATHEXT says which endings programs have.
    """
    names = [name]
    if _WINDOWS:
        endings = [each for each in os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if each]
        names = [name] if name.lower().endswith(tuple(map(str.lower, endings))) else [f"{name}{ending}" for ending in endings]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        folder = folder.strip('"') if _WINDOWS else folder
        if not os.path.isabs(folder):
            continue
        for each in names:
            path = os.path.join(folder, each)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None
