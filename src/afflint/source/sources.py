"""Which files are read, and their bytes: what the command line names, found in the file system.

Files that are named are read whatever they are called. Folders give their .yaml, .yml and .json files, without those that
git ignores, without version control's own folders, without following links to folders, and without links to files outside
the repository.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest
from afflint.source.files import read_all, read_named, read_regular
from afflint.source.repositories import is_inside, is_really_inside, root_of

if TYPE_CHECKING:
    from types import ModuleType

    from afflint.source.globs import Patterns

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
CHART, VALUES = "Chart.yaml", "values.yaml"
LARGEST = 256 * 1024 * 1024
"""Files of more bytes than this are not read: the whole of a file has to fit into memory several times."""
_LARGEST_GITIGNORE = 1 << 20
_LONG_PATH = 500
"""Folders with longer names are not taken apart."""
_WILDCARDS = "*?["
SKIPPED_FOLDERS = frozenset((".git", ".hg", ".svn", ".tox", ".nox", ".venv", "node_modules", "__pycache__", ".terraform"))


class SourceError(UserError):
    """A path on the command line that cannot be used; the message is for its user."""


class Source(NamedTuple):
    """A file to read. ``name`` is how reports call it, ``path`` what is opened ("-" is standard input), unless ``data`` is there.

    With ``data`` it is a buffer that stands for the file at that path, as an editor holds it, or what another program made.
    """

    name: str
    path: str
    data: bytes | None = None
    fault: str | None = None
    """Why there is nothing to read, if that has shown already: standard input can be read but once."""
    values: bool = False
    """Whether it holds the values of a chart, if nothing in it says otherwise: for where it lies, or because somebody says so."""

    @property
    def known_as(self) -> str:
        """The name by which the map step tells what a file is."""
        return VALUES if self.values else self.name


class Identities:
    """Tells which sources are one file, however they are named: by the folder, links resolved, and the name in it.

    A link to a file is a file of its own, as for git. Made for one run: folders that have been looked at are remembered.
    """

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._heads: dict[str, str] = {}

    def of(self, source: Source) -> str:
        """What is the same for two sources if they are one file."""
        if source.path == STDIN or not source.path:
            return source.name
        # The files of a folder have one head, up to its last separator.
        name = source.path.rpartition(os.sep)[2] if os.altsep is None else os.path.basename(source.path)
        head = source.path[: len(source.path) - len(name)]
        if name in ("", os.curdir, os.pardir):
            return os.path.normcase(os.path.realpath(source.path))
        if head not in self._heads:
            self._heads[head] = self._real(os.path.split(head)[0])
        # Windows calls one file by capitals and small letters alike.
        return self._heads[head] + os.path.normcase(name)

    def _real(self, folder: str) -> str:
        """A folder, links resolved, with a separator at the end. Each step of the way is looked at once a run."""
        known = self._folders.get(folder)
        if known is None:
            above, name = os.path.split(folder)
            if not above or name in ("", os.curdir, os.pardir) or len(folder) > _LONG_PATH:
                real = os.path.realpath(folder or os.curdir)
            else:
                real = self._real(above) + name
                real = os.path.realpath(real) if os.path.islink(real) else real
            known = self._folders[folder] = os.path.join(os.path.normcase(real), "")
        return known


def without_links(sources: Mapping[int, Source]) -> dict[int, Source]:
    """The sources, by their numbers, without those that are a link to another of them: for what is there once however it is named."""
    kept: dict[str, int] = {}
    for number, source in sorted(sources.items(), key=lambda each: os.path.islink(each[1].path)):
        identity = source.name if source.path in (STDIN, "") else os.path.normcase(os.path.realpath(source.path))
        if identity not in kept or _displaces(source, sources[kept[identity]]):
            kept[identity] = number
    wanted = set(kept.values())
    return {number: source for number, source in sources.items() if number in wanted}


def each_once(sources: Iterable[Source]) -> dict[str, Source]:
    """The sources by their identity: a buffer takes the place of the file that it stands for, otherwise the first counts."""
    identities = Identities()
    found: dict[str, Source] = {}
    for source in sources:
        keep(found, identities.of(source), source)
    return found


def keep(found: dict[str, Source], identity: str, source: Source) -> None:
    """Put a source among those found: a buffer takes the place of the file that it stands for, otherwise the first stays."""
    if identity not in found:
        found[identity] = source
    elif _displaces(source, found[identity]):
        found[identity] = source._replace(values=source.values or found[identity].values)


def _displaces(source: Source, other: Source) -> bool:
    return _is_buffer(source) and not _is_buffer(other)


def _is_buffer(source: Source) -> bool:
    return source.data is not None or source.fault is not None


def discover(
    paths: Sequence[str], excluded: Callable[[str], bool] = lambda _: False, included: Callable[[str], bool] | None = None
) -> Iterator[Source]:
    """The files that ``paths`` stand for, each once, folders in sorted order. Raises SourceError for a path that is not there.

    ``excluded`` and ``included`` are asked about absolute paths below folders, folders ending in a slash. A named file is never excluded.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return _walk(paths[0], excluded, included)  # Which comes upon everything once.
    return iter(each_once(source for path in paths for source in _expand(path, excluded, included)).values())


