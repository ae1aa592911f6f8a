"""The folder for what afflint caches: that of the platform, or one that the user names."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from platformdirs import user_cache_dir

from afflint.source.folders import Folder, open_folder

_TAG = "CACHEDIR.TAG"
_TAGGED = b"Signature: 8a477f597d28d172789f06886806bc55\n# Made by afflint; may be deleted at any time.\n"


class CacheFolder:
    """A folder for a cache, which is created when something is stored. ``named``: None for the cache folder of the platform.

    A folder that the user names may have been filled by the author of a tree.
    """

    def __init__(self, named: str | None) -> None:
        self.path = named if named is not None else user_cache_dir("afflint", appauthor=False)
        self._named = named is not None

    def open(self, *below: str, make: bool = False) -> Folder:
        """Open the folder, or the one that the names ``below`` lead to; with ``make``, folders that do not exist are created.

        Raises OSError: for a folder that does not exist, for a link, and for a folder of the platform that other users can write to.
        """
        folder = self._opened(make=make)
        for name in below:
            with folder as above:
                folder = above.folder(name, make=make)
        return folder

    def _opened(self, *, make: bool) -> Folder:
        try:
            folder = open_folder(self.path)
        except FileNotFoundError:
            if not make:
                raise
            folder = open_folder(self.path, make=True)
            with suppress(OSError), open(folder.open(_TAG, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as tag:
                tag.write(_TAGGED)
        if self._is_trusted(folder.own_status):
            return folder
        folder.close()
        raise PermissionError

    def _is_trusted(self, status: os.stat_result) -> bool:
        """Return whether no other user can write to the folder, or the user named it. On Windows, the mode does not show this."""
        if self._named or os.name != "posix":
            return True
        return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
