"""Policies of a configuration with their typed parameters. Plain, frozen, picklable values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afflint.findings.namedtuples import NamedTuple
from afflint.policies.matching import Matching
from afflint.policies.params import class_at, read
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
