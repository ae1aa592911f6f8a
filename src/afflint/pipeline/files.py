"""The files of a run: their numbers, names and roles."""

from __future__ import annotations

import os
from collections.abc import Iterable

from afflint.findings.finding import FileId, Folder
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import SKIPPED_FOLDERS, STDIN, Source, add_source, each_once


class Files:
    """The files of a run, numbered in the order of their paths, and the role of each: checked, context, nodes.

    A file with several roles has one number. A buffer of an editor replaces the file on disk. A file that is checked is not also
    context. ``given`` are the checked files in the order in which the user named them.
    """

    def __init__(self, checked: Iterable[Source], context: Iterable[Source], nodes: Iterable[Source]) -> None:
        roles = [each_once(sources) for sources in (checked, context, nodes)]
        found: dict[str, Source] = {}
        for role in roles:
            for identity, source in role.items():
                add_source(found, identity, source)
        ordered = sorted(found)
        numbers: dict[str, FileId] = {identity: number for number, identity in enumerate(ordered)}
        self.numbers = numbers
        """The numbers by the identities of the files, see ``Identities``."""
        self._identities = ordered
        self._folders: dict[str, Folder] = {}
        self.sources = tuple([found[identity] for identity in ordered])
        self.given, context_given, self.nodes = ([numbers[identity] for identity in role] for role in roles)
        self.checked = sorted(self.given)
        self.context = sorted(set(context_given).difference(self.given))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files in reports, by their numbers."""
        return tuple([source.name for source in self.sources])

    def of(self, numbers: Iterable[FileId]) -> dict[FileId, Source]:
        """The sources with these numbers."""
        return {number: self.sources[number] for number in numbers}

    def folder(self, number: FileId) -> Folder:
        """Return the folders of the absolute path of a file; for input without a path, those of the working directory."""
        folder = os.path.dirname(self._identities[number])
        if folder not in self._folders:
            self._folders[folder] = tuple((folder or os.getcwd()).replace("\\", "/").split("/"))
        return self._folders[folder]

    def identity(self, number: FileId) -> str:
        """Return the identity of a file, which is the same under all its names, see ``Identities``."""
        return self._identities[number]

    def kustomizations(self) -> Kustomizations:
        """Return the kustomizations of the repositories that contain the files."""
        return Kustomizations(SKIPPED_FOLDERS, [source.path for source in self.sources if source.path != STDIN])
