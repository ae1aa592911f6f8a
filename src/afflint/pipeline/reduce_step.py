"""The reduce step: findings across manifests from the facts of all files, and the names, severities and help of all findings.

Pure except for ``read``, which returns the bytes of the few files that findings across manifests point to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, located
from afflint.config import ALL, matcher
from afflint.findings.finding import NO_OBJECT, FileId, Finding, Fix, Found, FoundPlace, Related
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.index.facts import Facts, Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import Checker, MapSettings, fix_checker
from afflint.source.sources import read_bytes, relative
from afflint.yaml import documents, prefilter
from afflint.yaml.documents import Document

if TYPE_CHECKING:
    from afflint.checks.cluster_view import ClusterView
    from afflint.checks.policies.evaluation import UnevaluatedPolicy
    from afflint.checks.registry import Subject
    from afflint.checks.topology import KnownTopology
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.inventory.node_classes import NodeClass
    from afflint.inventory.node_files import NodeFact
    from afflint.pipeline.suppressions import Suppression
    from afflint.pools.references import Pools

Reader = Callable[[FileId], bytes]
"""Returns the bytes of a file of the run. Raises OSError."""
PoliciesOf = Callable[[FileId], "Sequence[MutatingPolicy]"]


class ClusterIndex(NamedTuple):
    """The manifests of one of several clusters. ``own`` are the files of only this cluster; ``whole``: the index also has shared files.

    ``nodes``: its own; None for those of the run.
    """

    manifest_index: ManifestIndex
    own: frozenset[FileId]
    whole: bool = True
    nodes: Sequence[NodeFact] | None = None


class Reduction:
    """The reduce step under one set of settings.

    ``names`` are the names of the files by their numbers; ``cutter`` splits a file into the same documents as the map step. ``mutating``
    returns the policies that may change the objects of a file.
    """

    def __init__(
        self,
        settings: MapSettings,
        cutter: prefilter.Triage,
        names: Sequence[str] | Mapping[FileId, str],
        read: Reader,
        mutating: PoliciesOf | None = None,
    ) -> None:
        self._settings, self._mutating = settings, mutating
        self._rules = {each.name: each for each in settings.rules}
        self._cutter = cutter
        self._names = names
        self._read = read
        self._globs: dict[tuple[str, ...], Callable[[str], bool]] = {}
        self.unevaluated: list[UnevaluatedPolicy] = []
        """The policies that were not evaluated, with reasons."""

    # Across manifests.

    def manifest_index(self, facts: Iterable[Facts], nodes: Sequence[NodeFact] = (), pools: Pools | None = None) -> ManifestIndex | None:
        """Return the index of all facts; None if no selected rule or policy uses it."""
        subjects = {each.subject for each in self._settings.rules}
        of_inventory = (*(("nodes",) if nodes else ()), *(("pools",) if pools else ()))
        if subjects.isdisjoint(("cross-manifest", "volumes", "policy", "outcome", *of_inventory)):
            return None
        return ManifestIndex(
            facts,
            complete=self._settings.target.complete,
            plugins=self._settings.target.admission_plugins,
            node_labels=[node.labels for node in nodes],
            kubevirt_version=self._settings.target.kubevirt_version,
        )

    def part_of(self, manifest_index: ManifestIndex, facts: Iterable[Facts]) -> ManifestIndex:
        """Return an index of some manifests, as if their cluster had no others."""
        return ManifestIndex(
            facts, complete=self._settings.target.complete, plugins=self._settings.target.admission_plugins, whole=manifest_index
        )

    def across(
        self,
        manifest_index: ManifestIndex,
        wanted: Callable[[FileId], bool],
        nodes: Sequence[NodeFact] = (),
        pools: Pools | None = None,
        clusters: Sequence[ClusterIndex] = (),
    ) -> Iterator[tuple[FileId, Found]]:
        """Yield the findings of rules across manifests and about nodes and pools in the files that are ``wanted``; others are context.

        If the manifests are for several ``clusters``, each cluster is checked by itself, except for objects that may be missing.
        """
        all_matches = self._matches(manifest_index, nodes, pools, clusters)
        matches = [(rule, match) for rule, match in all_matches if wanted(match.site.file)]
        located = self._located(matches)
        for number in self._unfit(matches, located):
            located[number] = located[number]._replace(edits=(), meant=())
        for (_, match), found in zip(matches, located, strict=True):
            yield match.site.file, found

    def _unfit(self, matches: Sequence[tuple[str, CrossManifestMatch]], located: Sequence[Found]) -> Iterator[int]:
        """Yield the numbers of the matches whose fixes cannot be applied to their files."""
        by_file = grouped((matches[number][1].site.file, number) for number, found in enumerate(located) if found.edits)
        if not by_file:
            return
        from afflint.pipeline.fixing import applicable_fixes

        checker = fix_checker(self._settings)
        for file, numbers in by_file.items():
            findings = [self._finding(file, located[number]) for number in numbers]
            fit = applicable_fixes(self._names[file], self._read(file), findings, checker)
            yield from (number for number, is_fit in zip(numbers, fit, strict=True) if not is_fit)

    def _matches(
        self, manifest_index: ManifestIndex, nodes: Sequence[NodeFact], pools: Pools | None, clusters: Sequence[ClusterIndex]
    ) -> Iterator[tuple[str, CrossManifestMatch]]:
        # With nodes, the check of the same rule for nodes knows more.
        has_own_nodes = any(cluster.nodes for cluster in clusters)
        of_nodes = {each.name for each in self._settings.rules if each.subject == "nodes"} if nodes or has_own_nodes else set()
        yield from self._matches_of("cross-manifest", manifest_index, of_nodes, together=False if clusters else None)
        if clusters:
            whole = [each for each in clusters if each.whole]
            yield from _in_each_cluster(whole, lambda each: self._matches_of("cross-manifest", each, of_nodes, together=True))
            # Without the shared manifests, it is not known what else exists in a cluster.
            rest = frozenset().union(*[each.own for each in clusters if not each.whole])
            if rest:
                among_all = self._matches_of("cross-manifest", manifest_index, of_nodes, together=True)
                yield from (each for each in among_all if each[1].site.file in rest)
        if has_own_nodes:  # What is in the folder of no cluster is checked without nodes.
            placed = frozenset().union(*[each.own for each in clusters])
            checked = {each.name for each in self._settings.rules if not (each.together or each.name in of_nodes)}
            among_all = self._matches_of("cross-manifest", manifest_index, checked)
            yield from (each for each in among_all if each[1].site.file not in placed)
        if manifest_index.holds_storage:
            yield from self._matches_of("volumes", manifest_index, of_nodes)
        name_of, target = self._names.__getitem__, self._settings.target
        version, gates = target.version, target.feature_gates
        nodes_of = {each.manifest_index: nodes if each.nodes is None else each.nodes for each in clusters} or {manifest_index: nodes}
        views: dict[ManifestIndex, ClusterView] = {}
        classes = _growing(pools) if nodes and pools else ()
        if nodes or has_own_nodes:
            from afflint.checks.cluster_view import ClusterView

            for each, there in nodes_of.items():
                views[each] = ClusterView(there, each, self._settings.host_key, name_of, version, classes, gates)
        if manifest_index.facts.policy_candidates:
            from afflint.checks.policies.evaluation import evaluated_workloads

            known_topology = _ground(tuple(views.values()), pools)
            yield from evaluated_workloads(self._settings.rules, manifest_index, self._is_in, known_topology, self.unevaluated)
        if views:

            def about_nodes(manifest_index: ManifestIndex) -> Iterator[tuple[str, CrossManifestMatch]]:
                view, there = views[manifest_index], nodes_of[manifest_index]
                yield from self._matches_of("nodes", view)
                if self._settings.has_outcomes:
                    from afflint.checks.policies.evaluation import outcomes

                    # Rules about nodes prove what holds for any requests; these policies report what `place` shows.
                    if any([*[each.node.allocatable for each in there], *[each.allocatable for each in classes]]):
                        host_key = self._settings.host_key
                        view = ClusterView(there, manifest_index, host_key, name_of, version, classes, gates, resources=True)
                    yield from outcomes(self._settings.rules, view, self._is_in, self.unevaluated)

            yield from _in_each_cluster(clusters, about_nodes) if clusters else about_nodes(manifest_index)
        if pools:
            from afflint.checks.pool_view import PoolView

            yield from self._matches_of("pools", PoolView(pools, manifest_index, name_of, version, nodes, gates))

    def subjects(self, manifest_index: ManifestIndex) -> Iterator[tuple[str, Pods]]:
        """Yield the workloads that each policy applies to, with the name of the policy."""
        from afflint.checks.policies.evaluation import subjects

        return subjects(self._settings.rules, manifest_index, self._is_in)

    def _is_in(self, globs: tuple[str, ...], file: FileId) -> bool:
        """Return whether globs of the configuration match a file. Rendered output is treated as a file in the folder of its root."""
        name = self._names[file]
        if name.startswith("<") and name.endswith(">"):
            name = os.path.join(name[1:-1].partition(" ")[2], "rendered.yaml")
        if globs not in self._globs:
            self._globs[globs] = matcher(globs)
        return self._globs[globs](relative(os.path.abspath(name), self._settings.root or os.getcwd()).replace(os.sep, "/"))

    def _matches_of(
        self, subject: Subject, about: object, without: Container[str] = (), *, together: bool | None = None
    ) -> Iterator[tuple[str, CrossManifestMatch]]:
        """Yield the matches of the rules of one subject, ``without`` some rules; only of those with this ``together``, if it is given."""
        for rule in self._settings.rules:
            if rule.subject == subject and rule.name not in without and together in (None, rule.together):
                check, asking = rule.check()
                for match in check(about, self._settings.target) if asking else check(about):
                    yield rule.name, match

    def _located(self, matches: Sequence[tuple[str, CrossManifestMatch]]) -> list[Found]:
        """Return the matches with their positions. The files that they point to are read again, each document once."""
        found: list[Found | None] = [None] * len(matches)
        related: list[list[FoundPlace | None]] = [[None] * len(match.match.related) for _, match in matches]
        for file, asked in _asked_of(matches).items():
            for document in self._documents(file, asked.keys()):
                for number, place in asked[document.index]:
                    rule, match = matches[number]
                    if place is None:
                        fixing = self._rules[rule].fix != "none"
                        found[number] = located(rule, match.match, match.site.base, match.ref, document, fixing=fixing)
                    else:
                        other = match.match.related[place]
                        span = document.locate(other.path, key=other.key)
                        related[number][place] = FoundPlace(other.file, span, other.message)
        return [
            each._replace(related=tuple([place for place in places if place is not None])) if places else each
            for each, places in zip(found, related, strict=True)
            if each is not None
        ]

    def _documents(self, file: FileId, indexes: Iterable[int]) -> Iterator[Document]:
        """Yield the documents of a file with these numbers; an empty document for each that no longer exists."""
        missing = set(indexes)
        try:
            data = documents.to_utf8(self._read(file))
        except (OSError, UnicodeDecodeError):
            data = b""

        def reading(piece: bytes, index: int, line: int) -> Document:
            """Parse a document if it is asked for, or may be empty and then has no number."""
            if index in missing or not prefilter.has_kind(piece):
                return documents.read(piece, index, line)
            counted = Document(piece, index, line)
            counted.made_of({})
            return counted

        for document in self._cutter.documents(data, named=True, reading=reading):
            if document.index in missing:
                missing.discard(document.index)
                yield document
        for index in sorted(missing):
            yield Document(b"", index, 0)

    # One file.

    def findings(self, file: FileId, found: Iterable[Found]) -> list[Finding]:
        """Return what was found in a file as findings, with names, categories, severities and help."""
        findings = [self._finding(file, each) for each in found]
        policies = self._mutating(file) if self._mutating is not None and findings else ()
        if not policies:
            return findings
        from afflint.index.mutating_policies import softened

        missing = {rule.name: rule.missing for rule in self._settings.rules if rule.missing}
        return [softened(each, missing.get(each.rule, ()), policies) for each in findings]

    def _finding(self, file: FileId, found: Found) -> Finding:
        rule = self._rules[found.rule]
        return Finding(
            rule.name,
            rule.category,
            rule.severity_for(found.severity),
            found.message,
            found.help or rule.remedy,
            self._names[file],
            found.document,
            found.span,
            found.object,
            found.field,
            tuple([Related(self._names[place.file], place.span, place.message, place.file) for place in found.related]),
            Fix(rule.fix == "safe", found.edits, found.meant) if found.edits else None,
            file,
            found.item,
        )

    def silence(
        self,
        file: FileId,
        suppressions: Sequence[Suppression],
        findings: Sequence[Finding],
        *,
        idle: bool = True,
        patching: bool = False,
        mandatory: frozenset[str] = frozenset(),
    ) -> tuple[list[Finding], int]:
        """Return the findings of a file that no suppression silences, and the number of the others.

        With ``idle``, unused suppressions are added as findings; ``patching``: the file may have patches, which can be in other files.
        No suppression silences the ``mandatory`` rules.
        """
        if not suppressions:
            return list(findings), 0
        from afflint.pipeline.suppressions import apply

        kept, count, unused = apply(findings, suppressions, mandatory)
        if idle and "unused-suppression" in self._rules:
            firm = [each for each in findings if each.rule in mandatory]
            found = (each for suppression, names in unused for each in self._unused(suppression, names, mandatory, firm, patching))
            kept += self.findings(file, found)
        return kept, count

    def _unused(
        self, suppression: Suppression, names: tuple[str, ...], mandatory: frozenset[str], firm: Sequence[Finding], patching: bool
    ) -> Iterator[Found]:
        """Yield the finding for a suppression with names that silence nothing. ``firm`` are the findings of mandatory rules."""
        meant = [name for name in names if name in mandatory]
        if not {*names}.isdisjoint(_NAMED_BY_NO_NAME):
            meant += dict.fromkeys(each.rule for each in firm if suppression.covers((each.span.line, each.span.column)))
        for name in meant:
            message = f"{quoted(name)} is mandatory: a suppression in a manifest has no effect on it"
            remedy = "Remove this suppression and fix the violation, or ask the owner of the policy for an exemption."
            yield Found("unused-suppression", message, remedy, suppression.document, suppression.span, NO_OBJECT, "")
        names = tuple([name for name in names if name not in mandatory])
        if not names or (meant and "" in names) or any(each and not self._can_tell(each, suppression, patching) for each in names):
            return
        from afflint.pipeline.suppressions import removal

        listed = join_words([f"`{each}`" for each in names if each] or ["finding"], "or")
        message = f"this suppression silences nothing: afflint reports no {listed} here"
        edits = removal(suppression) if len(names) == max(len(suppression.rules), 1) else ()
        yield Found("unused-suppression", message, "", suppression.document, suppression.span, NO_OBJECT, "", edits=edits)

    def _can_tell(self, name: str, suppression: Suppression, patching: bool) -> bool:
        """Return whether this run evaluates a rule completely in one file: not if it is off, or needs other files."""
        subjects = {each.subject for each in self._settings.rules if each.name == name and (patching or each.subject != "kustomization")}
        if subjects == {"policy"}:
            return name in suppression.idle
        return bool(subjects) and (name in _OF_ANY_LABEL or subjects.isdisjoint(_OF_SEVERAL_FILES))


def reduction_of(files: Files, settings: MapSettings, policies: Sequence[MutatingPolicy] = ()) -> Reduction:
    """Return the reduce step for the files of a run, with its mutating policies."""
    mutating = policies_of(files.names, policies)
    return Reduction(settings, Checker(settings).triage, files.names, lambda file: read_bytes(files.sources[file]), mutating)


def policies_of(names: Sequence[str], policies: Sequence[MutatingPolicy]) -> PoliciesOf | None:
    """Return a function that returns which policies may change the objects of a file; None if there are no policies."""
    if not policies:
        return None
    from afflint.inventory.cluster_folders import PolicyScopes

    scopes = PolicyScopes(names)
    return lambda file: [each for each in policies if scopes.reaches(names[each.site.file], names[file])]


_OF_SEVERAL_FILES = ("cross-manifest", "volumes", "nodes", "pools", "charts", "kustomization", "policy", "outcome", "admission")
"""The subjects of rules that need other files."""
_OF_ANY_LABEL = ("invalid-label-key", "invalid-label-value")
"""Rules that need no other file for any of their subjects."""
_NAMED_BY_NO_NAME = frozenset(("", ALL, "policy"))
"""The names in a suppression that cover policies without naming one: all rules, or the category."""


def _in_each_cluster(
    clusters: Sequence[ClusterIndex], asked: Callable[[ManifestIndex], Iterable[tuple[str, CrossManifestMatch]]]
) -> Iterator[tuple[str, CrossManifestMatch]]:
    """Yield the matches in each cluster. A match in a shared manifest is included only if every cluster has it."""
    everywhere: dict[tuple[object, ...], list[tuple[str, CrossManifestMatch]]] | None = None
    for cluster in clusters:
        shared: dict[tuple[object, ...], list[tuple[str, CrossManifestMatch]]] = {}
        for rule, match in asked(cluster.manifest_index):
            if match.site.file in cluster.own:
                yield rule, match
            else:
                shared.setdefault((rule, match.site, match.match.path), []).append((rule, match))
        if cluster.whole:
            everywhere = shared if everywhere is None else {key: each for key, each in everywhere.items() if key in shared}
    for found in (everywhere or {}).values():
        yield from found


def _ground(views: Sequence[ClusterView], pools: Pools | None) -> KnownTopology | None:
    """Return the topology that nodes and pools show; None if there are neither."""
    if not views and not pools:
        return None
    from afflint.checks.topology import KnownTopology

    return KnownTopology(views, [pool for pool in pools.whole if pools.is_here(pool)] if pools else ())


def _growing(pools: Pools) -> Sequence[NodeClass]:
    """Return the node pools of the cluster from which more nodes may be created."""
    from afflint.inventory.node_classes import growing

    return growing([pool for pool in pools.whole if pools.is_here(pool)])


class _SpanRequest(NamedTuple):
    """A position to find: that of the match with this number, or of its related place with the other number."""

    match: int
    related: int | None


def _asked_of(matches: Sequence[tuple[str, CrossManifestMatch]]) -> dict[FileId, dict[int, list[_SpanRequest]]]:
    """Return the positions that the matches need, by file and document."""
    asked: dict[FileId, dict[int, list[_SpanRequest]]] = {}
    for number, (_, match) in enumerate(matches):
        asked.setdefault(match.site.file, {}).setdefault(match.site.document, []).append(_SpanRequest(number, None))
        for position, place in enumerate(match.match.related):
            asked.setdefault(place.file, {}).setdefault(place.document, []).append(_SpanRequest(number, position))
    return asked
