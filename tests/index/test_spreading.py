"""Constraints that separate pods: decided by their meaning, and checked against the filters of the scheduler."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.pod_labels import PodLabels
from afflint.index.spreading import OwnPods, RequiredSpreading, spreading_constraints, unmet
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import REGION
from afflint.kube.selectors import Selector, matches
from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, PREFERRED, REQUIRED, ZONE, app, node, pod, spread, term

OWN = {"app": "web", "tier": "front"}
# As many domains in each wider one as there are replicas at most, so that it is never for want of room that they are not together.
ZONES = {f"{region}-{letter}": region for region in ("east", "west") for letter in "abcd"}
NODES = [node(f"{zone}{number}", {HOST: f"{zone}{number}", ZONE: zone, REGION: ZONES[zone]}) for zone in ZONES for number in range(4)]
EMPTY = Cluster(NODES)


def means(spec: dict[str, Any], *, known: bool = True, namespace: str | None = "default") -> list[Any]:
    def covers(selector: Selector, name: str | None) -> bool | None:
        return matches(selector, {"env": "test"}) if name == "default" else None

    return list(spreading_constraints(constraints_of(spec, ()), OwnPods(PodLabels(OWN), known, namespace), covers))


def is_met(spec: dict[str, Any], key: str = ZONE, *, hard: bool = True, skew: int | None = None, replicas: int = 3) -> bool:
    return unmet(means(spec), RequiredSpreading(key, hard, skew, replicas)) is None


def anti(key: str, selector: Any, *, required: bool = True, **more: Any) -> dict[str, Any]:
    if required:
        return {"affinity": {"podAntiAffinity": {REQUIRED: [term(key, selector, **more)]}}}
    return {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term(key, selector, **more)}]}}}


def spreads(*constraints: Any) -> dict[str, Any]:
    return {"topologySpreadConstraints": list(constraints)}


@pytest.mark.parametrize(
    ("spec", "met"),
    [
        ({}, False),
        (anti(ZONE, app("web")), True),
        (anti(ZONE, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}), True),
        (anti(REGION, app("web")), True),  # Two regions are two zones.
        (anti("failure-domain.beta.kubernetes.io/zone", app("web")), True),
        (anti(HOST, app("web")), False),  # Two nodes may be in one zone.
        (anti(ZONE, app("web"), required=False), False),
        (anti(ZONE, app("api")), False),
        (anti(ZONE, None), False),
        (anti(ZONE, app("web"), namespaces=["other"]), False),
        (anti(ZONE, app("web"), namespaces=["other", "default"]), True),
        (anti(ZONE, app("web"), namespaceSelector={}), True),
        (anti(ZONE, app("web"), namespaceSelector={"matchLabels": {"env": "test"}}), True),
        (anti(ZONE, app("web"), namespaceSelector={"matchLabels": {"env": "prod"}}), False),
        (anti(ZONE, app("web"), mismatchLabelKeys=["tier"]), False),
        (anti(ZONE, app("web"), matchLabelKeys=["tier"]), True),
        (spreads(spread(ZONE, app("web"))), True),
        (spreads(spread(ZONE, app("web"), 2)), True),
        (spreads(spread(ZONE, app("web"), 3)), False),  # All three may be together.
        (spreads(spread(ZONE, app("web"), 2.0)), True),  # The API server reads 2.0 as an integer.
        (spreads(spread(ZONE, app("web"), 3.0)), False),
        (spreads(spread(ZONE, app("web"), when="ScheduleAnyway")), False),
        (spreads(spread(ZONE, app("api"))), False),
        (spreads(spread(ZONE, {})), False),  # An empty selector counts no pods.
        (spreads(spread(ZONE, {}, matchLabelKeys=["tier"])), True),
        (spreads(spread(HOST, app("web"))), False),
        (spreads(spread(HOST, app("web")), spread(ZONE, app("web"))), True),
        (spreads(spread("${KEY}", app("web"))), True),  # Not known yet.
        (spreads(spread(ZONE, app("web"), "${SKEW}")), True),
        (spreads(spread(ZONE, app("${NAME}"))), True),
        (spreads(spread(ZONE, app("web"), when="${WHEN}")), True),
        (spreads(spread(ZONE, app("${NAME}"), when="ScheduleAnyway")), True),
    ],
)
def test_what_keeps_three_replicas_out_of_one_zone(spec: dict[str, Any], *, met: bool) -> None:
    assert is_met(spec) is met


@pytest.mark.parametrize(
    ("spec", "skew", "met"),
    [
        (spreads(spread(ZONE, app("web"), 2)), 1, False),
        (spreads(spread(ZONE, app("web"), 1)), 1, True),
        (anti(ZONE, app("web")), 1, True),
        (anti(REGION, app("web")), 1, True),
        (spreads(spread(REGION, app("web"), 1)), 1, False),  # In one of the regions all may be in one zone.
        (spreads(spread(REGION, app("web"), 1)), None, True),
    ],
)
def test_how_far_zones_may_differ(spec: dict[str, Any], skew: int | None, *, met: bool) -> None:
    assert is_met(spec, skew=skew) is met


def test_a_preference_is_met_by_preferences_and_by_what_is_more() -> None:
    assert not is_met({}, hard=False)
    assert is_met(anti(ZONE, app("web"), required=False), hard=False)
    assert is_met(spreads(spread(ZONE, app("web"), 5, "ScheduleAnyway")), hard=False)
    assert is_met(spreads(spread(ZONE, app("web"), 5)), hard=False)
    assert not is_met(spreads(spread(ZONE, app("api"), 1, "ScheduleAnyway")), hard=False)
    assert not is_met(anti(HOST, app("web"), required=False), hard=False)


def test_of_a_patch_only_what_it_says_is_known() -> None:
    spec = anti(ZONE, {"matchLabels": {"team": "x"}})
    assert [each.works for each in means(spec, known=False)] == [True]
    assert [each.missed.key for each in means(spec)] == ["team"]
    assert [each.missed.key for each in means(anti(ZONE, app("api")), known=False)] == ["app"]


def test_what_comes_nearest_is_reported_first() -> None:
    both = {**anti(HOST, app("web")), **spreads(spread(ZONE, app("api")), spread(ZONE, app("web"), when="ScheduleAnyway"))}
    found = unmet(means(both), RequiredSpreading(ZONE, True, None, 3))
    assert found is not None
    assert [(each.key, each.works, each.hard) for each in found] == [(ZONE, True, False), (ZONE, False, True), (HOST, True, True)]


selectors = st.sampled_from(
    [
        app("web"), app("api"), app("web", tier="front"), app("web", tier="back"), {}, None,
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["api"]}]},
        {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
    ]
)  # fmt: skip
keys = st.sampled_from([HOST, ZONE, REGION])
merged = st.sampled_from([{}, {"matchLabelKeys": ["tier"]}, {"matchLabelKeys": ["absent"]}])
terms = st.builds(
    lambda key, selector, more: term(key, selector, **more),
    keys,
    selectors,
    st.one_of(merged, st.sampled_from([{"mismatchLabelKeys": ["tier"]}, {"namespaces": ["other"]}, {"namespaces": ["default"]}])),
)
constraints = st.builds(
    lambda key, selector, skew, when, more: spread(key, selector, skew, when, **(more if selector is not None else {})),
    keys, selectors, st.integers(1, 4), st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]), merged,
)  # fmt: skip


def fits_in_one(cluster: Cluster, made: list[Any], allowed: frozenset[str]) -> bool:
    """Whether the scheduler takes all of some pods, one after the other, on these nodes."""
    if not made:
        return True
    for where in cluster.feasible_nodes(made[0]):
        if where in allowed:
            cluster.bind(made[0], where)
            found = fits_in_one(cluster, made[1:], allowed)
            cluster.unbind(made[0])
            if found:
                return True
    return False


@settings(max_examples=100, deadline=None)
@given(
    st.lists(terms, max_size=2),
    st.lists(constraints, max_size=2, unique_by=lambda each: (each["topologyKey"], each["whenUnsatisfiable"])),
    st.integers(2, 4),
    st.sampled_from([HOST, ZONE, REGION]),
)
def test_constraints_that_separate_pods_leave_no_domain_that_takes_them_all(
    required: list[Any], spreading: list[Any], replicas: int, key: str
) -> None:
    spec: dict[str, Any] = {"affinity": {"podAntiAffinity": {REQUIRED: required}}, "topologySpreadConstraints": spreading}
    made = [EMPTY.read(pod(f"web-{number}", OWN, **spec)) for number in range(replicas)]
    domains: dict[str, set[str]] = {}
    for name, value in EMPTY.label(key).items():
        domains.setdefault(value, set()).add(name)
    together = any(fits_in_one(EMPTY.copy(), made, frozenset(names)) for names in domains.values())
    assert is_met(spec, key, replicas=replicas) is not together


def test_a_term_for_all_namespaces_covers_that_of_the_pods_whatever_is_known_of_it() -> None:
    everywhere = anti(ZONE, app("web"), namespaceSelector={})
    own = OwnPods(PodLabels(OWN), True, "default")
    [found] = spreading_constraints(constraints_of(everywhere, ()), own, lambda _selector, _name: False)
    assert found.works


def test_the_requirement_that_the_pods_do_not_meet_is_known() -> None:
    for selector, missed in (({"app": "web", "tier": "back"}, "tier"), ({"app": "api", "tier": "front"}, "app")):
        [found] = means(anti(ZONE, {"matchLabels": selector}))
        assert found.missed is not None
        assert (found.missed.key, found.works) == (missed, False)


@pytest.mark.parametrize(
    ("spec", "known", "undecidable"),
    [
        (anti(ZONE, app("web")), True, False),
        (anti(ZONE, app("api")), True, False),
        (anti(ZONE, app("${NAME}")), True, True),
        (anti("${KEY}", app("web")), True, True),
        (anti(ZONE, {"matchLabels": {"team": "x"}}), False, True),
        (anti(ZONE, app("api")), False, False),
    ],
    ids=["met", "not met", "a value to be filled in", "a key to be filled in", "a label that a patch leaves out", "a label of a patch"],
)
def test_what_is_unknown_makes_a_constraint_undecidable(spec: dict[str, Any], *, known: bool, undecidable: bool) -> None:
    assert [each.undecidable for each in means(spec, known=known)] == [undecidable]
