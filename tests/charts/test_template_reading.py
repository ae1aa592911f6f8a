"""What the templates of a chart do with each value, as their text says: the field of an object that it becomes, and when."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from afflint.charts import chart_files
from afflint.charts.chart_files import files_of_chart, merged_values, parts_of_chart
from afflint.charts.chart_table import ChartTable
from afflint.charts.symbols import FALSE, holds
from afflint.findings.paths import Path as ValuePath
from afflint.report.chart_listing import chart_listing
from rendering.rendered_trees import write

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
SELECTOR = ("spec", "nodeSelector")


def table(folder: Path, files: Mapping[str, str], chart: str = "") -> ChartTable:
    """The table of a chart with these files."""
    write({"Chart.yaml": f"apiVersion: v2\nname: web\nversion: 1.0.0\n{chart}", **files}, folder)
    return ChartTable(parts_of_chart(files_of_chart(str(folder))))


def of_template(folder: Path, template: str, helpers: str = "") -> ChartTable:
    """The table of a chart with one template of a Pod, whose spec is given."""
    return table(folder, {"templates/web.yaml": POD + template, "templates/_helpers.tpl": helpers})


def fields(read: ChartTable, *path: str) -> list[ValuePath]:
    """The fields that a value becomes."""
    return sorted({field for _, field in read.at(path)})


TRUE_BRANCHES = {
    "a variable that a loop may change": "{{- $x := 1 }}{{- range .Values.l }}{{- $x = 0 }}{{- end }}{{- if not $x }}",
    "a variable that a loop changes after a break": (
        '{{- $x := "" }}{{- range list 1 2 }}{{- if eq . 1 }}{{- break }}{{- end }}{{- $x = "z" }}{{- end }}{{- if not $x }}'
    ),
    "a key of a map with keys that are not known": (
        "{{- $d := dict }}{{- range $k, $v := .Values.l }}{{- $_ := set $d $k $v }}{{- end }}{{- if $d.q }}"
    ),
    "a key that is set in a branch": ('{{- $s := dict }}{{- if .Values.b }}{{- $_ := set $s "skip" true }}{{- end }}{{- if not $s.skip }}'),
    "a map with such a key": '{{- $s := dict }}{{- if .Values.b }}{{- $_ := set $s "x" 1 }}{{- end }}{{- if $s }}{{- else }}',
    "a map without its only key": '{{- $s := dict "a" 1 }}{{- $_ := unset $s "a" }}{{- if $s }}{{- else }}',
    "a key that was removed": '{{- $s := dict "on" 1 }}{{- $_ := unset $s "on" }}{{- if not (hasKey $s "on") }}',
    "a key that is not picked": '{{- $m := pick (dict "a" 1) "b" }}{{- if $m }}{{- else }}',
    "a key that the turn before has set": (
        "{{- $s := dict }}{{- range $x := .Values.l }}{{- if $s.on }}\n  nodeSelector: {{- toYaml $.Values.a | nindent 4 }}\n{{- end }}"
        '{{- $_ := set $s "on" 1 }}{{- end }}{{- if .Values.b }}'
    ),
    "two items of a list": "{{- range $x := .Values.l }}{{- range $y := $.Values.l }}{{- if and $x.main (not $y.main) }}",
    "a text without its blanks": '{{- $x := include "empty" . | trim }}{{- if $x }}{{- else }}',
    "a text of an empty value": '{{- $x := printf "%s" .Values.b }}{{- if $x }}{{- else }}',
    "the word of a value": "{{- $x := .Values.b | toString }}{{- if and $x (not .Values.b) }}",
    "the chart's own fields": "{{- if .Chart.Maintainers }}",
}


RENDER = '{{- define "render" }}{{- if .scope }}{{ tpl (cat "{{" (toYaml .scope)) .context }}{{- end }}{{- end }}'
"""Like a helper of Bitnami's library: most charts never give it a scope."""


