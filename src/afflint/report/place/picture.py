"""The picture on the page: nodes by topology domain with their replicas, and the effect of each disruption, without a script.

The cluster is drawn once. The changes of each disruption are in the document too, marked with its number: class ``l3`` marks the nodes
of disruption 3, ``a3`` what is visible only after it. The CSS of ``rules`` shows them while its radio button is selected, so the page
grows with the number of moves, not with disruptions times nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.phrases import join_words, pluralize
from afflint.placement.plan import VOLUMES_LEFT_OUT, Blocked, DisruptionEffect, NodeRow, Plan, Preempted, ReplicaMove, unevaluated_words
from afflint.report.html_page import bullets, details, shown
from afflint.report.place import choices
from afflint.report.place.scene import Scene, ending, outcome_words
from afflint.report.place.view import Effect, Rack, differs, pending, worst
from afflint.report.place.words import (
    ACTION_NOTES,
    DOING,
    DONE,
    NOUNS,
    OUTCOMES,
    STOPPED_NOTE,
    VERDICT_WORDS,
    domain_words,
    fate_words,
    is_control_plane,
    keeping_words,
    marks,
    preempted_words,
    reason_words,
)

_EFFECTS_SHOWN = 12
"""Harmed workloads beyond this number are folded; if more than this survive, all of those are."""
_CHIPS_SHOWN = 12
"""If more replicas than this are Pending for the same reason, they are folded."""
_LABELS_SHOWN = 3
_WIDE = {" w4": 40, " w2": 12}
"""In a large cluster, the CSS class of a node with more replicas than this."""
_GHOST = "--ghost: transparent; --ghost-ink: var(--soft); --ghost-edge: dashed;"
"""The CSS of a replica that a disruption ends: pale, but as readable as the others."""


_KEPT = "--ghost: initial; --ghost-ink: initial; --ghost-edge: initial;"
"""The CSS of a replica that stays on a drained node: as strong as before."""


PendingReplicas = dict[str, list[tuple[str, str]]]
"""The Pending replicas by reason: workload key and pod name."""


def rules(scene: Scene) -> str:
    """Return the CSS that shows the selected disruption and workload. It contains numbers only, nothing from a manifest."""
    single = choices.rules(scene)
    losses = len(scene.losses)
    if not losses:
        return single
    # Every rule ends in a class that few elements have, and :has() searches the buttons only,
    # so that a click stays fast with a thousand disruptions.
    chosen = [f".losses:has(#f{number}:checked) ~ .scene" for number in range(losses + 1)]
    lost = ",".join(f"{scope} .l{number}" for number, scope in enumerate(chosen) if number)
    touched = ",".join(f"{scope} .t{number}" for number, scope in enumerate(chosen) if number)
    kept = ",".join(f"{scope} .k{number}" for number, scope in enumerate(chosen) if number and scene.losses[number - 1].blocked)
    seen = ",".join(f"{scope} .a{number}" for number, scope in enumerate(chosen))
    return (
        f"{lost} {{ --node: var(--lost); --strike: line-through; --lost-word: inline; {_GHOST} }}\n"
        f"{lost},{touched} {{ display: block; }}\n"
        f"{seen} {{ display: var(--shown, block); }}\n" + f"{kept} {{ {_KEPT} }}\n" * bool(kept) + single
    )


def picture(scene: Scene) -> Iterator[str]:
    """Yield the disruptions to choose from, the effect of the selected one, the Pending replicas and the nodes."""
    classes = "stage" + " asked" * bool(scene.losses) + " dense" * scene.dense
    yield f'<div class="{classes}">\n'
    yield from choices.losses(scene)
    yield '<div class="scene">\n<div id="after" tabindex="-1" aria-live="polite">\n'
    yield from _afterwards(scene)
    yield "</div>\n"
    yield from _tray(scene)
    yield from choices.workloads(scene)
    if choices.can_hide(scene):
        more = " and those of the highlighted workload" * choices.can_highlight(scene)
        yield f'<label class="only"><input type="checkbox" id="only" checked> Show only affected nodes{more}</label>\n'
    yield from _racks(scene)
    yield from _key(scene)
    yield "</div>\n</div>\n"


def still(scene: Scene) -> Iterator[str]:
    """Yield the Pending replicas and the nodes with the others, without anything to choose."""
    yield f'<div class="stage{" dense" * scene.dense}">\n<div class="scene">\n'
    yield from _tray(scene)
    yield from _racks(scene)
    yield "</div>\n</div>\n"


def _afterwards(scene: Scene) -> Iterator[str]:
    """Yield a description of each disruption; only the selected one is visible."""
    if not scene.losses:
        return
    nouns = join_words([NOUNS[action] for action in scene.actions], "or")
    yield f'<section class="after when a0">\n<h3>No {nouns} selected</h3>\n'
    means = " ".join(f"{NOUNS[action].capitalize()}: {ACTION_NOTES[action]}." for action in scene.actions)
    if any(scene.blocked):
        means += f" {STOPPED_NOTE.capitalize()}."
    yield f'<p class="soft">Choose a {scene.noun} to see its effects. {means}</p>\n</section>\n'
    for number, (loss, affected) in enumerate(zip(scene.losses, scene.effects_of_losses, strict=True), 1):
        nodes = f" <small>{len(loss.nodes)} nodes</small>" if len(loss.nodes) > 1 else ""
        yield f'<section class="after when a{number}">\n'
        yield f'<h3>After {DOING[loss.action]} <span class="what">{scene.what(loss)}</span>{nodes} {ending(loss)}</h3>\n'
        yield from (f'<p class="soft">{shown(note)}</p>\n' for note in loss.notes)
        yield bullets(_pod(scene, pod, "is not evicted from", f": {shown(reason_words(pod.why))}") for pod in loss.blocked)
        if loss.unevaluated:
            yield f"<p>{shown(unevaluated_words(loss.unevaluated, loss.unjudged))}.</p>\n"
        applications = sorted(loss.applications, key=lambda each: OUTCOMES.index(each.outcome))
        items = (f"{shown(each.application)} {outcome_words(each.outcome)} {keeping_words(each)}" for each in applications)
        yield bullets(items, "applications")
        yield _preempted(scene, loss)
        if affected:
            yield from _effects(scene, affected)
        elif not (loss.blocked or loss.unevaluated):
            yield "<p>No replica runs there.</p>\n"
        yield bullets(map(scene.shared_words, loss.shared))
        removed = differs(loss)
        if removed is not None:
            yield f"<p>After the Node objects are deleted: {outcome_words(worst(removed))}</p>\n"
            yield _preempted(scene, removed)
            yield from _effects(scene, scene.effects(removed))
            yield bullets(map(scene.shared_words, removed.shared))
        yield "</section>\n"


def _preempted(scene: Scene, loss: DisruptionEffect) -> str:
    """Return the pods on other nodes that are preempted."""
    return bullets(_pod(scene, pod, "on", f" {shown(preempted_words(pod))}") for pod in loss.preempted)


def _pod(scene: Scene, pod: Blocked | Preempted, verb: str, end: str) -> str:
    name = f"{scene.badge(pod.workload)} {scene.name(pod.workload)}: " if pod.workload else ""
    return f"{name}<code>{shown(pod.pod)}</code> {verb} {scene.node(pod.node)}{end}"


def _effects(scene: Scene, found: Sequence[Effect]) -> Iterator[str]:
    """Yield the harmed workloads, then those that survive; long lists are folded."""
    harmed = [effect for effect in found if effect.outcome != "survives"]
    spared = found[len(harmed) :]
    yield _effect_list(scene, harmed[:_EFFECTS_SHOWN])
    if rest := harmed[_EFFECTS_SHOWN:]:
        words = join_words([VERDICT_WORDS[outcome] for outcome in OUTCOMES[:3]], "or")
        yield details("", f"{pluralize(len(rest), 'more workload')} {words}", _effect_list(scene, rest))
    if len(spared) <= _EFFECTS_SHOWN:
        yield _effect_list(scene, spared)
    else:
        moves = sum(move.target is not None for effect in spared for move in effect.moves)
        summary = f"{pluralize(len(spared), 'workload')} survive: {pluralize(moves, 'replica')} move"
        yield details("", summary, _effect_list(scene, spared))


def _effect_list(scene: Scene, found: Iterable[Effect]) -> str:
    """Return a list of effects; workloads that are harmed for the same reason share one item that states it."""
    alike = grouped((effect.shared_reason or effect.workload, effect) for effect in found)
    items: list[str] = []
    for group in alike.values():
        reason = group[0].shared_reason
        if reason is None or len(group) == 1:
            items += [f"{scene.badge(effect.workload)} {_effect(scene, effect)}" for effect in group]
        else:
            head = f"{pluralize(len(group), 'workload')} whose replicas {reason[0]}{_because(reason[1])}"
            below = bullets(f"{scene.badge(each.workload)} {_headline(scene, each)}: {_pods(each.moves)}" for each in group)
            items.append(f"{head}:\n{below.rstrip()}")
    return bullets(items)


def _because(why: str) -> str:
    return f" ({shown(reason_words(why))})" if why else ""


def _pods(moves: Iterable[ReplicaMove]) -> str:
    return ", ".join(f"<code>{shown(move.pod)}</code>" for move in moves)


def _headline(scene: Scene, effect: Effect) -> str:
    """Return the name of a workload, its outcome, and how many of its replicas run."""
    head = f"{scene.name(effect.workload)} {outcome_words(effect.outcome)}"
    if effect.outcome not in ("survives", "interrupted"):
        head += f", {effect.running_words}"
    elif effect.outcome == "interrupted" and effect.gap_words:
        head += f" for {effect.gap_words}"
    return head


def _effect(scene: Scene, effect: Effect) -> str:
    details = [f"{_pods(moves)} {fate_words(moves)}{_because(why)}" for why, moves in effect.stranded.items()]
    for move in effect.moves:
        if move.target is not None:
            nodes = scene.node(move.source), scene.node(move.target)
            is_migrated = move.fate == "migrated"
            end = f"is live-migrated from {nodes[0]} to {nodes[1]}" if is_migrated else f"on {nodes[0]} is recreated on {nodes[1]}"
            details.append(f"<code>{shown(move.pod)}</code> {end}")
        elif effect.outcome == "survives":
            details.append(f"<code>{shown(move.pod)}</code> stops with its node")
    if effect.volumes and effect.has_new_nodes:
        details.append(VOLUMES_LEFT_OUT)
    return _headline(scene, effect) + (f": {'; '.join(details)}" if details else "")


def _chip(scene: Scene, key: str, pod: str, *, short: bool) -> str:
    """Return a replica as a link to its workload: initials and name, or with ``short`` the initials only.

    The tab key skips these links: there can be thousands, and the list of workloads has the same targets.
    """
    mark = scene.badges.get(key)
    if mark is None:
        return f'<span class="chip"><span>{shown(pod)}</span></span>'
    link = f'<a class="chip {mark.classes}" href="#w{mark.number}" tabindex="-1"'
    if short:
        return f'{link} title="{shown(pod)}"><b>{mark.initials}</b></a>'
    return f'{link}><b aria-hidden="true">{mark.initials}</b><span>{shown(pod)}</span></a>'


def _racks(scene: Scene) -> Iterator[str]:
    yield '<div class="racks">\n'
    for rack in scene.racks:
        title = shown(domain_words(scene.plan.group_by, rack.domain))
        boxes, empty = _folded_nodes(scene, rack)
        # The disruptions that affect a node of the domain, or move a replica to it.
        touched = {number for node in rack.nodes for number in scene.takes.get(node.name, ())}
        touched |= {arrival.loss for node in rack.nodes for arrival in scene.arrivals.get(node.name, ())}
        classes = "".join(f" t{number}" for number in sorted(touched) if scene.dense) + choices.home_classes(scene, rack.nodes)
        yield f'<section class="rack{classes}">\n<h3>{title} <small>{pluralize(len(rack.nodes), "node")}</small></h3>\n<ul class="nodes">\n'
        for node in boxes:
            yield from _node(scene, node)
        for alike in empty:
            yield _empty_nodes(scene, alike)
        yield "</ul>\n</section>\n"
    yield "</div>\n"


def _folded_nodes(scene: Scene, rack: Rack) -> tuple[list[NodeRow], list[list[NodeRow]]]:
    """Return the nodes to draw and, in a large cluster, groups of equal nodes that never have a replica."""
    alike = grouped(
        ((str(is_control_plane(node)), *marks(node)), node)
        for node in (rack.nodes if scene.dense else ())
        if node.name not in scene.pods and node.name not in scene.arrivals
    )
    folded = [nodes for nodes in alike.values() if len(nodes) > 1]
    hidden = {node.name for nodes in folded for node in nodes}
    return [node for node in rack.nodes if node.name not in hidden], folded


def _empty_nodes(scene: Scene, nodes: Sequence[NodeRow]) -> str:
    """Return one box for equal nodes without a replica. It is shown as failed if all of them fail."""
    taken = [set(scene.takes.get(node.name, ())) for node in nodes]
    all_lost = set.intersection(*taken)
    touched = [f" l{number}" for number in sorted(all_lost)] + [f" t{number}" for number in sorted(set.union(*taken) - all_lost)]
    closed = " closed" * bool(nodes[0].cordoned or nodes[0].taints)
    names = shown(", ".join(node.name for node in nodes))
    return (
        f'<li class="node many{closed}{"".join(touched)}"><details><summary><span class="name">{len(nodes)} nodes</span>'
        f"{_lost_word(scene) if all_lost else ''} without a replica{_marks(scene, nodes[0])}</summary>{names}</details></li>\n"
    )


def _done(scene: Scene) -> str:
    """Return ``failed, drained or removed``, for the kinds of disruptions in the plan."""
    return join_words([DONE[action] for action in scene.actions], "or") if scene.actions else ""


def _lost_word(scene: Scene) -> str:
    return f' <em class="lost">{_done(scene)}</em>'


def _lost_words(scene: Scene, taken: Sequence[int]) -> str:
    """Return what happens to a node in each of the disruptions that affect it, visible after that disruption."""
    if len(scene.actions) < 2:
        return _lost_word(scene) if taken else ""
    after = grouped((DONE[scene.losses[number - 1].action], f"a{number}") for number in taken)
    return "".join(f' <em class="when {" ".join(numbers)}">{done}</em>' for done, numbers in after.items())


def _node(scene: Scene, node: NodeRow) -> Iterator[str]:
    taken = scene.takes.get(node.name, ())
    closed = " closed" * bool(node.cordoned or node.taints)
    lost = _lost_words(scene, taken)
    arrivals = scene.arrivals.get(node.name, ())
    pods = scene.pods.get(node.name, ())
    wide = next((name for name, least in _WIDE.items() if len(pods) > least), "") if scene.dense else ""
    touched = [f" l{number}" for number in taken] + [f" t{number}" for number in dict.fromkeys(arrival.loss for arrival in arrivals)]
    yield f'<li class="node{closed}{wide}{"".join(touched)}{choices.home_classes(scene, (node,))}">'
    name = scene.node(node.name)
    title = f' title="{shown(node.name)}"' * (name != shown(node.name))
    yield f'<span class="name"{title}>{name}</span>{lost}{_marks(scene, node)}'
    if pods or arrivals:
        yield '<ul class="pods">'
        for key, pod in pods:
            stays = " ".join(f"k{number}" for number in taken if (key, pod) in scene.blocked[number - 1])
            kept = f' class="{stays}"' * bool(stays)
            yield f"<li{kept}>{_chip(scene, key, pod, short=scene.dense)}{_departures(scene, key, pod)}</li>"
        for loss, key, pod, source in arrivals:
            moved = "" if scene.dense else f' <span class="moved">from {scene.node(source)}</span>'
            yield f'<li class="arrival when a{loss}">{_chip(scene, key, pod, short=scene.dense)}{moved}</li>'
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
        f' <span class="moved when a{loss}">{"Pending" if target is None else f"to {scene.node(target)}"}</span>'
        for loss, target in scene.departures.get((key, pod), ())
    )


def _tray(scene: Scene) -> Iterator[str]:
    """Yield the Pending replicas by reason: those that are never scheduled, and those of the selected disruption."""
    always = _never_scheduled(scene.plan)
    after: dict[int, list[tuple[str, str]]] = {}
    # The reasons for these are in the description of the disruption, next to this.
    for number, affected in enumerate([] if scene.dense else scene.effects_of_losses, 1):
        for effect in affected:
            for moves in effect.stranded.values():
                after.setdefault(number, []).extend((effect.workload, move.pod) for move in moves)
    if not always and not after:
        return
    classes = "tray" if always else "tray when" + "".join(f" a{number}" for number in after)
    title = "Pending before any disruption" if always and scene.losses and not after else "Pending"
    yield f'<section class="{classes}">\n<h3>{title}</h3>\n<ul>\n'
    for why, pods in always.items():
        yield f"<li>{_pods_words(scene, pods, why)}</li>\n"
    for number, pods in after.items():
        yield f'<li class="when a{number}">{_pods_words(scene, pods, "")}</li>\n'
    yield "</ul>\n</section>\n"


def _never_scheduled(plan: Plan) -> PendingReplicas:
    known = {node.name for node in plan.nodes}
    replicas_by_reason: PendingReplicas = {}
    for workload in plan.workloads:
        for why, replicas in pending(workload).items():
            replicas_by_reason.setdefault(why or workload.error or "", []).extend((workload.key, replica.pod) for replica in replicas)
        for replica in workload.replicas:
            if replica.node is not None and replica.node not in known:
                why = f"on {replica.node}, which is not one of the nodes"
                replicas_by_reason.setdefault(why, []).append((workload.key, replica.pod))
    return replicas_by_reason


def _pods_words(scene: Scene, pods: Sequence[tuple[str, str]], why: str) -> str:
    chips = " ".join(_chip(scene, key, pod, short=False) for key, pod in pods)
    if len(pods) <= _CHIPS_SHOWN:
        return f"{chips} {shown(why)}"
    return f"<details><summary>{len(pods)} replicas: {shown(why)}</summary> {chips}</details>"


def _key(scene: Scene) -> Iterator[str]:
    """Yield the legend of the signs that occur in the picture."""
    chip = '<span class="chip c0 s0" aria-hidden="true"><b>AB</b></span>'
    whole, short = next(((whole, short) for whole, short in scene.nodes.items() if whole != short), ("", ""))
    signs = {
        f"{chip} a replica; each workload has its own letters": bool(scene.pods),
        "pods of DaemonSets are not drawn": len(scene.drawn) < len(scene.plan.workloads),
        "dashed box: cordoned or tainted": any(node.cordoned or node.taints for node in scene.plan.nodes),
        f"grey box: node {_done(scene)}": bool(scene.losses),
        f'<span class="was">{chip}</span> pale and dashed: replica before the disruption': bool(scene.losses and scene.pods),
        f'<span class="arrival">{chip}</span> double outline: replica after the disruption': bool(scene.arrivals),
        f"node names are shortened: <code>{shown(short)}</code> is <code>{shown(whole)}</code>": whole != short,
    }
    if any(signs.values()):
        yield '<ul class="key">' + "".join(f"<li>{sign}</li>" for sign, occurs in signs.items() if occurs) + "</ul>\n"
