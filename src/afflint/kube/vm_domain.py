"""The fields of the `domain` of a virtual machine: those of its CustomResourceDefinition; the API server refuses others.

The data is schemas/kubevirt-domain.json, made by tools/kubevirt_domain.py. It is read by the first run that meets a virtual machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from afflint.findings.finding import Path
from afflint.kube.types import ANYTHING, ListOf, Mismatch, Struct, Type

NAME = "domain"
"""How messages name the outermost object; those inside are named ``domain.cpu``."""


class Domain(Type):
    """The type of the domain. Values that are not objects fit: only unknown fields are looked for."""

    __slots__ = ()
    expected = "an object"

    def fits(self, value: Any) -> bool:
        return next(self.mismatches(value, ()), None) is None

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if type(value) is dict and value:
            yield from (each for each in _domain().mismatches(value, path) if each.what == "unknown")


@cache
def _domain() -> Type:
    import json

    from afflint.resources import directory

    with open(os.path.join(directory("schemas"), "kubevirt-domain.json"), encoding="utf-8") as file:
        return _type(NAME, json.load(file))


def _type(name: str, fields: Any) -> Type:
    """The type of what the file has for a field: a map is an object, a list a list of objects, anything else any value."""
    if isinstance(fields, dict):
        return Struct(name, {field: _type(f"{name}.{field}", below) for field, below in fields.items()})
    return ListOf(_type(name, fields[0])) if isinstance(fields, list) else ANYTHING
