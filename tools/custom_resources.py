"""Write schemas/custom-resources.jsonl, the catalogue of custom resources with placement constraints: one line per kind.

    python tools/custom_resources.py FACTS.json

FACTS.json is a list of kinds, collected from the CustomResourceDefinitions and the code of operators: `group`, `kind`, `placements`
(`path`, `shape`, `replicas`, `only`, `not_pods`), and for verified kinds `pod_labels_certain` and `replicas`. The catalogue is generated,
never edited: changes are made here.

operator_labels.json, next to this script, has the places whose pods get no other labels than those that it lists: `labels` that the
operator always sets, the keys of `others` that some version or setting adds (`domain/*` for all keys of a domain), and `from`, the maps of
the resource whose entries become labels of the pods (`inherited`: only with some settings or in some versions of the operator). `former`
has labels with the first version that does not set them and the values that older versions set. `source` is the code that sets the labels,
with its versions. `shape` adds the place, for a kind whose definition in FACTS.json does not have it.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

OPERATOR_LABELS = Path(__file__).parent / "operator_labels.json"
CATALOGUE = Path(__file__).parents[1] / "schemas" / "custom-resources.jsonl"

# Schema generators that make every field optional: the API server only notices missing fields when the operator creates the pods.
LENIENT_GROUPS = frozenset(
    (
        "kafka.strimzi.io", "core.strimzi.io", "flink.apache.org", "spark.apache.org", "cluster.redpanda.com", "moco.cybozu.com",
        "scheduler.arangodb.com", "fleet.cattle.io", "operator.yugabyte.io",
    )
)  # fmt: skip
# Kinds with several builds of their schema; only one build prunes the metadata of the template.
KEEP_METADATA = frozenset(("batch.volcano.sh/Job",))
# Operators that remove the schemas of pod templates from their definitions before a release.
OPENED_GROUPS = (".k8s.elastic.co",)
# Operators whose webhooks check placement when an object is created, with the fields.
WEBHOOKS = {
    "postgresql.cnpg.io/Cluster": {"tolerations": "CloudNativePG"},
    "kueue.x-k8s.io/ResourceFlavor": {"nodeLabels": "Kueue", "tolerations": "Kueue"},
}
# Operators that set a missing selector to the labels of the component.
FILL_SELECTORS = frozenset(
    (
        "pxc.percona.com", "psmdb.percona.com", "ps.percona.com", "pgv2.percona.com", "solr.apache.org", "opensearch.opster.io",
        "opensearch.org", "ceph.rook.io",
    )
)  # fmt: skip
# Operators that set these fields of a spread constraint if they are empty:
# percona-xtradb-cluster-operator pkg/pxc/statefulset.go, PodTopologySpreadConstraints (1, kubernetes.io/hostname, ScheduleAnyway);
# percona-server-mongodb-operator pkg/apis/psmdb/v1/psmdb_defaults.go, reconcileTopologySpreadConstraints (the same, but DoNotSchedule).
FILLED = {
    "pxc.percona.com/PerconaXtraDBCluster": ("maxSkew", "topologyKey", "whenUnsatisfiable"),
    "psmdb.percona.com/PerconaServerMongoDB": ("maxSkew", "topologyKey", "whenUnsatisfiable"),
}
# Label selectors for nodes that select none if they are absent, and a field that every whole object has:
# system-upgrade-controller pkg/upgrade/plan/plan.go, NodeSelector, since v0.1.0.
NODE_SELECTORS = {"upgrade.cattle.io/Plan": ("spec.nodeSelector", "spec.upgrade")}
# The paths of the pods with the known labels, if they are not the pods that `replicas` counts: prefixes of the
# paths, or complete paths after `=`.
LABELLED = {
    "kafka.strimzi.io/Kafka": ("spec.kafka", "spec.entityOperator", "spec.cruiseControl", "spec.kafkaExporter", "spec.zookeeper"),
    "kafka.strimzi.io/KafkaConnect": ("spec.template.pod",),
    "kafka.strimzi.io/KafkaMirrorMaker2": ("spec.template.pod",),
    "databases.spotahome.com/RedisFailover": ("spec.redis", "spec.sentinel"),
    "pxc.percona.com/PerconaXtraDBCluster": ("spec.pxc", "spec.haproxy", "spec.proxysql"),
    "psmdb.percona.com/PerconaServerMongoDB": ("spec.replsets",),
    "ps.percona.com/PerconaServerMySQL": ("spec.mysql", "spec.orchestrator", "spec.proxy"),
    "operator.victoriametrics.com/VMCluster": ("spec.vm",),
    "redis.redis.opstreelabs.in/RedisCluster": ("spec.redisLeader", "spec.redisFollower"),
    "ray.io/RayCluster": ("spec.headGroupSpec", "spec.workerGroupSpecs"),
    "pingcap.com/TidbCluster": ("spec.pd", "spec.tikv", "spec.tidb", "spec.tiflash", "spec.ticdc", "spec.pump"),
    "batch.volcano.sh/Job": ("spec.tasks",),
    "clickhouse.altinity.com/ClickHouseInstallation": ("spec.templates.podTemplates",),
    "cassandra.datastax.com/CassandraDatacenter": ("spec",),
    "asdb.aerospike.com/AerospikeCluster": ("spec",),
    "apps.foundationdb.org/FoundationDBCluster": ("spec.processes",),
    "sparkoperator.k8s.io/SparkApplication": ("spec.driver", "spec.executor"),
    "kubevirt.io/KubeVirt": ("spec.infra", "spec.workloads"),
    "postgres-operator.crunchydata.com/PostgresCluster": ("spec.instances", "spec.proxy"),
    "pgv2.percona.com/PerconaPGCluster": ("spec.instances", "spec.proxy"),
    "k8s.mariadb.com/MariaDB": ("=spec", "=spec.affinity"),
}

# Places that select clusters or nodes, instead of those of the facts: their fields have shapes of their own. Sources:
# open-cluster-management-io/api cluster/v1beta1/types_placement.go; karmada pkg/apis/policy/v1alpha1/propagation_types.go;
# kueue apis/kueue/v1beta1/resourceflavor_types.go, topology_types.go; kubernetes pkg/apis/node/validation.
_KARMADA = [
    {"path": "spec.placement", "shape": "clusterTolerations=tolerations spreadConstraints=clusterGroups"},
    {"path": "spec.placement.clusterAffinity", "shape": "fieldSelector=clusterFields labelSelector=clusterSelector"},
    {
        "path": "spec.placement.clusterAffinities[*]",
        "shape": "fieldSelector=clusterFields labelSelector=clusterSelector",
    },
]
SELECTIONS = {
    "cluster.open-cluster-management.io/Placement": [
        {"path": "spec", "shape": "tolerations=clusterTolerations"},
        {"path": "spec.spreadPolicy", "shape": "spreadConstraints=clusterSpreadConstraints"},
        {"path": "spec.predicates[*].requiredClusterSelector", "shape": "labelSelector=clusterSelector"},
        {"path": "spec.predicates[*].requiredClusterSelector", "shape": "claimSelector=clusterSelector"},
    ],
    "policy.karmada.io/PropagationPolicy": _KARMADA,
    "policy.karmada.io/ClusterPropagationPolicy": _KARMADA,
    "kueue.x-k8s.io/Topology": [{"path": "spec.levels[*]", "shape": "nodeLabel=labelKey"}],
    "node.k8s.io/RuntimeClass": [{"path": "scheduling", "shape": "nodeSelector tolerations"}],
}
# Fields that describe nodes, next to places with constraints of pods.
NODE_FIELDS = {"kueue.x-k8s.io/ResourceFlavor": [{"path": "spec", "shape": "nodeTaints=taints"}]}
# Fields with different prefixes that apply to the same pods.
SAME_PODS = {"metallb.io/MetalLB": {"speaker": ""}}


def catalogue(kinds: list[dict[str, Any]]) -> str:
    """Return the text of the catalogue, sorted by kind and group so that differences are readable."""
    entries = [entry(kind) for kind in kinds if kind["group"] and kind.get("kind_case") != "unknown"]
    known = {f"{each['group']}/{each['kind']}" for each in entries}
    entries += [
        entry({"group": name.split("/")[0], "kind": name.split("/")[1], "placements": []}) for name in SELECTIONS if name not in known
    ]
    entries = [each for each in entries if each["places"]]
    entries.sort(key=lambda each: (each["kind"], each["group"]))
    return "".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) + "\n" for each in entries)


def entry(kind: dict[str, Any]) -> dict[str, Any]:
    """Return the line of one kind."""
    name = f"{kind['group']}/{kind['kind']}"
    found: dict[str, Any] = {"kind": kind["kind"], "group": kind["group"]}
    labels = {key: pattern(value) for key, value in (kind.get("pod_labels_certain") or {}).items()}
    if labels:
        found["labels"] = labels
    if kind["group"] in LENIENT_GROUPS:
        found["lenient"] = True
    if kind["group"] in FILL_SELECTORS:
        found["fills_selectors"] = True
    if name in FILLED:
        found["fills"] = FILLED[name]
    if name in WEBHOOKS:
        found["webhooks"] = WEBHOOKS[name]
    if name in NODE_SELECTORS:
        found["node_selector"] = NODE_SELECTORS[name]
    places = [place(each, kind, name) for each in kind["placements"]]
    found["places"] = [part for each in places if each is not None for part in split(each, name)]
    add_operator_labels(found["places"], name)
    if name in SELECTIONS:
        found["places"] = []
    found["places"] += [{**each, "not_pods": True} for each in (*SELECTIONS.get(name, ()), *NODE_FIELDS.get(name, ()))]
    return found


def add_operator_labels(places: list[dict[str, Any]], name: str) -> None:
    """Add to the places of a kind what operator_labels.json has for them; a path in it that is not a place of the kind is an error."""
    for each in operator_labels():
        for path in each["paths"] if name in each["kinds"] else ():
            if "shape" in each:
                places.append({"path": path, "shape": each["shape"]})
            at = [place for place in places if place["path"] == path]
            if not at:
                raise SystemExit(f"operator_labels.json: {name} has no place {path}")
            for place in at:
                place["pod_labels"], place["other_labels"] = each["labels"], each["others"]
                if "former" in each:
                    place["former_labels"] = each["former"]
                for field, target in (("from", "label_maps"), ("inherited", "inherited")):
                    if field in each:
                        place[target] = [label_map.replace("{path}", path) for label_map in each[field]]


@cache
def operator_labels() -> list[dict[str, Any]]:
    """Return the entries of operator_labels.json."""
    entries: list[dict[str, Any]] = json.loads(OPERATOR_LABELS.read_text(encoding="utf-8"))
    return entries


def split(fields_place: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Split a place with fields for several kinds of pods, such as `nodeSelector` and `controllerNodeSelector`, into one place for each."""
    fields = fields_place["shape"].split()
    shapes = [field.rpartition("=")[2].lstrip("?") for field in fields]
    pods = [owner(field.partition("=")[0], shape, name) for field, shape in zip(fields, shapes, strict=True)]
    if len(set(zip(pods, shapes, strict=True))) == len(set(shapes)):
        return [fields_place]
    return [
        {**fields_place, "shape": " ".join(field for field, pod in zip(fields, pods, strict=True) if pod == each)}
        for each in dict.fromkeys(pods)
    ]


