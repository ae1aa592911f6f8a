"""Policies of Kyverno and Gatekeeper in CEL are applied as they are."""

from pathlib import Path

import pytest

from extras import needs_cel
from policies.test_cluster_policies import deployment, namespace, run

pytestmark = needs_cel

POD = "  containers: [{name: web, image: web:1}]\n"


def pod(spec: str = POD, *, name: str = "web", namespace: str = "shop", labels: str = "app: web") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\nspec:\n{spec}"


# ValidatingPolicy.


def validating(more: str = "", *, version: str = "v1", kind: str = "ValidatingPolicy", metadata: str = "", resources: str = "pods") -> str:
    group = '""' if resources == "pods" else "apps"
    return f"""\
apiVersion: policies.kyverno.io/{version}
kind: {kind}
metadata: {{name: team{metadata}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [{group}], apiVersions: [v1], operations: [CREATE], resources: [{resources}]}}]
  variables:
  - {{name: labels, expression: "object.metadata.?labels.orValue({{}})"}}
  validations:
  - expression: "'team' in variables.labels"
    messageExpression: "'no team among ' + string(variables.labels.size())"
{more}"""


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_validating_policy_is_applied_to_pods(tmp_path: Path, version: str) -> None:
    assert run(tmp_path, validating(version=version), pod()).found == ["3:40 error team: no team among 1"]
    assert run(tmp_path, validating(version=version), pod(labels="team: a")) == ([], [])


def test_the_pods_of_controllers_are_checked_where_the_template_is(tmp_path: Path) -> None:
    assert run(tmp_path, validating(), deployment()).found == ["8:16 error team: the pods of Deployment web: no team among 1"]


@pytest.mark.parametrize(
    "actions, severity",
    [("", "error"), ("[Deny]", "error"), ("[Warn, Audit]", "warning"), ("[Audit]", "warning"), ("[Audit, Deny]", "error")],
)
def test_actions_decide_the_severity(tmp_path: Path, actions: str, severity: str) -> None:
    more = f"  validationActions: {actions}\n" if actions else ""
    assert run(tmp_path, validating(more), pod()).found == [f"3:40 {severity} team: no team among 1"]


def test_a_namespaced_policy_applies_only_in_its_namespace(tmp_path: Path) -> None:
    policy = validating(kind="NamespacedValidatingPolicy", metadata=", namespace: shop")
    assert len(run(tmp_path, policy, pod()).found) == 1
    assert run(tmp_path, policy, pod(namespace="bar")) == ([], [])


def test_kyverno_leaves_the_namespaces_of_the_system_alone(tmp_path: Path) -> None:
    assert run(tmp_path, validating(), pod(namespace="kube-system")) == ([], [])


def test_conditions_decide_which_objects_a_policy_applies_to(tmp_path: Path) -> None:
    policy = validating("  matchConditions: [{name: web, expression: \"object.metadata.name == 'web'\"}]\n")
    assert len(run(tmp_path, policy, pod()).found) == 1
    assert run(tmp_path, policy, pod(name="api")) == ([], [])


def exception(more: str = "") -> str:
    return f"""\
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {{name: web, namespace: shop}}
spec:
  policyRefs: [{{name: team, kind: ValidatingPolicy}}]
  matchConditions: [{{name: web, expression: "object.metadata.name == 'web'"}}]
{more}"""


def test_an_exception_exempts_the_objects_that_its_conditions_name(tmp_path: Path) -> None:
    assert run(tmp_path, validating() + exception(), pod()) == ([], [])
    assert len(run(tmp_path, validating() + exception(), pod(name="api")).found) == 1
    assert run(tmp_path, validating(), pod() + exception()) == ([], [])


def test_an_exception_may_allow_images_only(tmp_path: Path) -> None:
    expression = "object.spec.containers.all(c, c.image.startsWith('ok/') || c.image in exceptions.allowedImages)"
    policy = validating(f'  - {{expression: "{expression}", message: image}}\n').replace("'team' in variables.labels", "true")
    allowed = exception("  images: ['web:1']\n")
    assert [each.rpartition(": ")[2] for each in run(tmp_path, policy, pod()).found] == ["image"]
    assert run(tmp_path, policy + allowed, pod()) == ([], [])
    other = pod("  containers: [{name: web, image: web:2}]\n")
    assert [each.rpartition(": ")[2] for each in run(tmp_path, policy + allowed, other).found] == ["image"]


