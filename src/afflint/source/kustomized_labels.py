"""Whether a kustomization may change the selector of a controller, or the labels of its pods."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from afflint.source.files import read_regular
from afflint.source.kustomizations import LARGEST, first_document, kustomization_in
from afflint.yaml.document import list_at, maps_at, text_at, value_at_path
from afflint.yaml.documents import read

_FIELDS = ("commonLabels", "transformers", "components", "replacements", "configurations")
"""Fields that may change labels and selectors."""
_WORDS = (b"label", b"matchexpressions", b"selector", b"$patch", b"move", b"copy")
"""A patch without any of these words changes neither labels nor selectors, and removes no object."""


def may_change_selection(folder: str, kind: str) -> bool:
    """Return whether the kustomization of a folder may change the selector of an object of a kind, or the labels of its template.

    Only labels that it adds to selectors or templates, and patches, can do so; see kustomize's api/types.Kustomization. What cannot be
    read may do anything.
    """
    text = kustomization_in(folder)
    document = read(first_document(text.data), 0, 0) if text is not None else None
    if document is None or document.problem is not None or type(document.data) is not dict:
        return True
    data = document.data
    if any(data.get(field) for field in _FIELDS):
        return True
    if any(each.keys() - {"pairs", "includeSelectors"} or each.get("includeSelectors") for each in maps_at(data, "labels")):
        return True
    return any(patch is None or any(word in patch.lower() for word in _WORDS) for patch in _patches(folder, data, kind))


def _patches(folder: str, data: dict[str, Any], kind: str) -> Iterator[bytes | None]:
    """Yield the texts of the patches that may be for objects of a kind; None for one that cannot be read."""
    for entry in list_at(data, "patchesStrategicMerge"):
        yield _text(folder, entry) if type(entry) is not str or "\n" not in entry else entry.encode()
    for field in ("patches", "patchesJson6902"):
        for entry in list_at(data, field):
            target = text_at(entry, "target", "kind") if type(value_at_path(entry, "target")) is dict else ""
            # A pattern can match any kind.
            if target.isalpha() and target != kind:
                continue
            inline = entry.get("patch") if type(entry) is dict else None
            yield inline.encode() if type(inline) is str else _text(folder, entry.get("path") if type(entry) is dict else None)


def _text(folder: str, name: Any) -> bytes | None:
    """Read a file in or below a folder, as kustomize does; None if it is elsewhere or cannot be read."""
    if type(name) is not str or not name or "\0" in name:
        return None
    path = os.path.realpath(os.path.join(folder, name))
    if not path.startswith(os.path.join(folder, "")):
        return None
    try:
        return read_regular(path, LARGEST)
    except OSError:
        return None
