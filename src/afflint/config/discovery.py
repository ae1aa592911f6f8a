"""Finds and loads a configuration file. The modules that read one (YAML, TOML, the schema) are imported only if it exists."""

import os
from collections.abc import Sequence

from afflint.config.settings import DEFAULT, KEYS, Config, default

_FILES, _PYPROJECT = (".afflint.yaml", ".afflint.yml"), "pyproject.toml"
CONFIG_FILES = (*_FILES, _PYPROJECT)
"""The names of configuration files, first the one that counts if a folder has several."""
_LARGEST_PYPROJECT = 8 << 20


def find(start: str) -> str | None:
    """Return the nearest configuration upward from ``start``, a directory or a file in it; relative to the working directory if below it.

    In one directory ``.afflint.yaml`` comes before ``.afflint.yml`` before pyproject.toml; a pyproject.toml without ``[tool.afflint]`` is
    skipped. As with ruff, the search ends at the root of the file system; a ``.git`` directory does not end it.
    """
    directory = os.path.abspath(start)
    if not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    while True:
        found = _find_in(directory)
        parent = os.path.dirname(directory)
        if found or parent == directory:
            return found and _from_here(found)
        directory = parent


def _find_in(directory: str) -> str | None:
    for name in _FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    path = os.path.join(directory, _PYPROJECT)
    return path if os.path.isfile(path) and _has_table(path) else None


def _has_table(pyproject: str) -> bool:
    """Whether the file has ``[tool.afflint]``; most do not even contain the word, so that no parser has to be imported."""
    from afflint.source.files import read_regular

    try:
        raw = read_regular(pyproject, _LARGEST_PYPROJECT)
    except OSError:  # without permission to read it, afflint cannot tell whether it is a configuration
        return False
    if b"afflint" not in raw:
        return False
    from afflint.config.toml import has_table

    return has_table(raw)


def _from_here(path: str) -> str:
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path


def load(path: str, *, rule_names: Sequence[str], categories: Sequence[str], root: str | None = None, was_found: bool = False) -> Config:
    """Load the configuration in ``path`` (``.toml``: its ``[tool.afflint]`` table; anything else: YAML) and those it extends.

    ``root``: what globs are relative to; without it, the directory of ``path``. ``was_found``: the user did not name the file, so it is
    trusted only as far as ``config.trust`` says. Raises ConfigError with all mistakes at once.
    """
    from afflint.config.loader import resolve
    from afflint.config.trust import repository_root

    repository = repository_root(os.path.dirname(os.path.abspath(path))) if was_found else None
    values, origins = resolve(path, (*rule_names,), (*categories,), repository)
    values = {**values, **({"policies": tuple(values["policies"].values())} if "policies" in values else {})}
    directory = os.path.dirname(path) if root is None else root
    return default()._replace(
        root=os.path.abspath(directory),
        repository=repository,
        origins={**dict.fromkeys(KEYS, DEFAULT), **origins},
        **{key.replace("-", "_"): value for key, value in values.items()},
    )
