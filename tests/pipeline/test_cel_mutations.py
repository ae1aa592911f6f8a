"""Mutating policies in CEL among the manifests: MutatingAdmissionPolicies of the API server, and MutatingPolicies of Kyverno."""

from __future__ import annotations

from pathlib import Path

import pytest

from afflint.admission import cel
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import Source
from extras import needs_cel
from linting import places, settings_of
from policing import configured

pytestmark = needs_cel

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {distributed: required}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
"""
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: a1, labels: {kubernetes.io/hostname: a1}}
spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
"""
SPREAD = """\
apiVersion: VERSION
kind: KIND
metadata: {name: spread}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  matchConditions:
  - {name: asks, expression: "object.metadata.?labels.distributed.orValue('') == 'required'"}
  variables:
  - {name: key, expression: "'topology.kubernetes.io/zone'"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: |
        has(object.spec.template.spec.topologySpreadConstraints) ? [] : [JSONPatch{
          op: "add", path: "/spec/template/spec/topologySpreadConstraints",
          value: [Object.spec.template.spec.topologySpreadConstraints{
            maxSkew: 1, topologyKey: variables.key, whenUnsatisfiable: "DoNotSchedule",
            labelSelector: Object.spec.template.spec.topologySpreadConstraints.labelSelector{matchLabels: {"distributed": "required"}}
          }]
        }]
"""
OF_PODS = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: pods}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  reinvocationPolicy: Never
  mutations:
