"""Views of a plan for the table and the page: nodes by domain, equal verdicts grouped, disruptions ordered by severity."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, domain_noun, name_of_key
from afflint.placement.plan import (
    Action,
    ApplicationEffect,
    DisruptionEffect,
    Fate,
    NodeRow,
    NodeVerdict,
    Outcome,
    Plan,
    PoolRow,
    Preempted,
    Replica,
    ReplicaMove,
    Violation,
    WorkloadPlan,
)

OUTCOMES: tuple[Outcome, ...] = ("dead", "degraded", "interrupted", "survives")
"""Worst first."""

STATES = (*OUTCOMES[:2], "blocked", "refused", "interrupted", "unjudged")
"""What a disruption may do to a workload, the worst first: an outcome, or that a pod is not evicted."""

Verdict = Outcome | Literal["unjudged"]
"""The result of a disruption: the worst outcome of an application, or ``unjudged`` if some pods were not evaluated."""

VERDICTS: tuple[Verdict, ...] = (*OUTCOMES[:3], "unjudged", "survives")
"""Worst first."""

NOUNS: dict[Action, str] = {"lose": "failure", "drain": "drain", "remove": "removal", "together": "combined disruption"}
"""The noun for each action."""

ACTION_NOTES: dict[Action, str] = {
    "lose": "the nodes become unreachable, the Node objects remain",
    "drain": "kubectl drain",
    "remove": "the Node objects are deleted",
    "together": "failures first, then drains, then removals",
}
"""What each action means."""

VERDICT_WORDS: dict[str, str] = {
    "dead": "down",
    "degraded": "degraded",
    "interrupted": "interrupted",
    "unjudged": "not evaluated",
    "survives": "survives",
}
"""The words for people; JSON keeps the values."""

_FATES: dict[Fate, tuple[str, str]] = {
    "waits": ("stays Pending", "stay Pending"),
    "attaching": ("waits for its volume", "wait for their volume"),
    "held": ("is not recreated", "are not recreated"),
    "stays": ("is not evicted", "are not evicted"),
    "off": ("stays stopped", "stay stopped"),
    "gone": ("is deleted for good", "are deleted for good"),
}
"""What becomes of one replica, and of several, that do not run again."""
_MACHINES = frozenset(["VirtualMachine", "VirtualMachineInstance"])

_DIGITS = re.compile("([0-9]+)")
_PLURALS = {"lacks": "lack", "is": "are", "has": "have", "does": "do", "holds": "hold", "runs": "run", "was": "were"}


class Rack(NamedTuple):
    """The nodes of one topology domain, ordered by name. ``domain`` is None for nodes without the topology key."""

    domain: str | None
    nodes: tuple[NodeRow, ...]


class NodeGroup(NamedTuple):
    """Nodes of a domain with the same verdict for one workload: one with the replicas on it, or several without any."""

    nodes: tuple[NodeRow, ...]
    verdict: NodeVerdict | None
    pods: tuple[str, ...]


class Effect(NamedTuple):
    """The effect of a disruption on one workload. ``left`` of its ``asked`` replicas run afterwards."""

    workload: str
    outcome: Outcome
    left: int
    asked: int
    moves: tuple[ReplicaMove, ...]
    volumes: bool = False
    """Whether its volumes may tie it to a zone or a node."""
    is_machine: bool = False
    """Whether the workload is a single virtual machine."""


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts ``worker-10`` after ``worker-9``."""
    # By length, not as a number: int() refuses digits by the thousand.
    parts = enumerate(_DIGITS.split(name))
    key = [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (0, part) for place, part in parts]
    return (*key, (0, name))


def racks(plan: Plan) -> list[Rack]:
    """Return the nodes by topology domain, nodes without one last."""
    members: dict[str | None, list[NodeRow]] = {}
    for node in sorted(plan.nodes, key=lambda node: natural(node.name)):
        members.setdefault(node.domain, []).append(node)
    domains = sorted(members, key=lambda domain: (domain is None, natural(domain or "")))
    return [Rack(domain, tuple(members[domain])) for domain in domains]


def domain_words(key: str, domain: str | None) -> str:
    """Return ``zone a`` or ``node w1``; for None, a missing label, ``no zone`` or ``no hostname``."""
    if domain is None:
        return f"no {name_of_key(key) or 'domain'}"
    return f"{domain_noun(key)} {domain}" if domain else f'{domain_noun(key)} ""'


