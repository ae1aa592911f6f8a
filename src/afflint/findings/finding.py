"""Findings with their spans, related positions and edits: plain, immutable, picklable values.

A file is identified by its number in the run, never by its name: two sources can have the same name, and the result of the map step
must not depend on the name of the file. Names are added at the end, for reports.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Span(NamedTuple):
    """A range of a file. Lines and columns count from 1, columns in code points; the end is one past the last."""

    line: int
    column: int
    end_line: int
    end_column: int


class Edit(NamedTuple):
    """Replace the text of ``span`` with ``text``."""

    span: Span
    text: str


class Fix(NamedTuple):
    """The edits that fix a finding. ``safe`` if they cannot change the meaning of the manifest.

    ``meant`` are the corresponding edits of the document's data (``edits.SymbolicEdit``); empty if the data does not change.
    """

    safe: bool
    edits: tuple[Edit, ...]
    meant: "tuple[SymbolicEdit, ...]" = ()


FileId = int
"""A file by its number among those of a run, which are sorted by path."""

NO_FILE: FileId = -1
"""The number of a file that does not have one yet: in the results of the map step."""

Folder = tuple[str, ...]


class Site(NamedTuple):
    """The position of an object: its file, the document in it, the path in that document, and the folders that lead to the file."""

    file: FileId
    document: int
    base: Path
    folder: Folder = ()


def folder_distance(first: Site, second: Site) -> tuple[int, int]:
    """Return how many levels each of two files is below their nearest common folder, the smaller number first."""
    one, other = first.folder, second.folder
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    up, down = sorted((len(one) - shared, len(other) - shared))
    return up, down


class Related(NamedTuple):
    """Another position that explains a finding. ``file`` is the name for reports, ``source`` the file of the run with that name."""

    file: str
    span: Span
    message: str
    source: FileId = NO_FILE


class ObjectRef(NamedTuple):
    """The object of a finding; a part is None if the document does not set it to a string."""

    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None


NO_OBJECT = ObjectRef(None, None, None, None)


class Found(NamedTuple):
    """What a check found in a file, with its position: everything about a finding that depends only on the file.

    ``help`` is empty if the help of the rule applies, ``severity`` None if the severity of the rule does. ``related`` are positions by the
    number of their file, ``edits`` the text of a fix, ``meant`` the corresponding edits of the document's data.
    """

    rule: str
    message: str
    help: str
    document: int
    span: Span
    object: ObjectRef
    field: str
    severity: Severity | None = None
    related: tuple["FoundPlace", ...] = ()
    edits: tuple[Edit, ...] = ()
    item: str = ""
    """``field`` with list items named by their content, if the path contains lists: see ``named_field``."""
    meant: "tuple[SymbolicEdit, ...]" = ()


class FoundPlace(NamedTuple):
    """A related position."""

    file: FileId
    span: Span
    message: str


class Finding(NamedTuple):
    """One line of a report. ``field`` is the path as the API server writes it, "" for the document as a whole.

    ``file`` is the name for reports, ``source`` the file of the run with that name.
    """

    rule: str
    category: str
    severity: Severity
    message: str
    help: str
    file: str
    document: int
    span: Span
    object: ObjectRef
    field: str
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    source: FileId = NO_FILE
    item: str = ""
    """``field`` with list items named by their content; "" if that is the same."""
    rendered: tuple[str, ...] = ()
    """The kustomizations and charts whose rendered output has the finding; empty if it was not found there."""


class Identity(NamedTuple):
    """What makes a finding the same one after its file has changed: its rule, its object, and the field in the object.

    List items in ``field`` are named by their content, so that an item inserted above does not change it. The message is not included:
    it contains values, and its wording can change.
    """

    rule: str
    kind: str
    namespace: str
    name: str
    field: str


def identity_of(finding: Finding | Found) -> Identity:
    """Return the identity by which baselines, fingerprints and fixes recognise a finding within a file."""
    ref = finding.object
    return Identity(finding.rule, ref.kind or "", ref.namespace or "", ref.name or "", finding.item or finding.field)


def paired(
    base: Iterable[Finding], head: Sequence[Finding], key: Callable[[Finding], Hashable]
) -> tuple[list[tuple[Finding, Finding]], list[Finding], list[Finding]]:
    """Return the pairs of findings with equal keys, and the others of both. Those of equal keys are paired in their order."""
    waiting = grouped((known, each) for each in head if (known := key(each)) is not None)
    pairs, gone = [], []
    for each in base:
        same = waiting.get(key(each))
        if same:
            pairs.append((each, same.pop(0)))
        else:
            gone.append(each)
    taken = {id(after) for _, after in pairs}
    return pairs, gone, [each for each in head if id(each) not in taken]


def sort_key(finding: Finding) -> tuple[object, ...]:
    """Return the sort key of every report: file, line, column, rule, then the rest to make the order total."""
    return (
        finding.file,
        finding.span.line,
        finding.span.column,
        finding.rule,
        finding.field,
        finding.message,
        finding.document,
        finding.source,
    )
