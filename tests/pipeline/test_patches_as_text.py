"""Patches that another object contains as text: their constraints are judged at their lines in the file."""

import textwrap

import pytest

from linting import lint, messages_of

KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [deployment.yaml]\n"
FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  path: ./apps\n"
RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  postRenderers:\n  - kustomize:\n"
KUBEVIRT = "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\nspec:\n  customizeComponents:\n"
OPERATION = "- op: add\n  path: /spec/template/spec/tolerations\n  value: [{key: a, operator: OPERATOR}]\n"
ITEM = "- {op: add, path: /spec/template/spec/tolerations/-, value: {key: a, operator: OPERATOR}}\n"
VALUES = "- op: add\n  path: /spec/values\n  value: {controller: {tolerations: [{key: a, operator: OPERATOR}]}}\n"
POD = "{tolerations: [{key: a, operator: OPERATOR}]}"
PART = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {POD}}}}}\n"
NAMELESS = "spec:\n  template:\n    spec:\n      tolerations: [{key: a, operator: OPERATOR}]\n"


def patched(head: str, patch: str, indentation: int = 0) -> str:
    """An object whose first patch is a text, which begins on the second line below the head."""
    return head + textwrap.indent(
        "patches:\n- patch: |\n" + textwrap.indent(patch, "    ") + "  target: {kind: Deployment}\n", " " * indentation
    )


def at_the_findings(text: str) -> list[str]:
    """Each finding with its severity and the word at its position."""
    lines = text.splitlines()
    return [f"{each.severity} {each.rule} at {lines[each.span.line - 1][each.span.column - 1 :].partition('}')[0]}" for each in lint(text)]


@pytest.mark.parametrize(
    ("text", "severity", "word"),
    [
        (patched(KUSTOMIZATION, OPERATION), "error", "Exist"),
        (patched(KUSTOMIZATION, ITEM), "error", "Exist"),
        (patched(KUSTOMIZATION, PART), "error", "Exist"),
        (patched(FLUX, OPERATION, 2), "error", "Exist"),
        (patched(FLUX, VALUES, 2).replace("kind: Deployment", "kind: HelmRelease"), "warning", "Exist"),
        (patched(RELEASE, OPERATION, 6), "error", "Exist"),
        (patched(RELEASE, PART, 6), "error", "Exist"),
        (patched(KUBEVIRT, NAMELESS, 4), "warning", "Exist"),
    ],
    ids=["an operation", "an item", "a part", "Flux", "values", "a post-renderer", "its part", "KubeVirt"],
)
def test_a_mistake_in_a_patch(text: str, severity: str, word: str) -> None:
    wrong = text.replace("OPERATOR}", "Exist}")
    assert at_the_findings(wrong) == [f"{severity} unknown-operator at {word.removesuffix(']')}"]
    assert lint(text.replace("OPERATOR", "Exists")) == []


@pytest.mark.parametrize("quote", ["'", '"'])
def test_json_in_quotes(quote: str) -> None:
    patch = '[{"op": "add", "path": "/spec/template/spec/tolerations", "value": [{"key": "a", "operator": "Exist"}]}]'
    written = f"'{patch}'" if quote == "'" else '"' + patch.replace('"', "'") + '"'
    text = f"{KUBEVIRT}    patches:\n    - {{resourceName: virt-api, resourceType: Deployment, type: json, patch: {written}}}\n"
    (finding,) = messages_of(text, "unknown-operator")
    line, column = map(int, finding.partition(" ")[0].split(":"))
    assert text.splitlines()[line - 1][column - 1 :].startswith(('"Exist"', "'Exist'"))


@pytest.mark.parametrize(("head", "indentation", "number"), [(KUSTOMIZATION, 0, 0), (FLUX, 2, 0), (RELEASE, 6, 0), (KUBEVIRT, 4, 1)])
def test_a_word_that_is_text_for_kustomize(head: str, indentation: int, number: int) -> None:
    """kustomize reads strategic merge patches as YAML 1.2, and the operations of a JSON patch as YAML 1.1."""
    part = PART.replace(POD, "{nodeSelector: {worker: yes}}")
    assert len(lint(patched(head, part, indentation))) == number
    operation = "- {op: add, path: /spec/template/spec/nodeSelector, value: {worker: yes}}\n"
    assert len(lint(patched(head, operation, indentation))) == 1


def test_a_field_at_the_wrong_level_of_a_part() -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  tolerations: [{key: a, operator: Exists}]\n"
    assert messages_of(patched(FLUX, patch, 2), "misplaced-constraint") == [
        "12:9 tolerations is not a field of the Deployment spec; it belongs in spec.template.spec"
    ]


