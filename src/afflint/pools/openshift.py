"""OpenShift: MachineSet and MachineAutoscaler of the cluster itself, MachinePool of Hive and NodePool of HyperShift for other clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.node_labels import ARCH, CONTROL_PLANE, INSTANCE_TYPE, MASTER, WORKER
from afflint.kube.taints import Taint
from afflint.pools.fields import is_open, label, labels_of, number, region, taints_of, text, texts, unreachable_labels, zone
from afflint.pools.pool import Declared, Label, Pool, PoolPart, PoolTaint, Reader
from afflint.pools.upgrades import hosted_pool
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import metadata_of
from afflint.yaml.placeholders import is_placeholder

_BOUNDS = "machine.openshift.io/cluster-api-autoscaler-node-group-"


def _machine_set(declared: Declared) -> Iterator[Pool]:
    """Yield a MachineSet. Labels of ``spec.template.spec`` reach nodes, those of the Machine do not.

    Semantics: pkg/controller/nodelink of machine-api-operator.
    """
    spec = map_at(declared.data, "spec")
    template, base = map_at(spec, "template"), (*declared.base, "spec", "template")
    inner = map_at(template, "spec")
    own = metadata_of(inner).get("labels")
    own_path = (*base, "spec", "metadata", "labels")
    taints = taints_of(inner.get("taints"), (*base, "spec", "taints"))
    provider = map_at(inner, "providerSpec", "value")
    annotations = map_at(declared.data, "metadata", "annotations")
    bounds = [number(annotations, f"{_BOUNDS}{end}-size") for end in ("min", "max")]
    count = number(spec, "replicas")
    scaled = f"{_BOUNDS}max-size" in annotations
    # Without replicas there is one machine, until something scales it.
    least, most = bounds if scaled else (count, count) if "replicas" in spec else (1, None)
    of_machines = {key: value for key, value in map_at(template, "metadata", "labels").items() if not str(key).startswith(_OWN)}
    labels = [*labels_of(own, own_path), label(WORKER, ""), *_place(provider, (*base, "spec", "providerSpec", "value"))]
    yield declared.pool(declared.name, "MachineSet", declared.base, "own", _cluster_of(declared))._replace(
        labels=tuple(labels),
        taints=taints.taints,
        closed=bool(provider) and not is_open(own),
        least=least,
        most=most,
        zones=tuple([value for each in labels if each.key == "topology.kubernetes.io/zone" for value in each.requirement.values]),
        optional=(("MachineSet", declared.namespace, declared.name),),
        faults=taints.faults,
        unreachable=unreachable_labels(of_machines, (*base, "metadata", "labels"), own, _STAYS, _NODE_LABELS),
    )


def _cluster_of(declared: Declared) -> str:
    """Return the ID of the cluster that a MachineSet is labelled with; "" if a tool has to fill it in."""
    name = text(map_at(declared.data, "metadata", "labels"), f"{_OWN}cluster-api-cluster")
    return "" if is_placeholder(name) else name


_OWN = "machine.openshift.io/"
_STAYS = "of the Machines stays on the Machines"
_NODE_LABELS = "Write it below `spec.template.spec.metadata.labels`, one level deeper: these labels reach the nodes."


def _place(provider: Mapping[str, Any], path: Path) -> list[Label]:
    """Return zone, region and machine type as the cloud labels its nodes."""
    placement = map_at(provider, "placement")
    if placement:
        labels = zone((text(placement, "availabilityZone"),), (*path, "placement", "availabilityZone"))
        labels += region(text(placement, "region"), (*path, "placement", "region"))
        kind = text(provider, "instanceType")
    elif text(provider, "location"):
        where, number_of_zone = text(provider, "location"), text(provider, "zone")
        labels = zone((f"{where}-{number_of_zone}",) if number_of_zone else (), (*path, "zone")) + region(where, (*path, "location"))
        kind = text(provider, "vmSize")
    else:
        labels = zone((text(provider, "zone") or text(provider, "availabilityZone"),), path) + region(text(provider, "region"), path)
        kind = text(provider, "machineType")
    return [*labels, *([label(INSTANCE_TYPE, kind, path)] if kind else [])]


def _machine(declared: Declared) -> Iterator[Pool]:
    """Yield a Machine that no MachineSet owns: one node with the labels and taints of its spec."""
    metadata = metadata_of(declared.data)
    if metadata.get("ownerReferences"):
        return
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    own = metadata_of(spec).get("labels")
    taints = taints_of(spec.get("taints"), (*base, "taints"))
    control_plane = text(metadata, "labels", "machine.openshift.io/cluster-api-machine-role") == "master"
    roles = [label(each, "") for each in ((CONTROL_PLANE, MASTER) if control_plane else (WORKER,))]
    provider = map_at(spec, "providerSpec", "value")
    yield declared.pool(declared.name, "Machine", declared.base, "own")._replace(
        labels=(*labels_of(own, (*base, "metadata", "labels")), *roles, *_place(provider, (*base, "providerSpec", "value"))),
        taints=(*taints.taints, *([PoolTaint(Taint(MASTER, "", "NoSchedule"))] if control_plane else [])),
        closed=bool(provider) and not is_open(own),
        least=1,
        most=1,
        faults=taints.faults,
    )


def _machine_autoscaler(declared: Declared) -> Iterator[PoolPart]:
    spec = map_at(declared.data, "spec")
    target = map_at(spec, "scaleTargetRef")
    if text(target, "kind") == "MachineSet" and text(target, "name"):
        key = ("MachineSet", declared.namespace, target["name"])
        least, most = number(spec, "minReplicas"), number(spec, "maxReplicas")
        yield PoolPart(key, declared.site, declared.ref, least=least, most=most, scales=True)


def _hive_pool(declared: Declared) -> Iterator[Pool]:
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    taints = taints_of(spec.get("taints"), (*base, "taints"))
    scaling = map_at(spec, "autoscaling")
    count = number(spec, "replicas") if "replicas" in spec else 1
    own, platform = spec.get("labels"), map_at(spec, "platform")
    zones = next((texts(each, "zones") for each in platform.values() if list_at(each, "zones")), ())
    yield declared.pool(
        text(spec, "name") or declared.name, "MachinePool", declared.base, "other", text(spec, "clusterDeploymentRef", "name")
    )._replace(
        labels=(*labels_of(own, (*base, "labels")), label(WORKER, ""), *zone(zones, (*base, "platform"))),
        taints=taints.taints,
        closed=not is_open(own),
        least=number(scaling, "minReplicas") if scaling else count,
        most=number(scaling, "maxReplicas") if scaling else count,
        zones=zones,
        faults=taints.faults,
        unreachable=unreachable_labels(spec.get("machineLabels"), (*base, "machineLabels"), own, _STAYS, "Write it below `spec.labels`."),
    )


def _hosted_pool(declared: Declared) -> Iterator[Pool]:
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    taints = taints_of(spec.get("taints"), (*base, "taints"))
    scaling = map_at(spec, "autoScaling")
    count = number(spec, "replicas") if "replicas" in spec else 0
    automatic = [label("hypershift.openshift.io/nodePool", declared.name), label(WORKER, "")]
    arch = text(spec, "arch") if "arch" in spec else "amd64"
    automatic += [label(ARCH, arch, (*base, "arch") if "arch" in spec else ())] if arch else []
    yield declared.pool(declared.name, "NodePool", declared.base, "other", text(spec, "clusterName"))._replace(
        labels=(*labels_of(spec.get("nodeLabels"), (*base, "nodeLabels")), *automatic),
        taints=taints.taints,
        closed=not is_open(spec.get("nodeLabels")),
        least=number(scaling, "min") if scaling else count,
        most=number(scaling, "max") if scaling else count,
        faults=taints.faults,
        upgrade=hosted_pool(spec),
    )


READERS: Mapping[tuple[str, str], Reader] = {
    ("machine.openshift.io", "MachineSet"): _machine_set,
    ("machine.openshift.io", "Machine"): _machine,
    ("autoscaling.openshift.io", "MachineAutoscaler"): _machine_autoscaler,
    ("hive.openshift.io", "MachinePool"): _hive_pool,
    ("hypershift.openshift.io", "NodePool"): _hosted_pool,
}
