"""Results of the map step as JSON, with their keys: for the cache and the workers of a cluster."""

from __future__ import annotations

from hashlib import blake2b

from afflint.findings.codec import Codec, PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.source.skipped_files import role_in
from afflint.source.sources import is_template, is_terraform
from afflint.yaml import terraform
from afflint.yaml.prefilter import in_template_folder, is_values_file

ELSEWHERE = {
    "NamespaceAnnotations": "afflint.index.cluster_objects",
    "SchedulerConfiguration": "afflint.index.scheduler_configurations",
    "Budget": "afflint.controllers.budgets",
    "CustomKind": "afflint.manifests.catalogue",
    "KubeVirtObject": "afflint.index.cluster_objects",
    "MaintenanceObject": "afflint.index.cluster_objects",
    "MutatingPolicy": "afflint.index.mutating_policies",
    "Namespace": "afflint.scheduler.namespaces",
    "Obstacle": "afflint.controllers.migratability",
    "PoolPart": "afflint.pools.pool",
    "PodSource": "afflint.controllers.pod_source",
    "Pool": "afflint.pools.pool",
    "Scaler": "afflint.index.cluster_objects",
    "Service": "afflint.scheduler.namespaces",
    "SymbolicEdit": "afflint.findings.edits",
    "Suppression": "afflint.pipeline.suppressions",
    "StorageObject": "afflint.index.storage",
    "Unusable": "afflint.index.cluster_objects",
    "VolumeUser": "afflint.index.storage",
}
"""The modules of types that annotations name but that are imported only for the type checker."""

KEY_SIZE = 20

RESULTS = Codec(FileResult, ELSEWHERE)
"""Encodes results of the map step as JSON."""


class ResultEntry(NamedTuple):
    """A result as JSON with its key; without text, a result that is in the cache and was used."""

    key: bytes
    text: bytes | None


def entry(key: bytes, result: FileResult) -> ResultEntry | None:
    """Return an entry for the cache; None if JSON cannot represent the result."""
    try:
        return ResultEntry(key, RESULTS.encode(result))
    except PlainError:
        return None


def checksum(data: bytes) -> bytes:
    """Return the checksum of the bytes of a file, as it is used in keys."""
    return blake2b(data, digest_size=KEY_SIZE).digest()


class Keys:
    """The keys of results: checksums of the bytes of a file and of all settings that affect its result.

    ``made_by`` identifies the installation of afflint. Keys are equal on all machines with equal ``made_by``.
    """

    def __init__(self, settings: MapSettings, *made_by: object) -> None:
        self._settings = blake2b(repr([*made_by, *_deciding(settings)]).encode("utf-8", "surrogatepass"), digest_size=32).digest()

    def key(self, name: str, content: bytes) -> bytes:
        """Return the key of the result of a file with this name and this checksum."""
        # Only these properties of the name affect the result, see `Checker.check`.
        if is_terraform(name):
            return blake2b((b"h" if terraform.is_available() else b"n") + content, digest_size=KEY_SIZE, key=self._settings).digest()
        kind = b"l" if is_template(name) else b"t" if in_template_folder(name) else b"v" if is_values_file(name) else b"f"
        return blake2b(role_in(name).encode() + kind + content, digest_size=KEY_SIZE, key=self._settings).digest()

    @property
    def settings(self) -> str:
        """The checksum of the settings."""
        return self._settings.hex()


def _deciding(settings: MapSettings) -> list[object]:
    """Return everything that affects the result of a file, except its bytes and afflint itself."""
    target = settings.target
    parts: list[object] = [(each.name, each.rule.fix, *([each.policy] if each.policy else [])) for each in settings.rules]
    parts += settings.policies
    parts += [target.version, sorted(target.feature_gates), sorted(target.admission_plugins), target.complete, sorted(target.known_labels)]
    parts += [*target.chart_sources, target.kubevirt_version]
    return [*parts, *settings.custom, settings.inventory, settings.resources, settings.lines, settings.host_key, *settings.learnt]
