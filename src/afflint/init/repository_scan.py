"""The scan of a repository for a first configuration: its workloads, nodes, Kubernetes versions, and their files."""

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
from afflint.kube.kinds import NAMES
from afflint.kube.node_labels import ZONE
from afflint.kube.shapes import is_pod_spec
from afflint.manifests.workload_sources import is_workload_source
from afflint.pipeline.files import Files
from afflint.pipeline.run import reduce_run
from afflint.rendering.roots import chart_folders, kustomization_folders
from afflint.source.files import read_regular
from afflint.source.sources import LARGEST, Source, relative
from afflint.yaml.document import Document, value_at_path
from afflint.yaml.documents import to_utf8
from afflint.yaml.object_fields import api_version_of, group_of, items_of, kind_of
from afflint.yaml.prefilter import Triage

if TYPE_CHECKING:
    from afflint.index.facts import Facts
    from afflint.pipeline.map_step import FileResult
    from afflint.pipeline.options import Options
    from afflint.pipeline.reduced_run import ReducedRun
    from afflint.pipeline.session import Session
    from afflint.pools.pool import Pool

_MAX_FILES_READ_AGAIN = 200
"""How many files are read again for versions and pod templates. More files would hardly change the proposal."""
_FOREIGN = ("vendor", "third_party", "testdata")
"""Names of folders with third-party manifests or with test data that is invalid on purpose."""


class Version(NamedTuple):
    """A Kubernetes version in a file, in the format of ``kubernetes-version``.

    ``here`` is False for the version of another cluster that this repository only manages, as Cluster API does: the workloads may not run
    in it.
    """

    version: str
    file: str
    here: bool = True


class RepositoryScan(NamedTuple):
    """The content of a folder. All paths are relative to it, with slashes."""

    kinds: tuple[tuple[str, int], ...] = ()
    """The kinds of workloads with their numbers, the most frequent first."""
    namespaces: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The files with manifests that rules across manifests read."""
    nodes: int = 0
    """How many nodes are used without configuration: those in files above all workloads."""
    node_files: tuple[str, ...] = ()
    unused_nodes: str | None = None
    """Why nodes in the folder are not used."""
    pools: tuple[str, ...] = ()
    """The node pools of the cluster that the workloads run in."""
    other_pools: tuple[str, ...] = ()
    """The node pools of clusters that are managed from another cluster."""
    other_pool_files: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """The API groups of all node pools."""
    node_labels: frozenset[str] = frozenset()
    """The label keys of the nodes that are used without configuration."""
    zones: int = 0
    """The number of zones of these nodes."""
    versions: tuple[Version, ...] = ()
    templates: tuple[CustomWorkloadSetting, ...] = ()
    """The custom resources with a pod template that afflint does not know and that have no CustomResourceDefinition."""
    sources: tuple[tuple[str, int], ...] = ()
    """The kinds of objects of Argo CD and Flux that create workloads, with their numbers, the most frequent first."""
    kustomizations: int = 0
    charts: int = 0
    foreign: tuple[str, ...] = ()
    """The names in ``_FOREIGN`` of folders that contain manifests."""


def scan_repository(session: Session, sources: Sequence[Source], folder: str, options: Options) -> RepositoryScan:
    """Scan the files of a folder, without checking any rule."""
    facts = reduce_run(Files(sources, (), ()), session.settings()._replace(rules=()), options)

    def names(numbers: Iterable[FileId]) -> tuple[str, ...]:
        return tuple(sorted(_below(folder, facts.files.sources[number].path) for number in numbers))

    results = facts.all_results
    pods = [each for result in results.values() for each in result.facts.pods]
    pod_sources = [each for each in pods if each.operated or not each.partial]  # A patch is not another workload.
    spaces = {each.namespace or "" for each in pods} | {each.name for result in results.values() for each in result.facts.namespaces}
    relevant = names(file for file, result in results.items() if _is_read_across_manifests(result.facts))
    node_files = {fact.site.file for fact in facts.nodes} or {file for file, result in results.items() if result.facts.holds_nodes}
    pools, others = _pools(facts)
    here = node_files | {each.site.file for each in pools}
    elsewhere = {each.site.file for each in others} - here
    return RepositoryScan(
        kinds=_most_frequent(each.ref.kind or "" for each in pod_sources),
        # Placeholders are not names.
        namespaces=tuple(sorted(each for each in spaces if re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", each))),
        files=relevant,
        nodes=len(facts.nodes),
        node_files=names(node_files),
        unused_nodes=facts.unused_nodes,
        pools=tuple(sorted({each.title for each in pools})),
        other_pools=tuple(sorted({each.title for each in others})),
        other_pool_files=names({each.site.file for each in others}),
        groups=tuple(sorted({(each.ref.api_version or "").rpartition("/")[0] for each in [*pools, *others]} - {""})),
        node_labels=frozenset(key for fact in facts.nodes for key in fact.labels),
        zones=len({fact.labels[ZONE] for fact in facts.nodes if ZONE in fact.labels}),
        versions=tuple(sorted({*_versions(facts, here, folder, here=True), *_versions(facts, elsewhere, folder, here=False)})),
        templates=tuple(_templates(facts, results)),
        sources=_most_frequent(each.kind for result in results.values() for each in result.sources if each.name),
        kustomizations=len(kustomization_folders(each.path for each in sources)),
        charts=len(chart_folders(each.path for each in sources)),
        foreign=tuple(each for each in _FOREIGN if any(each in name.split("/")[:-1] for name in relevant)),
    )


def _most_frequent(kinds: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return how often each kind occurs, the most frequent first."""
    return tuple(sorted(Counter(kinds).items(), key=lambda each: (-each[1], each[0])))


