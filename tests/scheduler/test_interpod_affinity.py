"""InterPodAffinity: required terms filter in both directions, preferred ones score."""

from typing import Any

import pytest

from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, REQUIRED, ZONE, Object, apart, app, expression, namespace, node, pod, rather, term, together, zoned

NODES = zoned(n1="a", n2="a", n3="b", n4="")
BROKEN = {"matchExpressions": [{"key": "app", "operator": "In"}]}


def allowed(pods: list[Object], new: Object, nodes: list[Object] = NODES, **more: Any) -> list[str]:
    return Cluster(nodes=nodes, pods=pods, **more).feasible_nodes(new)


def scores(pods: list[Object], new: Object, nodes: list[Object] = NODES, **more: Any) -> dict[str, int] | None:
    return Cluster(nodes=nodes, pods=pods, **more).evaluate(new).scores.get("InterPodAffinity")


class TestRequiredAffinity:
    def test_the_topology_value_must_hold_a_matching_pod(self) -> None:
        running = [pod("db", {"app": "db"}, on="n1")]
        assert allowed(running, pod(affinity=together(term(ZONE, app("db"))))) == ["n1", "n2"]
        assert allowed(running, pod(affinity=together(term(HOST, app("db"))))) == ["n1"]

    def test_all_terms_must_be_met_by_one_pod(self) -> None:
        both = together(term(ZONE, app("db")), term(HOST, {"matchLabels": {"tier": "back"}}))
        apart_from_each_other = [pod("x", {"app": "db"}, on="n1"), pod("y", {"tier": "back"}, on="n1")]
        assert allowed(apart_from_each_other, pod(affinity=both)) == []
        assert allowed([pod("x", {"app": "db", "tier": "back"}, on="n1")], pod(affinity=both)) == ["n1"]

    def test_the_first_pod_of_a_group_may_go_where_the_keys_are(self) -> None:
        new = pod("web-0", {"app": "web"}, affinity=together(term(ZONE, app("web"))))
        assert allowed([], new) == ["n1", "n2", "n3"]

    def test_but_only_if_it_carries_the_labels_itself(self) -> None:
        assert allowed([], pod("web-0", {"app": "other"}, affinity=together(term(ZONE, app("web"))))) == []

    def test_and_only_while_no_match_is_known(self) -> None:
        new = pod("web-1", {"app": "web"}, affinity=together(term(ZONE, app("web"))))
        assert allowed([pod("web-0", {"app": "web"}, on="n3")], new) == ["n3"]
        # A matching pod on a node without the key is not known to be anywhere.
        assert allowed([pod("web-0", {"app": "web"}, on="n4")], new) == ["n1", "n2", "n3"]

    def test_and_in_a_namespace_that_the_term_covers(self) -> None:
        elsewhere = together(term(ZONE, app("web"), namespaces=["other"]))
        assert allowed([], pod("web-0", {"app": "web"}, affinity=elsewhere)) == []

    def test_a_key_that_no_node_has_never_schedules(self) -> None:
        new = pod("web-0", {"app": "web"}, affinity=together(term("topology.kubernetes.io/hostname", app("web"))))
        assert allowed([], new) == []


