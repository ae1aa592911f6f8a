"""`afflint place` with a dump of a cluster, as `kubectl get nodes,pods,... -A -o yaml` writes it: nothing else is needed."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cluster_objects import HOST, ZONE, Object
from command_line import exit_code

CONTROLLERS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "CronJob": "batch/v1", "Job": "batch/v1"}


def stored(kind: str, name: str, *, version: str = "v1", owner: str = "", namespace: str = "shop", **content: Any) -> Object:
    """An object as the API server returns it. ``owner`` is ``KIND/NAME`` of its controller."""
    metadata: Object = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "resourceVersion": "123",
        "generation": 1,
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}}],
        **content.pop("metadata", {}),
    }
    if owner:
        of, _, by = owner.partition("/")
        version_of_owner = CONTROLLERS.get(of, "kubevirt.io/v1")
        metadata["ownerReferences"] = [
            {"apiVersion": version_of_owner, "kind": of, "name": by, "uid": f"uid-{by}", "controller": True, "blockOwnerDeletion": True}
        ]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def node(name: str, zone: str) -> Object:
    found = stored(
        "Node", name, metadata={"labels": {HOST: name, ZONE: zone, "kubernetes.io/os": "linux"}}, spec={}, status={"conditions": []}
    )
    del found["metadata"]["namespace"]
    return found


def pod(name: str, on: str, owner: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    automatic = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    whole = {
        "nodeName": on,
        "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "kube-api-access-x", "mountPath": "/token"}]}],
        "volumes": [{"name": "kube-api-access-x", "projected": {"sources": []}}],
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "tolerations": automatic,
        "priority": 0,
        **spec,
    }
    return stored("Pod", name, owner=owner, metadata={"labels": labels or {}}, spec=whole, status={"phase": "Running"})


def template(app: str, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", "resources": {}, "terminationMessagePath": "/dev/termination-log"}]
    return {
        "metadata": {"creationTimestamp": None, "labels": {"app": app}},
        "spec": {"containers": containers, "restartPolicy": "Always", **spec},
    }


NODES = (node("w1", "a"), node("w2", "b"), node("w3", "b"))
WEB = {"app": "web", "pod-template-hash": "5d8f7"}
DEPLOYMENT = (
    stored(
        "Deployment",
        "web",
        version="apps/v1",
        spec={"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web")},
        status={"replicas": 2},
    ),
    stored(
        "ReplicaSet",
        "web-5d8f7",
        version="apps/v1",
        owner="Deployment/web",
        spec={"replicas": 2, "selector": {"matchLabels": WEB}, "template": template("web")},
        status={"replicas": 2},
    ),
    stored(
        "ReplicaSet",
        "web-old",
        version="apps/v1",
        owner="Deployment/web",
        spec={"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template("web")},
        status={"replicas": 0},
    ),
)
PODS = (
    pod("web-5d8f7-aaaaa", "w1", "ReplicaSet/web-5d8f7", WEB),
    pod("web-5d8f7-bbbbb", "w1", "ReplicaSet/web-5d8f7", WEB),
    pod("db-0", "w1", "StatefulSet/db", {"app": "db"}, nodeSelector={ZONE: "a"}),
    pod("tool", "w3"),
)
MACHINE = stored(
    "VirtualMachineInstance",
    "erp",
    version="kubevirt.io/v1",
    owner="VirtualMachine/erp",
    metadata={"labels": {"app": "erp", "kubevirt.io/nodeName": "w2"}},
    spec={"architecture": "amd64", "domain": {"devices": {}}, "evictionStrategy": "LiveMigrate"},
    status={"nodeName": "w2", "phase": "Running", "conditions": [{"type": "LiveMigratable", "status": "True"}]},
)
LAUNCHER = pod("virt-launcher-erp-x7k2p", "w2", "VirtualMachineInstance/erp", {"kubevirt.io": "virt-launcher"})
BUDGET = stored(
    "PodDisruptionBudget",
    "db",
    version="policy/v1",
    spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
    status={"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0, "expectedPods": 1},
)


def dump(*items: Object) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items), "metadata": {"resourceVersion": ""}}, indent=4)


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def plan(self) -> Any:
        return json.loads(self.out)

    @property
    def replicas(self) -> dict[str, list[tuple[str, str | None]]]:
        return {each["key"]: [(replica["pod"], replica["node"]) for replica in each["replicas"]] for each in self.plan["workloads"]}


Place = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    """Runs `afflint place` in an empty folder, with ``piped`` as standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str, piped: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped.encode())))
        return Done(exit_code(monkeypatch, "place", "--no-config", *words), *capsys.readouterr())

    return run


