"""Keys of constraints where no schema describes them: in values of charts, in unknown kinds, in templates that only an operator reads."""

import textwrap

import pytest

from linting import lint, messages_of

RULES = frozenset(
    ("unknown-field", "misplaced-constraint", "wrong-type", "missing-term-wrapper", "empty-topology-key", "invalid-spread-constraint")
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def found(text: str, name: str = "values.yaml") -> list[str]:
    """``3:5 rule: message`` for each finding about a key, without the note on who rejects it."""
    findings = [each for each in lint({name: text}) if each.rule in RULES]
    assert all(each.severity == "warning" for each in findings)
    return [f"{each.span.line}:{each.span.column} {each.rule}: {each.message.split(' (')[0]}" for each in findings]


def anti_affinity(term: str) -> str:
    return f"affinity:\n  podAntiAffinity:\n    {REQUIRED}:\n" + textwrap.indent(f"- {term}\n", "      ")


@pytest.mark.parametrize(
    ("values", "finding"),
    [
        (
            anti_affinity("topologyKey: zone\n  labelSelctor: {matchLabels: {app: web}}"),
            "5:9 unknown-field: unknown field `labelSelctor` in this pod affinity term; did you mean `labelSelector`?",
        ),
        (
            anti_affinity("labelSelector:\n    matchLabels: {app: web}\n    topologyKey: zone"),
            "6:11 misplaced-constraint: topologyKey is inside the label selector; it belongs next to it",
        ),
        (
            anti_affinity("topologyKey: zone\n  labelSelector:\n  matchLabels: {app: web}"),
            "6:9 misplaced-constraint: matchLabels is set directly in the pod affinity term; it belongs under labelSelector",
        ),
        (
            anti_affinity("topologyKey: zone\n  weight: 5\n  labelSelector: {}"),
            "5:9 missing-term-wrapper: a required term has no weight; only preferred terms have one",
        ),
        (
            anti_affinity("labelSelector: {matchLabels: {app: web}}"),
            "4:9 empty-topology-key: this required podAntiAffinity term has no topologyKey, but the field is required and has no default",
        ),
        (
            f"affinity:\n  podAntiAffinty:\n    {REQUIRED}: [{{topologyKey: zone}}]\n",
            "2:3 unknown-field: unknown field `podAntiAffinty` in this affinity; did you mean `podAntiAffinity`?",
        ),
        (
            "affinity:\n  podAntiAffinity:\n    requiredDuringScheduling: [{topologyKey: zone}]\n",
            f"3:5 unknown-field: unknown field `requiredDuringScheduling` in this pod anti-affinity; did you mean `{REQUIRED}`?",
        ),
        (
            f"affinity:\npodAntiAffinity:\n  {REQUIRED}: [{{topologyKey: zone}}]\n",
            "2:1 misplaced-constraint: affinity is empty, and podAntiAffinity is next to it; it belongs inside it",
        ),
        (
            f"affinity:\n  podAffinity:\n    {REQUIRED}: [{{topologyKey: zone}}]\n  tolerations: [{{operator: Exists}}]\n",
            "4:3 misplaced-constraint: tolerations is not a field of the affinity; it belongs at the top level",
        ),
        (
            f"affinty:\n  podAffinity:\n    {REQUIRED}: [{{topologyKey: zone}}]\n",
            "1:1 unknown-field: unknown field `affinty`; did you mean `affinity`?",
        ),
        ("nodeSelctor: {disktype: ssd}\n", "1:1 unknown-field: unknown field `nodeSelctor`; did you mean `nodeSelector`?"),
        (
            "nodeSelector:\nkubernetes.io/arch: amd64\n",
            "2:1 misplaced-constraint: nodeSelector is empty, and kubernetes.io/arch is next to it; it belongs inside it",
        ),
        ("nodeSelector: [{disktype: ssd}]\ntolerations: []\n", "1:1 wrong-type: `nodeSelector` must be a map, not a list"),
        ("nodeSelector: disktype=ssd\naffinity: {}\n", "1:15 wrong-type: `nodeSelector` must be a map, not a string"),
        (
            "web:\n  nodeSelector: {matchExpressions: [{key: a, operator: Exists}]}\n  tolerations: []\n",
            "2:18 misplaced-constraint: matchExpressions is in the nodeSelector, which is a plain map of labels",
        ),
        (
            "nodeSelector: {kubernetes.io/hostname: [a, b]}\naffinity: {}\n",
            "1:16 wrong-type: `kubernetes.io/hostname` must be a string, not a list",
        ),
        ("tolerations: {key: a, operator: Exists}\n", "1:1 wrong-type: `tolerations` must be a list, not a map"),
        (
            "topologySpreadConstraints: {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}\n",
            "1:1 wrong-type: `topologySpreadConstraints` must be a list, not a map",
        ),
        (
            "topologySpreadConstraints:\n  - {maxSkew: 1, topologyKey: zone, labelSelector: {}}\n",
            "2:6 invalid-spread-constraint: this spread constraint has no whenUnsatisfiable, which is required",
        ),
        (
            "tolerations:\n  - {key: a, operater: Exists}\n",
            "2:14 unknown-field: unknown field `operater` in this toleration; did you mean `operator`?",
        ),
    ],
)
def test_a_mistake_in_values_is_one_finding(values: str, finding: str) -> None:
    assert found(values) == [finding]


@pytest.mark.parametrize(
    "values",
    [
        # Words of charts and operators.
        "affinity: {podAntiAffinity: soft, nodeAffinity: {type: hard, matchExpressions: []}}\n",
        f"affinity:\n  enabled: true\n  tolerations: [{{operator: Exists}}]\n  podAffinity: {{{REQUIRED}: [{{topologyKey: a}}]}}\n",
        "affinity:\n  enabled: true\n  podAntiAffinity: {enabled: true}\n",
        "antiAffinity: hard\nnodeAffinity: {}\npodAntiAffinityPreset: soft\n",
        f"affinity: {{}}\npodAntiAffinity:\n  {REQUIRED}: [{{topologyKey: zone}}]\n",
        "nodeSelectors: {disktype: ssd}\ntoleration: [{key: a}]\n",
        # Text that a chart evaluates, expressions of other APIs, selectors of nodes by label.
        "nodeSelector: |\n  disktype: ssd\ntolerations: []\n",
        "nodeSelector: all()\ntolerations: []\n",
        "nodeSelector: linux\n",
        "nodeSelector: {matchExpressions: [{key: a, operator: Exists}]}\n",
        "nodeSelector: {enabled: true, labels: {disk: ssd}}\ntolerations: []\n",
        "nodeSelector: {key: disk, values: [ssd]}\ntolerations: []\n",
        "nodeSelector: [{key: a, value: b}]\n",
        # A placeholder may become anything.
        anti_affinity("topologyKey: zone\n  labelSelector: '{{ .Values.selector }}'"),
        anti_affinity("topologyKey: zone\n  ${EXTRA}: a"),
        "topologySpreadConstraints: {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}\n",
        "node_selector: {disktype: ssd}\n",
        "tolerations: {enabled: true}\ntopologySpreadConstraints: {enabled: true, maxSkew: 1}\n",
        "taints: [{key: a, value: b, effect: NoSchedule, timeAdded: now}]\n",
    ],
)
def test_words_of_charts_are_left_alone(values: str) -> None:
    assert found(values) == []


def release(spec: str) -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n"
        "spec:\n  chartRef: {kind: OCIRepository, name: web}\n" + textwrap.indent(spec, "  ")
    )