class TestRequiredAntiAffinity:
    running = (pod("web-0", {"app": "web"}, on="n1"),)

    def test_keeps_away_from_the_whole_topology_value(self) -> None:
        assert allowed(list(self.running), pod(affinity=apart(term(ZONE, app("web"))))) == ["n3", "n4"]
        assert allowed(list(self.running), pod(affinity=apart(term(HOST, app("web"))))) == ["n2", "n3", "n4"]

    def test_does_nothing_on_nodes_without_the_key(self) -> None:
        crowd = [pod(f"web-{index}", {"app": "web"}, on="n4") for index in range(3)]
        assert allowed(crowd, pod(affinity=apart(term(ZONE, app("web"))))) == ["n1", "n2", "n3", "n4"]

    def test_is_symmetric(self) -> None:
        loner = pod("loner", {"app": "loner"}, on="n1", affinity=apart(term(ZONE, app("web"))))
        cluster = Cluster(nodes=NODES, pods=[loner])
        assert cluster.evaluate(pod("web", {"app": "web"})).reason == {"n1": "InterPodAffinity", "n2": "InterPodAffinity"}
        assert cluster.feasible_nodes(pod("db", {"app": "db"})) == ["n1", "n2", "n3", "n4"]

    @pytest.mark.parametrize("selector, feasible", [(None, ["n1", "n2", "n3", "n4"]), ({}, ["n2", "n3", "n4"])])
    def test_an_absent_selector_matches_no_pod_and_an_empty_one_every_pod(self, selector: Object | None, feasible: list[str]) -> None:
        assert allowed(list(self.running), pod(affinity=apart(term(HOST, selector)))) == feasible

    def test_pods_being_deleted_still_keep_others_away_and_finished_ones_do_not(self) -> None:
        dying, done = pod("dying", {"app": "web"}, on="n1"), pod("done", {"app": "web"}, on="n3")
        dying["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        done["status"] = {"phase": "Succeeded"}
        assert allowed([dying, done], pod(affinity=apart(term(HOST, app("web"))))) == ["n2", "n3", "n4"]


class TestNamespaces:
    spaces = (namespace("prod", env="prod"), namespace("test", env="test"), namespace("default"))

    def reached(self, **term_fields: Any) -> list[str]:
        """The namespaces in which a pod's term finds the pods: one runs in each, each on a node of its own."""
        names = ["default", "prod", "test", "unknown"]
        nodes = [node(name, {HOST: name}) for name in names]
        running = [pod("web", {"app": "web"}, on=name, namespace=name) for name in names]
        new = pod("new", affinity=together(term(HOST, app("web"), **term_fields)))
        return allowed(running, new, nodes, namespaces=list(self.spaces))

    @pytest.mark.parametrize(
        "fields, expected",
        [
            ({}, ["default"]),
            ({"namespaces": []}, ["default"]),
            ({"namespaces": ["prod"]}, ["prod"]),
            ({"namespaceSelector": {}}, ["default", "prod", "test", "unknown"]),
            ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, ["prod"]),
            ({"namespaceSelector": {"matchLabels": {"env": "none"}}}, []),
            ({"namespaceSelector": {"matchLabels": {"env": "prod"}}, "namespaces": ["unknown"]}, ["prod", "unknown"]),
            ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "test"}}}, ["test"]),
            # A negative selector chooses among the known namespaces, and not more.
            ({"namespaceSelector": {"matchExpressions": [expression("env NotIn prod")]}}, ["default", "test"]),
            ({"namespaceSelector": {"matchExpressions": [expression("env DoesNotExist")]}}, ["default"]),
        ],
    )
    def test_which_namespaces_a_term_covers(self, fields: Object, expected: list[str]) -> None:
        assert self.reached(**fields) == expected

    @pytest.mark.parametrize(
        "fields, incoming, kept_away",
        [
            ({}, "default", False),
            ({}, "prod", True),  # the term's own namespace is that of the pod that carries it
            ({"namespaceSelector": {"matchLabels": {"env": "test"}}}, "test", True),
            ({"namespaceSelector": {"matchLabels": {"env": "test"}}}, "unknown", False),
            ({"namespaceSelector": {"matchExpressions": [expression("env NotIn prod")]}}, "unknown", True),  # unknown: no labels
            ({"namespaceSelector": {"matchExpressions": [expression("env NotIn prod")]}}, "prod", False),
        ],
    )
    def test_terms_of_running_pods_look_at_the_labels_of_the_newcomers_namespace(
        self, fields: Object, incoming: str, kept_away: bool
    ) -> None:
        guard = pod("guard", on="n1", namespace="prod", affinity=apart(term(HOST, app("web"), **fields)))
        new = pod("new", {"app": "web"}, namespace=incoming)
        assert (allowed([guard], new, zoned(n1="a"), namespaces=list(self.spaces)) == []) is kept_away


