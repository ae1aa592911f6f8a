"""Finds the files that the command line names, and reads them.

A file on the command line is read whatever its name is. In folders, afflint reads .yaml, .yml and .json files and templates, except for
those that git ignores and those in folders of version control. It follows neither links to folders nor links to files outside the
repository.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest
from afflint.source.files import read_all, read_named, read_regular
from afflint.source.repositories import extent_of, is_really_inside
from afflint.source.skipped_files import SIGNS, role_of_file, role_of_folder

if TYPE_CHECKING:
    from types import ModuleType

    from afflint.source.globs import Patterns

TEMPLATE_SUFFIXES = (".tmpl", ".tpl", ".gotmpl", ".j2", ".jinja", ".jinja2", ".yaml.template", ".yml.template", ".json.template")
"""How the names of templates end. Only the literal text of such a file is checked, whatever it contains."""
TERRAFORM = ".tf"
SUFFIXES = (".yaml", ".yml", ".json", TERRAFORM, *TEMPLATE_SUFFIXES)
"""How the names of the files end that are read in folders; those of Terraform only for their node pools."""
STDIN = "-"
CHART, VALUES, SCHEMA = "Chart.yaml", "values.yaml", "values.schema.json"
LARGEST = 256 * 1024 * 1024
"""Files with more bytes than this are not read: a file has to fit into memory several times."""
_LARGEST_GITIGNORE = 1 << 20
_LONG_PATH = 500
"""Longer paths of folders are resolved at once, not step by step."""
WILDCARDS = "*?["
SKIPPED_FOLDERS = frozenset((".git", ".hg", ".svn", ".tox", ".nox", ".venv", "node_modules", "__pycache__", ".terraform"))


class SourceError(UserError):
    """A path on the command line that cannot be used; the message is for the user."""


class Source(NamedTuple):
    """A file to read. ``name`` is its name in reports, ``path`` the file to open ("-" for standard input), unless ``data`` is set.

    With ``data`` it is a buffer with the content of the file at that path, from an editor or the output of another program.
    """

    name: str
    path: str
    data: bytes | None = None
    fault: str | None = None
    """Why the source cannot be read, if that is known already: standard input can be read only once."""
    values: bool = False
    """Whether it contains the values of a chart unless its content shows otherwise, by its folder or by the caller."""
    role: str = ""
    """Its role in tests by its folder, see ``skipped_files``; "" for a file that the user names."""

    @property
    def known_as(self) -> str:
        """The name by which the map step determines the type of the file."""
        name = VALUES if self.values else self.name
        return f"{self.role}/{name}" if self.role else name


def is_template(name: str) -> bool:
    """Return whether a file is a template by its name."""
    return name.lower().endswith(TEMPLATE_SUFFIXES)


def is_terraform(name: str) -> bool:
    """Return whether a file is one of Terraform by its name."""
    return name.lower().endswith(TERRAFORM)


class Identities:
    """Recognises sources that are the same file under different names: by the folder, links resolved, and the name in it.

    A link to a file is a file of its own, as in git. Resolved folders are remembered for one run.
    """

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._heads: dict[str, str] = {}

    def of(self, source: Source) -> str:
        """Return a value that is equal for two sources if they are the same file."""
        if source.path == STDIN or not source.path:
            return source.name
        # All files of a folder have the same head, up to the last separator.
        name = source.path.rpartition(os.sep)[2] if os.altsep is None else os.path.basename(source.path)
        head = source.path[: len(source.path) - len(name)]
        if name in ("", os.curdir, os.pardir):
            return os.path.normcase(os.path.realpath(source.path))
        if head not in self._heads:
            self._heads[head] = self._real(os.path.split(head)[0])
        # File names on Windows do not distinguish upper and lower case.
        return self._heads[head] + os.path.normcase(name)

    def _real(self, folder: str) -> str:
        """Resolve the links of a folder and append a separator. Each step of the path is resolved once a run."""
        known = self._folders.get(folder)
        if known is None:
            parent_folder, name = os.path.split(folder)
            if not parent_folder or name in ("", os.curdir, os.pardir) or len(folder) > _LONG_PATH:
                real = os.path.realpath(folder or os.curdir)
            else:
                real = self._real(parent_folder) + name
                real = os.path.realpath(real) if os.path.islink(real) else real
            known = self._folders[folder] = os.path.join(os.path.normcase(real), "")
        return known


def without_links(sources: Mapping[int, Source]) -> dict[int, Source]:
    """Return the sources, by their numbers, without those that are a link to another of them."""
    kept: dict[str, int] = {}
    for number, source in sorted(sources.items(), key=lambda each: os.path.islink(each[1].path)):
        identity = source.name if source.path in (STDIN, "") else os.path.normcase(os.path.realpath(source.path))
        if identity not in kept or _displaces(source, sources[kept[identity]]):
            kept[identity] = number
    wanted = set(kept.values())
    return {number: source for number, source in sources.items() if number in wanted}


def each_once(sources: Iterable[Source]) -> dict[str, Source]:
    """Return the sources by their identity: a buffer replaces the file that it has the content of, otherwise the first counts."""
    identities = Identities()
    found: dict[str, Source] = {}
    for source in sources:
        add_source(found, identities.of(source), source)
    return found


def add_source(found: dict[str, Source], identity: str, source: Source) -> None:
    """Add a source to ``found``: a buffer replaces the file that it has the content of, otherwise the first stays."""
    if identity not in found:
        found[identity] = source
    elif _displaces(source, found[identity]):
        found[identity] = source._replace(values=source.values or found[identity].values, role=found[identity].role)


def _displaces(source: Source, other: Source) -> bool:
    return _is_buffer(source) and not _is_buffer(other)


def _is_buffer(source: Source) -> bool:
    return source.data is not None or source.fault is not None


def discover(
    paths: Sequence[str], excluded: Callable[[str], bool] = lambda _: False, included: Callable[[str], bool] | None = None
) -> Iterator[Source]:
    """Find the files that ``paths`` name, each once, folders in sorted order. Raises SourceError for a path that does not exist.

    ``excluded`` and ``included`` are called with absolute paths below folders, folders with a slash at the end. A file on the command
    line is never excluded.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return _walk(paths[0], excluded, included)  # It yields each file once.
    return iter(each_once(source for path in paths for source in _expand(path, excluded, included)).values())