class TestDeadEnds:
    """Places from which no constraint reaches a pod."""

    def test_beside_the_values_of_a_release(self) -> None:
        text = release("tolerations: [{operator: Exists}]\nvalues: {tolerations: [{operator: Exists}]}\n")
        (message,) = messages_of(text, "misplaced-constraint")
        assert message == "6:3 tolerations is set in spec, but HelmRelease has no such field (kubectl rejects it, other clients drop it)"
        assert [each.severity for each in lint(text)] == ["error"]

    def test_beside_the_source_of_an_application(self) -> None:
        text = """
            apiVersion: argoproj.io/v1alpha1
            kind: Application
            metadata: {name: web}
            spec: {nodeSelector: {disktype: ssd}, source: {helm: {valuesObject: {nodeSelector: {disktype: ssd}}}}}
        """
        assert len(messages_of(text, "misplaced-constraint")) == 1

    def test_in_metadata_a_claim_and_a_container(self) -> None:
        text = """
            apiVersion: example.com/v1
            kind: Widget
            metadata: {name: w, tolerations: [{operator: Exists}]}
            spec:
              volumeClaimTemplates: [{spec: {nodeSelector: {disktype: ssd}}}]
              pod: {containers: [{name: web, nodeSelector: {disktype: ssd}}]}
        """
        assert [each.split(" is set in ")[1].split(",")[0] for each in messages_of(text, "misplaced-constraint")] == [
            "the metadata",
            "a volume claim",
            "a container",
        ]

    def test_a_claim_of_a_stateful_set(self) -> None:
        text = """
            apiVersion: apps/v1
            kind: StatefulSet
            metadata: {name: db}
            spec:
              selector: {matchLabels: {app: db}}
              template:
                metadata: {labels: {app: db}}
                spec: {containers: [{name: db, image: db}]}
              volumeClaimTemplates:
                - metadata: {name: data}
                  spec: {nodeSelector: {disktype: ssd}}
        """
        assert messages_of(text, "misplaced-constraint") == [
            "12:14 nodeSelector is not a field of the volume claim; it belongs in spec.template.spec"
        ]


