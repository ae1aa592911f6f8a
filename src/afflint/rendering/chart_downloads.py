"""Charts and bases that are not in the repository: from the cache, or fetched with the user's own `helm pull`, Git or kustomize.

The addresses come from the tree that is checked, so they are never passed on as they are: only HTTP and OCI, without credentials. A server
that needs credentials gets those of the user's own Helm.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import finalize

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.programs.helm import without_plugins
from afflint.programs.lookup import find_program
from afflint.rendering.chart_archives import LARGEST, SUFFIX, ChartCache, DamagedArchiveError, unpack
from afflint.rendering.git_downloads import GitFolder, fetch_repository
from afflint.rendering.programs import ProgramRunner, RenderError
from afflint.rendering.remote_bases import RemoteFile, fetch_file
from afflint.rendering.roots import chart_data
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART
from afflint.source.temporary_folders import TemporaryFolder, temporary_folder
from afflint.yaml.document import text_at

OCI = "oci://"
_ADDRESS = re.compile(
    r"(https?|oci)://(?:[^/@]*@)?((?:\w[\w.-]*|\[[0-9a-fA-F:]+\])(?::\d+)?)((?:/[\w.~%+-]+)*)/*", re.IGNORECASE | re.ASCII
)
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?", re.ASCII)
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_VERSION = re.compile(r"[\w.*^~<>=!|,+ -]{0,200}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SHOWN = 20
"""The most characters of a version that are shown: digests are long."""
_EXACT = re.compile(r"v?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?", re.ASCII)


_COMPLAINT = re.compile(r"^Error: (?:looks like \S+ is not a valid chart repository or cannot be reached: )?")
"""How the messages of Helm begin."""


class PublishedChart(NamedTuple):
    """A chart in a repository: its address without credentials, the name, and a version, a range, a tag or a digest.

    ``is_plain_http``: an OCI registry on this machine without TLS.
    """

    repository: str
    name: str
    version: str = ""
    is_plain_http: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What the cache stores it under."""
        return self.repository, self.name, self.version

    @property
    def is_fixed(self) -> bool:
        """Whether it always is the same chart: an exact version, or a digest."""
        return is_exact(self.version) or _DIGEST.fullmatch(self.version) is not None

    @property
    def shown(self) -> str:
        """The name and the version."""
        return f"{self.name} {self.version[:_SHOWN]}".rstrip()


def is_exact(version: str) -> bool:
    """Return whether a version is neither a range nor a tag."""
    return _EXACT.fullmatch(version) is not None


def chart_reference(repository: str, name: str, version: str = "", *, insecure: bool = False) -> PublishedChart:
    """Return the reference to a chart that a tree names. Raises RenderError for an address, a name or a version that is not usual.

    ``insecure``: the registry is declared to have no TLS, which only counts for one on this machine.
    """
    match = _ADDRESS.fullmatch(repository)
    if match is None:
        raise RenderError(f"the address of the repository of the chart {quoted(name)} is not supported")
    scheme, host, path = match[1].lower(), match[2], match[3]
    if scheme == "oci" and "/" in name.strip("/"):
        above, _, name = name.strip("/").rpartition("/")
        path += f"/{above}"
    if _NAME.fullmatch(name) is None or ".." in path or (scheme == "oci" and _ADDRESS.fullmatch(f"{OCI}{host}{path}") is None):
        raise RenderError(f"{quoted(name)} is not the name of a chart")
    if _VERSION.fullmatch(version) is None and _DIGEST.fullmatch(version) is None:
        raise RenderError(f"{quoted(version)} is not a version of the chart {quoted(name)}")
    plain = insecure and scheme == "oci" and _LOOPBACK.fullmatch(host) is not None
    return PublishedChart(f"{scheme}://{host}{path}", name, version.strip(), plain)


Download = PublishedChart | GitFolder | RemoteFile


