"""What failing, draining and removing nodes does, scenario by scenario, as the scheduler and the controllers were seen to do it.

Six nodes in three zones (a1 to c2) or three without any (n1 to n3). One replica runs in each domain, the first on a1 or n1.
"""

from typing import Any

import pytest

from afflint.controllers.budgets import read_budget
from afflint.controllers.pod_replacement import NEVER, PodReplacement
from afflint.controllers.pod_source import PodSource, Virtualization
from afflint.placement.plan import DisruptionEffect
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import HOST, ZONE, Object, budget, node, pod, spread, term, together, zoned
from workload_objects import apart_by, inventory, pod_source

SIX = zoned(a1="a", a2="a", b1="b", b2="b", c1="c", c2="c")
THREE = zoned(n1="", n2="", n3="")
ABLE = {"networks": [{"name": "default", "pod": {}}], "domain": {"devices": {"interfaces": [{"name": "default", "masquerade": {}}]}}}
LIVE = {"evictionStrategy": "LiveMigrate", **ABLE}
VM_SET = "VirtualMachineInstanceReplicaSet"


def happens(
    action: str, nodes: list[Object], pod_sources: PodSource | list[PodSource], what: str, *budgets: Object, **more: Any
) -> DisruptionEffect:
    listed = pod_sources if isinstance(pod_sources, list) else [pod_sources]
    plan = make_plan(
        inventory(nodes, **more), listed, asked=DisruptionRequest(**{action: [what]}), budgets=[read_budget(each) for each in budgets]
    )
    return plan.losses[0]


def moves(loss: DisruptionEffect | None) -> list[str]:
    """``web-0: recreated on a2``, ``web-0: waits``."""
    assert loss is not None
    return [f"{move.pod}: {move.fate}{f' on {move.target}' if move.target else ''}" for move in loss.moves]


def outcome(loss: DisruptionEffect | None) -> str:
    assert loss is not None
    return loss.outcomes["Deployment default/web"]


def apart_web(key: str, **more: Any) -> PodSource:
    return pod_source("web", replicas=3, affinity=apart_by(key, "web"), **more)


def spread_web(key: str, kind: str = "Deployment", **constraint: Any) -> PodSource:
    return pod_source("web", kind, replicas=3, topologySpreadConstraints=[spread(key, {"matchLabels": {"app": "web"}}, **constraint)])


# 1: a Deployment of three, apart by zone


def test_a_deleted_pod_holds_its_zone_until_its_node_is_back_or_removed() -> None:
    loss = happens("lose", SIX, apart_web(ZONE), "a1")
    assert (moves(loss), outcome(loss)) == (["web-0: waits"], "degraded")
    assert loss.moves[0].why == "4 nodes share their zone with a replica of web, 1 is blocked by a pod that is being deleted"
    assert (moves(loss.removed), outcome(loss.removed)) == (["web-0: recreated on a2"], "survives")


@pytest.mark.parametrize("action", ["drain", "remove"])
def test_the_pod_of_a_drained_or_removed_node_leaves_its_zone_to_the_next(action: str) -> None:
    loss = happens(action, SIX, apart_web(ZONE), "a1")
    assert (moves(loss), outcome(loss)) == (["web-0: recreated on a2"], "survives")


# 2: apart by node


def test_where_other_nodes_are_free_a_failure_costs_one_replica_for_a_time() -> None:
    loss = happens("lose", SIX, apart_web(HOST), "a1")
    assert (moves(loss)[0][:-1], outcome(loss)) == ("web-0: recreated on a", "survives")
    assert {move.target for move in loss.moves} <= {"a2", "b2", "c2"}


# 3: spread over zones


@pytest.mark.parametrize("action", ["lose", "drain", "remove"])
def test_a_zone_with_another_node_takes_the_replica_back(action: str) -> None:
    assert moves(happens(action, SIX, spread_web(ZONE), "a1")) == ["web-0: recreated on a2"]


