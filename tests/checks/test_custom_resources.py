"""Constraints in custom resources: found in the fields of each kind, and reported with the component that rejects them."""

import json

import pytest

from afflint.checks.match import Target
from fixed_text import becomes
from linting import lint, messages_of, places
from widgets import DEFINITION, WIDGET

KAFKA = """
    apiVersion: kafka.strimzi.io/v1
    kind: KafkaConnect
    metadata: {name: orders}
    spec:
      replicas: 3
      template:
        pod:
"""
STORED = "(stored, but the operator's pods are rejected)"


def kafka(pod: str) -> str:
    return KAFKA + "".join(f"          {line}\n" for line in pod.splitlines())


class TestWords:
    """Who refuses a mistake depends on how it is known that it is one."""

    def test_values_that_no_schema_looks_at_are_refused_with_the_pods(self) -> None:
        text = kafka("tolerations:\n  - {key: a, operator: Equals, effect: NoSchedul}")
        assert messages_of(text, "unknown-operator") == [
            f"10:30 a toleration does not support the operator `Equals`; did you mean `Equal`? {STORED}"
        ]
        assert messages_of(text, "invalid-toleration") == [
            f"10:46 `NoSchedul` is not a valid toleration effect; did you mean `NoSchedule`? {STORED}"
        ]

    def test_another_type_is_refused_at_once(self) -> None:
        text = kafka("tolerations: {key: a}")
        assert messages_of(text, "wrong-type") == ["9:7 `tolerations` must be a list, not a map"]

    def test_an_unknown_field_is_refused_by_kubectl_and_dropped_by_others(self) -> None:
        text = kafka("tolerations:\n  - {key: a, operater: Exists}")
        (message,) = messages_of(text, "unknown-field")
        assert message.endswith("did you mean `operator`? (kubectl rejects it, other clients drop it)")

    def test_a_webhook_that_looks_is_named(self) -> None:
        text = """
            apiVersion: postgresql.cnpg.io/v1
            kind: Cluster
            metadata: {name: orders}
            spec:
              affinity:
                tolerations:
                  - {key: a, operator: Exists, value: b}
        """
        assert messages_of(text, "invalid-toleration") == [
            "8:43 a toleration with the operator Exists must not have a value (the webhook of CloudNativePG rejects it)"
        ]

    def test_where_the_schema_leaves_all_open_only_the_operator_reads_it(self) -> None:
        text = """
            apiVersion: clickhouse.altinity.com/v1
            kind: ClickHouseInstallation
            metadata: {name: events}
            spec:
              templates: {podTemplates: [{name: default, spec: {nodeSelector: {gpu: true}, tolerations: [{key: a, surprise: b}]}}]}
        """
        (message,) = messages_of(text, "wrong-type")
        assert message.endswith("(stored, but the operator cannot read it, or its pods are rejected)")
        assert messages_of(text, "unknown-field") == []

    def test_what_is_known_by_its_shape_alone_may_reach_a_pod(self) -> None:
        text = """
            apiVersion: example.com/v1
            kind: Widget
            metadata: {name: w}
            spec:
              workers:
                nodeSelector: {gpu: true}
                tolerations:
                  - {key: a, operator: Equals}
                affinity:
                  podAntiAffinity:
                    preferredDuringSchedulingIgnoredDuringExecution:
                      - weight: 101
                        podAffinityTerm: {labelSelector: {}}
        """
        assert places(lint(text)) == [
            "a.yaml:9:28 warning unknown-operator",
            "a.yaml:13:21 warning weight-out-of-range",
            "a.yaml:14:13 warning empty-topology-key",
        ]
        (message,) = messages_of(text, "weight-out-of-range")
        assert message.endswith("(if this reaches a pod, the pod is rejected)")


def test_a_field_of_the_operator_in_a_spread_constraint_is_known() -> None:
    text = """
        apiVersion: monitoring.coreos.com/v1
        kind: Prometheus
        metadata: {name: main}
        spec:
          topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, additionalLabelSelectors: OnShard}
    """
    assert lint(text) == []


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "lines"])
def test_a_mistake_is_found_in_json_as_in_yaml(indent: int | None) -> None:
    spec = {"affinty": {"podAntiAffinity": {}}}
    data = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "a"}, "spec": spec}
    (message,) = messages_of(json.dumps(data, indent=indent), "unknown-field")
    assert "unknown field `affinty` in spec of this Prometheus; did you mean `affinity`?" in message


