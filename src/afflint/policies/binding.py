"""Policies of a configuration: the mistakes in them that the schema cannot express, and valid ones with their typed parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from afflint.findings.namedtuples import NamedTuple
from afflint.policies import messages
from afflint.policies.matching import Matching
from afflint.policies.params import ParameterMistake, class_at, fields_of, read
from afflint.policies.registry import CHECKS, PolicyCheck

if TYPE_CHECKING:
    from afflint.policies.policy import Policy


class BoundPolicy(NamedTuple):
    """A policy with its check, typed parameters and conditions, and the user's own message."""

    name: str
    check: PolicyCheck
    params: Any
    match: Matching
    exclude: Matching
    message: str | None = None
    mandatory: bool = False


def bound_policy(policy: Policy) -> BoundPolicy:
    """Convert a valid policy, such as one from a loaded configuration."""
    check = CHECKS[policy.check]
    return BoundPolicy(
        policy.name,
        check,
        read(class_at(check.params), policy.params),
        read(Matching, policy.match),
        read(Matching, policy.exclude),
        policy.message,
        policy.mandatory,
    )


def page(policy: Policy) -> str:
    """Return the Markdown page of a policy: its requirement, its remedy, and its configuration."""
    from afflint.yaml.emitter import flow

    check = CHECKS[policy.check]
    fields = {"check": policy.check, "params": policy.params, "match": policy.match, "exclude": policy.exclude, "message": policy.message}
    lines = [f"{key}: {flow(value)}" for key, value in fields.items() if value not in (None, {})]
    lines += ["mandatory: true"] if policy.mandatory else []
    body = "\n".join(lines)
    return f"# {policy.name}\n\n{check.requirement}\n\n## How to fix it\n\n{check.remedy}\n\n## The policy\n\n```yaml policy\n{body}\n```\n"


def faults_of(policy: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    """Yield the mistakes in a policy as it is in a file. Values of a wrong type are skipped: the schema reports them."""
    check = CHECKS.get(policy.get("check", "")) if isinstance(policy.get("check"), str) else None
    parts: dict[str, Any] = {"match": Matching, "exclude": Matching}
    if check is not None:
        parts["params"] = class_at(check.params)
    for key, dataclass in parts.items():
        data = policy.get(key)
        if isinstance(data, dict):
            yield from _faults(key, dataclass, data)
    message = policy.get("message")
    if isinstance(message, str):
        yield from (ParameterMistake(("message",), each) for each in messages.faults(message))


def _faults(key: str, dataclass: Any, data: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    from jsonschema import Draft202012Validator

    for name, takes, _, _ in fields_of(dataclass):
        if name in data and Draft202012Validator(takes.schema).is_valid(data[name]):
            yield from (ParameterMistake((key, name, *each.path), each.message) for each in takes.faults(data[name]))
