"""Every format in which nodes are declared, each with a small file: labels, taints, zones, numbers and the cluster."""

from pathlib import Path

import pytest

from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import Requirement
from afflint.pipeline.map_step import Checker, default_settings
from afflint.pools.kinds import FAMILIES, MARKS
from afflint.pools.pool import Pool
from afflint.pools.references import resolve_references
from linting import lint, places
from shared_material import shared

FOLDER = Path(__file__).parent / "formats"
FORMATS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((*FOLDER.glob("*.yaml"), *FOLDER.glob("*.tf")))}
"""By name the text of a file and, in comments at its end, what it is read as: a line for each pool, and for each fault below it."""

READ_AS = "# --- read as\n"


def pools_of(*texts: str) -> list[Pool]:
    """The pools that files declare together."""
    checker = Checker(default_settings([]))
    facts = [checker.check(f"{number}.yaml", text.encode()).facts for number, text in enumerate(texts)]
    return resolve_references([pool for each in facts for pool in each.pools], [part for each in facts for part in each.pool_parts])


def messages(*texts: str) -> list[str]:
    """Each pool in one line, each fault in one after its pool, and those of parts at the end."""
    checker = Checker(default_settings([]))
    lines = []
    for pool in pools_of(*texts):
        lines += [_line(pool), *[f"fault: {fault.message}" for fault in pool.faults]]
    for number, text in enumerate(texts):
        parts = checker.check(f"{number}.yaml", text.encode()).facts.pool_parts
        lines += [f"fault: {fault.message}" for part in parts for fault in part.faults]
    return lines


def _line(pool: Pool) -> str:
    taints = ", ".join(f"{each.taint.key}{'=' if each.taint.value else ''}{each.taint.value}:{each.taint.effect}" for each in pool.taints)
    startup = ", ".join(f"{each.taint.key}:{each.taint.effect}" for each in pool.startup_taints)
    labels = ", ".join(("" if label.path else "*") + _text(label.requirement) for label in pool.labels)
    count = f"{pool.least}..{pool.most}{' per zone' if pool.per_zone else ''}"
    ends = [f"startup {startup}"] if startup else []
    ends += [labels] if labels or pool.closed else []
    ends += [] if pool.closed else ["open"]
    ends += [f"lost {', '.join(each.key for each in pool.unreachable)}"] if pool.unreachable else []
    return f"{pool.title} of {pool.cluster or '-'} ({pool.whose}) {count}; {taints}; {'; '.join(ends)}"


def _text(requirement: Requirement) -> str:
    sign = {"In": "=", "NotIn": "!=", "Gt": ">", "Lt": "<", "Exists": "", "DoesNotExist": ""}[requirement.operator]
    return f"{'!' if requirement.operator == 'DoesNotExist' else ''}{requirement.key}{sign}{'|'.join(requirement.values)}"


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_read_as_its_project_reads_it(name: str) -> None:
    text, _, expected = FORMATS[name].partition(READ_AS)
    assert messages(text) == [line.removeprefix("# ") for line in expected.splitlines()]


def test_every_kind_that_is_looked_for_is_read() -> None:
    """Each kind of the table of triage, in each of its groups, is in an example above."""
    from importlib import import_module

    readers = {key for module in {*FAMILIES.values(), "talos"} for key in import_module(f"afflint.pools.{module}").READERS}
    assert {kind for _, kind in readers} == {kind.decode() for kind in MARKS} - {"Composition"}
    examples = "\n".join(FORMATS.values())
    shown = [
        kind
        for _, kind in readers
        if kind not in ("", "cluster") and f"kind: {kind}\n" not in examples and f'resource "{kind}"' not in examples
    ]
    assert shown == []
    assert {group for group, _ in readers if group} == set(FAMILIES)


@pytest.mark.parametrize("name", FORMATS)
def test_where_something_is_declared_is_where_it_is_set(name: str) -> None:
    """Each path of a pool leads to something in its document."""
    from afflint.yaml.documents import read, split
    from afflint.yaml.terraform import declares_pools, documents_in

    text = FORMATS[name].encode()
    found = documents_in(text) if declares_pools(text) else (read(piece, index, 0) for index, (piece, _, _) in enumerate(split(text)))
    documents = {document.index: document for document in found}
    for pool in pools_of(text.decode()):
        paths = [each.path for each in (*pool.labels, *pool.taints, *pool.faults, *pool.unreachable)]
        for path in (pool.path, *[each for each in paths if each]):
            data = documents[pool.site.document].data
            for step in path:
                data = data[step]


