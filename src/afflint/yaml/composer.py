"""Composes YAML text to nodes with positions by libyaml's composer.

Texts that would crash it are rejected first, and texts that Go accepts but libyaml does not are rewritten.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ruamel.yaml.composer import ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.scanner import ScannerError
from ruamel.yaml.tag import Tag

from afflint.findings.namedtuples import NamedTuple

binding: Any = None
"""The module of libyaml's parser and composer, which is about twenty times as fast as ``yaml.pure_parser``; None if it is not installed."""

# It is a module in C, which does not exist in a browser. Pyodide has another binding, PyYAML's: it gives the same events and mistakes for
# 65 of the 66 texts of tests/yaml/test_both_parsers.py, and reads `{b:c}` as Go does. But its wheel for Pyodide is neither on PyPI nor on
# npm, from where the page in the browser gets its parts at pinned versions.
try:
    binding = import_module("_ruamel_yaml")
except ImportError:
    from afflint.yaml.pure_parser import PureParser

Parser: Any = PureParser if binding is None else binding.CParser

MAX_DEPTH = 300
"""The deepest nesting that is read. The composer recurses on the C stack and would crash the process at a much greater depth."""
MAX_NODES = 2_000_000
"""A document that may contain more keys and values than this is rejected: each needs about 400 bytes while it is read."""

# Texts below these limits can be composed without counting their depth first: a level takes a column or an opening bracket.
_SAFE_LINE, _SAFE_BRACKETS = 1000, 2000
_DEEP_INDENTATION = rb"(?m)^[ \t?:-]{%d}" % MAX_DEPTH
# Besides LF, these break lines for libyaml.
_ODD_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")

PLAIN, QUOTED, COLLECTION = Tag(suffix="plain"), Tag(suffix="quoted"), Tag(suffix="collection")
"""The tags of nodes without one: an unquoted scalar, any other scalar, a list or map. Explicit tags are strings."""
_TAGS: dict[Any, object] = {
    (True, False): PLAIN,
    (False, True): QUOTED,
    (True, True): PLAIN,
    (False, False): QUOTED,
    True: COLLECTION,
    False: COLLECTION,
}


class TooDeepError(ValueError):
    """The nesting of a text exceeds MAX_DEPTH at ``index``, which is None if it is not known."""

    def __init__(self, index: int | None) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} levels deep")
        self.index = index


class TooLargeError(ValueError):
    """A text that may contain more than MAX_NODES nodes."""

    def __init__(self) -> None:
        super().__init__("the document is too large; split it with a line `---` between objects")


class _Composer(Parser):  # type: ignore[misc]
    """libyaml's composer without tag resolution: it only records whether a scalar was plain; scalars are resolved as in Go."""

    @staticmethod
    def resolve(_kind: type, _value: str, implicit: Any) -> object:
        return _TAGS[implicit]

    # Manifests do not use path resolvers: these must do nothing, and functions in C do that fastest.
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(tuple)


class Composed(NamedTuple):
    """The root node of a document, None without one, and the index (in characters) of text after its end, None without any."""

    root: Any
    rest: int | None = None


def compose(raw_bytes: bytes, most: int = MAX_NODES) -> Composed:
    """Compose the first YAML document in UTF-8 bytes. Go ignores everything after it.

    Raises YAMLError, TooDeepError, or TooLargeError for a text that may contain more than ``most`` nodes.
    """
    if len(raw_bytes) > most and most_nodes(raw_bytes) > most:
        raise TooLargeError
    if _may_be_too_deep(raw_bytes):
        index = too_deep_at(raw_bytes)
        if index is not None:
            raise TooDeepError(index)
    try:
        if binding is None or (b"!" in raw_bytes and re.search(_NON_SPECIFIC_TAG, raw_bytes)):
            return _compose_from_events(raw_bytes)
        composer = _Composer(raw_bytes)
        return Composed(composer.get_node(), _rest(composer, raw_bytes)) if composer.check_node() else Composed(None)
    except ComposerError as error:
        if error.context is None or not error.context.startswith("found duplicate anchor"):
            raise
        return _compose_from_events(raw_bytes)
    except ScannerError as error:
        replaced = _with_replacements(raw_bytes, error)
        if replaced == raw_bytes:
            raise
        # Compose the whole text again, because the text after the error has not been read.
        composed = compose(replaced)
    for node in nodes_below(composed.root):
        if type(node) is ScalarNode:
            node.value = node.value.replace(_COLON, ":").replace(_FILLER, "")
    return composed


# libyaml's composer does not distinguish `! 5` from `5`; its events do.
_NON_SPECIFIC_TAG = rb"(?m)(?:^|[\s\[{,:])!(?=[\s,\]}]|\Z)"


def _rest(parser: _Composer, raw_bytes: bytes) -> int | None:
    """Return the index of text after the document that a parser has read; None if only comments follow."""
    try:
        if type(parser.peek_event()) is StreamEndEvent:
            return None
    except MarkedYAMLError as error:
        if error.problem == "did not find expected <document start>" and error.problem_mark is not None:
            index: int = error.problem_mark.index
            return index
    except YAMLError:
        pass
    # After a line `...` there is another document, or text that is not YAML.
    end = re.search(_END_LINE, raw_bytes.decode("utf-8", "replace"))
    return end.end() if end else None


_END_LINE = r"(?m)^\.\.\.(?=\s)(?:\s+|#.*)*"


def nodes_below(root: Any) -> Iterator[Any]:
    """Yield a node and all nodes below it, aliased ones once."""
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        if type(node) is MappingNode:
            for pair in node.value:
                stack.extend(pair)
        elif type(node) is SequenceNode:
            stack.extend(node.value)


