"""Values as JSON and back: what comes out is what went in, of the same types, or nothing."""

import dataclasses
import sys
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.findings.codec import Codec, PlainError, _Names, _Types
from afflint.pipeline.map_step import Checker, FileResult, default_settings
from afflint.pipeline.results import ELSEWHERE, RESULTS
from checkout import ROOT
from shared_material import shared


@dataclass(frozen=True, slots=True)
class Box:
    size: int
    notes: Mapping[str, str] = field(default_factory=dict)


class Leaf(NamedTuple):
    text: str
    number: int | str | None = None
    level: Literal["high", "low"] = "low"


class Tree(NamedTuple):
    leaves: tuple[Leaf, ...]
    pair: tuple[str, int] | None = None
    data: Any = None
    box: Box | None = None
    on: bool = False
    other: Leaf | Box | None = None


TREES = Codec(Tree)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=6,
)
LEAVES = st.builds(Leaf, st.text(), st.none() | st.integers() | st.text(), st.sampled_from(["high", "low"]))
SOME = st.builds(
    Tree,
    st.lists(LEAVES, max_size=3).map(tuple),
    st.none() | st.tuples(st.text(), st.integers()),
    DATA,
    st.none() | st.builds(Box, st.integers(), st.dictionaries(st.text(), st.text(), max_size=2)),
    st.booleans(),
    st.none() | LEAVES | st.builds(Box, st.integers()),
)


def same(one: object, other: object) -> bool:
    return repr(one) == repr(other)


@given(SOME)
def test_what_comes_out_is_what_went_in(tree: Tree) -> None:
    assert same(TREES.decode(TREES.encode(tree)), tree)


def test_what_has_its_default_is_left_out_at_the_end() -> None:
    assert TREES.encode(Tree(())) == b"[[]]"
    assert TREES.encode(Tree((Leaf("a"), Leaf("b", 1)), on=False, box=Box(3))) == b'[[["a"],["b",1]],null,null,[3]]'


@given(SOME, st.data())
def test_whatever_else_is_read_is_of_these_types_or_refused(tree: Tree, data: st.DataObject) -> None:
    text = TREES.encode(tree)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    with_other = (
        text[:start] + data.draw(st.sampled_from([b"", b"1", b"null", b"[", b"]", b'"x"', b"{}", b",", b"1.5", b"true"])) + text[end:]
    )
    try:
        read = TREES.decode(with_other)
    except PlainError:
        return
    assert same(TREES.decode(TREES.encode(read)), read)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, b'[["a"]]', b'[[[1]]]', b'[[["a",true]]]', b'[[["a",1.5]]]',
        b'[[["a",1,"middle"]]]', b'[[["a",1,["low"]]]]', b'[[],["a"]]', b'[[],["a",1,2]]', b'[[],["a","b"]]',
        b"[[],null,null,[]]", b'[[],null,null,[3,{"a":1}]]',
        b"[[],null,null,[3,[]]]", b"[[],null,null,null,1]", b"[[],null,null,null,true,1]",
        b"[[],null,null,null,true,[2,[1]]]", b"[[],null,null,null,true,[0,[1]]]", b'[[],null,null,null,true,[true,["a"]]]',
        b"[" + b"9" * 5000 + b"]",
    ],
)  # fmt: skip
def test_what_is_of_another_shape_is_refused(text: bytes) -> None:
    with pytest.raises(PlainError):
        TREES.decode(text)


@pytest.mark.parametrize("data", [{1: "a"}, {"a": ("b",)}, {"a": {None: 1}}, b"bytes", object(), {"a": {"b"}}])
def test_what_json_cannot_hold_is_refused(data: object) -> None:
    with pytest.raises(PlainError):
        TREES.encode(Tree((), data=data))


# The results of the map step.


def hints(of: type) -> Mapping[str, Any]:
    return typing.get_type_hints(of, vars(sys.modules[of.__module__]), _Names(ELSEWHERE))


def types_within(of: Any, found: set[type]) -> None:
    """Every type with fields in an annotation, however deep."""
    for each in typing.get_args(of):
        types_within(each, found)
    if isinstance(of, type) and of not in found and (hasattr(of, "_fields") or dataclasses.is_dataclass(of)):
        found.add(of)
        for each in hints(of).values():
            types_within(each, found)


def test_every_type_in_a_result_can_be_written() -> None:
    found: set[type] = set()
    types_within(FileResult, found)
    assert {"Pods", "SelectorRef", "PodSource", "Budget", "Obstacle", "Suppression", "PodReplacement"} <= {each.__name__ for each in found}
    types = _Types(ELSEWHERE)
    for of in found:
        for annotation in hints(of).values():
            assert types.coder(annotation, sys.modules[of.__module__])


def results(paths: list[Path]) -> Iterator[FileResult]:
    for nodes in (False, True):
        checker = Checker(default_settings()._replace(inventory=nodes, resources=nodes))
        yield from (checker.check(path.name, path.read_bytes()) for path in paths)


def test_results_of_the_examples_come_back_as_they_were() -> None:
    paths = [path for path in (ROOT / "examples").rglob("*") if path.suffix in (".yaml", ".yml", ".json")]
    assert len(paths) > 10
    for result in results(paths):
        assert RESULTS.decode(RESULTS.encode(result)) == result


def test_results_of_real_manifests_come_back_as_they_were() -> None:
    for result in results([path for path in shared("corpus").rglob("*.yaml") if path.is_file()]):
        assert RESULTS.decode(RESULTS.encode(result)) == result
