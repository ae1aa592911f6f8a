"""What keeps a pod off a node whatever runs there: cordons, nodeName, taints, nodeSelector and required node affinity."""

from typing import Any

import pytest

from afflint.placement.rejections import Rejections
from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, expression, node, node_terms, pod

CORDON_KEY = "node.kubernetes.io/unschedulable"


def reasons(nodes: list[dict[str, Any]], **spec: Any) -> dict[str, str]:
    """The nodes that reject a pod with this spec, and the plugin that does."""
    return Cluster(nodes=nodes).evaluate(pod(**spec)).reason


def allowed(nodes: list[dict[str, Any]], **spec: Any) -> list[str]:
    return Cluster(nodes=nodes).feasible_nodes(pod(**spec))


class TestCordonsAndNames:
    nodes = (node("busy", cordoned=True), node("free"))

    @pytest.mark.parametrize(
        "toleration, admitted",
        [
            ({"operator": "Exists"}, True),
            ({"key": CORDON_KEY, "operator": "Exists"}, True),
            ({"key": CORDON_KEY, "operator": "Exists", "effect": "NoSchedule"}, True),
            ({"key": CORDON_KEY}, True),
            ({"key": CORDON_KEY, "operator": "Exists", "effect": "NoExecute"}, False),
            ({"key": CORDON_KEY, "operator": "Equal", "value": "true"}, False),
        ],
    )
    def test_a_cordoned_node_takes_pods_that_tolerate_the_cordon(self, toleration: dict[str, str], admitted: bool) -> None:
        assert reasons(list(self.nodes), tolerations=[toleration]) == ({} if admitted else {"busy": "NodeUnschedulable"})

    def test_a_node_name_rejects_all_others(self) -> None:
        assert reasons(list(self.nodes), nodeName="free", tolerations=[{"operator": "Exists"}]) == {"busy": "NodeName"}

    def test_the_first_plugin_in_order_is_the_reason(self) -> None:
        nodes = [
            node("n1", cordoned=True, taints=["t:NoSchedule"]),
            node("n2", taints=["t:NoSchedule"]),
            node("n3"),
            node("n4", {"disk": "ssd"}),
        ]
        assert reasons(nodes, nodeSelector={"disk": "ssd"}) == {"n1": "NodeUnschedulable", "n2": "TaintToleration", "n3": "NodeAffinity"}
        assert reasons(nodes, nodeName="n3")["n2"] == "NodeName"


class TestNodeNameByVersion:
    """Since 1.37 the plugin NodeName comes first, and leaves out all other nodes before any filter runs."""

    nodes = (node("busy", cordoned=True), node("free"), node("tainted", taints=["k:NoSchedule"]))

    def reasons(self, version: tuple[int, int], **spec: Any) -> dict[str, str]:
        verdict = Cluster(nodes=self.nodes, version=version).evaluate(pod(**spec))
        assert verdict.feasible == {each: each not in verdict.reason for each in ("busy", "free", "tainted")}
        return verdict.reason

    def test_a_cordoned_node_that_is_not_the_one(self) -> None:
        assert self.reasons((1, 36), nodeName="free") == {"busy": "NodeUnschedulable", "tainted": "NodeName"}
        assert self.reasons((1, 37), nodeName="free") == {"busy": "NodeName", "tainted": "NodeName"}

    def test_the_one_itself_is_held_to_everything_else(self) -> None:
        assert self.reasons((1, 37), nodeName="busy")["busy"] == "NodeUnschedulable"
        assert self.reasons((1, 37), nodeName="tainted")["tainted"] == "TaintToleration"

    def test_a_cluster_keeps_its_version(self) -> None:
        cluster = Cluster(nodes=self.nodes, version=(1, 37))
        for other in (cluster.copy(), cluster.without(["tainted"])):
            assert other.evaluate(pod(nodeName="free")).reason["busy"] == "NodeName"

    def test_terms_that_name_nodes_too(self) -> None:
        both = node_affinity_to("free", "busy")
        assert self.reasons((1, 36), nodeName="free", affinity=both) == {"busy": "NodeUnschedulable", "tainted": "NodeAffinity"}
        assert self.reasons((1, 37), nodeName="free", affinity=both) == dict.fromkeys(("busy", "tainted"), "NodeAffinity+NodeName")

    def test_terms_that_name_other_nodes(self) -> None:
        """PreFilter finds no node at all, and blames no plugin."""
        other = node_affinity_to("tainted")
        assert self.reasons((1, 37), nodeName="free", affinity=other) == dict.fromkeys(("busy", "free", "tainted"), "")

    def test_in_words(self) -> None:
        cluster = Cluster(nodes=self.nodes, version=(1, 37))
        asked = cluster.read(pod(nodeName="free", affinity=node_affinity_to("tainted")))
        rejections = Rejections(cluster, asked)
        assert {node: rejections.phrase(node, plugin).one for node, plugin in cluster.evaluate(asked).reason.items()} == {
            "busy": "not the node in spec.nodeName",
            "free": "not named by its node affinity",
            "tainted": "not the node in spec.nodeName",
        }