def test_a_branch_for_a_key_that_a_helper_never_gets_reads_nothing(tmp_path: Path) -> None:
    read = of_template(tmp_path, '{{- include "render" (dict "context" $) }}\n', RENDER)
    assert read.reads.opened is None
    assert not read.reads_at(("a",))


@pytest.mark.parametrize(
    "text",
    [
        '{{- include "render" (dict "context" $ "scope" .Values.a) }}',
        '{{- $d := dict "context" $ }}{{- $_ := set $d "scope" .Values.a }}{{- include "render" $d }}',
        '{{- include "render" (merge (dict "context" $) .Values.b) }}',
    ],
)
def test_a_branch_for_a_key_that_a_helper_may_get_is_read(tmp_path: Path, text: str) -> None:
    assert of_template(tmp_path, f"{text}\n", RENDER).reads.opened is not None


@pytest.mark.parametrize("text", TRUE_BRANCHES.values(), ids=TRUE_BRANCHES)
def test_a_branch_that_may_run_reads_values(tmp_path: Path, text: str) -> None:
    ends = "{{- end }}" * (3 if text.count("range $") == 2 and "$k" not in text else 1)
    template = f"{text}\n  nodeSelector: {{{{- toYaml $.Values.a | nindent 4 }}}}\n{ends}\n"
    read = of_template(tmp_path, template, '{{- define "empty" }}\n{{- if .Values.b }} x {{- end }} {{ end }}')
    assert all(landing.condition != FALSE for landing, _ in read.at(("a",)))
    assert read.reads_at(("a",))


def test_a_template_that_replaces_a_value_says_nothing_about_others(tmp_path: Path) -> None:
    replaced = '{{- $_ := set .Values.x "a" .Values.b }}\n'
    read = of_template(tmp_path, replaced + "  nodeSelector: {{- toYaml .Values.x.a | nindent 4 }}\n")
    paths = ("x", "a"), ("b",), ("c",)
    assert [read.is_known(path) for path in paths] == [False, True, True]
    assert [read.reads_at(path) for path in paths] == [True, True, False]