# 4: spread over nodes


def test_a_failed_node_is_still_a_domain_that_is_empty() -> None:
    loss = happens("lose", THREE, spread_web(HOST), "n1")
    assert (moves(loss), outcome(loss)) == (["web-0: waits"], "degraded")
    assert loss.moves[0].why == "2 nodes would exceed maxSkew 1 per node; n1 still counts as a topology domain"
    assert moves(loss.removed) == ["web-0: recreated on n2"]


def test_unless_the_constraint_honors_taints() -> None:
    assert moves(happens("lose", THREE, spread_web(HOST, nodeTaintsPolicy="Honor"), "n1")) == ["web-0: recreated on n2"]


def test_a_removed_node_is_no_longer_a_domain_and_may_be_missed() -> None:
    assert moves(happens("remove", THREE, spread_web(HOST), "n1")) == ["web-0: recreated on n2"]
    assert moves(happens("remove", THREE, spread_web(HOST, minDomains=3), "n1")) == ["web-0: waits"]


def test_a_drain_ends_although_the_last_replica_has_no_place() -> None:
    loss = happens("drain", THREE, spread_web(HOST), "n1")
    assert (loss.result, moves(loss), outcome(loss)) == ("ends", ["web-0: waits"], "degraded")
    assert moves(happens("drain", THREE, spread_web(HOST, nodeTaintsPolicy="Honor"), "n1")) == ["web-0: recreated on n2"]


def test_a_failed_node_is_not_a_domain_for_virtual_machines() -> None:
    able = [node(f"n{number}", {HOST: f"n{number}", "kubevirt.io/schedulable": "true"}) for number in (1, 2, 3)]
    loss = happens("lose", able, spread_web(HOST, VM_SET), "n1")
    assert moves(loss) == ["virt-launcher-web-0: recreated on n2"]


# 5: a whole zone


def test_a_zone_that_fails_altogether_is_evicted_and_still_counts() -> None:
    loss = happens("lose", SIX, spread_web(ZONE), "zone=a")
    assert (moves(loss), outcome(loss)) == (["web-0: waits"], "degraded")
    assert moves(happens("lose", SIX, spread_web(ZONE, nodeTaintsPolicy="Honor"), "zone=a")) == ["web-0: recreated on b2"]


# 6 and 7: zone modes

SEVEN = [node(name, {HOST: name, ZONE: name[0], "lost": "yes" if name in ("a1", "a2", "a3") else "no"}) for name in
         ("a1", "a2", "a3", "a4", "a5", "b1", "b2")]  # fmt: skip


def test_where_most_of_a_zone_fails_nothing_is_evicted() -> None:
    web = pod_source("web", replicas=5, affinity=apart_by(HOST, "web"), nodeSelector={ZONE: "a"})
    loss = happens("lose", SEVEN, web, "lost=yes")
    assert (moves(loss), outcome(loss)) == (["web-0: stays", "web-1: stays", "web-2: stays"], "degraded")
    assert loss.moves[0].why == "evictions are suspended: 3 of 5 nodes in zone a are unavailable"


def test_where_all_of_a_zone_fails_everything_is() -> None:
    near_a = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
        "matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}}]}}  # fmt: skip
    loss = happens("lose", SEVEN, pod_source("web", replicas=5, affinity=near_a), "zone=a")
    assert {move.fate for move in loss.moves} == {"recreated"}
    assert {move.target for move in loss.moves} <= {"b1", "b2"}
    assert (len(loss.moves), outcome(loss)) == (5, "interrupted")


@pytest.mark.parametrize(("number", "lost", "fate"), [(4, 3, "stays"), (3, 2, "recreated"), (6, 3, "recreated"), (3, 3, "stays")])
def test_nodes_without_zones_are_one_zone(number: int, lost: int, fate: str) -> None:
    nodes = [node(f"n{each}", {HOST: f"n{each}", "lost": "yes" if each < lost else "no"}) for each in range(number)]
    loss = happens("lose", nodes, pod_source("web", replicas=lost, affinity={"podAffinity": {}}, nodeSelector={}), "lost=yes")
    assert {move.fate for move in loss.moves} == {fate}


