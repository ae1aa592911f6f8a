"""What the table and the page both read out of a plan: racks of nodes, verdicts folded, failures worst first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, domain_noun, last_part
from afflint.placement.plan import (
    Action,
    DisruptionEffect,
    Fate,
    NodeRow,
    NodeVerdict,
    Outcome,
    Plan,
    PoolRow,
    Replica,
    ReplicaMove,
    WorkloadPlan,
)

OUTCOMES: tuple[Outcome, ...] = ("dead", "degraded", "interrupted", "survives")
"""Worst first."""

Verdict = Outcome | Literal["unjudged"]
"""What is said of a failure as a whole: the worst outcome of a workload, or that it is not known since pods were not judged."""

VERDICTS: tuple[Verdict, ...] = (*OUTCOMES[:3], "unjudged", "survives")
"""Worst first."""

NOUNS: dict[Action, str] = {"lose": "failure", "drain": "drain", "remove": "removal"}
"""What each of the things is called that may happen to nodes."""

STATES: dict[Action, str] = {"lose": "the nodes stay, out of reach", "drain": "kubectl drain", "remove": "the nodes are deleted"}
"""What that means, in brief."""

FATES: dict[Fate, str] = {
    "waits": "without a place",
    "held": "not replaced",
    "stays": "not evicted",
    "off": "off",
    "gone": "gone for good",
}
"""What is said of a replica that does not come up again."""

_DIGITS = re.compile("([0-9]+)")
_PLURALS = {"lacks": "lack", "is": "are", "has": "have", "does": "do", "holds": "hold", "runs": "run", "was": "were"}


class Rack(NamedTuple):
    """The nodes of one domain, in the order of their names. ``domain`` is None for the nodes that lack the key."""

    domain: str | None
    nodes: tuple[NodeRow, ...]


class NodeGroup(NamedTuple):
    """Nodes of a rack that one workload sees alike: one with the replicas on it, or several without any."""

    nodes: tuple[NodeRow, ...]
    verdict: NodeVerdict | None
    pods: tuple[str, ...]


class Effect(NamedTuple):
    """What a failure does to one workload that loses a replica. ``left`` of its ``asked`` replicas have a node afterwards."""

    workload: str
    outcome: Outcome
    left: int
    asked: int
    moves: tuple[ReplicaMove, ...]
    volumes: bool = False
    """Whether its volumes may tie it to a zone or a node."""


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A sort key that puts ``worker-10`` after ``worker-9``."""
    # By length, not as a number: int() refuses digits by the thousand.
    parts = enumerate(_DIGITS.split(name))
    key = [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (0, part) for place, part in parts]
    return (*key, (0, name))


def racks(plan: Plan) -> list[Rack]:
    """The nodes by domain, the nodes without one last."""
    members: dict[str | None, list[NodeRow]] = {}
    for node in sorted(plan.nodes, key=lambda node: natural(node.name)):
        members.setdefault(node.domain, []).append(node)
    domains = sorted(members, key=lambda domain: (domain is None, natural(domain or "")))
    return [Rack(domain, tuple(members[domain])) for domain in domains]


def domain_words(key: str, domain: str | None) -> str:
    """``zone a``, ``node w1``; for None, which lacks the label, ``no zone``, ``no hostname``."""
    if domain is None:
        return f"no {last_part(key) or 'domain'}"
    return f"{domain_noun(key)} {domain}" if domain else f'{domain_noun(key)} ""'


def short_names(workloads: Iterable[WorkloadPlan]) -> dict[str, str]:
    """By key, ``shop/web`` for each workload; the key itself where two kinds share that."""
    found: dict[str, list[str]] = {}
    for workload in workloads:
        found.setdefault(f"{workload.namespace}/{workload.name}", []).append(workload.key)
    return {key: name if len(keys) == 1 else key for name, keys in found.items() for key in keys}


