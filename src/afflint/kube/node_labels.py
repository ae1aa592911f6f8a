"""Labels that nodes carry: which are deprecated, which nobody ever set, and which make no sense as a topology key.

After the well-known labels of Kubernetes, the clouds, KubeVirt and Cluster API; who sets each is in their documentation.
"""

from __future__ import annotations

HOSTNAME, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
CONTROL_PLANE, MASTER = "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"

DEPRECATED = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    MASTER: CONTROL_PLANE,
}
"""Deprecated labels with what took their place."""

DEPRECATED_SINCE = {
    "failure-domain.beta.kubernetes.io/zone": "1.17",
    "failure-domain.beta.kubernetes.io/region": "1.17",
    "beta.kubernetes.io/os": "1.14",
    "beta.kubernetes.io/arch": "1.14",
    "beta.kubernetes.io/instance-type": "1.17",
    MASTER: "1.20",
}

_NEVER_SET = {
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/host": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/node": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "failure-domain.kubernetes.io/zone": ZONE,
    "failure-domain.kubernetes.io/region": REGION,
    "failure-domain.beta.kubernetes.io/hostname": HOSTNAME,
    "kubernetes.io/zone": ZONE,
    "kubernetes.io/region": REGION,
    "node.kubernetes.io/zone": ZONE,
    "node.kubernetes.io/region": REGION,
    "topology.kubernetes.io/zones": ZONE,
    "topology.beta.kubernetes.io/zone": ZONE,
    "kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
# What the reserved domains hold: any other key in them is nobody's, and a near one a slip of the pen.
_RESERVED = {
    "kubernetes.io": ("hostname", "os", "arch", "role", "cluster-service"),
    "topology.kubernetes.io": ("zone", "region"),
    "failure-domain.beta.kubernetes.io": ("zone", "region"),
    "beta.kubernetes.io": ("os", "arch", "instance-type"),
    "node-role.kubernetes.io": (
        "control-plane", "master", "worker", "infra", "controlplane", "etcd", "edge", "node", "compute", "storage", "ingress", "gpu",
    ),
}  # fmt: skip

_CONSTANT = frozenset(
    (
        "kubernetes.io/os", "beta.kubernetes.io/os", "node.kubernetes.io/windows-build", "node.kubernetes.io/exclude-disruption",
        "node.kubernetes.io/exclude-from-external-load-balancers", "node.openshift.io/os_id", "kubevirt.io/schedulable", "metadata.name",
        "cluster.ocs.openshift.io/openshift-storage",
    )
)  # fmt: skip
_CAPABILITIES = (
    "node-role.kubernetes.io/", "cpu-model.node.kubevirt.io/", "cpu-model-migration.node.kubevirt.io/", "cpu-feature.node.kubevirt.io/",
    "cpu-vendor.node.kubevirt.io/", "cpu-timer.node.kubevirt.io/", "host-model-cpu.node.kubevirt.io/", "hyperv.node.kubevirt.io/",
    "host-model-required-features.node.kubevirt.io/", "machine-type.node.kubevirt.io/", "scheduling.node.kubevirt.io/",
    "feature.node.kubernetes.io/",
)  # fmt: skip
_POD_LABELS = frozenset(
    (
        "app",
        "k8s-app",
        "component",
        "tier",
        "role",
        "name",
        "instance",
        "release",
        "pod-template-hash",
        "kubevirt.io/domain",
        "kubevirt.io/vm",
    )
)
_POD_PREFIXES = (
    "app.kubernetes.io/",
    "helm.sh/",
    "batch.kubernetes.io/",
    "statefulset.kubernetes.io/",
    "vm.kubevirt.io/",
    "vmi.kubevirt.io/",
)

_WIDTH = {HOSTNAME: 0, "node.cluster.x-k8s.io/esxi-host": 1, ZONE: 2, REGION: 3}


def meant(key: str) -> str | None:
    """The label that was meant by one that nobody sets; None for labels that somebody sets, or may."""
    if key in _NEVER_SET:
        return _NEVER_SET[key]
    prefix, slash, name = key.rpartition("/")
    if not slash:
        return None
    known = _RESERVED.get(prefix)
    if known is not None and name not in known:
        return _near(name, prefix, known)
    if known is None and prefix.endswith("kubernetes.io"):
        import difflib

        close = difflib.get_close_matches(prefix, ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io"), n=1, cutoff=0.85)
        if close and name in _RESERVED[close[0]]:
            return DEPRECATED.get(f"{close[0]}/{name}", f"{close[0]}/{name}")
    return None


def _near(name: str, prefix: str, known: tuple[str, ...]) -> str | None:
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    if not close or close[0] == name:
        return None
    key = f"{prefix}/{close[0]}"
    return DEPRECATED.get(key, key)


def unlikely_domain(key: str) -> str | None:
    """Why nodes that share a value of this label are no failure domain; None where they may be one."""
    if key in _CONSTANT:
        return "it has the same value on every node"
    if key.startswith(_CAPABILITIES):
        return "it says what a node can do, not where it is"
    if key in _POD_LABELS or key.startswith(_POD_PREFIXES):
        return "it is a label of pods, and topology keys are labels of nodes"
    return None


def at_least_as_wide(key: str, other: str) -> bool:
    """Whether a domain of ``key`` holds the whole domain of ``other`` of each of its nodes: a zone holds its hosts."""
    return key == other or (key in _WIDTH and other in _WIDTH and _WIDTH[key] >= _WIDTH[other])
