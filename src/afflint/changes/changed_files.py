"""The files that differ between the two sides of a comparison, of those that may create workloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha1, sha256

from afflint.changes.git import REGULAR, Repository, TreeEntry
from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_really_inside
from afflint.source.sources import LARGEST, SUFFIXES

_TEMPLATES = (".tpl", ".gotmpl", ".tmpl")
PROGRAMS = (".jsonnet", ".libsonnet", ".cue", ".tf", ".dhall", ".star", ".k", ".j2")
"""How the names of files end that make manifests in languages which afflint does not read."""


class ChangedFile(NamedTuple):
    """A file that differs between the sides: its path below the root of the repository, and its versions; None for a missing one.

    ``is_compared``: it is among the files to compare. Others count only for what reads them.
    """

    path: str
    before: bytes | None
    after: bytes | None
    is_compared: bool = True


class ChangedFiles:
    """The files of a repository that differ between two sides, and that may create workloads.

    ``before`` are the entries of the base, ``after`` those of the head; None for the work tree, whose manifests are at the paths that
    ``manifests`` returns. ``is_compared`` returns whether the comparison includes a file, by its path and its absolute path.
    """

    def __init__(
        self,
        repository: Repository,
        before: Iterable[TreeEntry],
        after: Iterable[TreeEntry] | None,
        manifests: Callable[[], Iterable[str]],
        is_compared: Callable[[str, str], bool],
    ) -> None:
        self._repository, self._manifests, self._is_compared = repository, manifests, is_compared
        self._before = _blobs(before)
        self._after = None if after is None else _blobs(after)

    def read(self) -> list[ChangedFile]:
        """Return the files with both versions, by their paths. Those of more than 256 MB, and those without their objects, are left out."""
        if self._after is not None:
            paths = [path for path in {*self._before, *self._after} if self._before.get(path) != self._after.get(path)]
        else:
            paths = [
                path for path in {*self._before, *self._added()} if self._before.get(path) != _blob_of(self._on_disk(path), self._length)
            ]
        paths.sort()
        wanted = [blob for blobs in (self._before, self._after or {}) for path in paths if (blob := blobs.get(path)) is not None]
        contents = dict(zip(wanted, self._repository.blobs(wanted), strict=True))
        return [file for path in paths if (file := self._file(path, contents)) is not None]

    def _file(self, path: str, contents: Mapping[str, bytes | None]) -> ChangedFile | None:
        """Return a file with both versions; None if Git does not have one of them."""
        blobs = [each[path] for each in (self._before, self._after or {}) if path in each]
        if any(contents[blob] is None for blob in blobs):
            return None
        before = contents.get(self._before.get(path, ""))
        after = self._on_disk(path) if self._after is None else contents.get(self._after.get(path, ""))
        return None if before is None and after is None else ChangedFile(path, before, after, self._is_compared(path, self._full(path)))

    def _full(self, path: str) -> str:
        return os.path.join(self._repository.root, path)

    def _added(self) -> Iterator[str]:
        """Yield the manifests of the work tree; the base may lack some of them."""
        for manifest in self._manifests():
            path = os.path.relpath(os.path.realpath(manifest), self._repository.root).replace(os.sep, "/")
            if may_create(path):
                yield path

    def _on_disk(self, path: str) -> bytes | None:
        full = self._full(path)
        try:
            return read_regular(full, LARGEST) if is_really_inside(full, self._repository.root) else None
        except OSError:
            return None

    @property
    def _length(self) -> int:
        return len(next(iter(self._before.values()), ""))


def _blobs(entries: Iterable[TreeEntry]) -> dict[str, str]:
    return {each.path: each.blob for each in entries if each.mode.startswith(REGULAR) and may_create(each.path)}


def _blob_of(data: bytes | None, length: int) -> str | None:
    """Return the object name that Git gives to the content of a file; names of SHA-256 have 64 digits."""
    if data is None:
        return None
    made = (sha256 if length == 64 else sha1)(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return made.hexdigest()


def may_create(path: str) -> bool:
    """Return whether a file with this name may create workloads: no documentation, and not in a folder of a tool such as ``.github``."""
    *folders, name = path.split("/")
    if any(not each or each.startswith(".") for each in (*folders, name)):
        return False  # Names such as ``/web.yaml`` and ``../web.yaml`` are those of a hostile commit.
    return name in NAMES or name.lower().endswith((*SUFFIXES, *_TEMPLATES, *PROGRAMS))
