"""Nodes as real clusters label them: what kubelets, clouds, installers and virt-handler put on the nodes of each kind of cluster.

Each cluster has three workers in as many zones where its nodes have zones, and a control plane where its nodes are listed.
"""

import json

from cluster_objects import HOST, ZONE, Object, taint

REGION = "topology.kubernetes.io/region"
_ALLOCATABLE = {"cpu": "7910m", "memory": "31482344Ki", "ephemeral-storage": "95491281146", "hugepages-2Mi": "0", "pods": "110"}


def _node(name: str, labels: dict[str, str], *taints: str, **allocatable: str) -> Object:
    """A Node with the labels that every kubelet sets, beside those given."""
    every = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        HOST: name,
        "kubernetes.io/os": "linux",
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**every, **labels},
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"podCIDR": "10.244.0.0/24", **({"taints": [taint(each) for each in taints]} if taints else {})},
        "status": {"allocatable": {**_ALLOCATABLE, **allocatable}, "conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.34.2"}},
    }


def _placed(region: str, zone: str, instance: str) -> dict[str, str]:
    """What a cloud says of a node, under the keys of today and those before."""
    return {
        "beta.kubernetes.io/instance-type": instance,
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "node.kubernetes.io/instance-type": instance,
        REGION: region,
        ZONE: zone,
    }


def _virtual(model: str, vendor: str) -> dict[str, str]:
    """What virt-handler labels a node with that runs virtual machines."""
    names = [
        *(
            f"cpu-feature.node.kubevirt.io/{each}"
            for each in ("aes", "avx2", "pcid", "ssbd", "sse4.2", "svm" if vendor == "AMD" else "vmx")
        ),
        *(f"cpu-model.node.kubevirt.io/{each}" for each in ("Penryn", "SandyBridge", model)),
        *(f"cpu-model-migration.node.kubevirt.io/{each}" for each in ("Penryn", "SandyBridge", model)),
        "cpu-timer.node.kubevirt.io/tsc-scalable",
        f"cpu-vendor.node.kubevirt.io/{vendor}",
        f"host-model-cpu.node.kubevirt.io/{model}",
        "host-model-required-features.node.kubevirt.io/ssbd",
        *(f"hyperv.node.kubevirt.io/{each}" for each in ("base", "frequencies", "vpindex")),
        "kubevirt.io/ksm-enabled",
        "kubevirt.io/schedulable",
        "machine-type.node.kubevirt.io/q35",
        "scheduling.node.kubevirt.io/tsc-frequency-2095076000",
    ]
    frequency = {"cpu-timer.node.kubevirt.io/tsc-frequency": "2095076000"}
    return {**dict.fromkeys(names, "true"), **frequency, "cpumanager": "false", "kubevirt.io/cpumanager": "false"}


_DEVICES = {"devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k", "devices.kubevirt.io/vhost-net": "1k"}


def kubeadm_with_kubevirt() -> list[Object]:
    """virt-handler on bare metal: one zone to each rack, CPUs of two makers."""
    plane = {"node-role.kubernetes.io/control-plane": "", "node.kubernetes.io/exclude-from-external-load-balancers": ""}
    cpus = (("Icelake-Server", "Intel"), ("EPYC-Rome", "AMD"), ("Icelake-Server", "Intel"))
    return [
        _node("cp-0", plane, "node-role.kubernetes.io/control-plane:NoSchedule"),
        *(_node(f"kvm-{index}", {ZONE: f"rack-{index}", **_virtual(*cpu)}, **_DEVICES) for index, cpu in enumerate(cpus)),
    ]


