"""docs/wild.md: what is quoted is what afflint says of the public manifests. Needs these manifests beside the checkout.

``python tests/test_wild.py`` rewrites the quotations.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import discover
from checkout import ROOT
from shared_material import SHARED, shared

PAGE = ROOT / "docs" / "wild.md"
_LINK = re.compile(
    r"\]\(https://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<commit>[0-9a-f]{12,40})/(?P<path>[^)#]+)(?:#L(?P<line>\d+))?\)"
)
_QUOTED = re.compile(r"(^```text\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_BLOCKS = {"virtual_hardware.md": (12, 6), "node_assignment.md": (2, 26)}
"""Of pages of documentation: which block, and the line in it."""


class Place(NamedTuple):
    """A line of a public file, and where that file lies in the collection."""

    repository: str
    commit: str
    folder: str
    file: str
    line: int


def places() -> list[Place]:
    """What the page links to, in its order."""
    found = []
    for link in _LINK.finditer(PAGE.read_text(encoding="utf-8")):
        file, line = link["path"], int(link["line"] or 0)
        if not line:
            block, line = _BLOCKS[Path(file).name]
            file = f"{file}.{block}.yaml"
        kept = link["repository"].replace("/", "+")
        folders = [name for name in ("plain", "md", "broken", "nodepools") if (SHARED / "corpus" / name / kept / file).exists()]
        found.append(Place(link["repository"], link["commit"], f"{folders[0] if folders else 'plain'}/{kept}", file, line))
    return found


@cache
def findings(folder: str) -> dict[tuple[str, int], list[str]]:
    """What afflint says of one repository of the collection, by file and line."""
    before = os.getcwd()
    os.chdir(SHARED / "corpus" / folder)
    try:
        outcome = run(list(discover(["."])), default_settings())
    finally:
        os.chdir(before)
    told: dict[tuple[str, int], list[str]] = {}
    for each in outcome.findings:
        told.setdefault((each.file, each.span.line), []).append(f"{each.severity}[{each.rule}]: {each.message}\n")
    return told


def quoted() -> list[str]:
    return [fence[2] for fence in _QUOTED.finditer(PAGE.read_text(encoding="utf-8"))]


def quotations() -> list[str]:
    return ["".join(findings(place.folder).get((place.file, place.line), [])) for place in places()]


def test_what_is_quoted_is_said() -> None:
    shared("corpus")
    assert quoted() == quotations(), "python tests/test_wild.py rewrites it"


def test_everything_quoted_is_a_finding() -> None:
    assert len(quoted()) == len(places())
    assert all(re.match(r"(error|warning)\[[a-z-]+\]: ", each) for each in quoted())


@pytest.mark.parametrize("place", places(), ids=lambda place: place.file)
def test_repository_and_commit_are_those_of_the_collection(place: Place) -> None:
    sources = shared("corpus", "nodepools/SOURCES.md" if place.folder.startswith("nodepools") else "SOURCES.md")
    rows = sources.read_text(encoding="utf-8").splitlines()
    assert any(f"{place.repository} " in row and f"| {place.commit}" in row for row in rows)


if __name__ == "__main__":
    made = iter(quotations())
    PAGE.write_text(_QUOTED.sub(lambda fence: fence[1] + next(made), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