def standing(workload: WorkloadPlan) -> dict[str, list[str]]:
    """By node, the replicas that stand on it."""
    found: dict[str, list[str]] = {}
    for replica in workload.replicas:
        if replica.node is not None:
            found.setdefault(replica.node, []).append(replica.pod)
    return found


def pending(workload: WorkloadPlan) -> dict[str, list[Replica]]:
    """The replicas without a node, by the reason why."""
    found: dict[str, list[Replica]] = {}
    for replica in workload.replicas:
        if replica.node is None:
            found.setdefault(replica.why, []).append(replica)
    return found


def placed_words(workload: WorkloadPlan) -> str:
    """``2 of 3 replicas placed``."""
    if not workload.replicas:
        return "no replicas asked for"
    placed = sum(replica.node is not None for replica in workload.replicas)
    return f"{placed} of {pluralize(len(workload.replicas), 'replica')} placed"


def feasible_count(workload: WorkloadPlan) -> int:
    """How many nodes could take its first replica."""
    return sum([judgement.feasible for judgement in workload.verdicts.judgements])


def is_in_trouble(workload: WorkloadPlan) -> bool:
    """Whether not all of it is placed."""
    return workload.error is not None or any(replica.node is None for replica in workload.replicas)


def groups(rack: Rack, verdicts: Mapping[str, NodeVerdict], pods: Mapping[str, Sequence[str]], *, fold: bool) -> list[NodeGroup]:
    """The nodes of a rack one by one; with ``fold`` those without replicas fold by equal verdict, the best first."""
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
    """``15 of 18``: the weights of the workload's preferences that the node meets, of all; empty where it prefers nothing."""
    return "" if verdict.weights is None else f"{verdict.weights[0]} of {verdict.weights[1]}"


def preferences_words(workload: WorkloadPlan, nodes: int, *, verbose: bool = False) -> list[str]:
    """The preferences for nodes that weigh nothing, as no node meets them; with ``verbose`` how many of the ``nodes`` meet each."""
    found = []
    for each in workload.preferences:
        what = f"its preference {each.asks} (weight {each.weight})"
        if not each.nodes:
            found.append(f"no node meets {what}")
        elif not each.usable:
            meet = "1 node meets" if each.nodes == 1 else f"{each.nodes} nodes meet"
            found.append(f"{meet} {what}, and none that it may use")
        elif verbose:
            found.append(f"{each.nodes} of {pluralize(nodes, 'node')} {'meets' if each.nodes == 1 else 'meet'} {what}")
    return found


def parts_words(verdict: NodeVerdict) -> str:
    """What each plugin of the scheduler puts into the score, the most first: ``TaintToleration 300 + NodeAffinity 200``."""
    return " + ".join(f"{plugin} {value}" for plugin, value in sorted(verdict.parts, key=lambda part: -part[1]) if value)


def why_words(why: str, number: int) -> str:
    """``why`` as it is said of ``number`` nodes: ``lacks disk=ssd`` of one, ``lack disk=ssd`` of several."""
    verb, space, rest = why.partition(" ")
    return _PLURALS.get(verb, verb) + space + rest if number != 1 else why


def worst(loss: DisruptionEffect) -> Verdict:
    """The worst that the failure does to any workload, as far as what runs there was judged."""
    harm = next((outcome for outcome in OUTCOMES[:3] if outcome in loss.outcomes.values()), None)
    return harm or ("unjudged" if loss.unevaluated else "survives")


def ranked(losses: Iterable[DisruptionEffect]) -> list[DisruptionEffect]:
    """The worst first: by workloads dead, degraded and interrupted, drains that do not end, replicas without a place, replicas moved."""

    def harm(loss: DisruptionEffect) -> tuple[int, ...]:
        counts = tally(loss.outcomes.values())
        missing = sum(move.target is None for move in loss.moves)
        return *(-counts[outcome] for outcome in OUTCOMES[:3]), -len(loss.blocked), -missing, -loss.unevaluated, -len(loss.moves)

    return sorted(losses, key=harm)


