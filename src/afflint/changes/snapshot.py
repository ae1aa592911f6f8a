"""The files of a commit or the index in a temporary folder, so that a run over them is the same as in a checkout.

The work tree is not touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType

from afflint.changes.git import LINK, REGULAR, SUBMODULE, Repository, TreeEntry
from afflint.config import CONFIG_FILES
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.results import checksum
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, SUFFIXES
from afflint.source.temporary_folders import temporary_folder
from afflint.source.trees import TreeLimits, TreeWriter, writing

_ALWAYS = frozenset((*NAMES, CHART, ".gitignore", *CONFIG_FILES))
"""The names of files that affect how others are read, wherever they are."""
_ENDINGS = (*SUFFIXES, ".toml")
"""How the names of manifests and of configuration files end."""
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""How files begin whose content Git LFS has."""
_MEMORY_FOLDER = "/dev/shm"
"""The file system in memory that Linux has."""
_BLOCK = 4096
_SPARE = 4
"""A snapshot is in memory if that file system has four times the room that the snapshot needs."""
_MOST_IN_MEMORY = 1 << 30


class Snapshot(NamedTuple):
    """The files of a commit or the index below ``root``, which takes the place of the repository at ``original``.

    The links of both are resolved. ``top`` takes the place of the root of the file system: the folders above the repository have the names
    of the original ones.
    """

    top: str
    root: str
    original: str
    contents: Mapping[str, bytes]
    """The checksums of the files by their absolute paths, see ``pipeline.results``."""
    blobs: Mapping[str, str]
    """The objects of the files by their paths below the root."""
    submodules: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    """The files that Git LFS keeps: the commit has only pointers to their content."""
    absent: tuple[str, ...] = ()
    """The manifests whose objects this clone does not have, as with `--filter`."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """The files that are not in the snapshot because of their names, with the reasons."""

    def path_of(self, path: str) -> str:
        """Return where a file or folder of the repository is in the snapshot; a path outside the repository itself.

        A file that the commit does not have, such as a node dump that was never committed, stays where it is.
        """
        absolute = os.path.abspath(path)
        folder = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
        if not is_inside(folder, self.original):
            return absolute
        moved = os.path.normpath(os.path.join(self.root, os.path.relpath(folder, self.original)))
        return moved if os.path.lexists(moved) else absolute

    def original_of(self, path: str) -> str:
        """Return the path in the work tree of a file or folder of the snapshot."""
        return os.path.normpath(os.path.join(self.original, os.path.relpath(os.path.abspath(path), self.root)))

    def folder_of(self, folder: str) -> str:
        """Return the folder that takes the place of a folder of the repository; it is created if it does not exist.

        It is the root if the snapshot has a link or a file there that does not lead to a folder inside it.
        """
        moved = os.path.realpath(_below(self.top, os.path.realpath(folder)))
        if not is_inside(moved, self.root):
            return self.root
        with suppress(OSError):
            os.makedirs(moved, exist_ok=True)
        return moved if os.path.isdir(moved) else self.root


def wanted_files(tops: Sequence[str], *, whole: bool, any_name: bool) -> Callable[[str], bool]:
    """Return a function that returns whether a run reads the file at a path relative to the root.

    ``tops`` are the files and folders that are checked, relative to the root; ``whole``: files elsewhere are read, too;
    ``any_name``: names do not show which files are read.
    """
    everything = whole or any(top in ("", os.curdir) for top in tops)

    def is_wanted(path: str) -> bool:
        if path.rpartition("/")[2] in _ALWAYS:
            return True
        if not (everything or any(is_inside(path, top) for top in tops)):
            return False
        return any_name or path.lower().endswith(_ENDINGS) or path in tops

    return is_wanted


@contextmanager
def snapshot_folder(repository: Repository, entries: Iterable[TreeEntry], is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """Create a folder for the wanted files, links resolved, and remove it in the end.

    It is in memory if there is plenty of room, because on some disks ten thousand small files take longer to create and remove than to
    check. A folder for temporary files that the user has chosen is respected.
    """
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    room = 0 if chosen else _room_in_memory()
    blobs = {each.blob for each in entries if each.mode.startswith(REGULAR) and is_wanted(each.path)} if room else set()
    size = repository.size(sorted(blobs)) + _BLOCK * len(blobs) if room else 0
    is_plenty = room > _SPARE * size and size < _MOST_IN_MEMORY
    with temporary_folder(_MEMORY_FOLDER if is_plenty else None) as folder:
        yield folder


def _room_in_memory() -> int:
    """Return how many bytes the file system in memory has left; 0 without one."""
    if not (os.path.ismount(_MEMORY_FOLDER) and os.access(_MEMORY_FOLDER, os.W_OK)):
        return 0
    status = os.statvfs(_MEMORY_FOLDER)
    return status.f_bavail * status.f_frsize


def extract(
    repository: Repository, entries: Sequence[TreeEntry], folder: str, is_wanted: Callable[[str], bool], like: Snapshot | None = None
) -> Snapshot:
    """Write the wanted files of a commit or the index into an empty folder, links resolved.

    Files that ``like`` has with the same content, and those with the same content here, are linked and not read again.
    Raises UserError if the files cannot be read, or are too large together.
    """
    root = _below(folder, repository.root)
    os.makedirs(os.path.join(root, ".git"))
    _keep_remotes(repository.root, root)
    files = [each for each in entries if each.mode.startswith(REGULAR) and is_wanted(each.path)]
    known = {blob: os.path.join(like.root, path) for path, blob in like.blobs.items()} if like is not None else {}
    extraction = _Extraction(root, known, {} if like is None else like.contents)
    absent: list[str] = []
    pointers = set() if like is None else {like.blobs[path] for path in like.pointers}
    try:
        with writing(root, TreeLimits("the commit")) as tree:
            missing = extraction.link_known(tree, files)
            for same, data in zip(missing.values(), repository.blobs(list(missing)), strict=True):
                if data is None:
                    absent += [each.path for each in same if each.path.lower().endswith(SUFFIXES)]
                    continue
                extraction.write(tree, same, data)
                pointers.update([same[0].blob] if data.startswith(LFS_POINTER) else [])
            links = [each for each in entries if each.mode == LINK]
            for each, target in zip(links, repository.blobs([each.blob for each in links]), strict=True):
                if target is not None and b"\0" not in target:
                    tree.link(each.path, os.fsdecode(target))
    except OSError as error:
        raise UserError(f"cannot write the files of the commit: {error.strerror or error}; name the paths to compare") from None
    blobs = extraction.blobs
    submodules = tuple([each.path for each in entries if each.mode == SUBMODULE])
    of_lfs = tuple([path for path, blob in blobs.items() if blob in pointers])
    return Snapshot(folder, root, repository.root, extraction.contents, blobs, submodules, of_lfs, tuple(absent), tree.left_out)


class _Extraction:
    """The files of a snapshot below ``root`` that are written so far.

    ``known`` are files of another snapshot by their blobs, ``contents`` their checksums by their paths.
    """

    def __init__(self, root: str, known: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
        self._root, self._known, self._known_contents = root, known, contents
        self.contents: dict[str, bytes] = {}
        self.blobs: dict[str, str] = {}

    def link_known(self, tree: TreeWriter, files: Iterable[TreeEntry]) -> dict[str, list[TreeEntry]]:
        """Link the files that are known; return the others by their blobs."""
        missing: dict[str, list[TreeEntry]] = {}
        for each in files:
            known = self._known.get(each.blob)
            if known is not None and tree.repeat(each.path, known):
                self._add(each, self._known_contents[known])
            elif each.path not in tree.left_out:
                missing.setdefault(each.blob, []).append(each)
        return missing

    def write(self, tree: TreeWriter, same: Sequence[TreeEntry], data: bytes) -> None:
        """Write the files that have the same content, all but the first as links to it."""
        content, first = checksum(data), ""
        for each in same:
            is_linked = bool(first) and tree.repeat(each.path, os.path.join(self._root, first))
            if is_linked or (each.path not in tree.left_out and tree.write(each.path, data)):
                first = first or each.path
                self._add(each, content)

    def _add(self, entry: TreeEntry, content: bytes) -> None:
        self.blobs[entry.path] = entry.blob
        self.contents[os.path.join(self._root, entry.path)] = content


def _keep_remotes(original: str, root: str) -> None:
    """Keep the addresses of the repository, by which rendering recognises it; nothing else of its configuration."""
    from afflint.rendering.git_downloads import addresses

    lines = [f"\turl = {each}\n" for each in addresses(original)]
    with open(os.path.join(root, ".git", "config"), "w", encoding="utf-8") as file:
        file.writelines(['[remote "origin"]\n', *lines])


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Make a folder the working directory, so that reports name files as they would in it."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _below(top: str, path: str) -> str:
    """Return an absolute path with ``top`` in place of the root of the file system."""
    drive, rest = os.path.splitdrive(path)
    return os.path.join(top, drive.rstrip(":").strip("\\/"), rest.lstrip("\\/" if os.altsep else "/")).rstrip(os.sep)
