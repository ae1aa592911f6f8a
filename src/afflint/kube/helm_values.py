"""Values of Helm charts: constraints that a chart copies into its pods, known by their shape and judged where they stand.

A file of values is one by its name. Values stand in custom resources, too: as data (Flux, Argo CD's ``valuesObject``), where they are found
like any other constraint of a custom resource, or as text in a block scalar (Argo CD's ``values``, ``valuesContent`` of k3s and RKE2).
A ConfigMap or a Secret that a HelmRelease names under ``valuesFrom`` holds a file of values, ``values.yaml`` if it says no other name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings.finding import Path
from afflint.kube.custom_resources import CustomWorkload
from afflint.kube.kinds import Kind
from afflint.kube.shapes import holders_in, mentions_placement
from afflint.yaml.document import Document
from afflint.yaml.embedded import document_in_block, text_of_block
from afflint.yaml.placeholders import holds_control
from afflint.yaml.prefilter import is_values_file

_VALUES = Kind("values", "", (), (), None)
_FIELDS = frozenset(("values", "valuesContent", "valuesTemplate"))


def constraints_in_values(document: Document, data: dict[str, Any]) -> Iterator[CustomWorkload]:
    """What holds constraints in the values that a document is; ``data`` is the object that they belong to, if there is one."""
    if type(document.data) is dict:
        for holder in holders_in(document.data, ()):
            yield CustomWorkload(document, data, (), _VALUES, holder, "shape")


def embedded_values(document: Document) -> Iterator[tuple[Path, Document]]:
    """The values that stand as text in a document, each with its path: a document of its own, whose lines are those of the file.

    Only literal block scalars count, whose text stands line by line as it is. What is a template, or no YAML, is left out.
    """
    for path in _texts(document.data):
        found = text_of_block(document, path)
        if found is None or not mentions_placement(found[0]) or holds_control(found[0]):
            continue
        inner = document_in_block(document, path)
        if inner is not None:
            yield path, inner


def _texts(data: Any) -> Iterator[Path]:
    """The paths of all strings under the names by which values, and files of them, are kept."""
    waiting: list[tuple[Any, Path]] = [(data, ())]
    while waiting:
        here, at = waiting.pop()
        items = here.items() if type(here) is dict else enumerate(here) if type(here) is list else ()
        for key, each in items:
            if type(each) is str:
                if key in _FIELDS or (type(key) is str and is_values_file(key)):
                    yield (*at, key)
            elif each:
                waiting.append((each, (*at, key)))