def by_action(losses: Iterable[DisruptionEffect]) -> dict[Action, list[DisruptionEffect]]:
    """Failures, drains and removals apart, each in their order; no entry for what was not asked for."""
    found: dict[Action, list[DisruptionEffect]] = {}
    for loss in losses:
        found.setdefault(loss.action, []).append(loss)
    return {action: found[action] for action in NOUNS if action in found}


def is_harmless(loss: DisruptionEffect) -> bool:
    """Whether every workload survives it, and a drain ends."""
    return worst(loss) == "survives" and not loss.blocked


def differs(loss: DisruptionEffect) -> DisruptionEffect | None:
    """What the removal of failed nodes does, where that ends otherwise than the failure itself."""
    return loss.removed if loss.removed is not None and loss.removed.outcomes != loss.outcomes else None


def tally(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """How often each verdict occurs, worst first, zeros included."""
    found = list(verdicts)
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def effects(loss: DisruptionEffect, workloads: Mapping[str, WorkloadPlan]) -> list[Effect]:
    """What the failure does to each workload that it touches, worst first. ``workloads`` is by key."""
    moves: dict[str, list[ReplicaMove]] = {key: [] for key in loss.outcomes}
    for move in loss.moves:
        moves.setdefault(move.workload, []).append(move)
    # What does not leave a node that is drained runs on there.
    lost = frozenset(loss.nodes) if loss.action != "drain" else frozenset[str]()
    found = [_effect(key, loss.outcomes.get(key, "survives"), moves[key], workloads.get(key), lost) for key in moves]
    return sorted(found, key=lambda effect: OUTCOMES.index(effect.outcome))


def _effect(key: str, outcome: Outcome, moves: Sequence[ReplicaMove], workload: WorkloadPlan | None, lost: frozenset[str]) -> Effect:
    nodes = {replica.pod: replica.node if replica.node not in lost else None for replica in workload.replicas} if workload else {}
    nodes.update((move.pod, move.target) for move in moves)
    left = sum(node is not None for node in nodes.values())
    return Effect(key, outcome, left, len(nodes), tuple(moves), workload is not None and workload.volumes)


def stranded(effect: Effect) -> dict[str, list[ReplicaMove]]:
    """The replicas that do not come up again, by the reason why."""
    found: dict[str, list[ReplicaMove]] = {}
    for move in effect.moves:
        # A workload that survives although a replica went under did not want it elsewhere: a DaemonSet.
        if move.target is None and effect.outcome != "survives":
            found.setdefault(move.why, []).append(move)
    return found


def gap_words(effect: Effect) -> str:
    """How long a workload without a replica waits for the first of those that come up: ``about 6 min``; empty where nothing tells."""
    seconds = [move.after for move in effect.moves if move.target is not None and move.after]
    return f"about {max(round(min(seconds) / 60), 1)} min" if seconds else ""


def some(words: Sequence[str], limit: int) -> str:
    """The first ``limit`` of ``words``, and how many more there are."""
    if len(words) <= limit + 1:
        return ", ".join(words)
    return ", ".join(words[:limit]) + f" and {len(words) - limit} more"


def marks(node: NodeRow) -> list[str]:
    """What sets a node apart from those that take any pod, in words."""
    made = [f"of {node.pool}"] if node.pool else []
    return [*made, *["cordoned"] * node.cordoned, *[f"tainted {taint}" for taint in node.taints]]


def may_have(pool: PoolRow) -> str:
    """How many nodes a pool may have, in words: ``3``, ``1 to 4``, ``as many as needed``."""
    if pool.most is None:
        return f"{pool.least} and as many more as needed" if pool.least else "as many as needed"
    return str(pool.most) if pool.least == pool.most else f"{pool.least} to {pool.most}"


def is_control_plane(node: NodeRow) -> bool:
    """Whether its labels or taints make it a control plane node."""
    roles = {CONTROL_PLANE, MASTER}
    return not roles.isdisjoint(node.labels) or not roles.isdisjoint(re.split("[=:]", taint)[0] for taint in node.taints)
