"""Unknown fields and values of the wrong type in an object, computed once per object."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import Target
from afflint.findings.paths import Path
from afflint.kube.kinds import METADATA, is_listed
from afflint.kube.label_syntax import is_key
from afflint.kube.types import Mismatch
from afflint.kube.versions import as_of
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.object_fields import metadata_of
from afflint.yaml.placeholders import is_placeholder


def mismatches_of(manifest: Manifest, target: Target) -> tuple[Mismatch, ...]:
    """Return what the target cluster cannot decode in an object, without placeholders and the null values of patches."""
    mismatches = _mismatches(manifest, target)
    return tuple([each for each in mismatches if not _is_open(each, manifest)]) if mismatches else mismatches


def _is_open(mismatch: Mismatch, manifest: Manifest) -> bool:
    if mismatch.value is None and isinstance(manifest, Workload) and manifest.partial:
        return True  # In a patch it deletes the field.
    text = mismatch.value if mismatch.what == "type" else mismatch.path[-1]
    return type(text) is str and is_placeholder(text)


def _mismatches(manifest: Manifest, target: Target) -> tuple[Mismatch, ...]:
    """Return all mismatches; the object caches them because several rules share them."""
    if manifest.mismatches is None:
        root = manifest.kind.root
        if root is not None and not manifest.kind.kubevirt:
            root = as_of(root, target.version)
        if root is None:
            manifest.mismatches = (*_metadata_mismatches(manifest), *_custom_mismatches(manifest, target))
        else:
            # `fits` is fast, and nearly every manifest fits.
            manifest.mismatches = () if root.fits(manifest.data) else tuple(root.mismatches(manifest.data, manifest.base))
    return manifest.mismatches


def _metadata_mismatches(manifest: Manifest) -> Iterator[Mismatch]:
    """Yield the unknown fields in the metadata of an object whose own fields are not checked; see ``kube.resource_fields`` for others."""
    metadata = metadata_of(manifest.data)
    if not metadata.keys() <= METADATA.fields.keys() and is_listed(manifest.kind) and not _is_further(manifest):
        found = METADATA.mismatches(metadata, (*manifest.base, "metadata"))
        yield from (each for each in found if each.struct is METADATA)


def _is_further(manifest: Manifest) -> bool:
    """Return whether a workload is not the first of its object."""
    if not isinstance(manifest, Workload):
        return False
    place = manifest.template_path[len(manifest.base) :]
    return manifest.declared != manifest.kind.templates[0] or any(type(step) is int and step for step in place)


def _custom_mismatches(manifest: Manifest, target: Target) -> Iterator[Mismatch]:
    """Yield the mismatches in the placement fields of a custom resource's pod templates; its own fields are not checked."""
    if isinstance(manifest, Workload):
        for path, value, type_ in manifest.typed_values():
            for mismatch in type_.mismatches(value, path):
                if not (mismatch.is_scalar and manifest.converts_scalars) or _stays_scalar(manifest, mismatch.path, target):
                    yield mismatch


def _stays_scalar(workload: Workload, path: Path, target: Target) -> bool:
    """Return whether a chart writes a number or a boolean in its values into pods without quotes.

    This is certain at verified places. Elsewhere it is likely for a whole constraint and for the labels of a node, which nearly every chart
    writes as they are; in a node selector, a name without a domain may be a word of the chart instead, as in ``enabled: true``.
    """
    from afflint.charts.releases import is_in_values
    from afflint.checks.verified_places import verified_places
    from afflint.manifests.custom_resources import CustomWorkload

    verified = verified_places(workload, target)
    if verified is not None and verified.cover(path):
        return True
    part = workload.part_around(path) if isinstance(workload, CustomWorkload) and is_in_values(workload) else None
    name = str(path[-1])
    return part is not None and (part.shape != "nodeSelector" or ("/" in name and is_key(name)))


def is_metadata_malformed(manifest: Manifest, template: Path, target: Target) -> bool:
    """Return whether a pod template has a mismatch outside its spec, so that its labels cannot be relied on."""
    depth = len(template)
    return any(each.path[:depth] == template and each.path[depth : depth + 1] != ("spec",) for each in _mismatches(manifest, target))
