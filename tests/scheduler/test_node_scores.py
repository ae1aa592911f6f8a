"""The scores that depend on nodes alone: TaintToleration and NodeAffinity."""

from typing import Any

import pytest

from afflint.scheduler.cluster import Cluster, Verdict
from cluster_objects import node, node_preferences, pod


def evaluate(nodes: list[dict[str, Any]], **spec: Any) -> Verdict:
    return Cluster(nodes=nodes).evaluate(pod(**spec))


class TestTaintToleration:
    nodes = (
        node("none"),
        node("one", taints=["a:PreferNoSchedule"]),
        node("three", taints=["a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule"]),
    )

    def test_fewer_unwelcoming_taints_are_better_and_fractions_are_cut_off(self) -> None:
        assert evaluate(list(self.nodes)).scores["TaintToleration"] == {"none": 100, "one": 67, "three": 0}

    def test_tolerated_taints_do_not_count_unless_the_toleration_has_another_effect(self) -> None:
        soft = [{"key": "a", "operator": "Exists", "effect": "PreferNoSchedule"}]
        hard = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
        assert evaluate(list(self.nodes), tolerations=soft).scores["TaintToleration"] == {"none": 100, "one": 100, "three": 0}
        assert evaluate(list(self.nodes), tolerations=hard).scores["TaintToleration"]["one"] == 67

    def test_only_feasible_nodes_are_compared(self) -> None:
        # Without node "three" the worst is the node with one taint.
        assert evaluate(list(self.nodes[:2])).scores["TaintToleration"] == {"none": 100, "one": 0}

    def test_it_counts_three_times(self) -> None:
        assert evaluate([node("n1")]).total == {"n1": 300}


class TestNodeAffinity:
    nodes = (node("n1", {"disk": "ssd", "zone": "east"}), node("n2", {"disk": "ssd"}), node("n3"))

    def test_weights_of_matching_preferences_add_up_relative_to_the_best_node(self) -> None:
        verdict = evaluate(list(self.nodes), affinity=node_preferences((50, "zone In east"), (25, "disk In ssd")))
        assert verdict.scores["NodeAffinity"] == {"n1": 100, "n2": 33, "n3": 0}
        assert verdict.total == {"n1": 500, "n2": 366, "n3": 300}

    def test_the_size_of_a_lone_weight_does_not_matter(self) -> None:
        for weight in (1, 100):
            assert evaluate(list(self.nodes), affinity=node_preferences((weight, "zone In east"))).scores["NodeAffinity"]["n1"] == 100

    def test_a_pod_whose_preferences_no_node_meets_is_scheduled(self) -> None:
        verdict = evaluate(list(self.nodes), affinity=node_preferences((75, "zone In west")))
        assert all(verdict.feasible.values())
        assert verdict.scores["NodeAffinity"] == {"n1": 0, "n2": 0, "n3": 0}

    def test_without_preferences_the_plugin_is_skipped_but_an_empty_list_is_not(self) -> None:
        assert "NodeAffinity" not in evaluate(list(self.nodes)).scores
        assert evaluate(list(self.nodes), affinity=node_preferences()).scores["NodeAffinity"] == {"n1": 0, "n2": 0, "n3": 0}

    def test_empty_preferences_and_weight_zero_are_dropped(self) -> None:
        verdict = evaluate(list(self.nodes), affinity=node_preferences((9, ""), (0, "zone Like east"), (1, "zone In east")))
        assert verdict.error is None
        assert verdict.scores["NodeAffinity"] == {"n1": 100, "n2": 0, "n3": 0}

    @pytest.mark.parametrize("preference", ["cores Gt eight", "cores Gt -5", "disk In not_valid!", "@metadata.name In n1,n2"])
    def test_one_preference_that_cannot_be_parsed_blocks_the_pod(self, preference: str) -> None:
        verdict = evaluate(list(self.nodes), affinity=node_preferences((1, "zone In east"), (1, preference)))
        assert verdict.error == "PreScore NodeAffinity"
        assert all(verdict.feasible.values())
        assert (verdict.scores, verdict.total) == ({}, {})

    def test_unless_a_single_node_is_feasible_for_then_nothing_is_scored(self) -> None:
        blocked = pod(affinity=node_preferences((1, "cores Gt eight")))
        assert Cluster(nodes=[node("n1")]).schedule([blocked]).placements == {"pod": "n1"}
        run = Cluster(nodes=[node("n1"), node("n2")]).schedule([blocked])
        assert (run.placements, run.unschedulable, run.errors) == ({}, {"pod": {}}, {"pod": "PreScore NodeAffinity"})
