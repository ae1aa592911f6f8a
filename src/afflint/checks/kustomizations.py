"""Kustomizations whose patches select no object, so that constraints in them never reach a pod."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from afflint.charts.values import patched_parts
from afflint.checks.admission import fields
from afflint.checks.match import Match, Target
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, summarize_names
from afflint.inventory.kustomized_objects import ReadFile, SelectableObject, SelectableObjects, objects_of
from afflint.kube.shapes import mentions_placement
from afflint.manifests.manifest import Manifest
from afflint.manifests.reader import manifests_in
from afflint.yaml.document import Document, list_at, map_at, text_at, value_at_path
from afflint.yaml.documents import read, split
from afflint.yaml.object_fields import api_version_of, group_of, kind_of, name_of

_FIELDS = ("group", "version", "kind", "name", "namespace")
_SELECTORS = ("labelSelector", "annotationSelector")


class KustomizationOfRun(NamedTuple):
    """A kustomization of the run: its folder, its content as data and as text, and a function that reads other files of the run.

    Its patches are at ``base`` in a document: that of the kustomization, or of an object of Flux that adds patches to it.
    """

    folder: str
    data: dict[str, Any]
    text: bytes
    read_file: ReadFile
    document: Document
    base: Path = ()


def patch_without_target(kustomization: KustomizationOfRun) -> Iterator[Match]:
    """Report patches about placement that select none of the objects which the kustomization builds."""
    if "kind" in kustomization.data and kind_of(kustomization.data) != "Kustomization":
        return  # The patches of a Component apply to objects of the kustomizations that use it.
    patches = [each for each in _patches(kustomization) if mentions_placement(each.text)]
    if not patches:
        return
    built = objects_of(kustomization.folder, kustomization.data, kustomization.text, kustomization.read_file)
    if built is None:
        return
    for patch in patches:
        yield from _without_target(patch, built) if patch.target is not None else _without_object(patch, built)


def misplaced_constraint(kustomization: KustomizationOfRun) -> Iterator[Match]:
    """Report operations in files with JSON patches whose path is at the wrong level for the kind of their target."""
    return _in_operations(kustomization, fields.misplaced_constraint)


def wrong_type(kustomization: KustomizationOfRun) -> Iterator[Match]:
    """Report operations in files with JSON patches whose value does not have the type of its field."""
    return _in_operations(kustomization, fields.wrong_type)


def _in_operations(kustomization: KustomizationOfRun, check: Callable[[Manifest, Target], Iterator[Match]]) -> Iterator[Match]:
    """Yield what a check finds in the operations of patch files, at the name of the file; those in the kustomization are text of it."""
    built = cache(lambda: objects_of(kustomization.folder, kustomization.data, kustomization.text, kustomization.read_file))
    for patch in _patches(kustomization):
        file = text_at(map_at(value_at_path(kustomization.document.data, *patch.path)), "path")
        document = read(patch.text, 0, 0)
        for part in patched_parts(document, patch.target) if patch.target and file else ():
            for match in (each for manifest in manifests_in(part) for each in check(manifest, Target())):
                if patch.target and not patch.target.get("group") and _has_namesake(built(), part.data):
                    break
                where = f"in {quoted(file)}, line {document.locate((part.operation, 'path')).line}"
                yield Match((*patch.path, "path"), f"{match.message} ({where})", match.help)


def _has_namesake(built: SelectableObjects | None, data: dict[str, Any]) -> bool:
    """Return whether a kustomization has objects of the same kind in another group."""
    return built is not None and any(each.kind == kind_of(data) and each.group != group_of(data) for each in built.objects)


class _PlacementPatch(NamedTuple):
    """A patch: its path in the kustomization, its text, and its target, None if the patch itself names its object."""

    path: Path
    text: bytes
    target: dict[str, Any] | None


def _patches(kustomization: KustomizationOfRun) -> Iterator[_PlacementPatch]:
    data, base = map_at(kustomization.document.data, *kustomization.base), kustomization.base
    for field in ("patches", "patchesJson6902"):
        for index, entry in enumerate(list_at(data, field)):
            if type(entry) is dict:
                target = entry.get("target")
                text = _text(kustomization, entry.get("patch"), entry.get("path"))
                if text is not None and (type(target) is dict or (target is None and field == "patches")):
                    yield _PlacementPatch((*base, field, index), text, target or None)
    for index, entry in enumerate(list_at(data, "patchesStrategicMerge")):
        inline = type(entry) is dict or (type(entry) is str and "\n" in entry)
        text = _text(kustomization, entry if inline else None, None if inline else entry)
        if text is not None:
            yield _PlacementPatch((*base, "patchesStrategicMerge", index), text, None)


def _text(kustomization: KustomizationOfRun, inline: Any, path: Any) -> bytes | None:
    if type(inline) in (dict, list):
        return json.dumps(inline, default=str).encode()  # Older versions of Flux take patches as data.
    if type(inline) is str and inline:
        return inline.encode("utf-8", "surrogatepass")
    return kustomization.read_file(os.path.normpath(os.path.join(kustomization.folder, path))) if type(path) is str and path else None


# --- patches with a target ---------------------------------------------------------------------------------------------------


def _without_target(patch: _PlacementPatch, built: SelectableObjects) -> Iterator[Match]:
    target = map_at({"target": patch.target}, "target")
    given = {field: target[field] for field in _FIELDS if target.get(field)}
    if not given or any(type(value) is not str or not _is_simple(value) for value in given.values()):
        return
    selectors = [target[field] for field in _SELECTORS if target.get(field)]
    if any(_selects(given, each) for each in built.objects):
        if not all(type(each) is str and re.fullmatch(_EQUALITIES, each) for each in selectors):
            return
        words = [word for each in selectors for word in re.split(r"[=,\s]+", each) if word]
        if built.mention(words):
            return
    what = ", ".join(f"{field}: {value}" for field, value in {**given, **{f: target[f] for f in _SELECTORS if target.get(f)}}.items())
    message = f"no object of this kustomization matches the target {quoted(what)}: the patch changes nothing"
    for field, value in given.items():
        others = {other: text for other, text in given.items() if other != field}
        near = [each.title for each in built.objects if others and _selects(others, each)]
        if near:
            hint = f"; without {quoted(f'{field}: {value}')} it would match {summarize_names(list(dict.fromkeys(near)))}"
            yield Match((*patch.path, "target", field), message + hint)
            return
    only = given.keys() if len(given) == 1 and not selectors else ()
    yield Match((*patch.path, "target", *only), message)


_SIMPLE = re.compile(r"[\w/-]*(?:(?:\.\*|\.\+|\.|\\\.|\|)[\w/-]*){0,4}", re.ASCII)
"""Patterns that mean the same to Go and Python, and that take little time."""
_EQUALITIES = re.compile(r"[\w./-]+\s*={1,2}\s*[\w.-]+(?:\s*,\s*[\w./-]+\s*={1,2}\s*[\w.-]+)*", re.ASCII)


def _is_simple(pattern: str) -> bool:
    return _SIMPLE.fullmatch(pattern) is not None


def _selects(given: dict[str, str], built: SelectableObject) -> bool:
    """Return whether patterns match an object; each is anchored at both ends."""
    values = {
        "group": {built.group},
        "version": {built.version},
        "kind": {built.kind},
        "name": built.names,
        "namespace": _namespaces(built),
    }
    for field, pattern in given.items():
        known = values[field]
        if known is not None and not any(re.fullmatch(pattern, value) for value in known):
            return False
    return True


def _namespaces(built: SelectableObject) -> frozenset[str] | None:
    """Return the namespaces of an object. One without a namespace counts as in ``default``; None for generated ones."""
    return frozenset(each or "default" for each in built.namespaces) or None


# --- patches that name their object ------------------------------------------------------------------------------------------


def _without_object(patch: _PlacementPatch, built: SelectableObjects) -> Iterator[Match]:
    for index, (piece, line, _) in enumerate(split(patch.text)):
        data = read(piece, index, line).data
        if type(data) is not dict:
            return
        group, kind, name = group_of(data), kind_of(data), name_of(data)
        if not api_version_of(data) or not kind or not name or kind.endswith("List"):
            return
        alike = [each for each in built.objects if (each.group, each.kind) == (group, kind)]
        if any(each.names is None or name in each.names for each in alike):
            continue
        message = f"the kustomization has no object that this patch is for, {quoted(f'{kind} {name}')}: the build fails"
        hint = f"; it has {summarize_names(list(dict.fromkeys(each.title for each in alike)))}" if alike else ""
        yield Match(patch.path, message + hint, severity="error")
