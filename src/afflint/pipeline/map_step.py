"""The map step: from the bytes of one file to its findings and facts. Pure: it opens no file and prints nothing.

A result contains neither the name of the file nor severities nor help: the same bytes give the same result under every name and every
configuration of severities. The reduce step adds these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.checks.match import Match, Target, located
from afflint.checks.registry import CATEGORIES, BoundRule, Dispatch, bind_rules, rules
from afflint.findings.finding import NO_OBJECT, Edit, Found, ObjectRef, Severity, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of, named_field
from afflint.index.facts import Fact, Facts, Pods, demands_of, facts_of, facts_of_file
from afflint.kube import NEWEST
from afflint.kube.kinds import HOLDER_NAMES, NAMES, WITHOUT_PODS, Kind
from afflint.kube.node_labels import PHYSICAL_HOST
from afflint.manifests.manifest import Manifest, Workload
from afflint.manifests.reader import manifests_in
from afflint.manifests.workload_sources import DeclaredSource, declared_sources
from afflint.pools.kinds import MARKS, may_declare
from afflint.source.skipped_files import NEEDS_TERRAFORM, TEST_DATA, reason_to_skip, role_in
from afflint.source.sources import is_template, is_terraform
from afflint.yaml import documents, prefilter, terraform
from afflint.yaml.document import Duplicate, map_at, value_at_path
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, items_of, kind_of
from afflint.yaml.placeholders import is_block

if TYPE_CHECKING:
    from afflint.charts.values import PatchedPart
    from afflint.checks.policies.evaluation import PolicyEvaluator
    from afflint.checks.templates import TemplateChecks
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.index.scheduler_configurations import SchedulerConfiguration
    from afflint.manifests.catalogue import CustomKind
    from afflint.pipeline.suppressions import Suppression
    from afflint.pools.pool import Pool, PoolPart
    from afflint.yaml.embedded import EmbeddedDocument
    from afflint.yaml.template_text import TemplateText

# A file without this word contains no suppressions.
_MARKER = b"afflint"
_NEWEST = Target(NEWEST)
# How chart values begin that a custom resource or a ConfigMap contains as text.
_TEXT_OF_VALUES = (b"alues: |", b"aluesContent: |", b"aluesTemplate: |", b".yaml: |", b".yml: |")
# How constraints begin that a chart takes as text.
_TEXT_OF_PATCHES = (b"patch: |", b"patch: '", b'patch: "', b"patchesStrategicMerge:")
_TEXT_OF_CONSTRAINTS = (b"ffinity: |", b"olerations: |", b"odeSelector: |", b"opologySpreadConstraints: |")
# One of these is in each document that configures kube-scheduler.
_SCHEDULER_CONFIGURATION = b"KubeSchedulerConfiguration"
_OF_SCHEDULERS = (_SCHEDULER_CONFIGURATION, b"config.openshift.io/")
# A text in each document with a mutating policy: `mutate`, `mutations` or the API group `mutations.gatekeeper.sh`.
_OF_MUTATING_POLICIES = b"mutat"
_MUTATING_KINDS = (
    b"ClusterPolicy", b"Policy", b"MutatingPolicy", b"NamespacedMutatingPolicy", b"MutatingAdmissionPolicy", b"Assign", b"AssignMetadata",
    b"ModifySet",
)  # fmt: skip
# Each fix compares the whole map, so files with many duplicate keys get none.
_FEW_REPEATED = 20
_NO_FACTS = Facts()
_NO_KIND = "no kind"


_MARKS = {**MARKS, **dict.fromkeys(_MUTATING_KINDS, (_OF_MUTATING_POLICIES,))}


class MapSettings(NamedTuple):
    """All input of the map step except the bytes. Picklable, and the same for every file."""

    rules: tuple[BoundRule, ...]
    target: Target = _NEWEST
    custom: tuple[Kind, ...] = ()
    inventory: bool = False
    """Whether the run may have nodes or node pools, so that facts contain everything that decides where pods may run."""
    auto_nodes: bool = True
    """Whether nodes and pools among the manifests are used for the workloads if no node files are named."""
    dumped: bool = False
    """Whether the files come from a cluster: pods in them run, so that their facts say nothing about their scheduling."""
    resources: bool = False
    """Whether facts contain the resource requests of pods."""
    lines: bool = False
    """Whether facts contain the lines of workloads, which only a plan shows."""
    host_key: str = PHYSICAL_HOST
    learnt: "tuple[CustomKind, ...]" = ()
    """Kinds that CustomResourceDefinitions of the run describe."""
    policies: tuple[str, ...] = ()
    """The names of all policies of the configuration, including those that are not selected."""
    root: str = ""
    """The folder that the globs of policies are relative to; "" for the working directory. The map step does not use it."""

    @property
    def has_outcomes(self) -> bool:
        """Whether some rules are policies about the result of a simulation, which counts the requests of pods."""
        return any(each.subject == "outcome" for each in self.rules)


def _runs(manifest: Manifest) -> bool:
    """Return whether an object of a dump is a pod or virtual machine instance that comes from the cluster."""
    from afflint.inventory.pod_files import RUNNING_KINDS, is_stored

    return manifest.kind.name in RUNNING_KINDS and is_stored(manifest.data)


def default_settings(names: Sequence[str] | None = None, *, target: Target | None = None) -> MapSettings:
    """Return settings with every rule that is on by default, or with exactly the named rules."""
    chosen = names if names is not None else [rule.name for rule in rules().values() if rule.default]
    return MapSettings(bind_rules(chosen), target or _NEWEST)


class FileResult(NamedTuple):
    """The result of the map step for one file.

    ``templated``: the file is a template. ``literal``: it is a template whose literal constraints were checked. ``unread``: its bytes could
    not be read. ``filled``: it contains placeholders, which were read as text.
    """

    found: tuple[Found, ...] = ()
    facts: Facts = _NO_FACTS
    suppressions: tuple["Suppression", ...] = ()
    documents: int = 0
    templated: bool = False
    literal: bool = False
    unread: bool = False
    filled: bool = False
    passed: tuple[str, ...] = ()
    """The kinds of the skipped documents, one for each document."""
    broken: tuple[int, ...] = ()
    """The numbers of the documents that could not be parsed to their end; of a template, all documents."""
    unknown: tuple[tuple[str, str], ...] = ()
    """The kinds, by group and name, that seem to create pods, but have neither a definition nor an entry in the catalogue."""
    custom: tuple[tuple[str, str], ...] = ()
    """The kinds of the checked custom resources, each with the source of its placement fields, one for each resource."""
    sources: tuple[DeclaredSource, ...] = ()
    """The objects that create workloads when a controller renders them."""
    skipped: str = ""
    """What the file is, if it contains neither manifests nor values: ``encrypted by git-crypt``."""
    values: bool = False
    """Whether the file contains the values of a chart, by its name or by its content."""
    overlooked: bool = False
    """Whether the file has placement values, and neither a kind, a name nor the content shows what they are for."""

    @property
    def readable(self) -> bool:
        """Whether later steps may read the objects of the file."""
        return not (self.templated or self.unread or self.skipped)


class _DocumentResult(NamedTuple):
    """The result of one document.

    ``is_template``: a tool inserts a block into it. ``other``: its kind, if afflint does not read that kind; ``counts``: whether it may be
    an object.
    """

    document: int
    found: tuple[Found, ...]
    facts: tuple[Fact, ...] = ()
    suppressions: tuple["Suppression", ...] = ()
    counts: bool = True
    is_broken: bool = False
    is_template: bool = False
    filled: bool = False
    other: str | None = None
    holds_nodes: bool = False
    unknown: tuple[tuple[str, str], ...] = ()
    custom: tuple[tuple[str, str], ...] = ()


def _certain(found: list[Found], name: str, data: bytes, *, is_broken: bool) -> list[Found]:
    """Return the findings of a file that are certain. A syntax error makes some doubtful, and a template makes all fixes doubtful."""
    if is_broken:  # The syntax error may hide the beginning of the object after it.
        found = [each for each in found if each.rule != "missing-api-version"]
    if any(each.edits for each in found) and prefilter.looks_templated(name, data):  # The rendered text may differ completely.
        found = [each._replace(edits=(), meant=()) for each in found]
    return found


def _facts(data: bytes, results: Sequence[_DocumentResult]) -> Facts:
    """Return the facts of a file from those of its documents."""
    holds_nodes = prefilter.is_node_list(data) or any(each.holds_nodes for each in results)
    return facts_of_file((fact for each in results for fact in each.facts), holds_nodes=holds_nodes)


class Checker:
    """Checks files under one set of settings. Each process creates one."""

    def __init__(self, settings: MapSettings, reading: prefilter.Reading = documents.read, *, verifies: bool = True) -> None:
        """``reading`` replaces ``documents.read`` for the documents of files; ``verifies``: fixes that cannot be applied are left out."""
        self._settings, self._reading, self._verifies = settings, reading, verifies
        self._verifier: Checker | None = None
        self._fixing = {each.name: each.rule.fix for each in settings.rules}
        self._dispatch = Dispatch(settings.rules, settings.target)
        self._custom = {(kind.group, kind.name): kind for kind in settings.custom}
        self._learnt = {(kind.group, kind.name): _with_catalogue(kind) for kind in settings.learnt}
        self._judge = _judge(settings.rules)
        self._template_checks: TemplateChecks | None = None
        self.triage = prefilter.Triage((*NAMES, *(kind.name for kind in settings.custom)), HOLDER_NAMES, _may_matter, _MARKS)

    def check(self, name: str, data: bytes, kept: "DocumentCache | None" = None) -> FileResult:
        """Check the bytes of one file; ``name`` is used only to recognise templates and the values of charts.

        ``kept`` has the results of its unchanged documents.
        """
        reason = reason_to_skip(name, data)
        if reason:
            return FileResult(skipped=reason)
        try:
            data = documents.to_utf8(data)
        except UnicodeDecodeError as error:
            return self.unreadable(f"broken UTF-16: {error.reason}", "Save the file as UTF-8.")
        if is_template(name):
            result = self._template(data)
            return result if result.literal or prefilter.has_kind(data) else FileResult()
        if is_terraform(name) and not (terraform.declares_pools(data) and terraform.is_available()):
            return FileResult(skipped=NEEDS_TERRAFORM if terraform.declares_pools(data) else "")
        results, skipped = self._document_results(data, kept)
        has_kinds = bool(skipped) or any(each.counts or each.other not in (None, _NO_KIND) for each in results)
        broken = tuple([each.document for each in results if each.is_broken])
        of_values, overlooked = ([], False) if has_kinds else self._values(name, data)
        if of_values:  # `kind: DaemonSet` is a value, too.
            results = [each for each in results if each.other is None] + of_values
        skipped += [each.other for each in results if each.other is not None]
        count = sum(each.counts for each in results)
        if self._settings.inventory and not count and _MARKER in data:
            results += self._suppressions_beside_nodes(data)
        # A file that was parsed without errors is YAML. A file that was not parsed may be a template, and is counted as one.
        templated = (broken or not count) and prefilter.looks_templated(name, data) and (broken or not prefilter.parses(data))
        if templated or any(each.is_template for each in results):
            result = self._template(data) if templated else FileResult(templated=True)
            return result._replace(broken=tuple(range(max(count, 1))), sources=tuple(declared_sources(data)))
        facts = _facts(data, results)
        return FileResult(
            tuple(_certain([found for each in results for found in each.found], name, data, is_broken=bool(broken))),
            facts,
            tuple(self._with_unused_policies(results, facts)),
            count,
            filled=any(each.filled for each in results),
            passed=tuple(skipped),
            broken=broken,
            unknown=tuple(dict.fromkeys(kind for each in results for kind in each.unknown)),
            custom=tuple([way for each in results for way in each.custom]),
            sources=tuple(declared_sources(data)),
            values=bool(of_values),
            overlooked=overlooked,
        )

    def _template(self, data: bytes) -> FileResult:
        """Return what is found in the literal text of a template; it gives no facts, because anything may be missing in it."""
        text = None
        if _mentions_placement(data):
            from afflint.checks.templates import has_constraints
            from afflint.yaml.template_text import template_text

            text = template_text(data)
        if text is None:
            return FileResult(templated=True)
        results = list(self._named_templates(data))
        literal = bool(results)
        for document in text.documents(_mentions_placement):
            manifests = self.manifests(document)
            matches = self._matches(manifests, text, fixing=False)
            results.append(_DocumentResult(document.index, tuple(matches), suppressions=self._suppressions(document, manifests)[1]))
            literal = literal or has_constraints(manifests)
        found = tuple([found for each in results for found in each.found])
        silenced = tuple([suppression for each in results for suppression in each.suppressions])
        return FileResult(found, suppressions=silenced, templated=True, literal=literal or bool(found))

    def _named_templates(self, data: bytes) -> "Iterator[_DocumentResult]":
        """Yield what is found in each named template with constraints."""
        if b"define" not in data:
            return
        from afflint.charts.values import constraints_in_named_templates

        for (document, template), workloads in constraints_in_named_templates(data.decode("utf-8")):
            matches = [(each, *match) for each in workloads for match in self._matches_of(each, template, grows=True)]
            found = [located(rule, match, (), each.ref, document, fixing=False) for each, rule, match in matches]
            yield _DocumentResult(document.index, tuple(found), suppressions=self._suppressions(document, ())[1])

    def _document_results(self, data: bytes, kept: "DocumentCache | None") -> "tuple[list[_DocumentResult], list[str]]":
        """Return the results of the documents that may matter, and the kinds of the others."""
        if kept is not None:
            kept.begin(self)
        read, skipped = self.triage.triaged(data, reading=self._reading if kept is None else kept.read)
        return list(map(self._result_of if kept is None else kept.result, read)), skipped

    def _with_unused_policies(self, results: "Sequence[_DocumentResult]", facts: Facts) -> "Iterable[Suppression]":
        """Return the suppressions, each with the policies that it names and that all workloads of the file meet."""
        suppressions = [suppression for each in results for suppression in each.suppressions]
        if self._judge is None or not suppressions or any(each.unknown for each in results):
            return suppressions
        from afflint.pipeline.suppressions import with_idle

        return with_idle(suppressions, {each.name for each in self._settings.rules if each.subject == "policy"}, facts)

    def _result_of(self, document: Document) -> "_DocumentResult":
        """Return the result of one document, with only those fixes that can be applied."""
        return self._with_applicable_fixes(self._unverified(document), document, Checker._unverified)

    def _with_applicable_fixes(
        self, result: _DocumentResult, document: Document, check: "Callable[[Checker, Document], _DocumentResult]"
    ) -> _DocumentResult:
        """Return the result that ``check`` has for a document without the fixes that cannot be applied."""
        if not self._verifies or not any(each.edits for each in result.found):
            return result
        from afflint.pipeline.fixing import without_harmful_fixes

        if self._verifier is None:
            self._verifier = fix_checker(self._settings)
        verifier = self._verifier

        def matches(text: bytes) -> list[Found]:
            read = [documents.read(piece, document.index, document.line + line) for piece, line, _ in documents.split(text)]
            return [found for each in read for found in check(verifier, each).found]

        # Without further rules, it finds the same.
        before = result.found if len(verifier._settings.rules) == len(self._settings.rules) else None
        return result._replace(found=without_harmful_fixes(document, result.found, matches, before))

    def _unverified(self, document: Document) -> "_DocumentResult":
        if document.problem is not None:
            unreadable = tuple(self._own("unreadable-manifest", document.index, document.problem.span, document.problem.message))
            return _DocumentResult(document.index, unreadable, is_broken=True, is_template=_is_template(document, document.problem))
        found: list[Found] = []
        manifests = self.manifests(document)
        declared = read_pools(document)
        facts: list[Fact] = [*declared, *_schedulers(document), *_mutating_policies(document)]
        if document.rest is not None:
            found += self._text_behind(document, manifests)
        found += self._check_document(document, manifests)
        found += self._embedded_values(document)
        inside = self._embedded_manifests(document) if _holds_manifests(document.raw_bytes) else ()
        for (_, template), held in inside:
            found += self._matches(held, template, fixing=False)
        read = [self._suppressions(inner, held) for (inner, _), held in inside] + [self._suppressions(document, manifests)]
        other = None if manifests or declared or inside else _other_kind(document)
        counts = bool(manifests or declared or inside) or (other is None and _says_kind(document))
        for manifest in manifests:
            settings = self._settings
            with_spec = settings.inventory and not (settings.dumped and _runs(manifest))
            manifest_facts = list(facts_of(manifest, with_spec=with_spec, resources=settings.resources, lines=settings.lines))
            facts += manifest_facts
            if self._judge is not None and manifest_facts and isinstance(manifest_facts[0], Pods) and isinstance(manifest, Workload):
                policy_candidate = self._judge.policy_candidate(manifest, manifest_facts[0])
                facts += [] if policy_candidate is None else [policy_candidate]
        return _DocumentResult(
            document.index,
            (*found, *(fault for faults, _ in read for fault in faults)),
            tuple(facts),
            tuple([suppression for _, suppressions in read for suppression in suppressions]),
            counts=counts,
            is_broken=document.rest is not None,
            filled=document.filled,
            other=other,
            # Without a name it is a fragment, such as the expectation of a test.
            holds_nodes=any(manifest.kind.name == "Node" and bool(manifest.ref.name) for manifest in manifests),
            unknown=() if declared else tuple(self._unknown(document, manifests)),
            custom=tuple(self._ways(manifests)),
        )

    def _unknown(self, document: Document, manifests: Sequence[Manifest]) -> Sequence[tuple[str, str]]:
        """Return the kinds of a document, and of what it holds, that neither the catalogue nor a definition describes."""
        items = items_of(document.data) if kind_of(document.data) == "List" else []
        custom = any(each.operated for each in manifests) if manifests else _names_custom_kind(document.data)
        if not custom and not any(map(_names_custom_kind, items)):
            return ()
        from afflint.manifests.custom_resources import unknown_kinds

        return unknown_kinds((document.data, *items), manifests, self._learnt)

    def _ways(self, manifests: Sequence[Manifest]) -> Iterator[tuple[str, str]]:
        """Return kind and source of the placement fields of each custom resource, each resource once."""
        ways: dict[Path, tuple[str, str]] = {}
        for each in manifests:
            if each.operated:
                if each.base not in ways or each.placement_source != "its shape":
                    ways[each.base] = each.kind.name, each.placement_source
            elif self._custom and (each.kind.group, each.kind.name) in self._custom:
                ways[each.base] = each.kind.name, "the configuration"
        return iter(ways.values())

    def manifests(self, document: Document) -> list[Manifest]:
        """Return the manifests in a document; a manifest with several templates occurs once for each template."""
        return list(manifests_in(document, self._custom, self._learnt))

    def unreadable(self, message: str, remedy: str = "") -> FileResult:
        """Return the result for a file that cannot be read or decoded. ``remedy``: the help, if fixing the YAML would not help."""
        return FileResult(tuple(self._own("unreadable-manifest", 0, Span(1, 1, 1, 1), message, remedy)), unread=True, broken=(0,))

    def _check_document(self, document: Document, manifests: Sequence[Manifest]) -> Iterator[Found]:
        if document.duplicates:
            separators = list(self._missing_separators(document))
            if separators:
                yield from separators  # The values of several objects are mixed, so other findings would be wrong.
                return
            if manifests:
                yield from self._duplicates(document, manifests)
        yield from self._matches(manifests)

    def _matches(self, manifests: Iterable[Manifest], template: "TemplateText | None" = None, *, fixing: bool = True) -> Iterator[Found]:
        """Yield what the checks of single objects find in the manifests of a document, or of the ``template``; ``fixing``: with fixes."""
        for manifest in manifests:
            document = manifest.document
            for rule, match in self._matches_of(manifest, template):
                if document.has_directives and _is_directed(document, match):
                    continue
                yield located(rule, match, manifest.base, manifest.ref, document, fixing=fixing and self._fixing[rule] != "none")

    def _matches_of(self, manifest: Manifest, template: "TemplateText | None", *, grows: bool = False) -> Iterator[tuple[str, Match]]:
        if template is None:
            return self._dispatch.matches(manifest)
        from afflint.checks.templates import TemplateChecks

        if self._template_checks is None:
            self._template_checks = TemplateChecks(self._settings.rules, self._settings.target)
        return self._template_checks.matches(manifest, template, grows=grows)

    def _values(self, name: str, data: bytes) -> "tuple[list[_DocumentResult], bool]":
        """Return the results of the values with constraints in a file, and whether it has others, which may not be values."""
        from afflint.charts.values import are_values, constraints_in_values

        named = prefilter.is_values_file(name) or prefilter.holds_values(data)
        excluded = prefilter.in_template_folder(name) if named else role_in(name) == TEST_DATA
        if excluded or not _mentions_placement(data):
            return [], False

        def unverified(checker: Checker, document: Document) -> _DocumentResult:
            manifests, inside = list(constraints_in_values(document, {})), list(checker._embedded_values(document))
            if not manifests and not inside:  # A suppression may be for what the chart does with the values.
                return _DocumentResult(document.index, (), suppressions=checker._suppressions(document, ())[1], counts=False)
            # Nothing shows that the pools of the run are those of a file that only its content shows to be values.
            compared = manifests if named and checker._settings.inventory else ()
            demands = [each for workload in compared for each in demands_of(workload)]
            faults, suppressions = checker._suppressions(document, manifests)
            found = checker._check_document(document, manifests)
            return _DocumentResult(document.index, (*found, *inside, *faults), tuple(demands), suppressions)

        results, overlooked = [], False
        for document in self.triage.documents(data, named=True):
            is_read = True if named else are_values(document)
            if not is_read or prefilter.in_template_folder(name):
                overlooked = overlooked or is_read is not None
                continue
            result = unverified(self, document)
            if result.counts or result.suppressions:
                results.append(self._with_applicable_fixes(result, document, unverified))
        return results, overlooked

    def _embedded_values(self, document: Document) -> Iterator[Found]:
        """Yield what is found in chart values, in constraints and in patches that a document contains as text."""
        if any(each in document.raw_bytes for each in _TEXT_OF_PATCHES):
            yield from self._embedded_patches(document)
        if b": |" not in document.raw_bytes:
            return
        is_values = any(each in document.raw_bytes for each in _TEXT_OF_VALUES)
        if not is_values and not any(each in document.raw_bytes for each in _TEXT_OF_CONSTRAINTS):
            return
        from afflint.charts.values import constraints_in_values, embedded_constraints, embedded_values

        values = [*embedded_values(document)] if is_values else []
        constraints = [*embedded_constraints(document)]
        constraints += [((*path, *at), inner) for path, each in values for at, inner in embedded_constraints(each.document)]
        for index, (path, (inner, template)) in enumerate((*values, *constraints)):
            for workload in constraints_in_values(inner, document.data, whole=index < len(values)):
                for rule, match in self._matches_of(workload, template):
                    each = located(rule, match, (), workload.ref, inner, fixing=False)
                    yield _inside(each, path, match)

    def _embedded_patches(self, document: Document) -> Iterator[Found]:
        from afflint.charts.values import constraints_in_patch, embedded_patches, patched_parts

        for path, inner in embedded_patches(document):
            around = map_at(value_at_path(document.data, *path[:-1]))
            parts = list(patched_parts(inner, map_at(around, "target") or {"kind": around.get("resourceType")}))
            for part in parts:
                for workload in self.manifests(part):
                    for rule, match in self._matches_of(workload, None):
                        there = _in_operation(match, part)
                        yield _inside(located(rule, there, (), workload.ref, inner, fixing=False), path, there)
            whole = [each for each in self.manifests(inner) if isinstance(each, Workload) and not each.operated]
            for workload in whole or constraints_in_patch(inner, document.data, [part.operation for part in parts]):
                for rule, match in self._matches_of(workload, None):
                    yield _inside(located(rule, match, (), workload.ref, inner, fixing=False), path, match)

    def _embedded_manifests(self, document: Document) -> "list[tuple[EmbeddedDocument, list[Manifest]]]":
        """Return the manifests that a document contains as text, by the document that each is in.

        They are checked alone: whether and where they are applied is unknown, so they are not facts about the cluster of the others.
        """
        from afflint.manifests.texts import manifests_as_text

        read = [(inner, self.manifests(inner.document)) for inner in manifests_as_text(document)]
        return [(inner, held) for inner, held in read if held]

    def _suppressions(self, document: Document, manifests: Sequence[Manifest]) -> "tuple[tuple[Found, ...], tuple[Suppression, ...]]":
        """Return the findings about invalid suppressions in a document, and the valid ones."""
        if _MARKER not in document.raw_bytes:
            return (), ()
        from afflint.pipeline.suppressions import Suppression, suppressions_in

        read = list(suppressions_in(document, manifests, (*rules(), *self._settings.policies), CATEGORIES))
        faults = [each for each in read if not isinstance(each, Suppression)]
        found = [one for each in faults for one in self._own("invalid-suppression", each.document, each.span, each.message, each.remedy)]
        return tuple(found), tuple([each for each in read if isinstance(each, Suppression)])

    def _suppressions_beside_nodes(self, data: bytes) -> "Iterator[_DocumentResult]":
        """Yield the suppressions of a node list written by hand, which has no kind and is therefore not among the documents of triage."""
        from afflint.inventory.node_files import is_short_list

        read = [document for document in self.triage.documents(data, named=True) if document.problem is None]
        if any(is_short_list(document.data) for document in read):
            for document in read:
                faults, suppressions = self._suppressions(document, ())
                yield _DocumentResult(document.index, faults, suppressions=suppressions, counts=False)

    def _text_behind(self, document: Document, manifests: Sequence[Manifest]) -> Iterator[Found]:
        from afflint.yaml.diagnostics import text_behind

        whole = manifests[0] if manifests and not manifests[0].base else None
        kind = kind_of(document.data)
        fault = text_behind(document, whole.title() if whole else f"the {kind}" if kind else "")
        if fault is not None:
            ref = whole.ref if whole else NO_OBJECT
            yield from self._own("text-after-document", document.index, fault.span, fault.message, fault.help, ref=ref)

    def _missing_separators(self, document: Document) -> Iterator[Found]:
        from afflint.yaml.diagnostics import missing_separators

        for fault in missing_separators(document):
            yield from self._own("missing-separator", document.index, fault.span, fault.message, fault.help, edits=fault.edits)

    def _duplicates(self, document: Document, manifests: Sequence[Manifest]) -> Iterator[Found]:
        objects = {each.base: each.ref for each in reversed(manifests)}
        of_values = any(each.kind.name == "values" for each in manifests[:1])
        for duplicate in document.duplicates:
            path = duplicate.path
            # Helm and Argo CD accept values that override those of an anchor, and no API server reads them.
            if (duplicate.overrides and of_values) or not any(each.covers(path) for each in manifests):
                continue
            base = next((path[:length] for length in range(len(path), 0, -1) if path[:length] in objects), ())
            message, remedy = _about_duplicate(duplicate)
            edits: tuple[Edit, ...] = ()
            if len(document.duplicates) <= _FEW_REPEATED and self._fixing.get("duplicate-key", "none") != "none" and not document.filled:
                from afflint.yaml.editing import without_repetition

                edits = without_repetition(document, path)
            yield from self._own(
                "duplicate-key",
                document.index,
                duplicate.span,
                message,
                remedy,
                ref=objects.get(base, manifests[0].ref),
                field=path[len(base) :],
                item=named_field(document.data, path, len(base)),
                edits=edits,
                severity="info" if duplicate.overrides else "warning" if duplicate.is_merged else None,
            )

    def _own(
        self,
        rule: str,
        document: int,
        span: Span,
        message: str,
        remedy: str = "",
        *,
        ref: ObjectRef = NO_OBJECT,
        field: Path = (),
        item: str = "",
        edits: tuple[Edit, ...] = (),
        severity: Severity | None = None,
    ) -> Iterator[Found]:
        """Yield a finding of a rule without a check function, if the rule is selected."""
        if rule in self._fixing:
            edits = edits if self._fixing[rule] != "none" else ()
            yield Found(rule, message, remedy, document, span, ref, field_of(field), severity, edits=edits, item=item)


def _about_duplicate(duplicate: Duplicate) -> tuple[str, str]:
    """Return message and help for a duplicate key; the help is empty if that of the rule page applies."""
    key, line = duplicate.path[-1], duplicate.first.line
    if duplicate.overrides:
        message = f"`{key}` overrides the value that the merge key `<<` adds from line {line}; "
        message += "an API server with strict validation rejects this YAML"
        return message, "kubectl, kustomize and Helm accept this; if a client sends the file as YAML, move the value out of the anchor."
    if not duplicate.is_merged:
        return f"duplicate key `{key}` (first set on line {line}); only the last one takes effect", ""
    message = f"the merge key `<<` sets `{key}` again (first set on line {line}): kubectl and Helm use the merged value, kustomize does not"
    return message, "Write the merge key above the keys that override its values."


def _is_template(document: Document, problem: documents.Problem) -> bool:
    """Return whether a document cannot be read because of a line that a tool replaces."""
    number = problem.span.line - document.line - 1
    lines = document.text().splitlines()
    return 0 <= number < len(lines) and is_block(lines[number])


def _with_catalogue(kind: "CustomKind") -> "CustomKind":
    """Return a kind that a definition describes, with what the catalogue knows about it."""
    from afflint.manifests.catalogue import custom_kind_of
    from afflint.manifests.structural_schemas import with_definition

    known = custom_kind_of(kind.group, kind.name)
    return kind if known is None else with_definition(known, kind)


def _schedulers(document: Document) -> "Iterable[SchedulerConfiguration]":
    """Return the configurations of kube-scheduler in a document."""
    if not any(mark in document.raw_bytes for mark in _OF_SCHEDULERS):
        return ()
    from afflint.index.scheduler_configurations import configurations_in

    return configurations_in(document)


def _mutating_policies(document: Document) -> "Iterable[MutatingPolicy]":
    if _OF_MUTATING_POLICIES not in document.raw_bytes:
        return ()
    from afflint.index.mutating_policies import mutating_policies

    return mutating_policies(document)


def _judge(rules: Sequence[BoundRule]) -> "PolicyEvaluator | None":
    """Return the evaluator of the policies among some rules; None if there are none."""
    if all(each.subject != "policy" for each in rules):
        return None
    from afflint.checks.policies.evaluation import PolicyEvaluator

    return PolicyEvaluator(rules)


def _in_operation(match: Match, part: "PatchedPart") -> Match:
    """Return a match in what an operation of a JSON patch sets as one in the patch."""
    at_value = match.path[: len(part.path)] == part.path
    if match.key and match.path == part.path:
        return match._replace(path=(part.operation, "path"), key=False, field=None)
    return match._replace(path=part.in_patch(match.path), key=match.key and at_value, field=None)


def _inside(found: Found, path: Path, match: Match) -> Found:
    """Return a finding in the text at a path of a document, with the field in the whole document."""
    field = (*path, *(match.path if match.field is None else match.field))
    return found._replace(field=field_of(field), item=found.item and f"{field_of(path)}.{found.item}")


def _mentions_placement(text: bytes) -> bool:
    from afflint.kube.shapes import mentions_placement

    return mentions_placement(text)


def _holds_manifests(text: bytes) -> bool:
    """Return whether a document may contain manifests with constraints or pods as text, see ``kube.manifest_texts``."""
    if b": |" not in text or b" apiVersion:" not in text:
        return False
    if _SCHEDULER_CONFIGURATION in text:
        return True
    return b"containers:" in text or _mentions_placement(text)


def _may_matter(name: bytes, piece: bytes) -> bool:
    """Return whether a document of a kind that afflint does not know by name may be a custom resource that creates pods."""
    if name in WITHOUT_PODS:
        if name == b"Kustomization" and any(each in piece for each in (b"valuesInline", *_TEXT_OF_PATCHES)):
            return _mentions_placement(piece)
        if name not in _OF_TEXTS:
            return False
        return b"-monitoring-config" in piece or _SCHEDULER_CONFIGURATION in piece or _holds_values_file(piece) or _holds_manifests(piece)
    from afflint.manifests.catalogue import groups_without_words

    if any(word in piece for word in _MISSPELT_METADATA):
        return True
    return _mentions_placement(piece) or any(group in piece for group in groups_without_words(name))


_MISSPELT_METADATA = (b"\n  label:", b"\n  annotation:")
"""The most common mistakes in the metadata of an object."""


_OF_TEXTS = (b"ConfigMap", b"Secret")


def _holds_values_file(piece: bytes) -> bool:
    """Return whether a ConfigMap or a Secret may contain a values file of a chart with constraints, see ``charts.values``."""
    if b"values" not in piece or not (b".yaml: |" in piece or b".yml: |" in piece):
        return False
    return _mentions_placement(piece)


def fix_checker(settings: MapSettings) -> Checker:
    """Return the checker that verifies fixes: with the rules of the category admission, even if they are not selected."""
    admission = {name for name, rule in rules().items() if rule.category == "admission" and rule.default}
    missing = admission.difference(each.name for each in settings.rules)
    return Checker(settings._replace(rules=(*settings.rules, *bind_rules(missing))), verifies=False)


class DocumentCache:
    """The results of the documents of one text. After an edit, only documents that have changed or moved are read again."""

    def __init__(self) -> None:
        self._checker: Checker | None = None
        self._before: dict[tuple[bytes, int, int], _CachedDocument] = {}
        self._now: dict[tuple[bytes, int, int], _CachedDocument] = {}

    def begin(self, checker: Checker) -> None:
        """Start another check of the text. Results of another checker are dropped."""
        self._before = self._now if self._checker is checker else {}
        self._now = {}
        self._checker = checker

    def read(self, piece: bytes, index: int, line: int) -> Document:
        """Replace ``documents.read``: return a document, from the cache if it has not changed."""
        key = piece, index, line
        known = self._before.get(key)
        self._now[key] = known if known is not None else _CachedDocument(documents.read(piece, index, line))
        return self._now[key].document

    def result(self, document: Document) -> _DocumentResult:
        """Return the result of a document."""
        assert self._checker is not None
        known = self._now.get((document.raw_bytes, document.index, document.line))
        if known is None or known.document is not document:
            return self._checker._result_of(document)
        if known.result is None:
            known.result = self._checker._result_of(document)
        return known.result


class _CachedDocument:
    """A document and its result."""

    __slots__ = ("document", "result")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.result: _DocumentResult | None = None


def _is_directed(document: Document, match: Match) -> bool:
    from afflint.yaml.patch_directives import is_directed

    return is_directed(document.data, match.path)


def read_pools(document: Document) -> "list[Pool | PoolPart]":
    """Return the node pools, and the parts of node pools, that a document declares. The reader is imported only if one may be there."""
    if type(document.data) is not dict or not may_declare(document.data, document.raw_bytes):
        return []
    from afflint.pools.reader import pools_in

    return list(pools_in(document))


def _says_kind(document: Document) -> bool:
    """Return whether a document may be an object of any kind. A report that quotes objects is not one."""
    return document.rest is not None or (type(document.data) is dict and "kind" in document.data)


def _names_custom_kind(data: object) -> bool:
    """Return whether the API group of a document may be that of custom resources."""
    return bool(kind_of(data)) and "." in api_version_of(data)


def _other_kind(document: Document) -> str | None:
    """Return the kind of a document that afflint does not read; None if the document may be of a kind that it reads."""
    if type(document.data) is not dict or document.rest is not None:
        return None
    if "kind" not in document.data and document.data.keys().isdisjoint(("apiVersion", "nodes")):
        return _NO_KIND  # Settings of a tool, values, or a report, whose text mentions kinds.
    beside = document.data.keys() - {"kind"}
    if kind_of(document.data) and beside and beside.isdisjoint(("apiVersion", "metadata", "spec", "items", "nodes", "template")):
        return _NO_KIND  # Values, where `kind: DaemonSet` chooses between templates.
    kind = kind_of(document.data)
    return kind if kind and kind not in NAMES else None
