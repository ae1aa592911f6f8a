"""From files to what `afflint place` needs: the nodes, what runs already, and the workloads that are to be placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afflint.kube.kinds import NAMES, Kind
from afflint.kube.manifests import Manifest, Workload, manifests_in
from afflint.node_files import NodeFact, NodeFileError, check_names, is_node_list, read_nodes
from afflint.placement.arrangement import Inventory
from afflint.placement.replicas import PodMaker, pod_maker
from afflint.reading import documents
from afflint.reading.sources import Source, read_bytes
from afflint.reading.triage import Triage

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

    With ``resources`` what pods request and what nodes have counts as well.
    Raises NodeFileError when there are no nodes, or something that can be none.
    """
    nodes = [node for source in node_files for node in read_nodes(source.name, _bytes(source))]
    reader = _Reader(custom)
    makers: list[PodMaker] = []
    beside: dict[str, list[Any]] = {"namespaces": [], "services": []}
    for source in sources:
        data = _bytes(source)
        if is_node_list(data):
            nodes += read_nodes(source.name, data)
            continue
        for manifest in reader.manifests(source.name, data):
            if isinstance(manifest, Workload):
                makers += _maker(manifest, source.name, resources)
            elif manifest.kind.name in _BESIDE and not manifest.kind.template:
                beside[_BESIDE[manifest.kind.name]].append(manifest.data)
        nodes += reader.take_nodes()
    if not nodes:
        raise NodeFileError(
            "no nodes: name a dump of the nodes with --nodes FILE (`kubectl get nodes -o yaml`), or put it beside the manifests"
        )
    check_names(nodes)
    running = [
        manifest.data for source in pod_files for manifest in reader.manifests(source.name, _bytes(source)) if manifest.kind.name == "Pod"
    ]
    return Stage(Inventory([node.data for node in nodes], running, **beside, resources=resources), tuple(makers), tuple(reader.problems))


def _maker(workload: Workload, file: str, resources: bool) -> Iterator[PodMaker]:
    maker = pod_maker(workload, file, resources=resources)
    if maker is not None:
        yield maker


def _bytes(source: Source) -> bytes:
    try:
        return documents.to_utf8(read_bytes(source))
    except OSError as error:
        raise NodeFileError(f"{source.name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise NodeFileError(f"{source.name}:1:1: broken UTF-16: {error.reason}") from None


class _Reader:
    """Manifests out of files, with what could not be read and the nodes met on the way."""

    def __init__(self, custom: Iterable[Kind]) -> None:
        self._custom = {(kind.group, kind.name): kind for kind in custom}
        self._triage = Triage((*NAMES, *(kind.name for kind in self._custom.values())))
        self._nodes: list[NodeFact] = []
        self.problems: list[str] = []

    def manifests(self, name: str, data: bytes) -> Iterator[Manifest]:
        has_nodes = False
        for document in self._triage.documents(data):
            if document.problem is not None:
                span = document.problem.span
                self.problems.append(f"{name}:{span.line}:{span.column}: {document.problem.message}")
                continue
            for manifest in manifests_in(document, self._custom):
                has_nodes = has_nodes or manifest.kind.name == "Node"
                yield manifest
        if has_nodes:
            self._nodes += read_nodes(name, data)

    def take_nodes(self) -> list[NodeFact]:
        nodes, self._nodes = self._nodes, []
        return nodes
