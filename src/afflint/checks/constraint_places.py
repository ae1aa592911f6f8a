"""Constraints in custom resources and chart values whose name is misspelt, or that are at a place from which they reach no pod."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.custom_resources import DROPPED
from afflint.checks.match import Match, moving, renaming
from afflint.findings.finding import Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import did_you_mean, join_words, quoted
from afflint.kube.kinds import EACH
from afflint.kube.shapes import AFFINITY_FIELDS, dedented_field, is_pod_spec, meant_field
from afflint.manifests.custom_resources import KINDS_WITH_VALUES, CustomResource, CustomWorkload, value_at
from afflint.manifests.manifest import Manifest, Workload
from afflint.manifests.resource_fields import WHOLE_CONSTRAINTS, UnreadKey
from afflint.yaml.object_fields import api_version_of

# The fields of a kind in which constraints are passed on to pods; elsewhere in the object, nothing reads them.
_FIELDS_READ: dict[tuple[str, str], tuple[Path, ...]] = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): (("spec", "values"), ("spec", "postRenderers")),
    ("argoproj.io", "Application"): (("spec", "source"), ("spec", "sources"), ("spec", "sourceHydrator")),
}
_VALUES = {"HelmRelease": "spec.values", "Application": "the values of its source"}


def misspelt_constraint(workload: Workload) -> Iterator[Match]:
    """Report a misspelt name of a constraint that is recognised by its shape."""
    if not isinstance(workload, CustomWorkload) or workload.known == "schema":
        return
    found = value_at(workload, workload.pod_path)
    holder = found if isinstance(found, dict) else {}
    names = [str(part.path[-1]) for part in workload.parts if len(part.path) == len(workload.pod_path) + 1]
    for name in (*names, *(str(key) for key, value in holder.items() if value in ([], {}))):
        close = meant_field(name)
        if close is not None:
            taken = close in holder
            remedy = f"Merge it with {quoted(close)}, which is set already." if taken else f"Write {quoted(close)}."
            path, message = (*workload.pod_path, name), f"unknown field {quoted(name)}{did_you_mean(close)}"
            # Nothing is lost as long as the value is empty.
            severity: Severity | None = None if name in names else "info"
            yield Match(path, message, remedy, key=True, severity=severity, edits=() if taken else renaming(path, close))


def unreachable_constraint(workload: Workload) -> Iterator[Match]:
    """Report constraints at places that reach no pod, and those that are not indented into the field above them."""
    if not isinstance(workload, CustomWorkload) or workload.known == "schema":
        return
    end = _dead_end(workload)
    if end is not None:
        for part in workload.parts:
            name = str(part.path[-1])
            yield Match(part.path, f"{name} is set in {end.where}", end.help.format(name), key=True, severity=end.severity)
        return
    yield from _outside_known_places(workload)
    found = value_at(workload, workload.pod_path)
    holder = found if isinstance(found, dict) else {}
    for name in AFFINITY_FIELDS.intersection(part.path[-1] for part in workload.parts) if is_pod_spec(holder) else ():
        path, home = (*workload.pod_path, name), (*workload.pod_path, "affinity")
        edits = () if value_at(workload, (*home, name)) else moving(path, home)
        message = f"{name} is set in the pod spec, which has no such field; it belongs in affinity"
        yield Match(path, message, f"Move it to `affinity.{name}`.", key=True, edits=edits)
    if workload.kind.name == "values" and isinstance(holder.get("spec"), dict) and is_pod_spec(holder["spec"]):
        for part in workload.parts:
            edits = moving(part.path, (*workload.pod_path, "spec"), merge=True)
            message = f"{part.path[-1]} is next to the spec of a pod, not in it"
            yield Match(part.path, message, f"Move {part.path[-1]} into `spec`.", key=True, edits=edits)
    dedented = dedented_field(holder)
    if dedented is not None:
        field, inside = dedented
        home = (*workload.pod_path, field)
        verb, they = ("is", "it belongs") if len(inside) == 1 else ("are", "they belong")
        message = f"{field} is empty, and {join_words(inside)} {verb} next to it; {they} inside it"
        edits = tuple(edit for name in inside for edit in moving((*workload.pod_path, name), home, merge=True))
        yield Match((*workload.pod_path, inside[0]), message, f"Indent {join_words(inside)} below `{field}:`.", key=True, edits=edits)


class _DeadEnd(NamedTuple):
    """A place from which constraints reach no pod, in words, and what to do with each of them."""

    where: str
    help: str
    severity: Severity = "warning"


def _dead_end(workload: CustomWorkload) -> _DeadEnd | None:
    path, name = workload.pod_path[len(workload.base) :], workload.kind.name
    read = _FIELDS_READ.get((workload.kind.group, name))
    if read is not None and not any(path[: len(each)] == each for each in read):
        where = f"{field_of(path) or 'the object itself'}, but {name} has no such field{DROPPED}"
        return _DeadEnd(where, f"Move {{}} to {_VALUES[name]}, where the chart reads it, or remove it.", "error")
    if path[:1] == ("metadata",) and workload.kind.group:
        return _DeadEnd(f"the metadata, which has no such field{DROPPED}", "Move {} to the field of the pods in `spec`.")
    if path[-1:] == ("spec",) and not {"volumeClaimTemplates", "volumeClaimTemplate"}.isdisjoint(map(str, path[-3:-1])):
        return _DeadEnd("a volume claim, which has no such field", "Move {} to the pod spec: the pods decide where their volumes are.")
    if path[-2:-1] in (("containers",), ("initContainers",)) and _is_in_pod_spec(workload):
        return _DeadEnd("a container, which has no such field", "Move {} to the pod spec, next to the containers.")
    return None


def _outside_known_places(workload: CustomWorkload) -> Iterator[Match]:
    """Report constraints in a map of a known kind that it has only elsewhere: above that place, or in a map of the same name beside it."""
    custom, path = workload.custom, workload.pod_path[len(workload.base) :]
    if custom is None or workload.known != "shape" or workload.kind.name in KINDS_WITH_VALUES:
        return
    if any(place.path == path for place in custom.places):
        return  # Another version has the field.
    for part in workload.parts:
        name = str(part.path[-1])
        home = next((each for each in custom.homes_of(part.shape) if name in WHOLE_CONSTRAINTS and _is_missed(path, each)), None)
        if home is not None:
            around, where = field_of(path) or "the object itself", field_of(home)
            message = f"{name} is set in {around}, where {workload.kind.name} has no such field; it belongs in {where}{UNPROVED}"
            edits = () if EACH in home else moving(part.path, (*workload.base, *home), merge=True)
            # The catalogue has the places of the newest version, which an alpha version often is not.
            severity: Severity = "info" if "alpha" in api_version_of(workload.data) else "warning"
            yield Match(part.path, message, f"Move {name} to {where}.", key=True, edits=edits, severity=severity)


def _is_missed(path: Path, home: Path) -> bool:
    """Return whether a path is above a place with constraints, or differs from it in one step before the last one."""
    if len(path) < len(home):
        return all(one in (EACH, other) for one, other in zip(home, path, strict=False))
    different = [index for index, (one, other) in enumerate(zip(home, path, strict=False)) if one not in (EACH, other)]
    return len(path) == len(home) and len(different) == 1 and 0 < different[0] < len(path) - 1


def _is_in_pod_spec(workload: CustomWorkload) -> bool:
    above = value_at(workload, workload.pod_path[:-2])
    return isinstance(above, dict) and is_pod_spec(above)


# Keys in custom resources that their kinds do not have, and selectors that they lack.


UNPROVED = " (kubectl rejects it, or the operator ignores it)"
_FEW = 12


def unknown_in_resource(resource: Manifest) -> Iterator[Match]:
    """Report keys that no version of the definition has, or that differ by a typo from a field that the catalogue has."""
    for each in _unread(resource):
        if each.home is None:
            where = field_of(each.path[len(resource.base) : -1]) or "the top level"
            message = f"unknown field {quoted(each.path[-1])} in {where} of this {resource.kind.name}{did_you_mean(each.meant)}"
            edits = renaming(each.path, each.meant) if each.meant is not None else ()
            yield _worded(Match(each.path, message, _remedy(each), key=True, edits=edits), each)


def outside_affinity(resource: Manifest) -> Iterator[Match]:
    """Report parts of an affinity next to the field that contains the affinity."""
    for each in _unread(resource):
        if each.home is not None:
            name, where = each.path[-1], field_of(each.home[len(resource.base) :])
            around = field_of(each.path[len(resource.base) : -1])
            message = f"{name} is set in {around}, where {resource.kind.name} ignores it; it belongs in {where}"
            edits = moving(each.path, each.home, merge=True)
            yield _worded(Match(each.path, message, f"Move {name} to {where}.", key=True, edits=edits), each)


def selects_no_node(resource: Manifest) -> Iterator[Match]:
    """Report custom resources without the label selector for the nodes that they are about."""
    if isinstance(resource, CustomResource) and resource.absent is not None:
        name = resource.absent[-1]
        remedy = f"Add `{name}: {{matchLabels: …}}`; `{name}: {{}}` selects all nodes."
        yield Match(resource.absent, f"this {resource.kind.name} has no {name}, so it selects no node", remedy)


def _unread(resource: Manifest) -> list[UnreadKey]:
    return resource.unread if isinstance(resource, CustomResource) else []


def _remedy(key: UnreadKey) -> str:
    if key.meant is not None:
        return f"Write {quoted(key.meant)}."
    if key.proved and 0 < len(key.known) <= _FEW:
        return f"Use one of the fields {join_words(sorted(key.known))}."
    return "Remove it, or move it to the object that it belongs to."


def _worded(match: Match, key: UnreadKey) -> Match:
    """Return the match with a note on who rejects the key. What no definition proves is a warning, unless the map is a pod spec."""
    if key.proved:
        return match._replace(message=match.message + DROPPED)
    if key.home is not None and key.in_pod_spec:
        return match._replace(message=match.message + DROPPED)
    return match._replace(message=match.message + UNPROVED, severity="warning")