def owner(field: str, shape: str, name: str) -> str:
    """Return the prefix of a field before the name of the constraint, which identifies its pods."""
    pod = field[: -len(shape)] if field.lower().endswith(shape.lower()) else ""
    return SAME_PODS.get(name, {}).get(pod, pod)


def pattern(value: str) -> str:
    """Return the value of a known label, with `{name}` and `a|b` (one of both) kept; `{unknown}` if it has other variable parts."""
    return value if re.fullmatch(r"(?:[^{}]|\{name\})*", value) and "..." not in value else "{unknown}"


def place(placement: dict[str, Any], kind: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return one place of a kind; None if its shape is not supported."""
    shape = shape_of(placement["shape"], name)
    if shape is None or not placement["path"] or "->" in placement["path"]:
        return None
    found: dict[str, Any] = {"path": placement["path"], "shape": shape}
    if placement.get("replicas") and kind.get("verified"):
        found["replicas"] = placement["replicas"]
    if placement.get("only"):
        found["only"] = placement["only"]
    if shape.startswith("template") and kind["group"].endswith(OPENED_GROUPS):
        found["opened"] = True
    if placement.get("not_pods"):
        found["not_pods"] = True
    elif kind.get("pod_labels_certain") and has_known_labels(placement, kind, name):
        found["labelled"] = True
    return found


def has_known_labels(placement: dict[str, Any], kind: dict[str, Any], name: str) -> bool:
    if name in LABELLED:
        path = placement["path"]
        return any(f"={path}" == each or path.startswith(each) for each in LABELLED[name]) and not path.startswith("spec.backup")
    return len(kind["placements"]) == 1 or (placement.get("replicas") is not None and placement["replicas"] == kind.get("replicas"))


def shape_of(shape: str, name: str) -> str | None:
    """Return the shape in the catalogue: `template`, `template pruned`, `spec`, `opaque`, or fields with their shapes.

    None for other shapes.
    """
    known = {
        "podTemplate": "template",
        "podTemplate(metadata pruned)": "template" if name in KEEP_METADATA else "template pruned",
        "podSpec": "spec",
        "opaque": "opaque",
        "opaque(podSpec)": "opaque",
    }
    if shape in known:
        return known[shape]
    if not shape.startswith("fields:"):
        return None
    fields = [field_of(each) for each in shape.removeprefix("fields:").split(",")]
    return " ".join(each for each in fields if each) or None


def field_of(field: str) -> str | None:
    """Return `affinity`, `advanced=affinity`, or `affinity=?affinity` for a field without a schema; None for another shape."""
    name, _, meaning = field.partition("=")
    opened = re.fullmatch(r"opaque(?:\(pruned\)|\[\])?:(\w+)", meaning)
    meaning = opened[1] if opened else meaning or name
    if meaning not in SHAPES:
        return None
    return f"{name}=?{meaning}" if opened else name if meaning == name else f"{name}={meaning}"


SHAPES = frozenset(
    (
        "affinity", "nodeAffinity", "podAffinity", "podAntiAffinity", "tolerations", "topologySpreadConstraints", "nodeSelector",
        "nodeSelectorTerms",
    )
)  # fmt: skip


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = catalogue(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    CATALOGUE.write_text(text, encoding="utf-8")
    print(f"{CATALOGUE.name}: {text.count(chr(10))} kinds, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
