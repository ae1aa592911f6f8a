"""The literal part of a template: what is written in it around actions (Go's ``{{ … }}``, Jinja's ``{% … %}``).

Actions that control what follows are blanked, and so are those that insert lines; a value within a line is masked, so that YAML can read
it as a placeholder (``yaml.placeholders``). The rest is YAML as the template writes it, at its positions in the file. How much of it is
certain depends on the actions around it: the branches of an ``if`` are not rendered together, and an action may insert further lines of a
map or a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import Document
from afflint.yaml.documents import split
from afflint.yaml.parser import parse_document
from afflint.yaml.placeholders import masked, masked_action, unmasked
from afflint.yaml.template_actions import TemplateAction, actions_in, level_of, with_replaced, word_of

_DEFINING = frozenset(("define", "macro"))
_SILENT = frozenset(("/*", "break", "continue", "fail"))
_INSERTS_LINES = re.compile(r"\bn?indent\b|\bto_?[A-Za-z_]*[yY]aml\b")
# Conditions on versions choose between an old and a new form on purpose.
_ON_VERSIONS = re.compile(r"(?i)version|semver|capabilities")


class TemplateText:
    """The literal text of a template, and what is known about each of its lines, which count from 0 here.

    ``readable``: the text for the parser, with the same lines and columns. ``literal``: the line has literal text other than a comment.
    ``touched``: an action on it was blanked. ``inserting``: such an action may insert lines. ``moved``: the indentation depends on an
    action above. ``branch``: the number of the innermost branch around it; each branch has a parent with a lower number.
    """

    def __init__(self, text: str, first: int = 0) -> None:
        self._first = first  # The number of lines above the text in its file.
        found = actions_in(text, jinja=True)
        lines, actions = _on_single_lines(text, found.if_closed)
        self.literal = [False] * len(lines)
        self.touched = [False] * len(lines)
        self.inserting = [False] * len(lines)
        self.moved = [False] * len(lines)
        self.branch = [0] * len(lines)
        self._indented: dict[int, int] = {}  # How far the lines are indented that an action inserts.
        self._begun: set[int] = set()  # The lines with list items whose beginning an action prints.
        self._parents = [0]
        self._alternatives = [False]
        self._optional = [False]  # Whether the branch is that of ``with``, which leaves out a field without a value.
        self._defining = [False]
        self._here = 0
        self._rendered = False  # Whether a line above has literal text.
        self._trimmed_to: int | None = None
        self.balanced = found.unclosed < 0
        """Whether each control structure has its end."""
        readable = [self._read(number, line, actions.get(number, ())) for number, line in enumerate(lines)]
        self._fill(readable)
        self._lines = readable
        self.readable = "\n".join(readable).encode()
        self.balanced = self.balanced and self._here == 0

    def documents(self, matters: Callable[[bytes], bool]) -> Iterator[Document]:
        """Yield the documents that matter, by their text, and whose literal part is YAML, with their positions in the file."""
        for index, (piece, line, problem) in enumerate(split(self.readable)):
            if problem is not None or not matters(piece):
                continue
            document = _parsed(piece, index, self._first + line)
            for again in (masked(piece), self._without_choices(piece, line)) if document.problem is not None else ():
                if again is not None and document.problem is not None:
                    document = _parsed(again, index, self._first + line)
            if document.problem is None and not document.empty:
                document.filled = True
                yield document

    def _without_choices(self, piece: bytes, line: int) -> bytes | None:
        """Return a document without what only some values add to it: the branches that begin below its kind; None without a kind."""
        lines = piece.split(b"\n")
        kind = next((number for number, each in enumerate(lines) if each.startswith(b"kind:")), None)
        if kind is None:
            return None
        always = dict.fromkeys((0, *self._around(self.branch[line + kind])), True)
        for number, branch in enumerate(self.branch[line : line + len(lines)]):
            above = [each for each in self._around(branch) if each not in always]
            for each in reversed(above):
                always[each] = self._optional[each] and always[self._parents[each]]
            if not always[branch]:
                lines[number] = b""
        return b"\n".join(lines)

    def _around(self, branch: int) -> Iterator[int]:
        """Yield a branch and those around it, without the whole text."""
        while branch:
            yield branch
            branch = self._parents[branch]

    # In the following methods, lines count from 1 in the file.

    def is_whole(self, first: int, last: int, *, grows: bool = True) -> bool:
        """Return whether the lines from ``first`` to ``last`` are rendered together, and no action adds lines to them.

        A value that is on one line does not grow by what an action below inserts.
        """
        start, end = first - 1 - self._first, last - self._first
        if any(self.touched[start:end]) or any(self.moved[start:end]) or self._above(start) in self._begun:
            return False
        if not grows:
            return True
        if self._continues(end):
            return False
        following = next((number for number in range(end, len(self.literal)) if self.literal[number]), len(self.literal))
        return not any(self.inserting[end:following])

    def _continues(self, end: int) -> bool:
        """Return whether the key above ``end`` is open at the end of its branch, and has its value below all branches."""
        last = self._above(end)
        line = self._lines[last] if last >= 0 else ""
        if not line.rstrip().endswith(":"):
            return False
        around = (*self._around(self.branch[last]), 0)
        for number in range(end, len(self.literal)):
            inner = next(
                (each for each in self._around(self.branch[number]) if self._parents[each] in around[1:] and each not in around), 0
            )
            # An alternative to a branch that has ended is not rendered together with it.
            if self.literal[number] and not (inner and self._alternatives[inner]):
                return self.branch[number] != self.branch[last] and _depth(self._lines[number]) > _depth(line)
        return False

    def keeps_parent(self, line: int, column: int) -> bool:
        """Return whether the key at a position is in the map that it seems to be in: no action above it begins another one."""
        start = line - 1 - self._first
        above = self._above(start)
        inserted = (self._indented[number] for number in range(above + 1, start) if self.inserting[number])
        return not self.moved[start] and above not in self._begun and all(each >= column - 1 for each in inserted)

    def _above(self, number: int) -> int:
        """Return the number of the next literal line above; -1 without one."""
        return next((each for each in range(number - 1, -1, -1) if self.literal[each]), -1)

    def implies(self, line: int, other: int) -> bool:
        """Return whether a line is rendered only together with an ``other`` one, which keeps its indentation."""
        branch, wanted = self.branch[line - 1 - self._first], self.branch[other - 1 - self._first]
        while branch > wanted:
            branch = self._parents[branch]
        return branch == wanted and not self.moved[other - 1 - self._first]

    def has_alternative(self, line: int) -> bool:
        """Return whether other lines may be rendered in the place of a line, or whether it depends on a version."""
        return any(self._alternatives[each] for each in self._around(self.branch[line - 1 - self._first]))

    # Reading the lines, one after another.

    def _read(self, number: int, line: str, actions: Sequence[TemplateAction]) -> str:
        """Return a line with its actions blanked or masked, and note what is known about it."""
        self.branch[number] = self._here
        if not actions:
            readable = line
        elif not with_replaced(line, actions, lambda _: "").partition("#")[0].strip():
            self._note(number, [each.text for each in actions if _inserts(each.text)])
            readable = ""
        else:
            readable = self._mixed(number, line, actions)
        self._trim(number, line, readable, actions)
        for each in actions:
            self._enter(word_of(each.text), each.text)
        if self._defining[self._here] or self._defining[self.branch[number]]:
            return ""
        self.literal[number] = bool(readable.partition("#")[0].strip())
        self._rendered = self._rendered or self.literal[number]
        return readable

    def _fill(self, readable: list[str]) -> None:
        """Give a placeholder to each key whose whole value an action below inserts."""
        key = -1
        inserted = False
        for number, line in enumerate((*readable, "end")):
            if number < len(readable) and not self.literal[number]:
                inserted |= self.inserting[number]
                continue
            if key >= 0 and inserted and _depth(line) <= _depth(readable[key]):
                readable[key] += " " + masked_action("{{ }}")
            key = number if line.rstrip().endswith(":") else -1
            inserted = key >= 0 and self.inserting[number]

    def _mixed(self, number: int, line: str, actions: Sequence[TemplateAction]) -> str:
        """Return a line that has literal text and actions."""
        begins = not line[: actions[0].start].strip()
        changes = [level_of(each.text) for each in actions]
        if not any(changes) and not any(word_of(each.text) in ("else", "elif") for each in actions):
            before, last = line[: actions[-1].start].rstrip(), actions[-1]
            if (before.endswith(":") or before.strip() == "-") and _INSERTS_LINES.search(last.text) and not line[last.end :].strip():
                self._note(number, [last.text])
                if before.endswith("-"):
                    self._begun.add(number)
                return before
            return with_replaced(line, actions, lambda each: masked_action(each) if _inserts(each) else " " * len(each))
        levels = [*accumulate(changes)]
        if not begins and levels[-1] == 0 and min(levels) == 0:
            start, end = actions[0].start, actions[-1].end
            return line[:start] + masked_action(line[start:end]) + line[end:]
        self._note(number, [line])
        return "" if begins else line[: actions[0].start]

    def _note(self, number: int, inserting: Sequence[str]) -> None:
        """Note that actions on a line are blanked, and those of them that insert lines."""
        self.touched[number] = True
        self.inserting[number] = bool(inserting)
        found = (re.search(r"\bn?indent\s+\(?(\d+)", each) for each in inserting)
        self._indented[number] = min((int(each[1]) if each is not None else 0 for each in found), default=0)

    def _trim(self, number: int, line: str, readable: str, actions: Sequence[TemplateAction]) -> None:
        """Note whether actions that trim the space around them move this line, or the next one."""
        indentation = len(line) - len(line.lstrip())
        at = self._trimmed_to
        if readable.strip():
            self.moved[number] = at is not None and at != indentation
            at = -1
        elif actions and at is None:
            trims_before = actions[0].text[2] == "-"
            at = -1 if trims_before and self._rendered else 0 if trims_before else indentation
        if line.strip():
            trims = bool(actions) and actions[-1].text[-3] == "-" and not line[actions[-1].end :].strip()
            self._trimmed_to = at if trims else None

    def _enter(self, word: str, action: str) -> None:
        """Open and close the branches that an action begins or ends."""
        level = level_of(action)
        if level > 0 or word in ("else", "elif"):
            parent = self._here
            if level <= 0:
                self._alternatives[self._here] = True
                parent = self._parents[self._here]
                self.balanced = self.balanced and self._here != 0
            self._parents.append(parent)
            self._alternatives.append(level <= 0 or _ON_VERSIONS.search(action) is not None)
            self._optional.append(word == "with")
            self._defining.append(self._defining[parent] or word in _DEFINING)
            self._here = len(self._parents) - 1
        elif level < 0:
            self.balanced = self.balanced and self._here != 0
            self._here = self._parents[self._here]


_LONGEST = 1_000_000


def template_text(data: bytes, first: int = 0) -> TemplateText | None:
    """Return the literal text of a template below the ``first`` lines of its file.

    None if it is very long, not UTF-8, or if its control structures do not fit together.
    """
    if len(data) > _LONGEST:
        return None
    try:
        text = TemplateText(data.decode("utf-8"), first)
    except UnicodeDecodeError:
        return None
    return text if text.balanced else None


def named_templates_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text of each named template (``define``) of several lines, at its columns in the file, and the number of lines above it."""
    begin, open_structures, line, counted = -1, 0, 0, 0
    for start, end, action in actions_in(text, jinja=True).if_closed:
        open_structures = max(open_structures + level_of(action), 0)
        if begin < 0 and open_structures == 1 and word_of(action) in _DEFINING:
            begin = end
        elif begin >= 0 and open_structures == 0:
            line += text.count("\n", counted, begin)
            counted = begin
            if "\n" in (body := text[begin:start]):
                yield " " * (begin - text.rfind("\n", 0, begin) - 1) + body, line
            begin = -1


