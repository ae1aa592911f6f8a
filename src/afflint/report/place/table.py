"""A simulation as text for the terminal: the nodes, a table per workload, and the effect of each disruption.

No box drawing characters, and colours only repeat what the words say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, visible
from afflint.kube.node_labels import name_of_key
from afflint.placement.plan import (
    ApplicationEffect,
    ClusterEvent,
    DescheduleEffect,
    DisruptionEffect,
    NodeRow,
    Plan,
    UpgradeEffect,
    WorkloadPlan,
    unevaluated_words,
)
from afflint.report.place.deschedule_words import deschedule_lines, deschedule_result, deschedule_title
from afflint.report.place.digest import (
    ACTION_NOTES,
    NOUNS,
    OUTCOMES,
    VERDICT_WORDS,
    Effect,
    NodeGroup,
    Rack,
    attaching,
    by_action,
    differs,
    domain_words,
    effects,
    feasible_count,
    groups,
    is_harmless,
    is_in_trouble,
    keeping_words,
    list_some,
    marks,
    parts_words,
    pending,
    pool_size,
    preempted_count,
    preempted_words,
    preferences_words,
    racks,
    ranked,
    reason_words,
    replicas_by_node,
    running_words,
    scheduled_words,
    shared_reason,
    short_names,
    short_titles,
    tally,
    tally_words,
    unjudged_words,
    violation_words,
    weights_words,
    why_words,
    worst,
)
from afflint.report.place.harms import GLUE, LISTED, FailureContext, harm_words, moves_words, similar_harms
from afflint.report.place.names import common_suffix
from afflint.report.place.upgrade_words import UPGRADE_NOTE, upgrade_lines, upgrade_title

_NODES_SHOWN = 16
"""Up to this many nodes get a row each."""
_DOMAINS_SHOWN = 12
"""With more domains than this, equal nodes share a row across domains."""
_WORKLOADS_SHOWN = 20
"""With more workloads than this, those that are completely scheduled get a line instead of a table."""
_LOSSES_SHOWN = 12
"""With more disruptions than this, those that every workload survives share one line."""
_NAMES = 24
"""Two node names that together take more columns than this are shown as a count."""
_PODS_SHOWN = 20
"""How many pods that violate rules, or are preempted, are listed."""
_RESULTS_SHOWN = 8
"""With more blocked pods and harmed workloads of one disruption than this, those with the same reason share a row."""
_HARMS_SHOWN = 40
"""How many groups of equal harm are listed."""
_ALIKE = 12
"""How many equal cases are listed."""
_NARROWEST = 24
"""The last column of a table is never wrapped to less than this."""
_NARROW = 12
"""No other column is wrapped to less than this."""

_STYLES = {
    "dead": "1;31",
    "degraded": "1;33",
    "blocked": "1;33",
    "refused": "1;33",
    "interrupted": "33",
    "unjudged": "33",
    "survives": "32",
    "no": "2",
    "strong": "1",
    "dim": "2",
}


class Cell(NamedTuple):
    """Text that is safe to print, and its style if it has one."""

    text: str
    style: str = ""


Paint = Callable[[Cell], str]
Row = tuple[Cell, ...]


def render(plan: Plan, *, color: bool, width: int, verbose: bool = False, summary: bool = False) -> Iterator[str]:
    """Yield the text in chunks, ``width`` columns wide where the names allow it.

    With ``verbose``, show the parts of each score and the events of disruptions; with ``summary``, only the notes and the counts.
    """
    paint = _ansi if color else _plain
    if summary:
        yield "".join(f"{line.rstrip()}\n" for line in _summary(plan, paint, width))
        return
    gap = ""
    for block in _blocks(plan, paint, width, verbose=verbose):
        yield gap + "".join(f"{line.rstrip()}\n" for line in block)
        gap = "\n"


def _plain(cell: Cell) -> str:
    return cell.text


def _ansi(cell: Cell) -> str:
    return f"\x1b[{_STYLES[cell.style]}m{cell.text}\x1b[0m" if cell.text and cell.style else cell.text


def _blocks(plan: Plan, paint: Paint, width: int, *, verbose: bool) -> Iterator[Iterable[str]]:
    yield _inventory(plan, paint, width)
    if plan.pools:
        yield _pools(plan, paint, width)
    known = racks(plan)
    brief = []
    for workload in plan.workloads:
        if len(plan.workloads) > _WORKLOADS_SHOWN and not is_in_trouble(workload):
            brief.append(workload)
        else:
            yield _workload(workload, plan, known, paint, width, verbose=verbose)
    if brief:
        yield _briefly(brief, len(plan.nodes), paint, width)
    if plan.violations:
        yield _violations(plan, paint, width)
    if plan.preempted:
        yield _preempted(plan, paint, width)
    for losses in by_action(plan.losses).values():
        yield _losses(plan, losses, paint, width, verbose=verbose)
    for upgrade in plan.upgrades:
        yield _upgrade(plan, upgrade, paint, width, verbose=verbose)
    for effect in plan.descheduling:
        yield _descheduler(plan, effect, paint, width)
    if plan.rollouts:
        yield _rollouts(plan, paint, width, verbose=verbose)
    yield _summary(plan, paint, width)


def _inventory(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    """List the nodes by topology domain, with their taints and cordons."""
    yield paint(Cell(f"{pluralize(len(plan.nodes), 'node')} by {visible(name_of_key(plan.group_by))}", "strong"))
    known = racks(plan)
    rows: list[Row] = []
    if len(known) > _DOMAINS_SHOWN:
        rows = _inventory_rows(f"{len(known)} domains", [node for rack in known for node in rack.nodes], fold=True)
    else:
        for rack in known:
            title = visible(domain_words(plan.group_by, rack.domain))
            rows += _inventory_rows(title, rack.nodes, fold=len(plan.nodes) > _NODES_SHOWN)
    yield from _table(rows, paint, width)


def _pools(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    """List the node pools: how many nodes each has here, and its size."""
    yield paint(Cell(pluralize(len(plan.pools), "pool"), "strong"))
    rows: list[Row] = [tuple(Cell(text, "dim") for text in ("", "POOL", "NODES", "SIZE", "TAINTS"))]
    for pool in plan.pools:
        texts = (pool.title, str(pool.nodes), pool_size(pool), ", ".join(pool.taints))
        rows.append((Cell(""), *[Cell(visible(text)) for text in texts]))
    yield from _table(rows, paint, width)


def _inventory_rows(title: str, nodes: Sequence[NodeRow], *, fold: bool) -> list[Row]:
    """Return a row per node; with ``fold``, one row for all nodes with the same marks, unmarked nodes first."""
    alike: dict[object, list[NodeRow]] = {}
    for node in nodes:
        alike.setdefault(tuple(marks(node)) if fold else node.name, []).append(node)
    members = sorted(alike.values(), key=lambda group: bool(marks(group[0]))) if fold else alike.values()
    cells = [(Cell(_nodes_words(group, "")), Cell(visible(", ".join(marks(group[0]))))) for group in members]
    return [(Cell("" if number else title, "strong"), *row) for number, row in enumerate(cells)]


def _nodes_words(nodes: Sequence[NodeRow], tags: str) -> str:
    """Name the nodes if they are few and their names short, count them otherwise; then append ``tags``."""
    names = ", ".join(visible(node.name) for node in nodes)
    return (names if len(nodes) == 1 or (len(nodes) == 2 and columns(names) <= _NAMES) else f"{len(nodes)} nodes") + tags


def _workload(workload: WorkloadPlan, plan: Plan, known: Sequence[Rack], paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """Describe a workload: how many replicas are scheduled, why the others stay Pending, then a row per node."""
    place = f" ({visible(workload.file)}:{workload.line})" if workload.file else ""
    yield paint(Cell(visible(workload.key), "strong")) + place
    yield from _verdict(workload, paint, width)
    for note in (*workload.notes, *preferences_words(workload, len(plan.nodes), verbose=verbose)):
        yield from wrapped("note: ", visible(note), width)
    if not workload.verdicts:
        return
    fold = len(plan.nodes) > _NODES_SHOWN
    if len(known) > _DOMAINS_SHOWN:
        known = [Rack("", tuple(node for rack in known for node in rack.nodes))]
    verdicts = {verdict.node: verdict for verdict in workload.verdicts}
    pods = replicas_by_node(workload)
    reason = "SCORE PARTS, OR REASON" if verbose else "REASON"
    weighed = any(verdict.weights is not None for verdict in verdicts.values())
    heads = ("", "NODE", "FITS", "WEIGHTS" if weighed else "", "SCORE", "REPLICAS", reason)
    rows = [tuple(Cell(text, "dim") for text in heads)]
    for rack in known:
        title = visible(domain_words(plan.group_by, rack.domain)) if rack.domain != "" or len(known) > 1 else ""
        for group in groups(rack, verdicts, pods, fold=fold):
            rows.append((Cell(title, "strong"), *_group(group, verbose=verbose)))
            title = ""
    yield from _table(rows, paint, width, right=(3, 4))


def _verdict(workload: WorkloadPlan, paint: Paint, width: int) -> Iterator[str]:
    if workload.error is not None:
        yield paint(Cell("pods cannot be scheduled", "dead"))
        yield from wrapped("  ", visible(workload.error), width)
    if workload.unjudged:
        yield paint(Cell(scheduled_words(workload), "unjudged"))
        yield from wrapped("  ", visible(unjudged_words(workload)), width)
        return
    yield paint(Cell(scheduled_words(workload), "dead" if is_in_trouble(workload) else "survives"))
    for why, replicas in pending(workload).items():
        names = list_some([visible(replica.pod) for replica in replicas], 3)
        text = f"{names} {'stays' if len(replicas) == 1 else 'stay'} Pending"
        yield from wrapped("  ", f"{text}: {visible(reason_words(why))}" if why else text, width)
    for replica in attaching(workload):
        yield from wrapped("  ", f"{visible(replica.pod)} does not run: {visible(replica.why)}", width)


def _group(group: NodeGroup, *, verbose: bool) -> Row:
    """Return the columns from NODE to REASON."""
    verdict = group.verdict
    name = Cell(_nodes_words(group.nodes, _tags(group)))
    pods = Cell(list_some([visible(pod) for pod in group.pods], 3), "strong")
    if verdict is None:
        return name, Cell("?", "no"), Cell(""), Cell(""), pods, Cell("")
    if verdict.feasible:
        score = "" if verdict.score is None else str(verdict.score)
        return name, Cell("yes", "survives"), Cell(weights_words(verdict)), Cell(score), pods, Cell(parts_words(verdict) if verbose else "")
    return name, Cell("no", "no"), Cell(""), Cell(""), pods, Cell(visible(why_words(verdict.why or verdict.reason or "", len(group.nodes))))


def _tags(group: NodeGroup) -> str:
    """Return the cordons and taints that all nodes of the group have in common."""
    words = ["cordoned"] * all(node.cordoned for node in group.nodes) + ["tainted"] * all(node.taints for node in group.nodes)
    return f" ({', '.join(words)})" if words else ""


def _briefly(workloads: Sequence[WorkloadPlan], nodes: int, paint: Paint, width: int) -> Iterator[str]:
    yield paint(Cell(f"{pluralize(len(workloads), 'workload')} completely scheduled", "strong"))
    rows = [tuple(Cell(text, "dim") for text in ("WORKLOAD", "SCHEDULED", "FITS", "ON"))]
    # What holds for several workloads is said once, below them.
    counts = Counter(note for workload in workloads for note in workload.notes)
    for workload in workloads:
        where = list_some([visible(node) for node in replicas_by_node(workload)], 3)
        own = [note for note in workload.notes if counts[note] == 1]
        notes = "".join(f"; {visible(note)}" for note in (*own, *preferences_words(workload, nodes)))
        numbers = f"{len(workload.replicas)} of {len(workload.replicas)}", f"{feasible_count(workload)} of {nodes}"
        rows.append((Cell(visible(workload.key)), Cell(numbers[0], "survives"), Cell(numbers[1]), Cell(where + notes)))
    yield from _table(rows, paint, width, right=(1, 2))
    for note, number in counts.items():
        if number > 1:
            yield from wrapped(f"note: {number} workloads: ", visible(note), width)


def _violations(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    """List the running pods whose rules no longer allow their nodes."""
    number = len(plan.violations)
    title = f"{pluralize(number, 'running pod')} {'violates' if number == 1 else 'violate'} placement rules"
    yield f"{paint(Cell(title, 'strong'))} (rules apply when a pod is scheduled)"
    names, rows = short_names(plan.workloads), list[Row]()
    for each in plan.violations[:_PODS_SHOWN]:
        text = visible("; ".join([each.why, *violation_words(each)]))
        rows.append((Cell(visible(names[each.workload]), "strong"), Cell(visible(each.pod)), Cell(visible(each.node)), Cell(text)))
    yield from _table([*rows, *_more(number)], paint, width)


def _more(number: int) -> list[Row]:
    """Return a row that counts the pods that are not listed."""
    more = number - _PODS_SHOWN
    return [(Cell(f"{more} more"), Cell(""), Cell(""), Cell(""))] if more > 0 else []


def _preempted(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    """List the running pods that pods of higher priority preempt."""
    number = len(plan.preempted)
    yield f"{paint(Cell(preempted_count(number), 'strong'))} (a pod of higher priority needs {'its' if number == 1 else 'their'} node)"
    names, rows = short_names(plan.workloads), list[Row]()
    for each in plan.preempted[:_PODS_SHOWN]:
        workload = Cell(visible(names.get(each.workload, each.workload)), "strong")
        rows.append((workload, Cell(visible(each.pod)), Cell(visible(each.node)), Cell(visible(preempted_words(each)))))
    yield from _table([*rows, *_more(number)], paint, width)


def _losses(plan: Plan, losses: Sequence[DisruptionEffect], paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """Describe each failure, drain or removal; ``losses`` are all of one kind."""
    fold = len(losses) > _LOSSES_SHOWN
    by_key = {workload.key: workload for workload in plan.workloads}
    ending = common_suffix([node.name for node in plan.nodes])
    nodes = {node.name: node.name.removesuffix(ending) for node in plan.nodes}
    context = FailureContext(by_key, short_names(plan.workloads), 0 if fold else LISTED, short_titles(plan), nodes)
    action = losses[0].action
    order = ", worst first" if len(losses) > 1 else ""
    more = "; --only NODE shows one node" if fold else ""
    yield f"{paint(Cell(pluralize(len(losses), NOUNS[action]) + order, 'strong'))} ({ACTION_NOTES[action]}{more})"
    rows: list[Row] = []
    if fold:
        rows += _folded(losses, context)
    else:
        for loss in ranked(losses):
            rows += _loss(loss, context)
            rows += _events(loss.events) if verbose else ()
    harmless = [loss for loss in losses if is_harmless(loss)]
    if fold and harmless:
        rows.append(_survived(harmless, context.titles, others=bool(rows)))
    yield from _table(rows, paint, width)


def _upgrade(plan: Plan, upgrade: UpgradeEffect, paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """Describe an upgrade of node pools."""
    yield f"{paint(Cell(visible(upgrade_title(upgrade)), 'strong'))} ({UPGRADE_NOTE})"
    yield from _table([(Cell(line.word, line.state), Cell(visible(line.text))) for line in upgrade_lines(plan, upgrade)], paint, width)
    if verbose:
        yield from _table(list(_events(upgrade.events)), paint, width)


def _events(events: Sequence[ClusterEvent]) -> Iterator[Row]:
    """Return a row for each event: after how many seconds, what happens, and because of what."""
    from afflint.report.place.event_words import event_words

    for number, event in enumerate(events):
        yield Cell("" if number else "  events"), Cell(f"{event.at} s"), Cell(visible(event_words(event)))


def _rollouts(plan: Plan, paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """Describe each rollout: whether it completes, and where the replicas may be then."""
    from afflint.report.place.rollout_words import ROLLOUT_NOTE, lost_domains, ranked_rollouts, result_words, rollout_lines

    order = ", worst first" if len(plan.rollouts) > 1 else ""
    yield f"{paint(Cell(pluralize(len(plan.rollouts), 'rollout') + order, 'strong'))} ({ROLLOUT_NOTE})"
    names, rows = short_names(plan.workloads), list[Row]()
    for rollout in ranked_rollouts(plan.rollouts):
        title = visible(names.get(rollout.workload, rollout.workload)) + (f" ({rollout.strategy})" if rollout.strategy else "")
        lines = [visible(line) for line in rollout_lines(rollout, plan.group_by, verbose=verbose)] or [""]
        for number, line in enumerate(lines):
            style = "degraded" if lost_domains(rollout) > 0 else _ROLLOUT_STYLES[rollout.result]
            result = Cell("" if number else result_words(rollout, plan.group_by), style)
            rows.append((Cell("" if number else title, "strong"), result, Cell(line)))
    yield from _table(rows, paint, width)


_ROLLOUT_STYLES = {"blocked": "blocked", "may-block": "blocked", "completes": "survives", "manual": "dim", "unjudged": "unjudged"}


def _descheduler(plan: Plan, effect: DescheduleEffect, paint: Paint, width: int) -> Iterator[str]:
    """Describe what a descheduler does."""
    yield f"{paint(Cell(visible(deschedule_title(effect)), 'strong'))} (runs until it evicts no pod)"
    yield from _table([(Cell(line.word, line.state), Cell(visible(line.text))) for line in deschedule_lines(plan, effect)], paint, width)


def _loss(loss: DisruptionEffect, context: FailureContext) -> Iterator[Row]:
    """Return a row for each pod that blocks a drain and each affected workload, and one for all that only move.

    If the removal of failed nodes has a different result, its rows follow.
    """
    title = Cell(f"{visible(context.titles[loss.what])}" + (f" ({len(loss.nodes)} nodes)" if len(loss.nodes) > 1 else ""), "strong")
    rows = _result_rows(loss, context)
    for number, (state, text) in enumerate(rows):
        yield Cell("") if number else title, state, text
    for note in loss.notes:
        yield Cell(""), Cell(""), Cell(visible(note))
    removed = differs(loss)
    if removed is not None:
        for number, (state, text) in enumerate(_result_rows(removed, context)):
            yield Cell("" if number else "  after removal"), state, text


def _result_rows(loss: DisruptionEffect, context: FailureContext) -> list[tuple[Cell, Cell]]:
    """Return a row for each blocked pod and each harmed workload; if these are many, a row for all with the same reason."""
    rows = [*_blocked(loss, context), *_affected(loss, context)]
    if len(rows) > _RESULTS_SHOWN:
        rows = []
        for alike in similar_harms([loss._replace(removed=None, unevaluated=())], context)[:_HARMS_SHOWN]:
            text = alike[0].text + _likewise(harm.name for harm in alike[1:])
            rows.append((Cell(VERDICT_WORDS.get(alike[0].state, alike[0].state), alike[0].state), Cell(text)))
    return [*rows, *_surviving(loss, context)]


def _folded(losses: Sequence[DisruptionEffect], context: FailureContext) -> Iterator[Row]:
    """Return a row for the harm that several disruptions do for the same reason: one of them in full, and where it is the same."""
    for alike in similar_harms(losses, context)[:_HARMS_SHOWN]:
        first, rest = alike[0], alike[1:]
        number = len({harm.where for harm in alike})
        title = pluralize(number, NOUNS[losses[0].action]) if number > 1 else context.titles[first.what]
        text = first.text + _likewise(f"{harm.name}{GLUE}({harm.where})" for harm in rest)
        yield Cell(visible(title), "strong"), Cell(VERDICT_WORDS.get(first.state, first.state), first.state), Cell(text)
    preempted = [(loss, each) for loss in losses for each in loss.preempted]
    if preempted:
        (loss, first_preempted), others = preempted[0], preempted[1:]
        number = len({id(loss) for loss, _ in preempted})
        title = pluralize(number, NOUNS[loss.action]) if number > 1 else context.titles[loss.what]
        text = visible(f"{first_preempted.pod} {preempted_words(first_preempted)} on {first_preempted.node}")
        text += _likewise(f"{visible(each.pod)}{GLUE}({visible(context.nodes.get(each.node, each.node))})" for _, each in others)
        yield Cell(visible(title), "strong"), Cell(""), Cell(text)
    notes: dict[str, list[str]] = {}
    for loss in losses:
        for note in loss.notes:
            notes.setdefault(note, []).append(context.titles[loss.what])
    for note, titles in notes.items():
        yield Cell(visible(list_some(titles, 3)), "strong"), Cell(""), Cell(visible(note))


def _likewise(names: Iterable[str]) -> str:
    """List the other cases; the replicas of one workload may be several of them."""
    others = list(dict.fromkeys(names))
    count = f"{len(others)} others: " if len(others) > _ALIKE + 1 else ""
    return f"; likewise {count}{list_some(others, _ALIKE)}" if others else ""


def _blocked(loss: DisruptionEffect, context: FailureContext) -> Iterator[tuple[Cell, Cell]]:
    for pod in loss.blocked[:LISTED]:
        word = "refused" if pod.refused else "blocked"
        name = f" of {visible(context.names.get(pod.workload, pod.workload))}" if pod.workload else ""
        where = f" from {visible(pod.node)}" if len(loss.nodes) > 1 else ""
        yield Cell(word, word), Cell(f"{visible(pod.pod)}{name} is not evicted{where}: {visible(reason_words(pod.why))}")
    if len(loss.blocked) > LISTED:
        yield Cell("blocked", "blocked"), Cell(f"{len(loss.blocked) - LISTED} more pods")


def _affected(loss: DisruptionEffect, context: FailureContext) -> Iterator[tuple[Cell, Cell]]:
    affected = effects(loss, context.workloads)
    members = {key for each in loss.applications for key in each.workloads}
    for outcome in OUTCOMES[:3]:
        yield from _applications([each for each in loss.applications if each.outcome == outcome], affected, context)
        same = [effect for effect in affected if effect.outcome == outcome and effect.workload not in members]
        yield from _harmed(same, context)


def _surviving(loss: DisruptionEffect, context: FailureContext) -> Iterator[tuple[Cell, Cell]]:
    """Return a row for all workloads that only move, and one for the pods that were not evaluated."""
    affected = effects(loss, context.workloads)
    members = {key: each.outcome for each in loss.applications for key in each.workloads}
    moved = [effect for effect in affected if members.get(effect.workload, effect.outcome) == "survives"]
    if moved or not (affected or loss.blocked or loss.unevaluated):
        words = _survival_words(moved, context) if any(each.moves for each in moved) else _untouched_words(loss, context)
        yield Cell(VERDICT_WORDS["survives"], "survives"), Cell(words)
    for each in loss.preempted[:LISTED]:
        yield Cell(""), Cell(visible(f"{each.pod} {preempted_words(each)} on {each.node}"))
    if len(loss.preempted) > LISTED:
        yield Cell(""), Cell(f"{len(loss.preempted) - LISTED} more pods are preempted")
    if loss.unevaluated:
        yield Cell(VERDICT_WORDS["unjudged"], "unjudged"), Cell(visible(unevaluated_words(loss.unevaluated, loss.unjudged)))


def _harmed(harmed: Sequence[Effect], context: FailureContext) -> Iterator[tuple[Cell, Cell]]:
    """Return a row for each harmed workload; workloads with no new replica for the same reason share one."""
    alike: dict[object, list[Effect]] = {}
    for effect in harmed:
        reason = shared_reason(effect)
        alike.setdefault(reason if reason and reason[1] else effect.workload, []).append(effect)
    for number, group in enumerate(alike.values()):
        state = Cell(VERDICT_WORDS[group[0].outcome], group[0].outcome)
        if number == LISTED:
            yield state, Cell(f"{sum(map(len, list(alike.values())[LISTED:]))} more workloads")
            return
        reason = shared_reason(group[0])
        if reason is None or len(group) == 1:
            yield state, Cell(harm_words(group[0], context.names))
        else:
            fate, why = reason
            names = [f"{visible(context.names.get(effect.workload, effect.workload))}: {running_words(effect)}" for effect in group]
            text = f"{len(group)} workloads whose replicas {fate}" + (f" ({visible(reason_words(why))})" if why else "")
            yield state, Cell(f"{text}: {list_some(names, LISTED)}")


def _applications(found: Sequence[ApplicationEffect], affected: Sequence[Effect], context: FailureContext) -> Iterator[tuple[Cell, Cell]]:
    """Return the applications of several workloads and, below each, its workloads; those with one and the same reason share rows."""
    alike: dict[tuple[str, str] | None, list[tuple[ApplicationEffect, list[Effect]]]] = {}
    for application in found:
        harmed = [effect for effect in affected if effect.workload in application.workloads]
        reasons = {shared_reason(effect) for effect in harmed}
        alike.setdefault(reasons.pop() if len(reasons) == 1 else None, []).append((application, harmed))
    for reason, members in alike.items():
        for application, harmed in members:
            state = Cell(VERDICT_WORDS[application.outcome], application.outcome)
            yield state, Cell(f"{visible(application.application)} {keeping_words(application)}", "strong")
            if reason is None or len(members) == 1:
                yield from ((Cell(""), Cell(GLUE * 2 + harm_words(effect, context.names))) for effect in harmed)
        if reason is not None and len(members) > 1:
            down = [effect for _, harmed in members for effect in harmed]
            names = list_some([visible(context.names.get(effect.workload, effect.workload)) for effect in down], LISTED)
            why = f" ({visible(reason_words(reason[1]))})" if reason[1] else ""
            what = "VMs down" if all(effect.is_machine for effect in down) else "workloads"
            yield Cell(""), Cell(f"{GLUE * 2}{len(down)} {what} whose replicas {reason[0]}{why}: {names}")


def _survival_words(moved: Sequence[Effect], context: FailureContext) -> str:
    volumes = [visible(context.names.get(effect.workload, effect.workload)) for effect in moved if effect.volumes]
    if not volumes:
        return _moving(moved, context.moves)
    them = "it" if len(volumes) == 1 else "them"
    return f"{_moving(moved, context.moves)}; the volumes of {list_some(volumes, 3)} may tie {them} to a zone or node: not considered"


def _untouched_words(loss: DisruptionEffect, context: FailureContext) -> str:
    """Describe nodes without a replica that moves."""
    daemons = (replica for each in context.workloads.values() if each.kind == "DaemonSet" for replica in each.replicas)
    return "only pods of DaemonSets run there" if any(each.node in loss.nodes for each in daemons) else "no replica runs there"


def _moving(moved: Sequence[Effect], listed: int) -> str:
    moves = [move for effect in moved for move in effect.moves]
    if len(moves) <= listed:
        return "; ".join([*moves_words(moves), *(f"{visible(move.pod)} stops with its node" for move in moves if move.target is None)])
    number = sum(move.target is not None for move in moves)
    return f"{pluralize(number, 'replica')} of {pluralize(len(moved), 'workload')} {'moves' if number == 1 else 'move'}"


def _survived(losses: Sequence[DisruptionEffect], titles: Mapping[str, str], *, others: bool) -> Row:
    moves = sum(move.target is not None for loss in losses for move in loss.moves)
    names = list_some([visible(titles[loss.what]) for loss in losses], LISTED)
    tied = len({key for loss in losses for key in loss.volumes})
    text = f"{names}; {pluralize(moves, 'replica')} {'moves' if moves == 1 else 'move'} in total"
    if tied:
        text += f"; the volumes of {pluralize(tied, 'workload')} are not considered"
    which = "others" if others else f"{NOUNS[losses[0].action]}s"
    return Cell(f"{len(losses)} {which}", "strong"), Cell(VERDICT_WORDS["survives"], "survives"), Cell(text)


def _summary(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    scheduled = sum(replica.node is not None for replica in replicas)
    for note in plan.notes:
        yield from wrapped("note: ", visible(note), width)
    count = f"{scheduled} of {pluralize(len(replicas), 'replica')}"
    where = f"of {pluralize(len(plan.workloads), 'workload')} scheduled on {pluralize(len(plan.nodes), 'node')}."
    unjudged = sum(replica.node is None for workload in plan.workloads if workload.unjudged for replica in workload.replicas)
    if unjudged:
        where += f" {pluralize(unjudged, 'replica')} {'is' if unjudged == 1 else 'are'} not evaluated."
    yield f"{paint(Cell(count, 'survives' if scheduled == len(replicas) else 'dead'))} {where}"
    if plan.rollouts:
        from afflint.report.place.rollout_words import rollout_tally

        yield f"{pluralize(len(plan.rollouts), 'rollout')}: {rollout_tally(plan.rollouts, plan.group_by)}."
    for action, losses in by_action(plan.losses).items():
        yield f"{pluralize(len(losses), NOUNS[action])}: " + ", ".join(_tally(plan, losses, paint)) + "."
    for upgrade in plan.upgrades:
        result = Cell("completes", "survives") if upgrade.completes else Cell("never completes", "blocked")
        yield f"Upgrade of {visible(upgrade.what)}: {paint(result)}."
    for effect in plan.descheduling:
        state, word = deschedule_result(effect)
        yield f"{visible(deschedule_title(effect))} {paint(Cell(word, state))}."


def _tally(plan: Plan, losses: Sequence[DisruptionEffect], paint: Paint) -> Iterator[str]:
    """Count the disruptions by their worst effect, worst first; a drain that never completes counts as that only."""
    for result, words in (("blocked", ("is blocked", "are blocked")), ("refused", ("is refused", "are refused"))):
        number = sum(loss.result == result for loss in losses)
        if number:
            yield paint(Cell(f"{number} {words[number > 1]}", result))
    for outcome, number in tally(worst(loss) for loss in losses if not loss.blocked).items():
        if number:
            yield paint(Cell(f"{number} {tally_words(plan, outcome, number)}", outcome))
    number = sum(bool(loss.volumes) for loss in losses)
    if number:
        yield f"{number} of them only if volumes can be used on other nodes"


def _table(rows: Sequence[Row], paint: Paint, width: int, *, right: Sequence[int] = ()) -> Iterator[str]:
    """Align ``rows``, indented by two; the last column is wrapped, the columns numbered in ``right`` are right-aligned.

    If the last column becomes too narrow, the others are wrapped as well, the widest first, down to their longest word.
    """
    if not rows:
        return
    sizes = [max(columns(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    taken = 2 + sum(size + 2 for size in sizes[:-1] if size)
    missing = min(_NARROWEST, sizes[-1]) - (width - taken)
    for number in sorted(range(len(sizes) - 1), key=lambda number: -sizes[number]):
        if missing <= 0:
            break
        longest = max(columns(word) for row in rows for word in row[number].text.split(" "))
        less = max(0, min(missing, sizes[number] - max(longest, _NARROW)))
        sizes[number] -= less
        taken -= less
        missing -= less
    sizes[-1] = max(_NARROWEST, width - taken)
    for row in rows:
        texts = [
            _lines(cell.text, size) if columns(cell.text) > size else [cell.text.replace(GLUE, " ")]
            for cell, size in zip(row, sizes, strict=True)
        ]
        for place in range(max(map(len, texts))):
            line = "  "
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True)):
                text = Cell(texts[number][place] if place < len(texts[number]) else "", cell.style)
                space = " " * (size - columns(text.text)) if number + 1 < len(sizes) else ""
                if size:
                    line += (space + paint(text) if number in right else paint(text) + space) + "  "
            yield line


def wrapped(lead: str, text: str, width: int) -> Iterator[str]:
    """Wrap ``text`` after ``lead`` and indent further lines by as much."""
    for line in _lines(text, max(_NARROWEST, width - len(lead))):
        yield lead + line
        lead = " " * len(lead)


def _lines(text: str, room: int) -> list[str]:
    """Break ``text`` at spaces into lines of at most ``room`` columns; a longer word stays whole."""
    lines, used = [""], 0
    for glued in text.split(" "):
        word = glued.replace(GLUE, " ")
        size = columns(word)
        if lines[-1] and used + 1 + size > room:
            lines.append(word)
            used = size
        else:
            used += size + bool(lines[-1])
            lines[-1] += " " * bool(lines[-1]) + word
    return lines


def columns(text: str) -> int:
    """Return how many terminal columns ``text`` takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    import unicodedata

    marks_on_others = sum(unicodedata.category(char) in ("Mn", "Me") for char in text)
    return len(text) - marks_on_others + sum(unicodedata.east_asian_width(char) in "WF" for char in text)
