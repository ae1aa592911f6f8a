"""`afflint place` with volumes: where they are, which nodes can use them, and what failures and drains do to pods that need them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, zoned
from command_line import Afflint, Done

JSON = ("--format", "json", "--exit-zero")


class Plan:
    """A plan as JSON."""

    def __init__(self, done: Done) -> None:
        assert not done.err, done.err
        self.data: Any = json.loads(done.out)
        self.workloads = {each["key"]: each for each in self.data["workloads"]}
        self.replicas = {each["pod"]: each for workload in self.data["workloads"] for each in workload["replicas"]}
        self.nodes = {pod: each["node"] for pod, each in self.replicas.items()}
        self.losses = self.data["losses"]

    def moves(self, number: int = 0) -> dict[str, str | None]:
        return {move["pod"]: move["target"] for move in self.losses[number]["moves"]}

    def why(self, pod: str, number: int = 0) -> str:
        return next(move["why"] for move in self.losses[number]["moves"] if move["pod"] == pod)

    def notes(self, key: str) -> list[str]:
        return self.workloads[key]["notes"]


class Situation:
    """Objects that are written to files, and the plans for them."""

    def __init__(self, afflint: Afflint, folder: Path) -> None:
        self._afflint, self._folder = afflint, folder

    def text(self, nodes: list[Object], manifests: list[Object], *words: str, dumped: list[Object] | None = None) -> Done:
        listed = [*nodes, *(dumped or [])]
        (self._folder / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
        (self._folder / "app").mkdir(exist_ok=True)
        (self._folder / "app" / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
        return self._afflint("place", "--no-config", str(self._folder / "app"), "--nodes", str(self._folder / "nodes.json"), *words)

    def plan(self, nodes: list[Object], manifests: list[Object], *words: str, dumped: list[Object] | None = None) -> Plan:
        return Plan(self.text(nodes, manifests, *JSON, *words, dumped=dumped))


@pytest.fixture
def situation(afflint: Afflint, tmp_path: Path) -> Situation:
    return Situation(afflint, tmp_path)


def storage_class(name: str, provisioner: str, *, immediate: bool = False, default: bool = False, **more: Any) -> Object:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    mode = "Immediate" if immediate else "WaitForFirstConsumer"
    metadata = {"name": name, "annotations": annotations}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


ZONAL = storage_class("zonal", "ebs.csi.aws.com", default=True)
LOCAL = storage_class("local", "rancher.io/local-path")


def volume(name: str, claim: str, key: str, value: str, *, modes: tuple[str, ...] = ("ReadWriteOnce",)) -> Object:
    """A PersistentVolume that is reserved for a claim and usable from the nodes with one label value."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": list(modes),
        "storageClassName": "some",
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": name},
        "claimRef": {"namespace": "default", "name": claim},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim_spec(storage: str | None = "some", *modes: str) -> Object:
    named = {} if storage is None else {"storageClassName": storage}
    return {"accessModes": list(modes or ("ReadWriteOnce",)), "resources": {"requests": {"storage": "1Gi"}}, **named}


def claim(name: str, storage: str | None = "some", *modes: str) -> Object:
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": claim_spec(storage, *modes)}


def stateful_set(name: str, replicas: int = 1, storage: str | None = "some", **spec: Any) -> Object:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "i:1"}], **spec}
    template = {"metadata": {"name": "data"}, "spec": claim_spec(storage)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [template],
        },
    }


