"""The registry of policy checks. Their modules are imported only when a policy names them."""

from __future__ import annotations

from typing import Literal

from afflint.findings.namedtuples import NamedTuple


class PolicyCheck(NamedTuple):
    """A policy check: its parameters (a class in ``check_params``), its function (``module:function``), and how it is called.

    ``requirement`` is one sentence on what the check requires, ``remedy`` the help of findings that have none of their own.
    ``reports_missing``: the check reports missing fields, so it runs on complete manifests only, never on patches. ``object``: the check
    reads the whole object. ``applies_to``: the workloads that the check can apply to, whatever the policy matches: all pods, pods with a
    number of replicas (no DaemonSets), virtual machines, or kinds whose number of replicas can be changed. A configuration cannot name
    checks with the subject ``admission``: they evaluate the manifests of the cluster's own policies. ``missing``: the fields, as in
    ``index.mutating_policies``, that the check calls missing or without effect.
    """

    params_class: str
    function: str
    requirement: str
    remedy: str
    subject: Literal["policy", "outcome", "admission"] = "policy"
    reports_missing: bool = False
    fix: Literal["none", "unsafe"] = "none"
    object: bool = False
    applies_to: Literal["pods", "replicas", "machines", "scalable"] = "pods"
    missing: tuple[str, ...] = ()

    @property
    def params(self) -> str:
        """The location of the class of the parameters, ``module:class``."""
        return f"afflint.policies.check_params:{self.params_class}"


