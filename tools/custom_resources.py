"""Makes schemas/custom-resources.jsonl, the catalogue of custom resources that hold placement constraints: one line a kind.

    python tools/custom_resources.py FACTS.json

FACTS.json is a list of kinds as they were collected from the CustomResourceDefinitions and the code of operators: `group`, `kind`,
`placements` (`path`, `shape`, `replicas`, `only`, `not_pods`), and of those that were verified `pod_labels_certain` and `replicas`.
The catalogue is generated, never edited: what is to be otherwise is changed here.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[1] / "schemas" / "custom-resources.jsonl"

# Generators of schemas that make every field optional: what is lacking is found by the API server only when it sees the pods.
LENIENT_GROUPS = frozenset(
    (
        "kafka.strimzi.io", "core.strimzi.io", "flink.apache.org", "spark.apache.org", "cluster.redpanda.com", "moco.cybozu.com",
        "scheduler.arangodb.com", "fleet.cattle.io", "operator.yugabyte.io",
    )
)  # fmt: skip
# Kinds of which only one build of the schema prunes the metadata of the template.
KEEP_METADATA = frozenset(("batch.volcano.sh/Job",))
# Operators that take the schemas out of their pod templates before they ship their definitions.
OPENED_GROUPS = (".k8s.elastic.co",)
# Operators whose webhooks look at placement before anything is stored, and at which fields.
WEBHOOKS = {"postgresql.cnpg.io/Cluster": {"tolerations": "CloudNativePG"}}
# Operators that put the labels of the component into a selector that is left out.
FILL_SELECTORS = frozenset(
    (
        "pxc.percona.com", "psmdb.percona.com", "ps.percona.com", "pgv2.percona.com", "solr.apache.org", "opensearch.opster.io",
        "opensearch.org", "ceph.rook.io",
    )
)  # fmt: skip
# The places of the pods that have the certain labels, where it is not those whose number of pods the kind counts by: the beginnings of
# their paths, or whole paths behind a `=`.
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

# Fields of the same pods that begin differently.
SAME_PODS = {"metallb.io/MetalLB": {"speaker": ""}}


def catalogue(kinds: list[dict[str, Any]]) -> str:
    """The text of the catalogue: sorted by kind and group, so that differences are readable."""
    entries = [entry(kind) for kind in kinds if kind["group"] and kind.get("kind_case") != "unknown"]
    entries = [each for each in entries if each["places"]]
    entries.sort(key=lambda each: (each["kind"], each["group"]))
    return "".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) + "\n" for each in entries)


def entry(kind: dict[str, Any]) -> dict[str, Any]:
    """The line of one kind."""
    name = f"{kind['group']}/{kind['kind']}"
    found: dict[str, Any] = {"kind": kind["kind"], "group": kind["group"]}
    labels = {key: pattern(value) for key, value in (kind.get("pod_labels_certain") or {}).items()}
    if labels:
        found["labels"] = labels
    if kind["group"] in LENIENT_GROUPS:
        found["lenient"] = True
    if kind["group"] in FILL_SELECTORS:
        found["fills_selectors"] = True
    if name in WEBHOOKS:
        found["webhooks"] = WEBHOOKS[name]
    places = [place(each, kind, name) for each in kind["placements"]]
    found["places"] = [part for each in places if each is not None for part in split(each, name)]
    return found


def split(whole: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A place in which several pods have fields side by side, such as `nodeSelector` and `controllerNodeSelector`: one for each of them."""
    fields = whole["shape"].split()
    shapes = [field.rpartition("=")[2].lstrip("?") for field in fields]
    pods = [owner(field.partition("=")[0], shape, name) for field, shape in zip(fields, shapes, strict=True)]
    if len(set(zip(pods, shapes, strict=True))) == len(set(shapes)):
        return [whole]
    return [
        {**whole, "shape": " ".join(field for field, pod in zip(fields, pods, strict=True) if pod == each)} for each in dict.fromkeys(pods)
    ]


def owner(field: str, shape: str, name: str) -> str:
    """Which pods a field is for: what its name has before that of the constraint."""
    pod = field[: -len(shape)] if field.lower().endswith(shape.lower()) else ""
    return SAME_PODS.get(name, {}).get(pod, pod)


def pattern(value: str) -> str:
    """The value of a certain label: `{name}` and text stay, `a|b` says one of these; what else it is made of, nobody can tell."""
    return value if re.fullmatch(r"(?:[^{}]|\{name\})*", value) and "..." not in value else "{unknown}"


def place(given: dict[str, Any], kind: dict[str, Any], name: str) -> dict[str, Any] | None:
    """One place of a kind; None for what has another shape than a pod's constraints."""
    shape = shape_of(given["shape"], name)
    if shape is None or not given["path"] or "->" in given["path"]:
        return None
    found: dict[str, Any] = {"path": given["path"], "shape": shape}
    if given.get("replicas") and kind.get("verified"):
        found["replicas"] = given["replicas"]
    if given.get("only"):
        found["only"] = given["only"]
    if shape.startswith("template") and kind["group"].endswith(OPENED_GROUPS):
        found["opened"] = True
    if given.get("not_pods"):
        found["not_pods"] = True
    elif kind.get("pod_labels_certain") and is_labelled(given, kind, name):
        found["labelled"] = True
    return found


def is_labelled(given: dict[str, Any], kind: dict[str, Any], name: str) -> bool:
    if name in LABELLED:
        path = given["path"]
        return any(f"={path}" == each or path.startswith(each) for each in LABELLED[name]) and not path.startswith("spec.backup")
    return len(kind["placements"]) == 1 or (given.get("replicas") is not None and given["replicas"] == kind.get("replicas"))


def shape_of(shape: str, name: str) -> str | None:
    """The shape in the words of the catalogue: `template`, `template pruned`, `spec`, `opaque`, or the fields with theirs."""
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
    """`affinity`, `advanced=affinity`, or `affinity=?affinity` for one that the schema leaves open; None for another shape."""
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
