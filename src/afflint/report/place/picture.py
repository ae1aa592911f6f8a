"""The picture of the page: racks of nodes with their replicas, and every failure laid over it, to be chosen without a script.

The cluster is drawn once. What a failure changes is in the document too, marked with its number: ``l3`` are the nodes that failure 3
takes, ``a3`` is what is seen only after it. ``rules`` are the few lines of CSS that bring them out when its radio button is on. So
the page grows with the number of moves, not with failures times nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.findings.phrases import pluralize
from afflint.placement.plan import VOLUMES_LEFT_OUT, DisruptionEffect, NodeRow, Plan, ReplicaMove, unjudged_words
from afflint.report.html_page import shown
from afflint.report.place import choices
from afflint.report.place.digest import (
    FATES,
    NOUNS,
    STATES,
    Effect,
    Rack,
    by_action,
    differs,
    domain_words,
    effects,
    gap_words,
    is_control_plane,
    marks,
    pending,
    stranded,
    worst,
)
from afflint.report.place.scene import DOING, DONE, Scene, badge, ending, state

_ENDED = FATES.keys() - {"waits"}
_EFFECTS_SHOWN = 12
"""Of more workloads than this that a failure harms, the others are folded; of more that survive it, all."""
_CHIPS_SHOWN = 12
"""More replicas than this that wait for the same reason are folded."""
_LABELS_SHOWN = 3
_WIDE = {" w4": 40, " w2": 12}
"""The class of a node's box with more replicas than this, in a large cluster."""


Waiting = dict[str, list[tuple[str, str]]]
"""By the reason why, replicas without a node: the keys of their workloads, and their pods."""


def rules(scene: Scene) -> str:
    """The CSS that brings out the failure and the workload whose radio buttons are on. It holds numbers only, nothing out of a manifest."""
    single = choices.rules(scene)
    losses = len(scene.losses)
    if not losses:
        return single
    # Every rule ends in a class that few elements have, and :has() looks no further than the buttons:
    # so a click stays quick with a thousand failures.
    chosen = [f".losses:has(#f{number}:checked) ~ .scene" for number in range(losses + 1)]
    lost = ",".join(f"{scope} .l{number}" for number, scope in enumerate(chosen) if number)
    touched = ",".join(f"{scope} .t{number}" for number, scope in enumerate(chosen) if number)
    seen = ",".join(f"{scope} .a{number}" for number, scope in enumerate(chosen))
    return (
        f"{lost} {{ --node: var(--lost); --strike: line-through; --lost-word: inline; --ghost: 0.65; --ghost-edge: dashed; }}\n"
        f"{lost},{touched} {{ display: block; }}\n"
        f"{seen} {{ display: var(--shown, block); }}\n{single}"
    )


def picture(scene: Scene) -> Iterator[str]:
    """The racks with the failures to choose from, what the chosen one does, and the replicas without a node."""
    classes = "stage" + " asked" * bool(scene.losses) + " dense" * scene.dense
    yield f'<div class="{classes}">\n'
    yield from choices.losses(scene)
    yield '<div class="scene">\n<div id="after" aria-live="polite">\n'
    yield from _afterwards(scene)
    yield "</div>\n"
    yield from _tray(scene)
    yield from choices.workloads(scene)
    if choices.hides(scene):
        more = ", and those of a workload that is seen alone" * choices.alone(scene)
        yield f'<label class="only"><input type="checkbox" id="only" checked> Show only the nodes that the failure touches{more}</label>\n'
    yield '<div class="racks">\n'
    for rack in scene.racks:
        yield from _rack(scene, rack)
    yield "</div>\n"
    yield from _key(scene)
    yield "</div>\n</div>\n"