def _expand(path: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    if path == STDIN:
        yield Source("<stdin>", STDIN)
    elif os.path.isdir(path):
        yield from _walk(path, excluded, included)
    elif os.path.lexists(path):
        yield named(path)
    elif _has_wildcard(path):
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
    """Expand a glob as a shell does, but for what links lead to outside the repository.

    ``**`` does not follow links to folders, which can form cycles.
    """
    top, parts = _split_glob(pattern)
    literal = next(number for number, part in enumerate(parts) if _has_wildcard(part))
    found = [os.path.join(top, *parts[:literal])]
    boundary = extent_of(found[0])
    for part in (*parts[literal:], "*") if parts[-1] == "**" else parts[literal:]:
        if part == "**":
            found = list(dict.fromkeys(below for folder in found for below in _folders_below(folder)))
        elif part:
            found = [each for folder in found for each in _children(folder, part) if not _leaves(each, boundary)]
    return sorted(found)


def _has_wildcard(part: str) -> bool:
    return any(character in part for character in WILDCARDS)


def _leaves(path: str, boundary: str) -> bool:
    """Whether a link, or ``..`` in a folder that a link may have led to, leads out of a folder."""
    return (os.path.basename(path) == os.pardir or os.path.islink(path)) and not is_really_inside(path, boundary)


def _split_glob(pattern: str, paths: ModuleType = os.path) -> tuple[str, list[str]]:
    """Return where a glob begins ("" is the working directory), and its parts.

    ``paths`` determines the separators: Windows has two.
    """
    if paths.altsep:
        pattern = pattern.replace(paths.altsep, paths.sep)
    drive, rest = paths.splitdrive(pattern)
    return drive + (paths.sep if rest.startswith(paths.sep) else ""), rest.split(paths.sep)


def _folders_below(top: str) -> Iterator[str]:
    """Yield a folder and all below it, except for hidden ones and links."""
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
    """Return the entries of a folder that match a name with wildcards, which do not match a leading dot."""
    if not _has_wildcard(part):
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
    """Return the path relative to a folder; the path itself if that is impossible, as between two drives of Windows."""
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
    """Return the source for a file that the user names. Raises SourceError for a pipe or a device that cannot be read."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = stat.S_IFREG  # Reading it as a file reports why it cannot be read.
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return Source(_report_name(path), path, values=is_in_chart(path))
    try:
        # A pipe can be read only once, and the bytes are needed more than once.
        return Source(_report_name(path), path, read_named(path, LARGEST))
    except OSError as error:
        raise SourceError(f"{path!r} cannot be read: {error.strerror or error}") from None


def _report_name(path: str) -> str:
    """Normalise the path for reports; ``..`` after a link to a folder cannot be removed."""
    short = os.path.normpath(path)
    return short if os.pardir not in path.split(os.sep) or os.path.realpath(short) == os.path.realpath(path) else path


def _walk(top: str, excluded: Callable[[str], bool], included: Callable[[str], bool] | None) -> Iterator[Source]:
    ignored = _GitIgnored(os.path.abspath(top))
    boundary = extent_of(top)
    # A folder on the command line is read, even if it is excluded within its parent.
    if excluded(os.path.abspath(top) + "/"):
        excluded = _never
    start = _report_name(top)
    stack = [(start, _holds_chart(os.path.dirname(os.path.abspath(top))), "")]
    while stack:
        folder, parent_has_chart, role = stack.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            # Reading it as a file reports why it cannot be read.
            yield Source(folder, folder)
            continue
        absolute = os.path.abspath(folder)
        prefix, full_prefix = "" if folder == "." else os.path.join(folder, ""), os.path.join(absolute, "")
        ignored.enter(absolute, any(entry.name == ".gitignore" for entry in found))
        folders: list[str] = []
        is_chart = any(entry.name == CHART for entry in found)
        values = is_chart or (parent_has_chart and os.path.basename(absolute) not in _WITHOUT_VALUES)
        if folder != start:
            role = role_of_folder(
                os.path.basename(absolute), role, os.path.basename(os.path.dirname(absolute)), {each.name for each in found}
            )
        for entry in found:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and included is None and not entry.name.lower().endswith(SUFFIXES):  # As most files.
                continue
            path, full_path = prefix + entry.name, full_prefix + entry.name
            if is_folder:
                if entry.name not in SKIPPED_FOLDERS and not excluded(full_path + "/") and not ignored(full_path, folder=True):
                    folders.append(path)
            elif _is_manifest(entry, full_path, included) and not excluded(full_path) and not ignored(full_path, folder=False):
                if entry.is_symlink() and not is_really_inside(full_path, boundary):
                    continue  # A tree must not make afflint read, and quote, other files of the user.
                yield Source(path, path, None, None, values and _may_be_values(entry.name), role_of_file(entry.name, role))
        stack.extend([(each, is_chart, role) for each in reversed(folders)])


def role_below(path: str, top: str) -> str:
    """Return the role in tests of a file below a folder, as if the user had named the folder."""
    folders = relative(os.path.dirname(path), top).split(os.sep)
    role = ""
    for depth, name in enumerate(folders):
        here = os.path.join(top, *folders[: depth + 1])
        if name not in (os.curdir, os.pardir):
            names = [each for each in SIGNS if os.path.isfile(os.path.join(here, each))]
            role = role_of_folder(name, role, os.path.basename(os.path.dirname(here)), names)
    return role_of_file(os.path.basename(path), role)


def is_in_chart(path: str) -> bool:
    """Whether a YAML file is where charts have values: in the folder of one, or in a subfolder of it, such as ``environments``."""
    if not _may_be_values(path):
        return False
    folder = os.path.dirname(os.path.abspath(path))
    parent_folder, name = os.path.split(folder)
    return _holds_chart(folder) or (name not in _WITHOUT_VALUES and _holds_chart(parent_folder))


def _may_be_values(name: str) -> bool:
    """Return whether a file may have values by its name: `values.schema.yaml` describes them."""
    return name.endswith((".yaml", ".yml")) and not name.endswith((".schema.yaml", ".schema.yml"))


_WITHOUT_VALUES = frozenset(("templates", "crds", "charts"))


def _holds_chart(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, CHART))


def _never(_path: str) -> bool:
    return False


# The configuration and the baseline of afflint, which do not contain manifests.
_OUR_OWN = frozenset((".afflint.yaml", ".afflint.yml", ".afflint-baseline.json"))


def _is_manifest(entry: os.DirEntry[str], path: str, included: Callable[[str], bool] | None) -> bool:
    if entry.name in _OUR_OWN:
        return False
    try:
        # A link to a file is read, a broken link is not, and a pipe in a folder would block.
        return (included is None or included(path)) and entry.is_file()
    except OSError:
        return False


class _GitIgnored:
    """What git ignores below a folder: its .gitignore files and those of its parents up to the root of the repository.

    If the folder is ignored itself but was named, only the .gitignore files in it count.
    """

    def __init__(self, top: str) -> None:
        self._patterns: dict[str, Patterns] = {}
        self._above: dict[str, list[tuple[Patterns, int]]] = {}
        parents = _parents_in_repository(top)
        for parent in parents:
            self._load(parent)
        if any(self(folder, folder=True) for folder in (top, *parents[:-1])):
            self._patterns.clear()
        self._above.clear()

    def enter(self, folder: str, has_file: bool) -> None:
        if has_file:
            self._load(folder)

    def __call__(self, path: str, *, folder: bool) -> bool:
        if not self._patterns:
            return False
        for patterns, length in self._patterns_above(os.path.dirname(path)):
            verdict = patterns.verdict(path[length:].replace(os.sep, "/"), folder=folder)
            if verdict is not None:
                return verdict
        return False

    def _patterns_above(self, folder: str) -> list[tuple[Patterns, int]]:
        """Return the patterns that apply in a folder, the deepest first, with the length of the path that theirs are relative to."""
        if folder not in self._above:
            parent = os.path.dirname(folder)
            above = self._patterns_above(parent) if parent != folder else []
            own = self._patterns.get(folder)
            self._above[folder] = above if own is None else [(own, len(folder.rstrip(os.sep)) + 1), *above]
        return self._above[folder]

    def _load(self, folder: str) -> None:
        try:
            text = read_regular(os.path.join(folder, ".gitignore"), _LARGEST_GITIGNORE).decode("utf-8-sig", "surrogateescape")
        except OSError:
            return  # It does not exist, is not a regular file, or is far too large.
        from afflint.source.globs import of_lines

        self._patterns[folder] = of_lines(text.split("\n"))


def _parents_in_repository(top: str) -> list[str]:
    """Return the folders above ``top`` up to the one with .git; none if there is no repository."""
    parents: list[str] = []
    folder = top
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent_folder = os.path.dirname(folder)
        if parent_folder == folder:
            return []
        parents.append(parent_folder)
        folder = parent_folder
    return parents


def read_bytes(source: Source) -> bytes:
    """Read the bytes of a source. Raises OSError."""
    if source.data is not None:
        return source.data
    if source.fault is not None:
        raise OSError(errno.EIO, source.fault)
    if source.path == STDIN:
        return _standard_input()
    return read_regular(source.path, LARGEST)


def standard_input(name: str | None = None) -> Source:
    """Read standard input to its end; with a name the result is a buffer with the content of that file."""
    try:
        return Source(name or "<stdin>", name or STDIN, _standard_input())
    except OSError as error:
        return Source(name or "<stdin>", name or STDIN, fault=error.strerror or str(error))


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return read_all(sys.stdin.buffer.read, LARGEST)
