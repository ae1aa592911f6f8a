"""The rules about pools of nodes: what no pool takes, with the nearest, and what is wrong with the pools themselves."""

import pytest

from afflint.checks.match import Target
from deployment_text import deployment
from linting import lint, messages_of, places

GPU = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {accelerator: nvidia-a100, pool: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-1a, eu-1b]}
      - {key: size, operator: In, values: [small, large]}
      - {key: memory, operator: Gt, values: ["31"]}
      - {key: tenant, operator: Exists}
"""
WEB = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    metadata: {labels: {pool: web}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
"""
OTHER = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: far}
spec: {clusterName: east, template: {spec: {infrastructureRef: {kind: AzureManagedMachinePool, name: far}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePool
metadata: {name: far}
spec: {nodeLabels: {disk: ssd}}
"""
ZONE = "topology.kubernetes.io/zone"
COMPLETE = Target(complete_nodes=True)


def pod(*lines: str, kind: str = "Pod") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  containers: [{{name: a, image: 'a:1'}}]\n{body}\n"


def unmatched(*lines: str, pools: str = f"{GPU}---\n{WEB}", target: Target | None = None) -> list[str]:
    """``severity message`` of what is said of a pod with these lines beside some pools."""
    files = {"pools.yaml": pools, "web.yaml": pod(*lines)}
    return [f"{each.severity} {each.message}" for each in lint(files, target=target) if each.rule == "no-matching-pool"]


@pytest.mark.parametrize(
    "asked",
    [
        "{accelerator: nvidia-a100}",
        "{pool: web}",
        "{pool: web, kubernetes.io/arch: arm64}",
        "{pool: web, beta.kubernetes.io/arch: arm64}",
        "{pool: web, beta.kubernetes.io/os: linux}",
        "{pool: gpu, topology.kubernetes.io/zone: eu-1b}",
        "{pool: web, topology.kubernetes.io/zone: anywhere}",
        "{pool: web, node.kubernetes.io/instance-type: m7g.large}",
        "{pool: web, karpenter.sh/capacity-type: spot}",
        "{pool: web, feature.node.kubernetes.io/cpu-cpuid.AVX512F: 'true'}",
        "{karpenter.sh/nodepool: gpu}",
        "{size: large, tenant: anybody, memory: '64'}",
        "{node-role.kubernetes.io/control-plane: ''}",
        "{node-role.kubernetes.io/infra: ''}",
        "{accelerator: '${ACCELERATOR}'}",
    ],
)
def test_what_some_pool_can_meet_is_silent(asked: str) -> None:
    assert unmatched(f"nodeSelector: {asked}") == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("{accelerator: nvidia-a10}", "warning no pool has `accelerator: nvidia-a10`: NodePool gpu has `accelerator: nvidia-a100`"),
        ("{pool: batch}", "info no pool in these manifests has `pool: batch`: NodePool gpu has `pool: gpu`, others `web`"),
        ("{size: huge}", "info no pool in these manifests has `size: huge`: NodePool gpu has `size In [small, large]`"),
        ("{memory: '16'}", "info no pool in these manifests has `memory: 16`: NodePool gpu has `memory Gt [31]`"),
        (
            "{karpenter.sh/nodepool: gup}",
            "warning no pool has `karpenter.sh/nodepool: gup`: NodePool gpu has `karpenter.sh/nodepool: gpu`, others `web`",
        ),
        (
            "{pool: web, accelerator: nvidia-a100}",
            "warning no pool has both `accelerator: nvidia-a100` and `pool: web`: NodePool gpu has `pool: gpu`",
        ),
        (
            "{pool: gpu, topology.kubernetes.io/zone: eu-1c}",
            f"warning no pool has both `pool: gpu` and `{ZONE}: eu-1c`: NodePool gpu has `{ZONE} In [eu-1a, eu-1b]`",
        ),
        ("{disk: ssd}", "info none of the 2 pools has the label `disk`, so no node created from them accepts the pods"),
        (
            "{poool: gpu}",
            "warning none of the 2 pools has the label `poool`, so no node created from them accepts the pods; did you mean `pool`?",
        ),
    ],
)
def test_what_no_pool_can_meet_is_reported_with_the_nearest(asked: str, message: str) -> None:
    assert unmatched(f"nodeSelector: {asked}") == [message]


@pytest.mark.parametrize(
    ("asked", "severity"),
    [
        ("SparkComputeGravitonODMemory", "warning"),
        ("spark-memory-optimized-graviton", "warning"),
        ("SparkGravitonMemoryOptimised", "warning"),
        ("spark_benchmark_ebs", "info"),
        ("gpu", "info"),
    ],
)
def test_a_value_unlike_those_known_may_be_that_of_a_pool_elsewhere(asked: str, severity: str) -> None:
    pools = WEB.replace("pool: web", "group: SparkGravitonMemoryOptimized")
    assert [each.partition(" ")[0] for each in unmatched(f"nodeSelector: {{group: {asked}}}", pools=pools)] == [severity]


def test_only_complete_pools_make_it_an_error() -> None:
    assert [each.partition(" ")[0] for each in unmatched("nodeSelector: {disk: ssd}", target=COMPLETE)] == ["error"]
    assert [each.partition(" ")[0] for each in unmatched("nodeSelector: {pool: batch}", target=COMPLETE)] == ["error"]


def test_it_is_reported_at_the_requirement_and_names_where_the_nearest_is() -> None:
    (found,) = lint({"pools.yaml": GPU, "web.yaml": pod("nodeSelector: {accelerator: nvidia-a10}")})
    assert places([found]) == ["web.yaml:6:31 warning no-matching-pool"]
    assert [(each.file, each.span.line, each.span.column) for each in found.related] == [("pools.yaml", 6, 38)]
    (found,) = lint({"pools.yaml": GPU, "web.yaml": pod("nodeSelector: {disk: ssd}")})
    assert places([found]) == ["web.yaml:6:18 info no-matching-pool"]


AFFINITY = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}"


@pytest.mark.parametrize(
    ("terms", "number"),
    [
        ("{matchExpressions: [{key: pool, operator: In, values: [a, web]}]}", 0),
        ("{matchExpressions: [{key: pool, operator: In, values: [a, b]}]}", 1),
        ("{matchExpressions: [{key: pool, operator: NotIn, values: [gpu, web]}]}", 1),
        ("{matchExpressions: [{key: pool, operator: DoesNotExist}]}", 1),
        ("{matchExpressions: [{key: memory, operator: Lt, values: ['30']}]}", 1),
        ("{matchExpressions: [{key: memory, operator: Gt, values: ['100']}]}", 0),
        ("{matchExpressions: [{key: disk, operator: Exists}]}, {matchExpressions: [{key: pool, operator: Exists}]}", 0),
        ("{matchExpressions: [{key: disk, operator: Exists}]}, {matchExpressions: [{key: pool, operator: In, values: [a]}]}", 1),
        ("{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}", 0),
    ],
)
def test_required_terms_are_checked_against_every_pool(terms: str, number: int) -> None:
    assert len(unmatched(AFFINITY % terms)) == number


def test_preferences_are_none_of_its_business() -> None:
    preferred = "{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}"
    assert unmatched(f"affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{preferred}]}}}}") == []


TAINTED = WEB.replace("      requirements:", "      taints: [{key: web, value: only, effect: NoSchedule}]\n      requirements:")


def test_a_taint_that_nothing_tolerates_shuts_the_only_pool() -> None:
    (found,) = unmatched("nodeSelector: {pool: web}", pools=TAINTED)
    assert (
        found
        == "warning the only pool with `pool: web` is tainted, and the pods do not tolerate it: NodePool web has `web=only:NoSchedule`"
    )
    assert unmatched("nodeSelector: {pool: web}", "tolerations: [{key: web, operator: Exists}]", pools=TAINTED) == []
    assert len(unmatched("nodeSelector: {pool: web}", "tolerations: [{key: web, value: other}]", pools=TAINTED)) == 1
    assert unmatched(pools=TAINTED) == [], "workloads without a requirement on pools may run on other nodes"
    assert [each.partition(" ")[0] for each in unmatched(pools=TAINTED, target=COMPLETE)] == ["error"]
    assert unmatched("nodeSelector: {pool: web}", pools=TAINTED.replace("taints:", "startupTaints:")) == []
    assert unmatched("nodeSelector: {pool: gpu}", pools=GPU) == [], "a cluster may have pods tolerate the taint of a device"


def test_where_other_pools_lack_what_is_asked_for_the_tainted_one_is_not_the_only_one() -> None:
    """The zone of the nodes of the tainted pool is unknown."""
    (found,) = unmatched(f"nodeSelector: {{{ZONE}: eu-1c}}", pools=f"{GPU}---\n{TAINTED}", target=COMPLETE)
    assert found.startswith("error the only pool with the required labels is tainted, and the pods do not tolerate it: NodePool web has")
    (found,) = unmatched("nodeSelector: {}", pools=TAINTED, target=COMPLETE)
    assert found.startswith("error the only pool is tainted")


def test_pools_of_other_clusters_are_not_mixed_with_the_workloads_here() -> None:
    assert unmatched("nodeSelector: {disk: hdd}", pools=OTHER) == []
    assert unmatched("nodeSelector: {disk: ssd}", pools=f"{GPU}---\n{OTHER}") == [], "it may be meant for that cluster"
    assert len(unmatched("nodeSelector: {disk: hdd}", pools=f"{GPU}---\n{OTHER}")) == 1
    (found,) = unmatched("nodeSelector: {disk: ssd}", pools=f"{GPU}---\n{OTHER}", target=COMPLETE)
    assert found.startswith("error NodePool gpu, the only pool here, does not have the label `disk`")


def test_a_pool_with_an_open_list_may_have_anything() -> None:
    patch = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {pool: web}}}}\n"
    assert unmatched("nodeSelector: {disk: ssd}", pools=patch) == []
    assert len(unmatched("nodeSelector: {pool: gpu}", pools=patch)) == 1


def test_a_daemon_set_may_find_no_node() -> None:
    template = (
        "  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      nodeSelector: {pool: batch}\n"
    )
    daemons = (
        f"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: a}}\nspec:\n{template}      containers: [{{name: a, image: 'a:1'}}]\n"
    )
    found = [each for each in lint({"pools.yaml": GPU, "a.yaml": daemons}) if each.rule == "no-matching-pool"]
    assert [each.severity for each in found] == ["info"]


def test_a_patch_is_held_to_the_labels_that_it_names() -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {nodeSelector: {pool: batch}}}}\n"
    found = lint({"pools.yaml": TAINTED, "a.yaml": patch})
    assert [each.message for each in found] == ["no pool in these manifests has `pool: batch`: NodePool web has `pool: web`"]
    assert [each.rule for each in lint({"pools.yaml": TAINTED, "a.yaml": patch.replace("batch", "web")})] == []


def test_custom_resources_are_checked_against_pools_at_their_fields() -> None:
    spark = """\
        apiVersion: sparkoperator.k8s.io/v1beta2
        kind: SparkApplication
        metadata: {name: pi}
        spec:
          driver: {nodeSelector: {pool: web}}
          executor:
            nodeSelector: {pool: batch-of-web}
    """
    found = lint({"pools.yaml": TAINTED.replace("pool: web", "pool: web-batch"), "a.yaml": spark.replace("pool: web}", "pool: web-batch}")})
    assert places(found) == ["a.yaml:7:26 warning no-matching-pool"], "the tolerations that the operator adds are unknown"


def test_a_key_that_a_pool_declares_is_a_known_node_label() -> None:
    arch = "node.kubernetes.io/arch"
    pools = WEB.replace("{pool: web}", f"{{pool: web, {arch}: arm64}}")
    asking = pod(f"nodeSelector: {{{arch}: arm64}}")
    assert [each.rule for each in lint({"web.yaml": asking})] == ["unknown-node-label"]
    assert lint({"web.yaml": asking, "pools.yaml": pools}) == []
    far = OTHER.replace("disk: ssd", f"{arch}: arm64")
    assert lint({"web.yaml": asking, "pools.yaml": far}) == []


def test_the_pools_of_auto_mode_that_no_manifest_shows() -> None:
    assert unmatched("nodeSelector: {karpenter.sh/nodepool: general-purpose}") == []


# --- the pools themselves ----------------------------------------------------------------------------------------------------

MACHINES = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md}
spec:
  clusterName: east
  template:
    metadata:
      labels: {team: web, node.cluster.x-k8s.io/pool: web}
    spec: {bootstrap: {dataSecretName: x}}
"""


def test_a_label_that_stays_on_machines_is_reported_where_a_workload_asks_for_it() -> None:
    asking, other = pod("nodeSelector: {team: web}"), pod("nodeSelector: {team: db}")
    found = lint({"m.yaml": MACHINES, "web.yaml": asking})
    assert places(found) == ["m.yaml:8:16 warning unreachable-node-label"]
    assert found[0].message == "the label `team` of the Machines stays on the Machines, so it never reaches a node; Pod web selects it"
    assert lint({"m.yaml": MACHINES, "web.yaml": other}) == []
    assert lint({"m.yaml": MACHINES}) == []
    assert lint({"m.yaml": MACHINES, "web.yaml": asking, "p.yaml": WEB.replace("pool: web", "team: web")}) == []


def test_a_kubelet_that_would_not_start_is_an_error() -> None:
    config = """\
        apiVersion: kubeadm.k8s.io/v1beta3
        kind: JoinConfiguration
        nodeRegistration:
          kubeletExtraArgs:
            node-labels: "node-role.kubernetes.io/worker=,node.kubernetes.io/x=1,kubelet.kubernetes.io/y=1,a.node.kubernetes.io/z=1,b=1"
    """
    assert messages_of(config, "unreachable-node-label") == [
        "5:18 a kubelet does not start with `node-role.kubernetes.io/worker` in `--node-labels`: it may not set labels of that domain"
    ]


@pytest.mark.parametrize("effect", ["NO_SCHEDULE", "no-schedule", "NoShedule", "noschedule", "''"])
def test_effects_in_the_spelling_of_others(effect: str) -> None:
    assert len(messages_of(TAINTED.replace("effect: NoSchedule", f"effect: {effect}"), "invalid-pool-taint")) == 1
    assert messages_of(TAINTED.replace("effect: NoSchedule", "effect: ${EFFECT}"), "invalid-pool-taint") == []


def test_two_pools_of_a_cluster_that_spell_one_thing_differently() -> None:
    second = WEB.replace("name: web", "name: web2").replace("pool: web", "pool: Web")
    found = lint({"a.yaml": WEB, "b.yaml": second, "c.yaml": WEB.replace("name: web", "name: web3")})
    assert [f"{each.severity} {each.message}" for each in found] == [
        "info `pool: Web` of NodePool web2 is nearly the same as `pool: web` of NodePool web"
    ]
    far = OTHER.replace("disk: ssd", "pool: Web")
    assert lint({"a.yaml": WEB, "b.yaml": far}) == []


def test_a_pool_that_no_workload_tolerates_is_an_info() -> None:
    found = lint({"pools.yaml": TAINTED, "web.yaml": pod("tolerations: [{key: web, value: others, effect: NoSchedule}]")})
    says = "info no workload in these manifests tolerates `web=only:NoSchedule` of NodePool web, so none of them runs there"
    assert [f"{each.severity} {each.message}" for each in found] == [f"{says}; the pods tolerate only the value `others`"]
    assert lint({"pools.yaml": TAINTED}) == []
    assert lint({"pools.yaml": TAINTED, "web.yaml": pod("tolerations: [{key: web, value: only, effect: NoSchedule}]")}) == []
    everything = lint({"pools.yaml": TAINTED, "web.yaml": pod("tolerations: [{operator: Exists}]")})
    assert "untolerated-pool" in [each.rule for each in everything]


RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
TOLERATION = "[{key: web, value: only, effect: NoSchedule}]"


@pytest.mark.parametrize(
    "tolerant",
    [
        f"apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {{name: gpu}}\nspec: {{daemonsets: {{tolerations: {TOLERATION}}}}}\n",
        f"apiVersion: example.com/v1\nkind: Engine\nmetadata: {{name: a}}\nspec: {{engine: {{tolerations: {TOLERATION}}}}}\n",
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec: {{template: {{spec: {{tolerations: {TOLERATION}}}}}}}\n",
        f"{RELEASE}spec: {{chart: {{spec: {{chart: a}}}}, values: {{tolerations: {TOLERATION}}}}}\n",
        pod(f"tolerations: {TOLERATION}", "nodeName: n1"),
        pod("tolerations: [{key: web, value: '${OF}', effect: NoSchedule}]"),
        pod("tolerations: [{key: '${KEY}', operator: Exists}]"),
        pod("tolerations: [{key: 5}, {key: web, value: only, effect: NoSchedule}]"),
    ],
    ids=("catalogue", "shape", "patch", "release", "node name", "placeholder value", "placeholder key", "beside a malformed one"),
)
def test_a_pool_that_only_something_else_than_a_whole_workload_tolerates(tolerant: str) -> None:
    files = {"pools.yaml": TAINTED, "web.yaml": pod()}
    assert [each.rule for each in lint(files)] == ["untolerated-pool"]
    assert "untolerated-pool" not in [each.rule for each in lint({**files, "b.yaml": tolerant})]
    values = {**files, "charts/a/Chart.yaml": "apiVersion: v2\nname: a\n", "charts/a/values.yaml": f"tolerations: {TOLERATION}\n"}
    assert lint(values) == []


def test_findings_of_pools_are_silenced_where_they_are() -> None:
    from linting import ON_BY_DEFAULT, findings_of, settings_of

    text = f"# afflint: ignore-file[invalid-pool-taint] -- Terraform fixes it\n{TAINTED.replace('NoSchedule', 'NO_SCHEDULE')}"
    assert findings_of({"a.yaml": text.encode()}, settings_of(ON_BY_DEFAULT), inline=True) == []


# --- beside a list of nodes ---------------------------------------------------------------------------------------------------

NODES = "nodes:\n- {name: n1, labels: {pool: old, topology.kubernetes.io/zone: eu-1a}}\n"
THREE_APART = deployment(
    "affinity:",
    "  podAntiAffinity:",
    "    requiredDuringSchedulingIgnoredDuringExecution:",
    "    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}",
    'containers: [{name: a, image: "a:1"}]',
    name="apart",
    replicas=3,
)


def test_where_a_pool_may_make_nodes_those_that_are_there_prove_nothing() -> None:
    beside = {"nodes.yaml": NODES, "apart.yaml": THREE_APART}
    assert "too-few-domains" in [each.rule for each in lint(beside)]
    assert lint({**beside, "pools.yaml": WEB}) == []
    fixed = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: c}\nmanagedNodeGroups: [{name: g, desiredCapacity: 1}]\n"
    assert "too-few-domains" in [each.rule for each in lint({**beside, "pools.yaml": fixed})]


def test_a_label_of_a_pool_is_known_beside_nodes_that_lack_it() -> None:
    preferred = "{weight: 1, preference: {matchExpressions: [{key: pool, operator: In, values: [web]}]}}"
    asking = pod(f"affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{preferred}]}}}}")
    assert [each.rule for each in lint({"nodes.yaml": NODES, "a.yaml": asking})] == ["unmet-preference"]
    assert lint({"nodes.yaml": NODES, "a.yaml": asking, "pools.yaml": WEB}) == []
    required = pod("nodeSelector: {kubernetes.io/arch: arm64, pool: web}")
    assert [each.severity for each in lint({"nodes.yaml": NODES, "a.yaml": required})] == ["error"]
    assert lint({"nodes.yaml": NODES, "a.yaml": required, "pools.yaml": WEB}) == []


def test_a_node_that_is_there_takes_what_no_pool_would() -> None:
    asking = pod("nodeSelector: {pool: old}")
    assert [each.rule for each in lint({"a.yaml": asking, "pools.yaml": WEB})] == ["no-matching-pool"]
    assert lint({"nodes.yaml": NODES, "a.yaml": asking, "pools.yaml": WEB}) == []


def test_machines_of_a_hosted_cluster_run_in_another_cluster_than_its_pools() -> None:
    hosted = """\
apiVersion: hypershift.openshift.io/v1beta1
kind: NodePool
metadata: {name: hosted, namespace: clusters}
spec:
  clusterName: guest
  platform:
    type: KubeVirt
    kubevirt:
      nodeSelector: {example.com/infra: "yes"}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: fast}
spec:
  template:
    metadata: {labels: {example.com/infra: "no"}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: []
"""
    assert messages_of(hosted, "no-matching-pool") == []


TALCONFIG = """\
clusterName: home
talosVersion: v1.9.0
nodes:
  - {hostname: cp1.example.com, controlPlane: true, installDisk: /dev/sda}
  - {hostname: w1, controlPlane: false, installDisk: /dev/sda, nodeLabels: {disk: ssd, topology.kubernetes.io/zone: a}}
"""


_OF_HOSTS = "no node has `kubernetes.io/hostname: w9`: Talos node cp1 has `kubernetes.io/hostname: cp1`, others `w1`"
_OF_ZONES = "no node has `topology.kubernetes.io/zone: b`: Talos node w1 has `topology.kubernetes.io/zone: a`"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("disk: ssd", []),
        ("disk: hdd", ["no node has `disk: hdd`: Talos node w1 has `disk: ssd`"]),
        ("gpu: 'true'", ["none of the 2 nodes has the label `gpu`, so none of them accepts the pods"]),
        ("kubernetes.io/hostname: w1", []),
        ("kubernetes.io/hostname: w9", [_OF_HOSTS]),
        ("topology.kubernetes.io/zone: b", [_OF_ZONES]),
        ("topology.kubernetes.io/region: b", []),
        ("feature.node.kubernetes.io/pci-0300_8086.present: 'true'", []),
        ("intel.feature.node.kubernetes.io/gpu: 'true'", []),
        ("nvidia.com/gpu.present: 'true'", []),
        ("extensions.talos.dev/i915: '20240115'", []),
    ],
)  # fmt: skip
def test_a_selector_that_no_node_of_talhelper_meets_is_a_warning(asked: str, expected: list[str]) -> None:
    assert unmatched(f"nodeSelector: {{{asked}}}", pools=TALCONFIG) == [f"warning {each}" for each in expected]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("machine: {nodeLabels: {rack: a}, a: '${B}'}", "Talos node cp1 has `rack: a`"),
        ("machine: {nodeLabels: {rack: '${B}'}}", None),
        ("machine: {nodeLabels: '${B}'}", None),
        ("machine: '${B}'", None),
        ("${B}", None),
        ("machine: {a: '${B}'}", "none of the 2 nodes has the label `rack`"),
    ],
)
def test_a_placeholder_in_a_patch_of_talhelper_hides_only_what_it_sets(patch: str, expected: str | None) -> None:
    pools = f"{TALCONFIG}patches:\n  - |-\n    machine: {{a: '${{B}}'}}\n  - |-\n    {patch}\n"
    found = unmatched("nodeSelector: {rack: b}", pools=pools)
    assert [expected in each for each in found] == [True] if expected else found == []