class TestPlaces:
    def test_older_versions_keep_their_places(self) -> None:
        text = """
            apiVersion: kafka.strimzi.io/v1beta2
            kind: Kafka
            metadata: {name: orders}
            spec:
              zookeeper:
                template:
                  pod:
                    tolerations: {}
        """
        assert messages_of(text, "wrong-type") == ["9:9 `tolerations` must be a list, not a map"]
        assert messages_of(text.replace("v1beta2", "v1"), "wrong-type") == []

    def test_a_holder_has_the_affinities_apart(self) -> None:
        text = """
            apiVersion: ceph.rook.io/v1
            kind: CephCluster
            metadata: {name: rook}
            spec:
              placement:
                mon:
                  nodeAffinity:
                    requiredDuringSchedulingIgnoredDuringExecution:
                      nodeSelectorTerms:
                        - matchExpressions:
                            - {key: role, operator: Has}
        """
        assert places(lint(text)) == ["a.yaml:12:41 error unknown-operator"]

    def test_sidecars_make_no_pod_spec_of_a_holder(self) -> None:
        text = """
            apiVersion: monitoring.coreos.com/v1
            kind: Prometheus
            metadata: {name: k8s}
            spec: {containers: [{name: sidecar, image: "a:1"}], podMetadata: {labels: {app: x}}, nodeSelector: {disk: fast}}
        """
        assert lint(text) == []

    def test_what_chooses_nodes_for_something_else_is_held_to_the_syntax_of_labels(self) -> None:
        text = """
            apiVersion: kubevirt.io/v1
            kind: KubeVirt
            metadata: {name: kubevirt}
            spec: {configuration: {mediatedDevicesConfiguration: {nodeMediatedDeviceTypes: [{nodeSelector: {a b: c}}]}}}
        """
        assert [each.rule for each in lint(text)] == ["invalid-label-key"]

    def test_objects_in_policies_are_manifests_of_their_own(self) -> None:
        text = """
            apiVersion: policy.open-cluster-management.io/v1
            kind: ConfigurationPolicy
            metadata: {name: p}
            spec:
              object-templates:
                - complianceType: musthave
                  objectDefinition:
                    apiVersion: v1
                    kind: Pod
                    metadata: {name: web}
                    spec:
                      nodeSelector: {gpu: true}
        """
        assert places(lint(text)) == ["a.yaml:13:31 error wrong-type"]

    def test_repeated_keys_matter_in_constraints_only(self) -> None:
        text = kafka("tolerations:\n  - key: a\n    operator: Exists\n    operator: Exists") + "      config: {a: 1, a: 2}\n"
        assert [(each.rule, each.span.line) for each in lint(text)] == [("duplicate-key", 12)]


class TestSilence:
    @pytest.mark.parametrize(
        "pod",
        [
            # Fields of the kind's own beside those of an affinity.
            "affinity: {nodeAffinityLabels: {a: b}}",
            # What generators fill in.
            (
                "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "{nodeSelectorTerms: [{matchExpressions: [{key: node-role.kubernetes.io/$mcp, operator: Exists}]}]}}}"
            ),
            (
                "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "[{topologyKey: zone, labelSelector: {matchLabels: {app: {name}}}}]}}"
            ),
            # Some operators fill in a selector that is left out, and one constraint may be completed elsewhere.
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
            "tolerations: []",
            "affinity: null",
        ],
    )
    def test_of_healthy_resources(self, pod: str) -> None:
        assert lint(kafka(pod)) == []


