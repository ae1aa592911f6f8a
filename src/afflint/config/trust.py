"""What a configuration may make afflint do: one that was found only affects the report about its own repository.

A configuration that the user names (``--config``) is trusted. One that was found is part of the tree that is linted, and its author
may be unknown: it reads nothing outside its repository, writes only reports and a baseline in its own folder, and starts no program.
docs/security.md lists what this means for each key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from afflint.config.settings import COMMAND_LINE, Config
from afflint.findings.errors import UserError
from afflint.findings.phrases import visible
from afflint.source.files import read_begin
from afflint.source.repositories import is_really_inside, root_of

NEEDS_CONFIG = "only a configuration named with --config may use it"

_OWN_PREFIX = ".afflint"
"""The prefix of hidden files that afflint may write, such as the default baseline."""


def repository_root(folder: str) -> str:
    """Return the root of the repository that a folder is in, links resolved; the folder itself if no folder upward has ``.git``."""
    real = os.path.realpath(folder)
    return root_of(real) or real


def was_found(config: Config) -> bool:
    """Whether the configuration was found in the tree, rather than named with ``--config``."""
    return config.repository is not None


def renderers(config: Config) -> tuple[str, ...]:
    """Return the tools that may be started to render; those of a found configuration only if the command line asks for them."""
    return () if _is_untrusted(config, "render") else config.render


def unused_render(config: Config) -> str | None:
    """Return a notice if only a configuration that was found, and is not trusted, sets `render`, so that nothing is rendered."""
    if not config.render or renderers(config):
        return None
    return f"note: {config.origins['render']}: `render` needs --render on the command line, or --config with this file"


def check_readable(config: Config, key: str, paths: Iterable[str]) -> None:
    """Reject paths outside the repository in a key of a configuration that was found. Raises UserError."""
    if config.repository is None or not _is_untrusted(config, key):
        return
    for path in paths:
        if not is_really_inside(path, config.repository):
            raise _refusal(config, key, path, f"is outside the repository; {NEEDS_CONFIG}")


def check_writable(config: Config, key: str, path: str, is_own: Callable[[bytes], bool]) -> None:
    """Reject a path to write in a found configuration, unless it is a new file in its folder or an earlier file of afflint.

    ``is_own`` recognises a file of afflint by its first bytes. Raises UserError.
    """
    if not _is_untrusted(config, key):
        return
    folder = os.path.dirname(os.path.abspath(config.origins[key].file or ""))
    relative = os.path.relpath(os.path.abspath(path), folder) if is_really_inside(path, folder) else os.pardir
    parts = relative.split(os.sep)
    if parts[0] in (os.curdir, os.pardir):
        raise _refusal(config, key, path, f"is outside the folder of the configuration; {NEEDS_CONFIG}")
    if any(part.startswith(".") for part in parts[:-1]) or (parts[-1].startswith(".") and not parts[-1].startswith(_OWN_PREFIX)):
        raise _refusal(config, key, path, f"is a hidden file or in a hidden folder; {NEEDS_CONFIG}")
    if any(os.path.islink(os.path.join(folder, *parts[:count])) for count in range(1, len(parts) + 1)):
        raise _refusal(config, key, path, f"is a symbolic link or below one; {NEEDS_CONFIG}")
    try:
        begin = read_begin(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refusal(config, key, path, f"cannot be overwritten: {error.strerror or error}") from None
    if not is_own(begin):
        raise _refusal(config, key, path, "exists and was not written by afflint; delete it, or name the configuration with --config")


def _is_untrusted(config: Config, key: str) -> bool:
    return was_found(config) and config.origins[key] != COMMAND_LINE


def _refusal(config: Config, key: str, path: str, reason: str) -> UserError:
    return UserError(f"{config.origins[key]}: `{key}`: `{visible(path)}` {reason}")
