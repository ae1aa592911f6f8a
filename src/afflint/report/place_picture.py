"""The picture of the page: racks of nodes with their replicas, and every failure laid over it, to be chosen without a script.

The cluster is drawn once. What a failure changes is in the document too, marked with its number: ``l3`` are the nodes that failure 3
takes, ``a3`` is what is seen only after it. ``rules`` are the few lines of CSS that bring them out when its radio button is on. So
the page grows with the number of moves, not with failures times nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from afflint.placement.plan import Action, Loss, NodeRow, Plan, WorkloadPlan
from afflint.report.place_digest import (
    FATES,
    NOUNS,
    STATES,
    Effect,
    Rack,
    by_action,
    differs,
    domain_words,
    effects,
    is_control_plane,
    is_harmless,
    marks,
    pending,
    racks,
    ranked,
    short_names,
    standing,
    stranded,
    worst,
)
from afflint.report.wording import counted
from afflint.wording import visible

DOING: dict[Action, str] = {"lose": "losing", "drain": "draining", "remove": "removing"}
_DONE: dict[Action, str] = {"lose": "lost", "drain": "drained", "remove": "removed"}
_ENDED = FATES.keys() - {"waits"}
_HUES, _SHAPES = 7, 4
_DENSE_NODES, _DENSE_PODS = 40, 8
"""With more nodes, or more replicas per node, chips are initials only."""
_LOSSES_SHOWN = 14
"""With more failures than this, those that every workload survives are folded."""
_EFFECTS_SHOWN = 12
"""Of more workloads than this that a failure harms, the others are folded; of more that survive it, all."""
_CHIPS_SHOWN = 12
"""More replicas than this that wait for the same reason are folded."""
_LABELS_SHOWN = 3


def shown(text: str) -> str:
    """``text`` out of a manifest, fit to stand in HTML: in an element or in a quoted attribute."""
    return escape(visible(text), quote=True)


class Badge(NamedTuple):
    """How a workload is marked: the number of its section, unique initials, and the classes that colour it."""

    number: int
    initials: str
    classes: str


Waiting = dict[str, list[tuple[str, str]]]
"""By the reason why, replicas without a node: the keys of their workloads, and their pods."""


class Arrival(NamedTuple):
    """A replica that failure number ``loss`` brings to a node."""

    loss: int
    workload: str
    pod: str
    source: str


class Scene:
    """The plan, prepared for drawing: everything by node, failures numbered from 1, the worst first."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.racks = racks(plan)
        self.losses = ranked(plan.losses)
        self.workloads = {workload.key: workload for workload in plan.workloads}
        self.effects = [effects(loss, self.workloads) for loss in self.losses]
        self.names = short_names(plan.workloads)
        self.badges = badges(plan.workloads)
        replicas = sum(len(workload.replicas) for workload in plan.workloads)
        self.dense = len(plan.nodes) > _DENSE_NODES or replicas > _DENSE_PODS * max(1, len(plan.nodes))
        self.pods: dict[str, list[tuple[str, str]]] = {}
        for workload in plan.workloads:
            for node, pods in standing(workload).items():
                self.pods.setdefault(node, []).extend((workload.key, pod) for pod in pods)
        self.takes: dict[str, list[int]] = {}
        self.arrivals: dict[str, list[Arrival]] = {}
        self.departures: dict[tuple[str, str], list[tuple[int, str | None]]] = {}
        for number, loss in enumerate(self.losses, 1):
            self._add(number, loss)
        self.labels = _telling_labels(plan)
        self.actions = list(by_action(plan.losses))

    def _add(self, number: int, loss: Loss) -> None:
        for node in loss.nodes:
            self.takes.setdefault(node, []).append(number)
        for move in loss.moves:
            self.departures.setdefault((move.workload, move.pod), []).append((number, move.target))
            if move.target is not None:
                self.arrivals.setdefault(move.target, []).append(Arrival(number, move.workload, move.pod, move.source))

    def name(self, key: str) -> str:
        """How the workload is called, fit to be shown."""
        return shown(self.names.get(key, key))