class TestLabelsOfOperators:
    SPREAD = """topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector:
      matchLabels: {%s}"""
    ANTI = """affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {%s}"""

    def test_a_spread_constraint_that_counts_another_resource(self) -> None:
        (message,) = messages_of(kafka(self.SPREAD % "strimzi.io/cluster: my-cluster"), "operator-label-mismatch")
        assert "it selects `strimzi.io/cluster In [my-cluster]`, but the operator sets `strimzi.io/cluster: orders`" in message

    def test_a_key_that_is_a_slip_away(self) -> None:
        (message,) = messages_of(kafka(self.SPREAD % "strimzi.io/clutser: orders"), "operator-label-mismatch")
        assert message.endswith("the operator does not set the label `strimzi.io/clutser`; did you mean `strimzi.io/cluster`?")

    def test_an_anti_affinity_to_another_resource_may_be_meant(self) -> None:
        assert messages_of(kafka(self.ANTI % "strimzi.io/cluster: my-cluster"), "operator-label-mismatch") == []
        assert messages_of(kafka(self.ANTI % "strimzi.io/cluster: oders"), "operator-label-mismatch") != []
        complete = Target(complete=True)
        assert messages_of(kafka(self.ANTI % "strimzi.io/cluster: my-cluster"), "operator-label-mismatch", target=complete) != []

    @pytest.mark.parametrize("label", ["strimzi.io/cluster: orders", "app.kubernetes.io/name: mine", "strimzi.io/cluster: ${NAME}"])
    def test_other_selectors_are_fine(self, label: str) -> None:
        assert messages_of(kafka(self.SPREAD % label), "operator-label-mismatch") == []

    @staticmethod
    def alertmanager(fields: str, name: str = "main") -> str:
        head = f"apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {{name: {name}}}\nspec:\n"
        return head + "".join(f"  {line}\n" for line in fields.splitlines())

    def test_a_key_that_the_pods_never_have(self) -> None:
        (message,) = messages_of(self.alertmanager(self.SPREAD % "component: alertmanager"), "operator-label-mismatch")
        assert message == (
            "9:7 this topologySpreadConstraint counts none of its own pods: it selects `component In [alertmanager]`, but the operator does"
            " not set the label `component`; the pods have `app.kubernetes.io/name: alertmanager`"
        )
        (message,) = messages_of(self.alertmanager(self.ANTI % "component: alertmanager"), "operator-label-mismatch")
        assert message.startswith("9:11 this required podAntiAffinity separates none of its own pods: ")

    def test_a_label_that_only_older_versions_of_the_operator_set(self) -> None:
        (message,) = messages_of(self.alertmanager(self.ANTI % "app: alertmanager"), "operator-label-mismatch")
        assert message == (
            "9:11 this required podAntiAffinity separates none of its own pods unless the operator is older than 0.52: later versions do"
            " not set `app: alertmanager`; the pods have `app.kubernetes.io/name: alertmanager`"
        )
        (severity,) = [each.severity for each in lint(self.alertmanager(self.SPREAD % "app: alertmanager"))]
        assert severity == "info"
        (message,) = messages_of(self.alertmanager(self.SPREAD % "app: alerts"), "operator-label-mismatch")
        assert "unless" not in message

    def test_a_former_value_of_a_label(self) -> None:
        redis = "apiVersion: redis.redis.opstreelabs.in/v1beta1\nkind: Redis\nmetadata: {name: cart}\nspec:\n"
        text = redis + "".join(f"  {line}\n" for line in (self.ANTI % "app: cart-standalone").splitlines())
        (message,) = messages_of(text, "operator-label-mismatch", target=Target(complete=True))
        assert message.endswith("unless the operator is older than 0.6: later versions do not set `app: cart-standalone`")

    def test_a_value_that_the_pods_never_have(self) -> None:
        (message,) = messages_of(self.alertmanager(self.SPREAD % "app.kubernetes.io/name: alerts"), "operator-label-mismatch")
        assert message.endswith("but the operator sets `app.kubernetes.io/name: alertmanager`")

    def test_the_name_of_the_resource_need_not_be_known(self) -> None:
        assert messages_of(self.alertmanager(self.SPREAD % "app: alertmanager", name="'${NAME}'"), "operator-label-mismatch") != []
        assert messages_of(self.alertmanager(self.SPREAD % "alertmanager: main", name="'${NAME}'"), "operator-label-mismatch") == []

    @pytest.mark.parametrize(
        "label",
        ["app: alertmanager", "app: '${A}'", "pod-template-hash: a", "sidecar.istio.io/inject: 'true'", "app.kubernetes.io/version: a"],
    )
    def test_keys_that_the_pods_may_have(self, label: str) -> None:
        given = "podMetadata: {labels: {app: alertmanager}}\n" if label == "app: alertmanager" else ""
        assert messages_of(self.alertmanager(given + self.SPREAD % label), "operator-label-mismatch") == []

    @pytest.mark.parametrize("labels", ["{app: x, '${A}': b}", "'${LABELS}'"])
    def test_pods_with_unknown_labels(self, labels: str) -> None:
        text = self.alertmanager(f"podMetadata: {{labels: {labels}}}\n" + self.SPREAD % "tier: backend")
        assert messages_of(text, "operator-label-mismatch") == []

    def test_another_value_of_a_label_that_the_resource_gives(self) -> None:
        given = "podMetadata: {labels: {app: alerts}}\n"
        (message,) = messages_of(self.alertmanager(given + self.SPREAD % "app: alertmanager"), "operator-label-mismatch")
        assert message.endswith("it selects `app In [alertmanager]`, but the operator sets `app: alerts`")

    @pytest.mark.parametrize("value", ["prometheus", "grafana"])
    def test_an_anti_affinity_to_other_pods(self, value: str) -> None:
        text = self.alertmanager(self.ANTI % f"app: {value}")
        assert messages_of(text, "operator-label-mismatch") == []
        assert messages_of(text, "operator-label-mismatch", target=Target(complete=True)) != []

    def test_an_anti_affinity_to_pods_of_the_run(self) -> None:
        other = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: alertmanager}}\nspec: {containers: [{name: a, image: a}]}\n"
        assert messages_of(f"{self.alertmanager(self.ANTI % 'app: alertmanager')}---\n{other}", "operator-label-mismatch") == []

    def test_movers_of_volsync(self) -> None:
        text = """
            apiVersion: volsync.backube/v1alpha1
            kind: ReplicationSource
            metadata: {name: "${APP}"}
            spec:
              restic:
                moverPodLabels: {a: b}
                moverAffinity:
                  podAntiAffinity:
                    requiredDuringSchedulingIgnoredDuringExecution:
                      - topologyKey: kubernetes.io/hostname
                        labelSelector: {matchLabels: {%s}}
        """
        (message,) = messages_of(text % "app.kubernetes.io/name: volsync", "operator-label-mismatch")
        assert message.endswith("the label `app.kubernetes.io/name`; the pods have `app.kubernetes.io/created-by: volsync`")
        for label in ("app.kubernetes.io/created-by: volsync", "a: b", "batch.kubernetes.io/job-name: a"):
            assert messages_of(text % label, "operator-label-mismatch") == []

    CLUSTER = """
        apiVersion: postgresql.cnpg.io/v1
        kind: Cluster
        metadata: {name: database, labels: {team: a}}
        spec:
          instances: 3
          %s
          affinity:
            additionalPodAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {%s}}}
    """

    def test_labels_that_a_resource_hands_down(self) -> None:
        (message,) = messages_of(self.CLUSTER % ("", "app: database"), "operator-label-mismatch")
        assert message.endswith("but the operator does not set the label `app`; the pods have `cnpg.io/cluster: database`")
        for given, label in (
            ("inheritedMetadata: {labels: {app: database}}", "app: database"),
            ("", "team: a"),
            ("", "app.kubernetes.io/name: db"),
        ):
            assert messages_of(self.CLUSTER % (given, label), "operator-label-mismatch") == []

    def test_labels_that_only_older_versions_hand_down(self) -> None:
        spread = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {%s}}}"
        head = "apiVersion: minio.min.io/v2\nkind: Tenant\nmetadata: {name: logs, labels: {team: a}}\n"
        text = f"{head}spec: {{pools: [{{servers: 4, topologySpreadConstraints: [{spread}]}}]}}\n"
        assert messages_of(text % "team: a", "operator-label-mismatch") == []
        assert messages_of(text % "app: minio", "operator-label-mismatch") != []

    def test_a_label_of_the_operator_that_the_resource_gives_as_well_may_have_either_value(self) -> None:
        given = "inheritedMetadata: {labels: {cnpg.io/cluster: other}}"
        assert messages_of(self.CLUSTER % (given, "cnpg.io/cluster: databse"), "operator-label-mismatch") == []
        assert messages_of(self.CLUSTER % ("", "cnpg.io/cluster: databse"), "operator-label-mismatch") != []

    def test_a_patch_of_the_pods_in_an_annotation(self) -> None:
        patch = """cnpg.io/podPatch: '[{"op": "add", "path": "/metadata/labels/app", "value": "db"}]'"""
        text = (self.CLUSTER % ("", "app: database")).replace("labels: {team: a}", f"annotations: {{{patch}}}")
        assert messages_of(text, "operator-label-mismatch") == []

    def test_pods_in_lists_need_no_description(self) -> None:
        text = """
            apiVersion: ray.io/v1
            kind: RayCluster
            metadata: {name: r}
            spec: {workerGroupSpecs: []}
        """
        assert lint(text) == []

    def test_pods_of_operators_are_there_for_everyone(self) -> None:
        client = """
            apiVersion: v1
            kind: Pod
            metadata: {name: client}
            spec:
              containers: [{name: a, image: "b:1"}]
              affinity:
                podAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    - topologyKey: kubernetes.io/hostname
                      labelSelector: {matchLabels: {cnpg.io/cluster: %s}}
        """
        cluster = """
            apiVersion: postgresql.cnpg.io/v1
            kind: Cluster
            metadata: {name: orders}
            spec: {instances: 3}
        """
        complete = Target(complete=True)
        found = {"client.yaml": client % "orders", "cluster.yaml": cluster}
        assert messages_of(found, "affinity-target-missing", target=complete) == []
        assert messages_of({**found, "client.yaml": client % "invoices"}, "affinity-target-missing", target=complete) != []


