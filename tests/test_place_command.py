"""`afflint place`: what is placed where and what failures do, exit codes, reports, and complaints about inventories at their place."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afflint.resources import directory
from checkout import ROOT
from command_line import Afflint, spawned
from deployment_text import deployment

CUSTOMAPP, TYPO = ROOT / "examples" / "customapp", ROOT / "examples" / "customapp-typo"

NODES = """\
nodes:
  - {name: w1, labels: {topology.kubernetes.io/zone: a, rack: r1}}
  - {name: w2, labels: {topology.kubernetes.io/zone: b, rack: r1}}
"""
WEB = deployment(
    "affinity:",
    "  podAntiAffinity:",
    "    requiredDuringSchedulingIgnoredDuringExecution:",
    "      - {labelSelector: {matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}",
    namespace="shop",
    replicas=2,
)


class Done(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def plan(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)

    def nodes_of(self, workload: str) -> list[str | None]:
        """The nodes of a workload's replicas."""
        [found] = [each for each in self.plan["workloads"] if each["key"] == workload]
        return [replica["node"] for replica in found["replicas"]]


Place = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Runs `afflint place` in a folder with the given files. ``web.yaml`` and ``nodes.yaml`` are there unless given otherwise."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, **files: str | None) -> Done:
        for name, text in {"web": WEB, "nodes": NODES, **files}.items():
            if text is not None:
                (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return Done(*afflint("place", "--no-config", *map(str, arguments)))

    return run


# The scenario of the README.


def moved(plan: Any, node: str) -> dict[str, str | None]:
    """Where the replicas of a drained node come up again, by workload."""
    [loss] = [loss for loss in plan["losses"] if loss["what"] == f"node {node}"]
    return {move["workload"].rpartition("/")[2]: move["target"] for move in loss["moves"]}


def test_the_custom_app_has_one_replica_of_each_tier_in_each_zone(place: Place) -> None:
    done = place(CUSTOMAPP, "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert set(done.nodes_of("VirtualMachineInstanceReplicaSet customapp/database")) == {"worker-2", "worker-4", "worker-6"}
    caches = done.nodes_of("Deployment customapp/cache")
    assert set(caches) == {"worker-1", "worker-3", "worker-5"}
    assert set(done.nodes_of("VirtualMachineInstanceReplicaSet customapp/appliance")) == set(caches), "beside a cache each"


def test_a_topology_key_that_no_node_carries_never_schedules(place: Place) -> None:
    done = place(TYPO, "--format", "json")
    assert done.code == 1
    assert done.nodes_of("VirtualMachineInstanceReplicaSet customapp/appliance") == [None, None, None]
    assert None not in done.nodes_of("Deployment customapp/cache")


def test_that_kubevirt_labels_are_missing_everywhere_is_reported(place: Place) -> None:
    notes = place(CUSTOMAPP, "--format", "json").plan["workloads"][0]["notes"]
    assert any("no node has the labels kubevirt.io/schedulable" in note for note in notes)


# Exit codes.


def test_all_placed_and_every_failure_that_was_asked_for_survived(place: Place) -> None:
    spare = NODES + "  - {name: w3, labels: {topology.kubernetes.io/zone: c}}\n"
    assert place("web.yaml", "--nodes", "nodes.yaml", "--lose", "each:zone", nodes=spare).code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--lose", "w1"], 1),
        (["--lose", "rack=r1"], 1),
        (["--lose", "each:zone"], 1),
        (["--lose", "w1", "--exit-zero"], 0),
    ],
)
def test_a_replica_without_a_place_after_a_failure(place: Place, arguments: list[str], code: int) -> None:
    assert place("web.yaml", "--nodes", "nodes.yaml", *arguments).code == code


def test_a_replica_without_a_place_now(place: Place) -> None:
    third = WEB.replace("replicas: 2", "replicas: 3")
    done = place("web.yaml", "--nodes", "nodes.yaml", web=third)
    assert done.code == 1
    assert "2 of 3 replicas scheduled" in done.out
    assert place("web.yaml", "--nodes", "nodes.yaml", "--exit-zero", web=third).code == 0


NO_NODES: list[str] = []


@pytest.mark.parametrize(
    ("arguments", "files", "complaint"),
    [
        pytest.param(NO_NODES, {}, "no nodes are known: name a node dump (`kubectl get nodes -o yaml`)", id="no nodes"),
        pytest.param(["--nodes", "node.yaml"], {}, "--nodes: no such file or folder: 'node.yaml'", id="no such file"),
        pytest.param(["--nodes", "web.yaml"], {}, "web.yaml:1:1: no nodes in this file", id="no inventory"),
        pytest.param(["--lose", "w11"], {}, "no node is named 'w11'; did you mean 'w1'?", id="a node that is not there"),
        pytest.param(["--lose", "zone=c"], {}, "no node has zone=c; the values of zone are a, b", id="a zone that is not there"),
        pytest.param(["--lose", "each:row"], {}, "no node has the label row", id="a key that is not there"),
        pytest.param(["--by", "rak"], {}, "no node has the label rak; did you mean 'rack'?", id="no such key to group by"),
        pytest.param([], {"nodes": NODES + "  - {labels: {a: b}}\n"}, "nodes.yaml:4:6: a Node has no name", id="a node without a name"),
        pytest.param([], {"nodes": NODES + "  - {name: w1}\n"}, "nodes.yaml:4:12: duplicate node 'w1'", id="a node twice"),
        pytest.param([], {"nodes": NODES + "  - {name: w3, labels: {a: 1}}\n"}, "nodes.yaml:4:28: the node label 'a'", id="a number"),
        pytest.param([], {"nodes": NODES + "  - {name: w3, labels: [a]}\n"}, "nodes.yaml:4:6: Node 'w3': metadata.labels", id="a list"),
        pytest.param([], {"nodes": "nodes: [\n"}, "nodes.yaml:2:1: ", id="no YAML"),
        pytest.param(["--pods", "web.yaml"], {}, "web.yaml:1:1: no pods in this file", id="no pods"),
        pytest.param(["--pods", "cut.yaml"], {"cut": "items: [\n"}, "cut.yaml:2:1: a value is missing or cut off here", id="broken pods"),
        pytest.param(
            ["--nodes", "."], {"nodes": WEB}, ".: no nodes or node pools in the files of this folder", id="a folder without nodes"
        ),
        pytest.param(["--pods", "none.yaml"], {}, "none.yaml: cannot be read: ", id="no such file of pods"),
        pytest.param(["--format", "jsn"], {}, "--format: unknown value 'jsn'; did you mean 'json'?", id="no such format"),
    ],
)
def test_wrong_usage_is_reported_on_one_line(place: Place, arguments: list[str], files: dict[str, str], complaint: str) -> None:
    named = [] if "--nodes" in arguments or arguments is NO_NODES else ["--nodes", "nodes.yaml"]
    done = place("web.yaml", *named, *arguments, **files)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"afflint: {complaint}")
    assert done.err.count("\n") == 1


