"""Volumes: from which nodes they can be used, which of them a claim takes, and what the scheduler says where none is possible."""

from itertools import permutations
from typing import Any

import pytest

from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster, Verdict
from cluster_objects import HOST, REQUIRED, ZONE, Object, app, node, pod, spread, term, zoned

NODES = zoned(n1="a", n2="b", n3="c")
CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"


def in_zone(*zones: str, key: str = ZONE) -> Object:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": list(zones)}]}]}}


def volume(name: str, affinity: Object | None = None, *, size: str = "10Gi", labels: Object | None = None, **spec: Any) -> Object:
    """A PersistentVolume of the class ``local`` without a claim, unless the spec has one."""
    whole = {"storageClassName": "local", "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    if affinity is not None:
        whole["nodeAffinity"] = affinity
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": whole}


def claim(name: str = "data", *, to: str = "", size: str = "5Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Object:
    """A claim of the class ``local``; bound ``to`` a volume."""
    meta: Object = {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if to else {}}
    whole = {"storageClassName": "local", "accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": meta, "spec": {**whole, "volumeName": to} if to else whole}


def storage_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> Object:
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **more}


LOCAL, FAST = storage_class(), storage_class("fast", "example.com")


def csi_node(name: str, count: int | None, driver: str = "example.com") -> Object:
    return {"metadata": {"name": name}, "spec": {"drivers": [{"name": driver, "allocatable": {"count": count}}]}}


def disk(handle: str) -> Object:
    return {"driver": "example.com", "volumeHandle": handle}


def with_claims(name: str, *claims: str, **more: Any) -> Object:
    return pod(name, {"app": "db"}, volumes=[{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims], **more)


def verdict(claims: list[Object], volumes: list[Object] | None = None, runs: list[Object] | None = None, **more: Any) -> Verdict:
    """The verdict about a pod with all of these claims."""
    names = [each["metadata"]["name"] for each in claims]
    more = {"nodes": NODES, "storage_classes": [LOCAL, FAST], "pods": runs or [], **more}
    cluster = Cluster(persistent_volumes=volumes or [], persistent_volume_claims=claims, **more)
    return cluster.evaluate(with_claims("db", *names))


def everywhere(message: str, *nodes: str) -> dict[str, list[str]]:
    return {name: [message] for name in nodes or ("n1", "n2", "n3")}


class TestBoundClaims:
    def test_a_pod_runs_only_where_its_volume_can_be_used(self) -> None:
        found = verdict([claim(to="v")], [volume("v", in_zone("b"))])
        assert found.feasible == {"n1": False, "n2": True, "n3": False}
        assert found.reason == {"n1": "VolumeBinding", "n3": "VolumeBinding"}
        assert found.messages == {"n1": [CONFLICT], "n3": [CONFLICT]}
        assert found.unresolvable == {"n1", "n3"}
        assert found.bindings == {}

    def test_a_volume_with_only_match_fields_can_be_used_everywhere(self) -> None:
        fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
        found = verdict([claim(to="v")], [volume("v", {"required": {"nodeSelectorTerms": [fields]}})])
        assert all(found.feasible.values())

    def test_read_write_once_is_not_enforced_by_the_scheduler(self) -> None:
        cluster = Cluster(NODES, persistent_volumes=[volume("v")], persistent_volume_claims=[claim(to="v")])
        run = cluster.schedule([with_claims("one", "data"), with_claims("two", "data")], even=True)
        assert run.placements == {"one": "n1", "two": "n2"}

    def test_a_claim_of_a_missing_volume(self) -> None:
        found = verdict([claim(to="v")])
        assert set(found.reason.values()) == {"VolumeZone"}
        assert found.messages["n1"] == ['persistentvolume "v" not found']


@pytest.mark.parametrize(
    ("claims", "plugin", "message"),
    [
        ([], "VolumeRestrictions", 'persistentvolumeclaim "data" not found'),
        (
            [{**claim(), "status": {"phase": "Lost"}}],
            "VolumeBinding",
            'persistentvolumeclaim "data" bound to non-existent persistentvolume ""',
        ),
        (
            [{"metadata": {"name": "data", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": claim()["spec"]}],
            "VolumeBinding",
            'persistentvolumeclaim "data" is being deleted',
        ),
        ([claim(storageClassName="unknown")], "VolumeBinding", "pod has unbound immediate PersistentVolumeClaims"),
        ([claim(storageClassName="")], "VolumeBinding", "pod has unbound immediate PersistentVolumeClaims"),
        ([claim(volumeName="v")], "VolumeBinding", "pod has unbound immediate PersistentVolumeClaims"),
    ],
    ids=["missing", "lost", "deleted", "unknown class", "no class", "not bound completely"],
)
def test_a_pod_that_no_node_can_run(claims: list[Object], plugin: str, message: str) -> None:
    cluster = Cluster(NODES, persistent_volume_claims=claims, persistent_volumes=[volume("v")], storage_classes=[LOCAL])
    found = cluster.evaluate(with_claims("db", "data"))
    assert found.reason == dict.fromkeys(["n1", "n2", "n3"], plugin)
    assert found.messages == everywhere(message)
    assert found.unresolvable == {"n1", "n2", "n3"}


class TestExistingVolumes:
    """Claims that are bound when a pod is scheduled, to volumes that exist."""

    def test_the_smallest_volume_that_fits(self) -> None:
        volumes = [volume("small", size="1Gi"), volume("large", size="20Gi"), volume("medium", size="6Gi")]
        assert verdict([claim()], volumes).bindings["n1"] == {"data": "medium"}

    @pytest.mark.parametrize(
        "other",
        [
            volume("v", size="4Gi"),
            volume("v", volumeMode="Block"),
            volume("v", accessModes=["ReadOnlyMany"]),
            volume("v", storageClassName="fast"),
            volume("v", volumeAttributesClassName="gold"),
            volume("v", claimRef={"namespace": "default", "name": "another"}),
            volume("v", claimRef={"namespace": "default", "name": "data", "uid": "of an earlier claim"}),
            {**volume("v"), "status": {"phase": "Released"}},
        ],
        ids=["size", "mode", "access mode", "class", "attributes", "claimed", "claimed before", "released"],
    )
    def test_a_volume_that_does_not_fit(self, other: Object) -> None:
        found = verdict([claim()], [other])
        assert found.messages["n1"] == [NOTHING_TO_BIND]

    def test_a_selector_of_the_claim(self) -> None:
        volumes = [volume("plain", size="6Gi"), volume("chosen", labels={"app": "db"})]
        assert verdict([claim(selector=app("db"))], volumes).bindings["n1"] == {"data": "chosen"}

    def test_a_reserved_volume_is_the_only_one_possible(self) -> None:
        reserved = volume("mine", in_zone("a"), size="50Gi", claimRef={"namespace": "default", "name": "data"})
        found = verdict([claim()], [reserved, volume("other")])
        assert found.bindings == {"n1": {"data": "mine"}}
        assert found.reason == {"n2": "VolumeBinding", "n3": "VolumeBinding"}

    def test_small_claims_leave_large_volumes_to_large_ones(self) -> None:
        volumes = [volume("v10", size="10Gi"), volume("v20", size="20Gi")]
        found = verdict([claim("large", size="8Gi"), claim("small", size="5Gi")], volumes)
        assert found.bindings["n1"] == {"small": "v10", "large": "v20"}

    def test_two_messages_for_one_node(self) -> None:
        mine = {"namespace": "default", "name": "bound"}
        found = verdict([claim("bound", to="v"), claim("new")], [volume("v", in_zone("b"), claimRef=mine)])
        assert found.messages == {"n1": [CONFLICT, NOTHING_TO_BIND], "n2": [NOTHING_TO_BIND], "n3": [CONFLICT, NOTHING_TO_BIND]}

    def test_a_selector_that_cannot_be_parsed_makes_the_scheduler_fail(self) -> None:
        expressions = [{"key": "app", "operator": "Near"}]
        assert verdict([claim(selector={"matchExpressions": expressions})], [volume("v")]).error == "Filter VolumeBinding"


class TestNewVolumes:
    def test_where_the_class_allows_them(self) -> None:
        topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "c"]}]}]
        found = verdict([claim(storageClassName="fast")], storage_classes=[{**FAST, "allowedTopologies": topologies}])
        assert found.bindings == {"n1": {"data": "(provision)"}, "n3": {"data": "(provision)"}}
        assert found.messages == {"n2": [NOTHING_TO_BIND]}

    def test_a_node_that_was_selected_before(self) -> None:
        selected = claim(storageClassName="fast")
        selected["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = "n2"
        assert verdict([selected]).bindings == {"n2": {"data": "(provision)"}}

    def capacity(self, name: str, zone: str, **sizes: str) -> Object:
        return {"metadata": {"name": name}, "storageClassName": "fast", "nodeTopology": {"matchLabels": {ZONE: zone}}, **sizes}

    def test_where_there_is_enough_storage(self) -> None:
        capacities = [self.capacity("c1", "a", capacity="100Gi"), self.capacity("c2", "b", capacity="100Gi", maximumVolumeSize="1Gi")]
        driver = {"metadata": {"name": "example.com"}, "spec": {"storageCapacity": True}}
        new = claim(storageClassName="fast", size="30Gi")
        found = verdict([new], csi_drivers=[driver], csi_storage_capacities=capacities)
        assert found.messages == everywhere("node(s) did not have enough free storage", "n2", "n3")
        assert found.scores["VolumeBinding"] == {"n1": 70}
        # A driver that publishes no capacities has enough.
        assert all(verdict([new], csi_storage_capacities=capacities).feasible.values())


class TestScores:
    def test_the_node_with_the_most_storage_left_is_best(self) -> None:
        volumes = [volume("v1", in_zone("a"), size="10Gi"), volume("v2", in_zone("b"), size="50Gi")]
        found = verdict([claim()], volumes)
        assert found.scores["VolumeBinding"] == {"n1": 50, "n2": 90}
        assert found.total == {"n1": 350, "n2": 390}

    def test_before_1_37_storage_is_not_scored(self) -> None:
        assert "VolumeBinding" not in verdict([claim()], [volume("v")], version=(1, 36)).scores

    def test_classes_count_equally_and_halves_are_rounded_up(self) -> None:
        claims = [claim("one", size="1Gi"), claim("two", size="1Gi", storageClassName="fast")]
        volumes = [volume("v1", size="4Gi"), volume("v2", size="2Gi", storageClassName="fast")]
        assert verdict(claims, volumes).scores["VolumeBinding"]["n1"] == 63  # of 75 and 50


class TestZones:
    """Labels of volumes, as in-tree plugins and people write them."""

    def where(self, labels: Object, nodes: list[Object]) -> list[str]:
        found = verdict([claim(to="v")], [volume("v", labels=labels)], nodes=nodes)
        assert set(found.reason.values()) <= {"VolumeZone"}
        assert all(texts == ["node(s) had no available volume zone"] for texts in found.messages.values())
        return [name for name, fits in found.feasible.items() if fits]

    def test_one_of_several_zones(self) -> None:
        assert self.where({ZONE: "a__b"}, NODES) == ["n1", "n2"]

    def test_a_list_with_an_empty_zone_is_ignored(self) -> None:
        assert self.where({ZONE: "a__"}, NODES) == ["n1", "n2", "n3"]

    def test_a_node_without_zones_accepts_every_volume(self) -> None:
        assert self.where({ZONE: "a"}, [*NODES, node("n4", {HOST: "n4"})]) == ["n1", "n4"]

    def test_older_labels_of_volumes_match_newer_ones_of_nodes_and_not_the_reverse(self) -> None:
        older = "failure-domain.beta.kubernetes.io/zone"
        assert self.where({older: "a"}, NODES) == ["n1"]
        assert self.where({ZONE: "a"}, [node("n1", {older: "a"})]) == []


class TestRestrictions:
    def test_a_claim_for_one_pod(self) -> None:
        alone = claim(to="v", modes=("ReadWriteOncePod",))
        found = verdict([alone], [volume("v")], [with_claims("other", "data", nodeName="n2")])
        text = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
        assert found.messages == everywhere(text)
        assert found.unresolvable == frozenset()

    @pytest.mark.parametrize(
        ("runs", "comes", "shares"),
        [
            ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, False),
            ({"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, True),
            ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, True),
            ({"awsElasticBlockStore": {"volumeID": "d"}}, {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}}, False),
            ({"iscsi": {"iqn": "i", "lun": 0}}, {"iscsi": {"iqn": "i", "lun": 1}}, False),
            ({"rbd": {"monitors": ["m1", "m2"], "image": "i"}}, {"rbd": {"monitors": ["m2"], "pool": "rbd", "image": "i"}}, False),
            ({"rbd": {"monitors": ["m1"], "image": "i"}}, {"rbd": {"monitors": ["m2"], "image": "i"}}, True),
            ({"azureDisk": {"diskURI": "d"}}, {"azureDisk": {"diskURI": "d"}}, True),
        ],
        ids=["gce", "gce read-only", "gce others", "aws", "iscsi", "rbd", "rbd of others", "azure"],
    )
    def test_disks_that_two_pods_of_a_node_cannot_share(self, runs: Object, comes: Object, *, shares: bool) -> None:
        cluster = Cluster(NODES, [pod("old", on="n1", volumes=[{"name": "d", **runs}])], persistent_volumes=[])
        found = cluster.evaluate(pod("new", volumes=[{"name": "d", **comes}]))
        assert found.messages == ({} if shares else {"n1": ["node(s) had no available disk"]})


