"""What the files of a run define for each other: kinds of custom resources, nodes and node pools.

How a file is checked depends on them. They are therefore found before the map step, by words in the bytes of all files, and only the few
files that contain such words are parsed for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.node_folders import cluster_folders
from afflint.kube.kinds import KINDS, NAMES, is_custom
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import Checker, MapSettings, read_pools
from afflint.pools.kinds import MARKS
from afflint.source.sources import Source, is_template, is_terraform, read_bytes
from afflint.yaml import documents, prefilter, terraform

if TYPE_CHECKING:
    from afflint.charts.sources import ChartSource
    from afflint.manifests.catalogue import CustomKind

_Result = TypeVar("_Result")
_CustomKindName = tuple[str, str]
"""API group and kind."""


class DefinitionSigns(NamedTuple):
    """What a file may contain, as its bytes show. A sign may be wrong; none is missing, except for aliases as keys.

    ``kinds`` are the values of all keys ``kind``, with None for one that only the parser can resolve.
    """

    kinds: frozenset[bytes | None] = frozenset()
    nodes: bool = False
    pools: bool = False
    containers: bool = False
    chart_sources: bool = False
    neighbours: bool = False

    @property
    def definitions(self) -> bool:
        """Whether the file may contain CustomResourceDefinitions."""
        return _DEFINITION in self.kinds or None in self.kinds


_NO_SIGNS = DefinitionSigns()
_MAX_TEXTS = 1 << 24
_KNOWN = frozenset((kind.group, kind.name) for kind in KINDS)
_DEFINITION, _NODE = b"CustomResourceDefinition", b"Node"
_LIST_OF_NODES = b"nodes:"
"""How node lists written by hand begin, which have no kind."""
_GROUP = prefilter.value_pattern(rb"apiVersion", rb"[\"']?([A-Za-z0-9-]+\.[A-Za-z0-9.-]+)/")


def with_definitions(
    files: Files, settings: MapSettings, reader: DefinitionReader, more: Callable[[], Iterable[Source]] | None = None
) -> MapSettings:
    """Return the settings for the map step of some files, with what these define. ``more`` returns further files with definitions."""
    signs = [reader.signs(source) for source in files.sources]
    settings = _with_inventory(files, settings, signs, reader)
    settings = _with_chart_sources(files, settings, signs, reader)
    defining = [source for source, each in zip(files.sources, signs, strict=True) if each.definitions]
    if not defining and more is None:
        return settings
    custom: Sequence[Source] = files.sources
    if more is None:  # Only the kinds that these files define can become known.
        declared = frozenset((None,)).union(*[each.kinds for each in signs if each.definitions])
        custom = [source for source, each in zip(custom, signs, strict=True) if not each.kinds.isdisjoint(declared)]
    names = {name for source in custom for name in reader.custom_kinds(source)}
    kinds = tuple(sorted(each for each in names if each not in _KNOWN and is_custom(each[0])))
    if not kinds:
        return settings
    from afflint.manifests.custom_definitions import merged_kinds

    defining += more() if more is not None else ()
    return settings._replace(learnt=merged_kinds(kind for source in defining for kind in reader.definitions(source, kinds)))


def _with_inventory(files: Files, settings: MapSettings, signs: Sequence[DefinitionSigns], reader: DefinitionReader) -> MapSettings:
    """Return the settings with the node labels that pools declare, if the run has, or may have, nodes or pools."""
    holders = files.nodes or (range(len(signs)) if settings.auto_nodes else ())
    pools = [keys for file in holders if signs[file].pools and (keys := reader.pool_labels(files.sources[file])) is not None]
    if not (files.nodes or pools or (settings.auto_nodes and _may_use_nodes(files, signs, reader))):
        return settings
    return settings._replace(
        inventory=True,
        resources=settings.resources or settings.has_outcomes,
        target=settings.target._replace(known_labels=frozenset().union(*pools)),
    )


def _with_chart_sources(files: Files, settings: MapSettings, signs: Sequence[DefinitionSigns], reader: DefinitionReader) -> MapSettings:
    """Return the settings with the sources of charts that the files define, and with the releases that pod affinity names."""
    releases = [source for source, each in zip(files.sources, signs, strict=True) if _RELEASE in each.kinds]
    if not releases:
        return settings
    defining = [source for source, each in zip(files.sources, signs, strict=True) if each.chart_sources]
    selecting = [source for source, each in zip(files.sources, signs, strict=True) if each.neighbours]
    sources: tuple[ChartSource, ...] = ()
    if defining:
        from afflint.charts.sources import merged_sources

        sources = merged_sources(each for source in defining for each in reader.chart_sources(source))
    names = frozenset().union(*[reader.selected_names(source) for source in selecting])
    if names:
        found = {each for source in releases for each in reader.releases(source, names, sources)}
        sources += tuple(sorted(found, key=lambda each: (each.name, each.url, each.controllers, each.labels, each.major or 0)))
    return settings._replace(target=settings.target._replace(chart_sources=sources))


def _may_use_nodes(files: Files, signs: Sequence[DefinitionSigns], reader: DefinitionReader) -> bool:
    """Return whether nodes among the checked files may be used, see ``locating.inventory_of``: several folders of nodes have workloads, or
    no workload is outside the folder of one.

    One workload is enough to prove that they are not. Facts about placement, which most trees with an example of a Node would never use,
    take a quarter of the map step.
    """
    folders = {files.folder(file) for file in files.checked if signs[file].nodes}
    candidates = [file for file in files.checked if signs[file].containers]
    if len(cluster_folders(folders, map(files.folder, candidates))) > 1:
        return True
    for folder in folders:
        outside = [file for file in candidates if files.folder(file)[: len(folder)] != folder]
        if not any(reader.creates_pods(files.sources[file]) for file in outside[:_MAX_TRIED]):
            return True
    return False


_MAX_TRIED = 10


class DefinitionReader:
    """Reads what files define. With ``stamp``, what was read of a file is kept until its stamp is another one; None is never kept.

    ``by_name``: files are recognised by their names, for runs over two states of the same files.
    """

    def __init__(self, stamp: Callable[[Source], object | None] | None = None, *, by_name: bool = False) -> None:
        self._stamp = stamp
        self._by_name = by_name
        self._kept: dict[tuple[object, ...], tuple[object, object]] = {}
        self.texts: dict[Source, bytes] = {}
        """The bytes of the first files, so that a run without stamps reads them only once. The map step removes them."""
        self._room = _MAX_TEXTS if stamp is None else 0
        self._signs: dict[DefinitionSigns, DefinitionSigns] = {}
        """The different signs of files: most files share those of others."""

    def signs(self, source: Source) -> DefinitionSigns:
        """Return what a file may contain; nothing for a template, and for a file that cannot be read."""
        read = _signs_of_terraform if is_terraform(source.name) else signs_of
        signs = _NO_SIGNS if is_template(source.name) else self._read(("signs",), source, read, _NO_SIGNS)
        return self._signs.setdefault(signs, signs)

    def custom_kinds(self, source: Source) -> frozenset[_CustomKindName]:
        """Return the kinds of the custom resources in a file that may have placement constraints."""
        return self._read(("custom",), source, lambda data: frozenset(_custom_kinds(data)), frozenset())

    def definitions(self, source: Source, kinds: Collection[_CustomKindName]) -> tuple[CustomKind, ...]:
        """Return what the CustomResourceDefinitions in a file say of some kinds."""
        from afflint.manifests.custom_definitions import kinds_defined_in

        return self._read(("definitions", kinds), source, lambda data: kinds_defined_in(data, kinds), ())

    def pool_labels(self, source: Source) -> frozenset[str] | None:
        """Return the label keys of the pools in a file that change what rules about one object report; None without pools."""
        return self._read(("pools",), source, _pool_labels, None)

    def chart_sources(self, source: Source) -> tuple[ChartSource, ...]:
        """Return the sources of charts that a file defines."""
        from afflint.charts.sources import chart_sources_in

        return self._read(("charts",), source, lambda data: tuple(chart_sources_in(data)), ())

    def selected_names(self, source: Source) -> frozenset[str]:
        """Return the names that the pod affinity in a file may select pods by."""

        def read(data: bytes) -> frozenset[str]:
            first = min((at for mark in _POD_AFFINITY if (at := data.find(mark)) >= 0), default=len(data))
            return frozenset(map(bytes.decode, re.findall(_SELECTED_NAME, data[first:])))

        return self._read(("selected",), source, read, frozenset())

    def releases(self, source: Source, names: frozenset[str], sources: tuple[ChartSource, ...]) -> tuple[ChartSource, ...]:
        """Return the releases in a file that have one of some names; ``sources`` are those of charts."""
        from afflint.charts.releases import releases_in

        return self._read(("releases", names, sources), source, lambda data: tuple(releases_in(data, names, sources)), ())

    def creates_pods(self, source: Source) -> bool:
        """Return whether a file has a workload."""

        def read(data: bytes) -> bool:
            return bool(Checker(MapSettings(())).check(source.known_as, data).facts.pods)

        return self._read(("pods",), source, read, False)

    def _read(self, what: tuple[object, ...], source: Source, read: Callable[[bytes], _Result], default: _Result) -> _Result:
        stamp = self._stamp(source) if self._stamp is not None else None
        key = (source.name if self._by_name else source.path, *what)
        kept = self._kept.get(key)
        if stamp is not None and kept is not None and kept[0] == stamp:
            return kept[1]  # type: ignore[return-value]  # Each key is for one type.
        try:
            result = read(documents.to_utf8(self._text(source)))
        except (OSError, MemoryError, UnicodeDecodeError):
            return default  # The map step reports it.
        if stamp is not None:
            self._kept[key] = stamp, result
        return result

    def _text(self, source: Source) -> bytes:
        text = self.texts.get(source)
        if text is None:
            text = read_bytes(source)
            self._room -= len(text)
            if self._room > 0:
                self.texts[source] = text
        return text


def signs_of(data: bytes) -> DefinitionSigns:
    """Return what the text of a file shows of its content."""
    kinds = prefilter.kinds_named(data)
    without_kind = _LIST_OF_NODES in data or any(mark in data for mark in MARKS[b""])
    without_kind = without_kind and not all(prefilter.has_kind(piece) for piece, _, _ in documents.split(data))
    return DefinitionSigns(
        kinds,
        _NODE in kinds or None in kinds or (without_kind and prefilter.is_node_list(data)),
        without_kind or any(mark in data for kind in kinds for mark in (_ALL_MARKS if kind is None else MARKS.get(kind, ()))),
        b"containers" in data,
        _CHART_SOURCES in data,
        _RELEASE in kinds and any(mark in data for mark in _POD_AFFINITY),
    )


def _signs_of_terraform(data: bytes) -> DefinitionSigns:
    return DefinitionSigns(pools=terraform.declares_pools(data))


def may_have_nodes(data: bytes) -> bool:
    """Return whether the text of a file may declare nodes or pools."""
    try:
        signs = signs_of(documents.to_utf8(data))
    except UnicodeDecodeError:
        return True  # Reading it as nodes reports it.
    return signs.nodes or signs.pools


# The group of Flux's sources; the releases that refer to them are of another group.
_CHART_SOURCES = b"source.toolkit.fluxcd.io"
_RELEASE = b"HelmRelease"
_POD_AFFINITY = (b"podAffinity:", b"podAffinity'", b'podAffinity"')
_SELECTED_NAME = (
    rb"app\.kubernetes\.io/(?:name|instance)[\"']?"
    rb"(?::[ \t]+|(?:[^\n]{0,80}\n){0,2}?[^\n]{0,80}?values[\"']?:\s{0,80}[-\[]\s{0,20})[\"']?([a-z0-9][-a-z0-9.]*)"
)
"""The value of a label that names an application, in a map or in an expression."""
_ALL_MARKS = frozenset(mark for marks in MARKS.values() for mark in marks)


def _custom_kinds(data: bytes) -> Iterator[_CustomKindName]:
    """Yield group and kind of the custom resources; of a document with several objects, each combination of groups and kinds."""
    from afflint.kube.shapes import mentions_placement

    for piece, _, _ in documents.split(data):
        groups = {group for match in _GROUP.finditer(piece) if is_custom(group := match[1].decode())}
        kinds = {kind.decode() for kind in prefilter.kinds_named(piece) if kind is not None} if groups else ()
        # These are the documents that the map step parses.
        if kinds and (mentions_placement(piece) or not NAMES.isdisjoint(kinds)):
            yield from ((group, kind) for group in groups for kind in kinds)


def _pool_labels(data: bytes) -> frozenset[str] | None:
    triage = Checker(MapSettings(())).triage
    pools = [pool for document in triage.documents(data) if document.problem is None for pool in read_pools(document)]
    if not pools:
        return None
    from afflint.pools.matching import telling_keys

    return telling_keys(pools)
