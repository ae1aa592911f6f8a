"""The plan for the terminal: the nodes, a table per workload, and what each failure does. No Unicode art, no meaning in colours alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, visible
from afflint.placement.plan import VOLUMES_LEFT_OUT, DisruptionEffect, NodeRow, Plan, ReplicaMove, WorkloadPlan, unjudged_words
from afflint.report.place.digest import (
    FATES,
    NOUNS,
    OUTCOMES,
    STATES,
    Effect,
    NodeGroup,
    Rack,
    Verdict,
    by_action,
    differs,
    domain_words,
    effects,
    feasible_count,
    gap_words,
    groups,
    is_harmless,
    is_in_trouble,
    marks,
    may_have,
    parts_words,
    pending,
    placed_words,
    preferences_words,
    racks,
    ranked,
    short_names,
    some,
    standing,
    stranded,
    tally,
    weights_words,
    why_words,
    worst,
)

_NODES_SHOWN = 16
"""Up to as many nodes are shown one by one."""
_DOMAINS_SHOWN = 12
"""With more domains than this, the nodes that are alike fold across them."""
_WORKLOADS_SHOWN = 20
"""With more workloads than this, those that are placed in full get a line instead of a table."""
_LOSSES_SHOWN = 12
"""With more failures than this, those that every workload survives get one line together."""
_NAMES = 24
"""Two names of nodes that together take more columns than this are counted instead."""
_LISTED = 8
"""How many workloads or moves of one failure are listed."""
_NARROWEST = 24
"""The last column of a table is never wrapped to less than this."""
_NARROW = 12
"""No other column is wrapped to less than this."""
_GLUE = "\0"
"""A space at which no line is broken; nothing that is fit to be shown has this character."""

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
    """Text that is fit to be shown, and its style if it has one."""

    text: str
    style: str = ""


Paint = Callable[[Cell], str]
Row = tuple[Cell, ...]


def render(plan: Plan, *, color: bool, width: int, verbose: bool = False) -> Iterator[str]:
    """Chunks that joined are the whole text, ``width`` columns wide where the names allow it. Colours repeat what words say.

    With ``verbose`` it tells what each score is made of.
    """
    paint = _ansi if color else _plain
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
    for losses in by_action(plan.losses).values():
        yield _losses(plan, losses, paint, width)
    yield _summary(plan, paint, width)


def _inventory(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    """The nodes by domain, with what keeps pods off them."""
    yield paint(Cell(f"{pluralize(len(plan.nodes), 'node')} by {visible(plan.group_by)}", "strong"))
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
    """The pools in which nodes are made: how many each has here, and may have."""
    yield paint(Cell(pluralize(len(plan.pools), "pool"), "strong"))
    rows: list[Row] = [tuple(Cell(text, "dim") for text in ("", "POOL", "NODES", "MAY HAVE", "TAINTS"))]
    for pool in plan.pools:
        texts = (pool.title, str(pool.nodes), may_have(pool), ", ".join(pool.taints))
        rows.append((Cell(""), *[Cell(visible(text)) for text in texts]))
    yield from _table(rows, paint, width)


def _inventory_rows(title: str, nodes: Sequence[NodeRow], *, fold: bool) -> list[Row]:
    """A row per node; with ``fold`` one for all nodes with the same marks, those without any first."""
    alike: dict[object, list[NodeRow]] = {}
    for node in nodes:
        alike.setdefault(tuple(marks(node)) if fold else node.name, []).append(node)
    members = sorted(alike.values(), key=lambda some_nodes: bool(marks(some_nodes[0]))) if fold else alike.values()
    cells = [(Cell(_nodes_words(several, "")), Cell(visible(", ".join(marks(several[0]))))) for several in members]
    return [(Cell("" if number else title, "strong"), *row) for number, row in enumerate(cells)]


def _nodes_words(nodes: Sequence[NodeRow], tags: str) -> str:
    """Their names when they are few and short, otherwise how many they are; then ``tags``."""
    names = ", ".join(visible(node.name) for node in nodes)
    return (names if len(nodes) == 1 or (len(nodes) == 2 and columns(names) <= _NAMES) else f"{len(nodes)} nodes") + tags


def _workload(workload: WorkloadPlan, plan: Plan, known: Sequence[Rack], paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """Its headline, how many replicas have a place and why the others have none, then the nodes as it sees them."""
    place = f" ({visible(workload.file)}:{workload.line})" if workload.file else ""
    yield paint(Cell(visible(workload.key), "strong")) + place
    yield from _verdict(workload, paint, width)
    for note in (*workload.notes, *preferences_words(workload, len(plan.nodes), verbose=verbose)):
        yield from _wrapped("note: ", visible(note), width)
    if not workload.verdicts:
        return
    fold = len(plan.nodes) > _NODES_SHOWN
    if len(known) > _DOMAINS_SHOWN:
        known = [Rack("", tuple(node for rack in known for node in rack.nodes))]
    verdicts = {verdict.node: verdict for verdict in workload.verdicts}
    pods = standing(workload)
    why = "SCORE OF, OR WHY NOT" if verbose else "WHY NOT"
    weighed = any(verdict.weights is not None for verdict in verdicts.values())
    heads = ("", "NODE", "FITS", "WEIGHTS" if weighed else "", "SCORE", "REPLICAS", why)
    rows = [tuple(Cell(text, "dim") for text in heads)]
    for rack in known:
        title = visible(domain_words(plan.group_by, rack.domain)) if rack.domain != "" or len(known) > 1 else ""
        for group in groups(rack, verdicts, pods, fold=fold):
            rows.append((Cell(title, "strong"), *_group(group, verbose=verbose)))
            title = ""
    yield from _table(rows, paint, width, right=(3, 4))


def _verdict(workload: WorkloadPlan, paint: Paint, width: int) -> Iterator[str]:
    if workload.error is not None:
        yield paint(Cell("its pods cannot be scheduled", "dead"))
        yield from _wrapped("  ", visible(workload.error), width)
    yield paint(Cell(placed_words(workload), "dead" if is_in_trouble(workload) else "survives"))
    for why, replicas in pending(workload).items():
        names = some([visible(replica.pod) for replica in replicas], 3)
        text = f"{names} {'has' if len(replicas) == 1 else 'have'} no place"
        yield from _wrapped("  ", f"{text}: {visible(why)}" if why else text, width)


def _group(group: NodeGroup, *, verbose: bool) -> Row:
    """The columns from NODE to WHY NOT."""
    verdict = group.verdict
    name = Cell(_nodes_words(group.nodes, _tags(group)))
    pods = Cell(some([visible(pod) for pod in group.pods], 3), "strong")
    if verdict is None:
        return name, Cell("?", "no"), Cell(""), Cell(""), pods, Cell("")
    if verdict.feasible:
        score = "" if verdict.score is None else str(verdict.score)
        return name, Cell("yes", "survives"), Cell(weights_words(verdict)), Cell(score), pods, Cell(parts_words(verdict) if verbose else "")
    return name, Cell("no", "no"), Cell(""), Cell(""), pods, Cell(visible(why_words(verdict.why or verdict.reason or "", len(group.nodes))))


def _tags(group: NodeGroup) -> str:
    """What all nodes of the group have in common of cordons and taints."""
    words = ["cordoned"] * all(node.cordoned for node in group.nodes) + ["tainted"] * all(node.taints for node in group.nodes)
    return f" ({', '.join(words)})" if words else ""


def _briefly(workloads: Sequence[WorkloadPlan], nodes: int, paint: Paint, width: int) -> Iterator[str]:
    yield paint(Cell(f"{pluralize(len(workloads), 'workload')} placed in full", "strong"))
    rows = [tuple(Cell(text, "dim") for text in ("WORKLOAD", "PLACED", "FIT", "ON"))]
    for workload in workloads:
        where = some([visible(node) for node in standing(workload)], 3)
        notes = "".join(f"; {visible(note)}" for note in (*workload.notes, *preferences_words(workload, nodes)))
        counts = f"{len(workload.replicas)} of {len(workload.replicas)}", f"{feasible_count(workload)} of {nodes}"
        rows.append((Cell(visible(workload.key)), Cell(counts[0], "survives"), Cell(counts[1]), Cell(where + notes)))
    yield from _table(rows, paint, width, right=(1, 2))


def _losses(plan: Plan, losses: Sequence[DisruptionEffect], paint: Paint, width: int) -> Iterator[str]:
    """A line for each failure, drain or removal, more where workloads suffer. ``losses`` are of one kind."""
    fold = len(losses) > _LOSSES_SHOWN
    told = _FailureContext({workload.key: workload for workload in plan.workloads}, short_names(plan.workloads), 0 if fold else _LISTED)
    action = losses[0].action
    order = ", worst first" if len(losses) > 1 else ""
    yield f"{paint(Cell(pluralize(len(losses), NOUNS[action]) + order, 'strong'))} ({STATES[action]})"
    rows: list[Row] = []
    for loss in ranked(losses):
        if not fold or not is_harmless(loss):
            rows += _loss(loss, told)
    harmless = [loss for loss in losses if is_harmless(loss)]
    if fold and harmless:
        rows.append(_survived(harmless, others=bool(rows)))
    yield from _table(rows, paint, width)


class _FailureContext(NamedTuple):
    """What the rows of all failures have in common: the workloads and their short names by key, how many moves are listed."""

    workloads: Mapping[str, WorkloadPlan]
    names: Mapping[str, str]
    moves: int


def _loss(loss: DisruptionEffect, told: _FailureContext) -> Iterator[Row]:
    """A row for each pod that keeps a drain from ending and for each workload that suffers, and one for all that only move.

    After those of a failure comes what its removal does, where that ends otherwise.
    """
    title = Cell(f"{visible(loss.what)}" + (f" ({len(loss.nodes)} nodes)" if len(loss.nodes) > 1 else ""), "strong")
    rows = [*_blocked(loss, told), *_suffered(loss, told)]
    for number, (state, text) in enumerate(rows):
        yield Cell("") if number else title, state, text
    for note in loss.notes:
        yield Cell(""), Cell(""), Cell(visible(note))
    removed = differs(loss)
    if removed is not None:
        for number, (state, text) in enumerate(_suffered(removed, told)):
            yield Cell("" if number else "  once removed"), state, text


def _blocked(loss: DisruptionEffect, told: _FailureContext) -> Iterator[tuple[Cell, Cell]]:
    for each in loss.blocked[:_LISTED]:
        word = "refused" if each.refused else "blocked"
        name = f" of {visible(told.names.get(each.workload, each.workload))}" if each.workload else ""
        where = f" on {visible(each.node)}" if len(loss.nodes) > 1 else ""
        yield Cell(word, word), Cell(f"{visible(each.pod)}{name} does not leave{where}: {visible(each.why)}")
    if len(loss.blocked) > _LISTED:
        yield Cell("blocked", "blocked"), Cell(f"{len(loss.blocked) - _LISTED} more pods")


def _suffered(loss: DisruptionEffect, told: _FailureContext) -> Iterator[tuple[Cell, Cell]]:
    found = effects(loss, told.workloads)
    for outcome in OUTCOMES[:3]:
        hit = [effect for effect in found if effect.outcome == outcome]
        for effect in hit[:_LISTED]:
            yield Cell(outcome, outcome), Cell(_suffering(effect, told.names))
        if len(hit) > _LISTED:
            yield Cell(outcome, outcome), Cell(f"{len(hit) - _LISTED} more workloads")
    moved = [effect for effect in found if effect.outcome == "survives"]
    if moved or not (found or loss.blocked or loss.unevaluated):
        yield Cell("survives", "survives"), Cell(_surviving(moved, told))
    if loss.unevaluated:
        yield Cell("not judged", "unjudged"), Cell(unjudged_words(loss.unevaluated))


def _suffering(effect: Effect, names: Mapping[str, str]) -> str:
    name = visible(names.get(effect.workload, effect.workload))
    if effect.outcome == "interrupted":
        gap = gap_words(effect)
        parts = [f"{name} has no replica{f' for {gap},' * bool(gap)} until {'another is' if len(effect.moves) == 1 else 'others are'} up"]
    else:
        parts = [f"{name} keeps {effect.left} of {pluralize(effect.asked, 'replica')}"]
    for why, moves in stranded(effect).items():
        text = some([visible(move.pod) for move in moves], 3) + f" {FATES.get(moves[0].fate, FATES['waits'])}"
        parts.append(f"{text} ({visible(why)})" if why else text)
    volumes = [VOLUMES_LEFT_OUT] * (effect.volumes and any(move.target is not None for move in effect.moves))
    return "; ".join(parts + _moves_words(effect.moves) + volumes)


def _surviving(moved: Sequence[Effect], told: _FailureContext) -> str:
    volumes = [visible(told.names.get(effect.workload, effect.workload)) for effect in moved if effect.volumes]
    if not volumes:
        return _moving(moved, told.moves)
    them = "it" if len(volumes) == 1 else "them"
    return f"{_moving(moved, told.moves)}; the volumes of {some(volumes, 3)} may tie {them} to a zone or node: not considered"


def _moving(moved: Sequence[Effect], listed: int) -> str:
    moves = [move for effect in moved for move in effect.moves]
    if not moves:
        return "no replica stands there"
    if len(moves) <= listed:
        return "; ".join([*_moves_words(moves), *(f"{visible(move.pod)} ends with its node" for move in moves if move.target is None)])
    number = sum(move.target is not None for move in moves)
    return f"{pluralize(number, 'replica')} of {pluralize(len(moved), 'workload')} {'moves' if number == 1 else 'move'}"


def _moves_words(moves: Iterable[ReplicaMove]) -> list[str]:
    words = [
        f"{visible(move.pod)}{_GLUE}->{_GLUE}{visible(move.target)}{f'{_GLUE}(migrated)' * (move.fate == 'migrated')}"
        for move in moves
        if move.target is not None
    ]
    return [some(words, _LISTED)] if words else []


def _survived(losses: Sequence[DisruptionEffect], *, others: bool) -> Row:
    moves = sum(move.target is not None for loss in losses for move in loss.moves)
    names = some([visible(loss.what) for loss in losses], _LISTED)
    tied = len({key for loss in losses for key in loss.volumes})
    said = f"{names}; {pluralize(moves, 'replica')} {'moves' if moves == 1 else 'move'} in all"
    if tied:
        said += f"; the volumes of {pluralize(tied, 'workload')} are not considered"
    which = "others" if others else f"{NOUNS[losses[0].action]}s"
    return Cell(f"{len(losses)} {which}", "strong"), Cell("survives", "survives"), Cell(said)


def _summary(plan: Plan, paint: Paint, width: int) -> Iterator[str]:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    placed = sum(replica.node is not None for replica in replicas)
    for note in plan.notes:
        yield from _wrapped("note: ", visible(note), width)
    count = f"{placed} of {pluralize(len(replicas), 'replica')}"
    where = f"of {pluralize(len(plan.workloads), 'workload')} placed on {pluralize(len(plan.nodes), 'node')}."
    yield f"{paint(Cell(count, 'survives' if placed == len(replicas) else 'dead'))} {where}"
    for action, losses in by_action(plan.losses).items():
        yield f"{pluralize(len(losses), NOUNS[action])}: " + ", ".join(_tally(losses, paint)) + "."


def _tally(losses: Sequence[DisruptionEffect], paint: Paint) -> Iterator[str]:
    """How many end in which way, the worst first; of a drain that does not end only that."""
    for result, words in (("blocked", ("is blocked", "are blocked")), ("refused", ("is refused", "are refused"))):
        number = sum(loss.result == result for loss in losses)
        if number:
            yield paint(Cell(f"{number} {words[number > 1]}", result))
    for outcome, number in tally(worst(loss) for loss in losses if not loss.blocked).items():
        if number:
            yield paint(Cell(f"{number} {_TALLIED[outcome][number > 1]}", outcome))
    number = sum(bool(loss.volumes) for loss in losses)
    if number:
        yield f"{number} of them only if volumes can follow"


_TALLIED: dict[Verdict, tuple[str, str]] = {
    "dead": ("leaves a workload dead", "leave a workload dead"),
    "degraded": ("leaves a workload degraded", "leave a workload degraded"),
    "interrupted": ("interrupts a workload", "interrupt a workload"),
    "unjudged": ("is not judged", "are not judged"),
    "survives": ("is survived", "are survived"),
}


def _table(rows: Sequence[Row], paint: Paint, width: int, *, right: Sequence[int] = ()) -> Iterator[str]:
    """``rows`` aligned, indented by two; the last column is wrapped, those numbered in ``right`` are flush right.

    Where the others leave the last column no room, they are wrapped as well, the widest first, as far as their words allow it.
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
            _lines(cell.text, size) if columns(cell.text) > size else [cell.text.replace(_GLUE, " ")]
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


def _wrapped(lead: str, text: str, width: int) -> Iterator[str]:
    """``text`` after ``lead``, its further lines indented by as much."""
    for line in _lines(text, max(_NARROWEST, width - len(lead))):
        yield lead + line
        lead = " " * len(lead)


def _lines(text: str, room: int) -> list[str]:
    """``text`` in lines of at most ``room`` columns, broken at spaces; a word that is longer stays whole."""
    lines, used = [""], 0
    for glued in text.split(" "):
        word = glued.replace(_GLUE, " ")
        size = columns(word)
        if lines[-1] and used + 1 + size > room:
            lines.append(word)
            used = size
        else:
            used += size + bool(lines[-1])
            lines[-1] += " " * bool(lines[-1]) + word
    return lines


def columns(text: str) -> int:
    """How many columns of a terminal ``text`` takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    import unicodedata

    marks_on_others = sum(unicodedata.category(char) in ("Mn", "Me") for char in text)
    return len(text) - marks_on_others + sum(unicodedata.east_asian_width(char) in "WF" for char in text)
