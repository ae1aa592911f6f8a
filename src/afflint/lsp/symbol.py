"""What is pointed at: the manifest and the path at a place of a document, its selectors, and the pods that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.findings.finding import Path
from afflint.index.facts import Pods, SelectorRef
from afflint.index.manifest_index import covers
from afflint.kube.manifests import Manifest, Workload
from afflint.lsp.indexer.document import IndexedDocument
from afflint.yaml.cursor import cursor_at


def at(document: IndexedDocument, line: int, column: int) -> tuple[Manifest, Path] | None:
    """The manifest at a place, counted from 1, and the path of what lies there."""
    parsed = document.parsed.document(line)
    if parsed is None:
        return None
    path = cursor_at(parsed, line, column).path
    return next(_holding(document.parsed.manifests(parsed), path), None)


def _holding(manifests: Iterable[Manifest], path: Path) -> Iterator[tuple[Manifest, Path]]:
    """The manifests that a path lies in, those first in whose own pods it lies."""
    inside = [each for each in manifests if path[: len(each.base)] == each.base]
    inside.sort(key=lambda each: not (isinstance(each, Workload) and path[: len(each.template_path)] == each.template_path))
    for each in inside:
        yield each, path


def reaches_of(document: IndexedDocument, manifest: Manifest) -> list[SelectorRef]:
    """The selectors in a manifest as it is now, as a run would have them."""
    from afflint.index.facts import facts_of

    found = [each for each in facts_of(manifest) if isinstance(each, SelectorRef)]
    state, file = document.overview.state, document.file
    if state is None or file is None:
        return found
    folder = state.gathered.files.folder(file)
    return [each._replace(site=each.site._replace(file=file, folder=folder)) for each in found]


def pods_at(document: IndexedDocument, manifest: Manifest, path: Path) -> list[Pods]:
    """The pods of the last run whose labels, or whose object, a path of a document is about."""
    state = document.overview.state
    manifest_index = None if state is None else state.gathered.manifest_index
    return [] if manifest_index is None else [each for each in manifest_index.pods if _is_at(each, document, manifest.document.index, path)]


def _is_at(pods: Pods, document: IndexedDocument, index: int, path: Path) -> bool:
    """Whether a path lies in what is said of some pods: in the metadata of their template, or of their object."""
    if pods.site.file != document.file or pods.site.document != index:
        return False
    places = ((*pods.template_path, "metadata"), (*pods.site.base, "metadata"), (*pods.site.base, "kind"))
    return any(path[: len(each)] == each for each in places)


def selects(reach: SelectorRef, pods: Pods) -> bool:
    """Whether a selector matches some pods, in a namespace that it covers."""
    return covers(reach, pods.namespace) and pods.pod_labels.some(reach.selector)
