"""Pages in docs/ show current files and the current output of commands.

``python tests/test_pages.py`` rewrites them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import pages

pytestmark = pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="the commands are for a POSIX shell")

PAGES = sorted(path.name for path in pages.DOCS.glob("*.md"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.sandbox(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(name: str, folder: Path) -> None:
    text = (pages.DOCS / name).read_text(encoding="utf-8")
    assert text == pages.made_anew(text, folder), "python tests/test_pages.py rewrites it"


def test_commands_are_read_out_of_a_page() -> None:
    page = "```console\n$ afflint rule\nline\n$ afflint config\n```\n\n```console\n$ pip install afflint\n```\n"
    assert pages.commands_in(page) == ["afflint rule", "afflint config"]


def test_what_a_command_prints_is_made_anew(folder: Path) -> None:
    page = "```console\n$ echo one && echo two >&2\nsomething else\n$ exit 1\n```\n"
    assert pages.made_anew(page, folder) == "```console\n$ echo one && echo two >&2\none\ntwo\n$ exit 1\n```\n"
    with pytest.raises(RuntimeError):
        pages.made_anew("```console\n$ exit 2\n```\n", folder)


def test_rendering_is_not_run_without_its_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "found_tool", {"kustomize": "/usr/bin/kustomize"}.get)
    page = "```console\n$ echo --render\nas it was\n```\n"
    assert pages.made_anew(page, folder) == page


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        examples = pages.sandbox(Path(made))
        for name in sys.argv[1:] or PAGES:
            path = pages.DOCS / name
            path.write_text(pages.made_anew(path.read_text(encoding="utf-8"), examples), encoding="utf-8")
