"""Replays recorded sequences with volumes: the events of each round, the controllers and drivers that the recording emulates, the steps."""

import copy
from collections.abc import Iterator
from typing import Any

from afflint.kube.quantities import Quantity, parse_quantity
from afflint.scheduler.cluster import Cluster, Verdict

Object = dict[str, Any]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
ARGUMENTS = {
    "persistentVolumes": "persistent_volumes",
    "persistentVolumeClaims": "persistent_volume_claims",
    "storageClasses": "storage_classes",
    "csiNodes": "csi_nodes",
    "csiDrivers": "csi_drivers",
    "csiStorageCapacities": "csi_storage_capacities",
    "volumeAttachments": "volume_attachments",
}
"""The arguments of a cluster for the storage objects of a case."""


def storage_of(case: Object) -> dict[str, Any]:
    return {argument: case.get(field, ()) for field, argument in ARGUMENTS.items()}


class Replay:
    """A sequence that is being replayed: the objects of the cluster now, and the steps of the current round."""

    def __init__(self, case: Object) -> None:
        self.case = case
        self.provision: Object = case["provision"]
        self.nodes = {each["metadata"]["name"]: each for each in copy.deepcopy(case["nodes"])}
        self.csi_nodes = {each["metadata"]["name"]: each for each in case.get("csiNodes", ())}
        self.volumes = {each["metadata"]["name"]: each for each in copy.deepcopy(case.get("persistentVolumes", []))}
        self.claims: dict[str, Object] = {}
        self.created: dict[str, Object] = {}
        """The claims as their manifests create them."""
        self.pods: dict[str, Object] = {}
        self.placements: dict[str, str] = {}

    def rounds(self) -> Iterator[Object]:
        """Yield the result of each round in the form of the recording."""
        for entry in self.case["rounds"]:
            moved = self.apply(entry.get("event", {}))
            for claim in entry.get("persistentVolumeClaims", ()):
                self.created[claim["metadata"]["name"]] = claim
                self.claims[claim["metadata"]["name"]] = copy.deepcopy(claim)
            self.pods.update({each["metadata"]["name"]: each for each in entry.get("pods", ())})
            self.bind_immediate_claims()
            result = self.schedule()
            yield {**result, "moved": moved} if moved else result

    # --- events --------------------------------------------------------------------------------------------------------

    def apply(self, event: Object) -> list[str]:
        """Apply an event, and return the pods that lost their node."""
        for name in event.get("lost", ()):
            self.nodes.pop(name)
            self.csi_nodes.pop(name, None)
        for name in event.get("drained", ()):
            self.nodes[name].setdefault("spec", {})["unschedulable"] = True
        for name in event.get("uncordoned", ()):
            self.nodes[name]["spec"] = {}
        gone = {*event.get("lost", ()), *event.get("drained", ())}
        moved = [pod for pod in self.pods if self.placements.get(pod) in gone]
        for pod in moved:
            del self.placements[pod]
        for name in event.get("claimsDeleted", ()):
            volume = self.claims[name]["spec"].get("volumeName")
            if volume and volume.startswith("pvc-"):
                del self.volumes[volume]
            elif volume:
                self.volumes[volume]["status"]["phase"] = "Released"
            self.claims[name] = copy.deepcopy(self.created[name])
            self.claims[name]["metadata"]["uid"] += "-again"
        return moved

    # --- controllers and drivers ---------------------------------------------------------------------------------------

    def bind_immediate_claims(self) -> None:
        classes = {each["metadata"]["name"]: each for each in self.case.get("storageClasses", ())}
        for claim in self.claims.values():
            storage_class = claim["spec"].get("storageClassName", "")
            mode = classes.get(storage_class, {}).get("volumeBindingMode", "Immediate")
            if claim["spec"].get("volumeName") or mode != "Immediate":
                continue
            fitting = [each for each in self.volumes.values() if is_candidate(each, claim)]
            if fitting:
                self.bind(claim, min(fitting, key=lambda each: (size(each["spec"]["capacity"]), each["metadata"]["name"])))
            elif storage_class in self.provision:
                value = self.provision[storage_class].get("assign", {}).get(claim["metadata"]["name"])
                self.bind(claim, self.new_volume(claim, dict.fromkeys(self.provision[storage_class]["keys"], value)))

    def new_volume(self, claim: Object, labels: dict[str, Any]) -> Object:
        """The volume that the driver of a class makes for a node with these labels."""
        given = self.provision[claim["spec"]["storageClassName"]]
        expressions = []
        for key in given["keys"]:
            values = [labels.get(key) or ""]
            if given.get("values") == 2:
                others = sorted({each["metadata"]["labels"].get(key) or "" for each in self.nodes.values()} - {values[0], ""})
                values = sorted([*values, *others[:1]])
            expressions.append({"key": key, "operator": "In", "values": values})
        name = f"pvc-{claim['metadata']['name']}"
        spec = {"storageClassName": claim["spec"]["storageClassName"], "capacity": claim["spec"]["resources"]["requests"]}
        if expressions:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
        classes = {each["metadata"]["name"]: each for each in self.case.get("storageClasses", ())}
        spec["csi"] = {"driver": classes[claim["spec"]["storageClassName"]]["provisioner"], "volumeHandle": name}
        self.volumes[name] = {"metadata": {"name": name}, "spec": {**spec, "accessModes": claim["spec"]["accessModes"]}}
        return self.volumes[name]

    def bind(self, claim: Object, volume: Object) -> None:
        meta = claim["metadata"]
        volume["spec"]["claimRef"] = {name: meta.get(name, "") for name in ("namespace", "name", "uid")}
        volume["status"] = {"phase": "Bound"}
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        meta.setdefault("annotations", {})[BIND_COMPLETED] = "yes"

    # --- scheduling ----------------------------------------------------------------------------------------------------

    def cluster(self) -> Cluster:
        running = [
            {**pod, "spec": {**pod["spec"], "nodeName": node}} for name, node in self.placements.items() for pod in [self.pods[name]]
        ]
        storage = {
            **self.case, "persistentVolumes": [*self.volumes.values()], "persistentVolumeClaims": [*self.claims.values()],
            "csiNodes": [*self.csi_nodes.values()],
        }  # fmt: skip
        return Cluster(
            [*self.nodes.values()],
            [*self.case["existing"], *running],
            self.case["namespaces"],
            stateful_sets=self.case.get("statefulSets", ()),
            new_volumes={name: tuple(each["keys"]) for name, each in self.provision.items()},
            **storage_of(storage),
        )

    def schedule(self) -> Object:
        steps, first, unschedulable = [], True, {}
        waiting = [name for name in self.pods if name not in self.placements]
        lasting = self.cluster()
        while waiting:
            placed = 0
            for name in waiting:
                verdict = self.cluster().evaluate(self.pods[name])
                if all(each.get("values") != 2 for each in self.provision.values()):
                    # A cluster in which the pods before were bound says the same as one that is made of the objects after that.
                    again = lasting.evaluate(self.pods[name])
                    assert (again, again.messages, again.bindings) == (verdict, verdict.messages, verdict.bindings), name
                step = self.step(name, verdict)
                if step["node"]:
                    placed += 1
                    lasting.bind(self.pods[name], step["node"])
                    unschedulable.pop(name, None)
                else:
                    unschedulable[name] = verdict.reason
                if step["node"] or first:
                    steps.append(step)
            first = False
            waiting = [name for name in waiting if name not in self.placements] if placed else []
        return {
            "steps": steps,
            "placements": dict(self.placements),
            "unschedulable": unschedulable,
            "claims": {name: each["spec"].get("volumeName", "") for name, each in self.claims.items()},
            "volumeNodeAffinity": {
                each["spec"]["volumeName"]: self.volumes[each["spec"]["volumeName"]]["spec"].get("nodeAffinity")
                for each in self.claims.values() if each["spec"].get("volumeName")
            },
        }  # fmt: skip

    def step(self, name: str, verdict: Verdict) -> Object:
        feasible = [node for node, fits in verdict.feasible.items() if fits]
        most = max(verdict.total.values(), default=0)
        best = [node for node in feasible if verdict.total[node] == most]
        step: Object = {"pod": name, "node": best[0] if best else "", "feasible": feasible}
        found = {
            "best": best, "reason": verdict.reason, "message": verdict.messages, "total": verdict.total,
            "volumeScore": verdict.scores.get("VolumeBinding", {}),
        }  # fmt: skip
        if best:
            self.placements[name] = best[0]
            found["bound"] = self.bind_claims(verdict.bindings.get(best[0], {}), best[0])
        return {**step, **{field: value for field, value in found.items() if value}}

    def bind_claims(self, bindings: dict[str, str], node: str) -> dict[str, str]:
        for name, volume in bindings.items():
            claim = self.claims[name]
            made = volume == "(provision)"
            self.bind(claim, self.new_volume(claim, self.nodes[node]["metadata"]["labels"]) if made else self.volumes[volume])
        return {name: self.claims[name]["spec"]["volumeName"] for name in bindings}


def size(amounts: dict[str, Any]) -> int:
    return (parse_quantity(amounts.get("storage", 0)) or Quantity(0)).nanos


def is_candidate(volume: Object, claim: Object) -> bool:
    """Whether the controller of volumes binds a claim to a volume without looking at nodes."""
    return (
        volume["status"]["phase"] == "Available"
        and volume["spec"].get("storageClassName", "") == claim["spec"].get("storageClassName", "")
        and size(volume["spec"]["capacity"]) >= size(claim["spec"]["resources"]["requests"])
        and volume["spec"].get("volumeMode", "Filesystem") == claim["spec"].get("volumeMode", "Filesystem")
    )
