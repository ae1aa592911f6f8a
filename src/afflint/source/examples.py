"""Examples of rules and policies, with the places where findings are expected: in pages, as the rules have them, or in files of YAML.

In a page an example is a fence that begins with ```` ```yaml bad ```` or ```` ```yaml good ```` and holds whole manifests (several are
divided by ``---``). A bad one says where its findings are by comment lines directly under the offending line; the caret stands in the
column where the finding begins, and several markers may follow each other::

    topologyKey: ""
    #            ^ finding

A marker may name the rule, where the page is not about just one: ``# ^ finding: over-zones``. Where no comment can stand (column 1,
block scalars) the fence says it: ```` ```yaml bad line=5 column=1 ````. Marker lines are part of the manifest, so that ``line=`` counts
them and afflint sees what the reader sees.
"""

from __future__ import annotations

import re

from afflint.findings.namedtuples import NamedTuple

SAID = "said"
"""What a fence begins with that shows what afflint says of the example above it."""
_MARKER = re.compile(r" *# *\^ finding(?:: *(\S+))? *")
_NEARLY_A_MARKER = re.compile(r"^ *#[ ^]*\^|# *(?:\^+ *)?finding", re.IGNORECASE)
_FENCE = "```"
_PLACE = re.compile(r"line=([0-9]{1,9}) column=([0-9]{1,9})")
_FILE = re.compile(r"# *file: *(\S+) *")


class ExampleError(ValueError):
    """An example that is not written as one. ``line`` is the line of the file that the message is about, 0 for all of it."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.message, self.line = message, line


class Expected(NamedTuple):
    """Where a finding is expected, in lines and columns of the example, and of which rule: "" for any."""

    line: int
    column: int
    rule: str


class Example(NamedTuple):
    """One fence of a page, or one file. ``line`` is the page's line on which it opens, ``info`` what stands behind its backticks.

    ``rule``: what it is an example of, "" where nothing says so. ``file`` is where it stands, "" for a page of afflint's own.
    """

    rule: str
    line: int
    info: str
    text: str
    file: str = ""

    @property
    def bad(self) -> bool:
        """True when the example shows the mistake, False when it shows it mended. Raises ExampleError when it says neither."""
        words = self.info.split()
        if words[:1] != ["yaml"] or words[1:2] not in (["bad"], ["good"]):
            raise ExampleError(f"an example must begin with ```yaml bad or ```yaml good, not with ```{self.info}", self.line)
        return words[1] == "bad"

    @property
    def fenced(self) -> bool:
        """Whether it stands in a page, and not in a file of its own, where nothing has to be marked."""
        return self.line > 0

    def expected(self) -> list[Expected]:
        """Line and column of every marked finding, in order. Raises ExampleError for markers that cannot be understood."""
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
        """The file that it says it stands for, by a comment in its first line; "" without one."""
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


class ExamplePage(NamedTuple):
    """A page: its front matter, the headings and prose outside fences, and its examples."""

    name: str
    front: dict[str, str]
    headings: list[str]
    prose: list[str]
    examples: list[Example]


def parse(name: str, text: str, file: str = "") -> ExamplePage:
    """A page out of its text; ``name`` is that of the rule it is about. Raises ExampleError when the front matter is not closed."""
    matter, body = "", text
    if text.startswith("---\n"):
        matter, closing, body = text[4:].partition("\n---\n")
        if not closing:
            raise ExampleError("front matter must be enclosed in two `---` lines", 1)
    before = text[: len(text) - len(body)].count("\n")
    prose, fences = _parts(body)
    examples = [Example(name, before + fence.line, fence.info, fence.text, file) for fence in fences if fence.info != SAID]
    front = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in matter.splitlines())}
    return ExamplePage(name, front, [line for line in prose if line.startswith("#")], prose, examples)


class _Fence(NamedTuple):
    """``line`` is that on which it opens, ``info`` what stands behind its backticks."""

    line: int
    info: str
    text: str


def _parts(body: str) -> tuple[list[str], list[_Fence]]:
    """The lines of a page outside its fences, and these. What opens and never closes is none."""
    lines = body.split("\n")
    last = max((number for number, line in enumerate(lines) if line == _FENCE), default=-1)
    prose: list[str] = []
    fences: list[_Fence] = []
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None and line.startswith(_FENCE) and number < last:
            opened = number
        elif opened is None:
            prose.append(line)
        elif line == _FENCE:
            text = "".join(f"{each}\n" for each in lines[opened + 1 : number])
            fences.append(_Fence(opened + 1, lines[opened].removeprefix(_FENCE).strip(), text))
            opened = None
    return prose, fences
