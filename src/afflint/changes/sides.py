"""The sides of a comparison: their files, their sessions and their findings. The work tree is read, and never written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from afflint.changes import findings
from afflint.changes.changed_files import ChangedFiles
from afflint.changes.git import Range, Repository, TreeEntry
from afflint.changes.map_once import MapOnce
from afflint.changes.readers import Readers
from afflint.changes.snapshot import Snapshot, extract, snapshot_folder, wanted_files, working_in
from afflint.config import COMMAND_LINE, CONFIG_FILES, NO_NODES, Config, find
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.pipeline.results import checksum
from afflint.report.changes.model import NotCompared
from afflint.source.repositories import is_inside, is_really_inside
from afflint.source.sources import STDIN, SUFFIXES, Source, SourceError, discover, named, read_bytes, relative

if TYPE_CHECKING:
    from afflint.pipeline.options import Options
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session
    from afflint.rendered.rendered_run import RenderedRun
    from afflint.simulation.inputs import PlaceInputs, PlaceRequest

Load = Callable[[str | None], Config]
"""Loads a configuration file, or the defaults, with the options of the command line."""
WORK_TREE = "work tree"
_MOST_NAMED = 3


class Rendering(NamedTuple):
    """How both sides are rendered: whether charts are fetched, or taken from the cache; and what has changed, see ``RenderOptions``.

    The paths of ``changed`` are below the root of the repository.
    """

    network: bool = False
    offline: bool = False
    changed: Sequence[str] | None = None
    only_touched: bool = False


_ALL_RENDERED = Rendering()


class Side:
    """One side of a comparison: the work tree, or a commit or the index in a snapshot."""

    def __init__(
        self,
        session: Session,
        paths: Sequence[str],
        name: str = WORK_TREE,
        snapshot: Snapshot | None = None,
        *,
        root: str = "",
        is_base: bool = False,
        force_exclude: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        """``session`` has the configuration of this side; ``notes`` say what is different from a checkout of it.

        ``root`` is the root of the repository, links resolved, for the work tree.
        """
        self.session, self.name, self.snapshot, self.notes = session, name, snapshot, tuple(notes)
        self.root = os.path.realpath(root if snapshot is None else snapshot.root)
        self.folder = os.getcwd() if snapshot is None else snapshot.folder_of(os.getcwd())
        self.skipped: Sequence[str] = ()
        """The files and folders that are not compared, relative to the working directory."""
        self._paths, self._force_exclude, self._is_base = paths, force_exclude, is_base
        self._rendered: tuple[Sequence[Source], RenderedRun | None] | None = None

    @contextmanager
    def entered(self) -> Iterator[Session]:
        """Run in the folder of this side, in which files have the same names as in the other side. Errors name the base."""
        with working_in(self.folder):
            try:
                yield self.session
            except UserError as error:
                from afflint.simulation.inputs import SeveralClustersError

                if self._is_base and not isinstance(error, SeveralClustersError):
                    raise UserError(f"in the base ({self.name}): {error}") from None
                raise

    def sources(self) -> list[Source]:
        """Return the files that are checked, without those that are not compared; none for a path that this side does not have."""
        paths = [path for path in self._paths if self.snapshot is None or _exists(path)]
        found = self.session.sources(paths, force_exclude=self._force_exclude)
        if self.skipped:
            found = [each for each in found if not any(is_inside(os.path.normpath(each.path), path) for path in self.skipped)]
        # Worker processes need not have this working directory.
        return [each._replace(path=os.path.abspath(each.path)) for each in found] if self.snapshot is not None else found

    def render(self, options: Options, rendering: Rendering = _ALL_RENDERED) -> RenderedRun | None:
        """Render the kustomizations and charts of this side, once; return None if none are rendered."""
        if self._rendered is None:
            network, offline, changed, only_touched = rendering
            files = None if changed is None else frozenset(map(self._real, changed))
            sources, with_renders = self.session.with_renders(
                self.sources(), options, network=network, offline=offline, changed=files, only_touched=only_touched
            )
            self._rendered = sources, with_renders.renders
        return self._rendered[1]

    def _real(self, path: str) -> str:
        """Return the absolute path of a file, its folder with links resolved."""
        folder, name = os.path.split(os.path.join(self.root, path))
        return os.path.join(os.path.realpath(folder), name)

    @property
    def renders(self) -> RenderedRun | None:
        """What was rendered of this side; None if nothing is."""
        return None if self._rendered is None else self._rendered[1]

    def has_rendered(self, path: str) -> bool:
        """Return whether the file at a path below the root of the repository is in what was rendered."""
        return self.renders is not None and self.renders.has_read(self._real(path))

    def has_rendered_object(self, title: str) -> bool:
        """Return whether an object such as ``HelmRelease web`` was rendered."""
        return self.renders is not None and self.renders.has_rendered(title)

    def has_failed(self, path: str) -> bool:
        """Return whether a kustomization or chart that reads the file at a path cannot be rendered."""
        return self.renders is not None and self.renders.has_failed(self._real(path))

    def outputs_of(self, path: str) -> list[tuple[str, str, bytes]]:
        """Return the output of the kustomizations and charts that read the file at a path, with their tools and names."""
        return [] if self.renders is None else self.renders.outputs_of(self._real(path))

    def left_out_of(self, path: str) -> list[str]:
        """Return what was left out of the kustomizations and charts that read the file at a path."""
        return [] if self.renders is None else self.renders.left_out_of(self._real(path))

    def reason_for(self, path: str) -> str:
        """Return why the objects in a file were not rendered; "" if that is not known."""
        return "" if self.renders is None else self.renders.reason_for(self._real(path))

    def shown(self, path: str) -> str:
        """Return the name in reports of the file at a path below the root of the repository."""
        return relative(os.path.join(self.root, path), os.path.realpath(self.folder))

    @cached_property
    def readers(self) -> Readers:
        """The charts, kustomizations and other objects of this side that read files."""

        def paths() -> list[str]:
            with working_in(self.folder):
                return [os.path.abspath(each.path) for each in self.sources()]

        return Readers(self.root, paths)

    def check(self, options: Options) -> Outcome:
        """Return the findings of this side."""
        return self.session.check(*self._with_renders(options))

    def place(self, options: Options, node_files: Sequence[Source] | None, pods: Sequence[str], request: PlaceRequest) -> PlaceInputs:
        """Return the input of the simulation of this side, with its own nodes, those of some files, or none."""
        from afflint.simulation.inputs import inputs_of

        sources, options = self._with_renders(options)
        if self.renders is not None:
            sources = [each for each in sources if not self.renders.is_untouched(each)]
        sources = [each for each in sources if not self._is_template(each.path)]
        running = [self.snapshot.path_of(path) for path in pods] if self.snapshot is not None else pods
        session, config = self.session, self.session.config
        if config.select is not None or config.ignore:
            # Which rules are reported makes no difference to what the API server rejects.
            session = session.under(config._replace(select=None, ignore=()))
        if node_files is not None and not node_files:
            session = session.under(session.config._replace(nodes=(NO_NODES,)))
        return inputs_of(session, sources, running, request._replace(lines=False, needs_nodes=False), options, node_files)

    def _is_template(self, path: str) -> bool:
        """Return whether a file is a template of a chart: what it creates is only known if the chart is rendered."""
        folders = os.path.dirname(path).split(os.sep)
        if "templates" not in folders:
            return False
        below = os.path.relpath(self._real(os.path.abspath(path)), self.root).replace(os.sep, "/")
        chart = self.readers.chart_around(below)
        return chart is not None and below.removeprefix(f"{chart}/" if chart else "").startswith("templates/")

    def failures(self) -> dict[tuple[str, str], str]:
        """Return why roots that read a changed file cannot be rendered, with the paths of the repository in place of the snapshot's."""
        top = "" if self.snapshot is None else self.snapshot.top
        failures = {} if self.renders is None else self.renders.touched_failures
        return {root: reason.replace(top, "") if top else reason for root, reason in failures.items()}

    def files(self) -> Iterator[str]:
        """Yield the paths of the files that are checked, and of others beside them."""
        paths = [path for path in self._paths if os.path.lexists(path)]
        yield from (each.path for each in self.sources())
        yield from (each.path for each in discover(paths, self.session.excludes, lambda _: True))

    def _with_renders(self, options: Options) -> tuple[Sequence[Source], Options]:
        renders = self.render(options)
        assert self._rendered is not None
        sources = self._rendered[0] if renders is None else renders.sources
        return sources, options._replace(renders=renders)


