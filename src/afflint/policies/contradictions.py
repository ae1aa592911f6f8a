"""Contradictory policies: two policies of one configuration that no workload can meet together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.policies.matching import Matching
from afflint.policies.params import LABELS, Labels, read, words_of

if TYPE_CHECKING:
    from afflint.policies.policy import Policy

_LABELLED_OBJECTS = {"required-node-labels": "node", "required-template-labels": "pod"}
"""The checks that require labels, with the object that has one value of each label. All other checks can be met together: the node selector
of a namespace can select nodes that a manifest must not select, and one topology domain can contain another."""


class Contradiction(NamedTuple):
    """Two contradictory policies by name, ``policy`` being the later one, with the message."""

    policy: str
    other: str
    message: str


class _LabelPolicy(NamedTuple):
    """A policy that requires labels, and the workloads that it applies to."""

    policy: str
    match: Matching
    exclude: Matching
    labels: Labels

    @property
    def applies_to_all(self) -> bool:
        return self.match == self.exclude == Matching()

    def overlaps(self, other: _LabelPolicy) -> bool:
        """Return whether the workloads of one policy are certainly among those of the other."""
        return self.applies_to_all or other.applies_to_all or (self.match, self.exclude) == (other.match, other.exclude)


def contradictions(policies: Iterable[Policy]) -> Iterator[Contradiction]:
    """Yield pairs of policies that require different values of one label for the same pods; each policy at most once as the later one."""
    earlier: dict[str, list[_LabelPolicy]] = {check: [] for check in _LABELLED_OBJECTS}
    for policy in policies:
        if policy.check not in earlier:
            continue
        labels = LABELS.read(policy.params["labels"])
        label_policy = _LabelPolicy(policy.name, read(Matching, policy.match), read(Matching, policy.exclude), labels)
        for other in earlier[policy.check]:
            key = _contradictory_key(label_policy.labels, other.labels) if label_policy.overlaps(other) else None
            if key is not None:
                yield Contradiction(policy.name, other.policy, _message(policy.check, label_policy, other, key))
                break
        earlier[policy.check].append(label_policy)


def _contradictory_key(labels: Labels, others: Labels) -> str | None:
    """Return the label without a value that both policies allow."""
    return next((key for key, values in labels.items() if values and others.get(key) and not {*values} & {*others[key]}), None)


def _message(check: str, policy: _LabelPolicy, other: _LabelPolicy, key: str) -> str:
    return (
        f"no {_LABELLED_OBJECTS[check]} can meet two policies: {quoted(policy.policy)} requires {quoted(key)} to be "
        f"{words_of(policy.labels[key])}, but {quoted(other.policy)} requires {words_of(other.labels[key])}; "
        "use `exclude` in one of them for the workloads of the other"
    )
