"""Policies about what constraints imply: each way to meet them, the nearest way not to, and what is said then."""

import textwrap
from pathlib import Path

import pytest

from afflint.findings.finding import Finding
from edited import edited
from on_nodes import workload
from policing import findings_of, messages_of

ZONE = "topology.kubernetes.io/zone"
FAST = "- {name: fast, check: required-node-labels, params: {labels: {performance: [high]}}}"
ZONES = f"- {{name: zones, check: required-spread, params: {{topology-key: {ZONE}}}}}"


def deployment(spec: str = "", *, name: str = "web", replicas: str = "3", labels: str = "", namespace: str = "shop") -> str:
    """A Deployment with these fields of the pod spec, from line 11 on."""
    fields = "".join(f"      {line}\n" for line in spec.strip("\n").splitlines())
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}{labels}}}}}
    spec:
      containers: [{{name: {name}, image: nginx}}]
{fields}"""


def required(*terms: str) -> str:
    """Required node affinity with these match expressions in each term, from line 15 on; each term takes two lines."""
    listed = "".join(f"      - matchExpressions:\n        - {{{term}}}\n" for term in terms)
    return f"affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n{listed}"


def spread(
    key: str = ZONE, *, skew: str = "1", hard: bool = True, selector: str = "matchLabels: {app: web}", of_revision: bool = True
) -> str:
    """A spread constraint with its fields on lines 12 to 15, and the one for a revision on line 16."""
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    fields = [f"- maxSkew: {skew}", f"  topologyKey: {key}", f"  whenUnsatisfiable: {when}", f"  labelSelector: {{{selector}}}"]
    fields += ["  matchLabelKeys: [pod-template-hash]"] * of_revision
    return "\n".join(["topologySpreadConstraints:", *fields, ""])


def apart(key: str, selector: str = "matchLabels: {app: web}", more: str = "") -> str:
    """Required anti-affinity, the term on line 14."""
    term = f"    - {{topologyKey: {key}, labelSelector: {{{selector}}}{more}}}"
    return f"affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n{term}\n"


def fixed(findings: list[Finding], text: str) -> str:
    """The text with what the finding of the policy offers."""
    (found,) = [each for each in findings if each.category == "policy"]
    assert found.fix is not None
    assert not found.fix.safe
    return edited(text, found.fix.edits)


PREFERRED = """\
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, preference: {matchExpressions: [{key: performance, operator: In, values: [high]}]}}
"""


class TestRequiredNodeLabels:
    @pytest.mark.parametrize(
        "spec",
        [
            "nodeSelector: {performance: high}",
            required("key: performance, operator: In, values: [high]"),
            required("key: performance, operator: In, values: [high]", "key: performance, operator: In, values: [high]"),
            "nodeSelector: {performance: high}\n" + required("key: disk, operator: Exists", "key: disk, operator: DoesNotExist"),
            required("key: performance, operator: In, values: [high, low]")
            + "        - {key: performance, operator: NotIn, values: [low]}\n",
            # No node is like that: another rule says so.
            required("key: disk, operator: In, values: [ssd]") + "        - {key: disk, operator: In, values: [hdd]}\n",
            "nodeSelector: {performance: '${LEVEL}'}",
        ],
    )
    def test_what_implies_the_label(self, tmp_path: Path, spec: str) -> None:
        assert messages_of(tmp_path, FAST, deployment(spec)) == []

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ("", "3:18 {}; nothing prevents its pods from running on a node without the label"),
            ("nodeSelector: {disk: ssd}", "11:7 {}; its node constraints allow a node without the label"),
            ("nodeSelector: {performance: low}", "11:35 {}; its node constraints allow a node with `performance=low`"),
            (
                required("key: performance, operator: Exists"),
                "16:18 {}; its node constraints allow a node with any other value of `performance`",
            ),
            (
                required("key: performance, operator: In, values: [high]", "key: performance, operator: In, values: [high, low]"),
                "18:18 {}; term 2 of the required node affinity allows a node with `performance=low`",
            ),
            (
                required("key: performance, operator: In, values: [high]", "key: disk, operator: In, values: [ssd]"),
                "17:15 {}; term 2 of the required node affinity allows a node without the label",
            ),
            # A preference lets them go anywhere.
            (PREFERRED, "3:18 {}; nothing prevents its pods from running on a node without the label"),
        ],
    )
    def test_what_does_not(self, tmp_path: Path, spec: str, expected: str) -> None:
        assert messages_of(tmp_path, FAST, deployment(spec)) == [expected.format("the policy requires nodes with `performance=high`")]

    def test_the_namespace_may_ask_for_it(self, tmp_path: Path) -> None:
        namespace = (
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {openshift.io/node-selector: 'performance=LEVEL'}}\n"
        )
        assert messages_of(tmp_path, FAST, deployment() + namespace.replace("LEVEL", "high")) == []
        assert messages_of(tmp_path, FAST, deployment(namespace="office") + namespace.replace("LEVEL", "high")) != []
        (found,) = messages_of(tmp_path, FAST, deployment() + namespace.replace("LEVEL", "low"))
        assert found.endswith("openshift.io/node-selector of namespace shop allows a node with `performance=low`")

    def test_any_value_and_several_labels(self, tmp_path: Path) -> None:
        policy = '- {name: tenants, check: required-node-labels, params: {labels: {tenant: "*", pool: [a, b]}}}'
        assert messages_of(tmp_path, policy, deployment("nodeSelector: {tenant: one, pool: b}")) == []
        assert messages_of(tmp_path, policy, deployment("nodeSelector: {tenant: one}")) == [
            "11:7 the policy requires nodes with `pool` `a` or `b`; its node constraints allow a node without the label"
        ]
        assert messages_of(tmp_path, policy, deployment("nodeSelector: {pool: a}")) == [
            "11:7 the policy requires nodes with the label `tenant`; its node constraints allow a node without it"
        ]

    def test_what_kubevirt_asks_for_by_itself(self, tmp_path: Path) -> None:
        policy = "- {name: ours, check: required-node-labels, params: {labels: {KEY: ['VALUE']}}}"
        vm = (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: db}\nspec:\n  runStrategy: Always\n"
            "  template:\n    spec: {architecture: arm64, domain: {devices: {}}}\n"
        )
        by_cluster = (
            "---\napiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\n"
            "spec: {configuration: {developerConfiguration: {nodeSelectors: {performance: high}}}}\n"
        )
        assert messages_of(tmp_path, policy.replace("KEY", "kubevirt.io/schedulable").replace("VALUE", "true"), vm) == []
        assert messages_of(tmp_path, policy.replace("KEY", "kubernetes.io/arch").replace("VALUE", "arm64"), vm) == []
        assert len(messages_of(tmp_path, FAST, vm)) == 1
        assert messages_of(tmp_path, FAST, vm + by_cluster) == []

    def test_patches_are_not_held_to_what_they_lack(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, FAST, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n") == []

    def test_custom_resources(self, tmp_path: Path) -> None:
        kafka = (
            "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\nspec:\n  instances: 3\n"
            "  affinity:\n    nodeSelector: {performance: LEVEL}\n"
        )
        assert messages_of(tmp_path, FAST, kafka.replace("LEVEL", "high")) == []
        assert messages_of(tmp_path, FAST, kafka.replace("LEVEL", "low")) == [
            "7:33 the policy requires nodes with `performance=high`; its node constraints allow a node with `performance=low`"
        ]

    def test_fields_of_a_custom_resource_that_may_be_about_other_pods(self, tmp_path: Path) -> None:
        ceph = "apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: rook}\nspec:\n  placement:\n"
        asking = (
            ceph + "    WHO:\n      nodeAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n"
        )
        asking += "          - matchExpressions:\n            - {key: performance, operator: In, values: [LEVEL]}\n"
        for_all = asking.replace("WHO", "all").replace("LEVEL", "high")
        # What is said of all of them may be what those are asked for that only tolerate something.
        assert messages_of(tmp_path, FAST, for_all + "    mon: {tolerations: [{key: a, operator: Exists}]}\n") == []
        assert messages_of(tmp_path, FAST, ceph + "    mon: {tolerations: [{key: a, operator: Exists}]}\n") == []
        assert len(messages_of(tmp_path, FAST, asking.replace("WHO", "mon").replace("LEVEL", "low"))) == 1

    def test_what_kustomizations_use_as_a_patch_of_a_custom_resource(self, tmp_path: Path) -> None:
        (tmp_path / "kustomization.yaml").write_text("patches: [{path: patch.yaml}]\n", encoding="utf-8")
        cluster = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\nspec: {instances: 3}\n"
        (tmp_path / "patch.yaml").write_text(cluster, encoding="utf-8")
        assert len(messages_of(tmp_path, FAST, {"cluster.yaml": cluster})) == 1
        assert messages_of(tmp_path, FAST, {"patch.yaml": cluster}) == []

    def test_the_label_is_added_in_the_style_of_the_file(self, tmp_path: Path) -> None:
        text = deployment("nodeSelector:\n  disk: ssd\n")
        assert fixed(findings_of(tmp_path, FAST, text), text) == text + "        performance: high\n"
        several = "- {name: fast, check: required-node-labels, params: {labels: {performance: [high, medium]}}}"
        text = deployment(required("key: disk, operator: Exists"))
        assert fixed(findings_of(tmp_path, several, text), text).endswith(
            "- {key: disk, operator: Exists}\n              - key: performance\n                operator: In\n                values:\n"
            "                - high\n                - medium\n"
        )

    def test_nothing_is_added_where_no_node_would_be_left(self, tmp_path: Path) -> None:
        (found,) = findings_of(tmp_path, FAST, deployment("nodeSelector: {performance: low}"))
        assert found.fix is None


NODES = """\
nodes:
- {name: a1, labels: {topology.kubernetes.io/zone: a, rack: r1}}
- {name: a2, labels: {topology.kubernetes.io/zone: a, rack: r1}}
- {name: b1, labels: {topology.kubernetes.io/zone: b, rack: r2}}
- {name: b2, labels: {topology.kubernetes.io/zone: b, rack: r2}}
"""


class TestRequiredSpread:
    @pytest.mark.parametrize(
        "spec",
        [
            spread(),
            spread(skew="2"),
            spread("topology.kubernetes.io/region"),
            spread("failure-domain.beta.kubernetes.io/zone"),
            spread(selector="matchExpressions: [{key: app, operator: Exists}]"),
            apart(ZONE),
            apart(ZONE, more=", namespaces: [shop, office]"),
            spread("'${KEY}'"),
        ],
    )
    def test_what_keeps_replicas_in_several_zones(self, tmp_path: Path, spec: str) -> None:
        assert messages_of(tmp_path, ZONES, deployment(spec)) == []

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ("", f"3:18 no required podAntiAffinity or hard spread constraint uses the topology key `{ZONE}`"),
            (spread(hard=False), f"14:28 the spread constraint over `{ZONE}` is only a preference, which the scheduler may leave unmet"),
            (spread(skew="3"), f"12:18 the spread constraint over `{ZONE}` lets 3 of them share a domain, because its maxSkew is 3"),
            (
                spread(selector="matchLabels: {app: api}"),
                f"15:9 the spread constraint over `{ZONE}` selects `app In [api]`, but its own pods have `app=web`",
            ),
            (spread(selector=""), f"12:9 the spread constraint over `{ZONE}` has an empty labelSelector, so it counts no pods"),
            (
                apart("kubernetes.io/hostname"),
                "14:27 the required podAntiAffinity is over `kubernetes.io/hostname`, but one zone may contain several of those",
            ),
            (
                apart(ZONE, more=", namespaces: [office]"),
                f"14:14 the required podAntiAffinity over `{ZONE}` selects pods in other namespaces only",
            ),
            (
                apart(ZONE, more=", mismatchLabelKeys: [app]"),
                f"14:56 the required podAntiAffinity over `{ZONE}` selects `app NotIn [web]`, but its own pods have `app=web`",
            ),
        ],
    )
    def test_what_does_not(self, tmp_path: Path, spec: str, expected: str) -> None:
        place, why = expected.split(" ", 1)
        assert messages_of(tmp_path, ZONES, deployment(spec)) == [f"{place} all 3 replicas may be in one zone: {why}"]

    def test_a_rollout_may_undo_a_spread_that_counts_both_revisions(self, tmp_path: Path) -> None:
        text = deployment(spread(of_revision=False), replicas="2")
        why = f"the spread constraint over `{ZONE}` also counts the pods of the previous revision"
        assert messages_of(tmp_path, ZONES, text) == [f"12:9 after a rollout, all 2 replicas may be in one zone: {why}"]
        found = findings_of(tmp_path, ZONES, text)
        assert [each.rule for each in found] == ["spread-lost-in-rollout", "zones"]  # Of the same field: check shows one of them.
        assert [each.rule for each in findings_of(tmp_path, "", text)] == ["spread-lost-in-rollout"]
        repaired = fixed(found, text)
        assert "        matchLabelKeys:\n        - pod-template-hash\n" in repaired
        assert findings_of(tmp_path, ZONES, repaired) == []

    @pytest.mark.parametrize(
        "strategy", ["{type: Recreate}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "{rollingUpdate: {maxSurge: 0%}}"]
    )
    def test_without_a_surge_pod_a_spread_outlasts_a_rollout(self, tmp_path: Path, strategy: str) -> None:
        text = deployment(spread(of_revision=False)).replace("  selector:", f"  strategy: {strategy}\n  selector:", 1)
        assert messages_of(tmp_path, ZONES, text) == []

    def test_other_kinds_and_constraints_outlast_a_rollout(self, tmp_path: Path) -> None:
        stateful = deployment(spread(of_revision=False)).replace("kind: Deployment", "kind: StatefulSet")
        assert messages_of(tmp_path, ZONES, stateful.replace("  replicas:", "  serviceName: web\n  replicas:")) == []
        assert messages_of(tmp_path, ZONES, deployment(spread(of_revision=False) + apart(ZONE))) == []

    def test_another_label_key_does_not_separate_the_revisions(self, tmp_path: Path) -> None:
        text = deployment(spread().replace("pod-template-hash", "tier"), labels=", tier: front")
        assert "after a rollout" in messages_of(tmp_path, ZONES, text)[0]
        assert "matchLabelKeys: [tier, pod-template-hash]" in fixed(findings_of(tmp_path, ZONES, text), text)

    def test_node_constraints_that_leave_one_zone(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, ZONES, deployment(spread() + f"nodeSelector: {{{ZONE}: a}}\n")) == [
            "3:18 its node constraints allow only zone `a`, but the policy requires more than one"
        ]

    def test_a_preference_will_do_where_the_policy_says_so(self, tmp_path: Path) -> None:
        policy = f"- {{name: zones, check: required-spread, params: {{topology-key: {ZONE}, mode: soft}}}}"
        assert messages_of(tmp_path, policy, deployment(spread(hard=False))) == []
        assert messages_of(tmp_path, policy, deployment(spread())) == []
        assert messages_of(tmp_path, policy, deployment()) == [
            (
                "3:18 nothing makes its replicas prefer different zones:"
                f" no podAntiAffinity or spread constraint uses the topology key `{ZONE}`"
            )
        ]

    def test_the_skew_that_is_allowed(self, tmp_path: Path) -> None:
        policy = f"- {{name: zones, check: required-spread, params: {{topology-key: {ZONE}, max-skew: 1}}}}"
        assert messages_of(tmp_path, policy, deployment(spread())) == []
        (found,) = messages_of(tmp_path, policy, deployment(spread(skew="2")))
        why = f"the maxSkew of the spread constraint over `{ZONE}` is 2, but the policy allows only 1"
        assert found == f"12:18 one zone may have 2 more replicas than another: {why}"

    @pytest.mark.parametrize("replicas", ["0", "1"])
    def test_single_pods_need_no_spread(self, tmp_path: Path, replicas: str) -> None:
        assert messages_of(tmp_path, ZONES, deployment(replicas=replicas)) == []

    def test_an_autoscaler_says_how_many_there_are(self, tmp_path: Path) -> None:
        scaler = (
            "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\n"
            "spec: {minReplicas: LEAST, maxReplicas: MOST, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
        )
        scaled = deployment(replicas="1") + scaler
        assert messages_of(tmp_path, ZONES, scaled.replace("LEAST", "1").replace("MOST", "1")) == []
        assert messages_of(tmp_path, ZONES, scaled.replace("LEAST", "2").replace("MOST", "9")) == [
            (
                "3:18 all its replicas may be in one zone:"
                f" no required podAntiAffinity or hard spread constraint uses the topology key `{ZONE}`"
            )
        ]

    def test_a_constraint_that_counts_others_as_well_may_leave_them_together(self, tmp_path: Path) -> None:
        web = deployment(spread(selector="matchLabels: {team: x}"), labels=", team: x")
        api = deployment(apart(ZONE, "matchLabels: {app: api}"), name="api", labels=", team: x")
        assert messages_of(tmp_path, ZONES, web) == []
        assert messages_of(tmp_path, ZONES, f"{web}---\n{api}") == [
            f"15:9 all its replicas may be in one zone: the spread constraint over `{ZONE}` also counts the pods of Deployment api"
        ]
        assert messages_of(tmp_path, ZONES, {"a.yaml": web, "b.yaml": api.replace("namespace: shop", "namespace: office")}) == []

    def test_a_namespace_selector_that_leaves_out_the_own_namespace(self, tmp_path: Path) -> None:
        namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: test}}\n"
        web = deployment(apart(ZONE, more=", namespaceSelector: {matchLabels: {env: ENV}}"))
        assert messages_of(tmp_path, ZONES, web.replace("ENV", "test") + namespace) == []
        assert messages_of(tmp_path, ZONES, web.replace("ENV", "prod")) == []  # Not known.
        (found,) = messages_of(tmp_path, ZONES, web.replace("ENV", "prod") + namespace)
        assert found.endswith("selects pods in other namespaces only")

    def test_what_an_operator_adds_counts(self, tmp_path: Path) -> None:
        cluster = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\nspec:\n  instances: 3\n  affinity: {MORE}\n"
        assert messages_of(tmp_path, ZONES, cluster.replace("MORE", f"topologyKey: {ZONE}, podAntiAffinityType: required")) == []
        (found,) = messages_of(tmp_path, ZONES, cluster.replace("MORE", "podAntiAffinityType: required"))
        assert found.startswith("3:18 all 3 replicas may be in one zone: the required podAntiAffinity is over `kubernetes.io/hostname`")

    def test_of_nodes_another_label_says_too_little_for_another_reason(self, tmp_path: Path) -> None:
        over_nodes = "- {name: ours, check: required-spread, params: {topology-key: kubernetes.io/hostname}}\n"
        found = messages_of(tmp_path, over_nodes, workload(apart("rack"), replicas=2))
        assert [each.split(" ", 1)[1] for each in found] == [
            "all 2 replicas may be in one node: the required podAntiAffinity is over `rack`, a label that nodes may lack"
        ]

    def test_unknown_operators_are_not_evaluated(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, ZONES, """\
            apiVersion: psmdb.percona.com/v1
            kind: PerconaServerMongoDB
            metadata: {name: db}
            spec:
              replsets:
              - {name: rs0, size: 3, nodeSelector: {a: b}}
            """) == []  # fmt: skip

    @pytest.mark.parametrize(
        ("spec", "replicas", "met"),
        [
            (apart("kubernetes.io/hostname"), 3, True),  # No zone has three nodes.
            (apart("kubernetes.io/hostname"), 2, False),
            (spread("kubernetes.io/hostname"), 3, True),
            (spread("kubernetes.io/hostname", of_revision=False), 3, False),
            (spread("kubernetes.io/hostname", skew="2"), 3, False),
            (apart("rack"), 2, True),  # Each zone lies in one rack.
            (apart("shelf"), 3, False),
            ("", 3, False),
        ],
    )
    def test_nodes_show_what_another_label_comes_to(self, tmp_path: Path, spec: str, replicas: int, *, met: bool) -> None:
        found = messages_of(tmp_path, ZONES, {"a.yaml": deployment(spec, replicas=str(replicas)), "nodes.yaml": NODES})
        assert (not found) is met

    POOLS = """\
        ---
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: shop, region: north}
        managedNodeGroups:
        - {name: a, availabilityZones: [north-a], labels: {rack: r1}, minSize: 1, maxSize: MOST}
        - {name: b, availabilityZones: [north-b], labels: {rack: r2}, minSize: 1, maxSize: MOST}
        """

    @pytest.mark.parametrize(
        ("spec", "most", "met"),
        [
            (apart("rack"), 9, True),  # Each zone lies in one rack.
            (apart("kubernetes.io/hostname"), 2, True),  # No zone has three nodes.
            (apart("kubernetes.io/hostname"), 3, False),
            (apart("shelf"), 2, False),
            ("", 2, False),
        ],
    )
    def test_pools_show_it_as_well(self, tmp_path: Path, spec: str, most: int, *, met: bool) -> None:
        pools = textwrap.dedent(self.POOLS).replace("MOST", str(most))
        assert (messages_of(tmp_path, ZONES, {"a.yaml": deployment(spec), "cluster.yaml": pools}) == []) is met

    def test_the_constraint_is_added_in_the_style_of_the_file(self, tmp_path: Path) -> None:
        text = deployment(labels=", version: v1")
        assert fixed(findings_of(tmp_path, ZONES, text), text) == text + (
            "      topologySpreadConstraints:\n        - maxSkew: 1\n          topologyKey: topology.kubernetes.io/zone\n"
            "          whenUnsatisfiable: DoNotSchedule\n          labelSelector:\n            matchLabels:\n              app: web\n"
            "          matchLabelKeys:\n            - pod-template-hash\n"
        )

    @pytest.mark.parametrize("spec", [spread(hard=False), spread(skew="5"), spread(skew="5", hard=False)])
    def test_a_constraint_that_is_too_weak_is_made_stronger(self, tmp_path: Path, spec: str) -> None:
        text = deployment(spec)
        assert fixed(findings_of(tmp_path, ZONES, text), text) == deployment(spread())


STRICT = f"{FAST}\n{ZONES}\n"
JSON = """\
{
  "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
  "spec": {
    "replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
    "template": {
      "metadata": {"labels": {"app": "db"}},
      "spec": {"containers": [{"name": "db", "image": "postgres"}]}
    }
  }
}
"""


@pytest.mark.parametrize(
    "text",
    [
        deployment(),
        deployment(spread(hard=False)),
        deployment(apart("kubernetes.io/hostname")),
        deployment(required("key: disk, operator: Exists", "key: gpu, operator: Exists")),
        deployment("nodeSelector: {disk: ssd}\naffinity: {}\ntopologySpreadConstraints: []\n"),
        deployment("nodeSelector:\naffinity:\ntopologySpreadConstraints:\n"),
        f"apiVersion: v1\nkind: List\nitems:\n- {deployment().replace(chr(10), chr(10) + '  ').rstrip()}\n",
        JSON,
    ],
)
@pytest.mark.parametrize("values", ["[high]", "[high, medium]"])
def test_what_a_fix_leaves_meets_the_policies(tmp_path: Path, text: str, values: str) -> None:
    policies = STRICT.replace("[high]", values)
    for _ in range(2):
        found = [each for each in findings_of(tmp_path, policies, text) if each.category == "policy"]
        assert found
        assert found[0].fix is not None
        text = edited(text, found[0].fix.edits)
    assert messages_of(tmp_path, policies, text) == []
