"""Workloads on nodes: Deployments with one kind of constraint, each with its own selector, and clusters for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.constraints import HOSTNAME, ZONE, Pods, required_apart, required_neighbours, spread
from bench.workloads import File
from bench.yaml_text import yaml_text

Data = dict[str, Any]

NODES = "nodes.yaml"
MANIFESTS = "manifests"
_ZONES = 3
_NAMESPACE = "shop"

CONSTRAINTS: dict[str, Callable[[Pods], Data]] = {"apart": required_apart, "spread": spread, "near": required_neighbours}
"""The constraints by name: anti-affinity over nodes, required spread over zones, affinity to the neighbour's pods over zones."""

FREE = "free"
"""The name for workloads without a constraint."""


def cluster_files(constraint: str, workloads: int, replicas: int, nodes: int) -> Iterator[File]:
    """Yield a list of nodes in three zones, and Deployments with one constraint (or FREE), each in its own file."""
    listed = [
        {"name": f"node-{number:05}", "labels": {HOSTNAME: f"node-{number:05}", ZONE: f"zone-{number % _ZONES}"}} for number in range(nodes)
    ]
    yield File(NODES, yaml_text({"nodes": listed}))
    for number in range(workloads):
        deployment = _deployment(number, replicas, CONSTRAINTS.get(constraint, _unconstrained))
        yield File(f"{MANIFESTS}/{deployment['metadata']['name']}.yaml", yaml_text(deployment))


def _unconstrained(_pods: Pods) -> Data:
    return {}


def _deployment(number: int, replicas: int, constraint: Callable[[Pods], Data]) -> Data:
    own = {"app": f"app-{number:05}"}
    # In pairs: one has affinity to the other, so that affinity never forms a cycle.
    pods = Pods(2 * number, own, {"app": f"app-{number - number % 2:05}"})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": own["app"], "namespace": _NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": own},
            "template": {
                "metadata": {"labels": own},
                "spec": {**constraint(pods), "containers": [{"name": "app", "image": "registry.example.com/app:1.0.0"}]},
            },
        },
    }