def test_a_folder_of_nodes_is_read_with_the_folders_in_it(place: Place, tmp_path: Path) -> None:
    one, other = NODES.splitlines(keepends=True)[1:3]
    (tmp_path / "cluster" / "more").mkdir(parents=True)
    beside = {"kustomization": "resources: [a.yaml]\n", "broken": "a: [\n"}
    for name, text in {"a": "nodes:\n" + one, "more/b": "nodes:\n" + other, **beside}.items():
        (tmp_path / "cluster" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "cluster" / "node.yaml.j2").write_text("{% for a in b %}\nnodes:\n- {{ a }}\nkind: Node\n{% endfor %}\n", encoding="utf-8")
    done = place("web.yaml", "--nodes", "cluster")
    assert (done.code, done.err) == (0, "")
    assert "2 of 2 replicas scheduled" in done.out


def test_a_manifest_that_cannot_be_a_pod_is_a_problem_at_its_place_and_the_others_are_placed(place: Place) -> None:
    broken = WEB.replace("name: web, namespace", "name: till, namespace") + "      tolerations: all\n"
    done = place("web.yaml", "broken.yaml", "--nodes", "nodes.yaml", broken=broken)
    assert done.code == 1
    assert done.err == "afflint: broken.yaml:15:20: `tolerations` must be a list, not a string\n"
    assert "2 of 2 replicas scheduled" in done.out
    assert "2 of 4 replicas of 2 workloads scheduled" in done.out, "those that cannot be created were asked for"


def test_all_manifests_that_are_refused_take_one_line_in_the_report_and_one_beside_it(place: Place) -> None:
    broken = "---\n".join(WEB.replace("name: web, ", f"name: till-{number}, ") + "      tolerations: all\n" for number in range(5))
    done = place("web.yaml", "broken.yaml", "--nodes", "nodes.yaml", "--format", "json", broken=broken)
    first = "broken.yaml:15:20: `tolerations` must be a list, not a string"
    assert done.err == f"afflint: {first} (and 4 more: `afflint check` reports them all)\n"
    [note] = [note for note in done.plan["notes"] if "would reject" in note]
    assert note.startswith("5 manifests cannot be read, or the API server would reject them; `afflint check` reports the details: ")
    assert f": {first}; " in note
    assert note.endswith("; and 2 more")


IS = WEB + "      tolerations: [{key: batch, operator: Is}]\n"


def test_what_the_api_server_refuses_has_no_pods_though_the_scheduler_could_read_them(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=IS)
    [web] = done.plan["workloads"]
    assert web["error"] == "the API server would reject it: a toleration does not support the operator `Is` (line 15)"
    assert done.nodes_of("Deployment shop/web") == [None, None]
    assert done.code == 1
    assert done.err == "afflint: web.yaml:15:44: a toleration does not support the operator `Is`\n"


def test_a_suppressed_finding_does_not_stop_the_run(place: Place) -> None:
    silenced = IS.replace("Is}]", "Is}]  # afflint: ignore[unknown-operator]")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=silenced)
    assert (done.code, done.err, done.nodes_of("Deployment shop/web")) == (0, "", ["w1", "w2"])


PROJECT = """\
apiVersion: v1
kind: Namespace
metadata: {{name: shop, annotations: {{{annotations}}}}}
---
"""
OF_SHOP = "openshift.io/node-selector of namespace shop"


@pytest.mark.parametrize(
    ("annotations", "selector", "nodes", "message"),
    [
        pytest.param(
            "openshift.io/node-selector: rack=r1", "", ["w1", "w2"], f"{OF_SHOP} adds rack=r1 to its nodeSelector", id="all have it"
        ),
        pytest.param(
            "openshift.io/node-selector: 'topology.kubernetes.io/zone=b,rack=r1'",
            "",
            ["w2", None],
            f"{OF_SHOP} adds topology.kubernetes.io/zone=b, rack=r1 to its nodeSelector",
            id="one has it",
        ),
        pytest.param("openshift.io/node-selector: rack=r1", "rack: r1", ["w1", "w2"], "", id="the workload asks for it, too"),
        pytest.param("openshift.io/node-selector: ''", "rack: r1", ["w1", "w2"], "", id="empty"),
        pytest.param(
            "openshift.io/node-selector: rack=r2, scheduler.alpha.kubernetes.io/node-selector: ''",
            "rack: r1",
            ["w1", "w2"],
            "",
            id="left to the plugin of Kubernetes",
        ),
        pytest.param(
            "scheduler.alpha.kubernetes.io/node-selector: topology.kubernetes.io/zone=b",
            "",
            ["w2", None],
            "scheduler.alpha.kubernetes.io/node-selector of namespace shop adds topology.kubernetes.io/zone=b to its nodeSelector|"
            "scheduler.alpha.kubernetes.io/node-selector of namespace shop only has an effect if the admission plugin PodNodeSelector "
            "is enabled",
            id="the plugin of Kubernetes",
        ),
        pytest.param(
            "openshift.io/node-selector: rack=r2",
            "rack: r1",
            [None, None],
            f"OpenShift would reject its pods: {OF_SHOP} sets rack=r2, but its nodeSelector has rack=r1",
            id="another value",
        ),
        pytest.param(
            "openshift.io/node-selector: rack",
            "",
            [None, None],
            f"OpenShift would reject its pods: {OF_SHOP} is rack, which is not a list of key=value",
            id="no value",
        ),
    ],
)
def test_a_namespace_gives_its_pods_a_node_selector_on_openshift(
    place: Place, annotations: str, selector: str, nodes: list[str | None], message: str
) -> None:
    web = PROJECT.format(annotations=annotations) + WEB + (f"      nodeSelector: {{{selector}}}\n" if selector else "")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=web)
    [found] = done.plan["workloads"]
    assert done.nodes_of("Deployment shop/web") == nodes
    assert [*found["notes"], *([found["error"]] if found["error"] else [])] == (message.split("|") if message else [])


def test_a_namespace_gives_its_pods_tolerations(place: Place) -> None:
    nodes = NODES.replace("nodes:", "nodes:\n  - {name: w0, labels: {rack: r1}, taints: [{key: dedicated, value: db, effect: NoSchedule}]}")
    given = """scheduler.alpha.kubernetes.io/defaultTolerations: '[{"key": "dedicated", "operator": "Exists"}]'"""
    web = PROJECT.format(annotations=given) + WEB
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=web, nodes=nodes)
    assert "w0" in done.nodes_of("Deployment shop/web")
    assert [note.partition(" of ")[2] for note in done.plan["workloads"][0]["notes"]] == [
        "namespace shop adds 1 toleration",
        "namespace shop only has an effect if the admission plugin PodTolerationRestriction is enabled",
    ]


