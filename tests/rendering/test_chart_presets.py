"""Presets of charts: afflint sets a value such as `podAntiAffinity` to each word that the templates know, and checks what comes of it."""

import io
import tarfile
from pathlib import Path

import pytest

from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("helm_tool")

VALUES = """\
podAntiAffinity: ""
"""
WEB = deployment("containers:", "  - name: web", "    image: web:1", replicas=2)
PRESET = """\
      affinity:
        {{- if eq .Values.podAntiAffinity "hard" }}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: HARD}
        {{- else if eq .Values.podAntiAffinity "soft" }}
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 1
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: SOFT}
        {{- end }}
"""
FIRST = WEB.count("\n") + 1
"""The line of the template after the container."""


def chart(template: str, values: str = VALUES, more: dict[str, str] | None = None, dependencies: str = "") -> None:
    head = f"apiVersion: v2\nname: web\nversion: 1.0.0\n{dependencies}"
    files = {"Chart.yaml": head, "values.yaml": values, "templates/web.yaml": WEB + template}
    write({f"chart/{name}": text for name, text in (files | (more or {})).items()})


OWN, OTHER = "{app: web}", "{app.kubernetes.io/name: web}"


def preset(hard: str = OWN, soft: str = OWN) -> str:
    return PRESET.replace("HARD", hard).replace("SOFT", soft)


def found(checking: Checking) -> list[str]:
    """`file:line:column rule: condition` of each finding in the chart."""
    return [
        f"{each['file'].removeprefix('chart/')}:{each['line']}:{each['column']} {each['rule']}: {each['message'].partition(', ')[0]}"
        for each in checking.report("chart")["findings"]
    ]


def misses(line: int, column: int, condition: str, file: str = "templates/web.yaml") -> str:
    return f"{file}:{line}:{column} anti-affinity-misses-itself: if {condition}"


def test_presets_that_select_their_own_pods(checking: Checking) -> None:
    chart(preset())
    assert found(checking) == []


def test_a_word_whose_constraint_selects_other_pods(checking: Checking) -> None:
    chart(preset(hard=OTHER))
    assert found(checking) == [misses(FIRST + 5, 15, "`podAntiAffinity` is `hard`")]


def test_each_word_at_its_own_line(checking: Checking) -> None:
    chart(preset(hard=OTHER, soft=OTHER))
    assert found(checking) == [
        misses(FIRST + 5, 15, "`podAntiAffinity` is `hard`"),
        misses(FIRST + 12, 17, "`podAntiAffinity` is `soft`"),
    ]


def test_the_default_word_is_not_a_condition(checking: Checking) -> None:
    chart(preset(soft=OTHER), "podAntiAffinity: soft\n")
    [finding] = found(checking)
    assert finding.startswith(f"templates/web.yaml:{FIRST + 12}:17 anti-affinity-misses-itself: this preferred podAntiAffinity")


def test_a_mistake_of_the_default_is_reported_once(checking: Checking) -> None:
    """The other word shares the line with the mistake."""
    template = """\
      affinity:
        {{- if or (eq .Values.podAntiAffinity "hard") (eq .Values.podAntiAffinity "soft") }}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app.kubernetes.io/name: web}}
        {{- end }}
"""
    chart(template, "podAntiAffinity: soft\n")
    assert len(found(checking)) == 1
    assert "podAntiAffinity` is" not in found(checking)[0]


def test_an_invalid_value_behind_a_switch(checking: Checking) -> None:
    template = """\
      {{- if .Values.spread.enabled }}
      topologySpreadConstraints:
        - maxSkew: 0
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      {{- end }}
"""
    chart(template, "spread: {enabled: false}\n")
    [finding] = found(checking)
    assert finding.startswith(f"templates/web.yaml:{FIRST + 2}:")
    assert finding.endswith("if `spread.enabled` is `true`")


def test_a_component_that_is_disabled(checking: Checking) -> None:
    text = (WEB + preset(hard=OTHER)).replace(".Values.pod", ".Values.server.pod").replace("web", "server")
    server = f"{{{{- if .Values.server.enabled }}}}\n{text}{{{{- end }}}}\n"
    chart("", 'server: {enabled: false, podAntiAffinity: ""}\n', {"templates/server.yaml": server})
    condition = "`server.enabled` is `true` and `server.podAntiAffinity` is `hard`"
    assert found(checking) == [misses(FIRST + 6, 15, condition, "templates/server.yaml")]


