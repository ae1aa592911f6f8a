"""Bytes and rules in, findings out: map over files, then reduce over what they told. Pure: nothing is opened, printed or ended here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from afflint.checks.match import NEWEST, FleetMatch, Match, Place, Target
from afflint.facts import Facts, Pods, Reach, facts_of
from afflint.findings import NO_OBJECT, Edit, Finding, Fix, ObjectRef, Path, Related, Severity, Span, field_of
from afflint.fleet import Fleet
from afflint.kube.kinds import NAMES, Kind
from afflint.kube.manifests import Manifest, manifests_in
from afflint.reading import documents, triage
from afflint.reading.documents import Document
from afflint.rules import CATEGORIES, FLEET_CHECKS, NODE_RULES, ManifestChecks, Rule, node_checks, rules

if TYPE_CHECKING:
    from afflint.node_files import NodeFact
    from afflint.suppressions import Suppression

# Where a file does not name us, it suppresses nothing.
_MARKER = b"afflint"


class Settings(NamedTuple):
    """What a run needs to know besides the bytes. Picklable, and the same for every file."""

    selected: frozenset[str]
    severities: tuple[tuple[str, Severity], ...] = ()
    target: Target = Target(NEWEST)
    custom: tuple[Kind, ...] = ()
    with_nodes: bool = False
    """Whether the run has an inventory of nodes, so that facts must hold what decides where pods may run."""
    host_key: str = "node.cluster.x-k8s.io/esxi-host"


class FileResult(NamedTuple):
    """What the map step got out of one file. ``templated`` when it was skipped as a template."""

    name: str
    findings: tuple[Finding, ...] = ()
    facts: Facts = Facts()
    suppressions: tuple[Suppression, ...] = ()
    documents: int = 0
    templated: bool = False
    unread: bool = False


Reader = Callable[[str], bytes]
"""Gives the bytes of a file of the run again, by its name: the reduce step asks for the few that it has to point into."""


class Checker:
    """Checks files under one set of settings. Made once per process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._severities = dict(settings.severities)
        self._checks = ManifestChecks(settings.selected)
        self._custom = {(kind.group, kind.name): kind for kind in settings.custom}
        self._triage = triage.Triage((*NAMES, *(kind.name for kind in settings.custom)))

    # Map: one file at a time.

    def check(self, name: str, data: bytes) -> FileResult:
        """Lint the bytes of one file; ``name`` is only for the report and to recognise templates."""
        try:
            data = documents.to_utf8(data)
        except UnicodeDecodeError as error:
            return self.unreadable(name, f"broken UTF-16: {error.reason}")
        findings: list[Finding] = []
        facts: list[Pods | Reach] = []
        silenced: list[Suppression] = []
        count, broken = 0, False
        for document in self._triage.documents(data):
            count += 1
            if document.problem is not None:
                broken = True
                findings += self._unreadable(name, document.index, document.problem)
                continue
            manifests = list(manifests_in(document, self._custom))
            findings += self._check_document(name, document, manifests)
            for manifest in manifests:
                facts += facts_of(manifest, name, with_spec=self._settings.with_nodes)
            if _MARKER in document.raw_bytes:
                from afflint.suppressions import Suppression, suppressions_in

                for each in suppressions_in(document, manifests, rules(), CATEGORIES):
                    if isinstance(each, Suppression):
                        silenced.append(each)
                    else:
                        findings += self._own("invalid-suppression", name, each.document, each.span, each.message, each.remedy)
        # What was parsed and is not broken is YAML; what was not worth parsing may still be a template, and is counted as one.
        if (broken or not count) and triage.looks_templated(name, data) and (broken or not triage.parses(data)):
            return FileResult(name, templated=True)
        return FileResult(name, tuple(findings), _sorted_facts(facts), tuple(silenced), count)

    def unreadable(self, name: str, message: str) -> FileResult:
        """The result for a file whose bytes cannot be had or decoded."""
        problem = documents.Problem(message, Span(1, 1, 1, 1))
        return FileResult(name, tuple(self._unreadable(name, 0, problem)), unread=True)

    def _check_document(self, name: str, document: Document, manifests: Sequence[Manifest]) -> Iterator[Finding]:
        if document.duplicates and manifests:
            yield from self._duplicates(name, document, manifests[0])
        for manifest in manifests:
            for rule, check in self._checks.of(manifest):
                for match in check(manifest, self._settings.target):
                    yield self._finding(rules()[rule], match, name, document, manifest.base, manifest.ref)

    # Reduce: all files together.

    def check_fleet(
        self, facts: Iterable[Facts], read: Reader, wanted: Callable[[str], bool], nodes: Sequence[NodeFact] = ()
    ) -> Iterator[Finding]:
        """The findings of cross-manifest rules, and of those about nodes, in files that are ``wanted``; the others are only context."""
        selected = self._settings.selected
        if selected.isdisjoint(FLEET_CHECKS) and (not nodes or selected.isdisjoint(node_checks())):
            return
        fleet = Fleet(facts)
        locator = _Locator(self._triage, read)
        for rule, found in self._fleet_matches(fleet, nodes):
            if wanted(found.site.file):
                yield self._fleet_finding(rules()[rule], found, locator)

    def _fleet_matches(self, fleet: Fleet, nodes: Sequence[NodeFact]) -> Iterator[tuple[str, FleetMatch]]:
        selected, target = self._settings.selected, self._settings.target
        for rule, check in FLEET_CHECKS.items():
            if rule in selected:
                for found in check(fleet, target):
                    yield rule, found
        if nodes:
            from afflint.checks.cluster_view import ClusterView

            view = ClusterView(nodes, fleet, self._settings.host_key)
            for rule, node_check in node_checks().items():
                if rule in selected:
                    for found in node_check(fleet, view, target):
                        yield rule, found

    def _fleet_finding(self, rule: Rule, found: FleetMatch, locator: _Locator) -> Finding:
        site, match = found.site, found.match
        document = locator.document(site.file, site.document)
        finding = self._finding(rule, match, site.file, document, site.base, found.ref)
        return finding._replace(related=tuple(locator.related(place) for place in match.related))

    # Suppressions, once all findings of a file are known.

    def silence(self, result: FileResult, findings: Sequence[Finding]) -> tuple[list[Finding], int]:
        """What remains of a file's findings after its suppressions, those that silence nothing added; and how many were silenced."""
        if not result.suppressions:
            return list(findings), 0
        from afflint.suppressions import apply

        kept, count, unused = apply(findings, result.suppressions, lambda name: rules()[name].category)
        for suppression, names in unused:
            kept += self._unused(result.name, suppression, names)
        return kept, count

    def _unused(self, name: str, suppression: Suppression, names: tuple[str, ...]) -> Iterator[Finding]:
        if any(each and not self._can_tell(each) for each in names):
            return
        listed = ", ".join(f"`{each}`" for each in names if each)
        message = f"this suppression silences nothing{f' of {listed}' if listed else ''}"
        from afflint.suppressions import removal_fix

        fix = removal_fix(suppression) if len(names) == max(len(suppression.rules), 1) else None
        yield from self._own("unused-suppression", name, suppression.document, suppression.span, message, "", fix)

    def _can_tell(self, name: str) -> bool:
        """Whether this run could have found what a suppression names: not rules that are off, or that need other files."""
        return name in self._settings.selected and name not in FLEET_CHECKS and name not in NODE_RULES

    # Findings.

    def _finding(self, rule: Rule, match: Match, name: str, document: Document, base: Path, ref: ObjectRef) -> Finding:
        span = document.locate(match.path, key=match.key)
        field = match.path if match.field is None else match.field
        fix = None
        if match.replacement is not None and rule.fix != "none":
            fix = Fix(rule.fix == "safe", (Edit(span, match.replacement),))
        finding = self._stamp(rule, match.message, match.help, name, document.index, span, ref, field[len(base) :], fix)
        return finding._replace(severity=match.severity) if match.severity and rule.name not in self._severities else finding

    def _stamp(
        self,
        rule: Rule,
        message: str,
        remedy: str,
        name: str,
        document: int,
        span: Span,
        ref: ObjectRef,
        field: Path,
        fix: Fix | None = None,
    ) -> Finding:
        severity = self._severities.get(rule.name, rule.severity)
        remedy = remedy or rule.remedy()
        return Finding(rule.name, rule.category, severity, message, remedy, name, document, span, ref, field_of(field), (), fix)

    def _own(self, rule: str, name: str, document: int, span: Span, message: str, remedy: str, fix: Fix | None = None) -> Iterator[Finding]:
        if rule in self._settings.selected:
            yield self._stamp(rules()[rule], message, remedy, name, document, span, NO_OBJECT, (), fix)

    def _unreadable(self, name: str, document: int, problem: documents.Problem) -> Iterator[Finding]:
        return self._own("unreadable-manifest", name, document, problem.span, problem.message, "")

    def _duplicates(self, name: str, document: Document, manifest: Manifest) -> Iterator[Finding]:
        for duplicate in document.duplicates:
            first = f"first on line {duplicate.first.line}"
            message = f"the key `{duplicate.path[-1]}` stands here again ({first}); the last one silently wins"
            if "duplicate-key" in self._settings.selected:
                yield self._stamp(rules()["duplicate-key"], message, "", name, document.index, duplicate.span, manifest.ref, duplicate.path)