class ChartDownloads:
    """The charts and bases of a run that are not in the repository, each unpacked once into a temporary folder. Threads may share it.

    ``cache``: None to keep nothing after the run. Without ``network``, only charts in the cache are found.
    """

    def __init__(self, runner: ProgramRunner, cache: ChartCache | None, *, network: bool) -> None:
        self._runner = runner
        self._cache = cache
        self._network = network
        temporary = TemporaryFolder()
        self.folder = temporary.path
        """The folder of all charts, links resolved. It is deleted with this object."""
        finalize(self, temporary.remove)
        self._lock = Lock()
        self._locks: dict[tuple[str, ...], Lock] = {}
        self._found: dict[tuple[str, ...], str | RenderError] = {}

    def unpacked(self, chart: PublishedChart | GitFolder) -> str:
        """Return the folder of a chart, links resolved. Raises RenderError."""
        top = self.top(chart)
        if isinstance(chart, PublishedChart):
            return top
        folder = os.path.realpath(os.path.join(top, chart.path))
        if not is_inside(folder, top) or not os.path.isfile(os.path.join(folder, CHART)):
            raise RenderError(f"{chart.shown} is not a chart")
        return folder

    def folder_of(self, base: RemoteFile | GitFolder) -> str:
        """Return the folder of a base, links resolved. Raises RenderError."""
        top = self.top(base)
        folder = os.path.realpath(os.path.join(top, base.path)) if isinstance(base, GitFolder) else top
        if not is_inside(folder, top) or not os.path.isdir(folder):
            raise RenderError(f"{base.shown} is not a folder")
        return folder

    def top(self, chart: Download) -> str:
        """Return the folder of a chart, or of the Git repository that it is in. Raises RenderError."""
        with self._lock:
            lock = self._locks.setdefault(chart.key, Lock())
            name = chart.name if isinstance(chart, PublishedChart) else "repository"
            target = os.path.join(self.folder, str(list(self._locks).index(chart.key)), name)
        with lock:
            if chart.key not in self._found:
                try:
                    self._found[chart.key] = self._unpack(chart, target)
                except RenderError as error:
                    self._found[chart.key] = error
        found = self._found[chart.key]
        if isinstance(found, RenderError):
            raise found
        return found

    def _unpack(self, chart: Download, target: str) -> str:
        data, is_new = self._archive(chart)
        try:
            os.makedirs(target)
            unpack(data, target)
            if not isinstance(chart, PublishedChart):
                os.mkdir(os.path.join(target, ".git"))  # It is the top of a repository, whose charts may use each other.
        except (OSError, ValueError) as error:
            raise RenderError(f"the archive of {_described(chart)} cannot be unpacked: {error}") from None
        if isinstance(chart, PublishedChart) and not os.path.isfile(os.path.join(target, CHART)):
            raise RenderError(f"the archive of {_described(chart)} contains no {CHART}")
        if isinstance(chart, PublishedChart) and (other := _other_chart(chart, chart_data(target))):
            raise RenderError(f"the archive of {_described(chart)} contains {other}")
        # Only now: what a server has sent by mistake is not taken from the cache again.
        if is_new and self._cache is not None:
            self._cache.keep(chart.key, data)
        return target

    def _archive(self, chart: Download) -> tuple[bytes, bool]:
        """Return an archive, and whether it was fetched. Raises RenderError."""
        damaged = False
        # A range, a tag or a branch may mean something else today.
        if self._cache is not None and (chart.is_fixed or not self._network):
            try:
                data = self._cache.find(chart.key)
                if data is not None:
                    return data, False
            except DamagedArchiveError:
                damaged = True
        if not self._network:
            state = "is damaged in the cache" if damaged else "is not in the cache"
            raise RenderError(f"{_described(chart)} {state}; `--render-network` fetches it", needs_network=True)
        return self._fetched(chart), True

    def _fetched(self, chart: Download) -> bytes:
        if isinstance(chart, GitFolder):
            return fetch_repository(self._runner, chart)
        if isinstance(chart, RemoteFile):
            return fetch_file(self._runner, chart)
        helm = find_program("helm")
        if helm is None:
            raise RenderError("`helm` is not on PATH")
        with temporary_folder() as folder:
            try:
                # The server names the address of the archive, and a plugin of the user could answer for it.
                self._runner.output([helm, "pull", *_words(chart, folder)], f"the chart {chart.shown}", without_plugins(), fetches=True)
            except RenderError as error:
                reason = _COMPLAINT.sub("", error.reason)
                raise RenderError(f"the chart {chart.shown} cannot be fetched from {chart.repository}: {reason}") from None
            try:
                [name] = [each for each in os.listdir(folder) if each.endswith(SUFFIX)]
                data = read_regular(os.path.join(folder, name), LARGEST)
            except (OSError, ValueError):
                raise RenderError(f"the chart {chart.shown} is not one archive of at most {LARGEST >> 20} MB") from None
            return data


def _other_chart(wanted: PublishedChart, found: Mapping[str, Any]) -> str:
    """Return the chart that an archive contains instead of the wanted one; empty if it is that."""
    name, version = text_at(found, "name"), text_at(found, "version")
    is_other = is_exact(wanted.version) and _plain(version) != _plain(wanted.version)
    return f"{quoted(name)} {version[:_SHOWN]}" if name != wanted.name or is_other else ""


def _plain(version: str) -> str:
    """Return a version as a tag of a registry has it."""
    return version.removeprefix("v").replace("+", "_")


def _described(chart: Download) -> str:
    return f"the chart {chart.shown}" if isinstance(chart, PublishedChart) else chart.shown


def _words(chart: PublishedChart, folder: str) -> list[str]:
    """Return the arguments of `helm pull`. Nothing of the tree begins an argument."""
    words = [f"--destination={folder}", f"--repository-cache={os.path.join(folder, 'cache')}"]
    is_digest = _DIGEST.fullmatch(chart.version) is not None
    if chart.version and not is_digest:
        words.append(f"--version={chart.version}")
    if not chart.repository.startswith(OCI):
        return [chart.name, f"--repo={chart.repository}", *words]
    words += ["--plain-http"] if chart.is_plain_http else []
    return [f"{chart.repository}/{chart.name}{f'@{chart.version}' if is_digest else ''}", *words]
