"""Bases of kustomizations in other places: folders of Git repositories, and manifests at a URL.

After ``git.NewRepoSpecFromURL`` and ``loader.fileLoader`` of sigs.k8s.io/kustomize/api.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Mapping

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering.chart_archives import LARGEST
from afflint.rendering.git_downloads import GitFolder, git_folder
from afflint.rendering.programs import ProgramRunner, RenderError, kustomize_command
from afflint.source.kustomizations import NAMES
from afflint.source.temporary_folders import temporary_folder

_ADDRESS = re.compile(
    r"(?:git::)?(?:(https?|ssh)://)?(?:([^/@\s]*)@)?((?:\w[\w.-]*|\[[0-9a-fA-F:]+\])(?::\d+(?=/))?)([:/])(\S*)", re.IGNORECASE | re.ASCII
)
_FILE = re.compile(
    r"(https?)://(?:[^/@]*@)?((?:\w[\w.-]*|\[[0-9a-fA-F:]+\])(?::\d+)?(?:/[\w.~%+=@,-]+)+(?:\?[\w.~%+=&/-]*)?)", re.IGNORECASE | re.ASCII
)
_MANIFEST = re.compile(r"\.(?:ya?ml|json)(?:\?|$)", re.IGNORECASE | re.ASCII)
_OF_GITHUB = re.compile(r"(?:https?://)?github\.com/", re.IGNORECASE | re.ASCII)
_GITHUB = "github.com"
_DEFAULT_REF = "HEAD"
_WITHOUT_GIT = {"GIT_ALLOW_PROTOCOL": "none"}
_RESOURCE = "resource.yaml"


class RemoteFile(NamedTuple):
    """A manifest at a URL without credentials."""

    address: str

    @property
    def key(self) -> tuple[str, str]:
        """What the cache stores it under."""
        return "file", self.address

    @property
    def is_fixed(self) -> bool:
        """Whether it always has the same content."""
        return False

    @property
    def shown(self) -> str:
        """The URL."""
        return self.address


def remote_bases(text: str) -> list[RemoteFile | GitFolder]:
    """Return what an entry of `resources` may refer to; if there are two, kustomize tries the first before the second.

    Raises RenderError for an address that is not usual.
    """
    file = _FILE.fullmatch(text)
    if file is not None and _MANIFEST.search(text) is not None:
        return [_remote_file(file)]
    if file is None or "ref=" in text or "_git/" in text or ".git" in text or _OF_GITHUB.match(text) is not None:
        return [_repository(text)]
    try:
        return [_remote_file(file), _repository(text)]
    except RenderError:
        return [_remote_file(file)]


def _remote_file(match: re.Match[str]) -> RemoteFile:
    return RemoteFile(f"{match[1].lower()}://{match[2]}")


def _repository(text: str) -> GitFolder:
    """Return the folder of a Git repository that a text names. Raises RenderError."""
    from urllib.parse import parse_qs

    written, _, query = text.partition("?")
    match = _ADDRESS.fullmatch(written)
    if match is None:
        raise RenderError(f"the address {quoted(text)} is not supported")
    scheme, user, host, separator, path = (match[1] or "").lower(), match[2] or "", match[3], match[4], match[5]
    if (not scheme and not user and host.lower() != _GITHUB) or (scheme and separator == ":"):
        raise RenderError(f"the address {quoted(text)} is not supported")
    repository, below = _split(path)
    if not repository:
        raise RenderError(f"the address {quoted(text)} does not name a repository")
    if os.path.normpath(below).split(os.sep)[0] == os.pardir:
        raise RenderError(f"{quoted(below)} leaves its repository")
    values = parse_qs(query)
    ref = (values.get("ref") or values.get("version") or [_DEFAULT_REF])[0]
    if scheme in ("http", "https") or not (scheme or user):
        return git_folder(f"{scheme or 'https'}://{host}/{repository}", ref, below)
    return git_folder(f"ssh://{f'{user}@' if user else ''}{host}/{repository.lstrip('/')}", ref, below)


def _split(path: str) -> tuple[str, str]:
    """Return the path of a repository and that of the folder in it. After ``parsePathParts`` of kustomize."""
    before, marker, after = path.partition("_git/")
    if marker:
        name, _, below = after.partition("/")
        return f"{before}{marker}{name}", below
    for marker, kept in (("//", ""), (".git", ".git")):
        before, found, below = path.partition(marker)
        if found:
            return f"{before}{kept}", below.lstrip("/")
    parts = path.split("/")
    return ("/".join(parts[:2]), "/".join(parts[2:])) if len(parts) > 1 else ("", "")


def fetch_file(runner: ProgramRunner, wanted: RemoteFile) -> bytes:
    """Return the packed kustomization of a manifest, which the user's own kustomize loads. Raises RenderError.

    kustomize takes what is not a manifest for a Git repository, which it may not fetch here.
    """
    program = kustomize_command()
    if program is None:
        raise RenderError("neither `kustomize` nor `kubectl` is on PATH")
    with temporary_folder() as folder:
        with open(os.path.join(folder, NAMES[0]), "w", encoding="utf-8") as file:
            json.dump({"resources": [wanted.address]}, file)
        try:
            manifest = runner.output([*program, folder], wanted.shown, _WITHOUT_GIT, fetches=True)
        except RenderError as error:
            raise RenderError(f"{wanted.shown} cannot be fetched: {error.reason.replace(f'{folder}/', '')}") from None
    data = _packed({NAMES[0]: json.dumps({"resources": [_RESOURCE]}).encode(), _RESOURCE: manifest})
    if len(data) > LARGEST:
        raise RenderError(f"{wanted.shown} has more than {LARGEST >> 20} MB, packed")
    return data


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"resource/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)