@pytest.mark.parametrize(
    ("written", "is_open"),
    [
        ("labels: {pool: gpu}", False),
        ("labels: {'${KEY}': gpu}", True),
        ("labels: '{{ .Values.labels }}'", True),
        ("labels: {pool: '${POOL}'}", False),
    ],
)
def test_what_is_yet_to_be_filled_in_may_be_anything(written: str, *, is_open: bool) -> None:
    text = f"apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{name: c}}\nmanagedNodeGroups:\n- name: g\n  {written}\n"
    (pool,) = pools_of(text)
    assert pool.closed is not is_open
    values = [label.requirement for label in pool.labels if label.key == "pool"]
    assert values == ([] if is_open else [Requirement("pool", "In", ("gpu",)) if "gpu" in written else Requirement("pool", "Exists")])


MACHINE_SET = "apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: a, namespace: m}\nspec: {replicas: 2}\n"
SCALER = (
    "---\napiVersion: autoscaling.openshift.io/v1beta1\nkind: MachineAutoscaler\nmetadata: {name: a, namespace: m}\n"
    "spec: {minReplicas: 1, maxReplicas: MOST, scaleTargetRef: {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: a}}\n"
)
DEPLOYMENT = (
    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: a\n  annotations:\n"
    "    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: '1'\n"
    "    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: MOST\n"
)
GOOGLE = (
    "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nmetadata: {name: a}\n"
    "spec: {clusterRef: {name: g}, location: europe-west1, autoscaling: {minNodeCount: 1, MOST}}\n"
)
EKSCTL = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: c}\nmanagedNodeGroups: [{name: a, WRITTEN}]\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param(EKSCTL.replace("WRITTEN", "minSize: 1, maxSize: '${MOST}'"), (1, None), id="a number to be filled in"),
        pytest.param(EKSCTL.replace("WRITTEN", "desiredCapacity: '${COUNT}'"), (None, None), id="the only number"),
        pytest.param(MACHINE_SET, (2, 2), id="a number of replicas"),
        pytest.param(MACHINE_SET.replace("replicas: 2", "replicas: null, template: {}"), (None, None), id="replicas without a number"),
        pytest.param(MACHINE_SET.replace("replicas: 2", "template: {}"), (1, None), id="another program scales it"),
        pytest.param(MACHINE_SET + SCALER.replace("MOST", "4"), (1, 4), id="an autoscaler"),
        pytest.param(MACHINE_SET + SCALER.replace("MOST", "4") + SCALER.replace("MOST", "9"), (1, 9), id="either autoscaler"),
        pytest.param(MACHINE_SET + SCALER.replace("MOST", "${MOST}"), (1, None), id="an autoscaler to be filled in"),
        pytest.param(DEPLOYMENT.replace("MOST", "'4'") + "spec: {replicas: 2}\n", (1, 4), id="annotations"),
        pytest.param(DEPLOYMENT.replace("MOST", "${MOST}") + "spec: {replicas: 2}\n", (1, None), id="an annotation to be filled in"),
        pytest.param(GOOGLE.replace("MOST", "maxNodeCount: 3"), (1, None), id="of each zone, and the zones are unknown"),
        pytest.param(GOOGLE.replace("MOST", "totalMinNodeCount: 1, totalMaxNodeCount: 3"), (1, 3), id="of all zones"),
    ],
)
def test_the_most_nodes_are_known_only_where_nothing_can_make_more(text: str, count: tuple[int | None, int | None]) -> None:
    (pool,) = pools_of(text)
    assert (pool.least, pool.most) == count


@pytest.mark.parametrize(
    ("written", "zones"),
    [
        ("availabilityZones: [eu-1a, eu-1b]", ("eu-1a", "eu-1b")),
        ("availabilityZones: [eu-1a, '${ZONE}']", ()),
        ("localZones: [eu-1-lax-1a]", ("eu-1-lax-1a",)),
        ("subnets: [private-1]", ()),
        ("labels: {pool: a}", ("eu-1a",)),
    ],
)
def test_zones_are_known_only_where_all_are(written: str, zones: tuple[str, ...]) -> None:
    (pool,) = pools_of(EKSCTL.replace("WRITTEN", written) + "availabilityZones: [eu-1a]\n")
    assert pool.zones == zones
    assert [label.requirement.values for label in pool.labels if label.key == "topology.kubernetes.io/zone"] == ([zones] if zones else [])


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\nspec: {nodeLabels: {a: b}}\n",
        "apiVersion: example.com/v1\nkind: NodePool\nmetadata: {name: x}\nspec: {note: karpenter.sh/v1}\n",
        "machine: fast\nnodeLabels: {a: b}\n",
        "machine: {type: worker}\n",
        "node-label: {a: b}\n",
        "# nodeLabels\n- 1\n",
    ],
)
def test_other_kinds_of_the_same_name_declare_nothing(text: str) -> None:
    assert pools_of(text) == []


