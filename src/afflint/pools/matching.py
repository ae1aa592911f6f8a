"""Whether a node of a pool can match what a pod asks of its node: by the algebra of selectors, in which a pool is one more selector."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from afflint.kube.node_labels import DEPRECATED, MASTER
from afflint.kube.selectors import Requirement, can_hold_together
from afflint.pools.data import may_be_added
from afflint.pools.model import Label, Part, Pool


class PoolLabels:
    """What is known of the labels of a pool's nodes, ready to be asked. ``declared`` are the keys of all pools of the cluster."""

    __slots__ = ("_by_key", "_closed", "_declared", "_unmet", "pool")

    def __init__(self, pool: Pool, declared: Collection[str]) -> None:
        self.pool = pool
        self._closed = pool.closed
        self._declared = declared
        self._unmet: dict[tuple[Requirement, ...], tuple[int, ...]] = {}
        self._by_key: dict[str, list[Label]] = {}
        for label in pool.labels:
            self._by_key.setdefault(label.key, []).append(label)

    def known(self, key: str) -> list[Label]:
        """What is said of a label; under its new name if that is all that is said, for kubelets and clouds set both."""
        found = self._by_key.get(key)
        if found is None and key in DEPRECATED and key != MASTER:
            found = self._by_key.get(DEPRECATED[key])
        return found or []

    def about(self, key: str) -> list[Requirement]:
        """What the nodes are known to meet for this label; nothing where it may have any value, or none."""
        found = self.known(key)
        if found:
            return [label.requirement._replace(key=key) for label in found]
        absent = self._closed and not may_be_added(key, self._declared)
        return [Requirement(key, "DoesNotExist")] if absent else []

    def unmet(self, requirements: Sequence[Requirement]) -> list[int]:
        """The numbers of the requirements that no node of the pool meets, those on one label taken together; empty when all can be met."""
        by_key: dict[str, list[int]] = {}
        for index, requirement in enumerate(requirements):
            if not requirement.field:  # What a node will be called nobody knows.
                by_key.setdefault(requirement.key, []).append(index)
        found: list[int] = []
        for indexes in by_key.values():
            asked = tuple([requirements[index] for index in indexes])
            # Remembered: many workloads ask for the same.
            unmet = self._unmet.get(asked)
            if unmet is None:
                unmet = self._unmet[asked] = self._not_met(asked)
            found += [indexes[place] for place in unmet]
        return sorted(found)

    def _not_met(self, asked: tuple[Requirement, ...]) -> tuple[int, ...]:
        """Which of some requirements on one label no node meets, by their places; all of them, where none is at fault alone."""
        known = self.about(asked[0].key)
        if not known or can_hold_together([*known, *asked]):
            return ()
        alone = tuple([place for place, each in enumerate(asked) if not can_hold_together([*known, each])])
        return alone or tuple(range(len(asked)))

    def values(self, key: str) -> tuple[str, ...]:
        """The values that the label can have, where these are known."""
        known = [label.requirement for label in self.known(key) if label.requirement.operator == "In"]
        return tuple(dict.fromkeys(value for requirement in known for value in requirement.values))


def declared_keys(pools: Iterable[Pool | Part]) -> frozenset[str]:
    """The label keys that pools declare, whatever their cluster."""
    return frozenset(label.key for pool in pools for label in pool.labels)
