"""ValidatingAdmissionPolicies that the configuration names refuse here what the API server would refuse; what only it can tell is said.

The policies are those that the documentation of the API shows, in our words.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from afflint import config as configuration
from afflint.pipeline.options import Options
from extras import needs_cel
from policing import configured

pytestmark = needs_cel


class Ran(NamedTuple):
    """What policies find, ``web.yaml:7:13 error policy: message``, and what they came to no result for."""

    found: list[str]
    messages: list[str]


def run(folder: Path, policies: str, manifests: str, *, more: str = "", inline: bool = True) -> Ran:
    """Runs over manifests with policies of a cluster in a file of their own."""
    (folder / "admission.yaml").write_text(policies, encoding="utf-8")
    (folder / "web.yaml").write_text(manifests, encoding="utf-8")
    session = configured(folder, f"policies: [admission.yaml]\nselect: [policy]\n{more}")
    outcome = session.check(session.sources([str(folder / "web.yaml")]), Options(inline=inline))

    def short(text: str) -> str:
        return text.replace(f"{folder.as_posix()}/", "").replace(f"{folder}/", "")

    found = [f"{each.span.line}:{each.span.column} {each.severity} {each.rule}: {each.message}" for each in outcome.findings]
    return Ran(found, [short(line) for line in outcome.unevaluated])


def policy(validations: str, *, name: str = "demo", resources: str = "deployments", group: str = "apps", more: str = "") -> str:
    """A policy about one resource."""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {{apiGroups: ["{group}"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: ["{resources}"]}}
{more}  validations:
{validations}"""


def binding(more: str = "", *, name: str = "everywhere", policy: str = "demo", actions: str = "Deny") -> str:
    """A binding of a policy."""
    return f"""
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: {policy}
  validationActions: [{actions}]
{more}"""


FIVE = "  - expression: object.spec.replicas <= 5\n"
IN_TEST = "  matchResources: {namespaceSelector: {matchLabels: {environment: test}}}\n"
NOT_IN_TEST = "  matchResources: {namespaceSelector: {matchExpressions: [{key: environment, operator: NotIn, values: [test]}]}}\n"


def namespace(name: str, labels: str = "") -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n---\n"


def deployment(replicas: str = "6", *, namespace: str = "shop", image: str = "web:1", labels: str = "app: web", pod: str = "") -> str:
    """Its line of replicas is the fifth, and that of the image the last."""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {namespace}, labels: {{{labels}}}}}
