"""Plans of a bakery's cluster of six workers, and of a cluster of any size; and their reports."""

from collections.abc import Sequence
from typing import Any

from afflint.placement.plan import DisruptionEffect, NodeRow, NodeVerdict, Outcome, Plan, Replica, ReplicaMove, Verdicts, WorkloadPlan
from afflint.report.place import json_report, page
from afflint.report.place import table as place_table
from report.html_page import Page

ZONE = "topology.kubernetes.io/zone"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"

LEDGER = "VirtualMachineInstanceReplicaSet bakery/ledger"
OVEN_CACHE = "Deployment bakery/oven-cache"
TILL = "VirtualMachineInstanceReplicaSet bakery/till"


def node(name: str, domain: str | None, *taints: str, cordoned: bool = False, **labels: str) -> NodeRow:
    zone = {} if domain is None else {ZONE: domain}
    return NodeRow(name, domain, cordoned, taints, {"kubernetes.io/hostname": name, **zone, **labels})


def verdict(name: str, why: str = "", *, score: int | None = None, reason: str = "NodeAffinity") -> NodeVerdict:
    """A node that fits unless there is a ``why``."""
    return NodeVerdict(name, not why, reason if why else None, why, None if why else score)


def workload(key: str, verdicts: Sequence[NodeVerdict], replicas: Sequence[Replica], **more: Any) -> WorkloadPlan:
    kind, _, rest = key.partition(" ")
    namespace, _, name = rest.partition("/")
    plain = WorkloadPlan(key, kind, namespace, name, f"bakery/{name}.yaml", 1, Verdicts.of(verdicts), tuple(replicas), None, ())
    return plain._replace(**more)


# Six workers in three rooms, a fast and a plain one in each, and a control plane in the first.
BAKERY_NODES = (
    node("control-1", "mill", f"{CONTROL_PLANE}:NoSchedule"),
    node("fast-1", "mill", disk="nvme"),
    node("plain-1", "mill", disk="sata"),
    node("fast-2", "shop", disk="nvme"),
    node("plain-2", "shop", disk="sata"),
    node("fast-3", "yard", disk="nvme"),
    node("plain-3", "yard", disk="sata"),
)
TAINTED = f"has the taint {CONTROL_PLANE}:NoSchedule, which is not tolerated"
FULL = (
    "1 node has a taint that is not tolerated, 2 nodes hold another replica of bakery/ledger (one per zone is allowed), "
    "3 nodes lack disk=nvme"
)


def anywhere(score: int) -> list[NodeVerdict]:
    control, *workers = BAKERY_NODES
    return [verdict(control.name, TAINTED, reason="TaintToleration"), *(verdict(worker.name, score=score) for worker in workers)]


def on_fast_nodes() -> list[NodeVerdict]:
    control, *workers = BAKERY_NODES
    slow = [worker.name for worker in workers if worker.labels["disk"] != "nvme"]
    return [
        verdict(control.name, TAINTED, reason="TaintToleration"),
        *(verdict(worker.name, "lacks disk=nvme" if worker.name in slow else "", score=200) for worker in workers),
    ]


def bakery_loss(number: int, name: str) -> DisruptionEffect:
    """A plain node hands its pods to the fast one of its zone; a fast one leaves its ledger without a place."""
    what = f"node {name}"
    if name == "control-1":
        return DisruptionEffect(what, (name,), (), {})
    if name.startswith("fast"):
        move = ReplicaMove(LEDGER, f"ledger-{number}", name, None, FULL)
        return DisruptionEffect(what, (name,), (move,), {LEDGER: "degraded"})
    moves = tuple(
        ReplicaMove(key, f"{pod}-{number}", name, f"fast-{number + 1}") for key, pod in ((OVEN_CACHE, "oven-cache"), (TILL, "till"))
    )
    return DisruptionEffect(what, (name,), moves, {OVEN_CACHE: "survives", TILL: "survives"})


