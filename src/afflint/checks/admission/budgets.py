"""Amounts and policies of PodDisruptionBudgets."""

from collections.abc import Iterator

from afflint.checks.admission.spelling import misspelt_value
from afflint.checks.match import Match
from afflint.findings.phrases import quoted
from afflint.manifests.manifest import Manifest
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder


def invalid_scheduling_field(manifest: Manifest) -> Iterator[Match]:
    """Report PodDisruptionBudgets that the API server rejects (``ValidatePodDisruptionBudgetSpec``)."""
    if manifest.kind.name != "PodDisruptionBudget":
        return
    spec, path = map_at(manifest.data, "spec"), (*manifest.base, "spec")
    given = [name for name in spec if name in _AMOUNTS and spec[name] is not None]
    if len(given) == 2 and not manifest.document.has_directives:  # In a template they may be in two branches.
        yield Match(
            (*path, given[1]), "minAvailable and maxUnavailable must not both be set", "Remove one of the two.", key=True, field=path
        )
    for name in given:
        fault = _amount_fault(spec[name])
        if fault is not None:
            yield Match((*path, name), f"{name} {fault}", "Write a number of pods from 0, or a percentage from 0% to 100%.")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if type(policy) is str and policy not in _UNHEALTHY and not is_placeholder(policy):
        message = f"{quoted(policy)} is not a valid value of unhealthyPodEvictionPolicy"
        yield misspelt_value((*path, "unhealthyPodEvictionPolicy"), message, policy, _UNHEALTHY)


_AMOUNTS = ("minAvailable", "maxUnavailable")
_UNHEALTHY = ("IfHealthyBudget", "AlwaysAllow")


def _amount_fault(amount: object) -> str | None:
    """Return why the API server rejects an amount of pods, or None if it is valid or a placeholder."""
    if type(amount) is int or (type(amount) is float and amount.is_integer()):
        return "cannot be negative" if amount < 0 else None
    if type(amount) is not str:
        return "must be a number of pods or a percentage"
    if is_placeholder(amount):
        return None
    digits = amount[:-1] if amount.endswith("%") else ""
    if not (digits.isascii() and digits.isdigit()):
        return f"is the string {quoted(amount)}, but must be a number of pods without quotes, or a percentage"
    return "cannot be more than 100%" if len(digits.lstrip("0")) > 3 or int(digits[-4:]) > 100 else None
