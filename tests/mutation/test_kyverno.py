"""Which objects a rule of Kyverno changes: kinds, selectors, namespaces, preconditions, variables, and rules for pod controllers."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from afflint.mutation.kyverno import mutate_rules
from afflint.mutation.mutations import Mutation, Mutator
from afflint.yaml.documents import read

HEAD = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: add}
spec:
  rules:
  - name: rule
"""
PATCH = """\
    mutate:
      patchStrategicMerge:
        spec: {nodeSelector: {disk: ssd}}
"""


def parsed(text: str) -> dict[str, Any]:
    """The object in a text."""
    data = read(textwrap.dedent(text).encode(), 0, 0).data
    assert isinstance(data, dict)
    return data


def deployment(**metadata: Any) -> dict[str, Any]:
    """A Deployment whose pods have the label app: web."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", **metadata},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
    }


def pod(**metadata: Any) -> dict[str, Any]:
    """A pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", **metadata}, "spec": {"containers": []}}


def mutation(rule: str, data: dict[str, Any], namespaces: dict[str, dict[str, Any]] | None = None) -> Mutation:
    """What a policy with one rule does to an object."""
    text = rule if rule.startswith("apiVersion") else HEAD + textwrap.indent(textwrap.dedent(rule), "    ") + "\n" + PATCH
    return Mutator(enumerate(mutate_rules(parsed(text))), namespaces or {}).mutation(data)


def selects(rule: str, data: dict[str, Any], namespaces: dict[str, dict[str, Any]] | None = None) -> bool | str:
    """Whether a rule changes an object; the reason if that is undecided."""
    result = mutation(rule, data, namespaces)
    return result.undecided[0][1] if result.undecided else bool(result.changes)


def assert_answer(answer: bool | str, expected: bool | str) -> None:
    """Compare an answer: whether the rule applies, or words of the reason why that is undecided."""
    assert expected in answer if isinstance(expected, str) and isinstance(answer, str) else answer == expected


PODS = "match: {any: [{resources: {kinds: [Pod]}}]}"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("{kinds: [Pod]}", True),
        ("{kinds: [v1/Pod]}", True),
        ("{kinds: ['*']}", True),
        ("{kinds: [Service]}", False),
        ("{kinds: [Pod], names: [w*]}", True),
        ("{kinds: [Pod], name: db}", False),
        ("{kinds: [Pod], selector: {matchLabels: {app: web}}}", True),
        ("{kinds: [Pod], selector: {matchLabels: {app: db}}}", False),
        ("{kinds: [Pod], selector: {matchLabels: {a*: 'w?b'}}}", True),
        ("{kinds: [Pod], selector: {matchLabels: {b*: '*'}}}", False),
        ("{kinds: [Pod], annotations: {a/*: '?'}}", True),
        ("{kinds: [Pod], namespaces: ['sh?p']}", True),
        ("{kinds: [Pod], namespaces: [db]}", False),
        ("{kinds: [Pod], operations: [CREATE]}", True),
        ("{kinds: [Pod], operations: [UPDATE]}", False),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}", True),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: db}}}", False),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}", "the labels of the namespace"),
    ],
)  # fmt: skip
def test_match(resources: str, expected: bool | str) -> None:
    data = pod(namespace="shop", labels={"app": "web"}, annotations={"a/b": "c"})
    assert_answer(selects(f"match: {{any: [{{resources: {resources}}}]}}", data), expected)


def test_the_labels_of_a_namespace_among_the_manifests_count() -> None:
    rule = "match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]}"
    assert selects(rule, pod(namespace="shop"), {"shop": {"metadata": {"labels": {"team": "a"}}}}) is True
    assert selects(rule, pod(namespace="shop"), {"shop": {"metadata": {}}}) is False


def test_exclude() -> None:
    rule = f"{PODS}\nexclude: {{any: [{{resources: {{namespaces: [db]}}}}, {{resources: {{names: [web]}}}}]}}"
    assert selects(rule, pod()) is False
    assert selects(f"{PODS}\nexclude: {{all: [{{resources: {{namespaces: [db]}}}}, {{resources: {{names: [web]}}}}]}}", pod(namespace="a"))
    assert selects(f"{PODS}\nexclude: {{any: [{{resources: {{namespaces: [db]}}}}]}}", pod()) == (
        "it depends on the namespace, which the object does not set"
    )
    assert selects(f"{PODS}\nexclude: {{any: [{{clusterRoles: [cluster-admin]}}]}}", pod()) == (
        "it depends on the user who creates the object"
    )


