"""The object at a position: the manifest and the path at a place of a document, its selectors, and its pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.findings.paths import Path
from afflint.index.facts import Pods, SelectorRef
from afflint.index.manifest_index import covers
from afflint.kube.manifests import Manifest, Workload
from afflint.lsp.indexer.document import IndexedDocument
from afflint.yaml.cursor import cursor_at


def manifest_at(document: IndexedDocument, line: int, column: int) -> tuple[Manifest, Path] | None:
    """Return the manifest at a position, counted from 1, and the path of the value there."""
    parsed = document.parsed.document(line)
    if parsed is None:
        return None
    path = cursor_at(parsed, line, column).path
    return next(_containing(document.parsed.manifests(parsed), path), None)


def _containing(manifests: Iterable[Manifest], path: Path) -> Iterator[tuple[Manifest, Path]]:
    """Yield the manifests that contain a path; those whose pod template contains it come first."""
    candidates = [each for each in manifests if path[: len(each.base)] == each.base]
    candidates.sort(key=lambda each: not (isinstance(each, Workload) and path[: len(each.template_path)] == each.template_path))
    for each in candidates:
        yield each, path


def selectors_in(document: IndexedDocument, manifest: Manifest) -> list[SelectorRef]:
    """Return the selectors in the current version of a manifest, as a run would collect them."""
    from afflint.index.facts import facts_of

    selectors = [each for each in facts_of(manifest) if isinstance(each, SelectorRef)]
    state, file = document.workspace.state, document.file
    if state is None or file is None:
        return selectors
    folder = state.reduced.files.folder(file)
    return [each._replace(site=each.site._replace(file=file, folder=folder)) for each in selectors]


def pods_at(document: IndexedDocument, manifest: Manifest, path: Path) -> list[Pods]:
    """Return the pods of the last run whose labels or whose object is at a path of a document."""
    state = document.workspace.state
    manifest_index = None if state is None else state.reduced.manifest_index
    return [] if manifest_index is None else [each for each in manifest_index.pods if _is_at(each, document, manifest.document.index, path)]


def _is_at(pods: Pods, document: IndexedDocument, index: int, path: Path) -> bool:
    """Return whether a path is in the metadata of the pod template or of the object of some pods."""
    if pods.site.file != document.file or pods.site.document != index:
        return False
    places = ((*pods.template_path, "metadata"), (*pods.site.base, "metadata"), (*pods.site.base, "kind"))
    return any(path[: len(each)] == each for each in places)


def selects(reach: SelectorRef, pods: Pods) -> bool:
    """Return whether a selector matches some pods, in a namespace that it covers."""
    return covers(reach, pods.namespace) and pods.pod_labels.some(reach.selector)
