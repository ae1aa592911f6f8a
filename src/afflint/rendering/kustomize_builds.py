"""Builds of kustomizations: with the files and charts of the repository, and without what only the network has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.programs.helm import isolated_command
from afflint.rendering.chart_downloads import ChartDownloads
from afflint.rendering.flux_variables import Variables
from afflint.rendering.helm_origins import ChartDefaults
from afflint.rendering.hints import Hint
from afflint.rendering.kustomize_chart_origins import ChartOutput, KustomizeChartMap
from afflint.rendering.kustomize_inputs import KustomizeInputs
from afflint.rendering.kustomize_origins import OBJECT, WRAPPER, InlinePatches, Origins, RenderedIdentity, SourceMap
from afflint.rendering.programs import ProgramRunner, RenderError, helm_command, network_reason
from afflint.rendering.references import build_inputs
from afflint.rendering.render_trees import BuildTree, CopyChart, RenderTrees
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import SourcePlace, SourceTexts, only_or_with
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.cursor import cursor_at
from afflint.yaml.json_text import json_text


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


@dataclass(slots=True)
class KustomizeBuilder:
    """Builds the kustomizations of a run.

    ``program`` is the command without options, ``top_of`` returns the top of the repository of a folder. ``downloads`` has the charts and
    bases in other places, if they are used; otherwise builds do without them. ``render_chart`` renders a chart of a kustomization,
    ``copy_chart`` copies one for a build.
    """

    runner: ProgramRunner
    program: Sequence[str]
    known: RootKustomizations
    top_of: Callable[[str], str]
    downloads: ChartDownloads | None
    render_chart: Callable[[Hint], ChartOutput]
    copy_chart: CopyChart
    trees: RenderTrees = field(init=False)

    def __post_init__(self) -> None:
        """Create the folder of the trees."""
        self.trees = RenderTrees(self.copy_chart)

    def build(self, root: Kustomization, hint: Hint) -> KustomizeOutput:
        """Build a kustomization. Raises RenderError."""
        inputs = self._inputs(root, hint)
        prepared = self._prepared(root, hint, inputs, self.trees)
        try:
            output = prepared.run(lambda: build_kustomization(self.runner, prepared.program, prepared.folder, prepared.wrapper))
        except RenderError as error:
            raise inputs.failure or error from None
        if inputs.failure is not None and not output.strip():
            raise inputs.failure
        return KustomizeOutput(output, inputs.left_out)

    def source_map(self, root: Kustomization, hint: Hint, texts: SourceTexts) -> KustomizeSourceMap:
        """Return the source map of a kustomization, from the annotations of a second build. Raises RenderError."""
        metadata = root.data.get("buildMetadata")
        inputs = self._inputs(root, hint)
        prepared = self._prepared(root, hint, inputs, self.trees)
        listed = metadata if type(metadata) is list else ()
        with temporary_folder() as wrapper:
            output = prepared.run(
                lambda: build_annotated(self.runner, prepared.program, prepared.folder, wrapper, listed, prepared.wrapper)
            )
            origins = Origins(output, wrapper, root.file, texts, prepared.tree.original, hint.variables.fill, hint.patches)
        downloads = "" if self.downloads is None else self.downloads.folder
        chart_map = KustomizeChartMap(self.render_chart, texts, inputs.charts, downloads, self.top_of(root.folder))
        defaults = ChartDefaults(partial(self._defaults, root, hint, inputs)) if inputs.charts else None
        return KustomizeSourceMap(origins, chart_map, hint.variables, defaults, partial(self._reported, hint, inputs, texts))

    def _reported(self, hint: Hint, inputs: KustomizeInputs, texts: SourceTexts, place: SourcePlace) -> SourcePlace:
        """Return the place that is reported for one in a fetched base, or in a folder that an object names."""
        place = inputs.elsewhere(place, texts)
        is_fetched = self.downloads is not None and is_inside(place.file, self.downloads.folder)
        return hint.named_at if is_fetched and hint.chart is not None else place

    def _defaults(self, root: Kustomization, hint: Hint, inputs: KustomizeInputs) -> bytes:
        """Build a kustomization without values for downloaded charts. Raises RenderError."""
        prepared = self._prepared(root, hint, inputs, RenderTrees(self.copy_chart, by_default=True))
        return prepared.run(lambda: build_kustomization(self.runner, prepared.program, prepared.folder, prepared.wrapper))

    def _inputs(self, root: Kustomization, hint: Hint) -> KustomizeInputs:
        return KustomizeInputs(self.known, _folders(root, hint), self.top_of, self.downloads)

    def _prepared(self, root: Kustomization, hint: Hint, inputs: KustomizeInputs, trees: RenderTrees) -> _Prepared:
        """Write what a build reads. Raises RenderError."""
        own = _folders(root, hint)
        tree = trees.add(inputs)
        folders = [tree.of(each) for each in own]
        if inputs.reads.remote:
            remaining = build_inputs(RootKustomizations(lambda _: trees.folder), folders, lambda _: trees.folder).remote
            names = sorted({each for found in remaining.values() for each in found})
            if names and self.downloads is None:  # It names something in another place where it cannot be left out.
                raise RenderError(network_reason(names), needs_network=True)
            if names:
                raise RenderError(f"afflint does not fetch {names[0]}, which is not a base")
        wrapper = {**hint.wrapper, "components": folders[1:]} if folders[1:] else hint.wrapper
        return _Prepared([*self.program, *_options(inputs)], folders[0], wrapper, tree, trees)


def _options(inputs: KustomizeInputs) -> Sequence[str]:
    """Return the options for a build. It may leave a folder if a kustomization does, and nothing is loaded that only the build knows."""
    if not inputs.reads.is_predictable:
        return ()
    restriction = UNRESTRICTED if inputs.reads.leaves_folders else ()
    absolute = next((path for loads in inputs.reads.loads for path in loads.absolute), "") if restriction else ""
    if absolute:
        # `/proc/self/cwd/..` leads elsewhere in each process.
        raise RenderError(f"{quoted(absolute)} is an absolute path, and other files are above the folder of their kustomization")
    if not inputs.reads.has_charts:
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


@dataclass(frozen=True, slots=True)
class KustomizeSourceMap(SourceMap):
    """The source map of a kustomization, in whose output Flux replaces variables.

    ``defaults`` are what it renders without values for downloaded charts, if it has some. ``elsewhere`` returns the reported place for
    one in a fetched base, and other places as they are.
    """

    origins: Origins
    charts: KustomizeChartMap
    variables: Variables
    defaults: ChartDefaults | None
    elsewhere: Callable[[SourcePlace], SourcePlace]

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        """Return the source position of a rendered value, or of its key, and that of the variable that it contains."""
        place, *others = self._in_chart(identity, path, key=key) or (self.origins.place(identity, path, key=key),)
        is_named = os.path.basename(self.origins.chart_file(identity)) in NAMES  # The values of a generator are not left out.
        if self.defaults is not None and place.kind == OBJECT and is_named:
            place = self.defaults.marked(place, identity, path, self.origins.data(identity))
        place, *others = map(self.elsewhere, (place, *others))
        used = self.variables.used_in(self.origins.text_before(identity, path, key=key))
        variable = None if used is None else used[0].place()
        if used is None or variable is None:
            return (place, *others)
        return only_or_with(place, is_only=used[1]), variable, *others

    def _in_chart(self, identity: RenderedIdentity, path: Path, *, key: bool) -> tuple[SourcePlace, ...]:
        """Return the sources of a value that a chart of a kustomization rendered; empty if a transformer sets it."""
        file = self.origins.chart_file(identity)
        if not file or self.origins.place(identity, path, key=key).kind != OBJECT:
            return ()
        return self.charts.places(file, identity, self.origins.data(identity), self.origins.path(identity, path), key=key)

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity of a rendered object in its source; None if it is unknown."""
        return self.origins.source_identity(identity)


