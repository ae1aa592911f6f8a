"""What rule pages list under "When it is silent" is true: the rule reports nothing, and the rule that the page names reports it."""

import re

import pytest

from afflint.checks import registry
from afflint.pipeline.map_step import MapSettings
from linting import findings_of

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PREFERRED, REQUIRED = "preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"


def pod(*fields: str, meta: str = "name: web", kind: str = "Pod") -> str:
    lines = "".join(f"  {each}\n" for each in fields)
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{{meta}}}\nspec:\n  containers: [{{name: c, image: i}}]\n{lines}"


def controller(kind: str, *fields: str, labels: str = "app: web", own: str = "", annotations: str = "") -> str:
    lines = "".join(f"      {each}\n" for each in fields)
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web, labels: {{{own}}}}}\nspec:\n"
        f"  selector: {{matchLabels: {{{labels}}}}}\n  template:\n"
        f"    metadata: {{labels: {{{labels}}}, annotations: {{{annotations}}}}}\n    spec:\n"
        f"      containers: [{{name: c, image: i}}]\n{lines}"
    )


def machine(*fields: str, head: str = "") -> str:
    lines = "".join(f"      {each}\n" for each in fields)
    interface = "devices: {interfaces: [{name: default, masquerade: {}}]}"
    return (
        f"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: web}}\nspec:\n  runStrategy: Always\n{head}  template:\n"
        f"    spec:\n      domain: {{{interface}}}\n      networks: [{{name: default, pod: {{}}}}]\n{lines}"
    )


def node_terms(*terms: str) -> str:
    return f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{', '.join(terms)}]}}}}}}"


def preference(term: str, weight: str = "1") -> str:
    return f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: {weight}, preference: {{{term}}}}}]}}}}"


def expression(key: str, operator: str, values: str = "") -> str:
    return f"matchExpressions: [{{key: {key}, operator: {operator}{values and f', values: {values}'}}}]"


def anti(term: str) -> str:
    return f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{term}]}}}}"


def spread(*fields: str, key: str = ZONE, action: str = "DoNotSchedule") -> str:
    return f"{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: {action}, {', '.join(fields)}}}"


SELECTOR = "labelSelector: {matchLabels: {app: web}}"
CRITICAL = 'scheduler.alpha.kubernetes.io/critical-pod: ""'
JOB = "{labels: {job-name: other}}"
NEGATIVE = '["-8"]'

