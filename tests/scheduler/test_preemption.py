"""Which pods are preempted: the single rules of the plugin, and a comparison with an implementation that follows its text."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive_scheduler import NaiveScheduler

from afflint.kube.selectors import Selector, parse_label_selector
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, PodKey
from afflint.scheduler.preemption import Allowance, PreemptingQueue, Preemption, Rank, preempt, waits_for_victims
from cluster_objects import HOST, REQUIRED, ZONE, Object, app, node, pod, spread, term

Ranked = tuple[Object, int, str]
"""A running pod, its priority and the time of its start."""


def sized(name: str, cpu: int = 2, **spec: Any) -> Object:
    """A node with some CPU."""
    return {**node(name, {HOST: name, ZONE: name[0], **spec}), "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}}}


def asks(name: str, cpu: int = 2, *, on: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """A pod that requests some CPU."""
    containers = [{"name": "c", "ports": [], "resources": {"requests": {"cpu": str(cpu)}}}]
    return pod(name, labels or {"app": name.partition("-")[0]}, on=on, **{"containers": containers, **spec})


def allowance(name: str, disruptions: int) -> Allowance:
    """A budget over the pods of an application."""
    parsed = parse_label_selector(app(name))
    assert isinstance(parsed, Selector)
    return Allowance("default", parsed, disruptions)


def preempted(
    nodes: Sequence[Object], running: Sequence[Ranked], incoming: Object, priority: int = 1000, allowances: Sequence[Allowance] = ()
) -> Preemption:
    """Who is preempted for the incoming pod."""
    cluster = Cluster(nodes, [each for each, _, _ in running], resources=True)
    ranks: Mapping[PodKey, Rank] = {("default", each["metadata"]["name"]): Rank(number, start) for each, number, start in running}
    before = cluster.pods
    found = preempt(cluster, cluster.read(incoming), priority, ranks.get, allowances)
    assert list(cluster.pods.items()) == list(before.items())
    return found


def chosen(found: Preemption) -> tuple[str | None, list[str]]:
    return found.node, [each.name for each in found.victims]


def deleted(running: Object, *, by_scheduler: bool = False) -> Object:
    """A running pod in deletion, perhaps because the scheduler has preempted it."""
    target = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}] if by_scheduler else []
    metadata = {**running["metadata"], "deletionTimestamp": "2026-02-01T00:00:00Z"}
    return {**running, "metadata": metadata, "status": {"phase": "Running", "conditions": target}}


def nominated(waiting: Object, node: str) -> Object:
    """A Pending pod that has preempted others on a node."""
    return {**waiting, "status": {"phase": "Pending", "nominatedNodeName": node}}


TWO = [sized("a1"), sized("b1")]


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        pytest.param([(asks("low", on="a1"), 0, ""), (asks("mid", on="b1"), 100, "")], ("a1", ["low"]), id="lowest priority"),
        pytest.param([(asks("mid", on="a1"), 100, ""), (asks("low", on="b1"), 0, "")], ("b1", ["low"]), id="whatever the order"),
        pytest.param(
            [(asks("s-1", 1, on="a1"), 0, ""), (asks("s-2", 1, on="a1"), 0, ""), (asks("big", on="b1"), 0, "")],
            ("b1", ["big"]),
            id="one victim instead of two",
        ),
        pytest.param(
            [(asks("s-1", 1, on="a1"), -5, ""), (asks("s-2", 1, on="a1"), -5, ""), (asks("big", on="b1"), -5, "")],
            ("b1", ["big"]),
            id="one victim instead of two, with negative priorities",
        ),
        pytest.param(
            [(asks("old", on="a1"), 0, "2026-01-01T00:00:00Z"), (asks("new", on="b1"), 0, "2026-01-02T00:00:00Z")],
            ("b1", ["new"]),
            id="latest start",
        ),
        pytest.param([(asks("one", on="a1"), 0, ""), (asks("other", on="b1"), 0, "")], ("a1", ["one"]), id="first"),
        pytest.param([(asks("same", on="a1"), 1000, ""), (asks("over", on="b1"), 1001, "")], (None, []), id="no lower priority"),
    ],
)
def test_the_node_is_chosen_by_the_importance_of_its_victims(running: list[Ranked], expected: tuple[str | None, list[str]]) -> None:
    assert chosen(preempted(TWO, running, asks("high"))) == expected


def test_a_node_whose_victims_have_no_budget_is_preferred_to_one_of_lower_priority() -> None:
    running = [(asks("web-1", on="a1"), 0, ""), (asks("api-1", on="b1"), 100, "")]
    found = preempted(TWO, running, asks("high"), allowances=[allowance("web", 0)])
    assert (chosen(found), found.violations) == (("b1", ["api-1"]), 0)


def test_a_budget_is_violated_if_there_is_no_other_choice() -> None:
    running = [(asks("web-1", on="a1"), 0, ""), (asks("api-1", on="b1"), 1000, "")]
    found = preempted(TWO, running, asks("high"), allowances=[allowance("web", 0)])
    assert (chosen(found), found.violations) == (("a1", ["web-1"]), 1)


def test_pods_with_a_violated_budget_stay_if_others_suffice() -> None:
    running = [(asks("web-1", 1, on="a1"), 0, ""), (asks("api-1", 1, on="a1"), 100, "")]
    nodes = [sized("a1")]
    assert chosen(preempted(nodes, running, asks("high", 1))) == ("a1", ["web-1"])
    assert chosen(preempted(nodes, running, asks("high", 1), allowances=[allowance("web", 0)])) == ("a1", ["api-1"])
    assert chosen(preempted(nodes, running, asks("high", 1), allowances=[allowance("web", 1)])) == ("a1", ["web-1"])


def test_an_empty_selector_and_a_pod_without_labels_have_no_budget() -> None:
    everything = Allowance("default", Selector(()), 0)
    running = [(asks("web-1", on="a1"), 0, ""), (pod("bare", {}, on="b1", containers=asks("x")["spec"]["containers"]), 5, "")]
    found = preempted(TWO, running, asks("high"), allowances=[everything])
    assert (chosen(found), found.violations) == (("a1", ["web-1"]), 0)


def test_the_most_important_pods_stay_if_the_pod_fits_beside_them() -> None:
    running = [(asks("low-1", 1, on="a1"), 0, ""), (asks("mid-1", 1, on="a1"), 100, ""), (asks("low-2", 2, on="a1"), 0, "")]
    assert chosen(preempted([sized("a1", 4)], running, asks("high", 2))) == ("a1", ["low-2"])


def test_nodes_where_no_removal_helps_are_not_candidates() -> None:
    nodes = [sized("a1", 1), {**sized("b1"), "spec": {"unschedulable": True}}, sized("c1", disk="hdd"), sized("d1"), sized("e1")]
    running = [(asks(f"low-{name}", 1, on=name), 0, "") for name in ("a1", "b1", "c1", "d1")]
    high = asks("high", nodeSelector=None, affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [not_on_hdd()]}}})
    running.append((asks("same", on="e1"), 1000, ""))
    found = preempted(nodes, running, high)
    assert chosen(found) == ("d1", ["low-d1"])
    assert found.excluded == {"a1": "unresolvable", "b1": "unresolvable", "c1": "unresolvable", "e1": "no victims"}


def not_on_hdd() -> Object:
    return {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]}


def test_anti_affinity_is_resolved_and_affinity_is_not() -> None:
    apart = {"podAntiAffinity": {REQUIRED: [term(HOST, app("low"))]}}
    near = {"podAffinity": {REQUIRED: [term(HOST, app("friend"))]}}
    running = [(asks("low-1", 0, on="a1"), 0, ""), (asks("low-2", 0, on="b1"), 0, "")]
    assert chosen(preempted(TWO, running, asks("high", 0, affinity=apart))) == ("a1", ["low-1"])
    found = preempted(TWO, running, asks("high", 0, affinity=near))
    assert (found.node, found.excluded) == (None, {"a1": "unresolvable", "b1": "unresolvable"})


def test_victims_that_the_pod_needs_make_the_node_useless() -> None:
    near = {"podAffinity": {REQUIRED: [term(HOST, app("low"))]}}
    running = [(asks("low-1", on="a1"), 0, "")]
    found = preempted(TWO[:1], running, asks("high", affinity=near))
    assert (found.node, found.excluded) == (None, {"a1": "does not fit"})


# --- against an implementation that follows the text ---------------------------------------------------------------------

some = st.sampled_from
NAMES = ("a1", "a2", "b1")


def _spec(kind: str) -> Object:
    if kind == "apart":
        return {"affinity": {"podAntiAffinity": {REQUIRED: [term(HOST, app("web"))]}}}
    if kind == "zones":
        return {"affinity": {"podAntiAffinity": {REQUIRED: [term(ZONE, app("db"))]}}}
    if kind == "near":
        return {"affinity": {"podAffinity": {REQUIRED: [term(ZONE, app("db"))]}}}
    if kind == "spread":
        constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app("web")}
        return {"topologySpreadConstraints": [constraint]}
    return {"nodeSelector": {ZONE: "a"}} if kind == "zone a" else {}


def _with_port(made: Object, port: int) -> Object:
    if port:
        made["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]
    return made


kinds = some(("", "", "apart", "zones", "near", "spread", "zone a"))
drawn_pods = st.tuples(some(("web", "db", "x")), st.integers(0, 2), kinds, some((0, 0, 80)), some(NAMES), st.integers(-1, 1), some("123"))
incoming_pods = st.tuples(some(("web", "db", "x")), st.integers(1, 4), kinds, some((0, 0, 80)), some((2, 2, 2, 1, 0)))


class NaivePreemption:
    """The text of the plugin, with nodes, pods and budgets as plain data."""

    def __init__(self, nodes: list[Object], running: list[Ranked], budgets: dict[str, int]) -> None:
        self.nodes = {each["metadata"]["name"]: each for each in nodes}
        self.rank = {each["metadata"]["name"]: (number, start) for each, number, start in running}
        self.pods = [each for each, _, _ in running]
        self.budgets = budgets

    def fits(self, there: list[Object], incoming: Object, name: str) -> bool:
        return self.plugin(there, incoming, name) is None

    def plugin(self, there: list[Object], incoming: Object, name: str) -> str | None:
        others = NaiveScheduler(list(self.nodes.values()), there, [], [])
        first = others.rejection({**incoming, "spec": {**incoming["spec"], **NO_POD_CONSTRAINTS}}, name)
        if first is not None:
            return first
        used = sum(cpu(each) for each in there if each["spec"]["nodeName"] == name)
        if cpu(incoming) and used + cpu(incoming) > int(self.nodes[name]["status"]["allocatable"]["cpu"]):
            return "NodeResourcesFit"
        return others.rejection(incoming, name)

    def resolvable(self, incoming: Object, name: str) -> bool:
        plugin = self.plugin(self.pods, incoming, name)
        if plugin == "NodeResourcesFit":
            return cpu(incoming) <= int(self.nodes[name]["status"]["allocatable"]["cpu"])
        if plugin == "InterPodAffinity":
            # Without anti-affinity on either side, only the pod's own affinity can reject.
            friendly = [{**each, "spec": {**each["spec"], "affinity": {}}} for each in self.pods]
            affinity = {"podAffinity": incoming["spec"].get("affinity", {}).get("podAffinity", {})}
            return self.fits_affinity(friendly, {**incoming, "spec": {**incoming["spec"], "affinity": affinity}}, name)
        return plugin in ("NodePorts", "PodTopologySpread")

    def fits_affinity(self, there: list[Object], incoming: Object, name: str) -> bool:
        return NaiveScheduler(list(self.nodes.values()), there, [], []).rejection(incoming, name) != "InterPodAffinity"

    def victims(self, incoming: Object, priority: int, name: str) -> tuple[int, list[str]] | None:
        order = sorted(self.pods, key=lambda each: (-self.of(each)[0], self.of(each)[1], each["metadata"]["name"]))
        potential = [each for each in order if each["spec"]["nodeName"] == name and self.of(each)[0] < priority]
        there = [each for each in self.pods if each not in potential]
        if not potential or not self.resolvable(incoming, name) or not self.fits(there, incoming, name):
            return None
        left, violating = dict(self.budgets), []
        for each in potential:
            label = each["metadata"]["labels"]["app"]
            if label in left:
                left[label] -= 1
                if left[label] < 0:
                    violating.append(each)
        gone, violated = [], 0
        for each in [*violating, *[each for each in potential if each not in violating]]:
            if self.fits([*there, each], incoming, name):
                there.append(each)
            else:
                gone.append(each)
                violated += each in violating
        return violated, [each["metadata"]["name"] for each in order if each in gone]

    def of(self, running: Object) -> tuple[int, str]:
        return self.rank[running["metadata"]["name"]]

    def run(self, incoming: Object, priority: int) -> tuple[str | None, list[str]]:
        found = {name: victims for name in sorted(self.nodes) if (victims := self.victims(incoming, priority, name)) is not None}

        def scores(name: str) -> tuple[int, ...]:
            violated, names = found[name]
            priorities = [self.rank[each][0] for each in names]
            return violated, priorities[0], sum(each + 2**31 for each in priorities), len(names), -int(self.rank[names[0]][1])

        best = min(map(scores, found), default=())
        found = {name: victims for name, victims in found.items() if scores(name) == best}
        return next(((name, names) for name, (_, names) in found.items()), (None, []))


NO_POD_CONSTRAINTS: Object = {"affinity": {}, "topologySpreadConstraints": []}


def cpu(one: Object) -> int:
    return int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"])


@settings(max_examples=500, deadline=None)
@given(
    sizes=st.tuples(*[some((4, 4, 3, 1))] * 3),
    drawn=st.lists(drawn_pods, min_size=4, max_size=10),
    incoming=incoming_pods,
    budgets=st.dictionaries(some(("web", "db")), st.integers(0, 2)),
)
def test_the_same_pods_are_preempted_as_by_the_text_of_the_plugin(
    sizes: tuple[int, ...], drawn: list[tuple[Any, ...]], incoming: tuple[Any, ...], budgets: dict[str, int]
) -> None:
    nodes = [sized(name, size) for name, size in zip(NAMES, sizes, strict=True)]
    running = [
        (_with_port(asks(f"p-{number}", size, on=on, labels={"app": label}, **_spec(kind)), port), priority, start)
        for number, (label, size, kind, port, on, priority, start) in enumerate(drawn)
    ]
    label, size, kind, port, priority = incoming
    high = _with_port(asks("high", size, labels={"app": label}, **_spec(kind)), port)
    # A pod that fits preempts no pod.
    assume(not any(Cluster(nodes, [each for each, _, _ in running], resources=True).evaluate(high).feasible.values()))
    found = preempted(nodes, running, high, priority, [allowance(name, number) for name, number in budgets.items()])
    assert chosen(found) == NaivePreemption(nodes, running, budgets).run(high, priority)


class Everyone:
    """The pods of a run: their ranks by name, and victims that are created again."""

    def __init__(self, ranks: Mapping[PodKey, Rank]) -> None:
        self.ranks = ranks

    def rank(self, pod: PodKey) -> Rank | None:
        return self.ranks.get(pod)

    def preempts(self, _pod: PodKey) -> bool:
        return True

    def allowances(self) -> Sequence[Allowance]:
        return ()

    def count(self, pod: Pod, step: int) -> None:
        pass

    def replacement(self, victim: Pod, _node: str) -> Pod | None:
        return victim._replace(rules=victim.rules._replace(node_name=""))


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.tuples(*[some((4, 4, 3, 1))] * 3),
    drawn=st.lists(drawn_pods, min_size=4, max_size=10),
    incoming=st.lists(incoming_pods, min_size=2, max_size=5),
    copies=st.integers(1, 2),
)
def test_a_run_remembers_the_victims_of_nodes_that_have_not_changed(
    sizes: tuple[int, ...], drawn: list[tuple[Any, ...]], incoming: list[tuple[Any, ...]], copies: int
) -> None:
    nodes = [sized(name, size) for name, size in zip(NAMES, sizes, strict=True)]
    ranks: dict[PodKey, Rank] = {}
    running, waiting = [], []
    for number, (label, size, kind, port, on, priority, start) in enumerate(drawn):
        running.append(_with_port(asks(f"p-{number}", size, on=on, labels={"app": label}, **_spec(kind)), port))
        ranks["default", f"p-{number}"] = Rank(priority, start)
    for number, (label, size, kind, port, priority) in enumerate(incoming * copies):
        waiting.append(_with_port(asks(f"high-{number}", size, labels={"app": label}, **_spec(kind)), port))
        ranks["default", f"high-{number}"] = Rank(priority)

    def settled() -> tuple[object, ...]:
        cluster = Cluster(nodes, running, resources=True)
        queue = PreemptingQueue(cluster, [cluster.read(each) for each in waiting], Everyone(ranks))
        queue.run()
        victims = [(each.pod.name, each.node, each.by.name) for each in queue.victims.values()]
        return queue.placements, queue.unschedulable, victims

    remembered = settled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PreemptingQueue, "_known_victims", lambda *_: None)
        assert settled() == remembered


class TestPreemptionUnderWay:
    """A pod has preempted others: ``status.nominatedNodeName``, and the budgets of the pods that are on their way out."""

    def waits(self, victim: Object) -> bool:
        cluster = Cluster(TWO, [victim, asks("low", on="b1")], resources=True)
        return waits_for_victims(cluster, cluster.read(nominated(asks("web"), "a1")), 1000, lambda _: Rank(0))

    def test_it_waits_for_its_victims(self) -> None:
        assert self.waits(deleted(asks("old", on="a1"), by_scheduler=True))

    def test_it_does_not_wait_for_pods_that_are_deleted_for_another_reason(self) -> None:
        assert not self.waits(deleted(asks("old", on="a1")))

    def test_it_does_not_wait_for_a_node_that_it_cannot_run_on(self) -> None:
        cluster = Cluster([*TWO, sized("c1", 1)], [deleted(asks("old", 1, on="c1"), by_scheduler=True)], resources=True)
        assert not waits_for_victims(cluster, cluster.read(nominated(asks("web"), "c1")), 1000, lambda _: Rank(0))

    @pytest.mark.parametrize(("priority", "left"), [(999, ["b1"]), (1000, ["b1"]), (1001, ["a1", "b1"])])
    def test_its_node_is_reserved_against_pods_of_lower_or_equal_priority(self, priority: int, left: list[str]) -> None:
        cluster = Cluster(TWO, resources=True)
        cluster.nominate(cluster.read(nominated(asks("web", priority=1000), "a1")))
        other = asks("other", 1, priority=priority)
        assert cluster.feasible_nodes(other) == left
        assert cluster.copy().feasible_nodes(other) == cluster.without([]).feasible_nodes(other) == left
        if left == ["b1"]:
            assert cluster.evaluate(other).reason == {"a1": "NodeResourcesFit"}

    def test_its_node_is_not_reserved_against_itself_nor_once_it_runs(self) -> None:
        cluster = Cluster(TWO, resources=True)
        web = cluster.read(nominated(asks("web", 1), "a1"))
        cluster.nominate(web)
        assert cluster.feasible_nodes(web) == ["a1", "b1"]
        assert cluster.best_nodes(web) == ["a1"]
        cluster.bind(web, "b1")
        assert cluster.feasible_nodes(asks("other")) == ["a1"]

    def test_an_eviction_that_its_budget_has_counted_violates_nothing(self) -> None:
        running = [(asks("db-0", on="a1"), 0, ""), (asks("api-0", on="b1"), 500, "")]
        none_left = allowance("db", 0)
        assert chosen(preempted(TWO, running, asks("web"), allowances=[none_left])) == ("b1", ["api-0"])
        counted = none_left._replace(disrupted=frozenset(("db-0",)))
        assert chosen(preempted(TWO, running, asks("web"), allowances=[counted])) == ("a1", ["db-0"])

    def test_after_a_violated_budget_others_are_not_counted(self) -> None:
        """A pod with two budgets uses up one of them only (filterPodsWithPDBViolation)."""
        both = {"app": "db", "tier": "gold"}
        running = [(asks("db-0", 1, on="a1", labels=both), 0, ""), (asks("log-0", 1, on="a1", labels={"tier": "gold"}), 0, "")]
        gold = parse_label_selector({"matchLabels": {"tier": "gold"}})
        assert isinstance(gold, Selector)
        budgets = [allowance("db", 0), Allowance("default", gold, 1)]
        assert preempted(TWO[:1], running, asks("web"), allowances=budgets).violations == 1

    def test_the_end_of_a_pod_in_deletion_frees_its_domain(self) -> None:
        """Its zone counts one pod, but the removal of the pod in deletion, which does not count, leaves none (updateWithPod)."""
        even = {"topologySpreadConstraints": [spread(ZONE, app("web"))]}
        running = [(asks("web-1", 1, on="a1"), 2000, ""), (deleted(asks("web-0", 1, on="a1")), 0, ""), (asks("big", on="b1"), 2000, "")]
        found = preempted([sized("a1", 4), sized("b1")], running, asks("web-2", 1, **even))
        assert chosen(found) == ("a1", ["web-0"])
