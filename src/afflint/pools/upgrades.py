"""Reads how the nodes of a pool are upgraded: strategies of rolling updates, disruption budgets, update configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.pools.fields import text
from afflint.pools.upgrade_strategy import Amount, UpgradeStrategy, number_of
from afflint.yaml.document import list_at, map_at, value_at_path


def amount_of(value: Any) -> Amount | None:
    """Return a number or a percentage; None for anything else, such as a placeholder."""
    if type(value) is int:
        return value if value >= 0 else None
    digits = value.removesuffix("%") if type(value) is str else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 5):
        return None
    return value if value.endswith("%") else int(digits)


def rolling_update(data: Any, *path: str, unavailable: Amount = 0, surge: Amount = 1) -> UpgradeStrategy:
    """Return the strategy in the ``maxUnavailable`` and ``maxSurge`` of a map; the arguments are the defaults of its controller.

    If both are 0, one node may be unavailable.
    """
    found = value_at_path(data, *path) if path else data
    found = found[0] if type(found) is list and found else found  # Older versions of Crossplane wrap the map in a list.
    given = {name: amount for name in ("maxUnavailable", "maxSurge") if (amount := amount_of(map_at(found).get(name))) is not None}
    chosen = given.get("maxUnavailable", unavailable), given.get("maxSurge", surge)
    if set(map(str, chosen)) <= {"0", "0%"}:
        chosen = (1, 0)
    declared = " and ".join(f"{name} {amount}" for name, amount in given.items())
    return UpgradeStrategy(*chosen, replaces=True, declared=declared)


def karpenter_budgets(data: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of a NodePool of Karpenter: its strictest disruption budget for drift, without those for certain hours only.

    Karpenter launches the replacement of a drifted node before it drains the node (website/content/en/docs/concepts/disruption.md).
    """
    listed = [each for each in list_at(data, "spec", "disruption", "budgets") if type(each) is dict]
    budgets = [each for each in listed if not each.get("schedule") and (not each.get("reasons") or "Drifted" in list_at(each, "reasons"))]
    amounts = [amount for each in budgets if (amount := amount_of(each.get("nodes"))) is not None]
    if not amounts:
        return UpgradeStrategy(0, "10%", replaces=True)
    strictest = min(amounts, key=lambda amount: number_of(amount, _USUAL, "up"))
    held = f"its disruption budget allows {strictest} nodes" if number_of(strictest, _USUAL, "up") == 0 else ""
    return UpgradeStrategy(0, strictest, replaces=True, declared=f"disruption budget {strictest}", held=held)


_USUAL = 10
"""The size of a pool at which numbers and percentages are compared."""


def eks_update(group: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of a managed node group of EKS: ``updateConfig``. It creates new nodes before it drains old ones."""
    config = group.get("updateConfig")
    config = map_at(config[0] if type(config) is list and config else config)
    share = amount_of(config.get("maxUnavailablePercentage"))
    if isinstance(share, int):
        return UpgradeStrategy(0, f"{share}%", replaces=True, declared=f"maxUnavailablePercentage {share}")
    count = amount_of(config.get("maxUnavailable"))
    return UpgradeStrategy(0, count or 1, replaces=True, declared=f"maxUnavailable {count}" if count else "")


def machine_deployment(spec: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of a MachineDeployment of Cluster API (v1beta1 ``strategy``, v1beta2 ``rollout.strategy``)."""
    strategy = map_at(spec, "strategy") or map_at(spec, "rollout", "strategy")
    if text(strategy, "type") == "OnDelete":
        return UpgradeStrategy(1, 0, replaces=True, declared="type OnDelete")
    return rolling_update(strategy, "rollingUpdate")


def hosted_pool(spec: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of a NodePool of HyperShift."""
    management = map_at(spec, "management")
    if text(management, "upgradeType") == "InPlace":
        return rolling_update(management, "inPlace", unavailable=1, surge=0)._replace(replaces=False)
    return rolling_update(management, "replace", "rollingUpdate")


def aks_upgrade(spec: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of an agent pool of AKS: 10 % of its nodes are added by default.

    Source: https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling and `maxSurge` of `AgentPoolUpgradeSettings`. Pools that
    were created before this default may have 1, which a manifest without the field does not show.
    """
    return rolling_update(spec, "upgradeSettings", surge="10%")


def kops_update(spec: Mapping[str, Any], *, control_plane: bool) -> UpgradeStrategy:
    """Return the strategy of an instance group of kOps: it adds a node first on AWS, but never to the control plane.

    Source: `resolveSettings` (pkg/instancegroups), and `maxSurge` of the InstanceGroupSpec: 1 on AWS, 0 otherwise. An instance group does
    not name its cloud: machine types of AWS have a dot, and those of most others have none.
    """
    kind = text(spec, "machineType")
    if control_plane:
        return rolling_update({"maxUnavailable": map_at(spec, "rollingUpdate").get("maxUnavailable")}, surge=0, unavailable=1)
    on_aws = not kind or "." in kind
    return rolling_update(spec, "rollingUpdate", surge=1 if on_aws else 0)


def gke_upgrade(spec: Mapping[str, Any]) -> UpgradeStrategy:
    """Return the strategy of a GKE node pool: surge upgrades by default."""
    settings = spec.get("upgradeSettings")
    settings = map_at(settings[0] if type(settings) is list and settings else settings)
    if text(settings, "strategy") == "BLUE_GREEN":
        return UpgradeStrategy(0, "100%", replaces=True, declared="strategy BLUE_GREEN")
    return rolling_update(settings)
