"""The parameters that generators of an ApplicationSet produce from the repository: lists, folders and files in git, and declared clusters.

Other generators, such as pull requests, need Argo CD itself. After docs/operator-manual/applicationset of argo-cd.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.rendering.set_templates import Parameters, fill_template, has_placeholder
from afflint.rendering.source_documents import SourceText, WrittenText, documents_of, files_with
from afflint.source.files import read_regular
from afflint.source.globs import paths_like
from afflint.source.repositories import is_inside
from afflint.yaml.document import Document, list_at, map_at, maps_at, text_at, texts_at
from afflint.yaml.go_functions import as_name
from afflint.yaml.object_fields import kind_of

_MOST, _MOST_PATTERNS = 500, 200
"""The highest numbers of Applications of one ApplicationSet, and of patterns of files and folders that it looks for."""
_MOST_COMBINED, _COST = 1 << 23, 50
"""The highest number of characters of the parameters of all combinations, also of those that are not selected; each counts for 50 more."""
_LARGEST = 1 << 20
_COMMON_FIELDS = frozenset(("selector", "template", "values"))
CLUSTERS = "clusters"


class Generators:
    """Reads the generators of an ApplicationSet.

    ``folders`` are the folders that may be the top of the repository, the nearest first. ``clusters`` are those of Argo CD. ``text`` is the
    document of the ApplicationSet. ``unsupported`` collects the generators and fields that cannot be evaluated, ``cut`` says what of
    the combinations exceeds a limit; "" if they are complete.
    """

    def __init__(self, folders: Sequence[str], clusters: ArgoClusters, text: SourceText | None = None) -> None:
        self.unsupported: list[str] = []
        self.cut = ""
        self._remaining = _MOST_COMBINED
        self._paths: dict[tuple[str, str], list[str]] = {}
        self._text = text
        self._folders = folders
        self._clusters = clusters

    def parameters(self, generators: object, path: Path = ()) -> list[Parameters]:
        """Return the parameters of each Application; the generators are at ``path`` of the ApplicationSet."""
        found = (each for below, generator in _numbered(generators, path) for each in self._parameters_of(generator, {}, below))
        return self._first(found)

    def _first(self, found: Iterable[Parameters]) -> list[Parameters]:
        """Return at most ``_MOST`` parameters, and note if there are more."""
        first = list(islice(found, _MOST + 1))
        if len(first) > _MOST:
            self.cut = f"more than {_MOST} combinations of parameters"
        return first[:_MOST]

    def _parameters_of(self, generator: Mapping[str, Any], given: Parameters, path: Path) -> list[Parameters]:
        """Return the parameters of one generator, limited; ``given`` are those of earlier generators of a matrix."""
        kind = next((each for each in generator if each not in _COMMON_FIELDS), "")
        readers = {
            "list": self._from_list,
            "git": self._from_git,
            CLUSTERS: self._from_clusters,
            "matrix": self._from_matrix,
            "merge": self._from_merge,
        }
        read: Callable[[Mapping[str, Any], Parameters, Path], Iterable[Parameters]] | None = readers.get(kind)
        settings = fill_template(generator.get(kind), given)
        if read is None or type(settings) is not dict or (kind == CLUSTERS and not self._clusters.is_known):
            self.unsupported.append(kind)
            return [given]
        combined = self._combined(settings, given, read(settings, given, (*path, kind)), (*path, kind))
        return self._first(each for each in combined if self._selects(generator.get("selector"), each))

    def _combined(self, settings: Mapping[str, Any], given: Parameters, found: Iterable[Parameters], path: Path) -> Iterator[Parameters]:
        for each in found:
            parameters = {**given, **each}
            values = fill_template(settings.get("values"), parameters)
            parameters |= flatten(values, "values.", self._text, (*path, "values"))
            self._remaining -= _COST + sum(map(len, parameters)) + sum(map(len, parameters.values()))
            if self._remaining < 0:
                self.cut = "more combinations of parameters than afflint evaluates"
                return
            yield parameters

    def _selects(self, selector: object, parameters: Parameters) -> bool:
        """Return whether a label selector selects parameters. After ``Selector`` of the specification of an ApplicationSet."""
        if type(selector) is not dict or not selector:
            return True
        labels = selector.get("matchLabels", {})
        expressions = maps_at(selector, "matchExpressions")
        if selector.keys() - {"matchLabels", "matchExpressions"} or type(labels) is not dict:
            self.unsupported.append("selector")
            return True
        return all(parameters.get(key) == value for key, value in labels.items()) and all(_fits(each, parameters) for each in expressions)

    def _from_list(self, settings: Mapping[str, Any], _given: Parameters, path: Path) -> Iterable[Parameters]:
        written = settings.get("elementsYaml")
        if type(written) is not str:
            elements = _numbered(settings.get("elements"), (*path, "elements"))
            return (flatten(each, text=self._text, path=below) for below, each in elements)
        if has_placeholder(written):
            self.unsupported.append("list")
            return [{}]
        documents = documents_of(written.encode("utf-8", "replace")).values()
        return [flatten(each) for document in documents for each in maps_at(document.data)]

    def _from_clusters(self, settings: Mapping[str, Any], _given: Parameters, _path: Path) -> Iterable[Parameters]:
        self.unsupported += settings.keys() - _COMMON_FIELDS  # `flatList` makes one Application of all clusters.
        selector = map_at(settings, "selector")
        if not map_at(selector, "matchLabels") and not list_at(selector, "matchExpressions"):
            return [each.parameters for each in self._clusters.all()]
        # The selector applies to the labels of the Secrets, and the cluster of Argo CD itself has none.
        return [each.parameters for each in self._clusters.of_secrets if self._selects(selector, each.labels)]

    def _from_matrix(self, settings: Mapping[str, Any], given: Parameters, path: Path) -> list[Parameters]:
        found: list[Parameters] = [given]
        for below, generator in _numbered(settings.get("generators"), (*path, "generators")):
            found = self._first(each for earlier in found for each in self._parameters_of(generator, earlier, below))
        return found

    def _from_merge(self, settings: Mapping[str, Any], given: Parameters, path: Path) -> list[Parameters]:
        keys = texts_at(settings, "mergeKeys")
        generators = _numbered(settings.get("generators"), (*path, "generators"))
        first, *others = [self._parameters_of(generator, given, below) for below, generator in generators] or [[]]
        by_keys = {tuple([each.get(key) for key in keys]): each for each in first}
        for other in others:
            for each in other:
                values = tuple([each.get(key) for key in keys])
                if values in by_keys:
                    by_keys[values] = {**by_keys[values], **each}
        return list(by_keys.values())

    # Folders and files in git.

    def _from_git(self, settings: Mapping[str, Any], _given: Parameters, _path: Path) -> Iterator[Parameters]:
        prefix = f"{settings['pathParamPrefix']}." if type(settings.get("pathParamPrefix")) is str else ""
        for names, is_kind in (("directories", os.path.isdir), ("files", os.path.isfile)):
            entries = [each for each in maps_at(settings, names) if type(each.get("path")) is str]
            excluded = [each["path"] for each in entries if each.get("exclude") is True]
            for each in entries:
                if each.get("exclude") is not True:
                    paths = (
                        path
                        for path in self._matching_paths(each["path"], is_kind)
                        if not any(_matches(path[1], exclusion) for exclusion in excluded)
                    )
                    yield from (one for top, path in paths for one in _path_parameters(top, path, prefix, is_file=names == "files"))

    def _matching_paths(self, pattern: str, is_kind: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Return the paths that match a pattern: the top of the repository, and the path relative to it."""
        parts = pattern.strip("/").split("/")
        if os.pardir in parts or "\0" in pattern:
            return []
        for number, top in enumerate(self._folders):
            is_last = number == len(self._folders) - 1
            if parts[0].strip("*?[]") == parts[0] or is_last:
                found = [each for each in self._paths_like(top, "/".join(parts)) if self._is_readable(top, each, is_kind)]
                if found:
                    return [(top, each) for each in found]
        return []

    def _paths_like(self, top: str, pattern: str) -> list[str]:
        """Return the paths below a folder that match a pattern, at most ``_MOST``; those of a pattern are searched once."""
        known = self._paths.get((top, pattern))
        if known is None:
            if len(self._paths) >= _MOST_PATTERNS:
                self.cut = f"more than {_MOST_PATTERNS} patterns of files and folders"
                return []
            known = list(islice(paths_like(top, pattern), _MOST + 1))
            self._paths[top, pattern] = known
        if len(known) > _MOST:
            self.cut = f"more than {_MOST} files or folders for {quoted(pattern)}"
        return known[:_MOST]

    def _is_readable(self, top: str, path: str, is_kind: Callable[[str], bool]) -> bool:
        absolute = os.path.join(top, path)
        return is_kind(absolute) and is_inside(os.path.realpath(absolute), self._folders[-1])


