"""Labels of nodes: who sets them, which are deprecated, which never existed, and which are not useful as a topology key.

The source is the documentation of the well-known labels of Kubernetes, the clouds, KubeVirt and Cluster API.
"""

from __future__ import annotations

from functools import lru_cache

from afflint.kube.label_syntax import is_key

HOSTNAME, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
PHYSICAL_HOST = "node.cluster.x-k8s.io/esxi-host"
OS, ARCH, INSTANCE_TYPE = "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type"
ROLES = "node-role.kubernetes.io/"
CONTROL_PLANE, MASTER, ETCD, WORKER = f"{ROLES}control-plane", f"{ROLES}master", f"{ROLES}etcd", f"{ROLES}worker"
_DOMAIN_WORDS = {HOSTNAME: "node", PHYSICAL_HOST: "physical host", ZONE: "zone", REGION: "region"}

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
"""The labels of volumes that the scheduler compares with those of nodes, in its order."""
DEPRECATED = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    MASTER: CONTROL_PLANE,
}
"""Deprecated labels with the labels that replaced them, which have the same values."""

SET_BY_EVERY_KUBELET = ("beta.kubernetes.io/os", "beta.kubernetes.io/arch")
"""Deprecated labels that the kubelet of every version sets on its node (`kubelet_node_status.go`, `initialNode`)."""

REPLACED = {"karpenter.sh/provisioner-name": "karpenter.sh/nodepool"}
"""Labels that no component sets any more, with the labels that replaced them, which have other values."""

_SINCE = {
    "failure-domain.beta.kubernetes.io/zone": "Kubernetes 1.17",
    "failure-domain.beta.kubernetes.io/region": "Kubernetes 1.17",
    "beta.kubernetes.io/os": "Kubernetes 1.14",
    "beta.kubernetes.io/arch": "Kubernetes 1.14",
    "beta.kubernetes.io/instance-type": "Kubernetes 1.17",
    MASTER: "Kubernetes 1.20",
    "karpenter.sh/provisioner-name": "Karpenter 0.32",
}

_NEVER_SET = {
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/host": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/node": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "beta.kubernetes.io/hostname": HOSTNAME,
    "failure-domain.beta.kubernetes.io/hostname": HOSTNAME,
    "failure-domain.kubernetes.io/hostname": HOSTNAME,
    "failure-domain.kubernetes.io/zone": ZONE,
    "failure-domain.kubernetes.io/region": REGION,
    "kubernetes.io/zone": ZONE,
    "kubernetes.io/region": REGION,
    "node.kubernetes.io/zone": ZONE,
    "node.kubernetes.io/region": REGION,
    "topology.beta.kubernetes.io/zone": ZONE,
    "topology.beta.kubernetes.io/region": REGION,
    "kubernetes.io/instance-type": INSTANCE_TYPE,
    "node.kubernetes.io/os": OS,
    "node.kubernetes.io/arch": ARCH,
}
# A key that is nearly one of these is a typo of it. Only keys with a reserved prefix count: users may choose the others.
_WELL_KNOWN = (
    HOSTNAME, ZONE, REGION, OS, ARCH, INSTANCE_TYPE, *DEPRECATED, CONTROL_PLANE,
    "karpenter.sh/nodepool", "karpenter.sh/capacity-type",
    "topology.k8s.aws/zone-id", "eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool",
    "kubevirt.io/schedulable", PHYSICAL_HOST, "topology.gke.io/zone", "topology.ebs.csi.aws.com/zone",
    "topology.disk.csi.azure.com/zone",
)  # fmt: skip
# It looks like a typo, but RKE1 sets it.
_REAL = frozenset((f"{ROLES}controlplane",))

