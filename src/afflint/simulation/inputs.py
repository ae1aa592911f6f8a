"""The input of `afflint place`: the files as `afflint check` reads them, and the running pods."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from afflint.checks.match import Target
from afflint.checks.registry import bind_rules
from afflint.controllers.pod_source import PRIORITY_FIELDS
from afflint.findings.coverage import Coverage
from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, Folder
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize, quoted, summarize_names
from afflint.findings.steps import begin
from afflint.index.facts import Facts, Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.declared_nodes import assumption_note, pools_with_expected_labels
from afflint.inventory.node_classes import NodeClass, classes_of
from afflint.inventory.node_files import NodeFact, NodeFileError, ParsedFiles, are_whole, bytes_of, documents_of, nodes_of
from afflint.inventory.node_folders import FolderCluster, RootsCluster, cluster_folders, folder_here
from afflint.inventory.pod_files import RUNNING_KINDS, RunningPods, has_other_objects, may_be_stored, running_pods
from afflint.inventory.priorities import PRIORITY_CLASS, priorities_of, read_priority_classes, with_priorities
from afflint.inventory.scheduler_profiles import profiles_of
from afflint.inventory.simulation_input import SimulationInput, SimulationOptions, build_simulation_input, without_controlled
from afflint.inventory.source_objects import objects_of
from afflint.inventory.uncounted import maintenance_notes, with_uncounted_requests
from afflint.kube.kinds import KINDS
from afflint.kube.node_labels import ZONE
from afflint.manifests.reader import objects_in
from afflint.pipeline.files import Files
from afflint.pipeline.locating import located_facts, pools_of, with_limit_ranges
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import map_files
from afflint.pipeline.options import Options
from afflint.pipeline.reduce_step import Reduction, policies_of
from afflint.pipeline.reduced_run import is_empty
from afflint.pipeline.suppression_filter import SuppressionFilter
from afflint.pipeline.unrendered import coverage_of
from afflint.pools.pool import Pool
from afflint.pools.references import Pools
from afflint.report.model import RenderSummary
from afflint.simulation.problems import UNREADABLE, PlaceProblems
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import Source, each_once
from afflint.storage.profiles import STORAGE_PROFILE
from afflint.yaml.object_fields import kind_of, name_of, namespace_of

if TYPE_CHECKING:
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.pipeline.options import Mapper
    from afflint.pipeline.session import Session
    from afflint.rendered.rendered_run import RenderedRun, RunOrigins
    from afflint.yaml.prefilter import Reading

_ALL = Options()
Cluster = FolderCluster | RootsCluster
NO_NODES = (
    "no nodes are known: name a node dump (`kubectl get nodes -o yaml`) or a file with node pools with --nodes FILE, or put it next to "
    "the manifests"
)


class PlaceInputs(NamedTuple):
    """The input of the simulation, the unusable documents (``file:line:column: message``), and the names of the files by their numbers.

    ``notes`` list what was skipped, with the reasons; ``empty`` are the names of the files without any document.
    """

    simulation_input: SimulationInput
    problems: tuple[str, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    classes: tuple[NodeClass, ...] = ()
    """The node pools of the cluster."""
    coverage: Coverage = Coverage()
    """The sources of workloads that were read, and those that were not."""
    renders: RenderSummary | None = None
    """What was rendered, if that was requested."""
    pools: tuple[Pool, ...] = ()
    """All node pools that the files declare, those of other clusters, too, if the caller asked for further objects."""
    objects: tuple[Mapping[str, Any], ...] = ()
    """The objects of the kinds that the caller asked for."""
    target: Target = Target()
    """The versions that the manifests are for."""
    manifest_files: int = 0
    """How many files have manifests, besides the node files and those of running pods."""
    also_read: tuple[str, ...] = ()
    """What was read besides the files that the user named."""


class SeveralClustersError(UserError):
    """The manifests are for several ``clusters``."""

    def __init__(self, message: str, clusters: Sequence[Cluster]) -> None:
        super().__init__(message)
        self.clusters = clusters


class PlaceRequest(NamedTuple):
    """What is read of the files for a simulation."""

    resources: bool = True
    """Whether the requests of pods and the allocatable resources of nodes are compared, if a node has any."""
    only_running: bool = False
    """Whether virtual machines that do not start by themselves have no pods."""
    replan: bool = False
    """Whether running pods of the workloads are scheduled again."""
    counts: Mapping[str, int] = MappingProxyType({})
    """The sizes of node pools by their names."""
    lines: bool = True
    """Whether the lines of workloads are read."""
    needs_nodes: bool = True
    """Whether an input without nodes and pools is an error."""
    kinds: Collection[str] = ()
    """The kinds of further objects that the result has, as the files contain them."""
    cluster: Cluster | None = None
    """The only cluster whose files are read."""


_ALL_PLACED = PlaceRequest()


def inputs_of(
    session: Session,
    sources: Sequence[Source],
    pods: Sequence[str] = (),
    request: PlaceRequest = _ALL_PLACED,
    options: Options | None = None,
    node_files: Sequence[Source] | None = None,
    parsed: ParsedFiles | None = None,
) -> PlaceInputs:
    """Read the input of a simulation: workloads and nodes in ``sources``, the nodes of the configuration, and running ``pods``.

    ``options`` have the rendered output of the run, if there is any. ``node_files`` replace those of the configuration. ``parsed`` has the
    files that are read already. Raises UserError and what ``read_place_inputs`` raises.
    """
    running, settings = session.named_sources(pods), session.settings()
    nodes = session.node_files() if node_files is None else node_files
    return read_place_inputs(sources, nodes, running, settings, session.context(), session.options(options), request, parsed)


def read_place_inputs(
    sources: Sequence[Source],
    node_files: Sequence[Source],
    pod_files: Sequence[Source],
    settings: MapSettings,
    context: Iterable[Source] = (),
    options: Options = _ALL,
    request: PlaceRequest = _ALL_PLACED,
    parsed: ParsedFiles | None = None,
) -> PlaceInputs:
    """Read the workloads (and nodes) in ``sources``, the nodes in ``node_files`` and the running pods in ``pod_files``.

    Nodes and node pools among the sources are used if no node files are named. The KubeVirt resource, namespaces and autoscalers in
    ``context`` are used, too. Workloads that the API server would reject have no pods: those with an error of a rule of the category
    ``admission`` that is neither suppressed nor ignored in ``options``. Workloads in rendered output have the file and the line that they
    come from.

    Raises NodeFileError if there are neither nodes nor pools, or if a node, a pool or a pod is invalid, UnknownPoolError, and
    SeveralClustersError.
    """
    begin("reading the input")
    admission = tuple([rule for rule in settings.rules if rule.category == "admission" and rule.name not in UNREADABLE])
    read_rules = (*bind_rules(UNREADABLE), *admission)
    settings = settings._replace(rules=read_rules, inventory=True, resources=request.resources, lines=request.lines)
    if request.cluster is not None:
        sources = [each for each in sources if request.cluster.has(each)]
    files = _PlaceFiles(sources, node_files, pod_files, context, parsed or ParsedFiles())
    return _PlaceReading(files, settings, options, request).inputs()


class _PlaceFiles:
    """The files of a simulation, by what they are read for."""

    def __init__(
        self,
        sources: Sequence[Source],
        node_files: Sequence[Source],
        pod_files: Sequence[Source],
        context: Iterable[Source],
        parsed: ParsedFiles,
    ) -> None:
        self.parsed = parsed
        running = each_once(pod_files)
        given = [source for identity, source in each_once(sources).items() if identity not in running]
        stored = [each for each in each_once([*node_files, *pod_files]).values() if has_other_objects(self.parsed.documents(each))]
        self.files = Files([*given, *stored, *pod_files], context, node_files)
        numbers = self.files.numbers
        self.names_nodes = bool(node_files)
        self.running = {numbers[identity]: source for identity, source in running.items()}
        """The files with running pods."""
        self.dumps = (*stored, *pod_files)
        self.dumped = {numbers[identity] for identity in each_once(self.dumps)} - {numbers[each] for each in each_once(given)}
        """The files whose objects the API server has accepted."""
        not_mapped = self.running.keys() - {numbers[identity] for identity in each_once(stored)}
        self.mapped = self.files.of(file for file in self.files.given if file not in not_mapped)
        """The files with manifests."""


class _PlaceReading:
    """One reading of the input: the results of the map step, and what follows from all of them together."""

    def __init__(self, given: _PlaceFiles, settings: MapSettings, options: Options, request: PlaceRequest) -> None:
        self._given, self._settings, self._options, self._request = given, settings, options, request
        self._files = files = given.files
        self._kustomizations = files.kustomizations()
        nodes = nodes_of(files.of(files.nodes), resources=request.resources, parsed=given.parsed)
        mapper = options.mapper or partial(map_files, reading=given.parsed.read)
        results = dict(zip(given.mapped, _mapped(given.mapped, given.dumped, settings, mapper), strict=True))
        of_context = mapper(files.of(files.context).values(), settings._replace(rules=(), inventory=False))
        self._context = dict(zip(files.context, of_context, strict=True))
        if request.resources:
            results = with_limit_ranges(files, results, {**self._context, **results}, self._kustomizations)
        self._results = results
        if not given.names_nodes and settings.auto_nodes:
            holding = {file: given.mapped[file] for file, result in self._results.items() if result.facts.holds_nodes}
            _check_one_folder(files, holding, self._results)
            nodes = nodes_of(holding, resources=request.resources)
        self._nodes = nodes
        self._with_nodes = _with_node_files(files, self._results, settings, mapper)
        """The results, with those of the node files."""
        self._classes = _classes(files, pools_of(files, self._with_nodes, settings), request.counts, with_least=not nodes)
        if request.needs_nodes and not (nodes or self._classes):
            raise NodeFileError(NO_NODES)

    def inputs(self) -> PlaceInputs:
        """Return the input of the simulation."""
        manifest_index, running, workloads = self._workloads()
        origins, place_problems = self._reviewed(workloads)
        workloads = [_at_origin(place_problems.accepted(pods), origins) for pods in workloads]
        problems = place_problems.listed()
        names = self._files.names if origins is None else origins.names
        simulation_input = self._simulation_input(manifest_index, running, workloads, names.__getitem__)
        expected = simulation_input.expected
        classes = pools_with_expected_labels(self._classes, expected)
        if self._knows_volumes(simulation_input, manifest_index, classes):
            storage = self._given.parsed, self._given.dumps, self._settings.target
            simulation_input = _with_storage(simulation_input, manifest_index, *storage)
        assumed = assumption_note([*[each.name for each in self._nodes if each.declared], *[each.title for each in classes]], expected)
        notes = (
            *_skipped_manifests(workloads, names.__getitem__),
            *_rejected_manifests(problems),
            *_unapplied_policies(self._mutating),
            *([assumed] if assumed else []),
            *self._notes(manifest_index, names.__getitem__),
        )
        empty = tuple([names[file] for file, result in self._results.items() if is_empty(result)])
        read = PlaceInputs(simulation_input, tuple(problems), names, notes, empty, classes, target=self._settings.target)
        read = read._replace(manifest_files=self._manifest_files())
        return self._with_objects(self._with_coverage(read))

    def _workloads(self) -> tuple[ManifestIndex, RunningPods, list[Pods]]:
        """Return the index of all manifests, the running pods, and the workloads that are not among these."""
        running = running_pods(
            self._given.running,
            resources=self._request.resources,
            dumps=_dumps(self._files, self._results, self._given.parsed),
            parsed=self._given.parsed,
        )
        files, target = self._files, self._settings.target
        facts = [_context_facts(each.facts.of_file(file, files.folder(file))) for file, each in self._context.items()]
        facts += [located_facts(files, file, result, self._kustomizations, placed=True) for file, result in self._results.items()]
        self._mutating = [policy for each in facts for policy in each.mutating]
        manifest_index = ManifestIndex(
            facts,
            plugins=target.admission_plugins,
            node_labels=[node.labels for node in self._nodes],
            kubevirt_version=target.kubevirt_version,
        )
        workloads = [
            manifest_index.with_scale(pods)
            for each in facts
            for pods in each.pods
            if (pods.site.file, pods.site.document, pods.site.base) not in running.sites
        ]
        return manifest_index, running, without_controlled(workloads)

    def _reviewed(self, workloads: list[Pods]) -> tuple[RunOrigins | None, PlaceProblems]:
        """Return where rendered manifests come from, and what the API server rejects."""
        files, results, renders = self._files, self._results, self._options.renders
        mutating = policies_of(files.names, self._mutating)
        reduction = Reduction(self._settings, Checker(self._settings).triage, files.names, lambda _: b"", mutating)
        suppression_filter = SuppressionFilter(reduction, self._options, self._kustomizations)
        origins = None
        if renders is not None:
            if self._nodes or self._classes or self._request.needs_nodes:
                _check_one_cluster(files, workloads, renders, self._kustomizations)
            with_positions = [file for file, result in results.items() if result.facts.pods or result.found or result.facts.unusable]
            origins = renders.origins(files.sources, with_positions, suppression_filter.remaining_in_source)
        return origins, PlaceProblems(files, results, workloads, suppression_filter, origins)

    def _simulation_input(
        self, manifest_index: ManifestIndex, running: RunningPods, workloads: list[Pods], name_of: Callable[[FileId], str]
    ) -> SimulationInput:
        request, target = self._request, self._settings.target
        allocatable = [*[each.node.allocatable for each in self._nodes], *[each.allocatable for each in self._classes]]
        counted = request.resources and any(allocatable)
        simulation_input = build_simulation_input(
            self._nodes,
            manifest_index,
            workloads,
            SimulationOptions(
                target.version, target.feature_gates, counted, request.only_running, request.replan, has_pools=bool(self._classes)
            ),
            running.pods,
            name_of=name_of,
            machines=running.machines,
        )
        results = {**self._context, **self._results}
        simulation_input = _with_priorities(simulation_input, self._files, results, self._given.parsed.read)
        if request.resources and not counted and (self._nodes or self._classes):
            return simulation_input._replace(pod_sources=with_uncounted_requests(simulation_input.pod_sources))
        return simulation_input

    def _knows_volumes(self, simulation_input: SimulationInput, manifest_index: ManifestIndex, classes: Sequence[NodeClass]) -> bool:
        """Return whether there are volumes, and which of them the nodes can use is known."""
        uses_volumes = manifest_index.holds_storage or any(each.volumes for each in simulation_input.pod_sources)
        return uses_volumes and _have_known_zones(classes, self._nodes)

    def _notes(self, manifest_index: ManifestIndex, name_of: Callable[[FileId], str]) -> Iterator[str]:
        """Yield the notes about the configuration of the scheduler, and about maintenance."""
        if manifest_index.facts.schedulers:
            yield from profiles_of(manifest_index.facts.schedulers).notes(name_of)
        if manifest_index.facts.maintenance:
            yield from maintenance_notes(manifest_index.facts.maintenance, [each.node for each in self._nodes])

    def _manifest_files(self) -> int:
        named = {*self._given.running, *self._files.nodes}
        return sum(bool(result.documents or result.passed) for file, result in self._results.items() if file not in named)

    def _with_coverage(self, inputs: PlaceInputs) -> PlaceInputs:
        renders = self._options.renders
        if renders is not None:
            return inputs._replace(coverage=renders.coverage(), renders=renders.count())
        return inputs._replace(coverage=coverage_of((inputs.names[file], result) for file, result in self._results.items()))

    def _with_objects(self, inputs: PlaceInputs) -> PlaceInputs:
        """Return the input with the pools of all clusters, and the objects that the caller asked for."""
        kinds = self._request.kinds
        if not kinds:
            return inputs
        everywhere = pools_of(self._files, self._with_nodes, self._settings, everywhere=True)
        pools = () if everywhere is None else tuple(_each_once(self._files, everywhere.whole))
        return inputs._replace(pools=pools, objects=tuple(_objects(self._files, kinds)))


def _objects(files: Files, kinds: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of some kinds in the files of a run, each once."""
    seen: set[tuple[object, ...]] = set()
    words = [kind.encode() for kind in kinds]
    for source in files.sources:
        try:
            content = bytes_of(source)
            documents = list(documents_of(source.name, content, kinds)) if any(word in content for word in words) else []
        except NodeFileError:
            continue  # Its manifests are problems of the run.
        for document in documents:
            for data, _ in objects_in(document):
                identity = (kind_of(data), namespace_of(data), name_of(data))
                if kind_of(data) in kinds and identity not in seen:
                    seen.add(identity)
                    yield data