def _sorted_facts(facts: Sequence[Pods | Reach]) -> Facts:
    pods = tuple(each for each in facts if isinstance(each, Pods))
    return Facts(pods, tuple(each for each in facts if isinstance(each, Reach)))


class _Locator:
    """Opens the few documents again that cross-manifest findings point into."""

    def __init__(self, reader: triage.Triage, read: Reader) -> None:
        self._triage = reader
        self._read = read
        self._file = ""
        self._documents: dict[int, Document] = {}
        self._spans: dict[tuple[str, int, Path, bool], Span] = {}

    def document(self, file: str, index: int) -> Document:
        """A document of a file; an empty one when the file has changed or gone in the meantime."""
        if file != self._file:
            try:
                data = documents.to_utf8(self._read(file))
            except (OSError, UnicodeDecodeError):
                data = b""
            self._file, self._documents = file, {each.index: each for each in self._triage.documents(data)}
            if index not in self._documents and data:
                # A list of nodes written by hand names no kind.
                self._documents |= {
                    index: documents.read(piece, index, line) for index, (piece, line, _) in enumerate(documents.split(data))
                }
        return self._documents.get(index) or Document(b"", index, 0)

    def related(self, place: Place) -> Related:
        key = place.file, place.document, place.path, place.key
        if key not in self._spans:
            self._spans[key] = self.document(place.file, place.document).locate(place.path, key=place.key)
        return Related(place.file, self._spans[key], place.message)


def default_settings(names: Sequence[str] | None = None) -> Settings:
    """Settings with every rule that is on by default, or with exactly the named ones."""
    chosen = names if names is not None else [rule.name for rule in rules().values() if rule.default]
    return Settings(frozenset(chosen))
