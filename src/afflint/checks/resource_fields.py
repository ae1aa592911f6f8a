"""Keys in custom resources that their kinds do not have, and selectors that they lack."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.custom_resources import DROPPED
from afflint.checks.match import Match, moving, renaming
from afflint.findings.paths import field_of
from afflint.findings.phrases import did_you_mean, join_words, quoted
from afflint.manifests.custom_resources import CustomResource
from afflint.manifests.manifest import Manifest
from afflint.manifests.resource_fields import UnreadKey

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