def short_names(workloads: Iterable[WorkloadPlan]) -> dict[str, str]:
    """Return a short name such as ``shop/web`` by workload key; the key itself if two kinds share that name."""
    found: dict[str, list[str]] = {}
    for workload in workloads:
        found.setdefault(f"{workload.namespace}/{workload.name}", []).append(workload.key)
    return {key: name if len(keys) == 1 else key for name, keys in found.items() for key in keys}


def replicas_by_node(workload: WorkloadPlan) -> dict[str, list[str]]:
    """Return the names of the replicas on each node."""
    found: dict[str, list[str]] = {}
    for replica in workload.replicas:
        if replica.node is not None:
            found.setdefault(replica.node, []).append(replica.pod)
    return found


def pending(workload: WorkloadPlan) -> dict[str, list[Replica]]:
    """Return the replicas that stay Pending, by reason. Replicas that are not evaluated are not among them."""
    found: dict[str, list[Replica]] = {}
    for replica in workload.replicas:
        if replica.node is None and not workload.unjudged:
            found.setdefault(replica.why, []).append(replica)
    return found


def attaching(workload: WorkloadPlan) -> list[Replica]:
    """Return the replicas with a node that wait for a volume."""
    return [replica for replica in workload.replicas if replica.node is not None and replica.why]


def scheduled_words(workload: WorkloadPlan) -> str:
    """Return ``2 of 3 replicas scheduled``."""
    if not workload.replicas:
        return "no replicas requested"
    scheduled = sum(replica.node is not None for replica in workload.replicas)
    return f"{scheduled} of {pluralize(len(workload.replicas), 'replica')} scheduled"


def unjudged_words(workload: WorkloadPlan) -> str:
    """Return ``2 replicas are not evaluated: the configuration of the scheduler volcano is not known``."""
    number = sum(replica.node is None for replica in workload.replicas)
    if not number:
        return f"where its replicas would be scheduled is not evaluated: {workload.unjudged}"
    return f"{pluralize(number, 'replica')} {'is' if number == 1 else 'are'} not evaluated: {workload.unjudged}"


def feasible_count(workload: WorkloadPlan) -> int:
    """Return on how many nodes the first replica could be scheduled."""
    return sum([judgement.feasible for judgement in workload.verdicts.judgements])


def is_in_trouble(workload: WorkloadPlan) -> bool:
    """Return whether a replica cannot be scheduled, or waits for a volume."""
    return workload.error is not None or any(replica.node is None or replica.why for replica in workload.replicas)


def groups(rack: Rack, verdicts: Mapping[str, NodeVerdict], pods: Mapping[str, Sequence[str]], *, fold: bool) -> list[NodeGroup]:
    """Return the nodes of a domain one by one; with ``fold``, group those without replicas by verdict, the best first."""
    single = [NodeGroup((node,), verdicts.get(node.name), tuple(pods.get(node.name, ()))) for node in rack.nodes]
    if not fold:
        return single
    alike: dict[object, list[NodeGroup]] = {}
    for group in single:
        if not group.pods:
            alike.setdefault(group.verdict and group.verdict[1:], []).append(group)
    folded = [NodeGroup(tuple(group.nodes[0] for group in members), members[0].verdict, ()) for members in alike.values()]
    folded.sort(key=_best_first)
    return [group for group in single if group.pods] + folded


def _best_first(group: NodeGroup) -> tuple[bool, int, int]:
    verdict = group.verdict
    if verdict is None:
        return True, 0, 0
    return not verdict.feasible, -(verdict.score or 0), -len(group.nodes)


def weights_words(verdict: NodeVerdict) -> str:
    """Return ``15 of 18``: the weight of the preferences that the node satisfies, of all; empty without preferences."""
    return "" if verdict.weights is None else f"{verdict.weights[0]} of {verdict.weights[1]}"


