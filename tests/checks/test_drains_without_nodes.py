"""`drain-blocked` without nodes: a budget that allows no eviction is known from the manifests alone."""

import pytest

from deployment_text import deployment
from linting import lint, messages_of

BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec:
  AMOUNT
  selector: {matchLabels: {app: web}}
"""
WEB = deployment(namespace="shop", replicas=2)
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""


def blocked(*texts: str, amount: str = "minAvailable: 2") -> list[tuple[int, str]]:
    """The line and the severity of each finding."""
    found = lint("---\n".join([BUDGET.replace("AMOUNT", amount), *texts]))
    return [(each.span.line, each.severity) for each in found if each.rule == "drain-blocked"]


@pytest.mark.parametrize(
    "amount, severity",
    [
        ("minAvailable: 2", "warning"),
        ("minAvailable: 67%", "warning"),
        ("minAvailable: 100%", "info"),
        ("maxUnavailable: 0", "info"),
        ("maxUnavailable: 0%", "info"),
    ],
)
def test_a_budget_that_requires_all_pods_is_reported(amount: str, severity: str) -> None:
    assert blocked(WEB, amount=amount) == [(5, severity)]


@pytest.mark.parametrize("amount", ["minAvailable: 1", "minAvailable: 50%", "maxUnavailable: 1", "maxUnavailable: 1%"])
def test_a_budget_that_allows_one_eviction_is_not(amount: str) -> None:
    assert blocked(WEB, amount=amount) == []


def test_the_pods_of_several_workloads_are_counted_together() -> None:
    other = WEB.replace("name: web, namespace", "name: other, namespace")
    assert blocked(WEB, other) == []
    assert blocked(WEB, other, amount="minAvailable: 4") == [(5, "warning")]


@pytest.mark.parametrize(
    "texts",
    [
        (WEB, SCALER),
        (WEB.replace("  replicas: 2\n", ""),),
        (WEB.replace("replicas: 2", "replicas: 0"),),
        (WEB, WEB.replace("replicas: 2", "replicas: 3")),
        (WEB.replace("Deployment", "DaemonSet").replace("  replicas: 2\n", ""),),
        (WEB.replace("app: web}}\n  template", "app: x}}\n  template").replace("labels: {app: web}", "labels: {app: x}"),),
        (WEB, BUDGET.replace("AMOUNT", "minAvailable: 1")),
    ],
    ids=["an autoscaler", "no number", "no pods", "an overlay", "a DaemonSet", "other pods", "another budget of this name"],
)
def test_it_is_silent_if_the_number_is_not_certain(texts: tuple[str, ...]) -> None:
    assert blocked(*texts) == []


def missing(budget: str, *texts: str, name: str = "web") -> list[str]:
    """The findings about a budget with this name and selector, in flow style on line 6, beside other objects."""
    text = BUDGET.replace("AMOUNT", "minAvailable: 1").replace("{app: web}", f"{{{budget}}}").replace("name: web,", f"name: {name},")
    return messages_of("---\n".join([text, *texts]), "selector-matches-nothing")


@pytest.mark.parametrize("name", ["web", "web-pdb", "pdb-web", "web-disruption-budget"])
def test_a_budget_with_the_name_of_a_workload_that_selects_other_pods(name: str) -> None:
    assert missing("app: shop-web", WEB, name=name) == [
        "6:33 no pod has `app: shop-web`, so this PodDisruptionBudget protects none; Deployment web has `app: web`"
    ]


@pytest.mark.parametrize(
    "budget",
    [
        "app: web, tier: frontt-end",
        "app: web-front-end, tier: front-end",
        "app: web, component: front-end",
        "app: web, layer: front-end",
        "name: web",
    ],
    ids=["a typing error", "two labels joined", "another key of a part", "any other key", "another key of a name"],
)
def test_a_budget_that_nearly_selects_close_pods(budget: str) -> None:
    assert len(missing(budget, deployment(namespace="shop", replicas=2, labels="tier: front-end"), name="all")) == 1


@pytest.mark.parametrize(
    ("budget", "name", "texts"),
    [
        ("app: web", "web", [WEB]),
        ("app: shop-db", "db", [WEB]),
        ("app: shop-db", "web-db", [WEB]),
        ("app: web, tier: front-end", "all", [WEB]),
        ("app: shop-web", "web", [WEB.replace("namespace: shop", "namespace: other")]),
        ("app: shop-web", "web", [WEB, deployment(name="shop-web", namespace="shop")]),
        ("app: shop-web", "web", [WEB, WEB.replace("app: web", "app: web2")]),
        ("app: '${NAME}'", "web", [WEB]),
        ("cnpg.io/cluster: web", "web", [WEB]),
    ],
    ids=[
        "selected",
        "another name",
        "a longer name",
        "a label that a kustomization may add",
        "another namespace",
        "pods of another workload",
        "two workloads with the name",
        "a placeholder",
        "a label that only an operator sets",
    ],
)
def test_a_budget_for_pods_that_may_exist_elsewhere(budget: str, name: str, texts: list[str]) -> None:
    assert missing(budget, *texts, name=name) == []


def test_the_line_of_an_expression_is_that_of_the_selector() -> None:
    expression = "matchExpressions: [{key: app, operator: In, values: [x]}]"
    text = BUDGET.replace("AMOUNT", "minAvailable: 1").replace("matchLabels: {app: web}", expression)
    assert [line.partition(" ")[0] for line in messages_of(f"{text}---\n{WEB}", "selector-matches-nothing")] == ["6:3"]
