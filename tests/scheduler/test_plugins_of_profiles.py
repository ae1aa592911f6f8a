"""Profiles of kube-scheduler: disabled and weighted plugins, and the arguments of plugins, as a KubeSchedulerConfiguration sets them."""

from typing import Any, ClassVar

import pytest

from afflint.placement.rejections import Rejections
from afflint.scheduler.cluster import Cluster, Verdict
from afflint.scheduler.configuration import profile_names, read_profiles
from afflint.scheduler.plugins import VOLUME_FILTERS
from afflint.scheduler.profile import Profile
from cluster_objects import (
    HOST,
    PREFERRED,
    REQUIRED,
    ZONE,
    Object,
    apart,
    app,
    node,
    node_preferences,
    node_term,
    pod,
    spread,
    term,
    together,
    zoned,
)

DEFAULT = "default-scheduler"
WEB = {"app": "web"}


def profile(*, plugins: Object | None = None, extenders: list[Object] | None = None, **arguments: Any) -> Profile:
    """Read the only profile of a configuration; ``arguments`` are the ``args`` of plugins by name."""
    listed = [{"name": name, "args": args} for name, args in arguments.items()]
    return read_profiles({"profiles": [{"plugins": plugins or {}, "pluginConfig": listed}], "extenders": extenders or []})[DEFAULT]


def verdict(nodes: list[Object], wanted: Object, chosen: Profile, *running: Object, resources: bool = False, **more: Any) -> Verdict:
    return Cluster(nodes, running, profiles={chosen.name: chosen}, resources=resources, **more).evaluate(wanted)


def without(point: str, *names: str) -> Object:
    return {point: {"disabled": [{"name": name} for name in names]}}


class TestNames:
    def test_a_single_profile_is_that_of_the_default_scheduler(self) -> None:
        assert profile_names({}) == [DEFAULT]
        assert profile_names({"profiles": [{"plugins": {}}]}) == [DEFAULT]

    def test_several_profiles_need_names(self) -> None:
        assert profile_names({"profiles": [{}, {"schedulerName": "packing"}]}) == ["packing"]

    @pytest.mark.parametrize("data", [{"profiles": 7}, {"profiles": [None]}, {"profiles": {"schedulerName": "a"}}])
    def test_other_types_are_not_profiles(self, data: Object) -> None:
        assert profile_names(data) == [DEFAULT]


class TestUnknownSchedulers:
    def test_a_pod_of_an_unknown_scheduler_is_scheduled_nowhere(self) -> None:
        found = Cluster(zoned(n1="a")).evaluate(pod(schedulerName="volcano"))
        assert (found.feasible, found.reason) == ({"n1": False}, {"n1": "UnknownProfile"})

    def test_it_counts_for_the_pods_of_others_where_it_runs(self) -> None:
        running = pod("web-0", WEB, on="n1", schedulerName="volcano")
        assert Cluster(zoned(n1="a", n2="a"), [running]).feasible_nodes(pod("web-1", affinity=apart(term(HOST, app("web"))))) == ["n2"]

    def test_a_known_profile_decides_about_its_own_pods_only(self) -> None:
        chosen = read_profiles({"profiles": [{"schedulerName": "packing"}]})["packing"]
        cluster = Cluster(zoned(n1="a"), profiles={"packing": chosen})
        assert cluster.feasible_nodes(pod(schedulerName="packing")) == ["n1"]
        assert cluster.feasible_nodes(pod(schedulerName="volcano")) == []
        assert cluster.feasible_nodes(pod()) == ["n1"]


