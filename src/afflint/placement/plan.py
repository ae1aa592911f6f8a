"""What `afflint place` tells: where each replica may run and does, why not elsewhere, and what each failure does. Plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, overload

Outcome = Literal["survives", "degraded", "dead"]
"""After a failure: every replica has a place again, some have, none has."""


class NodeRow(NamedTuple):
    """A node as the plan shows it. ``domain`` is its value of the key that nodes are grouped by, None where it lacks it."""

    name: str
    domain: str | None
    cordoned: bool
    taints: tuple[str, ...]
    """``key=value:effect``, as kubectl writes taints."""
    labels: Mapping[str, str]


class NodeVerdict(NamedTuple):
    """One node in the eyes of one workload's next replica. ``reason`` is the plugin that rejected it first, ``why`` says it in words.

    ``score`` is the scheduler's weighted sum, None for a node that is out of the question.
    """

    node: str
    feasible: bool
    reason: str | None
    why: str
    score: int | None


class Judgement(NamedTuple):
    """What a workload makes of a node, whichever node that is: a verdict without the name."""

    feasible: bool
    reason: str | None
    why: str
    score: int | None


class Verdicts(Sequence[NodeVerdict]):
    """A verdict for each node, in the order of nodes. Workloads times nodes of them: what is the same for many is kept once."""

    __slots__ = ("judgements", "nodes")

    def __init__(self, nodes: Sequence[str] = (), judgements: Sequence[Judgement] = ()) -> None:
        self.nodes = nodes
        self.judgements = judgements

    @classmethod
    def of(cls, verdicts: Iterable[NodeVerdict]) -> Verdicts:
        """These verdicts."""
        known = list(verdicts)
        return cls([verdict.node for verdict in known], [Judgement(*verdict[1:]) for verdict in known])

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
    """A pod and the node of the legal placement that was found, None where there is none."""

    pod: str
    node: str | None
    why: str = ""
    """For a replica without a node: how many nodes each constraint excludes."""


class WorkloadPlan(NamedTuple):
    """One workload. ``key`` identifies it (``Deployment shop/web``).

    ``verdicts`` are those of its first replica when all other workloads are where the plan puts them and none of its own pods runs.
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


class Move(NamedTuple):
    """A replica that a failure displaces, and where it comes up again; None where it does not."""

    workload: str
    pod: str
    source: str
    target: str | None
    why: str = ""


class Loss(NamedTuple):
    """One failure: ``what`` names it (``node worker-2``, ``zone=a``), ``nodes`` are those lost."""

    what: str
    nodes: tuple[str, ...]
    moves: tuple[Move, ...]
    outcomes: Mapping[str, Outcome]
    """By workload key, for those that lose a replica; the others survive."""


class Plan(NamedTuple):
    """Everything: nodes, workloads in their order, failures asked for, and what was assumed."""

    group_by: str
    nodes: tuple[NodeRow, ...]
    workloads: tuple[WorkloadPlan, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]
