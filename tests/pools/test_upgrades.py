"""How the formats of node pools declare upgrades: how many nodes at once, and whether new nodes come first."""

import pytest

from afflint.pools.pool import Pool
from afflint.pools.reader import pools_in
from afflint.yaml import documents


def pool(text: str) -> Pool:
    (raw, line, _), *_ = documents.split(text.encode())
    (found,) = pools_in(documents.read(raw, 0, line))
    assert isinstance(found, Pool)
    return found


KARPENTER = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template: {spec: {}}\n"
DEPLOYMENT = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: p}\nspec:\n  template: {spec: {}}\n"
GKE = "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nmetadata: {name: p}\nspec:\n  location: x\n"
EKS = "apiVersion: eks.services.k8s.aws/v1alpha1\nkind: Nodegroup\nmetadata: {name: p}\nspec:\n  name: p\n"
HOSTED = "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  clusterName: c\n"
SHOOT = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: p}\nspec:\n  provider: {workers: [{name: p%s}]}\n"

KOPS = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: p}\nspec:\n  role: %s\n  machineType: %s\n"
AKS = "apiVersion: containerservice.azure.com/v1api20240901\nkind: ManagedClustersAgentPool\nmetadata: {name: p}\nspec:\n  owner: {}\n"
RANCHER = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: p}\nspec: {rkeConfig: {machinePools: [{name: p%s}]}}\n"


@pytest.mark.parametrize(
    ("text", "at_once"),
    [
        (KARPENTER, (1, 1)),
        (KARPENTER + "  disruption: {budgets: [{nodes: 30%}, {nodes: '5'}]}", (3, 3)),
        (KARPENTER + "  disruption: {budgets: [{nodes: '5', reasons: [Empty]}, {nodes: '1', schedule: '@daily', duration: 1h}]}", (1, 1)),
        (DEPLOYMENT, (1, 1)),
        (DEPLOYMENT + "  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 20%}}", (2, 0)),
        (DEPLOYMENT + "  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}", (1, 0)),
        (DEPLOYMENT + "  rollout: {strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}}", (3, 2)),
        (GKE, (1, 1)),
        (GKE + "  upgradeSettings: {maxSurge: 0, maxUnavailable: 2}", (2, 0)),
        (GKE + "  upgradeSettings: {strategy: BLUE_GREEN}", (10, 10)),
        (EKS, (1, 1)),
        (EKS + "  updateConfig: {maxUnavailablePercentage: 33}", (4, 4)),
        (HOSTED, (1, 1)),
        (HOSTED + "  management: {upgradeType: InPlace, inPlace: {maxUnavailable: 2}}", (2, 0)),
        (KOPS % ("Node", "t3.medium"), (1, 1)),
        (KOPS % ("Node", "n1-standard-2"), (1, 0)),
        (KOPS % ("Node", "n1-standard-2") + "  rollingUpdate: {maxUnavailable: 20%}", (2, 0)),
        (KOPS % ("ControlPlane", "t3.medium"), (1, 0)),
        (AKS, (1, 1)),
        (AKS + "  upgradeSettings: {maxSurge: 33%}", (4, 4)),
        (AKS + "  upgradeSettings: {maxSurge: '0', maxUnavailable: 20%}", (2, 0)),
        (RANCHER % "", (1, 1)),
        (RANCHER % ", rollingUpdate: {maxSurge: 10%, maxUnavailable: 10%}", (2, 1)),
        (SHOOT % "", (1, 1)),
        (SHOOT % ", maxSurge: 0, maxUnavailable: 1", (1, 0)),
    ],
)
def test_how_many_of_ten_nodes_are_drained_at_once_after_how_many_new_ones(text: str, at_once: tuple[int, int]) -> None:
    strategy = pool(text).upgrade
    assert strategy is not None
    assert strategy.at_once(10) == at_once


def test_a_large_pool_of_aks_gets_a_tenth_of_its_nodes_first() -> None:
    strategy = pool(AKS).upgrade
    assert strategy is not None
    assert strategy.at_once(25) == (3, 3)


def test_a_budget_of_no_nodes_allows_no_upgrade() -> None:
    strategy = pool(KARPENTER + "  disruption: {budgets: [{nodes: '0'}]}").upgrade
    assert strategy is not None
    assert strategy.held == "its disruption budget allows 0 nodes"


def test_nodes_restart_or_are_replaced() -> None:
    in_place = pool(HOSTED + "  management: {upgradeType: InPlace}").upgrade
    replaced = pool(HOSTED).upgrade
    assert in_place is not None
    assert replaced is not None
    assert (in_place.replaces, replaced.replaces) == (False, True)
