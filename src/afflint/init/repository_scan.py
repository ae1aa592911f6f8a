"""What a repository shows of itself, for a first configuration: what runs in it, on which nodes, and where all that stands."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.config import CustomWorkloadSetting
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.kube import NEWEST, OLDEST
from afflint.kube.node_labels import ZONE
from afflint.kube.shapes import is_pod_spec
from afflint.pipeline.files import Files
from afflint.pipeline.run import gathered
from afflint.rendering.roots import chart_folders, kustomization_folders
from afflint.source.files import read_regular
from afflint.source.sources import LARGEST, Source, relative
from afflint.yaml.document import Document, value_at_path
from afflint.yaml.documents import to_utf8

if TYPE_CHECKING:
    from afflint.index.facts import Facts
    from afflint.pipeline.map_step import FileResult
    from afflint.pipeline.run import Gathered, Options
    from afflint.pipeline.session import Session
    from afflint.pools.pool import Pool

_MOST_READ_AGAIN = 200
"""Files that are looked into once more. So many agree, or nothing is to be said in a few words."""
_FOREIGN = ("vendor", "third_party", "testdata")
"""Folders of what others have written, or of what is wrong on purpose."""


class Version(NamedTuple):
    """A version of Kubernetes that a file speaks of, as ``kubernetes-version`` has it.

    ``here`` is False where it is that of a cluster which somebody keeps from another one, and which the workloads may not be for.
    """

    version: str
    file: str
    here: bool = True


class RepositoryScan(NamedTuple):
    """What is in a folder. All paths are relative to it, with slashes."""

    kinds: tuple[tuple[str, int], ...] = ()
    """The kinds of what makes pods, with how many there are of each, the most frequent first."""
    namespaces: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The files with manifests that have to do with others."""
    nodes: int = 0
    """How many nodes count without being named: those of the files above all workloads."""
    node_files: tuple[str, ...] = ()
    unused_nodes: str | None = None
    """Why nodes that stand there count for nothing."""
    pools: tuple[str, ...] = ()
    """The pools of nodes of the cluster that the workloads are for."""
    other_pools: tuple[str, ...] = ()
    """Those of clusters that are kept from another one."""
    other_pool_files: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """The API groups of what declares pools of nodes."""
    node_labels: frozenset[str] = frozenset()
    """The labels of the nodes that count without being named."""
    zones: int = 0
    """How many zones these have."""
    versions: tuple[Version, ...] = ()
    templates: tuple[CustomWorkloadSetting, ...] = ()
    """The custom resources with a pod template that nothing describes."""
    kustomizations: int = 0
    charts: int = 0
    foreign: tuple[str, ...] = ()
    """The folders with manifests of others, by what they are called."""


