"""The configuration of a folder of the editor, which is read again when it changes."""

from __future__ import annotations

import os

from afflint import config as configuration
from afflint.checks.registry import CATEGORIES, rules
from afflint.config import Config, ConfigError, ConfigProblem
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import MapSettings
from afflint.pipeline.session import Session


class CommandLineConfig(NamedTuple):
    """The options on the command line of the server: a configuration file for all folders or none at all, and the files with nodes.

    ``render`` are the tools that the user allows the server to start, on its command line or as an initialization option.
    """

    config_file: str | None = None
    no_config: bool = False
    nodes: tuple[str, ...] = ()
    render: tuple[str, ...] = ()


class FolderSession(NamedTuple):
    """A configuration that has been read: its session, and the mistakes in it."""

    session: Session
    settings: MapSettings
    problems: tuple[ConfigProblem, ...] = ()
    files: tuple[str, ...] = ()
    """The configuration files."""

    @property
    def config(self) -> Config:
        """The configuration of the session."""
        return self.session.config

    def named_files(self) -> list[str]:
        """Return the files that a run reads apart from manifests, and that have to be watched: configurations, nodes and the baseline."""
        baseline = () if self.config.baseline is None else (os.path.abspath(self.config.baseline),)
        return [*self.files, *self.config.nodes, *baseline]


class ConfiguredFolder:
    """A folder with its configuration. Raises UserError for a configuration that cannot be read."""

    def __init__(self, folder: str, command_line: CommandLineConfig) -> None:
        self._folder = folder
        self._command_line = command_line
        self.setup = self._read()
        self._stamps = [*map(file_stamp, self.setup.files)]

    def reread(self) -> bool:
        """Read the configuration again if it has changed, and return whether it had.

        The previous one stays in force if the new one has mistakes.
        """
        path = self._file()
        files = () if path is None else tuple(dict.fromkeys((path, *self.setup.files)))
        stamps = [*map(file_stamp, files)]
        if files == self.setup.files and stamps == self._stamps:
            return False
        self._stamps = stamps
        setup = self._read()
        self.setup = setup if not setup.problems else self.setup._replace(problems=setup.problems, files=setup.files)
        return True

    def _file(self) -> str | None:
        if self._command_line.no_config:
            return None
        if self._command_line.config_file is not None:
            return os.path.abspath(self._command_line.config_file)
        path = configuration.find(self._folder)
        return path and os.path.abspath(path)

    def _read(self) -> FolderSession:
        path = self._file()
        config = configuration.default()._replace(root=self._folder)
        problems: tuple[ConfigProblem, ...] = ()
        files: tuple[str, ...] = () if path is None else (path,)
        if path is not None:
            try:
                config = configuration.load(
                    path, rule_names=tuple(rules()), categories=CATEGORIES, was_found=self._command_line.config_file is None
                )
            except ConfigError as error:
                problems = error.problems
            named = [each.file for each in config.origins.values() if each.file and not each.file.startswith(configuration.SHIPPED)]
            files = tuple(dict.fromkeys((path, *map(os.path.abspath, named))))
        if self._command_line.nodes:
            config = configuration.with_overrides(config, nodes=self._command_line.nodes)
        if self._command_line.render:
            config = configuration.with_overrides(config, render=self._command_line.render)
        if config.nodes != (configuration.NO_NODES,):
            config = config._replace(nodes=tuple(map(os.path.abspath, config.nodes)))
        session = Session(config)
        return FolderSession(session, session.settings(), problems, files)


def file_stamp(path: str) -> tuple[int, int, int] | None:
    """Return a value that changes with a file: modification time, size and inode number; None for a missing file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
