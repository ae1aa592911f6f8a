"""The objects that a kustomization builds, as far as they can be known without building it: what its patches can select.

Semantics: ``accumulateTarget`` and ``resWrangler.Select`` of kustomize (api/internal/target, api/resmap). Only files of the run are read.
Whatever is uncertain makes the objects unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.manifests.reader import objects_in
from afflint.source.kustomizations import NAMES
from afflint.yaml.document import list_at, maps_at, text_at
from afflint.yaml.documents import Document, read, split
from afflint.yaml.object_fields import api_version_of, kind_of, name_of, namespace_of

ReadFile = Callable[[str], "bytes | None"]
"""Returns the bytes of a file of the run by its path; None if the run does not have it."""
_UNKNOWN = ("generators", "transformers", "validators", "helmCharts", "helmChartInflationGenerator", "replacements", "configurations")
"""Fields with which the objects, or their names, are unknown."""
_MOST = 5000
_DEPTH = 20


class SelectableObject(NamedTuple):
    """What patches can select of an object. It has one of the ``names``, the original and the current one; None means any name."""

    group: str
    version: str
    kind: str
    names: frozenset[str] | None
    namespaces: frozenset[str]

    @property
    def title(self) -> str:
        """The kind and the shortest name."""
        return f"{self.kind} {min(self.names, key=len)}" if self.names else self.kind


class SelectableObjects(NamedTuple):
    """The objects that the patches of a kustomization apply to, and the texts of all files that they come from."""

    objects: tuple[SelectableObject, ...]
    texts: tuple[bytes, ...]

    def mention(self, words: list[str]) -> bool:
        """Return whether each word occurs in one of the texts."""
        return all(any(word.encode("utf-8", "replace") in text for text in self.texts) for word in words)


class _UnknownError(Exception):
    """The objects of a kustomization cannot be known."""


def first_kustomization(folder: str, read_file: ReadFile) -> bytes | None:
    """Return the bytes of the kustomization of a folder; None if the run does not have one."""
    return next((data for name in NAMES if (data := read_file(os.path.join(folder, name))) is not None), None)


def objects_of(folder: str, kustomization: dict[str, Any], text: bytes, read_file: ReadFile) -> SelectableObjects | None:
    """Return the objects that the patches of a kustomization can select; None if they are not all known."""
    texts = [re.sub(rb"(?:label|annotation)Selector\b[^\n]*", b"", text)]
    try:
        return SelectableObjects(tuple(_built(folder, kustomization, read_file, texts, 0)), tuple(texts))
    except (_UnknownError, RecursionError):
        return None


def _built(folder: str, data: dict[str, Any], read_file: ReadFile, texts: list[bytes], depth: int) -> list[SelectableObject]:
    if depth > _DEPTH or any(data.get(field) for field in _UNKNOWN):
        raise _UnknownError
    found: list[SelectableObject] = []
    for field in ("resources", "bases", "components"):
        for entry in list_at(data, field):
            if type(entry) is not str or "://" in entry or "?" in entry or "@" in entry or "$" in entry or "{" in entry:
                raise _UnknownError
            found += _listed(os.path.normpath(os.path.join(folder, entry)), read_file, texts, depth)
            if len(found) > _MOST:
                raise _UnknownError
    for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        found += [SelectableObject("", "v1", kind, None, frozenset()) for _ in maps_at(data, field)]
    return [_renamed(each, data) for each in found]


def _listed(path: str, read_file: ReadFile, texts: list[bytes], depth: int) -> list[SelectableObject]:
    data = read_file(path)
    if data is not None:
        texts.append(data)
        return list(_objects_in(data))
    nested = first_kustomization(path, read_file)
    document = only_document(nested) if nested is not None else None
    if nested is None or document is None:
        raise _UnknownError
    texts.append(nested)
    if may_rename(nested):
        raise _UnknownError
    return _built(path, document.data, read_file, texts, depth + 1)


def may_rename(text: bytes) -> bool:
    """Return whether patches in the text of a kustomization may change the names or kinds of objects."""
    return any(word in text for word in (b"allowNameChange", b"allowKindChange", b"/metadata/name", b"/kind"))


def only_document(data: bytes) -> Document | None:
    """Return the only document of a file, as a map; None if it has several, or cannot be read."""
    documents = [document for index, (piece, line, _) in enumerate(split(data)) if not (document := read(piece, index, line)).empty]
    if len(documents) != 1 or documents[0].problem is not None or documents[0].filled or type(documents[0].data) is not dict:
        return None
    return documents[0]


def _objects_in(data: bytes) -> Iterator[SelectableObject]:
    for index, (piece, line, problem) in enumerate(split(data)):
        document = read(piece, index, line)
        if problem is not None or document.problem is not None or document.rest is not None:
            raise _UnknownError
        if document.data is None:
            continue
        if type(document.data) is not dict:
            raise _UnknownError
        for each, _ in objects_in(document):
            version, kind, name = api_version_of(each), kind_of(each), name_of(each)
            if not version or not kind or not name:
                raise _UnknownError
            group, _, number = version.rpartition("/")
            yield SelectableObject(group, number, kind, frozenset((name,)), frozenset((namespace_of(each),)))


def _renamed(built: SelectableObject, data: dict[str, Any]) -> SelectableObject:
    """Return an object with the names and namespaces that it may have once a kustomization has changed them."""
    prefix, suffix, namespace = text_at(data, "namePrefix"), text_at(data, "nameSuffix"), text_at(data, "namespace")
    names = built.names
    if names is not None and (prefix or suffix):
        names |= {f"{prefix}{name}{suffix}" for name in names}
    return built._replace(names=names, namespaces=built.namespaces | {namespace} if namespace else built.namespaces)
