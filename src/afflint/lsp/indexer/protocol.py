"""What the two processes of the server say to each other: values of the types below, each as one line of JSON (``plain``).

The first process has the editor and the open documents; the second has all manifests. Neither reads from the other anything but these
types, so that whatever becomes of one of them, the other has whole values or none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afflint.findings.codec import Codec
from afflint.findings.finding import FileId, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.catalogue import CustomKind
from afflint.lsp.capabilities import Client
from afflint.lsp.folder_config import CommandLineConfig
from afflint.pipeline.baseline import BaselineEntry
from afflint.pipeline.results import ELSEWHERE

NOT_UNDERSTOOD = 76
"""The exit code of the second process when an order is none that it knows: it is of other code than the first."""

_BLOCK = 1 << 16


# To the second process.


class IndexerInit(NamedTuple):
    """Who it is for. The first message."""

    client: Client
    chosen: CommandLineConfig


class ClientWishes(NamedTuple):
    """The rules that another server reports, and whether the findings of files that are not open are wanted as well."""

    left_out: tuple[str, ...] = ()
    everything: bool = False


class OpenDocument(NamedTuple):
    """A document that is open, as it is now."""

    uri: str
    path: str
    folder: str
    whole: bool
    version: int
    text: str


class DocumentClosed(NamedTuple):
    """A document that is open no more."""

    uri: str


class FolderClosed(NamedTuple):
    """A folder that nobody looks at any more."""

    folder: str


class RunRequest(NamedTuple):
    """Take all manifests of a folder together, with the open documents as they are; ``anew``: look for its files again."""

    folder: str
    whole: bool
    anew: bool


class IndexerRequest(NamedTuple):
    """A request of the editor's that takes all manifests to answer."""

    number: int
    method: str
    params: Any


class IndexerCommand(NamedTuple):
    """Something for the second process to do."""

    what: IndexerInit | ClientWishes | OpenDocument | DocumentClosed | FolderClosed | RunRequest | IndexerRequest


# From the second process.


class NumberedFile(NamedTuple):
    """A file by its number in a run: how reports call it, and where it lies."""

    file: FileId
    name: str
    path: str


class BaselinedFinding(NamedTuple):
    """A finding that a baseline silences, so many times."""

    entry: BaselineEntry
    times: int


class DocumentFindings(NamedTuple):
    """What a run says about a document that is open.

    ``version`` is the one that it saw, or that stood for what was on disk then; ``place`` is None for what is not to be checked.
    ``across`` is what rules across manifests find in it, None for a document that could not be read; ``places`` are the files that this
    points to. ``old``: what the baseline knows of it.
    """

    uri: str
    version: int
    place: NumberedFile | None
    across: tuple[Found, ...] | None = None
    places: tuple[NumberedFile, ...] = ()
    old: tuple[BaselinedFinding, ...] = ()


class FileDiagnostics(NamedTuple):
    """The diagnostics of a file that is not open; none where there were some."""

    uri: str
    items: Any


class RunFindings(NamedTuple):
    """What came of a run.

    ``shared`` is the deepest folder that holds all its files, ``baseline`` the folder of the baseline if it has one. ``learnt`` are the
    kinds that CustomResourceDefinitions describe, ``known_labels`` those that pools of nodes declare. ``unopened`` is what has changed
    since the run before. ``unused_nodes``: why nodes that it met are none of one cluster.
    """

    with_nodes: bool
    shared: str
    documents: tuple[DocumentFindings, ...]
    learnt: tuple[CustomKind, ...] = ()
    known_labels: tuple[str, ...] = ()
    baseline: str | None = None
    unopened: tuple[FileDiagnostics, ...] = ()
    unused_nodes: str | None = None


class RunEnded(NamedTuple):
    """A run that has ended. Without ``told`` it failed: ``fault`` says why, and what was found before holds.

    ``unexpected``: the fault is one of afflint. ``seconds``: how long it took, beside checking files.
    """

    folder: str
    told: RunFindings | None = None
    fault: str = ""
    unexpected: bool = False
    seconds: float = 0.0


class RunProgress(NamedTuple):
    """How far a run is."""

    folder: str
    done: int
    total: int


class DocumentRecognized(NamedTuple):
    """What the last run says about a document that was opened after it."""

    folder: str
    known: DocumentFindings


class Response(NamedTuple):
    """The answer to a question, or the fault that kept it from being given."""

    number: int
    result: Any = None
    fault: str = ""


class IndexerMessage(NamedTuple):
    """Something that the second process says."""

    what: RunEnded | RunProgress | DocumentRecognized | Response


ORDERS = Codec(IndexerCommand, ELSEWHERE)
REPORTS = Codec(IndexerMessage, ELSEWHERE)


class LineReader:
    """Takes lines off a stream, of which ``read`` gives up to so many bytes as soon as there are some, and none at its end.

    It is no file object: at the end of a process nobody has to wait for one in which another thread is reading.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._ahead = bytearray()

    def next(self) -> bytes | None:
        """The next line without its break; None at the end of the stream, half a line before it included."""
        looked_at = 0
        while (end := self._ahead.find(b"\n", looked_at)) < 0:
            looked_at = len(self._ahead)
            block = self._read(_BLOCK)
            if not block:
                return None
            self._ahead += block
        line = bytes(self._ahead[:end])
        del self._ahead[: end + 1]
        return line
