"""Reads a configuration in YAML: composes the parser's events, which do not recurse, into plain data with positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from _ruamel_yaml import CParser
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from afflint.config.located import DEEPEST, MOST_VALUES, Extent, Fault, Lines, Located, ReadError, stands_twice
from afflint.findings import Path

_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class _Node(NamedTuple):
    extent: Extent
    value: object  # a scalar, list[_Node], or dict[str, tuple[Extent, _Node]] with the extents of the keys


def read_yaml(text: str) -> Located:
    """The one document of a YAML text, with positions; no document is an empty map. Raises ReadError."""
    composer = _Composer(text)
    root = composer.document()
    located = Located(text, composer.lines, {}, {(): root.extent}, {}, tuple(composer.faults))
    if root.value is None:
        return located
    if not isinstance(root.value, dict):
        kind = "a list" if isinstance(root.value, list) else "a single value"
        raise ReadError(f"the configuration must be a map of keys, not {kind}", root.extent)
    values: dict[Path, Extent] = {}
    keys: dict[Path, Extent] = {}
    data = _plain(root, (), values, keys)
    assert isinstance(data, dict)
    return located._replace(data=data, values=values, keys=keys)


def _plain(node: _Node, path: Path, values: dict[Path, Extent], keys: dict[Path, Extent]) -> object:
    """The data of a node; its extents go into ``values`` and ``keys``. Aliases are expanded here, so here is where they are counted."""
    values[path] = node.extent
    if len(values) > MOST_VALUES or len(path) > DEEPEST:
        raise ReadError("too large or too deeply nested for a configuration, aliases counted", values[path[:1]])
    if isinstance(node.value, dict):
        entries = {}
        for key, (extent, item) in node.value.items():
            below: Path = (*path, key)
            keys[below] = extent
            entries[key] = _plain(item, below, values, keys)
        return entries
    if isinstance(node.value, list):
        return [_plain(item, (*path, index), values, keys) for index, item in enumerate(node.value)]
    return node.value


class _Composer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.events = self._events()
        self.anchors: dict[str, _Node] = {}
        self.faults: list[Fault] = []
        self.nodes = 0

    def _events(self) -> Iterator[Event]:
        parser = CParser(self.text)
        try:
            while not isinstance(event := parser.get_event(), StreamEndEvent):
                yield event
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = mark.index if mark else 0
            raise ReadError(f"not valid YAML: {error.problem or error.context}", (at, at)) from error
        except YAMLError as error:  # a character that YAML forbids; its position counts bytes
            at = len(self.text.encode()[: getattr(error, "position", 0)].decode("utf-8", "ignore"))
            raise ReadError(f"not valid YAML: {getattr(error, 'reason', error)}", (at, at)) from error

    def document(self) -> _Node:
        """The root node of the only document."""
        root = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise ReadError("the configuration must be one YAML document; a second one begins here", _extent(event))
                root = self._node(next(self.events), 0)
        return root or _Node((0, 0), None)

    def _node(self, event: Event, depth: int) -> _Node:
        start, end = _extent(event)
        self.nodes += 1
        if depth > DEEPEST or self.nodes > 2 * MOST_VALUES:  # keys are nodes too
            raise ReadError("too large or too deeply nested for a configuration", (start, end))
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise ReadError(f"the alias `*{event.anchor}` has no anchor before it", (start, end))
            return self.anchors[event.anchor]._replace(extent=(start, end))
        value: object
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
            end = start + len(self.text[start:end].rstrip())
        elif isinstance(event, MappingStartEvent):
            value, end = self._mapping(event, depth)
        elif isinstance(event, SequenceStartEvent):
            value, end = self._sequence(event, depth)
        else:
            raise AssertionError(f"no node begins with {event}")
        node = _Node((start, end), value)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _scalar(self, event: ScalarEvent) -> object:
        """A scalar as YAML 1.2 reads it: ``yes`` and ``on`` are text."""
        plain, _ = event.implicit
        if not plain:
            if event.tag is not None and event.tag not in _TEXT_TAGS:
                self.faults.append(Fault(_extent(event), "tags have no meaning in a configuration"))
            return str(event.value)
        return _resolved(event.value)

    def _mapping(self, start: MappingStartEvent, depth: int) -> tuple[object, int]:
        entries: dict[str, tuple[Extent, _Node]] = {}
        end = start.start_mark.index
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self.events), depth + 1)
            end = max(key.extent[1], value.extent[1])
            if not isinstance(event, ScalarEvent):
                self.faults.append(Fault(key.extent, "a key must be plain text"))
            elif event.value in entries:
                first = entries[event.value][0][0]
                self.faults.append(Fault(key.extent, stands_twice(event.value, self.lines.number(first))))
            else:
                entries[event.value] = (key.extent, value)
        return entries, event.end_mark.index if start.flow_style else end

    def _sequence(self, start: SequenceStartEvent, depth: int) -> tuple[object, int]:
        items: list[_Node] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        end = items[-1].extent[1] if items else start.end_mark.index
        return items, event.end_mark.index if start.flow_style else end


def _extent(event: Event) -> Extent:
    return event.start_mark.index, event.end_mark.index


def _resolved(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
