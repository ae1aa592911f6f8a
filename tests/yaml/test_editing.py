"""Symbolic edits become edits of the text that leave the surrounding text as it is, or there is no edit."""

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from emitter import Draw, Emitter, documents, scalars, texts
from hypothesis import event, given, settings
from hypothesis import strategies as st

import rule_pages
from afflint.findings.edits import EditError, Insert, Move, Remove, Rename, Replace, SymbolicEdit, applied, find, is_same
from afflint.findings.finding import Edit, Span
from afflint.findings.paths import Path
from afflint.yaml import documents as yaml
from afflint.yaml import list_reader
from afflint.yaml.editing import resolve
from checkout import ROOT
from edited import edited, stretch


def offered(text: str, *edits: SymbolicEdit, line: int = 0) -> tuple[Edit, ...] | None:
    document = yaml.read(text.encode(), 0, line)
    assert document.problem is None
    return resolve(document, edits)


def fixed(text: str, *edits: SymbolicEdit) -> str | None:
    """The text with these edits made; None where they are not offered."""
    text = textwrap.dedent(text)
    found = offered(text, *edits)
    return None if found is None else edited(text, found)


def became(before: str, edit: SymbolicEdit, after: str) -> bool:
    return fixed(before, edit) == textwrap.dedent(after)


class TestOneWord:
    """A scalar or a key that is one word is replaced in place; nothing is read again for that."""

    def test_scalars_of_one_word(self) -> None:
        text = "a: one\nb: 'two'\nc: &c three\nd: *c\ne: !!str four\nf: >\n  five\ng: six\n  seven\nh: &h {i: eight}\nj: *h\n&k l: nine\n"
        paths = [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("h", "i"), ("j", "i"), ("l",)]
        assert [path for path in paths if offered(text, Replace(path, "x"))] == [("a",), ("b",), ("l",)]
        assert [path for path in paths if not offered(text, Rename(path, "x"))] == [("h", "i"), ("j", "i"), ("l",)]
        assert offered(text, Replace(("a",), "x")) == (Edit(Span(1, 4, 1, 7), "x"),)
        assert offered(text, Replace(("b",), "x")) == (Edit(Span(2, 4, 2, 9), "'x'"),)

    def test_a_document_further_down_in_its_file(self) -> None:
        assert offered("a: one\n", Replace(("a",), "x"), line=100) == (Edit(Span(101, 4, 101, 7), "x"),)

    @pytest.mark.parametrize(
        "written, value, text",
        [
            ("one", "two", "two"),
            ("'one'", "it's", "'it''s'"),
            ('"one"', 'say "no"', '"say \\"no\\""'),
            ("5", "5", '"5"'),
            ("yes", "yes", '"yes"'),
            ("1_000", "1_000", '"1_000"'),
            ("1e3", "1e3", '"1e3"'),
            ("one", "true", '"true"'),
            ("one", "null", '"null"'),
            ("one", "", '""'),
            ("one", "- a", '"- a"'),
            ("one", "a: b", '"a: b"'),
            ("one", "a #b", '"a #b"'),
            ("one", "a:b", "a:b"),
            ("one", "2024-01-01", '"2024-01-01"'),
            ("one", "12:30", '"12:30"'),
            ("one", "1.27-alpine", "1.27-alpine"),
            ("one", "<<", '"<<"'),
            ("one", "two\nlines", '"two\\nlines"'),
            ("'one'", "two\nlines", '"two\\nlines"'),
            ("one", "bell \x07", '"bell \\u0007"'),
            ("one", "\u00a0", '"\\u00a0"'),
            ("one", "\U000f0000", '"\U000f0000"'),
            ('"5"', 5, "5"),
            ("'yes'", True, "true"),
            ("one", None, "null"),
            ("one", 0.5, "0.5"),
        ],
    )
    def test_quotes_stay_or_come_where_the_value_needs_them(self, written: str, value: object, text: str) -> None:
        assert fixed(f"a: {written}  # why\n", Replace(("a",), value)) == f"a: {text}  # why\n"
        assert yaml.read(f"a: {text}\n".encode(), 0, 0).data == {"a": value}

    def test_between_braces(self) -> None:
        assert fixed("{a: one}", Replace(("a",), "x:y")) == '{a: "x:y"}'
        assert fixed('{"a": 5}', Replace(("a",), "five")) == '{"a": "five"}'
        assert fixed('{"a": ["b", 5]}', Replace(("a", 1), "five")) == '{"a": ["b", "five"]}'

    def test_a_value_without_text(self) -> None:
        assert fixed("a: one\n", Replace(("a",), "\ud800")) is None
        assert fixed("a: one\n", Replace(("a",), float("nan"))) is None

    def test_keys(self) -> None:
        assert fixed("'a': one\n", Rename(("a",), "b")) == "'b': one\n"
        assert fixed("a: one\n", Rename(("a",), "true")) == '"true": one\n'
        assert fixed("a: one\nb: two\n", Rename(("a",), "b")) is None
        assert fixed("a: one\na: two\n", Rename(("a",), "b")) is None, "the other one would stay"
        assert fixed("a: one\n", Rename(("a",), "k" * 2000)) is None


