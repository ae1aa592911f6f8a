"""The folder in which Git keeps a repository: it may be that of another one only if that one knows of it.

An unpacked archive may have a `.git` that leads to a private repository beside it, whose files would then be compared and shown.
After ``gitrepository-layout`` and ``git-worktree`` of the documentation of Git.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from afflint.findings.errors import UserError
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside

_LARGEST = 1 << 20
_POINTER = "gitdir:"
_PARTS = ("HEAD", "config", "index", "objects", "packed-refs", "refs", "shallow")
"""The files and folders in which Git keeps a repository, besides those that only its own commands read."""
_MOST_REFS = 20_000


def verify_git_folder(root: str) -> None:
    """Raise UserError if the `.git` of a folder with links resolved leads to a repository that does not name this folder."""
    marker = os.path.join(root, ".git")
    folder = _git_folder(marker)
    if folder is None:
        return  # Git says what is wrong.
    if not is_inside(folder, os.path.realpath(root)) and not _names(folder, root):
        raise UserError(f"{marker!r} leads to the repository {folder!r}, which has no worktree or submodule here")
    # A worktree belongs to the repository that it names, if that keeps it among its worktrees.
    named = _text_of(os.path.join(folder, "commondir")).strip()
    common = os.path.realpath(os.path.join(folder, named)) if named else None
    is_worktree = common is not None and os.path.dirname(folder) == os.path.join(common, "worktrees")
    allowed = [folder, common] if common is not None and is_worktree else [folder]
    elsewhere = next(_parts_elsewhere([*allowed, *([common] if common is not None else [])], allowed), None)
    if elsewhere is not None:
        raise UserError(f"{elsewhere!r} leads out of the repository {root!r}")


def _git_folder(marker: str) -> str | None:
    """Return the folder that `.git` is or names, links resolved; None if it is neither."""
    if os.path.isdir(marker):
        return os.path.realpath(marker)
    text = _text_of(marker)
    if not text.startswith(_POINTER):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(marker), text.removeprefix(_POINTER).strip()))


def _names(folder: str, root: str) -> bool:
    """Return whether a Git folder elsewhere names a folder: as one of its worktrees, or as the files of a submodule."""
    back = _text_of(os.path.join(folder, "gitdir")).strip()
    if back and _is_same(os.path.join(folder, back), os.path.join(root, ".git")):
        return True
    tree = next((value for key, value in _settings(folder) if key == "worktree"), "")
    return bool(tree) and _is_same(os.path.join(folder, tree), root)


def _parts_elsewhere(folders: list[str], allowed: list[str]) -> Iterator[str]:
    """Yield what of some Git folders leads out of the allowed ones; refs only if objects come from elsewhere, which they could name."""
    borrows = False
    for folder in folders:
        if not any(is_inside(folder, each) for each in allowed):
            yield folder
        objects = os.path.join(folder, "objects")
        for path in (*(os.path.join(folder, name) for name in _PARTS), *_links_in(objects), *_links_in(os.path.join(objects, "pack"))):
            if os.path.lexists(path) and not any(is_inside(os.path.realpath(path), each) for each in allowed):
                yield path
        borrows = borrows or os.path.lexists(os.path.join(objects, "info", "alternates"))
    if borrows:
        yield from (link for folder in folders for link in islice(_links_below(os.path.join(folder, "refs")), _MOST_REFS))


def _links_in(folder: str) -> list[str]:
    """Return the links in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [each.path for each in entries if each.is_symlink()]
    return []


def _links_below(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        yield from (path for name in (*folders, *files) if os.path.islink(path := os.path.join(here, name)))


def _settings(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values in the configuration of a Git folder, whatever their sections."""
    for line in _text_of(os.path.join(folder, "config")).splitlines():
        key, found, value = line.partition("=")
        if found:
            yield key.strip().lower(), value.strip().strip('"')


def _text_of(path: str) -> str:
    try:
        return os.fsdecode(read_regular(path, _LARGEST))
    except (OSError, ValueError):
        return ""


def _is_same(path: str, other: str) -> bool:
    return os.path.normcase(os.path.realpath(path)) == os.path.normcase(os.path.realpath(other))
