"""What `afflint place` reads from files: nodes and pods with their resources, namespaces, and what cannot be used, with its position."""

from collections.abc import Sequence

import pytest

from afflint.inventory.node_files import NodeFileError
from afflint.inventory.simulation_input import SimulationInput
from afflint.pipeline.map_step import default_settings
from afflint.placement.planner import make_plan
from afflint.simulation.inputs import PlaceRequest, read_place_inputs
from afflint.source.sources import Source


def stage_of(
    manifests: Sequence[Source], nodes: Sequence[Source], pods: Sequence[Source] = (), *, resources: bool = False
) -> SimulationInput:
    """The input of the simulation from files without a problem."""
    simulation_input, problems, *_ = read_place_inputs(
        manifests, nodes, pods, default_settings(), request=PlaceRequest(resources=resources)
    )
    assert problems == ()
    return simulation_input


NODES = b"""
kind: List
apiVersion: v1
items:
- kind: Node
  apiVersion: v1
  metadata: {name: n1}
  status: {capacity: {cpu: "8"}, allocatable: {cpu: 7910m, memory: 31861236Ki, pods: "110"}}
- kind: Node
  apiVersion: v1
  metadata: {name: n2}
  status: {capacity: {cpu: "2"}}
"""
SHORT_NODES = b"nodes: [{name: n1, allocatable: {cpu: 8, memory: 32Gi}}, {name: n2, allocatable: {cpu: 2}}]"
WEB = b"""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {limits: {cpu: 4}}}]}
"""
RUNNING = b"""
apiVersion: v1
kind: Pod
metadata: {name: old}
spec: {nodeName: n1, containers: [{name: old, image: old, resources: {requests: {cpu: 4}}}]}
"""


NAMESPACE = b"""
apiVersion: v1
kind: Namespace
metadata: {name: default, annotations: {openshift.io/node-selector: disk=ssd}}
"""
SCALER = b"""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: default}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 4}
"""


def test_what_the_context_says_of_namespaces_and_numbers_counts() -> None:
    web = Source(
        "web.yaml", "web.yaml", WEB.replace(b"{name: web}\nspec:\n  replicas", b"{name: web, namespace: default}\nspec:\n  replicas")
    )
    context = [Source("ns.yaml", "ns.yaml", NAMESPACE), Source("hpa.yaml", "hpa.yaml", SCALER)]
    nodes = [Source("nodes.yaml", "nodes.yaml", SHORT_NODES)]
    [alone] = read_place_inputs([web], nodes, [], default_settings()).simulation_input.pod_sources
    assert (alone.replicas, alone.pod.get("nodeSelector")) == (1, None)
    [pod_source] = read_place_inputs([web], nodes, [], default_settings(), context).simulation_input.pod_sources
    assert (pod_source.replicas, pod_source.pod.get("nodeSelector")) == (2, {"disk": "ssd"})


@pytest.mark.parametrize("nodes", [NODES, SHORT_NODES])
def test_files_are_read_with_resources_if_asked(nodes: bytes) -> None:
    files = [Source("web.yaml", "web.yaml", WEB)], [Source("nodes.yaml", "nodes.yaml", nodes)]
    with_resources = stage_of(*files, resources=True)
    rows = make_plan(with_resources.inventory, with_resources.pod_sources).workloads[0].verdicts
    assert [(row.node, row.why) for row in rows] == [("n1", ""), ("n2", "insufficient CPU: 4 requested, 2 available")]
    without = stage_of(*files)
    assert all(row.feasible for row in make_plan(without.inventory, without.pod_sources).workloads[0].verdicts)


def test_running_pods_from_a_file_take_room() -> None:
    files = [Source("web.yaml", "web.yaml", WEB)], [Source("nodes.yaml", "nodes.yaml", NODES)]
    staged = stage_of(*files, [Source("pods.yaml", "pods.yaml", RUNNING)], resources=True)
    assert make_plan(staged.inventory, staged.pod_sources).workloads[0].verdicts[0].why == "insufficient CPU: 4 requested, 3910m available"


