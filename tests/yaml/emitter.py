"""Writes generated data as YAML in any of its styles, and records the position of each key and each scalar."""

import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from afflint.findings.finding import Span
from afflint.findings.paths import Path
from afflint.yaml.scalars import resolve_plain

Draw = Callable[[st.SearchStrategy[Any]], Any]

_PLAIN = re.compile(r"[A-Za-z_/\u00c0-\uffff\U00010000-\U0010fffd][A-Za-z0-9_./\u00c0-\u1fff\u2100-\ud7ff\U00010000-\U0001fffd-]*")

_WORDS = [
    "web",
    "kubernetes.io/hostname",
    "5",
    "yes",
    "~",
    "",
    "a b",
    "it's",
    'say "no"',
    "#",
    "a: b",
    "- a",
    "---",
    "\u00e9",
    "e\u0301",
    "\U0001f600",
]
texts = st.sampled_from(_WORDS) | st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cn"), blacklist_characters="\u2028\u2029\ufeff"), max_size=12
)
scalars = st.one_of(texts, texts, st.integers(-1000, 1000), st.booleans(), st.none(), st.sampled_from([1.5, 0.25, 1e21]))
_nested = st.recursive(scalars, lambda below: st.lists(below, max_size=4) | st.dictionaries(texts, below, max_size=4), max_leaves=12)
documents = st.dictionaries(texts, _nested, min_size=1, max_size=4)


class Emitter:
    """One document. ``values`` and ``keys`` hold the spans by path once ``document`` has been called."""

    def __init__(self, draw: Draw, newline: str = "\n", line: int = 1) -> None:
        self._draw = draw
        self._newline = newline
        self._line = line
        self._column = 1
        self._text: list[str] = []
        self.values: dict[Path, Span] = {}
        self.keys: dict[Path, Span] = {}

    def document(self, value: Any) -> str:
        """The YAML text of a value."""
        self._noise(0)
        if self._choose("block", "flow") == "flow":
            self._flow(value, ())
            self._end_line()
        else:
            self._block(value, (), 0)
        return "".join(self._text)

    # Styles.

    def _block(self, value: Any, path: Path, indent: int, *, inline: bool = False) -> None:
        """A list or a map, an item to a line; ``inline`` when the first one goes on behind a dash."""
        entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for number, (step, below) in enumerate(entries):
            if number or not inline:
                self._noise(indent)
                self._write(" " * indent)
            if isinstance(value, dict):
                self._key(step, (*path, step))
                self._write(":")
            else:
                self._write("-")
            self._below(below, (*path, step), indent, in_map=isinstance(value, dict))

    def _below(self, value: Any, path: Path, indent: int, *, in_map: bool) -> None:
        if not isinstance(value, (dict, list)) or not value or self._choose("block", "block", "flow") == "flow":
            if value is None and self._choose("nothing", "word") == "nothing":
                if in_map:
                    self.values[path] = self.keys[path]
                else:
                    self.values[path] = Span(self._line, self._column - 1, self._line, self._column)
            else:
                self._write(" " * self._choose(1, 1, 3))
                self._flow(value, path)
            self._end_line()
        elif not in_map and self._choose(True, False):
            width = self._choose(1, 3)
            self._write(" " * width)
            self._block(value, path, indent + 1 + width, inline=True)
        else:
            self._end_line()
            # A list may be below its key without being indented.
            least = 0 if in_map and isinstance(value, list) else 1
            self._block(value, path, indent + self._draw(st.integers(least, 4)))

    def _flow(self, value: Any, path: Path) -> None:
        if isinstance(value, (dict, list)):
            self._write("{" if isinstance(value, dict) else "[")
            entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
            for number, (step, below) in enumerate(entries):
                self._write(self._choose(", ", ",") if number else "")
                if isinstance(value, dict):
                    self._key(step, (*path, step))
                    self._write(": ")
                self._flow(below, (*path, step))
            self._write("}" if isinstance(value, dict) else "]")
        else:
            self.values[path] = self._write(self._written(value))

    def _key(self, text: str, path: Path) -> None:
        self.keys[path] = self._write(self._written(text))

    def _written(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            words = ("~", "null", "Null") if value is None else ("true", "yes", "On") if value else ("false", "no", "OFF")
            return str(self._choose(*words))
        if not isinstance(value, str):
            return repr(value)
        styles = ["double"]
        if value.isprintable():
            styles.append("single")
            if _PLAIN.fullmatch(value) and resolve_plain(value) == value:
                styles += ["plain", "plain"]
        style = self._choose(*styles)
        if style == "plain":
            return value
        return json.dumps(value, ensure_ascii=False) if style == "double" else "'" + value.replace("'", "''") + "'"

    # Writing.

    def _choose(self, *options: Any) -> Any:
        return self._draw(st.sampled_from(options))

    def _write(self, text: str) -> Span:
        start = self._column
        self._text.append(text)
        self._column += len(text)
        return Span(self._line, start, self._line, self._column)

    def _end_line(self) -> None:
        if self._choose(True, False, False):
            self._write("  # \u00e9 : - [")
        self._text.append(self._newline)
        self._line += 1
        self._column = 1

    def _noise(self, indent: int) -> None:
        """Lines between others that say nothing."""
        noise = self._choose("", "", "", "comment", "blank")
        if noise == "comment":
            self._write(" " * indent + "#")
        if noise:
            self._end_line()
