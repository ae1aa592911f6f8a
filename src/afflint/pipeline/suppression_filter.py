"""The step that leaves out findings: those that a kustomization, the configuration or a suppression silences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from afflint.checks.registry import CATEGORIES, rules
from afflint.config import covers
from afflint.findings.finding import SEVERITIES, FileId, Finding, Found, ObjectRef
from afflint.index.facts import Pods
from afflint.pipeline.map_step import FileResult
from afflint.pipeline.reduce_step import Reduction
from afflint.pipeline.yaml_versions import as_read
from afflint.source.kustomizations import NAMES, Kustomizations, may_change_selection
from afflint.source.sources import Source, read_bytes
from afflint.yaml.documents import to_utf8
from afflint.yaml.prefilter import is_values_file

if TYPE_CHECKING:
    from afflint.pipeline.options import Options
    from afflint.pipeline.suppressions import Suppression


class SuppressionFilter:
    """Returns the findings of a file that neither a kustomization nor the configuration nor a suppression silences.

    It is created for one run and keeps what it has read of kustomizations.
    """

    def __init__(self, reduction: Reduction, options: Options, kustomizations: Kustomizations) -> None:
        self.reduction = reduction
        self._options = options
        self.kustomizations = kustomizations

    def remaining(self, file: FileId, source: Source, result: FileResult, across: Iterable[Found] = ()) -> tuple[list[Finding], int]:
        """Return the findings of a file that remain, with those ``across`` manifests, and how many its suppressions silence."""
        found = (*result.found, *across)
        if not found and not result.suppressions:  # As in nearly all files.
            return [], 0
        findings = self.reduction.findings(file, found)
        remaining = as_read(_without_excused(findings, source, result.facts.pods, self.kustomizations), source, self.kustomizations)
        if self._options.ignored_in is not None and remaining:
            names = self._options.ignored_in(source.name)
            remaining = [finding for finding in remaining if not covers(names, finding.rule, finding.category)] if names else remaining
        if not self._options.inline:
            return _each_once(remaining), 0
        # A suppression in a template, or in the values of a chart, may be for the rendered manifests.
        idle = not (result.templated or result.values or is_values_file(source.known_as))
        patching, mandatory = may_patch(source, result), self._options.mandatory
        kept, silenced = self.reduction.silence(file, result.suppressions, remaining, idle=idle, patching=patching, mandatory=mandatory)
        return _each_once(kept), silenced

    def remaining_in_source(self, findings: list[Finding], source: Source) -> tuple[list[Finding], int]:
        """Return the findings in the source of rendered output that remain, and how many its comments silence."""
        if self._options.ignored_in is not None:
            names = self._options.ignored_in(source.name)
            findings = [each for each in findings if not covers(names, each.rule, each.category)]
        suppressions = _comments_in(source) if self._options.inline and findings else []
        if not suppressions:
            return findings, 0
        from afflint.pipeline.suppressions import apply

        kept, silenced, _ = apply(findings, suppressions, self._options.mandatory)
        return kept, silenced


def may_patch(source: Source, result: FileResult | None) -> bool:
    """Return whether a file may have a kustomization, or an object of Flux that adds patches to one."""
    return source.path.endswith(NAMES) or (result is not None and "Kustomization" in result.passed)


def _each_once(findings: list[Finding]) -> list[Finding]:
    """Return the first of the findings with one position and one message: a value with an anchor is checked at each of its aliases."""
    if len(findings) < 2:
        return findings
    findings = sorted(findings, key=lambda each: SEVERITIES.index(each.severity))
    return [*{(each.rule, each.document, each.span, each.message): each for each in reversed(findings)}.values()][::-1]


def _comments_in(source: Source) -> list[Suppression]:
    """Return the suppressions in the comments of a file, which need not be a manifest. Annotations are in the rendered output, too."""
    from afflint.pipeline.suppressions import Suppression, suppressions_in
    from afflint.rendering.source_documents import documents_of

    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return []
    if b"afflint" not in data:
        return []
    documents = [each for each in documents_of(data).values() if each.problem is None]
    found = (each for document in documents for each in suppressions_in(document, (), rules(), CATEGORIES))
    return [each for each in found if isinstance(each, Suppression)]


# About fields that a kustomization may add to a manifest, or to the object that it patches.
_ABOUT_ABSENT_FIELDS = frozenset(("selector-missing", "selector-template-mismatch"))
# About labels of pods, which a kustomization may add.
_ABOUT_LABELS = frozenset(("label-not-on-template", "spread-misses-itself"))
# About apiVersion and kind, which are placeholders in a patch that has a target.
_ABOUT_VERSIONS = frozenset(("unserved-api-version", "deprecated-kubevirt-api", "missing-api-version"))
_ABOUT_KINDS = frozenset(("unknown-field", "misplaced-constraint", "wrong-type", "invalid-scheduling-field", "invalid-replicas"))
# About the selector of a custom resource, or of a pod term, which is another field.
_ABOUT_SELECTORS, _OF_TERMS = "selector-matches-nothing", "labelSelector"
# About the number of replicas, which a kustomization may change.
_ABOUT_REPLICAS = "drain-blocked"
_EXCUSABLE = {_ABOUT_SELECTORS, _ABOUT_REPLICAS} | _ABOUT_ABSENT_FIELDS | _ABOUT_LABELS | _ABOUT_VERSIONS | _ABOUT_KINDS


def _without_excused(findings: list[Finding], source: Source, pods: Iterable[Pods], kustomizations: Kustomizations) -> list[Finding]:
    """Return the findings that are true for every result of the kustomizations. ``pods`` are those of the file.

    Searching the repository for kustomizations takes long, so it is avoided where their use of the file does not matter.
    """
    if not any(finding.rule in _EXCUSABLE for finding in findings):
        return findings
    path = source.path
    about_labels = any(finding.rule in _ABOUT_LABELS for finding in findings)
    added = kustomizations.labels_added(path) if about_labels else frozenset()
    partial: dict[tuple[int, ObjectRef], bool] = {}
    for each in pods:
        key = each.site.document, each.ref
        partial[key] = each.partial or partial.get(key, False)
    partial.update({(each.document, each.object): True for each in findings if each.rule in _ABOUT_ABSENT_FIELDS})

    def is_excused(finding: Finding) -> bool:
        if finding.rule not in _EXCUSABLE:
            return False
        if finding.rule in _ABOUT_LABELS:
            return any(finding.field.endswith((f".{key}", f"[{key}]")) for key in added)
        if finding.rule in _ABOUT_ABSENT_FIELDS or finding.rule == _ABOUT_SELECTORS:
            return not finding.field.endswith(_OF_TERMS) and _may_be_completed(path, finding, kustomizations)
        above = kustomizations.use_above(path)
        if finding.rule == _ABOUT_REPLICAS:
            return above is not None or kustomizations.use_of(path) is not None
        # A patch with placeholders for apiVersion and kind is not a whole object.
        if above is None and not partial.get((finding.document, finding.object), True):
            return False
        use = kustomizations.use_of(path)
        if use is None:
            return False
        return use.targeted if finding.rule in _ABOUT_VERSIONS else bool(use.kinds) and finding.object.kind not in use.kinds

    return [finding for finding in findings if not is_excused(finding)]


def _may_be_completed(path: str, finding: Finding, kustomizations: Kustomizations) -> bool:
    """Return whether a kustomization may add what a finding misses: one with the file as a resource, or any if it is only a patch."""
    folders = dict.fromkeys(kustomizations.listing(path))
    if not folders:
        return kustomizations.use_of(path) is not None
    return any(may_change_selection(each, finding.object.kind or "") for each in folders)
