"""The clusters of a repository by the folders of their nodes: nodes belong to the nearest folder above a workload that holds some."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from afflint.findings.finding import Folder
from afflint.findings.namedtuples import NamedTuple
from afflint.source.sources import Source, relative


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


class FolderCluster(NamedTuple):
    """The cluster whose nodes are in a folder, relative to the working directory; None: what is in the folder of no cluster.

    ``folders`` are those of all files with nodes.
    """

    folder: Folder | None
    folders: frozenset[Folder]

    @property
    def name(self) -> str:
        """The folder in reports; "" for what is in none."""
        return "" if self.folder is None else "/".join(self.folder) or os.curdir

    def has(self, source: Source) -> bool:
        """Return whether a file belongs to the cluster."""
        return nearest_folder(folder_here(os.path.dirname(os.path.abspath(source.path))), self.folders) == self.folder

    def merged(self, other: FolderCluster) -> FolderCluster:
        """Return the cluster in two states of the files."""
        return self._replace(folders=self.folders | other.folders)


class RootsCluster(NamedTuple):
    """The cluster of some rendered roots, by the names of their output. ``roots`` are those of all clusters.

    ``elsewhere`` are the folders of the roots of other clusters, relative to the working directory. All other files are shared.
    """

    name: str
    own: frozenset[str]
    roots: frozenset[str]
    elsewhere: frozenset[Folder] = frozenset()

    def has(self, source: Source) -> bool:
        """Return whether a file belongs to the cluster."""
        if source.name in self.roots:
            return source.name in self.own
        return nearest_folder(folder_here(os.path.dirname(os.path.abspath(source.path))), self.elsewhere) is None

    def merged(self, other: RootsCluster) -> RootsCluster:
        """Return the cluster in two states of the files."""
        return RootsCluster(self.name, self.own | other.own, self.roots | other.roots, self.elsewhere | other.elsewhere)


def folder_here(folder: str) -> Folder:
    """Return a folder relative to the working directory."""
    found = relative(folder).replace(os.sep, "/")
    return () if found == os.curdir else tuple(found.split("/"))