"""
TOLERATE = f"""\
{OF_PODS}\
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{{op: "add", path: "/spec/tolerations", value: [{{"key": "gpu", "operator": "Exists"}}]}}]
---
{BINDING.replace("NAME", "pods")}"""


def spread(kind: str = "MutatingPolicy", version: str = "policies.kyverno.io/v1") -> str:
    """A policy that adds a spread constraint which selects no pod."""
    return SPREAD.replace("VERSION", version).replace("KIND", kind)


def applying(expression: str, more: str = "") -> str:
    """A policy with an apply configuration for pods, and its binding."""
    mutation = f"  - {{patchType: ApplyConfiguration, applyConfiguration: {{expression: '{expression}'}}}}\n"
    return f"{OF_PODS.replace('  mutations:', f'{more}  mutations:')}{mutation}---\n{BINDING.replace('NAME', 'pods')}"


def outcome(files: dict[str, str]) -> Outcome:
    """A run over files by name."""
    return run([Source(name, name, text.encode()) for name, text in files.items()], settings_of(), Options())


def findings(files: dict[str, str]) -> list[Finding]:
    """The findings of a run over files by name."""
    return outcome(files).findings


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_finding_that_a_policy_of_the_api_server_causes_is_at_the_policy(version: str) -> None:
    policy = spread("MutatingAdmissionPolicy", f"admissionregistration.k8s.io/{version}")
    (found,) = findings({"policy.yaml": f"{policy}---\n{BINDING.replace('NAME', 'spread')}", "web.yaml": WEB})
    assert places([found]) == ["policy.yaml:11:3 warning label-not-on-template"]
    assert found.message.startswith("Deployment web, as this policy changes it: the label `distributed: required` is set only on the Dep")
    assert [(each.file, each.span.line, each.message) for each in found.related] == [("web.yaml", 3, "Deployment web")]


def test_a_policy_without_binding_is_not_applied() -> None:
    assert findings({"policy.yaml": spread("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1"), "web.yaml": WEB}) == []


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_finding_that_a_policy_of_kyverno_causes_is_at_the_policy(version: str) -> None:
    (found,) = findings({"policy.yaml": spread(version=f"policies.kyverno.io/{version}"), "web.yaml": WEB})
    assert places([found]) == ["policy.yaml:11:3 warning label-not-on-template"]


def test_conditions_decide_whether_a_policy_applies() -> None:
    assert findings({"policy.yaml": spread(), "web.yaml": WEB.replace("distributed: required", "distributed: no-need")}) == []


def test_a_policy_that_is_off_or_changes_other_objects_is_not_applied() -> None:
    for more in ("evaluation: {admission: {enabled: false}}", "targetMatchConstraints: {resourceRules: []}"):
        assert findings({"policy.yaml": spread().replace("spec:\n  match", f"spec:\n  {more}\n  match"), "web.yaml": WEB}) == []


def test_a_policy_of_a_namespace_applies_there_only() -> None:
    def policy(namespace: str) -> str:
        return spread("NamespacedMutatingPolicy").replace("{name: spread}", f"{{name: spread, namespace: {namespace}}}")

    assert len(findings({"policy.yaml": policy("shop"), "web.yaml": WEB})) == 1
    assert findings({"policy.yaml": policy("other"), "web.yaml": WEB}) == []


def test_pods_are_changed_when_they_are_created() -> None:
    assert [each.rule for each in findings({"nodes.yaml": NODES, "web.yaml": WEB})] == ["unschedulable"]
    assert findings({"nodes.yaml": NODES, "web.yaml": WEB, "policy.yaml": TOLERATE}) == []


def test_an_apply_configuration_merges_lists_by_their_keys() -> None:
    node = NODES.replace('spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}', "")
    port = WEB.replace("image: nginx", "image: nginx, ports: [{containerPort: 80}]")
    policy = applying(
        "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{"
        ' name: c.name, ports: [Object.spec.containers.ports{containerPort: 80, protocol: "TCP", hostPort: 80}]})}}'
    )
    (found,) = findings({"nodes.yaml": node, "web.yaml": port, "policy.yaml": policy})
    assert found.rule == "too-few-domains"
    assert (found.object.kind, found.object.name) == ("MutatingAdmissionPolicy", "pods")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param(
            'Object{spec: Object.spec{nodeSelector: {"disk": "ssd"}}}',
            "the policy fails for it: an apply configuration may not change `spec.nodeSelector`, which is atomic",
            id="atomic",
        ),
        pytest.param(
            'Object{spec: Object.metadata{nodeName: "a1"}}',
            "the API server rejects the object, because the policy fails for it: `Object.metadata` is used where `Object.spec` belongs",
            id="type",
        ),
        pytest.param('{"spec": "nodeSelector"}', "`Object`", id="no object"),
        pytest.param("Object{spec: Object.spec{nodeName: nodes.first}}", "the API server rejects it: `nodes` is not defined", id="unknown"),
    ],
)
def test_what_a_policy_cannot_do_is_named(expression: str, reason: str) -> None:
    (line,) = outcome({"web.yaml": WEB, "policy.yaml": applying(expression)}).unevaluated
    assert "policy `pods`" in line
    assert reason in line
    assert "Deployment web in web.yaml" in line


def test_what_a_policy_of_kyverno_cannot_do_is_named() -> None:
    policy = spread().replace('op: "add", path: "/spec/template', 'op: "replace", path: "/spec/pod')
    (line,) = outcome({"web.yaml": WEB, "policy.yaml": policy}).unevaluated
    assert "policy `spread`: the policy fails for it: `replace` of `/spec/pod/spec/topologySpreadConstraints` fails" in line


def test_without_the_library_for_cel_a_policy_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise UserError("policies in CEL need `cel-expr-python`")

    monkeypatch.setattr(cel, "compiled", missing)
    (line,) = outcome({"web.yaml": WEB, "policy.yaml": spread()}).unevaluated
    assert "policy `spread`: policies in CEL need `cel-expr-python`" in line


def test_a_policy_is_invoked_again_after_a_later_policy_changed_the_object() -> None:
    def policy(name: str, policy: str, word: str, label: str) -> str:
        text = OF_PODS.replace("{name: pods}", f"{{name: {name}}}").replace("Policy: Never", f"Policy: {policy}")
        condition = f"object.metadata.labels.?step.orValue('') == '{word}'"
        text = text.replace("  mutations:", f'  matchConditions: [{{name: step, expression: "{condition}"}}]\n  mutations:')
        patch = f"[JSONPatch{{op: 'add', path: '/{label}}}]"
        return f'{text}  - {{patchType: JSONPatch, jsonPatch: {{expression: "{patch}"}}}}\n---\n{BINDING.replace("NAME", name)}'

    tolerate = "spec/tolerations', value: [{'key': 'gpu', 'operator': 'Exists'}]"
    for reinvocation, rules in (("Never", ["unschedulable"]), ("IfNeeded", [])):
        first = policy("a-first", reinvocation, "two", tolerate)
        then = policy("b-then", "Never", "", "metadata/labels/step', value: 'two'")
        found = findings({"nodes.yaml": NODES, "web.yaml": WEB, "policy.yaml": f"{first}---\n{then}"})
        assert [each.rule for each in found] == rules


def test_a_policy_that_ignores_failures_changes_nothing_then() -> None:
    policy = applying('Object{spec: Object.spec{nodeSelector: {"disk": "ssd"}}}', "  failurePolicy: Ignore\n")
    assert outcome({"web.yaml": WEB, "policy.yaml": policy}).unevaluated == ()


def test_what_only_kyverno_evaluates_is_named() -> None:
    policy = spread().replace("'topology.kubernetes.io/zone'", "resource.Get('v1', 'namespaces', '', 'a').metadata.labels.key")
    (line,) = outcome({"web.yaml": WEB, "policy.yaml": policy}).unevaluated
    assert "policy `spread`: afflint does not evaluate it: `resource` is not defined" in line


def test_a_namespace_that_no_manifest_shows_leaves_a_policy_undecided() -> None:
    selecting = spread().replace("  matchConditions:", "    namespaceSelector: {matchLabels: {team: a}}\n  matchConditions:")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n"
    (line,) = outcome({"web.yaml": WEB, "policy.yaml": selecting}).unevaluated
    assert "it depends on the labels of the namespace, but `shop` is not among the manifests" in line
    assert len(findings({"web.yaml": WEB, "policy.yaml": selecting, "namespace.yaml": namespace})) == 1


def test_parameters_are_those_of_the_binding() -> None:
    policy = spread("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1")
    policy = policy.replace("spec:\n  match", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  match")
    policy = policy.replace("'topology.kubernetes.io/zone'", "params.data.key")
    bound = BINDING.replace("policyName: NAME", "policyName: NAME, paramRef: {name: keys, namespace: shop}").replace("NAME", "spread")
    files = {"web.yaml": WEB, "policy.yaml": f"{policy}---\n{bound}"}
    params = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keys, namespace: shop}\ndata: {key: topology.kubernetes.io/zone}\n"
    assert "the parameters that `spread` refers to are not among the manifests" in outcome(files).unevaluated[0]
    assert len(findings({**files, "params.yaml": params})) == 1


VALIDATING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tolerant}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - {expression: has(object.spec.tolerations), message: pods must have tolerations}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tolerant}
spec: {policyName: tolerant, validationActions: [Deny]}
"""
PODS = 'apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]'
DEPLOYMENTS = "apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]"


