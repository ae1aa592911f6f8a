"""The rules: each a page under rules/ bound to its check. The registry of checks is explicit; pages are the data."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from afflint.checks import affinity as affinity_checks
from afflint.checks import cross_manifest, kubevirt
from afflint.checks import labels as label_checks
from afflint.checks import spread as spread_checks
from afflint.checks import tolerations as toleration_checks
from afflint.checks.admission import affinity, controllers, fields, host_ports, labels, spread, tolerations
from afflint.checks.admission.decoding import mismatches_of
from afflint.checks.match import CrossManifestMatch, Match, Target, takes_target
from afflint.findings.finding import SEVERITIES, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.constraints import NONE
from afflint.kube.manifests import Manifest, Workload

if TYPE_CHECKING:
    from afflint.policies.binding import BoundPolicy
    from afflint.policies.policy import Policy

Subject = Literal[
    "manifest", "workload", "constrained", "mismatched", "operated", "cross-manifest",
    "nodes", "pools", "run", "policy", "outcome", "admission",
]  # fmt: skip
"""What a rule applies to, which decides when its check runs:

- ``manifest``: every object that afflint reads;
- ``workload``: objects that create pods, once for each of their templates;
- ``constrained``: workloads with affinity, nodeSelector, tolerations or spread constraints;
- ``mismatched``: objects with a field that does not fit its type;
- ``operated``: custom resources whose operators create pods, if their kind is known;
- ``cross-manifest``: all objects of the run together;
- ``nodes``: all objects of the run together with its nodes;
- ``pools``: all objects of the run together with the node pools that manifests declare;
- ``run``: the text of files and suppression comments; the map step finds these mistakes itself;
- ``policy``, ``outcome``: the workloads that a policy of the configuration applies to: each alone, or all of them with the nodes. See
  ``pipeline.policy_evaluation``;
