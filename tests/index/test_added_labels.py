"""Selectors for labels that are in no manifest, because controllers add them to the pods."""

import pytest

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint, messages_of

COMPLETE = Target(NEWEST, complete=True)
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec:
  runStrategy: Always
  template: {metadata: {labels: {app: db}}, spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""
POD_SPEC = "spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}"


def stateful_set(more: str = "replicas: 3") -> str:
    return f"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  {more}
  serviceName: db
  selector: {{matchLabels: {{app: db}}}}
  template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: [{{name: c, image: busybox}}]}}}}
"""


def job(more: str = "parallelism: 1", name: str = "loader") -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  {more}
  template: {{metadata: {{labels: {{app: loader}}}}, {POD_SPEC}}}
"""


def seeker(*selectors: str, field: str = "podAffinity") -> str:
    """A Deployment whose pods must be, or must not be, with pods that have these labels; the terms are from line 12 on."""
    terms = "".join(f"            - {{topologyKey: kubernetes.io/hostname, labelSelector: {each}}}\n" for each in selectors)
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      affinity:
        {field}:
          requiredDuringSchedulingIgnoredDuringExecution:
{terms}      containers: [{{name: web, image: "nginx:1.27"}}]
"""


def has(labels: str) -> str:
    return f"{{matchLabels: {{{labels}}}}}"


def missing(target: str, *selectors: str) -> list[str]:
    """Where affinities ask for pods that do not exist, in a complete context."""
    text = {"target.yaml": target, "web.yaml": seeker(*selectors)}
    return [each.split()[0] for each in messages_of(text, "affinity-target-missing", target=COMPLETE)]


POD_NAME = "statefulset.kubernetes.io/pod-name"


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        (stateful_set(), f"{POD_NAME}: db-0"),
        (stateful_set(), f"{POD_NAME}: db-2, app: db"),
        (stateful_set("replicas: 3\n  ordinals: {start: 5}"), f"{POD_NAME}: db-5"),
        (stateful_set("replicas: 3\n  ordinals: {start: 5}"), "apps.kubernetes.io/pod-index: '7'"),
        (stateful_set("minReadySeconds: 0"), f"{POD_NAME}: db-0"),
        (VM, "vm.kubevirt.io/name: db"),
        (job(), "job-name: loader"),
        (job(), "batch.kubernetes.io/job-name: loader, app: loader"),
        (job("completions: 3\n  completionMode: Indexed"), "batch.kubernetes.io/job-completion-index: '2'"),
    ],
)
def test_what_a_controller_adds_is_there(target: str, labels: str) -> None:
    assert missing(target, has(labels)) == []


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        (stateful_set(), f"{POD_NAME}: db-3"),
        (stateful_set(), f"{POD_NAME}: db-00"),
        (stateful_set(), f"{POD_NAME}: web-0"),
        (stateful_set(), f"{POD_NAME}: db-0, app: cache"),
        (stateful_set("replicas: 3\n  ordinals: {start: 5}"), f"{POD_NAME}: db-0"),
        (stateful_set("replicas: 3\n  ordinals: {start: 5}"), f"{POD_NAME}: db-8"),
        (stateful_set(), "vm.kubevirt.io/name: db"),
        (VM, "vm.kubevirt.io/name: cache"),
        (job(), "job-name: importer"),
        (job("manualSelector: true\n  selector: {matchLabels: {app: loader}}"), "job-name: loader"),
        (job("completions: 3\n  completionMode: Indexed"), "batch.kubernetes.io/job-completion-index: '3'"),
        (job("completions: 3"), "batch.kubernetes.io/job-completion-index: '0'"),
    ],
)
def test_what_no_pod_gets_is_missing(target: str, labels: str) -> None:
    assert missing(target, has(labels)) == ["12:53"]


def test_labels_that_are_unknown_before_the_pods_exist_may_be_any() -> None:
    target = VM.replace("VirtualMachine\n", "VirtualMachineInstanceReplicaSet\n").replace(
        "runStrategy: Always", "selector: {matchLabels: {app: db}}"
    )
    assert missing(target, has("vm.kubevirt.io/name: dbx7f2k")) == []
    assert missing(target, has("vm.kubevirt.io/name: cache")) == ["12:53"]


def test_one_pod_must_meet_all_terms_at_once() -> None:
    """Each is met by one pod of the set, and none meets both."""
    first, second = has(f"{POD_NAME}: db-0"), has(f"{POD_NAME}: db-1")
    found = messages_of({"db.yaml": stateful_set(), "web.yaml": seeker(first, second)}, "no-single-target", target=COMPLETE)
    assert len(found) == 1
    assert messages_of({"db.yaml": stateful_set(), "web.yaml": seeker(first, has("app: db"))}, "no-single-target", target=COMPLETE) == []


@pytest.mark.parametrize(
    ("expressions", "met"),
    [
        (f"{{key: {POD_NAME}, operator: Exists}}", True),
        (f"{{key: {POD_NAME}, operator: DoesNotExist}}", False),
        (f"{{key: {POD_NAME}, operator: In, values: [db-7, db-1]}}", True),
        (f"{{key: {POD_NAME}, operator: NotIn, values: [db-0, db-1]}}", True),
        (f"{{key: {POD_NAME}, operator: NotIn, values: [db-0, db-1, db-2]}}", False),
        (f"{{key: {POD_NAME}, operator: In, values: [db-1]}}, {{key: {POD_NAME}, operator: NotIn, values: [db-1]}}", False),
        (f"{{key: {POD_NAME}, operator: In, values: [db-1]}}, {{key: apps.kubernetes.io/pod-index, operator: In, values: ['1']}}", True),
        (f"{{key: {POD_NAME}, operator: In, values: [db-1]}}, {{key: apps.kubernetes.io/pod-index, operator: In, values: ['2']}}", False),
    ],
)
def test_match_expressions_are_met_by_one_pod_of_the_set(expressions: str, met: bool) -> None:
    only_db = "{key: app, operator: In, values: [db]}"
    assert (missing(stateful_set(), f"{{matchExpressions: [{only_db}, {expressions}]}}") == []) is met


def test_without_a_complete_context_others_may_have_them() -> None:
    assert lint({"db.yaml": stateful_set(), "web.yaml": seeker(has(f"{POD_NAME}: db-7"))}) == []
