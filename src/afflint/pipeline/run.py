"""A run over many files: definitions, map, locate, reduce, suppress, result. Read this first: each step is one call here."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING

from afflint.findings.finding import FileId, Finding, Found, sort_key
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.definitions import DefinitionReader, with_definitions
from afflint.pipeline.files import Files
from afflint.pipeline.locating import clusters_of, inventory_of, located_facts, named_nodes, with_limit_ranges
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.mapping import is_worth_cache, map_files
from afflint.pipeline.options import Options
from afflint.pipeline.reduce_step import reduction_of
from afflint.pipeline.reduced_run import ReducedRun, is_empty, summary_of
from afflint.pipeline.suppression_filter import SuppressionFilter, may_patch
from afflint.pipeline.unrendered import coverage_of
from afflint.report import Summary
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import CHART, Source, read_bytes, relative
from afflint.yaml.documents import read, to_utf8
from afflint.yaml.prefilter import Reading

if TYPE_CHECKING:
    from afflint.inventory.node_files import NodeFact
    from afflint.rendered.chart_findings import PlacedFinding
    from afflint.rendered.rendered_run import RenderedRun


class Outcome(NamedTuple):
    """The findings of a run, sorted, and its numbers. ``sources`` are the files by their numbers, those of the context included."""

    findings: list[Finding]
    summary: Summary
    sources: tuple[Source, ...] = ()
    gone: int = 0
    """The number of baseline entries that no longer occur."""
    unused_nodes: str | None = None
    """Why nodes among the files cannot be the nodes of one cluster."""
    empty: tuple[FileId, ...] = ()
    """The checked files without any document."""
    undecided: tuple[str, ...] = ()
    """The policies that need nodes, if the run has none."""
    unevaluated: tuple[str, ...] = ()
    """The policies that were not evaluated, one line each."""

    def text(self, file: FileId) -> str | None:
        """Return the current text of a file, in which spans count lines and columns; None if it cannot be read."""
        if not 0 <= file < len(self.sources):
            return None
        try:
            return to_utf8(read_bytes(self.sources[file])).decode("utf-8", "replace")
        except (OSError, UnicodeDecodeError):
            return None


_DEFAULT = Options()


def run(
    sources: Iterable[Source],
    settings: MapSettings,
    options: Options = _DEFAULT,
    context: Iterable[Source] = (),
    node_files: Iterable[Source] = (),
) -> Outcome:
    """Check ``sources``. ``context`` are further files that rules across manifests may use, ``node_files`` contain the nodes.

    The findings in a file depend neither on the names and the order of the files nor on which others are checked. If no node files are
    named, nodes among the files are used if all workloads are in their folder or below. Raises NodeFileError.
    """
    return outcome(reduce_run(Files(sources, context, node_files), settings, options), options)


def reduce_run(files: Files, settings: MapSettings, options: Options = _DEFAULT) -> ReducedRun:
    """Map and reduce the files of a run, or return the cached result of the same run. Raises NodeFileError."""
    if _may_be_cached(files, settings, options):
        from afflint.pipeline.run_cache import reduced_or_cached

        return reduced_or_cached(files, settings, options, _map_and_reduce)
    return _map_and_reduce(files, settings, options, files.kustomizations())


def _map_and_reduce(files: Files, settings: MapSettings, options: Options, kustomizations: Kustomizations) -> ReducedRun:
    named = named_nodes(files, resources=settings.has_outcomes)
    # Definitions: they decide how every file is checked.
    reader = options.reader or DefinitionReader()
    settings = with_definitions(files, settings, reader, options.definitions)
    # Map: each file once, without looking at others.
    reading = _recent_documents() if _has_cluster_policies(settings) else read
    results = _mapped(files, files.checked, settings, options, reader, reading)
    context = _mapped(files, files.context, settings._replace(rules=()), options, reader)
    node_files = [file for file in files.nodes if file not in results and file not in context]
    mapped = {**_mapped(files, node_files, settings._replace(rules=()), options, reader), **context, **results}
    reader.texts.clear()  # What remains are files that other processes have mapped.
    reduced = _reduced(files, Mapped(results, context, mapped, named), settings, options, kustomizations)
    reduced = _with_kustomizations(_with_cluster_policies(reduced, reading))
    return reduced if options.renders is not None else _with_chart_values(reduced)


class Mapped(NamedTuple):
    """The results of the map step: of the checked files, the context, and all files of the run. ``named``: the nodes of node files."""

    results: dict[FileId, FileResult]
    context: dict[FileId, FileResult]
    every: dict[FileId, FileResult]
    named: list[NodeFact]

    @property
    def of_manifests(self) -> dict[FileId, FileResult]:
        """The results of the checked files and the context."""
        return {**self.context, **self.results}


def _reduced(files: Files, mapping: Mapped, settings: MapSettings, options: Options, kustomizations: Kustomizations) -> ReducedRun:
    """Return what the files contain together."""
    results, mapped, of_manifests = mapping.results, mapping.every, mapping.of_manifests
    # Locate: facts are about files of this run and what kustomizations do with them.
    inventory = inventory_of(files, mapped, settings, mapping.named)
    if (inventory.nodes or inventory.clusters) and settings.has_outcomes:
        of_manifests = with_limit_ranges(files, of_manifests, of_manifests, kustomizations)
    facts = {file: located_facts(files, file, of_manifests[file], kustomizations, placed=bool(inventory)) for file in sorted(of_manifests)}
    # Reduce: rules across manifests.
    mutating = tuple([policy for each in facts.values() for policy in each.mutating])
    reduction = reduction_of(files, settings, mutating)
    manifest_index = reduction.manifest_index(facts.values(), inventory.nodes, inventory.pools)
    # Node files are not checked, but findings about nodes are in them, and suppressions there apply.
    reported = {**results, **{file: FileResult(suppressions=mapped[file].suppressions) for file in files.nodes if file not in results}}
    across: dict[FileId, list[Found]] = {}
    if manifest_index is not None:
        clusters = clusters_of(files, facts, manifest_index, reduction, kustomizations, options.renders, inventory)
        for file, found in reduction.across(manifest_index, reported.__contains__, inventory.nodes, inventory.pools, clusters):
            across.setdefault(file, []).append(found)
    return ReducedRun(
        files,
        reported,
        of_manifests,
        manifest_index,
        inventory.nodes,
        across,
        SuppressionFilter(reduction, options, kustomizations),
        settings,
        inventory.unused_nodes,
        inventory.pools,
        () if inventory.nodes or inventory.clusters else tuple([each.name for each in settings.rules if each.subject == "outcome"]),
        tuple(reduction.unevaluated),
        mutating=mutating,
        clusters=tuple([(relative("/".join(each.folder)), len(each.nodes)) for each in inventory.clusters]),
    )


def _mapped(
    files: Files, numbers: Collection[FileId], settings: MapSettings, options: Options, reader: DefinitionReader, reading: Reading = read
) -> dict[FileId, FileResult]:
    """Return the results of the map step over some files."""
    sources = files.of(numbers).values()
    if options.mapper is not None:
        return dict(zip(numbers, options.mapper(sources, settings), strict=True))
    results = map_files(sources, settings, options.workers, options.progress, options.cache, options.contents, reader.texts, reading)
    return dict(zip(numbers, results, strict=True))


def _with_kustomizations(reduced: ReducedRun) -> ReducedRun:
    """Return the same with what rules about kustomizations find in those among the checked files."""
    files, rules = reduced.files, [each for each in reduced.settings.rules if each.subject == "kustomization"]
    kustomizations = [file for file in files.checked if rules and may_patch(files.sources[file], reduced.all_results.get(file))]
    if not kustomizations:
        return reduced
    from afflint.pipeline.kustomization_checks import found_in_kustomizations

    across = {file: [*found] for file, found in reduced.across.items()}
    for file, found in found_in_kustomizations(rules, files, kustomizations, reduced.all_results):
        across.setdefault(file, []).append(found)
    return reduced._replace(across=across)


def _with_chart_values(reduced: ReducedRun) -> ReducedRun:
    """Return the same with what rules find in the values that charts of the repository get."""
    files, rules = reduced.files, [each for each in reduced.settings.rules if each.subject == "chart values"]
    checked = [files.sources[file] for file in files.checked]
    if not rules or not any(map(_is_of_chart, checked)):
        return reduced
    from afflint.pipeline.chart_values import found_in_values

    declaring = [files.sources[file].path for file, result in reduced.all_results.items() if result.sources]
    across = {file: [*found] for file, found in reduced.across.items()}
    numbers = {files.sources[file].path: file for file in files.checked}
    found_in = [*found_in_values(rules, checked, declaring)]
    if any(path not in numbers for path, _ in found_in):  # An object may be in a file that a link leads to.
        numbers.update({os.path.realpath(path): file for path, file in numbers.items()})
    for path, found in found_in:
        file = numbers.get(path, numbers.get(os.path.realpath(path)))
        if file is not None and not any(_says_more(each, found) for each in reduced.results[file].found):
            across.setdefault(file, []).append(found)
    return reduced._replace(across=across)


def _says_more(known: Found, found: Found) -> bool:
    """Return whether a finding at the same place says the same or why a chart does not read a value, which may be misspelt."""
    return known.rule in ("unknown-field", found.rule) and (known.document, known.span) == (found.document, found.span)


def _is_of_chart(source: Source) -> bool:
    """Return whether a file is in the folder of a chart."""
    return source.values or os.path.basename(source.path) == CHART


def _has_cluster_policies(settings: MapSettings) -> bool:
    return any(each.subject == "admission" for each in settings.rules)


def _recent_documents() -> Reading:
    from afflint.inventory.source_objects import RecentDocuments

    return RecentDocuments().read


def _with_cluster_policies(reduced: ReducedRun, reading: Reading) -> ReducedRun:
    """Return the same with the results of the cluster's own policies, if there are any; ``reading`` parses documents."""
    if not _has_cluster_policies(reduced.settings):
        return reduced
    from afflint.checks.policies.cluster_policies import admitted

    files, kustomizations = reduced.files, reduced.suppression_filter.kustomizations
    checked = [file for file in reduced.results if file in reduced.all_results]
    sources = {file: files.sources[file] for file in reduced.all_results}
    readable = dict.fromkeys(file for file, result in reduced.all_results.items() if result.readable)
    is_complete = reduced.settings.target.complete
    admission = admitted(
        reduced.settings.rules, sources, readable, checked, kustomizations.is_patch, is_complete=is_complete, reading=reading
    )
    across = {file: [*found] for file, found in reduced.across.items()}
    for file, found in admission.found:
        across.setdefault(file, []).append(found)
    return reduced._replace(across=across, unevaluated=(*reduced.unevaluated, *admission.unevaluated), faults=tuple(admission.faults))