class TestMisplaced:
    ANTI = "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}"

    def test_beside_the_spec_of_a_template(self) -> None:
        text = f"""
            apiVersion: k8up.io/v1
            kind: PodConfig
            metadata: {{name: backups}}
            spec:
              template:
                affinity: {self.ANTI}
                spec: {{}}
        """
        assert messages_of(text, "misplaced-constraint") == [
            (
                "7:5 affinity is set in spec.template, where PodConfig ignores it; it belongs in spec.template.spec"
                " (kubectl rejects it, other clients drop it)"
            )
        ]

    def test_without_the_affinity_around_it(self) -> None:
        text = f"""
            apiVersion: k8up.io/v1
            kind: PodConfig
            metadata: {{name: backups}}
            spec:
              template:
                spec: {self.ANTI}
        """
        (message,) = messages_of(text, "misplaced-constraint")
        assert "podAntiAffinity is set in spec.template.spec" in message
        assert "it belongs in spec.template.spec.affinity" in message

    @pytest.mark.parametrize(
        ("group", "kind", "wrong", "where"),
        [
            ("valkey.io/v1alpha1", "ValkeyCluster", "{affinity: ANTI}", "spec.scheduling"),
            ("valkey.io/v1alpha1", "ValkeyCluster", "{tolerations: [{key: a, operator: Exists}]}", "spec.scheduling"),
            ("kafka.strimzi.io/v1beta2", "KafkaNodePool", "{replicas: 3, affinity: ANTI}", "spec.template.pod"),
            ("kafka.strimzi.io/v1beta2", "KafkaNodePool", "{storage: {type: jbod, pod: {affinity: ANTI}}}", "spec.template.pod"),
            ("k8up.io/v1", "PodConfig", "{affinity: ANTI}", "spec.template.spec"),
        ],
    )
    def test_above_or_beside_the_place_that_the_kind_has(self, group: str, kind: str, wrong: str, where: str) -> None:
        text = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: x}}\nspec: " + wrong.replace("ANTI", self.ANTI) + "\n"
        (message,) = messages_of(text, "misplaced-constraint")
        assert message.endswith(f"where {kind} has no such field; it belongs in {where} (kubectl rejects it, or the operator ignores it)")

    def test_the_fix_moves_it(self) -> None:
        head = "apiVersion: valkey.io/v1alpha1\nkind: ValkeyCluster\nmetadata: {name: x}\nspec:\n"
        before = f"{head}  tolerations:\n  - {{key: a, operator: Exists}}\n"
        after = f"{head}  scheduling:\n    tolerations:\n    - {{key: a, operator: Exists}}\n"
        assert becomes("misplaced-constraint", before, after)
        assert lint(after) == []

    @pytest.mark.parametrize(
        ("group", "kind", "spec"),
        [
            ("valkey.io/v1alpha1", "ValkeyCluster", "{scheduling: {affinity: ANTI}}"),
            ("valkey.io/v1alpha1", "ValkeyCluster", "{nodeSelector: {disk: ssd}}"),
            ("valkey.io/v1alpha1", "ValkeyCluster", "{backup: {affinity: ANTI}}"),
            ("kafka.strimzi.io/v1beta2", "KafkaNodePool", "{storage: {affinity: ANTI}}"),
            ("kafka.strimzi.io/v1beta2", "KafkaNodePool", "{template: {pod: {affinity: ANTI}}}"),
            ("widgets.example.com/v1", "KafkaNodePool", "{affinity: ANTI}"),
        ],
        ids=["the place", "a field that may select other nodes", "an unknown map", "a map of another name", "its map", "an unknown kind"],
    )
    def test_places_that_the_kind_may_have(self, group: str, kind: str, spec: str) -> None:
        text = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: x}}\nspec: " + spec.replace("ANTI", self.ANTI) + "\n"
        assert messages_of(text, "misplaced-constraint") == []

    def test_kinds_that_have_their_affinities_apart(self) -> None:
        text = f"""
            apiVersion: ceph.rook.io/v1
            kind: CephCluster
            metadata: {{name: rook}}
            spec:
              placement:
                mon: {self.ANTI}
        """
        assert messages_of(text, "misplaced-constraint") == []