@pytest.mark.parametrize(("host", "number"), [("east-w1", 1), ("w1", 0), ("w9", 0), ("r2-e3", 0), ("e3", 1)])
def test_a_part_of_the_name_of_a_host_is_a_mistake_in_each_of_several_clusters(host: str, number: int) -> None:
    west = TALCONFIG.replace("home", "west").replace("w1,", "r2-e3,")
    talos = {"clusters/home/talos/talconfig.yaml": TALCONFIG, "clusters/west/talos/talconfig.yaml": west}
    found = lint(talos | {"apps/web.yaml": pod(f"nodeSelector: {{kubernetes.io/hostname: {host}}}")})
    assert [each.rule for each in found] == ["no-matching-pool"] * number


@pytest.mark.parametrize("asked", ["node-role.kubernetes.io/worker: 'true'", "node.kubernetes.io/instance-type: rpi4"])
def test_roles_and_types_are_often_set_by_hand_and_therefore_an_info(asked: str) -> None:
    (found,) = unmatched(f"nodeSelector: {{{asked}}}", pools=TALCONFIG)
    assert found.startswith(f"info none of the 2 nodes has the label `{asked.partition(': ')[0]}`")


def test_a_node_selector_in_values_of_a_release_is_compared_with_the_nodes() -> None:
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: player}\nspec:\n  values:\n"
        "    pod:\n      nodeSelector:\n        disk: hdd\n    off:\n      enabled: false\n      nodeSelector: {disk: tape}\n"
    )
    assert places(lint({"talconfig.yaml": TALCONFIG, "a.yaml": release})) == ["a.yaml:8:15 warning no-matching-pool"]


