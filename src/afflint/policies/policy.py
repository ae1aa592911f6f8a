"""A policy as a configuration contains it."""

from collections.abc import Mapping
from typing import Any

from afflint.findings.finding import Severity
from afflint.findings.namedtuples import NamedTuple


class Policy(NamedTuple):
    """A rule that the user configures: a check with its parameters, and the workloads that it applies to, as in the file.

    ``severity`` and ``message`` are None for those of the check. A suppression in a manifest has no effect on a ``mandatory`` policy.
    """

    name: str
    check: str
    params: Mapping[str, Any] = {}
    match: Mapping[str, Any] = {}
    exclude: Mapping[str, Any] = {}
    severity: Severity | None = None
    message: str | None = None
    mandatory: bool = False
