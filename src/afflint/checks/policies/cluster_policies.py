"""The cluster's own policies in CEL, applied to the objects of a run: those of the API server, of Kyverno and of Gatekeeper.

The configuration names their manifests. They apply to any kind and to whole objects, so afflint reads the files a second time. Runs
without such policies do not import this module. A policy that cannot be evaluated offline is listed next to the findings and never reported
as a finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from afflint.admission.api_resources import resource_of
from afflint.checks.match import Match, located
from afflint.checks.policies.admission_policies import AdmissionEvaluator, PolicyDenial
from afflint.checks.policies.evaluation import UnevaluatedPolicy
from afflint.checks.policies.policy_compiler import Unknown
from afflint.checks.registry import CATEGORIES, BoundRule, rules
from afflint.config.settings import ALL
from afflint.findings.errors import UserError
from afflint.findings.finding import NO_FILE, FileId, Finding, Found, ObjectRef, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.inventory.source_objects import objects_of
from afflint.kube.kinds import KINDS
from afflint.manifests.manifest import Manifest, Workload, labels_at, reference
from afflint.manifests.reader import manifests_in
from afflint.policies.admission_manifests import BINDING, POLICY, AdmissionPolicy, Fault
from afflint.policies.kyverno_policies import EXCEPTION
from afflint.policies.policy_files import Admission, read_admission
from afflint.source.sources import Source
from afflint.yaml.document import Document, map_at
from afflint.yaml.documents import read
from afflint.yaml.object_fields import kind_of, metadata_of
from afflint.yaml.prefilter import Reading


class Admitted(NamedTuple):
    """The results of the cluster's policies: findings in files, faults of the policies, and policies that were not evaluated."""

    found: list[tuple[FileId, Found]]
    faults: list[Finding]
    unevaluated: list[UnevaluatedPolicy]


_POD = "Pod"


def admitted(
    bound: Iterable[BoundRule],
    sources: Mapping[FileId, Source],
    readable: Collection[FileId],
    checked: Collection[FileId],
    is_patch: Callable[[str], bool],
    *,
    is_complete: bool = False,
    reading: Reading = read,
) -> Admitted:
    """Apply the policies to the ``checked`` files. ``is_complete``: the files contain all objects of their namespaces.

    ``sources`` are all files of the run. Those that are ``readable`` as manifests may define parameters and namespaces.
    ``is_patch``: returns whether a kustomization uses the file at a path as a patch. ``reading`` replaces ``documents.read``. Raises
    UserError if a policy file cannot be read.
    """
    policies = [rule.policy for rule in bound if rule.subject == "admission" and rule.policy is not None]
    names = [policy.name for policy in policies]
    paths_of_policies = dict.fromkeys(path for policy in policies for path in policy.params.manifests)
    try:
        admission = read_admission(paths_of_policies, {*rules(), *CATEGORIES, ALL})
    except OSError as error:
        raise UserError(f"the policy file {error.filename!r} cannot be read: {error.strerror}") from None
    wanted = wanted_objects(admission.policies)
    objects = [data for file in readable for _, data, _ in objects_of(sources[file], wanted)]
    evaluator = AdmissionEvaluator(admission, names, objects, is_complete=is_complete)
    severities = {rule.name: rule.severity or "error" for rule in bound}
    paths = {os.path.realpath(source.path): file for file, source in sources.items()}
    faults = [_of_fault(each, severities[each.policy], paths) for each in evaluator.faults]
    unevaluated = [UnevaluatedPolicy(each.policy, each.reason, each.place) for each in evaluator.unknown]
    unevaluated += _unread(admission)
    found: list[tuple[FileId, Found]] = []
    for file in sorted(checked):
        if file in readable and not is_patch(sources[file].path):
            for each in _results_of_file(evaluator, sources[file], reading):
                if isinstance(each, Found):
                    found.append((file, each))
                else:
                    unevaluated.append(each._replace(file=sources[file].name))
    return Admitted(found, faults, unevaluated)


def wanted_objects(policies: Iterable[AdmissionPolicy]) -> Callable[[str], bool]:
    """Return a function that returns whether policies may need objects of a kind: namespaces, parameters, exceptions, what they look up."""
    policies = list(policies)
    kinds = {"Namespace", *(policy.param_kind[1] for policy in policies if policy.param_kind)}
    texts = [each.text for policy in policies if policy.dialect == "kyverno" for each in (*policy.variables, *policy.validations)]
    if any(policy.dialect.startswith("kyverno") for policy in policies):
        kinds.add(EXCEPTION)
    lookups = [text for text in texts if "resource." in text]
    if not lookups:
        return kinds.__contains__
    return lambda kind: kind in kinds or any(resource_of(kind) in text for text in lookups)