spec:
  {f"replicas: {replicas}" if replicas else "paused: false"}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
{pod}      containers: [{{name: web, image: "{image}"}}]
"""


# The examples of the documentation.


@pytest.mark.parametrize("action", ["{}", "[]", "5", "null"])
def test_what_is_not_an_action_is_ignored(tmp_path: Path, action: str) -> None:
    ran = run(tmp_path, policy(FIVE) + binding(actions=action), deployment())
    value = f"`{action}` is not one of `Audit`, `Deny` and `Warn`"
    assert ran.found == [f"18:23 error demo: the API server rejects this binding: {value}"]


def test_a_policy_holds_where_a_binding_says(tmp_path: Path) -> None:
    policies = policy(FIVE) + binding(IN_TEST)
    wanted = ["8:13 error demo: failed expression: object.spec.replicas <= 5"]
    assert run(tmp_path, policies, namespace("shop", "environment: test") + deployment()).found == [
        each.replace("8:13", "9:13") for each in wanted
    ]
    assert run(tmp_path, policies, namespace("shop", "environment: prod") + deployment()) == ([], [])
    assert run(tmp_path, policies, namespace("shop", "environment: test") + deployment("5")) == ([], [])


def test_where_the_namespace_is_not_known_nothing_is_reported_for_the_object(tmp_path: Path) -> None:
    ran = run(tmp_path, policy(FIVE) + binding(IN_TEST), deployment())
    assert ran.found == []
    reason = "it depends on the labels of the namespace, but `shop` is not among the manifests"
    assert ran.messages == [f"admission.yaml:3:18: policy `demo`: {reason}; the policy is not evaluated for Deployment web in web.yaml"]


LIMIT = "  paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}\n"
LIMITED = "  - expression: object.spec.replicas <= params.maxReplicas\n    messageExpression: \"'at most ' + string(params.maxReplicas)\"\n"


def limit(name: str, most: int, namespace: str = "default") -> str:
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"---\napiVersion: rules.example.com/v1\nkind: ReplicaLimit\n{metadata}\nmaxReplicas: {most}\n"


def test_bindings_choose_the_parameters_of_their_objects(tmp_path: Path) -> None:
    policies = (
        policy(LIMITED, more=LIMIT)
        + binding("  paramRef: {name: small, namespace: default, parameterNotFoundAction: Deny}\n" + IN_TEST, name="test")
        + binding("  paramRef: {name: large, namespace: default, parameterNotFoundAction: Deny}\n" + NOT_IN_TEST, name="others")
        + limit("small", 3)
        + limit("large", 100)
    )
    in_test, elsewhere = namespace("shop", "environment: test"), namespace("shop")
    assert run(tmp_path, policies, in_test + deployment("4")).found == ["9:13 error demo: at most 3"]
    assert run(tmp_path, policies, elsewhere + deployment("4")).found == []
    assert run(tmp_path, policies, elsewhere + deployment("101")).found == ["9:13 error demo: at most 100"]


def test_parameters_may_lie_in_the_namespace_of_the_object_and_be_chosen_by_labels(tmp_path: Path) -> None:
    policies = policy(LIMITED, more=LIMIT) + binding("  paramRef: {selector: {matchLabels: {use: this}}, parameterNotFoundAction: Deny}\n")
    missing = "the parameters that `everywhere` refers to are not among the manifests"
    labelled = limit("one", 3, "shop").replace("namespace: shop", "namespace: shop, labels: {use: this}")
    assert run(tmp_path, policies, deployment("4") + labelled + limit("other", 1, "shop")).found == ["5:13 error demo: at most 3"]
    assert run(tmp_path, policies, deployment("4") + labelled.replace("namespace: shop", "namespace: bar")).messages == [
        f"admission.yaml:3:18: policy `demo`: {missing}; the policy is not evaluated for Deployment web in web.yaml"
    ]


ANNOTATED = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, annotations: {example.com/snippet: "%s"}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
"""


@pytest.mark.parametrize("value", ["x", "<b>", "<script>x</script>", "{{x}}", "${x}", "location / { return 200 $HOST; }"])
def test_the_value_of_an_annotation_does_not_matter_to_a_policy_about_its_key(tmp_path: Path, value: str) -> None:
    policies = policy(
        """  - expression: "!object.metadata.annotations.exists(a, a == 'example.com/snippet')"\n    message: no snippets\n""",
        resources="ingresses",
        group="networking.k8s.io",
    )
    assert run(tmp_path, policies + binding(), ANNOTATED % value) == (["3:40 error demo: no snippets"], [])


@pytest.mark.parametrize(
    "expression, decides",
    [
        ("object.metadata.annotations['example.com/snippet'] == 'off'", False),
        ("object.metadata.annotations['example.com/snippet'] in ['off', 'none']", False),
        ("object.metadata.annotations['example.com/snippet'].size() == 0", False),
        ("has(object.metadata.annotations.owner) || object.metadata.annotations.size() > 1", True),
        ("object.metadata.annotations['example.com/snippet'] == 'off' && object.metadata.name == 'api'", True),
    ],
)
def test_a_placeholder_leaves_undecided_only_what_its_value_could_change(tmp_path: Path, expression: str, decides: bool) -> None:
    policies = policy(f'  - expression: "{expression}"\n    message: refused\n', resources="ingresses", group="networking.k8s.io")
    ran = run(tmp_path, policies + binding(), ANNOTATED % "${SNIPPET}")
    assert [len(ran.found), len(ran.messages)] == ([1, 0] if decides else [0, 1])


@pytest.mark.parametrize(
    "expression",
    [
        "namespaceObject.metadata.name != 'default'",
        "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] != 'default'",
        "!('kubernetes.io/metadata.name' in namespaceObject.metadata.labels) || namespaceObject.metadata.name.size() > 7",
    ],
)
def test_the_name_of_a_namespace_without_a_manifest_is_known(tmp_path: Path, expression: str) -> None:
    policies = policy(f'  - {{expression: "{expression}", message: not there}}\n') + binding()
    assert run(tmp_path, policies, deployment(namespace="default")) == (["3:34 error demo: not there"], [])
    assert run(tmp_path, policies, deployment(namespace="production")) == ([], [])


