"""The checks that policies may name. Explicit; what they need is imported when a policy names them."""

from __future__ import annotations

from typing import Literal

from afflint.findings.namedtuples import NamedTuple


class PolicyCheck(NamedTuple):
    """A check: ``module:class`` of its parameters, ``module:function`` of what makes it, and its subject.

    ``about`` says in one sentence what it demands, ``remedy`` what to do where the check does not say it for the very finding. ``lacks``:
    it judges what a manifest lacks, and is asked about whole ones only. ``object``: it looks at the whole object.
    ``judges``: what it can be about, whatever a policy matches: all pods, those that are not one for each node, or virtual machines only.
    Those with the subject ``admission`` no configuration names: manifests of policies come to them.
    """

    params: str
    function: str
    about: str
    remedy: str
    subject: Literal["policy", "outcome", "admission"] = "policy"
    lacks: bool = False
    fix: Literal["none", "unsafe"] = "none"
    object: bool = False
    judges: Literal["pods", "replicas", "machines"] = "pods"


CHECKS: dict[str, PolicyCheck] = {
    "required-node-labels": PolicyCheck(
        "afflint.policies.implied_params:RequiredNodeLabels",
        "afflint.checks.policies.node_requirements:required_node_labels",
        "The pods may only go to nodes with these labels, whatever says so.",
        "Ask for the label in the nodeSelector, or in every term of the required node affinity.",
        lacks=True,
        fix="unsafe",
    ),
    "required-spread": PolicyCheck(
        "afflint.policies.implied_params:RequiredSpread",
        "afflint.checks.policies.spread:required_spread",
        "The pods must not all be in one domain of a topology key, whatever sees to it.",
        "Add a spread constraint or a podAntiAffinity over the key that selects the own pods.",
        lacks=True,
        fix="unsafe",
    ),
    "forbidden-node-labels": PolicyCheck(
        "afflint.policies.manifest_params:ForbiddenNodeLabels",
        "afflint.checks.policies.nodes:forbidden_node_labels",
        "The pods must not choose nodes by these labels.",
        "Choose the nodes by another label, or leave the choice to the scheduler.",
    ),
    "allowed-topology-keys": PolicyCheck(
        "afflint.policies.manifest_params:AllowedTopologyKeys",
        "afflint.checks.policies.pods:allowed_topology_keys",
        "Spread constraints and terms about other pods may count over these topology keys only.",
        "Use one of the topology keys that are allowed.",
    ),
    "required-template-labels": PolicyCheck(
        "afflint.policies.manifest_params:RequiredTemplateLabels",
        "afflint.checks.policies.pods:required_template_labels",
        "The pods must have these labels.",
        "Add the label to the pod template.",
        lacks=True,
        fix="unsafe",
    ),
    "allowed-tolerations": PolicyCheck(
        "afflint.policies.manifest_params:AllowedTolerations",
        "afflint.checks.policies.nodes:allowed_tolerations",
        "The pods may tolerate these taints and no others.",
        "Take the toleration away, or narrow it to a taint that is allowed.",
    ),
    "maximum-weight": PolicyCheck(
        "afflint.policies.manifest_params:MaximumWeight",
        "afflint.checks.policies.pods:maximum_weight",
        "No preference may weigh more than this.",
        "Lower the weight.",
        fix="unsafe",
    ),
    "no-hard-anti-affinity": PolicyCheck(
        "afflint.policies.manifest_params:NoHardAntiAffinity",
        "afflint.checks.policies.pods:no_hard_anti_affinity",
        "Anti-affinity must be a preference.",
        "Prefer it with `preferredDuringSchedulingIgnoredDuringExecution`, or spread the pods by a constraint.",
    ),
    "no-pinning": PolicyCheck(
        "afflint.policies.manifest_params:NoPinning",
        "afflint.checks.policies.nodes:no_pinning",
        "The pods must not be tied to nodes by name.",
        "Ask for a label that several nodes have.",
    ),
    "required-migratability": PolicyCheck(
        "afflint.policies.manifest_params:RequiredMigratability",
        "afflint.checks.policies.virtual_machines:required_migratability",
        "Virtual machines must be able to move to another node while they run.",
        "Take away what ties the machine to its node.",
        judges="machines",
    ),
    "survives": PolicyCheck(
        "afflint.policies.outcome_params:Survives",
        "afflint.checks.policies.outcomes:survives",
        "So many replicas must run when nodes are lost; `afflint place` shows the same with `--lose`.",
        "Spread the pods over more domains, ask for more replicas, or provide nodes that take those of the ones that are lost.",
        "outcome",
        judges="replicas",
    ),
    "fits": PolicyCheck(
        "afflint.policies.outcome_params:Fits",
        "afflint.checks.policies.outcomes:fits",
        "Every replica must have a place on the nodes at hand; `afflint place` shows the same.",
        "Provide a node that takes the pod, or loosen what keeps it from those that there are.",
        "outcome",
        judges="replicas",
    ),
    "migratable": PolicyCheck(
        "afflint.policies.outcome_params:Migratable",
        "afflint.checks.policies.outcomes:migratable",
        "Virtual machines must be able to move, and have another node to move to.",
        "Take away what ties the machine to its node, or provide another node that takes it.",
        "outcome",
        judges="machines",
    ),
    "expression": PolicyCheck(
        "afflint.policies.expression_params:Validation",
        "afflint.checks.policies.expressions:expression",
        "An expression in CEL has to hold for the object.",
        "Change the object so that the expression of the policy holds.",
        lacks=True,
        object=True,
    ),
    "validating-admission-policy": PolicyCheck(
        "afflint.policies.admission_manifests:AdmissionManifests",
        "afflint.pipeline.cluster_policies:admitted",
        "The cluster's own policy has to let the object in.",
        "Change the object so that the policy lets it in.",
        subject="admission",
    ),
}