def test_a_toleration_that_misses_by_a_slip_is_named(place: Place) -> None:
    nodes = NODES + "  - {name: w3, taints: [{key: dedicated, value: databases, effect: NoSchedule}]}\n"
    web = WEB + "      tolerations: [{key: dedicated, value: database, effect: NoSchedule}]\n"
    out = place("web.yaml", "nodes.yaml", web=web, nodes=nodes).out
    assert "has the untolerated taint dedicated=databases:NoSchedule (the toleration says dedicated=database)" in " ".join(out.split())


def test_a_file_that_is_named_and_holds_nothing_is_reported(place: Place) -> None:
    done = place("web.yaml", "nodes.yaml", "notes.yaml", "--format", "json", notes="hello: x\n")
    assert done.plan["notes"][0] == "notes.yaml contains no manifest"
    assert done.code == 0


def test_a_file_that_holds_nothing_in_a_folder_that_is_named_is_not_reported(place: Place) -> None:
    assert not [note for note in place(".", "--format", "json", notes="hello: x\n").plan["notes"] if "holds no" in note]


def test_a_pod_that_is_skipped_is_named_with_the_reason(place: Place) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: handler, namespace: kubevirt}\nspec: {nodeSelector: {disk: ssd}}\n"
    done = place("web.yaml", "handler.yaml", "--nodes", "nodes.yaml", "--format", "json", handler=pod)
    [note] = [note for note in done.plan["notes"] if "skipped: " in note]
    assert (done.code, note) == (0, "skipped: Pod handler in handler.yaml (it is a patch, or it lacks a name or containers with images)")


# What happens to nodes.


def test_what_fails_stays_and_what_its_removal_would_do_is_reported_below(place: Place) -> None:
    """A failed node counts as an empty zone, as it does for the scheduler: `kubectl cordon` says the same."""
    apart, spread = WEB.split("      affinity:")[0], "      topologySpreadConstraints:\n"
    spread += "        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, "
    spread += "labelSelector: {matchLabels: {app: web}}}\n      containers: [{name: web, image: nginx}]\n"
    nodes = "nodes:\n" + "".join(f"  - {{name: w{each}, labels: {{kubernetes.io/hostname: w{each}}}}}\n" for each in (1, 2, 3))
    web = apart.replace("replicas: 2", "replicas: 3") + spread
    done = place("web.yaml", "--nodes", "nodes.yaml", "--lose", "w1", web=web, nodes=nodes)
    assert done.code == 1
    assert done.out.split("\n\n")[-2].splitlines() == [
        "1 failure (the nodes become unreachable, the Node objects remain)",
        "  node w1          degraded  shop/web: 2 of 3 replicas run; web-0 stays Pending (2 nodes would",
        "                             exceed maxSkew 1 per node; w1 still counts as a topology domain)",
        "    after removal  survives  recreated: web-0 -> w2",
        "                             2 of 3 replicas of shop/web then share w2 in this schedule; in every",
        "                             order in which all run, some share a node",
    ]
    cordoned = place("web.yaml", "--nodes", "nodes.yaml", web=web, nodes=nodes.replace("w1}}", "w1}, unschedulable: true}"))
    assert "2 of 3 replicas scheduled" in cordoned.out


BUDGET = """\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""


def test_a_drain_that_does_not_end_is_reported_with_the_arithmetic_of_its_budget(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--drain", "w1", web=WEB + BUDGET)
    assert done.code == 1
    assert done.out.split("\n\n")[-2].splitlines() == [
        "1 drain (kubectl drain; blocked: never completes, refused: fails at once)",
        "  node w1  blocked  web-0 of shop/web is not evicted from w1: PodDisruptionBudget web (minAvailable",
        "                    2) requires 2 of 2 pods to be healthy, and 2 are",
    ]
    assert done.out.endswith("1 drain: 1 is blocked.\n")
    assert "is not evicted from w1" in place("web.yaml", "--nodes", "nodes.yaml", "--drain", "w1", "--format", "html", web=WEB + BUDGET).out


def test_all_replicas_at_once_interrupt_and_all_have_a_place_again(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--drain", "w1", web=WEB.replace("replicas: 2", "replicas: 1"))
    assert done.code == 0
    assert "  node w1  interrupted  shop/web has no running replica for a time; recreated: web-0 -> w2\n" in done.out
    assert done.out.endswith("1 drain: 1 interrupts a workload.\n")


def test_how_long_a_failure_interrupts_follows_from_the_tolerations_of_the_pods(place: Place) -> None:
    one = WEB.replace("replicas: 2", "replicas: 1")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--lose", "w1", web=one)
    assert "  node w1  interrupted  shop/web has no running replica for about 6 min; recreated: web-0 -> w2\n" in done.out
    soon = "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30}"
    impatient = one.replace("      affinity:", f"      tolerations: [{soon}]\n      affinity:")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--lose", "w1", "--format", "json", web=impatient)
    assert [move["after"] for move in done.plan["losses"][0]["moves"]] == [80]


# Preferences.

PREFERRING = deployment(
    "containers: [{name: c, image: x}]",
    "affinity:",
    "  nodeAffinity:",
    "    preferredDuringSchedulingIgnoredDuringExecution:",
    "      - {weight: 75, preference: {matchExpressions: [{key: zone, operator: In, values: [east]}]}}",
    "      - {weight: 20, preference: {matchExpressions: [{key: zone, operator: In, values: [west]}]}}",
    "      - {weight: 5, preference: {matchExpressions: [{key: disk, operator: Exists}]}}",
    namespace="shop",
)
ZONES = """\
nodes:
- {name: n1, labels: {zone: west}}
- {name: n2, labels: {zone: west}}
- {name: n3, labels: {zone: north, disk: ssd}, taints: [{key: a, value: b, effect: NoSchedule}]}
"""


def test_preferences_that_weigh_nothing_are_reported_and_those_that_are_met_with_verbose_alone(place: Place) -> None:
    unmet = [
        "note: no node satisfies the preference zone In [east] (weight 75)",
        "note: 1 node satisfies the preference disk Exists (weight 5), but the pods cannot be scheduled there",
    ]
    met = "note: 2 of 3 nodes satisfy the preference zone In [west] (weight 20)"
    done = place("web.yaml", "--nodes", "zones.yaml", web=PREFERRING, zones=ZONES)
    assert [line for line in done.out.splitlines() if "preference" in line] == unmet
    done = place("web.yaml", "--nodes", "zones.yaml", "-v", web=PREFERRING, zones=ZONES)
    assert [line for line in done.out.splitlines() if "preference" in line] == [unmet[0], met, unmet[1]]
    done = place("web.yaml", "--nodes", "zones.yaml", "--format", "json", web=PREFERRING, zones=ZONES)
    assert done.plan["workloads"][0]["preferences"][1] == {"asks": "zone In [west]", "weight": 20, "nodes": 2, "usable": 2}


# What nodes are read from.

DUMP_YAML = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    creationTimestamp: "2025-11-01T08:00:00Z"
    labels: {kubernetes.io/hostname: w1, topology.kubernetes.io/zone: a}
    name: w1
  spec: {podCIDR: 10.0.1.0/24}
  status: {nodeInfo: {kubeletVersion: v1.34.1}}
- {apiVersion: v1, kind: Node, metadata: {labels: {kubernetes.io/hostname: w3, topology.kubernetes.io/zone: b}, name: w3}, spec: {}}
kind: List
metadata: {resourceVersion: ""}
"""