JSON = ("--format", "json")
EVERYTHING = dump(*NODES, *DEPLOYMENT, *PODS, MACHINE, LAUNCHER, BUDGET)
RUN = {
    "Deployment shop/web": [("web-5d8f7-aaaaa", "w1"), ("web-5d8f7-bbbbb", "w1")],
    "StatefulSet shop/db": [("db-0", "w1")],
    "Pod shop/tool": [("tool", "w3")],
    "VirtualMachine shop/erp": [("virt-launcher-erp-x7k2p", "w2")],
}


@pytest.mark.parametrize("words", [("--nodes", "-"), ("--nodes", "-", "--pods", "-")], ids=["nodes", "nodes and pods"])
def test_a_dump_on_standard_input_is_enough(tmp_path: Path, place: Place, words: tuple[str, ...]) -> None:
    """The current folder is not read: its manifests may be of another cluster."""
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: [{name: c, image: i}]}\n")
    done = place(*words, "--drain", "each:node", *JSON, piped=EVERYTHING)
    assert (done.err, done.replicas) == ("", RUN)
    one, two, three = done.plan["losses"]
    assert [(each["pod"], each["why"]) for each in one["blocked"]] == [
        ("db-0", "PodDisruptionBudget db (minAvailable 1) requires 1 of 1 pods to be healthy, and 1 is")
    ]
    assert {(move["pod"], move["fate"]) for move in one["moves"]} == {("web-5d8f7-aaaaa", "recreated"), ("web-5d8f7-bbbbb", "recreated")}
    assert [(move["pod"], move["fate"]) for move in two["moves"]] == [("virt-launcher-erp-x7k2p", "migrated")]
    assert three["result"] == "refused"


@pytest.mark.parametrize(
    "words",
    [("--nodes", "dump.json"), ("--pods", "dump.json"), ("dump.json",), ("dump.json", "--nodes", "dump.json", "--pods", "dump.json")],
    ids=["as nodes", "as pods", "as manifests", "as all three"],
)
def test_one_file_may_hold_everything_whatever_it_is_given_as(tmp_path: Path, place: Place, words: tuple[str, ...]) -> None:
    (tmp_path / "dump.json").write_text(EVERYTHING)
    done = place(*words, *JSON)
    assert (done.code, done.err, done.replicas) == (0, "", RUN)


def test_a_pod_that_attaches_a_disk_belongs_to_its_virtual_machine(place: Place) -> None:
    """It is owned by the virt-launcher pod: it does not count as a workload, is not evicted, and does not go down."""
    attaching = pod("hp-volume-4n86z", "w2", f"Pod/{LAUNCHER['metadata']['name']}", {"kubevirt.io": "hotplug-disk"})
    done = place("--nodes", "-", "--drain", "w2", *JSON, piped=dump(*NODES, *DEPLOYMENT, *PODS, MACHINE, LAUNCHER, BUDGET, attaching))
    assert done.replicas == RUN
    (loss,) = done.plan["losses"]
    assert [(move["pod"], move["fate"]) for move in loss["moves"]] == [("virt-launcher-erp-x7k2p", "migrated")]


OTHER_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: [{name: c, image: i}]}\n"


@pytest.mark.parametrize(
    "words",
    [("--nodes", "dump.json"), ("--pods", "dump.json"), ("--nodes", "nodes.json", "--pods", "pods.json")],
    ids=["nodes", "pods", "two files"],
)
def test_a_dump_in_a_file_is_enough(tmp_path: Path, place: Place, words: tuple[str, ...]) -> None:
    """The current folder is not read, as with standard input: it may have a dump of another cluster."""
    (tmp_path / "other.yaml").write_text(OTHER_POD)
    (tmp_path / "dump.json").write_text(EVERYTHING)
    (tmp_path / "nodes.json").write_text(dump(*NODES))
    (tmp_path / "pods.json").write_text(dump(*DEPLOYMENT, *PODS, MACHINE, LAUNCHER))
    done = place(*words, *JSON)
    assert done.replicas == RUN
    assert "also read" not in done.out


