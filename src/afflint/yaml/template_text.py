"""The literal part of a template: what is written in it around actions (Go's ``{{ … }}``, Jinja's ``{% … %}``).

Actions that control what follows are blanked, and so are those that insert lines; a value within a line is masked, so that YAML can read
it as a placeholder (``yaml.placeholders``). The rest is YAML as the template writes it, at its positions in the file. How much of it is
certain depends on the actions around it: the branches of an ``if`` are not rendered together, and an action may insert further lines of a
map or a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from afflint.yaml.document import Document
from afflint.yaml.documents import split
from afflint.yaml.parser import parse_document
from afflint.yaml.placeholders import masked, masked_action, unmasked

_ACTION = re.compile(
    r"\{\{-?\s*/\*.*?(?:\*/\s*-?)?\}\}|\{#.*?#\}|\{%.*?%\}"
    r"|\{\{(?:\"(?:\\.|[^\"\\\n])*\"|`[^`]*`|(?!\}\}).)*?\}\}",
    re.DOTALL,
)
_WORD = re.compile(r"\{[{%][-+~]?\s*(/\*|\$\w*\s*(?:,\s*\$\w+\s*)?:?=|\w+)?")
_OPENING = {"{{": frozenset(("if", "range", "with", "define", "block"))}
_OPENING["{%"] = frozenset(("if", "for", "with", "block", "macro", "call", "filter", "raw"))
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

    def __init__(self, text: str) -> None:
        lines = _ACTION.sub(_on_one_line, text).split("\n")
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
        self._trimmed_to: int | None = None
        self.balanced = True
        """Whether each control structure has its end."""
        readable = [self._read(number, line) for number, line in enumerate(lines)]
        self._fill(readable)
        self.readable = "\n".join(readable).encode()
        self.balanced = self.balanced and self._here == 0

    def documents(self) -> Iterator[Document]:
        """Yield the documents whose literal part is YAML, with their positions in the file."""
        index = 0
        for piece, line, problem in split(self.readable):
            document = _parsed(piece, index, line)
            for again in (masked(piece), self._without_choices(piece, line)) if document.problem is not None else ():
                if again is not None and document.problem is not None:
                    document = _parsed(again, index, line)
            index += not document.empty
            if problem is None and document.problem is None and not document.empty:
                document.filled = True
                yield document

    def _without_choices(self, piece: bytes, line: int) -> bytes | None:
        """Return a document without what only some values add to it: the branches that begin below its kind; None without a kind."""
        lines = piece.split(b"\n")
        kind = next((number for number, each in enumerate(lines) if each.startswith(b"kind:")), None)
        if kind is None:
            return None
        always = {0}
        branch = self.branch[line + kind]
        while branch:
            always.add(branch)
            branch = self._parents[branch]
        # A parent comes before its branches.
        for branch, parent in enumerate(self._parents):
            if self._optional[branch] and parent in always:
                always.add(branch)
        return b"\n".join([each if self.branch[line + number] in always else b"" for number, each in enumerate(lines)])

    def is_whole(self, first: int, last: int, *, grows: bool = True) -> bool:
        """Return whether the lines from ``first`` to ``last`` (from 1) are rendered together, and no action adds lines to them.

        A value that is on one line does not grow by what an action below inserts.
        """
        if any(self.touched[first - 1 : last]) or any(self.moved[first - 1 : last]):
            return False
        above = next((number for number in range(first - 2, -1, -1) if self.literal[number]), -1)
        if above in self._begun:
            return False
        if not grows:
            return True
        following = next((number for number in range(last, len(self.literal)) if self.literal[number]), len(self.literal))
        return not any(self.inserting[last:following])

    def keeps_parent(self, line: int, column: int) -> bool:
        """Return whether the key at a position (from 1) is in the map that it seems to be in: no action above it begins another one."""
        above = next((number for number in range(line - 2, -1, -1) if self.literal[number]), -1)
        inserted = (self._indented[number] for number in range(above + 1, line - 1) if self.inserting[number])
        return not self.moved[line - 1] and above not in self._begun and all(each >= column - 1 for each in inserted)

    def implies(self, line: int, other: int) -> bool:
        """Return whether a line (from 1) is rendered only together with an ``other`` one, which keeps its indentation."""
        branch, wanted = self.branch[line - 1], self.branch[other - 1]
        while branch > wanted:
            branch = self._parents[branch]
        return branch == wanted and not self.moved[other - 1]

    def has_alternative(self, line: int) -> bool:
        """Return whether other lines may be rendered in the place of a line (from 1), or whether it depends on a version."""
        branch = self.branch[line - 1]
        while branch and not self._alternatives[branch]:
            branch = self._parents[branch]
        return branch != 0

    # Reading the lines, one after another.

    def _read(self, number: int, line: str) -> str:
        """Return a line with its actions blanked or masked, and note what is known about it."""
        self.branch[number] = self._here
        actions = [*_ACTION.finditer(line)] if "{{" in line or "{%" in line or "{#" in line else []
        if not actions:
            readable = line
        elif not _ACTION.sub("", line).partition("#")[0].strip():
            self._note(number, [each[0] for each in actions if _inserts(each[0])])
            readable = ""
        else:
            readable = self._mixed(number, line, actions)
        self._trim(number, line, readable, actions)
        words = [_word(each[0]) for each in actions]
        for word, each in zip(words, actions, strict=True):
            self._enter(word, each[0])
        if self._defining[self._here] or self._defining[self.branch[number]]:
            return ""
        self.literal[number] = bool(readable.partition("#")[0].strip())
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

    def _mixed(self, number: int, line: str, actions: Sequence[re.Match[str]]) -> str:
        """Return a line that has literal text and actions."""
        begins = not line[: actions[0].start()].strip()
        changes = [_level(each[0]) for each in actions]
        if not any(changes) and not any(_word(each[0]) in ("else", "elif") for each in actions):
            before, last = line[: actions[-1].start()].rstrip(), actions[-1]
            if (before.endswith(":") or before.strip() == "-") and _INSERTS_LINES.search(last[0]) and not line[last.end() :].strip():
                self._note(number, [last[0]])
                if before.endswith("-"):
                    self._begun.add(number)
                return before
            return _ACTION.sub(lambda each: masked_action(each[0]) if _inserts(each[0]) else " " * len(each[0]), line)
        if not begins and sum(changes) == 0 and _never_below(changes):
            start, end = actions[0].start(), actions[-1].end()
            return line[:start] + masked_action(line[start:end]) + line[end:]
        self._note(number, [line])
        return "" if begins else line[: actions[0].start()]

    def _note(self, number: int, inserting: Sequence[str]) -> None:
        """Note that actions on a line are blanked, and those of them that insert lines."""
        self.touched[number] = True
        self.inserting[number] = bool(inserting)
        found = (re.search(r"\bn?indent\s+\(?(\d+)", each) for each in inserting)
        self._indented[number] = min((int(each[1]) if each is not None else 0 for each in found), default=0)

    def _trim(self, number: int, line: str, readable: str, actions: Sequence[re.Match[str]]) -> None:
        """Note whether actions that trim the space around them move this line, or the next one."""
        indentation = len(line) - len(line.lstrip())
        at = self._trimmed_to
        if readable.strip():
            self.moved[number] = at is not None and at != indentation
            at = -1
        elif actions and at is None:
            joins = actions[0][0][2] == "-" and any(self.literal[:number])
            at = -1 if joins else 0 if actions[0][0][2] == "-" else indentation
        if line.strip():
            trims = bool(actions) and actions[-1][0][-3] == "-" and not line[actions[-1].end() :].strip()
            self._trimmed_to = at if trims else None

    def _enter(self, word: str, action: str) -> None:
        """Open and close the branches that an action begins or ends."""
        level = _level(action)
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


def template_text(data: bytes) -> TemplateText | None:
    """Return the literal text of a template; None if it is not UTF-8, or if its control structures do not fit together."""
    try:
        text = TemplateText(data.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    return text if text.balanced else None


def _parsed(text: bytes, index: int, line: int) -> Document:
    return parse_document(unmasked(text.decode()).encode(), text, index, line)


def _on_one_line(action: re.Match[str]) -> str:
    """Return an action without its line breaks, and these after it."""
    lines = action[0].split("\n")
    if len(lines) == 1:
        return action[0]
    return lines[0] + (" -" if action[0][-3] == "-" else " ") + action[0][-2:] + "\n" * (len(lines) - 1) + " " * len(lines[-1])


def _depth(line: str) -> int:
    """Return the indentation of what a line says; an item of a list may be as deep as the key of the list."""
    return len(line) - len(line.lstrip()) + line.lstrip().startswith("- ")


def _word(action: str) -> str:
    """Return the first word of an action, such as ``if``; "=" for an assignment, "/*" for a comment."""
    if action.startswith("{#"):
        return "/*"
    match = _WORD.match(action)
    word = match[1] or "" if match is not None else ""
    return "=" if word.endswith("=") else word


def _level(action: str) -> int:
    """Return 1 if an action begins a control structure, and -1 if it ends one."""
    word, opening = _word(action), _OPENING.get(action[:2], frozenset())
    return 1 if word in opening else -1 if word == "end" or (action[:2] == "{%" and word.startswith("end")) else 0


def _never_below(changes: Sequence[int]) -> bool:
    return all(sum(changes[:count]) >= 0 for count in range(1, len(changes)))


def _inserts(action: str) -> bool:
    """Return whether an action prints something by itself."""
    word = _word(action)
    if action.startswith("{%"):
        return word == "include"
    return not (_level(action) or word in _SILENT or word in ("=", "else"))
