"""Bytes become the data that the API server reads, and every path has its position in the file."""

import json
from typing import Any

import pytest
from emitter import Emitter, documents
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.findings.finding import Span
from afflint.findings.paths import Path
from afflint.yaml import documents as reading
from afflint.yaml import parser
from afflint.yaml.composer import MAX_DEPTH
from afflint.yaml.documents import Document, read, split, to_utf8


def doc(text: str | bytes, line: int = 0) -> Document:
    return read(text.encode() if isinstance(text, str) else text, 0, line)


def data(text: str | bytes) -> Any:
    document = doc(text)
    assert document.problem is None, document.problem
    return document.data


def fault(text: str | bytes) -> tuple[str, int, int]:
    """The message, line and column of the problem of a document."""
    problem = doc(text).problem
    assert problem is not None
    assert problem.span.end_line == problem.span.line
    return problem.message, problem.span.line, problem.span.column


def shown(text: str, path: Path, *, key: bool = False) -> str:
    """``line:column text`` of what ``locate`` gives, cut out of the text."""
    span = doc(text).locate(path, key=key)
    assert span.line == span.end_line
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"{span.line}:{span.column} {lines[span.line - 1][span.column - 1 : span.end_column - 1]}"


# A stream is cut into documents.


def pieces(text: str) -> list[tuple[str, int]]:
    assert all(problem is None for _, _, problem in split(text.encode()))
    return [(piece.decode(), line) for piece, line, _ in split(text.encode())]


def test_a_line_that_starts_with_three_dashes_separates() -> None:
    assert pieces("a: 1\n---\nb: 2\n") == [("a: 1\n", 0), ("b: 2\n", 2)]
    assert pieces("---\na: 1\n--- # why\nb: 2") == [("a: 1\n", 1), ("b: 2", 3)]
    assert pieces("a: 1\r\n---\t \r\nb: 2\r\n") == [("a: 1\r\n", 0), ("b: 2\r\n", 2)]
    assert pieces("a: 1\n---") == [("a: 1\n", 0), ("", 1)]


def test_without_such_a_line_there_is_one_document() -> None:
    assert pieces("a: ---\n ---\n") == [("a: ---\n ---\n", 0)]
    assert pieces("") == [("", 0)]


def test_separators_without_anything_between_them_give_nothing() -> None:
    assert pieces("---\n---\n---\na: 1\n") == [("a: 1\n", 3)]
    assert doc("# only a comment\n").empty
    assert doc("\n \n").empty
    assert doc("~").empty
    assert not doc("''").empty


@pytest.mark.parametrize("separator", ["--- a: 1", "---a", "----", "--- |", "-----BEGIN CERTIFICATE-----", "---\ra: 1"])
def test_text_after_a_separator_is_rejected_and_the_next_document_is_read(separator: str) -> None:
    found = list(split(f"x: 1\n{separator}\ny: 2\n".encode()))
    assert [(piece.decode(), line, bool(problem)) for piece, line, problem in found] == [
        ("x: 1\n", 0, False),
        ("y: 2\n", 2 + separator.count("\r"), True),
    ]
    assert "only a comment may follow" in str(found[1][2])


def test_a_separator_cuts_even_a_block_scalar() -> None:
    assert pieces("a: |\n  x\n---\n  y\n") == [("a: |\n  x\n", 0), ("  y\n", 3)]


def test_lines_are_counted_through_all_kinds_of_line_breaks() -> None:
    assert [line for _, line, _ in split(b"a: 1\r\n---\r\nb: 2\rc: 3\n---\nd: 4\n")] == [0, 2, 5]


def test_json_objects_in_a_row_are_a_document_each() -> None:
    text = '{"a": 1}\n{\n  "b": 2\n}\n\n{"c": 3}\n---\n{"d": 4}\n'
    found = [(data(piece), line) for piece, line, _ in split(text.encode())]
    assert found == [({"a": 1}, 0), ({"b": 2}, 1), ({"c": 3}, 5), ({"d": 4}, 7)]
    # YAML that only looks like it stays as it is.
    assert len(list(split(b"{a: 1,\n{b: 2}: c}\n"))) == 1