def _have_known_zones(classes: Sequence[NodeClass], nodes: Sequence[NodeFact]) -> bool:
    """Return whether it is known which volumes the nodes of pools can use: each pool is in one zone, and nodes show the labels of zones."""
    return not classes or (bool(nodes) and all(each.known is not None and len(each.known.values(ZONE)) == 1 for each in classes))


def _with_storage(
    simulation_input: SimulationInput, manifest_index: ManifestIndex, parsed: ParsedFiles, dumps: Sequence[Source], target: Target
) -> SimulationInput:
    """Return the input with the claims of the workloads, and the storage objects of the manifests and of ``dumps``."""
    from afflint.inventory.volumes import DUMPED_KINDS, StorageOptions, with_storage

    dumped: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in (*DUMPED_KINDS, STORAGE_PROFILE)}
    for source in dumps:
        for document in parsed.documents(source):
            for data, _ in objects_in(document):
                if kind_of(data) in dumped:
                    dumped[kind_of(data)].append(data)
    options = StorageOptions(dict(target.volume_topologies), target.default_storage_class)
    return with_storage(simulation_input, manifest_index.storage, dumped, options)


def _mapped(read: Mapping[FileId, Source], dumped: Collection[FileId], settings: MapSettings, mapper: Mapper) -> list[FileResult]:
    """Return the results of the map step. The API server has accepted what is ``dumped`` from a cluster."""
    accepted = settings._replace(rules=bind_rules(UNREADABLE), dumped=True)
    first = {file: source for file, source in read.items() if file not in dumped}
    rest = {file: source for file, source in read.items() if file in dumped}
    results = dict(zip(first, mapper(first.values(), settings), strict=True))
    results.update(zip(rest, mapper(rest.values(), accepted), strict=True))
    return [results[file] for file in read]


