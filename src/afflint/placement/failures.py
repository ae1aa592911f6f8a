"""The nodes that fail, are drained or are removed: by name, by label, or one disruption for each node or label value."""

from __future__ import annotations

from collections.abc import Collection

from afflint.findings.errors import UnknownNameError
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE
from afflint.scheduler.cluster import Cluster

SHORT_KEYS = {"zone": ZONE, "region": REGION, "host": HOSTNAME, "hostname": HOSTNAME}
"""Short names of label keys, unless nodes have a label with this name."""


class UnknownLossError(UnknownNameError, ValueError):
    """A node or label value that does not exist in the inventory. The message suggests an existing one."""


class Disruption(NamedTuple):
    """Nodes that fail, are drained in order or are removed together. ``what`` names them: ``node worker-2``, ``zone=a``."""

    what: str
    nodes: tuple[str, ...]


def failures(cluster: Cluster, asked: str) -> list[Disruption]:
    """Parse the value of ``--lose``, ``--drain`` and ``--remove``: nodes and ``KEY=VALUE`` with commas, ``each:node`` or ``each:KEY``.

    What is listed with commas is one disruption of these nodes, in this order. ``zone``, ``region`` and ``hostname`` mean the well-known
    keys, unless nodes have such a label. Raises UnknownLossError.
    """
    if "," in asked:
        return [_listed(cluster, asked)]
    each, _, key = asked.partition(":")
    if each == "each" and key:
        if key == "node":
            return [Disruption(f"node {node}", (node,)) for node in cluster.nodes]
        return _domains(cluster, key)
    if asked in cluster.nodes:
        return [Disruption(f"node {asked}", (asked,))]
    key, equals, value = asked.partition("=")
    if not equals:
        close = nearest_node(asked, cluster.nodes)
        raise UnknownLossError(f"no node is named {asked!r}{f'; did you mean {close!r}?' if close else ''}")
    found = [failure for failure in _domains(cluster, key) if failure.what == f"{key}={value}"]
    if not found:
        values = sorted(set(cluster.label(label_key(cluster, key)).values()))
        raise UnknownLossError(
            f"no node has {key}={value}; the values of {key} are {', '.join(values[:10])}{', …' if len(values) > 10 else ''}"
        )
    return found


def nearest_node(name: str, nodes: Collection[str]) -> str | None:
    """Return the node that a name which no node has probably means. Users often give only the first part of the name of a node."""
    longer = [node for node in nodes if node.startswith(f"{name}.") or node.partition(".")[0].endswith(f"-{name}")]
    return longer[0] if len(longer) == 1 else nearest(name, nodes)


def _listed(cluster: Cluster, asked: str) -> Disruption:
    """Return one disruption of several nodes and label values, in their order."""
    words = [word.strip() for word in asked.split(",")]
    for word in words:
        if not word:
            raise UnknownLossError(f"{asked!r} has an empty item; list nodes with one comma between them")
        if word.startswith("each:"):
            raise UnknownLossError(f"{word!r} cannot be in a list: it is one disruption for each node or label value, the list is only one")
    parts = [part for word in words for part in failures(cluster, word)]
    nodes = tuple(dict.fromkeys(node for part in parts for node in part.nodes))
    if all("=" not in word for word in words):
        return Disruption(f"nodes {', '.join(nodes)}", nodes)
    return Disruption(", ".join(words), nodes)


def label_key(cluster: Cluster, word: str) -> str:
    """Return the label key for a short name: the name itself if nodes have such a label, else the well-known key."""
    return word if cluster.label(word) or word not in SHORT_KEYS else SHORT_KEYS[word]


def no_such_label(cluster: Cluster, key: str) -> str:
    """Return the message for a label that no node has, with a suggestion."""
    close = nearest(key, {label for node in cluster.table.nodes for label in node.labels})
    return f"no node has the label {key}{f'; did you mean {close!r}?' if close else ''}"


def _domains(cluster: Cluster, word: str) -> list[Disruption]:
    nodes_of = grouped((value, node) for node, value in cluster.label(label_key(cluster, word)).items())
    if not nodes_of:
        raise UnknownLossError(no_such_label(cluster, label_key(cluster, word)))
    return [Disruption(f"{word}={value}", tuple(nodes_of[value])) for value in sorted(nodes_of)]
