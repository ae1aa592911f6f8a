"""The two states of a comparison: their files, their sessions and their findings. The work tree is read, and never written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from afflint.changes import findings
from afflint.changes.configurations import Load, config_of
from afflint.changes.git import Range, Repository, TreeEntry
from afflint.changes.map_once import MapOnce
from afflint.changes.snapshot import Snapshot, extract, snapshot_folder, wanted_files, working_in
from afflint.config import CONFIG_FILES
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.source.repositories import is_inside
from afflint.source.sources import STDIN, SUFFIXES, Source, SourceError

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.pipeline.options import Options
    from afflint.pipeline.place_inputs import PlaceInputs
    from afflint.pipeline.rendered import RenderedRun
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session

WORK_TREE = "work tree"
_MOST_NAMED = 3


class State:
    """One side of a comparison: a commit in a snapshot, or the work tree."""

    def __init__(
        self,
        session: Session,
        paths: Sequence[str],
        skipped: Sequence[str],
        snapshot: Snapshot | None = None,
        *,
        force_exclude: bool = False,
    ) -> None:
        """``session`` has the configuration of this state.

        ``skipped``: the files and folders that are not compared, relative to the working directory.
        """
        self.session = session
        self.folder = os.getcwd() if snapshot is None else snapshot.folder_of(os.getcwd())
        self._snapshot = snapshot
        self._paths = paths
        self._skipped = skipped
        self._force_exclude = force_exclude
        self._rendered: tuple[Sequence[Source], RenderedRun | None] | None = None

    @contextmanager
    def entered(self) -> Iterator[Session]:
        """Run in the folder of this state, in which files have the same names as in the other state."""
        with working_in(self.folder):
            yield self.session

    def sources(self) -> list[Source]:
        """Return the files that are checked, without those that are not compared; none for a path that this state does not have."""
        found = self.session.sources(self._known_paths(), force_exclude=self._force_exclude)
        if self._skipped:
            found = [each for each in found if not any(is_inside(os.path.normpath(each.path), path) for path in self._skipped)]
        # Worker processes need not have this working directory.
        return [each._replace(path=os.path.abspath(each.path)) for each in found] if self._snapshot is not None else found

    def _known_paths(self) -> list[str]:
        if self._snapshot is None:
            return list(self._paths)
        return [path for path in self._paths if _exists(path)]

    def render(self, options: Options, *, network: bool = False, offline: bool = False) -> RenderedRun | None:
        """Render the kustomizations and charts of this state, once; return None if none are rendered."""
        if self._rendered is None:
            sources, with_renders = self.session.with_renders(self.sources(), options, network=network, offline=offline)
            self._rendered = sources, with_renders.renders
        return self._rendered[1]

    def check(self, options: Options) -> Outcome:
        """Return the findings of this state."""
        return self.session.check(*self._with_renders(options))

    def place(self, options: Options, node_files: Sequence[Source] | None, pods: Sequence[str], **more: Any) -> PlaceInputs:
        """Return the input of the simulation of this state."""
        sources, options = self._with_renders(options)
        running = [self._snapshot.path_of(path) for path in pods] if self._snapshot is not None else pods
        session, config = self.session, self.session.config
        if config.select is not None or config.ignore:
            # Which rules are reported makes no difference to what the API server rejects.
            session = session.under(config._replace(select=None, ignore=()))
        return session.simulation_input(sources, running, options=options, node_files=node_files, lines=False, needs_nodes=False, **more)

    def shown(self, text: str) -> str:
        """Return the output of another program with the paths of the repository in place of those of the snapshot."""
        return text if self._snapshot is None else text.replace(self._snapshot.top, "")

    def _with_renders(self, options: Options) -> tuple[Sequence[Source], Options]:
        renders = self.render(options)
        assert self._rendered is not None
        sources = self._rendered[0] if renders is None else renders.sources
        return sources, options._replace(renders=renders)


@contextmanager
def of_base(name: str) -> Iterator[None]:
    """Say in errors about the usage that they are about the base."""
    try:
        yield
    except UserError as error:
        raise UserError(f"in the base ({name}): {error}") from None


def _exists(path: str) -> bool:
    """Return whether files match a path or glob."""
    if os.path.lexists(path):
        return True
    from afflint.source.sources import discover

    try:
        return any(True for _ in discover((path,)))
    except SourceError:
        return False


class States(NamedTuple):
    """Both sides of a comparison, with their names in reports and the notes about what is not compared."""

    base: State
    head: State
    base_name: str
    head_name: str
    contents: Mapping[str, bytes]
    """The checksums of the files of commits, by their absolute paths."""
    notes: tuple[str, ...] = ()
    not_rendered: int = 0
    """How many kustomizations and charts are not compared because they cannot be rendered."""

    def rendered(self, options: Options, *, network: bool = False, offline: bool = False) -> States:
        """Render both sides, and return them with notes about the roots that are not compared.

        A root that cannot be rendered on one side is not compared: what it contains would seem to be new, or to be gone.
        """
        with self.head.entered():
            head = self.head.render(options, network=network, offline=offline)
        with self.base.entered(), of_base(self.base_name):
            base = self.base.render(options, network=network, offline=offline)
        if head is None or base is None:
            return self
        failed = {
            **{root: self.base.shown(reason) for root, reason in base.failed.items()},
            **{root: self.head.shown(reason) for root, reason in head.failed.items()},
        }
        if failed:
            names = head.leave_out(failed.keys()) | base.leave_out(failed.keys())
            head.drop(names)
            base.drop(names)
        notes = []
        for (tool, name), reason in sorted(failed.items()):
            where = [state for state, renders in ((self.base_name, base), (self.head_name, head)) if (tool, name) in renders.failed]
            notes.append(f"{name} is not compared, because {tool} cannot render it in {' and '.join(where)}: {reason}")
        return self._replace(notes=(*self.notes, *notes), not_rendered=len(failed))

    def mapper(self, options: Options, *, placing: bool) -> MapOnce:
        """Return a map step for both sides that maps a file once if both have it."""
        return MapOnce(self.contents, placing=placing, workers=options.workers, cache=options.cache, progress=options.progress)


@contextmanager
def opened(
    session: Session,
    asked: Callable[[Repository], Range],
    paths: Sequence[str],
    more: Sequence[str | None] = (None,),
    *,
    load: Load | None = None,
    force_exclude: bool = False,
) -> Iterator[States]:
    """Extract the commits of a comparison into a temporary folder for as long as the context lasts. Raises UserError.

    ``asked`` returns the two states; ``paths`` are what is checked in both, ``more`` the file that the configuration was read from, and
    further files that the run reads. ``load`` loads the configuration of a commit; without it, that of ``session`` applies to both states.
    """
    repository = Repository(os.getcwd())
    base, head = asked(repository)
    of_base, of_head = repository.entries(base), repository.entries(head) if head is not None else []
    configured = load is not None and any(each.path.rpartition("/")[2] in CONFIG_FILES for each in (*of_base, *of_head))
    tops, is_wanted = _tops_and_wanted(repository, session.config, paths, more, configured=configured)
    with snapshot_folder(repository, (*of_base, *of_head), is_wanted) as folder:

        def extracted(commit: str, name: str, entries: Sequence[TreeEntry], like: Snapshot | None = None) -> _ExtractedCommit:
            snapshot = extract(repository, entries, _new(folder, name), is_wanted, like)
            config, error = config_of(snapshot, session.config, load)
            if _reads_any_name(config) and not _reads_any_name(session.config):
                snapshot = extract(repository, entries, _new(folder, f"{name}-all"), lambda _: True, snapshot)
                config, error = config_of(snapshot, session.config, load)
            return _ExtractedCommit(repository.name(commit), snapshot, config, error)

        first = extracted(base, "base", of_base)
        second = extracted(head, "head", of_head, first.snapshot) if head is not None else None
        commits = [first, *([second] if second is not None else [])]
        snapshots = [each.snapshot for each in commits]
        skipped, notes = _skipped(snapshots, tops, "compared", "commits do")
        relative = _relative(repository, skipped)

        def state(commit: _ExtractedCommit | None) -> State:
            if commit is None:
                return State(session, paths, relative, force_exclude=force_exclude)
            return State(session.under(commit.config), paths, relative, commit.snapshot, force_exclude=force_exclude)

        yield States(
            state(first),
            state(second),
            first.name,
            second.name if second is not None else WORK_TREE,
            {path: content for each in snapshots for path, content in each.contents.items()},
            (
                *notes,
                *_unusable(commits),
                *(_config_notes(repository, snapshots, more[0]) if load is None else ()),
            ),
        )


class _ExtractedCommit(NamedTuple):
    """A commit: its files, their configuration, and why it is not that of the commit."""

    name: str
    snapshot: Snapshot
    config: Config
    error: UserError | None


def _new(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    os.mkdir(path)
    return path


def _reads_any_name(config: Config) -> bool:
    """Return whether names do not show which files a run reads."""
    return bool(config.include or config.render) or not all(path.lower().endswith(SUFFIXES) for path in config.nodes)


def _unusable(commits: Iterable[_ExtractedCommit]) -> Iterator[str]:
    """Yield a note about each commit whose own configuration cannot be used."""
    for each in commits:
        if each.error is not None:
            problem = str(each.error).partition("\n")[0]
            yield f"the configuration of {each.name} cannot be used, so that of the {WORK_TREE} is used instead: {problem}"


class IndexState(NamedTuple):
    """The files of the index, with the notes about what is not checked."""

    state: State
    mapper: Callable[[Options], MapOnce]
    notes: tuple[str, ...]


@contextmanager
def opened_index(session: Session, paths: Sequence[str], config_file: str | None, *, force_exclude: bool = False) -> Iterator[IndexState]:
    """Extract the files of the index into a temporary folder for as long as the context lasts. Raises UserError.

    ``paths`` are what is checked, ``config_file`` the file that the configuration was read from.
    """
    repository = Repository(os.getcwd())
    tops, is_wanted = _tops_and_wanted(repository, session.config, paths, (config_file,))
    entries = repository.index_entries()
    with snapshot_folder(repository, entries, is_wanted) as folder:
        snapshot = extract(repository, entries, folder, is_wanted)
        skipped, notes = _skipped((snapshot,), tops, "checked", "the index does")
        if (changed := _changed_file(repository, config_file, (snapshot,))) is not None:
            notes.append(f"{quoted(changed)} is not staged as it is in the work tree; the configuration of the work tree is used")
        moved, _ = config_of(snapshot, session.config, None)
        state = State(session.under(moved), paths, _relative(repository, skipped), snapshot, force_exclude=force_exclude)
        with state.entered():
            missing = next((path for path in paths if not _exists(path)), None)
        if missing is not None:
            raise UserError(f"no such file or folder in the index of Git: {missing!r}")
        yield IndexState(
            state,
            lambda options: MapOnce(
                snapshot.contents, placing=False, workers=options.workers, cache=options.cache, progress=options.progress
            ),
            tuple(notes),
        )


def _tops_and_wanted(
    repository: Repository, config: Config, paths: Sequence[str], more: Sequence[str | None], *, configured: bool = False
) -> tuple[list[str], Callable[[str], bool]]:
    """Return the paths relative to the root of the repository, and which of its files a run over them reads.

    With ``configured``, a configuration in the commits may name files anywhere in the repository.
    """
    tops = [_top(repository, path) for path in paths]
    named = [top for path in (*config.nodes, *more) if path is not None and (top := _inside(repository, path)) is not None]
    whole = configured or bool(config.context or config.render)
    return tops, wanted_files([*tops, *named], whole=whole, any_name=_reads_any_name(config))


def _relative(repository: Repository, paths: Sequence[str]) -> list[str]:
    """Return paths that are relative to the root as paths relative to the working directory."""
    here = os.path.realpath(os.getcwd())
    return [os.path.relpath(os.path.join(repository.root, path), here) for path in paths]


def _top(repository: Repository, path: str) -> str:
    if path == STDIN:
        raise UserError("standard input (`-`) cannot be compared with a commit")
    found = _inside(repository, path)
    if found is None:
        raise UserError(f"{path!r} is not in the repository {repository.root!r}")
    # What a glob matches is below its first part without wildcards.
    parts = found.split("/")
    plain = next((number for number, part in enumerate(parts) if any(character in part for character in "*?[")), len(parts))
    return "/".join(parts[:plain]) or os.curdir


def _inside(repository: Repository, path: str) -> str | None:
    """Return a path relative to the root of the repository, with slashes; None if it is elsewhere."""
    absolute = os.path.abspath(path)
    real = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
    if not is_inside(real, repository.root):
        return None
    return os.path.relpath(real, repository.root).replace(os.sep, "/")


def _skipped(snapshots: Sequence[Snapshot], tops: Sequence[str], verb: str, owner: str) -> tuple[list[str], list[str]]:
    """Return what among the paths is not in a snapshot, relative to the root, with the notes about it.

    Git does not have the content of submodules and of files of Git LFS, and some names are not written.
    """
    everything = os.curdir in tops

    def among_paths(paths: Iterable[str]) -> list[str]:
        return sorted(path for path in {*paths} if everything or any(is_inside(path, top) or is_inside(top, path) for top in tops))

    without_content = among_paths(path for each in snapshots for path in (*each.submodules, *each.pointers))
    reasons = {path: reason for each in snapshots for path, reason in each.left_out.items()}
    names = among_paths(reasons)
    notes = []
    if without_content:
        notes.append(f"not {verb}, because {owner} not have their content (submodules and files of Git LFS): {_shortened(without_content)}")
    if names:
        notes.append(f"not {verb}, because of their names: {_shortened(names)} ({reasons[names[0]]})")
    return [*without_content, *names], notes


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(quoted, names[:_MOST_NAMED])) + more


def _config_notes(repository: Repository, snapshots: Sequence[Snapshot], config_file: str | None) -> Iterator[str]:
    path = _changed_file(repository, config_file, snapshots)
    if path is not None:
        yield f"{quoted(path)} has changed; both sides are checked with the configuration of the work tree"


def _changed_file(repository: Repository, file: str | None, snapshots: Sequence[Snapshot]) -> str | None:
    """Return the path below the root of a file that some of the snapshots do not have as the work tree does; None if all have it."""
    path = _inside(repository, file) if file is not None else None
    if path is None:
        return None
    from afflint.pipeline.results import checksum
    from afflint.source.sources import named, read_bytes

    now = checksum(read_bytes(named(os.path.join(repository.root, path))))
    return path if any(each.contents.get(os.path.join(each.root, path)) != now for each in snapshots) else None


def renamed_files(base: Sequence[Source], head: Sequence[Source], content: Callable[[Source], bytes | None]) -> dict[str, str]:
    """Return the names in the head of files that the base has with the same content under another name."""
    there, now = {each.name: each for each in base}, {each.name: each for each in head}
    added: dict[bytes, str] = {}
    for name in sorted(now.keys() - there.keys()):
        if (found := content(now[name])) is not None:
            added.setdefault(found, name)
    if not added:
        return {}
    return {name: added[found] for name in sorted(there.keys() - now.keys()) if (found := content(there[name])) in added}


def finding_changes(
    states: States, options: Options, mapper: MapOnce, *, judge_fixed: bool = True
) -> tuple[Outcome, findings.FindingChanges]:
    """Return the outcome of the head, and how its findings differ from those of the base. ``mapper`` knows the content of files.

    With ``judge_fixed``, fixed findings are distinguished from those that are only suppressed.
    """
    with states.head.entered():
        outcome = states.head.check(options)
    with states.base.entered(), of_base(states.base_name):
        before = states.base.check(options._replace(baseline=None))
        contents = {each: mapper.content(each) for each in before.sources}
    with states.head.entered():
        renamed = renamed_files(before.sources, outcome.sources, lambda each: contents.get(each) or mapper.content(each))
        changes = findings.compare(before.findings, outcome.findings, renamed)
        if judge_fixed and changes.fixed:
            again = states.head.check(options._replace(baseline=None, inline=False))
            changes = findings.without_silenced(changes, again.findings)
    return outcome, changes
