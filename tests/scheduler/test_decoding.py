"""Malformed objects are rejected with a message that names them; they never lead to a wrong verdict."""

from typing import Any

import pytest

from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster
from cluster_objects import REQUIRED, Object, node, pod, spread, term, together

FIRST_SKEW = "spec.topologySpreadConstraints[0].maxSkew"
FIRST_TERM = f"spec.affinity.podAffinity.{REQUIRED}[0]"


def labelled(labels: object) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels}}


class TestNodes:
    @pytest.mark.parametrize(
        "data, message",
        [
            ({"metadata": {"labels": {}}}, "a Node has no name"),
            ({"metadata": {"name": ""}}, "a Node has no name"),
            ({"metadata": {"name": 7}}, "a Node has a name that is the number 7, not a string"),
            ({}, "a Node has no metadata"),
            ({"metadata": "n1"}, "a Node has metadata that is a string, not a map"),
            ("n1", "an entry of the Node list is a string, not an object"),
            (None, "an entry of the Node list is null, not an object"),
            (labelled(["zone"]), "Node 'n1': metadata.labels is a list, not a map"),
            (labelled({"zone": 1}), "Node 'n1': metadata.labels['zone'] is the number 1, not a string"),
            (labelled({"zone": True}), "Node 'n1': metadata.labels['zone'] is true, not a string"),
            (labelled({"zone": {}}), "Node 'n1': metadata.labels['zone'] is a map, not a string"),
            (labelled({1: "a"}), "Node 'n1': metadata.labels has a key that is the number 1, not a string"),
            ({**labelled({}), "spec": {"taints": "gpu"}}, "Node 'n1': spec.taints is not a list of taints"),
            ({**labelled({}), "spec": {"taints": [{"key": 1}]}}, "Node 'n1': spec.taints[0]['key'] is not a string"),
            ({**labelled({}), "spec": {"unschedulable": "yes"}}, "Node 'n1': spec.unschedulable is a string, not true or false"),
        ],
    )
    def test_refused(self, data: object, message: str) -> None:
        with pytest.raises(InventoryError) as caught:
            Cluster(nodes=[data])
        assert str(caught.value) == message

    def test_two_nodes_of_one_name(self) -> None:
        with pytest.raises(InventoryError, match="Node 'n2' appears twice"):
            Cluster(nodes=[node("n1"), node("n2"), node("n3"), node("n2")])

    def test_null_is_the_same_as_absent(self) -> None:
        data = {"metadata": {"name": "n1", "labels": {"zone": None}}, "spec": {"taints": None, "unschedulable": None}}
        cluster = Cluster(nodes=[data, {"metadata": {"name": "n2", "labels": None}, "spec": None}])
        assert cluster.label("zone") == {"n1": ""}
        assert cluster.feasible_nodes(pod()) == ["n1", "n2"]

    def test_names_reach_messages_escaped(self) -> None:
        with pytest.raises(InventoryError) as caught:
            Cluster(nodes=[{"metadata": {"name": "n\x1b[31m", "labels": {"zo\nne": 1}}}])
        assert str(caught.value).isprintable()


class TestPods:
    @pytest.mark.parametrize(
        "spec, message",
        [
            ({"tolerations": {}}, "spec.tolerations is not a list of tolerations"),
            ({"nodeSelector": ["a"]}, "spec.nodeSelector is not a map of labels"),
            ({"nodeSelector": {"gpu": True}}, "spec.nodeSelector['gpu'] is not a string"),
            ({"affinity": "east"}, "spec.affinity is a string, not a map"),
            ({"affinity": together("web")}, f"{FIRST_TERM} is a string, not a map"),
            (
                {"affinity": together(term("zone", {"matchLabels": {"app": 1}}))},
                f"{FIRST_TERM}.labelSelector['matchLabels']['app'] is not a string",
            ),
            ({"affinity": together({"topologyKey": 1})}, f"{FIRST_TERM}.topologyKey is the number 1, not a string"),
            ({"topologySpreadConstraints": [spread("zone", {}, "1")]}, f"{FIRST_SKEW} is a string, not an integer"),
            ({"topologySpreadConstraints": [spread("zone", {}, True)]}, f"{FIRST_SKEW} is true, not an integer"),
            ({"nodeName": 3}, "spec.nodeName is the number 3, not a string"),
            (
                {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{"operator": "No"}, 1]}]}}}},
                f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields is the number 1, not a map",
            ),
        ],
    )
    def test_refused(self, spec: dict[str, Any], message: str) -> None:
        cluster = Cluster(nodes=[node("n1")])
        with pytest.raises(InventoryError) as caught:
            cluster.evaluate(pod("web", namespace="shop", **spec))
        assert str(caught.value) == f"Pod 'shop/web': {message}"

    def test_running_pods_are_read_as_strictly(self) -> None:
        with pytest.raises(InventoryError, match=r"Pod 'default/web': metadata\.labels"):
            Cluster(nodes=[node("n1")], pods=[{"metadata": {"name": "web", "labels": {"app": 1}}, "spec": {"nodeName": "n1"}}])
        with pytest.raises(InventoryError, match="a Pod that runs on a node has no name"):
            Cluster(nodes=[node("n1")], pods=[{"spec": {"nodeName": "n1"}}])

    def test_a_whole_number_may_be_spelled_with_a_fraction_of_zero(self) -> None:
        new = pod(topologySpreadConstraints=[spread("zone", {}, 1.0)])
        assert Cluster(nodes=[node("n1", {"zone": "a"})]).feasible_nodes(new) == ["n1"]


def named(name: str, *, labels: object = None, selector: object = None) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"selector": selector}}


class TestTheRest:
    @pytest.mark.parametrize(
        "objects, message",
        [
            ({"namespaces": [named("a", labels={"env": 1})]}, "Namespace 'a': metadata.labels['env'] is the number 1, not a string"),
            ({"services": [named("a", selector="app")]}, "Service 'a': spec.selector is a string, not a map"),
            ({"replica_sets": [named("a", selector="app")]}, "ReplicaSet 'a': spec.selector is not a label selector"),
            ({"stateful_sets": [named("")]}, "a StatefulSet has no name"),
        ],
    )
    def test_refused(self, objects: dict[str, Any], message: str) -> None:
        with pytest.raises(InventoryError) as caught:
            Cluster(nodes=[node("n1")], **objects)
        assert str(caught.value) == message
