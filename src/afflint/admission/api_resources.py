"""The API resources of kinds, and the kinds that are cluster-scoped."""

from __future__ import annotations

_VOWELS = frozenset("aeiou")

CLUSTER_SCOPED = frozenset(
    (
        "Namespace", "Node", "PersistentVolume", "ComponentStatus",
        "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "APIService", "PriorityClass", "RuntimeClass",
        "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass", "IngressClass", "IPAddress", "ServiceCIDR",
        "DeviceClass", "ResourceSlice", "PriorityLevelConfiguration", "FlowSchema", "CertificateSigningRequest", "ClusterTrustBundle",
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference",
        "NodePool", "EC2NodeClass", "NodeClaim", "ClusterIssuer", "ClusterPolicy",
    )
)  # fmt: skip
"""Known cluster-scoped kinds."""

EXEMPT = frozenset(
    (
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
    )
)  # fmt: skip
"""Kinds of admissionregistration.k8s.io that the API server exempts from admission policies, so that mistakes can be repaired."""


def resource_of(kind: str) -> str:
    """Return the resource of a kind, such as ``deployments``, as apimachinery guesses it (``UnsafeGuessKindToResource``)."""
    lower = kind.lower()
    if lower == "endpoints":
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return f"{lower}es"
    if lower.endswith("y") and lower[-2:-1] not in _VOWELS:
        return f"{lower[:-1]}ies"
    return f"{lower}s"


_EQUIVALENT = {"horizontalpodautoscalers": (("autoscaling", "v1"), ("autoscaling", "v2")), "events": (("", "v1"), ("events.k8s.io", "v1"))}
"""The built-in resources that the API server serves in several groups or versions."""

_OWN_GROUPS = frozenset(
    ("", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "authentication.k8s.io",
     "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
     "extensions", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io",
     "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io")
)  # fmt: skip
"""The API groups of Kubernetes itself."""


def equivalents(group: str, version: str, resource: str) -> tuple[tuple[str, str], ...]:
    """Return the groups and versions that serve an object; "" means any version, as those of custom resources are unknown."""
    served = _EQUIVALENT.get(resource, ())
    if (group, version) in served:
        return served
    return ((group, version),) if group in _OWN_GROUPS else ((group, version), (group, ""))