def _numbered(items: object, path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the maps in a list at a path, each with its own path."""
    return [((*path, number), each) for number, each in enumerate(items if type(items) is list else ()) if type(each) is dict]


def _path_parameters(top: str, path: str, prefix: str, *, is_file: bool) -> Iterator[Parameters]:
    folder, name = os.path.split(path) if is_file else (path, "")
    segments = folder.split("/") if folder else []
    last = segments[-1] if segments else ""
    values = {f"{prefix}path": folder, f"{prefix}path.path": folder, f"{prefix}path.basename": last}
    values[f"{prefix}path.basenameNormalized"] = as_name(last)
    values |= {f"{prefix}path[{number}]": each for number, each in enumerate(segments)}
    values |= {f"{prefix}path.segments[{number}]": each for number, each in enumerate(segments)}
    if not is_file:
        yield values
        return
    values |= {f"{prefix}path.filename": name, f"{prefix}path.filenameNormalized": as_name(name)}
    try:
        data = read_regular(os.path.join(top, path), _LARGEST)
    except OSError:
        return
    for document in documents_of(data).values():
        text = SourceText(os.path.realpath(os.path.join(top, path)), document, document.index)
        if type(document.data) is list:
            yield from ({**flatten(each, text=text, path=(number,)), **values} for number, each in enumerate(document.data))
        else:
            yield {**flatten(document.data, text=text), **values}


def _fits(expression: Mapping[str, Any], parameters: Parameters) -> bool:
    """Return whether parameters meet an expression of a label selector."""
    value, values = parameters.get(text_at(expression, "key")), texts_at(expression, "values")
    tests = {"In": value in values, "NotIn": value not in values, "Exists": value is not None, "DoesNotExist": value is None}
    return tests.get(text_at(expression, "operator"), True)


def _matches(path: str, pattern: str) -> bool:
    ours, theirs = path.split("/"), pattern.strip("/").split("/")
    return len(ours) == len(theirs) and all(fnmatchcase(one, other) for one, other in zip(ours, theirs, strict=True))


def flatten(value: object, prefix: str = "", text: SourceText | None = None, path: Path = ()) -> dict[str, str]:
    """Return the scalars in nested maps as texts, by their dotted paths. The value is at ``path`` of ``text``, if that is known."""
    found: dict[str, str] = {}
    for key, each in value.items() if type(value) is dict else ():
        name, below = f"{prefix}{key}", (*path, key)
        if type(each) is dict:
            found |= flatten(each, f"{name}.", text, below)
        elif type(each) in (str, int, float, bool):
            written = str(each).lower() if type(each) is bool else str(each)
            found[name] = written if text is None else WrittenText(written, text, below)
    return found


_LABEL, _CLUSTER = "argocd.argoproj.io/secret-type", "cluster"
_LOCAL_NAME, _LOCAL_SERVER = "in-cluster", "https://kubernetes.default.svc"


class ArgoCluster(NamedTuple):
    """A cluster: the labels of its Secret, and the parameters that it gives to an Application."""

    labels: Mapping[str, str]
    parameters: Parameters


class ArgoClusters:
    """The clusters that Secrets in some files declare, which are read when they are asked for.

    After ``GenerateParams`` of github.com/argoproj/argo-cd/applicationset/generators (cluster.go), and Generators-Cluster.md of its manual.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._is_complete = True

    @property
    def is_known(self) -> bool:
        """Whether there are Secrets of clusters, and all of them can be read."""
        return bool(self.of_secrets) and self._is_complete

    def all(self) -> list[ArgoCluster]:
        """Return all clusters: also the one that Argo CD runs in, which needs no Secret."""
        if any(each.parameters["server"] == _LOCAL_SERVER for each in self.of_secrets):
            return self.of_secrets
        return [ArgoCluster({}, _parameters(_LOCAL_NAME, _LOCAL_SERVER)), *self.of_secrets]

    @cached_property
    def of_secrets(self) -> list[ArgoCluster]:
        """The clusters that have a Secret."""
        files = files_with(self._paths, _LABEL.encode())
        found = [self._read(document) for _, data in files for document in documents_of(data).values()]
        return [each for each in found if each is not None]

    def _read(self, document: Document) -> ArgoCluster | None:
        """Return the cluster that a document declares, and note if it may declare one that cannot be read."""
        is_secret = text_at(document.data, "metadata", "labels", _LABEL) == _CLUSTER and kind_of(document.data) == "Secret"
        found = _cluster(document.data) if is_secret else None
        # Another kind may create the Secret, such as ExternalSecret.
        if found is None and (document.problem is not None or is_secret or _mentions(document.data)):
            self._is_complete = False
        return found


def _cluster(secret: Mapping[str, Any]) -> ArgoCluster | None:
    name, server, project = (_value(secret, key) for key in ("name", "server", "project"))
    if not name or not server or project is None or has_placeholder(name + server):
        return None
    labels = {key: each for key, each in map_at(secret, "metadata", "labels").items() if type(each) is str}
    annotations = {key: each for key, each in map_at(secret, "metadata", "annotations").items() if type(each) is str}
    parameters = _parameters(name, server, project)
    parameters |= {f"metadata.labels.{key}": each for key, each in labels.items()}
    parameters |= {f"metadata.annotations.{key}": each for key, each in annotations.items()}
    return ArgoCluster(labels, parameters)


def _parameters(name: str, server: str, project: str = "") -> dict[str, str]:
    return {"name": name, "nameNormalized": as_name(name), "server": server, "project": project}


def _value(secret: Mapping[str, Any], key: str) -> str | None:
    """Return a value of a Secret, "" without one; None if it cannot be read."""
    if text_at(secret, "stringData", key):
        return text_at(secret, "stringData", key)
    try:
        return base64.b64decode(text_at(secret, "data", key), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _mentions(data: object) -> bool:
    """Return whether a map in some data has the label of the Secret of a cluster."""
    waiting: list[Any] = [data]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if type(each) in (dict, list) and id(each) not in seen:
            seen.add(id(each))
            if type(each) is dict and each.get(_LABEL) == _CLUSTER:
                return True
            waiting += each.values() if type(each) is dict else each
    return False
