"""Manifests in text: objects that another object contains as the text of a literal block.

ConfigMaps and Secrets have them under ``data`` and ``stringData``: Cluster API applies those that a ClusterResourceSet names, and many
addons keep manifests so. Talos applies ``cluster.inlineManifests[].contents``, and the files of kubeadm and RKE2 configurations
(``files[].content``) can be static pods. Encoded text, such as ``data`` of a Secret, is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.manifests.reader import objects_in
from afflint.yaml.document import Document, map_at
from afflint.yaml.embedded import EmbeddedDocument, documents_in_block
from afflint.yaml.object_fields import api_version_of, kind_of

# Each kind with text under any key, with the fields that contain them.
_MAPS_OF_TEXTS = {"ConfigMap": ("data",), "Secret": ("stringData",)}
_FIELDS = frozenset(("content", "contents"))


def manifests_as_text(document: Document) -> Iterator[EmbeddedDocument]:
    """Yield the objects that a document contains as text, each as a document whose lines and columns are those of the file.

    Only literal block scalars count, whose lines are the same in the file and in the text. Text that is not YAML is left out.
    """
    for path in _texts(document):
        for inner in documents_in_block(document, path):
            data = inner.document.data
            if type(data) is dict and api_version_of(data) and kind_of(data):
                yield inner


def _texts(document: Document) -> Iterator[Path]:
    """Yield the paths of the strings of a document that may contain manifests."""
    for data, base in objects_in(document):
        fields = _MAPS_OF_TEXTS.get(kind_of(data))
        if fields is None:
            yield from _contents(data, base)
        for field in fields or ():
            yield from ((*base, field, key) for key, text in map_at(data, field).items() if _looks_like_manifests(text))


def _contents(data: dict[str, Any], base: Path) -> Iterator[Path]:
    waiting: list[tuple[Any, Path]] = [(data, base)]
    while waiting:
        here, at = waiting.pop()
        items = here.items() if type(here) is dict else enumerate(here) if type(here) is list else ()
        for key, each in items:
            if key in _FIELDS and _looks_like_manifests(each):
                yield (*at, key)
            elif type(each) is dict or type(each) is list:
                waiting.append((each, (*at, key)))


def _looks_like_manifests(text: Any) -> bool:
    return type(text) is str and "apiVersion:" in text and "kind:" in text
