"""Folders of this repository that Argo CD and Flux render, with their namespaces, values and other options.

Applications, Flux Kustomizations and HelmReleases are hints: they show which render roots exist and how they are rendered. Charts and
folders in other places can be fetched (``flux_sources``, ``chart_downloads``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from afflint.kube.kinds import NAMES
from afflint.rendering.application_sets import ArgoClusters
from afflint.rendering.argo_applications import from_application, from_application_set
from afflint.rendering.boundary import Boundary, OutsideError, usable_texts, value_file
from afflint.rendering.flux_objects import from_helm_chart, from_helm_release, from_kustomization
from afflint.rendering.flux_sources import GROUP as SOURCES
from afflint.rendering.flux_sources import flux_source
from afflint.rendering.given_values import Written
from afflint.rendering.hints import Declared, Hint, Hints, RemoteObject, UnsupportedObject
from afflint.rendering.source_documents import SourceText, documents_of, files_with, source_texts
from afflint.source.kustomizations import NAMES as NAMES_OF_KUSTOMIZATIONS
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import api_version_of, kind_of, metadata_of, name_of
from afflint.yaml.prefilter import is_values_file

_K3S = "helm.cattle.io"
_GROUPS = (b"argoproj.io", b"kustomize.toolkit.fluxcd.io", b"helm.toolkit.fluxcd.io", SOURCES.encode(), _K3S.encode())
_WORDS = (*_GROUPS, b"helmCharts", b"HelmChartInflationGenerator", b"configMapGenerator", b"secretGenerator")
"""Words in the files with GitOps objects, and with the names of values files."""
_KUSTOMIZE = "kustomize.config.k8s.io"
_NAMESPACED = NAMES - {"Node", "Namespace", "List", "CustomResourceDefinition", "PersistentVolume", "KubeVirt"}


def hints(paths: Iterable[str], boundary: Boundary, clusters: ArgoClusters) -> Hints:
    """Return what GitOps objects in some files render from their own repository, and the values files that kustomizations name."""
    return _hints_of(files_with(paths, *_WORDS), boundary, clusters)


def hints_in_output(output: bytes, path: str, boundary: Boundary, clusters: ArgoClusters) -> Hints:
    """Return what GitOps objects in rendered output render. ``path`` is that of the output: a name in the folder of its root."""
    return _hints_of([(path, output)] if any(word in output for word in _WORDS) else [], boundary, clusters)


def _hints_of(files: Iterable[tuple[str, bytes]], boundary: Boundary, clusters: ArgoClusters) -> Hints:
    found = Hints.none()
    for text in (text for path, data in files for text in source_texts(path, data)):
        path = text.file
        try:
            for each in _hints_in(text, list(boundary.folders_above(path)), clusters):
                if isinstance(each, Hint):
                    found.add(replace(each, file=path))
                elif isinstance(each, RemoteObject):
                    found.add(each._replace(file=path, hint=each.hint and replace(each.hint, file=path)))
                else:
                    found.add(each._replace(file=path) if isinstance(each, UnsupportedObject) else each)
        except OutsideError as error:
            name = f"{text_at(text.data, 'kind')} {text_at(text.data, 'metadata', 'name')}"
            found.unsupported.append(UnsupportedObject(name, str(error), path))
    return found


def _hints_in(text: SourceText, tops: Sequence[str], clusters: ArgoClusters) -> Iterator[Declared]:
    """Yield hints, unsupported objects, and values files.

    ``tops`` are the folders above the file that may be the top of its repository, nearest first; nothing outside the last is read.
    """
    data = text.data
    kind, group = kind_of(data), api_version_of(data).partition("/")[0]
    name, spec = name_of(data), map_at(data, "spec")
    if group == "argoproj.io" and kind == "Application":
        yield from from_application(f"Application {name}", name, spec, tops, Written(text, ("spec",)), text)
    elif group == "argoproj.io" and kind == "ApplicationSet":
        yield from from_application_set(name, spec, tops, text, clusters)
    elif group == "kustomize.toolkit.fluxcd.io" and kind == "Kustomization":
        yield from from_kustomization(name, spec, text, tops)
    elif group == "helm.toolkit.fluxcd.io" and kind == "HelmRelease":
        yield from from_helm_release(name, spec, text, tops)
    elif group == _K3S and kind == "HelmChart":
        yield from from_helm_chart(name, spec, text)
    elif group == SOURCES:
        source = flux_source(data, text.file)
        yield from () if source is None else (source,)
    elif kind == "HelmChartInflationGenerator" or group == _KUSTOMIZE or os.path.basename(text.file) in NAMES_OF_KUSTOMIZATIONS:
        yield from _values_files_of(data, tops)


def _values_files_of(data: Mapping[str, Any], tops: Sequence[str]) -> Iterator[str]:
    """Yield the values files that a kustomization or a Helm chart generator names.

    These are values of its charts, and files that it puts into a ConfigMap or Secret under the name of a values file, for a HelmRelease.
    """
    charts = [data] if kind_of(data) == "HelmChartInflationGenerator" else maps_at(data, "helmCharts")
    names = [name for each in charts for name in (text_at(each, "valuesFile"), *usable_texts(each, "additionalValuesFiles"))]
    for generator in (*maps_at(data, "configMapGenerator"), *maps_at(data, "secretGenerator")):
        entries = [each.partition("=") for each in usable_texts(generator, "files")]
        names += [path for key, _, path in entries if is_values_file(key)]
    for name in names:
        with suppress(OutsideError):  # Nothing is rendered with it: kustomize is never started with --enable-helm.
            path = value_file(tops, tops[0], name) if name and "\0" not in name else None
            if path is not None:
                yield path


def set_namespace(output: bytes, namespace: str | None) -> bytes:
    """Set the namespace of namespaced objects without one, as Argo CD and Flux do when they apply them."""
    if namespace is None or re.fullmatch(r"[a-z0-9-]+", namespace) is None:
        return output
    pieces = []
    for document in documents_of(output).values():
        text = document.text()
        metadata = metadata_of(document.data)
        if kind_of(document.data) in _NAMESPACED and "namespace" not in metadata:
            text = re.sub(
                r"(?m)^metadata:[ \t]*\n(?=([ \t]+))", lambda match: f"{match[0]}{match[1]}namespace: {namespace}\n", text, count=1
            )
        pieces.append(text)
    return "---\n".join(pieces).encode("utf-8", "surrogateescape")
