"""Mutating policies among the manifests: which fields they may set in an object before the cluster stores it.

afflint does not apply such policies. A finding that a field is missing or has no effect may be wrong if one of them sets the field, so it
becomes an info that names the policy. Of a policy, only the names of kinds, namespaces and fields are read; other conditions are assumed
to be true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.admission.api_resources import resource_of
from afflint.findings.finding import NO_FILE, Finding, ObjectRef, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.kube.kinds import identify
from afflint.manifests.reader import objects_in
from afflint.policies.kyverno_matching import filters_of, may_match
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, kind_of, name_of, namespace_of

FIELDS = frozenset(
    (
        "affinity", "labels", "nodeSelector", "priorityClassName", "replicas", "schedulerName", "selector", "tolerations",
        "topologySpreadConstraints",
    )
)  # fmt: skip
"""The fields that a finding may call missing or without effect."""
OF_OTHERS = " of other pods"
"""The end of the name of such a field if it is that of other pods than those of the finding's object, such as the labels of a target."""
CONCERNED = "the field that the finding concerns"
"""The field at the path of the finding or below it, for findings of policies that may concern any field."""
_OF_CONTROLLERS = ("replicas", "selector")
"""The fields of an object itself; the others are fields of its pods."""
_WORD = re.compile(r"[A-Za-z]+")
_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
_READ = re.compile(r"\b(?:object|oldObject|namespaceObject)(?:\s*\.\s*\??\w+)+")
_COMPUTED = re.compile(r"""path['"]?\s*:\s*["']?(\{\{)""")
"""A path of a JSON patch that begins with a variable."""
_COMPARING = ("(", "<(", "=(", "X(")


class MutatingPolicy(NamedTuple):
    """What a policy, or a rule of one, may set: some ``fields`` of the objects of some kinds in some namespaces.

    ``kinds`` (or their resources) and ``namespaces`` may have wildcards; without any, all are meant.
    """

    site: Site
    title: str
    kinds: tuple[str, ...]
    namespaces: tuple[str, ...]
    fields: tuple[str, ...]

    def paths(self, field: str, finding: Finding) -> Iterator[str]:
        """Yield where the policy may set a field that a finding calls missing; nothing if it does not."""
        if field == CONCERNED:
            concerned = [each for each in self.fields if _is_about(finding, _path(each, finding.object))]
            yield from (path for each in concerned for path in self.paths(each, finding))
        elif field.removesuffix(OF_OTHERS) in self.fields:
            yield from self._paths(field, finding.object)

    def _paths(self, field: str, ref: ObjectRef) -> Iterator[str]:
        kind = identify(ref.api_version, ref.kind).kind
        if field.endswith(OF_OTHERS):
            yield f"{quoted(_below_pod(field.removesuffix(OF_OTHERS)))}{OF_OTHERS}"
        elif self.namespaces and ref.namespace is not None and not any(may_match(each, ref.namespace) for each in self.namespaces):
            return
        elif not self.kinds or ref.kind is None or self._names(ref.kind):
            yield quoted(_path(field, ref))
        elif self._names("Pod") and (kind is None or kind.templates) and field not in _OF_CONTROLLERS:
            yield f"{quoted(_below_pod(field))} of its pods"

    def _names(self, kind: str) -> bool:
        return any(may_match(each, text) for each in self.kinds for text in (kind, resource_of(kind)))


def _is_about(finding: Finding, path: str) -> bool:
    """Return whether a finding concerns the field at a path, or something that contains it."""
    return finding.field == "metadata.name" or f"{path}.".startswith(f"{finding.field}.") or finding.field.startswith(path)


def _below_pod(field: str) -> str:
    return f"metadata.{field}" if field == "labels" else f"spec.{field}"


def _path(field: str, ref: ObjectRef) -> str:
    """Return the path of a field in an object; of a field of its pods, in its first template if it is known."""
    kind = identify(ref.api_version, ref.kind).kind
    if field in _OF_CONTROLLERS or kind is None or not kind.templates:
        return _below_pod(field)
    return ".".join((*map(str, kind.templates[0].path), _below_pod(field)))


def softened(finding: Finding, missing: Iterable[str], policies: Iterable[MutatingPolicy]) -> Finding:
    """Return a finding as an info if a policy may set one of the fields that it calls ``missing`` or without effect."""
    for policy in policies:
        paths = dict.fromkeys(path for field in missing for path in policy.paths(field, finding))
        if paths:
            message = f"{finding.message}; the {policy.title} may set {join_words([*paths])}"
            return finding._replace(severity="info", message=message)
    return finding