def _exists(path: str) -> bool:
    """Return whether files match a path or glob."""
    if os.path.lexists(path):
        return True
    try:
        return any(True for _ in discover((path,)))
    except SourceError:
        return False


class Sides(NamedTuple):
    """Both sides of a comparison, with the notes about what is not compared."""

    base: Side
    head: Side
    notes: tuple[str, ...] = ()
    changed: ChangedFiles | None = None
    """The files that differ between the sides."""
    not_rendered: tuple[NotCompared, ...] = ()
    """The kustomizations and charts that read a changed file and cannot be rendered."""

    def rendered(self, options: Options, rendering: Rendering) -> Sides:
        """Render both sides, and return them with what is not compared: the roots that cannot be rendered on one side.

        What such a root contains would seem to be new, or to be gone.
        """
        with self.head.entered():
            head = self.head.render(options, rendering)
        with self.base.entered():
            base = self.base.render(options, rendering)
        if head is None or base is None:
            return self
        names = head.leave_out({*head.failed, *base.failed}) | base.leave_out({*head.failed, *base.failed})
        head.drop(names)
        base.drop(names)
        failures = {side.name: side.failures() for side in (self.base, self.head)}
        not_rendered = []
        for (tool, name), reason in sorted({**failures[self.base.name], **failures[self.head.name]}.items()):
            where = " and ".join(side for side, roots in failures.items() if (tool, name) in roots)
            not_rendered.append(NotCompared(name, f"{tool} cannot render it in {where}: {reason}"))
        return self._replace(not_rendered=tuple(not_rendered))