# 8: a StatefulSet


def ordered(**more: Any) -> PodSource:
    return pod_source("db", "StatefulSet", replicas=3, affinity=apart_by(HOST, "db"), **more)


def test_the_pod_of_a_stateful_set_is_not_replaced_while_its_object_is_there() -> None:
    loss = happens("lose", THREE, ordered(), "n1")
    assert (moves(loss), dict(loss.outcomes)) == (["db-0: held"], {"StatefulSet default/db": "degraded"})
    assert moves(loss.removed) == ["db-0: waits"]


def test_a_removed_node_lets_a_stateful_set_go_on_in_its_order() -> None:
    four = [*THREE, node("n4", {HOST: "n4"})]
    assert moves(happens("remove", four, ordered(), "n1")) == ["db-0: recreated on n4"]
    few = zoned(n1="a", n2="a", n3="b")
    loss = happens("remove", few, ordered(), "zone=a")
    assert moves(loss) == ["db-0: waits", "db-2: waits"]
    assert loss.moves[1].why == "created only after db-0 is ready"
    parallel = happens("remove", few, ordered(pod_replacement=PodReplacement("gone")), "zone=a")
    assert parallel.moves[1].why == "1 node already has a replica of db"


# 9: a budget that lets nothing go


@pytest.mark.parametrize("amount", [1, "1%"])
def test_a_drain_that_the_budget_blocks_interrupts_nothing(amount: Any) -> None:
    loss = happens("drain", THREE, pod_source("web"), "n1", budget(minAvailable=amount))
    assert (loss.result, loss.moves, loss.outcomes) == ("blocked", (), {})
    assert [(each.pod, each.node) for each in loss.blocked] == [("web-0", "n1")]
    assert loss.blocked[0].why == f"PodDisruptionBudget web (minAvailable {amount}) requires 1 of 1 pods to be healthy, and 1 is"