SILENT: list[tuple[str, str, str | None]] = [
    ("annotation-not-string", pod(meta="name: web, annotations: {a: [1]}"), "wrong-type"),
    ("annotation-not-string", pod(meta="name: web, annotations: {a: }"), None),
    (
        "contradictory-selector",
        pod(anti(f'{{labelSelector: {{matchLabels: {{app: "${{A}}"}}, {expression("app", "In", "[web]")}}}, topologyKey: {HOST}}}')),
        None,
    ),
    (
        "deprecated-node-label",
        pod(
            node_terms(
                f"{{{expression('failure-domain.beta.kubernetes.io/zone', 'In', '[a]')}}}",
                f"{{{expression(ZONE, 'In', '[a]')}}}",
            )
        ),
        None,
    ),
    ("deprecated-node-label", pod("tolerations: [{key: node-role.kubernetes.io/master, operator: Exists}]"), None),
    ("duplicate-key", pod() + pod(meta="name: other"), "missing-separator"),
    ("missing-separator", pod() + "apiVersion: v1\n", "duplicate-key"),
    (
        "duplicate-spread-constraint",
        pod(f"topologySpreadConstraints: [{spread(SELECTOR)}, {spread(SELECTOR, action='ScheduleAnyway')}]", meta="name: web"),
        None,
    ),
    ("empty-node-selector-terms", pod(f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerm: []}}}}}}"), "unknown-field"),
    ("empty-node-selector-terms", pod(node_terms("{}")), "empty-term"),
    ("empty-term", machine(f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: 1}}]}}}}"), "missing-preference"),
    ("missing-preference", pod(f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: 1}}]}}}}"), None),
    ("empty-topology-key", pod(anti(f"{{podAffinityTerm: {{{SELECTOR}, topologyKey: {HOST}}}}}")), "missing-term-wrapper"),
    (
        "forbidden-label",
        (
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    spec:\n"
            f"      template:\n        metadata: {JOB}\n        spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}\n"
        ),
        "jobs-refused",
    ),
    (
        "forbidden-label",
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web, uid: a}\nspec:\n"
            f"  template:\n    metadata: {JOB}\n    spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}\n"
        ),
        None,
    ),
    ("hard-anti-affinity-topology", pod(anti(f"{{{SELECTOR}, topologyKey: {HOST}}}")), None),
    ("ignored-annotation", pod("priorityClassName: high", meta=f"name: web, annotations: {{{CRITICAL}}}"), None),
    ("invalid-label-key", pod(f"topologySpreadConstraints: [{spread(SELECTOR, key='a b')}]"), None),
    ("invalid-label-value", pod(preference(expression("a", "In", "[a b]"))), "unparsable-preference"),
    ("invalid-label-value", pod(node_terms(f"{{{expression('a', 'Exists', '[a b]')}}}")), "operator-values-mismatch"),
    ("invalid-label-value", pod("nodeSelector: {a: true}"), "wrong-type"),
    ("invalid-match-field", pod(node_terms("{matchFields: [{key: metadata.name, operator: In, values: [nowhere]}]}")), None),
    ("invalid-scheduling-field", machine("nodeName: N"), "unknown-field"),
    ("invalid-suppression", "# afflint: ignore[nonsense]\napiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n", None),
    ("invalid-toleration", pod("tolerations: [{key: a, operator: Is, value: b}]"), "unknown-operator"),
    ("invalid-toleration", pod('tolerations: [{key: a, operator: Exists, effect: ""}]'), None),
    ("label-keys-conflict", pod(anti(f"{{{SELECTOR}, matchLabelKeys: [app], topologyKey: {HOST}}}")), None),
    ("migration-impossible", machine("evictionStrategy: LiveMigrateIfPossible", f"nodeSelector: {{{HOST}: a}}"), None),
    ("missing-term-wrapper", machine(f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: 1}}]}}}}"), "missing-preference"),
    ("never-matching-comparison", pod(node_terms(f"{{{expression('a', 'Gt', '[]')}}}")), "operator-values-mismatch"),
    ("never-matching-comparison", pod(node_terms(f"{{{expression('a', 'Gt', '[8]')}}}")), "wrong-type"),
    ("never-matching-comparison", pod(node_terms(f"{{{expression('a', 'Gt', NEGATIVE)}}}")), "invalid-label-value"),
    ("operator-values-mismatch", pod(node_terms(f"{{{expression('a', 'In', 'b')}}}")), "wrong-type"),
    ("operator-values-mismatch", pod(node_terms(f"{{{expression('a', 'Is', '[]')}}}")), "unknown-operator"),
    ("overwritten-node-selector", machine("nodeSelector: {kubernetes.io/arch: arm64}"), None),
    ("pinned-node", pod("nodeName: a"), None),
    (
        "redundant-term",
        pod(
            f"affinity: {{podAntiAffinity: {{{PREFERRED}: ["
            + ", ".join([f"{{weight: 1, podAffinityTerm: {{{SELECTOR}, topologyKey: {HOST}}}}}"] * 2)
            + "]}}"
        ),
        None,
    ),
    ("redundant-term", pod("nodeSelector: {a: b}", node_terms(f"{{{expression('a', 'In', '[c]')}}}")), "contradictory-requirements"),
    (
        "selector-matches-everything",
        pod(
            f"affinity: {{podAntiAffinity: {{{PREFERRED}: "
            f"[{{weight: 1, podAffinityTerm: {{labelSelector: {{}}, topologyKey: {HOST}}}}}]}}}}"
        ),
        None,
    ),
    ("selector-matches-nothing", pod(anti(f"{{matchLabelKeys: [app], topologyKey: {HOST}}}")), "label-keys-conflict"),
    ("selector-matches-nothing", pod(anti(f"{{labelSelectr: {{}}, topologyKey: {HOST}}}")), "unknown-field"),
    (
        "selector-missing",
        (
            "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web}\nspec:\n  template:\n    metadata: {labels: {app: web}}\n"
            "    spec: {containers: [{name: c, image: i}]}\n"
        ),
        None,
    ),
    (
        "shadowed-toleration",
        pod(
            "tolerations:",
            "  - {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}",
            "  - {key: a, operator: Exists, effect: NoExecute}",
        ),
        None,
    ),
    (
        "spread-misses-itself",
        controller(
            "Deployment", f"topologySpreadConstraints: [{spread('labelSelector: {matchLabels: {tier: front}}')}]", own="tier: front"
        ),
        "label-not-on-template",
    ),
    ("text-after-document", pod() + "...\n# the end\n", None),
    ("tolerates-everything", controller("DaemonSet", "tolerations: [{operator: Exists}]"), None),
    ("toleration-without-attraction", controller("DaemonSet", "tolerations: [{key: a, operator: Exists}]"), None),
    ("unknown-operator", pod(node_terms("{matchFields: [{key: metadata.name, operator: Is, values: [a]}]}")), "invalid-match-field"),
    ("unknown-operator", pod("tolerations: [{key: a, value: b}]"), None),
    (
        "unlikely-topology-key",
        pod(f"affinity: {{podAffinity: {{{REQUIRED}: [{{{SELECTOR}, topologyKey: node-role.kubernetes.io/worker}}]}}}}"),
        None,
    ),
    ("unparsable-preference", pod(node_terms(f"{{{expression('a', 'In', '[a b]')}}}")), "invalid-label-value"),
    ("unreadable-manifest", "apiVersion: v1\nkind: ConfigMap\ndata: {a: [\n", None),
    ("unserved-api-version", pod().replace("apiVersion: v1", "apiVersion: ${VERSION}"), None),
    ("untolerated-control-plane", pod('nodeSelector: {node-role.kubernetes.io/control-plane: "true"}'), None),
    ("unused-suppression", pod("nodeSelector: {a: b}  # afflint: ignore[admission] -- for another day"), None),
    ("weight-out-of-range", pod(preference(expression("a", "Exists"), weight='"5"')), "wrong-type"),
    (
        "weight-out-of-range",
        pod(f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weigth: 1, preference: {{{expression('a', 'Exists')}}}}}]}}}}"),
        "unknown-field",
    ),
    ("wrong-type", pod(f"affinity: {{podAntiAffinity: {{{REQUIRED}: null}}}}"), None),
]


@pytest.mark.parametrize(("rule", "text", "other"), SILENT)
def test_the_rule_is_silent_and_the_other_one_speaks(rule: str, text: str, other: str | None) -> None:
    default = {each.name for each in registry.rules().values() if each.default}
    found = [each.rule for each in findings_of({"a.yaml": text.encode()}, MapSettings(registry.bind_rules({*default, rule})), inline=True)]
    assert "unreadable-manifest" not in found
    assert rule not in found
    assert other is None or other in found


def test_the_pages_name_the_rules_that_report() -> None:
    for rule, _, other in SILENT:
        if other is not None:
            silent = registry.rules()[rule].page().partition("## When it is silent\n")[2].partition("## Examples\n")[0]
            assert f"`{other}`" in silent or re.search(r"(?i)another rule reports|other rules report", silent), (rule, other)