class TestFilters:
    TAINTED = (node("n1", {HOST: "n1"}, taints=["dedicated:NoSchedule"]), node("n2", {HOST: "n2"}, cordoned=True))

    def test_the_default_profile(self) -> None:
        assert verdict([*self.TAINTED], pod(), profile()).reason == {"n1": "TaintToleration", "n2": "NodeUnschedulable"}

    @pytest.mark.parametrize("point", ["filter", "multiPoint"])
    def test_a_disabled_plugin_does_not_reject(self, point: str) -> None:
        chosen = profile(plugins=without(point, "TaintToleration"))
        assert verdict([*self.TAINTED], pod(), chosen).feasible == {"n1": True, "n2": False}

    def test_all_plugins_of_an_extension_point_can_be_disabled_but_some(self) -> None:
        volumes = [{"name": name} for name in VOLUME_FILTERS]
        off, on = {"disabled": [{"name": "*"}]}, {"enabled": [{"name": "NodeUnschedulable"}, *volumes]}
        chosen = profile(plugins={"filter": {**off, **on}, "preFilter": {**off, "enabled": volumes}})
        assert verdict([*self.TAINTED], pod(nodeSelector={"disk": "ssd"}), chosen).reason == {"n2": "NodeUnschedulable"}

    def test_volumes_without_their_filters_are_not_simulated(self) -> None:
        chosen = profile(plugins=without("multiPoint", "VolumeBinding", "VolumeZone"))
        assert chosen.unknown == "profile default-scheduler disables the plugins VolumeBinding and VolumeZone"

    def test_spread_constraints(self) -> None:
        wanted = pod("web-1", WEB, topologySpreadConstraints=[spread(ZONE, app("web"))])
        running = pod("web-0", WEB, on="n1")
        assert verdict(zoned(n1="a", n2="b"), wanted, profile(), running).feasible == {"n1": False, "n2": True}
        chosen = profile(plugins={**without("filter", "PodTopologySpread"), **without("preFilter", "PodTopologySpread")})
        assert verdict(zoned(n1="a", n2="b"), wanted, chosen, running).feasible == {"n1": True, "n2": True}

    def test_affinity_between_pods(self) -> None:
        chosen = profile(plugins=without("multiPoint", "InterPodAffinity"))
        running = pod("web-0", WEB, on="n1")
        assert verdict(zoned(n1="a"), pod("web-1", WEB, affinity=apart(term(HOST, app("web")))), chosen, running).feasible == {"n1": True}

    def test_a_filter_without_its_pre_filter_fails(self) -> None:
        chosen = profile(plugins=without("preFilter", "PodTopologySpread"))
        assert chosen.unknown == "profile default-scheduler disables PodTopologySpread in preFilter, but not in filter"

    def test_nothing_is_proved_with_a_disabled_filter(self) -> None:
        assert profile().proves
        assert not profile(plugins=without("multiPoint", "TaintToleration")).proves


