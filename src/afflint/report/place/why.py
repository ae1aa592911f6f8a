"""The answer of `afflint why` as text for the terminal, and as JSON, described by schemas/why.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from afflint.findings.phrases import pluralize, visible
from afflint.kube.kinds import is_single_machine
from afflint.placement.explanation import FailureEffect, Reason
from afflint.placement.migrations import MigrationAnswer, MigrationChange, RequestedTarget
from afflint.placement.plan import Application
from afflint.placement.remedies import Remedies, Remedy
from afflint.placement.why import Explanation
from afflint.report.phrases import painter
from afflint.report.place.table import wrapped
from afflint.report.place.words import list_some, reason_words

_NODES, _PODS, _REMEDIES, _FAILURES = 4, 4, 8, 12


def render(explanation: Explanation, *, color: bool, width: int) -> Iterator[str]:
    """Yield the text in lines, ``width`` columns wide where the names allow it."""
    paint = painter(color)
    yield from (f"{each}\n\n" for each in explanation.also_read)
    for number, (title, lines) in enumerate(_sections(explanation)):
        if number:
            yield "\n"
        style = "strong" if number else "survives" if explanation.is_fine else "bad"
        yield from (paint(style, each) + "\n" for each in wrapped("", visible(title), width))
        for lead, line in lines:
            yield from (f"{each}\n" for each in wrapped(f"  {lead}", visible(line), width))
    for number, note in enumerate(explanation.notes):
        if not number:
            yield "\n"
        yield from (f"{each}\n" for each in wrapped("note: ", visible(note), width))


def _sections(explanation: Explanation) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each title with its lines: the beginning of a line, below which its other lines are indented, and its text."""
    yield headline(explanation), []
    if not explanation.runs or explanation.workload.unjudged:
        why = [explanation.why] if explanation.why else []
        yield _why_title(explanation), _plain([*why, *[rejection_words(each) for each in explanation.reasons]])
    if explanation.without_pod:
        yield "Nodes without a pod", _plain(map(rejection_words, explanation.without_pod))
    if explanation.runs and explanation.replicas:
        if explanation.needs:
            yield "It needs", _plain(explanation.needs)
        if explanation.migration is not None:
            yield from _migration(explanation.migration)
        yield from _failures(explanation)
    helps = not (explanation.survives or explanation.workload.unjudged or is_single_machine(explanation.workload.kind))
    if explanation.replicas and (helps or not (explanation.runs or explanation.workload.unjudged)):
        yield "What would help", list(remedy_lines(explanation))