# Prefixes of labels that kubelets, virt-handler and node feature discovery set on the nodes of any cluster.
_SET_ON_ANY_NODE = (OS, ARCH, "beta.kubernetes.io/", "kubevirt.io/", "feature.node.kubernetes.io/", "metadata.name")
# Prefixes of labels that kubelets, clouds, operators, device plugins and drivers set.
_SET_ON_SOME_NODES = (
    "kubernetes.io/", "topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/",
    "node.openshift.io/", "machine.openshift.io/", "cluster.ocs.openshift.io/", "hypershift.openshift.io/", "k8s.ovn.org/",
    "karpenter.k8s.aws/", "karpenter.azure.com/", "eks.amazonaws.com/", "topology.k8s.aws/", "vpc.amazonaws.com/",
    "cloud.google.com/", "networking.gke.io/", "iam.gke.io/", "addon.gke.io/", "topology.gke.io/", "kubernetes.azure.com/",
    "nvidia.com/", "amd.com/", "gpu.intel.com/", "intel.feature.node.kubernetes.io/", "habana.ai/", "aws.amazon.com/",
    "k8s.amazonaws.com/", "network.nvidia.com/", "mellanox.com/", "run.ai/", "kata-containers.io/", "katacontainers.io/",
    "topology.rook.io/", "topology.topolvm.io/", "node.longhorn.io/", "cilium.io/", "node.cilium.io/", "projectcalico.org/", "csi.",
    "node.cluster.x-k8s.io/", "node-restriction.kubernetes.io/", "harvesterhci.io/", "network.harvesterhci.io/", "k3s.io/",
    "rke.cattle.io/",
    "plan.upgrade.cattle.io/", "extensions.talos.dev/", "networking.gardener.cloud/", "worker.gardener.cloud/", "run.tanzu.vmware.com/",
)  # fmt: skip
_ALSO_SET = frozenset((INSTANCE_TYPE, "node.kubernetes.io/windows-build", "node.kubernetes.io/role", "agentpool", "storageprofile"))
_DOMAINS_OF_KUBERNETES = ("kubernetes.io", "k8s.io", "kubevirt.io")
_DOMAINS_OF_CLOUDS = ("amazonaws.com", "azure.com", "cloud.google.com")

_CONSTANT = frozenset(
    (
        OS, "beta.kubernetes.io/os", "node.kubernetes.io/windows-build", "node.kubernetes.io/exclude-disruption",
        "node.kubernetes.io/exclude-from-external-load-balancers", "node.openshift.io/os_id", "cluster.ocs.openshift.io/openshift-storage",
        "kubernetes.azure.com/cluster",
    )
)  # fmt: skip
_CAPABILITIES = (
    ROLES, "cpu-model.node.kubevirt.io/", "cpu-model-migration.node.kubevirt.io/", "cpu-feature.node.kubevirt.io/",
    "cpu-vendor.node.kubevirt.io/", "cpu-timer.node.kubevirt.io/", "host-model-cpu.node.kubevirt.io/", "hyperv.node.kubevirt.io/",
    "host-model-required-features.node.kubevirt.io/", "machine-type.node.kubevirt.io/", "scheduling.node.kubevirt.io/",
    "node-labeller.kubevirt.io/", "kubevirt.io/schedulable", "kubevirt.io/cpumanager",
    "kubevirt.io/realtime", "kubevirt.io/sev", "kubevirt.io/tdx", "kubevirt.io/ksm-enabled", "kubevirt.io/vm-arch-",
)  # fmt: skip
_ONLY_ON_PODS = (
    "app.kubernetes.io/", "helm.sh/", "batch.kubernetes.io/", "statefulset.kubernetes.io/", "apps.kubernetes.io/", "vm.kubevirt.io/",
    "vmi.kubevirt.io/", "kubevirt.io/domain", "kubevirt.io/vm", "kubevirt.io/created-by", "pod-template-hash", "controller-revision-hash",
)  # fmt: skip
LABEL_OF_PODS = "it is a label of pods, and topology keys are labels of nodes"
_USUAL_ON_PODS = frozenset(
    (
        "app", "k8s-app", "component", "tier", "role", "name", "instance", "release", "service", "application", "run", "job", "job-name",
        "deployment", "statefulset", "pod", "pod-name",
    )
)  # fmt: skip

