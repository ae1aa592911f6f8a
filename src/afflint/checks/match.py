"""What a check yields, and what it is told about the cluster that the manifests are meant for."""

from typing import TYPE_CHECKING, Any

from afflint.findings.finding import FileId, ObjectRef, Path, Severity, Site, Step
from afflint.findings.namedtuples import NamedTuple
from afflint.kube import NEWEST

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit


class Target(NamedTuple):
    """The cluster the manifests are for: its version as (1, minor), enabled feature gates and admission plugins.

    ``complete``: the manifests of the run, context included, are all that runs in their namespaces.
    """

    version: tuple[int, int] = NEWEST
    feature_gates: frozenset[str] = frozenset()
    admission_plugins: frozenset[str] = frozenset()
    complete: bool = False
    complete_nodes: bool = False
    """Whether the nodes and pools that are declared are all there are."""
    known_labels: frozenset[str] = frozenset()
    """Keys of node labels that pools declare, of those that would be taken for a slip."""


class RelatedPlace(NamedTuple):
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
    edits: tuple["SymbolicEdit", ...] = ()
    related: tuple[RelatedPlace, ...] = ()
    severity: Severity | None = None


def asks_for_target(check: Any) -> bool:
    """Whether a check is to be called with the target beside what it is about: it has a parameter of that name."""
    code = check.__code__
    return "target" in code.co_varnames[: code.co_argcount]


class CrossManifestMatch(NamedTuple):
    """A defect that shows only when manifests are held against each other: the object at fault and the match in it."""

    site: Site
    ref: ObjectRef
    match: Match


# The edits that most fixes are. Edits are imported where one is made: most runs need none.


def replacing(path: Path, value: Any) -> tuple["SymbolicEdit", ...]:
    """Puts ``value`` in the place of what stands at ``path``."""
    from afflint.findings.edits import Replace

    return (Replace(path, value),)


def renaming(path: Path, key: str) -> tuple["SymbolicEdit", ...]:
    """Gives the entry of a map at ``path`` another key."""
    from afflint.findings.edits import Rename

    return (Rename(path, key),)


def inserting(path: Path, at: Step, value: Any, *, before: str | None = None) -> tuple["SymbolicEdit", ...]:
    """Adds an entry to the map at ``path`` under the key ``at``, or an item to the list there; where a map is made, ``before`` another."""
    from afflint.findings.edits import Insert

    return (Insert(path, at, value, before=before),)


def moving(path: Path, to: Path, *, merge: bool = False, prune: bool = False, before: str | None = None) -> tuple["SymbolicEdit", ...]:
    """Takes the entry at ``path`` away and adds it to the map at ``to``; ``merge``, ``prune`` and ``before`` as for ``edits.Move``."""
    from afflint.findings.edits import Move

    return (Move(path, to, merge=merge, prune=prune, before=before),)


def unwrapping(path: Path, data: object) -> tuple["SymbolicEdit", ...]:
    """Takes the map at ``path``, which is ``data``, away and adds its entries to the map around it."""
    if not isinstance(data, dict):
        return ()
    return tuple(edit for key in data for edit in moving((*path, key), path[:-1], prune=True))


def removing(path: Path, *, prune: bool = False) -> tuple["SymbolicEdit", ...]:
    """Takes what stands at ``path`` away, with ``prune`` also what this leaves empty."""
    from afflint.findings.edits import Remove

    return (Remove(path, prune),)