class TestInsert:
    def test_in_the_indentation_of_the_map(self) -> None:
        assert became(
            """\
            metadata:
                labels:
                    app: web  # the shop
                    # tier: front
            spec: {}
            """,
            Insert(("metadata", "labels"), "tier", "true"),
            """\
            metadata:
                labels:
                    app: web  # the shop
                    tier: "true"
                    # tier: front
            spec: {}
            """,
        )

    def test_what_is_missing_above_is_made_where_it_belongs(self) -> None:
        assert became(
            """\
            spec:
              template:
                # what runs
                spec:
                  containers: []
            """,
            Insert(("spec", "template", "metadata", "labels"), "app", "web", before="spec"),
            """\
            spec:
              template:
                metadata:
                  labels:
                    app: web
                # what runs
                spec:
                  containers: []
            """,
        )

    @pytest.mark.parametrize("nothing", ["", " {}", " null", " ~"])
    def test_into_what_is_empty(self, nothing: str) -> None:
        assert fixed(f"metadata:\n  labels:{nothing}\n", Insert(("metadata", "labels"), "app", "web")) == (
            "metadata:\n  labels:\n    app: web\n"
        )
        assert fixed(f"metadata:\n  labels:{nothing}  # none\n", Insert(("metadata", "labels"), "app", "web")) == (
            "metadata:\n  labels:  # none\n    app: web\n"
        )
        assert fixed(f"metadata: {{labels:{nothing or ' '}}}\n", Insert(("metadata", "labels"), "app", "web")) == (
            "metadata: {labels: {app: web}}\n"
        )
        assert fixed(f"items:\n  -{nothing}\n", Insert(("items", 0), "app", "web")) == "items:\n  - app: web\n"

    def test_between_braces(self) -> None:
        assert fixed("labels: {app: web}  # all\n", Insert(("labels",), "tier", "x:y")) == 'labels: {app: web, tier: "x:y"}  # all\n'
        assert fixed("labels: {app: web}\n", Insert(("labels",), "A?", "b")) == 'labels: {app: web, "A?": b}\n'
        assert fixed("labels: {app: web}\n", Insert(("labels",), "tier", "front", before="app")) == "labels: {tier: front, app: web}\n"
        assert fixed("labels: {app: web,}\n", Insert(("labels",), "tier", "front")) is None

    def test_a_first_key_behind_a_dash(self) -> None:
        assert fixed("- name: a\n  image: b\n", Insert((0,), "kind", "c", before="name")) == "- kind: c\n  name: a\n  image: b\n"

    def test_a_list_has_its_dashes_where_the_others_have_theirs(self) -> None:
        values = {"terms": [{"key": "a", "values": ["b", "c"]}, "d"]}
        assert fixed("a:\n- x\nb:\n  c: y\n", Insert(("b",), "d", values)) == (
            "a:\n- x\nb:\n  c: y\n  d:\n    terms:\n    - key: a\n      values:\n      - b\n      - c\n    - d\n"
        )
        assert fixed("a:\n  - x\n", Insert((), "b", ["c"])) == "a:\n  - x\nb:\n  - c\n"

    def test_items(self) -> None:
        assert became(
            """\
            spec:
              tolerations:
                # the first
                - key: a
                  effect: NoSchedule

                - key: b
            """,
            Insert(("spec", "tolerations"), 2, {"key": "c", "operator": "Exists"}),
            """\
            spec:
              tolerations:
                # the first
                - key: a
                  effect: NoSchedule

                - key: b
                - key: c
                  operator: Exists
            """,
        )
        assert fixed("- - a\n  - b\n", Insert((0,), 0, "c")) == "- - c\n  - a\n  - b\n"
        assert fixed("values: [a, b]\n", Insert(("values",), 1, "c")) == "values: [a, c, b]\n"

    def test_at_the_end_of_a_file_without_a_last_line_break(self) -> None:
        assert fixed("a: 1", Insert((), "b", 2)) == "a: 1\nb: 2"

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_with_the_line_ends_of_the_file(self, newline: str) -> None:
        text = "a:\n  b: 1\nc: 2\n".replace("\n", newline)
        found = offered(text, Insert(("a",), "d", {"e": 3}), line=10)
        assert found == (Edit(Span(13, 1, 13, 1), f"  d:{newline}    e: 3{newline}"),)

    def test_json(self) -> None:
        labels = {"app": "web", "tier": "front"}
        for indent in (2, 4, None):
            before, after = (
                json.dumps({"metadata": {"name": "web", **more}, "spec": {}}, indent=indent) for more in ({}, {"labels": labels})
            )
            assert fixed(before, Insert(("metadata",), "labels", labels)) == after
        assert fixed('{"a":{"b":1}}', Insert(("a",), "c", [1, "x"])) == '{"a":{"b":1,"c":[1,"x"]}}'

    def test_after_a_block_scalar(self) -> None:
        assert fixed("data:\n  a: |\n    # text\n    x\n\nb: 1\n", Insert(("data",), "c", "d")) == (
            "data:\n  a: |\n    # text\n    x\n  c: d\n\nb: 1\n"
        )
        assert fixed("data:\n  a: |+\n    x\n\nb: 1\n", Insert(("data",), "c", "d")) is None, "the blank line belongs to the text"

    @pytest.mark.parametrize(
        "text",
        [
            "a: &x\n  b: 1\nc: *x\n",
            "a: &x\n  b: 1\nc:\n  <<: *x\n",
            "a:\n  <<: {d: 1, e: 2}\n  b: 1\n",
            "a: !!map\n  b: 1\n",
            "a:\n  b: 1\n  b: 2\n",
            "a:\n  ? b\n  : 1\n",
            "a:\n  b: 1 \u2028\n",
        ],
        ids=[
            "an alias",
            "a merge key",
            "a merge key of its own",
            "a tag",
            "a key twice",
            "an odd key",
            "a line break that editors do not know",
        ],
    )
    def test_where_more_would_change(self, text: str) -> None:
        assert fixed(text, Insert(("a",), "c", 1)) is None

    def test_an_anchor_elsewhere_does_not_matter(self) -> None:
        assert fixed("a: &x 1\nb: *x\nc:\n  d: cat << EOF\n", Insert(("c",), "e", 1)) == "a: &x 1\nb: *x\nc:\n  d: cat << EOF\n  e: 1\n"

    def test_what_is_there_already(self) -> None:
        assert fixed("a:\n  b: 1\n", Insert(("a",), "b", 2)) is None


