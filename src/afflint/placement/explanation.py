"""Why a workload does not run, or which single failures it does not survive: a schedule in words about one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words
from afflint.kube.node_labels import ZONE
from afflint.kube.quantities import Quantity
from afflint.kube.selectors import Selector, describe_briefly
from afflint.kube.taints import condition_end, first_untolerated
from afflint.placement.applications import joint_outcome
from afflint.placement.failures import Disruption, failures
from afflint.placement.node_changes import is_control_plane
from afflint.placement.plan import DisruptionEffect, Outcome
from afflint.placement.rejections import Rejections, kind_of_domain, port_words
from afflint.placement.scenarios import scenarios_of
from afflint.placement.schedule import PlacedWorkload, Schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.scheduler.node_fit import TAINT_TOLERATION
from afflint.scheduler.pods import Pod, Term, parsed_terms
from afflint.scheduler.requests import CPU, MEMORY, PODS

MOST_FAILURES = 100
"""At most this many failures are simulated."""
_SURVIVED = ("survives", "interrupted")


class Reason(NamedTuple):
    """Why some nodes reject a pod. ``text`` follows their number: ``lack disk=ssd``.

    ``example`` says more about the first node; empty if there is nothing to add.
    """

    text: str
    nodes: tuple[str, ...]
    control_planes: bool
    example: str = ""


class FailureEffect(NamedTuple):
    """What a single failure does to a workload: ``left`` replicas run in the end. ``why`` is why the others do not.

    ``passing``: they run again when the failed nodes recover or are removed.
    """

    what: str
    outcome: Outcome
    left: int
    why: str
    passing: bool

    @property
    def survived(self) -> bool:
        """Whether as many replicas run as before."""
        return self.outcome in _SURVIVED


class Failures(NamedTuple):
    """The effects of the single failures on a workload, in the order of nodes, then zones. ``notes`` name what is not simulated."""

    effects: tuple[FailureEffect, ...] = ()
    notes: tuple[str, ...] = ()


def nodes_without_pod(schedule: Schedule, placed: PlacedWorkload) -> list[Reason]:
    """Return why a DaemonSet has no pods on nodes; empty for other workloads."""
    template = placed.template
    if not placed.pod_source.daemon or template is None or placed.unjudged:
        return []
    as_such = zip(schedule.cluster.table.names, schedule.cluster.static_rejections(template), strict=True)
    return reasons(schedule, placed, template, {node: plugin for node, plugin in as_such if plugin is not None})


def pending_pods(placed: PlacedWorkload) -> list[Pod]:
    """Return the pods of a workload that do not run, in their order."""
    running = placed.running
    return [pod for pod in placed.pods if pod.key not in running]


def reasons(schedule: Schedule, placed: PlacedWorkload, pod: Pod, rejected: Mapping[str, str]) -> list[Reason]:
    """Return why nodes reject a pod, equal reasons together, most nodes first and control planes last.

    ``rejected`` has the plugin that rejects each node.
    """
    titles = {identity: each.pod_source.key for identity, each in schedule.owners.items()}
    rejections = Rejections(schedule.cluster, pod, titles, placed.pod_source.key)
    table = schedule.cluster.table
    groups: dict[tuple[str, str, bool], list[str]] = {}
    examples: dict[tuple[str, str, bool], str] = {}
    for node, plugin in rejected.items():
        phrase = rejections.phrase(node, plugin)
        group = phrase.singular, phrase.plural, is_control_plane(table.nodes[table.numbers[node]])
        groups.setdefault(group, []).append(node)
        examples.setdefault(group, "" if phrase.one in phrase.singular else phrase.one)
        taint = first_untolerated(table.nodes[table.numbers[node]].taints, pod.rules.tolerations) if plugin == TAINT_TOLERATION else None
        if taint is not None and (end := condition_end(taint.key)):
            examples[group] = end
    ordered = sorted(groups.items(), key=lambda each: (each[0][2], -len(each[1]), each[0]))
    return [
        Reason(singular if len(nodes) == 1 else plural, tuple(nodes), plane, examples[singular, plural, plane])
        for (singular, plural, plane), nodes in ordered
    ]


# --- what it needs -----------------------------------------------------------------------------------------------------


def needs(template: Pod) -> list[str]:
    """Return what a pod requires of its node and of other pods, in words."""
    found = []
    own, terms = template.rules.node_selector.requirements, template.rules.terms
    alternatives = [own] if terms is None else [(*own, *term.requirements) for term in terms if isinstance(term, Selector)]
    added = template.added
    texts = list(dict.fromkeys(" and ".join([describe_briefly(item) for item in each if item.key not in added]) for each in alternatives))
    if texts and all(texts):
        found.append(f"nodes with {' or '.join(texts)}")
    amounts = [_amount(resource, amount) for resource, amount in template.requests if resource != PODS]
    if amounts:
        found.append(f"{join_words(amounts)} for each pod")
    found += [f"{port_words(port)} of its node" for port in template.ports]
    found += [f"a pod with {_selected(term)} {_same(term)}" for term in parsed_terms(template.affinity)]
    found += [f"no pod with {_selected(term)} {_same(term)}" for term in parsed_terms(template.anti_affinity)]
    found += [
        f"at most {each.max_skew} more of its pods in one {kind_of_domain(each.key)} than in another" for each in template.hard_spread
    ]
    return found


def _same(term: Term) -> str:
    word = kind_of_domain(term.key)
    return f"{'on' if word == 'node' else 'in'} the same {word}"


def _selected(term: Term) -> str:
    selector = term.selector
    return "any label" if selector is None or not selector.requirements else " and ".join(map(describe_briefly, selector.requirements))


def _amount(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{Quantity(amount * 10**6)} CPU"
    if resource != MEMORY and not resource.startswith("hugepages-"):
        return f"{amount} {resource}"
    unit = next((unit for unit in (30, 20) if amount >> unit and amount % (1 << 20)), 0)
    shown = f"{amount / (1 << unit):.1f}{'Gi' if unit == 30 else 'Mi'}" if unit else str(Quantity(amount * 10**9, binary=True))
    return f"{shown} {resource}"


# --- failures ----------------------------------------------------------------------------------------------------------


def single_failures(schedule: Schedule, members: Sequence[PlacedWorkload]) -> tuple[list[Disruption], list[str]]:
    """Return the failures of one node or one zone that can affect an application, and notes on those that are left out."""
    cluster, used, notes = schedule.before, {node for placed in members for node in placed.nodes.values()}, list[str]()
    if members[0].pod_source.daemon:
        return [], ["each node has its own pod of a DaemonSet: failures are not simulated"]
    found = failures(cluster, "each:node")
    if cluster.label(ZONE):
        found += failures(cluster, f"each:{ZONE}")
    else:
        notes.append("no node has a zone label: failures of zones are not simulated")
    kept = {each.nodes: each for each in reversed(found)}
    # With preemption, pods that move from other nodes may displace its own.
    hit = [each for each in found if kept.get(each.nodes) is each and (schedule.priorities is not None or used & set(each.nodes))]
    if len(hit) > MOST_FAILURES:
        notes.append(f"only the first {MOST_FAILURES} of {len(hit)} failures are simulated")
    return hit[:MOST_FAILURES], notes


def failure_words(what: str) -> str:
    """Return the name of a failure: ``zone a`` for ``topology.kubernetes.io/zone=a``."""
    return what.replace(f"{ZONE}=", "zone ", 1)


def failure_effects(schedule: Schedule, members: Sequence[PlacedWorkload]) -> Failures:
    """Simulate the single failures that can affect an application, all of whose replicas run. ``members`` are its workloads."""
    found, notes = single_failures(schedule, members)
    if not found:
        return Failures((), tuple(notes))
    scenarios, running = scenarios_of(ScheduleIndex(schedule)), {each.pod_source.key: len(each.running) for each in members}
    effects = []
    for failure in found:
        lost = scenarios.lose(*failure)
        why = next((move.why for move in lost.moves if move.workload in running and move.target is None and move.why), "")
        outcome, left = _together(lost, running)
        after = _together(lost.removed, running)[0] if lost.removed is not None else outcome
        effects.append(FailureEffect(failure_words(failure.what), outcome, left, why, outcome not in _SURVIVED and after in _SURVIVED))
    return Failures(tuple(effects), tuple(notes))


def _together(lost: DisruptionEffect, running: Mapping[str, int]) -> tuple[Outcome, int]:
    """Return the outcome of a failure for the workloads of an application together, and how many of their pods run in the end."""
    left = sum(lost.left.get(key, number) for key, number in running.items())
    return joint_outcome(sum(running.values()), left, [lost.outcomes.get(key, "survives") for key in running]), left