@pytest.mark.usefixtures("place")
def test_why_takes_a_dump_in_a_file_as_the_whole_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.yaml").write_text(OTHER_POD)
    (tmp_path / "dump.json").write_text(EVERYTHING)
    (tmp_path / "nodes.json").write_text(dump(*NODES))
    assert exit_code(monkeypatch, "why", "--no-config", "other", "--nodes", "dump.json") == 2
    assert "no workload or pod is named 'other'" in capsys.readouterr().err
    exit_code(monkeypatch, "why", "--no-config", "other", "--nodes", "nodes.json")
    assert capsys.readouterr().out.startswith("also read: 2 files with manifests in the current folder\n\nPod default/other")


@pytest.mark.parametrize("dumped", [NODES, (*NODES, stored("Namespace", "shop"), BUDGET)], ids=["nodes", "and objects without pods"])
def test_the_first_line_says_that_the_current_folder_was_read(tmp_path: Path, place: Place, dumped: tuple[Object, ...]) -> None:
    (tmp_path / "nodes.json").write_text(dump(*dumped))
    (tmp_path / "one.yaml").write_text(OTHER_POD)
    (tmp_path / "two.yaml").write_text(f"{OTHER_POD.replace('other', 'second')}---\nkind: Unknown\n")
    (tmp_path / "values.txt").write_text("not a manifest")
    line = "also read: 2 files with manifests in the current folder"
    for words in ((), ("--summary",)):
        assert place("--nodes", "nodes.json", *words).out.startswith(f"{line}\n\n")
    assert place("--nodes", "nodes.json", *JSON).plan["notes"][0] == line
    assert f"<li>{line}" in place("--nodes", "nodes.json", "--format", "html").out


@pytest.mark.parametrize("words", [("one.yaml", "--nodes", "nodes.json"), ()], ids=["paths", "no options"])
def test_what_the_user_named_is_not_also_read(tmp_path: Path, place: Place, words: tuple[str, ...]) -> None:
    (tmp_path / "nodes.json").write_text(dump(*NODES))
    (tmp_path / "one.yaml").write_text(OTHER_POD)
    assert "also read" not in place(*words).out


def test_paths_are_read_together_with_a_dump(tmp_path: Path, place: Place) -> None:
    (tmp_path / "other.yaml").write_text(OTHER_POD)
    (tmp_path / "dump.json").write_text(EVERYTHING)
    assert "Pod default/other" in place("other.yaml", "--nodes", "dump.json", *JSON).replicas


def test_only_nodes_on_standard_input_leave_the_folder_to_be_read(tmp_path: Path, place: Place) -> None:
    (tmp_path / "db.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec: {containers: [{name: c, image: i}]}\n")
    assert list(place("--nodes", "-", *JSON, piped=dump(*NODES)).replicas) == ["Pod default/db"]


def test_a_replica_set_without_its_deployment_is_a_workload(place: Place) -> None:
    done = place("--nodes", "-", *JSON, piped=dump(*NODES, DEPLOYMENT[1], *PODS[:2]))
    assert done.replicas == {"ReplicaSet shop/web-5d8f7": RUN["Deployment shop/web"]}


def test_a_job_of_a_cron_job_and_a_machine_of_a_vm_are_not_workloads_of_their_own(place: Place) -> None:
    job = {"template": template("nightly", restartPolicy="Never")}
    machine = stored(
        "VirtualMachine", "erp", version="kubevirt.io/v1", spec={"runStrategy": "Always", "template": {"spec": MACHINE["spec"]}}
    )
    objects = (
        stored("CronJob", "nightly", version="batch/v1", spec={"schedule": "0 0 * * *", "jobTemplate": {"spec": job}}),
        stored("Job", "nightly-29000000", version="batch/v1", owner="CronJob/nightly", spec=job),
        pod("nightly-29000000-x", "w1", "Job/nightly-29000000", {"job-name": "nightly-29000000"}),
        machine,
        MACHINE,
        LAUNCHER,
    )
    done = place("--nodes", "-", *JSON, piped=dump(*NODES, *objects))
    assert done.replicas == {
        "CronJob shop/nightly": [("nightly-29000000-x", "w1")],
        "VirtualMachine shop/erp": [("virt-launcher-erp-x7k2p", "w2")],
    }


