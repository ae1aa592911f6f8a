"""What is asked to fail, to be drained or to be removed: nodes by name, by label, or each in turn."""

from __future__ import annotations

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import nearest
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE
from afflint.scheduler.cluster import Cluster

SHORT_KEYS = {"zone": ZONE, "region": REGION, "host": HOSTNAME, "hostname": HOSTNAME}
"""Words that stand for a label key, unless nodes carry the word itself as a label."""


class UnknownLossError(UserError, ValueError):
    """What was asked for is no node and no label value of the inventory. The message says what there is."""


class Disruption(NamedTuple):
    """Nodes that fail, are drained or are removed together. ``what`` names them: ``node worker-2``, ``zone=a``."""

    what: str
    nodes: tuple[str, ...]


def failures(cluster: Cluster, asked: str) -> list[Disruption]:
    """What ``--lose``, ``--drain`` and ``--remove`` ask for: a node, ``KEY=VALUE``, or ``each:node``, ``each:KEY`` for all in turn.

    ``zone``, ``region`` and ``hostname`` stand for the well-known keys unless nodes carry such a label. Raises UnknownLossError.
    """
    each, _, key = asked.partition(":")
    if each == "each" and key:
        if key == "node":
            return [Disruption(f"node {node}", (node,)) for node in cluster.nodes]
        return _domains(cluster, key)
    if asked in cluster.nodes:
        return [Disruption(f"node {asked}", (asked,))]
    key, equals, value = asked.partition("=")
    if not equals:
        # Nodes are often called by the first part of their names.
        longer = [node for node in cluster.nodes if node.startswith(f"{asked}.") or node.partition(".")[0].endswith(f"-{asked}")]
        close = longer[0] if len(longer) == 1 else nearest(asked, cluster.nodes)
        raise UnknownLossError(f"no node is named {asked!r}{f'; did you mean {close!r}?' if close else ''}")
    found = [failure for failure in _domains(cluster, key) if failure.what == f"{key}={value}"]
    if not found:
        values = sorted(set(cluster.label(label_key(cluster, key)).values()))
        raise UnknownLossError(
            f"no node has {key}={value}; the values of {key} are {', '.join(values[:10])}{', …' if len(values) > 10 else ''}"
        )
    return found


def label_key(cluster: Cluster, word: str) -> str:
    """The label key that a word stands for: itself when nodes carry it, else the well-known key of that name."""
    return word if cluster.label(word) or word not in SHORT_KEYS else SHORT_KEYS[word]


def no_such_label(cluster: Cluster, key: str) -> str:
    """That no node carries a label, with the one that may be meant."""
    close = nearest(key, {label for node in cluster.table.nodes for label in node.labels})
    return f"no node has the label {key}{f'; did you mean {close!r}?' if close else ''}"


def _domains(cluster: Cluster, word: str) -> list[Disruption]:
    nodes_of: dict[str, list[str]] = {}
    for node, value in cluster.label(label_key(cluster, word)).items():
        nodes_of.setdefault(value, []).append(node)
    if not nodes_of:
        raise UnknownLossError(no_such_label(cluster, label_key(cluster, word)))
    return [Disruption(f"{word}={value}", tuple(nodes_of[value])) for value in sorted(nodes_of)]