def test_without_parameters_params_is_null(tmp_path: Path) -> None:
    validations = '  - {expression: "params != null", message: params missing}\n'
    assert run(tmp_path, policy(validations, more=LIMIT) + binding(), deployment()).found == ["3:18 error demo: params missing"]


IMAGES = """\
  variables:
  - name: environment
    expression: "'environment' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['environment'] : 'prod'"
  - name: exempt
    expression: "has(object.metadata.labels) && 'exempt' in object.metadata.labels && object.metadata.labels['exempt'] == 'true'"
  - name: containers
    expression: object.spec.template.spec.containers
  - name: checked
    expression: variables.containers.filter(each, each.image.contains('example.com/'))
"""
ONLY = """\
  - expression: variables.exempt || variables.checked.all(each, each.image.startsWith(variables.environment + '.'))
    messageExpression: "'only ' + variables.environment + ' images are allowed in namespace ' + namespaceObject.metadata.name"
"""


def test_variables_are_put_together_and_the_namespace_is_looked_at(tmp_path: Path) -> None:
    policies = policy(ONLY, more=IMAGES) + binding()
    prod = namespace("shop", "environment: prod")
    wrong = "only prod images are allowed in namespace shop"
    assert run(tmp_path, policies, prod + deployment(image="dev.example.com/web")).found == [f"14:7 error demo: {wrong}"]
    assert run(tmp_path, policies, prod + deployment(image="prod.example.com/web")) == ([], [])
    assert run(tmp_path, policies, prod + deployment(image="dev.example.com/web", labels="exempt: 'true'")) == ([], [])
    assert run(tmp_path, policies, namespace("shop") + deployment(image="dev.example.com/web")).found == [f"14:7 error demo: {wrong}"]


def test_conditions_choose_the_objects_and_who_asks_is_not_known(tmp_path: Path) -> None:
    conditions = """\
  matchConditions:
  - {name: no-leases, expression: '!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")'}
  - {name: no-kubelets, expression: '!("system:nodes" in request.userInfo.groups)'}
  - {name: no-rbac, expression: 'request.resource.group != "rbac.authorization.k8s.io"'}
"""
    named = "  - expression: object.metadata.name.startsWith('demo')\n"
    anything = policy(named, resources="*", group="*", more=conditions).replace("[v1]", '["*"]') + binding()
    lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a, namespace: shop}\n"
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a, namespace: shop}\n"
    assert run(tmp_path, anything, f"{lease}---\n{role}") == ([], [])
    ran = run(tmp_path, anything, deployment())
    assert ran.found == []
    why = "`userInfo` does not exist (at 1:29 of the expression), but the cluster may set it; "
    why += "the policy is not evaluated for Deployment web in web.yaml and 1 more"
    assert ran.messages == [f"admission.yaml:11:37: policy `demo`: {why}"]
    known = anything.replace("  - {name: no-kubelets, expression: '!(\"system:nodes\" in request.userInfo.groups)'}\n", "")
    assert "3:18 error demo: failed expression: object.metadata.name.startsWith('demo')" in run(tmp_path, known, deployment()).found


FOR_WEB = "the policy is not evaluated for Deployment web in web.yaml"


@pytest.mark.parametrize(
    "expression, message",
    [
        ("authorizer.group('apps').resource('deployments').check('delete').allowed()", "`authorizer` needs a cluster"),
        (
            "request.userInfo.username == 'alice'",
            f"`userInfo` does not exist (at 1:9 of the expression), but the cluster may set it; {FOR_WEB}",
        ),
        (
            "namespaceObject.metadata.labels.team == 'red'",
            f"it depends on the namespace `shop`, whose manifest is not among the files; {FOR_WEB}",
        ),
        (
            "object.metadata.managedFields.size() == 0",
            f"`managedFields` does not exist (at 1:17 of the expression), but the cluster may set it; {FOR_WEB}",
        ),
    ],
)
def test_what_only_the_cluster_knows_is_reported_once_and_is_not_a_finding(tmp_path: Path, expression: str, message: str) -> None:
    ran = run(tmp_path, policy(f"  - expression: {expression}\n{FIVE}") + binding(), deployment())
    assert ran.found == ["5:13 error demo: failed expression: object.spec.replicas <= 5"]
    assert ran.messages == [f"admission.yaml:10:17: policy `demo`: {message}"]


