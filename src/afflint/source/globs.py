"""Patterns of .gitignore files, matched without backtracking.

They work as in gitignore(5) and wildmatch.c of git, except that `?` matches one character here, and one byte there.

The time to match is at most proportional to the length of the pattern times that of the path: a tree can contain patterns that are
designed to take exponential time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.source.repositories import extent_of, is_really_inside

Step = Callable[[str], object] | None
"""Tests one name of a path. None means ``**``: any number of folders."""


class Pattern(NamedTuple):
    """A parsed pattern. ``steps`` lead from the folder of the pattern to the path that is matched."""

    include: bool
    """False for a pattern that begins with ``!`` and negates."""
    steps: tuple[Step, ...]
    only_folders: bool
    fixed_name: str | None = None
    """A name without which a path cannot match: its first, or its last if the pattern has no other."""

    def matches(self, names: list[str], folder: bool) -> bool:
        """Whether the pattern matches a path itself, given as names from the top; ``folder``: whether it is a folder."""
        if self.only_folders and not folder:
            return False
        steps = self.steps
        if len(steps) == 2 and steps[0] is None and steps[1] is not None:  # By far the most frequent: a name, anywhere.
            return bool(steps[1](names[-1]))
        return len(names) in self._ends(names)

    def matches_above(self, names: list[str]) -> bool:
        """Whether the pattern matches a parent folder of the path."""
        return any(end < len(names) for end in self._ends(names))

    def _ends(self, names: list[str]) -> set[int]:
        """Return the numbers of names after which the pattern can end."""
        ends = {0}
        for number, step in enumerate(self.steps):
            if step is not None:
                ends = {end + 1 for end in ends if end < len(names) and step(names[end])}
            elif number + 1 < len(self.steps):
                ends = set(range(min(ends), len(names)))
            else:  # The content of a folder, not the folder itself.
                ends = set(range(min(ends) + 1, len(names) + 1))
            if not ends:
                break
        return ends


class Patterns:
    """A list of patterns, in which the last match decides."""

    def __init__(self, patterns: Iterable[Pattern | None]) -> None:
        self._patterns = [each for each in patterns if each is not None][::-1]
        # Most patterns begin or end with a fixed name: without it in a path they need not be tried.
        self._tried = grouped((each.fixed_name or "", number) for number, each in enumerate(self._patterns))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the patterns match exactly this path (True), negate it (False), or do not mention it (None)."""
        names = path.split("/")
        tried = self._tried
        numbers = {number for name in {"", names[0], names[-1]} & tried.keys() for number in tried[name]}
        for number in sorted(numbers):
            if self._patterns[number].matches(names, folder):
                return self._patterns[number].include
        return None

    def covers(self, path: str) -> bool:
        """Whether a path or one of its parent folders is matched. The path of a folder ends with a slash."""
        names = path.rstrip("/").split("/")
        in_parent: bool | None = None
        for pattern in self._patterns:
            if pattern.matches(names, path.endswith("/")):
                return pattern.include
            if in_parent is None and pattern.matches_above(names):
                in_parent = pattern.include
        return bool(in_parent)


def of_lines(lines: Iterable[str]) -> Patterns:
    """Parse the patterns of a .gitignore file; comments, blank lines and invalid patterns match nothing."""
    return Patterns(pattern(line) for line in lines if not line.startswith("#"))


def pattern(text: str) -> Pattern | None:
    """Parse one pattern; None for a text that cannot match anything."""
    text = _without_blanks(text)
    include = not text.startswith("!")
    if not include:
        text = text[1:]
    only_folders = text.endswith("/")
    if only_folders:
        text = text[:-1]
    if not text:
        return None
    parts = text.split("/")
    if len(parts) == 1:
        parts.insert(0, "**")
    elif not parts[0]:
        del parts[0]
    fixed = parts[0] if parts[0] != "**" else parts[1] if len(parts) == 2 else ""
    steps: list[Step] = []
    for part in parts:
        if part == "**":
            if not steps or steps[-1] is not None:  # Several in a row are one.
                steps.append(None)
            continue
        step = _step(part)
        if step is None:
            return None
        steps.append(step)
    return Pattern(include, tuple(steps), only_folders, fixed if fixed and fixed != "**" and not _SPECIAL.search(fixed) else None)


@lru_cache(maxsize=256)
def name_matcher(globs: tuple[str, ...]) -> Callable[[str], object] | None:
    """Return a function that tests a name, which can contain slashes, against globs; None if one of them is invalid."""
    steps = [_step(each) for each in globs]
    if None in steps:
        return None
    if len(globs) == 1 and steps[0] is not None:
        return steps[0]
    return lambda name: any(step is not None and step(name) for step in steps)


def separates_by_backslash(text: str) -> bool:
    """Whether a pattern contains a backslash where a slash was meant: before a character that does not need an escape."""
    return _BACKSLASH_FOR_SLASH.search(text) is not None


_BACKSLASH_FOR_SLASH = re.compile(r"(?<!\\)(?:\\\\)*\\(?:\w|\*[*.])")


def _without_blanks(line: str) -> str:
    """Remove the spaces at the end of a line, except for one after a backslash."""
    line = line.removesuffix("\r")
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + backslashes % 2]


