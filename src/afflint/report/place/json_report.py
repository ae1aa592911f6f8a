"""A simulation as JSON, described by schemas/place.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.placement.plan import (
    AnonymousVerdict,
    ClusterEvent,
    DescheduleEffect,
    DisruptionEffect,
    LeftOut,
    NodeRow,
    Plan,
    PoolUpgrade,
    RolloutEffect,
    UpgradeEffect,
    Verdicts,
    WorkloadPlan,
)
from afflint.report.place.view import worst
from afflint.report.place.words import tally

_NO_NODES: tuple[tuple[str, ...], ...] = ((),)
_OBJECTS = ("blocked", "budgets", "concentrated")
"""The fields of the present state whose items are objects."""
_WORKLOAD = ("key", "kind", "namespace", "name", "file", "line", "error", "notes", "volumes")


def render(plan: Plan) -> Iterator[str]:
    """Yield one JSON object in chunks, ASCII only. Nodes, verdicts, replicas and moves take a line each."""
    verdicts = _VerdictLines()
    document: dict[str, object] = {"version": 1, "groupBy": plan.group_by, "nodes": map(json.dumps, map(_node, plan.nodes))}
    if plan.pools:
        document["pools"] = _lines(plan.pools)
    document |= {
        "workloads": ("".join(_object(_workload(workload, verdicts), 4)) for workload in plan.workloads),
        "groups": _lines(plan.applications),
        "violations": _lines(plan.violations),
        "restarts": _lines(plan.restarts),
        "preempted": _lines(plan.preempted),
    }
    if plan.now is not None:
        document["now"] = {field: _plain(value) if field in _OBJECTS else value for field, value in plan.now._asdict().items()}
    document |= {
        "losses": ("".join(_object(_loss(loss), 4)) for loss in plan.losses),
    }
    if plan.upgrades:
        document["upgrades"] = ("".join(_object(_upgrade(upgrade), 4)) for upgrade in plan.upgrades)
    if plan.descheduling:
        document["descheduling"] = ("".join(_object(_descheduling(effect), 4)) for effect in plan.descheduling)
    document |= {
        "rollouts": (json.dumps(_rollout(rollout)) for rollout in plan.rollouts),
        "notes": (*plan.also_read, *plan.notes),
        "coverage": plan.coverage.plain(),
        "summary": _summary(plan),
    }
    yield from _object(document, 0)
    yield "\n"


def _node(node: NodeRow) -> dict[str, object]:
    labels = dict(sorted(node.labels.items()))
    pool = {"pool": node.pool} if node.pool else {}
    return {"name": node.name, "domain": node.domain, "cordoned": node.cordoned, "taints": node.taints, "labels": labels, **pool}


def _workload(workload: WorkloadPlan, verdicts: _VerdictLines) -> dict[str, object]:
    return {
        **{key: getattr(workload, key) for key in _WORKLOAD},
        **({"unjudged": workload.unjudged} if workload.unjudged else {}),
        **({"waitsForRestart": workload.waiting_changes} if workload.waiting_changes else {}),
        "preferences": _plain(workload.preferences),
        "verdicts": iter(verdicts.lines(workload.verdicts)),
        "replicas": _lines(workload.replicas),
    }


class _VerdictLines:
    """Encodes verdicts as lines of JSON. There is one per workload and node, so that equal parts are encoded once."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        self._judgements: dict[AnonymousVerdict, str] = {}

    def lines(self, verdicts: Verdicts) -> list[str]:
        """Return a line for each verdict."""
        nodes = self._nodes
        for node in verdicts.nodes:
            if node not in nodes:
                nodes[node] = f'{{"node": {json.dumps(node)}, '
        # By identity: the hash of a verdict takes longer than all the rest.
        texts = {number: self._text(judgement) for number, judgement in {id(each): each for each in verdicts.judgements}.items()}
        return [nodes[node] + texts[id(judgement)] for node, judgement in zip(verdicts.nodes, verdicts.judgements, strict=True)]

    def _text(self, judgement: AnonymousVerdict) -> str:
        if judgement not in self._judgements:
            weights = None if judgement.weights is None else dict(zip(("met", "possible"), judgement.weights, strict=True))
            plain = {**judgement._asdict(), "weights": weights, "parts": dict(judgement.parts)}
            self._judgements[judgement] = json.dumps(plain)[1:]
        return self._judgements[judgement]


def _loss(loss: DisruptionEffect) -> dict[str, object]:
    return {
        "action": loss.action,
        "what": loss.what,
        "worst": worst(loss, loss.outcomes.values()),
        **({"stages": _plain(loss.stages)} if loss.stages else {}),
        "result": loss.result,
        "nodes": loss.nodes,
        "moves": _lines(loss.moves),
        "outcomes": dict(loss.outcomes),
        "groups": map(json.dumps, _applications(loss)),
        "unjudged": len(loss.unevaluated),
        "unjudgedPods": loss.unevaluated,
        "volumes": loss.volumes,
        "preempted": _lines(loss.preempted),
        "blocked": _lines(loss.blocked),
        "events": _events(loss.events),
        "shared": _lines(loss.shared),
        "notes": loss.notes,
        "removed": None if loss.removed is None else _removed(loss.removed),
    }


