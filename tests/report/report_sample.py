"""The report behind the goldens, and functions that create findings for the tests."""

from afflint.findings.finding import NO_OBJECT, Edit, Finding, Fix, ObjectRef, Related, Span
from afflint.report import Report, RuleInfo, Summary, render

GOLDENS = {
    "text": "report.txt",
    "concise": "report.concise.txt",
    "json": "report.json",
    "sarif": "report.sarif",
    "github": "report.github.txt",
    "gitlab": "report.gitlab.json",
    "junit": "report.junit.xml",
    "rdjson": "report.rdjson",
    "markdown": "report.md",
    "html": "report.html",
}

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels:
    app: web
spec:
  template:
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: {matchLabels: {app: web}}
              topologyKey: ""
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: db
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - key: zone
                operator: Exists
  template: {}
"""
ODD_FILE = "odd/\u202ename, 100%: #1 ü.yaml"
ODD = "# 日本\n\tkey: \u202eevil\x1b[2J  # ]]> e\u0301\n"

SOURCES = {"deploy/web.yaml": WEB, "deploy/service.yaml": SERVICE, "vm.yaml": VM, ODD_FILE: ODD}

PAGE = """\
# empty-topology-key
A term has no topology key.
## Why it matters
The API server refuses it:
a term without a key spans nothing.

More.
## How to fix it
Name a node label.
"""

RULES = (
    RuleInfo(
        "empty-topology-key",
        "admission",
        "error",
        "A term of pod (anti-)affinity has no topology key.",
        "Name the node label that distinguishes the domains.",
        PAGE,
    ),
    RuleInfo("misplaced-constraint", "admission", "error", "A constraint is at the wrong level.", "Move it.", "# misplaced-constraint\n"),
    RuleInfo("label-not-on-template", "labels", "warning", "A label does not reach the pods.", "Move it.", "# label-not-on-template\n"),
)

ANTI_AFFINITY = "spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"

FINDINGS = (
    Finding(
        "unused-suppression",
        "afflint",
        "info",
        "The suppression of spread-misses-itself suppresses nothing",
        "Remove the comment.",
        "<stdin>",
        0,
        Span(3, 1, 3, 20),
        NO_OBJECT,
        "",
    ),
    Finding(
        "label-not-on-template",
        "labels",
        "warning",
        "The label app=web is on the Deployment, but not on its pods",
        "Put it under spec.template.metadata.labels.",
        "deploy/web.yaml",
        0,
        Span(7, 5, 7, 13),
        ObjectRef("apps/v1", "Deployment", "shop", "web"),
        "metadata.labels[app]",
        related=(Related("deploy/service.yaml", Span(5, 13, 5, 23), "Service web selects it"),),
    ),
    Finding(
        "empty-topology-key",
        "admission",
        "error",
        'topologyKey is empty: "" names no node label',
        "Name the node label that distinguishes the domains, such as kubernetes.io/hostname.",
        "deploy/web.yaml",
        0,
        Span(15, 28, 15, 30),
        ObjectRef("apps/v1", "Deployment", "shop", "web"),
        ANTI_AFFINITY,
        fix=Fix(True, (Edit(Span(15, 28, 15, 30), "kubernetes.io/hostname"),)),
    ),
    Finding(
        "empty-term",
        "policy",
        "warning",
        "The name '\u202eevil\x1b[2J' <b>]]></b> is {0}, not [here](1):\n::error::100%",
        "Use {} & nothing else.",
        ODD_FILE,
        1,
        Span(2, 7, 2, 17),
        ObjectRef("v1", "Pod\u2028", None, "\ud800evil\x1b[2J"),
        "metadata.annotations[a\x00b]",
    ),
    Finding(
        "misplaced-constraint",
        "admission",
        "error",
        "affinity is under the spec of the VirtualMachine, where the API server does not know it",
        "Move it to spec.template.spec.affinity.",
        "vm.yaml",
        0,
        Span(6, 3, 13, 3),
        ObjectRef("kubevirt.io/v1", "VirtualMachine", None, "db"),
        "spec.affinity",
        fix=Fix(False, (Edit(Span(6, 3, 13, 3), ""), Edit(Span(13, 13, 13, 15), "{spec: {affinity: …}}"))),
    ),
)

SUMMARY = Summary(
    files=5, documents=6, errors=2, warnings=2, info=1, suppressed=3, templated=2, unread=0, passed=(("ConfigMap", 3), ("Kustomization", 1))
)
NOTHING = Summary(files=2, documents=3, errors=0, warnings=0, info=0, suppressed=0, templated=0, unread=0)


def report(
    *findings: Finding,
    summary: Summary = SUMMARY,
    sources: dict[str, str] = SOURCES,
    verbose: bool = False,
    quiet: bool = False,
) -> Report:
    """A report of ``findings`` with the rules and sources of this module."""
    names = sorted({*sources, *(each.file for each in findings), *(other.file for each in findings for other in each.related)})
    numbered = [
        each._replace(
            source=names.index(each.file),
            related=tuple(other._replace(source=names.index(other.file)) for other in each.related),
        )
        for each in findings
    ]
    return Report(numbered, summary, lambda: RULES, lambda file: sources.get(names[file]), "0.1.0", verbose, quiet)


def finding(
    message: str = "topologyKey is empty",
    *,
    rule: str = "empty-topology-key",
    help: str = "",  # noqa: A002 (the field's name)
    file: str = "a.yaml",
    span: Span = Span(1, 1, 1, 2),  # noqa: B008 (a frozen value)
    ref: ObjectRef = NO_OBJECT,
    field: str = "",
    related: tuple[Related, ...] = (),
) -> Finding:
    """An error with everything but a rule, a message and a place left out."""
    return Finding(rule, "admission", "error", message, help, file, 0, span, ref, field, related)


def goldens() -> dict[str, str]:
    """The reports in each format, by the name of their golden."""
    return {golden: rendered(name, report(*FINDINGS)) for name, golden in GOLDENS.items()}


def rendered(name: str, given: Report, *, color: bool = False) -> str:
    """The whole report in the format called ``name``."""
    return "".join(render(name, given, color=color))
