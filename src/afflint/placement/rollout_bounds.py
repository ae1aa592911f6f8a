"""How many replicas a rollout may leave in one domain, at most: a proof by counting, which saves examining its orders."""

from __future__ import annotations

from afflint.controllers.rollouts import rolling_update
from afflint.kube.selectors import matches
from afflint.placement.bounds import UNLIMITED, ScheduleBounds
from afflint.placement.schedule import Schedule
from afflint.scheduler.nodes import ITSELF
from afflint.scheduler.pods import Pod, SpreadConstraint


class RolloutBounds:
    """Bounds for the rollouts of the workloads of one schedule. ``key`` is the label of the domains, or ITSELF for single nodes."""

    def __init__(self, survey: ScheduleBounds, schedule: Schedule, key: str) -> None:
        self._survey = survey
        self._cluster = schedule.cluster
        self._workloads = schedule.workloads
        self._key = key
        self._inside: dict[str, bool] = {}

    def most_together(self, index: int) -> int:
        """Return how many replicas of a workload may be in one domain after a rollout; UNLIMITED if no constraint bounds them.

        Like the results of ``Rollouts``, it leaves out races in which a new pod is scheduled before an old one is removed.
        """
        members, own = self._survey.members(index), self._workloads[index].pod_source
        rolling = rolling_update(own.kind, own.strategy, own.replicas)
        if rolling is None or len(members) != 1 or own.node_name:
            return UNLIMITED
        if any(self._is_inside(key) for key in self._survey.kept_apart(index)):
            return 1
        pod = members[0].pod
        bounds = [self._spread_bound(index, pod, each, own.replicas + rolling.surge) for each in pod.hard_spread]
        return min(bounds, default=UNLIMITED)

    def _is_inside(self, key: str) -> bool:
        """Return whether each domain is a part of one domain of another label."""
        if self._key == ITSELF or key == ITSELF:
            return key == self._key or (key != ITSELF and None not in self._survey.table.column(key))
        if key not in self._inside:
            column, other = self._survey.table.column(self._key), self._survey.table.column(key)
            pairs = {(value, around) for value, around in zip(column, other, strict=True) if value is not None}
            self._inside[key] = None not in other and len(pairs) == len({value for value, _ in pairs})
        return self._inside[key]

    def _spread_bound(self, index: int, pod: Pod, constraint: SpreadConstraint, pods: int) -> int:
        """Return the bound by a spread constraint; ``pods`` is the number of old and new pods that exist at the same time.

        A domain takes its n-th pod only if each other domain has n - maxSkew pods, and all of them together are at most ``pods``.
        """
        counted = sum(self._cluster.matched(constraint, pod.namespace).values())
        if (
            counted != len(self._workloads[index].nodes)
            or not matches(constraint.selector, pod.labels)
            or not self._is_inside(constraint.key)
        ):
            return UNLIMITED  # It also counts pods of others, or not all of these pods.
        _, domains = self._survey.fit(pod).domains(constraint, tuple([each.key for each in pod.hard_spread]))
        if len(domains) < constraint.min_domains or not domains:
            return constraint.max_skew
        return max(constraint.max_skew, (pods + (len(domains) - 1) * constraint.max_skew) // len(domains))
