"""What the client can do, what the server offers it, and which files it is asked to watch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from afflint.lsp.settings import Settings
from afflint.lsp.text import ENCODINGS
from afflint.records import NamedTuple

SOURCE = "afflint"
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
    configures: bool = False
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
            configures=_at(announced, "workspace", "configuration") is True,
            progresses=_at(announced, "window", "workDoneProgress") is True,
            resolves_edits=isinstance(resolved, list) and "edit" in resolved,
            versions_edits=_at(announced, "workspace", "workspaceEdit", "documentChanges") is True,
            markdown=not isinstance(formats, list) or _MARKDOWN in formats,
        )


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def capabilities(client: Client, settings: Settings) -> dict[str, Any]:
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


def watchers(named: Iterable[str]) -> list[dict[str, Any]]:
    """The registration for the files whose changes matter: those of the folders, and those that the configurations name."""
    patterns = [*_PATTERNS, *dict.fromkeys(path.replace("\\", "/") for path in named)]
    options = {"watchers": [{"globPattern": each} for each in patterns]}
    return [{"id": "afflint-files", "method": "workspace/didChangeWatchedFiles", "registerOptions": options}]