def _step(part: str) -> Callable[[str], object] | None:
    """Return a function that tests a name against one part of a pattern; None if the part is invalid."""
    if not part:
        return None
    if not _SPECIAL.search(part):
        return part.__eq__
    chunks = _chunks(part)
    if chunks is None:
        return None
    first, *others = chunks
    if not others:
        return re.compile(first, re.DOTALL).fullmatch
    *middle, last = others
    # Between stars, the first possible position is sufficient: a lookahead finds it and does not backtrack.
    fixed = "".join(f"(?=(?P<chunk{number}>.*?{chunk}))(?P=chunk{number})" for number, chunk in enumerate(middle) if chunk)
    return re.compile(f"{first}{fixed}.*{last}", re.DOTALL).fullmatch


_SPECIAL = re.compile(r"[*?\[\\]")


def _chunks(part: str) -> list[str] | None:
    """Return regular expressions for the text between the stars; None for a part that matches nothing."""
    chunks = [""]
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            chunks.append("")
        elif char == "?":
            chunks[-1] += "."
        elif char == "[":
            found = _class(part, at)
            if found is None:
                return None
            chunks[-1] += found[0]
            at = found[1]
        else:
            if char == "\\":
                if at == len(part):
                    return None
                char = part[at]
                at += 1
            chunks[-1] += re.escape(char)
    return chunks


_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_MEMBER = re.compile(r"\[:(?P<name>[^\]\[]*):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^\\\]]))?", re.DOTALL)


def _class(part: str, at: int) -> tuple[str, int] | None:
    """Convert a class of characters to a regular expression, and return its end; None for one that is not closed or unknown."""
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    members = ""
    start = at
    while at == start or part[at : at + 1] != "]":
        match = _MEMBER.match(part, at)
        if match is None:
            return None
        at = match.end()
        if match["name"] is not None:
            if match["name"] not in _NAMED:
                return None
            members += _NAMED[match["name"]]
            continue
        low, high = match["low"][-1], (match["high"] or match["low"])[-1]
        if low <= high:
            members += f"{re.escape(low)}-{re.escape(high)}"
    if members:
        return f"[{'^' if negated else ''}{members}]", at + 1
    return (".", at + 1) if negated else None


# Files.


def paths_like(folder: str, glob: str, may_enter: Callable[[str], bool] = lambda _: True) -> Iterator[str]:
    """Find the files and folders that match a glob, relative to a folder; ``**`` matches any number of folders.

    ``may_enter`` says whether a folder may be listed. A folder is listed once, however many ways lead to it. As in a shell, a name
    that begins with a dot is matched only by a part that begins with a dot, and ``**`` does not follow links. What a wildcard finds
    through a link that leads out of the repository is left out; ``may_enter`` is called with the link, so that it can report that.
    """
    parts = glob.split("/")
    first = next((number for number, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
    steps = _glob_steps(parts[first:])
    found: set[str] = set()
    seen: set[tuple[int, int, frozenset[int]]] = set()
    start = "/".join(parts[:first]) + "/" if first else ""
    boundary = extent_of(os.path.join(folder, start))
    pending = [(start, frozenset({0}))] if steps else []
    while pending:
        path, at = pending.pop()
        at |= {number + 1 for number in at if steps[number] is None and number + 1 < len(steps)}
        known = _identity(os.path.join(folder, path), at)
        if known is None or known in seen or not may_enter(os.path.join(folder, path)):
            continue
        seen.add(known)
        if path and len(steps) - 1 in at and steps[-1] is None:
            found.add(path.rstrip("/"))
        for entry in _entries(os.path.join(folder, path)):
            after = {after for number in at for after in _after(steps, number, entry)}
            if after and entry.is_symlink() and not is_really_inside(entry.path, boundary):
                may_enter(entry.path)
                continue
            if len(steps) in after:
                found.add(f"{path}{entry.name}")
            if more := frozenset(after - {len(steps)}):
                pending.append((f"{path}{entry.name}/", more))
    yield from sorted(found)


def _glob_steps(parts: Sequence[str]) -> list[Step]:
    """Return the steps of a glob; [] for one that matches nothing."""
    steps = [None if part == "**" else _visible_step(part) for part in parts if part]
    if ".." in parts or steps.count(None) != parts.count("**"):
        return []
    # Several in a row are one.
    return [step for number, step in enumerate(steps) if step is not None or not number or steps[number - 1] is not None]


def _visible_step(part: str) -> Step:
    """Return a function that tests a name against one part; the part must begin with a dot to match a hidden name."""
    step = _step(part)
    return step if step is None or part.startswith(".") else lambda name: not name.startswith(".") and step(name)


def _after(steps: Sequence[Step], number: int, entry: os.DirEntry[str]) -> Iterator[int]:
    """Yield the steps that follow after one of them has met an entry."""
    step = steps[number]
    if step is not None:
        if step(entry.name) and (number + 1 == len(steps) or entry.is_dir()):
            yield number + 1
    elif not entry.name.startswith("."):
        if entry.is_dir(follow_symlinks=False):
            yield number
        elif number + 1 == len(steps):
            yield number + 1


def _identity(folder: str, at: frozenset[int]) -> tuple[int, int, frozenset[int]] | None:
    try:
        status = os.stat(folder or os.curdir)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, at


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            return list(entries)
    except OSError:
        return []
