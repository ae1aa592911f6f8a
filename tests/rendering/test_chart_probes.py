"""Placement values of charts that are empty by default: afflint sets them, and follows them into the rendered objects."""

import textwrap
from pathlib import Path

import pytest

from afflint.rendering.chart_trials import ChartTrials
from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("helm_tool")

VALUES = """\
nodeSelector: {}
tolerations: []
affinity: {}
"""
HEAD = deployment("containers:", "  - name: web", "    image: web:1")
GOOD = """\
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
"""
IN_CONTAINER = textwrap.indent(GOOD, "    ").replace("nindent 8", "nindent 12")
FIRST = HEAD.count("\n") + 1
"""The line of the template after the container."""


def chart(template: str, values: str = VALUES, more: dict[str, str] | None = None) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": values, "templates/web.yaml": HEAD + template}
    write({f"chart/{name}": text for name, text in (files | (more or {})).items()})


def found(checking: Checking) -> list[str]:
    """`file:line message` of each finding."""
    return [f"{each['file'].removeprefix('chart/')}:{each['line']} {each['message']}" for each in checking.report()["findings"]]


def set_value(line: int, name: str, message: str) -> str:
    """The finding at a line of the template that a value causes."""
    return f"templates/web.yaml:{line} if `{name}` is set, {message}"


def test_values_that_reach_the_pod_spec(checking: Checking) -> None:
    chart(GOOD)
    assert found(checking) == []


# In the wrong place.


def test_values_in_the_container(checking: Checking) -> None:
    chart(IN_CONTAINER)
    assert found(checking) == [
        set_value(FIRST + 1, "nodeSelector", "`nodeSelector` becomes an unknown field of the container"),
        set_value(FIRST + 4, "tolerations", "`tolerations` becomes an unknown field of the container"),
        set_value(FIRST + 7, "affinity", "`affinity` becomes an unknown field of the container"),
    ]


def test_a_value_in_the_spec_of_the_deployment(checking: Checking) -> None:
    chart("  {{- with .Values.nodeSelector }}\n  nodeSelector: {{- toYaml . | nindent 4 }}\n  {{- end }}\n", "nodeSelector: {}\n")
    assert found(checking) == [set_value(FIRST + 1, "nodeSelector", "`nodeSelector` becomes an unknown field of the Deployment spec")]


def test_a_value_in_the_security_context(checking: Checking) -> None:
    chart("      securityContext:\n        runAsUser: 1\n        priorityClassName: {{ .Values.priorityClassName }}\n", "{}\n")
    assert found(checking) == [
        set_value(FIRST + 2, "priorityClassName", "`priorityClassName` becomes an unknown field of `spec.template.spec.securityContext`")
    ]


def test_a_value_that_holds_fields_of_the_pod_spec(checking: Checking) -> None:
    """A chart may take `affinity: {nodeSelector: {...}}`; nothing shows whether `affinity:` is missing in the template."""
    chart("      {{- with .Values.affinity }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n", "affinity: {}\n")
    assert found(checking) == []


def test_a_value_next_to_its_key(checking: Checking) -> None:
    chart("{{- with .Values.nodeSelector }}\n          nodeSelector:\n{{ toYaml . | indent 10 }}\n{{- end }}\n", "nodeSelector: {}\n")
    assert found(checking) == [set_value(FIRST + 1, "nodeSelector", "`nodeSelector` becomes an unknown field of the container")]


def test_a_value_at_the_top_of_the_document(checking: Checking) -> None:
    chart("      {{- with .Values.nodeSelector }}\n      nodeSelector:\n        {{ toYaml . }}\n      {{- end }}\n", "nodeSelector: {}\n")
    words = "if `nodeSelector` has several entries, its content becomes an unknown field of the Deployment"
    assert found(checking) == [f"templates/web.yaml:{FIRST} {words}"]
    assert "afflint-probe" not in str(checking.report()["findings"])


def test_a_field_that_becomes_part_of_the_value(checking: Checking) -> None:
    after = "        readinessProbe: {tcpSocket: {port: 80}}\n"
    chart(
        f"      {{{{- with .Values.nodeSelector }}}}\n      nodeSelector:\n{{{{ toYaml . | indent 8 }}}}\n{after}      {{{{- end }}}}\n",
        "nodeSelector: {}\n",
    )
    assert found(checking) == [
        set_value(FIRST + 3, "nodeSelector", "the API server rejects this Deployment: `readinessProbe` must be a string")
    ]


def test_constraints_as_affinity(checking: Checking) -> None:
    chart("      affinity: {{- toYaml .Values.topologySpreadConstraints | nindent 8 }}\n", "topologySpreadConstraints: null\n")
    assert found(checking) == [
        set_value(FIRST, "topologySpreadConstraints", "the API server rejects this Deployment: `affinity` must be an object")
    ]


def test_constraints_as_a_second_affinity(checking: Checking) -> None:
    """Only the last of two keys takes effect, so each of the values is also set alone."""
    constraints = "      {{- with .Values.topologySpreadConstraints }}\n      affinity: {{- toYaml . | nindent 8 }}\n      {{- end }}\n"
    chart(constraints + GOOD, f"{VALUES}topologySpreadConstraints: []\n")
    assert found(checking) == [
        set_value(FIRST + 1, "topologySpreadConstraints", "the API server rejects this Deployment: `affinity` must be an object")
    ]


