"""What the requests of a pod amount to, for filters and for scores."""

from __future__ import annotations

from typing import Any

import pytest

from afflint.scheduler.requests import read_rated


def containers(*requests: dict[str, str]) -> dict[str, Any]:
    return {"containers": [{"name": f"c{number}", "resources": {"requests": each}} for number, each in enumerate(requests)]}


@pytest.mark.parametrize(
    ("spec", "rated"),
    [
        ({}, (0, 0)),
        (containers({"cpu": "250m", "memory": "64Mi"}), (250, 64 << 20)),
        (containers({}), (100, 200 << 20)),
        (containers({"cpu": "1"}, {"memory": "1Gi"}), (1100, (200 << 20) + (1 << 30))),
        ({**containers({"cpu": "1", "memory": "0"}), "overhead": {"cpu": "50m"}}, (1050, 0)),
    ],
    ids=["no containers", "both", "neither", "one each", "overhead"],
)
def test_for_scores_a_container_without_requests_has_those_of_a_small_one(spec: dict[str, Any], rated: tuple[int, int]) -> None:
    """0.1 CPU and 200 MiB: pkg/scheduler/util GetNonzeroRequests."""
    assert read_rated(spec, {}) == rated
