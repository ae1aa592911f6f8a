"""Presets of a chart: values such as `podAntiAffinity: hard`, behind which its templates have constraints of their own.

With its default values a chart shows one of its presets, or none. The templates compare the value with literal words, or ask whether it is
true, so the other words are known as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from typing import Any

from afflint.findings.grouping import grouped
from afflint.findings.phrases import join_words, quoted
from afflint.rendering.chart_archives import SUFFIX, packed_templates
from afflint.rendering.chart_trials import ChartTrials, TrialOutput, entries, parts_of, set_value
from afflint.rendering.line_marks import read_template, templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.roots import chart_data
from afflint.source.sources import VALUES
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.document import value_at_path
from afflint.yaml.template_text import branches_in

_MOST_PRESETS = 64
_MOST_SWITCHES = 6
_SWITCH = "enabled"
_CONSTRAINT = re.compile(r"(?i)(?<!session)affinit|topologySpread|\btolerations?\b|nodeSelector\b|topologyKey\b")
_NAMES_CONSTRAINT = re.compile(r"(?i)(?<!session)affinity|spread|toleration|node_?selector")
_READ = r"[\w.$]*\.\w+"
_COMPARED = re.compile(rf"\beq\s+\(?({_READ})\s*(?:\|\s*(?:default\s+\"[^\"]*\"|toString|lower)\s*)*\)?((?:\s+\"[^\"\\]*\")+)")
_COMPARED_AFTER = re.compile(rf"\beq\s+(\"[^\"\\]*\")\s+\(?({_READ})")
_WORDS = re.compile(r"\"([^\"]+)\"")
_TRUE = re.compile(r"(?<![\w.$])\$?\.Values((?:\.\w+)+)")
_NEGATED = re.compile(r"\b(?:not|ne|empty)\s+\(?[^()]*\)?")
_PASSED = re.compile(r"\"(\w+)\"\s+\$?\.Values((?:\.\w+)+)")

Setting = tuple[tuple[str, ...], Any]
"""The path of a value and what it is set to."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Values to set together: those that enable the component first, the compared value last."""

    settings: tuple[Setting, ...]

    def __str__(self) -> str:
        conditions = [f"{quoted('.'.join(path))} is {quoted('true' if value is True else value)}" for path, value in self.settings]
        return join_words(conditions, "and")

    @property
    def enabling(self) -> tuple[Setting, ...]:
        """The settings without the last one."""
        return self.settings[:-1]


class ChartPresets:
    """The presets of one chart. ``groups`` have at most one setting for each value, so that a group can be rendered at once."""

    def __init__(self, trials: ChartTrials) -> None:
        self._trials = trials
        self._outputs: dict[tuple[Setting, ...], TrialOutput | None] = {}
        libraries = _library_texts(trials)
        found = [*dict.fromkeys(preset for part in parts_of(trials.folder) for preset in _presets_of(*part, trials, libraries))]
        self.groups = _groups(self._enabled(found[:_MOST_PRESETS]))

    def output(self, settings: Sequence[Setting]) -> TrialOutput | None:
        """Return the output with some settings; None if the chart cannot be rendered with them, or the limit is reached."""
        known = tuple(settings)
        if known not in self._outputs:
            self._outputs[known] = None
            values: dict[str, Any] = {}
            for path, value in settings:
                set_value(values, path, value)
            with suppress(RenderError):
                self._outputs[known] = self._trials.rendered(values)
        return self._outputs[known]

    def _enabled(self, presets: list[Preset]) -> list[Preset]:
        """Return the presets without those whose component cannot be enabled alone, because it needs further values."""
        switches = tuple(dict.fromkeys(setting for each in presets for setting in each.enabling))
        if self.output(switches) is not None:
            return presets
        working = {each for each in switches[:_MOST_SWITCHES] if self.output((each,)) is not None}
        return [each for each in presets if working.issuperset(each.enabling)]


def _groups(presets: Sequence[Preset]) -> list[list[Preset]]:
    """Divide presets into groups in which no value is set to two words."""
    groups: list[list[Preset]] = []
    values: list[dict[tuple[str, ...], Any]] = []
    for preset in presets:
        fitting = (number for number, known in enumerate(values) if all(known.get(path, word) == word for path, word in preset.settings))
        number = next(fitting, len(groups))
        if number == len(groups):
            groups.append([])
            values.append({})
        groups[number].append(preset)
        values[number].update(preset.settings)
    return groups


def _presets_of(prefix: tuple[str, ...], folder: str, trials: ChartTrials, libraries: Sequence[str]) -> Iterator[Preset]:
    """Yield the presets of a chart or subchart, whose values are below ``prefix``. ``libraries`` are templates that it may include."""
    declared = trials.texts.of(os.path.join(folder, VALUES))
    data = declared[0].data if len(declared) == 1 else None
    if type(data) is not dict:
        return
    own = [file for file in templates_of(folder) if os.path.relpath(file, folder).startswith("templates")]
    texts = [text for file in own if (text := read_template(file)) is not None]
    passed = _passed_in(texts)
    found = [settings for text in texts for settings in _settings_in(text, data, passed)]
    if passed:
        found += [(setting,) for text in libraries for setting in _words_in_library(text, data, passed)]
    for settings in found:
        if not _lacks_companions(settings[-1][0], data):
            whole = (*_disabled_above(settings[-1][0], data), *settings)
            yield Preset(tuple(dict.fromkeys(((*prefix, *path), value) for path, value in whole)))


