"""Builds of all render roots of one run: their output or failure, and the files that they were built from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from afflint.config import RENDERERS
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.manifests.workload_sources import may_declare
from afflint.rendering.application_sets import ArgoClusters
from afflint.rendering.boundary import Boundary
from afflint.rendering.chart_archives import ChartCache
from afflint.rendering.chart_downloads import ChartDownloads
from afflint.rendering.chart_trials import ChartTrials
from afflint.rendering.config_maps import ConfigMaps
from afflint.rendering.flux_objects import resolve
from afflint.rendering.flux_sources import FluxSources
from afflint.rendering.flux_variables import substitute
from afflint.rendering.git_downloads import GitFolder, is_own
from afflint.rendering.gitops import hints, hints_in_output, set_namespace
from afflint.rendering.helm import RELEASE, Chart, ChartRendering, Charts, MissingDependency, file_in
from afflint.rendering.helm_origins import ChartDefaults, ChartSourceMap, DownloadedSourceMap
from afflint.rendering.helmfiles import add_helmfiles
from afflint.rendering.hints import Hint, Hints, RemoteObject, UnsupportedObject
from afflint.rendering.kustomize_builds import KustomizeBuilder, PostRenderedSourceMap, post_render
from afflint.rendering.kustomize_chart_origins import ChartOutput
from afflint.rendering.kustomize_origins import SourceMap
from afflint.rendering.line_marks import templates_of
from afflint.rendering.programs import ALL_LIMIT, ProgramRunner, RenderError, helm_command, kustomize_command
from afflint.rendering.references import NamedFiles
from afflint.rendering.refused_charts import accepted
from afflint.rendering.roots import Kustomization, RootKustomizations, chart_data, chart_folders, kustomization_folders
from afflint.rendering.source_documents import SourcePlace, SourceTexts, documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, SUFFIXES, VALUES, relative
from afflint.yaml.document import maps_at, text_at


class RootReads(NamedTuple):
    """The files that a root reads, links resolved: single ``files``, and those of ``charts``, which are folders.

    ``folders`` have other files that it may read. ``is_touched``: one of all of these has changed, or may have, because the root is
    declared in the output of such a root.
    """

    files: frozenset[str] = frozenset()
    charts: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    is_touched: bool = True

    def has(self, file: str) -> bool:
        """Return whether the root reads a file for certain."""
        return file in self.files or any(is_inside(file, chart) and _is_of_chart(os.path.relpath(file, chart)) for chart in self.charts)

    def may_have(self, file: str) -> bool:
        """Return whether the root may read a file: one in its folders, those with a kustomization of their own excepted."""
        if self.has(file):
            return True
        here = os.path.dirname(file)
        while here not in self.folders:
            above = os.path.dirname(here)
            if above == here or any(os.path.lexists(os.path.join(here, name)) for name in NAMES):
                return False
            here = above
        return True


def _is_of_chart(path: str) -> bool:
    """Return whether Helm reads the file at a path in a chart: of the YAML files at its top, only those with the names that it knows."""
    folder, name = os.path.split(path)
    return bool(folder) or name in (CHART, VALUES, "requirements.yaml") or not name.lower().endswith(SUFFIXES)


_NOTHING_READ = RootReads()


@dataclass(frozen=True, slots=True)
class Build:
    """A rendered root: ``name`` is its folder in reports, ``root_file`` its kustomization or Chart.yaml, ``covered`` its source files."""

    tool: str
    name: str
    folder: str
    root_file: str
    output: bytes
    covered: frozenset[str]
    source_map: Callable[[], SourceMap]
    """Create the source map. This runs the program again, so it is only called for roots with findings. Raises RenderError."""
    missing_dependencies: tuple[MissingDependency, ...] = ()
    """The dependencies of a chart that could not be found; it was rendered without them."""
    trials: Callable[[], ChartTrials] | None = None
    """Return new renderings of a chart with values of afflint's own, which run the program again; None for a kustomization."""
    chart: Chart | None = None
    """The chart, which may be a copy of one that is not in the repository, and the values that it gets; None for a kustomization."""
    declared_by: str = ""
    """The object of Argo CD or Flux that declares the root, such as ``HelmRelease web``."""
    file: str = ""
    """The file of that object, which may be the output of another root; otherwise ``root_file``."""
    inputs: frozenset[str] = frozenset()
    """The files that the values and variables of that object are written in, which may be the output of other roots."""
    path: str = ""
    """The path of the output: a name in the folder of the root that is not a file."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The URLs, repositories and charts that a kustomization was built without, with the reasons."""
    reads: RootReads = _NOTHING_READ
    """All files that its root reads."""


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """A root that was not rendered, with the reason. ``declared_by``, ``file`` and ``reads`` are as for a build."""

    tool: str
    name: str
    reason: str
    declared_by: str = ""
    file: str = ""
    reads: RootReads = _NOTHING_READ
    retry: Callable[[], Build | None] | None = None
    """Render a chart that refuses its default values with others, which its errors name; None for another root."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for rendering: the tools, whether programs may use the network, how many run at a time, and the Kubernetes version.

    ``offline``: charts that are not in the repository are taken from the cache. ``cache`` is its folder, "" for the cache folder of the
    platform; None to keep nothing. ``changed`` are the files whose effects count, links resolved; None for all. ``only_touched``:
    render only the roots that read one of them, and those that declare other roots.
    """

    tools: tuple[str, ...] = RENDERERS
    network: bool = False
    offline: bool = False
    cache: str | None = None
    jobs: int = 1
    kubernetes_version: str = ""
    changed: frozenset[str] | None = None
    only_touched: bool = False


