"""A simulation as one self-contained HTML page that loads nothing from the network, prints well and works with screen readers.

The page is complete without scripts. Its one small script adds a search, filters, and an address for each selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import HOSTNAME, domain_noun, is_machine_made, name_of_key
from afflint.placement.plan import VOLUMES_LEFT_OUT, NodeRow, NodeVerdict, Plan, WorkloadPlan
from afflint.report.html_page import PageMetadata, page, shown
from afflint.report.phrases import html_words
from afflint.report.place.deschedule_words import deschedule_lines, deschedule_result, deschedule_title
from afflint.report.place.digest import (
    NOUNS,
    OUTCOMES,
    VERDICT_WORDS,
    NodeGroup,
    attaching,
    by_action,
    domain_words,
    feasible_count,
    groups,
    is_in_trouble,
    list_some,
    marks,
    parts_words,
    pending,
    pool_size,
    preempted_count,
    preempted_words,
    preferences_words,
    replicas_by_node,
    scheduled_words,
    short_names,
    tally,
    tally_words,
    unjudged_words,
    violation_words,
    weights_words,
    why_words,
    worst,
)
from afflint.report.place.matrix import matrix
from afflint.report.place.picture import outcomes_by_workload, picture, rules
from afflint.report.place.scene import Scene, badge, state
from afflint.report.place.upgrade_words import UPGRADE_NOTE, UpgradeLine, upgrade_lines, upgrade_title

_OPEN = 8
"""Up to this many workloads, all are unfolded."""
_NODES_SHOWN = 16
"""Up to this many nodes have a row each in every table."""
_NAMES_KEPT = 20_000
"""How many names of grouped nodes the page lists at most; the JSON report has every name."""
_LABELS_SHOWN = 40
"""How many labels of a node are listed: KubeVirt alone sets a hundred."""
_COLUMNS = ("Node", "Fits", "Score", "Replicas", "Reason")


def render(plan: Plan, made: PageMetadata | None = None) -> str:
    """Return the page. The same plan gives the same bytes, and they can always be encoded as UTF-8."""
    scene = Scene(plan)
    named = _NamedGroups(scene.node_names)
    parts = {
        "title": _title(plan),
        "find": _find(scene),
        "matrix": "".join(matrix(scene)),
        "lead": _lead(plan),
        "notes": _notes(plan.notes),
        "key": shown(name_of_key(plan.group_by)),
        "still": '<p class="still">The tables show the cluster before any disruption.</p>\n' if plan.losses else "",
        "sequences": "".join(_sequences(plan)),
        "picture": "".join([*_pools(plan), *_violations(plan), *_preempted(plan), *picture(scene)]),
        "workloads": "".join(_workloads(scene, named)),
        "nodes": "".join(_nodes(plan)) + "".join(named.listing()),
    }
    return page("place_page", f"Placement: {_title(plan)}", made, parts, rules(scene))


def _violations(plan: Plan) -> Iterator[str]:
    """Yield the running pods whose rules no longer allow their nodes."""
    number = len(plan.violations)
    if not number:
        return
    names = short_names(plan.workloads)
    summary = f"{pluralize(number, 'running pod')} {'violates' if number == 1 else 'violate'} placement rules"
    opened = " open" if number <= _OPEN else ""
    yield f'<details class="violations"{opened}><summary>{summary}</summary>\n'
    yield '<p class="soft">Rules apply when a pod is scheduled.</p>\n<ul>\n'
    for each in plan.violations:
        text = shown("; ".join([each.why, *violation_words(each)]))
        yield f"<li>{shown(names[each.workload])}: <code>{shown(each.pod)}</code> on {shown(each.node)}: {text}</li>\n"
    yield "</ul>\n</details>\n"


def _preempted(plan: Plan) -> Iterator[str]:
    """Yield the running pods that pods of higher priority preempt."""
    number = len(plan.preempted)
    if not number:
        return
    names = short_names(plan.workloads)
    yield f'<details class="violations"{" open" * (number <= _OPEN)}><summary>{preempted_count(number)}</summary>\n'
    yield f'<p class="soft">A pod of higher priority needs {"its" if number == 1 else "their"} node.</p>\n<ul>\n'
    for each in plan.preempted:
        name = shown(names.get(each.workload, each.workload))
        yield f"<li>{name}: <code>{shown(each.pod)}</code> on {shown(each.node)} {shown(preempted_words(each))}</li>\n"
    yield "</ul>\n</details>\n"


def _sequences(plan: Plan) -> Iterator[str]:
    """Yield the section about rollouts, upgrades and deschedulers, if any are simulated."""
    several = (("rollouts", plan.rollouts), ("upgrades", plan.upgrades), ("deschedulers", plan.descheduling))
    present = [name for name, simulated in several if simulated]
    if present:
        yield f'<section aria-labelledby="sequences">\n<h2 id="sequences">{join_words(present).capitalize()}</h2>\n'
        yield from _rollouts(plan)
        yield from _upgrades(plan)
        yield "</section>\n"


def _upgrades(plan: Plan) -> Iterator[str]:
    """Yield the upgrades of node pools, and what deschedulers do."""
    for upgrade in plan.upgrades:
        result = "survives" if upgrade.is_harmless else "blocked" if not upgrade.completes else "degraded"
        word = "completes" if upgrade.completes else "never completes"
        yield from _sequence(upgrade_title(upgrade), (result, word), f"{UPGRADE_NOTE.capitalize()}.", upgrade_lines(plan, upgrade))
    for effect in plan.descheduling:
        note = "The descheduler runs until it evicts no pod."
        yield from _sequence(deschedule_title(effect), deschedule_result(effect), note, deschedule_lines(plan, effect))


def _sequence(title: str, result: tuple[str, str], note: str, lines: Iterable[UpgradeLine]) -> Iterator[str]:
    summary = f'{shown(title)} <span class="state {result[0]}">{result[1]}</span>'
    yield f'<details class="violations" open><summary>{summary}</summary>\n<p class="soft">{shown(note)}</p>\n<ul>\n'
    for line in lines:
        word = f'<span class="state {line.state}">{line.word}</span>' if line.state else f"<b>{line.word}</b>"
        yield f"<li>{word} {shown(line.text)}</li>\n"
    yield "</ul>\n</details>\n"


def _rollouts(plan: Plan) -> Iterator[str]:
    """Yield what the rollouts do."""
    if not plan.rollouts:
        return
    from afflint.report.place.rollout_words import ROLLOUT_NOTE, ranked_rollouts, result_words, rollout_lines, rollout_tally

    names = short_names(plan.workloads)
    opened = " open" if len(plan.rollouts) <= _OPEN else ""
    tally_of_all = shown(rollout_tally(plan.rollouts, plan.group_by))
    yield f'<details class="rollouts"{opened}><summary>{pluralize(len(plan.rollouts), "rollout")}: {tally_of_all}</summary>\n'
    yield f'<p class="soft">In a rollout, {ROLLOUT_NOTE}.</p>\n<ul>\n'
    for rollout in ranked_rollouts(plan.rollouts):
        title = shown(names.get(rollout.workload, rollout.workload))
        strategy = f' <span class="soft">{shown(rollout.strategy)}</span>' if rollout.strategy else ""
        style = "full" if result_words(rollout, plan.group_by) == "completes" else "short"
        result = f'<span class="{style}">{result_words(rollout, plan.group_by)}</span>'
        lines = "".join(f"<p>{shown(line[0].upper() + line[1:])}.</p>" for line in rollout_lines(rollout, plan.group_by, verbose=True))
        yield f"<li><b>{title}</b>{strategy} {result}{lines}</li>\n"
    yield "</ul>\n</details>\n"


def _title(plan: Plan) -> str:
    domains = len({node.domain for node in plan.nodes if node.domain is not None})
    where = f" in {pluralize(domains, shown(domain_noun(plan.group_by)))}" if domains and plan.group_by != HOSTNAME else ""
    return f"{pluralize(len(plan.workloads), 'workload')} on {pluralize(len(plan.nodes), 'node')}{where}"


def _find(scene: Scene) -> str:
    """Return the search and the filters of a large page; they are hidden until the script runs."""
    plan = scene.plan
    if len(plan.nodes) <= _NODES_SHOWN and len(plan.workloads) <= _OPEN:
        return ""
    namespaces = sorted({workload.namespace for workload in plan.workloads})
    states = ["not completely scheduled", *(VERDICT_WORDS[outcome] for outcome in OUTCOMES if plan.losses)]
    return (
        '<div class="find" id="find" hidden>\n'
        '<label>Find <input type="search" id="words" placeholder="a node, a workload, a failure"></label>\n'
        f'<label>Namespace <select id="space"><option value="">all</option>{_options(namespaces)}</select></label>\n'
        f'<label>State <select id="state"><option value="">any</option>{_options(states, ["", *OUTCOMES])}</select></label>\n'
        '<output id="found"></output>\n</div>'
    )


def _options(words: Iterable[str], values: Sequence[str] = ()) -> str:
    """Return the options of a choice; ``values`` are what the script reads, if that is not the words."""
    return "".join(
        f'<option value="{values[number]}">{shown(word)}</option>' if values and values[number] else f"<option>{shown(word)}</option>"
        for number, word in enumerate(words)
    )


def _lead(plan: Plan) -> str:
    replicas = [replica for workload in plan.workloads for replica in workload.replicas]
    scheduled = sum(replica.node is not None for replica in replicas)
    text = f"{scheduled} of {pluralize(len(replicas), 'replica')} scheduled."
    if scheduled < len(replicas):
        text = f'<span class="short">{text}</span>'
    if plan.losses:
        blocked = sum(bool(loss.blocked) for loss in plan.losses)
        counts = tally(worst(loss) for loss in plan.losses if not loss.blocked)
        parts = [f"{blocked} never {'complete' if blocked > 1 else 'completes'}"] * bool(blocked)
        parts += [f"{number} {tally_words(plan, outcome, number)}" for outcome, number in counts.items() if number]
        totals = [pluralize(len(losses), NOUNS[action]) for action, losses in by_action(plan.losses).items()]
        text += f" Of {join_words(totals)}: {', '.join(parts)}."
    return " ".join([text, *_lead_of_sequences(plan)])


def _lead_of_sequences(plan: Plan) -> Iterator[str]:
    """Yield the results of rollouts, upgrades and deschedulers, each as a sentence."""
    if plan.rollouts:
        from afflint.report.place.rollout_words import rollout_tally

        yield f"{pluralize(len(plan.rollouts), 'rollout')}: {shown(rollout_tally(plan.rollouts, plan.group_by))}."
    for upgrade in plan.upgrades:
        yield f"Upgrade of {shown(upgrade.what)}: {'completes' if upgrade.completes else 'never completes'}."
    for effect in plan.descheduling:
        yield f"{shown(deschedule_title(effect))} {deschedule_result(effect)[1]}."


def _notes(notes: Iterable[str], classes: str = "notes") -> str:
    items = "".join(f"<li>{html_words(note)}</li>" for note in notes)
    return f'<ul class="{classes}">{items}</ul>' if items else ""


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
        if not self._numbers:
            return
        yield f'<details class="fold">\n<summary>{pluralize(len(self._numbers), "group")} of nodes in the tables</summary>\n<ul>\n'
        for names, number in self._numbers.items():
            listed = shown(", ".join(self._short[name] for name in names))
            yield f'<li class="names" id="g{number}"><p><b>{len(names)} nodes</b> <code>{listed}</code></p></li>\n'
        yield "</ul>\n</details>\n"


def _workloads(scene: Scene, named: _NamedGroups) -> Iterator[str]:
    """Yield all workloads; if there are many, those that are completely scheduled and never harmed are folded at the end."""
    harm = outcomes_by_workload(scene.losses)
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
        yield f'<details class="fold">\n<summary>{pluralize(len(healthy), "workload")} completely scheduled'
        yield ", and surviving every disruption</summary>\n" if scene.losses else "</summary>\n"
        for workload in healthy:
            yield from _workload(scene, workload, {}, named, opened=False)
        yield "</details>\n"


def _workload(
    scene: Scene, workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], named: _NamedGroups, *, opened: bool
) -> Iterator[str]:
    number = scene.badges[workload.key].number
    yield f'<details class="workload"{" open" * opened} data-space="{shown(workload.namespace)}">\n'
    yield f"<summary>{badge(scene, workload.key)}<h3>{scene.name(workload.key)}</h3>"
    yield f'<span class="soft">{shown(workload.kind)}</span>'
    yield f'<span class="{"short" if is_in_trouble(workload) else "full"}">{scheduled_words(workload)}</span>'
    yield f"<span>fits {feasible_count(workload)} of {pluralize(len(scene.plan.nodes), 'node')}</span>"
    yield f'<span>{_harm(workload, harm, len(scene.losses))}</span></summary>\n<div class="body" id="w{number}">\n'
    yield from _summary(workload, harm, len(scene.plan.nodes))
    if workload.verdicts:
        yield from _verdicts(scene, workload, named)
    yield "</div>\n</details>\n"


def _harm(workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], losses: int) -> str:
    """Return how many disruptions harm the workload; nothing for one without running replicas."""
    if not losses or not replicas_by_node(workload):
        return ""
    parts = [f"{state(outcome)} after {len(harm[outcome])}" for outcome in OUTCOMES if outcome in harm]
    survives = state("survives") + f" ({VOLUMES_LEFT_OUT})" * workload.volumes
    return f"{', '.join(parts)} of {losses}" if parts else survives


def _summary(workload: WorkloadPlan, harm: Mapping[str, Sequence[str]], nodes: int) -> Iterator[str]:
    """Yield the paragraphs above the table."""
    if workload.file:
        yield f'<p class="soft"><code>{shown(workload.file)}:{workload.line}</code></p>\n'
    if workload.error is not None:
        yield f'<p class="short">Pods cannot be scheduled: {shown(workload.error)}</p>\n'
    if workload.unjudged:
        yield f'<p class="short">{shown(unjudged_words(workload))}</p>\n'
    for why, replicas in pending(workload).items():
        pods = shown(list_some([replica.pod for replica in replicas], 5))
        yield f"<p>{pods} {'stays' if len(replicas) == 1 else 'stay'} Pending{f': {shown(why)}' if why else ''}</p>\n"
    for replica in attaching(workload):
        yield f"<p>{shown(replica.pod)} does not run: {shown(replica.why)}</p>\n"
    for outcome in OUTCOMES:
        if outcome in harm:
            yield f"<p>{VERDICT_WORDS[outcome].capitalize()} after {shown(list_some(harm[outcome], 8))}.</p>\n"
    yield _notes((*workload.notes, *preferences_words(workload, nodes)))


def _verdicts(scene: Scene, workload: WorkloadPlan, named: _NamedGroups) -> Iterator[str]:
    """Yield a row per node, or per group of nodes with the same verdict."""
    verdicts = {verdict.node: verdict for verdict in workload.verdicts}
    pods = replicas_by_node(workload)
    heads = "".join(f'<th scope="col">{head}</th>' for head in _COLUMNS)
    yield f'<div class="scroll"><table class="verdicts">\n<thead><tr>{heads}</tr></thead>\n'
    for rack in scene.racks:
        title = shown(domain_words(scene.plan.group_by, rack.domain))
        yield f'<tbody>\n<tr><th colspan="5" scope="rowgroup">{title}</th></tr>\n'
        for group in groups(rack, verdicts, pods, fold=len(scene.plan.nodes) > _NODES_SHOWN):
            yield _row(scene, group, named)
        yield "</tbody>\n"
    yield "</table></div>\n"


def _row(scene: Scene, group: NodeGroup, named: _NamedGroups) -> str:
    verdict = group.verdict
    name = ", ".join(scene.node(node.name) for node in group.nodes) if len(group.nodes) <= 2 else named.link(group.nodes)
    fits, score, why = "?", "", ""
    if verdict is not None:
        fits = "yes" if verdict.feasible else "no"
        score = _score(verdict)
        why = "" if verdict.feasible else why_words(verdict.why or verdict.reason or "", len(group.nodes))
    pods = shown(list_some(group.pods, 5))
    cells = "".join(f"<td>{text}</td>" for text in (name, fits, score, pods, shown(why)))
    return f"<tr>{cells}</tr>\n" if verdict is not None and verdict.feasible else f'<tr class="no">{cells}</tr>\n'


def _score(verdict: NodeVerdict) -> str:
    """Return the satisfied weights and the scheduler's score; its parts are in the tooltip."""
    if verdict.score is None:
        return ""
    weights = f"<small>{weights_words(verdict)}</small> " * (verdict.weights is not None)
    return (
        f'{weights}<span title="{shown(parts_words(verdict))}">{verdict.score}</span>'
        if len(verdict.parts) > 1
        else f"{weights}{verdict.score}"
    )


