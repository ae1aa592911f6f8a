"""Node affinity and topology keys that are accepted and cannot do what they are for: each check at its borders."""

import pytest

from afflint.findings.finding import Finding
from deployment_text import deployment
from linting import lint, messages_of, places


def pod(constraints: str, labels: str = "{}") -> str:
    """A Pod with placement fields as they are below ``spec``, from line 6 on."""
    lines = "".join(f"  {line}\n" for line in constraints.strip("\n").split("\n"))
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, labels: {labels}}}\n"
    return f"{head}spec:\n  containers: [{{name: c, image: busybox}}]\n{lines}"


def required(*terms: str, selector: str = "") -> str:
    """A Pod with ORed node selector terms, each a list of expressions in flow style, from line 10 on."""
    listed = "\n".join(f"        - matchExpressions: [{term}]" for term in terms)
    head = "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
    return pod(f"{head}{listed}" + (f"\nnodeSelector: {{{selector}}}" if selector else ""))


def preferred(*terms: str, selector: str = "") -> str:
    """A Pod with preferences, from line 9 on."""
    listed = "\n".join(f"      - {{weight: 1, preference: {{matchExpressions: [{term}]}}}}" for term in terms)
    head = "affinity:\n  nodeAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n"
    return pod(f"{head}{listed}" + (f"\nnodeSelector: {{{selector}}}" if selector else ""))


EAST, WEST = "{key: zone, operator: In, values: [east]}", "{key: zone, operator: In, values: [west]}"


class TestNegatedPodAffinity:
    @pytest.mark.parametrize(
        ("field", "expressions", "reported"),
        [
            ("podAffinity", "{key: app, operator: NotIn, values: [a]}", 1),
            ("podAffinity", "{key: app, operator: DoesNotExist}, {key: b, operator: NotIn, values: [c]}", 1),
            ("podAntiAffinity", "{key: app, operator: NotIn, values: [a]}", 0),
            ("podAffinity", "{key: app, operator: NotIn, values: [a]}, {key: app, operator: Exists}", 0),
            ("podAffinity", "{key: app, operator: NotIn, values: ['${A}']}", 0),
            ("podAffinity", "", 0),
        ],
    )
    def test_only_what_the_other_pods_are_not(self, field: str, expressions: str, reported: int) -> None:
        term = f"{{topologyKey: zone, labelSelector: {{matchExpressions: [{expressions}]}}}}"
        for terms in (f"requiredDuringSchedulingIgnoredDuringExecution: [{term}]", preferred_pods(term)):
            assert len(messages_of(pod(f"affinity: {{{field}: {{{terms}}}}}"), "negated-pod-affinity")) == reported

    def test_label_keys_add_what_the_pods_are(self) -> None:
        selector = "labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}"
        term = f"{{topologyKey: zone, {selector}, matchLabelKeys: [tier]}}"
        text = pod(f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}")
        assert messages_of(text, "negated-pod-affinity") == []


def preferred_pods(term: str) -> str:
    return f"preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {term}}}]"


class TestContradictoryRequirements:
    def test_one_dead_alternative_of_several_is_a_warning(self) -> None:
        text = required(f"{EAST}, {WEST}", EAST)
        assert places(lint(text)) == ["a.yaml:10:110 warning contradictory-requirements"]

    def test_an_alternative_that_is_to_be_filled_in_may_match(self) -> None:
        text = required(f"{EAST}, {WEST}", '{key: zone, operator: In, values: ["${ZONE}"]}')
        assert places(lint(text)) == ["a.yaml:10:110 warning contradictory-requirements"]

    def test_a_node_selector_that_is_to_be_filled_in_contradicts_nothing(self) -> None:
        assert lint(required(EAST, selector='zone: "${ZONE}"')) == []

    def test_numbers_can_contradict_each_other(self) -> None:
        text = required('{key: cores, operator: Gt, values: ["8"]}, {key: cores, operator: Lt, values: ["9"]}')
        assert messages_of(text, "contradictory-requirements") == ["10:111 no node can satisfy `cores Gt [8]` and also `cores Lt [9]`"]

    def test_what_only_excludes_contradicts_nothing(self) -> None:
        assert lint(required("{key: zone, operator: NotIn, values: [east]}, {key: zone, operator: DoesNotExist}")) == []


