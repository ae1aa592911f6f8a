"""The first table of the page: what each disruption does to each application, worst first. A cell leads to the disruption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import DisruptionEffect, Outcome
from afflint.report.html_page import shown
from afflint.report.place.choices import Kind, Numbered, kinds
from afflint.report.place.scene import Scene, is_of_node
from afflint.report.place.view import Effect, common_suffix, label_of
from afflint.report.place.words import DONE, NOUNS, STATES, VERDICT_WORDS, natural

_COLUMNS_OF_A_KIND = 12
"""If more disruptions of a kind are in the plan, they share a column."""
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

    rows = sorted(found, key=harm)
    noun = scene.harmed_noun
    members = {key: each.name for each in scene.plan.applications for key in each.workloads}
    running = {members.get(key) or scene.names[key] for pods in scene.pods.values() for key, _ in pods}
    number = len(running - found.keys())
    if not (rows or number):
        return
    yield '<section class="resilience" aria-labelledby="resilience">\n'
    yield f'<h2 id="resilience">What each {noun} survives</h2>\n'
    if rows:
        yield f'<p class="soft choose">Choose a cell to see the {scene.noun}.</p>\n'
        yield from _table(scene, noun, {name: found[name] for name in rows[:_ROWS]})
    if len(rows) > _ROWS:
        yield f"<p>{len(rows) - _ROWS} more are harmed: see their entries below.</p>\n"
    if number:
        others = "other " * bool(rows)
        yield f"<p>{pluralize(number, f'{others}{noun}')} {'survives' if number == 1 else 'survive'} everything.</p>\n"
    yield "</section>\n"


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


def _table(scene: Scene, noun: str, rows: Mapping[str, Mapping[int, _Result]]) -> Iterator[str]:
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
    hit = [cells[number] for number in column.numbers if number in cells]
    if not hit:
        return '<td class="survives">survives</td>'
    worst = min(hit, key=lambda cell: STATES.index(cell.state))
    words = worst.words
    if len(column.numbers) > 1:
        number = sum(cell.state == worst.state for cell in hit)
        words = f"{number} {VERDICT_WORDS[worst.state]}"
    return f'<td class="{worst.state}"><a href="#f{worst.loss}" data-loss="{worst.loss}">{words}</a></td>'