class TestAddedAffinity:
    NODES = (node("n1", {"pool": "general"}), node("n2", {"pool": "gpu"}), node("n3"))
    GENERAL: ClassVar[Object] = {REQUIRED: {"nodeSelectorTerms": [node_term("pool In general")]}}

    def test_it_is_required_in_addition_to_that_of_the_pod(self) -> None:
        chosen = profile(NodeAffinity={"addedAffinity": self.GENERAL})
        assert verdict([*self.NODES], pod(), chosen).feasible == {"n1": True, "n2": False, "n3": False}
        assert verdict([*self.NODES], pod(nodeSelector={"pool": "gpu"}), chosen).feasible == {"n1": False, "n2": False, "n3": False}

    def test_the_reason_names_it(self) -> None:
        chosen = profile(NodeAffinity={"addedAffinity": self.GENERAL})
        cluster = Cluster(self.NODES, profiles={DEFAULT: chosen})
        rejections = Rejections(cluster, cluster.read(pod()))
        assert rejections.phrase("n2", "NodeAffinity").one == "has pool=gpu, not general (required by the scheduler's addedAffinity)"
        assert rejections.phrase("n3", "NodeAffinity").one == "lacks pool=general (required by the scheduler's addedAffinity)"

    def test_a_spread_constraint_counts_the_nodes_that_only_the_scheduler_excludes(self) -> None:
        nodes = [node("n1", {ZONE: "a", "pool": "general"}), node("n2", {ZONE: "b", "pool": "gpu"})]
        chosen = profile(NodeAffinity={"addedAffinity": self.GENERAL})
        wanted = pod("web-1", WEB, topologySpreadConstraints=[spread(ZONE, app("web"))])
        assert verdict(nodes, wanted, chosen, pod("web-0", WEB, on="n1")).reason == {"n1": "PodTopologySpread", "n2": "NodeAffinity"}

    def test_its_preferences_count_with_those_of_the_pod(self) -> None:
        preferred = [{"weight": 50, "preference": node_term("pool In gpu")}]
        chosen = profile(NodeAffinity={"addedAffinity": {PREFERRED: preferred}})
        scores = verdict([*self.NODES], pod(affinity=node_preferences((100, "pool In general"))), chosen).scores
        assert scores["NodeAffinity"] == {"n1": 100, "n2": 50, "n3": 0}

    def test_an_invalid_term_keeps_the_scheduler_from_starting(self) -> None:
        chosen = profile(NodeAffinity={"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [node_term("pool Inn general")]}}})
        assert chosen.unknown.startswith("the configuration of the scheduler default-scheduler is invalid: addedAffinity.")


class TestDefaultConstraints:
    SERVICE: ClassVar[Object] = {"metadata": {"name": "web"}, "spec": {"selector": WEB}}

    @staticmethod
    def spreading(*constraints: Object) -> Profile:
        return profile(PodTopologySpread={"defaultingType": "List", "defaultConstraints": list(constraints)})

    def test_required_ones_apply_to_pods_without_any(self) -> None:
        chosen, running = self.spreading(spread(ZONE, None)), pod("web-0", WEB, on="n1")
        nodes = zoned(n1="a", n2="b")
        assert verdict(nodes, pod("web-1", WEB), chosen, running, services=[self.SERVICE]).feasible == {"n1": False, "n2": True}
        own = pod("web-1", WEB, topologySpreadConstraints=[spread(ZONE, app("web"), 5)])
        assert verdict(nodes, own, chosen, running, services=[self.SERVICE]).feasible == {"n1": True, "n2": True}

    def test_without_a_service_or_an_owner_there_are_none(self) -> None:
        assert (
            verdict(zoned(n1="a", n2="b"), pod("web-1", WEB), self.spreading(spread(ZONE, None)), pod("web-0", WEB, on="n1")).reason == {}
        )

    def test_preferred_ones_replace_those_of_the_system(self) -> None:
        chosen = self.spreading(spread(ZONE, None, when="ScheduleAnyway"))
        nodes, running = zoned(n1="a", n2="a", n3="b", n4=""), pod("web-0", WEB, on="n1")
        scores = verdict(nodes, pod("web-1", WEB), chosen, running, services=[self.SERVICE]).scores
        # The system defaults would prefer n2 to n1. Nodes without the label score 0 now.
        assert scores["PodTopologySpread"] == {"n1": 0, "n2": 0, "n3": 100, "n4": 0}

    def test_an_empty_list_turns_them_off(self) -> None:
        found = verdict(zoned(n1="a"), pod("web-1", WEB), self.spreading(), services=[self.SERVICE])
        assert "PodTopologySpread" not in found.scores

    def test_the_reason_names_the_scheduler(self) -> None:
        chosen = self.spreading(spread(ZONE, None))
        cluster = Cluster(zoned(n1="a", n2="b"), [pod("web-0", WEB, on="n1")], services=[self.SERVICE], profiles={DEFAULT: chosen})
        why = Rejections(cluster, cluster.read(pod("web-1", WEB))).phrase("n1", "PodTopologySpread").one
        assert why == "zone a has 1 of its pods, zone b has 0 (maxSkew 1 in the scheduler's defaultConstraints)"

    @pytest.mark.parametrize(
        "arguments",
        [
            {"defaultConstraints": [spread(ZONE, None)]},
            {"defaultingType": "List", "defaultConstraints": [spread("", None)]},
            {"defaultingType": "List", "defaultConstraints": [spread(ZONE, None, when="Never")]},
        ],
    )
    def test_invalid_ones_keep_the_scheduler_from_starting(self, arguments: Object) -> None:
        assert "is invalid: defaultConstraints" in profile(PodTopologySpread=arguments).unknown


class TestScores:
    def test_a_weight_replaces_the_default(self) -> None:
        assert profile(plugins={"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}).weights == {
            "TaintToleration": 3, "NodeAffinity": 7, "NodeResourcesFit": 1, "VolumeBinding": 1, "PodTopologySpread": 2,
            "InterPodAffinity": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
        }  # fmt: skip

    def test_a_plugin_without_a_weight_has_weight_1(self) -> None:
        for point in ("score", "multiPoint"):
            weights = profile(plugins={point: {"enabled": [{"name": "TaintToleration"}]}}).weights
            assert weights is not None
            assert weights["TaintToleration"] == 1

    def test_that_of_the_extension_point_comes_first(self) -> None:
        plugins = {name: {"enabled": [{"name": "NodeAffinity", "weight": weight}]} for name, weight in (("multiPoint", 4), ("score", 9))}
        weights = profile(plugins=plugins).weights
        assert weights is not None
        assert weights["NodeAffinity"] == 9

    def test_weights_multiply_the_scores(self) -> None:
        nodes, wanted = (
            [node("n1", {"disk": "ssd"}), node("n2", taints=["old:PreferNoSchedule"])],
            pod(affinity=node_preferences((1, "disk In ssd"))),
        )
        chosen = profile(plugins={"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}})
        assert verdict(nodes, wanted, chosen).total == {"n1": 3 * 100 + 7 * 100, "n2": 0}

    def test_no_scores_at_all(self) -> None:
        chosen = profile(plugins={**without("score", "*"), **without("preScore", "*")})
        found = verdict(zoned(n1="a", n2="b"), pod(affinity=node_preferences((1, "disk In ssd"))), chosen)
        assert (found.scores, found.total, chosen.unknown) == ({}, {"n1": 0, "n2": 0}, "")

    def test_running_pods_draw_others_by_the_weight_of_their_required_affinity(self) -> None:
        running = [pod("db-0", on="n1", affinity=together(term(HOST, app("web"))))]
        preferring = pod("web-0", WEB, affinity={"podAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": term(HOST, app("cache"))}]}})
        cache = pod("cache-0", {"app": "cache"}, on="n2")
        for weight, scores in ((None, (20, 100, 0)), (0, (0, 100, 0)), (10, (100, 50, 0))):
            chosen = profile(InterPodAffinity={} if weight is None else {"hardPodAffinityWeight": weight})
            found = verdict(zoned(n1="a", n2="b", n3="c"), preferring, chosen, *running, cache).scores["InterPodAffinity"]
            assert tuple(found.values()) == scores

    def test_preferences_of_running_pods_can_be_ignored(self) -> None:
        running = pod("db-0", on="n1", affinity=together(term(HOST, app("web"))))
        chosen = profile(InterPodAffinity={"ignorePreferredTermsOfExistingPods": True})
        assert "InterPodAffinity" not in verdict(zoned(n1="a", n2="b"), pod("web-0", WEB), chosen, running).scores
        assert "InterPodAffinity" in verdict(zoned(n1="a", n2="b"), pod("web-0", WEB), profile(), running).scores


def having(name: str, **allocatable: Any) -> Object:
    return {**node(name, {HOST: name}), "status": {"allocatable": {each.replace("_", "-"): amount for each, amount in allocatable.items()}}}


def asking(name: str = "pod", *, on: str = "", **requests: Any) -> Object:
    return pod(name, on=on, containers=[{"name": "main", "resources": {"requests": requests}}])


class TestOrder:
    """A default plugin that is disabled and enabled again runs last, one that its extension point lists again runs first."""

    TAINTED = node("n1", {HOST: "n1"}, taints=["sla=gold:NoSchedule"])
    WANTED = pod("web-0", WEB, nodeSelector={"pool": "a"})

    def reason(self, plugins: Object) -> str:
        return verdict([self.TAINTED], self.WANTED, profile(plugins=plugins)).reason["n1"]

    def test_the_default_order(self) -> None:
        assert self.reason({}) == "TaintToleration"

    def test_enabled_again(self) -> None:
        again = [{"name": "TaintToleration"}]
        assert self.reason({"multiPoint": {"disabled": again, "enabled": again}}) == "NodeAffinity"

    def test_listed_again(self) -> None:
        assert self.reason({"filter": {"enabled": [{"name": "NodeAffinity"}]}}) == "NodeAffinity"

    def test_a_plugin_that_does_not_score_may_fail_before_the_scores(self) -> None:
        wanted = pod("web-0", WEB, affinity=node_preferences((5, "cpus Gt eight")))
        nodes = [node("n1", {HOST: "n1"}), node("n2", {HOST: "n2"})]
        assert verdict(nodes, wanted, profile(plugins=without("score", "NodeAffinity"))).error == "PreScore NodeAffinity"
        assert verdict(nodes, wanted, profile(plugins=without("multiPoint", "NodeAffinity"))).error is None


class TestResources:
    NODES = (having("n1", cpu="4", memory="8Gi", pods=10), having("n2", cpu="4", memory="8Gi", pods=10))

    def scores(self, wanted: Object, *running: Object, **arguments: Any) -> dict[str, int]:
        return verdict([*self.NODES], wanted, profile(**arguments), *running, resources=True).scores["NodeResourcesFit"]

    def test_most_allocated(self) -> None:
        running = asking("old", on="n1", cpu="2", memory="4Gi")
        wanted = asking(cpu="1", memory="2Gi")
        assert self.scores(wanted, running) == {"n1": 25, "n2": 75}
        assert self.scores(wanted, running, NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated"}}) == {"n1": 75, "n2": 25}

    def test_weights_of_resources(self) -> None:
        strategy = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]}
        assert self.scores(asking(cpu="4", memory="2Gi"), NodeResourcesFit={"scoringStrategy": strategy}) == {"n1": 18, "n2": 18}

    def test_the_ratio_of_requests_to_capacity(self) -> None:
        shape = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}, {"utilization": 100, "score": 4}]
        strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}, "resources": [{"name": "cpu"}]}
        running = asking("old", on="n1", cpu="2")
        # 25 % lies between 0 and 100 points, 75 % between 100 and 40.
        assert self.scores(asking(cpu="1"), running, NodeResourcesFit={"scoringStrategy": strategy}) == {"n1": 70, "n2": 50}

    def test_an_extended_resource(self) -> None:
        nodes = [
            having("n1", cpu="4", memory="8Gi", pods=10, **{"example.com/gpu": 4}),
            having("n2", cpu="4", memory="8Gi", pods=10, **{"example.com/gpu": 8}),
        ]
        strategy = {"type": "MostAllocated", "resources": [{"name": "example.com/gpu", "weight": 1}]}
        chosen = profile(NodeResourcesFit={"scoringStrategy": strategy})
        wanted = asking(cpu="1", **{"example.com/gpu": "2"})
        assert verdict(nodes, wanted, chosen, resources=True).scores["NodeResourcesFit"] == {"n1": 50, "n2": 25}
        assert verdict(nodes, asking(cpu="1"), chosen, resources=True).scores["NodeResourcesFit"] == {"n1": 0, "n2": 0}

    def test_balance_over_three_resources(self) -> None:
        nodes = [having("n1", cpu="4", memory="8Gi", pods=10, ephemeral_storage="10Gi")]
        listed = [{"name": name} for name in ("cpu", "memory", "ephemeral-storage")]
        chosen = profile(NodeResourcesBalancedAllocation={"resources": listed})
        found = verdict(nodes, asking(cpu="4", memory="4Gi"), chosen, resources=True, version=(1, 35))
        # Fractions 1, 0.5 and 0: their standard deviation is 0.408.
        assert found.scores["NodeResourcesBalancedAllocation"] == {"n1": 59}

    def test_grouped_nodes_are_rated_by_all_resources(self) -> None:
        nodes = [
            having(f"n{number:02}", cpu="4", memory="8Gi", pods=10, **{"example.com/gpu": 8 if number % 2 else 4}) for number in range(40)
        ]
        strategy = {"type": "MostAllocated", "resources": [{"name": "example.com/gpu", "weight": 1}]}
        chosen = profile(NodeResourcesFit={"scoringStrategy": strategy})
        scores = verdict(nodes, asking(cpu="1", **{"example.com/gpu": "2"}), chosen, resources=True).scores["NodeResourcesFit"]
        assert (scores["n00"], scores["n01"]) == (50, 25)

    def test_pods_with_equal_requests_are_scored_by_their_own_profiles(self) -> None:
        nodes = [having(f"n{number}", cpu="4", memory="8Gi", pods=10) for number in range(5)]
        listed = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]
        packing = read_profiles({"profiles": [{"schedulerName": "packing", "pluginConfig": listed}]})["packing"]
        wanted = asking("new", cpu="1", memory="2Gi")
        packed = {**wanted, "spec": {**wanted["spec"], "schedulerName": "packing"}}
        cluster = Cluster(nodes, [asking("old", on="n3", cpu="1", memory="2Gi")], profiles={"packing": packing}, resources=True)
        assert cluster.schedule([wanted]).best["new"] == ("n0", "n1", "n2", "n4")
        assert cluster.schedule([packed]).best["new"] == ("n3",)

    def test_pods_are_not_a_resource_that_scores(self) -> None:
        strategy = {"type": "MostAllocated", "resources": [{"name": "pods", "weight": 5}, {"name": "cpu", "weight": 1}]}
        assert self.scores(asking(cpu="1"), NodeResourcesFit={"scoringStrategy": strategy}) == {"n1": 25, "n2": 25}
        strategy["resources"] = [{"name": "pods"}]
        assert self.scores(asking(cpu="1"), NodeResourcesFit={"scoringStrategy": strategy}) == {"n1": 0, "n2": 0}

    def test_only_extended_resources_can_be_ignored(self) -> None:
        chosen = profile(NodeResourcesFit={"ignoredResources": ["cpu"], "ignoredResourceGroups": ["cpu"]})
        assert verdict([*self.NODES], asking(cpu="5"), chosen, resources=True).feasible == {"n1": False, "n2": False}

    def test_ignored_resources_are_not_among_the_reasons(self) -> None:
        chosen = profile(NodeResourcesFit={"ignoredResources": ["example.com/gpu"]})
        cluster = Cluster([*self.NODES], profiles={chosen.name: chosen}, resources=True)
        wanted = cluster.read(asking(cpu="5", **{"example.com/gpu": "1"}))
        assert [each.resource for each in cluster.shortages(wanted, "n1")] == ["cpu"]

    def test_ignored_resources_are_not_filtered(self) -> None:
        wanted = asking(cpu="1", **{"example.com/gpu": "2", "other.com/nic": "1"})
        assert verdict([*self.NODES], wanted, profile(), resources=True).feasible == {"n1": False, "n2": False}
        for arguments in (
            {"ignoredResources": ["example.com/gpu", "other.com/nic"]},
            {"ignoredResourceGroups": ["example.com", "other.com"]},
        ):
            assert verdict([*self.NODES], wanted, profile(NodeResourcesFit=arguments), resources=True).feasible == {"n1": True, "n2": True}


