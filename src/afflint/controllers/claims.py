"""The access modes of the PersistentVolumeClaims that workloads use, as far as the manifests show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import name_of
from afflint.yaml.placeholders import is_placeholder

CLAIM, VOLUME = "PersistentVolumeClaim", "DataVolume"


def template_claims(workload: Workload) -> dict[str, tuple[str, ...]]:
    """Return the access modes of the claims that a VirtualMachine creates from its dataVolumeTemplates, by claim name."""
    spec = workload.above(1) if workload.kind.kubevirt and workload.has_own_template else {}
    modes_by_name = {name_of(each): access_modes(VOLUME, each) for each in maps_at(spec, "dataVolumeTemplates")}
    return {name: modes for name, modes in modes_by_name.items() if name and modes}


SHARED = "ReadWriteMany"


def claim_names(workload: Workload) -> tuple[str, ...]:
    """Return the names of the claims that the pods of a workload use; for a StatefulSet, those of its volumeClaimTemplates.

    Ephemeral claims are left out, because they are deleted with their pod, and so are templates whose volumes nodes can share.
    """
    volumes = maps_at(workload.pod, "volumes")
    names = [text_at(each, "persistentVolumeClaim", "claimName") or text_at(each, "dataVolume", "name") for each in volumes]
    templates = maps_at(workload.spec, "volumeClaimTemplates") if workload.kind.name == "StatefulSet" else []
    from_templates = [name_of(each) for each in templates if SHARED not in access_modes(CLAIM, each)]
    return tuple(dict.fromkeys(filter(None, [*names, *from_templates])))


def access_modes(kind: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the access modes that a claim requests, or that a DataVolume requests for its claim; empty if they are not certain."""
    spec = map_at(data, "spec")
    return _of_claim(map_at(spec, "pvc")) or _of_claim(map_at(spec, "storage")) if kind == VOLUME else _of_claim(spec)


def _of_claim(spec: Mapping[str, Any]) -> tuple[str, ...]:
    modes = spec.get("accessModes")
    sure = type(modes) is list and all(type(each) is str and not is_placeholder(each) for each in modes)
    return tuple(modes) if sure and modes else ()
