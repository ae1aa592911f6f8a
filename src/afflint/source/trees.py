"""Writes trees of files whose names, links and sizes others chose: commits, the index of Git, charts, what a build reads.

A name may be that of `.git`, of a device, or lead out of the tree; two names may be one for the file system; and a file may be written
through a link. So everything is written below the descriptor of a folder, only into folders that were created here, and links come last.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.source.folders import Folder, open_folder
from afflint.source.repositories import is_inside

MOST_ENTRIES = 200_000
"""The most files, folders and links of a tree."""
MOST_BYTES = 4 << 30
"""The most bytes that are written for a tree."""
DEEPEST = 100
"""The most folders that a file of a tree may be in."""
_MOST_STEPS = 20
"""The most folders that are opened for each entry that a tree may have."""
_MOST_LINKS = 40
"""The most links that lead to each other, as for Linux."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_ABOUT_NAMES = (errno.EEXIST, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOTDIR, errno.EISDIR)
"""The errors of a file system that are about one name, not about the whole tree."""
_OF_WINDOWS = frozenset('\\:*?"<>|')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(?:[.:].*)?", re.IGNORECASE | re.DOTALL)
"""Names of Windows for devices, in every folder and with every ending."""
_GIT = re.compile(r"\.git|git~[0-9]+")
"""`.git`, and the short names that Windows gives it."""
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that the file system of macOS ignores in names."""


class TreeError(OSError):
    """A tree that has more than the limits allow, or that the system cannot write."""


class TreeLimits(NamedTuple):
    """The most entries and bytes of a tree. ``what`` names the tree in messages."""

    what: str = "the tree"
    entries: int = MOST_ENTRIES
    size: int = MOST_BYTES


_USUAL = TreeLimits()


class TreeWriter:
    """Writes files below a folder that this run has created and no other program uses. Raises TreeError.

    Names are relative to it and have slashes, as the system decodes file names. ``left_out`` are those that were not written because of
    their names, with the reasons. Use ``writing``, which creates the links in the end.
    """

    def __init__(self, folder: str, limits: TreeLimits = _USUAL) -> None:
        """Open the folder. Raises OSError."""
        self._limits = limits
        self._entries, self._size = 0, 0
        self._folded_folders: set[str] = set()
        self._folders: dict[str, str] = {"": ""}
        """The folded names of the folders that were created, by their names."""
        self._files: set[str] = set()
        self._taken: set[str] = set()
        """The folded names of everything that was created."""
        self._links: dict[str, tuple[str, str]] = {}
        """The names and the targets of links, by their folded names; also of those that lead out and were not created."""
        self._added: dict[str, tuple[str, str]] = {}
        """The links that are yet to be created."""
        self.left_out: dict[str, str] = {}
        self._is_closed = False
        self._top = open_folder(folder)
        self._open: list[tuple[str, Folder]] = [("", self._top)]
        """The folder that was used last and those above it, by their names."""
        self._steps = 0

    def write(self, name: str, data: bytes) -> bool:
        """Write a file; return False if it was left out."""
        if not self._take(name):
            return False
        self._size += len(data)
        if self._size > self._limits.size:
            raise TreeError(f"{self._limits.what} has more than {_shown(self._limits.size)}")
        try:
            folder, _, base = name.rpartition("/")
            with open(self._folder(folder).open(base, _NEW_FILE, 0o600), "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except (OSError, ValueError) as error:
            return self._refused(name, error)
        self._files.add(name)
        return True

    def __contains__(self, name: str) -> bool:
        """Return whether a file with exactly this name was written."""
        return name in self._files

    def repeat(self, name: str, known: str) -> bool:
        """Give a file that was written before, here or in another tree, a further name; return False if that is impossible.

        ``known`` is its absolute path. The bytes are written once.
        """
        if not self._take(name):
            return False
        folder, _, base = name.rpartition("/")
        try:
            self._folder(folder).add_name(base, known)
        except (OSError, NotImplementedError):
            self._taken.discard(self._folded(name))
            self._entries -= 1
            return False
        self._files.add(name)
        return True

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link that is created in the end, if it does not lead out of the tree."""
        problem = _problem_of(name)
        if problem:
            self._leave_out(name, problem)
        elif "\0" not in target:
            self._count()
            self._added.setdefault(_fold(name), (name, target))

    def create_links(self) -> None:
        """Create the links that were added since the last call. More files may follow."""
        added = {folded: link for folded, link in self._added.items() if folded not in self._taken}
        self._added = {}
        self._links.update(added)
        taken = []
        for folded, (name, target) in added.items():
            if any(above in self._links for above in _above(folded)):
                self._leave_out(name, "its folder is a link")
            elif self._take(name, counted=True):
                taken.append((name, target))
        for name, target in taken:
            if not self._leads_out(name, target):
                folder, _, base = name.rpartition("/")
                with suppress(OSError, ValueError, NotImplementedError):
                    self._folder(folder).link_to(base, target)
        self._folder("")  # Many trees may be open at a time.

    def finish(self) -> None:
        """Create the links, and close the tree."""
        try:
            self.create_links()
        finally:
            self.close()

    def close(self) -> None:
        """Close the tree without its links."""
        if not self._is_closed:
            self._is_closed = True
            for _, folder in self._open:
                folder.close()

    # Names.

    def _take(self, name: str, *, counted: bool = False) -> bool:
        """Reserve a name, and create the folders above it; return False if it was left out."""
        if not counted:
            self._count()
        folder, _, base = name.rpartition("/")
        problem = _problem_of_part(base)
        if problem or (folder not in self._folders and not self._create_folders(folder, name)):
            return self._leave_out(name, problem)
        folded = self._folded(name)
        if folded in self._taken:
            return self._leave_out(name, "another name differs from it only in case or composed letters, or not at all")
        self._taken.add(folded)
        return True

    def _folded(self, name: str) -> str:
        folder, _, base = name.rpartition("/")
        return f"{self._folders[folder]}/{_fold(base)}" if folder else _fold(base)

    def _leave_out(self, name: str, reason: str) -> bool:
        self.left_out.setdefault(name, reason)
        return False

    def _refused(self, name: str, error: OSError | ValueError) -> bool:
        """Leave out a name that the file system refuses. Raises TreeError if it refuses more than the name."""
        if isinstance(error, OSError) and error.errno not in _ABOUT_NAMES:
            raise TreeError(f"{quoted(name)} cannot be written: {error.strerror or error}") from None
        return self._leave_out(name, "the file system does not distinguish it from another name, or does not allow it")

    def _count(self) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise TreeError(f"{self._limits.what} has more than {self._limits.entries:,} files")

    # The file system.

    def _create_folders(self, folder: str, name: str) -> bool:
        """Create a folder and those above it; return False if one of them is not allowed, or exists and was not created here."""
        problem = _problem_of(folder)
        if problem:
            return self._leave_out(name, problem)
        for here in (*reversed(list(_above(folder))), folder):
            if here in self._folders:
                continue
            above, _, base = here.rpartition("/")
            folded = self._folded(here)
            if folded in self._taken:
                return self._leave_out(name, f"another name differs from {quoted(here)} only in case or composed letters, or not at all")
            self._count()
            try:
                self._folder(above).make_folder(base)
            except (OSError, ValueError) as error:
                return self._refused(name, error)
            self._folders[here] = folded
            self._folded_folders.add(folded)
            self._taken.add(folded)
        return True

    def _folder(self, name: str) -> Folder:
        """Return a folder that was created here. It is open until the next call."""
        while not is_inside(name, self._open[-1][0]) and len(self._open) > 1:
            self._open.pop()[1].close()
        here, folder = self._open[-1]
        for part in name[len(here) :].strip("/").split("/") if name != here else ():
            self._steps += 1
            if self._steps > _MOST_STEPS * self._limits.entries:
                raise TreeError(f"{self._limits.what} has too many files in deep folders")
            here, folder = f"{here}/{part}" if here else part, folder.folder(part)
            self._open.append((here, folder))
        return folder

    def _leads_out(self, name: str, target: str) -> bool:
        """Return whether a link leads out of the tree, directly or through other links. Links that are not created count as well."""
        here = [_fold(part) for part in name.split("/")[:-1]]
        waiting, followed = _steps(target), 0
        while waiting is not None and waiting:
            part = waiting.pop()
            if part == os.pardir:
                # Something else than a folder may become a link to one, and this step would then lead elsewhere.
                if "/".join(here) not in self._folded_folders or not here:
                    return True
                here.pop()
                continue
            here.append(_fold(part))
            other = self._links.get("/".join(here))
            if other is not None:
                here.pop()
                followed += 1
                further = _steps(other[1])
                if further is None or followed > _MOST_LINKS:
                    return True
                waiting += further
        return waiting is None