class TestLimits:
    def test_a_node_attaches_a_limited_number_of_volumes(self) -> None:
        claims = [claim(f"c{number}", to=f"v{number}", storageClassName="fast") for number in range(3)]
        volumes = [volume(f"v{number}", csi=disk(f"d{number}")) for number in range(3)]
        runs = [with_claims("old", "c0", "c1", nodeName="n1")]
        cluster = Cluster(NODES, runs, persistent_volumes=volumes, persistent_volume_claims=claims, csi_nodes=[csi_node("n1", 2)])
        assert cluster.evaluate(with_claims("new", "c2")).messages == {"n1": ["node(s) exceed max volume count"]}
        # A volume that is on the node already counts once.
        assert cluster.evaluate(with_claims("new", "c1")).messages == {}
        cluster.unbind(runs[0])
        assert cluster.evaluate(with_claims("new", "c2")).messages == {}

    def test_a_volume_that_is_still_attached_counts(self) -> None:
        attachment = {
            "metadata": {"name": "a"},
            "spec": {"attacher": "example.com", "nodeName": "n1", "source": {"persistentVolumeName": "w"}},
        }
        more = {"csi_nodes": [csi_node("n1", 1)], "volume_attachments": [attachment]}
        found = verdict([claim(to="v")], [volume("v", csi=disk("d")), volume("w", csi=disk("e"))], **more)
        assert found.reason == {"n1": "NodeVolumeLimits"}

    def test_a_volume_that_only_an_attachment_has_counts_again(self) -> None:
        """As when the pod before is gone and its volume is not detached yet (csi.go removes only what running pods use)."""
        attachment = {
            "metadata": {"name": "a"},
            "spec": {"attacher": "example.com", "nodeName": "n1", "source": {"persistentVolumeName": "v"}},
        }
        runs = [with_claims("old", "data", nodeName="n1")]
        more: Object = {"csi_nodes": [csi_node("n1", 1)], "volume_attachments": [attachment]}
        assert verdict([claim(to="v")], [volume("v", csi=disk("d"))], **more).reason == {"n1": "NodeVolumeLimits"}
        assert verdict([claim(to="v")], [volume("v", csi=disk("d"))], runs, **more).reason == {}

    def test_a_driver_that_pods_need(self) -> None:
        driver = {"metadata": {"name": "example.com"}, "spec": {"preventPodSchedulingIfMissing": True}}
        more: Object = {"csi_nodes": [csi_node("n1", None)], "csi_drivers": [driver]}
        found = verdict([claim(to="v")], [volume("v", csi=disk("d"))], **more)
        assert found.messages == everywhere("example.com CSI driver is not installed on the node", "n2", "n3")
        assert verdict([claim(to="v")], [volume("v", csi=disk("d"))], version=(1, 36), **more).messages == {}


