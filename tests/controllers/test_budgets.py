"""PodDisruptionBudgets: which pods they cover, and how many of these may be evicted."""

from typing import Any

import pytest

from afflint.controllers.budgets import Budget, read_budget
from afflint.kube.decoding import InventoryError
from afflint.pipeline.map_step import default_settings
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source


def budget(version: str = "policy/v1", **spec: Any) -> Budget:
    metadata = {"name": "web", "namespace": "shop"}
    return read_budget({"apiVersion": version, "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})


WEB = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("spec", "expected", "healthy", "allowed"),
    [
        ({"minAvailable": 2}, 3, 3, 1),
        ({"minAvailable": 3}, 3, 3, 0),
        ({"minAvailable": 5}, 3, 3, 0),
        ({"minAvailable": "50%"}, 3, 3, 1),  # 1.5 pods are two
        ({"minAvailable": "0%"}, 3, 3, 3),
        ({"maxUnavailable": 1}, 3, 3, 1),
        ({"maxUnavailable": 1}, 3, 2, 0),
        ({"maxUnavailable": 5}, 3, 3, 3),
        ({"maxUnavailable": "30%"}, 3, 3, 1),  # rounded up as well
        ({"maxUnavailable": 0}, 3, 3, 0),
        ({}, 3, 3, 0),  # the API accepts it, and nothing may go
        ({"maxUnavailable": "34%"}, 3, 3, 2),
        ({"minAvailable": "67%"}, 3, 3, 0),
        ({"minAvailable": "66%"}, 3, 3, 1),
        ({"minAvailable": "51%"}, 2, 2, 0),
        ({"maxUnavailable": "1%"}, 1, 1, 1),
        ({"maxUnavailable": "0%"}, 1, 1, 0),
        ({"minAvailable": "1%"}, 1, 1, 0),
        ({"minAvailable": 0}, 3, 0, 0),
        ({"maxUnavailable": 1}, 0, 2, 0),  # pods without a controller
    ],
)
def test_how_many_pods_may_be_evicted(spec: dict[str, Any], expected: int, healthy: int, allowed: int) -> None:
    assert budget(selector=WEB, **spec).disruptions_allowed(expected, healthy) == allowed


@pytest.mark.parametrize(
    ("version", "selector", "covered"),
    [
        ("policy/v1", WEB, True),
        ("policy/v1", {"matchLabels": {"app": "till"}}, False),
        ("policy/v1", {}, True),
        ("policy/v1", None, False),
        ("policy/v1beta1", {}, False),
    ],
)
def test_which_pods_it_covers(version: str, selector: Any, covered: bool) -> None:
    read = budget(version, selector=selector, minAvailable=1)
    assert read.covers("shop", {"app": "web", "tier": "front"}) == covered
    assert not read.covers("store", {"app": "web"})


@pytest.mark.parametrize("amount", ["half", "1.5", -1, True, [1], "50 %"])
def test_an_amount_that_is_none_is_refused(amount: Any) -> None:
    with pytest.raises(InventoryError, match=r"'web': spec\.minAvailable is neither a number of pods nor a percentage"):
        budget(selector=WEB, minAvailable=amount)


def test_budgets_of_the_manifests_are_part_of_the_simulation() -> None:
    text = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: till, namespace: shop}
spec: {minAvailable: half}
"""
    nodes = Source("nodes.yaml", "nodes.yaml", b"nodes: [{name: w1}]")
    simulation_input, problems, *_ = read_place_inputs([Source("a.yaml", "a.yaml", text.encode())], [nodes], [], default_settings())
    assert simulation_input.budgets == (budget(selector=WEB, minAvailable=2),)
    assert problems == ("a.yaml:6:1: PodDisruptionBudget 'till': spec.minAvailable is neither a number of pods nor a percentage",)
