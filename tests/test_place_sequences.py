"""`afflint place` with upgrades, the descheduler and combined disruptions: options, exit codes, and the objects that it reads for them."""

import json
from pathlib import Path

import pytest

from command_line import Afflint

NODES = """\
nodes:
  - {name: w1, labels: {topology.kubernetes.io/zone: a, node-role.kubernetes.io/worker: "", karpenter.sh/nodepool: gp}}
  - {name: w2, labels: {topology.kubernetes.io/zone: b, node-role.kubernetes.io/worker: "", karpenter.sh/nodepool: gp}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1.27"}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: MIN, selector: {matchLabels: {app: web}}}
"""
CONFIG_POOL = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  maxUnavailable: 2
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
"""
KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gp}
spec:
  disruption: {budgets: [{nodes: "2"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: []
"""
DESCHEDULER = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: descheduler, namespace: kube-system}
data:
  policy.yaml: |
    apiVersion: descheduler/v1alpha2
    kind: DeschedulerPolicy
    profiles:
    - name: default
      plugins: {balance: {enabled: [RemoveDuplicates]}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nodes and a workload with a budget that spares a pod."""
    monkeypatch.chdir(tmp_path)
    Path("nodes.yaml").write_text(NODES, encoding="utf-8")
    Path("web.yaml").write_text(WEB.replace("MIN", "1"), encoding="utf-8")
    return tmp_path


def place(afflint: Afflint, *words: str) -> tuple[int, str]:
    """The exit code, and the last line of the text or the message."""
    done = afflint("place", ".", "--nodes", "nodes.yaml", *words)
    return done.code, (done.out or done.err).splitlines()[-1]


def test_the_exit_code_of_an_upgrade(folder: Path, afflint: Afflint) -> None:
    assert place(afflint, "--upgrade", "worker") == (0, "Upgrade of worker: completes.")
    (folder / "web.yaml").write_text(WEB.replace("MIN", "2"), encoding="utf-8")
    assert place(afflint, "--upgrade", "worker") == (1, "Upgrade of worker: never completes.")
    assert place(afflint, "--upgrade", "worker", "--exit-zero")[0] == 0


@pytest.mark.parametrize(
    ("name", "text", "pool", "at_once"),
    [("worker", CONFIG_POOL, "MachineConfigPool worker", 2), ("gp", KARPENTER, "NodePool gp", 2), ("gp", "", "pool gp", 1)],
)
def test_pools_beside_the_workloads_say_how_their_nodes_are_upgraded(
    folder: Path, afflint: Afflint, name: str, text: str, pool: str, at_once: int
) -> None:
    if text:
        (folder / "pool.yaml").write_text(text, encoding="utf-8")
    done = afflint("place", ".", "--nodes", "nodes.yaml", "--upgrade", name, "--format", "json")
    (found,) = json.loads(done.out)["upgrades"][0]["pools"]
    assert (found["pool"], found["at_once"], found["nodes"]) == (pool, at_once, ["w1", "w2"])


def test_the_policy_of_a_descheduler_may_be_in_a_config_map(folder: Path, afflint: Afflint) -> None:
    message = "afflint: --deschedule: no DeschedulerPolicy or KubeDescheduler is among the manifests"
    assert place(afflint, "--deschedule") == (2, message)
    (folder / "descheduler.yaml").write_text(DESCHEDULER, encoding="utf-8")
    assert place(afflint, "--deschedule") == (0, "Descheduler: ConfigMap descheduler settles.")


def test_a_drain_during_a_failure(folder: Path, afflint: Afflint) -> None:
    assert folder.is_dir()
    assert place(afflint, "--lose", "w1", "--drain", "w2", "--together") == (1, "Of those that do not complete, 1 degrades a workload.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--surge", "1"], "--max-unavailable and --surge need --upgrade"),
        (["--upgrade", "each", "--surge", "x"], "--surge takes a number of nodes or a percentage of the pool, as in `2` or `20%`, not 'x'"),
        (["--upgrade", "wroker"], "--upgrade: no node pool or role is named `wroker`; did you mean `worker`?"),
        (["--together"], "--together needs --lose, --drain or --remove"),
        (["--drain", "w1,w3"], "no node is named 'w3'; did you mean 'w1'?"),
    ],
)
def test_mistakes_are_one_line(folder: Path, afflint: Afflint, words: list[str], message: str) -> None:
    assert folder.is_dir()
    code, messages = place(afflint, *words)
    assert code == 2
    assert messages.removeprefix("afflint: ").partition("; did you")[0] == message.partition("; did you")[0]


ALONE = """\
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: shop}
spec: {nodeSelector: {topology.kubernetes.io/zone: b}, containers: [{name: c, image: c}]}
"""


def placed(afflint: Afflint, folder: Path, manifests: str, *words: str) -> str:
    """The report on manifests and the two nodes."""
    folder.joinpath("web.yaml").write_text(manifests, encoding="utf-8")
    return afflint("place", ".", "--nodes", "nodes.yaml", *words).out


def test_an_upgrade_ends_a_pod_without_a_controller(afflint: Afflint, folder: Path) -> None:
    report = placed(afflint, folder, ALONE, "--upgrade", "each")
    assert "shop/alone does not run again after pods leave w2" in report
    assert "for a time" not in report


def test_an_upgrade_names_the_replicas_of_another_scheduler(afflint: Afflint, folder: Path) -> None:
    other = WEB.replace("    spec:\n", "    spec:\n      schedulerName: other\n").replace("MIN", "0")
    report = placed(afflint, folder, other, "--upgrade", "each")
    assert "not evaluated  2 replicas of shop/web: the configuration of the scheduler other is not known" in report


def test_the_page_has_a_heading_for_what_is_simulated_over_time(afflint: Afflint, folder: Path) -> None:
    page = placed(afflint, folder, WEB.replace("MIN", "0"), "--format", "html", "--upgrade", "each", "--roll", "each")
    assert '<h2 id="sequences">Rollouts and upgrades</h2>' in page
    assert 'id="sequences"' not in placed(afflint, folder, WEB.replace("MIN", "0"), "--format", "html")


def test_a_node_with_pods_of_daemon_sets_only(afflint: Afflint, folder: Path) -> None:
    agent = WEB.partition("---")[0].replace("Deployment", "DaemonSet").replace("  replicas: 2\n", "")
    assert "survives  only pods of DaemonSets run there" in placed(afflint, folder, agent, "--lose", "w1")


SPREAD_OVER_POOLS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: spot}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: [{key: capacity-spread, operator: In, values: ["2", "3", "4", "5"]}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: on-demand}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: [{key: capacity-spread, operator: In, values: ["1"]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: capacity-spread
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      containers: [{name: c, image: "web:1"}]
"""


@pytest.mark.parametrize(
    ("requirement", "nodes"), [("In", ["on-demand-1"]), ("NotIn", [])], ids=["its pods may run there", "its pods may not run there"]
)
def test_karpenter_creates_a_node_for_each_domain_of_its_pools(
    afflint: Afflint, tmp_path: Path, requirement: str, nodes: list[str]
) -> None:
    """The first pool could take all pods, but Karpenter spreads them over the domains of all pools."""
    affinity = f"[{{matchExpressions: [{{key: capacity-spread, operator: {requirement}, values: ['1', '2']}}]}}]"
    required = f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {affinity}}}}}}}"
    text = SPREAD_OVER_POOLS.replace("      topologySpread", f"      {required}\n      topologySpread")
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    plan = json.loads(afflint("place", str(tmp_path), "--format", "json", "--exit-zero").out)
    assert [each["name"] for each in plan["nodes"] if each["name"].startswith("on-demand")] == nodes
    assert all(each["node"] for workload in plan["workloads"] for each in workload["replicas"])
