"""The result of `afflint place` as plain values: where each replica can run and does, why not elsewhere, and what each disruption does."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Literal, overload

from afflint.findings.coverage import Coverage
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize

Outcome = Literal["survives", "interrupted", "degraded", "dead"]
"""What happens to a workload: as many replicas run as before, always at least one; as many, but none for a time; fewer; none."""

Action = Literal["lose", "drain", "remove", "together"]
"""What happens to nodes. ``lose``: they become unavailable, but their objects stay. ``drain``: they are cordoned, and their pods
are evicted as budgets allow. ``remove``: their objects are deleted. ``together``: several of these, as one disruption."""

Fate = Literal["recreated", "migrated", "waits", "attaching", "held", "stays", "off", "gone"]
"""What happens to a replica: it is recreated; it is live-migrated; its replacement stays Pending; its replacement gets a node and
waits for a volume that is attached to another; it is not replaced before its node
recovers or is removed; it is not evicted and does not run; a virtual machine that a user has to start; it is deleted permanently."""

DrainResult = Literal["ends", "blocked", "refused"]
"""Whether the drain completes, never completes, or fails at once."""


VOLUMES_LEFT_OUT = "its volumes are not considered, but may restrict it to a zone or node"

_NONE: Mapping[str, int] = {}


class NodeRow(NamedTuple):
    """A node in the plan. ``domain`` is its value of the label that nodes are grouped by, None if it lacks the label."""

    name: str
    domain: str | None
    cordoned: bool
    taints: tuple[str, ...]
    """``key=value:effect``, as kubectl writes taints."""
    labels: Mapping[str, str]
    pool: str = ""
    """The pool that it would be made in (``NodePool gpu``); empty for a node that is there."""


class PoolRow(NamedTuple):
    """A node pool: its minimum and maximum number of nodes (None for no maximum), and the number in the plan."""

    name: str
    title: str
    cluster: str
    least: int
    most: int | None
    nodes: int
    taints: tuple[str, ...]
    labels: tuple[str, ...]
    """What is known of them: ``disk In [ssd]``."""
    file: str


class NodeVerdict(NamedTuple):
    """Whether the next replica of a workload can be scheduled on a node. ``reason`` is the plugin that rejects it, ``why`` explains it.

    ``score`` is the scheduler's weighted sum, None for a rejected node; ``parts`` are the scores of the plugins.
    ``weights`` are those of the workload's own preferences that the node meets, and the sum of all; None if it has no preferences.
    """

    node: str
    feasible: bool
    reason: str | None
    why: str
    score: int | None
    weights: tuple[int, int] | None = None
    parts: tuple[tuple[str, int], ...] = ()


class AnonymousVerdict(NamedTuple):
    """A verdict without the name of the node, which many nodes can share."""

    feasible: bool
    reason: str | None
    why: str
    score: int | None
    weights: tuple[int, int] | None = None
    parts: tuple[tuple[str, int], ...] = ()


class Verdicts(Sequence[NodeVerdict]):
    """A verdict for each node, in the order of nodes. Equal verdicts are stored once, because there are workloads times nodes of them."""

    __slots__ = ("judgements", "nodes")

    def __init__(self, nodes: Sequence[str] = (), judgements: Sequence[AnonymousVerdict] = ()) -> None:
        self.nodes = nodes
        self.judgements = judgements

    @classmethod
    def of(cls, verdicts: Iterable[NodeVerdict]) -> Verdicts:
        """Return the verdicts with the names of their nodes."""
        known = list(verdicts)
        return cls([verdict.node for verdict in known], [AnonymousVerdict(*verdict[1:]) for verdict in known])

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[NodeVerdict]:
        return (NodeVerdict(node, *judgement) for node, judgement in zip(self.nodes, self.judgements, strict=True))

    @overload
    def __getitem__(self, index: int) -> NodeVerdict: ...

    @overload
    def __getitem__(self, index: slice) -> list[NodeVerdict]: ...

    def __getitem__(self, index: int | slice) -> NodeVerdict | list[NodeVerdict]:
        return list(self)[index] if isinstance(index, slice) else NodeVerdict(self.nodes[index], *self.judgements[index])


class Replica(NamedTuple):
    """A pod and the node that it is scheduled on; None if it stays Pending."""

    pod: str
    node: str | None
    why: str = ""
    """For a replica without a node: how many nodes each constraint excludes. For one with a node: the volume that it waits for."""


class Preferred(NamedTuple):
    """A preferred node affinity term: its requirements and how many nodes match it.

    ``usable`` counts those that the pods may use.
    """

    asks: str
    weight: int
    nodes: int
    usable: int


class WorkloadPlan(NamedTuple):
    """One workload. ``key`` identifies it (``Deployment shop/web``).

    ``verdicts`` are for its first replica, with all other workloads scheduled as in the plan and no other pod of this workload.
    """

    key: str
    kind: str
    namespace: str
    name: str
    file: str
    line: int
    verdicts: Verdicts
    replicas: tuple[Replica, ...]
    error: str | None
    """Why the scheduler itself fails on its pods; None mostly."""
    notes: tuple[str, ...]
    """What the plan had to assume or leave out for this workload."""
    preferences: tuple[Preferred, ...] = ()
    """What it prefers of its nodes, in the order of the manifest."""
    volumes: bool = False
    """Whether its pods use claims that the plan does not consider: it is not known where their volumes are."""
    unjudged: str = ""
    """Why it is unknown where the scheduler of its pods puts them; empty if it is known. Replicas without a node are then not Pending."""
    waiting_changes: tuple[str, ...] = ()
    """The changes of a VM that its running VirtualMachineInstance gets only by a restart."""


class Violation(NamedTuple):
    """A running pod on a node where the scheduler would not put it now: the plugin ``reason`` rejects it, ``why`` explains it.

    ``restart`` is where it would run if it were recreated, None if it would stay Pending or is not ``recreated``; ``migration`` is where a
    live migration would take a VM that ``migrates``, None if no node takes it. ``descheduler`` is the strategy of the descheduler for it.
    """

    pod: str
    workload: str
    node: str
    why: str
    reason: str
    recreated: bool
    restart: str | None
    migrates: bool
    migration: str | None
    descheduler: str | None


class PreferredRestart(NamedTuple):
    """A running pod that a restart would bring to one of the ``targets``, which it prefers.

    It is a restart of this pod alone, or of it and ``others`` if all of them have stopped before one starts again.
    ``now`` is the weight of its node preferences that its node satisfies, ``then`` the least that a target does, ``possible`` that of all.
    """

    pod: str
    workload: str
    node: str
    others: tuple[str, ...]
    targets: tuple[str, ...]
    now: int
    then: int
    possible: int
    apart: tuple[int, int] | None = None
    """Of the pods that it prefers to be apart from, how many share its domains, and how many at most those of a target.

    None if it is about node preferences.
    """


class ReplicaMove(NamedTuple):
    """A replica that loses its node in a failure, drain or removal, and the node where it runs again; None if it does not."""

    workload: str
    pod: str
    source: str
    target: str | None
    why: str = ""
    fate: Fate = "recreated"
    after: int = 0
    """After how many seconds another is scheduled and has its volumes, at the earliest; 0 if at once."""


class Preempted(NamedTuple):
    """A running pod that the scheduler deletes, so that the pod ``by`` of a higher priority can run on its node.

    ``workload`` is empty for a pod without a manifest, ``preemptor`` is the key of the other workload. ``target`` is the node where the pod
    runs again, None if it does not.
    """

    pod: str
    workload: str
    node: str
    by: str
    preemptor: str
    target: str | None


class Blocked(NamedTuple):
    """A pod that a drain does not evict, and why. ``workload`` is empty for a pod without a manifest.

    ``refused``: kubectl drain fails; otherwise it retries forever.
    """

    workload: str
    pod: str
    node: str
    why: str
    refused: bool = False


class ExhaustedBudget(NamedTuple):
    """A PodDisruptionBudget (``shop/web``) that allows no eviction of its ``pods`` now, and ``why``."""

    name: str
    why: str
    pods: tuple[str, ...]


class Concentration(NamedTuple):
    """The ``replicas`` of an application, or of the workload with the key ``name``, that all run in one domain of the node label ``key``.

    ``movable``: one of them could run in another domain now.
    """

    name: str
    workloads: tuple[str, ...]
    replicas: int
    key: str
    domain: str
    movable: bool


class PresentState(NamedTuple):
    """A running cluster before any disruption: how many ``running`` pods the workloads have, and which pods could not leave their nodes.

    Each pod in ``blocked`` is judged by itself, with all others where they run. ``scattered`` are the keys of workloads whose replicas are
    in several domains, although nothing requires that.
    """

    running: int
    blocked: tuple[Blocked, ...]
    budgets: tuple[ExhaustedBudget, ...]
    concentrated: tuple[Concentration, ...]
    scattered: tuple[str, ...]


class Application(NamedTuple):
    """Several workloads that are one application: ``selected_by`` names what selects them, ``Service sql`` or ``anti-affinity``."""

    name: str
    selected_by: str
    workloads: tuple[str, ...]
    """Their keys."""


class ApplicationEffect(NamedTuple):
    """The effect of a disruption on an application of several workloads: ``left`` of its ``replicas`` run afterwards."""

    application: str
    outcome: Outcome
    left: int
    replicas: int
    workloads: tuple[str, ...]


class SharedNode(NamedTuple):
    """A node that ``number`` of ``running`` replicas share after a disruption, which all ran on different nodes before it.

    They are those of one of the ``workloads``, or of an ``application`` whose workloads have one replica each. ``always``: some share a
    node in every order of scheduling in which as many run, though not necessarily this one.
    """

    application: str
    workloads: tuple[str, ...]
    node: str
    number: int
    running: int
    always: bool


class Stage(NamedTuple):
    """A part of a combined disruption: a failure, a drain or a removal."""

    action: Action
    what: str
    nodes: tuple[str, ...]


EventKind = Literal["unreachable", "cordoned", "ready", "added", "removed", "stopped", "scheduled", "migrated", "pending"]
"""What happens to a node (the first five) or to a pod. ``pending``: no node takes a new pod."""


class ClusterEvent(NamedTuple):
    """What happens after how many seconds, on which node, to which pod (namespace and name), and because of what."""

    at: int
    what: EventKind
    node: str
    pod: tuple[str, str] | None = None
    cause: str = ""


class DisruptionEffect(NamedTuple):
    """A disruption and its effects: ``what`` names the nodes (``node worker-2``, ``zone=a``), ``action`` is what happens to them."""

    what: str
    nodes: tuple[str, ...]
    moves: tuple[ReplicaMove, ...]
    outcomes: Mapping[str, Outcome]
    """By workload key, for those that lose a replica; the others survive."""
    action: Action = "lose"
    blocked: tuple[Blocked, ...] = ()
    """Of a drain, the pods that keep it from ending."""
    notes: tuple[str, ...] = ()
    """What holds of it as a whole."""
    removed: DisruptionEffect | None = None
    """What follows when the failed nodes are removed."""
    left: Mapping[str, int] = _NONE
    """By workload key, how many replicas run in the end, for those that lose one."""
    unevaluated: tuple[str, ...] = ()
    """The pods on the nodes, with their namespaces, whose future is unknown: either their controllers are not known, or it is not known how
    their schedulers place pods."""
    volumes: tuple[str, ...] = ()
    """The keys of the workloads that move to other nodes, if volumes that the plan does not consider can be used there."""
    applications: tuple[ApplicationEffect, ...] = ()
    """The effects on applications of several workloads, for those that lose a replica."""
    preempted: tuple[Preempted, ...] = ()
    """The pods on other nodes that are preempted."""
    stages: tuple[Stage, ...] = ()
    """The parts of a combined disruption, in order."""
    unjudged: frozenset[str] = frozenset()
    """Those of ``unevaluated`` whose controllers are known."""
    events: tuple[ClusterEvent, ...] = ()
    """What happens, in order."""
    shared: tuple[SharedNode, ...] = ()
    """The nodes that replicas share afterwards, though they ran on different nodes before."""
    evaluates: bool = True
    """Whether it is known of any workload where its pods are scheduled."""

    @property
    def drained(self) -> frozenset[str]:
        """The nodes that are drained and not removed afterwards: their pods run on if they are not evicted."""
        if self.action == "drain":
            return frozenset(self.nodes)
        others = {node for stage in self.stages if stage.action != "drain" for node in stage.nodes}
        return frozenset([node for stage in self.stages if stage.action == "drain" for node in stage.nodes if node not in others])

    @property
    def result(self) -> DrainResult | None:
        """The result of a drain; None for a disruption without one."""
        if self.action != "drain" and not any(stage.action == "drain" for stage in self.stages):
            return None
        return "refused" if self.blocked and all(each.refused for each in self.blocked) else "blocked" if self.blocked else "ends"


class PoolUpgrade(NamedTuple):
    """The upgrade of one pool: its ``nodes`` in order, those that are ``upgraded``, and the ``blocked`` pods that stop it.

    At most ``at_once`` nodes are drained at a time, and ``surge`` new nodes are created first. ``replaces``: new nodes replace the old
    ones. ``declared`` is where these numbers come from, empty for a default. ``held`` is why no node is upgraded, or why some are not.
    ``further`` are the pods that would also block it if each pod that does so were taken away while its node is upgraded.
    """

    pool: str
    nodes: tuple[str, ...]
    at_once: int
    surge: int
    replaces: bool
    declared: str
    upgraded: tuple[str, ...]
    blocked: tuple[Blocked, ...]
    held: str = ""
    further: tuple[Blocked, ...] = ()

    @property
    def free(self) -> tuple[str, ...]:
        """The nodes on which no pod would block the upgrade."""
        occupied = {each.node for each in (*self.blocked, *self.further)}
        return tuple([node for node in self.nodes if node not in occupied])

    @property
    def completes(self) -> bool:
        """Whether all nodes are upgraded."""
        return len(self.upgraded) == len(self.nodes)


class UpgradedReplica(NamedTuple):
    """A replica that an upgrade moves: how often it is evicted and live-migrated, and where it runs in the end; None if it does not."""

    workload: str
    pod: str
    source: str
    target: str | None
    evicted: int
    migrated: int
    why: str = ""
    fate: Fate = "recreated"


class Outage(NamedTuple):
    """An application, or the key of a workload, that has only ``left`` running replicas while nodes of a pool are upgraded."""

    application: str
    pool: str
    nodes: tuple[str, ...]
    left: int
    replicas: int
    """How many ran before the upgrade."""


class DomainChange(NamedTuple):
    """How many replicas of a workload run in each topology domain before and after; the domain "" is for nodes without one."""

    workload: str
    before: Mapping[str, int]
    after: Mapping[str, int]


class UpgradeEffect(NamedTuple):
    """A rolling upgrade and its effects. ``what`` is what the user requests: the name of a pool, ``KEY=VALUE`` or ``each``."""

    what: str
    pools: tuple[PoolUpgrade, ...]
    replicas: tuple[UpgradedReplica, ...]
    outages: tuple[Outage, ...]
    domains: tuple[DomainChange, ...]
    """The workloads whose replicas are in other domains, or fewer, in the end."""
    unevaluated: tuple[str, ...] = ()
    """The pods on the nodes, with their namespaces, whose controllers are not known."""
    left: Mapping[str, int] = _NONE
    """By workload key, how many replicas run in the end, for those that lose one."""
    unjudged: frozenset[str] = frozenset()
    """Those of ``unevaluated`` whose controllers are known."""
    events: tuple[ClusterEvent, ...] = ()
    """What happens, in order."""

    @property
    def completes(self) -> bool:
        """Whether all nodes of all pools are upgraded."""
        return all(pool.completes for pool in self.pools)

    @property
    def is_harmless(self) -> bool:
        """Whether the upgrade completes and all replicas run again."""
        return self.completes and not self.unevaluated and all(replica.target is not None for replica in self.replicas)


class DeschedulerAnswer(NamedTuple):
    """What a descheduler does about a running pod that violates a rule: it moves or spares it, or asks for its eviction in vain."""

    workload: str
    pod: str
    result: Literal["moved", "spared", "in vain"]
    why: str
    """Empty for a pod that it moves."""


class DescheduledPod(NamedTuple):
    """A pod that a plugin of the descheduler evicts, and the node on which it runs again; None if it stays Pending."""

    workload: str
    namespace: str
    pod: str
    plugin: str
    node: str
    target: str | None
    migrated: bool

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.pod


class DescheduleEffect(NamedTuple):
    """What a descheduler does in rounds. ``repeats`` is the number of rounds after which the pods ran as they do after the last one.

    ``settled``: a further round evicts no pod. ``moves`` are the pods that lose a node, with where they run in the end.
    """

    policy: str
    rounds: tuple[tuple[DescheduledPod, ...], ...]
    repeats: int | None
    settled: bool
    moves: tuple[ReplicaMove, ...]
    notes: tuple[str, ...] = ()
    answers: tuple[DeschedulerAnswer, ...] = ()
    """What it does about each running pod that violates a rule of one of its plugins."""

    @property
    def is_harmless(self) -> bool:
        """Whether it settles, and all pods run in the end."""
        return self.settled and all(move.target is not None for move in self.moves)


RolloutResult = Literal["completes", "may-block", "blocked", "manual", "unjudged"]
"""Whether a rollout completes in every order that was tried, in some of them, or in none; ``manual``: the controller replaces no pod by
itself; ``unjudged``: it is unknown how the scheduler of the pods places them."""


class RolloutStep(NamedTuple):
    """One step of a rollout: a new pod is ``scheduled`` on a node, or an old one is ``removed`` from it."""

    action: Literal["scheduled", "removed"]
    pod: str
    node: str | None


class RolloutEffect(NamedTuple):
    """The rollout of a workload after a change of its template, which leaves its placement constraints as they are.

    ``steps`` are those of one order. ``outcomes`` are the numbers of replicas by topology domain that the rollout may end with, in any of
    the orders that were tried, and ``before`` those before it; nodes without the label count as the domain "".
    """

    workload: str
    strategy: str
    """How pods are replaced: ``maxSurge 1, maxUnavailable 0``."""
    result: RolloutResult
    steps: tuple[RolloutStep, ...] = ()
    why: str = ""
    """Why it is blocked, or what replaces the pods."""
    before: Mapping[str, int] = _NONE
    outcomes: tuple[Mapping[str, int], ...] = ()
    """Fewest domains first."""
    fewest: int = 0
    """In how few domains all ready pods may be at some time during the rollout."""
    least_ready: int = 0
    """How few pods may be ready at some time during the rollout."""
    exhaustive: bool = True
    """Whether every order was tried."""
    placements: tuple[tuple[str, ...], ...] = ()
    """The nodes of the replicas that the rollout may end with, one for each of the outcomes."""
    rare: tuple[Mapping[str, int], ...] = ()
    """The further outcomes of a race: a new pod is scheduled before an old one is removed that the Deployment no longer counts."""


class LeftOut(NamedTuple):
    """What a selection by ``names`` leaves out of a plan: other ``workloads``, how many of their replicas stay ``pending``, their rollouts.

    ``losses`` are the disruptions that the plan has, as far as they affect these workloads; the plan counts no pod of them.
    """

    names: tuple[str, ...]
    workloads: int
    pending: int
    losses: tuple[DisruptionEffect, ...]
    rollouts: tuple[RolloutEffect, ...]


class Plan(NamedTuple):
    """The result: nodes, workloads in the order of their files, the requested disruptions, and the assumptions as notes."""

    group_by: str
    nodes: tuple[NodeRow, ...]
    workloads: tuple[WorkloadPlan, ...]
    losses: tuple[DisruptionEffect, ...]
    notes: tuple[str, ...]
    pools: tuple[PoolRow, ...] = ()
    coverage: Coverage = Coverage()
    """The sources of workloads that were read, and those that were not."""
    violations: tuple[Violation, ...] = ()
    """The running pods whose rules no longer allow their nodes."""
    restarts: tuple[PreferredRestart, ...] = ()
    """The running pods that a restart would bring to nodes that they prefer."""
    applications: tuple[Application, ...] = ()
    """The applications of several workloads; every other workload is an application of its own."""
    preempted: tuple[Preempted, ...] = ()
    """The running pods that Pending pods preempt."""
    upgrades: tuple[UpgradeEffect, ...] = ()
    """The requested upgrades of node pools."""
    descheduling: tuple[DescheduleEffect, ...] = ()
    """What the deschedulers do, if that is requested."""
    rollouts: tuple[RolloutEffect, ...] = ()
    """The requested rollouts."""
    left_out: LeftOut | None = None
    """What was left out, if the user asked for a part by name."""
    now: PresentState | None = None
    """What is at risk before any disruption; None without running pods."""
    also_read: tuple[str, ...] = ()
    """What was read besides the files that the user named."""


def unevaluated_words(pods: Sequence[str], unjudged: Container[str] = ()) -> str:
    """Return ``1 running pod is not evaluated, because the object that controls it is missing or invalid: shop/virt-launcher-db-x7k2p``.

    ``unjudged`` are those whose schedulers make decisions that are unknown.
    """
    uncontrolled, elsewhere = ([pod for pod in pods if (pod in unjudged) == each] for each in (False, True))
    parts = []
    if uncontrolled:
        which = "the object that controls it is" if len(uncontrolled) == 1 else "the objects that control them are"
        parts.append(_not_evaluated(uncontrolled, f"{which} missing or invalid"))
    if elsewhere:
        parts.append(_not_evaluated(elsewhere, f"it is unknown where {'it is' if len(elsewhere) == 1 else 'they are'} scheduled again"))
    return "; ".join(parts)


def _not_evaluated(pods: Sequence[str], why: str) -> str:
    shown = ", ".join(pods[:_MOST_PODS]) + (f" and {len(pods) - _MOST_PODS} more" if len(pods) > _MOST_PODS else "")
    return f"{pluralize(len(pods), 'running pod')} {'is' if len(pods) == 1 else 'are'} not evaluated, because {why}: {shown}"


_MOST_PODS = 5
