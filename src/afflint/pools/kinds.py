"""Which documents declare nodes, by kind and API group, because kinds such as Cluster and NodePool exist in many groups."""

from __future__ import annotations

from afflint.kube.kinds import HOLDER_NAMES
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import kind_of

MARKS: dict[bytes, tuple[bytes, ...]] = {
    b"NodePool": (b"karpenter.sh/", b"hypershift.openshift.io/", b"container.gcp."),
    b"Provisioner": (b"karpenter.sh/",),
    b"MachineSet": (b"machine.openshift.io/", b"cluster.x-k8s.io/"),
    b"Machine": (b"machine.openshift.io/",),
    b"MachineAutoscaler": (b"autoscaling.openshift.io/",),
    b"MachineDeployment": (b"cluster.x-k8s.io/",),
    b"MachinePool": (b"cluster.x-k8s.io/", b"hive.openshift.io/"),
    b"KubeadmConfigTemplate": (b"bootstrap.cluster.x-k8s.io/",),
    b"KubeadmControlPlane": (b"controlplane.cluster.x-k8s.io/",),
    b"ClusterClass": (b"cluster.x-k8s.io/",),
    b"AzureManagedMachinePool": (b"cluster.x-k8s.io/",),
    b"GCPManagedMachinePool": (b"cluster.x-k8s.io/",),
    b"AWSManagedMachinePool": (b"cluster.x-k8s.io/",),
    b"ROSAMachinePool": (b"cluster.x-k8s.io/",),
    b"Cluster": (b"cluster.x-k8s.io/", b"provisioning.cattle.io/", b"kops.k8s.io/", b"kind.x-k8s.io/", b"k0sctl.k0sproject.io/"),
    b"cluster": (b"k0sctl.k0sproject.io/",),
    b"TanzuKubernetesCluster": (b"run.tanzu.vmware.com/",),
    b"ClusterConfig": (b"eksctl.io/",),
    b"InstanceGroup": (b"kops.k8s.io/",),
    b"Shoot": (b"core.gardener.cloud/",),
    b"Simple": (b"k3d.io/",),
    b"InitConfiguration": (b"kubeadm.k8s.io/",),
    b"JoinConfiguration": (b"kubeadm.k8s.io/",),
    b"KubeNodeConfig": (b"v1alpha1",),
    b"NodeFeatureRule": (b"nfd.k8s-sigs.io/", b"nfd.openshift.io/"),
    b"NodeFeature": (b"nfd.k8s-sigs.io/", b"nfd.openshift.io/"),
    b"ContainerNodePool": (b"container.cnrm.cloud.google.com/",),
    b"Nodegroup": (b"eks.services.k8s.aws/",),
    b"NodeGroup": (b"eks.aws.",),
    b"ManagedClustersAgentPool": (b"containerservice.azure.com/",),
    b"ManagedCluster": (b"containerservice.azure.com/",),
    b"KubernetesClusterNodePool": (b"containerservice.azure.",),
    b"Composition": (b"eks.aws.", b"containerservice.azure.", b"container.gcp."),
    b"google_container_node_pool": (b"resource",),
    b"aws_eks_node_group": (b"resource",),
    b"azurerm_kubernetes_cluster_node_pool": (b"resource",),
    b"azurerm_kubernetes_cluster": (b"resource",),
    b"": (b"node-label", b"node-taint", b"nodeLabels", b"nodeTaints", b"allowSchedulingOn", b"installDisk", b"talosVersion"),
}
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


FAMILIES: dict[str, str] = {
    "karpenter.sh": "karpenter",
    "machine.openshift.io": "openshift",
    "autoscaling.openshift.io": "openshift",
    "hive.openshift.io": "openshift",
    "hypershift.openshift.io": "openshift",
    "cluster.x-k8s.io": "cluster_api",
    "bootstrap.cluster.x-k8s.io": "cluster_api",
    "controlplane.cluster.x-k8s.io": "cluster_api",
    "infrastructure.cluster.x-k8s.io": "cluster_api",
    "run.tanzu.vmware.com": "tanzu",
    "eksctl.io": "installers",
    "kops.k8s.io": "installers",
    "kubeadm.k8s.io": "kubeadm",
    "kind.x-k8s.io": "installers",
    "k3d.io": "installers",
    "k0sctl.k0sproject.io": "installers",
    "core.gardener.cloud": "gardener",
    "nfd.k8s-sigs.io": "node_features",
    "nfd.openshift.io": "node_features",
    "provisioning.cattle.io": "rancher",
    "container.cnrm.cloud.google.com": "clouds",
    "eks.services.k8s.aws": "clouds",
    "containerservice.azure.com": "clouds",
    "eks.aws.upbound.io": "clouds",
    "eks.aws.m.upbound.io": "clouds",
    "containerservice.azure.upbound.io": "clouds",
    "containerservice.azure.m.upbound.io": "clouds",
    "container.gcp.upbound.io": "clouds",
    "terraform": "clouds",
    "container.gcp.m.upbound.io": "clouds",
}
"""The module of this package that reads the kinds of an API group: its ``READERS`` are functions by group and kind."""
