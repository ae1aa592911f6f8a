"""What rules about nodes and about node pools ask of the workloads: what separates them, and which nodes they require."""

import re
import textwrap

from afflint.checks.cluster_view import ClusterView, keeps_apart
from afflint.findings.finding import NO_OBJECT, Site
from afflint.inventory.node_classes import classes_of
from afflint.kube.selectors import Requirement, Selector
from afflint.kube.taints import COMPARISON_GATE
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import reduce_run
from afflint.pools.pool import Label, Pool
from afflint.source.sources import Source
from cluster_objects import HOST, REQUIRED, ZONE
from linting import messages_of
from node_text import read_nodes
from on_nodes import POOL, apart, spread, workload

NODES = f"""\
nodes:
- {{name: w1, labels: {{{ZONE}: a, example.com/disk: hdd}}}}
- {{name: w2, labels: {{{ZONE}: b}}}}
- {{name: w3, labels: {{{ZONE}: b}}, taints: ["gpu:NoSchedule", "soft:PreferNoSchedule"]}}
"""


def view_of(manifests: str, nodes: str = NODES) -> ClusterView:
    files = Files([Source("a.yaml", "a.yaml", manifests.encode())], (), ())
    index = reduce_run(files, default_settings()._replace(inventory=True)).manifest_index
    assert index is not None
    return ClusterView(read_nodes("nodes.yaml", nodes.encode()), index, "example.com/host")


def separated(spec: str) -> list[bool]:
    view = view_of(workload(spec))
    [pods] = view.manifest_index.pods
    return [keeps_apart(ref, pods) for ref in view.manifest_index.selector_refs_of(pods)]


def test_replicas_are_kept_apart_by_terms_and_constraints_that_select_them() -> None:
    assert separated(apart(HOST)) == [True]
    assert separated(apart(HOST, required=False)) == [True]
    assert separated(spread(ZONE)) == [True]
    assert separated(apart(HOST, "other")) == [False]
    assert separated(apart(HOST).replace("podAntiAffinity", "podAffinity")) == [False]


def test_a_node_is_required_by_its_labels_or_by_its_name() -> None:
    def required(spec: str) -> set[str]:
        view = view_of(workload(spec))
        return view.asks_for(view.pod_sources[0])

    by_name = "{matchFields: [{key: metadata.name, operator: In, values: [w1]}]}"
    by_label = "{matchExpressions: [{key: disk, operator: Exists}]}"
    assert required("") == set()
    assert required("nodeSelector: {tier: web}") == {"tier"}
    for term, keys in ((by_name, {HOST}), (by_label, {"disk"})):
        assert required(f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{term}]}}}}}}") == keys
        preferred = f"preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, preference: {term}}}]"
        assert required(f"affinity: {{nodeAffinity: {{{preferred}}}}}") == set()


def test_each_node_zone_and_host_may_fail_but_not_all_open_nodes() -> None:
    def failures(nodes: str) -> list[str]:
        return [f"{each.what}: {' '.join(each.nodes)}" for each in view_of(workload(), nodes).failures]

    assert failures(NODES) == ["node w1: w1", "node w2: w2", "node w3: w3", "zone b: w2 w3"]
    one_zone = NODES.replace(f"{ZONE}: a", f"{ZONE}: b").replace("{name: w3", "{unschedulable: true, name: w3")
    assert failures(one_zone) == ["node w1: w1", "node w2: w2", "node w3: w3"]
    reversed_nodes = "nodes:\n" + "".join(f"{line}\n" for line in reversed(NODES.splitlines()[1:]))
    assert failures(reversed_nodes) == ["node w1: w1", "node w2: w2", "node w3: w3", "zone b: w3 w2"]
    one_host = re.sub("w[13], labels: {", r"\g<0>example.com/host: h1, ", NODES)
    assert failures(one_host)[-1].endswith("host h1: w1 w3")


def test_what_pools_and_nodes_have_as_labels_is_known() -> None:
    view = view_of(workload())
    assert view.label_keys == {ZONE, "example.com/disk", HOST}


