"""Templates of Go are filled as far as their data and functions are known."""

from __future__ import annotations

from typing import Any

import pytest

from afflint.rendering.go_templates import TemplateError, fill

VALUES: dict[str, Any] = {"name": "web", "on": True, "off": False, "count": 2, "names": ["a", "b"], "map": {"y": 2, "x": 1}, "empty": ""}


def filled(text: str, *, is_complete: bool = True, unknown: str | None = "?") -> str:
    return fill(text, {"Values": VALUES}, is_complete=is_complete, unknown=unknown).text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ .Values.name }}-{{ $.Values.count }}", "web-2"),
        ("{{ if .Values.on }}a{{ else }}b{{ end }}", "a"),
        ("{{ if .Values.off }}a{{ else if eq .Values.count 2 }}b{{ else }}c{{ end }}", "b"),
        ("{{ if and .Values.on (not .Values.off) }}a{{ end }}", "a"),
        ("{{ if or .Values.off .Values.unknown .Values.on }}a{{ end }}", "?"),
        ("{{ if or .Values.on .Values.unknown }}a{{ end }}", "a"),
        ("{{ if and .Values.off .Values.unknown }}a{{ end }}", ""),
        ("{{ range .Values.names }}{{ . }};{{ end }}", "a;b;"),
        ("{{ range $key, $each := .Values.map }}{{ $key }}={{ $each }};{{ end }}", "x=1;y=2;"),
        ("{{ range $each := .Values.names }}{{ $each }}{{ else }}none{{ end }}", "ab"),
        ("{{ with .Values.map }}{{ .x }}{{ end }}", "1"),
        ("{{ with .Values.empty }}a{{ else }}b{{ end }}", "b"),
        ("{{ $x := .Values.name }}{{ if .Values.on }}{{ $x = `b` }}{{ end }}{{ $x }}", "b"),
        ('{{ hasKey .Values "name" }} {{ hasKey .Values "other" }}', "true false"),
        ('{{ .Values | get "map.x" 5 }} {{ .Values | get "map.z" 5 }}', "1 5"),
        ('{{ has "a" .Values.names }} {{ ne .Values.name "a" }}', "true true"),
        ('{{ .Values.empty | default "x" | upper | quote }}', '"X"'),
        ('{{ printf "%s-%d" .Values.name .Values.count }}', "web-2"),
        ('{{ env "X" | default "x" }} {{ env "X" }}', "x ?"),
        ("{{ (index .Values.names 1) }} {{ .Values.map | toJson }}", 'b {"y": 2, "x": 1}'),
        ('a {{- /* {{ nothing }} * " */ -}} b', "ab"),
        ("{{ .Values.absent }} {{ shuffle .Values.name }}", "? ?"),
        ("{{`{{ .Release.Name }}`}}", "{{ .Release.Name }}"),
    ],
)
def test_what_is_known_is_filled(template: str, text: str) -> None:
    assert filled(template) == text


@pytest.mark.parametrize("template", ['{{ hasKey .Values "other" }}', '{{ .Values | get "other" 1 }}', '{{ .Values | getOrNil "other" }}'])
def test_a_key_that_incomplete_values_do_not_have_is_unknown(template: str) -> None:
    assert filled(template, is_complete=False) == "?"


@pytest.mark.parametrize(
    ("template", "action", "is_known"),
    [
        ("{{ if .Values.other }}\na: b\n{{ end }}", "{{ if .Values.other }}", True),
        ("{{ if .Values.other }}{{ $x := 1 }}{{ end }}", "{{ if .Values.other }}", True),
        ("{{ range .Values.name }}{{ end }}", "{{ range .Values.name }}", False),
        ("{{ if .Values.on }}", "{{ if .Values.on }}", False),
        ("{{ end }}", "{{ end }}", False),
        ('{{ define "x" }}{{ end }}', '{{ define "x" }}', False),
        ("{{ .Values.name", "{{ .Values.name", False),
        ("{{ .Values.name | }}", "{{ .Values.name | }}", False),
        ("{{ " + "(" * 200 + "1" + ")" * 200 + " }}", "{{ " + "(" * 200 + "1" + ")" * 200 + " }}", False),
        ("{{ if true }}" * 60 + "{{ end }}" * 60, "{{ if true }}", False),
    ],
    ids=["lines", "variable", "range", "open", "end", "define", "unclosed", "pipe", "parentheses", "depth"],
)
def test_what_cannot_be_filled_names_the_action(template: str, action: str, is_known: bool) -> None:
    with pytest.raises(TemplateError) as caught:
        filled(template)
    assert (caught.value.action, caught.value.is_known) == (action, is_known)


def test_nested_ranges_end() -> None:
    ranges, ends = "{{ range $.Values.names }}" * 30, "{{ end }}" * 30
    with pytest.raises(TemplateError):
        filled(f"{ranges}x{ends}")


def test_an_unknown_value_is_an_error_without_a_text_for_it() -> None:
    with pytest.raises(TemplateError):
        filled("{{ .Values.other }}", unknown=None)


def test_blank_lines_replace_lines_that_are_left_out() -> None:
    text = "a: 1\n{{- if .Values.off }}\nb: 2\nc: 3\n{{- end }}\nd: 4\n"
    found = fill(text, {"Values": VALUES}, is_complete=True)
    assert found.text.splitlines().index("d: 4") == text.splitlines().index("d: 4")
    assert found.is_aligned


def test_lines_that_are_added_move_the_others() -> None:
    found = fill("{{ range .Values.names }}\n- {{ . }}\n{{ end }}\na: 1\n", {"Values": VALUES}, is_complete=True)
    assert not found.is_aligned