def openshift() -> list[Object]:
    """OpenShift on vSphere with OpenShift Virtualization: old and new names of roles, and no zones but those that admins set."""
    made = {"node.openshift.io/os_id": "rhel"}
    plane = {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/master": ""}
    worker = {
        "node-role.kubernetes.io/worker": "",
        "cluster.ocs.openshift.io/openshift-storage": "",
        **_virtual("Cascadelake-Server", "Intel"),
    }
    return [
        *(
            _node(f"ocp-cp{index}.lab.example.com", {**made, **plane}, "node-role.kubernetes.io/master:NoSchedule")
            for index in range(3)
        ),
        *(
            _node(f"ocp-w{index:02}.lab.example.com", {**made, **worker, ZONE: f"dc1-{zone}"}, **_DEVICES)
            for index, zone in enumerate("abc")
        ),
    ]  # fmt: skip


def eks() -> list[Object]:
    """A managed node group of EKS made by eksctl."""
    group = {
        "alpha.eksctl.io/cluster-name": "shop",
        "alpha.eksctl.io/nodegroup-name": "ng-1",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": "ng-1",
        "eks.amazonaws.com/nodegroup-image": "ami-0a1b2c3d4e5f60718",
        "eks.amazonaws.com/sourceLaunchTemplateVersion": "1",
        "k8s.io/cloud-provider-aws": "f94fbc8f07bd5b3b2b1f1d5b4c0b7a10",
    }
    return [
        _node(
            f"ip-192-168-{index}-17.eu-west-1.compute.internal",
            {
                **group,
                **_placed("eu-west-1", f"eu-west-1{zone}", "m6i.2xlarge"),
                "topology.ebs.csi.aws.com/zone": f"eu-west-1{zone}",
                "topology.k8s.aws/zone-id": f"euw1-az{index + 1}",
            },
        )
        for index, zone in enumerate("abc")
    ]


def gke() -> list[Object]:
    """A regional node pool of GKE."""
    pool = {
        "cloud.google.com/gke-boot-disk": "pd-balanced",
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": "8",
        "cloud.google.com/gke-logging-variant": "DEFAULT",
        "cloud.google.com/gke-max-pods-per-node": "110",
        "cloud.google.com/gke-nodepool": "default-pool",
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-provisioning": "standard",
        "cloud.google.com/machine-family": "e2",
    }
    return [
        _node(
            f"gke-shop-default-pool-{number}-{suffix}",
            {**pool, **_placed("europe-west4", f"europe-west4-{zone}", "e2-standard-8"), "topology.gke.io/zone": f"europe-west4-{zone}"},
        )
        for zone, number, suffix in (("a", "0b9f1a2c", "x1f0"), ("b", "5d3e4f60", "q8zt"), ("c", "c7a1b2d3", "m2kd"))
    ]


def aks() -> list[Object]:
    """AKS: a pool for system pods with its taint, and one for users."""

    def member(pool: str, mode: str, zone: int, *taints: str) -> Object:
        name = f"aks-{pool}-31415926-vmss{zone:06}"
        labels = {
            "agentpool": pool,
            "kubernetes.azure.com/agentpool": pool,
            "kubernetes.azure.com/cluster": "MC_shop_shop_westeurope",
            "kubernetes.azure.com/mode": mode,
            "kubernetes.azure.com/node-image-version": "AKSUbuntu-2204gen2containerd-202510.01.0",
            "kubernetes.azure.com/os-sku": "Ubuntu",
            "kubernetes.azure.com/role": "agent",
            "kubernetes.azure.com/storageprofile": "managed",
            "kubernetes.azure.com/storagetier": "Premium_LRS",
            "kubernetes.io/role": "agent",
            "node-role.kubernetes.io/agent": "",
            "storageprofile": "managed",
            "storagetier": "Premium_LRS",
            "topology.disk.csi.azure.com/zone": f"westeurope-{zone}",
        }
        return _node(name, {**_placed("westeurope", f"westeurope-{zone}", "Standard_D8s_v5"), **labels}, *taints)

    return [member("system", "system", 1, "CriticalAddonsOnly=true:NoSchedule"), *(member("users", "user", zone) for zone in (1, 2, 3))]


def talos() -> list[Object]:
    """Talos: no zones, machines with extensions, a control plane that has its taint."""
    plane = {"node-role.kubernetes.io/control-plane": "", "node.kubernetes.io/exclude-from-external-load-balancers": ""}
    extensions = {"extensions.talos.dev/qemu-guest-agent": "10.1.2", "extensions.talos.dev/schematic": "ce4c980550dd2ab1b17bbf2b08801c7e"}
    return [
        _node("talos-7pd-m3q", {**plane, **extensions}, "node-role.kubernetes.io/control-plane:NoSchedule"),
        *(_node(f"talos-{name}", extensions) for name in ("1kz-9ab", "dj4-t0x", "xw8-2fr")),
    ]


def k3s() -> list[Object]:
    """k3s: servers that take pods, and agents without a role."""
    every = {"beta.kubernetes.io/instance-type": "k3s", "node.kubernetes.io/instance-type": "k3s"}
    server = {
        "node-role.kubernetes.io/control-plane": "true",
        "node-role.kubernetes.io/master": "true",
        "p2p.k3s.cattle.io/enabled": "true",
    }
    return [_node("pi4-server", {**every, **server}), *(_node(f"pi4-agent-{index}", every) for index in range(3))]


DUMPS = {
    "kubeadm and KubeVirt": kubeadm_with_kubevirt,
    "OpenShift": openshift,
    "EKS": eks,
    "GKE": gke,
    "AKS": aks,
    "Talos": talos,
    "k3s": k3s,
}


def dumped(objects: list[Object]) -> str:
    """What `kubectl get -o json` prints of these objects."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects, "metadata": {"resourceVersion": ""}})