def test_a_component_that_needs_further_values(checking: Checking) -> None:
    """It cannot be rendered, which says nothing about the preset of another."""
    broken = """\
{{- if .Values.server.enabled }}
{{ required "server.url" .Values.server.url }}
{{- if eq .Values.server.podAntiAffinity "hard" }}
affinity: {}
{{- end }}
{{- end }}
"""
    values = f'{VALUES}server: {{enabled: false, url: "", podAntiAffinity: ""}}\n'
    chart(preset(hard=OTHER), values, {"templates/server.yaml": broken})
    assert found(checking) == [misses(FIRST + 5, 15, "`podAntiAffinity` is `hard`")]


def test_a_value_that_is_read_through_a_variable(checking: Checking) -> None:
    template = "      {{- $preset := .Values.affinity }}\n" + preset(hard=OTHER).replace(".Values.pod", "$preset.pod")
    chart(template, "affinity: {podAntiAffinity: soft}\n")
    assert found(checking) == [misses(FIRST + 6, 15, "`affinity.podAntiAffinity` is `hard`")]


def test_a_type_without_the_values_that_belong_to_it(checking: Checking) -> None:
    """A user who sets the type sets the key as well."""
    template = """\
      {{- if eq .Values.nodeAffinityPreset.type "hard" }}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions: [{key: "{{ .Values.nodeAffinityPreset.key }}", operator: Exists}]
      {{- end }}
"""
    chart(template, 'nodeAffinityPreset: {type: "", key: ""}\n')
    assert found(checking) == []


def test_a_comparison_without_constraints(checking: Checking) -> None:
    template = '      {{- if eq .Values.sessionAffinity "ClientIP" }}\n      hostNetwork: maybe\n      {{- end }}\n'
    chart(template, 'sessionAffinity: ""\n')
    assert found(checking) == []


def test_a_preset_with_which_the_chart_cannot_be_rendered(checking: Checking) -> None:
    template = preset(soft=OTHER).replace("topologyKey: kubernetes.io/hostname", 'topologyKey: {{ required "key" .Values.key }}', 1)
    chart(template)
    assert found(checking) == [misses(FIRST + 12, 17, "`podAntiAffinity` is `soft`")]


LIBRARY = """\
{{- define "library.affinity" -}}
{{- if eq .type "hard" }}
requiredDuringSchedulingIgnoredDuringExecution:
  - labelSelector: {matchLabels: {app.kubernetes.io/name: {{ .name }}}}
    topologyKey: kubernetes.io/hostname
{{- end }}
{{- end -}}
"""
OF_LIBRARY = "dependencies:\n  - {name: library, version: 1.0.0}\n"
LIBRARY_CHART = "apiVersion: v2\nname: library\nversion: 1.0.0\ntype: library\n"
INCLUDES = """\
      affinity:
        podAntiAffinity: {{- include "library.affinity" (dict "type" .Values.podAntiAffinity "name" "web") | nindent 10 }}
"""


def test_a_word_that_only_a_library_beside_the_chart_knows(checking: Checking) -> None:
    """The line to edit is that of the chart, which passes a wrong label."""
    chart(INCLUDES, dependencies=OF_LIBRARY)
    write({"library/Chart.yaml": LIBRARY_CHART, "library/templates/_affinity.tpl": LIBRARY})
    report = checking.report(".")["findings"]
    assert [(each["file"], each["line"]) for each in report] == [("chart/templates/web.yaml", FIRST + 1)]


def test_a_word_that_only_a_packed_library_knows(checking: Checking, project: Path) -> None:
    chart(INCLUDES, dependencies=OF_LIBRARY)
    pack(project / "chart/charts/library-1.0.0.tgz", {"library/Chart.yaml": LIBRARY_CHART, "library/templates/_affinity.tpl": LIBRARY})
    assert found(checking) == [misses(FIRST + 1, 9, "`podAntiAffinity` is `hard`")]


def pack(file: Path, texts: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def test_a_chart_that_renders_workloads_only_with_the_values_of_its_tests(checking: Checking) -> None:
    template = "{{- if .Values.key }}\n" + WEB.replace("labels: {app: web}", "labels: {app: other}") + "{{- end }}\n"
    files = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": "key: ''\n", "ci/test-values.yaml": "key: abc\n"}
    write({f"chart/{name}": text for name, text in ({"templates/web.yaml": template} | files).items()})
    [finding] = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["rule"]) == ("chart/templates/web.yaml", 7, "selector-template-mismatch")
    assert finding["message"].startswith("with the values of `ci/test-values.yaml`, the selector does not match the pod template")
