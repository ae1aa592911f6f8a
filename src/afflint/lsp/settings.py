"""What an editor may set: the section ``afflint`` of its settings, or the initializationOptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, nearest, quoted, type_name

SCOPES = ("open", "workspace")


class EditorSettings(NamedTuple):
    """The settings with their defaults, each under its name in camelCase."""

    diagnostics: str = "open"
    """Of which files findings are shown: of those that are open, or of all in the workspace."""
    syntax_errors: bool = True
    """Whether documents that are no YAML, and keys that stand twice, are reported: a server for YAML does that as well."""
    unknown_fields: bool = True
    """Whether fields that Kubernetes does not know, or that have another type, are reported: a server with its schemas does so as well."""
    hints: bool = True
    """Whether selectors are followed by what they select."""
    completion: bool = True
    hover: bool = True


_LEFT_OUT = {"syntax_errors": ("unreadable-manifest", "duplicate-key"), "unknown_fields": ("unknown-field", "wrong-type")}
_NAMES = {
    "".join([first, *map(str.capitalize, rest)]): "_".join([first, *rest])
    for first, *rest in (name.split("_") for name in EditorSettings._fields)
}


def left_out(settings: EditorSettings) -> frozenset[str]:
    """The rules that another server is to report."""
    return frozenset(rule for name, rules in _LEFT_OUT.items() if not getattr(settings, name) for rule in rules)


_DEFAULTS = EditorSettings()


def read(given: Any, faults: list[str], otherwise: EditorSettings = _DEFAULTS) -> EditorSettings:
    """The settings that a client sends; what is wrong with them is added to ``faults``, and ``otherwise`` holds as where none is given."""
    if isinstance(given, dict) and isinstance(given.get("afflint"), dict):
        given = given["afflint"]
    if given is None or given == []:  # Neovim sends an empty table as a list.
        return otherwise
    if not isinstance(given, dict):
        faults.append(f"the settings are {type_name(given)}, not a map")
        return otherwise
    return otherwise._replace(**dict(_values(given, faults)))


def _values(given: dict[Any, Any], faults: list[str]) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        field = _NAMES.get(name)
        if field is None:
            faults.append(f"there is no setting {quoted(str(name))}{did_you_mean(nearest(str(name), _NAMES))}")
        elif field == "diagnostics" and value not in SCOPES:
            faults.append(f"the setting `{name}` takes `open` or `workspace`, not {quoted(value)}")
        elif field != "diagnostics" and type(value) is not bool:
            faults.append(f"the setting `{name}` takes `true` or `false`, not {quoted(value)}")
        else:
            yield field, value