BAKERY = Plan(
    group_by=ZONE,
    nodes=BAKERY_NODES,
    workloads=(
        workload(LEDGER, on_fast_nodes(), [Replica(f"ledger-{number}", f"fast-{number + 1}") for number in range(3)]),
        workload(OVEN_CACHE, anywhere(300), [Replica(f"oven-cache-{number}", f"plain-{number + 1}") for number in range(3)]),
        workload(
            TILL,
            anywhere(100),
            [Replica(f"till-{number}", f"plain-{number + 1}") for number in range(3)],
            line=24,
            notes=("The memory of its instance type is not known: resources are left out.",),
        ),
    ),
    losses=tuple(bakery_loss(int(name[-1]) - 1, name) for name in (row.name for row in BAKERY_NODES)),
    notes=("No node carries kubevirt.io/schedulable: the virtual machines are placed as if all workers did.",),
)

# The same with a fourth ledger, one node cordoned, one outside of any zone, a workload that cannot be scheduled, and a failed zone.
TROUBLE = BAKERY._replace(
    nodes=(
        *BAKERY_NODES[:6],
        node("plain-3", "yard", cordoned=True, disk="sata"),
        node("spare", None, "lent=out:NoExecute", "old:NoSchedule"),
    ),
    workloads=(
        BAKERY.workloads[0]._replace(replicas=(*BAKERY.workloads[0].replicas, Replica("ledger-3", None, FULL))),
        BAKERY.workloads[1]._replace(
            replicas=(Replica("oven-cache-0", "plain-1"), Replica("oven-cache-1", "fast-2"), Replica("oven-cache-2", "fast-3"))
        ),
        workload(
            "StatefulSet bakery/scale",
            [verdict(row.name, "lacks arch=s390x") for row in BAKERY_NODES],
            [Replica(f"scale-{number}", None, "6 nodes lack arch=s390x, 1 has a taint that is not tolerated") for number in range(2)],
        ),
        workload("Deployment bakery/broken", (), [Replica("broken-0", None)], error="a spread constraint has an empty topologyKey"),
        workload("Job bakery/idle", anywhere(0), ()),
    ),
    losses=(
        *BAKERY.losses[:2],
        DisruptionEffect(
            "zone=yard",
            ("fast-3", "plain-3"),
            (
                ReplicaMove(LEDGER, "ledger-2", "fast-3", None, FULL),
                ReplicaMove(OVEN_CACHE, "oven-cache-2", "fast-3", "plain-2"),
            ),
            {LEDGER: "degraded", OVEN_CACHE: "survives"},
        ),
        DisruptionEffect(
            "all fast nodes",
            ("fast-1", "fast-2", "fast-3"),
            (
                *(ReplicaMove(LEDGER, f"ledger-{number}", f"fast-{number + 1}", None, "4 nodes lack disk=nvme") for number in range(3)),
                ReplicaMove(OVEN_CACHE, "oven-cache-1", "fast-2", "plain-2"),
                ReplicaMove(OVEN_CACHE, "oven-cache-2", "fast-3", "plain-1"),
            ),
            {LEDGER: "dead", OVEN_CACHE: "survives"},
        ),
    ),
)


def large(nodes: int, workloads: int, *, each: str = "zone", zones: int = 3) -> Plan:
    """``nodes`` in zones, every fourth fast; each workload has three replicas.

    Every tenth needs fast nodes, every 25th has a replica without a place.
    """
    rows = tuple(_large_node(number, zones) for number in range(nodes))
    everywhere = tuple(_large_verdict(row, "") for row in rows)
    fast = tuple(_large_verdict(row, "" if row.labels["disk"] == "nvme" else "lacks disk=nvme") for row in rows)
    homes = {"": [row for row in rows if not row.taints and not row.cordoned]}
    homes["fast"] = [row for row in homes[""] if row.labels["disk"] == "nvme"]
    plans, where = [], {}
    for number in range(workloads):
        key = f"Deployment team-{number % 7}/{_WORDS[number % len(_WORDS)]}-{_NOUNS[number // len(_WORDS) % len(_NOUNS)]}-{number}"
        choice = homes["fast" if number % 10 == 0 else ""]
        pods = [f"{key.rpartition('/')[2]}-{replica}" for replica in range(3)]
        targets: list[str | None] = [choice[(number * 7 + replica) % len(choice)].name for replica in range(3)]
        if number % 25 == 24:
            targets[2] = None
        where.update({pod: (key, target) for pod, target in zip(pods, targets, strict=True)})
        why = f"{nodes - 9} nodes hold a pod that it keeps away from, 9 are cordoned or tainted"
        replicas = [Replica(pod, target, "" if target else why) for pod, target in zip(pods, targets, strict=True)]
        plans.append(workload(key, fast if number % 10 == 0 else everywhere, replicas, line=number + 1))
    groups = {f"node {row.name}": [row.name] for row in rows} if each == "node" else _by_zone(rows)
    losses = tuple(_large_loss(what, names, rows, where) for what, names in groups.items())
    return Plan(ZONE, rows, tuple(plans), losses, ())


