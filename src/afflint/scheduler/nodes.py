"""The nodes of a cluster as a table: one row per node in the order of names, one column per label key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import InventoryError, error_in, fail, flag, mapping, metadata, string_map, strings
from afflint.kube.selectors import AnyOf, Malformed, matches
from afflint.kube.taints import Taint, parse_taints
from afflint.scheduler.requests import REPORTED, read_allocatable
from afflint.yaml.document import maps_at

Column = list[str | None]

ITSELF = "\0node"
"""A topology key over which every node is its own domain; no label can have this key."""


class Node(NamedTuple):
    """The fields of a node that the scheduler reads."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Mapping[str, int] | None = None
    """The allocatable resources; None if the status has none, or if resources do not count."""
    images: tuple[tuple[str, int], ...] = ()
    """The names of the images on the node with their sizes, as its status lists them; none if resources do not count."""
    features: tuple[str, ...] | None = None
    """The features that its kubelet declares; None if the node has no status."""


def read_node(data: object, *, resources: bool = False) -> Node:
    """Read a Node object as parsed from YAML or JSON, with its allocatable resources if these count. Raises InventoryError."""
    name, meta, whole = metadata(data, "Node")
    try:
        spec = mapping(whole.get("spec"), "spec")
        taints = parse_taints(spec.get("taints"))
        if isinstance(taints, Malformed):
            fail("spec.taints" + "".join(f"[{step!r}]" for step in taints.path), taints.problem)
        labels = string_map(meta.get("labels"), "metadata.labels")
        status = mapping(whole.get("status"), "status")
        allocatable = read_allocatable(status) if resources else None
        features = strings(status.get("declaredFeatures"), "status.declaredFeatures") if status.get("allocatable") else None
        images = _read_images(status) if resources else ()
        return Node(name, labels, taints, flag(spec.get("unschedulable"), "spec.unschedulable"), allocatable, images, features)
    except InventoryError as error:
        raise error_in("Node", name, error) from None


