"""Templates of Go are filled as far as their data and functions are known."""

import contextlib
import itertools
import math
import random
from typing import Any

import pytest

from afflint.rendering.go_templates import _FUNCTIONS, TemplateBudget, TemplateError, fill

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


GROWING = {
    "printf": '{{ $a = printf "%s%s" $a $a }}',
    "replace": '{{ $a = replace "a" "aaaa" $a }}',
    "every character": '{{ $a = replace "" $a $a }}',
    "toJson": "{{ $a = toJson $a }}",
    "quote": "{{ $a = quote $a | quote | printf `%s%s` $a }}",
    "indent": '{{ $a = indent 99 $a | replace " " "\\n" }}',
    "join": "{{ $a = join $a (list $a $a $a) }}",
    "list": "{{ $a = list $a $a }}",
    "dict": '{{ $a = dict "a" $a "b" $a }}',
    "depth": "{{ $a = list $a }}",
    "range": "{{ range $b := list 1 2 3 }}{{ $a = printf `%s%s` $a $a }}{{ end }}",
    "texts": "{{ range list 1 2 3 }}{{ $a }}{{ $a = printf `%s%s` $a $a }}{{ end }}",
}


@pytest.mark.parametrize("step", GROWING.values(), ids=GROWING)
def test_a_value_that_grows_with_each_action_ends_the_template(step: str) -> None:
    template = '{{ $a := "aaaaaaaaaaaaaaaa" }}' + step * 100
    with pytest.raises(TemplateError) as caught:
        filled(template + "{{ $a }}", unknown=None)
    assert caught.value.is_too_large or caught.value.is_known


@pytest.mark.parametrize(
    "template",
    [
        "{{ range $.Values.long }}" * 3 + "{{ end }}" * 3,
        "{{ range $.Values.long }}{{ range $.Values.long }}{{ if has 5 $.Values.long }}{{ end }}{{ end }}{{ end }}",
        '{{ range $.Values.long }}{{ range $.Values.long }}{{ $a := eq $.Values.texts "a" }}{{ end }}{{ end }}',
        "{{ range $.Values.long }}{{ $.Values.texts }}{{ end }}",
    ],
    ids=["nothing", "functions", "variables", "texts"],
)
def test_ranges_take_a_limited_number_of_steps(template: str) -> None:
    with pytest.raises(TemplateError) as caught:
        fill(template, {"Values": {"long": [*range(10_000)], "texts": "a" * 60_000}}, is_complete=True)
    assert caught.value.is_too_large


def test_several_templates_share_a_budget() -> None:
    budget = TemplateBudget()
    for _ in range(9):
        fill("{{ range .list }}{{ end }}", {"list": [*range(10_000)]}, is_complete=True, budget=budget)
    with pytest.raises(TemplateError):
        fill("{{ range .list }}{{ end }}", {"list": [*range(10_000)]}, is_complete=True, budget=budget)


ARGUMENTS: list[Any] = [
    None, True, 0, -1, 3, 10**6, 1.5, math.inf, math.nan, "", "a", "a.b", "%s", "%", "9" * 19, "9" * 5_000, "٣", [], ["a", 1, None], [[]],
    {}, {"a": 1}, {"a": {"b": 2}}, {1: "x", "x": 1},
]  # fmt: skip


@pytest.mark.parametrize("name", [*_FUNCTIONS, "and", "or", "get", "getOrNil", "hasKey", "env", "requiredEnv", "shuffle"])
def test_a_function_takes_any_arguments(name: str) -> None:
    """Each number of arguments and each combination of types: a text, or an error of the template."""
    for count in range(4):
        for arguments in itertools.product(range(len(ARGUMENTS)), repeat=count) if count < 3 else _some_of(3):
            call = f"{name} {' '.join(f'(index .all {each})' for each in arguments)}"
            for template in (f"{{{{ {call} }}}}", f"{{{{ range $a, $b := {call} }}}}{{{{ $b }}}}{{{{ end }}}}"):
                with contextlib.suppress(TemplateError):
                    assert isinstance(fill(template, {"all": ARGUMENTS}, is_complete=True, unknown="?").text, str)


def _some_of(count: int) -> list[tuple[int, ...]]:
    choice = random.Random(33)
    return [tuple(choice.randrange(len(ARGUMENTS)) for _ in range(count)) for _ in range(200)]


@pytest.mark.parametrize("text", [r'{{ "\ud800" }}', '{{ "\\x" }}'])
def test_a_text_that_go_rejects_is_an_error(text: str) -> None:
    with pytest.raises(TemplateError):
        filled(text)


def test_a_pipeline_may_not_be_longer_than_its_limit() -> None:
    with pytest.raises(TemplateError):
        fill("{{ .a " + "| lower " * 400 + "}}", {"a": "b"}, is_complete=True)
