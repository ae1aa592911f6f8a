"""Documents that are read twice are parsed once, as far as they fit."""

from afflint.inventory.source_objects import RecentDocuments

POD, LONG = b"kind: Pod\n", b"kind: Pod # with a long comment\n"


def test_the_second_reading_returns_the_same_document_and_forgets_it() -> None:
    recent = RecentDocuments()
    first = recent.read(POD, 0, 1)
    assert first.data == {"kind": "Pod"}
    assert recent.read(POD, 0, 1) is first
    assert recent.read(POD, 0, 1) is not first


def test_a_document_at_another_place_is_another_one() -> None:
    recent = RecentDocuments()
    first = recent.read(POD, 0, 1)
    assert recent.read(POD, 1, 1).index == 1
    assert recent.read(POD, 0, 9).line == 9
    assert recent.read(POD, 0, 1) is first


def test_only_a_number_of_bytes_is_kept() -> None:
    recent = RecentDocuments(most=len(POD))
    long, short = recent.read(LONG, 0, 1), recent.read(POD, 1, 2)
    assert recent.read(LONG, 0, 1) is not long
    assert recent.read(POD, 1, 2) is short
    again = recent.read(POD, 1, 2)
    assert recent.read(POD, 1, 2) is again, "what was read twice makes room"