BUDGET = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3}
"""


def listing() -> str:
    found = "resource.List('autoscaling/v2', 'horizontalpodautoscalers', object.metadata.namespace).items"
    policy = validating(resources="deployments").replace("'team' in variables.labels", "true")
    return policy + f'  - {{expression: "{found}.exists(h, h.spec.scaleTargetRef.name == object.metadata.name)", message: no autoscaler}}\n'


def test_other_objects_are_looked_up_among_the_manifests(tmp_path: Path) -> None:
    assert run(tmp_path, listing(), deployment(), more="complete: true\n").found == ["3:18 error team: no autoscaler"]
    assert run(tmp_path, listing(), deployment() + BUDGET, more="complete: true\n") == ([], [])


def test_a_list_is_not_evaluated_unless_the_manifests_are_complete(tmp_path: Path) -> None:
    ran = run(tmp_path, listing(), deployment())
    assert ran.found == []
    assert "it needs all `horizontalpodautoscalers`, and the manifests may not be all" in ran.messages[0]


def getting() -> str:
    policy = validating().replace("'team' in variables.labels", "true")
    allowed = "resource.Get('v1', 'configmaps', 'default', 'classes').data.allowed.split(',')"
    return policy + f"  - {{expression: \"object.spec.?priorityClassName.orValue('') in {allowed}\", message: class}}\n"


CLASSES = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: classes, namespace: default}\ndata: {allowed: 'high,low'}\n"


def test_one_object_is_looked_up_without_all_others(tmp_path: Path) -> None:
    assert [each.rpartition(": ")[2] for each in run(tmp_path, getting(), pod() + CLASSES).found] == ["class"]
    assert run(tmp_path, getting(), pod("  priorityClassName: high\n" + POD) + CLASSES) == ([], [])
    missing = "the manifests do not contain `classes` of `configmaps` in namespace `default`"
    assert run(tmp_path, getting(), pod()) == (
        [],
        [f"admission.yaml:12:18: policy `team`: {missing}; the policy is not evaluated for Pod web in web.yaml"],
    )


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("http.Get('https://example.com').ok == true", "`http` needs a network"),
        (
            "image.GetMetadata(object.spec.containers[0].image).config.os == 'linux'",
            "`image.GetMetadata` needs a network; the policy is not evaluated for Pod web in web.yaml",
        ),
        ("globalContext.Get('x', '') == true", "`globalContext` needs a cluster"),
        ("resource.Post('v1', 'x', {}).ok == true", "`resource.Post` needs a cluster"),
    ],
)
def test_functions_that_need_a_cluster_or_a_network_are_not_evaluated(tmp_path: Path, expression: str, reason: str) -> None:
    policy = validating(f'  - expression: "{expression}"\n').replace("'team' in variables.labels", "true")
    ran = run(tmp_path, policy, pod())
    assert ran.found == []
    assert ran.messages == [f"admission.yaml:12:17: policy `team`: {reason}"] or reason in ran.messages[0]


def test_images_are_parsed(tmp_path: Path) -> None:
    expression = "object.spec.containers.all(c, image(c.image).registry() == 'docker.io' && image(c.image).tag() == '1')"
    policy = validating(f'  - {{expression: "{expression}", message: image}}\n').replace("'team' in variables.labels", "true")
    assert run(tmp_path, policy, pod()) == ([], [])
    assert len(run(tmp_path, policy, pod("  containers: [{name: web, image: 'ghcr.io/web:1'}]\n")).found) == 1


def test_or_value_takes_values_that_are_not_optional_in_kyverno(tmp_path: Path) -> None:
    expression = "object.spec.containers.orValue([]).all(c, c.name == 'web')"
    policy = validating(f'  - {{expression: "{expression}", message: name}}\n').replace("'team' in variables.labels", "true")
    assert run(tmp_path, policy, pod()) == ([], [])


def test_a_policy_for_payloads_is_named(tmp_path: Path) -> None:
    policies = validating() + "---\n" + validating("  evaluation: {mode: JSON}\n").replace("name: team", "name: payload")
    assert run(tmp_path, policies, pod(labels="team: a")).messages == [
        "admission.yaml:24:22: policy `payload` is for JSON payloads, not for objects of the cluster"
    ]


def test_a_policy_that_kyverno_rejects_is_reported(tmp_path: Path) -> None:
    policy = validating("  - expression: object.spec.hostNetwork\n")
    fault = "`expression` must evaluate to a boolean, but its type is `dyn`; compare it, as in `… == true`"
    assert run(tmp_path, policy, pod()).found == [f"12:17 error team: Kyverno rejects this policy: {fault}"]


# ClusterPolicy with validate.cel.


def classic(*, spec: str = "", match: str = "any: [{resources: {kinds: [Pod]}}]", rule: str = "", validate: str = "") -> str:
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: team}}
spec:
{spec}  rules:
  - name: has-team
    match: {{{match}}}
{rule}    validate:
{validate}      message: a team is missing
      cel:
        variables:
        - {{name: labels, expression: "object.metadata.?labels.orValue({{}})"}}
        expressions:
        - expression: "'team' in variables.labels"
"""