def _afterwards(scene: Scene) -> Iterator[str]:
    """What is to be read about each failure; only the chosen one is seen."""
    if not scene.losses:
        return
    yield f'<section class="after when a0">\n<h3>Nothing is {" or ".join(DONE[action] for action in scene.actions)}</h3>\n'
    noun = NOUNS[scene.actions[0]] if len(scene.actions) == 1 else "node"
    means = " ".join(f"{NOUNS[action].capitalize()}: {STATES[action]}." for action in scene.actions)
    yield f'<p class="soft">Choose a {noun} to see what it does. {means}</p>\n</section>\n'
    for number, (loss, found) in enumerate(zip(scene.losses, scene.effects, strict=True), 1):
        nodes = f" <small>{len(loss.nodes)} nodes</small>" if len(loss.nodes) > 1 else ""
        yield f'<section class="after when a{number}">\n'
        yield f'<h3>After {DOING[loss.action]} <span class="what">{scene.what(loss)}</span>{nodes} {ending(loss)}</h3>\n'
        yield from (f'<p class="soft">{shown(note)}</p>\n' for note in loss.notes)
        yield from _blocked(scene, loss)
        if loss.unevaluated:
            yield f"<p>{unjudged_words(loss.unevaluated)}.</p>\n"
        if found:
            yield from _effects(scene, found)
        elif not (loss.blocked or loss.unevaluated):
            yield "<p>No replica stands there.</p>\n"
        removed = differs(loss)
        if removed is not None:
            yield f"<p>Once removed: {state(worst(removed))}</p>\n"
            yield from _effects(scene, effects(removed, scene.workloads))
        yield "</section>\n"


def _blocked(scene: Scene, loss: DisruptionEffect) -> Iterator[str]:
    """The pods that keep a drain from ending."""
    if loss.blocked:
        yield "<ul>\n"
        for each in loss.blocked:
            name = f"{badge(scene, each.workload)} {scene.name(each.workload)}: " if each.workload else ""
            pod = f"<code>{shown(each.pod)}</code> does not leave {scene.node(each.node)}"
            yield f"<li>{name}{pod}: {shown(each.why)}</li>\n"
        yield "</ul>\n"


def _effects(scene: Scene, found: Sequence[Effect]) -> Iterator[str]:
    """The workloads that suffer, then those that move and survive; of either no more in the open than can be read."""
    harmed = [effect for effect in found if effect.outcome != "survives"]
    spared = found[len(harmed) :]
    yield from _effect_list(scene, harmed[:_EFFECTS_SHOWN])
    if rest := harmed[_EFFECTS_SHOWN:]:
        yield from _folded(scene, f"{pluralize(len(rest), 'more workload')} dead, degraded or interrupted", rest)
    if len(spared) <= _EFFECTS_SHOWN:
        yield from _effect_list(scene, spared)
    else:
        moves = sum(move.target is not None for effect in spared for move in effect.moves)
        yield from _folded(scene, f"{pluralize(len(spared), 'workload')} survive: {pluralize(moves, 'replica')} move", spared)


def _folded(scene: Scene, summary: str, found: Sequence[Effect]) -> Iterator[str]:
    yield f"<details>\n<summary>{summary}</summary>\n"
    yield from _effect_list(scene, found)
    yield "</details>\n"


def _effect_list(scene: Scene, found: Sequence[Effect]) -> Iterator[str]:
    """One after the other; workloads that suffer for the same reason, which is told once, stand together."""
    if not found:
        return
    yield "<ul>\n"
    alike: dict[object, list[Effect]] = {}
    for effect in found:
        alike.setdefault(_reason(effect) or effect.workload, []).append(effect)
    for several in alike.values():
        reason = _reason(several[0])
        if reason is None or len(several) == 1:
            for effect in several:
                yield f"<li>{badge(scene, effect.workload)} {_effect(scene, effect)}</li>\n"
        else:
            yield f"<li>{_lacking(len(several), *reason)}:\n<ul>\n"
            for effect in several:
                yield f"<li>{badge(scene, effect.workload)} {_kept(scene, effect)}: {_pods(effect.moves)}</li>\n"
            yield "</ul></li>\n"
    yield "</ul>\n"


def _reason(effect: Effect) -> tuple[str, str] | None:
    """What is said of its replicas that do not come up again, where that is all there is to tell, and why it is so."""
    if effect.outcome in ("survives", "interrupted") or any(move.target is not None for move in effect.moves):
        return None
    reasons = {(FATES[move.fate if move.fate in _ENDED else "waits"], move.why) for move in effect.moves}
    return reasons.pop() if len(reasons) == 1 else None


def _lacking(number: int, fate: str, why: str) -> str:
    return f"{pluralize(number, 'workload')} with replicas {fate}" + (f" ({shown(why)})" if why else "")


def _pods(moves: Iterable[ReplicaMove]) -> str:
    return ", ".join(f"<code>{shown(move.pod)}</code>" for move in moves)


def _kept(scene: Scene, effect: Effect) -> str:
    """Its name, what becomes of it, and how many of its replicas are left."""
    head = f"{scene.name(effect.workload)} {state(effect.outcome)}"
    if effect.outcome not in ("survives", "interrupted"):
        head += f", keeps {effect.left} of {pluralize(effect.asked, 'replica')}"
    elif effect.outcome == "interrupted" and (gap := gap_words(effect)):
        head += f" for {gap}"
    return head


