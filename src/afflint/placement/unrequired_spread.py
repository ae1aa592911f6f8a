"""StatefulSets whose replicas are in several topology domains although one domain could take them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import HOSTNAME, domain_noun
from afflint.placement.schedule import PlacedWorkload
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod


def unrequired_spread(placed: PlacedWorkload, cluster: Cluster, key: str) -> str:
    """Return a note if nothing requires the domains of the replicas to differ: a schedule with all of them in one domain proves it.

    ``cluster`` has all pods, and is the same afterwards; its other pods stay where they are.
    """
    pods, nodes = placed.pods, placed.nodes
    if placed.pod_source.kind != "StatefulSet" or placed.unjudged or key == HOSTNAME or len(nodes) < len(pods):
        return ""
    column, numbers = cluster.table.column(key), cluster.table.numbers
    domains = Counter(column[numbers[node]] for node in nodes.values())
    if len(domains) < 2 or None in domains:
        return ""
    take_away(pods, placed, cluster)
    enough = next((domain for domain, _ in domains.most_common() if _can_take_all(pods, placed, cluster, column, domain)), None)
    for pod in pods:
        cluster.bind(pod, nodes[pod.key])
    if enough is None:
        return ""
    noun, seen = domain_noun(key), "" if len(placed.stays) == len(pods) else " in this schedule"
    return f"its replicas are in {pluralize(len(domains), noun)}{seen}; nothing requires that: {noun} {enough} can take all {len(pods)}"


def _can_take_all(pods: Sequence[Pod], placed: PlacedWorkload, cluster: Cluster, column: list[str | None], domain: str | None) -> bool:
    """Return whether all pods can be scheduled in a domain, one after another."""
    numbers, bound = cluster.table.numbers, list[Pod]()
    for pod in pods:
        among = [node for node in cluster.feasible_nodes(pod) if column[numbers[node]] == domain]
        if not among:
            break
        cluster.bind(pod, cluster.table.names[cluster.emptiest(numbers[node] for node in among)])
        bound.append(pod)
    take_away(bound, placed, cluster)
    return len(bound) == len(pods)


def take_away(pods: Sequence[Pod], placed: PlacedWorkload, cluster: Cluster) -> None:
    """Remove pods; a volume that exists only in the plan is removed with its pod."""
    for pod in pods:
        (cluster.unbind if pod.key in placed.stays else cluster.release)(pod)
