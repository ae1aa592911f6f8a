"""Whether a node of a pool can match the node requirements of a pod. A pool is treated as a selector, too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from afflint.findings.grouping import grouped
from afflint.kube.node_labels import CONTROL_PLANE, DEPRECATED, MASTER, suggested_label
from afflint.kube.selector_algebra import can_hold_together
from afflint.kube.selectors import Requirement
from afflint.pools.fields import may_be_added
from afflint.pools.pool import Label, Pool, PoolPart


class PoolLabels:
    """What is known about the labels of a pool's nodes. ``declared`` are the keys of all pools of the cluster."""

    def __init__(self, pool: Pool, declared: Collection[str]) -> None:
        self.pool = pool
        self._closed = pool.closed
        self._declared = declared
        self._unmet: dict[tuple[Requirement, ...], tuple[int, ...]] = {}
        self._by_key = grouped((label.key, label) for label in pool.labels)

    def known(self, key: str) -> list[Label]:
        """Return the declarations of a label; those of its new name if the key is deprecated, because kubelets and clouds set both."""
        labels = self._by_key.get(key)
        if labels is None and key in DEPRECATED and key != MASTER:
            labels = self._by_key.get(DEPRECATED[key])
        return labels or []

    def about(self, key: str) -> list[Requirement]:
        """Return the requirements on this label that all nodes meet; none if it may have any value or be absent."""
        labels = self.known(key)
        if labels:
            return [label.requirement._replace(key=key) for label in labels]
        absent = self._closed and not may_be_added(key, self._declared, listed=self.pool.listed)
        return [Requirement(key, "DoesNotExist")] if absent else []

    def unmet(self, requirements: Sequence[Requirement]) -> list[int]:
        """Return the indexes of the requirements that no node of the pool meets; requirements on one label are taken together."""
        failed: list[int] = []
        for indexes in _by_label(requirements):
            asked = tuple([requirements[index] for index in indexes])
            # Cached, because many workloads have equal requirements.
            unmet = self._unmet.get(asked)
            if unmet is None:
                unmet = self._unmet[asked] = _failing(self.about(asked[0].key), asked)
            failed += [indexes[place] for place in unmet]
        return sorted(failed)

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values that the label can have, if they are known."""
        known = [label.requirement for label in self.known(key) if label.requirement.operator == "In"]
        return tuple(dict.fromkeys(value for requirement in known for value in requirement.values))


class PoolIndex:
    """Finds the pools that meet requirements by the labels that they declare, without a look at every pool.

    Sets of pools are integers with a bit for each pool, in their order. ``declared`` are the keys of all pools of the cluster.
    """

    def __init__(self, pools: Iterable[Pool], declared: Collection[str]) -> None:
        self.pools = [PoolLabels(pool, declared) for pool in pools]
        self.all = (1 << len(self.pools)) - 1
        self._declared = declared
        self._closed = sum(1 << number for number, each in enumerate(self.pools) if each.pool.closed)
        self._listed = sum(1 << number for number, each in enumerate(self.pools) if each.pool.listed)
        self._numbers = grouped((key, number) for number, each in enumerate(self.pools) for key in each.pool.keys)
        self._statements: dict[str, PoolLabelStatements] = {}
        self._unmet: dict[tuple[Requirement, ...], tuple[int, ...]] = {}

    def unmet(self, requirements: Sequence[Requirement]) -> list[int]:
        """Return for each requirement the pools with no node that meets it: see ``PoolLabels.unmet``."""
        failed = [0] * len(requirements)
        for indexes in _by_label(requirements):
            asked = tuple([requirements[index] for index in indexes])
            unmet = self._unmet.get(asked)
            if unmet is None:
                unmet = self._unmet[asked] = tuple(self._not_met(asked))
            for index, mask in zip(indexes, unmet, strict=True):
                failed[index] = mask
        return failed

    def fitting(self, requirements: Sequence[Requirement]) -> int:
        """Return the pools with nodes that can meet all requirements."""
        fitting = self.all
        for mask in self.unmet(requirements):
            fitting &= ~mask
        return fitting

    def chosen(self, mask: int) -> Iterator[PoolLabels]:
        """Yield the pools of a set."""
        while mask:
            number = (mask & -mask).bit_length() - 1
            yield self.pools[number]
            mask &= mask - 1

    def statements(self, key: str) -> PoolLabelStatements:
        """Return the declarations of a label in all pools that declare it."""
        statements = self._statements.get(key)
        if statements is None:
            numbers = self._numbers.get(key, [])
            if key in DEPRECATED and key != MASTER:
                numbers = sorted({*numbers, *self._numbers.get(DEPRECATED[key], ())})
            statements = self._statements[key] = PoolLabelStatements(key, [(number, self.pools[number]) for number in numbers])
        return statements

    def _not_met(self, asked: tuple[Requirement, ...]) -> list[int]:
        key = asked[0].key
        statements = self.statements(key)
        failed = statements.not_met(asked)
        for closed, listed in ((self._closed & ~self._listed, False), (self._closed & self._listed, True)):
            silent = closed & ~statements.all
            if silent and not may_be_added(key, self._declared, listed=listed):
                for place in _failing([Requirement(key, "DoesNotExist")], asked):
                    failed[place] |= silent
        return failed


class PoolLabelStatements:
    """The declarations of one label in some pools, each with its number."""

    def __init__(self, key: str, pools: Sequence[tuple[int, PoolLabels]]) -> None:
        self.pools = [labels for _, labels in pools]
        self.all = sum(1 << number for number, _ in pools)
        self.values: dict[str, PoolLabels] = {}
        """The possible values of the label, each with the first pool that has it."""
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
        """Return for each of some requirements on the label the pools that do not meet it."""
        failed, others = [0] * len(asked), self._any
        if len(asked) == 1 and asked[0].operator == "In":
            # The usual case takes one lookup per value.
            having = 0
            for value in asked[0].values:
                having |= self._having.get(value, 0)
            failed, others = [self._one_of & ~having], self._others
        for requirements, mask in others.items():
            for place in _failing(requirements, asked):
                failed[place] |= mask
        return failed


def _by_label(requirements: Sequence[Requirement]) -> Iterable[list[int]]:
    """Return the indexes of some requirements, grouped by label. Requirements on fields are left out: node names are unknown."""
    by_key = grouped((requirement.key, index) for index, requirement in enumerate(requirements) if not requirement.field)
    return by_key.values()


def _failing(known: Sequence[Requirement], required: Sequence[Requirement]) -> tuple[int, ...]:
    """Return the indexes of the requirements on one label that a node cannot meet; all, if only their combination fails."""
    if not known or can_hold_together([*known, *required]):
        return ()
    alone = tuple([place for place, each in enumerate(required) if not can_hold_together([*known, each])])
    return alone or tuple(range(len(required)))


def declared_keys(pools: Iterable[Pool | PoolPart]) -> frozenset[str]:
    """Return the label keys that pools declare, whatever their cluster."""
    return frozenset(label.key for pool in pools for label in pool.labels)


def telling_keys(pools: Sequence[Pool | PoolPart]) -> frozenset[str]:
    """Return the keys that change what rules about one object report.

    These are keys that look like misspelt well-known labels, deprecated ones and their successors, and that of control planes if some
    of these have no taint.
    """
    keys = {key for key in declared_keys(pools) if key in _RENAMED or suggested_label(key) is not None}
    return frozenset([*keys, CONTROL_PLANE] if any(map(_opens_control_planes, pools)) else keys)


_RENAMED = frozenset((*DEPRECATED, *DEPRECATED.values())) - {MASTER, CONTROL_PLANE}


def _opens_control_planes(pool: Pool | PoolPart) -> bool:
    """Return whether control planes of the cluster have no taint."""
    is_here = not isinstance(pool, Pool) or pool.whose != "other"
    tainted = any(each.taint.key in (CONTROL_PLANE, MASTER) for each in pool.taints)
    return is_here and not tainted and any(each.key == CONTROL_PLANE for each in pool.labels)
