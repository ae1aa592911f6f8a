"""Patterns of .gitignore files, matched without ever trying a path in two ways.

They mean what gitignore(5) and wildmatch.c of git say; only a `?` is one character here, and there one byte.

The time to match follows the length of the pattern times that of the path, whatever stands in either: a tree to be linted may hold
patterns that are made to take for ever elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple

Step = Callable[[str], object] | None
"""Whether one name on the way is matched. None stands for ``**``: any number of folders."""


class Pattern(NamedTuple):
    """A pattern taken apart. ``steps`` lead from the top, where the patterns are said, to what is matched."""

    include: bool
    """False for a pattern that begins with ``!`` and takes back."""
    steps: tuple[Step, ...]
    only_folders: bool

    def matches(self, names: list[str], folder: bool) -> bool:
        """Whether the pattern matches a path itself, given as names from the top; ``folder``: whether it is one."""
        if self.only_folders and not folder:
            return False
        steps = self.steps
        if len(steps) == 2 and steps[0] is None and steps[1] is not None:  # The most frequent by far: a name, anywhere.
            return bool(steps[1](names[-1]))
        return len(names) in self._ends(names)

    def matches_above(self, names: list[str]) -> bool:
        """Whether the pattern matches one of the folders that a path lies in."""
        return any(end < len(names) for end in self._ends(names))

    def _ends(self, names: list[str]) -> set[int]:
        """After how many names the pattern may be at its end."""
        ends = {0}
        for number, step in enumerate(self.steps):
            if step is not None:
                ends = {end + 1 for end in ends if end < len(names) and step(names[end])}
            elif number + 1 < len(self.steps):
                ends = set(range(min(ends), len(names)))
            else:  # What lies in a folder, and not the folder itself.
                ends = set(range(min(ends) + 1, len(names) + 1))
            if not ends:
                break
        return ends


class Patterns:
    """A list of patterns, of which the last that matches decides."""

    def __init__(self, patterns: Iterable[Pattern | None]) -> None:
        self._patterns = [each for each in patterns if each is not None][::-1]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the patterns match exactly this path (True), take it back (False), or say nothing about it."""
        names = path.split("/")
        for pattern in self._patterns:
            if pattern.matches(names, folder):
                return pattern.include
        return None

    def covers(self, path: str) -> bool:
        """Whether a path is matched, itself or else by a folder that it lies in. That of a folder ends in a slash."""
        names = path.rstrip("/").split("/")
        above: bool | None = None
        for pattern in self._patterns:
            if pattern.matches(names, path.endswith("/")):
                return pattern.include
            if above is None and pattern.matches_above(names):
                above = pattern.include
        return bool(above)


def of_lines(lines: Iterable[str]) -> Patterns:
    """The patterns of a .gitignore file; comments, blank lines and what is no pattern match nothing."""
    return Patterns(pattern(line) for line in lines if not line.startswith("#"))


def pattern(text: str) -> Pattern | None:
    """One pattern; None for a text that can match nothing."""
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
    return Pattern(include, tuple(steps), only_folders)


@lru_cache(maxsize=256)
def name_matcher(globs: tuple[str, ...]) -> Callable[[str], object] | None:
    """Whether a name, which may have slashes like any other character, is matched by one of some globs; None where one matches nothing."""
    steps = [_step(each) for each in globs]
    if None in steps:
        return None
    if len(globs) == 1 and steps[0] is not None:
        return steps[0]
    return lambda name: any(step is not None and step(name) for step in steps)


def separates_by_backslash(text: str) -> bool:
    """Whether a pattern has a backslash where another has a slash: before what is no less itself without it."""
    return _BACKSLASH_FOR_SLASH.search(text) is not None


_BACKSLASH_FOR_SLASH = re.compile(r"(?<!\\)(?:\\\\)*\\(?:\w|\*[*.])")


def _without_blanks(line: str) -> str:
    """The line without the spaces at its end, but for one behind a backslash."""
    line = line.removesuffix("\r")
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + backslashes % 2]


def _step(part: str) -> Callable[[str], object] | None:
    """What tells whether a name matches one part of a pattern; None when none can."""
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
    # Between stars, the first place that fits is as good as any: a lookahead finds it, and is not entered again.
    fixed = "".join(f"(?=(?P<chunk{number}>.*?{chunk}))(?P=chunk{number})" for number, chunk in enumerate(middle) if chunk)
    return re.compile(f"{first}{fixed}.*{last}", re.DOTALL).fullmatch


_SPECIAL = re.compile(r"[*?\[\\]")


def _chunks(part: str) -> list[str] | None:
    """Regular expressions for what stands between the stars; None for a part that matches nothing."""
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
    """A class of characters as a regular expression, and where it ends; None for one that is not closed or knows no character."""
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
    """The files and folders that a glob finds from a folder on, by the way from there; a ``**`` is any number of folders.

    ``may_enter`` says whether a folder may be listed.

    A folder is looked into once, however many ways a glob has to it and links lead there. As in a shell, what begins with a dot has to be
    named with it, and ``**`` does not go through links.
    """
    parts = glob.split("/")
    first = next((number for number, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
    steps = _way(parts[first:])
    found: set[str] = set()
    seen: set[tuple[int, int, frozenset[int]]] = set()
    waiting = [("/".join(parts[:first]) + "/" if first else "", frozenset({0}))] if steps else []
    while waiting:
        way, at = waiting.pop()
        at |= {number + 1 for number in at if steps[number] is None and number + 1 < len(steps)}
        known = _identity(os.path.join(folder, way), at)
        if known is None or known in seen or not may_enter(os.path.join(folder, way)):
            continue
        seen.add(known)
        if way and len(steps) - 1 in at and steps[-1] is None:
            found.add(way.rstrip("/"))
        for entry in _entries(os.path.join(folder, way)):
            after = {after for number in at for after in _after(steps, number, entry)}
            if len(steps) in after:
                found.add(f"{way}{entry.name}")
            if more := frozenset(after - {len(steps)}):
                waiting.append((f"{way}{entry.name}/", more))
    yield from sorted(found)


def _way(parts: Sequence[str]) -> list[Step]:
    """The steps of a glob; [] for one that finds nothing."""
    steps = [None if part == "**" else _shown(part) for part in parts if part]
    if ".." in parts or steps.count(None) != parts.count("**"):
        return []
    # Several in a row are one.
    return [step for number, step in enumerate(steps) if step is not None or not number or steps[number - 1] is not None]


def _shown(part: str) -> Step:
    """What tells whether a name matches one part, which has to name the dot of a name that begins with one."""
    step = _step(part)
    return step if step is None or part.startswith(".") else lambda name: not name.startswith(".") and step(name)


def _after(steps: Sequence[Step], number: int, entry: os.DirEntry[str]) -> Iterator[int]:
    """Which steps come after a name that is met at one of them."""
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
