"""What afflint says: findings with their spans, related places and edits. Plain, frozen, picklable values."""

from typing import Literal, NamedTuple

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
    """The edits that mend a finding. ``safe`` when they cannot change what the manifest already means."""

    safe: bool
    edits: tuple[Edit, ...]


class Related(NamedTuple):
    """Another place that explains a finding."""

    file: str
    span: Span
    message: str


class ObjectRef(NamedTuple):
    """Which object a finding is about; every part is None where the document does not say (or says no string)."""

    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None


class Site(NamedTuple):
    """Where an object stands: file, document, path in the document."""

    file: str
    document: int
    base: Path


NO_OBJECT = ObjectRef(None, None, None, None)


class Finding(NamedTuple):
    """One report line. ``field`` is the path as the API server writes it, "" for the document as a whole."""

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


def sort_key(finding: Finding) -> tuple[object, ...]:
    """The order of every report: file, line, column, rule, then what makes the order total."""
    return (finding.file, finding.span.line, finding.span.column, finding.rule, finding.field, finding.message, finding.document)


def field_of(path: Path) -> str:
    """A path as the API server prints it: ``spec.containers[0].name``, ``metadata.labels[a/b]`` for keys with dots or slashes."""
    text = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
