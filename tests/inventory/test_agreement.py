"""`check --nodes` and `place` agree: what one proves to have no place, the other places nowhere, and the other way round."""

import json
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afflint.findings.finding import Finding
from afflint.pipeline.map_step import default_settings
from afflint.placement.schedule import PlacedWorkload, build_schedule
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from cluster_objects import HOST, REQUIRED, ZONE
from on_nodes import lint

Object = dict[str, Any]
some = st.sampled_from

nodes = st.lists(
    st.fixed_dictionaries(
        {"labels": some(({ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}, {}))}, optional={"taints": some((["t:NoSchedule"], ["u=v:NoExecute"]))}
    ),
    min_size=1,
    max_size=4,
)
namespaces = st.fixed_dictionaries({}, optional={"red": st.just({"team": "red"}), "blue": st.just({"team": "blue"})})
selectors = some(({"matchLabels": {"app": "x"}}, {"matchLabels": {"app": "y"}}, {"matchLabels": {"app": "z"}}, {}))
namespace_selectors = some(
    (
        {},
        {"matchLabels": {"team": "red"}},
        {"matchLabels": {"kubernetes.io/metadata.name": "blue"}},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]},
    )
)
terms = st.builds(
    lambda selector, key, more: {"labelSelector": selector, "topologyKey": key, **more},
    selectors,
    some((HOST, ZONE)),
    st.fixed_dictionaries({}, optional={"namespaceSelector": namespace_selectors, "namespaces": some((["red"], ["blue"]))}),
)
spreads = st.builds(
    lambda selector, key, skew: {"labelSelector": selector, "topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule"},
    selectors,
    some((HOST, ZONE)),
    some((1, 2)),
)


def affinity(kind: str, chosen: list[Object]) -> Object:
    return {"affinity": {kind: {REQUIRED: chosen}}}


features = st.one_of(
    st.just({}),
    some(({"nodeSelector": {ZONE: "a"}}, {"nodeSelector": {ZONE: "d"}}, {"tolerations": [{"key": "t", "operator": "Exists"}]})),
    st.lists(terms, min_size=1, max_size=2).map(lambda chosen: affinity("podAffinity", chosen)),
    st.lists(terms, min_size=1, max_size=2).map(lambda chosen: affinity("podAntiAffinity", chosen)),
    st.lists(spreads, min_size=1, max_size=2).map(lambda chosen: {"topologySpreadConstraints": chosen}),
)


def workload(name: str, kind: str, namespace: str, replicas: int, spec: Object, port: int) -> Object:
    container = {"name": "c", "image": "nginx:1.27", **({"ports": [{"containerPort": 80, "hostPort": port}]} if port else {})}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            **({"serviceName": name} if kind == "StatefulSet" else {}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {**spec, "containers": [container]}},
        },
    }


def workloads(name: str, replicas: st.SearchStrategy[int]) -> st.SearchStrategy[Object]:
    both = st.builds(lambda one, other: {**one, **other}, features, features)
    kinds = some(("Deployment", "StatefulSet"))
    return st.builds(workload, st.just(name), kinds, some(("red", "blue")), replicas, both, some((0, 0, 0, 80, 81)))


class Answers(NamedTuple):
    """What check says, by the name of the workload where place puts its pods, and whether all is known that decides."""

    findings: list[Finding]
    placed: dict[str, PlacedWorkload]
    settled: bool


def ask(rows: list[Object], named: Object, objects: list[Object]) -> Answers:
    listed = "\n".join(json.dumps({"name": f"w{number}", **row}) for number, row in enumerate(rows))
    entries = "\n".join(f"- {line}" for line in listed.splitlines())
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}} for name, labels in named.items()]
    text = "\n---\n".join(map(json.dumps, [*made, *objects]))
    findings = lint(entries, text, complete=True)
    files = [Source("a.yaml", "a.yaml", text.encode())], [Source("nodes.yaml", "nodes.yaml", f"nodes:\n{entries}\n".encode())]
    # Rules of admission left out, for what the API server would refuse has no pods.
    simulation_input, problems, *_ = read_place_inputs(*files, [], default_settings(("unreadable-manifest",)))
    assert problems == ()
    placed = {
        placed.pod_source.name: placed for placed in build_schedule(simulation_input.inventory, simulation_input.pod_sources).workloads
    }
    return Answers(findings, placed, not simulation_input.undecidable)


often = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
counts = st.integers(1, 3)


@often
@given(nodes, namespaces, workloads("x", counts), workloads("y", counts), workloads("z", counts))
def test_what_check_proves_impossible_place_leaves_without_a_place(
    rows: list[Object], named: Object, one: Object, two: Object, three: Object
) -> None:
    findings, placed, _ = ask(rows, named, [one, two, three])
    for finding in findings:
        found = placed.get(finding.object.name or "") if finding.severity == "error" else None
        if found is not None and finding.rule == "unschedulable":
            assert not found.nodes, finding.message
        elif found is not None and finding.rule in ("too-few-domains", "competing-workloads"):
            assert any(each.pending for each in placed.values()), finding.message
            assert finding.rule == "competing-workloads" or found.pending, finding.message


@often
@given(nodes, namespaces, workloads("x", st.just(1)))
def test_of_a_pod_alone_that_place_puts_nowhere_check_says_so(rows: list[Object], named: Object, one: Object) -> None:
    findings, placed, settled = ask(rows, named, [one])
    rules = {finding.rule for finding in findings if finding.severity == "error"}
    assert ("unschedulable" in rules) == (settled and bool(placed["x"].pending))


@often
@given(nodes, namespaces, workloads("x", counts))
def test_of_a_workload_alone_that_place_puts_partly_check_says_why(rows: list[Object], named: Object, one: Object) -> None:
    findings, placed, settled = ask(rows, named, [one])
    if settled and placed["x"].pending:
        assert {finding.rule for finding in findings} & {"unschedulable", "too-few-domains", "competing-workloads"}