def test_a_percentage_of_what_may_be_missing_is_rounded_up() -> None:
    loss = happens("drain", THREE, pod_source("web"), "n1", budget(maxUnavailable="1%"))
    assert (loss.result, moves(loss), outcome(loss)) == ("ends", ["web-0: recreated on n2"], "interrupted")


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        ({"minAvailable": 2}, "PodDisruptionBudget web (minAvailable 2) requires 2 of 2 pods to be healthy, and 2 are"),
        ({"maxUnavailable": 0}, "PodDisruptionBudget web (maxUnavailable 0) requires 2 of 2 pods to be healthy, and 2 are"),
        ({"minAvailable": 1}, ""),
        ({"maxUnavailable": 1}, ""),
    ],
)
def test_a_controller_without_a_manifest_is_assumed_to_want_the_pods_that_run(amount: Object, why: str) -> None:
    pods = [pod(f"web-{number}", {"app": "web"}, on=f"n{number}", namespace="default") for number in (1, 2)]
    for each in pods:
        each["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}]
    loss = happens("drain", THREE, [], "n1", budget(**amount), pods=pods)
    assert [(each.pod, each.why) for each in loss.blocked] == ([("web-1", why)] if why else [])


# 10: a drain that stops half-way


def test_a_drain_waits_for_ever_for_the_place_of_a_replica() -> None:
    nodes = [node("n1", {HOST: "n1", "pool": "x"}), *THREE[1:]]
    loss = happens("drain", nodes, pod_source("web", replicas=2, nodeSelector={"pool": "x"}), "n1", budget(minAvailable=1))
    assert (loss.result, moves(loss), outcome(loss)) == ("blocked", ["web-0: waits"], "degraded")
    assert [(each.pod, each.why) for each in loss.blocked] == [
        (
            "web-1",
            "PodDisruptionBudget web (minAvailable 1) requires 1 of 2 pods to be healthy, and 1 is, until the evicted pods are ready again",
        )
    ]


# 11 and 12: virtual machines


def test_a_machine_that_runs_keeps_its_successor_out_of_its_zone() -> None:
    loss = happens("drain", SIX, pod_source("web", VM_SET, replicas=3, affinity=apart_by(ZONE, "web"), **LIVE), "a1")
    assert (loss.result, loss.moves, loss.outcomes) == ("blocked", (), {})
    assert loss.blocked[0].why == (
        "it cannot be live-migrated to any node: 4 nodes share their zone with a replica of web; the VM itself runs in its zone until the "
        "migration ends, so its required anti-affinity rejects the target pod there; require the anti-affinity "
        "over kubernetes.io/hostname, or prefer it over topology.kubernetes.io/zone"
    )
    off_and_on = happens("drain", SIX, pod_source("web", VM_SET, replicas=3, affinity=apart_by(ZONE, "web")), "a1")
    assert (off_and_on.result, moves(off_and_on)) == ("ends", ["virt-launcher-web-0: recreated on a2"])


def test_the_cluster_may_ask_for_live_migration_of_all_machines() -> None:
    migrating = Virtualization({"spec": {"configuration": {"evictionStrategy": "LiveMigrate"}}})
    loss = happens("drain", THREE, pod_source("web", VM_SET, virtualization=migrating, **ABLE), "n1")
    assert moves(loss) == ["virt-launcher-web-0: migrated on n2"]
    its_own = happens("drain", THREE, pod_source("web", VM_SET, virtualization=migrating, evictionStrategy="None", **ABLE), "n1")
    assert moves(its_own) == ["virt-launcher-web-0: recreated on n2"]


BRIDGE = {**ABLE, "domain": {"devices": {"interfaces": [{"name": "default", "bridge": {}}]}}}


def test_a_machine_that_must_migrate_and_cannot_blocks_the_drain_for_ever() -> None:
    loss = happens("drain", THREE, pod_source("web", VM_SET, evictionStrategy="LiveMigrate", **BRIDGE), "n1")
    assert (loss.result, loss.moves) == ("blocked", ())
    why = "evictionStrategy LiveMigrate asks for live migration, but a bridge on the pod network cannot be live-migrated"
    assert loss.blocked[0].why == why


def test_the_cluster_may_ask_for_what_a_machine_cannot_do() -> None:
    migrating = Virtualization({"spec": {"configuration": {"evictionStrategy": "LiveMigrate"}}})
    loss = happens("drain", THREE, pod_source("web", VM_SET, virtualization=migrating, **BRIDGE), "n1")
    assert loss.blocked[0].why.startswith("evictionStrategy LiveMigrate of the KubeVirt resource asks for live migration, but a bridge")


def test_a_machine_that_migrates_if_possible_is_shut_down_where_it_is_not() -> None:
    unable = {"evictionStrategy": "LiveMigrateIfPossible", **BRIDGE}
    loss = happens("drain", THREE, pod_source("web", "VirtualMachine", **unable), "n1")
    assert (loss.result, moves(loss), set(loss.outcomes.values())) == ("ends", ["virt-launcher-web: recreated on n2"], {"interrupted"})
    # Then its run strategy decides, and a budget may hold it.
    off = happens("drain", THREE, pod_source("web", "VirtualMachine", pod_replacement=NEVER, **unable), "n1")
    assert moves(off) == ["virt-launcher-web: off"]
    held = happens("drain", THREE, pod_source("web", "VirtualMachine", **unable), "n1", budget(minAvailable=1))
    assert held.result == "blocked"
    able = happens("drain", THREE, pod_source("web", "VirtualMachine", evictionStrategy="LiveMigrateIfPossible", **ABLE), "n1")
    assert moves(able) == ["virt-launcher-web: migrated on n2"]


def test_who_leaves_its_eviction_to_others_is_not_migrated() -> None:
    loss = happens("drain", THREE, pod_source("web", VM_SET, evictionStrategy="External", **ABLE), "n1")
    assert (loss.result, loss.moves) == ("blocked", ())
    assert (
        loss.blocked[0].why
        == "evictionStrategy External leaves the migration to another controller, and the drain waits until that has moved the VM"
    )


def test_a_spread_is_judged_with_the_machine_that_still_runs() -> None:
    constraint = [spread(HOST, {"matchLabels": {"app": "web"}})]
    loss = happens("drain", THREE, pod_source("web", VM_SET, replicas=3, topologySpreadConstraints=constraint, **LIVE), "n1")
    assert (loss.result, moves(loss)) == ("ends", ["virt-launcher-web-0: migrated on n2"])
    assert set(loss.outcomes.values()) == {"survives"}
    off = happens("drain", THREE, pod_source("web", VM_SET, replicas=3, topologySpreadConstraints=constraint), "n1")
    assert (off.result, moves(off), set(off.outcomes.values())) == ("ends", ["virt-launcher-web-0: waits"], {"degraded"})


# 13: who starts a machine again


def test_a_machine_is_started_again_by_its_run_strategy_once_its_pod_is_gone() -> None:
    machines = [
        pod_source("always", "VirtualMachine", nodeSelector={}),
        pod_source("manual", "VirtualMachine", pod_replacement=NEVER),
        pod_source("rerun", "VirtualMachine", pod_replacement=PodReplacement("gone", after_shutdown=False)),
        pod_source("set", VM_SET),
    ]
    on_n1 = [
        THREE[0],
        *[node(each["metadata"]["name"], {HOST: each["metadata"]["name"]}, taints=["x:PreferNoSchedule"]) for each in THREE[1:]],
    ]
    loss = happens("lose", on_n1, machines, "n1")
    assert moves(loss) == [
        "virt-launcher-always: held",
        "virt-launcher-manual: off",
        "virt-launcher-rerun: held",
        "virt-launcher-set-0: recreated on n2",
    ]
    assert moves(loss.removed) == [
        "virt-launcher-always: recreated on n3",
        "virt-launcher-manual: off",
        "virt-launcher-rerun: recreated on n2",
        "virt-launcher-set-0: recreated on n2",
    ]
    assert moves(happens("drain", on_n1, machines, "n1"))[1:3] == ["virt-launcher-manual: off", "virt-launcher-rerun: off"]


# 14: bare pods, Jobs, DaemonSets


def test_what_becomes_of_bare_pods_jobs_and_daemon_sets() -> None:
    first = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
        "matchExpressions": [{"key": HOST, "operator": "In", "values": ["n1"]}]}}]}  # fmt: skip
    solo, agent = pod_source("solo", "Pod", affinity={"nodeAffinity": first}), pod_source("agent", "DaemonSet")
    job = pod_source("import", "Job", affinity={"nodeAffinity": first})
    loss = happens("lose", THREE, [solo, job, agent], "n1")
    assert moves(loss) == ["solo: gone", "import-0: recreated on n2"]
    late = happens(
        "lose", THREE, pod_source("import", "Job", affinity={"nodeAffinity": first}, pod_replacement=PodReplacement("gone")), "n1"
    )
    assert (moves(late), moves(late.removed)) == (["import-0: held"], ["import-0: recreated on n2"])
    refused = happens("drain", THREE, [solo, job, agent], "n1")
    assert (refused.result, moves(refused)) == ("refused", [])
    assert [each.pod for each in refused.blocked] == ["solo"]


