"""The limits of rolling updates, as their controllers compute them."""

from typing import Any

import pytest

from afflint.controllers.rollouts import rolling_limits, rolling_update


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (3, None, None, (1, 0)),
        (10, "25%", "25%", (3, 2)),
        (3, "10%", 0, (1, 0)),
        (3, 0, "10%", (0, 1)),
        (4, 0, 0, (0, 1)),
        (4, 2, 1, (2, 1)),
        (4, "x", 1, None),
    ],
)
def test_limits_of_a_rolling_update(replicas: int, surge: Any, unavailable: Any, expected: tuple[int, int] | None) -> None:
    assert rolling_limits(replicas, surge, unavailable) == expected


@pytest.mark.parametrize(
    ("kind", "strategy", "expected"),
    [
        ("Deployment", {}, (1, 0)),
        ("Deployment", {"type": "Recreate"}, None),
        ("Deployment", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, (0, 1)),
        ("Rollout", {"canary": {"maxSurge": "50%", "maxUnavailable": 0}}, (2, 0)),
        ("Rollout", {"blueGreen": {"activeService": "web"}}, (3, 0)),
        ("DeploymentConfig", {"type": "Rolling", "rollingParams": {"maxSurge": 2, "maxUnavailable": 1}}, (2, 1)),
        ("DeploymentConfig", {"type": "Recreate"}, None),
        ("StatefulSet", {}, None),
        ("ReplicaSet", {}, None),
    ],
)
def test_each_kind_has_its_own_fields(kind: str, strategy: dict[str, Any], expected: tuple[int, int] | None) -> None:
    assert rolling_update(kind, strategy, 3) == expected
