"""The cache of downloaded charts: archives by their checksum, and an index from charts to archives.

An archive is read only if it has the checksum that is its name. Files are replaced at once, so that another run never sees half of one. A
cache that cannot be written has the same effect as one that keeps nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from afflint.rendering.chart_archives import LARGEST, SUFFIX
from afflint.source.atomic_write import write_temporary_beside
from afflint.source.cache_folder import CacheFolder
from afflint.source.files import read_regular

MOST = 1 << 29
"""The maximum size of all archives in bytes. Those that were not used for the longest time are deleted first."""
_MOST_OF_INDEX = 1 << 22
_LARGEST_ENTRY = 1 << 16
_DIGEST = re.compile(r"[0-9a-f]{64}")


class DamagedArchiveError(Exception):
    """An archive that does not have its checksum."""


class ChartCache:
    """The downloaded charts in a folder; ``folder``: None for the cache folder of the platform."""

    def __init__(self, folder: str | None, most: int = MOST) -> None:
        self._folder = CacheFolder(folder)
        self._archives = os.path.join(self._folder.path, "charts", "archives")
        self._index = os.path.join(self._folder.path, "charts", "index")
        self._most = most

    def find(self, key: Sequence[str]) -> bytes | None:
        """Return the archive of a chart; None without one. Raises DamagedArchiveError."""
        try:
            if not self._folder.is_trusted():
                return None
            entry = json.loads(read_regular(self._entry(key), _LARGEST_ENTRY))
        except OSError:
            return None
        except ValueError:
            raise DamagedArchiveError from None
        digest = entry.get("sha256") if type(entry) is dict and entry.get("key") == [*key] else None
        if type(digest) is not str or _DIGEST.fullmatch(digest) is None:
            raise DamagedArchiveError
        path = self._archive(digest)
        try:
            data = read_regular(path, LARGEST)
        except FileNotFoundError:
            return None
        except OSError:
            data = b""
        if sha256(data).hexdigest() != digest:
            raise DamagedArchiveError
        for used in (path, self._entry(key)):
            with suppress(OSError):
                os.utime(used)
        return data

    def keep(self, key: Sequence[str], data: bytes) -> None:
        """Store the archive of a chart, and delete the oldest ones if all together are too large."""
        digest = sha256(data).hexdigest()
        with suppress(OSError):
            self._folder.make()
            self._write(self._archive(digest), data)
            self._write(self._entry(key), json.dumps({"key": [*key], "sha256": digest}).encode())
            _delete_oldest(self._archives, self._most)
            _delete_oldest(self._index, _MOST_OF_INDEX)

    def _archive(self, digest: str) -> str:
        return os.path.join(self._archives, f"{digest}{SUFFIX}")

    def _entry(self, key: Sequence[str]) -> str:
        return os.path.join(self._index, f"{sha256(json.dumps([*key]).encode()).hexdigest()}.json")

    def _write(self, path: str, data: bytes) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_temporary_beside(path, lambda file: file.write(data))


def _delete_oldest(folder: str, most: int) -> None:
    """Delete the files of a folder that were not used for the longest time, until all together have at most ``most`` bytes."""
    with os.scandir(folder) as entries:
        files = sorted((each.stat().st_mtime_ns, each.stat().st_size, each.path) for each in entries)
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total <= most:
            break
        os.unlink(path)
        total -= size
