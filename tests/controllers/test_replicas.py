"""Which pods a manifest turns into: how many, their names, labels and owners, and what controllers add."""

import dataclasses
import pickle
import re
from typing import Any

import pytest

from afflint.controllers.launcher_pod import ARCH
from afflint.controllers.pod_source import PodSource, Virtualization
from afflint.controllers.replicas import MAX_REPLICAS, compile_pods, notes, owner
from afflint.controllers.running_pods import running_pods_of
from afflint.kube.decoding import InventoryError
from afflint.placement.schedule import build_schedule
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import only_on
from cluster_objects import HOST, Object, node, pod
from workload_objects import create_pods, inventory, makers_in, pod_source


def workload(
    kind: str, spec: str, api: str = "apps/v1", template: str = "template: {metadata: {labels: {app: web}}, spec: SPEC}"
) -> PodSource:
    """The one workload of a manifest; SPEC is replaced by a pod spec."""
    body = template.replace("SPEC", "{containers: [{name: web, image: web}]}")
    (found,) = makers_in(
        f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\nspec: {{{', '.join(filter(None, [spec, body]))}}}\n"
    )
    return found


def names(found: list[Object]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


EMPTY = Cluster([node("n1"), node("n2")])


def test_a_deployment_makes_pods_of_a_replica_set_that_selects_their_hash() -> None:
    web = workload("Deployment", "replicas: 2, selector: {matchLabels: {app: web}}")
    assert (web.key, web.line, web.pod_path) == ("Deployment shop/web", 3, ("spec", "template", "spec"))
    first, second = create_pods(web, EMPTY)
    assert names([first, second]) == ["web-0", "web-1"]
    assert first["metadata"]["labels"] == second["metadata"]["labels"]
    hashed = first["metadata"]["labels"]["pod-template-hash"]
    assert first["metadata"]["ownerReferences"] == [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{hashed}", "controller": True}
    ]
    assert owner(web) == {
        "kind": "ReplicaSet",
        "metadata": {"name": f"web-{hashed}", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web", "pod-template-hash": hashed}}},
    }


def test_replicas_of_a_deployment_spread_by_default_as_in_a_cluster() -> None:
    web = workload("Deployment", "replicas: 2, selector: {matchLabels: {app: web}}")
    first = create_pods(web, EMPTY)[0]
    plain = {**first, "metadata": {**first["metadata"], "ownerReferences": []}}
    cluster = inventory([node("n1", {HOST: "n1"}), node("n2", {HOST: "n2"})]).cluster([web])
    assert "PodTopologySpread" in cluster.evaluate(first).scores
    assert "PodTopologySpread" not in cluster.evaluate(plain).scores
    schedule = build_schedule(inventory([node("n1", {HOST: "n1"}), node("n2", {HOST: "n2"})]), [web])
    assert sorted(schedule.workloads[0].nodes.values()) == ["n1", "n2"]


def test_a_stateful_set_numbers_its_pods() -> None:
    web = workload("StatefulSet", "replicas: 2, serviceName: web, selector: {matchLabels: {app: web}}")
    labels = [each["metadata"]["labels"] for each in create_pods(web, EMPTY)]
    assert [each["statefulset.kubernetes.io/pod-name"] for each in labels] == ["web-0", "web-1"]
    assert [each["apps.kubernetes.io/pod-index"] for each in labels] == ["0", "1"]
    assert len({each["controller-revision-hash"] for each in labels}) == 1


@pytest.mark.parametrize(
    ("kind", "api", "spec", "count", "note"),
    [
        ("Deployment", "apps/v1", "", 1, "spec.replicas is not set: the simulation assumes one pod, but an autoscaler may create more"),
        ("Deployment", "apps/v1", "replicas: 0", 0, "spec.replicas is 0: it has no pods"),
        ("Deployment", "apps/v1", "replicas: -3", 0, "spec.replicas is 0: it has no pods"),
        ("Deployment", "apps/v1", "replicas: 1e99", 1, ""),
        ("Job", "batch/v1", "parallelism: 3, completions: 2", 2, ""),
        ("Job", "batch/v1", "parallelism: 2, completions: 5", 2, ""),
        ("Job", "batch/v1", "completions: 5", 1, ""),
        ("Job", "batch/v1", "parallelism: 3, suspend: true", 0, "it is suspended, so it has no pods"),
        ("ReplicationController", "v1", "replicas: 2", 2, ""),
    ],
)
def test_how_many_pods(kind: str, api: str, spec: str, count: int, note: str) -> None:
    made = workload(kind, spec, api)
    assert len(create_pods(made, EMPTY)) == count
    assert list(made.notes) == ([note] if note else [])


def test_a_cron_job_shows_one_run() -> None:
    template = "jobTemplate: {spec: {parallelism: 2, template: {spec: SPEC}}}"
    made = workload("CronJob", "schedule: '@daily'", "batch/v1", template)
    labels = create_pods(made, EMPTY)[1]["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"]
    assert re.fullmatch("web-[0-9]+", labels["job-name"])
    assert made.notes == ("only one run of the CronJob is shown",)
    assert create_pods(workload("CronJob", "suspend: true", "batch/v1", template), EMPTY) == []


def test_two_billion_replicas_are_not_made() -> None:
    made = workload("Deployment", "replicas: 2000000000")
    assert len(create_pods(made, EMPTY)) == MAX_REPLICAS
    assert notes(made, EMPTY) == (f"{MAX_REPLICAS} of its 2000000000 replicas are shown",)


# --- virtual machines --------------------------------------------------------------------------------------------------


LEFT_OUT = "so the simulation ignores the nodeSelector that virt-controller adds for them"
VM = "template: {metadata: {labels: {app: web}}, spec: {domain: {devices: {}}, nodeSelector: {disk: ssd}}}"


def test_a_virtual_machine_runs_in_a_launcher_pod_with_the_labels_of_virt_controller() -> None:
    made = workload("VirtualMachine", "runStrategy: Always", "kubevirt.io/v1", VM)
    ready = Cluster([node("n1", {"kubevirt.io/schedulable": "true", ARCH: "arm64", "machine-type.node.kubevirt.io/virt": "true"})])
    (launcher,) = create_pods(made, ready)
    assert launcher["metadata"]["name"] == "virt-launcher-web"
    labels = launcher["metadata"]["labels"]
    assert {key: labels[key] for key in ("app", "kubevirt.io", "vm.kubevirt.io/name", "vmi.kubevirt.io/id")} == {
        "app": "web",
        "kubevirt.io": "virt-launcher",
        "vm.kubevirt.io/name": "web",
        "vmi.kubevirt.io/id": "web",
    }
    assert launcher["spec"]["nodeSelector"] == {
        "kubevirt.io/schedulable": "true",
        ARCH: "arm64",
        "machine-type.node.kubevirt.io/virt": "true",
        "disk": "ssd",
    }
    assert notes(made, ready) == ()


def test_node_labels_that_a_small_inventory_lacks_are_left_out_and_that_is_reported() -> None:
    made = workload("VirtualMachineInstanceReplicaSet", "replicas: 2", "kubevirt.io/v1", VM)
    one, other = create_pods(made, EMPTY)
    assert one["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert one["metadata"]["labels"]["kubevirt.io/created-by"] != other["metadata"]["labels"]["kubevirt.io/created-by"]
    assert notes(made, EMPTY) == (f"no node has the labels kubevirt.io/schedulable or machine-type.node.kubevirt.io/..., {LEFT_OUT}",)


def test_what_nodes_can_do_is_asked_of_them_where_they_say_such_things_at_all() -> None:
    """A node says nothing of a protection that it cannot give; nodes that say nothing of KubeVirt are of another kind of list."""
    domain = "cpu: {model: Haswell, features: [{name: vmx}]}, launchSecurity: {snp: {}}"
    made = workload("VirtualMachine", "", "kubevirt.io/v1", f"template: {{spec: {{domain: {{{domain}}}}}}}")
    labelled = node("n1", {"cpu-model.node.kubevirt.io/Penryn": "true", "kubevirt.io/schedulable": "true", ARCH: "amd64"})
    (pod,) = create_pods(made, Cluster([labelled]))
    assert pod["spec"]["nodeSelector"] == {
        "kubevirt.io/schedulable": "true",
        ARCH: "amd64",
        "cpu-model.node.kubevirt.io/Haswell": "true",
        "kubevirt.io/sev": "true",
        "kubevirt.io/sev-snp": "true",
    }
    assert notes(made, Cluster([labelled])) == (
        f"no node has the labels cpu-feature.node.kubevirt.io/... or machine-type.node.kubevirt.io/..., {LEFT_OUT}",
    )


def test_what_an_instance_type_and_the_cluster_ask_for_is_never_left_out() -> None:
    made = workload("VirtualMachine", "", "kubevirt.io/v1", VM)
    resource = {"spec": {"configuration": {"developerConfiguration": {"nodeSelectors": {"pool": "vms"}}}}}
    made = dataclasses.replace(made, virtualization=Virtualization(resource, {"cpu": {"guest": 2}}))
    assert create_pods(made, EMPTY)[0]["spec"]["nodeSelector"] == {"pool": "vms", "disk": "ssd"}
    clash = dataclasses.replace(made, virtualization=Virtualization(resource, {"nodeSelector": {"pool": "gold"}}))
    with pytest.raises(InventoryError, match=r"spec\.template\.spec\.nodeSelector conflicts with selected instance type"):
        create_pods(clash, EMPTY)


def test_two_machines_that_reserve_one_disk_keep_apart() -> None:
    disk = "devices: {disks: [{name: d, lun: {reservation: true}}]}"
    volumes = "volumes: [{name: d, persistentVolumeClaim: {claimName: shared}}]"
    made = workload("VirtualMachine", "", "kubevirt.io/v1", f"template: {{spec: {{domain: {{{disk}}}, {volumes}}}}}")
    (pod,) = create_pods(made, EMPTY)
    assert pod["metadata"]["labels"]["pr.kubevirt.io/shared"] == ""
    (term,) = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"] == {"matchExpressions": [{"key": "pr.kubevirt.io/shared", "operator": "Exists"}]}


def test_a_virtual_machine_that_waits_to_be_started_is_planned_like_any_other() -> None:
    for field in ("runStrategy: Halted", "runStrategy: Manual", "running: false"):
        made = workload("VirtualMachine", field, "kubevirt.io/v1", VM)
        assert len(create_pods(made, EMPTY)) == 1
        assert made.not_started_by == field.replace("runStrategy:", "runStrategy")
    assert workload("VirtualMachine", "runStrategy: Once", "kubevirt.io/v1", VM).not_started_by == ""


# --- daemon sets -------------------------------------------------------------------------------------------------------


def test_a_daemon_set_makes_a_pod_for_each_node_that_may_run_one() -> None:
    nodes = [
        node("n1", {"pool": "web"}, cordoned=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]),
        node("n2", {"pool": "web"}, taints=["dedicated=db:NoSchedule"]),
        node("n3"),
        node("n4", {"pool": "web"}),
    ]
    template = "template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {pool: web}, containers: [{name: web, image: web}]}}"
    made = compile_pods(workload("DaemonSet", "", template=template), Cluster(nodes))
    assert [(pod.name, on) for pod, on in zip(made.pods, made.nodes, strict=True)] == [("web-n1", "n1"), ("web-n4", "n4")]
    assert Cluster(nodes).feasible_nodes(only_on(made.pods[0], "n1")) == ["n1"]


def test_every_pod_may_stay_on_a_node_that_is_not_ready_for_a_while() -> None:
    made = create_pods(workload("Deployment", "replicas: 1"), EMPTY)[0]
    assert [(each["key"], each["effect"]) for each in made["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    everything = pod_source("web", tolerations=[{"operator": "Exists"}])
    assert create_pods(everything, EMPTY)[0]["spec"]["tolerations"] == [{"operator": "Exists"}]


# --- what is there already ---------------------------------------------------------------------------------------------


def owned(kind: str, name: str) -> Object:
    running = pod(f"{name}-x", {"app": "web"}, on="n1")
    running["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "controller": True}]
    return running


@pytest.mark.parametrize(
    ("kind", "running", "mine"),
    [
        ("Deployment", owned("ReplicaSet", "web-5d9f"), True),
        ("Deployment", owned("ReplicaSet", "web-api-5d9f"), False),
        ("StatefulSet", owned("StatefulSet", "web"), True),
        ("CronJob", owned("Job", "web-28911"), True),
        ("VirtualMachineInstanceReplicaSet", owned("VirtualMachineInstance", "webab1cd"), True),
        ("DaemonSet", owned("DaemonSet", "other"), False),
    ],
)
def test_running_pods_of_a_workload_are_known_by_their_owner(kind: str, running: Object, mine: bool) -> None:
    web = pod_source("web", kind)
    assert running_pods_of([web], [running]) == ({web.key: [0]} if mine else {})
    assert running_pods_of([pod_source("web", kind, namespace="elsewhere")], [running]) == {}


def test_an_owner_that_is_named_comes_before_one_whose_name_fits() -> None:
    """`web-api` owns a pod of a ReplicaSet that could as well be one of `web`, but for the hash of its template."""
    labels = {"app": "web", "pod-template-hash": "abc12"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-api-abc12", "controller": True}
    of_api = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": labels, "ownerReferences": [owner]}}
    web, api = pod_source("web"), pod_source("web-api")
    assert running_pods_of([web, api], [of_api]) == {api.key: [0]}
    odd = {**of_api, "metadata": {**of_api["metadata"], "ownerReferences": [{**owner, "name": "web-abc12"}]}}
    assert running_pods_of([web, api], [odd]) == {web.key: [0]}
    # A pod of its own is none that has an owner and the same name.
    alone = pod_source("p", "Pod")
    assert running_pods_of([alone, api], [of_api]) == {api.key: [0]}


def test_a_pod_maker_travels_between_processes() -> None:
    web = workload("Deployment", "replicas: 2, selector: {matchLabels: {app: web}}")
    assert pickle.loads(pickle.dumps(web)) == web


def test_fragments_and_pod_templates_make_no_pods() -> None:
    assert makers_in("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {tolerations: []}}}\n") == []
    template = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: web}\ntemplate: {spec: {containers: [{name: a, image: a}]}}\n"
    assert makers_in(template) == []


def test_what_no_scheduler_could_read_is_an_error_of_that_workload_alone() -> None:
    broken: Any = {"nodeSelector": [1]}
    schedule = build_schedule(inventory([node("n1")]), [pod_source("broken", **broken), pod_source("web")])
    assert schedule.workloads[0].error == "Pod 'default/broken-0': spec.nodeSelector is not a map of labels"
    assert list(schedule.workloads[1].nodes.values()) == ["n1"]
