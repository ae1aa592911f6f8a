"""Checks of PersistentVolumes and StorageClasses by themselves, from manifests alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.checks.volumes import IMMEDIATE, affinity_place, binding_mode, is_on_one_host, volume_uses
from afflint.findings.finding import Severity
from afflint.findings.paths import Path
from afflint.findings.phrases import pluralize, quoted
from afflint.index.manifest_index import ManifestIndex
from afflint.index.storage import PERSISTENT_VOLUME, STORAGE_CLASS, StorageObject
from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.node_labels import DEPRECATED, ZONE
from afflint.kube.selectors import Malformed, parse_node_term
from afflint.storage.topology import NO_PROVISIONER, topology_of
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.placeholders import is_placeholder

_OWN_KEY_ONLY = ("pd.csi.storage.gke.io", "disk.csi.azure.com")
"""Drivers that know zones only by a label of their own."""


def immediate_local_volume(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report StorageClasses for local volumes that bind a claim before the scheduler has placed its pod."""
    storage = manifest_index.storage
    for storage_class in storage.of_kind(STORAGE_CLASS):
        if text_at(storage_class.data, "provisioner") != NO_PROVISIONER or binding_mode(storage_class) != IMMEDIATE:
            continue
        volumes = [each for each in storage.of_kind(PERSISTENT_VOLUME) if text_at(each.spec, "storageClassName") == storage_class.name]
        places = {each.usable_nodes for each in volumes}
        if len(places - {None}) < 2:
            continue  # They are on one node, or on any.
        message = (
            f"a claim of {storage_class.title} is bound to any of its {pluralize(len(volumes), 'volume')} before its pod is scheduled, "
            "although they are on different nodes: the pod may then never run"
        )
        field = "volumeBindingMode" if "volumeBindingMode" in storage_class.data else "provisioner"
        related = tuple([affinity_place(each, f"the nodes of {each.title}") for each in volumes[:2]])
        remedy = "Set `volumeBindingMode: WaitForFirstConsumer`; the field cannot be changed, so the StorageClass must be created again."
        yield _at(storage_class, (*storage_class.site.base, field), message, remedy, related)


