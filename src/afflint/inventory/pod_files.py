"""The pods that run already, from dumps: `kubectl get pods -A -o yaml` or `-o json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.inventory.node_files import NodeFileError, bytes_of, documents_of, refuse_object
from afflint.kube.manifests import manifests_in
from afflint.reading.sources import Source
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.pods import read_pod


def running_pods(source: Source, *, resources: bool = False) -> Iterator[dict[str, Any]]:
    """The pods in a dump, as parsed. Raises NodeFileError for a file that is none, or with something that can be no pod."""
    found = False
    for document in documents_of(source.name, bytes_of(source)):
        # A list of objects may well be empty.
        found = found or (type(document.data) is dict and document.data.get("kind") in ("List", "PodList"))
        for manifest in manifests_in(document):
            if manifest.kind.name == "Pod":
                try:
                    read_pod(manifest.data, resources=resources)
                except InventoryError as error:
                    refuse_object(source.name, document, manifest.base, error)
                found = True
                yield manifest.data
    if not found:
        raise NodeFileError(f"{source.name}:1:1: no pods in this file: expected what `kubectl get pods -A -o yaml` prints")
