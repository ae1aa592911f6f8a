"""A run over the output of kustomize and Helm: findings are moved to their origins, and each is reported once."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from afflint.checks.registry import REGISTRY, rules_of_texts
from afflint.findings.coverage import REMOTE_RESOURCE, Coverage, WorkloadSource, not_in_repository
from afflint.findings.finding import NO_OBJECT, FileId, Finding, ObjectRef, Related, Span, sort_key
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.rendering.builds import Build, BuildFailure, RenderOptions, render_roots
from afflint.rendering.clusters import Root, clusters_of
from afflint.rendering.flux_variables import VARIABLE
from afflint.rendering.given_values import PARAMETER
from afflint.rendering.helm import RELEASE, Chart
from afflint.rendering.helm_origins import TEMPLATE, UNCHANGED, ChartSourceMap
from afflint.rendering.kustomize_origins import RenderedIdentity, SourceMap, identity_of
from afflint.rendering.line_marks import read_template
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import ONLY_A_VARIABLE, SourcePlace, SourceTexts, documents_of
from afflint.report import RenderSummary as Count
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, Source, relative
from afflint.yaml.cursor import cursor_at
from afflint.yaml.document import value_at_path
from afflint.yaml.embedded import document_in_block

if TYPE_CHECKING:
    from afflint.checks.match import Target
    from afflint.checks.registry import BoundRule
    from afflint.index.facts import Pods
    from afflint.rendered.chart_findings import CheckAlone, PlacedFinding, PresetFinding
    from afflint.yaml.document import Document

_LARGEST = 16 << 20
# Comments in rendered output come from its sources, so unused ones are not reported for the output.
_OF_COMMENTS = frozenset(("unused-suppression",))
_OF_TEXTS = ("ConfigMap", "Secret")
# Values in messages, which may differ between overlays for one mistake.
_VARIABLE = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+")


_InChart = TypeVar("_InChart")
Unsilenced = Callable[[list[Finding], Source], tuple[list[Finding], int]]


class OriginalFindings(NamedTuple):
    """The findings of a run at their origins, the number of findings suppressed there, and the files by their numbers."""

    findings: list[Finding]
    suppressed: int
    sources: tuple[Source, ...]


class RenderedRun:
    """The rendered output of a run. ``sources`` are the files of the run: the output of each root, and the files that no root covers."""

    def __init__(self, given: Sequence[Source], wanted: RenderOptions, excluded: Callable[[str], bool]) -> None:
        self._rendered = render_roots([each.path for each in given if each.data is None], wanted)
        values, self._crew = self._rendered.values, self._rendered.runner
        self._excluded = excluded
        self._given = {path: each._replace(values=each.values or path in values) for each in given if (path := os.path.realpath(each.path))}
        self._use(self._rendered.builds)

    def _use(self, builds: Sequence[Build]) -> None:
        # The output counts as a file in the folder of its root, with a path that does not exist.
        self._builds = {build.path: build for build in builds}
        covered = frozenset(file for build in builds for file in build.covered)
        self.sources = [each for path, each in self._given.items() if path not in covered]
        self.sources += [Source(f"<{build.tool} {build.name}>", path, build.output) for path, build in self._builds.items()]
        self.covered = [self._given[path] for path in sorted(covered & self._given.keys())]
        """The files of the run that are checked only as part of rendered output."""

    @property
    def failed(self) -> dict[tuple[str, str], str]:
        """The roots that cannot be rendered, by tool and name, each with the reason."""
        return {(each.tool, each.name): each.reason for each in self._rendered.failures}

    @property
    def touched_failures(self) -> dict[tuple[str, str], str]:
        """Those of the failures whose roots read a file that has changed."""
        return {(each.tool, each.name): each.reason for each in self._rendered.failures if each.reads.is_touched}

    def has_read(self, file: str) -> bool:
        """Return whether a file, links resolved, is in what is rendered: some root reads it, and no root that reads it failed."""
        return not self.has_failed(file) and any(each.reads.has(file) for each in self._builds.values())

    def has_failed(self, file: str) -> bool:
        """Return whether a root that reads a file, links resolved, cannot be rendered."""
        return any(each.reads.has(file) for each in self._rendered.failures)

    def is_untouched(self, source: Source) -> bool:
        """Return whether only roots read a file that were not rendered because nothing of them has changed."""
        file = os.path.realpath(source.path)
        return any(each.may_have(file) for each in self._rendered.untouched) and not self.has_read(file)

    def left_out_of(self, file: str) -> list[str]:
        """Return what the roots that read a file, links resolved, were rendered without."""
        found = [build for build in self._builds.values() if build.reads.has(file)]
        return sorted({name for build in found for name in (*build.left_out, *(each.name for each in build.missing_dependencies))})

    @property
    def lacks_some(self) -> bool:
        """Whether charts or folders in other places were not rendered."""
        return bool(self._rendered.remote)

    def has_rendered(self, declared_by: str) -> bool:
        """Return whether an object such as ``HelmRelease web`` was rendered, and no object of its name failed."""
        failed = any(each.declared_by == declared_by for each in self._rendered.failures)
        return not failed and any(each.declared_by == declared_by for each in self._builds.values())

    def touched_outputs(self) -> dict[str, bytes]:
        """Return the output of the roots that have changed, by their names."""
        return {each.name: each.output for each in self._builds.values() if each.reads.is_touched}

    def outputs_of(self, file: str) -> list[tuple[str, str, bytes]]:
        """Return the output of the roots that read a file, with their tools and names."""
        return sorted((each.tool, each.name, each.output) for each in self._builds.values() if each.reads.has(file))

    def reason_for(self, file: str) -> str:
        """Return why an object of Argo CD or Flux in a file, links resolved, was not rendered; "" if that is not known."""
        remote = [each.reason or not_in_repository(each.what) for each in self._rendered.remote if os.path.realpath(each.file) == file]
        unsupported = [each.reason for each in self._rendered.unsupported if os.path.realpath(each.file) == file]
        return next(iter((*remote, *unsupported)), "")

    def leave_out(self, roots: Collection[tuple[str, str]]) -> frozenset[str]:
        """Leave out the output of some roots, and return the names of the files that it is made of. ``roots`` are tools and names."""
        left_out = [build for build in self._builds.values() if (build.tool, build.name) in roots]
        charts = [os.path.dirname(each.file) for each in self._rendered.failures if os.path.basename(each.file) == CHART]
        self._use([build for build in self._builds.values() if (build.tool, build.name) not in roots])
        paths = {file for build in left_out for file in build.covered}
        paths |= {path for path in self._given if any(is_inside(path, os.path.realpath(chart)) for chart in charts)}
        return frozenset(self._given[path].name for path in paths & self._given.keys())

    def drop(self, names: Collection[str]) -> None:
        """Leave out files by their names, unless they are covered by a root that is rendered."""
        self.sources = [each for each in self.sources if each.name not in names]

    def count(self) -> Count:
        """Return the number of rendered roots, and the roots that failed."""
        tools = tuple(build.tool for build in self._builds.values())
        failed = tuple((each.tool, each.name, each.reason) for each in self._rendered.failures)
        partly = tuple((build.name, each.name) for build in self._builds.values() for each in build.missing_dependencies)
        unread = tuple((each.declared_by, each.reason) for each in self._rendered.unsupported)
        return Count(tools.count("kustomize"), tools.count("helm"), failed, partly, unread)

    def coverage(self) -> Coverage:
        """Return which sources of workloads were rendered, and which were not."""
        rendered = self._rendered
        seen = [self._source(each) for each in rendered.builds]
        not_seen = [self._source(each, each.reason) for each in rendered.failures]
        not_seen += [self._declared(each.declared_by, each.file, each.reason) for each in rendered.unsupported]
        for remote in rendered.remote:
            source = self._declared(remote.declared_by, remote.file, remote.reason or not_in_repository(remote.what))
            not_seen.append(source._replace(missing=remote.what))
        for build in rendered.builds:
            file = relative(build.root_file)
            not_seen += [WorkloadSource(REMOTE_RESOURCE, each, file, reason) for each, reason in build.left_out.items()]
            not_seen += [WorkloadSource("chart", each.name, file, each.reason) for each in build.missing_dependencies]
        return Coverage(tuple(seen), tuple(dict.fromkeys(not_seen)))

    def _source(self, root: Build | BuildFailure, reason: str = "") -> WorkloadSource:
        if root.declared_by:
            return self._declared(root.declared_by, root.file, reason)
        return WorkloadSource("kustomization" if root.tool == "kustomize" else "chart", root.name, relative(root.file), reason)

    def _declared(self, declared_by: str, file: str, reason: str = "") -> WorkloadSource:
        kind, _, name = declared_by.partition(" ")
        declaring = self._builds.get(file)
        return WorkloadSource(kind, name, relative(file if declaring is None else declaring.root_file), reason)

    def clusters(
        self, pods_of: Mapping[str, Sequence[Pods]], is_patch: Callable[[str], bool], *, releases_together: bool = False
    ) -> list[frozenset[str]]:
        """Return the paths of the output for each cluster; output in no set is for all clusters.

        ``pods_of`` are the pods of each source, by path. Two roots are for different clusters if both contain the same object, or create
        pods from the same file. With ``releases_together``, a cluster may have several releases of one chart with different names.
        """
        used = Counter(file for build in self._builds.values() for file in build.covered)
        kinds = {file: _kinds_in(file) for file, count in used.items() if count > 1 and not is_patch(file)}
        roots = {}
        for path, build in self._builds.items():
            pods = pods_of.get(path, ())
            made = {each.ref.kind for each in pods}
            objects = {(each.ref.kind, each.namespace or "default", each.ref.name) for each in pods if not each.partial}
            release = build.declared_by if releases_together and build.tool == "helm" else ""
            files = {(file, release) for file in build.covered if not made.isdisjoint(kinds.get(file, ()))}
            roots[path] = Root(build.name, frozenset((*objects, *files)))
        return clusters_of(roots)

    def probed(self, rules: Iterable[BoundRule], target: Target) -> list[PlacedFinding]:
        """Return the findings of the rules for charts. They render each chart again with values that are empty by default."""
        rules = [each for each in rules if each.subject == "charts"]
        charts = self._charts() if rules else []
        if not charts:
            return []
        from afflint.rendered.chart_findings import probe_findings

        return self._in_each(charts, lambda build: probe_findings(build, rules, target))

    def of_presets(self, check: CheckAlone) -> list[PresetFinding]:
        """Return what charts have only with one of their presets. ``check`` returns the findings in a file as if it were alone."""
        charts = self._charts()
        if not charts:
            return []
        from afflint.rendered.chart_findings import preset_findings

        return self._in_each(charts, lambda build: preset_findings(build, check))

    @property
    def charts(self) -> list[Chart]:
        """The charts that were rendered, each with the values that it gets."""
        return [each.chart for each in self._builds.values() if each.chart is not None]

    def _charts(self) -> list[Build]:
        """Return one build of each chart that can be rendered with other values, sorted by folder."""
        builds = {build.folder: build for build in (*self._retried, *reversed(self._builds.values())) if build.trials is not None}
        return [builds[folder] for folder in sorted(builds)]

    @cached_property
    def _retried(self) -> list[Build]:
        """The charts that refuse their default values, rendered with values that they accept. They are not part of the run."""
        retries = [each.retry for each in self._rendered.failures if each.retry is not None]
        return [build for build in self._crew.each(lambda retry: retry(), retries) if build is not None]

    def _in_each(self, charts: list[Build], search: Callable[[Build], list[_InChart]]) -> list[_InChart]:
        return [each for of_chart in self._crew.each(search, charts) for each in of_chart]

    def placed(
        self,
        findings: Iterable[Finding],
        sources: tuple[Source, ...],
        unsilenced: Unsilenced,
        probed: Iterable[PlacedFinding] = (),
        of_presets: Iterable[PresetFinding] = (),
        check: CheckAlone = lambda _: [],
    ) -> OriginalFindings:
        """Return the findings of a run at their origins. A mistake that several roots render is one finding.

        ``probed`` are further findings, of the rules for charts, and ``of_presets`` those in the output of charts with their presets.
        ``check`` returns the findings in the literal text of a template.
        ``unsilenced`` returns the findings of a source that no suppression there applies to, and how many its comments suppress.
        """
        numbers = _Numbers(sources, self._given, self.covered)
        findings = [each for each in findings if each.rule not in _OF_COMMENTS or sources[each.source].path not in self._builds]
        moving = self._moving(findings, sources)
        kept: list[Finding] = []
        at_source: dict[int, list[Finding]] = {}
        for finding in findings:
            each = _moved(finding, moving, sources, numbers)
            if each is not None and each.rendered and self._is_shown(each, numbers):
                at_source.setdefault(each.source, []).append(each)
            elif each is not None and not each.rendered and not self._is_downloaded(each, numbers):
                kept.append(each)
        shown = {(each.rule, each.source, each.span.line) for found in (kept, *at_source.values()) for each in found}
        lines = {(each.source, each.span.line) for each in kept}  # A chart that is not rendered is also read as text.
        in_values = [each for placed in probed if ((each := _in_file(placed, numbers)).source, each.span.line) not in lines]
        further = [*in_values, *_of_presets(of_presets, shown, numbers)]
        lines |= {(each.source, each.span.line) for found in (further, *at_source.values()) for each in found}
        for each in (*further, *self._in_lacking_lines(check, lines, moving, numbers)):
            if self._is_shown(each, numbers):
                at_source.setdefault(each.source, []).append(each)
        suppressed = 0
        for source, found in at_source.items():
            remaining, silenced = unsilenced(found, numbers.sources[source])
            kept += remaining
            suppressed += silenced
        return OriginalFindings(_each_once(_without_guesses(kept)), suppressed, tuple(numbers.sources))

    def _in_lacking_lines(
        self, check: CheckAlone, shown: set[tuple[int, int]], moving: Mapping[str, _Moving], numbers: _Numbers
    ) -> Iterator[Finding]:
        """Yield the findings in lines of templates that are in no output, such as those behind a switch.

        ``shown`` are the lines with other findings, by the numbers of their files.
        """
        known = {**moving}
        for source in self.covered:
            file = os.path.realpath(source.path)
            roots = {path for path, build in self._builds.items() if build.tool == "helm" and file in build.covered}
            number = numbers.of(file)
            found = [each for each in check(source) if (number, each.span.line) not in shown] if roots else []
            found = [each for each in found if each.rule not in _OF_COMMENTS]
            if found:
                known |= self._source_maps(roots - known.keys())
            for each in found:
                if all(known[path].lacks(file, each.span.line) for path in roots):
                    related = tuple([place._replace(source=number) for place in each.related])
                    yield each._replace(source=number, related=related, fix=None)

    def names_of(self, paths: Iterable[str]) -> list[str]:
        """Return the names of the roots with these outputs."""
        return sorted(self._builds[path].name for path in paths)

    def origins(self, sources: tuple[Source, ...], files: Iterable[FileId], unsilenced: Unsilenced) -> RunOrigins:
        """Return the origins of what is in some files. The programs run again for those that are rendered output.

        ``unsilenced`` is as for ``placed``.
        """
        moving = self._source_maps({path for file in files if (path := sources[file].path) in self._builds})
        roots = {path: build.root_file for path, build in self._builds.items()}
        return RunOrigins(moving, roots, _Numbers(sources, self._given, self.covered), unsilenced)

    def _is_downloaded(self, finding: Finding, numbers: _Numbers) -> bool:
        """Return whether a finding is in a file of a downloaded chart, which the user cannot edit."""
        downloads = self._rendered.downloads
        return downloads is not None and is_inside(os.path.realpath(numbers.sources[finding.source].path), downloads.folder)

    def _is_shown(self, finding: Finding, numbers: _Numbers) -> bool:
        """Return whether a finding at its origin is in a file that the user can edit and has not excluded."""
        path = os.path.abspath(numbers.sources[finding.source].path)
        return not self._is_downloaded(finding, numbers) and not self._excluded(path)

    def _moving(self, findings: Iterable[Finding], sources: Sequence[Source]) -> dict[str, _Moving]:
        """Return the builds that findings are in or point to, by their paths, each with its source map."""
        pointed = dict.fromkeys(number for each in findings for number in (each.source, *(place.source for place in each.related)))
        return self._source_maps({path for number in pointed if (path := sources[number].path) in self._builds})

    def _source_maps(self, paths: set[str]) -> dict[str, _Moving]:
        """Return some builds by their paths, each with its source map.

        The values of a chart may be in an object that another root has rendered, so the roots of these objects are included.
        """
        waiting = [*paths]
        while waiting:
            build = self._builds[waiting.pop()]
            for declaring in {build.file, *build.inputs}:
                if declaring in self._builds and declaring not in paths:
                    paths.add(declaring)
                    waiting.append(declaring)
        moving: dict[str, _Moving] = {}
        built = self._crew.each(lambda path: _Moving(self._builds[path], moving), sorted(paths))
        moving.update(zip(sorted(paths), built, strict=True))
        return moving


class RunOrigins:
    """The origins of what is in the files of a run. What is not in rendered output is its own origin."""

    def __init__(self, moving: Mapping[str, _Moving], roots: Mapping[str, str], numbers: _Numbers, unsilenced: Unsilenced) -> None:
        self._moving = moving
        self._numbers = numbers
        self._unsilenced = unsilenced
        self._sources = tuple(numbers.sources)
        self._roots = roots

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files by their numbers."""
        return tuple(map(self.name, range(len(self._numbers.sources))))

    def name(self, file: FileId) -> str:
        """Return the name of a file; rendered output has the name of the kustomization or Chart.yaml of its root."""
        source = self._numbers.sources[file]
        return relative(self._roots[source.path]) if source.path in self._roots else source.name

    def is_rendered(self, file: FileId) -> bool:
        """Return whether a file is rendered output."""
        return self._sources[file].path in self._roots

    def finding(self, finding: Finding) -> Finding | None:
        """Return a finding at its origin; None if a suppression there silences it."""
        moved = _moved(finding, self._moving, self._sources, self._numbers)
        if moved is None or not moved.rendered:
            return moved
        remaining, _ = self._unsilenced([moved], self._numbers.sources[moved.source])
        return remaining[0] if remaining else None

    def line(self, file: FileId, document: int, line: int) -> tuple[FileId, int]:
        """Return the number of the file and the line that a line of a file comes from: line 1 of the root if that is not known."""
        if not self.is_rendered(file):
            return file, line
        path = self._sources[file].path
        place = self._moving[path].place_of_line(document, line) if path in self._moving else None
        if place is None:
            return self._numbers.of(os.path.realpath(self._roots[path])), 1
        return self._numbers.of(place.file), place.span.line


