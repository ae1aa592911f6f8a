"""The places in placement constraints that contain the key of a node label."""

from collections.abc import Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints, items
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at

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


EXCLUSIVE, QUEUED = "annotation", "annotation for Kueue"
_EXCLUSIVE_IN_JOB_SET = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_EXCLUSIVE_IN_GROUPS = ("leaderworkerset.sigs.k8s.io/exclusive-topology", "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology")
_REQUIRED_BY_KUEUE = ("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-slice-required-topology")
_PREFERRED_BY_KUEUE = "kueue.x-k8s.io/podset-preferred-topology"


def annotated_topology_keys(workload: Workload) -> Iterator[LabelPlace]:
    """Yield the topology keys in annotations from which webhooks make constraints of the pods.

    Semantics: setExclusiveAffinities of jobset (pkg/webhooks) and SetExclusiveAffinities of lws; apis/kueue/v1beta1 topology_types.go.
    """
    kind, of_object = (workload.kind.group, workload.kind.name), (*workload.base, "metadata", "annotations")
    if kind == ("jobset.x-k8s.io", "JobSet"):
        job = (*workload.template_path[:-2], "metadata", "annotations")
        if 0 in workload.template_path[len(workload.base) :]:  # Each job is a workload of its own.
            yield from _annotated(map_at(workload.data, "metadata", "annotations"), of_object, EXCLUSIVE, _EXCLUSIVE_IN_JOB_SET)
        yield from _annotated(map_at(workload.above(2), "metadata", "annotations"), job, EXCLUSIVE, _EXCLUSIVE_IN_JOB_SET)
    elif kind == ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") and workload.template_path[-1] == "workerTemplate":
        yield from _annotated(map_at(workload.data, "metadata", "annotations"), of_object, EXCLUSIVE, *_EXCLUSIVE_IN_GROUPS)
    of_pods = (*workload.template_path, "metadata", "annotations")
    yield from _annotated(map_at(workload.template, "metadata", "annotations"), of_pods, QUEUED, *_REQUIRED_BY_KUEUE, _PREFERRED_BY_KUEUE)


def _annotated(annotations: dict[str, Any], path: Path, what: str, *names: str) -> Iterator[LabelPlace]:
    for name in names:
        key = annotations.get(name)
        if type(key) is str and key:
            yield LabelPlace((*path, name), key, what, path, required=name != _PREFERRED_BY_KUEUE)
