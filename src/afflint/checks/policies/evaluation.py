"""Policy evaluation: which workloads a policy applies to, what its check finds, and the message.

The map step evaluates each workload alone (``PolicyEvaluator``) and passes on only those that may violate a policy. The reduce step
evaluates these again with the facts of all manifests (``evaluated_workloads``). So facts and cache entries are small if policies are
met. Only runs with policies import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from afflint.checks.match import CrossManifestMatch, Match
from afflint.checks.policies.subject import PolicySubject, UnevaluatedError
from afflint.findings.finding import NO_FILE, NO_OBJECT, FileId, ObjectRef, Site
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Pods, PolicyCandidate
from afflint.kube.kinds import is_scalable
from afflint.kube.selectors import NAMESPACE_NAME, Selector, is_met
from afflint.manifests.manifest import Workload
from afflint.policies.binding import BoundPolicy
from afflint.policies.matching import EVERYTHING, Matching
from afflint.policies.messages import filled, includes_check_message
from afflint.policies.params import class_at
from afflint.source.globs import name_matcher

if TYPE_CHECKING:
    from afflint.checks.cluster_view import ClusterView
    from afflint.checks.registry import BoundRule
    from afflint.checks.topology import KnownTopology
    from afflint.index.manifest_index import ManifestIndex
    from afflint.policies.registry import PolicyCheck

# No autoscaler changes the number of pods of these kinds.
_COUNTED = frozenset(("Pod", "Job", "CronJob", "DaemonSet", "VirtualMachine", "VirtualMachineInstance"))

Condition = Callable[[PolicySubject], "bool | None"]
"""Returns whether a workload meets a condition; None if this is not known, or not yet."""


class UnevaluatedPolicy(NamedTuple):
    """A policy that was not evaluated, for one object or for all, and why. ``place``: the position of the reason, if it is known.

    ``file`` is the file of the object: its number at first, later its name.
    """

    policy: str
    reason: str
    place: str = ""
    title: str = ""
    file: FileId | str = NO_FILE
    object: ObjectRef = NO_OBJECT


class PolicyScope:
    """The workloads that a policy applies to: those of its ``kinds``, by kind and group, that it ``covers``.

    ``files`` returns whether globs match a file, which is known only in the reduce step.
    """

    def __init__(self, match: Matching, exclude: Matching, files: Callable[[tuple[str, ...], FileId], bool] | None = None) -> None:
        self._match = list(_conditions(match, files))
        self._exclude = list(_conditions(exclude, files))
        if exclude.kinds:
            excluded = _kinds(exclude.kinds)
            self._exclude.append(lambda case: excluded(case.kind, case.group))
        self._excludes = exclude != EVERYTHING
        self.is_all = not self._match and not self._excludes
        """Whether the policy applies to all workloads of its kinds."""
        self.kinds = _kinds(match.kinds)

    def covers(self, case: PolicySubject) -> bool | None:
        """Return whether the policy applies to a workload of one of its kinds; None if this is not known."""
        wanted = _all(self._match, case) if self._match else True
        if wanted is False or not self._excludes:
            return wanted
        excluded = _all(self._exclude, case)
        if excluded:
            return False
        # In the map step, an unknown condition of `exclude` is evaluated later. In the reduce step, it excludes nothing.
        return wanted


def _all(conditions: Iterable[Condition], case: PolicySubject) -> bool | None:
    met: bool | None = True
    for condition in conditions:
        found = condition(case)
        if found is False:
            return False
        met = found and met
    return met


def _conditions(matching: Matching, files: Callable[[tuple[str, ...], FileId], bool] | None) -> Iterator[Condition]:
    """Yield the conditions except kinds, the cheapest first."""
    if matching.namespaces:
        namespace = _named(matching.namespaces)
        yield lambda case: case.pods.namespace is not None and bool(namespace(case.pods.namespace))
    if matching.names:
        name = _named(matching.names)
        yield lambda case: case.pods.ref.name is not None and bool(name(case.pods.ref.name))
    if matching.min_replicas is not None:
        yield partial(_can_have, matching.min_replicas)
    if (labels := matching.labels) is not None:
        yield lambda case: case.is_labelled(labels)
    if matching.namespace_labels is not None:
        yield partial(_has_labelled_namespace, matching.namespace_labels)
    if matching.files:
        yield lambda case: None if files is None else files(matching.files, case.pods.site.file)


def _named(globs: tuple[str, ...]) -> Callable[[str], object]:
    found = name_matcher(globs)
    assert found is not None
    return found


def _kinds(globs: tuple[str, ...]) -> Callable[[str, str], bool]:
    """Return a function that returns whether the globs match a kind of a group."""
    if not globs:
        return lambda _kind, _group: True
    named = _named(globs)
    return lambda kind, group: bool(named(kind) or (group and named(f"{kind}.{group}")))


def _can_have(least: int, case: PolicySubject) -> bool | None:
    """Return whether a workload can have at least this number of replicas."""
    scale = case.pods.scale
    if (1 if scale.most is None else scale.most) >= least:
        return True
    return None if case.manifest_index is None and case.kind not in _COUNTED else False


def _has_labelled_namespace(selector: Selector, case: PolicySubject) -> bool | None:
    name = case.pods.namespace
    if case.manifest_index is not None:
        return case.manifest_index.matches_namespace(selector, name)
    if name is None:
        return None
    by_name = [each for each in selector.requirements if each.key == NAMESPACE_NAME]
    if not all(is_met(each, name) for each in by_name):
        return False
    return None if len(by_name) < len(selector.requirements) else True


class _EvaluatedPolicy(NamedTuple):
    """A policy with its scope and its check function."""

    name: str
    bound: BoundPolicy
    scope: PolicyScope
    check: Callable[..., Iterator[Any]]

    def is_about(self, case: PolicySubject) -> bool:
        """Whether the policy applies to a workload, with the facts of all manifests."""
        scope = self.scope
        return _can_judge(self.bound.check, case.pods) and scope.kinds(case.kind, case.group) and bool(scope.covers(case))


def _can_judge(check: PolicyCheck, pods: Pods) -> bool:
    """Return whether a check can apply to a workload. Only runs with nodes know which workloads run one pod on each node."""
    if check.applies_to == "machines":
        return pods.kubevirt
    if check.applies_to == "scalable":
        return is_scalable(pods.ref.kind, (pods.ref.api_version or "").rpartition("/")[0])
    return check.applies_to == "pods" or pods.pod_source is None or not pods.pod_source.daemon


def _policies(
    rules: Iterable[BoundRule], subject: str, files: Callable[[tuple[str, ...], FileId], bool] | None = None
) -> list[_EvaluatedPolicy]:
    found = [(rule.name, rule.policy) for rule in rules if rule.subject == subject]
    return [
        _EvaluatedPolicy(name, bound, PolicyScope(bound.match, bound.exclude, files), class_at(bound.check.function))
        for name, bound in found
        if bound
    ]


class PolicyEvaluator:
    """Evaluates each workload alone, in the map step. Each process creates one."""

    def __init__(self, rules: Iterable[BoundRule]) -> None:
        self._policies = _policies(rules, "policy")
        self._of_kind: dict[tuple[str, str], list[tuple[_EvaluatedPolicy, Callable[[PolicySubject], bool | None] | None, bool, Any]]] = {}
        """The policies for each kind and group, with the values that each evaluation needs."""

    def policy_candidate(self, workload: Workload, pods: Pods) -> PolicyCandidate | None:
        """Return a candidate for a workload that may violate a policy; None if it meets all policies, whatever other manifests contain."""
        case = PolicySubject(pods, workload)
        key = case.kind, case.group
        asked = self._of_kind.get(key)
        if asked is None:
            about = [each for each in self._policies if each.scope.kinds(*key) and _can_judge(each.bound.check, pods)]
            asked = self._of_kind[key] = [
                (each, None if each.scope.is_all else each.scope.covers, each.bound.check.reports_missing, each.bound.params)
                for each in about
            ]
        policies = []
        for policy, covers, lacks, params in asked:
            if (covers is None or covers(case) is not False) and (not lacks or case.whole):
                for _ in policy.check(case, params):
                    policies.append(policy)
                    break
        if not policies:
            return None
        return case.candidate_for(tuple([each.name for each in policies]), with_object=any(each.bound.check.object for each in policies))


def evaluated_workloads(
    rules: Iterable[BoundRule],
    manifest_index: ManifestIndex,
    files: Callable[[tuple[str, ...], FileId], bool],
    known_topology: KnownTopology | None,
    unevaluated: list[UnevaluatedPolicy],
) -> Iterator[tuple[str, CrossManifestMatch]]:
    """Yield the violations of the policy candidates, each with the name of the policy. ``files`` returns whether globs match a file.

    Candidates for which a policy cannot be evaluated are added to ``unevaluated``.
    """
    whole: set[tuple[str, Site]] = set()
    policies = {each.name: each for each in _policies(rules, "policy", files)}
    for policy_candidate in manifest_index.facts.policy_candidates:
        pods = manifest_index.pods_at((policy_candidate.site, policy_candidate.template_path))
        if pods is None:
            continue
        case = PolicySubject(pods, None, policy_candidate, manifest_index, known_topology)
        for name in policy_candidate.policies:
            policy = policies.get(name)
            if policy is None or not policy.scope.covers(case):
                continue
            if policy.bound.check.object:
                # A check of the whole object runs once, even if the object has several templates.
                if (name, pods.site) in whole:
                    continue
                whole.add((name, pods.site))
            try:
                if policy.bound.check.reports_missing and not case.whole:
                    continue
                for match in policy.check(case, policy.bound.params):
                    yield name, case.at(with_custom_message(match, name, policy.bound, case))
            except UnevaluatedError as error:
                unevaluated.append(UnevaluatedPolicy(name, str(error), "", case.title, pods.site.file, pods.ref))


def outcomes(
    rules: Iterable[BoundRule], view: ClusterView, files: Callable[[tuple[str, ...], FileId], bool], unevaluated: list[UnevaluatedPolicy]
) -> Iterator[tuple[str, CrossManifestMatch]]:
    """Yield the violations of outcome policies on the nodes of ``view``. Policies that need more are added to ``unevaluated``."""
    policies = _policies(rules, "outcome", files)
    if not policies:
        return
    cases = [PolicySubject(pods, None, None, view.manifest_index) for pods in view.manifest_index.pods]
    for policy in policies:
        about = [case for case in cases if policy.is_about(case) and (case.whole or not policy.bound.check.reports_missing)]
        with_site = {case.pods.site: case for case in about}
        try:
            for each in policy.check(about, policy.bound.params, view):
                case = with_site[each.site]
                yield policy.name, each._replace(match=with_custom_message(each.match, policy.name, policy.bound, case))
        except UnevaluatedError as error:
            unevaluated.append(UnevaluatedPolicy(policy.name, str(error)))


def subjects(
    rules: Iterable[BoundRule], manifest_index: ManifestIndex, files: Callable[[tuple[str, ...], FileId], bool]
) -> Iterator[tuple[str, Pods]]:
    """Yield each workload that a policy applies to, with the name of the policy. Patches and fragments are not workloads."""
    rules = list(rules)
    policies = [*_policies(rules, "policy", files), *_policies(rules, "outcome", files)]
    for pods in manifest_index.pods:
        if pods.partial and not pods.operated:
            continue
        case = PolicySubject(pods, None, None, manifest_index)
        for policy in policies:
            if policy.is_about(case):
                yield policy.name, pods


def with_custom_message(match: Match, name: str, policy: BoundPolicy, case: PolicySubject) -> Match:
    """Return the match with the message of the user, if any. The help then begins with the message of the check, unless that is in it."""
    if policy.message is None:
        return match
    fields = fields_of(case, name, match.message)
    message = filled(policy.message, fields)
    if includes_check_message(policy.message):
        return match._replace(message=message)
    return match._replace(message=message, help=f"{match.message[:1].upper()}{match.message[1:]}. {match.help or policy.check.remedy}")


def fields_of(case: PolicySubject, policy: str, message: str) -> Mapping[str, str]:
    """Return the values of the fields of a message."""
    ref = case.pods.ref
    return {
        "object": case.title,
        "kind": case.kind,
        "name": ref.name or "",
        "namespace": ref.namespace or "default",
        "policy": policy,
        "message": message,
    }


def policy_findings(unevaluated: Iterable[UnevaluatedPolicy], names: Sequence[str]) -> Iterator[str]:
    """Yield the policies that were not evaluated, a line for each policy and reason. ``names`` are the names of the files."""
    alike = grouped(((each.place, each.policy, each.reason), each) for each in unevaluated)
    for (place, policy, reason), found in sorted(alike.items()):
        line = f"policy `{policy}`: {reason}" if policy else reason
        objects = [each for each in found if each.title]
        if objects:
            first = objects[0]
            file = names[first.file] if isinstance(first.file, int) else first.file
            more = f" and {len(objects) - 1} more" if len(objects) > 1 else ""
            line += f"; the policy is not evaluated for {first.title} in {file}{more}"
        yield f"{place}: {line}" if place else line
