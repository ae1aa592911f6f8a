"""The folder for what afflint caches: that of the platform, or one that the user names."""

from __future__ import annotations

import os
import stat

from platformdirs import user_cache_dir

_TAG = "CACHEDIR.TAG"
_TAGGED = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by afflint; may be deleted at any time.\n"


class CacheFolder:
    """A folder for a cache, which is created when something is stored. ``named``: None for the cache folder of the platform."""

    def __init__(self, named: str | None) -> None:
        self.path = named if named is not None else user_cache_dir("afflint", appauthor=False)
        self._named = named is not None

    def is_trusted(self) -> bool:
        """Return whether no other user can write to the folder, or the user named it. On Windows, the mode does not show this.

        Raises OSError if there is no such folder.
        """
        if self._named or os.name != "posix":
            return True
        status = os.stat(self.path)
        return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def make(self) -> None:
        """Create the folder if it does not exist. Raises OSError, also for a folder that is not trusted."""
        if not os.path.isdir(self.path):
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            with open(os.path.join(self.path, _TAG), "x", encoding="ascii") as tag:
                tag.write(_TAGGED)
        if not self.is_trusted():
            raise PermissionError