def _unread(admission: Admission) -> Iterator[UnevaluatedPolicy]:
    """Yield what of the files of policies is not evaluated. Where many policies are in other languages than CEL, only some are named."""
    for message in (*admission.problems, *admission.foreign[:_MOST_FOREIGN]):
        place, _, reason = message.partition(": ")
        yield UnevaluatedPolicy("", reason, place)
    more = admission.foreign[_MOST_FOREIGN:]
    if more:
        others = f"this policy and {len(more) - 1} more are" if len(more) > 1 else "this policy is"
        yield UnevaluatedPolicy("", f"{others} not in CEL, and not evaluated either", more[0].partition(": ")[0])


_MOST_FOREIGN = 10


def _of_fault(fault: Fault, severity: Severity, paths: Mapping[str, FileId]) -> Finding:
    """Return a finding in the manifest of a policy, which need not be a file of the run."""
    kind = fault.object.kind or ""
    by = "the API server" if kind in (POLICY, BINDING) else "Gatekeeper" if kind == "ConstraintTemplate" else "Kyverno"
    message = f"{by} rejects this {_TITLES.get(kind, 'policy')}: {fault.message}"
    source = paths.get(os.path.realpath(fault.file), NO_FILE)
    place = (fault.document, fault.span, fault.object, fault.field)
    return Finding(fault.policy, "policy", severity, message, _HELP, fault.file.replace(os.sep, "/"), *place, source=source)


_TITLES = {BINDING: "binding", "ConstraintTemplate": "template"}
_HELP = "Correct the manifest. Until then, afflint does not apply it either."


def _results_of_file(evaluator: AdmissionEvaluator, source: Source, reading: Reading) -> Iterator[Found | UnevaluatedPolicy]:
    """Yield the results of the policies for the objects of a file and for the pods that controllers create from them."""

    def wanted(kind: str) -> bool:
        return evaluator.may_apply_to(kind) or (about_pods and kind in making)

    about_pods = evaluator.may_apply_to(_POD)
    making = frozenset(kind.name for kind in KINDS if kind.templates and not kind.kubevirt) if about_pods else frozenset()
    manifests: dict[Path, list[Manifest]] = {}
    last: Document | None = None
    for document, data, base in objects_of(source, wanted, reading):
        if document is not last:
            last, manifests = document, {}
            for each in manifests_in(document):
                manifests.setdefault(each.base, []).append(each)
        workloads = [each for each in manifests.get(base, ()) if isinstance(each, Workload)]
        if any(each.partial and not each.operated for each in workloads) or document.has_directives:
            continue
        if {"name", "generateName"}.isdisjoint(metadata_of(data)):
            continue
        for outcome in evaluator.evaluate(data):
            yield _result_of(outcome, (*base, *_path(outcome)), base, document, data, "")
        if about_pods and kind_of(data) != _POD:
            for each in workloads:
                if each.has_own_template and not (each.kind.kubevirt or each.operated):
                    for outcome in evaluator.evaluate(_created_pod(each.ref, each.template)):
                        yield _result_of(outcome, _of_template(outcome, each), base, document, data, f"the pods of {each.title()}: ")


def _path(outcome: PolicyDenial | Unknown) -> Path:
    return (outcome.path if isinstance(outcome, PolicyDenial) else ()) or ("metadata", "name")


def _of_template(outcome: PolicyDenial | Unknown, workload: Workload) -> Path:
    """Return the path in a workload of something in its pod; the name of the workload if the template does not set it."""
    path = _path(outcome)
    if path[0] == "spec" or path[:2] in (("metadata", "labels"), ("metadata", "annotations")):
        return (*workload.template_path, *path)
    return (*workload.base, "metadata", "name")


def _result_of(
    outcome: PolicyDenial | Unknown, path: Path, base: Path, document: Document, data: dict[str, Any], whose: str
) -> Found | UnevaluatedPolicy:
    ref = reference(data)
    if isinstance(outcome, Unknown):
        return UnevaluatedPolicy(outcome.policy, outcome.reason, outcome.place, f"{ref.kind} {ref.name}", object=ref)
    help_ = f"Change the object so that the expression at {outcome.place} is true."
    match = Match(path, f"{whose}{outcome.message}", help_, severity=outcome.severity)
    return located(outcome.policy, match, base, ref, document, fixing=False)


def _created_pod(owner: ObjectRef, template: dict[str, Any]) -> dict[str, Any]:
    """Return the pod that a controller creates for ``owner`` from a template."""
    own = metadata_of(template)
    metadata: dict[str, Any] = {"annotations": own["annotations"]} if isinstance(own.get("annotations"), dict) else {}
    labels = labels_at(template)
    if labels:
        metadata["labels"] = labels
    if owner.namespace is not None:
        metadata["namespace"] = owner.namespace
    metadata["generateName"] = f"{owner.name or ''}-"
    metadata["ownerReferences"] = [{"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": map_at(template, "spec")}
