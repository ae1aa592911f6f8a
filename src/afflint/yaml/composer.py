"""YAML text to nodes with their places: libyaml's composer, kept from texts that would crash it and helped where Go takes more."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
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
from ruamel.yaml.scanner import ScannerError
from ruamel.yaml.tag import Tag

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.binding import Parser, binding
from afflint.yaml.nodes import MappingNode, ScalarNode, SequenceNode, root_of

MAX_DEPTH = 300
"""Documents nested no deeper than this are read. The composer recurses on the C stack and would end the process far beyond it."""
MAX_NODES = 2_000_000
"""A document that may hold more keys and values than this is refused: each costs some 400 bytes while it is read."""

# What can be composed without counting its depth first: a level takes a column or an opening bracket.
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
    """The nesting of a text exceeds MAX_DEPTH; ``index`` is where, None when that is not known."""

    def __init__(self, index: int | None) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} levels deep")
        self.index = index


class TooLargeError(ValueError):
    """A text may hold more than MAX_NODES nodes."""

    def __init__(self) -> None:
        super().__init__("the document is too large; split it with a line `---` between objects")


class _Composer(Parser):  # type: ignore[misc]
    """libyaml's composer without tag resolution: it only notes whether a scalar was plain, because we resolve as Go does."""

    @staticmethod
    def resolve(_kind: type, _value: str, implicit: Any) -> object:
        return _TAGS[implicit]

    # Path resolvers are a feature that manifests do not use: nothing is to be done, and that is quickest done by functions in C.
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(tuple)


class Composed(NamedTuple):
    """The root node of a document, None when there is none, and where text stands behind its end (an index of characters)."""

    root: Any
    rest: int | None = None


def compose(raw_bytes: bytes, most: int = MAX_NODES) -> Composed:
    """The first YAML document in UTF-8 bytes. Go never looks at what stands behind it.

    Raises YAMLError, TooDeepError, or TooLargeError for a text that may hold more than ``most`` nodes.
    """
    if len(raw_bytes) > most and most_nodes(raw_bytes) > most:
        raise TooLargeError
    if _may_be_too_deep(raw_bytes):
        index = too_deep_at(raw_bytes)
        if index is not None:
            raise TooDeepError(index)
    try:
        return _compose(raw_bytes)
    except ComposerError as error:
        if error.context is None or not error.context.startswith("found duplicate anchor"):
            raise
        return _compose_from_events(raw_bytes)
    except ScannerError as error:
        helped = _helped(raw_bytes, error)
        if helped == raw_bytes:
            raise
        # The whole of it again, as what lies behind the error has not been looked at.
        composed = compose(helped)
    for node in nodes_below(composed.root):
        if type(node) is ScalarNode:
            node.value = node.value.replace(_COLON, ":").replace(_FILLER, "")
    return composed


# libyaml's composer does not tell `! 5` from `5`; its events do.
_NON_SPECIFIC_TAG = rb"(?m)(?:^|[\s\[{,:])!(?=[\s,\]}]|\Z)"


def _compose(raw_bytes: bytes) -> Composed:
    if binding is None or (b"!" in raw_bytes and re.search(_NON_SPECIFIC_TAG, raw_bytes)):
        return _compose_from_events(raw_bytes)
    composer = _Composer(raw_bytes)
    return Composed(root_of(composer), _rest(composer, raw_bytes)) if composer.check_node() else Composed(None)


def _rest(parser: _Composer, raw_bytes: bytes) -> int | None:
    """Where text stands behind the document that a parser has read to its end; None where nothing but comments does."""
    try:
        if type(parser.peek_event()) is StreamEndEvent:
            return None
    except MarkedYAMLError as error:
        if error.problem == "did not find expected <document start>" and error.problem_mark is not None:
            index: int = error.problem_mark.index
            return index
    except YAMLError:
        pass
    # Behind a line `...` stands a document of its own, or what is no YAML at all.
    end = re.search(_END_LINE, raw_bytes.decode("utf-8", "replace"))
    return end.end() if end else None


_END_LINE = r"(?m)^\.\.\.(?=\s)(?:\s+|#.*)*"


def nodes_below(root: Any) -> Iterator[Any]:
    """A node and all below it, aliased ones once."""
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if type(node) is MappingNode:
            for pair in node.value:
                stack.extend(pair)
        elif type(node) is SequenceNode:
            stack.extend(node.value)


def most_nodes(raw_bytes: bytes) -> int:
    """At least as many as there are nodes: each but the first needs one of these characters to itself."""
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
    # A long line is no deep one, unless it begins with a long run of indentation and indicators.
    if b"\r" in raw_bytes or any(each in raw_bytes for each in _ODD_BREAKS):
        return True
    return re.search(_DEEP_INDENTATION, raw_bytes) is not None


def too_deep_at(raw_bytes: bytes) -> int | None:
    """Where the nesting exceeds MAX_DEPTH, as an index of characters; None when it does not. Looks at events, which do not recurse."""
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
        pass  # The composer stops at the same place and says why.
    return None


def _compose_from_events(raw_bytes: bytes) -> Composed:
    """As the composer does, but an anchor may be given again: an alias means the last one before it, as in Go."""
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
    """The node that an event begins, or that an alias stands for; None for events of the stream and of documents."""
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
        return QUOTED  # The tag that says no type makes any scalar a string.
    return _TAGS[event.implicit] if event.tag is None or event.tag == "!" else event.tag


# Two characters that no manifest holds. They stand in the text for others while it is composed, so that its length stays the same.
_COLON, _FILLER = "\ue0f1", "\ue0f2"


def _helped(raw_bytes: bytes, error: ScannerError) -> bytes:
    """The text with what libyaml stumbled over written in another way of the same length; or as it was, when that is a real error."""
    if _COLON.encode() in raw_bytes or _FILLER.encode() in raw_bytes:
        return raw_bytes
    if error.problem == "found unexpected ':'":
        return re.sub(_INNER_COLONS, _without_colons, raw_bytes)
    if error.problem == "found invalid Unicode character escape code" and raw_bytes.lstrip()[:1] == b"{":
        return re.sub(_ESCAPE, _without_surrogates, raw_bytes)
    return raw_bytes


# In brackets, libyaml 0.1 takes no colon inside a plain scalar: {image: nginx:1.27}. Colons behind quotes and brackets are another matter.
_INNER_COLONS = rb"(?:^|[\s\[{,])![^\s\[\]{},]*|(?<=[^\s\"'\[\]{},:]):+(?=(\s|\Z)?)"


def _without_colons(match: re.Match[bytes]) -> bytes:
    if not match[0].startswith(b":"):
        return match[0]  # A tag.
    # A last colon with a blank behind it ends a key.
    inner = match[0] if match[1] is None else match[0][:-1]
    return _COLON.encode() * len(inner) + match[0][len(inner) :]


# JSON writes characters beyond the first plane as pairs of surrogates, which YAML does not know. What stands alone is U+FFFD for Go.
_ESCAPE = rb"(?s)\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)"


def _without_surrogates(match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        return b"\\ufffd" if len(match[0]) > 2 else match[0]
    point = 0x10000 + ((int(match[1], 16) & 0x3FF) << 10) + (int(match[2], 16) & 0x3FF)
    return b"\\U%08x" % point + 2 * _FILLER.encode()
