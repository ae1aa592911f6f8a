"""The rules of mutating policies among the files of a run, with their positions, in the order in which the API server applies them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.findings.finding import FileId, ObjectRef, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifests import reference
from afflint.mutation.kyverno import KINDS, POLICY_EXCEPTION, mutate_rules, policy_exceptions
from afflint.mutation.mutations import PlacementRule
from afflint.pipeline.source_objects import objects_of
from afflint.source.sources import Source
from afflint.yaml.object_fields import kind_of

_CEL_KINDS = frozenset(("MutatingAdmissionPolicy", "MutatingPolicy", "NamespacedMutatingPolicy"))
POLICY_KINDS = frozenset((*KINDS, *_CEL_KINDS))


class PlacedRule(NamedTuple):
    """A rule of a policy with its position: ``path`` of the rule leads to what it changes in its document."""

    rule: PlacementRule
    file: FileId
    document: int
    ref: ObjectRef
    span: Span


def placed_rules(policies: Mapping[FileId, Source], readable: Mapping[FileId, Source], *, every: bool) -> list[PlacedRule]:
    """Return the rules of the policies in some files; ``every``: not only those that touch placement.

    ``readable`` are all files that may define namespaces, parameters, bindings and exceptions. The mutating policies of the API server
    apply before Kyverno's, which are webhooks.
    """
    found = [*_cel_rules(policies, readable), *_classic_rules(policies, readable)]
    return sorted(
        [each for each in found if every or each.rule.touches_placement],
        key=lambda each: (not (each.ref.api_version or "").startswith("admissionregistration"), each.rule.policy, each.file, each.document),
    )


def _classic_rules(policies: Mapping[FileId, Source], readable: Mapping[FileId, Source]) -> Iterator[PlacedRule]:
    found = [
        (rule, PlacedRule(rule, file, document.index, reference(data), document.locate((*base, *rule.path), key=True)))
        for file, source in policies.items()
        for document, data, base in objects_of(source, KINDS.__contains__)
        for rule in mutate_rules(data)
    ]
    if not found:
        return
    wanted = frozenset((POLICY_EXCEPTION,)).__contains__
    exceptions = [each for source in readable.values() for _, data, _ in objects_of(source, wanted) for each in policy_exceptions(data)]
    for rule, placed in found:
        yield placed._replace(rule=rule.with_exceptions(exceptions))


def _cel_rules(policies: Mapping[FileId, Source], readable: Mapping[FileId, Source]) -> Iterator[PlacedRule]:
    if not any(True for source in policies.values() for _ in objects_of(source, _CEL_KINDS.__contains__)):
        return
    from afflint.checks.policies.known_cluster import KnownCluster
    from afflint.checks.policies.mutating_policies import BINDING, cel_rule, is_mutating
    from afflint.policies.admission_manifests import PolicyReader
    from afflint.policies.kyverno_policies import EXCEPTION, excepted_policies

    found = [
        (PolicyReader(source.name, document, data, base).mutating_policy(), file, document, data, base)
        for file, source in policies.items()
        for document, data, base in objects_of(source, _CEL_KINDS.__contains__)
        if is_mutating(data)
    ]
    kinds = {"Namespace", BINDING, EXCEPTION, *(policy.param_kind[1] for policy, *_ in found if policy.param_kind)}
    objects = [(source.name, *each) for source in readable.values() for each in objects_of(source, kinds.__contains__)]
    cluster = KnownCluster([data for _, _, data, _ in objects])
    bindings = [
        binding
        for name, document, data, base in objects
        if kind_of(data) == BINDING
        for binding in PolicyReader(name, document, data, base).binding()
    ]
    excepted = frozenset(name for _, _, data, _ in objects for name in excepted_policies(data))
    for policy, file, document, data, base in found:
        rule = cel_rule(policy, data, bindings, cluster, excepted)
        yield PlacedRule(rule, file, document.index, reference(data), document.locate((*base, *rule.path), key=True))
