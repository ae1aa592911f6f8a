"""Reads the pools that a document declares, in any format: the only module that knows which other module reads which kind."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from afflint.findings.finding import NO_FILE, Site
from afflint.findings.paths import Path
from afflint.manifests.manifest import reference
from afflint.manifests.reader import objects_in
from afflint.pools.kinds import FAMILIES, MARKS, lists_machines
from afflint.pools.pool import Declared, Pool, PoolPart, Reader
from afflint.yaml.document import list_at, map_at
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, kind_of


def pools_in(document: Document) -> Iterator[Pool | PoolPart]:
    """Yield the pools that a document declares, and parts that complete other pools; their sites have no file yet."""
    if type(document.data) is not dict:
        return
    if "kind" not in document.data:
        yield from _without_kind(document)
        return
    for data, base in objects_in(document):
        kind = kind_of(data)
        if kind.encode("utf-8", "replace") in MARKS:
            for inner, path, patched in _bases(data) if kind == "Composition" else [(data, (), False)]:
                yield from _read(document, inner, (*base, *path), patched=patched)


def _read(document: Document, data: dict[str, Any], base: Path, *, patched: bool) -> Iterator[Pool | PoolPart]:
    version, kind = api_version_of(data), kind_of(data)
    group = version.rpartition("/")[0]
    if version == "v1alpha1" and kind == "KubeNodeConfig":
        group, module = "", "talos"
    else:
        module = FAMILIES.get(group, "")
    if not module:
        return
    reader: Reader | None = import_module(f"afflint.pools.{module}").READERS.get((group, kind))
    for each in reader(_declared(document, data, base, patched=patched)) if reader is not None else ():
        yield each._replace(most=None) if patched else each


def _declared(document: Document, data: dict[str, Any], base: Path, *, patched: bool = False) -> Declared:
    return Declared(data, base, Site(NO_FILE, document.index, base), reference(data), patched)


def _bases(composition: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path, bool]]:
    """Yield the resources of a Composition, from which a claim creates copies with its own values."""
    spec = map_at(composition, "spec")
    places: list[tuple[Any, Path]] = [(spec.get("resources"), ("spec", "resources"))]
    for index, step in enumerate(list_at(spec, "pipeline")):
        given = step.get("input") if type(step) is dict else None
        if type(given) is dict:
            places.append((given.get("resources"), ("spec", "pipeline", index, "input", "resources")))
    for resources, path in places:
        for index, each in enumerate(resources if type(resources) is list else ()):
            base = each.get("base") if type(each) is dict else None
            if type(base) is dict:
                yield base, (*path, index, "base"), True


def _without_kind(document: Document) -> Iterator[Pool | PoolPart]:
    """Yield the pools of settings of RKE2, k3s and Talos, and the nodes that talhelper configures."""
    data = document.data
    if lists_machines(data):
        module = "talhelper"
    elif type(data.get("machine")) is dict or type(data.get("cluster")) is dict:
        module = "talos"
    elif "node-label" in data or "node-taint" in data:
        module = "rancher"
    else:
        return
    reader: Reader = import_module(f"afflint.pools.{module}").READERS["", ""]
    yield from reader(_declared(document, data, ()))