def deployment(name: str, replicas: int, *claims: str, **spec: Any) -> Object:
    labels = {"app": name}
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    pod = {"containers": [{"name": "c", "image": "i:1"}], "volumes": volumes, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def running(name: str, on: str, owner: str = "", *claims: str, namespace: str = "default") -> Object:
    """A running pod of a StatefulSet in a dump."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    owners = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": {"app": owner}, "ownerReferences": owners}
    spec = {"nodeName": on, "containers": [{"name": "c", "image": "i:1"}], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def apart(key: str, name: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


TWO = zoned(a1="a", b1="b")
SIX = zoned(a1="a", a2="a", a3="a", b1="b", b2="b", c1="c")


EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def machine_set(zone: str) -> Object:
    metadata = {"name": f"m-{zone}", "namespace": "openshift-machine-api"}
    template = {"metadata": {"labels": {"x": zone}}, "spec": {"providerSpec": {"value": {"placement": {"availabilityZone": zone}}}}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"x": zone}}, "template": template}
    return {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": metadata, "spec": spec}


class TestNodesOfPools:
    """A node of a dump is cordoned, and a pool in one of two zones may create another node."""

    NODES = tuple(
        {**each, "metadata": {**each["metadata"], "labels": {**each["metadata"]["labels"], EBS_ZONE: each["metadata"]["labels"][ZONE]}}}
        for each in zoned(a1="a", b1="b")
    )

    @pytest.mark.parametrize(("zone", "target"), [("a", "m-a-1"), ("b", None)])
    @pytest.mark.parametrize("key", [ZONE, EBS_ZONE])
    def test_a_new_node_in_the_zone_of_the_volume_can_use_it(self, situation: Situation, key: str, zone: str, target: str | None) -> None:
        cordoned = {**self.NODES[0], "spec": {"unschedulable": True}}
        manifests = [volume("v", "data-db-0", key, "a"), stateful_set("db")]
        found = situation.plan([cordoned, self.NODES[1]], manifests, "--count", f"m-{zone}=1", dumped=[machine_set(zone)])
        assert found.nodes == {"db-0": target}
        assert found.workloads["StatefulSet default/db"]["volumes"] is False

    def test_a_new_volume_stays_in_the_zone_of_the_new_node(self, situation: Situation) -> None:
        manifests = [ZONAL, stateful_set("db", storage=None, nodeSelector={ZONE: "c"})]
        words = ("--count", "m-c=1", "--remove", "m-c-1")
        found = situation.plan(list(self.NODES), manifests, *words, dumped=[machine_set("c")])
        assert (found.nodes, found.moves()) == ({"db-0": "m-c-1"}, {"db-0": None})

    def test_volumes_are_not_considered_if_the_zone_of_the_pool_is_not_known(self, situation: Situation) -> None:
        pool = machine_set("a")
        pool["spec"]["template"]["spec"] = {}
        words = ("--count", "m-a=1", "--drain", "a1")
        found = situation.plan(list(self.NODES), [volume("v", "data-db-0", ZONE, "a"), stateful_set("db")], *words, dumped=[pool])
        assert found.workloads["StatefulSet default/db"]["volumes"] is True


class TestVolumesThatExist:
    def test_a_replica_does_not_leave_the_zone_of_its_volume(self, situation: Situation) -> None:
        found = situation.plan(TWO, [volume("v", "data-db-0", ZONE, "a"), stateful_set("db")], "--drain", "a1", "--remove", "a1")
        assert found.nodes == {"db-0": "a1"}
        assert [found.moves(0), found.moves(1)] == [{"db-0": None}, {"db-0": None}]
        assert found.why("db-0") == "its volume is in zone a"
        assert [loss["worst"] for loss in found.losses] == ["dead", "dead"]
        assert found.workloads["StatefulSet default/db"]["volumes"] is False

    def test_replicas_whose_volumes_share_a_zone_share_it_too(self, situation: Situation) -> None:
        volumes = [volume(f"v{number}", f"data-kafka-{number}", ZONE, "a") for number in range(3)]
        found = situation.plan(SIX, [*volumes, stateful_set("kafka", 3, **apart(HOST, "kafka"))], "--remove", "zone=a")
        assert set(found.nodes.values()) == {"a1", "a2", "a3"}
        assert found.losses[0]["worst"] == "dead"
        assert found.moves() == dict.fromkeys(("kafka-0", "kafka-1", "kafka-2"))

    @pytest.mark.parametrize("action", ["--drain", "--remove"])
    def test_running_replicas_stay_pending_when_their_zone_is_gone(self, situation: Situation, action: str) -> None:
        volumes = [volume(f"v{number}", f"data-kafka-{number}", ZONE, "a") for number in range(3)]
        pods = [running(f"kafka-{number}", f"a{number + 1}", "kafka", f"data-kafka-{number}") for number in range(3)]
        manifests = [*volumes, stateful_set("kafka", 3, **apart(HOST, "kafka"))]
        found = situation.plan(SIX, manifests, action, "zone=a", dumped=pods)
        assert found.losses[0]["outcomes"] == {"StatefulSet default/kafka": "dead"}
        assert found.moves() == dict.fromkeys(("kafka-0", "kafka-1", "kafka-2"))

    def test_a_volume_on_one_host_does_not_move(self, situation: Situation) -> None:
        manifests = [volume("v", "data-mq-0", HOST, "a1"), stateful_set("mq")]
        found = situation.plan(SIX, manifests, "--drain", "a1", "--remove", "a1")
        assert found.nodes == {"mq-0": "a1"}
        assert found.why("mq-0") == "its volume exists on node a1 only"
        assert found.why("mq-0", 1) == "its volume exists on node a1 only; its data is unreachable until a1 is back"

    def test_a_volume_on_an_unknown_host_keeps_its_pod_pending(self, situation: Situation) -> None:
        found = situation.plan(TWO, [volume("v", "data-mq-0", HOST, "a0.example.com"), stateful_set("mq")])
        assert found.replicas["mq-0"]["node"] is None
        assert found.replicas["mq-0"]["why"] == "its volume exists on node a0.example.com only"

    def test_a_claim_of_a_dump_is_bound_to_its_volume(self, situation: Situation) -> None:
        bound = claim("data")
        bound["metadata"] |= {"uid": "1", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        bound["spec"]["volumeName"] = "v"
        found = situation.plan(TWO, [deployment("web", 1, "data")], "--drain", "b1", dumped=[bound, volume("v", "data", ZONE, "b")])
        assert found.nodes == {"web-" + next(iter(found.nodes)).split("-", 1)[1]: "b1"}
        assert found.losses[0]["worst"] == "dead"


class TestVolumesThatDoNotExistYet:
    def test_allowed_topologies_keep_a_replica_out_of_a_zone_that_its_spread_requires(self, situation: Situation) -> None:
        allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
        spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "pg"}}}
        manifests = [
            storage_class("some", "ebs.csi.aws.com", allowedTopologies=allowed),
            stateful_set("pg", 3, topologySpreadConstraints=[spread]),
        ]
        found = situation.plan(SIX, manifests)
        assert found.replicas["pg-2"]["node"] is None
        assert "1 has no volume for its claim" in found.replicas["pg-2"]["why"]

    def test_the_first_node_decides_for_ever(self, situation: Situation) -> None:
        found = situation.plan(TWO, [ZONAL, stateful_set("db", 2, "zonal")], "--drain", "each:node", "--remove", "each:node")
        assert set(found.nodes.values()) == {"a1", "b1"}
        assert all(target is None for number in range(4) for target in found.moves(number).values())
        # Each node fits as long as no volume exists.
        assert all(verdict["feasible"] for verdict in found.workloads["StatefulSet default/db"]["verdicts"])

    def test_a_volume_follows_within_its_zone(self, situation: Situation) -> None:
        found = situation.plan(zoned(a1="a", a2="a", b1="b"), [ZONAL, stateful_set("db", 1, None)], "--drain", "a1")
        assert found.nodes == {"db-0": "a1"}
        assert found.moves() == {"db-0": "a2"}
        assert found.losses[0]["volumes"] == []

    def test_pods_that_share_a_claim_share_its_zone(self, situation: Situation) -> None:
        found = situation.plan(SIX, [LOCAL, claim("data", "local"), deployment("web", 3, "data")])
        assert len(set(found.nodes.values())) == 1

    def test_a_class_that_binds_at_once_is_assumed_to_fit(self, situation: Situation) -> None:
        found = situation.plan(TWO, [storage_class("some", "ebs.csi.aws.com", immediate=True), stateful_set("db")], "--drain", "a1")
        note = "the StorageClass some provisions volumes before pods are scheduled; the simulation assumes that its pods can use them"
        assert note in found.notes("StatefulSet default/db")
        assert found.moves() == {"db-0": None}

    def test_network_storage_ties_nothing(self, situation: Situation) -> None:
        found = situation.plan(TWO, [storage_class("some", "nfs.csi.k8s.io"), stateful_set("db")], "--drain", "a1")
        assert found.moves() == {"db-0": "b1"}
        assert found.losses[0]["volumes"] == []


class TestVolumesThatAreNotKnown:
    @pytest.mark.parametrize(
        ("objects", "why"),
        [
            ([], "the StorageClass some is not known"),
            (
                [storage_class("some", "csi.example.com")],
                "it is not known from which nodes the volumes of the StorageClass some can be used",
            ),
            ([storage_class("some", "kubernetes.io/no-provisioner")], "no PersistentVolume of the StorageClass some is known"),
        ],
        ids=["class", "provisioner", "volumes"],
    )
    def test_the_workload_says_why_and_nothing_survives_unqualified(self, situation: Situation, objects: list[Object], why: str) -> None:
        manifests = [*objects, stateful_set("db")]
        found = situation.plan(TWO, manifests, "--drain", "a1")
        assert f"its volumes: {why}" in found.notes("StatefulSet default/db")
        assert found.workloads["StatefulSet default/db"]["volumes"] is True
        assert found.losses[0]["volumes"] == ["StatefulSet default/db"]

    def test_a_claim_without_a_definition(self, situation: Situation) -> None:
        found = situation.plan(TWO, [ZONAL, deployment("web", 1, "data")])
        assert "its volumes: the claim data is not defined" in found.notes("Deployment default/web")

    def test_a_known_claim_counts_beside_an_unknown_one(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 1, "data", "more")]
        found = situation.plan(TWO, manifests, "--drain", "each:node")
        assert found.workloads["Deployment default/web"]["volumes"] is True
        assert [target for number in range(2) for target in found.moves(number).values()] == [None]


class TestRunningPodsWithoutTheirVolumes:
    """The dump has pods and claims, but no PersistentVolumes."""

    @pytest.mark.parametrize(("provisioner", "target"), [("ebs.csi.aws.com", "a2"), ("rancher.io/local-path", None)], ids=["zone", "host"])
    def test_the_class_says_where_the_volume_is(self, situation: Situation, provisioner: str, target: str | None) -> None:
        bound = claim("data-db-0")
        bound["metadata"] |= {"uid": "1", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        bound["spec"]["volumeName"] = "pvc-1"
        dumped = [storage_class("some", provisioner), bound, running("db-0", "a1", "db", "data-db-0")]
        found = situation.plan(SIX, [], "--drain", "a1", dumped=dumped)
        assert found.nodes == {"db-0": "a1"}
        assert found.moves() == {"db-0": target}

    def test_the_volume_is_there_before_the_pods_are_scheduled_again(self, situation: Situation) -> None:
        manifests = [ZONAL, stateful_set("db", 1, "zonal")]
        found = situation.plan(TWO, manifests, "--replan", dumped=[running("db-0", "b1", "db", "data-db-0")])
        assert found.nodes == {"db-0": "b1"}

    def test_an_unknown_class_leaves_the_move_unsure(self, situation: Situation) -> None:
        found = situation.plan(TWO, [], "--drain", "a1", dumped=[running("db-0", "a1", "db", "data-db-0")])
        assert found.losses[0]["volumes"] == ["StatefulSet default/db"]


class TestVolumesOfOneNode:
    """A ReadWriteOnce volume is attached to one node; the scheduler does not know that."""

    def test_the_second_pod_gets_a_node_and_waits(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 2, "data", **apart(HOST, "web"))]
        found = situation.plan(zoned(a1="a", a2="a", b1="b"), manifests)
        first, second = found.replicas.values()
        assert (first["node"], first["why"], second["node"]) == ("a1", "", "a2")
        assert second["why"] == f"it gets node a2 and waits for the volume of data, which is attached to a1 for {first['pod']}"

    def test_pods_on_one_node_share_it(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 2, "data")]
        found = situation.plan(zoned(a1="a", b1="b"), manifests)
        assert [(each["node"], each["why"]) for each in found.replicas.values()] == [("a1", "")] * 2

    @pytest.mark.parametrize(
        ("provisioner", "modes"),
        [("nfs.csi.k8s.io", ("ReadWriteOnce",)), ("ebs.csi.aws.com", ("ReadWriteMany",)), ("csi.trident.netapp.io", ("ReadWriteOnce",))],
        ids=["shared files", "ReadWriteMany", "driver that may share"],
    )
    def test_others_do_not_wait(self, situation: Situation, provisioner: str, modes: tuple[str, ...]) -> None:
        manifests = [storage_class("some", provisioner), claim("data", "some", *modes), deployment("web", 2, "data", **apart(HOST, "web"))]
        found = situation.plan(zoned(a1="a", a2="a"), manifests)
        assert [each["why"] for each in found.replicas.values()] == ["", ""]

    def test_a_driver_without_a_csi_driver_object_attaches_its_volumes(self, situation: Situation) -> None:
        """Only if the dump has the CSIDrivers of the cluster; without any, the driver may have one that attaches nothing."""
        kept = volume("pv", "data", ZONE, "a")
        kept["spec"]["csi"] = {"driver": "csi.example.com", "volumeHandle": "1"}
        other = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}, "spec": {}}
        data = claim("data", "some")
        data["spec"]["volumeName"] = "pv"
        manifests = [storage_class("some", "csi.example.com"), deployment("web", 2, "data", **apart(HOST, "web"))]
        for dumped, waits in (([data, kept], False), ([data, kept, other], True)):
            found = situation.plan(zoned(a1="a", a2="a"), manifests, dumped=dumped)
            assert [bool(each["why"]) for each in found.replicas.values()] == [False, waits]

    def test_the_waiting_pod_gets_the_volume_when_the_other_is_drained(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 2, "data", **apart(HOST, "web"))]
        found = situation.plan(zoned(a1="a", a2="a", a3="a"), manifests, "--drain", "a1")
        (move,) = found.losses[0]["moves"]
        assert (move["target"], move["fate"]) == (None, "attaching")
        assert "it gets node a3 and waits for the volume of data, which is attached to a2" in move["why"]
        assert found.losses[0]["outcomes"] == {"Deployment default/web": "interrupted"}

    def test_a_failed_node_keeps_the_volume_for_six_minutes(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 1, "data"), deployment("other", 1)]
        found = situation.plan(zoned(a1="a", a2="a", a3="a"), manifests, "--lose", "each:node")
        after = {move["workload"]: move["after"] for loss in found.losses for move in loss["moves"]}
        assert after == {"Deployment default/web": 50 + 300 + 360, "Deployment default/other": 50 + 300}

    def test_the_text_says_so(self, situation: Situation) -> None:
        manifests = [ZONAL, claim("data", "zonal"), deployment("web", 2, "data", **apart(HOST, "web"))]
        done = situation.text(zoned(a1="a", a2="a"), manifests)
        assert done.code == 1
        assert "does not run: it gets node a2 and waits for the volume of data" in " ".join(done.out.split())


def machine(name: str, volume: Object, *templates: Object) -> Object:
    interface = {"name": "default", "masquerade": {}}
    spec = {
        "evictionStrategy": "LiveMigrate",
        "domain": {"memory": {"guest": "1Gi"}, "devices": {"interfaces": [interface]}},
        "networks": [{"name": "default", "pod": {}}],
        "volumes": [{"name": "disk", **volume}],
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "dataVolumeTemplates": list(templates), "template": {"spec": spec}},
    }


def data_volume(name: str, storage: str | None = "some", **spec: Any) -> Object:
    asked = {"resources": {"requests": {"storage": "1Gi"}}, **({} if storage is None else {"storageClassName": storage}), **spec}
    version = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume"}
    return {**version, "metadata": {"name": name}, "spec": {"source": {"blank": {}}, "storage": asked}}


class TestVirtualMachines:
    def _drained(self, situation: Situation, *objects: Object, template: bool, dumped: list[Object] | None = None) -> Plan:
        """Drain the node of a VM whose disk is created from a template, or from a DataVolume of its own."""
        volume, disk = objects[-1], {"dataVolume": {"name": "disk"}}
        manifests = [*objects[:-1], *([machine("vm", disk, volume)] if template else [volume, machine("vm", disk)])]
        return situation.plan(zoned(a1="a", a2="a", b1="b"), manifests, "--drain", "a1", "--drain", "zone=a", dumped=dumped)

    @pytest.mark.parametrize("template", [True, False], ids=["template", "DataVolume"])
    def test_the_importer_requests_what_the_driver_can(self, situation: Situation, template: bool) -> None:
        found = self._drained(situation, storage_class("some", "ebs.csi.aws.com"), data_volume("disk"), template=template)
        (blocked,) = found.losses[0]["blocked"]
        assert blocked["why"].endswith("but the disk disk lacks the access mode ReadWriteMany")

    def test_a_shared_disk_on_the_network_migrates(self, situation: Situation) -> None:
        found = self._drained(situation, storage_class("some", "rook-ceph.rbd.csi.ceph.com"), data_volume("disk"), template=True)
        assert [found.moves(0), found.moves(1)] == [{"virt-launcher-vm": "a2"}, {"virt-launcher-vm": "b1"}]
        assert {move["fate"] for loss in found.losses for move in loss["moves"]} == {"migrated"}

    def test_a_shared_disk_of_a_zone_migrates_in_its_zone(self, situation: Situation) -> None:
        volume = data_volume("disk", accessModes=["ReadWriteMany"])
        found = self._drained(situation, storage_class("some", "ebs.csi.aws.com"), volume, template=True)
        assert found.moves(0) == {"virt-launcher-vm": "a2"}
        (blocked,) = found.losses[1]["blocked"]
        assert "its volume is in zone a" in blocked["why"]

    def test_the_storage_profile_of_a_dump_decides(self, situation: Situation) -> None:
        sets = [{"accessModes": ["ReadWriteMany"], "volumeMode": "Block"}]
        profile = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile", "metadata": {"name": "some"}}
        profile["status"] = {"claimPropertySets": sets}
        found = self._drained(situation, storage_class("some", "ebs.csi.aws.com"), data_volume("disk"), template=True, dumped=[profile])
        assert found.moves(0) == {"virt-launcher-vm": "a2"}

    def test_the_default_class_for_machines_comes_first(self, situation: Situation) -> None:
        network = storage_class("network", "rook-ceph.rbd.csi.ceph.com")
        network["metadata"]["annotations"] = {"storageclass.kubevirt.io/is-default-virt-class": "true"}
        found = self._drained(situation, ZONAL, network, data_volume("disk", None), template=True)
        assert found.moves(1) == {"virt-launcher-vm": "b1"}

    def test_a_hotplugged_disk_does_not_restrict_the_machine(self, situation: Situation) -> None:
        disk = {"persistentVolumeClaim": {"claimName": "disk", "hotpluggable": True}}
        vm = machine("vm", disk)
        vm["spec"]["template"]["spec"]["evictionStrategy"] = "None"
        found = situation.plan(TWO, [LOCAL, claim("disk", "local"), vm], "--drain", "a1")
        assert found.moves() == {"virt-launcher-vm": "b1"}
        note = "the hotplugged disk disk does not keep the VM from a node that cannot use it"
        assert note in found.notes("VirtualMachine default/vm")


@pytest.mark.parametrize("seed", range(6))
def test_no_predicted_move_goes_to_a_node_that_cannot_use_the_volume(situation: Situation, seed: int) -> None:
    """Random clusters of three zones with StatefulSets whose volumes are in the zones where their replicas run."""
    chance = random.Random(seed)
    nodes = zoned(**{f"{zone}{number}": zone for zone in "abc" for number in range(3)})
    zone_of = {each["metadata"]["name"]: each["metadata"]["labels"][ZONE] for each in nodes}
    manifests: list[Object] = []
    pods, zones = [], {}
    for number in range(5):
        name, replicas = f"s{number}", chance.randint(1, 3)
        spec = chance.choice(({}, apart(HOST, name)))
        manifests.append(stateful_set(name, replicas, **spec))
        for ordinal, on in enumerate(chance.sample(sorted(zone_of), replicas)):
            pod = f"{name}-{ordinal}"
            zones[pod] = zone_of[on]
            manifests.append(volume(f"v-{pod}", f"data-{pod}", ZONE, zone_of[on]))
            pods.append(running(pod, on, name, f"data-{pod}"))
    for number in range(3):
        manifests.append(stateful_set(f"n{number}", chance.randint(1, 3), "zonal", **chance.choice(({}, apart(HOST, f"n{number}")))))
    actions = ("--drain", "each:node", "--drain", "each:zone", "--remove", "each:zone")
    found = situation.plan(nodes, [ZONAL, *manifests], *actions, dumped=pods)
    # A volume that does not exist yet is created in the zone of the first node.
    zones = {pod: zone_of[node] for pod, node in found.nodes.items() if node is not None} | zones
    moves = [move for loss in found.losses for move in loss["moves"]]
    assert moves
    assert all(move["target"] is None or zone_of[move["target"]] == zones[move["pod"]] for move in moves)
    assert any(move["target"] is not None for move in moves)
    bound = []
    for each in manifests:
        if each["kind"] == "PersistentVolume":
            whole = claim(each["spec"]["claimRef"]["name"])
            whole["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            whole["spec"]["volumeName"] = each["metadata"]["name"]
            bound.append(whole)
    cluster = Cluster(
        nodes,
        persistent_volumes=[each for each in manifests if each["kind"] == "PersistentVolume"],
        persistent_volume_claims=bound,
    )
    known = {each["metadata"]["name"]: each for each in pods}
    for move in moves:
        if move["pod"] in known and move["target"] is not None:
            again = {**known[move["pod"]], "spec": {**known[move["pod"]]["spec"], "nodeName": ""}}
            assert cluster.evaluate(again).feasible[move["target"]]


def test_each_replica_of_a_rollout_keeps_its_own_volume(situation: Situation) -> None:
    """The volumes of a StatefulSet are in three zones, and each new replica can only run in the zone of the old one."""
    nodes = zoned(a1="a", a2="a", b1="b", b2="b", c1="c", c2="c")
    apart = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOST}
    database = stateful_set("db", 3, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}})
    objects = [
        database,
        *[each for n, zone in enumerate("abc") for each in (claim(f"data-db-{n}"), volume(f"pv-{n}", f"data-db-{n}", ZONE, zone))],
    ]
    (rollout,) = situation.plan(nodes, objects, "--roll", "db").data["rollouts"]
    assert rollout["result"] == "completes"
    assert [end["domains"] for end in rollout["ends"]] == [{"a": 1, "b": 1, "c": 1}]
    assert [(step["action"], step["pod"], step["node"][0]) for step in rollout["steps"]] == [
        (what, f"db-{n}", "abc"[n]) for n in (2, 1, 0) for what in ("removed", "scheduled")
    ]


@pytest.mark.parametrize(
    ("strategy", "result"),
    [
        ({}, "may-block"),
        ({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}, "completes"),
        ({"strategy": {"type": "Recreate"}}, "completes"),
    ],
)
def test_the_new_pod_of_a_rollout_waits_for_a_volume_that_is_attached_for_the_old_one(
    situation: Situation, strategy: Object, result: str
) -> None:
    """Two nodes can use the volume. With maxSurge, the new pod goes to the one where the old pod is not, and is never ready."""
    web = deployment("web", 1, "disk")
    web["spec"] |= strategy
    objects = [web, claim("disk"), volume("pv", "disk", ZONE, "a")]
    (rollout,) = situation.plan(zoned(a1="a", a2="a", b1="b"), objects, "--roll", "web").data["rollouts"]
    assert rollout["result"] == result
    waits = "the new pod is not ready: it gets node a2 and waits for the volume of disk, which is attached to a1 for web-0"
    assert rollout["why"] == (waits if result == "may-block" else "")


def csi_node(node: str, *drivers: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": node},
        "spec": {"drivers": [{"name": driver, "nodeID": node, "topologyKeys": []} for driver in drivers]},
    }


class TestNodesWithoutTheDriver:
    """The scheduler does not ask whether the driver of a volume runs on a node; the kubelet needs it."""

    DISK = "disk.example.com"
    MANIFESTS = (storage_class("fast", DISK), claim("data", "fast"), deployment("web", 1, "data"))

    @pytest.mark.parametrize(
        ("drivers", "why"),
        [
            ([csi_node("a1", DISK), csi_node("a2")], f"its volume needs the CSI driver {DISK}, which does not run on node a2"),
            ([csi_node("a1", DISK), csi_node("a2", DISK)], ""),
            ([csi_node("a1", DISK)], ""),
            ([csi_node("a1", "other.example.com"), csi_node("a2")], ""),
            ([], ""),
        ],
        ids=["missing", "there", "no CSINode", "not a CSI driver", "no dump"],
    )
    def test_a_pod_without_the_driver_of_its_volume_does_not_start(self, situation: Situation, drivers: list[Object], why: str) -> None:
        found = situation.plan(zoned(a1="a", a2="a"), [*self.MANIFESTS], "--drain", "a1", dumped=drivers)
        assert found.nodes == {"web-0": "a1"}
        (move,) = found.losses[0]["moves"]
        assert (move["target"], move["fate"], move["why"]) == ((None, "attaching", why) if why else ("a2", "recreated", ""))

    def test_a_first_pod_does_not_start_either(self, situation: Situation) -> None:
        found = situation.plan(zoned(a2="a"), [*self.MANIFESTS], dumped=[csi_node("a2"), csi_node("gone", self.DISK)])
        assert found.replicas["web-0"]["why"] == ""
        nodes = [*zoned(a2="a"), *zoned(b1="b")]
        cordoned = [{**node, "spec": {"unschedulable": node["metadata"]["name"] == "b1"}} for node in nodes]
        found = situation.plan(cordoned, [*self.MANIFESTS], dumped=[csi_node("a2"), csi_node("b1", self.DISK)])
        assert found.replicas["web-0"]["node"] == "a2"
        assert found.replicas["web-0"]["why"] == f"its volume needs the CSI driver {self.DISK}, which does not run on node a2"

    def test_a_running_pod_has_its_volume_already(self, situation: Situation) -> None:
        pod = running("db-0", "a1", "db", "data-db-0")
        manifests = [storage_class("fast", self.DISK), stateful_set("db", 1, "fast")]
        found = situation.plan(zoned(a1="a", a2="a"), manifests, dumped=[pod, csi_node("a1"), csi_node("a2", self.DISK)])
        assert (found.replicas["db-0"]["node"], found.replicas["db-0"]["why"]) == ("a1", "")