class TestRemove:
    def test_with_the_comments_directly_above(self) -> None:
        assert became(
            """\
            # the shop
            kind: Pod
            metadata:
              # of the team

              # only for the old cluster
              # and its nodes
              namespace: old  # really
              # who it is
              name: web
            """,
            Remove(("metadata", "namespace")),
            """\
            # the shop
            kind: Pod
            metadata:
              # of the team

              # who it is
              name: web
            """,
        )

    def test_comments_above_the_first_line_belong_to_the_whole_object(self) -> None:
        assert fixed("# the shop\nkind: Pod\nspec: {}\n", Remove(("kind",))) == "# the shop\nspec: {}\n"

    def test_the_last_one(self) -> None:
        text = "metadata:\n  labels:  # few\n    # why\n    app: web\n  name: x\n"
        assert fixed(text, Remove(("metadata", "labels", "app"))) == "metadata:\n  labels: {}  # few\n  name: x\n"
        assert fixed(text, Remove(("metadata", "labels", "app"), prune=True)) == "metadata:\n  name: x\n"
        assert fixed("a:\n- b\n", Remove(("a", 0))) == "a: []\n"
        assert fixed("a:\n- - b\n", Remove(("a", 0, 0))) == "a:\n- []\n"
        assert fixed("a: {b: {c: d}}\n", Remove(("a", "b", "c"))) == "a: {b: {}}\n"
        assert fixed("a: 1\n", Remove(("a",))) is None

    def test_items(self) -> None:
        text = "a:\n  - b: 1\n    c: 2\n  # the second\n  - d: 3\n"
        assert fixed(text, Remove(("a", 0))) == "a:\n  # the second\n  - d: 3\n"
        assert fixed(text, Remove(("a", 1))) == "a:\n  - b: 1\n    c: 2\n"
        assert fixed(text, Remove(("a", 0, "b"))) == "a:\n  - c: 2\n  # the second\n  - d: 3\n"

    def test_between_braces_with_its_comma(self) -> None:
        assert fixed("{a: 1, b: 2, c: 3}", Remove(("a",))) == "{b: 2, c: 3}"
        assert fixed("{a: 1, b: 2, c: 3}", Remove(("c",))) == "{a: 1, b: 2}"
        assert fixed('{\n  "a": [\n    1,\n    2\n  ],\n  "b": 3\n}\n', Remove(("a", 1))) == '{\n  "a": [\n    1\n  ],\n  "b": 3\n}\n'
        assert fixed("a: [\n  1,  # one\n  2\n]\n", Remove(("a", 1))) is None, "whose is the comment?"

    def test_an_anchor_that_is_used(self) -> None:
        assert fixed("a: &x 1\nb: *x\nc: 2\n", Remove(("a",))) is None


