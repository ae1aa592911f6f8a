"""What the build of a kustomization loads: URLs, git repositories, charts, and files and folders outside the repository.

kustomize has no option that disables remote resources, and the one that keeps it inside a folder also keeps it from other folders of the
repository. So all kustomizations that a build reads are searched before it starts. After ``loader.IsRemoteFile`` and
``git.NewRepoSpecFromURL`` of kustomize.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering import kustomize_charts
from afflint.rendering.kustomize_charts import KustomizeChart
from afflint.rendering.programs import RenderError
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import kustomization_in
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at
from afflint.yaml.json_text import json_text

_LARGEST = 1 << 20
_MOST_VALUES = 1_000_000
_LONGEST_PATH = 4096
_OF_CONTENTS = ("configMapGenerator", "secretGenerator")
BASES = ("resources", "bases", "components")
"""The fields of a kustomization with other kustomizations."""
PLUGINS = ("generators", "transformers", "validators")
"""The fields of a kustomization with configurations of plugins."""
_GENERATING = ("configMapGenerator", "secretGenerator", "configurations", "crds", "openapi", "generatorOptions")
_PATCHES = ("patches", "patchesJson6902", "patchesStrategicMerge", "replacements")
_CHARTS = (kustomize_charts.FIELD, "helmChartInflationGenerator", "helmGlobals")
_LABELS = ("commonAnnotations", "commonLabels", "labels")
_CHANGES = ("images", "imageTags", "namePrefix", "nameSuffix", "namespace", "replicas", "vars")
_ABOUT_ITSELF = ("apiVersion", "kind", "metadata", "buildMetadata", "sortOptions")
_FIELDS = frozenset((*BASES, *PLUGINS, *_GENERATING, *_PATCHES, *_CHARTS, *_LABELS, *_CHANGES, *_ABOUT_ITSELF))
"""The fields of a kustomization. After ``Kustomization`` of sigs.k8s.io/kustomize/api/types."""
_PLAIN = frozenset((*BASES, *_ABOUT_ITSELF))
"""The fields of a kustomization that change no object."""
_HTTP = re.compile(r"https?:", re.IGNORECASE)
_REMOTE = re.compile(r"https?:|[a-z][a-z0-9+.-]+://|git::|gh:|git@|[\w.+-]+@[\w.-]+:|github\.com[:/]", re.IGNORECASE)
_COPIED_NAMES = "annotations commonAnnotations commonLabels data images labels literals metadata pairs patch stringData value vars"
_COPIED = frozenset(_COPIED_NAMES.split())
_DATA = _COPIED | {kustomize_charts.FIELD, "helmGlobals"}
"""Fields whose values are never loaded from a URL or path; charts are examined for themselves."""


class Loads(NamedTuple):
    """What a kustomization loads from its repository: files, folders and the folders of charts, there or not, with absolute paths.

    ``plugins`` are the files among them that configure plugins, with their content as afflint has parsed it. ``absolute`` are the absolute
    paths that it may name, ``inline`` what replaces the configurations of plugins in its own text.
    """

    kustomization: Kustomization
    files: tuple[str, ...]
    folders: tuple[str, ...]
    charts: tuple[str, ...]
    plugins: Mapping[str, bytes]
    absolute: tuple[str, ...]
    inline: Mapping[str, str]


class BuildInputs(NamedTuple):
    """What the build of some folders loads, as far as their kustomizations say.

    ``rejections`` are reasons not to build them. ``remote`` are the URLs, repositories and charts that each kustomization downloads, by its
    folder. ``is_predictable``: no kustomization generates the configuration of another, so the build loads nothing else.
    ``charts_elsewhere``: the charts among ``remote``, by their folders. ``loads`` is what each kustomization loads from its repository.
    """

    rejections: tuple[str, ...]
    remote: Mapping[str, tuple[str, ...]]
    has_charts: bool
    is_predictable: bool
    charts_elsewhere: Mapping[str, KustomizeChart]
    loads: tuple[Loads, ...] = ()

    def with_others(self, others: Iterable[BuildInputs]) -> BuildInputs:
        """Return what this build and others load together."""
        every = (self, *others)
        remote = {folder: found for each in every for folder, found in each.remote.items()}
        elsewhere = {folder: chart for each in every for folder, chart in each.charts_elsewhere.items()}
        loads = tuple([loads for each in every for loads in each.loads])
        has_charts, is_predictable = any(each.has_charts for each in every), all(each.is_predictable for each in every)
        return BuildInputs(self.rejections, remote, has_charts, is_predictable, elsewhere, loads)

    @property
    def leaves_folders(self) -> bool:
        """Whether a kustomization loads files that are not in its folder, which kustomize does not allow by default."""
        own = ((each.kustomization.folder, file) for each in self.loads for file in (*each.files, *each.charts))
        return any(not is_inside(os.path.realpath(file), folder) for folder, file in own)


def build_inputs(known: RootKustomizations, folders: Iterable[str], top_of: Callable[[str], str]) -> BuildInputs:
    """Return what a build of some folders loads: they, and the kustomizations that they include.

    ``folders`` must have their links resolved. ``top_of`` returns the top of the repository of a folder.
    """
    waiting = [(folder, False) for folder in folders]
    top = top_of(waiting[0][0])
    seen = {*waiting}
    rejections: list[str] = []
    remote: dict[str, tuple[str, ...]] = {}
    has_charts, is_predictable = False, True
    elsewhere: dict[str, KustomizeChart] = {}
    loads: list[Loads] = []
    while waiting:
        folder, is_plugin = waiting.pop()
        if not is_inside(folder, top):
            rejections.append(_outside(folder, top))
            continue
        here = known.at(folder)
        if here is None:
            if kustomization_in(folder) is not None:
                rejections.append(f"the kustomization in {quoted(os.path.relpath(folder, top))} cannot be parsed")
            continue
        loaded = _Loaded(here, is_plugin=is_plugin)
        rejections += loaded.rejections(top)
        remote |= {folder: found} if (found := tuple(loaded.remote())) else {}
        elsewhere |= {each.folder: each for declared in loaded.charts for each in declared.charts if not each.is_here}
        has_charts = has_charts or any(each.charts for each in loaded.charts)
        is_predictable = is_predictable and not is_plugin and loaded.is_readable
        loads.append(loaded.loads())
        below = {(real, is_plugin) for name in here.named if os.path.isdir(real := os.path.realpath(name))}
        below |= {(real, True) for name in _plugins(here) if os.path.isdir(real := os.path.realpath(name))}
        waiting += below - seen
        seen |= below
    return BuildInputs(tuple(rejections), remote, has_charts, is_predictable, elsewhere, tuple(loads))


class _Loaded:
    """What one kustomization loads itself. ``is_plugin``: it generates plugin configurations, so each of its files may be one."""

    def __init__(self, here: Kustomization, *, is_plugin: bool) -> None:
        self._here = here
        self._folder = here.folder
        self._is_plugin = is_plugin
        self._inline: dict[str, str] = {}
        self._plugins: dict[str, list[Any]] = {}
        self._data: list[Mapping[str, Any]] = [here.data]
        self._keys = [str(each) for each in here.data]
        self._unreadable: list[str] = []
        self.is_readable = True
        self.charts = [kustomize_charts.declarations_in(here.data, here.folder)]
        for field in PLUGINS:
            for number, each in enumerate(list_at(here.data, field)):
                # kustomize takes a text for a path only if it is not a map.
                if type(each) is str and ":" in each:
                    name = f"{field}[{number}]"
                    documents = self._add(each.encode("utf-8", "replace"), name)
                    if documents and all(type(data) in (dict, list) for data in documents):
                        self._inline[each] = written(*documents).decode()
                    elif "\0" in each or not (is_remote(each, here.folder) or os.path.exists(os.path.join(here.folder, each))):
                        self._unreadable.append(name)
        for path in (*_plugins(here), *(here.named if is_plugin else ())):
            if _is_file(path):
                try:
                    self._plugins[path] = self._add(read_regular(path, _LARGEST), os.path.relpath(path, here.folder))
                except OSError:
                    self.is_readable = False

    def _add(self, text: bytes, name: str) -> list[Any]:
        """Add the configurations of plugins in a text, and return the data of its documents."""
        parsed = []
        for document in documents_of(text).values():
            parsed.append(document.data)
            # kustomize reads repeated keys of plugins in another way than those of kustomizations.
            if document.problem is not None or document.duplicates:
                self._unreadable.append(name)
            else:
                for each in _configurations(document.data):
                    if kustomize_charts.is_generator(each):
                        self.charts.append(kustomize_charts.declarations_in(each, self._folder))
                    else:
                        self._data.append(each)
        return parsed

    def loads(self) -> Loads:
        """Return what the kustomization loads from its repository."""
        here = self._here
        texts = [text for data in self._data for text in texts_of(data)]
        values = [file for declared in self.charts for chart in declared.charts for file in chart.values]
        paths = [
            *dict.fromkeys(
                [*here.named, *_plugins(here), *(os.path.normpath(os.path.join(here.folder, each)) for each in (*texts, *values))]
            )
        ]
        return Loads(
            here,
            tuple([each for each in paths if _is_file(each)]),
            tuple([each for each in paths if os.path.isdir(each)]),
            tuple([chart.folder for declared in self.charts for chart in declared.charts]),
            {path: written(*documents) for path, documents in self._plugins.items() if documents},
            tuple([each for each in texts if os.path.isabs(each)]),
            self._inline,
        )

    def remote(self) -> Iterator[str]:
        """Yield the URLs and repositories that the build would load, and the charts that it would download."""
        yield from (text for data in self._data for text in texts_of(data) if is_remote(text, self._folder))
        yield from (each.shown for declared in self.charts for each in declared.charts if not each.is_here)

    def rejections(self, top: str) -> Iterator[str]:
        """Yield the reasons not to build the kustomization: files outside the repository, and charts that could do harm."""
        for key in self._keys:
            if key not in _FIELDS:  # kustomize compares fields as JSON of Go does, under which `ſ` is `s`.
                meant = next((f" instead of {quoted(each)}" for each in _FIELDS if each.casefold() == key.casefold()), "")
                yield f"afflint does not render a kustomization with the field {quoted(key)}{meant}"
            elif self._is_plugin and key not in _PLAIN and self._here.data.get(key):
                # It may change the configurations, or the paths and URLs in them.
                yield f"afflint does not render configurations of plugins from a kustomization with the field {quoted(key)}"
        for name in self._unreadable:
            yield f"afflint cannot read the configuration of a plugin in {quoted(name)}"
        if self._here.problem:
            yield f"the kustomization in {quoted(os.path.relpath(self._folder, top))} {self._here.problem}"
        for declared in self.charts:
            yield from declared.rejections(top)
        for text in (text for data in self._data for text in texts_of(data)):
            path = os.path.normpath(os.path.join(self._folder, text))  # kustomize removes `..` before it follows links.
            if not is_inside(path, top) and not os.path.isabs(text) and not is_remote(text, self._folder):
                # Where it leads from the copy of the kustomization is unknown, so it must not exist there either.
                yield _outside(path, top)
            elif _is_file(path) and not is_inside(real := os.path.realpath(path), top):
                yield _outside(real, top)


def _configurations(data: object) -> Iterator[Mapping[str, Any]]:
    """Yield the configurations of plugins in a document: the items of a list of them, or else the document itself."""
    waiting = [data]
    seen: set[int] = set()  # Aliases can repeat one list a million times.
    while waiting:
        each = waiting.pop()
        if type(each) is dict and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += list_at(each, "items")


def written(*documents: Any) -> bytes:
    """Return documents as kustomize reads them. Raises RenderError if they are too large: aliases can repeat one list a million times."""
    try:
        if sum(map(_size, documents)) > _MOST_VALUES:
            raise RenderError(f"a kustomization has more than {_MOST_VALUES:,} values")
        texts = [json_text(each) for each in documents]
    except (ValueError, RecursionError):
        raise RenderError("the values of a kustomization are nested too deeply") from None
    return texts[0].encode() if len(texts) == 1 else "".join(f"---\n{each}\n" for each in texts).encode()


def _size(data: Any) -> int:
    """Return how many values some data has without aliases. Raises RecursionError."""
    sizes: dict[int, int] = {}

    def size(each: Any) -> int:
        if type(each) not in (dict, list):
            return 1
        if id(each) not in sizes:
            sizes[id(each)] = 1 + sum(map(size, each.values() if type(each) is dict else each))
        return sizes[id(each)]

    return size(data)


def _outside(path: str, top: str) -> str:
    return f"{quoted(os.path.relpath(path, top))} is outside the repository"


def _is_file(path: str) -> bool:
    return os.path.exists(path) and not os.path.isdir(path)


def _plugins(here: Kustomization) -> set[str]:
    names = [each for field in PLUGINS for each in list_at(here.data, field) if type(each) is str]
    return {os.path.normpath(os.path.join(here.folder, name)) for name in names if name and "\0" not in name}


def texts_of(data: Mapping[str, Any], copied: frozenset[str] = _DATA) -> Iterator[str]:
    """Yield the texts in some data that kustomize may take for a path or URL: all except in fields that it only copies."""
    waiting: list[Any] = [data]
    seen: set[int] = set()  # Aliases can repeat one list a million times.
    while waiting:
        each = waiting.pop()
        if type(each) is str:
            if "\0" not in each:
                # `files` of a generator takes KEY=PATH.
                yield from (text for text in (each, each.partition("=")[2]) if text)
        elif type(each) in (dict, list) and id(each) not in seen:
            seen.add(id(each))
            waiting += each if type(each) is list else [value for key, value in each.items() if key not in copied]


class NamedFiles:
    """The files and charts that the texts of kustomizations may mean; each kustomization is searched once."""

    def __init__(self, known: RootKustomizations) -> None:
        self._known = known
        self._files: dict[str, dict[str, str | None]] = {}
        self._charts: dict[str, set[str]] = {}

    def files_of(self, here: Kustomization) -> Mapping[str, str | None]:
        """Return the paths that the texts of a kustomization may mean, whether something is there or not.

        Each has the key under which a generator puts the file into a ConfigMap or Secret, "" without one; None for other files.
        """
        if here.folder not in self._files:
            self._search(here)
        return self._files[here.folder]

    def charts_of(self, here: Kustomization) -> Collection[str]:
        """Return the folders of the charts in the repository that a kustomization renders, links resolved."""
        if here.folder not in self._charts:
            self._search(here)
        return self._charts[here.folder]

    def _search(self, here: Kustomization) -> None:
        files, charts = self._files.setdefault(here.folder, {}), self._charts.setdefault(here.folder, set())
        for data in _data_of(here, self._known.top_of(here.folder)):
            declared = kustomize_charts.declarations_in(data, here.folder).charts
            charts.update(os.path.realpath(each.folder) for each in declared if each.is_here)
            contents = {name: data[name] for name in _OF_CONTENTS if name in data}
            for is_content, part in ((False, {name: value for name, value in data.items() if name not in contents}), (True, contents)):
                for text in texts_of(part, _COPIED):
                    if len(text) < _LONGEST_PATH and "\n" not in text:
                        key, is_key, path = text.partition("=")
                        real = os.path.normpath(os.path.join(here.folder, path if is_key else text))
                        files.setdefault(real, None if not is_content else key if is_key else "")


def _data_of(here: Kustomization, top: str) -> Iterator[Mapping[str, Any]]:
    """Yield the data of a kustomization, and the configurations of plugins in the files below ``top`` that it names."""
    yield here.data
    for path in sorted(each for each in _plugins(here) if is_inside(os.path.realpath(each), top)):
        with suppress(OSError):
            for document in documents_of(read_regular(path, _LARGEST)).values():
                yield from _configurations(document.data)


def is_remote(text: str, folder: str) -> bool:
    """Return whether kustomize takes a text for a URL or a repository. Paths are relative to ``folder``."""
    # kustomize prefers an existing file, except for HTTP URLs.
    return _REMOTE.match(text) is not None and (_HTTP.match(text) is not None or not os.path.isfile(os.path.join(folder, text)))
