"""The actions of templates: Go's ``{{ … }}`` with their tokens, and Jinja's ``{% … %}`` and ``{# … #}``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple

_BEGINNING, _GO_BEGINNING = re.compile(r"\{[{%#]"), re.compile(r"\{\{")
# At one position there is only one way to match, so that the time is linear.
_GO_ACTION = re.compile(r"\{\{(?:\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|[^\"`{}]|\{(?!\{)|\}(?!\}))*\}\}")
_GO_COMMENT = re.compile(r"\{\{-?\s*/\*")
_WORD = re.compile(r"\{[{%][-+~]?\s*(/\*|\$\w*\s*(?:,\s*\$\w+\s*)?:?=|\w+)?")
_OPENING = {"{{": frozenset(("if", "range", "with", "define", "block"))}
_OPENING["{%"] = frozenset(("if", "for", "with", "block", "macro", "call", "filter", "raw"))
_TOKEN = re.compile(
    r"(?P<text>\"(?:[^\"\\]|\\.)*\"|`[^`]*`)|(?P<number>-?\d+)(?![\w.])|(?P<float>-?\d{1,18}\.\d{0,18})(?![\w.])"
    r"|(?P<path>\$\w*(?:\.\w+)*|(?:\.\w+)+|\.)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>:=|=|[|(),])|(?P<blank>\s+)"
)


class TemplateAction(NamedTuple):
    """An action of a template with its braces, between two positions of a text."""

    start: int
    end: int
    text: str


class TemplateActions(NamedTuple):
    """The actions of a text up to one of Go without an end, which begins at ``unclosed``; -1 if all have an end."""

    found: list[TemplateAction]
    unclosed: int

    @property
    def if_closed(self) -> list[TemplateAction]:
        """The actions; none if one has no end."""
        return self.found if self.unclosed < 0 else []


def actions_in(text: str, *, jinja: bool = False) -> TemplateActions:
    """Return the actions of a text: those of Go, and with ``jinja`` those of Jinja. One of Jinja without an end is literal text."""
    found: list[TemplateAction] = []
    literal: set[str] = set()
    position = 0
    while (beginning := (_BEGINNING if jinja else _GO_BEGINNING).search(text, position)) is not None:
        start, kind = beginning.start(), beginning[0]
        end = -1 if kind in literal else _end_of_action(text, start, kind)
        if end < 0 and kind == "{{":
            return TemplateActions(found, start)
        if end < 0:
            literal.add(kind)
            position = start + 2
        else:
            found.append(TemplateAction(start, end, text[start:end]))
            position = end
    return TemplateActions(found, -1)


def _end_of_action(text: str, start: int, kind: str) -> int:
    """Return where an action ends that begins with ``{{``, ``{%`` or ``{#``; -1 if it does not end."""
    if kind != "{{":
        closing = text.find(kind[1] + "}", start + 2)
        return closing + 2 if closing >= 0 else -1
    comment = _GO_COMMENT.match(text, start)
    if comment is None:
        action = _GO_ACTION.match(text, start)
        return action.end() if action is not None else -1
    end = text.find("*/", comment.end())  # Go ends a comment at the first one.
    closing = text.find("}}", end) if end >= 0 else -1
    return closing + 2 if closing >= 0 else -1


def with_replaced(text: str, actions: Iterable[TemplateAction], replacement: Callable[[str], str]) -> str:
    """Return a text with a replacement for each of its actions."""
    parts, position = [], 0
    for start, end, action in actions:
        parts += [text[position:start], replacement(action)]
        position = end
    return "".join([*parts, text[position:]])


def inside_of(action: str) -> str:
    """Return what is between the braces of an action of Go, without the marks that trim the space around it."""
    return action[2:-2].removeprefix("-").removesuffix("-").strip()


@lru_cache(maxsize=1024)
def word_of(action: str) -> str:
    """Return the first word of an action, such as ``if``; "=" for an assignment, "/*" for a comment."""
    if action.startswith("{#"):
        return "/*"
    match = _WORD.match(action)
    word = match[1] or "" if match is not None else ""
    return "=" if word.endswith("=") else word


@lru_cache(maxsize=1024)
def level_of(action: str) -> int:
    """Return 1 if an action begins a control structure, and -1 if it ends one."""
    word, opening = word_of(action), _OPENING.get(action[:2], frozenset())
    return 1 if word in opening else -1 if word == "end" or (action[:2] == "{%" and word.startswith("end")) else 0


def tokens_of(inside: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens inside an action of Go with their kinds; anything else ends them with a token of the kind `unknown`.

    A path directly after a parenthesis has the kind `field`.
    """
    position, before = 0, ""
    while position < len(inside):
        match = _TOKEN.match(inside, position)
        if match is None:
            yield "unknown", inside[position:]
            return
        position = match.end()
        kind = match.lastgroup or ""
        if kind != "blank":
            yield "field" if kind == "path" and before == ")" else kind, match[0]
        before = match[0]