def test_what_follows_an_end_of_document_is_never_looked_at() -> None:
    assert data("a: 1\n...\n") == {"a": 1}
    assert data("a: 1\n...\nb: [\n") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a: 1\n...\nb: [\n", "b: [\n"),
        ("a: 1\n... # the end\n\n# more\n@x", "@x"),
        ("  a: 1\nb: 2\n", "b: 2\n"),
        ("é:\n  a: 1\n... \n\U0001f600", "\U0001f600"),
        ("--\n# a separator?\na: 1\n", "a: 1\n"),
        ("{a: 1}\nb: 2", "b: 2"),
        ("a: &x 1\nb: &x 2\n...\nc: 3", "c: 3"),
        ("{a: b:c}\nd: 2", "d: 2"),
        ("a: 1\n...\n...\n# nothing", None),
        ("a: |\n  x\n  ...\n", None),
        ("a: 1\n\n# nothing\n", None),
        ("", None),
    ],
)
def test_text_after_the_end_of_a_document_is_located(text: str, rest: str | None) -> None:
    document = doc(text)
    assert document.problem is None
    assert (None if document.rest is None else text[document.rest :]) == rest


def test_a_yaml_directive_is_alone_in_its_document_and_rejected() -> None:
    first, second = split(b"%YAML 1.1\n---\na: 1\n")
    assert doc(first[0]).problem is not None
    assert data(second[0]) == {"a": 1}


# Encodings.


