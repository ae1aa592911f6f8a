"""The generator of pages in docs/: files of the repository, and output of commands."""

import os
import shutil
from pathlib import Path

import pytest
from tools.generate import pages

pytestmark = pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="the commands are for a POSIX shell")


def test_commands_are_read_out_of_a_page() -> None:
    page = "```console\n$ afflint rule\nline\n$ afflint config\n```\n\n```console\n$ pip install afflint\n```\n"
    assert pages.commands_in(page) == ["afflint rule", "afflint config"]


def test_output_of_a_command_is_generated_again(tmp_path: Path) -> None:
    page = "```console\n$ echo one && echo two >&2\nsomething else\n$ exit 1\n```\n"
    assert pages.regenerated(page, tmp_path) == "```console\n$ echo one && echo two >&2\none\ntwo\n$ exit 1\n```\n"
    with pytest.raises(RuntimeError):
        pages.regenerated("```console\n$ exit 2\n```\n", tmp_path)


def test_rendering_is_not_run_without_its_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rendering.real_tools.found_tool", {"kustomize": "/usr/bin/kustomize"}.get)
    page = "```console\n$ echo --render\nas it was\n```\n"
    assert pages.regenerated(page, tmp_path) == page
