"""`afflint why`: a workload that does not run or survive, the reasons, and the smallest changes with which it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from afflint.placement import remedies
from checkout import ROOT

if TYPE_CHECKING:
    from command_line import Afflint

SCHEMA = json.loads((ROOT / "schemas" / "why.schema.json").read_text("utf-8"))
NODES = """\
nodes:
  - name: cp
    labels: {node-role.kubernetes.io/control-plane: "", topology.kubernetes.io/zone: a}
    taints: ["node-role.kubernetes.io/control-plane:NoSchedule"]
  - {name: one, labels: {topology.kubernetes.io/zone: a, disk: solid}, taints: ["dedicated=db:NoSchedule"]}
  - {name: two, labels: {topology.kubernetes.io/zone: b, disk: spinning}}
  - {name: three, labels: {topology.kubernetes.io/zone: b, disk: spinning}}
"""
TWO_ZONES = """\
nodes:
  - {name: one, labels: {topology.kubernetes.io/zone: a}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
  - {name: two, labels: {topology.kubernetes.io/zone: b}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
"""


def deployment(name: str = "web", replicas: int = 2, **spec: Any) -> str:
    """A Deployment in JSON, which is YAML as well. ``spec`` are the fields of its pod spec."""
    labels = {"app": name}
    pod = {"containers": [{"name": "web", "image": "web:1"}], **spec}
    template = {"metadata": {"labels": labels}, "spec": pod}
    whole = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}, "spec": whole})


def separated(key: str, name: str = "web") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def requesting(cpu: str) -> list[dict[str, Any]]:
    return [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.yaml").write_text(NODES, encoding="utf-8")
    return tmp_path


def answer(afflint: Afflint, *words: str) -> dict[str, Any]:
    """The answer as JSON, which is checked against its schema; each change with what a plan says of it."""
    done = afflint("why", *words, "--format", "json")
    document: dict[str, Any] = json.loads(done.out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert done.code == (0 if document["survives"] else 1)
    return document


def changes(document: dict[str, Any]) -> list[str]:
    return [" and ".join(change["text"] for change in remedy["changes"]) for remedy in document["remedies"]]


def test_it_says_why_and_what_would_help(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(nodeSelector={"disk": "solid"}), encoding="utf-8")
    done = afflint("why", "web")
    assert done.code == 1
    assert done.out == (
        "Deployment shop/web (web.yaml:1): 0 of 2 replicas run.\n"
        "\n"
        "Why they do not run\n"
        "  2 nodes lack disk=solid: three, two (three: has disk=spinning, not solid)\n"
        "  1 node has the untolerated taint dedicated=db:NoSchedule: one\n"
        "  1 control plane has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule: cp\n"
        "\n"
        "What would help\n"
        "  1. tolerate the taint `dedicated=db:NoSchedule`: both replicas run\n"
        "  2. remove `disk: solid` from nodeSelector: both replicas run\n"
        "  3. add a node like `three` in zone `a` with `disk=solid`: both replicas run\n"
        "  4. add a node like `three` in zone `b` with `disk=solid`: both replicas run\n"
        "  tried in 2 orders of scheduling\n"
    )


@pytest.mark.parametrize(
    ("spec", "first"),
    [
        ({"nodeSelector": {"disk": "spining"}}, "change `disk: spining` to `disk: spinning` in nodeSelector"),
        ({"nodeSelector": {"diskk": "spinning"}}, "change the key `diskk` to `disk` in nodeSelector"),
        (
            {"nodeSelector": {"topology.kubernetes.io/zones": "b"}},
            "change the key `topology.kubernetes.io/zones` to `topology.kubernetes.io/zone`",
        ),
        (
            {"nodeSelector": {"disk": "solid"}, "tolerations": [{"key": "dedicated", "value": "db", "effect": "NoExecute"}]},
            "change the effect `NoExecute` of the toleration to `NoSchedule`, for the taint `dedicated=db:NoSchedule`",
        ),
        ({"nodeSelector": {"example.com/gpu": "yes"}}, "remove `example.com/gpu: yes` from nodeSelector"),
        ({"affinity": separated("topology.kubernetes.io/zone")}, "tolerate the taint `dedicated=db:NoSchedule`"),
        ({"nodeName": "four"}, "remove `nodeName: four`"),
    ],
)
def test_the_smallest_change_comes_first(afflint: Afflint, project: Path, spec: dict[str, Any], first: str) -> None:
    (project / "web.yaml").write_text(deployment(**spec), encoding="utf-8")
    found = changes(answer(afflint, "web"))
    assert found[0].startswith(first)


def test_required_node_affinity_loses_a_requirement_or_becomes_a_preference(afflint: Afflint, project: Path) -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["none"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    (project / "web.yaml").write_text(deployment(affinity=affinity), encoding="utf-8")
    found = changes(answer(afflint, "web"))
    assert found[:2] == ["remove `disk=none` from the required node affinity", "make the required node affinity preferred"]


def test_a_constraint_on_domains_becomes_a_preference(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(deployment(replicas=3, affinity=separated("topology.kubernetes.io/zone")), encoding="utf-8")
    found = answer(afflint, "web")
    assert (found["running"], found["replicas"], found["pending"]) == (2, 3, ["web-2"])
    assert changes(found) == ["make the required podAntiAffinity over zones preferred", "lower the replicas from 3 to 2"]
    spread = {"maxSkew": 1, "minDomains": 3, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "web"}}
    (project / "web.yaml").write_text(deployment(replicas=3, topologySpreadConstraints=[spread]), encoding="utf-8")
    assert changes(answer(afflint, "web"))[0] == "lower `minDomains` from 3 to 2 in the spread constraint over zones"
    assert "set `whenUnsatisfiable: ScheduleAnyway` in the spread constraint over zones" in changes(answer(afflint, "web"))


def test_a_request_is_lowered_to_the_largest_that_fits(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(deployment(replicas=3, containers=requesting("3")), encoding="utf-8")
    found = answer(afflint, "web")
    assert found["reasons"][0]["text"] == "have insufficient CPU"
    assert changes(found) == [
        "lower the CPU request of the container `web` from 3 to 2",
        "lower the replicas from 3 to 2",
        "add a node like `one` in zone `a`",
        "add a node like `two` in zone `b`",
    ]


def test_a_label_that_only_components_set_is_not_suggested(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(nodeSelector={"karpenter.sh/capacity-type": "spot"}), encoding="utf-8")
    assert not any(text.startswith("label") for text in changes(answer(afflint, "web")))
    (project / "web.yaml").write_text(deployment(nodeSelector={"example.com/fast": "yes"}), encoding="utf-8")
    assert "label the node `three` with `example.com/fast=yes`" in changes(answer(afflint, "web"))


def test_a_change_that_costs_another_workload_its_node_says_so(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(deployment(replicas=1, nodeSelector={"disk": "none"}, containers=requesting("4")), encoding="utf-8")
    (project / "zoo.yaml").write_text(deployment("zoo", replicas=2, containers=requesting("4")), encoding="utf-8")
    done = afflint("why", "web")
    line = (
        "remove `disk: none` from nodeSelector: its pod runs in 2 of 4 orders of scheduling, but 1 pod of Deployment shop/zoo stays Pending"
    )
    assert line in " ".join(done.out.split())
    first = answer(afflint, "web")["remedies"][0]
    assert first["makesPending"] == []
    assert first["changes"][0]["changes"] == "nodes"


def spread(**fields: Any) -> dict[str, Any]:
    own = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    return {**own, "whenUnsatisfiable": "DoNotSchedule", **fields}


def test_a_change_that_the_api_server_rejects_is_not_proposed(afflint: Afflint, project: Path) -> None:
    """Two constraints with the same key and action are a duplicate."""
    (project / "nodes.yaml").write_text("nodes: [{name: one, labels: {topology.kubernetes.io/zone: a}}]\n", encoding="utf-8")
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    for constraints, proposed in (([spread(minDomains=2)], True), ([spread(minDomains=2), soft], False)):
        (project / "web.yaml").write_text(deployment(replicas=3, topologySpreadConstraints=constraints), encoding="utf-8")
        found = changes(answer(afflint, "web"))
        assert any("ScheduleAnyway" in each for each in found) == proposed
        assert found[:2] == [
            "lower `minDomains` from 2 to 1 in the spread constraint over zones",
            "raise `maxSkew` from 1 to 3 in the spread constraint over zones",
        ]


def test_the_smallest_larger_max_skew_is_proposed_once(afflint: Afflint, project: Path) -> None:
    """Zone b has one node, which is cordoned; with maxSkew 2 the other zone takes both pods."""
    nodes = "nodes: [{name: one, labels: {topology.kubernetes.io/zone: a}}, {name: two, labels: {topology.kubernetes.io/zone: b}}]\n"
    (project / "nodes.yaml").write_text(nodes.replace("b}}", "b}, unschedulable: true}"), encoding="utf-8")
    (project / "web.yaml").write_text(deployment(replicas=2, topologySpreadConstraints=[spread()]), encoding="utf-8")
    raised = [each for each in changes(answer(afflint, "web")) if "maxSkew" in each]
    assert raised == ["raise `maxSkew` from 1 to 2 in the spread constraint over zones"]


def test_check_counts_as_fixable_what_the_fix_changes(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text("nodes: [{name: one, labels: {topology.kubernetes.io/zone: a}}]\n", encoding="utf-8")
    constraints = [spread(minDomains=2), spread(whenUnsatisfiable="ScheduleAnyway")]
    manifest = deployment(replicas=3, topologySpreadConstraints=constraints)
    (project / "web.yaml").write_text(manifest, encoding="utf-8")
    select = ("--select", "too-few-domains,min-domains-unreachable", "--no-cache")
    assert "fixable" not in afflint("check", *select).out
    afflint("check", *select, "--fix", "--unsafe-fixes")
    assert (project / "web.yaml").read_text(encoding="utf-8") == manifest


@pytest.mark.parametrize(
    ("taint", "end"),
    [
        ("kubevirt.io/drain=draining:NoSchedule", "it takes pods again when the maintenance ends"),
        ("ToBeDeletedByClusterAutoscaler=1:NoSchedule", "the autoscaler is about to remove it"),
        ("DeletionCandidateOfClusterAutoscaler=1:NoSchedule", "the autoscaler is about to remove it"),
        ("karpenter.sh/disrupted:NoSchedule", "the autoscaler is about to remove it"),
        ("medik8s.io/remediation=self-node-remediation:NoExecute", "it takes pods again when the remediation ends"),
        ("node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule", "when the cloud controller has initialized it"),
        ("node.cilium.io/agent-not-ready:NoExecute", "it takes pods again when its agent is ready"),
        ("ebs.csi.aws.com/agent-not-ready:NoExecute", "it takes pods again when its agent is ready"),
        ("node.kubernetes.io/disk-pressure:NoSchedule", "it takes pods again when this condition ends"),
    ],
)
def test_a_taint_that_says_what_is_wrong_with_a_node_is_not_tolerated(afflint: Afflint, project: Path, taint: str, end: str) -> None:
    (project / "nodes.yaml").write_text(f'nodes: [{{name: one, taints: ["{taint}"]}}]\n', encoding="utf-8")
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    found = answer(afflint, "web")
    assert changes(found) == ["add a node like `one`"]
    assert end in " ".join(afflint("why", "web").out.split())


def test_a_taint_that_users_set_may_be_tolerated(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text('nodes: [{name: one, taints: ["dedicated=drain:NoSchedule"]}]\n', encoding="utf-8")
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    assert changes(answer(afflint, "web"))[0] == "tolerate the taint `dedicated=drain:NoSchedule`"


SMALL_AND_LARGE = """\
nodes:
  - {name: large, labels: {topology.kubernetes.io/zone: a}, allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
  - {name: small, labels: {topology.kubernetes.io/zone: b}, allocatable: {cpu: "8", memory: 8Gi, pods: "2"}}
"""


def test_a_change_that_helps_in_some_orders_only_says_so(afflint: Afflint, project: Path) -> None:
    """The log may take a place on the small node first: then one of the two replicas of cache stays Pending."""
    (project / "nodes.yaml").write_text(SMALL_AND_LARGE, encoding="utf-8")
    (project / "cache.yaml").write_text(deployment("cache", nodeSelector={"disk": "ssd"}), encoding="utf-8")
    (project / "log.yaml").write_text(deployment("log"), encoding="utf-8")
    found = {each["changes"][0]["text"]: each["orders"] for each in answer(afflint, "cache")["remedies"]}
    in_some = found["label the node `small` with `disk=ssd`"]
    assert 0 < in_some["helped"] < in_some["tried"]
    in_all = found["label the node `large` with `disk=ssd`"]
    assert in_all["helped"] == in_all["tried"] > 1
    out = " ".join(afflint("why", "cache").out.split())
    assert f"`small` with `disk=ssd`: both replicas run in {in_some['helped']} of {in_some['tried']} orders of scheduling" in out
    assert "`large` with `disk=ssd`: both replicas run" in out
    assert out.endswith(f"tried in {in_all['tried']} orders of scheduling")
    assert "prove" not in out


def test_a_change_that_helps_in_all_orders_comes_first(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(SMALL_AND_LARGE, encoding="utf-8")
    (project / "cache.yaml").write_text(deployment("cache", nodeSelector={"disk": "ssd"}), encoding="utf-8")
    (project / "log.yaml").write_text(deployment("log"), encoding="utf-8")
    robust = [each["orders"]["helped"] == each["orders"]["tried"] for each in answer(afflint, "cache")["remedies"]]
    assert robust == sorted(robust, reverse=True)


def test_two_changes_together_if_no_single_one_is_enough(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(nodeSelector={"disk": "solid", "rack": "r1"}), encoding="utf-8")
    found = answer(afflint, "web")
    assert found["remedies"][0]["solves"]
    assert changes(found)[0] == "tolerate the taint `dedicated=db:NoSchedule` and remove `rack: r1` from nodeSelector"
    assert "add a node like `three` in zone `b` with `disk=solid` and `rack=r1`" in changes(found)


def test_a_workload_that_runs_shows_what_it_needs_and_what_it_does_not_survive(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(
        deployment(affinity=separated("kubernetes.io/hostname"), containers=requesting("1")), encoding="utf-8"
    )
    found = answer(afflint, "web")
    assert found["runs"]
    assert found["needs"] == ["1 CPU for each pod", "no pod with app=web on the same node"]
    assert [(each["what"], each["outcome"], each["left"]) for each in found["failures"]] == [
        ("node one", "degraded", 1),
        ("node two", "degraded", 1),
    ]
    assert changes(found)[0] == "make the required podAntiAffinity over nodes preferred"
    assert "it survives each failure" in afflint("why", "web").out


def test_a_workload_that_survives_exits_with_0(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    done = afflint("why", "web")
    assert done.code == 0
    assert "It survives each single failure of\n  node one, node two\n" in done.out
    assert "What would help" not in done.out


def test_a_replica_that_waits_for_its_node_needs_no_other_change(afflint: Afflint, project: Path) -> None:
    whole = json.loads(deployment())
    whole["kind"] = "StatefulSet"
    whole["spec"]["serviceName"] = "web"
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(json.dumps(whole), encoding="utf-8")
    found = answer(afflint, "web")
    assert found["remedies"] == []
    assert {each["passing"] for each in found["failures"]} == {True}
    assert "the recovery or the removal of the failed nodes" in afflint("why", "web").out


def test_missing_zones_are_named(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text("nodes: [{name: one}, {name: two}]\n", encoding="utf-8")
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    assert "no node has a zone label: failures of zones are not simulated" in answer(afflint, "web")["notes"]


@pytest.mark.parametrize(
    ("nodes", "failure"),
    [
        ("{name: one, labels: {topology.kubernetes.io/zone: a}}", "node one"),
        ("{name: one, labels: {topology.kubernetes.io/zone: a}}, {name: two, labels: {topology.kubernetes.io/zone: a}}", "zone a"),
        ("{name: one}, {name: two, taints: ['gpu:NoSchedule']}", "node one"),
    ],
)
def test_the_failure_of_all_nodes_that_take_pods_is_one_that_place_shows(afflint: Afflint, project: Path, nodes: str, failure: str) -> None:
    (project / "nodes.yaml").write_text(f"nodes: [{nodes}]\n", encoding="utf-8")
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    assert afflint("why", "web").code == 1
    found = answer(afflint, "web")
    assert (found["runs"], found["survives"]) == (True, False)
    assert [each["what"] for each in found["failures"] if each["outcome"] == "dead"] == [failure]
    placed = afflint("place", "--lose", "each:node", *(["--lose", "each:zone"] if "zone" in nodes else []), "--format", "json")
    losses = json.loads(placed.out)["losses"]
    assert placed.code == 1
    assert [outcome for each in losses if each["what"].replace("=", " ") == failure for outcome in each["outcomes"].values()] == ["dead"]


@pytest.mark.parametrize(
    "name", ["web", "shop/web", "deployment/web", "deploy/web", "Deployment shop/web", "web-1", "shop/web-1", "pod/web-1"]
)
def test_a_workload_has_several_names(afflint: Afflint, project: Path, name: str) -> None:
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    found = answer(afflint, name)
    assert found["workload"]["key"] == "Deployment shop/web"
    assert (found["pod"], bool(found["node"])) == (("web-1", True) if name.endswith("web-1") else (None, False))


def test_a_wrong_name_is_answered_with_the_nearest(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment("website"), encoding="utf-8")
    done = afflint("why", "webiste")
    assert (done.code, done.out, done.err) == (2, "", "afflint: no workload or pod is named 'webiste'; did you mean 'website'?\n")


def test_a_name_of_several_workloads_is_an_error(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    (project / "other.yaml").write_text(deployment().replace('"shop"', '"lab"'), encoding="utf-8")
    done = afflint("why", "web")
    assert done.code == 2
    assert done.err == (
        "afflint: 'web' is the name of 2 workloads: Deployment lab/web and Deployment shop/web; add the namespace or the kind\n"
    )


def test_without_a_name_the_usage_is_an_error(afflint: Afflint) -> None:
    done = afflint("why")
    assert done.code == 2
    assert "NAME" in done.err


def test_a_pending_pod_of_a_dump_without_a_manifest(afflint: Afflint, project: Path) -> None:
    owner = [{"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "1", "controller": True}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "db-0", "namespace": "shop", "ownerReferences": owner},
        "spec": {"nodeSelector": {"disk": "solid"}, "containers": [{"name": "db", "image": "db:1"}]},
        "status": {"phase": "Pending"},
    }
    (project / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}), encoding="utf-8")
    found = answer(afflint, "db-0", "nodes.yaml", "--nodes", "nodes.yaml", "--pods", "dump.json")
    assert (found["pod"], found["running"], found["replicas"]) == ("db-0", 0, 1)
    assert changes(found)[:2] == ["tolerate the taint `dedicated=db:NoSchedule`", "remove `disk: solid` from nodeSelector"]


def test_a_search_that_is_cut_says_so(afflint: Afflint, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remedies, "_MOST_PLANS", 1)
    monkeypatch.setattr(remedies, "_FEWEST_PLANS", 1)
    (project / "web.yaml").write_text(deployment(nodeSelector={"disk": "solid"}), encoding="utf-8")
    assert "the search stopped after 1 of 4 changes" in afflint("why", "web").out


def test_pods_of_another_scheduler_are_not_evaluated(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": "Own"}]}}}],
    }
    (project / "scheduler.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    found = answer(afflint, "web")
    assert not found["survives"]
    assert found["remedies"] == found["failures"] == []
    assert "Own" in found["why"]


def test_names_from_manifests_cannot_control_the_terminal(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(nodeSelector={"disk": "\x1b[31msolid"}), encoding="utf-8")
    assert "\x1b" not in afflint("why", "web").out


@pytest.mark.parametrize(
    ("toleration", "says"),
    [
        ({"key": "dedicated", "value": "database", "effect": "NoSchedule"}, " (the toleration says dedicated=database)"),
        ({"key": "dedicated", "value": "db", "effect": "NoExecute"}, " (the toleration says dedicated=db:NoExecute)"),
        ({"key": "gpu", "value": "db", "effect": "NoSchedule"}, ""),
    ],
    ids=["other value", "other effect", "other key"],
)
def test_the_nodes_without_a_pod_of_a_daemon_set(afflint: Afflint, project: Path, toleration: dict[str, str], says: str) -> None:
    manifest = json.loads(deployment(tolerations=[toleration], nodeSelector={"disk": "solid"}))
    del manifest["spec"]["replicas"]
    (project / "web.yaml").write_text(json.dumps({**manifest, "kind": "DaemonSet"}), encoding="utf-8")
    reasons = {each["text"]: each["nodes"] for each in answer(afflint, "web")["nodesWithoutPod"]}
    assert reasons == {
        f"has the untolerated taint dedicated=db:NoSchedule{says}": ["one"],
        "lack disk=solid": ["three", "two"],
        "has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule": ["cp"],
    }
    assert "Nodes without a pod" in afflint("why", "web").out


def test_a_deployment_lists_no_nodes_without_a_pod(afflint: Afflint, project: Path) -> None:
    (project / "web.yaml").write_text(deployment(), encoding="utf-8")
    assert answer(afflint, "web")["nodesWithoutPod"] == []


FULL = 'nodes: [{name: one, allocatable: {cpu: "1", memory: 8Gi, pods: "110"}}]\n'


def test_a_higher_priority_lets_a_pod_preempt_others(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(FULL, encoding="utf-8")
    (project / "a.yaml").write_text(deployment("batch", 1, containers=requesting("1")), encoding="utf-8")
    (project / "b.yaml").write_text(deployment("web", 1, containers=requesting("1")), encoding="utf-8")
    found = answer(afflint, "web")
    text = "give it a PriorityClass with a value above 0, so that it preempts other pods"
    (remedy,) = [each for each in found["remedies"] if each["changes"] == [{"text": text, "changes": "manifest"}]]
    assert (remedy["solves"], remedy["makesPending"]) == (True, [{"workload": "Deployment shop/batch", "pods": 1}])


@pytest.mark.parametrize("spec", [{"preemptionPolicy": "Never"}, {"containers": requesting("2")}], ids=["never preempts", "too large"])
def test_a_higher_priority_that_does_not_help_is_not_proposed(afflint: Afflint, project: Path, spec: dict[str, Any]) -> None:
    (project / "nodes.yaml").write_text(FULL, encoding="utf-8")
    (project / "a.yaml").write_text(deployment("batch", 1, containers=requesting("1")), encoding="utf-8")
    (project / "b.yaml").write_text(deployment("web", 1, **{"containers": requesting("1"), **spec}), encoding="utf-8")
    assert not [each for each in changes(answer(afflint, "web")) if "PriorityClass" in each]


def test_a_pending_pod_of_an_older_revision_is_to_be_deleted(afflint: Afflint, project: Path) -> None:
    """The StatefulSet requests less memory now, but it creates its pods in order and keeps a Pending one."""
    manifest = json.loads(deployment("index", 1))
    manifest |= {"kind": "StatefulSet", "spec": {**manifest["spec"], "serviceName": "index"}}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "index", "uid": "u", "controller": True}
    metadata = {"name": "index-0", "namespace": "shop", "uid": "p", "labels": {"app": "index"}, "ownerReferences": [owner]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": requesting("64")},
        "status": {"phase": "Pending"},
    }
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "index.json").write_text(json.dumps(manifest), encoding="utf-8")
    (project / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}), encoding="utf-8")
    found = answer(afflint, "index", "index.json", "--nodes", "nodes.yaml", "--pods", "dump.json")
    assert found["running"] == 0
    assert found["remedies"][0]["changes"] == [{"text": "delete the Pending pod index-0", "changes": "pods"}]


def test_a_pod_that_does_not_run_yet_can_be_scheduled(afflint: Afflint, project: Path) -> None:
    """One of two replicas runs in the dump; the other one can be scheduled."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8f7", "uid": "u", "controller": True}
    labels = {"app": "web", "pod-template-hash": "5d8f7"}
    metadata = {"name": "web-5d8f7-a", "namespace": "shop", "uid": "p", "labels": labels, "ownerReferences": [owner]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "two"}, "status": {"phase": "Running"}}
    (project / "nodes.yaml").write_text(TWO_ZONES, encoding="utf-8")
    (project / "web.yaml").write_text(deployment(replicas=2), encoding="utf-8")
    (project / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}), encoding="utf-8")
    words = ("web", "web.yaml", "--nodes", "nodes.yaml", "--pods", "dump.json")
    found = answer(afflint, *words)
    assert (found["running"], len(found["starting"])) == (2, 1)
    assert f": 1 of 2 replicas runs, 1 more can be scheduled on {found['starting'][0]['node']}." in afflint("why", *words).out
    assert answer(afflint, "web", "web.yaml", "--nodes", "nodes.yaml")["starting"] == []


def test_a_pod_whose_volume_cannot_be_mounted_may_go_to_another_node(afflint: Afflint, project: Path) -> None:
    """The scheduler puts the pod on the node two, where the CSI driver does not run."""
    driver = "disk.example.com"
    fast = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": driver}
    spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}, "spec": spec}
    csi = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": [{"name": driver, "nodeID": node}] * (node != "two")},
        }
        for node in ("one", "two")
    ]
    bound = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}}
        for name, zone in (("one", "a"), ("two", "b"))
    ]
    web = deployment(replicas=1, nodeSelector={"topology.kubernetes.io/zone": "b"}, **bound)
    (project / "web.yaml").write_text(web, encoding="utf-8")
    objects = [*nodes, {**fast, "volumeBindingMode": "WaitForFirstConsumer"}, claim, *csi]
    (project / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    found = answer(afflint, "web", "web.yaml", "--nodes", "dump.json")
    assert found["why"] == f"its volume needs the CSI driver {driver}, which does not run on node two"
    assert changes(found)[0] == "remove `topology.kubernetes.io/zone: b` from nodeSelector"
