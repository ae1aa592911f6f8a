"""`afflint place` where nodes are declared as pools: as many are made as pods need, and no more than a pool may have."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from afflint import config
from afflint.inventory.node_classes import UnknownPoolError
from afflint.inventory.node_files import NodeFileError
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.session import Session
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.report.place import json_report, table
from afflint.report.place import page as place_page
from afflint.simulation.inputs import PlaceRequest, inputs_of, read_place_inputs
from afflint.source.sources import Source
from checkout import ROOT

APART = """
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}"""
SPREAD = """
      topologySpreadConstraints:
      - topologyKey: topology.kubernetes.io/zone
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}"""


def deployment(extra: str = "", replicas: int = 3, name: str = "web") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:{extra}
      containers: [{{name: a, image: "a:1"}}]
"""


def karpenter(name: str = "gpu", labels: str = "", requirements: str = "", spec: str = "", limits: str = "") -> str:
    return f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  limits: {{{limits}}}
  template:
    metadata: {{labels: {{{labels}}}}}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements: [{requirements}]
{spec}"""


ZONES = "{key: topology.kubernetes.io/zone, operator: In, values: [a, b, c]}"
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: shop, region: eu-1}
managedNodeGroups: [{name: few, minSize: 1, maxSize: 2, labels: {pool: few}, availabilityZones: [eu-1a]}]
"""


def plan_of(pools: str, *workloads: str, named: bool = True, asked: DisruptionRequest | None = None, **counts: int) -> Plan:
    """The plan for some workloads on pools that are named as files of nodes, or lie beside the workloads."""
    manifests = [Source(f"w{number}.yaml", f"w{number}.yaml", text.encode()) for number, text in enumerate(workloads)]
    source = [Source("pools.yaml", "pools.yaml", pools.encode())]
    given = (manifests, source) if named else ([*manifests, *source], [])
    simulation_input, problems, names, _, _, classes, *_ = read_place_inputs(
        *given, [], default_settings(), request=PlaceRequest(counts=counts)
    )
    assert problems == ()
    return make_plan(
        simulation_input.inventory,
        simulation_input.pod_sources,
        asked=asked or DisruptionRequest(),
        name_of=names.__getitem__,
        classes=classes,
    )


def nodes(plan: Plan, workload: int = 0) -> list[str | None]:
    return [replica.node for replica in plan.workloads[workload].replicas]


@pytest.mark.parametrize("named", [True, False])
def test_pods_without_constraints_share_one_node(*, named: bool) -> None:
    plan = plan_of(karpenter(), deployment(), named=named)
    assert nodes(plan) == ["gpu-1"] * 3
    assert [(row.name, row.pool) for row in plan.nodes] == [("gpu-1", "NodePool gpu")]
    assert [(pool.title, pool.least, pool.most, pool.nodes) for pool in plan.pools] == [("NodePool gpu", 0, None, 1)]


def test_pods_that_are_kept_apart_have_a_node_each() -> None:
    assert sorted(map(str, nodes(plan_of(karpenter(), deployment(APART, 5))))) == [f"gpu-{number}" for number in range(1, 6)]


def test_a_pool_has_no_more_nodes_than_it_may_have() -> None:
    plan = plan_of(GROUP, deployment(APART, 5))
    assert Counter(nodes(plan)) == {"few-1": 1, "few-2": 1, None: 3}
    assert [(pool.least, pool.most, pool.nodes) for pool in plan.pools] == [(1, 2, 2)]


def test_what_is_there_at_least_is_there_without_pods_too() -> None:
    plan = plan_of(GROUP, deployment("\n      nodeSelector: {pool: other}"))
    assert [row.name for row in plan.nodes] == ["few-1"]
    assert nodes(plan) == [None] * 3


def test_a_number_that_is_asked_for_is_used() -> None:
    plan = plan_of(karpenter(), deployment(APART, 5), gpu=2)
    assert Counter(nodes(plan))[None] == 3
    assert len(plan_of(GROUP, deployment(), few=7).nodes) == 7
    assert plan_of(GROUP, deployment(), few=0).nodes == ()
    with pytest.raises(UnknownPoolError, match="no node pool is named `gup`; did you mean `gpu`"):
        plan_of(karpenter(), deployment(), gup=1)


