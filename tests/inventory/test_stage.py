"""What `check` and `place` know of a cluster is the same: its namespaces, and what is not known yet and so proves nothing."""

from afflint.pipeline.map_step import default_settings
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from on_nodes import messages_of, rules, workload

NODES = """
- {name: w1, labels: {topology.kubernetes.io/zone: a}}
- {name: w2, labels: {topology.kubernetes.io/zone: b}}
"""
NAMESPACES = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: blue}}
---
apiVersion: v1
kind: Namespace
metadata: {name: store, labels: {team: red}}
---
"""
CACHE = workload(name="cache", replicas=1).replace("namespace: shop", "namespace: store")


def beside(selector: str, kind: str = "podAffinity") -> str:
    """Pods that must be, or must not be, where caches run, in namespaces of these labels."""
    term = f"{{namespaceSelector: {selector}, labelSelector: {{matchLabels: {{app: cache}}}}, topologyKey: kubernetes.io/hostname}}"
    return workload(f"affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}", replicas=1)


RED, BLUE = "{matchLabels: {team: red}}", "{matchLabels: {team: blue}}"


def test_a_namespace_selector_is_checked_against_the_namespaces_of_the_run() -> None:
    assert rules(NODES, f"{NAMESPACES}{CACHE}---\n{beside(RED)}", complete=True) == []
    [found] = messages_of("unschedulable", NODES, f"{NAMESPACES}{CACHE}---\n{beside(BLUE)}", complete=True)
    assert found.endswith("error: the pod fits none of the 2 nodes: 2 nodes have no pod with app=cache")


def test_the_name_of_a_namespace_is_one_of_its_labels_even_without_an_object() -> None:
    named = "{matchLabels: {kubernetes.io/metadata.name: store}}"
    assert rules(NODES, f"{CACHE}---\n{beside(named)}", complete=True) == []
    other = "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [store]}]}"
    assert messages_of("unschedulable", NODES, f"{CACHE}---\n{beside(other)}", complete=True) != []


def test_labels_of_a_namespace_that_is_not_there_prove_nothing() -> None:
    text = f"{CACHE}---\n{beside(RED)}"
    assert rules(NODES, text, complete=True) == []
    placing = read_place_inputs(
        [Source("a.yaml", "a.yaml", text.encode())], [Source("n", "n", f"nodes:{NODES}".encode())], [], default_settings()
    )
    assert [pod_source.notes for pod_source in placing.simulation_input.pod_sources] == [
        (),
        (
            (
                "a namespaceSelector requires labels of namespace `store`, which no manifest defines; "
                "the simulation assumes that it has only the label with its name"
            ),
        ),
    ]


def test_two_objects_that_give_one_namespace_different_labels_prove_nothing() -> None:
    again = NAMESPACES.replace("team: red", "team: blue")
    assert rules(NODES, f"{again}{NAMESPACES}{CACHE}---\n{beside(RED)}", complete=True) == []


def test_an_anti_affinity_counts_in_the_namespaces_that_it_selects() -> None:
    kept_off = beside(RED, "podAntiAffinity")
    everywhere = CACHE.replace("replicas: 1", "replicas: 2").replace("    spec:\n", "    spec:\n      ANTI\n")
    apart = "{labelSelector: {matchLabels: {app: cache}}, topologyKey: kubernetes.io/hostname}"
    anti = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{apart}]}}}}"
    both = f"{everywhere.replace('ANTI', anti)}---\n{kept_off}"
    assert messages_of("competing-workloads", NODES, f"{NAMESPACES}{both}") != []
    assert messages_of("competing-workloads", NODES, f"{NAMESPACES}{both.replace('team: red', 'team: blue')}") == []


def test_affinity_to_a_template_is_as_uncertain_as_the_template() -> None:
    """A false error before: the cache was left out, so no pod matched the affinity."""
    cache = workload('nodeSelector: {topology.kubernetes.io/zone: "${ZONE}"}', name="cache", replicas=1)
    near = "{labelSelector: {matchLabels: {app: cache}}, topologyKey: kubernetes.io/hostname}"
    web = workload(f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{near}]}}}}", replicas=1)
    assert rules(NODES, f"{cache}---\n{web}", complete=True) == []
    assert rules(NODES, web, complete=True) != []


def test_nodes_are_read_once_however_many_files_there_are() -> None:
    """Each file was compared with all nodes before it."""
    files = [Source(f"{number}.yaml", f"{number}.yaml", f"nodes: [{{name: w{number}}}]".encode()) for number in range(50)]
    web = Source("web.yaml", "web.yaml", workload().encode())
    simulation_input, problems, *_ = read_place_inputs([web, *files], [], [], default_settings())
    assert ([fact.name for fact in simulation_input.nodes], problems) == ([f"w{number}" for number in range(50)], ())


def test_objects_whose_names_the_cluster_makes_are_several() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: load-, namespace: shop}\n"
    job += "spec:\n  template:\n    metadata: {labels: {app: load}}\n"
    job += "    spec: {restartPolicy: Never, containers: [{name: c, image: 'i:1'}]}\n"
    sources = [Source("a.yaml", "a.yaml", f"{job}---\n{job}".encode())]
    placing = read_place_inputs(sources, [Source("n", "n", b"nodes: [{name: w1}]")], [], default_settings())
    assert [pod_source.key for pod_source in placing.simulation_input.pod_sources] == ["Job shop/load-x", "Job shop/load-x2"]


def test_a_kind_of_another_group_is_another_object() -> None:
    database = workload(kind="StatefulSet", name="db")
    other = database.replace("apps/v1", "apps.kruise.io/v1beta1")
    sources = [Source("a.yaml", "a.yaml", f"{database}---\n{other}".encode())]
    placing = read_place_inputs(sources, [Source("n", "n", b"nodes: [{name: w1}]")], [], default_settings())
    assert [pod_source.key for pod_source in placing.simulation_input.pod_sources] == [
        "StatefulSet shop/db",
        "StatefulSet.apps.kruise.io shop/db",
    ]


def test_an_object_that_is_there_many_times_names_a_few_places() -> None:
    sources = [Source("a.yaml", "a.yaml", "---\n".join(7 * [workload()]).encode())]
    placing = read_place_inputs(sources, [Source("n", "n", b"nodes: [{name: w1}]")], [], default_settings())
    [pod_source] = placing.simulation_input.pod_sources
    lines = len(workload().splitlines()) + 1
    assert pod_source.notes == (
        *[f"it is defined again in a.yaml:{3 + number * lines}; the simulation ignores that definition" for number in (1, 2, 3)],
        "and 3 more times",
    )


def test_pods_without_a_namespace_are_in_all_namespaces_together() -> None:
    """An empty namespaceSelector selects each namespace, so it does not matter that the namespace of the pods is unknown."""
    everywhere = "{namespaceSelector: {}, labelSelector: {matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}"
    web = workload(f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{everywhere}]}}}}")
    [found] = messages_of("too-few-domains", NODES, web.replace(", namespace: shop", ""))
    assert found.startswith("a.yaml:10:86 error: 3 replicas, 2 zones")


def test_an_autoscaler_that_may_scale_to_zero_still_needs_a_node_for_one_pod() -> None:
    scaler = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\n"
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 0, maxReplicas: 4}\n"
    )
    web = workload("nodeSelector: {disk: ssd}", replicas=1)
    assert [each.partition(": ")[0] for each in messages_of("unschedulable", NODES, f"{web}---\n{scaler}")] == ["a.yaml:10:7 error"]


def test_the_first_of_two_budgets_with_one_name_counts() -> None:
    def budget(amount: str) -> str:
        return (
            "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
            f"spec: {{{amount}, selector: {{matchLabels: {{app: web}}}}}}\n"
        )

    strict, loose = budget("minAvailable: 3"), budget("minAvailable: 1")
    assert len(messages_of("drain-blocked", NODES, workload() + strict + loose)) == 1
    assert messages_of("drain-blocked", NODES, workload() + loose + strict) == []


def test_a_default_of_the_cluster_proves_nothing_about_pods_in_an_unknown_namespace() -> None:
    """The annotations of the namespace may replace the default."""
    default = "apiVersion: config.openshift.io/v1\nkind: Scheduler\nmetadata: {name: cluster}\nspec: {defaultNodeSelector: tier=web}\n---\n"
    assert messages_of("unschedulable", NODES, default + workload()) == []
    shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
    [found] = messages_of("unschedulable", NODES, default + shop + workload())
    assert "2 nodes lack tier=web" in found
    red = shop.replace("{name: shop}", "{name: shop, annotations: {openshift.io/node-selector: ''}}")
    assert messages_of("unschedulable", NODES, default + red + workload()) == []


def test_labels_of_kubelets_that_no_node_has_are_assumed_and_noted_in_their_order() -> None:
    web = workload("nodeSelector: {kubernetes.io/os: linux, kubernetes.io/arch: amd64}")
    placing = read_place_inputs(
        [Source("a.yaml", "a.yaml", web.encode())], [Source("n", "n", b"nodes: [{name: w1}]")], [], default_settings()
    )
    [pod_source] = placing.simulation_input.pod_sources
    assert pod_source.notes == (
        "no node has the label kubernetes.io/arch; the simulation assumes that all nodes have kubernetes.io/arch=amd64",
        "no node has the label kubernetes.io/os; the simulation assumes that all nodes have kubernetes.io/os=linux",
    )


def test_namespaces_of_workloads_and_running_pods_are_known_by_name() -> None:
    pods = "---\n".join(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}{where}}}\nspec: {{nodeName: w1}}\n"
        for number, where in enumerate(("", ", namespace: ''", ", namespace: store", ", namespace: shop"))
    )
    sources = [Source("a.yaml", "a.yaml", workload().encode())], [Source("n", "n", b"nodes: [{name: w1}]")]
    placing = read_place_inputs(*sources, [Source("pods.yaml", "pods.yaml", pods.encode())], default_settings())
    assert [each.name for each in placing.simulation_input.inventory.namespaces] == ["shop", "default", "store"]