- ``admission``: objects of any kind that the cluster's own policies apply to. See ``pipeline.cluster_policies``.
"""

# A check may take the target as a second argument.
ManifestCheck = Callable[[Manifest], Iterator[Match]] | Callable[[Manifest, Target], Iterator[Match]]
WorkloadCheck = Callable[[Workload], Iterator[Match]] | Callable[[Workload, Target], Iterator[Match]]
_Matches = Iterator[CrossManifestMatch]
CrossManifestCheck = Callable[[ManifestIndex], _Matches] | Callable[[ManifestIndex, Target], _Matches]

_MANIFEST: dict[str, ManifestCheck] = {
    "missing-api-version": controllers.missing_api_version,
    "unserved-api-version": controllers.unserved_api_version,
    "invalid-label-key": labels.invalid_label_key,
    "invalid-label-value": labels.invalid_label_value,
    "invalid-annotation": labels.invalid_annotation,
    "deprecated-kubevirt-api": kubevirt.deprecated_kubevirt_api,
}
_WORKLOAD: dict[str, WorkloadCheck] = {
    "forbidden-label": labels.forbidden_label,
    "jobs-refused": labels.jobs_refused,
    "unknown-operator": affinity.unknown_operator,
    "operator-values-mismatch": affinity.operator_values_mismatch,
    "selector-missing": controllers.selector_missing,
    "selector-template-mismatch": controllers.selector_template_mismatch,
    "job-selector": controllers.job_selector,
    "invalid-replicas": controllers.invalid_replicas,
    "invalid-scheduling-field": controllers.invalid_scheduling_field,
    "invalid-host-port": host_ports.invalid_host_port,
    "reserved-label": kubevirt.reserved_label,
    "ignored-annotation": toleration_checks.ignored_annotation,
    "overwritten-node-selector": kubevirt.overwritten_node_selector,
    "pinned-node": affinity_checks.pinned_node,
    "misplaced-descheduler-annotation": kubevirt.misplaced_descheduler_annotation,
}
_CONSTRAINED: dict[str, WorkloadCheck] = {
    "missing-term-wrapper": fields.missing_term_wrapper,
    "invalid-namespace-name": labels.invalid_namespace_name,
    "weight-out-of-range": affinity.weight_out_of_range,
    "empty-topology-key": affinity.empty_topology_key,
    "empty-node-selector-terms": affinity.empty_node_selector_terms,
    "missing-preference": affinity.missing_preference,
    "invalid-match-field": affinity.invalid_match_field,
    "label-keys-conflict": affinity.label_keys_conflict,
    "invalid-toleration": tolerations.invalid_toleration,
    "invalid-spread-constraint": spread.invalid_spread_constraint,
    "duplicate-spread-constraint": spread.duplicate_spread_constraint,
    "selector-matches-nothing": label_checks.selector_matches_nothing,
    "selector-matches-everything": label_checks.selector_matches_everything,
    "contradictory-selector": label_checks.contradictory_selector,
    "contradictory-requirements": affinity_checks.contradictory_requirements,
    "never-matching-comparison": affinity_checks.never_matching_comparison,
    "unparsable-preference": affinity_checks.unparsable_preference,
    "empty-term": affinity_checks.empty_term,
    "redundant-term": affinity_checks.redundant_term,
    "deprecated-node-label": affinity_checks.deprecated_node_label,
    "unknown-node-label": affinity_checks.unknown_node_label,
    "unlikely-topology-key": affinity_checks.unlikely_topology_key,
    "hard-anti-affinity-topology": affinity_checks.hard_anti_affinity_topology,
    "spread-misses-itself": spread_checks.spread_misses_itself,
    "legacy-control-plane-toleration": toleration_checks.legacy_control_plane_toleration,
    "untolerated-control-plane": toleration_checks.untolerated_control_plane,
    "tolerates-everything": toleration_checks.tolerates_everything,
    "shadowed-toleration": toleration_checks.shadowed_toleration,
    "toleration-without-attraction": toleration_checks.toleration_without_attraction,
}
_MISMATCHED: dict[str, ManifestCheck] = {
    "unknown-field": fields.unknown_field,
    "misplaced-constraint": fields.misplaced_constraint,
    "wrong-type": fields.wrong_type,
    "annotation-not-string": fields.annotation_not_string,
}
# These are imported only when there are custom resources.
_OPERATED: dict[str, str] = {
    "misplaced-constraint": "afflint.checks.operators:misplaced_in_resource",
    "lost-template-label": "afflint.checks.operators:lost_template_label",
    "invalid-operator-setting": "afflint.checks.operators:invalid_operator_setting",
    "ignored-operator-setting": "afflint.checks.operators:ignored_operator_setting",
}
_CROSS_MANIFEST: dict[str, CrossManifestCheck] = {
    "label-not-on-template": label_checks.label_not_on_template,
    "anti-affinity-misses-itself": cross_manifest.anti_affinity_misses_itself,
    "namespace-misses-target": cross_manifest.namespace_misses_target,
    "affinity-cycle": cross_manifest.affinity_cycle,
    "affinity-conflict": cross_manifest.affinity_conflict,
    "no-single-target": cross_manifest.no_single_target,
    "affinity-target-missing": cross_manifest.affinity_target_missing,
    "accidental-anti-affinity": cross_manifest.accidental_anti_affinity,
    "operator-label-mismatch": cross_manifest.operator_label_mismatch,
    "spread-without-effect": cross_manifest.spread_without_effect,
    "migration-impossible": cross_manifest.migration_impossible,
    "namespace-selector-conflict": cross_manifest.namespace_selector_conflict,
}
# These are imported only when there are nodes.
_NODES: dict[str, str] = {
    "unknown-node-label": "afflint.checks.nodes:unknown_to_inventory",
    "unmet-preference": "afflint.checks.preferences:unmet_preference",
    "inconsistent-node-labels": "afflint.checks.nodes:inconsistent_node_labels",
    "inconsistent-topology": "afflint.checks.nodes:inconsistent_topology",
    "near-duplicate-label": "afflint.checks.nodes:near_duplicate_label",
    "shared-host": "afflint.checks.nodes:shared_host",
    "min-domains-unreachable": "afflint.checks.placement:min_domains_unreachable",
    "spread-blocked-by-taints": "afflint.checks.placement:spread_blocked_by_taints",
    "unschedulable": "afflint.checks.placement:unschedulable",
    "too-few-domains": "afflint.checks.placement:too_few_domains",
    "competing-workloads": "afflint.checks.placement:competing_workloads",
    "drain-blocked": "afflint.checks.placement:drain_blocked",
    "not-failure-tolerant": "afflint.checks.placement:not_failure_tolerant",
    "rollout-deadlock": "afflint.checks.placement:rollout_deadlock",
    "migration-blocked": "afflint.checks.placement:migration_blocked",
    "single-domain-possible": "afflint.checks.placement:single_domain_possible",
}
# These are imported only when there are pools of nodes.
_POOLS: dict[str, str] = {
    "no-matching-pool": "afflint.checks.pools:no_matching_pool",
    "unreachable-node-label": "afflint.checks.pools:unreachable_node_label",
    "invalid-pool-taint": "afflint.checks.pools:invalid_pool_taint",
    "untolerated-pool": "afflint.checks.pools:untolerated_pool",
    "near-duplicate-label": "afflint.checks.pools:near_duplicate_in_pools",
    "too-few-domains": "afflint.checks.pool_capacity:too_few_domains",
}
_RUN = ("unreadable-manifest", "text-after-document", "missing-separator", "duplicate-key", "unused-suppression", "invalid-suppression")

REGISTRY: dict[Subject, Mapping[str, Any]] = {
    "manifest": _MANIFEST,
    "workload": _WORKLOAD,
    "constrained": _CONSTRAINED,
    "mismatched": _MISMATCHED,
    "operated": _OPERATED,
    "cross-manifest": _CROSS_MANIFEST,
    "nodes": _NODES,
    "pools": _POOLS,
    "run": dict.fromkeys(_RUN),
}
"""Every rule with its check, by what it applies to; a rule may have several entries. A check is a function or, for ``nodes`` and
``pools``, the name of one; the rules of ``run`` have none.
"""

CATEGORIES = (
    "admission",
    "labels",
    "affinity",
    "spread",
    "tolerations",
    "kubevirt",
    "cross-manifest",
    "nodes",
    "placement",
    "policy",
    "afflint",
)


class RuleError(Exception):
    """Rule pages and checks that do not fit together; the message names every mistake."""


class Rule(NamedTuple):
    """A rule as its page describes it. ``default`` is False for rules that are off until selected; ``since`` is a version of afflint.

    For a policy, ``text`` is the page, and ``path`` the file that defines it.
    """

    name: str
    category: str
    severity: Severity
    default: bool
    fix: Literal["none", "safe", "unsafe"]
    check: str
    since: str
    path: str
    text: str = ""

    def page(self) -> str:
        """Return the Markdown body of the page, without its front matter."""
        return self.text or _page(self.path)

    def summary(self) -> str:
        """Return the first paragraph: what is wrong, in one sentence."""
        return next(_paragraphs(self.page().split("\n", 1)[1]))

    def remedy(self) -> str:
        """Return the first paragraph under "How to fix it"."""
        return _remedy(self.page())


@cache
def _remedy(page: str) -> str:
    return next(_paragraphs(page.split("## How to fix it\n", 1)[1]))


@cache
def _page(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n---\n", 1)[1].lstrip("\n")


class BoundRule(NamedTuple):
    """A rule in the settings of a run: what it applies to, its check, and the configured severity and parameters.

    ``severity`` is None without a configured one: then a check may choose the severity of its findings.
    """

    rule: Rule
    subject: Subject
    function: Any = None
    severity: Severity | None = None
    params: tuple[tuple[str, Any], ...] = ()
    policy: "BoundPolicy | None" = None
    """The policy and the workloads that it applies to; ``pipeline.policy_evaluation`` calls its check."""

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def category(self) -> str:
        return self.rule.category

    @property
    def fix(self) -> Literal["none", "safe", "unsafe"]:
        return self.rule.fix

    @property
    def remedy(self) -> str:
        """The help text for findings without their own."""
        return self.rule.remedy()

    def check(self) -> tuple[Callable[..., Any], bool]:
        """Return the check with its parameters, and whether it takes the target as a second argument."""
        function: Any = self.function
        if isinstance(function, str):
            from importlib import import_module

            module, _, name = function.partition(":")
            function = getattr(import_module(module), name)
        with_target = takes_target(function)
        if not self.params:
            return function, with_target
        from functools import partial

        return partial(function, **dict(self.params)), with_target

    def severity_for(self, own: Severity | None) -> Severity:
        """Return the severity of a finding for which the check chose ``own``: the configured one comes first."""
        return self.severity or own or self.rule.severity


def bind_rules(names: Iterable[str], severities: Mapping[str, Severity] | None = None) -> tuple[BoundRule, ...]:
    """Return the rules with these names, in the order of the registry, with configured severities."""
    chosen, configured, known = frozenset(names), severities or {}, rules()
    return tuple(
        [
            BoundRule(known[name], subject, function, configured.get(name))
            for subject, checks in REGISTRY.items()
            for name, function in checks.items()
            if name in chosen
        ]
    )


def policy_rule(policy: "Policy", path: str = "") -> Rule:
    """Return a policy as a rule, defined by the file at ``path``."""
    from afflint.policies.binding import page
    from afflint.policies.registry import CHECKS

    fix, severity = CHECKS[policy.check].fix, policy.severity or "warning"
    return Rule(policy.name, "policy", severity, True, fix, policy.check, "", path, page(policy))


def bound_policies(policies: "Iterable[Policy]", severities: Mapping[str, Severity] | None = None) -> tuple[BoundRule, ...]:
    """Return policies as bound rules, with configured severities."""
    from afflint.policies.binding import bound_policy

    configured, found = severities or {}, []
    for policy in policies:
        each = bound_policy(policy)
        severity = configured.get(policy.name) or policy.severity
        found.append(BoundRule(policy_rule(policy), each.check.subject, severity=severity, policy=each))
    return tuple(found)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield " ".join(paragraph.split())


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """Return all rules by name, sorted. Raises RuleError naming every page that cannot be read or has no check."""
    from afflint.resources import directory

    folder = directory("rules")
    found: dict[str, Rule] = {}
    faults: list[str] = []
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".md"):
            path = os.path.join(folder, entry)
            try:
                rule = _read(entry.removesuffix(".md"), path)
            except (OSError, ValueError) as error:
                faults.append(f"{entry}: {error}")
            else:
                found[rule.name] = rule
    checked = {name for checks in REGISTRY.values() for name in checks}
    faults += [f"{name}: a check without a page" for name in sorted(checked - found.keys())]
    faults += [f"{name}.md: a page without a check" for name in sorted(found.keys() - checked)]
    if faults:
        raise RuleError("; ".join(faults))
    return found


_REQUIRED = {"category", "severity", "fix", "check", "since"}


def _read(name: str, path: str) -> Rule:
    opening, *lines = _head(path).splitlines() or [""]
    if opening != "---" or "---" not in lines:
        raise ValueError("no front matter")
    values: dict[str, str] = {}
    for line in lines[: lines.index("---")]:
        key, _, value = line.partition(":")
        values[key.strip()] = value.strip()
    if missing := _REQUIRED - values.keys():
        raise ValueError(f"front matter lacks {', '.join(sorted(missing))}")
    severity: Any = values["severity"]
    fix: Any = values["fix"]
    if severity not in SEVERITIES or values["category"] not in CATEGORIES or fix not in ("none", "safe", "unsafe"):
        raise ValueError("front matter with an unknown category, severity or fix")
    return Rule(name, values["category"], severity, values.get("default", "on") != "off", fix, values["check"], values["since"], path)


def _head(path: str) -> str:
    """Return the beginning of a page with its front matter. Each run reads it from every page, so it is read without a file object."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _HEAD).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