def test_a_dump_in_yaml(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", nodes=DUMP_YAML)
    assert (done.code, done.nodes_of("Deployment shop/web")) == (0, ["w1", "w3"])


def test_nodes_beside_the_manifests_are_read_once_even_if_they_are_named_too(place: Place) -> None:
    assert place(".").code == 0
    assert place(".", "--nodes", "nodes.yaml").code == 0
    assert place(".", "--nodes", "./nodes.yaml", "--nodes", "nodes.yaml", nodes=DUMP_YAML).code == 0


def test_a_link_to_the_nodes_beside_them_holds_the_same_nodes(place: Place, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("nodes.yaml")
    (tmp_path / "zlink.yaml").symlink_to("link.yaml")
    done = place(".", "--format", "json")
    assert (done.code, [node["name"] for node in done.plan["nodes"]]) == (0, ["w1", "w2"])
    assert place(".", "--nodes", "nodes.yaml", "--nodes", "link.yaml").code == 0


def test_nodes_that_are_named_are_the_only_ones(place: Place) -> None:
    done = place(".", "--nodes", "nodes.yaml", "--format", "json", more="nodes: [{name: w1}, {name: w9}]\n")
    assert [node["name"] for node in done.plan["nodes"]] == ["w1", "w2"], "as for `afflint check`"
    twice = place(".", more="nodes: [{name: w1}, {name: w9}]\n")
    assert (twice.code, twice.err) == (2, "afflint: nodes.yaml:2:12: duplicate node 'w1': it is also defined in more.yaml\n")


def test_workloads_in_the_file_of_the_nodes_are_placed(place: Place) -> None:
    done = place("nodes.yaml", "--nodes", "nodes.yaml", "--format", "json", nodes=f"{DUMP_YAML}---\n{WEB}", web=None)
    assert done.nodes_of("Deployment shop/web") == ["w1", "w3"]


def test_an_operating_system_that_no_node_reports_is_assumed_and_that_is_reported(place: Place) -> None:
    selecting = WEB.replace("      affinity:", "      nodeSelector: {kubernetes.io/os: linux}\n      affinity:")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=selecting)
    assert done.code == 0
    assert done.plan["workloads"][0]["notes"] == [
        "no node has the label kubernetes.io/os; the simulation assumes that all nodes have kubernetes.io/os=linux"
    ]


def test_an_object_that_is_there_twice_is_placed_once(place: Place) -> None:
    done = place("web.yaml", "again.yaml", "--nodes", "nodes.yaml", "--format", "json", again=f"# an overlay\n{WEB}")
    assert [each["key"] for each in done.plan["workloads"]] == ["Deployment shop/web"]
    assert done.plan["workloads"][0]["notes"] == ["it is defined again in again.yaml:4; the simulation ignores that definition"]


# Running pods.


def running(name: str, node: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]},
    }


def test_pods_that_run_already_take_their_room(place: Place, tmp_path: Path) -> None:
    dump = {"apiVersion": "v1", "kind": "List", "items": [running("old", "w1", app="web")]}
    (tmp_path / "pods.json").write_text(json.dumps(dump), encoding="utf-8")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--pods", "pods.json", "--format", "json")
    assert (done.code, done.nodes_of("Deployment shop/web")) == (1, ["w2", None])


MACHINES = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: till, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: till}}
  template: {metadata: {labels: {app: till}}, spec: {domain: {devices: {}}}}
