"""Pod affinity terms and spread constraints, parsed from their YAML maps."""

from typing import Any

import pytest

from afflint.constraints.pods import parse_pod_constraints, parse_pod_term, parse_spread_constraint
from afflint.kube.constraints import PREFERRED, REQUIRED, constraints_of
from afflint.kube.selectors import Malformed, Requirement, Selector

WEB = Selector((Requirement("app", "In", ("web",)),))


def test_a_pod_term() -> None:
    data = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "namespaces": ["shop"], "namespaceSelector": {}}
    term = parse_pod_term(data, ("terms", 0), anti=True)
    assert (term.path, term.topology_key, term.label_selector) == (("terms", 0), "zone", WEB)
    assert (term.namespaces, term.namespace_selector) == (("shop",), Selector())
    assert (term.anti, term.required, term.mistyped) == (True, True, None)


def test_label_keys_are_merged_with_the_labels_of_the_pod() -> None:
    data = {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["version", "absent"], "mismatchLabelKeys": ["tier"]}
    term = parse_pod_term(data, (), anti=False, weight=5)
    assert not term.required
    assert term.selector({"version": "2", "tier": "front"}) == Selector(
        (*WEB.requirements, Requirement("version", "In", ("2",)), Requirement("tier", "NotIn", ("front",)))
    )


def test_a_spread_constraint() -> None:
    data = {"topologyKey": "zone", "maxSkew": 2.0, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}
    constraint = parse_spread_constraint(data, ("spread", 0))
    assert (constraint.topology_key, constraint.max_skew, constraint.min_domains, constraint.hard) == ("zone", 2, None, True)
    assert constraint.selector({}) == WEB


def test_null_is_an_empty_map() -> None:
    assert parse_pod_term(None, (), anti=False) == parse_pod_term({}, (), anti=False)
    assert parse_spread_constraint(None, ()).mistyped is None


@pytest.mark.parametrize(
    ("data", "path", "problem"),
    [
        ("web", (), "is a string, not a map"),
        ({"topologyKey": 7}, ("topologyKey",), "is the number 7, not a string"),
        ({"maxSkew": "1"}, ("maxSkew",), "is a string, not an integer"),
        ({"maxSkew": True}, ("maxSkew",), "is true, not an integer"),
        ({"matchLabelKeys": "app"}, ("matchLabelKeys",), "is a string, not a list"),
        ({"matchLabelKeys": ["app", 1]}, ("matchLabelKeys", 1), "is the number 1, not a string"),
        ({"labelSelector": {"matchLabels": {"app": 1}}}, ("labelSelector", "matchLabels", "app"), "is not a string"),
    ],
)
def test_the_first_value_of_a_wrong_type_is_kept(data: Any, path: tuple[str | int, ...], problem: str) -> None:
    assert parse_spread_constraint(data, ()).mistyped == Malformed(path, problem, mistyped=True)


def test_other_values_are_parsed_beside_one_of_a_wrong_type() -> None:
    constraint = parse_spread_constraint({"maxSkew": "1", "topologyKey": "zone"}, ())
    assert (constraint.topology_key, constraint.max_skew) == ("zone", None)


def test_a_selector_that_only_validation_rejects_is_not_mistyped() -> None:
    term = parse_pod_term({"labelSelector": {"matchLabels": {"app": "a b"}}}, (), anti=False)
    assert isinstance(term.label_selector, Malformed)
    assert term.mistyped is None


def test_all_constraints_of_a_pod() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    spec = {
        "affinity": {
            "podAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": term}, {"weight": "x", "podAffinityTerm": term}]},
            "podAntiAffinity": {REQUIRED: [term]},
        },
        "topologySpreadConstraints": [{"maxSkew": 1, **term}],
    }
    terms, spreads = parse_pod_constraints(constraints_of(spec, ("spec",)))
    assert [(each.name, each.weight) for each in terms] == [
        ("preferred podAffinity", 5),
        ("preferred podAffinity", 0),
        ("required podAntiAffinity", None),
    ]
    assert terms[0].path == ("spec", "affinity", "podAffinity", PREFERRED, 0, "podAffinityTerm")
    assert [(each.path, each.max_skew, each.label_selector) for each in spreads] == [(("spec", "topologySpreadConstraints", 0), 1, WEB)]


def test_a_placeholder_for_a_list_is_its_only_item() -> None:
    term = parse_pod_term({"namespaces": "${NAMESPACES}"}, (), anti=True)
    assert term.namespaces == ("${NAMESPACES}",)
    assert term.mistyped is not None
    assert parse_pod_term({"namespaces": "shop"}, (), anti=True).namespaces == ()
