"""What can be chosen on the page without a script: the failure that is laid over the picture, and the workload that is seen alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.phrases import pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import Action, DisruptionEffect, NodeRow
from afflint.report.html_page import shown
from afflint.report.place.digest import NOUNS, VERDICTS, Effect, feasible_count, is_harmless, placed_words, tally, worst
from afflint.report.place.scene import DONE, Scene, badge, ending

_LOSSES_SHOWN = 14
"""With more failures than this, those that every workload survives are folded."""
_HARMFUL_SHOWN = 20
"""Of one kind, more failures than this are folded though they do harm: the worst stand in the open."""
_ALONE = 400
"""Of more workloads than this none can be seen alone."""
_FEW = 8
"""Up to as many workloads stand in the open to be chosen."""

Kind = tuple[Action, str]
"""What happens, and to what: nodes, zones."""
Numbered = tuple[int, DisruptionEffect]


def alone(scene: Scene) -> bool:
    """Whether one workload can be singled out."""
    return 1 < len(scene.plan.workloads) <= _ALONE


def rules(scene: Scene) -> str:
    """The CSS that brings out the workload whose radio button is on. It holds numbers only, nothing out of a manifest."""
    if not alone(scene):
        return ""
    numbers = [mark.number for mark in scene.badges.values()]
    chips = ",".join(f'.ones:has(#s{number}:checked) ~ * [href="#w{number}"]' for number in numbers)
    words = ",".join(f".ones:has(#s{number}:checked) ~ .told .o{number}" for number in numbers)
    text = f"{chips} {{ --fade: 1; }}\n{words} {{ display: block; }}\n"
    if not hides(scene):
        return text
    # Where only what a failure touches is shown, so are the nodes of the workload that is seen alone.
    homes = ",".join(f".ones:has(#s{number}:checked) ~ .racks .h{number}" for number in numbers)
    return f"{text}{homes} {{ display: block; }}\n"


def hides(scene: Scene) -> bool:
    """Whether nodes can be hidden that a failure does not touch."""
    return scene.dense and bool(scene.losses)


def homes(scene: Scene, nodes: Iterable[NodeRow]) -> str:
    """The classes of an element that holds some nodes, for the workloads that have a replica there, where it could be hidden."""
    if not (hides(scene) and alone(scene)):
        return ""
    there = {key for node in nodes for key, _ in scene.pods.get(node.name, ())}
    return "".join(f" h{number}" for number in sorted(scene.badges[key].number for key in there))


def losses(scene: Scene) -> Iterator[str]:
    """All failures by kind, the worst of each first."""
    if not scene.losses:
        return
    done = " or ".join(DONE[action] for action in scene.actions)
    yield f'<fieldset class="losses">\n<legend>What is {done}</legend>\n'
    yield '<label><input type="radio" name="loss" id="f0" value="" checked> <span>nothing</span></label>\n'
    kinds: dict[Kind, list[Numbered]] = {}
    for numbered in enumerate(scene.losses, 1):
        kinds.setdefault(_kind(numbered[1]), []).append(numbered)
    fold = len(scene.losses) > _LOSSES_SHOWN
    for kind, members in sorted(kinds.items(), key=lambda entry: len(entry[1])):
        if len(kinds) > 1:
            yield f'<details class="kind" open>\n<summary>{_kind_words(scene, kind, [loss for _, loss in members])}</summary>\n'
        harmless = [entry for entry in members if fold and is_harmless(entry[1])]
        harmful = members[: len(members) - len(harmless)]
        for number, loss in harmful[:_HARMFUL_SHOWN]:
            yield _loss(scene, number, loss)
        noun = NOUNS[scene.actions[0]] if len(scene.actions) == 1 else "event"
        yield from _folded(scene, harmful[_HARMFUL_SHOWN:], f"more {noun}", " that do harm")
        yield from _folded(scene, harmless, noun, " that every workload survives")
        if len(kinds) > 1:
            yield "</details>\n"
    # On a narrow screen what a failure does stands below the list.
    yield '<a class="tosee" href="#after">See what it does</a>\n</fieldset>\n'


def _folded(scene: Scene, members: Sequence[Numbered], noun: str, more: str) -> Iterator[str]:
    if members:
        yield f"<details>\n<summary>{pluralize(len(members), noun)}{more}</summary>\n"
        for number, loss in members:
            yield _loss(scene, number, loss)
        yield "</details>\n"


def _kind(loss: DisruptionEffect) -> Kind:
    if len(loss.nodes) == 1 and loss.what == f"node {loss.nodes[0]}":
        return loss.action, "node"
    key, equals, _ = loss.what.partition("=")
    return loss.action, key if equals else ""


def _kind_words(scene: Scene, kind: Kind, members: Sequence[DisruptionEffect]) -> str:
    """``3 zones lost: 1 dead, 2 degraded``."""
    action, key = kind
    noun = shown(domain_noun(key)) if key else NOUNS[action]
    done = f" {DONE[action]}" if key and len(scene.actions) > 1 else ""
    counts = tally(worst(loss) for loss in members if not loss.blocked)
    parts = [f"{sum(bool(loss.blocked) for loss in members)} blocked"] * any(loss.blocked for loss in members)
    parts += [f"{counts[verdict]} {_TALLIED.get(verdict, verdict)}" for verdict in VERDICTS if counts[verdict]]
    return f"<b>{pluralize(len(members), noun)}{done}</b>: {', '.join(parts)}"


_TALLIED = {"survives": "survived", "unjudged": "not judged"}


def _loss(scene: Scene, number: int, loss: DisruptionEffect) -> str:
    button = f'<input type="radio" name="loss" id="f{number}" value="{shown(loss.what)}" data-action="{loss.action}">'
    done = f" {DONE[loss.action]}" * (len(scene.actions) > 1)
    what = scene.what(loss)
    title = f' title="{shown(loss.what)}"' * (what != shown(loss.what))
    numbers = _numbers(loss, scene.effects[number - 1])
    told = f" <small>{numbers}</small>" if numbers else ""
    return f'<label>{button} <span class="what"{title}>{what}{done}</span> {ending(loss)}{told}</label>\n'


def _numbers(loss: DisruptionEffect, found: Sequence[Effect]) -> str:
    """How much a failure does, in numbers: ``10 workloads, 12 replicas``."""
    if loss.blocked:
        return f"{pluralize(len(loss.blocked), 'pod')} cannot leave"
    harmed = [effect for effect in found if effect.outcome in ("dead", "degraded")]
    if harmed:
        gone = sum(move.target is None for effect in harmed for move in effect.moves)
        return f"{pluralize(len(harmed), 'workload')}, {pluralize(gone, 'replica')}"
    interrupted = sum(effect.outcome == "interrupted" for effect in found)
    if interrupted:
        return pluralize(interrupted, "workload")
    moved = sum(move.target is not None for effect in found for move in effect.moves)
    return f"{pluralize(moved, 'replica')} {'moves' if moved == 1 else 'move'}" if moved else ""


def workloads(scene: Scene) -> Iterator[str]:
    """The workloads with their initials, to see one of them alone; then what is said of the one that is chosen."""
    if not alone(scene):
        return
    few = len(scene.plan.workloads) <= _FEW
    yield f'<details class="ones"{" open" * few}>\n<summary>Workloads and their letters: choose one to see it alone</summary>\n'
    yield '<fieldset aria-label="The workload to be seen alone">\n'
    yield '<label><input type="radio" name="one" id="s0" value="" checked> all</label>\n'
    for workload in scene.plan.workloads:
        name, number = scene.name(workload.key), scene.badges[workload.key].number
        yield f'<label><input type="radio" name="one" id="s{number}" value="{name}"> {badge(scene, workload.key)} {name}</label>\n'
    yield '</fieldset>\n</details>\n<div class="told" aria-live="polite">\n'
    nodes = pluralize(len(scene.plan.nodes), "node")
    for workload in scene.plan.workloads:
        number = scene.badges[workload.key].number
        told = f"{placed_words(workload)}, {feasible_count(workload)} of {nodes} fit"
        name = f"{badge(scene, workload.key)} {scene.name(workload.key)}"
        yield f'<p class="o{number}">{name}: {told}. <a href="#w{number}">Node by node</a></p>\n'
    yield "</div>\n"