"""


def vmi(name: str, node: str, owner: str) -> dict[str, Any]:
    owners = [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "name": owner, "controller": True}]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "till"}, "ownerReferences": owners},
        "spec": {"domain": {"devices": {}}},
        "status": {"phase": "Running", "nodeName": node},
    }


def test_machines_stay_on_the_nodes_that_their_list_names(place: Place, tmp_path: Path) -> None:
    """`kubectl get vmi -A -o json`; their names do not tell whose they are, their owners do."""
    dump = {"apiVersion": "v1", "kind": "List", "items": [vmi("old-abcde", "w2", "till"), vmi("till-xyz", "w1", "other")]}
    (tmp_path / "vmi.json").write_text(json.dumps(dump), encoding="utf-8")
    done = place("tills.yaml", "--nodes", "nodes.yaml", "--pods", "vmi.json", "--format", "json", tills=MACHINES)
    till, other = done.plan["workloads"]
    assert (other["key"], other["file"]) == ("VirtualMachineInstanceReplicaSet shop/other", "")
    assert (done.code, till["replicas"][0]) == (0, {"pod": "virt-launcher-old-abcde", "node": "w2", "why": ""})
    assert len(till["replicas"]) == 2
    assert done.plan["notes"][0] == "2 running pods of these workloads stay on their nodes; use --replan to schedule them again"


def test_a_drain_heeds_what_running_machines_say_of_their_migration(place: Place, tmp_path: Path) -> None:
    """One that no manifest makes, and one of a manifest that says nothing of it."""
    unable = {"type": "LiveMigratable", "status": "False", "message": "claim db is not shared"}
    machines = [vmi("lone", "w1", "other"), vmi("old-abcde", "w2", "till")]
    for machine in machines:
        machine["spec"]["evictionStrategy"] = "LiveMigrate"
        machine["status"]["conditions"] = [unable]
    (tmp_path / "vmi.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": machines}), encoding="utf-8")
    done = place("tills.yaml", "--nodes", "nodes.yaml", "--pods", "vmi.json", "--drain", "each:node", "--format", "json", tills=MACHINES)
    why = "evictionStrategy LiveMigrate asks for live migration, but it cannot migrate: claim db is not shared"
    blocked = {(each["pod"], each["node"]): each["why"] for loss in done.plan["losses"] for each in loss["blocked"]}
    assert blocked == {("virt-launcher-lone", "w1"): why, ("virt-launcher-old-abcde", "w2"): why}
    assert done.code == 1


def test_an_empty_dump_of_pods_is_one(place: Place, tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}', encoding="utf-8")
    assert place("web.yaml", "--nodes", "nodes.yaml", "--pods", "pods.json").code == 0


def test_a_pod_that_can_be_none_is_refused_at_its_place(place: Place) -> None:
    pods = "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n  apiVersion: v1\n  metadata: {name: p}\n  spec: {affinity: 5}\n"
    done = place("web.yaml", "--nodes", "nodes.yaml", "--pods", "pods.yaml", pods=pods)
    assert (done.code, done.err) == (2, "afflint: pods.yaml:4:3: Pod 'default/p': spec.affinity is the number 5, not a map\n")


# Reports.


def test_the_json_report_keeps_to_its_schema(place: Place) -> None:
    import jsonschema

    schema = json.loads((Path(directory("schemas")) / "place.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for folder in (CUSTOMAPP, TYPO):
        jsonschema.Draft202012Validator(schema).validate(
            place(folder, "--lose", "each:node", "--drain", "each:zone", "--remove", "each:node", "--format", "json").plan
        )


def test_nodes_are_grouped_by_any_label(place: Place) -> None:
    assert place("web.yaml", "--nodes", "nodes.yaml").out.startswith("2 nodes by zone\n  zone a  w1\n  zone b  w2\n")
    assert place("web.yaml", "--nodes", "nodes.yaml", "--by", "rack").out.startswith("2 nodes by rack\n")
    assert place("web.yaml", "--nodes", "nodes.yaml", "--by", "rack", "--format", "json").plan["groupBy"] == "rack"


@pytest.mark.parametrize(
    ("key", "title", "reason"),
    [
        ("node.cluster.x-k8s.io/esxi-host", "physical host r1", "2 nodes share their physical host with a replica of web"),
        ("failure-domain.beta.kubernetes.io/zone", "zone r1", "2 nodes share their zone with a replica of web"),
        ("example.com/rack", "rack r1", "2 nodes share their example.com/rack with a replica of web"),
        ("kubernetes.io/hostname", "node r1", "2 nodes already have a replica of web"),
    ],
)
def test_domains_are_called_what_people_call_them(place: Place, key: str, title: str, reason: str) -> None:
    nodes, web = NODES.replace("rack:", f"{key}:"), WEB.replace("topology.kubernetes.io/zone", key)
    done = place("web.yaml", "--nodes", "nodes.yaml", "--by", key, nodes=nodes, web=web)
    assert done.out.startswith(f"2 nodes by {key.rpartition('/')[2]}\n  {title}  w1\n")
    assert f"  web-1 stays Pending: {reason}\n" in done.out


def test_nodes_that_lack_a_label_are_reported_to_lack_it(place: Place) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: w1}\n"
    assert place("web.yaml", "--nodes", "nodes.yaml", "--by", "hostname", nodes=node).out.startswith(
        "1 node by hostname\n  no hostname  w1\n"
    )


def test_hostile_names_do_not_reach_the_terminal(place: Place) -> None:
    hostile = NODES.replace("rack: r1}", 'rack: "\\e[31m"}', 1)
    done = place("web.yaml", "--nodes", "nodes.yaml", "--by", "rack", nodes=hostile)
    assert "\x1b" not in done.out + done.err
    bad = place("web.yaml", "--nodes", "nodes.yaml", "--lose", "\x1b[31m")
    assert (bad.code, "\x1b" in bad.err) == (2, False)


# The page says when and how it was made.


def test_the_page_is_dated_and_the_same_bytes_come_out_again_with_a_date_given(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def page(epoch: str) -> Done:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        words = ("my web.yaml", "--nodes", "nodes.yaml", "--lose", "each:node", "--format", "html", "--exit-zero")
        return place(*words, **{"my web": WEB})

    first = page("1790000000")
    assert "<title>Placement: 1 workload on 2 nodes in 2 zones, 2026-09-21</title>" in first.out
    command_line = "afflint place --no-config &#x27;my web.yaml&#x27; --nodes nodes.yaml --lose each:node --format html --exit-zero"
    assert f'<p class="soft">2026-09-21 14:13 UTC: <code>{command_line}</code></p>' in first.out
    assert page("1790000000").out == first.out
    wrong = page("yesterday")
    assert (wrong.code, wrong.out) == (2, "")
    assert "SOURCE_DATE_EPOCH takes a number of seconds, not 'yesterday'" in wrong.err


# What was not judged.

RUNNING = """\
apiVersion: v1
kind: Pod
metadata:
  name: virt-launcher-db-x7k2p
  namespace: shop
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, name: db, controller: true, uid: "0"}]
spec: {nodeName: w1, containers: [{name: compute, image: launcher}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: proxy-w2, namespace: kube-system, ownerReferences: [{apiVersion: v1, kind: Node, name: w2, controller: true, uid: "0"}]}
spec: {nodeName: w2, containers: [{name: proxy, image: proxy}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: import-x, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: import, controller: true, uid: "0"}]}
spec: {nodeName: w2, containers: [{name: import, image: import}]}
status: {phase: Succeeded}
"""
ACTIONS = ("--lose", "--drain", "--remove")
UNKNOWN = "1 running pod is not evaluated, because the object that controls it is missing or invalid: shop/virt-launcher-db-x7k2p"


@pytest.mark.parametrize("action", ACTIONS)
def test_a_node_with_a_pod_of_an_unknown_machine_is_not_survived(place: Place, action: str) -> None:
    """Only the VirtualMachineInstance says whether the VM migrates, and who restarts it."""
    done = place("--nodes", "nodes.yaml", "--pods", "running.yaml", action, "w1", web=None, running=RUNNING)
    words = re.sub(r"\s+", " ", done.out)
    assert done.code == 1
    assert f"node w1 not evaluated {UNKNOWN}" in words
    assert f"note: {UNKNOWN}" in words
    assert "1 is not evaluated." in done.out
    assert "surviv" not in done.out
    assert "no replica runs there" not in done.out


@pytest.mark.parametrize("action", ACTIONS)
def test_static_pods_and_finished_ones_are_not_a_loss(place: Place, action: str) -> None:
    done = place("--nodes", "nodes.yaml", "--pods", "running.yaml", action, "w2", web=None, running=RUNNING)
    assert (done.code, "survives" in done.out, "not evaluated" in done.out) == (0, True, False)


def test_without_a_failure_running_pods_are_merely_there(place: Place) -> None:
    done = place("--nodes", "nodes.yaml", "--pods", "running.yaml", web=None, running=RUNNING)
    assert (done.code, "not evaluated" in done.out) == (0, False)


def test_json_and_the_page_name_the_pods_that_are_not_evaluated(place: Place) -> None:
    asked = ("--nodes", "nodes.yaml", "--pods", "running.yaml", "--lose", "each:node")
    alone = place(*asked, "--format", "json", web=None, running=RUNNING).plan
    assert [(loss["worst"], loss["unjudged"]) for loss in alone["losses"]] == [("unjudged", 1), ("survives", 0)]
    assert alone["losses"][0]["unjudgedPods"] == ["shop/virt-launcher-db-x7k2p"]
    assert alone["summary"]["losses"] == {"dead": 0, "degraded": 0, "interrupted": 0, "unjudged": 1, "survives": 1}
    page = place(*asked, "--format", "html", web=None, running=RUNNING).out
    assert '<span class="state unjudged">not evaluated</span>' in page
    assert UNKNOWN in page
    done = place("web.yaml", *asked, "--format", "json", running=RUNNING)
    assert done.code == 1
    worst = {loss["what"]: (loss["worst"], loss["unjudged"]) for loss in done.plan["losses"]}
    assert worst == {"node w1": ("degraded", 1), "node w2": ("degraded", 0)}


def test_a_drain_that_an_unknown_pod_blocks_has_judged_that_pod(place: Place) -> None:
    alone = "apiVersion: v1\nkind: Pod\nmetadata: {name: tool}\nspec: {nodeName: w1, containers: [{name: c, image: i}]}\n"
    done = place("--nodes", "nodes.yaml", "--pods", "running.yaml", "--drain", "w1", web=None, running=alone)
    assert (done.code, "refused" in done.out, "not evaluated" in done.out) == (1, True, False)


STORE = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: shop}
spec:
  serviceName: store
  replicas: 1
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: store, image: "store:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [MODE], resources: {requests: {storage: 1Gi}}}}]
"""
TIED = "its volumes are not considered, but may restrict it to a zone or node"


