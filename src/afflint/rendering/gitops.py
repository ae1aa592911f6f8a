"""What Argo CD and Flux are told to render: folders of this repository, with namespaces, values and more around them.

Applications and Kustomizations of Flux are hints which roots there are and how they are rendered; what is elsewhere is none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from afflint.kube.kinds import NAMES
from afflint.reading.files import read_regular
from afflint.rendering.texts import documents_of

_LARGEST = 1 << 20
_GROUPS = (b"argoproj.io", b"kustomize.toolkit.fluxcd.io")
_NAMESPACED = NAMES - {"Node", "Namespace", "List", "CustomResourceDefinition", "PersistentVolume", "KubeVirt"}
_REPOSITORIES = (".git", ".hg", ".svn", ".jj")


@dataclass(frozen=True, slots=True)
class Hint:
    """A folder, links resolved, that is rendered, for whom, and how.

    ``namespace`` is that of objects which name none, ``around`` what a kustomization around it says, ``substitutes`` the variables that are
    put in afterwards. ``release``, ``values`` (files) and ``options`` are for Helm.
    """

    folder: str
    by: str
    namespace: str | None = None
    around: Mapping[str, Any] = field(default_factory=dict)
    substitutes: Mapping[str, str] = field(default_factory=dict)
    release: str = ""
    values: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def hints(paths: Iterable[str]) -> list[Hint]:
    """What the Applications and Kustomizations in some files name that lies in their repository."""
    found = []
    for path in paths:
        try:
            data = read_regular(path, _LARGEST)
        except OSError:
            continue
        if any(group in data for group in _GROUPS):
            found += [each for document in documents_of(data).values() for each in _hints_in(document.data, path)]
    return found


def _hints_in(data: Any, file: str) -> Iterator[Hint]:
    kind, group = _text(data, "kind"), _text(data, "apiVersion").partition("/")[0]
    name = _text(_map(data, "metadata"), "name")
    if group == "argoproj.io" and kind in ("Application", "ApplicationSet"):
        spec = _map(data, "spec") if kind == "Application" else _map(_map(_map(data, "spec"), "template"), "spec")
        sources = spec.get("sources")
        for source in _items(spec, "sources") if type(sources) is list else [_map(spec, "source")]:
            folder = _folder(file, _text(source, "path"))
            if folder is not None:
                yield _of_argo(f"{kind} {name}", name, folder, source, _text(_map(spec, "destination"), "namespace"))
    elif group == "kustomize.toolkit.fluxcd.io" and kind == "Kustomization":
        spec = _map(data, "spec")
        folder = _folder(file, _text(spec, "path"))
        if folder is not None:
            yield _of_flux(f"Kustomization {name}", folder, spec)


def _of_argo(by: str, name: str, folder: str, source: Mapping[str, Any], namespace: str) -> Hint:
    helm, kustomize = _map(source, "helm"), _map(source, "kustomize")
    values = [os.path.normpath(os.path.join(folder, each)) for each in _texts(helm, "valueFiles") if not each.startswith("$")]
    written = next(iter(documents_of(_text(helm, "values").encode("utf-8", "replace")).values()), None)
    inline = _map(helm, "valuesObject") or (written.data if written is not None and type(written.data) is dict else {})
    options = [word for key, value in inline.items() for word in ("--set-json", f"{_escaped(key)}={json.dumps(value)}")]
    for each in _items(helm, "parameters"):
        options += ["--set-string" if each.get("forceString") is True else "--set", f"{_text(each, 'name')}={_text(each, 'value')}"]
    around = {key: kustomize[key] for key in ("namePrefix", "nameSuffix", "namespace", "commonAnnotations", "replicas") if key in kustomize}
    around |= _labels(_map(kustomize, "commonLabels"), selectors=True) | _patches(kustomize) | _components(kustomize, folder)
    # Only what is there: Argo CD may be told to pass over files that are missing.
    there = tuple(each for each in values if os.path.isfile(each))
    release = _text(helm, "releaseName") or name
    return Hint(folder, by, namespace or None, around, {}, release, there, tuple(options))


def _of_flux(by: str, folder: str, spec: Mapping[str, Any]) -> Hint:
    around: dict[str, Any] = {key: spec[key] for key in ("namePrefix", "nameSuffix") if key in spec}
    if _text(spec, "targetNamespace"):
        around["namespace"] = spec["targetNamespace"]
    around |= _labels(_map(_map(spec, "commonMetadata"), "labels"), selectors=False) | _patches(spec) | _components(spec, folder)
    substitutes = {key: value for key, value in _map(_map(spec, "postBuild"), "substitute").items() if type(value) is str}
    return Hint(folder, by, None, around, substitutes)


def substituted(output: bytes, values: Mapping[str, str]) -> bytes:
    """The output with variables put in as Flux does, with defaults (`${zone:=a}`) or without; those that are not known stay."""
    if not values:
        return output

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return re.sub(r"\$\{(\w+)(?::?[=-][^}]*)?\}", value, output.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def in_namespace(output: bytes, namespace: str | None) -> bytes:
    """The output with a namespace in the pods, services and the like that name none, as whoever applies it puts it there."""
    if namespace is None or re.fullmatch(r"[a-z0-9-]+", namespace) is None:
        return output
    pieces = []
    for document in documents_of(output).values():
        text = document.text()
        metadata = _map(document.data, "metadata")
        if _text(document.data, "kind") in _NAMESPACED and "namespace" not in metadata:
            text = re.sub(
                r"(?m)^metadata:[ \t]*\n(?=([ \t]+))", lambda match: f"{match[0]}{match[1]}namespace: {namespace}\n", text, count=1
            )
        pieces.append(text)
    return "---\n".join(pieces).encode("utf-8", "surrogateescape")


def _escaped(key: str) -> str:
    return re.sub(r"([.,=\[\]{}\\])", r"\\\1", key)


def _labels(pairs: Mapping[str, Any], *, selectors: bool) -> dict[str, Any]:
    return {"labels": [{"pairs": pairs, "includeSelectors": selectors}]} if pairs else {}


def _patches(data: Mapping[str, Any]) -> dict[str, Any]:
    found = [each for each in _items(data, "patches") if type(each.get("patch")) is str]
    return {"patches": [{key: each[key] for key in ("patch", "target") if key in each} for each in found]} if found else {}


def _components(data: Mapping[str, Any], folder: str) -> dict[str, Any]:
    found = [os.path.realpath(os.path.join(folder, each)) for each in _texts(data, "components")]
    return {"components": [each for each in found if os.path.isdir(each)]} if found else {}


def _folder(file: str, path: str) -> str | None:
    """The folder that a path of a repository names, seen from a file in it; None where it is not there."""
    if not path or "{{" in path or "\0" in path:
        return None
    below = os.path.normpath(path.lstrip("/"))
    if below.split(os.sep)[0] == os.pardir:
        return None
    here = os.path.dirname(os.path.realpath(file))
    while True:
        is_top = any(os.path.lexists(os.path.join(here, name)) for name in _REPOSITORIES)
        folder = os.path.join(here, below)
        if os.path.isdir(folder) and below != os.curdir:
            return os.path.realpath(folder)
        above = os.path.dirname(here)
        if is_top or above == here:
            return os.path.realpath(here) if is_top and below == os.curdir else None
        here = above


def _map(data: Any, key: str) -> Mapping[str, Any]:
    value = data.get(key) if type(data) is dict else None
    return value if type(value) is dict else {}


def _text(data: Any, key: str) -> str:
    value = data.get(key) if type(data) is dict else None
    return value if type(value) is str else ""


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    value = data.get(key)
    return [each for each in value if type(each) is str and "\0" not in each] if type(value) is list else []


def _items(data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = data.get(key)
    return [each for each in value if type(each) is dict] if type(value) is list else []
