"""Selects the documents of a file that need parsing: most bytes in real repositories are neither workloads nor select them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from afflint.findings.finding import Span
from afflint.yaml import terraform
from afflint.yaml.documents import Document, Problem, read, split
from afflint.yaml.placeholders import holds_control

# A value can have an anchor and a tag. An alias or a block scalar is not resolved here, but by the parser.
_COMMENTS = rb"(?:#[^\n]*\n[ \t\r\n]*)*"
_BLANKS = rb"[ \t\r\n]*" + _COMMENTS
_PROPERTIES = rb"(?:[&!][^ \t\r\n]*[ \t\r\n]+" + _COMMENTS + rb")*"
_TOP_LEVEL_KIND = re.compile(_PROPERTIES + rb"(?:[\"']?([A-Za-z][A-Za-z0-9]*)(?![A-Za-z0-9\\])|[*|>]|\"[A-Za-z0-9]*\\)")
# The other patterns are compiled on use, because few runs use them.
# An alias as a key at the start of a line.
_ALIAS_KEY = rb"(?m)^\*[^ \t\r\n,\[\]{}]+[ \t]+:"
# "kind", or its value, written with escapes, which only the parser can resolve.
_ESCAPED_LETTER = rb"\\(?:x|u00|U000000)[0-9A-Fa-f]{2}"
_ESCAPED_KIND = (
    rb"\"(?=[^\"]{0,60}\\)(?:[kind]|" + _ESCAPED_LETTER + rb"|\\\r?\n[ \t]*){4,20}\"[ \t\r\n]*:"
    rb"|kind[\"']?[ \t\r\n]*:[ \t\r\n]*" + _PROPERTIES + rb"\"[A-Za-z]*" + _ESCAPED_LETTER
)
_ESCAPE = rb"\\(?:x|u00|U000000|\r?\n)"
Reading = Callable[[bytes, int, int], Document]
"""Parses the bytes of a document, with its index among those of the file and its line."""

_INSTRUCTION = b"afflint:"
_VALUES_FILE = r"(?:^|[/\\])(?:values(?![^/\\]*\.schema\.)[^/\\]*|[^/\\]*[-_.]values)\.ya?ml$"
_TEMPLATE_FOLDER = r"(?:^|[/\\])templates[/\\]"


_MOST_KINDS = 20
"""For how many kinds that a document in JSON names its text is searched."""
_NO_MARKS: Mapping[bytes, tuple[bytes, ...]] = {}


class Triage:
    """Splits a file into documents and parses those that may be of a kind that afflint reads."""

    def __init__(
        self,
        kinds: Iterable[str],
        holders: Iterable[str] = (),
        may_matter: Callable[[bytes, bytes], bool] | None = None,
        marks: Mapping[bytes, tuple[bytes, ...]] = _NO_MARKS,
    ) -> None:
        """Create a filter for ``kinds``; ``holders`` are kinds that can contain objects of them, as Lists can.

        ``may_matter`` is called for a document of any other kind, with the name of the kind and the text. ``marks`` are further kinds,
        whose documents matter if they contain one of these texts and can be read; the empty kind has the texts for documents without one.
        """
        self._may_matter = may_matter
        self._names = frozenset(name.encode() for name in kinds)
        self._holders = frozenset((b"List", *(name.encode() for name in holders)))
        self._marks = marks

    def documents(self, data: bytes, *, named: bool = False, reading: Reading = read) -> Iterator[Document]:
        """Yield the documents that matter, parsed and numbered; if one of a file matters, so do those without a kind.

        ``reading`` replaces ``documents.read``.

        Documents with an instruction to afflint in a comment matter then, too, even if they are empty otherwise. Of a file that was
        ``named`` for its content, such as a list of nodes without a kind, all are read if none shows that it matters.
        """
        return self.triaged(data, named=named, reading=reading)[0]

    def triaged(self, data: bytes, *, named: bool = False, reading: Reading = read) -> tuple[Iterator[Document], list[str]]:
        """Return the documents that matter, as ``documents`` does, and the kinds of the skipped ones."""
        if terraform.declares_pools(data):
            return terraform.documents_in(data), []
        pieces = list(split(data))
        kinds = [list(_top_level_kinds(piece)) for piece, _, _ in pieces]
        wanted = [self._wanted(piece, names) for (piece, _, _), names in zip(pieces, kinds, strict=True)]
        marked = [
            matters is not True and self._is_marked(piece, names)
            for (piece, _, _), names, matters in zip(pieces, kinds, wanted, strict=True)
        ]
        skipped = [
            name.decode()
            for names, matters, is_marked in zip(kinds, wanted, marked, strict=True)
            if matters is False and not is_marked
            for name in names[-1:]
            if name
        ]
        if named and not any(wanted):
            wanted = [True] * len(pieces)
        return _documents(pieces, wanted, marked, reading), skipped

    def _wanted(self, piece: bytes, kinds: Sequence[bytes | None]) -> bool | None:
        """Whether a document matters by its kinds; None if it does not name one in the usual place."""
        if kinds:
            for name in kinds:
                if name is None or name in self._names:
                    return True
                if name.endswith(b"List") and name[:-4] in self._names:
                    return True
                if name in self._holders:
                    return self._mentions(piece) or self._others(name, piece)
                if self._others(name, piece):
                    return True
            return False
        return True if self._mentions(piece) or _lacks_kind(piece) or self._is_other_in_json(piece) else None

    def _is_other_in_json(self, piece: bytes) -> bool:
        """Whether a document in JSON, or with quoted keys, may be of another kind that matters: one that names many kinds may be."""
        if piece.lstrip()[:1] not in (b"{", b'"'):
            return False
        kinds = kinds_named(piece)
        # The whole text is searched for each kind.
        return len(kinds) > _MOST_KINDS or any(self._others(name or b"", piece) for name in kinds)

    def _others(self, name: bytes, piece: bytes) -> bool:
        return self._may_matter is not None and self._may_matter(name, piece)

    def _is_marked(self, piece: bytes, kinds: Sequence[bytes | None]) -> bool:
        """Whether a document is of one of the further kinds, or contains an object of them."""
        if not self._marks:
            return False
        if not kinds and b"apiVersion" in piece and piece.lstrip()[:1] == b"{":
            return self._has_mark(piece)
        for name in kinds or (b"",):
            if name in self._holders:
                return self._has_mark(piece)
            marks = self._marks.get(name.removesuffix(b"List"), ()) if name is not None else ()
            if any(mark in piece for mark in marks):
                return True
        return False

    def _has_mark(self, piece: bytes) -> bool:
        return any(mark in piece for marks in self._marks.values() for mark in marks)

    def _mentions(self, piece: bytes) -> bool:
        """Whether the text may contain an object of a kind that matters anywhere."""
        kinds = kinds_named(piece)
        return None in kinds or not self._names.isdisjoint(kinds) or (b"\n*" in piece and re.search(_ALIAS_KEY, piece) is not None)


def value_pattern(key: bytes, value: bytes) -> re.Pattern[bytes]:
    """Return a pattern for a key, in any style of YAML, with a value."""
    return re.compile(key + rb"[\"']?" + _BLANKS + rb":" + _BLANKS + _PROPERTIES + rb"(?:" + value + rb")")


def kinds_named(text: bytes) -> frozenset[bytes | None]:
    """Return the values of all keys ``kind`` in a text, those of a list without ``List``.

    None is among them if only the parser can resolve a value: an alias, a block scalar or an escape. A key that is an alias is not found.
    """
    kinds: set[bytes | None] = set(_kind_value().findall(text))
    if b"" in kinds:
        kinds = {kind or None for kind in kinds}
    # Escapes in the key or its value are rare, so a cheaper search comes first.
    if b"\\" in text and re.search(_ESCAPE, text) is not None and re.search(_ESCAPED_KIND, text) is not None:
        kinds.add(None)
    return frozenset([kind[:-4] if kind is not None and kind.endswith(b"List") and kind != b"List" else kind for kind in kinds])


@cache
def _kind_value() -> re.Pattern[bytes]:
    return value_pattern(rb"kind", rb"[*|>]|\"[A-Za-z]*\\|[\"']?([A-Za-z][A-Za-z0-9]*)")


def _lacks_kind(piece: bytes) -> bool:
    """Whether a document without a kind at its top looks like a workload whose kind is missing."""
    if (b"containers" not in piece and b"domain" not in piece) or re.search(rb"\b(?:containers|domain)[\"']?[ \t]*:", piece) is None:
        return False
    in_json = piece.lstrip()[:1] == b"{"
    heads = (b'"apiVersion"', b'"metadata"') if in_json else (b"\napiVersion:", b"\nmetadata:")
    return any(head in piece or piece.startswith(head[1:]) for head in heads)


def has_kind(piece: bytes) -> bool:
    """Return whether the text of a document has the key ``kind`` at the start of a line."""
    return any(True for _ in _top_level_kinds(piece))


def is_node_list(data: bytes) -> bool:
    """Whether a file looks like a list of nodes written by hand, which names no kind."""
    return (data.startswith(b"nodes:") or b"\nnodes:" in data) and not (data.startswith(b"kind:") or b"\nkind:" in data)


def _top_level_kinds(piece: bytes) -> Iterator[bytes | None]:
    """Yield the value after each ``kind:`` at the start of a line; None if only the parser can resolve it."""
    position = 0 if piece.startswith(b"kind:") else piece.find(b"\nkind:") + 1
    while position or piece.startswith(b"kind:", position):
        end = piece.find(b"\n", position)
        match = _TOP_LEVEL_KIND.match(piece[position + 5 : end if end >= 0 else None].strip())
        if match:
            yield match[1]
        position = piece.find(b"\nkind:", position + 5) + 1
        if not position:
            return


def _documents(
    pieces: Sequence[tuple[bytes, int, str | None]], wanted: Sequence[bool | None], marked: Sequence[bool], reading: Reading
) -> Iterator[Document]:
    """Yield the documents that are ``wanted`` or ``marked``, parsed and numbered."""
    if not (any(wanted) or any(marked)):
        return
    only_marked = not any(wanted)
    index = 0
    for (piece, line, problem), matters, is_marked in zip(pieces, wanted, marked, strict=True):
        if problem is not None and not only_marked:
            yield _invalid_separator(index, line, problem)
        reads = (matters is not False and not only_marked) or _INSTRUCTION in piece
        if matters is False and not (reads or is_marked):
            index += 1
            continue
        document = reading(piece, index, line)
        index += not document.empty
        # An unreadable document of another tool is not reported.
        if (reads or (is_marked and document.problem is None)) and (_INSTRUCTION in piece or not document.empty):
            yield document


def _invalid_separator(index: int, line: int, problem: str) -> Document:
    """Return a document for the line of an invalid separator. The text below it is a document of its own."""
    document = Document(b"", index, line)
    document.problem = Problem(problem, Span(line, 1, line, 4))
    return document


def looks_templated(name: str, data: bytes) -> bool:
    """Whether an unparsable file is a Go (or Jinja) template; a parsable one only quotes templates."""
    if b"{{" not in data and b"{%" not in data:
        return False
    return holds_control(data) or in_template_folder(name)


def in_template_folder(name: str) -> bool:
    """Whether a file is in the folder of a chart's templates. Nothing else in its name affects the findings."""
    return "templates" in name and re.search(_TEMPLATE_FOLDER, name) is not None


def is_values_file(name: str) -> bool:
    """Whether a file contains the values of a Helm chart, by its name: ``values.yaml``, ``values-prod.yaml``, ``ci/ha-values.yaml``."""
    return "values" in name and re.search(_VALUES_FILE, name) is not None


def holds_values(data: bytes) -> bool:
    """Return whether a file without kinds contains the values of a chart, by keys that only charts have."""
    return any(key in data for key in _KEYS_OF_VALUES)


_KEYS_OF_VALUES = (b"prometheusSpec:", b"alertmanagerSpec:", b"defaultPodOptions:")


def parses(data: bytes) -> bool:
    """Whether every document of a file is YAML that the API server can read."""
    return all(problem is None and read(piece, 0, line).problem is None for piece, line, problem in split(data))
