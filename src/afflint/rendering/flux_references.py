"""What objects of Flux take from ConfigMaps: variables (``postBuild.substituteFrom``) and values of a chart (``valuesFrom``).

After ``LoadVariables`` of github.com/fluxcd/pkg/kustomize and ``ChartValuesFromReferences`` of github.com/fluxcd/pkg/chartutil.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.rendering.config_maps import ConfigMaps
from afflint.rendering.flux_variables import FluxVariable, Variables
from afflint.rendering.given_values import Inline, Written
from afflint.rendering.hints import ConfigReference, Hint


def resolve(hint: Hint, config_maps: ConfigMaps, starts: Sequence[str]) -> Hint:
    """Return a hint with the variables and values that it takes from ConfigMaps.

    ``starts`` are the folders of the object, and of the objects that render it: the nearest ConfigMap counts.
    """
    if not hint.variables_from and not hint.values_from:
        return hint
    variables = _variables(hint, config_maps, starts)
    inline = tuple([each for reference in hint.values_from for each in _values(reference, config_maps, starts)])
    return replace(hint, variables=variables, variables_from=(), values_from=(), inline=(*inline, *hint.inline))


def _variables(hint: Hint, config_maps: ConfigMaps, starts: Sequence[str]) -> Variables:
    """Return the variables; those of a later reference, and those of the object itself, take precedence.

    A variable that may be overridden by one that is unknown is unknown, too.
    """
    found: dict[str, FluxVariable] = {}
    is_complete = True
    for each in hint.variables_from:
        known = None if each.is_secret else config_maps.find(each.name, each.namespace, starts)
        if known is None:
            is_complete = False
        else:
            found |= {key: FluxVariable(entry.value.replace("\n", ""), entry.text, entry.path) for key, entry in known.entries.items()}
    return Variables({**found, **hint.variables.by_name}, is_complete)


def _values(reference: ConfigReference, config_maps: ConfigMaps, starts: Sequence[str]) -> Iterator[Inline]:
    known = None if reference.is_secret else config_maps.find(reference.name, reference.namespace, starts)
    entry = None if known is None else known.entries.get(reference.key)
    if entry is None:
        return
    if reference.target:
        values = _nested(reference.target, entry.value)
        if values:
            written = None if entry.text is None else Written(entry.text, entry.path)
            yield Inline(values, written, tuple(reference.target.split(".")))
        return
    for text in entry.documents():
        if type(text.data) is dict:
            yield Inline(text.data, Written(text))


def _nested(target: str, value: str) -> Mapping[str, Any]:
    """Return values with a text at a dotted path, as ``--set`` has it; an empty map for paths with escapes or indexes."""
    if any(each in target for each in "\\[]{}=,\"'") or not all(target.split(".")):
        return {}
    nested: Any = _typed(value)
    for step in reversed(target.split(".")):
        nested = {step: nested}
    return dict(nested)


def _typed(value: str) -> Any:
    """Return a text as the type that Helm gives it in ``--set``."""
    if value in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[value]
    is_number = value == "0" or (value.lstrip("-").isdecimal() and not value.lstrip("-").startswith("0") and len(value) < 19)
    return int(value) if is_number else value
