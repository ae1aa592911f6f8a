"""Templates of an ApplicationSet: placeholders, and actions with plain functions of Go templates and Sprig for texts.

After docs/operator-manual/applicationset/GoTemplate.md of argo-cd. Control structures, such as `if` and `range`, are kept as they are, and
so is everything after an action without an end. All parameters are texts here, so functions of other types are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from afflint.rendering.go_templates import (
    UNKNOWN,
    UNSET,
    Evaluator,
    ValueTooLargeError,
)
from afflint.yaml.go_functions import TEXT_FUNCTIONS, as_text
from afflint.yaml.go_syntax import Expression, GoSyntaxError, parse_pipeline
from afflint.yaml.template_actions import actions_in, inside_of, tokens_of, with_replaced

Parameters = Mapping[str, str]
"""Parameters by name; names of nested maps are joined with dots."""

NO_PARAMETERS: Parameters = {}

_NAME = re.compile(r"\.?([\w.\-/\[\]]+)")
_FORMAT_OF_NUMBERS = re.compile("%[dv]")
_KEYWORDS = ("else", "end")
_LONGEST = 80
_MOST_INSERTED = 1 << 18
"""The most characters that are inserted into data."""


def fill_template(value: Any, parameters: Parameters, *, is_complete: bool = False, unknown: str | None = None) -> Any:
    """Return data with the parameters substituted in its strings.

    Placeholders without a parameter, and unknown actions, are kept, or replaced by ``unknown``. ``is_complete``: no other parameter is set,
    so that the function ``default`` is known to apply.
    """
    return _Filling(data=parameters, is_complete=is_complete, unknown=unknown).fill(value)


@dataclass(kw_only=True)
class _Filling(Evaluator):
    unknown: str | None
    _remaining: int = _MOST_INSERTED

    def fill(self, value: Any) -> Any:
        if type(value) is dict:
            return {key: self.fill(each) for key, each in value.items()}
        if type(value) is list:
            return [self.fill(each) for each in value]
        return with_replaced(value, actions_in(value).found, self._filled) if type(value) is str and "{{" in value else value

    def _filled(self, text: str) -> str:
        inside = inside_of(text)
        name = _NAME.fullmatch(inside)
        known = self.data.get(name[1]) if name is not None else self._evaluated(inside)
        if known is not None and len(known) <= self._remaining:
            self._remaining -= len(known)
            return known
        return text if self.unknown is None else self.unknown

    def _evaluated(self, inside: str) -> str | None:
        """Return the text of an action; None if it is unknown."""
        try:
            found = as_text(self.value(_expression_of(inside), None, {}))
        except (GoSyntaxError, ValueTooLargeError):
            return None
        return found

    def at_path(self, root: Any, names: Sequence[str], dot: Any, variables: Any) -> Any:
        if root not in (".", "$"):
            return super().at_path(root, names, dot, variables)
        return self.data.get(".".join(names), UNSET if names and self.is_complete else UNKNOWN)

    def called(self, name: str, expressions: Sequence[Any], dot: Any, variables: Any) -> Any:
        if name == "index" and len(expressions) == 2 and expressions[0][0] == "path" and expressions[0][1] in (".", "$"):
            above, step = ".".join(expressions[0][2]), as_text(self.value(expressions[1], dot, variables))
            return self.data.get(f"{above}[{step}]", self.data.get(f"{above}.{step}", UNKNOWN)) if above and step else UNKNOWN
        if name == "printf" and expressions and expressions[0][0] == "value" and _FORMAT_OF_NUMBERS.search(str(expressions[0][1])):
            return UNKNOWN
        return super().called(name, expressions, dot, variables) if name == "default" or name in TEXT_FUNCTIONS else UNKNOWN


@lru_cache(maxsize=256)
def _expression_of(inside: str) -> Expression:
    return parse_pipeline(tokens_of(inside), inside)


def used_parameter(text: str, parameters: Parameters) -> tuple[str, bool] | None:
    """Return the first of the parameters that a template uses, and whether its value is nothing but this; None without one.

    ``text`` is the line of the template from the value on, which may be quoted.
    """
    for start, end, action in actions_in(text).found:
        name = _NAME.fullmatch(inside_of(action))
        names = [name[1]] if name is not None else [each[1] for each in _NAME_IN_ACTION.finditer(action)]
        known = next((each for each in names if each in parameters), None)
        if known is not None:
            return known, not text[:start].strip("\"'") and _AFTER_VALUE.match(text, end) is not None
    return None


_NAME_IN_ACTION = re.compile(r"(?<![\w\"`])\.([\w.\-]+)")
_AFTER_VALUE = re.compile(r"[\"']?\s*(?:[,}\]#]|$)")


def literal_pieces(text: str) -> list[str]:
    """Return the texts between the actions of a template, without spaces around them."""
    return [each.strip() for each in with_replaced(text, actions_in(text).found, lambda _: "\0").split("\0")]


def without_actions(text: str) -> str:
    """Return a template with words of the same length instead of its actions, and comments instead of lines with nothing else."""
    lines = []
    for line in text.split("\n"):
        actions = actions_in(line).found
        is_action = actions and not with_replaced(line, actions, lambda _: "").strip()
        lines.append("#" * len(line) if is_action else with_replaced(line, actions, lambda each: "x" * len(each)))
    return "\n".join(lines)


def has_placeholder(text: str) -> bool:
    """Return whether a text contains a placeholder."""
    return "{{" in text


def unknown_action(value: Any) -> str:
    """Return the first action in data that is more than a placeholder, or that has no end; "" without one."""
    if type(value) in (dict, list):
        found = map(unknown_action, value.values() if type(value) is dict else value)
        return next((each for each in found if each), "")
    if type(value) is not str:
        return ""
    actions, unclosed = actions_in(value)
    without_end = value[unclosed:][:_LONGEST].partition("\n")[0] if unclosed >= 0 else ""
    texts = (each.text for each in actions)
    return next((each for each in texts if _NAME.fullmatch(inside_of(each)) is None or inside_of(each) in _KEYWORDS), without_end)
