"""The pods that operators create for custom resources, if their code leaves no doubt: number, labels and constraints.

What an operator adds is reported in a note. If a setting of the resource makes the result uncertain, or the operator is not in the table,
there is no result. Sources: cloudnative-pg pkg/specs/pods.go CreateAffinitySection; cloud-on-k8s pkg/controller/elasticsearch
nodespec/defaults.go; redis-operator (spotahome) operator/redisfailover/service/generator.go; percona-xtradb-cluster-operator
pkg/pxc/statefulset.go; mariadb-operator pkg/builder/pod_builder.go; cluster-operator (rabbitmq) internal/resource/statefulset.go;
zookeeper-operator pkg/zk/generators.go; prometheus-operator pkg/prometheus, pkg/alertmanager; strimzi operator ModelUtils.java.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afflint.controllers.pod_labels import template_part
from afflint.controllers.pod_replacement import PodReplacement
from afflint.controllers.pod_source import PodSource, line_of_name
from afflint.controllers.replica_counts import pod_count
from afflint.findings.finding import Site
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at

_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
Selected = dict[str, str]


class _Default(NamedTuple):
    """The fields that an operator adds to the pod spec, and their description; both are empty if it adds nothing."""

    spec: dict[str, Any]
    words: str = ""


def operator_pods(workload: Workload, site: Site, *, resources: bool = False, lines: bool = False) -> PodSource | None:
    """Return the pods that an operator creates for a custom resource; None if anything about them is uncertain.

    With ``lines`` the result includes the line of the object's name.
    """
    rule = _RULES.get((workload.kind.group, workload.kind.name))
    count, name = pod_count(workload), workload.ref.name
    if rule is None or not workload.declared.labels or name is None or count.number is None:
        return None
    default = rule(workload, name)
    if default is None:
        return None
    notes = [f"the operator adds {default.words}"] if default.words else []
    if resources:
        notes.append("the operator decides what its containers request, so the simulation ignores their requests")
    return PodSource(
        kind=workload.kind.name,
        group=workload.kind.group,
        namespace=workload.namespace,
        name=name,
        replicas=count.planned,
        labels=workload.template_labels,
        pod={**workload.pod, **default.spec},
        part=template_part(workload),
        added=workload.declared.labels,
        notes=(*count.notes, *notes),
        site=site,
        line=line_of_name(workload) if lines else 0,
        pod_path=workload.pod_path,
        pod_replacement=_STATEFUL,
    )


_STATEFUL = PodReplacement("gone", ordinals=True)


def _with_anti_affinity(workload: Workload, selected: Selected, key: str, weight: int | None) -> dict[str, Any]:
    """Return the pods' affinity with an anti-affinity to pods with some labels added: preferred with a weight, else required."""
    affinity = map_at(workload.pod, "affinity")
    anti = map_at(affinity, "podAntiAffinity")
    term = {"topologyKey": key, "labelSelector": {"matchLabels": selected}}
    field, added = (REQUIRED, term) if weight is None else (PREFERRED, {"weight": weight, "podAffinityTerm": term})
    own = anti.get(field)
    return {"affinity": {**affinity, "podAntiAffinity": {**anti, field: [*(own if isinstance(own, list) else []), added]}}}


def _anti_affinity(workload: Workload, selected: Selected, key: str = _HOSTNAME, weight: int | None = None) -> _Default:
    kind = "required" if weight is None else "preferred"
    return _Default(_with_anti_affinity(workload, selected, key, weight), f"a {kind} anti-affinity over {key}")


def _common_labels(workload: Workload, name: str) -> Selected:
    """Return the labels with the same value on all pods, with the name of the resource filled in."""
    values = {label.key: label.value.replace("{name}", name) for label in workload.declared.labels}
    return {key: value for key, value in values.items() if "{" not in value}


def _nothing(_workload: Workload, _name: str) -> _Default | None:
    return _Default({})


def _nothing_unless(*settings: str) -> Callable[[Workload, str], _Default | None]:
    """Return a rule for operators that add nothing, unless one of these settings is used: then the result is uncertain."""
    return lambda workload, _name: None if any(workload.spec.get(each) for each in settings) else _Default({})