class TestMove:
    def test_as_it_was_written(self) -> None:
        assert became(
            """\
            metadata:
              name: web
              labels:
                # who pays
                team: "shop"  # for now
            spec:
                template:
                    spec: {}
            """,
            Move(("metadata", "labels", "team"), ("spec", "template", "metadata", "labels"), prune=True, before="spec"),
            """\
            metadata:
              name: web
            spec:
                template:
                    metadata:
                      labels:
                        # who pays
                        team: "shop"  # for now
                    spec: {}
            """,
        )

    def test_block_scalars_and_comments_inside(self) -> None:
        assert fixed("a:\n  b:\n    c: |\n      x\n\n       y\n    # d\n    e: 'f'\ng: {}\n", Move(("a", "b"), ("g", "h"), "i")) == (
            "a: {}\ng:\n  h:\n    i:\n      c: |\n        x\n\n         y\n      # d\n      e: 'f'\n"
        )

    def test_between_braces(self) -> None:
        assert fixed("a: {b: {c: d}, e: f}\ng:\n  h: 1\n", Move(("a", "b"), ("g",))) == "a: {e: f}\ng:\n  h: 1\n  b:\n    c: d\n"
        assert fixed("a:\n  b:\n    c: 1\n  d: 2\ng: {h: 1}\n", Move(("a", "b"), ("g",))) == "a:\n  d: 2\ng: {h: 1, b: {c: 1}}\n"
        assert fixed("a:\n  b:\n    c: 1  # why\n  d: 2\ng: {h: 1}\n", Move(("a", "b"), ("g",))) is None, "the comment has no place there"

    def test_merging(self) -> None:
        text = "labels:\n  # one\n  a: 'x'\n  b: 'z'\ntemplate:\n  labels:\n    b: z\n"
        after = "template:\n  labels:\n    b: z\n    # one\n    a: 'x'\n"
        assert fixed(text, Move(("labels",), ("template",), merge=True)) == after
        assert fixed("# all\n" + text, Move(("labels",), ("template",), merge=True)) == "# all\n" + after
        assert fixed(text.replace("b: 'z'", "b: 'z'  # why"), Move(("labels",), ("template",), merge=True)) is None, "a comment would go"


