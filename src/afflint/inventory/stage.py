"""From files to what `afflint place` needs: the nodes, what runs already, and the workloads that are to be placed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afflint.controllers.replicas import PodMaker, pod_maker
from afflint.findings import Path
from afflint.inventory.node_files import KUBELET_LABELS, NodeFact, NodeFileError, is_node_list, read_nodes, texts, with_kubelet_labels
from afflint.kube.kinds import NAMES, Kind
from afflint.kube.manifests import Manifest, Workload, manifests_in
from afflint.placement import Cluster, InventoryError
from afflint.placement.arrangement import Inventory
from afflint.reading import documents
from afflint.reading.sources import STDIN, Source, read_bytes
from afflint.reading.triage import Triage
from afflint.scheduler.pods import read_pod

_BESIDE = {"Namespace": "namespaces", "Service": "services"}


class Stage(NamedTuple):
    """Everything to make a plan from. ``problems`` are documents that could not be read: ``file:line:column: message``."""

    inventory: Inventory
    makers: tuple[PodMaker, ...]
    problems: tuple[str, ...]


def stage(
    sources: Sequence[Source],
    node_files: Sequence[Source],
    pod_files: Sequence[Source],
    custom: Sequence[Kind] = (),
    *,
    resources: bool = False,
) -> Stage:
    """Read the workloads (and nodes) in ``sources``, the nodes in ``node_files`` and the running pods in ``pod_files``.

    Nodes among the sources count where no file of nodes is named. With ``resources`` what pods request and what nodes have counts.

    Raises NodeFileError when there are no nodes, something that can be none, or pods that can be none.
    """
    nodes: list[NodeFact] = []
    for source in _each_once(node_files):
        nodes += read_nodes(source.name, _bytes(source), nodes)
    running_files = {_identity(source) for source in pod_files}
    reader = _Reader(custom, resources)
    makers: dict[str, PodMaker] = {}
    beside: dict[str, list[Any]] = {"namespaces": [], "services": []}
    for source in sources:
        if _identity(source) in running_files:
            continue
        data = _bytes(source)
        has_nodes = is_node_list(data)
        for manifest in reader.manifests(source.name, data):
            has_nodes = has_nodes or manifest.kind.name == "Node"
            if isinstance(manifest, Workload):
                _add(makers, reader.maker(manifest, source.name))
            elif manifest.kind.name in _BESIDE and not manifest.kind.template and reader.is_sound(manifest, source.name):
                beside[_BESIDE[manifest.kind.name]].append(manifest.data)
        if has_nodes and not node_files:
            nodes += read_nodes(source.name, data, nodes)
    if not nodes:
        raise NodeFileError(
            "no nodes: name a dump of the nodes with --nodes FILE (`kubectl get nodes -o yaml`), or put it beside the manifests"
        )
    running = [pod for source in pod_files for pod in _running(source, resources)]
    asked = {maker.key: KUBELET_LABELS.keys() & set(texts(dict(maker.pod))) for maker in makers.values()}
    labelled = with_kubelet_labels(nodes, {key for keys in asked.values() for key in keys})
    assumed = labelled[0].labels.keys() - nodes[0].labels.keys()
    noted = tuple([_noted(maker, sorted(assumed & asked[maker.key])) for maker in makers.values()])
    inventory = Inventory([node.data for node in labelled], running, beside["namespaces"], beside["services"], resources=resources)
    return Stage(inventory, noted, tuple(reader.problems))


def _noted(maker: PodMaker, assumed: Iterable[str]) -> PodMaker:
    """The workload, with a note for each label that it asks for and that no node says anything about."""
    notes = [f"no node carries {key}, so all are taken to have {key}={KUBELET_LABELS[key]}" for key in assumed]
    return maker._replace(notes=(*maker.notes, *notes)) if notes else maker


def _add(makers: dict[str, PodMaker], maker: PodMaker | None) -> None:
    """Of objects that a cluster would take for one and the same the first counts, and says where the other stands."""
    if maker is None:
        return
    first = makers.setdefault(maker.key, maker)
    if first is not maker:
        note = f"it is there again in {maker.file}:{maker.line}, which is left out here"
        makers[maker.key] = first._replace(notes=(*first.notes, note))


def _identity(source: Source) -> str:
    return source.path if source.path == STDIN else os.path.realpath(source.path)


def _each_once(sources: Iterable[Source]) -> list[Source]:
    return list({_identity(source): source for source in sources}.values())


def _bytes(source: Source) -> bytes:
    try:
        return documents.to_utf8(read_bytes(source))
    except OSError as error:
        raise NodeFileError(f"{source.name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise NodeFileError(f"{source.name}:1:1: broken UTF-16: {error.reason}") from None


def _running(source: Source, resources: bool) -> Iterator[dict[str, Any]]:
    """The pods in a dump of what runs. Raises NodeFileError for a file that is no such dump."""
    data = _bytes(source)
    reader = _Reader((), resources)
    found = False
    for manifest in reader.manifests(source.name, data):
        if manifest.kind.name == "Pod" and reader.is_sound(manifest, source.name):
            found = True
            yield manifest.data
    if reader.problems:
        raise NodeFileError(reader.problems[0])
    if not found and not _is_list(data):
        raise NodeFileError(f"{source.name}:1:1: no pods in this file: expected what `kubectl get pods -A -o yaml` prints")


def _is_list(data: bytes) -> bool:
    """Whether a file holds a list of objects, which may well be empty."""
    for piece, line, _ in documents.split(data):
        document = documents.read(piece, 0, line)
        if type(document.data) is dict and str(document.data.get("kind")) in ("List", "PodList"):
            return True
    return False


class _Reader:
    """Manifests out of files, with what could not be read."""

    def __init__(self, custom: Iterable[Kind], resources: bool = False) -> None:
        self._custom = {(kind.group, kind.name): kind for kind in custom}
        self._triage = Triage((*NAMES, *(kind.name for kind in self._custom.values())))
        self._resources = resources
        self.problems: list[str] = []

    def manifests(self, name: str, data: bytes) -> Iterator[Manifest]:
        for document in self._triage.documents(data):
            if document.problem is not None:
                span = document.problem.span
                self.problems.append(f"{name}:{span.line}:{span.column}: {document.problem.message}")
            else:
                yield from manifests_in(document, self._custom)

    def maker(self, workload: Workload, name: str) -> PodMaker | None:
        """What the object says about its pods. That they can be no pods is one of the problems."""
        maker = pod_maker(workload, name, resources=self._resources)
        if maker is not None:
            metadata = {"name": maker.name, "namespace": maker.namespace, "labels": maker.labels}
            try:
                read_pod({"metadata": metadata, "spec": dict(maker.pod)})
            except InventoryError as error:
                self._problem(workload, maker.pod_path, name, error)
        return maker

    def _problem(self, manifest: Manifest, path: Path, name: str, error: InventoryError) -> None:
        span = manifest.document.locate(path)
        self.problems.append(f"{name}:{span.line}:{span.column}: {error}")

    def is_sound(self, manifest: Manifest, name: str) -> bool:
        """Whether an object can be what it stands for; if not, that is one of the problems."""
        kind = manifest.kind.name
        objects: dict[str, Any] = {"pods" if kind == "Pod" else _BESIDE[kind]: [manifest.data]}
        try:
            Cluster([], **objects, resources=self._resources)
        except InventoryError as error:
            self._problem(manifest, manifest.base, name, error)
            return False
        return True