@contextmanager
def writing(folder: str, limits: TreeLimits = _USUAL) -> Iterator[TreeWriter]:
    """Give a writer of a tree in a folder that this run has created; in the end, its links are created. Raises TreeError."""
    writer = TreeWriter(folder, limits)
    try:
        yield writer
    except BaseException:
        writer.close()
        raise
    writer.finish()


def _steps(target: str) -> list[str] | None:
    """Return the steps of a relative path, the first one last; None for any other path."""
    if target.startswith("/") or (os.name == "nt" and set(target) & {"\\", ":"}):
        return None
    return [part for part in reversed(target.split("/")) if part not in ("", os.curdir)]


def _shown(size: int) -> str:
    return f"{size >> 30} GB" if size >= 1 << 30 else f"{size >> 20} MB"


def _above(name: str) -> Iterator[str]:
    """Yield the folders above a name, the nearest first."""
    while name := name.rpartition("/")[0]:
        yield name


def _fold(name: str) -> str:
    """Return what is equal for names that some file system does not distinguish: those of macOS and Windows ignore the case of letters."""
    if name.isascii():
        return name.lower()
    plain = unicodedata.normalize("NFD", _IGNORED.sub("", name))
    return unicodedata.normalize("NFD", plain.casefold())


def _problem_of(name: str) -> str:
    """Return why no file or folder may have this name; empty if it may."""
    parts = name.split("/")
    if len(parts) > DEEPEST:
        return f"it is in more than {DEEPEST} folders"
    return next(filter(None, map(_problem_of_part, parts)), "")


def _problem_of_part(part: str) -> str:
    """Return why no file may have this name on any system; empty if it may."""
    if part in ("", os.curdir, os.pardir) or "\0" in part:
        return "it is not a path inside the tree"
    folded = _fold(part)
    if ("g" in folded) and any(_GIT.fullmatch(piece.rstrip(". ")) for piece in re.split(r"[\\:]", folded)):
        return "its name is one of `.git`"
    if part[-1] in ". ":
        return "its name ends with a dot or a space, which Windows removes"
    if _DEVICES.fullmatch(part):
        return "its name is one of a device of Windows"
    if os.name == "nt" and set(part) & _OF_WINDOWS:
        return "Windows does not allow its name"
    return ""
