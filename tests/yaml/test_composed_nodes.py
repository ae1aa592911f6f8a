"""Nodes have faster constructors, and other users of ruamel.yaml in the process are not affected."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import _ruamel_yaml
import pytest
from ruamel.yaml import nodes as theirs
from ruamel.yaml.error import YAMLError

from afflint.yaml import nodes
from afflint.yaml.composer import compose
from afflint.yaml.documents import read
from checkout import clean_environment

TEXT = "a: &x [1, 'b', {c: d}]\nb: *x\nc: |\n  text\n? k\n: 2020-01-01\n"


def test_the_composer_makes_them() -> None:
    root = compose(TEXT.encode()).root
    kinds = {type(each) for pair in root.value for each in (root, *pair)}
    assert kinds == {nodes.ScalarNode, nodes.SequenceNode, nodes.MappingNode}
    assert nodes.ScalarNode is not theirs.ScalarNode
    assert issubclass(nodes.MappingNode, theirs.MappingNode)


@pytest.mark.parametrize("kind", ["safe", "rt"])
def test_other_readers_of_yaml_get_the_same_result(kind: str) -> None:
    script = f"from ruamel.yaml import YAML; print(repr(YAML(typ={kind!r}).load({TEXT!r})))"
    alone, beside = (
        subprocess.run(
            [sys.executable, "-c", f"{imported}{script}"], capture_output=True, text=True, env=clean_environment(), check=True
        ).stdout
        for imported in ("", "from afflint.yaml.documents import read; read(b'a: [b]', 0, 1); ")
    )
    assert beside == alone != ""


def test_nodes_have_what_theirs_have() -> None:
    for ours, other in (
        (nodes.ScalarNode, theirs.ScalarNode),
        (nodes.SequenceNode, theirs.SequenceNode),
        (nodes.MappingNode, theirs.MappingNode),
    ):
        made, expected = ours("tag:yaml.org,2002:str", "v"), other("tag:yaml.org,2002:str", "v")
        slots = {slot for each in type(expected).__mro__ for slot in getattr(each, "__slots__", ())}
        assert {slot: str(getattr(made, slot)) for slot in slots} == {slot: str(getattr(expected, slot)) for slot in slots}
        assert made.tag == expected.tag


def test_another_version_of_the_composer_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_ruamel_yaml, "MappingNode")
    assert nodes._classes() == (theirs.ScalarNode, theirs.SequenceNode, theirs.MappingNode)


def test_after_an_error_the_composer_is_as_it_was() -> None:
    with pytest.raises(YAMLError):
        compose(b"a: [b")
    assert _ruamel_yaml.MappingNode is theirs.MappingNode


def test_threads_do_not_take_each_others_classes() -> None:
    text = b"".join(b"k%d: [{b: [c, {d: e}]}, {f: [g, h]}]\n" % number for number in range(50))
    expected = read(text, 0, 0).data
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: read(text, 0, 0).data, range(200)))
    finally:
        sys.setswitchinterval(before)
    assert all(each == expected for each in found)
