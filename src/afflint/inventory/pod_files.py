"""The pods that run already, from dumps: `kubectl get pods -A -o yaml` or `-o json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.inventory.node_files import NodeFileError, refuse_document, refuse_object, utf8_of
from afflint.kube.kinds import NAMES
from afflint.kube.manifests import manifests_in
from afflint.reading import documents
from afflint.reading.sources import Source
from afflint.reading.triage import Triage
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.pods import read_pod


def running_pods(source: Source, *, resources: bool = False) -> Iterator[dict[str, Any]]:
    """The pods in a dump, as parsed. Raises NodeFileError for a file that is none, or with something that can be no pod."""
    data = utf8_of(source)
    found = False
    for document in Triage(NAMES).documents(data):
        if document.problem is not None:
            refuse_document(source.name, document, document.line)
        for manifest in manifests_in(document):
            if manifest.kind.name == "Pod":
                try:
                    read_pod(manifest.data, resources=resources)
                except InventoryError as error:
                    refuse_object(source.name, document, manifest.base, error)
                found = True
                yield manifest.data
    if not found and not _is_list(data):
        raise NodeFileError(f"{source.name}:1:1: no pods in this file: expected what `kubectl get pods -A -o yaml` prints")


def _is_list(data: bytes) -> bool:
    """Whether a file holds a list of objects, which may well be empty."""
    for piece, line, _ in documents.split(data):
        document = documents.read(piece, 0, line)
        if type(document.data) is dict and str(document.data.get("kind")) in ("List", "PodList"):
            return True
    return False