def node_affinity_to(*names: str) -> dict[str, Any]:
    """Node affinity that requires one of these nodes by name: a term for each."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


class TestTaints:
    def test_no_schedule_and_no_execute_reject_and_prefer_no_schedule_does_not(self) -> None:
        nodes = [node("a", taints=["k:NoSchedule"]), node("b", taints=["k:NoExecute"]), node("c", taints=["k:PreferNoSchedule"])]
        assert reasons(nodes) == {"a": "TaintToleration", "b": "TaintToleration"}

    def test_every_taint_needs_a_toleration(self) -> None:
        nodes = [node("both", taints=["gpu=a100:NoSchedule", "dedicated=ml:NoSchedule"]), node("one", taints=["gpu=a100:NoSchedule"])]
        assert allowed(nodes, tolerations=[{"key": "gpu", "value": "a100"}]) == ["one"]


class TestRequiredNodeAffinity:
    nodes = (
        node("n1", {"disk": "ssd", "cores": "8", "gpu": ""}),
        node("n2", {"disk": "hdd", "cores": "16"}),
        node("n3", {"cores": "many"}),
    )

    @pytest.mark.parametrize(
        "terms, expected",
        [
            (["disk In ssd,nvme"], ["n1"]),
            (["disk NotIn ssd"], ["n2", "n3"]),  # matches where the label is missing
            (["gpu Exists"], ["n1"]),
            (["disk DoesNotExist"], ["n3"]),
            (["cores Gt 8"], ["n2"]),
            (["cores Lt 16"], ["n1"]),
            (["disk In ssd; cores Gt 8"], []),  # within a term all must hold
            (["disk In ssd", "cores Gt 8"], ["n1", "n2"]),  # one term is enough
            (["disk In ssd", ""], ["n1"]),  # an empty term matches nothing
            ([""], []),
            ([], []),
            (["cores Gt eight", "disk In hdd"], ["n2"]),  # a term that cannot be parsed matches nothing; the others go on
            (["cores Gt -5"], []),  # no label value starts with a sign, so this cannot be parsed
            (["disk Like ssd"], []),
        ],
    )
    def test_terms(self, terms: list[str], expected: list[str]) -> None:
        assert allowed(list(self.nodes), affinity=node_terms(*terms)) == expected

    def test_node_selector_and_affinity_must_both_hold(self) -> None:
        assert allowed(list(self.nodes), nodeSelector={"disk": "ssd"}, affinity=node_terms("cores Exists")) == ["n1"]
        assert allowed(list(self.nodes), nodeSelector={"gpu": ""}) == ["n1"]  # an empty value is a value
        assert allowed(list(self.nodes), nodeSelector={}) == ["n1", "n2", "n3"]


class TestMatchFields:
    nodes = (node("n1", {"disk": "ssd"}), node("n2", {"disk": "ssd"}, taints=["t:NoSchedule"]), node("n3", taints=["t:NoSchedule"]))

    def test_names(self) -> None:
        assert allowed(list(self.nodes), affinity=node_terms("@metadata.name In n1")) == ["n1"]
        assert allowed(list(self.nodes), affinity=node_terms("@metadata.name NotIn n1"), tolerations=[{"operator": "Exists"}]) == [
            "n2",
            "n3",
        ]

    def test_nodes_that_are_not_named_are_rejected_before_any_other_filter(self) -> None:
        found = reasons(list(self.nodes), affinity=node_terms("@metadata.name In n2; disk In ssd"))
        assert found == {"n1": "NodeAffinity", "n2": "TaintToleration", "n3": "NodeAffinity"}

    def test_as_soon_as_one_term_names_no_node_all_are_looked_at(self) -> None:
        found = reasons(list(self.nodes), affinity=node_terms("@metadata.name In n1", "disk In hdd"))
        assert found == {"n2": "TaintToleration", "n3": "TaintToleration"}

    def test_names_that_exclude_each_other_reject_everything(self) -> None:
        found = reasons(list(self.nodes), affinity=node_terms("@metadata.name In n1; @metadata.name In n2"))
        assert found == dict.fromkeys(("n1", "n2", "n3"), "NodeAffinity")

    def test_several_names_in_one_field_narrow_the_nodes_and_then_match_none(self) -> None:
        found = reasons(list(self.nodes), affinity=node_terms("@metadata.name In n1,n2"))
        assert found == {"n1": "NodeAffinity", "n2": "TaintToleration", "n3": "NodeAffinity"}


def test_nodes_that_look_alike_are_decided_once_and_still_one_by_one_by_name() -> None:
    nodes = [node(f"n{number}", {"disk": "ssd", HOST: f"n{number}"}) for number in range(20)]
    assert len(allowed(nodes, nodeSelector={"disk": "ssd"})) == 20
    assert allowed(nodes, nodeSelector={HOST: "n7"}) == ["n7"]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [expression("metadata.name In n3")]}]}
        }
    }
    assert allowed(nodes, affinity=affinity) == ["n3"]
