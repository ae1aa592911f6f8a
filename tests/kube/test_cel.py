"""Expressions in CEL mean here what they mean to the API server; what is wrong with one, and what cannot be had, is said."""

import sys

import pytest

from afflint.admission import cel
from afflint.admission.cel import EvaluationError, EvaluationInput, ExpressionError, OfflineError, compiled
from afflint.findings.errors import UserError
from extras import needs_cel

OBJECT = {
    "metadata": {"name": "web", "labels": {"app": "web", "gone": None}},
    "spec": {"replicas": 3, "args": ["a", "b"], "image": "registry.example.com/web:1.2", "memory": "1Gi", "share": 0.5},
}


def value(text: str, variables: dict[str, str] | None = None) -> object:
    """What an expression comes to for OBJECT."""
    return compiled(text).evaluate(
        EvaluationInput(
            {"object": OBJECT, "params": None, "oldObject": None}, {name: compiled(each) for name, each in (variables or {}).items()}
        )
    )


@needs_cel
@pytest.mark.parametrize(
    "text, expected",
    [
        ("object.spec.replicas <= 5", True),
        ("object.spec.replicas > 2.5 && 1 < 2.5", True),
        ("object.metadata.labels['app'] == object.metadata.name", True),
        ("object.?spec.?strategy.?type.orValue('RollingUpdate')", "RollingUpdate"),
        ("object.spec.args.exists(i, each, i == 1 && each == 'b')", True),
        ("object.metadata.labels.all(key, text, key.size() <= 63)", True),
        ("sets.contains(object.spec.args, ['a'])", True),
        ("type(object.spec.replicas) == int && type(object.spec.share) == double", True),
        # A null is what the API server drops.
        ("has(object.metadata.labels.gone)", False),
        ("object.spec.missing || true", True),
        ("params == null && oldObject == null", True),
        ("object.spec.image.find(':[0-9.]+$')", ":1.2"),
        ("object.spec.image.find('#')", ""),
        ("object.spec.image.findAll('([a-z]+)[.]')", ["registry.", "example."]),
        ("object.spec.image.findAll('[a-z]+', 2)", ["registry", "example"]),
        ("object.spec.args.indexOf('b')", 1),
        ("[3, 1].isSorted() || [1, 2, 3].sum() != 6 || [2, 3].min() != 2 || ['a', 'b'].max() != 'b'", False),
        ("quantity(object.spec.memory) == quantity('1024Mi')", True),
        ("quantity('1500m').isGreaterThan(quantity('1')) && quantity('2').compareTo(quantity('2')) == 0", True),
        ("quantity('1k').add(quantity('1')).sub(1).asInteger()", 1000),
        ("isQuantity('1 Gi')", False),
        ("semver('1.2.3').isLessThan(semver('1.10.0-rc.1')) && !isSemver('v1.0') && isSemver('v1.0', true)", True),
        ("url('https://example.com:8443/a%20b?c=1').getHost()", "example.com:8443"),
        ("url('https://[::1]:80/').getHostname() == '::1' && !isURL('../a')", True),
        ("cidr('10.1.0.0/16').containsIP('10.1.2.3') && !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')", True),
        ("string(ip('::1')) == '::1' && ip('::1').isLoopback() && isIP('127.0.0.1') && !isIP('127.0.0.01')", True),
        ("format.dns1123Label().validate('Web').hasValue()", True),
        ("'%s has %d: %.1f'.format([object.metadata.name, 3, 0.25])", "web has 3: 0.2"),
        ("'a,b,c'.split(',', 2).join('|')", "a|b,c"),
        ("'Web'.lowerAscii().replace('w', 'v').substring(1)", "eb"),
        ("duration('90m') > duration('1h')", True),
    ],
)
def test_the_language_is_that_of_the_api_server(text: str, expected: object) -> None:
    assert value(text) == expected


