"""YAML is read by libyaml, or by Python if libyaml is not installed, with the same findings, positions and messages."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml.error import YAMLError

from afflint.pipeline.map_step import default_settings
from afflint.yaml import composer
from afflint.yaml.composer import binding
from afflint.yaml.documents import read
from afflint.yaml.fast_parser import plain_blocks
from afflint.yaml.pure_parser import PureParser
from checkout import ROOT, clean_environment, run
from linting import findings_of
from shared_material import SAMPLE, SHARED, cases, recorded

if binding is None:
    pytest.skip("libyaml is not installed: there is nothing to compare with", allow_module_level=True)

WRITTEN = [
    "a: 'x y'\nb: \"q\\n\\u00e9\\x41\\U0001F600 \\\n   r\"\nc: |\n  t\n  u\n\nd: >-\n  a\n  b\n\n   c\n",
    "e: &x [a, {b: c}, \"d\"]\nf: {g: *x}\n? k\n: v\n? l\n",
    "a: &x\nb: !!str\nc: !local {d: ! e}\nf: !<tag:example.com,2000:g> h\n",
    "a: |2+\n    t\n\nb: >1\n  u\n\n\n",
    "a: b\tc\t\nd:\t1\n",
    "a: plain over\n  several\n\n  lines\n",
    "a:\n- - b\n  -\n- ? c\n  : d\n-\n",
    "{a: , b: }\n",
    "a: {b:c}\n",
    "[a: , 'b': c, ? d]\n",
    "''''\n",
    "\"a\n\n  b\\\n\n  c\"\n",
    "%YAML 1.2\n---\na: 1\n",
    "a: 1\r\nb: 2\rc: 3\u0085d: 4\u2028e: 5\n",
    "a: b\n...\n",
    "a: {{ .Values.b }}\n",
    "# only\n",
    "",
]  # fmt: skip
WRONG = [
    "a: [b\n",
    "a: {b: c\nd: e\n",
    "a: [b: c: d]\n",
    "a: b: c\n",
    "a: 'b\n",
    "a: \"b\n---\n",
    "a: \"\\ud800\"\n",
    "a: \"\\q\"\n",
    "a: \"\\x4\"\n",
    "a: b\n  c: d\n",
    "a:\n  b: c\n d: e\n",
    "a:\n  - b\n  c: d\n",
    "- a\nb: c\n",
    "a\nb: c\n",
    "a: b\nc\n",
    "a:\n\tb: c\n",
    "a: b\n\tc: d\n",
    "a: |\n\tb\n",
    "a: |0\n  b\n",
    "a: | b\n",
    "|\nb\n",
    "a: @b\n",
    "a: `b`\n",
    "a: %b\n",
    "a: *b\n",
    "a: &b,c d\n",
    "a: &\n",
    "a: !b!c d\n",
    "a: !<b c\n",
    "a: - b\n",
    "a: ? b\n",
    "? a\n? - b\n  c\n",
    "a: ]\n",
    "a: [b]]\n",
    "[a, , b]\n",
    "a: \x01\n",
    "%FOO\n---\na: 1\n",
    "%YAML 2.0\n---\na: 1\n",
    "%YAML 1.1\n%YAML 1.1\n---\na: 1\n",
    "a: b\n[ c\n",
    "a: b\n... c\n",
]  # fmt: skip
NO_TEXT = [b"a: \xff", b"a: \xc3", b"a: \xc3(", b"a: \xe2\x28\xa1", b"a: \xed\xa0\x80", b"\xe9: \x01", b"a: \x01 \xff"]


@contextmanager
def in_python() -> Iterator[None]:
    """Texts are read as they are where libyaml is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composer, "_Composer", PureParser)
        patch.setattr(composer, "binding", None)
        yield


def events(parser: Any, text: bytes) -> list[tuple[object, ...]]:
    """What a parser says of a text: each event with its place, and what is wrong in the end."""
    results: list[tuple[object, ...]] = []
    try:
        parsing = parser(text)
        while parsing.check_event():
            event = parsing.get_event()
            kind = type(event).__name__
            names = ("value", "tag", "anchor", "implicit", "flow_style", "style")
            # Where a list or map starts is asked for, where what opens it ends is not; and nothing of the start of a document.
            places = () if kind == "DocumentStartEvent" else (event.start_mark.index,)
            if not kind.endswith("StartEvent"):
                places += (event.end_mark.index,)
            results.append((kind, *(getattr(event, name, None) or "" for name in names), *places))
    except YAMLError as error:
        mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
        if mark is None:
            return [("not text", error.position)]  # type: ignore[attr-defined]
        # A context that is the place itself says nothing more.
        began = (context.index, context.line) if context is not None and context.index != mark.index else None
        results.append((type(error).__name__, error.problem, mark.index, mark.line, began))  # type: ignore[attr-defined]
    return results


