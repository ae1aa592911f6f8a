"""Templates of an ApplicationSet: placeholders, and actions with plain functions of Go templates and Sprig for texts.

After docs/operator-manual/applicationset/GoTemplate.md of argo-cd. Control structures, such as `if` and `range`, are kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Parameters = Mapping[str, str]
"""Parameters by name; names of nested maps are joined with dots."""

NO_PARAMETERS: Parameters = {}

# Both limits keep a template with many unclosed actions from taking quadratic time.
_ACTION = re.compile(r"\{\{-?((?:\"(?:[^\"\\]|\\.){0,1000}\"|`[^`]{0,1000}`|[^{}\"`]){0,600})\}\}")
_NAME = re.compile(r"\.?([\w.\-/\[\]]+)")
_TOKEN = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`|\.([\w.\-]+)|(\d+)(?![\w.])|(\w+)|(\|)|(\s+)")


_MOST_INSERTED, LONGEST_VALUE = 1 << 18, 1 << 16
"""The most characters that are inserted into data, and those of a value on its way through functions: each can make it longer."""


def fill_template(value: Any, parameters: Parameters, *, is_complete: bool = False, unknown: str | None = None) -> Any:
    """Return data with the parameters substituted in its strings.

    Placeholders without a parameter, and unknown actions, are kept, or replaced by ``unknown``. ``is_complete``: no other parameter is set,
    so that the function ``default`` is known to apply.
    """
    return _Filling(parameters, unknown, is_complete=is_complete).fill(value)


class _Filling:
    def __init__(self, parameters: Parameters, unknown: str | None, *, is_complete: bool) -> None:
        self._parameters = parameters
        self._unknown = unknown
        self._is_complete = is_complete
        self._remaining = _MOST_INSERTED

    def fill(self, value: Any) -> Any:
        if type(value) is dict:
            return {key: self.fill(each) for key, each in value.items()}
        if type(value) is list:
            return [self.fill(each) for each in value]
        return _ACTION.sub(self._filled, value) if type(value) is str and "{{" in value else value

    def _filled(self, match: re.Match[str]) -> str:
        action = _inside(match)
        name = _NAME.fullmatch(action)
        known = self._parameters.get(name[1]) if name is not None else _evaluated(action, self._parameters, is_complete=self._is_complete)
        if known is not None and len(known) <= self._remaining:
            self._remaining -= len(known)
            return known
        return match[0] if self._unknown is None else self._unknown


def used_parameter(text: str, parameters: Parameters) -> tuple[str, bool] | None:
    """Return the first of the parameters that a template uses, and whether its value is nothing but this; None without one.

    ``text`` is the line of the template from the value on, which may be quoted.
    """
    for match in _ACTION.finditer(text):
        action = _inside(match)
        name = _NAME.fullmatch(action)
        names = [name[1]] if name is not None else [each[1] for each in _NAME_IN_ACTION.finditer(action)]
        known = next((each for each in names if each in parameters), None)
        if known is not None:
            return known, not text[: match.start()].strip("\"'") and _AFTER_VALUE.match(text, match.end()) is not None
    return None


_NAME_IN_ACTION = re.compile(r"(?<![\w\"`])\.([\w.\-]+)")
_AFTER_VALUE = re.compile(r"[\"']?\s*(?:[,}\]#]|$)")


def literal_pieces(text: str) -> list[str]:
    """Return the texts between the actions of a template, without spaces around them."""
    return [each.strip() for each in _ACTION.split(text)[::2]]


def without_actions(text: str) -> str:
    """Return a template with words of the same length instead of its actions, and comments instead of lines with nothing else."""
    lines = []
    for line in text.split("\n"):
        filled = _ACTION.sub(lambda match: "x" * len(match[0]), line)
        is_action = filled != line and not _ACTION.sub("", line).strip()
        lines.append("#" * len(line) if is_action else filled)
    return "\n".join(lines)


def has_placeholder(text: str) -> bool:
    """Return whether a text contains a placeholder."""
    return "{{" in text


def unknown_action(value: Any) -> str:
    """Return the first action in data that is more than a placeholder; "" without one."""
    if type(value) in (dict, list):
        found = map(unknown_action, value.values() if type(value) is dict else value)
        return next((each for each in found if each), "")
    actions = _ACTION.finditer(value) if type(value) is str else ()
    return next((match[0] for match in actions if _NAME.fullmatch(_inside(match)) is None or _inside(match) in _KEYWORDS), "")


def _inside(action: re.Match[str]) -> str:
    """Return an action without its braces and trim markers."""
    return re.sub(r"\s-\Z", "", action[1]).strip()


_KEYWORDS = ("else", "end")


def _evaluated(action: str, parameters: Parameters, *, is_complete: bool) -> str | None:
    """Return the text of an action: stages that are joined with `|`, each a value or a function with arguments. None if it is unknown."""
    stages: list[list[tuple[str, str | None]]] = [[]]
    position = 0
    while position < len(action):
        match = _TOKEN.match(action, position)
        if match is None:
            return None
        position = match.end()
        text, raw, name, number, word, bar, _ = match.groups()
        if bar:
            stages.append([])
        elif word:
            stages[-1].append((word, None))
        elif name is not None:
            stages[-1].append(("." + name, parameters.get(name, "" if is_complete and "default" in action else None)))
        elif text is not None or raw is not None or number is not None:
            stages[-1].append(("", text if text is not None else raw if raw is not None else number))
    value: str | None = None
    for number_of_stage, stage in enumerate(stages):
        value = _stage(stage, [value] if number_of_stage else [], parameters)
        if value is None or len(value) > LONGEST_VALUE:
            return None
    return value


def _stage(stage: Sequence[tuple[str, str | None]], piped: list[str | None], parameters: Parameters) -> str | None:
    if not stage:
        return None
    (word, value), *others = stage
    if value is not None or word.startswith("."):
        return value if not others and not piped else None
    if word == "index":
        return _index(others, parameters)
    arguments = [*(each for _, each in others), *piped]
    function = TEXT_FUNCTIONS.get(word)
    if function is None or function[0] not in (len(arguments), -1) or not arguments:
        return None
    known = [each for each in arguments if each is not None]
    return function[1](known) if len(known) == len(arguments) else None


def _index(arguments: Sequence[tuple[str, str | None]], parameters: Parameters) -> str | None:
    if len(arguments) != 2 or not arguments[0][0].startswith(".") or not arguments[1][1]:
        return None
    name, step = arguments[0][0][1:], arguments[1][1]
    return parameters.get(f"{name}[{step}]", parameters.get(f"{name}.{step}"))


def as_name(text: str) -> str:
    """Return a text with everything replaced that the name of an object must not have."""
    return re.sub(r"[^a-z0-9.-]", "-", text.lower())


def _formatted(arguments: Sequence[str]) -> str | None:
    pieces = arguments[0].split("%s")
    if "%" in "".join(pieces) or len(pieces) != len(arguments):
        return None
    return "".join(text for pair in zip(pieces, [*arguments[1:], ""], strict=True) for text in pair)


def _replaced(arguments: Sequence[str]) -> str | None:
    old, new, text = arguments
    return None if len(text) + text.count(old) * len(new) > LONGEST_VALUE else text.replace(old, new)


def _cut(arguments: Sequence[str]) -> str | None:
    return arguments[1][: int(arguments[0])] if arguments[0].isdecimal() and len(arguments[0]) < 9 else None


TEXT_FUNCTIONS: Mapping[str, tuple[int, Callable[[Sequence[str]], str | None]]] = {
    "lower": (1, lambda each: each[0].lower()),
    "upper": (1, lambda each: each[0].upper()),
    "trim": (1, lambda each: each[0].strip()),
    "quote": (1, lambda each: f'"{each[0]}"'),
    "squote": (1, lambda each: f"'{each[0]}'"),
    "toString": (1, lambda each: each[0]),
    "normalize": (1, lambda each: as_name(each[0])),
    "default": (2, lambda each: each[1] or each[0]),
    "trimPrefix": (2, lambda each: each[1].removeprefix(each[0])),
    "trimSuffix": (2, lambda each: each[1].removesuffix(each[0])),
    "trunc": (2, _cut),
    "replace": (3, _replaced),
    "printf": (-1, _formatted),
}
"""Functions of texts: the number of arguments of each, -1 for any, and the function."""
