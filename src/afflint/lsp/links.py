"""The rule names in suppressions, which link to the pages of the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from afflint.findings.finding import Span
from afflint.lsp.text import EditorText

_SUPPRESSION = re.compile(r"#[ \t]*afflint:[ \t]*ignore[a-z-]*[ \t]*\[([^\]]*)\]")
_WORD = re.compile(r"[^\s,]+")


def links(text: EditorText, known: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Yield the positions of known rule names in suppressions, with the names."""
    names = frozenset(known)
    for number in range(text.line_count):
        line = text.line(number)
        if "afflint:" not in line:
            continue
        for match in _SUPPRESSION.finditer(line):
            for word in _WORD.finditer(match[1]):
                if word[0] in names:
                    start, end = match.start(1) + word.start(), match.start(1) + word.end()
                    yield Span(*text.position_of((number, start)), *text.position_of((number, end))), word[0]