class _Numbers:
    """The numbers of the files of a run; files that findings are moved to are added."""

    def __init__(self, sources: Sequence[Source], given: Mapping[str, Source], covered: Iterable[Source]) -> None:
        self.sources = list(sources)
        self._given = given
        self._numbers = {os.path.realpath(source.path): number for number, source in enumerate(sources) if source.data is None}
        for source in covered:
            self._add(os.path.realpath(source.path), source)

    def of(self, file: str) -> int:
        """Return the number of a file by its path with symbolic links resolved."""
        if file not in self._numbers:
            name = relative(file)
            self._add(file, self._given.get(file) or Source(name, name))
        return self._numbers[file]

    def _add(self, file: str, source: Source) -> None:
        self._numbers[file] = len(self.sources)
        self.sources.append(source)


class _Moving:
    """A build with findings: its documents, and its source map if the program can render it again.

    ``others`` are the other builds of the run by the path of their output: values of a chart may come from an object in one of them.
    """

    def __init__(self, build: Build, others: Mapping[str, _Moving]) -> None:
        self.build = build
        self._others = others
        self._documents = documents_of(build.output)
        self._texts = SourceTexts()
        self._way: SourceMap | None = None
        with suppress(RenderError, OSError):
            self._way = build.source_map()

    def places(self, document: int, span: Span, field: str | None = None) -> tuple[tuple[SourcePlace, ...], RenderedIdentity | None]:
        """Return the origins of a position in the output, the best first, and the identity of its object in the source."""
        parsed = (
            self._documents.get(document)
            if document >= 0
            else next((each for each in self._documents.values() if _holds(each, span)), None)
        )
        if parsed is None or self._way is None or type(parsed.data) is not dict:
            return (SourcePlace(self.build.root_file, 0, Span(1, 1, 1, 1), "root"),), None
        cursor = cursor_at(parsed, span.line, span.column)
        path, key = cursor.path, cursor.on_key
        if field is not None and key:
            # The position of a list item is that of its first key, and the program chooses the order of keys.
            items = (path[:end] for end in range(1, len(path)) if type(path[end - 1]) is int)
            path, key = next(((each, False) for each in items if field_of(each) == field), (path, key))
        identity = identity_of(parsed.data)
        found = self._way.place(parsed.index, identity, path, key=key)
        first, *others = [written for each in found for written in self._written(each)]
        return (self._in_text(parsed, path, span, first), *others), self._way.source_identity(identity)

    def place_of_line(self, document: int, line: int) -> SourcePlace | None:
        """Return the origin of a line of the output."""
        parsed = self._documents.get(document)
        lines = [] if parsed is None else parsed.text().split("\n")
        if parsed is None or not 0 < line - parsed.line <= len(lines):
            return None
        text = lines[line - parsed.line - 1]
        column = len(text) - len(text.lstrip(" -")) + 1
        return self.places(document, Span(line, column, line, column))[0][0]

    def lacks(self, file: str, line: int) -> bool:
        """Return whether a line of a template is certainly not in the output."""
        return self._way is not None and self._way.lacks(file, line)

    def template_of_line(self, document: int, line: int) -> SourcePlace | None:
        """Return the line of a template that produced a line of the output; None if it is not that of a chart."""
        parsed = self._documents.get(document)
        if parsed is None or not isinstance(self._way, ChartSourceMap):
            return None
        return self._way.place_of_row(parsed.index, line - parsed.line - 1)

    def invents(self, finding: Finding) -> bool:
        """Return whether a finding compares a selector with the name of a release, which users choose when they install the chart."""
        chosen = self.build.tool == "helm" and not self.build.declared_by
        return chosen and finding.rule in _OF_OWN_LABELS and re.search(rf": {RELEASE}[`-]", finding.message) is not None

    def waits_for_value(self, place: SourcePlace) -> bool:
        """Return whether the line of a template reads a value that its chart, rendered without further values, leaves to the user."""
        folder = self.build.folder
        if self.build.declared_by or place.kind != TEMPLATE or not is_inside(place.file, os.path.join(folder, "templates")):
            return False
        line = (read_template(place.file) or "").split("\n")[place.span.line - 1]
        defaults = next((text.document.data for text in self._texts.of(os.path.join(folder, "values.yaml"))), None)
        read = [path.split(".")[1:] for path in re.findall(r"\.Values\b((?:\.\w+)+)", line)]
        return "default" not in line and any(value_at_path(defaults, *path) is None for path in read)

    def _written(self, place: SourcePlace) -> tuple[SourcePlace, ...]:
        """Return where a value was written, and where its variable is set, if ``place`` is in the output of another build."""
        other = self._others.get(place.file)
        if other is None:
            return (place,)
        written, *others = other.places(place.document, place.span)[0]
        setting = [each for each in others if each.kind in (VARIABLE, PARAMETER)][:1]
        return (written, *setting) if setting else (replace(written, kind=place.kind),)

    def _in_text(self, parsed: Document, path: Path, span: Span, place: SourcePlace) -> SourcePlace:
        """Return the position inside a block of text if the source has the same block at ``place``; otherwise ``place``."""
        inner = document_in_block(parsed, path) if place.exact else None
        if inner is None or type(inner.data) is not dict:
            return place
        text = next((each for each in self._texts.of(place.file) if each.index == place.document), None)
        if text is None:
            return place
        at = cursor_at(inner, span.line, span.column)
        whole = cursor_at(text.document, place.span.line, place.span.column).path
        same = next((each for each in text.inside(whole) if each.data == inner.data), None)
        return place if same is None else same.place(at.path, place.kind, key=at.on_key, exact=True)


