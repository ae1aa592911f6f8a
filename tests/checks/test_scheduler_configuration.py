"""KubeSchedulerConfigurations: what kube-scheduler rejects, what pods would be rejected for, and an addedAffinity that no node meets."""

import textwrap

import pytest

from linting import lint
from on_nodes import messages_of

RULE = "invalid-scheduler-configuration"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {pool: general}}
"""


def profile(*fields: str) -> str:
    """A configuration with one profile; its fields are from line 4 on."""
    return HEAD + "profiles:\n- schedulerName: packing\n" + "".join([textwrap.indent(f"{each}\n", "  ") for each in fields])


def arguments(plugin: str, args: str) -> str:
    """A profile with the arguments of a plugin, in line 6."""
    return profile("pluginConfig:", f"- {{name: {plugin}, args: {args}}}")


def found(text: str) -> list[str]:
    """``6:31 rule: message`` for each finding."""
    return [f"{each.span.line}:{each.span.column} {each.rule}: {each.message}" for each in lint(text)]


def messages(text: str, rule: str = RULE) -> list[str]:
    return [each.message for each in lint(text) if each.rule == rule]


class TestValid:
    @pytest.mark.parametrize(
        "text",
        [
            HEAD,
            profile(),
            arguments("NodeAffinity", "{addedAffinity: null}"),
            arguments("PodTopologySpread", "{defaultingType: List, defaultConstraints: []}"),
            arguments("Coscheduling", "{permitWaitingTimeSeconds: 10}"),
            arguments("NodeResourcesFit", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs}"),
            profile(
                "plugins: {score: {disabled: [{name: '*'}, {name: NodeResourcesLeastAllocated}]}, multiPoint: {enabled: [{name: QOSSort}]}}"
            ),
            HEAD + "profiles:\n- schedulerName: one\n- schedulerName: two\n",
            HEAD.replace("/v1\n", "/v1beta9\n").replace("kubescheduler.", "example."),
        ],
    )
    def test_nothing_is_reported(self, text: str) -> None:
        assert found(text) == []

    @pytest.mark.parametrize(
        "name", ["CapacityScheduling", "NodeMetadata", "PodState", "SySched", "NodeResourcesAllocatable", "NetworkOverhead"]
    )
    def test_plugins_of_other_schedulers_resemble_none(self, name: str) -> None:
        assert found(profile(f"plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}")) == []


class TestFields:
    def test_unknown_fields_and_wrong_types(self) -> None:
        assert found(arguments("InterPodAffinity", "{hardPodAfinityWeight: 5}")) == [
            "6:37 unknown-field: unknown field `hardPodAfinityWeight` in this InterPodAffinityArgs; did you mean `hardPodAffinityWeight`?"
        ]
        assert [each.rpartition(": ")[0] for each in found(HEAD + "parallelism: many\n")] == ["3:14 wrong-type"]

    def test_an_old_version_is_reported_and_nothing_else(self) -> None:
        text = profile("percentageOfNodesToScore: 200", "unknown: 1").replace("/v1\n", "/v1beta3\n").replace("packing", "default-scheduler")
        what = "KubeSchedulerConfiguration is not served in `kubescheduler.config.k8s.io/v1beta3`; it was removed in Kubernetes 1.29"
        assert found(text) == [f"1:13 unserved-api-version: {what}"]

    def test_a_second_scheduler_may_be_older_than_the_cluster(self) -> None:
        assert found(profile().replace("/v1\n", "/v1beta3\n")) == []


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("parallelism: 0", "kube-scheduler rejects the parallelism 0, which is less than 1"),
            ("percentageOfNodesToScore: 101", "kube-scheduler rejects the percentageOfNodesToScore 101, which is not from 0 to 100"),
            ("extenders: [{prioritizeVerb: p}]", "kube-scheduler rejects an extender with a prioritizeVerb and without a positive weight"),
            ("extenders: [{bindVerb: a}, {bindVerb: b}]", "kube-scheduler rejects a second extender with a bindVerb"),
        ],
    )
    def test_of_the_configuration(self, text: str, message: str) -> None:
        assert messages(f"{HEAD}{text}\n") == [message]

    def test_names_of_profiles(self) -> None:
        assert found(HEAD + "profiles:\n- schedulerName: a\n- schedulerName: a\n- plugins: {}\n") == [
            "5:18 invalid-scheduler-configuration: kube-scheduler rejects the schedulerName `a`: another profile has it, too (profiles[0])",
            "6:3 invalid-scheduler-configuration: kube-scheduler rejects this profile: it has no schedulerName",
        ]

    def test_the_order_of_the_queue_is_that_of_all_profiles(self) -> None:
        text = HEAD + "profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins: {queueSort: {enabled: [{name: QOSSort}]}}\n"
        assert messages(text) == ["kube-scheduler rejects this profile: its queueSort is not that of the first profile"]

    @pytest.mark.parametrize(
        ("plugin", "args", "message"),
        [
            ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "the hardPodAffinityWeight 101, which is not from 0 to 100"),
            ("DefaultPreemption", "{minCandidateNodesPercentage: -1}", "the minCandidateNodesPercentage -1, which is not from 0 to 100"),
            ("VolumeBinding", "{bindTimeoutSeconds: -1}", "the bindTimeoutSeconds -1, which is less than 0"),
            (
                "NodeResourcesFit",
                "{ignoredResourceGroups: [a/b]}",
                "`a/b` in ignoredResourceGroups, which is not the part of a name before the `/`",
            ),
            ("NodeResourcesFit", "{scoringStrategy: {type: Mostly}}", "the scoringStrategy `Mostly`"),
            (
                "NodeResourcesFit",
                "{scoringStrategy: {resources: [{name: cpu, weight: 101}]}}",
                "the weight 101, which is not from 0 to 100",
            ),
            (
                "NodeResourcesFit",
                "{scoringStrategy: {type: RequestedToCapacityRatio}}",
                "a RequestedToCapacityRatio without requestedToCapacityRatio",
            ),
            (
                "NodeResourcesFit",
                "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}}}",
                "requestedToCapacityRatio together with the type LeastAllocated",
            ),
            (
                "NodeResourcesBalancedAllocation",
                "{resources: [{name: cpu, weight: 3}]}",
                "the weight 3: NodeResourcesBalancedAllocation takes only 1",
            ),
            ("NodeAffinity", "{kind: NodeResourcesFitArgs}", "arguments of the kind `NodeResourcesFitArgs` for NodeAffinity"),
        ],
    )
    def test_arguments(self, plugin: str, args: str, message: str) -> None:
        assert messages(arguments(plugin, args)) == [f"kube-scheduler rejects {message}"]

    def test_the_points_of_a_shape(self) -> None:
        shape = "[{utilization: 50, score: 11}, {utilization: 50, score: 1}]"
        text = arguments(
            "NodeResourcesFit", f"{{scoringStrategy: {{type: RequestedToCapacityRatio, requestedToCapacityRatio: {{shape: {shape}}}}}}}"
        )
        assert messages(text) == [
            "kube-scheduler rejects the score 11, which is not from 0 to 10",
            "kube-scheduler rejects the utilization 50 after 50: the points must be in increasing order",
        ]


class TestPlugins:
    def test_misspelt_names(self) -> None:
        text = profile("plugins: {score: {disabled: [{name: NodeAfinity}]}}")
        assert found(text) == [
            "5:39 invalid-scheduler-configuration: kube-scheduler has no plugin `NodeAfinity`; did you mean `NodeAffinity`?"
        ]
        assert messages(arguments("PodTopologySpred", "{}")) == [
            "kube-scheduler has no plugin `PodTopologySpred`; did you mean `PodTopologySpread`?"
        ]

    def test_plugins_of_old_versions(self) -> None:
        text = profile("plugins: {score: {enabled: [{name: NodeResourcesLeastAllocated}]}}")
        assert messages(text) == ["kube-scheduler rejects the plugin `NodeResourcesLeastAllocated`, which does not exist any more"]

    def test_a_plugin_twice(self) -> None:
        text = profile("plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}")
        assert messages(text) == ["kube-scheduler rejects the plugin `NodeName`: it is enabled twice in filter"]
        text = profile("pluginConfig: [{name: NodeAffinity, args: {}}, {name: NodeAffinity, args: {}}]")
        assert messages(text) == ["kube-scheduler rejects the second configuration of the plugin `NodeAffinity`"]


class TestDefaultConstraints:
    ZONE = "maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule"

    def constraints(self, *listed: str, more: str = "defaultingType: List, ") -> list[str]:
        return found(arguments("PodTopologySpread", f"{{{more}defaultConstraints: [{', '.join(f'{{{each}}}' for each in listed)}]}}"))

    def test_they_need_the_type_list(self) -> None:
        assert self.constraints(self.ZONE) == []
        (default,) = self.constraints(self.ZONE, more="")
        assert default.endswith("kube-scheduler rejects defaultConstraints with the defaultingType System, which is the default")
        (system,) = self.constraints(self.ZONE, more="defaultingType: System, ")
        assert system.startswith("6:54 ")
        (unknown,) = self.constraints(more="defaultingType: Lists, ")
        assert unknown.endswith("kube-scheduler rejects the defaultingType `Lists`; did you mean `List`?")

    def test_they_have_no_selector(self) -> None:
        (selector,) = self.constraints(f"{self.ZONE}, labelSelector: {{}}")
        assert selector.endswith("a labelSelector in defaultConstraints: it uses the selectors of Services and controllers")

    def test_the_rules_about_pods_apply(self) -> None:
        rules = {
            each.split()[1].rstrip(":")
            for each in self.constraints("maxSkew: 0, topologyKey: '', whenUnsatisfiable: Never", self.ZONE, self.ZONE)
        }
        assert rules == {"empty-topology-key", "invalid-spread-constraint", "duplicate-spread-constraint"}


class TestAddedAffinity:
    @staticmethod
    def added(*expressions: str) -> str:
        listed = ", ".join(f"{{{each}}}" for each in expressions)
        term = f"{{nodeSelectorTerms: [{{matchExpressions: [{listed}]}}]}}"
        return arguments("NodeAffinity", f"{{addedAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {term}}}}}")

    def test_the_rules_about_pods_apply(self) -> None:
        text = self.added("key: pool, operator: Inn, values: [a]", "key: disk, operator: In")
        assert [each.rule for each in lint(text)] == ["unknown-operator", "operator-values-mismatch"]

    def test_values_that_no_label_can_have_keep_the_scheduler_from_starting(self) -> None:
        assert messages(self.added("key: size, operator: Gt, values: [large]")) == [
            "kube-scheduler rejects `large` in addedAffinity, which is not an integer"
        ]
        assert messages(self.added("key: a b, operator: Exists")) == [
            "kube-scheduler rejects `a b` in addedAffinity, which is not a valid label key"
        ]

    def test_no_terms_match_no_node(self) -> None:
        text = arguments("NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}")
        assert messages(text) == ["addedAffinity has no nodeSelectorTerms: no node matches it, and all pods of the profile stay Pending"]

    def test_one_that_no_node_meets(self) -> None:
        text = self.added("key: pool, operator: In, values: [generall]")
        (match,) = messages_of("unschedulable", NODES, text)
        assert match.startswith("a.yaml:6:")
        assert match.endswith("the node does not match `pool=generall`, so all pods of the profile stay Pending; did you mean `general`?")
        assert messages_of("unschedulable", NODES, self.added("key: pool, operator: In, values: [general]")) == []

    def test_unused_configurations_are_not_compared_with_the_nodes(self) -> None:
        text = self.added("key: pool, operator: In, values: [generall]")
        assert messages_of("unschedulable", NODES, f"{text}---\n{profile()}") == []


class TestInText:
    def test_positions_are_those_of_the_config_map(self) -> None:
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata:\n  config.yaml: |\n"
        text += textwrap.indent(HEAD + "parallelism: 0\nprofils: []\n", "    ")
        assert found(text) == [
            "8:18 invalid-scheduler-configuration: kube-scheduler rejects the parallelism 0, which is less than 1",
            "9:5 unknown-field: unknown field `profils` in this KubeSchedulerConfiguration; did you mean `profiles`?",
        ]

    def test_other_config_maps_are_not_read(self) -> None:
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata:\n  config.yaml: |\n    text: KubeSchedulerConfiguration\n"
        assert found(text) == []
