"""An upgrade of node pools in words: whether it completes, what is down meanwhile, what moves how often, and where all runs in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.placement.plan import DomainChange, Outage, Plan, PoolUpgrade, UpgradedReplica, UpgradeEffect, unevaluated_words
from afflint.report.place.digest import domain_words, list_some, natural, reason_words, short_names

_LISTED = 8


class UpgradeLine(NamedTuple):
    """A line about an upgrade: ``state`` is a class of style, ``word`` what it is about, ``text`` the sentence."""

    state: str
    word: str
    text: str


UPGRADE_NOTE = "nodes are drained in order, and take pods again"
"""What an upgrade does."""


def upgrade_title(upgrade: UpgradeEffect) -> str:
    """Return ``Upgrade of worker: MachineConfigPool worker, 3 nodes``; of several pools, their number."""
    nodes = pluralize(sum(len(pool.nodes) for pool in upgrade.pools), "node")
    what = upgrade.pools[0].pool if len(upgrade.pools) == 1 else pluralize(len(upgrade.pools), "pool")
    return f"Upgrade of {upgrade.what}: {what}, {nodes}"


def upgrade_lines(plan: Plan, upgrade: UpgradeEffect) -> Iterator[UpgradeLine]:
    """Yield the lines about an upgrade: the pools in order, then its effects, worst first."""
    names = short_names(plan.workloads)
    for pool in upgrade.pools:
        yield from _pool_lines(pool, names, alone=len(upgrade.pools) == 1)
    ended = {each.workload for each in upgrade.replicas if each.fate == "gone" and upgrade.left.get(each.workload) == 0}
    yield from _outage_lines(upgrade.outages, names, ended)
    yield from _pending_lines(upgrade.replicas)
    if upgrade.unevaluated:
        yield UpgradeLine("unjudged", "not evaluated", unevaluated_words(upgrade.unevaluated, upgrade.unjudged))
    for workload in plan.workloads:
        without_node = sum(each.node is None for each in workload.replicas)
        if workload.unjudged and without_node:
            text = f"{pluralize(without_node, 'replica')} of {names.get(workload.key, workload.key)}: {workload.unjudged}"
            yield UpgradeLine("unjudged", "not evaluated", text)
    yield from _move_lines(upgrade.replicas)
    for change in sorted(upgrade.domains, key=_loss)[:_LISTED]:
        text = f"{names.get(change.workload, change.workload)}: {change_words(plan.group_by, change)}"
        yield UpgradeLine("degraded" if _loss(change)[0] < 0 else "", "in the end", text)
    if len(upgrade.domains) > _LISTED:
        yield UpgradeLine("", "in the end", f"{len(upgrade.domains) - _LISTED} more workloads run in other places")


def _pool_lines(pool: PoolUpgrade, names: Mapping[str, str], *, alone: bool) -> Iterator[UpgradeLine]:
    title = "" if alone else f"{pool.pool}: "
    how = f"{_pace(pool)}{f' ({pool.declared})' if pool.declared else ''}"
    if pool.completes:
        nodes = "" if alone else f"{pluralize(len(pool.nodes), 'node')}, "
        yield UpgradeLine("survives", "completes", f"{title}{nodes}{how}")
        return
    if pool.held:
        yield UpgradeLine("blocked", "never starts", f"{title}{pool.held}")
        return
    stuck = list(dict.fromkeys(each.node for each in pool.blocked))
    done = f"{len(pool.upgraded)} of {pluralize(len(pool.nodes), 'node')} {'is' if len(pool.upgraded) == 1 else 'are'} upgraded"
    yield UpgradeLine("blocked", "stops", f"{title}at {list_some(stuck, 3)}; {done}, {how}")
    for each in pool.blocked[:_LISTED]:
        name = f" of {names.get(each.workload, each.workload)}" if each.workload else ""
        yield UpgradeLine("blocked", "blocked", f"{each.pod}{name} is not evicted from {each.node}: {reason_words(each.why)}")
    if len(pool.blocked) > _LISTED:
        yield UpgradeLine("blocked", "blocked", f"{len(pool.blocked) - _LISTED} more pods")


def _pace(pool: PoolUpgrade) -> str:
    """Return ``one at a time``, ``2 at a time after 1 new node is created``."""
    pace = "one at a time" if pool.at_once == 1 else f"up to {pool.at_once} at a time"
    if pool.surge:
        return f"{pace}, after {pluralize(pool.surge, 'new node')} {'is' if pool.surge == 1 else 'are'} created"
    return f"{pace}, replaced by new nodes" if pool.replaces else pace


def _outage_lines(outages: Sequence[Outage], names: Mapping[str, str], ended: Container[str]) -> Iterator[UpgradeLine]:
    """Yield the applications with fewer running replicas for a time, each with its worst moment.

    ``ended`` are the workloads with pods that are not recreated.
    """
    worst: dict[str, list[Outage]] = {}
    for outage in outages:
        known = worst.setdefault(outage.application, [])
        if not known or outage.left <= known[0].left:
            worst[outage.application] = [*[each for each in known if each.left == outage.left], outage]
    listed = sorted(worst.items(), key=lambda entry: entry[1][0].left)
    for name, times in listed[:_LISTED]:
        left, replicas = times[0].left, times[0].replicas
        when = list_some([join_words(list(each.nodes)) if len(each.nodes) < 4 else pluralize(len(each.nodes), "node") for each in times], 3)
        what = f"keeps {left} of {replicas} for a time, while" if left else "has no running replica for a time, while"
        if name in ended:
            what = "does not run again, once"
        state, word = ("degraded", "degraded") if left else ("interrupted", "down")
        yield UpgradeLine(state, word, f"{names.get(name, name)} {what} pods leave {when}")
    if len(listed) > _LISTED:
        yield UpgradeLine("interrupted", "degraded", f"{len(listed) - _LISTED} more applications for a time")


def _pending_lines(replicas: Sequence[UpgradedReplica]) -> Iterator[UpgradeLine]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for replica in replicas:
        if replica.target is None:
            reasons.setdefault((replica.fate, replica.why), []).append(replica.pod)
    for (fate, why), pods in list(reasons.items())[:_LISTED]:
        word = "stopped" if fate == "off" else "deleted" if fate == "gone" else "Pending"
        yield UpgradeLine("degraded", word, f"{list_some(pods, 3)}{f': {reason_words(why)}' if why else ''}")
    if len(reasons) > _LISTED:
        yield UpgradeLine("degraded", "Pending", f"and others, for {len(reasons) - _LISTED} more reasons")


def _move_lines(replicas: Sequence[UpgradedReplica]) -> Iterator[UpgradeLine]:
    # A replica without a node in the end was not recreated after its last eviction.
    recreated = [each.evicted - (each.target is None) for each in replicas]
    for word, counts in (("recreated", recreated), ("live-migrated", [each.migrated for each in replicas])):
        often = Counter(count for count in counts if count > 0)
        if often:
            times = [f"{number} {_TIMES.get(count, f'{count} times')}" for count, number in sorted(often.items())]
            yield UpgradeLine("", word, f"{pluralize(sum(often.values()), 'replica')}: {', '.join(times)}")
    most = sorted([each for each in replicas if each.evicted + each.migrated > 1], key=lambda each: -each.evicted - each.migrated)
    if most:
        listed = [f"{each.pod} {_TIMES.get(each.evicted + each.migrated, f'{each.evicted + each.migrated} times')}" for each in most]
        yield UpgradeLine("", "most often", list_some(listed, 3))


_TIMES = {1: "once", 2: "twice", 3: "three times"}


def change_words(key: str, change: DomainChange) -> str:
    """Return ``zone a 1, zone b 1 -> zone a 2``: how many replicas run in each domain before and after."""
    return f"{_domains(key, change.before)} -> {_domains(key, change.after)}"


def _domains(key: str, counts: Mapping[str, int]) -> str:
    listed: Iterable[str] = sorted(counts, key=natural)
    return ", ".join(f"{domain_words(key, domain or None)}: {counts[domain]}" for domain in listed) or "nowhere"


def _loss(change: DomainChange) -> tuple[int, str]:
    """Return how many domains a workload wins, negative for a loss, as a sort key."""
    return len(change.after) - len(change.before), change.workload