def scan_repository(session: Session, sources: Sequence[Source], folder: str, options: Options) -> RepositoryScan:
    """What some files in a folder show. Nothing is checked for it."""
    told = gathered(Files(sources, (), ()), session.settings()._replace(rules=()), options)

    def names(numbers: Iterable[FileId]) -> tuple[str, ...]:
        return tuple(sorted(_below(folder, told.files.sources[number].path) for number in numbers))

    results = told.told
    pods = [each for result in results.values() for each in result.facts.pods]
    pod_sources = [each for each in pods if each.operated or not each.partial]  # A patch of one is not one more.
    spaces = {each.namespace or "" for each in pods} | {each.name for result in results.values() for each in result.facts.namespaces}
    placing = names(file for file, result in results.items() if _has_to_do_with_others(result.facts))
    holding = {fact.site.file for fact in told.nodes} or {file for file, result in results.items() if result.facts.holds_nodes}
    pools, others = _pools(told)
    here = holding | {each.site.file for each in pools}
    elsewhere = {each.site.file for each in others} - here
    return RepositoryScan(
        kinds=tuple(sorted(Counter(each.ref.kind or "" for each in pod_sources).items(), key=lambda each: (-each[1], each[0]))),
        # What somebody fills in later is no name.
        namespaces=tuple(sorted(each for each in spaces if re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", each))),
        files=placing,
        nodes=len(told.nodes),
        node_files=names(holding),
        unused_nodes=told.unused_nodes,
        pools=tuple(sorted({each.title for each in pools})),
        other_pools=tuple(sorted({each.title for each in others})),
        other_pool_files=names({each.site.file for each in others}),
        groups=tuple(sorted({(each.ref.api_version or "").rpartition("/")[0] for each in [*pools, *others]} - {""})),
        node_labels=frozenset(key for fact in told.nodes for key in fact.labels),
        zones=len({fact.labels[ZONE] for fact in told.nodes if ZONE in fact.labels}),
        versions=tuple(sorted({*_versions(told, here, folder, here=True), *_versions(told, elsewhere, folder, here=False)})),
        templates=tuple(_templates(told, results)),
        kustomizations=len(kustomization_folders(each.path for each in sources)),
        charts=len(chart_folders(each.path for each in sources)),
        foreign=tuple(each for each in _FOREIGN if any(each in name.split("/")[:-1] for name in placing)),
    )


def _pools(told: Gathered) -> tuple[list[Pool], list[Pool]]:
    """The pools of the cluster that the workloads are for, as far as one can tell, and all others."""
    if told.pools is None:
        return [], []
    whole, is_here = told.pools.whole, told.pools.is_here
    return [each for each in whole if is_here(each)], [each for each in whole if not is_here(each)]


def _has_to_do_with_others(facts: Facts) -> bool:
    return bool(facts.pods or facts.reaches or facts.namespaces or facts.pools or facts.pool_parts or facts.scalers or facts.budgets)


def _below(folder: str, path: str) -> str:
    return relative(path, folder).replace(os.sep, "/")


# Which version.

_VERSION = re.compile(r"v?1\.([0-9]{1,2})(?:[.+-].*)?")
_VERSIONS: dict[str, tuple[str, ...]] = {
    "": ("status.nodeInfo.kubeletVersion",),
    "cluster.x-k8s.io": ("spec.topology.version", "spec.template.spec.version"),
    "controlplane.cluster.x-k8s.io": ("spec.version",),
    "run.tanzu.vmware.com": ("spec.topology.controlPlane.tkr.reference.name", "spec.distribution.version"),
    "eksctl.io": ("metadata.version",),
    "kops.k8s.io": ("spec.kubernetesVersion",),
    "kubeadm.k8s.io": ("kubernetesVersion",),
    "core.gardener.cloud": ("spec.kubernetes.version",),
    "provisioning.cattle.io": ("spec.kubernetesVersion",),
    "k0sctl.k0sproject.io": ("spec.k0s.version",),
}
"""By API group, where nodes and what declares them say which version of Kubernetes they run."""


def _versions(told: Gathered, files: Iterable[FileId], folder: str, *, here: bool) -> Iterator[Version]:
    for file in sorted(files)[:_MOST_READ_AGAIN]:
        for document in _documents(told, file):
            for each in _objects(document.data):
                for path in _VERSIONS.get(_group(each), ()):
                    found = value_at_path(each, *path.split("."))
                    match = _VERSION.fullmatch(found) if isinstance(found, str) else None
                    if match is not None and OLDEST <= (1, int(match[1])) <= NEWEST:
                        yield Version(f"1.{int(match[1])}", _below(folder, told.files.sources[file].path), here)


# Custom resources with a pod template.

_KEY = re.compile("[A-Za-z][A-Za-z0-9]*")


def _templates(told: Gathered, results: dict[FileId, FileResult]) -> Iterator[CustomWorkloadSetting]:
    """Those of which each object has its template at one and the same place."""
    found: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    versions: dict[tuple[str, str], str] = {}
    for file in [file for file, result in sorted(results.items()) if result.unknown][:_MOST_READ_AGAIN]:
        unknown = {*results[file].unknown}
        for document in _documents(told, file):
            for each in _objects(document.data):
                kind = _group(each), str(each.get("kind"))
                if kind in unknown:
                    found.setdefault(kind, set()).update(_template_paths(each, ()))
                    versions[kind] = max(versions.get(kind, ""), each["apiVersion"])
    for kind, paths in sorted(found.items()):
        if len(paths) == 1:
            [path] = paths
            yield CustomWorkloadSetting(versions[kind], kind[1], path)


def _template_paths(data: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of pod templates in some data, those that the configuration can say: it has no word for each item of a list."""
    if type(data) is dict:
        if path and "kind" in data and "apiVersion" in data:
            return  # An object of its own.
        spec = data.get("spec")
        if path and type(spec) is dict and is_pod_spec(spec):
            yield path
            return
        for key, value in data.items():
            if type(key) is str and _KEY.fullmatch(key):
                yield from _template_paths(value, (*path, key))


def _documents(told: Gathered, file: FileId) -> Iterator[Document]:
    """The documents of a file that can be read."""
    from afflint.kube.kinds import NAMES
    from afflint.yaml.prefilter import Triage

    source = told.files.sources[file]
    try:
        data = to_utf8(source.data if source.data is not None else read_regular(source.path, LARGEST))
    except (OSError, UnicodeDecodeError):
        return
    for document in Triage(NAMES).documents(data, named=True):
        if document.problem is None:
            yield document


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """The objects of a document: itself, or the items of a list."""
    if type(data) is not dict or type(data.get("apiVersion")) is not str:
        return
    items = data.get("items")
    if type(items) is list:
        for item in items:
            yield from _objects(item)
    else:
        yield data


def _group(data: dict[str, Any]) -> str:
    return str(data["apiVersion"]).rpartition("/")[0]
