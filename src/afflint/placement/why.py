"""Creates the answer of `afflint why`: whether one workload runs and survives single failures, why not, and which changes help."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.controllers.running_pods import running_pods_of
from afflint.findings.coverage import Coverage
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest, summarize_names
from afflint.kube.kinds import is_single_machine
from afflint.placement.changes import PlanInput
from afflint.placement.explanation import Failures, Reason, failure_effects, needs, nodes_without_pod, pending_pods, reasons
from afflint.placement.migrations import MigrationAnswer, migration_of
from afflint.placement.plan import Application, Plan, WorkloadPlan
from afflint.placement.plan_notes import FITS_NOTE
from afflint.placement.remedies import Remedies, find_remedies, workload_in
from afflint.placement.schedule import PlacedWorkload
from afflint.placement.workload_plans import other_reason
from afflint.scheduler.pods import Pod
from afflint.yaml.document import text_at
from afflint.yaml.object_fields import name_of

_KINDS = {
    "po": "pod",
    "deploy": "deployment",
    "sts": "statefulset",
    "ds": "daemonset",
    "rs": "replicaset",
    "rc": "replicationcontroller",
    "cj": "cronjob",
    "vm": "virtualmachine",
    "vmi": "virtualmachineinstance",
}
"""The short names of kinds that kubectl accepts."""


class Explanation(NamedTuple):
    """Whether a workload runs, why its ``pending`` pods do not, which failures it does not survive, and what helps.

    ``pod`` is the pod that was asked for and ``node`` its node; empty for a workload. ``reasons`` are those of the first Pending pod, and
    ``why`` is why it does not run if no node rejects it, or why it is not evaluated.
    ``without_pod`` is why nodes have no pod of a DaemonSet.
    """

    workload: WorkloadPlan
    pod: str
    node: str
    replicas: int
    running: int
    pending: tuple[str, ...]
    reasons: tuple[Reason, ...]
    why: str
    needs: tuple[str, ...]
    failures: Failures
    remedies: Remedies
    notes: tuple[str, ...]
    coverage: Coverage = Coverage()
    without_pod: tuple[Reason, ...] = ()
    also_read: tuple[str, ...] = ()
    migration: MigrationAnswer | None = None
    """Where a VM that runs may migrate; None for other workloads."""
    application: Application | None = None
    """The application of several workloads that a single VM belongs to: its failures are those of this application."""
    starting: tuple[tuple[str, str], ...] = ()
    """The pods that do not run in the dump of the cluster and can be scheduled, with their nodes; they count as ``running``."""

    @property
    def runs(self) -> bool:
        """Whether all of its pods run."""
        return self.running == self.replicas and not self.workload.error

    @property
    def survives(self) -> bool:
        """Whether it runs, and as many of its pods after each simulated failure; of the application of a VM at least one."""
        survived = (each.survived or (self.application is not None and each.left > 0) for each in self.failures.effects)
        return self.runs and not self.workload.unjudged and all(survived)

    @property
    def is_fine(self) -> bool:
        """Whether it runs and survives each failure; of a single VM whether it runs and may migrate."""
        if self.migration is not None and is_single_machine(self.workload.kind):
            return self.runs and self.migration.possible
        return self.survives and (self.migration is None or self.migration.possible)


class UnknownWorkloadError(UserError):
    """No workload or pod has the name."""


class Selected(NamedTuple):
    """The workload that a name selects, and the pod if it is the name of one."""

    key: str
    pod: str = ""


def selected_workload(plan: Plan, plan_input: PlanInput, name: str) -> Selected:
    """Return the workload with a name (``web``, ``shop/web``, ``deployment/web``, ``Deployment shop/web``), or with a pod of this name.

    Raises UnknownWorkloadError, which names the nearest name, and UserError, which names all workloads if there are several.
    """
    found = {each.key: Selected(each.key) for each in plan.workloads if name == each.key or name.lower() in _names(each)}
    pods = dict(_pods(plan, plan_input))
    if not found:
        word = name.lower().removeprefix("pod/").removeprefix("po/")
        found = {selected.key: selected for key, selected in pods.items() if word in (key, key.partition("/")[2])}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise UserError(f"{name!r} is the name of {len(found)} workloads: {summarize_names(sorted(found))}; add the namespace or the kind")
    known = [each for workload in plan.workloads for each in (workload.name, f"{workload.namespace}/{workload.name}")]
    close = nearest(name, [*known, *[key.partition("/")[2] for key in pods]])
    raise UnknownWorkloadError(f"no workload or pod is named {name!r}{f'; did you mean {close!r}?' if close else ''}")


def _names(workload: WorkloadPlan) -> set[str]:
    """Return the names of a workload in lower case, with and without its namespace or kind."""
    kind, name = workload.kind.lower(), workload.name.lower()
    kinds = [kind, *[short for short, whole in _KINDS.items() if whole == kind]]
    return {name, f"{workload.namespace.lower()}/{name}", *[f"{each}/{name}" for each in kinds]}


def _pods(plan: Plan, plan_input: PlanInput) -> list[tuple[str, Selected]]:
    """Return the workload of each pod by the namespace and the name of the pod: of the pods of the plan, and of all in a dump."""
    found = [
        (f"{workload.namespace}/{replica.pod}", Selected(workload.key, replica.pod))
        for workload in plan.workloads
        for replica in workload.replicas
    ]
    for key, indexes in running_pods_of(plan_input.pod_sources, plan_input.inventory.pods).items():
        for index in indexes:
            pod = plan_input.inventory.pods[index]
            name = name_of(pod)
            found.append((f"{text_at(pod, 'metadata', 'namespace') or 'default'}/{name}", Selected(key, name)))
    return found


def explain(plan: Plan, plan_input: PlanInput, pod: str = "", *, decidable: bool = True) -> Explanation:
    """Explain the workload of a plan_input in its plan, or one ``pod`` of it.

    Without ``decidable``, its placement depends on something that the manifests do not contain: then no change is tried.
    """
    workload = next(each for each in plan.workloads if each.key == plan_input.key)
    schedule = plan_input.schedule()
    placed = workload_in(schedule, plan_input.key)
    waiting = pending_pods(placed)
    first = _first(waiting, pod)
    running, replicas = len(placed.running), len(workload.replicas)
    runs = running == replicas and not workload.error
    judged = decidable and not placed.unjudged
    single = is_single_machine(workload.kind)
    application = next((each for each in plan.applications if single and workload.key in each.workloads), None)
    members = [workload_in(schedule, key) for key in application.workloads] if application is not None else [] if single else [placed]
    evaluates = runs and replicas and not placed.unjudged
    return Explanation(
        workload,
        pod,
        next((node for (_, name), node in placed.nodes.items() if pod and name == pod), ""),
        replicas,
        running,
        tuple([each.name for each in waiting]),
        tuple(reasons(schedule, placed, first, placed.pending.get(first.key, {}))) if first is not None else (),
        workload.error or (other_reason(placed, first) if first is not None else "") or workload.unjudged,
        tuple(needs(placed.template)) if placed.template is not None else (),
        failure_effects(schedule, members) if members and evaluates else Failures(),
        find_remedies(plan_input, schedule) if placed.pods and judged and not (single and runs) else Remedies(),
        (*workload.notes, *_not_evaluated(plan, workload), *[each for each in plan.notes if each != FITS_NOTE]),
        plan.coverage,
        tuple(nodes_without_pod(schedule, placed)),
        plan.also_read,
        migration_of(plan_input, schedule, placed, pod) if placed.pod_source.kubevirt and judged else None,
        application,
        _starting(plan_input, placed),
    )


def _starting(plan_input: PlanInput, placed: PlacedWorkload) -> tuple[tuple[str, str], ...]:
    """Return the pods that do not run in the dump of a cluster and can be scheduled, with their nodes."""
    inventory = plan_input.inventory
    if not inventory.pods or inventory.replan:
        return ()
    return tuple([(pod.name, placed.nodes[pod.key]) for pod in placed.pods if pod.key in placed.running - placed.stays])


def _not_evaluated(plan: Plan, workload: WorkloadPlan) -> list[str]:
    """Return a note if there are other workloads whose pods the simulation does not schedule."""
    others = [each.key for each in plan.workloads if each.unjudged and each is not workload]
    noun = "another workload" if len(others) == 1 else f"{len(others)} other workloads"
    return [f"{noun} {'is' if len(others) == 1 else 'are'} not evaluated: {summarize_names(others)}"] if others else []


def _first(waiting: Sequence[Pod], pod: str) -> Pod | None:
    """Return the Pending pod whose reasons are shown: the one with this name, or the first."""
    return next((each for each in waiting if each.name == pod), waiting[0] if waiting else None)