def _effect(scene: Scene, effect: Effect) -> str:
    head = _kept(scene, effect)
    told = []
    for why, moves in stranded(effect).items():
        place = "has no place" if len(moves) == 1 else "have no place"
        told.append(f"{_pods(moves)} {FATES[moves[0].fate] if moves[0].fate in _ENDED else place}" + (f" ({shown(why)})" if why else ""))
    for move in effect.moves:
        if move.target is not None:
            verb = "migrates" if move.fate == "migrated" else "moves"
            told.append(f"<code>{shown(move.pod)}</code> {verb} from {scene.node(move.source)} to {scene.node(move.target)}")
        elif effect.outcome == "survives":
            told.append(f"<code>{shown(move.pod)}</code> ends with its node")
    if effect.volumes and any(move.target is not None for move in effect.moves):
        told.append(VOLUMES_LEFT_OUT)
    return f"{head}: {'; '.join(told)}" if told else head


def _chip(scene: Scene, key: str, pod: str, *, short: bool) -> str:
    """A replica: initials and name, or initials alone where there is no room. It leads to its workload.

    Chips are no stops of the tab key: there may be thousands, and the list of workloads leads to the same places.
    """
    mark = scene.badges.get(key)
    if mark is None:
        return f'<span class="chip"><span>{shown(pod)}</span></span>'
    link = f'<a class="chip {mark.classes}" href="#w{mark.number}" tabindex="-1"'
    if short:
        return f'{link} title="{shown(pod)}"><b>{mark.initials}</b></a>'
    return f'{link}><b aria-hidden="true">{mark.initials}</b><span>{shown(pod)}</span></a>'


def _rack(scene: Scene, rack: Rack) -> Iterator[str]:
    title = shown(domain_words(scene.plan.group_by, rack.domain))
    boxes, empty = _folded_nodes(scene, rack)
    touched = sorted({number for node in rack.nodes for number in _touching(scene, node)}) if scene.dense else ()
    classes = "".join(f" t{number}" for number in touched) + choices.homes(scene, rack.nodes)
    yield f'<section class="rack{classes}">\n<h3>{title} <small>{pluralize(len(rack.nodes), "node")}</small></h3>\n<ul class="nodes">\n'
    for node in boxes:
        yield from _node(scene, node)
    for alike in empty:
        yield _empty_nodes(scene, alike)
    yield "</ul>\n</section>\n"


def _touching(scene: Scene, node: NodeRow) -> set[int]:
    """The numbers of the failures that take the node or bring a replica to it."""
    return {*scene.takes.get(node.name, ()), *(arrival.loss for arrival in scene.arrivals.get(node.name, ()))}


def _folded_nodes(scene: Scene, rack: Rack) -> tuple[list[NodeRow], list[list[NodeRow]]]:
    """The nodes to be drawn, and those of a large cluster that never have a replica, together where they have the same marks."""
    alike: dict[tuple[str, ...], list[NodeRow]] = {}
    for node in rack.nodes if scene.dense else ():
        if node.name not in scene.pods and node.name not in scene.arrivals:
            alike.setdefault((str(is_control_plane(node)), *marks(node)), []).append(node)
    folded = [nodes for nodes in alike.values() if len(nodes) > 1]
    hidden = {node.name for nodes in folded for node in nodes}
    return [node for node in rack.nodes if node.name not in hidden], folded


def _empty_nodes(scene: Scene, nodes: Sequence[NodeRow]) -> str:
    """One box for nodes without a replica that have the same marks. It is lost where all of them are."""
    taken = [set(scene.takes.get(node.name, ())) for node in nodes]
    all_lost = set.intersection(*taken)
    touched = [f" l{number}" for number in sorted(all_lost)] + [f" t{number}" for number in sorted(set.union(*taken) - all_lost)]
    closed = " closed" * bool(nodes[0].cordoned or nodes[0].taints)
    names = shown(", ".join(node.name for node in nodes))
    return (
        f'<li class="node many{closed}{"".join(touched)}"><details><summary><span class="name">{len(nodes)} nodes</span>'
        f"{_lost_word(scene) if all_lost else ''} without a replica{_marks(scene, nodes[0])}</summary>{names}</details></li>\n"
    )


def _lost_word(scene: Scene) -> str:
    return f' <em class="lost">{" or ".join(DONE[action] for action in scene.actions)}</em>'


