"""Node pools in the manifests: workloads that no pool accepts, and mistakes in the pools themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from afflint.checks.admission.keys import KEY_HELP, VALUE_HELP, invalid_key_message, invalid_value_message
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.checks.nodes import likely_typos
from afflint.checks.pool_view import PoolRequirements, PoolView, ends_of
from afflint.constraints.nodes import NodeRequirement
from afflint.findings.finding import Severity
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import MOST_NAMED, nearest, quoted, summarize_names
from afflint.findings.similarity import is_likely_typo
from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.node_labels import HOSTNAME, INSTANCE_TYPE, ROLES, is_well_known
from afflint.kube.selectors import Requirement, describe, has_placeholder
from afflint.kube.taints import BLOCKING_EFFECTS, Taint, Toleration, first_untolerated, format_taint, tolerates
from afflint.pools.fields import INVALID_TAINT, UNREACHABLE_LABEL
from afflint.pools.matching import PoolIndex, PoolLabels, PoolLabelStatements
from afflint.pools.pool import Label, Pool, PoolPart
from afflint.yaml.placeholders import is_placeholder

# Workloads that no pool accepts.


def no_matching_pool(view: PoolView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report workloads that no pool accepts because of node constraints or taints."""
    complete = target.complete_nodes
    if not view.pools:
        return
    opened = pools_open_to(view)
    for requirements in view.demands:
        usable = pools_for(requirements, view.index) & opened(requirements.tolerations)
        if usable or _is_built_in(requirements) or view.has_node(requirements):
            continue
        if not (complete or view.ties(requirements.pods.site) or (view.listed and _names_part_of_host(requirements, view))):
            continue
        if not complete and (pools_for(requirements, view.index_of_others) or view.is_elsewhere(requirements.pods.site)):
            continue
        reason = _reason(requirements, view, complete=complete)
        if reason is not None:
            severity: Severity = "error" if complete and not requirements.daemon else "info" if requirements.daemon else reason.severity
            if severity == "info" and not complete and any(pool.has_other_nodes for pool in view.pools):
                continue
            at = reason.asked.path if reason.asked is not None else None
            path = at or (*requirements.pods.site.base, "metadata", "name")
            key = at is not None and at[-1] == reason.key and reason.of_key
            match = Match(path, reason.message, reason.help, key=key, related=reason.related, severity=severity)
            yield CrossManifestMatch(requirements.pods.site, requirements.pods.ref, match)


def _names_part_of_host(requirements: PoolRequirements, view: PoolView) -> bool:
    """Return whether the pods require a host by a part of the name of a node, or by more than its name: ``east-w1`` for ``w1``.

    That is a mistake in whichever of several clusters they run.
    """
    asked = [each.requirement for alternative in requirements.alternatives for each in alternative]
    named = {value for each in asked if each.key == HOSTNAME and each.operator == "In" for value in each.values}
    return any(value in view.ends_of_hosts or not view.hosts.isdisjoint(ends_of(value)) for value in named)


class _PoolRejection(NamedTuple):
    """The reason why no pool accepts a workload, with the requirement at fault, if there is one."""

    asked: NodeRequirement | None
    message: str
    severity: Severity
    help: str = ""
    of_key: bool = False
    related: tuple[RelatedPlace, ...] = ()

    @property
    def key(self) -> str:
        return self.asked.requirement.key if self.asked is not None else ""


def pools_for(requirements: PoolRequirements, pools: PoolIndex) -> int:
    """Return the pools with the labels that the pods require, as a bit set."""
    found = 0
    for alternative in requirements.alternatives:
        found |= pools.fitting([each.requirement for each in alternative])
    return found


def pools_open_to(view: PoolView) -> Callable[[tuple[Toleration, ...]], int]:
    """Return a function for the pools that the pods can use despite taints, by their tolerations, which many pods share."""

    @cache
    def opened(tolerations: tuple[Toleration, ...]) -> int:
        return sum(1 << number for number, pool in enumerate(view.pools) if _blocking_taint(pool, tolerations) is None)

    return opened


