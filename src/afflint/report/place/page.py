"""A simulation as one self-contained HTML page that loads nothing from the network, prints well and works with screen readers.

The page is complete without scripts. Its one small script adds a search, filters, and an address for each selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import HOSTNAME, domain_noun, is_machine_made, name_of_key
from afflint.placement.plan import VOLUMES_LEFT_OUT, DisruptionEffect, NodeRow, Plan, WorkloadPlan
from afflint.report.html_page import PageMetadata, bullets, column_heads, details, fragment, notes, options, page, shown, state, table
from afflint.report.phrases import html_words
from afflint.report.place import words
from afflint.report.place.harms import GLUE, alike_words, node_count
from afflint.report.place.matrix import matrix
from afflint.report.place.picture import picture, rules
from afflint.report.place.risks import headline, risks, stopping, stopping_words
from afflint.report.place.scene import Scene, outcome_words
from afflint.report.place.sequences import ROLLOUT_NOTE, rollout_rows, rollout_tally, sequences
from afflint.report.place.view import (
    NodeGroup,
    PlaceView,
    attaching,
    by_action,
    feasible_count,
    is_in_trouble,
    pending,
    replicas_by_node,
    shortened,
    worst,
)
from afflint.report.place.words import DOING, NOUNS, OUTCOMES, VERDICT_WORDS, list_some

_OPEN = 8
"""Up to this many workloads, all are unfolded."""
_NAMES_KEPT = 20_000
"""How many names of grouped nodes the page lists at most; the JSON report has every name."""
_LABELS_SHOWN = 40
"""How many labels of a node are listed: KubeVirt alone sets a hundred."""
_COLUMNS = ("Node", "Fits", "Score", "Replicas", "Reason")


def render(plan: Plan, made: PageMetadata | None = None) -> str:
    """Return the page. The same plan gives the same bytes, and they can always be encoded as UTF-8."""
    scene = Scene(plan)
    named = _NamedGroups(scene.nodes)
    parts = {
        "title": _title(plan),
        "find": _find(scene),
        "matrix": "".join(matrix(scene)),
        "lead": _lead(scene),
        "notes": notes(map(html_words, plan.also_read)),
        "below": _below(plan),
        "now": "".join([*_running_pods(scene), *_at_risk(scene)]),
        "key": shown(name_of_key(plan.group_by)),
        "still": '<p class="still">The tables show the cluster before any disruption.</p>\n' if plan.losses else "",
        "sequences": "".join(_sequences(scene)),
        "picture": "".join([*_pools(plan), *picture(scene)]),
        "workloads": "".join(_workloads(scene, named)),
        "nodes": "".join(_nodes(scene)) + "".join(named.listing()),
    }
    return page("place_page", f"Placement: {_title(plan)}", made, parts, rules(scene))


def _running_pods(scene: Scene) -> Iterator[str]:
    """Yield the running pods whose rules no longer allow their nodes, and those that are preempted."""
    for pods in scene.running_pods():
        texts = [shown(shortened(each.text, scene.nodes)) for each in pods.rows]
        items = [
            f"{each.workload}: <code>{shown(each.pod)}</code> on {scene.node(each.node)}{pods.mark} {text}"
            for each, text in zip(pods.rows, texts, strict=True)
        ]
        body = f'<p class="soft">{_sentence(pods.note)}</p>\n{bullets(items)}'
        yield details("violations", pods.title, body, opened=len(items) <= _OPEN)


def _at_risk(scene: Scene) -> Iterator[str]:
    """Yield the applications in one place and the exhausted budgets, then the pods that keep nodes from being drained, by cause."""
    if found := list(risks(scene)):
        body = bullets(f"<b>{each.title}</b>: {each.text}" for each in found)
        yield details("violations", "At risk now", body, opened=True)
    # The words are escaped here, whatever names they contain.
    plain = PlaceView(scene.plan, str)
    pods, causes = stopping(plain)
    if pods:
        texts = [(alike[0].state, node_count(alike), alike_words(alike, plain).replace(GLUE, " ")) for alike in causes]
        items = [f"{state(verdict, shown(nodes))} {shown(shortened(text, scene.nodes))}" for verdict, nodes, text in texts]
        body = f'<p class="soft">{_sentence(words.STOPPED_NOTE)}</p>\n{bullets(items)}'
        yield details("violations", stopping_words(scene, pods), body, opened=len(items) <= _OPEN)


def _below(plan: Plan) -> str:
    """Return the section with the notes about the simulation."""
    listed = notes(map(html_words, plan.notes))
    return f'<section aria-labelledby="notes">\n<h2 id="notes">Notes</h2>\n{listed}\n</section>\n' if listed else ""


def _sentence(text: str) -> str:
    return f"{shown(text[0].upper() + text[1:])}."


def _sequences(scene: Scene) -> Iterator[str]:
    """Yield the section about rollouts, upgrades and deschedulers, if any are simulated."""
    plan = scene.plan
    several = (("rollouts", plan.rollouts), ("upgrades", plan.upgrades), ("deschedulers", plan.descheduling))
    present = [name for name, simulated in several if simulated]
    if not present:
        return
    yield f'<section aria-labelledby="sequences">\n<h2 id="sequences">{join_words(present).capitalize()}</h2>\n'
    items = []
    for rollout in rollout_rows(scene, verbose=True):
        strategy = f' <span class="soft">{shown(rollout.strategy)}</span>' if rollout.strategy else ""
        result = f'<span class="{"full" if rollout.result == "completes" else "short"}">{shown(rollout.result)}</span>'
        lines = "".join(f"<p>{_sentence(line)}</p>" for line in rollout.lines)
        items.append(f"<b>{scene.name(rollout.workload)}</b>{strategy} {result}{lines}")
    if items:
        body = f'<p class="soft">In a rollout, {ROLLOUT_NOTE}.</p>\n{bullets(items)}'
        yield details("rollouts", shown(rollout_tally(plan.rollouts, plan.group_by)), body, opened=len(items) <= _OPEN)
    for each in sequences(scene):
        lines = bullets(
            f"{state(line.state, line.word) if line.state else f'<b>{line.word}</b>'} {shown(line.text)}" for line in each.lines
        )
        summary = f"{shown(each.title)} {state(each.state, each.result)}"
        yield details("violations", summary, f'<p class="soft">{_sentence(each.subject + each.note)}</p>\n{lines}', opened=True)
    yield "</section>\n"


def _title(plan: Plan) -> str:
    domains = len({node.domain for node in plan.nodes if node.domain is not None})
    where = f" in {pluralize(domains, shown(domain_noun(plan.group_by)))}" if domains and plan.group_by != HOSTNAME else ""
    return f"{pluralize(len(plan.workloads), 'workload')} on {pluralize(len(plan.nodes), 'node')}{where}"


def _find(scene: Scene) -> str:
    """Return the search and the filters of a large page; they are hidden until the script runs."""
    plan = scene.plan
    if not scene.folds and len(plan.workloads) <= _OPEN:
        return ""
    outcomes = OUTCOMES if plan.losses else ()
    states = ["not completely scheduled", *(VERDICT_WORDS[outcome] for outcome in outcomes)]
    namespaces = sorted({workload.namespace for workload in plan.workloads})
    return fragment("place_find", namespaces=options(namespaces), states=options(states[:1]) + options(states[1:], outcomes))


def _lead(scene: Scene) -> str:
    plan = scene.plan
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    scheduled = sum(replica.node is not None for replica in replicas)
    text = f"{scheduled} of {pluralize(len(replicas), 'replica')} scheduled."
    if scheduled < len(replicas):
        text = f'<span class="short">{text}</span>'
    text = f"{shown(headline(scene))} {text}".strip()
    if plan.losses:
        blocked = sum(bool(loss.blocked) for loss in plan.losses)
        counts = words.tally(worst(loss) for loss in plan.losses if not loss.blocked)
        parts = [f"{blocked} never {'complete' if blocked > 1 else 'completes'}"] * bool(blocked)
        parts += [scene.tally_words(outcome, number) for outcome, number in counts.items() if number]
        totals = [pluralize(len(losses), NOUNS[action]) for action, losses in by_action(plan.losses).items()]
        text += f" Of {join_words(totals)}: {', '.join(parts)}."
    results = [f"{shown(rollout_tally(plan.rollouts, plan.group_by))}."] if plan.rollouts else []
    others = [
        *scene.stopped_harm_words(plan.losses),
        *scene.left_out_words(),
        *(each for action in by_action(plan.losses) for each in scene.other_losses_words(action)),
    ]
    return " ".join([text, *others, *results, *(f"{shown(each.name)} {each.result}." for each in sequences(scene))])


class _NamedGroups:
    """Groups of nodes that tables show as a count; the end of the page lists their names once."""

    def __init__(self, short: Mapping[str, str]) -> None:
        self._short = short
        self._numbers: dict[tuple[str, ...], int] = {}
        self._names = 0

    def link(self, nodes: Sequence[NodeRow]) -> str:
        """Return ``25 nodes`` as a link to their names."""
        names = tuple(node.name for node in nodes)
        text = pluralize(len(names), "node")
        if names not in self._numbers:
            if self._names + len(names) > _NAMES_KEPT:
                return text
            self._numbers[names] = len(self._numbers) + 1
            self._names += len(names)
        return f'<a href="#g{self._numbers[names]}">{text}</a>'

    def listing(self) -> Iterator[str]:
        items = []
        for names, number in self._numbers.items():
            listed = shown(", ".join(self._short[name] for name in names))
            items.append(f'<li class="names" id="g{number}"><p><b>{len(names)} nodes</b> <code>{listed}</code></p></li>\n')
        if items:
            yield details("fold", f"{pluralize(len(items), 'group')} of nodes in the tables", f"<ul>\n{''.join(items)}</ul>\n")


def _workloads(scene: Scene, named: _NamedGroups) -> Iterator[str]:
    """Yield all workloads; if there are many, those that are completely scheduled and never harmed are folded at the end."""
    harm = _outcomes_by_workload(scene.losses)
    workloads = scene.plan.workloads
    if len(workloads) <= _OPEN:
        for workload in workloads:
            yield from _workload(scene, workload, harm.get(workload.key, {}), named, opened=True)
        return
    healthy = [workload for workload in workloads if not is_in_trouble(workload) and workload.key not in harm]
    unharmed = {workload.key for workload in healthy}
    for workload in workloads:
        if workload.key not in unharmed:
            yield from _workload(scene, workload, harm.get(workload.key, {}), named, opened=False)
    if healthy:
        summary = f"{pluralize(len(healthy), 'workload')} completely scheduled"
        body = "".join(line for workload in healthy for line in _workload(scene, workload, {}, named, opened=False))
        yield details("fold", summary + ", and surviving every disruption" * bool(scene.losses), body)


def _outcomes_by_workload(losses: Iterable[DisruptionEffect]) -> Mapping[str, Mapping[str, list[str]]]:
    """Return the disruptions by workload key and outcome, except ``survives``: ``the failure of node a``, then ``node b``."""
    causes: dict[str, dict[str, list[str]]] = {}
    for action, disruptions in by_action(losses).items():
        for loss in disruptions:
            for key, outcome in loss.outcomes.items():
                if outcome != "survives":
                    listed = causes.setdefault(key, {}).setdefault(outcome, [])
                    # Name the action once for all disruptions of its kind.
                    doing = "" if any(other.startswith(DOING[action]) for other in listed) else f"{DOING[action]} "
                    listed.append(f"{doing}{loss.what}")
    return causes


def _workload(
    scene: Scene, workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], named: _NamedGroups, *, opened: bool
) -> Iterator[str]:
    nodes = len(scene.plan.nodes)
    summary = (
        f"{scene.badge(workload.key)}<h3>{scene.name(workload.key)}</h3>"
        f'<span class="soft">{shown(workload.kind)}</span>'
        f'<span class="{"short" if is_in_trouble(workload) else "full"}">{words.scheduled_words(workload)}</span>'
        f"<span>fits {feasible_count(workload)} of {pluralize(nodes, 'node')}</span>"
        f"<span>{_harm(workload, harm, len(scene.losses))}</span>"
    )
    body = "".join([*_summary(workload, harm, nodes), *(_verdicts(scene, workload, named) if workload.verdicts else ())])
    body = f'<div class="body" id="w{scene.badges[workload.key].number}">\n{body}</div>\n'
    yield details("workload", summary, body, opened=opened, more=f' data-space="{shown(workload.namespace)}"')


def _harm(workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], losses: int) -> str:
    """Return how many disruptions harm the workload; nothing for one without running replicas."""
    if not losses or not replicas_by_node(workload):
        return ""
    parts = [f"{outcome_words(outcome)} after {len(harm[outcome])}" for outcome in OUTCOMES if outcome in harm]
    survives = outcome_words("survives") + f" ({VOLUMES_LEFT_OUT})" * workload.volumes
    return f"{', '.join(parts)} of {losses}" if parts else survives


def _summary(workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], nodes: int) -> Iterator[str]:
    """Yield the paragraphs above the table."""
    if workload.file:
        yield f'<p class="soft"><code>{shown(workload.file)}:{workload.line}</code></p>\n'
    if workload.error is not None:
        yield f'<p class="short">Pods cannot be scheduled: {shown(workload.error)}</p>\n'
    if workload.unjudged:
        yield f'<p class="short">{shown(words.unjudged_words(workload))}</p>\n'
    for why, replicas in pending(workload).items():
        pods = shown(list_some([replica.pod for replica in replicas], 5))
        yield f"<p>{pods} {'stays' if len(replicas) == 1 else 'stay'} Pending{f': {shown(why)}' if why else ''}</p>\n"
    for replica in attaching(workload):
        yield f"<p>{shown(replica.pod)} does not run: {shown(replica.why)}</p>\n"
    for outcome in OUTCOMES:
        if outcome in harm:
            yield f"<p>{VERDICT_WORDS[outcome].capitalize()} after {shown(list_some(harm[outcome], 8))}.</p>\n"
    yield notes(map(html_words, (*workload.notes, *words.preferences_words(workload, nodes))))


def _verdicts(scene: Scene, workload: WorkloadPlan, named: _NamedGroups) -> Iterator[str]:
    """Yield a row per node, or per group of nodes with the same verdict."""
    yield f'<div class="scroll"><table class="verdicts">\n<thead><tr>{column_heads(_COLUMNS)}</tr></thead>\n'
    for rack, groups in scene.node_groups(workload, scene.racks):
        title = shown(words.domain_words(scene.plan.group_by, rack.domain))
        yield f'<tbody>\n<tr><th colspan="5" scope="rowgroup">{title}</th></tr>\n'
        yield from (_row(scene, group, named) for group in groups)
        yield "</tbody>\n"
    yield "</table></div>\n"


def _row(scene: Scene, group: NodeGroup, named: _NamedGroups) -> str:
    verdict = group.verdict
    name = ", ".join(scene.node(node.name) for node in group.nodes) if len(group.nodes) <= 2 else named.link(group.nodes)
    fits, score, why = "?", "", ""
    if verdict is not None:
        fits = "yes" if verdict.feasible else "no"
        why = "" if verdict.feasible else words.rejection_words(verdict, len(group.nodes))
        if verdict.score is not None:
            weights = f"<small>{words.weights_words(verdict)}</small> " * (verdict.weights is not None)
            parts = f' title="{shown(words.parts_words(verdict))}"' if len(verdict.parts) > 1 else ""
            score = weights + (f"<span{parts}>{verdict.score}</span>" if parts else str(verdict.score))
    pods = shown(list_some(group.pods, 5))
    cells = "".join(f"<td>{text}</td>" for text in (name, fits, score, pods, shown(why)))
    return f"<tr>{cells}</tr>\n" if verdict is not None and verdict.feasible else f'<tr class="no">{cells}</tr>\n'


def _pools(plan: Plan) -> Iterator[str]:
    """Yield the node pools, unbounded ones with a dashed border."""
    if not plan.pools:
        return
    yield '<h3>Pools</h3>\n<ul class="nodes pools">\n'
    for pool in plan.pools:
        unbounded = " closed" * (pool.most is None)
        guards = "".join(f'<p class="marks guard">tainted {shown(taint)}</p>' for taint in pool.taints)
        labels = f'<p class="marks">{shown(list_some(list(pool.labels), _LABELS_SHOWN))}</p>' if pool.labels else ""
        size = f"{pluralize(pool.nodes, 'node')} here; size: {words.pool_size(pool)}"
        yield f'<li class="node{unbounded}"><span class="name">{shown(pool.title)}</span> <small>{size}</small>{guards}{labels}</li>\n'
    yield "</ul>\n"


def _nodes(scene: Scene) -> Iterator[str]:
    """Yield groups of nodes with the same labels, cordon and taints."""
    plan = scene.plan
    common = set.intersection(*(set(node.labels.items()) for node in plan.nodes)) if plan.nodes else set()
    alike: dict[tuple[str, ...], list[NodeRow]] = {}
    for node in plan.nodes:
        labels = [pair for pair in node.labels.items() if pair not in common and pair != ("kubernetes.io/hostname", node.name)]
        labels.sort(key=lambda pair: (is_machine_made(pair[0]), pair))
        alike.setdefault((*words.marks(node), *(f"{key}={value}" for key, value in labels)), []).append(node)
    shared = f"<p>All nodes: <code>{_list_labels([f'{key}={value}' for key, value in sorted(common)])}</code></p>\n" if common else ""
    rows = [
        f"<tr><td><code>{shown(list_some([node.name for node in nodes], 8))}</code></td><td><code>{_list_labels(labels)}</code></td></tr>\n"
        for labels, nodes in alike.items()
    ]
    listed = table("labels", column_heads(["Nodes", "Taints and labels"]), rows)
    yield details("fold", "Labels and taints", f"{shared}{listed}\n", opened=not scene.folds)


def _list_labels(labels: Sequence[str]) -> str:
    return shown(list_some(labels, _LABELS_SHOWN))