class TestDefinitions:
    """Kinds that the catalogue does not have are learnt from the CustomResourceDefinitions of the run."""

    def test_what_they_describe_is_held_to_it(self) -> None:
        assert lint(WIDGET) == []
        found = lint({"crd.yaml": DEFINITION, "widget.yaml": WIDGET})
        assert places(found) == ["widget.yaml:6:5 error wrong-type"]

    def test_they_prove_that_a_constraint_is_elsewhere(self) -> None:
        misplaced = WIDGET.replace("  where:\n    tolerations: {key: a}", "  tolerations: [{key: a, operator: Exists}]")
        assert messages_of({"crd.yaml": DEFINITION, "widget.yaml": misplaced}, "misplaced-constraint") == [
            "5:3 tolerations is set in spec, where Widget ignores it; it belongs in spec.where (kubectl rejects it, other clients drop it)"
        ]

    def test_versions_that_are_not_served_say_nothing(self) -> None:
        assert lint({"crd.yaml": DEFINITION.replace("served: true", "served: false"), "widget.yaml": WIDGET}) == []
        assert lint({"crd.yaml": DEFINITION, "widget.yaml": WIDGET.replace("/v1", "/v2")}) == []

    def test_they_add_to_what_the_catalogue_knows(self) -> None:
        definition = DEFINITION.replace("example.com", "k8up.io").replace("Widget", "PodConfig")
        resource = WIDGET.replace("example.com", "k8up.io").replace("Widget", "PodConfig")
        assert lint(resource) == []
        assert places(lint({"crd.yaml": definition, "resource.yaml": resource})) == ["resource.yaml:6:5 error wrong-type"]