def _expand(path: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    if path == STDIN:
        yield Source("<stdin>", STDIN)
    elif os.path.isdir(path):
        yield from _walk(path, excluded, included)
    elif os.path.lexists(path):
        yield named(path)
    elif any(character in path for character in _WILDCARDS):
        matched = _matching(path)
        if not matched:
            raise SourceError(f"no file matches {path!r}")
        for each in matched:
            if os.path.isdir(each):
                yield from _walk(each, excluded, included)
            elif os.path.isfile(each) and (each.lower().endswith(SUFFIXES) or not path.endswith("*")):
                yield named(each)
    else:
        raise SourceError(f"no such file or folder: {path!r}{_similar(path)}")


def _matching(pattern: str) -> list[str]:
    """What a glob matches, as a shell would expand it. ``**`` does not follow links to folders, which may lead in circles."""
    top, parts = _taken_apart(pattern)
    found = [top]
    for part in (*parts, "*") if parts[-1] == "**" else parts:
        if part == "**":
            found = list(dict.fromkeys(below for folder in found for below in _folders_below(folder)))
        elif part:
            found = [each for folder in found for each in _children(folder, part)]
    return sorted(found)


def _taken_apart(pattern: str, paths: ModuleType = os.path) -> tuple[str, list[str]]:
    """Where a glob begins ("" is the working directory), and its parts. ``paths`` says what separates them: Windows has two ways."""
    if paths.altsep:
        pattern = pattern.replace(paths.altsep, paths.sep)
    drive, rest = paths.splitdrive(pattern)
    return drive + (paths.sep if rest.startswith(paths.sep) else ""), rest.split(paths.sep)


def _folders_below(top: str) -> Iterator[str]:
    """A folder and all below it, without hidden ones and links."""
    stack = [top]
    while stack:
        folder = stack.pop()
        yield folder
        try:
            with os.scandir(folder or os.curdir) as entries:
                below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
        except OSError:
            continue
        stack += [os.path.join(folder, name) for name in below]


def _children(folder: str, part: str) -> list[str]:
    """What lies in a folder under a name with wildcards, which do not match a leading dot."""
    if not any(character in part for character in _WILDCARDS):
        path = os.path.join(folder, part)
        return [path] if os.path.lexists(path) else []
    import fnmatch

    try:
        names = os.listdir(folder or os.curdir)
    except OSError:
        return []
    hidden = part.startswith(".")
    return [os.path.join(folder, name) for name in fnmatch.filter(names, part) if hidden or not name.startswith(".")]


def relative(path: str, start: str = os.curdir) -> str:
    """The path as it is called from a folder; itself where no way leads there, as from one drive of Windows to another."""
    try:
        return os.path.relpath(path, start)
    except ValueError:
        return path


def _similar(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        close = nearest(name, os.listdir(folder or "."))
    except OSError:
        return ""
    return f"; did you mean {os.path.join(folder, close)!r}?" if close else ""


def named(path: str) -> Source:
    """The source for a file that the user names. Raises SourceError for a pipe or a device that cannot be read to its end."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = stat.S_IFREG  # Reading it as a file says why it cannot be read.
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return Source(_shown_name(path), path, values=lies_in_chart(path))
    try:
        # A pipe gives its bytes once, and they are wanted more than once.
        return Source(_shown_name(path), path, read_named(path, LARGEST))
    except OSError as error:
        raise SourceError(f"{path!r} cannot be read: {error.strerror or error}") from None


def _shown_name(path: str) -> str:
    """The path without what does not matter in it; ``..`` behind a link to a folder matters."""
    short = os.path.normpath(path)
    return short if os.pardir not in path.split(os.sep) or os.path.realpath(short) == os.path.realpath(path) else path


def _walk(top: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    ignored = _GitIgnored(os.path.abspath(top))
    repository = _boundary(top)
    # Whoever names a folder wants it read, though it may be passed over on the way through its parent.
    if excluded(os.path.abspath(top) + "/"):
        excluded = _never
    stack = [(_shown_name(top), _holds_chart(os.path.dirname(os.path.abspath(top))))]
    while stack:
        folder, below_chart = stack.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            # Reading it as a file says why it cannot be read.
            yield Source(folder, folder)
            continue
        absolute = os.path.abspath(folder)
        shown, whole_folder = "" if folder == "." else os.path.join(folder, ""), os.path.join(absolute, "")
        ignored.enter(absolute, any(entry.name == ".gitignore" for entry in found))
        folders: list[str] = []
        is_chart = any(entry.name == CHART for entry in found)
        values = is_chart or (below_chart and os.path.basename(absolute) not in _WITHOUT_VALUES)
        for entry in found:
            path, whole = shown + entry.name, whole_folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS and not excluded(whole + "/") and not ignored(whole, folder=True):
                    folders.append(path)
            elif _is_manifest(entry, whole, included) and not excluded(whole) and not ignored(whole, folder=False):
                if entry.is_symlink() and not is_really_inside(whole, repository):
                    continue  # A tree may not make afflint read, and quote, other files of the user.
                yield Source(path, path, None, None, values and path.endswith(_YAML))
        stack.extend([(each, is_chart) for each in reversed(folders)])


def _boundary(top: str) -> str:
    """Return the folder that links below ``top`` may lead into: its repository, else the working directory around it, else itself."""
    real, here = os.path.realpath(top), os.path.realpath(os.curdir)
    return root_of(real) or (here if is_inside(real, here) else real)


def lies_in_chart(path: str) -> bool:
    """Whether a file of YAML lies where charts have values: in the folder of one, or in one below that, such as ``environments``."""
    if not path.endswith(_YAML):
        return False
    folder = os.path.dirname(os.path.abspath(path))
    above, name = os.path.split(folder)
    return _holds_chart(folder) or (name not in _WITHOUT_VALUES and _holds_chart(above))


_YAML = (".yaml", ".yml")
_WITHOUT_VALUES = frozenset(("templates", "crds", "charts"))


def _holds_chart(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, CHART))


def _never(_path: str) -> bool:
    return False


# What afflint is told, and what it has noted; there are no manifests in it.
_OUR_OWN = frozenset((".afflint.yaml", ".afflint.yml", ".afflint-baseline.json"))


def _is_manifest(entry: os.DirEntry[str], path: str, included: Callable[[str], bool] | None) -> bool:
    if entry.name in _OUR_OWN:
        return False
    if included is None:
        wanted = entry.name.lower().endswith(SUFFIXES)
    else:
        wanted = included(path)
    try:
        # A link to a file is read, a link to nowhere is not, and a pipe in a folder would hang.
        return wanted and entry.is_file()
    except OSError:
        return False


class _GitIgnored:
    """What git ignores below a folder: its .gitignore files and those of its parents up to the repository's top.

    A folder that is ignored itself and named all the same is read: then only what lies in it counts.
    """

    def __init__(self, top: str) -> None:
        self._patterns: dict[str, Patterns] = {}
        parents = _parents_in_repository(top)
        for parent in parents:
            self._load(parent)
        if any(self(folder, folder=True) for folder in (top, *parents[:-1])):
            self._patterns.clear()

    def enter(self, folder: str, has_file: bool) -> None:
        if has_file:
            self._load(folder)

    def __call__(self, path: str, *, folder: bool) -> bool:
        if not self._patterns:
            return False
        # The deepest file that says anything about a path decides.
        parent = os.path.dirname(path)
        while True:
            patterns = self._patterns.get(parent)
            if patterns is not None:
                relative = path[len(parent.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
                verdict = patterns.verdict(relative, folder=folder)
                if verdict is not None:
                    return verdict
            above = os.path.dirname(parent)
            if above == parent:
                return False
            parent = above

    def _load(self, folder: str) -> None:
        try:
            text = read_regular(os.path.join(folder, ".gitignore"), _LARGEST_GITIGNORE).decode("utf-8-sig", "surrogateescape")
        except OSError:
            return  # None, or no such file as anybody would write.
        from afflint.source.globs import of_lines

        self._patterns[folder] = of_lines(text.split("\n"))


def _parents_in_repository(top: str) -> list[str]:
    """The folders above ``top`` up to the one with .git; none when there is none."""
    parents: list[str] = []
    folder = top
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return []
        parents.append(above)
        folder = above
    return parents


def read_bytes(source: Source) -> bytes:
    """The bytes of a file. Raises OSError."""
    if source.data is not None:
        return source.data
    if source.fault is not None:
        raise OSError(errno.EIO, source.fault)
    if source.path == STDIN:
        return _standard_input()
    return read_regular(source.path, LARGEST)


def standard_input(name: str | None = None) -> Source:
    """Standard input, read to its end; with a name it is a buffer that stands for the file of that name."""
    try:
        return Source(name or "<stdin>", name or STDIN, _standard_input())
    except OSError as error:
        return Source(name or "<stdin>", name or STDIN, fault=error.strerror or str(error))


def _standard_input() -> bytes:
    import sys

    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return read_all(sys.stdin.buffer.read, LARGEST)
