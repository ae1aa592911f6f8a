"""The scheduler written a second time, as a literal copy of its rules: every question goes over all nodes and all pods.

Takes clusters and pods as plain data. What it shares with the real thing is the matching of one selector and one toleration.
"""

import math
from typing import Any

from afflint.kube.selectors import (
    EVERYTHING,
    Malformed,
    Selector,
    from_labels,
    matches,
    merge_label_keys,
    parse_label_selector,
    parse_node_term,
)
from afflint.kube.taints import CORDON, parse_taints, parse_tolerations, tolerated
from cluster_objects import HOST, PREFERRED, REQUIRED, ZONE, Object


class NaiveScheduler:
    """``evaluate`` gives the same five answers as a verdict."""

    def __init__(
        self, nodes: list[Object], pods: list[Object], namespaces: list[Object], services: list[Object], *, resources: bool = False
    ) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"]))}
        self.pods = [pod for pod in pods if pod["spec"].get("nodeName") in self.nodes and not is_finished(pod)]
        self.namespaces = {
            item["metadata"]["name"]: {**item["metadata"]["labels"], "kubernetes.io/metadata.name": item["metadata"]["name"]}
            for item in namespaces
        }
        self.services = services
        self.resources = resources

    def evaluate(self, pod: Object) -> tuple[Any, ...]:
        reason = {name: plugin for name in self.nodes if (plugin := self.rejection(pod, name))}
        feasible = {name: name not in reason for name in self.nodes}
        good = [name for name in self.nodes if feasible[name]]
        if not good:
            return feasible, reason, {}, {}, None
        preferences = node_preferences(pod)
        if preferences and any(isinstance(term, Malformed) for _, term in preferences):
            return feasible, reason, {}, {}, "PreScore NodeAffinity"
        scores = {
            "TaintToleration": self.taint_scores(pod, good),
            "NodeAffinity": self.node_affinity_scores(preferences, good),
            "PodTopologySpread": self.spread_scores(pod, good),
            "InterPodAffinity": self.interpod_scores(pod, good),
            "NodeResourcesFit": self.least_allocated_scores(pod, good),
            "NodeResourcesBalancedAllocation": self.balance_scores(pod, good),
        }
        given = {plugin: score for plugin, score in scores.items() if score is not None}
        total = {name: sum(score[name] * WEIGHTS.get(plugin, 2) for plugin, score in given.items()) for name in good}
        return feasible, reason, given, total, None

    # --- filters

    def rejection(self, pod: Object, name: str) -> str | None:
        if self.outside_named(pod, name):
            return "NodeAffinity"
        spec = self.nodes[name].get("spec", {})
        tolerations = pod_tolerations(pod)
        if spec.get("unschedulable") and not tolerated(CORDON, tolerations):
            return "NodeUnschedulable"
        if pod["spec"].get("nodeName", name) != name:
            return "NodeName"
        if not self.taints_allow(pod, name):
            return "TaintToleration"
        if not self.affinity_allows(pod, name):
            return "NodeAffinity"
        if not self.ports_allow(pod, name):
            return "NodePorts"
        if not self.resources_allow(pod, name):
            return "NodeResourcesFit"
        if not self.spread_allows(pod, name):
            return "PodTopologySpread"
        if not self.interpod_allows(pod, name):
            return "InterPodAffinity"
        return None

    def outside_named(self, pod: Object, name: str) -> bool:
        union: set[str] = set()
        terms = (required_node_affinity(pod) or {}).get("nodeSelectorTerms") or []
        for term in terms:
            lists = [set(f["values"]) for f in term.get("matchFields", ()) if (f["key"], f["operator"]) == ("metadata.name", "In")]
            if not lists:
                return False
            union |= set.intersection(*lists)
        return bool(terms) and name not in union

    def taints_allow(self, pod: Object, name: str) -> bool:
        taints = parse_taints(self.nodes[name].get("spec", {}).get("taints"))
        assert not isinstance(taints, Malformed)
        return all(taint.effect == "PreferNoSchedule" or tolerated(taint, pod_tolerations(pod)) for taint in taints)

    def affinity_allows(self, pod: Object, name: str) -> bool:
        labels = self.labels(name)
        if not matches(from_labels(pod["spec"].get("nodeSelector")), labels):
            return False
        required = required_node_affinity(pod)
        return required is None or any(matches(parse_node_term(term), labels, name) for term in required["nodeSelectorTerms"])

    def ports_allow(self, pod: Object, name: str) -> bool:
        wanted = host_ports(pod)
        for other in self.pods:
            for theirs in host_ports(other) if other["spec"]["nodeName"] == name else []:
                for mine in wanted:
                    if mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0])):
                        return False
        return True

    def resources_allow(self, pod: Object, name: str) -> bool:
        most = self.allocatable(name)
        if most is None or not self.resources:
            return True
        asked = requests(pod)
        wanted = {resource for resource in asked if asked[resource] and (resource in most or resource not in ("pods", "cpu", "memory"))}
        return all(asked[resource] + self.used(resource, name) <= most.get(resource, 0) for resource in wanted)

    def allocatable(self, name: str) -> dict[str, int] | None:
        listed = self.nodes[name].get("status", {}).get("allocatable")
        return None if listed is None else {resource: amount(resource, text) for resource, text in listed.items()}

    def used(self, resource: str, name: str, **defaults: int) -> int:
        return sum(requests(other, **defaults).get(resource, 0) for other in self.pods if other["spec"]["nodeName"] == name)

    def spread_allows(self, pod: Object, name: str) -> bool:
        hard = [item for item in pod["spec"].get("topologySpreadConstraints", ()) if item["whenUnsatisfiable"] == "DoNotSchedule"]
        for constraint in hard:
            key, selector = constraint["topologyKey"], spread_selector(pod, constraint)
            if key not in self.labels(name):
                return False
            domains: dict[str, int] = {}
            for other in self.nodes:
                labels = self.labels(other)
                if all(item["topologyKey"] in labels for item in hard) and self.included(pod, constraint, other):
                    domains[labels[key]] = domains.get(labels[key], 0) + self.spread_count(pod, selector, other)
            least = min(domains.values(), default=0) if len(domains) >= constraint.get("minDomains", 1) else 0
            own = matches(selector, pod["metadata"]["labels"])
            if domains.get(self.labels(name)[key], 0) + own - least > constraint["maxSkew"]:
                return False
        return True

    def included(self, pod: Object, constraint: Object, name: str) -> bool:
        if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not self.affinity_allows(pod, name):
            return False
        return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or self.taints_allow(pod, name)

    def spread_count(self, pod: Object, selector: Any, name: str) -> int:
        if selector == EVERYTHING:
            return 0
        return sum(
            other["spec"]["nodeName"] == name
            and space(other) == space(pod)
            and "deletionTimestamp" not in other["metadata"]
            and matches(selector, other["metadata"]["labels"])
            for other in self.pods
        )

    def interpod_allows(self, pod: Object, name: str) -> bool:
        labels = self.labels(name)
        required = pod_terms(pod, "podAffinity", REQUIRED)
        if required and not self.company_allows(pod, required, labels):
            return False
        for other in self.pods:
            there = self.labels(other["spec"]["nodeName"])
            for term in pod_terms(pod, "podAntiAffinity", REQUIRED):
                if self.selects(pod, term, other) and same(term["topologyKey"], labels, there):
                    return False
            for term in pod_terms(other, "podAntiAffinity", REQUIRED):
                if self.selected_by(other, term, pod) and same(term["topologyKey"], labels, there):
                    return False
        return True

    def company_allows(self, pod: Object, required: list[Object], labels: dict[str, str]) -> bool:
        if any(term["topologyKey"] not in labels for term in required):
            return False
        pairs = set()
        for other in self.pods:
            if all(self.selects(pod, term, other) for term in required):
                there = self.labels(other["spec"]["nodeName"])
                pairs |= {(term["topologyKey"], there[term["topologyKey"]]) for term in required if term["topologyKey"] in there}
        if not pairs:
            return all(self.selects(pod, term, pod) for term in required)
        return all((term["topologyKey"], labels[term["topologyKey"]]) in pairs for term in required)

    # --- namespaces and selectors of terms

    def selects(self, pod: Object, term: Object, other: Object) -> bool:
        """Whether a term of the incoming pod selects another pod."""
        selector, names, namespace_selector = read_term(pod, term)
        if namespace_selector == EVERYTHING:
            return matches(selector, other["metadata"]["labels"])
        known = space(other) in self.namespaces and matches(namespace_selector, self.namespaces[space(other)])
        return (known or space(other) in names) and matches(selector, other["metadata"]["labels"])

    def selected_by(self, other: Object, term: Object, pod: Object) -> bool:
        """Whether a term of a running pod selects the incoming one."""
        selector, names, namespace_selector = read_term(other, term)
        covered = space(pod) in names or matches(namespace_selector, self.namespaces.get(space(pod), {}))
        return covered and matches(selector, pod["metadata"]["labels"])

    # --- scores

    def taint_scores(self, pod: Object, good: list[str]) -> dict[str, int]:
        relevant = [toleration for toleration in pod_tolerations(pod) if toleration.effect in ("", "PreferNoSchedule")]
        raw = {}
        for name in good:
            taints = parse_taints(self.nodes[name].get("spec", {}).get("taints"))
            assert not isinstance(taints, Malformed)
            raw[name] = sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, relevant) for taint in taints)
        most = max(raw.values())
        return {name: 100 - 100 * score // most if most else 100 for name, score in raw.items()}

    def node_affinity_scores(self, preferences: list[tuple[int, Any]] | None, good: list[str]) -> dict[str, int] | None:
        if preferences is None:
            return None
        raw = {name: sum(weight for weight, term in preferences if matches(term, self.labels(name), name)) for name in good}
        most = max(raw.values())
        return {name: 100 * score // most if most else 0 for name, score in raw.items()}

    def spread_scores(self, pod: Object, good: list[str]) -> dict[str, int] | None:
        own = pod["spec"].get("topologySpreadConstraints")
        constraints = [item for item in own if item["whenUnsatisfiable"] == "ScheduleAnyway"] if own else self.default_spread(pod)
        if not constraints:
            return None
        keys = [item["topologyKey"] for item in constraints] if own else []
        rated = [name for name in good if all(key in self.labels(name) for key in keys)]
        raw = {name: math.floor(self.spread_raw(pod, constraints, keys, rated, name) + 0.5) for name in rated}
        least, most = min(raw.values(), default=0), max(raw.values(), default=0)
        return {name: 0 if name not in raw else 100 * (most + least - raw[name]) // most if most else 100 for name in good}

    def spread_raw(self, pod: Object, constraints: list[Object], keys: list[str], rated: list[str], name: str) -> float:
        raw = 0.0
        for constraint in constraints:
            key, selector = constraint["topologyKey"], constraint.get("selector") or spread_selector(pod, constraint)
            if key not in self.labels(name):
                continue
            if key == HOST:
                count, size = self.spread_count(pod, selector, name), len(rated)
            else:
                size = len({self.labels(other).get(key, "") for other in rated})
                count = sum(
                    self.spread_count(pod, selector, other)
                    for other in self.nodes
                    if all(needed in self.labels(other) for needed in keys)
                    and self.included(pod, constraint, other)
                    and self.labels(other).get(key, "") == self.labels(name)[key]
                )
            raw += count * math.log(size + 2) + (constraint["maxSkew"] - 1)
        return raw

    def default_spread(self, pod: Object) -> list[Object]:
        merged: dict[str, str] = {}
        for service in self.services:
            selector = service["spec"]["selector"]
            if space(service) == space(pod) and selector.items() <= pod["metadata"]["labels"].items():
                merged.update(selector)
        if not merged:
            return []
        return [
            {"topologyKey": HOST, "maxSkew": 3, "selector": from_labels(merged)},
            {"topologyKey": ZONE, "maxSkew": 5, "selector": from_labels(merged)},
        ]

    def interpod_scores(self, pod: Object, good: list[str]) -> dict[str, int] | None:
        pull: dict[tuple[str, str], int] = {}
        for other in self.pods:
            there = self.labels(other["spec"]["nodeName"])
            for key, weight in self.pulls(pod, other):
                if key in there:
                    pull[key, there[key]] = pull.get((key, there[key]), 0) + weight
        if not pull:
            return None
        raw = {name: sum(weight for (key, value), weight in pull.items() if self.labels(name).get(key) == value) for name in good}
        least, most = min(raw.values()), max(raw.values())
        return {name: int(100.0 * (float(score - least) / float(most - least))) if most > least else 0 for name, score in raw.items()}

    def pulls(self, pod: Object, other: Object) -> list[tuple[str, int]]:
        found = []
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for item in pod_terms(pod, kind, PREFERRED):
                if self.selects(pod, item["podAffinityTerm"], other):
                    found.append((item["podAffinityTerm"]["topologyKey"], sign * item["weight"]))
            for item in pod_terms(other, kind, PREFERRED):
                if self.selected_by(other, item["podAffinityTerm"], pod):
                    found.append((item["podAffinityTerm"]["topologyKey"], sign * item["weight"]))
        for term in pod_terms(other, "podAffinity", REQUIRED):
            if self.selected_by(other, term, pod):
                found.append((term["topologyKey"], 1))
        return found

    def least_allocated_scores(self, pod: Object, good: list[str]) -> dict[str, int] | None:
        if not self.resources:
            return None
        scores = {}
        for name in good:
            most, parts = self.allocatable(name) or {}, []
            for resource in ("cpu", "memory"):
                if most.get(resource):
                    taken = self.used(resource, name, **DEFAULTS) + requests(pod, **DEFAULTS)[resource]
                    parts.append((most[resource] - taken) * 100 // most[resource] if taken <= most[resource] else 0)
            scores[name] = sum(parts) // len(parts) if parts else 0
        return scores

    def balance_scores(self, pod: Object, good: list[str]) -> dict[str, int] | None:
        asked = requests(pod)
        if not self.resources or not (asked.get("cpu") or asked.get("memory")):
            return None
        return {name: 50 + (50 + self.balance(name, asked) - self.balance(name, {})) // 2 for name in good}

    def balance(self, name: str, more: dict[str, int]) -> int:
        most = self.allocatable(name) or {}
        taken = [
            min((self.used(resource, name) + more.get(resource, 0)) / most[resource], 1.0)
            for resource in ("cpu", "memory")
            if most.get(resource)
        ]
        return int((1 - abs(taken[0] - taken[1]) / 2) * 100) if len(taken) == 2 else 100

    def labels(self, name: str) -> dict[str, str]:
        labels: dict[str, str] = self.nodes[name]["metadata"]["labels"]
        return labels


WEIGHTS = {"TaintToleration": 3, "NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 1}
DEFAULTS = {"cpu": 100, "memory": 200 * 2**20}
"""What scores count for a container without requests, in thousandths of a CPU and in bytes."""


def requests(pod: Object, **defaults: int) -> dict[str, int]:
    """The sums over the containers of a pod, which asks for nothing in any other way, and one pod."""
    total = {"pods": 1}
    for container in pod["spec"].get("containers", ()):
        listed = container.get("resources", {}).get("requests", {})
        for resource, asked in {**defaults, **{each: amount(each, text) for each, text in listed.items()}}.items():
            total[resource] = total.get(resource, 0) + asked
    return total


def amount(resource: str, text: Any) -> int:
    """A number, a number of thousandths of a CPU, or MiB."""
    if resource == "cpu":
        return int(text[:-1]) if str(text).endswith("m") else 1000 * int(text)
    return int(text[:-2]) * 2**20 if str(text).endswith("Mi") else int(text)


def is_finished(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def space(thing: Object) -> str:
    return str(thing["metadata"].get("namespace") or "default")


def same(key: str, labels: dict[str, str], others: dict[str, str]) -> bool:
    return key in labels and key in others and labels[key] == others[key]


def pod_tolerations(pod: Object) -> Any:
    return parse_tolerations(pod["spec"].get("tolerations"))


def required_node_affinity(pod: Object) -> Any:
    return pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)


def node_preferences(pod: Object) -> list[tuple[int, Any]] | None:
    listed = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED)
    if listed is None:
        return None
    read = [(item["weight"], parse_node_term(item["preference"])) for item in listed]
    return [(weight, term) for weight, term in read if weight and term is not None]


def pod_terms(pod: Object, kind: str, when: str) -> list[Object]:
    terms: list[Object] = pod["spec"].get("affinity", {}).get(kind, {}).get(when, [])
    return terms


def spread_selector(pod: Object, constraint: Object) -> Any:
    return merge_label_keys(
        parse_label_selector(constraint.get("labelSelector")), pod["metadata"]["labels"], constraint.get("matchLabelKeys", ())
    )


def read_term(carrier: Object, term: Object) -> tuple[Any, set[str], Selector | None]:
    keys = (term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ()))
    selector = merge_label_keys(parse_label_selector(term.get("labelSelector")), carrier["metadata"]["labels"], *keys)
    namespace_selector = parse_label_selector(term.get("namespaceSelector"))
    assert not isinstance(namespace_selector, Malformed)
    names = set(term.get("namespaces", ()))
    return selector, names if names or namespace_selector is not None else {space(carrier)}, namespace_selector


def host_ports(pod: Object) -> list[tuple[str, str, int]]:
    """Address, protocol and number of the ports of the host that a pod takes."""
    spec, found = pod["spec"], []
    for container in [*spec.get("containers", ()), *[each for each in spec.get("initContainers", ()) if "restartPolicy" in each]]:
        for port in container["ports"]:
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                found.append((port.get("hostIP", "0.0.0.0"), port.get("protocol", "TCP"), number))
    return found
