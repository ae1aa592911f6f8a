"""Classes of nodes, shared verdicts and running counts never change an answer: checked against going over everything each time."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from naive_scheduler import NaiveScheduler

from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import read_pod
from cluster_objects import HOST, PREFERRED, REQUIRED, ZONE, Object, expression, namespace, node, pod

NAMES = ("n1", "n2", "n3", "n4", "n5", "n6")
KEYS = (HOST, ZONE, "rack")
some = st.sampled_from
rarely = some((False,) * 7 + (True,))


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """A map with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def listed(items: st.SearchStrategy[Object], kind: str, when: str) -> st.SearchStrategy[Object]:
    """One or two terms of an affinity."""
    return st.lists(items, min_size=1, max_size=2).map(lambda drawn: {"affinity": {kind: {when: drawn}}})


def merged(parts: list[Object]) -> Object:
    """Parts of a spec as one: maps are merged, anything else comes from the last."""
    whole: Object = {}
    for part in parts:
        for key, value in part.items():
            whole[key] = merged([whole[key], value]) if isinstance(value, dict) and key in whole else value
    return whole


label_sets = st.builds(lambda app, more: {"app": app, **more}, some(("web", "db")), optional(tier=some(("front", "back"))))
expressions = some(("app In web", "app NotIn web", "tier Exists", "tier DoesNotExist", "app In web,db")).map(expression)
label_selectors: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.just({}),
    some(("web", "db")).map(lambda name: {"matchLabels": {"app": name}}),
    expressions.map(lambda e: {"matchExpressions": [e]}),
)
namespace_selectors: st.SearchStrategy[Any] = st.one_of(
    st.just({}), some(("env In prod", "env NotIn prod", "env DoesNotExist")).map(lambda text: {"matchExpressions": [expression(text)]})
)
spaces = some(("default", "prod", "unknown"))
own_keys = st.lists(some(("app", "tier")), max_size=1)

terms = st.builds(
    lambda key, selector, more: {"topologyKey": key, **({} if selector is None else {"labelSelector": selector}), **more},
    some(KEYS),
    label_selectors,
    optional(
        namespaces=st.lists(spaces, max_size=2), namespaceSelector=namespace_selectors, matchLabelKeys=own_keys, mismatchLabelKeys=own_keys
    ),
)
weighted_terms = st.builds(lambda weight, term: {"weight": weight, "podAffinityTerm": term}, some((1, 3, 10)), terms)
node_expressions = some(
    (f"{ZONE} In a,b", f"{ZONE} NotIn a", "rack Exists", "rack DoesNotExist", "cores Gt 4", "cores Lt 8", f"{HOST} In n1,n2,n3")
).map(lambda text: {"matchExpressions": [expression(text)]})
node_fields = some(("metadata.name In n1", "metadata.name In n2", "metadata.name NotIn n1")).map(
    lambda text: {"matchFields": [expression(text)]}
)
node_terms = st.one_of(
    node_expressions, node_expressions, node_fields, st.builds(lambda a, b: {**a, **b}, node_expressions, node_fields), st.just({})
)
constraints = st.builds(
    lambda key, skew, when, selector, more: {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": when,
        **({} if selector is None else {"labelSelector": selector}),
        **more,
    },
    some(KEYS),
    some((1, 1, 2)),
    some(("DoNotSchedule", "ScheduleAnyway")),
    label_selectors,
    optional(nodeAffinityPolicy=some(("Honor", "Ignore")), nodeTaintsPolicy=some(("Honor", "Ignore")), matchLabelKeys=own_keys),
)
tolerations = optional(
    key=some(("t", "node.kubernetes.io/unschedulable")), operator=some(("Exists", "Equal")), effect=some(("NoSchedule", "PreferNoSchedule"))
)
ports = st.builds(
    lambda number, more: {"containerPort": number, **more},
    some((80, 443)),
    optional(hostPort=some((80, 80, 443)), hostIP=some(("0.0.0.0", "10.0.0.1", "10.0.0.2", "::")), protocol=some(("TCP", "UDP"))),
)
containers = st.lists(ports, max_size=2).map(lambda listed: {"name": "c", "ports": listed})
sidecars = st.builds(lambda container, kept: {**container, **kept}, containers, optional(restartPolicy=st.just("Always")))
weighted_node_terms = st.builds(lambda weight, term: {"weight": weight, "preference": term}, some((1, 5, 50)), node_terms)
features = st.one_of(
    st.lists(constraints, min_size=1, max_size=2).map(lambda listed: {"topologySpreadConstraints": listed}),
    listed(terms, "podAffinity", REQUIRED),
    listed(terms, "podAntiAffinity", REQUIRED),
    listed(weighted_terms, "podAffinity", PREFERRED),
    listed(weighted_terms, "podAntiAffinity", PREFERRED),
    listed(weighted_node_terms, "nodeAffinity", PREFERRED),
    st.lists(node_terms, min_size=1, max_size=2).map(
        lambda listed: {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}
    ),
    some(({ZONE: "a"}, {"rack": "r1"})).map(lambda labels: {"nodeSelector": labels}),
    st.lists(tolerations, min_size=1, max_size=2).map(lambda listed: {"tolerations": listed}),
    st.builds(
        lambda each, init, network: {"containers": [each], "initContainers": [init], "hostNetwork": network}, containers, sidecars, rarely
    ),
)
specs = st.lists(features, max_size=3).map(merged)
taints: st.SearchStrategy[list[str]] = some(
    ([], [], [], ["t:NoSchedule"], ["t=v:PreferNoSchedule"], ["t:PreferNoSchedule", "u:PreferNoSchedule"])
)
zones = some(({ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}, {ZONE: ""}, {}))
more_labels = optional(rack=some(("r1", "r2")), cores=some(("4", "8", "many")))