_OUTPUT = "output.yaml"


def post_render(runner: ProgramRunner, program: Sequence[str], output: bytes, changes: Mapping[str, Any]) -> bytes:
    """Return the output of a chart with changes, which are fields of a kustomization. Raises RenderError."""
    with temporary_folder() as folder:
        return build_kustomization(runner, program, _write(folder, output), changes)


class PostRenderedSourceMap(SourceMap):
    """The source map of a chart whose output is changed: the patch that sets a value, or else the source in the chart.

    ``output`` is that of the chart, ``chart_map`` returns its source map. Raises RenderError.
    """

    def __init__(
        self,
        runner: ProgramRunner,
        program: Sequence[str],
        output: bytes,
        changes: Mapping[str, Any],
        patches: InlinePatches | None,
        chart_map: Callable[[], SourceMap],
    ) -> None:
        self._texts = SourceTexts()
        with temporary_folder() as folder, temporary_folder() as wrapper:
            top, around = folder, wrapper
            annotated = build_annotated(runner, program, _write(top, output), around, (), changes)
            self._file = os.path.join(top, _OUTPUT)
            self._texts.of(self._file)  # It is read while it exists.
            self._origins = Origins(annotated, around, self._file, self._texts, wrapping=patches)
        self._chart = chart_map()

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        """Return the source position of a rendered value, or of its key, followed by related positions."""
        place = self._origins.place(identity, path, key=key)
        text = next((each for each in self._texts.of(self._file) if each.index == place.document), None)
        if place.file != self._file or text is None:
            return (place,)
        at = cursor_at(text.document, place.span.line, place.span.column)
        return self._chart.place(place.document, identity, at.path, key=at.on_key)

    def lacks(self, file: str, line: int) -> bool:
        """Return whether a line of a template is certainly not in the output of the chart."""
        return self._chart.lacks(file, line)