class TestVolumesOfReplacedPlugins:
    """In-tree volumes on nodes where a CSI driver replaces their plugin."""

    KEY = "topology.gke.io/zone"

    def where(self, data: Object) -> list[str]:
        nodes = [node("n1", {ZONE: "a", self.KEY: "b"}), node("n2", {ZONE: "b", self.KEY: "a"})]
        annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}
        csi = [{"metadata": {"name": name, "annotations": annotations}, "spec": {}} for name in ("n1", "n2")]
        found = verdict([claim(to="v")], [data], nodes=nodes, csi_nodes=csi)
        return [name for name in found.feasible if found.reason.get(name) != "VolumeBinding"]

    def test_the_zone_of_the_affinity_is_that_of_the_driver(self) -> None:
        assert self.where(volume("v", in_zone("a"), gcePersistentDisk={"pdName": "d"})) == ["n2"]

    def test_without_one_the_label_of_the_volume_is_added(self) -> None:
        assert self.where(volume("v", labels={ZONE: "a__c"}, gcePersistentDisk={"pdName": "d"})) == ["n2"]

    def test_other_volumes_stay_as_they_are(self) -> None:
        assert self.where(volume("v", in_zone("a"), csi=disk("d"))) == ["n1"]


class TestEphemeralVolumes:
    def verdict(self, owner: Object | None) -> Verdict:
        claims = [{**claim("db-tmp"), "metadata": {"name": "db-tmp", "ownerReferences": [owner] if owner else []}}]
        cluster = Cluster(NODES, persistent_volumes=[volume("v")], persistent_volume_claims=claims, storage_classes=[LOCAL])
        return cluster.evaluate(pod("db", volumes=[{"name": "tmp", "ephemeral": {}}]))

    def test_the_claim_of_the_pod(self) -> None:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "db", "uid": "u", "controller": True}
        assert self.verdict(owner).bindings["n1"] == {"db-tmp": "v"}

    def test_the_claim_of_another_pod(self) -> None:
        text = "PVC default/db-tmp was not created for pod default/db (pod is not owner)"
        assert self.verdict(None).messages["n1"] == [text]

    def test_no_claim_yet(self) -> None:
        found = Cluster(NODES, persistent_volumes=[]).evaluate(pod("db", volumes=[{"name": "tmp", "ephemeral": {}}]))
        assert found.messages["n1"] == ['waiting for ephemeral volume controller to create the persistentvolumeclaim "db-tmp"']