class TestComparisons:
    @pytest.mark.parametrize("operand", ["eight", "8.5", "", "1e3", " 8", "0x10", "9223372036854775808"])
    def test_what_is_not_a_whole_number(self, operand: str) -> None:
        text = required(f'{{key: cores, operator: Gt, values: ["{operand}"]}}')
        assert "never-matching-comparison" in {each.rule for each in lint(text)}

    @pytest.mark.parametrize("operand", ["0", "8", "008", "9223372036854775806", "${CORES}", "<cores>"])
    def test_what_is_one_or_will_be(self, operand: str) -> None:
        assert lint(required(f'{{key: cores, operator: Gt, values: ["{operand}"]}}')) == []

    def test_a_negative_preference_blocks_the_pod(self) -> None:
        (message,) = messages_of(preferred('{key: t, operator: Lt, values: ["-5"]}'), "never-matching-comparison")
        assert message == (
            "9:87 Lt needs a non-negative integer, but its value is `-5`:"
            " the scheduler cannot parse the preference, so the pods stay Pending"
        )


class TestUnparsablePreference:
    def test_every_bad_value_is_shown(self) -> None:
        text = preferred('{key: room, operator: NotIn, values: [ok, "not ok", "${ROOM}", "-"]}')
        assert places(lint(text)) == ["a.yaml:9:97 error unparsable-preference", "a.yaml:9:118 error unparsable-preference"]


class TestRedundantTerm:
    def test_a_preference_beside_a_term_that_is_to_be_filled_in(self) -> None:
        text = preferred(WEST, selector='zone: "${ZONE}"')
        assert lint(text) == []

    def test_a_preference_for_what_is_required(self) -> None:
        assert messages_of(preferred(EAST, selector="zone: east"), "redundant-term") == [
            "9:23 this preference has no effect: every node that the pods may use satisfies it"
        ]

    def test_equal_terms_are_reported_once(self) -> None:
        assert places(lint(required(EAST, EAST))) == ["a.yaml:11:13 info redundant-term"]

    def test_an_operating_system_and_an_architecture_are_not_alternatives(self) -> None:
        linux, arm = (
            f"{{key: kubernetes.io/{key}, operator: In, values: [{value}]}}" for key, value in (("os", "linux"), ("arch", "arm64"))
        )
        assert messages_of(required(linux, arm), "redundant-term") == [
            "11:13 a node needs only one of the two terms: `kubernetes.io/os In [linux]`, or `kubernetes.io/arch In [arm64]`"
        ]
        for terms in ((f"{linux}, {arm}",), (linux, EAST), (linux, arm, EAST), (EAST, f"{WEST}, {arm}")):
            assert messages_of(required(*terms), "redundant-term") == []

    def test_a_pod_term_that_is_listed_twice(self) -> None:
        term = "{labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname}"
        text = pod(
            f"affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      - {term}\n      - {term}\n"
            f"  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      - {term.replace('hostname', 'os')}"
        )
        assert [each.message for each in lint(text) if each.rule == "redundant-term"] == ["this term is identical to term 1"]


