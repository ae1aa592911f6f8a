"""Programs are taken from absolute folders on PATH only."""

import os
import sys
from pathlib import Path

import pytest

from afflint.programs.lookup import find_program


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder has a `git`, and so has each folder below it; the one of the user is in `programs`."""
    for name in ("tree/git", "tree/bin/git", "programs/git"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.skipif(os.name == "nt", reason="programs have endings there")
@pytest.mark.parametrize("before", [[], [""], ["."], ["./"], ["bin"], ["..", "../tree"], ["", ".", "bin"], ["/nowhere"]])
def test_entries_that_depend_on_the_current_folder_are_skipped(before: list[str], tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = str(tree.parent / "programs")
    monkeypatch.setenv("PATH", os.pathsep.join([*before, programs]))
    assert find_program("git") == os.path.join(programs, "git")
    monkeypatch.setenv("PATH", os.pathsep.join(before))
    assert find_program("git") is None


@pytest.mark.skipif(os.name == "nt", reason="files have modes elsewhere")
def test_what_cannot_be_run_is_skipped(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, mode in (("folder/git", None), ("file/git", 0o644)):
        path = tree.parent / name
        path.parent.mkdir()
        path.mkdir() if mode is None else path.write_text("")
        path.chmod(mode or 0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tree.parent / name) for name in ("folder", "file", "programs")))
    assert find_program("git") == str(tree.parent / "programs" / "git")


@pytest.mark.skipif(sys.platform == "win32", reason="simulates Windows")
def test_on_windows_endings_are_added_and_the_current_folder_is_not_searched(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "helm.exe").write_text("")
    (tree / "helm.exe").chmod(0o755)
    program = tree.parent / "programs" / "helm.cmd"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setattr("afflint.programs.lookup._WINDOWS", True)
    monkeypatch.setenv("PATHEXT", ".exe;.cmd")
    monkeypatch.setenv("PATH", f".{os.pathsep}{program.parent}")
    assert find_program("helm") == str(program)
    assert find_program("helm.cmd") == str(program)
    assert find_program("git") is None
