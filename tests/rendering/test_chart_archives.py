"""The templates of packed charts are read without unpacking them, whatever an archive contains."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from afflint.rendering import chart_archives
from afflint.rendering.chart_archives import packed_templates


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
    monkeypatch.setattr(chart_archives, "_MOST_UNPACKED", 1 << 20)
    first = ("web/templates/a.yaml", tarfile.REGTYPE, b"a")
    bomb = ("web/bomb", tarfile.REGTYPE, b"\0" * (8 << 20))
    assert texts(pack(tmp_path / "a.tgz", first, bomb, ("web/templates/b.yaml", tarfile.REGTYPE, b"b"))) == ["a"]


BROKEN = {
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
