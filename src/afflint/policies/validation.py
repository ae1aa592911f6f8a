"""Mistakes in policies that the schema cannot express: label keys, globs, kinds, selectors, and messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.policies import messages, params
from afflint.policies.matching import Matching
from afflint.policies.registry import CHECKS


class PolicyMistake(NamedTuple):
    """A mistake at a path of a policy."""

    path: Path
    message: str


def faults_of(policy: Mapping[str, Any]) -> Iterator[PolicyMistake]:
    """Yield the mistakes in a policy as it is in a file. Values of a wrong type are skipped: the schema reports them."""
    check = CHECKS.get(policy.get("check", "")) if isinstance(policy.get("check"), str) else None
    parts: dict[str, Any] = {"match": Matching, "exclude": Matching}
    if check is not None:
        parts["params"] = params.class_at(check.params)
    for key, dataclass in parts.items():
        data = policy.get(key)
        if isinstance(data, dict):
            yield from _faults(key, dataclass, data)
    message = policy.get("message")
    if isinstance(message, str):
        yield from (PolicyMistake(("message",), each) for each in messages.faults(message))


def _faults(key: str, dataclass: Any, data: Mapping[str, Any]) -> Iterator[PolicyMistake]:
    from jsonschema import Draft202012Validator

    for name, takes, _, _ in params.fields_of(dataclass):
        if name in data and Draft202012Validator(takes.schema).is_valid(data[name]):
            yield from (PolicyMistake((key, name, *each.path), each.message) for each in takes.faults(data[name]))