class Branch(NamedTuple):
    """A branch of a template: the action that begins it, and the text in it without that of the branches inside it."""

    action: str
    text: str


def branches_in(text: str) -> Iterator[Branch]:
    """Yield the branches of a template that have an end, the innermost first."""
    open_branches: list[tuple[str, list[str]]] = []
    position = 0
    for start, end, action in actions_in(text, jinja=True).if_closed:
        if open_branches:
            open_branches[-1][1].append(text[position:start])
        position = end
        level = level_of(action)
        ends = level < 0 or word_of(action) in ("else", "elif")
        if ends and open_branches:
            begun, parts = open_branches.pop()
            yield Branch(begun, "".join(parts))
        if level > 0 or (ends and level == 0):
            open_branches.append((action, []))
        elif open_branches and not ends:
            open_branches[-1][1].append(action)


def _parsed(text: bytes, index: int, line: int) -> Document:
    return parse_document(unmasked(text.decode()).encode(), text, index, line)


def _on_single_lines(text: str, actions: Iterable[TemplateAction]) -> tuple[list[str], dict[int, list[TemplateAction]]]:
    """Return the lines of a text, with each action on the line on which it begins, and the actions of each line."""
    parts: list[str] = []
    found: dict[int, list[TemplateAction]] = {}
    line = column = position = 0
    for start, end, action in actions:
        before, flat = text[position:start], action.replace("\n", " ")
        breaks = before.count("\n")
        line += breaks
        column = len(before) - before.rfind("\n") - 1 if breaks else column + len(before)
        found.setdefault(line, []).append(TemplateAction(column, column + len(flat), flat))
        parts += (before, flat)
        column += len(flat)
        if "\n" in action:
            line += action.count("\n")
            column = len(action) - action.rfind("\n") - 1
            parts.append("\n" * action.count("\n") + " " * column)
        position = end
    parts.append(text[position:])
    return "".join(parts).split("\n"), found


def _depth(line: str) -> int:
    """Return the indentation of what a line says; an item of a list may be as deep as the key of the list."""
    return len(line) - len(line.lstrip()) + line.lstrip().startswith("- ")


def _inserts(action: str) -> bool:
    """Return whether an action prints something by itself."""
    word = word_of(action)
    if action.startswith("{%"):
        return word == "include"
    return not (level_of(action) or word in _SILENT or word in ("=", "else"))
