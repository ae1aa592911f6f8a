"""Explanations of constraints: what they require of nodes and other pods, and which nodes and manifests match now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from afflint.constraints.nodes import NodeAffinityTerm, node_constraints
from afflint.constraints.pods import SOFT, PodAffinityTerm, TopologySpreadConstraint, pod_constraints
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, pluralize, quoted, summarize_names, visible
from afflint.index.facts import BUDGET_SELECTOR, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.node_files import NodeFact
from afflint.kube.node_labels import domain_noun
from afflint.kube.selectors import Malformed, Requirement, Selector, matches
from afflint.kube.taints import Toleration, parse_tolerations, tolerates
from afflint.manifests.manifest import Manifest, Workload

_MAX_NAMES = 5
_MAX_PODS = 1000


class RunContext(NamedTuple):
    """The manifests and nodes of a run. ``place`` returns the name of an object, as a link to its manifest if possible."""

    manifest_index: ManifestIndex | None
    nodes: Sequence[NodeFact]
    place: Callable[[Pods], str]


def explain(manifest: Manifest, path: Path, selector_refs: Sequence[SelectorRef], context: RunContext) -> tuple[Path, str] | None:
    """Return the path and the explanation of the constraint that contains a path; None if no constraint does.

    ``selector_refs`` are the selectors of this manifest.
    """
    for constraint_path, explain_constraint in _constraints(manifest, selector_refs, context):
        if path[: len(constraint_path)] == constraint_path:
            return constraint_path, " ".join(explain_constraint())
    return None


def _constraints(
    manifest: Manifest, selector_refs: Sequence[SelectorRef], context: RunContext
) -> Iterator[tuple[Path, Callable[[], Iterable[str]]]]:
    """Yield the constraints of a manifest with the functions that explain them, inner ones first."""
    if not isinstance(manifest, Workload):
        yield from ((ref.path, partial(_evidence, ref, context)) for ref in selector_refs)
        return
    constraints = manifest.constraints
    by_path = {ref.path[:-1]: ref for ref in selector_refs}
    nodes, pods = node_constraints(manifest), pod_constraints(manifest)
    for term in pods.terms:
        path = term.path if term.required else term.path[:-1]
        yield path, partial(_pod_term, term, by_path.get(term.path), context)
    for spread in pods.spreads:
        yield spread.path, partial(_spread, spread, by_path.get(spread.path), context)
    for each in nodes.terms or ():
        yield each.path, partial(_node_term, each, len(nodes.terms or ()), context)
    for each in nodes.preferences:
        yield each.path[:-1], partial(_node_term, each, 0, context)
    if nodes.selector_path is not None:
        yield nodes.selector_path, partial(_node_selector, nodes.selector, context)
    for toleration in constraints.tolerations:
        yield toleration.path, partial(_toleration, toleration.data, context)
    name = manifest.pod.get("nodeName")
    if type(name) is str:
        yield (*manifest.pod_path, "nodeName"), partial(_node_name, name)


def _node_name(name: str) -> Iterator[str]:
    yield f"runs only on node {quoted(name)}, without the scheduler."


# Other pods.


def _pod_term(term: PodAffinityTerm, ref: SelectorRef | None, context: RunContext) -> Iterator[str]:
    key = term.topology_key
    noun = domain_noun(key) if key else "domain"
    share = f"{'not ' if term.anti else ''}share {'an' if noun[:1] in 'aeiou' else 'a'} {noun}"
    if ref is None:
        yield "has a term here that selects no pods: its labelSelector is missing or invalid."
        return
    if term.required:
        yield f"must {share} with {'any' if term.anti else 'a'} pod that {describe_labels(ref.selector)},"
        yield f"{_namespaces(ref)}: {list_selected(ref, context)}."
    else:
        yield f"should {share} with pods that {describe_labels(ref.selector, plural=True)},"
        yield f"{_namespaces(ref)} (weight {term.weight}): {list_selected(ref, context)}."
    if key:
        yield from _domains_of_key(key, context)


def _spread(spread: TopologySpreadConstraint, ref: SelectorRef | None, context: RunContext) -> Iterator[str]:
    key = spread.topology_key
    noun = domain_noun(key) if key else "domain"
    word = "should" if spread.when_unsatisfiable == SOFT else "must"
    skew = 1 if spread.max_skew is None else spread.max_skew
    yield f"{word} be spread over {noun}s with a skew of at most {pluralize(skew, 'pod')},"
    if ref is None:
        yield "but no pods are counted: the labelSelector is missing or invalid."
        return
    yield f"counting pods that {describe_labels(ref.selector, plural=True)}, {_namespaces(ref)}: {list_selected(ref, context)}."
    if spread.min_domains is not None:
        yield f"With fewer than {spread.min_domains} {noun}s, the scheduler counts 0 pods in the emptiest one."
    if key:
        yield from _domains_of_key(key, context)


def _evidence(ref: SelectorRef, context: RunContext) -> Iterator[str]:
    what = {BUDGET_SELECTOR: "covers"}.get(ref.what, "selects")
    yield f"{what} pods that {describe_labels(ref.selector, plural=True)}, {_namespaces(ref)}: {list_selected(ref, context)}."


def describe_labels(selector: Selector, *, plural: bool = False) -> str:
    """Return the labels that a selector requires: ``has `app=fedora` and a label `tier` ``; ``have`` for ``plural``."""
    has, lacks = ("have", "do not have") if plural else ("has", "does not have")
    wanted = [_requirement(each) for each in selector.requirements if each.operator != "NotIn"]
    parts = [f"{has} {join_words(wanted)}"] if wanted else []
    parts += [f"{lacks} {_requirement(each)}" for each in selector.requirements if each.operator == "NotIn"]
    return join_words(parts) if parts else f"{has} any labels"


def _requirement(each: Requirement) -> str:
    if each.operator in ("In", "NotIn"):
        return summarize_names([quoted(f"{each.key}={value}") for value in each.values], "or", _MAX_NAMES)
    if each.operator == "Exists":
        return f"a label {quoted(each.key)}"
    if each.operator == "DoesNotExist":
        return f"no label {quoted(each.key)}"
    return f"{quoted(each.key)} {'above' if each.operator == 'Gt' else 'below'} {join_words(map(quoted, each.values))}"


def _namespaces(ref: SelectorRef) -> str:
    if ref.everywhere and ref.namespace_selector is not None and ref.namespace_selector.requirements:
        return f"in namespaces that {describe_labels(ref.namespace_selector, plural=True)}"
    if ref.everywhere:
        return "in all namespaces"
    if ref.namespaces:
        return f"in namespace{'s' if len(ref.namespaces) > 1 else ''} {join_words(map(quoted, ref.namespaces))}"
    return "in this namespace" if ref.namespace is None else f"in its namespace {quoted(ref.namespace)}"


def list_selected(ref: SelectorRef, context: RunContext) -> str:
    """List the objects whose pods a selector matches."""
    if context.manifest_index is None:
        return "the manifests have not been read yet"
    pods = list(islice(context.manifest_index.selected(ref), _MAX_PODS))
    if not pods:
        return "no manifest here creates such a pod"
    own = context.manifest_index.owner(ref)
    names = [f"{context.place(each)}{' itself' if own is not None and each.key == own.key else ''}" for each in pods]
    return summarize_names(names, most=_MAX_NAMES)


def count_selected(ref: SelectorRef, manifest_index: ManifestIndex) -> str:
    """Return ``selects 3 pods in 2 manifests``; only the manifests if a number of replicas is unknown."""
    pods = list(islice(manifest_index.selected(ref), _MAX_PODS))
    if not pods:
        return "selects no pods here"
    manifests = pluralize(len(pods), "manifest")
    if any(each.scale.current is None for each in pods):
        return f"selects the pods of {manifests}"
    least, most = sum(each.scale.least or 0 for each in pods), sum(each.scale.most or 0 for each in pods)
    return f"selects {f'{least} to ' if least < most else ''}{pluralize(most, 'pod')} in {manifests}"


def selectors_of(selector_refs: Sequence[SelectorRef], pods: Pods) -> str:
    """List the objects that select some pods, with the kind of selector."""
    title = visible(pods.title)
    if not selector_refs:
        return f"No affinity, spread constraint, Service, PodDisruptionBudget or NetworkPolicy here selects the pods of {title}."
    names = dict.fromkeys(visible(_selecting(ref, pods)) for ref in selector_refs)
    return f"The pods of {title} are selected by {summarize_names(list(names), most=_MAX_NAMES)}."


def _selecting(ref: SelectorRef, pods: Pods) -> str:
    if ref.template_path is None:
        return ref.title
    own = (ref.site, ref.ref) == (pods.site, pods.ref)
    return f"its own {ref.what}" if own else f"{ref.what} of {ref.title}"


# Nodes.


def _node_term(term: NodeAffinityTerm, number: int, context: RunContext) -> Iterator[str]:
    parsed = term.selector
    if isinstance(parsed, Malformed) or parsed is None:
        yield "has a term here that matches no node: it is empty or invalid."
        return
    if term.weight is not None:
        requirement = f"should run on a node that {describe_labels(parsed)} (weight {term.weight})"
    else:
        others = f" (one of {number} alternatives)" if number > 1 else ""
        requirement = f"must run on a node that {describe_labels(parsed)}{others}"
    yield requirement + _count_nodes(context, lambda fact: matches(parsed, fact.labels, fact.name))


def _node_selector(parsed: Selector | Malformed, context: RunContext) -> Iterator[str]:
    if isinstance(parsed, Malformed):
        yield "has an invalid nodeSelector: label values are strings."
        return
    yield f"must run on a node that {describe_labels(parsed)}" + _count_nodes(context, lambda fact: matches(parsed, fact.labels, fact.name))


def _toleration(data: dict[str, Any], context: RunContext) -> Iterator[str]:
    parsed = parse_tolerations([data])
    if isinstance(parsed, Malformed):
        yield "has an invalid toleration here."
        return
    toleration: Toleration = parsed[0]
    key, value, effect = toleration.key, toleration.value, toleration.effect
    taint = f"taint {quoted(f'{key}={value}' if value else key)}" if key else "taint"
    if toleration.operator == "Exists" or not key:
        taint += "" if not key else ", whatever its value"
    what = f"{'any' if not key else 'the'} {taint}, with {f'the effect {quoted(effect)}' if effect else 'any effect'}"
    fitting = _count_nodes(
        context, lambda fact: any(tolerates(toleration, each) for each in fact.node.taints), "have such a taint", "has such a taint"
    )
    seconds = data.get("tolerationSeconds")
    stay = f"stay for {pluralize(seconds, 'second')}" if type(seconds) is int else "stay"
    yield f"may {stay if effect == 'NoExecute' else 'run'} on nodes with {what}, but does not prefer them{fitting}"


def _domains_of_key(key: str, context: RunContext) -> Iterator[str]:
    if context.nodes:
        labelled = [fact for fact in context.nodes if key in fact.labels]
        domains = pluralize(len({fact.labels[key] for fact in labelled}), domain_noun(key))
        have = "has" if len(labelled) == 1 else "have"
        yield f"{len(labelled)} of {pluralize(len(context.nodes), 'node')} {have} {quoted(key)}: {domains}."


def _count_nodes(context: RunContext, fits: Callable[[NodeFact], bool], plural: str = "match", singular: str = "matches") -> str:
    """Return the end of a sentence: how many nodes match."""
    if not context.nodes:
        return " (no nodes are known: set `nodes` in the configuration)."
    number = sum(map(fits, context.nodes))
    return f": {number} of {pluralize(len(context.nodes), 'node')} {singular if number == 1 else plural}."