@pytest.mark.parametrize("actions, severity", [("Deny", "error"), ("Deny, Audit", "error"), ("Warn, Audit", "warning"), ("Audit", "info")])
def test_actions_are_severities(tmp_path: Path, actions: str, severity: str) -> None:
    ran = run(tmp_path, policy(FIVE) + binding(actions=actions), deployment())
    assert ran.found == [f"5:13 {severity} demo: failed expression: object.spec.replicas <= 5"]


def test_of_several_bindings_the_hardest_counts(tmp_path: Path) -> None:
    ran = run(tmp_path, policy(FIVE) + binding(actions="Audit") + binding(name="other"), deployment())
    assert ran.found == ["5:13 error demo: failed expression: object.spec.replicas <= 5"]


def test_a_policy_that_no_binding_names_holds_nowhere(tmp_path: Path) -> None:
    assert run(tmp_path, policy(FIVE), deployment()) == (
        [],
        ["admission.yaml:3:18: policy `demo`: no binding refers to it, so it is never applied"],
    )


@pytest.mark.parametrize(
    "validation, message",
    [
        ("message: at most five", "at most five"),
        ("messageExpression: \"object.metadata.name + ' is large'\"", "web is large"),
        ("message: plain\n    messageExpression: string(object.spec.missing)", "plain"),
        ("message: plain\n    messageExpression: \"'two\\\\nlines'\"", "plain"),
        ("messageExpression: \"'  '\"", "failed expression: object.spec.replicas <= 5"),
    ],
)
def test_the_message_is_chosen_as_the_api_server_chooses_it(tmp_path: Path, validation: str, message: str) -> None:
    policies = policy(f"{FIVE}    {validation}\n") + binding()
    assert run(tmp_path, policies, deployment()).found == [f"5:13 error demo: {message}"]


# What objects are meant.


ANYTHING = "{apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: ['*']}"
EXACT = "apiVersions: [v1beta1] "


@pytest.mark.parametrize(
    "changed, to, meant",
    [
        ("[CREATE, UPDATE]", "[UPDATE]", False),
        ("[CREATE, UPDATE]", "['*']", True),
        ('["deployments"]', '["*"]', True),
        ('["deployments"]', '["deployments/scale"]', False),
        ('["deployments"]', '["deployments"], resourceNames: [other]', False),
        ('["deployments"]', '["deployments"], resourceNames: [web]', True),
        ('["deployments"]', '["deployments"], scope: Cluster', False),
        ("apiVersions: [v1]", "apiVersions: [v1beta1]", False),
        ("    resourceRules", "    matchPolicy: Exact\n    resourceRules", True),
        ("apiVersions: [v1]", EXACT, False),
        ("    resourceRules", f"    excludeResourceRules: [{ANYTHING}]\n    resourceRules", False),
        ("    resourceRules", "    objectSelector: {matchLabels: {app: web}}\n    resourceRules", True),
        ("    resourceRules", "    objectSelector: {matchLabels: {app: db}}\n    resourceRules", False),
        ("    resourceRules", "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}\n    resourceRules", True),
        ("    resourceRules", "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: bar}}\n    resourceRules", False),
    ],
)
def test_constraints_say_which_objects_are_meant(tmp_path: Path, changed: str, to: str, meant: bool) -> None:
    policies = policy(FIVE).replace(changed, to) + binding()
    if to is EXACT:
        policies = policies.replace("    resourceRules", "    matchPolicy: Exact\n    resourceRules")
    assert bool(run(tmp_path, policies, deployment()).found) == meant


def test_what_a_manifest_leaves_out_the_api_server_fills_in(tmp_path: Path) -> None:
    one = policy("  - expression: object.spec.replicas == 1 && object.spec.template.spec.restartPolicy == 'Always'\n") + binding()
    assert run(tmp_path, one, deployment("")) == ([], [])