_WIDTH = {HOSTNAME: 0, PHYSICAL_HOST: 1, ZONE: 2, REGION: 3}


def domain_word(key: str) -> str | None:
    """Return the word for the domains of a well-known topology key, or None: ``zone``, ``node``, ``region``. Deprecated keys count."""
    return _DOMAIN_WORDS.get(DEPRECATED.get(key, key))


def domain_noun(key: str) -> str:
    """Return a word for the domains of any topology key: ``zone``, or ``rack`` for ``example.com/rack``."""
    return domain_word(key) or name_of_key(key) or "domain"


def name_of_key(key: str) -> str:
    """Return a key without its prefix: ``hostname`` for ``kubernetes.io/hostname``."""
    return key.rpartition("/")[2] or key


def deprecated(key: str) -> tuple[str, str] | None:
    """Return the replacement of a deprecated label and the version that deprecated it, or None if the label is not deprecated."""
    new = DEPRECATED.get(key) or REPLACED.get(key)
    return None if new is None else (new, _SINCE[key])


@lru_cache(maxsize=4096)
def suggested_label(key: str) -> str | None:
    """Return the label that a label which no component sets probably means; None for labels that a component or user may set."""
    if key in _NEVER_SET:
        return _NEVER_SET[key]
    if "/" not in key or key in _WELL_KNOWN or key in _REAL or key in REPLACED or not is_key(key):
        return None
    from afflint.findings.similarity import is_likely_typo

    for known in _WELL_KNOWN:
        if key[0] == known[0] and abs(len(key) - len(known)) <= 3 and is_likely_typo(key, known):
            return DEPRECATED.get(known, known)
    return None


def is_set_on_any_node(key: str) -> bool:
    """Return whether components set the label on the nodes of any cluster; lists of nodes written by hand rarely have such labels."""
    return key.startswith(_SET_ON_ANY_NODE)


def is_set_by_components(key: str) -> bool:
    """Return whether a kubelet, a cloud, an operator, a device plugin or a driver may set the label. Roles are also set by users."""
    if key.startswith((*_SET_ON_ANY_NODE, *_SET_ON_SOME_NODES)) or key in _ALSO_SET:
        return True
    return key.rpartition("/")[0].endswith(("kubevirt.io", ".node.kubernetes.io", ".csi"))


def is_well_known(key: str) -> bool:
    """Return whether a label has a meaning in Kubernetes or KubeVirt."""
    return key.rpartition("/")[0].endswith(_DOMAINS_OF_KUBERNETES)


def is_machine_made(key: str) -> bool:
    """Return whether Kubernetes, KubeVirt or a cloud provider sets labels with this prefix, rather than the cluster administrator."""
    return is_well_known(key) or key.rpartition("/")[0].endswith(_DOMAINS_OF_CLOUDS)


def is_usual_on_pods(key: str) -> bool:
    """Return whether the label is common on pods and rare on nodes."""
    return key in _USUAL_ON_PODS


def unlikely_domain(key: str) -> str | None:
    """Return why nodes with the same value of this label are not a failure domain, or None if they may be one."""
    if key in _CONSTANT:
        return "it has the same value on every node"
    if key == "metadata.name":
        return "it is a field of nodes, not a label"
    if key.startswith(_CAPABILITIES):
        return "it describes what a node can do or is used for, not where it is"
    return LABEL_OF_PODS if key.startswith(_ONLY_ON_PODS) else None


def at_least_as_wide(key: str, other: str) -> bool:
    """Return whether the domain of ``key`` contains the whole domain of ``other`` for each node: a zone contains its hosts."""
    return key == other or (key in _WIDTH and other in _WIDTH and _WIDTH[key] >= _WIDTH[other])
