"""What an administrator of a running cluster acts on, in words: one sentence, what is at risk now, and what stops drains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import HOSTNAME, domain_noun
from afflint.placement.plan import Blocked, Concentration, DisruptionEffect
from afflint.report.place.harms import Harm, similar_harms
from afflint.report.place.view import PlaceView, pending
from afflint.report.place.words import list_some

_NAMES = 12
"""How many applications or budgets of a kind are named."""


class Risk(NamedTuple):
    """What several applications or budgets have in common: ``title`` counts them, ``text`` names them; both are escaped."""

    title: str
    text: str


def headline(view: PlaceView) -> str:
    """Return the sentence that a report on a running cluster begins with; empty without running pods."""
    plan, now = view.plan, view.plan.now
    if now is None:
        return ""
    waiting = sum(len(replicas) for workload in plan.workloads for replicas in pending(workload).values())
    parts = [f"{pluralize(waiting, 'replica')} {'stays' if waiting == 1 else 'stay'} Pending"] if waiting else []
    if now.blocked:
        parts.append(stopping_words(view, now.blocked))
    if number := len(plan.violations):
        parts.append(f"{pluralize(number, 'running pod')} {'violates' if number == 1 else 'violate'} placement rules")
    parts += [_in_one_words(key, found) for key, found in _by_key(now.concentrated).items()]
    if parts:
        return f"{join_words(parts)}."
    which = "selected" if plan.left_out is not None else "evaluated" if any(each.unjudged for each in plan.workloads) else ""
    fine = "can leave its node and violates no placement rule, and no application with several replicas is in one place only"
    return f"Each running pod of the {which}{' ' * bool(which)}workloads {fine}."


def stopping_words(view: PlaceView, found: Sequence[Blocked]) -> str:
    """Return ``12 pods keep 3 of 27 nodes from being drained``."""
    pods, nodes = {(each.pod, each.node) for each in found}, {each.node for each in found}
    keep = "keeps" if len(pods) == 1 else "keep"
    return f"{pluralize(len(pods), 'pod')} {keep} {len(nodes)} of {pluralize(len(view.plan.nodes), 'node')} from being drained"


def _by_key(found: Sequence[Concentration]) -> dict[str, list[Concentration]]:
    return grouped((each.key, each) for each in sorted(found, key=lambda each: each.key != HOSTNAME))


def _in_one_words(key: str, found: Sequence[Concentration]) -> str:
    """Return ``3 applications run in one zone``."""
    noun = "application" if any(len(each.workloads) > 1 for each in found) else "workload"
    where = "on one node" if key == HOSTNAME else f"in one {domain_noun(key)}"
    return f"{pluralize(len(found), noun)} {'runs' if len(found) == 1 else 'run'} {where}"


def risks(view: PlaceView) -> Iterator[Risk]:
    """Yield the applications in one place and the budgets that allow nothing: what is at risk now, besides running pods."""
    now = view.plan.now
    if now is None:
        return
    for key, found in _by_key(now.concentrated).items():
        noun = view.escape(domain_noun(key))
        for movable in (True, False):
            why = f"nothing requires that: another {noun} could take a replica" if movable else f"no other {noun} can take a replica now"
            chosen = [each for each in found if each.movable == movable]
            if chosen:
                where = [view.escape(view.nodes.get(each.domain, each.domain)) for each in chosen]
                names = [f"{view.name(each.name)} ({each.replicas} in {domain})" for each, domain in zip(chosen, where, strict=True)]
                yield Risk(view.escape(_in_one_words(key, chosen)), f"{why}: {list_some(names, _NAMES)}")
    if number := len(now.scattered):
        noun = view.escape(domain_noun(view.plan.group_by))
        title = f"{pluralize(number, 'workload')} {'runs' if number == 1 else 'run'} in several {noun}s by chance"
        yield Risk(title, f"nothing requires that: {list_some([view.name(key) for key in now.scattered], _NAMES)}")
    if number := len(now.budgets):
        title = f"{pluralize(number, 'PodDisruptionBudget')} {'allows' if number == 1 else 'allow'} no eviction now"
        yield Risk(title, list_some([view.escape(each.name) for each in now.budgets], _NAMES))


def stopping(view: PlaceView, *, drained: bool = True) -> tuple[list[Blocked], list[list[Harm]]]:
    """Return the pods that keep nodes from being drained, and the same by cause; without ``drained``, only nodes that no drain covers."""
    covered = set() if drained else {node for loss in view.plan.losses for node in loss.drained}
    found = [each for each in view.plan.now.blocked if each.node not in covered] if view.plan.now is not None else []
    return found, similar_harms([DisruptionEffect("", (), (), {}, "drain", tuple(found))], view) if found else []
