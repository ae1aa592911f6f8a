"""The requirements of pods on their nodes and what they imply, compared with brute force over small sets of labels."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.kube.node_labels import ZONE
from afflint.kube.node_requirements import Counterexample, counterexample, equivalent_keys, possible_values, with_added_labels
from afflint.kube.selectors import Requirement, is_met

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def asks(*conditions: str) -> tuple[Requirement, ...]:
    """``asks("disk In ssd,hdd", "gpu Exists")``."""
    found = []
    for condition in conditions:
        key, operator, *values = condition.split(" ")
        found.append(Requirement(key, operator, tuple(values[0].split(",")) if values else ()))
    return tuple(found)


HIGH = Requirement("performance", "In", ("high",))


@pytest.mark.parametrize(
    ("alternatives", "shown"),
    [
        ([asks()], Counterexample(0, None)),
        ([asks("performance In high")], None),
        ([asks("performance In high,low")], Counterexample(0, "low")),
        ([asks("performance In high", "disk In ssd")], None),
        ([asks("performance In high,low", "performance NotIn low")], None),
        ([asks("performance In high"), asks("performance In high", "disk In ssd")], None),
        ([asks("performance In high"), asks("performance In low")], Counterexample(1, "low")),
        ([asks("performance In high"), asks("disk In ssd")], Counterexample(1, None)),
        ([asks("performance Exists")], Counterexample(0, "other", any_other=True)),
        ([asks("performance NotIn low")], Counterexample(0, None)),
        ([asks("performance DoesNotExist")], Counterexample(0, None)),
        # What no node meets implies everything; of two alternatives the other one counts.
        ([asks("disk In ssd", "disk In hdd")], None),
        ([asks("disk In ssd", "disk In hdd"), asks("performance In low")], Counterexample(1, "low")),
        ([], None),
        # What is yet to be filled in may be what is wanted.
        ([asks("performance In ${LEVEL}")], None),
        ([asks("${KEY} In high")], None),
        ([asks("disk In ${DISK}")], Counterexample(0, None)),
    ],
)
def test_a_node_without_what_is_wanted_is_shown(alternatives: list[tuple[Requirement, ...]], shown: Counterexample | None) -> None:
    assert counterexample(alternatives, HIGH) == shown


def test_comparisons_imply_what_they_leave() -> None:
    wanted = Requirement("cores", "In", ("5", "6"))
    assert counterexample([asks("cores Gt 4", "cores Lt 7")], wanted) is None
    assert counterexample([asks("cores Gt 4", "cores Lt 8")], wanted) == Counterexample(0, "7")
    assert counterexample([asks("cores Gt 4")], Requirement("cores", "Exists")) is None


def test_any_value_will_do_where_none_is_named() -> None:
    tenant = Requirement("tenant", "Exists")
    assert counterexample([asks("tenant In a"), asks("tenant Exists")], tenant) is None
    assert counterexample([asks("tenant NotIn a")], tenant) == Counterexample(0, None)


def test_deprecated_names_are_the_same_label() -> None:
    assert counterexample([asks(f"{OLD_ZONE} In a")], Requirement(ZONE, "In", ("a",))) is None
    assert counterexample([asks(f"{ZONE} In a")], Requirement(OLD_ZONE, "In", ("a",))) is None
    assert equivalent_keys(OLD_ZONE) == equivalent_keys(ZONE) == {ZONE, OLD_ZONE}
    assert equivalent_keys("node-role.kubernetes.io/master") == {"node-role.kubernetes.io/master"}


def test_what_the_namespace_gives_is_asked_for_by_every_alternative() -> None:
    alternatives = [asks("disk In ssd"), asks()]
    assert counterexample(with_added_labels(alternatives, {"performance": "high"}), HIGH) is None
    assert counterexample(with_added_labels(alternatives, {"performance": "low"}), HIGH) == Counterexample(0, "low")


def test_the_values_that_are_left() -> None:
    zone = equivalent_keys(ZONE)
    assert possible_values([asks(f"{ZONE} In a,b")], zone) == {"a", "b"}
    assert possible_values([asks(f"{ZONE} In a,b", f"{OLD_ZONE} NotIn b")], zone) == {"a"}
    assert possible_values([asks(f"{ZONE} In a"), asks(f"{OLD_ZONE} In b")], zone) == {"a", "b"}
    assert possible_values([asks(f"{ZONE} In a"), asks("disk In ssd", "disk In hdd")], zone) == {"a"}
    assert possible_values([asks(f"{ZONE} In a"), asks("disk In ssd")], zone) is None
    assert possible_values([asks(f"{ZONE} Exists")], zone) is None
    assert possible_values([asks(f"{ZONE} In ${{ZONE}}")], zone) is None


KEYS = ("k", "l")
VALUES = (None, "a", "b", "2", "4", "0", "1", "3", "5", "z")
UNIVERSE = [dict(zip(KEYS, values, strict=True)) for values in product(VALUES, repeat=len(KEYS))]

listed = st.lists(st.sampled_from(["a", "b", "2", "4"]), min_size=1, max_size=3).map(tuple)


def requirement(
    keys: tuple[str, ...], operators: tuple[str, ...], values: st.SearchStrategy[tuple[str, ...]]
) -> st.SearchStrategy[Requirement]:
    return st.builds(Requirement, st.sampled_from(keys), st.sampled_from(operators), values, st.just(False))


requirements = st.one_of(
    requirement(KEYS, ("In", "NotIn"), listed),
    requirement(KEYS, ("Exists", "DoesNotExist"), st.just(())),
    requirement(KEYS, ("Gt", "Lt"), st.sampled_from([(each,) for each in "01234"])),
)
wanted = requirement(("k",), ("In",), listed) | st.just(Requirement("k", "Exists"))


@settings(max_examples=200)
@given(st.lists(st.lists(requirements, max_size=4), max_size=3), wanted)
def test_implication_agrees_with_brute_force(alternatives: list[list[Requirement]], asked: Requirement) -> None:
    def lets_in(number: int, labels: dict[str, str | None]) -> bool:
        return all(is_met(each, labels[each.key]) for each in alternatives[number])

    free = [
        (number, labels["k"])
        for number in range(len(alternatives))
        for labels in UNIVERSE
        if lets_in(number, labels) and not is_met(asked, labels["k"])
    ]
    found = counterexample(alternatives, asked)
    assert (found is None) is (not free)
    if found is not None:
        assert (found.alternative, "z" if found.any_other else found.value) in free