CHECKS: dict[str, PolicyCheck] = {
    "required-node-labels": PolicyCheck(
        "RequiredNodeLabels",
        "afflint.checks.policies.node_requirements:required_node_labels",
        "The pods may only be scheduled on nodes with these labels. Any constraint that ensures this is enough.",
        "Require the label in the nodeSelector, or in every term of the required node affinity.",
        reports_missing=True,
        fix="unsafe",
        missing=("nodeSelector", "affinity"),
    ),
    "required-spread": PolicyCheck(
        "RequiredSpread",
        "afflint.checks.policies.spread:required_spread",
        "The pods of a workload must not all be in one topology domain. Any constraint that ensures this is enough.",
        "Add a spread constraint or a podAntiAffinity over the topology key that selects the workload's own pods.",
        reports_missing=True,
        fix="unsafe",
        missing=("topologySpreadConstraints", "affinity"),
    ),
    "forbidden-node-labels": PolicyCheck(
        "ForbiddenNodeLabels",
        "afflint.checks.policies.nodes:forbidden_node_labels",
        "The pods must not select nodes by these labels.",
        "Select the nodes by another label, or remove the constraint.",
    ),
    "allowed-topology-keys": PolicyCheck(
        "AllowedTopologyKeys",
        "afflint.checks.policies.pods:allowed_topology_keys",
        "Spread constraints and pod affinity terms may only use these topology keys.",
        "Use one of the allowed topology keys.",
    ),
    "required-template-labels": PolicyCheck(
        "RequiredTemplateLabels",
        "afflint.checks.policies.pods:required_template_labels",
        "The pods must have these labels.",
        "Add the label to the pod template.",
        reports_missing=True,
        fix="unsafe",
        missing=("labels",),
    ),
    "allowed-tolerations": PolicyCheck(
        "AllowedTolerations",
        "afflint.checks.policies.nodes:allowed_tolerations",
        "The pods may only tolerate these taints.",
        "Remove the toleration, or restrict it to an allowed taint.",
    ),
    "maximum-weight": PolicyCheck(
        "MaximumWeight",
        "afflint.checks.policies.pods:maximum_weight",
        "No preference may have a weight above this maximum.",
        "Lower the weight.",
        fix="unsafe",
    ),
    "no-hard-anti-affinity": PolicyCheck(
        "NoHardAntiAffinity",
        "afflint.checks.policies.pods:no_hard_anti_affinity",
        "Pod anti-affinity must be preferred, not required.",
        "Use `preferredDuringSchedulingIgnoredDuringExecution`, or a spread constraint.",
    ),
    "forbidden-tolerations": PolicyCheck(
        "ForbiddenTolerations",
        "afflint.checks.policies.nodes:forbidden_tolerations",
        "The pods must not tolerate these taints.",
        "Remove the toleration, or restrict it to other taints.",
    ),
    "required-tolerations": PolicyCheck(
        "RequiredTolerations",
        "afflint.checks.policies.nodes:required_tolerations",
        "The pods must tolerate these taints. Any toleration that covers a taint is enough.",
        "Add the toleration.",
        reports_missing=True,
        fix="unsafe",
        missing=("tolerations",),
    ),
    "required-node-constraint": PolicyCheck(
        "NoParameters",
        "afflint.checks.policies.node_requirements:required_node_constraint",
        "The pods must have a constraint that restricts the nodes on which they can be scheduled.",
        "Add a nodeSelector or a required node affinity.",
        reports_missing=True,
        missing=("nodeSelector", "affinity"),
    ),
    "required-priority-class": PolicyCheck(
        "RequiredPriorityClass",
        "afflint.checks.policies.workloads:required_priority_class",
        "The pods must name a priority class. The default class of the cluster is not enough.",
        "Set `priorityClassName`.",
        reports_missing=True,
        fix="unsafe",
        missing=("priorityClassName",),
    ),
    "minimum-replicas": PolicyCheck(
        "MinimumReplicas",
        "afflint.checks.policies.workloads:minimum_replicas",
        "A workload must have at least this number of replicas. Workloads with 0 replicas are not checked.",
        "Raise the number of replicas, or the minimum of the autoscaler.",
        reports_missing=True,
        fix="unsafe",
        applies_to="scalable",
        missing=("replicas",),
    ),
    "required-budget": PolicyCheck(
        "RequiredBudget",
        "afflint.checks.policies.workloads:required_budget",
        "A PodDisruptionBudget among the manifests must cover the pods of each workload with several replicas.",
        "Add a PodDisruptionBudget that selects the pods, in the namespace of the workload.",
        reports_missing=True,
        applies_to="scalable",
        missing=("labels",),
    ),
    "required-autoscaler": PolicyCheck(
        "NoParameters",
        "afflint.checks.policies.workloads:required_autoscaler",
        "A HorizontalPodAutoscaler or ScaledObject among the manifests must scale the workload. Workloads with 0 replicas are not checked.",
        "Add a HorizontalPodAutoscaler whose `scaleTargetRef` names the workload.",
        reports_missing=True,
        applies_to="scalable",
    ),
    "required-service": PolicyCheck(
        "RequiredService",
        "afflint.checks.policies.workloads:required_service",
        "A Service among the manifests must select the pods of the workload. Workloads with 0 replicas are not checked.",
        "Add a Service that selects the pods, in the namespace of the workload, or set its labels on the pod template.",
        reports_missing=True,
        applies_to="scalable",
        missing=("labels",),
    ),
    "no-pinning": PolicyCheck(
        "NoPinning",
        "afflint.checks.policies.nodes:no_pinning",
        "The pods must not select nodes by name.",
        "Select a label that several nodes have.",
    ),
    "required-migratability": PolicyCheck(
        "RequiredMigratability",
        "afflint.checks.policies.workloads:required_migratability",
        "Virtual machines must allow live migration.",
        "Remove what prevents the live migration.",
        applies_to="machines",
    ),
    "survives": PolicyCheck(
        "Survives",
        "afflint.checks.policies.outcomes:survives",
        "A minimum number of replicas must run after a failure of nodes. `afflint place` with `--lose` simulates the same failure.",
        "Spread the pods over more topology domains, add replicas, or add nodes on which the replicas of failed nodes can be scheduled.",
        "outcome",
        applies_to="replicas",
        missing=("affinity", "topologySpreadConstraints", "tolerations"),
    ),
    "fits": PolicyCheck(
        "NoParameters",
        "afflint.checks.policies.outcomes:fits",
        "Every replica can be scheduled on the known nodes. `afflint place` runs the same simulation.",
        "Add a node that matches the pod, or relax the constraints that exclude the existing nodes.",
        "outcome",
        applies_to="replicas",
        missing=("nodeSelector", "affinity", "tolerations", "schedulerName"),
    ),
    "migratable": PolicyCheck(
        "NoParameters",
        "afflint.checks.policies.outcomes:migratable",
        "Virtual machines must allow live migration, and another node must be available for them.",
        "Remove what prevents the live migration, or add another node on which the virtual machine can be scheduled.",
        "outcome",
        applies_to="machines",
        missing=("tolerations",),
    ),
    "expression": PolicyCheck(
        "Validation",
        "afflint.checks.policies.expressions:expression",
        "A CEL expression must be true for the object.",
        "Change the object so that the expression of the policy is true.",
        reports_missing=True,
        object=True,
        missing=("the field that the finding concerns",),
    ),
    "validating-admission-policy": PolicyCheck(
        "AdmissionManifests",
        "afflint.checks.policies.cluster_policies:admitted",
        "A policy of the cluster must admit the object.",
        "Change the object so that the policy admits it.",
        subject="admission",
        missing=("the field that the finding concerns",),
    ),
}