def test_the_same_pod_in_two_dumps_is_one(tmp_path: Path, place: Place) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(dump(*PODS))
    (tmp_path / "nodes.json").write_text(dump(*NODES))
    done = place("--nodes", "nodes.json", "--pods", "a.json", "--pods", "b.json", *JSON)
    assert done.replicas["Deployment shop/web"] == RUN["Deployment shop/web"]


def test_pods_that_run_against_their_rules_are_listed_in_every_format(place: Place) -> None:
    """The exit code is that of a plan without them: nothing has failed."""
    moved = pod("db-0", "w2", "StatefulSet/db", {"app": "db"}, nodeSelector={ZONE: "a"})
    given = dump(*NODES, moved)
    done = place("--nodes", "-", *JSON, piped=given)
    assert (done.code, done.plan["violations"]) == (
        0,
        [
            {
                "pod": "db-0",
                "workload": "StatefulSet shop/db",
                "node": "w2",
                "why": f"has {ZONE}=b, not a",
                "reason": "NodeAffinity",
                "recreated": True,
                "restart": "w1",
                "migrates": False,
                "migration": None,
                "descheduler": "RemovePodsViolatingNodeAffinity",
            }
        ],
    )
    text = place("--nodes", "-", piped=given).out
    words = "a restart would move it, for example to w1; a descheduler with RemovePodsViolatingNodeAffinity considers it"
    assert "1 running pod violates placement rules (rules apply when a pod is scheduled)" in text
    assert f"shop/db  db-0  w2  has {ZONE}=b, not a; {words}" in text
    assert "although node affinity no longer matches" not in text
    page = place("--nodes", "-", "--format", "html", piped=given).out
    assert f"<li>shop/db: <code>db-0</code> on w2: has {ZONE}=b, not a; {words.replace(chr(39), '&#x27;')}</li>" in page


@pytest.mark.parametrize("shown_by", ["uid", "phase", "owner"])
def test_trimmed_pods_of_a_dump_are_running_pods(place: Place, shown_by: str) -> None:
    """Tools that trim a dump remove fields that the cluster has set: one of them is enough to recognise a pod of the cluster."""
    trimmed = pod("db-0", "w1", "StatefulSet/db", {"app": "db"}, nodeSelector={ZONE: "a"})
    if shown_by != "uid":
        del trimmed["metadata"]["uid"]
    if shown_by != "phase":
        del trimmed["status"]
    if shown_by != "owner":
        del trimmed["metadata"]["ownerReferences"]
    done = place("--nodes", "-", "--drain", "w1", "--format", "json", piped=dump(*NODES, trimmed))
    assert [key for key in done.replicas if key.startswith(("StatefulSet", "Pod"))] == [
        "StatefulSet shop/db" if shown_by == "owner" else "Pod shop/db-0"
    ]
    assert done.code == 1


def test_pods_that_nothing_shows_to_run_are_manifests(place: Place) -> None:
    """A Pod in the stream of nodes is never skipped: without any sign of a cluster it is a manifest to schedule."""
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tool"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    done = place("--nodes", "-", "--format", "json", piped=dump(*NODES, manifest))
    assert [key for key, replicas in done.replicas.items() if replicas] == ["Pod default/tool"]


def test_a_node_in_maintenance_is_named(place: Place) -> None:
    def maintenance(name: str, of: str) -> Object:
        return stored("NodeMaintenance", name, version="nodemaintenance.medik8s.io/v1beta1", spec={"nodeName": of})

    cordoned = node("w1", "a")
    cordoned["spec"]["unschedulable"] = True
    items = dump(cordoned, *NODES[1:], *PODS, maintenance("memory", "w1"), maintenance("disk", "w2"), maintenance("old", "w9"))
    done = place("--nodes", "-", piped=items)
    notes = [line.removeprefix("note: ") for line in done.out.splitlines() if "NodeMaintenance" in line]
    assert notes == [
        "NodeMaintenance memory: w1 is cordoned, and pods on it are evicted only with --drain w1",
        "NodeMaintenance disk will cordon and drain w2, which is not cordoned yet: --drain w2 shows the effect",
    ]


def unready(pod: Object, phase: str = "Running") -> Object:
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]
    return {**pod, "status": {"phase": phase, "conditions": conditions}}


