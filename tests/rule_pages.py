"""Reads rules/*.md for the tests: front matter, headings, and the examples with the places where findings are expected.

An example is a fence that begins with ```` ```yaml bad ```` or ```` ```yaml good ```` and holds whole manifests (several are divided by
``---``). A bad one says where its findings are by comment lines directly under the offending line; the caret stands in the column where
the finding begins, and several markers may follow each other::

    topologyKey: ""
    #            ^ finding

What afflint says of a bad example stands under it in a fence ```` ```said ````, made by ``python tests/test_rules.py``.

Where no comment can stand (column 1, block scalars) the fence says it: ```` ```yaml bad line=5 column=1 ````. Marker lines are part of
the manifest, so that ``line=`` counts them and afflint sees what the reader sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "rules"

SAID = "said"
_MARKER = re.compile(r" *# *\^ finding")
_NEARLY_A_MARKER = re.compile(r" *#[ ^]*\^|.*# *\^* *finding", re.IGNORECASE)
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """One fence of a page. ``line`` is the page's line on which it opens, ``info`` what stands behind its backticks."""

    rule: str
    line: int
    info: str
    text: str

    @property
    def bad(self) -> bool:
        """True when the example shows the mistake, False when it shows it mended. Raises ValueError when it says neither."""
        words = self.info.split()
        if words[:1] != ["yaml"] or words[1:2] not in (["bad"], ["good"]):
            raise ValueError(f"line {self.line}: an example begins with ```yaml bad or ```yaml good, not ```{self.info}")
        return words[1] == "bad"

    def expected(self) -> list[tuple[int, int]]:
        """Line and column of every marked finding, in order. Raises ValueError for markers that cannot be understood."""
        places = self._attributes()
        marked = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            if _MARKER.fullmatch(line):
                places.append((marked, line.index("^") + 1))
            elif _NEARLY_A_MARKER.match(line):
                raise ValueError(f"line {self.line + number}: a marker reads `# ^ finding`, not {line.strip()!r}")
            else:
                marked = number
        if self.bad != bool(places):
            raise ValueError(f"line {self.line}: a bad example marks its findings, a good one has none")
        return sorted(places)

    def _attributes(self) -> list[tuple[int, int]]:
        words = self.info.split()[2:]
        if not words:
            return []
        match = re.fullmatch(r"line=(\d+) column=(\d+)", " ".join(words))
        if match is None:
            raise ValueError(f"line {self.line}: a fence may say line=N column=N, not {' '.join(words)!r}")
        return [(int(match[1]), int(match[2]))]

    def __str__(self) -> str:
        return f"{self.rule}-line-{self.line}"


class Page(NamedTuple):
    """A rule page: its front matter, the headings and prose outside fences, and its examples."""

    name: str
    front: dict[str, str]
    headings: list[str]
    prose: list[str]
    examples: list[Example]


def names() -> list[str]:
    """The rules that have a page: the stems of rules/*.md."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def page(name: str) -> Page:
    """The page of a rule."""
    return parse(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Page:
    """A page out of its text. Raises ValueError when the front matter is not closed."""
    opening, _, rest = text.partition("---\n")
    matter, closing, body = rest.partition("\n---\n")
    if opening or not closing:
        raise ValueError("a page begins with front matter between two `---` lines")
    prose = _FENCE.sub("", body).splitlines()
    before = text[: len(text) - len(body)].count("\n")
    examples = [
        Example(name, before + body.count("\n", 0, fence.start()) + 1, fence["info"].strip(), fence["text"])
        for fence in _FENCE.finditer(body)
        if fence["info"].strip() != SAID
    ]
    front = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in matter.splitlines())}
    return Page(name, front, [line for line in prose if line.startswith("#")], prose, examples)


def with_messages(name: str, text: str, said: Callable[[Example], str]) -> str:
    """The text of a page with what afflint says of each bad example under it."""
    text = re.sub(rf"\n```{SAID}\n(?:.*\n)*?```\n", "", text)
    for example in reversed(parse(name, text).examples):
        if example.bad:
            lines = text.splitlines(keepends=True)
            end = example.line + example.text.count("\n") + 1
            lines.insert(end, f"\n```{SAID}\n{said(example)}```\n")
            text = "".join(lines)
    return text


def examples() -> list[Example]:
    """Every example of every page."""
    return [example for name in names() for example in page(name).examples]
