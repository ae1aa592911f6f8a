"""The registry of policy checks. Their modules are imported only when a policy names them."""

from __future__ import annotations

from typing import Literal

from afflint.findings.namedtuples import NamedTuple


class PolicyCheck(NamedTuple):
    """A policy check: its name, its ``module`` below ``afflint.checks.policies``, and how it is called.

    Its function, and the class of its parameters in ``check_params``, have its name, unless the module is given as ``module:function``, and
    ``params_class`` the class. ``requirement`` is one sentence on what the check requires, ``remedy`` the help of findings without another.
    ``reports_missing``: the check reports missing fields, so it runs on complete manifests only, never on patches. ``object``: the check
    reads the whole object. ``applies_to``: the workloads that the check can apply to, whatever the policy matches: all pods, pods with a
    number of replicas (no DaemonSets), virtual machines, or kinds whose number of replicas can be changed. A configuration cannot name
    checks with the subject ``admission``: they evaluate the manifests of the cluster's own policies. ``missing``: the fields, as in
    ``index.mutating_policies``, that the check calls missing or without effect.
    """

    name: str
    module: str
    requirement: str
    remedy: str
    subject: Literal["policy", "outcome", "admission"] = "policy"
    reports_missing: bool = False
    fix: Literal["none", "unsafe"] = "none"
    object: bool = False
    applies_to: Literal["pods", "replicas", "machines", "scalable"] = "pods"
    missing: tuple[str, ...] = ()
    params_class: str = ""

    @property
    def function(self) -> str:
        """The location of the function, ``module:function``."""
        own_name = "" if ":" in self.module else f":{self.name.replace('-', '_')}"
        return f"afflint.checks.policies.{self.module}{own_name}"

    @property
    def params(self) -> str:
        """The location of the class of the parameters, ``module:class``."""
        return f"afflint.policies.check_params:{self.params_class or ''.join(map(str.capitalize, self.name.split('-')))}"


