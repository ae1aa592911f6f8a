"""Rules about volumes: each finding next to the healthy manifest that looks like it. The pages of the rules have one of each more."""

import pytest

from afflint.checks.match import Target
from linting import lint, messages_of

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
EBS, NFS, LOCAL_PATH = "ebs.csi.aws.com", "nfs.csi.k8s.io", "rancher.io/local-path"
ANTI_AFFINITY = (
    "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}"
)
TOGETHER = ANTI_AFFINITY.replace("podAntiAffinity", "podAffinity")


def storage_class(provisioner: str = EBS, mode: str = "WaitForFirstConsumer", more: str = "") -> str:
    return (
        f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: fast}}\nprovisioner: {provisioner}\n"
        f"volumeBindingMode: {mode}\n{more}"
    )


def claim(modes: str = "ReadWriteOnce", more: str = "") -> str:
    return (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\n"
        f"spec: {{accessModes: [{modes}], storageClassName: fast, resources: {{requests: {{storage: 1Gi}}}}{more}}}\n"
    )


def volume(source: str = "csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}", zone: str = "a", more: str = "") -> str:
    affinity = f"{{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {ZONE}, operator: In, values: [{zone}]}}]}}]}}}}"
    return (
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: vol-1}\n"
        f"spec:\n  capacity: {{storage: 1Gi}}\n  accessModes: [ReadWriteOnce]\n  storageClassName: fast\n  {source}\n"
        f"  nodeAffinity: {affinity}\n{more}"
    )


def web(replicas: int = 1, pod: str = "", strategy: str = "{}") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: {replicas}
  strategy: {strategy}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      {pod or "priority: 0"}
      containers: [{{name: web, image: "example.com/web:1"}}]
      volumes:
        - name: data
          persistentVolumeClaim: {{claimName: data}}
