"""Nodes of a dump that have images already score better; nodes whose kubelet lacks a feature reject the pods that need it."""

from typing import Any, ClassVar

from afflint.placement.rejections import Rejections
from afflint.scheduler.cluster import Cluster, Verdict
from cluster_objects import HOST, Object, node, pod

MIB = 2**20
NAMES = ("n1", "n2", "n3", "n4")


def having(name: str, *images: tuple[str, int], **status: Any) -> Object:
    """A node of a dump with images of some MiB."""
    listed = [{"names": [image], "sizeBytes": size * MIB} for image, size in images]
    return {**node(name, {HOST: name}), "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}, "images": listed, **status}}


def of_image(image: str, **container: Any) -> Object:
    return pod("web-0", {"app": "web"}, containers=[{"name": "c", "image": image, **container}])


def verdict(nodes: list[Object], wanted: Object, **more: Any) -> Verdict:
    return Cluster(nodes, resources=True, **more).evaluate(wanted)


class TestImages:
    def test_an_image_on_all_nodes_counts_with_its_size(self) -> None:
        nodes = [having("n1", ("a:1", 1000)), having("n2", ("a:1", 523))]
        assert verdict(nodes, of_image("a:1")).scores["ImageLocality"] == {"n1": 100, "n2": 51}

    def test_an_image_on_few_nodes_counts_less(self) -> None:
        nodes = [having("n1", ("a:1", 1000)), *[having(name) for name in NAMES[1:]]]
        assert verdict(nodes, of_image("a:1")).scores["ImageLocality"] == {"n1": 23, "n2": 0, "n3": 0, "n4": 0}

    def test_a_small_image_does_not_count(self) -> None:
        assert "ImageLocality" not in verdict([having("n1", ("a:1", 20)), having("n2")], of_image("a:1")).scores

    def test_no_tag_is_the_latest(self) -> None:
        nodes = [having("n1", ("localhost:5000/a:latest", 1000)), having("n2")]
        assert verdict(nodes, of_image("localhost:5000/a")).scores["ImageLocality"]["n1"] > 0

    def test_after_the_loss_of_a_node_the_others_have_the_image_more_often(self) -> None:
        cluster = Cluster([having("n1", ("a:1", 1000)), having("n2", ("a:1", 1000)), having("n3"), having("n4")], resources=True)
        assert cluster.evaluate(of_image("a:1")).scores["ImageLocality"]["n2"] == 48
        assert cluster.without(["n3"]).evaluate(of_image("a:1")).scores["ImageLocality"]["n2"] == 65

    def test_many_nodes_score_alike(self) -> None:
        nodes = [having(f"n{number:02}", *([("a:1", 900)] if number == 39 else [("b:1", 900)])) for number in range(40)]
        cluster = Cluster(nodes, resources=True)
        assert cluster.best_nodes(cluster.read(of_image("b:1"))) == [f"n{number:02}" for number in range(39)]


class TestDeclaredFeatures:
    RULES: ClassVar[Object] = {"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [7]}}]}
    NEWER = having("n2", declaredFeatures=["RestartAllContainersOnContainerExits"])

    def test_a_node_whose_kubelet_declares_no_feature_rejects_the_pod(self) -> None:
        found = verdict([having("n1"), self.NEWER], of_image("a:1", **self.RULES))
        assert found.reason == {"n1": "NodeDeclaredFeatures"}

    def test_before_1_36_no_plugin_asks(self) -> None:
        assert verdict([having("n1"), self.NEWER], of_image("a:1", **self.RULES), version=(1, 35)).reason == {}

    def test_a_node_that_is_only_declared_may_have_every_feature(self) -> None:
        assert verdict([node("n1", {HOST: "n1"})], of_image("a:1", **self.RULES)).reason == {}

    def test_other_rules_need_no_feature(self) -> None:
        assert verdict([having("n1")], of_image("a:1", restartPolicyRules=[{"action": "Restart"}])).reason == {}

    def test_the_reason(self) -> None:
        cluster = Cluster([having("n1")], resources=True)
        rejections = Rejections(cluster, cluster.read(of_image("a:1", **self.RULES)))
        assert rejections.summary({"n1": "NodeDeclaredFeatures"}) == "1 node lacks the kubelet feature RestartAllContainersOnContainerExits"