def validated(folder: Path, validating: str, mutating: str) -> list[str]:
    """The findings of a policy of the cluster after a mutating policy."""
    for name, text in (("validating.yaml", validating), ("web.yaml", WEB), ("mutating.yaml", mutating)):
        (folder / name).write_text(text, encoding="utf-8")
    session = configured(folder, "policies: [validating.yaml]\nselect: [policy]\n")
    found = session.check(session.sources([str(folder / name) for name in ("web.yaml", "mutating.yaml")]), Options()).findings
    return [f"{Path(each.file).name}:{each.span.line}:{each.span.column} {each.message}" for each in found]


def test_validating_policies_judge_pods_after_mutating_ones(tmp_path: Path) -> None:
    assert validated(tmp_path, VALIDATING, "") == ["web.yaml:9:5 the pods of Deployment web: pods must have tolerations"]
    assert validated(tmp_path, VALIDATING, TOLERATE) == []


def test_a_policy_of_pods_does_not_change_the_object_that_creates_them(tmp_path: Path) -> None:
    of_templates = VALIDATING.replace(PODS, DEPLOYMENTS).replace("object.spec.", "object.spec.template.spec.")
    assert len(validated(tmp_path, of_templates, TOLERATE)) == 1
    of_deployments = TOLERATE.replace(PODS, DEPLOYMENTS).replace('"/spec/', '"/spec/template/spec/')
    assert validated(tmp_path, of_templates, of_deployments) == []


def test_what_a_validating_policy_rejects_after_a_mutation_names_the_mutating_policy(tmp_path: Path) -> None:
    forbidding = VALIDATING.replace("has(object.spec.tolerations)", '"!has(object.spec.tolerations)"').replace("must", "must not")
    (found,) = validated(tmp_path, forbidding, TOLERATE)
    assert found == "web.yaml:3:18 as a mutating policy changes it: the pods of Deployment web: pods must not have tolerations"
