"""The addresses of a repository itself: an object that names one of them means the files that are checked."""

from __future__ import annotations

import os
import re

from afflint.rendering.git_downloads import GitFolder, git_folder
from afflint.rendering.programs import RenderError
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside

_LARGEST = 1 << 20
_URL = re.compile(r"(?m)^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t]*$")


def is_own(folder: GitFolder, top: str) -> bool:
    """Return whether a folder is one of the repository with the top ``top``, links resolved, as its `.git/config` says."""
    return _without_protocol(folder.address) in _remotes(top)


def addresses(top: str) -> list[str]:
    """Return the addresses in the `.git/config` of a repository with the top ``top``, links resolved; none if it cannot be read."""
    path = os.path.join(top, ".git", "config")
    try:
        text = read_regular(path, _LARGEST).decode("utf-8", "replace") if is_inside(os.path.realpath(path), top) else ""
    except OSError:
        return []
    return _URL.findall(text)


def _remotes(top: str) -> frozenset[str]:
    return frozenset(filter(None, map(_remote, addresses(top))))


def _remote(address: str) -> str:
    try:
        return _without_protocol(git_folder(address, "HEAD", "").address)
    except RenderError:
        return ""


def _without_protocol(address: str) -> str:
    """Return the host, without a port, and the path: a repository has them in common for all protocols."""
    host, _, path = address.partition("://")[2].rpartition("@")[2].partition("/")
    return f"{re.sub(r':[0-9]+$', '', host).lower()}/{path.rstrip('/').removesuffix('.git').lower()}"