def _dumps(files: Files, results: Mapping[FileId, FileResult], parsed: ParsedFiles) -> dict[FileId, Source]:
    """Return the files in which some of the pods may be those of a cluster."""
    holding = {file for file, result in results.items() if any(pods.ref.kind in RUNNING_KINDS for pods in result.facts.pods)}
    found = {}
    for file in (*holding, *files.nodes):
        source = files.sources[file]
        try:
            if file in holding and not may_be_stored(bytes_of(source)):
                continue
            parsed.documents(source)
        except NodeFileError:
            continue  # Its manifests are problems of the run.
        found[file] = source
    return found


def _check_one_cluster(files: Files, workloads: Iterable[Pods], renders: RenderedRun, kustomizations: Kustomizations) -> None:
    """Raise SeveralClustersError if rendered manifests are for several clusters: their workloads must not compete for the same nodes."""
    pods_of = grouped((files.sources[pods.site.file].path, pods) for pods in workloads)
    found = renders.clusters(pods_of, kustomizations.is_patch, releases_together=True)
    if len(found) > 1:
        names = {path: source.name for source in files.sources if (path := source.path) in frozenset().union(*found)}
        folders = {path: folder_here(os.path.dirname(path)) for path in names}
        clusters = []
        for paths in found:
            own = frozenset(map(folders.__getitem__, paths))
            elsewhere = frozenset(folder for folder in folders.values() if folder and folder not in own)
            roots = frozenset(map(names.__getitem__, paths)), frozenset(names.values())
            clusters.append(RootsCluster(renders.names_of(paths)[0], *roots, elsewhere))
        listed = summarize_names([quoted(each.name) for each in clusters], most=_MOST_NAMED)
        raise SeveralClustersError(
            f"the manifests are for {len(clusters)} clusters, because they create the same objects: {listed}; name only the paths of one "
            "cluster, and the nodes with --nodes",
            clusters,
        )