def test_edits_are_made_one_after_the_other() -> None:
    home = ("template", "metadata", "labels")
    text = "template:\n  spec: {}\n"
    both = offered(text, Insert(home, "app", "web", before="spec"), Insert(home, "tier", "front", before="spec"))
    assert both == (Edit(Span(2, 1, 2, 1), "  metadata:\n    labels:\n      app: web\n      tier: front\n"),)


LIST = "apiVersion: v1\nitems:\n- kind: Pod\n  metadata:\n    name: a\n- kind: Pod  # b\n  metadata:\n    name: b\nkind: List\n"


class TestItemsOfAList:
    """An item is looked at by itself, as other items do not matter to it and there may be thousands."""

    INSERT = Insert(("items", 1, "metadata", "labels"), "app", "web")

    def test_in_block_style(self) -> None:
        assert offered(LIST, self.INSERT, line=5) == (Edit(Span(14, 1, 14, 1), "    labels:\n      app: web\n"),)
        assert fixed(LIST, Remove(("items", 1, "kind"))) == LIST.replace("- kind: Pod  # b\n  metadata", "- metadata")
        assert fixed(LIST, Remove(("items", 0))) == LIST.replace("- kind: Pod\n  metadata:\n    name: a\n", "")

    @pytest.mark.parametrize("indent", [None, 2])
    def test_in_json(self, indent: int | None) -> None:
        data = yaml.read(LIST.encode(), 0, 0).data
        text = json.dumps(data, indent=indent)
        after = json.dumps(applied(data, [self.INSERT]), indent=indent)
        assert fixed(text, self.INSERT) == after

    @pytest.mark.parametrize("as_json", [False, True])
    def test_of_a_long_one(self, as_json: bool) -> None:
        text = json.dumps(yaml.read(LIST.encode(), 0, 0).data, indent=1) if as_json else LIST
        document = list_reader.read_list(text.encode(), 0, 0)
        assert document is not None
        found = resolve(document, [self.INSERT])
        assert found is not None
        assert found == offered(text, self.INSERT)
        assert resolve(document, [Remove(("items", 1))]) is None, "it is not read again for that"


# Any data, in any style, and any edits.


