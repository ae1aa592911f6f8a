"""Symbolic edits as edits of the text, and where there are none because more than was meant would change."""

from __future__ import annotations

from afflint.edits import Rename, Replace, SymbolicEdit
from afflint.findings import Edit, Span
from afflint.reading import documents
from afflint.reading.editing import resolve


def offered(text: str, edit: SymbolicEdit, *, line: int = 0) -> Edit | None:
    """The one edit of the text that does this."""
    document = documents.read(text.encode(), 0, line)
    assert document.problem is None
    edits = resolve(document, [edit])
    if edits is None:
        return None
    (only,) = edits
    return only


def test_scalars_that_stand_alone() -> None:
    text = "a: one\nb: 'two'\nc: &c three\nd: *c\ne: !!str four\nf: >\n  five\ng: six\n  seven\nh: &h {i: eight}\nj: *h\n&k l: nine\n"
    paths = [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("h", "i"), ("j", "i"), ("l",)]
    assert [path for path in paths if offered(text, Replace(path, "x"))] == [("a",), ("b",), ("l",)]
    assert [path for path in paths if not offered(text, Rename(path, "x"))] == [("h", "i"), ("j", "i"), ("l",)]
    assert offered(text, Replace(("a",), "x")) == Edit(Span(1, 4, 1, 7), "x")
    assert offered(text, Replace(("b",), "x")) == Edit(Span(2, 4, 2, 9), "'x'")


def test_a_document_further_down_in_its_file() -> None:
    assert offered("a: one\n", Replace(("a",), "x"), line=100) == Edit(Span(101, 4, 101, 7), "x")