def most_nodes(raw_bytes: bytes) -> int:
    """Return an upper bound of the number of nodes: each but the first needs one of these characters."""
    return sum(map(raw_bytes.count, (b"\n", b"\r", b":", b",", b"[", b"{", b"- ", b"? ")))


def _may_be_too_deep(raw_bytes: bytes) -> bool:
    brackets = raw_bytes.count(b"[") + raw_bytes.count(b"{")
    if brackets:
        brackets -= raw_bytes.count(b"[]") + raw_bytes.count(b"{}")
    if brackets > _SAFE_BRACKETS:
        return True
    if len(raw_bytes) <= _SAFE_LINE or all(
        raw_bytes.find(b"\n", start, start + _SAFE_LINE // 2) >= 0 for start in range(0, len(raw_bytes) - _SAFE_LINE // 2, _SAFE_LINE // 2)
    ):
        return False  # No line is longer than two such windows.
    # A long line is not deeply nested, unless it begins with a long run of indentation and indicators.
    if b"\r" in raw_bytes or any(each in raw_bytes for each in _ODD_BREAKS):
        return True
    return re.search(_DEEP_INDENTATION, raw_bytes) is not None


def too_deep_at(raw_bytes: bytes) -> int | None:
    """Return the index (in characters) at which the nesting exceeds MAX_DEPTH, or None. Reads events, which do not recurse."""
    depth = 0
    try:
        parser = _Composer(raw_bytes)
        while parser.check_event():
            event = parser.get_event()
            kind = type(event)
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                depth += 1
                if depth > MAX_DEPTH:
                    index: int = event.start_mark.index
                    return index
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                depth -= 1
            elif kind is DocumentEndEvent:
                break
    except YAMLError:
        pass  # The composer stops at the same position and reports why.
    return None


def _compose_from_events(raw_bytes: bytes) -> Composed:
    """Compose like the composer, but an anchor can be defined again: an alias means the last one before it, as in Go."""
    parser = _Composer(raw_bytes)
    anchors: dict[str, Any] = {}
    root: Any = None
    unfinished: list[Any] = []
    while parser.check_event():
        event = parser.get_event()
        kind = type(event)
        if kind is DocumentEndEvent:
            break
        if kind is SequenceEndEvent or kind is MappingEndEvent:
            node = unfinished.pop()
            node.end_mark = event.end_mark
            if kind is MappingEndEvent:
                node.value = list(zip(node.value[::2], node.value[1::2], strict=True))
            continue
        node = _node(event, anchors)
        if node is None:
            continue
        if unfinished:
            unfinished[-1].value.append(node)
        else:
            root = node
        if kind is SequenceStartEvent or kind is MappingStartEvent:
            unfinished.append(node)
    return Composed(root, None if root is None else _rest(parser, raw_bytes))


def _node(event: Any, anchors: dict[str, Any]) -> Any:
    """Return the node that an event begins or an alias refers to; None for events of the stream and of documents."""
    kind = type(event)
    if kind is AliasEvent:
        if event.anchor not in anchors:
            raise ComposerError(None, None, "found undefined alias", event.start_mark)
        return anchors[event.anchor]
    if kind is ScalarEvent:
        node: Any = ScalarNode(_tag(event), event.value, event.start_mark, event.end_mark, event.style)
    elif kind is SequenceStartEvent:
        node = SequenceNode(_tag(event), [], event.start_mark, None, event.flow_style)
    elif kind is MappingStartEvent:
        node = MappingNode(_tag(event), [], event.start_mark, None, event.flow_style)
    else:
        return None
    if event.anchor is not None:
        anchors[event.anchor] = node
    return node


def _tag(event: Any) -> object:
    if event.tag == "!" and type(event) is ScalarEvent:
        return QUOTED  # The non-specific tag makes any scalar a string.
    return _TAGS[event.implicit] if event.tag is None or event.tag == "!" else event.tag


# Two characters that do not occur in manifests. They replace others while the text is composed, so that its length stays the same.
_COLON, _FILLER = "\ue0f1", "\ue0f2"


def _with_replacements(raw_bytes: bytes, error: ScannerError) -> bytes:
    """Rewrite what libyaml does not accept in a text of the same length; return it unchanged if the error is real."""
    if _COLON.encode() in raw_bytes or _FILLER.encode() in raw_bytes:
        return raw_bytes
    if error.problem == "found unexpected ':'":
        return re.sub(_INNER_COLONS, _without_colons, raw_bytes)
    if error.problem == "found invalid Unicode character escape code" and raw_bytes.lstrip()[:1] == b"{":
        return re.sub(_ESCAPE, _without_surrogates, raw_bytes)
    return raw_bytes


# In brackets, libyaml 0.1 does not accept a colon inside a plain scalar: {image: nginx:1.27}. Colons after quotes and brackets differ.
_INNER_COLONS = rb"(?:^|[\s\[{,])![^\s\[\]{},]*|(?<=[^\s\"'\[\]{},:]):+(?=(\s|\Z)?)"


def _without_colons(match: re.Match[bytes]) -> bytes:
    if not match[0].startswith(b":"):
        return match[0]  # A tag.
    # A last colon before a space ends a key.
    inner = match[0] if match[1] is None else match[0][:-1]
    return _COLON.encode() * len(inner) + match[0][len(inner) :]


# JSON writes characters beyond the first plane as surrogate pairs, which YAML does not support. Go reads a lone surrogate as U+FFFD.
_ESCAPE = rb"(?s)\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)"


def _without_surrogates(match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        return b"\\ufffd" if len(match[0]) > 2 else match[0]
    point = 0x10000 + ((int(match[1], 16) & 0x3FF) << 10) + (int(match[2], 16) & 0x3FF)
    return b"\\U%08x" % point + 2 * _FILLER.encode()