def preferences_words(workload: WorkloadPlan, nodes: int, *, verbose: bool = False) -> list[str]:
    """Describe the preferences that no usable node satisfies; with ``verbose``, how many of the ``nodes`` satisfy each."""
    found = []
    for each in workload.preferences:
        what = f"the preference {each.asks} (weight {each.weight})"
        if not each.nodes:
            found.append(f"no node satisfies {what}")
        elif not each.usable:
            satisfy = "1 node satisfies" if each.nodes == 1 else f"{each.nodes} nodes satisfy"
            found.append(f"{satisfy} {what}, but the pods cannot be scheduled there")
        elif verbose:
            found.append(f"{each.nodes} of {pluralize(nodes, 'node')} {'satisfies' if each.nodes == 1 else 'satisfy'} {what}")
    return found


def parts_words(verdict: NodeVerdict) -> str:
    """Return what each scheduler plugin contributes to the score, largest first: ``TaintToleration 300 + NodeAffinity 200``."""
    return " + ".join(f"{plugin} {value}" for plugin, value in sorted(verdict.parts, key=lambda part: -part[1]) if value)


def why_words(why: str, number: int) -> str:
    """Inflect ``why`` for ``number`` nodes: ``lacks disk=ssd`` for one, ``lack disk=ssd`` for several."""
    verb, space, rest = why.partition(" ")
    return _PLURALS.get(verb, verb) + space + rest if number != 1 else why


def reason_words(why: str) -> str:
    """Return the reason without the taint of control planes, which ordinary pods do not tolerate. It stays if it is the only reason."""
    # Before the reasons of nodes may be one for all of them, and an explanation after them.
    parts = [_other_reasons(part) for part in why.split("; ")]
    return "; ".join([part for part in parts if part]) or why


def _other_reasons(reasons: str) -> str:
    every = reasons.split(", ")
    others = [reason for reason in every if not _CONTROL_PLANE_TAINT.fullmatch(reason)]
    # Only the first reason says what it counts: "3 nodes have ..., 9 share ...".
    if others and others[0] != every[0]:
        number, _, rest = others[0].partition(" ")
        others[0] = f"{pluralize(int(number), 'node')} {rest}" if number.isascii() and number.isdigit() else others[0]
    return ", ".join(others)


_CONTROL_PLANE_TAINT = re.compile(
    rf"[0-9]+ (?:nodes? )?(?:has|have) the (?:untolerated )?taint (?:{re.escape(CONTROL_PLANE)}|{re.escape(MASTER)}):No(?:Schedule|Execute)"
)


def short_titles(plan: Plan) -> dict[str, str]:
    """Return what each disruption affects, with the last part of its topology key if no other label key of the nodes ends in it."""
    keys = {key for node in plan.nodes for key in node.labels}
    endings = [key.rpartition("/")[2] for key in keys]
    found = {}
    for loss in plan.losses:
        key, value = label_of(loss)
        ending = key.rpartition("/")[2]
        found[loss.what] = f"{ending}={value}" if key in keys and endings.count(ending) == 1 else loss.what
    return found


def label_of(loss: DisruptionEffect) -> tuple[str, str]:
    """Return key and value of the label by which a disruption names its nodes; empty texts for other disruptions."""
    key, equals, value = loss.what.partition("=")
    return (key, value) if equals and loss.action != "together" and "," not in loss.what else ("", "")


def violation_words(violation: Violation) -> list[str]:
    """Return what would happen to a pod that runs against its rules: a restart, a live migration, the descheduler."""
    found = []
    if not violation.recreated:
        found.append("it is not recreated after a deletion")
    elif violation.restart is None:
        found.append("after a restart it would stay Pending")
    else:
        found.append(f"a restart would move it to {violation.restart}")
    if violation.migrates:
        to = f"would move it to {violation.migration}" if violation.migration else "finds no node"
        found.append(f"a live migration {to}")
    if violation.descheduler:
        found.append(f"the descheduler's {violation.descheduler} applies to it")
    return found


def preempted_words(preempted: Preempted) -> str:
    """Return ``is preempted by gold-0``, and where the pod runs again."""
    again = f"; it runs again on {preempted.target}" if preempted.target else ""
    return f"is preempted by {preempted.by}{again}"


def preempted_count(number: int) -> str:
    """Return ``2 running pods are preempted``."""
    return f"{pluralize(number, 'running pod')} {'is' if number == 1 else 'are'} preempted"


