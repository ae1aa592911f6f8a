"""Whatever is in a manifest, every check ends and its messages can be printed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.checks import registry
from afflint.checks.match import Target
from afflint.findings.finding import Finding
from afflint.kube import NEWEST
from afflint.kube.constraints import PREFERRED, REQUIRED
from linting import findings_of, settings_of

SETTINGS = settings_of(registry.rules(), target=Target(NEWEST, complete=True))

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(("", "a", "b", "app", "In", "NotIn", "Exists", "Gt", "Lt", "1", "-5", "${X}", "zone", "kubernetes.io/hostname")),
    st.text(max_size=5),
)
anything = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3))
)


def rarely_other(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What belongs there nine times out of ten, else anything at all."""
    return st.integers(0, 9).flatmap(lambda number: anything if number == 0 else usual)


def fields(**kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return rarely_other(st.fixed_dictionaries({}, optional=kinds))


def listed(item: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return rarely_other(st.lists(item, max_size=3))


keys = rarely_other(st.sampled_from(("app", "tier", "zone", "kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")))
labels = rarely_other(
    st.dictionaries(st.sampled_from(("app", "tier", "a/b")), rarely_other(st.sampled_from(("web", "wbe", "db"))), max_size=2)
)
expression = fields(
    key=keys,
    operator=rarely_other(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))),
    values=listed(rarely_other(st.sampled_from(("web", "db", "3", "x y")))),
)
selector = fields(matchLabels=labels, matchExpressions=listed(expression))
pod_term = fields(
    labelSelector=selector,
    topologyKey=keys,
    namespaces=listed(scalars),
    namespaceSelector=selector,
    matchLabelKeys=listed(keys),
    mismatchLabelKeys=listed(keys),
)
node_term = fields(matchExpressions=listed(expression), matchFields=listed(expression))
pod_terms = fields(**{REQUIRED: listed(pod_term), PREFERRED: listed(fields(weight=scalars, podAffinityTerm=pod_term))})
node_terms = fields(
    **{REQUIRED: fields(nodeSelectorTerms=listed(node_term)), PREFERRED: listed(fields(weight=scalars, preference=node_term))}
)
spread = fields(
    maxSkew=scalars,
    topologyKey=keys,
    whenUnsatisfiable=rarely_other(st.just("DoNotSchedule")),
    labelSelector=selector,
    matchLabelKeys=listed(keys),
)
toleration = fields(key=keys, operator=scalars, value=scalars, effect=scalars, tolerationSeconds=scalars)
pod_spec = fields(
    containers=st.just([{"name": "c", "image": "i"}]),
    domain=st.just({}),
    affinity=fields(nodeAffinity=node_terms, podAffinity=pod_terms, podAntiAffinity=pod_terms),
    nodeSelector=labels,
    tolerations=listed(toleration),
    topologySpreadConstraints=listed(spread),
    nodeName=scalars,
    evictionStrategy=rarely_other(st.just("LiveMigrate")),
)
metadata = fields(name=rarely_other(st.sampled_from(("web", "db"))), namespace=scalars, labels=labels, annotations=labels)
KINDS = (("apps/v1", "Deployment"), ("kubevirt.io/v1", "VirtualMachine"), ("kubevirt.io/v1alpha3", "VirtualMachineInstanceReplicaSet"))
workload = st.builds(
    lambda kind, meta, spec: {"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": spec},
    st.sampled_from(KINDS),
    metadata,
    fields(replicas=scalars, selector=selector, template=fields(metadata=metadata, spec=pod_spec), virtualMachineTemplate=anything),
)
service = st.builds(
    lambda meta, spec: {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}, metadata, fields(selector=labels)
)


def lint(documents: list[Any]) -> list[Finding]:
    data = "\n---\n".join(json.dumps(each) for each in documents).encode()
    return findings_of({"a.yaml": data}, SETTINGS)


@settings(max_examples=150)
@given(st.lists(st.one_of(workload, workload, service), max_size=4))
def test_every_check_survives_anything(documents: list[Any]) -> None:
    for finding in lint(documents):
        assert finding.message
        assert not finding.message.endswith(".")
        assert finding.help.endswith(".")
        assert finding.span.line >= 1


def test_a_selector_of_many_values_is_read_in_one_go() -> None:
    values = [f"v{number}" for number in range(20_000)]
    expressions = [{"key": "app", "operator": "In", "values": values}, {"key": "app", "operator": "NotIn", "values": values}]
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": "zone"}
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    rules_found = {each.rule for each in lint([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}])}
    assert "contradictory-selector" in rules_found