REACHING = {
    "toYaml": "  nodeSelector:\n    {{- toYaml .Values.a.nodeSelector | nindent 4 }}\n",
    "on the line of the key": "  nodeSelector: {{ .Values.a.nodeSelector | toYaml | nindent 4 }}\n",
    "indent": "  nodeSelector:\n{{ toYaml .Values.a.nodeSelector | indent 4 }}\n",
    "with": "  {{- with .Values.a.nodeSelector }}\n  nodeSelector: {{- toYaml . | nindent 4 }}\n  {{- end }}\n",
    "with a map around it": "  {{- with .Values.a }}\n  nodeSelector: {{- toYaml .nodeSelector | nindent 4 }}\n  {{- end }}\n",
    "the root in with": "  {{- with .Values.b }}\n  nodeSelector: {{- toYaml $.Values.a.nodeSelector | nindent 4 }}\n  {{- end }}\n",
    "a variable": "  {{- $a := .Values.a }}\n  nodeSelector: {{- toYaml $a.nodeSelector | nindent 4 }}\n",
    "a variable with a condition": (
        "  {{- $s := .Values.b }}\n  {{- if .Values.c }}{{- $s = .Values.a.nodeSelector }}{{- end }}\n"
        "  nodeSelector: {{- toYaml $s | nindent 4 }}\n"
    ),
    "index": '  nodeSelector: {{- toYaml (index .Values "a" "nodeSelector") | nindent 4 }}\n',
    "get": '  nodeSelector: {{- toYaml (get .Values.a "nodeSelector") | nindent 4 }}\n',
    "dig": '  nodeSelector: {{- toYaml (dig "a" "nodeSelector" dict .Values.AsMap) | nindent 4 }}\n',
    "default": "  nodeSelector: {{- toYaml (default .Values.b .Values.a.nodeSelector) | nindent 4 }}\n",
    "coalesce": "  nodeSelector: {{- toYaml (coalesce .Values.b .Values.a.nodeSelector) | nindent 4 }}\n",
    "ternary": "  nodeSelector: {{- toYaml (ternary .Values.a.nodeSelector .Values.b .Values.c) | nindent 4 }}\n",
    "or": "  nodeSelector: {{- or .Values.b .Values.a.nodeSelector | toYaml | nindent 4 }}\n",
    "mergeOverwrite": "  nodeSelector: {{- mergeOverwrite (dict) .Values.b .Values.a.nodeSelector | toYaml | nindent 4 }}\n",
    "tpl": "  nodeSelector: {{- tpl (toYaml .Values.a.nodeSelector) . | nindent 4 }}\n",
    "fromYaml": "  nodeSelector: {{- toYaml .Values.a.nodeSelector | fromYaml | toYaml | nindent 4 }}\n",
    "toJson": "  nodeSelector: {{ toJson .Values.a.nodeSelector }}\n",
    "range over a map": (
        "  nodeSelector:\n    {{- range $key, $value := .Values.a.nodeSelector }}\n    {{ $key }}: {{ $value | quote }}\n    {{- end }}\n"
    ),
    "the whole spec": "  {{- toYaml .Values.a | nindent 2 }}\n",
    "a map of the spec": '  {{- toYaml (dict "nodeSelector" .Values.a.nodeSelector) | nindent 2 }}\n',
    "include": '  {{- include "selector" . | nindent 2 }}\n',
    "include with a dictionary": '  {{- include "selected" (dict "from" .Values.a "root" $) | nindent 2 }}\n',
    "include with a list": '  {{- include "first" (list .Values.a .Values.b) | nindent 2 }}\n',
    "template": '{{ template "selector" . }}\n',
    "a key that functions compute": (
        '  {{- $k := trimSuffix "-x" (lower "A-X") }}\n  nodeSelector: {{- toYaml (get .Values $k).nodeSelector | nindent 4 }}\n'
    ),
    "set": '  {{- $x := dict }}{{- $_ := set $x "s" .Values.a.nodeSelector }}\n  nodeSelector: {{- toYaml $x.s | nindent 4 }}\n',
    "pick": '  {{- pick .Values.a "nodeSelector" | toYaml | nindent 2 }}\n',
}
HELPERS = """\
{{- define "selector" }}
{{- with .Values.a.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "selected" }}
nodeSelector: {{- toYaml .from.nodeSelector | nindent 2 }}
{{- end }}
{{- define "first" }}
nodeSelector: {{- toYaml (index . 0).nodeSelector | nindent 2 }}
{{- end }}
"""


@pytest.mark.parametrize("template", REACHING.values(), ids=REACHING)
def test_a_value_reaches_the_field_that_the_template_writes(tmp_path: Path, template: str) -> None:
    indented = (
        HELPERS.replace("\nnodeSelector", "\n  nodeSelector").replace("nindent 2", "nindent 4") if "{{ template" in template else HELPERS
    )
    read = of_template(tmp_path, template, indented)
    assert fields(read, "a", "nodeSelector", "disk")[-1:] == [(*SELECTOR, "*" if "range" in template else "disk")]
    assert read.reads_at(("a", "nodeSelector"))
    assert read.is_known(("a", "nodeSelector"))


def test_an_item_of_a_list_and_a_list_as_deep_as_its_key(tmp_path: Path) -> None:
    spec = "  tolerations:\n  {{- toYaml .Values.tolerations | nindent 2 }}\n  containers:\n  - name: {{ .Values.name }}\n    image: x\n"
    read = of_template(tmp_path, spec)
    assert fields(read, "tolerations", "*", "key") == [("spec", "tolerations", "*", "key")]
    assert fields(read, "name") == [("spec", "containers", "*", "name")]


