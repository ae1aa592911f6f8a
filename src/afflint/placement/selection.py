"""The part of a plan that a user asks for by name: some workloads and applications, or what disruptions of some nodes do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

from afflint.findings.errors import UnknownNameError
from afflint.findings.phrases import nearest
from afflint.placement.plan import DescheduleEffect, DisruptionEffect, LeftOut, Plan, PresentState, UpgradeEffect


def selected(plan: Plan, names: Sequence[str]) -> Plan:
    """Return the plan with only the workloads and disruptions that ``names`` select; all of it without names.

    A name or a glob is that of a workload (``web``, ``shop/web``, ``Deployment shop/web``), an application or a node (also its first part).
    A node selects the workloads with replicas on it and, if no workload or application is named, only disruptions of such nodes.
    Raises UnknownNameError for a name that nothing has.
    """
    if not names:
        return plan
    words = {each.key: {each.key, *_short(f"{each.namespace}/{each.name}")} for each in plan.workloads}
    nodes = {node.name: {node.name, node.name.partition(".")[0]} for node in plan.nodes}
    keys: set[str] = set()
    chosen: set[str] = set()
    for name in names:
        by_name = {key for key, known in words.items() if _fits(name, known)}
        by_name.update(key for each in plan.applications if _fits(name, _short(each.name)) for key in each.workloads)
        there = {node for node, known in nodes.items() if _fits(name, known)}
        if not by_name and not there:
            applications = [_short(each.name) for each in plan.applications]
            close = nearest(name, sorted(set().union(*words.values(), *applications, *nodes.values())))
            message = f"no workload, application or node is named {name!r}{f'; did you mean {close!r}?' if close else ''}"
            raise UnknownNameError(message, name)
        keys |= by_name
        chosen |= there
    losses: Iterable[DisruptionEffect] = plan.losses
    if not keys:
        losses = [loss for loss in plan.losses if not chosen.isdisjoint(loss.nodes)]
    keys.update(each.key for each in plan.workloads if any(replica.node in chosen for replica in each.replicas))
    whole = not chosen
    shown = [_of(loss, keys, named=whole) for loss in losses]
    return plan._replace(
        workloads=tuple([each for each in plan.workloads if each.key in keys]),
        losses=tuple(shown),
        violations=tuple([each for each in plan.violations if each.workload in keys]),
        restarts=tuple([each for each in plan.restarts if each.workload in keys]),
        preempted=tuple([each for each in plan.preempted if each.workload in keys or each.preemptor in keys]),
        rollouts=tuple([each for each in plan.rollouts if each.workload in keys]),
        applications=tuple([each for each in plan.applications if not keys.isdisjoint(each.workloads)]),
        upgrades=tuple([_of_upgrade(each, keys | _names(plan, keys)) for each in plan.upgrades]),
        descheduling=tuple([_of_descheduler(each, keys) for each in plan.descheduling]),
        now=plan.now and _of_now(plan.now, keys),
        left_out=_left_out(plan, names, keys, zip(losses, shown, strict=True)),
    )


def _left_out(
    plan: Plan, names: Sequence[str], keys: Collection[str], losses: Iterable[tuple[DisruptionEffect, DisruptionEffect]]
) -> LeftOut:
    """Return what is not among some workloads; ``losses`` are the disruptions, each with the part that is."""
    others = [each for each in plan.workloads if each.key not in keys]
    other_keys = {each.key for each in others}
    return LeftOut(
        tuple(names),
        len(others),
        sum(replica.node is None for each in others if not each.unjudged for replica in each.replicas),
        tuple([_of(whole, other_keys, named=True)._replace(blocked=() if part.blocked else whole.blocked) for whole, part in losses]),
        tuple([each for each in plan.rollouts if each.workload not in keys]),
    )


def _names(plan: Plan, keys: Collection[str]) -> set[str]:
    """Return the names of the applications of some workloads."""
    return {each.name for each in plan.applications if any(key in keys for key in each.workloads)}


def _of_now(now: PresentState, keys: AbstractSet[str]) -> PresentState:
    """Return what is at risk of some workloads now. A budget stays if it decides about one of their pods that cannot leave."""
    blocked = tuple([each for each in now.blocked if each.workload in keys])
    pods = {each.pod for each in blocked}
    return now._replace(
        blocked=blocked,
        budgets=tuple([each for each in now.budgets if not pods.isdisjoint(each.pods)]),
        concentrated=tuple([each for each in now.concentrated if not keys.isdisjoint(each.workloads)]),
        scattered=tuple([each for each in now.scattered if each in keys]),
    )


def _of_upgrade(upgrade: UpgradeEffect, keys: Collection[str]) -> UpgradeEffect:
    """Return what an upgrade does to some workloads and applications. The pods that stop it stay."""
    return upgrade._replace(
        replicas=tuple([each for each in upgrade.replicas if each.workload in keys]),
        outages=tuple([each for each in upgrade.outages if each.application in keys]),
        domains=tuple([each for each in upgrade.domains if each.workload in keys]),
        left={key: left for key, left in upgrade.left.items() if key in keys},
    )


def _of_descheduler(effect: DescheduleEffect, keys: Collection[str]) -> DescheduleEffect:
    """Return what a descheduler does to some workloads."""
    return effect._replace(
        rounds=tuple([tuple([each for each in evicted if each.workload in keys]) for evicted in effect.rounds]),
        moves=tuple([each for each in effect.moves if each.workload in keys]),
        answers=tuple([each for each in effect.answers if each.workload in keys]),
    )


def _short(name: str) -> set[str]:
    """Return the name with and without its namespace."""
    return {name, name.partition("/")[2] or name}


def _fits(name: str, known: Iterable[str]) -> bool:
    return any(each == name or fnmatchcase(each, name) for each in known)


def _of(loss: DisruptionEffect, keys: Collection[str], *, named: bool) -> DisruptionEffect:
    """Return what a disruption does to some workloads.

    If these were ``named`` and it touches none of them, other pods that block a drain or are not evaluated are left out.
    """
    touched = {*loss.outcomes, *(each.workload for each in loss.moves), *(each.workload for each in loss.blocked)}.intersection(keys)
    others = bool(touched) or not named
    return loss._replace(
        moves=tuple([each for each in loss.moves if each.workload in keys]),
        outcomes={key: outcome for key, outcome in loss.outcomes.items() if key in keys},
        blocked=loss.blocked if others else (),
        left={key: left for key, left in loss.left.items() if key in keys},
        unevaluated=loss.unevaluated if others else (),
        volumes=tuple([key for key in loss.volumes if key in keys]),
        preempted=tuple([each for each in loss.preempted if each.workload in keys or each.preemptor in keys]),
        applications=tuple([each for each in loss.applications if any(key in keys and key in loss.outcomes for key in each.workloads)]),
        shared=tuple([each for each in loss.shared if any(key in keys for key in each.workloads)]),
        removed=loss.removed and _of(loss.removed, keys, named=named),
    )
