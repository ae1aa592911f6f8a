"""Reads packed charts: the templates of one without unpacking it, or all its files into an empty folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from afflint.findings.phrases import quoted
from afflint.rendering.line_marks import is_template_name
from afflint.source.archives import ArchiveBudget, ArchiveError, files_in
from afflint.source.files import read_regular
from afflint.source.trees import DEEPEST, TreeLimits, writing

SUFFIX = ".tgz"
LARGEST = 16 << 20
"""The highest size of an archive in bytes."""
MOST_UNPACKED = 64 << 20
"""The highest size of all files of an archive in bytes."""
_LARGEST_TEMPLATE = 1 << 20
_MOST_FILES = 10_000


def packed_templates(path: str) -> Iterator[str]:
    """Yield the texts of the templates of a packed chart and its subcharts, up to a total size and the first fault in the archive."""
    with suppress(OSError, ArchiveError):
        for name, data in files_in(read_regular(path, LARGEST), budget()):
            if "templates" in name.split("/") and is_template_name(name) and len(data) <= _LARGEST_TEMPLATE:
                yield data.decode("utf-8", "replace")


def unpack(data: bytes, folder: str) -> None:
    """Write the files of a packed chart or repository into an empty folder that was created for them. Raises OSError and ValueError."""
    with writing(folder, TreeLimits("the archive", _MOST_FILES * 2, MOST_UNPACKED)) as tree:
        for name, content in files_in(data, budget()):
            tree.write("/".join(parts_below(name)), content)
        for name, reason in tree.left_out.items():
            raise ValueError(f"{quoted(name)} cannot be unpacked: {reason}")


def budget() -> ArchiveBudget:
    """Return the limits for a chart and the archives in it."""
    return ArchiveBudget(MOST_UNPACKED, _MOST_FILES)


def parts_below(name: str) -> list[str]:
    """Return the parts of a name in an archive below its first folder. Raises ValueError for one that may lead out of a folder.

    After ``LoadArchiveFiles`` of helm.sh/helm/pkg/chart/loader.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    is_deep = len(parts) > DEEPEST
    if name.startswith("/") or len(parts) < 2 or is_deep or any(part == ".." or set(part) & {"\\", ":", "\0"} for part in parts):
        raise ValueError(f"{quoted(name)} is not the name of a file in a chart")
    return parts[1:]