_NO_HELM = "`helm` is not on PATH"


class Rendered(NamedTuple):
    """The result of rendering all roots: builds, failures, GitOps objects that are not understood, and the runner for source maps."""

    builds: list[Build]
    failures: list[BuildFailure]
    unsupported: Sequence[UnsupportedObject]
    remote: Sequence[RemoteObject]
    values: frozenset[str]
    """The values files that Argo CD and Flux use, even if their chart is not in the repository; links resolved."""
    runner: ProgramRunner
    downloads: ChartDownloads | None
    """The charts that are not in the repository; None if they are not used."""
    untouched: Sequence[RootReads] = ()
    """What the roots read that were not rendered because none of it has changed."""


def render_roots(paths: Iterable[str], wanted: RenderOptions) -> Rendered:
    """Render all roots among some files, and those that rendered objects of Argo CD and Flux name."""
    paths = list(paths)
    boundary, clusters = Boundary(paths), ArgoClusters(paths)
    in_files = hints(paths, boundary, clusters)
    add_helmfiles(in_files, paths, boundary)
    roots = _Roots(paths, wanted, boundary)
    config_maps = ConfigMaps(paths, boundary)
    results: dict[str, Build | BuildFailure] = {}
    before = _RenderRound()
    current = before.following(in_files, [], [], config_maps, roots)
    for _ in range(_MOST_ROUNDS):
        planned = roots.planned(current.hints)
        waiting = {key: root for key, root in planned.items() if key not in results}
        if not waiting and current.keys == before.keys:
            break
        results.update(roots.build(waiting))
        builds = [build for key in planned if isinstance(build := results[key], Build)]
        in_output = [hints_in_output(build.output, build.path, boundary, clusters) for build in builds]
        before, current = current, current.following(in_files, builds, in_output, config_maps, roots)
    of_plan = [*roots.cycles(planned.values()), *(results[key] for key in planned)]
    built, failures = [each for each in of_plan if isinstance(each, Build)], [each for each in of_plan if isinstance(each, BuildFailure)]
    downloads, untouched = roots.downloads, roots.untouched(current.hints)
    return Rendered(built, failures, current.unsupported, current.remote, current.values, roots.runner, downloads, untouched)


_MOST_ROUNDS = 10
"""How often rendered objects may name more roots: an Application of Applications of Applications has three."""