@needs_cel
@pytest.mark.parametrize(
    "text, message",
    [
        ("object.spec.startWith('a')", "`startWith` is not defined; did you mean `startsWith`? (at 1:13 of the expression)"),
        ("objct.spec", "`objct` is not defined; did you mean `object`? (at 1:1 of the expression)"),
        ("object.spec.replicas <=", "syntax error: something is missing at the end (at 1:24 of the expression)"),
        (
            "1 + 'a'",
            "`+` does not accept a whole number and a string; use `string(…)` to convert the other value (at 1:3 of the expression)",
        ),
    ],
)
def test_an_expression_that_would_be_refused_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compiled(text)
    assert str(raised.value).startswith(message)


@needs_cel
@pytest.mark.parametrize(
    "text, message",
    [
        ("authorizer.group('apps').resource('deployments').check('create').allowed()", "`authorizer` needs a cluster"),
        ("1" + " + 1" * 40, "it is nested too deeply for afflint; move parts of it to variables"),
        ("'" + "a" * 10_000 + "' == ''", "it has 10008 characters; the limit is 10000"),
    ],
)
def test_what_is_not_supported_here_is_not_a_mistake(text: str, message: str) -> None:
    with pytest.raises(OfflineError) as raised:
        compiled(text)
    assert str(raised.value) == message


