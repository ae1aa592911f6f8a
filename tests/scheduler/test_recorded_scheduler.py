"""Preemption, configured profiles, images, resizes and declared features against recorded answers of kube-scheduler 1.37."""

import re
from collections.abc import Mapping
from typing import Any

from volume_sequences import ARGUMENTS, storage_of

from afflint.kube.selectors import Selector, parse_label_selector
from afflint.scheduler.cluster import WEIGHTS, Cluster
from afflint.scheduler.configuration import read_profiles
from afflint.scheduler.pods import Pod
from afflint.scheduler.preemption import Allowance, Rank, preempt, waits_for_victims
from cluster_objects import Object
from exactness import counted
from shared_material import cases

VERSION = (1, 37)
OWNERS = {
    "services": "services",
    "replicaSets": "replica_sets",
    "statefulSets": "stateful_sets",
    "replicationControllers": "replication_controllers",
}
"""The arguments of a cluster for the objects of a case that spread pods by default."""


def reporting_all(node: Object) -> Object:
    """The node with an amount of each resource that kubelets report: afflint takes one that is missing as unknown, not as 0."""
    status = node["status"]
    return {**node, "status": {**status, "allocatable": {"ephemeral-storage": "0", **status["allocatable"]}}}


def cluster_of(case: Object, **more: Any) -> Cluster:
    storage = storage_of(case) if any(field in case for field in ARGUMENTS) else {}
    owners = {argument: case.get(field, ()) for field, argument in OWNERS.items()}
    nodes = [reporting_all(node) for node in case["nodes"]]
    return Cluster(nodes, case["existing"], case["namespaces"], resources=True, version=VERSION, **owners, **storage, **more)


def failure(error: str | None) -> str | None:
    """The extension point and the plugin that fails, out of the scheduler's message."""
    message = re.match(r'(\w+) : running \w+ plugin "(\w+)"', error or "")
    return " ".join(message.groups()) if message else error


def without_zeros(scores: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    """The scores of plugins that prefer a node: a plugin that is skipped and one that scores all nodes 0 are equal."""
    return {plugin: by_node for plugin, by_node in scores.items() if any(by_node.values())}


def unresolvable(cluster: Cluster, pod: Object, reason: Mapping[str, str]) -> set[str]:
    """The nodes that reject the pod for a reason that the removal of other pods does not change."""
    resolvable = cluster.resolvable_nodes(cluster.read(pod))
    return set() if resolvable is None else set(reason).difference(resolvable)


def difference(case: Object, cluster: Cluster, weights: Mapping[str, int]) -> list[str]:
    """The parts of a verdict that are not as recorded. The recorded scores have their weights."""
    expected = case["answer"]
    verdict = cluster.evaluate(case["pod"])
    weighted = {plugin: {node: weights[plugin] * score for node, score in each.items()} for plugin, each in verdict.scores.items()}
    parts = {
        "feasible": (verdict.feasible, {} if verdict.error and "PreFilter" in verdict.error else expected.get("feasible", {})),
        "reason": (verdict.reason, expected.get("reason", {})),
        "unresolvable": (unresolvable(cluster, case["pod"], verdict.reason), set(expected.get("unresolvable", ()))),
        "scores": (without_zeros(weighted), without_zeros(expected.get("scores", {}))),
        "total": (verdict.total, expected.get("total", {})),
        "error": (verdict.error, failure(expected.get("error"))),
    }
    return [f"{case['id']} {part}" for part, (found, wanted) in parts.items() if found != wanted]


class TestPreemption:
    def test_every_candidate_and_its_victims(self) -> None:
        recorded = cases("preemption_cases.jsonl.gz")
        wrong = [part for case in recorded for part in self.differences(case)]
        assert wrong == []
        counted("preemption: possible nodes, candidates, victims, violated budgets, the chosen node", len(recorded), len(recorded))

    def differences(self, case: Object) -> list[str]:
        """The parts of a preemption that are not as recorded: nodes, candidates with their victims, the choice."""
        cluster, expected = cluster_of(case), case["answer"]
        for each in case["existing"]:
            if "nominatedNodeName" in each["status"]:
                # These pods were not in the queue of the recorded scheduler, which knew only their names then (`nominatedPodToInfo`).
                bare = {"name": each["metadata"]["name"], "namespace": each["metadata"]["namespace"]}
                cluster.nominate(cluster.read({"metadata": bare, "status": each["status"]}))
        pod = cluster.read(case["pod"])
        verdict = cluster.evaluate(pod)
        found: dict[str, Any] = {"feasible": verdict.feasible, "reason": verdict.reason}
        if not any(verdict.feasible.values()):
            found |= self.preemption(case, cluster, pod)
        recorded = expected.get("preemption", {})
        wanted = {"feasible": expected["feasible"], "reason": expected["reason"]}
        if recorded:
            wanted |= {
                "eligible": "ineligible" not in recorded,
                "candidates": {node: (set(each["victims"]), each["violations"]) for node, each in recorded["candidates"].items()},
                "chosen": bool(recorded["chosen"]),
            }
            found["chosen"] = found["chosen"] in recorded["chosen"] if recorded["chosen"] else found["chosen"] is not None
        return [f"{case['id']} {part}" for part in {*found, *wanted} if found.get(part) != wanted.get(part)]

    def preemption(self, case: Object, cluster: Cluster, pod: Pod) -> dict[str, Any]:
        running = [each for each in case["existing"] if "nodeName" in each["spec"]]
        ranks = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): Rank(
                each["spec"].get("priority", 0), each["status"].get("startTime", "")
            )
            for each in running
        }
        allowances = []
        for budget in case["pdbs"]:
            selector, status = parse_label_selector(budget["spec"].get("selector")), budget["status"]
            chosen = selector if isinstance(selector, Selector) else None
            disrupted = frozenset(status.get("disruptedPods", {}))
            allowances.append(Allowance(budget["metadata"]["namespace"], chosen, status["disruptionsAllowed"], disrupted))
        never = case["pod"]["spec"].get("preemptionPolicy") == "Never"
        if never or waits_for_victims(cluster, pod, pod.priority, ranks.get):
            return {"eligible": False, "candidates": {}, "chosen": None}
        found = preempt(cluster, pod, pod.priority, ranks.get, allowances)
        candidates = {each.node: ({"/".join(victim.key) for victim in each.victims}, each.violations) for each in found.candidates}
        return {"eligible": True, "candidates": candidates, "chosen": found.node}


class TestProfiles:
    def test_every_profile_of_every_configuration(self) -> None:
        recorded = cases("profile_cases.jsonl.gz")
        evaluated = 0
        wrong = []
        for case in recorded:
            profiles = read_profiles(case["config"])
            profile = profiles.get(case["pod"]["spec"].get("schedulerName") or "default-scheduler")
            if profile is None or profile.unknown:
                continue
            evaluated += 1
            if "config_error" in case or "answer" not in case:
                wrong.append(case["id"])
                continue
            weights = WEIGHTS if profile.weights is None else profile.weights
            wrong += difference(case, cluster_of(case, profiles=profiles), weights)
        assert wrong == []
        counted("scheduling with a configured profile", evaluated, evaluated)


class TestResourcesImagesAndFeatures:
    def test_every_pod(self) -> None:
        recorded = cases("fresh4_scheduling.jsonl.gz")
        wrong = [part for case in recorded for part in difference(case, cluster_of(case), WEIGHTS)]
        assert wrong == []
        counted("scheduling with images, resizes, pod-level resources, declared features and volumes", len(recorded), len(recorded))