def ignored_volume_affinity(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report node affinity of volumes that consists of `matchFields`, which the scheduler ignores for volumes."""
    for volume in manifest_index.storage.of_kind(PERSISTENT_VOLUME):
        for index, term in enumerate(maps_at(volume.spec, "nodeAffinity", "required", "nodeSelectorTerms")):
            if term.get("matchFields") and not term.get("matchExpressions"):
                path = (*volume.site.base, "spec", "nodeAffinity", "required", "nodeSelectorTerms", index, "matchFields")
                message = f"the node affinity of a volume ignores matchFields, so {volume.title} can be used on every node"
                yield _at(volume, path, message, key=True)


def missing_volume_affinity(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report local volumes without node affinity, and hostPath volumes for pods that may run on several nodes."""
    used = {volume.name: each for each in volume_uses(manifest_index, target) for volume in each.volumes}
    for volume in manifest_index.storage.of_kind(PERSISTENT_VOLUME):
        if map_at(volume.spec, "nodeAffinity", "required"):
            continue
        base = (*volume.site.base, "spec")
        if map_at(volume.spec, "local"):
            message = f"{volume.title} is a local volume, and the API server rejects local volumes without `nodeAffinity`"
            yield _at(volume, (*base, "local"), message, severity="error", key=True)
        elif map_at(volume.spec, "hostPath") and volume.name in used and not is_on_one_host(used[volume.name].user):
            each = used[volume.name]
            message = (
                f"{volume.title} is a folder of each node, and {each.user.title} may run on any node: "
                "after a move to another node its pods find another folder"
            )
            yield _at(volume, (*base, "hostPath"), message, severity="info", key=True)


def invalid_volume_topology(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report node affinity of volumes and allowed topologies of StorageClasses that the API server rejects.

    Semantics: validateVolumeNodeAffinity (pkg/apis/core/validation) and validateAllowedTopologies (pkg/apis/storage/validation).
    """
    for volume in manifest_index.storage.of_kind(PERSISTENT_VOLUME):
        affinity, base = volume.spec.get("nodeAffinity"), (*volume.site.base, "spec", "nodeAffinity")
        if isinstance(affinity, dict):
            terms = maps_at(affinity, "required", "nodeSelectorTerms")
            if not terms:
                message = f"the API server rejects {volume.title}: `nodeAffinity` needs `required` with at least one node selector term"
                yield _at(volume, base, message, key=True)
            for index, term in enumerate(terms):
                parsed = parse_node_term(term)
                if isinstance(parsed, Malformed) and not _holds_placeholder(term, parsed.path):
                    yield _rejected(volume, (*base, "required", "nodeSelectorTerms", index, *parsed.path), parsed)
    for storage_class in manifest_index.storage.of_kind(STORAGE_CLASS):
        for path, fault in _topology_faults(storage_class):
            if not _holds_placeholder(storage_class.data, path):
                yield _rejected(storage_class, (*storage_class.site.base, *path), fault)


def _topology_faults(storage_class: StorageObject) -> Iterator[tuple[Path, Malformed]]:
    seen: list[object] = []
    for index, term in enumerate(maps_at(storage_class.data, "allowedTopologies")):
        if term in seen:
            yield ("allowedTopologies", index), Malformed((), "repeats an earlier term")
        seen.append(term)
        for number, expression in enumerate(maps_at(term, "matchLabelExpressions")):
            path = ("allowedTopologies", index, "matchLabelExpressions", number)
            key, values = expression.get("key"), expression.get("values")
            if not isinstance(key, str) or not is_key(key):
                yield (*path, "key"), Malformed(("key",), "is not a valid label key")
            if not isinstance(values, list) or not values:
                yield (*path, "values"), Malformed(("values",), "needs at least one value")
            elif len({str(value) for value in values}) < len(values):
                yield (*path, "values"), Malformed(("values",), "repeats a value")
            for place, value in enumerate(values if isinstance(values, list) else ()):
                if not isinstance(value, str) or not is_value(value):
                    yield (*path, "values", place), Malformed(("values", place), "is not a valid label value")


def _holds_placeholder(data: object, path: Path) -> bool:
    """Return whether the value at a path is a placeholder."""
    value = data
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return False
    texts = value if isinstance(value, list) else [value]
    return any(isinstance(text, str) and is_placeholder(text) for text in texts)


def _rejected(each: StorageObject, path: Path, fault: Malformed) -> CrossManifestMatch:
    field = next((step for step in reversed(path) if isinstance(step, str)), "")
    return _at(each, path, f"{quoted(field)} {fault.problem}, so the API server rejects {each.title}")


def unusable_allowed_topology(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report zone labels in `allowedTopologies` that the driver of the StorageClass does not know."""
    for storage_class in manifest_index.storage.of_kind(STORAGE_CLASS):
        provisioner = text_at(storage_class.data, "provisioner")
        own = topology_of({"provisioner": provisioner}).keys
        for index, term in enumerate(maps_at(storage_class.data, "allowedTopologies") if provisioner in _OWN_KEY_ONLY else ()):
            for number, expression in enumerate(maps_at(term, "matchLabelExpressions")):
                key = text_at(expression, "key")
                if key not in own and DEPRECATED.get(key, key) == ZONE:
                    path = (*storage_class.site.base, "allowedTopologies", index, "matchLabelExpressions", number, "key")
                    message = f"the driver {provisioner} does not know the label {quoted(key)}, so it provisions no volume of this class"
                    yield _at(storage_class, path, message, f"Write `{own[0]}`.")


def _at(
    each: StorageObject,
    path: Path,
    message: str,
    remedy: str = "",
    related: Sequence[RelatedPlace] = (),
    severity: Severity | None = None,
    *,
    key: bool = False,
) -> CrossManifestMatch:
    return CrossManifestMatch(each.site, each.ref, Match(path, message, remedy, key=key, related=tuple(related), severity=severity))