@pytest.mark.parametrize("text", ["nodeLabels: [\n", "kind: NodePool\napiVersion: karpenter.sh/v1\nspec: {{ .Values }}\n  x: [\n"])
def test_a_file_that_is_not_a_manifest_is_not_reported_as_unreadable(text: str) -> None:
    assert Checker(default_settings()).check("a.yaml", text.encode()).found == ()


@pytest.mark.parametrize("odd", ["null", "[]", "{}", "7", "text", "[null, 7, {}]", "{a: null}"])
@pytest.mark.parametrize("name", FORMATS)
def test_odd_types_anywhere_do_no_harm(name: str, odd: str) -> None:
    """Every value at the second and third level of an example, one after the other, replaced by something else."""
    import json

    from afflint.pools.reader import pools_in
    from afflint.yaml.documents import read, split

    strange = read(odd.encode(), 0, 0).data
    for piece, _, _ in split(FORMATS[name].encode()):
        whole = read(piece, 0, 0).data
        for path in list(_paths(whole)):
            copy = json.loads(json.dumps(whole))
            at = copy
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = strange
            list(pools_in(read(json.dumps(copy).encode(), 0, 0)))


def _paths(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found = []
    for step, value in entries:
        found += [(*path, step), *_paths(value, (*path, step))]
    return found


def test_lists_and_json_are_taken_apart() -> None:
    item = '{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}}'
    assert [pool.name for pool in pools_of(f'{{"apiVersion": "v1", "kind": "List", "items": [{item}]}}\n')] == ["a"]
    assert [pool.name for pool in pools_of(f"{item}\n")] == ["a"]
    assert [pool.name for pool in pools_of("apiVersion: karpenter.sh/v1\nkind: NodePoolList\nitems: [{metadata: {name: a}}]\n")] == ["a"]


def test_parts_that_are_missing_or_contradict_each_other_leave_the_rest_unknown() -> None:
    machines = (
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: md}\nspec: {clusterName: c, template: {spec: "
        "{bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: k}}}}}\n"
    )
    template = (
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {name: k}\nspec: {template: {spec: "
        "{joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: disk=ssd}}}}}}\n"
    )
    assert [pool.closed for pool in pools_of(machines)] == [False]
    assert [pool.closed for pool in pools_of(machines, template)] == [True]
    assert [pool.closed for pool in pools_of(machines, template, template.replace("ssd", "hdd"))] == [False]


def test_pools_of_the_samples() -> None:
    """Which pools are read in the real manifests."""
    folder = shared("corpus", "nodepools")
    checker = Checker(default_settings([]))
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        for pool in checker.check(str(path.relative_to(folder)), path.read_bytes()).facts.pools:
            found.setdefault(path.relative_to(folder).parts[0], []).append(f"{pool.title} ({pool.whose})")
    assert {repository: sorted(pools) for repository, pools in found.items()} == SAMPLES


SAMPLES: dict[str, list[str]] = {
    "Azure+karpenter-provider-azure": [
        "NodePool system-surge (own)",
    ],
    "GoogleCloudPlatform+kubeflow-distribution": [
        "ContainerNodePool KUBEFLOW-NAME-cpu-pool-v1 (other)",
    ],
    "aws-ia+terraform-aws-eks-blueprints": [
        "NodePool amd64 (own)",
        "NodePool graviton (own)",
    ],
    "aws-samples+aws-do-eks": [
        "Provisioner default (own)",
        "node group c5 (described)",
        "node group dl1 (described)",
        "node group g4dn-metal-efa (described)",
        "node group p3dn-24xlarge-efa (described)",
        "node group p4d-24xlarge-efa (described)",
        "node group p4d-24xlarge-efa-ami (described)",
    ],
    "aws-samples+eks-workshop-v2": [
        "NodePool default (own)",
        "NodePool neuron (own)",
    ],
    "aws-samples+karpenter-blueprints": [
        "NodePool gpu-slices (own)",
        "NodePool neuron (own)",
        "NodePool odcr-priority (own)",
        "NodePool reserved-migration (own)",
    ],
    "awslabs+data-on-eks": [
        "NodePool compute-optimized-graviton (own)",
        "NodePool compute-optimized-x86 (own)",
        "NodePool ephemeral-nvme-local-provisioner (own)",
        "NodePool general-purpose (own)",
        "NodePool gpu (own)",
        "NodePool memory-optimized-graviton (own)",
        "NodePool memory-optimized-x86 (own)",
        "NodePool streaming-optimized (own)",
        "NodePool valkey (own)",
    ],
    "crossplane-contrib+provider-upjet-aws": [
        "NodeGroup sample-eks-ng (other)",
    ],
    "eksctl-io+eksctl": [
        "node group mng1-public (described)",
        "node group ng1-public (described)",
        "node group ng1-public (described)",
        "node group ng2-private (described)",
        "node group ng2-private-a (described)",
        "node group ng3-private-b (described)",
        "node group ng3-public (described)",
    ],
    "gardener+gardener": [
        "worker pool cpu-worker (other)",
    ],
    "k0sproject+k0sctl": [
        "host 127.0.0.1 (described)",
    ],
    "k3d-io+k3d": [
        "k3d node agent-0 (other)",
        "k3d node server-0 (other)",
        "k3d node server-1 (other)",
    ],
    "kubeflow+testing": [
        "ContainerNodePool code-intelligence-cpu-pool-v3 (other)",
    ],
    "kubernetes+kops": [
        "InstanceGroup apiserver-us-west1-a (described)",
        "InstanceGroup apiserver-us-west1-b (described)",
        "InstanceGroup apiserver-us-west1-c (described)",
        "InstanceGroup control-plane-us-west1-a (described)",
        "InstanceGroup control-plane-us-west1-b (described)",
        "InstanceGroup control-plane-us-west1-c (described)",
        "InstanceGroup nodes-us-west1-a (described)",
        "InstanceGroup nodes-us-west1-b (described)",
        "InstanceGroup nodes-us-west1-c (described)",
    ],
    "kubernetes-sigs+cluster-api-provider-vsphere": [
        "machine deployment md-0 (other)",
        "machine deployment md-0 (other)",
    ],
    "kubernetes-sigs+kueue": [
        "kind node control-plane (other)",
        "kind node worker (other)",
        "kind node worker3 (other)",
        "kind node worker5 (other)",
        "kind node worker7 (other)",
    ],
    "kubernetes-sigs+vsphere-csi-driver": [
        "node pool np-2 (other)",
    ],
    "metal3-io+metal3-dev-env": [
        "MachineDeployment md-kamaji-1 (other)",
        "MachineDeployment md-test-1 (other)",
    ],
    "openshift+hypershift": [
        "NodePool on-demand (own)",
    ],
    "redhat-ai-services+ai-accelerator": [
        "MachineSet (no name) (own)",
    ],
}


def test_a_document_in_flow_style_is_read_as_well() -> None:
    in_blocks = (
        "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: db}\nspec: {role: Node, taints: ['a=b:NoSchedule']}\n"
    )
    in_flow = (
        "{apiVersion: kops.k8s.io/v1alpha2, kind: InstanceGroup, metadata: {name: db}, spec: {role: Node, taints: ['a=b:NoSchedule']}}\n"
    )
    assert messages(in_flow) == messages(in_blocks) != []


def test_karpenter_ignores_a_requirement_on_the_host_name() -> None:
    text = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n"
        "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}\n"
        "      requirements: [{key: KEY, operator: In, values: [n1]}]\n"
    )
    written = [[label.key for label in pools_of(text.replace("KEY", key))[0].labels if label.path] for key in ("disk", HOSTNAME)]
    assert written == [["disk"], []]


PATCH = "machine:\n  nodeLabels:\n    disk: ssd\n    node-role.kubernetes.io/gpu: ''\n"


@pytest.mark.parametrize("name", ["talos/worker/w1.yaml", "talos/patches/worker.yaml", "workers/labels.yml"])
def test_the_api_server_rejects_a_role_in_a_patch_that_its_name_gives_to_workers(name: str) -> None:
    assert places(lint({name: PATCH})) == [f"{name}:4:5 warning unreachable-node-label"]


@pytest.mark.parametrize("name", ["talos/controlplane/c1.yaml", "worker/talos/all.yaml", "talos/patches/worker-and-more.yaml"])
def test_another_patch_without_a_machine_type_may_be_for_a_control_plane(name: str) -> None:
    assert lint({name: PATCH}) == []


def test_a_patch_with_a_machine_type_says_itself_what_it_is_for() -> None:
    assert places(lint({"worker/a.yaml": PATCH.replace("machine:\n", "machine:\n  type: worker\n")})) == [
        "worker/a.yaml:5:5 error unreachable-node-label"
    ]
    assert lint({"worker/a.yaml": PATCH.replace("machine:\n", "machine:\n  type: controlplane\n")}) == []
