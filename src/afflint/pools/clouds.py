"""Node pools of clouds: Config Connector, AWS Controllers for Kubernetes, Azure Service Operator, Crossplane, and Terraform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.node_labels import INSTANCE_TYPE
from afflint.kube.taints import Taint
from afflint.pools.fields import (
    UPPER,
    is_open,
    label,
    labels_of,
    number,
    one_of,
    region,
    taints_in_texts,
    taints_of,
    text,
    texts,
    unreachable_labels,
    zone,
)
from afflint.pools.pool import Declared, Label, Pool, PoolTaint, Reader
from afflint.pools.upgrades import aks_upgrade, eks_update, gke_upgrade
from afflint.yaml import terraform
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import metadata_of


def _first(data: Any) -> Any:
    """Return an object that older versions wrap in a list of one."""
    return data[0] if type(data) is list and data else data


# --- Google ----------------------------------------------------------------------------------------------------------------


def _google(declared: Declared, spec: dict[str, Any], base: Path, name: str, cluster: str) -> Pool:
    """Return a GKE node pool. Its numbers are per zone, except totals."""
    config, path = map_at(_first(spec.get("nodeConfig"))), (*base, "nodeConfig")
    own = config.get("labels")
    taints = taints_of(config.get("taint"), (*path, "taint"), UPPER)
    place, zones = text(spec, "location"), texts(spec, "nodeLocations")
    zones = zones if "nodeLocations" in spec else (place,) if place.count("-") == 2 else ()
    scaling = map_at(_first(spec.get("autoscaling")))
    least, most = number(scaling, "minNodeCount"), number(scaling, "maxNodeCount")
    totals = number(scaling, "totalMinNodeCount"), number(scaling, "totalMaxNodeCount")
    count = number(spec, "nodeCount") if "nodeCount" in spec else number(spec, "initialNodeCount")
    per_zone = totals[1] is None
    if not scaling:
        least = most = count
    elif not per_zone:
        least, most = totals
    automatic = [label("cloud.google.com/gke-nodepool", name)]
    if config.get("spot") is True:
        automatic.append(label("cloud.google.com/gke-spot", "true"))
    if config.get("preemptible") is True:
        automatic.append(label("cloud.google.com/gke-preemptible", "true"))
    for accelerator in list_at(config, "guestAccelerator")[:1]:
        automatic.append(label("cloud.google.com/gke-accelerator", text(accelerator, "type") or None))
    if text(config, "machineType"):
        automatic.append(label(INSTANCE_TYPE, config["machineType"], (*path, "machineType")))
    remedy, of_object = "Write it below `nodeConfig.labels`.", (*declared.base, "metadata", "labels")
    lost = unreachable_labels(metadata_of(declared.data).get("labels"), of_object, own, "of the object stays there", remedy)
    lost += unreachable_labels(config.get("resourceLabels"), (*path, "resourceLabels"), own, "is a label of cloud resources", remedy)
    return declared.pool(name, declared.ref.kind or "", declared.base, "other", cluster)._replace(
        labels=(
            *labels_of(own, (*path, "labels")),
            *automatic,
            *zone(zones, (*base, "nodeLocations" if texts(spec, "nodeLocations") else "location")),
            *region(place.rpartition("-")[0] if place.count("-") == 2 else place),
        ),
        taints=taints.taints,
        closed=not (is_open(own) or declared.patched),
        least=least,
        most=most if zones or not per_zone else None,
        zones=zones,
        per_zone=per_zone and bool(zones),
        faults=taints.faults,
        upgrade=gke_upgrade(spec),
        unreachable=lost,
    )


def _config_connector(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec")
    name = text(spec, "resourceID") or declared.name
    yield _google(declared, spec, (*declared.base, "spec"), name, text(spec, "clusterRef", "name"))


def _crossplane_google(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec", "forProvider")
    cluster = text(spec, "cluster") or text(spec, "clusterRef", "name")
    yield _google(declared, spec, (*declared.base, "spec", "forProvider"), _external_name(declared), cluster)


def _external_name(declared: Declared) -> str:
    return text(declared.data, "metadata", "annotations", "crossplane.io/external-name") or declared.name or "(no name)"


# --- Amazon ----------------------------------------------------------------------------------------------------------------


def _amazon(declared: Declared, spec: dict[str, Any], base: Path, name: str, cluster: str, taint_field: str) -> Pool:
    own, scaling = spec.get("labels"), map_at(_first(spec.get("scalingConfig")))
    taints = taints_of(spec.get(taint_field), (*base, taint_field), UPPER)
    capacity = text(spec, "capacityType") or ("" if spec.get("capacityType") else "ON_DEMAND")
    automatic: list[Label] = [label("eks.amazonaws.com/nodegroup", name)]
    automatic += [label("eks.amazonaws.com/capacityType", capacity)] if capacity else []
    types = texts(spec, "instanceTypes")
    automatic += [one_of(INSTANCE_TYPE, types, (*base, "instanceTypes"))] if types else []
    return declared.pool(name, declared.ref.kind or "", declared.base, "other", cluster)._replace(
        labels=(*labels_of(own, (*base, "labels")), *automatic, *region(text(spec, "region"))),
        taints=taints.taints,
        closed=not (is_open(own) or declared.patched),
        least=number(scaling, "minSize"),
        most=number(scaling, "maxSize"),
        faults=taints.faults,
        unreachable=unreachable_labels(spec.get("tags"), (*base, "tags"), own, "is a tag of cloud resources", "Write it below `labels`."),
        upgrade=eks_update(spec),
    )


def _aws_controller(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec")
    cluster = text(spec, "clusterName") or text(spec, "clusterRef", "from", "name")
    yield _amazon(declared, spec, (*declared.base, "spec"), text(spec, "name") or declared.name, cluster, "taints")


def _crossplane_amazon(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec", "forProvider")
    cluster = text(spec, "clusterName") or text(spec, "clusterNameRef", "name")
    yield _amazon(declared, spec, (*declared.base, "spec", "forProvider"), _external_name(declared), cluster, "taint")


# --- Azure -----------------------------------------------------------------------------------------------------------------


def _azure(declared: Declared, spec: dict[str, Any], base: Path, name: str, cluster: str, place: str) -> Pool:
    """Return an AKS agent pool. Its zones are digits, to which Azure adds the region."""
    own = spec.get("nodeLabels")
    taints = taints_in_texts(spec.get("nodeTaints"), (*base, "nodeTaints"))
    field = "availabilityZones" if "availabilityZones" in spec else "zones"
    zones = tuple([f"{place}-{each}" if each.isdigit() else each for each in texts(spec, field)])
    scaled = spec.get("enableAutoScaling") or spec.get("autoScalingEnabled")
    count = number(spec, "count") if "count" in spec else number(spec, "nodeCount")
    mode, kind = text(spec, "mode") or "User", text(spec, "vmSize")
    automatic = [
        label("kubernetes.azure.com/agentpool", name),
        label("agentpool", name),
        label("kubernetes.azure.com/mode", mode.lower()),
        *([label(INSTANCE_TYPE, kind, (*base, "vmSize"))] if kind else []),
    ]
    return declared.pool(
        name,
        "agent pool" if "agentPoolProfiles" in base else declared.ref.kind or "",
        base if "agentPoolProfiles" in base else declared.base,
        "other",
        cluster,
    )._replace(
        labels=(*labels_of(own, (*base, "nodeLabels")), *automatic, *(zone(zones, (*base, field)) if place else ()), *region(place)),
        taints=taints.taints,
        closed=not (is_open(own) or declared.patched),
        least=number(spec, "minCount") if scaled else count,
        most=number(spec, "maxCount") if scaled else count,
        zones=zones,
        faults=taints.faults,
        upgrade=aks_upgrade(spec),
    )


def _agent_pool(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec")
    name = text(spec, "azureName") or declared.name
    yield _azure(declared, spec, (*declared.base, "spec"), name, text(spec, "owner", "name"), "")


def _managed_cluster(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec")
    for index, profile in enumerate(list_at(spec, "agentPoolProfiles")):
        if type(profile) is dict:
            base = (*declared.base, "spec", "agentPoolProfiles", index)
            yield _azure(declared, profile, base, text(profile, "name"), declared.name, text(spec, "location"))


def _crossplane_azure(declared: Declared) -> Iterator[Pool]:
    spec = map_at(declared.data, "spec", "forProvider")
    cluster = text(spec, "kubernetesClusterIdRef", "name")
    yield _azure(declared, spec, (*declared.base, "spec", "forProvider"), _external_name(declared), cluster, "")


# --- Terraform -------------------------------------------------------------------------------------------------------------


def _terraform(declared: Declared) -> Iterator[Pool]:
    """Yield the node pools of a resource of Terraform, whose arguments have the names of those of Crossplane, in camel case."""
    spec, base, kind = map_at(declared.data, "spec"), (*declared.base, "spec"), declared.ref.kind
    declared = declared._replace(patched=not declared.data.get("whole"))
    if kind == terraform.GOOGLE:
        pool = _google(declared, spec, base, text(spec, "name") or declared.name, text(spec, "cluster"))
    elif kind == terraform.AMAZON:
        pool = _amazon(declared, spec, base, text(spec, "nodeGroupName") or declared.name, text(spec, "clusterName"), "taint")
    elif kind == terraform.AZURE:
        pool = _azure(declared, spec, base, text(spec, "name") or declared.name, "", "")
    else:
        own = map_at(spec, "defaultNodePool")
        pool = _azure(declared, {"mode": "System", **own}, (*base, "defaultNodePool"), text(own, "name") or "default", "", "")
        if own.get("onlyCriticalAddonsEnabled") is True:
            pool = pool._replace(taints=(*pool.taints, _SYSTEM))
    # A module, or another folder, may create more pools.
    yield pool._replace(whose="described", has_other_nodes=True)


_SYSTEM = PoolTaint(Taint("CriticalAddonsOnly", "true", "NoSchedule"))


READERS: Mapping[tuple[str, str], Reader] = {
    ("container.cnrm.cloud.google.com", "ContainerNodePool"): _config_connector,
    ("eks.services.k8s.aws", "Nodegroup"): _aws_controller,
    ("containerservice.azure.com", "ManagedClustersAgentPool"): _agent_pool,
    ("containerservice.azure.com", "ManagedCluster"): _managed_cluster,
    **{(f"eks.aws.{scope}upbound.io", "NodeGroup"): _crossplane_amazon for scope in ("", "m.")},
    **{(f"containerservice.azure.{scope}upbound.io", "KubernetesClusterNodePool"): _crossplane_azure for scope in ("", "m.")},
    **{(f"container.gcp.{scope}upbound.io", "NodePool"): _crossplane_google for scope in ("", "m.")},
    **{(terraform.GROUP, kind): _terraform for kind in (terraform.GOOGLE, terraform.AMAZON, terraform.AZURE, terraform.AZURE_CLUSTER)},
}