def _migration(migration: MigrationAnswer) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield where a VM may migrate, or why it cannot and what would let it."""
    requested = migration.requested
    if requested is not None:
        where = f"{pluralize(len(requested.targets), 'node')}: {list_some(requested.targets, _FAILURES)}"
        whys = [where] if requested.targets else list(map(rejection_words, requested.reasons))
        yield f"VirtualMachineInstanceMigration {requested.name}: {requested.words}", _plain(whys)
    if migration.possible:
        where = f"{pluralize(len(migration.targets), 'node')}: {list_some(migration.targets, _FAILURES)}"
        yield f"{migration.pod} on {migration.node} may migrate to", _plain([where, migration.drain])
        return
    whys = [migration.obstacle] if migration.obstacle else [*map(rejection_words, migration.reasons), *filter(None, [migration.advice])]
    yield f"Why {migration.pod} on {migration.node} cannot migrate", _plain([*whys, migration.drain])
    changes = [(f"{number}. ", migration_change_words(each)) for number, each in enumerate(migration.changes[:_REMEDIES], 1)]
    yield "What would let it migrate", changes or _plain(["afflint finds no single change"])


def migration_change_words(change: MigrationChange) -> str:
    """Return a change and where a VM may migrate with it: ``tolerate the taint `gpu:NoSchedule`: to w1 and w2``."""
    to = f": to {list_some(change.nodes, _NODES)}" if change.nodes else ""
    return f"{change.text}{to}{', after a restart' if change.restarts else ''}"


def _plain(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [("", line) for line in lines]


def headline(explanation: Explanation) -> str:
    """Return ``Deployment shop/web (web.yaml:3): 2 of 3 replicas run.``, and where the pod runs that was asked for."""
    workload = explanation.workload
    place = f" ({workload.file}:{workload.line})" if workload.file else ""
    pods = "pods" if workload.kind == "DaemonSet" else "replicas"
    running = explanation.running - len(explanation.starting)
    if explanation.replicas == 0:
        return f"{workload.key}{place} requests no pods."
    if explanation.replicas == 1:
        counted = f"its pod {'runs' if running else 'is not evaluated' if workload.unjudged else 'does not run'}"
        if explanation.migration is not None:
            counted += f" and {'may' if explanation.migration.possible else 'cannot'} migrate"
    else:
        run = "runs" if running == 1 else "run"
        counted = f"{running} of {explanation.replicas} {pods} {run}"
        if workload.unjudged and explanation.pending:
            counted += f", {len(explanation.pending)} {'is' if len(explanation.pending) == 1 else 'are'} not evaluated"
    if explanation.starting:
        where = f"can be scheduled on {list_some(list(dict.fromkeys(node for _, node in explanation.starting)), _NODES)}"
        counted += f" yet, and {where}" if explanation.replicas == 1 else f", {len(explanation.starting)} more {where}"
    asked = ""
    if explanation.node and not any(pod == explanation.pod for pod, _ in explanation.starting):
        asked = f" {explanation.pod} runs on {explanation.node}."
    elif explanation.pod:
        asked = f" {explanation.pod} is one of its pods."
    return f"{workload.key}{place}: {counted}.{asked}"


def _why_title(explanation: Explanation) -> str:
    if explanation.workload.unjudged:
        return "Why it is not evaluated"
    if not explanation.running and not explanation.pod:
        return "Why it does not run" if explanation.replicas == 1 else "Why they do not run"
    pending = list_some(explanation.pending, _PODS)
    return f"Why {pending} {'does' if len(explanation.pending) == 1 else 'do'} not run" if pending else "Why"


def rejection_words(reason: Reason) -> str:
    """Return ``2 nodes lack disk=ssd: worker-1, worker-2``."""
    noun = "control plane" if reason.control_planes else "node"
    words = f"{pluralize(len(reason.nodes), noun)} {reason.text}: {list_some(reason.nodes, _NODES)}"
    if not reason.example:
        return words
    return f"{words} ({reason.example})" if len(reason.nodes) == 1 else f"{words} ({reason.nodes[0]}: {reason.example})"


def _failures(explanation: Explanation) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    effects, notes = explanation.failures.effects, _plain(explanation.failures.notes)
    application = explanation.application
    if application is not None:
        lost = [_failure(each, len(application.workloads)) for each in effects if each.left < len(application.workloads)]
        more = [f"and {len(lost) - _FAILURES} more"] if len(lost) > _FAILURES else []
        selected = f"{len(application.workloads)} workloads, by {application.selected_by}"
        yield f"Its application {application.name} ({selected}) after the failure of", _plain([*lost[:_FAILURES], *more])
        return
    bad = [each for each in effects if not each.survived]
    if bad:
        lines = [_failure(each, explanation.replicas) for each in bad[:_FAILURES]]
        more = [f"and {len(bad) - _FAILURES} more"] if len(bad) > _FAILURES else []
        yield "It does not survive the failure of", _plain([*lines, *more])
    good = [f"{each.what} (after an interruption)" if each.outcome == "interrupted" else each.what for each in effects if each.survived]
    if good:
        every = "" if bad else "each "
        yield f"It survives {every or 'the '}{'single ' if every else ''}failure of", _plain([list_some(good, _FAILURES)])
    if notes:
        yield "Not simulated", notes


def _failure(effect: FailureEffect, replicas: int) -> str:
    left = "no replica runs" if not effect.left else f"{effect.left} of {replicas} replicas {'runs' if effect.left == 1 else 'run'}"
    if effect.passing:
        return f"{effect.what}: {left} until it recovers or is removed"
    return f"{effect.what}: {left}" + (f" ({reason_words(effect.why)})" if effect.why else "")


def remedy_lines(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Yield the changes that help, each with its number, and how far the search went."""
    remedies = explanation.remedies
    first = remedies.found[0] if remedies.found else None
    if first is not None and not first.solves:
        yield "", "no single change is enough; these help:"
    elif remedies.found and all(len(each.changes) > 1 for each in remedies.found):
        yield "", "no single change is enough; two together are:"
    for number, each in enumerate(remedies.found[:_REMEDIES], 1):
        yield f"{number}. ", remedy_words(each, remedies.found[0].orders, failing=explanation.runs)
    if len(remedies.found) > _REMEDIES:
        yield "", f"and {len(remedies.found) - _REMEDIES} more"
    if remedies.found:
        orders = remedies.found[0].orders
        yield "", f"tried in {pluralize(orders, 'order')} of scheduling{'' if orders > 1 else ' only'}"
    yield from _plain(_end(explanation, remedies))


def _end(explanation: Explanation, remedies: Remedies) -> Iterator[str]:
    if remedies.cut:
        yield f"the search stopped after {remedies.tried} of {remedies.possible} changes"
    elif remedies.found:
        return
    elif explanation.runs and all(each.survived or each.passing for each in explanation.failures.effects):
        yield "the recovery or the removal of the failed nodes: its controller replaces no pod before that"
    elif remedies.tried:
        yield "no single change helps" + (", and no pair of changes" if remedies.pairs else "")
    else:
        yield "afflint finds no change to try"


