"""The objects of a run as the cluster stores them: mutating policies among the manifests are applied before the objects are judged.

The files with changed objects are mapped and reduced a second time, with these objects in place of the original ones. A finding that only
the changed objects have is reported at the policy, and a finding that only the original ones have is not reported. Runs without such
policies do not import this module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.findings.finding import FileId, Found, FoundPlace, ObjectRef, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.inventory.cluster_folders import PolicyScopes
from afflint.kube.manifest_reader import manifests_in
from afflint.kube.manifests import Manifest, Workload, reference
from afflint.mutation.limit_ranges import LIMIT_RANGE, ContainerDefaults, container_defaults
from afflint.mutation.mutations import Change, Mutator, replaced
from afflint.pipeline.mapping import map_files
from afflint.pipeline.mutate_rules import PlacedRule, placed_rules
from afflint.pipeline.policy_evaluation import UnevaluatedPolicy
from afflint.pipeline.source_objects import documents_of, objects_of
from afflint.source.sources import Source, read_bytes
from afflint.yaml.documents import to_utf8
from afflint.yaml.object_fields import metadata_of

if TYPE_CHECKING:
    from afflint.pipeline.map_step import FileResult, MapSettings
    from afflint.pipeline.reduced_run import ReducedRun
    from afflint.yaml.document import Document

_TESTS = ("kyverno-test.yaml", "chainsaw-test.yaml")
_TEST_FOLDERS = frozenset((".kyverno-test", ".chainsaw-test"))
"""The files that mark a folder as a test of policies, and the usual folders of tests. Their objects never reach a cluster."""
_MOST_RELATED = 5


class ChangedObject(NamedTuple):
    """An object that policies change: where it is named, and the changes in their order."""

    title: str
    span: Span
    changes: tuple[Change, ...]


_Key = tuple[FileId, int, ObjectRef]
"""An object by its file, the number of its document, and its reference."""


class Mutations(NamedTuple):
    """The files of a run as the cluster stores their objects: ``sources`` are those with changed objects, or changed pods in templates.

    ``stored`` are the same files without the changes of the pods.
    """

    rules: tuple[PlacedRule, ...]
    sources: dict[FileId, Source]
    stored: dict[FileId, Source]
    objects: dict[_Key, ChangedObject]
    undecided: tuple[UnevaluatedPolicy, ...]


def mutations_of(
    sources: Mapping[FileId, Source],
    results: Mapping[FileId, FileResult],
    is_patch: Callable[[str], bool],
    *,
    resources: bool = False,
    every: bool = False,
    clusters: Iterable[Collection[str]] = (),
) -> Mutations:
    """Apply the mutating policies among some files to their objects; with ``resources``, also LimitRanges.

    ``results`` are those of the map step. ``is_patch``: returns whether a kustomization uses the file at a path as a patch. ``every``: also
    policies that do not touch placement. ``clusters``: the paths of the rendered output for each cluster.
    """
    is_test = _tests_among(sources.values())
    possible = {
        file: source for file, source in sources.items() if not (results[file].templated or results[file].unread or is_test(source.path))
    }
    # Whether a file is a patch is only looked up where it matters: the answer searches the kustomizations of the repository.
    policies = {file: source for file, source in possible.items() if results[file].may_change_objects and not is_patch(source.path)}
    if not (policies or resources):
        return Mutations((), {}, {}, {}, ())
    readable = {file: source for file, source in possible.items() if not is_patch(source.path)}
    placed = placed_rules(policies, readable, every=every) if policies else []
    limits = list(_container_defaults(readable, results)) if resources else []
    if not (placed or limits):
        return Mutations((), {}, {}, {}, ())
    namespaces = {
        ref.name: data
        for source in readable.values()
        for _, data, _ in objects_of(source, frozenset(("Namespace",)).__contains__)
        if (ref := reference(data)).name
    }
    # The numbers of the rules of policies are those in ``placed``. The API server applies LimitRanges before all policies.
    first = list(enumerate(limits, len(placed)))
    scopes = PolicyScopes((source.path for source in sources.values()), clusters)
    mutators: dict[tuple[int, ...], Mutator] = {}
    changed: dict[FileId, Source] = {}
    stored: dict[FileId, Source] = {}
    objects: dict[_Key, ChangedObject] = {}
    undecided: list[UnevaluatedPolicy] = []
    for file, source in readable.items():
        here = tuple([number for number, each in enumerate(placed) if scopes.reaches(sources[each.file].path, source.path)])
        if here not in mutators:
            mutators[here] = Mutator([*first, *((number, placed[number].rule) for number in here)], namespaces)
        of_file = _ChangedFile(file, source, mutators[here])
        undecided += of_file.undecided(placed, every=every)
        if of_file.objects:
            changed[file], stored[file] = (source._replace(data=text) for text in of_file.texts())
            objects.update(of_file.objects)
    return Mutations(tuple(placed), changed, stored, objects, tuple(undecided))


def _tests_among(sources: Iterable[Source]) -> Callable[[str], bool]:
    """Return a function that returns whether the file at a path belongs to the test of a policy."""
    marked = {os.path.dirname(each.path) for each in sources if os.path.basename(each.path) in _TESTS}

    def is_test(path: str) -> bool:
        return os.path.dirname(path) in marked or not _TEST_FOLDERS.isdisjoint(path.replace("\\", "/").split("/"))

    return is_test


def _container_defaults(sources: Mapping[FileId, Source], results: Mapping[FileId, FileResult]) -> Iterator[ContainerDefaults]:
    for file, source in sources.items():
        if LIMIT_RANGE in results[file].passed:
            for _, data, _ in objects_of(source, frozenset((LIMIT_RANGE,)).__contains__):
                yield from container_defaults(data)


def mapped_again(mutations: Mutations, results: Mapping[FileId, FileResult], settings: MapSettings) -> dict[FileId, FileResult]:
    """Return the results of the map step, those of changed files as the cluster stores their objects."""
    changed = {file: source for file, source in mutations.sources.items() if file in results}
    return {**results, **dict(zip(changed, map_files(changed.values(), settings), strict=True))}


class _ChangedFile:
    """A file with the objects that policies change."""

    def __init__(self, file: FileId, source: Source, mutator: Mutator) -> None:
        self.objects: dict[_Key, ChangedObject] = {}
        self._file, self._source, self._mutator = file, source, mutator
        self._documents: list[tuple[Document, Any]] = []
        self._stored: list[tuple[Document, Any]] = []
        self._doubts: list[tuple[int, str, ObjectRef]] = []
        for document in documents_of(source, mutator.may_change):
            if not (document.filled or document.duplicates or document.has_directives or document.rest is not None):
                self._change(document)

    def _change(self, document: Document) -> None:
        manifests: dict[Path, list[Manifest]] = {}
        for each in manifests_in(document):
            manifests.setdefault(each.base, []).append(each)
        whole = stored = document.data
        for base, held in manifests.items():
            data = held[0].data
            partial = any(isinstance(each, Workload) and each.partial and not each.operated for each in held)
            if partial or not (held[0].ref.name or "generateName" in metadata_of(data)) or not self._mutator.may_change(held[0].kind.name):
                continue
            mutation = self._mutator.mutation(data)
            self._doubts += [(rule, reason, held[0].ref) for rule, reason in mutation.undecided]
            if mutation.changes:
                span = document.locate((*base, "metadata", "name"))
                self.objects[self._file, document.index, held[0].ref] = ChangedObject(held[0].title(), span, mutation.changes)
                whole = replaced(whole, base, mutation.data)
                stored = replaced(stored, base, mutation.stored)
        if whole is not document.data:
            self._documents.append((document, whole))
            self._stored.append((document, stored))

    def undecided(self, placed: Sequence[PlacedRule], *, every: bool) -> Iterator[UnevaluatedPolicy]:
        """Yield the rules that are undecided for an object of the file.

        Without ``every``, rules about labels are left out, because they seldom matter.
        """
        for number, reason, ref in self._doubts:
            rule = placed[number]
            if every or rule.rule.touches_constraints:
                yield UnevaluatedPolicy(rule.rule.policy, reason, "", f"{ref.kind} {ref.name}", self._file, ref)

    def texts(self) -> tuple[bytes, bytes]:
        """Return the text of the file with the changed objects and pods, and with the changed objects only."""
        return self._text(self._documents), self._text(self._stored)

    def _text(self, documents: Iterable[tuple[Document, Any]]) -> bytes:
        """Return the text of the file with other data in some documents. All other documents keep their lines and their numbers."""
        lines = to_utf8(read_bytes(self._source)).split(b"\n")
        for document, data in documents:
            count = len(document.raw_bytes.removesuffix(b"\n").split(b"\n"))
            changed = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
            lines[document.line : document.line + count] = [changed, *[b""] * (count - 1)]
        return b"\n".join(lines)


def combined(original: ReducedRun, mutated: ReducedRun, mutations: Mutations) -> ReducedRun:
    """Return a run with the findings that hold after the mutations, those that the mutations cause at the policies."""
    comparison = _Comparison(original, mutated, mutations)
    results, across = dict(original.results), {file: [*found] for file, found in original.across.items()}
    for file in mutations.sources:
        if file in results:
            results[file] = results[file]._replace(found=tuple(comparison.remaining(file, results[file].found)))
    across = {file: comparison.remaining(file, found) for file, found in across.items()}
    for file, each in comparison.caused():
        across.setdefault(file, []).append(each)
    unevaluated = (*mutated.unevaluated, *mutations.undecided)
    return original._replace(results=results, across=across, unevaluated=unevaluated)


class _Comparison:
    """The findings of a run before and after mutations."""

    def __init__(self, original: ReducedRun, mutated: ReducedRun, mutations: Mutations) -> None:
        self._mutations = mutations
        self._reported = original.results
        self._of_text = frozenset(each.name for each in original.settings.rules if each.subject == "run")
        """The rules about the text of files, which no policy changes."""
        self._rules = {each.name: each for each in original.settings.rules}
        self._before = {file: _found_in(original, file) for file in original.results}
        self._after = {file: _found_in(mutated, file) for file in original.results}

    def remaining(self, file: FileId, found: Iterable[Found]) -> list[Found]:
        """Return the findings in a file that hold after the mutations as well."""
        known = _signs(self._after.get(file, ()))
        return [each for each in found if each.rule in self._of_text or not known.isdisjoint(_signs([each]))]

    def caused(self) -> Iterator[tuple[FileId, Found]]:
        """Yield the findings that only changed objects have, each cause once: at the policy, or at the object if that is not known."""
        grouped: dict[tuple[int, str, str], list[tuple[FileId, Found, ChangedObject]]] = {}
        for file, found in self._after.items():
            known = _signs(self._before[file])
            for each in found:
                if self._is_minor(each) or not known.isdisjoint(_signs([each])):
                    continue
                changed = self._mutations.objects.get((file, each.document, each.object))
                if changed is None:
                    message = f"as mutating policies change other objects: {each.message}"
                    yield file, each._replace(message=message, edits=(), meant=())
                    continue
                number = _cause(each, changed)
                if self._is_for_policy(self._mutations.rules[number], each):
                    grouped.setdefault((number, each.rule, _without_indexes(each.field)), []).append((file, each, changed))
                else:
                    yield file, _at_object(each, changed, self._mutations.rules[number])
        for (number, _, _), alike in grouped.items():
            placed = self._mutations.rules[number]
            yield placed.file, self._at_policy(placed, alike)

    def _is_minor(self, found: Found) -> bool:
        """Return whether a finding is not the fault of a policy: what a general policy adds may be redundant for some objects."""
        return found.rule in self._of_text or (found.severity or self._rules[found.rule].rule.severity) == "info"

    def _is_for_policy(self, placed: PlacedRule, found: Found) -> bool:
        """Return whether a finding is reported at the policy that causes it. Those of a configured policy count for their object."""
        return placed.file in self._reported and self._rules[found.rule].subject not in ("policy", "outcome", "admission")

    def _at_policy(self, placed: PlacedRule, alike: Sequence[tuple[FileId, Found, ChangedObject]]) -> Found:
        _, found, first = alike[0]
        objects = {(file, each.document, each.object): changed for file, each, changed in alike}
        others = len(objects) - 1
        who = f"{first.title}, as this policy changes it" if not others else f"{first.title} and {others} more, as this policy changes them"
        remedy = found.help or self._rules[found.rule].remedy
        help_ = f"Change the rule, or exclude the object from it. {remedy}".strip()
        related = [FoundPlace(key[0], changed.span, changed.title) for key, changed in objects.items()]
        return Found(
            found.rule,
            f"{who}: {found.message}",
            help_,
            placed.document,
            placed.span,
            placed.ref,
            field_of(placed.rule.path),
            found.severity,
            related=tuple(related[:_MOST_RELATED]),
            item=f"rule {placed.rule.name}",
        )


def _at_object(found: Found, changed: ChangedObject, cause: PlacedRule) -> Found:
    """Return a finding at the name of a changed object. The changed fields are not in its file."""
    related = (FoundPlace(cause.file, cause.span, f"{cause.ref.kind} {cause.rule.policy} changes it"),)
    message = f"as a mutating policy changes it: {found.message}"
    return found._replace(message=message, span=changed.span, edits=(), meant=(), related=related)


def _found_in(reduced: ReducedRun, file: FileId) -> list[Found]:
    return [*reduced.results[file].found, *reduced.across.get(file, ())]


def _signs(found: Iterable[Found]) -> set[tuple[object, ...]]:
    """Return what identifies findings before and after a mutation: the same rule and object, with the same field or the same message."""
    signs: set[tuple[object, ...]] = set()
    for each in found:
        whose = (each.rule, each.document, each.object)
        signs |= {(*whose, "field", each.field), (*whose, "message", each.message)}
    return signs


def _cause(found: Found, changed: ChangedObject) -> int:
    """Return the number of the rule that caused a finding: the last one that changed its field, else the last one."""
    for change in reversed(changed.changes):
        for path in change.paths:
            field = field_of(path)
            if field.startswith(found.field) or found.field.startswith(field):
                return change.rule
    return changed.changes[-1].rule


def _without_indexes(field: str) -> str:
    return "".join(character for character in field if not character.isdigit())
