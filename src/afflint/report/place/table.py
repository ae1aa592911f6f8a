"""A simulation as text for the terminal: the nodes, a table per workload, and the effect of each disruption.

No box drawing characters, and colours only repeat what the words say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize, visible
from afflint.kube.node_labels import name_of_key
from afflint.placement.plan import (
    ClusterEvent,
    DisruptionEffect,
    NodeRow,
    Plan,
    SharedNode,
    WorkloadPlan,
    unevaluated_words,
)
from afflint.placement.plan_notes import FITS_NOTE
from afflint.report.phrases import Paint, columns, painter
from afflint.report.place import words
from afflint.report.place.harms import ALIKE, GLUE, LISTED, alike_words, moves_words, node_count, similar_harms
from afflint.report.place.risks import headline, risks, stopping, stopping_words
from afflint.report.place.sequences import ROLLOUT_NOTE, rollout_rows, rollout_tally, sequences
from afflint.report.place.view import (
    Effect,
    NodeGroup,
    PlaceView,
    Rack,
    attaching,
    by_action,
    differs,
    feasible_count,
    is_harmless,
    is_in_trouble,
    pending,
    ranked,
    replicas_by_node,
    shortened,
    worst,
)
from afflint.report.place.words import NOUNS, VERDICT_WORDS, list_some, reason_words

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
_NARROWEST = 24
"""The last column of a table is never wrapped to less than this."""
_NARROW = 12
"""No other column is wrapped to less than this."""


class Cell(NamedTuple):
    """Text that is safe to print, and its style if it has one."""

    text: str
    style: str = ""


Row = tuple[Cell, ...]


class _Terminal(NamedTuple):
    """How text is written: with colours or without, ``width`` columns wide where the names allow it, with short names of ``nodes``."""

    paint: Paint
    width: int
    nodes: Mapping[str, str]

    def heading(self, text: str, note: str = "") -> str:
        return self.paint("strong", self.short(text)) + (f" ({note})" if note else "")

    def wrapped(self, lead: str, text: str) -> Iterator[str]:
        return wrapped(lead, self.short(visible(text)), self.width)

    def short(self, text: str) -> str:
        """Return the text with the short names of nodes."""
        return shortened(text, self.nodes)


def render(plan: Plan, *, color: bool, width: int, verbose: bool = False, summary: bool = False) -> Iterator[str]:
    """Yield the text in chunks, ``width`` columns wide where the names allow it.

    With ``verbose``, show the parts of each score and the events of disruptions; with ``summary``, only the notes and the counts.
    """
    view = PlaceView(plan, visible)
    terminal = _Terminal(painter(color), width, {visible(name): visible(short) for name, short in view.nodes.items() if name != short})
    gap = ""
    first = terminal.wrapped("", headline(view)) if plan.now is not None else ()
    blocks = [chain(first, _summary(view, terminal), _not_shown(view))] if summary else _blocks(view, terminal, verbose=verbose)
    for block in chain([plan.also_read] if plan.also_read else [], blocks):
        yield gap + "".join(f"{line.rstrip()}\n" for line in block)
        gap = "\n"


def _blocks(view: PlaceView, terminal: _Terminal, *, verbose: bool) -> Iterator[Iterable[str]]:
    plan = view.plan
    is_large = len(plan.workloads) > _WORKLOADS_SHOWN
    if plan.now is not None:
        # What an administrator acts on comes first, how the cluster is now follows.
        yield terminal.wrapped("", headline(view))
        if is_large and not verbose:
            yield from (_head(each, terminal) for each in plan.workloads if is_in_trouble(each))
        yield from _running_pods(view, terminal)
        yield from _at_risk(view, terminal)
        yield from _disruptions(view, terminal, verbose=verbose)
    yield _inventory(view, terminal)
    if plan.pools:
        yield _pools(plan, terminal)
    brief = []
    for workload in plan.workloads:
        if is_large and not is_in_trouble(workload):
            brief.append(workload)
        elif verbose or plan.now is None or not is_large:
            yield _workload(workload, view, terminal, verbose=verbose)
    if brief:
        yield _briefly(brief, len(plan.nodes), terminal) if plan.now is None or verbose else _counted(brief)
    if plan.now is None:
        yield from _running_pods(view, terminal)
        yield from _disruptions(view, terminal, verbose=verbose)
    yield _summary(view, terminal, with_tables=verbose or plan.now is None or not is_large)


def _at_risk(view: PlaceView, terminal: _Terminal) -> Iterator[Iterable[str]]:
    """Yield the applications in one place and the exhausted budgets, then the pods that keep nodes from being drained, by cause."""
    if found := list(risks(view)):
        rows: list[Row] = [(Cell(each.title, "strong"), Cell(each.text)) for each in found]
        yield [terminal.heading("At risk now"), *_table(rows, terminal)]
    pods, causes = stopping(view, drained=False)
    if pods:
        rows = [
            (Cell(node_count(alike), "strong"), _state(alike[0].state), Cell(alike_words(alike, view))) for alike in causes[:_HARMS_SHOWN]
        ]
        yield [terminal.heading(stopping_words(view, pods), words.STOPPED_NOTE), *_table(rows, terminal)]


def _running_pods(view: PlaceView, terminal: _Terminal) -> Iterator[Iterable[str]]:
    for pods in view.running_pods():
        rows: list[Row] = [
            (Cell(each.workload, "strong"), Cell(visible(each.pod)), Cell(visible(each.node)), Cell(visible(each.text)))
            for each in pods.rows[:_PODS_SHOWN]
        ]
        if (more := len(pods.rows) - _PODS_SHOWN) > 0:
            rows.append((Cell(f"{more} more"), Cell(""), Cell(""), Cell("")))
        yield [terminal.heading(pods.title, pods.note), *_table(rows, terminal)]


def _disruptions(view: PlaceView, terminal: _Terminal, *, verbose: bool) -> Iterator[Iterable[str]]:
    plan = view.plan
    for losses in by_action(plan.losses).values():
        yield _losses(losses, view, terminal, verbose=verbose)
    if plan.upgrades or plan.descheduling:
        for each in sequences(view):
            rows = [(Cell(line.word, line.state), Cell(visible(line.text))) for line in each.lines]
            events = _events(each.events) if verbose else ()
            yield [terminal.heading(visible(each.title), each.note), *_table(rows, terminal), *_table([*events], terminal)]
    if plan.rollouts:
        yield _rollouts(view, terminal, verbose=verbose)


def _inventory(view: PlaceView, terminal: _Terminal) -> Iterator[str]:
    """List the nodes by topology domain, with their taints and cordons."""
    plan = view.plan
    yield terminal.heading(f"{pluralize(len(plan.nodes), 'node')} by {visible(name_of_key(plan.group_by))}")
    rows: list[Row] = []
    if len(view.racks) > _DOMAINS_SHOWN:
        rows = _inventory_rows(f"{len(view.racks)} domains", [node for rack in view.racks for node in rack.nodes], fold=True)
    else:
        for rack in view.racks:
            title = visible(words.domain_words(plan.group_by, rack.domain)) + f" ({len(rack.nodes)})" * view.folds
            rows += _inventory_rows(title, rack.nodes, fold=view.folds)
    yield from _table(rows, terminal)


def _pools(plan: Plan, terminal: _Terminal) -> Iterator[str]:
    """List the node pools: how many nodes each has here, and its size."""
    yield terminal.heading(pluralize(len(plan.pools), "pool"))
    rows = [_heads("", "POOL", "NODES", "SIZE", "TAINTS")]
    for pool in plan.pools:
        texts = (pool.title, str(pool.nodes), words.pool_size(pool), ", ".join(pool.taints))
        rows.append((Cell(""), *[Cell(visible(text)) for text in texts]))
    yield from _table(rows, terminal)


def _inventory_rows(title: str, nodes: Sequence[NodeRow], *, fold: bool) -> list[Row]:
    """Return a row per node; with ``fold``, one row for all nodes with the same marks, unmarked nodes first."""
    alike = grouped((tuple(words.marks(node)) if fold else node.name, node) for node in nodes)
    members = sorted(alike.values(), key=lambda group: bool(words.marks(group[0]))) if fold else alike.values()
    cells = [(Cell(_nodes_words(group)), Cell(visible(", ".join(words.marks(group[0]))))) for group in members]
    return [(Cell("" if number else title, "strong"), *row) for number, row in enumerate(cells)]


def _nodes_words(nodes: Sequence[NodeRow]) -> str:
    """Name the nodes if they are few and their names short; count them otherwise."""
    names = ", ".join(visible(node.name) for node in nodes)
    return names if len(nodes) == 1 or (len(nodes) == 2 and columns(names) <= _NAMES) else f"{len(nodes)} nodes"


def _workload(workload: WorkloadPlan, view: PlaceView, terminal: _Terminal, *, verbose: bool) -> Iterator[str]:
    """Describe a workload: how many replicas are scheduled, why the others stay Pending, then a row per node."""
    plan, racks = view.plan, view.racks
    yield from _head(workload, terminal)
    for note in (*workload.notes, *words.preferences_words(workload, len(plan.nodes), verbose=verbose)):
        yield from terminal.wrapped("note: ", note)
    if not workload.verdicts:
        return
    if len(racks) > _DOMAINS_SHOWN:
        racks = [Rack("", tuple(node for rack in racks for node in rack.nodes))]
    weighed = any(judgement.weights is not None for judgement in workload.verdicts.judgements)
    reason = "SCORE PARTS, OR REASON" if verbose else "REASON"
    rows = [_heads("", "NODE", "FITS", "WEIGHTS" if weighed else "", "SCORE", "REPLICAS", reason)]
    for rack, groups in view.node_groups(workload, racks):
        is_titled = rack.domain != "" or len(racks) > 1
        title = visible(words.domain_words(plan.group_by, rack.domain)) if is_titled else ""
        for group in groups:
            rows.append((Cell(title, "strong"), *_group(group, verbose=verbose)))
            title = ""
    yield from _table(rows, terminal, right=(3, 4))


def _head(workload: WorkloadPlan, terminal: _Terminal) -> Iterator[str]:
    yield terminal.heading(visible(workload.key), f"{visible(workload.file)}:{workload.line}" if workload.file else "")
    yield from _verdict(workload, terminal)


def _verdict(workload: WorkloadPlan, terminal: _Terminal) -> Iterator[str]:
    if workload.error is not None:
        yield terminal.paint("dead", "pods cannot be scheduled")
        yield from terminal.wrapped("  ", workload.error)
    if workload.unjudged:
        yield terminal.paint("unjudged", words.scheduled_words(workload))
        yield from terminal.wrapped("  ", words.unjudged_words(workload))
        return
    yield terminal.paint("dead" if is_in_trouble(workload) else "survives", words.scheduled_words(workload))
    for why, replicas in pending(workload).items():
        names = list_some([replica.pod for replica in replicas], 3)
        text = f"{names} {'stays' if len(replicas) == 1 else 'stay'} Pending"
        yield from terminal.wrapped("  ", f"{text}: {reason_words(why)}" if why else text)
    for replica in attaching(workload):
        yield from terminal.wrapped("  ", f"{replica.pod} does not run: {replica.why}")


def _group(group: NodeGroup, *, verbose: bool) -> Row:
    """Return the columns from NODE to REASON."""
    verdict = group.verdict
    # The cordons and taints that all nodes of the group have in common.
    tags = ["cordoned"] * all(node.cordoned for node in group.nodes) + ["tainted"] * all(node.taints for node in group.nodes)
    name = Cell(_nodes_words(group.nodes) + (f" ({', '.join(tags)})" if tags else ""))
    pods = Cell(list_some([visible(pod) for pod in group.pods], 3), "strong")
    if verdict is None:
        return name, Cell("?", "no"), Cell(""), Cell(""), pods, Cell("")
    if verdict.feasible:
        score = Cell("" if verdict.score is None else str(verdict.score))
        parts = Cell(words.parts_words(verdict) if verbose else "")
        return name, Cell("yes", "survives"), Cell(words.weights_words(verdict)), score, pods, parts
    return name, Cell("no", "no"), Cell(""), Cell(""), pods, Cell(visible(words.rejection_words(verdict, len(group.nodes))))


def _counted(workloads: Sequence[WorkloadPlan]) -> Iterator[str]:
    """Count the workloads that are fine, and those of them with notes."""
    noted = sum(bool(each.notes) for each in workloads)
    more = f", {noted} of them with notes" if noted else ""
    yield f"{pluralize(len(workloads), 'workload')} {'is' if len(workloads) == 1 else 'are'} completely scheduled{more} (-v lists them)."


def _briefly(workloads: Sequence[WorkloadPlan], nodes: int, terminal: _Terminal) -> Iterator[str]:
    yield terminal.heading(f"{pluralize(len(workloads), 'workload')} completely scheduled")
    rows = [_heads("WORKLOAD", "SCHEDULED", "FITS NODES", "ON")]
    # What holds for several workloads is said once, below them.
    counts = Counter(note for workload in workloads for note in workload.notes)
    for workload in workloads:
        where = list_some([visible(node) for node in replicas_by_node(workload)], 3)
        own = [note for note in workload.notes if counts[note] == 1]
        notes = "".join(f"; {visible(note)}" for note in (*own, *words.preferences_words(workload, nodes)))
        numbers = f"{len(workload.replicas)} of {len(workload.replicas)}", f"{feasible_count(workload)} of {nodes}"
        rows.append((Cell(visible(workload.key)), Cell(numbers[0], "survives"), Cell(numbers[1]), Cell(where + notes)))
    yield from _table(rows, terminal, right=(1, 2))
    for note, number in counts.items():
        if number > 1:
            yield from terminal.wrapped(f"note: {number} workloads: ", note)


# Disruptions.


def _losses(losses: Sequence[DisruptionEffect], view: PlaceView, terminal: _Terminal, *, verbose: bool) -> Iterator[str]:
    """Describe each failure, drain or removal; ``losses`` are all of one kind."""
    fold = len(losses) > _LOSSES_SHOWN
    action = losses[0].action
    order = ", worst first" if len(losses) > 1 else ""
    more = f"; {words.STOPPED_NOTE}" * any(loss.blocked for loss in losses) + "; --only NODE shows one node" * fold
    yield terminal.heading(pluralize(len(losses), NOUNS[action]) + order, words.ACTION_NOTES[action] + more)
    rows: list[Row] = []
    if fold:
        rows += _folded(losses, view)
        harmless = [loss for loss in losses if is_harmless(loss)]
        rows += [_survived(harmless, view, others=len(harmless) < len(losses))] if harmless else []
    else:
        for loss in ranked(losses):
            rows += _loss(loss, view)
            rows += _events(loss.events) if verbose else ()
    yield from _table(rows, terminal)


def _events(events: Sequence[ClusterEvent]) -> Iterator[Row]:
    """Return a row for each event: after how many seconds, what happens, and because of what."""
    for number, event in enumerate(events):
        yield Cell("" if number else "  events"), Cell(f"{event.at} s"), Cell(visible(words.event_words(event)))


def _rollouts(view: PlaceView, terminal: _Terminal, *, verbose: bool) -> Iterator[str]:
    """Describe each rollout: whether it completes, and where the replicas may be then."""
    number, rows = len(view.plan.rollouts), list[Row]()
    yield terminal.heading(pluralize(number, "rollout") + (", worst first" if number > 1 else ""), ROLLOUT_NOTE)
    for rollout in rollout_rows(view, verbose=verbose):
        title = view.name(rollout.workload) + (f" ({rollout.strategy})" if rollout.strategy else "")
        for place, line in enumerate(rollout.lines or [""]):
            first = Cell("" if place else title, "strong"), Cell("" if place else rollout.result, rollout.state)
            rows.append((*first, Cell(visible(line))))
    yield from _table(rows, terminal)


def _loss(loss: DisruptionEffect, view: PlaceView) -> Iterator[Row]:
    """Return a row for each pod that blocks a drain and each affected workload, and one for all that only move.

    If the removal of failed nodes has a different result, its rows follow.
    """
    title = visible(view.titles[loss.what]) + (f" ({len(loss.nodes)} nodes)" if len(loss.nodes) > 1 else "")
    for number, row in enumerate(_result_rows(loss, view)):
        yield Cell("" if number else title, "strong"), *row
    for note in loss.notes:
        yield Cell(""), Cell(""), Cell(visible(note))
    removed = differs(loss)
    for number, row in enumerate(_result_rows(removed, view) if removed is not None else ()):
        yield Cell("" if number else "  after removal"), *row


def _result_rows(loss: DisruptionEffect, view: PlaceView) -> list[tuple[Cell, Cell]]:
    """Return a row for each pod that is not evicted and each harmed application; if these are many, a row for all with the same reason."""
    harms = similar_harms([loss._replace(removed=None, unevaluated=(), evaluates=True)], view)
    if sum(map(len, harms)) <= _RESULTS_SHOWN:
        harms = [[harm] for alike in harms for harm in alike]
    rows = [(_state(alike[0].state), Cell(alike_words(alike, view))) for alike in harms[:_HARMS_SHOWN]]
    return [*rows, *_surviving(loss, view)]


def _state(state: str) -> Cell:
    return Cell(VERDICT_WORDS[state], state)


def _folded(losses: Sequence[DisruptionEffect], view: PlaceView) -> Iterator[Row]:
    """Return a row for the harm that several disruptions do for the same reason: one of them in full, and where it is the same."""

    def title(what: str, number: int) -> Cell:
        return Cell(pluralize(number, NOUNS[losses[0].action]) if number > 1 else visible(view.titles[what]), "strong")

    for alike in similar_harms(losses, view)[:_HARMS_SHOWN]:
        where = list(dict.fromkeys(harm.where for harm in alike))
        yield title(alike[0].what, len(where)), _state(alike[0].state), Cell(alike_words(alike, view))
    preempted = [(loss, each) for loss in losses for each in loss.preempted]
    if preempted:
        loss, pod = preempted[0]
        text = visible(f"{pod.pod} {words.preempted_words(pod)} on {pod.node}")
        text += _likewise(f"{visible(each.pod)}{GLUE}({visible(view.nodes.get(each.node, each.node))})" for _, each in preempted[1:])
        yield title(loss.what, len({id(loss) for loss, _ in preempted})), Cell(""), Cell(text)
    if text := _folded_shared(losses, view):
        yield Cell("shared nodes", "strong"), Cell(""), Cell(text)
    notes = grouped((note, view.titles[loss.what]) for loss in losses for note in loss.notes)
    for note, titles in notes.items():
        yield Cell(visible(list_some(titles, 3)), "strong"), Cell(""), Cell(visible(note))


def _likewise(names: Iterable[str]) -> str:
    """List the other cases; the replicas of one workload may be several of them."""
    others = list(dict.fromkeys(names))
    count = f"{len(others)} others: " if len(others) > ALIKE + 1 else ""
    return f"; likewise {count}{list_some(others, ALIKE)}" if others else ""


def _shared_words(shared: Sequence[SharedNode], view: PlaceView) -> str:
    """Describe the first of the nodes that replicas share after a disruption, and name the others."""
    names = [f"{visible(each.application) or view.name(each.workloads[0])}{GLUE}({visible(each.node)})" for each in shared]
    first = shared[0]._replace(always=all(each.always for each in shared))
    return view.shared_words(first) + _likewise(name for name in names if name != names[0])


def _folded_shared(losses: Sequence[DisruptionEffect], view: PlaceView) -> str:
    """Describe the nodes that replicas of a workload share after several disruptions, and name the other workloads; empty if none do."""
    by_name = grouped(
        (visible(each.application) or view.name(each.workloads[0]), each) for loss in losses for each in (differs(loss) or loss).shared
    )
    if not by_name:
        return ""
    # A disruption has one shared node of each workload.
    (name, first), *others = by_name.items()
    most, nodes = max(first, key=lambda each: each.number), list(dict.fromkeys(visible(each.node) for each in first))
    number = f"{'up to ' * any(each.number < most.number for each in first)}{most.number} of {most.running} replicas of {name}"
    noun = NOUNS[losses[0].action] + " and removal" * any(differs(loss) for loss in losses)
    text = f"after {len(first)} of {pluralize(len(losses), noun)}, {number} share a node in this schedule ({list_some(nodes, ALIKE)})"
    text += "; in every order in which all run, some share a node" * all(each.always for each in first)
    return text + _likewise(f"{other}{GLUE}(after {len(shared)})" for other, shared in others)


def _surviving(loss: DisruptionEffect, view: PlaceView) -> Iterator[tuple[Cell, Cell]]:
    """Return a row for all workloads that only move, and one for the pods that were not evaluated."""
    affected = view.effects(loss)
    members = {key: each.outcome for each in loss.applications for key in each.workloads}
    moved = [effect for effect in affected if members.get(effect.workload, effect.outcome) == "survives"]
    if moved or not (affected or loss.blocked or loss.unevaluated):
        yield _state("survives" if loss.evaluates else "unjudged"), Cell(_survival_words(moved, loss, view))
    for each in loss.preempted[:LISTED]:
        yield Cell(""), Cell(visible(f"{each.pod} {words.preempted_words(each)} on {each.node}"))
    if len(loss.preempted) > LISTED:
        yield Cell(""), Cell(f"{len(loss.preempted) - LISTED} more pods are preempted")
    if loss.shared:
        yield Cell(""), Cell(_shared_words(loss.shared, view))
    if loss.unevaluated:
        yield _state("unjudged"), Cell(visible(unevaluated_words(loss.unevaluated, loss.unjudged)))


def _survival_words(moved: Sequence[Effect], loss: DisruptionEffect, view: PlaceView) -> str:
    """Describe the replicas that move, or that none does."""
    moves = [move for effect in moved for move in effect.moves]
    if not moves:
        daemons = (replica for each in view.workloads.values() if each.kind == "DaemonSet" for replica in each.replicas)
        return "only pods of DaemonSets run there" if any(each.node in loss.nodes for each in daemons) else "no replica runs there"
    if len(moves) <= LISTED:
        text = "; ".join([*moves_words(moves), *(f"{visible(move.pod)} stops with its node" for move in moves if move.target is None)])
    else:
        number = sum(move.target is not None for move in moves)
        text = f"{pluralize(number, 'replica')} of {pluralize(len(moved), 'workload')} {'moves' if number == 1 else 'move'}"
    volumes = [view.name(effect.workload) for effect in moved if effect.volumes]
    if not volumes:
        return text
    them = "it" if len(volumes) == 1 else "them"
    return f"{text}; the volumes of {list_some(volumes, 3)} may tie {them} to a zone or node: not considered"


def _survived(losses: Sequence[DisruptionEffect], view: PlaceView, *, others: bool) -> Row:
    moves = sum(move.target is not None for loss in losses for move in loss.moves)
    text = list_some([visible(view.titles[loss.what]) for loss in losses], LISTED)
    tied = len({key for loss in losses for key in loss.volumes})
    if moves:
        text += f"; {pluralize(moves, 'replica')} {'moves' if moves == 1 else 'move'}{' in total' * (len(losses) > 1)}"
    if tied:
        text += f"; the volumes of {pluralize(tied, 'workload')} are not considered"
    which = pluralize(len(losses), "other" if others else NOUNS[losses[0].action])
    return Cell(which, "strong"), _state("survives"), Cell(text)


# The end.


def _summary(view: PlaceView, terminal: _Terminal, *, with_tables: bool = True) -> Iterator[str]:
    """Yield the counts and the notes; a note about a column appears only ``with_tables`` of workloads."""
    plan = view.plan
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    scheduled = sum(replica.node is not None for replica in replicas)
    notes = [line for note in plan.notes if with_tables or note != FITS_NOTE for line in terminal.wrapped("note: ", note)]
    if terminal.nodes:
        name, short = next(iter(terminal.nodes.items()))
        notes += wrapped("note: ", f"node names are shortened: {short} is {name}", terminal.width)
    if plan.now is None:
        yield from notes
    count = f"{scheduled} of {pluralize(len(replicas), 'replica')}"
    names = f" (--only {visible(' '.join(plan.left_out.names))})" if plan.left_out is not None else ""
    where = f"of {pluralize(len(plan.workloads), 'workload')}{names} scheduled on {pluralize(len(plan.nodes), 'node')}."
    unjudged = sum(replica.node is None for workload in plan.workloads if workload.unjudged for replica in workload.replicas)
    if unjudged:
        where += f" {pluralize(unjudged, 'replica')} {'is' if unjudged == 1 else 'are'} not evaluated."
    yield " ".join([terminal.paint("survives" if scheduled == len(replicas) else "dead", count), where, *view.left_out_words()])
    others = plan.left_out.rollouts if plan.left_out is not None else ()
    if plan.rollouts or others:
        yield from [f"{rollout_tally(plan.rollouts, plan.group_by)}."] if plan.rollouts else []
        yield from [f"Left out: {rollout_tally(others, plan.group_by)}."] if others else []
    for action, losses in by_action(plan.losses).items():
        yield f"{pluralize(len(losses), NOUNS[action])}: " + ", ".join(_tally(losses, view, terminal)) + "."
        yield from view.stopped_harm_words(losses)
        yield from view.other_losses_words(action)
    if plan.upgrades or plan.descheduling:
        for each in sequences(view):
            style = "survives" if each.result == "completes" else each.state
            yield f"{visible(each.name)} {terminal.paint(style, each.result)}."
    if plan.now is not None:
        yield from notes


def _not_shown(view: PlaceView) -> Iterator[str]:
    """Say how much that a summary does not show the whole report says about running pods and single workloads."""
    lists = [pods.title for pods in view.running_pods()]
    noted = sum(bool(each.notes) for each in view.plan.workloads)
    parts = [*lists, *([f"notes about {pluralize(noted, 'workload')}"] if noted else [])]
    if parts:
        yield f"Not shown: {join_words(parts)}."


def _tally(losses: Sequence[DisruptionEffect], view: PlaceView, terminal: _Terminal) -> Iterator[str]:
    """Count the disruptions by their worst effect, worst first; a drain that never completes counts as that only."""
    counts = words.tally(worst(loss) for loss in losses if not loss.blocked)
    drains = ((result, sum(loss.result == result for loss in losses)) for result in ("blocked", "refused"))
    for verdict, number in (*drains, *counts.items()):
        if number:
            yield terminal.paint(verdict, view.tally_words(verdict, number))
    number = sum(bool(loss.volumes) for loss in losses)
    if number:
        yield f"{number} of them only if volumes can be used on other nodes"


def _table(rows: Sequence[Row], terminal: _Terminal, *, right: Sequence[int] = ()) -> Iterator[str]:
    """Align ``rows``, indented by two; the last column is wrapped, the columns numbered in ``right`` are right-aligned.

    If the last column becomes too narrow, the others are wrapped as well, the widest first, down to their longest word.
    """
    if not rows:
        return
    rows = [tuple([cell._replace(text=terminal.short(cell.text)) for cell in row]) for row in rows]
    sizes = [max(columns(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    taken = 2 + sum(size + 2 for size in sizes[:-1] if size)
    missing = min(_NARROWEST, sizes[-1]) - (terminal.width - taken)
    for number in sorted(range(len(sizes) - 1), key=lambda number: -sizes[number]):
        if missing <= 0:
            break
        longest = max(columns(word) for row in rows for word in row[number].text.split(" "))
        less = max(0, min(missing, sizes[number] - max(longest, _NARROW)))
        sizes[number] -= less
        taken -= less
        missing -= less
    sizes[-1] = max(_NARROWEST, terminal.width - taken)
    for row in rows:
        texts = [
            _lines(cell.text, size) if columns(cell.text) > size else [cell.text.replace(GLUE, " ")]
            for cell, size in zip(row, sizes, strict=True)
        ]
        for place in range(max(map(len, texts))):
            line = "  "
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True)):
                text = texts[number][place] if place < len(texts[number]) else ""
                space = " " * (size - columns(text)) if number + 1 < len(sizes) else ""
                if size:
                    painted = terminal.paint(cell.style, text)
                    line += (space + painted if number in right else painted + space) + "  "
            yield line


def _heads(*names: str) -> Row:
    return tuple([Cell(name, "dim") for name in names])


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
