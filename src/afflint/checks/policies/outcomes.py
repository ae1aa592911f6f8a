"""Policies about the result of a simulation on the known nodes, with the planner of `afflint place`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.checks.cluster_view import AS_ORDERED, ClusterView
from afflint.checks.match import CrossManifestMatch, Match
from afflint.checks.policies.node_requirements import name_path
from afflint.checks.policies.subject import PolicySubject, UnevaluatedError
from afflint.controllers.evictions import migration_obstacle
from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.placement import proofs
from afflint.placement.failures import Disruption, UnknownLossError, failures, label_key
from afflint.placement.plan import DisruptionEffect, ReplicaMove
from afflint.placement.rejections import Rejections, RunningPodIndex, unknown_node
from afflint.placement.rollout_bounds import RolloutBounds
from afflint.placement.rollouts import Rollouts
from afflint.placement.schedule import PlacedWorkload
from afflint.policies.check_params import NoParameters, Survives
from afflint.scheduler.nodes import ITSELF

_ALWAYS = "whatever the placement"
_MOST_NAMED = 3


class _SimulatedWorkload(NamedTuple):
    """A workload with its case, its index among those of the view, and the placement of its pods."""

    case: PolicySubject
    pod_source: PodSource
    number: int
    placed: PlacedWorkload


def _simulated(cases: Sequence[PolicySubject], view: ClusterView) -> Iterator[_SimulatedWorkload]:
    """Yield the workloads of the cases, without DaemonSets and without those whose node constraints are unknown."""
    by_key = {case.pods.key: case for case in cases}
    if not by_key:
        return
    for index, (pod_source, placed) in enumerate(zip(view.pod_sources, view.schedule.workloads, strict=True)):
        case = by_key.get(view.pods_of(pod_source).key)
        if case is not None and not (pod_source.daemon or pod_source.refused or placed.error):
            yield _SimulatedWorkload(case, pod_source, index, placed)


def fits(cases: Sequence[PolicySubject], _params: NoParameters, view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report workloads with a replica that cannot be scheduled."""
    running_pods = None
    for each in _simulated(cases, view):
        if not each.placed.pending or each.number in view.survey.elastic:
            continue
        never = _never_fitting(view, each)
        if not (never or view.survey.bounded):
            continue
        cluster = view.schedule.cluster
        why = _unknown_node_reason(each)
        if not why:
            running_pods = running_pods or RunningPodIndex(cluster)
            identity, reasons = next(iter(each.placed.pending.items()))
            pod = next(pod for pod in each.placed.pods if (pod.namespace, pod.name) == identity)
            titles = {owned: placed.pod_source.key for owned, placed in view.schedule.owners.items()}
            why = Rejections(cluster, pod, titles, each.pod_source.key, running_pods).summary(reasons)
        missing, replicas = never or len(each.placed.pending), each.pod_source.replicas
        some = "the only replica" if replicas == 1 else f"{missing} of {replicas} replicas"
        message = f"{some} cannot be scheduled, {_ALWAYS if never else AS_ORDERED}{f': {why}' if why else ''}"
        yield each.case.at(Match(name_path(each.case), message))


def _unknown_node_reason(each: _SimulatedWorkload) -> str:
    """Return why pods cannot be scheduled if their manifest names an unknown node; an empty string for others."""
    return unknown_node(each.pod_source.node_name) if each.pod_source.node_name and each.placed.pending else ""


def _never_fitting(view: ClusterView, each: _SimulatedWorkload) -> int:
    """Return how many replicas no placement has a node for."""
    nodes = view.survey.nodes_of(each.number)
    limit = view.survey.limit(each.number, nodes)
    most = 0 if not nodes else each.pod_source.replicas if limit is None else limit.most
    return max(0, each.pod_source.replicas - most)


