"""Runs of a descheduler: a policy, running pods, and the evictions of each run."""

from typing import Any

from afflint.controllers.budgets import read_budget
from afflint.controllers.pod_source import PodSource
from afflint.placement.descheduler_policy import DeschedulerPolicy, read_policies
from afflint.placement.plan import DescheduleEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import Object
from workload_objects import inventory

AFFINITY = "RemovePodsViolatingNodeAffinity"
TAINTS = "RemovePodsViolatingNodeTaints"
APART = "RemovePodsViolatingInterPodAntiAffinity"
SPREAD = "RemovePodsViolatingTopologySpreadConstraint"
UTILIZATION = "LowNodeUtilization"


def policy(*plugins: str, evictor: Object | None = None, **args: Object) -> DeschedulerPolicy:
    """A policy with plugins, their arguments by name, and those of the evictor."""
    config = [{"name": name, "args": args.get(name, {})} for name in plugins]
    config.append({"name": "DefaultEvictor", "args": {"nodeFit": True} if evictor is None else evictor})
    points = {
        "deschedule": {"enabled": [name for name in plugins if name in (AFFINITY, TAINTS, APART)]},
        "balance": {"enabled": [name for name in plugins if name not in (AFFINITY, TAINTS, APART)]},
    }
    (found,) = read_policies([{"kind": "DeschedulerPolicy", "profiles": [{"name": "p", "pluginConfig": config, "plugins": points}]}])
    return found


def planned(
    nodes: list[Object], pod_sources: list[PodSource], chosen: DeschedulerPolicy, *budgets: Object, pods: list[Object] | None = None
) -> Plan:
    known = inventory(nodes, pods=pods or [], resources=any("status" in each for each in nodes))
    return make_plan(known, pod_sources, asked=DisruptionRequest(deschedule=[chosen]), budgets=[read_budget(each) for each in budgets])


def descheduled(
    nodes: list[Object], pod_sources: list[PodSource], chosen: DeschedulerPolicy, *budgets: Object, **more: Any
) -> DescheduleEffect:
    (effect,) = planned(nodes, pod_sources, chosen, *budgets, **more).descheduling
    return effect


def moves(effect: DescheduleEffect) -> list[list[str]]:
    """What each run evicts: ``web-0: a1 -> b1``."""
    return [[f"{each.pod}: {each.node} -> {each.target}" for each in evicted] for evicted in effect.rounds]


def running(name: str, on: str, owner: str = "web", **spec: Any) -> Object:
    """A running pod of a ReplicaSet of a Deployment."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": owner, "pod-template-hash": "x"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner}-x", "uid": "1", "controller": True}],
        },
        "spec": {"nodeName": on, **spec},
        "status": {"phase": "Running"},
    }
