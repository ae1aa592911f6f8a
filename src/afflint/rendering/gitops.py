"""Folders of this repository that Argo CD and Flux render, with their namespaces, values and other options.

Applications, Flux Kustomizations and HelmReleases are hints: they show which render roots exist and how they are rendered. Charts and
folders in other places can be fetched (``flux_sources``, ``chart_downloads``).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import escape, glob
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.kube.kinds import NAMES
from afflint.rendering.application_sets import CLUSTERS, Generators, flatten
from afflint.rendering.argo_clusters import ArgoClusters
from afflint.rendering.boundary import Boundary
from afflint.rendering.chart_downloads import PublishedChart
from afflint.rendering.flux_sources import GROUP as SOURCES
from afflint.rendering.flux_sources import FluxSource, WantedChart, argo_repository, flux_source, reference_in
from afflint.rendering.flux_variables import NO_VARIABLES, FluxVariable, Variables
from afflint.rendering.git_downloads import GitFolder
from afflint.rendering.given_values import Inline, Setting, Written
from afflint.rendering.helm import KUBE_VERSION, NO_SCHEMA
from afflint.rendering.kustomize_origins import InlinePatches
from afflint.rendering.set_templates import Parameters, fill_template, has_placeholder, unknown_action
from afflint.rendering.source_documents import SourcePlace, SourceText, WrittenText, documents_of, value_at
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES as NAMES_OF_KUSTOMIZATIONS
from afflint.source.repositories import is_inside, is_root
from afflint.source.sources import VALUES, is_template
from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at
from afflint.yaml.prefilter import is_values_file

_LARGEST = 1 << 20
_K3S = "helm.cattle.io"
_GROUPS = (b"argoproj.io", b"kustomize.toolkit.fluxcd.io", b"helm.toolkit.fluxcd.io", SOURCES.encode(), _K3S.encode())
_NAMING_VALUES = (b"helmCharts", b"HelmChartInflationGenerator", b"configMapGenerator", b"secretGenerator")
_KUSTOMIZE = "kustomize.config.k8s.io"
_NAMESPACED = NAMES - {"Node", "Namespace", "List", "CustomResourceDefinition", "PersistentVolume", "KubeVirt"}


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
        named = _components(self.wrapper, folder)
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

    @classmethod
    def none(cls) -> Hints:
        """Return hints to which others can be added."""
        return cls([], [], [], set(), [])


def hints(paths: Iterable[str], boundary: Boundary, clusters: ArgoClusters) -> Hints:
    """Return what GitOps objects in some files render from their own repository, and the values files that kustomizations name."""
    found = Hints.none()
    for path in paths:
        if is_template(path):
            continue
        with suppress(OSError):
            _add_hints(found, os.path.realpath(path), read_regular(path, _LARGEST), boundary, clusters)
    return found


def hints_in_output(output: bytes, path: str, boundary: Boundary, clusters: ArgoClusters) -> Hints:
    """Return what GitOps objects in rendered output render. ``path`` is that of the output: a name in the folder of its root."""
    found = Hints.none()
    _add_hints(found, path, output, boundary, clusters)
    return found


def _add_hints(found: Hints, path: str, data: bytes, boundary: Boundary, clusters: ArgoClusters) -> None:
    if any(mark in data for mark in (*_GROUPS, *_NAMING_VALUES)):
        for document in documents_of(data).values():
            text = SourceText(path, document, document.index)
            for each in _bounded_hints(text, boundary, clusters) if document.problem is None else ():
                if isinstance(each, Hint):
                    found.hints.append(replace(each, file=path))
                elif isinstance(each, UnsupportedObject):
                    found.unsupported.append(each._replace(file=path))
                elif isinstance(each, RemoteObject):
                    hint = each.hint and replace(each.hint, file=path)
                    found.remote.append(each._replace(file=path, hint=hint))
                elif isinstance(each, FluxSource):
                    found.sources.append(each)
                else:
                    found.values.add(each)


_Read = Hint | UnsupportedObject | RemoteObject | FluxSource | str
"""What an object declares; a string is the path of a values file."""


class _OutsideError(Exception):
    """A path that is outside the repository."""


def _bounded_hints(text: SourceText, boundary: Boundary, clusters: ArgoClusters) -> Iterator[_Read]:
    try:
        yield from _hints_in(text, list(boundary.folders_above(text.file)), clusters)
    except _OutsideError as error:
        yield UnsupportedObject(f"{text_at(text.data, 'kind')} {text_at(text.data, 'metadata', 'name')}", str(error))


def _hints_in(text: SourceText, tops: Sequence[str], clusters: ArgoClusters) -> Iterator[_Read]:
    """Yield hints, unsupported objects, and values files.

    ``tops`` are the folders above the file that may be the top of its repository, nearest first; nothing outside the last is read.
    """
    data = text.data
    kind, group = text_at(data, "kind"), text_at(data, "apiVersion").partition("/")[0]
    name, spec = text_at(data, "metadata", "name"), map_at(data, "spec")
    if group == "argoproj.io" and kind == "Application":
        yield from _from_application(f"Application {name}", name, spec, tops, Written(text, ("spec",)), text)
    elif group == "argoproj.io" and kind == "ApplicationSet":
        yield from _from_application_set(name, spec, tops, text, clusters)
    elif group == "kustomize.toolkit.fluxcd.io" and kind == "Kustomization":
        path = text_at(spec, "path")
        folder = _in_repository(tops, path)
        if folder is not None:
            yield _flux_hint(f"Kustomization {name}", folder, spec, text)
        elif path and not has_placeholder(name + path):
            in_source = reference_in(map_at(spec, "sourceRef"), text_at(data, "metadata", "namespace"))
            hint = replace(_flux_hint(f"Kustomization {name}", "", spec, text), naming=(text, ("spec", "path")))
            wanted = WantedChart(path, source=in_source, is_folder=True)
            yield RemoteObject(f"Kustomization {name}", f"folder {path}", chart=wanted, hint=hint)
    elif group == "helm.toolkit.fluxcd.io" and kind == "HelmRelease":
        yield from _from_helm_release(name, spec, text, tops)
    elif group == _K3S and kind == "HelmChart":
        yield from _from_k3s(name, spec, text)
    elif group == SOURCES:
        source = flux_source(data, text.file)
        yield from () if source is None else (source,)
    elif kind == "HelmChartInflationGenerator" or group == _KUSTOMIZE or os.path.basename(text.file) in NAMES_OF_KUSTOMIZATIONS:
        yield from _values_files_of(data, tops)


# Argo CD.

_OF_TEMPLATE: Path = ("spec", "template", "spec")
"""The path of the `spec` of the Applications in an ApplicationSet."""


def _from_application_set(
    name: str, spec: Mapping[str, Any], tops: Sequence[str], text: SourceText, clusters: ArgoClusters
) -> Iterator[_Read]:
    """Yield the hints of the Applications that an ApplicationSet generates, as far as its generators are supported."""
    declared_by = f"ApplicationSet {name}"
    generators = Generators(tops, clusters, text)
    generated: dict[str, Hint] = {}
    is_incomplete, unknown = False, ""
    for parameters in generators.parameters(spec.get("generators"), ("spec", "generators")):
        application, remaining, written = _generated(text, parameters, is_complete=not generators.unsupported)
        unknown = unknown or remaining
        application_name = text_at(application, "metadata", "name")
        title = declared_by if has_placeholder(application_name) else f"{declared_by}, {application_name}"
        for each in _from_application(title, application_name, map_at(application, "spec"), tops, written):
            if isinstance(each, Hint):
                generated.setdefault(each.key, each)
            elif isinstance(each, UnsupportedObject):
                is_incomplete = True
            else:
                yield each
    yield from generated.values()
    if is_incomplete or (unknown and text_at(spec, "templatePatch")):
        unsupported = [quoted(each) for each in dict.fromkeys(generators.unsupported) if each]
        reason = "its template uses parameters that its generators do not set"
        if unsupported:
            reason = f"its generator {join_words(unsupported)} is not supported"
            if {*generators.unsupported} == {CLUSTERS}:
                reason = f"its generator {quoted(CLUSTERS)} depends on clusters whose Secrets are not in the repository"
        elif unknown:
            reason = f"its template uses {quoted(unknown)}, which is not supported"
        yield UnsupportedObject(declared_by, reason)


def _generated(text: SourceText, parameters: Parameters, *, is_complete: bool) -> tuple[Mapping[str, Any], str, Written]:
    """Return the Application for some parameters, the first action of the template that is not supported, or "", and its `spec`.

    A ``templatePatch`` with such an action is left out.
    """
    spec = map_at(text.data, "spec")
    application = fill_template(map_at(spec, "template"), parameters, is_complete=is_complete)
    patch = fill_template(text_at(spec, "templatePatch"), parameters, is_complete=is_complete)
    unknown = unknown_action(patch) or unknown_action(application)
    written = Written(text, _OF_TEMPLATE, parameters)
    if patch and not has_placeholder(patch):
        for document in documents_of(patch.encode("utf-8", "replace")).values():
            application = merged(application, document.data)
        for each in Written(text, ("spec", "templatePatch"), parameters).inside(patch):
            written = each.below(("spec",))._replace(patched=written)
    return map_at(application), unknown, written


def merged(data: Any, patch: Any) -> Any:
    """Return data with a patch: maps are merged, and everything else is replaced."""
    if type(data) is not dict or type(patch) is not dict:
        return patch
    return {**data, **{key: merged(data.get(key), each) for key, each in patch.items()}}


def _from_application(
    declared_by: str, name: str, spec: Mapping[str, Any], tops: Sequence[str], declared: Written, text: SourceText | None = None
) -> Iterator[_Read]:
    """Yield what an Application renders. Its ``spec`` is ``declared``, in ``text`` if no generator produced it."""
    several = type(spec.get("sources")) is list
    for number, source in enumerate(spec["sources"] if several else [map_at(spec, "source")]):
        path = text_at(source, "path")
        if has_placeholder(path):
            yield UnsupportedObject(declared_by, f"its path {quoted(path)} contains a placeholder")
            continue
        folder = _in_repository(tops, path)
        named = _texts(source, "helm", "valueFiles")
        choices = [named] if folder is None else _without_placeholders(named, folder, tops[-1])
        # Missing files are skipped, as with ignoreMissingValueFiles in Argo CD.
        files = [tuple([file for each in names if (file := _value_file(tops, folder, each)) is not None]) for names in choices]
        yield from dict.fromkeys(path for paths in files for path in paths)
        base: Path = ("sources", number) if several else ("source",)
        inline = _inline(map_at(source, "helm"), declared.below((*base, "helm")))
        settings = _settings(map_at(source, "helm"), declared.below((*base, "helm", "parameters")))
        patches = _inline_patches(text, ("spec", *base, "kustomize")) if map_at(source, "kustomize") else None
        namespace = text_at(source, "helm", "namespace") or text_at(spec, "destination", "namespace")
        if folder is None:
            if (text_at(source, "chart") or path) and not has_placeholder(name):  # A patch may leave both out.
                hint = _argo_hint(
                    declared_by,
                    name,
                    "",
                    source,
                    namespace,
                    files[0],
                    inline,
                    settings,
                    patches,
                    _helm_options(map_at(source, "helm"), None, tops),
                )
                yield _elsewhere(hint, source, declared.below(base))
            continue
        if not choices:
            yield UnsupportedObject(declared_by, "the names of its values files contain placeholders")
        for values in files:
            options = _helm_options(map_at(source, "helm"), folder, tops)
            yield _argo_hint(declared_by, name, folder, source, namespace, values, inline, settings, patches, options)


def _elsewhere(hint: Hint, source: Mapping[str, Any], declared: Written) -> RemoteObject:
    """Return an object whose source of Argo CD is a chart, or a folder of another repository; ``declared`` is the place of the source."""
    chart, path = text_at(source, "chart"), text_at(source, "path")
    address, version = text_at(source, "repoURL"), text_at(source, "targetRevision")
    named = [each for each in _texts(source, "helm", "valueFiles") if not each.startswith("$")]
    named_at = declared.below(("chart" if chart else "path",)).holder(()) or declared
    naming = named_at.text, named_at.path
    if chart:
        files = tuple([each for each in named if not each.startswith("/")])
        wanted = WantedChart(chart, version, argo_repository(address))
        return RemoteObject(hint.declared_by, f"chart {chart}", chart=wanted, hint=replace(hint, files_in_chart=files, naming=naming))
    files = tuple([each.lstrip("/") if each.startswith("/") else os.path.join(path, each) for each in named])
    wanted = WantedChart(path, version, address, is_folder=True)
    own = () if any(each.startswith("/") for each in named) else hint.values
    return RemoteObject(
        hint.declared_by, f"folder {path}", chart=wanted, hint=replace(hint, values=own, files_in_chart=files, naming=naming)
    )


_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_MOST_CHOICES = 20
"""The most files that a placeholder in the name of a values file is tried with."""


def _without_placeholders(names: Sequence[str], folder: str, top: str) -> list[list[str]]:
    """Return the names of values files with each text for their placeholder for which the first file exists: one list for each text.

    ``values-{{ .Values.environment }}.yaml`` means ``values-production.yaml``, if the folder has that file. Empty if no text fits, or if
    the names have several placeholders.
    """
    placeholders = {match for name in names for match in _PLACEHOLDER.findall(name)}
    if not placeholders:
        return [list(names)]
    first = next(name for name in names if has_placeholder(name))
    if len(placeholders) > 1 or first.startswith(("$", "/")) or "://" in first:
        return []
    [placeholder] = placeholders
    where, base = os.path.split(os.path.join(folder, first))
    before, _, after = base.partition(placeholder)
    if has_placeholder(where) or not is_inside(os.path.realpath(where), top):
        return []
    found = sorted(map(os.path.basename, glob(os.path.join(escape(where), f"{escape(before)}*{escape(after)}"))))[:_MOST_CHOICES]
    texts = [each[len(before) : len(each) - len(after)] for each in found]
    return [[name.replace(placeholder, text) for name in names] for text in texts]


def _inline(helm: Mapping[str, Any], written: Written) -> tuple[Inline, ...]:
    """Return the values in an Application: ``valuesObject``, or else ``values``."""
    if map_at(helm, "valuesObject"):
        return (Inline(map_at(helm, "valuesObject"), written.below(("valuesObject",))),)
    return _inline_text(text_at(helm, "values"), written.below(("values",)))


def _inline_text(values: str, written: Written) -> tuple[Inline, ...]:
    """Return the values in a string that is ``written`` in an object."""
    inside = None if not values else next((each for each in written.inside(values) if type(each.text.data) is dict), None)
    if inside is not None:
        return (Inline(inside.text.data, inside),)
    document = next(iter(documents_of(values.encode("utf-8", "replace")).values()), None)
    return (Inline(document.data),) if document is not None and type(document.data) is dict else ()


def _settings(helm: Mapping[str, Any], written: Written) -> tuple[Setting, ...]:
    """Return the parameters of an Application, which are ``written`` in a list."""
    found = []
    for number, each in enumerate(list_at(helm, "parameters")):
        if type(each) is dict:
            option = "--set-string" if each.get("forceString") is True else "--set"
            found.append(Setting(option, text_at(each, "name"), text_at(each, "value"), written.below((number, "value"))))
    return tuple(found)


_WRAPPER_FIELDS = ("namePrefix", "nameSuffix", "namespace", "commonAnnotations", "replicas")


def _argo_hint(
    declared_by: str,
    name: str,
    folder: str,
    source: Mapping[str, Any],
    namespace: str,
    values: tuple[str, ...],
    inline: tuple[Inline, ...],
    settings: tuple[Setting, ...],
    patches: InlinePatches | None,
    options: tuple[str, ...],
) -> Hint:
    helm, kustomize = map_at(source, "helm"), map_at(source, "kustomize")
    wrapper: dict[str, Any] = {key: kustomize[key] for key in _WRAPPER_FIELDS if key in kustomize}
    wrapper |= _common_labels(kustomize) | _patches(kustomize) | _components(kustomize, folder) | _images(_texts(kustomize, "images"))
    release = next((each for each in (text_at(helm, "releaseName"), name) if each and not has_placeholder(each)), "")
    return Hint(
        folder,
        declared_by,
        "",
        _known_namespace(namespace),
        wrapper,
        NO_VARIABLES,
        release,
        values,
        inline,
        settings,
        tuple(options),
        patches=patches,
    )


_PARAMETER_NAME = re.compile(r"[\w.\-\[\]/]+")


def _helm_options(helm: Mapping[str, Any], folder: str | None, tops: Sequence[str]) -> tuple[str, ...]:
    """Return the options of Helm for a source of Argo CD. Raises _OutsideError for files outside the repository."""
    options: list[str] = []
    for each in maps_at(helm, "fileParameters"):
        file = _value_file(tops, folder, text_at(each, "path")) if text_at(each, "path") else None
        name = text_at(each, "name")
        # Helm takes NAME=FILE,NAME=FILE.
        if file is not None and "," not in file and _PARAMETER_NAME.fullmatch(name):
            options += ["--set-file", f"{name}={file}"]
    for word in _texts(helm, "apiVersions"):
        options += ["--api-versions", word]
    if re.fullmatch(r"v?\d[\w.+-]*", text_at(helm, "kubeVersion")):
        options += [KUBE_VERSION, text_at(helm, "kubeVersion")]
    return (*options, NO_SCHEMA) if helm.get("skipSchemaValidation") is True else tuple(options)


def _common_labels(kustomize: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper for the labels that Argo CD adds, by default to selectors, too."""
    only_objects = kustomize.get("labelWithoutSelector") is True
    wrapper = _labels(map_at(kustomize, "commonLabels"), selectors=not only_objects)
    if wrapper and only_objects and kustomize.get("labelIncludeTemplates") is True:
        wrapper["labels"][0]["includeTemplates"] = True
    return wrapper


