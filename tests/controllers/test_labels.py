"""The labels that controllers add: what rules take pods to have is what the planner puts on them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.checks.match import Target
from afflint.controllers.pod_labels import PodLabels
from afflint.controllers.pod_source import read_pod_source
from afflint.findings.finding import ObjectRef, Site
from afflint.index.facts import REQUIRED_AFFINITY, Facts, Pods, SelectorRef, facts_of
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.kinds import KINDS
from afflint.kube.selectors import Requirement, Selector
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.scheduler.cluster import Cluster
from afflint.yaml import documents
from cluster_objects import node
from linting import lint, messages_of
from workload_objects import create_pods

TEMPLATE = "{metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: b}]}}"
MACHINE = "{metadata: {labels: {app: web}}, spec: {domain: {}}}"
SPECS = {
    "Pod": "containers: [{name: a, image: b}]",
    "CronJob": f"schedule: '@daily', jobTemplate: {{spec: {{parallelism: 2, template: {TEMPLATE}}}}}",
    "Job": f"parallelism: 3, completions: 3, completionMode: Indexed, template: {TEMPLATE}",
    "StatefulSet": f"replicas: 3, ordinals: {{start: 5}}, template: {TEMPLATE}",
    "VirtualMachine": f"runStrategy: Always, template: {MACHINE}",
    "VirtualMachineInstance": "domain: {}",
    "VirtualMachineInstanceReplicaSet": f"replicas: 2, template: {MACHINE}",
    "VirtualMachinePool": f"replicas: 2, virtualMachineTemplate: {{spec: {{template: {MACHINE}}}}}",
    "LeaderWorkerSet": f"replicas: 2, leaderWorkerTemplate: {{size: 3, leaderTemplate: {TEMPLATE}, workerTemplate: {TEMPLATE}}}",
    "JobSet": f"replicatedJobs: [{{name: w, replicas: 2, template: {{spec: {{parallelism: 2, completions: 2, template: {TEMPLATE}}}}}}}]",
}
MAKERS = [kind for kind in KINDS if kind.templates and kind.name not in ("PodTemplate",)]


def read(kind: str, api: str, spec: str, name: str = "web") -> list[Workload]:
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop, labels: {{app: web}}}}\nspec: {{{spec}}}\n"
    found = [each for each in manifests_in(documents.read(text.encode(), 0, 1)) if isinstance(each, Workload)]
    assert found
    return found


def fleet_of(workloads: list[Workload]) -> ManifestIndex:
    facts = [fact for each in workloads for fact in facts_of(each)]
    return ManifestIndex([Facts(tuple(each for each in facts if isinstance(each, Pods)))])


def asks(**labels: tuple[str, ...]) -> Selector:
    return Selector(tuple([Requirement(key, "In" if values else "Exists", values) for key, values in labels.items()]))


def ref(selector: Selector) -> SelectorRef:
    site = Site(1, 0, ())
    ref = ObjectRef("v1", "Pod", "shop", "other")
    return SelectorRef(site, ref, "Pod other", REQUIRED_AFFINITY, (), "shop", (), False, selector, "kubernetes.io/hostname")


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: f"{kind.group or 'core'}-{kind.name}")
def test_any_label_of_any_pod_that_is_made_finds_its_workload(kind: Any) -> None:
    spec = SPECS.get(kind.name, f"replicas: 3, template: {TEMPLATE}")
    api = f"{kind.group}/{kind.versions[0] if kind.versions else 'v1'}".lstrip("/")
    workloads = read(kind.name, api, spec)
    manifest_index, cluster = fleet_of(workloads), Cluster([node("n1")])
    for workload in workloads:
        pod_source = read_pod_source(workload, Site(0, 0, ()))
        assert pod_source is not None
        pods = create_pods(pod_source, cluster)
        assert pods
        for pod in pods:
            labels = pod["metadata"]["labels"]
            assert labels
            # All together, and each alone: a selector may use any of them.
            for chosen in [labels, *({key: value} for key, value in labels.items())]:
                selector = Selector(tuple([Requirement(key, "In", (value,)) for key, value in chosen.items()]))
                assert workload.template_path in [each.template_path for each in manifest_index.selected(ref(selector))], chosen


@given(st.integers(0, 9), st.integers(0, 4), st.integers(0, 12), st.integers(0, 12), st.sampled_from(("In", "NotIn")))
def test_labels_that_count_are_held_together_pod_by_pod(first: int, number: int, name: int, index: int, operator: str) -> None:
    (db,) = read("StatefulSet", "apps/v1", f"replicas: {number}, ordinals: {{start: {first}}}, template: {TEMPLATE}", "db")
    labels = fleet_of([db]).pods[0].pod_labels
    selector = Selector(
        (
            Requirement("statefulset.kubernetes.io/pod-name", "In", (f"db-{name}",)),
            Requirement("apps.kubernetes.io/pod-index", operator, (str(index),)),
        )
    )
    pods = [each for each in range(first, first + number) if each == name and (each == index) == (operator == "In")]
    assert labels.some(selector) == bool(pods)
    assert labels.all(selector) == (len(pods) == number) or not number


def test_what_one_value_is_and_what_differs() -> None:
    (db,) = read("StatefulSet", "apps/v1", SPECS["StatefulSet"], "db")
    labels = fleet_of([db]).pods[0].pod_labels
    assert labels.certain == {"app": "web"}
    assert labels.some(asks(**{"controller-revision-hash": ("db-5c9f",)}))
    assert not labels.some(asks(**{"controller-revision-hash": ("web-5c9f",)}))
    assert not labels.all(asks(**{"controller-revision-hash": ("db-5c9f",)}))
    assert labels.all(asks(**{"controller-revision-hash": ()}))
    names = tuple(f"db-{number}" for number in (5, 6, 7))
    assert labels.all(asks(**{"statefulset.kubernetes.io/pod-name": names}))
    assert not labels.all(asks(**{"statefulset.kubernetes.io/pod-name": names[:2]}))
    assert not labels.some(asks(**{"statefulset.kubernetes.io/pod-name": ("db-05", "db-4", "db-8", "db-x", "db-")}))
    (machine,) = read("VirtualMachine", "kubevirt.io/v1", "template: {spec: {domain: {}, hostname: guest}}")
    assert fleet_of([machine]).pods[0].pod_labels.certain["vm.kubevirt.io/name"] == "guest"


def test_a_job_keeps_its_labels_and_a_manual_selector_adds_none() -> None:
    (job,) = read("Job", "batch/v1", "manualSelector: true, template: {metadata: {labels: {job-name: mine}}, spec: {containers: []}}")
    assert fleet_of([job]).pods[0].pod_labels == PodLabels({"job-name": "mine"})


COMPLETE = Target(complete=True)


@pytest.mark.parametrize(
    ("manifest", "label"),
    [
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: loader, namespace: shop}", "job-name: loader"),
        ("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: db, namespace: shop}", "vm.kubevirt.io/name: db"),
        ("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}", "statefulset.kubernetes.io/pod-name: db-2"),
    ],
)
def test_an_affinity_to_a_label_that_a_controller_adds_has_a_target(manifest: str, label: str) -> None:
    body = MACHINE if "kubevirt" in manifest else TEMPLATE
    target = f"{manifest}\nspec: {{replicas: 3, selector: {{matchLabels: {{app: web}}}}, template: {body}}}\n"
    assert messages_of({"a.yaml": target, "b.yaml": asking(label)}, "affinity-target-missing", target=COMPLETE) == []
    (missing,) = messages_of({"a.yaml": target, "b.yaml": asking(label + "0")}, "affinity-target-missing", target=COMPLETE)
    assert missing.endswith("and the configuration sets `complete: true`: the pods stay Pending")


def asking(label: str) -> str:
    term = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{{label}}}}}}}"
    affinity = f"{{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: cache, namespace: shop, labels: {{app: cache}}}}
spec: {{affinity: {affinity}, containers: [{{name: a, image: b}}]}}
"""