def test_a_running_pod_whose_requests_are_none_is_named_with_its_place() -> None:
    files = [Source("web.yaml", "web.yaml", WEB)], [Source("nodes.yaml", "nodes.yaml", NODES)]
    broken = Source("pods.yaml", "pods.yaml", RUNNING.replace(b"cpu: 4", b"cpu: four"))
    with pytest.raises(NodeFileError) as caught:
        stage_of(*files, [broken], resources=True)
    assert str(caught.value) == (
        "pods.yaml:2:1: Pod 'default/old': spec.containers[0].resources.requests['cpu'] is 'four', which is not a quantity"
    )
    assert stage_of(*files, [broken]).inventory.pods


def test_a_workload_is_refused_for_the_mistake_that_comes_first_in_the_file() -> None:
    weight = (
        b"      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: "
        b"{matchExpressions: [{key: disk, operator: Exists}]}}]}}\n"
    )
    toleration = b'      tolerations: [{key: "", operator: Equal, value: x}]\n'
    nodes = [Source("nodes.yaml", "nodes.yaml", SHORT_NODES)]
    for first, second, line in ((weight, toleration, 10), (toleration, weight, 10)):
        text = WEB.lstrip().replace(b"    spec: {containers", b"    spec:\n%b%b      {containers" % (first, second))
        text = text.replace(b"      {containers: ", b"      containers: ").replace(b"}}]}\n", b"}}]\n")
        [pod_source] = read_place_inputs([Source("web.yaml", "web.yaml", text)], nodes, [], default_settings()).simulation_input.pod_sources
        assert pod_source.refused.endswith(f"(line {line})"), pod_source.refused


LIMITS = b"""
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec:
  limits:
  - {type: Container, defaultRequest: {cpu: 3, memory: 1Gi}, default: {memory: 2Gi}, max: {cpu: 6}}
"""


def test_a_limit_range_gives_requests_to_containers_without_any() -> None:
    def requested(web: bytes) -> object:
        files = [Source("web.yaml", "web.yaml", web), Source("limits.yaml", "limits.yaml", LIMITS)]
        (pod_source,) = stage_of(files, [Source("nodes.yaml", "nodes.yaml", NODES)], resources=True).pod_sources
        assert pod_source.line == 4
        return pod_source.pod["containers"][0]["resources"]

    assert requested(WEB.replace(b", resources: {limits: {cpu: 4}}", b"")) == {
        "requests": {"cpu": 3, "memory": "1Gi"},
        "limits": {"cpu": 6, "memory": "2Gi"},
    }
    # A limit of the container is its request.
    assert requested(WEB) == {"requests": {"memory": "1Gi"}, "limits": {"cpu": 4, "memory": "2Gi"}}


def test_a_limit_range_of_another_namespace_changes_nothing() -> None:
    other = LIMITS.replace(b"name: limits", b"name: limits, namespace: shop")
    files = [Source("web.yaml", "web.yaml", WEB), Source("limits.yaml", "limits.yaml", other)]
    (pod_source,) = stage_of(files, [Source("nodes.yaml", "nodes.yaml", NODES)], resources=True).pod_sources
    assert pod_source.pod["containers"][0]["resources"] == {"limits": {"cpu": 4}}


TOLERATE = b"""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tolerate}
spec:
  rules:
  - name: add-toleration
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {tolerations: [{key: gpu, operator: Exists}]}}}
"""


def test_a_mutating_policy_is_noted() -> None:
    files = [Source("web.yaml", "web.yaml", WEB), Source("policy.yaml", "policy.yaml", TOLERATE)]
    inputs = read_place_inputs(files, [Source("nodes.yaml", "nodes.yaml", NODES)], [], default_settings())
    assert inputs.notes == ("the Kyverno ClusterPolicy `tolerate` may set `tolerations`; it is not applied",)
    (pod_source,) = inputs.simulation_input.pod_sources
    assert "tolerations" not in pod_source.pod
