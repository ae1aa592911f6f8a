"""What constraints mean, in words: what must hold of a node, or of the pods near it, and which manifests and nodes that is now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize, quoted, visible
from afflint.index.facts import BUDGET_SELECTOR, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.node_files import NodeFact
from afflint.kube.constraints import NodeTerm, PodTerm
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.node_labels import domain_noun
from afflint.kube.selectors import Malformed, Requirement, Selector, from_labels, matches, parse_node_term
from afflint.kube.taints import Toleration, parse_tolerations, tolerates

_MOST_NAMED = 5
_MOST_LOOKED_AT = 1000


class RunContext(NamedTuple):
    """What a run knows: the manifests and the nodes. ``place`` says where an object stands, as a link if the editor can follow one."""

    manifest_index: ManifestIndex | None
    nodes: Sequence[NodeFact]
    place: Callable[[Pods], str]


def explain(manifest: Manifest, path: Path, reaches: Sequence[SelectorRef], around: RunContext) -> tuple[Path, str] | None:
    """What the constraint says in which a path lies, and the path of that constraint; None where it lies in none.

    ``reaches`` are the selectors of this manifest.
    """
    for where, say in _constraints(manifest, reaches, around):
        if path[: len(where)] == where:
            return where, " ".join(say())
    return None


def _constraints(
    manifest: Manifest, reaches: Sequence[SelectorRef], around: RunContext
) -> Iterator[tuple[Path, Callable[[], Iterable[str]]]]:
    """The constraints of a manifest with what makes words of them, inner ones first."""
    if not isinstance(manifest, Workload):
        yield from ((reach.path, partial(_evidence, reach, around)) for reach in reaches)
        return
    constraints = manifest.constraints
    by_path = {reach.path[:-1]: reach for reach in reaches}
    for term in constraints.pod_terms:
        yield _whole(term), partial(_pod_term, term, by_path.get(term.path), around)
    for spread in constraints.spreads:
        yield spread.path, partial(_spread, spread.data, by_path.get(spread.path), around)
    required = sum(each.required for each in constraints.node_terms)
    for each in constraints.node_terms:
        yield _whole(each), partial(_node_term, each, required, around)
    if constraints.node_selector:
        yield constraints.node_selector.path, partial(_node_selector, constraints.node_selector.data, around)
    for toleration in constraints.tolerations:
        yield toleration.path, partial(_toleration, toleration.data, around)
    name = manifest.pod.get("nodeName")
    if type(name) is str:
        yield (*manifest.pod_path, "nodeName"), partial(_node_name, name)


def _node_name(name: str) -> Iterator[str]:
    yield f"runs on node {quoted(name)} and nowhere else; no scheduler is asked."


def _whole(term: PodTerm | NodeTerm) -> Path:
    """The path of a term with its weight."""
    return term.path if term.weighted is None else term.path[:-1]


# Other pods.


def _pod_term(term: PodTerm, reach: SelectorRef | None, around: RunContext) -> Iterator[str]:
    key = term.data.get("topologyKey")
    noun = domain_noun(key) if type(key) is str and key else "domain"
    share = f"{'not ' if term.anti else ''}share {_a(noun)}"
    if reach is None:
        yield "has a term here that asks for no pod at all: its labelSelector is missing, or cannot be read."
        return
    if term.weighted is None:
        yield f"must {share} with {'any' if term.anti else 'a'} pod that {having(reach.selector)},"
        yield f"{_namespaces(reach)}: {selected(reach, around)}."
    else:
        yield f"should {share} with pods that {having(reach.selector, several=True)},"
        yield f"{_namespaces(reach)} (weight {_weight(term.weighted)}): {selected(reach, around)}."
    if type(key) is str:
        yield from _keyed(key, around)


def _spread(data: dict[str, Any], reach: SelectorRef | None, around: RunContext) -> Iterator[str]:
    key, skew = data.get("topologyKey"), data.get("maxSkew")
    noun = domain_noun(key) if type(key) is str and key else "domain"
    hard = data.get("whenUnsatisfiable") != "ScheduleAnyway"
    word = "must" if hard else "should"
    least = skew if type(skew) is int else 1
    yield f"{word} be spread over the {noun}s: the fullest may have at most {pluralize(least, 'pod')} more than the emptiest,"
    if reach is None:
        yield "where no pods are counted: there is no labelSelector, or none that can be read."
        return
    yield f"counting pods that {having(reach.selector, several=True)}, {_namespaces(reach)}: {selected(reach, around)}."
    if type(data.get("minDomains")) is int:
        yield f"With fewer than {data['minDomains']} {noun}s the emptiest counts as having none."
    if type(key) is str:
        yield from _keyed(key, around)


def _evidence(reach: SelectorRef, around: RunContext) -> Iterator[str]:
    what = {BUDGET_SELECTOR: "covers"}.get(reach.what, "selects")
    yield f"{what} pods that {having(reach.selector, several=True)}, {_namespaces(reach)}: {selected(reach, around)}."


def having(selector: Selector, *, several: bool = False) -> str:
    """``has `app=fedora` and a label `tier` ``, of ``several`` things ``have``: the labels that a selector asks for."""
    has, lacks = ("have", "do not have") if several else ("has", "does not have")
    wanted = [_requirement(each) for each in selector.requirements if each.operator != "NotIn"]
    parts = [f"{has} {join_words(wanted)}"] if wanted else []
    parts += [f"{lacks} {_requirement(each)}" for each in selector.requirements if each.operator == "NotIn"]
    return join_words(parts) if parts else f"{has} any labels or none"


def _requirement(each: Requirement) -> str:
    labels = [quoted(f"{each.key}={value}") for value in each.values[:_MOST_NAMED]]
    labels += [f"{len(each.values) - _MOST_NAMED} more"] if len(each.values) > _MOST_NAMED else []
    if each.operator in ("In", "NotIn"):
        return join_words(labels, "or")
    if each.operator == "Exists":
        return f"a label {quoted(each.key)}"
    if each.operator == "DoesNotExist":
        return f"no label {quoted(each.key)}"
    return f"{quoted(each.key)} {'above' if each.operator == 'Gt' else 'below'} {join_words(map(quoted, each.values))}"


def _namespaces(reach: SelectorRef) -> str:
    if reach.everywhere and reach.namespace_selector is not None and reach.namespace_selector.requirements:
        return f"in namespaces that {having(reach.namespace_selector, several=True)}"
    if reach.everywhere:
        return "in all namespaces"
    if reach.namespaces:
        return f"in namespace{'s' if len(reach.namespaces) > 1 else ''} {join_words(map(quoted, reach.namespaces))}"
    return "in this namespace" if reach.namespace is None else f"in its namespace {quoted(reach.namespace)}"


def selected(reach: SelectorRef, around: RunContext) -> str:
    """The objects that a selector selects, named."""
    if around.manifest_index is None:
        return "the manifests have not been read yet"
    found = list(islice(around.manifest_index.selected(reach), _MOST_LOOKED_AT))
    if not found:
        return "no manifest here makes such a pod"
    own = around.manifest_index.owner(reach)
    names = [f"{around.place(each)}{' itself' if own is not None and each.key == own.key else ''}" for each in found[:_MOST_NAMED]]
    return join_words([*names, *([f"{len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else [])])


def how_many(reach: SelectorRef, manifest_index: ManifestIndex) -> str:
    """``selects 3 pods in 2 manifests``; of what does not say how many pods it makes only the manifests are counted."""
    found = list(islice(manifest_index.selected(reach), _MOST_LOOKED_AT))
    if not found:
        return "selects no pod here"
    manifests = pluralize(len(found), "manifest")
    if any(each.scale.current is None for each in found):
        return f"selects the pods of {manifests}"
    least, most = sum(each.scale.least or 0 for each in found), sum(each.scale.most or 0 for each in found)
    return f"selects {f'{least} to ' if least < most else ''}{pluralize(most, 'pod')} in {manifests}"


def selectors_of(reaches: Sequence[SelectorRef], pods: Pods) -> str:
    """Who selects some pods: their objects, and what for."""
    title = visible(pods.title)
    if not reaches:
        return f"No affinity, spread constraint, Service, PodDisruptionBudget or NetworkPolicy here selects the pods of {title}."
    names = dict.fromkeys(visible(_selecting(reach, pods)) for reach in reaches)
    named = [*list(names)[:_MOST_NAMED], *([f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else [])]
    return f"The pods of {title} are selected by {join_words(named)}."


def _selecting(reach: SelectorRef, pods: Pods) -> str:
    if reach.template_path is None:
        return reach.title
    own = (reach.site, reach.ref) == (pods.site, pods.ref)
    return f"its own {reach.what}" if own else f"{reach.what} of {reach.title}"


# Nodes.


def _node_term(term: NodeTerm, number: int, around: RunContext) -> Iterator[str]:
    parsed = parse_node_term(term.data)
    if isinstance(parsed, Malformed) or parsed is None:
        yield "has a term here that matches no node: it is empty, or cannot be read."
        return
    if term.weighted is not None:
        asks = f"should run on a node that {having(parsed)} (weight {_weight(term.weighted)})"
    else:
        others = f" (one of {number} terms, of which one must match)" if number > 1 else ""
        asks = f"must run on a node that {having(parsed)}{others}"
    yield asks + _counted(around, lambda fact: matches(parsed, fact.labels, fact.name))


def _node_selector(data: dict[str, Any], around: RunContext) -> Iterator[str]:
    parsed = from_labels(data)
    if isinstance(parsed, Malformed):
        yield "has a nodeSelector that cannot be read: the values of labels are strings."
        return
    yield f"must run on a node that {having(parsed)}" + _counted(around, lambda fact: matches(parsed, fact.labels, fact.name))


def _toleration(data: dict[str, Any], around: RunContext) -> Iterator[str]:
    parsed = parse_tolerations([data])
    if isinstance(parsed, Malformed):
        yield "has a toleration here that cannot be read."
        return
    toleration: Toleration = parsed[0]
    key, value, effect = toleration.key, toleration.value, toleration.effect
    taint = f"taint {quoted(f'{key}={value}' if value else key)}" if key else "taint"
    if toleration.operator == "Exists" or not key:
        taint += "" if not key else ", whatever its value"
    what = f"{'any' if not key else 'the'} {taint}, with {f'the effect {quoted(effect)}' if effect else 'any effect'}"
    fitting = _counted(
        around, lambda fact: any(tolerates(toleration, each) for each in fact.node.taints), "have such a taint", "has such a taint"
    )
    seconds = data.get("tolerationSeconds")
    stay = f"stay for {pluralize(seconds, 'second')}" if type(seconds) is int else "stay"
    yield f"may {stay if effect == 'NoExecute' else 'run'} on nodes with {what}, but is not drawn there{fitting}"


def _keyed(key: str, around: RunContext) -> Iterator[str]:
    if around.nodes:
        having = [fact for fact in around.nodes if key in fact.labels]
        domains = pluralize(len({fact.labels[key] for fact in having}), domain_noun(key))
        have = "has" if len(having) == 1 else "have"
        yield f"{len(having)} of {pluralize(len(around.nodes), 'node')} {have} {quoted(key)}: {domains}."


def _counted(around: RunContext, fits: Callable[[NodeFact], bool], several: str = "match", one: str = "matches") -> str:
    """The end of a sentence: how many of the nodes."""
    if not around.nodes:
        return " (no nodes are known: the configuration names none)."
    number = sum(map(fits, around.nodes))
    return f": {number} of {pluralize(len(around.nodes), 'node')} {one if number == 1 else several}."


def _weight(weighted: dict[str, Any]) -> object:
    weight = weighted.get("weight")
    return weight if type(weight) is int else 0


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"