@pytest.mark.parametrize("text", ["a: \u00e9\n", '{"kind": "Pod"}', "a: \U0001f600\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_recognised(text: str, encoding: str) -> None:
    assert to_utf8(text.encode(encoding)) == text.encode()
    assert to_utf8(b"\xfe\xff" + text.encode("utf-16-be")) == text.encode()


@pytest.mark.parametrize("broken", [b"\xff\xfea\0:", b"\xff\xfe\x00\xd8a\0", b"a\0\x00\xdc", b"\0a\xd8\x00\0b"])
def test_broken_utf_16_is_an_error(broken: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        to_utf8(broken)


def test_short_and_empty_input_is_taken_as_it_is() -> None:
    assert [to_utf8(each) for each in (b"", b"a", b"\0", b"\0\0a", b"ab")] == [b"", b"a", b"\0", b"\0\0a", b"ab"]


def test_each_document_may_have_a_byte_order_mark_that_takes_no_column() -> None:
    document = doc(b"\xef\xbb\xbfapp: web\n", 7)
    assert document.data == {"app": "web"}
    assert document.locate(("app",)) == Span(8, 6, 8, 9)


@pytest.mark.parametrize(
    ("raw", "line", "column"),
    [
        (b"a: \xff\n", 1, 4),
        (b"a: 1\nb: \xc3\xa9\xed\xa0\x80\n", 2, 5),
        (b"a: \xc0\xaf\n", 1, 4),
        (b"a: \xf5\x80\x80\x80\n", 1, 4),
        (b"a: \xe2\x82", 1, 4),
    ],
)
def test_invalid_utf_8_is_a_problem_at_its_position(raw: bytes, line: int, column: int) -> None:
    message, *place = fault(raw)
    assert place == [line, column]
    assert "UTF-8" in message


@pytest.mark.parametrize("character", ["\0", "\x01", "\x1b", "\x7f", "\ufffe"])
def test_control_characters_are_a_problem_at_their_place(character: str) -> None:
    assert fault(f"a: 1\nb: \u00e9x{character}y\n") == ("a control character, which YAML does not allow", 2, 6)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a:\n\t- b\n", 2, 1), ("\ta: b\n", 1, 1), ("a:\n  b: c\n\td: e\n", 3, 1)],
)
def test_tabs_as_indentation_are_a_problem_that_says_tab(text: str, line: int, column: int) -> None:
    assert fault(text) == ("a tab, which YAML does not allow as indentation; use spaces", line, column)


def test_tabs_elsewhere_are_blanks() -> None:
    assert data("a:\tb\t# c\n") == {"a": "b"}
    assert data('{\n\t"a":\t[1]\n}\n') == {"a": [1]}
    assert shown("a:\t\tb\n", ("a",)) == "1:5 b"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_all_line_breaks_count_as_in_an_editor(newline: str) -> None:
    text = newline.join(["a: 1", "", "b:", "  - c", "  - d: e", ""])
    assert data(text) == {"a": 1, "b": ["c", {"d": "e"}]}
    assert [shown(text, path) for path in [("a",), ("b", 0), ("b", 1, "d")]] == ["1:4 1", "4:5 c", "5:8 e"]


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_unicode_line_separators_break_lines_for_yaml_but_not_for_editors(separator: str) -> None:
    text = f"a: b{separator}c: d\ne: f\n"
    assert data(text) == {"a": "b", "c": "d", "e": "f"}
    assert shown(text, ("c",)) == "1:9 d"
    assert shown(text, ("e",)) == "2:4 f"


def test_columns_count_code_points() -> None:
    text = "\U0001f600: {e\u0301: x, \u00e9: y}\n"
    assert shown(text, ("\U0001f600", "e\u0301")) == "1:9 x"
    assert shown(text, ("\U0001f600", "\u00e9")) == "1:15 y"


# Values.


def test_scalars_are_read_as_go_reads_them() -> None:
    assert data("[on, 010, 1:30, 2024-01-01, ~, '5', !!str 5, !!int '5', !x 5, 1e3]") == [
        True, 8, "1:30", "2024-01-01", None, "5", "5", 5, "5", 1000.0,
    ]  # fmt: skip


def test_the_non_specific_tag_makes_a_string() -> None:
    assert data("{a: ! 5, b: ! true, ! 7: c, d: ! [8], e: ! '9', f: '! 5'}") == {
        "a": "5", "b": "true", "7": "c", "d": [8], "e": "9", "f": "! 5",
    }  # fmt: skip


def test_an_escaped_slash_is_rejected_by_go_but_not_in_json() -> None:
    assert fault('a: b\nc: "d\\\\\\/"\n') == ("unknown escape `\\/`, which only JSON supports", 2, 8)
    assert data("a: 'b\\/'\nc: d\\/\ne: \"f\\\\/\"\n") == {"a": "b\\/", "c": "d\\/", "e": "f\\/"}
    assert data('{"a": "b\\/"}') == {"a": "b/"}


def test_keys_are_strings() -> None:
    assert data("{yes: 1, 5: 2, 1.50: 3, '~': 4, !!str 010: 5, 010: 6, .inf: 7}") == {
        "true": 1, "5": 2, "1.5": 3, "~": 4, "010": 5, "8": 6, ".inf": 7,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["~: a", "null: a", "? \n: a", "!!null '': a"])
def test_a_null_key_is_a_problem(text: str) -> None:
    assert fault(text)[0].startswith("a null key")


@pytest.mark.parametrize("text", ["? [a]\n: b", "? {a: b}\n: c", "{[a]: b}", "x: {{y: a}: b}", "? - a\n: b"])
def test_a_list_or_a_map_as_key_is_a_problem(text: str) -> None:
    message, line, _ = fault(text)
    assert message.startswith("a key that is a list or a map")
    assert line == 1


def test_a_value_that_json_cannot_carry_is_a_problem_at_its_place() -> None:
    assert fault("a: 1\nb: [.inf]\n") == ("`.inf` is infinity or not a number, which JSON cannot represent", 2, 5)


def test_a_scalar_that_does_not_match_its_tag_is_a_problem_at_its_position() -> None:
    assert fault("a: !!int b\n") == ("`b` cannot be read as !!int", 1, 10)
    assert fault("a: !!binary '%'\n") == ("`%` is not valid base64, which !!binary requires", 1, 13)
    assert fault("9223372036854775808: a\n") == ("`9223372036854775808` is too large for a numeric key", 1, 1)


def test_block_scalars() -> None:
    text = "a: |\n  b\n\n  c\nd: >-  # why\n  e\n  f\ng: |2+\n   h\n\ni: j\n"
    assert data(text) == {"a": "b\n\nc\n", "d": "e f", "g": " h\n\n", "i": "j"}
    assert [shown(text, (key,)) for key in "adgi"] == ["1:4 |", "5:4 >-  # why", "8:4 |2+", "11:4 j"]


def test_flow_collections_may_hold_colons_as_in_images_and_addresses() -> None:
    text = "{image: nginx:1.25, args: [--listen=:80, http://a:1/b], time: [12:30]}"
    assert data(text) == {"image": "nginx:1.25", "args": ["--listen=:80", "http://a:1/b"], "time": ["12:30"]}


def test_a_question_mark_in_a_plain_scalar_in_brackets_is_rejected_by_go() -> None:
    assert fault("a:\n  - [http://x/?y=z]\n") == ("an unquoted value with a `?` inside `[ ]` or `{ }`; quote the value", 2, 15)
    assert data("a: http://x/?y=z\nb: ['?', \"a?b\"]\nc: [{d: e}] # why?\n") == {"a": "http://x/?y=z", "b": ["?", "a?b"], "c": [{"d": "e"}]}


def test_characters_beyond_the_first_plane_in_json_escapes() -> None:
    text = '{"a": "x\\ud83d\\ude00y", "b": "\\ud83d", "c": "\\\\ud83d", "d": "e"}'
    assert data(text) == {"a": "x\U0001f600y", "b": "\ufffd", "c": "\\ud83d", "d": "e"}
    assert shown(text, ("a",)) == '1:7 "x\\ud83d\\ude00y"'
    assert shown(text, ("d",)) == f'1:{text.index("e", 60)} "e"'
    # In YAML that is not JSON, Go rejects them.
    assert fault('a: "\\ud83d\\ude00"')[0] == "an escape that is not a Unicode character"


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("a: 'b\nc: d\n", 1, 4, "quote that is not closed"),
        ('a: 1\nb: "c\n', 2, 4, "quote that is not closed"),
        ("a: [b\nc: d\n", 1, 4, "not closed"),
        ("a: {b: c\n", 1, 4, "not closed"),
        ("a: {b: c,\n    d: [e, f\n  g: h\n\n# end\n", 2, 8, "not closed"),
        ("a: {b: c, d: [e, f}\n", 1, 19, "not closed"),
        ("a: b\nc\nd: e\n", 2, 1, "a `:` is missing"),
        ("a: b\ncd", 2, 1, "a `:` is missing"),
        ("a: !<b\n", 1, 4, "tag that is not closed"),
        ("a: b: c\n", 1, 5, "not allowed here"),
        ("a: b\n c: d\n", 2, 3, "not allowed here"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "indentation"),
        ("- a\nb: c\n", 2, 1, "indentation"),
        ("a\nb: c\n", 2, 2, "not allowed here"),
        ("a: @b\n", 1, 4, "cannot start a value"),
        ("a: `b`\n", 1, 4, "cannot start a value"),
        ("a: *b\n", 1, 4, "not defined"),
    ],
)
def test_a_syntax_error_says_what_is_wrong_and_where(text: str, line: int, column: int, word: str) -> None:
    message, *place = fault(text)
    assert word in message
    assert place == [line, column]