_IMAGE = re.compile(r"(?:(?P<name>[^=]+)=)?(?P<new>[^@=]+?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?")


def _images(texts: Iterable[str]) -> dict[str, Any]:
    """Return the wrapper for images, `[OLD=]NEW[:TAG][@DIGEST]` each."""
    images = []
    for match in filter(None, map(_IMAGE.fullmatch, texts)):
        image = {"name": match["name"] or match["new"], "newName": match["new"], "newTag": match["tag"], "digest": match["digest"]}
        images.append({key: value for key, value in image.items() if value})
    return {"images": images} if images else {}


def _value_file(tops: Sequence[str], folder: str | None, name: str) -> str | None:
    """Return the path of a values file, relative to the chart, or to the repository for names that begin with `/` or `$ref/`.

    Raises _OutsideError for files outside the repository, which Argo CD rejects, too.
    """
    if "://" in name:
        return None
    if name.startswith(("$", "/")):
        return _in_repository(tops, name.partition("/")[2], os.path.isfile)
    if folder is None or has_placeholder(name):
        return None
    path = _inside(tops, os.path.realpath(os.path.join(folder, name)), name)
    return path if os.path.isfile(path) else None


def _inside(tops: Sequence[str], path: str, name: str) -> str:
    """Return the path if it is in the repository. Raises _OutsideError."""
    if not is_inside(path, tops[-1]):
        raise _OutsideError(f"{quoted(name)} is outside the repository")
    return path


