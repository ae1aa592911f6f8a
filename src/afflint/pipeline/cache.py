"""The cache of results of the map step, by the content of files.

The key of a result is a checksum of the bytes, of all settings that affect the result, and of afflint itself. After any change, the key
is a different one. Every problem with the cache (a full disk, a read-only home, another process that has locked it, a damaged or forged
entry) has the same effect as an empty cache: the run takes longer, and the report is the same.

Entries are JSON (``findings.codec``), each with a checksum that also covers its key. Anyone who can write to the folder can forge
entries. The folder of the platform is therefore not used if other users can write to it.

The folder may come from a hostile tree. A journal next to the file is never rolled back: SQLite would delete the file that the journal
names, whichever it is. afflint itself writes no journal, and starts over if there is one.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from sqlite3 import Connection, DatabaseError, Error, OperationalError, connect
from time import time

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.results import RESULTS, Keys, ResultEntry
from afflint.source.cache_folder import CacheFolder
from afflint.source.folders import Folder

_FILE = "afflint-results.sqlite"
_JOURNALS = ("-journal", "-wal", "-shm")
_TABLE = "CREATE TABLE results (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)"
_PATIENCE = 1.0
"""Seconds to wait for another process that writes to the cache."""
_DAMAGE = (DatabaseError, UnicodeDecodeError)
"""What reading a damaged file raises: messages of SQLite quote its content, which may not be UTF-8."""
_DAY = 86_400
_CHECKSUM = 16
_LARGEST = 1 << 25
"""The maximum size of an entry in bytes. The result of a file is about as long as the file; that of a run is much shorter."""
MOST = 1 << 28
"""The maximum size of the cache in bytes. The least recently used entries are deleted first."""


class CachedResult(NamedTuple):
    """A cached result, and whether its use today is already recorded."""

    result: FileResult
    noted: bool


class CachedText(NamedTuple):
    """A cached text, and whether its use today is already recorded."""

    text: bytes
    noted: bool


class Cache:
    """The results under one set of settings in one folder. The folder and the file are created when the first result is stored."""

    def __init__(self, folder: str | None, settings: MapSettings, most: int = MOST) -> None:
        """``folder``: None for the cache folder of the platform."""
        self._folder = CacheFolder(folder)
        self._path = os.path.join(self._folder.path, _FILE)
        self._most = most
        self.keys = Keys(settings, *_this_afflint())
        self.key = self.keys.key
        self._today = _today()
        self._reading = self._opened()

    def _opened(self) -> Connection | None:
        """Return a connection for reading, or None if there is no usable cache."""
        with suppress(OSError, Error, UnicodeDecodeError):
            with self._folder.open() as folder:
                status = folder.status(_FILE)
                if status is None or not stat.S_ISREG(status.st_mode) or _has_journal(folder):
                    return None
            connection = _connected(self._path, "ro")
            connection.execute("BEGIN")  # One lock for all lookups.
            return connection
        return None

    def find(self, key: bytes) -> CachedResult | None:
        """Return the result with a key, if any."""
        text = self.text(key)
        try:
            return None if text is None else CachedResult(RESULTS.decode(text.text), text.noted)
        except PlainError:
            return None

    def text(self, key: bytes) -> CachedText | None:
        """Return the text with a key, if any, as it was written."""
        if self._reading is None:
            return None
        try:
            row = self._reading.execute("SELECT used, value FROM results WHERE key = ? AND length(value) < ?", (key, _LARGEST)).fetchone()
        except (Error, UnicodeDecodeError):
            self.close()
            return None
        if row is None or type(row[0]) is not int or type(row[1]) is not bytes:
            return None
        value = row[1]
        if value[:_CHECKSUM] != _checksum(key, value[_CHECKSUM:]):
            return None
        return CachedText(value[_CHECKSUM:], row[0] >= self._today)

    def close(self) -> None:
        """Stop reading, so that other processes can write."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def keep(self, entries: Sequence[ResultEntry]) -> None:
        """Store new results, and record which of the results that were found were used today."""
        self.close()
        if not entries:
            return
        # The cache may be locked, full or read-only.
        with suppress(OSError, Error, UnicodeDecodeError):
            try:
                self._keep(entries)
            except OperationalError:
                return
            except _DAMAGE:
                self._forget()
                self._keep(entries)

    def _keep(self, entries: Sequence[ResultEntry]) -> None:
        with self._folder.open(make=True) as folder:
            if _has_journal(folder):
                self._forget()
                if _has_journal(folder):
                    return
            status = folder.status(_FILE)
            if status is not None and not stat.S_ISREG(status.st_mode):
                return
        with closing(_connected(self._path, "rwc")) as connection:
            self._write(connection, entries)

    def _write(self, connection: Connection, entries: Sequence[ResultEntry]) -> None:
        day = self._today
        new = [(key, day, _checksum(key, text) + text) for key, text in entries if text is not None and len(text) < _LARGEST - _CHECKSUM]
        known = [(day, key) for key, text in entries if text is None]
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", new)
            connection.executemany("UPDATE results SET used = ? WHERE key = ?", known)
        size = _number(connection, "page_count") * _number(connection, "page_size")
        if size > self._most:
            # Delete down to half of the maximum, so that this rarely happens.
            (count,) = connection.execute("SELECT count(*) FROM results").fetchone()
            surplus = int(count * (1 - self._most / size / 2))
            with connection:
                connection.execute("DELETE FROM results WHERE key IN (SELECT key FROM results ORDER BY used LIMIT ?)", (surplus,))
            connection.execute("VACUUM")

    def _forget(self) -> None:
        """Delete a damaged cache and its journals. Anything but a file in their places stays."""
        with self._folder.open() as folder:
            for end in ("", *_JOURNALS):
                status = folder.status(_FILE + end)
                if status is not None and stat.S_ISREG(status.st_mode):
                    folder.delete(_FILE + end)