def survives(cases: Sequence[PolicySubject], params: Survives, view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report workloads with too few running replicas after a failure, or during it.

    Raises UnevaluatedError if no node has the label that selects them.
    """
    about = [each for each in _simulated(cases, view) if each.number not in view.survey.elastic]
    if not about or not view.survey.bounded:
        return
    try:
        happening = failures(view.schedule.before, f"each:{params.loss}")
    except UnknownLossError as error:
        raise UnevaluatedError(f"no failure to simulate: {error}") from error
    lost = [(failure, view.loss_of(failure)) for failure in happening]
    # The label whose values fail together.
    key = ITSELF if params.loss == "node" else label_key(view.schedule.before, params.loss)
    rollouts, bounds = Rollouts(view.schedule, key, most=_MOST_STATES), RolloutBounds(view.survey, view.schedule, key)
    for each in about:
        results = [(failure, loss, _surviving(each, loss)) for failure, loss in lost]
        short = [(failure, loss) for failure, loss, (after, ever) in results if after < params.keeps or ever < params.at_all_times]
        if short:
            yield each.case.at(_failure_match(each, short, params, view))
        elif each.case.revision_label and len(each.placed.nodes) - bounds.most_together(each.number) < params.at_all_times > 0:
            after_rollout = _rollout_match(each, happening, params, rollouts)
            if after_rollout is not None:
                yield each.case.at(after_rollout)


def _rollout_match(each: _SimulatedWorkload, happening: Sequence[Disruption], params: Survives, rollouts: Rollouts) -> Match | None:
    """Return the match for a failure that too few replicas outlive after a rollout; None if a rollout never brings them together."""
    replicas = len(each.placed.nodes)
    effect = rollouts.roll(each.placed)
    for nodes in effect.placements:
        for failure in happening:
            hit = sum(node in failure.nodes for node in nodes)
            if replicas - hit < params.at_all_times:
                together = f"all {replicas} replicas" if hit == replicas else f"{hit} of {replicas} replicas"
                running = _describe_running(replicas - hit, replicas, throughout=True)
                after = f"after a rollout, {together} may be on the nodes of {failure.what}; during a failure of it, {running}"
                message = f"{after} until others are ready, but {params.at_all_times} must"
                remedy = f"Add `matchLabelKeys: [{each.case.revision_label}]` to a required spread constraint, or require anti-affinity."
                return Match(name_path(each.case), message, remedy)
    return None


_MOST_STATES = 400
"""Up to this many states of a rollout, all of them are examined."""


def _surviving(each: _SimulatedWorkload, loss: DisruptionEffect) -> tuple[int, int]:
    """Return how many replicas run after a failure, and how many of them ran all the time."""
    before, key = len(each.placed.nodes), each.pod_source.key
    names = {name for _, name in each.placed.nodes}
    displaced = sum(move.pod in names for move in _moves(loss, key))
    return loss.left.get(key, before), before - displaced


def _moves(loss: DisruptionEffect, key: str) -> list[ReplicaMove]:
    return [move for move in loss.moves if move.workload == key]


def _failure_match(
    each: _SimulatedWorkload, short: Sequence[tuple[Disruption, DisruptionEffect]], params: Survives, view: ClusterView
) -> Match:
    """Return the match for the failures that a workload does not tolerate, with the worst of them in the message.

    If too few replicas can be scheduled even before any failure, that is reported instead.
    """
    before, replicas = len(each.placed.nodes), each.pod_source.replicas
    if replicas < params.keeps:
        asked = "there is only 1 replica" if replicas == 1 else f"there are only {replicas} replicas"
        return Match(name_path(each.case), f"{asked}, but {params.keeps} must run after any failure")
    if before < params.keeps:
        nowhere = _unknown_node_reason(each)
        whenever = f"{_ALWAYS}: {nowhere}" if nowhere else AS_ORDERED
        message = f"{_describe_running(before, replicas)} even before any failure, but {params.keeps} must, {whenever}"
        return Match(name_path(each.case), message)
    failure, loss = min(short, key=lambda pair: _surviving(each, pair[1]))
    after, throughout = _surviving(each, loss)
    most = proofs.most_after(view.survey, each.number, failure)
    proved = after < params.keeps and most < params.keeps
    others = len(short) - 1
    more = f" (and {pluralize(others, 'other failure')})" if others else ""
    if after < params.keeps:
        bound = "at most " if proved and most > 0 and replicas > 1 else ""
        running = f"{bound}{_describe_running(most if proved else after, replicas)}"
        message = f"after a failure of {failure.what}{more}, {running}, but {params.keeps} must"
    else:
        running = _describe_running(throughout, each.pod_source.replicas, throughout=True)
        message = f"during a failure of {failure.what}{more}, {running} until others are ready, but {params.at_all_times} must"
    why = next((move.why for move in _moves(loss, each.pod_source.key) if move.target is None and move.why), "")
    message = f"{message}, {_ALWAYS if proved else AS_ORDERED}{f': {why}' if why and after < params.keeps else ''}"
    return Match(name_path(each.case), message)


def _describe_running(number: int, replicas: int, *, throughout: bool = False) -> str:
    """Describe running replicas, such as ``1 of 3 replicas runs``."""
    if replicas == 1:
        return f"the only replica does not {'keep running' if throughout else 'run'}"
    verb = ("keep running" if throughout else "run") if number > 1 else "keeps running" if throughout else "runs"
    return f"{number or 'none'} of {replicas} replicas {verb}"


def migratable(cases: Sequence[PolicySubject], _params: NoParameters, view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report virtual machines that cannot migrate, or have no other node to migrate to."""
    about = [each for each in _simulated(cases, view) if each.pod_source.kubevirt]
    machines = {each.pod_source.key: each.case for each in about}
    for each in about:
        hindrance = migration_obstacle(each.pod_source)
        if hindrance is not None:
            del machines[each.pod_source.key]
            yield each.case.at(Match((*each.pod_source.pod_path, *hindrance.path), f"the VM cannot migrate: {hindrance.words}"))
    for found in proofs.migration_blocked(view.survey, view.schedule):
        case = machines.get(found.pod_source.key)
        if case is not None:
            who = "the VM has" if found.placed == 1 else f"{found.blocked} of {found.placed} VMs {'has' if found.blocked == 1 else 'have'}"
            message = f"{who} no node to migrate to, {_ALWAYS if found.proved else AS_ORDERED}: {found.excluded}"
            at = found.path if found.path not in ((), found.pod_source.pod_path) else name_path(case)
            yield case.at(Match(at, message))