def paths_in(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in pairs:
        yield from paths_in(below, (*path, step))


_values = st.one_of(
    scalars, st.dictionaries(texts, scalars, max_size=2), st.lists(scalars, max_size=2), st.just({"a": {"b": [{"c": "d"}]}})
)
_keys = st.sampled_from(["metadata", "5", "true", "a: b", "#"]) | texts


def an_edit(draw: Draw, data: Any) -> SymbolicEdit:
    """An edit that makes sense at least for where it begins."""
    paths = list(paths_in(data))
    path = draw(st.sampled_from(paths))
    kind = draw(st.sampled_from([Replace, Rename, Insert, Insert, Insert, Remove, Remove, Move, Move]))
    if kind is Replace:
        return Replace(path, draw(_values))
    if kind is Rename:
        return Rename(path, draw(_keys))
    if kind is Remove:
        return Remove(path, draw(st.booleans()))
    if kind is Move:
        to = draw(st.sampled_from(paths)) + draw(st.sampled_from([(), (), ("new",)]))
        return Move(path, to, draw(st.none() | _keys), merge=draw(st.booleans()), prune=draw(st.booleans()))
    holder = find(data, path)
    if isinstance(holder, list):
        return Insert(path, draw(st.integers(0, len(holder))), draw(_values))
    beside = st.none() | st.sampled_from(list(holder)) if isinstance(holder, dict) and holder else st.none()
    path += draw(st.sampled_from([(), (), ("new",), ("new", 0)]))
    return Insert(path, draw(_keys), draw(_values), draw(beside), draw(beside))


_COMMENT = "# \u00e9 : - ["


@settings(deadline=None, max_examples=200)
@given(documents, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_whatever_is_offered_does_what_was_meant_and_nothing_else(value: Any, newline: str, data: st.DataObject) -> None:
    head = data.draw(st.sampled_from(["", "# first\n---\n", "a: \u00e9\n---\n"]))
    text = Emitter(data.draw, newline, head.count("\n") + 1).document(value)
    edits: list[SymbolicEdit] = []
    intended = value
    for _ in range(data.draw(st.sampled_from([1, 1, 2, 3]))):
        edit = an_edit(data.draw, intended)
        try:
            intended = applied(intended, [edit])
        except EditError:
            continue
        edits.append(edit)
    document = yaml.read(text.encode(), 1, head.count("\n"))
    offered = resolve(document, edits)
    if offered is None:
        event("none")
        return
    event("some")
    assert list(offered) == sorted(offered)
    fixed = edited(head + text, offered)
    assert fixed.startswith(head)
    again = yaml.read(fixed[len(head) :].encode(), 1, head.count("\n"))
    assert (again.problem, again.duplicates) == (None, ())
    assert is_same(again.data, intended)
    if not any(isinstance(edit, Remove) for edit in edits):
        assert fixed.count(_COMMENT) == text.count(_COMMENT)
    if all(isinstance(edit, Insert) for edit in edits):
        gone = {stretch(head + text, edit.span).strip() for edit in offered}
        assert gone <= {"", "{}", "[]", "~", "null", "Null"}


# What people write.


EXAMPLES = [
    document
    for page in sorted((ROOT / "rules").glob("*.md"))
    for example in rule_pages.page(page.stem).examples
    for document in (yaml.read(piece, 0, 0) for piece, _, _ in yaml.split(example.text.encode()))
    # Nothing can be added where text follows that is not read, or where a key is lost already.
    if isinstance(document.data, dict) and document.rest is None and not document.duplicates
]


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(EXAMPLES), st.data())
def test_in_manifests_edits_are_offered_and_comments_stay(document: yaml.Document, data: st.DataObject) -> None:
    edit = an_edit(data.draw, document.data)
    try:
        intended = applied(document.data, [edit])
    except EditError:
        return
    text = document.text()
    found = resolve(document, [edit])
    event(f"{type(edit).__name__} {'none' if found is None else 'some'}")
    if isinstance(edit, Insert) and not _SHARED.search(text) and isinstance(find(document.data, edit.path), dict):
        assert found is not None, "a new key is possible here"
    if found is not None:
        fixed = edited(text, found)
        assert is_same(yaml.read(fixed.encode(), 0, 0).data, intended)
        # The comments in what is removed or replaced go with it.
        if not isinstance(edit, Remove) and not (isinstance(edit, Replace) and isinstance(find(document.data, edit.path), (dict, list))):
            assert fixed.count("#") >= text.count("#")


_SHARED = re.compile("[&*]")