def _known_namespace(text: str) -> str | None:
    return None if has_placeholder(text) else text or None


# Flux.


def _from_helm_release(name: str, spec: Mapping[str, Any], text: SourceText, tops: Sequence[str]) -> Iterator[_Read]:
    """Yield the hint for a chart, and the values files in the repository."""
    chart, chart_ref = map_at(spec, "chart", "spec"), map_at(spec, "chartRef")
    path = text_at(chart, "chart")
    named = _texts(chart, "valuesFiles")
    values = tuple([each for each in (_in_repository(tops, each, os.path.isfile) for each in named) if each is not None])
    yield from values
    in_git = "/" in path and text_at(chart, "sourceRef", "kind") in ("GitRepository", "Bucket")
    folder = _in_repository(tops, path) if in_git else None
    declared_by = f"HelmRelease {name}"
    own = text_at(text.data, "metadata", "namespace")
    namespace = text_at(spec, "targetNamespace") or own
    release = text_at(spec, "releaseName") or (f"{spec['targetNamespace']}-{name}" if text_at(spec, "targetNamespace") else name)
    inline = (Inline(map_at(spec, "values"), Written(text, ("spec", "values"))),) if map_at(spec, "values") else ()
    taken, (wrapper, patches) = _references(spec, text, "valuesFrom"), _post_renderers(spec, text)
    known, in_folder = namespace or None, values if folder else ()
    hint = Hint(folder or "", declared_by, "", known, wrapper, NO_VARIABLES, release, in_folder, inline, values_from=taken, patches=patches)
    if folder is None:
        chart_name = path or text_at(chart_ref, "name")
        if chart_name and not has_placeholder(name):  # A patch may leave it out.
            source = reference_in(map_at(chart, "sourceRef") or chart_ref, own)
            naming = (text, ("spec", "chart", "spec", "chart") if path else ("spec", "chartRef", "name"))
            hint = replace(hint, files_in_chart=tuple(named), naming=naming)
            wanted = WantedChart(path, text_at(chart, "version"), source=source)
            yield RemoteObject(declared_by, f"chart {chart_name}", chart=wanted, hint=hint)
    else:
        yield hint