def _check_one_folder(files: Files, holding: Mapping[FileId, Source], results: Mapping[FileId, FileResult]) -> None:
    """Raise SeveralClustersError if the nodes are in the folders of several clusters."""
    by_folder: dict[Folder, dict[FileId, Source]] = {}
    for file, source in holding.items():
        by_folder.setdefault(folder_of(files, file), {})[file] = source
    workloads = [folder_of(files, file) for file, result in results.items() if result.facts.pods]
    if not cluster_folders(by_folder.keys(), workloads):
        return
    folders = frozenset(folder for folder, sources in by_folder.items() if are_whole(nodes_of(sources)))
    found = cluster_folders(folders, workloads)
    if found:
        clusters = [FolderCluster(each, folders) for each in (*found, None)]
        listed = join_words([quoted(each.name) for each in clusters[:-1]])
        raise SeveralClustersError(f"the folders {listed} have nodes of {len(found)} clusters; name the paths of one", clusters)


def folder_of(files: Files, file: FileId) -> Folder:
    """Return the folder of a file relative to the working directory."""
    return folder_here("/".join(files.folder(file)))


def _at_origin(pods: Pods, origins: RunOrigins | None) -> Pods:
    """Return a workload in rendered output with the file and the line that it comes from."""
    if origins is None or pods.pod_source is None or not origins.is_rendered(pods.site.file):
        return pods
    file, line = origins.line(pods.site.file, pods.site.document, pods.pod_source.line)
    return pods._replace(pod_source=replace(pods.pod_source, site=pods.pod_source.site._replace(file=file), line=line))


