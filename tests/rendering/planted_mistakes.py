"""Source trees with one planted mistake each, written as text in a folder such as `planted_mistakes`.

A text begins with a sentence about the tree. A line `with: NAME` adds the files of `shared/NAME.txt`, `=== PATH` begins a
file, and a caret below a line marks the mistake in it, with its rule and with the text that corrects it, which replaces the rest of the
line from the caret on:

    gpu: true
         ^ wrong-type, fixed by "true"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent / "planted_mistakes"
_FILE, _SHARED = "=== ", "with: "
_MARK = re.compile(r"( *)\^ ([a-z-]+), fixed by (.*)")


@dataclass(frozen=True)
class Mistake:
    """A planted mistake: where it is, its rule, and the text that corrects it."""

    file: str
    line: int
    column: int
    rule: str
    correction: str

    @property
    def place(self) -> str:
        """`file:line:column rule`."""
        return f"{self.file}:{self.line}:{self.column} {self.rule}"


@dataclass(frozen=True)
class PlantedTree:
    """The files of a tree by their paths, with its mistakes."""

    files: dict[str, str]
    mistakes: list[Mistake]

    def with_correction(self, place: str) -> PlantedTree:
        """The tree with the line corrected that a finding names, as a user would do it."""
        mistake = next(each for each in self.mistakes if each.place == place)
        lines = self.files[mistake.file].split("\n")
        lines[mistake.line - 1] = lines[mistake.line - 1][: mistake.column - 1] + mistake.correction
        return replace(self, files={**self.files, mistake.file: "\n".join(lines)})


def names(folder: Path = FOLDER) -> list[str]:
    """The names of all trees, such as `helm/range-over-values`."""
    found = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.txt"))
    return sorted(name for name in found if not name.startswith("shared/"))


def tree(name: str, folder: Path = FOLDER) -> PlantedTree:
    """The tree of a name."""
    text = (folder / f"{name}.txt").read_text("utf-8")
    head, *sections = re.split(rf"(?m)^{_FILE}", text)
    files: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for line in head.splitlines():
        if line.startswith(_SHARED):
            files |= tree(f"shared/{line.removeprefix(_SHARED)}", folder).files
    for section in sections:
        path, _, content = section.partition("\n")
        lines: list[str] = []
        mistakes += _marks(path, content, lines)
        files[path] = "".join(lines)
    return PlantedTree(files, mistakes)


def _marks(path: str, content: str, lines: list[str]) -> Iterator[Mistake]:
    """Yield the mistakes in a file, and append its lines without the marks."""
    for line in content.splitlines(keepends=True):
        mark = _MARK.fullmatch(line.rstrip("\n"))
        if mark is None:
            lines.append(line)
        else:
            yield Mistake(path, len(lines), len(mark[1]) + 1, mark[2], mark[3])
