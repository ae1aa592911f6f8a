"""What the loss of nodes does: pods of lost nodes are created anew and scheduled on what remains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from afflint.errors import UserError
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE
from afflint.placement.arrangement import Arrangement, Attempt, Identity, Placed, schedule
from afflint.placement.plan import Loss, Move, Outcome
from afflint.placement.rejections import Rejections, standing_pods, summary
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod
from afflint.wording import nearest

SHORT_KEYS = {"zone": ZONE, "region": REGION, "host": HOSTNAME, "hostname": HOSTNAME}
"""Words that stand for a label key, unless nodes carry the word itself as a label."""

NOT_MADE_ANEW = "nothing makes the pod anew: it has no controller"


class UnknownLossError(UserError, ValueError):
    """What was asked to be lost is no node and no label value of the inventory. The message says what there is."""


class Failure(NamedTuple):
    """Nodes that fail together. ``what`` names them: ``node worker-2``, ``zone=a``."""

    what: str
    nodes: tuple[str, ...]


def failures(cluster: Cluster, asked: str) -> list[Failure]:
    """What ``--lose`` asks for: a node, ``KEY=VALUE``, or ``each:node``, ``each:zone``, ``each:KEY`` for every one in turn.

    ``zone``, ``region`` and ``hostname`` stand for the well-known keys unless nodes carry such a label. Raises UnknownLossError.
    """
    each, _, key = asked.partition(":")
    if each == "each" and key:
        if key == "node":
            return [Failure(f"node {node}", (node,)) for node in cluster.nodes]
        return _domains(cluster, key)
    if asked in cluster.nodes:
        return [Failure(f"node {asked}", (asked,))]
    key, equals, value = asked.partition("=")
    if not equals:
        close = nearest(asked, cluster.nodes)
        raise UnknownLossError(f"no node is called {asked!r}{f'; did you mean {close!r}?' if close else ''}")
    found = [failure for failure in _domains(cluster, key) if failure.what == f"{key}={value}"]
    if not found:
        values = sorted(set(cluster.label(label_key(cluster, key)).values()))
        raise UnknownLossError(f"no node has {key}={value}; its values are {', '.join(values[:10])}{', …' if len(values) > 10 else ''}")
    return found


def label_key(cluster: Cluster, word: str) -> str:
    """The label key that a word stands for: itself when nodes carry it, else the well-known key of that name."""
    return word if cluster.label(word) or word not in SHORT_KEYS else SHORT_KEYS[word]


def _domains(cluster: Cluster, word: str) -> list[Failure]:
    nodes_of: dict[str, list[str]] = {}
    for node, value in cluster.label(label_key(cluster, word)).items():
        nodes_of.setdefault(value, []).append(node)
    if not nodes_of:
        raise UnknownLossError(f"no node carries the label {label_key(cluster, word)}")
    return [Failure(f"{word}={value}", tuple(nodes_of[value])) for value in sorted(nodes_of)]


def lose(arrangement: Arrangement, failure: Failure) -> Loss:
    """What becomes of the pods of the failed nodes.

    Pods of a DaemonSet vanish with their nodes. The others are created anew, in the order in which they had been placed, and
    pods that had no place before are tried after them; retries go on until nothing moves.
    """
    return Losses(arrangement).lose(failure)


class Losses:
    """The failures of one arrangement, which share what is looked up about its pods."""

    def __init__(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        self.owners = arrangement.owners
        self.ranks = {identity: number for number, identity in enumerate(self.owners)}
        self.titles = {identity: placed.maker.key for identity, placed in self.owners.items()}
        self.waiting = [
            pod
            for placed in arrangement.workloads
            if not (placed.maker.daemon or placed.maker.node_name)
            for pod in placed.pods
            if (pod.namespace, pod.name) in placed.pending
        ]
        # Of pods that differ by name alone the others have no place where the first has none.
        self.first_waiting = list({_but_for_the_name(pod): pod for pod in reversed(self.waiting)}.values())[::-1]

    def lose(self, failure: Failure) -> Loss:
        lost = set(failure.nodes)
        displaced = self.arrangement.cluster.evicted(failure.nodes)
        if not displaced:
            return Loss(failure.what, failure.nodes, (), {})
        anew: dict[Identity, Pod] = {}
        gone: dict[Identity, str] = {}
        for pod in displaced:
            identity = (pod.namespace, pod.name)
            placed = self.owners.get(identity)
            if placed is None:
                if pod.controller is not None and pod.controller[1] not in ("DaemonSet", "Node"):
                    anew[identity] = pod
            elif placed.maker.bare:
                gone[identity] = NOT_MADE_ANEW
            elif placed.maker.daemon:
                continue
            elif placed.maker.node_name:
                gone[identity] = f"its spec names node {placed.maker.node_name}"
            else:
                anew[identity] = pod
        return self._loss(failure, lost, anew, gone)

    def _loss(self, failure: Failure, lost: set[str], anew: dict[Identity, Pod], gone: dict[Identity, str]) -> Loss:
        remaining = self.arrangement.cluster.without(failure.nodes)
        attempt = self._again(remaining, anew)
        for pod in (*anew.values(), *self.waiting):
            if (pod.namespace, pod.name) in attempt.nodes:
                remaining.bind(pod, attempt.nodes[pod.namespace, pod.name])
        standing = standing_pods(remaining) if attempt.pending else None
        moves = []
        for identity in sorted(self.ranks.keys() & (anew.keys() | gone.keys()), key=self.ranks.__getitem__):
            placed = self.owners[identity]
            source = placed.nodes.get(identity, "")
            key = placed.maker.key
            if identity in gone:
                moves.append(Move(key, identity[1], source, None, gone[identity]))
            elif identity in attempt.nodes:
                moves.append(Move(key, identity[1], source, attempt.nodes[identity]))
            else:
                rejections = Rejections(remaining, anew[identity], self.titles, key, standing)
                why = summary(rejections.phrases(attempt.pending.get(identity, {})).values())
                moves.append(Move(key, identity[1], source, None, why))
        return Loss(failure.what, failure.nodes, tuple(moves), self._outcomes(moves, lost, attempt.nodes))

    def _again(self, remaining: Cluster, anew: dict[Identity, Pod]) -> Attempt:
        """Schedule the pods that are created anew, then those that had no place before."""
        if not anew:
            return schedule(remaining, [])
        attempt = schedule(remaining, [*anew.values(), *self.first_waiting])
        if any((pod.namespace, pod.name) in attempt.nodes for pod in self.first_waiting):
            attempt = schedule(remaining, [*anew.values(), *self.waiting])
        return attempt

    def _outcomes(self, moves: list[Move], lost: set[str], targets: Mapping[Identity, str]) -> dict[str, Outcome]:
        """For each workload that loses a pod, how many of all its pods run afterwards."""
        hit = {move.workload for move in moves}
        outcomes: dict[str, Outcome] = {}
        for placed in self.arrangement.workloads:
            if placed.maker.key in hit:
                outcomes[placed.maker.key] = _outcome(placed, lost, targets)
            elif placed.maker.daemon and placed.nodes and lost.issuperset(placed.nodes.values()):
                outcomes[placed.maker.key] = "dead"
        return outcomes


def _outcome(placed: Placed, lost: set[str], targets: Mapping[Identity, str]) -> Outcome:
    running = 0
    for pod in placed.pods:
        identity = (pod.namespace, pod.name)
        node = placed.nodes.get(identity)
        stays = node is not None and node not in lost
        running += stays or identity in targets
    return "survives" if running == len(placed.pods) else "degraded" if running else "dead"


def _but_for_the_name(pod: Pod) -> tuple[object, ...]:
    return (pod.rules, pod.subject, pod.affinity, pod.anti_affinity, pod.hard_spread, pod.ports, pod.requests)