class _RenderRound(NamedTuple):
    """The GitOps objects that count in a round: those in files, or their rendered form where a root renders them; none before the first.

    ``own_keys`` are those of the hints that are not fetched. ``is_fetching``: charts and folders in other places are fetched. This begins
    when the other hints are those of the round before: until then, the objects that name them may still be rendered.
    """

    hints: Sequence[Hint] = ()
    remote: Sequence[RemoteObject] = ()
    unsupported: Sequence[UnsupportedObject] = ()
    values: frozenset[str] = frozenset()
    own_keys: list[str] | None = None
    is_fetching: bool = False

    @property
    def keys(self) -> list[str] | None:
        """The keys of all hints; None before the first round."""
        return None if self.own_keys is None else [each.key for each in self.hints]

    def following(
        self, in_files: Hints, builds: Sequence[Build], in_output: Sequence[Hints], config_maps: ConfigMaps, roots: _Roots
    ) -> _RenderRound:
        """Return the next round, in which the hints in the output of ``builds`` count instead of those in the files of these builds."""
        # A chart that no object declares has its default values, which may leave objects out.
        covered = frozenset(file for build in builds if build.tool == "kustomize" or build.declared_by for file in build.covered)
        by_key = {each.key: each for each in in_files.hints}
        found = [each for each in in_files.hints if each.file not in covered]
        # An object that is rendered unchanged is taken from its file, where its positions are known.
        found += [by_key.get(each.key, each) for rendered in in_output for each in rendered.hints]
        own_keys = [each.key for each in found]
        is_fetching = self.is_fetching or self.own_keys == own_keys
        sources = [each for each in in_files.sources if each.file not in covered]
        known = FluxSources([*sources, *(each for rendered in in_output for each in rendered.sources)])
        written = {_key(each): each.hint for each in in_files.remote}
        remote = [each for each in in_files.remote if each.file not in covered]
        remote += [each._replace(hint=written.get(_key(each), each.hint)) for rendered in in_output for each in rendered.remote]
        remote = [_named(each, known) for each in remote]
        if is_fetching and roots.downloads is not None:
            located = roots.fetched(known, remote)
            found += [each for each in located if isinstance(each, Hint)]
            remote = [each for each in located if isinstance(each, RemoteObject)]
        config_maps.set_rendered([(build.path, build.output) for build in builds], covered)
        declaring = {build.path: build.file for build in builds}
        resolved = [resolve(each, config_maps, list(_folders_of(each.file, declaring))) for each in found]
        unsupported = [each for each in in_files.unsupported if each.file not in covered]
        unsupported += [each for rendered in in_output for each in rendered.unsupported]
        values = frozenset(in_files.values).union(*(each.values for each in in_output))
        return _RenderRound(resolved, remote, unsupported, values, own_keys, is_fetching)


def _named(remote: RemoteObject, sources: FluxSources) -> RemoteObject:
    """Return an object with the name of its chart, if that is only known from the source of the chart."""
    name = "" if remote.chart is None or remote.chart.is_folder else sources.chart_name(remote.chart, remote.file)
    return remote._replace(what=f"chart {name}") if name else remote


def _folders_of(file: str, declaring: Mapping[str, str]) -> Iterator[str]:
    """Yield the folder of an object, then that of the object that renders it, and so on; ``declaring`` are their files."""
    for _ in range(_MOST_ROUNDS):
        yield os.path.dirname(file)
        if file not in declaring:
            return
        file = declaring[file]


def _key(remote: RemoteObject) -> tuple[object, ...]:
    """Return what is equal for objects that render the same, wherever they are declared."""
    return remote.declared_by, remote.chart, remote.hint and remote.hint.key


