"""The places in placement constraints that contain the key of a node label."""

from collections.abc import Iterator

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints, items

NODE_SELECTOR = "nodeSelector"
REQUIRED_NODE_AFFINITY, PREFERRED_NODE_AFFINITY = "required node affinity", "preferred node affinity"
SPREAD = "spread constraint"


class LabelPlace(NamedTuple):
    """A place that contains the key of a node label. ``key_of_map``: it is the key of a map, not a value.

    ``what`` names the constraint in messages, ``group`` is the path of the term or map that contains the place, ``operator`` the operator
    of a match expression.
    """

    path: Path
    key: str
    what: str
    group: Path
    required: bool
    key_of_map: bool = False
    operator: object = None

    @property
    def excludes(self) -> bool:
        """Whether nodes with the label are to be avoided."""
        return self.operator in ("NotIn", "DoesNotExist")

    @property
    def is_selection(self) -> bool:
        """Whether a node must have the label to be chosen."""
        return self.key_of_map or self.operator in ("In", "Exists", "Gt", "Lt")


def label_places(constraints: Constraints) -> Iterator[LabelPlace]:
    """Yield the keys in nodeSelector and node affinity, and the topology keys."""
    yield from node_choices(constraints)
    yield from topology_keys(constraints)


def node_choices(constraints: Constraints) -> Iterator[LabelPlace]:
    """Yield the keys in nodeSelector and node affinity."""
    if constraints.node_selector:
        path = constraints.node_selector.path
        for key in constraints.node_selector.data:
            yield LabelPlace((*path, key), key, NODE_SELECTOR, path, required=True, key_of_map=True)
    for term in constraints.node_terms:
        what = REQUIRED_NODE_AFFINITY if term.required else PREFERRED_NODE_AFFINITY
        for expression in items(term.data, "matchExpressions", term.path):
            label = expression.data.get("key")
            if type(label) is str:
                operator = expression.data.get("operator")
                yield LabelPlace((*expression.path, "key"), label, what, term.path, term.required, operator=operator)


def topology_keys(constraints: Constraints) -> Iterator[LabelPlace]:
    """Yield the topology keys of pod terms and spread constraints."""
    for term in constraints.pod_terms:
        key = term.data.get("topologyKey")
        if type(key) is str and key:
            yield LabelPlace((*term.path, "topologyKey"), key, term.name, term.path, term.required)
    for spread in constraints.spreads:
        key = spread.data.get("topologyKey")
        if type(key) is str and key:
            hard = spread.data.get("whenUnsatisfiable") == "DoNotSchedule"
            yield LabelPlace((*spread.path, "topologyKey"), key, SPREAD, spread.path, hard)
