"""What every report of a plan shows, whatever its format: names, nodes by domain, running pods at risk, and the effects of disruptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.kinds import is_single_machine
from afflint.placement.plan import (
    Action,
    DisruptionEffect,
    DrainResult,
    NodeRow,
    NodeVerdict,
    Outcome,
    Plan,
    Replica,
    ReplicaMove,
    SharedNode,
    WorkloadPlan,
)
from afflint.report.place.words import (
    NOUNS,
    OUTCOMES,
    TALLIED,
    Verdict,
    fate_words,
    natural,
    preempted_words,
    restart_words,
    tally,
    violation_words,
)

_NAME = re.compile(r"[\w.-]*\w")
"""A name of a node, or a word."""
_NODES_SHOWN = 16
"""Up to this many nodes get a row each in every table."""


class Rack(NamedTuple):
    """The nodes of one topology domain, ordered by name. ``domain`` is None for nodes without the topology key."""

    domain: str | None
    nodes: tuple[NodeRow, ...]


class NodeGroup(NamedTuple):
    """Nodes of a domain with the same verdict for one workload: one with the replicas on it, or several without any."""

    nodes: tuple[NodeRow, ...]
    verdict: NodeVerdict | None
    pods: tuple[str, ...]


class PodRow(NamedTuple):
    """A running pod with its workload, its node, and what happens to it."""

    workload: str
    pod: str
    node: str
    text: str


class PodList(NamedTuple):
    """Running pods that have something in common: what, and what that means."""

    title: str
    note: str
    rows: list[PodRow]
    mark: str
    """What is between the node and the text in a sentence."""


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

    @property
    def has_new_nodes(self) -> bool:
        """Whether a replica runs on another node afterwards."""
        return any(move.target is not None for move in self.moves)

    @property
    def stranded(self) -> dict[str, list[ReplicaMove]]:
        """The replicas that do not run again, by reason."""
        found: dict[str, list[ReplicaMove]] = {}
        for move in self.moves:
            # A DaemonSet survives: its pod does not belong on another node.
            if move.target is None and self.outcome != "survives":
                found.setdefault(move.why, []).append(move)
        return found

    @property
    def shared_reason(self) -> tuple[str, str] | None:
        """What becomes of all moved replicas and why, if none runs again and all share both."""
        if self.outcome in ("survives", "interrupted") or self.has_new_nodes:
            return None
        # The words for several: the item lists the replicas of several workloads.
        reasons = {(fate_words((move, move)), move.why) for move in self.moves}
        return reasons.pop() if len(reasons) == 1 else None

    @property
    def gap_words(self) -> str:
        """How long the workload has no running replica, ``about 6 min``; empty if that is unknown."""
        seconds = [move.after for move in self.moves if move.target is not None and move.after]
        return f"about {max(round(min(seconds) / 60), 1)} min" if seconds else ""

    @property
    def running_words(self) -> str:
        """How many replicas run: ``2 of 3 replicas run``, ``does not run`` or ``VM down``."""
        if self.is_machine and self.left == 0:
            return "VM down"
        if self.asked == 1 and self.left == 0:
            return "does not run"
        return f"{self.left} of {pluralize(self.asked, 'replica')} {'runs' if self.asked == 1 else 'run'}"


class PlaceView:
    """A plan with the names and the order in which reports show its parts. ``escape`` makes text from manifests safe in the format."""

    def __init__(self, plan: Plan, escape: Callable[[str], str]) -> None:
        self.plan, self.escape = plan, escape
        self.racks = _racks(plan)
        self.workloads = {workload.key: workload for workload in plan.workloads}
        self.losses = ranked(plan.losses)
        self.titles = short_titles(plan)
        """What each disruption affects."""
        suffix = common_suffix([node.name for node in plan.nodes])
        self.nodes: Mapping[str, str] = {node.name: node.name.removesuffix(suffix) for node in plan.nodes}
        """The short name of each node."""
        self.folds = len(plan.nodes) > _NODES_SHOWN
        """Whether tables show equal nodes as one row."""
        self.names = _short_names(plan.workloads)
        """A short name such as ``shop/web`` by workload key; the key itself if two kinds share that name."""

    def name(self, key: str) -> str:
        """Return the short name of a workload, escaped."""
        return self.escape(self.names.get(key, key))

    def node_groups(self, workload: WorkloadPlan, racks: Sequence[Rack]) -> Iterator[tuple[Rack, list[NodeGroup]]]:
        """Yield the nodes of each domain: one by one, or those without replicas grouped by verdict, the best first."""
        verdicts = {verdict.node: verdict for verdict in workload.verdicts}
        pods = replicas_by_node(workload)
        for rack in racks:
            single = [NodeGroup((node,), verdicts.get(node.name), tuple(pods.get(node.name, ()))) for node in rack.nodes]
            yield rack, _folded(single) if self.folds else single

    def running_pods(self) -> Iterator[PodList]:
        """Yield the running pods whose rules no longer allow their nodes, then those that pods of higher priority preempt."""
        if number := len(self.plan.violations):
            title = f"{pluralize(number, 'running pod')} {'violates' if number == 1 else 'violate'} placement rules"
            rows = [PodRow(self.name(each.workload), each.pod, each.node, violation_words(each)) for each in self.plan.violations]
            yield PodList(title, "rules apply when a pod is scheduled", rows, ":")
        if number := len(self.plan.restarts):
            where = "a preferred node" if number == 1 else "preferred nodes"
            rows = [PodRow(self.name(each.workload), each.pod, each.node, restart_words(each)) for each in self.plan.restarts]
            title = f"{pluralize(number, 'running pod')} would run on {where} after a restart{', each alone' * (number > 1)}"
            yield PodList(title, "preferences apply when a pod is scheduled", rows, ":")
        if number := len(self.plan.preempted):
            title = f"{pluralize(number, 'running pod')} {'is' if number == 1 else 'are'} preempted"
            rows = [PodRow(self.name(each.workload), each.pod, each.node, preempted_words(each)) for each in self.plan.preempted]
            yield PodList(title, f"a pod of higher priority needs {'its' if number == 1 else 'their'} node", rows, "")

    def effects(self, loss: DisruptionEffect) -> list[Effect]:
        """Return the effect of a disruption on each affected workload, worst first."""
        moves: dict[str, list[ReplicaMove]] = {key: [] for key in loss.outcomes}
        for move in loss.moves:
            moves.setdefault(move.workload, []).append(move)
        # Pods that are not evicted keep running on the drained node.
        lost = frozenset(loss.nodes) - loss.drained
        found = [_effect(key, loss.outcomes.get(key, "survives"), moves[key], self.workloads.get(key), lost) for key in moves]
        return sorted(found, key=lambda effect: OUTCOMES.index(effect.outcome))

    def shared_words(self, shared: SharedNode) -> str:
        """Return ``2 of 3 replicas of shop/web then share n2 in this schedule``, escaped, and whether some share one in every order."""
        name = self.escape(shared.application) or self.name(shared.workloads[0])
        text = f"{shared.number} of {shared.running} replicas of {name} then share {self.escape(shared.node)} in this schedule"
        return f"{text}; in every order in which all run, some share a node" if shared.always else text

    @property
    def harmed_noun(self) -> str:
        """What disruptions harm: ``application`` if workloads are judged together, ``workload`` otherwise.

        Workloads whose scheduler is not known are not among them.
        """
        noun = "application" if self.plan.applications else "workload"
        if self.plan.left_out is not None:
            noun = f"selected {noun}"
        return f"evaluated {noun}" if any(workload.unjudged for workload in self.plan.workloads) else noun

    def tally_words(self, verdict: str, number: int) -> str:
        """Return what ``number`` disruptions with the verdict do to a workload or an application: ``1 degrades a workload``."""
        noun = self.harmed_noun
        # If all replicas of a workload are Pending, a disruption takes nothing from it.
        has_idle = any(
            workload.replicas and not workload.unjudged and all(replica.node is None for replica in workload.replicas)
            for workload in self.plan.workloads
        )
        some = f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
        return f"{number} {TALLIED[verdict][number > 1].format(some=some, every=f'{noun} that runs' if has_idle else noun)}"

    def stopped_harm_words(self, losses: Iterable[DisruptionEffect]) -> Iterator[str]:
        """Yield a sentence about what drains do to applications before they are blocked."""
        counts = tally(worst(loss) for loss in losses if loss.blocked)
        parts = [self.tally_words(outcome, counts[outcome]) for outcome in OUTCOMES[:2] if counts[outcome]]
        if parts:
            yield f"Of those that do not complete, {join_words(parts)}."

    def left_out_words(self) -> Iterator[str]:
        """Yield a sentence about the workloads that are left out of a selection, if there are any."""
        left_out = self.plan.left_out
        if left_out is None or not left_out.workloads:
            return
        are = "is" if left_out.workloads == 1 else "are"
        pending = (
            f"; {left_out.pending} of their replicas {'stays' if left_out.pending == 1 else 'stay'} Pending" if left_out.pending else ""
        )
        yield f"{pluralize(left_out.workloads, 'other workload')} {are} left out{pending}."

    def other_losses_words(self, action: Action) -> Iterator[str]:
        """Yield sentences about what the disruptions of a kind do to the workloads that are left out."""
        left_out = self.plan.left_out
        losses = [loss for loss in left_out.losses if loss.action == action] if left_out is not None else []
        stopped = [(sum(loss.result == result for loss in losses), words) for result, words in _STOPPED.items()]
        noun = f"of these {NOUNS[action]}s"
        if found := [f"{number} {words[number > 1]}" for number, words in stopped if number]:
            yield f"Because of other workloads, {join_words([found[0].replace(' ', f' {noun} ', 1), *found[1:]])}."
        counts = tally(worst(loss) for loss in losses if not loss.blocked)
        harms = [(outcome, counts[outcome]) for outcome in OUTCOMES[:3] if counts[outcome]]
        if harms:
            texts = [f"{number} {TALLIED[outcome][number > 1].format(some='other workloads')}" for outcome, number in harms]
            yield f"{join_words([texts[0].replace(' ', f' {noun} ', 1), *texts[1:]])}."


_STOPPED: Mapping[DrainResult, tuple[str, str]] = {
    "blocked": ("never completes", "never complete"),
    "refused": ("is refused", "are refused"),
}


def _racks(plan: Plan) -> list[Rack]:
    """Return the nodes by topology domain, nodes without one last."""
    members = grouped((node.domain, node) for node in sorted(plan.nodes, key=lambda node: natural(node.name)))
    domains = sorted(members, key=lambda domain: (domain is None, natural(domain or "")))
    return [Rack(domain, tuple(members[domain])) for domain in domains]


def _folded(single: Sequence[NodeGroup]) -> list[NodeGroup]:
    """Return the nodes with replicas, then groups of those without any that have the same verdict."""
    alike = grouped((group.verdict and group.verdict[1:], group) for group in single if not group.pods)
    folded = [NodeGroup(tuple(group.nodes[0] for group in members), members[0].verdict, ()) for members in alike.values()]

    def best_first(group: NodeGroup) -> tuple[bool, int, int]:
        verdict = group.verdict
        return (True, 0, 0) if verdict is None else (not verdict.feasible, -(verdict.score or 0), -len(group.nodes))

    return [group for group in single if group.pods] + sorted(folded, key=best_first)


# Workloads before a disruption.


def _short_names(workloads: Iterable[WorkloadPlan]) -> dict[str, str]:
    found = grouped((f"{workload.namespace}/{workload.name}", workload.key) for workload in workloads)
    return {key: name if len(keys) == 1 else key for name, keys in found.items() for key in keys}


def replicas_by_node(workload: WorkloadPlan) -> dict[str, list[str]]:
    """Return the names of the replicas on each node."""
    return grouped((replica.node, replica.pod) for replica in workload.replicas if replica.node is not None)


def pending(workload: WorkloadPlan) -> dict[str, list[Replica]]:
    """Return the replicas that stay Pending, by reason. Replicas that are not evaluated are not among them."""
    return grouped((replica.why, replica) for replica in workload.replicas if replica.node is None and not workload.unjudged)


def attaching(workload: WorkloadPlan) -> list[Replica]:
    """Return the replicas with a node that wait for a volume."""
    return [replica for replica in workload.replicas if replica.node is not None and replica.why]


def feasible_count(workload: WorkloadPlan) -> int:
    """Return on how many nodes the first replica could be scheduled."""
    return sum([judgement.feasible for judgement in workload.verdicts.judgements])


def is_machine(workload: WorkloadPlan) -> bool:
    """Return whether a workload is a single virtual machine."""
    return is_single_machine(workload.kind)


def is_in_trouble(workload: WorkloadPlan) -> bool:
    """Return whether a replica cannot be scheduled, or waits for a volume."""
    return workload.error is not None or any(replica.node is None or replica.why for replica in workload.replicas)


# Disruptions.


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
    found = grouped((loss.action, loss) for loss in losses)
    return {action: found[action] for action in NOUNS if action in found}


def outcomes(loss: DisruptionEffect) -> list[Outcome]:
    """Return the outcomes of applications: those of several workloads, and the workloads that belong to none of these."""
    members = {key for each in loss.applications for key in each.workloads}
    return [*(each.outcome for each in loss.applications), *(each for key, each in loss.outcomes.items() if key not in members)]


def worst(loss: DisruptionEffect, found: Collection[Outcome] | None = None) -> Verdict:
    """Return the worst outcome of any application in a disruption, or of those that are ``found``."""
    known = outcomes(loss) if found is None else found
    harm = next((outcome for outcome in OUTCOMES[:3] if outcome in known), None)
    return harm or ("unjudged" if loss.unevaluated or not loss.evaluates else "survives")


def is_harmless(loss: DisruptionEffect) -> bool:
    """Return whether every application survives and a drain completes."""
    return worst(loss) == "survives" and not loss.blocked


def differs(loss: DisruptionEffect) -> DisruptionEffect | None:
    """Return the effect of removing the failed nodes, if its outcomes differ from those of the failure."""
    return loss.removed if loss.removed is not None and loss.removed.outcomes != loss.outcomes else None


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


def _effect(key: str, outcome: Outcome, moves: Sequence[ReplicaMove], workload: WorkloadPlan | None, lost: frozenset[str]) -> Effect:
    replicas = workload.replicas if workload else ()
    nodes: dict[str, str | None] = dict.fromkeys([replica.pod for replica in replicas])
    nodes.update((replica.pod, replica.node) for replica in replicas if not replica.why and replica.node not in lost)
    nodes.update((move.pod, move.target) for move in moves)
    left = sum(node is not None for node in nodes.values())
    volumes, kind = (workload.volumes, workload.kind) if workload else (False, "")
    return Effect(key, outcome, left, len(nodes), tuple(moves), volumes, is_single_machine(kind))


# Short names of nodes, without what all names have in common.


def common_suffix(names: Sequence[str]) -> str:
    """Return the domain suffix that all names share, with its dot; never a part of an IP address."""
    if len(names) < 2:
        return ""
    shared = shared_start([name[::-1] for name in names])[::-1]
    dot = shared.find(".")
    ending = shared[dot:] if dot >= 0 else ""
    if not any(char.isalpha() for char in ending) or any(len(name) == len(ending) for name in names):
        return ""
    return ending


def shortened(text: str, names: Mapping[str, str]) -> str:
    """Return the text with the short name of each node. ``names`` has them by the names that are longer."""
    return _NAME.sub(lambda name: names.get(name[0], name[0]), text) if names else text


def shared_start(names: Sequence[str]) -> str:
    """Return the common prefix: the first and the last name in order share no more than all names do."""
    first, last = min(names), max(names)
    different = (index for index, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(different, min(len(first), len(last)))]