def badges(workloads: Sequence[WorkloadPlan]) -> dict[str, Badge]:
    """By key, a badge for each workload: colours in turn, then the next shape."""
    found: dict[str, Badge] = {}
    taken: set[str] = set()
    for number, workload in enumerate(workloads):
        words = re.findall("[A-Za-z0-9]+", workload.name) or ["?"]
        initials = (words[0][0] + words[1][0] if len(words) > 1 else words[0][:2]).upper()
        choices = (initials if again < 2 else f"{initials}{again}" for again in range(1, len(workloads) + 2))
        initials = next(choice for choice in choices if choice not in taken)
        taken.add(initials)
        found[workload.key] = Badge(number + 1, initials, f"c{number % _HUES} s{number // _HUES % _SHAPES}")
    return found


def _telling_labels(plan: Plan) -> dict[str, list[str]]:
    """By node, the labels that people gave it and that not all nodes have: those that constraints are likely to name."""
    pairs: dict[tuple[str, str], int] = {}
    for node in plan.nodes:
        for pair in node.labels.items():
            pairs[pair] = pairs.get(pair, 0) + 1
    telling = {
        (key, value)
        for (key, value), count in pairs.items()
        if count < len(plan.nodes) and key != plan.group_by and not is_machine_made(key)
    }
    return {node.name: [f"{key}={value}" for key, value in sorted(node.labels.items()) if (key, value) in telling] for node in plan.nodes}


def is_machine_made(key: str) -> bool:
    """Whether a label is of a domain whose labels are set by Kubernetes, KubeVirt or a cloud rather than by the cluster's owner."""
    domain = key.partition("/")[0] if "/" in key else ""
    return domain.endswith(("kubernetes.io", "k8s.io", "kubevirt.io", "x-k8s.io", "amazonaws.com", "azure.com", "cloud.google.com"))


def rules(scene: Scene) -> str:
    """The CSS that brings out the failure whose radio button is on. It holds numbers only, nothing out of a manifest."""
    losses = len(scene.losses)
    if not losses:
        return ""
    # Every rule ends in a class that few elements have, and :has() looks no further than the buttons:
    # so a click stays quick with a thousand failures.
    chosen = [f".losses:has(#f{number}:checked) ~ .scene" for number in range(losses + 1)]
    lost = ",".join(f"{scope} .l{number}" for number, scope in enumerate(chosen) if number)
    touched = ",".join(f"{scope} .t{number}" for number, scope in enumerate(chosen) if number)
    seen = ",".join(f"{scope} .a{number}" for number, scope in enumerate(chosen))
    return (
        f"{lost} {{ --node: var(--lost); --strike: line-through; --lost-word: inline; --ghost: 0.65; --ghost-edge: dashed; }}\n"
        f"{lost},{touched} {{ display: block; }}\n"
        f"{seen} {{ display: var(--shown, block); }}\n"
    )


def picture(scene: Scene) -> Iterator[str]:
    """The racks with the failures to choose from, what the chosen one does, and the replicas without a node."""
    classes = "stage" + " asked" * bool(scene.losses) + " dense" * scene.dense
    yield f'<div class="{classes}">\n'
    yield from _choices(scene)
    yield '<div class="scene">\n<div aria-live="polite">\n'
    yield from _afterwards(scene)
    yield "</div>\n"
    if scene.dense:
        yield from _tray(scene)
        if scene.losses:
            yield '<label class="only"><input type="checkbox" id="only" checked> Show only the nodes that the failure touches</label>\n'
    yield '<div class="racks">\n'
    for rack in scene.racks:
        yield from _rack(scene, rack)
    yield "</div>\n"
    if not scene.dense:
        yield from _tray(scene)
    yield from _key(scene)
    yield "</div>\n</div>\n"


def _choices(scene: Scene) -> Iterator[str]:
    if not scene.losses:
        return
    done = " or ".join(_DONE[action] for action in scene.actions)
    yield f'<fieldset class="losses">\n<legend>What is {done}</legend>\n'
    yield '<label><input type="radio" name="loss" id="f0" checked> <span>nothing</span></label>\n'
    numbered = list(enumerate(scene.losses, 1))
    fold = len(numbered) > _LOSSES_SHOWN
    harmless = [entry for entry in numbered if fold and is_harmless(entry[1])]
    for number, loss in numbered[: len(numbered) - len(harmless)]:
        yield _choice(scene, number, loss)
    if harmless:
        noun = NOUNS[scene.actions[0]] if len(scene.actions) == 1 else "event"
        yield f"<details>\n<summary>{counted(len(harmless), noun)} that every workload survives</summary>\n"
        for number, loss in harmless:
            yield _choice(scene, number, loss)
        yield "</details>\n"
    yield "</fieldset>\n"