def test_a_label_that_a_rule_of_node_feature_discovery_adds_may_exist() -> None:
    rule = (
        "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: usb}\n"
        "spec: {rules: [{name: zwave, labels: {example.com/zwave: 'true'}}]}\n"
    )
    asked = "nodeSelector: {example.com/zwave: 'true'}"
    assert len(unmatched(asked, pools=TALCONFIG)) == 1
    assert unmatched(asked, pools=f"{TALCONFIG}---\n{rule}") == []


RULE = "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: usb}\nspec:\n  rules:\n  - name: usb\n    "
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {kubernetes.io/hostname: n1}}\n"


@pytest.mark.parametrize(
    "labels",
    [
        "labels: {example.com/usb: '@usb.device.class'}",
        "labelsTemplate: |\n      {{ range .usb.device }}\n      example.com/usb={{ .class }}\n      {{ end }}",
    ],
    ids=["the value of a feature", "a template"],
)
def test_a_discovered_label_may_get_any_value(labels: str) -> None:
    assert unmatched("nodeSelector: {example.com/usb: '3'}", pools=f"{TALCONFIG}---\n{RULE}{labels}\n") == []


def test_a_label_of_a_node_feature_may_exist() -> None:
    feature = "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeature\nmetadata: {name: n1}\nspec: {labels: {example.com/usb: 'true'}}\n"
    assert unmatched("nodeSelector: {example.com/usb: 'true'}", pools=f"{TALCONFIG}---\n{feature}") == []


