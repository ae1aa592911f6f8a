"""Keys in a custom resource that its kind does not have, although they look like placement constraints: nothing reads them.

A CustomResourceDefinition proves it (``structural_schemas``). Without one, the catalogue shows which fields with constraints a map has: a
key that differs from one of them by a typo, with a value of that shape, is probably misspelt.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.similarity import is_likely_typo
from afflint.kube.kinds import CUSTOM_PLACEMENT, EACH, METADATA, part_types
from afflint.kube.shapes import AFFINITY_FIELDS, holders_in, shape_of
from afflint.kube.types import ListOf, Struct, Type
from afflint.manifests.catalogue import CustomKind
from afflint.manifests.structural_schemas import UNREAD_FIELDS
from afflint.yaml.object_fields import metadata_of

_PLACEMENT_NAMES = frozenset((*CUSTOM_PLACEMENT, *AFFINITY_FIELDS))
WHOLE_CONSTRAINTS = ("affinity", "tolerations", "topologySpreadConstraints")
"""The fields whose values leave no doubt that they are meant for pods."""
_NO_NAMES: frozenset[str] = frozenset()


class UnreadKey(NamedTuple):
    """A key that the kind does not have.

    ``known`` are the fields of the map as far as they are known, ``meant`` is the one that the key resembles, ``home`` the map in which the
    kind has such a field. ``proved``: the definition of the kind shows that the API server drops the key. ``in_pod_spec``: the map is a
    pod spec.
    """

    path: Path
    value: Any
    known: frozenset[str]
    meant: str | None
    home: Path | None
    proved: bool
    in_pod_spec: bool = False


def unread_metadata_keys(data: dict[str, Any], base: Path, *, known_kind: bool) -> list[UnreadKey]:
    """Return the keys in the metadata of a custom resource that no object has.

    The API server decodes the metadata of every kind as ObjectMeta (apiextensions-apiserver, pkg/apiserver/schema/objectmeta). A file of an
    unknown kind may be for another tool, with metadata of its own: only a typo proves that ObjectMeta is meant. Constraints in metadata
    are not among the keys.
    """
    found = []
    path, fields = (*base, "metadata"), METADATA.fields
    for key, value in metadata_of(data).items():
        if key in fields or key in _REMOVED or type(key) is not str or value is None or _is_directive(key) or shape_of(key, value) == key:
            continue
        meant = _meant(key, frozenset(fields))
        if meant is not None and (not fields[meant].fits(value) or meant in data["metadata"]):
            meant = None
        if known_kind or meant is not None:
            found.append(UnreadKey((*path, key), value, frozenset(fields), meant, None, True))
    return found


_REMOVED = frozenset(("clusterName", "initializers"))
"""Fields that ObjectMeta had in older versions of Kubernetes."""


class _Map:
    """What is known about a map of a kind: the shapes of its placement fields, the maps below it, and its fields from a definition."""

    def __init__(self) -> None:
        self.steps: dict[str, _Map] = {}
        self.shapes: dict[str, str] = {}
        self.names: frozenset[str] = _NO_NAMES
        self.keeps = True
        self.is_pod_spec = False
        self.type_: Type | None = None
        """The type in Kubernetes; None outside the constraints."""

    def below(self, path: Path) -> _Map:
        here = self
        for step in path:
            here = here.steps.setdefault(str(step), _Map())
        return here

    def known(self) -> frozenset[str]:
        return self.names.union(self.shapes, self.steps)


def unread_keys(data: dict[str, Any], base: Path, custom: CustomKind, version: str) -> list[UnreadKey]:
    """Return the keys of a custom resource that look like placement constraints, and that its kind does not have in this version."""
    found = list(_unread(data, base, _map_of(custom, version)))
    for index, each in enumerate(found):
        name = str(each.path[-1])
        if each.home is None and each.meant is None and name in WHOLE_CONSTRAINTS and shape_of(name, each.value) == name:
            home = next((home for home in custom.homes_of(name) if EACH not in home), None)
            found[index] = each if home is None else each._replace(home=(*base, *home))
    return found


@lru_cache(maxsize=256)
def _map_of(custom: CustomKind, version: str) -> _Map:
    """Return what is known about the whole resource."""
    root, types = _Map(), part_types()
    for place in custom.places_in(version):
        if place.form == "template" and all(field.opened for field in place.fields):
            continue  # The whole template is checked like that of a core kind.
        holder = root.below(place.path if place.form != "template" else (*place.path, "spec"))
        holder.is_pod_spec = place.form in ("template", "spec")
        for field in place.fields:
            holder.shapes[field.name] = field.shape
            if custom.maps:
                holder.below((field.name,)).type_ = types[field.shape]
    for each in custom.maps:
        if each.version == version:
            described = _typed(root, each.path)
            described.names, described.keeps = frozenset(each.names), each.keeps
    return root


def _typed(root: _Map, path: Path) -> _Map:
    """Return the map at a path, after setting the types of the maps in the constraint that contains it."""
    here = root
    for step in path:
        below = here.below((str(step),))
        if isinstance(here.type_, ListOf):
            below.type_ = here.type_.item
        elif isinstance(here.type_, Struct):
            below.type_ = here.type_.fields.get(str(step))
        here = below
    return here


def _unread(value: Any, path: Path, here: _Map) -> Iterator[UnreadKey]:
    items = here.steps.get(EACH)
    if items is not None:
        for key, each in enumerate(value) if type(value) is list else value.items() if type(value) is dict else ():
            yield from _unread(each, (*path, key), items)
        return
    for key, each in value.items() if type(value) is dict else ():
        below = here.steps.get(key)
        if key not in here.names and type(key) is str and each is not None and not _is_directive(key):
            found = _unread_key(key, each, path, here)
            if found is not None:
                yield found
                continue
        if below is not None:
            yield from _unread(each, (*path, key), below)


def _is_directive(key: str) -> bool:
    return key in UNREAD_FIELDS or "$" in key or "{" in key


def _unread_key(key: str, value: Any, path: Path, here: _Map) -> UnreadKey | None:
    """Return a key that the definition does not have, if it looks like a placement constraint; None if the API server may keep it."""
    to = (*path, key)
    if isinstance(here.type_, Struct):
        # Keys that Kubernetes does not have either are reported with the constraint.
        return UnreadKey(to, value, here.names, None, None, True) if key in here.type_.fields and not here.keeps else None
    is_listed = key in here.shapes or key in here.steps
    if is_listed and here.keeps:
        return None
    home = _home(key, value, path, here)
    meant = _meant(key, frozenset((*here.shapes, *here.steps))) if home is None and not is_listed else None
    if meant is not None and not _fits(meant, value, here):
        meant = None
    if here.keeps:
        return UnreadKey(to, value, here.known(), meant, home, False, here.is_pod_spec) if home is not None or meant is not None else None
    if home is None and meant is None and key not in _PLACEMENT_NAMES:
        if not _has_constraints(to, value):
            return None
        meant = _meant(key, here.names)
    return UnreadKey(to, value, here.known(), meant, home, True, here.is_pod_spec)


def _home(key: str, value: Any, path: Path, here: _Map) -> Path | None:
    """Return the path of the affinity in the same map to which a key belongs, such as ``nodeAffinity`` next to Percona's ``advanced``."""
    if key not in AFFINITY_FIELDS or shape_of(key, value) != key:
        return None
    return next(((*path, name) for name, shape in here.shapes.items() if shape == "affinity"), None)


def _fits(name: str, value: Any, here: _Map) -> bool:
    """Return whether a value has the shape of a field with placement constraints, or of the map that contains them."""
    if name in here.shapes:
        return shape_of(name, value) == here.shapes[name]
    below = here.steps[name]
    items = below.steps.get(EACH)
    if items is not None:
        return type(value) is list or type(value) is dict
    return type(value) is dict and (name in _PLACEMENT_NAMES or not (below.shapes.keys() | below.steps.keys()).isdisjoint(value))


def _has_constraints(path: Path, value: Any) -> bool:
    if type(value) is not dict and type(value) is not list:
        return False
    return next(iter(holders_in({path[-1]: value}, path[:-1])), None) is not None


@lru_cache(maxsize=4096)
def _meant(key: str, names: frozenset[str]) -> str | None:
    return next((each for each in sorted(names) if is_likely_typo(key, each)), None)
