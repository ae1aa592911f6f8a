"""Builds of all render roots of one run: their output or failure, and the files that they were built from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from afflint.config import RENDERERS
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.boundary import Boundary
from afflint.rendering.chart_trials import ChartTrials
from afflint.rendering.gitops import Hint, Inline, UnsupportedObject, hints, set_namespace, substitute
from afflint.rendering.helm import RELEASE, Chart, Charts, render_chart, render_template
from afflint.rendering.helm_origins import ChartFiles, ChartSourceMap, Rendering
from afflint.rendering.kustomize_builds import KustomizeBuilder
from afflint.rendering.kustomize_origins import RenderedIdentity
from afflint.rendering.line_marks import templates_of
from afflint.rendering.programs import ALL_LIMIT, ProgramRunner, RenderError, helm_command, kustomize_command
from afflint.rendering.roots import Kustomization, RootKustomizations, chart_folders, kustomization_folders
from afflint.rendering.source_documents import SourcePlace, SourceTexts
from afflint.source.sources import CHART, relative


class SourceMap(Protocol):
    """The source positions of rendered values."""

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the source position of a rendered value, or of its key, followed by related positions."""
        ...

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity of a rendered object in its source; None if it is unknown."""
        ...


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
    missing_dependencies: tuple[str, ...] = ()
    """The names of chart dependencies that are not in the repository; the chart was rendered without them."""
    trials: Callable[[], ChartTrials] | None = None
    """Return new renderings of a chart with values of afflint's own, which run the program again; None for a kustomization."""
    left_out: tuple[str, ...] = ()
    """The URLs, repositories and charts that a kustomization was built without, because they need the network."""


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """A root that was not rendered, with the reason."""

    tool: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for rendering: the tools, whether programs may use the network, how many run at a time, and the Kubernetes version."""

    tools: tuple[str, ...] = RENDERERS
    network: bool = False
    jobs: int = 1
    kubernetes_version: str = ""


class Rendered(NamedTuple):
    """The result of rendering all roots: builds, failures, GitOps objects that are not understood, and the runner for source maps."""

    builds: list[Build]
    failures: list[BuildFailure]
    unsupported: list[UnsupportedObject]
    values: frozenset[str]
    """The values files that Argo CD and Flux use, even if their chart is not in the repository; links resolved."""
    runner: ProgramRunner


def render_roots(paths: Iterable[str], wanted: RenderOptions) -> Rendered:
    """Render all roots among some files."""
    paths = list(paths)
    runner = ProgramRunner(network=wanted.network, all_together=ALL_LIMIT, jobs=wanted.jobs)
    texts = SourceTexts()
    results: list[Build | BuildFailure] = []
    boundary = Boundary(paths)
    hinted, unsupported, values = hints(paths, boundary)
    if "kustomize" in wanted.tools:
        results += _kustomizations(runner, paths, hinted, texts, boundary, network=wanted.network)
    if "helm" in wanted.tools:
        results += _charts(runner, paths, hinted, texts, wanted.kubernetes_version, boundary)
    builds, failures = [each for each in results if isinstance(each, Build)], [each for each in results if isinstance(each, BuildFailure)]
    return Rendered(builds, failures, unsupported, frozenset(values), runner)


def _kustomizations(
    runner: ProgramRunner, paths: Sequence[str], hinted: Sequence[Hint], texts: SourceTexts, boundary: Boundary, *, network: bool
) -> list[Build | BuildFailure]:
    known = RootKustomizations()
    all_folders = kustomization_folders(paths)
    roots = [(root, Hint(root.folder, "")) for root in known.roots(all_folders)]
    referenced = [(root, hint) for hint in hinted if (root := known.at(hint.folder)) is not None and not root.is_component]
    # Argo CD and Flux define how a folder is rendered, so they override the folder itself.
    folders = {root.folder for root, _ in referenced}
    roots = [*referenced, *((root, hint) for root, hint in roots if root.folder not in folders)]
    cycles = [_cycle_failure(cycle) for cycle in known.cycles(all_folders, [root for root, _ in roots])]
    if not roots:
        return [*cycles]
    program = kustomize_command()
    if program is None:
        missing = "neither `kustomize` nor `kubectl` is on PATH"
        return [*cycles, *(BuildFailure("kustomize", _name(root.folder, hint), missing) for root, hint in roots)]

    builder = KustomizeBuilder(runner, program, known, boundary.top, network=network)

    def build(root_and_hint: tuple[Kustomization, Hint]) -> Build | BuildFailure:
        root, hint = root_and_hint
        name = _name(root.folder, hint)
        try:
            output, left_out = builder.build(root, hint)
        except RenderError as error:
            return BuildFailure("kustomize", name, error.reason)
        output = set_namespace(substitute(output, hint.substitutes), hint.namespace)
        covered = frozenset(known.covered(root))
        source_map = partial(builder.source_map, root, hint, texts)
        return Build("kustomize", name, root.folder, root.file, output, covered, source_map, left_out=left_out)

    return [*cycles, *runner.each(build, roots)]


def _cycle_failure(cycle: Sequence[Kustomization]) -> BuildFailure:
    names = [relative(each.folder) for each in cycle]
    shown = names if len(names) <= _MAX_SHOWN_OF_CYCLE else [*names[:_MAX_SHOWN_OF_CYCLE], "…"]
    return BuildFailure("kustomize", names[0], f"includes itself: {' -> '.join([*shown, names[0]])}")


_MAX_SHOWN_OF_CYCLE = 5


def _charts(
    runner: ProgramRunner, paths: Sequence[str], hinted: Sequence[Hint], texts: SourceTexts, kubernetes_version: str, boundary: Boundary
) -> list[Build | BuildFailure]:
    referenced = [hint for hint in hinted if os.path.isfile(os.path.join(hint.folder, CHART))]
    folders = {hint.folder for hint in referenced}
    referenced += [Hint(folder, "") for folder in chart_folders(paths) if folder not in folders]
    if not referenced:
        return []
    program = helm_command()
    if program is None:
        return [BuildFailure("helm", _name(hint.folder, hint), "`helm` is not on PATH") for hint in referenced]
    folders_of_charts = [os.path.realpath(os.path.dirname(path) or os.curdir) for path in paths if os.path.basename(path) == CHART]
    known = Charts(folders_of_charts, boundary)

    def build(hint: Hint) -> Build | BuildFailure:
        name = _name(hint.folder, hint)
        chart = Chart(hint.folder, hint.release or RELEASE, hint.namespace, hint.values, hint.inline.values, hint.options)
        try:
            build = _build_chart(runner, program, known, chart, hint.inline, kubernetes_version, texts)
        except RenderError as error:
            return BuildFailure("helm", name, error.reason)
        except OSError as error:
            return BuildFailure("helm", name, f"the chart cannot be copied: {error.strerror or error}")
        return replace(build, name=name, output=set_namespace(build.output, hint.namespace))

    return runner.each(build, referenced)


def _build_chart(
    runner: ProgramRunner, program: Sequence[str], known: Charts, chart: Chart, inline: Inline, version: str, texts: SourceTexts
) -> Build:
    known.reject_links(chart.folder)
    missing_dependencies: tuple[str, ...] = ()
    if known.missing(chart.folder):
        with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
            copy = known.copy(chart.folder, os.path.join(os.path.realpath(folder), "chart"))
            output, chart = render_template(runner, program, chart, copy.folder, version)
            missing_dependencies = copy.missing_dependencies
    else:
        output, chart = render_template(runner, program, chart, chart.folder, version)

    def rendering(extra: Mapping[str, Any]) -> Rendering:
        def render(folder: str, replaced: Mapping[str, str], inline_values: Mapping[str, Any] | None = None) -> bytes:
            files = [replaced.get(os.path.realpath(each), each) for each in chart.values]
            with_inline = chart if inline_values is None else replace(chart, inline=inline_values)
            return render_chart(runner, program, with_inline, folder, version, files, extra)

        return render

    inline_place = (inline.text, inline.path) if inline.text is not None and inline.values else None
    files = ChartFiles(lambda target: known.copy(chart.folder, target).origin, rendering({}), chart.values, inline_place)
    root_file = os.path.join(chart.folder, CHART)
    covered = frozenset((root_file, *map(os.path.realpath, templates_of(chart.folder))))
    name = relative(chart.folder)
    return Build(
        "helm",
        name,
        chart.folder,
        root_file,
        output,
        covered,
        lambda: ChartSourceMap(output, root_file, files, texts),
        missing_dependencies,
        lambda: ChartTrials(chart.folder, output, root_file, files, rendering, texts),
    )


def _name(folder: str, hint: Hint) -> str:
    """Return the name of a root in reports."""
    return f"{relative(folder)} ({hint.declared_by})" if hint.declared_by else relative(folder)
