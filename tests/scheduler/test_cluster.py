"""Clusters: what counts as running, binding and losing, and runs of the scheduler."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.kube.decoding import InventoryError
from afflint.kube.taints import Taint
from afflint.scheduler.cluster import Cluster, Verdict
from afflint.scheduler.nodes import ITSELF, Node, NodeTable
from afflint.scheduler.pods import read_pod
from cluster_objects import HOST, ZONE, Object, apart, app, node_terms, pod, term, together, zoned

WEB = {"app": "web"}
NODES = zoned(n1="a", n2="b", n3="c")
ALONE: dict[str, Any] = {"affinity": apart(term(HOST, app("web")))}


class TestWhatRuns:
    def test_pods_without_a_known_node_and_finished_ones_do_not_count(self) -> None:
        finished = {**pod("finished", WEB, on="n1"), "status": {"phase": "Failed"}}
        cluster = Cluster(nodes=NODES, pods=[pod("a", WEB, on="n1"), pod("b", WEB), pod("c", WEB, on="gone"), finished])
        assert cluster.pods == {("default", "a"): "n1"}

    def test_nodes_are_in_the_order_of_their_names(self) -> None:
        assert Cluster(nodes=list(reversed(NODES))).nodes == ("n1", "n2", "n3")

    def test_domains_of_a_key(self) -> None:
        assert Cluster(nodes=zoned(n1="a", n2="", n3="a")).label(ZONE) == {"n1": "a", "n3": "a"}

    def test_without_nodes_nothing_is_feasible(self) -> None:
        assert Cluster(nodes=[]).evaluate(pod()) == Verdict({}, {}, {}, {})
        assert Cluster(nodes=[]).schedule([pod("a")]).unschedulable == {"a": {}}


class TestBinding:
    def test_a_bound_pod_counts_and_an_unbound_one_no_longer(self) -> None:
        cluster, web = Cluster(nodes=NODES), pod("web-0", WEB, **ALONE)
        cluster.bind(web, "n2")
        assert cluster.feasible_nodes(pod("web-1", WEB)) == ["n1", "n3"]
        cluster.unbind(web)
        assert cluster.feasible_nodes(pod("web-1", WEB)) == ["n1", "n2", "n3"]
        assert cluster.pods == {}

    def test_a_copy_goes_its_own_way(self) -> None:
        cluster = Cluster(nodes=NODES, pods=[pod("web-0", WEB, on="n1")])
        copy = cluster.copy()
        copy.bind(pod("web-1", WEB), "n2")
        assert copy.feasible_nodes(pod("new", **ALONE)) == ["n3"]
        assert cluster.feasible_nodes(pod("new", **ALONE)) == ["n2", "n3"]

    def test_compiled_pods_are_taken_as_well(self) -> None:
        cluster, compiled = Cluster(nodes=NODES), read_pod(pod("web-0", WEB, **ALONE))
        cluster.bind(compiled, "n1")
        assert cluster.evaluate(compiled).feasible == {"n1": False, "n2": True, "n3": True}

    def test_mistakes(self) -> None:
        cluster = Cluster(nodes=NODES, pods=[pod("web-0", WEB, on="n1")])
        with pytest.raises(InventoryError, match="Node 'n9' is not in the cluster"):
            cluster.bind(pod("web-1"), "n9")
        with pytest.raises(InventoryError, match="Pod 'default/web-0' appears twice"):
            cluster.bind(pod("web-0"), "n2")
        with pytest.raises(InventoryError, match="Pod 'default/web-1' does not run on a node"):
            cluster.unbind(pod("web-1"))
        with pytest.raises(InventoryError, match="Node 'n9' is not in the cluster"):
            cluster.without(["n1", "n9"])


class TestLosingNodes:
    pods = (pod("web-0", WEB, on="n1"), pod("web-1", WEB, on="n2"), pod("db-0", {"app": "db"}, on="n2"))

    def test_the_pods_of_a_lost_node_are_gone(self) -> None:
        cluster = Cluster(nodes=NODES, pods=self.pods)
        rest = cluster.without(["n2"])
        assert rest.nodes == ("n1", "n3")
        assert rest.pods == {("default", "web-0"): "n1"}
        assert cluster.nodes == ("n1", "n2", "n3")
        assert rest.feasible_nodes(pod("new", **ALONE)) == ["n3"]

    def test_evicted_pods_can_be_scheduled_again(self) -> None:
        dying = pod("dying", on="n2")
        dying["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        cluster = Cluster(nodes=NODES, pods=[*self.pods, dying])
        evicted = cluster.evicted(["n2"])
        assert [lost.name for lost in evicted] == ["web-1", "db-0"]
        assert cluster.without(["n2"]).schedule(evicted).placements == {"web-1": "n1", "db-0": "n1"}

    def test_what_was_asked_before_a_pod_came_is_counted_after_a_loss(self) -> None:
        cluster = Cluster(nodes=NODES)
        assert cluster.feasible_nodes(pod("new", **ALONE)) == ["n1", "n2", "n3"]
        cluster.bind(pod("web-0", WEB), "n1")
        assert cluster.without(["n3"]).feasible_nodes(pod("new", **ALONE)) == ["n2"]

    def test_a_lost_zone_is_not_a_domain_any_more(self) -> None:
        constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app("web")}
        new = pod("new", WEB, topologySpreadConstraints=[constraint])
        cluster = Cluster(nodes=NODES, pods=self.pods)
        assert cluster.feasible_nodes(new) == ["n3"]
        assert cluster.without(["n3"]).feasible_nodes(new) == ["n1", "n2"]


class TestRuns:
    def test_ties_go_to_the_smallest_name_and_are_reported(self) -> None:
        run = Cluster(nodes=zoned(n2="a", n10="a", n1="a")).schedule([pod("a")])
        assert run.placements == {"a": "n1"}
        assert run.best == {"a": ("n1", "n10", "n2")}

    def test_the_cluster_stays_as_it_is_and_the_run_holds_the_changed_one(self) -> None:
        cluster = Cluster(nodes=NODES)
        run = cluster.schedule([pod("a"), pod("b")])
        assert cluster.pods == {}
        assert set(run.cluster.pods) == {("default", "a"), ("default", "b")}

    def test_a_pod_without_a_place_is_skipped(self) -> None:
        run = Cluster(nodes=NODES).schedule([pod("a", affinity=node_terms("disk Exists")), pod("b")])
        assert run.placements == {"b": "n1"}
        assert run.unschedulable == {"a": dict.fromkeys(("n1", "n2", "n3"), "NodeAffinity")}

    def test_when_all_are_placed_the_run_is_settled_at_once(self) -> None:
        run = Cluster(nodes=NODES).schedule([pod("a")])
        assert run.settled == (run.placements, {})
        assert run.rounds == 0

    def test_pending_pods_are_tried_again_until_a_round_places_none(self) -> None:
        chain = [pod(f"p{index}", {"app": f"a{index}"}, affinity=together(term(HOST, app(f"a{index + 1}")))) for index in range(3)]
        run = Cluster(nodes=NODES).schedule([*chain, pod("stuck", nodeSelector={"no": "where"}), pod("last", {"app": "a3"})])
        assert run.placements == {"last": "n1"}
        assert set(run.unschedulable) == {"p0", "p1", "p2", "stuck"}
        assert run.settled.placements == {"last": "n1", "p2": "n1", "p1": "n1", "p0": "n1"}
        assert set(run.settled.unschedulable) == {"stuck"}
        assert run.rounds == 4

    def test_pods_that_share_a_name_are_distinguished_by_namespace(self) -> None:
        run = Cluster(nodes=NODES).schedule([pod("a"), pod("a", namespace="other"), pod("b", namespace="other")])
        assert run.placements == {"default/a": "n1", "other/a": "n1", "b": "n1"}

    def test_the_same_pod_twice_is_a_mistake(self) -> None:
        with pytest.raises(InventoryError, match="Pod 'default/a' is listed twice among the pods to schedule"):
            Cluster(nodes=NODES).schedule([pod("a"), pod("a")])


def test_a_run_over_many_nodes_and_workloads_is_quick() -> None:
    """Not a benchmark: it fails when the work per pod grows with the number of pods that run already."""
    nodes = zoned(**{f"n{number:03}": f"z{number % 3}" for number in range(200)})
    pods: list[Object] = []
    for number in range(100):
        name = f"app{number}"
        pods += [pod(f"{name}-{replica}", {"app": name}, affinity=apart(term(HOST, app(name)))) for replica in range(3)]
    run = Cluster(nodes=nodes).schedule(pods)
    assert len(run.placements) == 300


class TestChangedNodes:
    @given(st.data())
    def test_a_changed_table_answers_as_one_made_of_the_changed_nodes(self, data: st.DataObject) -> None:
        """Whatever was asked before the change, and whichever nodes change."""
        labels = st.dictionaries(st.sampled_from([HOST, ZONE, "disk"]), st.sampled_from(["", "a", "b", "c"]))
        taints = st.lists(st.sampled_from([Taint("gpu", "", "NoSchedule"), Taint("old", "1", "NoExecute")]), max_size=2, unique=True)
        nodes = st.builds(lambda labels, taints, off: Node("", labels, tuple(taints), off, {"cpu": 1}), labels, taints, st.booleans())
        table = NodeTable(
            [each._replace(name=f"n{number}") for number, each in enumerate(data.draw(st.lists(nodes, min_size=1, max_size=5)))]
        )
        for question in data.draw(st.lists(st.sampled_from(list(_QUESTIONS)))):
            _QUESTIONS[question](table)
        others = data.draw(st.dictionaries(st.sampled_from(range(len(table.nodes))), nodes))
        changed = {number: node._replace(name=f"n{number}") for number, node in others.items()}
        answered = table.changed(changed)
        fresh = NodeTable([changed.get(number, node) for number, node in enumerate(table.nodes)])
        for question, ask in _QUESTIONS.items():
            assert ask(answered) == ask(fresh), question


_QUESTIONS: dict[str, Callable[[NodeTable], object]] = {
    "keys": lambda table: table.keys,
    "columns": lambda table: [table.column(key) for key in (HOST, ZONE, "disk", ITSELF)],
    "marks": lambda table: [table.marks(key) for key in (HOST, ZONE, "disk", ITSELF)],
    "amounts": lambda table: table.amounts("cpu"),
    "taints": lambda table: [table.taint_classes[row] for row in table.taint_rows],
    "names": lambda table: (table.names, table.numbers, table.nodes),
}