def outcomes(loss: DisruptionEffect) -> list[Outcome]:
    """Return the outcomes of applications: those of several workloads, and the workloads that belong to none of these."""
    members = {key for each in loss.applications for key in each.workloads}
    return [*(each.outcome for each in loss.applications), *(each for key, each in loss.outcomes.items() if key not in members)]


def worst(loss: DisruptionEffect) -> Verdict:
    """Return the worst outcome of any application in a disruption."""
    return _worst(outcomes(loss), loss)


def worst_of_workloads(loss: DisruptionEffect) -> Verdict:
    """Return the worst outcome of any workload in a disruption, whatever application it belongs to."""
    return _worst(loss.outcomes.values(), loss)


def _worst(found: Collection[Outcome], loss: DisruptionEffect) -> Verdict:
    harm = next((outcome for outcome in OUTCOMES[:3] if outcome in found), None)
    return harm or ("unjudged" if loss.unevaluated else "survives")


def harmed_noun(plan: Plan) -> str:
    """Return what disruptions harm, in words: ``application`` if workloads are judged together, ``workload`` otherwise.

    Workloads whose scheduler is not known are not among them.
    """
    noun = "application" if plan.applications else "workload"
    return f"evaluated {noun}" if any(workload.unjudged for workload in plan.workloads) else noun


def tally_words(plan: Plan, verdict: Verdict, number: int) -> str:
    """Return what ``number`` disruptions with the verdict do to a workload or an application of the plan: ``degrades a workload``."""
    noun = harmed_noun(plan)
    some = f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
    one, several = _TALLIED[verdict]
    return (several if number > 1 else one).format(some=some, every=f"{noun} that runs" if _has_idle(plan) else noun)


def _has_idle(plan: Plan) -> bool:
    """Return whether all replicas of a workload are Pending, so that a disruption takes nothing from it."""
    return any(
        workload.replicas and not workload.unjudged and all(replica.node is None for replica in workload.replicas)
        for workload in plan.workloads
    )


_TALLIED: dict[Verdict, tuple[str, str]] = {
    "dead": ("takes {some} down", "take {some} down"),
    "degraded": ("degrades {some}", "degrade {some}"),
    "interrupted": ("interrupts {some}", "interrupt {some}"),
    "unjudged": ("is not evaluated", "are not evaluated"),
    "survives": ("is survived by every {every}", "are survived by every {every}"),
}


def ranked(losses: Iterable[DisruptionEffect]) -> list[DisruptionEffect]:
    """Order disruptions, worst first: applications down, degraded, blocked pods, applications interrupted, Pending replicas, moves."""

    def harm(loss: DisruptionEffect) -> tuple[int, ...]:
        counts = tally(outcomes(loss))
        missing = sum(move.target is None for move in loss.moves)
        down, degraded, interrupted = (-counts[outcome] for outcome in OUTCOMES[:3])
        return down, degraded, -len(loss.blocked), interrupted, -missing, -len(loss.unevaluated), -len(loss.moves)

    return sorted(losses, key=harm)


def by_action(losses: Iterable[DisruptionEffect]) -> dict[Action, list[DisruptionEffect]]:
    """Group disruptions by action, in the order of NOUNS; actions without any have no entry."""
    found: dict[Action, list[DisruptionEffect]] = {}
    for loss in losses:
        found.setdefault(loss.action, []).append(loss)
    return {action: found[action] for action in NOUNS if action in found}


def is_harmless(loss: DisruptionEffect) -> bool:
    """Return whether every application survives and a drain completes."""
    return worst(loss) == "survives" and not loss.blocked


def differs(loss: DisruptionEffect) -> DisruptionEffect | None:
    """Return the effect of removing the failed nodes, if its outcomes differ from those of the failure."""
    return loss.removed if loss.removed is not None and loss.removed.outcomes != loss.outcomes else None