def _cloudnative_pg(workload: Workload, name: str) -> _Default | None:
    setting = map_at(workload.spec, "affinity")
    if setting.get("enablePodAntiAffinity") is False:
        return _Default({})
    weight = None if setting.get("podAntiAffinityType") == "required" else 100
    key = setting.get("topologyKey")
    selected = {"cnpg.io/cluster": name, "cnpg.io/podRole": "instance"}
    return _anti_affinity(workload, selected, key if isinstance(key, str) and key else _HOSTNAME, weight)


def _elasticsearch(workload: Workload, name: str) -> _Default | None:
    if workload.pod.get("affinity"):
        return _Default({})
    return _anti_affinity(workload, {"elasticsearch.k8s.elastic.co/cluster-name": name}, weight=100)


def _redis_failover(workload: Workload, name: str) -> _Default | None:
    return _Default({}) if workload.pod.get("affinity") else _anti_affinity(workload, _common_labels(workload, name), weight=100)


def _pravega(workload: Workload, name: str) -> _Default | None:
    return _Default({}) if workload.pod.get("affinity") else _anti_affinity(workload, _common_labels(workload, name), weight=20)


def _percona(workload: Workload, name: str) -> _Default | None:
    component = workload.at(workload.declared.path)
    setting = component.get("affinity") if isinstance(component, dict) else None
    if isinstance(setting, dict) and setting.get("advanced"):
        return _Default({})
    key = setting.get("antiAffinityTopologyKey") if isinstance(setting, dict) else None
    if not isinstance(key, str) or not key:
        return None
    return _Default({}) if key == "none" else _anti_affinity(workload, _common_labels(workload, name), key)


def _mariadb(workload: Workload, name: str) -> _Default | None:
    setting = workload.spec.get("affinity")
    enabled = isinstance(setting, dict) and setting.get("antiAffinityEnabled") is True
    return _anti_affinity(workload, {"app.kubernetes.io/instance": name}) if enabled else _Default({})


def _aerospike(workload: Workload, name: str) -> _Default | None:
    if workload.spec.get("rackConfig"):
        return None
    setting = workload.spec.get("podSpec")
    several = isinstance(setting, dict) and setting.get("multiPodPerHost") is True
    return _Default({}) if several else _anti_affinity(workload, _common_labels(workload, name))


def _rabbitmq(workload: Workload, name: str) -> _Default | None:
    if workload.spec.get("override"):
        return None
    spread = {
        "maxSkew": 1,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
    }
    return _Default({"topologySpreadConstraints": [spread]}, f"a ScheduleAnyway spread constraint over {_ZONE}")


_RULES: dict[tuple[str, str], Callable[[Workload, str], _Default | None]] = {
    ("postgresql.cnpg.io", "Cluster"): _cloudnative_pg,
    ("elasticsearch.k8s.elastic.co", "Elasticsearch"): _elasticsearch,
    ("kibana.k8s.elastic.co", "Kibana"): _nothing,
    ("databases.spotahome.com", "RedisFailover"): _redis_failover,
    ("zookeeper.pravega.io", "ZookeeperCluster"): _pravega,
    ("pxc.percona.com", "PerconaXtraDBCluster"): _percona,
    ("k8s.mariadb.com", "MariaDB"): _mariadb,
    ("asdb.aerospike.com", "AerospikeCluster"): _aerospike,
    ("rabbitmq.com", "RabbitmqCluster"): _rabbitmq,
    ("dragonflydb.io", "Dragonfly"): _nothing,
    ("monitoring.coreos.com", "Prometheus"): _nothing_unless("shards"),
    ("monitoring.coreos.com", "Alertmanager"): _nothing,
    ("monitoring.coreos.com", "ThanosRuler"): _nothing,
    ("kafka.strimzi.io", "KafkaConnect"): _nothing_unless("rack"),
    ("kafka.strimzi.io", "KafkaMirrorMaker2"): _nothing_unless("rack"),
    ("kafka.strimzi.io", "KafkaBridge"): _nothing_unless("rack"),
}
