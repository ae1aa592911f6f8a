"""Nodes from dumps, single manifests and short lists; what cannot be a node is an error with its place."""

import json
from pathlib import Path

import pytest

from afflint.inventory.node_files import NodeFileError, nodes_of, with_kubelet_labels
from afflint.kube.taints import Taint
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.scheduler.nodes import Node
from afflint.source.sources import Source
from node_text import read_nodes

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1", "labels": {"zone": "a"}}, "spec": {"unschedulable": True}}


def names(data: str) -> list[str]:
    return [node.name for node in read_nodes("nodes", data.encode())]


def test_a_dump_as_kubectl_writes_it_in_json_and_yaml() -> None:
    dump = {"apiVersion": "v1", "kind": "List", "items": [NODE, {**NODE, "metadata": {"name": "w2"}}]}
    assert names(json.dumps(dump)) == ["w1", "w2"]
    assert names(json.dumps({**dump, "kind": "NodeList", "items": [{"metadata": {"name": "w3"}}]})) == ["w3"]


def test_single_manifests_among_others() -> None:
    assert names("kind: ConfigMap\napiVersion: v1\n---\n" + json.dumps(NODE) + "\n---\n") == ["w1"]


def test_what_is_not_a_node_may_be_broken_beside_nodes() -> None:
    assert names("kind: ConfigMap\napiVersion: v1\ndata: [\n---\n" + json.dumps(NODE)) == ["w1"]


def test_only_what_placement_reads_is_kept() -> None:
    dump = {**NODE, "status": {"images": ["x" * 1000], "allocatable": {"cpu": "2"}}}
    [fact] = read_nodes("nodes", json.dumps(dump).encode())
    assert fact.node == Node("w1", {"zone": "a"}, (), True, features=())
    [fact] = read_nodes("nodes", json.dumps(dump).encode(), resources=True)
    assert fact.node == Node("w1", {"zone": "a"}, (), True, {"cpu": 2000}, features=())


def test_a_short_list_knows_taints_as_kubectl_writes_them_and_the_hostname() -> None:
    [one, two] = read_nodes(
        "nodes.yaml",
        b'nodes:\n- {name: w1, labels: {zone: a}, taints: ["gpu=yes:NoSchedule", "old:NoExecute"]}\n- {name: w2, unschedulable: true}\n',
    )
    assert one.node.taints == (Taint("gpu", "yes", "NoSchedule"), Taint("old", "", "NoExecute"))
    assert one.labels == {"kubernetes.io/hostname": "w1", "zone": "a"}
    assert two.labels == {"kubernetes.io/hostname": "w2"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: Service\napiVersion: v1\n", "nodes.yaml:1:1: no nodes in this file"),
        ("nodes: []\n", "nodes.yaml:1:1: no nodes in this file"),
        ("nodes:\n- {labels: {a: b}}\n", "nodes.yaml:2:4: a Node has no name"),
        ("nodes:\n- {name: w1}\n- w2\n", "nodes.yaml:3:3: an entry of `nodes` must be a mapping with a `name`"),
        ("nodes:\n- {name: w1, lables: {a: b}}\n", "nodes.yaml:2:14: unknown field 'lables'"),
        ("nodes:\n- {name: w1, labels: {a: 5}}\n", "nodes.yaml:2:26: the node label 'a' must be a string, not 5: put it in quotes"),
        ("nodes:\n- {name: w1, labels: {a: true}}\n", "nodes.yaml:2:26: the node label 'a' must be a string, not true: put it in quotes"),
        ("nodes:\n- {name: w1, labels: {a: [b]}}\n", "nodes.yaml:2:23: the node label 'a' must be a string, not a list"),
        ("nodes:\n- {name: w1, labels: [a]}\n", "nodes.yaml:2:4: Node 'w1': metadata.labels is a list, not a map"),
        ("nodes:\n- {name: w1, taints: [{key: a, effect: 5}]}\n", "nodes.yaml:2:4: Node 'w1': spec.taints"),
        ("nodes:\n- {name: w1, unschedulable: maybe}\n", "nodes.yaml:2:4: Node 'w1': spec.unschedulable is a string, not true or false"),
        ("nodes:\n- {name: w1}\n- {name: w1}\n", "nodes.yaml:3:10: duplicate node 'w1': it is also defined above in this file"),
        ("kind: Node\napiVersion: v1\nmetadata: {name: 7}\n", "nodes.yaml:1:1: a Node has a name that is the number 7, not a string"),
        ("nodes: seven\n", "nodes.yaml:1:1: no nodes in this file"),
        ("nodes: [\n", "nodes.yaml:2:1: "),
    ],
)
def test_what_can_be_no_inventory_is_refused_at_its_place(text: str, complaint: str) -> None:
    with pytest.raises(NodeFileError) as caught:
        read_nodes("nodes.yaml", text.encode())
    assert str(caught.value).startswith(complaint)


