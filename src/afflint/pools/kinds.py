"""Which documents declare nodes, by kind and API group, because kinds such as Cluster and NodePool exist in many groups."""

from __future__ import annotations

from afflint.kube.kinds import HOLDER_NAMES
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import kind_of

_GROUPS: dict[str, tuple[str, str]] = {
    "karpenter.sh": ("karpenter", "NodePool Provisioner"),
    "machine.openshift.io": ("openshift", "MachineSet Machine"),
    "autoscaling.openshift.io": ("openshift", "MachineAutoscaler"),
    "hive.openshift.io": ("openshift", "MachinePool"),
    "hypershift.openshift.io": ("openshift", "NodePool"),
    "cluster.x-k8s.io": ("cluster_api", "MachineDeployment MachineSet MachinePool Cluster ClusterClass"),
    "bootstrap.cluster.x-k8s.io": ("cluster_api", "KubeadmConfigTemplate"),
    "controlplane.cluster.x-k8s.io": ("cluster_api", "KubeadmControlPlane"),
    "infrastructure.cluster.x-k8s.io": (
        "cluster_api",
        "AzureManagedMachinePool GCPManagedMachinePool AWSManagedMachinePool ROSAMachinePool",
    ),
    "run.tanzu.vmware.com": ("tanzu", "TanzuKubernetesCluster"),
    "eksctl.io": ("installers", "ClusterConfig"),
    "kops.k8s.io": ("installers", "InstanceGroup Cluster"),
    "kubeadm.k8s.io": ("kubeadm", "InitConfiguration JoinConfiguration"),
    "kind.x-k8s.io": ("installers", "Cluster"),
    "k3d.io": ("installers", "Simple"),
    "k0sctl.k0sproject.io": ("installers", "Cluster cluster"),
    "core.gardener.cloud": ("gardener", "Shoot"),
    "nfd.k8s-sigs.io": ("node_features", "NodeFeatureRule NodeFeature"),
    "nfd.openshift.io": ("node_features", "NodeFeatureRule NodeFeature"),
    "provisioning.cattle.io": ("rancher", "Cluster"),
    "container.cnrm.cloud.google.com": ("clouds", "ContainerNodePool"),
    "eks.services.k8s.aws": ("clouds", "Nodegroup"),
    "containerservice.azure.com": ("clouds", "ManagedClustersAgentPool ManagedCluster"),
    "eks.aws.upbound.io": ("clouds", "NodeGroup Composition"),
    "eks.aws.m.upbound.io": ("clouds", "NodeGroup Composition"),
    "containerservice.azure.upbound.io": ("clouds", "KubernetesClusterNodePool Composition"),
    "containerservice.azure.m.upbound.io": ("clouds", "KubernetesClusterNodePool Composition"),
    "container.gcp.upbound.io": ("clouds", "NodePool Composition"),
    "container.gcp.m.upbound.io": ("clouds", "NodePool Composition"),
    "terraform": (
        "clouds",
        "google_container_node_pool aws_eks_node_group azurerm_kubernetes_cluster_node_pool azurerm_kubernetes_cluster",
    ),
}
"""The module of this package that reads the kinds of an API group, and these kinds: its ``READERS`` are functions by group and kind.

A Composition contains objects of these groups.
"""

FAMILIES: dict[str, str] = {group: module for group, (module, _) in _GROUPS.items()}
"""The modules by API group."""


def _marks() -> dict[bytes, tuple[bytes, ...]]:
    marks: dict[bytes, tuple[bytes, ...]] = {
        b"KubeNodeConfig": (b"v1alpha1",),
        b"": (b"node-label", b"node-taint", b"nodeLabels", b"nodeTaints", b"allowSchedulingOn", b"installDisk", b"talosVersion"),
    }
    for group, (_, kinds) in _GROUPS.items():
        mark = b"resource" if group == "terraform" else f"{group}/".encode()
        for kind in kinds.encode().split():
            marks[kind] = (*marks.get(kind, ()), mark)
    return marks


MARKS = _marks()
"""Parts of API groups, by kind: a document of the kind that declares nodes contains one of them. Other groups have the kinds, too.

The empty kind is for files without a kind: settings of RKE2 and k3s, of Talos, and of talhelper.
"""

_ANY = frozenset(mark for kind, marks in MARKS.items() for mark in marks if kind != b"KubeNodeConfig")


def may_declare(data: object, raw_bytes: bytes) -> bool:
    """Return whether a document with this data may declare nodes or contain an object that does."""
    kind = kind_of(data)
    if not kind and "kind" in map_at(data):
        return False
    marks = MARKS.get(kind.encode("utf-8", "replace"))
    if marks is None and (kind in HOLDER_NAMES or kind.endswith("List")):
        return any(mark in raw_bytes for mark in _ANY)
    return marks is not None and any(mark in raw_bytes for mark in marks)


def lists_machines(data: object) -> bool:
    """Return whether a document is a ``talconfig.yaml`` of talhelper, whose ``nodes`` have a ``hostname`` or an ``ipAddress``."""
    nodes = data.get("nodes") if type(data) is dict and "kind" not in data else None
    if type(nodes) is not list or not nodes or type(nodes[0]) is not dict:
        return False
    return "name" not in nodes[0] and not {"hostname", "ipAddress"}.isdisjoint(nodes[0])
