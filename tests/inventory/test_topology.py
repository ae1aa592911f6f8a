"""What nodes and node pools show about topology domains: which contain which, and how many nodes or replicas one has."""

import textwrap

from afflint.checks.cluster_view import ClusterView
from afflint.checks.topology import KnownTopology
from afflint.findings.finding import NO_OBJECT, Site
from afflint.index.facts import Pods
from afflint.kube.selectors import Requirement
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import reduce_run
from afflint.pools.pool import Label, Pool
from afflint.source.sources import Source
from cluster_objects import HOST, ZONE
from node_text import read_nodes
from on_nodes import apart, workload

RACK, HALL = "example.com/rack", "example.com/hall"


def topology(nodes: str, manifests: str) -> tuple[KnownTopology, Pods]:
    """The topology that some nodes show, and the pods of the first manifest."""
    files = Files([Source("a.yaml", "a.yaml", manifests.encode())], (), ())
    index = reduce_run(files, default_settings()._replace(inventory=True)).manifest_index
    assert index is not None
    found = read_nodes("nodes.yaml", f"nodes:\n{textwrap.dedent(nodes).strip()}\n".encode())
    return KnownTopology([ClusterView(found, index, "host")]), index.pods[0]


def pool(*labels: Requirement, most: int | None = None, zones: tuple[str, ...] = ()) -> Pool:
    """A pool whose nodes have these labels and no others."""
    made = Pool("workers", "NodePool", Site(0, 0, ()), NO_OBJECT, (), "own")
    return made._replace(labels=tuple(Label(each, ()) for each in labels), most=most, zones=zones, closed=True)


def one(key: str, *values: str) -> Requirement:
    return Requirement(key, "In", values)


HALLS = f"""
- {{name: w1, labels: {{{RACK}: r1, {HALL}: north}}}}
- {{name: w2, labels: {{{RACK}: r2, {HALL}: north}}}}
- {{name: w3, labels: {{{RACK}: r3, {HALL}: south}}}}
"""


def test_a_hall_holds_whole_racks_if_no_rack_is_in_two_halls() -> None:
    known, pods = topology(HALLS, workload())
    assert known.holds_whole(pods, HALL, RACK)
    assert not known.holds_whole(pods, RACK, HALL)
    known, pods = topology(HALLS.replace("r3", "r1"), workload())
    assert not known.holds_whole(pods, HALL, RACK)


def test_a_usable_node_without_one_of_the_labels_leaves_it_open() -> None:
    for label in (f"{RACK}: r4", f"{HALL}: north", ""):
        more = HALLS + f"- {{name: w4, labels: {{{label}}}, taints: ['a:NoSchedule']}}\n"
        known, pods = topology(more, workload())
        assert known.holds_whole(pods, HALL, RACK), "the pods do not tolerate the taint"
        known, pods = topology(more, workload("tolerations: [{operator: Exists}]"))
        assert not known.holds_whole(pods, HALL, RACK)
    known, pods = topology(HALLS, workload("nodeSelector: {disk: ssd}"))
    assert not known.holds_whole(pods, HALL, RACK), "no node is usable"


def test_what_constraints_let_into_one_domain_is_the_most() -> None:
    zones = "- {name: w1, labels: {topology.kubernetes.io/zone: a}}\n- {name: w2, labels: {topology.kubernetes.io/zone: a}}\n"
    zones += "- {name: w3, labels: {topology.kubernetes.io/zone: b}}\n"
    known, pods = topology(zones, workload(apart(HOST)))
    assert (known.most_in_one(pods, ZONE), known.most_in_one(pods, HOST)) == (2, 1)
    known, pods = topology(zones, workload())
    assert known.most_in_one(pods, ZONE) is None
    assert KnownTopology().most_in_one(pods, ZONE) is None
    known, pods = topology(zones, workload(f"{apart(HOST)}\nnodeSelector: {{disk: '${{DISK}}'}}"))
    assert known.most_in_one(pods, ZONE) is None, "which nodes they use is unknown"


def test_of_several_clusters_the_least_counts_that_one_shows() -> None:
    """Each manifest is for all of them, so what one of them allows in a domain is not more than any proves."""
    node = "- {{name: w{}, labels: {{topology.kubernetes.io/zone: a}}}}\n"
    text = workload(apart(HOST), replicas=2)
    (one_node, pods), (two_nodes, _), (unbounded, _) = (
        topology(node.format(1), text), topology(node.format(1) + node.format(2), text), topology(node.format(1), workload()),
    )  # fmt: skip
    for views in ((one_node, two_nodes), (two_nodes, one_node)):
        assert KnownTopology([view for each in views for view in each.views]).most_in_one(pods, ZONE) == 1
    assert KnownTopology([*unbounded.views, *two_nodes.views]).most_in_one(pods, ZONE) == 2


def test_pools_hold_whole_domains_if_each_pool_is_in_one_and_all_values_are_known() -> None:
    _, pods = topology(HALLS, workload())
    north, south = pool(one(HALL, "north"), one(RACK, "r1", "r2")), pool(one(HALL, "south"), one(RACK, "r3"))
    assert KnownTopology((), [north, south]).holds_whole(pods, HALL, RACK)
    assert not KnownTopology((), [north, south]).holds_whole(pods, RACK, HALL)
    for other in (pool(one(HALL, "south"), one(RACK, "r1")), pool(one(HALL, "south")), pool(one(HALL, "n", "s"), one(RACK, "r4"))):
        assert not KnownTopology((), [north, other]).holds_whole(pods, HALL, RACK)
        assert not KnownTopology((), [other, north]).holds_whole(pods, HALL, RACK)
    assert not KnownTopology().holds_whole(pods, HALL, RACK)


def test_the_zones_of_a_pool_are_known_without_a_label() -> None:
    _, pods = topology(HALLS, workload())
    assert KnownTopology((), [pool(one(HALL, "north"), zones=("a", "b"))]).holds_whole(pods, HALL, ZONE)
    assert not KnownTopology((), [pool(one(HALL, "north"), zones=("a", "b"))]).holds_whole(pods, HALL, RACK)


def test_nodes_prove_more_than_pools_which_do_not_count_beside_them() -> None:
    known, pods = topology(HALLS.replace("r3", "r1"), workload())
    north = pool(one(HALL, "north"), one(RACK, "r1"))
    assert not KnownTopology(known.views, [north]).holds_whole(pods, HALL, RACK)


def test_the_nodes_of_pools_in_one_domain_are_counted() -> None:
    asked = [[one("disk", "ssd")], [one("disk", "nvme")]]
    two_zones = [pool(one(ZONE, "a"), one("disk", "ssd"), most=3), pool(one(ZONE, "b"), one("disk", "nvme"), most=2)]
    assert KnownTopology((), two_zones).nodes_in_one(asked, ZONE) == 3
    more = [*two_zones, pool(one(ZONE, "b", "c"), one("disk", "ssd"), most=4), pool(one(ZONE, "c"), one("disk", "hdd"), most=9)]
    assert KnownTopology((), more).nodes_in_one(asked, ZONE) == 6
    assert KnownTopology((), two_zones[:1]).nodes_in_one(asked, ZONE) is None, "there is only one domain"
    unlimited = pool(one(ZONE, "b"), one("disk", "ssd"))
    nowhere = pool(one("disk", "ssd"), most=1)
    for other in (unlimited, nowhere):
        assert KnownTopology((), [*two_zones, other]).nodes_in_one(asked, ZONE) is None
