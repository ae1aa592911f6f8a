"""A hand-made standing with policies, and its reports as goldens. Run it to write the goldens anew."""

from __future__ import annotations

from pathlib import Path

from afflint.findings.finding import ObjectRef
from afflint.report.compliance import Breach, Compliance, ComplianceVerdict, EvaluatedWorkload, PolicyCompliance
from afflint.report.html_page import PageMetadata
from afflint.report.policies import json_report, page, text

GOLDEN = Path(__file__).parent / "golden"


def workload(name: str, namespace: str = "shop", owner: str = "storefront") -> EvaluatedWorkload:
    return EvaluatedWorkload(
        ObjectRef("apps/v1", "Deployment", namespace or None, name), f"Deployment {name}", namespace, owner, f"{name}.yaml"
    )


WEB, CART, ORDERS, LOOSE = workload("web"), workload("cart"), workload("orders", "data", "ledger"), workload("loose", "", "")

ZONES = PolicyCompliance(
    "at-least-two-zones",
    "error",
    "The pods must not all be in one domain of a topology key, whatever sees to it.",
    None,
    "check: required-spread\nparams: {topology-key: topology.kubernetes.io/zone}",
    True,
    (
        ComplianceVerdict(LOOSE, "met"),
        ComplianceVerdict(
            ORDERS, "unmet", (Breach("Deployment orders says nothing about `topology.kubernetes.io/zone`", "orders.yaml", 9, "2026-08-30"),)
        ),
        ComplianceVerdict(CART, "unmet", (Breach("the spread constraint of Deployment cart misses its own pods", "cart.yaml", 21),)),
        ComplianceVerdict(WEB, "excepted", (Breach("Deployment web says nothing about `topology.kubernetes.io/zone`", "web.yaml", 9, ""),)),
    ),
)
TOLERATIONS = PolicyCompliance(
    "listed-tolerations",
    "warning",
    "The pods may tolerate these taints and no others.",
    "ask the platform team about {object}",
    "check: allowed-tolerations\nparams: {tolerations: [{key: dedicated}]}",
    False,
    (ComplianceVerdict(LOOSE, "met"), ComplianceVerdict(ORDERS, "met"), ComplianceVerdict(CART, "met"), ComplianceVerdict(WEB, "met")),
)
LOSSES = PolicyCompliance(
    "survives-a-zone",
    "warning",
    "So many replicas run when nodes are lost.",
    None,
    "check: survives",
    False,
    (),
    "no nodes are known",
)

STANDING = Compliance((ZONES, TOLERATIONS, LOSSES), 5, 1, "team", ".afflint-baseline.json", "1.2.3")
MADE = PageMetadata("2026-11-22 11:04 UTC", "afflint report --format html --output policies.html")


def rendered(name: str) -> str:
    """The sample in the format of a golden."""
    if name.endswith(".html"):
        return "".join(page.render(STANDING._replace(made=MADE)))
    return "".join(json_report.render(STANDING) if name.endswith(".json") else text.render(STANDING))


GOLDENS = ("policies.txt", "policies.json", "policies.html")

if __name__ == "__main__":
    for each in GOLDENS:
        (GOLDEN / each).write_text(rendered(each), encoding="utf-8")
