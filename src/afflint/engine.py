"""Bytes and rules in, findings out: map over files, then reduce over what they told. Pure: nothing is opened, printed or ended here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from afflint.checks.match import NEWEST, FleetMatch, Match, Target
from afflint.findings import NO_OBJECT, Edit, Finding, Fix, ObjectRef, Path, Related, Severity, Site, Span, field_of
from afflint.fleet.facts import Fact, Facts, collected, facts_of
from afflint.fleet.index import Fleet
from afflint.kube.kinds import NAMES, Kind
from afflint.kube.manifests import Manifest, manifests_in
from afflint.reading import documents, triage
from afflint.reading.documents import Document
from afflint.rules import CATEGORIES, FLEET_CHECKS, NODE_RULES, ManifestChecks, Rule, node_checks, rules

if TYPE_CHECKING:
    from afflint.inventory.node_files import NodeFact
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
    resources: bool = False
    """Whether what pods request decides as well."""
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
        self._checks = ManifestChecks(settings.selected, settings.target)
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
        facts: list[Fact] = []
        silenced: list[Suppression] = []
        count, broken = 0, False
        with_nodes, resources = self._settings.with_nodes, self._settings.resources
        holds_nodes = with_nodes and triage.is_node_list(data)
        for document in self._triage.documents(data):
            count += 1
            if document.problem is not None:
                broken = True
                findings += self._unreadable(name, document.index, document.problem)
                continue
            manifests = list(manifests_in(document, self._custom))
            findings += self._check_document(name, document, manifests)
            for manifest in manifests:
                facts += facts_of(manifest, name, with_spec=with_nodes, resources=resources)
                holds_nodes = holds_nodes or manifest.kind.name == "Node"
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
        return FileResult(name, tuple(findings), collected(facts, holds_nodes=holds_nodes), tuple(silenced), count)

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
                    span = document.locate(match.path, key=match.key)
                    site = Site(name, document.index, manifest.base)
                    yield self._finding(rules()[rule], match, site, span, manifest.ref, self._edits(rules()[rule], match, document))

    # Reduce: all files together.

    def check_fleet(
        self, facts: Iterable[Facts], read: Reader, wanted: Callable[[str], bool], nodes: Sequence[NodeFact] = ()
    ) -> Iterator[Finding]:
        """The findings of cross-manifest rules, and of those about nodes, in files that are ``wanted``; the others are only context."""
        selected = self._settings.selected
        if selected.isdisjoint(FLEET_CHECKS) and (not nodes or selected.isdisjoint(node_checks())):
            return
        matches = [
            (rule, found)
            for rule, found in self._fleet_matches(Fleet(facts, complete=self._settings.target.complete), nodes)
            if wanted(found.site.file)
        ]
        spans = _spans((place for _, found in matches for place in _places(found)), self._triage, read)
        for rule, found in matches:
            first, *others = (spans[place] for place in _places(found))
            finding = self._finding(rules()[rule], found.match, found.site, first, found.ref)
            related = zip(found.match.related, others, strict=True)
            yield finding._replace(related=tuple(Related(place.file, span, place.message) for place, span in related))

    def _fleet_matches(self, fleet: Fleet, nodes: Sequence[NodeFact]) -> Iterator[tuple[str, FleetMatch]]:
        selected, target = self._settings.selected, self._settings.target
        for rule, check in FLEET_CHECKS.items():
            if rule in selected:
                for found in check(fleet, target):
                    yield rule, found
        if nodes:
            from afflint.inventory.cluster_view import ClusterView

            view = ClusterView(nodes, fleet, self._settings.host_key)
            for rule, node_check in node_checks().items():
                if rule in selected:
                    for found in node_check(fleet, view, target):
                        yield rule, found

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

    @staticmethod
    def _edits(rule: Rule, match: Match, document: Document) -> tuple[Edit, ...]:
        """What mends a match, in the text of its document; none where its rule's page says so, or where it would change more."""
        if not match.edits or rule.fix == "none":
            return ()
        from afflint.reading.editing import resolve

        return resolve(document, match.edits) or ()

    def _finding(self, rule: Rule, match: Match, site: Site, span: Span, ref: ObjectRef, edits: tuple[Edit, ...] = ()) -> Finding:
        field = match.path if match.field is None else match.field
        fix = None
        if edits:
            fix = Fix(rule.fix == "safe", edits)
        finding = self._stamp(rule, match.message, match.help, site.file, site.document, span, ref, field[len(site.base) :], fix)
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


_Spot = tuple[str, int, Path, bool]
"""A place by file, document, path, and whether its key is meant."""


def _places(found: FleetMatch) -> Iterator[_Spot]:
    """The place of a match and its related places."""
    yield found.site.file, found.site.document, found.match.path, found.match.key
    for place in found.match.related:
        yield place.file, place.document, place.path, place.key


def _spans(spots: Iterable[_Spot], reader: triage.Triage, read: Reader) -> dict[_Spot, Span]:
    """Where these places are: the few files that cross-manifest findings point into are opened again, each once."""
    by_file: dict[str, dict[_Spot, None]] = {}
    for spot in spots:
        by_file.setdefault(spot[0], {})[spot] = None
    found: dict[_Spot, Span] = {}
    for file, asked in by_file.items():
        at_hand = _documents_again(file, {index for _, index, _, _ in asked}, reader, read)
        for spot in asked:
            _, index, path, key = spot
            # A file that has changed or gone in the meantime has no such document.
            found[spot] = (at_hand.get(index) or Document(b"", index, 0)).locate(path, key=key)
    return found


def _documents_again(file: str, indexes: set[int], reader: triage.Triage, read: Reader) -> dict[int, Document]:
    try:
        data = documents.to_utf8(read(file))
    except (OSError, UnicodeDecodeError):
        return {}
    found = {document.index: document for document in reader.documents(data) if document.index in indexes}
    if not indexes <= found.keys():
        # A list of nodes written by hand names no kind.
        pieces = enumerate(documents.split(data))
        found |= {index: documents.read(piece, index, line) for index, (piece, line, _) in pieces if index in indexes - found.keys()}
    return found


def default_settings(names: Sequence[str] | None = None) -> Settings:
    """Settings with every rule that is on by default, or with exactly the named ones."""
    chosen = names if names is not None else [rule.name for rule in rules().values() if rule.default]
    return Settings(frozenset(chosen))
