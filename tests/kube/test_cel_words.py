"""Mistakes in CEL expressions, and reasons why they cannot be evaluated, are reported in plain English at the word that causes them."""

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
    "text, message",
    [
        # Its grammar: the first mistake, which the others come of.
        ("object.spec.replicas >", "1:23 syntax error: something is missing at the end"),
        ("", "1:1 syntax error: something is missing at the end"),
        ("[1, 2\n", "2:1 syntax error: `,` or `]` is missing at the end"),
        ("(1\n", "2:1 syntax error: `)` is missing at the end"),
        ("[1, 2", "1:6 syntax error: `,` or `]` is missing at the end"),
        ("object.x >\n  && true", "2:3 syntax error: something is missing before `&&`"),
        ("object.x > 1)", "1:13 syntax error: unexpected `)` after the end of the expression"),
        ("true and false", "1:6 syntax error: unexpected `and` after the end of the expression; did you mean `&&`?"),
        ("object.x = 1", "1:10 syntax error: unexpected `=`; did you mean `==`?"),
        ("object.x == 'a", "1:13 syntax error: this string is not closed"),
        ("object.x == 'a\n  && true", "1:13 syntax error: this string is not closed"),
        (r"object.x == '\q'", r"1:13 `\q` is not a valid escape in a CEL string"),
        ("object.\n", "2:1 syntax error: something is missing after `.`"),
        ("object..x", "1:8 syntax error: unexpected `..`"),
        ("if (true) 1", "1:1 `if` is a reserved word in CEL"),
        ("namespace.name", "1:1 `namespace` is a reserved word in CEL; did you mean `namespaceObject`?"),
        # Names, where they begin.
        ("true && objct.spec", "1:9 `objct` is not defined; did you mean `object`?"),
        ("'é' == objct", "1:8 `objct` is not defined; did you mean `object`?"),
        ("self.replicas > 1", "1:1 `self` is not defined; did you mean `object`?"),
        ("object.x == None", "1:13 `None` is not defined; did you mean `null`?"),
        ("object.name.startWith('a')", "1:13 `startWith` is not defined; did you mean `startsWith`?"),
        ("zzz('a')", "1:1 `zzz` is not defined"),
        ("size(object, 1) > 1", "1:1 `size` cannot be called with these arguments"),
        ("object.x.all(1 > 0)", "1:10 `all` cannot be called with these arguments; write `all(each, …)`"),
        ("has(object)", "1:5 `has` requires a field, as in `has(object.spec)`"),
        # Types.
        ("'a' + 1 == 'a1'", "1:5 `+` does not accept a string and a whole number; use `string(…)` to convert the other value"),
        ("1 > 'a'", "1:3 `>` does not accept a whole number and a string"),
        ("true && 1", "1:6 `&&` does not accept a boolean and a whole number; it requires booleans"),
        ("size(1) > 1", "1:5 `size` does not accept a whole number"),
        ("1 ? 2 : 3", "1:3 the condition before `?` must be a boolean, and both results must have the same type"),
        ("null.x", "1:5 null has no fields"),
        ("'a'.all(c, c)", "1:1 a string cannot be iterated over"),
        ("[?1]", "1:3 expected an optional value, but this is a whole number"),
        ("99999999999999999999 > 1", "1:1 this number is too large for CEL"),
    ],
)
def test_what_is_wrong_with_an_expression(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compiled(text)
    assert [f"{each.line}:{each.column} {each.message}" for each in raised.value.mistakes] == [message]


@needs_cel
@pytest.mark.parametrize(
    "text, message",
    [
        ("object.spec.replicaz > 1", "`replicaz` does not exist (at 1:13 of the expression)"),
        ("true &&\n object.metadata.labels['tier'] == 'db'", "`tier` does not exist (at 2:26 of the expression)"),
        ("object.a.x == 1 || object.b.x == object.a.x", "`a` does not exist"),
        ("object.metadata.name > object.spec.replicas", "`>` does not accept a string and a whole number"),
        ("object.spec.replicas.startsWith('a')", "`startsWith` does not accept a whole number and a string (at 1:22 of the expression)"),
        ("object.spec.replicas && true", "`&&` does not accept these arguments; it requires booleans"),
        ("object.spec.args[5] == 'a'", "index 5 is out of range for a list of 2"),
        ("object.spec.args['a'] == 'a'", "a list index cannot be a string"),
        ("object.metadata.name[0] == 'a'", "a string cannot be indexed"),
        ("object.metadata.name.first == 'a'", "null, a number or a string has no fields"),
        ("int(object.metadata.name) > 1", "a string cannot be converted to a whole number"),
        ("duration(object.metadata.name) > duration('1s')", "the string is not a valid duration"),
        ("1 / (object.spec.replicas - 3) == 1", "division by zero"),
        ("object.metadata.name.matches('[' + object.metadata.name)", "invalid regular expression: missing ]: [web"),
        ("object.?spec.?no.value() == 1", "`value` is called on an empty optional value"),
    ],
)
def test_the_reason_for_no_result(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        compiled(text).evaluate(EvaluationInput({"object": OBJECT}))
    assert str(raised.value) == message


def test_what_is_not_known_of_the_library_is_quoted() -> None:
    found = [ExpressionMistake("the moon is full", 1, 1), ExpressionMistake("Syntax error: the sun is out", 1, 5)]
    assert in_words(found[:1], "object", VARIABLES, ()) == [ExpressionMistake("CEL reports: the moon is full", 1, 1)]
    assert in_words(found, "object", VARIABLES, ()) == [ExpressionMistake("syntax error: the sun is out", 1, 5)]
    assert reason_of("INTERNAL: the moon is full [INTERNAL]")[:2] == ("CEL reports: the moon is full", "")
    # Our own functions already have plain messages.
    assert reason_of("OUT_OF_RANGE: 'x' is not a valid quantity [OUT_OF_RANGE]")[:2] == ("'x' is not a valid quantity", "")


def test_a_position_is_reported_only_if_it_is_unique() -> None:
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
RAW = re.compile(r"<EOF>|expecting|overload|INVALID|<input>|NUM_INT|undeclared|_[=+&>]+_|no viable alternative", re.IGNORECASE)


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
            assert "CEL reports" not in each.message, each
            assert 1 <= each.line <= len(rows), each
            assert 1 <= each.column <= len(rows[each.line - 1]) + 1, each
