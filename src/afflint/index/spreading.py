"""Spreading constraints of pods: their topology key and strictness, or why a constraint has no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from afflint.constraints.pods import HARD, SOFT, PodAffinityTerm, TopologySpreadConstraint, parse_pod_constraints
from afflint.controllers.pod_labels import PodLabels
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.index.facts import namespaces_of
from afflint.kube.constraints import Constraints
from afflint.kube.node_labels import DEPRECATED, at_least_as_wide
from afflint.kube.node_requirements import equivalent_keys
from afflint.kube.selectors import EVERYTHING, Parsed, Requirement, Selector
from afflint.manifests.label_places import SPREAD
from afflint.yaml.placeholders import is_placeholder

Covers = Callable[[Selector, str | None], bool | None]
"""Returns whether a namespaceSelector matches a namespace; None if that is not known."""


class OwnPods(NamedTuple):
    """The labels and the namespace of the pods that have the constraints. ``known``: they have exactly these labels."""

    labels: PodLabels
    known: bool
    namespace: str | None


class SpreadingConstraint(NamedTuple):
    """A constraint that keeps replicas of a workload in different domains of a topology key, or would if it selected them.

    ``name`` is its display name. ``hard``: a pod stays Pending rather than violate it. ``most`` is the largest number of the pods in
    one domain while another domain has none; None if it is unlimited. ``undecidable``: a value is a placeholder or cannot be read.
    """

    path: Path
    name: str
    key: str
    hard: bool
    most: int | None
    selector: Selector | None
    skew: int | None = None
    """The maxSkew of a spread constraint, also with ScheduleAnyway."""
    undecidable: bool = False
    elsewhere: bool = False
    """Whether it applies only to namespaces other than that of its pods."""
    missed: Requirement | None = None
    """A requirement of its selector that the pods do not meet."""
    label_keys: tuple[str, ...] = ()
    """The matchLabelKeys of a spread constraint."""
    min_domains: int = 1

    @property
    def selects_no_pods(self) -> bool:
        """Whether it has no selector, or is a spread constraint with an empty one, which counts no pods."""
        return self.selector is None or (self.name == SPREAD and not self.selector.requirements)

    @property
    def works(self) -> bool:
        """Whether it applies to its own pods, as far as known."""
        return self.undecidable or not (self.elsewhere or self.missed or self.selects_no_pods)


def spreading_constraints(constraints: Constraints, own: OwnPods, covers: Covers) -> Iterator[SpreadingConstraint]:
    """Yield the anti-affinity terms and spread constraints of pods, in the order of the manifest.

    A pod that matches its own required anti-affinity term does not share its domain with another replica; with a spread constraint, the
    fullest domain has at most maxSkew more matching pods than the emptiest (pkg/scheduler/framework/plugins/podtopologyspread).
    """
    terms, spreads = parse_pod_constraints(constraints)
    for term in terms:
        if term.anti:
            yield _of_term(term, own, covers)
    for spread in spreads:
        yield _of_spread(spread, own)


def _of_term(term: PodAffinityTerm, own: OwnPods, covers: Covers) -> SpreadingConstraint:
    names, others = namespaces_of(term)
    elsewhere = own.namespace is not None and (bool(names) or others is not None) and own.namespace not in names
    if elsewhere and others is not None:
        elsewhere = others != EVERYTHING and covers(others, own.namespace) is False
    constraint = SpreadingConstraint(term.path, term.name, term.topology_key, term.required, 1 if term.required else None, None)
    return _selecting(constraint, term.selector(own.labels.certain), own)._replace(elsewhere=elsewhere)


def _of_spread(spread: TopologySpreadConstraint, own: OwnPods) -> SpreadingConstraint:
    skew = spread.max_skew
    undecidable = spread.when_unsatisfiable not in (HARD, SOFT) or skew is None
    constraint = SpreadingConstraint(
        spread.path, SPREAD, spread.topology_key, spread.hard, skew if spread.hard else None, None, skew, undecidable
    )
    constraint = constraint._replace(label_keys=spread.match_label_keys, min_domains=spread.min_domains or 1)
    return _selecting(constraint, spread.selector(own.labels.certain), own)


def _selecting(constraint: SpreadingConstraint, parsed: Parsed, own: OwnPods) -> SpreadingConstraint:
    """Return the constraint with its selector, and the requirement that its own pods do not meet."""
    if parsed is not None and not isinstance(parsed, Selector):
        return constraint._replace(undecidable=True)
    constraint = constraint._replace(selector=parsed, undecidable=constraint.undecidable or is_placeholder(constraint.key))
    if parsed is None or own.labels.some(parsed):
        return constraint
    if any(is_placeholder(text) for each in parsed.requirements for text in (each.key, *each.values)):
        return constraint._replace(undecidable=True)
    missed = own.labels.missed(parsed, known=own.known)
    if missed is None and own.known:
        missed = 0  # Pods meet each requirement, but no pod meets them all.
    return constraint._replace(undecidable=True) if missed is None else constraint._replace(missed=parsed.requirements[missed])


@lru_cache(maxsize=1024)
def is_wider(key: str, other: str) -> bool:
    """Return whether pods in two domains of ``key`` are always in two domains of ``other``.

    Pods in two regions are in two zones, but not the other way round. Only well-known labels are compared, deprecated ones too.
    """
    return at_least_as_wide(DEPRECATED.get(key, key), DEPRECATED.get(other, other))


class RequiredSpreading(NamedTuple):
    """The requirement that pods are never all in one domain of ``key``; with ``hard`` False, that they prefer not to be.

    ``max_skew`` is the largest allowed skew, None if it is not limited; ``replicas`` the minimum number of pods. ``wider`` is
    ``is_wider``, or a function that knows more labels. ``revision_label`` distinguishes the pods of two revisions that a rollout runs at
    the same time: with ``hard``, the requirement must be met after a rollout, too.
    """

    key: str
    hard: bool
    max_skew: int | None
    replicas: int
    wider: Callable[[str, str], bool] = is_wider
    revision_label: str = ""

    def is_met_by(self, each: SpreadingConstraint) -> bool:
        """Return whether a constraint alone meets the requirement."""
        if each.undecidable:
            return is_placeholder(each.key) or self.wider(each.key, self.key)
        if (self.hard and not self.holds_apart(each)) or not self.wider(each.key, self.key) or not each.works:
            return False
        if not self.hard:
            return True
        if self.is_lost_in_rollout(each):
            return False
        if self.max_skew is None or each.name != SPREAD:
            return True
        # If regions differ by one pod, their zones may differ by any number.
        return each.most is not None and each.most <= self.max_skew and self.is_over(each)

    def is_over(self, each: SpreadingConstraint) -> bool:
        """Return whether a constraint has this topology key, under its current or a deprecated name."""
        return each.key in equivalent_keys(self.key)

    def is_lost_in_rollout(self, each: SpreadingConstraint) -> bool:
        """Return whether a rollout may leave a constraint violated: a spread constraint that counts the pods of both revisions."""
        if each.name != SPREAD or not self.revision_label:
            return False
        return self.revision_label not in each.label_keys and not any(map(is_placeholder, each.label_keys))

    def holds_apart(self, each: SpreadingConstraint) -> bool:
        """Return whether a constraint forbids all pods in one domain; a large maxSkew does not."""
        return each.most is not None and (each.name != SPREAD or each.most < self.replicas)


def unmet(constraints: Iterable[SpreadingConstraint], wanted: RequiredSpreading) -> list[SpreadingConstraint] | None:
    """Return the constraints sorted by how nearly they meet the requirement, the nearest first; None if one of them meets it."""
    candidates = list(constraints)
    for each in candidates:
        if wanted.is_met_by(each):
            return None
    return sorted(candidates, key=lambda each: _distance(each, wanted))


def _distance(each: SpreadingConstraint, wanted: RequiredSpreading) -> int:
    if not wanted.wider(each.key, wanted.key):
        return 3
    return 2 if not each.works else 1 if not each.hard else 0
