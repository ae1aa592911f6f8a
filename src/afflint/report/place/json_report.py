"""A simulation as JSON, described by schemas/place.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from afflint.placement.plan import (
    AnonymousVerdict,
    ApplicationEffect,
    ClusterEvent,
    DescheduleEffect,
    DisruptionEffect,
    NodeRow,
    Plan,
    PoolUpgrade,
    RolloutEffect,
    UpgradeEffect,
    Verdicts,
    WorkloadPlan,
)
from afflint.report.place.digest import tally, worst_of_workloads


def render(plan: Plan) -> Iterator[str]:
    """Yield one JSON object in chunks, ASCII only. Nodes, verdicts, replicas and moves take a line each."""
    yield f'{{\n  "version": 1,\n  "groupBy": {_flat(plan.group_by)},\n  "nodes": '
    yield from _array((_flat(_node(node)) for node in plan.nodes), 2)
    if plan.pools:
        yield ',\n  "pools": '
        yield from _array((_flat(pool._asdict()) for pool in plan.pools), 2)
    yield ',\n  "workloads": '
    lines = _VerdictLines()
    yield from _array(("".join(_workload(workload, lines)) for workload in plan.workloads), 2)
    yield ',\n  "groups": '
    yield from _array((_flat(application._asdict()) for application in plan.applications), 2)
    yield ',\n  "violations": '
    yield from _array((_flat(violation._asdict()) for violation in plan.violations), 2)
    yield ',\n  "preempted": '
    yield from _array((_flat(preempted._asdict()) for preempted in plan.preempted), 2)
    yield ',\n  "losses": '
    yield from _array(("".join(_loss(loss)) for loss in plan.losses), 2)
    if plan.upgrades:
        yield ',\n  "upgrades": '
        yield from _array(("".join(_upgrade(upgrade)) for upgrade in plan.upgrades), 2)
    if plan.descheduling:
        yield ',\n  "descheduling": '
        yield from _array(("".join(_descheduling(effect)) for effect in plan.descheduling), 2)
    yield ',\n  "rollouts": '
    yield from _array((_flat(_rollout(rollout)) for rollout in plan.rollouts), 2)
    yield f',\n  "notes": {_flat(plan.notes)},\n  "coverage": {_flat(plan.coverage.plain())}'
    yield f',\n  "summary": {_flat(_summary(plan))}\n}}\n'


def _node(node: NodeRow) -> dict[str, object]:
    labels = dict(sorted(node.labels.items()))
    pool = {"pool": node.pool} if node.pool else {}
    return {"name": node.name, "domain": node.domain, "cordoned": node.cordoned, "taints": node.taints, "labels": labels, **pool}


def _workload(workload: WorkloadPlan, lines: _VerdictLines) -> Iterator[str]:
    yield "{"
    for key in ("key", "kind", "namespace", "name", "file", "line", "error", "notes"):
        yield f'\n      "{key}": {_flat(getattr(workload, key))},'
    yield f'\n      "volumes": {_flat(workload.volumes)},'
    if workload.unjudged:
        yield f'\n      "unjudged": {_flat(workload.unjudged)},'
    yield f'\n      "preferences": {_flat([preference._asdict() for preference in workload.preferences])},'
    yield '\n      "verdicts": '
    yield lines.array(workload.verdicts)
    yield ',\n      "replicas": '
    yield from _array((_flat(replica._asdict()) for replica in workload.replicas), 6)
    yield "\n    }"


class _VerdictLines:
    """Encodes verdicts as lines of JSON. There is one per workload and node, so that equal parts are encoded once."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        self._judgements: dict[AnonymousVerdict, str] = {}

    def array(self, verdicts: Verdicts) -> str:
        """Return the verdicts as an array at an indentation of six spaces, each on a line of its own."""
        if not verdicts:
            return "[]"
        nodes = self._nodes
        for node in verdicts.nodes:
            if node not in nodes:
                nodes[node] = f'{{"node": {_flat(node)}, '
        # By identity: the hash of a verdict takes longer than all the rest.
        texts = {number: self._text(judgement) for number, judgement in {id(each): each for each in verdicts.judgements}.items()}
        lines = [nodes[node] + texts[id(judgement)] for node, judgement in zip(verdicts.nodes, verdicts.judgements, strict=True)]
        return "[\n        " + ",\n        ".join(lines) + "\n      ]"

    def _text(self, judgement: AnonymousVerdict) -> str:
        if judgement not in self._judgements:
            self._judgements[judgement] = _flat(_judgement(judgement))[1:]
        return self._judgements[judgement]


def _judgement(judgement: AnonymousVerdict) -> dict[str, object]:
    weights = None if judgement.weights is None else dict(zip(("met", "possible"), judgement.weights, strict=True))
    return {**judgement._asdict(), "weights": weights, "parts": dict(judgement.parts)}