def _choice(scene: Scene, number: int, loss: Loss) -> str:
    button = f'<input type="radio" name="loss" id="f{number}">'
    done = f" {_DONE[loss.action]}" * (len(scene.actions) > 1)
    return f'<label>{button} <span class="what">{shown(loss.what)}{done}</span> {_ending(loss)}</label>\n'


def _ending(loss: Loss) -> str:
    """What comes of it at worst: a drain that does not end is that."""
    return state(loss.result if loss.result is not None and loss.blocked else worst(loss))


def state(outcome: str) -> str:
    """An outcome as a coloured word."""
    return f'<span class="state {outcome}">{outcome}</span>'


def _afterwards(scene: Scene) -> Iterator[str]:
    """What is to be read about each failure; only the chosen one is seen."""
    if not scene.losses:
        return
    yield f'<section class="after when a0">\n<h3>Nothing is {" or ".join(_DONE[action] for action in scene.actions)}</h3>\n'
    noun = NOUNS[scene.actions[0]] if len(scene.actions) == 1 else "node"
    means = " ".join(f"{NOUNS[action].capitalize()}: {STATES[action]}." for action in scene.actions)
    yield f'<p class="soft">Choose a {noun} to see what it does. {means}</p>\n</section>\n'
    for number, (loss, found) in enumerate(zip(scene.losses, scene.effects, strict=True), 1):
        nodes = f" <small>{len(loss.nodes)} nodes</small>" if len(loss.nodes) > 1 else ""
        yield f'<section class="after when a{number}">\n'
        yield f'<h3>After {DOING[loss.action]} <span class="what">{shown(loss.what)}</span>{nodes} {_ending(loss)}</h3>\n'
        yield from (f'<p class="soft">{shown(note)}</p>\n' for note in loss.notes)
        yield from _blocked(scene, loss)
        if found:
            yield from _effects(scene, found)
        elif not loss.blocked:
            yield "<p>No replica stands there.</p>\n"
        removed = differs(loss)
        if removed is not None:
            yield f"<p>Once removed: {state(worst(removed))}</p>\n"
            yield from _effects(scene, effects(removed, scene.workloads))
        yield "</section>\n"


def _blocked(scene: Scene, loss: Loss) -> Iterator[str]:
    """The pods that keep a drain from ending."""
    if loss.blocked:
        yield "<ul>\n"
        for each in loss.blocked:
            name = f"{badge(scene, each.workload)} {scene.name(each.workload)}: " if each.workload else ""
            pod = f"<code>{shown(each.pod)}</code> does not leave {shown(each.node)}"
            yield f"<li>{name}{pod}: {shown(each.why)}</li>\n"
        yield "</ul>\n"


def _effects(scene: Scene, found: Sequence[Effect]) -> Iterator[str]:
    """The workloads that suffer, then those that move and survive; of either no more in the open than can be read."""
    harmed = [effect for effect in found if effect.outcome != "survives"]
    spared = found[len(harmed) :]
    yield from _effect_list(scene, harmed[:_EFFECTS_SHOWN])
    if rest := harmed[_EFFECTS_SHOWN:]:
        yield from _folded(scene, f"{counted(len(rest), 'more workload')} dead, degraded or interrupted", rest)
    if len(spared) <= _EFFECTS_SHOWN:
        yield from _effect_list(scene, spared)
    else:
        moves = sum(move.target is not None for effect in spared for move in effect.moves)
        yield from _folded(scene, f"{counted(len(spared), 'workload')} survive: {counted(moves, 'replica')} move", spared)


def _folded(scene: Scene, summary: str, found: Sequence[Effect]) -> Iterator[str]:
    yield f"<details>\n<summary>{summary}</summary>\n"
    yield from _effect_list(scene, found)
    yield "</details>\n"


