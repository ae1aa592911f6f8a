"""PodTopologySpread: hard constraints filter, soft ones score."""

from typing import Any

import pytest

from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, app, node, node_terms, pod, spread, zoned

WEB = {"app": "web"}
THREE_ZONES = zoned(n1="a", n2="b", n3="c")


def web(*nodes: str) -> list[Object]:
    """Running pods of ``app: web``, one on each of these nodes."""
    return [pod(f"web-{index}", WEB, on=name) for index, name in enumerate(nodes)]


def allowed(nodes: list[Object], pods: list[Object], *constraints: Object, labels: dict[str, str] = WEB, **spec: Any) -> list[str]:
    return Cluster(nodes=nodes, pods=pods).feasible_nodes(pod("new", labels, topologySpreadConstraints=list(constraints), **spec))


class TestHardConstraints:
    def test_a_zone_may_be_ahead_of_the_emptiest_by_max_skew(self) -> None:
        running = web("n1", "n1", "n2", "n3")
        assert allowed(THREE_ZONES, running, spread(ZONE, app("web"), 1)) == ["n2", "n3"]
        assert allowed(THREE_ZONES, running, spread(ZONE, app("web"), 2)) == ["n1", "n2", "n3"]

    def test_a_node_without_the_key_is_rejected(self) -> None:
        verdict = Cluster(nodes=zoned(n1="a", n2="")).evaluate(pod(topologySpreadConstraints=[spread(ZONE, app("web"))]))
        assert verdict.reason == {"n2": "PodTopologySpread"}

    def test_a_key_that_no_node_has_never_schedules(self) -> None:
        assert allowed(THREE_ZONES, [], spread("topology.kubernetes.io/hostname", app("web"))) == []

    def test_with_two_constraints_a_node_that_lacks_one_key_counts_for_neither(self) -> None:
        nodes = [*zoned(n1="a", n2="b"), node("n3", {HOST: "n3"}), node("n4", {ZONE: "b"})]
        # Two pods in zone b, but on a node without a host name: zone b looks empty.
        assert allowed(nodes, web("n1", "n4", "n4"), spread(ZONE, app("web")), spread(HOST, app("web"), 5)) == ["n2"]
        assert allowed(nodes, web("n1", "n4", "n4"), spread(ZONE, app("web"))) == ["n1"]

    def test_the_empty_value_is_a_value(self) -> None:
        nodes = [node("n1", {ZONE: ""}), node("n2", {ZONE: "b"})]
        assert allowed(nodes, web("n1"), spread(ZONE, app("web"))) == ["n2"]

    def test_a_pod_that_does_not_match_its_own_selector_never_fills_a_domain(self) -> None:
        assert allowed(THREE_ZONES, web("n1"), spread(ZONE, app("web")), labels={"app": "other"}) == ["n1", "n2", "n3"]

    @pytest.mark.parametrize("selector", [None, {}])
    def test_an_absent_or_empty_selector_counts_no_pods(self, selector: Object | None) -> None:
        assert allowed(THREE_ZONES, web("n1", "n1", "n1"), spread(ZONE, selector)) == ["n1", "n2", "n3"]

    def test_but_the_empty_selector_matches_the_pod_itself(self) -> None:
        # maxSkew 0 cannot be stored; it shows that the pod counts itself under {} and not without a selector.
        assert allowed(THREE_ZONES, [], spread(ZONE, {}, 0)) == []
        assert allowed(THREE_ZONES, [], spread(ZONE, None, 0)) == ["n1", "n2", "n3"]

    def test_only_live_pods_of_the_own_namespace_count(self) -> None:
        dying = pod("dying", WEB, on="n1")
        dying["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        elsewhere = pod("elsewhere", WEB, on="n1", namespace="other")
        assert allowed(THREE_ZONES, [dying, elsewhere], spread(ZONE, app("web"))) == ["n1", "n2", "n3"]

    def test_match_label_keys_count_the_same_revision_only(self) -> None:
        running = [pod("old", {**WEB, "rev": "1"}, on="n1"), pod("new-1", {**WEB, "rev": "2"}, on="n2")]
        constraint = spread(ZONE, app("web"), matchLabelKeys=["rev", "absent"])
        assert allowed(zoned(n1="a", n2="b"), running, constraint, labels={**WEB, "rev": "2"}) == ["n1"]

    def test_fewer_domains_than_min_domains_hold_max_skew_pods_each(self) -> None:
        assert allowed(zoned(n1="a", n2="b"), web("n1", "n2"), spread(ZONE, app("web"), minDomains=3)) == []
        assert allowed(zoned(n1="a", n2="b"), web("n1", "n2"), spread(ZONE, app("web"), minDomains=2)) == ["n1", "n2"]


class TestInclusion:
    """Which nodes open a domain: an empty zone that the pod cannot use keeps the minimum at 0."""

    nodes = (*zoned(n1="a", n2="b"), node("n3", {HOST: "n3", ZONE: "c"}, taints=["t:NoSchedule"]))

    def test_tainted_nodes_count_unless_the_taints_policy_is_honor(self) -> None:
        running = web("n1", "n2")
        assert allowed(list(self.nodes), running, spread(ZONE, app("web"))) == []
        assert allowed(list(self.nodes), running, spread(ZONE, app("web"), nodeTaintsPolicy="Honor")) == ["n1", "n2"]

    def test_a_cordon_alone_is_not_looked_at(self) -> None:
        nodes = [*zoned(n1="a"), node("n2", {HOST: "n2", ZONE: "b"}, cordoned=True)]
        assert allowed(nodes, web("n1"), spread(ZONE, app("web"), nodeTaintsPolicy="Honor")) == []

    def test_nodes_outside_the_node_affinity_do_not_count_unless_the_policy_is_ignore(self) -> None:
        pinned: dict[str, Any] = {"affinity": node_terms(f"{ZONE} In a,b"), "tolerations": [{"operator": "Exists"}]}
        running = web("n1", "n2")
        assert allowed(list(self.nodes), running, spread(ZONE, app("web")), **pinned) == ["n1", "n2"]
        assert allowed(list(self.nodes), running, spread(ZONE, app("web"), nodeAffinityPolicy="Ignore"), **pinned) == []

    def test_a_node_selector_excludes_as_well(self) -> None:
        assert allowed(zoned(n1="a", n2="b"), web("n1"), spread(ZONE, app("web")), nodeSelector={ZONE: "a"}) == ["n1"]


def scores(nodes: list[Object], pods: list[Object], *constraints: Object, **more: Any) -> dict[str, int] | None:
    new = pod("new", WEB, topologySpreadConstraints=list(constraints), **more)
    return Cluster(nodes=nodes, pods=pods).evaluate(new).scores.get("PodTopologySpread")


class TestSoftConstraints:
    def test_the_emptier_the_better_and_the_worst_is_not_zero(self) -> None:
        soft = spread(ZONE, app("web"), when="ScheduleAnyway")
        # 2, 1, 0 pods times ln 5, rounded: 3, 2, 0.
        assert scores(THREE_ZONES, web("n1", "n1", "n2"), soft) == {"n1": 0, "n2": 33, "n3": 100}
        # 2, 1, 1: 3, 2, 2. The best node has the score (max + min - 2) / max = 100, the worst 2/3.
        assert scores(THREE_ZONES, web("n1", "n1", "n2", "n3"), soft) == {"n1": 66, "n2": 100, "n3": 100}

    def test_max_skew_flattens_differences(self) -> None:
        assert scores(THREE_ZONES, web("n1", "n1"), spread(ZONE, app("web"), 8, "ScheduleAnyway")) == {"n1": 70, "n2": 100, "n3": 100}

    def test_nothing_counted_is_100_for_all(self) -> None:
        assert scores(THREE_ZONES, [], spread(ZONE, app("web"), when="ScheduleAnyway")) == {"n1": 100, "n2": 100, "n3": 100}

    def test_a_node_that_lacks_a_key_scores_0(self) -> None:
        assert scores(zoned(n1="a", n2=""), [], spread(ZONE, app("web"), when="ScheduleAnyway")) == {"n1": 100, "n2": 0}
        assert scores(THREE_ZONES, [], spread("no/such", app("web"), when="ScheduleAnyway")) == {"n1": 0, "n2": 0, "n3": 0}

    def test_pods_on_infeasible_nodes_of_a_zone_count(self) -> None:
        nodes = [*zoned(n1="a", n2="b"), node("n3", {HOST: "n3", ZONE: "a"}, cordoned=True)]
        assert scores(nodes, web("n3"), spread(ZONE, app("web"), when="ScheduleAnyway")) == {"n1": 0, "n2": 100}
        assert scores(nodes, web("n3"), spread(HOST, app("web"), when="ScheduleAnyway")) == {"n1": 100, "n2": 100}

    def test_sums_are_rounded_half_up(self) -> None:
        # 4 and 1 pods times ln 4: 5.55 is 6 and 1.39 is 1.
        soft = spread(ZONE, app("web"), when="ScheduleAnyway")
        assert scores(zoned(n1="a", n2="b"), web("n1", "n1", "n1", "n1", "n2"), soft) == {"n1": 16, "n2": 100}

    def test_pods_on_nodes_that_the_policies_leave_out_do_not_count(self) -> None:
        nodes = [*zoned(n1="a", n2="b"), node("n3", {HOST: "n3", ZONE: "a"}, taints=["t:NoSchedule"])]
        honor = spread(ZONE, app("web"), when="ScheduleAnyway", nodeTaintsPolicy="Honor")
        assert scores(nodes, web("n3"), honor) == {"n1": 100, "n2": 100}

    def test_pods_on_nodes_that_lack_another_soft_key_do_not_count(self) -> None:
        nodes = [*zoned(n1="a", n2="b"), node("n3", {ZONE: "a"})]
        both = (spread(ZONE, app("web"), when="ScheduleAnyway"), spread(HOST, app("web"), when="ScheduleAnyway"))
        assert scores(nodes, web("n3"), *both) == {"n1": 100, "n2": 100, "n3": 0}

    def test_host_names_count_as_nodes_even_where_two_share_one(self) -> None:
        twins = [node("n1", {HOST: "same"}), node("n2", {HOST: "same"})]
        assert scores(twins, web("n1"), spread(HOST, app("web"), when="ScheduleAnyway")) == {"n1": 0, "n2": 100}

    def test_hard_and_soft_constraints_know_nothing_of_each_other(self) -> None:
        nodes = zoned(n1="a", n2="")
        assert scores(nodes, [], spread(HOST, app("web")), spread(HOST, app("web"), when="ScheduleAnyway")) == {"n1": 100, "n2": 100}
        assert scores(nodes, [], spread(HOST, app("web"))) is None


SERVICE = {"metadata": {"name": "web"}, "spec": {"selector": WEB}}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
REPLICA_SET = {"metadata": {"name": "web-1"}, "spec": {"selector": {"matchLabels": {**WEB, "rev": "1"}}}}


class TestSystemDefaults:
    def scores(self, new: Object, nodes: list[Object] = THREE_ZONES, **more: Any) -> dict[str, int] | None:
        return Cluster(nodes=nodes, pods=web("n1", "n1", "n1"), **more).evaluate(new).scores.get("PodTopologySpread")

    def owned(self, labels: dict[str, str], **changes: Any) -> Object:
        new = pod("new", labels)
        new["metadata"]["ownerReferences"] = [{**OWNER, **changes}]
        return new

    def test_pods_of_a_service_are_spread_over_hosts_and_zones(self) -> None:
        # n1: 3 ln 5 + 2 for the host, 3 ln 5 + 4 for the zone: 16; elsewhere 6.
        assert self.scores(pod("new", WEB), services=[SERVICE]) == {"n1": 37, "n2": 100, "n3": 100}

    def test_a_node_without_a_zone_is_rated_by_its_host_alone(self) -> None:
        found = self.scores(pod("new", WEB), [*THREE_ZONES, node("n4", {HOST: "n4"})], services=[SERVICE])
        assert found is not None
        assert found["n4"] > found["n2"]

    def test_before_the_first_pod_a_node_without_a_zone_is_better_by_the_skew_of_zones(self) -> None:
        """Each constraint adds maxSkew - 1 to a node: 2 for the host, 4 for the zone. The lowest sum is the best."""
        nodes = [*zoned(n1="a"), node("n4", {HOST: "n4"})]
        found = Cluster(nodes=nodes, services=[SERVICE]).evaluate(pod("new", WEB)).scores["PodTopologySpread"]
        assert found == {"n1": 33, "n4": 100}

    def test_services_of_other_pods_and_namespaces_are_nothing_to_it(self) -> None:
        assert self.scores(pod("new", {"app": "db"}), services=[SERVICE]) is None
        assert self.scores(pod("new", WEB, namespace="other"), services=[SERVICE]) is None
        assert self.scores(pod("new", WEB), services=[{"metadata": {"name": "headless"}, "spec": {"selector": None}}]) is None

    def test_own_constraints_switch_the_defaults_off(self) -> None:
        new = pod("new", WEB, topologySpreadConstraints=[spread(ZONE, app("web"), 9)])
        assert self.scores(new, services=[SERVICE]) is None

    def test_the_owner_counts_when_it_is_a_replica_set_stateful_set_or_replication_controller(self) -> None:
        labels = {**WEB, "rev": "1"}
        flat = {"n1": 100, "n2": 100, "n3": 100}  # the running pods are of no revision
        assert self.scores(self.owned(labels), replica_sets=[REPLICA_SET]) == flat
        assert self.scores(self.owned(labels, kind="StatefulSet"), stateful_sets=[REPLICA_SET]) == flat
        controller = {"metadata": {"name": "web-1"}, "spec": {"selector": WEB}}
        by_app = {"n1": 37, "n2": 100, "n3": 100}
        assert (
            self.scores(self.owned(labels, apiVersion="v1", kind="ReplicationController"), replication_controllers=[controller]) == by_app
        )

    def test_any_other_owner_does_not(self) -> None:
        for changes in ({"kind": "Job", "apiVersion": "batch/v1"}, {"apiVersion": "apps/v1beta1"}, {"controller": False}, {"name": "gone"}):
            assert self.scores(self.owned(WEB, **changes), replica_sets=[REPLICA_SET]) is None


def test_a_selector_that_cannot_be_parsed_makes_the_scheduler_fail() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "In"}]}
    cluster = Cluster(nodes=THREE_ZONES)
    hard = cluster.evaluate(pod(topologySpreadConstraints=[spread(ZONE, broken)]))
    assert hard == ({}, {}, {}, {}, "PreFilter PodTopologySpread")
    soft = cluster.evaluate(pod(topologySpreadConstraints=[spread(ZONE, broken, when="ScheduleAnyway")]))
    assert (soft.feasible, soft.error) == ({"n1": True, "n2": True, "n3": True}, "PreScore PodTopologySpread")
