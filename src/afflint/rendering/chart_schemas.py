"""Schemas of the values of charts. Helm loads what they refer to, from the network and from any path of the machine.

After ``ValidateAgainstSingleSchema`` of helm.sh/helm/pkg/chart/common/util.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from afflint.rendering.chart_archives import FAULTS, SUFFIX, packed_files
from afflint.source.files import read_regular

_NAME = "values.schema.json"
_LARGEST = 1 << 20
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef", "$schema"))
_BUILT_IN = ("#", "http://json-schema.org/", "https://json-schema.org/")


def loads_elsewhere(folder: str) -> bool:
    """Return whether a schema of a chart, or of a chart in it, may refer to another file. ``folder`` has no links out of its repository."""
    try:
        return any(map(_refers_elsewhere, _schemas_in(folder)))
    except FAULTS:  # Helm may read what afflint cannot.
        return True


def _schemas_in(folder: str) -> Iterator[bytes]:
    waiting, seen = [folder], {os.path.realpath(folder)}
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    real = os.path.realpath(entry.path)
                    waiting += () if real in seen else (entry.path,)
                    seen.add(real)
                elif entry.name == _NAME:
                    yield read_regular(entry.path, _LARGEST)
                elif entry.name.endswith(SUFFIX):
                    yield from _packed_schemas(entry.path)


def _packed_schemas(path: str) -> Iterator[bytes]:
    for name, data in packed_files(path, lambda name: name.endswith((f"/{_NAME}", SUFFIX))):
        if name.endswith(SUFFIX):
            raise ValueError("an archive in an archive")
        yield data


def _refers_elsewhere(schema: bytes) -> bool:
    try:
        waiting = [json.loads(schema.decode("utf-8", "replace"), parse_int=str, parse_float=str, strict=False)]
    except ValueError:
        return False  # Helm rejects it, too.
    while waiting:
        each: Any = waiting.pop()
        if type(each) is dict:
            if any(type(text) is str and not text.startswith(_BUILT_IN) for key, text in each.items() if key in _REFERENCES):
                return True
            waiting += each.values()
        elif type(each) is list:
            waiting += each
    return False
