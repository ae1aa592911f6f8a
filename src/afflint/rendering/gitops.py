"""What Argo CD and Flux are told to render: folders of this repository, with namespaces, values and more around them.

Applications, Kustomizations of Flux and HelmReleases are hints which roots there are and how they are rendered; what is elsewhere is none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.kube.kinds import NAMES
from afflint.rendering.application_sets import Generators, filled, is_open
from afflint.rendering.boundary import Boundary
from afflint.rendering.source_documents import SourceText, documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES as NAMES_OF_KUSTOMIZATIONS
from afflint.source.repositories import is_inside, is_root
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.prefilter import is_values_file

_LARGEST = 1 << 20
_GROUPS = (b"argoproj.io", b"kustomize.toolkit.fluxcd.io", b"helm.toolkit.fluxcd.io")
_NAMING_VALUES = (b"helmCharts", b"HelmChartInflationGenerator", b"configMapGenerator", b"secretGenerator")
_KUSTOMIZE = "kustomize.config.k8s.io"
_NAMESPACED = NAMES - {"Node", "Namespace", "List", "CustomResourceDefinition", "PersistentVolume", "KubeVirt"}


class Inline(NamedTuple):
    """Values that stand in an object: the document, or the text in it, and where in that; None where a generator has made them."""

    values: Mapping[str, Any]
    text: SourceText | None = None
    path: Path = ()


_NO_VALUES = Inline({})


@dataclass(frozen=True, slots=True)
class Hint:
    """A folder, links resolved, that is rendered, for whom, and how.

    ``namespace`` is that of objects which name none, ``around`` what a kustomization around it says, ``substitutes`` the variables that are
    put in afterwards. ``release``, ``values`` (files), ``inline`` (values that win over those) and ``options`` are for Helm.
    """

    folder: str
    by: str
    namespace: str | None = None
    around: Mapping[str, Any] = field(default_factory=dict)
    substitutes: Mapping[str, str] = field(default_factory=dict)
    release: str = ""
    values: tuple[str, ...] = ()
    inline: Inline = _NO_VALUES
    options: tuple[str, ...] = ()


class Unread(NamedTuple):
    """An object that says what is rendered, and why that is not known."""

    by: str
    reason: str


class Hints(NamedTuple):
    """All hints, the objects that are not understood, and the values files that are named, whether or not the chart is here."""

    hints: list[Hint]
    unread: list[Unread]
    values: set[str]


def hints(paths: Iterable[str], boundary: Boundary) -> Hints:
    """What Applications, Kustomizations and HelmReleases in some files name that lies in their repository; of kustomizations the values."""
    found = Hints([], [], set())
    for path in paths:
        try:
            data = read_regular(path, _LARGEST)
        except OSError:
            continue
        if any(mark in data for mark in (*_GROUPS, *_NAMING_VALUES)):
            for document in documents_of(data).values():
                text = SourceText(os.path.realpath(path), document, document.index)
                for each in _bounded_hints(text, boundary) if document.problem is None else ():
                    if isinstance(each, Hint):
                        found.hints.append(each)
                    elif isinstance(each, Unread):
                        found.unread.append(each)
                    else:
                        found.values.add(each)
    return found


class _OutsideError(Exception):
    """A path that leads out of the repository; the message is for the user."""


def _bounded_hints(text: SourceText, boundary: Boundary) -> Iterator[Hint | Unread | str]:
    try:
        yield from _hints_in(text, list(boundary.folders_above(text.file)))
    except _OutsideError as error:
        yield Unread(f"{text_at(text.data, 'kind')} {text_at(text.data, 'metadata', 'name')}", str(error))


def _hints_in(text: SourceText, tops: Sequence[str]) -> Iterator[Hint | Unread | str]:
    """``tops`` are the folders above the file that may be the top of its repository, nearest first; nothing outside the last is read."""
    data = text.data
    kind, group = text_at(data, "kind"), text_at(data, "apiVersion").partition("/")[0]
    name, spec = text_at(data, "metadata", "name"), map_at(data, "spec")
    if group == "argoproj.io" and kind == "Application":
        yield from _of_application(f"Application {name}", name, spec, tops, text)
    elif group == "argoproj.io" and kind == "ApplicationSet":
        yield from _of_set(name, spec, tops)
    elif group == "kustomize.toolkit.fluxcd.io" and kind == "Kustomization":
        folder = _in_repository(tops, text_at(spec, "path"))
        if folder is not None:
            yield _of_flux(f"Kustomization {name}", folder, spec)
    elif group == "helm.toolkit.fluxcd.io" and kind == "HelmRelease":
        yield from _of_release(name, spec, text, tops)
    elif kind == "HelmChartInflationGenerator" or group == _KUSTOMIZE or os.path.basename(text.file) in NAMES_OF_KUSTOMIZATIONS:
        yield from _of_kustomization(data, tops)


# Argo CD.


def _of_set(name: str, spec: Mapping[str, Any], tops: Sequence[str]) -> Iterator[Hint | Unread | str]:
    """The Applications that the generators of a set make, as far as those are read."""
    by, template = f"ApplicationSet {name}", map_at(spec, "template")
    generators = Generators(tops)
    made: dict[str, Hint] = {}
    lacking = False
    for parameters in generators.parameters(spec.get("generators")):
        one = filled(template, parameters)
        called = text_at(one, "metadata", "name")
        title = by if is_open(called) else f"{by}, {called}"
        for each in _of_application(title, called, map_at(one, "spec"), tops, None):
            if isinstance(each, Hint):
                made.setdefault(repr(each), each)
            elif isinstance(each, Unread):
                lacking = True
            else:
                yield each
    yield from made.values()
    if lacking:
        unread = [quoted(each) for each in dict.fromkeys(generators.unread) if each]
        why = f"its generator {join_words(unread)} is not read" if unread else "its template asks for what its generators do not say"
        yield Unread(by, why)


def _of_application(
    by: str, name: str, spec: Mapping[str, Any], tops: Sequence[str], text: SourceText | None
) -> Iterator[Hint | Unread | str]:
    several = type(spec.get("sources")) is list
    for number, source in enumerate(spec["sources"] if several else [map_at(spec, "source")]):
        path = text_at(source, "path")
        if is_open(path):
            yield Unread(by, f"its path is {quoted(path)}")
            continue
        folder = _in_repository(tops, path)
        # Only what is there: Argo CD may be told to pass over files that are missing.
        found = [_value_file(tops, folder, each) for each in _texts(source, "helm", "valueFiles")]
        values = tuple([each for each in found if each is not None])
        yield from values
        if folder is None:
            continue
        if any(map(is_open, _texts(source, "helm", "valueFiles"))):
            yield Unread(by, "nobody knows its values files")
            continue
        where: Path = ("spec", "sources", number) if several else ("spec", "source")
        inline = _inline(map_at(source, "helm"), text, (*where, "helm"))
        yield _of_argo(by, name, folder, source, text_at(spec, "destination", "namespace"), values, inline)


def _inline(helm: Mapping[str, Any], text: SourceText | None, path: Path) -> Inline:
    """The values that an Application gives by itself: as an object, or else as a text."""
    if map_at(helm, "valuesObject"):
        return Inline(map_at(helm, "valuesObject"), text, (*path, "valuesObject"))
    written = text_at(helm, "values")
    if text is not None and written:
        inside = next((each for each in text.inside((*path, "values")) if type(each.data) is dict), None)
        return _NO_VALUES if inside is None else Inline(inside.data, inside)
    document = next(iter(documents_of(written.encode("utf-8", "replace")).values()), None)
    return Inline(document.data) if document is not None and type(document.data) is dict else _NO_VALUES


_AROUND = ("namePrefix", "nameSuffix", "namespace", "commonAnnotations", "replicas")


def _of_argo(by: str, name: str, folder: str, source: Mapping[str, Any], namespace: str, values: tuple[str, ...], inline: Inline) -> Hint:
    helm, kustomize = map_at(source, "helm"), map_at(source, "kustomize")
    options: list[str] = []
    for each in maps_at(helm, "parameters"):
        options += ["--set-string" if each.get("forceString") is True else "--set", f"{text_at(each, 'name')}={text_at(each, 'value')}"]
    for word in _texts(helm, "apiVersions"):
        options += ["--api-versions", word]
    around: dict[str, Any] = {key: kustomize[key] for key in _AROUND if key in kustomize}
    around |= _labels(map_at(kustomize, "commonLabels"), selectors=True) | _patches(kustomize) | _components(kustomize, folder)
    release = next((each for each in (text_at(helm, "releaseName"), name) if each and not is_open(each)), "")
    return Hint(folder, by, _known(namespace), around, {}, release, values, inline, tuple(options))


def _value_file(tops: Sequence[str], folder: str | None, name: str) -> str | None:
    """A values file: beside the chart, or from the top of the repository, as are those of another source that is called by `$`.

    Argo CD, too, refuses those outside the repository. Raises _OutsideError.
    """
    if "://" in name:
        return None
    if name.startswith(("$", "/")):
        return _in_repository(tops, name.partition("/")[2], os.path.isfile)
    if folder is None or is_open(name):
        return None
    found = _inside(tops, os.path.realpath(os.path.join(folder, name)), name)
    return found if os.path.isfile(found) else None


def _inside(tops: Sequence[str], path: str, name: str) -> str:
    """The path, if it is in the repository. Raises _OutsideError."""
    if not is_inside(path, tops[-1]):
        raise _OutsideError(f"{quoted(name)} is outside the repository")
    return path


def _known(text: str) -> str | None:
    return None if is_open(text) else text or None


# Flux.


def _of_release(name: str, spec: Mapping[str, Any], text: SourceText, tops: Sequence[str]) -> Iterator[Hint | str]:
    """A chart in the repository. Whatever changes what it renders to later makes it no hint."""
    chart = map_at(spec, "chart", "spec")
    path = text_at(chart, "chart")
    found = [_in_repository(tops, each, os.path.isfile) for each in _texts(chart, "valuesFiles")]
    values = tuple([each for each in found if each is not None])
    yield from values
    if "/" not in path or text_at(chart, "sourceRef", "kind") not in ("GitRepository", "Bucket") or "postRenderers" in spec:
        return
    folder = _in_repository(tops, path)
    if folder is not None:
        namespace = text_at(spec, "targetNamespace") or text_at(text.data, "metadata", "namespace")
        release = text_at(spec, "releaseName") or (f"{spec['targetNamespace']}-{name}" if text_at(spec, "targetNamespace") else name)
        inline = Inline(map_at(spec, "values"), text, ("spec", "values"))
        yield Hint(folder, f"HelmRelease {name}", namespace or None, {}, {}, release, values, inline)


def _of_kustomization(data: Mapping[str, Any], tops: Sequence[str]) -> Iterator[str]:
    """The values files of the charts that a kustomization, or a generator of one, fills, and those that it keeps for a HelmRelease to read:
    in a ConfigMap or a Secret, under the name of such a file.
    """
    charts = [data] if text_at(data, "kind") == "HelmChartInflationGenerator" else maps_at(data, "helmCharts")
    names = [name for each in charts for name in (text_at(each, "valuesFile"), *_texts(each, "additionalValuesFiles"))]
    for generator in (*maps_at(data, "configMapGenerator"), *maps_at(data, "secretGenerator")):
        entries = [each.partition("=") for each in _texts(generator, "files")]
        names += [path for key, _, path in entries if is_values_file(key)]
    for name in names:
        with suppress(_OutsideError):  # Nothing is rendered with it: kustomize is never started with --enable-helm.
            found = _value_file(tops, tops[0], name) if name and "\0" not in name else None
            if found is not None:
                yield found


def _of_flux(by: str, folder: str, spec: Mapping[str, Any]) -> Hint:
    around: dict[str, Any] = {key: spec[key] for key in ("namePrefix", "nameSuffix") if key in spec}
    if text_at(spec, "targetNamespace"):
        around["namespace"] = spec["targetNamespace"]
    around |= _labels(map_at(spec, "commonMetadata", "labels"), selectors=False) | _patches(spec) | _components(spec, folder)
    substitutes = {key: value for key, value in map_at(spec, "postBuild", "substitute").items() if type(value) is str}
    return Hint(folder, by, None, around, substitutes)


def substituted(output: bytes, values: Mapping[str, str]) -> bytes:
    """The output with variables put in as Flux does, with defaults (`${zone:=a}`) or without; those that are not known stay."""
    if not values:
        return output

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    text = output.decode("utf-8", "surrogateescape")
    # What opens behind the last brace closes nowhere; not even tried, it takes no time.
    end = text.rfind("}") + 1
    return (re.sub(r"\$\{(\w+)(?::?[=-][^}]*)?\}", value, text[:end]) + text[end:]).encode("utf-8", "surrogateescape")


def in_namespace(output: bytes, namespace: str | None) -> bytes:
    """The output with a namespace in the pods, services and the like that name none, as whoever applies it puts it there."""
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
    found = [each for each in maps_at(data, "patches") if type(each.get("patch")) is str]
    return {"patches": [{key: each[key] for key in ("patch", "target") if key in each} for each in found]} if found else {}


def _components(data: Mapping[str, Any], folder: str) -> dict[str, Any]:
    found = [os.path.realpath(os.path.join(folder, each)) for each in _texts(data, "components")]
    return {"components": [each for each in found if os.path.isdir(each)]} if found else {}


def _in_repository(tops: Sequence[str], path: str, is_wanted: Callable[[str], bool] = os.path.isdir) -> str | None:
    """What a path of a repository names, seen from a file in it, a folder unless something else is wanted; None where it is not there.

    Raises _OutsideError if it is a link that leads out of the repository.
    """
    if not path or is_open(path) or "\0" in path:
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
    """Those that can be paths, or words of a command."""
    return [each for each in texts_at(data, *steps) if "\0" not in each]
