"""Classes of nodes as manifests declare them: labels as far as they are known, taints, zones, how many, and of which cluster.

What is known of a label is one requirement that all nodes of the class meet: ``In`` of one value or of several, ``Gt`` and ``Lt`` for a
range, ``Exists`` where it may have any value, or one that nobody knows yet, ``DoesNotExist`` where it is surely absent. So the algebra of
selectors says whether a node of a class can match a pod's selector: its requirements and those of the class must be able to hold together.
"""

from typing import Literal

from afflint.findings.finding import NO_OBJECT, ObjectRef, Path, Severity, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Requirement
from afflint.kube.taints import Taint

Key = tuple[str, str, str]
"""What another manifest refers to: kind, namespace and name."""

Whose = Literal["own", "described", "other"]
"""Of which cluster the nodes are. ``own``: of the cluster that the manifest is applied to. ``described``: of one that an installer is told
to make, which the workloads beside it are mostly for. ``other``: of one that a management cluster keeps, or of one for tests."""


class Label(NamedTuple):
    """What is known of one label, and where that is written; the path is empty for what comes by itself."""

    requirement: Requirement
    path: Path = ()

    @property
    def key(self) -> str:
        return self.requirement.key


class PoolTaint(NamedTuple):
    """A taint, with the effect as Kubernetes spells it, and where it is written."""

    taint: Taint
    path: Path = ()


class PoolMistake(NamedTuple):
    """What is wrong with a declaration by itself, for the rule of that name."""

    rule: str
    path: Path
    message: str
    help: str = ""
    key: bool = False
    severity: Severity | None = None


class UnreachableLabel(NamedTuple):
    """A label that is written where it never reaches a node: ``why`` completes ``the label … ``, ``remedy`` says where it would."""

    key: str
    value: str
    path: Path
    why: str
    remedy: str


class PoolPart(NamedTuple):
    """What one manifest adds to pools that another one declares: to those that name ``key`` among their parts.

    ``known`` is False where something else decides as well, so that further labels and taints are possible.
    """

    key: Key
    site: Site
    ref: ObjectRef = NO_OBJECT
    labels: tuple[Label, ...] = ()
    taints: tuple[PoolTaint, ...] = ()
    least: int | None = None
    most: int | None = None
    known: bool = True
    scales: bool = False
    """Whether it says how many nodes there are, in place of what the pool says; None where it is yet to be filled in."""
    parts: tuple[Key, ...] = ()
    """What completes it in turn, if it is there."""
    faults: tuple[PoolMistake, ...] = ()
    lost: tuple[UnreachableLabel, ...] = ()


class Pool(NamedTuple):
    """Nodes that are alike. ``path`` leads to the pool in the document, ``word`` is what its format calls it.

    ``closed``: a label that nothing declares is absent, unless a cloud, a kubelet or an operator adds it. ``most`` is None where there may
    be ever more, or nobody knows how many; ``zones`` are those in which it has nodes, each with its share where ``per_zone`` is set.
    """

    name: str
    word: str
    site: Site
    ref: ObjectRef
    path: Path
    whose: Whose
    cluster: str = ""
    labels: tuple[Label, ...] = ()
    taints: tuple[PoolTaint, ...] = ()
    startup_taints: tuple[PoolTaint, ...] = ()
    closed: bool = True
    least: int | None = None
    most: int | None = None
    zones: tuple[str, ...] = ()
    per_zone: bool = False
    beside: bool = False
    """Whether its cluster has nodes that no pool shows: those of Fargate, say, or of an autoscaler with pools of its own."""
    parts: tuple[Key, ...] = ()
    """What completes it, if it is there. One that is missing leaves labels and taints unknown."""
    optional: tuple[Key, ...] = ()
    """What completes it where there is one."""
    faults: tuple[PoolMistake, ...] = ()
    lost: tuple[UnreachableLabel, ...] = ()

    @property
    def title(self) -> str:
        """``NodePool gpu``: how messages call it."""
        return f"{self.word} {self.name}"

    @property
    def fixed(self) -> bool:
        """Whether it has so many nodes, and no more or fewer."""
        return self.most is not None and self.least == self.most

    @property
    def keys(self) -> frozenset[str]:
        """The labels that are declared, in whatever way."""
        return frozenset([label.key for label in self.labels])
