"""The messages between the server and the indexer: values of the types below, each as one line of JSON (``findings.codec``).

The server has the editor and the open documents; the indexer has all manifests. Each line is decoded as one of these types, so that a
process that ends never leaves the other one with half a value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from afflint.charts.sources import ChartSource
from afflint.findings.codec import Codec
from afflint.findings.finding import NO_FILE, FileId, Finding, Found, Identity, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.capabilities import Client
from afflint.lsp.folder_config import CommandLineConfig
from afflint.manifests.catalogue import CustomKind
from afflint.pipeline.baseline import BaselineEntry
from afflint.pipeline.results import ELSEWHERE

if TYPE_CHECKING:
    from afflint.index.mutating_policies import MutatingPolicy

NOT_UNDERSTOOD = 76
"""The exit code of the indexer after an unknown command: the server is another version of afflint."""

_BLOCK = 1 << 16


# To the indexer.


class IndexerInit(NamedTuple):
    """The first message: the client and the options on the command line."""

    client: Client
    command_line: CommandLineConfig


class RequestedFindings(NamedTuple):
    """The findings that the client wants: without the rules in ``left_out``, and whether of files that are not open, too."""

    left_out: tuple[str, ...] = ()
    with_unopened: bool = False


class OpenDocument(NamedTuple):
    """The current version of an open document."""

    uri: str
    path: str
    folder: str
    all_files: bool
    version: int
    text: str


class DocumentClosed(NamedTuple):
    """A document that is no longer open."""

    uri: str


class FolderClosed(NamedTuple):
    """A folder that is no longer needed."""

    folder: str


class RunRequest(NamedTuple):
    """A request to check all manifests of a folder, with the open documents. With ``rescan``, its files are listed again."""

    folder: str
    all_files: bool
    rescan: bool


class IndexerRequest(NamedTuple):
    """A request of the editor that needs all manifests to answer."""

    number: int
    method: str
    params: Any


IndexerCommand = IndexerInit | RequestedFindings | OpenDocument | DocumentClosed | FolderClosed | RunRequest | IndexerRequest


# From the indexer.


class NumberedFile(NamedTuple):
    """A file by its number in a run, with its name in reports and its path."""

    file: FileId
    name: str
    path: str


class BaselinedFinding(NamedTuple):
    """A baseline entry, and how many findings it silences."""

    entry: BaselineEntry
    times: int


class DocumentFindings(NamedTuple):
    """The result of a run for an open document.

    ``version`` is the version that the run checked, or the one that was open when it checked the file on disk. ``place`` is None for a
    document that is not checked. ``across`` are the findings of rules across manifests, None for a document that cannot be parsed;
    ``places`` are the files that these findings refer to. ``old`` are the entries of the baseline for the document, ``mutating`` the
    policies that may change its objects.
    """

    uri: str
    version: int
    place: NumberedFile | None
    across: tuple[Found, ...] | None = None
    places: tuple[NumberedFile, ...] = ()
    old: tuple[BaselinedFinding, ...] = ()
    mutating: tuple[MutatingPolicy, ...] = ()


class FileDiagnostics(NamedTuple):
    """The diagnostics of a file that is not open; an empty list removes earlier ones."""

    uri: str
    items: Any


class RunFindings(NamedTuple):
    """The result of a run.

    ``shared`` is the innermost folder that contains all its files, ``baseline`` the folder of the baseline, if there is one. ``learnt`` are
    the kinds that CustomResourceDefinitions define, ``known_labels`` the labels that node pools declare. ``unopened`` has the changes since
    the previous run. ``unused_nodes`` is the reason why nodes were ignored: they are not from one cluster.
    """

    with_nodes: bool
    shared: str
    documents: tuple[DocumentFindings, ...]
    learnt: tuple[CustomKind, ...] = ()
    known_labels: tuple[str, ...] = ()
    baseline: str | None = None
    unopened: tuple[FileDiagnostics, ...] = ()
    unused_nodes: str | None = None
    chart_sources: tuple[ChartSource, ...] = ()
    """Where the charts of releases come from."""


class RunEnded(NamedTuple):
    """A run that has ended. Without ``findings`` it failed, and the previous findings remain valid; ``fault`` is the reason.

    ``unexpected``: the fault is an error of afflint. ``seconds`` is its duration without the time for checking single files.
    """

    folder: str
    findings: RunFindings | None = None
    fault: str = ""
    unexpected: bool = False
    seconds: float = 0.0


class RunProgress(NamedTuple):
    """The progress of a run, in files."""

    folder: str
    done: int
    total: int


class DocumentRecognized(NamedTuple):
    """The result of the last run for a document that was opened after it."""

    folder: str
    known: DocumentFindings


class Response(NamedTuple):
    """The answer to a request, or the error that prevented it."""

    number: int
    result: Any = None
    fault: str = ""


# To the renderer, and from it.


class RenderRequest(NamedTuple):
    """A request to check the files of a folder with rendering. The paths in ``command_line`` are absolute."""

    folder: str
    command_line: CommandLineConfig


class ReplacedFinding(NamedTuple):
    """A finding in a file that is not one in the rendered manifests, or that is reported there in other words."""

    identity: Identity
    span: Span


class RenderedFile(NamedTuple):
    """What rendering changes in a file: the findings that it adds and those that it replaces.

    ``content`` is the checksum of the bytes that the positions are in. The related positions of ``added`` are in the file
    ``paths[FIRST_PATH - source]`` of the result.
    """

    path: str
    content: str
    added: tuple[Finding, ...]
    replaced: tuple[ReplacedFinding, ...]


class RenderEnded(NamedTuple):
    """The result of a render. ``notes`` say what was rendered, and what was not; ``missing_tools`` are not on PATH.

    ``fault`` is the reason if it failed; ``unexpected``: the fault is an error of afflint.
    """

    folder: str
    files: tuple[RenderedFile, ...] = ()
    paths: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing_tools: tuple[str, ...] = ()
    fault: str = ""
    unexpected: bool = False
    seconds: float = 0.0


FIRST_PATH: FileId = NO_FILE - 1
"""The number of the first of the paths in the result of a render; those of the others are smaller."""


def content_checksum(data: bytes) -> str:
    """Return the checksum of the text of a file; a byte order mark, which editors do not show, does not count."""
    return blake2b(data.removeprefix(b"\xef\xbb\xbf"), digest_size=16).hexdigest()


IndexerReport = RunEnded | RunProgress | DocumentRecognized | Response
COMMANDS: Codec[IndexerCommand] = Codec(IndexerCommand, ELSEWHERE)
REPORTS: Codec[IndexerReport | RenderEnded] = Codec(IndexerReport | RenderEnded, ELSEWHERE)
RENDERS: Codec[RenderRequest] = Codec(RenderRequest, ELSEWHERE)


def write_line(descriptor: int, line: bytes) -> None:
    """Write a message and a line break. Raises OSError."""
    line += b"\n"
    while line:
        line = line[os.write(descriptor, line) :]


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines without their line breaks, and nothing for a partial line at the end. Raises OSError.

    It does not use a file object, because the interpreter waits at exit for the lock of a file object that another thread reads.
    """
    parts: list[bytes] = []
    while block := os.read(descriptor, _BLOCK):
        *ends, rest = block.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts.clear()
        parts.append(rest)