def shared_mapper(sides: Iterable[Side], options: Options, *, placing: bool) -> MapOnce:
    """Return a map step for several sides that maps a file once if all have it."""
    contents = {path: content for each in sides if each.snapshot is not None for path, content in each.snapshot.contents.items()}
    return MapOnce(contents, placing=placing, workers=options.workers, cache=options.cache, progress=options.progress)


@contextmanager
def opened(
    session: Session,
    asked: Callable[[Repository], Range],
    paths: Sequence[str],
    more: Sequence[str | None] = (None,),
    *,
    load: Load | None = None,
    force_exclude: bool = False,
) -> Iterator[Sides]:
    """Extract the commits of a comparison into a temporary folder for as long as the context lasts. Raises UserError.

    ``asked`` returns the two sides; ``paths`` are what is checked in both, ``more`` the file that the configuration was read from, and
    further files that the run reads. ``load`` loads the configuration of a commit; without it, that of ``session`` applies to both sides.
    """
    repository = Repository(os.getcwd())
    base, head = asked(repository)
    of_base, of_head = repository.entries(base), repository.entries(head) if head is not None else []
    configured = load is not None and any(each.path.rpartition("/")[2] in CONFIG_FILES for each in (*of_base, *of_head))
    tops, is_wanted = _tops_and_wanted(repository, session.config, paths, more, configured=configured)
    with snapshot_folder(repository, (*of_base, *of_head), is_wanted) as folder:

        def extracted(commit: str, kind: str, entries: Sequence[TreeEntry], like: Snapshot | None = None) -> Side:
            snapshot = extract(repository, entries, _new(folder, kind), is_wanted, like)
            config, error = _config_of(snapshot, session.config, load)
            if _reads_any_name(config) and not _reads_any_name(session.config):
                snapshot = extract(repository, entries, _new(folder, f"{kind}-all"), lambda _: True, snapshot)
                config, error = _config_of(snapshot, session.config, load)
            name, notes = repository.name(commit), []
            if error is not None:
                problem = str(error).partition("\n")[0]
                notes = [f"the configuration of {name} cannot be used, so that of the {WORK_TREE} is used instead: {problem}"]
            return Side(session.under(config), paths, name, snapshot, is_base=kind == "base", force_exclude=force_exclude, notes=notes)

        first = extracted(base, "base", of_base)
        if head is not None:
            second = extracted(head, "head", of_head, first.snapshot)
        else:
            second = Side(session, paths, root=repository.root, force_exclude=force_exclude)
        notes = _leave_out(repository, (first, second), tops, "compared", "commits do")
        notes += [*first.notes, *second.notes]
        if load is None and (path := _changed_file(repository, more[0], (first, second))) is not None:
            notes.append(f"{quoted(path)} has changed; both sides are checked with the configuration of the work tree")
        is_read = _is_read(first, second)
        changed = ChangedFiles(repository, of_base, None if head is None else of_head, second.files, _is_compared(session, tops), is_read)
        yield Sides(first, second, tuple(notes), changed)


def _is_compared(session: Session, tops: Sequence[str]) -> Callable[[str, str], bool]:
    """Return whether a comparison includes a file, by its path below the root of the repository and its absolute path."""
    everything = os.curdir in tops
    return lambda path, absolute: (everything or any(is_inside(path, top) for top in tops)) and not session.excludes(absolute)