def _of_presets(found: Iterable[PresetFinding], shown: set[tuple[str, int, int]], numbers: _Numbers) -> Iterator[Finding]:
    """Yield findings in the output of charts with a preset at their origins, each once, without those at the places in ``shown``.

    A finding without an origin is in a packed chart, which the user cannot edit.
    """
    moving: dict[int, _Moving] = {}
    for finding, source, build in found:
        if id(build) not in moving:
            moving[id(build)] = _Moving(build, {})
        each = _moved(finding, {source.path: moving[id(build)]}, (source,), numbers)
        known = each is not None and numbers.of(build.root_file) != each.source
        if each is not None and known and (each.rule, each.source, each.span.line) not in shown:
            shown.add((each.rule, each.source, each.span.line))
            yield each


def _kinds_in(file: str) -> frozenset[str]:
    """Return the kinds of the objects in a file, which may be a template."""
    try:
        data = read_regular(file, _LARGEST)
    except OSError:
        return frozenset()
    return frozenset(re.findall(r"(?m)^ *\"?kind\"?: *[\"']?(\w+)", data.decode("utf-8", "replace")))


def _holds(document: Document, span: Span) -> bool:
    return document.line < span.line <= document.line + len(document.line_starts())


def _moved(finding: Finding, ways: Mapping[str, _Moving], sources: Sequence[Source], numbers: _Numbers) -> Finding | None:
    """Return a finding at its origin, with related places. It has no fix, because its edits are for the output.

    None for a finding in a text that kustomize has put into a ConfigMap or a Secret: the file with that text is checked by itself.
    """
    related = [_related(each, ways, sources, numbers) for each in finding.related]
    moving = ways.get(sources[finding.source].path)
    if moving is None:
        return finding._replace(related=tuple(related))
    places, written = moving.places(finding.document, finding.span, finding.field)
    if places[0].kind == ONLY_A_VARIABLE and finding.rule in rules_of_texts():
        # It concerns nothing but the value, so the place that sets the variable is first.
        places = (places[1], places[0], *places[2:])
    place, *others = places
    source = numbers.of(place.file)
    ref = finding.object
    if written is None and ref.kind in _OF_TEXTS and moving.build.tool == "kustomize":
        return None
    if moving.invents(finding) or (finding.rule in rules_of_texts() and moving.waits_for_value(place)):
        return None
    if place.kind == UNCHANGED and not _is_about_nodes(finding):
        return None  # It is so in a chart that is not in the repository, whatever the user sets.
    if written is not None and ref != NO_OBJECT:
        ref = ObjectRef(ref.api_version, ref.kind, written.namespace or None, written.name or None)
    for other in others:
        number = numbers.of(other.file)
        related.append(Related(numbers.sources[number].name, other.span, _note(place, other), number))
    return finding._replace(
        file=numbers.sources[source].name,
        message=_LINE.sub(lambda match: _line_at_origin(match, finding, moving, place, numbers), finding.message),
        document=place.document,
        span=place.span,
        object=ref,
        related=tuple(related),
        fix=None,
        source=source,
        rendered=(moving.build.name,),
    )