def _from_k3s(name: str, spec: Mapping[str, Any], text: SourceText) -> Iterator[_Read]:
    """Yield the chart of a HelmChart of k3s, which is always in another place. A HelmChartConfig of the same name is not applied."""
    declared_by, chart, repository = f"HelmChart {name}", text_at(spec, "chart"), text_at(spec, "repo")
    if text_at(spec, "chartContent"):
        yield UnsupportedObject(declared_by, "its chart is in `chartContent`, which is not supported")
    elif chart and not has_placeholder(name):
        if chart.startswith("oci://"):
            repository, _, chart = chart.rpartition("/")
        inline = _inline_text(text_at(spec, "valuesContent"), Written(text, ("spec", "valuesContent")))
        given = flatten(map_at(spec, "set"), text=text, path=("spec", "set"))
        places = {key: Written(each.text, each.path) for key, each in given.items() if isinstance(each, WrittenText)}
        settings = tuple([Setting("--set", key, each, places.get(key)) for key, each in given.items()])
        namespace = text_at(spec, "targetNamespace") or None
        hint = Hint("", declared_by, namespace=namespace, release=name, inline=inline, settings=settings, naming=(text, ("spec", "chart")))
        yield RemoteObject(declared_by, f"chart {chart}", chart=WantedChart(chart, text_at(spec, "version"), repository), hint=hint)


