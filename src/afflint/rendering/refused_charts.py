"""Charts that refuse their default values, rendered with values that their errors and templates name, or without the template that fails.

Charts that refuse the version of Kubernetes are rendered for one that they name.

A chart may require an address or a password with `fail` or `required`. What it does with placement values can be seen with any address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted, summarize_names
from afflint.rendering.chart_probes import PROBE_VALUES
from afflint.rendering.chart_trials import parts_of
from afflint.rendering.given_values import merged
from afflint.rendering.helm import ChartRendering
from afflint.rendering.line_marks import read_template, templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.roots import chart_data
from afflint.rendering.template_conditions import (
    WORD,
    GuardedPiece,
    Setting,
    condition_of,
    expressions_in,
    filled,
    guarded_pieces,
    nested,
    settings_for,
    values_in,
)
from afflint.source.sources import VALUES
from afflint.yaml.document import map_at, value_at_path
from afflint.yaml.go_syntax import Statement, Text

_MOST_RENDERS = 10
_MOST_VERSIONS = 4
_INCOMPATIBLE = re.compile(r"requires kubeVersion: (.+) which is incompatible with Kubernetes")
_SHORTEST_TEXT = 10
_NOTES = "templates/NOTES.txt"
_NIL = re.compile(r"<\$?\.Values\.([\w.]+)[^>]*>: nil pointer")
_BLAMED = re.compile(r"(?:error at \(|template: )[^/\s:()]+/([^\s:()]+):(\d+)")
_NAMED = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_FORMATTED = re.compile(r"%[-+#]?\w")
_OF_GUESS = re.compile(r"can't evaluate field|wrong type|range can't iterate|incompatible types|error converting")
"""Errors about the shape of a value, which may be that of a guess."""


class AcceptedChart(NamedTuple):
    """A chart with further values that it accepts, its output, and these values in words."""

    rendering: ChartRendering
    output: bytes
    condition: str


def accepted(rendering: ChartRendering, reason: str) -> AcceptedChart | None:
    """Return a chart with values that it accepts; None if none are found. ``reason`` is the error of Helm with its own values."""
    incompatible = _INCOMPATIBLE.search(reason)
    if incompatible is not None:
        return _accepted_for_version(rendering, incompatible[1])
    state = _RenderAttempt(reason)
    templates = _Templates(rendering.chart.folder)
    seen, tried = {reason}, set[str]()
    for _ in range(_MOST_RENDERS):
        attempt = next((each for each in templates.attempts_after(state) if repr(each) not in tried), None)
        if attempt is None:
            return None
        tried.add(repr(attempt))
        changed = replace(rendering, extra=nested(attempt.settings), without=frozenset(attempt.without))
        try:
            return AcceptedChart(changed, changed.output(), attempt.condition)
        except RenderError as error:
            if error.reason not in seen and not _OF_GUESS.search(error.reason):
                state = replace(attempt, reason=error.reason)
            seen.add(error.reason)
        except OSError:
            return None
    return None


def _accepted_for_version(rendering: ChartRendering, admitted: str) -> AcceptedChart | None:
    """Return a chart for a version of Kubernetes in the range that it admits, or one before it: `<1.25` does not contain 1.25."""
    minors = sorted({int(each) for each in _MINOR.findall(admitted)}, reverse=True)
    for minor in [*dict.fromkeys(each - less for each in minors for less in (0, 1))][:_MOST_VERSIONS]:
        changed = replace(rendering, version=f"1.{minor}")
        try:
            return AcceptedChart(changed, changed.output(), "")
        except RenderError as error:
            if _INCOMPATIBLE.search(error.reason) is None:
                return accepted(changed, error.reason)
        except OSError:
            return None
    return None


_MINOR = re.compile(r"(?<![\d.])1\.(\d{1,2})(?!\d)")


@dataclass(frozen=True, slots=True)
class _RenderAttempt:
    """What a chart is rendered with and without, and the error of Helm if it is known."""

    reason: str
    settings: tuple[Setting, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        names = [*dict.fromkeys(quoted(".".join(path)) for path, _ in self.settings)]
        return f"{summarize_names(names)} {'is' if len(names) == 1 else 'are'} set" if names else ""


class _Templates:
    """The templates of a chart and its unpacked subcharts, with the conditions in them."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._parts = [(prefix, part, chart_data(part, VALUES)) for prefix, part in parts_of(folder)]
        self._pieces = {part: [*_pieces_in(part)] for _, part, _ in self._parts}

    def attempts_after(self, state: _RenderAttempt) -> Iterator[_RenderAttempt]:
        """Yield what to try after an error: each of the values that may be its cause, then without the template."""
        for settings in self._causes(state):
            if any(each not in state.settings for each in settings):
                yield replace(state, settings=(*state.settings, *settings))
            lists = [(path, [{"name": WORD}]) for path, value in settings if value == [WORD]]
            if lists:
                yield replace(state, settings=(*state.settings, *lists))
        # A chart chooses what its errors name.
        names = [_NOTES, *(os.path.relpath(each, self._folder).replace(os.sep, "/") for each in templates_of(self._folder))]
        for name, _ in _BLAMED.findall(state.reason):
            if name in names and name not in state.without:
                yield replace(state, without=(*state.without, name))

    def _causes(self, state: _RenderAttempt) -> Iterator[list[Setting]]:
        given = nested(state.settings)
        for prefix, part, declared in self._parts:
            above = merged(self._parts[0][2], given) if prefix else given
            data = merged(declared, map_at(above, *prefix))
            causes = (*self._refusals(part, data, state.reason), *_named(data, state.reason), *self._blamed(part, data, state.reason))
            for settings in causes:
                # Those are never words.
                if all(PROBE_VALUES.keys().isdisjoint(path) for path, _ in settings):
                    yield [((*prefix, *path), value) for path, value in settings]

    def _refusals(self, part: str, data: dict[str, Any], reason: str) -> Iterator[list[Setting]]:
        """Yield what keeps a template from printing what is in an error: the required value, or that a condition around does not apply."""
        for _, (piece, guards) in self._pieces[part]:
            if not any(_is_in(each, reason) for each in _messages(piece)):
                continue
            if not isinstance(piece, Text):
                required = [each[2][-1] for each in expressions_in(piece.expression) if each[:2] == ("call", "required") and each[2]]
                yield from (found for each in required if (found := settings_for(condition_of(each), data)))
            yield from (found for each in reversed(guards) if (found := settings_for(each, data, wanted=False)))

    def _blamed(self, part: str, data: dict[str, Any], reason: str) -> Iterator[list[Setting]]:
        """Yield the values that are empty and that the lines read that an error names."""
        lines = {(os.path.join(self._folder, *name.split("/")), int(line)) for name, line in _BLAMED.findall(reason)}
        for file, (piece, _) in self._pieces[part]:
            if not isinstance(piece, Text) and (file, piece.line) in lines:
                for path in values_in(piece.expression):
                    if not value_at_path(data, *path):
                        yield [(path, filled(path, data))]


