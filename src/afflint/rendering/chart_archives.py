"""Packed charts: the templates of one without unpacking it, all its files in an empty folder, and the cache of those that were fetched."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from afflint.findings.phrases import quoted
from afflint.rendering.line_marks import is_template_name
from afflint.source.archives import ArchiveBudget, ArchiveError, files_in
from afflint.source.atomic_write import replace_in
from afflint.source.cache_folder import CacheFolder
from afflint.source.files import read_regular
from afflint.source.folders import Folder
from afflint.source.trees import DEEPEST, TreeLimits, writing

SUFFIX = ".tgz"
LARGEST = 16 << 20
"""The highest size of an archive in bytes."""
MOST_UNPACKED = 64 << 20
"""The highest size of all files of an archive in bytes."""
_LARGEST_TEMPLATE = 1 << 20
_MOST_FILES = 10_000


def packed_templates(path: str) -> Iterator[str]:
    """Yield the texts of the templates of a packed chart and its subcharts, up to a total size and the first fault in the archive."""
    with suppress(OSError, ArchiveError):
        for name, data in files_in(read_regular(path, LARGEST), budget()):
            if "templates" in name.split("/") and is_template_name(name) and len(data) <= _LARGEST_TEMPLATE:
                yield data.decode("utf-8", "replace")


def unpack(data: bytes, folder: str) -> None:
    """Write the files of a packed chart or repository into an empty folder that was created for them. Raises OSError and ValueError."""
    with writing(folder, TreeLimits("the archive", _MOST_FILES * 2, MOST_UNPACKED)) as tree:
        for name, content in files_in(data, budget()):
            tree.write("/".join(parts_below(name)), content)
        for name, reason in tree.left_out.items():
            raise ValueError(f"{quoted(name)} cannot be unpacked: {reason}")


def budget() -> ArchiveBudget:
    """Return the limits for a chart and the archives in it."""
    return ArchiveBudget(MOST_UNPACKED, _MOST_FILES)


def parts_below(name: str) -> list[str]:
    """Return the parts of a name in an archive below its first folder. Raises ValueError for one that may lead out of a folder.

    After ``LoadArchiveFiles`` of helm.sh/helm/pkg/chart/loader.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    is_deep = len(parts) > DEEPEST
    if name.startswith("/") or len(parts) < 2 or is_deep or any(part == ".." or set(part) & {"\\", ":", "\0"} for part in parts):
        raise ValueError(f"{quoted(name)} is not the name of a file in a chart")
    return parts[1:]


MOST = 1 << 29
"""The maximum size of all archives in bytes. Those that were not used for the longest time are deleted first."""
_MOST_OF_INDEX = 1 << 22
_LARGEST_ENTRY = 1 << 16
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OWN_NAME = re.compile(rf"[0-9a-f]{{64}}(?:\.json|{re.escape(SUFFIX)})")
_ARCHIVES, _INDEX = "archives", "index"


class DamagedArchiveError(Exception):
    """An archive that does not have its checksum."""


class ChartCache:
    """The downloaded charts in a folder: archives by their checksum, and an index from charts to archives.

    An archive is read only if it has the checksum that is its name. Files are replaced at once, so that another run never sees half of one.
    A cache that cannot be written has the same effect as one that keeps nothing. ``folder``: None for the cache folder of the platform.
    """

    def __init__(self, folder: str | None, most: int = MOST) -> None:
        self._folder = CacheFolder(folder)
        self._most = most

    def find(self, key: Sequence[str]) -> bytes | None:
        """Return the archive of a chart; None without one. Raises DamagedArchiveError."""
        with suppress(OSError), self._opened(_INDEX) as index:
            entry = _entry_of(key)
            digest = _digest_in(read_regular(entry, _LARGEST_ENTRY, index), key)
            with self._opened(_ARCHIVES) as archives:
                data = _archive_in(archives, digest)
                for folder, used in ((archives, f"{digest}{SUFFIX}"), (index, entry)):
                    with suppress(OSError):
                        folder.touch(used)
                return data
        return None

    def keep(self, key: Sequence[str], data: bytes) -> None:
        """Store the archive of a chart, and delete the oldest ones if all together are too large."""
        digest = sha256(data).hexdigest()
        entry = json.dumps({"key": [*key], "sha256": digest}).encode()
        stored = ((_ARCHIVES, f"{digest}{SUFFIX}", data, self._most), (_INDEX, _entry_of(key), entry, _MOST_OF_INDEX))
        with suppress(OSError):
            for name, file, content, most in stored:
                with self._opened(name, make=True) as folder:
                    replace_in(folder, file, lambda written, content=content: written.write(content))  # type: ignore[misc]
                    _delete_oldest(folder, most)

    def _opened(self, name: str, *, make: bool = False) -> Folder:
        return self._folder.open("charts", name, make=make)


def _entry_of(key: Sequence[str]) -> str:
    return f"{sha256(json.dumps([*key]).encode()).hexdigest()}.json"


def _digest_in(entry: bytes, key: Sequence[str]) -> str:
    """Return the checksum in an entry of the index. Raises DamagedArchiveError."""
    try:
        data = json.loads(entry)
    except (ValueError, RecursionError):
        raise DamagedArchiveError from None
    digest = data.get("sha256") if type(data) is dict and data.get("key") == [*key] else None
    if type(digest) is not str or _DIGEST.fullmatch(digest) is None:
        raise DamagedArchiveError
    return digest


def _archive_in(archives: Folder, digest: str) -> bytes:
    """Return the archive with a checksum. Raises FileNotFoundError and DamagedArchiveError."""
    try:
        data = read_regular(f"{digest}{SUFFIX}", LARGEST, archives)
    except FileNotFoundError:
        raise
    except OSError:
        data = b""
    if sha256(data).hexdigest() != digest:
        raise DamagedArchiveError
    return data


def _delete_oldest(folder: Folder, most: int) -> None:
    """Delete the files of a cache that were not used for the longest time, until all together have at most ``most`` bytes.

    Whatever else is in the folder stays.
    """
    known = {name: folder.status(name) for name in folder.names() if _OWN_NAME.fullmatch(name)}
    files = sorted((each.st_mtime_ns, each.st_size, name) for name, each in known.items() if each and stat.S_ISREG(each.st_mode))
    total = sum(size for _, size, _ in files)
    for _, size, name in files:
        if total <= most:
            break
        folder.delete(name)
        total -= size
