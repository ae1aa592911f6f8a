"""The charts that objects of Argo CD and Flux name, and the sources of Flux that say where these are.

After ``source.toolkit.fluxcd.io/v1`` (HelmRepository, OCIRepository, HelmChart) and ``helm.toolkit.fluxcd.io/v2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from afflint.charts.sources import last_part
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering.chart_downloads import OCI, PublishedChart, chart_reference, is_exact
from afflint.rendering.git_downloads import GitFolder, git_folder
from afflint.rendering.programs import RenderError
from afflint.yaml.document import map_at, text_at
from afflint.yaml.object_fields import kind_of, name_of, namespace_of

GROUP = "source.toolkit.fluxcd.io"
_GIT, _BUCKET = "GitRepository", "Bucket"
_KINDS = ("HelmRepository", "OCIRepository", "HelmChart", _GIT)
_DEFAULT_REVISION = "HEAD"
"""The `targetRevision` of Argo CD without one."""
_FIELDS = ("url", "ref", "insecure", "chart", "version", "sourceRef")


class SourceName(NamedTuple):
    """The name of a source of Flux. ``namespace`` is "" if it is unknown."""

    kind: str
    name: str
    namespace: str = ""


class WantedChart(NamedTuple):
    """A chart that an object names: in a repository, or in a ``source`` of Flux. ``version`` may be a range.

    ``is_folder``: it is a folder of a Git repository, which may be a kustomization; ``name`` is its path, and ``version`` a ref.
    """

    name: str
    version: str = ""
    repository: str = ""
    source: SourceName | None = None
    is_folder: bool = False

    @property
    def kind(self) -> str:
        """What it is, as messages name it."""
        return "folder" if self.is_folder else "chart"


class FluxSource(NamedTuple):
    """A source of charts, with the fields of its ``spec`` that say where they are. ``file`` is its file, or the rendered output."""

    name: SourceName
    spec: Mapping[str, Any]
    file: str


def flux_source(data: Mapping[str, Any], file: str) -> FluxSource | None:
    """Return the source that an object is; None for another object, and for a patch of one, which may leave its address out."""
    kind, spec = kind_of(data), map_at(data, "spec")
    if kind not in _KINDS or not (text_at(spec, "url") or text_at(spec, "chart")):
        return None
    name = SourceName(kind, name_of(data), namespace_of(data))
    return FluxSource(name, {key: spec[key] for key in _FIELDS if key in spec}, file)


def reference_in(source: Mapping[str, Any], namespace: str) -> SourceName:
    """Return the source that a reference of Flux names. ``namespace`` is that of its object."""
    return SourceName(kind_of(source), text_at(source, "name"), text_at(source, "namespace") or namespace)


class FluxSources:
    """The sources of charts of a run."""

    def __init__(self, found: Iterable[FluxSource]) -> None:
        self._by_name = grouped((each.name[:2], each) for each in found)

    def reference(self, wanted: WantedChart, file: str) -> PublishedChart | GitFolder:
        """Return where a chart is that an object in ``file`` names. Raises RenderError if that is unknown."""
        if wanted.source is None:
            if wanted.is_folder:
                return git_folder(wanted.repository, wanted.version or _DEFAULT_REVISION, wanted.name)
            return chart_reference(wanted.repository, wanted.name, wanted.version)
        source = self._find(wanted.source, file, wanted.kind, *([_GIT] if wanted.is_folder else []))
        spec = source.spec
        if source.name.kind == "HelmChart":
            inner = reference_in(map_at(spec, "sourceRef"), source.name.namespace)
            wanted = WantedChart(text_at(spec, "chart"), text_at(spec, "version"), source=inner)
            source = self._find(inner, file, wanted.kind, "HelmRepository", _GIT)
            spec = source.spec
        if source.name.kind == _GIT:
            return git_folder(text_at(spec, "url"), _git_ref(map_at(spec, "ref")), wanted.name)
        insecure, url = spec.get("insecure") is True, text_at(spec, "url")
        if source.name.kind == "OCIRepository":
            address, _, name = url.rstrip("/").rpartition("/")
            return chart_reference(address, name, _version_in(map_at(spec, "ref")), insecure=insecure)
        return chart_reference(url, wanted.name, wanted.version, insecure=insecure)

    def chart_name(self, wanted: WantedChart, file: str) -> str:
        """Return the name of a chart; "" if it is in a source that is not known."""
        if wanted.name or wanted.source is None:
            return wanted.name
        try:
            spec = self._find(wanted.source, file, wanted.kind, "OCIRepository", "HelmChart").spec
        except RenderError:
            return ""
        return last_part(text_at(spec, "url") or text_at(spec, "chart"))

    def _find(self, name: SourceName, file: str, what: str, *kinds: str) -> FluxSource:
        """Return a source by its name; one in the same file is preferred. ``what`` is in it. ``kinds``: those that it may have."""
        if name.kind not in (kinds or _KINDS):
            reason = "whose files only the cluster can read" if name.kind == _BUCKET else "which afflint does not fetch"
            raise RenderError(f"its {what} is in {quoted(f'{name.kind} {name.name}')}, {reason}")
        found = [each for each in self._by_name.get(name[:2], ()) if not name.namespace or each.name.namespace in ("", name.namespace)]
        found = [each for each in found if each.file == file] or found
        if not found:
            raise RenderError(f"{quoted(f'{name.kind} {name.name}')}, which says where its {what} is, is not in the repository")
        if any(each.spec != found[0].spec for each in found):
            raise RenderError(f"several objects {quoted(f'{name.kind} {name.name}')} say where its {what} is")
        return found[0]


def _version_in(ref: Mapping[str, Any]) -> str:
    """Return the digest or version that an OCIRepository refers to. Raises RenderError for another tag, which Helm cannot fetch."""
    version = text_at(ref, "digest") or text_at(ref, "semver")
    if version:
        return version
    tag = (text_at(ref, "tag") or "latest").replace("_", "+")  # A tag has `_` where the version has `+`.
    if not is_exact(tag):
        raise RenderError(f"Helm only fetches tags that are versions, and {quoted(tag)} is not one")
    return tag


def _git_ref(ref: Mapping[str, Any]) -> str:
    """Return the ref or commit that a GitRepository refers to. Raises RenderError for a range of versions.

    After ``GitRepositoryRef`` of source.toolkit.fluxcd.io/v1: the first of these fields counts, and the branch is `master` by default.
    """
    commit, name, semver, tag = (text_at(ref, key) for key in ("commit", "name", "semver", "tag"))
    if not commit and not name and semver:
        raise RenderError(f"afflint does not fetch a range of tags of Git ({quoted(semver)})")
    return commit or name or (f"refs/tags/{tag}" if tag else f"refs/heads/{text_at(ref, 'branch') or 'master'}")


def argo_repository(address: str) -> str:
    """Return the address of a chart repository of Argo CD, for which one without a scheme is an OCI registry."""
    return address if "://" in address or not address else f"{OCI}{address}"
