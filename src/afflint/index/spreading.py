"""How pods keep apart from each other: over which topology key and how strictly, or why a constraint only seems to do so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from afflint.controllers.pod_labels import PodLabels
from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import namespaces_of, selector_for
from afflint.kube.constraints import ConstraintItem, Constraints, Data, PodTerm
from afflint.kube.label_places import SPREAD
from afflint.kube.node_labels import DEPRECATED, at_least_as_wide
from afflint.kube.node_requirements import same_label
from afflint.kube.selectors import EVERYTHING, Requirement, Selector
from afflint.yaml.document import text_at
from afflint.yaml.placeholders import is_placeholder

Covers = Callable[[Selector, str | None], bool | None]
"""Whether a namespaceSelector covers a namespace; None where that is not known."""


class OwnPods(NamedTuple):
    """What is known of the pods that carry constraints. ``known``: they have these labels and no others."""

    labels: PodLabels
    known: bool
    namespace: str | None


class SpreadingConstraint(NamedTuple):
    """A constraint by which pods keep apart from their own kind over a topology key, or would if it selected them.

    ``name`` is what people call it. ``hard``: a pod stays pending rather than break it. ``most`` of the pods can share a domain while
    another one has none; None where that is not limited. ``unsure``: something is yet to be filled in, or cannot be read.
    """

    path: Path
    name: str
    key: str
    hard: bool
    most: int | None
    selector: Selector | None
    skew: int | None = None
    """The maxSkew of a spread constraint, also of one that is a preference."""
    unsure: bool = False
    elsewhere: bool = False
    """Whether it is about other namespaces than that of the pods that carry it."""
    missed: Requirement | None = None
    """What its selector asks for that the pods do not have."""

    @property
    def selects_no_pods(self) -> bool:
        """Whether it has no selector, or an empty one by which a spread constraint counts no pods."""
        return self.selector is None or (self.name == SPREAD and not self.selector.requirements)

    @property
    def works(self) -> bool:
        """Whether it is about the pods that carry it, as far as one can tell."""
        return self.unsure or not (self.elsewhere or self.missed or self.selects_no_pods)


def spreading_constraints(constraints: Constraints, own: OwnPods, covers: Covers) -> Iterator[SpreadingConstraint]:
    """The anti-affinity terms and spread constraints of some pods, in the order of the manifest.

    Semantics: a pod that matches its own required anti-affinity has the domain for itself; a spread constraint lets the fullest domain
    have maxSkew pods more than the emptiest, as far as its selector counts them (pkg/scheduler/framework/plugins/podtopologyspread).
    """
    for term in constraints.pod_terms:
        if term.anti:
            yield _of_term(term, own, covers)
    for spread in constraints.spreads:
        yield _of_spread(spread, own)


def _of_term(term: PodTerm, own: OwnPods, covers: Covers) -> SpreadingConstraint:
    names, others = namespaces_of(term)
    elsewhere = own.namespace is not None and (bool(names) or others is not None) and own.namespace not in names
    if elsewhere and others is not None:
        elsewhere = others != EVERYTHING and covers(others, own.namespace) is False
    found = SpreadingConstraint(term.path, term.name, text_at(term.data, "topologyKey"), term.required, 1 if term.required else None, None)
    return _selecting(found, term.data, own)._replace(elsewhere=elsewhere)


def _of_spread(spread: ConstraintItem, own: OwnPods) -> SpreadingConstraint:
    when, skew = spread.data.get("whenUnsatisfiable"), spread.data.get("maxSkew")
    hard = when == "DoNotSchedule"
    number = skew if type(skew) is int else None
    unsure = when not in ("DoNotSchedule", "ScheduleAnyway") or number is None
    found = SpreadingConstraint(
        spread.path, SPREAD, text_at(spread.data, "topologyKey"), hard, number if hard else None, None, number, unsure
    )
    return _selecting(found, spread.data, own)


def _selecting(found: SpreadingConstraint, data: Data, own: OwnPods) -> SpreadingConstraint:
    """The constraint with what it selects of the pods that carry it."""
    parsed = selector_for(data, own.labels)
    if parsed is not None and not isinstance(parsed, Selector):
        return found._replace(unsure=True)
    found = found._replace(selector=parsed, unsure=found.unsure or is_placeholder(found.key))
    if parsed is None or own.labels.some(parsed):
        return found
    if any(is_placeholder(text) for each in parsed.requirements for text in (each.key, *each.values)):
        return found._replace(unsure=True)
    missed = [each for each in parsed.requirements if not own.labels.some(Selector((each,)))] or list(parsed.requirements)
    # Of a patch only what it says is known: another label may well be there.
    surely = [each for each in missed if own.known or _is_given(each, own)]
    return found._replace(missed=surely[0]) if surely else found._replace(unsure=True)


def _is_given(requirement: Requirement, own: OwnPods) -> bool:
    value = own.labels.template.get(requirement.key)
    return value is not None and not is_placeholder(value)


@lru_cache(maxsize=1024)
def is_wider(key: str, other: str) -> bool:
    """Whether pods in two domains of ``key`` are in two of ``other``, for a domain of the one holds whole domains of the other.

    Pods in two regions are in two zones, and not the other way round. Of labels that everybody knows, deprecated ones too.
    """
    return at_least_as_wide(DEPRECATED.get(key, key), DEPRECATED.get(other, other))


class RequiredSpreading(NamedTuple):
    """What is demanded of pods: that they are never all in one domain of ``key``, or with ``hard`` False that they prefer not to be.

    ``max_skew`` is how far the fullest domain may be from the emptiest, None if it does not matter; ``replicas`` how many pods there
    are at least. ``wider`` is ``is_wider``, or one that knows more labels.
    """

    key: str
    hard: bool
    max_skew: int | None
    replicas: int
    wider: Callable[[str, str], bool] = is_wider

    def is_met_by(self, each: SpreadingConstraint) -> bool:
        """Whether a constraint alone sees to it."""
        if each.unsure:
            return is_placeholder(each.key) or self.wider(each.key, self.key)
        if (self.hard and not self.holds_apart(each)) or not self.wider(each.key, self.key) or not each.works:
            return False
        if not self.hard:
            return True
        if self.max_skew is None or each.name != SPREAD:
            return True
        # Where regions differ by one pod, their zones may differ by any number.
        return each.most is not None and each.most <= self.max_skew and self.is_over(each)

    def is_over(self, each: SpreadingConstraint) -> bool:
        """Whether a constraint is about this very key, by its name of today or a deprecated one."""
        return each.key in same_label(self.key)

    def holds_apart(self, each: SpreadingConstraint) -> bool:
        """Whether the pods cannot all be in one domain: maxSkew may allow all of them there."""
        return each.most is not None and (each.name != SPREAD or each.most < self.replicas)


def unmet(constraints: Iterable[SpreadingConstraint], wanted: RequiredSpreading) -> list[SpreadingConstraint] | None:
    """The constraints by which what is wanted was probably meant, the nearest first; None where one of them sees to it."""
    found = list(constraints)
    for each in found:
        if wanted.is_met_by(each):
            return None
    return sorted(found, key=lambda each: _distance(each, wanted))


def _distance(each: SpreadingConstraint, wanted: RequiredSpreading) -> int:
    if not wanted.wider(each.key, wanted.key):
        return 3
    return 2 if not each.works else 1 if not each.hard else 0
