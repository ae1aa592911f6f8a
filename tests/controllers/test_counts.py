"""How many pods an object asks for, by the rules of its controller."""

import pytest

from afflint.controllers.replica_counts import PodCount, pod_count
from afflint.kube.kinds import Kind, custom_kind
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.yaml import documents
from linting import messages_of

SPEC = "{containers: [{name: a, image: b}]}"


def workloads(api: str, kind: str, spec: str, custom: Kind | None = None) -> list[Workload]:
    """The workloads of one object; SPEC is replaced by a pod spec."""
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{{spec.replace('SPEC', SPEC)}}}\n"
    document = documents.read(text.encode(), 0, 1)
    kinds = {(custom.group, custom.name): custom} if custom else None
    return [each for each in manifests_in(document, kinds) if isinstance(each, Workload)]


def count(api: str, kind: str, spec: str) -> PodCount:
    (found,) = workloads(api, kind, spec)
    return pod_count(found)


@pytest.mark.parametrize(
    ("api", "kind", "spec", "number", "replicates", "planned"),
    [
        ("apps/v1", "Deployment", "replicas: 3, template: {spec: SPEC}", 3, True, 3),
        ("apps/v1", "Deployment", "template: {spec: SPEC}", None, False, 1),
        ("apps/v1", "Deployment", "replicas: '${N}', template: {spec: SPEC}", None, False, 1),
        ("apps/v1", "DaemonSet", "template: {spec: SPEC}", None, True, 1),
        ("batch/v1", "Job", "template: {spec: SPEC}", 1, False, 1),
        ("batch/v1", "Job", "parallelism: 3, completions: 2, template: {spec: SPEC}", 2, True, 2),
        ("batch/v1", "Job", "parallelism: 3, suspend: true, template: {spec: SPEC}", 3, True, 0),
        ("batch/v1", "CronJob", "jobTemplate: {spec: {parallelism: 3, template: {spec: SPEC}}}", 3, True, 3),
        ("kubevirt.io/v1", "VirtualMachine", "runStrategy: Halted, template: {spec: {domain: {}}}", 1, False, 1),
        ("serving.knative.dev/v1", "Service", "template: {spec: SPEC}", None, True, 1),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 3, template: {spec: SPEC}}}}]",
            6,
            True,
            6,
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "suspend: true, replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 3, template: {spec: SPEC}}}}]",
            6,
            True,
            0,
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "replicatedJobs: [{name: w, template: {spec: {parallelism: 3, suspend: true, template: {spec: SPEC}}}}]",
            3,
            True,
            0,
        ),
    ],
)
def test_number_of_pods(api: str, kind: str, spec: str, number: int | None, replicates: bool, planned: int) -> None:
    found = count(api, kind, spec)
    assert (found.number, found.scale.may_replicate, found.planned) == (number, replicates, planned)


def test_a_group_of_leader_and_workers_has_a_template_for_each() -> None:
    spec = "replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: {spec: SPEC}, workerTemplate: {spec: SPEC}}"
    found = {each.template_path[-1]: pod_count(each) for each in workloads("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)}
    assert {name: (each.number, each.each, each.first) for name, each in found.items()} == {
        "leaderTemplate": (2, 1, 0),
        "workerTemplate": (6, 3, 1),
    }
    alone = count(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: {spec: SPEC}}"
    )
    assert (alone.number, alone.each, alone.first) == (8, 4, 0)


@pytest.mark.parametrize(
    "items",
    [
        "{a: {replicas: 2, template: {spec: SPEC}}, b: {template: {spec: SPEC}}}",
        "[{replicas: 2, template: {spec: SPEC}}, {template: {spec: SPEC}}]",
    ],
)
def test_templates_under_a_map_or_list_are_counted_each_by_itself(items: str) -> None:
    custom = custom_kind("example.com/v1", "Ring", ("spec", "pools", "*", "template"))
    found = workloads("example.com/v1", "Ring", f"replicas: 9, pools: {items}", custom)
    assert [pod_count(each).number for each in found] == [2, None]
    assert len({each.template_path for each in found}) == 2


CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      parallelism: 3
      template:
        metadata: {labels: {app: report}}
        spec:
          nodeSelector: {kubernetes.io/hostname: n1}
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
              - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: reprot}}}
          containers: [{name: a, image: b}]
"""


def test_the_pods_of_a_cron_job_replicate_as_those_of_a_job_do() -> None:
    assert messages_of(CRON_JOB, "pinned-node") == ["12:50 all 3 replicas must run on the single host `n1`"]
    assert messages_of(CRON_JOB, "anti-affinity-misses-itself") == [
        "16:55 this required podAntiAffinity separates no pods: it selects `app In [reprot]`, but the pods have `app: report`"
    ]
    assert messages_of(CRON_JOB.replace("parallelism: 3", "parallelism: 1"), "pinned-node") == []
