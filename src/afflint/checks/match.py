"""The matches that checks yield, the target cluster that they are given, and helpers that build common edits."""

from typing import TYPE_CHECKING, Any

from afflint.findings.finding import FileId, Found, ObjectRef, Severity, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step, field_of, named_field
from afflint.kube import NEWEST

if TYPE_CHECKING:
    from afflint.charts.sources import ChartSource
    from afflint.findings.edits import SymbolicEdit
    from afflint.findings.finding import Edit
    from afflint.yaml.documents import Document


class Target(NamedTuple):
    """The cluster the manifests are for: its version as (1, minor), enabled feature gates and admission plugins.

    ``complete``: the manifests of the run, context included, are all that runs in their namespaces.
    """

    version: tuple[int, int] = NEWEST
    feature_gates: frozenset[str] = frozenset()
    admission_plugins: frozenset[str] = frozenset()
    complete: bool = False
    complete_nodes: bool = False
    """Whether the declared nodes and pools are all nodes and pools of the cluster."""
    known_labels: frozenset[str] = frozenset()
    """Keys of node labels that pools declare: keys that would otherwise count as misspelt, deprecated keys and their successors, and the
    key of control planes if some of these have no taint."""
    volume_topologies: tuple[tuple[str, str], ...] = ()
    """The topologies of volumes that the configuration sets, by the name of a StorageClass or a provisioner."""
    default_storage_class: str = ""
    """The default StorageClass that the configuration names."""
    chart_sources: "tuple[ChartSource, ...]" = ()
    """Where the charts of releases come from, if the run has the objects that say so."""
    kubevirt_version: tuple[int, int] | None = None
    """The version of KubeVirt; None if it is unknown."""


class RelatedPlace(NamedTuple):
    """A related place: a path in a document of a file."""

    file: FileId
    document: int
    path: Path
    key: bool
    message: str


class Match(NamedTuple):
    """A defect in one document. ``path`` leads to the offending value; with ``key``, its key is shown instead of its value.

    ``field`` is the path that the API server names, if it differs from ``path``. ``help`` overrides the rule's remedy.
    ``edits`` of the document fix the defect.
    """

    path: Path
    message: str
    help: str = ""
    key: bool = False
    field: Path | None = None
    edits: tuple["SymbolicEdit", ...] = ()
    related: tuple[RelatedPlace, ...] = ()
    severity: Severity | None = None


def takes_target(check: Any) -> bool:
    """Return whether a check takes the target, which means that it has a parameter named ``target``."""
    code = check.__code__
    return "target" in code.co_varnames[: code.co_argcount]


class CrossManifestMatch(NamedTuple):
    """A match that needs several manifests to find, with the object at fault."""

    site: Site
    ref: ObjectRef
    match: Match


# The edits that most fixes consist of. The module is imported only when an edit is made, because most runs need none.


def replacing(path: Path, value: Any) -> tuple["SymbolicEdit", ...]:
    """Return the edit that replaces the value at ``path`` with ``value``."""
    from afflint.findings.edits import Replace

    return (Replace(path, value),)


def renaming(path: Path, key: str) -> tuple["SymbolicEdit", ...]:
    """Return the edit that renames the key of the map entry at ``path``."""
    from afflint.findings.edits import Rename

    return (Rename(path, key),)


def inserting(path: Path, at: Step, value: Any, *, before: str | None = None) -> tuple["SymbolicEdit", ...]:
    """Return the edit that inserts ``value`` into the map or list at ``path``, at the key or index ``at``.

    If the map does not exist, it is created ``before`` the given key.
    """
    from afflint.findings.edits import Insert

    return (Insert(path, at, value, before=before),)


def moving(path: Path, to: Path, *, merge: bool = False, prune: bool = False, before: str | None = None) -> tuple["SymbolicEdit", ...]:
    """Return the edit that moves the entry at ``path`` to the map at ``to``; for the options see ``edits.Move``."""
    from afflint.findings.edits import Move

    return (Move(path, to, merge=merge, prune=prune, before=before),)


def unwrapping(path: Path, data: object) -> tuple["SymbolicEdit", ...]:
    """Return the edits that move the entries of the map ``data`` at ``path`` to its parent map."""
    if not isinstance(data, dict):
        return ()
    return tuple(edit for key in data for edit in moving((*path, key), path[:-1], prune=True))


def removing(path: Path, *, prune: bool = False) -> tuple["SymbolicEdit", ...]:
    """Return the edit that removes the value at ``path``, and with ``prune`` also its parents that become empty."""
    from afflint.findings.edits import Remove

    return (Remove(path, prune),)


def located(rule: str, match: Match, base: Path, ref: ObjectRef, document: "Document", *, fixing: bool) -> Found:
    """Return a match in the object at ``base`` with its span; if the rule offers fixes (``fixing``), with its edits as text."""
    span = document.locate(match.path, key=match.key)
    field = match.path if match.field is None else match.field
    edits: tuple[Edit, ...] = ()
    # The value of a placeholder may not even be YAML.
    if fixing and match.edits and not document.filled:
        from afflint.yaml.editing import resolve

        edits = resolve(document, match.edits) or ()
    below = field[len(base) :]
    item = named_field(document.data, field, len(base)) if any(type(step) is int for step in below) else ""
    meant = match.edits if edits else ()
    return Found(
        rule, match.message, match.help, document.index, span, ref, field_of(below), match.severity, edits=edits, item=item, meant=meant
    )
