"""Policies about the labels of the nodes that pods may use, and the node requirements of pods that policies evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.admission.pod_admission import given_labels
from afflint.checks.match import Match
from afflint.checks.policies.subject import PolicySubject
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.index.facts import NodeRequirement, asked_of_nodes
from afflint.kube.constraints import REQUIRED, Constraints, items
from afflint.kube.node_requirements import Counterexample, counterexample, equivalent_keys, with_added_labels
from afflint.kube.selectors import Requirement, Selector, conflict, describe, parse_node_term
from afflint.policies.implied_params import RequiredNodeLabels
from afflint.policies.params import words_of
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit


def required_node_labels(case: PolicySubject, params: RequiredNodeLabels) -> Iterator[Match]:
    """Report pods that may be scheduled on nodes without these labels."""
    plain = literal_labels_of(case)
    missing = [wanted for wanted in params.labels if not plain.imply(wanted)]
    if not missing:
        return
    requirements = node_alternatives_of(case)
    if requirements.is_unknown:
        return
    for wanted in missing:
        found = counterexample(requirements.alternatives, wanted)
        if found is not None and not _may_be_required_elsewhere(case, requirements, wanted):
            message = f"{_policy_requires(wanted)}; {requirements.describe_cause(found, wanted.key)} {_describe_node(wanted, found)}"
            remedy = f"Require {_constraint(wanted)} in the {'nodeSelector' if len(wanted.values) == 1 else 'required node affinity'}."
            yield Match(requirements.path_of(found, wanted.key), message, remedy, edits=requirements.edits_adding(wanted))


class LiteralNodeLabels(NamedTuple):
    """The node labels that pods require literally: values by key in the nodeSelector, and in the In expressions of each term.

    They answer most policies without evaluating the constraints.
    """

    selector: Mapping[str, Any]
    terms: Sequence[Mapping[str, Sequence[Any]]]

    def imply(self, wanted: Requirement) -> bool:
        """Return whether the labels literally include the requirement."""
        key, _, values, _ = wanted
        if key in self.selector and (not values or self.selector[key] in values):
            return True
        for term in self.terms:
            listed = term.get(key)
            if not listed or (values and not all(each in values for each in listed)):
                return False
        return bool(self.terms)


def literal_labels_of(case: PolicySubject) -> LiteralNodeLabels:
    """Return the node labels that the pods of a case require literally, collected once for all policies."""
    found = case.cache.get("literal labels")
    if not isinstance(found, LiteralNodeLabels):
        found = case.cache["literal labels"] = _literal_labels(case.constraints)
    return found


def _literal_labels(constraints: Constraints) -> LiteralNodeLabels:
    selector = constraints.node_selector.data if constraints.node_selector is not None else {}
    terms = [
        {
            each.data["key"]: each.data["values"]
            for each in items(term.data, "matchExpressions", ())
            if each.data.get("operator") == "In" and type(each.data.get("key")) is str and type(each.data.get("values")) is list
        }
        for term in constraints.node_terms
        if term.required
    ]
    return LiteralNodeLabels(selector, terms)


def _policy_requires(wanted: Requirement) -> str:
    if not wanted.values:
        return f"the policy requires nodes with the label {quoted(wanted.key)}"
    value = quoted(f"{wanted.key}={wanted.values[0]}") if len(wanted.values) == 1 else f"{quoted(wanted.key)} {words_of(wanted.values)}"
    return f"the policy requires nodes with {value}"


def _describe_node(wanted: Requirement, found: Counterexample) -> str:
    if found.value is None:
        return f"a node without {'it' if not wanted.values else 'the label'}"
    if found.any_other:
        return f"a node with any other value of {quoted(wanted.key)}"
    return f"a node with {quoted(f'{wanted.key}={found.value}')}"


def _constraint(wanted: Requirement) -> str:
    return quoted(f"{wanted.key}: {wanted.values[0]}") if len(wanted.values) == 1 else quoted(describe(wanted))


def _may_be_required_elsewhere(case: PolicySubject, requirements: NodeAlternatives, wanted: Requirement) -> bool:
    """Return whether other fields of a custom resource, or an unknown operator, may require the label for these pods.

    The content of the object is known only in the map step, which decides this.
    """
    if case.manifest_index is not None or case.operator is not None:
        return False
    if not requirements.has_requirements:
        return True
    if case.has_certain_pods:
        return False
    others = [[[asked.requirement for asked in asks] for asks in asked_of_nodes(each)] for each in case.constraints_elsewhere]
    return any(each and counterexample(each, wanted) is None for each in others)


def node_alternatives_of(case: PolicySubject) -> NodeAlternatives:
    """Return the node requirements of the pods of a case, parsed once for all policies."""
    found = case.cache.get("node alternatives")
    if not isinstance(found, NodeAlternatives):
        found = case.cache["node alternatives"] = NodeAlternatives(case)
    return found


def _labels_of_launcher(case: PolicySubject) -> dict[str, str]:
    """Return the labels that KubeVirt requires on the nodes of a VM, unless its own nodeSelector has them: see ``launcher_pod``."""
    if not case.pods.kubevirt:
        return {}
    from afflint.controllers.kubevirt_cluster import SCHEDULABLE, KubeVirtCluster
    from afflint.controllers.launcher_pod import ARCH

    cluster = KubeVirtCluster(case.manifest_index.kubevirt_resource if case.manifest_index is not None else {})
    configured = case.pod.get("architecture")
    architecture = configured.lower() if type(configured) is str and configured else cluster.default_architecture
    return {SCHEDULABLE: "true", ARCH: architecture, **cluster.node_selectors}


class NodeAlternatives:
    """The node requirements of the pods of a case, with those that their namespace adds."""

    def __init__(self, case: PolicySubject) -> None:
        constraints = case.constraints
        self._case, self._constraints = case, constraints
        self._terms = [term for term in constraints.node_terms if term.required]
        self._readable = [number for number, term in enumerate(self._terms) if isinstance(parse_node_term(term.data), Selector)]
        asked: Sequence[Sequence[NodeRequirement]] = asked_of_nodes(constraints)
        own = constraints.node_selector
        self.has_requirements = bool(own is not None and own.data) or constraints.node_required is not None
        """Whether the manifest has any node requirement."""
        # If the namespace adds a selector whose content is unknown, it may be the required one.
        selector = case.admission.selector if case.admission is not None else None
        self.is_unknown = (self.has_requirements and not asked) or (selector is not None and is_placeholder(selector.text))
        """Whether nothing can be concluded: the requirements cannot be parsed, or match no node, which other rules report."""
        self._asked = asked or ((),)
        # A cluster whose namespaces have node selectors has the admission plugin that reads them.
        self._given = given_labels(case.admission) if case.admission is not None else {}
        of_machine = {key: value for key, value in _labels_of_launcher(case).items() if own is None or key not in own.data}
        given = {**of_machine, **self._given}
        self.alternatives = with_added_labels([[each.requirement for each in asks] for asks in self._asked], given)

    def describe_cause(self, found: Counterexample, key: str) -> str:
        """Return the subject and verb of a message, such as ``term 2 of the required node affinity allows``."""
        admission = self._case.admission
        if admission is not None and admission.selector is not None and key in self._given:
            return f"{admission.selector.title} allows"
        if len(self._asked) > 1:
            return f"term {self._readable[found.alternative] + 1} of the required node affinity allows"
        return "its node constraints allow" if self._asked[0] else "nothing prevents its pods from running on"

    def path_of(self, found: Counterexample, key: str) -> Path:
        """Return the path of the constraint that allows the node: the one on the label, else the term, the nodeSelector or the object."""
        asked = self._asked[found.alternative]
        about = [each.path for each in asked if each.path is not None and each.requirement.key in equivalent_keys(key)]
        if about:
            return about[-1]
        if self._readable:
            return self._terms[self._readable[found.alternative]].path
        own = self._constraints.node_selector
        return own.path if own is not None and own.data else name_path(self._case)

    def edits_adding(self, wanted: Requirement) -> tuple[SymbolicEdit, ...]:
        """Return the edits that add the requirement; none if no node would meet all requirements then."""
        from afflint.findings.edits import Insert

        case = self._case
        if case.pods.operated or any(conflict([*each, wanted]) for each in self.alternatives):
            return ()
        if len(wanted.values) == 1:
            own = self._constraints.node_selector
            if own is not None and wanted.key in own.data:
                return ()
            return (Insert((*case.pod_path, "nodeSelector"), wanted.key, wanted.values[0]),)
        expression: dict[str, Any] = {"key": wanted.key, "operator": wanted.operator}
        if wanted.values:
            expression["values"] = list(wanted.values)
        if self._constraints.node_required is None:
            at = (*case.pod_path, "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
            return (Insert(at, 0, {"matchExpressions": [expression]}),)
        return tuple(
            [Insert((*term.path, "matchExpressions"), len(term.data.get("matchExpressions") or ()), expression) for term in self._terms]
        )


def name_path(case: PolicySubject) -> Path:
    """Return the path of the object's name, where findings about missing fields are reported."""
    return (*case.pods.site.base, "metadata", "name")
