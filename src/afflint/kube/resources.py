"""How the API server calls what manifests call kinds, and which of them lie in no namespace."""

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
"""Kinds whose objects lie in no namespace, as far as they are known."""

EXEMPT = frozenset(
    (
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
    )
)  # fmt: skip
"""Kinds of admissionregistration.k8s.io that no admission policy judges, so that nobody locks himself out."""


def resource_of(kind: str) -> str:
    """The resource of a kind, such as ``deployments``: as apimachinery guesses it, and as code generators spell it."""
    lower = kind.lower()
    if lower == "endpoints":
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return f"{lower}es"
    if lower.endswith("y") and lower[-2:-1] not in _VOWELS:
        return f"{lower[:-1]}ies"
    return f"{lower}s"


_ALIASES = {
    "deployments": ("apps", "extensions"),
    "daemonsets": ("apps", "extensions"),
    "replicasets": ("apps", "extensions"),
    "ingresses": ("networking.k8s.io", "extensions"),
    "networkpolicies": ("networking.k8s.io", "extensions"),
    "events": ("", "events.k8s.io"),
}


def same_resource(resource: str, one: str, two: str) -> bool:
    """Whether a resource of one group is the same as that of another, under another name."""
    groups = _ALIASES.get(resource, ())
    return one == two or (one in groups and two in groups)
