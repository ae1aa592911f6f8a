"""Which values the templates of a chart read, as far as their text shows it without rendering."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from afflint.rendering.line_marks import read_template, templates_of
from afflint.rendering.roots import chart_data
from afflint.yaml.template_actions import actions_in, inside_of, tokens_of, word_of

_CHAIN = re.compile(r"\.Values\b((?:\.\w+)*)")
_RANGE = re.compile(r"\{\{-?\s*range\s+(?:\$\w+(?:,\s*\$\w+)?\s*:=\s*)?\$?\.Values((?:\.\w+)+)")
_INCLUDED = re.compile(r"\b(?:include|template)\s+(\"[^\"]*\"|\S+)(?:\s+\$?\.?Template\.BasePath)?")
_OF_FILE = re.compile(r"\(\s*print(?:f\s+\"[^\"]*\")?\s+\$?\.Template\.BasePath")
_INDIRECT = re.compile(r"\"Values\"|`Values`|\.Files\b|\.AsMap\b")


class TemplateReads:
    """The reads of values in the templates of a chart. ``folder`` is the chart."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        texts = [text for file in _own_templates(folder) if (text := read_template(file)) is not None]
        self._text = "\n".join(texts)
        actions = [actions_in(text) for text in texts]
        self._actions = [each.text for one in actions for each in one.found]
        self._chains = [tuple(match[1].split(".")[1:]) for match in _CHAIN.finditer(self._text)]
        has_ends = all(one.unclosed < 0 for one in actions)
        self._is_known = has_ends and not _INDIRECT.search(self._text) and _includes_own(self._actions)

    def cannot_read(self, path: Sequence[str]) -> bool:
        """Return whether no template can read the value at a path.

        A template that passes a map above the value to a function, or that includes a template of another chart, may read it. So may one
        that names the last part of the path anywhere except below another value.
        """
        if not self._is_known or path[0] in {"global", *_dependency_names(self._folder)}:
            return False
        path = tuple(path)
        # The chain of a read is the path, a part of it, or longer than it.
        if any(chain[: len(path)] == path[: len(chain)] for chain in self._chains):
            return False
        mentions = len(re.findall(rf"[.\"`]{re.escape(path[-1])}\b", self._text))
        return mentions == sum(chain.count(path[-1]) for chain in self._chains)

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


def _includes_own(actions: Sequence[str]) -> bool:
    """Return whether actions include only templates of their own chart, by their literal names."""
    defined = {
        text for each in actions if word_of(each) in ("define", "block") for kind, text in tokens_of(inside_of(each)) if kind == "text"
    }
    for action in actions:
        for match in _INCLUDED.finditer(action):
            is_known = match[1] in defined if match[1].startswith('"') else _OF_FILE.match(action, match.start(1)) is not None
            if not is_known:
                return False
    return True


def _dependency_names(folder: str) -> Iterator[str]:
    """Yield the names under which a chart sets the values of its dependencies."""
    for file in ("Chart.yaml", "requirements.yaml"):
        for each in chart_data(folder, file).get("dependencies") or ():
            if type(each) is dict:
                yield from (each[key] for key in ("name", "alias") if type(each.get(key)) is str)
    charts = os.path.join(folder, "charts")
    yield from os.listdir(charts) if os.path.isdir(charts) else ()
