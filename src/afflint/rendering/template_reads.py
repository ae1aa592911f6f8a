"""Which values the templates of a chart read, as far as their text shows it without rendering."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from afflint.rendering.line_marks import read_template, templates_of
from afflint.yaml.template_actions import actions_in, inside_of

_RANGE = re.compile(r"\{\{-?\s*range\s+(?:\$\w+(?:,\s*\$\w+)?\s*:=\s*)?\$?\.Values((?:\.\w+)+)")


class TemplateReads:
    """The reads of values in the templates of a chart. ``folder`` is the chart."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        texts = [text for file in _own_templates(folder) if (text := read_template(file)) is not None]
        self._actions = [each.text for text in texts for each in actions_in(text).found]

    def ranges(self) -> list[tuple[str, ...]]:
        """Return the paths of the values that templates range over."""
        ranges = filter(None, map(_RANGE.match, self._actions))
        return list(dict.fromkeys(tuple(match[1].split(".")[1:]) for match in ranges))

    def prints(self, path: Sequence[str]) -> bool:
        """Return whether a template prints the value at a path as it is, so that the chart expects text."""
        value = rf"\$?\.Values\.{re.escape('.'.join(path))}"
        printing = re.compile(rf"{value}\s*(?:\|\s*(?:n?indent \d+|quote|trim)\s*)*")
        return any(printing.fullmatch(inside_of(each)) for each in self._actions)

    def line_of(self, path: Sequence[str], first: str = "") -> tuple[str, int] | None:
        """Return the file and line of the first template that reads the value at a path, in the file ``first`` if possible."""
        read = re.compile(rf"\.Values\.{re.escape('.'.join(path))}(?![\w.])")
        files = templates_of(self._folder)
        for file in sorted(files, key=lambda each: each != first):
            for number, line in enumerate((read_template(file) or "").split("\n"), 1):
                if read.search(line):
                    return file, number
        return None


def _own_templates(folder: str) -> Iterator[str]:
    """Yield the files in the templates folder of a chart, including its notes."""
    for here, folders, names in os.walk(os.path.join(folder, "templates")):
        folders.sort()
        yield from (os.path.join(here, name) for name in sorted(names))