class TestDeprecatedNodeLabel:
    def test_both_in_alternative_terms_are_on_purpose(self) -> None:
        old, new = (f"{{key: {prefix}kubernetes.io/os, operator: In, values: [linux]}}" for prefix in ("beta.", ""))
        assert lint(required(old, new)) == []
        assert places(lint(required(f"{old}, {new}"))) == ["a.yaml:10:38 info deprecated-node-label"]

    def test_a_fix_never_writes_a_key_twice(self) -> None:
        (found,) = lint(pod("nodeSelector: {beta.kubernetes.io/os: linux, kubernetes.io/os: linux}"))
        assert (found.rule, found.fix) == ("deprecated-node-label", None)

    def test_old_and_new_zones_over_which_pods_prefer_to_spread(self) -> None:
        term = "{weight: 1, podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, topologyKey: %s}}"
        terms = ", ".join(term % key for key in ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"))
        assert (
            lint(pod(f"affinity: {{podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{terms}]}}}}", "{app: web}")) == []
        )

    def test_a_label_of_karpenter_before_node_pools(self) -> None:
        (found,) = lint(pod("nodeSelector: {karpenter.sh/provisioner-name: default}"))
        assert found.message == "the node label `karpenter.sh/provisioner-name` in this nodeSelector is deprecated since Karpenter 0.32"
        assert found.fix is None, "node pools have names of their own"


class TestUnknownNodeLabel:
    @pytest.mark.parametrize(
        "key, meant",
        [
            ("topology.kubernetes.io/hostname", "kubernetes.io/hostname"),
            ("kubernetes.io/hostnames", "kubernetes.io/hostname"),
            ("kubernets.io/hostname", "kubernetes.io/hostname"),
            ("kubernetes.io/host-name", "kubernetes.io/hostname"),
            ("topology.kubernetes.io/Zone", "topology.kubernetes.io/zone"),
            ("topolgy.kubernetes.io/zone", "topology.kubernetes.io/zone"),
            ("failure-domain.kubernetes.io/region", "topology.kubernetes.io/region"),
            ("failure-domains.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
            ("node-role.kubernetes.io/contorl-plane", "node-role.kubernetes.io/control-plane"),
            ("karpenter.sh/capacity-types", "karpenter.sh/capacity-type"),
        ],
    )
    def test_what_was_meant(self, key: str, meant: str) -> None:
        (found,) = self.unknown(pod(f"nodeSelector: {{{key}: x}}"))
        assert found.message == f"no component sets the node label `{key}`, so the pods stay Pending; did you mean `{meant}`?"

    @pytest.mark.parametrize(
        "key",
        [
            "zone", "rack", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone-id", "node-role.kubernetes.io/controlplane",
            "node-role.kubernetes.io/worker1", "node-role.kubernetes.io/gpu", "topology.csi.kubernetes.io/zone", "kubernetes.io/role",
            "topology.nfs.csi.example.com/node", "topology.k8s.aws/network-node-layer-1", "kubernetes.io//hostname",
        ],
    )  # fmt: skip
    def test_values_that_may_be_set_later(self, key: str) -> None:
        assert self.unknown(pod(f"nodeSelector: {{{key}: x}}")) == []

    @pytest.mark.parametrize("operator, effect", [("NotIn", "this excludes no node"), ("In", "this term matches no node")])
    def test_what_comes_of_it(self, operator: str, effect: str) -> None:
        (found,) = self.unknown(required(f"{{key: kubernetes.io/zone, operator: {operator}, values: [east]}}"))
        assert f", so {effect};" in found.message

    def test_a_fix_never_writes_a_key_twice(self) -> None:
        (found,) = self.unknown(pod("nodeSelector: {kubernetes.io/zone: a, topology.kubernetes.io/zone: a}"))
        assert found.fix is None

    @staticmethod
    def unknown(text: str) -> list[Finding]:
        return [each for each in lint(text) if each.rule == "unknown-node-label"]


class TestUnlikelyTopologyKey:
    @pytest.mark.parametrize(
        "key, why",
        [
            ("kubernetes.io/os", "it has the same value on every node"),
            ("cpu-model.node.kubevirt.io/Haswell", "it describes what a node can do or is used for, not where it is"),
            ("app", "it is a label of pods, and topology keys are labels of nodes"),
            ("app.kubernetes.io/name", "it is a label of pods, and topology keys are labels of nodes"),
            ("metadata.name", "it is a field of nodes, not a label"),
        ],
    )
    def test_what_makes_no_domains(self, key: str, why: str) -> None:
        (found,) = [each for each in lint(self.spread(key)) if each.rule == "unlikely-topology-key"]
        assert found.message == f"`{key}` in this spread constraint does not define failure domains: {why}"

    @pytest.mark.parametrize(
        "key", ["role", "name", "zone", "node.kubernetes.io/instance-type", "feature.node.kubernetes.io/placement-group"]
    )
    def test_what_may(self, key: str) -> None:
        assert lint(self.spread(key)) == []

    @pytest.mark.parametrize("asked, reported", [("job: backup", 1), ("app: web", 0)])
    def test_the_key_by_which_the_term_selects_pods(self, asked: str, reported: int) -> None:
        term = f"{{topologyKey: job, labelSelector: {{matchLabels: {{{asked}}}}}}}"
        text = pod(f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}")
        assert len(messages_of(text, "unlikely-topology-key")) == reported

    @pytest.mark.parametrize("when, reported", [("DoNotSchedule", 0), ("ScheduleAnyway", 1)])
    def test_a_required_spread_over_a_role_holds_the_pods_to_nodes_that_have_it(self, when: str, reported: int) -> None:
        text = self.spread("node-role.kubernetes.io/worker").replace("ScheduleAnyway", when)
        assert len(messages_of(text, "unlikely-topology-key")) == reported

    def test_a_label_of_the_pods_is_known_by_what_the_term_itself_asks_for(self) -> None:
        assert lint(self.spread("role").replace("{app: web}}\n", "{app: web, role: web}}\n")) == []

    @staticmethod
    def spread(key: str) -> str:
        selector = "labelSelector: {matchLabels: {app: web}}"
        return pod(
            f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: ScheduleAnyway, {selector}}}]", "{app: web}"
        )


