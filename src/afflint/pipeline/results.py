"""What the map step told of a file as plain data, and the key by which it is found again: for whoever keeps results or sends them."""

from __future__ import annotations

from hashlib import blake2b

from afflint.findings.codec import Codec, PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.yaml.prefilter import in_template_folder, is_values_file

ELSEWHERE = {
    "NamespaceAnnotations": "afflint.index.cluster_objects",
    "Budget": "afflint.controllers.budgets",
    "CustomKind": "afflint.kube.catalogue",
    "KubeVirtObject": "afflint.index.cluster_objects",
    "Namespace": "afflint.scheduler.namespaces",
    "Obstacle": "afflint.controllers.migratability",
    "PoolPart": "afflint.pools.pool",
    "PodSource": "afflint.controllers.pod_source",
    "Pool": "afflint.pools.pool",
    "Scaler": "afflint.index.cluster_objects",
    "Service": "afflint.scheduler.namespaces",
    "SymbolicEdit": "afflint.findings.edits",
    "Suppression": "afflint.pipeline.suppressions",
    "Unusable": "afflint.index.cluster_objects",
}
"""Where the types are that others name only for the type checker."""

KEY_SIZE = 20

RESULTS = Codec(FileResult, ELSEWHERE)
"""Results as plain data."""


class ResultEntry(NamedTuple):
    """A result by its key, as plain data; without text, one that is kept and was used."""

    key: bytes
    text: bytes | None


def entry(key: bytes, result: FileResult) -> ResultEntry | None:
    """A result to be kept; None for one that JSON cannot hold."""
    try:
        return ResultEntry(key, RESULTS.encode(result))
    except PlainError:
        return None


def checksum(data: bytes) -> bytes:
    """What stands for the bytes of a file in keys."""
    return blake2b(data, digest_size=KEY_SIZE).digest()


class Keys:
    """The keys of results that were made with these settings by one afflint: checksums of all that decides what is found in a file.

    ``made_by`` says which afflint that is. The same goes in on every machine, unless ``made_by`` says otherwise.
    """

    def __init__(self, settings: MapSettings, *made_by: object) -> None:
        self._settings = blake2b(repr([*made_by, *_deciding(settings)]).encode("utf-8", "surrogatepass"), digest_size=32).digest()

    def key(self, name: str, content: bytes) -> bytes:
        """What a result is known by: that of a file with this name and bytes of this checksum."""
        # Of the name, only this can matter: see `Checker.check`.
        kind = b"t" if in_template_folder(name) else b"v" if is_values_file(name) else b"f"
        return blake2b(kind + content, digest_size=KEY_SIZE, key=self._settings).digest()

    @property
    def settings(self) -> str:
        """The settings as a checksum: the same for the same."""
        return self._settings.hex()


def _deciding(settings: MapSettings) -> list[object]:
    """All that decides, besides the bytes and afflint itself, what is found in a file."""
    target = settings.target
    parts: list[object] = [(each.name, each.rule.fix, *([each.policy] if each.policy else [])) for each in settings.rules]
    parts += settings.policies
    parts += [target.version, sorted(target.feature_gates), sorted(target.admission_plugins), target.complete, sorted(target.known_labels)]
    return [*parts, *settings.custom, settings.inventory, settings.resources, settings.host_key, *settings.learnt]
