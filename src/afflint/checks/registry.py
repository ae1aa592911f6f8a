"""The rules: each a page under rules/ bound to its check. The registry of checks is explicit; pages are the data."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from afflint.checks.admission.decoding import mismatches_of
from afflint.checks.admission.refusal_time import accepts_invalid_pods, with_note_in_pod_spec
from afflint.checks.match import Match, Target, takes_target
from afflint.findings.finding import SEVERITIES, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.constraints import NONE
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.scheduler_fields import NAME as SCHEDULER_CONFIGURATION

if TYPE_CHECKING:
    from afflint.policies.binding import BoundPolicy
    from afflint.policies.policy import Policy

Subject = Literal[
    "manifest", "workload", "constrained", "scheduler", "profile", "mismatched", "operated", "resource", "cross-manifest", "volumes",
    "nodes", "pools", "charts", "kustomization", "run", "policy", "outcome", "admission",
]  # fmt: skip
"""What a rule applies to, which decides when its check runs:

- ``manifest``: every object that afflint reads;
- ``workload``: objects that create pods, once for each of their templates;
- ``constrained``: workloads with affinity, nodeSelector, tolerations or spread constraints;
- ``scheduler``: KubeSchedulerConfigurations;
- ``profile``: the constraints that a profile of such a configuration adds to pods, as those of a workload;
- ``mismatched``: objects with a field that does not fit its type;
- ``operated``: custom resources whose operators create pods, if their kind is known;
- ``resource``: custom resources with keys that their kind does not have, or without a selector that they need;
- ``cross-manifest``: all objects of the run together;
- ``volumes``: all objects of the run together, if there are claims or volumes among them;
- ``nodes``: all objects of the run together with its nodes;
- ``pools``: all objects of the run together with the node pools that manifests declare;
- ``charts``: charts that the run renders, with values set that are empty by default. See ``pipeline.rendered``;
- ``kustomization``: the kustomizations among the checked files, each with the files of the run that it lists;
- ``run``: the text of files and suppression comments; the map step finds these mistakes itself;
- ``policy``, ``outcome``: the workloads that a policy of the configuration applies to: each alone, or all of them with the nodes. See
  ``pipeline.policy_evaluation``;
- ``admission``: objects of any kind that the cluster's own policies apply to. See ``pipeline.cluster_policies``.
"""


Evidence = Literal["", "entry", "lone entry", "item", "term", "constraint"]
"""What must be literal in a template for a finding there to be certain; if it is, and no action adds to it, the finding is reported.

