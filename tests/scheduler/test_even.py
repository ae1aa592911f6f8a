"""Where several nodes are best, a plan takes the one with the fewest pods, as a cluster does whose pods request alike."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.scheduler import cluster as scheduler
from afflint.scheduler.cluster import Cluster

HOST = "kubernetes.io/hostname"


def node(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {HOST: name, **labels}}}


def pod(name: str, on: str = "", **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {**spec, **({"nodeName": on} if on else {})}}


THREE = [node("n1"), node("n2"), node("n3")]


def placed(nodes: list[dict[str, object]], *pods: dict[str, object], running: tuple[dict[str, object], ...] = ()) -> dict[str, str]:
    return Cluster(nodes, running).schedule(pods, even=True).placements


def test_machines_do_not_pile_up_on_the_first_node() -> None:
    assert placed(THREE, *[pod(f"vm-{number}") for number in range(4)]) == {"vm-0": "n1", "vm-1": "n2", "vm-2": "n3", "vm-3": "n1"}


def test_what_runs_already_counts() -> None:
    assert placed(THREE, pod("vm"), running=(pod("a", "n1"), pod("b", "n2"), pod("c", "n2"))) == {"vm": "n3"}


def test_a_better_node_is_better_however_full_it_is() -> None:
    first = {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n1"]}]}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": first}]}}
    assert set(placed(THREE, *[pod(f"p{number}", affinity=affinity) for number in range(3)]).values()) == {"n1"}


def test_without_it_the_first_name_wins_and_the_ties_are_reported() -> None:
    run = Cluster(THREE).schedule([pod("a"), pod("b")])
    assert run.placements == {"a": "n1", "b": "n1"}
    assert run.best["b"] == ("n1", "n2", "n3")


labels = st.sampled_from([{}, {"disk": "ssd"}, {"disk": "hdd"}])
specs = st.sampled_from([{}, {"nodeSelector": {"disk": "ssd"}}, {"nodeSelector": {"disk": "hdd"}}])


@given(st.lists(labels, min_size=1, max_size=9), st.lists(specs, max_size=14), st.lists(st.integers(0, 8), max_size=6))
def test_each_goes_to_a_node_with_the_fewest_pods_of_those_that_it_can_use(
    given_labels: list[dict[str, str]], given_specs: list[dict[str, object]], busy: list[int]
) -> None:
    """However nodes are looked at: one by one, or those alike together."""
    nodes = [node(f"n{number}", **each) for number, each in enumerate(given_labels)]
    running = tuple(pod(f"r{number}", f"n{which}") for number, which in enumerate(busy) if which < len(nodes))
    load = Counter(f"n{which}" for which in busy if which < len(nodes))
    pods = [pod(f"p{number}", **spec) for number, spec in enumerate(given_specs)]
    expected = {}
    for number, spec in enumerate(given_specs):
        wanted = spec.get("nodeSelector", {})
        usable = [f"n{index}" for index, each in enumerate(given_labels) if wanted.items() <= each.items()]
        if usable:
            expected[f"p{number}"] = min(usable, key=lambda name: (load[name], name))
            load[expected[f"p{number}"]] += 1
    for few in (0, 32):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scheduler, "_MAX_UNGROUPED", few)
            assert placed(nodes, *pods, running=running) == expected


def having(name: str, cpu: str, memory: str) -> dict[str, object]:
    return {**node(name), "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}}}


def asking(name: str, **requests: str) -> dict[str, object]:
    return pod(name, containers=[{"name": "c", "resources": {"requests": requests}}])


class TestScoresOfResources:
    """NodeResourcesFit by least allocated and NodeResourcesBalancedAllocation, as the scheduler's default configuration has them."""

    def scores(
        self,
        wanted: dict[str, object],
        *nodes: dict[str, object],
        running: tuple[dict[str, object], ...] = (),
        version: tuple[int, int] = (1, 35),
    ) -> dict[str, object]:
        return Cluster(nodes, running, resources=True, version=version).evaluate(wanted).scores

    def test_the_more_is_left_the_better(self) -> None:
        scores = self.scores(asking("a", cpu="1", memory="1Gi"), having("n1", "4", "4Gi"), having("n2", "2", "4Gi"))
        # n1: (75 + 75) / 2, in equal parts; n2: (50 + 75) / 2, and a quarter apart.
        assert scores["NodeResourcesFit"] == {"n1": 75, "n2": 62}
        assert scores["NodeResourcesBalancedAllocation"] == {"n1": 100, "n2": 87}

    def test_who_requests_nothing_counts_for_some_and_is_not_balanced(self) -> None:
        scores = self.scores(asking("a"), having("n1", "1", "400Mi"))
        # A tenth of a CPU and 200 MiB: (90 + 50) / 2.
        assert scores["NodeResourcesFit"] == {"n1": 70}
        assert "NodeResourcesBalancedAllocation" not in scores

    def test_what_runs_counts_for_what_it_does_not_say_as_well(self) -> None:
        running = ({**asking("r", cpu="1"), "spec": {**asking("r", cpu="1")["spec"], "nodeName": "n1"}},)
        scores = self.scores(asking("a", cpu="1", memory="200Mi"), having("n1", "4", "800Mi"), running=running)
        # Rated: 2 of 4 CPUs, 400 of 800 MiB. Balanced by what is requested: 2 of 4 and 200 of 800.
        assert scores["NodeResourcesFit"] == {"n1": 50}
        assert scores["NodeResourcesBalancedAllocation"] == {"n1": 87}

    @pytest.mark.parametrize(("version", "expected"), [((1, 35), {"n1": 87, "n2": 62}), ((1, 36), {"n1": 87, "n2": 56})])
    def test_since_1_36_the_improvement_is_scored(self, version: tuple[int, int], expected: dict[str, int]) -> None:
        running = ({**asking("r", memory="3Gi"), "spec": {**asking("r", memory="3Gi")["spec"], "nodeName": "n1"}},)
        scores = self.scores(asking("a", cpu="3"), having("n1", "6", "4Gi"), having("n2", "4", "4Gi"), running=running, version=version)
        # n1: three quarters of the memory, then half of the CPU as well, from 62 to 87: 50 + (50 + 25) / 2. n2: from 100 to 62.
        assert scores["NodeResourcesBalancedAllocation"] == expected

    def test_a_node_that_does_not_say_what_it_has(self) -> None:
        scores = self.scores(asking("a", cpu="1"), node("n1"))
        assert (scores["NodeResourcesFit"], scores["NodeResourcesBalancedAllocation"]) == ({"n1": 0}, {"n1": 100})

    def test_without_resources_they_are_left_out(self) -> None:
        assert Cluster([having("n1", "4", "4Gi")]).evaluate(asking("a", cpu="1")).scores.keys() == {"TaintToleration"}
