"""What `afflint place` answers about files that a test has in memory."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from afflint import config
from afflint.pipeline.session import Session
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.schedule import build_schedule
from afflint.report.place import json_report
from afflint.simulation.inputs import PlaceInputs, inputs_of
from afflint.source.sources import Source
from cluster_objects import ZONE, Object
from workload_objects import create_pods


def as_list(objects: Sequence[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def as_json(objects: Sequence[Object]) -> bytes:
    return json.dumps(as_list(objects), indent=1).encode()


class Answer:
    """A plan, in the words of its JSON report."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report
        self.placed = {
            each["key"]: {replica["pod"]: replica["node"] for replica in each["replicas"] if replica["node"] is not None}
            for each in report["workloads"]
        }
        self.pending = {each["key"]: sum(replica["node"] is None for replica in each["replicas"]) for each in report["workloads"]}
        self.feasible = {
            each["key"]: {verdict["node"] for verdict in each["verdicts"] if verdict["feasible"]} for each in report["workloads"]
        }
        """The nodes that accept the first replica of each workload."""
        self.outcomes = {(each["action"], each["what"]): each["outcomes"] for each in report["losses"]}
        """The outcome for each workload by disruption."""


class Plans:
    """Makes plans of files in a folder, each with the failure of every node and zone and the drain of every node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def inputs(self, files: Mapping[str, bytes]) -> PlaceInputs:
        sources = [Source(name, str(self.folder / name), data) for name, data in files.items()]
        return inputs_of(Session(config.default()), sources)

    def of(self, files: Mapping[str, bytes]) -> Answer:
        given = self.inputs(files).simulation_input
        zones = ["each:zone"] if any(ZONE in node.labels for node in given.nodes) else []
        asked = DisruptionRequest(["each:node", *zones], ["each:node"])
        plan = make_plan(given.inventory, given.pod_sources, asked=asked, budgets=given.budgets)
        return Answer(json.loads("".join(json_report.render(plan))))

    def of_objects(self, objects: Sequence[Object]) -> Answer:
        return self.of({"all.json": as_json(objects)})

    def pods_of(self, answer: Answer, objects: Sequence[Object]) -> list[Object]:
        """The pods of an answer, running on the nodes that it names, as a cluster stores them."""
        given = self.inputs({"all.json": as_json(objects)}).simulation_input
        empty = build_schedule(given.inventory, given.pod_sources).before
        pods = [(answer.placed[each.key], pod) for each in given.pod_sources for pod in create_pods(each, empty)]
        return [
            {**pod, "spec": {**pod["spec"], "nodeName": nodes[pod["metadata"]["name"]]}, "status": {"phase": "Running"}}
            for nodes, pod in pods
            if pod["metadata"]["name"] in nodes
        ]