class TestNotSimulated:
    def test_other_plugins(self) -> None:
        plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}, "queueSort": {"enabled": [{"name": "Sort"}]}}
        assert profile(plugins=plugins).unknown == "profile default-scheduler enables the plugins Coscheduling and Sort"

    def test_disabling_a_plugin_that_does_not_exist_changes_nothing(self) -> None:
        assert profile(plugins=without("score", "NodeResourcesLeastAllocated")).unknown == ""

    def test_an_extender(self) -> None:
        extender = {"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter"}
        assert profile(extenders=[extender]).unknown == "profile default-scheduler calls the extender http://127.0.0.1:8888"

    def test_an_extender_for_some_resources_places_only_their_pods(self) -> None:
        managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
        chosen = profile(extenders=[{"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "managedResources": managed}])
        nodes = [having("n1", cpu="4", memory="8Gi", pods=10)]
        assert verdict(nodes, asking(cpu="1"), chosen, resources=True).feasible == {"n1": True}
        assert verdict(nodes, asking(**{"example.com/gpu": "1"}), chosen, resources=True).reason == {"n1": "UnknownProfile"}

    def test_preemption_can_be_turned_off(self) -> None:
        assert profile().preempts
        assert not profile(plugins=without("postFilter", "DefaultPreemption")).preempts

    def test_one_invalid_profile_keeps_the_scheduler_from_starting(self) -> None:
        listed = [{"name": "NodeAffinity", "args": {"addedAffinity": {PREFERRED: [{"weight": 5, "preference": {"matchExpressions": 7}}]}}}]
        found = read_profiles({"profiles": [{"schedulerName": DEFAULT}, {"schedulerName": "packing", "pluginConfig": listed}]})
        assert found.keys() == {DEFAULT, "packing"}
        assert {each.unknown.partition(":")[0] for each in found.values()} == {"the configuration of the scheduler packing is invalid"}

    @pytest.mark.parametrize("data", [{"profiles": [{"plugins": 7}]}, {"profiles": [{"pluginConfig": [{"args": 3}]}]}, {"extenders": [7]}])
    def test_other_types_are_invalid(self, data: Object) -> None:
        assert read_profiles(data)[DEFAULT].unknown.startswith("the configuration of the scheduler default-scheduler is invalid: ")
