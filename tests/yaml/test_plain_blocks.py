"""Documents that are read without nodes have the same data as with libyaml; other documents are left to libyaml."""

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afflint.yaml.composer import compose
from afflint.yaml.conversion import plain_data
from afflint.yaml.documents import read, split
from afflint.yaml.fast_parser import plain_blocks
from shared_material import shared

KEYS = st.sampled_from(
    ["a", "b.c/d", "kind", '"q"', "'s'", "8080", "y", "null", "~", "1.0", "-x", "a b", "<<", "é", '"a\\n"', "0x10", "..."]
)
VALUES = st.sampled_from(
    [
        *(
            " {a: 1, b.c/d: 'x, y'}",
            " { a: 1 }",
            " {a: 1, a: 2}",
            " {a: 1,b: 2}",
            " {a:1}",
            " {a}",
            " {~: 1}",
            ' {"a": "b: c"}',
            " {a: b:c}",
        ),
        *(
            " [a, 'b', 1]",
            " [ a ]",
            " [a,b]",
            " [a,]",
            " [a b]",
            " [-1]",
            " [a: 1]",
            " [ ]",
            " { }",
            " [[a]]",
            " [a] # c",
            " [a]b",
            ' ["a, b"]',
        ),
        *("", " 1", " web", " 'x y'", ' "x # y"', " nginx:1.27", " a#b", " a #b", " -1", " - 1", " --flag=x", " 1.5", " {}", " []", " ~"),
        *(
            " {a: 1}",
            " [1]",
            " |",
            " >-",
            " &x",
            " *x",
            " !!str 1",
            " 'it''s'",
            ' "a\\tb"',
            " a: b",
            " a:",
            " http://x:80/",
            " .inf",
            " :x",
        ),
        *(" (x)", " $(VAR)", " ?", " %x", " @x", " `x`", ' "x" y', " a\tb", "\t1", " 0o17", " 1_000", " yes", " é", "  two  blanks  ", "x"),
        *(" 'x' # c", " {} # c", " a ] b", ' say "x"', " x,y", " =", " <<", " null", " .", " ...", " ---", " -", " +1", " 08", " a :b"),
    ]
)
INDENTS = st.sampled_from(["", "  ", "    ", "      ", " ", "   "])
LINES = st.one_of(
    st.builds("{}{}:{}".format, INDENTS, KEYS, VALUES),
    st.builds("{}-{}".format, INDENTS, VALUES),
    st.builds("{}- {}:{}".format, INDENTS, KEYS, VALUES),
    st.builds("{}-   {}:{}".format, INDENTS, KEYS, VALUES),
    st.builds(
        "{}{}".format, INDENTS, st.sampled_from(["", "# note", "#", "#\t", "text", "-", "- - a", "...", "? a", "a: b\r", "%YAML 1.1"])
    ),
)
TREES = st.recursive(
    st.sampled_from(["1", "web", "'x'", '"y"', "{}", "[]", "", "true"]),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "c/d", "'e'"]), inner, min_size=1, max_size=3), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def written(tree: object, indent: int, step: int) -> list[str]:
    """A tree in block style: lists at the column of their keys where ``step`` is odd."""
    blanks = " " * indent
    lines = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            below = indent + (0 if isinstance(value, list) and step % 2 else step)
            lines += [f"{blanks}{key}: {value}".rstrip()] if isinstance(value, str) else [f"{blanks}{key}:", *written(value, below, step)]
    elif isinstance(tree, list):
        for item in tree:
            first, *rest = [f"{' ' * (indent + 2)}{item}"] if isinstance(item, str) else written(item, indent + 2, step)
            lines += [f"{blanks}- {first.strip()}", *rest]
    return lines


def of_libyaml(text: bytes) -> object:
    """The data as the long way gives it. Raises an error for what cannot be read, or not without care."""
    composed = compose(text)
    assert composed.rest is None
    return plain_data(composed.root)


