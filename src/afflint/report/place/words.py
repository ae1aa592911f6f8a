"""The words of the reports of `afflint place`: for outcomes, disruptions, nodes and replicas. Each table of words is only here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, domain_noun, name_of_key
from afflint.placement.plan import (
    Action,
    ApplicationEffect,
    ClusterEvent,
    Fate,
    NodeRow,
    NodeVerdict,
    Outcome,
    PoolRow,
    Preempted,
    PreferredRestart,
    ReplicaMove,
    Violation,
    WorkloadPlan,
)

OUTCOMES: tuple[Outcome, ...] = ("dead", "degraded", "interrupted", "survives")
"""Worst first."""

STATES = ("blocked", "refused", *OUTCOMES[:3], "unjudged")
"""What a disruption may do to a workload: that a pod is not evicted, which stops a drain, or an outcome, the worst first."""

Verdict = Outcome | Literal["unjudged"]
"""The result of a disruption: the worst outcome of an application, or ``unjudged`` if some pods were not evaluated."""

VERDICTS: tuple[Verdict, ...] = (*OUTCOMES[:3], "unjudged", "survives")
"""Worst first."""

NOUNS: dict[Action, str] = {"lose": "failure", "drain": "drain", "remove": "removal", "together": "combined disruption"}
DOING: dict[Action, str] = {"lose": "the failure of", "drain": "draining", "remove": "removing", "together": "the combination"}
DONE: dict[Action, str] = {"lose": "failed", "drain": "drained", "remove": "removed", "together": "combined"}
ACTION_NOTES: dict[Action, str] = {
    "lose": "the nodes become unreachable, the Node objects remain",
    "drain": "kubectl drain",
    "remove": "the Node objects are deleted",
    "together": "failures first, then drains, then removals",
}
"""What each action means."""
STOPPED_NOTE = "blocked: never completes, refused: fails at once"
"""What the results of drains mean that do not complete."""

VERDICT_WORDS: dict[str, str] = {
    "dead": "down",
    "degraded": "degraded",
    "blocked": "blocked",
    "refused": "refused",
    "interrupted": "interrupted",
    "unjudged": "not evaluated",
    "survives": "survives",
}
"""The words for people; JSON keeps the values."""
TALLIED: dict[str, tuple[str, str]] = {
    "dead": ("takes {some} down", "take {some} down"),
    "degraded": ("degrades {some}", "degrade {some}"),
    "blocked": ("is blocked", "are blocked"),
    "refused": ("is refused", "are refused"),
    "interrupted": ("interrupts {some}", "interrupt {some}"),
    "unjudged": ("is not evaluated", "are not evaluated"),
    "survives": ("is survived by every {every}", "are survived by every {every}"),
}
"""What one disruption does, and several: to some application, or to every one."""
FATES: dict[Fate, tuple[str, str]] = {
    "waits": ("stays Pending", "stay Pending"),
    "attaching": ("waits for its volume", "wait for their volume"),
    "held": ("is not recreated", "are not recreated"),
    "stays": ("is not evicted", "are not evicted"),
    "off": ("stays stopped", "stay stopped"),
    "gone": ("is deleted for good", "are deleted for good"),
}
"""What becomes of one replica, and of several, that do not run again."""
_EVENTS = {
    "unreachable": "becomes unreachable",
    "cordoned": "is cordoned",
    "ready": "takes pods again",
    "added": "is added",
    "removed": "is removed",
    "stopped": "stops on",
    "scheduled": "is scheduled on",
    "migrated": "is live-migrated to",
    "pending": "stays Pending",
}
_PLURALS = {"lacks": "lack", "is": "are", "has": "have", "does": "do", "holds": "hold", "runs": "run", "was": "were"}
_DIGITS = re.compile("([0-9]+)")
_CONTROL_PLANE_TAINT = re.compile(
    rf"[0-9]+ (?:nodes? )?(?:has|have) the (?:untolerated )?taint (?:{re.escape(CONTROL_PLANE)}|{re.escape(MASTER)}):No(?:Schedule|Execute)"
)


def list_some(words: Sequence[str], limit: int) -> str:
    """Return the first ``limit`` of ``words``, and how many more there are."""
    if len(words) <= limit + 1:
        return ", ".join(words)
    return ", ".join(words[:limit]) + f" and {len(words) - limit} more"


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts ``worker-10`` after ``worker-9``."""
    # By length, not as a number: int() refuses digits by the thousand.
    parts = enumerate(_DIGITS.split(name))
    key = [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (0, part) for place, part in parts]
    return (*key, (0, name))


def domain_words(key: str, domain: str | None) -> str:
    """Return ``zone a`` or ``node w1``; for None, a missing label, ``no zone`` or ``no hostname``."""
    if domain is None:
        return f"no {name_of_key(key) or 'domain'}"
    return f"{domain_noun(key)} {domain}" if domain else f'{domain_noun(key)} ""'


# Nodes and pools.