def with_volume(volume: str) -> str:
    return WEB.replace("      containers:", f"      volumes: [{{name: v, {volume}}}]\n      containers:")


@pytest.mark.parametrize("action", ACTIONS)
def test_a_move_of_a_workload_with_claims_says_that_volumes_are_not_considered(place: Place, action: str) -> None:
    store = STORE.replace("MODE", "ReadWriteOnce")
    done = place("store.yaml", "--nodes", "nodes.yaml", action, "w1", web=None, store=store, nodes=NODES)
    assert f"note: {TIED}" in done.out
    plan = place("store.yaml", "--nodes", "nodes.yaml", action, "w1", "--format", "json", web=None, store=store).plan
    assert plan["workloads"][0]["volumes"] is True
    assert TIED in plan["workloads"][0]["notes"]
    moves = plan["losses"][0]["moves"]
    moved = any(move["target"] for move in moves)
    assert plan["losses"][0]["volumes"] == (["StatefulSet shop/store"] if moved else [])
    if moved:
        assert done.out.endswith("1 interrupts a workload, 1 of them only if volumes can be used on other nodes.\n")
        assert done.out.replace("\n", " ").count("not considered") >= 2


@pytest.mark.parametrize(
    "volume", ["emptyDir: {}", "configMap: {name: c}", "secret: {secretName: s}", "ephemeral: {volumeClaimTemplate: {}}"]
)
def test_volumes_that_go_with_the_pod_tie_nothing(place: Place, volume: str) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--drain", "w1", web=with_volume(volume))
    assert "not considered" not in done.out


def test_a_claim_by_name_may_tie_and_a_shared_one_of_a_template_does_not(place: Place) -> None:
    claimed = place("web.yaml", "--nodes", "nodes.yaml", web=with_volume("persistentVolumeClaim: {claimName: c}"))
    assert TIED in claimed.out
    shared = place("store.yaml", "--nodes", "nodes.yaml", web=None, store=STORE.replace("MODE", "ReadWriteMany"))
    assert TIED not in shared.out


# Names of nodes and files as operators give them.


def test_the_first_part_of_a_node_name_suggests_the_node(place: Place) -> None:
    nodes = "nodes: [{name: ocp-w00.lab.example.com}, {name: ocp-w01.lab.example.com}]\n"
    for short in ("ocp-w00", "w00"):
        done = place("web.yaml", "--nodes", "nodes.yaml", "--drain", short, nodes=nodes)
        assert (done.code, done.err) == (2, f"afflint: no node is named '{short}'; did you mean 'ocp-w00.lab.example.com'?\n")


def test_nodes_may_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.yaml").write_text(WEB)
    for command in (["place", "web.yaml", "--nodes", "-"], ["check", "web.yaml", "--no-cache", "--nodes", "-"]):
        done = spawned(*command, "--no-config", "--exit-zero", stdin=NODES)
        assert (done.code, done.err, "node" in done.out) == (0, "", True)
    twice = spawned("place", "-", "--nodes", "-", "--no-config", stdin=NODES)
    assert (twice.code, twice.err) == (2, "afflint: standard input (`-`) can be named only once\n")


def test_settings_of_kubevirt_are_not_skipped_and_each_patch_is_named_once(place: Place) -> None:
    kubevirt = (
        "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\n"
        "spec: {infra: {nodePlacement: {nodeSelector: {rack: r1}}}, workloads: {nodePlacement: {nodeSelector: {rack: r1}}}}\n"
    )
    done = place("web.yaml", "kubevirt.yaml", "--nodes", "nodes.yaml", kubevirt=kubevirt)
    assert (done.code, "skipped: " in done.out) == (0, False)


REQUESTS = """\
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: big, image: "big:1", resources: {requests: {cpu: 3, memory: 1Gi}}}]}
"""
SMALL = "apiVersion: v1\nkind: Node\nmetadata: {name: w1}\n"
TWO_CPUS = SMALL + "status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}\n"


def test_requests_count_on_nodes_with_allocatable_resources(place: Place) -> None:
    for arguments in ([], ["--resources"]):
        done = place("web.yaml", "--nodes", "nodes.yaml", *arguments, web=REQUESTS, nodes=TWO_CPUS)
        assert done.code == 1
        assert "insufficient CPU: 3 requested, 2 available" in done.out, done.out


