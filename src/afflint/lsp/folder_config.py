"""The configuration of a folder of the editor's, read again when it changes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from afflint import config as configuration
from afflint.config import Config, ConfigError, ConfigProblem
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import MapSettings
from afflint.pipeline.session import Session


class CommandLineConfig(NamedTuple):
    """What the command line says: which configuration holds everywhere, or that none does; and what holds the nodes."""

    config_file: str | None = None
    no_config: bool = False
    nodes: tuple[str, ...] = ()


class FolderSession(NamedTuple):
    """A configuration, read: the session that it makes, and what is wrong with it."""

    session: Session
    settings: MapSettings
    problems: tuple[ConfigProblem, ...] = ()
    files: tuple[str, ...] = ()
    """The configuration files themselves."""

    @property
    def config(self) -> Config:
        return self.session.config

    def named_files(self) -> list[str]:
        """The files outside the usual that a run reads: configurations, the nodes, the baseline. Whoever watches has to know them."""
        baseline = () if self.config.baseline is None else (os.path.abspath(self.config.baseline),)
        return [*self.files, *self.config.nodes, *baseline]


class ConfiguredFolder:
    """A folder with the configuration that holds in it. Raises UserError for one that cannot be read."""

    def __init__(self, folder: str, chosen: CommandLineConfig) -> None:
        self._folder = folder
        self._chosen = chosen
        self.setup = self._read()
        self._stamps = _stamps(self.setup.files)

    def reread(self) -> bool:
        """Read the configuration again if it has changed, and say whether it had. One with mistakes leaves in force what held before."""
        files = self._files()
        if files == self.setup.files and _stamps(files) == self._stamps:
            return False
        self._stamps = _stamps(files)
        setup = self._read()
        self.setup = setup if not setup.problems else self.setup._replace(problems=setup.problems, files=setup.files)
        return True

    def _files(self) -> tuple[str, ...]:
        found = self._file()
        if found is None:
            return ()
        return tuple(dict.fromkeys((found, *(os.path.abspath(each) for each in self.setup.files))))

    def _file(self) -> str | None:
        if self._chosen.no_config:
            return None
        if self._chosen.config_file is not None:
            return os.path.abspath(self._chosen.config_file)
        found = configuration.find(self._folder)
        return found and os.path.abspath(found)

    def _read(self) -> FolderSession:
        from afflint.checks.registry import CATEGORIES, rules

        path = self._file()
        config = configuration.default()._replace(root=self._folder)
        problems: tuple[ConfigProblem, ...] = ()
        files: tuple[str, ...] = () if path is None else (path,)
        if path is not None:
            try:
                config = configuration.load(
                    path, rule_names=tuple(rules()), categories=CATEGORIES, was_found=self._chosen.config_file is None
                )
            except ConfigError as error:
                problems = error.problems
            named = [each.file for each in config.origins.values() if each.file and not each.file.startswith(configuration.SHIPPED)]
            files = tuple(dict.fromkeys((path, *map(os.path.abspath, named))))
        if self._chosen.nodes:
            config = configuration.with_overrides(config, nodes=self._chosen.nodes)
        if config.nodes != (configuration.NO_NODES,):
            config = config._replace(nodes=tuple(map(os.path.abspath, config.nodes)))
        session = Session(config)
        return FolderSession(session, session.settings(), problems, files)


def _stamps(files: Sequence[str]) -> tuple[object, ...]:
    return tuple(map(_stamp, files))


def _stamp(file: str) -> object:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