def _effect_list(scene: Scene, found: Sequence[Effect]) -> Iterator[str]:
    if found:
        yield "<ul>\n"
        for effect in found:
            yield f"<li>{badge(scene, effect.workload)} {_effect(scene, effect)}</li>\n"
        yield "</ul>\n"


def _effect(scene: Scene, effect: Effect) -> str:
    head = f"{scene.name(effect.workload)} {state(effect.outcome)}"
    if effect.outcome not in ("survives", "interrupted"):
        head += f", keeps {effect.left} of {counted(effect.asked, 'replica')}"
    told = []
    for why, moves in stranded(effect).items():
        pods = ", ".join(f"<code>{shown(move.pod)}</code>" for move in moves)
        place = "has no place" if len(moves) == 1 else "have no place"
        told.append(f"{pods} {FATES[moves[0].fate] if moves[0].fate in _ENDED else place}" + (f" ({shown(why)})" if why else ""))
    for move in effect.moves:
        if move.target is not None:
            verb = "migrates" if move.fate == "migrated" else "moves"
            told.append(f"<code>{shown(move.pod)}</code> {verb} from {shown(move.source)} to {shown(move.target)}")
        elif effect.outcome == "survives":
            told.append(f"<code>{shown(move.pod)}</code> ends with its node")
    return f"{head}: {'; '.join(told)}" if told else head


def badge(scene: Scene, key: str) -> str:
    """The initials of a workload in its colours, for the eye only: its name stands beside them."""
    mark = scene.badges.get(key)
    return "" if mark is None else f'<span class="chip {mark.classes}" aria-hidden="true"><b>{mark.initials}</b></span>'


def _chip(scene: Scene, key: str, pod: str, *, short: bool) -> str:
    """A replica: initials and name, or initials alone where there is no room. It leads to its workload."""
    mark = scene.badges.get(key)
    if mark is None:
        return f'<span class="chip"><span>{shown(pod)}</span></span>'
    if short:
        return f'<a class="chip {mark.classes}" href="#w{mark.number}" title="{shown(pod)}"><b>{mark.initials}</b></a>'
    return f'<a class="chip {mark.classes}" href="#w{mark.number}"><b aria-hidden="true">{mark.initials}</b><span>{shown(pod)}</span></a>'


def _rack(scene: Scene, rack: Rack) -> Iterator[str]:
    title = shown(domain_words(scene.plan.group_by, rack.domain))
    yield f'<section class="rack">\n<h3>{title} <small>{counted(len(rack.nodes), "node")}</small></h3>\n<ul class="nodes">\n'
    for node in rack.nodes:
        yield from _node(scene, node)
    yield "</ul>\n</section>\n"


def _node(scene: Scene, node: NodeRow) -> Iterator[str]:
    taken = scene.takes.get(node.name, ())
    closed = " closed" * bool(node.cordoned or node.taints)
    lost = f' <em class="lost">{" or ".join(_DONE[action] for action in scene.actions)}</em>' if taken else ""
    arrivals = scene.arrivals.get(node.name, ())
    touched = [f" l{number}" for number in taken] + [f" t{number}" for number in dict.fromkeys(arrival.loss for arrival in arrivals)]
    yield f'<li class="node{closed}{"".join(touched)}">'
    yield f'<span class="name">{shown(node.name)}</span>{lost}{_marks(scene, node)}'
    pods = scene.pods.get(node.name, ())
    if pods or arrivals:
        yield '<ul class="pods">'
        for key, pod in pods:
            yield f"<li>{_chip(scene, key, pod, short=scene.dense)}{_departures(scene, key, pod)}</li>"
        for loss, key, pod, source in arrivals:
            yield f'<li class="came when a{loss}">{_chip(scene, key, pod, short=scene.dense)}{_moved(scene, f"from {shown(source)}")}</li>'
        yield "</ul>"
    yield "</li>\n"


def _marks(scene: Scene, node: NodeRow) -> str:
    role = ["control plane"] * is_control_plane(node)
    if scene.dense:
        words = role + ["cordoned"] * node.cordoned + ["tainted"] * bool(node.taints and not role)
        title = f' title="{shown(", ".join(marks(node)))}"' if words else ""
        return f'<p class="marks"{title}>{", ".join(words)}</p>' if words else ""
    labels = scene.labels[node.name]
    more = [f"{len(labels) - _LABELS_SHOWN} more labels"] if len(labels) > _LABELS_SHOWN + 1 else []
    guards = "".join(f'<p class="marks guard">{shown(word)}</p>' for word in role + marks(node))
    return guards + "".join(f'<p class="marks">{shown(word)}</p>' for word in (labels[:_LABELS_SHOWN] if more else labels) + more)