def test_namespaces_of_the_system_are_left_alone() -> None:
    assert selects(PODS, pod(namespace="kube-system")) is False


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("{all: [{key: '{{request.operation}}', operator: Equals, value: CREATE}]}", True),
        ("{all: [{key: '{{request.operation}}', operator: NotEquals, value: CREATE}]}", False),
        ("{any: [{key: x, operator: Equals, value: y}, {key: x, operator: Equals, value: x}]}", True),
        ("""{all: [{key: "{{ request.object.metadata.labels.app || '' }}", operator: NotEquals, value: ''}]}""", True),
        ("""{all: [{key: '{{ request.object.metadata.labels."a.b/c" || `none` }}', operator: Equals, value: none}]}""", True),
        ("{any: [{key: gpu, operator: AnyNotIn, value: '{{ request.object.spec.tolerations[].key || `[]` }}'}]}", True),
        ("{any: [{key: web, operator: AnyIn, value: [db, w*]}]}", True),
        ("{any: [{key: [web, x], operator: AllIn, value: [web]}]}", False),
        ("{any: [{key: web, operator: AllNotIn, value: [web]}]}", False),
        ("{all: [{key: '{{ serviceAccountName }}', operator: Equals, value: x}]}", "`serviceAccountName`"),
        ("{all: [{key: '{{ request.userInfo.username }}', operator: Equals, value: x}]}", "`request.userInfo.username`"),
        ("{all: [{key: '{{ request.object.spec.x }}', operator: Equals, value: x}]}", "has no value"),
        ("{all: [{key: 1, operator: GreaterThan, value: 2}]}", "`GreaterThan`"),
    ],
)  # fmt: skip
def test_preconditions(conditions: str, expected: bool | str) -> None:
    assert_answer(selects(f"{PODS}\npreconditions: {conditions}", pod(labels={"app": "web"})), expected)


def test_a_rule_for_pods_changes_the_template_of_a_controller() -> None:
    after = mutation(PODS, deployment())
    assert after.data["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert after.changes[0].paths == (("spec", "template", "spec", "nodeSelector"),)


def test_a_rule_for_pods_changes_the_job_template_of_a_cron_job() -> None:
    spec = {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}}
    after = mutation(PODS, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec})
    assert after.data["spec"]["jobTemplate"]["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_a_rule_with_a_selector_is_for_pods_only_which_the_controller_creates() -> None:
    rule = "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: web}}}}]}"
    assert selects(rule, deployment()) is True
    assert selects(rule, deployment(labels={"app": "web"}) | {"spec": {"template": {"spec": {}}}}) is False


def test_a_variable_is_about_the_template_in_a_rule_for_pods() -> None:
    patch = "{spec: {nodeSelector: {app: 'x-{{request.object.metadata.labels.app}}'}}}"
    text = f"{HEAD}    {PODS}\n    mutate: {{patchStrategicMerge: {patch}}}\n"
    assert mutation(text, deployment(labels={"app": "other"})).data["spec"]["template"]["spec"]["nodeSelector"] == {"app": "x-web"}


def test_a_json_patch_changes_pods_and_not_the_template_twice() -> None:
    patch = "    mutate:\n      patchesJson6902: |-\n        - {op: add, path: /spec/tolerations/-, value: {key: gpu}}\n"
    after = mutation(HEAD + textwrap.indent(PODS + "\n", "    ") + patch, deployment())
    assert after.data["spec"]["template"]["spec"]["tolerations"] == [{"key": "gpu"}]


def test_only_the_first_rule_of_a_policy_that_says_so_applies() -> None:
    rule = textwrap.indent(PODS + "\n", "    ") + PATCH
    text = HEAD.replace("spec:\n", "spec:\n  applyRules: One\n") + rule + "  - name: second\n" + rule.replace("ssd", "hdd")
    assert mutation(text, pod()).data["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert mutation(text.replace("One", "All"), pod()).data["spec"]["nodeSelector"] == {"disk": "hdd"}


def test_rules_that_are_not_about_new_objects_are_left_out() -> None:
    assert not list(mutate_rules(parsed(HEAD + "    mutate: {targets: [{kind: Pod}], patchStrategicMerge: {}}\n")))
    assert not list(mutate_rules(parsed(HEAD.replace("spec:\n", "spec:\n  admission: false\n") + PATCH)))
    assert not list(mutate_rules(parsed((HEAD + PATCH).replace("kyverno.io/v1", "nvidia.com/v1"))))


@pytest.mark.parametrize("value", ["", "5", "[]", "[5]", "{a: 1}", "{any: 5}", "{any: [5]}", "{all: [{resources: [1]}]}", "'{{'"])
@pytest.mark.parametrize("field", ["match", "exclude", "preconditions", "mutate"])
def test_a_policy_that_kyverno_would_reject_is_not_a_failure(field: str, value: str) -> None:
    rest = "".join(f"    {each}\n" for each in (PODS, "mutate: {patchStrategicMerge: {spec: {x: 1}}}") if not each.startswith(field))
    result = mutation(f"{HEAD}{rest}    {field}: {value}\n", deployment())
    assert result.data["kind"] == "Deployment"


def test_a_patch_that_removes_the_metadata_of_pods_keeps_the_template() -> None:
    text = f"{HEAD}    {PODS}\n    mutate: {{patchStrategicMerge: {{metadata: 5, spec: null}}}}\n"
    assert mutation(text, deployment()).data["spec"]["template"]["metadata"] is not None


def test_a_policy_of_a_namespace_changes_nothing_elsewhere() -> None:
    text = HEAD.replace("ClusterPolicy", "Policy").replace("{name: add}", "{name: add, namespace: shop}") + f"    {PODS}\n{PATCH}"
    assert selects(text, pod(namespace="shop")) is True
    assert selects(text, pod(namespace="db")) is False
    assert selects(text, pod()) == "it depends on the namespace, which the object does not set"