def _pieces_in(part: str) -> Iterator[tuple[str, GuardedPiece]]:
    """Yield the pieces of the templates of a chart, without those of its subcharts, with their files."""
    for file in templates_of(part):
        if os.path.relpath(file, part).startswith("templates"):
            yield from ((file, each) for each in guarded_pieces(read_template(file) or ""))


def _messages(piece: Text | Statement) -> Iterator[str]:
    """Yield the parts of messages that a piece of a template may have: its text, or what it fails with."""
    if isinstance(piece, Text):
        yield piece.text
        return
    inside = [*expressions_in(piece.expression)]
    if any(each[0] == "call" and each[1] in ("fail", "required") for each in inside):
        for each in inside:
            if each[0] == "value" and type(each[1]) is str:
                yield from _FORMATTED.split(each[1])


def _is_in(message: str, reason: str) -> bool:
    text = " ".join(message.split())
    return len(text) >= _SHORTEST_TEXT and text in reason


def _named(data: dict[str, Any], reason: str) -> Iterator[list[Setting]]:
    """Yield the values that an error names: as nil, by their path, or, if they are empty, by their name."""
    for chain in _NIL.findall(reason):
        path = tuple(chain.split("."))
        yield [(path, filled(path, data))]
    for word in dict.fromkeys(_NAMED.findall(_BLAMED.sub("", reason))):
        path = tuple(word.removeprefix("Values.").split("."))
        if path[0] in data and not value_at_path(data, *path):
            yield [(path, filled(path, data))]
