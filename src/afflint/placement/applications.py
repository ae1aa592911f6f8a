"""Applications: workloads that something selects together, such as the single VMs of one database, and what a disruption leaves of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.controllers.budgets import Budget
from afflint.findings.errors import UserError
from afflint.findings.phrases import nearest
from afflint.kube.selectors import Malformed, Selector, from_labels, matches
from afflint.placement.plan import Application, ApplicationEffect, DisruptionEffect, Outcome, WorkloadPlan
from afflint.placement.schedule import PlacedWorkload
from afflint.scheduler.namespaces import Service, read_service
from afflint.scheduler.pods import Pod, parsed_terms

_OF_ALL_MACHINES = frozenset(["kubevirt.io"])
"""The label that virt-controller gives to the pods of all virtual machines."""

_SWITCHES = frozenset(["true", "false", "yes", "no", "on", "off", "enabled", "", "0", "1"])
"""Values of labels that say nothing without the key."""

Candidate = tuple[str, str, tuple[int, ...]]
"""The name of an application, what selects it, and the numbers of its workloads."""


def applications(
    workloads: Sequence[PlacedWorkload], services: Iterable[object], budgets: Iterable[Budget], label: str = ""
) -> tuple[Application, ...]:
    """Return the applications of several workloads. A workload in none of them is an application of its own.

    With ``label``, workloads of a namespace with the same value of this pod label are an application; otherwise those that a Service, a
    PodDisruptionBudget, or the anti-affinity or spread constraints of single virtual machines select together.
    If selectors overlap, the one that selects the fewest workloads counts, then the first. DaemonSets belong to nodes, not to applications.
    Raises UserError if no workload has ``label``.
    """
    pods = [None if placed.pod_source.daemon else placed.template for placed in workloads]
    if label:
        found = list(_by_label(pods, label))
        if not found:
            keys = sorted({key for pod in pods if pod is not None for key in pod.labels})
            close = nearest(label, keys)
            raise UserError(f"no workload has the pod label {label}{f'; did you mean {close!r}?' if close else ''}")
    else:
        found = [*_by_service(pods, services), *_by_budget(pods, budgets), *_by_own_selector(workloads)]
    taken: set[int] = set()
    chosen: list[Candidate] = []
    for candidate in sorted(found, key=lambda each: len(each[2])):
        if len(candidate[2]) > 1 and taken.isdisjoint(candidate[2]):
            taken.update(candidate[2])
            chosen.append(candidate)
    chosen.sort(key=lambda each: each[2])
    names = [name for name, _, _ in chosen]
    return tuple(
        [
            Application(
                name if names.count(name) == 1 else f"{name} ({why})", why, tuple([workloads[each].pod_source.key for each in members])
            )
            for name, why, members in chosen
        ]
    )


def _by_label(pods: Sequence[Pod | None], label: str) -> Iterator[Candidate]:
    found: dict[tuple[str, str], list[int]] = {}
    for number, pod in enumerate(pods):
        if pod is not None and label in pod.labels:
            found.setdefault((pod.namespace, pod.labels[label]), []).append(number)
    for (namespace, value), members in found.items():
        yield f"{namespace}/{value}", f"label {label}={value}", tuple(members)


def _by_service(pods: Sequence[Pod | None], services: Iterable[object]) -> Iterator[Candidate]:
    for each in services:
        service = each if isinstance(each, Service) else read_service(each)
        selector = from_labels(service.selector) if service.selector else None
        if isinstance(selector, Selector):
            yield f"{service.namespace}/{service.name}", f"Service {service.name}", _selected(pods, service.namespace, selector)


def _by_budget(pods: Sequence[Pod | None], budgets: Iterable[Budget]) -> Iterator[Candidate]:
    for budget in budgets:
        # A budget for a whole namespace says nothing about applications.
        if isinstance(budget.selector, Selector) and budget.selector.requirements:
            members = _selected(pods, budget.namespace, budget.selector)
            yield f"{budget.namespace}/{budget.name}", f"PodDisruptionBudget {budget.name}", members


def _selected(pods: Sequence[Pod | None], namespace: str, selector: Selector) -> tuple[int, ...]:
    return tuple([number for number, pod in enumerate(pods) if pod and pod.namespace == namespace and matches(selector, pod.labels)])


def _by_own_selector(workloads: Sequence[PlacedWorkload]) -> Iterator[Candidate]:
    """Yield the single virtual machines that all keep away from, or spread with, exactly each other."""
    pods = [placed.template if placed.pod_source.kubevirt and len(placed.pods) == 1 else None for placed in workloads]
    found: dict[tuple[str, str, Selector], list[int]] = {}
    for number, pod in enumerate(pods):
        if pod is not None:
            for kind, selector in dict.fromkeys(_own_selectors(pod)):
                found.setdefault((pod.namespace, kind, selector), []).append(number)
    for (namespace, kind, selector), members in found.items():
        if members == list(_selected([placed.template for placed in workloads], namespace, selector)):
            yield f"{namespace}/{_value(selector)}", kind, tuple(members)


def _own_selectors(pod: Pod) -> Iterator[tuple[str, Selector]]:
    """Yield the selectors of a pod's anti-affinity and spread constraints that select the pod itself, but not all virtual machines."""
    weighted = [] if isinstance(pod.preferred_anti_affinity, Malformed) else [each.term for each in pod.preferred_anti_affinity]
    for term in (*parsed_terms(pod.anti_affinity), *weighted):
        if pod.namespace in term.namespaces and _selects_itself(pod, term.selector):
            assert term.selector is not None
            yield "anti-affinity", term.selector
    for constraint in (*pod.hard_spread, *pod.soft_spread):
        if isinstance(constraint.selector, Selector) and _selects_itself(pod, constraint.selector):
            yield "spread constraint", constraint.selector


