"""PodDisruptionBudgets as the disruption controller reads them: the pods they cover, and how many of these may be disrupted.

Semantics: pkg/controller/disruption (getExpectedScale, updatePdbStatus) and the selectors of policy/v1 and policy/v1beta1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from afflint.kube.decoding import InventoryError, error_in, mapping, metadata, string
from afflint.kube.selectors import Selector, matches, parse_label_selector
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import api_version_of

Amount = int | str
"""A number of pods, or a percentage such as ``50%``."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget. ``selector`` is None if it covers no pods; at most one of the two amounts is set."""

    namespace: str
    name: str
    selector: Selector | None
    min_available: Amount | None
    max_unavailable: Amount | None
    always_allows_unready: bool = False
    """Whether pods that are not ready may always be evicted (unhealthyPodEvictionPolicy AlwaysAllow)."""
    disrupted: tuple[str, ...] = ()
    """The names of the pods whose eviction the API server has accepted, and which still run (``status.disruptedPods``)."""

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the budget covers a pod with these labels in this namespace."""
        return namespace == self.namespace and self.selector is not None and matches(self.selector, dict(labels))

    def disruptions_allowed(self, expected: int, healthy: int) -> int:
        """Return how many of the covered pods may be evicted now.

        ``expected`` is the number of pods that the controllers want, ``healthy`` the number of pods that are ready. The result is 0 if no
        pods are expected, as for pods without a controller, or if the budget sets neither amount.
        """
        if expected <= 0 or not self.sets_amount:
            return 0
        return max(healthy - self.desired(expected), 0)

    def desired(self, expected: int) -> int:
        """Return how many pods must be healthy."""
        if self.max_unavailable is not None:
            return max(expected - _number_of_pods(self.max_unavailable, expected), 0)
        return _number_of_pods(self.min_available, expected) if self.min_available is not None else 0

    @property
    def sets_amount(self) -> bool:
        """Whether the budget sets minAvailable or maxUnavailable."""
        return self.max_unavailable is not None or self.min_available is not None

    @property
    def is_full(self) -> bool:
        """Whether the budget requires all pods, however many there are, which may be intended."""
        return str(self.max_unavailable) in ("0", "0%") or self.min_available == "100%"

    @property
    def counts_pods(self) -> bool:
        """Whether the expected number is the number of existing pods, so that no controller with a scale is needed."""
        return self.max_unavailable is None and isinstance(self.min_available, int)

    @property
    def amount(self) -> str:
        """The amount as text: ``minAvailable 2``, ``maxUnavailable 30%``."""
        if self.max_unavailable is not None:
            return f"maxUnavailable {self.max_unavailable}"
        return f"minAvailable {self.min_available}" if self.min_available is not None else "neither minAvailable nor maxUnavailable"


def read_budget(data: object) -> Budget:
    """Read a PodDisruptionBudget object as parsed from YAML or JSON. Raises InventoryError."""
    name, meta, whole = metadata(data, "PodDisruptionBudget")
    spec = mapping(whole.get("spec"), "spec")
    parsed = parse_label_selector(spec.get("selector"))
    if not isinstance(parsed, Selector):
        selector = None
    else:
        # An empty selector matches every pod of the namespace; in v1beta1 it matched none.
        selector = parsed if parsed.requirements or api_version_of(whole) != "policy/v1beta1" else None
    return Budget(
        string(meta.get("namespace"), "metadata.namespace") or "default",
        name,
        selector,
        _amount(spec.get("minAvailable"), name, "spec.minAvailable"),
        _amount(spec.get("maxUnavailable"), name, "spec.maxUnavailable"),
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
        tuple(map_at(whole, "status", "disruptedPods")),
    )


def _amount(value: Any, name: str, what: str) -> Amount | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    if type(value) is float and value.is_integer() and value >= 0:
        return int(value)
    if type(value) is str and value.endswith("%") and value[:-1].isascii() and value[:-1].isdigit():
        return value
    raise error_in("PodDisruptionBudget", name, InventoryError(f"{what} is neither a number of pods nor a percentage"))


def _number_of_pods(amount: Amount, expected: int) -> int:
    """Return the amount as a number of pods; percentages are rounded up for both fields (GetScaledValueFromIntOrPercent)."""
    return amount if isinstance(amount, int) else -(-int(amount[:-1]) * expected // 100)
