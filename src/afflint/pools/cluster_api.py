"""Cluster API: the machines that a management cluster creates for other clusters, and which of their labels reach the nodes.

Semantics: util/labels/helpers.go (GetManagedLabels) and docs/book/src/reference/api/metadata-propagation.md of cluster-api.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.pools.fields import (
    KEBAB,
    PLAIN,
    Taints,
    is_open,
    kubelet_mistakes,
    label,
    labels_of,
    number,
    taints_of,
    text,
    texts,
    unreachable_labels,
    zone,
)
from afflint.pools.kubeadm import registration
from afflint.pools.pool import Declared, Key, Label, Pool, PoolMistake, PoolPart, Reader, UnreachableLabel
from afflint.pools.upgrades import machine_deployment
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import metadata_of

_BOUNDS = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
_SYNCED = ("node-restriction.kubernetes.io", "node.cluster.x-k8s.io")


def _reaches_nodes(key: str) -> bool:
    """Return whether Cluster API copies a label from a Machine to its Node without ``--additional-sync-machine-labels``."""
    prefix, slash, _ = key.partition("/")
    return bool(slash) and (prefix == "node-role.kubernetes.io" or any(prefix == each or prefix.endswith(f".{each}") for each in _SYNCED))


def _of_machines(metadata: Any, path: Path) -> tuple[list[Label], list[UnreachableLabel]]:
    """Return the labels of Machines: those that reach their nodes, and those that do not."""
    kept, lost = [], []
    for each in labels_of(map_at(metadata).get("labels"), (*path, "labels")):
        if _reaches_nodes(each.key):
            kept.append(each)
        elif not each.key.partition("/")[0].endswith("cluster.x-k8s.io") and each.requirement.values:
            lost.append(UnreachableLabel(each.key, each.requirement.values[0], each.path, _STAYS, _SYNC))
    return kept, lost


_STAYS = "of the Machines stays on the Machines"
_SYNC = (
    "Use a key below `node-restriction.kubernetes.io/` or `node.cluster.x-k8s.io/`, or add it to "
    "`--additional-sync-machine-labels` of the Cluster API manager."
)


def _scale(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the fewest and the most machines: by the annotations of the autoscaler, else ``replicas``.

    Without either there is one machine, until something scales it.
    """
    ends = [f"{_BOUNDS}{end}-size" for end in ("min", "max")]
    if all(end in annotations for end in ends):
        least, most = (number(annotations, end) for end in ends)
        return least, most
    count = number(spec, "replicas")
    return (count, count) if "replicas" in spec else (1, None)


def _domain(name: str, path: Path) -> list[Label]:
    """Return the zone label of a failure domain: a zone in most clouds; on Azure a digit, to which the cloud adds the region."""
    return zone((name,), path) if name and not name.isdigit() else []


def _reference(data: Any, namespace: str, *path: str) -> tuple[Key, ...]:
    reference = map_at(data, *path)
    kind, name = text(reference, "kind"), text(reference, "name")
    return ((kind, text(reference, "namespace") or namespace, name),) if kind and name else ()


def _machines(declared: Declared) -> Iterator[Pool]:
    """Yield the pool of a MachineDeployment, MachineSet or MachinePool."""
    spec, word = map_at(declared.data, "spec"), declared.ref.kind or ""
    machine, base = map_at(spec, "template", "spec"), (*declared.base, "spec", "template")
    kept, lost = _of_machines(map_at(spec, "template", "metadata"), (*base, "metadata"))
    if word == "MachinePool":
        kept = []
    taints = taints_of(machine.get("taints"), (*base, "spec", "taints"))
    least, most = _scale(spec, map_at(declared.data, "metadata", "annotations"))
    bootstrap = _reference(machine, declared.namespace, "bootstrap", "configRef")
    infrastructure = _reference(machine, declared.namespace, "infrastructureRef")
    managed = tuple([key for key in infrastructure if ("infrastructure.cluster.x-k8s.io", key[0]) in READERS])
    domains = texts(spec, "failureDomains") if word == "MachinePool" else (text(machine, "failureDomain"),)
    where = (*declared.base, "spec", "failureDomains") if word == "MachinePool" else (*base, "spec", "failureDomain")
    zones = tuple([name for name in domains if name])
    yield declared.pool(declared.name, word, declared.base, "other", text(spec, "clusterName"))._replace(
        labels=(*kept, *(zone(zones, where) if not any(name.isdigit() for name in zones) else ())),
        taints=taints.taints,
        closed=bool(bootstrap or managed) and not is_open(map_at(spec, "template", "metadata").get("labels")),
        least=least,
        most=most,
        zones=zones,
        parts=managed or bootstrap,
        faults=taints.faults,
        unreachable=tuple(lost),
        upgrade=machine_deployment(spec) if word == "MachineDeployment" else None,
    )


