"""Everything that is rendered for one run: which roots there are, what came of each, and which files they were made of."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from afflint.config import RENDERERS
from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.boundary import Boundary
from afflint.rendering.gitops import Hint, Inline, Unread, hints, in_namespace, substituted
from afflint.rendering.helm import RELEASE, Chart, Charts, rendered_chart, template
from afflint.rendering.helm_origins import ChartFiles, Templates
from afflint.rendering.kustomize import build_annotated, build_kustomization
from afflint.rendering.kustomize_origins import Origins, RenderedIdentity
from afflint.rendering.line_marks import templates_of
from afflint.rendering.programs import ALL_LIMIT, ProgramRunner, RenderError, helm_command, kustomize_command
from afflint.rendering.references import refusal
from afflint.rendering.roots import Kustomization, RootKustomizations, chart_folders, kustomization_folders
from afflint.rendering.source_documents import SourcePlace, SourceTexts
from afflint.source.sources import CHART, relative


class SourceMap(Protocol):
    """The way back from what was rendered to its source."""

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Where the value at a path of a rendered object is written, or its key; then what else has to do with it."""
        ...

    def written(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """What an object is called where it is written; None where that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Build:
    """A root that was rendered: the tool, its folder as reports call it, its own file, the output, all files that it was made of."""

    tool: str
    name: str
    folder: str
    root_file: str
    output: bytes
    covered: frozenset[str]
    way: Callable[[], SourceMap]
    """Makes the way back. Runs the program once more, so it is asked for only where there are findings. Raises RenderError."""
    without: tuple[str, ...] = ()
    """The charts that it needs and that are not in the repository."""


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """A root that was not rendered, and why not."""

    tool: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What is to be rendered, and how: the tools, whether the network may be used, how many at a time, for which Kubernetes."""

    tools: tuple[str, ...] = RENDERERS
    network: bool = False
    jobs: int = 1
    kubernetes_version: str = ""


class Rendered(NamedTuple):
    """What the roots of a run render to, those that do not, what names roots and is not understood, and who may run programs later."""

    builds: list[Build]
    failures: list[BuildFailure]
    unread: list[Unread]
    values: frozenset[str]
    """The values files that Argo CD and Flux are told to use, whether or not the chart is here; links resolved."""
    crew: ProgramRunner


def render_roots(paths: Iterable[str], wanted: RenderOptions) -> Rendered:
    """What the roots among some files render to."""
    paths = list(paths)
    crew = ProgramRunner(network=wanted.network, all_together=ALL_LIMIT, jobs=wanted.jobs)
    texts = SourceTexts()
    done: list[Build | BuildFailure] = []
    boundary = Boundary(paths)
    hinted, unread, values = hints(paths, boundary)
    if "kustomize" in wanted.tools:
        done += _kustomizations(crew, paths, hinted, texts, network=wanted.network)
    if "helm" in wanted.tools:
        done += _charts(crew, paths, hinted, texts, wanted.kubernetes_version, boundary)
    builds, failures = [each for each in done if isinstance(each, Build)], [each for each in done if isinstance(each, BuildFailure)]
    return Rendered(builds, failures, unread, frozenset(values), crew)


def _kustomizations(
    crew: ProgramRunner, paths: Sequence[str], hinted: Sequence[Hint], texts: SourceTexts, *, network: bool
) -> list[Build | BuildFailure]:
    known = RootKustomizations()
    all_folders = kustomization_folders(paths)
    roots = [(root, Hint(root.folder, "")) for root in known.roots(all_folders)]
    told = [(root, hint) for hint in hinted if (root := known.at(hint.folder)) is not None and not root.is_component]
    # Whoever says how a folder is rendered knows better than the folder.
    folders = {root.folder for root, _ in told}
    roots = [*told, *((root, hint) for root, hint in roots if root.folder not in folders)]
    cycles = [_cycle_failure(cycle) for cycle in known.cycles(all_folders, [root for root, _ in roots])]
    if not roots:
        return [*cycles]
    program = kustomize_command()
    if program is None:
        missing = "neither `kustomize` nor `kubectl` is on PATH"
        return [*cycles, *(BuildFailure("kustomize", _name(root.folder, hint), missing) for root, hint in roots)]

    def build(asked: tuple[Kustomization, Hint]) -> Build | BuildFailure:
        root, hint = asked
        name = _name(root.folder, hint)
        reason = refusal(known, [root.folder, *hint.around.get("components", ())], network=network)
        if reason is not None:
            return BuildFailure("kustomize", name, reason)
        try:
            output = build_kustomization(crew, program, root.folder, hint.around)
        except RenderError as error:
            return BuildFailure("kustomize", name, error.reason)
        output = in_namespace(substituted(output, hint.substitutes), hint.namespace)
        covered = frozenset(known.covered(root))
        return Build(
            "kustomize", name, root.folder, root.file, output, covered, lambda: _KustomizeSourceMap(crew, program, root, hint, texts)
        )

    return [*cycles, *crew.each(build, roots)]


def _cycle_failure(cycle: Sequence[Kustomization]) -> BuildFailure:
    names = [relative(each.folder) for each in cycle]
    shown = names if len(names) <= _MOST_OF_CYCLE else [*names[:_MOST_OF_CYCLE], "…"]
    return BuildFailure("kustomize", names[0], f"includes itself: {' -> '.join([*shown, names[0]])}")


_MOST_OF_CYCLE = 5


class _KustomizeSourceMap:
    """By the notes of a second build."""

    def __init__(self, crew: ProgramRunner, program: Sequence[str], root: Kustomization, hint: Hint, texts: SourceTexts) -> None:
        with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
            wrapper = os.path.realpath(folder)
            said = root.data.get("buildMetadata")
            notes = build_annotated(crew, program, root.folder, wrapper, said if type(said) is list else (), hint.around)
            self._origins = Origins(notes, wrapper, root.file, texts)

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        return (self._origins.place(identity, path, key=key),)

    def written(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        return self._origins.written(identity)


def _charts(
    crew: ProgramRunner, paths: Sequence[str], hinted: Sequence[Hint], texts: SourceTexts, kubernetes_version: str, boundary: Boundary
) -> list[Build | BuildFailure]:
    told = [hint for hint in hinted if os.path.isfile(os.path.join(hint.folder, CHART))]
    folders = {hint.folder for hint in told}
    told += [Hint(folder, "") for folder in chart_folders(paths) if folder not in folders]
    if not told:
        return []
    program = helm_command()
    if program is None:
        return [BuildFailure("helm", _name(hint.folder, hint), "`helm` is not on PATH") for hint in told]
    folders_of_charts = [os.path.realpath(os.path.dirname(path) or os.curdir) for path in paths if os.path.basename(path) == CHART]
    known = Charts(folders_of_charts, boundary)

    def build(hint: Hint) -> Build | BuildFailure:
        name = _name(hint.folder, hint)
        chart = Chart(hint.folder, hint.release or RELEASE, hint.namespace, hint.values, hint.inline.values, hint.options)
        try:
            build = _rendered_chart(crew, program, known, chart, hint.inline, kubernetes_version, texts)
        except RenderError as error:
            return BuildFailure("helm", name, error.reason)
        except OSError as error:
            return BuildFailure("helm", name, f"the chart cannot be copied: {error.strerror or error}")
        return replace(build, name=name, output=in_namespace(build.output, hint.namespace))

    return crew.each(build, told)


def _rendered_chart(
    crew: ProgramRunner, program: Sequence[str], known: Charts, chart: Chart, inline: Inline, version: str, texts: SourceTexts
) -> Build:
    known.refuse_links(chart.folder)
    without: tuple[str, ...] = ()
    if known.missing(chart.folder):
        with tempfile.TemporaryDirectory(prefix="afflint-") as folder:
            copy = known.copied(chart.folder, os.path.join(os.path.realpath(folder), "chart"))
            output, values = template(crew, program, chart, copy.folder, version)
            without = copy.without
    else:
        output, values = template(crew, program, chart, chart.folder, version)

    def render(folder: str, instead: Mapping[str, str], said: Mapping[str, Any] | None = None) -> bytes:
        files = [instead.get(os.path.realpath(each), each) for each in values]
        return rendered_chart(crew, program, chart if said is None else replace(chart, inline=said), folder, version, files)

    beside = (inline.text, inline.path) if inline.text is not None and inline.values else None
    files = ChartFiles(lambda target: known.copied(chart.folder, target).origin, render, values, beside)
    root_file = os.path.join(chart.folder, CHART)
    covered = frozenset((root_file, *map(os.path.realpath, templates_of(chart.folder))))
    name = relative(chart.folder)
    return Build("helm", name, chart.folder, root_file, output, covered, lambda: Templates(output, root_file, files, texts), without)


def _name(folder: str, hint: Hint) -> str:
    """How reports call what is rendered from a folder."""
    return f"{relative(folder)} ({hint.by})" if hint.by else relative(folder)