class TestPinnedNode:
    TEMPLATE = """\
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: db}
        spec:
          replicas: %d
          serviceName: db
          selector: {matchLabels: {app: db}}
          template:
            metadata: {labels: {app: db}}
            spec:
              containers: [{name: c, image: busybox}]
              %s
        """

    def test_one_replica_may_need_its_disk(self) -> None:
        assert lint(self.TEMPLATE % (1, "nodeSelector: {kubernetes.io/hostname: w1}")) == []

    def test_two_replicas_on_one_host(self) -> None:
        assert messages_of(self.TEMPLATE % (2, "nodeSelector: {kubernetes.io/hostname: w1}"), "pinned-node") == [
            "12:46 all 2 replicas must run on the single host `w1`"
        ]

    @pytest.mark.parametrize("constraint", ['nodeName: "<node>"', 'nodeSelector: {kubernetes.io/hostname: "${NODE}"}'])
    def test_a_host_that_is_to_be_filled_in(self, constraint: str) -> None:
        assert lint(self.TEMPLATE % (2, constraint)) == []


class TestFixes:
    def test_quotes_stay(self) -> None:
        (found,) = lint(pod('nodeSelector: {"beta.kubernetes.io/os": linux}'))
        assert found.fix is not None
        assert [edit.text for edit in found.fix.edits] == ['"kubernetes.io/os"']

    def test_what_an_alias_repeats_elsewhere_is_left_alone(self) -> None:
        """The two constraints would both be written at the anchor, where others may need the old key."""
        text = pod(
            "affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution: &terms\n"
            "      - {labelSelector: {matchLabels: {app: a}}, topologyKey: kubernetes.io/zone}\n"
            "  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution: *terms"
        )
        found = [each for each in lint(text) if each.rule == "unknown-node-label"]
        assert len(found) == 2
        assert {each.fix for each in found} == {None}