def test_text_in_a_block_scalar_is_part_of_its_field(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\ndata:\n  a.yaml: |\n    nodeSelector: {{ .Values.nodeSelector }}\n  b: {{ .Values.b }}\n"
    read = table(tmp_path, {"templates/a.yaml": text})
    assert fields(read, "nodeSelector") == [("data", "a.yaml")]
    assert fields(read, "b") == [("data", "b")]


UNKNOWN = {
    "a template of another chart": '  {{- include "common.affinity" . | nindent 2 }}\n',
    "all values": "  a: {{ toYaml .Values | b64enc }}\n",
    "a file that is a template": '  {{- tpl (.Files.Get (printf "%s.yaml" .Values.name)) . | nindent 2 }}\n',
    "a function that is not known": "  a: {{ newFunction . }}\n",
    "an action without an end": "  a: {{ .Values.a\n",
}


@pytest.mark.parametrize("template", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_followed_may_read_any_value(tmp_path: Path, template: str) -> None:
    dependency = "dependencies: [{name: common, version: 1.0.0, repository: 'https://example.com'}]\n"
    read = table(tmp_path, {"templates/web.yaml": POD + template}, dependency)
    assert not read.is_known(("nodeSelector",)) or read.reads_at(("nodeSelector",))


def test_the_checksum_of_another_template_reads_only_what_that_template_reads(tmp_path: Path) -> None:
    annotation = '  checksum: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}\n'
    files = {"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: {a: {{ .Values.a | quote }}}\n"}
    read = table(tmp_path, {"templates/web.yaml": POD + annotation, **files})
    assert read.reads_at(("a",))
    assert (read.is_known(("nodeSelector",)), read.reads_at(("nodeSelector",))) == (True, False)


def test_a_checksum_reads_nothing(tmp_path: Path) -> None:
    sums = "  all: {{ toYaml .Values | sha256sum }}\n  one: {{ .Values.a | sha1sum }}\n  b: {{ include (x) . | adler32sum | quote }}\n"
    read = of_template(tmp_path, sums)
    assert (read.is_known(("a",)), read.reads_at(("a",))) == (True, False)


def test_values_of_dependencies_are_below_their_alias(tmp_path: Path) -> None:
    chart = "dependencies: [{name: db, alias: store, version: 1.0.0, condition: store.enabled}, {name: cache, version: 1.0.0}]\n"
    inner = {"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n"}
    inner["charts/db/templates/db.yaml"] = (
        POD + "  nodeSelector: {{- toYaml .Values.nodeSelector | nindent 4 }}\n  a: {{ .Values.global.a }}\n"
    )
    read = table(tmp_path, inner, chart)
    assert fields(read, "store", "nodeSelector") == [SELECTOR]
    assert fields(read, "global", "a") == [("spec", "a")]
    assert (read.is_known(("db", "nodeSelector")), read.reads_at(("db", "nodeSelector"))) == (True, False)
    assert not read.is_known(("cache", "nodeSelector"))


@pytest.mark.parametrize(
    ("values", "is_met"),
    [
        ({}, False),
        ({"on": True}, False),
        ({"on": True, "mode": "hard"}, True),
        ({"mode": "hard"}, False),
        ({"on": "{{ .x }}", "mode": "hard"}, None),
    ],
)
def test_a_condition_is_decided_by_the_values(tmp_path: Path, values: dict[str, object], is_met: bool | None) -> None:
    condition = '  {{- if and .Values.on (eq .Values.mode "hard") (not .Values.off) }}\n'
    read = of_template(tmp_path, condition + "  nodeSelector: {{- toYaml .Values.a | nindent 4 }}\n  {{- end }}\n")
    ((landing, _),) = read.at(("a",))
    assert holds(landing.condition, merged_values(read.chart.defaults, values)) is is_met


def test_the_branch_of_else_has_the_opposite_condition(tmp_path: Path) -> None:
    read = of_template(tmp_path, "  a: {{ if .Values.on }}{{ .Values.b }}{{ else }}{{ .Values.c }}{{ end }}\n")
    ((first, _),), ((second, _),) = read.at(("b",)), read.at(("c",))
    assert [holds(each.condition, {"on": True}) for each in (first, second)] == [True, False]


def test_a_template_that_includes_itself_may_read_anything(tmp_path: Path) -> None:
    helper = '{{- define "again" }}{{ include "again" (dict "x" .) }}{{ end }}'
    assert of_template(tmp_path, '  a: {{ include "again" .Values.a }}\n', helper).reads.opened is not None


def test_a_chart_with_too_many_steps_is_not_known(tmp_path: Path) -> None:
    calls = "".join(
        f'{{{{- define "h{n}" }}}}{{{{ include "h{n + 1}" (list . {n}) }}}}{{{{ include "h{n + 1}" (list {n} .) }}}}{{{{ end }}}}'
        for n in range(22)
    )
    read = of_template(tmp_path, '  a: {{ include "h0" .Values.a }}\n', calls + '{{ define "h22" }}{{ . }}{{ end }}')
    assert read.reads.opened is not None


def test_nothing_outside_the_repository_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write({"secret.yaml": POD + "  nodeSelector: {{- toYaml .Values.nodeSelector | nindent 4 }}\n"}, outside)
    inside = tmp_path / "repository"
    write(
        {".git/HEAD": "", "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": POD + "  a: {{ .Values.a }}\n"},
        inside,
    )
    (inside / "templates" / "b.yaml").symlink_to(outside / "secret.yaml")
    read = ChartTable(parts_of_chart(files_of_chart(str(inside))))
    assert not read.reads_at(("nodeSelector",))


def test_the_list_of_what_the_templates_read(tmp_path: Path) -> None:
    selector = "  {{- if and .Values.on .Values.a }}\n  nodeSelector: {{- toYaml .Values.a | nindent 4 }}\n  {{- end }}\n"
    assert chart_listing(of_template(tmp_path, selector + "  x: b-{{ .Values.b }}\n")) == (
        "a\n"
        "    Pod: spec.nodeSelector (templates/web.yaml:6)\n"
        "        if `on` is set and `a` is set\n"
        "b\n"
        "    Pod: part of spec.x (templates/web.yaml:8)\n"
        "on\n"
        "    only a condition (templates/web.yaml:5)\n"
    )


@pytest.mark.parametrize("use", ["| b64enc", "| fromYaml | toYaml", ""], ids=["in base64", "YAML and back", "as it is"])
def test_a_text_that_is_included_twice_in_each_of_many_others(tmp_path: Path, use: str) -> None:
    """The text would have four million copies; each template is looked at once, and a text that is too long is not known."""
    names = range(22)
    helpers = "".join(f'{{{{ define "h{n}" }}}}{{{{ include "h{n + 1}" . }}}}{{{{ include "h{n + 1}" . }}}}{{{{ end }}}}' for n in names)
    helpers += '{{ define "h22" }}{{ .Values.a }}\n{{ end }}'
    read = of_template(tmp_path, f'  x: {{{{ include "h0" . {use} }}}}\n', helpers)
    assert read.reads_at(("a",))
    assert len(read.landings) < 10


def test_actions_without_an_end_are_not_searched_again_and_again(tmp_path: Path) -> None:
    read = of_template(tmp_path, "{{ if .Values.affinity " * 40_000)
    assert (read.names(("nodeSelector",)), read.has_switches) == (False, False)


def test_a_check_reads_no_template_after_one_that_may_read_any_value(tmp_path: Path) -> None:
    templates = {
        "templates/b.yaml": "{{ include (print .Values.name) . | unknown }}\n",
        "templates/a.yaml": f"{POD}  nodeName: {{{{ .Values.x }}}}\n",
    }
    chart = table(tmp_path, templates).chart
    whole, stopped = ChartTable(chart), ChartTable(chart, stops=True)
    assert whole.reads.opened == stopped.reads.opened == ("templates/b.yaml", 1)
    assert ("x",) in whole.reads.whole
    assert ("x",) not in stopped.reads.whole
    assert not stopped.is_known(("y",))


def test_a_chart_on_which_many_depend_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, chart in {"base": "", **dict.fromkeys("abc", "dependencies: [{name: base, repository: file://../base}]\n")}.items():
        write({f"{name}/Chart.yaml": f"name: {name}\n{chart}", f"{name}/templates/web.yaml": POD, ".git/HEAD": ""}, tmp_path)
    opened: list[str] = []
    monkeypatch.setattr(chart_files, "read_regular", lambda path, _: opened.append(path) or Path(path).read_bytes())
    kept: chart_files.Kept = {}
    for name in "abc":
        files = files_of_chart(str(tmp_path / name), lambda *_: str(tmp_path / "base"), kept=kept)
        assert [*files.charts["base"].texts] == ["Chart.yaml", "templates/web.yaml"]
    assert opened.count(str(tmp_path / "base" / "Chart.yaml")) == 1


def test_maps_that_share_others_are_followed_once(tmp_path: Path) -> None:
    deeper = "".join("{{- $a = dict `l` $a `r` (merge (dict) $a) }}\n" for _ in range(30))
    read = table(tmp_path, {"templates/web.yaml": f"{{{{- $a := dict `x` .Values.x }}}}\n{deeper}a: {{{{ toYaml $a }}}}\n"})
    assert [*read.reads.whole] == [("x",)]


W = "{{ $w := .Values.web }}{{ toYaml $w.nodeSelector }}"
MAY_READ = {
    "a map that another is merged into": "{{ $_ := mergeOverwrite .Values.base .Values.web }}{{ toYaml .Values.base.nodeSelector }}",
    "other values for the root": (
        '{{ define "p" }}{{ $v := .Values }}{{ toYaml $v.nodeSelector }}{{ end }}{{ include "p" . }}'
        '{{ $_ := set . "Values" .Values.web }}{{ include "p" . }}'
    ),
    "a copy of the root": (
        '{{ define "p" }}{{ $v := .Values }}{{ toYaml $v.nodeSelector }}{{ end }}{{ include "p" . }}'
        '{{ include "p" (set (deepCopy .) "Values" .Values.web) }}'
    ),
    "a helper that changes its argument": (
        '{{ define "add" }}{{ $_ := set .o "x" .v }}{{ end }}{{ $a := dict }}{{ $b := dict }}'
        '{{ include "add" (dict "o" $a "v" .Values.web) }}'
        '{{ include "add" (dict "o" $b "v" .Values.web) }}{{ toYaml $b.x.nodeSelector }}'
    ),
    "many items": "{{ range $c := list " + "`a` " * 80 + "`web` }}{{ $w := index $.Values $c }}{{ toYaml $w.nodeSelector }}{{ end }}",
    "a variable of the turn before": "{{ $c := dict }}{{ range .Values.l }}{{ toYaml $c.nodeSelector }}{{ $c = $.Values.web }}{{ end }}",
    "an assignment in a loop": "{{ $l := dict }}{{ range $l = .Values }}{{ end }}{{ toYaml $l.nodeSelector }}",
    "a block": '{{ block "b" .Values.web }}{{ toYaml .nodeSelector }}{{ end }}',
    "a list without its first item": "{{ $w := index (rest (list 1 .Values.web)) 0 }}{{ toYaml $w.nodeSelector }}",
    "a text with a gap": '{{ tpl (printf "{{ toYaml .Values.%s.nodeSelector }}" .Values.name) . }}',
    "a text in a map": '{{ tpl (toYaml (dict "x" "{{ toYaml .Values.web.nodeSelector }}")) . }}',
}


@pytest.mark.parametrize("template", MAY_READ.values(), ids=MAY_READ)
def test_what_may_read_a_value(tmp_path: Path, template: str) -> None:
    path = ("web", "nodeSelector")
    read = table(tmp_path, {"templates/web.yaml": template + "\n"})
    assert not read.is_known(path) or read.reads_at(path)


def test_templates_in_a_linked_folder_and_in_other_encodings_are_read(tmp_path: Path) -> None:
    write({"shared/web.yaml": W, ".git/HEAD": ""}, tmp_path)
    folder = tmp_path / "chart"
    write({"templates/a.yaml": "a: b\n"}, folder)
    (folder / "templates" / "shared").symlink_to("../../shared")
    assert table(folder, {}).reads_at(("web", "nodeSelector"))
    (folder / "templates" / "shared").unlink()
    (folder / "templates" / "b.yaml").write_bytes(b"{{/* caf\xe9 */}}" + W.encode())
    assert table(folder, {}).reads_at(("web", "nodeSelector"))
    (folder / "templates" / "b.yaml").write_text(W + " " * (1 << 20), "utf-8")
    assert not table(folder, {}).is_known(("web", "nodeSelector"))


def test_the_first_of_two_templates_with_a_name_counts(tmp_path: Path) -> None:
    helpers = {f"templates/{each}.tpl": f'{{{{ define "p" }}}}{{{{ .Values.{each} }}}}{{{{ end }}}}' for each in ("_a", "_b")}
    read = table(tmp_path, {**helpers, "templates/web.yaml": '{{ include "p" . }}\n'})
    assert [*read.reads.whole] == [("_a",)]


GROWING = {
    "texts": "{{ $m := `aaaaaaaaaa` }}" + "{{ $m = print $m $m }}" * 40 + "x: {{ $m }}",
    "maps": "{{ $m := dict }}"
    + "".join(f"{{{{ $m = merge (dict) $m .Values.a{each} $m }}}}" for each in range(40))
    + "x: {{ toYaml $m.x.y }}",
    "lists": "{{ $m := list .Values.x }}" + "{{ $m = list $m $m }}" * 40 + '{{ include "q" $m }}{{ define "q" }}{{ . }}{{ end }}',
    "texts in texts": '{{ define "p" }}{{ . }}{{ . }}{{ end }}{{ $m := .Values.x }}'
    + '{{ $m = include "p" $m }}' * 40
    + "x: {{ $m }}{{ $m }}",
    "indentation": "x: {{ .Values.x | toYaml | nindent 2000000000 }}",
}


@pytest.mark.parametrize("template", GROWING.values(), ids=GROWING)
def test_what_doubles_with_each_action_is_limited(tmp_path: Path, template: str) -> None:
    """Without a limit, none of these ends on any machine."""
    read = table(tmp_path, {"templates/web.yaml": f"{POD}{template}\n"})
    assert read.objects is not None
    assert not read.is_known(("y",)) or not read.reads_at(("y",))


def test_charts_that_depend_on_each_other_have_a_limit(tmp_path: Path) -> None:
    write({".git/HEAD": ""}, tmp_path)
    for number in range(16):
        others = [f"{{name: c{each}, repository: 'file://../c{each}'}}" for each in range(16) if each != number]
        chart = f"name: c{number}\nversion: 1.0.0\ndependencies: [{', '.join(others)}]\n"
        write({f"c{number}/Chart.yaml": chart, f"c{number}/templates/a.yaml": POD}, tmp_path)
    files = files_of_chart(str(tmp_path / "c0"), lambda folder, each: str(Path(folder).parent / each["name"]))
    assert not ChartTable(parts_of_chart(files)).is_known(("x",))


@pytest.mark.parametrize(
    ("action", "may_be_values"),
    [
        ('{{ .Files.Get "config/web.ini" }}', False),
        ('{{ .Files.Get "values/grafana.yaml" }}', True),
        ('{{ .Files.Get (printf "%s-values.yaml" .Values.x) }}', True),
        ('{{ (.Files.Glob "files/*").AsConfig }}', True),
        ('{{ (.Files.Glob "dashboards/*.json").AsConfig }}', False),
        ("{{ .Values.x }}", False),
    ],
)
def test_files_of_a_chart_that_may_be_values_of_others(tmp_path: Path, action: str, may_be_values: bool) -> None:
    assert table(tmp_path, {"templates/web.yaml": f"a: {action}\n"}).reads_files is may_be_values
