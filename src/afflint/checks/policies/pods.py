"""Policies about topology keys, the weights of preferences, hard anti-affinity and the labels of pods."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import Match, inserting, replacing
from afflint.checks.policies.subject import PolicySubject
from afflint.findings.phrases import quoted
from afflint.kube.selectors import Requirement, Selector
from afflint.manifests.label_places import SPREAD, LabelPlace, topology_keys
from afflint.policies.check_params import AllowedTopologyKeys, MaximumWeight, NoHardAntiAffinity, RequiredTemplateLabels
from afflint.policies.params import words_of
from afflint.source.globs import name_matcher
from afflint.yaml.placeholders import is_placeholder


def allowed_topology_keys(case: PolicySubject, params: AllowedTopologyKeys) -> Iterator[Match]:
    """Report topology keys that are not allowed."""
    if not case.constraints.pod_terms and not case.constraints.spreads:
        return
    named = name_matcher(params.keys)
    for place in topology_keys(case.constraints):
        if named is not None and not named(place.key) and _constraint(place) in params.constraints and not is_placeholder(place.key):
            what = f"{'hard' if place.required else 'soft'} {SPREAD}" if place.what == SPREAD else place.what
            message = f"{case.title} has a {what} over {quoted(place.key)}; the policy allows only {words_of(params.keys)}"
            yield Match(place.path, message)


def _constraint(place: LabelPlace) -> str:
    """Return the kind of constraint that has a topology key, as the parameter names it."""
    if place.what == SPREAD:
        return "hard-spread" if place.required else "soft-spread"
    return f"{'required' if place.required else 'preferred'}-{'anti-affinity' if place.what.endswith('podAntiAffinity') else 'affinity'}"


def maximum_weight(case: PolicySubject, params: MaximumWeight) -> Iterator[Match]:
    """Report preferences with a weight above the maximum."""
    for item in (*case.constraints.node_preferred, *case.constraints.pod_preferred):
        weight = item.data.get("weight")
        if type(weight) is int and weight > params.weight:
            message = f"a preference of {case.title} has a weight of {weight}; the policy allows at most {params.weight}"
            yield Match((*item.path, "weight"), message, edits=replacing((*item.path, "weight"), params.weight))


def no_hard_anti_affinity(case: PolicySubject, params: NoHardAntiAffinity) -> Iterator[Match]:
    """Report required anti-affinity, except over keys for which it is allowed."""
    named = name_matcher(params.except_)
    for term in case.constraints.pod_terms:
        key = term.data.get("topologyKey")
        if term.anti and term.required and type(key) is str and not is_placeholder(key) and not (named is not None and named(key)):
            allowed = f"; the policy allows that only over {words_of(params.except_)}" if params.except_ else ""
            yield Match((*term.path, "topologyKey"), f"{case.title} requires anti-affinity over {quoted(key)}{allowed}")


def required_template_labels(case: PolicySubject, params: RequiredTemplateLabels) -> Iterator[Match]:
    """Report labels that pods lack, or that have another value."""
    pods = case.pods
    if not pods.labels_known and not pods.operated:
        return
    path = (*pods.template_path, "metadata", "labels")
    for key, values in params.labels.items():
        own = pods.template_labels.get(key)
        if own is not None and (not values or own in values or is_placeholder(own)):
            continue
        asked = Requirement(key, "In", values) if values else Requirement(key, "Exists")
        if key in case.labels_added or pods.pod_labels.all(Selector((asked,))):
            continue
        demanded = f"`{key}` with {'any value' if not values else words_of(values)}"
        if own is not None:
            edits = replacing((*path, key), values[0]) if len(values) == 1 else ()
            yield Match((*path, key), f"the pods of {case.title} have {quoted(f'{key}={own}')}; they must have {demanded}", edits=edits)
        # It may be unknown where a custom resource sets the labels of its pods.
        elif not (pods.operated and not pods.template_labels and pods.template_path != case.pod_path[:-1]):
            edits = inserting(path, key, values[0]) if len(values) == 1 else ()
            yield Match(path, f"the pods of {case.title} lack the label {demanded}", edits=edits)