def test_a_rule_with_cel_is_applied(tmp_path: Path) -> None:
    assert run(tmp_path, classic(), pod()).found == ["3:40 warning team: a team is missing"]
    assert run(tmp_path, classic(), deployment()).found == ["8:16 warning team: the pods of Deployment web: a team is missing"]
    assert run(tmp_path, classic(), pod(labels="team: a")) == ([], [])


@pytest.mark.parametrize(
    "spec, validate",
    [
        ("  validationFailureAction: Enforce\n", ""),
        ("  validationFailureAction: enforce\n", ""),
        ("  validationFailureAction: Audit\n", "      failureAction: Enforce\n"),
        ("  validationFailureActionOverrides: [{action: Enforce, namespaces: [sh*]}]\n", ""),
    ],
)
def test_enforced_rules_are_errors(tmp_path: Path, spec: str, validate: str) -> None:
    assert run(tmp_path, classic(spec=spec, validate=validate), pod()).found == ["3:40 error team: a team is missing"]


def test_an_override_is_for_its_namespaces(tmp_path: Path) -> None:
    spec = "  validationFailureActionOverrides: [{action: Enforce, namespaces: [prod-*]}]\n"
    assert run(tmp_path, classic(spec=spec), pod()).found == ["3:40 warning team: a team is missing"]


def test_exclusions_and_preconditions_are_respected(tmp_path: Path) -> None:
    exclude = "    exclude: {any: [{resources: {namespaces: [shop]}}]}\n"
    assert run(tmp_path, classic(rule=exclude), pod()) == ([], [])
    assert len(run(tmp_path, classic(rule=exclude), pod(namespace="bar")).found) == 1
    condition = "    celPreconditions: [{name: web, expression: \"object.metadata.name == 'api'\"}]\n"
    assert run(tmp_path, classic(rule=condition), pod()) == ([], [])


def test_the_labels_of_a_namespace_must_be_known(tmp_path: Path) -> None:
    match = "any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {tier: web}}}}]"
    reason = "it depends on the labels of the namespace, which no manifest shows; the policy is not evaluated for Pod web in web.yaml"
    assert run(tmp_path, classic(match=match), pod()) == ([], [f"admission.yaml:3:18: policy `team`: {reason}"])
    assert len(run(tmp_path, classic(match=match), namespace("shop", "tier: web") + pod()).found) == 1
    assert run(tmp_path, classic(match=match), namespace("shop", "tier: db") + pod()) == ([], [])