def _post_renderers(spec: Mapping[str, Any], text: SourceText) -> tuple[dict[str, Any], InlinePatches | None]:
    """Return the fields of a kustomization that changes the output of a chart, and where its patches are written."""
    numbered = [(number, map_at(each, "kustomize")) for number, each in enumerate(list_at(spec, "postRenderers"))]
    wrapper: dict[str, Any] = {}
    for _, each in numbered:
        for key, added in (_patches(each) | {"images": maps_at(each, "images")}).items():
            if added:
                wrapper[key] = [*wrapper.get(key, ()), *added]
    bases: list[Path] = [("spec", "postRenderers", number, "kustomize") for number, each in numbered if each]
    return wrapper, _inline_patches(text, *bases)


def _references(spec: Mapping[str, Any], text: SourceText, *steps: str) -> tuple[ConfigReference, ...]:
    """Return the ConfigMaps and Secrets that an object of Flux takes something from; they are in its own namespace."""
    namespace = text_at(text.data, "metadata", "namespace")
    return tuple(
        [
            ConfigReference(
                text_at(each, "name"),
                namespace,
                text_at(each, "kind") != "ConfigMap",
                text_at(each, "valuesKey") or VALUES,
                text_at(each, "targetPath"),
            )
            for each in maps_at(spec, *steps)
        ]
    )


