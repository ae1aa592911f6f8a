"""Autoscalers and what they scale: one range of replicas, which all rules ask for."""

import textwrap

import pytest

from afflint.controllers.replica_counts import ReplicaRange
from afflint.index.manifest_index import ManifestIndex
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import reduce_run
from afflint.source.sources import Source


def manifest_index(**files: str) -> ManifestIndex:
    """The manifests of some files; an underscore in a name separates folders."""
    sources = [
        Source(name, name, textwrap.dedent(text).encode())
        for name, text in ((f"{name.replace('_', '/')}.yaml", text) for name, text in files.items())
    ]
    found = reduce_run(Files(sources, (), ()), default_settings()).manifest_index
    assert found is not None
    return found


def workload(replicas: str = "", *, kind: str = "Deployment", name: str = "web", namespace: str = "") -> str:
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}{f", namespace: {namespace}" if namespace else ""}}}
spec:
  {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: c, image: nginx}}]}}
"""


def hpa(fields: str = "minReplicas: 2, maxReplicas: 10", *, name: str = "web", namespace: str = "", kind: str = "Deployment") -> str:
    where = f", namespace: {namespace}" if namespace else ""
    target = f"scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}, " if kind else ""
    return f"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}{where}}}\nspec: {{{target}{fields}}}\n"


def keda(fields: str = "", annotations: str = "") -> str:
    return (
        f"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: web, annotations: {{{annotations}}}}}\n"
        f"spec: {{scaleTargetRef: {{name: web}}, triggers: []{fields}}}\n"
    )


def scale(**files: str) -> ReplicaRange:
    [pods] = [pods for pods in manifest_index(**files).pods if pods.ref.name == "web"]
    return pods.scale


BY = "HorizontalPodAutoscaler web"


@pytest.mark.parametrize(
    ("replicas", "fields", "expected"),
    [
        ("", "minReplicas: 2, maxReplicas: 10", ReplicaRange(2, 2, 10, scaler=BY)),
        ("replicas: 1", "minReplicas: 2, maxReplicas: 10", ReplicaRange(2, 2, 10, scaler=BY)),
        ("replicas: 5", "minReplicas: 2, maxReplicas: 10", ReplicaRange(5, 2, 10, scaler=BY)),
        ("replicas: 50", "minReplicas: 2, maxReplicas: 10", ReplicaRange(10, 2, 10, scaler=BY)),
        ("replicas: 3", "maxReplicas: 4", ReplicaRange(3, 1, 4, scaler=BY)),
        ("", "minReplicas: 0, maxReplicas: 4", ReplicaRange(1, 0, 4, scaler=BY)),
        ("replicas: 0", "minReplicas: 2, maxReplicas: 4", ReplicaRange(0, 0, 0)),
        ("replicas: 3", "minReplicas: 2", ReplicaRange(open_ended=True, scaler=BY)),
        ("replicas: 3", "minReplicas: 2, maxReplicas: '${MAX}'", ReplicaRange(open_ended=True, scaler=BY)),
        ("replicas: 3", "minReplicas: 5, maxReplicas: 2", ReplicaRange(open_ended=True, scaler=BY)),
    ],
)
def test_a_horizontal_pod_autoscaler_gives_the_range(replicas: str, fields: str, expected: ReplicaRange) -> None:
    assert scale(a=workload(replicas), b=hpa(fields)) == expected


@pytest.mark.parametrize(
    ("fields", "annotations", "expected"),
    [
        ("", "", (1, 0, 100)),
        (", minReplicaCount: 2, maxReplicaCount: 5", "", (2, 2, 5)),
        (", minReplicaCount: 2, maxReplicaCount: 5, idleReplicaCount: 0", "", (1, 0, 5)),
        ("", "autoscaling.keda.sh/paused-replicas: '3'", (3, 3, 3)),
        ("", "autoscaling.keda.sh/paused-replicas: '0'", (0, 0, 0)),
    ],
)
def test_a_scaled_object_gives_the_range(fields: str, annotations: str, expected: tuple[int, int, int]) -> None:
    assert scale(a=workload(), b=keda(fields, annotations)) == ReplicaRange(*expected, scaler="ScaledObject web")


def test_what_it_scales_is_identified_by_kind_name_and_namespace_or_place() -> None:
    own = ReplicaRange(3, 3, 3)
    three = workload("replicas: 3")
    assert scale(a=three, b=hpa(kind="StatefulSet")) == own
    assert scale(a=three, b=hpa(name="cart")) == own
    assert scale(a=workload("replicas: 3", namespace="shop"), b=hpa(namespace="store")) == own
    assert scale(one_a=three, other_b=hpa()) == own, "two applications side by side"
    assert scale(one_a=workload(namespace="shop"), other_b=hpa(namespace="shop")).most == 10
    assert scale(base_a=three, base_scaling_b=hpa()).most == 10
    assert scale(base_a=three, base_hpa_web_b=hpa()).most == 10
    assert scale(base_a=three, base_hpa_web_prod_b=hpa()) == own, "three levels below"
    assert scale(a=three, b=hpa(namespace="shop")).most == 10, "the namespace may be added to one of them later"
    assert scale(a=three, b=hpa().replace("apps/v1", "extensions/v1beta1")).most == 10
    assert scale(a=three, b=hpa().replace("apps/v1", "example.com/v1")) == own
    rollout = three.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")
    assert scale(a=rollout, b=hpa(kind="Rollout").replace("apps/v1", "argoproj.io/v1alpha1")).most == 10
    assert scale(a=three, b=hpa(), c=hpa("minReplicas: 1, maxReplicas: 4")) == ReplicaRange(3, 1, 10, scaler=BY)
    near = hpa("minReplicas: 1, maxReplicas: 4", namespace="shop")
    assert scale(x_a=workload(namespace="shop"), x_b=near, y_b=hpa(namespace="shop")).most == 4, "each cluster has its own"


def test_an_autoscaler_of_a_resource_with_several_templates_sets_none_of_their_numbers() -> None:
    """The resource has one number of replicas for its autoscaler, and afflint does not know which template it counts."""
    pods = (
        "template: {metadata: {labels: {app: web}}, spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: c, image: i}]}}"
    )
    head = f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: web}}\nspec:\n  headGroupSpec: {{{pods}}}\n"
    scaler = hpa(kind="RayCluster").replace("apps/v1", "ray.io/v1")
    assert scale(a=head, b=scaler).most == 10
    both = f"{head}  workerGroupSpecs: [{{groupName: a, replicas: 3, {pods}}}]\n"
    assert [pods.scale for pods in manifest_index(a=both, b=scaler).pods] == [ReplicaRange(), ReplicaRange(3, 3, 3)]


def test_a_patch_of_an_autoscaler_widens_the_range() -> None:
    assert scale(base_a=workload(), base_b=hpa(), prod_b=hpa("maxReplicas: 30", kind="")) == ReplicaRange(2, 2, 30, scaler=BY)


def test_a_patch_of_another_namespace_changes_nothing() -> None:
    base = {"base_a": workload(namespace="shop"), "base_b": hpa(namespace="shop")}
    for namespace, most in (("shop", 30), ("", 30), ("store", 10)):
        assert scale(**base, prod_b=hpa("maxReplicas: 30", kind="", namespace=namespace)).most == most


@pytest.mark.parametrize("paused", ["${COUNT}", "-1", "²"])
def test_a_number_of_paused_replicas_that_is_none_leaves_the_range_open(paused: str) -> None:
    assert scale(a=workload(), b=keda("", f"autoscaling.keda.sh/paused-replicas: '{paused}'")).open_ended


def test_daemons_and_jobs_are_not_scaled() -> None:
    assert scale(a=workload(kind="DaemonSet"), b=hpa(kind="DaemonSet")) == ReplicaRange(open_ended=True)