def outcome(reduced: ReducedRun, options: Options = _DEFAULT) -> Outcome:
    """Return the findings of a run that nothing silences, sorted, and its numbers."""
    files, results = reduced.files, reduced.results
    findings, suppressed = _suppressed(reduced)
    sources, checked = files.sources, [files.sources[file].name for file in results]
    if options.renders is not None:
        probed = options.renders.probed(reduced.settings.rules, reduced.settings.target)
        probed += _found_beside_output(reduced, options.renders)
        check = partial(_checked_alone, settings=reduced.settings)
        of_presets = options.renders.of_presets(check)
        unsilenced = reduced.suppression_filter.remaining_in_source
        findings, silenced, sources = options.renders.placed(findings, sources, unsilenced, probed, of_presets, check)
        suppressed += silenced
        checked += [source.name for source in options.renders.covered]
    findings = sorted([*findings, *reduced.faults], key=sort_key)
    gone = 0
    if options.baseline is not None:
        from afflint.pipeline.baseline import apply

        findings, silenced, entries = apply(findings, options.baseline, checked)
        suppressed, gone = suppressed + silenced, len(entries)
    overlooked = tuple(sorted(sources[file].name for file, result in results.items() if result.overlooked))
    summary = summary_of(results.values(), findings, suppressed)._replace(overlooked=overlooked, clusters=reduced.clusters)
    if options.renders is not None:
        summary = summary._replace(renders=options.renders.count(), coverage=options.renders.coverage())
    else:
        summary = summary._replace(coverage=coverage_of((sources[file].name, result) for file, result in results.items()))
    empty = tuple([file for file in files.checked if is_empty(results[file])])
    unevaluated = tuple(_unevaluated_policies(reduced))
    return Outcome(findings, summary, sources, gone, reduced.unused_nodes, empty, reduced.undecided, unevaluated)