def test_a_classic_exception_exempts_objects(tmp_path: Path) -> None:
    exempt = """\
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: web, namespace: shop}
spec:
  exceptions: [{policyName: team, ruleNames: [has-*]}]
  match: {any: [{resources: {kinds: [Pod], names: [web]}}]}
"""
    assert run(tmp_path, classic() + exempt, pod()) == ([], [])
    assert len(run(tmp_path, classic() + exempt, pod(name="api")).found) == 1
    conditions = "  conditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}\n"
    reason = "admission.yaml:3:18: policy `team`: a PolicyException of Kyverno has conditions, which afflint does not evaluate"
    ran = run(tmp_path, classic() + exempt + conditions, pod())
    assert (ran.found, [each.partition(";")[0] for each in ran.messages]) == ([], [reason])


def test_other_rules_are_named(tmp_path: Path) -> None:
    other = "  - {name: pattern, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {spec: {hostNetwork: false}}}}\n"
    ran = run(tmp_path, classic() + other, pod(labels="team: a"))
    assert ran.messages == ["admission.yaml:15:6: policy `team`: the rule `pattern` uses `pattern`; afflint evaluates only `validate.cel`"]


def test_a_policy_with_many_other_rules_is_one_line(tmp_path: Path) -> None:
    matched = "match: {any: [{resources: {kinds: [Pod]}}]}"
    other = "".join(
        f"  - {{name: {name}, {matched}, {does}}}\n"
        for name, does in (
            ("a", "validate: {pattern: {}}"),
            ("b", "validate: {foreach: []}"),
            ("signed", "verifyImages: []"),
            ("labels", "mutate: {patchStrategicMerge: {}}"),
            ("copies", "generate: {kind: ConfigMap}"),
        )
    )
    (messages,) = run(tmp_path, classic() + other, pod(labels="team: a")).messages
    rules = "the rules `a`, `b` and `signed` use `pattern`, `foreach` and `verifyImages`"
    assert messages.endswith(f"policy `team`: {rules}; afflint evaluates only `validate.cel`")


def test_of_many_policies_in_other_languages_some_are_named(tmp_path: Path) -> None:
    rule = "{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {}}}"
    others = "".join(
        f"---\n{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p{number:02}}}, spec: {{rules: [{rule}]}}}}\n"
        for number in range(14)
    )
    messages = run(tmp_path, classic() + others, pod(labels="team: a")).messages
    assert len(messages) == 11
    assert messages[-1].endswith("this policy and 3 more are not in CEL, and not evaluated either")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "apiVersion: policy.kyverno.io/v1\nkind: ValidatingPolicy",
            "`policy.kyverno.io/v1` has no ValidatingPolicy, so this policy is not read; its API group is `policies.kyverno.io`",
        ),
        (
            "apiVersion: policies.kyverno.io/v1beta7\nkind: ValidatingPolicy",
            "afflint does not know the version `v1beta7` of ValidatingPolicy, and reads it as `v1`; did you mean `v1beta1`?",
        ),
        (
            "apiVersion: policies.kyverno.io/v1\nkind: ImageValidatingPolicy",
            "policy `other` is not evaluated: it verifies images, which needs a network",
        ),
        ("apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign", "afflint does not apply mutations of Gatekeeper, such as this Assign"),
    ],
)
def test_what_is_not_read_as_a_policy_is_named(tmp_path: Path, header: str, message: str) -> None:
    messages = run(tmp_path, classic() + f"---\n{header}\nmetadata: {{name: other}}\nspec: {{}}\n", pod(labels="team: a")).messages
    assert [each.partition(": ")[2] for each in messages] == [message]


def test_an_exception_from_an_unknown_policy_is_named(tmp_path: Path) -> None:
    exempt = """\
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: web, namespace: shop}
spec: {policyRefs: [{name: teams, kind: ValidatingPolicy}]}
"""
    messages = run(tmp_path, classic() + exempt, pod(labels="team: a")).messages
    assert [each.partition(": ")[2] for each in messages] == [
        "no ValidatingPolicy `teams` is among the files, but the PolicyException `web` names it; did you mean `team`?"
    ]


# Gatekeeper.

TEMPLATE = """\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: requiredlabels}
spec:
  crd:
    spec:
      names: {kind: RequiredLabels}
      validation:
        openAPIV3Schema: {type: object, properties: {labels: {type: array, default: [owner]}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        variables:
        - {name: own, expression: "has(variables.anyObject.metadata.labels) ? variables.anyObject.metadata.labels : {}"}
        validations:
        - expression: "variables.params.labels.all(each, each in variables.own)"
          messageExpression: "'labels ' + variables.params.labels.join(', ') + ' are required'"
"""