def _is_read(*sides: Side) -> Callable[[str], bool]:
    """Return whether a chart or a kustomization of one of the sides may read a file, by its path below the root of the repository."""
    return lambda path: any(side.readers.is_read(path) for side in sides)


def _new(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    os.mkdir(path)
    return path


def _reads_any_name(config: Config) -> bool:
    """Return whether names do not show which files a run reads."""
    return bool(config.include or config.render) or not all(path.lower().endswith(SUFFIXES) for path in config.nodes)


@contextmanager
def opened_index(session: Session, paths: Sequence[str], config_file: str | None, *, force_exclude: bool = False) -> Iterator[Side]:
    """Extract the files of the index into a temporary folder for as long as the context lasts. Raises UserError.

    ``paths`` are what is checked, ``config_file`` the file that the configuration was read from.
    """
    repository = Repository(os.getcwd())
    tops, is_wanted = _tops_and_wanted(repository, session.config, paths, (config_file,))
    entries = repository.index_entries()
    with snapshot_folder(repository, entries, is_wanted) as folder:
        snapshot = extract(repository, entries, folder, is_wanted)
        moved, _ = _config_of(snapshot, session.config, None)
        index = Side(session.under(moved), paths, "index", snapshot, force_exclude=force_exclude)
        notes = _leave_out(repository, (index,), tops, "checked", "the index does")
        if (changed := _changed_file(repository, config_file, (index,))) is not None:
            notes.append(f"{quoted(changed)} is not staged as it is in the work tree; the configuration of the work tree is used")
        index.notes = tuple(notes)
        with index.entered():
            missing = next((path for path in paths if not _exists(path)), None)
        if missing is not None:
            raise UserError(f"no such file or folder in the index of Git: {missing!r}")
        yield index


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


def _leave_out(repository: Repository, sides: Sequence[Side], tops: Sequence[str], verb: str, owner: str) -> list[str]:
    """Leave out of all sides what among the paths one of them lacks, and return the notes about it.

    Git does not have the content of submodules and of files of Git LFS, and some names are not written.
    """
    snapshots = [each.snapshot for each in sides if each.snapshot is not None]
    everything = os.curdir in tops

    def among_paths(paths: Iterable[str]) -> list[str]:
        return sorted(path for path in {*paths} if everything or any(is_inside(path, top) or is_inside(top, path) for top in tops))

    without_content = among_paths(path for each in snapshots for path in (*each.submodules, *each.pointers, *each.absent))
    reasons = {path: reason for each in snapshots for path, reason in each.left_out.items()}
    names = among_paths(reasons)
    here = os.path.realpath(os.getcwd())
    for each in sides:
        each.skipped = [os.path.relpath(os.path.join(repository.root, path), here) for path in (*without_content, *names)]
    notes = []
    if without_content:
        what = "submodules, files of Git LFS, what a partial clone lacks"
        notes.append(f"not {verb}, because {owner} not have their content ({what}): {_shortened(without_content)}")
    if names:
        notes.append(f"not {verb}, because of their names: {_shortened(names)} ({reasons[names[0]]})")
    return notes


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(quoted, names[:_MOST_NAMED])) + more


def _changed_file(repository: Repository, file: str | None, sides: Sequence[Side]) -> str | None:
    """Return the path below the root of a file that some of the sides do not have as the work tree does; None if all have it."""
    path = _inside(repository, file) if file is not None else None
    if path is None:
        return None
    now = checksum(read_bytes(named(os.path.join(repository.root, path))))
    snapshots = [each.snapshot for each in sides if each.snapshot is not None]
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
    sides: Sides, options: Options, mapper: MapOnce, *, judge_fixed: bool = True
) -> tuple[Outcome, findings.FindingChanges]:
    """Return the outcome of the head, and how its findings differ from those of the base. ``mapper`` knows the content of files.

    With ``judge_fixed``, fixed findings are distinguished from those that are only suppressed.
    """
    with sides.head.entered():
        outcome = sides.head.check(options)
    with sides.base.entered():
        before = sides.base.check(options._replace(baseline=None))
        contents = {each: mapper.content(each) for each in before.sources}
    with sides.head.entered():
        renamed = renamed_files(before.sources, outcome.sources, lambda each: contents.get(each) or mapper.content(each))
        changes = findings.compare(before.findings, outcome.findings, renamed)
        if judge_fixed and changes.fixed:
            again = sides.head.check(options._replace(baseline=None, inline=False))
            changes = findings.without_silenced(changes, again.findings)
    return outcome, changes


