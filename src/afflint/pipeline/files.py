"""The files of a run: which there are, what they are called, and what each is there for."""

import os
from collections.abc import Iterable

from afflint.findings.finding import FileId, Folder
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import SKIPPED_FOLDERS, STDIN, Source, add_source, each_once


class Files:
    """The files of a run: all of them, numbered in the order of their places, and which of them are what.

    A file that is there in several roles is one file; as a buffer it takes the place of what is on disk. What is checked is no mere
    context. ``given`` are those that are checked in the order in which they were given.
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
        """How reports call the files, by their numbers."""
        return tuple([source.name for source in self.sources])

    def of(self, numbers: Iterable[FileId]) -> dict[FileId, Source]:
        """The sources with these numbers."""
        return {number: self.sources[number] for number in numbers}

    def folder(self, number: FileId) -> Folder:
        """The folders on the way to a file, whatever it is called; what has no place stands where afflint was started."""
        folder = os.path.dirname(self._identities[number])
        if folder not in self._folders:
            self._folders[folder] = tuple((folder or os.getcwd()).replace("\\", "/").split("/"))
        return self._folders[folder]

    def identity(self, number: FileId) -> str:
        """What is the same for one file however it is called, see ``Identities``."""
        return self._identities[number]

    def kustomizations(self) -> Kustomizations:
        """The kustomizations of the repositories that the files lie in."""
        return Kustomizations(SKIPPED_FOLDERS, [source.path for source in self.sources if source.path != STDIN])