class TestKubeVirtItself:
    PLACEMENT = """
        apiVersion: kubevirt.io/v1
        kind: KubeVirt
        metadata: {{name: kubevirt}}
        spec:
          {part}:
            nodePlacement:
              nodeSelector: {{node-role.kubernetes.io/control-plane: ""}}
              tolerations: {tolerations}
    """

    def test_a_node_placement_drops_the_tolerations_of_control_planes(self) -> None:
        (message,) = messages_of(self.PLACEMENT.format(part="infra", tolerations="[]"), "untolerated-control-plane")
        assert message.endswith("a nodePlacement replaces the defaults of KubeVirt, including its tolerations")

    def test_one_that_tolerates_them_is_fine(self) -> None:
        assert lint(self.PLACEMENT.format(part="infra", tolerations="[{operator: Exists}]")) == []
        assert lint(self.PLACEMENT.format(part="workloads", tolerations="[]")) == []


class TestMonitoringOfOpenShift:
    """Its fields are YAML in a string of a ConfigMap; spans are those of the file."""

    TEXT = """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: cluster-monitoring-config, namespace: openshift-monitoring}
        data:
          config.yaml: |

            prometheusK8s:
              tolerations:
              - key: infra
                effect: NoSchedul
    """

    def test_a_mistake_is_found_in_the_text(self) -> None:
        assert places(lint(self.TEXT)) == ["a.yaml:11:17 error invalid-toleration"]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("cluster-monitoring-config", "another-monitoring-config"),
            ("namespace: openshift-monitoring", "namespace: default"),
            ("prometheusK8s", "nobody"),
            ("config.yaml: |", "config.yaml: >"),
            ("config.yaml", "other.yaml"),
            ("prometheusK8s:", "prometheusK8s: ["),
        ],
    )
    def test_other_texts_are_ignored(self, old: str, new: str) -> None:
        assert lint(self.TEXT.replace(old, new)) == []