def _values_files_of(data: Mapping[str, Any], tops: Sequence[str]) -> Iterator[str]:
    """Yield the values files that a kustomization or a Helm chart generator names.

    These are values of its charts, and files that it puts into a ConfigMap or Secret under the name of a values file, for a HelmRelease.
    """
    charts = [data] if text_at(data, "kind") == "HelmChartInflationGenerator" else maps_at(data, "helmCharts")
    names = [name for each in charts for name in (text_at(each, "valuesFile"), *_texts(each, "additionalValuesFiles"))]
    for generator in (*maps_at(data, "configMapGenerator"), *maps_at(data, "secretGenerator")):
        entries = [each.partition("=") for each in _texts(generator, "files")]
        names += [path for key, _, path in entries if is_values_file(key)]
    for name in names:
        with suppress(_OutsideError):  # Nothing is rendered with it: kustomize is never started with --enable-helm.
            path = _value_file(tops, tops[0], name) if name and "\0" not in name else None
            if path is not None:
                yield path


def _flux_hint(declared_by: str, folder: str, spec: Mapping[str, Any], text: SourceText) -> Hint:
    wrapper: dict[str, Any] = {key: spec[key] for key in ("namePrefix", "nameSuffix", "images") if key in spec}
    if text_at(spec, "targetNamespace"):
        wrapper["namespace"] = spec["targetNamespace"]
    wrapper |= _labels(map_at(spec, "commonMetadata", "labels"), selectors=False) | _patches(spec) | _components(spec, folder)
    wrapper |= _annotations(map_at(spec, "commonMetadata", "annotations"))
    substitutes = map_at(spec, "postBuild", "substitute")
    variables = {
        key: FluxVariable(value.replace("\n", ""), text, ("spec", "postBuild", "substitute", key))
        for key, value in substitutes.items()
        if type(value) is str
    }
    taken = _references(spec, text, "postBuild", "substituteFrom")
    patches = _inline_patches(text, ("spec",))
    return Hint(folder, declared_by, "", None, wrapper, Variables(variables), variables_from=taken, patches=patches)


