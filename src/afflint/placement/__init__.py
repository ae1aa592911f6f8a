"""Simulation of scheduling and disruptions: on which nodes pods can be scheduled, with which scores, and what failures and drains do."""

from __future__ import annotations

from afflint.controllers.launcher_pod import launcher_pod
from afflint.controllers.migratability import live_migratable
from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster, ScheduleResult, SettledPlacements, Verdict
from afflint.scheduler.pods import Pod, read_pod

__all__ = [
    "Cluster",
    "InventoryError",
    "Pod",
    "ScheduleResult",
    "SettledPlacements",
    "Verdict",
    "launcher_pod",
    "live_migratable",
    "read_pod",
]