_OF_OWN_LABELS = ("spread-misses-itself", "anti-affinity-misses-itself", "affinity-target-missing")


def _note(place: SourcePlace, other: SourcePlace) -> str:
    """Return what another place of a finding is."""
    if other.kind in (VARIABLE, PARAMETER):
        return f"the {other.kind} is set here"
    if place.kind in (VARIABLE, PARAMETER) and other.kind == ONLY_A_VARIABLE:
        return f"the {place.kind} is used here"
    return "the template is included here" if place.kind == TEMPLATE else "the template uses the value here"


def _is_about_nodes(finding: Finding) -> bool:
    """Return whether a finding depends on the nodes or policies of the user, not only on manifests."""
    subjects = (checks for subject, checks in REGISTRY.items() if subject not in ("nodes", "pools"))
    return all(each.rule != finding.rule for checks in subjects for each in checks)


_LINE = re.compile(r"\b(on|from) line (\d+)\b")
"""A line of the output in a message."""


def _line_at_origin(match: re.Match[str], finding: Finding, moving: _Moving, place: SourcePlace, numbers: _Numbers) -> str:
    """Return the origin of a line that a message names, with the file if it is another one than that of the finding."""
    origin = moving.place_of_line(finding.document, int(match[2]))
    if origin is not None and (origin.file, origin.span.line) == (place.file, place.span.line):
        origin = moving.template_of_line(finding.document, int(match[2]))  # Two keys with one path have one origin.
    if origin is None or (origin.file, origin.span.line) == (place.file, place.span.line):
        return f"{match[1]} another line of the rendered object"
    if origin.file == place.file:
        return f"{match[1]} line {origin.span.line}"
    return f"{match[1]} line {origin.span.line} of {numbers.sources[numbers.of(origin.file)].name}"


