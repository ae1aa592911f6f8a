"""Which selectors match which pods: each pair of a selector and a pod subject is decided once, for all replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Selector, matches
from afflint.scheduler.pods import Subject

S = TypeVar("S")
Label = tuple[str, str]


class Counted(NamedTuple):
    """The pods that a constraint of an incoming pod counts: those that match every selector in its namespaces (None: all)."""

    scopes: tuple[tuple[Selector, frozenset[str] | None], ...]
    terminating: bool
    """Whether pods that are being deleted count too."""


def counts(counted: Counted, subject: Subject, labels: dict[str, str]) -> bool:
    """Return whether pods of this subject are counted."""
    if subject.terminating and not counted.terminating:
        return False
    return all((names is None or subject.namespace in names) and matches(selector, labels) for selector, names in counted.scopes)


Anchors = list[tuple[Label, ...]]
"""Alternatives to look up what a selector matches: every match has one of the labels of each."""


def anchors(selector: Selector | None) -> Anchors:
    """Return, for each requirement of a selector, the labels that include one of every match; empty if it requires no value."""
    requirements = selector.requirements if selector is not None else ()
    return [tuple([(each.key, value) for value in dict.fromkeys(each.values)]) for each in requirements if each.operator == "In"]


def _rarest(found: Anchors, *counted: Mapping[Label, list[int]]) -> tuple[Label, ...] | None:
    """Return the anchors whose labels are in the fewest entries; None if there are none."""
    return min(found, key=lambda labels: sum([len(index.get(label, ())) for index in counted for label in labels]), default=None)


class LabelIndex:
    """Numbered sets of labels, indexed by label, to look up what a selector may match."""

    def __init__(self, labels: Iterable[Mapping[str, str]]) -> None:
        self._by_label: dict[Label, list[int]] = {}
        count = 0
        for number, each in enumerate(labels):
            count = number + 1
            for label in each.items():
                self._by_label.setdefault(label, []).append(number)
        self._all = range(count)

    def candidates(self, selector: Selector | None) -> Sequence[int]:
        """Return the numbers of the label sets that may match, each once; ``matches`` decides whether they do."""
        labels = _rarest(anchors(selector), self._by_label)
        if labels is None:
            return () if selector is None else self._all
        # The labels have the same key, and each set has one value for it, so that no number repeats.
        return [number for label in labels for number in self._by_label.get(label, ())]


class MatchTable(Generic[S]):
    """Numbered selectors and subjects, and which of them match.

    The table only grows and has nothing about individual pods, so that copies of a cluster share it. New entries are compared only with
    those that share a label with them, if the selector requires one.
    """

    def __init__(self, match: Callable[[S, Subject, dict[str, str]], bool], anchor: Callable[[S], Anchors]) -> None:
        self._match = match
        self._anchors = anchor
        self._selectors: dict[S, int] = {}
        self._subjects: dict[Subject, int] = {}
        self._labels: list[tuple[Subject, dict[str, str]]] = []
        self._by_anchor: dict[Label, list[int]] = {}
        self._without_anchor: list[int] = []
        self._by_label: dict[Label, list[int]] = {}
        self.selectors: list[S] = []
        self.subjects_of: list[list[int]] = []
        self.selectors_of: list[list[int]] = []

    def selector(self, selector: S) -> int:
        """Return the number of a selector."""
        number = self._selectors.get(selector)
        return self._add_selector(selector) if number is None else number

    def subject(self, subject: Subject) -> int:
        """Return the number of a subject."""
        number = self._subjects.get(subject)
        return self._add_subject(subject) if number is None else number

    def _add_selector(self, selector: S) -> int:
        number = self._selectors[selector] = len(self.selectors)
        self.selectors.append(selector)
        labels = _rarest(self._anchors(selector), self._by_label, self._by_anchor)
        candidates: Iterable[int] = range(len(self._labels))
        if labels is None:
            self._without_anchor.append(number)
        else:
            candidates = [subject for label in labels for subject in self._by_label.get(label, ())]
            for label in labels:
                self._by_anchor.setdefault(label, []).append(number)
        subjects = [subject for subject in candidates if self._match(selector, *self._labels[subject])]
        self.subjects_of.append(subjects)
        for subject in subjects:
            self.selectors_of[subject].append(number)
        return number

    def _add_subject(self, subject: Subject) -> int:
        number = self._subjects[subject] = len(self._labels)
        labels = dict(subject.labels)
        self._labels.append((subject, labels))
        candidates = self._without_anchor.copy()
        for label in subject.labels:
            self._by_label.setdefault(label, []).append(number)
            candidates += self._by_anchor.get(label, ())
        selectors = [selector for selector in candidates if self._match(self.selectors[selector], subject, labels)]
        self.selectors_of.append(selectors)
        for selector in selectors:
            self.subjects_of[selector].append(number)
        return number
