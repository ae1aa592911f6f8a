"""Conversion between paths and the ``file:`` URIs of editors."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, unquote, urlsplit

_DRIVE = re.compile(r"/?([A-Za-z]):")


def to_path(uri: str) -> str | None:
    """Return the absolute path of a ``file:`` URI; None for other URIs."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if os.name == "nt":
        if parts.netloc:
            path = f"//{parts.netloc}{path}"
        elif _DRIVE.match(path):
            path = path.lstrip("/")
    if not path or "\0" in path:
        return None
    return os.path.normpath(path)


def to_uri(path: str) -> str:
    """Return the URI of an absolute path."""
    path = path.replace(os.sep, "/")
    if path.startswith("//"):
        return "file:" + quote(path, errors="surrogateescape")
    prefix = "file://" if path.startswith("/") else "file:///"
    return prefix + quote(path, errors="surrogateescape")
