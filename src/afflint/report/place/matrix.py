"""The first table of the page: what each disruption does to each application, worst first. A cell leads to the disruption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import DisruptionEffect, Outcome
from afflint.report.html_page import shown
from afflint.report.place.choices import Kind, Numbered, kinds
from afflint.report.place.scene import Scene, is_of_node
from afflint.report.place.view import Effect, common_suffix, is_machine, label_of
from afflint.report.place.words import DONE, NOUNS, STATES, VERDICT_WORDS, natural

_COLUMNS_OF_A_KIND = 12
"""If more disruptions of a kind are in the plan, they share a column."""
_SINGLE = 8
"""If more workloads of one replica are harmed, they share a row."""
_ROWS = 60
"""How many harmed applications are listed; the worst come first."""


class _Result(NamedTuple):
    """What disruption number ``loss`` does to an application, in a word for the style and in words for people."""

    loss: int
    state: str
    words: str


class _Column(NamedTuple):
    """A disruption, or all disruptions of a kind, by their numbers."""

    title: str
    numbers: tuple[int, ...]


def matrix(scene: Scene) -> Iterator[str]:
    """Yield the section with the table; nothing without disruptions or without running replicas."""
    if not scene.losses:
        return
    found = _cells(scene)

    def harm(name: str) -> list[int]:
        """Return a sort key by which the most and worst harmed application comes first."""
        states = [cell.state for cell in found[name].values()]
        return [-states.count(state) for state in STATES]

    folded = _single(scene, found)
    rows = sorted(found.keys() - {name for names in folded.values() for name in names}, key=lambda name: (harm(name), natural(name)))
    noun = scene.harmed_noun
    members = {key: each.name for each in scene.plan.applications for key in each.workloads}
    running = {members.get(key) or scene.names[key] for pods in scene.pods.values() for key, _ in pods}
    number = len(running - found.keys())
    if not (found or number):
        return
    yield '<section class="resilience" aria-labelledby="resilience">\n'
    yield f'<h2 id="resilience">What each {noun} survives</h2>\n'
    if found:
        yield f'<p class="soft choose">Choose a cell to see the {scene.noun}.</p>\n'
        shared = {title: [found[name] for name in names] for title, names in folded.items()}
        yield from _table(scene, noun, {name: found[name] for name in rows[:_ROWS]}, shared)
    if len(rows) > _ROWS:
        yield f"<p>{len(rows) - _ROWS} more are harmed: see their entries below.</p>\n"
    if number:
        others = "other " * bool(found)
        yield f"<p>{pluralize(number, f'{others}{noun}')} {'survives' if number == 1 else 'survive'} everything.</p>\n"
    yield "</section>\n"


def _single(scene: Scene, found: Iterable[str]) -> dict[str, list[str]]:
    """Return the harmed workloads of one replica, which share a row if they are many, by the title of the row in HTML."""
    members = {key for each in scene.plan.applications for key in each.workloads}
    alone = {scene.names[each.key]: each for each in scene.plan.workloads if each.key not in members and len(each.replicas) == 1}
    by_noun = grouped(("single VM" if is_machine(alone[name]) else "workload of one replica", name) for name in found if name in alone)
    folded = {}
    for noun, names in by_noun.items():
        if len(names) > _SINGLE:
            counted = pluralize(len(names), noun) if noun == "single VM" else f"{len(names)} workloads of one replica"
            folded[f"{counted}{_again_words(scene, {alone[name].key for name in names})}"] = names
    return folded


def _again_words(scene: Scene, keys: AbstractSet[str]) -> str:
    """Return how many of the workloads that failures take down do not start again once the failed nodes are removed."""
    failures = [loss for loss in scene.losses if loss.removed is not None]
    down = {key for loss in failures for key, outcome in loss.outcomes.items() if outcome == "dead"} & keys
    gone = {key for loss in failures if loss.removed for key, outcome in loss.removed.outcomes.items() if outcome == "dead"} & down
    if not down:
        return ""
    which = f"all but {len(gone)}" if gone else "all"
    number = "" if len(down) == len(keys) else f"{len(down)} "
    return f" <small>{number}down with their nodes; {which} run again once these are removed</small>"


def _cells(scene: Scene) -> dict[str, dict[int, _Result]]:
    """Return the cells of each harmed application by the number of the disruption, the worst of several for one disruption."""
    found: dict[str, dict[int, _Result]] = {}
    for number, (loss, affected) in enumerate(zip(scene.losses, scene.effects_of_losses, strict=True), 1):
        for name, state, words in _harmed(scene, loss, affected):
            cells = found.setdefault(name, {})
            if number not in cells or STATES.index(state) < STATES.index(cells[number].state):
                cells[number] = _Result(number, state, words)
    return found


def _harmed(scene: Scene, loss: DisruptionEffect, affected: Sequence[Effect]) -> Iterator[tuple[str, str, str]]:
    """Yield the applications that a disruption harms, or that survive it only if their volumes allow that."""
    members = {key: each.name for each in scene.plan.applications for key in each.workloads}
    for blocked in loss.blocked:
        if blocked.workload:
            word = "refused" if blocked.refused else "blocked"
            yield members.get(blocked.workload) or scene.names.get(blocked.workload, blocked.workload), word, word
    for key in loss.volumes:
        yield members.get(key) or scene.names.get(key, key), "unjudged", "if volumes allow"
    for each in loss.applications:
        if each.outcome != "survives":
            yield each.application, each.outcome, _words(each.outcome, each.left, each.replicas)
    for effect in affected:
        if effect.outcome != "survives" and effect.workload not in members:
            yield scene.names.get(effect.workload, effect.workload), effect.outcome, _words(effect.outcome, effect.left, effect.asked)


def _words(outcome: Outcome, left: int, replicas: int) -> str:
    return f"{left} of {replicas}" if outcome == "degraded" else VERDICT_WORDS[outcome]


def _table(
    scene: Scene, noun: str, rows: Mapping[str, Mapping[int, _Result]], shared: Mapping[str, Sequence[Mapping[int, _Result]]]
) -> Iterator[str]:
    """Yield the table with a row for each application, then one for each title in ``shared``, which counts several."""
    columns = {kind: _columns(scene, kind, members) for kind, members in kinds(scene).items()}
    listed = [column for group in columns.values() for column in group]
    yield '<div class="scroll"><table class="matrix">\n<thead>\n<tr>'
    yield f'<th scope="col" rowspan="2">{noun.capitalize()}</th>'
    yield "".join(f'<th scope="colgroup" colspan="{len(group)}">{_kind_words(kind)}</th>' for kind, group in columns.items())
    yield "</tr>\n<tr>"
    for column in listed:
        yield f'<th scope="col"><a href="#f{column.numbers[0]}" data-loss="{column.numbers[0]}">{shown(column.title)}</a></th>'
    yield "</tr>\n</thead>\n<tbody>\n"
    for name, cells in rows.items():
        yield f'<tr><th scope="row">{shown(name)}</th>{"".join(_cell(column, cells) for column in listed)}</tr>\n'
    for title, several in shared.items():
        yield f'<tr><th scope="row">{title}</th>{"".join(_counts_cell(column, several) for column in listed)}</tr>\n'
    yield "</tbody>\n</table></div>\n"


def _kind_words(kind: Kind) -> str:
    action, key = kind
    return DONE[action] if action == "together" else f"{shown(domain_noun(key)) if key else 'nodes'} {DONE[action]}"


def _columns(scene: Scene, kind: Kind, members: Sequence[Numbered]) -> list[_Column]:
    """Return a column for each disruption of a kind, or one for all."""
    if len(members) > _COLUMNS_OF_A_KIND:
        return [_Column(f"{len(members)} {NOUNS[kind[0]]}s", tuple([number for number, _ in members]))]
    # The node, or the value of the label: the head of the columns names its key.
    names = [scene.nodes.get(loss.nodes[0], loss.nodes[0]) if is_of_node(loss) else label_of(loss)[1] or loss.what for _, loss in members]
    shared = len(common_suffix(names))
    columns = [_Column(name[: len(name) - shared], (number,)) for name, (number, _) in zip(names, members, strict=True)]
    return sorted(columns, key=lambda column: natural(column.title))


def _cell(column: _Column, cells: Mapping[int, _Result]) -> str:
    """Return a cell with the outcome; that of several disruptions has the worst, and how often it occurs."""
    hit = _hit(column, cells)
    if not hit:
        return '<td class="survives">survives</td>'
    worst = min(hit, key=lambda cell: STATES.index(cell.state))
    words = worst.words
    if len(column.numbers) > 1:
        number = sum(cell.state == worst.state for cell in hit)
        words = f"{number} {VERDICT_WORDS[worst.state]}"
    return f'<td class="{worst.state}"><a href="#f{worst.loss}" data-loss="{worst.loss}">{words}</a></td>'


def _counts_cell(column: _Column, several: Iterable[Mapping[int, _Result]]) -> str:
    """Return a cell that counts several applications by the worst that the disruptions of a column do to each."""
    hits = [min(hit, key=lambda cell: STATES.index(cell.state)) for cells in several if (hit := _hit(column, cells))]
    if not hits:
        return '<td class="survives">survive</td>'
    worst = min(hits, key=lambda cell: STATES.index(cell.state))
    counts = [(sum(cell.state == state for cell in hits), VERDICT_WORDS[state]) for state in STATES]
    words = "<br>".join(f"{number} {word}" for number, word in counts if number)
    return f'<td class="{worst.state}"><a href="#f{worst.loss}" data-loss="{worst.loss}">{words}</a></td>'


def _hit(column: _Column, cells: Mapping[int, _Result]) -> list[_Result]:
    return [cells[number] for number in column.numbers if number in cells]