_CHECKS = (
    PolicyCheck(
        "required-node-labels",
        "node_requirements",
        "The pods may only be scheduled on nodes with these labels. Any constraint that ensures this is enough.",
        "Require the label in the nodeSelector, or in every term of the required node affinity.",
        reports_missing=True,
        fix="unsafe",
        missing=("nodeSelector", "affinity"),
    ),
    PolicyCheck(
        "required-spread",
        "spread",
        "The pods of a workload must not all be in one topology domain. Any constraint that ensures this is enough.",
        "Add a spread constraint or a podAntiAffinity over the topology key that selects the workload's own pods.",
        reports_missing=True,
        fix="unsafe",
        missing=("topologySpreadConstraints", "affinity"),
    ),
    PolicyCheck(
        "forbidden-node-labels",
        "nodes",
        "The pods must not select nodes by these labels.",
        "Select the nodes by another label, or remove the constraint.",
    ),
    PolicyCheck(
        "allowed-topology-keys",
        "pods",
        "Spread constraints and pod affinity terms may only use these topology keys.",
        "Use one of the allowed topology keys.",
    ),
    PolicyCheck(
        "required-template-labels",
        "pods",
        "The pods must have these labels.",
        "Add the label to the pod template.",
        reports_missing=True,
        fix="unsafe",
        missing=("labels",),
    ),
    PolicyCheck(
        "allowed-tolerations",
        "nodes",
        "The pods may only tolerate these taints.",
        "Remove the toleration, or restrict it to an allowed taint.",
    ),
    PolicyCheck("maximum-weight", "pods", "No preference may have a weight above this maximum.", "Lower the weight.", fix="unsafe"),
    PolicyCheck(
        "no-hard-anti-affinity",
        "pods",
        "Pod anti-affinity must be preferred, not required.",
        "Use `preferredDuringSchedulingIgnoredDuringExecution`, or a spread constraint.",
    ),
    PolicyCheck(
        "forbidden-tolerations",
        "nodes",
        "The pods must not tolerate these taints.",
        "Remove the toleration, or restrict it to other taints.",
    ),
    PolicyCheck(
        "required-tolerations",
        "nodes",
        "The pods must tolerate these taints. Any toleration that covers a taint is enough.",
        "Add the toleration.",
        reports_missing=True,
        fix="unsafe",
        missing=("tolerations",),
    ),
    PolicyCheck(
        "required-node-constraint",
        "node_requirements",
        "The pods must have a constraint that restricts the nodes on which they can be scheduled.",
        "Add a nodeSelector or a required node affinity.",
        reports_missing=True,
        missing=("nodeSelector", "affinity"),
        params_class="NoParameters",
    ),
    PolicyCheck(
        "required-priority-class",
        "workloads",
        "The pods must name a priority class. The default class of the cluster is not enough.",
        "Set `priorityClassName`.",
        reports_missing=True,
        fix="unsafe",
        missing=("priorityClassName",),
    ),
    PolicyCheck(
        "minimum-replicas",
        "workloads",
        "A workload must have at least this number of replicas. Workloads with 0 replicas are not checked.",
        "Raise the number of replicas, or the minimum of the autoscaler.",
        reports_missing=True,
        fix="unsafe",
        applies_to="scalable",
        missing=("replicas",),
    ),
    PolicyCheck(
        "required-budget",
        "workloads",
        "A PodDisruptionBudget among the manifests must cover the pods of each workload with several replicas.",
        "Add a PodDisruptionBudget that selects the pods, in the namespace of the workload.",
        reports_missing=True,
        applies_to="scalable",
        missing=("labels",),
    ),
    PolicyCheck(
        "required-autoscaler",
        "workloads",
        "A HorizontalPodAutoscaler or ScaledObject among the manifests must scale the workload. Workloads with 0 replicas are not checked.",
        "Add a HorizontalPodAutoscaler whose `scaleTargetRef` names the workload.",
        reports_missing=True,
        applies_to="scalable",
        params_class="NoParameters",
    ),
    PolicyCheck(
        "required-service",
        "workloads",
        "A Service among the manifests must select the pods of the workload. Workloads with 0 replicas are not checked.",
        "Add a Service that selects the pods, in the namespace of the workload, or set its labels on the pod template.",
        reports_missing=True,
        applies_to="scalable",
        missing=("labels",),
    ),
    PolicyCheck("no-pinning", "nodes", "The pods must not select nodes by name.", "Select a label that several nodes have."),
    PolicyCheck(
        "required-migratability",
        "workloads",
        "Virtual machines must allow live migration.",
        "Remove what prevents the live migration.",
        applies_to="machines",
    ),
    PolicyCheck(
        "survives",
        "outcomes",
        "A minimum number of replicas must run after a failure of nodes. `afflint place` with `--lose` simulates the same failure.",
        "Spread the pods over more topology domains, add replicas, or add nodes on which the replicas of failed nodes can be scheduled.",
        "outcome",
        applies_to="replicas",
        missing=("affinity", "topologySpreadConstraints", "tolerations"),
    ),
    PolicyCheck(
        "fits",
        "outcomes",
        "Every replica can be scheduled on the known nodes. `afflint place` runs the same simulation.",
        "Add a node that matches the pod, or relax the constraints that exclude the existing nodes.",
        "outcome",
        applies_to="replicas",
        missing=("nodeSelector", "affinity", "tolerations", "schedulerName"),
        params_class="NoParameters",
    ),
    PolicyCheck(
        "migratable",
        "outcomes",
        "Virtual machines must allow live migration, and another node must be available for them.",
        "Remove what prevents the live migration, or add another node on which the virtual machine can be scheduled.",
        "outcome",
        applies_to="machines",
        missing=("tolerations",),
        params_class="NoParameters",
    ),
    PolicyCheck(
        "expression",
        "expressions",
        "A CEL expression must be true for the object.",
        "Change the object so that the expression of the policy is true.",
        reports_missing=True,
        object=True,
        missing=("the field that the finding concerns",),
        params_class="Validation",
    ),
    PolicyCheck(
        "validating-admission-policy",
        "cluster_policies:admitted",
        "A policy of the cluster must admit the object.",
        "Change the object so that the policy admits it.",
        subject="admission",
        missing=("the field that the finding concerns",),
        params_class="AdmissionManifests",
    ),
)
CHECKS: dict[str, PolicyCheck] = {each.name: each for each in _CHECKS}
