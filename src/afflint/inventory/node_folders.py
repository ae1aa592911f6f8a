"""The clusters of a repository by the folders of their nodes: nodes belong to the nearest folder above a workload that holds some."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from afflint.findings.finding import Folder


def cluster_folders(holders: Collection[Folder], workloads: Iterable[Folder]) -> tuple[Folder, ...]:
    """Return the folders of several clusters, sorted: those with files of nodes, and with workloads for which no nearer folder has nodes.

    ``holders`` are the folders of the files with nodes, ``workloads`` those of the files with workloads. Empty unless there are several:
    a single folder with nodes does not show whether the workloads elsewhere belong to its cluster.
    """
    if len({*holders}) < 2:
        return ()
    found = {nearest for folder in {*workloads} if (nearest := nearest_folder(folder, holders)) is not None}
    return tuple(sorted(found)) if len(found) > 1 else ()


def nearest_folder(folder: Folder, holders: Collection[Folder]) -> Folder | None:
    """Return the innermost of some folders that a folder is in, or is itself; None without one."""
    return max((each for each in holders if folder[: len(each)] == each), key=len, default=None)
