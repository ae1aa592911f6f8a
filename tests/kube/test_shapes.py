"""What counts as a placement constraint in a field without a schema: the form of the value, not its name."""

from typing import Any

import pytest

from afflint.findings.paths import field_of
from afflint.kube.shapes import holders_in, mentions_placement, shape_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
POD_TERM = {"topologyKey": "kubernetes.io/hostname"}
NODE_TERMS = {"nodeSelectorTerms": [{"matchExpressions": []}]}
SPREAD = {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}


@pytest.mark.parametrize(
    ("key", "value", "shape"),
    [
        ("affinity", {"nodeAffinity": {REQUIRED: NODE_TERMS}}, "affinity"),
        ("moverAffinity", {"podAffinity": {}}, "affinity"),
        ("nodeAffinity", {REQUIRED: NODE_TERMS}, "nodeAffinity"),
        ("affinity", {PREFERRED: [{"weight": 1, "preference": {}}]}, "nodeAffinity"),
        ("podAntiAffinity", {REQUIRED: [POD_TERM]}, "podAntiAffinity"),
        ("additionalPodAntiAffinity", {PREFERRED: [{"podAffinityTerm": POD_TERM}]}, "podAntiAffinity"),
        ("affinity", {REQUIRED: [POD_TERM]}, "podAffinity"),
        ("tolerations", [{"operator": "Exists"}], "tolerations"),
        ("nodeselector", {"a": "b"}, "nodeSelector"),
        ("topologySpreadConstraints", {**SPREAD, "labelSelector": {}}, "topologySpreadConstraints"),
        ("redisTolerations", [{"key": "a"}], "tolerations"),
        ("toleRations", [{"key": "a"}], "tolerations"),
        ("toleration", [{"key": "a"}], "tolerations"),
        ("topologySpreadConstraints", [{"topologyKey": "zone"}], "topologySpreadConstraints"),
        ("topology_spread", [SPREAD], "topologySpreadConstraints"),
        ("nodeSelector", {"disktype": "ssd"}, "nodeSelector"),
        ("workerNodeSelector", {"gpu": True}, "nodeSelector"),
    ],
)
def test_constraints_are_known_by_their_shape(key: str, value: Any, shape: str) -> None:
    assert shape_of(key, value) == shape


@pytest.mark.parametrize(
    ("key", "value"),
    [
        # Words of operators, and of other things.
        ("affinity", {"enablePodAntiAffinity": True, "topologyKey": "kubernetes.io/hostname"}),
        ("affinity", {"antiAffinityTopologyKey": "none"}),
        ("affinity", "Specific"),
        ("affinity", {}),
        ("affinity", {"nodeAffinity": None}),
        ("antiAffinity", {REQUIRED: {}}),
        ("antiAffinity", {PREFERRED: {"weight": 1}}),
        ("nodeGroupAffinity", {REQUIRED: ["groupname1"]}),
        ("podAntiAffinity", "kubernetes.io/hostname"),
        ("sessionAffinity", "ClientIP"),
        ("clusterAffinity", {"clusterNames": ["a"]}),
        # A selector of nodes by the labels of nodes, an expression, a list.
        ("nodeSelector", {"matchLabels": {"a": "b"}}),
        ("nodeSelector", "has(gpu)"),
        ("nodeSelector", [{"key": "a", "value": "b"}]),
        ("nodeSelector", {}),
        # A taint has no operator, a placement of clusters has other fields.
        ("tolerations", [{"key": "a", "timeAdded": "now"}]),
        ("tolerations", ["a"]),
        ("tolerations", []),
        ("applicationTolerations", {"resourceRetainPolicy": "Always"}),
        ("spreadConstraints", [{"maxGroups": 1, "topologyKey": "zone"}]),
        # A field in snake case is one of its operator; a chart adds the selector, and writes the list.
        ("node_selector", {"key": "a", "value": "b"}),
        ("topologySpreadConstraints", SPREAD),
        # The children of a spec are pods of their own.
        ("spec", {"nodeAffinity": {REQUIRED: NODE_TERMS}}),
    ],
)
def test_what_has_another_shape_is_left_alone(key: str, value: Any) -> None:
    assert shape_of(key, value) is None


def found(data: Any) -> list[tuple[str, list[str]]]:
    return [(field_of(each.path), [part.shape for part in each.parts]) for each in holders_in(data, ())]


def test_constraints_of_one_map_are_of_the_same_pods_unless_their_names_say_otherwise() -> None:
    tolerations = [{"operator": "Exists"}]
    assert found({"spec": {"tolerations": tolerations, "nodeSelector": {"a": "b"}}}) == [("spec", ["tolerations", "nodeSelector"])]
    assert found({"redisTolerations": tolerations, "redisNodeSelector": {"a": "b"}, "tolerations": tolerations}) == [
        ("", ["tolerations", "nodeSelector"]),
        ("", ["tolerations"]),
    ]


def test_constraints_are_found_in_lists_and_maps_but_not_in_what_the_cluster_says() -> None:
    node = {"nodeSelector": {"a": "b"}}
    assert found({"spec": {"pools": [node, {"deep": {"er": node}}]}, "status": node, "metadata": node}) == [
        ("spec.pools[0]", ["nodeSelector"]),
        ("spec.pools[1].deep.er", ["nodeSelector"]),
    ]


def test_whole_objects_are_manifests_of_their_own() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"nodeSelector": {"a": "b"}}}
    inside: list[tuple[dict[str, Any], Any]] = []
    assert list(holders_in({"objects": [pod], "spec": {"anything": pod}}, (), manifests=inside)) == []
    assert inside == [(pod, ("objects", 0))]


def test_nothing_is_looked_for_below_what_is_known() -> None:
    data = {"spec": {"tolerations": [{"key": "a"}], "nodeSelector": {"a": "b"}}}
    (holder,) = holders_in(data, (), frozenset([("spec", "tolerations")]))
    assert [part.path for part in holder.parts] == [("spec", "nodeSelector")]


@pytest.mark.parametrize("text", [b"affinity:", b"podAntiAffinity", b"toleRations:", b"nodeSelector", b"topologyKey: a"])
def test_a_text_without_any_of_the_words_needs_no_reading(text: bytes) -> None:
    assert mentions_placement(b"spec:\n  " + text)
    assert not mentions_placement(b"spec:\n  replicas: 3")