_HEAD = 256
"""In bytes: longer than any front matter."""


class Dispatch:
    """The checks of single objects, sorted by what they apply to, so that a manifest runs only the checks that may report something."""

    def __init__(self, bound_rules: Iterable[BoundRule], target: Target) -> None:
        self._target = target
        bound_rules = tuple(bound_rules)
        by_subject: dict[Subject, list[tuple[str, Callable[..., Iterator[Match]], bool]]] = {}
        for each in bound_rules:
            if each.subject in ("manifest", "workload", "constrained", "mismatched"):
                check, with_target = each.check()
                by_subject.setdefault(each.subject, []).append((each.name, check, with_target))
        self._manifest = tuple(by_subject.get("manifest", ()))
        self._workload = (*self._manifest, *by_subject.get("workload", ()))
        self._constrained = (*self._workload, *by_subject.get("constrained", ()))
        self._on_mismatch = tuple(by_subject.get("mismatched", ()))
        self._bound = tuple([each for each in bound_rules if each.subject == "operated"])

    @cached_property
    def _operated(self) -> tuple[tuple[str, Callable[..., Iterator[Match]], bool], ...]:
        return tuple([(each.name, *each.check()) for each in self._bound])

    def matches(self, manifest: Manifest) -> Iterator[tuple[str, Match]]:
        """Yield the findings in a manifest, each with the name of its rule."""
        checks, target = self._manifest, self._target
        if isinstance(manifest, Workload):
            if manifest.operated:
                yield from self._of_operator(manifest)
                return
            checks = self._workload if manifest.constraints is NONE else self._constrained
        if mismatches_of(manifest, target):
            checks += self._on_mismatch
        for rule, check, with_target in checks:
            for match in check(manifest, target) if with_target else check(manifest):
                yield rule, match

    def _of_operator(self, workload: Workload) -> Iterator[tuple[str, Match]]:
        """Yield the findings that apply to the pods of operators, with notes on who rejects them."""
        from afflint.checks.custom_resources import applicable_rules, applies_to_custom, with_custom_wording

        target, names = self._target, applicable_rules(workload)
        checks = self._constrained + (self._on_mismatch if mismatches_of(workload, target) else ())
        for rule, check, with_target in (*checks, *self._operated):
            if rule in names:
                for match in check(workload, target) if with_target else check(workload):
                    if applies_to_custom(rule, match, workload):
                        yield rule, with_custom_wording(rule, match, workload)