def test_a_discovered_label_may_be_on_known_nodes() -> None:
    text = f"{NODE}---\n{pod('nodeSelector: {example.com/usb: yes-it-is}')}"
    assert [each.rule for each in lint(text)] == ["unschedulable", "unknown-node-label"]
    assert lint(f"{text}---\n{RULE}labels: {{example.com/usb: yes-it-is}}\n") == []


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("""labels: {example.com/stick": "true"}""", ["7:14 invalid-label-key"]),
        ("labels: {a b: x}", ["7:14 invalid-label-key"]),
        ("labels: {example.com/stick: a b}", ["7:33 invalid-label-value"]),
        ("labels: {stick: '@usb.device.a b'}", []),
        ("labels: {'${STICK}': 'true', stick: '${VALUE}'}", []),
        ("labels: {zigbee.feature.node.kubernetes.io/stick: 'true'}", []),
    ],
    ids=["a quotation mark", "a space", "a value", "the value of a feature", "placeholders", "a subdomain"],
)
def test_invalid_labels_of_a_rule_of_node_feature_discovery(labels: str, found: list[str]) -> None:
    assert [f"{each.span.line}:{each.span.column} {each.rule}" for each in lint(f"{RULE}{labels}\n")] == found


def test_invalid_labels_of_a_pool() -> None:
    pool = GPU.replace("pool: gpu", "pool: a b, c d: x", 1)
    assert sorted(each.rule for each in lint(pool)) == ["invalid-label-key", "invalid-label-value"]


