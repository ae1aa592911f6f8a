"""Selectors: how they are read, what they match, and the questions one can ask about the sets they describe."""

from itertools import product
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.selector_algebra import can_hold_together, conflict, find_difference, implies, sample_values
from afflint.kube.selectors import (
    EVERYTHING,
    NODE_NAME,
    AnyOf,
    Malformed,
    Requirement,
    Selection,
    Selector,
    first_unmet,
    from_labels,
    intersection,
    matches,
    merge_label_keys,
    parse_int64,
    parse_label_selector,
    parse_node_term,
    requirement_paths,
)
from growth import assert_linear


def select(*conditions: str) -> Selector:
    """``select("disk In ssd,hdd", "gpu Exists")`` in place of the long form; ``@`` marks a field of the node."""
    requirements = []
    for condition in conditions:
        key, operator, *values = condition.split(" ")
        listed = tuple(values[0].split(",")) if values else ()
        requirements.append(Requirement(key.lstrip("@"), operator, listed, key.startswith("@")))
    return Selector(tuple(requirements))


class TestReadingLabelSelectors:
    def test_match_labels_come_before_match_expressions(self) -> None:
        data = {"matchExpressions": [{"key": "tier", "operator": "Exists"}], "matchLabels": {"app": "web"}}
        assert parse_label_selector(data) == select("app In web", "tier Exists")

    def test_an_absent_selector_matches_nothing_and_an_empty_one_everything(self) -> None:
        assert parse_label_selector(None) is None
        assert parse_label_selector({}) == EVERYTHING
        assert not matches(parse_label_selector(None), {"app": "web"})
        assert matches(parse_label_selector({}), {"app": "web"})

    def test_null_means_empty_inside_maps_and_lists(self) -> None:
        data = {"matchLabels": {"app": None}, "matchExpressions": [{"key": "a", "operator": "In", "values": [None]}]}
        assert parse_label_selector(data) == Selector((Requirement("app", "In", ("",)), Requirement("a", "In", ("",))))
        assert parse_label_selector({"matchLabels": None, "matchExpressions": None}) == EVERYTHING

    @pytest.mark.parametrize(
        "data, path, problem",
        [
            ("app=web", (), "is not a label selector"),
            ({"matchLabels": ["app"]}, ("matchLabels",), "is not a map of labels"),
            ({"matchLabels": {"app": 1}}, ("matchLabels", "app"), "is not a string"),
            ({"matchLabels": {1: "a"}}, ("matchLabels",), "has a key that is not a string"),
            ({"matchLabels": {"app": "two words"}}, ("matchLabels", "app"), "is not a valid label value"),
            ({"matchExpressions": {}}, ("matchExpressions",), "is not a list"),
            ({"matchExpressions": ["a"]}, ("matchExpressions", 0), "is not a requirement"),
            ({"matchExpressions": [None]}, ("matchExpressions", 0, "operator"), None),
            ({"matchExpressions": [{"operator": "Exists"}]}, ("matchExpressions", 0, "key"), "is not a valid label key"),
            ({"matchExpressions": [{"key": 1, "operator": "Exists"}]}, ("matchExpressions", 0, "key"), "is not a string"),
            ({"matchExpressions": [{"key": "a", "operator": True}]}, ("matchExpressions", 0, "operator"), "is not a string"),
            (
                {"matchExpressions": [{"key": "a", "operator": "in"}]},
                ("matchExpressions", 0, "operator"),
                "is not one of In, NotIn, Exists, DoesNotExist",
            ),
            ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, ("matchExpressions", 0, "operator"), None),
            ({"matchExpressions": [{"key": "a", "operator": "In"}]}, ("matchExpressions", 0, "values"), "needs at least one value"),
            (
                {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
                ("matchExpressions", 0, "values"),
                "must be empty",
            ),
            ({"matchExpressions": [{"key": "a", "operator": "In", "values": "x"}]}, ("matchExpressions", 0, "values"), "is not a list"),
            (
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", True]}]},
                ("matchExpressions", 0, "values", 1),
                "is not a string",
            ),
            ({"matchExpressions": [{"key": "a b", "operator": "Exists"}]}, ("matchExpressions", 0, "key"), "is not a valid label key"),
        ],
    )
    def test_what_kubernetes_cannot_parse_is_malformed_and_matches_nothing(
        self, data: object, path: tuple[Any, ...], problem: str | None
    ) -> None:
        parsed = parse_label_selector(data)
        assert isinstance(parsed, Malformed)
        assert parsed.path == path
        assert problem in (None, parsed.problem)
        assert parsed.mistyped is any(
            text in parsed.problem for text in ("not a string", "not a list", "not a map", "not a requirement", "not a label selector")
        )
        assert not matches(parsed, {"app": "web"})

    def test_a_plain_map_is_taken_as_it_is(self) -> None:
        # The scheduler compares a nodeSelector by equality and never asks whether its values could be label values.
        assert from_labels({"disk": "not valid!"}) == Selector((Requirement("disk", "In", ("not valid!",)),))
        assert from_labels(None) == from_labels({}) == EVERYTHING

    def test_requirements_know_where_they_are(self) -> None:
        data = {"matchLabels": {"app": "web", "tier": "front"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
        assert requirement_paths(data) == (("matchLabels", "app"), ("matchLabels", "tier"), ("matchExpressions", 0))
        assert requirement_paths(None) == ()


class TestReadingNodeTerms:
    def test_expressions_and_fields_must_hold_together(self) -> None:
        term = parse_node_term(
            {
                "matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}],
                "matchFields": [{"key": NODE_NAME, "operator": "NotIn", "values": ["n1"]}],
            }
        )
        assert term == select("cores Gt 8", "@metadata.name NotIn n1")
        assert matches(term, {"cores": "16"}, "n2")
        assert not matches(term, {"cores": "16"}, "n1")
        assert not matches(term, {"cores": "8"}, "n2")

    @pytest.mark.parametrize("data", [None, {}, {"matchExpressions": []}, {"matchExpressions": None, "matchFields": []}])
    def test_a_term_without_requirements_matches_no_node(self, data: object) -> None:
        assert parse_node_term(data) is None
        assert not matches(parse_node_term(data), {})

    @pytest.mark.parametrize("operand", ["8.5", "eight", "", "-5", "+5", "1e3", "9223372036854775808", "1_000", " 1", "٣"])
    def test_the_operand_of_gt_and_lt_must_be_an_integer_and_a_label_value(self, operand: str) -> None:
        for operator in ("Gt", "Lt"):
            assert isinstance(
                parse_node_term({"matchExpressions": [{"key": "cores", "operator": operator, "values": [operand]}]}), Malformed
            )

    @pytest.mark.parametrize("values", [[], ["1", "2"], None])
    def test_gt_and_match_fields_take_exactly_one_value(self, values: object) -> None:
        assert isinstance(parse_node_term({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": values}]}), Malformed)
        assert isinstance(parse_node_term({"matchFields": [{"key": NODE_NAME, "operator": "In", "values": values}]}), Malformed)

    def test_fields_know_only_in_and_not_in(self) -> None:
        parsed = parse_node_term({"matchFields": [{"key": NODE_NAME, "operator": "Exists"}]})
        assert parsed == Malformed(("matchFields", 0, "operator"), "is not one of In, NotIn")


class TestLabelSyntax:
    @pytest.mark.parametrize("key", ["app", "a", "A.b_c-9", "app.kubernetes.io/name", "x" * 63, "a.b/" + "x" * 63])
    def test_keys(self, key: str) -> None:
        assert is_key(key)

    @pytest.mark.parametrize(
        "key", ["", "/", "/a", "a/", "a/b/c", "-a", "a-", "Example.com/a", "a_b.c/d", "x" * 64, "x" * 254 + "/a", "a\n", "é"]
    )
    def test_no_keys(self, key: str) -> None:
        assert not is_key(key)

    def test_values(self) -> None:
        assert is_value("")
        assert is_value("x" * 63)
        for text in ("-5", "+5", "two words", "x" * 64, "web\n", "a/b", "trailing."):
            assert not is_value(text)

    def test_integers(self) -> None:
        assert [parse_int64(text) for text in ("0", "007", "+5", "-5", "9223372036854775807", "-9223372036854775808")] == [
            0, 7, 5, -5, 2**63 - 1, -(2**63),
        ]  # fmt: skip
        for text in ("", "+", "1.0", "1_0", "0x1", " 1", "1\n", "9223372036854775808", "-9223372036854775809", "9" * 5000):
            assert parse_int64(text) is None


class TestMatching:
    @pytest.mark.parametrize(
        "condition, matching, failing",
        [
            ("k In a,b", ["a", "b"], ["c", "", None]),
            ("k NotIn a,b", ["c", "", None], ["a", "b"]),
            ("k Exists", ["a", ""], [None]),
            ("k DoesNotExist", [None], ["a", ""]),
            ("k Gt 8", ["9", "010", "9223372036854775807"], ["8", "7", "many", "", "8.5", "9223372036854775808", None]),
            ("k Lt 8", ["7", "0", "-1", "007"], ["8", "9", "many", "", None]),
        ],
    )
    def test_operators_on_present_and_absent_labels(self, condition: str, matching: list[str | None], failing: list[str | None]) -> None:
        for values, expected in ((matching, True), (failing, False)):
            for value in values:
                assert matches(select(condition), {} if value is None else {"k": value}) is expected

    def test_a_field_other_than_the_name_reads_as_empty(self) -> None:
        assert matches(select("@spec.x NotIn a"), {}, "n1")
        assert not matches(select("@spec.x In a"), {}, "n1")

    def test_any_of(self) -> None:
        either = AnyOf((select("a In 1"), select("b In 1")))
        assert matches(either, {"b": "1"})
        assert not matches(either, {"a": "2"})
        assert not matches(AnyOf(), {})

    def test_the_first_unmet_requirement(self) -> None:
        requirements = select("app In web", "tier Exists", "@metadata.name In n1").requirements
        assert first_unmet(requirements, {}) == 0
        assert first_unmet(requirements, {"app": "web"}) == 1
        assert first_unmet(requirements, {"app": "web", "tier": ""}, "n2") == 2
        assert first_unmet(requirements, {"app": "web", "tier": ""}, "n1") is None


class TestMergingLabelKeys:
    labels: ClassVar = {"app": "web", "version": "v2"}

    def test_match_adds_in_and_mismatch_adds_not_in(self) -> None:
        merged = merge_label_keys(select("app In web"), self.labels, ["version"], ["app"])
        assert merged == select("app In web", "version In v2", "app NotIn web")

    def test_keys_the_pod_lacks_are_ignored(self) -> None:
        assert merge_label_keys(EVERYTHING, self.labels, ["tenant"], ["tenant"]) == EVERYTHING

    def test_an_absent_or_malformed_selector_stays_what_it_is(self) -> None:
        assert merge_label_keys(None, self.labels, ["version"]) is None
        assert merge_label_keys(Malformed((), "x"), self.labels, ["version"]) == Malformed((), "x")

    def test_the_empty_selector_becomes_a_real_one(self) -> None:
        assert merge_label_keys(EVERYTHING, self.labels, ["version"]) == select("version In v2")


class TestConflicts:
    @pytest.mark.parametrize(
        "conditions",
        [
            [],
            ["k In a,b"],
            ["k In a,b", "k NotIn a"],
            ["k NotIn a", "k Exists"],
            ["k NotIn a,other", "k Exists"],
            ["k Gt 8"],
            ["k Gt 8", "k Lt 10"],
            ["k Gt 8", "k Lt 10", "k NotIn 9"],  # 09 lies between them as well
            ["k In a,16", "k Gt 8"],
            ["k Gt 8", "other DoesNotExist"],
            ["@metadata.name NotIn n1"],
            ["@metadata.name In n1", "metadata.name In n2"],  # a field and a label of one name are different things
        ],
    )
    def test_no_conflict(self, conditions: list[str]) -> None:
        assert conflict(select(*conditions).requirements) == ()

    @pytest.mark.parametrize(
        "conditions, guilty",
        [
            (["k In a", "k In b"], (0, 1)),
            (["x Exists", "k In a", "k NotIn a"], (1, 2)),
            (["k Exists", "y In 1", "k DoesNotExist"], (0, 2)),
            (["k In a,b", "k NotIn a", "k NotIn b"], (0, 1, 2)),
            (["k In a,b", "k NotIn c", "k NotIn a", "k NotIn b"], (0, 2, 3)),
            (["k Gt 5", "k Lt 3"], (0, 1)),
            (["k Gt 5", "k Lt 6"], (0, 1)),
            (["k Gt 5", "k In 5,fast"], (0, 1)),
            (["k Gt 5", "k DoesNotExist"], (0, 1)),
            (["k Lt 0"], (0,)),
            (["k Gt 9223372036854775807"], (0,)),
            (["k NotIn a", "k Lt 0", "k In a"], (1,)),
            (["k In a,b", "k NotIn a", "k NotIn b", "l Gt 1", "l Lt 1"], (3, 4)),
            (["@metadata.name In n1", "@metadata.name In n2"], (0, 1)),
            (["@spec.x In a"], (0,)),
        ],
    )
    def test_the_smallest_conflict(self, conditions: list[str], guilty: tuple[int, ...]) -> None:
        selector = select(*conditions)
        assert conflict(selector.requirements) == guilty
        assert implies(selector, AnyOf())

    def test_a_conflict_of_hundreds_of_requirements_is_named_whole(self) -> None:
        values = [f"v{n}" for n in range(150)]
        requirements = select("k In " + ",".join(values), *(f"k NotIn {value}" for value in values)).requirements
        assert conflict(requirements) == tuple(range(151))


class TestRelations:
    def test_alternatives_can_cover_together_what_none_covers_alone(self) -> None:
        halves = AnyOf((select("k In a"), select("k NotIn a")))
        assert implies(EVERYTHING, halves)
        assert implies(select("l In x"), halves)
        assert not implies(EVERYTHING, AnyOf((select("k In a"), select("k In b"), select("k DoesNotExist"))))
        assert implies(AnyOf((select("k In a"), select("k In b"))), select("k In a,b"))
        assert implies(AnyOf(), select("k In a"))
        assert not implies(EVERYTHING, AnyOf())

    def test_hundreds_of_overlapping_alternatives_end_in_time(self) -> None:
        tangle = AnyOf(tuple(select(f"k{n} In a", f"k{(n * 7 + 1) % 60} NotIn b", f"k{(n * 11 + 5) % 60} Exists") for n in range(300)))
        implies(EVERYTHING, tangle)
        implies(tangle, tangle)


# --- against brute force ------------------------------------------------------------------------------------------------

KEYS = ("k", "l")
VALUES = ("a", "b", "2", "4")
# Everything the generated requirements can tell apart: listed values, one that is never listed, integers in two spellings.
UNIVERSE = (None, *VALUES, "z", "0", "1", "3", "5", "02", "04")
EVERY_LABEL_SET = [
    {key: value for key, value in zip(KEYS, values, strict=True) if value is not None} for values in product(UNIVERSE, repeat=len(KEYS))
]


def requirement(operators: tuple[str, ...], values: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[Requirement]:
    return st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(operators), values, st.just(False))


requirements = st.one_of(
    requirement(("In", "NotIn"), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple)),
    requirement(("Exists", "DoesNotExist"), st.just(())),
    requirement(("Gt", "Lt"), st.sampled_from([(text,) for text in "01234"])),
)
selectors = st.lists(requirements, max_size=4).map(lambda listed: Selector(tuple(listed)))
selections: st.SearchStrategy[Selection] = selectors | st.lists(selectors, max_size=3).map(lambda listed: AnyOf(tuple(listed)))


def matched(selection: Selection) -> list[int]:
    """The label sets of the universe that the selection matches, by number."""
    return [index for index, labels in enumerate(EVERY_LABEL_SET) if matches(selection, labels)]


@settings(max_examples=200)
@given(selections, selections)
def test_implies_agrees_with_brute_force(first: Selection, second: Selection) -> None:
    assert implies(first, second) is (set(matched(first)) <= set(matched(second)))
    assert implies(first, AnyOf()) is (not matched(first))


@settings(max_examples=200)
@given(selections, selections)
def test_what_lies_outside_agrees_with_brute_force(first: Selection, second: Selection) -> None:
    plain = [labels for labels in EVERY_LABEL_SET if not {"02", "04"}.intersection(labels.values())]
    witness = find_difference(first, second)
    assert (witness is None) is all(matches(second, labels) for labels in plain if matches(first, labels))
    if witness is not None:
        labels = {key: value for (key, _), value in witness.labels.items() if value is not None}
        assert matches(first.selectors[witness.selector] if isinstance(first, AnyOf) else first, labels)
        assert not matches(second, labels)


@pytest.mark.parametrize(
    ("terms", "selector", "labels"),
    [
        ([""], 0, {"speed": None}),
        (["speed Exists"], 0, {"speed": "other"}),
        (["speed In high,low"], 0, {"speed": "low"}),
        (["speed NotIn low"], 0, {"speed": None}),
        (["speed In high", "speed In low"], 1, {"speed": "low"}),
        (["speed Gt 4"], 0, {"speed": "5"}),
    ],
)
def test_what_lies_outside_is_shown_by_the_plainest_labels(terms: list[str], selector: int, labels: dict[str, str | None]) -> None:
    first = AnyOf(tuple([select(*([term] if term else [])) for term in terms]))
    witness = find_difference(first, select("speed In high"))
    assert witness is not None
    assert (witness.selector, {key: value for (key, _), value in witness.labels.items()}) == (selector, labels)


def test_numbers_are_taken_to_be_written_plainly_in_what_is_shown() -> None:
    five = select("cores Gt 4", "cores Lt 6")
    assert find_difference(five, select("cores In 5")) is None
    assert not implies(five, select("cores In 5"))  # To the scheduler 05 is 5 as well.


@settings(max_examples=150)
@given(st.lists(requirements, max_size=6))
def test_a_conflict_is_a_conflict_and_every_part_of_it_is_needed(listed: list[Requirement]) -> None:
    guilty = conflict(listed)
    assert bool(guilty) is (not matched(Selector(tuple(listed))))
    if guilty:
        assert not matched(Selector(tuple(listed[index] for index in guilty)))
        for left_out in guilty:
            assert matched(Selector(tuple(listed[index] for index in guilty if index != left_out)))
        # Where two requirements are enough, two are named.
        pairs = [pair for pair in product(listed, repeat=2) if not matched(Selector(pair))]
        assert (len(guilty) <= 2) is bool(pairs)


@settings(max_examples=60)
@given(selectors, selectors)
def test_both_is_the_intersection(first: Selector, second: Selector) -> None:
    assert set(matched(intersection(first, second))) == set(matched(first)) & set(matched(second))


def test_of_many_requirements_that_contradict_each_other_two_are_named() -> None:
    many = [Requirement("a", "In", (f"v{number}", "w")) for number in range(500)]
    clash = [*many, Requirement("a", "In", ("x",)), *many]
    assert conflict(clash) == (0, 500)
    no_two = [*(Requirement("a", "NotIn", (f"v{number}",)) for number in range(500)), Requirement("a", "In", ("v3", "v7")), *many]
    assert conflict(no_two) == tuple(range(501))


@pytest.mark.parametrize(
    ("requirements", "values"),
    [
        ([Requirement("a", "In", ("x", "y"))], ["x", "y"]),
        ([Requirement("a", "In", ("x", "y")), Requirement("a", "NotIn", ("x",))], ["y"]),
        ([Requirement("a", "NotIn", ("x",))], [None, "other"]),
        ([Requirement("a", "DoesNotExist")], [None]),
        ([Requirement("a", "Exists")], ["any"]),
        ([Requirement("a", "Gt", ("7",)), Requirement("a", "Lt", ("9",))], ["8"]),
        ([Requirement("a", "Exists"), Requirement("a", "DoesNotExist")], []),
    ],
)
def test_values_that_meet_requirements_are_named(requirements: list[Requirement], values: list[str | None]) -> None:
    assert sample_values(requirements) == values


def test_requirements_with_many_values_are_compared_in_linear_time() -> None:
    def check(count: int) -> None:
        values = tuple([f"v{number}" for number in range(count)])
        assert not can_hold_together([Requirement("app", "In", values), Requirement("app", "NotIn", values)])

    assert_linear(check, 20_000)
