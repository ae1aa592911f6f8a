"""Workloads for the tests of pods and plans: YAML in, what their controllers make of them out; and the scenario of three tiers."""

import dataclasses
from typing import Any

from afflint.controllers.pod_replacement import PodReplacement, pod_replacement_of_owner
from afflint.controllers.pod_source import PodSource, read_pod_source
from afflint.controllers.replicas import MAX_REPLICAS, fitting_nodes, pod_name, template_pod
from afflint.findings.finding import Site
from afflint.inventory.inventory import Inventory
from afflint.kube.kinds import KINDS
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.scheduler.cluster import Cluster
from afflint.yaml import documents
from cluster_objects import HOST, ZONE, Object, apart, node

VMI = {"domain": {"devices": {}}}


def makers_in(text: str) -> list[PodSource]:
    """The workloads of a YAML file."""
    found = []
    for index, (raw, line, _) in enumerate(documents.split(text.encode())):
        document = documents.read(raw, index, line)
        assert document.problem is None, document.problem
        for manifest in manifests_in(document):
            if isinstance(manifest, Workload):
                made = read_pod_source(manifest, Site(0, index, manifest.base), lines=True)
                if made is not None:
                    found.append(made)
    return found


_OWNERS = {"Pod": None, "VirtualMachine": "VirtualMachineInstance", "CronJob": "Job"}


def pod_source(name: str, kind: str = "Deployment", replicas: int = 1, *, labels: dict[str, str] | None = None, **more: Any) -> PodSource:
    """A workload whose pods carry ``app: NAME``; arguments that are not fields of a PodSource go into the pod spec."""
    groups = {"Pod": "", "ReplicationController": "", "Job": "batch", "CronJob": "batch"}
    group = "kubevirt.io" if kind.startswith("Virtual") else groups.get(kind, "apps")
    names = {each.name for each in dataclasses.fields(PodSource)}
    fields = {key: more.pop(key) for key in list(more) if key in names}
    labels = {"app": name} if labels is None else labels
    templates = next(each.templates for each in KINDS if (each.name, each.group) == (kind, group))
    given = {"namespace": "default", "selector": {"matchLabels": labels}, "pod": more, "added": templates[0].labels, **fields}
    given.setdefault(
        "pod_replacement",
        PodReplacement(scaled=False) if kind == "VirtualMachineInstanceReplicaSet" else pod_replacement_of_owner(_OWNERS.get(kind, kind)),
    )
    return PodSource(kind, group, name=name, replicas=replicas, labels=labels, **given)


def create_pods(pod_source: PodSource, cluster: Cluster) -> list[Object]:
    """The pods of a workload as plain data: all replicas, or one per eligible node for a DaemonSet."""
    if pod_source.daemon:
        nodes = fitting_nodes(cluster, cluster.read(template_pod(pod_source, cluster))) if pod_source.replicas else []
        return [template_pod(pod_source, cluster, pod_name(pod_source, each)) for each in nodes]
    return [
        template_pod(pod_source, cluster, pod_name(pod_source, index), index=index)
        for index in range(min(pod_source.replicas, MAX_REPLICAS))
    ]


def three_zones() -> list[Object]:
    """A control plane and six workers in three zones; the even ones are fast."""
    nodes = [node("control-plane", {HOST: "control-plane"}, taints=["node-role.kubernetes.io/control-plane:NoSchedule"])]
    for number in range(1, 7):
        labels = {HOST: f"worker-{number}", ZONE: "abc"[(number - 1) // 2]}
        if number % 2 == 0:
            labels["performance"] = "high"
        nodes.append(node(f"worker-{number}", labels))
    return nodes


THREE_TIERS = """
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: ledger}
spec:
  replicas: 3
  selector: {matchLabels: {tier: database}}
  template:
    metadata: {labels: {tier: database}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: performance, operator: In, values: [high]}]
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {tier: database}}}
      domain: {devices: {}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: proxy}
spec:
  replicas: 3
  selector: {matchLabels: {tier: cache}}
  template:
    metadata: {labels: {tier: cache}}
    spec:
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 10
            preference: {matchExpressions: [{key: performance, operator: NotIn, values: [high]}]}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {tier: cache}}}
      containers: [{name: proxy, image: proxy}]
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: appliance}
spec:
  replicas: 3
  selector: {matchLabels: {tier: appliance}}
  template:
    metadata: {labels: {tier: appliance}}
    spec:
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: HOSTKEY, labelSelector: {matchLabels: {tier: cache}}}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {tier: appliance}}}
      domain: {devices: {}}
"""


def three_tiers(host_key: str = HOST) -> list[PodSource]:
    """A database on fast nodes, a cache that had rather be elsewhere, and an appliance beside the cache; each one per zone."""
    return makers_in(THREE_TIERS.replace("HOSTKEY", host_key))


def inventory(nodes: list[Object], **more: Any) -> Inventory:
    return Inventory(nodes, **more)


def apart_by(key: str, name: str) -> Object:
    """Required anti-affinity to the pods of an app."""
    return apart({"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}})
