"""No plan promises what the scheduler refuses: each predicted node of random clusters is checked against the constraints, one by one.

The check reads the manifests and the plan. It shares no code with the simulation.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_objects import HOST, ZONE, Object, app, node, spread
from command_line import Afflint
from test_place_volumes import Plan, Situation, apart, claim, deployment, machine, stateful_set, storage_class, volume

KVM = {f"devices.kubevirt.io/{device}": "1k" for device in ("kvm", "tun", "vhost-net")}
SCHEDULABLE = "kubevirt.io/schedulable"
REGIONAL, ONCE = "ReadWriteMany", "ReadWriteOncePod"
CLASSES = {"zonal": ZONE, "local": HOST}
"""The classes whose volumes stay in the zone or on the node of the first pod."""
some = st.sampled_from


class App:
    """A workload as drawn: its manifest, the pod spec that its constraints are in, and what its volumes require."""

    def __init__(
        self, name: str, manifest: Object, spec: Object, cpu: int, topology: tuple[str, str] | None, stays: str, mode: str
    ) -> None:
        self.name, self.manifest, self.spec, self.cpu = name, manifest, spec, cpu
        self.topology = topology
        """The label of the nodes that can use its existing volume."""
        self.stays = stays
        """The label key whose value a new volume keeps."""
        self.mode = mode
        """The access mode of its claim; empty without a claim that exists."""

    @property
    def key(self) -> str:
        return f"{self.manifest['kind']} default/{self.name}"


class Drawn:
    """A cluster, its workloads, and the objects for their volumes."""

    def __init__(self, nodes: list[Object], apps: list[App], storage: list[Object], zones: list[str]) -> None:
        self.nodes = {each["metadata"]["name"]: each for each in nodes}
        self.apps, self.storage = apps, storage
        self.zones = zones
        """The zones in which a class allows new volumes; empty if all."""

    def __repr__(self) -> str:
        return repr((list(self.nodes.values()), [each.manifest for each in self.apps], self.storage))

    def label(self, name: str, key: str) -> str | None:
        labels: dict[str, str] = self.nodes[name]["metadata"]["labels"]
        return labels.get(key)


@st.composite
def clusters(draw: st.DrawFn) -> Drawn:
    nodes = [_node(draw, f"n{number}") for number in range(draw(st.integers(4, 7)))]
    zones = draw(some(([], [], ["a"], ["a", "b"])))
    topologies = {"allowedTopologies": [{"matchLabelExpressions": [{"key": "topology.ebs.csi.aws.com/zone", "values": zones}]}]}
    storage = [storage_class("zonal", "ebs.csi.aws.com", **(topologies if zones else {})), storage_class("local", "rancher.io/local-path")]
    apps = []
    for number in range(draw(st.integers(2, 5))):
        each, objects = _app(draw, f"app{number}", [each["metadata"]["name"] for each in nodes])
        apps.append(each)
        storage += objects
    return Drawn(nodes, apps, storage, zones)


def _node(draw: st.DrawFn, name: str) -> Object:
    zone = draw(some("aabc"))
    labels = {HOST: name, ZONE: zone, "topology.ebs.csi.aws.com/zone": zone, SCHEDULABLE: "true", "disk": draw(some(("ssd", "hdd")))}
    taints = ["dedicated=db:NoSchedule"] if draw(some((False, False, False, True))) else []
    allocatable = {"cpu": str(draw(st.integers(2, 4))), "memory": "16Gi", "pods": "20", **KVM}
    return {**node(name, labels, taints=taints), "status": {"allocatable": allocatable}}


def _app(draw: st.DrawFn, name: str, names: list[str]) -> tuple[App, list[Object]]:
    cpu, kind = draw(some((1, 1, 2))), draw(some(("deployment", "claim", "stateful", "stateful", "machine", "machine")))
    spec: Object = draw(
        some(
            (
                {},
                {},
                {"nodeSelector": {"disk": "ssd"}},
                apart(HOST, name),
                apart(ZONE, name),
                {"topologySpreadConstraints": [spread(ZONE, app(name))]},
                {"topologySpreadConstraints": [spread(HOST, app(name))]},
            )
        )
    )
    if draw(st.booleans()):
        spec = {**spec, "tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    topology = draw(some(((ZONE, "a"), (ZONE, "b"), (HOST, names[0]))))
    objects: list[Object] = []
    if kind == "machine":
        shared = draw(some(("", REGIONAL, "ReadWriteOnce")))
        if shared:
            objects = [volume(f"pv-{name}", f"pvc-{name}", *topology, modes=(shared,)), claim(f"pvc-{name}", "some", shared)]
        manifest = _machine(name, cpu, f"pvc-{name}" if shared else "", spec)
        return App(name, manifest, spec, cpu, topology if shared else None, "", shared), objects
    requests = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": str(cpu)}}}]}
    if kind == "stateful":
        storage = draw(some(("zonal", "local")))
        return App(
            name, stateful_set(name, draw(st.integers(1, 3)), storage, **spec, **requests), spec, cpu, None, CLASSES[storage], ""
        ), []
    if kind == "deployment":
        return App(name, deployment(name, draw(st.integers(1, 4)), **spec, **requests), spec, cpu, None, "", ""), []
    mode = draw(some((ONCE, REGIONAL)))
    objects = [volume(f"pv-{name}", f"pvc-{name}", *topology, modes=(mode,)), claim(f"pvc-{name}", "some", mode)]
    manifest = deployment(name, draw(st.integers(1, 2)), f"pvc-{name}", **spec, **requests)
    return App(name, manifest, spec, cpu, topology, "", mode), objects


def _machine(name: str, cpu: int, claim: str, spec: Object) -> Object:
    whole = machine(name, {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDisk": {"capacity": "1Gi"}})
    template = whole["spec"]["template"]
    template["metadata"] = {"labels": {"app": name}}
    template["spec"]["domain"]["resources"] = {"requests": {"cpu": str(cpu)}}
    template["spec"].update(spec)
    return whole


class Check:
    """Checks where pods are said to run. ``at`` is a node by pod; a pod is named by its workload and its own name."""

    def __init__(self, drawn: Drawn, plan: Plan) -> None:
        self.drawn = drawn
        self.apps = {each.key: each for each in drawn.apps}
        self.before = {
            (key, replica["pod"]): replica["node"]
            for key, workload in plan.workloads.items()
            for replica in workload["replicas"]
            if replica["node"] is not None
        }

    def placed(self) -> None:
        self.settled(self.before, {})
        for (key, _), name in self.before.items():
            assert self.apps[key].stays != ZONE or not self.drawn.zones or self.drawn.label(name, ZONE) in self.drawn.zones

    def settled(self, at: dict[tuple[str, str], str], ending: dict[tuple[str, str], str]) -> None:
        """Check what does not depend on the order of moves. ``ending`` are pods in deletion on failed nodes."""
        cpu: Counter[str] = Counter()
        for (key, pod), name in at.items():
            each, found = self.apps[key], self.drawn.nodes[name]
            cpu[name] += each.cpu
            assert not found["spec"].get("taints") or "tolerations" in each.spec, (key, pod, name, "taint")
            for label, value in each.spec.get("nodeSelector", {}).items():
                assert self.drawn.label(name, label) == value, (key, pod, name, "selector")
            if each.topology is not None:
                assert self.drawn.label(name, each.topology[0]) == each.topology[1], (key, pod, name, "volume")
            if each.stays and (key, pod) in self.before:
                there = self.before[key, pod]
                assert self.drawn.label(name, each.stays) == self.drawn.label(there, each.stays), (key, pod, name, "new volume")
            others = [where for other, where in at.items() if other[0] == key and other[1] != pod]
            if (key, pod) not in self.before or name != self.before[key, pod]:
                # A pod that stays was there before the pods on failed nodes were deleted.
                others += [where for other, where in ending.items() if other[0] == key]
            assert each.mode != ONCE or not others, (key, pod, name, "ReadWriteOncePod")
            for anti in self._terms(each):
                domains = {self.drawn.label(where, anti) for where in others}
                assert self.drawn.label(name, anti) not in domains, (key, pod, name, "anti-affinity")
        for name, total in cpu.items():
            assert total <= int(self.drawn.nodes[name]["status"]["allocatable"]["cpu"]), (name, "cpu")

    @staticmethod
    def _terms(each: App) -> list[str]:
        anti = each.spec.get("affinity", {}).get("podAntiAffinity", {}).values()
        return [one["topologyKey"] for listed in anti for one in listed]

    def effect(self, loss: Any, moves: list[Any], action: str) -> None:
        """Check the moves of one disruption against the state that it leaves."""
        gone = set(loss["nodes"])
        at = dict(self.before)
        ending: dict[tuple[str, str], str] = {}
        targets: dict[tuple[str, str], str] = {}
        for move in moves:
            identity = (move["workload"], move["pod"])
            if move["target"] is not None:
                assert move["target"] not in gone, (action, identity, "target is gone")
                targets[identity] = move["target"]
                if move["fate"] == "migrated":
                    assert self.apps[move["workload"]].mode in ("", REGIONAL), (identity, "cannot migrate")
            if action == "lose" and move["fate"] in ("recreated", "waits", "held", "attaching"):
                ending[identity] = at[identity]
            if move["fate"] != "stays" or action == "remove":
                at.pop(identity, None)
        left = {identity: name for identity, name in at.items() if name not in gone or action != "remove"}
        self.settled({identity: name for identity, name in at.items() if name not in gone} | targets, ending)
        for key, each in self.apps.items():
            if "topologySpreadConstraints" in each.spec:
                self._spread(each, key, left, targets, gone if action == "remove" else set())
        self._outcomes(loss, moves, targets)

    def _spread(self, each: App, key: str, left: dict[Any, str], targets: dict[Any, str], removed: set[str]) -> None:
        """Check that the pods of a workload can be scheduled in some order, one at a time or after all others are gone."""
        label = each.spec["topologySpreadConstraints"][0]["topologyKey"]
        selector = each.spec.get("nodeSelector", {}).items()
        domains = {
            found["metadata"]["labels"][label]
            for name, found in self.drawn.nodes.items()
            if name not in removed and selector <= found["metadata"]["labels"].items()
        }
        moving: dict[Any, str | None] = {identity: name for identity, name in targets.items() if identity[0] == key}
        # A pod that finds no node counts until it is deleted.
        waiting: dict[Any, str | None] = {each: None for each in self.before if each[0] == key and each not in left and each not in targets}
        staying = [self.drawn.label(name, label) for identity, name in left.items() if identity[0] == key]
        leaving = [self.drawn.label(self.before[identity], label) for identity in moving | waiting if identity in self.before]
        assert not moving or any(
            self._in_order([(identity, (moving | waiting)[identity]) for identity in order], label, domains, Counter(start), one_by_one)
            for order in permutations(moving | waiting)
            for start, one_by_one in ((staying, False), (staying + leaving, True))
        ), (key, moving, "spread")

    def _in_order(self, order: list[tuple[Any, str | None]], label: str, domains: set[str], counts: Counter[Any], one_by_one: bool) -> bool:
        for identity, target in order:
            if one_by_one and identity in self.before:
                counts[self.drawn.label(self.before[identity], label)] -= 1
            if target is None:
                continue
            domain = self.drawn.label(target, label)
            counts[domain] += 1
            if counts[domain] - min(counts[each] for each in domains) > 1:
                return False
        return True

    def _outcomes(self, loss: Any, moves: list[Any], targets: dict[Any, str]) -> None:
        lost = Counter(move["workload"] for move in moves if move["target"] is None and (move["workload"], move["pod"]) in self.before)
        for key, outcome in loss["outcomes"].items():
            running = sum(identity[0] == key for identity in self.before)
            # Replicas that were Pending can take the place of others.
            pending = self.apps[key].manifest["spec"].get("replicas", 1) - running
            assert outcome not in ("survives", "interrupted") or lost[key] <= pending, (key, outcome)
            assert outcome != "dead" or not [identity for identity in targets if identity[0] == key], (key, outcome)


def _effects(plan: Plan) -> Iterator[tuple[Any, list[Any], str]]:
    for loss in plan.losses:
        yield loss, loss["moves"], loss["action"]
        if loss.get("removed"):
            yield {**loss, "outcomes": loss["removed"]["outcomes"]}, loss["removed"]["moves"], "remove"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(clusters())
def test_every_predicted_node_is_possible(afflint: Afflint, tmp_path: Path, drawn: Drawn) -> None:
    manifests = [*drawn.storage, *[each.manifest for each in drawn.apps]]
    words = ("--drain", "each:node", "--lose", "each:node", "--lose", "each:zone", "--remove", "each:node")
    plan = Situation(afflint, tmp_path).plan(list(drawn.nodes.values()), manifests, *words)
    check = Check(drawn, plan)
    check.placed()
    for loss, moves, action in _effects(plan):
        check.effect(loss, moves, action)
