"""What disruptions do to workloads and applications as text for the terminal, and the same harm of many disruptions only once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, visible
from afflint.placement.plan import VOLUMES_LEFT_OUT, DisruptionEffect, ReplicaMove, unevaluated_words
from afflint.report.place.view import Effect, PlaceView, differs, is_machine
from afflint.report.place.words import STATES, fate_words, keeping_words, list_some, reason_words

GLUE = "\0"
"""A space at which lines are not broken; `visible` text never contains this character."""
LISTED = 8
"""How many workloads or moves of one disruption are listed."""
ALIKE = 12
"""How many equal cases are listed."""
_WHERE = 4
"""After how many disruptions each of equal cases is listed."""
_WORD = re.compile(r"[\w./-]+")


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


def harm_words(effect: Effect, view: PlaceView) -> str:
    """Return what a disruption does to a workload."""
    name = view.name(effect.workload)
    if effect.outcome == "interrupted":
        parts = [f"{name} has no running replica for {effect.gap_words or 'a time'}"]
    else:
        parts = [f"{name}: {effect.running_words}"]
    for why, moves in effect.stranded.items():
        parts.append(f"{list_some([visible(move.pod) for move in moves], 3)} {fate_words(moves)}{because(why)}")
    volumes = [VOLUMES_LEFT_OUT] * (effect.volumes and effect.has_new_nodes)
    return "; ".join(parts + moves_words(effect.moves) + volumes)


def because(why: str) -> str:
    """Return a reason in brackets; an empty text without one."""
    return f" ({visible(reason_words(why))})" if why else ""


def moves_words(moves: Iterable[ReplicaMove]) -> list[str]:
    """List the replicas that run on another node afterwards: those that are recreated, then those that are live-migrated."""
    words: dict[str, list[str]] = {"recreated": [], "live-migrated": []}
    for move in moves:
        if move.target is not None:
            kind = "live-migrated" if move.fate == "migrated" else "recreated"
            words[kind].append(f"{visible(move.pod)}{GLUE}->{GLUE}{visible(move.target)}")
    return [f"{kind}: {list_some(listed, LISTED)}" for kind, listed in words.items() if listed]


def similar_harms(losses: Iterable[DisruptionEffect], view: PlaceView) -> list[list[Harm]]:
    """Return the harm of disruptions by its reason: the worst first, then the most frequent."""
    alike = grouped(((harm.state, *harm.pattern), harm) for loss in losses for harm in _harms(loss, view))
    return sorted(alike.values(), key=lambda group: (STATES.index(group[0].state), -len(group)))


def _harms(loss: DisruptionEffect, view: PlaceView) -> Iterator[Harm]:
    node = loss.what.removeprefix("node ")
    where = visible(view.nodes.get(node) or view.titles.get(loss.what, loss.what))
    for pod in loss.blocked:
        name = view.name(pod.workload) if pod.workload else ""
        of = f" of {name}" if name else ""
        text = f"{visible(pod.pod)}{of} is not evicted from {visible(pod.node)}: {visible(reason_words(pod.why))}"
        state, reason = "refused" if pod.refused else "blocked", (_pattern(pod.why, pod.workload, view),)
        yield Harm(loss.what, visible(view.nodes.get(pod.node, pod.node)), state, name or visible(pod.pod), text, reason)
    removed = differs(loss)
    for state, name, text, pattern in _outcomes(loss, view):
        yield Harm(loss.what, where, state, name, text, pattern)
    for state, name, text, pattern in _outcomes(removed, view) if removed is not None else ():
        yield Harm(loss.what, where, state, name, f"after removal, {text}", ("removed", *pattern))


def _outcomes(loss: DisruptionEffect, view: PlaceView) -> Iterator[tuple[str, str, str, tuple[object, ...]]]:
    """Yield the state, the name, the words and the pattern of each application or workload that a disruption harms."""
    affected = view.effects(loss)
    members = {key for each in loss.applications for key in each.workloads}
    for application in loss.applications:
        if application.outcome != "survives":
            harmed = [effect for effect in affected if effect.workload in application.workloads]
            name, keeps = visible(application.application), keeping_words(application)
            details = "; ".join(harm_words(effect, view) for effect in harmed)
            patterns = frozenset(pattern for effect in harmed for pattern in _patterns(effect, view))
            yield application.outcome, name, f"{name} {keeps}: {details}" if details else f"{name} {keeps}", (keeps, patterns)
    for effect in affected:
        if effect.outcome != "survives" and effect.workload not in members:
            running = "" if effect.outcome == "interrupted" else effect.running_words
            yield effect.outcome, view.name(effect.workload), harm_words(effect, view), (running, _patterns(effect, view))
    if loss.unevaluated:
        yield "unjudged", visible(loss.unevaluated[0]), visible(unevaluated_words(loss.unevaluated, loss.unjudged)), ()
    elif not loss.evaluates:
        yield "unjudged", "", "no workload is evaluated", ()


def _patterns(effect: Effect, view: PlaceView) -> frozenset[str]:
    return frozenset(_pattern(why, effect.workload, view) for why in effect.stranded)


def _pattern(why: str, workload: str, view: PlaceView) -> str:
    """Return a reason without numbers and without the names in it, so that equal reasons of several workloads are equal."""
    own = view.workloads[workload].name if workload in view.workloads else workload

    def masked(word: re.Match[str]) -> str:
        text = word[0]
        return "*" if own in text or any(map(str.isdigit, text)) else text

    return _WORD.sub(masked, why) if own else why


def alike_words(alike: Sequence[Harm], view: PlaceView) -> str:
    """Name what is harmed for one reason, each with where if that differs, and describe the first in full."""
    where = grouped((harm.name, harm.where) for harm in alike)
    if len(alike) == 1:
        return alike[0].text
    differ = len({harm.where for harm in alike}) > 1
    names = [f"{name}{GLUE}({list_some(nodes, _WHERE)})" if differ else name for name, nodes in where.items()]
    if alike[0].state in ("blocked", "refused"):
        count = f"{len(alike)} pods are not evicted: "
    else:
        machines = {view.name(each.key) for each in view.plan.workloads if is_machine(each)}
        noun = "VM" if machines.issuperset(where) else "application" if view.plan.applications else "workload"
        count = f"{pluralize(len(names), noun)}: " if len(names) > 1 else ""
    return f"{count}{list_some(names, ALIKE)}; for example, {alike[0].text}"


def node_count(alike: Sequence[Harm]) -> str:
    """Return ``3 nodes``, or the name of the only one."""
    nodes = list(dict.fromkeys(harm.where for harm in alike))
    return f"node {nodes[0]}" if len(nodes) == 1 else f"{len(nodes)} nodes"