# Anchors, aliases, merge keys.


def test_aliases_are_expanded() -> None:
    text = "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n&k e: f\ng: *k\n"
    assert data(text) == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}], "e": "f", "g": "e"}
    # The position of an aliased value is that of its anchor.
    assert shown(text, ("c", "b")) == "1:11 1"
    assert shown(text, ("c",)) == "2:1 c"
    assert shown(text, ("g",)) == "4:4 e"


def test_an_anchor_may_be_given_again_and_an_alias_means_the_last() -> None:
    text = "a: &x 1\nb: *x\nc: &x {d: 2}\ne: *x\n"
    assert data(text) == {"a": 1, "b": 1, "c": {"d": 2}, "e": {"d": 2}}
    assert shown(text, ("e", "d")) == "3:11 2"
    assert fault("a: &x 1\nb: &x 2\nc: *y\n")[1:] == (3, 4)


def test_spans_leave_anchors_and_tags_out() -> None:
    text = "a: &x web\nb: !!str 5\nc: !!str &y 'd'\n&z e: f\ng: &w\nh: [&v i, *x]\n"
    assert [shown(text, path) for path in [("a",), ("b",), ("c",), ("e",), ("g",), ("h", 0)]] == [
        "1:7 web", "2:10 5", "3:13 'd'", "4:7 f", "5:4 &w", "6:8 i",
    ]  # fmt: skip
    assert shown(text, ("e",), key=True) == "4:4 e"


@pytest.mark.parametrize("text", ["a: &x {b: *x}\n", "a: &x [*x]\n", "a: &x\n  b:\n    c: [*x]\n", "a: &x {<<: *x}\n"])
def test_an_anchor_that_contains_itself_is_a_problem(text: str) -> None:
    message, line, _ = fault(text)
    assert (message, line) == ("an anchor that contains itself", 1)


def test_the_alias_bomb_is_rejected_as_in_go() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 40)]
    message, line, _ = fault("\n".join(levels))
    assert message.startswith("excessive aliasing")
    assert line >= 1
    # A few levels are still fine: a hundred aliases may well be meant.
    assert len(data("\n".join(levels[:3]))["a2"]) == 10


def test_a_chain_of_merges_is_rejected_before_it_fills_the_memory() -> None:
    chain = ["k0: &k0 {a0: 0}"] + [f"k{n}: &k{n} {{<<: *k{n - 1}, a{n}: {n}}}" for n in range(1, 5000)]
    assert fault("\n".join(chain))[0].startswith("excessive aliasing")


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("<<: {a: 1}\nb: 2\n", {"a": 1, "b": 2}),
        # Entries take effect in their order: the merged value wins when it comes later.
        ("<<: {a: 1}\na: 2\n", {"a": 2}),
        ("a: 2\n<<: {a: 1}\n", {"a": 1}),
        # In a list the earlier map wins.
        ("<<: [{a: 1}, {a: 2, b: 3}]\n", {"a": 1, "b": 3}),
        ("<<: {<<: {a: 1}, b: 2}\nc: 3\n", {"a": 1, "b": 2, "c": 3}),
        ("!!merge <<: {a: 1}\n", {"a": 1}),
        # Only a plain << merges.
        ("'<<': {a: 1}\n", {"<<": {"a": 1}}),
        ("!!str <<: {a: 1}\n", {"<<": {"a": 1}}),
    ],
)
def test_merge_keys(text: str, merged: dict[str, Any]) -> None:
    assert data(text) == merged