def _blocking_taint(pool: Pool, tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the taint that keeps pods out of a pool, except one that the cluster may tolerate for pods with its resource."""
    return first_untolerated([each.taint for each in pool.taints if not each.taint.key.startswith(_RESOURCES)], tolerations)


# With the admission plugin ExtendedResourceToleration, as on GKE, pods that request a device tolerate the taint of its name.
_RESOURCES = (
    "nvidia.com/",
    "amd.com/",
    "gpu.intel.com/",
    "habana.ai/",
    "aws.amazon.com/",
    "google.com/",
    "cloud.google.com/",
    "xilinx.com/",
)


def _is_built_in(requirements: PoolRequirements) -> bool:
    """Return whether the pods select a pool of EKS Auto Mode, which no manifest declares."""
    return any(
        each.requirement.key == "karpenter.sh/nodepool" and not _BUILT_IN.isdisjoint(each.requirement.values)
        for alternative in requirements.alternatives
        for each in alternative
    )


_BUILT_IN = frozenset(("general-purpose", "system"))


def _reason(requirements: PoolRequirements, view: PoolView, *, complete: bool) -> _PoolRejection | None:
    """Return why no pool accepts the workload, by the nearest alternative; None if that is not certain enough to be reported."""
    found = [_reason_of(alternative, requirements, view, complete=complete) for alternative in requirements.alternatives]
    reasons = [reason for reason in found if reason is not None]
    if len(reasons) < len(found):
        return None
    return max(reasons, key=lambda reason: _MILD.index(reason.severity))


_MILD = ("error", "warning", "info")


def _reason_of(
    alternative: Sequence[NodeRequirement], requirements: PoolRequirements, view: PoolView, *, complete: bool
) -> _PoolRejection | None:
    conditions = [each.requirement for each in alternative]
    if any(map(has_placeholder, conditions)):
        return None
    pools = view.index
    fitting = pools.fitting(conditions)
    if fitting:
        return _tainted(alternative, list(pools.chosen(fitting)), requirements, view, complete=complete)
    unmet = pools.unmet(conditions)
    nowhere = [index for index, without in enumerate(unmet) if without == pools.all]
    if nowhere:
        declared = [index for index in nowhere if pools.statements(conditions[index].key).pools]
        index = declared[0] if declared else nowhere[0]
        if not declared and conditions[index].key in view.lost_keys:
            return None  # Another rule reports that the label never reaches the nodes.
        if conditions[index].key in view.added_keys:
            return None
        if _is_of_other_cluster(conditions[index], view) and not complete:
            return None
        if conditions[index].operator in ("NotIn", "DoesNotExist") and view.has_other_machines and not complete:
            return None  # Such a machine has another value, or no such label.
        return (_without_value if declared else _without_key)(alternative[index], view)
    # Some pool meets each requirement, and no pool meets them all.
    lacking = [[index for index, without in enumerate(unmet) if without >> number & 1] for number in range(len(pools.pools))]
    least = min(range(len(lacking)), key=lambda number: len(lacking[number]))
    asked, labels = alternative[lacking[least][0]], pools.pools[least]
    met = [each.requirement for index, each in enumerate(alternative) if index not in lacking[least]]
    both = " and ".join(_describe(each) for each in [met[-1], asked.requirement])
    message = f"no {view.noun} has both {both}: {_describe_difference(labels, asked.requirement)}"
    return _PoolRejection(asked, message, "warning", related=_places(labels, asked.requirement.key))


def _is_of_other_cluster(requirement: Requirement, view: PoolView) -> bool:
    """Return whether a requirement is for a cluster that is not made of such pools: a machine of another provider, or a cluster of kind."""
    if requirement.key == _OF_KIND:
        return True
    if requirement.key != INSTANCE_TYPE or not requirement.values:
        return False
    providers = {_provider_of(value) for value in view.index.statements(INSTANCE_TYPE).values}
    return bool(providers) and providers.isdisjoint(map(_provider_of, requirement.values))


_OF_KIND = "ingress-ready"
"""The label that the configurations of kind give the node with ports for an ingress controller."""


def _provider_of(machine: str) -> str:
    """Return the provider of a type of machine, by its form; "" for other forms."""
    return next((provider for provider, form in _MACHINES.items() if re.fullmatch(form, machine)), "")


_MACHINES = {
    "SageMaker": r"ml\..+",
    "AWS": r"[a-z][a-z0-9-]*\.(?:nano|micro|small|medium|large|\d*xlarge|metal\S*)",
    "Azure": r"Standard_.+",
    "Google": r"[a-z]\d[a-z]?-[a-z]+-\w+",
}


def _tainted(
    alternative: Sequence[NodeRequirement], fitting: Sequence[PoolLabels], requirements: PoolRequirements, view: PoolView, *, complete: bool
) -> _PoolRejection | None:
    """Return the rejection by taints of all pools with the labels, which the pods do not tolerate."""
    pool = fitting[0].pool
    taint = _blocking_taint(pool, requirements.tolerations)
    chosen = [each for each in alternative if each.path is not None and fitting[0].values(each.requirement.key)]
    if taint is None or not (chosen or complete):
        return None
    asked, one = chosen[0] if chosen else None, len(fitting) == 1
    which = " with the required labels" if len(fitting) < len(view.pools) else ""
    which = f" with {_describe(asked.requirement)}" if asked is not None else which
    what = f"the only {view.noun}{which} is" if one else f"all {view.noun}s{which} are"
    has = f"{summarize_names([labels.pool.title for labels in fitting])} {'has' if one else 'have'}"
    taints = list(
        dict.fromkeys(format_taint(each) for labels in fitting if (each := _blocking_taint(labels.pool, requirements.tolerations)))
    )
    message = f"{what} tainted, and the pods do not tolerate it: {has} {summarize_names(list(map(quoted, taints)), 'or')}"
    value = f"`value: {taint.value}`" if taint.value else "`operator: Exists`"
    places = [each.path for each in pool.taints if each.taint == taint and each.path]
    related = tuple([RelatedPlace(pool.site.file, pool.site.document, path, False, f"the taint of {pool.title}") for path in places[:1]])
    help_ = f"If the pods should run there, add a toleration: `key: {taint.key}`, {value}, `effect: {taint.effect}`."
    return _PoolRejection(asked, message, "warning", help_, of_key=True, related=related)


def _without_value(asked: NodeRequirement, view: PoolView) -> _PoolRejection:
    """Return the rejection for a label that some pools declare, with other values."""
    key, wanted = asked.requirement.key, asked.requirement.values
    statements = view.index.statements(key)
    near = next((found for value in wanted if (found := _nearest(value, statements.values))), None)
    labels = statements.values[near] if near is not None else statements.pools[0]
    has = f"{labels.pool.title} has {quoted(f'{key}: {near}')}" if near is not None else _describe_difference(labels, asked.requirement)
    more = f", {_describe_others(statements, key, labels)}" if len(statements.pools) > 1 else ""
    slip = near is not None and any(is_likely_typo(value, near) for value in wanted)
    help_ = f"Write `{near}`." if slip else ""
    # A value unlike all others here may be that of a pool in another repository, or of one that Terraform creates.
    certain = near is not None or (view.listed and not _is_set_by_hand(key))
    here = "" if certain or view.named or view.listed else " in these manifests"
    message = f"no {view.noun}{here} has {_describe(asked.requirement)}: {has}{more}"
    return _PoolRejection(asked, message, "warning" if certain else "info", help_, related=_places(labels, key))


def _nearest(value: str, known: Iterable[str]) -> str | None:
    """Return the value that was probably meant: a typo, or one with mostly the same words in another order."""
    known = list(known)
    close = nearest(value, known)
    if close is not None:
        return close
    words = _words(value)
    shared, other = max(((len(words & _words(each)), each) for each in known), default=(0, ""), key=lambda found: found[0])
    return other if shared >= _FEWEST_WORDS and 2 * shared >= len(words) else None


_FEWEST_WORDS = 2


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)}


def _describe_others(statements: PoolLabelStatements, key: str, named: PoolLabels) -> str:
    """Describe the values of a label in the other pools."""
    own = named.values(key)
    known = [value for value in statements.values if value not in own]
    if not known:
        return f"and so have {len(statements.pools) - 1} more" if len(statements.pools) > 2 else "and so has 1 more"
    return f"others {summarize_names([quoted(value) for value in known], 'or')}"


def _without_key(asked: NodeRequirement, view: PoolView) -> _PoolRejection:
    """Return the rejection for a label that no pool declares."""
    key = asked.requirement.key
    close = next((each for each in view.declared if is_likely_typo(key, each)), None)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    only = f"{view.pools[0].title}, the only {view.noun} here, does not have"
    has = f"none of the {len(view.pools)} {view.noun}s has" if len(view.pools) > 1 else only
    result = "none of them" if view.listed else "no node created from them"
    message = f"{has} the label {quoted(key)}, so {result} accepts the pods{hint}"
    help_ = f"Write `{close}`." if close else ""
    certain = close is not None or (view.listed and not _is_set_by_hand(key))
    return _PoolRejection(asked, message, "warning" if certain else "info", help_, of_key=True)


def _is_set_by_hand(key: str) -> bool:
    """Return whether users often set a label with kubectl, or a cloud sets it, so that its absence from a list proves little."""
    return key.startswith(ROLES) or key == INSTANCE_TYPE


def _describe(requirement: Requirement) -> str:
    """Describe a requirement: ``zone: east`` for one value, else as in the manifest."""
    if requirement.operator == "In" and len(requirement.values) == 1:
        return quoted(f"{requirement.key}: {requirement.values[0] or _EMPTY}")
    return quoted(describe(requirement))


_EMPTY = '""'


def _describe_difference(labels: PoolLabels, requirement: Requirement) -> str:
    """Describe what a pool has instead of the required label."""
    about = labels.about(requirement.key)
    if not about or about[0].operator == "DoesNotExist":
        return f"{labels.pool.title} does not have {quoted(requirement.key)}"
    return f"{labels.pool.title} has {_describe(about[0])}"


def _places(labels: PoolLabels, key: str) -> tuple[RelatedPlace, ...]:
    """Return the places where a pool declares a label."""
    pool = labels.pool
    places = [each.path for each in labels.known(key) if each.path]
    return tuple([RelatedPlace(pool.site.file, pool.site.document, path, False, f"the label of {pool.title}") for path in places[:1]])


# The pools themselves.


def unreachable_node_label(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report labels that stop the kubelet, and labels that never reach a node although workloads select them."""
    yield from _faults(view, UNREACHABLE_LABEL)
    asking: dict[str, list[tuple[PoolRequirements, NodeRequirement]]] = defaultdict(list)
    lost = {each.key for pool in view.everything for each in pool.unreachable}
    for requirements in view.demands if lost else ():
        for asked in (each for alternative in requirements.alternatives for each in alternative):
            if asked.requirement.key in lost and asked.path is not None and asked.requirement.operator in ("In", "Exists", "Gt", "Lt"):
                asking[asked.requirement.key].append((requirements, asked))
    reaching = {label.key for pool in view.everything for label in pool.labels}
    for pool in view.everything:
        for each in pool.unreachable:
            users = [(requirements, asked) for requirements, asked in asking.get(each.key, ()) if _would_meet(asked, each.value)]
            if users and each.key not in reaching:
                titles = list(dict.fromkeys(requirements.pods.title for requirements, _ in users))
                who = f"{summarize_names(titles)} {'selects' if len(titles) == 1 else 'select'} it"
                message = f"the label {quoted(each.key)} {each.why}, so it never reaches a node; {who}"
                related = tuple([_asker(requirements, asked) for requirements, asked in users[:MOST_NAMED]])
                yield _at(pool, Match(each.path, message, each.remedy, key=True, related=related, severity="warning"))


def _asker(requirements: PoolRequirements, asked: NodeRequirement) -> RelatedPlace:
    site = requirements.pods.site
    return RelatedPlace(site.file, site.document, asked.path or (), False, f"selected by {requirements.pods.title}")


def _would_meet(asked: NodeRequirement, value: str) -> bool:
    return asked.requirement.operator != "In" or value in asked.requirement.values


def invalid_pool_taint(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report taint effects that the format of the pool does not support."""
    yield from _faults(view, INVALID_TAINT)


def invalid_label_key(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report invalid keys of the labels that pools, and rules of node feature discovery, give to nodes."""
    for declared, label in _written_labels(view):
        # The key may be one of several in a text.
        own = str(label.path[-1]) if label.key.endswith(f"/{label.path[-1]}") else label.key
        if not is_key(label.key):
            yield _at(declared, Match(label.path, invalid_key_message("label key", own), KEY_HELP, key=label.path[-1] == own))


def invalid_label_value(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report invalid values of these labels."""
    for declared, label in _written_labels(view):
        for value in label.requirement.values if label.requirement.operator == "In" else ():
            if not is_value(value):
                yield _at(declared, Match(label.path, invalid_value_message(value), VALUE_HELP))


def _written_labels(view: PoolView) -> Iterator[tuple[Pool | PoolPart, Label]]:
    every: list[Pool | PoolPart] = [*view.everything, *view.parts]
    yield from ((declared, label) for declared in every for label in declared.labels if label.path)


def _faults(view: PoolView, rule: str) -> Iterator[CrossManifestMatch]:
    every: list[Pool | PoolPart] = [*view.everything, *view.parts]
    for each in every:
        for fault in each.faults:
            if fault.rule == rule:
                yield _at(each, Match(fault.path, fault.message, fault.help, key=fault.key, severity=fault.severity))


def near_duplicate_in_pools(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report keys, or values of a key, that two pools of one cluster spell differently."""
    clusters = grouped(((pool.whose, pool.cluster, view.home_of(pool)), pool) for pool in view.everything)
    for pools in clusters.values():
        yield from _near_duplicates(pools)


def _near_duplicates(pools: Sequence[Pool]) -> Iterator[CrossManifestMatch]:
    carriers: dict[str, list[_Carrier]] = defaultdict(list)
    values: dict[str, dict[str, list[_Carrier]]] = defaultdict(lambda: defaultdict(list))
    for pool in pools:
        for label in pool.labels:
            if label.path and label.requirement.operator in ("In", "Exists") and not is_well_known(label.key):
                carriers[label.key].append(_Carrier(pool, label))
                for value in label.requirement.values:
                    values[label.key][value].append(_Carrier(pool, label))
    for rare, usual in likely_typos(carriers):
        carriers_of_rare, others = carriers[rare], carriers[usual]
        # Keys in the same pool are different on purpose.
        if not any(one.pool is other.pool for one in carriers_of_rare for other in others):
            yield _twice(carriers_of_rare[0], others[0], f"the label key {quoted(rare)}", quoted(usual), usual)
    for key, by_value in values.items():
        for rare, usual in likely_typos(by_value):
            carriers_of_rare, others = by_value[rare], by_value[usual]
            yield _twice(carriers_of_rare[0], others[0], quoted(f"{key}: {rare}"), quoted(f"{key}: {usual}"), usual)


class _Carrier(NamedTuple):
    pool: Pool
    label: Label


def _twice(one: _Carrier, other: _Carrier, rare: str, frequent: str, usual: str) -> CrossManifestMatch:
    message = f"{rare} of {one.pool.title} is nearly the same as {frequent} of {other.pool.title}"
    related = RelatedPlace(other.pool.site.file, other.pool.site.document, other.label.path, False, f"of {other.pool.title}")
    remedy = f"If they are meant to be the same, use `{usual}` everywhere."
    return _at(one.pool, Match(one.label.path, message, remedy, related=(related,), severity="info"))


def untolerated_pool(view: PoolView) -> Iterator[CrossManifestMatch]:
    """Report pools with a taint that no workload tolerates by name."""
    whole = any(not requirements.patch for requirements in view.demands)
    tolerations = view.tolerations() if whole else set()
    asked = {each.requirement.key for requirements in view.demands for alternative in requirements.alternatives for each in alternative}
    named = asked | {toleration.key for toleration in tolerations}
    meant = {pool.cluster for pool in view.pools if not named.isdisjoint([*_own_keys(pool), *[each.taint.key for each in pool.taints]])}
    tainted = [pool for pool in view.pools if any(each.path and each.taint.effect in BLOCKING_EFFECTS for each in pool.taints)]
    asked_for = _selected_pools(tainted, view) if whole else 0
    for number, pool in enumerate(tainted if whole else ()):
        # The workloads of a cluster that an installer creates are probably elsewhere, unless some of them select labels of its pools.
        if (pool.whose != "own" and (pool.cluster not in meant or pool.has_other_nodes)) or asked_for >> number & 1:
            continue
        for each in pool.taints:
            taint = each.taint
            if not each.path or taint.effect not in BLOCKING_EFFECTS or taint.key.startswith(_TOLERATED_ELSEWHERE):
                continue
            if not any(_may_tolerate(toleration, taint) for toleration in tolerations):
                others = sorted({toleration.value for toleration in tolerations if toleration.key == taint.key and toleration.value})
                hint = f"; the pods tolerate only the value {summarize_names(list(map(quoted, others)), 'or')}" if others else ""
                taint_of_pool = f"{quoted(format_taint(taint))} of {pool.title}"
                message = f"no workload in these manifests tolerates {taint_of_pool}, so none of them runs there{hint}"
                yield _at(pool, Match(each.path, message, severity="info"))


def _may_tolerate(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration matches a taint, or may once a tool has replaced its placeholders."""
    if is_placeholder(toleration.key) or (toleration.key == taint.key and is_placeholder(toleration.value)):
        return True
    return tolerates(toleration, taint)


def _selected_pools(pools: Sequence[Pool], view: PoolView) -> int:
    """Return the pools with a label that a workload selects, and without one that it selects and they lack, as a bit set."""
    given: dict[str, int] = defaultdict(int)
    for number, pool in enumerate(pools):
        for key in set(_own_keys(pool)):
            given[key] |= 1 << number
    index, found = PoolIndex(pools, ()), 0
    for requirements in view.demands:
        for alternative in requirements.alternatives:
            naming = 0
            for each in alternative:
                naming |= given.get(each.requirement.key, 0)
            if naming & ~found:
                found |= naming & index.fitting([each.requirement for each in alternative])
    return found


def _own_keys(pool: Pool) -> list[str]:
    return [label.key for label in pool.labels if label.path and (not is_well_known(label.key) or label.key.startswith(ROLES))]


# Taints of devices, of control planes, and of components that a cluster installs itself.
_TOLERATED_ELSEWHERE = (*_RESOURCES, ROLES, "CriticalAddonsOnly", "node.cilium.io/")


def _at(pool: Pool | PoolPart, match: Match) -> CrossManifestMatch:
    return CrossManifestMatch(pool.site, pool.ref, match)