def test_who_keeps_away_from_all_virtual_machines_means_them_all() -> None:
    apart = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {kubevirt.io: virt-launcher}}}"
    files = {
        f"{name}.yaml": f"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: {name}, namespace: shop}}\n"
        f"spec: {{runStrategy: Always, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{domain: {{}},"
        f" affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{apart}]}}}}}}}}}}\n"
        for name in ("one", "two")
    }
    assert [each.rule for each in lint(files) if each.rule == "accidental-anti-affinity"] == []


@pytest.mark.parametrize(
    ("asked", "known", "expected"),
    [
        ({"app": ("web",)}, True, None),
        ({"app": ("web",), "tier": ()}, True, 1),
        ({"tier": (), "app": ("api",)}, True, 0),
        # A patch may leave out the label, but not change the one that it sets.
        ({"tier": (), "app": ("api",)}, False, 1),
        ({"tier": ()}, False, None),
        ({"name": ("cache",)}, False, None),
    ],
)
def test_the_first_requirement_that_the_pods_do_not_meet(asked: dict[str, tuple[str, ...]], known: bool, expected: int | None) -> None:
    labels = PodLabels({"app": "web", "name": "${NAME}"})
    assert labels.missed(asks(**asked), known=known) == expected


def test_requirements_that_no_pod_meets_together_are_not_missed_one_by_one() -> None:
    (stateful,) = read("StatefulSet", "apps/v1", SPECS["StatefulSet"])
    (pods,) = fleet_of([stateful]).pods
    both = Selector(
        (
            Requirement("apps.kubernetes.io/pod-index", "In", ("5",)),
            Requirement("statefulset.kubernetes.io/pod-name", "In", ("web-6",)),
        )
    )
    assert not pods.pod_labels.some(both)
    assert pods.pod_labels.missed(both, known=True) is None