def _selects_itself(pod: Pod, selector: Selector | None) -> bool:
    return (
        selector is not None
        and not _OF_ALL_MACHINES.issuperset(each.key for each in selector.requirements)
        and matches(selector, pod.labels)
    )


def _value(selector: Selector) -> str:
    """Return a name for what a selector selects: the value of its first label, with the key if the value is not a name."""
    first = selector.requirements[0]
    if not first.values:
        return first.key
    return f"{first.key}={first.values[0]}" if first.values[0] in _SWITCHES else first.values[0]


def with_applications(loss: DisruptionEffect, known: Sequence[Application], workloads: Mapping[str, WorkloadPlan]) -> DisruptionEffect:
    """Add the outcome of each application that loses a replica. ``workloads`` is by key."""
    if not known:
        return loss
    affected = [_effect(each, loss, workloads) for each in known if not loss.outcomes.keys().isdisjoint(each.workloads)]
    removed = loss.removed and with_applications(loss.removed, known, workloads)
    return loss._replace(applications=tuple(affected), removed=removed)


def _effect(application: Application, loss: DisruptionEffect, workloads: Mapping[str, WorkloadPlan]) -> ApplicationEffect:
    # Pods of other schedulers are listed as not evaluated.
    members = [workloads[key] for key in application.workloads if not workloads[key].unjudged]
    before = {each.key: sum(replica.node is not None for replica in each.replicas) for each in members}
    left = sum(loss.left.get(key, number) for key, number in before.items())
    replicas = sum(len(each.replicas) for each in members)
    outcomes = [loss.outcomes.get(key, "survives") for key, number in before.items() if number]
    return ApplicationEffect(application.name, joint_outcome(sum(before.values()), left, outcomes), left, replicas, application.workloads)


def joint_outcome(before: int, left: int, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of an application from its running replicas, and the outcomes of its workloads that had some.

    It has no running replica for a time only if none of its workloads has. The times may differ in a drain: that counts as well.
    """
    if left < before:
        return "degraded" if left else "dead"
    return "interrupted" if outcomes and "survives" not in outcomes else "survives"
