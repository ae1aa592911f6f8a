"""Packed charts: their templates are read without unpacking them, and unpacking them is safe, whatever an archive contains."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from afflint.rendering import chart_archives
from afflint.rendering.chart_archives import packed_templates, unpack


def pack(file: Path, *members: tuple[str, bytes, bytes]) -> Path:
    """Write an archive of members: name, type, and text or target."""
    with tarfile.open(file, "w:gz") as archive:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind == tarfile.REGTYPE:
                member.size = len(text)
            else:
                member.linkname = text.decode()
            archive.addfile(member, io.BytesIO(text) if kind == tarfile.REGTYPE else None)
    return file


def texts(file: Path) -> list[str]:
    return [*packed_templates(str(file))]


def test_templates_of_a_packed_chart_and_its_subcharts(tmp_path: Path) -> None:
    file = pack(
        tmp_path / "web-1.0.0.tgz",
        ("web/Chart.yaml", tarfile.REGTYPE, b"name: web"),
        ("web/templates/_helpers.tpl", tarfile.REGTYPE, b"one"),
        ("web/charts/db/templates/db.yaml", tarfile.REGTYPE, b"two"),
        ("web/templates/logo.png", tarfile.REGTYPE, b"\x89PNG"),
    )
    assert texts(file) == ["one", "two"]


def test_names_above_the_archive_and_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("secret")
    file = pack(
        tmp_path / "web-1.0.0.tgz",
        ("../templates/out.yaml", tarfile.REGTYPE, b"harmless"),
        ("web/templates/link.yaml", tarfile.SYMTYPE, str(secret).encode()),
        ("web/templates/hard.yaml", tarfile.LNKTYPE, str(secret).encode()),
        ("web/templates/pipe.yaml", tarfile.FIFOTYPE, b""),
    )
    before = sorted(tmp_path.parent.rglob("*"))
    assert texts(file) == ["harmless"]
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_a_template_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    large = ("web/templates/large.yaml", tarfile.REGTYPE, b"a" * ((1 << 20) + 1))
    assert texts(pack(tmp_path / "a.tgz", large, ("web/templates/b.yaml", tarfile.REGTYPE, b"b"))) == ["b"]


def test_an_archive_that_unpacks_to_too_much_is_read_to_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_archives, "MOST_UNPACKED", 1 << 20)
    first = ("web/templates/a.yaml", tarfile.REGTYPE, b"a")
    bomb = ("web/bomb", tarfile.REGTYPE, b"\0" * (8 << 20))
    assert texts(pack(tmp_path / "a.tgz", first, bomb, ("web/templates/b.yaml", tarfile.REGTYPE, b"b"))) == ["a"]


def sparse(size: int) -> bytes:
    """An archive with a file that has no text of its own, but a size."""
    member = tarfile.TarInfo("web/templates/a.yaml")
    described = {"major": "0", "minor": "1", "map": "0,0", "size": str(size), "name": member.name}
    member.pax_headers = {f"GNU.sparse.{key}": value for key, value in described.items()}
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member)
    return data.getvalue()


def test_a_sparse_file_is_left_out(tmp_path: Path) -> None:
    """A few hundred bytes of an archive would otherwise write terabytes of zeros."""
    file = tmp_path / "a.tgz"
    file.write_bytes(sparse(1 << 20))
    assert texts(file) == []
    assert unpacked(file, tmp_path / "to") == []


def long_names() -> bytes:
    """An archive of headers that each belong to the next one, which tarfile reads by recursion."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 4
    return (header.tobuf(format=tarfile.GNU_FORMAT) + b"abc".ljust(512, b"\0")) * 3000


BROKEN = {
    "nested headers": gzip.compress(long_names(), mtime=0),
    "empty": b"",
    "text": b"no archive",
    "packed text": gzip.compress(b"no archive", mtime=0),
    "cut off": gzip.compress(b"\0" * 4096, mtime=0)[:20],
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_archive_has_no_templates(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.tgz"
    file.write_bytes(data)
    assert texts(file) == []


def test_an_archive_that_does_not_exist(tmp_path: Path) -> None:
    assert texts(tmp_path / "none.tgz") == []


def unpacked(file: Path, folder: Path) -> list[str]:
    """The files of an archive in a new folder."""
    folder.mkdir()
    unpack(file.read_bytes(), str(folder))
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir())


def test_a_chart_is_unpacked_without_the_folder_around_it_and_without_links(tmp_path: Path) -> None:
    file = pack(
        tmp_path / "a.tgz",
        ("web/Chart.yaml", tarfile.REGTYPE, b"name: web"),
        ("./web/templates/a.yaml", tarfile.REGTYPE, b"a"),
        ("web/templates/link.yaml", tarfile.SYMTYPE, b"/etc/passwd"),
        ("web/out", tarfile.SYMTYPE, b".."),
        ("web/out/written.yaml", tarfile.REGTYPE, b"b"),
        ("web/templates/hard.yaml", tarfile.LNKTYPE, b"/etc/passwd"),
        ("web/templates/pipe.yaml", tarfile.FIFOTYPE, b""),
    )
    assert unpacked(file, tmp_path / "to") == ["Chart.yaml", os.path.join("out", "written.yaml"), os.path.join("templates", "a.yaml")]
    assert not (tmp_path / "written.yaml").exists()


@pytest.mark.parametrize("name", ["web/../../a", "/web/a", "../a", "a", "web/c:/a", "web/..\\a", "web/\0", "a/" * 1900])
def test_a_name_that_leads_out_of_the_folder_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"is not the name of a file in a chart"):
        unpacked(pack(tmp_path / "a.tgz", (name, tarfile.REGTYPE, b"")), tmp_path / "to")


def test_an_archive_with_too_much_or_too_many_files_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_archives, "MOST_UNPACKED", 1 << 20)
    with pytest.raises(ValueError, match=r"too large"):
        unpacked(pack(tmp_path / "a.tgz", ("web/bomb", tarfile.REGTYPE, b"\0" * (8 << 20))), tmp_path / "to")
    monkeypatch.setattr(chart_archives, "_MOST_FILES", 2)
    with pytest.raises(ValueError, match=r"too many files"):
        unpacked(pack(tmp_path / "b.tgz", *[(f"web/{number}", tarfile.REGTYPE, b"") for number in range(3)]), tmp_path / "other")


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_archive_is_not_unpacked(tmp_path: Path, data: bytes) -> None:
    with pytest.raises((ValueError, OSError)):
        unpack(data, str(tmp_path))
