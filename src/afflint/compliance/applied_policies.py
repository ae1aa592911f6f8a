"""Policy compliance of all workloads of a run, for ``afflint report``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint import __version__
from afflint.checks.registry import BoundRule
from afflint.findings.finding import FileId, Finding, Found, ObjectRef
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.baseline import since
from afflint.pipeline.files import Files
from afflint.pipeline.options import Options
from afflint.pipeline.run import reduce_run
from afflint.rendered.rendered_run import without_values
from afflint.report.compliance import Breach, Compliance, ComplianceVerdict, EvaluatedWorkload, PolicyCompliance, State, other
from afflint.yaml.emitter import flow

if TYPE_CHECKING:
    from afflint.checks.policies.evaluation import UnevaluatedPolicy
    from afflint.index.facts import Pods
    from afflint.pipeline.reduced_run import ReducedRun
    from afflint.pipeline.session import Session
    from afflint.policies.policy import Policy
    from afflint.source.sources import Source

_OWNERS = ("owner", "team", "squad")
"""The last parts of label keys that name an owner."""
_PART_OF = "app.kubernetes.io/part-of"

Key = tuple[FileId, int, ObjectRef]
"""An object of a run: its file, its document and its reference."""


def compliance(session: Session, sources: Sequence[Source], options: Options, owner: str | None = None) -> Compliance:
    """Return which workloads in ``sources`` comply with which policies of the configuration. ``owner``: the label that names owners."""
    config, options = session.config, session.options(options)
    settings = session.settings()
    # Without policies, a rule across manifests makes the run index the workloads, which name their owners.
    across = tuple(rule for rule in settings.rules if rule.subject == "cross-manifest")
    rules = tuple(rule for rule in settings.rules if rule.policy is not None) or across[:1]
    collected = reduce_run(Files(sources, session.context(), session.node_files()), settings._replace(rules=rules), options)
    every = collected.manifest_index.pods if collected.manifest_index is not None else ()
    # The workloads in the checked files, without patches and without the context.
    pods_here = [pods for pods in every if pods.site.file in collected.results and (pods.operated or not pods.partial)]
    key = owner if owner is not None else _owner_key(pods_here)
    workloads = {_key(pods): _workload(pods, collected, key) for pods in pods_here}
    breaches = _breaches(collected, options)
    about: dict[str, list[Key]] = {rule.name: [] for rule in rules}
    index, reduction = collected.manifest_index, collected.suppression_filter.reduction
    for name, pods in reduction.subjects(index) if index is not None else ():
        if _key(pods) in workloads:
            about[name].append(_key(pods))
    declared = {policy.name: policy for policy in config.policies}
    unevaluated = grouped((each.policy, each) for each in collected.unevaluated)
    found = tuple(
        _policy_compliance(
            rule, declared[rule.name], about[rule.name], workloads, breaches.get(rule.name, {}), unevaluated.get(rule.name, ()), collected
        )
        for rule in rules
        if rule.policy is not None
    )
    asked = {key for keys in about.values() for key in keys}
    return Compliance(
        found, len(workloads), len(workloads.keys() - asked), key, config.baseline, __version__, evaluated=(*workloads.values(),)
    )


def _policy_compliance(
    rule: BoundRule,
    policy: Policy,
    about: Iterable[Key],
    workloads: Mapping[Key, EvaluatedWorkload],
    broken: Mapping[Key, list[_Broken]],
    unevaluated: Sequence[UnevaluatedPolicy],
    collected: ReducedRun,
) -> PolicyCompliance:
    names = [source.name for source in collected.files.sources]
    undecided = {
        (each.file if isinstance(each.file, str) else names[each.file], each.object): each.reason for each in unevaluated if each.title
    }
    nothing = next((each.reason for each in unevaluated if not each.title), "")
    verdicts = []
    for key in dict.fromkeys([*about, *broken]):
        workload = workloads.get(key) or other(key[2], names[key[0]])
        reason = undecided.get((names[key[0]], key[2]), nothing)
        verdicts.append(_verdict(workload, broken.get(key, ()), reason))
    if rule.subject == "admission":
        # The cluster's own policies may apply to objects other than workloads.
        known = {(names[key[0]], key[2]) for key in broken}
        verdicts += [
            ComplianceVerdict(other(ref, file), "undecided", reason=why)
            for (file, ref), why in undecided.items()
            if (file, ref) not in known
        ]
    verdicts.sort(key=lambda each: (each.workload.namespace, each.workload.title, each.workload.file))
    defined = {
        name: value for name, value in policy._asdict().items() if name in ("check", "params", "match", "exclude", "message") and value
    }
    unasked = "no nodes are known: name them with `--nodes`" if rule.subject == "outcome" and not collected.nodes else ""
    unasked = unasked or ("" if broken else nothing)
    return PolicyCompliance(
        rule.name,
        rule.severity or rule.rule.severity,
        rule.rule.summary(),
        policy.message,
        "\n".join(f"{name}: {flow(value)}" for name, value in defined.items()),
        policy.mandatory,
        () if unasked else tuple(verdicts),
        unasked,
        # The cluster's own policies may apply to objects of any kind.
        only_unmet=rule.subject not in ("policy", "outcome"),
    )


def _verdict(workload: EvaluatedWorkload, broken: Iterable[_Broken], undecided: str) -> ComplianceVerdict:
    """Return whether a workload meets a policy. ``undecided``: why this is not known, apart from the violations in ``broken``."""
    found = list(broken)
    if not found:
        return ComplianceVerdict(workload, "undecided", reason=undecided) if undecided else ComplianceVerdict(workload, "met")
    open_ones = [each for each in found if not each.silenced]
    state: State = "unmet" if open_ones else "excepted"
    return ComplianceVerdict(workload, state, tuple(each.breach for each in open_ones or found))


# Workloads and their owners.


def _key(pods: Pods) -> Key:
    return pods.site.file, pods.site.document, pods.ref


def _owner_key(workloads: Iterable[Pods]) -> str:
    """Return the label by which most workloads name their owner; "" if none does."""
    keys = Counter(
        key for pods in workloads for key in {**pods.labels, **pods.template_labels} if key == _PART_OF or key.rpartition("/")[2] in _OWNERS
    )
    return min(keys, key=lambda key: (key == _PART_OF, -keys[key], key), default="")


def _workload(pods: Pods, collected: ReducedRun, owner_key: str) -> EvaluatedWorkload:
    namespace, manifest_index = pods.namespace or "", collected.manifest_index
    labels = {**pods.labels, **pods.template_labels}
    if (
        owner_key not in labels
        and manifest_index is not None
        and namespace in manifest_index.namespaces
        and namespace not in manifest_index.ambiguous
    ):
        labels = manifest_index.namespaces[namespace].labels
    return EvaluatedWorkload(pods.ref, pods.title, namespace, labels.get(owner_key, ""), collected.files.sources[pods.site.file].name)


# Violations.


class _Broken(NamedTuple):
    """A violation, and whether it is exempt."""

    breach: Breach
    silenced: bool


def _breaches(collected: ReducedRun, options: Options) -> dict[str, dict[Key, list[_Broken]]]:
    """Return all violations, by policy and object."""
    every: list[Finding] = []
    kept: list[Finding] = []
    for file, result in collected.results.items():
        found: list[Found] = [*result.found, *collected.across.get(file, ())]
        if found:
            every += collected.suppression_filter.reduction.findings(file, found)
            kept += collected.suppression_filter.remaining(file, collected.files.sources[file], result, collected.across.get(file, ()))[0]
    shown = _shown(kept, collected, options)
    at_last = [shown.get(_identity(finding)) for finding in every]
    known = since([last or finding for finding, last in zip(every, at_last, strict=True)], options.baseline) if options.baseline else None
    broken: dict[str, dict[Key, list[_Broken]]] = {}
    for number, (finding, last) in enumerate(zip(every, at_last, strict=True)):
        place = last or finding
        breach = Breach(finding.message, place.file, place.span.line, known[number] if known else None)
        key = finding.source, finding.document, finding.object
        broken.setdefault(finding.rule, {}).setdefault(key, []).append(_Broken(breach, last is None))
    return broken


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.source, finding.document, finding.span, finding.field, finding.message


def _shown(kept: Sequence[Finding], collected: ReducedRun, options: Options) -> dict[tuple[object, ...], Finding]:
    """Return the findings that are not suppressed, by the identity that they had before they were moved to their origins."""
    if options.renders is None:
        return {_identity(finding): finding for finding in kept}
    placed, _, _ = options.renders.placed(kept, collected.files.sources, collected.suppression_filter.remaining_in_source)
    by_root: dict[tuple[str, str, str], Finding] = {}
    written: dict[tuple[object, ...], Finding] = {}
    for finding in placed:
        written[_identity(finding)] = finding
        for root in finding.rendered:
            by_root[finding.rule, root, without_values(finding.message)] = finding
    found = {}
    for finding in kept:
        name = collected.files.sources[finding.source].name
        root = name[1:-1].partition(" ")[2] if name.startswith("<") else ""
        last = by_root.get((finding.rule, root, without_values(finding.message))) if root else written.get(_identity(finding))
        if last is not None:
            found[_identity(finding)] = last
    return found
