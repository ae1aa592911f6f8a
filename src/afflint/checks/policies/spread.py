"""Policies about the domains over which replicas are separated, by constraints of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.checks.match import Match
from afflint.checks.policies.node_requirements import name_path, node_alternatives_of
from afflint.checks.policies.subject import PolicySubject
from afflint.findings.edits import Insert, Replace
from afflint.findings.finding import folder_distance
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, summarize_names
from afflint.index.spreading import OwnPods, RequiredSpreading, SpreadingConstraint, is_wider, spreading_constraints, unmet
from afflint.kube.constraints import Constraints
from afflint.kube.node_labels import HOSTNAME, domain_noun
from afflint.kube.node_requirements import equivalent_keys, possible_values
from afflint.kube.selector_algebra import implies
from afflint.kube.selectors import describe
from afflint.manifests.label_places import SPREAD
from afflint.policies.check_params import HARD, RequiredSpread
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.checks.topology import KnownTopology
    from afflint.findings.edits import SymbolicEdit
    from afflint.index.facts import Pods
    from afflint.index.manifest_index import ManifestIndex


def required_spread(case: PolicySubject, params: RequiredSpread) -> Iterator[Match]:
    """Report pods that may all be scheduled in one domain of a topology key."""
    replicas = _replicas(case, params.min_replicas)
    if replicas is None:
        return
    key = params.topology_key
    values = _values_left(case, key)
    if values is not None and len(values) == 1:
        value = quoted(next(iter(values)))
        yield Match(name_path(case), f"its node constraints allow only {domain_noun(key)} {value}, but the policy requires more than one")
        return
    if values is None and _is_literally_met(case, params, replicas):
        return
    constraints = case.operator
    if constraints is None:
        return
    wanted = RequiredSpreading(key, params.mode == HARD, params.max_skew, replicas, revision_label=case.revision_label)
    spreading = _spreading_constraints_of(case, constraints)
    found = unmet(spreading, wanted)
    if found and wanted.hard and case.known_topology is not None and _is_proved_by_nodes(case, case.known_topology, found, wanted):
        return
    if found is None:
        shared = _shared_counting_match(case, spreading, wanted)
        if shared is not None:
            yield shared
        return
    yield _missing_spread_match(case, found, wanted)


def _values_left(case: PolicySubject, key: str) -> frozenset[str] | None:
    """Return the values of a topology key that the nodes of the pods can have, or None if any value is possible."""
    keys = equivalent_keys(key)
    if case.admission is None and case.node_keys.isdisjoint(keys):
        return None
    requirements = node_alternatives_of(case)
    return None if requirements.is_unknown else possible_values(requirements.alternatives, keys)


def _is_literally_met(case: PolicySubject, params: RequiredSpread, replicas: int) -> bool:
    """Return whether the manifest literally has the required constraint for its own pods: then nothing else has to be evaluated."""
    if "own labels" not in case.cache:
        case.cache["own labels"] = case.own_labels
    own, hard = case.cache["own labels"], params.mode == HARD
    if not own:
        return False
    selector = {"matchLabels": own}
    most = params.max_skew or replicas - 1
    for spread in case.constraints.spreads if not (hard and case.revision_label) else ():
        data, skew = spread.data, spread.data.get("maxSkew")
        if data.get("topologyKey") != params.topology_key or data.get("labelSelector") != selector or "matchLabelKeys" in data:
            continue
        if not hard or (data.get("whenUnsatisfiable") == "DoNotSchedule" and type(skew) is int and skew <= most):
            return True
    wanted = {"topologyKey": params.topology_key, "labelSelector": selector}
    return any(term.anti and term.data == wanted and (term.weighted is None or not hard) for term in case.constraints.pod_terms)


def _spreading_constraints_of(case: PolicySubject, constraints: Constraints) -> list[SpreadingConstraint]:
    """Return the spreading constraints of the pods, parsed once for all policies."""
    found: list[SpreadingConstraint] | None = case.cache.get("spreading")
    if found is None:
        own = OwnPods(case.pods.pod_labels, case.pods.labels_known and not case.pods.operated, case.pods.namespace)
        # The map step does not know the labels of the namespace, and assumes the worst.
        covers = case.manifest_index.matches_namespace if case.manifest_index is not None else lambda _selector, _name: False
        found = case.cache["spreading"] = [
            each if each.missed is None or each.missed.key not in case.labels_added else each._replace(missed=None, undecidable=True)
            for each in spreading_constraints(constraints, own, covers)
        ]
    return found


def _is_proved_by_nodes(
    case: PolicySubject, known_topology: KnownTopology, spreading: Sequence[SpreadingConstraint], wanted: RequiredSpreading
) -> bool:
    """Return whether nodes or pools prove that constraints over another label meet the policy.

    Either the domains of that label contain whole domains of the required one, or no domain of the required one has room for all replicas.
    """
    pods = case.pods
    proved = wanted._replace(wider=lambda key, other: is_wider(key, other) or known_topology.holds_whole(pods, key, other))
    if unmet(spreading, proved) is None:
        return True
    if wanted.max_skew is not None:
        return False
    most = known_topology.most_in_one(pods, wanted.key)
    if most is not None and most < wanted.replicas:
        return True
    each_node = [
        each.most
        for each in spreading
        if each.key == HOSTNAME and each.works and not each.undecidable and each.most is not None and not wanted.is_lost_in_rollout(each)
    ]
    nodes = known_topology.nodes_in_one(node_alternatives_of(case).alternatives, wanted.key) if each_node else None
    return nodes is not None and nodes * min(each_node) < wanted.replicas


def _replicas(case: PolicySubject, least: int) -> int | None:
    """Return the number of pods of the case, at least ``least``, or None if it can never be as large."""
    scale = case.pods.scale
    if case.kind == "DaemonSet":
        return None
    if case.manifest_index is None and case.kind not in ("Pod", "VirtualMachine", "VirtualMachineInstance"):
        return least  # An autoscaler may request more than the object.
    if scale.most is None or scale.most < least:
        return None
    return max(least, scale.least or 0)


def _missing_spread_match(case: PolicySubject, found: Sequence[SpreadingConstraint], wanted: RequiredSpreading) -> Match:
    """Return the match for a missing constraint, at the existing constraint that comes nearest to it."""
    nearest = found[0] if found else None
    noun, key = domain_noun(wanted.key), quoted(wanted.key)
    many = f"all {wanted.replicas} replicas" if case.pods.scale.least == case.pods.scale.most else "all its replicas"
    together = f"{many} may be in one {noun}" if wanted.hard else f"nothing makes its replicas prefer different {noun}s"
    kind, when = ("required", "DoNotSchedule") if wanted.hard else ("preferred", "ScheduleAnyway")
    constraint = f"a spread constraint over {key} with `whenUnsatisfiable: {when}` and the labels of its own pods"
    remedy = f"Add {constraint}, or a {kind} podAntiAffinity."
    if nearest is None:
        need = "no required podAntiAffinity or hard spread constraint" if wanted.hard else "no podAntiAffinity or spread constraint"
        message = f"{together}: {need} uses the topology key {key}"
        return Match(name_path(case), message, remedy, edits=_adding_spread(case, found, wanted))
    path, why, help_ = _insufficiency(case, nearest, wanted)
    own = case.constraints
    written = [*[each.path for each in own.pod_terms], *[each.path for each in own.spreads]]
    path = path if nearest.path in written else name_path(case)
    if wanted.hard and wanted.max_skew is not None and nearest.works and nearest.hard and wanted.holds_apart(nearest):
        together = f"one {noun} may have {nearest.most} more replicas than another"
    if wanted.hard and _is_lost(nearest, wanted):
        together = f"after a rollout, {many} may be in one {noun}"
    return Match(path, f"{together}: {why}", help_ or remedy, edits=_adding_spread(case, found, wanted))


def _narrowness(each: SpreadingConstraint, wanted: RequiredSpreading, noun: str) -> str:
    """Return why a constraint over another label is not enough. A node has one value of each label, so it is in one domain of each."""
    if wanted.key != HOSTNAME:
        return f"but one {noun} may contain several of those"
    return "a label that nodes may lack" if "Affinity" in each.name else "but replicas in one of those may share a node"


def _insufficiency(case: PolicySubject, each: SpreadingConstraint, wanted: RequiredSpreading) -> tuple[Path, str, str]:
    """Return the path, the reason and the remedy for a constraint that is not enough; the remedy is empty if the general one applies."""
    name, noun = f"the {each.name}", domain_noun(wanted.key)
    over = f"{name} over {quoted(each.key)}"
    if not wanted.wider(each.key, wanted.key):
        return (*each.path, "topologyKey"), f"{name} is over {quoted(each.key)}, {_narrowness(each, wanted, noun)}", ""
    if each.elsewhere:
        return each.path, f"{over} selects pods in other namespaces only", "Remove its namespaces so that it applies to its own namespace."
    if each.selects_no_pods:
        lacks = "no labelSelector" if each.selector is None else "an empty labelSelector"
        return each.path, f"{over} has {lacks}, so it counts no pods", "Set its `labelSelector` to the labels of its own pods."
    if each.missed is not None:
        own = case.pods.pod_labels.certain.get(each.missed.key)
        have = f"its own pods have {quoted(f'{each.missed.key}={own}')}" if own is not None else "its own pods do not have this label"
        remedy = "Let its `labelSelector` select its own pods."
        return (*each.path, "labelSelector"), f"{over} selects {quoted(describe(each.missed))}, but {have}", remedy
    if not each.hard:
        field = (*each.path, "whenUnsatisfiable") if each.name == SPREAD else each.path
        remedy = "Require it with `whenUnsatisfiable: DoNotSchedule`." if each.name == SPREAD else ""
        return field, f"{over} is only a preference, which the scheduler may leave unmet", remedy
    if not wanted.holds_apart(each):
        return (
            (*each.path, "maxSkew"),
            f"{over} lets {each.most} of them share a domain, because its maxSkew is {each.most}",
            "Lower its `maxSkew`.",
        )
    if _is_lost(each, wanted):
        remedy = f"Add `matchLabelKeys: [{wanted.revision_label}]` to the constraint, so that it counts only the pods of one revision."
        return each.path, f"{over} also counts the pods of the previous revision", remedy
    if not wanted.is_over(each):
        return (*each.path, "topologyKey"), f"{over} does not limit how many more replicas one {noun} has than another", ""
    allowed = f"`maxSkew: {wanted.max_skew}`"
    return (*each.path, "maxSkew"), f"the maxSkew of {over} is {each.most}, but the policy allows only {wanted.max_skew}", f"Set {allowed}."


def _is_lost(each: SpreadingConstraint, wanted: RequiredSpreading) -> bool:
    """Return whether a constraint separates the replicas until a rollout replaces them."""
    apart = each.works and each.hard and wanted.wider(each.key, wanted.key) and wanted.holds_apart(each)
    return apart and wanted.is_lost_in_rollout(each)


def _adding_spread(case: PolicySubject, found: Sequence[SpreadingConstraint], wanted: RequiredSpreading) -> tuple[SymbolicEdit, ...]:
    """Return the edits that change or add a spread constraint to meet the policy; none if it is unclear which pods to select."""
    if case.pods.operated:
        return ()
    skew, when = wanted.max_skew or 1, "DoNotSchedule" if wanted.hard else "ScheduleAnyway"
    over = [each for each in found if each.name == SPREAD and wanted.is_over(each)]
    if len(over) == 1 and over[0].works and not over[0].undecidable:
        harden = () if over[0].hard else (Replace((*over[0].path, "whenUnsatisfiable"), when),)
        limit = wanted.max_skew or wanted.replicas - 1
        lower = (Replace((*over[0].path, "maxSkew"), skew),) if wanted.hard and (over[0].skew or 0) > limit else ()
        return (*harden, *lower, *(_counting_one_revision(over[0], wanted) if wanted.hard else ()))
    selected = _own_selection(case)
    if over or not selected:
        return ()
    constraint = {"maxSkew": skew, "topologyKey": wanted.key, "whenUnsatisfiable": when, "labelSelector": {"matchLabels": selected}}
    if wanted.hard and wanted.revision_label:
        constraint["matchLabelKeys"] = [wanted.revision_label]
    return (Insert((*case.pod_path, "topologySpreadConstraints"), len(case.constraints.spreads), constraint),)


def _counting_one_revision(each: SpreadingConstraint, wanted: RequiredSpreading) -> tuple[SymbolicEdit, ...]:
    """Return the edit with which a spread constraint counts only the pods of one revision; none if it does already."""
    if not wanted.is_lost_in_rollout(each):
        return ()
    if each.label_keys:
        return (Insert((*each.path, "matchLabelKeys"), len(each.label_keys), wanted.revision_label),)
    return (Insert(each.path, "matchLabelKeys", [wanted.revision_label]),)


_OF_A_VERSION = frozenset(
    ("app.kubernetes.io/version", "helm.sh/chart", "version", "chart", "release", "heritage", "app.kubernetes.io/managed-by")
)


def _own_selection(case: PolicySubject) -> dict[str, str]:
    """Return labels that select the own pods: those of their controller's selector, else the lasting labels of the template."""
    asked = case.selector.requirements if case.selector is not None else ()
    if asked and all(each.operator == "In" and len(each.values) == 1 for each in asked):
        return {each.key: each.values[0] for each in asked}
    labels = {key: value for key, value in case.pods.template_labels.items() if key not in _OF_A_VERSION}
    return {} if asked or any(is_placeholder(text) for pair in labels.items() for text in pair) else labels