class TestBinding:
    """What stays when a pod was scheduled."""

    def test_a_volume_is_taken_by_one_claim(self) -> None:
        cluster = Cluster(
            NODES,
            persistent_volumes=[volume("v1", in_zone("a")), volume("v2", in_zone("b"))],
            persistent_volume_claims=[claim("c0"), claim("c1"), claim("c2")],
            storage_classes=[LOCAL],
        )
        run = cluster.schedule([with_claims(f"db-{number}", f"c{number}") for number in range(3)])
        assert run.placements == {"db-0": "n1", "db-1": "n2"}
        assert set(run.unschedulable["db-2"].values()) == {"VolumeBinding"}
        # The cluster that was asked does not change.
        assert set(cluster.evaluate(with_claims("db", "c0")).bindings) == {"n1", "n2"}

    def test_a_replica_returns_only_to_its_volume(self) -> None:
        cluster = Cluster(
            zoned(n1="a", n2="a", n3="b"), persistent_volume_claims=[claim()], storage_classes=[FAST, LOCAL],
            persistent_volumes=[volume("v", in_zone("a"))],
        )  # fmt: skip
        run = cluster.schedule([with_claims("db", "data")])
        assert run.placements == {"db": "n1"}
        one_left = run.cluster.without(["n1"])
        assert one_left.schedule(run.cluster.evicted(["n1"])).placements == {"db": "n2"}
        none_left = run.cluster.without(["n1", "n2"])
        assert none_left.schedule(run.cluster.evicted(["n1"])).unschedulable == {"db": {"n3": "VolumeBinding"}}

    def test_a_new_volume_has_the_zone_of_the_first_node(self) -> None:
        cluster = Cluster(
            zoned(n1="a", n2="a", n3="b"),
            persistent_volume_claims=[claim(storageClassName="fast")],
            storage_classes=[FAST],
            new_volumes={"fast": (ZONE,)},
        )
        cluster.bind(with_claims("one", "data"), "n2")
        assert cluster.feasible_nodes(with_claims("two", "data")) == ["n1", "n2"]

    def test_if_it_is_unknown_where_a_new_volume_can_be_used_it_is_used_on_the_selected_node(self) -> None:
        cluster = Cluster(NODES, persistent_volume_claims=[claim(storageClassName="fast")], storage_classes=[FAST])
        cluster.bind(with_claims("one", "data"), "n2")
        assert cluster.feasible_nodes(with_claims("two", "data")) == ["n2"]

    def test_pods_that_differ_only_in_their_claims_differ(self) -> None:
        volumes = [volume("v1", in_zone("x")), volume("v2", in_zone("b"))]
        claims = [claim("c1", to="v1"), claim("c2", to="v2")]
        run = Cluster(NODES, persistent_volumes=volumes, persistent_volume_claims=claims).schedule(
            [with_claims("p1", "c1"), with_claims("p2", "c2")]
        )
        assert run.placements == {"p2": "n2"}


