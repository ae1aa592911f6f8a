"""Taints and tolerations: which taint keeps which pod away."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.kube.selectors import Malformed
from afflint.kube.taints import (
    UNREACHABLE,
    Taint,
    Toleration,
    admits_cordoned,
    compares_values,
    count_unpreferred,
    first_untolerated,
    implies,
    near_miss,
    parse_taints,
    parse_tolerations,
    supported,
    tolerated,
    tolerates,
    toleration_seconds_of,
)

GPU = Taint("gpu", "a100", "NoSchedule")
CONTROL_PLANE = Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule")


class TestMatching:
    @pytest.mark.parametrize(
        "toleration",
        [
            Toleration("gpu", "Equal", "a100", "NoSchedule"),
            Toleration("gpu", "", "a100"),  # no operator means Equal, no effect means any
            Toleration("gpu", "Exists", "", "NoSchedule"),
            Toleration("gpu", "Exists", "ignored"),
            Toleration("", "Exists"),  # tolerates everything
            Toleration("", "", "a100"),  # the value alone decides, though the API server refuses to store this
        ],
    )
    def test_tolerates(self, toleration: Toleration) -> None:
        assert tolerates(toleration, GPU)

    @pytest.mark.parametrize(
        "toleration",
        [
            Toleration("gpu", "Equal", "h100"),
            Toleration("gpu", "Equal"),  # an absent value is the empty one
            Toleration("gpu", "Exists", "", "NoExecute"),
            Toleration("GPU", "Exists"),
            Toleration("gpu", "exists"),  # operators are case-sensitive; an unknown one matches nothing
            Toleration("", "Exists", "", "PreferNoSchedule"),
        ],
    )
    def test_does_not_tolerate(self, toleration: Toleration) -> None:
        assert not tolerates(toleration, GPU)

    def test_a_taint_without_value_equals_a_toleration_without_value(self) -> None:
        assert tolerates(Toleration(CONTROL_PLANE.key), CONTROL_PLANE)

    @pytest.mark.parametrize(
        ("operator", "limit", "value", "expected"),
        [
            ("Lt", "10", "5", True),
            ("Lt", "10", "10", False),
            ("Gt", "10", "11", True),
            ("Gt", "10", "10", False),
            ("Gt", "-5", "-4", True),
            ("Lt", "10", "+07", True),  # read as Go reads integers, though the API server refuses a toleration written like that
            ("Lt", "10", "", False),
            ("Lt", "10", "high", False),
            ("Gt", "1.5", "2", False),
            ("Lt", "9223372036854775808", "5", False),  # one more than 64 bits hold
        ],
    )
    def test_gt_and_lt_compare_the_value_of_the_taint(self, operator: str, limit: str, value: str, expected: bool) -> None:
        assert tolerates(Toleration("sla", operator, limit), Taint("sla", value, "NoSchedule")) is expected

    def test_clusters_without_the_feature_gate_ignore_gt_and_lt(self) -> None:
        tolerations = (Toleration("sla", "Lt", "10"), Toleration("gpu", "Exists"))
        assert supported(tolerations, comparisons=True) == tolerations
        assert supported(tolerations, comparisons=False) == (Toleration("gpu", "Exists"),)
        assert compares_values((1, 35), ["TaintTolerationComparisonOperators"])
        assert not compares_values((1, 34), ["TaintTolerationComparisonOperators"])
        assert not compares_values((1, 37), [])

    def test_one_matching_toleration_is_enough(self) -> None:
        assert tolerated(GPU, [Toleration("other", "Exists"), Toleration("gpu", "Exists")])
        assert not tolerated(GPU, [])


class TestKeepingAway:
    def test_the_first_untolerated_taint_in_the_order_of_the_node(self) -> None:
        taints = (Taint("soft", "", "PreferNoSchedule"), CONTROL_PLANE, GPU, Taint("drain", "", "NoExecute"))
        assert first_untolerated(taints, []) == CONTROL_PLANE
        assert first_untolerated(taints, [Toleration(CONTROL_PLANE.key, "Exists")]) == GPU
        assert first_untolerated(taints, [Toleration("", "Exists", "", "NoSchedule")]) == Taint("drain", "", "NoExecute")
        assert first_untolerated(taints, [Toleration("", "Exists")]) is None

    def test_prefer_no_schedule_never_keeps_away(self) -> None:
        assert first_untolerated([Taint("soft", "", "PreferNoSchedule")], []) is None

    def test_who_may_go_to_a_cordoned_node(self) -> None:
        key = "node.kubernetes.io/unschedulable"
        assert admits_cordoned([Toleration("", "Exists")])
        assert admits_cordoned([Toleration(key, "Exists", "", "NoSchedule")])
        assert admits_cordoned([Toleration(key)])
        assert not admits_cordoned([Toleration(key, "Exists", "", "NoExecute")])
        assert not admits_cordoned([])

    def test_preferences_against_a_node_are_counted(self) -> None:
        taints = [Taint("a", "", "PreferNoSchedule"), Taint("b", "", "PreferNoSchedule"), Taint("c", "", "NoSchedule")]
        assert count_unpreferred(taints, []) == 2
        assert count_unpreferred(taints, [Toleration("a", "Exists", "", "PreferNoSchedule")]) == 1
        assert count_unpreferred(taints, [Toleration("a", "Exists", "", "NoSchedule")]) == 2
        assert count_unpreferred(taints, [Toleration("", "Exists")]) == 0


class TestNearMisses:
    TAINT = Taint("dedicated", "database", "NoSchedule")

    @pytest.mark.parametrize(
        "toleration",
        [
            Toleration("dedicatd", "Equal", "database", "NoSchedule"),
            Toleration("dedicated", "Equal", "databse"),
            Toleration("dedciated", "Exists"),
        ],
    )
    def test_a_typo_in_the_key_or_in_the_value(self, toleration: Toleration) -> None:
        others = [Toleration("gpu", "Exists"), Toleration("dedicated", "Equal", "queue")]
        assert near_miss(self.TAINT, [*others, toleration, *others]) == toleration

    @pytest.mark.parametrize(
        "toleration",
        [
            Toleration("dedicated", "Equal", "database", "NoExecute"),
            Toleration("dedicatd", "Equal", "database", "NoExecute"),
            Toleration("dedicatd", "Equal", "databse"),
            Toleration("team", "Equal", "database"),
            Toleration("dedicated", "Equal", "web"),
        ],
        ids=["another effect", "a typo and another effect", "two typos", "another key", "another value"],
    )
    def test_anything_else_is_not_a_typo(self, toleration: Toleration) -> None:
        assert near_miss(self.TAINT, [toleration]) is None


class TestReading:
    def test_absent_parts_are_empty_and_toleration_seconds_do_not_matter(self) -> None:
        assert parse_tolerations([{"key": "gpu", "value": None, "tolerationSeconds": 30}, None]) == (Toleration("gpu"), Toleration())
        assert parse_taints([{"key": "gpu", "effect": "NoExecute"}]) == (Taint("gpu", "", "NoExecute"),)
        assert parse_taints(None) == parse_tolerations([]) == ()

    @pytest.mark.parametrize(
        "data, expected",
        [
            ({"key": "gpu"}, Malformed((), "is not a list of taints", mistyped=True)),
            (["gpu"], Malformed((0,), "is not a taint", mistyped=True)),
            ([{"key": "gpu", "value": True}], Malformed((0, "value"), "is not a string", mistyped=True)),
        ],
    )
    def test_malformed(self, data: object, expected: Malformed) -> None:
        assert parse_taints(data) == expected


@pytest.mark.parametrize(
    "tolerations, seconds",
    [
        ([], 0),
        ([{"operator": "Exists"}], None),
        ([{"operator": "Exists", "tolerationSeconds": None}], None),
        ([{"operator": "Exists", "tolerationSeconds": 0}], 0),
        ([{"operator": "Exists", "tolerationSeconds": 300}], 300),
        ([{"operator": "Exists", "tolerationSeconds": -5}], 0),
        ([{"operator": "Exists", "tolerationSeconds": "300"}], 0),
        ([{"operator": "Exists", "effect": "NoSchedule"}], 0),
        ([{"key": UNREACHABLE.key, "value": "true"}], 0),
        ([{"key": UNREACHABLE.key}], None),
        ([{"key": "other", "operator": "Exists"}], 0),
        ([{"operator": "Exists", "tolerationSeconds": 0}, {"operator": "Exists"}], 0),
    ],
)
def test_how_long_a_pod_stays_on_a_node_that_is_unreachable(tolerations: list[object], seconds: int | None) -> None:
    assert toleration_seconds_of(tolerations, UNREACHABLE) == seconds


PARTS = ("", "a", "b")
EVERY_TAINT = [Taint(*parts) for parts in product(("a", "b", "c"), ("", "a", "b", "c"), ("NoSchedule", "NoExecute", "PreferNoSchedule"))]
tolerations = st.builds(
    Toleration,
    st.sampled_from(PARTS),
    st.sampled_from(("", "Equal", "Exists", "Like")),
    st.sampled_from(PARTS),
    st.sampled_from(("", "NoSchedule", "NoExecute")),
)


NUMBERED_TAINTS = [Taint("a", str(value), effect) for value in range(-1, 5) for effect in ("NoSchedule", "NoExecute")]
numbered = st.builds(
    Toleration,
    st.sampled_from(("", "a")),
    st.sampled_from(("Equal", "Exists", "Gt", "Lt")),
    st.sampled_from(("1", "2", "02", "+2")),
    st.sampled_from(("", "NoSchedule", "NoExecute")),
)


@settings(max_examples=300)
@given(numbered, numbered)
def test_implies_with_comparisons_only_where_it_is_true_of_every_number(first: Toleration, second: Toleration) -> None:
    if implies(first, second):
        assert all(tolerates(first, taint) for taint in NUMBERED_TAINTS if tolerates(second, taint))


def test_implies_compares_limits() -> None:
    assert implies(Toleration("a", "Lt", "10"), Toleration("a", "Lt", "5"))
    assert not implies(Toleration("a", "Lt", "5"), Toleration("a", "Lt", "10"))
    assert implies(Toleration("a", "Gt", "5"), Toleration("a", "Equal", "6"))
    assert not implies(Toleration("a", "Gt", "5"), Toleration("a", "Exists"))
    assert not implies(Toleration("a", "Equal", "6"), Toleration("a", "Lt", "10"))
    assert implies(Toleration("a", "Exists"), Toleration("a", "Lt", "10"))


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_a_limit_implies_itself_but_neither_the_other_operator_nor_a_limit_that_is_not_a_number(operator: str) -> None:
    five, other = Toleration("a", operator, "5"), "Lt" if operator == "Gt" else "Gt"
    assert implies(five, five)
    assert not implies(five, Toleration("a", other, "5"))
    assert not implies(five, Toleration("a", operator, "five"))
    assert not implies(Toleration("a", operator, "five"), five)


@settings(max_examples=300)
@given(tolerations, tolerations)
def test_implies_agrees_with_brute_force(first: Toleration, second: Toleration) -> None:
    expected = all(tolerates(first, taint) for taint in EVERY_TAINT if tolerates(second, taint))
    assert implies(first, second) is expected
