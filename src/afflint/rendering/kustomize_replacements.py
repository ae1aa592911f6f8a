"""Replacements of a kustomization: which fields they set, and where they take the value from.

After ``ReplacementTransformer`` and ``SmarterPathSplitter`` of sigs.k8s.io/kustomize.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step
from afflint.rendering.source_documents import SourceText
from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at

FIELD, TRANSFORMER = "replacements", "ReplacementTransformer"
SOURCE_VALUE = "sourceValue"
_STEP = re.compile(r"\[([^\]]*)\]|((?:\\.|[^.\[])+)")
_PART = "delimiter"


class Replacement(NamedTuple):
    """An entry of ``replacements``: its document, its path there, and its data."""

    text: SourceText
    path: Path
    data: Mapping[str, Any]

    @property
    def source(self) -> Mapping[str, Any]:
        """The object that the value is taken from: the fields of a selector."""
        return map_at(self.data, "source")

    def targets(self, path: Path) -> Iterator[tuple[Mapping[str, Any], Path, bool]]:
        """Yield each target that sets a path: its selector, the rest of the path, and whether it sets only a part of the text."""
        for each in maps_at(self.data, "targets"):
            is_part = _PART in map_at(each, "options") or _PART in map_at(self.source, "options")
            for field in texts_at(each, "fieldPaths") or ["metadata.name"]:
                steps = _steps(field)
                if len(steps) <= len(path) and all(map(_may_be, steps, path)):
                    yield map_at(each, "select"), path[len(steps) :], is_part

    def source_path(self, data: Any) -> Path | None:
        """Return the path in an object that the value is taken from; None if the object does not have it."""
        found: list[Step] = []
        for written in _steps(text_at(self.source, "fieldPath") or "metadata.name"):
            step = _step_in(data, written)
            if step is None:
                return None
            found.append(step)
            data = data[step]
        return tuple(found)


def replacements_in(text: SourceText, load: Callable[[Any], list[SourceText]]) -> Iterator[Replacement]:
    """Yield the replacements of a kustomization, or of a transformer. ``load`` returns the documents of a file that it names."""
    for number, entry in enumerate(list_at(text.data, FIELD)):
        if type(entry) is not dict:
            continue
        if "path" not in entry:
            yield Replacement(text, (FIELD, number), entry)
            continue
        for each in load(entry["path"]):
            if type(each.data) is dict:
                yield Replacement(each, (), each.data)
            else:
                listed = enumerate(each.data if type(each.data) is list else ())
                yield from (Replacement(each, (place,), one) for place, one in listed if type(one) is dict)


def _steps(field: str) -> list[str]:
    """Return the steps of a field path, which are separated by dots; brackets keep the dots in them."""
    return [match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2]) for match in _STEP.finditer(field)]


def _may_be(written: str, step: Step) -> bool:
    """Return whether a step of a field path may be a step of a path. The index of an item changes as others are added."""
    if type(step) is int:
        return written in ("*", "-") or "=" in written or written.isdigit()
    return written in ("*", step)


def _step_in(data: Any, written: str) -> Step | None:
    if type(data) is dict:
        return written if written in data else None
    if type(data) is not list:
        return None
    if written.isdigit():
        return int(written) if int(written) < len(data) else None
    key, _, value = written.partition("=")
    return next((number for number, each in enumerate(data) if type(each) is dict and str(each.get(key)) == value), None)
