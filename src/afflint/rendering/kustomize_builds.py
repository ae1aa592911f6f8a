"""Builds of kustomizations: with the files and charts of the repository, and without what only the network has."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.programs.helm import isolated_command
from afflint.rendering.chart_downloads import ChartDownloads
from afflint.rendering.downloaded_origins import ChartDefaults
from afflint.rendering.flux_variables import Variables
from afflint.rendering.hints import Hint
from afflint.rendering.kustomize import UNRESTRICTED, build_annotated, build_kustomization
from afflint.rendering.kustomize_chart_origins import ChartOutput, KustomizeChartMap
from afflint.rendering.kustomize_inputs import KustomizeInputs
from afflint.rendering.kustomize_origins import OBJECT, Origins, RenderedIdentity
from afflint.rendering.programs import ProgramRunner, RenderError, helm_command, network_reason
from afflint.rendering.references import build_inputs
from afflint.rendering.render_trees import BuildTree, CopyChart, RenderTrees
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import SourcePlace, SourceTexts, only_or_with
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.source.temporary_folders import temporary_folder


class KustomizeOutput(NamedTuple):
    """The output of a build, and the URLs, repositories and charts that it was built without, with the reasons."""

    output: bytes
    left_out: Mapping[str, str]


class _Prepared(NamedTuple):
    """A build that is ready to run: the program with its options, the folder, the fields of a wrapper, and the tree with the folder.

    ``trees`` must exist as long as the build is not finished.
    """

    program: Sequence[str]
    folder: str
    wrapper: Mapping[str, Any]
    tree: BuildTree
    trees: RenderTrees

    def run(self, build: Callable[[], bytes]) -> bytes:
        """Run the build. Raises RenderError, in whose messages files have their original paths."""
        try:
            return build()
        except RenderError as error:
            raise RenderError(self.tree.shown(str(error)), self.tree.shown(error.reason), needs_network=error.needs_network) from None


class KustomizeBuilder:
    """Builds the kustomizations of a run.

    ``program`` is the command without options, ``top_of`` returns the top of the repository of a folder. ``downloads`` has the charts and
    bases in other places, if they are used; otherwise builds do without them. ``render_chart`` renders a chart of a kustomization,
    ``copy_chart`` copies one for a build.
    """

    def __init__(
        self,
        runner: ProgramRunner,
        program: Sequence[str],
        known: RootKustomizations,
        top_of: Callable[[str], str],
        downloads: ChartDownloads | None = None,
        *,
        render_chart: Callable[[Hint], ChartOutput],
        copy_chart: CopyChart,
    ) -> None:
        self._render_chart = render_chart
        self._copy_chart = copy_chart
        self._runner = runner
        self._program = program
        self._known = known
        self._top_of = top_of
        self._downloads = downloads
        self._trees = RenderTrees(copy_chart)

    def build(self, root: Kustomization, hint: Hint) -> KustomizeOutput:
        """Build a kustomization. Raises RenderError."""
        inputs = self._inputs(root, hint)
        prepared = self._prepared(root, hint, inputs, self._trees)
        try:
            output = prepared.run(lambda: build_kustomization(self._runner, prepared.program, prepared.folder, prepared.wrapper))
        except RenderError as error:
            raise inputs.failure or error from None
        if inputs.failure is not None and not output.strip():
            raise inputs.failure
        return KustomizeOutput(output, inputs.left_out)

    def source_map(self, root: Kustomization, hint: Hint, texts: SourceTexts) -> KustomizeSourceMap:
        """Return the source map of a kustomization, from the annotations of a second build. Raises RenderError."""
        metadata = root.data.get("buildMetadata")
        inputs = self._inputs(root, hint)
        prepared = self._prepared(root, hint, inputs, self._trees)
        listed = metadata if type(metadata) is list else ()
        with temporary_folder() as wrapper:
            output = prepared.run(
                lambda: build_annotated(self._runner, prepared.program, prepared.folder, wrapper, listed, prepared.wrapper)
            )
            origins = Origins(output, wrapper, root.file, texts, prepared.tree.original, hint.variables.fill, hint.patches)
        downloads = "" if self._downloads is None else self._downloads.folder
        chart_map = KustomizeChartMap(self._render_chart, texts, inputs.charts, downloads, self._top_of(root.folder))
        defaults = partial(self._defaults, root, hint, inputs) if inputs.charts else None
        return KustomizeSourceMap(origins, chart_map, hint.variables, defaults, partial(self._reported, hint, inputs, texts))

    def _reported(self, hint: Hint, inputs: KustomizeInputs, texts: SourceTexts, place: SourcePlace) -> SourcePlace:
        """Return the place that is reported for one in a fetched base, or in a folder that an object names."""
        place = inputs.elsewhere(place, texts)
        is_fetched = self._downloads is not None and is_inside(place.file, self._downloads.folder)
        return hint.named_at if is_fetched and hint.chart is not None else place

    def _defaults(self, root: Kustomization, hint: Hint, inputs: KustomizeInputs) -> bytes:
        """Build a kustomization without values for downloaded charts. Raises RenderError."""
        prepared = self._prepared(root, hint, inputs, RenderTrees(self._copy_chart, by_default=True))
        return prepared.run(lambda: build_kustomization(self._runner, prepared.program, prepared.folder, prepared.wrapper))

    def _inputs(self, root: Kustomization, hint: Hint) -> KustomizeInputs:
        return KustomizeInputs(self._known, _folders(root, hint), self._top_of, self._downloads)

    def _prepared(self, root: Kustomization, hint: Hint, inputs: KustomizeInputs, trees: RenderTrees) -> _Prepared:
        """Write what a build reads. Raises RenderError."""
        own = _folders(root, hint)
        tree = trees.add(inputs)
        folders = [tree.of(each) for each in own]
        if inputs.has_remote:
            remaining = build_inputs(RootKustomizations(lambda _: trees.folder), folders, lambda _: trees.folder).remote
            for found in remaining.values():
                raise self._not_fetched(found[0])
        wrapper = {**hint.wrapper, "components": folders[1:]} if folders[1:] else hint.wrapper
        return _Prepared([*self._program, *_options(inputs)], folders[0], wrapper, tree, trees)

    def _not_fetched(self, what: str) -> RenderError:
        """Return the reason not to build a kustomization that names something in another place where it cannot be left out."""
        if self._downloads is None:
            return RenderError(network_reason(what), needs_network=True)
        return RenderError(f"afflint does not fetch {what}, which is not a base")


def _options(inputs: KustomizeInputs) -> Sequence[str]:
    """Return the options for a build. It may leave a folder if a kustomization does, and nothing is loaded that only the build knows."""
    if not inputs.is_predictable:
        return ()
    restriction = UNRESTRICTED if inputs.leaves_folders else ()
    if restriction and inputs.absolute:
        # `/proc/self/cwd/..` leads elsewhere in each process.
        raise RenderError(f"{quoted(inputs.absolute[0])} is an absolute path, and other files are above the folder of their kustomization")
    if not inputs.has_charts:
        return restriction
    helm = helm_command()
    if helm is None:
        raise RenderError("`helm` is not on PATH, which renders the charts of the kustomization")
    try:
        return [*restriction, "--enable-helm", "--helm-command", isolated_command(helm[0])]
    except OSError as error:
        raise RenderError(f"helm cannot be prepared: {error.strerror}") from None


def _folders(root: Kustomization, hint: Hint) -> list[str]:
    return [root.folder, *hint.wrapper.get("components", ())]


class KustomizeSourceMap:
    """The source map of a kustomization, in whose output Flux replaces variables.

    ``rendered_by_default`` renders it without values for downloaded charts, if it has some. ``elsewhere`` returns the reported place for
    one in a fetched base, and other places as they are.
    """

    def __init__(
        self,
        origins: Origins,
        charts: KustomizeChartMap,
        variables: Variables,
        rendered_by_default: Callable[[], bytes] | None,
        elsewhere: Callable[[SourcePlace], SourcePlace],
    ) -> None:
        self._elsewhere = elsewhere
        self._origins = origins
        self._charts = charts
        self._variables = variables
        self._defaults = None if rendered_by_default is None else ChartDefaults(rendered_by_default)

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        """Return the source position of a rendered value, or of its key, and that of the variable that it contains."""
        place, *others = self._in_chart(identity, path, key=key) or (self._origins.place(identity, path, key=key),)
        is_named = os.path.basename(self._origins.chart_file(identity)) in NAMES  # The values of a generator are not left out.
        if self._defaults is not None and place.kind == OBJECT and is_named:
            place = self._defaults.marked(place, identity, path, self._origins.data(identity))
        place, *others = map(self._elsewhere, (place, *others))
        used = self._variables.used_in(self._origins.text_before(identity, path, key=key))
        variable = None if used is None else used[0].place()
        if used is None or variable is None:
            return (place, *others)
        return only_or_with(place, is_only=used[1]), variable, *others

    def _in_chart(self, identity: RenderedIdentity, path: Path, *, key: bool) -> tuple[SourcePlace, ...]:
        """Return the sources of a value that a chart of a kustomization rendered; empty if a transformer sets it."""
        file = self._origins.chart_file(identity)
        if not file or self._origins.place(identity, path, key=key).kind != OBJECT:
            return ()
        return self._charts.places(file, identity, self._origins.data(identity), self._origins.path(identity, path), key=key)

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity of a rendered object in its source; None if it is unknown."""
        return self._origins.source_identity(identity)