def _config_template(declared: Declared) -> Iterator[PoolPart]:
    """Yield what kubelets register with, equal for all machines of this template."""
    path = (*declared.base, "spec", "template", "spec", "joinConfiguration", "nodeRegistration")
    registered = registration(map_at(declared.data, "spec", "template", "spec", "joinConfiguration").get("nodeRegistration"), path)
    key = (declared.ref.kind or "", declared.namespace, declared.name)
    yield PoolPart(key, declared.site, declared.ref, registered.labels, registered.taints, known=registered.known, faults=registered.faults)


def _control_plane(declared: Declared) -> Iterator[Pool]:
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    kept, lost = _of_machines(map_at(spec, "machineTemplate", "metadata"), (*base, "machineTemplate", "metadata"))
    path = (*base, "kubeadmConfigSpec", "joinConfiguration", "nodeRegistration")
    joining = map_at(spec, "kubeadmConfigSpec", "joinConfiguration").get("nodeRegistration")
    joined = registration(joining, path, control_plane=True)
    first = registration(
        map_at(spec, "kubeadmConfigSpec", "initConfiguration").get("nodeRegistration"),
        (*base, "kubeadmConfigSpec", "initConfiguration", "nodeRegistration"),
        control_plane=True,
    )
    count = number(spec, "replicas") if "replicas" in spec else 1
    yield declared.pool(
        declared.name, "KubeadmControlPlane", declared.base, "other", declared.name.removesuffix("-control-plane")
    )._replace(
        labels=(*kept, *joined.labels),
        taints=joined.taints,
        closed=joined.known,
        least=count,
        most=count,
        faults=(*first.faults, *joined.faults),
        unreachable=tuple(lost),
    )


# --- managed topologies --------------------------------------------------------------------------------------------------


def _cluster(declared: Declared) -> Iterator[Pool]:
    """Yield the machine deployments and pools of a managed topology, with the variables by which TKG labels and taints nodes."""
    topology, base = map_at(declared.data, "spec", "topology"), (*declared.base, "spec", "topology")
    class_name = text(topology, "classRef", "name") or text(topology, "class")
    of_cluster = _variables(list_at(topology, "variables"), (*base, "variables"))
    for kind, word in (("machineDeployments", "machine deployment"), ("machinePools", "machine pool")):
        for index, entry in enumerate(list_at(topology, "workers", kind)):
            if type(entry) is not dict:
                continue
            path = (*base, "workers", kind, index)
            kept, lost = _of_machines(metadata_of(entry), (*path, "metadata"))
            own = _variables(list_at(entry, "variables", "overrides"), (*path, "variables", "overrides"))
            labels, taints, faults = _of_variables({**of_cluster, **own})
            least, most = _scale(entry, map_at(entry, "metadata", "annotations"))
            domains = tuple([name for name in (text(entry, "failureDomain"), *texts(entry, "failureDomains")) if name])
            worker = text(entry, "class")
            yield declared.pool(text(entry, "name") or worker, word, path, "other", declared.name)._replace(
                labels=(*(kept if kind == "machineDeployments" else ()), *labels, *_domain(domains[0] if len(domains) == 1 else "", path)),
                taints=taints,
                closed=bool(class_name and worker) and not is_open(metadata_of(entry).get("labels")),
                least=least,
                most=most,
                zones=domains,
                parts=(("ClusterClass", declared.namespace, f"{class_name}/{kind}/{worker}"),),
                faults=faults,
                unreachable=tuple(lost),
                upgrade=machine_deployment(entry) if kind == "machineDeployments" else None,
            )


def _variables(data: Iterable[Any], path: Path) -> dict[str, tuple[Any, Path]]:
    return {text(each, "name"): (each.get("value"), (*path, index, "value")) for index, each in enumerate(data) if type(each) is dict}


