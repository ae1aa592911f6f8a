"""What an autoscaler makes of the number of replicas, for rules about spreads, budgets, domains and drains, and for a plan."""

import pytest

import linting
from on_nodes import apart, messages_of, spread, workload

NODES = """
- {name: w1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: w1}}
- {name: w2, labels: {topology.kubernetes.io/zone: b, kubernetes.io/hostname: w2}}
- {name: w3, labels: {topology.kubernetes.io/zone: c, kubernetes.io/hostname: w3}}
"""
HOSTNAME = "kubernetes.io/hostname"


def hpa(least: int, most: int) -> str:
    return f"""\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web, namespace: shop}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: {least}
  maxReplicas: {most}
"""


def budget(amount: str) -> str:
    return f"""\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web, namespace: shop}}
spec: {{{amount}, selector: {{matchLabels: {{app: web}}}}}}
"""


def test_a_skew_matters_once_there_are_more_replicas_than_it_allows() -> None:
    text = workload(spread(HOSTNAME, skew=3), replicas=2)
    rule = "spread-without-effect"
    assert len(linting.messages_of(text, rule)) == 1
    assert linting.messages_of(text + hpa(2, 10), rule) == []
    [found] = linting.messages_of(text + hpa(2, 3), rule)
    assert "maxSkew 3 lets all 3 replicas, the most that HorizontalPodAutoscaler web asks for, share one topology domain" in found


def test_one_replica_that_an_autoscaler_adds_to_is_not_the_only_one() -> None:
    text = workload(apart(HOSTNAME).replace("app: web", "name: web"), replicas=1)
    assert linting.messages_of(text, "anti-affinity-misses-itself") == []
    assert len(linting.messages_of(text + hpa(1, 3), "anti-affinity-misses-itself")) == 1


def test_a_budget_is_checked_against_the_fewest_replicas() -> None:
    blocked = "PodDisruptionBudget web (minAvailable {}) requires {} of {} pods to be healthy, and {} are"
    alone = workload(replicas=3)
    assert messages_of("drain-blocked", NODES, alone + budget("minAvailable: 2")) == []
    assert messages_of("drain-blocked", NODES, alone + budget("minAvailable: 2") + hpa(3, 10)) == []
    [found] = messages_of("drain-blocked", NODES, alone + budget("minAvailable: 2") + hpa(2, 10))
    assert found.endswith(
        f"info: {blocked.format(2, 2, 2, 2)}, as many as HorizontalPodAutoscaler web keeps at least; a drain waits until it scales up"
    )
    [found] = messages_of("drain-blocked", NODES, alone + budget("minAvailable: 5") + hpa(2, 5))
    assert found.endswith(f"warning: {blocked.format(5, 5, 2, 2)}: a drain of their nodes never completes")


def test_without_replicas_the_autoscaler_sets_the_number() -> None:
    text = workload(replicas=None) + budget("minAvailable: 1")
    assert messages_of("drain-blocked", NODES, text) == []
    assert len(messages_of("drain-blocked", NODES, text + hpa(1, 5))) == 1


def test_domains_are_counted_for_the_fewest_and_for_the_most() -> None:
    text = workload(apart(HOSTNAME), replicas=1)
    rule = "too-few-domains"
    assert messages_of(rule, NODES, text) == messages_of(rule, NODES, text + hpa(1, 3)) == []
    [found] = messages_of(rule, NODES, text + hpa(4, 10))
    assert "error: 4 replicas, 3 nodes" in found
    [found] = messages_of(rule, NODES, text + hpa(2, 10))
    assert found.endswith(
        "info: HorizontalPodAutoscaler web asks for up to 10 replicas, 3 nodes; the required podAntiAffinity over nodes allows only 3"
    )


def test_an_autoscaler_that_may_go_down_to_none_does_not_excuse_a_replica_without_a_node() -> None:
    text = workload("nodeSelector: {disk: ssd}", replicas=1)
    assert len(messages_of("unschedulable", NODES, text)) == 1
    assert messages_of("unschedulable", NODES, text + hpa(0, 5)) == messages_of("unschedulable", NODES, text)
    assert messages_of("unschedulable", NODES, workload("nodeSelector: {disk: ssd}", replicas=0) + hpa(0, 5)) == []


@pytest.mark.parametrize(("replicas", "placed"), [(None, 2), (1, 2), (3, 3), (9, 5)])
def test_a_plan_places_what_there_is_at_first(replicas: int | None, placed: int) -> None:
    from afflint.pipeline.map_step import default_settings
    from afflint.simulation.inputs import read_place_inputs
    from afflint.source.sources import Source

    sources = [Source("a.yaml", "a.yaml", (workload(replicas=replicas) + hpa(2, 5)).encode())]
    simulation_input = read_place_inputs(sources, [Source("n", "n", f"nodes:{NODES}".encode())], [], default_settings()).simulation_input
    [pod_source] = simulation_input.pod_sources
    assert (pod_source.replicas, pod_source.notes) == (placed, ("HorizontalPodAutoscaler web keeps 2 to 5 replicas",))
