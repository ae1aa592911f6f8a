"""The plan for other programs: the contract is schemas/place.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from afflint.placement.plan import Loss, NodeRow, NodeVerdict, Plan, WorkloadPlan
from afflint.report.place_digest import tally, worst


def render(plan: Plan) -> str:
    """The plan as one JSON object, ASCII only, strings exact. Nodes, verdicts, replicas and moves take a line each."""
    return "".join(_document(plan))


def _document(plan: Plan) -> Iterator[str]:
    yield f'{{\n  "version": 1,\n  "groupBy": {_flat(plan.group_by)},\n  "nodes": '
    yield from _array((_flat(_node(node)) for node in plan.nodes), 2)
    yield ',\n  "workloads": '
    yield from _array(("".join(_workload(workload)) for workload in plan.workloads), 2)
    yield ',\n  "losses": '
    yield from _array(("".join(_loss(loss)) for loss in plan.losses), 2)
    yield f',\n  "notes": {_flat(plan.notes)},\n  "summary": {_flat(_summary(plan))}\n}}\n'


def _node(node: NodeRow) -> dict[str, object]:
    labels = dict(sorted(node.labels.items()))
    return {"name": node.name, "domain": node.domain, "cordoned": node.cordoned, "taints": node.taints, "labels": labels}


def _workload(workload: WorkloadPlan) -> Iterator[str]:
    yield "{"
    for key in ("key", "kind", "namespace", "name", "file", "line", "error", "notes"):
        yield f'\n      "{key}": {_flat(getattr(workload, key))},'
    yield '\n      "verdicts": '
    yield from _array(_verdicts(workload.verdicts), 6)
    yield ',\n      "replicas": '
    yield from _array((_flat(replica._asdict()) for replica in workload.replicas), 6)
    yield "\n    }"


def _verdicts(verdicts: Iterable[NodeVerdict]) -> Iterator[str]:
    # Workloads times nodes of them, and few that differ in more than the node.
    known: dict[tuple[object, ...], str] = {}
    for verdict in verdicts:
        if (rest := known.get(verdict[1:])) is None:
            rest = known[verdict[1:]] = _flat({key: value for key, value in verdict._asdict().items() if key != "node"})[1:]
        yield f'{{"node": {_flat(verdict.node)}, {rest}'


def _loss(loss: Loss) -> Iterator[str]:
    yield f'{{\n      "what": {_flat(loss.what)},\n      "worst": {_flat(worst(loss))},\n      "nodes": {_flat(loss.nodes)}'
    yield ',\n      "moves": '
    yield from _array((_flat(move._asdict()) for move in loss.moves), 6)
    yield f',\n      "outcomes": {_flat(dict(loss.outcomes))}\n    }}'


def _summary(plan: Plan) -> dict[str, object]:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    return {
        "nodes": len(plan.nodes),
        "domains": len({node.domain for node in plan.nodes if node.domain is not None}),
        "workloads": len(plan.workloads),
        "replicas": len(replicas),
        "placed": sum(replica.node is not None for replica in replicas),
        "losses": tally(worst(loss) for loss in plan.losses),
    }


def _array(items: Iterable[str], indent: int) -> Iterator[str]:
    """``items`` as an array that stands at ``indent`` spaces, each on a line of its own."""
    margin = "\n" + " " * indent
    opening = "["
    for item in items:
        yield f"{opening}{margin}  {item}"
        opening = ","
    yield "[]" if opening == "[" else margin + "]"


def _flat(value: object) -> str:
    return json.dumps(value)