"""


def files(*texts: str) -> dict[str, str]:
    """The last text is the workload; the others are what it depends on."""
    return {"web.yaml": texts[-1], "storage.yaml": "---\n".join(texts[:-1])}


class TestVolumeOutOfReach:
    RULE = "volume-out-of-reach"

    def test_a_node_selector_against_the_zone_of_the_volume(self) -> None:
        pod = f"nodeSelector: {{{ZONE}: b}}"
        assert messages_of(files(claim(more=", volumeName: vol-1"), volume(), web(pod=pod)), self.RULE) == [
            (
                f"11:{22 + len(ZONE) + 2} PersistentVolume vol-1 of the PersistentVolumeClaim `data` can be used only on nodes with "
                f"`{ZONE} In [a]`, but the pods require `{ZONE} In [b]`: they stay Pending"
            )
        ]

    def test_the_volume_may_name_the_claim_instead(self) -> None:
        reserved = volume(more="  claimRef: {namespace: shop, name: data}\n")
        assert len(messages_of(files(claim(), reserved, web(pod=f"nodeSelector: {{{ZONE}: b}}")), self.RULE)) == 1

    def test_a_zone_label_of_the_volume_counts_as_well(self) -> None:
        labelled = volume(zone="a, b").replace("name: vol-1}", f"name: vol-1, labels: {{{ZONE}: a}}}}", 1)
        assert len(messages_of(files(claim(more=", volumeName: vol-1"), labelled, web(pod=f"nodeSelector: {{{ZONE}: b}}")), self.RULE)) == 1

    def test_the_claim_of_each_replica_of_a_statefulset(self) -> None:
        """The second replica has its volume in another zone than the pods may use."""
        second = volume(zone="c", more="  claimRef: {namespace: shop, name: data-web-1}\n")
        stateful = web(2, f"nodeSelector: {{{ZONE}: b}}").replace("Deployment", "StatefulSet").partition("      volumes:")[0]
        stateful = stateful.replace("  strategy: {}\n", "  serviceName: web\n")
        stateful += "  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast}}]\n"
        assert len(messages_of(files(second, stateful), self.RULE)) == 1
        assert messages_of(files(second, stateful.replace("replicas: 2", "replicas: 1")), self.RULE) == []

    def test_allowed_topologies_that_exclude_the_pods(self) -> None:
        allowed = storage_class(more=f"allowedTopologies: [{{matchLabelExpressions: [{{key: {ZONE}, values: [a]}}]}}]\n")
        found = messages_of(files(allowed, claim(), web(pod=f"nodeSelector: {{{ZONE}: b}}")), self.RULE)
        assert [each.partition(" ")[2] for each in found] == [
            (
                f"StorageClass fast provisions volumes only for nodes with `{ZONE} In [a]`, but the pods require `{ZONE} In [b]`: "
                "they stay Pending"
            )
        ]

    @pytest.mark.parametrize(
        "pod, zone",
        [
            pytest.param(f"nodeSelector: {{{ZONE}: a}}", "a", id="the same zone"),
            pytest.param(f"nodeSelector: {{{ZONE}: b}}", "a, b", id="one of its zones"),
            pytest.param("nodeSelector: {disk: ssd}", "a", id="another label"),
            pytest.param(f"nodeSelector: {{{ZONE}: '${{ZONE}}'}}", "a", id="a placeholder"),
        ],
    )
    def test_silent_if_a_node_may_have_both(self, pod: str, zone: str) -> None:
        assert messages_of(files(claim(more=", volumeName: vol-1"), volume(zone=zone), web(pod=pod)), self.RULE) == []

    def test_silent_if_the_volume_is_defined_in_two_ways(self) -> None:
        both = files(claim(more=", volumeName: vol-1"), volume(zone="a"), volume(zone="b"), web(pod=f"nodeSelector: {{{ZONE}: b}}"))
        assert messages_of(both, self.RULE) == []


class TestBindingMode:
    def test_immediate_binding_against_a_required_zone(self) -> None:
        pod = f"nodeSelector: {{{ZONE}: b}}"
        assert len(messages_of(files(storage_class(mode="Immediate"), claim(), web(pod=pod)), "immediate-binding")) == 1

    @pytest.mark.parametrize(
        "cls, pod",
        [
            pytest.param(storage_class(), f"nodeSelector: {{{ZONE}: b}}", id="it waits for the pod"),
            pytest.param(storage_class(NFS, "Immediate"), f"nodeSelector: {{{ZONE}: b}}", id="usable from every node"),
            pytest.param(storage_class("example.com/disks", "Immediate"), f"nodeSelector: {{{ZONE}: b}}", id="unknown provisioner"),
            pytest.param(storage_class(mode="Immediate"), "nodeSelector: {kubernetes.io/os: linux}", id="no zone required"),
            pytest.param(
                storage_class(mode="Immediate", more=f"allowedTopologies: [{{matchLabelExpressions: [{{key: {ZONE}, values: [b]}}]}}]\n"),
                f"nodeSelector: {{{ZONE}: b}}",
                id="only in that zone",
            ),
        ],
    )
    def test_immediate_binding_is_silent(self, cls: str, pod: str) -> None:
        assert messages_of(files(cls, claim(), web(pod=pod)), "immediate-binding") == []

    def test_the_configuration_may_name_the_default_class_and_its_topology(self) -> None:
        """A claim without a class gets the default class; the configuration says which one that is, and where its volumes are."""
        local = Target(volume_topologies=(("fast", "node"),), default_storage_class="fast")
        without = claim().replace(", storageClassName: fast", "")
        assert len(messages_of(files(without, web(3)), "shared-volume")) == 1
        assert messages_of(files(without, web(3)), "shared-volume", target=local) == [], "all replicas follow the volume to its node"

    def test_nodename_with_a_claim_that_waits_for_the_scheduler(self) -> None:
        found = lint(files(storage_class(), claim(), web(pod="nodeName: worker-1")), also="claim-never-bound")
        assert "claim-never-bound" in {each.rule for each in found}

    @pytest.mark.parametrize("mode, more", [("Immediate", ""), ("WaitForFirstConsumer", ", volumeName: vol-1")])
    def test_nodename_with_a_claim_that_is_bound_without_it(self, mode: str, more: str) -> None:
        assert messages_of(files(storage_class(mode=mode), claim(more=more), web(pod="nodeName: worker-1")), "claim-never-bound") == []


class TestOneVolumeForSeveralPods:
    def test_replicas_that_must_be_apart(self) -> None:
        apart = files(storage_class(), claim(), web(3, f"affinity: {ANTI_AFFINITY}"))
        assert len(messages_of(apart, "unshareable-volume")) == 1
        assert messages_of(apart, "shared-volume") == [], "one finding for one mistake"

    def test_of_an_unknown_driver_it_is_only_likely(self) -> None:
        found = lint(files(claim(), web(3, f"affinity: {ANTI_AFFINITY}")))
        assert [(each.rule, each.severity) for each in found] == [("unshareable-volume", "warning")]

    def test_replicas_that_may_be_apart(self) -> None:
        assert messages_of(files(storage_class(), claim(), web(3)), "shared-volume") == [
            (
                "15:46 3 replicas share the PersistentVolumeClaim `data`, which is ReadWriteOnce: those on another node than the first "
                "wait for the volume and never start"
            )
        ]

    @pytest.mark.parametrize(
        "cls, modes, workload",
        [
            pytest.param(storage_class(), "ReadWriteOnce", web(1), id="one replica"),
            pytest.param(storage_class(), "ReadWriteMany", web(3), id="ReadWriteMany"),
            pytest.param(storage_class(), "ReadWriteOnce, ReadOnlyMany", web(3), id="or read-only on many nodes"),
            pytest.param(storage_class(NFS), "ReadWriteOnce", web(3), id="a shared file system"),
            pytest.param(storage_class(LOCAL_PATH), "ReadWriteOnce", web(3), id="all replicas follow a local volume"),
            pytest.param(storage_class(), "ReadWriteOnce", web(3, f"affinity: {TOGETHER}"), id="together by affinity"),
            pytest.param(storage_class(), "ReadWriteOnce", web(3, "nodeSelector: {kubernetes.io/hostname: n1}"), id="on one host"),
        ],
    )
    def test_silent(self, cls: str, modes: str, workload: str) -> None:
        for rule in ("shared-volume", "unshareable-volume"):
            assert messages_of(files(cls, claim(modes), workload), rule) == []

    @pytest.mark.parametrize(
        ("source", "labels", "expected"),
        [
            pytest.param("nfs: {server: a, path: /b}", "{app: web}", 0, id="a shared file system"),
            pytest.param("hostPath: {path: /b}", "{app: web}", 0, id="a folder of each node, which is not attached"),
            pytest.param("csi: {driver: ebs.csi.aws.com, volumeHandle: a}", "{app: web}", 1, id="a disk"),
            pytest.param("nfs: {server: a, path: /b}", "{app: other}", 1, id="the selector does not match it"),
        ],
    )
    def test_the_volumes_that_the_selector_of_a_claim_matches(self, source: str, labels: str, expected: int) -> None:
        volumes = volume(source).partition("  nodeAffinity")[0].replace("vol-1}", f"vol-1, labels: {labels}}}").replace("fast", '""')
        wanted = claim(more=", selector: {matchLabels: {app: web}}").replace("fast", '""')
        assert len(messages_of(files(volumes, wanted, web(3)), "shared-volume")) == expected

    @pytest.mark.parametrize(("name", "expected"), [("nfs-client", 0), ("freenas-nfs-csi", 0), ("standard", 1), ("infsys", 1)])
    def test_the_name_of_a_class_that_is_not_in_the_manifests(self, name: str, expected: int) -> None:
        assert len(messages_of(files(claim().replace("fast", name), web(3)), "shared-volume")) == expected

    def test_the_claim_must_be_known(self) -> None:
        assert messages_of(files(storage_class(), web(3)), "shared-volume") == []
        assert messages_of(files(claim().replace("shop", "other"), web(3)), "shared-volume") == []

    def test_a_claim_for_one_pod(self) -> None:
        found = lint(files(storage_class(), claim("ReadWriteOncePod"), web(2)))
        assert [(each.rule, each.severity) for each in found] == [("single-pod-volume", "error")]
        found = lint(files(storage_class(), claim("ReadWriteOncePod"), web(1)))
        assert [(each.rule, each.severity) for each in found] == [("single-pod-volume", "warning")]
        assert lint(files(storage_class(), claim("ReadWriteOncePod"), web(1, strategy="{type: Recreate}"))) == []


class TestRollouts:
    APART = f"affinity: {ANTI_AFFINITY}"

    def test_a_new_pod_that_must_be_elsewhere(self) -> None:
        assert len(messages_of(files(storage_class(), claim(), web(1, self.APART)), "rollout-blocked-by-volume")) == 1

    @pytest.mark.parametrize(
        "strategy", ["{type: Recreate}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "{rollingUpdate: {maxUnavailable: 1}}"]
    )
    def test_silent_if_the_old_pod_goes_first(self, strategy: str) -> None:
        for rule in ("rollout-blocked-by-volume", "rollout-shares-volume"):
            assert messages_of(files(storage_class(), claim(), web(1, self.APART, strategy)), rule) == []

    def test_a_new_pod_that_may_be_elsewhere_is_reported_on_request(self) -> None:
        manifests = files(storage_class(), claim(), web(1))
        assert lint(manifests) == []
        assert len(messages_of(manifests, "rollout-shares-volume")) == 1


class TestPersistentVolumes:
    def test_a_folder_of_each_node_for_pods_on_any_node(self) -> None:
        folder = volume("hostPath: {path: /data}").partition("  nodeAffinity")[0]
        bound = claim(more=", volumeName: vol-1")
        found = lint(files(bound, folder, web(1)))
        assert [(each.rule, each.severity) for each in found] == [("missing-volume-affinity", "info")]
        assert lint(files(bound, folder, web(1, "nodeSelector: {kubernetes.io/hostname: n1}"))) == []
        assert lint({"storage.yaml": folder}) == [], "nothing shows which pods use it"


NODES = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {zone}1, labels: {{{ZONE}: {zone}, {HOST}: {zone}1.example.com}}}}\n"
    for zone in "abc"
)


def stateful(replicas: int, pod: str) -> str:
    """A StatefulSet with a claim for each replica."""
    text = web(replicas, pod).replace("Deployment", "StatefulSet").replace("  strategy: {}\n", "  serviceName: web\n")
    claims = "[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast}}]"
    return f"{text.partition('      volumes:')[0]}  volumeClaimTemplates: {claims}\n"


class TestWithNodes:
    def test_a_host_name_that_no_node_has(self) -> None:
        on_host = volume("local: {path: /data}").replace(f"key: {ZONE}", "key: kubernetes.io/hostname")
        misspelt = on_host.replace("values: [a]", "values: [a1.exampel.com]")
        assert [each.partition(" ")[2] for each in messages_of({"storage.yaml": misspelt, "nodes.yaml": NODES}, "volume-without-node")] == [
            (
                "none of the 3 known nodes has `kubernetes.io/hostname In [a1.exampel.com]`, so pods that use PersistentVolume vol-1 "
                "stay Pending; did you mean `a1.example.com`?"
            )
        ]
        assert messages_of({"storage.yaml": misspelt}, "volume-without-node") == [], "nothing is known of the nodes"
        right = on_host.replace("values: [a]", "values: [a1.example.com]")
        assert messages_of({"storage.yaml": right, "nodes.yaml": NODES}, "volume-without-node") == []

    @pytest.mark.parametrize(
        "key, value, message",
        [
            (ZONE, "d", f"none of the 3 known nodes has `{ZONE} In [d]`, so StorageClass fast provisions no volumes there"),
            (
                "failure-domain.beta.kubernetes.io/zone",
                "a",
                (
                    "none of the 3 known nodes has the label `failure-domain.beta.kubernetes.io/zone`, so StorageClass fast provisions no "
                    f"volumes there; did you mean `{ZONE}`?"
                ),
            ),
        ],
    )
    def test_allowed_topologies_that_no_node_has(self, key: str, value: str, message: str) -> None:
        allowed = storage_class(more=f"allowedTopologies: [{{matchLabelExpressions: [{{key: {key}, values: [{value}]}}]}}]\n")
        found = messages_of({"storage.yaml": allowed, "nodes.yaml": NODES}, "unusable-allowed-topology")
        assert [each.partition(" ")[2] for each in found] == [message]

    def test_zones_without_volumes_count_in_a_spread(self) -> None:
        """Two of three zones have volumes: with maxSkew 1 each takes one replica, and the third zone stays empty."""
        allowed = storage_class(more=f"allowedTopologies: [{{matchLabelExpressions: [{{key: {ZONE}, values: [a, b]}}]}}]\n")
        spread = (
            f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule, "
            "labelSelector: {matchLabels: {app: web}}}]"
        )
        manifests = {**files(allowed, stateful(3, spread)), "nodes.yaml": NODES}
        assert [each.partition(" ")[2] for each in messages_of(manifests, "too-few-volume-zones")] == [
            "`c` counts as empty, but StorageClass fast provisions volumes only in 2 zones: 1 replica stays Pending"
        ]
        for healthy in (stateful(2, spread), stateful(3, spread.replace("DoNotSchedule", "ScheduleAnyway"))):
            assert messages_of({**files(allowed, healthy), "nodes.yaml": NODES}, "too-few-volume-zones") == []


class TestInvalidTopologies:
    RULE = "invalid-volume-topology"

    @pytest.mark.parametrize(
        "affinity, message",
        [
            ("{}", "the API server rejects PersistentVolume vol-1: `nodeAffinity` needs `required` with at least one node selector term"),
            (
                "{required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}",
                "`values` needs at least one value, so the API server rejects PersistentVolume vol-1",
            ),
            (
                "{required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: [x]}]}]}}",
                "`values` is not an integer, so the API server rejects PersistentVolume vol-1",
            ),
        ],
    )
    def test_of_a_volume(self, affinity: str, message: str) -> None:
        text = f"{volume().partition('  nodeAffinity')[0]}  nodeAffinity: {affinity}\n"
        assert [each.partition(" ")[2] for each in messages_of({"storage.yaml": text}, self.RULE)] == [message]

    @pytest.mark.parametrize(
        "expressions, message",
        [
            ("[{key: a b, values: [x]}]", "`key` is not a valid label key, so the API server rejects StorageClass fast"),
            ("[{key: a, values: []}]", "`values` needs at least one value, so the API server rejects StorageClass fast"),
            ("[{key: a, values: [x, x]}]", "`values` repeats a value, so the API server rejects StorageClass fast"),
            ("[{key: a, values: ['${ZONE}']}]", None),
        ],
    )
    def test_of_a_class(self, expressions: str, message: str | None) -> None:
        text = storage_class(more=f"allowedTopologies: [{{matchLabelExpressions: {expressions}}}]\n")
        assert [each.partition(" ")[2] for each in messages_of({"storage.yaml": text}, self.RULE)] == ([message] if message else [])

    def test_a_zone_label_that_the_driver_does_not_know(self) -> None:
        allowed = f"allowedTopologies: [{{matchLabelExpressions: [{{key: {ZONE}, values: [a]}}]}}]\n"
        assert len(messages_of({"storage.yaml": storage_class("pd.csi.storage.gke.io", more=allowed)}, "unusable-allowed-topology")) == 1
        for known in (EBS, "kubernetes.io/gce-pd", "csi.example.com"):
            assert messages_of({"storage.yaml": storage_class(known, more=allowed)}, "unusable-allowed-topology") == []