def _pools(facts: ReducedRun) -> tuple[list[Pool], list[Pool]]:
    """Return the node pools of the cluster that the workloads probably run in, and all others."""
    if facts.pools is None:
        return [], []
    pools, is_here = facts.pools.whole, facts.pools.is_here
    return [each for each in pools if is_here(each)], [each for each in pools if not is_here(each)]


def _is_read_across_manifests(facts: Facts) -> bool:
    return bool(facts.pods or facts.selector_refs or facts.namespaces or facts.pools or facts.pool_parts or facts.scalers or facts.budgets)


def _below(folder: str, path: str) -> str:
    return relative(path, folder).replace(os.sep, "/")


# Kubernetes versions.

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
"""The paths of the Kubernetes version in nodes and in declarations of clusters and node pools, by API group."""


def _versions(facts: ReducedRun, files: Iterable[FileId], folder: str, *, here: bool) -> Iterator[Version]:
    for file in sorted(files)[:_MAX_FILES_READ_AGAIN]:
        for document in _documents(facts, file):
            for each in _objects(document.data):
                for path in _VERSIONS.get(group_of(each), ()):
                    value = value_at_path(each, *path.split("."))
                    match = _VERSION.fullmatch(value) if isinstance(value, str) else None
                    if match is not None and OLDEST <= (1, int(match[1])) <= NEWEST:
                        yield Version(f"1.{int(match[1])}", _below(folder, facts.files.sources[file].path), here)


# Custom resources with a pod template.

_KEY = re.compile("[A-Za-z][A-Za-z0-9]*")


def _templates(facts: ReducedRun, results: dict[FileId, FileResult]) -> Iterator[CustomWorkloadSetting]:
    """Yield the kinds whose objects all have their pod template at the same path."""
    paths_of: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    versions: dict[tuple[str, str], str] = {}
    for file in [file for file, result in sorted(results.items()) if result.unknown][:_MAX_FILES_READ_AGAIN]:
        unknown = {*results[file].unknown}
        for document in _documents(facts, file):
            for each in _objects(document.data):
                kind = group_of(each), kind_of(each)
                if kind in unknown and not is_workload_source(*kind):  # Their values belong to charts.
                    paths_of.setdefault(kind, set()).update(_template_paths(each, ()))
                    versions[kind] = max(versions.get(kind, ""), api_version_of(each))
    for kind, paths in sorted(paths_of.items()):
        if len(paths) == 1:
            [path] = paths
            yield CustomWorkloadSetting(versions[kind], kind[1], path)


def _template_paths(data: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of pod templates that a configuration can express; it cannot express the items of a list."""
    if type(data) is dict:
        if path and "kind" in data and "apiVersion" in data:
            return  # A nested object, such as in a template of several objects.
        spec = data.get("spec")
        if path and type(spec) is dict and is_pod_spec(spec):
            yield path
            return
        for key, value in data.items():
            if type(key) is str and _KEY.fullmatch(key):
                yield from _template_paths(value, (*path, key))


def _documents(facts: ReducedRun, file: FileId) -> Iterator[Document]:
    """Yield the documents of a file that can be parsed."""
    source = facts.files.sources[file]
    try:
        data = to_utf8(source.data if source.data is not None else read_regular(source.path, LARGEST))
    except (OSError, UnicodeDecodeError):
        return
    for document in Triage(NAMES).documents(data, named=True):
        if document.problem is None:
            yield document


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a document: the document itself, or the items of a list."""
    if type(data) is not dict or not api_version_of(data):
        return
    if type(data.get("items")) is list:
        for item in items_of(data):
            yield from _objects(item)
    else:
        yield data