def test_one_name_as_another(checking: Checking) -> None:
    chart("      schedulerName: {{ .Values.priorityClassName }}\n", 'priorityClassName: ""\n')
    assert found(checking) == [f"templates/web.yaml:{FIRST} if `priorityClassName` is set, it becomes `schedulerName` of this Deployment"]


def test_a_value_as_text(checking: Checking) -> None:
    template = "      {{- with .Values.nodeSelector }}\n      nodeSelector: {{ toJson . | quote }}\n      {{- end }}\n"
    chart(template, "nodeSelector: null\n")
    assert found(checking) == [set_value(FIRST + 1, "nodeSelector", "the API server rejects this Deployment: `nodeSelector` must be a map")]


@pytest.mark.parametrize("values", ["nodeSelector:\n", "{}\n", 'nodeSelector: ""\n'])
def test_a_chart_that_expects_text(checking: Checking, values: str) -> None:
    chart("      {{- if .Values.nodeSelector }}\n      nodeSelector: {{ .Values.nodeSelector }}\n      {{- end }}\n", values)
    assert found(checking) == []


def test_a_map_that_is_printed(checking: Checking) -> None:
    """The default shows that it is a map."""
    chart("      {{- if .Values.nodeSelector }}\n      nodeSelector: {{ .Values.nodeSelector }}\n      {{- end }}\n", "nodeSelector: {}\n")
    assert found(checking) == [set_value(FIRST + 1, "nodeSelector", "the API server rejects this Deployment: `nodeSelector` must be a map")]


def test_what_is_not_a_pod_spec(checking: Checking) -> None:
    """An operator may get the values in an argument, a ConfigMap or a custom resource."""
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  pods: {{ .Values | toJson | quote }}\n"
    chart("          args: [{{ .Values.affinity | toJson | quote }}]\n", more={"templates/config.yaml": config})
    assert found(checking) == []


def test_a_custom_resource_that_has_the_field_elsewhere(checking: Checking) -> None:
    pool = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaNodePool
metadata: {name: pool}
spec:
  storage:
    pod:
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
"""
    chart("", "affinity: {}\n", more={"templates/pool.yaml": pool})
    words = "affinity is set in spec.storage.pod, where KafkaNodePool has no such field; it belongs in spec.template.pod"
    assert found(checking) == [f"templates/pool.yaml:8 if `affinity` is set, {words} (kubectl rejects it, or the operator ignores it)"]
    chart("", "affinity: {}\n", more={"templates/pool.yaml": pool.replace("storage:", "template:")})
    assert found(checking) == []


# The template breaks.


def test_invalid_yaml(checking: Checking) -> None:
    chart(GOOD.replace("tolerations: {{- toYaml . | nindent 8 }}", "tolerations: {{- toYaml . | nindent 8 }}:"))
    (messages,) = found(checking)
    assert messages.startswith(
        f"templates/web.yaml:{FIRST + 4} if `tolerations` is set, Helm cannot render the chart: it is invalid YAML ("
    )


def test_a_stray_bracket(checking: Checking) -> None:
    chart(GOOD.replace("{{- with .Values.nodeSelector }}", "{{- with .Values.nodeSelector }}]"))
    assert found(checking) == [set_value(FIRST, "nodeSelector", "`]` is added to `spec.template.spec.containers[0].image`")]


def test_a_dot_that_is_not_the_root(checking: Checking) -> None:
    template = "      {{- range .Values.tolerations }}\n      hostname: {{ .Values.name }}\n      {{- end }}\n"
    chart(template, "tolerations: []\nname: web\n")
    assert found(checking) == [
        set_value(FIRST + 1, "tolerations", "Helm cannot render the chart: <.Values.name>: nil pointer evaluating interface {}.name")
    ]


def test_a_chart_that_rejects_a_value(checking: Checking) -> None:
    chart(
        '{{- if .Values.affinity }}{{ fail "set nodeSelector instead" }}{{ end }}\n' + GOOD.partition("      {{- with .Values.affinity")[0]
    )
    assert found(checking) == []


def test_an_error_that_names_a_file_outside_the_chart(checking: Checking) -> None:
    write({"outside.yaml": "a: b\n"})
    name = "template: web/../outside.yaml:1:1"
    helper = f'{{{{- define "{name}" }}}}{{{{ include "missing" . }}}}{{{{ end -}}}}\n'
    chart(helper + f'{{{{- if .Values.affinity }}}}{{{{ include "{name}" . }}}}{{{{ end }}}}\n', "affinity: {}\n")
    assert [each.partition(":")[0] for each in found(checking) if "Helm cannot render" in each] == ["templates/web.yaml"]


def test_an_error_that_the_chart_words(checking: Checking) -> None:
    error = "YAML parse error on web/templates/web.yaml: error converting YAML to JSON: yaml: x"
    chart(f'{{{{ if .Values.affinity }}}}{{{{ fail "{error}" }}}}{{{{ end }}}}\n', "affinity: {}\n")
    assert found(checking) == []


def test_values_below_a_placement_value(checking: Checking) -> None:
    """The chart has a shape of its own."""
    chart(GOOD + "      hostname: {{ .Values.tolerations.nodeSelector | default `web` }}\n", "nodeSelector: {}\naffinity: {}\n")
    assert found(checking) == []


def test_two_values_that_exclude_each_other(checking: Checking) -> None:
    chart('{{- if and .Values.affinity .Values.nodeSelector }}{{ fail "choose one" }}{{ end }}\n' + GOOD)
    assert found(checking) == []


# Components.


def test_a_component_that_is_disabled(checking: Checking) -> None:
    selector = (
        "          {{- with .Values.web.nodeSelector }}\n          nodeSelector: {{- toYaml . | nindent 12 }}\n          {{- end }}\n"
    )
    template = "{{- if .Values.web.enabled }}\n" + HEAD + selector + "{{- end }}\n"
    chart("", "web:\n  enabled: false\n  nodeSelector: {}\n", {"templates/web.yaml": template})
    assert found(checking) == [
        set_value(FIRST + 2, "web.nodeSelector", "`nodeSelector` becomes an unknown field of the container").replace(
            " is set", " is set and `web.enabled` is `true`"
        )
    ]


def test_a_component_that_cannot_be_enabled(checking: Checking) -> None:
    """A component without placement values needs a host; the other one is enabled without it."""
    selector = (
        "          {{- with .Values.web.nodeSelector }}\n          nodeSelector: {{- toYaml . | nindent 12 }}\n          {{- end }}\n"
    )
    template = "{{- if .Values.web.enabled }}\n" + HEAD + selector + "{{- end }}\n"
    ingress = '{{- if .Values.ingress.enabled }}{{ fail "a host is required" }}{{- end }}\n'
    values = "web:\n  enabled: false\n  nodeSelector: {}\ningress: {enabled: false}\n"
    chart("", values, {"templates/web.yaml": template, "templates/ingress.yaml": ingress})
    assert [each.partition(" ")[0] for each in found(checking)] == [f"templates/web.yaml:{FIRST + 2}"]


def test_the_first_line_is_indented_twice(checking: Checking) -> None:
    """A map with one key would be valid."""
    template = "      {{- with .Values.nodeSelector }}\n      nodeSelector:\n      {{ toYaml . | indent 8 }}\n      {{- end }}\n"
    chart(template, "nodeSelector: {}\n")
    (messages,) = found(checking)
    assert messages.startswith(
        f"templates/web.yaml:{FIRST + 2} if `nodeSelector` has several entries, Helm cannot render the chart: it is invalid YAML ("
    )


def test_a_value_that_only_a_template_names(checking: Checking) -> None:
    chart(
        "          {{- with .Values.web.nodeSelector }}\n          nodeSelector: {{- toYaml . | nindent 12 }}\n          {{- end }}\n",
        "web: {}\n",
    )
    assert found(checking) == [set_value(FIRST + 1, "web.nodeSelector", "`nodeSelector` becomes an unknown field of the container")]


# No template reads it.


def test_a_value_that_no_template_reads(checking: Checking) -> None:
    chart(GOOD, VALUES + "web:\n  tolerations: []\n")
    assert found(checking) == ["values.yaml:5 no template of the chart reads `web.tolerations`: it has no effect"]


@pytest.mark.parametrize(
    "template",
    [
        "      {{- toYaml .Values.web | nindent 6 }}\n",
        "      {{- with .Values.web }}\n      tolerations: {{- toYaml .tolerations | nindent 8 }}\n      {{- end }}\n",
        '      {{- with index .Values "web" "tolerations" }}\n      tolerations: {{- toYaml . | nindent 8 }}\n      {{- end }}\n',
        '      {{- include "common.placement" . | nindent 6 }}\n',
        "      {{- if .Values.never }}\n      tolerations: {{- toYaml .Values.web.tolerations | nindent 8 }}\n      {{- end }}\n",
    ],
)
def test_a_value_that_a_template_may_read(checking: Checking, template: str) -> None:
    library = '{{- define "common.placement" }}\n{{- toYaml .Values.web }}\n{{- end }}\n'
    files = {"charts/common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n"}
    chart(template, "web: {tolerations: []}\n", {**files, "charts/common/templates/_all.tpl": library})
    assert [each for each in found(checking) if "no template" in each] == []


def test_an_alias_may_copy_the_value(checking: Checking) -> None:
    chart(
        GOOD,
        VALUES.replace("tolerations: []", "tolerations: *all").replace("nodeSelector", "web: {tolerations: &all []}\nnodeSelector"),
    )
    assert found(checking) == []


def test_a_suppression_in_the_values_file(checking: Checking) -> None:
    chart(GOOD, VALUES + "web:\n  tolerations: []  # afflint: ignore[unread-chart-value] -- for later\n")
    assert found(checking) == []


def test_nothing_is_written_into_the_chart(checking: Checking, project: Path) -> None:
    chart(IN_CONTAINER)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    found(checking)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_a_value_in_an_item_of_a_list(checking: Checking) -> None:
    ranged = "{{- range .Values.pools }}\n---\n" + HEAD.replace("name: web}\nspec", "name: '{{ .name }}'}\nspec")
    bad = "          {{- with .nodeSelector }}\n          nodeSelector: {{- toYaml . | nindent 12 }}\n          {{- end }}\n{{- end }}\n"
    values = "pools:\n- name: one\n  nodeSelector: {}\n"
    write({"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/values.yaml": values})
    write({"chart/templates/web.yaml": ranged + bad})
    assert found(checking) == [
        "templates/web.yaml:15 if `pools[0].nodeSelector` is set, `nodeSelector` becomes an unknown field of the container"
    ]


def test_a_component_of_the_tests_of_the_chart(checking: Checking) -> None:
    """The chart renders nothing without a key; the values of its tests have one."""
    template = f"{{{{- if .Values.key }}}}\n{HEAD}{IN_CONTAINER}{{{{- end }}}}\n"
    write({"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/values.yaml": VALUES + "key: ''\n"})
    write({"chart/templates/web.yaml": template, "chart/ci/test-values.yaml": "key: abc\n"})
    assert found(checking)[0] == (
        "templates/web.yaml:14 if `nodeSelector` is set and the values of `ci/test-values.yaml` are used, "
        "`nodeSelector` becomes an unknown field of the container"
    )


def test_a_component_for_each_item_of_an_empty_list(checking: Checking) -> None:
    template = f"{{{{- range .Values.tasks }}}}\n---\n{HEAD}{IN_CONTAINER.replace('.Values', '$.Values')}{{{{- end }}}}\n"
    write({"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/values.yaml": VALUES + "tasks: []\n"})
    write({"chart/templates/web.yaml": template})
    assert found(checking)[0] == (
        "templates/web.yaml:15 if `nodeSelector` is set and `tasks` has an item, `nodeSelector` becomes an unknown field of the container"
    )


def test_a_value_that_loses_all_its_fields(checking: Checking) -> None:
    """`fromJson` reads no lists: Helm puts an error in their place."""
    chart(GOOD.replace("tolerations: {{- toYaml . ", "tolerations: {{- . | toJson | fromJson | toYaml "))
    [only] = found(checking)
    assert only.endswith("if `tolerations` is set, the API server rejects this Deployment: `tolerations` must be a list")


TWICE = "this Deployment has `%s` twice: kustomize rejects it, kubectl and Helm use the last one"


def test_a_field_that_is_rendered_twice(checking: Checking) -> None:
    chart(GOOD + "      {{- with .Values.affinity }}\n      affinity: {{- toYaml . | nindent 8 }}\n      {{- end }}\n")
    assert found(checking) == [f"templates/web.yaml:22 if `affinity` is set, {TWICE % 'affinity'}"]
    assert checking.report()["findings"][0]["severity"] == "warning", "both have the same value"


# Several entries, and texts that YAML reads as other types.

UNKNOWN = "its content becomes an unknown field of the"
INVALID = "Helm cannot render the chart: it is invalid YAML ("


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("tolerations", "      tolerations:\n      {{ toYaml . | indent 6 }}\n"),
        ("topologySpreadConstraints", "      topologySpreadConstraints:\n      {{ toYaml . | indent 6 }}\n"),
        ("affinity", "      affinity:\n        {{ toYaml . | indent 8 }}\n"),
        ("nodeSelector", "      nodeSelector:\n        {{ toYaml . | indent 8 }}\n"),
    ],
)
def test_a_value_behind_the_indentation_of_the_template(checking: Checking, name: str, lines: str) -> None:
    """The first line is indented twice, which breaks only with more than one entry."""
    chart(
        f"      {{{{- with .Values.{name} }}}}\n{lines}      {{{{- end }}}}\n",
        f"{name}: {'{}' if name in ('affinity', 'nodeSelector') else '[]'}\n",
    )
    (message,) = found(checking)
    state = "is set" if name in ("tolerations", "topologySpreadConstraints") else "has several entries"
    assert f"if `{name}` {state}, Helm cannot render the chart: it is invalid YAML (" in message


@pytest.mark.parametrize(
    ("lines", "state", "words"),
    [
        ("      nodeSelector:\n      {{ toYaml . | indent 2 }}\n", "has several entries", f"{UNKNOWN} Deployment spec"),
        ("      nodeSelector:\n  {{ toYaml . | indent 6 }}\n", "has several entries", f"{UNKNOWN} pod spec"),
        ("      nodeSelector:\n{{ toYaml . | indent 6 }}\n", "is set", f"{UNKNOWN} pod spec"),
        ("      nodeSelector:\n        {{ toYaml . | indent 8 }}\n", "has several entries", INVALID),
        ("      nodeSelector:\n{{ toYaml . | indent 8 -}}\n      hostNetwork: true\n", "is set", INVALID),
        ("      nodeSelector:\n        {{- toYaml . | indent 8 }}\n", "is set", INVALID),
        ("      nodeSelector:\n        a: b\n        {{ toYaml . | indent 8 }}\n", "is set", INVALID),
        ("      nodeSelector: {{ toYaml . }}\n", "is set", INVALID),
    ],
)  # fmt: skip
def test_whether_a_single_entry_is_rendered_wrongly(checking: Checking, lines: str, state: str, words: str) -> None:
    chart(f"      {{{{- with .Values.nodeSelector }}}}\n{lines}      {{{{- end }}}}\n", "nodeSelector: {}\n")
    (message,) = found(checking)
    assert f"if `nodeSelector` {state}, {words}" in message


def test_values_without_quotes(checking: Checking) -> None:
    template = (
        "      nodeSelector:\n        {{- range $key, $value := .Values.nodeSelector }}\n        {{ $key }}: VALUE\n        {{- end }}\n"
    )
    chart(template.replace("VALUE", "{{ $value }}"), "nodeSelector: {}\n")
    words = "the API server rejects this Deployment: a value of `nodeSelector` has no quotes, so `true` is not a string"
    assert found(checking) == [set_value(FIRST + 2, "nodeSelector", words)]
    chart(template.replace("VALUE", "{{ $value | quote }}"), "nodeSelector: {}\n")
    assert found(checking) == []


def test_a_toleration_without_quotes(checking: Checking) -> None:
    item = "      - key: {{ .key }}\n        operator: {{ .operator }}\n        value: {{ .value }}\n"
    chart(f"      tolerations:\n      {{{{- range .Values.tolerations }}}}\n{item}      {{{{- end }}}}\n", "tolerations: []\n")
    assert found(checking) == [set_value(FIRST + 4, "tolerations", "the API server rejects this Deployment: `value` must be a string")]


# As Go prints a value.


def test_a_value_as_go_prints_it(checking: Checking) -> None:
    args = '          args: ["-node-selector={{ .Values.nodeSelector }}", "-tolerations={{ .Values.tolerations }}"]\n'
    chart(args, "nodeSelector: {}\ntolerations: []\n")
    assert found(checking)[0] == set_value(FIRST, "nodeSelector", "it is printed as `map[…]` in `spec.template.spec.containers[0].args[0]`")
    chart(args.replace("}}", '| toJson | quote | trimAll `"` }}'), "nodeSelector: {}\ntolerations: []\n")
    assert found(checking) == []


def test_a_value_as_go_prints_it_in_a_config_map(checking: Checking) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  config: |\n    affinity: {{ .Values.affinity }}\n"
    chart(GOOD, more={"templates/config.yaml": config})
    assert found(checking) == ["templates/config.yaml:5 if `affinity` is set, it is printed as `map[…]` in `data.config`"]


def test_an_annotation_that_shows_whether_a_value_has_changed(checking: Checking) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  annotations: {values: '{{ .Values.affinity }}'}\n"
    chart(GOOD, more={"templates/config.yaml": config})
    assert found(checking) == []


def test_a_text_that_the_chart_prints(checking: Checking) -> None:
    chart('          args: ["-node-selector={{ .Values.nodeSelector }}"]\n', "nodeSelector:  # such as disk=ssd\n")
    assert found(checking) == []


def test_a_text_that_the_chart_documents_as_yaml(checking: Checking) -> None:
    values = "# Labels of nodes:\n#\n# nodeSelector: |\n#   disk: ssd\nnodeSelector: null\n"
    chart("            args:\n            - -node-selector={{ .Values.nodeSelector }}\n".replace("    ", "  ", 1), values)
    (message,) = found(checking)
    assert message == set_value(FIRST + 1, "nodeSelector", "its content becomes an unknown field of the Deployment")
    chart(
        "      {{- if .Values.nodeSelector }}\n      nodeSelector:\n        {{- .Values.nodeSelector | nindent 8 }}\n      {{- end }}\n",
        values,
    )
    assert found(checking) == []


# Labels and annotations of pods.

LABELLED = HEAD.replace("metadata: {labels: {app: web}}", "metadata:\n      labels:\n        app: web\nLABELS")
PRINTED = "        {{- with .Values.podLabels }}\n        {{- toYaml . | nindent 8 }}\n        {{- end }}\n"


def labelled(lines: str, values: str = "podLabels: {}\n") -> None:
    chart("", values, {"templates/web.yaml": LABELLED.replace("LABELS\n", lines)})


def test_labels_that_reach_the_pods(checking: Checking) -> None:
    labelled(PRINTED)
    assert found(checking) == []


@pytest.mark.parametrize(
    ("indentation", "words"),
    [
        (12, "Helm cannot render the chart: it is invalid YAML (mapping values are not allowed in this context)"),
        (6, "its content becomes an unknown field of the metadata"),
    ],
)
def test_labels_at_another_indentation(checking: Checking, indentation: int, words: str) -> None:
    labelled(PRINTED.replace("nindent 8", f"nindent {indentation}"))
    assert [each.partition(" ")[2] for each in found(checking)] == [f"if `podLabels` is set, {words}"]


@pytest.mark.parametrize("name", ["statefulSetPodLabels", "web.podLabels"])
def test_labels_whose_name_ends_with_that_of_the_labels_of_pods(checking: Checking, name: str) -> None:
    values = "statefulSetPodLabels: {}\nweb: {podLabels: {}}\n"
    labelled(PRINTED.replace("podLabels", name).replace("{{- toYaml . | n", "{{ toYaml . | "), values)
    messages = [each for each in found(checking) if "Helm cannot render the chart" in each]
    assert [each.partition(" is set")[0] for each in messages] == [f"templates/web.yaml:11 if `{name}`"]


def test_annotations_behind_the_indentation_of_the_template(checking: Checking) -> None:
    labelled("      annotations:\n        {{ toYaml .Values.podAnnotations | indent 8 }}\n", "podAnnotations: {}\n")
    assert [each.partition(" (")[0] for each in found(checking)] == [
        "templates/web.yaml:11 if `podAnnotations` has several entries, Helm cannot render the chart: it is invalid YAML"
    ]


BESIDE_PODS = (
    "metadata:\n  name: web\n  FIELD:\n    app: web\n    {{- with .Values.NAME }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}"
)


@pytest.mark.parametrize(("name", "field"), [("podLabels", "labels"), ("webPodAnnotations", "annotations")])
def test_labels_of_pods_that_only_the_workload_has(checking: Checking, name: str, field: str) -> None:
    head = HEAD.replace("metadata: {name: web}", BESIDE_PODS.replace("FIELD", field).replace("NAME", name), 1)
    chart("", f"{name}: {{}}\n", {"templates/web.yaml": head})
    assert found(checking) == [f"templates/web.yaml:8 if `{name}` is set, the Deployment gets these {field}, but its pods do not"]


def test_labels_of_pods_of_a_pod(checking: Checking) -> None:
    pod = "apiVersion: v1\nkind: Pod\n" + BESIDE_PODS.replace("FIELD", "labels").replace("NAME", "test.podLabels")
    chart(
        GOOD, f"{VALUES}test: {{podLabels: {{}}}}\n", {"templates/pod.yaml": f"{pod}\nspec: {{containers: [{{name: web, image: web}}]}}\n"}
    )
    assert found(checking) == []


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(
            "      {{- if .Values.other }}\n      labels: {{- toYaml .Values.podLabels | nindent 8 }}\n      {{- end }}\n", id="in a branch"
        ),
        pytest.param("      annotations: {pods: '{{ .Values.podLabels | toJson }}'}\n", id="as text"),
    ],
)
def test_labels_of_pods_that_may_be_elsewhere(checking: Checking, more: str) -> None:
    """The pods may have them, or what creates the pods reads them."""
    head = HEAD.replace("metadata: {name: web}", BESIDE_PODS.replace("FIELD", "labels").replace("NAME", "podLabels"), 1)
    head = head.replace("    metadata: {labels: {app: web}}\n", f"    metadata:\n{more}")
    chart("", "podLabels: {}\n", {"templates/web.yaml": head})
    assert not [each for each in found(checking) if "but its pods do not" in each]


def test_a_disruption_budget_with_two_fields(checking: Checking) -> None:
    """Behind the spaces of the template, a single one would be right."""
    budget = """\
{{- if .Values.podDisruptionBudget }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  {{ toYaml .Values.podDisruptionBudget }}
  selector: {matchLabels: {app: web}}
{{- end }}
"""
    chart(GOOD, f"{VALUES}podDisruptionBudget: {{}}\n", {"templates/budget.yaml": budget})
    (message,) = found(checking)
    assert message.startswith("templates/budget.yaml:6 if `podDisruptionBudget` has several entries, Helm cannot render the chart: ")
    write(
        {
            "chart/templates/budget.yaml": budget.replace(
                "  {{ toYaml .Values.podDisruptionBudget }}", "  {{- toYaml .Values.podDisruptionBudget | nindent 2 }}"
            )
        }
    )
    assert found(checking) == []


def test_labels_without_quotes(checking: Checking) -> None:
    labelled(
        "        {{- range $key, $value := .Values.labels }}\n        {{ $key }}: {{ $value | toString }}\n        {{- end }}\n",
        "image: web:1\nlabels: {}\n",
    )
    words = "the API server rejects this Deployment: a value of `labels` has no quotes, so `true` is not a string"
    assert found(checking) == [f"templates/web.yaml:11 if `labels` is set, {words}"]


def test_annotations_that_are_rendered_twice(checking: Checking) -> None:
    first = "      {{- with .Values.podAnnotations }}\n      annotations: {{- toYaml . | nindent 8 }}\n      {{- end }}\n"
    labelled(first + "      annotations: {a: b}\n", "podAnnotations: {}\n")
    (message,) = found(checking)
    assert message.endswith(f"if `podAnnotations` is set, {TWICE % 'annotations'}")
    assert checking.report()["findings"][0]["severity"] == "error"


def test_labels_of_other_objects(checking: Checking) -> None:
    """Only the labels of pods decide where pods run."""
    service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
    service += "  {{- with .Values.service.labels }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\n"
    chart(GOOD, f"{VALUES}service: {{image: a, labels: {{}}}}\n", {"templates/service.yaml": service})
    assert found(checking) == []


def test_labels_that_no_template_reads(checking: Checking) -> None:
    chart(GOOD, f"{VALUES}podLabels: {{}}\n")
    assert found(checking) == ["values.yaml:4 no template of the chart reads `podLabels`: it has no effect"]


def test_a_value_that_the_chart_rejects_by_its_name(checking: Checking) -> None:
    """The others are rendered without it, at once."""
    chart(
        '{{- if .Values.affinity }}{{ fail "`affinity` is deprecated" }}{{ end }}\n'
        + GOOD.replace("toYaml . | nindent 8", "toYaml $.Values | nindent 8", 1)
    )
    (message,) = found(checking)
    assert "if `nodeSelector` is set" in message


# Switches of any name, and values that only templates name.


def guarded(condition: str, values: str, lines: str = IN_CONTAINER) -> None:
    """A chart whose only workload is rendered under a condition."""
    template = f"{{{{- if {condition} }}}}\n{HEAD}{lines}{{{{- end }}}}\n"
    chart("", "nodeSelector: {}\n" + values, {"templates/web.yaml": template})


@pytest.mark.parametrize(
    ("condition", "values", "words"),
    [
        (".Values.components.web", "components: {web: false}\n", "`components.web` is `true`"),
        ("not .Values.stateful", "stateful: true\n", "`stateful` is `false`"),
        ("and .Values.a (not .Values.b)", "a: false\nb: true\n", "`a` is `true` and `b` is `false`"),
        ("or .Values.a .Values.b", "a: false\nb: false\n", "`a` is `true`"),
        ('eq .Values.mode "deployment"', "mode: daemonset\n", "`mode` is `deployment`"),
        (".Values.web.replicas", "web: {replicas: 0}\n", "`web.replicas` is `1`"),
    ],
)
def test_a_switch_of_any_name(checking: Checking, condition: str, values: str, words: str) -> None:
    guarded(condition, values)
    expected = f"if `nodeSelector` is set and {words}, `nodeSelector` becomes an unknown field of the container"
    assert [each.partition(" ")[2] for each in found(checking)][:1] == [expected]


def test_a_switch_that_is_not_understood(checking: Checking) -> None:
    """The literal text is checked."""
    guarded('has .Values.mode (list "deployment" "other")', "mode: daemonset\n")
    (message,) = found(checking)
    assert message.endswith("are not fields of the container; they belong in spec.template.spec")


def test_only_the_switches_of_the_workload_with_the_mistake_are_named(checking: Checking) -> None:
    def workload(name: str, lines: str) -> str:
        head = deployment("containers:", "  - name: web", "    image: web:1", name=name)
        return f"{{{{- if .Values.{name}.on }}}}\n{head}{lines}{{{{- end }}}}\n"

    names = {"one": GOOD, "two": IN_CONTAINER, "three": GOOD}
    more = {f"templates/{name}.yaml": workload(name, lines) for name, lines in names.items()}
    chart(GOOD, VALUES + "".join(f"{name}: {{on: false}}\n" for name in names), more)
    assert found(checking)[0] == (
        f"templates/two.yaml:{FIRST + 2} if `nodeSelector` is set and `two.on` is `true`, "
        "`nodeSelector` becomes an unknown field of the container"
    )


def test_a_switch_in_the_pod_spec(checking: Checking) -> None:
    """The workload is rendered by default, but the value is behind another switch."""
    lines = "      {{- if .Values.dedicated }}\n      nodeSelector:\n      {{ toYaml .Values.nodeSelector | indent 8 }}\n      {{- end }}\n"
    chart(lines, "dedicated: false\nnodeSelector: {}\n")
    (message,) = found(checking)
    assert "if `nodeSelector` has several entries and `dedicated` is `true`, Helm cannot render the chart: it is invalid YAML (" in message


def test_two_switches_that_exclude_each_other(checking: Checking) -> None:
    """Each workload is rendered in one of two renderings."""
    one = "          {{- with .Values.nodeSelector }}\n          nodeSelector: {{- toYaml . | nindent 12 }}\n          {{- end }}\n"
    other = f"{{{{- if eq .Values.mode `b` }}}}\n{HEAD}{one.replace('nodeSelector', 'affinity')}{{{{- end }}}}\n"
    first = f"{{{{- if eq .Values.mode `a` }}}}\n{HEAD}{one}{{{{- end }}}}\n"
    chart("", VALUES + "mode: c\n", {"templates/web.yaml": first, "templates/other.yaml": other})
    messages = found(checking)
    assert any(each.startswith("templates/web.yaml:14 if `nodeSelector` is set and `mode` is `a`") for each in messages)
    assert any(each.startswith("templates/other.yaml:14 if `affinity` is set and `mode` is `b`") for each in messages)


def test_a_value_that_is_read_if_another_is_not_set(checking: Checking) -> None:
    """Both are never set together."""
    template = """\
      {{- if .Values.web.tolerations }}
      tolerations:
        {{- toYaml .Values.web.tolerations | nindent 8 }}
      {{- else if .Values.tolerations }}
        {{- toYaml .Values.tolerations }}
      {{- end }}
"""
    chart(template, "tolerations: []\nweb: {tolerations: []}\n")
    (message,) = found(checking)
    assert message.startswith(set_value(FIRST + 4, "tolerations", "Helm cannot render the chart: it is invalid YAML ("))


def test_a_chain_of_values_that_replace_each_other(checking: Checking) -> None:
    line = "      {{- else if .Values.NAME.nodeSelector }}\n      nodes: {{ toJson .Values.NAME.nodeSelector }}\n"
    lines = "".join(line.replace("NAME", name) for name in "abc").replace("else if", "if", 1)
    chart(f"{lines}      {{{{- end }}}}\n", "".join(f"{name}: {{nodeSelector: {{}}}}\n" for name in "abc"))
    assert [each.partition(",")[0] for each in found(checking)] == [
        f"templates/web.yaml:{FIRST + 2 * number + 1} if `{name}.nodeSelector` is set" for number, name in enumerate("abc")
    ]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The values of the runs of Helm that set some."""
    found: list[object] = []
    render = ChartTrials.rendered
    monkeypatch.setattr(ChartTrials, "rendered", lambda self, values: (found.extend([values] if values else ()), render(self, values))[1])
    return found


@pytest.mark.parametrize(
    ("refusal", "count"),
    [
        ("{{ fail `set an address` }}", 2),
        ("{{ .Values.web.address.host }}", 2),
        ("{{ include `absent` . }}", 3),
        # It may be about the value that is set.
        ("{{ if .Values.nodeSelector }}{{ fail `no nodeSelector` }}{{ end }}", 3),
    ],
)
def test_a_chart_that_refuses_a_switch_is_not_rendered_with_the_switch_alone(
    checking: Checking, runs: list[object], refusal: str, count: int
) -> None:
    template = f"{{{{ if .Values.web.enabled }}}}\n{HEAD}{GOOD}{refusal}\n{{{{ end }}}}\n"
    chart("", f"{VALUES}web: {{enabled: false}}\n", {"templates/web.yaml": template})
    assert found(checking) == []
    assert len(runs) == count


def test_a_value_that_replaces_another_on_one_line_needs_no_run_of_its_own(checking: Checking, runs: list[object]) -> None:
    chart(
        "      nodeSelector: {{- toYaml (.Values.web.nodeSelector | default .Values.nodeSelector) | nindent 8 }}\n",
        "nodeSelector: {}\nweb: {nodeSelector: {}}\n",
    )
    assert found(checking) == []
    assert len(runs) == 1


@pytest.mark.parametrize(
    "read",
    [
        "{{- with ((.Values.web).deployment).nodeSelector }}",
        "{{- with .Values.web }}{{- with .deployment.nodeSelector }}",
        "{{- with (include `web.values` . | fromYaml).nodeSelector }}",
    ],
)
def test_a_value_that_only_templates_read(checking: Checking, read: str) -> None:
    ends = "      {{- end }}\n" * (2 if "}}{{" in read else 1)
    chart(f"      {read}\n      nodeSelector:\n      {{{{ toYaml . | indent 8 }}}}\n{ends}", "web: {deployment: {}}\n")
    write({"chart/templates/_helpers.tpl": "{{- define `web.values` }}{{ toYaml .Values.web.deployment }}{{ end }}\n"})
    (message,) = found(checking)
    assert "if `web.deployment.nodeSelector` has several entries, Helm cannot render the chart: it is invalid YAML (" in message


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ("pools: [{name: one}]\n", "pools[0].nodeSelector"),
        ("pools:\n  small: {name: one}\n  # nodeSelector: {}\n", "pools.small.nodeSelector"),
    ],
)
def test_a_value_that_only_a_loop_reads(checking: Checking, values: str, name: str) -> None:
    """It is set in the first item."""
    ranged = "{{- range .Values.pools }}\n---\n" + HEAD.replace("name: web}\nspec", "name: '{{ .name }}'}\nspec")
    lines = "      {{- with .nodeSelector }}\n      nodeSelector:\n      {{ toYaml . | indent 8 }}\n      {{- end }}\n{{- end }}\n"
    chart("", values, {"templates/web.yaml": ranged + lines})
    (message,) = found(checking)
    state = "is set" if name in ("tolerations", "topologySpreadConstraints") else "has several entries"
    assert f"if `{name}` {state}, Helm cannot render the chart: it is invalid YAML (" in message


def test_a_chart_that_asks_for_a_kind_gets_the_answer_of_a_cluster(checking: Checking) -> None:
    template = """\
{{- if .Capabilities.APIVersions.Has "batch/v1/CronJob" }}
apiVersion: batch/v1
{{- else }}
apiVersion: batch/v1beta1
{{- end }}
kind: CronJob
metadata: {name: web}
spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}}}
"""
    write({"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": "{}\n", "templates/web.yaml": template})
    assert checking.report()["findings"] == []


def test_a_chart_at_the_top_of_a_worktree_is_rendered(checking: Checking) -> None:
    """There `.git` is a file."""
    write({".git": "gitdir: /nowhere\n", "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/web.yaml": "{}\n"})
    assert checking.report()["summary"]["rendered"]["failed"] == []
