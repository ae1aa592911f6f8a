"""Which documents of a file are worth parsing: most bytes in real repositories are neither workloads nor what selects them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from afflint.findings import Span
from afflint.reading.documents import Document, Problem, read, split

_TOP_LEVEL_KIND = re.compile(rb"[\"']?([A-Za-z]+)")
# Template languages show themselves by control structures, not by a lone value in braces.
_TEMPLATE = re.compile(
    rb"\{\{-|-\}\}|\{%|^[ \t]*(?:- )?\{\{[^\n]*\}\}[ \t\r]*$"
    rb"|\{\{ *(?:if|range|with|end|else|define|include|template|block|tpl|toYaml)\b|\| *n?indent\b",
    re.MULTILINE,
)
_TEMPLATE_FOLDER = re.compile(r"(?:^|[/\\])templates[/\\]")


class Triage:
    """Cuts a file into documents and parses those that may be of a kind that afflint reads."""

    def __init__(self, kinds: Iterable[str]) -> None:
        names = sorted(set(kinds))
        self._names = frozenset(name.encode() for name in names)
        self._mention = re.compile(rb"kind[\"']?[ \t\r\n]*:[ \t\r\n]*[\"']?(?:" + b"|".join(map(re.escape, self._names)) + rb")\b")

    def documents(self, data: bytes) -> Iterator[Document]:
        """The documents that matter, parsed. Once one of a file matters, so do those that do not say what they are."""
        pieces = list(split(data))
        wanted = [self._wanted(piece) for piece, _, _ in pieces]
        if not any(wanted):
            return
        index = 0
        for (piece, line, problem), matters in zip(pieces, wanted, strict=True):
            if problem is not None:
                yield _refused(piece, index, line, problem)
            if matters is False:
                index += 1
                continue
            document = read(piece, index, line)
            if not document.empty:
                index += 1
                yield document

    def _wanted(self, piece: bytes) -> bool | None:
        """True or False by the kind of a document; None when it does not name one in the usual place."""
        kinds = list(_top_level_kinds(piece))
        if kinds:
            for name in kinds:
                if name in self._names:
                    return True
                if name.endswith(b"List") and (name == b"List" or name[:-4] in self._names):
                    return self._mention.search(piece) is not None or name != b"List"
            return False
        return True if self._mention.search(piece) else None


def _top_level_kinds(piece: bytes) -> Iterator[bytes]:
    """What stands after each ``kind:`` at the start of a line."""
    position = 0 if piece.startswith(b"kind:") else piece.find(b"\nkind:") + 1
    while position or piece.startswith(b"kind:", position):
        end = piece.find(b"\n", position)
        match = _TOP_LEVEL_KIND.match(piece[position + 5 : end if end >= 0 else None].strip())
        if match:
            yield match[1]
        position = piece.find(b"\nkind:", position + 5) + 1
        if not position:
            return


def _refused(piece: bytes, index: int, line: int, problem: str) -> Document:
    document = Document(piece, index, line)
    document.problem = Problem(problem, Span(line, 1, line, 4))
    return document


def looks_templated(name: str, data: bytes) -> bool:
    """True for a file that is a Go (or Jinja) template if it does not parse; one that does parse only quotes templates."""
    if b"{{" not in data and b"{%" not in data:
        return False
    return _TEMPLATE.search(data) is not None or _TEMPLATE_FOLDER.search(name) is not None


def parses(data: bytes) -> bool:
    """Whether every document of a file is YAML that the API server can read."""
    return all(problem is None and read(piece, 0, line).problem is None for piece, line, problem in split(data))