def assert_agrees(text: bytes) -> None:
    data = plain_blocks(text)
    if data is not None:
        # Booleans and numbers, and the order of keys, count as well.
        assert repr(data) == repr(of_libyaml(text))


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", ""]))
@example(["a:", "- b", "c: 1"], "\n")
@example(["- a:", "  - b:", "  c: 1", "- d"], "\n")
@example(["a:", "    b: 1", "  c: 1"], "\n")
@example(["a: b", "  c"], "\n")
@example(["- a", "  b: 1"], "")
def test_any_lines(lines: list[str], end: str) -> None:
    assert_agrees(("\n".join(lines) + end).encode())


@given(TREES, st.integers(1, 5), st.sampled_from(["", "# note", "  # note", " "]), st.data())
def test_trees(tree: object, step: int, between: str, data: st.DataObject) -> None:
    lines = written(tree, 0, step)
    if between:
        lines.insert(data.draw(st.integers(0, len(lines))), between)
    assert_agrees("\n".join(lines).encode())


@given(st.text(st.sampled_from("ab:-#'\" \n\t{}[],.&*!|>%?~0"), max_size=30))
def test_any_text(text: str) -> None:
    assert_agrees(text.encode())


USUAL = textwrap.dedent(
    """\
    # The shop.
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      labels: {}
      annotations:
        "example.com/note": 'two words'   # and why
    spec:
      replicas: 3
      template:
        spec:
          containers:
          - name: web
            image: nginx:1.27

            args:
              - --port=80
              - |
                echo "a: b"   # no comment

                  - done
          hostNetwork: false
          nodeSelector:
    """
)


def test_the_usual_style_needs_no_nodes() -> None:
    assert plain_blocks(USUAL.encode()) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {}, "annotations": {"example.com/note": "two words"}},
        "spec": {
            "replicas": 3,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "web", "image": "nginx:1.27", "args": ["--port=80", 'echo "a: b"   # no comment\n\n  - done\n']}
                    ],
                    "hostNetwork": False,
                    "nodeSelector": None,
                }
            },
        },
    }


def test_the_value_of_a_line_belongs_to_one_document() -> None:
    data = plain_blocks(b"a: {x: 1}\nb: \n  a: {x: 1}\nc: [x]\nd:\n  c: [x]\n")
    assert data["a"] is not data["b"]["a"]
    assert data["c"] is not data["d"]["c"]


def test_places_are_still_found() -> None:
    document = read(USUAL.encode(), 0, 10)
    assert document.data == plain_blocks(USUAL.encode())
    assert document.locate(("spec", "replicas")) == (20, 13, 20, 14)
    assert document.is_plain(("kind",))


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: |+\n  b\n",
        "a: >\n  b\n",
        "a: |\n  b",
        "a: é",
        "a:\t1",
        "a: 1\r\n",
        "- - a",
        "a: {b: {c: 1}}",
        "a: 1\na: 2",
        "a: 'it''s'",
        "",
    ],
)
def test_the_rest_is_left_to_libyaml(text: str) -> None:
    assert plain_blocks(text.encode()) is None


def test_it_agrees_over_real_manifests() -> None:
    files = sorted(shared("corpus").rglob("*.yaml"))[::8]
    assert len(files) > 100
    for file in files:
        for piece, _, _ in split(file.read_bytes()):
            assert_agrees(piece)


def test_depth_is_left_to_libyaml() -> None:
    assert plain_blocks("\n".join(f"{' ' * depth}a:" for depth in range(400)).encode()) is None


def test_a_line_of_another_style_is_given_up_at_once() -> None:
    """Each more letter once made it take twice as long."""
    key = "example.com/" + "a" * 60
    document = read(f'metadata:\n  annotations:\n    {key}: "an \\" escape"\n'.encode(), 0, 0)
    assert document.data == {"metadata": {"annotations": {key: 'an " escape'}}}


@pytest.mark.parametrize("line", ["a:{}\t", "a: b{}\t", "-{}\t", "a: {}[\t", "a: [b,{}\t]", "a: {{b: c{}\t}}", "a: 'b'{}\t"])
def test_long_runs_of_blanks_are_given_up_at_once(line: str) -> None:
    assert plain_blocks(line.format(" " * 300_000).encode()) is None
