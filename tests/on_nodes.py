"""Lints manifests written in a test against nodes written in the test, with what one rule says as short lines."""

import textwrap
from collections.abc import Collection

from afflint.checks.match import Target
from afflint.findings.finding import Finding
from afflint.kube import NEWEST
from linting import findings_of, settings_of

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: fast}
spec:
  template:
    metadata: {labels: {example.com/disk: ssd}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: []
"""
"""Nodes as a pool declares them, with a label of their own."""


def lint(
    nodes: str, manifests: str, *, complete: bool = False, host_key: str = "node.cluster.x-k8s.io/esxi-host", gates: Collection[str] = ()
) -> list[Finding]:
    """The findings of all rules that are on by default in ``a.yaml`` (the manifests) and ``nodes.yaml``.

    ``nodes`` are Node objects or the entries of a list under ``nodes:``.
    """
    nodes = textwrap.dedent(nodes).strip("\n") + "\n"
    data = {"a.yaml": textwrap.dedent(manifests).encode(), "nodes.yaml": (nodes if "kind: Node" in nodes else f"nodes:\n{nodes}").encode()}
    target = Target(NEWEST, frozenset(gates), complete=complete)
    return findings_of(data, settings_of(target=target, host_key=host_key), nodes=["nodes.yaml"])


def messages_of(
    rule: str, nodes: str, manifests: str, *, complete: bool = False, host_key: str = "node.cluster.x-k8s.io/esxi-host"
) -> list[str]:
    """``a.yaml:12:5 warning: message`` for each finding of one rule."""
    found = lint(nodes, manifests, complete=complete, host_key=host_key)
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.severity}: {each.message}" for each in found if each.rule == rule]


def rules(nodes: str, manifests: str, *, complete: bool = False) -> list[str]:
    """The names of the rules that have something to say."""
    return sorted({each.rule for each in lint(nodes, manifests, complete=complete)})


def workload(spec: str = "", *, kind: str = "Deployment", name: str = "web", replicas: int | None = 3, more: str = "") -> str:
    """A workload whose pods carry ``app: NAME``. ``spec`` are fields of the pod spec (from line 13 on), ``more`` fields of its own spec."""
    version = {"Job": "batch/v1", "Pod": "v1"}.get(kind, "apps/v1")
    selector = "" if kind == "Job" else f"  selector: {{matchLabels: {{app: {name}}}}}\n"
    count = "" if replicas is None else f"  {'parallelism' if kind == 'Job' else 'replicas'}: {replicas}\n"
    pod = textwrap.indent(textwrap.dedent(spec).strip("\n"), "      ") + "\n" if spec else ""
    own = f"{count}{selector}{textwrap.indent(more, '  ')}"
    never = "      restartPolicy: Never\n" if kind == "Job" else ""
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n{own}"
        f"  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n"
        f"{never}{pod}      containers: [{{name: {name}, image: 'nginx:1.27'}}]\n"
    )


def apart(key: str, name: str = "web", *, required: bool = True) -> str:
    """An anti-affinity of the pods of ``name`` to each other over a topology key."""
    term = f"{{labelSelector: {{matchLabels: {{app: {name}}}}}, topologyKey: {key}}}"
    if required:
        return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    return f"affinity: {{podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {term}}}]}}}}"


def spread(key: str, name: str = "web", *, hard: bool = True, skew: int = 1, more: str = "") -> str:
    """A spread constraint of the pods of ``name``."""
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    selector = f"labelSelector: {{matchLabels: {{app: {name}}}}}"
    return f"topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: {when}, {selector}{more}}}]"
