"""The nodes of a composed text: those of ruamel.yaml with faster constructors.

Creating nodes takes four fifths of the time of composing, and much of that is spent in two Python functions for each node. These
classes need one, and libyaml's composer is made to use them. Otherwise they are those of ruamel.yaml. Without libyaml that composer
does not exist (see `pure_parser.py`), and the classes are used directly.
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
    """Compose the document that a composer is at with these nodes, and return its root.

    The composer looks up its classes in its module. They are replaced only meanwhile, because ruamel.yaml's own resolver compares
    classes, and knows only its own. Only one thread can do this at a time: another one would find the wrong classes.
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
    """Return the classes that the composer really uses: another version of it may look them up elsewhere."""
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
    """A composer that does not resolve tags."""

    resolve = staticmethod(lambda *_: "")
    descend_resolver = ascend_resolver = staticmethod(lambda *_: None)


_CLASSES = _classes()
ScalarNode, SequenceNode, MappingNode = _CLASSES