def _library_texts(trials: ChartTrials) -> list[str]:
    """Return the templates of the dependencies of a chart, packed or not, as far as they are known."""
    if not chart_data(trials.folder).get("dependencies"):
        return []
    with temporary_folder() as temporary:
        top = os.path.join(temporary, "chart")
        try:
            trials.rendering.copy(top)
        except (OSError, RenderError):
            return []
        below = os.path.join(top, "charts")
        packed = glob(os.path.join(escape(below), f"*{SUFFIX}"))
        unpacked = [read_template(file) for file in templates_of(below)]
        return [text for text in (*unpacked, *(text for file in sorted(packed) for text in packed_templates(file))) if text is not None]


Passed = Mapping[str, Sequence[tuple[str, ...]]]
"""The values that templates pass to others in a `dict`, by the key there."""


def _passed_in(texts: Sequence[str]) -> Passed:
    """Return the values that decide about constraints, by their names, and that templates pass to others."""
    return grouped((match[1], _steps(match[2])) for text in texts for match in _PASSED.finditer(text) if _NAMES_CONSTRAINT.search(match[2]))


def _steps(chain: str) -> tuple[str, ...]:
    return tuple(chain.split(".")[1:])


def _settings_in(text: str, data: Mapping[str, Any], passed: Passed) -> Iterator[tuple[Setting, ...]]:
    """Yield the settings with which a template renders a branch that has constraints."""
    for action in _conditions_in(text):
        asked_for = dict.fromkeys(_steps(match[1]) for match in _TRUE.finditer(_NEGATED.sub("", action)))
        asked = [(path, True) for path in asked_for if value_at_path(data, *path) is False]
        paths = [(path, words) for read, words in _comparisons(action) for path in _paths_of(read, data, passed)]
        compared = dict.fromkeys(setting for path, words in paths for setting in _other_words(path, words, data))
        for setting in compared:
            yield (*(each for each in asked if re.search(r"\band\b", action)), setting)
        if asked and not compared:
            yield tuple(asked)


def _words_in_library(text: str, data: Mapping[str, Any], passed: Passed) -> Iterator[Setting]:
    """Yield the settings of values that are passed to the template of a library, which has constraints in a branch."""
    for action in _conditions_in(text):
        for read, words in _comparisons(action):
            if ".Values." not in read:
                for path in passed.get(_last(read), ()):
                    yield from _other_words(path, words, data)


def _conditions_in(text: str) -> list[str]:
    """Return the actions that begin the branches with constraints in a template."""
    return [each.action for each in branches_in(text) if _CONSTRAINT.search(each.text)] if _CONSTRAINT.search(text) else []


def _comparisons(action: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what an action compares with words, and these words."""
    yield from ((match[1], _WORDS.findall(match[2])) for match in _COMPARED.finditer(action))
    yield from ((match[2], _WORDS.findall(match[1])) for match in _COMPARED_AFTER.finditer(action))


def _other_words(path: tuple[str, ...], words: Sequence[str], data: Mapping[str, Any]) -> Iterator[Setting]:
    default = value_at_path(data, *path)
    if default is None or type(default) is str:
        yield from ((path, word) for word in words if word != default)


def _paths_of(read: str, data: Mapping[str, Any], passed: Passed) -> Iterator[tuple[str, ...]]:
    """Yield the values that a template may read by a chain such as `.Values.strength`, `.type` or `$preset.strength`."""
    _, is_value, chain = read.rpartition(".Values.")
    if is_value:
        yield tuple(chain.split("."))
        return
    name = _last(read)
    yield from passed.get(name, ())
    strings = (path for path, value in entries(data) if type(value) is str)
    yield from (path for path in strings if path[-1] == name and _NAMES_CONSTRAINT.search(".".join(path)))


def _last(read: str) -> str:
    return read.rpartition(".")[2]


def _lacks_companions(path: tuple[str, ...], data: Mapping[str, Any]) -> bool:
    """Return whether a value such as a `type` is in a map with empty values, which a user sets as well."""
    around = value_at_path(data, *path[:-1])
    if _NAMES_CONSTRAINT.search(path[-1]) or type(around) is not dict:
        return False
    return any(key != path[-1] and value in (None, "", [], {}) for key, value in around.items())


def _disabled_above(path: tuple[str, ...], data: Mapping[str, Any]) -> Iterator[Setting]:
    """Yield the settings that enable the components around a value."""
    for length in range(1, len(path)):
        switch = (*path[:length], _SWITCH)
        if switch != path and value_at_path(data, *switch) is False:
            yield switch, True
