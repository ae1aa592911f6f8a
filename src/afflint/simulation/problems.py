"""The manifests that `afflint place` cannot place: those that cannot be read, and those that the API server would reject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from afflint.findings.finding import NO_OBJECT, FileId, ObjectRef, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Pods
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import FileResult
from afflint.pipeline.suppression_filter import SuppressionFilter

if TYPE_CHECKING:
    from afflint.rendered.rendered_run import RunOrigins

UNREADABLE = ("unreadable-manifest", "text-after-document")


class _PlaceProblem(NamedTuple):
    """A position, at its origin, and a message about it."""

    name: str
    line: int
    column: int
    message: str


class PlaceProblems:
    """The problems in the files of a simulation, from the results of the map step.

    Those in rendered output are at their ``origins``.
    """

    def __init__(
        self,
        files: Files,
        results: Mapping[FileId, FileResult],
        workloads: Iterable[Pods],
        suppression_filter: SuppressionFilter,
        origins: RunOrigins | None,
    ) -> None:
        self._files = files
        self._results = results
        self._filter = suppression_filter
        self._origins = origins
        self._rejections = self._rejected(workloads)

    def accepted(self, pods: Pods) -> Pods:
        """Return a workload with the reason why the API server would reject it, if any."""
        rejection = self._rejections.get(pods.site.file, {}).get((pods.site.document, pods.ref))
        if rejection is None or pods.pod_source is None:
            return pods
        rendered = self._origins is not None and self._origins.is_rendered(pods.site.file)
        place = f"{rejection.name}:{rejection.line}" if rendered else f"line {rejection.line}"
        return pods._replace(pod_source=replace(pods.pod_source, refused=f"the API server would reject it: {rejection.message} ({place})"))

    def listed(self) -> list[str]:
        """Return all problems, each as ``file:line:column: message``."""
        return [
            f"{each.name}:{each.line}:{each.column}: {each.message}"
            for file, result in self._results.items()
            for each in self._problems(file, result)
        ]

    def _rejected(self, workloads: Iterable[Pods]) -> dict[FileId, dict[tuple[int, ObjectRef], _PlaceProblem]]:
        """Return the workloads that the API server would reject, by file; also documents in which several objects are mixed."""
        candidates = [file for file, result in self._results.items() if any(found.rule not in UNREADABLE for found in result.found)]
        if not candidates:
            return {}
        made = {(pods.site.file, pods.site.document, pods.ref) for pods in workloads if pods.pod_source is not None}
        return {file: self._rejected_in(file, made) for file in candidates}

    def _rejected_in(self, file: FileId, made: set[tuple[FileId, int, ObjectRef]]) -> dict[tuple[int, ObjectRef], _PlaceProblem]:
        """Return the first reason why the API server would reject each object of a file."""
        known: dict[tuple[int, ObjectRef], _PlaceProblem] = {}
        findings, _ = self._filter.remaining(file, self._files.sources[file], self._results[file])
        for each in sorted(findings, key=lambda finding: finding.span):
            counts = each.object == NO_OBJECT or (file, each.document, each.object) in made
            if each.rule not in UNREADABLE and each.severity == "error" and counts:
                at_origin = each if self._origins is None else self._origins.finding(each)
                if at_origin is not None:
                    line, column, *_ = at_origin.span
                    known.setdefault((each.document, each.object), _PlaceProblem(at_origin.file, line, column, at_origin.message))
        return known

    def _problems(self, file: FileId, result: FileResult) -> Sequence[_PlaceProblem]:
        rejections = self._rejections.get(file, {})
        # The message of a rule is better than that of the reader.
        explained = {document for document, _ in rejections}
        found = [(each.document, each.span, each.message) for each in result.found if each.rule in UNREADABLE]
        found += [(each.document, each.span, each.message) for each in result.facts.unusable if each.document not in explained]
        skipped = _TEMPLATE if self._origins is None else _TEMPLATE_LEFT
        template = [_PlaceProblem(self._files.names[file], 1, 1, skipped)] if result.templated else []
        return [*template, *sorted([*(self._at_origin(file, *each) for each in found), *rejections.values()])]

    def _at_origin(self, file: FileId, document: int, span: Span, message: str) -> _PlaceProblem:
        if self._origins is None or not self._origins.is_rendered(file):
            return _PlaceProblem(self._files.names[file], span.line, span.column, message)
        number, line = self._origins.line(file, document, span.line)
        return _PlaceProblem(self._origins.name(number), line, 1, message)


_TEMPLATE_LEFT = "this is a template that was not rendered, which afflint skips"
_TEMPLATE = "this is a template, which afflint skips: use `--render`, or name its rendered output instead"
