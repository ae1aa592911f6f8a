"""Fields that exist at another level of the same object, grouped by the wrong indentation that moved them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afflint.checks.admission.misplaced_fields import home_in_pod_spec, moved_home
from afflint.checks.match import Match, Target, moving
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted, summarize_names
from afflint.kube.types import ListOf, MapOf, Mismatch, Struct, Type
from afflint.kube.versions import as_of
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.document import map_at


class FieldHome(NamedTuple):
    """The place where a field belongs, in words, and the ``path`` of the map if it is unique."""

    words: str
    path: Path | None = None


class MovedFields(NamedTuple):
    """Unknown fields of one map that belong at one other place. ``of_placement``: some of them are fields of placement."""

    fields: tuple[Mismatch, ...]
    home: FieldHome
    of_placement: bool


# Fields of containers that the pod spec does not have.
_OF_CONTAINERS = frozenset(
    (
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "ports", "readinessProbe",
        "resizePolicy", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty",
        "volumeDevices", "volumeMounts", "workingDir",
    )
)  # fmt: skip
# Fields of every object, or of every level.
_EVERYWHERE = frozenset(("apiVersion", "kind", "metadata", "spec", "status", "labels", "annotations"))


def moved_fields(mismatches: Sequence[Mismatch], manifest: Manifest, target: Target) -> dict[Path, MovedFields]:
    """Return the fields that belong at another level, by the path of each field."""
    found: dict[tuple[Path, FieldHome], list[Mismatch]] = {}
    levels = _levels(manifest, target) if isinstance(manifest, Workload) else []
    for mismatch in mismatches if levels else ():
        if mismatch.struct is None:
            continue
        name = str(mismatch.path[-1])
        home = _home_of_placement(name, manifest) or _home(name, mismatch, levels, len(manifest.base), manifest.data)
        if home is not None:
            found.setdefault((mismatch.path[:-1], home), []).append(mismatch)
    _join_fields_of_spec(found)
    return {
        each.path: MovedFields(tuple(together), home, any(_home_of_placement(str(one.path[-1]), manifest) for one in together))
        for (_, home), together in found.items()
        for each in together
    }


def _join_fields_of_spec(found: dict[tuple[Path, FieldHome], list[Mismatch]]) -> None:
    """Move the fields next to a ``spec`` that is indented into the metadata to its group: one indentation moved all of them."""
    for (holder, home), together in list(found.items()):
        if home.path is not None and str(together[0].path[-1]) == "spec" and holder[-1:] == ("metadata",):
            for key in [key for key in found if key[0] == holder and key[1].path == (*home.path, "spec")]:
                together += found.pop(key)


def belongs_elsewhere(group: MovedFields, manifest: Manifest) -> Match:
    """Return the match for fields at a level where they do not exist; its position is the first of them."""
    names = [str(each.path[-1]) for each in group.fields]
    path, struct, home = group.fields[0].path, group.fields[0].struct, group.home
    if names[0] == "spec":
        return _indented_spec(group, names[1:])
    holder = struct.name if struct else ""
    if group.of_placement:
        message = f"{summarize_names(names)} are not fields of the {holder}; they belong in {home.words}"
    elif len(names) == 1:
        message = f"unknown field {quoted(names[0])} in this {holder}; it belongs in {home.words}"
    else:
        message = f"unknown fields {summarize_names(list(map(quoted, names)))} in this {holder}; they belong in {home.words}"
    edits = () if home.path is None else tuple(edit for each in group.fields for edit in moved_home(each.path, home.path, manifest))
    return Match(path, message, _remedy(names, home, manifest), key=True, edits=edits)


def _indented_spec(group: MovedFields, others: list[str]) -> Match:
    """Return the match for a ``spec`` in the metadata; ``others`` are fields next to it that belong inside it."""
    path, struct, home = group.fields[0].path, group.fields[0].struct, group.home
    also = f", and so are {summarize_names(others)}" if others else ""
    message = f"spec is indented into the {struct.name if struct else 'metadata'}{also}; {home.words} has no spec"
    remedy = f"Move spec to {home.words}, next to metadata" + (f", and {summarize_names(others)} into it." if others else ".")
    edits = moving(path, path[:-2])
    for each in group.fields[1:]:
        edits += moving(each.path, (*path[:-2], "spec"))
    return Match(path, message, remedy, key=True, edits=edits)


def _remedy(names: list[str], home: FieldHome, manifest: Manifest) -> str:
    existing = {} if home.path is None else map_at(manifest.data, *home.path)
    if len(names) == 1:
        return f"Remove it: {home.words} already has {names[0]}." if names[0] in existing else f"Move {names[0]} to {home.words}."
    if all(name in existing for name in names):
        return f"Remove them: {home.words} already has all of them."
    return f"Move them to {home.words}."


def _home_of_placement(name: str, manifest: Manifest) -> FieldHome | None:
    path = home_in_pod_spec(name, manifest)
    return None if path is None else FieldHome(field_of(path), path)


def _home(name: str, mismatch: Mismatch, levels: list[tuple[Path, Struct]], depth: int, data: dict[str, Any]) -> FieldHome | None:
    """Return the nearest level of the object that has a misplaced field."""
    holder = mismatch.path[depth:-1]
    if holder[-1:] == ("metadata",):
        holder = holder[:-1]  # A `spec:` was left out, or its fields were indented too far.
    here = next((index for index, (path, _) in enumerate(levels) if path == holder), None)
    if here is not None and name == "spec" and mismatch.path[depth:-1] != holder:
        path, struct = levels[here]
        lacks_spec = "spec" in struct.fields and "spec" not in map_at(data, *path)
        return FieldHome(field_of(path) if path else "the object itself", path) if lacks_spec else None
    if here is None or name in _EVERYWHERE:
        return None
    pod, pod_spec = levels[-1]
    if "hostAliases" in pod_spec.fields and name == "hostnames":
        return FieldHome(f"an item of {field_of((*pod, 'hostAliases'))}, next to its ip")
    by_distance = sorted(range(len(levels)), key=lambda index: (abs(index - here), -index))
    for index in by_distance:
        path, struct = levels[index]
        if index != here and name in struct.fields:
            return FieldHome(field_of(path) if path else "the object itself", path)
    if "containers" in pod_spec.fields and name in _OF_CONTAINERS:
        return FieldHome(f"an item of {field_of((*pod, 'containers'))}")
    return None


def _levels(workload: Workload, target: Target) -> list[tuple[Path, Struct]]:
    """Return the structs from the object down to its pod spec, each with its path in the object."""
    root = workload.kind.root
    if root is None:
        return []
    type_: Type = root if workload.kind.kubevirt else as_of(root, target.version)
    path: Path = ()
    found = []
    for step in (*workload.pod_path[len(workload.base) :], None):
        if isinstance(type_, Struct):
            found.append((path, type_))
        if step is not None:
            type_, path = _below(type_, step), (*path, step)
    return found


def _below(type_: Type, step: object) -> Type:
    if isinstance(type_, Struct):
        return type_.fields.get(str(step), Type())
    return type_.item if isinstance(type_, ListOf | MapOf) else Type()
