"""`drain-blocked` without nodes: a budget that allows no eviction is known from the manifests alone."""

import pytest

from deployment_text import deployment
from linting import lint

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
