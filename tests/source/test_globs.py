"""Patterns as in a .gitignore: they match like git, and hostile ones do not take longer than others."""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from afflint.source.globs import Patterns, of_lines, paths_like, pattern
from afflint.source.repositories import is_really_inside
from checkout import clean_environment

FILES = (
    "a",
    "ab",
    "b",
    "a.b",
    "B",
    "[a]",
    "a]b",
    "a-b",
    "-",
    "#a",
    "!a",
    "a b",
    "a ",
    "\\",
    "x/a",
    "x/ab",
    "x/y/a",
    "x/y/z/b",
    "x/y/z/ab",
    "ba/a",
    "ba/x/y/b",
    ".h/a",
)
FOLDERS = sorted({str(above) for name in FILES for above in Path(name).parents} - {"."})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=clean_environment())
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def ignored_by_git(repository: Path, lines: list[str]) -> set[str]:
    (repository / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    asked = "\0".join([*FILES, *FOLDERS]).encode()
    command = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    done = subprocess.run(command, input=asked, capture_output=True, cwd=repository, env=clean_environment(), check=False)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.decode().split("\0")) - {""}


def ignored_by_us(lines: list[str]) -> set[str]:
    """A path is ignored when it is matched, or a folder that it lies in is."""
    patterns = of_lines(lines)
    found = set()
    for name in (*FILES, *FOLDERS):
        parts = name.split("/")
        stations = ["/".join(parts[: number + 1]) for number in range(len(parts))]
        if any(patterns.verdict(each, folder=each in FOLDERS) for each in stations):
            found.add(name)
    return found


PIECES = st.sampled_from(
    [*"abBxyz!#-/*?\\[] .^", "**", "**/", "/**", "/**/", "*a", "[ab]", "[!a]", "[^b]", "[a-z]", "[]a]", "[a-]", "[[:alpha:]]", "\\ ", "\\*"]
)
# Where `**` is only a part of a name, versions of git differ; a slash that is escaped or in brackets is nothing that anybody writes.
LINES = st.lists(
    st.lists(PIECES, min_size=1, max_size=5).map("".join).filter(lambda line: not re.search(r"[^/]\*\*|\*\*[^/]|\\/|\[.*/", line)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
@example(["a/**", "!x", "**/b"])
@example(["x/", "!x/a"])
@example(["x/**/a", "/a"])
@example(["\\#a", "\\!a", "a\\ "])
@example(["[[:upper:][:digit:]]", "[[:bogus:]]"])
@example(["[z-a]", "[!z-a]", "[]", "[a", "\\"])
@example(["a\r", "b \t"])
def test_they_match_the_same_paths_as_in_git(repository: Path, lines: list[str]) -> None:
    assert ignored_by_us(lines) == ignored_by_git(repository, lines)


@pytest.mark.parametrize("nothing", ["", " ", "/", "//", "!", "\\", "a\\", "[z-a]", "[a", "[[:bogus:]]", "a//b"])
def test_text_that_cannot_match_is_not_a_pattern(nothing: str) -> None:
    assert pattern(nothing) is None


def test_a_list_covers_the_content_of_folders_that_it_covers() -> None:
    patterns = Patterns(map(pattern, ["vendor/", "!vendor/ours/", "*.gen.yaml"]))
    assert patterns.covers("vendor/")
    assert patterns.covers("vendor/a/b.yaml")
    assert not patterns.covers("vendor")
    assert not patterns.covers("vendor/ours/a.yaml")
    assert patterns.covers("vendor/ours/a.gen.yaml")
    assert not patterns.covers("a.yaml")


HOSTILE = {
    "stars between letters": ("*a" * 25 + "b", "a" * 60),
    "many more of them": ("*a" * 5_000 + "b", "a" * 20_000),
    "stars between classes": ("*[ab]" * 500 + "c", "ab" * 1_000),
    "double stars between folders": ("**/a/" * 200 + "b", "a/" * 400 + "c"),
    "stars and double stars": ("**/*a*a/" * 100 + "b", "aaaaaa/" * 400 + "c"),
    "question marks and stars": ("?*" * 200 + "b", "a" * 1_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_pattern_that_is_made_to_take_for_ever_does_not(name: str) -> None:
    """In a process of its own, as there is no other way to end a match. The limit of time only turns a hang into a failure."""
    glob, path = HOSTILE[name]
    script = "import sys; from afflint.source.globs import of_lines; print(of_lines([sys.argv[1]]).covers(sys.argv[2]))"
    done = subprocess.run([sys.executable, "-c", script, glob, path], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "False\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/b/c.yaml", "a/c.yaml", "a/.hidden/c.yaml", ".hidden.yaml", "b/c/d/e.yaml", "c.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    "wanted",
    [
        "*.yaml",
        "*/*.yaml",
        "**/*.yaml",
        "**",
        "a/**",
        "**/c*",
        "a/c.yaml",
        "a/*",
        ".*",
        "a/.*/*",
        "**/b/**/*.yaml",
        "[ab]/?.yaml",
        "x*",
        "*",
    ],
)
def test_files_are_found_as_python_finds_them(folder: Path, wanted: str) -> None:
    known = {each.rstrip("/") for each in glob.glob(wanted, root_dir=folder, recursive=True)}
    assert list(paths_like(str(folder), wanted)) == sorted(known - {""})
    assert [each for each in paths_like(str(folder / "a"), f"../{wanted}") if each != ".."] == sorted(f"../{each}" for each in known - {""})


def test_every_folder_is_looked_into_once_whatever_leads_there(folder: Path) -> None:
    deep = folder.joinpath("a", *"a" * 40)
    deep.mkdir(parents=True)
    for name in ("one", "two"):
        (deep / name).symlink_to(folder)
    assert list(paths_like(str(folder), "/".join(["**/a*"] * 20) + "/*.none")) == []
    assert list(paths_like(str(deep), "*/" * 30 + "*.none")) == []


@pytest.mark.skipif(not Path("/proc/self/cwd").is_symlink(), reason="there is no /proc")
def test_the_link_of_a_process_that_has_ended_is_inside_of_no_folder() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_really_inside(f"/proc/{process.pid}/cwd", "/proc")
        assert list(paths_like("/proc", f"{process.pid}/*wd")) == []
