"""Nodes from files: dumps (`kubectl get nodes -o yaml` or `-o json`), single Node manifests, and short lists written by hand.

A hand-written list is a document with the key ``nodes``:

    nodes:
      - {name: worker-1, labels: {topology.kubernetes.io/zone: a}}
      - {name: worker-2, labels: {topology.kubernetes.io/zone: b}, taints: ["dedicated=db:NoSchedule"], unschedulable: true}

There the label kubernetes.io/hostname is the name unless it is given. Where workloads ask for an operating system or architecture,
and no node of the inventory says what it has, it is taken to be linux and amd64: see ``with_kubelet_labels``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from afflint.findings.errors import UserError
from afflint.findings.finding import NO_FILE, FileId, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import plain, type_name
from afflint.kube.decoding import InventoryError
from afflint.kube.kinds import NAMES
from afflint.kube.node_labels import HOSTNAME
from afflint.manifests.reader import manifests_in
from afflint.pools.kinds import lists_machines
from afflint.scheduler.nodes import Node, read_node
from afflint.source.sources import Source, read_bytes, without_links
from afflint.yaml import documents
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import metadata_of
from afflint.yaml.prefilter import Reading, Triage


class NodeFileError(UserError):
    """A file of nodes that cannot be used. The message names file, line and column."""


class NodeFact(NamedTuple):
    """A node as the scheduler sees it, and its position. ``labels_path`` is the path of its labels."""

    site: Site
    labels_path: Path
    node: Node
    declared: bool = False
    """Whether it is in a list written by hand, so that kubelets and operators may add labels to it."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def labels(self) -> dict[str, str]:
        return self.node.labels


KUBELET_LABELS = {
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
}
"""Labels that kubelets set, with their most common values."""


