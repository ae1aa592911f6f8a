"""The placement constraints of one pod spec as plain data, with their paths.

Malformed parts are left out: other checks report the types of fields, and callers may rely on every ``data`` being a map. The content of
such a map is unchecked.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Data = dict[str, Any]


class NodeTerm(NamedTuple):
    """A required node selector term (these are ORed), or the preference of a weighted term.

    ``path`` is the path of the term, ``weighted`` the item of the list that contains a preferred term.
    """

    path: Path
    data: Data
    weighted: Data | None

    @property
    def required(self) -> bool:
        return self.weighted is None

    @property
    def weight(self) -> int | None:
        """The weight of a preferred term, 0 if it is not an integer; None for a required term."""
        return _weight(self.weighted)


class PodTerm(NamedTuple):
    """A pod (anti-)affinity term. ``path`` is the path of the term itself, below ``podAffinityTerm`` for a preferred one."""

    path: Path
    data: Data
    anti: bool
    weighted: Data | None

    @property
    def required(self) -> bool:
        return self.weighted is None

    @property
    def weight(self) -> int | None:
        """The weight of a preferred term, 0 if it is not an integer; None for a required term."""
        return _weight(self.weighted)

    @property
    def name(self) -> str:
        """The name of the term in messages, such as ``required podAntiAffinity``."""
        return pod_term_name(anti=self.anti, required=self.required)


class ConstraintItem(NamedTuple):
    """A map with its path: a toleration, spread constraint, scheduling gate, label selector or match expression."""

    path: Path
    data: Data


class ShapedValue(NamedTuple):
    """A value with the shape of a placement field; ``path`` leads to it.

    ``shape`` is the name of that field in a pod spec or in its affinity; ``nodeSelectorTerms`` for a node selector on its own, and
    ``labelSelector`` for one that selects nodes by their labels.
    """

    shape: str
    path: Path
    value: Any


class Constraints(NamedTuple):
    """All placement constraints of a pod spec."""

    node_selector: ConstraintItem | None
    node_required: ConstraintItem | None
    node_terms: tuple[NodeTerm, ...]
    node_preferred: tuple[ConstraintItem, ...]
    pod_terms: tuple[PodTerm, ...]
    pod_preferred: tuple[ConstraintItem, ...]
    spreads: tuple[ConstraintItem, ...]
    tolerations: tuple[ConstraintItem, ...]
    selectors: tuple[ConstraintItem, ...]
    """Every label selector in pod terms and spread constraints, namespace selectors included."""


def pod_term_name(*, anti: bool, required: bool) -> str:
    """Return the name of a pod term in messages, such as ``required podAntiAffinity``."""
    return f"{'required' if required else 'preferred'} {'podAntiAffinity' if anti else 'podAffinity'}"


def _weight(weighted: Data | None) -> int | None:
    if weighted is None:
        return None
    weight = weighted.get("weight")
    return weight if type(weight) is int else 0


NONE = Constraints(None, None, (), (), (), (), (), (), ())


_FIELDS = ("nodeSelector", "affinity", "topologySpreadConstraints", "tolerations")


def constraints_of(pod_spec: Data, path: Path) -> Constraints:
    """Return the constraints of the pod spec at ``path``; NONE itself only if no field has a value, not even a malformed one."""
    if not any(map(pod_spec.get, _FIELDS)):
        return NONE
    return _read([ShapedValue(field, (*path, field), pod_spec[field]) for field in _FIELDS if field in pod_spec], mixed=False)


def items(data: Data, field: str, path: Path) -> Iterator[ConstraintItem]:
    """Yield the maps in the list ``data[field]``; a null element counts as an empty map, as the API server reads it.

    Elements that a patch replaces or deletes are skipped.
    """
    values = data.get(field)
    if type(values) is list:
        for index, value in enumerate(values):
            if value is None or (type(value) is dict and "$patch" not in value):
                yield ConstraintItem((*path, field, index), value or {})


def _item(data: Data, field: str, path: Path) -> ConstraintItem | None:
    value = data.get(field)
    return ConstraintItem((*path, field), value) if type(value) is dict else None


def _node_affinity(affinity: Data, path: Path) -> tuple[ConstraintItem | None, tuple[NodeTerm, ...], tuple[ConstraintItem, ...]]:
    node = affinity.get("nodeAffinity")
    return _of_nodes(node, (*path, "nodeAffinity")) if type(node) is dict else (None, (), ())


def _of_nodes(node: Data, at: Path) -> tuple[ConstraintItem | None, tuple[NodeTerm, ...], tuple[ConstraintItem, ...]]:
    required = _item(node, REQUIRED, at)
    terms = _required_terms(required) if required else []
    preferred = tuple(items(node, PREFERRED, at))
    for weighted in preferred:
        preference = _item(weighted.data, "preference", weighted.path)
        if preference:
            terms.append(NodeTerm(preference.path, preference.data, weighted.data))
    return required, tuple(terms), preferred


def _required_terms(selector: ConstraintItem) -> list[NodeTerm]:
    return [NodeTerm(each.path, each.data, None) for each in items(selector.data, "nodeSelectorTerms", selector.path)]


def _pod_affinity(affinity: Data, path: Path) -> tuple[tuple[PodTerm, ...], tuple[ConstraintItem, ...]]:
    terms: list[PodTerm] = []
    preferred: list[ConstraintItem] = []
    for field, anti in (("podAffinity", False), ("podAntiAffinity", True)):
        pod = affinity.get(field)
        if type(pod) is dict:
            _add_pod_terms(pod, (*path, field), anti, terms, preferred)
    return tuple(terms), tuple(preferred)


def _add_pod_terms(pod: Data, at: Path, anti: bool, terms: list[PodTerm], preferred: list[ConstraintItem]) -> None:
    terms += [PodTerm(each.path, each.data, anti, None) for each in items(pod, REQUIRED, at)]
    for weighted in items(pod, PREFERRED, at):
        preferred.append(weighted)
        term = _item(weighted.data, "podAffinityTerm", weighted.path)
        if term:
            terms.append(PodTerm(term.path, term.data, anti, weighted.data))


_NOT_OF_PODS = ("labelKey", "taints", "clusterTolerations", "clusterSpreadConstraints", "clusterGroups", "clusterFields")


def constraints_of_parts(parts: Iterable[ShapedValue]) -> Constraints:
    """Return the constraints of pods whose fields are in several places or have other names; each part has its own shape and path."""
    found = _read(parts, mixed=True)
    return NONE if found == NONE else found


def _read(parts: Iterable[ShapedValue], *, mixed: bool) -> Constraints:
    """With ``mixed``, pod terms in the list of preferred node terms are read, so that their own mistakes are reported in the same run."""
    node_selector = node_required = None
    node_terms: list[NodeTerm] = []
    node_preferred: list[ConstraintItem] = []
    pod_terms: list[PodTerm] = []
    pod_preferred: list[ConstraintItem] = []
    spreads: list[ConstraintItem] = []
    tolerations: list[ConstraintItem] = []
    selectors: list[ConstraintItem] = []
    for shape, path, value in parts:
        name, above = str(path[-1]), path[:-1]
        holder = {name: value}
        if shape == "nodeSelector":
            node_selector = _item(holder, name, above) if type(value) is dict and "$patch" not in value else None
        elif shape == "tolerations":
            tolerations += items(holder, name, above)
        elif shape == "topologySpreadConstraints":
            spreads += items(holder, name, above)
        elif shape in _NOT_OF_PODS or type(value) is not dict:
            continue
        elif shape == "labelSelector":
            continue  # It selects nodes, as other label selectors select pods.
        elif shape == "clusterSelector":
            selectors.append(ConstraintItem(path, value))
        elif shape == "nodeSelectorTerms":
            node_required = ConstraintItem(path, value)
            node_terms += _required_terms(node_required)
        else:
            if shape in ("affinity", "nodeAffinity"):
                of_nodes = _node_affinity(value, path) if shape == "affinity" else _of_nodes(value, path)
                node_required = of_nodes[0] or node_required
                node_terms += of_nodes[1]
                node_preferred += of_nodes[2]
                for weighted in of_nodes[2] if mixed else ():
                    term = _item(weighted.data, "podAffinityTerm", weighted.path)
                    if term:
                        pod_terms.append(PodTerm(term.path, term.data, False, weighted.data))
            if shape == "affinity":
                terms, preferred = _pod_affinity(value, path)
                pod_terms += terms
                pod_preferred += preferred
            elif shape != "nodeAffinity":
                _add_pod_terms(value, path, shape == "podAntiAffinity", pod_terms, pod_preferred)
    terms_found, spreads_found = tuple(pod_terms), tuple(spreads)
    return Constraints(
        node_selector,
        node_required,
        tuple(node_terms),
        tuple(node_preferred),
        terms_found,
        tuple(pod_preferred),
        spreads_found,
        tuple(tolerations),
        (*selectors, *_selectors(terms_found, spreads_found)),
    )


def _selectors(pod_terms: tuple[PodTerm, ...], spreads: tuple[ConstraintItem, ...]) -> Iterator[ConstraintItem]:
    for term in pod_terms:
        for field in ("labelSelector", "namespaceSelector"):
            selector = _item(term.data, field, term.path)
            if selector:
                yield selector
    for spread in spreads:
        selector = _item(spread.data, "labelSelector", spread.path)
        if selector:
            yield selector
