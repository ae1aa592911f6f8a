"""The quotations in docs/wild.md: what afflint reports for public manifests, which are next to the checkout."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.generate import ROOT, GeneratedFile

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import discover
from shared_material import SHARED

PAGE = ROOT / "docs" / "wild.md"
_LINK = re.compile(
    r"\]\(https://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<commit>[0-9a-f]{12,40})/(?P<path>[^)#]+)(?:#L(?P<line>\d+))?\)"
)
_QUOTED = re.compile(r"(^```text\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_BLOCKS = {"virtual_hardware.md": (12, 6), "node_assignment.md": (2, 26)}
"""Of pages of documentation: which block, and the line in it."""


def files() -> Iterator[GeneratedFile]:
    """Yield the page."""
    yield GeneratedFile(PAGE, _page, missing_corpus())


def missing_corpus() -> str:
    """Return that there are no public manifests, if so."""
    return "" if (SHARED / "corpus").exists() else "the folder `shared` with public manifests is not next to the checkout"


def _page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    if missing_corpus():
        return text
    made = iter(_quotations())
    return _QUOTED.sub(lambda fence: fence[1] + next(made), text)


class Place(NamedTuple):
    """A line of a public file, and where that file lies in the collection."""

    repository: str
    commit: str
    folder: str
    file: str
    line: int


def places() -> list[Place]:
    """Return what the page links to, in its order."""
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
def _findings(folder: str) -> dict[tuple[str, int], list[str]]:
    before = os.getcwd()
    os.chdir(SHARED / "corpus" / folder)
    try:
        outcome = run(list(discover(["."])), default_settings())
    finally:
        os.chdir(before)
    messages: dict[tuple[str, int], list[str]] = {}
    for each in outcome.findings:
        messages.setdefault((each.file, each.span.line), []).append(f"{each.severity}[{each.rule}]: {each.message}\n")
    return messages


def quoted() -> list[str]:
    """Return the quotations on the page, in its order."""
    return [fence[2] for fence in _QUOTED.finditer(PAGE.read_text(encoding="utf-8"))]


def _quotations() -> list[str]:
    return ["".join(_findings(place.folder).get((place.file, place.line), [])) for place in places()]
