"""Folders of other Git repositories, fetched with the user's own Git, which also has the credentials.

Only one commit is fetched, without submodules and links, and nothing is checked out: no hook, filter or attribute starts a program. It is
kept as one pack, whose size the sandbox limits.
"""

from __future__ import annotations

import gzip
import os
import re

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.programs import sandbox
from afflint.programs.lookup import find_program
from afflint.rendering.chart_archives import LARGEST, MOST_UNPACKED
from afflint.rendering.programs import ProgramRunner, RenderError
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.temporary_folders import temporary_folder

_HOST = r"\w[\w.-]*|\[[0-9a-fA-F:]+\]"
_HTTP = re.compile(rf"(https?)://(?:[^/@]*@)?((?:{_HOST})(?::\d+)?)((?:/[\w.~%+-]+)+)/*", re.IGNORECASE | re.ASCII)
_SSH = re.compile(rf"ssh://(?:(\w[\w.-]*)(?::[^/@]*)?@)?((?:{_HOST})(?::\d+)?)((?:/[\w.~%+-]+)+)/*", re.IGNORECASE | re.ASCII)
_SHORT_SSH = re.compile(rf"(\w[\w.-]*)@({_HOST}):((?:[\w.~%+-]+)(?:/[\w.~%+-]+)*)/*", re.ASCII)
_REF = re.compile(r"\w[\w./+@-]{0,200}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHOWN = 12
_FETCHING = {"GIT_ALLOW_PROTOCOL": "http:https:ssh"}
_WITHOUT_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}
"""Filters of the user, which a `.gitattributes` of the tree could name, are not applied."""
_PREFIX = "repository/"
_SOURCE_CODE = "gif go ico jpeg jpg js jsx mp4 pdf png py rs scss svg ts tsx webp woff2"
_WITHOUT_SOURCE_CODE = ("--", ".", *(f":(exclude,glob)**/*.{each}" for each in _SOURCE_CODE.split()))
"""Of a repository that is too large, the files that neither charts nor kustomizations consist of are left out."""


class GitFolder(NamedTuple):
    """A folder of a Git repository: the address without a password, the ref or commit, and the path."""

    address: str
    ref: str
    path: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What the cache stores its repository under."""
        return "git", self.address, self.ref

    @property
    def is_fixed(self) -> bool:
        """Whether it always has the same content."""
        return _COMMIT.fullmatch(self.ref) is not None

    @property
    def shown(self) -> str:
        """The path, the repository and the ref."""
        ref = self.ref[:_SHOWN] if self.is_fixed else self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
        return f"{self.path} of {self.address} {ref}"


def git_folder(address: str, ref: str, path: str) -> GitFolder:
    """Return the reference to a folder that a tree names. Raises RenderError for an address or a ref that is not usual.

    ``ref``: a full name (`refs/heads/main`) or a commit.
    """
    http, ssh, short = _HTTP.fullmatch(address), _SSH.fullmatch(address), _SHORT_SSH.fullmatch(address)
    if http is not None:
        found = f"{http[1].lower()}://{http[2]}{http[3]}"
    elif ssh is not None:
        found = f"ssh://{f'{ssh[1]}@' if ssh[1] else ''}{ssh[2]}{ssh[3]}"
    elif short is not None:
        found = f"ssh://{short[1]}@{short[2]}/{short[3]}"
    else:
        raise RenderError(f"the address of the Git repository with {quoted(path)} is not supported")
    if _REF.fullmatch(ref) is None or ".." in ref:
        raise RenderError(f"{quoted(ref)} is not a ref that afflint fetches")
    return GitFolder(found, ref, os.path.normpath(path.strip("/") or os.curdir))


def fetch_repository(runner: ProgramRunner, wanted: GitFolder) -> bytes:
    """Return the packed files of the repository of a folder. Raises RenderError."""
    git = find_program("git")
    if git is None:
        raise RenderError("`git` is not on PATH")
    with temporary_folder() as folder:
        command = [git, f"--git-dir={os.path.join(folder, 'fetched')}", *sandbox.GIT_SETTINGS]
        options = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
        try:
            runner.output([*command, "init", "--quiet", "--bare", "--template="], wanted.shown, _WITHOUT_CONFIGURATION)
            runner.output([*command, "fetch", *options, "--", wanted.address, wanted.ref], wanted.shown, _FETCHING, fetches=True)
            _ignore_attributes(os.path.join(folder, "fetched"))
            archive = [*command, "archive", "--format=tar", f"--prefix={_PREFIX}", "FETCH_HEAD"]
            files = runner.output(archive, wanted.shown, _WITHOUT_CONFIGURATION)
            data = gzip.compress(files, mtime=0)
            if len(data) > LARGEST or len(files) > MOST_UNPACKED:
                files = runner.output([*archive, *_WITHOUT_SOURCE_CODE], wanted.shown, _WITHOUT_CONFIGURATION)
                data = gzip.compress(files, mtime=0)
        except RenderError as error:
            reason = f"it has more than {sandbox.MOST_WRITTEN >> 20} MB" if _is_full(folder) else error.reason
            raise RenderError(f"{wanted.shown} cannot be fetched: {reason}") from None
    if len(data) > LARGEST:
        raise RenderError(f"the repository of {wanted.shown} has more than {LARGEST >> 20} MB, packed")
    return data


def _ignore_attributes(repository: str) -> None:
    """Let the archive of a bare repository have all files as they are: an attribute of the tree could leave out a base."""
    os.makedirs(os.path.join(repository, "info"), exist_ok=True)
    with open(os.path.join(repository, "info", "attributes"), "w", encoding="utf-8") as file:
        file.write("* -export-ignore -export-subst\n")


def _is_full(folder: str) -> bool:
    """Return whether a file in a folder has the size at which the sandbox ends the program that writes it. Git does not say that."""
    files = (os.path.join(here, name) for here, _, names in os.walk(folder) for name in names)
    return any(os.path.getsize(each) >= sandbox.MOST_WRITTEN for each in files if os.path.isfile(each))


_LARGEST = 1 << 20
_URL = re.compile(r"(?m)^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t]*$")


def is_own(folder: GitFolder, top: str) -> bool:
    """Return whether a folder is one of the repository with the top ``top``, links resolved, as its `.git/config` says."""
    return _without_protocol(folder.address) in {*map(_remote, addresses(top))} - {""}


def addresses(top: str) -> list[str]:
    """Return the addresses in the `.git/config` of a repository with the top ``top``, links resolved; none if it cannot be read."""
    path = os.path.join(top, ".git", "config")
    try:
        text = read_regular(path, _LARGEST).decode("utf-8", "replace") if is_inside(os.path.realpath(path), top) else ""
    except OSError:
        return []
    return _URL.findall(text)


def _remote(address: str) -> str:
    try:
        return _without_protocol(git_folder(address, "HEAD", "").address)
    except RenderError:
        return ""


def _without_protocol(address: str) -> str:
    """Return the host, without a port, and the path: a repository has them in common for all protocols."""
    host, _, path = address.partition("://")[2].rpartition("@")[2].partition("/")
    return f"{re.sub(r':[0-9]+$', '', host).lower()}/{path.rstrip('/').removesuffix('.git').lower()}"