def test_an_absent_label_is_required_of_machines_that_no_file_configures() -> None:
    machine = "version: v1alpha1\nmachine: {nodeLabels: {gpu: amd}}\n"
    assert unmatched(AFFINITY % "{matchExpressions: [{key: gpu, operator: DoesNotExist}]}", pools=machine) == []


@pytest.mark.parametrize(("labels", "number"), [("{pool: web}", 0), ("{pool: wbe}", 1), ("{pool: web, kubernetes.io/arch: amd64}", 1)])
def test_a_flavor_of_kueue_whose_labels_no_pool_has(labels: str, number: int) -> None:
    flavor = f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {{name: a}}\nspec: {{nodeLabels: {labels}}}\n"
    found = [each for each in lint({"pools.yaml": f"{GPU}---\n{WEB}", "a.yaml": flavor}) if each.rule == "no-matching-pool"]
    assert len(found) == number


# Pools are of a cluster.

EKS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: %s, region: us-east-1}
managedNodeGroups: [{name: gpu, instanceType: g5.8xlarge, minSize: 1, labels: {pool: gpu}}]
"""
FOR_GPU, FOR_CPU = (pod(f"nodeSelector: {{pool: {value}}}") for value in ("gpu", "gpus"))
MACHINE = "nodeSelector: {node.kubernetes.io/instance-type: %s}"


def unmatched_files(files: dict[str, str]) -> list[str]:
    """The files with workloads that no pool accepts."""
    return [each.file for each in lint(files) if each.rule == "no-matching-pool"]


def test_the_pools_of_one_cluster_are_for_all_workloads() -> None:
    assert unmatched_files({"infra/eks.yaml": EKS % "one", "apps/web.yaml": FOR_CPU}) == ["apps/web.yaml"]
    assert unmatched_files({"infra/eks.yaml": EKS % "one", "apps/web.yaml": FOR_GPU}) == []


@pytest.mark.parametrize(
    ("workload", "is_reported"),
    [
        ("<helm charts/web>", False),
        ("charts/web/values.yaml", False),
        ("charts/web/templates/pod.yaml", False),
        ("<helm charts/karpenter>", True),
        ("<helm charts/karpenter/charts/web>", True),
        ("<helm apps/web>", True),
        ("apps/web.yaml", True),
    ],
)
@pytest.mark.parametrize("pools", ["<helm charts/karpenter>", "charts/karpenter/templates/eks.yaml"])
def test_a_pool_in_a_chart_of_a_collection_is_not_for_the_other_charts(pools: str, workload: str, is_reported: bool) -> None:
    text = FOR_CPU if "values" not in workload else "web: {nodeSelector: {pool: gpus}}\n"
    files = {workload: f"{EKS % 'one'}---\n{text}"} if workload == pools else {pools: EKS % "one", workload: text}
    assert unmatched_files(files) == ([workload] if is_reported else [])


def test_the_pools_of_several_clusters_are_for_workloads_that_a_folder_ties_to_one() -> None:
    pools = {"a/eks.yaml": EKS % "one", "b/eks.yaml": EKS % "two"}
    assert unmatched_files(pools | {"apps/web.yaml": FOR_CPU}) == []
    assert unmatched_files(pools | {"a/apps/web.yaml": FOR_CPU}) == ["a/apps/web.yaml"]
    assert unmatched_files(pools | {"apps/two/web.yaml": FOR_CPU}) == ["apps/two/web.yaml"]


def test_pools_in_the_folder_of_another_cluster() -> None:
    pools = {"clusters/east/eks.yaml": EKS % "east", "clusters/west/eks.yaml": "kind: ConfigMap\n"}
    assert unmatched_files(pools | {"clusters/east/web.yaml": FOR_CPU}) == ["clusters/east/web.yaml"]
    assert unmatched_files(pools | {"clusters/west/web.yaml": FOR_CPU}) == []


def named_web(value: str) -> str:
    return WEB.replace("pool: web", f"pool: {value}")


def test_two_folders_with_a_pool_of_one_name_are_of_two_clusters() -> None:
    pools = {"patterns/a/karpenter/pool.yaml": named_web("a"), "patterns/b/karpenter/pool.yaml": named_web("b")}
    assert unmatched_files(pools | {"patterns/c/web.yaml": FOR_CPU}) == []
    assert unmatched_files(pools | {"apps/web.yaml": FOR_CPU}) == []
    assert unmatched_files(pools | {"patterns/a/apps/web.yaml": FOR_CPU}) == ["patterns/a/apps/web.yaml"]
    third = {"patterns/c/karpenter/pool.yaml": GPU}
    assert unmatched_files(pools | third | {"patterns/d/web.yaml": FOR_CPU}) == []


def test_pools_of_different_names_in_two_folders_are_of_one_cluster() -> None:
    pools = {"pools/a/pool.yaml": WEB, "pools/b/pool.yaml": GPU}
    assert unmatched_files(pools | {"apps/web.yaml": FOR_CPU}) == ["apps/web.yaml"]


def test_a_pool_in_a_base_and_its_overlay_is_of_one_cluster() -> None:
    pools = {"karpenter/base/pool.yaml": WEB, "karpenter/overlays/prod/pool.yaml": WEB}
    assert unmatched_files(pools | {"apps/web.yaml": FOR_CPU}) == ["apps/web.yaml"]


MACHINE_SET = """\
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: %s
  namespace: openshift-machine-api
  labels: {machine.openshift.io/cluster-api-cluster: %s}
