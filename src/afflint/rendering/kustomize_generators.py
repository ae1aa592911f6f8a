"""Generators of ConfigMaps and Secrets in a kustomization: which of their entries sets a key."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.paths import Path, Step
from afflint.rendering.source_documents import SourceText
from afflint.yaml.document import list_at

_GENERATORS = ("configMapGenerator", "secretGenerator")
_ENTRIES = ("literals", "files", "envs")


def entries_that_set(text: SourceText, is_named: Callable[[Any], bool], key: Step, value: Any) -> Iterator[Path]:
    """Yield the paths of the entries that set a key to a value, in the generators of a kustomization whose name ``is_named`` accepts."""
    for field in _GENERATORS:
        for number, generator in enumerate(list_at(text.data, field)):
            if type(generator) is not dict or not is_named(generator.get("name")):
                continue
            for kind in _ENTRIES:
                listed = enumerate(list_at(generator, kind))
                yield from ((field, number, kind, place) for place, entry in listed if _sets(entry, kind, key, value))


def _sets(entry: Any, kind: str, key: Step, value: Any) -> bool:
    """Return whether an entry sets a key, as far as it shows it: a file of variables may set every key."""
    name, separator, literal = entry.partition("=") if type(entry) is str else ("", "", "")
    if kind == "literals":
        return name == key and bool(separator) and literal.strip("'\"") == value
    return kind == "envs" or (name if separator else os.path.basename(name)) == key