def test_pods_whose_fields_are_side_by_side_are_distinguished() -> None:
    text = """\
apiVersion: metallb.io/v1beta1
kind: MetalLB
metadata: {name: metallb}
spec: {controllerNodeSelector: {a: "-no label-"}, nodeSelector: {b: "-no label-"}}
"""
    assert [each.field for each in lint(text) if each.rule == "invalid-label-value"] == ["spec.controllerNodeSelector", "spec.nodeSelector"]


def test_what_one_pod_requires_is_not_checked_against_another() -> None:
    text = """\
apiVersion: nmstate.io/v1
kind: NMState
metadata: {name: nmstate}
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [TERM]}}}
  infraNodeSelector: {pool: infra}
"""
    term = "{matchExpressions: [{key: pool, operator: In, values: [workers]}]}"
    assert [each.rule for each in lint(text.replace("TERM", term))] == []


def test_an_operator_may_replace_zero_values_of_spread_constraints() -> None:
    """Those of Percona for XtraDB and MongoDB do, that for MySQL does not."""
    zero = 'topologySpreadConstraints: [{maxSkew: 0, topologyKey: "", whenUnsatisfiable: ""}]'
    head = "apiVersion: GROUP/v1\nkind: KIND\nmetadata: {name: db}\nspec:\n"
    xtradb = head.replace("GROUP", "pxc.percona.com").replace("KIND", "PerconaXtraDBCluster") + f"  pxc:\n    size: 3\n    {zero}\n"
    mongodb = head.replace("GROUP", "psmdb.percona.com").replace("KIND", "PerconaServerMongoDB")
    mongodb += f"  replsets:\n  - name: rs0\n    size: 3\n    {zero}\n"
    mysql = xtradb.replace("pxc.percona.com", "ps.percona.com").replace("XtraDBCluster", "ServerMySQL").replace("pxc:", "mysql:")
    assert lint(xtradb) == lint(mongodb) == []
    assert len(lint(xtradb.replace("maxSkew: 0", "maxSkew: -1"))) == 1
    assert [each.rule for each in lint(xtradb.replace("maxSkew: 0, ", "minDomains: 0, maxSkew: 0, "))] == ["invalid-spread-constraint"]
    assert {each.rule for each in lint(mysql)} == {"invalid-spread-constraint", "empty-topology-key"}