@pytest.mark.parametrize(
    ("phase", "budget", "blocked"),
    [
        ("Running", {"minAvailable": 1}, {"web-5d8f7-b"}),
        ("Running", {"minAvailable": 2}, {"web-5d8f7-a", "web-5d8f7-b"}),
        ("Running", {"minAvailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"web-5d8f7-b"}),
        ("Pending", {"minAvailable": 2}, {"web-5d8f7-b"}),
    ],
)
def test_budgets_count_only_pods_that_are_ready(place: Place, phase: str, budget: Object, blocked: set[str]) -> None:
    """Of two pods, one is not ready: its own eviction needs a healthy budget, another policy, or containers that do not run yet."""
    rules = stored("PodDisruptionBudget", "web", version="policy/v1", spec={"selector": {"matchLabels": {"app": "web"}}, **budget})
    ready, other = [pod(f"web-5d8f7-{name}", on, "ReplicaSet/web-5d8f7", WEB) for name, on in (("b", "w2"), ("a", "w1"))]
    pods = [unready(other, phase), ready]
    done = place("--nodes", "-", "--drain", "each:node", *JSON, piped=dump(*NODES, *DEPLOYMENT, *pods, rules))
    found = {each["pod"]: each["why"] for loss in done.plan["losses"] for each in loss["blocked"]}
    assert found.keys() == blocked
    if budget == {"minAvailable": 1}:
        why = "PodDisruptionBudget web (minAvailable 1) requires 1 of 2 pods to be healthy, and 1 is; web-5d8f7-a is not ready"
        assert found["web-5d8f7-b"] == why


@pytest.mark.parametrize(
    ("condition", "note"), [("Complete", "it is complete, so it has no pods"), ("Failed", "it has failed, so it has no pods")]
)
def test_a_job_that_has_ended_has_no_pods(place: Place, condition: str, note: str) -> None:
    job = stored(
        "Job",
        "import",
        version="batch/v1",
        spec={"template": template("import", restartPolicy="Never")},
        status={"conditions": [{"type": condition, "status": "True"}]},
    )
    done = place("--nodes", "-", "--lose", "each:node", *JSON, piped=dump(*NODES, job, *PODS[:2], *DEPLOYMENT))
    assert done.replicas["Job shop/import"] == []
    assert next(each["notes"] for each in done.plan["workloads"] if each["key"] == "Job shop/import") == [note]
    assert not [move for loss in done.plan["losses"] for move in loss["moves"] if move["workload"] == "Job shop/import"]


@pytest.mark.parametrize("words", [(), ("--only-running",)])
def test_the_status_of_a_machine_that_a_user_starts_says_whether_it_runs(place: Place, words: tuple[str, ...]) -> None:
    def machine(name: str, **status: Any) -> Object:
        spec = {"runStrategy": "Manual", "template": {"spec": MACHINE["spec"]}}
        return stored("VirtualMachine", name, version="kubevirt.io/v1", spec=spec, status=status)

    objects = (machine("erp", created=True, printableStatus="Running"), machine("old", printableStatus="Stopped"), MACHINE, LAUNCHER)
    done = place("--nodes", "-", *words, *JSON, piped=dump(*NODES, *objects))
    assert done.replicas == {"VirtualMachine shop/erp": [("virt-launcher-erp-x7k2p", "w2")], "VirtualMachine shop/old": []}
    assert done.plan["workloads"][1]["notes"][0] == "it is stopped, so it has no pod"


@pytest.mark.parametrize("words", [("--lose", "each:node"), ("--drain", "each:node"), ("--remove", "each:node"), ("--upgrade", "each")])
def test_pods_of_another_scheduler_are_not_evaluated_beside_priorities(place: Place, words: tuple[str, ...]) -> None:
    gold = stored("PriorityClass", "gold", version="scheduling.k8s.io/v1", value=1000)
    first = pod("web-5d8f7-a", "w1", "ReplicaSet/web-5d8f7", WEB, priorityClassName="gold", priority=1000)
    other = pod("batch-1-a", "w1", "ReplicaSet/batch-1", {"app": "batch"}, schedulerName="volcano")
    done = place("--nodes", "-", *words, *JSON, piped=dump(*NODES, gold, first, other))
    assert (done.code, done.err) == (1, "")
    assert "batch-1-a" in done.out


def counts(out: str) -> list[str]:
    """The sums at the end of a report, without the notes that follow."""
    return [line for line in out.split("\n\n")[-1].splitlines() if not line.startswith(("note: ", " "))]


def test_the_sums_of_a_selection_do_not_speak_for_other_workloads(place: Place) -> None:
    """The drain of w1 is blocked by db-0, that of w3 is refused because of the pod tool, and the VM erp is migrated from w2."""
    assert counts(place("--nodes", "-", "--drain", "each:node", "--only", "erp", piped=EVERYTHING).out) == [
        "1 of 1 replica of 1 workload (--only erp) scheduled on 3 nodes. 3 other workloads are left out.",
        "3 drains: 3 are survived by every selected workload.",
        "Because of other workloads, 1 of these drains never completes and 1 is refused.",
    ]


def test_a_drain_that_is_shown_as_blocked_is_not_counted_twice(place: Place) -> None:
    out = place("--nodes", "-", "--drain", "each:node", "--only", "web", piped=EVERYTHING).out
    assert counts(out)[1:] == [
        "3 drains: 1 is blocked, 2 are survived by every selected workload.",
        "Because of other workloads, 1 of these drains is refused.",
    ]


def test_the_sums_of_a_selection_name_the_harm_of_others(place: Place) -> None:
    out = place("--nodes", "-", "--lose", "each:node", "--only", "erp", piped=EVERYTHING).out
    assert counts(out)[1:] == [
        "3 failures: 1 takes a selected workload down, 2 are survived by every selected workload.",
        "2 of these failures take other workloads down.",
    ]


def test_a_selection_says_how_many_other_replicas_stay_pending(place: Place) -> None:
    waiting = stored("Pod", "waiting", spec={"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c", "image": "i"}]})
    done = place("--nodes", "-", "--only", "web", "--summary", piped=dump(*NODES, *DEPLOYMENT, *PODS, waiting))
    assert "3 other workloads are left out; 1 of their replicas stays Pending." in done.out
    assert done.code == 1


