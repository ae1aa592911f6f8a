"""The choices on the page that work without a script: the disruption that the picture shows, and the workload that it highlights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import Action, DisruptionEffect, NodeRow
from afflint.report.html_page import details, shown
from afflint.report.place.scene import Scene, ending, is_of_node
from afflint.report.place.view import Effect, feasible_count, is_harmless, label_of, worst
from afflint.report.place.words import DONE, NOUNS, VERDICT_WORDS, scheduled_words, tally

_LOSSES_SHOWN = 14
"""With more disruptions than this, those that every workload survives are folded."""
_HARMFUL_SHOWN = 20
"""Harmful disruptions of one kind beyond this number are folded; the worst come first."""
_ALONE = 400
"""With more workloads than this, none can be highlighted."""
_FEW = 8
"""Up to this many workloads, the list to choose from is open."""

Kind = tuple[Action, str]
"""An action, and what it applies to: nodes or a topology key."""
Numbered = tuple[int, DisruptionEffect]


def can_highlight(scene: Scene) -> bool:
    """Return whether one workload can be highlighted."""
    return 1 < len(scene.plan.workloads) <= _ALONE


def rules(scene: Scene) -> str:
    """Return the CSS that highlights the selected workload. It contains numbers only, nothing from a manifest."""
    if not can_highlight(scene):
        return ""
    numbers = [mark.number for mark in scene.badges.values()]
    chips = ",".join(f'.ones:has(#s{number}:checked) ~ * [href="#w{number}"]' for number in numbers)
    summaries = ",".join(f".ones:has(#s{number}:checked) ~ .summaries .o{number}" for number in numbers)
    text = f"{chips} {{ --fade: 1; }}\n{summaries} {{ display: block; }}\n"
    if not can_hide(scene):
        return text
    # If only affected nodes are shown, show the nodes of the highlighted workload as well.
    home_classes = ",".join(f".ones:has(#s{number}:checked) ~ .racks .h{number}" for number in numbers)
    return f"{text}{home_classes} {{ display: block; }}\n"


def can_hide(scene: Scene) -> bool:
    """Return whether nodes that a disruption does not affect can be hidden."""
    return scene.dense and bool(scene.losses)


def home_classes(scene: Scene, nodes: Iterable[NodeRow]) -> str:
    """Return the CSS classes, one per workload with a replica there, of an element that contains nodes and can be hidden."""
    if not (can_hide(scene) and can_highlight(scene)):
        return ""
    keys = {key for node in nodes for key, _ in scene.pods.get(node.name, ())}
    return "".join(f" h{number}" for number in sorted(scene.badges[key].number for key in keys))


def losses(scene: Scene) -> Iterator[str]:
    """Yield the disruptions to choose from by kind, the worst of each first."""
    if not scene.losses:
        return
    legend = join_words([NOUNS[action] for action in scene.actions], "or").capitalize()
    yield f'<fieldset class="losses">\n<legend>{legend}</legend>\n'
    yield '<label><input type="radio" name="loss" id="f0" value="" checked> <span>none</span></label>\n'
    found = kinds(scene)
    fold = len(scene.losses) > _LOSSES_SHOWN
    for kind, members in found.items():
        harmless = [entry for entry in members if fold and is_harmless(entry[1])]
        harmful = members[: len(members) - len(harmless)]
        listed = _choices(scene, harmful[:_HARMFUL_SHOWN])
        listed += _folded(scene, harmful[_HARMFUL_SHOWN:], f"more {scene.noun}", " that affect a workload")
        listed += _folded(scene, harmless, scene.noun, " that every workload survives")
        yield details("kind", _kind_words(scene, kind, [loss for _, loss in members]), listed, opened=True) if len(found) > 1 else listed
    # On a narrow screen the effects are below the list.
    yield '<a class="tosee" href="#after">Show the effects</a>\n</fieldset>\n'


def _folded(scene: Scene, members: Sequence[Numbered], noun: str, more: str) -> str:
    return details("", f"{pluralize(len(members), noun)}{more}", _choices(scene, members)) if members else ""


def _choices(scene: Scene, members: Sequence[Numbered]) -> str:
    return "".join(_choice(scene, number, loss) for number, loss in members)


def kinds(scene: Scene) -> dict[Kind, list[Numbered]]:
    """Return the disruptions with their numbers by kind: drains first, then the smallest kind."""
    found: dict[Kind, list[Numbered]] = {}
    for number, loss in enumerate(scene.losses, 1):
        key = "node" if is_of_node(loss) else label_of(loss)[0]
        found.setdefault((loss.action, key), []).append((number, loss))
    return dict(sorted(found.items(), key=lambda entry: (entry[0][0] != "drain", len(entry[1]))))


def _kind_words(scene: Scene, kind: Kind, members: Sequence[DisruptionEffect]) -> str:
    """Return ``3 zones failed: 1 down, 2 degraded``."""
    action, key = kind
    noun = shown(domain_noun(key)) if key else NOUNS[action]
    done = f" {DONE[action]}" if key and len(scene.actions) > 1 else ""
    counts = tally(worst(loss) for loss in members if not loss.blocked)
    parts = [f"{sum(bool(loss.blocked) for loss in members)} blocked"] * any(loss.blocked for loss in members)
    words = {**VERDICT_WORDS, "survives": "survived"}
    parts += [f"{number} {words[verdict]}" for verdict, number in counts.items() if number]
    return f"<b>{pluralize(len(members), noun)}{done}</b>: {', '.join(parts)}"


def _choice(scene: Scene, number: int, loss: DisruptionEffect) -> str:
    button = f'<input type="radio" name="loss" id="f{number}" value="{shown(loss.what)}" data-action="{loss.action}">'
    done = f" {DONE[loss.action]}" * (len(scene.actions) > 1)
    what = scene.what(loss)
    title = f' title="{shown(loss.what)}"' * (what != shown(loss.what))
    effects = scene.effects_of_losses[number - 1]
    numbers = _numbers(loss, effects)
    small = f" <small>{numbers}</small>" if numbers else ""
    hit = [scene.badges[each.workload].number for each in effects if each.outcome != "survives"]
    hit += [scene.badges[each.workload].number for each in loss.blocked if each.workload in scene.badges]
    data = f' data-hits="{" ".join(map(str, sorted(set(hit))))}"' * bool(hit)
    return f'<label{data}>{button} <span class="what"{title}>{what}{done}</span> {ending(loss)}{small}</label>\n'


def _numbers(loss: DisruptionEffect, effects: Sequence[Effect]) -> str:
    """Return the size of the effect: ``10 workloads, 12 replicas``."""
    if loss.blocked:
        return f"{pluralize(len(loss.blocked), 'pod')} not evicted"
    harmed = [effect for effect in effects if effect.outcome in ("dead", "degraded")]
    if harmed:
        gone = sum(move.target is None for effect in harmed for move in effect.moves)
        return f"{pluralize(len(harmed), 'workload')}, {pluralize(gone, 'replica')}"
    interrupted = sum(effect.outcome == "interrupted" for effect in effects)
    if interrupted:
        return pluralize(interrupted, "workload")
    moved = sum(move.target is not None for effect in effects for move in effect.moves)
    return f"{pluralize(moved, 'replica')} {'moves' if moved == 1 else 'move'}" if moved else ""


def workloads(scene: Scene) -> Iterator[str]:
    """Yield the workloads with their badges, to highlight one of them, and a summary of the selected one."""
    if not can_highlight(scene):
        return
    buttons = ['<label><input type="radio" name="one" id="s0" value="" checked> all</label>\n']
    for workload in scene.plan.workloads:
        name, number = scene.name(workload.key), scene.badges[workload.key].number
        buttons.append(f'<label><input type="radio" name="one" id="s{number}" value="{name}"> {scene.badge(workload.key)} {name}</label>\n')
    listed = f'<fieldset aria-label="Workload to highlight">\n{"".join(buttons)}</fieldset>\n'
    yield details("ones", "Workloads: choose one to highlight its replicas", listed, opened=len(scene.plan.workloads) <= _FEW)
    yield '<div class="summaries" aria-live="polite">\n'
    nodes = pluralize(len(scene.plan.nodes), "node")
    for workload in scene.plan.workloads:
        number = scene.badges[workload.key].number
        summary = f"{scheduled_words(workload)}, fits {feasible_count(workload)} of {nodes}"
        name = f"{scene.badge(workload.key)} {scene.name(workload.key)}"
        yield f'<p class="o{number}">{name}: {summary}. <a href="#w{number}">Details by node</a></p>\n'
    yield "</div>\n"
