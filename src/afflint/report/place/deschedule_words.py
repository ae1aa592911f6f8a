"""What a descheduler does, in words: whether it settles, which pods it moves and why, and which never come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from afflint.findings.phrases import pluralize
from afflint.placement.plan import DescheduledPod, DescheduleEffect, Plan
from afflint.report.place.digest import list_some, reason_words, short_names
from afflint.report.place.upgrade_words import UpgradeLine

_LISTED = 8


def deschedule_title(effect: DescheduleEffect) -> str:
    """Return ``Descheduler DeschedulerPolicy default``."""
    return f"Descheduler: {effect.policy}"


def deschedule_result(effect: DescheduleEffect) -> tuple[str, str]:
    """Return the class of style and the word for the result."""
    if effect.settled:
        return ("survives", "settles") if effect.is_harmless else ("degraded", "settles")
    return "blocked", "never settles"


def deschedule_lines(plan: Plan, effect: DescheduleEffect) -> Iterator[UpgradeLine]:
    """Yield the lines about a descheduler: its result, the pods that it moves by plugin, and those that do not run in the end."""
    names = short_names(plan.workloads)
    state, word = deschedule_result(effect)
    yield UpgradeLine(state, word, _result_words(effect))
    if effect.repeats is not None:
        loop = [pod for evicted in effect.rounds[effect.repeats :] for pod in evicted]
        yield from _plugin_lines("again and again", loop, names)
        rounds = effect.rounds[: effect.repeats]
    else:
        rounds = effect.rounds
    yield from _plugin_lines("moves", [pod for evicted in rounds for pod in evicted], names)
    waiting: dict[str, list[str]] = {}
    for move in effect.moves:
        if move.target is None:
            waiting.setdefault(move.why, []).append(move.pod)
    for why, pods in list(waiting.items())[:_LISTED]:
        yield UpgradeLine("degraded", "does not run", f"{list_some(pods, 3)}{f': {reason_words(why)}' if why else ''}")
    yield from (UpgradeLine("", "note", note) for note in effect.notes)


def _result_words(effect: DescheduleEffect) -> str:
    number = len(effect.rounds)
    if effect.repeats is not None:
        length = number - effect.repeats
        every = "each run" if length == 1 else f"{length} runs"
        return f"{every} {'evicts' if length == 1 else 'evict'} the same pods again, and after that all pods run where they ran before"
    if not effect.settled:
        return f"it still evicts pods after {pluralize(number, 'run')}"
    return "it evicts no pod" if not number else f"after {pluralize(number, 'run')} it evicts no further pod"


def _plugin_lines(word: str, pods: Sequence[DescheduledPod], names: Mapping[str, str]) -> Iterator[UpgradeLine]:
    by_plugin: dict[str, dict[str, list[DescheduledPod]]] = {}
    for pod in pods:
        by_plugin.setdefault(pod.plugin, {}).setdefault(pod.workload, []).append(pod)
    state = "blocked" if word == "again and again" else ""
    for plugin, workloads in by_plugin.items():
        for workload, moved in list(workloads.items())[:_LISTED]:
            counts = Counter(f"{each.pod} {each.node} -> {each.target or 'Pending'}{' (live migration)' * each.migrated}" for each in moved)
            yield UpgradeLine(state, word, f"{plugin}, {names.get(workload, workload)}: {list_some(list(counts), 3)}")
        if len(workloads) > _LISTED:
            yield UpgradeLine(state, word, f"{plugin}: pods of {len(workloads) - _LISTED} more workloads")
