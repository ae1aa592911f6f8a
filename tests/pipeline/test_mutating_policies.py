"""Mutating policies among the manifests: a finding about a field that one of them may set is an info that names the policy."""

from pathlib import Path

import pytest

from afflint.checks.registry import REGISTRY
from afflint.findings.finding import Finding
from afflint.index.mutating_policies import CONCERNED, FIELDS, OF_OTHERS
from afflint.pipeline.options import Options
from afflint.pipeline.run import run
from afflint.policies.registry import CHECKS
from afflint.source.sources import Source
from extras import needs_cel
from linting import lint, places, settings_of
from policing import configured, findings_of

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {node-role.kubernetes.io/control-plane: ""}
      containers: [{name: web, image: nginx}]
"""
UNTOLERATED = (
    "the pods require nodes with `node-role.kubernetes.io/control-plane`; these usually have a `NoSchedule` taint that the pods do not "
    "tolerate, so they stay Pending"
)
TOLERATE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tolerate}
spec:
  rules:
  - name: add-toleration
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate:
      patchStrategicMerge:
        spec: {template: {spec: {+(tolerations): [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}}}
"""
IN_CEL = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: tolerate}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |
        Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
          tolerations: [Object.spec.template.spec.tolerations{operator: "Exists"}]}}}}
"""
ASSIGN = """\
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: tolerate}
spec:
  applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}]
  location: "spec.template.spec.tolerations"
  parameters: {assign: {value: [{operator: Exists}]}}