def _unapplied_policies(policies: Iterable[MutatingPolicy]) -> Iterator[str]:
    """Yield a note for each policy that may change pods; of LimitRanges and namespaces, the plan has what they change."""
    fields: dict[str, list[str]] = {}
    for each in policies:
        fields.setdefault(each.title, []).extend(each.fields)
    for title, names in fields.items():
        yield f"the {title} may set {join_words([quoted(each) for each in dict.fromkeys(names)])}; it is not applied"


def _with_priorities(
    simulation_input: SimulationInput, files: Files, results: Mapping[FileId, FileResult], reading: Reading
) -> SimulationInput:
    """Return the input with the priorities of its workloads, if a PriorityClass or a workload shows that there are any."""
    named = any(not each.pod.keys().isdisjoint(PRIORITY_FIELDS) for each in simulation_input.pod_sources)
    if not (named or any("PriorityClass" in result.passed for result in results.values())):
        return simulation_input
    readable = [file for file, result in results.items() if result.readable]
    wanted = frozenset((PRIORITY_CLASS,)).__contains__
    found = (data for source in files.of(readable).values() for _, data, _ in objects_of(source, wanted, reading))
    pod_sources = with_priorities(simulation_input.pod_sources, read_priority_classes(found))
    inventory = simulation_input.inventory
    inventory = inventory._replace(priorities=priorities_of(pod_sources, inventory.pods, simulation_input.budgets))
    return simulation_input._replace(pod_sources=pod_sources, inventory=inventory)


