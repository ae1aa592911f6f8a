"""The index of Git, as Git itself writes it."""

import random
import subprocess
from pathlib import Path

import pytest

from afflint.source.git_index import _names, tracks_files_in
from git_history import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "repository")
    made.write({".cache/charts/index/a.json": "{}", ".cached/a": "", "sub/.cache2/a": "", "web.yaml": "", f"{'deep/' * 30}{'x' * 200}": ""})
    made.commit()
    return made


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_names_of_all_versions(history: History, version: int) -> None:
    if version == 3:  # Git chooses it for files with further flags.
        (history.root / "new").write_text("")
        subprocess.run(["git", "add", "--intent-to-add", "new"], cwd=history.root, check=True)
    else:
        subprocess.run(["git", "update-index", "--force-write-index", f"--index-version={version}"], cwd=history.root, check=True)
    index = (history.root / ".git" / "index").read_bytes()
    assert index[7] == version
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=history.root, check=True, capture_output=True).stdout
    assert [*_names(index)] == tracked.split(b"\0")[:-1]
    for folder, expected in (
        (".cache", True),
        (".cache/charts", True),
        (".cac", False),
        ("cache2", False),
        ("sub/.cache2", True),
        ("", True),
    ):
        assert tracks_files_in(str(history.root / folder)) is expected


def test_a_folder_outside_a_repository_is_not_tracked(tmp_path: Path, history: History) -> None:
    (tmp_path / "link").symlink_to(history.root / ".cache")
    assert tracks_files_in(str(tmp_path / "link"))
    assert not tracks_files_in(str(tmp_path / "cache"))


def test_a_mark_in_the_cache_does_not_hide_the_repository(history: History) -> None:
    (history.root / ".cache" / ".git").mkdir()
    (history.root / ".cache" / ".hg").write_text("")
    assert tracks_files_in(str(history.root / ".cache"))


def test_a_damaged_index_is_read_to_its_end(history: History) -> None:
    good = (history.root / ".git" / "index").read_bytes()
    for seed in range(300):
        draw = random.Random(seed)
        damaged = bytearray(good[: draw.randrange(len(good))] if seed % 2 else good)
        for _ in range(draw.choice([1, 30])):
            if damaged:
                damaged[draw.randrange(len(damaged))] = draw.choice([0, 4, 127, 128, 255])
        assert len([*_names(bytes(damaged))]) <= len(damaged) // 62