@needs_cel
@pytest.mark.parametrize(
    "text, message",
    [
        ("object.spec.strategy.type == 'Recreate'", "`strategy` does not exist (at 1:13 of the expression)"),
        ("quantity('much') == quantity('1')", "'much' is not a valid quantity"),
        ("'a'.substring(2)", "substring out of range: 2 to 1"),
        ("object.?spec.?replicas", "its result is an optional value; use `orValue` to unwrap it"),
        ("[dyn(1), dyn('a')].isSorted()", "the items of the list cannot be compared"),
    ],
)
def test_an_expression_that_comes_to_nothing_says_why(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        value(text)
    assert str(raised.value) == message


@needs_cel
@pytest.mark.parametrize(
    "text, taker",
    [
        ("object.format.format([object.?name])", "a list"),
        ("object.items.map(each, each.?name).size()", "a list"),
        ("{'name': object.?name}.size() == 1", "a map"),
        ("dyn(object.?name) == 1", "dyn"),
        ("object.?list[object.number].family() == 4", "_[_]"),
        ("object.?a.orValue(object.?b).family() == 4", "orValue"),
    ],
)
def test_an_optional_value_is_handed_to_nothing_that_cannot_take_one(text: str, taker: str) -> None:
    """The library would end the process."""
    with pytest.raises(OfflineError) as raised:
        compiled(text)
    assert str(raised.value) == f"`{taker}` receives an optional value; use `orValue` to unwrap it"


@needs_cel
@pytest.mark.parametrize(
    "text",
    [
        "object.?spec.?missing.?deeper[?'key'].orValue('') == ''",
        "[?object.?spec, ?object.?missing].size() == 1 && {?'a': object.?missing} == {}",
        "object.?missing.or(object.?spec).hasValue() && object.?spec.value().replicas == 3",
        "object.?spec.optMap(each, each.replicas + 1).orValue(0) == 4",
        "(true ? object.?spec : object.?missing).optFlatMap(each, each.?replicas).orValue(0) == 3",
        "object.?missing == optional.none() && optional.of(1) != optional.none()",
    ],
)
def test_what_is_made_for_optional_values_takes_them(text: str) -> None:
    assert value(text) is True


@needs_cel
def test_rounds_of_macros_are_bounded() -> None:
    items = list(range(200))
    with pytest.raises(EvaluationError, match="more than 10,000 items"):
        compiled("object.all(x, object.all(y, object.all(z, x + y + z >= 0)))").evaluate(EvaluationInput({"object": items}))


@needs_cel
def test_what_functions_make_is_bounded() -> None:
    given = EvaluationInput({"object": "a" * 1_000_000})
    for text in ("object.replace('a', object)", "[object, object].join('')", "'%s%s'.format([object, object])"):
        with pytest.raises(EvaluationError, match="the text becomes too long"):
            compiled(text).evaluate(given)


DOUBLED = "[object.text].map(v, v + v + v + v + v + v + v + v + v + v)[0]"


@needs_cel
@pytest.mark.parametrize(
    "text",
    [
        DOUBLED.replace("object.text", DOUBLED).replace("object.text", DOUBLED).replace("object.text", DOUBLED) + " != ''",
        "object.items.map(each, object.text).join() != ''",
        "'%s'.format([object.items.map(each, object.text)]) != ''",
        "object.items.all(each, object.items.indexOf(each) >= 0)",
        "object.items.all(each, !(each in object.items) || object.text.matches('b$'))",
        "object.text.matches(object.text)",
        "object.lists.all(each, object == object)",
        "!sets.intersects(object.items.map(each, each), object.text.split(''))",
    ],
)
def test_nothing_is_begun_that_there_may_be_no_room_or_time_for(text: str) -> None:
    with pytest.raises(EvaluationError, match="may create values from the object that exceed the memory limit"):
        compiled(text).evaluate(
            EvaluationInput({"object": {"text": "a" * 500_000, "items": list(range(9_000)), "lists": [[0] * 400] * 700}})
        )


@needs_cel
def test_a_machine_with_a_long_script_is_judged() -> None:
    script = {"userData": "a, b\n" * 4_000, "containers": [{"name": f"c{number}", "env": ["x"] * 40} for number in range(20)]}
    text = (
        "object.containers.all(c, c.env.all(e, c.name.split(',').size() == 1 && c.name.upperAscii() != e)) && object.userData.contains('b')"
    )
    assert compiled(text).evaluate(EvaluationInput({"object": script})) is True


@needs_cel
@pytest.mark.parametrize("more", ["variables.v@ + variables.v@", "[variables.v@, variables.v@]"])
@pytest.mark.parametrize("first", ["'some text'", "[1, 2, 3]"])
def test_variables_that_double_end_somewhere(monkeypatch: pytest.MonkeyPatch, first: str, more: str) -> None:
    monkeypatch.setattr("afflint.admission.cel.LARGEST", 1 << 15)
    variables = {"v0": first, **{f"v{number + 1}": more.replace("@", str(number)) for number in range(60)}}
    given = EvaluationInput({"object": {}}, {name: compiled(text) for name, text in variables.items()})
    program = compiled("size(variables.v60) > 0")
    with pytest.raises(EvaluationError):
        program.evaluate(given)
    assert str(given.failure(program)).endswith("its result is too large")


@needs_cel
def test_a_long_chain_of_variables_has_a_value() -> None:
    variables = {"v0": "1", **{f"v{number + 1}": f"variables.v{number}" for number in range(3_000)}}
    assert value("variables.v3000", variables) == 1


@needs_cel
def test_variables_that_lead_to_themselves_have_none() -> None:
    with pytest.raises(EvaluationError):
        value("variables.a", {"a": "variables.b", "b": "variables.a"})


@needs_cel
def test_what_functions_are_given_is_bounded() -> None:
    given = EvaluationInput({"object": {"text": "a" * 5_000, "items": list(range(2_000))}})
    with pytest.raises(EvaluationError, match="more than 8 million characters and items"):
        compiled("object.items.map(each, object.text.upperAscii()).size() > 0").evaluate(given)


@needs_cel
def test_values_that_are_too_large_or_too_deep_are_not_looked_into() -> None:
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(EvaluationError, match="nested too deeply"):
        compiled("object == {}").evaluate(EvaluationInput({"object": deep}))
    with pytest.raises(EvaluationError, match="too large"):
        compiled("object.size() > 1").evaluate(EvaluationInput({"object": ["a" * 1_000_000] * 2}))


@needs_cel
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("object.metadata.name == 'web'", True),
        ("object['metadata']['name'] == 'web' && object.?metadata.?name.orValue('') == 'web'", True),
        ("has(object.metadata.namespace) || has(object.status)", False),
        ("object.metadata.size() == 1 && has(object.metadata.name)", True),
        ("object.spec.ports.exists(object, object.port == 80) && object.metadata.name == 'web'", True),
        ("variables.whole.metadata.name == 'web' && !has(variables.whole.status)", True),
        ("variables.whole == object && variables.name == 'web'", True),
        ("variables.own.name == 'web'", True),
        ("oldObject == null && !has(object.spec.empty)", True),
    ],
)
def test_an_expression_gets_only_what_it_reads_and_has_the_same_value(text: str, answer: bool) -> None:
    too_large = ["a" * 1_000_000] * 2
    variables = {"whole": "object", "name": "object.metadata.name", "own": "object.metadata"}
    given = EvaluationInput(
        {"object": {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "empty": None}, "rules": None}, "oldObject": None},
        {name: compiled(each) for name, each in variables.items()},
    )
    assert compiled(text).evaluate(given) is answer
    if "== object" not in text:
        assert compiled(text).evaluate(given.with_object({**given.values["object"], "data": too_large})) is answer


