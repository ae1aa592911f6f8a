"""The files that differ between the two sides of a comparison, of those that may create workloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha1, sha256

from afflint.changes.git import LINK, REGULAR, SUBMODULE, Repository, TreeEntry
from afflint.changes.snapshot import LFS_POINTER
from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_really_inside
from afflint.source.sources import LARGEST, SKIPPED_FOLDERS, SUFFIXES

PROGRAMS = (".jsonnet", ".libsonnet", ".cue", ".dhall", ".star", ".k", ".tf", ".j2")
"""How the names of files end that make manifests in languages which afflint does not read."""
PACKED = (".tgz", ".tar.gz")
_TOOLS = SKIPPED_FOLDERS | {".github", ".gitlab", ".circleci", ".vscode", ".idea", ".devcontainer", ".husky"}
"""The folders of tools that do not deploy what they contain."""
_DOCUMENTS = (".md", ".markdown", ".rst", ".adoc", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".ico", ".webp", ".pdf", ".md.gotmpl")
_MOST_LINKS = 8
_IS_SUBMODULE = "a submodule, whose files are not read"
_LEADS_ELSEWHERE = "a link that leads to another place than before"
_ABSENT = "this clone does not have its content, or it is too large"


class ChangedFile(NamedTuple):
    """A file that differs between the sides: its path below the root of the repository, and its versions; None for a missing one.

    A link counts as the file that it leads to. ``is_compared``: it is among the files to compare. Others count only for what reads them.
    ``problem`` says why its versions are not known. ``moved_from`` is the path of the file that had the same content before.
    """

    path: str
    before: bytes | None
    after: bytes | None
    is_compared: bool = True
    problem: str = ""
    moved_from: str = ""


class ChangedFiles:
    """The files of a repository that differ between two sides, and that may create workloads.

    ``before`` are the entries of the base, ``after`` those of the head; None for the work tree, whose files are at the paths that ``files``
    returns. ``is_compared`` returns whether the comparison includes a file, by its path and its absolute path; ``is_read`` whether a chart
    or a kustomization may read a file whose name does not show that.
    """

    def __init__(
        self,
        repository: Repository,
        before: Iterable[TreeEntry],
        after: Iterable[TreeEntry] | None,
        files: Callable[[], Iterable[str]],
        is_compared: Callable[[str, str], bool],
        is_read: Callable[[str], bool],
    ) -> None:
        self._repository, self._files, self._is_compared, self._is_read = repository, files, is_compared, is_read
        self._before = {each.path: each for each in before}
        self._after = None if after is None else {each.path: each for each in after}

    def _may_count(self, path: str) -> bool:
        """Return whether the file at a path may create workloads, by its name or by what reads it."""
        *folders, name = path.split("/")
        if any(each in ("", os.curdir, os.pardir) for each in (*folders, name)):
            return False  # Names such as ``/web.yaml`` and ``../web.yaml`` are those of a hostile commit.
        if _TOOLS.isdisjoint(folders) and (name in NAMES or name.lower().endswith((*SUFFIXES, *PROGRAMS, *PACKED))):
            return True
        return self._is_read(path)

    def read(self) -> list[ChangedFile]:
        """Return the files with both versions, by their paths."""
        after = self._after
        if after is None:
            there = {*filter(self._may_count, self._before), *self._added()}
            after = {path: found for path in there if (found := self._on_disk(path)) is not None}
            paths = [path for path in there if _version(self._before.get(path)) != _version(after.get(path))]
        else:
            paths = [path for path in {*self._before, *after} if _version(self._before.get(path)) != _version(after.get(path))]
            modules = {path for path, entry in (*self._before.items(), *after.items()) if entry.mode.startswith(SUBMODULE)}
            paths = [path for path in paths if path in modules or self._may_count(path)]
        paths += self._links(after)
        blobs = self._blobs(paths)
        known = dict(zip(blobs, self._repository.blobs(blobs), strict=True))
        return [file for path in sorted({*paths}) if not _is_same(file := self._file(path, after, known))]

    def _links(self, after: Mapping[str, TreeEntry]) -> list[str]:
        """Return the links that lead to another content than before."""

        def now(path: str) -> str | None:
            if self._after is not None:
                return _blob(self._end(self._after, path))
            data = self._read(path)
            return None if data is None else _blob_of(data, self._length)

        paths = {path for side in (self._before, after) for path, entry in side.items() if entry.mode == LINK}
        return [path for path in paths if self._may_count(path) and _blob(self._end(self._before, path)) != now(path)]

    @cached_property
    def _targets(self) -> dict[str, str]:
        """Where links lead, by their objects."""
        links = sorted({entry.blob for side in (self._before, self._after or {}) for entry in side.values() if entry.mode == LINK})
        return {blob: os.fsdecode(data or b"") for blob, data in zip(links, self._repository.blobs(links), strict=True)}

    def _end(self, tree: Mapping[str, TreeEntry], path: str) -> TreeEntry | None:
        """Return the entry of a commit that a path leads to; None if it leads to nothing."""
        for _ in range(_MOST_LINKS):
            entry = tree.get(path)
            if entry is None or entry.mode != LINK:
                return entry
            path = os.path.normpath(os.path.join(os.path.dirname(path), self._targets[entry.blob]))
        return None

    def _blobs(self, paths: Iterable[str]) -> list[str]:
        """Return the objects of Git with the versions of some files."""
        sides = [self._before] if self._after is None else [self._before, self._after]
        found = [entry for side in sides for path in paths if (entry := self._end(side, path)) is not None]
        return sorted({each.blob for each in found if not each.mode.startswith(SUBMODULE)})

    def _file(self, path: str, after: Mapping[str, TreeEntry], known: Mapping[str, bytes | None]) -> ChangedFile:
        """Return a file with both versions."""
        before, problem = self._content(self._before, path, known)
        if self._after is not None:
            now, other = self._content(self._after, path, known)
        else:
            now, other = (self._read(path), "") if path in after else (None, "")
            other = _LEADS_ELSEWHERE if path in after and now is None else other
        problem = problem or other
        if any(each is not None and each.startswith(LFS_POINTER) for each in (before, now)):
            problem = "Git LFS has its content"
        return ChangedFile(path, before, now, self._is_compared(path, self._full(path)), problem)

    def _content(self, tree: Mapping[str, TreeEntry], path: str, known: Mapping[str, bytes | None]) -> tuple[bytes | None, str]:
        """Return the content of a file of a commit, and why it is not known; None and nothing for a file that the commit does not have."""
        entry = self._end(tree, path)
        if entry is None:
            return (b"", _LEADS_ELSEWHERE) if path in tree else (None, "")
        if entry.mode.startswith(SUBMODULE):
            return b"", _IS_SUBMODULE
        data = known[entry.blob]
        return (b"", _ABSENT) if data is None else (data, "")

    def _full(self, path: str) -> str:
        return os.path.join(self._repository.root, path)

    def _added(self) -> Iterator[str]:
        """Yield the files of the work tree; the base may lack some of them."""
        folders: dict[str, str] = {}
        for file in self._files():
            folder, name = os.path.split(os.path.abspath(file))
            if folder not in folders:
                folders[folder] = os.path.relpath(os.path.realpath(folder), self._repository.root)
            path = os.path.normpath(os.path.join(folders[folder], name)).replace(os.sep, "/")
            if self._may_count(path):
                yield path

    def _on_disk(self, path: str) -> TreeEntry | None:
        """Return the entry that a commit of the work tree would have; None for a file that it does not have."""
        entry = self._before.get(path)
        if entry is not None and entry.mode.startswith(SUBMODULE):
            return self._staged.get(path, entry)
        full = self._full(path)
        with suppress(OSError):
            if os.path.islink(full) and is_really_inside(os.path.dirname(full), self._repository.root):
                return TreeEntry(LINK, _blob_of(os.fsencode(os.readlink(full)), self._length), path)
        data = self._read(path)
        if data is None:
            return None
        blob = _blob_of(data, self._length)
        if entry is not None and blob != entry.blob and b"\r\n" in data:
            unix = _blob_of(data.replace(b"\r\n", b"\n"), self._length)  # As Git has it, with `eol=crlf`.
            blob = unix if unix == entry.blob else blob
        return TreeEntry(REGULAR, blob, path)

    @cached_property
    def _staged(self) -> dict[str, TreeEntry]:
        """The submodules of the index: which commit the work tree has of them is not read."""
        return {each.path: each for each in self._repository.index_entries() if each.mode.startswith(SUBMODULE)}

    def _read(self, path: str) -> bytes | None:
        full = self._full(path)
        try:
            return read_regular(full, LARGEST) if is_really_inside(full, self._repository.root) else None
        except OSError:
            return None

    @property
    def _length(self) -> int:
        return len(next((each.blob for each in self._before.values()), ""))


def _version(entry: TreeEntry | None) -> tuple[str, str] | None:
    """Return what is different in another version of a file; its mode only says whether it is a file, a link or a submodule."""
    return None if entry is None else (entry.mode[:3], entry.blob)


def _is_same(file: ChangedFile) -> bool:
    """Return whether a file of the work tree is what a pointer of Git LFS means."""
    before, after = file.before or b"", file.after or b""
    return before.startswith(LFS_POINTER) and bool(after) and b"oid sha256:" + sha256(after).hexdigest().encode() in before


def _blob(entry: TreeEntry | None) -> str | None:
    return None if entry is None else entry.blob


def _blob_of(data: bytes, length: int) -> str:
    """Return the object name that Git gives to the content of a file; names of SHA-256 have 64 digits."""
    made = (sha256 if length == 64 else sha1)(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return made.hexdigest()


def is_document(path: str) -> bool:
    """Return whether a file is for readers by its name: documentation, a picture."""
    name = os.path.basename(path)
    return name.lower().endswith(_DOCUMENTS) or name in ("LICENSE", "NOTICE", "OWNERS", "CODEOWNERS", "NOTES.txt")