def _found_beside_output(reduced: ReducedRun, renders: RenderedRun) -> list[PlacedFinding]:
    """Return what rules find in files that are otherwise checked only as part of what is rendered from them."""
    from afflint.pipeline.covered_files import found_beside_output

    checked = [reduced.files.sources[file] for file in reduced.files.checked]
    return [*found_beside_output(reduced.settings.rules, checked, renders.covered, renders.charts)]


_OF_ONE_CHART = frozenset(("manifest", "workload", "constrained", "mismatched", "operated", "resource", "cross-manifest"))
"""The subjects of rules that need no more than the output of one chart."""


def _checked_alone(source: Source, settings: MapSettings) -> list[Finding]:
    """Return the findings in a file as if it were the only one of the run."""
    rules = tuple([each for each in settings.rules if each.subject in _OF_ONE_CHART])
    return run([source], settings._replace(rules=rules, auto_nodes=False, policies=())).findings


def _suppressed(reduced: ReducedRun) -> tuple[list[Finding], int]:
    """Return the findings that no suppression silences, and the number of the others."""
    remaining: list[Finding] = []
    suppressed = 0
    for file, result in reduced.results.items():
        findings, count = reduced.suppression_filter.remaining(file, reduced.files.sources[file], result, reduced.across.get(file, ()))
        remaining += findings
        suppressed += count
    return remaining, suppressed


def _unevaluated_policies(reduced: ReducedRun) -> Iterable[str]:
    if not reduced.unevaluated:
        return ()
    from afflint.checks.policies.evaluation import policy_findings

    return policy_findings(reduced.unevaluated, reduced.files.names)


def _may_be_cached(files: Files, settings: MapSettings, options: Options) -> bool:
    """Return whether the result of a run depends only on its files, and may be taken from the cache."""
    if options.cache is None or not is_worth_cache(files.sources):
        return False
    if any(each is not None for each in (options.mapper, options.definitions, options.renders)):
        return False
    if any(map(_is_of_chart, files.sources)):  # The templates of charts are not files of the run.
        return False
    # The manifests of the cluster's policies need not be files of the run.
    return all(each.subject != "admission" for each in settings.rules)