@pytest.mark.parametrize("text", ["<<: 1\n", "<<: [1]\n", "<<: ~\n", "<<:\n", "a: &x [{b: 1}]\nc: {<<: *x}\n", "<<: [[{a: 1}]]\n"])
def test_a_merge_key_takes_a_map_or_a_list_of_maps(text: str) -> None:
    assert fault(text)[0].startswith("the value of a merge key `<<` must be")


def test_a_merged_value_is_located_where_it_is_written() -> None:
    text = "x: &x {a: 1, b: 2}\nv:\n  <<: *x\n  b: 3\nw:\n  b: 4\n  <<: *x\n"
    assert data(text)["v"] == {"a": 1, "b": 3}
    assert data(text)["w"] == {"a": 1, "b": 2}
    assert [shown(text, path) for path in [("v", "a"), ("v", "b"), ("w", "b")]] == ["1:11 1", "4:6 3", "1:17 2"]
    assert shown(text, ("v", "a"), key=True) == "1:8 a"


def test_text_after_a_flow_map_has_to_be_quoted_with_it() -> None:
    for text in ("a: {A}/{B}/x\n", "a: [A]x\n", "spec:\n  image: {registry}/web\n"):
        assert fault(text)[0] == "text after a closing bracket: a value that begins with `{` or `[` must be quoted as a whole"


# Repeated keys.


def duplicates(text: str) -> list[tuple[Path, str, str]]:
    return [(each.path, f"{each.first.line}:{each.first.column}", f"{each.span.line}:{each.span.column}") for each in doc(text).duplicates]


def test_repeated_keys_are_noted_with_both_places_and_the_last_one_wins() -> None:
    text = "a: 1\nb:\n  - c: 1\n    'c': 2\n    c: 3\na: 4\n"
    assert data(text) == {"a": 4, "b": [{"c": 3}]}
    assert duplicates(text) == [(("b", 0, "c"), "3:5", "4:5"), (("b", 0, "c"), "4:5", "5:5"), (("a",), "1:1", "6:1")]
    assert shown(text, ("b", 0, "c")) == "5:8 3"


def test_keys_that_are_the_same_string_are_the_same_key() -> None:
    assert duplicates("yes: 1\ntrue: 2\n") == [(("true",), "1:1", "2:1")]
    assert duplicates("5: 1\n'5': 2\n") == [(("5",), "1:1", "2:1")]
    assert duplicates("a: 1\nA: 2\n") == []


@pytest.mark.parametrize(
    "text, overrides, merged",
    [
        ("<<: {a: 1}\na: 2\n", [True], [False]),
        ("<<: [{a: 1}, {a: 2}]\n", [True], [True]),
        ("<<: {a: 1}\na: 2\na: 3\n", [True, False], [False, False]),
        # The merged value wins, which is not what YAML says.
        ("a: 2\n<<: {a: 1}\n", [False], [True]),
        ("<<: {a: 1}\n<<: {a: 2}\n", [False], [True]),
    ],
)
def test_a_key_below_a_merge_key_overrides_what_that_brings(text: str, overrides: list[bool], merged: list[bool]) -> None:
    assert [each.overrides for each in doc(text).duplicates] == overrides
    assert [each.is_merged for each in doc(text).duplicates] == merged
    assert duplicates("<<: {a: 1}\na: 2\n") == [(("a",), "1:6", "2:1")]
    assert duplicates("a: 2\n<<: {a: 1}\n") == [(("a",), "1:1", "2:1")]
    assert duplicates("<<: {a: 1}\nb: 2\n") == []


# Where things are.