def _with_node_files(files: Files, results: Mapping[FileId, FileResult], settings: MapSettings, mapper: Mapper) -> dict[FileId, FileResult]:
    """Return the results of the map step with those of the node files, which are not checked."""
    of_nodes = [file for file in files.nodes if file not in results]
    named = mapper(files.of(of_nodes).values(), settings._replace(rules=(), inventory=False))
    return {**results, **dict(zip(of_nodes, named, strict=True))}


def _classes(files: Files, pools: Pools | None, counts: Mapping[str, int], *, with_least: bool) -> tuple[NodeClass, ...]:
    """Return the node pools of the cluster as node classes; ``with_least``: with their minimum number of nodes.

    A node dump contains the nodes of the pools already, so the minimum is then 0.
    """
    if pools is None and not counts:
        return ()
    classes = classes_of(_each_once(files, filter(pools.is_here, pools.whole)) if pools is not None else (), counts)
    return tuple(classes if with_least else [each if each.name in counts else replace(each, least=0) for each in classes])


def _context_facts(facts: Facts) -> Facts:
    """Return the facts of the context that affect workloads: settings of KubeVirt and the scheduler, namespaces, autoscalers, policies."""
    return Facts(
        kubevirt=facts.kubevirt,
        namespaces=facts.namespaces,
        about_pods=facts.about_pods,
        scalers=facts.scalers,
        schedulers=facts.schedulers,
        mutating=facts.mutating,
    )


