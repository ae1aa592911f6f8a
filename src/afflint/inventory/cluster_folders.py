"""Which folders of a repository are for which cluster, as far as the names of files show it.

Repositories of several clusters have a folder for each: ``clusters/east``, ``kubernetes/main/apps``, ``talos/main/talconfig.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from afflint.yaml.prefilter import is_values_file

_SHARED = frozenset(
    (
        "apps", "app", "base", "bases", "bootstrap", "charts", "clusterconfig", "common", "components", "config", "core", "crds", "flux",
        "infra", "infrastructure", "lib", "manifests", "namespaces", "platform", "provision", "setup", "shared", "system", "talhelper",
        "talos", "templates", "workloads", "clusters", "cluster", "kubernetes", "k8s", "kube", "machines", "nodes", "home",
        "homelab", "archive", "ansible", "inventory", "",
    )
)  # fmt: skip
"""Names of folders that say what is in them rather than which cluster it is for."""
_HOLDING = ("clusters", "environments", "envs")
"""Names of folders whose subfolders are each for a cluster."""
_TRIAL = frozenset(("dev", "devenv", "development", "demo", "e2e", "example", "examples", "local", "sandbox", "test", "tests", "testing"))
"""Names of folders whose manifests are for a cluster of developers or of tests."""
_TOP = ("apps", "flux", "bootstrap", "talos")
"""Names of folders that each cluster has for itself."""


class ClusterFolders:
    """The folders of clusters, by the files that list nodes of a cluster, each with the name of the cluster, and those with workloads."""

    def __init__(self, listing: Collection[tuple[str, str]], workloads: Iterable[str]) -> None:
        self._names = {cluster for _, cluster in listing if cluster}
        """The names of the clusters with known nodes: their own names, and those of the folders of the files."""
        split = [_folders_of(file) for file in workloads]
        own = [_folders_of(file) for file, _ in listing]
        for folders in own:
            self._names |= set(folders) - _SHARED
        children: dict[tuple[str, ...], set[str]] = {}  # The folders for one cluster each, by the folder that contains them.
        tops: dict[tuple[str, ...], set[str]] = {}
        for folders in {*split, *own}:
            for above, name in _steps(folders):
                if name not in _SHARED and (name in self._names or (above and above[-1] in _HOLDING)):
                    children.setdefault(above, set()).add(name)
                elif above and name in _TOP and above[-1] not in _SHARED:
                    tops.setdefault(above[:-1], set()).add(above[-1])
        for above, names in tops.items():
            if len(names) > 1:
                children.setdefault(above, set()).update(names)
        self._children = children
        self._listing = bool(listing)

    def __bool__(self) -> bool:
        return self._listing

    def is_elsewhere(self, file: str) -> bool:
        """Return whether a file is in the folder of a cluster whose nodes are unknown, or in one beside that of a known cluster."""
        return any(
            name not in self._names and name not in _SHARED and (name in _TRIAL or above in self._children)
            for above, name in _steps(_folders_of(file))
        )


class PolicyScopes:
    """Which files a policy, or a node pool, may apply to: those of its cluster, and those of its example or test.

    ``files`` are the names of all files. A policy outside of such folders applies to all files, and so does one in the folder of a cluster
    if no other cluster has a folder.
    """

    def __init__(self, files: Iterable[str]) -> None:
        folders = {cluster for file in files for cluster in _clusters_of(file)}
        self._several = {above for above, name in folders if any(above == other and name != beside for other, beside in folders)}

    def reaches(self, policy: str, file: str) -> bool:
        """Return whether the policy in one file may apply to the objects of another."""
        own = {each for each in _clusters_of(policy) if each[0] in self._several}
        folders = _folders_of(file)
        return own <= {*_clusters_of(file)} and all(folders[: len(trial)] == trial for trial in _trials_of(policy))


def is_trial(file: str) -> bool:
    """Return whether a file is in the folder of an example or a test."""
    return any(True for _ in _trials_of(file))


def _clusters_of(file: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each folder of a file that is for one cluster, with the folders above it."""
    return ((above, name) for above, name in _steps(_folders_of(file)) if above and above[-1] in _HOLDING and name not in _SHARED)


def _trials_of(file: str) -> Iterator[tuple[str, ...]]:
    """Yield the first folder of examples or tests in the path of a file, with the folder in it that is for one of them."""
    folders = _folders_of(file)
    first = next((index for index, name in enumerate(folders) if name in _TRIAL), None)
    if first is not None:
        yield folders[: first + 2]


def _steps(folders: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each folder of a path with those that contain it."""
    return ((folders[:index], name) for index, name in enumerate(folders))


def _folders_of(file: str) -> tuple[str, ...]:
    return tuple(re.split(r"[/\\]", f"{rendered[1]}/" if (rendered := _RENDERED.fullmatch(file)) else file))[:-1]


def folder_of(file: str) -> str:
    """Return the folder of a file; that of the root for its output, which has a name such as ``<kustomize apps/web>``."""
    return "/".join(_folders_of(file))


def chart_of(file: str) -> str | None:
    """Return the folder of the chart that a file is the output, a template or the values of; None for other files."""
    if file.startswith("<helm ") or is_values_file(file):
        return folder_of(file)
    above, found, _ = file.replace("\\", "/").partition("/templates/")
    return above if found else None


_RENDERED = re.compile(r"<[a-z]+ (.+)>")


def is_in_folder(folder: str, top: str) -> bool:
    """Return whether a folder is another one or below it, both as ``folder_of`` returns them."""
    return not top or f"{folder}/".startswith(f"{top}/")
