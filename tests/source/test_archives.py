"""Archives as Python and Git write them, and hostile ones, whose reading is bounded."""

import contextlib
import gzip
import io
import sys
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.source.archives import ArchiveBudget, ArchiveError, files_in


def packed(files: list[tuple[str, bytes]], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return an archive as Python writes it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=form) as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(data.getvalue(), mtime=0)


def header(name: str, kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(format=tarfile.USTAR_FORMAT)


def extended(content: bytes) -> bytes:
    """Return a packed archive of one file after an extended header with some content."""
    padding = b"\0" * (-len(content) % 512)
    return gzip.compress(header("c/x", b"x", len(content)) + content + padding + header("c/Chart.yaml", b"0", 0) + b"\0" * 1024, mtime=0)


names = st.text(st.characters(min_codepoint=33, exclude_categories=("Cs",)), min_size=1, max_size=300).filter(
    lambda name: not name.endswith("/")
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(names, st.binary(max_size=2000)), max_size=5), st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
def test_it_reads_what_python_writes(files: list[tuple[str, bytes]], form: int) -> None:
    assert [tuple(each) for each in files_in(packed(files, form), ArchiveBudget())] == files


def test_links_devices_folders_and_sparse_files_are_left_out() -> None:
    members = b"".join(header(f"c/{kind.decode()}", kind, 0) for kind in (b"1", b"2", b"3", b"4", b"5", b"6", b"S", b"Z"))
    data = gzip.compress(members + header("c/old/", b"\0", 0) + header("c/a.yaml", b"7", 0) + b"\0" * 1024)
    assert [each.name for each in files_in(data, ArchiveBudget())] == ["c/a.yaml"]


def steps(function: Callable[[], object]) -> int:
    """Return how many calls and lines Python executes for a function."""
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "content", [b"1" * 60_000, b"1" * 19 + b" ", b"9 a=b\n" * 9_000, b" " * 60_000, b"=" * 60_000, b"-1 a=b\n", b"0 a=b\n"]
)
def test_a_hostile_extended_header_is_refused_without_a_search(content: bytes) -> None:
    def read() -> None:
        with pytest.raises(ArchiveError, match="extended header"):
            list(files_in(extended(content), ArchiveBudget()))

    assert steps(read) < 4_000


def test_an_extended_header_of_five_megabytes_in_five_kilobytes_is_refused() -> None:
    data = extended(b"1" * 5_000_000)
    assert len(data) < 6_000
    with pytest.raises(ArchiveError, match="a header is too large"):
        list(files_in(data, ArchiveBudget()))


def test_extended_headers_that_follow_each_other_are_refused() -> None:
    record = b"9 a=bcd\n\n"[:8]
    one = header("c/x", b"x", len(record)) + record.ljust(512, b"\0")
    with pytest.raises(ArchiveError):
        list(files_in(gzip.compress(one * 3000, mtime=0), ArchiveBudget()))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"no archive", "Not a gzipped file"),
        (gzip.compress(b"no archive", mtime=0), "not an archive"),
        (gzip.compress(header("a", b"0", 1000) + b"a", mtime=0), "incomplete"),
        (gzip.compress(header("a", b"0", 0), mtime=0)[:30], "ended before the end-of-stream marker"),
        (gzip.compress(b"\0" * 512 + header("a", b"0", 0), mtime=0), "a header is empty"),
        (gzip.compress(b"a" * 156 + b"0" + b"\xff" * 400, mtime=0), "not an archive"),
        (packed([("a", b"0" * 5000)]), "too large"),
        (packed([(str(number), b"") for number in range(4)]), "too many files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_an_archive_or_too_large_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason):
        list(files_in(data, ArchiveBudget(5000, 3)))


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_damaged_archive_raises_nothing_else(data: st.DataObject) -> None:
    whole = bytearray(gzip.decompress(packed([("c/Chart.yaml", b"name: c"), ("c/" + "a" * 200, b"x")])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArchiveError):
        list(files_in(gzip.compress(bytes(whole), 1), ArchiveBudget()))
