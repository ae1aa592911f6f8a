"""Constraints in the values of a chart that the chart certainly writes into pods: judged like those of the pods themselves."""

import textwrap

import pytest

from linting import lint, places

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LEGACY = "[{key: node-role.kubernetes.io/master, operator: Exists}]"
SPREAD = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}"
SHADOWED = "[{operator: Exists}, {key: a, operator: Exists}]"


def release(chart: str, values: str, *, version: str = '"*"', repository: str = "") -> str:
    """A HelmRelease of Flux with these values, which begin on line 11."""
    head = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web}}
spec:
  chart:
    spec:
      chart: {chart}
      version: {version}
      sourceRef: {{kind: HelmRepository, name: {repository or chart}}}
  values:
"""
    return head + textwrap.indent(textwrap.dedent(values).strip("\n"), "    ") + "\n"


def found(chart: str, values: str, *, version: str = '"*"') -> list[str]:
    """``11:5 error rule`` for each finding."""
    return [each.removeprefix("a.yaml:") for each in places(lint(release(chart, values, version=version)))]


class TestWholeConstraints:
    @pytest.mark.parametrize(
        ("values", "finding"),
        [
            (f"tolerations: {LEGACY}", "11:25 info legacy-control-plane-toleration"),
            (f"tolerations: {SHADOWED}", "11:40 info shadowed-toleration"),
            ("nodeSelector: {topology.kubernetes.io/zones: a}", "11:20 warning unknown-node-label"),
            (f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{}}]}}}}}}", "11:100 warning empty-term"),
            (f"topologySpreadConstraints: [{SPREAD}, {SPREAD}]", "11:146 error duplicate-spread-constraint"),
        ],
    )
    def test_at_a_place_that_a_rendered_chart_showed_in_a_pod(self, values: str, finding: str) -> None:
        assert found("metrics-server", values) == [finding]

    def test_elsewhere_as_well(self) -> None:
        assert found("some-chart", f"tolerations: {LEGACY}") == ["11:25 info legacy-control-plane-toleration"]
        assert found("metrics-server", f"other: {{tolerations: {SHADOWED}}}") == ["11:48 info shadowed-toleration"]

    def test_a_list_to_which_the_chart_adds_tolerations_is_not_whole(self) -> None:
        assert found("metallb", f"controller: {{tolerations: {LEGACY}}}") == ["11:38 info legacy-control-plane-toleration"]
        assert found("metallb", f"speaker: {{tolerations: {LEGACY}}}") == []


WRONG = "[{key: a, operator: Equals, value: b}]"


class TestMessages:
    """A mistake at a verified place has the severity and the message that it has in a Deployment."""

    def test_at_a_verified_place_the_pods_are_certainly_rejected(self) -> None:
        (finding,) = lint(release("metrics-server", f"tolerations: {WRONG}"))
        assert (finding.severity, finding.message) == (
            "error",
            "a toleration does not support the operator `Equals`; did you mean `Equal`?",
        )

    def test_where_only_the_shape_is_known_the_message_says_so(self) -> None:
        (finding,) = lint(release("some-chart", f"tolerations: {WRONG}"))
        assert (finding.severity, finding.message.partition(" (")[2]) == ("warning", "if this reaches a pod, the pod is rejected)")

    def test_a_place_that_no_render_showed_in_a_pod(self) -> None:
        values = f"redis-ha: {{tolerations: {WRONG}}}\nserver: {{tolerations: {WRONG}}}"
        assert found("argo-cd", values) == ["11:49 warning unknown-operator", "12:47 error unknown-operator"]

    def test_a_chart_may_set_a_field_that_is_missing(self) -> None:
        spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone}]"
        assert found("metrics-server", spread) == ["11:34 warning invalid-spread-constraint"]
        assert found("app-template", f"defaultPodOptions: {{{spread}}}", version="4.1.1") == ["11:54 error invalid-spread-constraint"]

    def test_the_first_version_of_app_template_reads_other_places(self) -> None:
        values = f"defaultPodOptions: {{tolerations: {WRONG}}}"
        assert found("app-template", values, version="4.1.1") == ["11:58 error unknown-operator"]
        assert found("app-template", values, version="1.5.1") == ["11:58 warning unknown-operator"]

    def test_a_chart_may_parse_text_before_it_reaches_a_pod(self) -> None:
        terms = "[{matchExpressions: [{key: a, operator: Is}]}]"
        values = f"server: {{affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: {terms}}}}}}}}}"
        assert places(lint(release("vault", values, repository="hashicorp"))) == ["a.yaml:11:148 warning unknown-operator"]


class TestWithoutAdditions:
    """bjw-s' common library writes constraints as they are."""

    @pytest.mark.parametrize("chart", ["app-template", "metrics-server"])
    @pytest.mark.parametrize(
        ("term", "rule"),
        [
            ("{topologyKey: kubernetes.io/hostname}", "selector-matches-nothing"),
            ("{topologyKey: kubernetes.io/hostname, labelSelector: {}}", "selector-matches-everything"),
            ("{topologyKey: kubernetes.io/hostname, matchLabelKeys: [pod-template-hash]}", "label-keys-conflict"),
        ],
    )
    def test_a_term_without_a_selector(self, chart: str, term: str, rule: str) -> None:
        affinity = f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{term}]}}}}"
        values = f"controllers: {{main: {{pod: {{{affinity}}}}}}}" if chart == "app-template" else affinity
        expected = [rule] if chart == "app-template" else []
        assert [each.split()[-1] for each in found(chart, values, version="4.1.1" if chart == "app-template" else '"*"')] == expected

    def test_a_chart_for_an_operator_passes_on_the_fields_of_the_operator(self) -> None:
        spread = SPREAD.replace("labelSelector: {}", "labelSelector: {}, additionalLabelSelectors: OnShard")
        assert found("kube-prometheus-stack", f"prometheus: {{prometheusSpec: {{topologySpreadConstraints: [{spread}]}}}}") == []


