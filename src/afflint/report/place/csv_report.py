"""A simulation as CSV for a spreadsheet: a row for each pod that stops a drain or an upgrade, is harmed or is at risk."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from afflint.placement.plan import Blocked, Plan
from afflint.report.place.view import PlaceView, differs, pending
from afflint.report.place.words import VERDICT_WORDS, unjudged_words

_HEAD = ("scenario", "state", "workload", "pod", "node", "reason")
_NOW = "now"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet takes for a formula."""

Row = tuple[str, str, str, str, str, str]


def render(plan: Plan) -> Iterator[str]:
    """Yield the head, then a line for each row. No cell begins like a formula: such text gets an apostrophe in front."""
    view = PlaceView(plan, str)
    for row in (_HEAD, *_now(plan), *_losses(view), *_upgrades(plan)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow([f"'{cell}" if cell.startswith(_FORMULAS) else cell for cell in row])
        yield line.getvalue().encode("utf-8", "backslashreplace").decode()


def _now(plan: Plan) -> Iterator[Row]:
    for workload in plan.workloads:
        for why, replicas in pending(workload).items():
            yield from ((_NOW, "Pending", workload.key, replica.pod, "", why or workload.error or "") for replica in replicas)
        if workload.unjudged:
            yield _NOW, VERDICT_WORDS["unjudged"], workload.key, "", "", unjudged_words(workload)
    yield from ((_NOW, "violates rules", each.workload, each.pod, each.node, each.why) for each in plan.violations)
    if plan.now is None:
        return
    yield from _blocked(_NOW, plan.now.blocked)
    for each in plan.now.budgets:
        yield from ((_NOW, "no eviction allowed", each.name, pod, "", each.why) for pod in each.pods)
    for group in plan.now.concentrated:
        why = "another domain could take a replica" if group.movable else "no other domain can take a replica now"
        yield from ((_NOW, "in one place", key, "", f"{group.key}={group.domain}", why) for key in group.workloads)
    yield from ((_NOW, "in several places by chance", key, "", "", "nothing requires that") for key in plan.now.scattered)


def _blocked(scenario: str, found: Iterable[Blocked]) -> Iterator[Row]:
    for each in found:
        yield scenario, VERDICT_WORDS["refused" if each.refused else "blocked"], each.workload, each.pod, each.node, each.why


def _losses(view: PlaceView) -> Iterator[Row]:
    for loss in view.plan.losses:
        scenario = f"{loss.action} {loss.what}"
        yield from _blocked(scenario, loss.blocked)
        for after, found in ((scenario, loss), (f"{scenario}, then removed", differs(loss))):
            for effect in view.effects(found) if found is not None else ():
                for move in effect.moves:
                    if effect.outcome != "survives":
                        why = f"runs on {move.target}" if move.target else move.why
                        yield after, VERDICT_WORDS[effect.outcome], effect.workload, move.pod, move.source, why
        yield from ((scenario, VERDICT_WORDS["unjudged"], "", pod, "", "") for pod in loss.unevaluated)


def _upgrades(plan: Plan) -> Iterator[Row]:
    for upgrade in plan.upgrades:
        for pool in upgrade.pools:
            scenario = f"upgrade {pool.pool}"
            if pool.held:
                yield scenario, "stops", "", "", "", pool.held
            yield from _blocked(scenario, (*pool.blocked, *pool.further))
        for each in upgrade.replicas:
            if each.target is None:
                yield f"upgrade {upgrade.what}", "does not run", each.workload, each.pod, each.source, each.why