@st.composite
def nodes(draw: st.DrawFn) -> list[Object]:
    drawn = []
    for name in NAMES[: draw(st.integers(2, 6))]:
        host = {} if draw(rarely) else {HOST: name}
        drawn.append(node(name, {**host, **draw(zones), **draw(more_labels)}, taints=draw(taints), cordoned=draw(rarely)))
    return drawn


@st.composite
def running(draw: st.DrawFn) -> list[Object]:
    drawn = []
    for number in range(draw(st.integers(0, 6))):
        each = pod(f"running-{number}", draw(label_sets), on=draw(some(NAMES)), namespace=draw(spaces), **draw(specs))
        if draw(rarely):
            each["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        drawn.append(each)
    return drawn


incoming = st.builds(lambda labels, space, spec: pod("new", labels, namespace=space, **spec), label_sets, spaces, specs)
services = st.lists(some(("web", "db")).map(lambda name: {"metadata": {"name": name}, "spec": {"selector": {"app": name}}}), max_size=2)
NAMESPACES = [namespace("default"), namespace("prod", env="prod")]
often = settings(max_examples=150)


def cluster_of(nodes: list[Object], pods: list[Object], services: list[Object]) -> Cluster:
    return Cluster(nodes=nodes, pods=pods, namespaces=NAMESPACES, services=services)


@often
@given(nodes(), running(), incoming, services)
def test_a_verdict_is_that_of_the_naive_scheduler(nodes: list[Object], pods: list[Object], new: Object, services: list[Object]) -> None:
    cluster = cluster_of(nodes, pods, services)
    assert tuple(cluster.evaluate(new)) == NaiveScheduler(nodes, pods, NAMESPACES, services).evaluate(new)
    assert cluster.feasible_nodes(new) == [name for name, fits in cluster.evaluate(new).feasible.items() if fits]


@often
@given(nodes(), running(), st.lists(incoming, min_size=2, max_size=4), services)
def test_a_run_is_that_of_the_naive_scheduler(nodes: list[Object], pods: list[Object], new: list[Object], services: list[Object]) -> None:
    """The counts that are updated after each pod equal those of counting again before each pod."""
    present = list(pods)
    placements = {}
    for number, each in enumerate(new):
        each["metadata"]["name"] = f"new-{number}"
        feasible, _, _, total, error = NaiveScheduler(nodes, present, NAMESPACES, services).evaluate(each)
        single = sum(feasible.values()) == 1
        best = [name for name in feasible if feasible[name] and (single or (not error and total[name] == max(total.values())))]
        if best:
            placements[f"new-{number}"] = best[0]
            present.append({**each, "spec": {**each["spec"], "nodeName": best[0]}})
    assert cluster_of(nodes, pods, services).schedule(new).placements == placements


@often
@given(nodes(), running(), incoming, services, st.sets(some(NAMES)))
def test_losing_nodes_is_never_having_had_them(
    nodes: list[Object], pods: list[Object], new: Object, services: list[Object], lost: set[str]
) -> None:
    cluster = cluster_of(nodes, pods, services)
    cluster.evaluate(new)  # whatever this remembers must not leak into the smaller cluster
    rest = cluster.without(lost.intersection(cluster.nodes))
    recomputed = cluster_of([each for each in nodes if each["metadata"]["name"] not in lost], pods, services)
    assert rest.evaluate(new) == recomputed.evaluate(new)
    assert rest.pods == recomputed.pods


@often
@given(nodes(), running(), incoming, st.data())
def test_unbinding_undoes_binding(nodes: list[Object], pods: list[Object], new: Object, data: st.DataObject) -> None:
    cluster = cluster_of(nodes, pods, [])
    before = cluster.evaluate(new)
    passing = read_pod({**new, "metadata": {**new["metadata"], "name": "passing"}})
    cluster.bind(passing, data.draw(some(cluster.nodes)))
    cluster.evaluate(new)
    cluster.unbind(passing)
    assert cluster.evaluate(new) == before


@often
@given(nodes(), running(), st.lists(incoming, min_size=1, max_size=3), services)
def test_the_order_in_which_objects_are_listed_does_not_matter(
    nodes: list[Object], pods: list[Object], new: list[Object], services: list[Object]
) -> None:
    for number, each in enumerate(new):
        each["metadata"]["name"] = f"new-{number}"
    forward = cluster_of(nodes, pods, services).schedule(new)
    backward = cluster_of(nodes[::-1], pods[::-1], services[::-1]).schedule(new)
    assert forward[:-1] == backward[:-1]
