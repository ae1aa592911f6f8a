"""Upgrades of node pools, deschedulers and rollouts in words: the steps of each, in order, and where the replicas run at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import (
    ClusterEvent,
    DescheduledPod,
    DescheduleEffect,
    DisruptionEffect,
    DomainChange,
    Outage,
    PoolUpgrade,
    RolloutEffect,
    RolloutResult,
    RolloutStep,
    UpgradedReplica,
    UpgradeEffect,
    unevaluated_words,
)
from afflint.report.place.harms import ALIKE, GLUE, alike_words, node_count, similar_harms
from afflint.report.place.view import PlaceView
from afflint.report.place.words import domain_words, list_some, natural, reason_words

_LISTED = 8
_MOST_OUTCOMES = 4
_MOST_STEPS = 8
_TIMES = {1: "once", 2: "twice", 3: "three times"}
ROLLOUT_NOTE = "the template changes, its placement constraints do not"
_ROLLOUTS: dict[RolloutResult, tuple[str, str, tuple[str, str]]] = {
    "blocked": ("blocked", "never completes", ("never completes", "never complete")),
    "may-block": ("blocked", "may not complete", ("may not complete", "may not complete")),
    "unjudged": ("unjudged", "not evaluated", ("is not evaluated", "are not evaluated")),
    "completes": ("survives", "completes", ("completes", "complete")),
    "manual": ("dim", "no rollout", ("is not replaced by a controller", "are not replaced by a controller")),
}
"""The results of rollouts, worst first: the class of style, the words for people, and those in counts of one and of several."""


class SequenceLine(NamedTuple):
    """A line about an upgrade or a descheduler: ``state`` is a class of style, ``word`` names the effect, ``text`` the sentence."""

    state: str
    word: str
    text: str


class EventSequence(NamedTuple):
    """An upgrade, or what a descheduler does. ``name`` begins a sentence that ends with its ``result``, ``subject`` one with ``note``."""

    name: str
    title: str
    note: str
    state: str
    result: str
    lines: list[SequenceLine]
    events: Sequence[ClusterEvent] = ()
    subject: str = ""


class RolloutRow(NamedTuple):
    """A rollout: ``state`` is the class of style of its ``result``, ``lines`` what it does."""

    workload: str
    strategy: str
    state: str
    result: str
    lines: list[str]


def sequences(view: PlaceView) -> Iterator[EventSequence]:
    """Yield the upgrades, then what the deschedulers do. The lines of each begin with its result, and the worst comes first."""
    plan, names = view.plan, view.names
    for upgrade in plan.upgrades:
        nodes = pluralize(sum(len(pool.nodes) for pool in upgrade.pools), "node")
        what = upgrade.pools[0].pool if len(upgrade.pools) == 1 else pluralize(len(upgrade.pools), "pool")
        state = "survives" if upgrade.is_harmless else "degraded" if upgrade.completes else "blocked"
        result = "completes" if upgrade.completes else "never completes"
        name, note = f"Upgrade of {upgrade.what}:", "nodes are drained in order, and take pods again"
        yield EventSequence(name, f"{name} {what}, {nodes}", note, state, result, [*_upgrade(view, upgrade)], upgrade.events)
    for effect in plan.descheduling:
        state = "survives" if effect.is_harmless else "degraded" if effect.settled else "blocked"
        result = "settles" if effect.settled else "never settles"
        name, lines = f"Descheduler: {effect.policy}", [SequenceLine(state, result, _settling_words(effect)), *_descheduling(effect, names)]
        yield EventSequence(name, name, "runs until it evicts no pod", state, result, lines, subject="the descheduler ")


# Upgrades.


def _upgrade(view: PlaceView, upgrade: UpgradeEffect) -> Iterator[SequenceLine]:
    plan, names = view.plan, view.names
    for pool in upgrade.pools:
        yield from _pool_lines(pool, names, alone=len(upgrade.pools) == 1)
        yield from _further_lines(pool, view)
    ended = {each.workload for each in upgrade.replicas if each.fate == "gone" and upgrade.left.get(each.workload) == 0}
    yield from _outage_lines(upgrade.outages, names, ended)
    yield from _pending_lines(upgrade.replicas)
    if upgrade.unevaluated:
        yield SequenceLine("unjudged", "not evaluated", unevaluated_words(upgrade.unevaluated, upgrade.unjudged))
    for workload in plan.workloads:
        without_node = sum(each.node is None for each in workload.replicas)
        if workload.unjudged and without_node:
            text = f"{pluralize(without_node, 'replica')} of {names.get(workload.key, workload.key)}: {workload.unjudged}"
            yield SequenceLine("unjudged", "not evaluated", text)
    yield from _move_lines(upgrade.replicas)
    # Replicas that are alone are counted: where each of them ends is rarely of interest.
    moved = [change for change in upgrade.domains if sum(change.before.values()) == sum(change.after.values()) == 1]
    if len(moved) > _LISTED:
        listed = list_some([names.get(change.workload, change.workload) for change in moved], _LISTED)
        text = f"{len(moved)} workloads of one replica run in another {domain_noun(plan.group_by)}: {listed}"
        yield SequenceLine("", "in the end", text)
    changes = [change for change in upgrade.domains if len(moved) <= _LISTED or change not in moved]
    for change in sorted(changes, key=_gain)[:_LISTED]:
        text = f"{_domains(plan.group_by, change.before)} -> {_domains(plan.group_by, change.after)}"
        state = "degraded" if _gain(change)[0] < 0 else ""
        yield SequenceLine(state, "in the end", f"{names.get(change.workload, change.workload)}: {text}")
    if len(changes) > _LISTED:
        yield SequenceLine("", "in the end", f"{len(changes) - _LISTED} more workloads run in other places")


def _pool_lines(pool: PoolUpgrade, names: Mapping[str, str], *, alone: bool) -> Iterator[SequenceLine]:
    title = "" if alone else f"{pool.pool}: "
    how = f"{_pace(pool)}{f' ({pool.declared})' if pool.declared else ''}"
    if pool.completes:
        nodes = "" if alone else f"{pluralize(len(pool.nodes), 'node')}, "
        yield SequenceLine("survives", "completes", f"{title}{nodes}{how}")
        return
    if pool.held:
        yield SequenceLine("blocked", "stops" if pool.upgraded else "never starts", f"{title}{pool.held}")
        return
    stuck = list(dict.fromkeys(each.node for each in pool.blocked))
    done = f"{len(pool.upgraded)} of {pluralize(len(pool.nodes), 'node')} {'is' if len(pool.upgraded) == 1 else 'are'} upgraded"
    yield SequenceLine("blocked", "stops", f"{title}at {list_some(stuck, 3)}; {done}, {how}")
    for each in pool.blocked[:_LISTED]:
        name = f" of {names.get(each.workload, each.workload)}" if each.workload else ""
        yield SequenceLine("blocked", "blocked", f"{each.pod}{name} is not evicted from {each.node}: {reason_words(each.why)}")
    if len(pool.blocked) > _LISTED:
        yield SequenceLine("blocked", "blocked", f"{len(pool.blocked) - _LISTED} more pods")


def _further_lines(pool: PoolUpgrade, view: PlaceView) -> Iterator[SequenceLine]:
    """Yield what stops an upgrade after its first obstacle, by cause, and the nodes that nothing stops."""
    if pool.further:
        nodes = pluralize(len({each.node for each in pool.further}), "node")
        more = " more" if pool.blocked else ""
        text = f"{len(pool.further)}{more} {'pod' if len(pool.further) == 1 else 'pods'} on {nodes} would stop it"
        yield SequenceLine("blocked", "after that", f"{text} (each pod that stops it counts as taken away until its node is upgraded)")
        # The words are escaped by the report.
        plain = PlaceView(view.plan, str)
        for alike in similar_harms([DisruptionEffect("", (), (), {}, "drain", pool.further)], plain):
            yield SequenceLine("blocked", node_count(alike), alike_words(alike, plain).replace(GLUE, " "))
    if not pool.completes and pool.free:
        free = [view.nodes.get(node, node) for node in pool.free]
        yield SequenceLine("", "free", f"no pod stops it on {pluralize(len(free), 'node')}: {list_some(free, ALIKE)}")


def _pace(pool: PoolUpgrade) -> str:
    """Return ``one at a time``, ``2 at a time after 1 new node is created``."""
    pace = "one at a time" if pool.at_once == 1 else f"up to {pool.at_once} at a time"
    if pool.surge:
        return f"{pace}, after {pluralize(pool.surge, 'new node')} {'is' if pool.surge == 1 else 'are'} created"
    return f"{pace}, replaced by new nodes" if pool.replaces else pace


def _outage_lines(outages: Sequence[Outage], names: Mapping[str, str], ended: Container[str]) -> Iterator[SequenceLine]:
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
            what = "does not run again after"
        state, word = ("degraded", "degraded") if left else ("interrupted", "down")
        yield SequenceLine(state, word, f"{names.get(name, name)} {what} pods leave {when}")
    if len(listed) > _LISTED:
        yield SequenceLine("interrupted", "degraded", f"{len(listed) - _LISTED} more applications are degraded or interrupted for a time")


def _pending_lines(replicas: Sequence[UpgradedReplica]) -> Iterator[SequenceLine]:
    reasons = grouped(((replica.fate, replica.why), replica.pod) for replica in replicas if replica.target is None)
    for (fate, why), pods in list(reasons.items())[:_LISTED]:
        word = "stopped" if fate == "off" else "deleted" if fate == "gone" else "Pending"
        yield SequenceLine("degraded", word, f"{list_some(pods, 3)}{f': {reason_words(why)}' if why else ''}")
    if len(reasons) > _LISTED:
        yield SequenceLine("degraded", "Pending", f"and others, for {len(reasons) - _LISTED} more reasons")


def _move_lines(replicas: Sequence[UpgradedReplica]) -> Iterator[SequenceLine]:
    # A replica without a node in the end was not recreated after its last eviction.
    recreated = [each.evicted - (each.target is None) for each in replicas]
    for word, counts in (("recreated", recreated), ("live-migrated", [each.migrated for each in replicas])):
        often = Counter(count for count in counts if count > 0)
        if often:
            times = [f"{number} {_TIMES.get(count, f'{count} times')}" for count, number in sorted(often.items())]
            yield SequenceLine("", word, f"{pluralize(sum(often.values()), 'replica')}: {', '.join(times)}")
    most = sorted([each for each in replicas if each.evicted + each.migrated > 1], key=lambda each: -each.evicted - each.migrated)
    if most:
        listed = [f"{each.pod} {_TIMES.get(each.evicted + each.migrated, f'{each.evicted + each.migrated} times')}" for each in most]
        yield SequenceLine("", "most often", list_some(listed, 3))


def _domains(key: str, counts: Mapping[str, int]) -> str:
    """Return ``zone a: 1, zone b: 1``: how many replicas run in each domain."""
    return ", ".join(f"{domain_words(key, domain or None)}: {counts[domain]}" for domain in sorted(counts, key=natural)) or "nowhere"


def _gain(change: DomainChange) -> tuple[int, str]:
    """Return how many domains a workload gains, negative for a loss, as a sort key."""
    return len(change.after) - len(change.before), change.workload


# Deschedulers.


def _settling_words(effect: DescheduleEffect) -> str:
    number = len(effect.rounds)
    if effect.repeats is not None:
        length = number - effect.repeats
        repeated = "each run evicts" if length == 1 else f"every {length} runs evict"
        return f"{repeated} the same pods again, and then all pods run where they ran before"
    if not effect.settled:
        return f"it still evicts pods after {pluralize(number, 'run')}"
    return "it evicts no pod" if not number else f"after {pluralize(number, 'run')} it evicts no further pod"


def _descheduling(effect: DescheduleEffect, names: Mapping[str, str]) -> Iterator[SequenceLine]:
    """Yield the pods that a descheduler moves, by plugin, and those that do not run in the end."""
    rounds, loop = effect.rounds, effect.rounds[:0]
    if effect.repeats is not None:
        rounds, loop = rounds[: effect.repeats], rounds[effect.repeats :]
    yield from _plugin_lines("blocked", "again and again", [pod for evicted in loop for pod in evicted], names)
    yield from _plugin_lines("", "moves", [pod for evicted in rounds for pod in evicted], names)
    for result in ("in vain", "spared"):
        left = grouped((answer.why, answer.pod) for answer in effect.answers if answer.result == result)
        word = "tries in vain" if result == "in vain" else "spares"
        yield from (SequenceLine("degraded", word, f"{list_some(pods, 3)}: {reason_words(why)}") for why, pods in left.items())
    waiting = grouped((move.why, move.pod) for move in effect.moves if move.target is None)
    for why, pods in list(waiting.items())[:_LISTED]:
        yield SequenceLine("degraded", "does not run", f"{list_some(pods, 3)}{f': {reason_words(why)}' if why else ''}")
    yield from (SequenceLine("", "note", note) for note in effect.notes)


def _plugin_lines(state: str, word: str, pods: Sequence[DescheduledPod], names: Mapping[str, str]) -> Iterator[SequenceLine]:
    by_plugin: dict[str, dict[str, list[DescheduledPod]]] = {}
    for pod in pods:
        by_plugin.setdefault(pod.plugin, {}).setdefault(pod.workload, []).append(pod)
    for plugin, workloads in by_plugin.items():
        for workload, moved in list(workloads.items())[:_LISTED]:
            counts = Counter(f"{each.pod} {each.node} -> {each.target or 'Pending'}{' (live migration)' * each.migrated}" for each in moved)
            yield SequenceLine(state, word, f"{plugin}, {names.get(workload, workload)}: {list_some(list(counts), 3)}")
        if len(workloads) > _LISTED:
            yield SequenceLine(state, word, f"{plugin}: pods of {len(workloads) - _LISTED} more workloads")


# Rollouts.


def rollout_rows(view: PlaceView, *, verbose: bool) -> list[RolloutRow]:
    """Return the rollouts, worst first: those that do not complete, then those that may lose most domains."""
    noun, order = domain_noun(view.plan.group_by), list(_ROLLOUTS)
    rows = []
    for rollout in sorted(view.plan.rollouts, key=lambda each: (order.index(each.result), -_lost_domains(each))):
        state, result, _ = _ROLLOUTS[rollout.result]
        if _lost_domains(rollout) > 0:
            state, result = "degraded", f"may lose a {noun}" if rollout.result == "completes" else result
        elif rollout.result == "completes" and _worse_by_race(rollout):
            result = f"rarely loses a {noun}"
        lines = list(rollout_lines(rollout, noun, verbose=verbose))
        rows.append(RolloutRow(rollout.workload, rollout.strategy, state, result, lines))
    return rows


def rollout_tally(rollouts: Sequence[RolloutEffect], group_by: str) -> str:
    """Return how many rollouts complete, do not, and may lose domains: ``2 rollouts: 1 never completes, 1 may lose a zone``."""
    parts = []
    for result, (_, _, words) in _ROLLOUTS.items():
        found = [result == "completes" and _lost_domains(each) > 0 for each in rollouts if each.result == result]
        losing, number = found.count(True), found.count(False)
        if losing:
            parts.append(f"{losing} may lose a {domain_noun(group_by)}")
        if number:
            parts.append(f"{number} {words[number > 1]}")
    return f"{pluralize(len(rollouts), 'rollout')}: {', '.join(parts)}"


def _lost_domains(rollout: RolloutEffect) -> int:
    """Return in how many domains fewer than before all replicas may be after a rollout."""
    return max([len(rollout.before) - len(each) for each in rollout.outcomes], default=0)


def _worse_by_race(rollout: RolloutEffect) -> list[Mapping[str, int]]:
    """Return the outcomes of a race that are in fewer domains than all others, and than before."""
    return [each for each in rollout.rare if len(each) < min([len(rollout.before), *map(len, rollout.outcomes)])]


def rollout_lines(rollout: RolloutEffect, noun: str, *, verbose: bool = False) -> Iterator[str]:
    """Yield what a rollout does: where the replicas may be in the end and meanwhile, why it stops, and an example of its steps.

    ``noun`` is the noun for the topology domains.
    """
    if rollout.why:
        yield rollout.why
    if rollout.result in ("completes", "may-block"):
        yield _end_words(rollout, noun)
    if rollout.outcomes and rollout.fewest < min(len(rollout.before), min(map(len, rollout.outcomes))):
        yield f"meanwhile, all ready replicas may be {'on' if noun == 'node' else 'in'} {pluralize(rollout.fewest, noun)}"
    if rollout.outcomes and not rollout.least_ready:
        yield "meanwhile, no replica may be ready"
    if rollout.steps:
        yield f"for example: {_steps_words(rollout.steps, len(rollout.steps) if verbose else _MOST_STEPS)}"
    worse = _worse_by_race(rollout)
    if worse:
        yield f"rarely, if a new pod is scheduled before an old one is removed, the replicas end with {_alternatives(worse, noun)}"


def _end_words(rollout: RolloutEffect, noun: str) -> str:
    """Return where the replicas may be after a rollout."""
    where = "on" if noun == "node" else "in"
    orders = "" if _worse_by_race(rollout) else ", in every order" if rollout.exhaustive else ", in all orders that were tried"
    before = len(rollout.before)
    fewer = [each for each in rollout.outcomes if len(each) < before]
    if fewer:
        fewest = len(fewer[0])
        ends = _alternatives([each for each in fewer if len(each) == fewest], noun)
        return f"the replicas may end {where} {pluralize(fewest, noun)} instead of {before}: {ends}"
    skew = _skew(rollout.before, before)
    uneven = [each for each in rollout.outcomes if len(each) == before and _skew(each, before) > max(skew, 1)]
    if uneven:
        ends = _alternatives(uneven, noun)
        return f"the replicas stay {where} {pluralize(before, noun)}, but may be distributed unevenly: {ends}"
    fewest = min([len(each) for each in rollout.outcomes], default=before)
    more = " or more" if any(len(each) > fewest for each in rollout.outcomes) else ""
    return f"the replicas end {where} {pluralize(fewest, noun)}{more}{orders}"


def _alternatives(ends: Sequence[Mapping[str, int]], noun: str) -> str:
    """Return ``2 in a and 1 in b, or 3 in a``: how many replicas may be in each domain."""
    where = "on" if noun == "node" else "in"
    words = [join_words([f"{count} {where} {domain or f'no {noun}'}" for domain, count in each.items()]) for each in ends[:_MOST_OUTCOMES]]
    more = [f"{len(ends) - _MOST_OUTCOMES} other ways"] if len(ends) > _MOST_OUTCOMES else []
    return ", or ".join([*words, *more])


def _skew(domains: Mapping[str, int], number: int) -> int:
    return max(domains.values(), default=0) - (min(domains.values(), default=0) if len(domains) == number else 0)


def _steps_words(steps: Sequence[RolloutStep], limit: int) -> str:
    verbs = {"scheduled": "is scheduled on", "removed": "is removed from"}
    words = [f"{step.pod} {verbs[step.action]} {step.node}" if step.node else f"{step.pod} is removed" for step in steps]
    shown = words[:limit] + ([f"and {len(words) - limit} more steps"] if len(words) > limit else [])
    return ", ".join(shown)
