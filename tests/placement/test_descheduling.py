"""What a descheduler does, run after run: which plugin evicts which pod, where it goes, and the loops that never end."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from descheduler_runs import AFFINITY, APART, SPREAD, TAINTS, descheduled, moves, planned, policy, running

from afflint.controllers.pod_source import PodSource
from afflint.placement.descheduler_policy import DeschedulerPolicy, read_policies
from afflint.report.place import json_report, page, table
from checkout import ROOT
from cluster_objects import HOST, REQUIRED, ZONE, Object, app, node, spread, zoned
from workload_objects import apart_by, pod_source

BOTH = {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}
LIVE = {
    "evictionStrategy": "LiveMigrate",
    "networks": [{"name": "default", "pod": {}}],
    "domain": {"devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
}


# --- loops ---------------------------------------------------------------------------------------------------------------


def test_two_spread_constraints_that_cannot_both_hold_never_come_to_rest() -> None:
    """As in descheduler pull request 1918: the zones demand two pods on some nodes, and the plugin judges hosts by themselves."""
    nodes = zoned(a1="a", a2="a", a3="a", a4="a", a5="a", b1="b", b2="b", c1="c", c2="c")
    both = [spread(ZONE, app("web")), spread(HOST, app("web"), when="ScheduleAnyway")]
    effect = descheduled(nodes, [pod_source("web", replicas=9, topologySpreadConstraints=both)], policy(SPREAD, **{SPREAD: BOTH}))
    assert not effect.settled
    assert effect.repeats == 0
    assert {each.plugin for each in effect.rounds[0]} == {SPREAD}
    assert {each.node[0] for each in effect.rounds[0]} == {"b", "c"}


def test_a_tainted_node_is_a_domain_without_the_pods_of_a_soft_constraint() -> None:
    """As in descheduler issue 566, without the check of the node fit: the empty host is tainted, so the pod returns to its node."""
    nodes = [*zoned(n1=""), node("n2", {HOST: "n2"}, taints=["dedicated=x:NoSchedule"])]
    web = pod_source("web", replicas=2, topologySpreadConstraints=[spread(HOST, app("web"), when="ScheduleAnyway")])
    unchecked = policy(SPREAD, evictor={}, **{SPREAD: {**BOTH, "topologyBalanceNodeFit": False}})
    effect = descheduled(nodes, [web], unchecked)
    assert (effect.settled, effect.repeats) == (False, 0)
    assert [move[:9] for move in moves(effect)[0]] == ["web-1: n1"]
    assert descheduled(nodes, [web], policy(SPREAD, **{SPREAD: BOTH})).rounds == ()


def test_a_preference_for_a_node_that_is_full_never_comes_to_rest() -> None:
    """The best node counts although a host port is used there; the pod fits its own node."""
    port = {"containers": [{"name": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}]}}  # fmt: skip
    nodes = [node("n1", {HOST: "n1", "fast": ""}), *zoned(n2="")]
    first = pod_source("first", nodeSelector={"fast": ""}, **port)
    chosen = policy(AFFINITY, evictor={}, **{AFFINITY: {"nodeAffinityType": ["preferredDuringSchedulingIgnoredDuringExecution"]}})
    effect = descheduled(nodes, [first, pod_source("web", affinity=prefers, **port)], chosen)
    assert (moves(effect), effect.settled) == ([["web-0: n2 -> n2"]], False)


# --- plugins -------------------------------------------------------------------------------------------------------------


def test_a_pod_leaves_a_node_that_no_longer_has_its_label() -> None:
    wants = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}}
    nodes = [*zoned(n1=""), node("n2", {HOST: "n2", "disk": ""})]
    web = pod_source("web", affinity=wants)
    effect = descheduled(
        nodes, [web], policy(AFFINITY, **{AFFINITY: {"nodeAffinityType": [REQUIRED]}}), pods=[running("web-x-1", "n1", affinity=wants)]
    )
    assert (moves(effect), effect.settled, effect.is_harmless) == ([["web-x-1: n1 -> n2"]], True, True)


def test_a_pod_with_a_node_selector_only_stays() -> None:
    """The plugin looks at node affinity, not at the nodeSelector alone."""
    nodes = [*zoned(n1=""), node("n2", {HOST: "n2", "disk": ""})]
    chosen = policy(AFFINITY, **{AFFINITY: {"nodeAffinityType": [REQUIRED]}})
    wants = {"nodeSelector": {"disk": ""}}
    assert descheduled(nodes, [pod_source("web", **wants)], chosen, pods=[running("web-x-1", "n1", **wants)]).rounds == ()


def test_pods_leave_a_node_with_a_taint_that_they_do_not_tolerate() -> None:
    nodes = [node("n1", {HOST: "n1"}, taints=["node.kubernetes.io/unschedulable:NoSchedule"], cordoned=True), *zoned(n2="")]
    pods = [running("web-x-1", "n1")]
    assert moves(descheduled(nodes, [pod_source("web")], policy(TAINTS), pods=pods)) == [["web-x-1: n1 -> n2"]]
    excluded = policy(TAINTS, **{TAINTS: {"excludedTaints": ["node.kubernetes.io/unschedulable"]}})
    assert descheduled(nodes, [pod_source("web")], excluded, pods=pods).rounds == ()


def test_one_of_two_pods_that_must_not_share_a_node_leaves_it() -> None:
    web = pod_source("web", replicas=2, affinity=apart_by(HOST, "web"))
    pods = [running(f"web-x-{number}", "n1", affinity=apart_by(HOST, "web")) for number in (1, 2)]
    assert moves(descheduled(zoned(n1="", n2=""), [web], policy(APART), pods=pods)) == [["web-x-1: n1 -> n2"]]


def test_pods_of_a_workload_are_shared_out_among_the_nodes() -> None:
    pods = [running(f"web-x-{number}", "n1") for number in (1, 2, 3)]
    effect = descheduled(zoned(n1="", n2="", n3=""), [pod_source("web", replicas=3)], policy("RemoveDuplicates"), pods=pods)
    assert effect.settled
    assert sorted(moves(effect)[0]) == ["web-x-2: n1 -> n2", "web-x-3: n1 -> n3"]


def test_virtual_machines_of_a_replica_set_are_not_duplicates() -> None:
    machines = pod_source("vm", "VirtualMachineInstanceReplicaSet", replicas=2, pod=LIVE, has_local_storage=True)
    nodes = [*zoned(n1=""), node("n2", {HOST: "n2"}, cordoned=True)]
    assert descheduled(nodes, [machines], policy("RemoveDuplicates", evictor={"evictLocalStoragePods": True})).rounds == ()


def test_a_zone_that_came_back_gets_pods_again() -> None:
    even = [spread(ZONE, app("web"))]
    web = pod_source("web", replicas=3, topologySpreadConstraints=even)
    pods = [running(f"web-x-{number}", on, topologySpreadConstraints=even) for number, on in enumerate(("a1", "b1", "b1"))]
    effect = descheduled(zoned(a1="a", b1="b", c1="c"), [web], policy(SPREAD), pods=pods)
    assert (len(effect.rounds), effect.settled) == (1, True)
    assert moves(effect)[0][0].endswith("b1 -> c1")


# --- which pods are evicted ----------------------------------------------------------------------------------------------


CORDONED = [node("n1", {HOST: "n1"}, taints=["maintenance:NoSchedule"]), *zoned(n2="")]
VM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": "vm", "uid": "1", "controller": True}


def launcher(**annotations: str) -> tuple[PodSource, Object]:
    """A virtual machine that can migrate, and its running pod on n1."""
    machine = pod_source("vm", "VirtualMachine", pod=LIVE, annotations=annotations, has_local_storage=True)
    labels = {"kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": "vm", "kubevirt.io/created-by": "1"}
    meta = {"name": "virt-launcher-vm-x", "namespace": "default", "labels": labels, "ownerReferences": [VM], "annotations": annotations}
    spec: Object = {"nodeName": "n1"}
    return machine, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def test_virtual_machines_stay_for_their_local_storage_unless_they_are_annotated() -> None:
    machine, pod = launcher()
    assert descheduled(CORDONED, [machine], policy(TAINTS), pods=[pod]).rounds == ()
    allowed = policy(TAINTS, evictor={"evictLocalStoragePods": True})
    assert descheduled(CORDONED, [machine], allowed, pods=[pod]).rounds != ()
    machine, pod = launcher(**{"descheduler.alpha.kubernetes.io/evict": "true"})
    ((moved,),) = descheduled(CORDONED, [machine], policy(TAINTS), pods=[pod]).rounds
    assert (moved.target, moved.migrated) == ("n2", True)


@pytest.mark.parametrize(
    ("source", "evictor"),
    [
        ({"priority": 2_000_000_000}, {}),
        ({"priority": 100}, {"priorityThreshold": {"value": 100}}),
        ({"has_local_storage": True}, {}),
        ({"volumes": ("data",)}, {"ignorePvcPods": True}),
        ({"volumes": ("data",)}, {"podProtections": {"extraEnabled": ["PodsWithPVC"]}}),
        ({}, {"minReplicas": 2}),
        ({}, {"labelSelector": {"matchLabels": {"app": "other"}}}),
        ({}, {"podProtections": {"extraEnabled": ["PodsWithoutPDB"]}}),
    ],
)
def test_the_evictor_spares_pods(source: dict[str, Any], evictor: Object) -> None:
    pods = [running("web-x-1", "n1")]
    assert descheduled(CORDONED, [pod_source("web")], policy(TAINTS), pods=pods).rounds != ()
    assert descheduled(CORDONED, [pod_source("web", **source)], policy(TAINTS, evictor=evictor), pods=pods).rounds == ()


def test_a_budget_that_allows_no_disruption_keeps_a_pod() -> None:
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}  # fmt: skip
    assert descheduled(CORDONED, [pod_source("web")], policy(TAINTS), budget, pods=[running("web-x-1", "n1")]).rounds == ()


def test_without_the_check_of_the_node_fit_a_pod_may_stay_pending() -> None:
    nodes = [node("n1", {HOST: "n1"}, taints=["maintenance:NoSchedule"])]
    pods = [running("web-x-1", "n1")]
    assert descheduled(nodes, [pod_source("web")], policy(TAINTS), pods=pods).rounds == ()
    effect = descheduled(nodes, [pod_source("web")], policy(TAINTS, evictor={}), pods=pods)
    assert (moves(effect), effect.settled, effect.is_harmless) == ([["web-x-1: n1 -> None"]], True, False)


@pytest.mark.parametrize(
    ("selector", "relieved"),
    [
        ("disk=ssd", ["n1"]),
        ("disk == ssd", ["n1"]),
        ("disk!=ssd", ["n2", "n3"]),
        ("disk", ["n1", "n2"]),
        ("!disk", ["n3"]),
        ("disk,disk!=ssd", ["n2"]),
        ("", ["n1", "n2", "n3"]),
        ("disk in (ssd, hdd)", ["n1", "n2", "n3"]),
    ],
)
def test_the_node_selector_of_a_policy_limits_the_nodes_that_pods_leave(selector: str, relieved: list[str]) -> None:
    """Sets of values are not read: such a policy is simulated on all nodes."""
    taint = ["maintenance:NoSchedule"]
    nodes = [node("n1", {"disk": "ssd"}, taints=taint), node("n2", {"disk": "hdd"}, taints=taint), node("n3", {}, taints=taint)]
    pods = [running(f"web-x-{number}", f"n{number}") for number in (1, 2, 3)]
    chosen = policy(TAINTS, evictor={})._replace(node_selector=_selector_of(selector))
    evicted = {each.node for each in chain(*descheduled(nodes, [pod_source("web", replicas=3)], chosen, pods=pods).rounds)}
    assert sorted(evicted) == relieved


def _selector_of(text: str) -> Any:
    (found,) = read_policies([{"kind": "DeschedulerPolicy", "nodeSelector": text, "profiles": [{"name": "p"}]}])
    return found.node_selector


TAINTED = [node("n1", {HOST: "n1"}, taints=["maintenance:NoSchedule"]), *zoned(n2="")]


@pytest.mark.parametrize(
    ("source", "chosen", "result", "why"),
    [
        ({}, policy(TAINTS), "moved", ""),
        ({}, policy(APART), "spared", f"no profile enables {TAINTS}"),
        ({"has_local_storage": True}, policy(TAINTS), "spared", "it has local storage"),
        ({"volumes": ("data",)}, policy(TAINTS, evictor={"ignorePvcPods": True}), "spared", "it has a PersistentVolumeClaim"),
        ({"priority": 100}, policy(TAINTS, evictor={"priorityThreshold": {"value": 100}}), "spared", "its priority is not below 100"),
        ({}, policy(TAINTS, evictor={"minReplicas": 2}), "spared", "its workload has fewer than 2 replicas"),
        ({}, policy(TAINTS, **{TAINTS: {"excludedTaints": ["maintenance"]}}), "spared", f"{TAINTS} does not select it"),
    ],
    ids=["moved", "not enabled", "local storage", "claim", "priority", "few replicas", "excluded taint"],
)
def test_each_pod_that_violates_a_rule_has_an_answer(source: dict[str, Any], chosen: DeschedulerPolicy, result: str, why: str) -> None:
    effect = descheduled(TAINTED, [pod_source("web", **source)], chosen, pods=[running("web-x-1", "n1")])
    assert [(each.workload, each.pod, each.result, each.why) for each in effect.answers] == [
        ("Deployment default/web", "web-x-1", result, why)
    ]


def test_a_pod_that_fits_no_other_node_stays_with_node_fit_and_a_budget_refuses_in_vain() -> None:
    pods = [running("web-x-1", "n1")]
    (answer,) = descheduled(TAINTED[:1], [pod_source("web")], policy(TAINTS), pods=pods).answers
    assert (answer.result, answer.why) == ("spared", "with nodeFit, it would have to fit another node")
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}  # fmt: skip
    (answer,) = descheduled(TAINTED, [pod_source("web")], policy(TAINTS), budget, pods=pods).answers
    assert (answer.result, answer.why) == (
        "in vain",
        "PodDisruptionBudget web (minAvailable 1) requires 1 of 1 pods to be healthy, and 1 is",
    )


def test_the_pod_that_stays_when_another_one_leaves() -> None:
    web = pod_source("web", replicas=2, affinity=apart_by(HOST, "web"))
    pods = [running(f"web-x-{number}", "n1", affinity=apart_by(HOST, "web")) for number in (1, 2)]
    answers = descheduled(zoned(n1="", n2=""), [web], policy(APART), pods=pods).answers
    assert [(each.pod, each.result, each.why) for each in answers] == [
        ("web-x-1", "moved", ""),
        ("web-x-2", "spared", f"{APART} evicts another pod instead"),
    ]


@pytest.mark.parametrize(
    ("profiles", "custom", "note"),
    [
        (["AffinityAndTaints"], {}, "HyperConverged counts it as misconfigured"),
        (["LongLifecycle"], {}, "it asks again for migrations that have not ended"),
        (["LongLifecycle"], {"devEnableEvictionsInBackground": True}, ""),
        (["KubeVirtRelieveAndMigrate"], {}, ""),
    ],
    ids=["not for VMs", "not in the background", "in the background", "for VMs"],
)
def test_profiles_for_virtual_machines(profiles: list[str], custom: Object, note: str) -> None:
    spec = {"mode": "Automatic", "profiles": profiles, "profileCustomizations": custom}
    (chosen,) = read_policies([{"kind": "KubeDescheduler", "metadata": {"name": "cluster"}, "spec": spec}])
    machine, pod = launcher()
    notes = descheduled(CORDONED, [machine], chosen, pods=[pod]).notes
    assert any(each.startswith(note) for each in notes) if note else not any("KubeVirtRelieve" in each for each in notes)
    assert not any("misconfigured" in each for each in descheduled(CORDONED, [pod_source("web")], chosen, pods=[]).notes)


# --- policies ------------------------------------------------------------------------------------------------------------


def test_profiles_of_openshift() -> None:
    spec = {"profiles": ["AffinityAndTaints", "SoftTopologyAndDuplicates", "LifecycleAndUtilization"]}
    (found,) = read_policies([{"kind": "KubeDescheduler", "metadata": {"name": "cluster"}, "spec": spec}])
    assert found.name == "KubeDescheduler cluster"
    assert [plugin.name for plugin in found.profiles[0].plugins if plugin.name.startswith("Remove")] == [
        APART, TAINTS, AFFINITY, "RemovePodsHavingTooManyRestarts", SPREAD, "RemoveDuplicates",
    ]  # fmt: skip
    assert not found.profiles[0].rules.node_fit
    assert not found.profiles[0].rules.claims
    assert found.notes == (
        "its mode is Predictive: in the cluster it evicts no pod until the mode is Automatic",
        "not simulated: PodLifeTime, RemovePodsHavingTooManyRestarts",
    )
    assert not found.profiles[0].plugins[0].covers("openshift-etcd", {})


def test_a_policy_in_a_config_map_and_one_of_the_first_version() -> None:
    strategies = f"strategies:\n  {TAINTS}: {{enabled: true}}\n  {APART}: {{enabled: false}}\n"
    text = f"apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n{strategies}"
    (found,) = read_policies([{"kind": "ConfigMap", "metadata": {"name": "descheduler"}, "data": {"policy.yaml": text}}])
    assert found.name == "ConfigMap descheduler"
    assert [plugin.name for plugin in found.profiles[0].plugins] == [TAINTS]


def test_reports_show_a_descheduler() -> None:
    plan = planned(CORDONED, [pod_source("web")], policy(TAINTS), pods=[running("web-x-1", "n1")])
    data = json.loads("".join(json_report.render(plan)))
    jsonschema.validate(data, json.loads(Path(ROOT, "schemas", "place.schema.json").read_text(encoding="utf-8")))
    assert data["descheduling"][0]["rounds"][0][0]["target"] == "n2"
    text = "".join(table.render(plan, color=False, width=160))
    assert (
        "  settles  after 1 run it evicts no further pod\n  moves    RemovePodsViolatingNodeTaints, default/web: web-x-1 n1 -> n2\n" in text
    )
    assert "web-x-1 n1 -&gt; n2" in page.render(plan)
