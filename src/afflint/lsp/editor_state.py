"""What is open in the editor: folders with their projects, and documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from afflint.lsp.capabilities import Client
from afflint.lsp.document import DocumentTexts, ServerDocument
from afflint.lsp.project import Project
from afflint.lsp.settings import EditorSettings
from afflint.lsp.uris import to_path


class EditorState:
    """The open folders and documents, and how the client wants them. ``new_project`` makes the project of a folder."""

    def __init__(self, new_project: Callable[[str, bool], Project]) -> None:
        self._new_project = new_project
        self.client = Client()
        self.settings = EditorSettings()
        self.projects: dict[str, Project] = {}
        """The projects by folder."""
        self.documents: dict[str, ServerDocument] = {}
        """The open documents that are checked, by URI."""
        self.templates: dict[str, ServerDocument] = {}
        """Open templates: only findings of rendered output are shown in them."""
        self.too_large: set[str] = set()
        """The URIs of open documents that are too large to be checked."""

    def opened(self, uri: str) -> ServerDocument | None:
        """Return an open document, which may be a template."""
        return self.documents.get(uri) or self.templates.get(uri)

    def all_opened(self) -> Iterator[ServerDocument]:
        """Yield the open documents, then the open templates."""
        yield from self.documents.values()
        yield from self.templates.values()

    @property
    def texts(self) -> DocumentTexts:
        """The texts of the open documents, to which findings in other files refer."""
        return DocumentTexts(list(self.all_opened()), self.client.encoding)

    def path(self, uri: Any) -> str | None:
        """Return the path of a document; for one that was never saved, a path in the first folder."""
        if not isinstance(uri, str):
            return None
        if uri.startswith("untitled:"):
            folder = next((each.folder for each in self.projects.values() if each.all_files), os.getcwd())
            name = "".join(char if char.isalnum() or char in "-_." else "-" for char in uri.removeprefix("untitled:"))
            return os.path.join(folder, name if name.endswith((".yaml", ".yml", ".json")) else f"{name}.yaml")
        return to_path(uri)

    def open_folder(self, path: str) -> None:
        """Add the project of a folder that is open in the editor."""
        self.projects[path] = self._new_project(path, True)

    def project_of(self, path: str) -> Project:
        """Return the project of the innermost folder that contains a file.

        A file outside the open folders belongs to a project with the other open files in its folder.
        """
        inner = innermost([project for project in self.projects.values() if project.all_files], path)
        if inner is not None:
            return inner
        folder = os.path.dirname(path)
        if folder not in self.projects:
            self.projects[folder] = self._new_project(folder, False)
        return self.projects[folder]


def innermost(projects: list[Project], path: str) -> Project | None:
    """Return the project whose folder contains a file; the innermost of several."""
    return max((each for each in projects if is_in(path, each.folder)), key=lambda each: len(each.folder), default=None)


def is_in(path: str, folder: str) -> bool:
    """Return whether a file is in a folder or below it."""
    return path.startswith(os.path.join(folder, ""))
