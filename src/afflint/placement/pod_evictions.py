"""One eviction or live migration of a pod, and why a pod is not evicted.

Semantics: the eviction subresource (pkg/registry/core/pod/storage/eviction.go).
"""

from __future__ import annotations

from afflint.placement.cluster_state import ClusterState
from afflint.placement.evictions import migration_target, own_separation
from afflint.placement.plan import Blocked
from afflint.placement.schedule import Attempt, schedule_pods
from afflint.placement.schedule_index import terminating
from afflint.scheduler.pods import Pod

TWO_BUDGETS = "its eviction fails because more than one PodDisruptionBudget selects it: "

PENDING = "Pending"
"""The phase of pods whose containers do not run yet: their eviction ignores PodDisruptionBudgets."""


def evict_or_migrate(state: ClusterState, pod: Pod, node: str, cause: str) -> bool:
    """Evict or live-migrate a pod; return whether this is possible now."""
    eviction = state.evictions.of(pod)
    if eviction.what != "allowed":
        return eviction.what == "migrates" and _migrate(state, pod, node, cause)
    if not _budgets_allow(state, pod, node):
        return False
    remains = state.is_silent(node)
    state.stop(pod, cause)
    state.cluster.unbind(pod)
    if remains:
        state.cluster.bind(terminating(pod), node)
    state.replace(pod, node, state.schedule_index.end_of(pod, is_shut_down=True, remains=remains))
    return True


def limiting_budgets(state: ClusterState, pod: Pod) -> tuple[int, ...]:
    """Return the numbers of the budgets that limit the eviction of a pod.

    The budget of the primary of a CloudNativePG cluster selects another pod then: the operator switches over to a ready instance on another
    node once the node of the primary is cordoned (updateTargetPrimaryFromPods and setPrimaryOnSchedulableNode of
    github.com/cloudnative-pg/cloudnative-pg).
    """
    numbers = state.disruptions.of(pod)
    name = pod.labels.get(_CLUSTER, "")
    if not name or pod.labels.get(_ROLE) != "primary":
        return numbers
    own = [each for each in numbers if state.disruptions.covered[each].budget.name == f"{name}-primary"]
    if not own or not _has_other_instance(state, pod, name):
        return numbers
    note = f"the operator of CloudNativePG makes another instance of {name} the primary before {pod.name} is evicted"
    if note not in state.notes:
        state.notes.append(note)
    return tuple([each for each in numbers if each not in own])


_CLUSTER, _ROLE = "cnpg.io/cluster", "cnpg.io/instanceRole"


def _has_other_instance(state: ClusterState, pod: Pod, cluster: str) -> bool:
    """Return whether a ready replica of a database cluster runs on a node that is neither cordoned nor unavailable."""
    table = state.cluster.table
    return any(
        each.labels.get(_CLUSTER) == cluster and each.labels.get(_ROLE) == "replica" and each.key not in state.unready
        for node, pods in state.cluster.pods_by_node().items()
        if not (table.nodes[table.numbers[node]].unschedulable or state.is_silent(node))
        for each in pods
        if each.namespace == pod.namespace and not each.subject.terminating
    )


def can_leave(state: ClusterState, pod: Pod, node: str) -> bool:
    """Return whether a pod can be evicted or live-migrated now. No pod moves."""
    eviction = state.evictions.of(pod)
    if eviction.what == "allowed":
        return _budgets_allow(state, pod, node)
    if eviction.what != "migrates":
        return False
    if _migrates_already(state, pod, node) is not None:
        return True
    target = _target(state, pod, node)
    return bool(state.cluster.feasible_nodes(target) or _attempt(state, pod, target).nodes)


def _budgets_allow(state: ClusterState, pod: Pod, node: str) -> bool:
    if state.is_silent(node):
        state.unready.setdefault(pod.key, "")
    budgets = limiting_budgets(state, pod)
    phase = state.unready.get(pod.key)
    return phase == PENDING or (len(budgets) < 2 and all(state.allows(each, unready=phase is not None) for each in budgets))


def _target(state: ClusterState, pod: Pod, node: str) -> Pod:
    return migration_target(pod, state.cluster, node, state.schedule_index.owners.get(pod.key))


def _attempt(state: ClusterState, pod: Pod, target: Pod) -> Attempt:
    """Try to schedule the target pod of a live migration."""
    owner = state.schedule_index.owners.get(pod.key)
    more = {target.key: owner.pod_source} if owner is not None else {}
    recreated = {*state.recreated, *state.victims}
    return schedule_pods(state.cluster, [target], state.schedule_index.schedule.preemption(recreated, state.behind, more))


def _migrates_already(state: ClusterState, pod: Pod, node: str) -> tuple[Pod, str] | None:
    """Return the running target pod of a VM and its node, unless the VM has moved since or that node fails, too."""
    found = state.evictions.target_in_progress(pod) if pod.key not in state.migrated else None
    return None if found is None or found[1] == node or state.is_silent(found[1]) else found


def _migrate(state: ClusterState, pod: Pod, node: str, cause: str) -> bool:
    already = _migrates_already(state, pod, node)
    if already is not None:
        state.cluster.unbind(already[0])
        state.migrate(pod, already[1], cause)
        return True
    wanted = _target(state, pod, node)
    attempt = _attempt(state, pod, wanted)
    target = attempt.nodes.get(wanted.key)
    if target is None:
        return False
    state.preempt(attempt)
    state.migrate(pod, target, cause)
    return True


def blocked(state: ClusterState, pod: Pod, node: str, why: str, *, refused: bool = False) -> Blocked:
    """Return a pod that is not evicted, with the reason."""
    return Blocked(state.schedule_index.titles.get(pod.key, ""), pod.name, node, why, refused)


def why_blocked(state: ClusterState, pod: Pod, node: str) -> Blocked:
    """Return why a pod does not leave its node."""
    eviction = state.evictions.of(pod)
    if eviction.why:
        return blocked(state, pod, node, eviction.why)
    if eviction.what == "migrates":
        owner = state.schedule_index.owners.get(pod.key)
        target = _target(state, pod, node)
        own = own_separation(pod, state.cluster, node, owner)
        reasons = own.others(next(iter(schedule_pods(state.cluster, [target]).pending.values()), {}))
        title = state.schedule_index.titles.get(pod.key, "")
        why = state.schedule_index.why(state.cluster, target, title, reasons, failed=state.unavailable)
        whys = "; ".join(filter(None, [why, own.advice]))
        return blocked(state, pod, node, f"it cannot be live-migrated to any node{f': {whys}' if whys else ''}")
    numbers = limiting_budgets(state, pod)
    budgets = [state.disruptions.covered[each] for each in numbers]
    if len(budgets) > 1:
        return blocked(state, pod, node, TWO_BUDGETS + ", ".join(each.budget.name for each in budgets), refused=True)
    why = budgets[0].arithmetic(state.healthy(numbers[0]))
    if budgets[0].allowed() > 0:
        why += ", until the evicted pods are ready again"
    return blocked(state, pod, node, why)