def _write(folder: str, output: bytes) -> str:
    with open(os.path.join(folder, _OUTPUT), "wb") as file:
        file.write(output)
    with open(os.path.join(folder, WRAPPER), "w", encoding="utf-8") as file:
        file.write(f"resources: [{_OUTPUT}]\n")
    return folder


UNRESTRICTED = ("--load-restrictor", "LoadRestrictionsNone")
"""Options that let a build read files outside its folder, as Flux does. afflint keeps it inside the repository."""
_ANNOTATIONS = ("originAnnotations", "transformerAnnotations")


def build_kustomization(runner: ProgramRunner, program: Sequence[str], folder: str, more: Mapping[str, Any] | None = None) -> bytes:
    """Build a kustomization; ``more`` are fields of a wrapper around it, with absolute folders. Raises RenderError."""
    if not more:
        return runner.output([*program, folder], folder)
    with temporary_folder() as wrapper:
        return _wrapped(runner, program, folder, wrapper, more)


# Neither kustomize nor kubectl has an option for annotations of origins: `buildMetadata` of the outermost kustomization enables them. So
# they are enabled in a wrapper, a kustomization in a temporary folder that includes the user's.


def build_annotated(
    runner: ProgramRunner,
    program: Sequence[str],
    folder: str,
    wrapper: str,
    metadata: Iterable[Any] = (),
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """Build a kustomization with annotations of origins. ``wrapper`` is an empty folder, links resolved; paths in annotations start there.

    ``metadata`` is ``buildMetadata`` of the user's kustomization, which the wrapper overrides. Raises RenderError.
    """
    build_metadata = [*_ANNOTATIONS, *(each for each in metadata if type(each) is str and each not in _ANNOTATIONS)]
    return _wrapped(runner, program, folder, wrapper, {**(more or {}), "buildMetadata": build_metadata})


def _wrapped(runner: ProgramRunner, program: Sequence[str], folder: str, wrapper: str, more: Mapping[str, Any]) -> bytes:
    # kustomize rejects absolute paths.
    components = [os.path.relpath(each, wrapper).replace(os.sep, "/") for each in more.get("components", ())]
    kustomization = {**more, "resources": [os.path.relpath(folder, wrapper).replace(os.sep, "/")], "components": components}
    with open(os.path.join(wrapper, WRAPPER), "w", encoding="utf-8") as file:
        file.write(json_text(kustomization))
    return runner.output([*program, wrapper], folder)
