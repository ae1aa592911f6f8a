"""Reads commits and files of a Git repository with the user's own Git, which only reads objects.

The configuration of the repository may be hostile. The commands here neither refresh the index nor apply filters, so no hook, filter or
file system monitor is started, and no object is fetched. Git refuses a repository of another user by itself (`safe.directory`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest, quoted
from afflint.programs import sandbox
from afflint.programs.lookup import find_program
from afflint.programs.processes import GuardedProcess, OutputLimitError, TimeLimitError
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.sources import LARGEST
from afflint.source.trees import MOST_ENTRIES

_PATIENCE = 60.0
"""Seconds for a command that lists something."""
_PATIENCE_FOR_ALL = 300.0
"""Seconds for the contents of all files."""
_LARGEST_LISTING = 64 << 20
_LONGEST_NAME = 1 << 16
_KEPT_PREFIX = "GIT_CONFIG_"
"""The variables with the user's own settings, such as `safe.directory` in a container."""
_DEFAULT_BRANCHES = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)
_SHORT = 10
_INDEX_FILE = "GIT_INDEX_FILE"
_MERGED = "0"
"""The stage of a file in the index; files with a conflict have the stages 1 to 3."""
REGULAR, LINK, SUBMODULE = "100", "120000", "160000"
"""How the modes of entries begin: files, symbolic links and submodules."""
FETCH_ALL = "fetch the whole history (`git fetch --unshallow`; `fetch-depth: 0` for actions/checkout; `GIT_DEPTH: 0` in GitLab CI)"


class TreeEntry(NamedTuple):
    """A file, link or submodule of a commit or the index. ``path`` is relative to the root, as the system decodes file names."""

    mode: str
    blob: str
    path: str


class Range(NamedTuple):
    """The two states of a comparison: the commit of the base, and that of the head; None is the work tree."""

    base: str
    head: str | None


