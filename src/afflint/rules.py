"""The rules: each a page under rules/ bound to its check. The registry of checks is explicit; pages are the data."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from afflint.checks import affinity as affinity_checks
from afflint.checks import fleet, kubevirt
from afflint.checks import labels as label_checks
from afflint.checks import spread as spread_checks
from afflint.checks import tolerations as toleration_checks
from afflint.checks.admission import affinity, controllers, fields, labels, spread, tolerations
from afflint.checks.admission.decoding import mismatches_of
from afflint.checks.match import FleetMatch, Match, Target
from afflint.findings import SEVERITIES, Severity
from afflint.fleet.index import Fleet
from afflint.kube.constraints import NONE
from afflint.kube.manifests import Manifest, Workload

if TYPE_CHECKING:
    from afflint.inventory.cluster_view import ClusterView

ManifestCheck = Callable[[Manifest, Target], Iterator[Match]]
NodeCheck = Callable[[Fleet, "ClusterView", Target], Iterator[FleetMatch]]
FleetCheck = Callable[[Fleet, Target], Iterator[FleetMatch]]

MANIFEST_CHECKS: dict[str, ManifestCheck] = {
    "unserved-api-version": controllers.unserved_api_version,
    "unknown-field": fields.unknown_field,
    "misplaced-constraint": fields.misplaced_constraint,
    "missing-term-wrapper": fields.missing_term_wrapper,
    "wrong-type": fields.wrong_type,
    "annotation-not-string": fields.annotation_not_string,
    "invalid-label-key": labels.invalid_label_key,
    "invalid-label-value": labels.invalid_label_value,
    "invalid-namespace-name": labels.invalid_namespace_name,
    "invalid-annotation": labels.invalid_annotation,
    "forbidden-label": labels.forbidden_label,
    "weight-out-of-range": affinity.weight_out_of_range,
    "empty-topology-key": affinity.empty_topology_key,
    "unknown-operator": affinity.unknown_operator,
    "operator-values-mismatch": affinity.operator_values_mismatch,
    "empty-node-selector-terms": affinity.empty_node_selector_terms,
    "missing-preference": affinity.missing_preference,
    "invalid-match-field": affinity.invalid_match_field,
    "label-keys-conflict": affinity.label_keys_conflict,
    "invalid-toleration": tolerations.invalid_toleration,
    "invalid-spread-constraint": spread.invalid_spread_constraint,
    "duplicate-spread-constraint": spread.duplicate_spread_constraint,
    "selector-missing": controllers.selector_missing,
    "selector-template-mismatch": controllers.selector_template_mismatch,
    "job-selector": controllers.job_selector,
    "invalid-replicas": controllers.invalid_replicas,
    "invalid-scheduling-field": controllers.invalid_scheduling_field,
    "selector-matches-nothing": label_checks.selector_matches_nothing,
    "selector-matches-everything": label_checks.selector_matches_everything,
    "contradictory-selector": label_checks.contradictory_selector,
    "reserved-label": kubevirt.reserved_label,
    "contradictory-requirements": affinity_checks.contradictory_requirements,
    "never-matching-comparison": affinity_checks.never_matching_comparison,
    "unparsable-preference": affinity_checks.unparsable_preference,
    "empty-term": affinity_checks.empty_term,
    "redundant-term": affinity_checks.redundant_term,
    "deprecated-node-label": affinity_checks.deprecated_node_label,
    "unknown-node-label": affinity_checks.unknown_node_label,
    "unlikely-topology-key": affinity_checks.unlikely_topology_key,
    "pinned-node": affinity_checks.pinned_node,
    "hard-anti-affinity-topology": affinity_checks.hard_anti_affinity_topology,
    "spread-misses-itself": spread_checks.spread_misses_itself,
    "legacy-control-plane-toleration": toleration_checks.legacy_control_plane_toleration,
    "untolerated-control-plane": toleration_checks.untolerated_control_plane,
    "tolerates-everything": toleration_checks.tolerates_everything,
    "shadowed-toleration": toleration_checks.shadowed_toleration,
    "toleration-without-attraction": toleration_checks.toleration_without_attraction,
    "deprecated-kubevirt-api": kubevirt.deprecated_kubevirt_api,
    "misplaced-descheduler-annotation": kubevirt.misplaced_descheduler_annotation,
}
"""The checks of one object, in the order in which they run."""

FLEET_CHECKS: dict[str, FleetCheck] = {
    "label-not-on-template": label_checks.label_not_on_template,
    "anti-affinity-misses-itself": fleet.anti_affinity_misses_itself,
    "namespace-misses-target": fleet.namespace_misses_target,
    "affinity-cycle": fleet.affinity_cycle,
    "affinity-conflict": fleet.affinity_conflict,
    "no-single-target": fleet.no_single_target,
    "affinity-target-missing": fleet.affinity_target_missing,
    "accidental-anti-affinity": fleet.accidental_anti_affinity,
    "spread-without-effect": fleet.spread_without_effect,
    "migration-impossible": fleet.migration_impossible,
}
"""The checks of all objects of a run together."""

NODE_RULES = (
    "unknown-node-label",
    "inconsistent-node-labels",
    "inconsistent-topology",
    "near-duplicate-label",
    "shared-host",
    "min-domains-unreachable",
    "spread-blocked-by-taints",
    "unschedulable",
    "too-few-domains",
    "competing-workloads",
    "not-failure-tolerant",
    "rollout-deadlock",
    "migration-blocked",
    "single-domain-possible",
)
"""The rules that an inventory of nodes adds to; see node_checks."""


def node_checks() -> dict[str, NodeCheck]:
    """The checks of all objects of a run against its nodes, imported when there are nodes."""
    from afflint.checks import nodes, placement

    return {
        "unknown-node-label": nodes.unknown_to_inventory,
        "inconsistent-node-labels": nodes.inconsistent_node_labels,
        "inconsistent-topology": nodes.inconsistent_topology,
        "near-duplicate-label": nodes.near_duplicate_label,
        "shared-host": nodes.shared_host,
        "min-domains-unreachable": placement.min_domains_unreachable,
        "spread-blocked-by-taints": placement.spread_blocked_by_taints,
        "unschedulable": placement.unschedulable,
        "too-few-domains": placement.too_few_domains,
        "competing-workloads": placement.competing_workloads,
        "not-failure-tolerant": placement.not_failure_tolerant,
        "rollout-deadlock": placement.rollout_deadlock,
        "migration-blocked": placement.migration_blocked,
        "single-domain-possible": placement.single_domain_possible,
    }


ENGINE_RULES = frozenset(("unreadable-manifest", "duplicate-key", "unused-suppression", "invalid-suppression"))
"""Rules about documents and about afflint's own comments: the engine finds these itself."""