- ``entry``: the reported value with its key; if the value is absent, the item that lacks it;
- ``lone entry``: the same, in no branch that another one or another version of Kubernetes replaces;
- ``item``: the innermost list item around it, such as a match expression;
- ``term``: the outermost list item around it in the constraint, such as an affinity term or a toleration;
- ``constraint``: the whole constraint, such as all tolerations, in no such branch;
- empty: the finding depends on more than one constraint, and is never reported for the text of a template.
"""


class RegisteredCheck(NamedTuple):
    """A check of a rule: ``module:function`` below ``afflint.checks``, empty if the map step itself finds these mistakes.

    The function may take the target as its second argument. ``rejected_late``: depending on the version, the API server accepts the object
    and rejects the pods created from it, and messages about the pod spec must say so. ``of_text``: the rule is about a single text,
    whatever it is used for. ``missing``: the fields that findings of the rule call missing or without effect, see
    ``index.mutating_policies``; of several checks of a rule, one names them.
    """

    rule: str
    function: str = ""
    rejected_late: bool = False
    evidence: Evidence = ""
    of_text: bool = False
    missing: tuple[str, ...] = ()


REGISTRY: dict[Subject, tuple[RegisteredCheck, ...]] = {
    "manifest": (
        RegisteredCheck("missing-api-version", "admission.controllers:missing_api_version"),
        RegisteredCheck("unserved-api-version", "admission.controllers:unserved_api_version"),
        RegisteredCheck("invalid-label-key", "admission.labels:invalid_label_key", rejected_late=True, evidence="entry", of_text=True),
        RegisteredCheck("invalid-label-value", "admission.labels:invalid_label_value", rejected_late=True, evidence="entry", of_text=True),
        RegisteredCheck("invalid-annotation", "admission.labels:invalid_annotation"),
        RegisteredCheck("misread-label-key", "labels:misread_label_key"),
        RegisteredCheck("deprecated-kubevirt-api", "kubevirt:deprecated_kubevirt_api"),
        RegisteredCheck("invalid-operator-setting", "descheduler:invalid_operator_setting"),
        RegisteredCheck("invalid-operator-setting", "kubevirt:invalid_migration_policy"),
    ),
    "workload": (
        RegisteredCheck("forbidden-label", "admission.labels:forbidden_label"),
        RegisteredCheck("jobs-refused", "admission.labels:jobs_refused"),
        RegisteredCheck("unknown-operator", "admission.affinity:unknown_operator", rejected_late=True, evidence="entry", of_text=True),
        RegisteredCheck("operator-values-mismatch", "admission.affinity:operator_values_mismatch", rejected_late=True, evidence="item"),
        RegisteredCheck("selector-missing", "admission.controllers:selector_missing", rejected_late=True, missing=("selector",)),
        RegisteredCheck(
            "selector-template-mismatch", "admission.controllers:selector_template_mismatch", rejected_late=True, missing=("labels",)
        ),
        RegisteredCheck("job-selector", "admission.controllers:job_selector", rejected_late=True),
        RegisteredCheck("invalid-replicas", "admission.controllers:invalid_replicas", rejected_late=True, of_text=True),
        RegisteredCheck("invalid-scheduling-field", "admission.controllers:invalid_scheduling_field", rejected_late=True),
        RegisteredCheck("invalid-host-port", "admission.host_ports:invalid_host_port", rejected_late=True),
        RegisteredCheck("reserved-label", "kubevirt:reserved_label"),
        RegisteredCheck("ignored-annotation", "tolerations:ignored_annotation"),
        RegisteredCheck("overwritten-node-selector", "kubevirt:overwritten_node_selector"),
        RegisteredCheck("pinned-node", "affinity:pinned_node"),
        RegisteredCheck("deprecated-node-label", "topology_annotations:deprecated_node_label", evidence="lone entry", of_text=True),
        RegisteredCheck("unknown-node-label", "topology_annotations:unknown_node_label", evidence="term", of_text=True),
        RegisteredCheck("misplaced-descheduler-annotation", "kubevirt:misplaced_descheduler_annotation"),
    ),
    "constrained": (
        RegisteredCheck("missing-term-wrapper", "admission.fields:missing_term_wrapper", evidence="term"),
        RegisteredCheck("invalid-namespace-name", "admission.labels:invalid_namespace_name", rejected_late=True, evidence="entry"),
        RegisteredCheck(
            "weight-out-of-range", "admission.affinity:weight_out_of_range", rejected_late=True, evidence="entry", of_text=True
        ),
        RegisteredCheck("empty-topology-key", "admission.affinity:empty_topology_key", rejected_late=True, evidence="term"),
        RegisteredCheck(
            "empty-node-selector-terms", "admission.affinity:empty_node_selector_terms", rejected_late=True, evidence="constraint"
        ),
        RegisteredCheck("missing-preference", "admission.affinity:missing_preference", rejected_late=True, evidence="term"),
        RegisteredCheck("invalid-match-field", "admission.affinity:invalid_match_field", rejected_late=True, evidence="item"),
        RegisteredCheck("label-keys-conflict", "admission.affinity:label_keys_conflict", rejected_late=True, evidence="term"),
        RegisteredCheck(
            "invalid-toleration", "admission.tolerations:invalid_toleration", rejected_late=True, evidence="term", of_text=True
        ),
        RegisteredCheck(
            "invalid-spread-constraint", "admission.spread:invalid_spread_constraint", rejected_late=True, evidence="term", of_text=True
        ),
        RegisteredCheck(
            "duplicate-spread-constraint", "admission.spread:duplicate_spread_constraint", rejected_late=True, evidence="constraint"
        ),
        RegisteredCheck("selector-matches-nothing", "labels:selector_matches_nothing", evidence="term"),
        RegisteredCheck("selector-matches-everything", "labels:selector_matches_everything"),
        RegisteredCheck("contradictory-selector", "labels:contradictory_selector", evidence="term"),
        RegisteredCheck("contradictory-requirements", "affinity:contradictory_requirements"),
        RegisteredCheck("never-matching-comparison", "affinity:never_matching_comparison", evidence="item"),
        RegisteredCheck("unparsable-preference", "affinity:unparsable_preference", evidence="item"),
        RegisteredCheck("empty-term", "affinity:empty_term", evidence="term"),
        RegisteredCheck("redundant-term", "affinity:redundant_term"),
        RegisteredCheck("deprecated-node-label", "affinity:deprecated_node_label", evidence="lone entry", of_text=True),
        RegisteredCheck("unknown-node-label", "affinity:unknown_node_label", evidence="term", of_text=True),
        RegisteredCheck("unlikely-topology-key", "affinity:unlikely_topology_key", evidence="entry"),
        RegisteredCheck("negated-pod-affinity", "affinity:negated_pod_affinity", evidence="term"),
        RegisteredCheck("hard-anti-affinity-topology", "affinity:hard_anti_affinity_topology"),
        RegisteredCheck("spread-misses-itself", "spread:spread_misses_itself", missing=("labels",)),
        RegisteredCheck("spread-lost-in-rollout", "spread:spread_lost_in_rollout"),
        RegisteredCheck("legacy-control-plane-toleration", "tolerations:legacy_control_plane_toleration", evidence="constraint"),
        RegisteredCheck("untolerated-control-plane", "tolerations:untolerated_control_plane", missing=("tolerations",)),
        RegisteredCheck("tolerates-everything", "tolerations:tolerates_everything"),
        RegisteredCheck("shadowed-toleration", "tolerations:shadowed_toleration", evidence="constraint"),
        RegisteredCheck("toleration-without-attraction", "tolerations:toleration_without_attraction", missing=("nodeSelector", "affinity")),
    ),
    "scheduler": (RegisteredCheck("invalid-scheduler-configuration", "scheduler_configuration:invalid_scheduler_configuration"),),
    "profile": (
        RegisteredCheck("unknown-operator", "admission.affinity:unknown_operator"),
        RegisteredCheck("operator-values-mismatch", "admission.affinity:operator_values_mismatch"),
        RegisteredCheck("invalid-match-field", "admission.affinity:invalid_match_field"),
        RegisteredCheck("empty-topology-key", "admission.affinity:empty_topology_key"),
        RegisteredCheck("invalid-spread-constraint", "admission.spread:invalid_spread_constraint"),
        RegisteredCheck("duplicate-spread-constraint", "admission.spread:duplicate_spread_constraint"),
        RegisteredCheck("contradictory-requirements", "affinity:contradictory_requirements"),
        RegisteredCheck("empty-term", "affinity:empty_term"),
        RegisteredCheck("deprecated-node-label", "affinity:deprecated_node_label"),
        RegisteredCheck("unknown-node-label", "affinity:unknown_node_label"),
        RegisteredCheck("unlikely-topology-key", "affinity:unlikely_topology_key"),
    ),
    "mismatched": (
        RegisteredCheck("unknown-field", "admission.fields:unknown_field", evidence="term"),
        RegisteredCheck("misplaced-constraint", "admission.fields:misplaced_constraint", evidence="term"),
        RegisteredCheck("wrong-type", "admission.fields:wrong_type", evidence="term"),
        RegisteredCheck("annotation-not-string", "admission.fields:annotation_not_string"),
    ),
    "operated": (
        RegisteredCheck("unknown-field", "constraint_places:misspelt_constraint", evidence="term"),
        RegisteredCheck("misplaced-constraint", "constraint_places:unreachable_constraint"),
        RegisteredCheck("misplaced-constraint", "operators:beside_pod_spec", evidence="term"),
        RegisteredCheck("lost-template-label", "operators:lost_template_label"),
        RegisteredCheck("invalid-operator-setting", "operators:invalid_operator_setting"),
        RegisteredCheck("ignored-operator-setting", "operators:ignored_operator_setting"),
        RegisteredCheck("wrong-type", "charts:misshapen_chart_value"),
        RegisteredCheck("ignored-chart-value", "charts:ignored_chart_value"),
        RegisteredCheck("contradictory-requirements", "charts:contradictory_requirements"),
        RegisteredCheck("spread-misses-itself", "charts:spread_misses_itself"),
        RegisteredCheck("anti-affinity-misses-itself", "charts:anti_affinity_misses_itself"),
        RegisteredCheck("affinity-target-missing", "charts:affinity_target_missing"),
    ),
    "resource": (
        RegisteredCheck("unknown-field", "resource_fields:unknown_in_resource"),
        RegisteredCheck("misplaced-constraint", "resource_fields:outside_affinity"),
        RegisteredCheck("selector-matches-nothing", "resource_fields:selects_no_node"),
    ),
    "cross-manifest": (
        RegisteredCheck("label-not-on-template", "labels:label_not_on_template", missing=("labels",)),
        RegisteredCheck("anti-affinity-misses-itself", "cross_manifest:anti_affinity_misses_itself", missing=("labels",)),
        RegisteredCheck("namespace-misses-target", "cross_manifest:namespace_misses_target", missing=("labels of other pods",)),
        RegisteredCheck("affinity-cycle", "required_affinity:affinity_cycle"),
        RegisteredCheck("affinity-conflict", "required_affinity:affinity_conflict"),
        RegisteredCheck("no-single-target", "required_affinity:no_single_target", missing=("labels of other pods",)),
        RegisteredCheck("affinity-target-missing", "cross_manifest:affinity_target_missing", missing=("labels of other pods",)),
        RegisteredCheck("accidental-anti-affinity", "cross_manifest:accidental_anti_affinity"),
        RegisteredCheck("operator-label-mismatch", "cross_manifest:operator_label_mismatch", missing=("labels of other pods",)),
        RegisteredCheck("spread-without-effect", "cross_manifest:spread_without_effect"),
        RegisteredCheck("migration-impossible", "live_migration:migration_impossible"),
        RegisteredCheck("namespace-selector-conflict", "cross_manifest:namespace_selector_conflict"),
        RegisteredCheck("drain-blocked", "drains:drain_blocked"),
        RegisteredCheck("selector-matches-nothing", "migration_policies:selector_matches_nothing"),
        RegisteredCheck("ignored-operator-setting", "migration_policies:ignored_operator_setting"),
    ),
    "volumes": (
        RegisteredCheck("claim-never-bound", "volumes:claim_never_bound"),
        RegisteredCheck("volume-out-of-reach", "volumes:volume_out_of_reach"),
        RegisteredCheck("immediate-binding", "volumes:immediate_binding"),
        RegisteredCheck("immediate-local-volume", "persistent_volumes:immediate_local_volume"),
        RegisteredCheck("ignored-volume-affinity", "persistent_volumes:ignored_volume_affinity"),
        RegisteredCheck("missing-volume-affinity", "persistent_volumes:missing_volume_affinity"),
        RegisteredCheck("invalid-volume-topology", "persistent_volumes:invalid_volume_topology"),
        RegisteredCheck("unusable-allowed-topology", "persistent_volumes:unusable_allowed_topology"),
        RegisteredCheck("unshareable-volume", "volumes:unshareable_volume"),
        RegisteredCheck("shared-volume", "volumes:shared_volume"),
        RegisteredCheck("single-pod-volume", "volumes:single_pod_volume"),
        RegisteredCheck("rollout-blocked-by-volume", "volumes:rollout_blocked_by_volume"),
        RegisteredCheck("rollout-shares-volume", "volumes:rollout_shares_volume"),
        RegisteredCheck("too-few-volume-zones", "volume_capacity:too_few_volume_zones"),
        RegisteredCheck("too-few-volumes", "volume_capacity:too_few_volumes"),
        RegisteredCheck("migration-bound-to-volume", "volume_capacity:migration_bound_to_volume"),
        RegisteredCheck("importer-binds-volume", "volume_capacity:importer_binds_volume"),
    ),
    "nodes": (
        RegisteredCheck("unknown-node-label", "nodes:unknown_to_inventory"),
        RegisteredCheck("unmet-preference", "preferences:unmet_preference"),
        RegisteredCheck("inconsistent-node-labels", "nodes:inconsistent_node_labels"),
        RegisteredCheck("inconsistent-topology", "nodes:inconsistent_topology"),
        RegisteredCheck("near-duplicate-label", "nodes:near_duplicate_label"),
        RegisteredCheck("shared-host", "nodes:shared_host"),
        RegisteredCheck("min-domains-unreachable", "placement:min_domains_unreachable"),
        RegisteredCheck("spread-blocked-by-taints", "placement:spread_blocked_by_taints", missing=("tolerations",)),
        RegisteredCheck("unschedulable", "placement:unschedulable", missing=("nodeSelector", "affinity", "tolerations", "schedulerName")),
        RegisteredCheck("unschedulable", "operator_placement:unmatched_node_placement"),
        RegisteredCheck("invalid-operator-setting", "operator_placement:unknown_maintenance_node"),
        RegisteredCheck("unschedulable", "operator_placement:unmatched_added_affinity"),
        RegisteredCheck("too-few-domains", "placement:too_few_domains", missing=("tolerations",)),
        RegisteredCheck("competing-workloads", "placement:competing_workloads", missing=("tolerations",)),
        RegisteredCheck("drain-blocked", "placement:drain_blocked"),
        RegisteredCheck(
            "not-failure-tolerant", "placement:not_failure_tolerant", missing=("affinity", "topologySpreadConstraints", "tolerations")
        ),
        RegisteredCheck("rollout-deadlock", "placement:rollout_deadlock", missing=("tolerations",)),
        RegisteredCheck("migration-blocked", "placement:migration_blocked", missing=("tolerations",)),
        RegisteredCheck("single-domain-possible", "placement:single_domain_possible", missing=("affinity", "topologySpreadConstraints")),
        RegisteredCheck("too-few-volume-zones", "volume_nodes:too_few_volume_zones"),
        RegisteredCheck("volume-without-node", "volume_nodes:volume_without_node"),
        RegisteredCheck("unusable-allowed-topology", "volume_nodes:unusable_allowed_topology"),
    ),
    "pools": (
        RegisteredCheck("no-matching-pool", "pools:no_matching_pool", missing=("nodeSelector", "affinity", "tolerations")),
        RegisteredCheck("unreachable-node-label", "pools:unreachable_node_label"),
        RegisteredCheck("invalid-pool-taint", "pools:invalid_pool_taint"),
        RegisteredCheck("untolerated-pool", "pools:untolerated_pool", missing=("tolerations of other pods",)),
        RegisteredCheck("near-duplicate-label", "pools:near_duplicate_in_pools"),
        RegisteredCheck("too-few-domains", "pool_capacity:too_few_domains"),
    ),
    "charts": (
        RegisteredCheck("misrendered-chart-value", "chart_values:misrendered_chart_value"),
        RegisteredCheck("unread-chart-value", "chart_values:unread_chart_value"),
    ),
    "kustomization": (RegisteredCheck("patch-without-target", "kustomizations:patch_without_target"),),
    "run": (
        RegisteredCheck("unreadable-manifest"),
        RegisteredCheck("text-after-document"),
        RegisteredCheck("missing-separator"),
        RegisteredCheck("duplicate-key"),
        RegisteredCheck("unused-suppression"),
        RegisteredCheck("invalid-suppression"),
    ),
}
"""Every rule with its checks, by what they apply to; a rule may have several. The module of a check is imported when it is first needed."""


@cache
def rules_of_texts() -> frozenset[str]:
    """Return the rules that are about a single text, whatever it is used for."""
    return frozenset(each.rule for checks in REGISTRY.values() for each in checks if each.of_text)


CATEGORIES = (
    "admission",
    "labels",
    "affinity",
    "spread",
    "tolerations",
    "kubevirt",
    "volumes",
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
    function: str = ""
    severity: Severity | None = None
    rejected_late: bool = False
    missing: tuple[str, ...] = ()
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
        """Import the check, and return it with whether it takes the target as a second argument."""
        from importlib import import_module

        module, _, name = self.function.partition(":")
        function = getattr(import_module(f"afflint.checks.{module}"), name)
        return function, takes_target(function)

    def severity_for(self, own: Severity | None) -> Severity:
        """Return the severity of a finding for which the check chose ``own``: the configured one comes first."""
        return self.severity or own or self.rule.severity


def bind_rules(names: Iterable[str], severities: Mapping[str, Severity] | None = None) -> tuple[BoundRule, ...]:
    """Return the rules with these names, in the order of the registry, with configured severities."""
    chosen, configured, known = frozenset(names), severities or {}, rules()
    return tuple(
        [
            BoundRule(known[each.rule], subject, each.function, configured.get(each.rule), each.rejected_late, each.missing)
            for subject, checks in REGISTRY.items()
            for each in checks
            if each.rule in chosen
        ]
    )


def evidence() -> dict[str, Evidence]:
    """Return the rules whose findings in the text of a template can be certain, each with what must be literal."""
    return {each.rule: each.evidence for checks in REGISTRY.values() for each in checks if each.evidence}


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
        found.append(BoundRule(policy_rule(policy), each.check.subject, severity=severity, missing=each.check.missing, policy=each))
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
    checked = {each.rule for checks in REGISTRY.values() for each in checks}
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


_LoadedCheck = tuple[str, Callable[..., Iterator[Match]], bool, bool]
"""A check as it is called for each object: its rule, its function, whether that takes the target, and whether it is rejected late."""
_CONSTRAINED: tuple[Subject, ...] = ("manifest", "workload", "constrained")


class Dispatch:
    """The checks of single objects, sorted by what they apply to, so that a manifest runs only the checks that may report something.

    Those that apply to one subject are imported when the first such object is met.
    """

    def __init__(self, bound_rules: Iterable[BoundRule], target: Target) -> None:
        self._target = target
        self._bound_rules = tuple(bound_rules)
        self._loaded: dict[tuple[Subject, ...], tuple[_LoadedCheck, ...]] = {}

    def matches(self, manifest: Manifest) -> Iterator[tuple[str, Match]]:
        """Yield the findings in a manifest, each with the name of its rule."""
        target, accepted = self._target, None
        if not isinstance(manifest, Workload):
            checks = self._checks("resource" if manifest.operated else "manifest")
        elif manifest.operated:
            yield from self._of_operator(manifest)
            return
        else:
            checks = self._checks("manifest", "workload") if manifest.constraints is NONE else self._checks(*_CONSTRAINED)
            accepted = manifest if accepts_invalid_pods(manifest, target) else None
        if manifest.kind.name == SCHEDULER_CONFIGURATION:
            checks += self._checks("scheduler")
            yield from self._of_profiles(manifest)
        if mismatches_of(manifest, target):
            checks += self._checks("mismatched")
        for rule, check, with_target, rejected_late in checks:
            for match in check(manifest, target) if with_target else check(manifest):
                yield rule, with_note_in_pod_spec(match, accepted) if accepted and rejected_late else match

    def _of_profiles(self, manifest: Manifest) -> Iterator[tuple[str, Match]]:
        """Yield the findings about the constraints in a KubeSchedulerConfiguration."""
        from afflint.checks.scheduler_configuration import profile_constraints

        for constraints in profile_constraints(manifest):
            for rule, check, with_target, _ in self._checks("profile"):
                for match in check(constraints, self._target) if with_target else check(constraints):
                    yield rule, match

    def _checks(self, *subjects: Subject) -> tuple[_LoadedCheck, ...]:
        """Return the checks that apply to objects with these subjects."""
        if subjects not in self._loaded:
            bound_rules = [each for subject in subjects for each in self._bound_rules if each.subject == subject]
            self._loaded[subjects] = tuple([(each.name, *each.check(), each.rejected_late) for each in bound_rules])
        return self._loaded[subjects]

    def _of_operator(self, workload: Workload) -> Iterator[tuple[str, Match]]:
        """Yield the findings that apply to the pods of operators, with notes on who rejects them."""
        from afflint.checks.custom_resources import applicable_rules, applies_to_custom, with_custom_wording
        from afflint.checks.verified_places import verified_places

        target = self._target
        verified = verified_places(workload, target)
        names = applicable_rules(workload, verified)
        checks = self._checks(*_CONSTRAINED) + (self._checks("mismatched") if mismatches_of(workload, target) else ())
        for rule, check, with_target, _ in checks + self._checks("operated"):
            if rule in names:
                for match in check(workload, target) if with_target else check(workload):
                    if applies_to_custom(rule, match, workload, verified):
                        yield rule, with_custom_wording(rule, match, workload, verified)