PINNED = policy('  - {expression: "!has(object.spec.nodeName)", message: no node by name}\n', resources="pods", group="") + binding()


def test_pods_are_made_of_templates(tmp_path: Path) -> None:
    pinned = deployment(pod="      nodeName: n1\n")
    assert run(tmp_path, PINNED, pinned).found == ["10:17 error demo: the pods of Deployment web: no node by name"]
    assert run(tmp_path, PINNED, deployment()) == ([], [])
    named = PINNED.replace("!has(object.spec.nodeName)", "object.metadata.name == 'x'")
    assert run(tmp_path, named, deployment()).found == []


def test_patches_and_parts_are_not_judged(tmp_path: Path) -> None:
    part = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 6}\n"
    assert run(tmp_path, policy(FIVE) + binding(), part) == ([], [])
    (tmp_path / "kustomization.yaml").write_text("resources: []\npatches: [{path: web.yaml}]\n", encoding="utf-8")
    assert run(tmp_path, policy(FIVE) + binding(), deployment()) == ([], [])


def test_what_depends_on_a_placeholder_is_reported_as_not_evaluated(tmp_path: Path) -> None:
    images = "  - expression: object.spec.template.spec.containers.all(each, each.image.startsWith('example.com/'))\n"
    reason = "it depends on the value of the placeholder `${IMAGE}`; the policy is not evaluated for Deployment web in web.yaml"
    ran = run(tmp_path, policy(images) + binding(), deployment(image="${IMAGE}"))
    assert ran == ([], [f"admission.yaml:10:17: policy `demo`: {reason}"])
    args = deployment(image='web:1", args: ["$(NAME)"], workingDir: "/')
    assert len(run(tmp_path, policy(images) + binding(), args).found) == 1


@pytest.mark.parametrize(
    "text",
    [
        "spec: null",
        "spec: []",
        "spec: {matchConstraints: [], validations: {}, variables: 1, matchConditions: [null]}",
        "spec: {matchConstraints: {resourceRules: [null, 1], namespaceSelector: 1, objectSelector: {matchLabels: []}}, validations: [1]}",
        "spec: {matchConstraints: {resourceRules: [{apiGroups: x, resources: [1]}]}, validations: [{expression: 1}, {expression: ''}]}",
        "spec: {paramKind: [], validations: [{expression: 'object == 1', message: {}, messageExpression: []}]}",
        "spec: {policyName: demo, validationActions: Deny, paramRef: {selector: 1}}",
        "spec: {policyName: demo, validationActions: [Deny, 1], paramRef: {selector: {matchExpressions: [{}]}}, matchResources: []}",
    ],
)
@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
def test_manifests_that_only_look_like_policies_are_harmless(tmp_path: Path, kind: str, text: str) -> None:
    strange = f"apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata: {{name: strange}}\n{text}\n---\n"
    ran = run(tmp_path, strange + policy(FIVE) + binding(), deployment())
    assert "5:13 error demo: failed expression: object.spec.replicas <= 5" in ran.found
    assert all("the API server rejects this" in each for each in ran.found if not each.startswith("5:13"))


def test_objects_of_any_kind_and_in_lists_are_judged(tmp_path: Path) -> None:
    services = policy("  - expression: object.spec.type != 'NodePort'\n", resources="services", group="") + binding()
    service = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {type: NodePort}}"
    assert run(tmp_path, services, f"apiVersion: v1\nkind: List\nitems:\n- {service}\n").found == [
        "4:86 error demo: failed expression: object.spec.type != 'NodePort'"
    ]


# It is a policy like any other.


def test_findings_are_silenced_ignored_and_rated_by_the_name_of_the_policy(tmp_path: Path) -> None:
    policies, silenced = policy(FIVE) + binding(), deployment("6 # afflint: ignore[demo] -- so it is")
    assert run(tmp_path, policies, silenced).found == []
    assert len(run(tmp_path, policies, silenced, inline=False).found) == 1
    assert run(tmp_path, policies, deployment(), more="ignore: [demo]\n").found == []
    assert run(tmp_path, policies, deployment(), more="per-file-ignores: {'*': [demo]}\n").found == []
    assert run(tmp_path, policies, deployment(), more="severity: {demo: info}\n").found == [
        "5:13 info demo: failed expression: object.spec.replicas <= 5"
    ]


