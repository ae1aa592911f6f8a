"""The nodes of a composed text: those of ruamel.yaml, made in a shorter way.

Four fifths of the time that composing takes go into the making of nodes, and much of that into two Python functions for each. These
classes take one, and libyaml's composer is told to use them. In all else they are ruamel.yaml's own. Where libyaml is not installed there
is no such composer (`parser.py`), and nothing to be told.
"""

from __future__ import annotations

from _thread import allocate_lock  # What `threading.Lock` is, without its import.
from typing import Any

from ruamel.yaml import nodes
from ruamel.yaml.tag import Tag

from afflint.yaml.binding import Parser, binding


class _Scalar(nodes.ScalarNode):
    __slots__ = ()

    def __init__(
        self, tag: Any, value: Any, start_mark: Any = None, end_mark: Any = None, style: Any = None, comment: Any = None, anchor: Any = None
    ) -> None:
        self.ctag = tag if type(tag) is Tag else Tag(suffix=tag)
        self.value = value
        self.start_mark = start_mark
        self.end_mark = end_mark
        self.style = style
        self.comment = comment
        self.anchor = anchor


class _Sequence(nodes.SequenceNode):
    __slots__ = ()

    def __init__(
        self,
        tag: Any,
        value: Any,
        start_mark: Any = None,
        end_mark: Any = None,
        flow_style: Any = None,
        comment: Any = None,
        anchor: Any = None,
    ) -> None:
        self.ctag = tag if type(tag) is Tag else Tag(suffix=tag)
        self.value = value
        self.start_mark = start_mark
        self.end_mark = end_mark
        self.flow_style = flow_style
        self.comment = comment
        self.anchor = anchor


class _Mapping(nodes.MappingNode):
    __slots__ = ()

    def __init__(
        self,
        tag: Any,
        value: Any,
        start_mark: Any = None,
        end_mark: Any = None,
        flow_style: Any = None,
        comment: Any = None,
        anchor: Any = None,
    ) -> None:
        self.ctag = tag if type(tag) is Tag else Tag(suffix=tag)
        self.value = value
        self.start_mark = start_mark
        self.end_mark = end_mark
        self.flow_style = flow_style
        self.comment = comment
        self.anchor = anchor
        self.merge = None


_ONE_AT_A_TIME = allocate_lock()
_NAMES = ("ScalarNode", "SequenceNode", "MappingNode")
_THEIRS = tuple(getattr(nodes, name) for name in _NAMES)
_OURS = (_Scalar, _Sequence, _Mapping)


def root_of(composer: Any) -> Any:
    """The root node of the document that a composer is at, made of these nodes.

    The composer looks for its classes in its module. They are there only as long as this takes: ruamel.yaml's own resolver is asked by
    class, and knows but its own. One thread at a time: another would find the classes gone.
    """
    with _ONE_AT_A_TIME:
        _use(_CLASSES)
        try:
            return composer.get_node()
        finally:
            _use(_THEIRS)


def _use(classes: tuple[Any, ...]) -> None:
    binding.ScalarNode, binding.SequenceNode, binding.MappingNode = classes


def _classes() -> tuple[Any, ...]:
    """Those that the composer makes nodes of if it is told so: another version of it may look for them elsewhere."""
    if binding is None:
        return _OURS
    if any(getattr(binding, name, None) is not each for name, each in zip(_NAMES, _THEIRS, strict=True)):
        return _THEIRS
    _use(_OURS)
    try:
        root = _Probe(b"a: []").get_single_node()
    finally:
        _use(_THEIRS)
    key, value = root.value[0]
    return _OURS if (type(key), type(value), type(root)) == _OURS else _THEIRS


class _Probe(Parser):  # type: ignore[misc]
    """A composer that resolves nothing."""

    resolve = staticmethod(lambda *_: "")
    descend_resolver = ascend_resolver = staticmethod(lambda *_: None)


_CLASSES = _classes()
ScalarNode, SequenceNode, MappingNode = _CLASSES
