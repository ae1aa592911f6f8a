"""The source positions of the output of kustomize: the label, patch, or replica count that set a field, or the file of the object.

kustomize records for each object the file that it came from and the transformers that may have changed it, but nothing for a field. So each
field is searched for, starting with the last transformer: the value that it would have set is compared with the rendered one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step
from afflint.rendering import kustomize_replacements as replacing
from afflint.rendering.source_documents import (
    SourcePlace,
    SourceText,
    SourceTexts,
    counterpart,
    is_leaf,
    leaves,
    matches_whole,
    same,
    value_at,
)
from afflint.yaml.document import Document, list_at, map_at, text_at, value_at_path
from afflint.yaml.documents import read, split

_MOST_LEAVES = 64
"""The highest number of leaves of a map or list whose source is searched for."""


WRAPPER = "kustomization.yaml"
"""The file of the kustomization around that of the user, which enables these annotations."""
_ORIGIN, _TRANSFORMATIONS = "config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations"
OBJECT = "object"
"""The kind of a place that is that of a whole object."""
_CHARTS = "HelmChartInflationGenerator"
_COPIED = "copied"
"""The kind of the place of a value that a replacement has copied."""
_OF_DATA = 2
"""The length of the path of a value of a ConfigMap: `data` and its key."""


class RenderedIdentity(NamedTuple):
    """The fields that identify an object in a build."""

    api_version: str
    kind: str
    namespace: str
    name: str


class SourceMap(Protocol):
    """The source positions of rendered values."""

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the source position of a rendered value, or of its key, followed by related positions."""
        ...

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity of a rendered object in its source; None if it is unknown. By default, it is the same."""
        return identity

    def lacks(self, file: str, line: int) -> bool:  # noqa: ARG002
        """Return whether a line of a template, links resolved, is certainly not in the output. By default, that is not known."""
        return False


def identity_of(data: Mapping[str, Any]) -> RenderedIdentity:
    """Return the identity of an object."""
    metadata = map_at(data, "metadata")
    return RenderedIdentity(
        *(str(each or "") for each in (data.get("apiVersion"), data.get("kind"), metadata.get("namespace"), metadata.get("name")))
    )


class InlinePatches(NamedTuple):
    """The patches in an object of Argo CD or Flux: its document, and the paths of the entries with a patch and a target."""

    text: SourceText
    paths: tuple[Path, ...]

    def patches(self) -> Iterator[tuple[SourceText, Mapping[str, Any]]]:
        """Yield each patch with its target."""
        for path in self.paths:
            target = map_at(value_at(self.text.data, path), "target")
            yield from ((each, target) for each in self.text.inside((*path, "patch")))


class _Step(NamedTuple):
    """A transformer that changed an object: its kustomization, and its kind."""

    file: str
    kind: str


@dataclass(frozen=True, slots=True)
class _BuiltObject:
    """A rendered object, its source file ("" if it was generated), and the transformers that changed it."""

    data: Mapping[str, Any]
    identity: RenderedIdentity
    origin: str
    generator: str
    steps: tuple[_Step, ...]
    is_of_chart: bool
    """Whether a chart rendered it."""


class _Hit(NamedTuple):
    """The source of a leaf: the document, the path in it, and the number of trailing steps that it shares with the rendered path."""

    text: SourceText
    path: Path
    kind: str
    depth: int
    """The number of last steps of the path that are equal to those of the rendered path."""
    key_path: Path | None = None
    """The path of the key of the leaf if it is not next to the value."""


class Origins:
    """The sources of the objects of one build.

    ``annotated`` is the output with annotations, ``wrapper`` the folder that paths in the annotations are relative to. ``original`` returns
    the file that a built file is a copy of, ``filled`` a text as it is after Flux has replaced its variables. ``wrapping`` are the patches
    of the wrapper.
    """

    def __init__(
        self,
        annotated: bytes,
        wrapper: str,
        root_file: str,
        texts: SourceTexts,
        original: Callable[[str], str] = os.path.normpath,
        filled: Callable[[str], str] = str,
        wrapping: InlinePatches | None = None,
    ) -> None:
        self._filled = filled
        self._wrapping = wrapping
        self._wrapper_file = os.path.join(wrapper, WRAPPER)
        self._texts = texts
        self._root_file = root_file
        self._followed: set[tuple[RenderedIdentity, Path]] = set()
        self._objects = {RenderedIdentity(*map(filled, each.identity)): each for each in _objects(annotated, wrapper, original)}

    def _find(self, identity: RenderedIdentity) -> _BuiltObject | None:
        """Return the built object; its namespace may have been set after the build."""
        return self._objects.get(identity) or self._objects.get(identity._replace(namespace=""))

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity of an object in its source file; None if it is unknown."""
        built = self._find(identity)
        found = None if built is None else self._object(built)
        return None if found is None else identity_of(found[2])

    def place(self, identity: RenderedIdentity, path: Path, *, key: bool = False) -> SourcePlace:
        """Return the source position of a value of an object, or of its key."""
        built = self._find(identity)
        if built is None:
            return self._of_root()
        path = self._built_path(built, path)
        try:
            value = value_at(built.data, path)
        except (LookupError, TypeError):
            return self.place(identity, path[:-1], key=True) if path else self._of_object(built)
        if is_leaf(value):
            hit = self._leaf(built, path, value)
            if hit is None:
                return self._nearest(built, path)
            if key and hit.kind == _COPIED:
                return self._nearest(built, path, key=True)
            if key and hit.key_path is not None:
                return hit.text.place(hit.key_path, hit.kind, exact=True)
            return hit.text.place(hit.path, hit.kind, key=key and hit.depth > 0, exact=True)
        return self._collection(built, path, value, key=key) or self._nearest(built, path)

    def text_before(self, identity: RenderedIdentity, path: Path, *, key: bool) -> str:
        """Return the text of a value, or of its key, before Flux has replaced its variables; "" if it is something else."""
        built = self._find(identity)
        path = () if built is None else self._built_path(built, path)
        if built is None or not path:
            return ""
        value = path[-1] if key else value_at_path(built.data, *path)
        return value if type(value) is str else ""

    def _built_path(self, built: _BuiltObject, path: Path) -> Path:
        """Return a path with the keys as they are before Flux has replaced their variables, as far as the object has it."""
        found: list[Any] = []
        data: Any = built.data
        for step in path:
            if type(data) is dict and step not in data:
                step = next((each for each in data if type(each) is str and "$" in each and self._filled(each) == step), step)
            found.append(step)
            try:
                data = data[step]
            except (LookupError, TypeError):
                return (*found, *path[len(found) :])
        return tuple(found)

    def chart_file(self, identity: RenderedIdentity) -> str:
        """Return the file that declares the chart that rendered an object: a kustomization or a generator; "" for another object."""
        built = self._find(identity)
        return built.generator if built is not None and built.is_of_chart else ""

    def path(self, identity: RenderedIdentity, path: Path) -> Path:
        """Return a path in an object with the keys as they are before Flux has replaced their variables."""
        built = self._find(identity)
        return path if built is None else self._built_path(built, path)

    def data(self, identity: RenderedIdentity) -> Any:
        """Return the data of a built object; None if it is unknown."""
        built = self._find(identity)
        return None if built is None else built.data

    # One leaf.

    def _leaf(self, built: _BuiltObject, path: Path, value: Any) -> _Hit | None:
        for named in (True, False):
            for step in reversed(dict.fromkeys(built.steps)):
                for hit in self._in_transformer(built, step, path, value, named=named):
                    return hit
            found = self._in_origin(built, path, value)
            if found is not None:
                return found
        return None

    def _in_origin(self, built: _BuiltObject, path: Path, value: Any) -> _Hit | None:
        if not built.origin:
            by_patch = self._in_patches(built, _Step(built.generator, ""), path, value, named=False)
            text = self._kustomization(_Step(built.generator, "")) if len(path) == _OF_DATA else None
            set_by = () if text is None else _entries_that_set(text, lambda name: self._is_name(built, name), path[1], value)
            return next(by_patch, None) or next((_Hit(text, entry, "generator", 0) for entry in set_by if text is not None), None)
        found = self._object(built)
        if found is None:
            return None
        text, base, data = found
        return _same_value(text, base, data, built.data, path, value, "origin")

    def _in_transformer(self, built: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        """Yield the places where a transformer was configured to set the value at a path."""
        kind = step.kind
        if kind == "LabelTransformer":
            yield from self._in_labels(step, path, value)
        elif kind == "AnnotationsTransformer":
            yield from self._in_map(step, ("commonAnnotations",), path, value, "annotation")
        elif kind == "ReplicaCountTransformer":
            yield from self._in_replicas(built, step, path, value, named=named)
        elif kind == "NamespaceTransformer":
            if path == ("metadata", "namespace"):
                yield from self._in_map(step, (), path, value, "namespace")
        elif kind == replacing.TRANSFORMER:
            yield from self._in_replacements(built, step, path, value)
        elif kind.startswith("Patch"):
            yield from self._in_patches(built, step, path, value, named=named)

    def _kustomization(self, step: _Step) -> SourceText | None:
        found = [text for text in self._texts.of(step.file) if type(text.data) is dict]
        return next((text for text in found if text.data.get("kind") == step.kind), found[0] if found else None)

    def _in_map(self, step: _Step, base: Path, path: Path, value: Any, kind: str) -> Iterator[_Hit]:
        """Yield the entry of a map in the kustomization whose key is the last step of the path."""
        text = self._kustomization(step)
        if text is None:
            return
        entry: Path = (*base, path[-1])
        try:
            if same(value_at(text.data, entry), value):
                yield _Hit(text, entry, kind, 1)
        except (LookupError, TypeError):
            return

    def _in_labels(self, step: _Step, path: Path, value: Any) -> Iterator[_Hit]:
        text = self._kustomization(step)
        if text is None or not path:
            return
        for number, each in reversed(list(enumerate(list_at(text.data, "labels")))):
            if type(each) is dict and _labels_reach(each, path):
                yield from self._in_map(step, ("labels", number, "pairs"), path, value, "label")
        if _is_label(path):
            yield from self._in_map(step, ("commonLabels",), path, value, "label")
            # In a LabelTransformer of its own file, the field is `labels`.
            yield from self._in_map(step, ("labels",), path, value, "label")

    def _in_replicas(self, built: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        text = self._kustomization(step)
        if text is None or path != ("spec", "replicas"):
            return
        for number, each in enumerate(list_at(text.data, "replicas")):
            if type(each) is dict and each.get("count") == value and (not named or self._is_name(built, each.get("name"))):
                yield _Hit(text, ("replicas", number, "count"), "replicas", 0)

    # Replacements and generators.

    def _in_replacements(self, built: _BuiltObject, step: _Step, path: Path, value: Any) -> Iterator[_Hit]:
        """Yield the places of the value that a replacement has copied to a path."""
        text = self._kustomization(step)
        folder = os.path.dirname(step.file)
        entries = [] if text is None else list(replacing.replacements_in(text, lambda name: self._file(folder, name)))
        for each in reversed(entries):
            for target, below, is_part in each.targets(path):
                if not self._is_target(built, target):
                    continue
                if same(each.data.get(replacing.SOURCE_VALUE, each), value):
                    yield _Hit(each.text, (*each.path, replacing.SOURCE_VALUE), _COPIED, 0)
                yield from self._copied(each, below, value, is_part=is_part)

    def _copied(self, replacement: replacing.Replacement, below: Path, value: Any, *, is_part: bool) -> Iterator[_Hit]:
        """Yield where the source of a replacement is written, if its value at the path ``below`` is this one, or a part of it."""
        for built in self._objects.values() if replacement.source else ():
            name = replacement.source.get("name")
            # The name of a generated object has a suffix.
            is_source = self._is_target(built, {**replacement.source, "name": None}) and (not name or self._is_name(built, name))
            start = replacement.source_path(built.data) if is_source else None
            path = () if start is None else (*start, *below)
            try:
                found = value_at(built.data, path)
            except (LookupError, TypeError):
                continue
            is_copied = same(found, value) or (is_part and type(found) is type(value) is str and (found in value or value in found))
            if start is None or not is_copied or (built.identity, path) in self._followed:
                continue
            self._followed.add((built.identity, path))
            hit = self._leaf(built, path, found)
            self._followed.discard((built.identity, path))
            if hit is not None:
                yield hit._replace(kind=_COPIED, depth=0, key_path=None)

    # Patches.

    def _in_patches(self, built: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        for patch, target in reversed(self._patches_of(step)):
            if type(patch.data) is list:
                if not named or self._is_target(built, target):
                    yield from _by_operations(patch, built.data, path, value)
            elif type(patch.data) is dict:
                fits = self._is_target(built, target) if target else self._is_like(built, patch.data)
                if not named or fits:
                    hit = _same_value(patch, (), patch.data, built.data, path, value, "patch")
                    if hit is not None:
                        yield hit

    def _patches_of(self, step: _Step) -> list[tuple[SourceText, Mapping[str, Any]]]:
        """Return the patches of a transformer with their targets, in the order in which they are applied."""
        if step.file == self._wrapper_file:
            return [] if self._wrapping is None else list(self._wrapping.patches())
        text = self._kustomization(step)
        return [] if text is None else list(self._patches(text, step.file))

    def _patches(self, text: SourceText, file: str) -> Iterator[tuple[SourceText, Mapping[str, Any]]]:
        """Yield the patches of a kustomization with their targets, in the order in which they are applied."""
        folder = os.path.dirname(file)
        if str(text.data.get("kind", "")).startswith("Patch"):
            inline = type(text.data.get("patch")) is str
            found = text.inside(("patch",)) if inline else self._file(folder, text.data.get("path"))
            yield from ((one, map_at(text.data, "target")) for one in found)
        for number, each in enumerate(list_at(text.data, "patchesStrategicMerge")):
            if type(each) is str:
                inline = "\n" in each
                yield from ((one, {}) for one in (text.inside(("patchesStrategicMerge", number)) if inline else self._file(folder, each)))
        for field in ("patches", "patchesJson6902"):
            for number, each in enumerate(list_at(text.data, field)):
                if type(each) is dict:
                    target = map_at(each, "target")
                    if type(each.get("patch")) is str:
                        found = text.inside((field, number, "patch"))
                    else:
                        found = self._file(folder, each.get("path"))
                    yield from ((one, target) for one in found)

    def _file(self, folder: str, name: Any) -> list[SourceText]:
        return self._texts.of(os.path.join(folder, name)) if type(name) is str and name and "\0" not in name else []

    def _is_target(self, built: _BuiltObject, target: Mapping[str, Any]) -> bool:
        group, _, version = built.identity.api_version.rpartition("/")
        return (
            matches_whole(target.get("kind"), built.identity.kind)
            and matches_whole(target.get("group"), group)
            and matches_whole(target.get("version"), version)
            and any(matches_whole(target.get("name"), name) for name in self._names(built))
        )

    def _is_like(self, built: _BuiltObject, patch: Mapping[str, Any]) -> bool:
        """Return whether a patch without a target names an object, which may have had another name when the patch was applied."""
        return patch.get("kind") == built.identity.kind and self._is_name(built, value_at_path(patch, "metadata", "name"))

    def _is_name(self, built: _BuiltObject, name: Any) -> bool:
        return type(name) is str and (name in self._names(built) or name in built.identity.name)

    def _names(self, built: _BuiltObject) -> tuple[str, ...]:
        found = self._object(built)
        return (built.identity.name,) if found is None else (built.identity.name, identity_of(found[2]).name)

    # Objects, maps and lists.

    def _object(self, built: _BuiltObject) -> tuple[SourceText, Path, Mapping[str, Any]] | None:
        """Return the object in its source file: the one of the same kind with the longest part of the current name."""
        best, score = None, (False, False, -1)
        for text, base, data in self._texts.objects(built.origin) if built.origin else ():
            each = identity_of(data)
            if each.kind != built.identity.kind or _group(each) != _group(built.identity):
                continue
            fits = each.name in built.identity.name, each.namespace in ("", built.identity.namespace), len(each.name)
            if best is None or fits > score:
                best, score = (text, base, data), fits
        return best

    def _collection(self, built: _BuiltObject, path: Path, value: Any, *, key: bool) -> SourcePlace | None:
        """Return the source of a map or list: the place that contains most of its leaves, the last one applied if there are several."""
        places: Counter[tuple[str, Document, Path]] = Counter()
        texts: dict[tuple[str, Document, Path], tuple[_Hit, Path]] = {}
        for count, (below, leaf) in enumerate(leaves(value)):
            if count >= _MOST_LEAVES:
                break
            hit = self._leaf(built, (*path, *below), leaf)
            if hit is None:
                continue
            # The counterpart of the collection around the leaf; if the patch begins below it, the start of the patch.
            above = hit.path[: len(hit.path) - len(below)] if hit.depth >= len(below) else hit.path[: len(hit.path) - hit.depth]
            spot = (hit.text.file, hit.text.document, above)
            places[spot] += 1
            texts.setdefault(spot, (hit, above))
        if not places:
            return None
        hit, above = texts[max(places, key=lambda spot: places[spot])]
        return hit.text.place(above, hit.kind, key=key)

    def _nearest(self, built: _BuiltObject, path: Path, *, key: bool = False) -> SourcePlace:
        """Return the source of the innermost known value that contains a path, or of its key, or else of the object."""
        found = self._object(built)
        if found is None:
            return self._of_object(built)
        text, base, data = found
        for length in range(len(path), 0, -1):
            other = counterpart(data, built.data, path[:length])
            if other is not None:
                return text.place((*base, *other), OBJECT, key=key and length == len(path))
        return self._of_object(built)

    def _of_object(self, built: _BuiltObject) -> SourcePlace:
        found = self._object(built)
        if found is not None:
            text, base, data = found
            name: Path = (*base, "metadata", "name")
            return text.place(name if "metadata" in data else (*base, "kind"), OBJECT)
        if built.generator:
            return next((text.place((), OBJECT) for text in self._texts.of(built.generator)), self._of_root())
        return self._of_root()

    def _of_root(self) -> SourcePlace:
        return SourcePlace(self._root_file, 0, Span(1, 1, 1, 1), "root")


def _objects(annotated: bytes, wrapper: str, original: Callable[[str], str]) -> Iterator[_BuiltObject]:
    def file_of(name: Any) -> str:
        return original(os.path.normpath(os.path.join(wrapper, name))) if type(name) is str and name else ""

    for piece, line, _ in split(annotated):
        data = read(piece, 0, line).data
        metadata = data.get("metadata") if type(data) is dict else None
        annotations = metadata.get("annotations") if type(metadata) is dict else None
        if type(annotations) is not dict or type(metadata) is not dict:
            continue
        origin = _parse_annotation(annotations.pop(_ORIGIN, None), dict)
        steps = _parse_annotation(annotations.pop(_TRANSFORMATIONS, None), list)
        if not annotations:
            metadata.pop("annotations")
        remote = "repo" in origin
        yield _BuiltObject(
            data,
            identity_of(data),
            "" if remote else file_of(origin.get("path")),
            "" if remote else file_of(origin.get("configuredIn")),
            tuple(
                _Step(file_of(each.get("configuredIn")), str(map_at(each, "configuredBy").get("kind", "")))
                for each in steps
                if type(each) is dict
            ),
            text_at(origin, "configuredBy", "kind") == _CHARTS,
        )


def _parse_annotation(text: Any, kind: type) -> Any:
    data = read(text.encode(), 0, 0).data if type(text) is str else None
    return data if type(data) is kind else kind()


def _same_value(text: SourceText, base: Path, data: Any, rendered: Any, path: Path, value: Any, kind: str) -> _Hit | None:
    """Return the counterpart of a leaf in an object or a patch if it has the same value."""
    other = counterpart(data, rendered, path)
    if other is None:
        return None
    hit = _Hit(text, (*base, *other), kind, len(path))
    # `yes` is the boolean `true` here and text for kustomize.
    return hit if same(value_at(data, other), value) or text.document.raw(hit.path) == value else None


def _by_operations(patch: SourceText, rendered: Any, path: Path, value: Any) -> Iterator[_Hit]:
    """Yield the places in a JSON 6902 patch that set a value, the last operation first; operations that set all of it come first."""
    partial: list[_Hit] = []
    for number, operation in reversed(list(enumerate(patch.data))):
        if type(operation) is not dict or operation.get("op") not in ("add", "replace") or "value" not in operation:
            continue
        pointer = [each.replace("~1", "/").replace("~0", "~") for each in text_at(operation, "path").split("/")[1:]]
        if len(pointer) > len(path) or not all(map(_may_match, pointer, path)):
            continue
        above, below = path[: len(pointer)], path[len(pointer) :]
        patch_value = operation["value"]
        other = counterpart(patch_value, value_at(rendered, above), below)
        if other is None or not same(value_at(patch_value, other), value):
            continue
        hit = _Hit(patch, (number, "value", *other), "json6902", len(below), (number, "path") if not below else None)
        if patch_value == value_at(rendered, above):
            yield hit
        else:
            partial.append(hit)
    yield from partial


def _may_match(pointer_step: str, step: str | int) -> bool:
    """Return whether a step of a JSON pointer may be a step of a path: the index of a list item changes as other items are added."""
    if type(step) is int:
        return pointer_step == "-" or pointer_step.isdigit()
    return pointer_step == step


def _labels_reach(each: Mapping[str, Any], path: Path) -> bool:
    """Return whether an entry of ``labels`` sets a label at a path."""
    if list_at(each, "fields"):
        return True
    if len(path) == 3 and path[:2] == ("metadata", "labels"):
        return True
    if len(path) > 3 and path[-3:-1] == ("metadata", "labels"):
        return each.get("includeSelectors") is True or each.get("includeTemplates") is True
    return each.get("includeSelectors") is True and _is_label(path)


_SELECTORS = ("labels", "matchLabels", "selector", "podSelector")


def _is_label(path: Path) -> bool:
    return len(path) > 1 and path[-2] in _SELECTORS


def _group(identity: RenderedIdentity) -> str:
    return identity.api_version.rpartition("/")[0]


_GENERATORS = ("configMapGenerator", "secretGenerator")
_ENTRIES = ("literals", "files", "envs")


def _entries_that_set(text: SourceText, is_named: Callable[[Any], bool], key: Step, value: Any) -> Iterator[Path]:
    """Yield the paths of the entries that set a key to a value, in the generators of a kustomization whose name ``is_named`` accepts."""
    for field in _GENERATORS:
        for number, generator in enumerate(list_at(text.data, field)):
            if type(generator) is not dict or not is_named(generator.get("name")):
                continue
            for kind in _ENTRIES:
                listed = enumerate(list_at(generator, kind))
                yield from ((field, number, kind, place) for place, entry in listed if _sets(entry, kind, key, value))


def _sets(entry: Any, kind: str, key: Step, value: Any) -> bool:
    """Return whether an entry sets a key, as far as it shows it: a file of variables may set every key."""
    name, separator, literal = entry.partition("=") if type(entry) is str else ("", "", "")
    if kind == "literals":
        return name == key and bool(separator) and literal.strip("'\"") == value
    return kind == "envs" or (name if separator else os.path.basename(name)) == key
