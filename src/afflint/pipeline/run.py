"""A run over many files: map (in this process or in several), reduce, suppressions, summary."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, Finding, Found, sort_key
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Facts, Pods
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import DEFAULT_CACHE as DEFAULT_CACHE
from afflint.pipeline.mapping import Contents, is_worth_cache, map_files
from afflint.pipeline.reduce_step import ClusterIndex, Reduction
from afflint.report import Summary
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import Source, read_bytes
from afflint.yaml.prefilter import is_values_file

if TYPE_CHECKING:
    from afflint.index.manifest_index import ManifestIndex
    from afflint.inventory.node_files import NodeFact
    from afflint.inventory.pool_files import Pools
    from afflint.kube.catalogue import CustomKind
    from afflint.pipeline.baseline import Baseline
    from afflint.pipeline.policy_evaluation import UnevaluatedPolicy
    from afflint.pipeline.rendered import RenderedRun
    from afflint.pipeline.run_cache import CachedRun, Kustomized, PastRun


class Outcome(NamedTuple):
    """The findings of a run, sorted, and its numbers. ``sources`` are the files by their numbers, those of the context included."""

    findings: list[Finding]
    summary: Summary
    sources: tuple[Source, ...] = ()
    gone: int = 0
    """Baseline entries that no longer occur."""
    unused_nodes: str | None = None
    """Why nodes that were found among the files are none of one cluster."""
    empty: tuple[FileId, ...] = ()
    """The checked files that hold no document of any kind."""
    undecided: tuple[str, ...] = ()
    """The policies that would have needed nodes, of which there were none."""
    unevaluated: tuple[str, ...] = ()
    """What policies came to no result for, a line each."""

    def text(self, file: FileId) -> str | None:
        """The text of a file as it is now, in which spans count their lines and columns; None when it cannot be had."""
        from afflint.yaml.documents import to_utf8

        if not 0 <= file < len(self.sources):
            return None
        try:
            return to_utf8(read_bytes(self.sources[file])).decode("utf-8", "replace")
        except (OSError, UnicodeDecodeError):
            return None


class Options(NamedTuple):
    """How to run: processes, whether inline suppressions hold, and what is ignored in which file (by its path; names for ``covers``).

    ``baseline`` holds old findings that stay silent.
    """

    jobs: int = 1
    inline: bool = True
    ignored_in: Callable[[str], frozenset[str]] | None = None
    progress: Callable[[int], None] | None = None
    baseline: "Baseline | None" = None
    mapper: Callable[[Collection[Source], MapSettings], Iterable[FileResult]] | None = None
    """What gives the results of the map step, in place of reading and checking each file: for whoever remembers some."""
    definitions: Callable[[], Iterable[Source]] | None = None
    """Gives further files with CustomResourceDefinitions, should there be kinds that nothing else describes."""
    cache: str | None = None
    """The folder in which results are kept from one run to the next, or DEFAULT_CACHE."""
    contents: Contents | None = None
    """What is known of the bytes of files in this run already."""
    renders: "RenderedRun | None" = None
    """What was rendered for this run: its findings are told where they are written."""
    mandatory: frozenset[str] = frozenset()
    """The rules whose findings no comment and no annotation silences."""


_DEFAULT = Options()


def run(
    sources: Iterable[Source],
    settings: MapSettings,
    options: Options = _DEFAULT,
    context: Iterable[Source] = (),
    node_files: Iterable[Source] = (),
) -> Outcome:
    """Check ``sources``; ``context`` are further files that cross-manifest rules may look at, ``node_files`` hold the nodes.

    Which of all these files are checked, what they are called, and in which order they are given makes no difference to what is found
    in one of them. Where no file of nodes is named, those among the files count in whose folder, or below it, all workloads lie. Raises
    NodeFileError for a file of nodes that cannot be used.
    """
    return outcome(gathered(Files(sources, context, node_files), settings, options), options)


class Gathered(NamedTuple):
    """What the files of a run tell, alone and together, with nothing silenced yet.

    ``results`` are those of the checked files, ``told`` those of all. ``manifest_index`` is None if no rule needs it.
    """

    files: Files
    results: dict[FileId, FileResult]
    told: dict[FileId, FileResult]
    manifest_index: "ManifestIndex | None"
    nodes: "list[NodeFact]"
    across: dict[FileId, list[Found]]
    """What rules across manifests find, by the file that it stands in."""
    suppression_filter: "SuppressionFilter"
    settings: MapSettings
    """Those that the run had in the end, nodes found among the files included."""
    unused_nodes: str | None
    pools: "Pools | None" = None
    undecided: tuple[str, ...] = ()
    """The policies that would have needed nodes."""
    unevaluated: "tuple[UnevaluatedPolicy, ...]" = ()
    """What policies came to no result for."""
    faults: tuple[Finding, ...] = ()
    """What is wrong with the manifests of policies, which need not be files of the run."""


def gathered(files: Files, settings: MapSettings, options: Options = _DEFAULT) -> Gathered:
    """Map and reduce the files of a run, or find again what they told when that was done before. Raises NodeFileError."""
    past = _past(files, settings, options)
    if past is None:
        return _gathered(files, settings, options, files.kustomizations())
    kustomizations = files.kustomizations()
    told = past.told(lambda each: each == _kustomized(files, each.file, kustomizations, labels=each.labels is not None))
    if told is None:
        new = _gathered(files, settings, options._replace(contents=past.contents), kustomizations)
        if not new.unevaluated:  # What is said of it names files, which may be called otherwise then.
            past.keep(_to_keep(new, kustomizations))
        return new
    results = {file: told.results[number] for file, number in told.of_files}
    suppression_filter = SuppressionFilter(_reduction(files, settings), options, kustomizations)
    across = {file: [*found] for file, found in told.across}
    return Gathered(files, results, results, None, [], across, suppression_filter, settings, told.unused_nodes, undecided=told.undecided)


def _past(files: Files, settings: MapSettings, options: Options) -> "PastRun | None":
    """The last run of the same kind, where it is looked for."""
    elsewhere = (options.mapper, options.definitions, options.renders)  # What these know is not among the files.
    if options.cache is None or any(each is not None for each in elsewhere) or not is_worth_cache(files.sources):
        return None
    if any(each.subject == "admission" for each in settings.rules):  # These stand in manifests that are no files of the run.
        return None
    from afflint.pipeline.run_cache import PastRun

    return PastRun(options.cache or None, files, settings)


def _to_keep(gathered: Gathered, kustomizations: Kustomizations) -> "CachedRun":
    from afflint.pipeline.run_cache import without_facts

    across = tuple([(file, tuple(found)) for file, found in gathered.across.items()])
    kustomized = [
        _kustomized(gathered.files, file, kustomizations, labels=bool(result.facts.policy_candidates))
        for file, result in gathered.told.items()
        if _makes_pods(result)
    ]
    told = without_facts(gathered.results)._replace(across=across, unused_nodes=gathered.unused_nodes, kustomized=tuple(kustomized))
    return told._replace(undecided=gathered.undecided)


def _kustomized(files: Files, file: FileId, kustomizations: Kustomizations, *, labels: bool) -> "Kustomized":
    from afflint.pipeline.run_cache import Kustomized

    path = files.sources[file].path
    added = tuple(sorted(kustomizations.labels_added(path))) if labels else None
    return Kustomized(file, kustomizations.is_patch(path), added)


def _gathered(files: Files, settings: MapSettings, options: Options, kustomizations: Kustomizations) -> Gathered:
    settings, nodes = with_nodes(files, settings)
    results, beside = _mapped(files, settings, options)
    learnt = _learnt(files, {**beside, **results}, settings, options)
    if learnt:
        settings = settings._replace(learnt=learnt)
        results, beside = _mapped_anew(files, results, beside, settings, options)
    fault = None
    if not files.nodes and settings.auto_nodes:
        holding = _meant_nodes(files, results)
        try:
            nodes = _nodes_of(files.of(holding))
        except UserError as error:
            # Nobody said that these are the nodes of one cluster.
            fault = str(error)
        if nodes:
            settings = settings._replace(with_nodes=True)
            results, beside = _mapped(files, settings, options)
    # What is wrong with the nodes is said where they are written.
    only_nodes = files.of(file for file in files.nodes if file not in results)
    of_nodes = dict(zip(only_nodes, _told(only_nodes.values(), settings._replace(rules=()), options), strict=True))
    pools = pools_of(files, {**beside, **results, **of_nodes}, settings)
    with_pools = _with_pools(settings, pools) if pools else settings
    if with_pools != settings:
        settings = with_pools
        results, beside = _told_again(files, results, settings, options), _told_again(files, beside, settings._replace(rules=()), options)
    told = {**beside, **results}
    results |= {file: FileResult(suppressions=result.suppressions) for file, result in of_nodes.items()}

    reduction = _reduction(files, settings)
    facts = {file: located_facts(files, file, told[file], kustomizations) for file in sorted(told)}
    manifest_index = reduction.manifest_index(facts.values(), nodes, pools)
    across: dict[FileId, list[Found]] = {}
    if manifest_index is not None:
        clusters = _clusters(files, facts, manifest_index, reduction, kustomizations, options) if nodes else []
        for file, found in reduction.across(manifest_index, results.__contains__, nodes, pools, clusters):
            across.setdefault(file, []).append(found)
    unevaluated = reduction.unevaluated
    faults: list[Finding] = []
    if any(each.subject == "admission" for each in settings.rules):
        from afflint.pipeline.cluster_policies import admitted

        sources = dict(enumerate(files.sources))
        admission = admitted(settings.rules, {file: sources[file] for file in told}, told, results, kustomizations.is_patch)
        for file, found in admission.found:
            across.setdefault(file, []).append(found)
        unevaluated += admission.unevaluated
        faults = admission.faults
    undecided = () if nodes else tuple([each.name for each in settings.rules if each.subject == "outcome"])
    suppression_filter = SuppressionFilter(reduction, options, kustomizations)
    return Gathered(
        files,
        results,
        told,
        manifest_index,
        nodes,
        across,
        suppression_filter,
        settings,
        fault,
        pools,
        undecided,
        tuple(unevaluated),
        tuple(faults),
    )


def _clusters(
    files: Files,
    facts: Mapping[FileId, Facts],
    manifest_index: "ManifestIndex",
    reduction: Reduction,
    kustomizations: Kustomizations,
    options: Options,
) -> list[ClusterIndex]:
    """The manifests of each cluster, where what was rendered for this run is for several."""
    if options.renders is None:
        return []
    numbers = {files.sources[file].path: file for file in facts}
    found = options.renders.clusters({path: facts[file].pods for path, file in numbers.items()}, kustomizations.is_patch)
    apart = frozenset(numbers[path] for paths in found for path in paths)
    shared = [file for file in facts if file not in apart]
    clusters = []
    for number, paths in enumerate(found):
        own = frozenset(numbers[path] for path in paths)
        whole = number < _MOST_CLUSTERS
        held = [facts[file] for file in sorted([*own, *shared] if whole else own)]
        clusters.append(ClusterIndex(reduction.part_of(manifest_index, held), own, whole))
    return clusters


_MOST_CLUSTERS = 8
"""So many clusters are looked at with all manifests that may be of any, the others with their own alone."""


def _reduction(files: Files, settings: MapSettings) -> Reduction:
    def read(file: FileId) -> bytes:
        return read_bytes(files.sources[file])

    return Reduction(settings, Checker(settings).triage, files.names, read)


def outcome(gathered: Gathered, options: Options = _DEFAULT) -> Outcome:
    """The findings of a run that nothing silences, sorted, and its numbers."""
    files, results = gathered.files, gathered.results
    kept: list[Finding] = []
    suppressed = 0
    for file, result in results.items():
        remaining, count = gathered.suppression_filter.remaining(file, files.sources[file], result, gathered.across.get(file, ()))
        kept += remaining
        suppressed += count
    sources, checked = files.sources, [files.sources[file].name for file in results]
    if options.renders is not None:
        kept, silenced, sources = options.renders.placed(kept, sources, options)
        suppressed += silenced
        checked += [source.name for source in options.renders.covered]
    kept += gathered.faults
    kept.sort(key=sort_key)
    gone = 0
    if options.baseline is not None:
        from afflint.pipeline.baseline import apply

        kept, silenced, entries = apply(kept, options.baseline, checked)
        suppressed, gone = suppressed + silenced, len(entries)
    empty = tuple([file for file in files.checked if is_empty(results[file])])
    summary = summary_of(results.values(), kept, suppressed)
    if options.renders is not None:
        summary = summary._replace(renders=options.renders.count())
    unevaluated: tuple[str, ...] = ()
    if gathered.unevaluated:
        from afflint.pipeline.policy_evaluation import policy_findings

        unevaluated = tuple(policy_findings(gathered.unevaluated, files.names))
    return Outcome(kept, summary, sources, gone, gathered.unused_nodes, empty, gathered.undecided, unevaluated)


def with_nodes(files: Files, settings: MapSettings) -> "tuple[MapSettings, list[NodeFact]]":
    """The settings for files of which some are named as those of the nodes, and the nodes, none for pools. Raises NodeFileError."""
    nodes = _nodes_of(files.of(files.nodes))
    return settings._replace(with_nodes=bool(files.nodes)), nodes


def is_empty(result: FileResult) -> bool:
    """Whether a file holds no document of any kind, nor nodes."""
    return not (result.documents or result.passed or result.templated or result.unread or result.facts.holds_nodes)


def _meant_nodes(files: Files, results: Mapping[FileId, FileResult]) -> list[FileId]:
    """The files with nodes that are plainly those of the workloads: others may be an example, or of another cluster."""
    holding = [file for file, result in results.items() if result.facts.holds_nodes]
    if not holding:
        return []
    workloads = [files.folder(file) for file, result in results.items() if result.facts.pods]
    return [file for file in holding if all(each[: len(files.folder(file))] == files.folder(file) for each in workloads)]


def pools_of(files: Files, told: Mapping[FileId, FileResult], settings: MapSettings) -> "Pools | None":
    """The pools of nodes that files declare: those named as files of nodes, or else all."""
    chosen = files.nodes if files.nodes else told if settings.auto_nodes else ()
    holding = [file for file in sorted(chosen) if told[file].facts.pools or told[file].facts.pool_parts]
    if not holding:
        return None
    from afflint.inventory.pool_files import Pools

    facts = [told[file].facts.of_file(file, files.folder(file)) for file in holding]
    pools, parts = [pool for each in facts for pool in each.pools], [part for each in facts for part in each.pool_parts]
    return Pools(tuple(pools), tuple(parts), bool(files.nodes))


def _with_pools(settings: MapSettings, pools: "Pools") -> MapSettings:
    """The settings for a run with pools: facts hold what decides where pods may run, and what pools declare is no slip of the pen."""
    from afflint.kube.node_labels import suggested_label
    from afflint.pools.matching import declared_keys

    keys = frozenset(key for key in declared_keys(pools.pools) | declared_keys(pools.parts) if suggested_label(key) is not None)
    return settings._replace(with_nodes=True, target=settings.target._replace(known_labels=keys))


def _told_again(files: Files, results: dict[FileId, FileResult], settings: MapSettings, options: Options) -> dict[FileId, FileResult]:
    """The results with those of the files with workloads, and with what is about namespaces, made anew with these settings."""
    again = files.of(file for file, result in results.items() if result.facts.pods or result.facts.namespaces)
    return {**results, **dict(zip(again, _told(again.values(), settings, options), strict=True))}


def _mapped(files: Files, settings: MapSettings, options: Options) -> tuple[dict[FileId, FileResult], dict[FileId, FileResult]]:
    """What the files tell that are checked, and those that are only context."""
    results = dict(zip(files.checked, _told(files.of(files.checked).values(), settings, options), strict=True))
    facts_only = settings._replace(rules=())
    return results, dict(zip(files.context, _told(files.of(files.context).values(), facts_only, options), strict=True))


def _learnt(files: Files, results: Mapping[FileId, FileResult], settings: MapSettings, options: Options) -> "tuple[CustomKind, ...]":
    """What CustomResourceDefinitions of the run say of the kinds that nothing else describes."""
    unknown = {kind for result in results.values() for kind in result.unknown}
    if not unknown:
        return ()
    defining = [files.sources[file] for file, result in results.items() if _DEFINITION in result.passed]
    sources = [*defining, *(options.definitions() if options.definitions is not None else ())]
    if not sources:
        return ()
    from afflint.kube.custom_definitions import merged_kinds

    asking = settings._replace(rules=(), defining=tuple(sorted(unknown)))
    return merged_kinds(kind for result in _told(sources, asking, options) for kind in result.defined)


_DEFINITION = "CustomResourceDefinition"


def _mapped_anew(
    files: Files, results: dict[FileId, FileResult], beside: dict[FileId, FileResult], settings: MapSettings, options: Options
) -> tuple[dict[FileId, FileResult], dict[FileId, FileResult]]:
    """The same with what files tell of kinds that have been learnt since."""
    known = {(kind.group, kind.name) for kind in settings.learnt}
    for told, asking in ((results, settings), (beside, settings._replace(rules=()))):
        concerned = [file for file, result in told.items() if not known.isdisjoint(result.unknown)]
        told.update(zip(concerned, _told(files.of(concerned).values(), asking, options), strict=True))
    return results, beside


def _told(sources: Collection[Source], settings: MapSettings, options: Options) -> Iterator[FileResult]:
    if options.mapper is not None:
        return iter(options.mapper(sources, settings))
    return map_files(sources, settings, options.jobs, options.progress, options.cache, options.contents)


def located_facts(files: Files, file: FileId, result: FileResult, kustomizations: Kustomizations) -> Facts:
    """The facts of a file, with the file in every site. What kustomizations use as patches makes no pods."""
    facts = result.facts
    if _makes_pods(result) and kustomizations.is_patch(files.sources[file].path):
        facts = facts.of_patches()
    if facts.policy_candidates:
        added = tuple(sorted(kustomizations.labels_added(files.sources[file].path)))
        facts = (
            facts._replace(policy_candidates=tuple([each._replace(labels_added=added) for each in facts.policy_candidates]))
            if added
            else facts
        )
    return facts.of_file(file, files.folder(file))


def _makes_pods(result: FileResult) -> bool:
    return bool(result.facts.policy_candidates) or any(pods.pod_source is not None for pods in result.facts.pods)


def _nodes_of(files: Mapping[FileId, Source]) -> "list[NodeFact]":
    if not files:
        return []
    from afflint.inventory.node_files import nodes_of

    return nodes_of(files)


class SuppressionFilter:
    """Turns what was found in a file into findings that neither a kustomization nor the configuration nor a suppression silences.

    Made for one run: what it has read of kustomizations, it keeps.
    """

    def __init__(self, reduction: Reduction, options: Options, kustomizations: Kustomizations) -> None:
        self._reduction = reduction
        self._options = options
        self.kustomizations = kustomizations

    def everything(self, file: FileId, found: Iterable[Found]) -> list[Finding]:
        """What was found in a file, before anything silences it."""
        return self._reduction.findings(file, found)

    def subjects(self, manifest_index: "ManifestIndex") -> Iterator[tuple[str, Pods]]:
        """What each policy is asked about, by its name."""
        return self._reduction.subjects(manifest_index)

    def remaining(self, file: FileId, source: Source, result: FileResult, across: Iterable[Found] = ()) -> tuple[list[Finding], int]:
        """The findings of a file that remain, those ``across`` manifests included, and how many its suppressions silenced."""
        found = (*result.found, *across)
        if not found and not result.suppressions:  # As in nearly all files.
            return [], 0
        from afflint.config import covers

        findings = self._reduction.findings(file, found)
        remaining = _in_kustomizations(findings, source, self.kustomizations)
        if self._options.ignored_in is not None and remaining:
            names = self._options.ignored_in(source.name)
            remaining = [finding for finding in remaining if not covers(names, finding.rule, finding.category)] if names else remaining
        if not self._options.inline:
            return remaining, 0
        # In values of a chart they may be meant for what it renders to.
        idle = not is_values_file(source.known_as)
        return self._reduction.silence(file, result.suppressions, remaining, idle=idle, mandatory=self._options.mandatory)


# What a kustomization may add to a manifest, or to what it patches.
_LACKS = frozenset(("selector-missing", "selector-template-mismatch"))
# What depends on labels of pods, which a kustomization may add.
_OF_LABELS = frozenset(("label-not-on-template", "spread-misses-itself"))
# What depends on apiVersion and kind, which are placeholders in a patch that has a target.
_OF_VERSIONS = frozenset(("unserved-api-version", "deprecated-kubevirt-api", "missing-api-version"))
_OF_KINDS = frozenset(("unknown-field", "misplaced-constraint", "wrong-type", "invalid-scheduling-field", "invalid-replicas"))
_EXCUSED = _LACKS | _OF_LABELS | _OF_VERSIONS | _OF_KINDS


def _in_kustomizations(findings: list[Finding], source: Source, kustomizations: Kustomizations) -> list[Finding]:
    """The findings that hold whatever the kustomizations of the repository make of the file. They are asked only if that matters."""
    if not any(finding.rule in _EXCUSED for finding in findings):
        return findings
    use = kustomizations.use_of(source.path)
    if use is None:
        return findings
    excused = _LACKS | _OF_VERSIONS if use.targeted else _LACKS
    of_labels = any(finding.rule in _OF_LABELS for finding in findings)
    added = kustomizations.labels_added(source.path) if of_labels else frozenset()

    def is_excused(finding: Finding) -> bool:
        if finding.rule in _OF_LABELS:
            return any(finding.field.endswith((f".{key}", f"[{key}]")) for key in added)
        other_kind = use.kinds and finding.object.kind not in use.kinds
        return finding.rule in excused or (bool(other_kind) and finding.rule in _OF_KINDS)

    return [finding for finding in findings if not is_excused(finding)]


def summary_of(results: Collection[FileResult], findings: Sequence[Finding], suppressed: int) -> Summary:
    """The numbers of a run."""
    severities = [finding.severity for finding in findings]
    return Summary(
        files=len(results),
        documents=sum(result.documents for result in results),
        errors=severities.count("error"),
        warnings=severities.count("warning"),
        info=severities.count("info"),
        suppressed=suppressed,
        templated=sum(result.templated for result in results),
        unread=sum(result.unread for result in results),
        filled=sum(result.filled for result in results),
        passed=_counted(kind for result in results for kind in result.passed),
        custom=_counted(f"{kind} by {way}" for result in results for kind, way in result.custom),
    )


def _counted(kinds: Iterable[str]) -> tuple[tuple[str, int], ...]:
    counts = Counter(kinds)
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))) if counts else ()
