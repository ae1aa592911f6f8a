"""Paths that GitOps objects name, in the repository and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from afflint.findings.phrases import quoted
from afflint.rendering.set_templates import has_placeholder
from afflint.source.repositories import is_inside, is_root
from afflint.yaml.document import texts_at


class OutsideError(Exception):
    """A path that is outside the repository."""


def in_repository(tops: Sequence[str], path: str, is_wanted: Callable[[str], bool] = os.path.isdir) -> str | None:
    """Return the real path of a path in the repository; None if it does not exist.

    ``is_wanted`` accepts folders unless set otherwise. Raises OutsideError for a link to a path outside the repository.
    """
    if not path or has_placeholder(path) or "\0" in path:
        return None
    below = os.path.normpath(path.lstrip("/"))
    if below.split(os.sep)[0] == os.pardir:
        return None
    for here in tops:
        if below == os.curdir:
            if is_root(here) and is_wanted(here):
                return os.path.realpath(here)
        elif is_wanted(os.path.join(here, below)):
            return inside(tops, os.path.realpath(os.path.join(here, below)), path)
    return None


def inside(tops: Sequence[str], path: str, name: str) -> str:
    """Return the path if it is in the repository. Raises OutsideError."""
    if not is_inside(path, tops[-1]):
        raise OutsideError(f"{quoted(name)} is outside the repository")
    return path


def value_file(tops: Sequence[str], folder: str | None, name: str) -> str | None:
    """Return the path of a values file, relative to the chart, or to the repository for names that begin with `/` or `$ref/`.

    Raises OutsideError for files outside the repository, which Argo CD rejects, too.
    """
    if "://" in name:
        return None
    if name.startswith(("$", "/")):
        return in_repository(tops, name.partition("/")[2], os.path.isfile)
    if folder is None or has_placeholder(name):
        return None
    path = inside(tops, os.path.realpath(os.path.join(folder, name)), name)
    return path if os.path.isfile(path) else None


def usable_texts(data: Mapping[str, Any], *steps: str) -> list[str]:
    """Return the texts at a path that can be used as file names or command arguments."""
    return [each for each in texts_at(data, *steps) if "\0" not in each]
