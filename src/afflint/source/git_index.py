"""The names of tracked files in the index of a Git repository, read without Git.

The file is untrusted: it is read up to a size, and a name never goes further than its bytes. https://git-scm.com/docs/index-format
describes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from afflint.source.files import read_regular

_LARGEST = 1 << 26
_HEADER, _STATUS = 12, 62
"""Bytes of the header, and of an entry in front of its name with SHA-1 checksums: those of SHA-256 are not supported."""
_FLAGS = 60
_EXTENDED = 0x40
_COMPRESSED = 4


def tracks_files_in(folder: str) -> bool:
    """Return whether the repository around a folder tracks a file in it. False if that cannot be read."""
    real = top = os.path.realpath(folder)
    while not os.path.isfile(index := os.path.join(top, ".git", "index")):
        above = os.path.dirname(top)
        if above == top:
            return False
        top = above
    prefix = b"" if top == real else os.fsencode(os.path.relpath(real, top).replace(os.sep, "/")) + b"/"
    try:
        return any(name.startswith(prefix) for name in _names(read_regular(index, _LARGEST)))
    except OSError:
        return False


def _names(index: bytes) -> Iterator[bytes]:
    if index[:4] != b"DIRC":
        return
    version, count = (int.from_bytes(index[start : start + 4], "big") for start in (4, 8))
    at, name = _HEADER, b""
    for _ in range(count):
        if at + _STATUS > len(index):
            return
        start = at + _STATUS + (2 if index[at + _FLAGS] & _EXTENDED else 0)
        kept = 0
        if version == _COMPRESSED:
            removed, start = _number(index, start)
            kept = max(len(name) - removed, 0)
        end = index.find(b"\0", start)
        if end < 0:
            return
        name = name[:kept] + index[start:end]
        yield name
        at = end + 1 if version == _COMPRESSED else at + (end - at) // 8 * 8 + 8


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value, most = -1, at + 5
    while at < min(most, len(index)):
        value = (value + 1 << 7) + (index[at] & 0x7F)
        at += 1
        if index[at - 1] < 0x80:
            break
    return value, at