class Repository:
    """The Git repository around a folder. ``root`` is the top of its work tree, with links resolved."""

    def __init__(self, folder: str) -> None:
        """Find the repository. Raises UserError if the folder is not in one, or Git cannot be used."""
        found = find_program("git")
        if found is None:
            raise UserError("reading commits or the index needs `git` on PATH")
        root = _root(os.path.realpath(folder))
        if root is None:
            raise UserError("not in a Git repository: this folder and those above it have no `.git`")
        verify_git_folder(root)
        self.root = root
        self._command = [found, "-C", root, "--no-pager", *sandbox.GIT_SETTINGS]
        own = {name: value for name, value in os.environ.items() if name.startswith(_KEPT_PREFIX)}
        if index := os.environ.get(_INDEX_FILE):
            own[_INDEX_FILE] = os.path.abspath(index)
        self._environment = {
            **sandbox.environment(network=False),
            **own,
            "GIT_CEILING_DIRECTORIES": os.path.dirname(root),  # Not a repository further up, if the marker is not one.
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }
        code, _, complaint = self._run("rev-parse", "--git-dir")
        if code:
            raise UserError(f"Git cannot read the repository {root!r}: {complaint}")

    # Refs.

    def commit(self, ref: str) -> str:
        """Return the commit that a ref names. Raises UserError, which names the nearest ref."""
        found = self.find_commit(ref)
        if found is not None:
            return found
        shallow = f"; this clone is shallow: {FETCH_ALL}" if self._is_shallow() else ""
        _, refs, _ = self._run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
        close = nearest(ref, ["HEAD", *refs.decode("utf-8", "replace").split("\n")])
        raise UserError(f"Git does not know a commit {quoted(ref)}" + (f"; did you mean {close!r}?" if close else shallow))

    def find_commit(self, ref: str) -> str | None:
        """Return the commit that a ref names; None for any other text."""
        if not ref or ref.startswith("-") or "\0" in ref:
            return None
        code, output, _ = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return None if code else output.decode("ascii", "replace").strip()

    def range_of(self, text: str | None) -> Range:
        """Return the two states that ``REF``, ``REF...``, ``A..B`` or ``A...B`` names. Raises UserError.

        A single ref means the commit where the work tree has branched off from it, and so does None, with the default branch. Between two
        refs, two dots mean exactly these commits, three dots the commit where the second has branched off from the first.
        """
        if text is None:
            return Range(self.merge_base(self._default_branch(), "HEAD"), None)
        first, dots, second = text.partition("..")
        if not dots:
            return Range(self.merge_base(first, "HEAD"), None)
        third, second = second.startswith("."), second.removeprefix(".")
        if not (first or second):
            raise UserError(f"{quoted(text)} names no ref: write REF, REF..REF or REF...REF")
        first = first or "HEAD"
        if not second and third:
            return Range(self.merge_base(first, "HEAD"), None)
        head = self.commit(second or "HEAD")
        return Range(self.merge_base(first, head) if third else self.commit(first), head)

    def merge_base(self, ref: str, other: str) -> str:
        """Return the newest common ancestor of two refs. Raises UserError if they have none, as in a shallow clone."""
        one, two = self.commit(ref), self.commit(other)
        if one == two:
            return one
        code, output, _ = self._run("merge-base", one, two)
        if code:
            shown = quoted(other if len(other) < len(two) else other[:_SHORT])
            remedy = f"this clone is shallow: {FETCH_ALL}" if self._is_shallow() else "write REF..REF to compare them anyway"
            raise UserError(f"{quoted(ref)} and {shown} have no common commit here; {remedy}")
        return output.decode("ascii", "replace").split()[0]

    def name(self, commit: str) -> str:
        """Return a commit as reports show it: its short name."""
        return commit[:_SHORT]

    def _default_branch(self) -> str:
        for ref in _DEFAULT_BRANCHES:
            if self.find_commit(ref) is not None:
                return ref.removeprefix("refs/remotes/").removeprefix("refs/heads/")
        if self.find_commit("HEAD") is None:
            raise UserError("the repository has no commit yet")
        raise UserError(
            "the default branch is not known: none of origin/HEAD, origin/main, origin/master, main and master exists; name a ref"
        )

    def _is_shallow(self) -> bool:
        _, output, _ = self._run("rev-parse", "--is-shallow-repository")
        return output.strip() == b"true"

    # Objects.

    def entries(self, commit: str) -> list[TreeEntry]:
        """Return the files, links and submodules of a commit. Raises UserError, also if there are too many.

        Git lists whatever names the author of a commit has chosen: see ``source.trees``.
        """
        what = f"the files of {self.name(commit)}"
        listed = self._records(what, "ls-tree", "-r", "-z", "--full-tree", commit)
        return [TreeEntry(mode, blob, path) for (mode, _, blob), path in listed]

    def index_entries(self) -> list[TreeEntry]:
        """Return the files, links and submodules of the index, as ``entries`` does. Raises UserError, also if a file is not merged.

        In a Git hook, this is the index of the commit that is being made: Git names it in ``GIT_INDEX_FILE``.
        """
        found = []
        for (mode, blob, stage), path in self._records("the files of the index", "ls-files", "--stage", "-z"):
            if stage != _MERGED:
                raise UserError(f"{quoted(path)} is not merged: resolve the conflict and add the file")
            found.append(TreeEntry(mode, blob, path))
        return found

    def blobs(self, ids: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the content of each object, None for one of more than 256 MB or that this clone does not have. Raises UserError."""
        if not ids:
            return
        with self._started(_PATIENCE_FOR_ALL, "cat-file", "--batch", given="".join(f"{each}\n" for each in ids)) as process:
            for _ in ids:
                yield _next_blob(process)

    def size(self, ids: Sequence[str]) -> int:
        """Return how many bytes objects have together, without reading them; those that Git does not have count as empty."""
        output = self._run("cat-file", "--batch-check=%(objectsize)", given="".join(f"{each}\n" for each in ids))[1]
        return sum(int(each) for each in output.split(b"\n") if each.isdigit())

    def _records(self, what: str, *arguments: str) -> Iterator[tuple[list[str], str]]:
        """Yield the three words about each file that Git lists, and its path. Raises UserError for more files than a snapshot may have."""
        with self._started(_PATIENCE, *arguments) as process:
            size, count, rest = 0, 0, b""
            for block in process.blocks:
                size += len(block)
                *records, rest = (rest + block).split(b"\0")
                count += len(records)
                if size > _LARGEST_LISTING or count > MOST_ENTRIES or len(rest) > _LONGEST_NAME:
                    raise UserError(f"{what} cannot be compared: they are more than {MOST_ENTRIES:,}, or their names are too long")
                for record in records:
                    about, _, name = record.partition(b"\t")
                    yield about.decode("ascii", "replace").split(" "), os.fsdecode(name)
            if process.wait():
                raise UserError(f"Git cannot list {what}: {_first_line(process)}")

    def _run(self, *arguments: str, given: str = "") -> tuple[int, bytes, str]:
        """Run a command of Git with ``given`` as its input; return its exit code, its output and the first line of its error output."""
        with self._started(_PATIENCE, *arguments, given=given) as process:
            output = process.output(_LARGEST_LISTING)
            return process.wait(), output, _first_line(process)

    @contextmanager
    def _started(self, seconds: float, *arguments: str, given: str = "") -> Iterator[GuardedProcess]:
        """Start a command of Git. Raises UserError if it cannot be started, or exceeds the limits of time and output."""
        try:
            with (
                _input(given) as asked,
                GuardedProcess([*self._command, *arguments], self._environment, seconds=seconds, given=asked) as process,
            ):
                yield process
        except (TimeLimitError, OutputLimitError) as error:
            raise UserError(f"`git {arguments[0]}` was stopped: {error}") from None
        except OSError as error:
            raise UserError(f"`git {arguments[0]}` failed: {error.strerror or error}") from None


@contextmanager
def _input(text: str) -> Iterator[IO[bytes] | None]:
    """Give a file with a text as its content; None for an empty text."""
    if not text:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("ascii"))
        file.seek(0)
        yield file


def _first_line(process: GuardedProcess) -> str:
    return process.complaint.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")


def _next_blob(output: GuardedProcess) -> bytes | None:
    header = output.read_line().split()
    if header[1:] == [b"missing"]:
        return None  # A clone with `--filter` lacks some.
    if len(header) != 3 or header[1] != b"blob":
        raise UserError(f"Git cannot read {header[0].decode('ascii', 'replace')[:_SHORT] if header else 'an object'}")
    size = int(header[2])
    if size > LARGEST:
        left = size + 1
        while left > 0 and (block := output.read(min(left, 1 << 20))):
            left -= len(block)
        return None
    data = output.read(size)
    if len(data) < size:
        raise UserError("Git ended before it had written all files")
    output.read(1)
    return data


def _root(folder: str) -> str | None:
    """Return the nearest folder upward with `.git`."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


# The folder in which Git keeps a repository: it may be that of another one only if that one knows of it.
# An unpacked archive may have a `.git` that leads to a private repository beside it, whose files would then be compared and shown. After
# ``gitrepository-layout`` and ``git-worktree`` of the documentation of Git.


_LARGEST = 1 << 20
_POINTER = "gitdir:"
_PARTS = ("HEAD", "config", "index", "objects", "packed-refs", "refs", "shallow")
"""The files and folders in which Git keeps a repository, besides those that only its own commands read."""
_MOST_REFS = 20_000


def verify_git_folder(root: str) -> None:
    """Raise UserError if the `.git` of a folder with links resolved leads to a repository that does not name this folder."""
    marker = os.path.join(root, ".git")
    folder = _git_folder(marker)
    if folder is None:
        return  # Git says what is wrong.
    if not is_inside(folder, os.path.realpath(root)) and not _names(folder, root):
        raise UserError(f"{marker!r} leads to the repository {folder!r}, which has no worktree or submodule here")
    # A worktree belongs to the repository that it names, if that keeps it among its worktrees.
    named = _text_of(os.path.join(folder, "commondir")).strip()
    common = os.path.realpath(os.path.join(folder, named)) if named else None
    is_worktree = common is not None and os.path.dirname(folder) == os.path.join(common, "worktrees")
    allowed = [folder, common] if common is not None and is_worktree else [folder]
    elsewhere = next(_parts_elsewhere([*allowed, *([common] if common is not None else [])], allowed), None)
    if elsewhere is not None:
        raise UserError(f"{elsewhere!r} leads out of the repository {root!r}")


def _git_folder(marker: str) -> str | None:
    """Return the folder that `.git` is or names, links resolved; None if it is neither."""
    if os.path.isdir(marker):
        return os.path.realpath(marker)
    text = _text_of(marker)
    if not text.startswith(_POINTER):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(marker), text.removeprefix(_POINTER).strip()))