def test_zones_take_turns() -> None:
    plan = plan_of(karpenter(requirements=ZONES), deployment(SPREAD, 6))
    zones = {row.name: row.domain for row in plan.nodes}
    assert Counter(zones[str(node)] for node in nodes(plan)) == {"a": 2, "b": 2, "c": 2}


def test_a_node_has_what_the_pod_asks_of_several_values() -> None:
    asked = "\n      nodeSelector: {topology.kubernetes.io/zone: c, size: large, tenant: me}"
    more = "{key: size, operator: In, values: [small, large]}, {key: tenant, operator: Exists}"
    plan = plan_of(karpenter(requirements=f"{ZONES}, {more}"), deployment(asked))
    (row,) = plan.nodes
    assert {key: row.labels[key] for key in ("size", "tenant", "topology.kubernetes.io/zone")} == {
        "size": "large",
        "tenant": "me",
        "topology.kubernetes.io/zone": "c",
    }


def test_a_deprecated_label_says_what_the_one_in_its_place_says() -> None:
    """Kubelets and clouds set both, also on nodes that are made for other pods."""
    asked = "\n      nodeSelector: {failure-domain.beta.kubernetes.io/zone: c}"
    plan = plan_of(karpenter(requirements=ZONES), deployment(APART), deployment(asked, 1, "old"))
    labels = {row.name: row.labels for row in plan.nodes}
    zones = [labels[str(node)]["topology.kubernetes.io/zone"] for node in (*nodes(plan), *nodes(plan, 1))]
    assert zones[-1] == "c"
    assert all(each["failure-domain.beta.kubernetes.io/zone"] == each["topology.kubernetes.io/zone"] for each in labels.values())


def test_unknown_zones_count_as_one() -> None:
    plan = plan_of(karpenter(), deployment(SPREAD, 2))
    assert {row.domain for row in plan.nodes} == {"?"}
    assert None not in nodes(plan)
    assert "the zone of the nodes of NodePool gpu is unknown; the simulation assumes that they share one, `?`" in plan.notes


def test_only_a_pool_whose_taint_is_tolerated_grows() -> None:
    tainted = karpenter("gpu", spec="      taints: [{key: gpu, effect: NoSchedule}]\n")
    assert nodes(plan_of(tainted, deployment())) == [None] * 3
    assert nodes(plan_of(f"{tainted}---\n{karpenter('web')}", deployment())) == ["web-1"] * 3
    assert nodes(plan_of(tainted, deployment("\n      tolerations: [{key: gpu, operator: Exists}]"))) == ["gpu-1"] * 3


def test_pools_of_other_clusters_count_when_they_are_named_and_not_beside_the_workloads() -> None:
    far = GROUP.replace("eksctl.io/v1alpha5\nkind: ClusterConfig", "run.tanzu.vmware.com/v1alpha3\nkind: TanzuKubernetesCluster")
    far = far.replace("managedNodeGroups: [{name: few, minSize: 1, maxSize: 2,", "spec: {topology: {nodePools: [{name: few, replicas: 2,")
    far = far.replace("availabilityZones: [eu-1a]}]", "vmClass: small}]}}")
    assert sorted(map(str, nodes(plan_of(far, deployment())))) == ["few-1", "few-1", "few-2"]
    with pytest.raises(NodeFileError, match="no nodes"):
        plan_of(far, deployment(), named=False)


def test_nodes_that_are_there_come_first_and_pools_grow_beside_them() -> None:
    dump = "kind: Node\napiVersion: v1\nmetadata: {name: n1, labels: {kubernetes.io/hostname: n1}}\n"
    plan = plan_of(f"{dump}---\n{GROUP}", deployment(APART, 3))
    assert sorted(map(str, nodes(plan))) == ["few-1", "few-2", "n1"]
    assert [row.pool for row in plan.nodes] == ["node group few", "node group few", ""]
    assert [row.name for row in plan_of(f"{dump}---\n{GROUP}", deployment()).nodes] == ["n1"]


