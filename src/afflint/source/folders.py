"""Opens the folder of a file to write, one part of its path at a time, so that no link of a tree leads afflint elsewhere.

The author of a tree chooses what its names lead to: `report.txt` may be a link to `.git/config`, `reports` one to the home of the user.
A link is part of a tree if its folder is in a repository, or in the working directory. Such a link may lead to another folder of the same
tree, but not into that of version control. Links elsewhere, such as `/tmp` on macOS, belong to the user and are followed.

Where the system can, each folder is opened relative to the descriptor of the folder above it, and everything below it is done relative to
its own: what another process replaces in the meantime is not followed either.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from afflint.source.repositories import MARKS

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""The flag with which opening a link fails."""
# O_PATH and O_SEARCH need no permission to list a folder, which a folder above may not give.
_FOLDER: int = getattr(os, "O_DIRECTORY", 0) | NO_LINK | getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
_MOST_LINKS = 40


class UnsafePathError(OSError):
    """A path through a link that must not be followed, or to something that is not a file. ``strerror`` is for the user."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.ELOOP, message)


class Folder:
    """An open folder. Its methods do what those of ``os`` do with a name in the folder, and follow no link. They raise OSError."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path = path
        self.descriptor = descriptor
        """For the parameter ``dir_fd``; None where the system does not support it."""

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def name_of(self, name: str) -> str:
        """Return what names a file of the folder in calls with its descriptor."""
        return name if self.descriptor is not None else os.path.join(self._path, name)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file or link; None if it does not exist."""
        try:
            return os.stat(self.name_of(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file, and return its descriptor."""
        return os.open(self.name_of(name), flags | NO_LINK | getattr(os, "O_BINARY", 0), mode, dir_fd=self.descriptor)

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file, which replaces what has the new name."""
        os.replace(self.name_of(name), self.name_of(new_name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def delete(self, name: str) -> None:
        """Delete a file or link."""
        os.unlink(self.name_of(name), dir_fd=self.descriptor)

    def names(self) -> list[str]:
        """Return the names in the folder."""
        if self.descriptor is None:
            return os.listdir(self._path)
        listing = os.open(os.curdir, os.O_RDONLY, dir_fd=self.descriptor)
        try:
            return os.listdir(listing)
        finally:
            os.close(listing)

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        os.utime(self.name_of(name), dir_fd=self.descriptor, follow_symlinks=self.descriptor is None)

    def folder(self, name: str, *, make: bool = False) -> Folder:
        """Open a folder in this folder, with ``make`` also one that does not exist yet. Raises OSError for a link."""
        status = self.status(name)
        if status is None and make:
            with suppress(FileExistsError):  # Another process has made it.
                os.mkdir(self.name_of(name), 0o700, dir_fd=self.descriptor)
        elif status is not None and is_link(status):
            raise UnsafePathError(f"{name!r} is a symbolic link")
        return _folder_at(name, self)

    def make_folder(self, name: str) -> None:
        """Create a folder that does not exist yet."""
        os.mkdir(self.name_of(name), 0o700, dir_fd=self.descriptor)

    def link_to(self, name: str, target: str) -> None:
        """Create a symbolic link."""
        os.symlink(target, self.name_of(name), dir_fd=self.descriptor)

    def add_name(self, name: str, known: str) -> None:
        """Give the file or link with the path ``known`` a further name in this folder."""
        follow = {} if self.descriptor is None else {"follow_symlinks": False}
        os.link(known, self.name_of(name), dst_dir_fd=self.descriptor, **follow)

    def link_target(self, name: str) -> str:
        """Return what a link leads to."""
        return os.readlink(self.name_of(name), dir_fd=self.descriptor)

    @property
    def own_status(self) -> os.stat_result:
        """The status of the folder itself."""
        return os.stat(self._path) if self.descriptor is None else os.fstat(self.descriptor)


def is_link(status: os.stat_result) -> bool:
    """Whether a status is that of a link; on Windows, a junction is one as well."""
    return stat.S_ISLNK(status.st_mode) or (_JUNCTION is not None and getattr(status, "st_reparse_tag", 0) == _JUNCTION)


def open_folder(path: str, *, make: bool = False) -> Folder:
    """Open a folder, with ``make`` also one that does not exist yet. Raises OSError, also for a link that must not be followed."""
    with _Walk(path) as walk:
        while (name := walk.next_name()) is not None:
            walk.enter(name, make=make)
        return walk.end()


def open_parent(path: str, *, follow: bool = False) -> tuple[Folder, str]:
    """Open the folder of a file, and return the name of the file in it. Neither the file nor its status is checked.

    With ``follow``, a link is replaced by the file that it leads to. Raises OSError, also for a link that must not be followed.
    """
    with _Walk(path) as walk:
        while (name := walk.next_name(follow_last=follow)) is not None:
            if walk.is_last:
                return walk.end(), name
            walk.enter(name)
    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


class _Walk:
    """The way along a path: the folders from the root to where it has come."""

    def __init__(self, path: str) -> None:
        # Not `abspath`, which removes `..` together with the name in front of it, even if that is a link.
        self._pending = _reversed_parts(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
        self._folders: list[Folder] = []
        self._followed: list[tuple[str, tuple[int, int]]] = []
        """The links of a tree on the way, each with the identity of the top folder of its tree."""
        self._links = 0

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        while self._folders:
            self._folders.pop().close()

    @property
    def is_last(self) -> bool:
        """Whether the name that was returned last is the end of the path."""
        return not self._pending

    def next_name(self, *, follow_last: bool = True) -> str | None:
        """Return the next name that is not a link; None at the end of the path. ``follow_last``: whether to follow a link at the end."""
        while self._pending:
            name = self._pending.pop()
            if os.path.isabs(name):
                self.__exit__()
                self._folders.append(_folder_at(name))
            elif name == os.pardir:
                if len(self._folders) > 1:
                    self._folders.pop().close()
            else:
                status = self._folders[-1].status(name)
                if status is None or not is_link(status) or (self.is_last and not follow_last):
                    return name
                self._follow(name)
        return None

    def _follow(self, name: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        top = self._top_of_tree()
        if top is not None:
            self._followed.append((name, top))
        self._pending += _reversed_parts(self._folders[-1].link_target(name))

    def _top_of_tree(self) -> tuple[int, int] | None:
        """Return the identity of the top of the tree that the walk is in: a repository, or else the working directory."""
        for folder in reversed(self._folders):
            if any(folder.status(mark) is not None for mark in MARKS):
                return _identity(folder.own_status)
        here = _identity(os.stat(os.curdir))
        return here if any(_identity(folder.own_status) == here for folder in self._folders) else None

    def enter(self, name: str, *, make: bool = False) -> None:
        """Enter a folder that is not a link."""
        if make:
            self._check_links()
        self._folders.append(self._folders[-1].folder(name, make=make))

    def end(self) -> Folder:
        """Return the folder that the walk has come to, which the caller closes. Raises UnsafePathError."""
        self._check_links()
        return self._folders.pop()

    def _check_links(self) -> None:
        """Raise UnsafePathError if a link of a tree has led out of it, or into the folder of version control."""
        if not self._followed:
            return
        identities = [_identity(folder.own_status) for folder in self._folders]
        for name, top in self._followed:
            if top not in identities:
                raise UnsafePathError(f"{name!r} is a symbolic link that leads out of the repository; name what it leads to")
        for folder, below in zip(self._folders, identities[1:], strict=False):
            # Compared by identity: some file systems find `.git` under other spellings.
            if any((status := folder.status(mark)) is not None and _identity(status) == below for mark in MARKS):
                raise UnsafePathError(f"{self._followed[0][0]!r} is a symbolic link into the folder of version control")


def _reversed_parts(path: str) -> list[str]:
    """Return the names of a path, the last first; the root of an absolute path is one of them."""
    drive, rest = os.path.splitdrive(path.replace(os.altsep, os.sep) if os.altsep else path)
    names = [name for name in rest.split(os.sep) if name not in ("", os.curdir)]
    return [*names[::-1], *([drive + os.sep] if drive or rest.startswith(os.sep) else [])]


def _folder_at(name: str, parent: Folder | None = None) -> Folder:
    path = name if parent is None else parent.name_of(name)
    if _BY_DESCRIPTOR:
        return Folder(path, os.open(path, _FOLDER, dir_fd=parent.descriptor if parent else None))
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return Folder(path, None)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
