"""A finding in rendered output is at the line that has to be edited: after the edit there, nothing is reported."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rendering.planted_mistakes import names, tree
from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

LINE = re.compile(r"\bline (\d+)(?: of ([\w./-]+))?")
"""A line that a message names, with its file if that is another one than that of the finding."""


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")


@pytest.mark.parametrize("name", names())
def test_a_planted_mistake_is_found_at_the_line_to_edit(name: str, project: Path, checking: Checking) -> None:
    planted = tree(name)
    write(planted.files)
    findings = checking.report()["findings"]
    assert [place_of(each) for each in findings] == [each.place for each in planted.mistakes]
    for finding in findings:
        assert_no_line_of_the_output(finding, project)
        planted = planted.with_correction(place_of(finding))
    for each in project.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    write(planted.files)
    corrected = checking.report()
    assert [place_of(each) for each in corrected["findings"]] == []
    assert corrected["summary"]["rendered"]["failed"] == []


def test_each_tree_has_a_mistake() -> None:
    assert len(names()) >= 30
    assert [name for name in names() if not tree(name).mistakes] == []


def place_of(finding: dict[str, Any]) -> str:
    return f"{finding['file']}:{finding['line']}:{finding['column']} {finding['rule']}"


def assert_no_line_of_the_output(finding: dict[str, Any], project: Path) -> None:
    """Each line that a message names is one of the file."""
    for number, file in LINE.findall(finding["message"]):
        assert int(number) <= len((project / (file or finding["file"])).read_text("utf-8").splitlines()), finding["message"]