def _shared_counting_match(case: PolicySubject, spreading: Sequence[SpreadingConstraint], wanted: RequiredSpreading) -> Match | None:
    """Return the match if only spread constraints separate the pods, but other pods that they count let the own ones meet."""
    if not wanted.hard or case.pods.operated:
        return None
    meeting = []
    for each in spreading:
        if wanted.is_met_by(each):
            if each.undecidable or each.name != SPREAD or _selects_own(case, each):
                return None
            meeting.append(each)
    if case.manifest_index is None:
        return Match(meeting[0].path, "its selector may count the pods of others")
    for each in meeting:
        others = _other_counted_pods(case, each, case.manifest_index)
        number = sum(other.scale.least or 0 for other in others)
        if each.most is None or number < wanted.replicas - each.most:
            return None
    each, noun = meeting[0], domain_noun(wanted.key)
    others = _other_counted_pods(case, each, case.manifest_index)
    counted = summarize_names([quoted(other.title).strip("`") for other in others], most=_MOST_NAMED)
    message = f"all its replicas may be in one {noun}: the {each.name} over {quoted(each.key)} also counts the pods of {counted}"
    return Match((*each.path, "labelSelector"), message, "Let its `labelSelector` select its own pods and no others.")


_MOST_NAMED = 3


def _selects_own(case: PolicySubject, each: SpreadingConstraint) -> bool:
    """Return whether a constraint certainly selects no other pods: its selector includes the selector of their controller."""
    known: dict[Path, bool] = case.cache.setdefault("own", {})
    if each.path not in known:
        one, other = each.selector, case.selector
        known[each.path] = (
            one is not None and other is not None and (set(other.requirements) <= set(one.requirements) or implies(one, other))
        )
    return known[each.path]


def _other_counted_pods(case: PolicySubject, each: SpreadingConstraint, manifest_index: ManifestIndex) -> list[Pods]:
    """Return the other workloads whose pods a spread constraint certainly counts.

    Of the workloads with one kind and name in several overlays only one exists. Manifests without a namespace are certainly deployed
    together only if they are in one folder.
    """
    ref = next((ref for ref in manifest_index.selector_refs_of(case.pods) if ref.path[:-1] == each.path), None)
    pods, found = case.pods, {}
    for other in manifest_index.selected(ref) if ref is not None else ():
        if (other.ref.kind, other.ref.name) == (pods.ref.kind, pods.ref.name) or other.partial or other.namespace != pods.namespace:
            continue
        if pods.namespace is not None or folder_distance(pods.site, other.site) == (0, 0):
            found[other.ref.kind, other.ref.name] = other
    return list(found.values())
