"""Policies of one configuration that no workload can meet together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.policies.matching import Matching
from afflint.policies.params import LABELS, Labels, read, words_of

if TYPE_CHECKING:
    from afflint.config import Policy

_OF_ONE_VALUE = {"required-node-labels": "a node", "required-template-labels": "a pod"}
"""Checks that demand labels, by what has each of them with one value only. What forbids something, or wants replicas apart, can be met
together with any other: the node selector of a namespace chooses nodes that a manifest must not ask for, and one domain lies in another."""


class Contradiction(NamedTuple):
    """Two policies, by their names, of which ``policy`` comes later; and why not both can be met."""

    policy: str
    other: str
    message: str


class _Demand(NamedTuple):
    """What a policy demands of labels, and of what."""

    policy: str
    match: Matching
    exclude: Matching
    labels: Labels

    @property
    def is_of_all(self) -> bool:
        return self.match == self.exclude == Matching()

    def surely_meets(self, other: _Demand) -> bool:
        """Whether what one of both is about, the other surely is about, too."""
        return self.is_of_all or other.is_of_all or (self.match, self.exclude) == (other.match, other.exclude)


def contradictions(policies: Iterable[Policy]) -> Iterator[Contradiction]:
    """Pairs of policies that demand different values of one label of the same pods, each policy once at most."""
    demands: dict[str, list[_Demand]] = {check: [] for check in _OF_ONE_VALUE}
    for policy in policies:
        if policy.check not in demands:
            continue
        labels = LABELS.read(policy.params["labels"])
        demand = _Demand(policy.name, read(Matching, policy.match), read(Matching, policy.exclude), labels)
        for other in demands[policy.check]:
            key = _contested(demand.labels, other.labels) if demand.surely_meets(other) else None
            if key is not None:
                yield Contradiction(policy.name, other.policy, _told(policy.check, demand, other, key))
                break
        demands[policy.check].append(demand)


def _contested(labels: Labels, others: Labels) -> str | None:
    """The label of which no value is right for both."""
    return next((key for key, values in labels.items() if values and others.get(key) and not {*values} & {*others[key]}), None)


def _told(check: str, demand: _Demand, other: _Demand, key: str) -> str:
    demanded = f"{quoted(demand.policy)} demands {words_of(demand.labels[key])}, {quoted(other.policy)} {words_of(other.labels[key])}"
    remedy = "say with `exclude` in one of them what only the other is about"
    return f"two policies that nothing can meet together: of {quoted(key)} {_OF_ONE_VALUE[check]} has one value, and {demanded}; {remedy}"