class ParsedFiles:
    """The files of an inventory, each read and parsed once."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str, bytes | None], tuple[Document, ...]] = {}
        self._long: dict[tuple[bytes, int, int], Document] = {}

    def read(self, raw_bytes: bytes, index: int, line: int) -> Document:
        """Return a document like ``documents.read``: of a dump, the one that has been read already."""
        if len(raw_bytes) < _LONG:
            return documents.read(raw_bytes, index, line)
        key = raw_bytes, index, line
        if key not in self._long:
            self._long[key] = documents.read(*key)
        return self._long[key]

    def documents(self, source: Source) -> tuple[Document, ...]:
        """Return the documents of a file. Raises NodeFileError."""
        identity = source.path, source.name, source.data
        known = self._documents.get(identity)
        if known is None:
            known = self._documents[identity] = tuple(documents_of(source.name, bytes_of(source), reading=self.read))
        return known


_LONG = 100_000
"""Bytes of a document that is worth keeping."""


def are_whole(nodes: Iterable[NodeFact]) -> bool:
    """Return whether nodes are declared, or have the labels of a running kubelet: a Node in a manifest may only add some labels."""
    return all(each.declared or HOSTNAME in each.labels for each in nodes)


def nodes_of(sources: Mapping[FileId, Source], *, resources: bool = False, parsed: ParsedFiles | None = None) -> list[NodeFact]:
    """Return the nodes in some files, with their allocatable resources if ``resources`` is true. Raises NodeFileError, also for duplicates.

    A link to one of the files is ignored. ``parsed`` has the files that are read already.
    """
    names: dict[str, str] = {}
    parsed = parsed or ParsedFiles()
    return [
        node._replace(site=node.site._replace(file=file))
        for file, source in without_links(sources).items()
        for node in _read_nodes(source.name, parsed.documents(source), names, resources=resources)
    ]


def bytes_of(source: Source) -> bytes:
    """Return the content of a file of the inventory. Raises NodeFileError."""
    try:
        return read_bytes(source)
    except IsADirectoryError:
        raise NodeFileError(f"{source.name}: is a directory, but a file is required; name the files in it instead") from None
    except OSError as error:
        raise NodeFileError(f"{source.name}: cannot be read: {error.strerror or error}") from None


def documents_of(name: str, data: bytes, kinds: Collection[str] = NAMES, reading: Reading = documents.read) -> Iterator[Document]:
    """Yield the documents of a file that may have objects of some kinds. Raises NodeFileError for one that cannot be read."""
    try:
        text = documents.to_utf8(data)
    except UnicodeDecodeError as error:
        raise NodeFileError(f"{name}:1:1: broken UTF-16: {error.reason}") from None
    for document in Triage(frozenset(kinds)).documents(text, named=True, reading=reading):
        if document.problem is not None:
            span = document.problem.span
            raise NodeFileError(f"{name}:{span.line}:{span.column}: {document.problem.message}")
        yield document


def _read_nodes(name: str, parsed: Sequence[Document], files: dict[str, str], *, resources: bool) -> list[NodeFact]:
    """Return the nodes in a file, and add them to ``files``, the files of all nodes. Raises NodeFileError for none, and for duplicates."""
    found: list[NodeFact] = []
    for document in parsed:
        for node in _nodes_in(document, name, resources=resources):
            if node.name in files:
                raise _twice(document, name, node, files[node.name])
            files[node.name] = name
            found.append(node)
    if not found and not _declare_pools(parsed):
        raise NodeFileError(
            f"{name}:1:1: no nodes in this file: expected Node objects, a List of them, a list under `nodes:`, or node pools"
        )
    return found


def has_nodes(name: str, data: bytes) -> bool:
    """Return whether a file has nodes or declares node pools. Raises NodeFileError for one that cannot be read."""
    found = (node for document in documents_of(name, data) for node in _nodes_in(document, name, resources=False))
    return next(found, None) is not None or declares_pools(name, data)


def declares_pools(name: str, data: bytes) -> bool:
    """Return whether a file declares node pools, or completes some. Raises NodeFileError."""
    return _declare_pools(documents_of(name, data))


def _declare_pools(parsed: Iterable[Document]) -> bool:
    from afflint.pools.reader import pools_in

    return any(True for document in parsed for _ in pools_in(document))


def is_short_list(data: Any) -> bool:
    """Return whether a document is a list of nodes written by hand."""
    return type(data) is dict and "kind" not in data and type(data.get("nodes")) is list and not lists_machines(data)


def with_kubelet_labels(nodes: Sequence[NodeFact], asked: Iterable[str]) -> list[NodeFact]:
    """Return the nodes with those KUBELET_LABELS that are required and that no node has: lists written by hand leave them out.

    A label that some nodes have is not added to the others: these really lack it.
    """
    carried = {key for node in nodes for key in node.labels}
    assumed = {key: KUBELET_LABELS[key] for key in sorted(KUBELET_LABELS.keys() & set(asked) - carried)}
    return [node._replace(node=node.node._replace(labels={**node.labels, **assumed})) for node in nodes] if assumed else list(nodes)


def refuse_object(name: str, document: Document, path: Path, error: InventoryError) -> NoReturn:
    """Raise NodeFileError for a malformed object."""
    raise _fault(document, name, path, str(error)) from None


def _twice(document: Document, name: str, node: NodeFact, other: str) -> NodeFileError:
    at = (*node.labels_path[:-1], "name")
    where = "above in this file" if other == name else f"in {other}"
    return _fault(document, name, at, f"duplicate node {node.name!r}: it is also defined {where}")


def _nodes_in(document: Document, name: str, *, resources: bool) -> Iterator[NodeFact]:
    if is_short_list(document.data):
        for index, entry in enumerate(document.data["nodes"]):
            yield _short(document, name, ("nodes", index), entry, resources=resources)
        return
    for manifest in manifests_in(document):
        if manifest.kind.name == "Node":
            yield _read(document, name, manifest.base, manifest.data, (*manifest.base, "metadata", "labels"), resources=resources)


def _read(document: Document, name: str, base: Path, data: dict[str, Any], labels_path: Path, *, resources: bool) -> NodeFact:
    labels = metadata_of(data).get("labels")
    for key, value in labels.items() if type(labels) is dict else ():
        if value is not None and type(value) is not str:
            instead = f"{plain(value)[:40]}: put it in quotes" if type(value) in (int, float, bool) else type_name(value)
            raise _fault(document, name, (*labels_path, key), f"the node label {key!r} must be a string, not {instead}")
    try:
        node = read_node(data, resources=resources)
    except InventoryError as error:
        refuse_object(name, document, base, error)
    return NodeFact(Site(NO_FILE, document.index, base), labels_path, node)


_SHORT_FIELDS = frozenset(("name", "labels", "taints", "unschedulable", "allocatable"))


def _short(document: Document, name: str, base: Path, entry: Any, *, resources: bool) -> NodeFact:
    if type(entry) is not dict:
        raise _fault(document, name, base, "an entry of `nodes` must be a mapping with a `name`")
    unknown = sorted(entry.keys() - _SHORT_FIELDS)
    if unknown:
        raise _fault(
            document,
            name,
            (*base, unknown[0]),
            f"unknown field {unknown[0]!r}; the fields of a node are {', '.join(sorted(_SHORT_FIELDS))}",
        )
    taints, labels = entry.get("taints"), entry.get("labels")
    if type(labels) is dict or labels is None:
        # Every kubelet sets this label, and users leave it out.
        labels = {HOSTNAME: entry.get("name"), **(labels or {})}
    whole = {
        "metadata": {"name": entry.get("name"), "labels": labels},
        "spec": {
            "taints": [_taint(each) for each in taints] if type(taints) is list else taints,
            "unschedulable": entry.get("unschedulable"),
        },
        "status": {"allocatable": entry.get("allocatable")},
    }
    return _read(document, name, base, whole, (*base, "labels"), resources=resources)._replace(declared=True)


def _taint(text: Any) -> Any:
    """``key=value:effect`` or ``key:effect``, as kubectl writes taints; anything else is left to be read as an object."""
    if type(text) is not str:
        return text
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _fault(document: Document, name: str, path: Path, message: str) -> NodeFileError:
    span = document.locate(path)
    return NodeFileError(f"{name}:{span.line}:{span.column}: {message}")
