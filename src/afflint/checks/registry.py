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
from afflint.kube.scheduler_fields import NAME as SCHEDULER_CONFIGURATION
from afflint.manifests.manifest import Manifest, Workload

if TYPE_CHECKING:
    from afflint.policies.binding import BoundPolicy
    from afflint.policies.policy import Policy

Subject = Literal[
    "manifest", "workload", "constrained", "scheduler", "profile", "mismatched", "operated", "resource", "cross-manifest", "volumes",
    "nodes", "pools", "charts", "chart values", "kustomization", "run", "policy", "outcome", "admission",
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
- ``chart values``: the values that a chart in the repository gets, each with what its templates read. See ``pipeline.chart_values``;
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


CustomScope = Literal["", "operator", "known", "unchanged", "only unchanged", "shape", "any"]
"""For which custom resources a check is run, if they create pods:

- ``operator``: those whose kind is known, about the resource itself;
- ``known``: those whose kind is known, about the pods; the following are run for these as well, if not stated otherwise;
- ``unchanged``: values of a chart that adds nothing to a constraint; ``only unchanged``: only these;
- ``shape``: those with constraints that only their shape shows, such as the values of any chart;
- ``any``: also those that select nodes for something other than pods.
"""


class Check(NamedTuple):
    """A check of a rule: ``module:function`` below ``afflint.checks``, empty if the map step itself finds these mistakes.

    The function may take the target as its second argument. ``late``: depending on the version, the API server accepts the object
    and rejects the pods created from it, and messages about the pod spec must say so. ``of_text``: the rule is about a single text,
    whatever it is used for. ``missing``: the fields that findings of the rule call missing or without effect, see
    ``index.mutating_policies``; of several checks of a rule, one names them. ``only_if``: the function in ``custom_resources`` that returns
    whether a finding in a custom resource applies. ``together``: the rule is about objects that exist in one cluster. If the manifests are
    for several clusters, each is checked by itself; a rule about objects that are missing is checked for all together.
    """

    rule: str
    function: str = ""
    late: bool = False
    evidence: Evidence = ""
    of_text: bool = False
    missing: tuple[str, ...] = ()
    custom: CustomScope = ""
    only_if: str = ""
    together: bool = False


REGISTRY: dict[Subject, tuple[Check, ...]] = {
    "manifest": (
        Check("missing-api-version", "admission.controllers:missing_api_version"),
        Check("unserved-api-version", "admission.controllers:unserved_api_version"),
        Check(
            "invalid-label-key",
            "admission.labels:invalid_label_key",
            late=True,
            evidence="entry",
            of_text=True,
            custom="any",
            only_if="is_literal",
        ),
        Check(
            "invalid-label-value",
            "admission.labels:invalid_label_value",
            late=True,
            evidence="entry",
            of_text=True,
            custom="any",
            only_if="is_literal",
        ),
        Check("invalid-annotation", "admission.labels:invalid_annotation"),
        Check("invalid-scheduling-field", "admission.budgets:invalid_scheduling_field"),
        Check("misread-label-key", "labels:misread_label_key"),
        Check("deprecated-kubevirt-api", "kubevirt:deprecated_kubevirt_api"),
        Check("invalid-operator-setting", "descheduler:invalid_operator_setting", custom="operator"),
        Check("invalid-operator-setting", "kubevirt:invalid_migration_policy", custom="operator"),
    ),
    "workload": (
        Check("forbidden-label", "admission.labels:forbidden_label"),
        Check("jobs-refused", "admission.labels:jobs_refused"),
        Check("unknown-operator", "admission.affinity:unknown_operator", late=True, evidence="entry", of_text=True, custom="any"),
        Check("operator-values-mismatch", "admission.affinity:operator_values_mismatch", late=True, evidence="item", custom="any"),
        Check("selector-missing", "admission.controllers:selector_missing", late=True, missing=("selector",)),
        Check("selector-template-mismatch", "admission.controllers:selector_template_mismatch", late=True, missing=("labels",)),
        Check("job-selector", "admission.controllers:job_selector", late=True),
        Check("invalid-replicas", "admission.controllers:invalid_replicas", late=True, of_text=True),
        Check("invalid-scheduling-field", "admission.controllers:invalid_scheduling_field", late=True),
        Check("invalid-host-port", "admission.host_ports:invalid_host_port", late=True),
        Check("reserved-label", "kubevirt:reserved_label"),
        Check("ignored-annotation", "tolerations:ignored_annotation"),
        Check("overwritten-node-selector", "kubevirt:overwritten_node_selector"),
        Check("pinned-node", "affinity:pinned_node"),
        Check("deprecated-node-label", "topology_annotations:deprecated_node_label", evidence="lone entry", of_text=True, custom="any"),
        Check("unknown-node-label", "topology_annotations:unknown_node_label", evidence="term", of_text=True, custom="shape"),
        Check("misplaced-descheduler-annotation", "kubevirt:misplaced_descheduler_annotation"),
    ),
    "constrained": (
        Check("missing-term-wrapper", "admission.fields:missing_term_wrapper", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("invalid-namespace-name", "admission.labels:invalid_namespace_name", late=True, evidence="entry", custom="shape"),
        Check("weight-out-of-range", "admission.affinity:weight_out_of_range", late=True, evidence="entry", of_text=True, custom="shape"),
        Check(
            "empty-topology-key",
            "admission.affinity:empty_topology_key",
            late=True,
            evidence="term",
            custom="shape",
            only_if="is_in_pod_term",
        ),
        Check(
            "empty-node-selector-terms", "admission.affinity:empty_node_selector_terms", late=True, evidence="constraint", custom="shape"
        ),
        Check("missing-preference", "admission.affinity:missing_preference", late=True, evidence="term"),
        Check("invalid-match-field", "admission.affinity:invalid_match_field", late=True, evidence="item", custom="shape"),
        Check("label-keys-conflict", "admission.affinity:label_keys_conflict", late=True, evidence="term", custom="unchanged"),
        Check("invalid-toleration", "admission.tolerations:invalid_toleration", late=True, evidence="term", of_text=True, custom="any"),
        Check(
            "invalid-spread-constraint",
            "admission.spread:invalid_spread_constraint",
            late=True,
            evidence="term",
            of_text=True,
            custom="shape",
        ),
        Check(
            "duplicate-spread-constraint",
            "admission.spread:duplicate_spread_constraint",
            late=True,
            evidence="constraint",
            custom="shape",
        ),
        Check("selector-matches-nothing", "labels:selector_matches_nothing", evidence="term", custom="unchanged", only_if="is_not_filled"),
        Check("selector-matches-everything", "labels:selector_matches_everything", custom="only unchanged"),
        Check("contradictory-selector", "labels:contradictory_selector", evidence="term", custom="any"),
        Check("contradictory-requirements", "affinity:contradictory_requirements", custom="shape"),
        Check("never-matching-comparison", "affinity:never_matching_comparison", evidence="item", custom="shape"),
        Check("unparsable-preference", "affinity:unparsable_preference", evidence="item", custom="shape"),
        Check("empty-term", "affinity:empty_term", evidence="term", custom="shape"),
        Check("redundant-term", "affinity:redundant_term", custom="shape"),
        Check("deprecated-node-label", "affinity:deprecated_node_label", evidence="lone entry", of_text=True, custom="any"),
        Check("unknown-node-label", "affinity:unknown_node_label", evidence="term", of_text=True, custom="shape"),
        Check("unlikely-topology-key", "affinity:unlikely_topology_key", evidence="entry", custom="shape"),
        Check("negated-pod-affinity", "affinity:negated_pod_affinity", evidence="term", custom="shape"),
        Check("hard-anti-affinity-topology", "affinity:hard_anti_affinity_topology"),
        Check("spread-misses-itself", "spread:spread_misses_itself", missing=("labels",), custom="shape"),
        Check("spread-lost-in-rollout", "spread:spread_lost_in_rollout"),
        Check(
            "legacy-control-plane-toleration",
            "tolerations:legacy_control_plane_toleration",
            evidence="constraint",
            custom="shape",
            only_if="is_not_extended",
        ),
        Check("untolerated-control-plane", "tolerations:untolerated_control_plane", missing=("tolerations",), custom="known"),
        Check("tolerates-everything", "tolerations:tolerates_everything"),
        Check("shadowed-toleration", "tolerations:shadowed_toleration", evidence="constraint", custom="shape"),
        Check("toleration-without-attraction", "tolerations:toleration_without_attraction", missing=("nodeSelector", "affinity")),
    ),
    "scheduler": (Check("invalid-scheduler-configuration", "scheduler_configuration:invalid_scheduler_configuration"),),
    "profile": (
        Check("unknown-operator", "admission.affinity:unknown_operator"),
        Check("operator-values-mismatch", "admission.affinity:operator_values_mismatch"),
        Check("invalid-match-field", "admission.affinity:invalid_match_field"),
        Check("empty-topology-key", "admission.affinity:empty_topology_key"),
        Check("invalid-spread-constraint", "admission.spread:invalid_spread_constraint"),
        Check("duplicate-spread-constraint", "admission.spread:duplicate_spread_constraint"),
        Check("contradictory-requirements", "affinity:contradictory_requirements"),
        Check("empty-term", "affinity:empty_term"),
        Check("deprecated-node-label", "affinity:deprecated_node_label"),
        Check("unknown-node-label", "affinity:unknown_node_label"),
        Check("unlikely-topology-key", "affinity:unlikely_topology_key"),
    ),
    "mismatched": (
        Check("unknown-field", "admission.fields:unknown_field", evidence="term", custom="any", only_if="is_unknown"),
        Check("misplaced-constraint", "admission.fields:misplaced_constraint", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("wrong-type", "admission.fields:wrong_type", evidence="term", custom="any", only_if="has_wrong_type"),
        Check("annotation-not-string", "admission.fields:annotation_not_string"),
    ),
    "operated": (
        Check("unknown-field", "constraint_places:misspelt_constraint", evidence="term", custom="any", only_if="is_unknown"),
        Check("misplaced-constraint", "constraint_places:unreachable_constraint", custom="any", only_if="is_not_of_kind"),
        Check("misplaced-constraint", "operators:beside_pod_spec", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("lost-template-label", "operators:lost_template_label", custom="operator"),
        Check("invalid-operator-setting", "operators:invalid_operator_setting", custom="operator"),
        Check("ignored-operator-setting", "operators:ignored_operator_setting", custom="operator"),
        Check("wrong-type", "charts:misshapen_chart_value", custom="any", only_if="has_wrong_type"),
        Check("ignored-chart-value", "charts:ignored_chart_value", custom="shape"),
        Check("contradictory-requirements", "charts:contradictory_requirements", custom="shape"),
        Check("spread-misses-itself", "charts:spread_misses_itself", custom="shape"),
        Check("anti-affinity-misses-itself", "charts:anti_affinity_misses_itself", custom="shape"),
        Check("affinity-target-missing", "charts:affinity_target_missing", custom="shape"),
    ),
    "resource": (
        Check("unknown-field", "resource_fields:unknown_in_resource"),
        Check("misplaced-constraint", "resource_fields:outside_affinity"),
        Check("selector-matches-nothing", "resource_fields:selects_no_node"),
    ),
    "cross-manifest": (
        Check("label-not-on-template", "labels:label_not_on_template", missing=("labels",)),
        Check("anti-affinity-misses-itself", "cross_manifest:anti_affinity_misses_itself", missing=("labels",)),
        Check("namespace-misses-target", "cross_manifest:namespace_misses_target", missing=("labels of other pods",)),
        Check("affinity-cycle", "required_affinity:affinity_cycle", together=True),
        Check("affinity-conflict", "required_affinity:affinity_conflict", together=True),
        Check("no-single-target", "required_affinity:no_single_target", missing=("labels of other pods",)),
        Check("affinity-target-missing", "cross_manifest:affinity_target_missing", missing=("labels of other pods",)),
        Check("accidental-anti-affinity", "cross_manifest:accidental_anti_affinity", together=True),
        Check("operator-label-mismatch", "cross_manifest:operator_label_mismatch", missing=("labels of other pods",)),
        Check("spread-without-effect", "cross_manifest:spread_without_effect", together=True),
        Check("migration-impossible", "live_migration:migration_impossible", together=True),
        Check("namespace-selector-conflict", "cross_manifest:namespace_selector_conflict", together=True),
        Check("drain-blocked", "drains:drain_blocked", together=True),
        Check("selector-matches-nothing", "migration_policies:selector_matches_nothing"),
        Check("selector-matches-nothing", "drains:selector_matches_nothing", missing=("labels of other pods",)),
        Check("ignored-operator-setting", "migration_policies:ignored_operator_setting", together=True),
    ),
    "volumes": (
        Check("claim-never-bound", "volumes:claim_never_bound"),
        Check("volume-out-of-reach", "volumes:volume_out_of_reach"),
        Check("immediate-binding", "volumes:immediate_binding"),
        Check("immediate-local-volume", "persistent_volumes:immediate_local_volume"),
        Check("ignored-volume-affinity", "persistent_volumes:ignored_volume_affinity"),
        Check("missing-volume-affinity", "persistent_volumes:missing_volume_affinity"),
        Check("invalid-volume-topology", "persistent_volumes:invalid_volume_topology"),
        Check("unusable-allowed-topology", "persistent_volumes:unusable_allowed_topology"),
        Check("unshareable-volume", "volumes:unshareable_volume"),
        Check("shared-volume", "volumes:shared_volume"),
        Check("single-pod-volume", "volumes:single_pod_volume"),
        Check("rollout-blocked-by-volume", "volumes:rollout_blocked_by_volume"),
        Check("rollout-shares-volume", "volumes:rollout_shares_volume"),
        Check("too-few-volume-zones", "volume_capacity:too_few_volume_zones"),
        Check("too-few-volumes", "volume_capacity:too_few_volumes"),
        Check("migration-bound-to-volume", "volume_capacity:migration_bound_to_volume"),
        Check("importer-binds-volume", "volume_capacity:importer_binds_volume"),
    ),
    "nodes": (
        Check("unknown-node-label", "nodes:unknown_to_inventory"),
        Check("unmet-preference", "preferences:unmet_preference"),
        Check("inconsistent-node-labels", "nodes:inconsistent_node_labels"),
        Check("inconsistent-topology", "nodes:inconsistent_topology"),
        Check("near-duplicate-label", "nodes:near_duplicate_label"),
        Check("shared-host", "nodes:shared_host"),
        Check("min-domains-unreachable", "placement:min_domains_unreachable"),
        Check("spread-blocked-by-taints", "placement:spread_blocked_by_taints", missing=("tolerations",)),
        Check("unschedulable", "placement:unschedulable", missing=("nodeSelector", "affinity", "tolerations", "schedulerName")),
        Check("unschedulable", "operator_placement:unmatched_node_placement"),
        Check("invalid-operator-setting", "operator_placement:unknown_maintenance_node"),
        Check("unschedulable", "operator_placement:unmatched_added_affinity"),
        Check("too-few-domains", "placement:too_few_domains", missing=("tolerations",)),
        Check("competing-workloads", "placement:competing_workloads", missing=("tolerations",)),
        Check("drain-blocked", "placement:drain_blocked"),
        Check("not-failure-tolerant", "placement:not_failure_tolerant", missing=("affinity", "topologySpreadConstraints", "tolerations")),
        Check("rollout-deadlock", "placement:rollout_deadlock", missing=("tolerations",)),
        Check("migration-blocked", "placement:migration_blocked", missing=("tolerations",)),
        Check("single-domain-possible", "placement:single_domain_possible", missing=("affinity", "topologySpreadConstraints")),
        Check("too-few-volume-zones", "volume_nodes:too_few_volume_zones"),
        Check("volume-without-node", "volume_nodes:volume_without_node"),
        Check("unusable-allowed-topology", "volume_nodes:unusable_allowed_topology"),
    ),
    "pools": (
        Check("no-matching-pool", "pools:no_matching_pool", missing=("nodeSelector", "affinity", "tolerations")),
        Check("unreachable-node-label", "pools:unreachable_node_label"),
        Check("invalid-pool-taint", "pools:invalid_pool_taint"),
        Check("invalid-label-key", "pools:invalid_label_key"),
        Check("invalid-label-value", "pools:invalid_label_value"),
        Check("untolerated-pool", "pools:untolerated_pool", missing=("tolerations of other pods",)),
        Check("near-duplicate-label", "pools:near_duplicate_in_pools"),
        Check("too-few-domains", "pool_capacity:too_few_domains"),
    ),
    "chart values": (
        Check("unread-chart-value", "read_values:unread_chart_value"),
        Check("ignored-chart-value", "read_values:ignored_chart_value"),
        Check("wrong-type", "read_values:wrong_type"),
        Check("spread-misses-itself", "read_values:spread_misses_itself"),
        Check("anti-affinity-misses-itself", "read_values:anti_affinity_misses_itself"),
    ),
    "charts": (Check("misrendered-chart-value", "chart_values:misrendered_chart_value"),),
    "kustomization": (
        Check("patch-without-target", "kustomizations:patch_without_target"),
        Check("misplaced-constraint", "kustomizations:misplaced_constraint"),
        Check("wrong-type", "kustomizations:wrong_type"),
    ),
    "run": (
        Check("unreadable-manifest"),
        Check("text-after-document"),
        Check("missing-separator"),
        Check("duplicate-key"),
        Check("unused-suppression"),
        Check("invalid-suppression"),
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
    custom: CustomScope = ""
    only_if: str = ""
    together: bool = False
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
            BoundRule(known[each.rule], subject, each.function, configured.get(each.rule), each.late, *each[5:])
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


_LoadedCheck = tuple[BoundRule, Callable[..., Iterator[Match]], bool]
"""A check as it is called for each object: its rule, its function, and whether that takes the target."""
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
        for rule, check, with_target in checks:
            for match in check(manifest, target) if with_target else check(manifest):
                yield rule.name, with_note_in_pod_spec(match, accepted) if accepted and rule.rejected_late else match

    def _of_profiles(self, manifest: Manifest) -> Iterator[tuple[str, Match]]:
        """Yield the findings about the constraints in a KubeSchedulerConfiguration."""
        from afflint.checks.scheduler_configuration import profile_constraints

        for constraints in profile_constraints(manifest):
            for rule, check, with_target in self._checks("profile"):
                for match in check(constraints, self._target) if with_target else check(constraints):
                    yield rule.name, match

    def _checks(self, *subjects: Subject) -> tuple[_LoadedCheck, ...]:
        """Return the checks that apply to objects with these subjects."""
        if subjects not in self._loaded:
            bound_rules = [each for subject in subjects for each in self._bound_rules if each.subject == subject]
            self._loaded[subjects] = tuple([(each, *each.check()) for each in bound_rules])
        return self._loaded[subjects]

    def _of_operator(self, workload: Workload) -> Iterator[tuple[str, Match]]:
        """Yield the findings that apply to the pods of operators, with notes on who rejects them."""
        from afflint.checks.custom_resources import applies_to_custom, scopes_of, with_custom_wording
        from afflint.checks.verified_places import verified_places

        target = self._target
        verified = verified_places(workload, target)
        scopes = scopes_of(workload, verified)
        checks = self._checks(*_CONSTRAINED) + (self._checks("mismatched") if mismatches_of(workload, target) else ())
        for rule, check, with_target in checks + self._checks("operated"):
            if rule.custom in scopes:
                for match in check(workload, target) if with_target else check(workload):
                    if applies_to_custom(rule.custom, rule.only_if, match, workload, verified):
                        is_rejected = rule.category == "admission" and rule.custom != "operator"
                        yield rule.name, with_custom_wording(rule.name, match, workload, verified) if is_rejected else match