def test_a_node_of_another_file_is_refused_with_that_file() -> None:
    files = [Source(name, name, b"nodes:\n- {name: w1}") for name in ("a.yaml", "b.yaml")]
    with pytest.raises(NodeFileError, match=r"^b\.yaml:2:10: duplicate node 'w1': it is also defined in a\.yaml$"):
        nodes_of(dict(enumerate(files)))


def test_of_a_file_of_nodes_and_links_to_it_the_file_counts_or_the_buffer_that_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("nodes: [{name: w1}]")
    for name in ("a.yaml", "c.yaml"):
        (tmp_path / name).symlink_to("b.yaml")
    a, b, c = (Source(name, str(tmp_path / name)) for name in ("a.yaml", "b.yaml", "c.yaml"))

    def read(*sources: Source) -> list[tuple[str, int]]:
        return [(fact.name, fact.site.file) for fact in nodes_of(dict(enumerate(sources)))]

    assert read(a, b, c) == [("w1", 1)]
    assert read(a, c) == [("w1", 0)]
    assert read(a, b, c._replace(data=b"nodes: [{name: w2}]")) == [("w2", 2)]
    assert read(a, Source("<stdin>", "-", b"nodes: [{name: w2}]")) == [("w1", 0), ("w2", 1)]


def test_what_every_kubelet_says_is_taken_for_granted_where_no_node_says_it() -> None:
    silent, arm = read_nodes("nodes.yaml", b"nodes: [{name: w1}, {name: w2, labels: {kubernetes.io/arch: arm64}}]")
    asked = ["kubernetes.io/os", "kubernetes.io/arch", "disk"]
    assert with_kubelet_labels([silent, arm], asked)[0].labels == {"kubernetes.io/hostname": "w1", "kubernetes.io/os": "linux"}
    assert with_kubelet_labels([silent], asked)[0].labels["kubernetes.io/arch"] == "amd64"
    assert with_kubelet_labels([silent], ["disk"]) == [silent]
    assert silent.labels == {"kubernetes.io/hostname": "w1"}, "the node itself stays as it was read"


@pytest.mark.parametrize(
    "above", ["", "---\n", "# three zones\n---\n", "# by hand\n---\n# three zones\n---\n", "kind: ConfigMap\napiVersion: v1\n---\n"]
)
@pytest.mark.parametrize(
    "nodes",
    [
        "nodes:\n- {name: w1, labels: {zone: east}}\n- {name: w2, labels: {zone: East}}\n",
        (
            "kind: List\napiVersion: v1\nitems:\n- {kind: Node, apiVersion: v1, metadata: {name: w1, labels: {zone: east}}}\n"
            "- {kind: Node, apiVersion: v1, metadata: {name: w2, labels: {zone: East}}}\n"
        ),
    ],
)
def test_findings_point_into_the_dump_whatever_is_above(above: str, nodes: str) -> None:
    text = above + nodes
    [finding] = run([], default_settings(), node_files=[Source("nodes.yaml", "nodes.yaml", text.encode())]).findings
    shown = text.splitlines()[finding.span.line - 1][finding.span.column - 1 : finding.span.end_column - 1]
    assert shown in ("east", "East")


def test_a_label_that_no_node_has_is_an_error_with_the_near_one() -> None:
    pod = b"""\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  nodeSelector: {preformance: high}
  containers: [{name: till, image: "nginx:1.27"}]
"""
    nodes = Source("nodes.yaml", "nodes.yaml", b"nodes: [{name: w1, labels: {performance: high}}]")
    [consequence, finding] = run([Source("pod.yaml", "pod.yaml", pod)], default_settings(), node_files=[nodes]).findings
    assert consequence.rule == "unschedulable"
    assert (finding.rule, finding.severity, finding.span.line, finding.span.column) == ("unknown-node-label", "error", 5, 18)
    assert finding.message.endswith("did you mean `performance`?")