def test_volumes_are_examined_after_labels_and_before_spread() -> None:
    volumes, claims = [volume("v", in_zone("a"))], [claim(to="v")]
    runs = [pod("old", {"app": "db"}, on="n1"), pod("older", {"app": "db"}, on="n2")]
    cluster = Cluster(NODES, runs, persistent_volumes=volumes, persistent_volume_claims=claims)
    spread_over_zones = [spread(ZONE, app("db"))]
    asked = with_claims("db", "data", topologySpreadConstraints=spread_over_zones)
    assert cluster.evaluate(asked).reason == {"n1": "PodTopologySpread", "n2": "VolumeBinding", "n3": "VolumeBinding"}
    asked = with_claims("db", "data", topologySpreadConstraints=spread_over_zones, nodeSelector={ZONE: "b"})
    assert cluster.evaluate(asked).reason == {"n1": "NodeAffinity", "n2": "VolumeBinding", "n3": "NodeAffinity"}


def test_messages_of_the_other_plugins() -> None:
    nodes = [
        node("n1", {ZONE: "a"}),
        node("n2", {ZONE: "b"}),
        node("n3"),
        node("n4", {ZONE: "c"}, taints=["gpu:NoSchedule"]),
        node("n5", cordoned=True),
    ]
    apart = {"podAntiAffinity": {REQUIRED: [term(ZONE, app("web"))]}}
    runs = [pod("web", {"app": "web"}, on="n1"), pod("alone", {"app": "x"}, on="n2", affinity=apart)]
    found = Cluster(nodes, runs, persistent_volumes=[]).evaluate(
        pod("new", {"app": "web"}, affinity=apart, topologySpreadConstraints=[spread(ZONE, app("web"), 5)])
    )
    assert found.messages == {
        "n1": ["node(s) didn't match pod anti-affinity rules"],
        "n2": ["node(s) didn't satisfy existing pods anti-affinity rules"],
        "n3": ["node(s) didn't match pod topology spread constraints (missing required label)"],
        "n4": ["node(s) had untolerated taint(s)"],
        "n5": ["node(s) were unschedulable"],
    }
    assert found.unresolvable == {"n3", "n4", "n5"}


