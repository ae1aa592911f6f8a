"""The step between map and reduce: which file the facts are from, which of them are the nodes, and which are only patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, Folder
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Facts, Pods
from afflint.inventory.node_folders import cluster_folders, nearest_folder
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.reduce_step import ClusterIndex, Reduction
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.index.manifest_index import ManifestIndex
    from afflint.inventory.node_files import NodeFact
    from afflint.pools.references import Pools
    from afflint.rendered.rendered_run import RenderedRun


class NodeCluster(NamedTuple):
    """One of several clusters in the folders of a repository: its folder, its nodes, and the numbers of its files."""

    folder: Folder
    nodes: list[NodeFact]
    files: frozenset[FileId]


class NodesAndPools(NamedTuple):
    """The nodes and pools of a run. ``unused_nodes``: why nodes among its files cannot be the nodes of one cluster.

    ``clusters``: those with nodes in folders of their own; ``nodes`` is empty then.
    """

    nodes: list[NodeFact]
    pools: Pools | None
    unused_nodes: str | None = None
    clusters: tuple[NodeCluster, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.pools or self.clusters)


def named_nodes(files: Files, *, resources: bool) -> list[NodeFact]:
    """Return the nodes in the files that are named as node files, with their allocatable ``resources`` if these count.

    Raises NodeFileError.
    """
    return _nodes_of(files.of(files.nodes), resources=resources)


def inventory_of(files: Files, mapped: Mapping[FileId, FileResult], settings: MapSettings, named: list[NodeFact]) -> NodesAndPools:
    """Return the nodes that are ``named``, or else those among the checked files, with the pools; ``mapped`` are all results."""
    pools = pools_of(files, mapped, settings)
    if files.nodes or not settings.auto_nodes:
        return NodesAndPools(named, pools)
    try:
        clusters = _node_clusters(files, mapped, resources=settings.resources)
        nodes = [] if clusters else _nodes_of(files.of(_files_of_nodes(files, mapped)), resources=settings.resources)
    except UserError as error:  # The user did not name these files as the nodes of one cluster.
        return NodesAndPools([], pools, str(error))
    return NodesAndPools(nodes, pools, clusters=clusters)


def _node_clusters(files: Files, mapped: Mapping[FileId, FileResult], *, resources: bool) -> tuple[NodeCluster, ...]:
    """Return the clusters whose nodes are in folders of their own; none if there is one cluster, or none. Raises NodeFileError."""
    holders = grouped((files.folder(file), file) for file in files.checked if mapped[file].facts.holds_nodes)
    workloads = [files.folder(file) for file in files.checked if mapped[file].facts.pods]
    if not cluster_folders(holders.keys(), workloads):
        return ()
    from afflint.inventory.node_files import are_whole

    nodes = {folder: _nodes_of(files.of(holding), resources=resources) for folder, holding in holders.items()}
    folders = frozenset(folder for folder, found in nodes.items() if are_whole(found))
    return tuple(
        [
            NodeCluster(
                folder, nodes[folder], frozenset(file for file in files.checked if nearest_folder(files.folder(file), folders) == folder)
            )
            for folder in cluster_folders(folders, workloads)
        ]
    )


def _files_of_nodes(files: Files, mapped: Mapping[FileId, FileResult]) -> list[FileId]:
    """Return the files with nodes in whose folder, or below, all workloads are. Others may be examples, or of another cluster."""
    holders = [file for file in files.checked if mapped[file].facts.holds_nodes]
    if not holders:
        return []
    workloads = [files.folder(file) for file in files.checked if mapped[file].facts.pods]
    return [file for file in holders if all(each[: len(files.folder(file))] == files.folder(file) for each in workloads)]


def pools_of(files: Files, mapped: Mapping[FileId, FileResult], settings: MapSettings, *, everywhere: bool = False) -> Pools | None:
    """Return the pools that the node files declare, or all files if none are named; with ``everywhere``, all files in any case."""
    chosen = mapped if everywhere else files.nodes if files.nodes else mapped if settings.auto_nodes else ()
    holders = [file for file in sorted(chosen) if mapped[file].facts.pools or mapped[file].facts.pool_parts]
    if not holders:
        return None
    from afflint.pools.references import Pools
    from afflint.pools.talos import with_workers

    facts = [mapped[file].facts.of_file(file, files.folder(file)) for file in holders]
    pools, parts = [pool for each in facts for pool in each.pools], [part for each in facts for part in each.pool_parts]
    pools = with_workers(pools, lambda file: files.sources[file].path)
    return Pools(tuple(pools), tuple(parts), bool(files.nodes))


def _nodes_of(files: Mapping[FileId, Source], *, resources: bool) -> list[NodeFact]:
    if not files:
        return []
    from afflint.inventory.node_files import nodes_of

    return nodes_of(files, resources=resources)


def located_facts(files: Files, file: FileId, result: FileResult, kustomizations: Kustomizations, *, placed: bool) -> Facts:
    """Return the facts of a file with the file in every site. Patches of kustomizations create no pods.

    ``placed``: whether the run has nodes or pools that its pods are placed on.
    """
    facts = result.facts
    if (facts.policy_candidates or (placed and creates_pods(result))) and kustomizations.is_patch(files.sources[file].path):
        facts = facts.of_patches()
    if facts.policy_candidates:
        added = tuple(sorted(kustomizations.labels_added(files.sources[file].path)))
        if added:
            facts = facts._replace(policy_candidates=tuple([each._replace(labels_added=added) for each in facts.policy_candidates]))
    return facts.of_file(file, files.folder(file))


def with_limit_ranges(
    files: Files, results: dict[FileId, FileResult], every: Mapping[FileId, FileResult], kustomizations: Kustomizations
) -> dict[FileId, FileResult]:
    """Return the results with the requests and limits that the LimitRanges in ``every`` file of a run set in pods."""
    from afflint.admission.limit_ranges import LIMIT_RANGE, container_defaults, with_defaults

    holders = files.of(file for file, result in every.items() if LIMIT_RANGE in result.passed and not result.templated)
    if not holders:
        return results
    from dataclasses import replace

    from afflint.inventory.source_objects import objects_of

    wanted = frozenset((LIMIT_RANGE,)).__contains__
    sources = [source for source in holders.values() if not kustomizations.is_patch(source.path)]
    defaults = [each for source in sources for _, data, _ in objects_of(source, wanted) for each in container_defaults(data)]

    def limited(pods: Pods) -> Pods:
        if pods.pod_source is None or pods.kubevirt or pods.operated:
            return pods
        return pods._replace(pod_source=replace(pods.pod_source, pod=with_defaults(pods.pod_source.pod, pods.namespace, defaults)))

    return {
        file: result._replace(facts=result.facts._replace(pods=tuple(map(limited, result.facts.pods)))) for file, result in results.items()
    }


def creates_pods(result: FileResult) -> bool:
    """Return whether it matters for the pods of a file how kustomizations use it."""
    return bool(result.facts.policy_candidates) or any(pods.pod_source is not None for pods in result.facts.pods)


def clusters_of(
    files: Files,
    facts: Mapping[FileId, Facts],
    manifest_index: ManifestIndex,
    reduction: Reduction,
    kustomizations: Kustomizations,
    renders: RenderedRun | None,
    inventory: NodesAndPools,
) -> list[ClusterIndex]:
    """Return the manifests of each cluster if the nodes, or the rendered output, are for several clusters."""
    if inventory.clusters:
        indexes = []
        for cluster in inventory.clusters:
            held = [facts[file] for file in sorted(cluster.files & facts.keys())]
            of_cluster = reduction.manifest_index(held, cluster.nodes)
            if of_cluster is not None:
                indexes.append(ClusterIndex(of_cluster, cluster.files, nodes=cluster.nodes))
        return indexes
    if renders is None:
        return []
    numbers = {files.sources[file].path: file for file in facts}
    clusters = renders.clusters({path: facts[file].pods for path, file in numbers.items()}, kustomizations.is_patch)
    separate = frozenset(numbers[path] for paths in clusters for path in paths)
    shared = [file for file in facts if file not in separate]
    indexes = []
    for number, paths in enumerate(clusters):
        own = frozenset(numbers[path] for path in paths)
        whole = number < _MAX_WHOLE_CLUSTERS
        held = [facts[file] for file in sorted([*own, *shared] if whole else own)]
        indexes.append(ClusterIndex(reduction.part_of(manifest_index, held), own, whole))
    return indexes


_MAX_WHOLE_CLUSTERS = 8
"""For this many clusters the shared manifests are checked as well; for the others only their own."""
