"""What afflint says: findings with their spans, related places and edits. Plain, frozen, picklable values.

A file is known by its number in the run, never by its name: two sources may have one name, and what the map step says about a file
must not depend on how the file is called. Names are put in at the end, for reports.
"""

from typing import TYPE_CHECKING, Any, Literal

from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

Step = str | int
Path = tuple[Step, ...]
"""A location inside a document: keys and list indexes from the root, e.g. ``("spec", "containers", 0)``."""


class Span(NamedTuple):
    """A stretch of a file. Lines and columns count from 1, columns in code points; the end is one past the last."""

    line: int
    column: int
    end_line: int
    end_column: int


class Edit(NamedTuple):
    """Replace the text of ``span`` by ``text``."""

    span: Span
    text: str


class Fix(NamedTuple):
    """The edits that mend a finding. ``safe`` when they cannot change what the manifest already means.

    ``meant`` are the edits of the document's data that they are the text of (``edits.SymbolicEdit``); none where they change no data.
    """

    safe: bool
    edits: tuple[Edit, ...]
    meant: "tuple[SymbolicEdit, ...]" = ()


FileId = int
"""A file by its number among those of a run, which stand in the order of their places."""

NO_FILE: FileId = -1
"""The number of a file that nobody has numbered yet: in the results of the map step."""

Folder = tuple[str, ...]


class Site(NamedTuple):
    """Where an object stands: its file, the document in it, the path in that document; and the folders on the way to the file."""

    file: FileId
    document: int
    base: Path
    folder: Folder = ()


class Related(NamedTuple):
    """Another place that explains a finding. ``file`` is the name for reports, ``source`` says which file has that name."""

    file: str
    span: Span
    message: str
    source: FileId = NO_FILE


class ObjectRef(NamedTuple):
    """Which object a finding is about; every part is None where the document does not say (or says no string)."""

    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None


NO_OBJECT = ObjectRef(None, None, None, None)


class Found(NamedTuple):
    """What a check found in a file, located: everything about a finding that the file alone decides.

    ``help`` is empty where that of the rule's page holds, ``severity`` None where that of the rule does. ``related`` are places by the
    number of their file, ``edits`` the text of a fix, ``meant`` the edits of the document's data that it is the text of.
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
    """``field`` with list items named by what they hold, where it leads through lists: see ``named_field``."""
    meant: "tuple[SymbolicEdit, ...]" = ()


class FoundPlace(NamedTuple):
    """A related place, located."""

    file: FileId
    span: Span
    message: str


class Finding(NamedTuple):
    """One report line. ``field`` is the path as the API server writes it, "" for the document as a whole.

    ``file`` is the name for reports, ``source`` says which file of the run has that name.
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
    """``field`` with list items named by what they hold; "" where that is the same."""
    rendered: tuple[str, ...] = ()
    """The kustomizations and charts that show it as they are rendered, where it was found there."""


class Identity(NamedTuple):
    """What makes a finding the same one after its file has changed: its rule, its object, and the field in the object.

    List items in ``field`` are named by what they hold, so that an item inserted above does not change it. The message is no part of it:
    it has values in it, and may be worded better.
    """

    rule: str
    kind: str
    namespace: str
    name: str
    field: str


def identity_of(finding: Finding | Found) -> Identity:
    """The one identity by which baselines, fingerprints and fixes recognise a finding within a file."""
    ref = finding.object
    return Identity(finding.rule, ref.kind or "", ref.namespace or "", ref.name or "", finding.item or finding.field)


def sort_key(finding: Finding) -> tuple[object, ...]:
    """The order of every report: file, line, column, rule, then what makes the order total."""
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


def field_of(path: Path) -> str:
    """A path as the API server prints it: ``spec.containers[0].name``, ``metadata.labels[a/b]`` for keys with dots or slashes."""
    text = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


# What tells the items of most lists of a manifest apart.
_NAMING_KEYS = ("name", "key", "topologyKey")


def named_field(data: Any, path: Path, skipped: int = 0) -> str:
    """A path in ``data`` with list items named by what they hold instead of by their place: ``containers[name=web].image``.

    An item that has none of the usual keys is named by a checksum of all of it; what is not there keeps its number. The first steps,
    as many as ``skipped``, are left out of the text.
    """
    text = ""
    for depth, step in enumerate(path):
        try:
            data = data[step]
        except (LookupError, TypeError):
            data = _ABSENT
        name = _item_name(data, step) if isinstance(step, int) else step
        if depth < skipped:
            continue
        if isinstance(step, int) or "." in name or "/" in name:
            text += f"[{name}]"
        else:
            text += f".{name}" if text else name
    return text


_ABSENT = object()


def _item_name(item: object, number: int) -> str:
    if isinstance(item, dict):
        for key in _NAMING_KEYS:
            if type(item.get(key)) is str:
                return f"{key}={item[key]}"
    if isinstance(item, str):
        return item
    if item is None:
        return "null"
    if item is _ABSENT:
        return str(number)
    from zlib import crc32

    return f"#{crc32(repr(item).encode('utf-8', 'surrogatepass')):08x}"