def _names(folder: str, root: str) -> bool:
    """Return whether a Git folder elsewhere names a folder: as one of its worktrees, or as the files of a submodule."""
    back = _text_of(os.path.join(folder, "gitdir")).strip()
    if back and _is_same(os.path.join(folder, back), os.path.join(root, ".git")):
        return True
    tree = next((value for key, value in _settings(folder) if key == "worktree"), "")
    return bool(tree) and _is_same(os.path.join(folder, tree), root)


def _parts_elsewhere(folders: list[str], allowed: list[str]) -> Iterator[str]:
    """Yield what of some Git folders leads out of the allowed ones; refs only if objects come from elsewhere, which they could name."""
    borrows = False
    for folder in folders:
        if not any(is_inside(folder, each) for each in allowed):
            yield folder
        objects = os.path.join(folder, "objects")
        for path in (*(os.path.join(folder, name) for name in _PARTS), *_links_in(objects), *_links_in(os.path.join(objects, "pack"))):
            if os.path.lexists(path) and not any(is_inside(os.path.realpath(path), each) for each in allowed):
                yield path
        borrows = borrows or os.path.lexists(os.path.join(objects, "info", "alternates"))
    if borrows:
        yield from (link for folder in folders for link in islice(_links_below(os.path.join(folder, "refs")), _MOST_REFS))


def _links_in(folder: str) -> list[str]:
    """Return the links in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [each.path for each in entries if each.is_symlink()]
    return []


def _links_below(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        yield from (path for name in (*folders, *files) if os.path.islink(path := os.path.join(here, name)))


def _settings(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values in the configuration of a Git folder, whatever their sections."""
    for line in _text_of(os.path.join(folder, "config")).splitlines():
        key, found, value = line.partition("=")
        if found:
            yield key.strip().lower(), value.strip().strip('"')


def _text_of(path: str) -> str:
    try:
        return os.fsdecode(read_regular(path, _LARGEST))
    except (OSError, ValueError):
        return ""


def _is_same(path: str, other: str) -> bool:
    return os.path.normcase(os.path.realpath(path)) == os.path.normcase(os.path.realpath(other))
