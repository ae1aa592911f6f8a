"""Nodes from files: dumps (`kubectl get nodes -o yaml` or `-o json`), single Node manifests, and short lists written by hand.

A hand-written list is a document with the key ``nodes``:

    nodes:
      - {name: worker-1, labels: {topology.kubernetes.io/zone: a}}
      - {name: worker-2, labels: {topology.kubernetes.io/zone: b}, taints: ["dedicated=db:NoSchedule"], unschedulable: true}

There the label kubernetes.io/hostname is the name unless it is given. Where workloads ask for an operating system or architecture,
and no node of the inventory says what it has, it is taken to be linux and amd64: see ``with_kubelet_labels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afflint.findings import Path, Site
from afflint.kube.manifests import manifests_in
from afflint.kube.node_labels import HOSTNAME
from afflint.reading import documents
from afflint.reading.documents import Document
from afflint.wording import plain, type_name


class NodeFileError(Exception):
    """A file of nodes that cannot be used. The message names file, line and column."""


class NodeFact(NamedTuple):
    """A node, as a Node object reduced to what placement reads, and where it stands. ``labels_path`` is the path of its labels."""

    site: Site
    labels_path: Path
    data: dict[str, Any]

    @property
    def name(self) -> str:
        """The node's name. Only for facts that read_nodes gave."""
        name: str = self.data["metadata"]["name"]
        return name

    @property
    def labels(self) -> dict[str, str]:
        return {key: value or "" for key, value in (self.data["metadata"].get("labels") or {}).items()}


KUBELET_LABELS = {
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
}
"""What a kubelet says about its node, and what it says nearly everywhere."""


def read_nodes(name: str, data: bytes, known: Sequence[NodeFact] = ()) -> list[NodeFact]:
    """The nodes in the bytes of one file. ``known`` are those of other files.

    Raises NodeFileError when it holds none, something that can be no node, or a node for the second time.
    """
    try:
        text = documents.to_utf8(data)
    except UnicodeDecodeError as error:
        raise NodeFileError(f"{name}:1:1: broken UTF-16: {error.reason}") from None
    found: list[NodeFact] = []
    files = {node.name: node.site.file for node in known}
    # In a file without any kind, empty documents count; elsewhere, as for all manifests, they do not.
    index, count_all = 0, is_node_list(text)
    for piece, line, problem in documents.split(text):
        document = documents.read(piece, index, line)
        index += count_all or not document.empty
        if problem is not None or document.problem is not None:
            span = document.problem.span if document.problem else None
            at = f"{span.line}:{span.column}" if span else f"{line}:1"
            raise NodeFileError(f"{name}:{at}: {document.problem.message if document.problem else problem}")
        for node in _nodes_in(document, name):
            if node.name in files:
                raise _twice(document, node, files[node.name])
            files[node.name] = name
            found.append(node)
    if not found:
        raise NodeFileError(f"{name}:1:1: no nodes in this file: expected Node objects, a List of them, or a list under `nodes:`")
    return found


def is_node_list(data: bytes) -> bool:
    """Whether a file looks like a list of nodes written by hand, which names no kind."""
    return (data.startswith(b"nodes:") or b"\nnodes:" in data) and not (data.startswith(b"kind:") or b"\nkind:" in data)


def check_names(nodes: list[NodeFact]) -> None:
    """Raises NodeFileError when two nodes have one name."""
    seen: dict[str, NodeFact] = {}
    for node in nodes:
        other = seen.setdefault(node.name, node)
        if other is not node:
            raise NodeFileError(f"{node.site.file}: node {node.name!r} is there twice (also in {other.site.file})")


def with_kubelet_labels(nodes: Sequence[NodeFact], asked: Iterable[str]) -> list[NodeFact]:
    """The nodes, with those of KUBELET_LABELS that are asked for and that none of them carries: lists written by hand leave them out.

    One that some nodes carry is left as it is: then the others really lack it.
    """
    carried = {key for node in nodes for key in node.labels}
    assumed = {key: KUBELET_LABELS[key] for key in sorted(KUBELET_LABELS.keys() & set(asked) - carried)}
    return [_labelled(node, assumed) for node in nodes] if assumed else list(nodes)