def described(text: bytes) -> tuple[object, ...]:
    """All that is made of a document: its data, its problem, its repeated keys, what is behind it, and each node with its position."""
    document = read(text, 0, 0)
    nodes = [
        (type(node).__name__, str(node.ctag), node.start_mark.index, node.end_mark.index)
        for node in composer.nodes_below(document.node_at(()))
    ]
    return repr(document.data), document.problem, document.duplicates, document.rest, document.filled, nodes


def assert_same(text: bytes) -> None:
    expected = described(text)
    with in_python():
        assert described(text) == expected


def fixtures() -> list[bytes]:
    """The manifests of the examples, and the texts above."""
    files = sorted((ROOT / "examples").rglob("*.yaml"))
    assert len(files) > 10
    return [*(path.read_bytes() for path in files), *(text.encode() for text in (*WRITTEN, *WRONG)), *NO_TEXT]


@pytest.mark.parametrize("text", [*(text.encode() for text in (*WRITTEN, *WRONG)), *NO_TEXT], ids=repr)
def test_a_text_has_the_same_events_and_the_same_fault(text: bytes) -> None:
    assert events(PureParser, text) == events(binding.CParser, text)
    assert_same(text)


def test_what_is_wrong_above_is_wrong_and_the_rest_is_not() -> None:
    for texts, wrong in ((WRONG, True), (WRITTEN, False)):
        documents = {text: read(text.encode(), 0, 0) for text in texts}
        assert [text for text, document in documents.items() if bool(document.problem or document.rest) != wrong] == []


PIECES = [
    *(
        "\t",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        ":",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        "''",
        '"',
        "\\",
        "\\\n",
        "|",
        "|+",
        ">-2",
    ),
    *("&x ", "*x", "!a ", "!!str ", "#", " #c", "%", "---", "...\n", "?", "? ", "@", "`", "\u0085", "\u2028", "é", "\\u12", "<<: ", "\x01"),
]


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    text=st.sampled_from([*WRITTEN, *WRONG, (ROOT / "examples/shop/cart.yaml").read_text("utf-8")]),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.sampled_from(PIECES), st.integers(0, 3)), min_size=1, max_size=6),
)
def test_whatever_is_typed_into_a_text_it_has_the_same_events(text: str, changes: list[tuple[int, str, int]]) -> None:
    for place, piece, cut in changes:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + cut :]
    assert events(PureParser, text.encode()) == events(binding.CParser, text.encode())


def test_files_that_no_line_reader_takes_are_found_wrong_alike() -> None:
    files = {f"{number}.yaml": text for number, text in enumerate(fixtures())}
    expected = findings_of(files, default_settings())
    with in_python():
        assert findings_of(files, default_settings()) == expected
    assert len({each.rule for each in expected}) >= 10


def test_recorded_manifests_are_found_wrong_alike() -> None:
    files = {f"{case['id']}.yaml": case["yaml"].encode() for case in recorded(SAMPLE / "validation_cases.jsonl.gz")}
    expected = findings_of(files, default_settings())
    with in_python():
        assert findings_of(files, default_settings()) == expected
    assert len(expected) > 300


def test_all_recorded_manifests_are_read_alike() -> None:
    texts = [case["yaml"].encode() for case in cases("validation_cases.jsonl.gz")]
    # The plainest are read line by line, whichever parser there is.
    for text in [*(text for text in texts if plain_blocks(text) is None), *texts[::20]]:
        assert_same(text)


def test_real_manifests_are_read_alike() -> None:
    corpus = SHARED / "corpus"
    if not corpus.exists():
        pytest.skip("real manifests are not available")
    files = sorted(corpus.rglob("*.y*ml"))
    for path in files[:: max(1, len(files) // 150)]:
        text = path.read_bytes()
        if len(text) < 30_000:
            assert events(PureParser, text) == events(binding.CParser, text), path.name


def test_the_command_finds_the_same_without_libyaml(tmp_path: Path) -> None:
    """A process that cannot import the binding at all, as in a browser."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['_ruamel_yaml'] = None\n")
    (tmp_path / "broken.yaml").write_text("apiVersion: v1\nkind: Pod\nspec: [b\n")
    without = clean_environment(PYTHONPATH=str(tmp_path))
    command = [sys.executable, "-m", "afflint", "check", str(ROOT / "examples"), "broken.yaml", "--format", "json"]
    results = [json.loads(run(command, tmp_path, environment=each, expect=1)) for each in (clean_environment(), without)]
    assert results[0]["findings"] == results[1]["findings"]
    assert any(each["rule"] == "unreadable-manifest" for each in results[1]["findings"])
    probe = [sys.executable, "-c", "from afflint.yaml.composer import binding; print(binding)"]
    assert run(probe, tmp_path, environment=without) == "None\n"