def test_requests_do_not_count_with_an_option_that_says_so(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--no-resources", "--format", "json", web=REQUESTS, nodes=TWO_CPUS)
    assert done.code == 0
    assert done.plan["notes"][-1].endswith("not CPU, memory or other resources (`--no-resources`)")


def test_a_workload_says_that_its_requests_do_not_count_on_nodes_without_allocatable_resources(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=REQUESTS + "---\n" + WEB, nodes=NODES)
    [big, web] = done.plan["workloads"]
    assert big["notes"] == ["its requests for cpu and memory are not counted, because no node has status.allocatable"]
    assert web["notes"] == []
    assert done.plan["notes"] == []


def test_resources_cannot_be_on_and_off(place: Place) -> None:
    done = place("web.yaml", "--nodes", "nodes.yaml", "--resources", "--no-resources", web=WEB, nodes=NODES)
    assert (done.code, done.err) == (2, "afflint: --resources and --no-resources exclude each other\n")


GOLD = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: gold}
value: 100000
"""
BATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a-batch}
spec:
  replicas: 1
  selector: {matchLabels: {app: a-batch}}
  template: {metadata: {labels: {app: a-batch}}, spec: {containers: [{name: a, image: "a:1", resources: {requests: {cpu: 2}}}]}}
"""
BEFORE_BATCH = BATCH.replace("a-batch", "z-gold").replace("{containers", "{priorityClassName: gold, containers")


def test_replicas_of_higher_priority_are_scheduled_first(place: Place) -> None:
    done = place(".", "--format", "json", web="---\n".join((BATCH, GOLD, BEFORE_BATCH)), nodes=TWO_CPUS)
    assert done.nodes_of("Deployment default/z-gold") == ["w1"]
    assert done.nodes_of("Deployment default/a-batch") == [None]
    assert [each["notes"] for each in done.plan["workloads"]] == [[], []]


def test_the_priority_of_a_default_class_applies_to_pods_without_one(place: Place) -> None:
    default = GOLD.replace("gold", "usual").replace("100000", "200000\nglobalDefault: true")
    done = place(".", "--format", "json", web="---\n".join((default, GOLD, BEFORE_BATCH, BATCH)), nodes=TWO_CPUS)
    assert done.nodes_of("Deployment default/a-batch") == ["w1"]


LOW = """\
apiVersion: v1
kind: Pod
metadata: {name: low, namespace: default}
spec: {nodeName: w1, priority: PRIORITY, containers: [{name: a, image: "a:1", resources: {requests: {cpu: 2}}}]}
"""


def test_a_pending_pod_preempts_a_running_one_of_lower_priority(place: Place) -> None:
    def plan(priority: str, classes: str = GOLD) -> tuple[list[str | None], object, object]:
        files = {"web": f"{classes}---\n{BEFORE_BATCH}", "nodes": TWO_CPUS, "pods": LOW.replace("PRIORITY", priority)}
        done = place("web.yaml", "--nodes", "nodes.yaml", "--pods", "pods.yaml", "--format", "json", **files)
        preempted = [(each["pod"], each["workload"], each["node"], each["by"]) for each in done.plan["preempted"]]
        [gold] = [each for each in done.plan["workloads"] if each["name"] == "z-gold"]
        return done.nodes_of("Deployment default/z-gold"), preempted, gold["notes"]

    assert plan("0") == (["w1"], [("low", "Pod default/low", "w1", "z-gold-0")], [])
    assert plan("100000") == ([None], [], [])
    assert plan("0", GOLD + "preemptionPolicy: Never\n") == ([None], [], [])
    unknown = "PriorityClass gold is not defined in the manifests"
    left_out = f"{unknown}: the simulation neither preempts its pods nor lets them preempt others"
    assert plan("0", GOLD.replace("gold", "other")) == ([None], [], [left_out])


def test_the_table_lists_preempted_pods(place: Place) -> None:
    files = {"web": f"{GOLD}---\n{BEFORE_BATCH}", "nodes": TWO_CPUS, "pods": LOW.replace("PRIORITY", "0")}
    done = place("web.yaml", "--nodes", "nodes.yaml", "--pods", "pods.yaml", **files)
    assert (
        "1 running pod is preempted (a pod of higher priority needs its node)\n  Pod default/low  low  w1  is preempted by z-gold-0\n"
    ).replace("Pod default/low", "default/low") in done.out
    assert "low stays Pending: z-gold-0 preempts it, and it is not recreated" in done.out
    assert "stays on its node" not in done.out


def test_a_custom_resource_without_pods_is_not_called_a_patch(place: Place) -> None:
    flavor = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: spot}
spec:
  nodeLabels: {pool: spot}
  tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]
