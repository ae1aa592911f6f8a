"""What the client can do, what the server offers it, and which files it is asked to watch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.settings import EditorSettings
from afflint.lsp.text import ENCODINGS
from afflint.lsp.uris import of_path

SOURCE = "afflint"
UNOPENED = "afflint-unopened"
"""The identifier under which one pulls for the files alone that are not open."""
FIX_ALL = "source.fixAll.afflint"
_INCREMENTAL = 2
_MARKDOWN = "markdown"


class Client(NamedTuple):
    """What a client announced that makes a difference."""

    encoding: str = "utf-16"
    pulls: bool = False
    refreshes_hints: bool = False
    shows_hints: bool = False
    watches: bool = False
    watches_outside: bool = False
    """Whether it can watch a file that lies in none of the open folders."""
    configures: bool = False
    registers_settings: bool = False
    registers_pulls: bool = False
    progresses: bool = False
    resolves_edits: bool = False
    versions_edits: bool = False
    markdown: bool = True

    @classmethod
    def of(cls, announced: Any) -> Client:
        """Read the capabilities of an initialize request, whatever they are."""
        units = _at(announced, "general", "positionEncodings")
        offered: Sequence[Any] = units if isinstance(units, list) else ()
        formats = _at(announced, "textDocument", "hover", "contentFormat")
        resolved = _at(announced, "textDocument", "codeAction", "resolveSupport", "properties")
        return cls(
            encoding=next((each for each in ENCODINGS if each in offered), "utf-16"),
            # Who cannot be told to ask again, as Neovim 0.11, would never see what other files say later: that one is told.
            pulls=isinstance(_at(announced, "textDocument", "diagnostic"), dict)
            and _at(announced, "workspace", "diagnostics", "refreshSupport") is True,
            refreshes_hints=_at(announced, "workspace", "inlayHint", "refreshSupport") is True,
            shows_hints=isinstance(_at(announced, "textDocument", "inlayHint"), dict),
            watches=_at(announced, "workspace", "didChangeWatchedFiles", "dynamicRegistration") is True,
            watches_outside=_at(announced, "workspace", "didChangeWatchedFiles", "relativePatternSupport") is True,
            configures=_at(announced, "workspace", "configuration") is True,
            registers_settings=_at(announced, "workspace", "didChangeConfiguration", "dynamicRegistration") is True,
            registers_pulls=_at(announced, "textDocument", "diagnostic", "dynamicRegistration") is True,
            progresses=_at(announced, "window", "workDoneProgress") is True,
            resolves_edits=isinstance(resolved, list) and "edit" in resolved,
            versions_edits=_at(announced, "workspace", "workspaceEdit", "documentChanges") is True,
            markdown=not isinstance(formats, list) or _MARKDOWN in formats,
        )


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def capabilities(client: Client, settings: EditorSettings) -> dict[str, Any]:
    """What the server offers this client."""
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
    """How to register for the files whose changes matter: those of the folders, and those that the configurations name.

    ``outside``: the client knows patterns below a folder of their own. Others are looked for in the open folders alone.
    """
    patterns: list[Any] = [*_PATTERNS]
    for path in dict.fromkeys(named):
        folder, name = os.path.split(path)
        # What a pattern means by itself is matched by what stands for any one character.
        below = {"baseUri": of_path(folder), "pattern": _SPECIAL.sub("?", name)}
        patterns.append(below if outside else path.replace("\\", "/"))
    return {"watchers": [{"globPattern": each} for each in patterns]}


def pulls_of_unopened() -> dict[str, Any]:
    """How to register for pulls of the findings in files that are not open, beside those that were offered at the start."""
    return {"documentSelector": None, "identifier": UNOPENED, "interFileDependencies": True, "workspaceDiagnostics": True}
