"""The capabilities of the client, the capabilities that the server offers, and the files that the client watches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.settings import EditorSettings
from afflint.lsp.text import ENCODINGS
from afflint.lsp.uris import to_uri

SOURCE = "afflint"
UNOPENED = "afflint-unopened"
"""The identifier of diagnostic requests for the files that are not open."""
FIX_ALL = "source.fixAll.afflint"
_INCREMENTAL = 2
_MARKDOWN = "markdown"


class Client(NamedTuple):
    """The capabilities of a client that affect the server."""

    encoding: str = "utf-16"
    pulls: bool = False
    refreshes_hints: bool = False
    shows_hints: bool = False
    watches: bool = False
    watches_outside: bool = False
    """Whether it can watch a file outside the open folders."""
    configures: bool = False
    registers_settings: bool = False
    registers_pulls: bool = False
    progresses: bool = False
    resolves_edits: bool = False
    versions_edits: bool = False
    markdown: bool = True

    @classmethod
    def of(cls, announced: Any) -> Client:
        """Read the capabilities of an initialize request; values of unexpected types count as missing."""
        units = _value_at(announced, "general", "positionEncodings")
        offered: Sequence[Any] = units if isinstance(units, list) else ()
        formats = _value_at(announced, "textDocument", "hover", "contentFormat")
        resolved = _value_at(announced, "textDocument", "codeAction", "resolveSupport", "properties")
        return cls(
            encoding=next((each for each in ENCODINGS if each in offered), "utf-16"),
            # A client that the server cannot ask to pull again, such as Neovim 0.11, would miss the effects of changes in other files.
            pulls=isinstance(_value_at(announced, "textDocument", "diagnostic"), dict)
            and _value_at(announced, "workspace", "diagnostics", "refreshSupport") is True,
            refreshes_hints=_value_at(announced, "workspace", "inlayHint", "refreshSupport") is True,
            shows_hints=isinstance(_value_at(announced, "textDocument", "inlayHint"), dict),
            watches=_value_at(announced, "workspace", "didChangeWatchedFiles", "dynamicRegistration") is True,
            watches_outside=_value_at(announced, "workspace", "didChangeWatchedFiles", "relativePatternSupport") is True,
            configures=_value_at(announced, "workspace", "configuration") is True,
            registers_settings=_value_at(announced, "workspace", "didChangeConfiguration", "dynamicRegistration") is True,
            registers_pulls=_value_at(announced, "textDocument", "diagnostic", "dynamicRegistration") is True,
            progresses=_value_at(announced, "window", "workDoneProgress") is True,
            resolves_edits=isinstance(resolved, list) and "edit" in resolved,
            versions_edits=_value_at(announced, "workspace", "workspaceEdit", "documentChanges") is True,
            markdown=not isinstance(formats, list) or _MARKDOWN in formats,
        )


def _value_at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def capabilities(client: Client, settings: EditorSettings) -> dict[str, Any]:
    """Return the capabilities that the server offers to this client."""
    offered: dict[str, Any] = {
        "positionEncoding": client.encoding,
        "textDocumentSync": {"openClose": True, "change": _INCREMENTAL, "save": {"includeText": False}},
        "codeActionProvider": {"codeActionKinds": ["quickfix", FIX_ALL], "resolveProvider": client.resolves_edits},
        "definitionProvider": True,
        "referencesProvider": True,
        "documentLinkProvider": {"resolveProvider": False},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
    if settings.hover:
        offered["hoverProvider"] = True
    if settings.completion:
        offered["completionProvider"] = {"triggerCharacters": [":", " ", "-", "/", "{", "[", ","], "resolveProvider": False}
    if client.pulls:
        offered["diagnosticProvider"] = {
            "identifier": SOURCE,
            "interFileDependencies": True,
            "workspaceDiagnostics": settings.diagnostics == "workspace",
        }
    if settings.hints:
        offered["inlayHintProvider" if client.shows_hints else "codeLensProvider"] = {"resolveProvider": False}
    return offered


_PATTERNS = (
    "**/*.{yaml,yml,json}",
    "**/.afflint.{yaml,yml}",
    "**/pyproject.toml",
    "**/.gitignore",
    "**/kustomization.{yaml,yml}",
    "**/Kustomization",
)


_SPECIAL = re.compile(r"[][{}*?\\!]")


def watchers(named: Iterable[str], *, outside: bool) -> dict[str, Any]:
    """Return the registration options for the files whose changes matter: files in the folders, and files that configurations name.

    ``outside``: the client supports patterns relative to any folder. Other clients only watch files in the open folders.
    """
    patterns: list[Any] = [*_PATTERNS]
    for path in dict.fromkeys(named):
        folder, name = os.path.split(path)
        # Patterns have no escape character; `?` matches any single character.
        below = {"baseUri": to_uri(folder), "pattern": _SPECIAL.sub("?", name)}
        patterns.append(below if outside else path.replace("\\", "/"))
    return {"watchers": [{"globPattern": each} for each in patterns]}


def pulls_of_unopened() -> dict[str, Any]:
    """Return the registration options for diagnostics of files that are not open, in addition to those offered at the start."""
    return {"documentSelector": None, "identifier": UNOPENED, "interFileDependencies": True, "workspaceDiagnostics": True}
