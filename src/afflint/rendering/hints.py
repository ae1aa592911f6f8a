"""What a GitOps object says about a render root: hints, and what cannot be rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.chart_downloads import PublishedChart
from afflint.rendering.flux_sources import FluxSource, WantedChart
from afflint.rendering.flux_variables import NO_VARIABLES, Variables
from afflint.rendering.git_downloads import GitFolder
from afflint.rendering.given_values import Inline, Setting
from afflint.rendering.kustomize_origins import InlinePatches
from afflint.rendering.source_documents import SourcePlace, SourceText
from afflint.rendering.wrappers import components


class ConfigReference(NamedTuple):
    """A ConfigMap or Secret that an object of Flux takes variables or values from.

    ``namespace`` is "" if it is unknown. ``key`` is the key of values, ``target`` the path in the values of the chart that it is for.
    """

    name: str
    namespace: str
    is_secret: bool
    key: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A folder, links resolved, that a GitOps object renders, and how.

    ``declared_by`` is the name of the object in reports. ``namespace`` applies to objects without one, ``wrapper`` are the fields of a
    kustomization around the folder, ``variables`` those that Flux replaces in the output. ``release``, ``values`` (files), ``inline``
    (values that override the files, the last ones take precedence), ``settings`` (which override these) and ``options`` are for Helm.
    ``variables_from`` and ``values_from`` are not resolved yet, and take less precedence. ``file`` is the file of the object, or the
    rendered output.
    """

    folder: str
    declared_by: str
    file: str = ""
    namespace: str | None = None
    wrapper: Mapping[str, Any] = field(default_factory=dict)
    variables: Variables = NO_VARIABLES
    release: str = ""
    values: tuple[str, ...] = ()
    inline: tuple[Inline, ...] = ()
    settings: tuple[Setting, ...] = ()
    options: tuple[str, ...] = ()
    variables_from: tuple[ConfigReference, ...] = ()
    values_from: tuple[ConfigReference, ...] = ()
    patches: InlinePatches | None = None
    """The patches of the wrapper, or of the output of a chart, if the object is a file."""
    chart: PublishedChart | GitFolder | None = None
    """The chart if it is not in the repository; then ``folder`` is empty. Or a folder of another repository; then ``folder`` is its copy.

    ``files_in_chart`` are values files in the chart, or in its Git repository.
    """
    files_in_chart: tuple[str, ...] = ()
    naming: tuple[SourceText, Path] | None = None
    """The document and the path that name the chart, or the folder of another repository."""

    @property
    def is_flux(self) -> bool:
        """Whether the object is a Kustomization of Flux, for which a folder of plain manifests is a kustomization."""
        return self.declared_by.startswith("Kustomization ")

    @property
    def is_release(self) -> bool:
        """Whether the object is a HelmRelease, whose ``wrapper`` changes the output of the chart."""
        return self.declared_by.startswith("HelmRelease ")

    @property
    def named_at(self) -> SourcePlace:
        """The place where the object names its chart or folder."""
        if self.naming is None:
            return SourcePlace(self.file, 0, Span(1, 1, 1, 1), "root")
        text, path = self.naming
        return text.place(path, "root", exact=True)

    def in_folder(self, folder: str) -> Hint:
        """Return the hint for the copy of a folder of another repository, links resolved."""
        named = components(self.wrapper, folder)
        return replace(self, folder=folder, wrapper={**self.wrapper, **named} if named else self.wrapper)

    @property
    def key(self) -> str:
        """A text that is equal for hints that render the same, wherever they are declared."""
        wrapper, values = repr(self.wrapper), repr(([each.values for each in self.inline], [each.words() for each in self.settings]))
        named = (self.folder, self.declared_by, self.namespace or "", self.release)
        unresolved = (self.variables_from, self.values_from, self.chart, self.files_in_chart)
        return repr((*named, wrapper, self.variables.key, values, self.values, self.options, *unresolved))

    @property
    def inputs(self) -> frozenset[str]:
        """The files, or rendered output, that its variables and values are written in."""
        written = [*(each.written for each in self.inline), *(each.written for each in self.settings)]
        texts = [*(each.text for each in written if each is not None), *(each.text for each in self.variables.by_name.values())]
        return frozenset(each.file for each in texts if each is not None)


class UnsupportedObject(NamedTuple):
    """A GitOps object that is not supported, with the reason. ``file`` is the file of the object, or the rendered output."""

    declared_by: str
    reason: str
    file: str = ""


class RemoteObject(NamedTuple):
    """A GitOps object that renders something in another place: ``what`` is the chart or folder. ``file`` is as for a hint.

    ``chart``: the chart or folder, if it can be fetched; ``hint`` then says how it is rendered. ``reason``: why it is not rendered.
    """

    declared_by: str
    what: str
    file: str = ""
    chart: WantedChart | None = None
    hint: Hint | None = None
    reason: str = ""


class Hints(NamedTuple):
    """All hints, the unsupported and the remote GitOps objects, and the values files that they name, even for charts in other places.

    ``sources``: the sources of Flux.
    """

    hints: list[Hint]
    unsupported: list[UnsupportedObject]
    remote: list[RemoteObject]
    values: set[str]
    sources: list[FluxSource]

    def add(self, declared: Declared) -> None:
        """Add what an object declares."""
        if isinstance(declared, Hint):
            self.hints.append(declared)
        elif isinstance(declared, UnsupportedObject):
            self.unsupported.append(declared)
        elif isinstance(declared, RemoteObject):
            self.remote.append(declared)
        elif isinstance(declared, FluxSource):
            self.sources.append(declared)
        else:
            self.values.add(declared)

    @classmethod
    def none(cls) -> Hints:
        """Return hints to which others can be added."""
        return cls([], [], [], set(), [])


Declared = Hint | UnsupportedObject | RemoteObject | FluxSource | str
"""What an object declares; a string is the path of a values file."""