@pytest.mark.parametrize("named", ["admission/policies/*.yaml", "admission", "admission/"])
def test_patterns_and_folders_find_manifests(tmp_path: Path, named: str) -> None:
    (tmp_path / "admission" / "policies").mkdir(parents=True)
    (tmp_path / "admission" / "README.md").write_text("apiVersion: none\n", encoding="utf-8")
    (tmp_path / "admission" / "policies" / "policy.yaml").write_text(policy(FIVE), encoding="utf-8")
    (tmp_path / "admission" / "policies" / "binding.yaml").write_text(binding(), encoding="utf-8")
    assert [each.name for each in configured(tmp_path, f"policies: ['{named}']\n").config.policies] == ["demo"]


@pytest.mark.parametrize(
    "named, mistake",
    [
        ("'admission/*.yaml'", "1:12: `admission/*.yaml` matches no file with policies and no manifest"),
        ("empty", "1:12: `empty` matches no file with policies and no manifest"),
        ("web.yaml", "1:12: none of these manifests contains a policy in CEL"),
        ("changing.yaml", "1:12: none of these manifests contains a policy in CEL; a policy that changes objects belongs under `context`"),
    ],
)
def test_names_that_lead_to_no_policy_are_mistakes(tmp_path: Path, named: str, mistake: str) -> None:
    (tmp_path / "web.yaml").write_text(deployment(), encoding="utf-8")
    changing = "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: labels}\n"
    (tmp_path / "changing.yaml").write_text(changing, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(configuration.ConfigError) as raised:
        configured(tmp_path, f"policies: [{named}]\n")
    assert str(raised.value).replace(f"{tmp_path}/.afflint.yaml:", "").replace(f"{tmp_path}/", "") == mistake


def test_what_a_pod_gets_from_admission_plugins_is_there(tmp_path: Path) -> None:
    accounts = policy("  - expression: object.spec.serviceAccountName != 'default'\n", resources="pods", group="") + binding()
    assert run(tmp_path, accounts, deployment()).found == [
        "9:5 error demo: the pods of Deployment web: failed expression: object.spec.serviceAccountName != 'default'"
    ]


def test_it_has_a_page_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from afflint.cli.click_app import cli

    run(tmp_path, policy(FIVE, name="demo.example.com") + binding(policy="demo.example.com"), deployment())
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["rule", "demo.example.com"]).output.startswith("demo.example.com  policy, warning\n")


@pytest.mark.parametrize("name", ["wrong-type", "labels", "all"])
def test_a_policy_with_the_name_of_a_rule_gets_a_prefix(tmp_path: Path, name: str) -> None:
    policies = policy(FIVE, name=name) + binding(policy=name)
    assert run(tmp_path, policies, deployment()).found == [f"5:13 error vap/{name}: failed expression: object.spec.replicas <= 5"]
    assert run(tmp_path, policies, deployment(), more=f"ignore: [vap/{name}]\n").found == []
    suppressed = deployment().replace("replicas: 6", f"replicas: 6  # afflint: ignore[vap/{name}]")
    assert run(tmp_path, policies, suppressed).found == []


def test_a_policy_that_has_changed_is_judged_again_though_no_manifest_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policies of a cluster are not files of the run, so the cache of a run does not cover them."""
    monkeypatch.setattr("afflint.pipeline.mapping._WORTH_CACHE", 1)
    (tmp_path / "web.yaml").write_text(deployment(), encoding="utf-8")
    counts = []
    for most in (5, 6, 5):
        validations = f"  - expression: object.spec.replicas <= {most}\n"
        (tmp_path / "admission.yaml").write_text(policy(validations) + binding(), encoding="utf-8")
        session = configured(tmp_path, "policies: [admission.yaml]\nselect: [policy]\n")
        sources = session.sources([str(tmp_path / "web.yaml")])
        counts.append(len(session.check(sources, Options(cache=str(tmp_path / "cache"))).findings))
    assert counts == [1, 0, 1]