class _RenderRoot(NamedTuple):
    """A folder that is rendered, and how: its kustomization, or None for a chart."""

    kustomization: Kustomization | None
    hint: Hint
    reads: RootReads = _NOTHING_READ

    @property
    def name(self) -> str:
        """The name of the root in reports."""
        folder, declared_by = relative(self.hint.folder), self.hint.declared_by
        in_folder, file = os.path.split(self.hint.file)
        if self.hint.chart is not None:
            return f"{'folder' if self.hint.folder else 'chart'} {self.hint.chart.shown} ({declared_by} of {relative(in_folder)})"
        if file.startswith("<"):  # The object itself was rendered, which may be so in several folders.
            declared_by += f" of {relative(in_folder)}"
        return f"{folder} ({declared_by})" if declared_by else folder

    @property
    def file(self) -> str:
        """The file of the object that declares the root; otherwise its kustomization or Chart.yaml."""
        own = os.path.join(self.hint.folder, CHART) if self.kustomization is None else self.kustomization.file
        return self.hint.file or own

    def failure(self, reason: str) -> BuildFailure:
        """Return the failure to render the root."""
        tool = "helm" if self.kustomization is None else "kustomize"
        return BuildFailure(tool, self.name, reason, self.hint.declared_by, self.file, self.reads)


