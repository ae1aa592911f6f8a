"""What a fix puts in place of a scalar, and where none is offered because more than this scalar would change."""

import pytest
from workload_texts import spread, workload

from fixed_text import becomes, stays
from linting import lint

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = "matchExpressions: [{key: disk, operator: Exists}]"


def fixes(text: str, rule: str) -> list[str | None]:
    """The text that each finding of a rule offers in place of what it points at."""
    found = [each for each in lint(text) if each.rule == rule]
    return [each.fix.edits[0].text if each.fix else None for each in found]


@pytest.mark.parametrize(
    "written, offered",
    [
        ("5", '"5"'),
        ("yes", '"yes"'),
        ("1_000", '"1_000"'),
        ("&x 5", None),
        ('!!int "5"', None),
        ("!!int 5", None),
    ],
)
def test_quotes_are_offered_for_what_is_nothing_but_a_bare_word(written: str, offered: str | None) -> None:
    assert fixes(workload("Pod", f"nodeSelector: {{a: {written}}}"), "wrong-type") == [offered]


@pytest.mark.parametrize(
    "lines",
    [
        "nodeSelector: {a: &x 5, b: *x}",
        "nodeSelector: &x {a: 5}\nhostAliases: *x",
        "hostAliases: &x {a: 5}\nnodeSelector: *x",
        "hostAliases: &x {a: 5}\nnodeSelector:\n  <<: *x",
    ],
    ids=["an aliased scalar", "the anchor of a map", "its alias", "a merged map"],
)
def test_what_is_in_several_places_is_reported_for_each_and_fixed_in_none(lines: str) -> None:
    offered = fixes(workload("Pod", lines), "wrong-type")
    assert set(offered) == {None}


def test_an_anchor_elsewhere_does_not_matter() -> None:
    assert fixes(workload("Pod", "hostAliases: &x [a]\nnodeSelector: {a: 5}"), "wrong-type") == ['"5"']
    assert fixes(workload("Pod", "tolerations:\n  - &x\n    Key: a\n    operator: Exists"), "unknown-field") == ["key"]
    assert fixes(workload("Pod", "nodeSelector:\n  a: &x\n    5"), "wrong-type") == [None]


@pytest.mark.parametrize(
    "written, offered",
    [
        ('"5"', "5"),
        ("'5'", "5"),
        ('"0"', None),  # Without quotes, the API server rejects it as too small.
        ('"010"', None),
        ('"+5"', None),
        ('"--5"', None),
        ('"1e3"', None),
        ('"99999999999"', None),
        ('&x "5"', None),
        ('"five"', None),
    ],
)
def test_quotes_are_removed_from_whole_numbers_as_people_write_them(written: str, offered: str | None) -> None:
    lines = spread(f"maxSkew: {written}\ntopologyKey: zone\nwhenUnsatisfiable: DoNotSchedule\nlabelSelector: {{}}")
    assert fixes(workload("Pod", lines), "wrong-type") == [offered]


@pytest.mark.parametrize(
    "written, offered",
    [
        ("equal", "Equal"),
        ('"equal"', '"Equal"'),
        ("'equal'", "'Equal'"),
        ("&x equal", None),
        ("!!str equal", None),
        ("|-\n      equal", None),
        ("eq\n      ual", None),
    ],
)
def test_a_word_is_replaced_in_the_quotes_that_it_has(written: str, offered: str | None) -> None:
    lines = f"tolerations:\n  - key: a\n    operator: {written}"
    assert fixes(workload("Pod", lines), "unknown-operator") == [offered]


@pytest.mark.parametrize(
    "lines, offered",
    [
        ("nodeselector: {a: b}", "nodeSelector"),
        ('"nodeselector": {a: b}', '"nodeSelector"'),
        ("&x nodeselector: {a: b}", None),
        ("nodeselector: [a]", None),
        ("nodeselector: {a: b}\nnodeSelector: {c: d}", None),
    ],
    ids=["bare", "quoted", "anchored", "a value that does not fit", "beside the right one"],
)
def test_a_field_is_renamed_where_its_value_fits_and_the_name_is_free(lines: str, offered: str | None) -> None:
    assert fixes(workload("Pod", lines), "unknown-field") == [offered]


def test_a_field_that_means_the_opposite_is_not_a_slip() -> None:
    lines = spread("maxSkew: 1\ntopologyKey: zone\nwhenUnsatisfiable: DoNotSchedule\nlabelSelector: {}\nmismatchLabelKeys: [a]")
    assert fixes(workload("Pod", lines), "unknown-field") == [None]


def test_a_list_of_node_terms_gets_its_key() -> None:
    before = f"affinity:\n  nodeAffinity:\n    {REQUIRED}:\n"
    terms = f"      # fast\n      - {TERM}\n      - {TERM}"
    wrapped = "      nodeSelectorTerms:\n" + terms.replace("      ", "        ")
    assert becomes("wrong-type", workload("Pod", before + terms), workload("Pod", before + wrapped))


@pytest.mark.parametrize("value", ["[{topologyKey: zone}]", "[]", "[a]"])
def test_another_list_than_of_node_terms_stays(value: str) -> None:
    assert stays("wrong-type", workload("Pod", f"affinity:\n  nodeAffinity:\n    {REQUIRED}: {value}"))