TEXT = """\
metadata:  # about it
  name: web
  labels: {app: "web", tier: }
  empty:
spec:
- one
- key: two
  # inside

  more:
    - three
- - four
-
- {}
- |
  text # no comment
tail: 'multi
  line'
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("metadata",), "1:1 metadata"),
        (("metadata", "name"), "2:9 web"),
        (("metadata", "labels"), "3:3 labels"),
        (("metadata", "labels", "app"), '3:17 "web"'),
        # A value that is not there is shown by its key.
        (("metadata", "labels", "tier"), "3:24 tier"),
        (("metadata", "empty"), "4:3 empty"),
        (("spec",), "5:1 spec"),
        (("spec", 0), "6:3 one"),
        # An item that is a collection is shown by its first scalar.
        (("spec", 1), "7:3 key"),
        (("spec", 1, "more", 0), "11:7 three"),
        (("spec", 2), "12:5 four"),
        (("spec", 3), "13:1 -"),
        (("spec", 4), "14:3 {}"),
        (("spec", 5), "15:3 |"),
        # Of what takes more than a line, the first.
        (("tail",), "17:7 'multi"),
        # What does not exist is shown by the nearest that does.
        (("metadata", "namespace"), "1:1 metadata"),
        (("spec", 1, "more", 7, "x"), "10:3 more"),
        (("spec", 1, 0), "7:3 key"),
        (("metadata", "name", "x"), "2:9 web"),
        (("nowhere",), "1:1 metadata:  # about it"),
        ((), "1:1 metadata:  # about it"),
    ],
)
def test_locate(path: Path, place: str) -> None:
    assert shown(TEXT, path) == place


def test_locate_keys() -> None:
    assert shown(TEXT, ("metadata", "name"), key=True) == "2:3 name"
    assert shown(TEXT, ("spec", 1, "key"), key=True) == "7:3 key"
    assert shown(TEXT, ("spec", 0), key=True) == "6:3 one"


def test_lines_are_those_of_the_file() -> None:
    assert doc(TEXT, 100).locate(("metadata", "name")) == Span(102, 9, 102, 12)
    assert doc("", 100).locate(("metadata",)) == Span(101, 1, 101, 1)
    assert doc("a: [\n", 100).locate(("a",)) == Span(101, 1, 101, 1)


@pytest.mark.parametrize(
    ("path", "span"),
    [
        (("metadata",), (1, 1, 4, 9)),
        (("metadata", "name"), (2, 3, 2, 12)),
        (("metadata", "labels"), (3, 3, 3, 31)),
        (("spec",), (5, 1, 16, 20)),
        (("spec", 1), (7, 3, 11, 12)),
        (("spec", 1, "more"), (10, 3, 11, 12)),
        (("spec", 5), (15, 3, 16, 20)),
        (("tail",), (17, 1, 18, 8)),
        ((), (1, 1, 18, 8)),
    ],
)
def test_extent_is_from_the_key_to_the_last_character(path: Path, span: tuple[int, int, int, int]) -> None:
    assert doc(TEXT).extent(path) == span


def test_extent_leaves_out_the_comments_behind_a_block() -> None:
    text = "a:\n  b: 1  # on b\n  # still indented\n\n# not indented\nc: 2\n"
    assert doc(text).extent(("a",)) == Span(1, 1, 2, 7)


def test_extent_of_an_alias_is_its_line() -> None:
    text = "x: &x\n  a: 1\nv: *x\nw:\n  z: *x\n"
    assert doc(text).extent(("v",)) == Span(3, 1, 3, 2)
    assert doc(text).extent(("w",)) == Span(4, 1, 5, 8)


@pytest.mark.parametrize(
    ("text", "path", "end"),
    [
        ("a: &v [x]\nb: 1\nc: *v\n", (), (3, 6)),
        ("a: &v [x]\nb: 1\nc: *v  # about *it\n# *more\n", (), (3, 6)),
        ("a: &v [x]\nb: *v\nc: *v", (), (3, 6)),
        ("a: &v\n  x: 1\n\n? c # *it\n: *v\nd: 1\n", (), (6, 5)),
        ("a: &v\n  x: 1\n\n? c # *it\n: *v\n", (), (5, 5)),
        ("- &v {a: &w 1}\n- 2\n- *v\n-   *w\n\n", (), (4, 7)),
        ("- - &v 1\n  - *v\n- 3\n", (0,), (2, 7)),
        ("x: &v\n  y: &w 1\n  z: *w\nt: 1\n", ("x",), (3, 8)),
        ("k: &k a\n*k : 1\nb: &v 1\nc: *k\n", (), (4, 6)),
        ("a: &v |\n  text\n\nb: *v\n", (), (4, 6)),
    ],
)
def test_extent_of_a_value_that_ends_in_an_alias_includes_the_alias(text: str, path: Path, end: tuple[int, int]) -> None:
    document = doc(text)
    assert document.problem is None
    assert document.extent(path)[2:] == end


def test_raw_gives_a_scalar_as_it_is_written() -> None:
    document = doc("a: 010\nb: 'yes'\nc: {d: ~}\ne: |\n  f\n")
    assert [document.raw((key,)) for key in "abcex"] == ["010", "yes", None, "f\n", None]
    assert document.raw(("c", "d")) == "~"
    assert [document.is_plain((key,)) for key in "abcex"] == [True, False, False, False, False]


def test_node_lines_cover_every_key_and_item() -> None:
    text = "a:\n  b: 1\n  c:\n  - d\n  - e: 1\n    f: 2\n"
    assert sorted(doc(text).node_lines()) == [
        (1, 1, 6), (2, 3, 2), (3, 3, 6), (4, 5, 4), (5, 5, 5), (5, 5, 6), (6, 5, 6),
    ]  # fmt: skip


def test_node_lines_of_aliases_stay_where_the_alias_is() -> None:
    assert sorted(doc("x: &x\n  a: 1\nv: *x\n").node_lines()) == [(1, 1, 2), (2, 3, 2), (3, 1, 3)]


def test_scalar_spans_are_those_in_which_a_hash_is_text() -> None:
    text = 'a: \'b # c\'\nd: plain # comment\ne: | # comment\n  # text\n  f\n# comment\n"g": "h\n  # i"\n'
    assert sorted(doc(text).scalar_spans()) == [(1, 4, 1, 11), (4, 1, 5, 4), (7, 1, 7, 4), (7, 6, 8, 7)]


# Depth, length, size.


def nested(style: str, depth: int) -> str:
    if style == "block":
        return "".join(" " * level + "a:\n" for level in range(depth))
    opening, closing = {"list": ("[", "]"), "map": ("{a: ", "}"), "compact": ("- ", ""), "keys": ("? ", "")}[style]
    return opening * depth + "x" + closing * depth


@pytest.mark.parametrize("style", ["block", "list", "map", "compact"])
def test_sensible_nesting_is_read(style: str) -> None:
    value = data(nested(style, MAX_DEPTH - 1))
    for _ in range(MAX_DEPTH - 1):
        assert value
        value = value[0] if isinstance(value, list) else value["a"]


@pytest.mark.parametrize("anchored", ["", "&x "])
@pytest.mark.parametrize("style", ["block", "list", "map", "compact", "keys"])
@pytest.mark.parametrize("depth", [2_000, 20_000])
def test_senseless_nesting_is_a_problem_at_its_place(style: str, depth: int, anchored: str) -> None:
    if style == "block":
        depth = 2_000  # The text grows with the square of it.
    message, line, column = fault(anchored + nested(style, depth) if style in ("list", "map") else nested(style, depth))
    assert message == f"nested more than {MAX_DEPTH} levels deep"
    assert line * column > MAX_DEPTH


def test_depth_does_not_depend_on_the_kind_of_line_break() -> None:
    for newline in ("\r", "\x85", "\u2028"):
        assert "levels deep" in fault(newline.join(" " * level + "a:" for level in range(2_000)))[0]


def test_long_lines_and_many_brackets_are_read() -> None:
    assert data("a: " + "x" * 100_000) == {"a": "x" * 100_000}
    assert data("a: '" + "[" * 100_000 + "'") == {"a": "[" * 100_000}
    assert data("a: [" + "[x]," * 10_000 + "]")["a"] == [["x"]] * 10_000
    assert data("a: b #" + " - " * 10_000) == {"a": "b"}


def test_a_document_of_too_many_nodes_is_a_problem() -> None:
    assert fault("[" + "1," * 2_000_001 + "]")[0].startswith("the document is too large")


def test_a_large_text_is_not_always_a_large_document() -> None:
    assert len(data("a: " + "x" * 3_000_000)["a"]) == 3_000_000


def test_when_memory_runs_out_that_is_a_problem_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(_raw: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(parser, "compose", exhausted)
    assert fault("a: &b 1") == ("the document needs more memory than is available", 1, 1)


# Long Lists are read item by item, with the same result.

ITEM = """\
kind: Pod
metadata:
  name: web{number}
  labels: {{app: "w\u00e9b"}}
  annotations:
    text: |
      # {filler}
