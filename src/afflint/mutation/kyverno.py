"""Kyverno's policies with rules that change objects: ClusterPolicy and Policy of the group kyverno.io.

Rules for pods also apply to the templates of pod controllers, as Kyverno generates them (pkg/autogen/v1). Rules that change
objects that exist already (``targets``) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.kinds import PLACEMENT_FIELDS
from afflint.kube.manifests import labels_at
from afflint.mutation.anchors import name_of, resolved
from afflint.mutation.json_patch import steps_of, with_json_patch
from afflint.mutation.matching import Candidate, applies, kinds_of
from afflint.mutation.preconditions import are_met
from afflint.mutation.strategic_merge import merged
from afflint.mutation.undecided import InapplicableError, UndecidedError, holds_any
from afflint.mutation.variables import request_of, substituted
from afflint.mutation.wildcards import is_match
from afflint.yaml.document import list_at, map_at
from afflint.yaml.documents import read

CLUSTER_POLICY, POLICY, POLICY_EXCEPTION = "ClusterPolicy", "Policy", "PolicyException"
KINDS = (CLUSTER_POLICY, POLICY)
GROUP = "kyverno.io"
OWN_NAMESPACES = frozenset(("kube-system", "kube-public", "kube-node-lease", "kyverno"))
"""The namespaces that Kyverno leaves alone unless it is configured otherwise (the resourceFilters of its chart)."""
_CONTROLLERS = ("DaemonSet", "Deployment", "Job", "StatefulSet", "ReplicaSet", "ReplicationController")
_CRON_JOB = "CronJob"
_WITH_PODS = frozenset((*_CONTROLLERS, _CRON_JOB, "Pod"))
_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"
PLACEMENT = PLACEMENT_FIELDS | frozenset(
    ("priorityClassName", "runtimeClassName", "hostNetwork", "hostPort", "schedulingGates", "replicas", "labels")
)
"""The fields of a patch that decide where pods run, directly or because others select them."""
CONSTRAINTS = PLACEMENT - frozenset(("labels", "replicas"))
"""Those that do so directly."""


class PolicyException(NamedTuple):
    """A PolicyException of Kyverno: the objects that are exempt from some rules, by the names of policies."""

    rules: tuple[tuple[str, tuple[str, ...]], ...]
    match: Any
    conditions: Any

    def names(self, policy: str, rule: str) -> bool:
        """Return whether it is about a rule of a policy, or about the rules that Kyverno generates from it."""
        own = (rule, f"autogen-{rule}", f"autogen-cronjob-{rule}")
        return any(name == policy and any(is_match(each, one) for each in rules for one in own) for name, rules in self.rules)

    def exempts(self, candidate: Candidate) -> bool:
        """Return whether an object is exempt. Raises UndecidedError."""
        if not applies(self.match, None, candidate):
            return False
        return are_met(self.conditions, request_of(candidate.data, candidate.namespace))


def policy_exceptions(data: dict[str, Any]) -> Iterator[PolicyException]:
    """Yield what a PolicyException of Kyverno says."""
    version, spec = data.get("apiVersion"), map_at(data, "spec")
    if data.get("kind") == POLICY_EXCEPTION and isinstance(version, str) and version.startswith(f"{GROUP}/"):
        listed = [each for each in list_at(spec, "exceptions") if isinstance(each, dict)]
        rules = [(str(each.get("policyName")), tuple(map(str, list_at(each, "ruleNames")))) for each in listed]
        yield PolicyException(tuple(rules), spec.get("match"), spec.get("conditions"))


class MutateRule(NamedTuple):
    """A rule of a policy that changes objects. ``path`` leads to its ``mutate`` below the policy; ``autogen`` are further kinds."""

    policy: str
    name: str
    path: Path
    data: dict[str, Any]
    namespace: str | None
    autogen: frozenset[str] = frozenset()
    only_first: bool = False
    """Whether no further rule of the policy applies to an object that this rule changes."""
    exceptions: tuple[PolicyException, ...] = ()
    reinvoked: bool = False

    def with_exceptions(self, exceptions: Iterable[PolicyException]) -> MutateRule:
        """Return the rule with those of some exceptions that are about it."""
        policy = self.policy if self.namespace is None else f"{self.namespace}/{self.policy}"
        return self._replace(exceptions=tuple([each for each in exceptions if each.names(policy, self.name)]))

    @property
    def mutate(self) -> dict[str, Any]:
        return map_at(self.data, "mutate")

    @property
    def touches_placement(self) -> bool:
        """Whether its patches set, or remove, a field that decides where pods run."""
        return any(not PLACEMENT.isdisjoint(words) for words in _words_of(self.mutate))

    @property
    def touches_constraints(self) -> bool:
        """Whether its patches touch more than labels and replicas, which affect placement only through other objects."""
        return any(not CONSTRAINTS.isdisjoint(words) for words in _words_of(self.mutate))

    def kinds(self) -> frozenset[str]:
        """Return the names of the kinds that the rule may apply to, ``*`` for any."""
        named = [each.rpartition("/")[2].partition(".")[0] for each in kinds_of(self.data.get("match"))]
        return frozenset(("*" if "*" in each or "?" in each else each) for each in named or ["*"]) | self.autogen

    def changed(self, data: dict[str, Any], namespace_labels: Mapping[str, str] | None, namespace: str | None) -> dict[str, Any]:
        """Return an object as the rule changes it; the same object if the rule does not apply. Raises UndecidedError."""
        if namespace in OWN_NAMESPACES or (self.namespace is not None and namespace is not None and self.namespace != namespace):
            return data
        kind = data.get("kind")
        match, exclude = self.data.get("match"), self.data.get("exclude")
        shift: Path = ()
        if kind in self.autogen:
            match, exclude = (_for_controller(each, str(kind)) for each in (match, exclude))
            shift = _template_path(str(kind))
        candidate = Candidate(data, namespace, namespace_labels)
        if not applies(match, exclude, candidate):
            return data
        if holds_any([partial(each.exempts, candidate) for each in self.exceptions]):
            return data
        if self.namespace is not None and namespace is None:
            raise UndecidedError("it depends on the namespace, which the object does not set")
        return self._patched(data, namespace, shift)

    def _patched(self, data: dict[str, Any], namespace: str | None, shift: Path) -> dict[str, Any]:
        seen = data
        if shift:
            template = _at(data, shift)
            seen = {**data, "spec": map_at(template, "spec"), "metadata": map_at(template, "metadata")}
        known = request_of(seen, namespace)
        if self.data.get("celPreconditions"):
            raise UndecidedError("its preconditions are CEL expressions, which afflint does not evaluate here")
        if not are_met(self.data.get("preconditions"), known):
            return data
        patch, operations = self.mutate.get("patchStrategicMerge"), self.mutate.get("patchesJson6902")
        try:
            if isinstance(patch, dict):
                pattern = substituted(_below(patch, shift), known)
                result = merged(data, resolved(pattern, data))
            elif isinstance(operations, str):
                result = with_json_patch(data, substituted(_operations(operations), known))
            else:
                raise UndecidedError("it patches each item of a list, which afflint does not do")
        except InapplicableError:
            return data
        return result if isinstance(result, dict) else data


def mutate_rules(data: dict[str, Any]) -> Iterator[MutateRule]:
    """Yield the rules of a policy that change objects when they are created."""
    version = data.get("apiVersion")
    if data.get("kind") not in KINDS or not isinstance(version, str) or not version.startswith(f"{GROUP}/"):
        return
    metadata, spec = map_at(data, "metadata"), map_at(data, "spec")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or spec.get("admission") is False or (data["kind"] == POLICY and not isinstance(namespace, str)):
        return
    rules = [(number, each) for number, each in enumerate(list_at(spec, "rules")) if isinstance(each, dict)]
    controllers = autogen_controllers([each for _, each in rules], map_at(metadata, "annotations"))
    for number, rule in rules:
        mutate = map_at(rule, "mutate")
        if not mutate or "targets" in mutate:
            continue
        yield MutateRule(
            name,
            str(rule.get("name") or name),
            ("spec", "rules", number, "mutate"),
            rule,
            namespace if data["kind"] == POLICY else None,
            controllers if "Pod" in kinds_of(rule.get("match")) else frozenset(),
            spec.get("applyRules") == "One",
        )


def autogen_controllers(rules: Sequence[dict[str, Any]], annotations: Mapping[str, Any]) -> frozenset[str]:
    """Return the kinds of controllers that Kyverno generates rules for (CanAutoGen)."""
    needed = False
    for rule in rules:
        mutate = map_at(rule, "mutate")
        patches = [mutate, *(each for each in list_at(mutate, "foreach") if isinstance(each, dict))]
        if "generate" in rule or any(each.get("patchesJson6902") for each in patches):
            return frozenset()
        for match in (rule.get("match"), rule.get("exclude")):
            for block in _blocks(match):
                resources = map_at(block, "resources")
                kinds = list_at(resources, "kinds")
                if any(resources.get(each) for each in ("name", "names", "selector", "annotations")) or (len(kinds) > 1 and "Pod" in kinds):
                    return frozenset()
                needed = needed or any(each in _WITH_PODS for each in kinds if isinstance(each, str))
    if not needed:
        return frozenset()
    named = annotations.get(_AUTOGEN)
    every = {*_CONTROLLERS, _CRON_JOB}
    return frozenset(every if not isinstance(named, str) or named == "all" else every & {each.strip() for each in named.split(",")})


def _blocks(match: Any) -> Iterator[dict[str, Any]]:
    if isinstance(match, dict):
        yield match
        for field in ("any", "all"):
            yield from (each for each in list_at(match, field) if isinstance(each, dict))


def _for_controller(match: Any, kind: str) -> Any:
    """Return a ``match`` or ``exclude`` for pods as Kyverno writes it for a controller."""
    result = deepcopy(match)
    for block in _blocks(result):
        resources = block.get("resources")
        if isinstance(resources, dict) and "Pod" in list_at(resources, "kinds"):
            resources["kinds"] = [kind]
    return result


def _template_path(kind: str) -> Path:
    return ("spec", "jobTemplate", "spec", "template") if kind == _CRON_JOB else ("spec", "template")


def _below(patch: dict[str, Any], steps: Path) -> dict[str, Any]:
    for step in reversed(steps):
        patch = {str(step): patch}
    return patch


def _at(data: dict[str, Any], steps: Path) -> dict[str, Any]:
    for step in steps:
        data = map_at(data, str(step))
    return data


def _operations(text: str) -> list[Any]:
    document = read(text.encode(), 0, 0)
    if document.problem is not None or not isinstance(document.data, list):
        raise UndecidedError("its JSON patch cannot be read without the values of its variables")
    return document.data


def _words_of(mutate: Mapping[str, Any]) -> Iterator[set[str]]:
    """Yield the names of the fields in each patch of a rule."""
    for each in (mutate, *(each for each in list_at(mutate, "foreach") if isinstance(each, dict))):
        yield set(_names_in(each.get("patchStrategicMerge")))
        operations = each.get("patchesJson6902")
        if isinstance(operations, str):
            document = read(operations.encode(), 0, 0)
            for operation in document.data if isinstance(document.data, list) else ():
                if isinstance(operation, dict):
                    yield {*steps_of(str(operation.get("path"))), *_names_in(operation.get("value"))}


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield name_of(str(key))
            yield from _names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names_in(each)


def namespace_labels(namespaces: Mapping[str, dict[str, Any]], name: str | None) -> dict[str, str] | None:
    """Return the labels of a namespace, with the name label that the API server adds; None if no manifest shows them."""
    known = namespaces.get(name or "")
    return None if known is None or name is None else {**labels_at(known), "kubernetes.io/metadata.name": name}