def _in_file(placed: PlacedFinding, numbers: _Numbers) -> Finding:
    """Return a finding of a rule for charts with the number of its file."""
    source = numbers.of(os.path.realpath(placed.place.file))
    related = []
    for place, message in placed.related:
        number = numbers.of(os.path.realpath(place.file))
        related.append(Related(numbers.sources[number].name, place.span, message, number))
    return placed.finding._replace(file=numbers.sources[source].name, source=source, related=tuple(related))


def _related(related: Related, ways: Mapping[str, _Moving], sources: Sequence[Source], numbers: _Numbers) -> Related:
    moving = ways.get(sources[related.source].path)
    if moving is None:
        return related
    (place, *_), _ = moving.places(-1, related.span)
    number = numbers.of(place.file)
    return Related(numbers.sources[number].name, place.span, related.message, number)


def _without_guesses(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those in chart values that the rendered chart has at the same position, where they are more exact."""
    shown = {(each.rule, each.source, each.span.line, each.span.column) for each in findings if each.rendered}
    return [each for each in findings if each.rendered or (each.rule, each.source, each.span.line, each.span.column) not in shown]


def _each_once(findings: list[Finding]) -> list[Finding]:
    """Return the findings; findings of several roots at one position become one finding that lists the roots.

    Two findings of one root at one position are two mistakes. A finding of another root with another message is not a further mistake:
    the message may depend on other objects of the root.
    """
    found: dict[tuple[object, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda each: (bool(each.rendered), sort_key(each), each.rendered)):
        alike = found.setdefault((finding.rule, finding.source, finding.span), [])
        number = _same(finding, alike) if finding.rendered else None
        if number is None:
            alike.append(finding)
        else:
            roots = sorted({*alike[number].rendered, *finding.rendered})
            alike[number] = alike[number]._replace(rendered=tuple(roots))
    return [finding for alike in found.values() for finding in alike]


def _same(finding: Finding, others: Sequence[Finding]) -> int | None:
    """Return the index of the finding that is the same mistake, if any."""
    what = without_values(finding.message)
    by_words = (number for number, other in enumerate(others) if without_values(other.message) == what)
    by_root = (number for number, other in enumerate(others) if not {*finding.rendered} & {*other.rendered})
    return next(by_words, next(by_root, None))


def without_values(message: str) -> str:
    """Return a message without values, which may differ between roots with the same mistake."""
    return _VARIABLE.sub("", message)