class TestSelectionsOfNodesAndClusters:
    """Kinds that select nodes or clusters for something other than the pods of an operator."""

    def test_what_a_runtime_class_adds_to_pods(self) -> None:
        text = """
            apiVersion: node.k8s.io/v1
            kind: RuntimeClass
            metadata: {name: gvisor}
            handler: runsc
            scheduling:
              nodeSelector:
                gvisor: true
                beta.kubernetes.io/os: linux
              tolerations:
              - key: gvisor
                operator: exists
              - key: a b
                operator: Exists
        """
        assert places(lint(text)) == [
            "a.yaml:8:13 error wrong-type",
            "a.yaml:9:5 info deprecated-node-label",
            "a.yaml:12:15 error unknown-operator",
            "a.yaml:13:10 error invalid-label-key",
        ]
        assert messages_of(text, "unknown-operator") == [
            "12:15 a toleration does not support the operator `exists`; did you mean `Exists`?"
        ]

    def test_a_runtime_class_without_scheduling(self) -> None:
        assert lint("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: a}\nhandler: runsc\nscheduling: {}\n") == []

    def test_flavors_and_topologies_of_kueue(self) -> None:
        flavor = """
            apiVersion: kueue.x-k8s.io/v1beta1
            kind: ResourceFlavor
            metadata: {name: spot}
            spec:
              nodeLabels: {spot: true}
              nodeTaints: [{key: spot, value: "true", effect: NoSchedul}]
              tolerations: [{key: spot, operator: exists}]
              topologyName: racks
        """
        assert places(lint(flavor)) == [
            "a.yaml:6:22 error wrong-type",
            "a.yaml:7:51 error wrong-type",
            "a.yaml:8:39 error unknown-operator",
        ]
        topology = """
            apiVersion: kueue.x-k8s.io/v1beta1
            kind: Topology
            metadata: {name: racks}
            spec:
              levels: [{nodeLabel: /rack}, {nodeLabel: kubernetes.io/hostname}]
        """
        assert messages_of(topology, "wrong-type") == ["6:24 `nodeLabel` must be the key of a label, not `/rack`"]

    def test_nodes_whose_disks_are_used(self) -> None:
        text = """
            apiVersion: local.storage.openshift.io/v1
            kind: LocalVolume
            metadata: {name: disks}
            spec:
              nodeSelector:
                nodeSelectorTerms: %s
        """
        assert places(lint(text % "{matchExpressions: []}")) == ["a.yaml:7:5 error wrong-type"]
        term = "[{matchExpressions: [{key: %s, operator: %s, values: [a]}]}]"
        assert places(lint(text % (term % ("disk", "in")))) == ["a.yaml:7:67 error unknown-operator"]
        assert lint(text % (term % ("disk", "In"))) == []

    def test_clusters_of_open_cluster_management(self) -> None:
        text = """
            apiVersion: cluster.open-cluster-management.io/v1beta1
            kind: Placement
            metadata: {name: p}
            spec:
              predicates:
              - requiredClusterSelector:
                  labelSelector: {matchExpressions: [{key: env, operator: %s, values: [prod]}]}
                  claimSelector: {matchExpressions: [{key: region, operator: Exists}]}
              tolerations: [{key: a, operator: Exists, effect: %s}]
              spreadPolicy:
                spreadConstraints: [{maxSkew: 1, topologyKey: zone, topologyKeyType: Label, whenUnsatisfiable: ScheduleAnyway}]
        """
        assert lint(text % ("In", "NoSelect")) == []
        assert places(lint(text % ("in", "NoSchedule"))) == ["a.yaml:8:63 error unknown-operator", "a.yaml:10:52 error wrong-type"]
        assert messages_of(text % ("In", "NoSchedule"), "wrong-type") == [
            "10:52 `effect` must be one of NoSelect, PreferNoSelect, NoSelectIfNew, not `NoSchedule`"
        ]

    def test_clusters_of_karmada(self) -> None:
        text = """
            apiVersion: policy.karmada.io/v1alpha1
            kind: PropagationPolicy
            metadata: {name: p}
            spec:
              placement:
                clusterAffinity:
                  clusterNames: [a]
                  labelSelector: {matchLabels: {%s: eu}}
                clusterTolerations: [{key: a, operator: %s}]
                spreadConstraints: [{spreadByField: %s, maxGroups: 2}]
        """
        assert lint(text % ("region", "Exists", "region")) == []
        assert places(lint(text % ("a b", "Exist", "regions"))) == [
            "a.yaml:9:37 error invalid-label-key",
            "a.yaml:10:45 error unknown-operator",
            "a.yaml:11:41 error wrong-type",
        ]

    def test_fields_of_clusters_of_karmada(self) -> None:
        text = """
            apiVersion: policy.karmada.io/v1alpha1
            kind: ClusterPropagationPolicy
            metadata: {name: p}
            spec:
              placement:
                clusterAffinities:
                - affinityName: near
                  fieldSelector: {matchExpressions: [{key: %s, operator: %s, values: [eu]}]}
        """
        assert lint(text % ("region", "NotIn")) == []
        assert messages_of(text % ("regions", "In"), "wrong-type") == ["9:48 `key` must be one of provider, region, zone, not `regions`"]
        assert messages_of(text % ("zone", "Exists"), "wrong-type") == ["9:64 `operator` must be one of In, NotIn, not `Exists`"]