def _loss(loss: DisruptionEffect) -> Iterator[str]:
    yield f'{{\n      "action": {_flat(loss.action)},\n      "what": {_flat(loss.what)},\n      "worst": {_flat(worst_of_workloads(loss))}'
    if loss.stages:
        yield f',\n      "stages": {_flat([stage._asdict() for stage in loss.stages])}'
    yield f',\n      "result": {_flat(loss.result)},\n      "nodes": {_flat(loss.nodes)},\n      "moves": '
    yield from _array((_flat(move._asdict()) for move in loss.moves), 6)
    yield f',\n      "outcomes": {_flat(dict(loss.outcomes))}'
    yield ',\n      "groups": '
    yield from _array((_flat(_application(application)) for application in loss.applications), 6)
    yield f',\n      "unjudged": {len(loss.unevaluated)},\n      "unjudgedPods": {_flat(loss.unevaluated)}'
    yield f',\n      "volumes": {_flat(loss.volumes)}'
    yield ',\n      "preempted": '
    yield from _array((_flat(preempted._asdict()) for preempted in loss.preempted), 6)
    yield ',\n      "blocked": '
    yield from _array((_flat(pod._asdict()) for pod in loss.blocked), 6)
    yield from _events(loss.events)
    yield f',\n      "notes": {_flat(loss.notes)},\n      "removed": {_flat(_removed(loss.removed))}\n    }}'


def _upgrade(upgrade: UpgradeEffect) -> Iterator[str]:
    yield f'{{\n      "what": {_flat(upgrade.what)},\n      "completes": {_flat(upgrade.completes)},\n      "pools": '
    yield from _array((_flat(_pool_upgrade(pool)) for pool in upgrade.pools), 6)
    for key in ("replicas", "outages", "domains"):
        yield f',\n      "{key}": '
        yield from _array((_flat(each._asdict()) for each in getattr(upgrade, key)), 6)
    yield from _events(upgrade.events)
    yield f',\n      "left": {_flat(dict(upgrade.left))},\n      "unjudgedPods": {_flat(upgrade.unevaluated)}\n    }}'


def _events(events: Iterable[ClusterEvent]) -> Iterator[str]:
    yield ',\n      "events": '
    yield from _array((_flat({**event._asdict(), "pod": None if event.pod is None else "/".join(event.pod)}) for event in events), 6)


def _descheduling(effect: DescheduleEffect) -> Iterator[str]:
    yield f'{{\n      "policy": {_flat(effect.policy)},\n      "settled": {_flat(effect.settled)}'
    yield f',\n      "repeats": {_flat(effect.repeats)}'
    yield ',\n      "rounds": '
    yield from _array((_flat([pod._asdict() for pod in evicted]) for evicted in effect.rounds), 6)
    yield ',\n      "moves": '
    yield from _array((_flat(move._asdict()) for move in effect.moves), 6)
    yield f',\n      "notes": {_flat(effect.notes)}\n    }}'


def _pool_upgrade(pool: PoolUpgrade) -> dict[str, object]:
    return {**pool._asdict(), "completes": pool.completes, "blocked": [each._asdict() for each in pool.blocked]}


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


_NO_NODES: tuple[tuple[str, ...], ...] = ((),)


def _application(effect: ApplicationEffect) -> dict[str, object]:
    return {"name": effect.application, "outcome": effect.outcome, "left": effect.left, "replicas": effect.replicas}


def _removed(loss: DisruptionEffect | None) -> dict[str, object] | None:
    """Return the effect of removing the failed nodes."""
    if loss is None:
        return None
    groups = [_application(application) for application in loss.applications]
    return {
        "worst": worst_of_workloads(loss),
        "outcomes": dict(loss.outcomes),
        "groups": groups,
        "moves": [move._asdict() for move in loss.moves],
        "preempted": [preempted._asdict() for preempted in loss.preempted],
    }


def _summary(plan: Plan) -> dict[str, object]:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    return {
        "nodes": len(plan.nodes),
        "domains": len({node.domain for node in plan.nodes if node.domain is not None}),
        "workloads": len(plan.workloads),
        "replicas": len(replicas),
        "placed": sum(replica.node is not None for replica in replicas),
        "losses": tally(worst_of_workloads(loss) for loss in plan.losses),
        "volumes": sum(bool(loss.volumes) for loss in plan.losses),
        "rollouts": {
            result: sum(each.result == result for each in plan.rollouts)
            for result in ("completes", "may-block", "blocked", "manual", "unjudged")
        },
        "drains": {result: sum(loss.result == result for loss in plan.losses) for result in ("ends", "blocked", "refused")},
    }


def _array(items: Iterable[str], indent: int) -> Iterator[str]:
    """Yield ``items`` as an array at an indentation of ``indent`` spaces, each on a line of its own."""
    margin = "\n" + " " * indent
    opening = "["
    for item in items:
        yield f"{opening}{margin}  {item}"
        opening = ","
    yield "[]" if opening == "[" else margin + "]"


def _flat(value: object) -> str:
    return json.dumps(value)