def texts(data: Any) -> Iterator[str]:
    """Every string in some data, keys included: what constraints may ask for."""
    if type(data) is str:
        yield data
    elif type(data) is dict:
        for key, value in data.items():
            yield from texts(key)
            yield from texts(value)
    elif type(data) is list:
        for value in data:
            yield from texts(value)


def _labelled(node: NodeFact, more: dict[str, str]) -> NodeFact:
    metadata = node.data["metadata"]
    labels = {**(metadata.get("labels") or {}), **more}
    return node._replace(data={**node.data, "metadata": {**metadata, "labels": labels}})


def _twice(document: Document, node: NodeFact, other: str) -> NodeFileError:
    at = (*node.labels_path[:-1], "name")
    where = "above in this file" if other == node.site.file else f"in {other}"
    return _fault(document, node.site.file, at, f"node {node.name!r} is there twice: also {where}")


def _nodes_in(document: Document, name: str) -> Iterator[NodeFact]:
    data = document.data
    if type(data) is dict and "kind" not in data and type(data.get("nodes")) is list:
        for index, entry in enumerate(data["nodes"]):
            yield _short(document, name, ("nodes", index), entry)
        return
    for manifest in manifests_in(document):
        if manifest.kind.name == "Node":
            yield _checked(document, name, manifest.base, manifest.data, (*manifest.base, "metadata", "labels"))


def _checked(document: Document, name: str, base: Path, data: dict[str, Any], labels_path: Path) -> NodeFact:
    from afflint.scheduler.decoding import InventoryError
    from afflint.scheduler.nodes import read_node

    metadata, spec = data.get("metadata"), data.get("spec")
    labels = metadata.get("labels") if type(metadata) is dict else None
    for key, value in labels.items() if type(labels) is dict else ():
        if value is not None and type(value) is not str:
            instead = f"{plain(value)[:40]}: put it in quotes" if type(value) in (int, float, bool) else type_name(value)
            raise _fault(document, name, (*labels_path, key), f"the label {key!r} of a node is a string, not {instead}")
    try:
        read_node(data)
    except InventoryError as error:
        raise _fault(document, name, base, str(error)) from None
    assert type(metadata) is dict
    reduced: dict[str, Any] = {"metadata": {field: metadata[field] for field in ("name", "labels") if metadata.get(field)}}
    if type(spec) is dict:
        reduced["spec"] = {field: spec[field] for field in ("taints", "unschedulable") if spec.get(field)}
    allocatable = _allocatable(data)
    if allocatable:
        reduced["status"] = {"allocatable": allocatable}
    return NodeFact(Site(name, document.index, base), labels_path, reduced)


def _allocatable(data: dict[str, Any]) -> Any:
    status = data.get("status")
    if type(status) is not dict:
        return None
    # The API server takes the capacity for an absent allocatable.
    return status["allocatable"] if status.get("allocatable") is not None else status.get("capacity")


_SHORT_FIELDS = frozenset(("name", "labels", "taints", "unschedulable", "allocatable"))


def _short(document: Document, name: str, base: Path, entry: Any) -> NodeFact:
    if type(entry) is not dict:
        raise _fault(document, name, base, "a node in this list is a map with a name")
    unknown = sorted(entry.keys() - _SHORT_FIELDS)
    if unknown:
        raise _fault(
            document, name, (*base, unknown[0]), f"a node in this list has no {unknown[0]!r}; it has {', '.join(sorted(_SHORT_FIELDS))}"
        )
    taints, labels = entry.get("taints"), entry.get("labels")
    if type(labels) is dict or labels is None:
        # Every kubelet sets this one, and nobody writes it by hand.
        labels = {HOSTNAME: entry.get("name"), **(labels or {})}
    whole = {
        "metadata": {"name": entry.get("name"), "labels": labels},
        "spec": {
            "taints": [_taint(each) for each in taints] if type(taints) is list else taints,
            "unschedulable": entry.get("unschedulable"),
        },
        "status": {"allocatable": entry.get("allocatable")},
    }
    return _checked(document, name, base, whole, (*base, "labels"))


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