def _each_once(files: Files, pools: Iterable[Pool]) -> list[Pool]:
    """Return the pools, each once: overlays repeat pools, and a patch of a kustomization is not a pool."""
    kustomizations = files.kustomizations()
    found: dict[tuple[str, str, str], Pool] = {}
    for pool in pools:
        use = kustomizations.use_of(files.sources[pool.site.file].path)
        if not (use is not None and use.patches):
            found.setdefault((pool.cluster, pool.word, pool.name), pool)
    return list(found.values())


def _skipped_manifests(workloads: Iterable[Pods], name_of: Callable[[FileId], str]) -> Iterator[str]:
    """Yield one line about the manifests that create no pods in the simulation."""
    passed: dict[str, None] = {}
    for pods in workloads:
        if pods.pod_source is None and pods.ref.kind not in _SETTINGS:
            whole = "a domain" if pods.kubevirt else "containers with images"
            reason = f"it is a patch, or it lacks a name or {whole}" if pods.partial else "it creates no pods"
            if pods.operated and pods.ref.name:
                reason = "a custom resource, for which the simulation creates no pods"
            passed[f"{pods.title} in {name_of(pods.site.file)} ({reason})"] = None
    if passed:
        yield f"skipped: {_first(list(passed))}"


def _rejected_manifests(problems: Sequence[str]) -> Iterator[str]:
    """Yield one line about the manifests that are unreadable or rejected."""
    if problems:
        number, them = pluralize(len(problems), "manifest"), "it" if len(problems) == 1 else "them"
        rejected = f"{number} cannot be read, or the API server would reject {them}"
        yield f"{rejected}; `afflint check` reports the details: {_first(problems)}"


def _first(words: Sequence[str]) -> str:
    more = f"; and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return "; ".join(words[:_MOST_NAMED]) + more


_MOST_NAMED = 3
_SETTINGS = {kind.name for kind in KINDS if kind.holds_placement}
"""The kinds that restrict the pods of other objects and create no pods themselves."""
