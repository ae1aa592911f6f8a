"""A folder of the editor's with its configuration, and what a run over it found: the run that `afflint check` would make there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint import config as configuration
from afflint.config import Config, ConfigError, ConfigProblem
from afflint.engine import Checker, FileResult, Settings
from afflint.errors import UserError
from afflint.findings import FileId, Finding, Found
from afflint.lsp.memory import Buffer, Memory
from afflint.reading.kustomizations import Kustomizations
from afflint.reading.sources import Identities, Source, relative
from afflint.records import NamedTuple
from afflint.reduction import Reduction
from afflint.session.mapping import result_of
from afflint.session.run import Files, Gathered, Options, Silencer, outcome
from afflint.session.session import Session

if TYPE_CHECKING:
    from afflint.baseline import Baseline, Entry


class Chosen(NamedTuple):
    """What the command line says: which configuration holds everywhere, or that none does; and what holds the nodes."""

    config_file: str | None = None
    no_config: bool = False
    nodes: tuple[str, ...] = ()


class State(NamedTuple):
    """What a run over a project found. ``findings`` are those of every file, by its number; ``buffers`` what was open then, by path."""

    gathered: Gathered
    findings: Mapping[FileId, Sequence[Finding]]
    silent: Mapping[FileId, Counter[Entry]]
    """The entries of the baseline that silence something, by the file that this is in."""
    baseline: Baseline | None
    buffers: Mapping[str, Buffer]

    def path(self, file: FileId) -> str:
        """Where a file of the run lies."""
        return os.path.abspath(self.gathered.files.sources[file].path)


class Setup(NamedTuple):
    """A configuration, read: the session that it makes, and what is wrong with it."""

    session: Session
    settings: Settings
    problems: tuple[ConfigProblem, ...] = ()
    files: tuple[str, ...] = ()
    """The configuration files themselves."""


class Project:
    """A folder; ``whole`` if all of it is checked, not merely what is open. ``state`` is what the last run found, None before the first."""

    def __init__(self, folder: str, chosen: Chosen, *, whole: bool) -> None:
        self.folder = folder
        self.whole = whole
        self.state: State | None = None
        self.setup = self._read(chosen)
        self.cost = 0.0
        """How many seconds the last run took, beside those in which it checked files."""
        self._chosen = chosen
        self._stamps = _stamps(self.setup.files)
        self._memory = Memory(folder)
        self._found: list[Source] = []
        self._stale = True
        self._kustomizations: Kustomizations | None = None
        self._checkers: tuple[Settings, Checker] | None = None
        self._menders: tuple[Settings, Checker] | None = None

    # The configuration.

    def reread(self) -> None:
        """Read the configuration again if it has changed. One with mistakes leaves what held before in force."""
        files = self._files()
        if files == self.setup.files and _stamps(files) == self._stamps:
            return
        self._stamps = _stamps(files)
        setup = self._read(self._chosen)
        self.setup = setup if not setup.problems else self.setup._replace(problems=setup.problems, files=setup.files)
        self._stale = True

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
        found = configuration.find(self.folder)
        return found and os.path.abspath(found)

    def _read(self, chosen: Chosen) -> Setup:
        self._chosen = chosen
        from afflint.rules import CATEGORIES, rules

        path = self._file()
        config = configuration.default()._replace(root=self.folder)
        problems: tuple[ConfigProblem, ...] = ()
        files: tuple[str, ...] = () if path is None else (path,)
        if path is not None:
            try:
                config = configuration.load(path, rule_names=tuple(rules()), categories=CATEGORIES)
            except ConfigError as error:
                problems = error.problems
            files = tuple(dict.fromkeys((path, *(os.path.abspath(each.file) for each in config.origins.values() if each.file))))
        if chosen.nodes:
            config = configuration.with_overrides(config, nodes=chosen.nodes)
        config = config._replace(nodes=tuple(map(os.path.abspath, config.nodes)))
        session = Session(config)
        return Setup(session, session.settings(), problems, files)

    def named_files(self) -> list[str]:
        """The files outside the usual that a run reads: configurations, the nodes, the baseline. Whoever watches has to know them."""
        config = self.setup.session.config
        baseline = () if config.baseline is None else (os.path.abspath(config.baseline),)
        return [*self.setup.files, *config.nodes, *baseline]

    # One document.

    @property
    def settings(self) -> Settings:
        """Those under which a file is checked."""
        return self.setup.settings if self.state is None else self.state.gathered.settings

    def checked(self, buffer: Buffer) -> Buffer:
        """The same document with what the map step gives for it."""
        settings = self.settings
        if self._checkers is None or self._checkers[0] != settings:
            self._checkers = settings, Checker(settings)
        source = Source(relative(buffer.path, self.folder), buffer.path, buffer.data)
        return buffer._replace(settings=settings, result=result_of(self._checkers[1], source))

    @property
    def mender(self) -> Checker:
        """What fixes are tried with: what the cluster refuses counts, whichever rules are asked for."""
        from afflint.rules import bound, rules

        settings = self.settings
        if self._menders is None or self._menders[0] != settings:
            besides = {name for name, rule in rules().items() if rule.category == "admission"}.difference(
                each.name for each in settings.rules
            )
            self._menders = settings, Checker(settings._replace(rules=(*settings.rules, *bound(besides))))
        return self._menders[1]

    def remaining(self, buffer: Buffer, result: FileResult, file: FileId | None, across: Sequence[Found]) -> list[Finding]:
        """The findings of a document that nothing silences. ``file`` is its number in the last run, None if it had none."""
        source = Source(buffer.path, buffer.path, buffer.data)
        if self.state is None or file is None:
            found = self._alone(source).remaining(0, source, result)[0]
            # What a suppression silences may show only when all manifests have been read.
            return [each for each in found if each.rule != "unused-suppression"]
        kept = self.state.gathered.silencer.remaining(file, source, result, across)[0]
        if self.state.baseline is None:
            return kept
        from afflint.baseline import apply, of_file

        known = of_file(self.state.baseline, source.name) | self.state.silent.get(file, Counter())
        return apply(kept, self.state.baseline._replace(known=known)).new

    def _alone(self, source: Source) -> Silencer:
        settings = self.settings
        reduction = Reduction(settings, Checker(settings).triage, (source.name,), lambda _: b"")
        if self._kustomizations is None:
            self._kustomizations = Files([source], (), ()).kustomizations()
        return Silencer(reduction, self.setup.session.options(), self._kustomizations)

    # All of them.

    @property
    def checking(self) -> float:
        """How many seconds went into checking files, so far."""
        return self._memory.seconds

    def takes(self, path: str) -> bool:
        """Whether a file that is open is one to check: what is excluded or ignored is not, though it is open."""
        if not self.whole:
            return not self.setup.session.excludes(path)
        if self.state is None or not os.path.lexists(path):
            return self.setup.session.covers(path)
        identity = Identities().of(Source(path, path))
        return identity in self.state.gathered.files.numbers

    def forget_files(self) -> None:
        """Look for the files of the folder anew in the next run."""
        self._stale = True

    def run(self, buffers: Mapping[str, Buffer], between: Callable[[int, int], None]) -> tuple[State, list[str]]:
        """What a run finds now, and what is wrong with nodes or a baseline, without which it was made then.

        ``buffers`` are the open documents by path. Raises UserError.
        """
        config = self.setup.session.config
        try:
            return self._run(config, buffers, between), []
        except UserError as error:
            smaller = _without(config, error)
            if smaller == config:
                raise
            return self._run(smaller, buffers, between), [str(error)]

    def _run(self, config: Config, buffers: Mapping[str, Buffer], between: Callable[[int, int], None]) -> State:
        session = Session(config, {path: each.data for path, each in buffers.items()})
        if self.whole and self._stale:
            self._stale = False
            self._found = Session(config).sources([self.folder])
        sources, by_path = _with_buffers(self._found, buffers, session.covers if self.whole else None)
        known = self._baseline(config)
        options = Options(mapper=self._memory.mapper(by_path, between), baseline=known)
        gathered = session.gathered(sources, options)
        kept = outcome(gathered, options._replace(baseline=None)).findings
        silent: dict[FileId, Counter[Entry]] = {}
        if known is not None:
            from afflint.baseline import apply, entry_of

            new = apply(kept, known, [gathered.files.sources[file].name for file in gathered.results]).new
            remaining = {id(each) for each in new}
            for each in kept:
                if id(each) not in remaining:
                    silent.setdefault(each.source, Counter())[entry_of(each, known.folder)] += 1
            kept = new
        findings: dict[FileId, list[Finding]] = {}
        for each in kept:
            findings.setdefault(each.source, []).append(each)
        return State(gathered, findings, silent, known, buffers)

    def _baseline(self, config: Config) -> Baseline | None:
        if not config.baseline:
            return None
        from afflint.baseline import load

        return load(os.path.abspath(config.baseline))


def _without(config: Config, error: UserError) -> Config:
    """The configuration without what may be at fault: nodes, or a baseline, that cannot be used."""
    from afflint.baseline import BaselineError

    return config._replace(baseline=None) if isinstance(error, BaselineError) else config._replace(nodes=())


def _with_buffers(
    found: Sequence[Source], buffers: Mapping[str, Buffer], covers: Callable[[str], bool] | None
) -> tuple[list[Source], dict[str, Buffer]]:
    """The files with the open documents in place of what is on disk, and those documents by the paths of their sources.

    A document that is no file yet counts if ``covers`` says so; without it all documents do.
    """
    identities = Identities()
    opened = {identities.of(Source(path, path)): buffer for path, buffer in buffers.items()}
    by_path: dict[str, Buffer] = {}
    sources: list[Source] = []
    names = {os.path.basename(path) for path in buffers}
    seen: set[str] = set()
    for source in found:
        # Only what may be open is worth asking for its identity.
        if os.path.basename(source.path) in names:
            identity = identities.of(source)
            buffer = opened.get(identity)
            if buffer is not None:
                seen.add(identity)
                by_path[source.path] = buffer
                source = source._replace(data=buffer.data)
        sources.append(source)
    for identity, buffer in opened.items():
        if identity not in seen and (covers is None or (covers(buffer.path) and not os.path.lexists(buffer.path))):
            by_path[buffer.path] = buffer
            sources.append(Source(buffer.path, buffer.path, buffer.data))
    return sources, by_path


def _stamps(files: Sequence[str]) -> tuple[object, ...]:
    return tuple(map(_stamp, files))


def _stamp(file: str) -> object:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
