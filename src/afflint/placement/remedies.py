"""The smallest changes with which a workload runs, or survives single failures: each is tried in a whole plan with the change.

A plan is one legal schedule, as in `afflint place`; what it shows is not a proof. So the changes that a report shows are tried in several
orders of scheduling, and each says in how many of these it helps. The search makes a bounded number of plans, the more the smaller they
are, so that its result depends on its input only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from afflint.controllers.running_pods import pod_key
from afflint.findings.edits import EditError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import summarize_names
from afflint.findings.steps import counted
from afflint.kube.decoding import InventoryError
from afflint.kube.kinds import is_single_machine
from afflint.placement.changes import CORRECTION, NEW_NODE, PRIORITY, REPLICAS, PlanInput, SmallChange
from afflint.placement.explanation import FailureEffect, failure_effects, pending_pods, single_failures
from afflint.placement.manifest_changes import LowerRequest, lower_request, manifest_changes
from afflint.placement.node_changes import node_changes
from afflint.placement.schedule import PlacedWorkload, Schedule, keeps_pending_pods
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.pods import PodKey
from afflint.scheduler.requests import CPU, MEMORY

_MOST_PLANS, _FEWEST_PLANS, _MOST_WORK = 150, 10, 200_000
"""The number of plans, and how many objects all of them handle together."""
_MOST_IN_PAIRS = 12
"""Pairs are tried if no single change solves the problem except another node, and if there are at most this many changes."""
_MOST_PRIORITY, _MOST_PRIORITIES = 1_000_000_000, 3
"""The highest priority of users, and how many priorities of other workloads are tried."""
_SHOWN = 8
"""As many remedies are tried in other orders."""
_FEWEST_ORDERS = 2


class Measured(NamedTuple):
    """What a plan shows about a workload: how many of its pods run, the failures that it does not survive, and the others' Pending pods.

    ``passing`` are failures after which the pods run again when the nodes recover or are removed; ``lost`` are the others.
    """

    running: int
    replicas: int
    lost: tuple[FailureEffect, ...]
    passing: tuple[str, ...]
    pending: Mapping[str, int]

    @property
    def trouble(self) -> tuple[int, int]:
        """How many pods do not run, and how many failures are not survived: less is better."""
        return self.replicas - self.running, len(self.lost)


class Remedy(NamedTuple):
    """One or two changes that help. ``solves``: all pods run, and ``lost`` has no failure that the workload does not survive.

    After the ``passing`` failures it runs again when the nodes recover or are removed.
    """

    changes: tuple[SmallChange, ...]
    running: int
    replicas: int
    lost: tuple[FailureEffect, ...]
    passing: tuple[str, ...]
    solves: bool
    makes_pending: tuple[tuple[str, int], ...]
    """The other workloads that have more Pending pods then, with the number of these."""
    orders: int = 1
    """In how many orders of scheduling it was tried."""
    helped: int = 1
    """In how many of these it helps as much."""

    @property
    def size(self) -> int:
        """How much the changes alter together."""
        return sum(change.size for change in self.changes)


class Remedies(NamedTuple):
    """The changes that help, smallest first: those that solve the problem, or else those that make it smaller.

    ``tried`` of ``possible`` changes and pairs were planned; ``pairs``: pairs were, too.
    """

    found: tuple[Remedy, ...] = ()
    tried: int = 0
    possible: int = 0
    pairs: bool = False

    @property
    def cut(self) -> bool:
        """Whether the search stopped before it had planned all changes."""
        return self.tried < self.possible


def find_remedies(plan_input: PlanInput, schedule: Schedule) -> Remedies:
    """Return the changes that help a workload that does not run completely, or does not survive a failure, in this schedule."""
    return _RemedySearch(plan_input, schedule, max(_FEWEST_PLANS, min(_MOST_PLANS, _MOST_WORK // max(plan_input.work, 1)))).run()


class SmallestEdit(NamedTuple):
    """The edit of the manifest that is the one smallest change with which all pods run, None without one, and how many plans were made.

    All pods run in each order of scheduling that was tried.
    """

    change: SmallChange | None
    plans: int


def smallest_edit(plan_input: PlanInput, schedule: Schedule, most_plans: int) -> SmallestEdit:
    """Return the smallest edit with which all pods of a workload run, if it makes no pod of another workload Pending.

    If ``most_plans`` are too few to find it, the change is None.
    """
    search = _RemedySearch(plan_input, schedule, most_plans)
    found = search.smallest()
    best = found[0] if len(found) == 1 else None
    if best is not None and best.changes[0].edits and not best.makes_pending:
        best = search.in_other_orders(best)
        change = best.changes[0] if best.helped == best.orders else None
    else:
        change = None
    return SmallestEdit(change, most_plans - search.left)


def workload_in(schedule: Schedule, key: str) -> PlacedWorkload:
    """Return a workload of a schedule by its key."""
    return next(placed for placed in schedule.workloads if placed.pod_source.key == key)


def _measured(schedule: Schedule, key: str, *, failing: bool) -> Measured:
    """Return what a schedule shows about a workload. Failures are simulated if all of its pods run and ``failing`` is set."""
    placed = workload_in(schedule, key)
    running, count = len(placed.running), len(placed.pods)
    effects = failure_effects(schedule, [placed]).effects if failing and running == count else ()
    lost = tuple([each for each in effects if not (each.survived or each.passing)])
    passing = tuple([each.what for each in effects if each.passing])
    others = {each.pod_source.key: len(each.pods) - len(each.running) for each in schedule.workloads if each is not placed}
    return Measured(running, count, lost, passing, others)


class _RemedySearch:
    """The search for one workload, with the number of plans that it may still make."""

    def __init__(self, plan_input: PlanInput, schedule: Schedule, plans: int) -> None:
        self.plan_input = plan_input
        self.schedule = schedule
        self.left = plans
        self.placed = workload_in(schedule, plan_input.key)
        # What does not run now need not survive failures as well: that is the next question.
        self.failing = len(self.placed.running) == len(self.placed.pods)
        self.before = _measured(schedule, plan_input.key, failing=self.failing)
        # A failure is simulated on a finished schedule, which takes less than another schedule.
        self.cost = 1 + (len(single_failures(schedule, [self.placed])[0]) // 4 if self.failing else 0)

    def run(self) -> Remedies:
        if self.before.trouble == (0, 0) or self.placed.template is None:
            return Remedies()
        changes = self._changes()
        tried, found = 0, list[Remedy]()
        solved: set[str] = set()
        for change in counted("trying changes", changes):
            if self.left <= 0:
                break
            tried += 1
            if change.field in solved:
                continue
            remedies = self._tried((change,))
            found += remedies
            solved.update([change.field for each in remedies if each.solves and change.field])
        resources = [each for each in self._lower_requests() if self.left > 0]
        for request in resources:
            found += self._lowered(request)
        possible = len(changes) + len(resources)
        tried += len(resources)
        solving = [each for each in found if each.solves]
        pairs: list[tuple[SmallChange, ...]] = []
        alone = {each.changes[0].text for each in solving}
        others = [each for each in changes if each.text not in alone]
        if all(each.size == NEW_NODE for each in solving) and 1 < len(others) <= _MOST_IN_PAIRS:
            pairs = sorted(combinations(others, 2), key=lambda pair: sum(change.size for change in pair))
            possible += len(pairs)
            for pair in counted("trying pairs of changes", pairs):
                if self.left <= 0:
                    break
                tried += 1
                solving += [each for each in self._tried(pair) if each.solves]
        ranked = _in_order(solving or found)
        shown = [self.in_other_orders(each) if self.left > 0 or not number else each for number, each in enumerate(ranked[:_SHOWN])]
        return Remedies((*_in_order(shown), *ranked[_SHOWN:]), tried, possible, bool(pairs))

    def smallest(self) -> list[Remedy]:
        """Return the smallest single changes that solve the problem: all changes of one size."""
        if self.before.trouble == (0, 0) or self.placed.template is None:
            return []
        found: list[Remedy] = []
        for change in self._changes():
            if found and change.size > found[0].size:
                break
            if self.left <= 0:
                return []
            if not any(change.field and change.field == each.changes[0].field for each in found):
                found += [each for each in self._tried((change,)) if each.solves]
        return found

    def _changes(self) -> list[SmallChange]:
        """Return the changes that can help by themselves or together, smallest first."""
        spec, nodes = self.plan_input.spec, self.schedule.before.table.nodes
        edits = self._deletions(manifest_changes(spec, nodes))
        changes = [*edits, *node_changes(spec, nodes), *self._higher_priorities(), *self._fewer_replicas()]
        if self.before.running < self.before.replicas and not self.placed.waits:
            # No plugin rejects pods that wait for volumes on their nodes. Of others, the first plugin that rejects a node decides: a change
            # that lifts no rejection changes nothing.
            plugins = {plugin for pod in pending_pods(self.placed) for plugin in self.placed.pending.get(pod.key, {}).values()}
            changes = [each for each in changes if not each.plugin or each.plugin in plugins]
        return sorted(changes, key=lambda change: change.size)

    def _higher_priorities(self) -> Iterator[SmallChange]:
        """Yield priorities with which Pending pods preempt others, lowest first; those of system components are not preempted."""
        own = self.plan_input.pod_source
        if self.failing or own.priority is None or not own.preempts or own.has_own_pods:
            return
        others = {each.pod_source.priority for each in self.schedule.workloads if each is not self.placed and each.running}
        for value in sorted(each for each in others if each is not None and own.priority <= each < _MOST_PRIORITY)[:_MOST_PRIORITIES]:
            text = f"give it a PriorityClass with a value above {value}, so that it preempts other pods"
            yield SmallChange(text, PRIORITY, "", priority=value + 1, field="priority")

    def _deletions(self, edits: Iterable[SmallChange]) -> Iterator[SmallChange]:
        """Yield the deletion of Pending pods that differ from the template, and each edit, with the deletion of those that would."""
        kept = self._kept_pods()
        differing = [pod for pod in kept if pod in self.placed.recreated]
        if differing:
            yield SmallChange(_deletion(differing), CORRECTION, "", deleted=tuple(differing))
        for edit in edits:
            yield edit._replace(text=f"{edit.text} and {_deletion(kept)}", deleted=tuple(kept)) if kept else edit

    def _kept_pods(self) -> list[PodKey]:
        """Return the Pending pods of a dump that the controller of the workload keeps when its template changes."""
        pod_source = self.placed.pod_source
        if pod_source.has_own_pods or not keeps_pending_pods(pod_source):
            return []
        stored = {pod_key(pod) for pod in self.plan_input.inventory.pods}
        return [pod.key for pod in pending_pods(self.placed) if pod.key in stored and pod.key not in self.placed.held]

    def _fewer_replicas(self) -> Iterator[SmallChange]:
        pod_source, running = self.plan_input.pod_source, self.before.running
        fewer = running - 1 if self.failing else running
        # A single replica survives failures only because there is nothing to lose.
        is_one = pod_source.kind == "Pod" or is_single_machine(pod_source.kind)
        if fewer > self.failing and not (is_one or pod_source.daemon or pod_source.observed):
            yield SmallChange(f"lower the replicas from {pod_source.replicas} to {fewer}", REPLICAS, "", replicas=fewer)

    def _tried(self, changes: tuple[SmallChange, ...]) -> list[Remedy]:
        """Return the remedy that changes are, if a plan shows that they help."""
        after = self._after(self.plan_input, changes)
        if after is None:
            return []
        if after.replicas == 0 or after.trouble >= self.before.trouble:
            return []
        more = [(key, number - self.before.pending.get(key, 0)) for key, number in after.pending.items()]
        worse = tuple([(key, number) for key, number in more if number > 0])
        return [Remedy(changes, after.running, after.replicas, after.lost, after.passing, after.trouble == (0, 0), worse)]

    def _after(self, plan_input: PlanInput, changes: Sequence[SmallChange]) -> Measured | None:
        """Return what a plan with some changes shows; None if they do not apply."""
        self.left -= self.cost
        try:
            # An edit that removes an item of a list moves the later ones: these come first.
            for change in reversed(changes):
                plan_input = plan_input.changed(change)
            if not self.plan_input.accepts(plan_input):
                return None
            schedule = plan_input.schedule()
        except (EditError, InventoryError):
            return None
        return _measured(schedule, plan_input.key, failing=self.failing)

    def in_other_orders(self, remedy: Remedy) -> Remedy:
        """Return a remedy with the number of orders in which it helps as much, as far as the number of plans allows."""
        most = remedy.replicas - remedy.running, len(remedy.lost)
        orders = self.plan_input.other_orders()[: max(_FEWEST_ORDERS, self.left // self.cost)]
        found = [self._after(each, remedy.changes) for each in orders]
        helped = sum(after is not None and after.trouble <= most for after in found)
        return remedy._replace(orders=1 + len(orders), helped=1 + helped)

    # --- requests ------------------------------------------------------------------------------------------------------

    def _lower_requests(self) -> Iterator[LowerRequest]:
        if self.placed.pod_source.kubevirt:
            return
        short = dict.fromkeys(
            shortage.resource
            for pod in pending_pods(self.placed)[:1]
            for node, plugin in self.placed.pending.get(pod.key, {}).items()
            if plugin == NODE_RESOURCES_FIT
            for shortage in self.schedule.cluster.shortages(pod, node)
        )
        for resource in (CPU, MEMORY):
            request = lower_request(self.plan_input.spec, resource) if resource in short else None
            if request is not None and request.amount > 1:
                yield request

    def _lowered(self, request: LowerRequest) -> list[Remedy]:
        """Return the remedy with the largest request with which all pods run."""
        step = 10 if request.resource == CPU else 1
        least, most = 1, (request.amount - 1) // step
        best: list[Remedy] = []
        while least <= most and self.left > 0:
            middle = (least + most) // 2
            found = [each for each in self._tried((request.at(middle * step),)) if each.solves]
            best, least, most = (found, middle + 1, most) if found else (best, least, middle - 1)
        return best


def _deletion(pods: Sequence[PodKey]) -> str:
    return f"delete the Pending pod{'s' if len(pods) > 1 else ''} {summarize_names([name for _, name in pods])}"


def _in_order(found: Iterable[Remedy]) -> Sequence[Remedy]:
    """Return remedies that leave less trouble first, then those that help in more orders, cost other workloads nothing, and are smaller."""

    def rank(each: Remedy) -> tuple[int, int, int, bool, int]:
        return each.replicas - each.running, len(each.lost), each.orders - each.helped, bool(each.makes_pending), each.size

    return sorted(found, key=rank)
