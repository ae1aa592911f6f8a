"""What is wrong with a policy whose shape the schema finds right: label keys, globs, kinds, selectors, and its message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.policies import messages, params
from afflint.policies.matching import Matching
from afflint.policies.registry import CHECKS


class PolicyMistake(NamedTuple):
    """A mistake at a path of a policy."""

    path: Path
    message: str


def faults_of(policy: Mapping[str, Any]) -> Iterator[PolicyMistake]:
    """The mistakes in a policy as a file says it. What is of the wrong type is no mistake of this kind."""
    check = CHECKS.get(policy.get("check", "")) if isinstance(policy.get("check"), str) else None
    parts: dict[str, Any] = {"match": Matching, "exclude": Matching}
    if check is not None:
        parts["params"] = params.class_at(check.params)
    for key, dataclass in parts.items():
        said = policy.get(key)
        if isinstance(said, dict):
            yield from _faults(key, dataclass, said)
    message = policy.get("message")
    if isinstance(message, str):
        yield from (PolicyMistake(("message",), each) for each in messages.faults(message))


def _faults(key: str, dataclass: Any, said: Mapping[str, Any]) -> Iterator[PolicyMistake]:
    from jsonschema import Draft202012Validator

    for name, takes, _, _ in params.fields_of(dataclass):
        # What has another shape the schema reports.
        if name in said and Draft202012Validator(takes.schema).is_valid(said[name]):
            yield from (PolicyMistake((key, name, *each.path), each.message) for each in takes.faults(said[name]))