"""


def long_list(style: str) -> str:
    filler = "x" * 1000
    items = [ITEM.format(number=number, filler=filler) for number in range(1100)]
    if style.startswith("json"):
        whole = {"apiVersion": "v1", "items": [data(item) for item in items], "kind": "List"}
        return json.dumps(whole, indent=None if style == "json line" else 2, ensure_ascii=False)
    indent = "  " if style == "indented" else ""
    listed = "".join(f"{indent}- " + item.replace("\n", f"\n{indent}  ").rstrip(" ") for item in items)
    return f"apiVersion: v1\nitems:\n{listed}kind: List\n# the end\n".replace("\n", "\r\n" if style == "crlf" else "\n")


@pytest.mark.parametrize("style", ["yaml", "indented", "crlf", "json", "json line"])
def test_a_long_list_reads_as_if_it_were_short(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = long_list(style)
    long = doc(text, 5)
    monkeypatch.setattr(reading, "_LONG", 10**9)
    short = doc(text, 5)
    assert type(long).__name__ == "ListDocument"
    assert type(short) is Document
    assert long.data == short.data
    for number in (0, 7, 1099):
        for path in [(), ("metadata",), ("metadata", "name"), ("metadata", "labels", "app"), ("metadata", "nothing")]:
            whole: Path = ("items", number, *path)
            assert long.locate(whole) == short.locate(whole)
            assert long.locate(whole, key=True) == short.locate(whole, key=True)
            assert long.raw(whole) == short.raw(whole)
            assert long.extent(whole) == short.extent(whole)
    assert long.locate(("apiVersion",)) == short.locate(("apiVersion",))
    if not style.startswith("json"):
        assert long.locate(("kind",)) == short.locate(("kind",))
        assert sorted(long.node_lines()) == sorted(short.node_lines())
        assert sorted(long.scalar_spans()) == sorted(short.scalar_spans())


def test_a_long_list_keeps_its_repeated_keys_and_anchors() -> None:
    text = long_list("yaml").replace("name: web7\n", "name: &n web7\n    namespace: *n\n    name: again\n")
    document = doc(text)
    assert type(document).__name__ == "ListDocument"
    assert [each.path for each in document.duplicates] == [("items", 7, "metadata", "name")]
    assert document.data["items"][7]["metadata"]["namespace"] == "web7"
    assert document.locate(("items", 7, "metadata", "namespace")) == document.duplicates[0].first._replace(column=14, end_column=18)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("name: web7\n", "name: 'web7\n- x'\n"),
        lambda text: text.replace("name: web7\n", "name: &n web7\n").replace("name: web9\n", "name: *n\n"),
        lambda text: text.replace("kind: List", "items: []"),
    ],
    ids=["a quote across the cut", "an anchor in another item", "items twice"],
)
def test_a_long_list_that_cannot_be_cut_is_read_whole(change: Any) -> None:
    document = doc(change(long_list("yaml")))
    assert type(document) is Document
    assert document.problem is None


def test_a_fault_in_a_long_list_is_found_at_its_place() -> None:
    text = long_list("yaml").replace("name: web7\n", "name: [web7\n")
    line = text[: text.index("[web7")].count("\n") + 1
    assert fault(text)[1] == line
    assert "null key" in fault(long_list("json").replace('"name": "web7"', "~: 1"))[0]


# Whatever the data and however it is written.


@settings(max_examples=150)
@given(st.data())
def test_data_comes_back_and_every_scalar_is_where_it_was_put(draw: st.DataObject) -> None:
    value = draw.draw(documents)
    newline = draw.draw(st.sampled_from(["\n", "\r\n"]))
    before = newline.join(draw.draw(st.sampled_from([[], ["# first"], ["a: \u00e9", "b: [1, 2]"], ["%"]])))
    head = (before + newline if before else "") + draw.draw(st.sampled_from(["---", "--- # \U0001f600"])) + newline
    line = head.count("\n")
    emitter = Emitter(draw.draw, newline, line + 1)
    text = head + emitter.document(value)
    encoding = draw.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    *_, (piece, found_line, problem) = split(to_utf8(text.encode(encoding)))
    document = read(piece, 1, found_line)
    assert (problem, document.problem, found_line) == (None, None, line)
    assert document.data == value
    assert {path: document.locate(path) for path in emitter.values} == emitter.values
    assert {path: document.locate(path, key=True) for path in emitter.keys} == emitter.keys


@settings(max_examples=300)
@given(st.text(alphabet="ab:-?&*!|>'\"[]{},#%@~<\n\r\t \u2028\u0085\u00e9\ufeff\0\\.0", max_size=60), st.booleans())
def test_no_text_whatever_is_too_much(text: str, json_like: bool) -> None:
    raw = ("{" + text if json_like else text).encode()
    lines = text.count("\n") + text.count("\r") + 1
    for piece, line, _ in split(raw):
        document = read(piece, 0, line)
        spans = [document.locate(path) for path in [(), ("a",), (0,), ("a", "b", 0)]] + [document.extent(())]
        spans += [each.span for each in document.duplicates] + [*document.scalar_spans()]
        spans += [document.problem.span] if document.problem else []
        for span in spans:
            assert 1 <= span.line <= span.end_line <= lines + 1
            assert span.column >= 1
        for start, column, end in document.node_lines():
            assert 1 <= start <= end <= lines + 1
            assert column >= 1
        assert document.problem is None or document.data is None
