"""The pods of operators in a plan: as many as the resource says, with the labels and constraints that the operator adds."""

import textwrap
from typing import Any

import pytest

from afflint.controllers.operators import operator_pods
from afflint.controllers.pod_source import NOWHERE, PodSource
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.yaml.documents import read
from linting import findings_of, settings_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_sources(text: str) -> list[PodSource]:
    found = [each for each in manifests_in(read(textwrap.dedent(text).encode(), 0, 1)) if isinstance(each, Workload)]
    return [pod_source for each in found if (pod_source := operator_pods(each, NOWHERE)) is not None]


def resource(kind: str, spec: str) -> str:
    api_version, _, name = kind.rpartition("/")
    return f"apiVersion: {api_version}\nkind: {name}\nmetadata: {{name: orders, namespace: db}}\nspec: {spec}\n"


def anti_affinity(pod_source: PodSource) -> dict[str, Any]:
    found: dict[str, Any] = pod_source.pod["affinity"]["podAntiAffinity"]
    return found


CLUSTER = "postgresql.cnpg.io/v1/Cluster"


def test_cloudnative_pg_keeps_its_instances_apart() -> None:
    (pod_source,) = pod_sources(resource(CLUSTER, "{instances: 3}"))
    assert (pod_source.key, pod_source.replicas) == ("Cluster db/orders", 3)
    (term,) = anti_affinity(pod_source)[PREFERRED]
    assert term["weight"] == 100
    assert term["podAffinityTerm"] == {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"cnpg.io/cluster": "orders", "cnpg.io/podRole": "instance"}},
    }
    assert pod_source.notes == ("the operator adds a preferred anti-affinity over kubernetes.io/hostname",)


def test_what_the_resource_says_of_it_counts() -> None:
    (pod_source,) = pod_sources(resource(CLUSTER, "{instances: 3, affinity: {podAntiAffinityType: required, topologyKey: zone}}"))
    (term,) = anti_affinity(pod_source)[REQUIRED]
    assert term["topologyKey"] == "zone"
    (pod_source,) = pod_sources(resource(CLUSTER, "{instances: 3, affinity: {enablePodAntiAffinity: false, nodeSelector: {a: b}}}"))
    assert pod_source.pod == {"nodeSelector": {"a": "b"}}
    assert pod_source.notes == ()


def test_what_the_user_adds_is_kept() -> None:
    own = f"{{podAntiAffinityType: required, additionalPodAntiAffinity: {{{REQUIRED}: [{{topologyKey: rack, labelSelector: {{}}}}]}}}}"
    (pod_source,) = pod_sources(resource(CLUSTER, f"{{instances: 3, affinity: {own}}}"))
    assert [each["topologyKey"] for each in anti_affinity(pod_source)[REQUIRED]] == ["rack", "kubernetes.io/hostname"]


@pytest.mark.parametrize(
    ("kind", "spec", "labels"),
    [
        (
            "databases.spotahome.com/v1/RedisFailover",
            "{redis: {replicas: 3}, sentinel: {replicas: 3, tolerations: [{operator: Exists}]}}",
            {"app.kubernetes.io/component": "sentinel"},
        ),
        ("zookeeper.pravega.io/v1beta1/ZookeeperCluster", "{replicas: 3}", {"app": "orders"}),
    ],
)
def test_other_operators(kind: str, spec: str, labels: dict[str, str]) -> None:
    (pod_source,) = pod_sources(resource(kind, spec))
    (term,) = anti_affinity(pod_source)[PREFERRED]
    assert labels.items() <= term["podAffinityTerm"]["labelSelector"]["matchLabels"].items()
    assert labels.items() <= {label.key: label.value.replace("{name}", "orders") for label in pod_source.added}.items()


def test_percona_by_its_own_word() -> None:
    kind = "pxc.percona.com/v1/PerconaXtraDBCluster"
    (pod_source,) = pod_sources(resource(kind, "{pxc: {size: 3, nodeSelector: {a: b}, affinity: {antiAffinityTopologyKey: zone}}}"))
    (term,) = anti_affinity(pod_source)[REQUIRED]
    assert term["topologyKey"] == "zone"
    assert term["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "pxc"
    (pod_source,) = pod_sources(resource(kind, "{pxc: {size: 3, nodeSelector: {a: b}, affinity: {antiAffinityTopologyKey: none}}}"))
    assert "affinity" not in pod_source.pod


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        # The number, the settings, and what another controller does with the resource are unknown.
        (CLUSTER, "{}"),
        ("pxc.percona.com/v1/PerconaXtraDBCluster", "{pxc: {size: 3, nodeSelector: {a: b}}}"),
        ("monitoring.coreos.com/v1/Prometheus", "{replicas: 2, shards: 2}"),
        ("kafka.strimzi.io/v1/KafkaConnect", "{replicas: 3, rack: {topologyKey: zone}}"),
        ("asdb.aerospike.com/v1/AerospikeCluster", "{size: 3, podSpec: {nodeSelector: {a: b}}, rackConfig: {racks: []}}"),
        ("minio.min.io/v2/Tenant", "{pools: [{servers: 4, nodeSelector: {a: b}}]}"),
        ("example.com/v1/Widget", "{replicas: 3, nodeSelector: {a: b}}"),
    ],
)
def test_what_is_not_certain_makes_no_pods(kind: str, spec: str) -> None:
    assert pod_sources(resource(kind, spec)) == []


def test_rules_about_places_know_them() -> None:
    nodes = b"nodes:\n  - {name: n1}\n  - {name: n2}\n"
    cluster = resource(CLUSTER, "{instances: 3, affinity: {podAntiAffinityType: required}}").encode()
    found = findings_of({"cluster.yaml": cluster, "nodes.yaml": nodes}, settings_of(), nodes=["nodes.yaml"])
    assert [(each.rule, each.object.name) for each in found] == [("too-few-domains", "orders")]