class TestLabelKeys:
    def test_match_label_keys_narrow_a_term_to_the_own_revision(self) -> None:
        running = [pod("old", {"app": "web", "rev": "1"}, on="n1")]
        new = pod("new", {"app": "web", "rev": "2"}, affinity=apart(term(HOST, app("web"), matchLabelKeys=["rev", "absent"])))
        assert allowed(running, new, zoned(n1="a")) == ["n1"]

    def test_mismatch_label_keys_also_select_pods_without_the_label(self) -> None:
        running = [pod("same", {"tenant": "t1"}, on="n1"), pod("other", {"tenant": "t2"}, on="n2"), pod("none", {}, on="n3")]
        new = pod("new", {"tenant": "t1"}, affinity=apart(term(HOST, {}, mismatchLabelKeys=["tenant"])))
        assert allowed(running, new) == ["n1", "n4"]

    def test_keys_without_a_selector_change_nothing(self) -> None:
        new = pod("new", {"rev": "2"}, affinity=apart(term(HOST, None, matchLabelKeys=["rev"])))
        assert allowed([pod("x", {"rev": "2"}, on="n1")], new, zoned(n1="a")) == ["n1"]


class TestScores:
    def test_weights_add_up_per_topology_value_and_are_stretched_to_100(self) -> None:
        running = [pod("a", {"app": "db"}, on="n1"), pod("b", {"app": "db"}, on="n3"), pod("c", {"app": "db"}, on="n3")]
        drawn = pod(affinity=rather("podAffinity", (10, term(ZONE, app("db")))))
        assert scores(running, drawn) == {"n1": 50, "n2": 50, "n3": 100, "n4": 0}
        repelled = pod(affinity=rather("podAntiAffinity", (10, term(ZONE, app("db")))))
        # A node without the key has nothing against the pod, so it is the best.
        assert scores(running, repelled) == {"n1": 50, "n2": 50, "n3": 0, "n4": 100}

    def test_fractions_are_lost_where_the_scheduler_loses_them(self) -> None:
        running = [pod("x", {"app": "x"}, on="n1"), pod("y", {"app": "y"}, on="n2")]
        new = pod(affinity=rather("podAffinity", (29, term(HOST, app("x"))), (100, term(HOST, app("y")))))
        assert scores(running, new) == {"n1": 28, "n2": 100, "n3": 0, "n4": 0}

    def test_required_affinity_of_a_running_pod_draws_by_one(self) -> None:
        fan = pod("fan", {"app": "fan"}, on="n3", affinity=together(term(ZONE, app("web"))))
        assert scores([fan], pod("web", {"app": "web"})) == {"n1": 0, "n2": 0, "n3": 100, "n4": 0}

    def test_preferences_of_running_pods_count_as_well(self) -> None:
        shy = pod("shy", on="n1", affinity=rather("podAntiAffinity", (1, term(ZONE, app("web")))))
        assert scores([shy], pod("web", {"app": "web"})) == {"n1": 0, "n2": 0, "n3": 100, "n4": 100}

    def test_it_is_skipped_when_nothing_applies_but_not_when_sums_are_zero(self) -> None:
        assert scores([pod("x", {"app": "x"}, on="n1")], pod(affinity=rather("podAffinity", (1, term(ZONE, app("y")))))) is None
        both = {**rather("podAffinity", (5, term(ZONE, app("x")))), **rather("podAntiAffinity", (5, term(ZONE, app("x"))))}
        assert scores([pod("x", {"app": "x"}, on="n1")], pod(affinity=both)) == {"n1": 0, "n2": 0, "n3": 0, "n4": 0}

    def test_required_terms_of_the_newcomer_do_not_score(self) -> None:
        assert scores([pod("x", {"app": "x"}, on="n1")], pod(affinity=together(term(ZONE, app("x"))))) is None


class TestSelectorsThatCannotBeParsed:
    @pytest.mark.parametrize(
        "affinity", [together(term(ZONE, BROKEN)), apart(term(ZONE, BROKEN)), rather("podAffinity", (1, term(ZONE, BROKEN)))]
    )
    def test_in_the_newcomer_they_reject_every_node(self, affinity: Object) -> None:
        verdict = Cluster(nodes=NODES).evaluate(pod(affinity=affinity, nodeSelector={ZONE: "a"}))
        assert verdict.reason == dict.fromkeys(("n1", "n2", "n3", "n4"), "InterPodAffinity")

    def test_in_a_running_pod_they_silence_the_list_they_are_in(self) -> None:
        guard = pod("guard", on="n1", affinity={"podAntiAffinity": {REQUIRED: [term(HOST, app("web")), term(ZONE, BROKEN)]}})
        assert allowed([guard], pod("web", {"app": "web"}), zoned(n1="a")) == ["n1"]