def test_a_budget_cannot_ask_a_job_how_many_pods_it_wants() -> None:
    loss = happens("drain", THREE, pod_source("web", "Job"), "n1", budget(maxUnavailable=1))
    assert loss.result == "blocked"
    assert loss.blocked[0].why == (
        "PodDisruptionBudget web (maxUnavailable 1) allows no disruptions: a Job does not report how many pods it should have"
    )
    assert happens("drain", THREE, pod_source("web", "Job", replicas=2), "n1", budget(minAvailable=1)).result == "ends"


# 15: a rolling update is what rollout-deadlock is about: tests/checks/test_placement.py


# 16: company that is being deleted


def test_a_pod_that_is_being_deleted_is_company_still() -> None:
    # Both run on a1, since the other nodes are less suitable; after the first failure they are recreated one after the other.
    nodes = [*SIX[:1], *[node(each["metadata"]["name"], each["metadata"]["labels"], taints=["x:PreferNoSchedule"]) for each in SIX[1:]]]
    appliance = pod_source("appliance", affinity=together(term(ZONE, {"matchLabels": {"app": "cache"}})))
    loss = happens("lose", nodes, [appliance, pod_source("cache")], "a1")
    assert moves(loss) == ["appliance-0: recreated on a2", "cache-0: recreated on a2"]
    removed = happens("remove", nodes, [appliance, pod_source("cache", nodeSelector={ZONE: "a"})], "zone=a")
    assert moves(removed) == ["appliance-0: waits", "cache-0: waits"]