def tally(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """Count each verdict, worst first, zeros included."""
    found = list(verdicts)
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def effects(loss: DisruptionEffect, workloads: Mapping[str, WorkloadPlan]) -> list[Effect]:
    """Return the effect of a disruption on each affected workload, worst first. ``workloads`` is by key."""
    moves: dict[str, list[ReplicaMove]] = {key: [] for key in loss.outcomes}
    for move in loss.moves:
        moves.setdefault(move.workload, []).append(move)
    # Pods that are not evicted keep running on the drained node.
    lost = frozenset(loss.nodes) - loss.drained
    found = [_effect(key, loss.outcomes.get(key, "survives"), moves[key], workloads.get(key), lost) for key in moves]
    return sorted(found, key=lambda effect: OUTCOMES.index(effect.outcome))


def _effect(key: str, outcome: Outcome, moves: Sequence[ReplicaMove], workload: WorkloadPlan | None, lost: frozenset[str]) -> Effect:
    running = [replica for replica in workload.replicas if not replica.why and replica.node not in lost] if workload else []
    nodes: dict[str, str | None] = dict.fromkeys([replica.pod for replica in workload.replicas] if workload else [])
    nodes.update((replica.pod, replica.node) for replica in running)
    nodes.update((move.pod, move.target) for move in moves)
    left = sum(node is not None for node in nodes.values())
    volumes, kind = (workload.volumes, workload.kind) if workload else (False, "")
    return Effect(key, outcome, left, len(nodes), tuple(moves), volumes, kind in _MACHINES)


def stranded(effect: Effect) -> dict[str, list[ReplicaMove]]:
    """Return the replicas that do not run again, by reason."""
    found: dict[str, list[ReplicaMove]] = {}
    for move in effect.moves:
        # A DaemonSet survives: its pod does not belong on another node.
        if move.target is None and effect.outcome != "survives":
            found.setdefault(move.why, []).append(move)
    return found


def shared_reason(effect: Effect) -> tuple[str, str] | None:
    """Return what becomes of all moved replicas and why, if none runs again and all share both."""
    if effect.outcome in ("survives", "interrupted") or any(move.target is not None for move in effect.moves):
        return None
    # The words for several: the item lists the replicas of several workloads.
    reasons = {(fate_words((move, move)), move.why) for move in effect.moves}
    return reasons.pop() if len(reasons) == 1 else None


def gap_words(effect: Effect) -> str:
    """Return how long a workload has no running replica, ``about 6 min``; empty if that is unknown."""
    seconds = [move.after for move in effect.moves if move.target is not None and move.after]
    return f"about {max(round(min(seconds) / 60), 1)} min" if seconds else ""


def keeping_words(effect: ApplicationEffect) -> str:
    """Return what a disruption leaves of an application: ``keeps 2 of 3``, ``has no running replica for a time``."""
    if effect.outcome == "interrupted":
        return "has no running replica for a time"
    return f"keeps {effect.left} of {effect.replicas}"


def running_words(effect: Effect) -> str:
    """Return ``2 of 3 replicas run``, or ``VM down``."""
    if effect.is_machine and effect.left == 0:
        return "VM down"
    return f"{effect.left} of {pluralize(effect.asked, 'replica')} {'runs' if effect.asked == 1 else 'run'}"


def fate_words(moves: Sequence[ReplicaMove]) -> str:
    """Return what becomes of replicas that do not run again and share a fate: ``stays Pending``, ``are not evicted``."""
    return _FATES.get(moves[0].fate, _FATES["waits"])[len(moves) > 1]


def list_some(words: Sequence[str], limit: int) -> str:
    """Return the first ``limit`` of ``words``, and how many more there are."""
    if len(words) <= limit + 1:
        return ", ".join(words)
    return ", ".join(words[:limit]) + f" and {len(words) - limit} more"


def marks(node: NodeRow) -> list[str]:
    """Return the pool, cordon and taints of a node, in words."""
    pool = [f"of {node.pool}"] if node.pool else []
    return [*pool, *["cordoned"] * node.cordoned, *[f"tainted {taint}" for taint in node.taints]]


def pool_size(pool: PoolRow) -> str:
    """Return how many nodes a pool can have: ``3``, ``1 to 4``, ``2 or more``, ``unbounded``."""
    if pool.most is None:
        return f"{pool.least} or more" if pool.least else "unbounded"
    return str(pool.most) if pool.least == pool.most else f"{pool.least} to {pool.most}"


def is_control_plane(node: NodeRow) -> bool:
    """Return whether labels or taints make it a control plane node."""
    roles = {CONTROL_PLANE, MASTER}
    return not roles.isdisjoint(node.labels) or not roles.isdisjoint(re.split("[=:]", taint)[0] for taint in node.taints)