def _has_journal(folder: Folder) -> bool:
    return any(folder.status(_FILE + end) is not None for end in _JOURNALS)


def _connected(path: str, mode: str) -> Connection:
    """Open the file with the results. Raises sqlite3.Error if the file contains anything else."""
    from pathlib import Path

    connection = connect(f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.text_factory = bytes
        # A process or a system that ends half way may damage the file, which is then deleted. No SQL from the file is executed.
        for pragma in ("journal_mode = MEMORY", "synchronous = OFF", "trusted_schema = OFF", "cell_size_check = ON", "cache_size = -32768"):
            connection.execute(f"PRAGMA {pragma}")
        held = connection.execute("SELECT type, sql FROM sqlite_master").fetchall()
        if not held and mode != "ro":
            connection.execute(_TABLE)
        elif held != [(b"table", _TABLE.encode()), (b"index", None)]:
            raise DatabaseError("another kind of file")
    except BaseException:
        connection.close()
        raise
    return connection


def _number(connection: Connection, pragma: str) -> int:
    (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(number)


def _today() -> int:
    return int(time()) // _DAY


def _checksum(key: bytes, text: bytes) -> bytes:
    return blake2b(text, digest_size=_CHECKSUM, key=key).digest()


def _this_afflint() -> list[object]:
    """Return what identifies this installation of afflint and its parser: several installations may share the cache."""
    from ruamel.yaml import __version__ as parser

    return [__version__, parser, sys.version_info[:3], sys.platform, *_modules()]


@functools.cache
def _modules() -> list[tuple[str, int, int]]:
    """Return the modules of afflint with sizes and times: during development, two trees of one version may differ."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py"):
                status = os.stat(os.path.join(folder, file))
                found.append((os.path.relpath(os.path.join(folder, file), top), status.st_size, status.st_mtime_ns))
    return found