def test_json_has_what_a_selection_leaves_out(place: Place) -> None:
    summary = place("--nodes", "-", "--drain", "each:node", "--only", "erp", *JSON, piped=EVERYTHING).plan["summary"]
    assert summary["drains"] == {"ends": 3, "blocked": 0, "refused": 0}
    assert summary["leftOut"]["drains"] == {"ends": 1, "blocked": 1, "refused": 1}
    assert (summary["leftOut"]["workloads"], summary["leftOut"]["pending"]) == (3, 0)
    assert "leftOut" not in place("--nodes", "-", *JSON, piped=EVERYTHING).plan["summary"]


def test_the_page_of_a_selection_says_what_it_leaves_out(place: Place) -> None:
    page = place("--nodes", "-", "--drain", "each:node", "--only", "erp", "--format", "html", piped=EVERYTHING).out
    assert "Because of other workloads, 1 of these drains never completes and 1 is refused." in page


def test_the_sum_of_rollouts_says_which_are_left_out(place: Place) -> None:
    out = place("--nodes", "-", "--roll", "each", "--only", "db", piped=EVERYTHING).out
    assert "1 rollout: 1 completes.\nLeft out: 2 rollouts: 1 completes, 1 is not replaced by a controller.\n" in out


def test_a_summary_names_what_it_does_not_show(place: Place) -> None:
    """The pod tool runs on a node that its node affinity no longer allows."""
    tool = pod("tool", "w3", nodeSelector={ZONE: "a"})
    out = place("--nodes", "-", "--summary", piped=dump(*NODES, *DEPLOYMENT, PODS[0], tool)).out
    assert out.endswith("Not shown: 1 running pod violates placement rules.\n")


@pytest.mark.parametrize("strategy", ["LiveMigrate", "LiveMigrateIfPossible"])
@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_running_machine_without_the_condition_live_migratable_is_drained_as_its_spec_shows(
    place: Place, strategy: str, *, with_manifest: bool
) -> None:
    """A hostDisk cannot be live-migrated, whether or not virt-handler has reported it yet."""
    interface = {"interfaces": [{"name": "default", "masquerade": {}}], "disks": [{"name": "data", "disk": {}}]}
    spec = {
        "evictionStrategy": strategy,
        "domain": {"devices": interface},
        "networks": [{"name": "default", "pod": {}}],
        "volumes": [{"name": "data", "hostDisk": {"path": "/data", "type": "Disk"}}],
    }
    machine = stored("VirtualMachine", "db", version="kubevirt.io/v1", spec={"runStrategy": "Always", "template": {"spec": spec}})
    status = {"phase": "Running", "nodeName": "w1"}
    owner = "VirtualMachine/db"
    running = stored("VirtualMachineInstance", "db", version="kubevirt.io/v1", owner=owner, spec=spec, status=status)
    ends = []
    for objects in ([machine], [machine, running] if with_manifest else [running]):
        done = place("--nodes", "-", "--drain", "each:node", *JSON, piped=dump(*NODES[:2], *objects))
        first = json.loads(done.out)["losses"][0]
        ends.append((done.code, first["worst"], [each["pod"] for each in first["blocked"]]))
    blocked = (1, "survives", ["virt-launcher-db"])
    assert ends[0] == ends[1] == {"LiveMigrate": blocked, "LiveMigrateIfPossible": (0, "interrupted", [])}[strategy]


