"""Where charts come from: the sources of Flux, which releases in other files refer to by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml import documents
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import api_version_of, kind_of, name_of

_GROUP = b"source.toolkit.fluxcd.io"


class ChartSource(NamedTuple):
    """An OCIRepository, HelmRepository or HelmChart of Flux, by kind and name; or a HelmRelease with pods that others may select.

    ``url`` is its address and ``chart`` the name of its chart, "" for a repository of many charts. ``major`` is the major version; None
    if it is unknown. Of a release, ``name`` is the name of the release, ``url`` is its namespace, ``controllers`` are the names of those
    of bjw-s' common library, none if its pods are unknown, and ``labels`` are the keys of labels that its values set.
    """

    kind: str
    name: str
    url: str
    chart: str = ""
    major: int | None = None
    controllers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def chart_sources_in(data: bytes) -> Iterator[ChartSource]:
    """Yield the sources of charts in the text of a file."""
    from afflint.manifests.reader import objects_in

    for piece, line, problem in documents.split(data):
        if problem is not None or _GROUP not in piece:
            continue
        document = documents.read(piece, 0, line)
        if document.problem is None:
            for each, _ in objects_in(document):
                source = _source(each)
                if source is not None:
                    yield source


def _source(data: dict[str, Any]) -> ChartSource | None:
    kind, spec, name = kind_of(data), map_at(data, "spec"), name_of(data)
    if not api_version_of(data).startswith(f"{_GROUP.decode()}/") or not name:
        return None
    url = spec.get("url") if type(spec.get("url")) is str else ""
    if kind == "OCIRepository":
        ref = map_at(spec, "ref")
        return ChartSource(kind, name, str(url), last_part(str(url)), major_of(ref.get("semver") or ref.get("tag")))
    if kind == "HelmRepository":
        return ChartSource(kind, name, str(url))
    chart = spec.get("chart")
    if kind == "HelmChart" and type(chart) is str:
        return ChartSource(kind, name, "", last_part(chart), major_of(spec.get("version")))
    return None


def last_part(address: str) -> str:
    """Return the last part of an address: the name of the chart that an OCI repository contains."""
    return address.rstrip("/").rpartition("/")[2].partition("@")[0].partition(":")[0]


def major_of(version: object) -> int | None:
    """Return the major version that a version or a range of one major version requires; None if it allows others."""
    match = re.match(r"\s*(?:[~^=v]|>=)?\s*v?(\d+)(?:\.|$)", version) if type(version) is str else None
    if match is None or re.search(r"\|\||,|\s-\s", str(version)):
        return None
    return None if str(version).strip().startswith(">") and "<" not in str(version) else int(match[1])


def merged_sources(sources: Iterable[ChartSource]) -> tuple[ChartSource, ...]:
    """Return one source for each kind and name, sorted. What several sources with one name differ in, such as the version, is unknown."""
    found: dict[tuple[str, str], ChartSource] = {}
    for each in sources:
        known = found.setdefault((each.kind, each.name), each)
        if known != each:
            chart = known.chart if known.chart == each.chart else "?"
            found[each.kind, each.name] = ChartSource(
                each.kind, each.name, known.url if known.url == each.url else "", chart, known.major if known.major == each.major else None
            )
    return tuple(sorted(found.values(), key=lambda each: each[:2]))
