"""Diffs: `patch` makes the one text of the other, whatever they hold, and little is shown of what is the same."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from afflint.cli.fixes import unified

_texts = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "- d\n", "\n"]), max_size=40).map("".join)


def patched(text: str, diff: list[str]) -> str:
    """What ``patch`` makes of a text."""
    lines = text.split("\n")
    old = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    new: list[str] = []
    at = 0
    for entry in diff[2:]:
        if entry.startswith("@@"):
            start, _, length = entry.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            new += old[at:first]
            at = first
            continue
        line = entry[1:].removesuffix("\n\\ No newline at end of file\n")
        if entry[0] in " -":
            assert old[at] == line
            at += 1
        if entry[0] in " +":
            new.append(line)
    return "".join([*new, *old[at:]])


@given(_texts, _texts, st.sampled_from(["", "x"]), st.sampled_from(["", "x"]))
def test_a_diff_makes_the_one_of_the_other(before: str, after: str, end: str, other_end: str) -> None:
    before, after = before + end, after + other_end
    diff = list(unified("a.yaml", before, after))
    assert (diff == []) == (before == after)
    if diff:
        assert diff[:2] == ["--- a.yaml\n", "+++ a.yaml\n"]
        assert patched(before, diff) == after


def test_it_is_that_of_difflib_where_changes_are_few() -> None:
    before = [f"line {number}\n" for number in range(200)]
    after = [*before[:20], "new\n", *before[20:90], "other\n", *before[95:199]]
    assert list(unified("a", "".join(before), "".join(after))) == list(difflib.unified_diff(before, after, "a", "a"))


def test_many_changes_take_no_longer_than_they_are_many() -> None:
    """A file of as many lines takes difflib minutes."""
    before = "".join(f"key: {number}\nsame: 1\nlines: 2\nall: 3\nthe: 4\nway: 5\nalong: 6\n" for number in range(20_000))
    diff = list(unified("a", before, before.replace("key: ", "name: ")))
    assert sum(line.startswith("+name") for line in diff) == 20_000
