"""A cache folder that the author of a tree has filled: ``--cache-dir`` in a CI job often names one in the checkout."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from under_limits import Afflint

from afflint.pipeline.cache import Cache
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.results import ResultEntry
from afflint.rendering.chart_archives import ChartCache, DamagedArchiveError
from afflint.source import folders
from git_history import History

OLD, YOUNG = "a" * 64, "b" * 64


@pytest.fixture(params=["with descriptors", "with paths"])
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The cache folder of a tree, which is the working directory. Beside the tree there is a folder with photos of the user."""
    if request.param == "with paths":
        monkeypatch.setattr(folders, "_BY_DESCRIPTOR", False)
    (tmp_path / "photos").mkdir()
    for name in ("one.jpg", f"{OLD}.tgz", f"{YOUNG}.json"):
        (tmp_path / "photos" / name).write_text("mine" * 10)
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "tree")
    folder = tmp_path / "tree" / ".cache"
    folder.mkdir()
    return folder


def photos(cache: Path) -> list[str]:
    return sorted(os.listdir(cache.parent.parent / "photos"))


def keep() -> None:
    """Store more than fits, so that the cache has to delete something."""
    ChartCache(".cache", most=1).keep(["web"], b"chart")
    Cache(".cache", default_settings()).keep([ResultEntry(b"key", b"text")])


@pytest.mark.parametrize("link", [".cache", "charts", "charts/archives", "charts/index"])
def test_no_link_leads_it_elsewhere(cache: Path, link: str) -> None:
    before = photos(cache)
    place = cache if link == ".cache" else cache / link
    place.parent.mkdir(exist_ok=True)
    if place == cache:
        cache.rmdir()
    place.symlink_to(os.path.relpath(cache.parent.parent / "photos", place.parent))
    keep()
    assert photos(cache) == before
    assert ChartCache(".cache").find(["web"]) is None


def test_nor_does_one_inside_the_tree(cache: Path) -> None:
    (cache.parent / "photos").mkdir()
    (cache.parent / "photos" / f"{OLD}.tgz").write_text("mine")
    (cache / "charts").mkdir()
    (cache / "charts" / "archives").symlink_to("../../photos")
    keep()
    assert os.listdir(cache.parent / "photos") == [f"{OLD}.tgz"]


def test_only_its_own_files_are_deleted(cache: Path) -> None:
    archives = cache / "charts" / "archives"
    archives.mkdir(parents=True)
    for name in ("one.jpg", f"{OLD}.txt", f"{OLD[1:]}.tgz", f"{OLD}.tgz", f"{OLD.upper()}.tgz"):
        (archives / name).write_text("mine" * 10)
    (archives / f"{YOUNG}.tgz").symlink_to("one.jpg")
    (archives / f"{'c' * 64}.tgz").mkdir()
    keep()
    assert sorted(os.listdir(archives)) == sorted(
        ["one.jpg", f"{OLD}.txt", f"{OLD[1:]}.tgz", f"{OLD.upper()}.tgz", f"{YOUNG}.tgz", f"{'c' * 64}.tgz"]
    )


def test_entries_that_are_links_are_not_read(cache: Path) -> None:
    kept = ChartCache(".cache")
    kept.keep(["web"], b"chart")
    for name in ("index", "archives"):
        (entry,) = (cache / "charts" / name).iterdir()
        entry.rename(cache / "moved")
        entry.symlink_to(cache / "moved")
        try:
            assert kept.find(["web"]) is None
        except DamagedArchiveError:
            assert name == "archives"
        entry.unlink()
        (cache / "moved").rename(entry)
    assert kept.find(["web"]) == b"chart"


@pytest.mark.parametrize("text", ["[" * 60_000, '{"a":' * 60_000, "9" * 100_000, "\udcff", "nul"])
def test_damage_is_not_an_internal_error(cache: Path, text: str) -> None:
    kept = ChartCache(".cache")
    kept.keep(["web"], b"chart")
    (entry,) = (cache / "charts" / "index").iterdir()
    entry.write_bytes(text.encode("utf-8", "surrogateescape"))
    with suppress(DamagedArchiveError):  # It is fetched again.
        assert kept.find(["web"]) is None
    kept.keep(["web"], b"chart")
    assert kept.find(["web"]) == b"chart"


def test_a_cache_that_git_tracks_gets_a_warning(afflint: Afflint, tmp_path: Path) -> None:
    history = History(tmp_path)
    history.write({"web.yaml": "kind: A\n", ".cache/afflint-results.sqlite": "forged", "fresh/.gitignore": "*\n"})
    history.commit()
    ended = afflint("check", "--no-config", "--fix", "--cache-dir", ".cache", "web.yaml")
    assert (ended.code, ended.err) == (
        0,
        "afflint: warning: Git tracks files in the cache '.cache', so its results may be forged; use another --cache-dir\n",
    )
    assert afflint("check", "--no-config", "--cache-dir", "new", "web.yaml").err == ""
    assert afflint("check", "--no-config", "--cache-dir", ".cache", "--no-cache", "web.yaml").err == ""
