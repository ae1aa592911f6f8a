"""Node pools as manifests declare them: labels as far as they are known, taints, zones, numbers, and their cluster.

A label is known by a requirement that all nodes of the pool meet: ``In`` with one or several values, ``Gt`` and ``Lt`` for a range,
``Exists`` if it may have any value, ``DoesNotExist`` if it is absent. A node of the pool can match a pod's selector if the requirements of
both can hold together.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from afflint.findings.finding import NO_OBJECT, ObjectRef, Severity, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.selectors import Requirement
from afflint.kube.taints import Taint
from afflint.pools.upgrade_strategy import UpgradeStrategy

Key = tuple[str, str, str]
"""How another manifest refers to an object: kind, namespace and name."""

ClusterScope = Literal["own", "described", "other"]
"""The cluster of the nodes.

``own``: the cluster that the manifest is applied to. ``described``: a cluster that an installer creates, on which the workloads in the
same folder mostly run. ``other``: a workload cluster of a management cluster, or a test cluster.
"""


class Label(NamedTuple):
    """A known label, and its position; the path is empty for a label that is set automatically."""

    requirement: Requirement
    path: Path = ()

    @property
    def key(self) -> str:
        return self.requirement.key


class PoolTaint(NamedTuple):
    """A taint, with the effect as Kubernetes spells it, and its position."""

    taint: Taint
    path: Path = ()


class PoolMistake(NamedTuple):
    """A mistake in a declaration, for the rule of that name."""

    rule: str
    path: Path
    message: str
    help: str = ""
    key: bool = False
    severity: Severity | None = None


class UnreachableLabel(NamedTuple):
    """A label at a position from which it never reaches a node: ``why`` completes ``the label … ``, ``remedy`` is the help text."""

    key: str
    value: str
    path: Path
    why: str
    remedy: str


class PoolPart(NamedTuple):
    """What one manifest adds to pools of other manifests: to those that have ``key`` among their parts.

    ``known`` is False if something else decides as well, so that more labels and taints are possible.
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
    """Whether it sets the number of nodes in place of the pool; a placeholder makes the number None."""
    parts: tuple[Key, ...] = ()
    """What completes it, if it exists."""
    faults: tuple[PoolMistake, ...] = ()
    unreachable: tuple[UnreachableLabel, ...] = ()


class Pool(NamedTuple):
    """Equal nodes. ``path`` leads to the pool in the document, ``word`` is the name that its format uses for a pool.

    ``closed``: a label that nothing declares is absent, unless a cloud, a kubelet or an operator adds it. ``most`` is None if the number
    is unbounded or unknown. ``zones`` are the zones of its nodes; with ``per_zone`` the numbers apply to each zone.
    """

    name: str
    word: str
    site: Site
    ref: ObjectRef
    path: Path
    whose: ClusterScope
    cluster: str = ""
    labels: tuple[Label, ...] = ()
    taints: tuple[PoolTaint, ...] = ()
    startup_taints: tuple[PoolTaint, ...] = ()
    closed: bool = True
    least: int | None = None
    most: int | None = None
    zones: tuple[str, ...] = ()
    per_zone: bool = False
    listed: bool = False
    """Whether its file lists every node of the cluster, one by one: a label that none of them has was at most set by hand."""
    has_other_nodes: bool = False
    """Whether its cluster has nodes outside all pools, such as those of Fargate or of an autoscaler with its own pools."""
    parts: tuple[Key, ...] = ()
    """What completes it, if it exists. If one is missing, labels and taints are unknown."""
    optional: tuple[Key, ...] = ()
    """What completes it, if it exists; it may be absent."""
    faults: tuple[PoolMistake, ...] = ()
    unreachable: tuple[UnreachableLabel, ...] = ()
    upgrade: UpgradeStrategy | None = None
    """How its nodes are upgraded; None if its format does not say."""

    @property
    def title(self) -> str:
        """The name in messages: ``NodePool gpu``."""
        return f"{self.word} {self.name}"

    @property
    def fixed(self) -> bool:
        """Whether its number of nodes is known and does not change."""
        return self.most is not None and self.least == self.most

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the labels that it declares."""
        return frozenset([label.key for label in self.labels])


class Declared(NamedTuple):
    """An object that declares pools or completes some: its data, its position and its identity."""

    data: dict[str, Any]
    base: Path
    site: Site
    ref: ObjectRef
    patched: bool = False
    """Whether values are patched in later, so that absent fields may be set."""

    @property
    def name(self) -> str:
        return self.ref.name or ""

    @property
    def namespace(self) -> str:
        return self.ref.namespace or ""

    def pool(self, name: str, word: str, path: Path, whose: ClusterScope, cluster: str = "") -> Pool:
        """Return a pool that it declares at a path, without further fields."""
        return Pool(name or "(no name)", word, self.site, self.ref, path, whose, cluster)


Reader = Callable[[Declared], Iterator[Pool | PoolPart]]
"""Reads the pools, or the parts of pools, that an object declares."""