class _Roots:
    """The render roots of a run, each rendered once."""

    def __init__(self, paths: Sequence[str], wanted: RenderOptions, boundary: Boundary) -> None:
        self.runner = ProgramRunner(network=False, all_together=ALL_LIMIT, jobs=wanted.jobs, fetching=wanted.network)
        self.downloads: ChartDownloads | None = None
        if wanted.network or wanted.offline:
            cache = None if wanted.cache is None else ChartCache(wanted.cache or None)
            self.downloads = ChartDownloads(self.runner, cache, network=wanted.network)
        self._wanted = wanted
        self._boundary = boundary
        self._root_files: dict[str, str] = {}
        self._declaring_files: dict[str, bool] = {}
        self._touched: set[str] = set()
        """The outputs of roots that read a changed file."""
        self._texts = SourceTexts()
        self._known = RootKustomizations(boundary.top)
        self._named = NamedFiles(self._known)
        self._kustomization_folders = kustomization_folders(paths) if "kustomize" in wanted.tools else []
        self._charts = chart_folders(paths) if "helm" in wanted.tools else []
        charts = [os.path.realpath(os.path.dirname(path) or os.curdir) for path in paths if os.path.basename(path) == CHART]
        self._known_charts = Charts(charts, boundary, self.downloads)
        self._kustomize, self._helm = kustomize_command(), helm_command()
        self._builder = KustomizeBuilder(
            self.runner,
            self._kustomize or (),
            self._known,
            boundary.top,
            self.downloads,
            render_chart=self._chart_of_kustomization,
            copy_chart=self._known_charts.copy_into,
        )

    def _every(self, hinted: Sequence[Hint]) -> dict[str, _RenderRoot]:
        """Return all roots by a key. Argo CD and Flux define how a folder is rendered, so they override the folder itself."""
        hinted_roots: dict[str, _RenderRoot] = {}
        kustomizations: set[str] = set()
        charts: set[str] = set()
        for hint in hinted:
            here = self._kustomization_of(hint) if "kustomize" in self._wanted.tools and hint.folder else None
            if here is not None and not here.is_component:
                hinted_roots.setdefault(f"kustomize {hint.key}", _RenderRoot(here, hint))
                kustomizations |= {here.folder, *(here.named if here.is_generated else ())}
            if "helm" in self._wanted.tools and hint.chart is not None and not hint.folder:
                hinted_roots.setdefault(f"helm {hint.key}", _RenderRoot(None, hint))
            elif "helm" in self._wanted.tools and hint.chart is None and os.path.isfile(os.path.join(hint.folder, CHART)):
                hinted_roots.setdefault(f"helm {hint.key}", _RenderRoot(None, hint))
                charts.add(hint.folder)
        # A chart that another output declares is another build: its values are in that output.
        planned = {key if root.kustomization else f"{key} {root.hint.file}": root for key, root in hinted_roots.items()}
        for each in self._known.roots(self._kustomization_folders):
            if each.folder not in kustomizations:
                planned[f"kustomize {each.folder}"] = _RenderRoot(each, Hint(each.folder, ""))
        planned |= {f"helm {folder}": _RenderRoot(None, Hint(folder, "")) for folder in self._charts if folder not in charts}
        ordered = sorted(planned.items(), key=lambda item: item[1].kustomization is None)
        return {key: root._replace(reads=self._reads(root)) for key, root in ordered}

    def planned(self, hinted: Sequence[Hint]) -> dict[str, _RenderRoot]:
        """Return the roots that are rendered by a key: all, or those that have changed and those that declare others."""
        return {key: root for key, root in self._every(hinted).items() if self._is_wanted(root)}

    def untouched(self, hinted: Sequence[Hint]) -> list[RootReads]:
        """Return what the roots read that are not rendered."""
        if not self._wanted.only_touched:
            return []
        return [root.reads for root in self._every(hinted).values() if not self._is_wanted(root)]

    def _is_wanted(self, root: _RenderRoot) -> bool:
        return not self._wanted.only_touched or root.reads.is_touched or self._declares(root)

    def _reads(self, root: _RenderRoot) -> RootReads:
        """Return what a root reads, and whether that has changed."""
        hint, changed = root.hint, self._wanted.changed
        files = {*hint.values, *hint.inputs, hint.file, *(each.partition("=")[2] for each in hint.options)}
        if root.kustomization is not None:
            covered = self._known.covered(root.kustomization)
            reached = [*self._known.reached(root.kustomization)]
            files |= covered.union(*map(self._named.files_of, reached))
            folders = {os.path.dirname(each) for each in covered if os.path.basename(each) in NAMES}
            charts = set[str]().union(*map(self._named.charts_of, reached))
        else:
            folders = charts = {hint.folder} if hint.chart is None else set()
        charts = {each for chart in charts for each in _with_dependencies(chart)}
        reads = RootReads(frozenset(files), frozenset(charts), frozenset(folders))
        is_touched = changed is None or not self._touched.isdisjoint(files) or any(map(reads.may_have, changed))
        return reads._replace(is_touched=is_touched)

    def _declares(self, root: _RenderRoot) -> bool:
        """Return whether the output of a root may declare other roots: the text of one of its files has such an object."""
        reads = root.reads
        files = {*reads.files, *(os.path.realpath(each) for folder in reads.charts for each in templates_of(folder))}
        return any(self._declaring(file) for file in files)

    def _declaring(self, file: str) -> bool:
        if file not in self._declaring_files:
            data = b""
            with suppress(OSError):
                data = read_regular(file, _LARGEST)
            self._declaring_files[file] = may_declare(data)
        return self._declaring_files[file]

    def _kustomization_of(self, hint: Hint) -> Kustomization | None:
        here = self._known.at(hint.folder)
        return self._known.generate(hint.folder, hint.file) if here is None and hint.is_flux else here

    def fetched(self, sources: FluxSources, remote: Sequence[RemoteObject]) -> list[Hint | RemoteObject]:
        """Return the hints of objects whose charts or folders can be fetched; the others are returned with the reason why not."""
        return self.runner.each(partial(self._fetched, sources), remote)

    def _fetched(self, sources: FluxSources, remote: RemoteObject) -> Hint | RemoteObject:
        if remote.chart is None or remote.hint is None or remote.reason:
            return remote
        try:
            reference = sources.reference(remote.chart, remote.file)
            if isinstance(reference, GitFolder) and is_own(reference, self._boundary.top(os.path.dirname(remote.file))):
                return remote
            hint = replace(remote.hint, chart=reference)
            return self._located(hint, reference) if remote.chart.is_folder and isinstance(reference, GitFolder) else hint
        except RenderError as error:
            return remote._replace(reason=error.reason)

    def _located(self, hint: Hint, reference: GitFolder) -> Hint:
        """Return the hint for a folder of another repository, or for a chart in it. Raises RenderError."""
        if self.downloads is None:
            return hint
        folder = self.downloads.folder_of(reference)
        if not hint.is_flux and os.path.isfile(os.path.join(folder, CHART)):
            return hint
        located = hint.in_folder(folder)
        if self._kustomization_of(located) is None:
            raise RenderError(f"{reference.shown} {'has no manifests' if hint.is_flux else 'is neither a kustomization nor a chart'}")
        return located

    def cycles(self, roots: Iterable[_RenderRoot]) -> list[BuildFailure]:
        """Return a failure for each cycle of kustomizations that include each other."""
        known = [each.kustomization for each in roots if each.kustomization is not None]
        return [_cycle_failure(cycle) for cycle in self._known.cycles(self._kustomization_folders, known)]

    def build(self, roots: Mapping[str, _RenderRoot]) -> dict[str, Build | BuildFailure]:
        """Render some roots."""
        found: dict[str, Build | BuildFailure] = dict(zip(roots, self.runner.each(self._built, roots.values()), strict=True))
        for key, build in found.items():
            if isinstance(build, Build):
                path = os.path.join(build.folder, f"<{build.tool} {len(self._root_files) + 1}>")
                self._root_files[path] = build.root_file
                found[key] = replace(build, path=path)
                if build.reads.is_touched:
                    self._touched.add(path)
        return found

    def _built(self, root: _RenderRoot) -> Build | BuildFailure:
        hint = root.hint
        try:
            build = self._of_chart(hint) if root.kustomization is None else self._of_kustomization(root.kustomization, hint)
            if hint.chart is not None:  # It counts as one of the object that names it.
                root_file = self._root_files.get(root.file, root.file)
                build = replace(build, folder=os.path.dirname(root_file), root_file=root_file, covered=frozenset(), trials=None)
            if root.kustomization is None and hint.wrapper and hint.is_release:
                build = self._post_rendered(build, hint)
        except RenderError as error:
            is_plain_chart = root.kustomization is None and not hint.declared_by and hint.chart is None
            retry = partial(self._retried, hint.folder, error.reason) if is_plain_chart and self._helm is not None else None
            return replace(root.failure(error.reason), retry=retry)
        output = set_namespace(build.output, hint.namespace)
        return replace(
            build, name=root.name, output=output, declared_by=hint.declared_by, file=root.file, inputs=hint.inputs, reads=root.reads
        )

    def _of_kustomization(self, root: Kustomization, hint: Hint) -> Build:
        """Build a kustomization. Raises RenderError."""
        if self._kustomize is None:
            raise RenderError("neither `kustomize` nor `kubectl` is on PATH")
        output, left_out = self._builder.build(root, hint)
        covered = frozenset(self._known.covered(root))
        source_map = partial(self._builder.source_map, root, hint, self._texts)
        filled = substitute(output, hint.variables)
        return Build("kustomize", "", root.folder, root.file, filled, covered, source_map, left_out=left_out)

    def _chart_of_kustomization(self, hint: Hint) -> ChartOutput:
        """Return the output of a chart that a kustomization names, with its source map. Raises RenderError and OSError."""
        chart = Chart(hint.folder, hint.release or RELEASE, hint.namespace, (), hint.inline, (), hint.options)
        build = self._chart_build(chart, hint, "")
        return ChartOutput(build.output, build.source_map)

    def _of_chart(self, hint: Hint) -> Build:
        """Render a chart. Raises RenderError."""
        if self._helm is None:
            raise RenderError(_NO_HELM)  # Before a chart is downloaded for nothing.
        folder = top = hint.folder
        try:
            if hint.chart is not None and self.downloads is not None:
                folder, top = self.downloads.unpacked(hint.chart), self.downloads.top(hint.chart)
            values = (*(each for name in hint.files_in_chart if (each := file_in(top, name)) is not None), *hint.values)
            chart = Chart(folder, hint.release or RELEASE, hint.namespace, values, hint.inline, hint.settings, hint.options)
            build = self._chart_build(chart, hint, self._wanted.kubernetes_version)
        except OSError as error:
            raise RenderError(f"the chart cannot be copied: {error.strerror or error}") from None
        if build.missing_dependencies and not documents_of(build.output):
            names = join_words(dict.fromkeys(quoted(each.name) for each in build.missing_dependencies))
            reasons = dict.fromkeys(each.reason for each in build.missing_dependencies if each.reason != MissingDependency("").reason)
            reason = "".join(f"; {each}" for each in reasons)
            raise RenderError(f"it only contains charts that are not in the repository: {names}{reason}")
        return build

    def _post_rendered(self, build: Build, hint: Hint) -> Build:
        """Return the build of a chart with the changes that a HelmRelease makes to its output. Raises RenderError."""
        program = self._kustomize
        if program is None:
            raise RenderError("neither `kustomize` nor `kubectl` is on PATH, which its `postRenderers` need")
        output = post_render(self.runner, program, build.output, hint.wrapper)

        def source_map() -> SourceMap:
            return PostRenderedSourceMap(self.runner, program, build.output, hint.wrapper, hint.patches, build.source_map)

        return replace(build, output=output, source_map=source_map)

    def _chart_build(self, chart: Chart, hint: Hint, version: str) -> Build:
        """Render a chart for a Kubernetes version, "" for the default of Helm. Raises RenderError and OSError."""
        known, texts = self._known_charts, self._texts
        if self._helm is None:
            raise RenderError(_NO_HELM)
        known.reject_links(chart.folder)
        copy = known.copied(chart.folder)
        output, rendering = ChartRendering(self.runner, self._helm, known, chart, version).first(copy.folder)
        covered = frozenset((chart.root_file, *map(os.path.realpath, templates_of(chart.folder))))

        def source_map() -> SourceMap:
            inner = ChartSourceMap(output, rendering, texts)
            if known.downloads is None:
                return inner
            elsewhere = SourcePlace(chart.root_file, 0, Span(1, 1, 1, 1), "root") if hint.chart is None else hint.named_at
            defaults = None if hint.chart is None else ChartDefaults(partial(rendering.with_defaults().render, copy.folder))
            return DownloadedSourceMap(inner, known.downloads.folder, elsewhere, defaults)

        trials = partial(ChartTrials, rendering, output, texts)
        return Build("helm", "", chart.folder, chart.root_file, output, covered, source_map, copy.missing_dependencies, trials, chart)

    def _retried(self, folder: str, reason: str) -> Build | None:
        """Return the build of a chart with values, or for a version, that it accepts, other than the given ones; None without such."""
        known, chart = self._known_charts, Chart(folder)
        try:
            known.reject_links(folder)
            found = accepted(ChartRendering(self.runner, self._helm or (), known, chart, self._wanted.kubernetes_version), reason)
        except RenderError:
            return None
        if found is None:
            return None
        source_map = partial(ChartSourceMap, found.output, found.rendering, self._texts)
        trials = partial(ChartTrials, found.rendering, found.output, self._texts, found.condition)
        return Build("helm", relative(folder), folder, chart.root_file, found.output, frozenset(), source_map, trials=trials)


def _cycle_failure(cycle: Sequence[Kustomization]) -> BuildFailure:
    names = [relative(each.folder) for each in cycle]
    shown = names if len(names) <= _MAX_SHOWN_OF_CYCLE else [*names[:_MAX_SHOWN_OF_CYCLE], "…"]
    return BuildFailure("kustomize", names[0], f"includes itself: {' -> '.join([*shown, names[0]])}", file=cycle[0].file)


_MAX_SHOWN_OF_CYCLE = 5
_LARGEST = 1 << 20


def _with_dependencies(chart: str) -> set[str]:
    """Return the folders of a chart and of the charts that it depends on by paths."""
    found, waiting = set[str](), [chart]
    while waiting and len(found) < _MOST_DEPENDENCIES:
        here = waiting.pop()
        found.add(here)
        addresses = [text_at(each, "repository") for each in maps_at(chart_data(here), "dependencies")]
        folders = [os.path.realpath(os.path.join(here, each.removeprefix("file://"))) for each in addresses if each.startswith("file://")]
        waiting += [each for each in folders if each not in found]
    return found


_MOST_DEPENDENCIES = 100
