"""Where the actions of a template begin and end, and what their tokens are."""

import pytest

from afflint.yaml.template_actions import actions_in, inside_of, tokens_of, word_of
from growth import assert_linear


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("a {{ .b }} {{- c -}}", ["{{ .b }}", "{{- c -}}"]),
        ('{{ `}}` }}{{ "}}\\"}}" }}', ["{{ `}}` }}", '{{ "}}\\"}}" }}']),
        ("{{/* {{ a }} */}}{{ b\n}}", ["{{/* {{ a }} */}}", "{{ b\n}}"]),
        ("{% if a %}{{ b }}{# c #}{% d", ["{% if a %}", "{{ b }}", "{# c #}"]),
    ],
)
def test_actions_end_outside_of_texts_and_comments(text: str, actions: list[str]) -> None:
    assert [each.text for each in actions_in(text, jinja=True).found] == actions


def test_an_action_without_an_end_is_the_last_one() -> None:
    found, unclosed = actions_in('{{ a }}{{ "b\n }}{{ c }}')
    assert ([each.text for each in found], unclosed) == (["{{ a }}"], 7)


def test_the_words_and_tokens_of_an_action() -> None:
    action = '{{- $x := (index .a 1).b | default "c" -}}'
    assert word_of(action) == "="
    kinds = "path sign sign word path number sign field sign word text"
    assert [kind for kind, _ in tokens_of(inside_of(action))] == kinds.split()
    assert [*tokens_of("a ~ b")] == [("word", "a"), ("unknown", "~ b")]


@pytest.mark.parametrize("part", [" ", "{{ ", '{{"', '{{\\"', "{{`", '{{ "a" | ', "{{/*", "{%", "{# "])
def test_time_is_linear(part: str) -> None:
    assert_linear(lambda size: actions_in('{{"' + part * size, jinja=True), 50_000)
    assert_linear(lambda size: actions_in(part * size, jinja=True), 50_000)