def _departures(scene: Scene, key: str, pod: str) -> str:
    if scene.dense:
        return ""
    return "".join(
        f' <span class="moved when a{loss}">{"no place left" if target is None else f"to {shown(target)}"}</span>'
        for loss, target in scene.departures.get((key, pod), ())
    )


def _moved(scene: Scene, words: str) -> str:
    return "" if scene.dense else f' <span class="moved">{words}</span>'


def _tray(scene: Scene) -> Iterator[str]:
    """The replicas without a node, by reason: those that never had one, and those of which a failure leaves no place."""
    always = _waiting(scene.plan)
    after = [_stranded(found) for found in scene.effects]
    numbers = [number for number, waiting in enumerate(after, 1) if waiting]
    if not always and not numbers:
        return
    classes = "tray" if always else "tray when" + "".join(f" a{number}" for number in numbers)
    yield f'<section class="{classes}">\n<h3>Without a node</h3>\n<ul>\n'
    for why, pods in always.items():
        yield f"<li>{_pods_words(scene, pods, why)}</li>\n"
    for number in numbers:
        for why, pods in after[number - 1].items():
            yield f'<li class="when a{number}">{_pods_words(scene, pods, why)}</li>\n'
    yield "</ul>\n</section>\n"


def _waiting(plan: Plan) -> Waiting:
    known = {node.name for node in plan.nodes}
    found: Waiting = {}
    for workload in plan.workloads:
        for why, replicas in pending(workload).items():
            found.setdefault(why or workload.error or "", []).extend((workload.key, replica.pod) for replica in replicas)
        for replica in workload.replicas:
            if replica.node is not None and replica.node not in known:
                why = f"on {replica.node}, which is not among the nodes"
                found.setdefault(why, []).append((workload.key, replica.pod))
    return found


def _stranded(found: Iterable[Effect]) -> Waiting:
    waiting: Waiting = {}
    for effect in found:
        for why, moves in stranded(effect).items():
            waiting.setdefault(why, []).extend((effect.workload, move.pod) for move in moves)
    return waiting


def _pods_words(scene: Scene, pods: Sequence[tuple[str, str]], why: str) -> str:
    chips = " ".join(_chip(scene, key, pod, short=False) for key, pod in pods)
    if len(pods) <= _CHIPS_SHOWN:
        return f"{chips} {shown(why)}"
    return f"<details><summary>{len(pods)} replicas: {shown(why)}</summary> {chips}</details>"


def _key(scene: Scene) -> Iterator[str]:
    """What the signs of the picture mean, as far as they occur."""
    signs = {"dashed box: cordoned or tainted": any(node.cordoned or node.taints for node in scene.plan.nodes)}
    signs[f"grey box: {' or '.join(_DONE[action] for action in scene.actions)}"] = bool(scene.losses)
    signs["outlined replica: has moved there"] = bool(scene.arrivals)
    if scene.dense:
        signs["initials: a replica of the workload with these initials; point at it for its name"] = bool(scene.pods)
    if any(signs.values()):
        yield '<p class="key">' + "".join(f"<span>{sign}</span>" for sign, occurs in signs.items() if occurs) + "</p>\n"


def outcomes_by_workload(losses: Iterable[Loss]) -> Mapping[str, Mapping[str, list[str]]]:
    """By workload key and outcome other than ``survives``, what brings it about: ``losing node a``, and then ``node b``."""
    found: dict[str, dict[str, list[str]]] = {}
    for action, each in by_action(losses).items():
        for loss in each:
            for key, outcome in loss.outcomes.items():
                if outcome != "survives":
                    told = found.setdefault(key, {}).setdefault(outcome, [])
                    # Once for all that follow it.
                    doing = "" if any(other.startswith(DOING[action]) for other in told) else f"{DOING[action]} "
                    told.append(f"{doing}{loss.what}")
    return found