def constraint(match: str = "", *, action: str = "", parameters: str = "parameters: {labels: [team]}") -> str:
    return f"""\
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: RequiredLabels
metadata: {{name: team}}
spec:
  match: {{{match}}}
{action}  {parameters}
"""


def test_a_constraint_with_its_template_is_applied(tmp_path: Path) -> None:
    assert run(tmp_path, TEMPLATE + constraint(), pod()).found == ["3:40 error team: labels team are required"]
    assert run(tmp_path, TEMPLATE + constraint(), pod(labels="team: a")) == ([], [])


def test_parameters_have_the_defaults_of_the_template(tmp_path: Path) -> None:
    policies = TEMPLATE + constraint(parameters="parameters: {}")
    assert run(tmp_path, policies, pod()).found == ["3:40 error team: labels owner are required"]


@pytest.mark.parametrize(
    "match, applies",
    [
        ("kinds: [{apiGroups: [''], kinds: [Pod]}]", True),
        ("kinds: [{apiGroups: ['*'], kinds: ['*']}]", True),
        ("kinds: [{apiGroups: [apps], kinds: [Pod]}]", False),
        ("kinds: [{apiGroups: [''], kinds: [Service]}]", False),
        ("namespaces: [sh*]", True),
        ("namespaces: ['*op', bar]", True),
        ("namespaces: [bar]", False),
        ("excludedNamespaces: [shop]", False),
        ("excludedNamespaces: ['kube-*']", True),
        ("labelSelector: {matchLabels: {app: web}}", True),
        ("labelSelector: {matchLabels: {app: api}}", False),
        ("scope: Namespaced", True),
        ("scope: Cluster", False),
        ("name: we*", True),
        ("name: api", False),
        ("namespaceSelector: {matchLabels: {tier: web}}", True),
        ("namespaceSelector: {matchLabels: {tier: db}}", False),
    ],
)
def test_the_match_of_a_constraint(tmp_path: Path, match: str, applies: bool) -> None:
    found = run(tmp_path, TEMPLATE + constraint(match), namespace("shop", "tier: web, team: a") + pod()).found
    assert len(found) == applies


@pytest.mark.parametrize(
    "action, severity",
    [
        ("  enforcementAction: deny\n", "error"),
        ("  enforcementAction: warn\n", "warning"),
        ("  enforcementAction: dryrun\n", "info"),
        ("  enforcementAction: scoped\n  scopedEnforcementActions: [{action: dryrun, enforcementPoints: []}, {action: warn}]\n", "warning"),
    ],
)
def test_the_enforcement_action_decides_the_severity(tmp_path: Path, action: str, severity: str) -> None:
    assert run(tmp_path, TEMPLATE + constraint(action=action), pod()).found == [f"3:40 {severity} team: labels team are required"]


def test_a_template_without_a_constraint_or_in_rego_is_named(tmp_path: Path) -> None:
    rego = TEMPLATE.replace("K8sNativeValidation", "Rego").replace("RequiredLabels", "Other").replace("requiredlabels", "other")
    idle = TEMPLATE.replace("RequiredLabels", "Idle").replace("requiredlabels", "idle")
    policies = TEMPLATE + constraint() + "---\n" + rego + "---\n" + idle
    assert [each.partition(": ")[2] for each in run(tmp_path, policies, pod(labels="team: a")).messages] == [
        "the template of `Other` is in Rego; afflint evaluates only CEL, the engine `K8sNativeValidation`",
        "no constraint of the kind `Idle` applies this template",
    ]


def test_an_expression_that_fails_is_a_violation(tmp_path: Path) -> None:
    template = TEMPLATE.replace("variables.params.labels.all(each, each in variables.own)", "variables.own.team == 'a'")
    found = run(tmp_path, template + constraint("kinds: [{apiGroups: [apps], kinds: [Deployment]}]"), deployment()).found
    assert found == ["3:40 error team: expression 'variables.own.team == 'a'' resulted in error: no such key: team"]
