"""The settings of the editor: the section ``afflint`` of its settings, or the initializationOptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, nearest, quoted, type_name

SCOPES = ("open", "workspace")


class EditorSettings(NamedTuple):
    """The settings with their defaults; editors write the names in camelCase."""

    diagnostics: str = "open"
    """Whether findings are shown for open files only, or for all files of the workspace."""
    syntax_errors: bool = True
    """Whether invalid YAML and duplicate keys are reported: a YAML language server reports them as well."""
    unknown_fields: bool = True
    """Whether unknown fields and wrong types are reported: a language server with Kubernetes schemas reports them as well."""
    hints: bool = True
    """Whether an inlay hint after each selector shows what it selects."""
    completion: bool = True
    hover: bool = True
    render: bool = False
    """Whether kustomizations and charts are rendered. Only an initialization option can turn it on: see ``lsp.server``."""


_LEFT_OUT = {"syntax_errors": ("unreadable-manifest", "duplicate-key"), "unknown_fields": ("unknown-field", "wrong-type")}
_NAMES = {
    "".join([first, *map(str.capitalize, rest)]): "_".join([first, *rest])
    for first, *rest in (name.split("_") for name in EditorSettings._fields)
}


def left_out(settings: EditorSettings) -> frozenset[str]:
    """Return the rules that another language server reports."""
    return frozenset(rule for name, rules in _LEFT_OUT.items() if not getattr(settings, name) for rule in rules)


_DEFAULTS = EditorSettings()


def read(received: Any, faults: list[str], defaults: EditorSettings = _DEFAULTS) -> EditorSettings:
    """Read the settings that a client sends on top of ``defaults``; mistakes are added to ``faults``."""
    if isinstance(received, dict) and isinstance(received.get("afflint"), dict):
        received = received["afflint"]
    if received is None or received == []:  # Neovim sends an empty table as a list.
        return defaults
    if not isinstance(received, dict):
        faults.append(f"the settings are {type_name(received)}, not a map")
        return defaults
    return defaults._replace(**dict(_values(received, faults)))


def _values(received: dict[Any, Any], faults: list[str]) -> Iterator[tuple[str, Any]]:
    for name, value in received.items():
        field = _NAMES.get(name)
        if field is None:
            faults.append(f"unknown setting {quoted(str(name))}{did_you_mean(nearest(str(name), _NAMES))}")
        elif field == "diagnostics" and value not in SCOPES:
            faults.append(f"the setting `{name}` must be `open` or `workspace`, not {quoted(value)}")
        elif field != "diagnostics" and type(value) is not bool:
            faults.append(f"the setting `{name}` must be `true` or `false`, not {quoted(value)}")
        else:
            yield field, value