@needs_cel
@pytest.mark.parametrize(
    ("text", "word"),
    [("object.status.phase == ''", "status"), ("object.spec.type.name == ''", "name"), ("object.metadata.labels.a == ''", "labels")],
)
def test_an_error_names_the_first_key_that_is_missing(text: str, word: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        compiled(text).evaluate(EvaluationInput({"object": {"metadata": {"name": "web"}, "spec": {"type": {}}}}))
    assert failed.value.word == word


@needs_cel
def test_invalid_texts_and_numbers_do_not_crash_the_library() -> None:
    odd = {"surrogate": "a\ud800b", "nul": "a\0b", "large": 1 << 70, "larger": 1 << 5000}
    assert compiled("[object.surrogate, object.nul]").evaluate(EvaluationInput({"object": odd})) == ["a?b", "a\ufffdb"]
    assert compiled("object.large > 0 && object.larger > object.large").evaluate(EvaluationInput({"object": odd})) is True


@needs_cel
def test_variables_are_evaluated_when_they_are_needed() -> None:
    variables = {"broken": "object.spec.missing", "name": "object.metadata.name", "long": "variables.name + '-long'"}
    assert value("variables.long == 'web-long' || variables.broken", variables) is True
    assert value("'variables.broken' == 'x' ? variables.broken : 1", variables) == 1
    given = EvaluationInput({"object": OBJECT}, {name: compiled(each) for name, each in variables.items()})
    program = compiled("variables.broken == 1")
    with pytest.raises(EvaluationError):
        program.evaluate(given)
    assert str(given.failure(program)) == "`variables.broken`: `missing` does not exist (at 1:13 of the expression)"


@needs_cel
def test_unknown_values_have_no_result() -> None:
    assert value("namespaceObject.metadata.labels['env'] == 'prod' || true") is True
    with pytest.raises(EvaluationError) as raised:
        value("namespaceObject == null")
    assert str(raised.value) == "it depends on the namespace, which the object does not set"


def test_the_fields_that_an_expression_names() -> None:
    text = "!has(object.spec.a) || object.metadata.labels['x/y'].size() > 1 || object.spec.?list[0].all(c, c.object.z == 'object.no')"
    fields = [("spec", "a"), ("metadata", "labels", "x/y"), ("spec", "list", 0)]
    assert [*cel.chains_in(text)] == [("object", each) for each in fields]
    assert cel.chain_of("variables.pod.spec") == ("variables", ("pod", "spec"))
    assert cel.chain_of("object.spec == 1") is None


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel._library.cache_clear()
    try:
        with pytest.raises(UserError) as raised:
            cel.ensure_available()
    finally:
        cel._library.cache_clear()
    assert "install `afflint[cel]`" in str(raised.value)
    assert ("Python 3.11 or later" in str(raised.value)) == (sys.version_info < (3, 11))