def _removed(loss: DisruptionEffect) -> dict[str, object]:
    return {
        "worst": worst(loss, loss.outcomes.values()),
        "outcomes": dict(loss.outcomes),
        "groups": _applications(loss),
        "moves": _plain(loss.moves),
        "preempted": _plain(loss.preempted),
        "shared": _plain(loss.shared),
    }


def _applications(loss: DisruptionEffect) -> list[dict[str, object]]:
    fields = ("outcome", "left", "replicas")
    return [{"name": each.application, **{field: getattr(each, field) for field in fields}} for each in loss.applications]


def _upgrade(upgrade: UpgradeEffect) -> dict[str, object]:
    return {
        "what": upgrade.what,
        "completes": upgrade.completes,
        "pools": (json.dumps(_pool(each)) for each in upgrade.pools),
        "replicas": _lines(upgrade.replicas),
        "outages": _lines(upgrade.outages),
        "domains": _lines(upgrade.domains),
        "events": _events(upgrade.events),
        "left": dict(upgrade.left),
        "unjudgedPods": upgrade.unevaluated,
    }


def _pool(pool: PoolUpgrade) -> dict[str, object]:
    return {**pool._asdict(), "blocked": _plain(pool.blocked), "further": _plain(pool.further), "completes": pool.completes}


def _events(events: Iterable[ClusterEvent]) -> Iterator[str]:
    return (json.dumps({**event._asdict(), "pod": None if event.pod is None else "/".join(event.pod)}) for event in events)


def _descheduling(effect: DescheduleEffect) -> dict[str, object]:
    return {
        "policy": effect.policy,
        "settled": effect.settled,
        "repeats": effect.repeats,
        "rounds": (json.dumps(_plain(evicted)) for evicted in effect.rounds),
        "moves": _lines(effect.moves),
        "violations": _lines(effect.answers),
        "notes": effect.notes,
    }


def _rollout(rollout: RolloutEffect) -> dict[str, object]:
    ends = [
        {"domains": dict(domains), "nodes": list(nodes)}
        for domains, nodes in zip(rollout.outcomes, rollout.placements or _NO_NODES, strict=False)
    ]
    return {
        "workload": rollout.workload,
        "strategy": rollout.strategy,
        "result": rollout.result,
        "why": rollout.why,
        "before": dict(rollout.before),
        "ends": ends,
        "rareEnds": [dict(domains) for domains in rollout.rare],
        "fewestDomains": rollout.fewest,
        "leastReady": rollout.least_ready,
        "exhaustive": rollout.exhaustive,
        "steps": [step._asdict() for step in rollout.steps],
    }


def _summary(plan: Plan) -> dict[str, object]:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    return {
        "nodes": len(plan.nodes),
        "domains": len({node.domain for node in plan.nodes if node.domain is not None}),
        "workloads": len(plan.workloads),
        "replicas": len(replicas),
        "placed": sum(replica.node is not None for replica in replicas),
        "losses": tally(worst(loss, loss.outcomes.values()) for loss in plan.losses),
        "volumes": sum(bool(loss.volumes) for loss in plan.losses),
        "rollouts": {
            result: sum(each.result == result for each in plan.rollouts)
            for result in ("completes", "may-block", "blocked", "manual", "unjudged")
        },
        "drains": _drains(plan.losses),
        **({"leftOut": _left_out(plan.left_out)} if plan.left_out is not None else {}),
    }


def _left_out(left_out: LeftOut) -> dict[str, object]:
    return {
        "workloads": left_out.workloads,
        "pending": left_out.pending,
        "losses": tally(worst(loss, loss.outcomes.values()) for loss in left_out.losses),
        "drains": _drains(left_out.losses),
    }


def _drains(losses: Iterable[DisruptionEffect]) -> dict[str, int]:
    results = [loss.result for loss in losses]
    return {result: results.count(result) for result in ("ends", "blocked", "refused")}


def _plain(values: Iterable[Any]) -> list[dict[str, object]]:
    """Return NamedTuples as plain data."""
    return [each._asdict() for each in values]


def _lines(values: Iterable[Any]) -> Iterator[str]:
    """Yield NamedTuples as JSON, for an array with a line for each."""
    return (json.dumps(each._asdict()) for each in values)


def _object(values: Mapping[str, object], indent: int) -> Iterator[str]:
    """Yield an object at an indentation of ``indent`` spaces, each key on a line of its own; an iterator is an array of lines."""
    margin = "\n" + " " * indent
    separator = "{"
    for key, value in values.items():
        yield f'{separator}{margin}  "{key}": '
        separator = ","
        if not isinstance(value, Iterator):
            yield json.dumps(value)
            continue
        opening = "["
        for line in value:
            yield f"{opening}{margin}    {line}"
            opening = ","
        yield "[]" if opening == "[" else f"{margin}  ]"
    yield margin + "}"