"""
    done = place("flavor.yaml", "--nodes", "nodes.yaml", "--format", "json", flavor=flavor, nodes=TWO_CPUS)
    assert done.plan["notes"] == [
        "skipped: ResourceFlavor spot in flavor.yaml (a custom resource, for which the simulation creates no pods)"
    ]


def test_a_job_of_volcano_shares_only_its_kind_with_kubernetes(place: Place) -> None:
    """It has containers, and is not a patch: an operator creates its pods."""
    job = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\nspec: {tasks: [{name: worker, replicas: 2, "
    job += 'template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: worker, image: "worker:1"}]}}}]}\n'
    done = place("web.yaml", "job.yaml", "--nodes", "nodes.yaml", "--format", "json", job=job)
    assert done.plan["notes"] == ["skipped: Job train in job.yaml (a custom resource, for which the simulation creates no pods)"]


def test_devices_that_no_node_has_are_reported_at_the_workload(place: Place) -> None:
    gpu = REQUESTS.replace("cpu: 3", "nvidia.com/gpu: 1")
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=gpu, nodes=TWO_CPUS)
    assert done.plan["workloads"][0]["notes"] == [
        "no node has nvidia.com/gpu in status.allocatable: its pods stay Pending until a device plugin reports it",
    ]


TOGETHER = "the simulation does not schedule the pods of its PodGroup together"
TOPOLOGY = "the simulation does not assign the topology domains that Kueue chooses"


@pytest.mark.parametrize(
    ("metadata", "spec", "why"),
    [
        ("", "resourceClaims: [{name: a, resourceClaimName: b}]", "the simulation does not allocate the devices of its resourceClaims"),
        ("", "schedulingGroup: {podGroupName: a}", "the simulation does not schedule the pods of its schedulingGroup together"),
        ("", "schedulingGates: [{name: example.com/gate}]", "it is unknown when its schedulingGates are removed"),
        ("labels: {scheduling.x-k8s.io/pod-group: train}", "", TOGETHER),
        ("labels: {pod-group.scheduling.sigs.k8s.io: train}", "", TOGETHER),
        ('labels: {pod-group.scheduling.sigs.k8s.io/name: train, pod-group.scheduling.sigs.k8s.io/min-available: "2"}', "", TOGETHER),
        ("annotations: {scheduling.k8s.io/group-name: train}", "", TOGETHER),
        ("annotations: {scheduling.volcano.sh/group-name: train}", "", TOGETHER),
        ("annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}", "", TOPOLOGY),
        ("annotations: {kueue.x-k8s.io/podset-preferred-topology: example.com/rack}", "", TOPOLOGY),
        ('annotations: {kueue.x-k8s.io/podset-unconstrained-topology: "true"}', "", TOPOLOGY),
        (
            'annotations: {kueue.x-k8s.io/podset-slice-required-topology: example.com/rack, kueue.x-k8s.io/podset-slice-size: "2"}',
            "",
            TOPOLOGY,
        ),
        ("annotations: {kueue.x-k8s.io/podset-slice-required-topology-constraints: '[{topology: example.com/rack}]'}", "", TOPOLOGY),
    ],
)
def test_pods_that_the_simulation_cannot_schedule_are_not_evaluated(place: Place, metadata: str, spec: str, why: str) -> None:
    """They are in every sum and format as pods of another scheduler are, and the exit code is 1."""
    pod = REQUESTS.replace("name: big}\n", f"name: big, {metadata}}}\n").replace("{containers", f"{{{spec}{', ' * bool(spec)}containers")
    files = {"web": pod, "nodes": TWO_CPUS}
    words = ("web.yaml", "--nodes", "nodes.yaml")
    done = place(*words, **files)
    assert done.code == 1
    assert f"1 replica is not evaluated: {why}" in " ".join(done.out.split())
    summary = place(*words, "--summary", **files)
    assert (summary.code, "1 replica is not evaluated." in summary.out) == (1, True)
    plan = place(*words, "--format", "json", **files).plan
    assert (plan["summary"]["placed"], plan["workloads"][0]["replicas"][0]["node"]) == (0, None)
    assert why in place(*words, "--format", "html", **files).out


@pytest.mark.parametrize("metadata", ["labels: {pod-group: train}", 'annotations: {kueue.x-k8s.io/podset-unconstrained-topology: "false"}'])
def test_other_labels_and_a_topology_request_that_is_off_change_nothing(place: Place, metadata: str) -> None:
    pod = REQUESTS.replace("name: big}\n", f"name: big, {metadata}}}\n").replace("cpu: 3", "cpu: 1")
    assert place("web.yaml", "--nodes", "nodes.yaml", web=pod, nodes=TWO_CPUS).code == 0


def test_a_running_pod_with_devices_is_not_evaluated_after_a_drain(place: Place) -> None:
    pod = "metadata: {name: train, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: train, controller: true}]}"
    spec = 'spec: {nodeName: w1, resourceClaims: [{name: a, resourceClaimName: b}], containers: [{name: a, image: "a:1"}]}'
    running = f"apiVersion: v1\nkind: Pod\n{pod}\n{spec}\nstatus: {{phase: Running}}\n"
    done = place("--nodes", "nodes.yaml", "--pods", "pods.yaml", "--drain", "w1", "--format", "json", nodes=TWO_CPUS, pods=running)
    assert done.code == 1
    assert done.plan["losses"][0]["unjudgedPods"] == ["default/train"]
    assert done.plan["summary"]["losses"]["unjudged"] == 1


def test_after_a_failure_replicas_of_higher_priority_are_scheduled_first(place: Place) -> None:
    def node(name: str, zone: str) -> str:
        return TWO_CPUS.replace("name: w1", f"name: {name}, labels: {{topology.kubernetes.io/zone: {zone}}}")

    def running(owner: str, node: str, priority: int) -> str:
        controller = f"{{apiVersion: apps/v1, kind: ReplicaSet, name: {owner}, controller: true}}"
        return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {owner}-1, namespace: default, ownerReferences: [{controller}]}}
spec: {{nodeName: {node}, priority: {priority}, containers: [{{name: a, image: "a:1", resources: {{requests: {{cpu: 2}}}}}}]}}
"""

    nodes = "---\n".join((node("w1", "a"), node("w2", "a"), node("w3", "b")))
    pods = "---\n".join((running("low", "w1", 0), running("high", "w2", 1)))
    done = place("--nodes", "nodes.yaml", "--pods", "pods.yaml", "--lose", "zone=a", "--format", "json", web=None, nodes=nodes, pods=pods)
    targets = {each["workload"]: each["target"] for each in done.plan["losses"][0]["moves"]}
    assert targets == {"ReplicaSet default/low": None, "ReplicaSet default/high": "w3"}
    assert [note for each in done.plan["workloads"] for note in each["notes"]] == []


SYSTEM = "".join(
    f"---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
    for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000))
)


def test_pods_of_a_priority_class_that_a_dump_lacks_are_rejected(place: Place) -> None:
    """A dump of PriorityClasses has those of Kubernetes itself, and so all that exist."""
    done = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=BEFORE_BATCH + SYSTEM, nodes=TWO_CPUS)
    [gold] = done.plan["workloads"]
    assert gold["error"] == "the API server rejects its pods: PriorityClass gold does not exist"
    known = place("web.yaml", "--nodes", "nodes.yaml", "--format", "json", web=f"{BEFORE_BATCH}---\n{GOLD}{SYSTEM}", nodes=TWO_CPUS)
    assert known.nodes_of("Deployment default/z-gold") == ["w1"]


def test_verbose_output_and_json_say_when_and_why_pods_move(place: Place) -> None:
    nodes = NODES + "  - {name: w3, labels: {topology.kubernetes.io/zone: c, rack: r1}}\n"
    asked = ("web.yaml", "--nodes", "nodes.yaml", "--lose", "w1")
    lines = [" ".join(line.split()) for line in place(*asked, "-v", nodes=nodes).out.splitlines()]
    start = lines.index("events 0 s w1 becomes unreachable")
    assert lines[start + 1 : start + 3] == ["0 s web-0 stops on w1: w1 fails", "350 s web-0 is scheduled on w3"]
    events = place(*asked, "--format", "json", nodes=nodes).plan["losses"][0]["events"]
    assert events == [
        {"at": 0, "what": "unreachable", "node": "w1", "pod": None, "cause": ""},
        {"at": 0, "what": "stopped", "node": "w1", "pod": "shop/web-0", "cause": "w1 fails"},
        {"at": 350, "what": "scheduled", "node": "w3", "pod": "shop/web-0", "cause": ""},
    ]


def test_events_say_when_a_new_pod_stays_pending_and_why(place: Place) -> None:
    asked = ("web.yaml", "--nodes", "nodes.yaml", "--lose", "w1")
    lines = [" ".join(line.split()) for line in place(*asked, "-v").out.splitlines()]
    assert any(line.startswith("350 s web-0 stays Pending: ") for line in lines)
    (effect,) = place(*asked, "--format", "json").plan["losses"]
    (move,) = effect["moves"]
    assert effect["events"][-1] == {"at": 350, "what": "pending", "node": "", "pod": "shop/web-0", "cause": move["why"]}