def _pools(plan: Plan) -> Iterator[str]:
    """Yield the node pools, unbounded ones with a dashed border."""
    if not plan.pools:
        return
    yield '<h3>Pools</h3>\n<ul class="nodes pools">\n'
    for pool in plan.pools:
        unbounded = " closed" * (pool.most is None)
        guards = "".join(f'<p class="marks guard">tainted {shown(taint)}</p>' for taint in pool.taints)
        labels = f'<p class="marks">{shown(list_some(list(pool.labels), _LABELS_SHOWN))}</p>' if pool.labels else ""
        words = f"{pluralize(pool.nodes, 'node')} here; size: {pool_size(pool)}"
        yield f'<li class="node{unbounded}"><span class="name">{shown(pool.title)}</span> <small>{words}</small>{guards}{labels}</li>\n'
    yield "</ul>\n"


def _nodes(plan: Plan) -> Iterator[str]:
    """Yield groups of nodes with the same labels, cordon and taints."""
    common = set.intersection(*(set(node.labels.items()) for node in plan.nodes)) if plan.nodes else set()
    alike: dict[tuple[str, ...], list[NodeRow]] = {}
    for node in plan.nodes:
        labels = [pair for pair in node.labels.items() if pair not in common and pair != ("kubernetes.io/hostname", node.name)]
        labels.sort(key=lambda pair: (is_machine_made(pair[0]), pair))
        alike.setdefault((*marks(node), *(f"{key}={value}" for key, value in labels)), []).append(node)
    yield f'<details class="fold"{" open" * (len(plan.nodes) <= _NODES_SHOWN)}>\n<summary>Labels and taints</summary>\n'
    if common:
        yield f"<p>All nodes: <code>{_list_labels(f'{key}={value}' for key, value in sorted(common))}</code></p>\n"
    yield '<table class="labels">\n<thead><tr><th scope="col">Nodes</th><th scope="col">Taints and labels</th></tr></thead>\n<tbody>\n'
    for words, nodes in alike.items():
        names = shown(list_some([node.name for node in nodes], 8))
        yield f"<tr><td><code>{names}</code></td><td><code>{_list_labels(words)}</code></td></tr>\n"
    yield "</tbody>\n</table>\n</details>\n"


def _list_labels(words: Iterable[str]) -> str:
    return shown(list_some(list(words), _LABELS_SHOWN))