@pytest.mark.parametrize(
    ("operation", "finding"),
    [
        (
            "{op: add, path: /spec/template/nodeSelector, value: {disk: ssd}}",
            "misplaced-constraint at /spec/template/nodeSelector",
        ),
        ("{op: add, path: /spec/nodeSelector/disk, value: ssd}", "misplaced-constraint at /spec/nodeSelector/disk"),
        (
            "{op: replace, path: /spec/template/spec/containers/0/tolerations, value: []}",
            "misplaced-constraint at /spec/template/spec/c",
        ),
        ("{op: add, path: /spec/template/spec/nodeSelector, value: disk=ssd}", "wrong-type at disk=ssd"),
        ("{op: add, path: /spec/template/spec/nodeSelector/example.com~1disk, value: 1}", "wrong-type at 1"),
        ("{op: add, path: /spec/template/spec/tolerations, value: {key: a, operator: Exists}}", "wrong-type at value"),
    ],
)
def test_an_operation_is_judged_by_the_kind_of_its_target(operation: str, finding: str) -> None:
    (found,) = at_the_findings(patched(KUSTOMIZATION, f"- {operation}\n"))
    assert found.startswith(f"error {finding}")
    assert at_the_findings(patched(KUSTOMIZATION, f"- {operation}\n").replace("kind: Deployment", "name: web"))[1:] == []


@pytest.mark.parametrize(
    ("target", "path", "count"),
    [
        ("kind: Deployment, group: apps", "/spec/nodeSelector", 1),
        ("kind: Pod, group: ''", "/spec/template/nodeSelector", 1),
        ("kind: Job", "/spec/nodeSelector", 1),
        ("kind: Job", "/spec/tasks/0/template/nodeSelector", 0),
        ("kind: CronJob", "/spec/jobTemplate/spec/tasks/0/template/nodeSelector", 0),
        ("kind: Job, group: batch.volcano.sh", "/spec/tasks/0/template/spec/nodeSelector", 0),
        ("kind: DaemonSet, group: example.com", "/spec/nodeSelector", 0),
        ("group: postgresql.cnpg.io", "/spec/affinity/nodeSelector", 0),
        ("kind: Deployment|Pod", "/spec/nodeSelector", 0),
        ("name: po", "/spec/nodeSelector", 0),
        ("labelSelector: app=web", "/spec/nodeSelector", 0),
        ("version: v1", "/spec/nodeSelector", 0),
    ],
)
def test_a_target_that_may_be_another_kind_is_not_judged(target: str, path: str, count: int) -> None:
    patch = f"- {{op: add, path: {path}, value: {{disk: ssd}}}}\n"
    assert len(lint(patched(KUSTOMIZATION, patch).replace("kind: Deployment", target))) == count
    assert len(lint(patched(FLUX, patch, 2).replace("kind: Deployment", target))) == count


@pytest.mark.parametrize(
    "operation",
    [
        "{op: add, path: /spec/template/spec/nodeSelector, value: {disk: ssd}}",
        "{op: add, path: /spec/template/spec/nodeSelector/0, value: ssd}",
        "{op: replace, path: /spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight, value: 7}",
        "{op: replace, path: /spec/template/spec/tolerations/0/effect, value: NoSchedule}",
        "{op: replace, path: /spec/template/spec/containers/0/image, value: tolerations}",
    ],
)
def test_an_operation_that_changes_a_part(operation: str) -> None:
    assert lint(patched(KUSTOMIZATION, f"- {operation}\n")) == []


@pytest.mark.parametrize(
    "patch",
    [
        "- {op: remove, path: /spec/template/spec/tolerations, value: [{key: a, operator: Exist}]}\n",
        "- {op: add, path: /data/tolerations, value: 'Exist'}\n",
        "- {op: add, path: /spec/template/spec/tolerations}\n",
        "- {op: add, path: [tolerations], value: 1}\n",
        "- tolerations\n",
        "tolerations: {{ .Values.x }}\n",
        "tolerations: ]\n",
        "$patch: delete\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: tolerations}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeSelector: null, tolerations: null}}}\n",
    ],
)
def test_what_says_nothing_about_pods(patch: str) -> None:
    assert lint(patched(FLUX, patch, 2)) == []


def test_a_patch_proves_nothing_about_the_cluster() -> None:
    """It is unknown to which pods it applies."""
    selector = "{minAvailable: 1, selector: {matchLabels: {app: wep}}}"
    budget = f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\nspec: {selector}\n"
    template = "{metadata: {labels: {app: web}}, spec: {tolerations: []}}"
    patch = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {template}}}\n"
    assert lint({"a.yaml": patched(FLUX, patch, 2), "b.yaml": budget}) == []
