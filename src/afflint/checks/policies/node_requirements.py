"""Policies about the labels of the nodes that pods may use, and the node requirements of pods that policies evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.admission.pod_admission import given_labels
from afflint.checks.match import Match
from afflint.checks.policies.subject import PolicySubject
from afflint.constraints.nodes import Alternative, parse_node_constraints
from afflint.controllers.kubevirt_cluster import SCHEDULABLE, KubeVirtCluster
from afflint.findings.edits import Insert
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.constraints import REQUIRED
from afflint.kube.node_requirements import Counterexample, counterexample, equivalent_keys, with_added_labels
from afflint.kube.selector_algebra import conflict
from afflint.kube.selectors import Requirement, Selector, describe
from afflint.policies.check_params import NoParameters, RequiredNodeLabels
from afflint.policies.params import words_of
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit


def required_node_labels(case: PolicySubject, params: RequiredNodeLabels) -> Iterator[Match]:
    """Report pods that may be scheduled on nodes without these labels."""
    missing = [wanted for wanted in params.labels if not _lists(case.node_alternatives, wanted)]
    if not missing:
        return
    requirements = node_alternatives_of(case)
    if requirements.is_unknown:
        return
    for wanted in missing:
        found = counterexample(requirements.alternatives, wanted)
        if found is not None and not _may_be_required_elsewhere(case, requirements, wanted):
            message = f"{_policy_requires(wanted)}; {requirements.describe_cause(found, wanted.key)} {_describe_node(wanted, found)}"
            constraint, place = describe(wanted), "required node affinity"
            if len(wanted.values) == 1:
                constraint, place = f"{wanted.key}: {wanted.values[0]}", "nodeSelector"
            remedy = f"Require {quoted(constraint)} in the {place}."
            yield Match(requirements.path_of(found, wanted.key), message, remedy, edits=requirements.edits_adding(wanted))


def required_node_constraint(case: PolicySubject, _params: NoParameters) -> Iterator[Match]:
    """Report pods that may be scheduled on every node, as far as selectors and required affinity decide."""
    if case.pod.get("nodeName") or all(case.node_alternatives or ((),)) or (case.pods.operated and case.operator is None):
        return
    requirements = node_alternatives_of(case)
    if requirements.is_unknown or requirements.is_restricted_by_namespace or _has_term_of_operator(case):
        return
    term = len(case.node_alternatives) > 1
    cause = "a term of the required node affinity of" if term else "no node constraint restricts the nodes for"
    message = f"{cause} {case.title}" + (" matches every node" if term else "")
    yield Match(name_path(case), f"{message}; the policy requires a constraint")


def _has_term_of_operator(case: PolicySubject) -> bool:
    """Return whether the operator of a custom resource adds a node constraint."""
    known = case.operator
    return case.pods.operated and known is not None and not parse_node_constraints(known).is_empty


def _lists(alternatives: Sequence[Alternative], wanted: Requirement) -> bool:
    """Return whether each alternative lists only wanted values of the label: then the constraints need not be evaluated."""

    def lists(own: Requirement) -> bool:
        if own.key != wanted.key or own.operator != "In" or own.field:
            return False
        return not wanted.values or all(value in wanted.values for value in own.values)

    return bool(alternatives) and all(any(lists(each.requirement) for each in alternative) for alternative in alternatives)


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
    others = [parse_node_constraints(each).alternatives for each in case.constraints_elsewhere]
    return any(each and counterexample(_requirements(each), wanted) is None for each in others)


def _requirements(alternatives: Sequence[Alternative]) -> list[list[Requirement]]:
    return [[each.requirement for each in alternative] for alternative in alternatives]


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
    from afflint.controllers.launcher_pod import ARCH

    cluster = KubeVirtCluster(case.manifest_index.kubevirt_resource if case.manifest_index is not None else {})
    configured = case.pod.get("architecture")
    architecture = configured.lower() if type(configured) is str and configured else cluster.default_architecture
    return {SCHEDULABLE: "true", ARCH: architecture, **cluster.node_selectors}


class NodeAlternatives:
    """The node requirements of the pods of a case, with those that their namespace adds."""

    def __init__(self, case: PolicySubject) -> None:
        self._case, self._nodes = case, case.nodes
        self._readable = [number for number, term in enumerate(self._nodes.terms or ()) if isinstance(term.selector, Selector)]
        self.has_requirements = not self._nodes.is_empty
        """Whether the manifest has any node requirement."""
        # If the namespace adds a selector whose content is unknown, it may be the required one.
        selector = case.admission.selector if case.admission is not None else None
        self.is_unknown = not case.node_alternatives or (selector is not None and is_placeholder(selector.text))
        """Whether nothing can be concluded: the requirements cannot be parsed, or match no node, which other rules report."""
        self._asked = case.node_alternatives or ((),)
        # A cluster whose namespaces have node selectors has the admission plugin that reads them.
        self._given = given_labels(case.admission) if case.admission is not None else {}
        self.is_restricted_by_namespace = bool(self._given)
        """Whether the namespace adds labels to the nodeSelector of the pods."""
        own = self._nodes.selector
        self._own_keys = frozenset([each.key for each in own.requirements]) if isinstance(own, Selector) else frozenset()
        of_machine = {key: value for key, value in _labels_of_launcher(case).items() if key not in self._own_keys}
        given = {**of_machine, **self._given}
        self.alternatives = with_added_labels(_requirements(self._asked), given)

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
        if self._nodes.terms is not None:
            return self._nodes.terms[self._readable[found.alternative]].path
        path = self._nodes.selector_path
        return path if path is not None and self.has_requirements else name_path(self._case)

    def edits_adding(self, wanted: Requirement) -> tuple[SymbolicEdit, ...]:
        """Return the edits that add the requirement; none if no node would meet all requirements then."""
        case = self._case
        if case.pods.operated or any(conflict([*each, wanted]) for each in self.alternatives):
            return ()
        if len(wanted.values) == 1:
            if wanted.key in self._own_keys:
                return ()
            return (Insert((*case.pod_path, "nodeSelector"), wanted.key, wanted.values[0]),)
        expression: dict[str, Any] = {"key": wanted.key, "operator": wanted.operator}
        if wanted.values:
            expression["values"] = list(wanted.values)
        if self._nodes.terms is None:
            at = (*case.pod_path, "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
            return (Insert(at, 0, {"matchExpressions": [expression]}),)
        numbers = [sum(not each.requirement.field for each in term.requirements) for term in self._nodes.terms]
        paths = [(*term.path, "matchExpressions") for term in self._nodes.terms]
        return tuple([Insert(path, number, expression) for path, number in zip(paths, numbers, strict=True)])


def name_path(case: PolicySubject) -> Path:
    """Return the path of the object's name, where findings about missing fields are reported."""
    return (*case.pods.site.base, "metadata", "name")