def marks(node: NodeRow) -> list[str]:
    """Return the pool, cordon and taints of a node, in words."""
    pool = [f"of {node.pool}"] if node.pool else []
    return [*pool, *["cordoned"] * node.cordoned, *[f"tainted {taint}" for taint in node.taints]]


def is_control_plane(node: NodeRow) -> bool:
    """Return whether labels or taints make it a control plane node."""
    roles = {CONTROL_PLANE, MASTER}
    return not roles.isdisjoint(node.labels) or not roles.isdisjoint(re.split("[=:]", taint)[0] for taint in node.taints)


def pool_size(pool: PoolRow) -> str:
    """Return how many nodes a pool can have: ``3``, ``1 to 4``, ``2 or more``, ``unbounded``."""
    if pool.most is None:
        return f"{pool.least} or more" if pool.least else "unbounded"
    return str(pool.most) if pool.least == pool.most else f"{pool.least} to {pool.most}"


# Workloads before a disruption.


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


def weights_words(verdict: NodeVerdict) -> str:
    """Return ``15 of 18``: the weight of the preferences that the node satisfies, of all; empty without preferences."""
    return "" if verdict.weights is None else f"{verdict.weights[0]} of {verdict.weights[1]}"


def parts_words(verdict: NodeVerdict) -> str:
    """Return what each scheduler plugin contributes to the score, largest first: ``TaintToleration 300 + NodeAffinity 200``."""
    return " + ".join(f"{plugin} {value}" for plugin, value in sorted(verdict.parts, key=lambda part: -part[1]) if value)


def rejection_words(verdict: NodeVerdict, number: int) -> str:
    """Return why ``number`` nodes are rejected: ``lacks disk=ssd`` for one, ``lack disk=ssd`` for several."""
    why = verdict.why or verdict.reason or ""
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


def violation_words(violation: Violation) -> str:
    """Return why a pod runs against its rules, and what would happen to it: a restart, a live migration, the descheduler."""
    found = [violation.why]
    ways = {}
    if violation.recreated and violation.restart:
        ways[violation.restart] = "a restart"
    if violation.migration:
        ways[violation.migration] = (
            f"{ways[violation.migration]} or a live migration" if violation.migration in ways else "a live migration"
        )
    if not violation.recreated:
        is_machine = violation.workload.startswith("Virtual")
        found.append("the VM stays off if its pod is deleted" if is_machine else "it is not recreated after a deletion")
    elif violation.restart is None:
        found.append("after a restart it would stay Pending")
    # One of several nodes that are equally good, perhaps.
    found += [f"{way} would move it, for example to {node}" for node, way in ways.items()]
    if violation.migrates and violation.migration is None:
        found.append("a live migration finds no node")
    if violation.descheduler:
        found.append(f"a descheduler with {violation.descheduler} considers it")
    return "; ".join(found)


def restart_words(restart: PreferredRestart) -> str:
    """Return where a restart would bring a pod in this schedule, and how much of its preferences is satisfied there and here."""
    where = join_words(restart.targets, "or") if len(restart.targets) < 4 else f"one of {len(restart.targets)} nodes"
    start = "either starts" if len(restart.others) == 1 else "any of them starts"
    together = f"stopped before {start} again, {join_words(['it', *restart.others])} would run on"
    moves = together if restart.others else "a restart would move it to"
    if restart.apart is not None:
        now, then = restart.apart
        return f"{moves} {where} in this schedule (pods that it prefers to be apart from: {then} there, {now} here)"
    return f"{moves} {where} in this schedule (satisfied weight {restart.then} of {restart.possible}, here {restart.now})"


# Effects of disruptions.


def preempted_words(preempted: Preempted) -> str:
    """Return ``is preempted by gold-0``, and where the pod runs again."""
    again = f"; it runs again on {preempted.target}" if preempted.target else ""
    return f"is preempted by {preempted.by}{again}"


def keeping_words(effect: ApplicationEffect) -> str:
    """Return what a disruption leaves of an application: ``keeps 2 of 3 replicas``, ``has no running replica for a time``."""
    if effect.outcome == "interrupted":
        return "has no running replica for a time"
    return f"keeps {effect.left} of {pluralize(effect.replicas, 'replica')}"


def fate_words(moves: Sequence[ReplicaMove]) -> str:
    """Return what becomes of replicas that do not run again and share a fate: ``stays Pending``, ``are not evicted``."""
    return FATES.get(moves[0].fate, FATES["waits"])[len(moves) > 1]


def tally(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """Count each verdict, worst first, zeros included."""
    found = list(verdicts)
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def event_words(event: ClusterEvent) -> str:
    """Return what an event says in a line: ``web-0 stops on n1: n1 fails``."""
    if event.pod is None:
        return f"{event.node} {_EVENTS[event.what]}"
    where = f" {event.node}" if event.node else ""
    return f"{event.pod[1]} {_EVENTS[event.what]}{where}" + (f": {event.cause}" if event.cause else "")