_WORDS = ("order", "stock", "mail", "search", "price", "ledger", "image", "route", "audit", "login")
_NOUNS = ("api", "worker", "cache", "db", "proxy", "batch")


def _large_node(number: int, zones: int) -> NodeRow:
    taints = (f"{CONTROL_PLANE}:NoSchedule",) if number < zones else ()
    disk = "nvme" if number % 4 == 3 else "sata"
    return node(f"worker-{number + 1}", "abcdefghijklmnop"[number % zones], *taints, cordoned=number % 50 == 20, disk=disk)


def _large_verdict(row: NodeRow, why: str) -> NodeVerdict:
    if row.taints:
        return verdict(row.name, TAINTED, reason="TaintToleration")
    if row.cordoned:
        return verdict(row.name, "is cordoned", reason="NodeUnschedulable")
    return verdict(row.name, why, score=200 if row.labels["disk"] == "nvme" else 180)


def _by_zone(rows: Sequence[NodeRow]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(f"{ZONE}={row.domain}", []).append(row.name)
    return found


def _large_loss(what: str, names: Sequence[str], rows: Sequence[NodeRow], where: dict[str, tuple[str, str | None]]) -> DisruptionEffect:
    lost = set(names)
    left = [row.name for row in rows if row.name not in lost and not row.taints]
    moves: list[ReplicaMove] = []
    outcomes: dict[str, Outcome] = {}
    for number, (pod, (key, source)) in enumerate(where.items()):
        if source in lost:
            stuck = key.endswith("0") and number % 4 == 0
            outcome: Outcome = "degraded" if stuck or outcomes.get(key) == "degraded" else "survives"
            outcomes[key] = outcome
            moves.append(
                ReplicaMove(key, pod, source, None if stuck else left[number % len(left)], "no fast node is free" if stuck else "")
            )
    return DisruptionEffect(what, tuple(names), tuple(moves), outcomes)


def hostile(name: str) -> Plan:
    """Every value that comes out of a manifest is ``name``."""
    key = f"Deployment {name}/{name}"
    return Plan(
        group_by=name,
        nodes=(NodeRow(name, name, True, (name,), {name: name}), NodeRow(name + "2", None, False, (), {})),
        workloads=(
            WorkloadPlan(
                key,
                name,
                name,
                name,
                name,
                1,
                Verdicts.of([NodeVerdict(name, False, name, name, None), NodeVerdict(name + "2", True, None, "", 1)]),
                (Replica(name, name), Replica(name + "1", None, name), Replica(name + "2", name + "2")),
                name,
                (name,),
            ),
        ),
        losses=(
            DisruptionEffect(
                name, (name,), (ReplicaMove(key, name, name, None, name), ReplicaMove(key, name + "2", name, name + "2")), {key: "degraded"}
            ),
        ),
        notes=(name,),
    )


def table(plan: Plan, *, color: bool = False, width: int = 100, verbose: bool = False) -> str:
    return "".join(place_table.render(plan, color=color, width=width, verbose=verbose))


def goldens() -> dict[str, str]:
    """The reports by the name of their golden; of the page the text."""
    return {
        "bakery.txt": table(BAKERY),
        "bakery.json": "".join(json_report.render(BAKERY)),
        "bakery.page.txt": Page(page.render(BAKERY)).lines,
        "trouble.txt": table(TROUBLE),
        "large.txt": table(large(300, 60)),
    }