def _read_images(status: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    listed = [(each.get("names"), each.get("sizeBytes")) for each in maps_at(status, "images")]
    sized = [(names, size) for names, size in listed if isinstance(names, list) and type(size) is int]
    return tuple([(name, size) for names, size in sized for name in names if isinstance(name, str)])


class NodeTable:
    """Nodes numbered in the order of their names, so that the smallest number wins a tie.

    Constraints read a column (a label of all nodes) rather than node after node, and what depends on a few labels is decided once per
    class of nodes with equal values of these labels.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.names = [node.name for node in self.nodes]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        if len(self.numbers) < len(self.names):
            twice = next(one for one, following in zip(self.names, self.names[1:], strict=False) if one == following)
            fail(f"Node {twice!r}", "appears twice")
        self._keys: frozenset[str] | None = None
        self._columns: dict[str, Column] = {ITSELF: [*self.names]}
        self._allocatable_rows: list[int] | None = None
        self._images: dict[str, dict[str, int]] | None = None
        self._amounts: dict[str, list[int | None]] = {}
        self._marks: dict[str, tuple[list[str | bool | None], bool]] = {}
        classes: dict[tuple[tuple[Taint, ...], bool], int] = {}
        self.taint_rows = [classes.setdefault((node.taints, node.unschedulable), len(classes)) for node in self.nodes]
        """For each node the class of nodes with equal taints and ``unschedulable``; see ``taint_classes``."""
        self.taint_classes = list(classes)

    def changed(self, nodes: Mapping[int, Node]) -> NodeTable:
        """Return the table with some nodes replaced by nodes of the same names. Unchanged columns are reused."""
        other = NodeTable([nodes.get(number, node) for number, node in enumerate(self.nodes)])
        keys = {key for number, node in nodes.items() for key, _ in node.labels.items() ^ self.nodes[number].labels.items()}
        other._columns.update((key, column) for key, column in self._columns.items() if key not in keys)
        other._marks.update((key, marks) for key, marks in self._marks.items() if key not in keys)
        other._amounts.update(self._amounts)
        other._allocatable_rows, other._images = self.allocatable_rows, self.images
        return other

    def without(self, numbers: Container[int]) -> NodeTable:
        """Return the table without some nodes. Classes of allocatable resources keep their numbers, as they do in ``changed``."""
        left = [number for number in range(len(self.nodes)) if number not in numbers]
        other = NodeTable([self.nodes[number] for number in left])
        other._allocatable_rows, other._images = [self.allocatable_rows[number] for number in left], self.images
        return other

    def column(self, key: str) -> Column:
        """Return the value of a label on every node, None if it is absent; the names for ITSELF."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = [node.labels.get(key) for node in self.nodes]
        return column

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all labels that any node has."""
        if self._keys is None:
            self._keys = frozenset().union(*[node.labels for node in self.nodes])
        return self._keys

    def marks(self, key: str) -> tuple[list[str | bool | None], bool]:
        """Return a column with True for unique values, such as host names, and whether there are any.

        Such nodes are equal to a constraint as long as none of the pods that it counts runs there.
        """
        marked = self._marks.get(key)
        if marked is None:
            column = self.column(key)
            times = Counter(column)
            # The empty value stays, because scores of topology spread read an absent label as the empty value.
            marks: list[str | bool | None] = [True if value and times[value] == 1 else value for value in column]
            marked = self._marks[key] = marks, True in marks
        return marked

    def amounts(self, resource: str) -> list[int | None]:
        """Return the allocatable amount of a resource on every node, None if it is unknown.

        A resource that the status of a node does not list is 0, except those that every kubelet reports.
        """
        amounts = self._amounts.get(resource)
        if amounts is None:
            absent = None if resource in REPORTED else 0
            column = [None if node.allocatable is None else node.allocatable.get(resource, absent) for node in self.nodes]
            amounts = self._amounts[resource] = column
        return amounts

    @cached_property
    def resources(self) -> frozenset[str]:
        """The resources that any node lists as allocatable."""
        return frozenset[str]().union(*[node.allocatable or () for node in self.nodes])

    @property
    def images(self) -> dict[str, dict[str, int]]:
        """The size of each image on each node that has it, by the names of image and node. Some of the nodes may not be in the table."""
        if self._images is None:
            self._images = {}
            for node in self.nodes:
                for name, size in node.images:
                    self._images.setdefault(name, {})[node.name] = size
        return self._images

    def declaring(self, features: frozenset[str]) -> list[bool]:
        """Return for each node whether it may have these features: its kubelet declares them, or the node has no status."""
        return [node.features is None or features.issubset(node.features) for node in self.nodes]

    @property
    def allocatable_rows(self) -> list[int]:
        """For each node the number of its class of nodes with equal allocatable resources."""
        if self._allocatable_rows is None:
            classes: dict[frozenset[tuple[str, int]] | None, int] = {}
            listed = [None if node.allocatable is None else frozenset(node.allocatable.items()) for node in self.nodes]
            self._allocatable_rows = [classes.setdefault(each, len(classes)) for each in listed]
        return self._allocatable_rows

    def matching(self, selection: AnyOf, among: frozenset[str] | None = None) -> list[bool]:
        """Return for each node whether the selection matches it; ``among`` has the only nodes that can match, if they are known.

        The result is computed once per class of nodes with equal values of the labels that the selection reads.
        """
        requirements = [requirement for selector in selection.selectors for requirement in selector.requirements]
        if any(requirement.field for requirement in requirements):
            answers = [False] * len(self.nodes)
            numbers = range(len(self.nodes)) if among is None else [self.numbers[name] for name in among if name in self.numbers]
            for number in numbers:
                answers[number] = matches(selection, self.nodes[number].labels, self.names[number])
            return answers
        keys = dict.fromkeys(requirement.key for requirement in requirements)
        if not keys:
            return [matches(selection, {})] * len(self.nodes)
        decided: dict[tuple[str | None, ...], bool] = {}
        answers = []
        for number, row in enumerate(zip(*[self.column(key) for key in keys], strict=True)):
            if row not in decided:
                decided[row] = matches(selection, self.nodes[number].labels)
            answers.append(decided[row])
        return answers
