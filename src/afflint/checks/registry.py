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
    """A check of a rule: its ``module`` below ``afflint.checks``, empty if the map step itself finds these mistakes.

    The function has the name of the rule, unless ``module`` names another, as in ``module:function``. It may take the target as its second
    argument. ``late``: depending on the version, the API server accepts the object and rejects the pods created from it, and messages about
    the pod spec must say so. ``of_text``: the rule is about a single text, whatever it is used for. ``missing``: the fields that findings
    of the rule call missing or without effect, see ``index.mutating_policies``; of several checks of a rule, one names them. ``only_if``:
    the function in ``custom_resources`` that returns whether a finding in a custom resource applies. ``together``: the rule is about
    objects that exist in one cluster. If the manifests are for several clusters, each is checked by itself; a rule about objects that are
    missing is checked for all together.
    """

    rule: str
    module: str = ""
    late: bool = False
    evidence: Evidence = ""
    of_text: bool = False
    missing: tuple[str, ...] = ()
    custom: CustomScope = ""
    only_if: str = ""
    together: bool = False

    @property
    def function(self) -> str:
        """The location of the function, ``module:function``; empty without a module."""
        return self.module if not self.module or ":" in self.module else f"{self.module}:{self.rule.replace('-', '_')}"


REGISTRY: dict[Subject, tuple[Check, ...]] = {
    "manifest": (
        Check("missing-api-version", "admission.controllers"),
        Check("unserved-api-version", "admission.controllers"),
        Check("invalid-label-key", "admission.labels", late=True, evidence="entry", of_text=True, custom="any", only_if="is_literal"),
        Check("invalid-label-value", "admission.labels", late=True, evidence="entry", of_text=True, custom="any", only_if="is_literal"),
        Check("invalid-annotation", "admission.labels"),
        Check("invalid-scheduling-field", "admission.budgets"),
        Check("misread-label-key", "labels"),
        Check("deprecated-kubevirt-api", "kubevirt"),
        Check("invalid-operator-setting", "descheduler", custom="operator"),
        Check("invalid-operator-setting", "kubevirt:invalid_migration_policy", custom="operator"),
    ),
    "workload": (
        Check("forbidden-label", "admission.labels"),
        Check("jobs-refused", "admission.labels"),
        Check("unknown-operator", "admission.affinity", late=True, evidence="entry", of_text=True, custom="any"),
        Check("operator-values-mismatch", "admission.affinity", late=True, evidence="item", custom="any"),
        Check("selector-missing", "admission.controllers", late=True, missing=("selector",)),
        Check("selector-template-mismatch", "admission.controllers", late=True, missing=("labels",)),
        Check("job-selector", "admission.controllers", late=True),
        Check("invalid-replicas", "admission.controllers", late=True, of_text=True),
        Check("invalid-scheduling-field", "admission.controllers", late=True),
        Check("invalid-host-port", "admission.host_ports", late=True),
        Check("reserved-label", "kubevirt"),
        Check("ignored-annotation", "tolerations"),
        Check("overwritten-node-selector", "kubevirt"),
        Check("pinned-node", "affinity"),
        Check("deprecated-node-label", "topology_annotations", evidence="lone entry", of_text=True, custom="any"),
        Check("unknown-node-label", "topology_annotations", evidence="term", of_text=True, custom="shape"),
        Check("misplaced-descheduler-annotation", "kubevirt"),
    ),
    "constrained": (
        Check("missing-term-wrapper", "admission.fields", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("invalid-namespace-name", "admission.labels", late=True, evidence="entry", custom="shape"),
        Check("weight-out-of-range", "admission.affinity", late=True, evidence="entry", of_text=True, custom="shape"),
        Check("empty-topology-key", "admission.affinity", late=True, evidence="term", custom="shape", only_if="is_in_pod_term"),
        Check("empty-node-selector-terms", "admission.affinity", late=True, evidence="constraint", custom="shape"),
        Check("missing-preference", "admission.affinity", late=True, evidence="term"),
        Check("invalid-match-field", "admission.affinity", late=True, evidence="item", custom="shape"),
        Check("label-keys-conflict", "admission.affinity", late=True, evidence="term", custom="unchanged"),
        Check("invalid-toleration", "admission.tolerations", late=True, evidence="term", of_text=True, custom="any"),
        Check("invalid-spread-constraint", "admission.spread", late=True, evidence="term", of_text=True, custom="shape"),
        Check("duplicate-spread-constraint", "admission.spread", late=True, evidence="constraint", custom="shape"),
        Check("selector-matches-nothing", "labels", evidence="term", custom="unchanged", only_if="is_not_filled"),
        Check("selector-matches-everything", "labels", custom="only unchanged"),
        Check("contradictory-selector", "labels", evidence="term", custom="any"),
        Check("contradictory-requirements", "affinity", custom="shape"),
        Check("never-matching-comparison", "affinity", evidence="item", custom="shape"),
        Check("unparsable-preference", "affinity", evidence="item", custom="shape"),
        Check("empty-term", "affinity", evidence="term", custom="shape"),
        Check("redundant-term", "affinity", custom="shape"),
        Check("deprecated-node-label", "affinity", evidence="lone entry", of_text=True, custom="any"),
        Check("unknown-node-label", "affinity", evidence="term", of_text=True, custom="shape"),
        Check("unlikely-topology-key", "affinity", evidence="entry", custom="shape"),
        Check("negated-pod-affinity", "affinity", evidence="term", custom="shape"),
        Check("hard-anti-affinity-topology", "affinity"),
        Check("spread-misses-itself", "spread", missing=("labels",), custom="shape"),
        Check("spread-lost-in-rollout", "spread"),
        Check("legacy-control-plane-toleration", "tolerations", evidence="constraint", custom="shape", only_if="is_not_extended"),
        Check("untolerated-control-plane", "tolerations", missing=("tolerations",), custom="known"),
        Check("tolerates-everything", "tolerations"),
        Check("shadowed-toleration", "tolerations", evidence="constraint", custom="shape"),
        Check("toleration-without-attraction", "tolerations", missing=("nodeSelector", "affinity")),
    ),
    "scheduler": (Check("invalid-scheduler-configuration", "scheduler_configuration"),),
    "profile": (
        Check("unknown-operator", "admission.affinity"),
        Check("operator-values-mismatch", "admission.affinity"),
        Check("invalid-match-field", "admission.affinity"),
        Check("empty-topology-key", "admission.affinity"),
        Check("invalid-spread-constraint", "admission.spread"),
        Check("duplicate-spread-constraint", "admission.spread"),
        Check("contradictory-requirements", "affinity"),
        Check("empty-term", "affinity"),
        Check("deprecated-node-label", "affinity"),
        Check("unknown-node-label", "affinity"),
        Check("unlikely-topology-key", "affinity"),
    ),
    "mismatched": (
        Check("unknown-field", "admission.fields", evidence="term", custom="any", only_if="is_unknown"),
        Check("misplaced-constraint", "admission.fields", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("wrong-type", "admission.fields", evidence="term", custom="any", only_if="has_wrong_type"),
        Check("annotation-not-string", "admission.fields"),
    ),
    "operated": (
        Check("unknown-field", "constraint_places:misspelt_constraint", evidence="term", custom="any", only_if="is_unknown"),
        Check("misplaced-constraint", "constraint_places:unreachable_constraint", custom="any", only_if="is_not_of_kind"),
        Check("misplaced-constraint", "operators:beside_pod_spec", evidence="term", custom="any", only_if="is_not_of_kind"),
        Check("lost-template-label", "operators", custom="operator"),
        Check("invalid-operator-setting", "operators", custom="operator"),
        Check("ignored-operator-setting", "operators", custom="operator"),
        Check("wrong-type", "charts:misshapen_chart_value", custom="any", only_if="has_wrong_type"),
        Check("ignored-chart-value", "charts", custom="shape"),
        Check("contradictory-requirements", "charts", custom="shape"),
        Check("spread-misses-itself", "charts", custom="shape"),
        Check("anti-affinity-misses-itself", "charts", custom="shape"),
        Check("affinity-target-missing", "charts", custom="shape"),
    ),
    "resource": (
        Check("unknown-field", "constraint_places:unknown_in_resource"),
        Check("misplaced-constraint", "constraint_places:outside_affinity"),
        Check("selector-matches-nothing", "constraint_places:selects_no_node"),
    ),
    "cross-manifest": (
        Check("label-not-on-template", "labels", missing=("labels",)),
        Check("anti-affinity-misses-itself", "cross_manifest", missing=("labels",)),
        Check("namespace-misses-target", "cross_manifest", missing=("labels of other pods",)),
        Check("affinity-cycle", "required_affinity", together=True),
        Check("affinity-conflict", "required_affinity", together=True),
        Check("no-single-target", "required_affinity", missing=("labels of other pods",)),
        Check("affinity-target-missing", "cross_manifest", missing=("labels of other pods",)),
        Check("accidental-anti-affinity", "cross_manifest", together=True),
        Check("operator-label-mismatch", "cross_manifest", missing=("labels of other pods",)),
        Check("spread-without-effect", "cross_manifest", together=True),
        Check("machine-without-pod", "virtual_machines", together=True),
        Check("migration-impossible", "live_migration", together=True),
        Check("namespace-selector-conflict", "cross_manifest", together=True),
        Check("drain-blocked", "drains", together=True),
        Check("selector-matches-nothing", "migration_policies"),
        Check("selector-matches-nothing", "drains", missing=("labels of other pods",)),
        Check("ignored-operator-setting", "migration_policies", together=True),
    ),
    "volumes": (
        Check("claim-never-bound", "volumes"),
        Check("volume-out-of-reach", "volumes"),
        Check("immediate-binding", "volumes"),
        Check("immediate-local-volume", "persistent_volumes"),
        Check("ignored-volume-affinity", "persistent_volumes"),
        Check("missing-volume-affinity", "persistent_volumes"),
        Check("invalid-volume-topology", "persistent_volumes"),
        Check("unusable-allowed-topology", "persistent_volumes"),
        Check("unshareable-volume", "volumes"),
        Check("shared-volume", "volumes"),
        Check("single-pod-volume", "volumes"),
        Check("rollout-blocked-by-volume", "volumes"),
        Check("rollout-shares-volume", "volumes"),
        Check("too-few-volume-zones", "volume_capacity"),
        Check("too-few-volumes", "volume_capacity"),
        Check("migration-bound-to-volume", "volume_capacity"),
        Check("importer-binds-volume", "volume_capacity"),
    ),
    "nodes": (
        Check("unknown-node-label", "nodes:unknown_to_inventory"),
        Check("unmet-preference", "preferences"),
        Check("unmatched-toleration", "tolerations"),
        Check("inconsistent-node-labels", "nodes"),
        Check("inconsistent-topology", "nodes"),
        Check("near-duplicate-label", "nodes"),
        Check("shared-host", "nodes"),
        Check("min-domains-unreachable", "placement"),
        Check("spread-without-effect", "placement"),
        Check("spread-blocked-by-taints", "placement", missing=("tolerations",)),
        Check("unschedulable", "placement", missing=("nodeSelector", "affinity", "tolerations", "schedulerName")),
        Check("unschedulable", "operator_placement:unmatched_node_placement"),
        Check("invalid-operator-setting", "operator_placement:unknown_maintenance_node"),
        Check("unschedulable", "operator_placement:unmatched_added_affinity"),
        Check("too-few-domains", "placement", missing=("tolerations",)),
        Check("competing-workloads", "placement", missing=("tolerations",)),
        Check("drain-blocked", "placement"),
        Check("not-failure-tolerant", "placement", missing=("affinity", "topologySpreadConstraints", "tolerations")),
        Check("rollout-deadlock", "placement", missing=("tolerations",)),
        Check("migration-blocked", "placement", missing=("tolerations",)),
        Check("single-domain-possible", "placement", missing=("affinity", "topologySpreadConstraints")),
        Check("too-few-volume-zones", "volume_nodes"),
        Check("volume-without-node", "volume_nodes"),
        Check("driver-not-on-node", "volume_nodes"),
        Check("unusable-allowed-topology", "volume_nodes"),
    ),
    "pools": (
        Check("no-matching-pool", "pools", missing=("nodeSelector", "affinity", "tolerations")),
        Check("unreachable-node-label", "pools"),
        Check("invalid-pool-taint", "pools"),
        Check("invalid-label-key", "pools"),
        Check("invalid-label-value", "pools"),
        Check("untolerated-pool", "pools", missing=("tolerations of other pods",)),
        Check("near-duplicate-label", "pools:near_duplicate_in_pools"),
        Check("too-few-domains", "pool_capacity"),
    ),
    "chart values": (
        Check("unread-chart-value", "read_values"),
        Check("ignored-chart-value", "read_values"),
        Check("wrong-type", "read_values"),
        Check("spread-misses-itself", "read_values"),
        Check("anti-affinity-misses-itself", "read_values"),
    ),
    "charts": (Check("misrendered-chart-value", "chart_values"),),
    "kustomization": (
        Check("patch-without-target", "kustomizations"),
        Check("misplaced-constraint", "kustomizations"),
        Check("wrong-type", "kustomizations"),
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
    "admission", "labels", "affinity", "spread", "tolerations", "kubevirt", "volumes", "cross-manifest",
    "nodes", "placement", "policy", "afflint",
)  # fmt: skip


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
            BoundRule(known[each.rule], subject, function, configured.get(each.rule), each.late, *each[5:])
            for subject, each, function in _located()
            if each.rule in chosen
        ]
    )


@cache
def _located() -> tuple[tuple[Subject, Check, str], ...]:
    """Return all checks with their functions: a simulation binds rules for each change that it tries."""
    return tuple([(subject, each, each.function) for subject, checks in REGISTRY.items() for each in checks])


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