spec:
  replicas: 1
  template: {spec: {metadata: {labels: {pool: gpu}}, providerSpec: {value: {placement: {availabilityZone: us-east-1a}}}}}
"""


def test_machine_sets_name_their_cluster() -> None:
    pools = {f"overlays/{name}/machines/set.yaml": MACHINE_SET % (name, f"{name}-x7k2p") for name in ("east", "west")}
    assert unmatched_files(pools | {"overlays/north/web.yaml": FOR_CPU}) == []
    assert unmatched_files(pools | {"overlays/east/apps/web.yaml": FOR_CPU}) == ["overlays/east/apps/web.yaml"]


def test_rendered_pools_are_in_the_folder_of_their_root() -> None:
    pools = {f"<kustomize overlays/{name}>": MACHINE_SET % (name, f"{name}-x7k2p") for name in ("east", "west")}
    assert unmatched_files(pools | {"overlays/north/web.yaml": FOR_CPU}) == []
    assert unmatched_files(pools | {"<kustomize overlays/north>": FOR_CPU}) == []
    assert unmatched_files(pools | {"overlays/east/apps/web.yaml": FOR_CPU}) == ["overlays/east/apps/web.yaml"]
    assert unmatched_files(pools | {"<kustomize overlays/east/apps>": FOR_CPU}) == ["<kustomize overlays/east/apps>"]


def test_a_rendered_root_in_the_folder_of_another_cluster() -> None:
    pools = {"<kustomize clusters/east>": EKS % "east", "<kustomize clusters/west>": "kind: ConfigMap\n"}
    assert unmatched_files(pools | {"<kustomize clusters/east/web>": FOR_CPU}) == ["<kustomize clusters/east/web>"]
    assert unmatched_files(pools | {"<kustomize clusters/west/web>": FOR_CPU}) == []


@pytest.mark.parametrize("cluster", ["one", "${INFRASTRUCTURE}"])
def test_machine_sets_of_one_cluster(cluster: str) -> None:
    pools = {"machines/a.yaml": MACHINE_SET % ("a", cluster), "machines/b.yaml": MACHINE_SET % ("b", cluster.replace("RE}", "RE_ID}"))}
    assert unmatched_files(pools | {"apps/web.yaml": FOR_CPU}) == ["apps/web.yaml"]


def test_pools_of_two_clusters_may_spell_a_value_differently() -> None:
    pools = {"a/karpenter/pool.yaml": named_web("web"), "b/karpenter/pool.yaml": named_web("Web")}
    assert lint(pools) == []


def test_pools_of_a_test_are_for_the_workloads_of_the_test() -> None:
    assert unmatched_files({"tests/scale/eks.yaml": EKS % "one", "deploy/driver.yaml": FOR_CPU}) == []
    assert unmatched_files({"tests/scale/eks.yaml": EKS % "one", "tests/scale/load.yaml": FOR_CPU}) == ["tests/scale/load.yaml"]


@pytest.mark.parametrize("machine", ["ml.g5.8xlarge", "Standard_NC24ads_A100_v4", "n2-standard-4", "PLACEHOLDER_INSTANCE_TYPE"])
def test_a_machine_that_no_pool_of_the_provider_can_have_is_for_another_cluster(machine: str) -> None:
    assert unmatched_files({"a/eks.yaml": EKS % "one", "a/web.yaml": pod(MACHINE % machine)}) == []


def test_a_machine_of_the_same_provider() -> None:
    assert unmatched_files({"a/eks.yaml": EKS % "one", "a/web.yaml": pod(MACHINE % "g5.4xlarge")}) == ["a/web.yaml"]


def test_the_label_of_clusters_of_kind() -> None:
    assert unmatched_files({"a/eks.yaml": EKS % "one", "a/web.yaml": pod("nodeSelector: {ingress-ready: 'true'}")}) == []