def _node(scene: Scene, node: NodeRow) -> Iterator[str]:
    taken = scene.takes.get(node.name, ())
    closed = " closed" * bool(node.cordoned or node.taints)
    lost = _lost_word(scene) if taken else ""
    arrivals = scene.arrivals.get(node.name, ())
    pods = scene.pods.get(node.name, ())
    wide = next((name for name, least in _WIDE.items() if len(pods) > least), "") if scene.dense else ""
    touched = [f" l{number}" for number in taken] + [f" t{number}" for number in dict.fromkeys(arrival.loss for arrival in arrivals)]
    yield f'<li class="node{closed}{wide}{"".join(touched)}{choices.homes(scene, (node,))}">'
    name = scene.node(node.name)
    title = f' title="{shown(node.name)}"' * (name != shown(node.name))
    yield f'<span class="name"{title}>{name}</span>{lost}{_marks(scene, node)}'
    if pods or arrivals:
        yield '<ul class="pods">'
        for key, pod in pods:
            yield f"<li>{_chip(scene, key, pod, short=scene.dense)}{_departures(scene, key, pod)}</li>"
        for loss, key, pod, source in arrivals:
            moved = "" if scene.dense else f' <span class="moved">from {scene.node(source)}</span>'
            yield f'<li class="came when a{loss}">{_chip(scene, key, pod, short=scene.dense)}{moved}</li>'
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
        f' <span class="moved when a{loss}">{"no place left" if target is None else f"to {scene.node(target)}"}</span>'
        for loss, target in scene.departures.get((key, pod), ())
    )


def _tray(scene: Scene) -> Iterator[str]:
    """The replicas without a node, by reason: those that never had one, and those of which a failure leaves no place."""
    always = _waiting(scene.plan)
    # Why a failure leaves no place stands with what it does, next to this.
    after = [] if scene.dense else [_stranded(found) for found in scene.effects]
    numbers = [number for number, waiting in enumerate(after, 1) if waiting]
    if not always and not numbers:
        return
    classes = "tray" if always else "tray when" + "".join(f" a{number}" for number in numbers)
    title = "Without a node, with nothing lost" if always and scene.losses and not numbers else "Without a node"
    yield f'<section class="{classes}">\n<h3>{title}</h3>\n<ul>\n'
    for why, pods in always.items():
        yield f"<li>{_pods_words(scene, pods, why)}</li>\n"
    for number in numbers:
        yield f'<li class="when a{number}">{_pods_words(scene, after[number - 1], "")}</li>\n'
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


def _stranded(found: Iterable[Effect]) -> list[tuple[str, str]]:
    return [(effect.workload, move.pod) for effect in found for moves in stranded(effect).values() for move in moves]


def _pods_words(scene: Scene, pods: Sequence[tuple[str, str]], why: str) -> str:
    chips = " ".join(_chip(scene, key, pod, short=False) for key, pod in pods)
    if len(pods) <= _CHIPS_SHOWN:
        return f"{chips} {shown(why)}"
    return f"<details><summary>{len(pods)} replicas: {shown(why)}</summary> {chips}</details>"


def _key(scene: Scene) -> Iterator[str]:
    """What the signs of the picture mean, as far as they occur."""
    chip = '<span class="chip c0 s0" aria-hidden="true"><b>AB</b></span>'
    signs = {
        f"{chip} a replica: each workload has letters of its own, in one of seven colours and four shapes": bool(scene.pods),
        "dashed box: cordoned or tainted": any(node.cordoned or node.taints for node in scene.plan.nodes),
        f"grey box: {' or '.join(DONE[action] for action in scene.actions)}": bool(scene.losses),
        f'<span class="was">{chip}</span> pale and dashed: was there before': bool(scene.losses and scene.pods),
        f'<span class="came">{chip}</span> double outline: has come there after it': bool(scene.arrivals),
        _names_words(scene): any(whole != short for whole, short in scene.node_names.items()),
    }
    if any(signs.values()):
        yield '<ul class="key">' + "".join(f"<li>{sign}</li>" for sign, occurs in signs.items() if occurs) + "</ul>\n"


def _names_words(scene: Scene) -> str:
    """What node names are shown without."""
    whole, short = next(((whole, short) for whole, short in scene.node_names.items() if whole != short), ("", ""))
    return f"names of nodes are shown without what they share: <code>{shown(short)}</code> is <code>{shown(whole)}</code>"


def outcomes_by_workload(losses: Iterable[DisruptionEffect]) -> Mapping[str, Mapping[str, list[str]]]:
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