CATEGORIES = (
    "admission",
    "labels",
    "affinity",
    "spread",
    "tolerations",
    "kubevirt",
    "fleet",
    "nodes",
    "placement",
    "policy",
    "afflint",
)


class RuleError(Exception):
    """Rule pages and checks that do not fit together; the message names every fault."""


class Rule(NamedTuple):
    """A rule as its page describes it. ``default`` is False for rules that are off until selected."""

    name: str
    category: str
    severity: Severity
    default: bool
    fix: Literal["none", "safe", "unsafe"]
    check: str
    path: str

    def page(self) -> str:
        """The Markdown body of the page, without its front matter."""
        with open(self.path, encoding="utf-8") as file:
            return file.read().split("\n---\n", 1)[1].lstrip("\n")

    def summary(self) -> str:
        """The first paragraph: what is wrong, in one sentence."""
        return next(_paragraphs(self.page().split("\n", 1)[1]))

    def remedy(self) -> str:
        """The first paragraph under "How to fix it"."""
        return next(_paragraphs(self.page().split("## How to fix it\n", 1)[1]))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield " ".join(paragraph.split())


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """All rules by name, sorted. Raises RuleError naming every page that cannot be read or has no check."""
    import os

    from afflint.shipped import directory

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
    checked = MANIFEST_CHECKS.keys() | FLEET_CHECKS.keys() | ENGINE_RULES | {*NODE_RULES}
    faults += [f"{name}: a check without a page" for name in sorted(checked - found.keys())]
    faults += [f"{name}.md: a page without a check" for name in sorted(found.keys() - checked)]
    if faults:
        raise RuleError("; ".join(faults))
    return found


_REQUIRED = {"category", "severity", "fix", "check"}


def _read(name: str, path: str) -> Rule:
    with open(path, encoding="utf-8") as file:
        if file.readline() != "---\n":
            raise ValueError("no front matter")
        values: dict[str, str] = {}
        for line in file:
            if line == "---\n":
                break
            key, _, value = line.partition(":")
            values[key.strip()] = value.strip()
    if missing := _REQUIRED - values.keys():
        raise ValueError(f"front matter lacks {', '.join(sorted(missing))}")
    severity: Any = values["severity"]
    fix: Any = values["fix"]
    if severity not in SEVERITIES or values["category"] not in CATEGORIES or fix not in ("none", "safe", "unsafe"):
        raise ValueError("front matter with an unknown category, severity or fix")
    return Rule(name, values["category"], severity, values.get("default", "on") != "off", fix, values["check"], path)


class ManifestChecks:
    """The checks of the selected rules, sorted by what they look at, so that a manifest meets only those that can say something."""

    def __init__(self, selected: Iterable[str], target: Target) -> None:
        chosen = frozenset(selected)
        self._target = target
        named = [(name, check) for name, check in MANIFEST_CHECKS.items() if name in chosen]
        self._on_mismatch = tuple(each for each in named if each[0] in _OF_MISMATCHES)
        self._always = tuple(each for each in named if each[0] not in _OF_MISMATCHES | _OF_CONSTRAINTS)
        self._constrained = tuple(each for each in named if each[0] not in _OF_MISMATCHES)

    def of(self, manifest: Manifest) -> tuple[tuple[str, ManifestCheck], ...]:
        """The checks of a manifest with their rules' names, in the order of the registry within each group."""
        constrained = isinstance(manifest, Workload) and manifest.constraints is not NONE
        checks = self._constrained if constrained else self._always
        return checks + self._on_mismatch if mismatches_of(manifest, self._target) else checks


# These say nothing about a manifest whose fields all fit.
_OF_MISMATCHES = frozenset(("unknown-field", "misplaced-constraint", "wrong-type", "annotation-not-string"))
# These say nothing about a workload without affinity, nodeSelector, tolerations and spread constraints.
_OF_CONSTRAINTS = frozenset(
    (
        "missing-term-wrapper", "invalid-namespace-name", "weight-out-of-range", "empty-topology-key", "empty-node-selector-terms",
        "missing-preference", "invalid-match-field", "label-keys-conflict", "invalid-toleration", "invalid-spread-constraint",
        "duplicate-spread-constraint", "selector-matches-nothing", "selector-matches-everything", "contradictory-selector",
        "contradictory-requirements", "never-matching-comparison", "unparsable-preference", "empty-term", "redundant-term",
        "deprecated-node-label", "unknown-node-label", "unlikely-topology-key", "hard-anti-affinity-topology", "spread-misses-itself",
        "spread-without-effect", "legacy-control-plane-toleration", "untolerated-control-plane", "tolerates-everything",
        "shadowed-toleration", "toleration-without-attraction",
    )
)  # fmt: skip