def test_the_order_of_the_objects_does_not_matter() -> None:
    volumes = [volume("v1", in_zone("a"), size="6Gi"), volume("v2", size="8Gi"), volume("v3", in_zone("b", "c"), size="7Gi")]
    expected = {"n1": {"data": "v1"}, "n2": {"data": "v3"}, "n3": {"data": "v3"}}
    assert [verdict([claim()], [*order]).bindings for order in permutations(volumes)] == [expected] * 6


def test_a_cluster_without_storage_objects_ignores_volumes() -> None:
    found = Cluster(NODES).evaluate(with_claims("db", "missing"))
    assert all(found.feasible.values())
    assert (found.messages, found.bindings, "VolumeBinding" in found.scores) == ({}, {}, False)


@pytest.mark.parametrize(
    ("field", "objects", "message"),
    [
        ("persistent_volumes", [volume("v", size="many")], "PersistentVolume 'v': spec.capacity.storage is not a quantity"),
        ("persistent_volumes", [volume("v"), volume("v")], "PersistentVolume 'v' appears twice"),
        ("persistent_volume_claims", [claim(), claim()], "PersistentVolumeClaim 'default/data' appears twice"),
        ("storage_classes", [{"metadata": {}}], "a StorageClass has no name"),
        ("csi_nodes", [csi_node("n1", "few")], "CSINode 'n1': spec.drivers[0].allocatable.count is a string, not an integer"),
    ],
    ids=["quantity", "volume twice", "claim twice", "no name", "count"],
)
def test_malformed_objects(field: str, objects: list[Object], message: str) -> None:
    with pytest.raises(InventoryError, match="^" + message.replace("[", r"\[")):
        Cluster(NODES, **{field: objects})