class TestNumbersAndBooleans:
    def test_the_label_of_a_node_in_the_values_of_any_chart(self) -> None:
        (finding,) = lint(release("some-chart", "nodeSelector: {openebs.io/storage: true}"))
        assert places([finding]) == ["a.yaml:11:40 warning wrong-type"]
        assert finding.message == (
            "the value of `openebs.io/storage` must be a string, but unquoted `true` is a boolean"
            " (if this reaches a pod, the pod is rejected)"
        )

    def test_in_a_values_file(self) -> None:
        text = {"values.yaml": "app:\n  nodeSelector:\n    example.com/gpu: 1\n"}
        assert places(lint(text)) == ["values.yaml:3:22 warning wrong-type"]

    @pytest.mark.parametrize(
        "values",
        [
            "nodeSelector: {enabled: true}",
            "nodeSelector: {storage: true}",
            "config: {example.com/gpu: 1}",
            "nodeSelector: {example.com/gpu: null}",
        ],
    )
    def test_words_and_values_that_a_chart_may_quote(self, values: str) -> None:
        assert found("some-chart", values) == []

    @pytest.mark.parametrize(
        ("values", "column"),
        [("nodeSelector: {storage: true}", 29), ("tolerations: [{key: a, operator: Equal, value: true}]", 52)],
    )
    def test_at_a_verified_place_each_is_a_mistake(self, values: str, column: int) -> None:
        assert found("metrics-server", values) == [f"11:{column} error wrong-type"]

    def test_a_custom_resource_of_an_unknown_kind_may_quote_them(self) -> None:
        text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec:\n  nodeSelector: {example.com/gpu: 1}\n"
        assert lint(text) == []


class TestValuesOfAnotherType:
    @pytest.mark.parametrize(
        ("chart", "values", "findings"),
        [
            # rafaribe/home-ops before 408b43ce5a.
            ("traefik", "nodeSelector: odroid-h2", ["11:19 error wrong-type"]),
            ("traefik", "nodeSelector: [{disk: ssd}]", ["11:5 error wrong-type"]),
            ("traefik", "tolerations: {enabled: true}", ["11:5 error wrong-type"]),
            ("app-template", "defaultPodOptions: {tolerations: all}", ["11:38 error wrong-type"]),
            ("app-template", "controllers: {main: {pod: {affinity: soft}}}", ["11:42 error wrong-type"]),
            ("traefik", "nodeSelector: odroid-h2\ntolerations: [{operator: Exists}]", ["11:19 error wrong-type"]),
            (
                "traefik",
                "nodeSelector: odroid-h2\ntolerations: [{operator: Exists}]\nmyTolerations: [{operator: Exists}]",
                ["11:19 error wrong-type"],
            ),
            # A chart may parse it, or replace it.
            ("traefik", "nodeSelector: 'disk: ssd'", []),
            ("traefik", "nodeSelector: ${NODES}", []),
            ("traefik", "affinity: soft", []),
            # Only the shape would say what these are.
            ("some-chart", "nodeSelector: odroid-h2", []),
            ("traefik", "other: {nodeSelector: odroid-h2}", []),
            ("vault", "server: {affinity: none}", []),
            ("traefik", "nodeSelector: ''", []),
        ],
    )
    def test_in_place_of_a_constraint_on_its_own(self, chart: str, values: str, findings: list[str]) -> None:
        assert found(chart, values, version="4.1.1" if chart == "app-template" else '"*"') == findings

    def test_text_that_app_template_writes_into_the_pods_as_text(self) -> None:
        values = """
            defaultPodOptions:
              affinity: |
                podAntiAffinity:
                  preferredDuringSchedulingIgnoredDuringExecution: []
        """
        (finding,) = lint(release("app-template", values, version="4.1.1"))
        assert places([finding]) == ["a.yaml:12:17 error wrong-type"]
        assert finding.message == "`affinity` must be an object, not a string"

    @pytest.mark.parametrize(
        ("selector", "messages"),
        [
            ("{matchExpressions: [{key: a, operator: Exists}]}", ["`matchExpressions` must be a string, not a list"]),
            ("{disk: [ssd]}", ["`disk` must be a string, not a list"]),
            ("{disk: ssd}", []),
        ],
    )
    def test_a_node_selector_that_is_not_a_map_of_labels(self, selector: str, messages: list[str]) -> None:
        found = lint(release("grafana", f"nodeSelector: {selector}", version="8.0.0"))
        assert [each.message for each in found] == messages
        assert all(each.severity == "error" for each in found)

    def test_in_an_application_and_a_values_file(self) -> None:
        application = """
            apiVersion: argoproj.io/v1alpha1
            kind: Application
            metadata: {name: web}
            spec:
              source:
                chart: traefik
                repoURL: https://traefik.github.io/charts
                helm:
                  values: |
                    nodeSelector: ssd
        """
        assert places(lint(application)) == ["a.yaml:11:23 error wrong-type"]
        of_common = {"values.yaml": "controllers: {main: {containers: {app: {image: a}}, pod: {nodeSelector: ssd}}}\n"}
        assert places(lint(of_common)) == ["values.yaml:1:73 error wrong-type"]