"""
OF_KYVERNO = "the Kyverno ClusterPolicy `tolerate` may set `spec.template.spec.tolerations`"


def found(policy: str, workload: str = WEB) -> Finding:
    """The only finding in a workload next to a policy."""
    (finding,) = lint({"policy.yaml": policy, "web.yaml": workload})
    return finding


def test_a_missing_toleration_is_a_warning_without_a_policy() -> None:
    (finding,) = lint({"web.yaml": WEB})
    assert (places([finding]), finding.message) == (["web.yaml:10:22 warning untolerated-control-plane"], UNTOLERATED)


def test_a_missing_toleration_is_an_info_if_a_policy_may_add_it() -> None:
    finding = found(TOLERATE)
    assert places([finding]) == ["web.yaml:10:22 info untolerated-control-plane"]
    assert finding.message == f"{UNTOLERATED}; {OF_KYVERNO}"


def changed(policy: str, *changes: tuple[str, str]) -> str:
    """A policy with other text."""
    for old, new in changes:
        assert old in policy
        policy = policy.replace(old, new)
    return policy


KINDS = "kinds: [Deployment]"
TO_PODS = (KINDS, "kinds: [Pod]"), ("{template: {spec: {+(tolerations): ", "{+(tolerations): "), ("Exists}]}}}", "Exists}]}")
PATCH = TOLERATE[TOLERATE.index("      patchStrategicMerge") :]


def patched(patch: str) -> str:
    """The policy with another patch."""
    return changed(TOLERATE, (PATCH, f"      {patch}\n"))


@pytest.mark.parametrize(
    ("policy", "clause"),
    [
        pytest.param(
            changed(TOLERATE, *TO_PODS), "the Kyverno ClusterPolicy `tolerate` may set `spec.tolerations` of its pods", id="rule for pods"
        ),
        pytest.param(changed(TOLERATE, (KINDS, "kinds: [apps/v1/Deploy*]")), OF_KYVERNO, id="wildcard and group"),
        pytest.param(changed(TOLERATE, (KINDS, "kinds: ['*']")), OF_KYVERNO, id="all kinds"),
        pytest.param(changed(TOLERATE, (KINDS, f"{KINDS}, namespaces: [sh*]")), OF_KYVERNO, id="namespace"),
        pytest.param(changed(TOLERATE, (KINDS, f"{KINDS}, selector: {{matchLabels: {{a: b}}}}")), OF_KYVERNO, id="not compared"),
        pytest.param(
            changed(TOLERATE, ("ClusterPolicy", "Policy"), ("{name: tolerate}", "{name: tolerate, namespace: shop}")),
            "the Kyverno Policy `tolerate` may set `spec.template.spec.tolerations`",
            id="policy of the namespace",
        ),
        pytest.param(
            patched("patchesJson6902: '[{op: add, path: /spec/template/spec/tolerations/-, value: {operator: Exists}}]'"),
            OF_KYVERNO,
            id="JSON patch",
        ),
        pytest.param(patched("patchesJson6902: '[{op: add, path: \"{{ path }}\", value: {}}]'"), OF_KYVERNO, id="computed path"),
        pytest.param(patched("patchStrategicMerge: '{{ patch }}'"), OF_KYVERNO, id="computed patch"),
        pytest.param(
            patched("foreach: [{list: a, patchStrategicMerge: {spec: {template: {spec: {tolerations: []}}}}}]"), OF_KYVERNO, id="foreach"
        ),
        pytest.param(
            changed(TOLERATE, (KINDS, "kinds: [ConfigMap]"), ("    mutate:\n", "    mutate:\n      targets: [{kind: Deployment}]\n")),
            OF_KYVERNO,
            id="target",
        ),
        pytest.param(IN_CEL, "the MutatingAdmissionPolicy `tolerate` may set `spec.template.spec.tolerations`", id="API server"),
        pytest.param(
            changed(IN_CEL, ("admissionregistration", "policies"), ("k8s.io", "kyverno.io"), ("MutatingAdmissionPolicy", "MutatingPolicy")),
            "the Kyverno MutatingPolicy `tolerate` may set `spec.template.spec.tolerations`",
            id="Kyverno in CEL",
        ),
        pytest.param(ASSIGN, "the Gatekeeper Assign `tolerate` may set `spec.template.spec.tolerations`", id="Gatekeeper"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- " + ASSIGN.rstrip().replace("\n", "\n  ") + "\n",
            "the Gatekeeper Assign `tolerate` may set `spec.template.spec.tolerations`",
            id="in a List",
        ),
    ],
)
def test_a_policy_that_may_set_the_field_is_named(policy: str, clause: str) -> None:
    finding = found(policy)
    assert (finding.severity, finding.message) == ("info", f"{UNTOLERATED}; {clause}")


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(changed(TOLERATE, (KINDS, "kinds: [StatefulSet]")), id="other kind"),
        pytest.param(changed(TOLERATE, (KINDS, f"{KINDS}, namespaces: [bank, db-*]")), id="other namespace"),
        pytest.param(
            changed(TOLERATE, ("ClusterPolicy", "Policy"), ("{name: tolerate}", "{name: tolerate, namespace: bank}")),
            id="policy of another namespace",
        ),
        pytest.param(changed(TOLERATE, ("+(tolerations)", "nodeSelector")), id="other field"),
        pytest.param(changed(TOLERATE, ("+(tolerations)", "(tolerations)")), id="only compared"),
        pytest.param(
            patched("patchesJson6902: '[{op: add, path: /metadata/annotations/a, value: \"{{ tolerations }}\"}]'"), id="only a value"
        ),
        pytest.param(changed(TOLERATE, ("mutate:", "validate:"), ("patchStrategicMerge", "pattern")), id="validating rule"),
        pytest.param(changed(TOLERATE, ("kyverno.io", "example.com")), id="other group"),
        pytest.param(changed(IN_CEL, ("[deployments]", "[statefulsets]")), id="other resource"),
        pytest.param(
            changed(IN_CEL, ("tolerations: [Object.spec.template.spec.tolerations{", "nodeSelector: has(object.spec.tolerations) ? [{")),
            id="only read",
        ),
        pytest.param(changed(ASSIGN, ("kinds: [Deployment]", "kinds: [StatefulSet]")), id="other kind for Gatekeeper"),
        pytest.param(changed(ASSIGN, ("spec:\n", "spec:\n  match: {namespaces: [bank]}\n")), id="other namespace for Gatekeeper"),
        pytest.param(changed(ASSIGN, ("spec.template.spec.tolerations", "spec.template.spec.nodeSelector")), id="other location"),
    ],
)
def test_a_policy_that_does_not_set_the_field_changes_nothing(policy: str) -> None:
    finding = found(policy)
    assert (finding.severity, finding.message) == ("warning", UNTOLERATED)


@pytest.mark.parametrize("value", ["", "5", "[]", "[5]", "{a: 1}", "{any: 5}", "{any: [5]}", "{any: [{resources: [1]}]}", "'{{'"])
@pytest.mark.parametrize(
    "field", ["match", "mutate", "mutate.patchStrategicMerge", "mutate.patchesJson6902", "mutate.foreach", "mutate.targets"]
)
def test_a_policy_that_kyverno_would_reject_is_read(field: str, value: str) -> None:
    *above, name = field.split(".")
    rule = f"{{name: a, {f'{above[0]}: {{{name}: {value}}}' if above else f'{name}: {value}'}}}"
    policy = f"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: a}}\nspec: {{rules: [{rule}]}}\n"
    assert found(policy).rule == "untolerated-control-plane"


def test_a_policy_in_the_context_counts() -> None:
    web, policy = (Source(name, name, text.encode()) for name, text in (("web.yaml", WEB), ("policy.yaml", TOLERATE)))
    (finding,) = run([web], settings_of(), context=[policy]).findings
    assert finding.message.endswith(OF_KYVERNO)


def test_a_policy_applies_to_its_own_cluster_or_example() -> None:
    def severity(policy: str, workload: str) -> str:
        others = {"clusters/west/db.yaml": WEB.replace("web", "db")} if policy.startswith("clusters") else {}
        findings = lint({policy: TOLERATE, workload: WEB, **others})
        return next(each.severity for each in findings if each.file == workload)

    assert severity("clusters/east/policy.yaml", "clusters/east/web.yaml") == "info"
    assert severity("clusters/east/policy.yaml", "clusters/west/web.yaml") == "warning"
    assert severity("examples/one/policy.yaml", "examples/one/web.yaml") == "info"
    assert severity("examples/one/policy.yaml", "web.yaml") == "warning"


LABEL = TOLERATE[: TOLERATE.index("        spec:")] + "        spec: {template: {metadata: {labels: {app: web}}}}\n"
PLAIN = changed(WEB, ('      nodeSelector: {node-role.kubernetes.io/control-plane: ""}\n', ""))


def test_a_mistake_that_the_api_server_rejects_is_an_info_only_if_a_field_is_missing() -> None:
    unlabelled = changed(PLAIN, ("labels: {app: web}", "labels: {team: a}"))
    assert places(lint({"web.yaml": unlabelled})) == ["web.yaml:6:33 error selector-template-mismatch"]
    finding = found(LABEL, unlabelled)
    assert places([finding]) == ["web.yaml:6:33 info selector-template-mismatch"]
    assert finding.message.endswith("; the Kyverno ClusterPolicy `tolerate` may set `spec.template.metadata.labels`")
    invalid = changed(PLAIN, ("labels: {app: web}", "labels: {app: web, team: a b}"))
    assert places([found(LABEL, invalid)]) == ["web.yaml:8:41 error invalid-label-value"]


FOLLOWER = """\
apiVersion: v1
kind: Pod
metadata: {name: cdn, namespace: shop}
spec:
  containers: [{name: cdn, image: nginx}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector: {matchLabels: {app: storefornt}}
        topologyKey: topology.kubernetes.io/zone
"""


def test_the_labels_of_a_target_may_be_set_in_any_workload() -> None:
    files = {"policy.yaml": LABEL, "web.yaml": PLAIN.replace("web", "storefront"), "cdn.yaml": FOLLOWER}
    (finding,) = lint(files)
    assert places([finding]) == ["cdn.yaml:9:9 info affinity-target-missing"]
    assert finding.message.endswith("; the Kyverno ClusterPolicy `tolerate` may set `metadata.labels` of other pods")


NODES = """\
apiVersion: v1
kind: Node
metadata: {name: a1, labels: {kubernetes.io/hostname: a1, node-role.kubernetes.io/control-plane: ""}}
spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
"""


def test_a_proof_about_nodes_is_an_info_if_a_policy_may_add_the_toleration() -> None:
    assert "web.yaml:3:18 error unschedulable" in places(lint({"nodes.yaml": NODES, "web.yaml": WEB}))
    findings = lint({"nodes.yaml": NODES, "web.yaml": WEB, "policy.yaml": TOLERATE})
    assert "web.yaml:3:18 info unschedulable" in places(findings)
    assert {each.severity for each in findings} == {"info"}


POLICY = "- {name: ours, check: required-tolerations, severity: error, params: {tolerations: [{key: gpu, effect: NoSchedule}]}}\n"


def test_a_violation_of_a_configured_policy_is_an_info_whatever_its_severity(tmp_path: Path) -> None:
    def severities(policy: str) -> list[str]:
        findings = findings_of(tmp_path, POLICY, {"web.yaml": WEB, "policy.yaml": policy})
        return [each.severity for each in findings if each.rule == "ours"]

    assert severities(changed(TOLERATE, (KINDS, "kinds: [StatefulSet]"))) == ["error"]
    assert severities(TOLERATE) == ["info"]


@needs_cel
def test_a_denial_by_a_policy_of_the_cluster_is_an_info_if_it_concerns_the_field(tmp_path: Path) -> None:
    def severities(expression: str) -> list[str]:
        (tmp_path / "cluster.yaml").write_text(
            f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: demo}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}}]
  validations: [{{expression: "{expression}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: demo}}
spec: {{policyName: demo, validationActions: [Deny]}}
""",
            encoding="utf-8",
        )
        session = configured(tmp_path, "policies: [cluster.yaml]\nselect: [policy]\n")
        files = [Source(name, str(tmp_path / name), text.encode()) for name, text in (("web.yaml", WEB), ("policy.yaml", TOLERATE))]
        return [each.severity for each in session.check(files, Options()).findings]

    assert severities("has(object.spec.template.spec.tolerations)") == ["info"]
    assert severities("object.spec.replicas > 2") == ["error"]


def test_every_rule_names_fields_that_policies_may_set() -> None:
    named = {field for checks in REGISTRY.values() for each in checks for field in each.missing}
    named |= {field for each in CHECKS.values() for field in each.missing if field != CONCERNED}
    assert {each.removesuffix(OF_OTHERS) for each in named} == FIELDS
