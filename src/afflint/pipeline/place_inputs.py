"""The input of `afflint place`: the files as `afflint check` reads them, and the running pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from afflint.checks.match import Target
from afflint.checks.registry import bind_rules
from afflint.controllers.running_pods import is_controlled_by
from afflint.findings.coverage import Coverage
from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, ObjectRef
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize, quoted
from afflint.index.facts import Facts, Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.declared_nodes import assumption_note, pools_with_expected_labels
from afflint.inventory.node_files import NodeFact, NodeFileError, ParsedFiles, bytes_of, documents_of, nodes_of
from afflint.inventory.pod_files import RUNNING_KINDS, has_other_objects, may_be_stored, running_pods
from afflint.inventory.pool_files import Pools
from afflint.inventory.scheduler_profiles import profiles_of
from afflint.inventory.simulation_input import SimulationInput, SimulationOptions, build_simulation_input
from afflint.kube.kinds import KINDS
from afflint.kube.manifest_reader import objects_in
from afflint.kube.node_labels import ZONE
from afflint.pipeline.files import Files
from afflint.pipeline.locating import located_facts, pools_of
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import map_files
from afflint.pipeline.options import Options
from afflint.pipeline.place_problems import UNREADABLE, PlaceProblems
from afflint.pipeline.reduce_step import Reduction
from afflint.pipeline.summary import is_empty
from afflint.pipeline.suppression_filter import SuppressionFilter
from afflint.pipeline.unrendered import coverage_of
from afflint.placement.node_classes import NodeClass
from afflint.pools.pool import Pool
from afflint.report.model import RenderSummary
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import Source, each_once
from afflint.yaml.document import text_at

if TYPE_CHECKING:
    from afflint.pipeline.options import Mapper
    from afflint.pipeline.rendered import RenderedRun, RunOrigins

_ALL = Options()
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


class SeveralClustersError(UserError):
    """The rendered manifests are for several clusters."""


_NO_COUNTS: Mapping[str, int] = {}


def read_place_inputs(
    sources: Sequence[Source],
    node_files: Sequence[Source],
    pod_files: Sequence[Source],
    settings: MapSettings,
    context: Iterable[Source] = (),
    options: Options = _ALL,
    *,
    resources: bool = True,
    only_running: bool = False,
    replan: bool = False,
    counts: Mapping[str, int] = _NO_COUNTS,
    lines: bool = True,
    needs_nodes: bool = True,
    kinds: Collection[str] = (),
) -> PlaceInputs:
    """Read the workloads (and nodes) in ``sources``, the nodes in ``node_files`` and the running pods in ``pod_files``.

    With ``replan``, running pods of the workloads are scheduled again. With ``only_running``, virtual machines that do not start by
    themselves have no pods. The KubeVirt resource, namespaces and autoscalers in ``context`` are used, too.

    ``kinds`` are those of further objects that the result has, as the files contain them.
    Nodes and node pools among the sources are used if no node files are named; ``counts`` are the sizes of pools by their names.
    With ``resources``, the requests of pods and the allocatable resources of nodes are compared if a node has any.
    Without ``lines``, the lines of workloads are not read. Without ``needs_nodes``, the input may have neither nodes nor pools.
    Workloads that the API server would reject have no pods: those with an error of a rule of the category ``admission`` that is neither
    suppressed nor ignored in ``options``. Workloads in rendered output have the file and the line that they come from.

    Raises NodeFileError if there are neither nodes nor pools, or if a node, a pool or a pod is invalid, UnknownPoolError, and
    SeveralClustersError.
    """
    parsed, running_files = ParsedFiles(), each_once(pod_files)
    given = [source for identity, source in each_once(sources).items() if identity not in running_files]
    stored = [each for each in each_once([*node_files, *pod_files]).values() if has_other_objects(parsed.documents(each))]
    files = Files([*given, *stored, *pod_files], context, node_files)
    dumped = {files.numbers[identity] for identity in each_once([*stored, *pod_files])} - {files.numbers[each] for each in each_once(given)}
    nodes = nodes_of(files.of(files.nodes), resources=resources, parsed=parsed)
    admission = tuple([rule for rule in settings.rules if rule.category == "admission" and rule.name not in UNREADABLE])
    settings = settings._replace(rules=(*bind_rules(UNREADABLE), *admission), inventory=True, resources=resources, lines=lines)
    mapper = options.mapper or map_files
    not_mapped = {files.numbers[identity] for identity in running_files} - {files.numbers[identity] for identity in each_once(stored)}
    read = files.of(file for file in files.given if file not in not_mapped)
    results = dict(zip(read, _mapped(read, dumped, settings, mapper), strict=True))
    others = dict(zip(files.context, mapper(files.of(files.context).values(), settings._replace(rules=(), inventory=False)), strict=True))
    kustomizations = files.kustomizations()
    results, undecided = _as_stored(files, results, others, settings, kustomizations)
    if not node_files and settings.auto_nodes:
        holding = {file: read[file] for file, result in results.items() if result.facts.holds_nodes}
        nodes = nodes_of(holding, resources=resources)
    mapped = _with_node_files(files, results, settings)
    pools = pools_of(files, mapped, settings)
    classes = _classes(files, pools, counts, with_least=not nodes)
    if needs_nodes and not (nodes or classes):
        raise NodeFileError(NO_NODES)
    counted = resources and any([*[each.node.allocatable for each in nodes], *[each.allocatable for each in classes]])
    running = running_pods(
        {files.numbers[identity]: source for identity, source in running_files.items()},
        resources=resources,
        dumps=_dumps(files, results, parsed),
        parsed=parsed,
    )
    facts = [_context_facts(each.facts.of_file(file, files.folder(file))) for file, each in others.items()]
    facts += [located_facts(files, file, result, kustomizations, placed=True) for file, result in results.items()]
    manifest_index = ManifestIndex(
        facts,
        plugins=settings.target.admission_plugins,
        node_labels=[node.labels for node in nodes],
        kubevirt_version=settings.target.kubevirt_version,
    )
    workloads = [
        manifest_index.with_scale(pods)
        for each in facts
        for pods in each.pods
        if (pods.site.file, pods.site.document, pods.site.base) not in running.sites
    ]
    workloads = _without_controlled(workloads)
    reduction = Reduction(settings, Checker(settings).triage, files.names, lambda _: b"")
    suppression_filter = SuppressionFilter(reduction, options, kustomizations)
    origins = None
    if options.renders is not None:
        _check_one_cluster(files, workloads, options.renders, kustomizations)
        with_positions = [file for file, result in results.items() if result.facts.pods or result.found or result.facts.unusable]
        origins = options.renders.origins(files.sources, with_positions, suppression_filter.remaining_in_source)
    place_problems = PlaceProblems(files, results, workloads, suppression_filter, origins)
    workloads = [_at_origin(place_problems.accepted(pods), origins) for pods in workloads]
    problems = place_problems.listed()
    names = files.names if origins is None else origins.names
    target = settings.target
    name_of = names.__getitem__
    simulation_input = build_simulation_input(
        nodes,
        manifest_index,
        workloads,
        SimulationOptions(target.version, target.feature_gates, counted, only_running, replan, has_pools=bool(classes)),
        running.pods,
        name_of=name_of,
        machines=running.machines,
        machine_workloads=running.machine_workloads,
    )
    simulation_input = _with_priorities(simulation_input, files, {**others, **results})
    if resources and not counted and (nodes or classes):
        from afflint.inventory.uncounted import with_uncounted_requests

        simulation_input = simulation_input._replace(pod_sources=with_uncounted_requests(simulation_input.pod_sources))
    declared = [*[each.name for each in nodes if each.declared], *[each.title for each in classes]]
    classes = pools_with_expected_labels(classes, simulation_input.expected)
    assumed = assumption_note(declared, simulation_input.expected)
    if _have_known_zones(classes, nodes) and (manifest_index.holds_storage or any(each.volumes for each in simulation_input.pod_sources)):
        simulation_input = _with_storage(simulation_input, manifest_index, parsed, (*stored, *pod_files), target)
    empty = tuple([names[file] for file, result in results.items() if is_empty(result)])
    unused = profiles_of(manifest_index.schedulers).notes(name_of) if manifest_index.schedulers else ()
    notes = (*_skipped_manifests(workloads, name_of), *_rejected_manifests(problems), *undecided, *([assumed] if assumed else []), *unused)
    if manifest_index.maintenance:
        from afflint.inventory.uncounted import maintenance_notes

        notes = (*notes, *maintenance_notes(manifest_index.maintenance, [each.node for each in nodes]))
    if options.renders is None:
        coverage, count = coverage_of((names[file], result) for file, result in results.items()), None
    else:
        coverage, count = options.renders.coverage(), options.renders.count()
    everywhere = pools_of(files, mapped, settings, everywhere=True) if kinds else None
    all_pools = tuple(_each_once(files, everywhere.whole)) if everywhere is not None else ()
    objects = tuple(_objects(files, kinds)) if kinds else ()
    return PlaceInputs(simulation_input, tuple(problems), names, notes, empty, classes, coverage, count, all_pools, objects)


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
                identity = (data.get("kind"), text_at(data, "metadata", "namespace"), text_at(data, "metadata", "name"))
                if data.get("kind") in kinds and identity not in seen:
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
    from afflint.kube.storage_profiles import STORAGE_PROFILE

    dumped: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in (*DUMPED_KINDS, STORAGE_PROFILE)}
    for source in dumps:
        for document in parsed.documents(source):
            for data, _ in objects_in(document):
                if data.get("kind") in dumped:
                    dumped[data["kind"]].append(data)
    options = StorageOptions(dict(target.volume_topologies), target.default_storage_class)
    return with_storage(simulation_input, manifest_index.storage, dumped, options)


def _mapped(read: Mapping[FileId, Source], dumped: Collection[FileId], settings: MapSettings, mapper: Mapper) -> list[FileResult]:
    """Return the results of the map step. The API server has accepted what is ``dumped`` from a cluster."""
    accepted = settings._replace(rules=bind_rules(UNREADABLE))
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


def _without_controlled(workloads: Sequence[Pods]) -> list[Pods]:
    """Return the workloads without those that repeat another: an object and its controller are one workload.

    A custom resource gives way to the objects that its operator has created.
    """
    by_name: dict[tuple[str | None, str, str | None], list[Pods]] = {}
    for pods in workloads:
        if pods.pod_source is not None:
            by_name.setdefault((pods.ref.kind, pods.namespace or "default", pods.ref.name), []).append(pods)
    dropped: set[int] = set()
    for pods in workloads:
        pod_source = pods.pod_source
        if pod_source is None or pod_source.controller is None:
            continue
        owners = by_name.get((pod_source.controller.kind, pods.namespace or "default", pod_source.controller.name), ())
        if not pod_source.replicas or (owners and is_controlled_by(pod_source, pod_source.controller.kind)):
            dropped.add(id(pods))
        else:
            dropped.update(map(id, owners))
    return [pods for pods in workloads if id(pods) not in dropped] if dropped else list(workloads)


def _check_one_cluster(files: Files, workloads: Iterable[Pods], renders: RenderedRun, kustomizations: Kustomizations) -> None:
    """Raise SeveralClustersError if rendered manifests are for several clusters: their workloads must not compete for the same nodes."""
    pods_of: dict[str, list[Pods]] = {}
    for pods in workloads:
        pods_of.setdefault(files.sources[pods.site.file].path, []).append(pods)
    clusters = renders.clusters(pods_of, kustomizations.is_patch, releases_together=True)
    if len(clusters) > 1:
        names = [renders.names_of(paths)[0] for paths in clusters]
        more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
        listed = join_words([*map(quoted, names[:_MOST_NAMED]), *more])
        raise SeveralClustersError(
            f"the manifests are for {len(clusters)} clusters, because they create the same objects: {listed}; name only the paths of one "
            "cluster, and the nodes with --nodes"
        )


def _at_origin(pods: Pods, origins: RunOrigins | None) -> Pods:
    """Return a workload in rendered output with the file and the line that it comes from."""
    if origins is None or pods.pod_source is None or not origins.is_rendered(pods.site.file):
        return pods
    file, line = origins.line(pods.site.file, pods.site.document, pods.pod_source.line)
    return pods._replace(pod_source=replace(pods.pod_source, site=pods.pod_source.site._replace(file=file), line=line))


def _as_stored(
    files: Files,
    results: dict[FileId, FileResult],
    context: Mapping[FileId, FileResult],
    settings: MapSettings,
    kustomizations: Kustomizations,
) -> tuple[dict[FileId, FileResult], Sequence[str]]:
    """Return the results after mutating policies and LimitRanges have changed the objects, and a line for each undecided policy."""
    every = {**context, **results}
    if not any(result.may_change_objects or (settings.resources and "LimitRange" in result.passed) for result in every.values()):
        return results, ()
    from afflint.pipeline.cluster_mutations import mapped_again, mutations_of
    from afflint.pipeline.policy_evaluation import policy_findings

    mutations = mutations_of(files.of(every), every, kustomizations.is_patch, resources=settings.resources)
    lines = {key: changed.span.line for key, changed in mutations.objects.items()}
    stored = {file: _with_lines(file, result, lines) for file, result in mapped_again(mutations, results, settings).items()}
    return stored, list(policy_findings(mutations.undecided, files.names))


def _with_priorities(simulation_input: SimulationInput, files: Files, results: Mapping[FileId, FileResult]) -> SimulationInput:
    """Return the input with the priorities of its workloads, if a PriorityClass or a workload shows that there are any."""
    from afflint.controllers.pod_source import PRIORITY_FIELDS

    named = any(not each.pod.keys().isdisjoint(PRIORITY_FIELDS) for each in simulation_input.pod_sources)
    if not (named or any("PriorityClass" in result.passed for result in results.values())):
        return simulation_input
    from afflint.inventory.priorities import PRIORITY_CLASS, priorities_of, read_priority_classes, with_priorities
    from afflint.pipeline.source_objects import objects_of

    readable = [file for file, result in results.items() if not (result.templated or result.unread)]
    found = (data for source in files.of(readable).values() for _, data, _ in objects_of(source, frozenset((PRIORITY_CLASS,)).__contains__))
    pod_sources = with_priorities(simulation_input.pod_sources, read_priority_classes(found))
    inventory = simulation_input.inventory
    inventory = inventory._replace(priorities=priorities_of(pod_sources, inventory.pods, simulation_input.budgets))
    return simulation_input._replace(pod_sources=pod_sources, inventory=inventory)


def _with_lines(file: FileId, result: FileResult, lines: Mapping[tuple[FileId, int, ObjectRef], int]) -> FileResult:
    """Return a result with the original lines of changed objects."""
    pods = [
        each._replace(pod_source=replace(each.pod_source, line=line))
        if each.pod_source is not None and (line := lines.get((file, each.site.document, each.ref)))
        else each
        for each in result.facts.pods
    ]
    return result._replace(facts=result.facts._replace(pods=tuple(pods)))


def _with_node_files(files: Files, results: Mapping[FileId, FileResult], settings: MapSettings) -> dict[FileId, FileResult]:
    """Return the results of the map step with those of the node files, which are not checked."""
    of_nodes = [file for file in files.nodes if file not in results]
    named = map_files(files.of(of_nodes).values(), settings._replace(rules=(), inventory=False))
    return {**results, **dict(zip(of_nodes, named, strict=True))}


def _classes(files: Files, pools: Pools | None, counts: Mapping[str, int], *, with_least: bool) -> tuple[NodeClass, ...]:
    """Return the node pools of the cluster as node classes; ``with_least``: with their minimum number of nodes.

    A node dump contains the nodes of the pools already, so the minimum is then 0.
    """
    if pools is None and not counts:
        return ()
    from afflint.inventory.pool_nodes import classes_of

    classes = classes_of(_each_once(files, filter(pools.is_here, pools.whole)) if pools is not None else (), counts)
    return tuple(classes if with_least else [each if each.name in counts else replace(each, least=0) for each in classes])


def _context_facts(facts: Facts) -> Facts:
    """Return the facts of the context that affect workloads: settings of KubeVirt and the scheduler, namespaces, autoscalers."""
    return Facts(
        kubevirt=facts.kubevirt,
        namespaces=facts.namespaces,
        about_pods=facts.about_pods,
        scalers=facts.scalers,
        schedulers=facts.schedulers,
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
