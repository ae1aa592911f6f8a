"""Compliance with policies, its trends, and their reports."""

from collections.abc import Mapping
from pathlib import Path

from afflint.findings.finding import Finding, ObjectRef, Severity, Span
from afflint.report.compliance import Breach, Compliance, ComplianceVerdict, EvaluatedWorkload, PolicyCompliance
from afflint.report.html_page import PageMetadata
from afflint.report.policies import json_report, markdown, page, text
from afflint.report.trends.model import Trend, TrendPoint
from report.html_page import Page


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
    "Enough replicas keep running after a failure.",
    None,
    "check: survives",
    False,
    (),
    "no nodes are known",
)

STANDING = Compliance((ZONES, TOLERATIONS, LOSSES), 5, 1, "team", ".afflint-baseline.json", "1.2.3")
MADE = PageMetadata("2026-11-22 11:04 UTC", "afflint report --format html --output policies.html")


def point(
    date: str,
    by_rule: Mapping[str, int],
    by_owner: Mapping[str, int],
    *,
    errors: int,
    unknown: int = 0,
    new: int | None = 0,
    fixed: int | None = 0,
    file: str | None = "",
) -> TrendPoint:
    """A report of that day: ``errors`` errors, and the other findings are warnings."""
    severities: dict[Severity, int] = {"error": errors, "warning": sum(by_rule.values()) - errors}
    file = f"history/{date}.json" if file == "" else file
    return TrendPoint(date, file, severities, {"rule": by_rule, "owner": by_owner}, 40, unknown, new, fixed)


def gone(rule: str, message: str, file: str) -> Finding:
    ref = ObjectRef("apps/v1", "Deployment", "shop", file.partition(".")[0])
    return Finding(rule, "admission", "error", message, "", file, 0, Span(9, 1, 9, 1), ref, "spec")


TRENDS = (
    Trend(
        "findings",
        (
            point(
                "2026-09-01",
                {"wrong-type": 6, "empty-topology-key": 2},
                {"storefront": 5, "ledger": 2, "": 1},
                errors=8,
                new=None,
                fixed=None,
            ),
            point(
                "2026-10-01", {"wrong-type": 7, "label-not-on-template": 2}, {"storefront": 8, "": 1}, errors=7, new=3, fixed=2, unknown=3
            ),
            point("2026-11-20 01:30", {"wrong-type": 2, "label-not-on-template": 1}, {"storefront": 3}, errors=2, new=1, fixed=7),
        ),
        (gone("wrong-type", "the value of `ssd` must be a string", "cart.yaml"),),
        (gone("wrong-type", "the value of `gpu` must be a string", "web.yaml"), gone("label-not-on-template", "no label", "web.yaml")),
    ),
    Trend(
        "violations",
        (point("2026-11-22", {"at-least-two-zones": 2}, {"ledger": 1, "storefront": 1}, errors=2, new=None, fixed=None, file=None),),
    ),
)


def rendered(name: str) -> str:
    """The sample in the format of a golden; those that begin with ``trends`` have trends, too."""
    standing = STANDING._replace(trends=TRENDS) if name.startswith("trends") else STANDING
    if name.endswith(".html"):
        return "".join(page.render(standing._replace(made=MADE)))
    renderers = {".json": json_report.render, ".md": markdown.render, ".txt": text.render}
    return "".join(renderers[Path(name).suffix](standing))


def goldens() -> dict[str, str]:
    """The reports by the name of their golden; of a page the text."""
    names = [f"{stem}.{suffix}" for stem in ("policies", "trends") for suffix in ("txt", "json", "md")]
    pages = {f"{stem}.page.txt": Page(rendered(f"{stem}.html")).lines for stem in ("policies", "trends")}
    return {name: rendered(name) for name in names} | pages