def test_a_pod_that_fits_no_pool_makes_no_nodes() -> None:
    host = "\n      hostNetwork: true"
    crowd = deployment(APART.replace("app: web", "app: none"), 40)
    assert len(plan_of(karpenter(), crowd).nodes) == 1
    plan = plan_of(karpenter(), deployment("\n      nodeSelector: {disk: ssd}"))
    assert [row.name for row in plan.nodes] == ["gpu-1"], "one, on which it is seen why"
    assert [verdict.why for verdict in plan.workloads[0].verdicts] == ["lacks disk=ssd"]
    assert len(plan_of(karpenter(), deployment(host)).nodes) == 1


def test_a_spread_over_a_label_that_no_pool_has_makes_no_end_of_nodes() -> None:
    plan = plan_of(karpenter(), deployment(SPREAD.replace("topology.kubernetes.io/zone", "rack"), 4))
    assert nodes(plan) == [None] * 4
    assert len(plan.nodes) == 1
    assert "rack" in plan.workloads[0].replicas[0].why


def test_the_reports_draw_pools_as_what_they_are() -> None:
    plan = plan_of(f"{karpenter('gpu', limits='nodes: 9')}---\n{karpenter('any', labels='pool: any')}", deployment(APART, 2))
    text = "".join(table.render(plan, color=False, width=100))
    assert "2 pools\n  POOL          NODES  SIZE       TAINTS\n" in text
    assert "  NodePool gpu  2      0 to 9\n  NodePool any  0      unbounded\n" in text
    assert "gpu-1  of NodePool gpu\n" in text
    data: Any = json.loads("".join(json_report.render(plan)))
    jsonschema.validate(data, json.loads((ROOT / "schemas" / "place.schema.json").read_text("utf-8")))
    assert [(pool["name"], pool["least"], pool["most"], pool["nodes"]) for pool in data["pools"]] == [("gpu", 0, 9, 2), ("any", 0, None, 0)]
    assert [node["pool"] for node in data["nodes"]] == ["NodePool gpu", "NodePool gpu"]
    page = place_page.render(plan)
    assert '<li class="node"><span class="name">NodePool gpu</span> <small>2 nodes here; size: 0 to 9</small>' in page
    assert '<li class="node closed"><span class="name">NodePool any</span> <small>0 nodes here; size: unbounded</small>' in page


def test_what_fails_is_not_replaced_and_that_is_reported() -> None:
    plan = plan_of(karpenter(), deployment(APART, 2), asked=DisruptionRequest(lose=["each:node"]))
    assert {outcome for loss in plan.losses for outcome in loss.outcomes.values()} == {"degraded"}
    assert "unavailable and removed nodes are not replaced: pools keep the size that they had before the disruption" in plan.notes


def test_a_pool_that_is_listed_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlay repeats what it changes; a patch makes no nodes."""
    monkeypatch.chdir(tmp_path)
    files = {
        "base/pool.yaml": karpenter(),
        "other/pool.yaml": karpenter(labels="tier: other"),
        "base/kustomization.yaml": "resources: [pool.yaml]\npatches: [{path: patch.yaml}]\n",
        "base/patch.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: only-here}\nspec: {limits: {nodes: 3}}\n",
        "web.yaml": deployment(),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    session = Session(config.default())
    classes = inputs_of(session, session.sources(["."])).classes
    assert [each.title for each in classes] == ["NodePool gpu"]


def test_workloads_that_demand_the_same_of_nodes_share_them() -> None:
    crowd = [deployment(APART.replace("app: web", f"app: w{number}"), 3, f"w{number}") for number in range(40)]
    plan = plan_of(karpenter(), *crowd)
    assert len(plan.nodes) <= 5
    assert all(None not in nodes(plan, number) for number in range(40))


def test_workloads_that_keep_each_other_away_have_nodes_of_their_own() -> None:
    alone = APART.replace("matchLabels: {app: web}", "matchExpressions: [{key: app, operator: Exists}]")
    plan = plan_of(karpenter(), *[deployment(alone, 2, f"w{number}") for number in range(6)])
    assert len(plan.nodes) == 12
    assert len({node for number in range(6) for node in nodes(plan, number)}) == 12