class TestTemplatesOfOperators:
    ELASTIC = """
        apiVersion: elasticsearch.k8s.elastic.co/v1
        kind: Elasticsearch
        metadata: {name: logs}
        spec:
          nodeSets:
            - name: default
              count: 3
              podTemplate:
                %s
    """

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            ("spec: {nodeSelectors: {a: b}}", "unknown field `nodeSelectors` in this pod spec; did you mean `nodeSelector`?"),
            (
                "tolerations: [{operator: Exists}]",
                "tolerations is not a field of the pod template; it belongs in spec.nodeSets[0].podTemplate.spec",
            ),
            (
                "spec: {containers: [{name: a, nodeSelector: {a: b}}]}",
                "nodeSelector is not a field of the container; it belongs in spec.nodeSets[0].podTemplate.spec",
            ),
        ],
    )
    def test_a_template_without_a_schema_has_the_fields_of_a_pod(self, template: str, message: str) -> None:
        (finding,) = lint(self.ELASTIC % template)
        assert (finding.severity, finding.message) == ("warning", f"{message} (stored, but the operator ignores it)")

    def test_an_affinity_next_to_the_field_that_takes_it(self) -> None:
        text = f"""
            apiVersion: pxc.percona.com/v1
            kind: PerconaXtraDBCluster
            metadata: {{name: db}}
            spec:
              pxc:
                affinity:
                  advanced:
                  nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, operator: Exists}}]}}]}}}}
        """
        (message,) = messages_of(text, "misplaced-constraint")
        assert "it belongs in spec.pxc.affinity.advanced" in message

    def test_a_label_selector_of_nodes(self) -> None:
        text = """
            apiVersion: upgrade.cattle.io/v1
            kind: Plan
            metadata: {name: agents}
            spec: {nodeSelector: {matchExpressions: [{effect: NoExecute, operator: Exists}]}}
        """
        (message,) = messages_of(text, "unknown-field")
        assert message.endswith("unknown field `effect` in this match expression (kubectl rejects it, other clients drop it)")

    @pytest.mark.parametrize(
        ("kind", "above"),
        [
            ("kyverno.io/v1, kind: ClusterPolicy", "rules: [{name: a, validate: {pattern: {spec: SPEC}}}]"),
            ("kyverno.io/v1, kind: Policy", "rules: [{name: a, validate: {anyPattern: [{spec: SPEC}]}}]"),
            ("constraints.gatekeeper.sh/v1beta1, kind: RequiredSpread", "parameters: SPEC"),
        ],
    )
    def test_policies_compare_objects_with_expressions(self, kind: str, above: str) -> None:
        spread = "{maxSkew: '>=1', topologyKey: '?*', whenUnsatisfiable: 'DoNotSchedule | ScheduleAnyway'}"
        spec = f"{{nodeSelector: {{disk: '.*'}}, tolerations: [{{key: '!gpu', operator: '*'}}], topologySpreadConstraints: [{spread}]}}"
        assert lint(f"{{apiVersion: {kind}, metadata: {{name: a}}, spec: {{{above.replace('SPEC', spec)}}}}}\n") == []

    def test_the_changes_of_a_policy_reach_pods(self) -> None:
        rule = "{name: a, mutate: {patchStrategicMerge: {spec: {tolerations: [{key: gpu, operator: Exist}]}}}}"
        text = f"{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: a}}, spec: {{rules: [{rule}]}}}}\n"
        assert len(messages_of(text, "unknown-operator")) == 1

    def test_patterns_of_policies_have_their_own_keys(self) -> None:
        text = f"""
            apiVersion: kyverno.io/v1
            kind: ClusterPolicy
            metadata: {{name: spread}}
            spec:
              rules:
                - name: a
                  mutate:
                    patchStrategicMerge:
                      spec:
                        affinity:
                          podAntiAffinity:
                            {REQUIRED}: [{{"+(topologyKey)": zone, (labelSelector): {{}}}}]
        """
        assert lint(text) == []