def _of_variables(variables: Mapping[str, tuple[Any, Path]]) -> tuple[list[Label], tuple[Any, ...], tuple[PoolMistake, ...]]:
    """Return ``nodePoolLabels`` and ``nodePoolTaints`` of the cluster classes of TKG; the kubelet sets these labels."""
    labels: list[Label] = []
    value, path = variables.get("nodePoolLabels", (None, ()))
    for index, entry in enumerate(value if type(value) is list else ()):
        if text(entry, "key"):
            labels.append(label(entry["key"], entry.get("value", ""), (*path, index)))
    taints, where = variables.get("nodePoolTaints", (None, ()))
    parsed = taints_of(taints, where)
    return labels, parsed.taints, (*kubelet_mistakes(labels), *parsed.faults)


def _cluster_class(declared: Declared) -> Iterator[PoolPart]:
    for kind in ("machineDeployments", "machinePools"):
        for index, entry in enumerate(list_at(declared.data, "spec", "workers", kind)):
            if type(entry) is not dict:
                continue
            base = (*declared.base, "spec", "workers", kind, index)
            inner, path = (entry["template"], (*base, "template")) if type(entry.get("template")) is dict else (entry, base)
            kept, lost = _of_machines(metadata_of(inner), (*path, "metadata"))
            taints = taints_of(entry.get("taints"), (*base, "taints"))
            bootstrap = _reference(inner, declared.namespace, "bootstrap", "ref")
            bootstrap = bootstrap or _reference(inner, declared.namespace, "bootstrap", "templateRef")
            key = ("ClusterClass", declared.namespace, f"{declared.name}/{kind}/{text(entry, 'class')}")
            # Patches of the class may add labels and taints anywhere.
            known = bool(bootstrap) and not list_at(declared.data, "spec", "patches")
            labels = tuple(kept) if kind == "machineDeployments" else ()
            faults = taints.faults
            yield PoolPart(
                key, declared.site, declared.ref, labels, taints.taints, None, None, known, False, bootstrap, faults, tuple(lost)
            )


# --- pools of managed services, next to a MachinePool ----------------------------------------------------------------------


def _managed(declared: Declared) -> Iterator[PoolPart]:
    """Yield the settings of the cloud's own pools, whose labels reach nodes."""
    spec, base, kind = map_at(declared.data, "spec"), (*declared.base, "spec"), declared.ref.kind or ""
    labels_field, taints_field, spelling = _MANAGED[kind]
    taints: Taints = taints_of(spec.get(taints_field), (*base, taints_field), spelling)
    scaling = map_at(spec, "scaling") or map_at(spec, "autoscaling")
    least = next((size for name in ("minSize", "minCount", "minReplicas") if (size := number(scaling, name)) is not None), None)
    most = next((size for name in ("maxSize", "maxCount", "maxReplicas") if (size := number(scaling, name)) is not None), None)
    if kind == "GCPManagedMachinePool" and not scaling:
        least, most = 0, 1
    zones = texts(spec, "availabilityZones") or texts(spec, "nodeLocations") or tuple(filter(None, (text(spec, "availabilityZone"),)))
    labels = [*labels_of(spec.get(labels_field), (*base, labels_field)), *(zone(zones) if not any(map(str.isdigit, zones)) else ())]
    more, where, remedy = spec.get("additionalLabels"), (*base, "additionalLabels"), f"Write it below `spec.{labels_field}`."
    lost = unreachable_labels(more, where, spec.get(labels_field), "is a label of cloud resources", remedy)
    key = (kind, declared.namespace, declared.name)
    known = not is_open(spec.get(labels_field))
    if kind == "GCPManagedMachinePool" and most is not None:
        most = most * len(zones) or None  # The number is per zone.
    scales = bool(scaling) or kind == "GCPManagedMachinePool"
    yield PoolPart(key, declared.site, declared.ref, tuple(labels), taints.taints, least, most, known, scales, (), taints.faults, lost)


_MANAGED: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "AzureManagedMachinePool": ("nodeLabels", "taints", PLAIN),
    "GCPManagedMachinePool": ("kubernetesLabels", "kubernetesTaints", PLAIN),
    "AWSManagedMachinePool": ("labels", "taints", KEBAB),
    "ROSAMachinePool": ("labels", "taints", PLAIN),
}

READERS: Mapping[tuple[str, str], Reader] = {
    **{("cluster.x-k8s.io", kind): _machines for kind in ("MachineDeployment", "MachineSet", "MachinePool")},
    ("cluster.x-k8s.io", "Cluster"): _cluster,
    ("cluster.x-k8s.io", "ClusterClass"): _cluster_class,
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"): _config_template,
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"): _control_plane,
    **{("infrastructure.cluster.x-k8s.io", kind): _managed for kind in _MANAGED},
}
