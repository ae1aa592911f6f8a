"""What is wrong with an expression in CEL is said in plain words, at the word that is meant; so is why one comes to no result."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.admission.cel import VARIABLES, EvaluationError, EvaluationInput, ExpressionError, OfflineError, compiled
from afflint.admission.cel_messages import ExpressionMistake, in_words, place_of, reason_of
from extras import needs_cel

OBJECT = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"replicas": 3, "args": ["a", "b"]}}


@needs_cel
@pytest.mark.parametrize(
    "text, said",
    [
        # Its grammar: the first mistake, which the others come of.
        ("object.spec.replicas >", "1:23 it is not CEL: something is missing at its end"),
        ("", "1:1 it is not CEL: something is missing at its end"),
        ("[1, 2\n", "2:1 it is not CEL: `,` or `]` is missing at its end"),
        ("(1\n", "2:1 it is not CEL: `)` is missing at its end"),
        ("[1, 2", "1:6 it is not CEL: `,` or `]` is missing at its end"),
        ("object.x >\n  && true", "2:3 it is not CEL: something is missing before `&&`"),
        ("object.x > 1)", "1:13 it is not CEL: `)` stands behind what is complete already"),
        ("true and false", "1:6 it is not CEL: `and` stands behind what is complete already; did you mean `&&`?"),
        ("object.x = 1", "1:10 it is not CEL: `=` means nothing here; did you mean `==`?"),
        ("object.x == 'a", "1:13 it is not CEL: a text begins here that does not end"),
        ("object.x == 'a\n  && true", "1:13 it is not CEL: a text begins here that does not end"),
        (r"object.x == '\q'", r"1:13 `\q` is no escape in a text of CEL"),
        ("object.\n", "2:1 it is not CEL: something is missing behind `.`"),
        ("object..x", "1:8 it is not CEL: `..` cannot be understood here"),
        ("if (true) 1", "1:1 `if` is a word that CEL keeps for itself"),
        ("namespace.name", "1:1 `namespace` is a word that CEL keeps for itself; did you mean `namespaceObject`?"),
        # Names, where they begin.
        ("true && objct.spec", "1:9 there is no `objct` here; did you mean `object`?"),
        ("'é' == objct", "1:8 there is no `objct` here; did you mean `object`?"),
        ("self.replicas > 1", "1:1 there is no `self` here; did you mean `object`?"),
        ("object.x == None", "1:13 there is no `None` here; did you mean `null`?"),
        ("object.name.startWith('a')", "1:13 there is no `startWith` here; did you mean `startsWith`?"),
        ("zzz('a')", "1:1 there is no `zzz` here"),
        ("size(object, 1) > 1", "1:1 `size` does not take what it is given here"),
        ("object.x.all(1 > 0)", "1:10 `all` does not take what it is given here: it is written `all(each, …)`"),
        ("has(object)", "1:5 `has` takes a field, as in `has(object.spec)`"),
        # Types.
        ("'a' + 1 == 'a1'", "1:5 `+` is not for text and a whole number; `string(…)` makes text of what is none"),
        ("1 > 'a'", "1:3 `>` is not for a whole number and text"),
        ("true && 1", "1:6 `&&` is not for a truth value and a whole number; it takes true or false"),
        ("size(1) > 1", "1:5 `size` is not for a whole number"),
        ("1 ? 2 : 3", "1:3 what stands before `?` must be true or false, and what it chooses from of one type"),
        ("null.x", "1:5 null has no fields"),
        ("'a'.all(c, c)", "1:1 text has no items to go through"),
        ("[?1]", "1:3 a whole number stands where an optional value belongs"),
        ("99999999999999999999 > 1", "1:1 this number is too large for CEL"),
    ],
)
def test_what_is_wrong_with_an_expression(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compiled(text)
    assert [f"{each.line}:{each.column} {each.message}" for each in raised.value.mistakes] == [said]


@needs_cel
@pytest.mark.parametrize(
    "text, said",
    [
        ("object.spec.replicaz > 1", "there is no `replicaz` (at 1:13 of the expression)"),
        ("true &&\n object.metadata.labels['tier'] == 'db'", "there is no `tier` (at 2:26 of the expression)"),
        ("object.a.x == 1 || object.b.x == object.a.x", "there is no `a`"),
        ("object.metadata.name > object.spec.replicas", "`>` is not for text and a whole number"),
        ("object.spec.replicas.startsWith('a')", "`startsWith` is not for a whole number and text (at 1:22 of the expression)"),
        ("object.spec.replicas && true", "`&&` is not for what it is given; it takes true or false"),
        ("object.spec.args[5] == 'a'", "there is no item 5 in a list of 2"),
        ("object.spec.args['a'] == 'a'", "it asks for an item of a list by text"),
        ("object.metadata.name[0] == 'a'", "it asks for an item of text"),
        ("object.metadata.name.first == 'a'", "it asks for a field of what is null, a number or text"),
        ("int(object.metadata.name) > 1", "text cannot be read as a whole number"),
        ("duration(object.metadata.name) > duration('1s')", "a text is no duration"),
        ("1 / (object.spec.replicas - 3) == 1", "it divides by zero"),
        ("object.metadata.name.matches('[' + object.metadata.name)", "the regular expression is wrong: missing ]: [web"),
        ("object.?spec.?no.value() == 1", "it asks for the `value` of an optional value that is not there"),
    ],
)
def test_why_it_comes_to_no_result(text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        compiled(text).evaluate(EvaluationInput({"object": OBJECT}))
    assert str(raised.value) == said


def test_what_is_not_known_of_the_library_is_quoted() -> None:
    found = [ExpressionMistake("the moon is full", 1, 1), ExpressionMistake("Syntax error: the sun is out", 1, 5)]
    assert in_words(found[:1], "object", VARIABLES, ()) == [ExpressionMistake("CEL says of it: the moon is full", 1, 1)]
    assert in_words(found, "object", VARIABLES, ()) == [ExpressionMistake("it is not CEL: the sun is out", 1, 5)]
    assert reason_of("INTERNAL: the moon is full [INTERNAL]")[:2] == ("CEL says of it: the moon is full", "")
    # What a function of ours says, is said in our words.
    assert reason_of("OUT_OF_RANGE: 'x' is no quantity [OUT_OF_RANGE]")[:2] == ("'x' is no quantity", "")


def test_a_place_is_told_where_there_is_one_only() -> None:
    quiet = r"'[^']*'"
    assert place_of("a", "object.a", quiet) == " (at 1:8 of the expression)"
    assert place_of("a", "object['a'] == 'object.a'", quiet) == " (at 1:9 of the expression)"
    assert place_of("a", "object.a.b == object.a.c", quiet) == ""
    assert place_of("a", "object.ab", quiet) == ""
    assert place_of("x.*/", "object.a", quiet) == ""


WORDS = [
    *("object", ".spec", ".x", "(", ")", "[", "]", "{", "}", "'a'", '"', "1", "1u", "2.5", "+", "==", "=", "&&", "!", "?", ":", ","),
    *("has", ".all(c, c)", ".size()", "true", "null", "in", "if", "nobody", "'é'", "`", "@", "-", "variables.y", "[?0]", " ", "\n"),
]
RAW = re.compile(r"<EOF>|expecting|overload|INVALID|<input>|NUM_INT|undeclared|_[=+&>]+_|Syntax error", re.IGNORECASE)


@needs_cel
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map("".join))
def test_nothing_of_the_library_is_shown_raw(text: str) -> None:
    try:
        compiled(text)
    except OfflineError:
        pass
    except ExpressionError as error:
        rows = text.split("\n")
        for each in error.mistakes:
            assert not RAW.search(each.message), each
            assert "CEL says" not in each.message, each
            assert 1 <= each.line <= len(rows), each
            assert 1 <= each.column <= len(rows[each.line - 1]) + 1, each
