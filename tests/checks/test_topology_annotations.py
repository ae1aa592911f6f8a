"""Topology keys in annotations of JobSet, LeaderWorkerSet and Kueue, from which webhooks make constraints of the pods."""

import pytest

from linting import lint, messages_of, places

JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations:
    alpha.jobset.sigs.k8s.io/exclusive-topology: {of_set}
spec:
  replicatedJobs:
    - name: driver
      template:
        spec: {{template: {{spec: {{containers: [{{name: c, image: c}}]}}}}}}
    - name: workers
      template:
        metadata:
          annotations:
            alpha.jobset.sigs.k8s.io/exclusive-topology: {of_job}
        spec: {{template: {{spec: {{containers: [{{name: c, image: c}}]}}}}}}
"""
GROUPS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: serve
  annotations:
    leaderworkerset.sigs.k8s.io/exclusive-topology: {key}
    leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: {key}
spec:
  leaderWorkerTemplate:
    size: 4
    subGroupPolicy: {{subGroupSize: 2}}
    leaderTemplate: {{spec: {{containers: [{{name: c, image: c}}]}}}}
    workerTemplate: {{spec: {{containers: [{{name: c, image: c}}]}}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: fit, labels: {{kueue.x-k8s.io/queue-name: team}}}}
spec:
  suspend: true
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-{how}-topology: {key}
    spec: {{restartPolicy: Never, containers: [{{name: c, image: c}}]}}
"""


@pytest.mark.parametrize("key", ["cloud.google.com/gke-nodepool", "topology.kubernetes.io/zone", "example.com/rack", "'${KEY}'", "''"])
def test_a_label_of_nodes_is_fine(key: str) -> None:
    files = {
        "a.yaml": JOB_SET.format(of_set=key, of_job=key),
        "b.yaml": GROUPS.format(key=key),
        "c.yaml": JOB.format(how="required", key=key),
    }
    assert lint(files) == []


def test_a_deprecated_label() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    text = JOB_SET.format(of_set=old, of_job=old)
    assert messages_of(text, "deprecated-node-label") == [
        f"6:50 the node label `{old}` in this annotation is deprecated since Kubernetes 1.17",
        f"16:58 the node label `{old}` in this annotation is deprecated since Kubernetes 1.17",
    ]
    assert [each.partition(" ")[0] for each in messages_of(GROUPS.format(key=old), "deprecated-node-label")] == ["6:53", "7:62"]
    (found,) = messages_of(JOB.format(how="preferred", key=old), "deprecated-node-label")
    assert found.startswith(f"9:51 the node label `{old}` in this annotation for Kueue is deprecated")


@pytest.mark.parametrize(
    ("how", "effect"),
    [
        ("required", "Kueue does not start the pods"),
        ("slice-required", "Kueue does not start the pods"),
        ("preferred", "this preference is ignored"),
    ],
)
def test_a_misspelt_label(how: str, effect: str) -> None:
    wrong, right = "topology.kubernetes.io/zones", "topology.kubernetes.io/zone"
    (found,) = messages_of(JOB.format(how=how, key=wrong), "unknown-node-label")
    assert found.partition(" ")[2] == f"no component sets the node label `{wrong}`, so {effect}; did you mean `{right}`?"
    (found, _) = messages_of(GROUPS.format(key=wrong), "unknown-node-label")
    assert found == f"6:53 no component sets the node label `{wrong}`, so the pods stay Pending; did you mean `{right}`?"


def test_a_text_that_is_not_a_label_key() -> None:
    assert places(lint(JOB.format(how="required", key="a rack"))) == ["a.yaml:9:50 error invalid-label-key"]
    (found,) = messages_of(JOB_SET.format(of_set="rack", of_job="a rack"), "invalid-label-key")
    assert found.startswith("16:58 ")
    assert found.endswith("(the object is accepted, but every pod created from it is rejected)")


def test_annotations_of_other_kinds_are_not_read() -> None:
    text = JOB_SET.format(of_set="a rack", of_job="rack").replace("jobset.x-k8s.io/v1alpha2", "example.com/v1")
    assert messages_of(text, "invalid-label-key") == []
