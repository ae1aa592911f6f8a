"""What the map step told of files, kept from one run to the next by their content.

A result is found again by a checksum of the bytes, of all that decides what is found in them, and of afflint itself, so that nothing
that changes can meet an old one. Whatever is wrong with the cache (a full disk, a home that cannot be written, another process that
holds it, an entry that is damaged or was made up) is as if nothing had been kept: it costs time, and never a word of the report.

Entries are plain data (``plain``), each with a checksum that holds its key as well. They are only as trustworthy as whoever can write
to the folder: the platform's is not used where others can.
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

from platformdirs import user_cache_dir

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.results import RESULTS, Keys, ResultEntry

_FILE = "afflint-results.sqlite"
_TABLE = "CREATE TABLE results (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)"
_TAG = "CACHEDIR.TAG"
_TAGGED = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by afflint; may be deleted at any time.\n"
_PATIENCE = 1.0
"""Seconds to wait for another process that writes."""
_DAY = 86_400
_CHECKSUM = 16
_LARGEST = 1 << 25
"""No entry is longer than this. What a file tells is about as long as the file, what a run tells much shorter than all its files."""
MOST = 1 << 28
"""So many bytes at most are kept. What was not used for longest goes first."""


class CachedResult(NamedTuple):
    """A result that was kept, and whether it is noted that it was used today."""

    result: FileResult
    noted: bool


class CachedText(NamedTuple):
    """What was kept, and whether it is noted that it was used today."""

    text: bytes
    noted: bool


class Cache:
    """Results of one set of settings in one folder. The folder and the file are made when there is something to keep."""

    def __init__(self, folder: str | None, settings: MapSettings, most: int = MOST) -> None:
        """``folder``: None for that of the platform."""
        self._named = folder is not None
        self._folder = folder if folder is not None else user_cache_dir("afflint", appauthor=False)
        self._path = os.path.join(self._folder, _FILE)
        self._most = most
        self.keys = Keys(settings, *_this_afflint())
        self.key = self.keys.key
        self._today = _today()
        self._reading = self._opened()

    def _opened(self) -> Connection | None:
        """What there is to find results in."""
        with suppress(OSError, Error):
            if self._is_trusted() and stat.S_ISREG(os.stat(self._path, follow_symlinks=False).st_mode):
                connection = _connected(self._path, "ro")
                connection.execute("BEGIN")  # One lock for all that is looked up.
                return connection
        return None

    def find(self, key: bytes) -> CachedResult | None:
        """The result that is kept under a key, if any."""
        text = self.text(key)
        try:
            return None if text is None else CachedResult(RESULTS.decode(text.text), text.noted)
        except PlainError:
            return None

    def text(self, key: bytes) -> CachedText | None:
        """What is kept under a key, as it was written."""
        if self._reading is None:
            return None
        try:
            row = self._reading.execute("SELECT used, value FROM results WHERE key = ? AND length(value) < ?", (key, _LARGEST)).fetchone()
        except Error:
            self._reading = None
            return None
        if row is None or type(row[0]) is not int or type(row[1]) is not bytes:
            return None
        value = row[1]
        if value[:_CHECKSUM] != _checksum(key, value[_CHECKSUM:]):
            return None
        return CachedText(value[_CHECKSUM:], row[0] >= self._today)

    def close(self) -> None:
        """Let others write."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def keep(self, entries: Sequence[ResultEntry]) -> None:
        """Keep results; note which of those that were found are still in use."""
        self.close()
        if not entries:
            return
        # What does not help: another process holds it, there is no room, it is not to be written.
        with suppress(OSError, Error):
            try:
                self._keep(entries)
            except OperationalError:
                return
            except DatabaseError:
                self._forget()
                self._keep(entries)

    def _keep(self, entries: Sequence[ResultEntry]) -> None:
        self._make_folder()
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
            # Down to half of it, so that this is rare.
            (count,) = connection.execute("SELECT count(*) FROM results").fetchone()
            surplus = int(count * (1 - self._most / size / 2))
            with connection:
                connection.execute("DELETE FROM results WHERE key IN (SELECT key FROM results ORDER BY used LIMIT ?)", (surplus,))
            connection.execute("VACUUM")

    def _is_trusted(self) -> bool:
        """Whether nobody else can write to the folder, or it was named. What Windows lets others do is not to be read from the mode."""
        if self._named or os.name != "posix":
            return True
        status = os.stat(self._folder)
        return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def _make_folder(self) -> None:
        if not os.path.isdir(self._folder):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(os.path.join(self._folder, _TAG), "x", encoding="ascii") as tag:
                tag.write(_TAGGED)
        if not self._is_trusted():
            raise PermissionError

    def _forget(self) -> None:
        """Take away a file that is no cache, or a damaged one: the next run begins anew."""
        for end in ("", "-journal"):
            with suppress(OSError):
                os.unlink(self._path + end)


def _connected(path: str, mode: str) -> Connection:
    """A connection to the results. Raises sqlite3.Error where the file holds anything but that."""
    from pathlib import Path

    connection = connect(f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        # Losing a power supply may damage the file: then it is thrown away. Nothing that stands in it is executed.
        for pragma in ("synchronous = OFF", "trusted_schema = OFF", "cell_size_check = ON", "cache_size = -32768"):
            connection.execute(f"PRAGMA {pragma}")
        held = connection.execute("SELECT type, sql FROM sqlite_master").fetchall()
        if not held and mode != "ro":
            connection.execute(_TABLE)
        elif held != [("table", _TABLE), ("index", None)]:
            raise DatabaseError("another kind of file")
    except BaseException:
        connection.close()
        raise
    return connection


def _number(connection: Connection, pragma: str) -> int:
    (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(number)


def _today() -> int:
    from time import time

    return int(time()) // _DAY


def _checksum(key: bytes, text: bytes) -> bytes:
    return blake2b(text, digest_size=_CHECKSUM, key=key).digest()


def _this_afflint() -> list[object]:
    """What tells this afflint, with what it stands on, from every other: the cache may be used by several."""
    from ruamel.yaml import __version__ as parser

    return [__version__, parser, sys.version_info[:3], sys.platform, *_modules()]


@functools.cache
def _modules() -> list[tuple[str, int, int]]:
    """Our own files with their sizes and times: two trees of one version may differ while somebody works on them."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py"):
                status = os.stat(os.path.join(folder, file))
                found.append((os.path.relpath(os.path.join(folder, file), top), status.st_size, status.st_mtime_ns))
    return found
