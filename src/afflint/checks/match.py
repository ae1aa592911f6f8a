"""What a check yields, and what it is told about the cluster that the manifests are meant for."""

from typing import NamedTuple

from afflint.edits import SymbolicEdit
from afflint.findings import FileId, ObjectRef, Path, Severity, Site
from afflint.kube import NEWEST


class Target(NamedTuple):
    """The cluster the manifests are for: its version as (1, minor), enabled feature gates and admission plugins.

    ``complete``: the manifests of the run, context included, are all that runs in their namespaces.
    """

    version: tuple[int, int] = NEWEST
    feature_gates: frozenset[str] = frozenset()
    admission_plugins: frozenset[str] = frozenset()
    complete: bool = False


class Place(NamedTuple):
    """A related place: a path in a document of a file."""

    file: FileId
    document: int
    path: Path
    key: bool
    message: str


class Match(NamedTuple):
    """One defect. ``path`` is the offending node; with ``key`` its key is shown instead of its value.

    ``field`` is the path as the API server names it, where that is not ``path``. ``help`` overrides the rule's remedy.
    ``edits`` of the document mend it.
    """

    path: Path
    message: str
    help: str = ""
    key: bool = False
    field: Path | None = None
    edits: tuple[SymbolicEdit, ...] = ()
    related: tuple[Place, ...] = ()
    severity: Severity | None = None


class FleetMatch(NamedTuple):
    """A defect that shows only when manifests are held against each other: the object at fault and the match in it."""

    site: Site
    ref: ObjectRef
    match: Match
