"""The nodes in the text of a file."""

from afflint.inventory.node_files import NodeFact, nodes_of
from afflint.source.sources import Source


def read_nodes(name: str, data: bytes, *, resources: bool = False) -> list[NodeFact]:
    """Return the nodes in the content of a file with a name."""
    return nodes_of({0: Source(name, name, data)}, resources=resources)
