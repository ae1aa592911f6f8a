"""From what kustomize made back to where it is written: through labels, patches and replicas to the file that an object came from.

kustomize notes for an object which file it came from and which transformers may have touched it, and nothing for a field. So each field
is searched for, the last transformer first: what it would have written there is compared with what was rendered.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.kustomize import ORIGIN, TRANSFORMATIONS
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
from afflint.yaml.document import list_at, map_at, value_at_path
from afflint.yaml.documents import read, split

_MOST_LEAVES = 64
"""So many leaves of a map or list are looked for to say where it comes from."""


class RenderedIdentity(NamedTuple):
    """What tells the objects of one build apart."""

    api_version: str
    kind: str
    namespace: str
    name: str


def identity_of(data: Mapping[str, Any]) -> RenderedIdentity:
    """The identity of an object."""
    metadata = map_at(data, "metadata")
    return RenderedIdentity(
        *(str(each or "") for each in (data.get("apiVersion"), data.get("kind"), metadata.get("namespace"), metadata.get("name")))
    )


class _Step(NamedTuple):
    """A transformer that an object went through: the kustomization, and what kind of transformer."""

    file: str
    kind: str


@dataclass(frozen=True, slots=True)
class _BuiltObject:
    """An object as it was rendered, the file that it came from ("" where it was generated), and its way from there."""

    data: Mapping[str, Any]
    identity: RenderedIdentity
    origin: str
    generator: str
    steps: tuple[_Step, ...]


class _Hit(NamedTuple):
    """What was found for a leaf: the text, the path in it, and how far above that path its counterparts still stand in this text."""

    text: SourceText
    path: Path
    way: str
    depth: int
    """How many of the last steps of the path are those of the rendered one."""
    key_path: Path | None = None
    """Where the key of the leaf is written if not beside it."""


class Origins:
    """Where the objects of one build come from. ``notes`` is the output with the notes, ``wrapper`` the folder that they count from."""

    def __init__(self, notes: bytes, wrapper: str, root_file: str, texts: SourceTexts) -> None:
        self._texts = texts
        self._root_file = root_file
        self._made = {each.identity: each for each in _made(notes, wrapper)}

    def _found(self, identity: RenderedIdentity) -> _BuiltObject | None:
        """The object; its namespace may have been put in afterwards."""
        return self._made.get(identity) or self._made.get(identity._replace(namespace=""))

    def written(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """What an object is called in the file that it came from; None where that is not known."""
        made = self._found(identity)
        found = None if made is None else self._object(made)
        return None if found is None else identity_of(found[2])

    def place(self, identity: RenderedIdentity, path: Path, *, key: bool = False) -> SourcePlace:
        """Where the value at a path of an object is written, or its key."""
        made = self._found(identity)
        if made is None:
            return self._of_root()
        try:
            value = value_at(made.data, path)
        except (LookupError, TypeError):
            return self.place(identity, path[:-1], key=True) if path else self._of_object(made)
        if is_leaf(value):
            hit = self._leaf(made, path, value)
            if hit is None:
                return self._nearest(made, path)
            if key and hit.key_path is not None:
                return hit.text.place(hit.key_path, hit.way, exact=True)
            return hit.text.place(hit.path, hit.way, key=key and hit.depth > 0, exact=True)
        return self._collection(made, path, value, key=key) or self._nearest(made, path)

    # One leaf.

    def _leaf(self, made: _BuiltObject, path: Path, value: Any) -> _Hit | None:
        for named in (True, False):
            for step in reversed(dict.fromkeys(made.steps)):
                for hit in self._through(made, step, path, value, named=named):
                    return hit
            found = self._in_origin(made, path, value)
            if found is not None:
                return found
        return None

    def _in_origin(self, made: _BuiltObject, path: Path, value: Any) -> _Hit | None:
        if not made.origin:
            return next(self._patched(made, _Step(made.generator, ""), path, value, named=False), None)
        found = self._object(made)
        if found is None:
            return None
        text, base, data = found
        return _equal(text, base, data, made.data, path, value, "origin")

    def _through(self, made: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        """Where a transformer was told to write what stands at a path."""
        kind = step.kind
        if kind == "LabelTransformer":
            yield from self._labelled(step, path, value)
        elif kind == "AnnotationsTransformer":
            yield from self._mapped(step, ("commonAnnotations",), path, value, "annotation")
        elif kind == "ReplicaCountTransformer":
            yield from self._counted(made, step, path, value, named=named)
        elif kind == "NamespaceTransformer":
            if path == ("metadata", "namespace"):
                yield from self._mapped(step, (), path, value, "namespace")
        elif kind.startswith("Patch"):
            yield from self._patched(made, step, path, value, named=named)

    def _kustomization(self, step: _Step) -> SourceText | None:
        found = [text for text in self._texts.of(step.file) if type(text.data) is dict]
        return next((text for text in found if text.data.get("kind") == step.kind), found[0] if found else None)

    def _mapped(self, step: _Step, base: Path, path: Path, value: Any, way: str) -> Iterator[_Hit]:
        """An entry of a map in the kustomization whose key is the last one of the path."""
        text = self._kustomization(step)
        if text is None:
            return
        entry: Path = (*base, path[-1])
        try:
            if same(value_at(text.data, entry), value):
                yield _Hit(text, entry, way, 1)
        except (LookupError, TypeError):
            return

    def _labelled(self, step: _Step, path: Path, value: Any) -> Iterator[_Hit]:
        text = self._kustomization(step)
        if text is None or not path:
            return
        for number, each in reversed(list(enumerate(list_at(text.data, "labels")))):
            if type(each) is dict and _labels_reach(each, path):
                yield from self._mapped(step, ("labels", number, "pairs"), path, value, "label")
        if _is_label(path):
            yield from self._mapped(step, ("commonLabels",), path, value, "label")
            # A transformer in a file of its own says it in its own words.
            yield from self._mapped(step, ("labels",), path, value, "label")

    def _counted(self, made: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        text = self._kustomization(step)
        if text is None or path != ("spec", "replicas"):
            return
        for number, each in enumerate(list_at(text.data, "replicas")):
            if type(each) is dict and each.get("count") == value and (not named or self._is_name(made, each.get("name"))):
                yield _Hit(text, ("replicas", number, "count"), "replicas", 0)

    # Patches.

    def _patched(self, made: _BuiltObject, step: _Step, path: Path, value: Any, *, named: bool) -> Iterator[_Hit]:
        text = self._kustomization(step)
        if text is None:
            return
        for patch, target in reversed(list(self._patches(text, step.file))):
            if type(patch.data) is list:
                if not named or self._is_target(made, target):
                    yield from _by_operations(patch, made.data, path, value)
            elif type(patch.data) is dict:
                fits = self._is_target(made, target) if target else self._is_like(made, patch.data)
                if not named or fits:
                    hit = _equal(patch, (), patch.data, made.data, path, value, "patch")
                    if hit is not None:
                        yield hit

    def _patches(self, text: SourceText, file: str) -> Iterator[tuple[SourceText, Mapping[str, Any]]]:
        """The patches of a kustomization with their targets, in the order in which they are applied."""
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

    def _is_target(self, made: _BuiltObject, target: Mapping[str, Any]) -> bool:
        group, _, version = made.identity.api_version.rpartition("/")
        return (
            matches_whole(target.get("kind"), made.identity.kind)
            and matches_whole(target.get("group"), group)
            and matches_whole(target.get("version"), version)
            and any(matches_whole(target.get("name"), name) for name in self._names(made))
        )

    def _is_like(self, made: _BuiltObject, patch: Mapping[str, Any]) -> bool:
        """Whether a patch without a target names an object, which may have had another name when it was applied."""
        return patch.get("kind") == made.identity.kind and self._is_name(made, value_at_path(patch, "metadata", "name"))

    def _is_name(self, made: _BuiltObject, name: Any) -> bool:
        return type(name) is str and (name in self._names(made) or name in made.identity.name)

    def _names(self, made: _BuiltObject) -> tuple[str, ...]:
        found = self._object(made)
        return (made.identity.name,) if found is None else (made.identity.name, identity_of(found[2]).name)

    # Objects, maps and lists.

    def _object(self, made: _BuiltObject) -> tuple[SourceText, Path, Mapping[str, Any]] | None:
        """The object in the file that it came from: the same kind, and the name that is most of the one it has now."""
        best, score = None, (False, False, -1)
        for text, base, data in self._texts.objects(made.origin) if made.origin else ():
            each = identity_of(data)
            if each.kind != made.identity.kind or _group(each) != _group(made.identity):
                continue
            fits = each.name in made.identity.name, each.namespace in ("", made.identity.namespace), len(each.name)
            if best is None or fits > score:
                best, score = (text, base, data), fits
        return best

    def _collection(self, made: _BuiltObject, path: Path, value: Any, *, key: bool) -> SourcePlace | None:
        """Where a map or list is written: where most of its leaves are; of several places the one that was applied last."""
        places: Counter[tuple[str, int, Path]] = Counter()
        texts: dict[tuple[str, int, Path], tuple[_Hit, Path]] = {}
        for count, (below, leaf) in enumerate(leaves(value)):
            if count >= _MOST_LEAVES:
                break
            hit = self._leaf(made, (*path, *below), leaf)
            if hit is None:
                continue
            # What holds the leaf there as it does here; where the patch begins below that, its own beginning.
            above = hit.path[: len(hit.path) - len(below)] if hit.depth >= len(below) else hit.path[: len(hit.path) - hit.depth]
            spot = (hit.text.file, id(hit.text.document), above)
            places[spot] += 1
            texts.setdefault(spot, (hit, above))
        if not places:
            return None
        hit, above = texts[max(places, key=lambda spot: places[spot])]
        return hit.text.place(above, hit.way, key=key)

    def _nearest(self, made: _BuiltObject, path: Path) -> SourcePlace:
        """The nearest that holds a path and is known; in the end the object in its file."""
        found = self._object(made)
        if found is None:
            return self._of_object(made)
        text, base, data = found
        for length in range(len(path), 0, -1):
            other = counterpart(data, made.data, path[:length])
            if other is not None:
                return text.place((*base, *other), "object")
        return self._of_object(made)

    def _of_object(self, made: _BuiltObject) -> SourcePlace:
        found = self._object(made)
        if found is not None:
            text, base, data = found
            name: Path = (*base, "metadata", "name")
            return text.place(name if "metadata" in data else (*base, "kind"), "object")
        if made.generator:
            return next((text.place((), "object") for text in self._texts.of(made.generator)), self._of_root())
        return self._of_root()

    def _of_root(self) -> SourcePlace:
        from afflint.findings.finding import Span

        return SourcePlace(self._root_file, 0, Span(1, 1, 1, 1), "root")


def _made(notes: bytes, wrapper: str) -> Iterator[_BuiltObject]:
    for piece, line, _ in split(notes):
        data = read(piece, 0, line).data
        metadata = data.get("metadata") if type(data) is dict else None
        annotations = metadata.get("annotations") if type(metadata) is dict else None
        if type(annotations) is not dict or type(metadata) is not dict:
            continue
        origin = _noted(annotations.pop(ORIGIN, None), dict)
        steps = _noted(annotations.pop(TRANSFORMATIONS, None), list)
        if not annotations:
            metadata.pop("annotations")
        remote = "repo" in origin
        yield _BuiltObject(
            data,
            identity_of(data),
            "" if remote else _file_of(wrapper, origin.get("path")),
            "" if remote else _file_of(wrapper, origin.get("configuredIn")),
            tuple(
                _Step(_file_of(wrapper, each.get("configuredIn")), str(map_at(each, "configuredBy").get("kind", "")))
                for each in steps
                if type(each) is dict
            ),
        )


def _noted(text: Any, kind: type) -> Any:
    data = read(text.encode(), 0, 0).data if type(text) is str else None
    return data if type(data) is kind else kind()


def _file_of(wrapper: str, name: Any) -> str:
    return os.path.normpath(os.path.join(wrapper, name)) if type(name) is str and name else ""


def _equal(text: SourceText, base: Path, data: Any, rendered: Any, path: Path, value: Any, way: str) -> _Hit | None:
    """The counterpart of a leaf in an object or a patch, if the same stands there."""
    other = counterpart(data, rendered, path)
    if other is None or not same(value_at(data, other), value):
        return None
    return _Hit(text, (*base, *other), way, len(path))


def _by_operations(patch: SourceText, rendered: Any, path: Path, value: Any) -> Iterator[_Hit]:
    """Where a JSON 6902 patch holds what stands at a path; the last operation that wrote there first, and those that wrote all of it."""
    partial: list[_Hit] = []
    for number, operation in reversed(list(enumerate(patch.data))):
        if type(operation) is not dict or operation.get("op") not in ("add", "replace") or "value" not in operation:
            continue
        pointer = _pointer(operation.get("path"))
        if len(pointer) > len(path) or not all(map(_may_be, pointer, path)):
            continue
        above, below = path[: len(pointer)], path[len(pointer) :]
        written = operation["value"]
        other = counterpart(written, value_at(rendered, above), below)
        if other is None or not same(value_at(written, other), value):
            continue
        hit = _Hit(patch, (number, "value", *other), "json6902", len(below), (number, "path") if not below else None)
        if written == value_at(rendered, above):
            yield hit
        else:
            partial.append(hit)
    yield from partial


def _pointer(text: Any) -> tuple[str, ...]:
    if type(text) is not str:
        return ()
    return tuple([each.replace("~1", "/").replace("~0", "~") for each in text.split("/")[1:]])


def _may_be(written: str, step: str | int) -> bool:
    """Whether a step of a pointer may be one of a path: the number of an item changes as others are added."""
    if type(step) is int:
        return written == "-" or written.isdigit()
    return written == step


def _labels_reach(each: Mapping[str, Any], path: Path) -> bool:
    """Whether an entry of ``labels`` writes at a path."""
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