def mutating_policies(document: Document) -> Iterator[MutatingPolicy]:
    """Yield the mutating policies of a document, one for each rule that may set a field."""
    for data, base in objects_in(document):
        group = api_version_of(data).partition("/")[0]
        read, program = _READERS.get((group, kind_of(data).removeprefix("Namespaced")), (None, ""))
        for kinds, namespaces, fields in read(data) if read is not None else ():
            if fields:
                title = f"{program}{kind_of(data)} {quoted(name_of(data))}"
                yield MutatingPolicy(Site(NO_FILE, document.index, base), title, kinds, namespaces, tuple(sorted(fields)))


_Rule = tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]
"""Kinds, namespaces and fields."""


def _rules_of_kyverno(policy: Mapping[str, Any]) -> Iterator[_Rule]:
    """Yield the rules of a ClusterPolicy or Policy; a rule with ``targets`` changes these instead of what it matches."""
    for rule in maps_at(policy, "spec", "rules"):
        mutate = map_at(rule, "mutate")
        targets = maps_at(mutate, "targets")
        selected = [map_at(each, "resources") for each in filters_of(rule.get("match"))]
        kinds = _all_of([text_at(each, "kind") or "*"] for each in targets) or _all_of(texts_at(each, "kinds") for each in selected)
        namespaces = () if targets else _own_namespace(policy) or _all_of(texts_at(each, "namespaces") for each in selected)
        yield tuple([each.rpartition("/")[2].partition(".")[0] for each in kinds]), namespaces, frozenset(_patched_by_kyverno(mutate))


def _patched_by_kyverno(mutate: Mapping[str, Any]) -> Iterator[str]:
    for each in maps_at(mutate, "foreach"):
        yield from _patched_by_kyverno(each)
    patch, operations = mutate.get("patchStrategicMerge"), text_at(mutate, "patchesJson6902")
    if type(patch) is str or "{{" in "".join(_COMPUTED.findall(operations)):
        yield from FIELDS  # A variable has the patch, or the path.
    yield from FIELDS.intersection((*_keys_in(patch), *_WORD.findall(_VARIABLE.sub("", operations))))


def _keys_in(patch: object) -> Iterator[str]:
    """Yield the names of the fields that a patch sets; keys in parentheses only compare."""
    if isinstance(patch, list):
        for each in patch:
            yield from _keys_in(each)
    elif isinstance(patch, dict):
        for key, value in patch.items():
            if not str(key).startswith(_COMPARING):
                yield str(key).removeprefix("+(").removesuffix(")")
                yield from _keys_in(value)


def _rules_in_cel(policy: Mapping[str, Any]) -> Iterator[_Rule]:
    """Yield what a policy in CEL may set: the fields that its expressions name, but for those that they only read."""
    spec = map_at(policy, "spec")
    matched = [each for field in ("matchConstraints", "targetMatchConstraints") for each in maps_at(spec, field, "resourceRules")]
    resources = _all_of(texts_at(each, "resources") for each in matched)
    patches = [map_at(each, field) for each in maps_at(spec, "mutations") for field in ("applyConfiguration", "jsonPatch")]
    text = "\n".join(text_at(each, "expression") for each in (*patches, *maps_at(spec, "variables")))
    fields = FIELDS.intersection(_WORD.findall(_READ.sub("", text)))
    yield tuple([each.partition("/")[0] for each in resources]), _own_namespace(policy), fields


def _rules_of_gatekeeper(policy: Mapping[str, Any]) -> Iterator[_Rule]:
    spec = map_at(policy, "spec")
    listed = maps_at(spec, "applyTo") or maps_at(spec, "match", "kinds")
    kinds = _all_of(texts_at(each, "kinds") for each in listed)
    yield kinds, tuple(texts_at(spec, "match", "namespaces")), FIELDS.intersection(_WORD.findall(text_at(spec, "location")))


def _own_namespace(policy: object) -> tuple[str, ...]:
    return (namespace_of(policy),) if namespace_of(policy) else ()


def _all_of(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the names in some lists; none if a list is empty, which means all names."""
    listed = [*lists]
    return tuple([name for names in listed for name in names]) if all(listed) else ()


_Reader = Callable[[Mapping[str, Any]], Iterator[_Rule]]
_READERS: dict[tuple[str, str], tuple[_Reader, str]] = {
    ("kyverno.io", "ClusterPolicy"): (_rules_of_kyverno, "Kyverno "),
    ("kyverno.io", "Policy"): (_rules_of_kyverno, "Kyverno "),
    ("policies.kyverno.io", "MutatingPolicy"): (_rules_in_cel, "Kyverno "),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): (_rules_in_cel, ""),
    **{("mutations.gatekeeper.sh", kind): (_rules_of_gatekeeper, "Gatekeeper ") for kind in ("Assign", "AssignMetadata", "ModifySet")},
}
"""By API group and kind: the function that reads a policy, and the program that applies it."""
