"""Whether a node of a pool can match what a pod asks of its node: by the algebra of selectors, in which a pool is one more selector."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from afflint.kube.node_labels import DEPRECATED, MASTER
from afflint.kube.selectors import Requirement, can_hold_together
from afflint.pools.fields import may_be_added
from afflint.pools.pool import Label, Pool, PoolPart


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
        found: list[int] = []
        for indexes in _by_label(requirements):
            asked = tuple([requirements[index] for index in indexes])
            # Remembered: many workloads ask for the same.
            unmet = self._unmet.get(asked)
            if unmet is None:
                unmet = self._unmet[asked] = _not_holding(self.about(asked[0].key), asked)
            found += [indexes[place] for place in unmet]
        return sorted(found)

    def values(self, key: str) -> tuple[str, ...]:
        """The values that the label can have, where these are known."""
        known = [label.requirement for label in self.known(key) if label.requirement.operator == "In"]
        return tuple(dict.fromkeys(value for requirement in known for value in requirement.values))


class PoolIndex:
    """Which of many pools meet what is asked, found by what they declare of each label: asking costs what is near, not what there is.

    Sets of pools are integers with a bit for each, in their order. ``declared`` are the keys of all pools of the cluster.
    """

    def __init__(self, pools: Iterable[Pool], declared: Collection[str]) -> None:
        self.pools = [PoolLabels(pool, declared) for pool in pools]
        self.all = (1 << len(self.pools)) - 1
        self._declared = declared
        self._closed = sum(1 << number for number, each in enumerate(self.pools) if each.pool.closed)
        self._numbers: dict[str, list[int]] = {}
        for number, each in enumerate(self.pools):
            for key in each.pool.keys:
                self._numbers.setdefault(key, []).append(number)
        self._said: dict[str, PoolLabelStatements] = {}
        self._unmet: dict[tuple[Requirement, ...], tuple[int, ...]] = {}

    def unmet(self, requirements: Sequence[Requirement]) -> list[int]:
        """For each requirement the pools of which no node meets it, those on one label taken together: see ``PoolLabels.unmet``."""
        found = [0] * len(requirements)
        for indexes in _by_label(requirements):
            asked = tuple([requirements[index] for index in indexes])
            unmet = self._unmet.get(asked)
            if unmet is None:
                unmet = self._unmet[asked] = tuple(self._not_met(asked))
            for index, mask in zip(indexes, unmet, strict=True):
                found[index] = mask
        return found

    def fitting(self, requirements: Sequence[Requirement]) -> int:
        """The pools with nodes that can meet all of them."""
        found = self.all
        for mask in self.unmet(requirements):
            found &= ~mask
        return found

    def chosen(self, mask: int) -> Iterator[PoolLabels]:
        """The pools of a set."""
        while mask:
            number = (mask & -mask).bit_length() - 1
            yield self.pools[number]
            mask &= mask - 1

    def said(self, key: str) -> PoolLabelStatements:
        """What the pools say of a label."""
        found = self._said.get(key)
        if found is None:
            numbers = self._numbers.get(key, [])
            if key in DEPRECATED and key != MASTER:
                numbers = sorted({*numbers, *self._numbers.get(DEPRECATED[key], ())})
            found = self._said[key] = PoolLabelStatements(key, [(number, self.pools[number]) for number in numbers])
        return found

    def _not_met(self, asked: tuple[Requirement, ...]) -> list[int]:
        key = asked[0].key
        said = self.said(key)
        found = said.not_met(asked)
        silent = self._closed & ~said.all
        if silent and not may_be_added(key, self._declared):
            for place in _not_holding([Requirement(key, "DoesNotExist")], asked):
                found[place] |= silent
        return found


class PoolLabelStatements:
    """What some pools say of one label, each with its number."""

    def __init__(self, key: str, pools: Sequence[tuple[int, PoolLabels]]) -> None:
        self.pools = [labels for _, labels in pools]
        self.all = sum(1 << number for number, _ in pools)
        self.values: dict[str, PoolLabels] = {}
        """The values that the label can have, each with the first pool that has it."""
        self._one_of = 0
        self._having: dict[str, int] = {}
        self._others: dict[tuple[Requirement, ...], int] = {}
        self._any: dict[tuple[Requirement, ...], int] = {}
        for number, labels in pools:
            about, bit = tuple(labels.about(key)), 1 << number
            self._any[about] = self._any.get(about, 0) | bit
            if len(about) == 1 and about[0].operator == "In":
                self._one_of |= bit
                for value in about[0].values:
                    self._having[value] = self._having.get(value, 0) | bit
            else:
                self._others[about] = self._others.get(about, 0) | bit
            for value in labels.values(key):
                self.values.setdefault(value, labels)

    def not_met(self, asked: tuple[Requirement, ...]) -> list[int]:
        """For each of some requirements on the label those of the pools that do not meet it."""
        found, others = [0] * len(asked), self._any
        if len(asked) == 1 and asked[0].operator == "In":
            # The usual case: one look for each value.
            having = 0
            for value in asked[0].values:
                having |= self._having.get(value, 0)
            found, others = [self._one_of & ~having], self._others
        for about, mask in others.items():
            for place in _not_holding(about, asked):
                found[place] |= mask
        return found


def _by_label(requirements: Sequence[Requirement]) -> Iterable[list[int]]:
    """The numbers of some requirements, those on one label together. What a node will be called nobody knows."""
    by_key: dict[str, list[int]] = {}
    for index, requirement in enumerate(requirements):
        if not requirement.field:
            by_key.setdefault(requirement.key, []).append(index)
    return by_key.values()


def _not_holding(known: Sequence[Requirement], asked: Sequence[Requirement]) -> tuple[int, ...]:
    """Which of some requirements on one label no node meets of which this is known, by their places; all, where none is at fault alone."""
    if not known or can_hold_together([*known, *asked]):
        return ()
    alone = tuple([place for place, each in enumerate(asked) if not can_hold_together([*known, each])])
    return alone or tuple(range(len(asked)))


def declared_keys(pools: Iterable[Pool | PoolPart]) -> frozenset[str]:
    """The label keys that pools declare, whatever their cluster."""
    return frozenset(label.key for pool in pools for label in pool.labels)
