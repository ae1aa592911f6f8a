"""Examples of rules and policies, with the positions of the expected findings: in Markdown pages, such as those of rules, or in YAML files.

In a page an example is a fence that begins with ```` ```yaml bad ```` or ```` ```yaml good ```` and contains complete manifests,
separated by ``---``. A bad example marks its findings with comment lines directly below the reported line; the caret is in the column
where the finding begins, and several markers can follow each other::

    topologyKey: ""
    #            ^ finding

A marker can name the rule, if the page has several: ``# ^ finding: over-zones``. Where a comment is not possible (column 1, block
scalars) the fence has the position: ```` ```yaml bad line=5 column=1 ````. Marker lines are part of the manifest, so that ``line=``
counts them and afflint reads what the reader sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.findings.namedtuples import NamedTuple

REPORT_FENCE = "said"
"""The info string of a fence with the report of afflint for the example above it."""
_MARKER = re.compile(r" *# *\^ finding(?:: *(\S+))? *")
_NEARLY_A_MARKER = re.compile(r"^ *#[ ^]*\^|# *(?:\^+ *)?finding", re.IGNORECASE)
_FENCE = "```"
_PLACE = re.compile(r"line=([0-9]{1,9}) column=([0-9]{1,9})")
_FILE = re.compile(r"# *file: *(\S+) *")


class ExampleError(ValueError):
    """An invalid example. ``line`` is the line of the file with the mistake, 0 for the file as a whole."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.message, self.line = message, line


class Expected(NamedTuple):
    """The line and column of an expected finding in the example, and its rule; "" for any rule."""

    line: int
    column: int
    rule: str


class Example(NamedTuple):
    """One fence of a page, or one file. ``line`` is the line on which the fence opens, ``info`` the text after its backticks.

    ``rule`` is the rule that it is an example of, "" if it is not known. ``file`` is its path, "" for a page of afflint itself.
    """

    rule: str
    line: int
    info: str
    text: str
    file: str = ""

    @property
    def bad(self) -> bool:
        """True if the example shows the mistake, False if it shows the fix. Raises ExampleError if the fence has neither word."""
        words = self.info.split()
        if words[:1] != ["yaml"] or words[1:2] not in (["bad"], ["good"]):
            raise ExampleError(f"an example must begin with ```yaml bad or ```yaml good, not with ```{self.info}", self.line)
        return words[1] == "bad"

    @property
    def fenced(self) -> bool:
        """Whether it is a fence of a page, not a file of its own, which does not need markers."""
        return self.line > 0

    def expected(self) -> list[Expected]:
        """Return line and column of every marked finding, in order. Raises ExampleError for invalid markers."""
        places = self._attributes()
        marked = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            marker = _MARKER.fullmatch(line)
            if marker is not None:
                places.append(Expected(marked, line.index("^") + 1, marker[1] or self.rule))
            elif _NEARLY_A_MARKER.search(line):
                raise ExampleError(f"write a marker as `# ^ finding`, not as {line.strip()!r}", self.line + number)
            else:
                marked = number
        if self.bad < bool(places) or (self.fenced and self.bad and not places):
            raise ExampleError("a bad example must mark its findings, and a good example must not have any", self.line)
        return sorted(places)

    @property
    def stands_for(self) -> str:
        """The file name in a comment ``# file: NAME`` in its first line; "" without one."""
        first = _FILE.fullmatch(self.text.partition("\n")[0])
        return first[1] if first is not None else ""

    def _attributes(self) -> list[Expected]:
        words = self.info.split()[2:]
        if not words:
            return []
        match = _PLACE.fullmatch(" ".join(words))
        if match is None:
            raise ExampleError(f"the position of a finding must be written as line=N column=N, not as {' '.join(words)!r}", self.line)
        return [Expected(int(match[1]), int(match[2]), self.rule)]

    def __str__(self) -> str:
        return f"{self.rule}-line-{self.line}"


def parse(name: str, text: str, file: str = "") -> list[Example]:
    """Return the examples of a page; ``name`` is that of its rule. Raises ExampleError if the front matter is not closed."""
    body = text
    if text.startswith("---\n"):
        _, closing, body = text[4:].partition("\n---\n")
        if not closing:
            raise ExampleError("front matter must be enclosed in two `---` lines", 1)
    before = text[: len(text) - len(body)].count("\n")
    return [Example(name, before + line, info, example, file) for line, info, example in _fences(body) if info != REPORT_FENCE]


def _fences(body: str) -> Iterator[tuple[int, str, str]]:
    """Yield for each fence its first line, the text after its backticks, and its content; one that is never closed is not a fence."""
    lines = body.split("\n")
    last = max((number for number, line in enumerate(lines) if line == _FENCE), default=-1)
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None:
            opened = number if line.startswith(_FENCE) and number < last else None
        elif line == _FENCE:
            text = "".join(f"{each}\n" for each in lines[opened + 1 : number])
            yield opened + 1, lines[opened].removeprefix(_FENCE).strip(), text
            opened = None
