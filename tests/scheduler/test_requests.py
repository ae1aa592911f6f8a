"""What the requests of a pod amount to, for filters and for scores."""

from typing import Any

import pytest

from afflint.scheduler.requests import read_demands


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
    assert read_demands(spec, {})[1:] == (rated, rated)


def pod_level(*containers: dict[str, str], requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, int]:
    """The requests of a pod with pod-level resources, without the pod itself."""
    resources = {name: amounts for name, amounts in (("requests", requests), ("limits", limits)) if amounts}
    listed = [{"name": f"c{number}", "resources": {"requests": each}} for number, each in enumerate(containers)]
    found = dict(read_demands({"containers": listed, "resources": resources}, {}).requests)
    return {resource: amount for resource, amount in found.items() if resource != "pods"}


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        pytest.param(pod_level({"cpu": "1"}, {"cpu": "1"}, requests={"cpu": "3"}), {"cpu": 3000}, id="requests replace the sum"),
        pytest.param(pod_level({"cpu": "2"}, requests={"cpu": "1"}), {"cpu": 1000}, id="requests below the sum"),
        pytest.param(pod_level({"cpu": "1"}, requests={"memory": "1Ki"}), {"cpu": 1000, "memory": 1024}, id="another resource"),
        pytest.param(pod_level({}, limits={"cpu": "2"}), {"cpu": 2000}, id="limits without requests"),
        pytest.param(pod_level({"cpu": "1"}, limits={"cpu": "2"}), {"cpu": 1000}, id="limits with requests of a container"),
        pytest.param(pod_level({}, requests={"cpu": "1"}, limits={"cpu": "2"}), {"cpu": 1000}, id="limits with requests of the pod"),
        pytest.param(pod_level({"hugepages-2Mi": "2Mi"}, limits={"hugepages-2Mi": "4Mi"}), {"hugepages-2Mi": 4 << 20}, id="huge pages"),
        pytest.param(
            pod_level({"example.com/gpu": "1"}, requests={"example.com/gpu": "2"}, limits={"example.com/nic": "2"}),
            {"example.com/gpu": 1},
            id="other resources are those of containers",
        ),
        pytest.param(pod_level({}, requests={"ephemeral-storage": "1Ki"}, limits={"ephemeral-storage": "1Ki"}), {}, id="storage"),
    ],
)
def test_pod_level_resources_count_instead_of_those_of_containers(given: dict[str, int], counted: dict[str, int]) -> None:
    """pkg/api/v1/resource PodRequests: CPU, memory and huge pages."""
    assert given == counted


@pytest.mark.parametrize(
    ("resources", "running"),
    [
        pytest.param({"requests": {"cpu": "2"}}, (2000, 200 << 20), id="requests"),
        pytest.param({"limits": {"memory": "1Gi"}}, (100, 1 << 30), id="limits"),
        pytest.param({"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}}, (1000, 1 << 30), id="both"),
    ],
)
def test_only_running_pods_score_by_pod_level_resources(resources: dict[str, Any], running: tuple[int, int]) -> None:
    """The scorer of NodeResourcesFit looks at the containers of an incoming pod only: getScorer of noderesources."""
    assert read_demands({**containers({}), "resources": resources}, {})[1:] == (running, (100, 200 << 20))


def resized(asked: dict[str, str], status: dict[str, Any], **of_pod: Any) -> int:
    """The CPU that a pod uses whose containers request some and have other amounts allocated (and, after a comma, in use)."""
    listed = [{"name": name, "resources": {"requests": {"cpu": cpu}}} for name, cpu in asked.items()]
    statuses = []
    for name, amounts in status.items():
        allocated, _, actual = amounts.partition(",")
        in_use = {"resources": {"requests": {"cpu": actual}}} if actual else {}
        statuses.append({"name": name, "allocatedResources": {"cpu": allocated}, **in_use})
    return dict(read_demands({"containers": listed}, {"containerStatuses": statuses, **of_pod}).requests)["cpu"]


INFEASIBLE = [{"type": "PodResizePending", "reason": "Infeasible", "status": "True"}]


@pytest.mark.parametrize(
    ("used", "cpu"),
    [
        pytest.param(resized({"a": "1", "b": "3"}, {"a": "3", "b": "1"}), 4000, id="one grows, one shrinks: the sums count"),
        pytest.param(resized({"a": "1"}, {"a": "3"}), 3000, id="shrinks"),
        pytest.param(resized({"a": "3"}, {"a": "1"}), 3000, id="grows"),
        pytest.param(resized({"a": "1", "b": "1"}, {"a": "1,2"}), 3000, id="in use"),
        pytest.param(resized({"a": "9"}, {"a": "1"}, conditions=INFEASIBLE), 1000, id="never fits its node"),
        pytest.param(
            resized({"a": "1"}, {"a": "3"}, allocatedResources={"cpu": "2"}, resources={"requests": {"cpu": "2"}}),
            2000,
            id="the status of the pod itself comes first",
        ),
    ],
)
def test_a_resized_pod_uses_the_highest_of_three_sums(used: int, cpu: int) -> None:
    """AggregateContainerRequests of component-helpers/resource: requested, allocated, in use."""
    assert used == cpu