def test_an_accepted_eviction_does_not_exhaust_a_budget_for_good(place: Place) -> None:
    """The pod ends, or counts again after two minutes: until then `kubectl drain` retries."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}
    status = {"disruptedPods": {"web-5d8f7-a": "2026-01-01T00:00:00Z"}, "disruptionsAllowed": 0}
    rules = stored("PodDisruptionBudget", "web", version="policy/v1", spec=spec, status=status)
    pods = [pod(f"web-5d8f7-{name}", on, "ReplicaSet/web-5d8f7", WEB) for name, on in (("a", "w1"), ("b", "w2"))]
    done = place("--nodes", "-", "--drain", "each:node", *JSON, piped=dump(*NODES, *DEPLOYMENT, *pods, rules))
    assert [loss["blocked"] for loss in done.plan["losses"]] == [[], [], []]
    assert [each["name"] for each in done.plan["now"]["budgets"]] == ["shop/web"]


@pytest.mark.parametrize(
    ("profiles", "words"),
    [
        (["AffinityAndTaints"], "the profile EvictPodsWithLocalStorage is missing)"),
        (["AffinityAndTaints", "EvictPodsWithLocalStorage"], ""),
        (["SoftTopologyAndDuplicates"], "no profile enables RemovePodsViolatingNodeAffinity"),
    ],
)
def test_a_pod_that_the_descheduler_spares_has_a_reason(place: Place, profiles: list[str], words: str) -> None:
    """The pod runs in zone b, and its node affinity requires zone a."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    cache = pod("web-5d8f7-a", "w2", "ReplicaSet/web-5d8f7", WEB, affinity=affinity, volumes=[{"name": "tmp", "emptyDir": {}}])
    pod_template = template("web", affinity=affinity, volumes=[{"name": "tmp", "emptyDir": {}}])
    workload = [{**DEPLOYMENT[0], "spec": {**DEPLOYMENT[0]["spec"], "replicas": 1, "template": pod_template}}, *DEPLOYMENT[1:]]
    spec = {"mode": "Automatic", "profiles": profiles}
    operator = stored("KubeDescheduler", "cluster", version="operator.openshift.io/v1", spec=spec)
    objects = dump(*NODES, *workload, cache, operator)
    (effect,) = json.loads(place("--nodes", "-", "--deschedule", "--format", "json", piped=objects).out)["descheduling"]
    (answer,) = effect["violations"]
    assert (answer["pod"], answer["result"]) == ("web-5d8f7-a", "spared" if words else "moved")
    assert answer["why"].endswith(words)
    assert [each["pod"] for evicted in effect["rounds"] for each in evicted] == ([] if words else ["web-5d8f7-a"])
    out = place("--nodes", "-", "--deschedule", piped=objects).out
    assert ("  spares   web-5d8f7-a:" in out) == bool(words)


def test_a_pod_that_a_descheduler_evicts_in_vain(place: Place) -> None:
    """The budget never allows its eviction."""
    cache = pod("web-5d8f7-a", "w2", "ReplicaSet/web-5d8f7", WEB)
    other = pod("web-5d8f7-b", "w3", "ReplicaSet/web-5d8f7", WEB)
    tainted = {**NODES[1], "spec": {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}}
    budget = stored(
        "PodDisruptionBudget", "web", version="policy/v1", spec={"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    )
    operator = stored("KubeDescheduler", "cluster", version="operator.openshift.io/v1", spec={"profiles": ["AffinityAndTaints"]})
    out = place("--nodes", "-", "--deschedule", piped=dump(NODES[0], tainted, NODES[2], *DEPLOYMENT, cache, other, budget, operator)).out
    assert "  tries in vain  web-5d8f7-a: PodDisruptionBudget web (maxUnavailable 0) requires 2 of 2 pods" in out