def outcome_since(
    session: Session,
    ref: str,
    paths: Sequence[str],
    options: Options,
    config_file: str | None,
    *,
    load: Load | None = None,
    network: bool = False,
    offline: bool = False,
    force_exclude: bool = False,
) -> tuple[Outcome, Sequence[str]]:
    """Return the outcome of the work tree with only the findings that the commit does not have, and notes on what is not compared.

    The commit is the one where the work tree has branched off from ``ref``. The other findings count as suppressed, as those of a
    baseline do. ``load`` loads the configuration of the commit. Raises UserError.
    """
    if ".." in ref and not ref.endswith("..."):
        raise UserError(f"--since takes one ref, not {ref!r}; `afflint diff` compares two commits")

    def asked(repository: Repository) -> Range:
        return repository.range_of(ref)

    with opened(session, asked, paths, (config_file,), load=load, force_exclude=force_exclude) as sides:
        mapper = shared_mapper((sides.base, sides.head), options, placing=False)
        shared = options._replace(mapper=mapper, reader=mapper.reader)
        sides = sides.rendered(shared, Rendering(network, offline))
        outcome, changes = finding_changes(sides, shared, mapper, judge_fixed=False)
    counts = Counter(each.severity for each in changes.new)
    summary = outcome.summary._replace(
        errors=counts["error"],
        warnings=counts["warning"],
        info=counts["info"],
        suppressed=outcome.summary.suppressed + len(outcome.findings) - len(changes.new),
    )
    notes = [f"{each.name} is not compared: {each.reason}" for each in sides.not_rendered]
    return outcome._replace(findings=changes.new, summary=summary), (*sides.notes, *notes)


# The configuration of a commit: a change of the configuration is part of the change, so each side is checked with its own.
# A configuration that the user names with ``--config`` applies to both sides. The configuration of a commit is read from its snapshot,
# and is trusted as one that was found.


def _config_of(snapshot: Snapshot, config: Config, load: Load | None) -> tuple[Config, UserError | None]:
    """Return the configuration for the files of a snapshot, and why its own cannot be used.

    ``config`` is that of the work tree, and the one to use without ``load``. Reports and the baseline are always those of ``config``.
    """
    if load is None:
        return _moved(config, snapshot), None
    try:
        own = _own(snapshot, load)
    except UserError as error:
        return _moved(config, snapshot), error
    own = own._replace(baseline=config.baseline, output=config.output, format=config.format)
    if config.origins["nodes"] == COMMAND_LINE:
        own = own._replace(nodes=_moved_nodes(config, snapshot), origins={**own.origins, "nodes": COMMAND_LINE})
    return own, None


def _own(snapshot: Snapshot, load: Load) -> Config:
    """Return the configuration that a run in the snapshot finds: in its folders, or above the repository. Raises UserError."""
    with working_in(snapshot.folder_of(os.getcwd())):
        path = find(os.curdir)
        if path is not None and is_inside(os.path.abspath(path), snapshot.root):
            return _with_uncommitted_nodes(load(path), snapshot)
    # The folders above the snapshot are not those above the repository.
    return _moved(load(find(os.path.dirname(snapshot.original))), snapshot)


def _with_uncommitted_nodes(config: Config, snapshot: Snapshot) -> Config:
    """Return the configuration with node files that were never committed in the work tree."""
    nodes = []
    for path in config.nodes:
        original = snapshot.original_of(path)
        is_missing = not os.path.lexists(path) and os.path.lexists(original) and is_really_inside(original, snapshot.original)
        nodes.append(original if is_missing else path)
    if nodes == list(config.nodes):
        return config
    return config._replace(nodes=tuple(nodes), origins={**config.origins, "nodes": COMMAND_LINE})


def _moved(config: Config, snapshot: Snapshot) -> Config:
    """Return a configuration of the work tree for the files of a snapshot. Reports and the baseline stay where they are."""
    nodes = _moved_nodes(config, snapshot)
    origins = config.origins
    if (config.repository is not None and nodes != config.nodes) or any(os.path.isabs(path) for path in nodes):
        origins = {**origins, "nodes": COMMAND_LINE}  # They were checked where they are.
    repository = config.repository and snapshot.folder_of(config.repository)
    return config._replace(root=snapshot.folder_of(config.root), repository=repository, nodes=nodes, origins=origins)


def _moved_nodes(config: Config, snapshot: Snapshot) -> tuple[str, ...]:
    return tuple([path if path == STDIN or not os.path.lexists(path) else snapshot.path_of(path) for path in config.nodes])
