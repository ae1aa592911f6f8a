"""Ports of the host: pods that ask for one port on one address do not share a node. The expected answers are those of Go's NodePorts."""

import pytest

from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster
from cluster_objects import Object, node, pod, zoned

NODES = zoned(n1="a", n2="a")


def with_ports(name: str, *ports: Object, on: str = "", **spec: object) -> Object:
    return pod(name, on=on, containers=[{"name": "c", "ports": list(ports)}], **spec)


@pytest.mark.parametrize(
    ("runs", "comes", "shares"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 81}, True),
        ({"hostPort": 80}, {"containerPort": 80}, True),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "protocol": "TCP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "::"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 0}, {"hostPort": 0}, True),
    ],
)
def test_who_shares_a_node(runs: Object, comes: Object, *, shares: bool) -> None:
    cluster = Cluster(NODES, [with_ports("old", runs, on="n1")])
    verdict = cluster.evaluate(with_ports("new", comes))
    assert verdict.feasible == {"n1": shares, "n2": True}
    assert verdict.reason == ({} if shares else {"n1": "NodePorts"})


def test_on_the_network_of_the_host_every_port_of_a_container_is_one_of_the_host() -> None:
    cluster = Cluster(NODES, [with_ports("old", {"containerPort": 9100}, on="n1", hostNetwork=True)])
    assert cluster.feasible_nodes(with_ports("new", {"hostPort": 9100})) == ["n2"]
    assert cluster.feasible_nodes(with_ports("new", {"containerPort": 9100}, hostNetwork=True)) == ["n2"]
    assert cluster.feasible_nodes(with_ports("new", {"containerPort": 9100})) == ["n1", "n2"]


def test_on_the_network_of_the_host_a_port_without_a_number_is_not_requested() -> None:
    cluster = Cluster(NODES, [with_ports("old", {"name": "web"}, {"hostPort": 1}, on="n1", hostNetwork=True)])
    assert cluster.feasible_nodes(with_ports("new", {"name": "web"}, hostNetwork=True)) == ["n1", "n2"]


def test_init_containers_count_if_they_keep_running() -> None:
    def starting(name: str, on: str = "", **more: str) -> Object:
        return pod(name, on=on, initContainers=[{"name": "i", "ports": [{"hostPort": 80}], **more}])

    assert Cluster(NODES, [starting("old", "n1")]).feasible_nodes(starting("new")) == ["n1", "n2"]
    running = Cluster(NODES, [starting("old", "n1", restartPolicy="Always")])
    assert running.feasible_nodes(starting("new", restartPolicy="Always")) == ["n2"]
    assert running.feasible_nodes(starting("new")) == ["n1", "n2"]


def test_a_port_is_asked_after_labels_and_taints_and_before_room_and_spread() -> None:
    nodes = [node("n1", {"disk": "ssd"}), node("n2", {"disk": "hdd"}), node("n3", {"disk": "ssd"}, taints=["gpu:NoSchedule"])]
    cluster = Cluster(nodes, [with_ports(f"old-{name}", {"hostPort": 80}, on=name) for name in ("n1", "n2", "n3")])
    coming = with_ports("new", {"hostPort": 80}, nodeSelector={"disk": "ssd"})
    coming["spec"]["topologySpreadConstraints"] = [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    assert cluster.evaluate(coming).reason == {"n1": "NodePorts", "n2": "NodeAffinity", "n3": "TaintToleration"}


def test_a_port_is_free_again_when_its_pod_is_gone() -> None:
    cluster = Cluster(NODES, [with_ports("old", {"hostPort": 80}, on="n1")])
    copy = cluster.copy()
    copy.unbind(with_ports("old"))
    assert copy.feasible_nodes(with_ports("new", {"hostPort": 80})) == ["n1", "n2"]
    assert cluster.feasible_nodes(with_ports("new", {"hostPort": 80})) == ["n2"]


def test_replicas_fill_one_node_each() -> None:
    run = Cluster(NODES).schedule([with_ports(f"web-{number}", {"hostPort": 80}) for number in range(3)])
    assert sorted(run.placements.values()) == ["n1", "n2"]
    assert run.unschedulable == {"web-2": {"n1": "NodePorts", "n2": "NodePorts"}}


def test_a_port_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InventoryError) as caught:
        Cluster(NODES).evaluate(with_ports("web", {"hostPort": "80"}))
    assert str(caught.value) == "Pod 'default/web': spec.containers[0].ports[0].hostPort is a string, not an integer"
