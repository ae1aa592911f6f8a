"""Objects that create workloads when a controller renders them: those of Argo CD, Flux and the Helm controller of k3s.

They are recognised in the text, because most of them are never parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.documents import split

_GROUPS = {
    b"argoproj.io": (b"Application", b"ApplicationSet"),
    b"helm.toolkit.fluxcd.io": (b"HelmRelease",),
    b"kustomize.toolkit.fluxcd.io": (b"Kustomization",),
    b"helm.cattle.io": (b"HelmChart",),
}
COMPONENT, LIBRARY = "Component", "library chart"
_COMPONENT_TEXT, _LIBRARY_TEXT = b"\nkind: Component", b"\ntype: library"
_API_VERSION = re.compile(rb"(?m)^apiVersion:[ \t]*[\"']?([\w.-]+)/")
_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?(\w+)")
_METADATA = re.compile(rb"(?m)^metadata:")
_NAME = re.compile(rb"(?m)(?:^[ \t]+|[{,][ \t]*)name:[ \t]*[\"']?([^\s\"',}]+)")
_NEXT_KEY = re.compile(rb"(?m)^[^\s#]")


class DeclaredSource(NamedTuple):
    """An object that creates workloads, or the mark of a file that creates none by itself: ``COMPONENT`` or ``LIBRARY``."""

    kind: str
    name: str


def is_workload_source(group: str, kind: str) -> bool:
    """Return whether a controller renders the objects of a kind into other objects, from a chart or a folder that they name."""
    return kind.encode() in _GROUPS.get(group.encode("utf-8", "replace"), ())


def may_declare(data: bytes) -> bool:
    """Return whether a manifest or a template may contain an object that creates workloads."""
    return any(group in data and any(b"kind: " + kind in data for kind in kinds) for group, kinds in _GROUPS.items())


def declared_sources(data: bytes) -> Iterator[DeclaredSource]:
    """Yield the objects in the bytes of a file that create workloads, by their kinds and names."""
    if _COMPONENT_TEXT in data:
        yield DeclaredSource(COMPONENT, "")
    if _LIBRARY_TEXT in data:
        yield DeclaredSource(LIBRARY, "")
    if any(group in data for group in _GROUPS):
        for piece, _, _ in split(data):
            version, kind = _API_VERSION.search(piece), _KIND.search(piece)
            if version is not None and kind is not None and kind[1] in _GROUPS.get(version[1], ()):
                name = _name_in(piece)
                if b"{{" not in name:  # In a template of a chart; the chart counts.
                    yield DeclaredSource(kind[1].decode(), name.decode("utf-8", "replace"))


def _name_in(piece: bytes) -> bytes:
    metadata = _METADATA.search(piece)
    if metadata is None:
        return b""
    end = _NEXT_KEY.search(piece, metadata.end())
    name = _NAME.search(piece, metadata.end(), end.start() if end is not None else len(piece))
    return b"" if name is None else name[1]