# what else the model has to keep apart


def test_a_failure_is_blamed_for_what_it_changes_alone() -> None:
    """Five replicas for four nodes: one waits already. The failed one has no place either; the plan before is what counts."""
    web = pod_source("web", replicas=4, affinity=apart_by(HOST, "web"), nodeSelector={"pool": "x"})
    nodes = [node(f"n{each}", {HOST: f"n{each}", "pool": "x" if each < 4 else "y"}) for each in range(1, 6)]
    lame = happens("remove", nodes, [web, pod_source("till", affinity=apart_by(HOST, "web"))], "n4")
    assert lame.outcomes == {"Deployment default/till": "interrupted"}
    hit = happens("remove", nodes, web, "n1")
    assert outcome(hit) == "degraded"


def test_all_replicas_at_once_is_an_interruption() -> None:
    near = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
        "matchExpressions": [{"key": HOST, "operator": "In", "values": ["n1"]}]}}]}}  # fmt: skip
    loss = happens("lose", THREE, pod_source("web", replicas=2, affinity=near), "n1")
    assert (len(loss.moves), outcome(loss)) == (2, "interrupted")


def test_what_tolerates_an_unreachable_node_for_ever_stays_there() -> None:
    stays = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    assert moves(happens("lose", THREE, pod_source("web", tolerations=[stays]), "n1")) == ["web-0: stays"]
    for_a_minute = {**stays, "tolerationSeconds": 60}
    assert moves(happens("lose", THREE, pod_source("web", tolerations=[for_a_minute]), "n1")) == ["web-0: recreated on n2"]


def test_two_budgets_over_one_pod_make_its_eviction_fail() -> None:
    loss = happens("drain", THREE, pod_source("web"), "n1", budget("one", maxUnavailable=1), budget("two", maxUnavailable=1))
    assert (loss.result, loss.blocked[0].refused) == ("refused", True)


def test_a_drain_of_several_nodes_stops_at_the_first_that_is_blocked() -> None:
    loss = happens("drain", zoned(a1="a", a2="a", b1="b"), apart_web(HOST), "zone=a", budget(minAvailable=3))
    assert (loss.result, [each.node for each in loss.blocked]) == ("blocked", ["a1"])
    assert loss.notes == ("the drain stops at a1: 1 further node is only cordoned",)


def test_most_of_the_control_plane() -> None:
    nodes = [*THREE, node("cp", {"node-role.kubernetes.io/control-plane": ""}, taints=["node-role.kubernetes.io/control-plane:NoSchedule"])]
    assert happens("lose", nodes, pod_source("web"), "cp").notes == (
        "the control plane loses its quorum: no pod is replaced until it recovers",
    )