MASTER_SELECTOR = deployment(
    'nodeSelector: {node-role.kubernetes.io/master: ""}',
    "tolerations: [{operator: Exists}]",
    'containers: [{name: nfd, image: "nfd:1"}]',
    name="nfd",
    namespace="NAMESPACE",
)


@pytest.mark.parametrize(("namespace", "expected"), [("openshift-nfd", 0), ("nfd", 1)])
def test_control_planes_of_openshift_have_the_label_of_masters(namespace: str, expected: int) -> None:
    found = [each.rule for each in lint(MASTER_SELECTOR.replace("NAMESPACE", namespace))]
    assert found.count("deprecated-node-label") == expected


def test_a_kind_of_openshift_may_name_the_label_of_masters() -> None:
    text = """\
apiVersion: nfd.openshift.io/v1
kind: NodeFeatureDiscovery
metadata: {name: nfd}
spec: {operand: {masterTolerations: [], workerNodeSelector: {node-role.kubernetes.io/master: ""}}}
"""
    assert [each.rule for each in lint(text)].count("deprecated-node-label") == 0
    other = text.replace("nfd.openshift.io", "nfd.kubernetes.io").replace("kind: NodeFeatureDiscovery", "kind: Other")
    assert [each.rule for each in lint(other.replace("workerNodeSelector", "nodeSelector"))].count("deprecated-node-label") == 1


def test_a_node_label_that_no_component_sets_excludes_no_node() -> None:
    for operator in ("NotIn, values: [amd64]", "DoesNotExist"):
        term = f"{{matchExpressions: [{{key: topology.kuberentes.io/zone, operator: {operator}}}]}}"
        affinity = f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}}}}}"
        text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers: [{{name: c, image: busybox}}]\n  {affinity}\n"
        [found] = messages_of(text, "unknown-node-label")
        assert found.startswith("6:124 no component sets the node label `topology.kuberentes.io/zone`, so this excludes no node")


MACHINES = """\
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: a, namespace: m}
spec: {template: {spec: {metadata: {labels: {LABELS}}}}}
"""


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("beta.kubernetes.io/instance-type: big", 0),
        ("beta.kubernetes.io/instance-type: big, node.kubernetes.io/instance-type: big", 1),
        ("disk: ssd", 1),
    ],
)
def test_the_new_name_is_not_advised_if_the_pools_set_only_the_old_label(labels: str, expected: int) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec: {nodeSelector: {beta.kubernetes.io/instance-type: big}, containers: [{name: a, image: b}]}\n"
    )
    found = [each.rule for each in lint({"pools.yaml": MACHINES.replace("LABELS", labels), "a.yaml": pod})]
    assert found.count("deprecated-node-label") == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("node-role.kubernetes.io/control-plane", 0),
        ("'${ROLE:=node-role.kubernetes.io/control-plane}'", 0),
        ("'{{ role | default(\"node-role.kubernetes.io/control-plane\") }}'", 0),
        ("'${ROLE}'", 1),
        ("disk", 1),
    ],
)
def test_a_placeholder_may_become_the_new_name(other: str, expected: int) -> None:
    text = preferred(*(f"{{key: {key}, operator: Exists}}" for key in (other, "node-role.kubernetes.io/master")))
    assert [each.rule for each in lint(text)].count("deprecated-node-label") == expected


@pytest.mark.parametrize("group", ["operators.coreos.com/v1alpha1", "nmstate.io/v1"])
def test_objects_that_exist_only_on_openshift_may_name_the_label_of_masters(group: str) -> None:
    text = f"apiVersion: {group}\nkind: Other\nmetadata: {{name: a}}\nspec: {{nodeSelector: {{node-role.kubernetes.io/master: ''}}}}\n"
    assert "deprecated-node-label" not in {each.rule for each in lint(text)}
    other = text.replace(group, "example.com/v1")
    assert "deprecated-node-label" in {each.rule for each in lint(other)}