def remedy_words(remedy: Remedy, orders: int = 1, *, failing: bool = False) -> str:
    """Return a remedy with what a plan shows about it: ``tolerate the taint `gpu:NoSchedule`: all 3 replicas run``.

    ``orders`` is the number of orders in which other remedies were tried. With ``failing`` the replicas run without it, and it is about
    failures.
    """
    effects = _survival(remedy) if failing else [_running(remedy)]
    worse = [
        f"{pluralize(number, 'pod')} of {key} {'stays' if number == 1 else 'stay'} Pending instead" for key, number in remedy.makes_pending
    ]
    if remedy.helped < remedy.orders or remedy.orders < orders:
        effects = [f"{effects[0]} in {remedy.helped} of {pluralize(remedy.orders, 'order')} of scheduling", *effects[1:]]
    return f"{' and '.join([change.text for change in remedy.changes])}: {', but '.join([*effects, *worse])}"


def _running(remedy: Remedy) -> str:
    if remedy.running < remedy.replicas:
        return f"{remedy.running} of {remedy.replicas} replicas run"
    return {1: "its pod runs", 2: "both replicas run"}.get(remedy.replicas, f"all {remedy.replicas} replicas run")


def _survival(remedy: Remedy) -> Sequence[str]:
    if remedy.running < remedy.replicas:
        return [_running(remedy)]
    lost = [f"not {list_some([each.what for each in remedy.lost], _NODES)}"] if remedy.lost else []
    passing = [f"after {list_some(remedy.passing, _NODES)} only when the nodes recover or are removed"] if remedy.passing else []
    return ["it survives more failures" if lost else "it survives each failure", *lost, *passing]


# JSON.


def render_json(explanation: Explanation) -> Iterator[str]:
    """Yield one JSON object, ASCII only."""
    yield json.dumps(plain(explanation), indent=2) + "\n"


def plain(explanation: Explanation) -> dict[str, Any]:
    """Return the answer as plain data."""
    workload, remedies = explanation.workload, explanation.remedies
    return {
        "version": 1,
        "workload": {name: getattr(workload, name) for name in ("key", "kind", "namespace", "name", "file", "line")},
        "pod": explanation.pod or None,
        "node": explanation.node or None,
        "replicas": explanation.replicas,
        "running": explanation.running,
        "starting": [{"pod": pod, "node": node} for pod, node in explanation.starting],
        "runs": explanation.runs,
        "survives": explanation.survives,
        "pending": explanation.pending,
        "why": explanation.why or None,
        "reasons": [_plain_reason(each) for each in explanation.reasons],
        "nodesWithoutPod": [_plain_reason(each) for each in explanation.without_pod],
        "needs": explanation.needs,
        "migration": explanation.migration and _plain_migration(explanation.migration),
        "application": explanation.application and _plain_application(explanation.application),
        "failures": [{**each._asdict(), "why": each.why or None} for each in explanation.failures.effects],
        "remedies": [_plain_remedy(each) for each in remedies.found],
        "search": {"tried": remedies.tried, "possible": remedies.possible},
        "notes": (*explanation.also_read, *explanation.failures.notes, *explanation.notes),
        "coverage": explanation.coverage.plain(),
    }


def _plain_reason(reason: Reason) -> dict[str, Any]:
    return {"text": reason.text, "nodes": reason.nodes, "controlPlanes": reason.control_planes, "example": reason.example or None}


def _plain_migration(migration: MigrationAnswer) -> dict[str, Any]:
    return {
        **migration._asdict(),
        "possible": migration.possible,
        "obstacle": migration.obstacle or None,
        "advice": migration.advice or None,
        "reasons": list(map(_plain_reason, migration.reasons)),
        "requested": migration.requested and _plain_requested(migration.requested),
        "changes": [
            {"text": each.text, "changes": "nodes" if each.on_nodes else "manifest", "nodes": each.nodes, "restarts": each.restarts}
            for each in migration.changes
        ],
    }


def _plain_requested(requested: RequestedTarget) -> dict[str, Any]:
    return {**requested._asdict(), "pod": requested.pod or None, "reasons": list(map(_plain_reason, requested.reasons))}


def _plain_application(application: Application) -> dict[str, Any]:
    return {"name": application.name, "selectedBy": application.selected_by, "workloads": application.workloads}


def _plain_remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "changes": [
            {"text": each.text, "changes": "manifest" if each.of_manifest else "pods" if each.deleted else "nodes"}
            for each in remedy.changes
        ],
        "solves": remedy.solves,
        "orders": {"tried": remedy.orders, "helped": remedy.helped},
        "running": remedy.running,
        "replicas": remedy.replicas,
        "notSurvived": [each.what for each in remedy.lost],
        "untilRecovery": remedy.passing,
        "makesPending": [{"workload": key, "pods": number} for key, number in remedy.makes_pending],
    }
