"""Constraints on other pods: terms of pod affinity and anti-affinity, and topology spread constraints."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints, pod_term_name
from afflint.kube.selectors import Malformed, Parsed, merge_label_keys, parse_label_selector
from afflint.manifests.manifest import Workload
from afflint.yaml.placeholders import is_placeholder

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


class PodAffinityTerm(NamedTuple):
    """A term of podAffinity or podAntiAffinity as the manifest has it. ``weight`` is None for a required term.

    A value of a wrong type counts as absent; ``mistyped`` is the first of them.
    """

    path: Path
    anti: bool
    weight: int | None
    topology_key: str
    label_selector: Parsed
    match_label_keys: tuple[str, ...]
    mismatch_label_keys: tuple[str, ...]
    namespaces: tuple[str, ...]
    namespace_selector: Parsed
    mistyped: Malformed | None

    @property
    def required(self) -> bool:
        return self.weight is None

    @property
    def name(self) -> str:
        """The name of the term in messages, such as ``required podAntiAffinity``."""
        return pod_term_name(anti=self.anti, required=self.required)

    @property
    def has_label_keys(self) -> bool:
        """Whether the selector depends on the labels of the pod that has the term."""
        return bool(self.match_label_keys or self.mismatch_label_keys)

    def selector(self, labels: Mapping[str, str]) -> Parsed:
        """Return the label selector as the API server stores it for a pod with these labels."""
        return merge_label_keys(self.label_selector, labels, self.match_label_keys, self.mismatch_label_keys)


class TopologySpreadConstraint(NamedTuple):
    """A topology spread constraint as the manifest has it; None and "" are absent values.

    A value of a wrong type counts as absent; ``mistyped`` is the first of them.
    """

    path: Path
    topology_key: str
    max_skew: int | None
    min_domains: int | None
    when_unsatisfiable: str
    label_selector: Parsed
    match_label_keys: tuple[str, ...]
    node_affinity_policy: str
    node_taints_policy: str
    mistyped: Malformed | None

    @property
    def hard(self) -> bool:
        """Whether a pod stays Pending rather than violate the constraint."""
        return self.when_unsatisfiable == HARD

    @property
    def has_label_keys(self) -> bool:
        """Whether the selector depends on the labels of the pod that has the constraint."""
        return bool(self.match_label_keys)

    def selector(self, labels: Mapping[str, str]) -> Parsed:
        """Return the label selector for a pod with these labels."""
        return merge_label_keys(self.label_selector, labels, self.match_label_keys)


class PodConstraints(NamedTuple):
    """The constraints of a pod on other pods, in the order of the manifest."""

    terms: tuple[PodAffinityTerm, ...]
    spreads: tuple[TopologySpreadConstraint, ...]


@lru_cache(maxsize=1)
def pod_constraints(workload: Workload) -> PodConstraints:
    """Return the parsed constraints of a workload on other pods, cached for the checks that run on the same workload."""
    return parse_pod_constraints(workload.constraints)


def parse_pod_constraints(constraints: Constraints) -> PodConstraints:
    """Parse the pod affinity terms and the spread constraints of a pod."""
    return PodConstraints(
        tuple([parse_pod_term(each.data, each.path, anti=each.anti, weight=each.weight) for each in constraints.pod_terms]),
        tuple([parse_spread_constraint(each.data, each.path) for each in constraints.spreads]),
    )


def parse_pod_term(data: object, path: Path, *, anti: bool, weight: int | None = None) -> PodAffinityTerm:
    """Parse a pod affinity term, or the ``podAffinityTerm`` of a preferred one; null is the empty map."""
    fields = _Fields(data)
    return PodAffinityTerm(
        path,
        anti,
        weight,
        label_selector=fields.selector("labelSelector"),
        match_label_keys=fields.texts("matchLabelKeys"),
        mismatch_label_keys=fields.texts("mismatchLabelKeys"),
        namespace_selector=fields.selector("namespaceSelector"),
        namespaces=fields.texts("namespaces"),
        topology_key=fields.text("topologyKey"),
        mistyped=fields.mistyped,
    )


def parse_spread_constraint(data: object, path: Path) -> TopologySpreadConstraint:
    """Parse an item of ``topologySpreadConstraints``; null is the empty map."""
    fields = _Fields(data)
    return TopologySpreadConstraint(
        path,
        label_selector=fields.selector("labelSelector"),
        topology_key=fields.text("topologyKey"),
        max_skew=fields.integer("maxSkew"),
        min_domains=fields.integer("minDomains"),
        match_label_keys=fields.texts("matchLabelKeys"),
        node_affinity_policy=fields.text("nodeAffinityPolicy"),
        node_taints_policy=fields.text("nodeTaintsPolicy"),
        when_unsatisfiable=fields.text("whenUnsatisfiable"),
        mistyped=fields.mistyped,
    )


class _Fields:
    """Reads the fields of one map and keeps the first value of a wrong type."""

    __slots__ = ("data", "mistyped")

    def __init__(self, data: object) -> None:
        self.mistyped: Malformed | None = None
        self.data: dict[str, Any] = {}
        if isinstance(data, dict):
            self.data = data
        elif data is not None:
            self._reject((), data, "a map")

    def text(self, field: str) -> str:
        value = self.data.get(field)
        if isinstance(value, str):
            return value
        if value is not None:
            self._reject((field,), value, "a string")
        return ""

    def integer(self, field: str) -> int | None:
        """Return an integer, which may be written as ``3.0``."""
        value = self.data.get(field)
        if value is None or type(value) is int:
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        self._reject((field,), value, "an integer")
        return None

    def texts(self, field: str) -> tuple[str, ...]:
        """Return the strings of a list; a null item is the empty string, and a placeholder for the list its only item."""
        value = self.data.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._reject((field,), value, "a list")
            return (value,) if isinstance(value, str) and is_placeholder(value) else ()
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, str):
                self._reject((field, index), item, "a string")
        return tuple([item or "" for item in value if item is None or isinstance(item, str)])

    def selector(self, field: str) -> Parsed:
        value = self.data.get(field)
        if value is None:
            return None
        parsed = parse_label_selector(value)
        if isinstance(parsed, Malformed) and parsed.mistyped and self.mistyped is None:
            self.mistyped = parsed._replace(path=(field, *parsed.path))
        return parsed

    def _reject(self, path: Path, value: object, wanted: str) -> None:
        from afflint.findings.phrases import kind_of_value

        if self.mistyped is None:
            self.mistyped = Malformed(path, f"is {kind_of_value(value)}, not {wanted}", mistyped=True)
