"""Replicas that keep apart, against the most nodes and zones that pools can have, where the configuration says that these are all."""

import pytest

from afflint.checks.match import Target
from linting import lint
from on_nodes import POOL, apart, workload

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
CLUSTER = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: c}\n"
GROUPS = f"""\
{CLUSTER}managedNodeGroups:
- {{name: a, desiredCapacity: 1, labels: {{pool: web}}, availabilityZones: [eu-1a]}}
- {{name: b, minSize: 0, maxSize: 2, labels: {{pool: web}}, availabilityZones: [eu-1a, eu-1b]}}
- {{name: batch, minSize: 0, maxSize: 90, labels: {{pool: batch}}, availabilityZones: [eu-1c]}}
"""
IN_TWO_ZONES = "requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-1a, eu-1b]}]"
NODE_POOL = POOL.replace("example.com/disk: ssd", "pool: web").replace("requirements: []", IN_TWO_ZONES)
AUTOSCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: LEAST, maxReplicas: MOST}
"""
ON_WEB = "nodeSelector: {pool: web}\n"


def messages(pools: str, manifests: str, *, complete: bool = True) -> list[str]:
    """``line:column severity message`` of what is said of too few domains."""
    found = lint({"pools.yaml": pools, "web.yaml": manifests}, target=Target(complete_nodes=complete))
    return [f"{each.span.line}:{each.span.column} {each.severity} {each.message}" for each in found if each.rule == "too-few-domains"]


def test_nodes_are_counted_in_the_pools_that_take_the_pods() -> None:
    left = "the required podAntiAffinity over nodes allows only 3, so 2 stay Pending"
    assert messages(GROUPS, workload(ON_WEB + apart(HOST), replicas=5)) == [
        "11:86 error 5 replicas, at most 3 nodes in all (node group a has 1 and node group b has at most 2); " + left
    ]
    assert messages(GROUPS, workload(ON_WEB + apart(HOST), replicas=3)) == []
    assert messages(GROUPS, workload(apart(HOST), replicas=5)) == [], "the third group takes them as well"


def test_numbers_that_are_fixed_are_reported_as_such() -> None:
    fixed = CLUSTER + "nodeGroups: [{name: a, desiredCapacity: 1}, {name: b, minSize: 1, maxSize: 1}]\n"
    [found] = messages(fixed, workload(apart(HOST)))
    assert "3 replicas, 2 nodes in all (node group a has 1 and node group b has 1); " in found


def test_zones_need_no_numbers() -> None:
    left = "the required podAntiAffinity over zones allows only 2, so 1 stays Pending"
    assert messages(NODE_POOL, workload(apart(ZONE))) == ["10:86 error 3 replicas, 2 zones in all (`eu-1a` and `eu-1b`); " + left]
    assert messages(NODE_POOL, workload(apart(ZONE), replicas=2)) == []
    assert messages(NODE_POOL, workload(apart("failure-domain.beta.kubernetes.io/zone"))) != []
    somewhere = NODE_POOL.replace("name: fast", "name: anywhere").replace("topology.kubernetes.io/zone", "kubernetes.io/arch")
    assert messages(f"{NODE_POOL}---\n{somewhere}", workload(apart(ZONE))) == [], "the zones of its nodes are unknown"


def test_a_port_of_the_host_is_taken_once_on_each_node() -> None:
    port = "containers: [{name: web, image: 'web:1', ports: [{containerPort: 80, hostPort: 80}]}]\n"
    text = workload(ON_WEB, replicas=5).replace("containers: [{name: web, image: 'nginx:1.27'}]\n", port)
    [found] = messages(GROUPS, text)
    assert found.endswith("; host port 80 allows only 3, so 2 stay Pending")


def test_of_a_job_that_is_an_info() -> None:
    [found] = messages(GROUPS, workload(ON_WEB + apart(HOST), kind="Job", replicas=5))
    assert " info 5 replicas" in found
    assert found.endswith("allows only 3 at a time")


def test_the_fewest_replicas_of_an_autoscaler_count_and_the_most_are_an_info() -> None:
    text = workload(ON_WEB + apart(HOST), replicas=9)
    assert messages(GROUPS, text + AUTOSCALER.replace("LEAST", "2").replace("MOST", "3")) == []
    [found] = messages(GROUPS, text + AUTOSCALER.replace("LEAST", "4").replace("MOST", "9"))
    assert " error 4 replicas, at most 3 nodes in all " in found
    [found] = messages(GROUPS, text + AUTOSCALER.replace("LEAST", "2").replace("MOST", "9"))
    assert " info HorizontalPodAutoscaler web asks for up to 9 replicas, at most 3 nodes in all " in found


def test_nodes_that_are_listed_count_beside_pools_that_grow() -> None:
    nodes = "nodes:\n- {name: n1, labels: {pool: web}}\n"
    files = {"nodes.yaml": nodes, "web.yaml": workload(ON_WEB + apart(HOST), replicas=5), "pools.yaml": GROUPS}
    [found] = [each for each in lint(files, target=Target(complete_nodes=True)) if each.rule == "too-few-domains"]
    assert found.message.startswith("5 replicas, at most 4 nodes in all (node group a has 1, node group b has at most 2 and 1 is listed); ")


def test_nodes_of_a_pool_that_does_not_grow_are_those_that_are_listed() -> None:
    files = {
        "nodes.yaml": "nodes:\n- {name: n1}\n",
        "web.yaml": workload(apart(HOST)),
        "pools.yaml": CLUSTER + "nodeGroups: [{name: a, desiredCapacity: 1}]\n",
    }
    [found] = [each for each in lint(files, target=Target(complete_nodes=True)) if each.rule == "too-few-domains"]
    assert found.message.startswith("3 replicas, 1 node; "), "reported once"


@pytest.mark.parametrize(
    "pools",
    [
        pytest.param(NODE_POOL, id="no bound"),
        pytest.param(GROUPS.replace("maxSize: 2", "maxSize: ${MOST}"), id="a bound to be filled in"),
        pytest.param(GROUPS.replace("desiredCapacity: 1", "desiredCapacity: 0"), id="a pool that the user has to scale"),
        pytest.param(GROUPS.replace("desiredCapacity: 1", "minSize: 0, maxSize: -1"), id="a number that is none"),
        pytest.param(GROUPS + "fargateProfiles: [{name: all, selectors: [{namespace: shop}]}]\n", id="Fargate"),
        pytest.param(GROUPS + "autoModeConfig: {enabled: true}\n", id="EKS Auto Mode"),
        pytest.param(f"{GROUPS}---\n{NODE_POOL}", id="one of several without a bound"),
        pytest.param(f"{GROUPS}---\n{NODE_POOL.replace('pool: web', 'pool: ${POOL}')}", id="one that may match"),
    ],
)
def test_where_there_may_be_more_nodes_it_is_silent(pools: str) -> None:
    assert messages(GROUPS, workload(ON_WEB + apart(HOST), replicas=5)) != []
    assert messages(pools, workload(ON_WEB + apart(HOST), replicas=5)) == []


TO_CONTROL_PLANES = "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]\n"


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(ON_WEB + apart(HOST).replace("app: web", "app: other"), id="apart from others"),
        pytest.param(ON_WEB + TO_CONTROL_PLANES + apart(HOST), id="control planes, which no pool shows"),
        pytest.param(ON_WEB + apart("example.com/rack"), id="another key"),
        pytest.param("nodeSelector: {pool: '${POOL}'}\n" + apart(HOST), id="a value to be filled in"),
    ],
)
def test_pods_that_may_fit_elsewhere_are_not_reported(pods: str) -> None:
    assert messages(GROUPS, workload(pods, replicas=5)) == []


def test_a_control_plane_that_a_pool_shows_is_counted() -> None:
    groups = """\
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: masters, labels: {kops.k8s.io/cluster: c}}
spec: {role: Master, minSize: 1, maxSize: 1}
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: nodes, labels: {kops.k8s.io/cluster: c}}
spec: {role: Node, minSize: 1, maxSize: 1}
"""
    [found] = messages(groups, workload(TO_CONTROL_PLANES + apart(HOST)))
    assert "3 replicas, 2 nodes in all (InstanceGroup masters has 1 and InstanceGroup nodes has 1); " in found
    [found] = messages(groups, workload(apart(HOST)))
    assert "3 replicas, 1 node in all (InstanceGroup nodes has 1); " in found
    assert messages(groups.replace("role: Node,", "role: Node, manager: Karpenter,"), workload(apart(HOST))) == []


def test_pools_of_another_cluster_may_be_what_is_meant() -> None:
    far = """\
---
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: far}
spec: {rkeConfig: {machinePools: [{name: web, quantity: 9, workerRole: true, labels: {pool: web}}]}}
"""
    assert messages(GROUPS + far, workload(ON_WEB + apart(HOST), replicas=5)) == []


def test_pools_that_may_not_be_all_prove_nothing() -> None:
    assert messages(GROUPS, workload(ON_WEB + apart(HOST), replicas=5), complete=False) == []


def test_it_names_where_the_pools_are_declared() -> None:
    def beside(key: str, pools: str = GROUPS) -> list[tuple[int, str]]:
        files = {"pools.yaml": pools, "web.yaml": workload(ON_WEB + apart(key), replicas=5)}
        [found] = [each for each in lint(files, target=Target(complete_nodes=True)) if each.rule == "too-few-domains"]
        return [(each.span.line, each.message) for each in found.related]

    assert beside(HOST) == [(5, "node group a has 1 node"), (6, "node group b has at most 2 nodes")]
    assert beside(ZONE) == [(5, "node group a is in `eu-1a`"), (6, "node group b is in `eu-1a` and `eu-1b`")]
    assert beside(HOST, GROUPS.replace("maxSize: 2", "maxSize: 1"))[1] == (6, "node group b has at most 1 node")
