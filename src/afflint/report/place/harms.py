"""What disruptions do to workloads and applications, in words, and the same harm of many disruptions said once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible
from afflint.placement.plan import VOLUMES_LEFT_OUT, DisruptionEffect, ReplicaMove, WorkloadPlan, unevaluated_words
from afflint.report.place.digest import (
    STATES,
    Effect,
    differs,
    effects,
    fate_words,
    gap_words,
    keeping_words,
    list_some,
    reason_words,
    running_words,
    stranded,
)

GLUE = "\0"
"""A space at which lines are not broken; `visible` text never contains this character."""
LISTED = 8
"""How many workloads or moves of one disruption are listed."""


class FailureContext(NamedTuple):
    """The workloads and their short names by key, how many moves of a disruption are listed, and short titles of disruptions."""

    workloads: Mapping[str, WorkloadPlan]
    names: Mapping[str, str]
    moves: int
    titles: Mapping[str, str]
    nodes: Mapping[str, str] = {}
    """Short names of nodes by name."""


def harm_words(effect: Effect, names: Mapping[str, str]) -> str:
    name = visible(names.get(effect.workload, effect.workload))
    if effect.outcome == "interrupted":
        parts = [f"{name} has no running replica for {gap_words(effect) or 'a time'}"]
    else:
        parts = [f"{name}: {running_words(effect)}"]
    for why, moves in stranded(effect).items():
        text = f"{list_some([visible(move.pod) for move in moves], 3)} {fate_words(moves)}"
        parts.append(f"{text} ({visible(reason_words(why))})" if why else text)
    volumes = [VOLUMES_LEFT_OUT] * (effect.volumes and any(move.target is not None for move in effect.moves))
    return "; ".join(parts + moves_words(effect.moves) + volumes)


def moves_words(moves: Iterable[ReplicaMove]) -> list[str]:
    """List the replicas that run on another node afterwards: those that are recreated, then those that are live-migrated."""
    words: dict[str, list[str]] = {"recreated": [], "live-migrated": []}
    for move in moves:
        if move.target is not None:
            kind = "live-migrated" if move.fate == "migrated" else "recreated"
            words[kind].append(f"{visible(move.pod)}{GLUE}->{GLUE}{visible(move.target)}")
    return [f"{kind}: {list_some(listed, LISTED)}" for kind, listed in words.items() if listed]


class Harm(NamedTuple):
    """What a disruption does to one workload or application, in words that are safe to print.

    ``what`` and ``where`` name the disruption; ``pattern`` is equal for harm that has the same reason.
    """

    what: str
    where: str
    state: str
    name: str
    text: str
    pattern: tuple[object, ...]


def similar_harms(losses: Iterable[DisruptionEffect], context: FailureContext) -> list[list[Harm]]:
    """Return the harm of disruptions by its reason: the worst first, then the most frequent."""
    alike: dict[tuple[object, ...], list[Harm]] = {}
    for loss in losses:
        for harm in _harms(loss, context):
            alike.setdefault((harm.state, *harm.pattern), []).append(harm)
    return sorted(alike.values(), key=lambda group: (STATES.index(group[0].state), -len(group)))


def _harms(loss: DisruptionEffect, context: FailureContext) -> Iterator[Harm]:
    node = loss.what.removeprefix("node ")
    where = visible(context.nodes.get(node) or context.titles[loss.what])
    for pod in loss.blocked:
        name = visible(context.names.get(pod.workload, pod.workload)) if pod.workload else ""
        of = f" of {name}" if name else ""
        text = f"{visible(pod.pod)}{of} is not evicted from {visible(pod.node)}: {visible(reason_words(pod.why))}"
        reason = (_pattern(pod.why, pod.workload, context),)
        yield Harm(
            loss.what,
            visible(context.nodes.get(pod.node, pod.node)),
            "refused" if pod.refused else "blocked",
            name or visible(pod.pod),
            text,
            reason,
        )
    removed = differs(loss)
    for state, name, text, pattern in _outcomes(loss, context):
        yield Harm(loss.what, where, state, name, text, pattern)
    for state, name, text, pattern in _outcomes(removed, context) if removed is not None else ():
        yield Harm(loss.what, where, state, name, f"after removal, {text}", ("removed", *pattern))


def _outcomes(loss: DisruptionEffect, context: FailureContext) -> Iterator[tuple[str, str, str, tuple[object, ...]]]:
    """Yield the state, the name, the words and the pattern of each application or workload that a disruption harms."""
    affected = effects(loss, context.workloads)
    members = {key for each in loss.applications for key in each.workloads}
    for application in loss.applications:
        if application.outcome != "survives":
            harmed = [effect for effect in affected if effect.workload in application.workloads]
            name, keeps = visible(application.application), keeping_words(application)
            details = "; ".join(harm_words(effect, context.names) for effect in harmed)
            patterns = frozenset(pattern for effect in harmed for pattern in _patterns(effect, context))
            yield application.outcome, name, f"{name} {keeps}: {details}" if details else f"{name} {keeps}", (keeps, patterns)
    for effect in affected:
        if effect.outcome != "survives" and effect.workload not in members:
            name = visible(context.names.get(effect.workload, effect.workload))
            running = "" if effect.outcome == "interrupted" else running_words(effect)
            yield effect.outcome, name, harm_words(effect, context.names), (running, _patterns(effect, context))
    if loss.unevaluated:
        yield "unjudged", visible(loss.unevaluated[0]), visible(unevaluated_words(loss.unevaluated, loss.unjudged)), ()


def _patterns(effect: Effect, context: FailureContext) -> frozenset[str]:
    return frozenset(_pattern(why, effect.workload, context) for why in stranded(effect))


_WORD = re.compile(r"[\w./-]+")


def _pattern(why: str, workload: str, context: FailureContext) -> str:
    """Return a reason without numbers and without the names in it, so that equal reasons of several workloads are equal."""
    own = context.workloads[workload].name if workload in context.workloads else workload

    def masked(word: re.Match[str]) -> str:
        text = word[0]
        return "*" if own in text or any(map(str.isdigit, text)) else text

    return _WORD.sub(masked, why) if own else why