def test_version_and_feature_gate_decide_whether_tolerations_compare_numbers() -> None:
    index = view_of(workload("tolerations: [{key: level, operator: Gt, value: '3', effect: NoSchedule}]")).manifest_index
    [pods] = index.pods
    nodes = read_nodes("nodes.yaml", b"nodes: [{name: w1, taints: ['level=5:NoSchedule']}]")
    for version, gates, usable in (((1, 35), [COMPARISON_GATE], 1), ((1, 34), [COMPARISON_GATE], 0), ((1, 35), [], 0)):
        assert len(ClusterView(nodes, index, "host", version=version, feature_gates=gates).usable(pods)) == usable


def test_a_pool_may_create_nodes_with_its_own_labels() -> None:
    ssd = Requirement("disk", "In", ("ssd",))
    workers = Pool("workers", "NodePool", Site(0, 0, ()), NO_OBJECT, (), "own", labels=(Label(ssd),))
    view = ClusterView(
        read_nodes("nodes.yaml", NODES.encode()), view_of(workload()).manifest_index, "host", classes=classes_of([workers], {})
    )
    assert view.may_be_made(Selector((ssd,)))
    assert not view.may_be_made(Selector((Requirement("disk", "In", ("hdd",)),)))
    assert not view_of(workload()).may_be_made(Selector((ssd,)))
    assert view.label_keys == {ZONE, "example.com/disk", HOST, "disk"}


# Node pools


def on_pools(spec: str, *, nodes: str = "", text: str = "") -> list[str]:
    """The place and the message of what is reported for a workload that no pool can take."""
    files = {"a.yaml": text or workload(textwrap.dedent(spec)), "pools.yaml": POOL, **({"nodes.yaml": nodes} if nodes else {})}
    return messages_of(files, "no-matching-pool")


def affinity(*parts: str) -> str:
    return f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{{', '.join(parts)}}}]}}}}}}"


HDD = "matchExpressions: [{key: example.com/disk, operator: Exists}, {key: example.com/disk, operator: In, values: [hdd]}]"
BY_NAME = "matchFields: [{key: metadata.name, operator: In, values: [w1]}]"


def test_a_required_term_that_no_pool_meets_is_reported_at_its_requirement() -> None:
    [found] = on_pools(affinity(HDD))
    column = affinity(HDD).index("{key: example.com/disk, operator: In") + 8
    assert found.startswith(f"10:{column} ")


def test_a_node_that_is_there_must_have_the_labels_and_no_untolerated_taint() -> None:
    hdd = "nodeSelector: {example.com/disk: hdd}"
    nodes = "nodes:\n- {name: w1, labels: {example.com/disk: hdd}}\n"
    assert len(on_pools(hdd)) == 1
    assert on_pools(hdd, nodes=nodes) == []
    assert len(on_pools(hdd, nodes=nodes.replace("disk: hdd", "disk: nvme"))) == 1
    assert len(on_pools(hdd, nodes=nodes.replace("hdd}}", "hdd}, taints: ['a:NoSchedule']}"))) == 1


def test_pods_that_name_their_node_are_not_for_pools() -> None:
    assert on_pools(affinity(HDD, BY_NAME)) == []
    assert on_pools("nodeName: w1\nnodeSelector: {example.com/disk: hdd}") == []
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      "
    assert len(on_pools("", text=patch + affinity(HDD) + "\n")) == 1
    assert on_pools("", text=patch + affinity(HDD, BY_NAME) + "\n") == []


def test_pods_that_their_namespace_refuses_are_not_for_pools() -> None:
    shop = (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {openshift.io/node-selector: example.com/disk=VALUE}}\n---\n"
    )
    web = workload("nodeSelector: {example.com/disk: hdd}")
    assert len(on_pools("", text=shop.replace("VALUE", "hdd") + web)) == 1
    assert on_pools("", text=shop.replace("VALUE", "ssd") + web) == []


def test_a_label_that_the_namespace_requires_is_required_of_pools() -> None:
    shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {openshift.io/node-selector: example.com/disk=hdd}}\n---\n"
    [found] = on_pools("", text=shop + workload())
    assert "no pool in these manifests has `example.com/disk: hdd`" in found
    assert len(on_pools("", text=shop + workload("nodeSelector: {example.com/disk: hdd}"))) == 1
