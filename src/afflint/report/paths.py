"""How reports name a file to other programs: as a path with slashes, or as a URI."""

from __future__ import annotations

import os

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def slashed(file: str, separator: str = os.sep) -> str:
    """Return ``file`` with ``/`` between its parts and no leading ``./``; a backslash is an ordinary character except on Windows."""
    if separator != "/":
        file = file.replace(separator, "/")
    while file.startswith("./"):
        file = file[2:].lstrip("/")
    return file


def folder_of(file: str) -> str:
    """Return the folder of a file with slashes: "" for the current one."""
    return slashed(file).rpartition("/")[0] or ("/" if file.startswith("/") else "")


def uri(file: str, separator: str = os.sep) -> str:
    """Return a relative URI reference for a relative path, a ``file:`` URI for an absolute one; ASCII, percent-encoded."""
    path = slashed(file, separator)
    if separator != "/" and path[1:3] == ":/":
        return f"file:///{path[0]}:{_percent(path[2:])}"
    if separator != "/" and path.startswith("//"):
        return f"file:{_percent(path)}"
    if path.startswith("/"):
        return f"file:///{_percent(path.lstrip('/'))}"
    return _percent(path)


def _percent(path: str) -> str:
    try:
        # Python decodes bytes of a file name that are not UTF-8 to lone surrogates; this restores the bytes.
        encoded = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        encoded = path.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in encoded)
