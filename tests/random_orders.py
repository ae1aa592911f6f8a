"""Generated clusters with their workloads, and random orders in which the scheduler and the controllers may act on them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import compile_template
from afflint.controllers.rollouts import RollingUpdate, rolling_update
from afflint.placement.schedule import Schedule
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod
from cluster_objects import HOST, ZONE, Object, apart, app, node, node_terms, spread, term, together
from workload_objects import VMI, pod_source

KEYS = (HOST, ZONE, ZONE, "rack")
KINDS = ("Deployment", "Deployment", "Deployment", "StatefulSet", "VirtualMachineInstanceReplicaSet", "VirtualMachine")


# --- what is drawn -----------------------------------------------------------------------------------------------------


def drawn_nodes(random: Random) -> list[Object]:
    """Between two and seven nodes in up to three zones; some lack a label, are tainted or cordoned."""
    nodes = []
    for number in range(random.randint(2, 7)):
        labels = {HOST: f"n{number}", ZONE: random.choice("aabbc"), "rack": random.choice("rs"), "disk": random.choice("fs")}
        if random.random() < 0.1:
            del labels[random.choice([ZONE, "rack", HOST])]
        taints = ["t:NoSchedule"] if random.random() < 0.15 else None
        nodes.append(node(f"n{number}", labels, taints=taints, cordoned=random.random() < 0.08))
    return nodes


def drawn_workload(random: Random, name: str, most: int = 6) -> PodSource:
    """A workload with constraints on nodes, on its own pods and on those of the workloads x and y."""

    def selected() -> Object:
        return random.choice([app(name), app(name), app("x"), app("y"), {"matchLabels": {"tier": "t"}}])

    kind = random.choice(KINDS)
    per_revision: dict[str, Any] = {}
    label = {"Deployment": "pod-template-hash", "StatefulSet": "controller-revision-hash"}.get(kind)
    if label and random.random() < 0.4:
        per_revision = {"matchLabelKeys": [label]}
    spec: dict[str, Any] = {"domain": VMI["domain"]} if kind.startswith("Virtual") else {}
    affinity: Object = {}
    more: dict[str, Any]
    if random.random() < 0.2:
        affinity |= node_terms("disk In " + random.choice("fs"))
    if random.random() < 0.6:
        terms = [
            term(random.choice(KEYS), selected(), **(per_revision if random.random() < 0.6 else {})) for _ in range(random.randint(1, 2))
        ]
        affinity |= apart(*terms)
    if random.random() < 0.2:
        affinity |= together(term(random.choice(KEYS), selected(), **(per_revision if random.random() < 0.3 else {})))
    constraints = []
    while random.random() < 0.5 and len(constraints) < 2:
        more = dict(per_revision) if random.random() < 0.5 else {}
        if random.random() < 0.3:
            more["minDomains"] = random.randint(2, 4)
        if random.random() < 0.3:
            more["nodeTaintsPolicy"] = "Honor"
        if random.random() < 0.2:
            more["nodeAffinityPolicy"] = "Ignore"
        constraints.append(spread(random.choice(KEYS), selected(), random.choice([1, 1, 2]), **more))
    if constraints:
        spec["topologySpreadConstraints"] = constraints
    if random.random() < 0.1:
        spec["containers"] = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    if random.random() < 0.15:
        spec["tolerations"] = [{"operator": "Exists"}]
    labels = {"app": name, **({"tier": "t"} if random.random() < 0.5 else {})}
    rolling = {"maxSurge": random.randint(0, 3), "maxUnavailable": random.randint(0, 2)}
    strategy = {"rollingUpdate": rolling} if kind == "Deployment" and random.random() < 0.9 else {}
    if kind == "Deployment" and not strategy:
        strategy = {"type": "Recreate"}
    replicas = 1 if kind == "VirtualMachine" else random.randint(1, most)
    return pod_source(name, kind, replicas, labels=labels, affinity=affinity, strategy=strategy, **spec)


def drawn_cluster(random: Random) -> tuple[list[Object], list[PodSource]]:
    """Nodes and one to three workloads."""
    return drawn_nodes(random), [drawn_workload(random, name) for name in "xyz"[: random.choice([1, 1, 2, 3])]]


def manifest(pod_source: PodSource) -> Object:
    """The manifest of a workload that was drawn."""
    containers = pod_source.pod.get("containers", [{"name": "c"}])
    pod = {**pod_source.pod, "containers": [{**each, "image": "c"} for each in containers]}
    template = dict(pod_source.pod) if pod_source.kubevirt else pod
    spec: Object = {"template": {"metadata": {"labels": dict(pod_source.labels)}, "spec": template}}
    if pod_source.kind == "VirtualMachine":
        spec["running"] = True
    else:
        spec |= {"replicas": pod_source.replicas, "selector": pod_source.selector}
    if pod_source.strategy:
        spec["strategy"] = dict(pod_source.strategy)
    version = "kubevirt.io/v1" if pod_source.kubevirt else "apps/v1"
    metadata = {"name": pod_source.name, "namespace": pod_source.namespace}
    return {"apiVersion": version, "kind": pod_source.kind, "metadata": metadata, "spec": spec}


def drawn_objects(random: Random) -> list[Object]:
    """The manifests of a cluster, whose pods request parts of its nodes: nodes, workloads, and budgets for some of them."""
    nodes, workloads = drawn_cluster(random)
    objects: list[Object] = [
        {**each, "status": {"allocatable": {"cpu": f"{random.choice([2, 4])}", "memory": "16Gi", "pods": "20"}}} for each in nodes
    ]
    for made in map(manifest, workloads):
        template = made["spec"]["template"]["spec"]
        for holder in [template["domain"]] if "domain" in template else template["containers"]:
            holder["resources"] = {"requests": {"cpu": random.choice(["100m", "1", "2"])}}
        objects.append(made)
        if random.random() < 0.3:
            selector = {"matchLabels": {"app": made["metadata"]["name"]}}
            metadata = {"name": made["metadata"]["name"], "namespace": made["metadata"]["namespace"]}
            spec = {"selector": selector, "maxUnavailable": random.randint(0, 1)}
            objects.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    return objects


# --- orders ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Replica:
    """A pod that exists, of a revision of a workload; without a node it is Pending."""

    workload: int
    revision: int
    pod: Pod
    node: str | None = None


class RandomOrder:
    """One order of scheduling, each pod on any node that accepts it, and what may happen after it.

    ``cluster`` has no pods of these workloads. With ``best``, the scheduler takes any of the nodes with the best score.
    """

    def __init__(self, cluster: Cluster, pod_sources: list[PodSource], random: Random, *, best: bool = False) -> None:
        self.cluster = cluster.copy()
        self.pod_sources = pod_sources
        self.random = random
        self.best = best
        self.revisions = [0] * len(pod_sources)
        self.replicas: list[Replica] = []
        self._created = 0
        self._templates: dict[tuple[int, int, int], Pod] = {}
        for workload, each in enumerate(pod_sources):
            for index in range(each.replicas):
                self._create(workload, 0, index)

    def adopt(self, schedule: Schedule) -> None:
        """Begin with the pods on the nodes where a schedule has them."""
        for workload, placed in enumerate(schedule.workloads):
            names = iter([placed.nodes.get(pod.key) for pod in placed.pods])
            for each in [each for each in self.replicas if each.workload == workload]:
                each.node = next(names)
                if each.node is not None:
                    self.cluster.bind(each.pod, each.node)

    def placed(self, workload: int, revision: int | None = None) -> list[Replica]:
        """The pods of a workload that have a node."""
        return [each for each in self.replicas if each.workload == workload and each.node is not None and revision in (None, each.revision)]

    def template(self, workload: int, revision: int, index: int = 0) -> Pod:
        """A pod as the controller creates it."""
        key = workload, revision, index
        if key not in self._templates:
            self._templates[key] = compile_template(self.pod_sources[workload], self.cluster, "", index=index, revision=revision)
        return self._templates[key]

    def _create(self, workload: int, revision: int, index: int = 0) -> None:
        self._created += 1
        pod = self.template(workload, revision, index)._replace(name=f"{workload}-{index}-{self._created}")
        self.replicas.append(Replica(workload, revision, pod))

    def _remove(self, replica: Replica) -> None:
        if replica.node is not None:
            self.cluster.unbind(replica.pod)
        self.replicas.remove(replica)

    def schedule(self) -> Iterator[Replica]:
        """Schedule Pending pods in any order until no node accepts one of them; yield each that gets a node."""
        waiting = [each for each in self.replicas if each.node is None]
        self.random.shuffle(waiting)
        progress = True
        while progress:
            progress = False
            for each in list(waiting):
                nodes = self.cluster.best_nodes(each.pod) if self.best else self.cluster.feasible_nodes(each.pod)
                if nodes:
                    each.node = self.random.choice(nodes)
                    self.cluster.bind(each.pod, each.node)
                    waiting.remove(each)
                    progress = True
                    yield each

    def evict(self) -> None:
        """Delete a pod, as a drain does or a user; its controller creates it again."""
        placed = [each for each in self.replicas if each.node is not None]
        if placed:
            replica = self.random.choice(placed)
            self._remove(replica)
            self._create(replica.workload, replica.revision, int(replica.pod.name.split("-")[1]))

    def fail(self, nodes: tuple[str, ...]) -> None:
        """Remove nodes for good; the controllers create their pods again."""
        self.cluster = self.cluster.without(nodes)
        for replica in list(self.replicas):
            if replica.node in nodes:
                self.replicas.remove(replica)
                self._create(replica.workload, replica.revision, int(replica.pod.name.split("-")[1]))

    def roll(self, workload: int) -> Iterator[Replica]:
        """Replace the pods of a workload by those of a new revision, as its controller does; yield each that gets a node."""
        own = self.pod_sources[workload]
        self.revisions[workload] += 1
        limits = rolling_update(own.kind, own.strategy, own.replicas)
        if own.kind == "StatefulSet":
            yield from self._replace_in_order(workload)
        elif limits is not None:
            yield from self._replace_rolling(workload, limits)
        elif own.kind == "Deployment":
            for each in self._pods_of(workload):
                self._remove(each)
            for _ in range(own.replicas):
                self._create(workload, self.revisions[workload])
            yield from self.schedule()

    def _pods_of(self, workload: int) -> list[Replica]:
        return [each for each in self.replicas if each.workload == workload]

    def _replace_in_order(self, workload: int) -> Iterator[Replica]:
        """Replace one pod after another, the last first, as long as all are ready."""
        for index in reversed(range(self.pod_sources[workload].replicas)):
            live = self._pods_of(workload)
            old = [each for each in live if each.revision < self.revisions[workload]]
            unready = [each for each in live if each.node is None]
            chosen = next((each for each in old if each.pod.name.split("-")[1] == f"{index}"), None)
            if chosen is None or any(each is not chosen for each in unready):
                return
            self._remove(chosen)
            self._create(workload, self.revisions[workload], index)
            yield from self.schedule()

    def _replace_rolling(self, workload: int, limits: RollingUpdate) -> Iterator[Replica]:
        """Add and remove pods within the limits: the Deployment adds first, and removes old pods that are not ready before others."""
        wanted = self.pod_sources[workload].replicas
        for _ in range(8 * wanted):
            live = self._pods_of(workload)
            new = [each for each in live if each.revision == self.revisions[workload]]
            old = [each for each in live if each.revision < self.revisions[workload]]
            for _ in range(min(wanted + limits.surge - len(live), wanted - len(new))):
                self._create(workload, self.revisions[workload])
            if self.random.random() < 0.5:
                yield from self.schedule()
            live = self._pods_of(workload)
            ready = sum(each.node is not None for each in live)
            pending = sum(each.node is None for each in live if each.revision == self.revisions[workload])
            removable = len(live) - (wanted - limits.unavailable) - pending
            unready = sum(each.node is None for each in old)
            number = min(removable, unready) + max(0, min(ready - (wanted - limits.unavailable), len(old) - unready))
            # A ReplicaSet first removes pods without a node, then those that share it with others of the workload.
            shared = Counter(each.node for each in live)
            self.random.shuffle(old)
            old.sort(key=lambda each: (each.node is not None, -shared[each.node]))
            for each in old[: max(0, number) if removable > 0 else 0]:
                self._remove(each)
            yield from self.schedule()