def _annotations(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper that adds annotations to objects, and not to the pods that they create."""
    fields = [{"path": "metadata/annotations", "create": True}]
    transformer = {"apiVersion": "builtin", "kind": "AnnotationsTransformer", "metadata": {"name": "annotations"}}
    return {"transformers": [json.dumps({**transformer, "annotations": pairs, "fieldSpecs": fields})]} if pairs else {}


def set_namespace(output: bytes, namespace: str | None) -> bytes:
    """Set the namespace of namespaced objects without one, as Argo CD and Flux do when they apply them."""
    if namespace is None or re.fullmatch(r"[a-z0-9-]+", namespace) is None:
        return output
    pieces = []
    for document in documents_of(output).values():
        text = document.text()
        metadata = map_at(document.data, "metadata")
        if text_at(document.data, "kind") in _NAMESPACED and "namespace" not in metadata:
            text = re.sub(
                r"(?m)^metadata:[ \t]*\n(?=([ \t]+))", lambda match: f"{match[0]}{match[1]}namespace: {namespace}\n", text, count=1
            )
        pieces.append(text)
    return "---\n".join(pieces).encode("utf-8", "surrogateescape")


def _labels(pairs: Mapping[str, Any], *, selectors: bool) -> dict[str, Any]:
    return {"labels": [{"pairs": pairs, "includeSelectors": selectors}]} if pairs else {}


def _patches(data: Mapping[str, Any]) -> dict[str, Any]:
    patches = [each for each in maps_at(data, "patches") if type(each.get("patch")) is str]
    return {"patches": [{key: each[key] for key in ("patch", "target") if key in each} for each in patches]} if patches else {}


def _inline_patches(text: SourceText | None, *bases: Path) -> InlinePatches | None:
    """Return where the patches at some paths of an object are written; None if the object is in no file."""
    if text is None:
        return None
    listed = ((base, number, each) for base in bases for number, each in enumerate(list_at(value_at(text.data, base), "patches")))
    return InlinePatches(
        text, tuple([(*base, "patches", number) for base, number, each in listed if type(each) is dict and type(each.get("patch")) is str])
    )


def _components(data: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the wrapper with the components of a folder; with their names, if the folder is not known yet."""
    if not folder:
        return {"components": _texts(data, "components")} if _texts(data, "components") else {}
    folders = [os.path.realpath(os.path.join(folder, each)) for each in _texts(data, "components")]
    return {"components": [each for each in folders if os.path.isdir(each)]} if folders else {}


def _in_repository(tops: Sequence[str], path: str, is_wanted: Callable[[str], bool] = os.path.isdir) -> str | None:
    """Return the real path of a path in the repository; None if it does not exist.

    ``is_wanted`` accepts folders unless set otherwise. Raises _OutsideError for a link to a path outside the repository.
    """
    if not path or has_placeholder(path) or "\0" in path:
        return None
    below = os.path.normpath(path.lstrip("/"))
    if below.split(os.sep)[0] == os.pardir:
        return None
    for here in tops:
        if below == os.curdir:
            if is_root(here) and is_wanted(here):
                return os.path.realpath(here)
        elif is_wanted(os.path.join(here, below)):
            return _inside(tops, os.path.realpath(os.path.join(here, below)), path)
    return None


def _texts(data: Mapping[str, Any], *steps: str) -> list[str]:
    """Return the texts at a path that can be used as file names or command arguments."""
    return [each for each in texts_at(data, *steps) if "\0" not in each]
